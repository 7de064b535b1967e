//! Profiles: how the check of performance judges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::location::PolicyLocation;

/// Profiles.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PerformancePolicy {
    /// Limits of the step time on equal hardware, as ratios to the baseline beyond noise.
    #[serde(alias = "step_time")]
    pub step_time: StepTimeLimits,
    /// Limits between different devices; without them, such a pair is reported and not judged.
    #[serde(alias = "other_hardware")]
    pub other_hardware: OtherHardware,
    /// Limits of the largest allocated memory, as ratios to the baseline.
    #[serde(alias = "memory_peak")]
    pub memory_peak: MemoryLimits,
    /// Steps at the beginning of a recording that are left out, where at least three remain.
    pub warmup: usize,
    /// Locations of further runs of the baseline, whose medians show the noise of the machine.
    #[schemars(example = &["nights/2026-11-18"])]
    pub repeats: Vec<PolicyLocation>,
    /// Whether the gate may not pass without a judged profile; the same as `performance` in `required`.
    pub required: bool,
}

impl Default for PerformancePolicy {
    fn default() -> Self {
        Self {
            step_time: StepTimeLimits::default(),
            other_hardware: OtherHardware::default(),
            memory_peak: MemoryLimits::default(),
            warmup: 1,
            repeats: Vec::new(),
            required: false,
        }
    }
}

/// Limits of the step time on equal hardware.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StepTimeLimits {
    /// Ratio beyond noise above which it warns.
    pub warn: Ratio,
    /// Ratio beyond noise above which it fails.
    pub fail: Ratio,
}

impl Default for StepTimeLimits {
    fn default() -> Self {
        Self { warn: Ratio(1.05), fail: Ratio(1.10) }
    }
}

/// Limits between different devices.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct OtherHardware {
    /// Limits of the step time.
    #[serde(alias = "step_time")]
    pub step_time: DeclaredLimits,
}

/// Limits that hold where they are declared.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeclaredLimits {
    /// Ratio beyond noise above which it warns.
    pub warn: Option<Ratio>,
    /// Ratio beyond noise above which it fails.
    pub fail: Option<Ratio>,
}

/// Limits of the largest allocated memory.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryLimits {
    /// Ratio above which it warns.
    pub warn: Ratio,
    /// Ratio above which it fails; without it, memory never fails.
    pub fail: Option<Ratio>,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self { warn: Ratio(1.10), fail: None }
    }
}

/// Ratio of the candidate to the baseline: from 0.01 to 1000.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(extend("minimum" = 0.01, "maximum" = 1000))]
pub struct Ratio(f64);

impl Ratio {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Ratio {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if (0.01..=1000.0).contains(&value) {
            return Ok(Self(value));
        }
        Err(format!("expects a ratio to the baseline from 0.01 to 1000, such as 1.1, not {value}"))
    }
}
