//! Dumps: how the dump check judges.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

use super::location::Paths;
use super::value::{NameMap, Pattern, Tolerance};
use crate::dtype::Dtype;

/// Dumps.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct DumpPolicy {
    /// A published rule that decides about numbers in place of the built-in limits, whose answer is shown beside it.
    pub preset: Option<TensorPreset>,
    /// Repeats of the baseline, or the noise recorded from them: how far each value moves by itself.
    #[schemars(example = &"noise.json")]
    pub noise: Paths,
    /// Limits of some operations in place of the built-in ones; the first that fits decides.
    pub limits: Vec<LimitRule>,
    /// Prefixes of module paths and what replaces them, on both sides, before operations are paired.
    #[schemars(example = serde_json::json!({"module.": ""}))]
    pub prefixes: NameMap,
    /// Modules of the candidate and those of the baseline that they are: `path.Class`, or any part of it.
    #[schemars(example = serde_json::json!({"decoder.layers": "model.layers"}))]
    pub modules: NameMap,
    /// Operations of the candidate and those of the baseline that they are, without or with call number.
    #[schemars(example = serde_json::json!({"NPU.npu_gelu": "Functional.gelu"}))]
    pub operations: NameMap,
    /// Refinements that are switched off; no policy file can. `examples/ablation.rs` shows what each is worth.
    #[serde(skip)]
    pub without: Vec<Refinement>,
}

impl DumpPolicy {
    /// Whether a limit needs the elements of tensors.
    pub(crate) fn counts_elements(&self) -> bool {
        self.limits.iter().any(LimitRule::needs_elements)
    }

    /// A limit that says nothing, or that another setting contradicts: its index, its key and the reason.
    pub(super) fn contradiction(&self) -> Option<(usize, &'static str, &'static str)> {
        let of = |(index, limit): (usize, &LimitRule)| {
            if limit.misses.is_some() && limit.tolerance().is_none() {
                return Some((
                    index,
                    "misses",
                    "counts the elements outside `rtol` and `atol`; give one of them as well",
                ));
            }
            let key = limit.element_keys().next().filter(|_| self.preset.is_some())?;
            Some((index, key, "and `dump.preset` would both decide about numbers; remove one of them"))
        };
        self.limits.iter().enumerate().find_map(of)
    }

    /// Whether dumps are judged with this refinement.
    pub(crate) fn has_refinement(&self, refinement: Refinement) -> bool {
        !self.without.contains(&refinement)
    }
}

/// A refinement of how dumps are judged; `docs/dump.md` derives each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refinement {
    /// Mean and norm of equal data may differ as sums in another order do.
    SummationBound,
    /// The destination of a write that nothing dumped made is no input.
    WriteDestinations,
    /// In statistics an operation received the largest error upstream.
    CarriedError,
    /// A masked scale hides no error.
    MaskedScale,
    /// Gradients that are zero in mathematics are measured against the terms they sum.
    SummedTerms,
    /// Gradients of functions with a kink may flip where the kink ties.
    Kinks,
    /// A backward pass may be recorded as another last node.
    OtherDecomposition,
    /// Parameters of later steps are measured against their update.
    LinkedSteps,
    /// A failure outranks an earlier marginal warning.
    FailureFirst,
    /// An operation that the candidate alone runs is blamed for what differs right after it.
    OtherOperations,
    /// Single elements that are off are found in data.
    Outliers,
    /// An input that is off by a rounding is as bad as what follows from it.
    Effect,
    /// Parts of a value lie on ranks as its module says.
    Placement,
    /// Each rank's loss is a mean over its own tokens.
    LossScale,
    /// Ranks that hold the same value agree.
    Replicas,
}

impl Refinement {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::SummationBound,
        Self::WriteDestinations,
        Self::CarriedError,
        Self::MaskedScale,
        Self::SummedTerms,
        Self::Kinks,
        Self::OtherDecomposition,
        Self::LinkedSteps,
        Self::FailureFirst,
        Self::OtherOperations,
        Self::Outliers,
        Self::Effect,
        Self::Placement,
        Self::LossScale,
        Self::Replicas,
    ];
}

/// A published rule for tensors; needs their data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TensorPreset {
    /// `torch.testing.assert_close` with its defaults.
    TorchAssertClose,
    /// `numpy.allclose` with its defaults.
    Numpy,
    /// Polygraphy's `CompareFunc.simple` with its defaults.
    Polygraphy,
    /// A correlation of 0.99.
    #[serde(rename = "pcc-0.99")]
    Pcc,
    /// CANN's mixed tolerance.
    CannMixed,
    /// Double one-thousandth.
    #[serde(rename = "cann-double-1e-3")]
    CannDouble,
    /// msprobe's old "Accuracy Reached or Not".
    Msprobe,
}

impl TensorPreset {
    /// The name as a policy writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TorchAssertClose => "torch-assert-close",
            Self::Numpy => "numpy",
            Self::Polygraphy => "polygraphy",
            Self::Pcc => "pcc-0.99",
            Self::CannMixed => "cann-mixed",
            Self::CannDouble => "cann-double-1e-3",
            Self::Msprobe => "msprobe",
        }
    }
}

/// Limits for the operations a selector fits.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LimitRule {
    /// Operations by name, as dumped: `Functional.softmax.*`.
    #[schemars(example = &"Functional.softmax.*")]
    pub op: Option<Pattern>,
    /// Forward or backward.
    pub direction: Option<DirectionName>,
    /// Element type of the tensor.
    pub dtype: Option<DtypeName>,
    /// Relative error up to which a difference is noise.
    pub noise: Option<Tolerance>,
    /// Relative error above which a number is wrong.
    pub wrong: Option<Tolerance>,
    /// A difference of no element, or statistic, above this counts as none; for values near zero.
    pub absolute: Option<Tolerance>,
    /// Relative part of the tolerance of an element, `|c - b| <= atol + rtol * |b|`, as in `numpy.allclose`; needs tensor data.
    pub rtol: Option<Tolerance>,
    /// Absolute part of the tolerance of an element; needs tensor data.
    pub atol: Option<Tolerance>,
    /// Share of the elements that may lie outside `rtol` and `atol`; 0 where it is not given.
    pub misses: Option<MissedShare>,
    /// Least cosine similarity; needs tensor data.
    pub cosine: Option<LeastCosine>,
    /// Largest relative error of an element; needs tensor data.
    pub max_relative: Option<Tolerance>,
}

/// A share of elements that may miss a tolerance: below 1, so that the tolerance can fail.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1))]
pub struct MissedShare(f64);

impl MissedShare {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for MissedShare {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if (0.0..1.0).contains(&value) {
            return Ok(Self(value));
        }
        Err(format!("expects a number from 0 to below 1, not {value}"))
    }
}

/// A cosine similarity that is demanded: above 0, where two tensors have nothing in common.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
pub struct LeastCosine(f64);

impl LeastCosine {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for LeastCosine {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if value > 0.0 && value <= 1.0 {
            return Ok(Self(value));
        }
        Err(format!("expects a number above 0 and at most 1, not {value}"))
    }
}

/// The way an operation ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DirectionName {
    /// A forward call.
    Forward,
    /// A backward call, or parameter gradients.
    Backward,
}

/// An element type by any of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct DtypeName(pub Dtype);

impl TryFrom<String> for DtypeName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let unknown = || format!("expects an element type such as float32, bfloat16 or int64, not `{name}`");
        Dtype::parse(&name).map(Self).ok_or_else(unknown)
    }
}

impl Serialize for DtypeName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl JsonSchema for DtypeName {
    fn schema_name() -> Cow<'static, str> {
        "Dtype".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "examples": ["float32", "bfloat16", "float16"]})
    }
}

impl LimitRule {
    /// The keys that need the elements of a tensor, of those that are given.
    pub(crate) fn element_keys(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("rtol", self.rtol.is_some()),
            ("atol", self.atol.is_some()),
            ("cosine", self.cosine.is_some()),
            ("max-relative", self.max_relative.is_some()),
        ];
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key)
    }

    /// Whether it holds a limit that needs the elements of a tensor.
    pub(crate) fn needs_elements(&self) -> bool {
        self.element_keys().next().is_some()
    }

    /// Relative and absolute tolerance of an element; the one that is not given is 0.
    pub fn tolerance(&self) -> Option<[f64; 2]> {
        let given = self.rtol.or(self.atol).is_some();
        given.then(|| [self.rtol, self.atol].map(|part| part.map_or(0.0, Tolerance::get)))
    }

    /// Whether errors relative to scale are judged: by limits of its own, or because it gives none of another kind.
    pub(crate) fn judges_scale(&self) -> bool {
        self.noise.or(self.wrong).is_some() || !self.needs_elements()
    }

    /// Whether it fits a tensor of `dtype` of operation `op`.
    pub fn fits(&self, op: &str, direction: DirectionName, dtype: Option<Dtype>) -> bool {
        self.op.as_ref().is_none_or(|pattern| pattern.matches(op))
            && self.direction.is_none_or(|wanted| wanted == direction)
            && self.dtype.is_none_or(|wanted| Some(wanted.0) == dtype)
    }

    /// The selector, as people recognise it.
    pub fn selector(&self) -> String {
        let direction = self.direction.map(|direction| format!("{direction:?}").to_lowercase());
        let parts =
            [self.op.as_ref().map(|op| op.as_str().to_owned()), direction, self.dtype.map(|dtype| dtype.0.to_string())];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}
