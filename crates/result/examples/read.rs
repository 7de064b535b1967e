//! Reads a `result.json` and says what it found:
//!
//! ```sh
//! cargo run -p precision-gate-result --example read -- precision-gate-out/result.json
//! ```

#![allow(clippy::print_stdout, reason = "an example that shows what it read")]

use std::path::Path;

use precision_gate_result::error::{Error, ErrorKind, Result};
use precision_gate_result::load;

fn main() -> Result<()> {
    let Some(path) = std::env::args().nth(1) else {
        return Err(Error::new(ErrorKind::Usage, "read", "give the path of a `result.json`"));
    };
    let result = load::result(Path::new(&path))?;
    println!("{} {}: {}", result.tool.name, result.tool.version, result.verdict.as_str());
    for (name, line) in [("headline", &result.headline), ("place", &result.place), ("fix", &result.fix)] {
        println!("{name}: {line}");
    }
    for check in &result.checks {
        println!("  {:<12} {:<10} {} units", check.id.as_str(), check.verdict.as_str(), check.units.len());
    }
    if let Some(culprit) = &result.culprit {
        println!("culprit: {} at step {} ({})", culprit.op, culprit.step, culprit.code);
        if let Some(line) = culprit.stack.first() {
            println!("  {line}");
        }
    }
    for finding in result.counting() {
        println!("{:?} {} at {}: {}", finding.severity, finding.code, finding.place, finding.message);
    }
    for diagnosis in &result.diagnoses {
        println!("cause: {} ({})", diagnosis.cause, diagnosis.sureness.as_str());
    }
    Ok(())
}
