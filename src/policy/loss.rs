//! Training curves: how the loss check judges.
//!
//! Every value is checked while it is read: a limit that can never fail is an error here, not a silent pass later.

pub mod limit;
pub mod pattern;
pub mod preset;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::location::Paths;
use limit::{Band, Floor, Share};
use pattern::LogPattern;
use preset::Preset;

/// Training curves.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LossPolicy {
    /// Whether both runs start from the same weights.
    pub mode: Mode,
    /// Kind of training, which decides the rules.
    pub kind: Kind,
    /// A published rule that decides in place of the built-in ones, whose answer is shown beside it.
    pub preset: Option<Preset>,
    /// Repeats of the baseline, or the band recorded from them: how far this case moves by itself.
    #[schemars(example = &"noise.json")]
    pub noise: Paths,
    /// Differences below this times max(1, median |baseline|) count as 0; raise it for losses near zero.
    pub absolute_floor: Floor,
    /// The share of the baseline's steps that must be covered.
    pub coverage: Share,
    /// Limits in place of the built-in ones.
    pub limits: Limits,
    /// Rules for single metrics, by any spelling of their name.
    pub metrics: BTreeMap<String, MetricPolicy>,
    /// Hardware of both sides; speed and memory are judged only where the labels are equal.
    pub hardware: Hardware,
    /// A line of your training log with `{step}` and `{loss}` in place of its numbers, or a regular expression with a group
    /// for each of them.
    pub log_pattern: Option<LogPattern>,
    /// Texts whose numbers may stay unread, as the finding `unread-values` names them.
    pub unread: Vec<UnreadPolicy>,
}

/// Rule about numbers that no reader reads.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnreadPolicy {
    /// A part of the shape.
    pub shape: String,
    /// Whether they are left out.
    pub ignore: bool,
}

/// Whether both runs start from the same weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Found out from the first step.
    #[default]
    Auto,
    /// One checkpoint on both sides, and no randomness left.
    SameWeights,
    /// Each side draws its own weights, or randomness such as dropout is left in.
    OwnWeights,
}

/// Kind of training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Found out from the metrics.
    #[default]
    Auto,
    /// Reinforcement learning: rollouts are sampled, and trends are compared.
    Rl,
    /// Training on given data.
    Supervised,
}

/// Limits in place of the built-in ones; what is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Limits {
    /// r of the first step.
    #[serde(rename = "step-1")]
    pub step_1: Option<Band>,
    /// The largest r of the first five steps.
    pub head: Option<Band>,
    /// The mean of r.
    pub mean: Option<Band>,
    /// The signed mean difference over the last tenth.
    pub tail: Option<Band>,
    /// The r above which a step counts as outside.
    pub spread: Option<limit::Limit>,
    /// The mean of r of the gradient norm.
    pub grad_norm: Option<Band>,
}

/// Rules for one metric.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct MetricPolicy {
    /// Shown, never judged.
    pub ignore: bool,
    /// Limits on the mean of r.
    pub mean: Option<Band>,
    /// Limits on how much worse the candidate's mean is, relative to the baseline's.
    pub worse: Option<Band>,
    /// Limits on the difference of the means, absolute.
    pub difference: Option<Band>,
    /// Direction that is better, where the name does not say.
    pub better: Option<Better>,
}

/// Direction of a metric that is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    #[serde(alias = "higher")]
    More,
    /// Less is better.
    #[serde(alias = "lower")]
    Less,
}

/// Hardware labels of both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Hardware {
    /// The baseline's.
    pub baseline: String,
    /// The candidate's.
    pub candidate: String,
}

impl Hardware {
    /// Whether speed and memory can be compared: both labels are given and equal.
    pub(crate) fn is_equal(&self) -> bool {
        !self.baseline.is_empty() && self.baseline == self.candidate
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::Policy;
    use crate::policy::location::PolicyLocation;

    fn loss(yaml: &str) -> Result<super::LossPolicy, String> {
        Policy::parse("policy.yml", yaml, &[]).map(|policy| policy.loss).map_err(|error| error.to_string())
    }

    #[test]
    fn limits_that_can_never_fail_are_refused_with_their_place() {
        for value in [".nan", ".inf", "-0.1", "-.inf"] {
            for key in ["mean: {fail: X}", "tail: {warn: X}", "spread: X", "grad-norm: {fail: X}", "step-1: {fail: X}"]
            {
                let error = loss(&format!("loss:\n  limits:\n    {}\n", key.replace('X', value))).expect_err(key);
                assert!(error.contains("policy.yml:3"), "{error}");
            }
            assert!(loss(&format!("loss: {{absolute-floor: {value}}}")).is_err(), "{value}");
            assert!(loss(&format!("loss: {{coverage: {value}}}")).is_err(), "{value}");
        }
        assert!(loss("loss: {coverage: 0}").is_err());
        assert!(loss("loss: {coverage: 1.5}").is_err());
        assert!(loss("loss: {limits: {mean: {warn: 0.02, fail: 0.01}}}").is_err());
        assert!(loss("loss: {limits: {mean: {}}}").is_err());
    }

    #[test]
    fn a_sound_section_is_read() {
        let policy = loss("loss: {mode: same-weights, preset: megatron, noise: runs, limits: {mean: {fail: 0.005}}}");
        let policy = policy.expect("sound");
        assert_eq!(policy.noise.0, [PolicyLocation::from("runs".to_owned())]);
        assert!(policy.limits.mean.is_some());
        assert!(loss("loss: {log-pattern: '(?<step>\\d+)'}").is_err());
        assert!(loss("loss: {log-pattern: 's=(?<step>\\d+) l=(?<loss>\\S+)'}").is_ok());
        assert!(loss("loss: {modes: auto}").is_err());
    }
}
