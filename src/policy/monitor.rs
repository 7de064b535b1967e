//! Training monitors: how the check of monitors judges.

use schemars::JsonSchema;
use serde::Deserialize;

use super::value::{Pattern, Tolerance};

/// A kind of tensor, as results and tables name it.
#[allow(missing_docs, reason = "the variants are the tool's own names")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KindName {
    ParamOrigin,
    Actv,
    ActvGrad,
    GradUnreduced,
    GradReduced,
    Comm,
    ExpAvg,
    ExpAvgSq,
    ParamUpdated,
}

impl KindName {
    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ParamOrigin => "param_origin",
            Self::Actv => "actv",
            Self::ActvGrad => "actv_grad",
            Self::GradUnreduced => "grad_unreduced",
            Self::GradReduced => "grad_reduced",
            Self::Comm => "comm",
            Self::ExpAvg => "exp_avg",
            Self::ExpAvgSq => "exp_avg_sq",
            Self::ParamUpdated => "param_updated",
        }
    }
}

/// Training monitors.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct MonitorPolicy {
    /// Tensors that are left out on both sides.
    pub ignore: Vec<Pattern>,
    /// Limits of some tensors in place of the built-in ones; the first that fits decides.
    pub limits: Vec<RowRule>,
}

/// Limits for the tensors a selector fits.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RowRule {
    /// Tensors by the candidate's name: `*.router.output`.
    #[schemars(example = &"*.router.output")]
    pub name: Option<Pattern>,
    /// Kind of tensor.
    pub kind: Option<KindName>,
    /// Error up to which a jump is noise.
    pub noise: Option<Tolerance>,
    /// Error above which a jump is wrong.
    pub wrong: Option<Tolerance>,
}

impl RowRule {
    /// Whether it fits a tensor of a kind.
    pub fn fits(&self, name: &str, kind: &str) -> bool {
        self.name.as_ref().is_none_or(|pattern| pattern.matches(name))
            && self.kind.is_none_or(|wanted| wanted.as_str() == kind)
    }

    /// The selector, as people recognise it.
    pub fn selector(&self) -> String {
        let parts = [
            self.name.as_ref().map(|pattern| pattern.as_str().to_owned()),
            self.kind.map(|kind| kind.as_str().to_owned()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}
