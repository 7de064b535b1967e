//! Words that name a counter: steps, batches, epochs.

use std::sync::LazyLock;

/// Kind of a counter. Step counters have a rank: of several in a line, the one with the lowest rank counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CounterKind {
    Step(u8),
    Batch,
    Epoch,
}

/// Words that name a counter, in lower case.
const WORDS: [(&str, CounterKind); 28] = [
    ("global_step", CounterKind::Step(0)),
    ("globalstep", CounterKind::Step(0)),
    ("num_updates", CounterKind::Step(0)),
    ("current_steps", CounterKind::Step(0)),
    ("_step", CounterKind::Step(0)),
    ("step", CounterKind::Step(1)),
    ("steps", CounterKind::Step(1)),
    ("train_step", CounterKind::Step(1)),
    ("training_step", CounterKind::Step(1)),
    ("iteration", CounterKind::Step(2)),
    ("iterations", CounterKind::Step(2)),
    ("iter", CounterKind::Step(2)),
    ("iters", CounterKind::Step(2)),
    ("it", CounterKind::Step(2)),
    ("update", CounterKind::Step(3)),
    ("updates", CounterKind::Step(3)),
    ("up", CounterKind::Step(3)),
    ("tick", CounterKind::Step(3)),
    ("rollout", CounterKind::Step(4)),
    ("perf", CounterKind::Step(4)),
    ("batch", CounterKind::Batch),
    ("batches", CounterKind::Batch),
    ("minibatch", CounterKind::Batch),
    ("epoch", CounterKind::Epoch),
    ("epochs", CounterKind::Epoch),
    ("ep", CounterKind::Epoch),
    ("current_epoch", CounterKind::Epoch),
    ("train_epoch", CounterKind::Epoch),
];
/// The words by their length, because every word of a line is looked up.
static BY_LENGTH: LazyLock<[Vec<(&str, CounterKind)>; 16]> = LazyLock::new(|| {
    std::array::from_fn(|length| WORDS.iter().filter(|(word, _)| word.len() == length).copied().collect())
});
/// Prefixes that may stand before a counter, separated by `/`.
const FOLDERS: [&str; 5] = ["train", "training", "trainer", "global", "val"];
/// The counter that a word names.
pub(super) fn counter_of_word(word: &str) -> Option<CounterKind> {
    let stroke = word.bytes().rposition(|byte| byte == b'/');
    let (folder, name) = stroke.and_then(|at| Some((word.get(..at)?, word.get(at + 1..)?))).unwrap_or(("", word));
    let alike = BY_LENGTH.get(name.len())?;
    let (_, counts) = alike.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    let is_counted = folder.is_empty() || FOLDERS.iter().any(|known| known.eq_ignore_ascii_case(folder));
    is_counted.then_some(*counts)
}

/// The words by what they count; those of steps are sorted from the best rank to the worst.
pub fn by_kind() -> [(&'static str, Vec<&'static str>); 3] {
    let of = |wanted: fn(&CounterKind) -> bool| {
        let mut words: Vec<_> = WORDS.iter().filter(|(_, counts)| wanted(counts)).collect();
        words.sort_by_key(|(_, counts)| if let CounterKind::Step(rank) = counts { *rank } else { 0 });
        words.into_iter().map(|(word, _)| *word).collect()
    };
    [
        ("steps", of(|counts| matches!(counts, CounterKind::Step(_)))),
        ("steps of an epoch", of(|counts| *counts == CounterKind::Batch)),
        ("epochs", of(|counts| *counts == CounterKind::Epoch)),
    ]
}

/// Whether a word names a counter.
pub(super) fn is_counter(word: &str) -> bool {
    counter_of_word(word).is_some()
}
