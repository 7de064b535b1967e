//! Checkpoints: how the checkpoint check judges.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dump::DtypeName;
use super::value::{Pattern, Tolerance};
use crate::dtype::Dtype;

/// Checkpoints.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct CheckpointPolicy {
    /// Prefixes of parameter names and what replaces them, on both sides, before names are paired.
    pub prefixes: BTreeMap<String, String>,
    /// Parameters that are left out on both sides.
    pub ignore: Vec<Pattern>,
    /// Limits of some parameters in place of the built-in ones; the first that fits decides.
    pub limits: Vec<ParameterRule>,
}

/// Limits for the parameters a selector fits.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ParameterRule {
    /// Parameters by the candidate's name: `*.bias`.
    #[schemars(example = &"*.bias")]
    pub parameter: Option<Pattern>,
    /// Element type; the looser one where the sides differ.
    pub dtype: Option<DtypeName>,
    /// Relative L2 error up to which a difference is noise.
    pub noise: Option<Tolerance>,
    /// Relative L2 error above which a parameter is wrong.
    pub wrong: Option<Tolerance>,
    /// A difference of no element above this counts as none; for parameters near zero.
    pub absolute: Option<Tolerance>,
}

impl ParameterRule {
    /// Whether it fits a parameter.
    pub fn fits(&self, name: &str, dtype: Dtype) -> bool {
        self.parameter.as_ref().is_none_or(|pattern| pattern.matches(name))
            && self.dtype.is_none_or(|wanted| wanted.0 == dtype)
    }

    /// The selector, as people recognise it.
    pub fn name(&self) -> String {
        let parts = [
            self.parameter.as_ref().map(|pattern| pattern.as_str().to_owned()),
            self.dtype.map(|dtype| dtype.0.to_string()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}
