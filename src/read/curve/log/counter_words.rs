//! Words that name a counter: steps, batches, epochs.

use std::sync::LazyLock;

/// Kind of a counter. Step counters have a rank: of several in a line, the one with the lowest rank counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    Step(u8),
    Batch,
    Epoch,
}

/// Words that name a counter, in lower case.
const WORDS: [(&str, Counts); 28] = [
    ("global_step", Counts::Step(0)),
    ("globalstep", Counts::Step(0)),
    ("num_updates", Counts::Step(0)),
    ("current_steps", Counts::Step(0)),
    ("_step", Counts::Step(0)),
    ("step", Counts::Step(1)),
    ("steps", Counts::Step(1)),
    ("train_step", Counts::Step(1)),
    ("training_step", Counts::Step(1)),
    ("iteration", Counts::Step(2)),
    ("iterations", Counts::Step(2)),
    ("iter", Counts::Step(2)),
    ("iters", Counts::Step(2)),
    ("it", Counts::Step(2)),
    ("update", Counts::Step(3)),
    ("updates", Counts::Step(3)),
    ("up", Counts::Step(3)),
    ("tick", Counts::Step(3)),
    ("rollout", Counts::Step(4)),
    ("perf", Counts::Step(4)),
    ("batch", Counts::Batch),
    ("batches", Counts::Batch),
    ("minibatch", Counts::Batch),
    ("epoch", Counts::Epoch),
    ("epochs", Counts::Epoch),
    ("ep", Counts::Epoch),
    ("current_epoch", Counts::Epoch),
    ("train_epoch", Counts::Epoch),
];
/// The words by their length, because every word of a line is looked up.
static BY_LENGTH: LazyLock<[Vec<(&str, Counts)>; 16]> = LazyLock::new(|| {
    std::array::from_fn(|length| WORDS.iter().filter(|(word, _)| word.len() == length).copied().collect())
});
/// Prefixes that may stand before a counter, separated by `/`.
const FOLDERS: [&str; 5] = ["train", "training", "trainer", "global", "val"];
/// The counter that a word names.
pub(super) fn counts(word: &str) -> Option<Counts> {
    let stroke = word.bytes().rposition(|byte| byte == b'/');
    let (folder, name) = stroke.and_then(|at| Some((word.get(..at)?, word.get(at + 1..)?))).unwrap_or(("", word));
    let alike = BY_LENGTH.get(name.len())?;
    let (_, counts) = alike.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    let is_counted = folder.is_empty() || FOLDERS.iter().any(|known| known.eq_ignore_ascii_case(folder));
    is_counted.then_some(*counts)
}

/// The words by what they count; those of steps are sorted from the best rank to the worst.
pub fn by_kind() -> [(&'static str, Vec<&'static str>); 3] {
    let of = |wanted: fn(&Counts) -> bool| {
        let mut words: Vec<_> = WORDS.iter().filter(|(_, counts)| wanted(counts)).collect();
        words.sort_by_key(|(_, counts)| if let Counts::Step(rank) = counts { *rank } else { 0 });
        words.into_iter().map(|(word, _)| *word).collect()
    };
    [
        ("steps", of(|counts| matches!(counts, Counts::Step(_)))),
        ("steps of an epoch", of(|counts| *counts == Counts::Batch)),
        ("epochs", of(|counts| *counts == Counts::Epoch)),
    ]
}

/// Whether a word names a counter.
pub(super) fn is_counter(word: &str) -> bool {
    counts(word).is_some()
}
