//! Standard errors of two scores. They decide how large a drop has to be, so an error wider than the number of questions allows is not
//! accepted, and the candidate cannot widen its own error.

use crate::read::evaluation::Score;
use crate::verdict::Side;

/// Factor by which a standard error may exceed its bound, for printed digits and the noise of a bootstrap.
const SLACK: f64 = 1.01;
/// Largest accepted ratio of the candidate's error to the baseline's, for scores that are not rates.
const MOST_RATIO: f64 = 1.5;

/// Standard errors of both sides.
#[derive(Debug, Default, PartialEq)]
pub(super) struct StandardErrors {
    pub(super) baseline: Option<f64>,
    pub(super) candidate: Option<f64>,
    /// Sides whose recorded error was not accepted.
    pub(super) replaced: Vec<Side>,
}

/// The standard errors of two scores over `counts` questions.
pub(super) fn standard_errors(
    (baseline, candidate): (Score, Score),
    counts: (Option<u64>, Option<u64>),
    is_rate: bool,
) -> StandardErrors {
    let is_error = |error: &f64| error.is_finite() && *error >= 0.0;
    let mut errors = StandardErrors::default();
    // The number of questions is the baseline's; where it is not recorded, it follows from the baseline's standard error.
    let of_error = || count_of(baseline.value, baseline.error.filter(is_error)?);
    let count = counts.0.or_else(of_error).or(counts.1).filter(|_| is_rate);
    let mut of_side = |side: Side, score: Score| {
        let bound = count.and_then(widest).map(|bound| bound * SLACK);
        let given = score.error.filter(|error| is_error(error) && bound.is_none_or(|bound| *error <= bound));
        if score.error.is_some() && given.is_none() {
            errors.replaced.push(side);
        }
        let of_counts = count.and_then(|count| of_rate(score.value, count));
        match (side, given, of_counts) {
            // Values between 0 and 1 never spread more than answers that are right or wrong.
            (Side::Candidate, Some(given), Some(of_counts)) => Some(given.min(of_counts * SLACK)),
            (_, given, of_counts) => given.or(of_counts),
        }
    };
    errors.baseline = of_side(Side::Baseline, baseline);
    errors.candidate = of_side(Side::Candidate, candidate);
    if let (None, Some(baseline_error)) = (count, errors.baseline) {
        let most = baseline_error * MOST_RATIO;
        if candidate.error.is_some() && errors.candidate.is_none_or(|candidate_error| candidate_error > most) {
            errors.candidate = Some(baseline_error);
            if !errors.replaced.contains(&Side::Candidate) {
                errors.replaced.push(Side::Candidate);
            }
        }
    }
    errors
}

/// Standard error of a rate over `count` questions; `None` for fewer than two.
fn of_rate(rate: f64, count: u64) -> Option<f64> {
    (count >= 2).then(|| (rate * (1.0 - rate) / (count - 1) as f64).max(0.0).sqrt())
}

/// The largest standard error of a rate over `count` questions.
fn widest(count: u64) -> Option<f64> {
    of_rate(0.5, count.max(2))
}

/// Number of questions that follows from a rate and its standard error.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float to an integer saturates")]
fn count_of(rate: f64, error: f64) -> Option<u64> {
    let spread = rate * (1.0 - rate);
    (error > 0.0 && spread > 0.0).then(|| (spread / (error * error)).round() as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(value: f64, error: f64) -> Score {
        Score { value, error: Some(error), higher_is_better: Some(true) }
    }

    #[test]
    fn no_error_is_wider_than_the_number_of_questions_allows() {
        let right = standard_errors((score(0.745, 0.0309), score(0.73, 0.0315)), (Some(200), Some(200)), true);
        assert_eq!(right, StandardErrors { baseline: Some(0.0309), candidate: Some(0.0315), replaced: vec![] });
        for wrong in [50.0, -1.0, f64::NAN, f64::INFINITY] {
            for counts in [(Some(200), Some(200)), (Some(200), Some(3)), (None, None)] {
                let found = standard_errors((score(0.745, 0.0309), score(0.35, wrong)), counts, true);
                assert!(found.candidate.is_some_and(|error| error < 0.036), "{wrong} {found:?}");
                assert_eq!(found.replaced, [Side::Candidate]);
            }
            let of_others = standard_errors((score(31.0, 0.5), score(20.0, wrong)), (None, None), false);
            assert_eq!((of_others.candidate, of_others.replaced), (Some(0.5), vec![Side::Candidate]));
        }
        let wide = standard_errors((score(0.5, 0.035), score(0.95, 0.035)), (Some(200), Some(200)), true);
        assert!(wide.replaced.is_empty() && wide.candidate.is_some_and(|error| error < 0.016), "{wide:?}");
    }
}
