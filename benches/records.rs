//! Cost of a recorded value: memory of two dumps that were read, of their comparison and of their judgement, and the
//! time of each, on a pair of statistics dumps.
//!
//! Memory is what the process holds more of after each stage, with everything before it kept; so it holds names, stacks
//! and what the allocator keeps back too. Linux only.
//!
//! ```text
//! python3 benches/large_dump.py FOLDER 33334
//! PRECISION_GATE_BENCH=FOLDER cargo bench --bench records
//! ```
#![allow(clippy::print_stdout, reason = "a benchmark speaks to the terminal")]
#![allow(clippy::cast_precision_loss, reason = "bytes and counts")]

use std::fs;
use std::time::Instant;

use precision_gate::compare::dump::{Folders, compare_unit};
use precision_gate::compare::measurements::Measurements;
use precision_gate::fetch;
use precision_gate::judge::dump::flow::UnitContext;
use precision_gate::judge::dump::unit::{UnitInput, judge};
use precision_gate::pair::dump::{DumpNames, Renaming, pair_operations};
use precision_gate::policy::Policy;
use precision_gate::read::dump::{DumpFolder, DumpFormat};

fn main() {
    let Some(folder) = std::env::var_os("PRECISION_GATE_BENCH").map(std::path::PathBuf::from) else {
        return println!("PRECISION_GATE_BENCH names no folder; benches/large_dump.py makes one");
    };
    let [baseline, candidate] = ["gpu", "npu"].map(|side| DumpFolder {
        files: fetch::open(&folder.join(side).display().to_string()).expect("a folder"),
        path: "step0/rank0/".into(),
        records: "step0/rank0/dump.json".into(),
        format: DumpFormat::Msprobe,
        step: 0,
        rank: Some(0),
        assembled: None,
        tool_dump: None,
    });
    let mut stages = Stages::new();
    let left = baseline.read().expect("a dump");
    let right = candidate.read().expect("a dump");
    let values = right.operations.leaves().count();
    stages.done("records of both sides", values);
    let renaming = Renaming::default();
    let pairs = pair_operations(&left, &right, &DumpNames::from_dumps(&left, &right, &renaming));
    stages.done("pairs of operations", values);
    let measurements = Measurements::default();
    let folders = Folders {
        baseline: &baseline,
        candidate: &candidate,
        measurements: &measurements,
        tolerance: None,
        renaming: &renaming,
        exact_sums: false,
    };
    let comparison = compare_unit(&left, &right, &pairs, &folders);
    stages.done("comparisons", values);
    let (step, rank) = (0, Some(0));
    let input = UnitInput { step, rank, baseline: &left, candidate: &right, comparison: &comparison, reference: None };
    // What a later step would inherit is not kept.
    let context = UnitContext { is_last_step: true, ..UnitContext::default() };
    let judged = judge(&input, &context, &Policy::default());
    stages.done("states", values);
    println!("{values} values a side; {} operations judged", judged.flows.len());
}

/// Memory and time since the last stage.
struct Stages {
    resident: f64,
    start: Instant,
}

impl Stages {
    fn new() -> Self {
        Self { resident: resident(), start: Instant::now() }
    }

    fn done(&mut self, name: &str, values: usize) {
        let (before, seconds) = (self.resident, self.start.elapsed().as_secs_f64());
        *self = Self::new();
        println!("{name:<24} {:>6.0} bytes a value {:>8.3} s", (self.resident - before) / values as f64, seconds);
    }
}

/// Bytes of memory the process holds.
fn resident() -> f64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0.0);
    pages * 4096.0
}
