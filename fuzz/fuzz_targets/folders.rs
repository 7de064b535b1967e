//! Whole pairs through the gate: whatever is taken from a candidate that does not pass, it never passes,
//! but for a warning over what only the candidate holds, which a removal may mend. Of two layouts that agree, no side passes
//! without any of its ranks, files of ranks and parts of such files.
//!
//! The first byte chooses the format, the second the pair, and each six bytes after them what is taken.
#![no_main]

#[path = "../../tests/changes/mod.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod changes;
#[path = "../../tests/data.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod data;

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use changes::judge;
use changes::layouts::{self, LayoutPair};
use changes::pairs::{Pair, by_format};
use changes::removal::{CHOICE, remove};
use changes::tree::copy;
use libfuzzer_sys::fuzz_target;
use precision_gate::error::ErrorKind;
use precision_gate::verdict::Verdict;

/// Removals of one input; more of them only take longer.
const MOST: usize = 8;

static PAIRS: LazyLock<[Vec<Pair>; 7]> = LazyLock::new(by_format);

static LAYOUTS: LazyLock<Vec<LayoutPair>> = LazyLock::new(layouts::pairs);

/// Verdicts of pairs as they are, by name.
static UNTOUCHED: LazyLock<Mutex<HashMap<String, Option<Verdict>>>> = LazyLock::new(Mutex::default);

fn untouched(pair: &Pair) -> Option<Verdict> {
    let mut known = UNTOUCHED.lock().unwrap_or_else(PoisonError::into_inner);
    let judged = || judge(&pair.sides[0], &pair.sides[1], "").ok().map(|result| result.verdict);
    *known.entry(pair.name.clone()).or_insert_with(judged)
}

/// Whether no removal may make the pair pass.
fn holds(pair: &Pair) -> bool {
    match untouched(pair) {
        Some(Verdict::Fail) => true,
        Some(verdict) => verdict > Verdict::Pass && !pair.has_more_on_the_candidate(),
        None => false,
    }
}

fn of_one_layout(pair: &Pair, choices: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    copy(&pair.sides[1], folder.path());
    remove(folder.path(), choices);
    match judge(&pair.sides[0], folder.path(), "") {
        Ok(result) if holds(pair) => {
            assert!(result.verdict > Verdict::Pass, "{} passes", pair.name);
        }
        Ok(_) => {}
        Err(error) => assert!(error.kind() != ErrorKind::Internal, "{}: {error}", pair.name),
    }
}

fn of_two_layouts(pair: &LayoutPair, choices: &[u8]) {
    let folder = pair.copied();
    let taken = layouts::take(folder.path(), choices);
    match judge(&folder.path().join("gpu"), &folder.path().join("npu"), &pair.policy) {
        Ok(result) => {
            assert!(taken.is_empty() || result.verdict > Verdict::Pass, "{} passes without {taken:?}", pair.name);
        }
        Err(error) => assert!(error.kind() != ErrorKind::Internal, "{}: {error}", pair.name),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [format, number, choices @ ..] = bytes else { return };
    let choices = &choices[..choices.len().min(MOST * CHOICE)];
    match PAIRS.get(usize::from(*format) % (PAIRS.len() + 1)) {
        Some(pairs) => of_one_layout(&pairs[usize::from(*number) % pairs.len()], choices),
        None => of_two_layouts(&LAYOUTS[usize::from(*number) % LAYOUTS.len()], choices),
    }
});
