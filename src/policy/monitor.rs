//! Training monitors: how the check of monitors judges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::{Pattern, Tolerance};
use crate::kind::MonitorKind;

/// Training monitors.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct MonitorPolicy {
    /// Tensors that are left out on both sides.
    pub ignore: Vec<Pattern>,
    /// Limits of some tensors in place of the built-in ones; the first that fits decides.
    pub limits: Vec<RowRule>,
}

/// Limits for the tensors a selector fits.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RowRule {
    /// Tensors by the candidate's name: `*.router.output`.
    #[schemars(example = &"*.router.output")]
    pub name: Option<Pattern>,
    /// Kind of tensor.
    pub kind: Option<MonitorKind>,
    /// Error up to which a jump is noise.
    pub noise: Option<Tolerance>,
    /// Error above which a jump is wrong.
    pub wrong: Option<Tolerance>,
}

impl RowRule {
    /// Whether it fits a tensor of a kind.
    pub fn fits(&self, name: &str, kind: MonitorKind) -> bool {
        self.name.as_ref().is_none_or(|pattern| pattern.matches(name)) && self.kind.is_none_or(|wanted| wanted == kind)
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
