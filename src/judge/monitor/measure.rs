//! Error of a row: the difference of each statistic, less its floor, over the tensor's scale.

use crate::judge::monitor::precision::rounding;
use crate::kind::Statistic;
use crate::pair::monitor::MonitorRowPair;
use crate::read::monitor::{MonitorRow, MonitorStatistics};

/// Elements that a device adds up in one block. Block sums are added in a tree, so rounding does not grow beyond a block.
const BLOCK: f64 = 4096.0;
/// Relative rounding of a number that only one of two versions of the tool writes in full.
const OTHER_VERSION: f64 = 1e-6;

/// An error, and the statistic that has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowError {
    /// The error; infinite where the baseline is zero.
    pub error: f64,
    /// The statistic.
    pub statistic: Statistic,
}

/// Rounding of the files of both sides.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileRounding {
    /// One unit of the coarser rounding; 0 where both write in full.
    pub unit: f64,
    /// Whether one side rounds and the other writes in full.
    pub versions_differ: bool,
}

impl FileRounding {
    /// Rounding of two files by their decimals.
    pub(crate) fn new(baseline: Option<u32>, candidate: Option<u32>, versions_differ: bool) -> Self {
        Self { unit: rounding(baseline).max(rounding(candidate)), versions_differ }
    }

    /// Relative rounding of a number that one version wrote in full and the other rounded.
    pub(crate) fn version_rounding(self) -> f64 {
        if self.versions_differ { OTHER_VERSION } else { 0.0 }
    }

    /// Rounding of rows that are merged from up to `parts` rounded ones: the rounding of a norm grows with the root of their number.
    #[must_use]
    pub(crate) fn with_parts(self, parts: u32) -> Self {
        let grown = if parts > 1 { f64::midpoint(1.0, f64::from(parts).sqrt()) } else { 1.0 };
        Self { unit: self.unit * grown, ..self }
    }
}

/// Raises the `largest` magnitude of each statistic to that of one more row, where it is larger.
pub fn raise(largest: &mut [f64; 4], pair: &MonitorRowPair) {
    for (statistic, value) in pair.baseline.statistics.written().filter(|(_, value)| value.is_finite()) {
        if let Some(most) = largest.get_mut(statistic as usize) {
            *most = most.max(value.abs());
        }
    }
}

/// Scale of a statistic: the norm for the norm, the largest magnitude for the others. `None` where it was not recorded.
pub fn scale(statistics: &MonitorStatistics, statistic: Statistic) -> Option<f64> {
    let norm = statistics.get(Statistic::Norm).map(f64::abs).filter(|norm| norm.is_finite());
    let both = statistics.get(Statistic::Max).is_some() && statistics.get(Statistic::Min).is_some();
    match statistic {
        Statistic::Norm => norm,
        // One end alone may be zero, as after a ReLU.
        _ if both => statistics.largest(),
        Statistic::Mean => norm,
        _ => norm.or_else(|| statistics.largest()),
    }
}

/// Statistics that are finite on both sides: statistic, baseline, candidate and scale.
fn finite(pair: &MonitorRowPair) -> impl Iterator<Item = (Statistic, f64, f64, f64)> {
    let (baseline, candidate) = (pair.baseline.statistics, pair.candidate.statistics);
    Statistic::ALL.into_iter().filter_map(move |statistic| {
        let (b, c) = (baseline.get(statistic)?, candidate.get(statistic)?);
        let scale = scale(&baseline, statistic)?;
        (b.is_finite() && c.is_finite()).then_some((statistic, b, c, scale))
    })
}

/// The largest error of a row's statistics; `floor` gives the absolute part of a statistic's difference that is no error.
/// `None` where no statistic could be compared.
pub fn error(pair: &MonitorRowPair, floor: impl Fn(Statistic) -> f64) -> Option<RowError> {
    let mut errors = [None; Statistic::ALL.len()];
    for (place, (statistic, b, c, scale)) in errors.iter_mut().zip(finite(pair)) {
        *place = Some(RowError { error: over(((c - b).abs() - floor(statistic)).max(0.0), scale), statistic });
    }
    let errors = || errors.iter().flatten();
    let worst = errors().map(|measured| measured.error).reduce(f64::max)?;
    // Among nearly equal errors the first statistic is the most telling: a factor shows in the norm.
    let first = errors().find(|measured| measured.error >= worst * 0.99 || measured.error.is_infinite())?;
    Some(RowError { error: worst, statistic: first.statistic })
}

/// Rounding of a sum over a tensor on both sides, relative to its norm: sums of blocks are added in a tree.
pub(crate) fn rounding_of_sum(row: &MonitorRow) -> f64 {
    let elements = row.shape.as_deref().and_then(elements).map_or(BLOCK, |elements| elements.clamp(1.0, BLOCK));
    f64::from(f32::EPSILON) * (elements.sqrt() + 1.0)
}

/// The error of a parameter before the first update, where both sides have to be equal: max and min to the last digit, sums within the
/// rounding of another order of summation. `None` where they are equal.
pub(crate) fn start_error(pair: &MonitorRowPair, written: FileRounding) -> Option<RowError> {
    let sum = rounding_of_sum(&pair.baseline);
    let floor = |statistic: Statistic| {
        let scale = scale(&pair.baseline.statistics, statistic).unwrap_or(0.0);
        let of_sum = if matches!(statistic, Statistic::Norm | Statistic::Mean) { sum * scale } else { 0.0 };
        written.unit * 1.000_001 + of_sum + written.version_rounding() * scale
    };
    error(pair, floor).filter(|measured| measured.error > 0.0)
}

/// The largest change of a parameter's statistics, relative to their scale.
pub(crate) fn relative_movement(first: &MonitorStatistics, now: &MonitorStatistics) -> f64 {
    let changes = Statistic::ALL.into_iter().filter_map(|statistic| {
        let change = (now.get(statistic)? - first.get(statistic)?).abs();
        Some(over(change, scale(now, statistic)?)).filter(|share| share.is_finite())
    });
    changes.fold(0.0, f64::max)
}

/// The largest difference of a gradient's statistics, less one `unit` of rounding, over the `largest` value of that statistic at
/// the step.
pub(crate) fn share_of_largest(pair: &MonitorRowPair, largest: [f64; 4], unit: f64) -> f64 {
    let shares = finite(pair).filter_map(|(statistic, b, c, _)| {
        let most = largest.get(statistic as usize).copied().filter(|most| *most > 0.0)?;
        Some(((c - b).abs() - unit).max(0.0) / most)
    });
    shares.fold(0.0, f64::max)
}

fn over(difference: f64, scale: f64) -> f64 {
    if difference <= 0.0 {
        0.0
    } else if scale > 0.0 {
        difference / scale
    } else {
        f64::INFINITY
    }
}

/// Number of elements of a shape as the tool writes it: `[4, 12]`.
#[allow(clippy::cast_precision_loss, reason = "a bound needs no exact count")]
fn elements(shape: &str) -> Option<f64> {
    let sizes = shape.trim_matches(['[', ']', '(', ')']).split(',').map(str::trim).filter(|size| !size.is_empty());
    sizes.map(|size| size.parse::<u64>().ok().map(|size| size as f64)).product()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, prop, proptest};

    use super::*;
    use crate::kind::MonitorKind;
    use crate::read::monitor::{MonitorHeader, MonitorKey, MonitorPlace};

    fn row(values: [f64; 4]) -> MonitorRow {
        let header = MonitorHeader::parse(b"vpp_stage,step,module_name,scope,norm,min,max,mean").expect("a header");
        let [norm, min, max, mean] = values;
        let line = format!("-1,0,fc.weight,reduced,{norm:e},{min:e},{max:e},{mean:e}");
        header.read(line.as_bytes(), &MonitorPlace::from_path("rank_0/weight_grad_step0-4.csv")).expect("a row")
    }

    fn pair(baseline: [f64; 4], candidate: [f64; 4]) -> MonitorRowPair {
        let key = MonitorKey {
            model: 0,
            kind: MonitorKind::GradReduced,
            stage: 0,
            name: "fc.weight".into(),
            micro_step: 0,
            occurrence: 0,
        };
        MonitorRowPair {
            key,
            order: 0,
            is_repeat: false,
            is_parted: false,
            baseline: row(baseline),
            candidate: row(candidate),
        }
    }

    fn of(baseline: [f64; 4], candidate: [f64; 4], floor: f64) -> f64 {
        error(&pair(baseline, candidate), |_| floor).expect("statistics").error
    }

    fn statistics() -> impl Strategy<Value = [f64; 4]> {
        prop::array::uniform4(-1e6_f64..1e6).prop_map(|[norm, min, max, mean]| {
            let largest = min.abs().max(max.abs());
            [norm.abs(), min, max, mean.clamp(-largest, largest)]
        })
    }

    proptest! {
        #[test]
        fn equal_rows_have_no_error(values in statistics()) {
            assert!(of(values, values, 0.0) <= 0.0);
            assert_eq!(start_error(&pair(values, values), FileRounding::default()), None);
        }

        #[test]
        fn errors_have_no_unit(baseline in statistics(), candidate in statistics(), power in -20_i32..20) {
            let times = |values: [f64; 4]| values.map(|value| value * 2_f64.powi(power));
            let (one, other) = (of(baseline, candidate, 0.0), of(times(baseline), times(candidate), 0.0));
            assert!((one - other).abs() <= 1e-12 * one.abs() || one.is_infinite() && other.is_infinite(), "{one} {other}");
        }

        #[test]
        fn a_higher_floor_gives_no_larger_error(baseline in statistics(), candidate in statistics(), floor in 0.0_f64..1e6) {
            let (without, with) = (of(baseline, candidate, 0.0), of(baseline, candidate, floor));
            assert!(with <= without && with >= 0.0);
        }

        #[test]
        fn a_factor_is_the_error_of_its_distance_to_one(baseline in statistics(), factor in 0.5_f64..2.0) {
            let candidate = baseline.map(|value| value * factor);
            let found = of(baseline, candidate, 0.0);
            assert!((found - (factor - 1.0).abs()).abs() <= 1e-9, "{found} {factor}");
        }
    }

    #[test]
    fn what_was_zero_and_is_not_is_infinitely_off_and_nan_is_left_to_exact_rules() {
        assert!(of([0.0; 4], [1.0, -1.0, 1.0, 0.0], 0.0).is_infinite());
        assert!(of([1.0, -1.0, 1.0, 0.0], [f64::NAN, -1.0, 1.0, 0.0], 0.0) <= 0.0);
        assert!(error(&pair([f64::NAN; 4], [1.0; 4]), |_| 0.0).is_none());
    }

    #[test]
    fn equal_parameters_may_be_summed_in_another_order() {
        let first = [27.615_122, -2.9, 2.99, 0.002];
        let summed = [27.615_122 * (1.0 + 3e-6), -2.9, 2.99, 0.002];
        let scaled = [27.615_122, -2.9, 2.99 * (1.0 + 3e-6), 0.002];
        assert_eq!(start_error(&pair(first, summed), FileRounding::default()), None);
        assert_eq!(
            start_error(&pair(first, scaled), FileRounding::default()).map(|found| found.statistic),
            Some(Statistic::Max)
        );
        assert!(
            (relative_movement(&row(first).statistics, &row([27.0, -2.9, 2.99, 0.002]).statistics) - 0.615_122 / 27.0)
                .abs()
                < 1e-9
        );
    }
}
