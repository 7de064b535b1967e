//! Configuration packs: how the config check judges.
//!
//! Every list here adds to the built-in one (see `docs/config-check.md`), and is applied first.
//! Severities of findings are overridden under `severity`, as for every check.

mod requirement;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use requirement::{Comparison, Requirement};

use super::value::{Pattern, Tolerance};
use crate::verdict::{Checker, Severity};

/// Configuration packs.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ConfigPolicy {
    /// Checkers both packs must hold; without it, those that either pack holds.
    pub expect: Vec<Checker>,
    /// The kind of device each side ran on; what is declared is checked against the packs.
    pub devices: Devices,
    /// Environment variables.
    pub env: EnvPolicy,
    /// Installed packages.
    pub pip: PipPolicy,
    /// Inputs of the model's forward.
    pub dataset: DatasetPolicy,
    /// Parameters of the model.
    pub weights: WeightsPolicy,
    /// Settings.
    pub hyperparameters: HyperparametersPolicy,
}

/// The kind of device each side ran on.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Devices {
    /// Device of the trusted run.
    pub baseline: Option<Device>,
    /// Device of the run to judge.
    pub candidate: Option<Device>,
}

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// An Ascend NPU.
    Npu,
    /// An NVIDIA GPU.
    Gpu,
}

impl Device {
    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Npu => "npu",
            Self::Gpu => "gpu",
        }
    }
}

/// Environment variables.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct EnvPolicy {
    /// Further variables that must be equal on both sides; their values are shown in reports.
    pub watch: Vec<String>,
    /// Values that variables must have.
    pub required: Vec<RequiredValue>,
}

/// A value that a variable must have.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RequiredValue {
    /// The variable.
    #[schemars(example = &"HCCL_DETERMINISTIC")]
    pub name: String,
    /// Its value; `true`, `1`, `on` and `yes` are the same, and so are their opposites.
    #[schemars(example = &"true")]
    pub value: String,
    /// Only on sides that ran on this kind of device; by default on both, and for `HCCL_`, `ASCEND_` and
    /// `INF_NAN_` names on NPU sides.
    #[serde(default)]
    pub device: Option<Device>,
    /// Severity of a violation.
    #[serde(default)]
    pub severity: Option<Severity>,
}

/// Installed packages.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PipPolicy {
    /// Rules; the first whose pattern fits a package decides.
    pub rules: Vec<PipRule>,
}

/// Requirement on packages.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PipRule {
    /// Packages it is about, as PyPI normalises names: lower case, `-` for `_` and `.`.
    #[schemars(example = &"torch*")]
    pub package: Pattern,
    /// The requirement.
    pub require: Requirement,
    /// Severity of a violation.
    #[serde(default)]
    pub severity: Option<Severity>,
}

/// Inputs of the model's forward.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct DatasetPolicy {
    /// Largest difference of a statistic of floating-point inputs, relative to the tensor's scale.
    pub relative: Tolerance,
    /// Differences up to this are never findings.
    pub absolute: Tolerance,
}

impl Default for DatasetPolicy {
    fn default() -> Self {
        // About eighty units in the last place of float32: sums of a million elements stay below it.
        Self { relative: Tolerance::new(1e-5), absolute: Tolerance::new(0.0) }
    }
}

/// Parameters of the model.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WeightsPolicy {
    /// Largest difference of mean and norm at step 0, relative to the tensor's scale; max and min are exact.
    pub relative: Tolerance,
    /// Growth of the difference per step that is reported as expected.
    pub drift_per_step: Tolerance,
    /// Prefixes of parameter names and what stands in their place: `module.: ""`. Both sides are rewritten.
    pub prefixes: BTreeMap<String, String>,
}

impl Default for WeightsPolicy {
    fn default() -> Self {
        Self {
            // Mean and norm are float32 sums in another order on each device: ten units in the last place.
            relative: Tolerance::new(1e-6),
            drift_per_step: Tolerance::new(1e-3),
            prefixes: BTreeMap::new(),
        }
    }
}

/// Settings from launch scripts, YAML files and parsed arguments.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HyperparametersPolicy {
    /// Names that mean the same: canonical name to its aliases.
    pub aliases: BTreeMap<String, Vec<String>>,
    /// Settings that may differ: patterns over the last part of the name, with `_` for `-`.
    pub ignore: Vec<Pattern>,
    /// Words in values that mean the same: `[[nccl, hccl]]`.
    pub equivalent: Vec<Vec<String>>,
    /// Largest relative difference of two numbers that count as equal.
    pub relative: Tolerance,
}

impl Default for HyperparametersPolicy {
    fn default() -> Self {
        Self { aliases: BTreeMap::new(), ignore: Vec::new(), equivalent: Vec::new(), relative: Tolerance::new(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::Policy;

    fn error(text: &str) -> String {
        Policy::parse("p.yml", text, &[]).expect_err("wrong").to_string()
    }

    #[test]
    fn a_full_section_is_read() {
        let policy = Policy::parse(
            "p.yml",
            "config:
  expect: [env, weights]
  devices: {baseline: gpu, candidate: npu}
  env:
    watch: [MY_SWITCH]
    required: [{name: HCCL_DETERMINISTIC, value: 'true', severity: warn}]
  pip:
    rules:
      - {package: 'nvidia-*', require: ignore}
      - {package: torch, require: same-minor, severity: warn}
      - {package: numpy, require: '>=1.26,<3'}
  dataset: {relative: 1e-4, absolute: 1e-9}
  weights: {prefixes: {module.: ''}}
  hyperparameters: {aliases: {lr: [eta]}, ignore: ['save_*'], equivalent: [[a, b]]}
",
            &[],
        );
        let config = policy.expect("right").config;
        assert_eq!(config.pip.rules.len(), 3);
        assert!(config.pip.rules[0].package.matches("nvidia-nccl-cu12"));
    }

    #[test]
    fn a_limit_that_cannot_fail_and_an_unknown_key_are_errors_with_their_line() {
        assert!(error("config:\n  dataset: {relative: .inf}\n").contains("p.yml:2"));
        assert!(error("config:\n  dataset: {relative: -1}\n").contains("expects a number of at least 0, not -1"));
        assert!(error("config:\n  dataset: {relativ: 1}\n").contains("relativ"));
        assert!(error("config:\n  pip: {rules: [{package: a, require: '>=x'}]}\n").contains(">=x"));
        assert!(error("config:\n  pip: {rules: [{package: 'a[', require: equal}]}\n").contains("p.yml:2"));
        assert!(error("config:\n  expect: [envv]\n").contains("envv"));
    }
}
