//! Published acceptance rules, by name. The rules themselves stand in `judge/loss/preset.rs`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A published acceptance rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Megatron-LM's functional tests, approximate: 5 % per step, one step in a hundred may lie outside.
    Megatron,
    /// MindSpeed-LLM's CI: 2 % at every step, or the file's own margin, of at most 10 %.
    MindspeedLlm,
    /// MindSpeed-MM's CI: 1 % at every step.
    MindspeedMm,
    /// torchtitan's CI: equal to the last bit.
    TorchtitanExact,
    /// FlagPerf's admission: mean r from step 21 on below 2 %.
    Flagperf,
    /// MindSpore Transformers' migration standard: first loss and mean error.
    Mindformers,
    /// The guide of msprobe: mean r up to 1 %.
    MsprobeGuide,
    /// Ports of verl and OpenRLHF: mean absolute error below 0.02.
    #[serde(rename = "rl-mae-2pct")]
    #[cfg_attr(feature = "program", value(name = "rl-mae-2pct"))]
    RlMae2pct,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Megatron,
        Self::MindspeedLlm,
        Self::MindspeedMm,
        Self::TorchtitanExact,
        Self::Flagperf,
        Self::Mindformers,
        Self::MsprobeGuide,
        Self::RlMae2pct,
    ];

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Megatron => "megatron",
            Self::MindspeedLlm => "mindspeed-llm",
            Self::MindspeedMm => "mindspeed-mm",
            Self::TorchtitanExact => "torchtitan-exact",
            Self::Flagperf => "flagperf",
            Self::Mindformers => "mindformers",
            Self::MsprobeGuide => "msprobe-guide",
            Self::RlMae2pct => "rl-mae-2pct",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Preset;
    use crate::result::outcome::RuleKind;

    #[test]
    fn a_preset_is_a_rule_of_results() {
        for preset in Preset::ALL {
            assert!(RuleKind::find(&format!("preset:{}", preset.as_str())).is_some(), "{}", preset.as_str());
        }
    }
}
