//! Published rules for tensors (`docs/dump.md`, Presets), for teams that keep the limits they use already.

use super::tensor_outcome::TensorOutcome;
use crate::compare::closeness::{Closeness, ElementTolerance};
use crate::compare::tensor::PairStats;
use crate::dtype::Dtype;
use crate::policy::dump::TensorPreset;

/// The tolerance a preset counts elements by; `None` for those that count none.
pub fn tolerance(preset: TensorPreset, baseline: Dtype, candidate: Dtype) -> Option<ElementTolerance> {
    let of = |relative, absolute| ElementTolerance { relative, absolute };
    match preset {
        TensorPreset::TorchAssertClose => {
            // With two types the looser pair applies.
            let (left, right) = (torch(baseline), torch(candidate));
            Some(of(left.relative.max(right.relative), left.absolute.max(right.absolute)))
        }
        TensorPreset::Numpy => Some(of(1e-5, 1e-8)),
        TensorPreset::Polygraphy => Some(of(1e-5, 1e-5)),
        TensorPreset::Pcc => Some(of(0.0, 0.0)),
        TensorPreset::CannMixed => Some(cann(baseline)),
        TensorPreset::CannDouble | TensorPreset::Msprobe => None,
    }
}

/// `torch.testing.assert_close`, defaults.
fn torch(dtype: Dtype) -> ElementTolerance {
    let (relative, absolute) = match dtype {
        Dtype::F16 => (1e-3, 1e-5),
        Dtype::BF16 => (1.6e-2, 1e-5),
        Dtype::F32 | Dtype::C64 => (1.3e-6, 1e-5),
        Dtype::F64 | Dtype::C128 => (1e-7, 1e-7),
        _ => (0.0, 0.0),
    };
    ElementTolerance { relative, absolute }
}

/// CANN's mixed tolerance.
fn cann(dtype: Dtype) -> ElementTolerance {
    let (relative, absolute) = match dtype {
        Dtype::F16 => (2f64.powi(-9), 2f64.powi(-9)),
        Dtype::BF16 => (2f64.powi(-6), 2f64.powi(-6)),
        Dtype::F8E4M3 | Dtype::F8E5M2 => (0.25, 0.0625),
        Dtype::F32 | Dtype::F64 | Dtype::C64 | Dtype::C128 => (2f64.powi(-10), 2f64.powi(-16)),
        _ => (0.0, 0.0),
    };
    ElementTolerance { relative, absolute }
}

/// Applies a preset to the measurements of a tensor; `None` where it does not apply (a correlation of constants).
#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
pub fn apply(preset: TensorPreset, stats: &PairStats, closeness: Option<&Closeness>) -> Option<TensorOutcome> {
    let (at_least, at_most) = (TensorOutcome::at_least, TensorOutcome::at_most);
    match preset {
        TensorPreset::TorchAssertClose | TensorPreset::Numpy => Some(at_least(closeness?.share(), 1.0)),
        TensorPreset::CannMixed => Some(at_least(closeness?.share(), 0.99)),
        TensorPreset::Polygraphy => Some(at_most(closeness?.beyond_both as f64, 0.0)),
        TensorPreset::Pcc if stats.unequal == 0 => Some(at_least(1.0, 0.99)),
        TensorPreset::Pcc => Some(at_least(closeness?.pearson()?, 0.99)),
        TensorPreset::CannDouble => {
            let beyond = stats.elements.saturating_sub(stats.msprobe.below_thousandth);
            let non_finite = stats.nonfinite_mismatches > 0;
            let share = if stats.elements == 0 { 0.0 } else { beyond as f64 / stats.elements as f64 };
            Some(at_most(share, 1e-3).only_if(!non_finite))
        }
        TensorPreset::Msprobe => Some(msprobe(stats)),
    }
}

/// msprobe's old column "Accuracy Reached or Not".
fn msprobe(stats: &PairStats) -> TensorOutcome {
    let norms = (stats.sum_sq_baseline * stats.sum_sq_candidate).sqrt();
    let cosine = if norms > 0.0 { stats.dot / norms } else { 1.0 };
    let largest = stats.max_abs_diff;
    let is_met =
        stats.nonfinite_mismatches == 0 && !(cosine < 0.99 && largest > 0.001 || cosine < 0.9 || largest > 1.0);
    TensorOutcome { value: cosine, limit: 0.99, is_met }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_are_the_published_ones() {
        let torch = tolerance(TensorPreset::TorchAssertClose, Dtype::F32, Dtype::BF16).expect("counts elements");
        assert_eq!((torch.relative, torch.absolute), (1.6e-2, 1e-5));
        let cann = tolerance(TensorPreset::CannMixed, Dtype::F16, Dtype::F16).expect("counts elements");
        assert_eq!((cann.relative, cann.absolute), (0.001_953_125, 0.001_953_125));
        assert_eq!(tolerance(TensorPreset::Msprobe, Dtype::F32, Dtype::F32), None);
    }
}
