//! Account of the questions of a metric: compared, left out, one-sided, damaged.

use super::comparable::failed_samples;
use super::measure::{MeasuredMetric, TestInput};
use crate::pair::evaluation::{PairedMetric, ValuePair};
use crate::read::evaluation::{EvaluationTask, SampleValue};
use crate::result::unit::{EvaluationUnit, Evidence as Account};

/// The account of a metric that was measured.
pub(super) fn metric_account(
    unit: &EvaluationUnit,
    metric: &PairedMetric,
    measured: &MeasuredMetric,
    sides: [&EvaluationTask; 2],
) -> Account {
    let left = metric.left_out;
    let mut account = Account {
        not_compared: left.documents + left.prompts + failed_samples(metric) + measured.uncomputed,
        contradicting: left.contradictory,
        one_sided: [left.only_baseline, left.only_candidate],
        ..Account::default()
    };
    let tested = match measured.evidence.as_ref().filter(|_| unit.test.is_some()) {
        None => 0,
        // Scores without answers count for the questions that they cover.
        Some(TestInput::Scores(_)) => metric.counts.0.or(metric.counts.1).unwrap_or(1),
        Some(TestInput::Counts { .. } | TestInput::Losses(_)) => measured.losses.len() as u64,
    };
    let found = tested + account.not_compared + account.unpaired_count();
    account.offered = found.max(metric.samples).max(u64::from(metric.samples == 0));
    // A metric without a direction is only shown; no verdict rests on it.
    let is_judged = unit.higher_is_better.is_some();
    if is_judged {
        account.compared = tested;
        account.equal_trivially = if says_nothing(metric, measured) { tested } else { 0 };
    } else {
        (account.offered, account.shown_only) = (0, tested);
    }
    for damage in sides.iter().flat_map(|task| &task.damages) {
        account.damaged += 1;
        account.example("damaged", damage.path.as_str());
    }
    account
}

/// Whether agreement says nothing: both sides have the same single number for every question, and it does not mean that all are right.
fn says_nothing(metric: &PairedMetric, measured: &MeasuredMetric) -> bool {
    let Some(TestInput::Counts { .. } | TestInput::Losses(_)) = measured.evidence else {
        let zero = |score: Option<f64>| score.is_some_and(|score| score.abs() <= 0.0);
        return zero(measured.baseline) && zero(measured.candidate);
    };
    let number = |pair: &ValuePair| match (pair.baseline, pair.candidate) {
        (SampleValue::Number(baseline), SampleValue::Number(candidate)) => Some((baseline, candidate)),
        (SampleValue::Likelihood { log: baseline, .. }, SampleValue::Likelihood { log: candidate, .. }) => {
            Some((baseline, candidate))
        }
        _ => None,
    };
    let mut numbers = measured.losses.iter().filter_map(|(place, _)| number(metric.pairs.get(*place)?));
    let Some((first, _)) = numbers.clone().next() else { return false };
    // Where all answers are right, a loss would show.
    let is_right = measured.is_binary() && first > 0.0;
    !is_right
        && numbers.all(|(baseline, candidate)| {
            baseline.to_bits() == first.to_bits() && candidate.to_bits() == first.to_bits()
        })
}
