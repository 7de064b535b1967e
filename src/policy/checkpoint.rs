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
    /// Names of the baseline's tensors and what the candidate calls them; the first line that fits decides. Names of Hugging Face
    /// and of Megatron need none.
    pub names: Vec<NameRule>,
    /// Parameters that are left out on both sides.
    pub ignore: Vec<Pattern>,
    /// Limits of some parameters in place of the built-in ones; the first that fits decides.
    pub limits: Vec<ParameterRule>,
}

/// Names of the baseline's tensors and of the candidate's.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "NameLine")]
pub struct NameRule {
    /// Name on the baseline's side; several are joined.
    pub from: String,
    /// Name on the candidate's side; several take equal parts.
    pub to: String,
    /// Whether the last two axes are exchanged first.
    pub transpose: bool,
    /// Axis of joining and of taking apart.
    pub axis: u8,
}

/// Names of the baseline's tensors and of the candidate's, as they are written.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NameRule")]
struct NameLine {
    /// Name on the baseline's side, in which `{i}` captures letters up to a dot; several, with ` + ` between them, are joined along
    /// `axis`.
    #[schemars(example = &"h.{i}.attn.c_attn.weight")]
    from: String,
    /// Name on the candidate's side; several, with ` + ` between them, take equal parts along `axis`.
    #[schemars(example = &"layers.{i}.q.weight + layers.{i}.k.weight + layers.{i}.v.weight")]
    to: String,
    /// Whether the last two axes are exchanged first.
    #[serde(default)]
    transpose: bool,
    /// Axis of joining and of taking apart.
    #[serde(default)]
    axis: u8,
}

impl TryFrom<NameLine> for NameRule {
    type Error = String;

    fn try_from(line: NameLine) -> Result<Self, String> {
        let NameLine { from, to, transpose, axis } = line;
        let first = from.split('+').next().map(captures).unwrap_or_default();
        for pattern in from.split('+').chain(to.split('+')) {
            if pattern.trim().is_empty() {
                return Err("expects a name on each side of `+`".into());
            }
            if let Some(lost) = captures(pattern).into_iter().find(|capture| !first.contains(capture)) {
                return Err(format!("`{{{lost}}}` is not captured by `from`"));
            }
            if pattern.matches('{').count() != captures(pattern).len()
                || pattern.matches('}').count() != captures(pattern).len()
            {
                return Err(format!("`{}` has a brace without its partner, or none between them", pattern.trim()));
            }
        }
        Ok(Self { from, to, transpose, axis })
    }
}

/// Names of the captures in a pattern.
fn captures(pattern: &str) -> Vec<&str> {
    let behind = pattern.split('{').skip(1);
    behind.filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).filter(|name| !name.is_empty()).collect()
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
    pub fn selector(&self) -> String {
        let parts = [
            self.parameter.as_ref().map(|pattern| pattern.as_str().to_owned()),
            self.dtype.map(|dtype| dtype.0.to_string()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}
