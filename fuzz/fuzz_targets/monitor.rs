//! Tables of training monitors: whatever is in them, every row that was counted can be read at its step.
//!
//! The first byte chooses the table's place, which tells version and kind.
#![no_main]

use std::collections::BTreeMap;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use precision_gate::fetch::{MemorySource, Source};
use precision_gate::read::monitor::{MonitorPlace, MonitorTable};

const PLACES: [&str; 6] = [
    "rank_0/module_step0-4.csv",
    "rank_1/weight_grad_step0-4.csv",
    "rank_1/optimizer_step0-4.csv",
    "Nov22_20-16-32-rank0-2e678bcf/actv_0-4.csv",
    "Nov22_20-16-32-rank0-2e678bcf/exp_avg_0-4.csv",
    "Nov22_20-16-32-rank0-2e678bcf/other_0-4.csv",
];

fuzz_target!(|bytes: &[u8]| {
    let [place, text @ ..] = bytes else { return };
    let source: Source = Arc::new(MemorySource::new("fuzz", text.to_vec()));
    let table = MonitorTable::open(MonitorPlace::from_path(PLACES[usize::from(*place) % PLACES.len()]), source);
    let mut counted: BTreeMap<i64, u64> = BTreeMap::new();
    for (step, rows) in table.steps() {
        *counted.entry(step).or_default() += rows;
    }
    for (step, count) in counted {
        let rows = table.rows(step).expect("bytes in memory");
        assert_eq!(rows.len() as u64, count, "step {step}");
    }
});
