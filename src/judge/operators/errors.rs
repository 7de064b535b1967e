//! Errors of an output against the CPU: their size on both sides, and what that size looks like.

use crate::compare::operators::operator_word;
use crate::pair::operators::OutputPair;
use crate::read::operators::OperatorOutput;
use crate::result::finding::Finding;

/// Unit roundoff of types that are lower than the test's own; float16 stands for all types of eleven significant bits.
const LOWER: [(&str, &[(&str, f64)]); 2] =
    [("float32", &[("float16", 1.0 / 2048.0), ("bfloat16", 1.0 / 256.0)]), ("float16", &[("bfloat16", 1.0 / 256.0)])];
/// Share of a roundoff that the error of a rounded result has, and the most that its rounded inputs add.
const ROUNDED: (f64, f64) = (0.2, 1.5);
/// Roundoffs that the largest relative error of an operator without sums reaches.
const LARGEST: f64 = 4.0;
/// Factor by which the candidate's mean error exceeds the baseline's where it has a cause of its own.
const OWN: f64 = 4.0;
/// Parts of the names of operators that sum, whose relative error has no limit where the terms cancel.
const SUMS: [&str; 15] = [
    "linear",
    "mm",
    "matmul",
    "bmm",
    "conv",
    "attention",
    "sum",
    "mean",
    "norm",
    "einsum",
    "dot",
    "softmax",
    "loss",
    "cross_entropy",
    "embedding",
];
/// Least share of the largest relative error that the mean has where every element is off alike.
const ALIKE: f64 = 0.95;
/// Least number of elements of which that says anything.
const FEW: u64 = 8;
/// Smallest relative error that is taken for a factor.
const LEAST_FACTOR: f64 = 1e-5;
/// Mean relative error of the finite elements below which they are right.
const RIGHT: f64 = 1e-3;

/// The errors of an output, as its finding tells them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowErrors {
    /// Shape of the output, as the table writes it.
    pub shape: String,
    /// Largest and mean relative error of the candidate.
    pub relative: Option<[f64; 2]>,
    /// Mean relative error of the baseline.
    pub baseline_mean: Option<f64>,
    /// Shares of wrong elements among those near zero: baseline, candidate.
    pub small: Option<[f64; 2]>,
    /// Name of what the errors look like; `None` where they look like nothing known.
    pub pattern: Option<&'static str>,
    /// Type of which the candidate's error has the size of a rounding.
    pub rounding: Option<&'static str>,
    /// The kind of number that the candidate gives wrongly, as far as the errors tell: `infinite`, `not-a-number` or `finite`.
    pub broken: Option<&'static str>,
    /// Share of elements that are not finite on the candidate or against the CPU.
    pub share: Option<f64>,
}

impl RowErrors {
    /// The errors of a pair.
    pub(super) fn of(pair: &OutputPair<'_>) -> Self {
        let (b, c) = (pair.baseline, pair.candidate);
        let both = |of: fn(&OperatorOutput) -> Option<f64>| {
            of(b).zip(of(c)).filter(|(b, c)| b.is_finite() && c.is_finite()).map(|(b, c)| [b.abs(), c.abs()])
        };
        let relative = c.max_rel.zip(c.mean_rel).filter(|(max, mean)| max.is_finite() && mean.is_finite());
        let broken = broken(b.max_abs, c.max_abs);
        let is_rest_right = c.mean_rel.is_some_and(|mean| mean < RIGHT);
        let share = c.within.map(|within| 1.0 - within).filter(|share| *share > 0.0 && *share <= 1.0);
        Self {
            shape: c.shape.clone(),
            relative: relative.map(|(max, mean)| [max.abs(), mean.abs()]),
            baseline_mean: b.mean_rel.filter(|mean| mean.is_finite()).map(f64::abs),
            small: both(|output| output.small),
            pattern: pattern(c),
            rounding: rounding(b, c),
            broken,
            share: share.filter(|_| broken.is_some() && is_rest_right),
        }
    }

    /// Adds the sizes of the errors to a finding about an output that is inaccurate.
    pub(super) fn tell_sizes(&self, finding: Finding) -> Finding {
        let mut finding = finding;
        if let Some([max, mean]) = self.relative {
            finding = finding.with("max_rel", max).with("mean_rel", mean);
        }
        if let Some(mean) = self.baseline_mean {
            finding = finding.with("baseline_mean_rel", mean);
        }
        if let Some([baseline, candidate]) = self.small {
            finding = finding.with("baseline_small", baseline).with("small", candidate);
        }
        match (self.pattern, self.rounding) {
            (Some(pattern), _) => finding.with("pattern", pattern),
            (None, Some(rounding)) => finding.with("rounding", rounding),
            (None, None) => finding,
        }
    }

    /// Adds what the errors tell about an output that is not finite.
    pub(super) fn tell_broken(&self, finding: Finding) -> Finding {
        let Some(broken) = self.broken else { return finding };
        let finding = finding.with("broken", broken);
        let Some(share) = self.share else { return finding };
        let finding = finding.with("share", share);
        match elements(&self.shape) {
            #[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
            Some(of) => finding.with("broken_count", (share * of as f64).round()).with("of", of),
            None => finding,
        }
    }
}

/// The kind of number that the candidate gives wrongly, by the largest absolute errors of both sides.
///
/// An infinity less an equal one is NaN, and NaN hides everything else. So a finite error says that the CPU and the side are finite
/// everywhere, an infinite one that they differ by an infinity and nothing is NaN, and NaN that both are infinite somewhere or one is NaN.
fn broken(baseline: Option<f64>, candidate: Option<f64>) -> Option<&'static str> {
    let (baseline, candidate) = (baseline?, candidate?);
    if baseline.is_finite() && candidate.is_infinite() {
        Some("infinite")
    } else if baseline.is_finite() && candidate.is_nan() {
        Some("not-a-number")
    } else if baseline.is_nan() && candidate.is_infinite() {
        // The CPU and the baseline agree in an infinity, where the candidate has a number or the other infinity.
        Some("finite")
    } else {
        None
    }
}

/// The pattern of errors that are as large in every element.
fn pattern(output: &OperatorOutput) -> Option<&'static str> {
    let (max, mean) = (output.max_rel?.abs(), output.mean_rel?.abs());
    let is_alike = max.is_finite() && max > LEAST_FACTOR && mean >= ALIKE * max;
    if !is_alike || elements(&output.shape).is_none_or(|elements| elements < FEW) {
        return None;
    }
    let cosine = output.cosine.filter(|cosine| cosine.is_finite());
    match cosine {
        Some(cosine) if cosine < -0.99 => Some("sign"),
        // Errors of random sign turn the result, a factor does not.
        Some(cosine) if 1.0 - cosine < 0.05 * mean * mean => Some("factor"),
        None | Some(_) if (mean - 1.0).abs() < 0.01 && cosine.is_none_or(|cosine| cosine.abs() < 0.01) => Some("zero"),
        _ => None,
    }
}

/// The type of which the candidate's error has the size of a rounding, where the baseline's is far smaller.
fn rounding(baseline: &OperatorOutput, candidate: &OperatorOutput) -> Option<&'static str> {
    let (_, lower) = LOWER.iter().find(|(dtype, _)| candidate.dtype.eq_ignore_ascii_case(dtype))?;
    let (max, mean) = (candidate.max_rel?.abs(), candidate.mean_rel?.abs());
    if baseline.mean_rel.is_none_or(|own| own.abs() * OWN > mean) {
        return None;
    }
    // A small angle tells the relative error of the whole, which single elements near zero do not bend.
    let angle = (2.0 * (1.0 - candidate.cosine?).max(0.0)).sqrt();
    let word = operator_word(candidate.api()).to_ascii_lowercase();
    let sums = SUMS.iter().any(|part| word.contains(part));
    let fits = |unit: f64| angle >= ROUNDED.0 * unit && angle <= ROUNDED.1 * unit && (sums || max <= LARGEST * unit);
    lower.iter().find(|(_, unit)| fits(*unit)).map(|(name, _)| *name)
}

/// Number of elements of a shape as it is written; `None` where it cannot be read.
fn elements(shape: &str) -> Option<u64> {
    let inner = shape.trim().trim_start_matches(['(', '[']).trim_end_matches([')', ']']);
    let extents = inner.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    extents.map(|extent| extent.parse::<u64>().ok()).try_fold(1_u64, |all, extent| all.checked_mul(extent?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_tell_which_side_is_not_finite() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        for (baseline, candidate, told) in [
            (0.0, inf, Some("infinite")),
            (0.0, nan, Some("not-a-number")),
            (nan, inf, Some("finite")),
            (inf, nan, None),
            (nan, nan, None),
            (nan, 0.0, None),
        ] {
            assert_eq!(broken(Some(baseline), Some(candidate)), told, "{baseline} {candidate}");
        }
    }

    #[test]
    fn a_shape_has_elements() {
        for (shape, count) in [("(2, 9, 32)", Some(576)), ("(16,)", Some(16)), ("()", Some(1)), ("?", None)] {
            assert_eq!(elements(shape), count, "{shape}");
        }
    }
}
