//! Reads a `result.json` and says what it found, with the types of [`precision_gate::result`] alone:
//!
//! ```sh
//! cargo run --example read_result -- precision-gate-report/result.json
//! ```

#![allow(clippy::print_stdout, reason = "an example that shows what it read")]

use std::path::Path;

use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::result::load;
use precision_gate::result::unit::profiles;

fn main() -> Result<()> {
    let Some(path) = std::env::args().nth(1) else {
        return Err(Error::new(ErrorKind::Usage, "read_result", "give the path of a `result.json`"));
    };
    let result = load::result(Path::new(&path))?;
    println!("{} {}: {}", result.tool.name, result.tool.version, result.verdict.as_str());
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
    for profile in profiles(&result.checks) {
        println!("rank {:?} of the profile: {}", profile.rank, profile.verdict.as_str());
    }
    Ok(())
}
