//! Counts answers that end early or run on, from the texts of samples whose answers differ.

use rayon::prelude::*;

use crate::pair::evaluation::{PairedMetric, TextPair};
use crate::read::evaluation::{EvaluationSample, EvaluationTask, TextPlace};

/// Reads the texts of a sample again on both sides; `None` where they cannot be read.
pub type TextReader<'a> = dyn Fn(&TextPlace, &TextPlace) -> Option<TextPair> + Sync + 'a;

/// Fewest samples that show a pattern.
const LEAST: u64 = 5;
/// Least share of the pairs that shows a pattern.
const LEAST_SHARE: f64 = 0.05;

/// Numbers of answers that are cut off or run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lengths {
    /// Pairs in which the candidate's answer is the beginning of the baseline's.
    pub(super) truncated: u64,
    /// Pairs in which the baseline's answer is the beginning of the candidate's.
    pub(super) overlong: u64,
    /// Number of pairs of the metric.
    pub(super) pairs: u64,
}

impl Lengths {
    /// Whether `count` answers are enough to be a pattern.
    pub(super) fn is_pattern(&self, count: u64) -> bool {
        count >= LEAST && count as f64 >= LEAST_SHARE * self.pairs as f64
    }
}

/// Places of the texts of a pair of samples: baseline, candidate.
pub(super) fn text_places<'a>(
    metric: &PairedMetric,
    sides: [&'a EvaluationTask; 2],
    (baseline, candidate): (usize, usize),
) -> Option<(&'a TextPlace, &'a TextPlace)> {
    let samples = |task: &'a EvaluationTask| -> Option<&'a Vec<EvaluationSample>> {
        task.samples.as_ref()?.by_filter.get(&metric.filter)
    };
    Some((&samples(sides[0])?.get(baseline)?.texts, &samples(sides[1])?.get(candidate)?.texts))
}

/// Counts the answers of a metric's pairs that end early or late. Texts are read only where the answers differ.
pub(super) fn count_lengths(metric: &PairedMetric, sides: [&EvaluationTask; 2], texts: &TextReader<'_>) -> Lengths {
    let differs = metric.pairs.par_iter().filter(|pair| pair.same_answer == Some(false));
    let kinds = differs.filter_map(|pair| {
        let (baseline, candidate) = text_places(metric, sides, pair.places)?;
        let texts = texts(baseline, candidate)?;
        let (baseline, candidate) = (texts.baseline.answer.trim_end(), texts.candidate.answer.trim_end());
        let longer = |one: &str, other: &str| one.len() > other.len() && one.starts_with(other);
        Some((u64::from(longer(baseline, candidate)), u64::from(longer(candidate, baseline))))
    });
    let (truncated, overlong) = kinds.reduce(|| (0, 0), |one, other| (one.0 + other.0, one.1 + other.1));
    Lengths { truncated, overlong, pairs: metric.pairs.len() as u64 }
}
