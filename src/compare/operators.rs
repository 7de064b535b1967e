//! Output of an operator on two devices: the ratio of the candidate's error against a CPU to the baseline's.
//!
//! Errors, floors and levels are those of msprobe's `api_precision_compare`; docs/operators.md has them.

use crate::pair::operators::OutputPair;
use crate::read::operators::OperatorOutput;

/// Level of an operator, which decides its limits: the higher, the narrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperatorLevel {
    /// Every operator that no other level names.
    L0,
    /// Operators that sum in their own order, and attention.
    L1,
    /// Operators on which a model's accuracy depends most.
    L2,
}

/// Operators of level 1, without prefix and number.
const L1: [&str; 5] = ["embedding", "npu_fusion_attention", "npu_fusion_attention_grad", "scatter_", "scatter_add_"];
/// Operators of level 2, without prefix and number.
const L2: [&str; 13] = [
    "addmm",
    "matmul",
    "mm",
    "layer_norm",
    "gelu",
    "index",
    "sum",
    "one_hot",
    "nonzero",
    "npu_rms_norm",
    "npu_rms_norm_backward",
    "npu_cross_entropy_loss",
    "npu_cross_entropy_loss_backward",
];

impl OperatorLevel {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::L0, Self::L1, Self::L2];

    /// The level of an operator: `Functional.gelu.0` is of level 2. Upper and lower case are equal.
    pub(crate) fn from_api(api: &str) -> Self {
        let base = operator_word(api);
        let is = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(base));
        if is(&L1) {
            Self::L1
        } else if is(&L2) {
            Self::L2
        } else {
            Self::L0
        }
    }

    /// The name as msprobe writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
        }
    }

    /// The largest ratios that it allows.
    pub fn limits(self) -> PerRatio<f64> {
        match self {
            Self::L0 => PerRatio { rmse: 2.0, mean_rel: 2.0, small: 2.0, max_rel: 10.0 },
            Self::L1 => PerRatio { rmse: 1.5, mean_rel: 1.5, small: 2.0, max_rel: 5.0 },
            Self::L2 => PerRatio { rmse: 1.2, mean_rel: 1.2, small: 2.0, max_rel: 2.0 },
        }
    }
}

/// The word of an operator without prefix and number: `gelu` of `Functional.gelu.0`.
pub(crate) fn operator_word(api: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = api.rsplit_once('.').filter(|(_, last)| is_number(last)).map_or(api, |(name, _)| name);
    name.rsplit('.').next().unwrap_or(name)
}

/// A ratio of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RatioKind {
    /// Of the roots of the mean square errors.
    Rmse,
    /// Of the mean relative errors.
    MeanRel,
    /// Of the shares of wrong elements near zero.
    Small,
    /// Of the largest relative errors.
    MaxRel,
}

impl RatioKind {
    /// All of them; the last alone makes no error.
    pub const ALL: [Self; 4] = [Self::Rmse, Self::MeanRel, Self::Small, Self::MaxRel];

    /// The name as results and policies write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rmse => "rmse_ratio",
            Self::MeanRel => "mean_rel_ratio",
            Self::Small => "small_ratio",
            Self::MaxRel => "max_rel_ratio",
        }
    }

    fn error(self, output: &OperatorOutput) -> Option<f64> {
        match self {
            Self::Rmse => output.rmse,
            Self::MeanRel => output.mean_rel,
            Self::Small => output.small,
            Self::MaxRel => output.max_rel,
        }
    }
}

/// A value for each kind of ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerRatio<T> {
    /// For the root of the mean square error.
    pub rmse: T,
    /// For the mean relative error.
    pub mean_rel: T,
    /// For the share of wrong elements near zero.
    pub small: T,
    /// For the largest relative error.
    pub max_rel: T,
}

impl<T: Copy> PerRatio<T> {
    /// The value for `kind`.
    pub fn get(&self, kind: RatioKind) -> T {
        match kind {
            RatioKind::Rmse => self.rmse,
            RatioKind::MeanRel => self.mean_rel,
            RatioKind::Small => self.small,
            RatioKind::MaxRel => self.max_rel,
        }
    }
}

/// Candidate's error over the baseline's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorRatio {
    /// At least one side computed no error.
    Unknown,
    /// Both errors are NaN, or both are infinite, so there is no meaningful ratio.
    NotJudged,
    /// The candidate's error is NaN or infinite and the baseline's is not, or is not the same of the two.
    NonFinite,
    /// Finite on the candidate and not on the baseline.
    BaselineNonFinite,
    /// Both are finite; at least 0.
    Finite(f64),
}

impl ErrorRatio {
    fn new(baseline: Option<f64>, candidate: Option<f64>, floor: f64) -> Self {
        match (baseline, candidate) {
            (None, _) | (_, None) => Self::Unknown,
            (Some(baseline), Some(candidate)) if is_other_kind(baseline, candidate) => {
                if candidate.is_finite() {
                    Self::BaselineNonFinite
                } else {
                    Self::NonFinite
                }
            }
            (Some(_), Some(candidate)) if !candidate.is_finite() => Self::NotJudged,
            (Some(baseline), Some(candidate)) => Self::Finite(candidate.abs() / baseline.abs().max(floor)),
        }
    }

    /// The number; `None` where there is none.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Finite(value) => Some(value),
            Self::Unknown | Self::NotJudged | Self::NonFinite | Self::BaselineNonFinite => None,
        }
    }
}

/// Whether two numbers are of different kinds: finite, infinite or NaN. An error of NaN comes from infinities that agree or from
/// NaN, an infinite one from an infinity that meets a number.
pub(crate) fn is_other_kind(baseline: f64, candidate: f64) -> bool {
    (baseline.is_nan(), baseline.is_infinite()) != (candidate.is_nan(), candidate.is_infinite())
}

/// Floor of an error: smaller errors count as this much, so that a baseline without error gives no infinite ratio;
/// `None` for types whose ratios are not judged.
pub(crate) fn error_floor(dtype: &str) -> Option<f64> {
    let is = |name: &str| dtype.eq_ignore_ascii_case(name);
    if is("float16") {
        Some(2_f64.powi(-11))
    } else if is("bfloat16") {
        Some(2_f64.powi(-8))
    } else if is("float32") {
        Some(2_f64.powi(-14))
    } else {
        None
    }
}

/// Result of comparing an output of the candidate with the baseline's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OutputMeasure {
    /// Nothing to compare: no values, or a type that the tool does not judge.
    Nothing,
    /// The candidate's error is NaN or infinite and the baseline's is not, or is not the same of the two.
    NonFinite,
    /// Finite on the candidate and not on the baseline.
    BaselineNonFinite,
    /// The element types differ.
    Dtype,
    /// Share of elements that are not equal, of results that are no floats; `None` where it was not computed.
    Binary(Option<f64>),
    /// Ratios of errors.
    Ratios(PerRatio<ErrorRatio>),
}

/// Measures a pair.
pub fn measure(pair: &OutputPair<'_>) -> OutputMeasure {
    let (baseline, candidate) = (pair.baseline, pair.candidate);
    let is_lost = |of: fn(&OperatorOutput) -> Option<f64>| {
        let lost = of(candidate).filter(|value| !value.is_finite());
        lost.is_some_and(|c| of(baseline).is_none_or(|b| is_other_kind(b, c)))
    };
    let is_gained = |of: fn(&OperatorOutput) -> Option<f64>| {
        of(baseline).is_some_and(|value| !value.is_finite()) && of(candidate).is_some_and(f64::is_finite)
    };
    if is_unjudged(candidate) {
        OutputMeasure::Nothing
    } else if is_lost(|output| output.cosine) || is_lost(|output| output.max_abs) {
        OutputMeasure::NonFinite
    } else if baseline.dtype.is_empty() {
        // Nothing was computed on the baseline, so there is no type to compare.
        OutputMeasure::Nothing
    } else if !baseline.dtype.eq_ignore_ascii_case(&candidate.dtype) {
        OutputMeasure::Dtype
    } else if !is_float(&candidate.dtype) {
        OutputMeasure::Binary(candidate.binary)
    } else if is_gained(|output| output.cosine) || is_gained(|output| output.max_abs) {
        OutputMeasure::BaselineNonFinite
    } else {
        ratios(pair)
    }
}

/// The ratios of a pair of floats; nothing for types without a floor.
pub fn ratios(pair: &OutputPair<'_>) -> OutputMeasure {
    let Some(floor) = error_floor(&pair.candidate.dtype) else { return OutputMeasure::Nothing };
    let ratio = |kind: RatioKind| ErrorRatio::new(kind.error(pair.baseline), kind.error(pair.candidate), floor);
    OutputMeasure::Ratios(PerRatio {
        rmse: ratio(RatioKind::Rmse),
        mean_rel: ratio(RatioKind::MeanRel),
        small: ratio(RatioKind::Small),
        max_rel: ratio(RatioKind::MaxRel),
    })
}

/// Whether an output has no values, or is of a type that the tool does not judge.
pub(crate) fn is_unjudged(output: &OperatorOutput) -> bool {
    const TYPES: [&str; 4] = ["", "float64", "complex64", "complex128"];
    TYPES.iter().any(|name| name.eq_ignore_ascii_case(&output.dtype)) || is_empty(&output.shape)
}

/// Whether a shape as it is written holds no element: `(0,)`.
pub fn is_empty(shape: &str) -> bool {
    let inner = shape.trim_start_matches(['(', '[']).trim_end_matches([')', ']']);
    inner.split(',').any(|extent| extent.trim() == "0")
}

fn is_float(dtype: &str) -> bool {
    let dtype = dtype.to_ascii_lowercase();
    dtype.starts_with("float") || dtype.starts_with("bfloat")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_has_the_level_of_its_word() {
        for (api, level) in [
            ("Functional.gelu.0", OperatorLevel::L2),
            ("Torch.matmul.12", OperatorLevel::L2),
            ("Tensor.__matmul__.0", OperatorLevel::L0),
            ("Functional.embedding.0", OperatorLevel::L1),
            ("NPU.npu_fusion_attention.3", OperatorLevel::L1),
            ("Functional.linear.0", OperatorLevel::L0),
            ("Tensor.index_select.0", OperatorLevel::L0),
            ("Tensor.sum.0", OperatorLevel::L2),
        ] {
            assert_eq!(OperatorLevel::from_api(api), level, "{api}");
        }
    }

    #[test]
    fn ratios_have_a_floor_and_keep_what_is_not_finite() {
        let floor = error_floor("bfloat16").expect("a float");
        assert_eq!(ErrorRatio::new(Some(0.0), Some(2.0 * floor), floor), ErrorRatio::Finite(2.0));
        assert_eq!(ErrorRatio::new(Some(1.0), Some(3.0), floor), ErrorRatio::Finite(3.0));
        assert_eq!(ErrorRatio::new(Some(1.0), Some(f64::NAN), floor), ErrorRatio::NonFinite);
        assert_eq!(ErrorRatio::new(Some(f64::INFINITY), Some(f64::NAN), floor), ErrorRatio::NonFinite);
        assert_eq!(ErrorRatio::new(Some(f64::NAN), Some(1.0), floor), ErrorRatio::BaselineNonFinite);
        assert_eq!(ErrorRatio::new(Some(f64::NAN), Some(f64::NAN), floor), ErrorRatio::NotJudged);
        assert_eq!(ErrorRatio::new(None, Some(1.0), floor), ErrorRatio::Unknown);
        assert!(is_empty("(0,)") && is_empty("(2, 0, 3)") && !is_empty("(10, 20)") && !is_empty("()"));
    }
}
