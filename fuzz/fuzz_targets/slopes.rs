//! Work over the number of items: four times the items of a case take four times as long, in four times the memory.
//!
//! The first byte chooses the case of `benches/slopes/cases.rs`, the second whether its sides differ, the next two the number of
//! items. Linux tells the peak of the memory.
#![no_main]
#![allow(clippy::cast_precision_loss, reason = "seconds and kilobytes")]

#[path = "../../benches/slopes/cases.rs"]
mod cases;
#[path = "slopes/judge.rs"]
mod judge;

use std::fs;

use cases::{CASES, Case};
use libfuzzer_sys::fuzz_target;

/// As the program has it: memory that is freed goes back, and a run does not hide in what the one before it left.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Exponent of time and memory over items that is no longer called linear.
const STEEPEST: f64 = 1.3;
/// Items of the smaller run.
const ITEMS: std::ops::RangeInclusive<usize> = 1000..=10_000;
/// Cost of a run that is worth a judgement.
const WORTH: Cost = Cost { seconds: 0.2, memory: 50.0 };
/// Rounds, of which the best counts: other programs make a run dearer, never cheaper.
const ROUNDS: usize = 3;

/// Cost of a run.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Seconds of all processors together.
    seconds: f64,
    /// Peak in megabytes.
    memory: f64,
}

impl Cost {
    fn least(self, other: Self) -> Self {
        Self { seconds: self.seconds.min(other.seconds), memory: self.memory.min(other.memory) }
    }
}

/// Time of all processors that the process took so far, in seconds; Linux tells it in hundredths.
fn processor_time() -> f64 {
    let status = fs::read_to_string("/proc/self/stat").expect("Linux");
    let (_, numbers) = status.rsplit_once(')').expect("a name");
    // Of its own programs and of the kernel on their behalf.
    let hundredths = numbers.split_whitespace().skip(11).take(2);
    hundredths.map(|number| number.parse::<f64>().expect("hundredths of seconds")).sum::<f64>() / 100.0
}

/// The peak since the last call of [`forget_peak`], in megabytes.
fn peak() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<f64>().expect("kilobytes") / 1000.0
}

fn forget_peak() {
    fs::write("/proc/self/clear_refs", "5").expect("Linux");
}

fn cost(case: &Case, items: usize, differ: bool) -> Cost {
    let folder = tempfile::tempdir().expect("a folder");
    judge::write(case, folder.path(), items, differ);
    forget_peak();
    let start = processor_time();
    judge::judge(case, folder.path(), items);
    Cost { seconds: processor_time() - start, memory: peak() }
}

/// Exponent between a run and one of four times the items. What one item takes says nothing about their number, and what is
/// far below the cost that is `worth` a judgement is no more than the clock's grain.
fn slope([idle, small, large]: [f64; 3], worth: f64) -> f64 {
    let grown = |cost: f64| (cost - idle).max(0.15 * worth);
    (grown(large) / grown(small)).ln() / 4f64.ln()
}

/// Cost that grows faster than the number of items; `None` where nothing does.
fn steep(costs: [Cost; 3]) -> Option<&'static str> {
    let is_steep = |of: fn(Cost) -> f64| {
        let [idle, small, large] = costs.map(of);
        large >= of(WORTH) && slope([idle, small, large], of(WORTH)) > STEEPEST
    };
    if is_steep(|cost| cost.seconds) {
        return Some("time");
    }
    is_steep(|cost| cost.memory).then_some("memory")
}

fuzz_target!(|bytes: &[u8]| {
    let [case, differ, low, high, ..] = bytes else { return };
    let (case, differ) = (&CASES[usize::from(*case) % CASES.len()], differ % 2 == 1);
    let most = (case.most / 4).clamp(1, *ITEMS.end());
    let least = most.min(*ITEMS.start());
    let items = least + usize::from(u16::from_le_bytes([*low, *high])) % (most - least + 1);
    let round = || [1, items, 4 * items].map(|items| cost(case, items, differ));
    let mut best = round();
    for _ in 1..ROUNDS {
        if steep(best).is_none() {
            return;
        }
        let again = round();
        best = [0, 1, 2].map(|place: usize| best[place].least(again[place]));
    }
    if let Some(what) = steep(best) {
        panic!("{}, differ: {differ}: {what} of 1, {items} and {} items: {best:?}", case.name, 4 * items);
    }
});
