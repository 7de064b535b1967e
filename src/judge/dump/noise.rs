//! Recorded noise of dumps: the differences of each value between repeats of the baseline.
//!
//! Two repeats of the baseline are judged like a pair. Two numbers are kept for every value: its error, and the part of that error
//! that the operation's inputs do not explain. The largest over all pairs of repeats counts. `docs/dump.md` derives the factors
//! and lists the differences that a record never hides.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::ErrorBand;
use crate::judge::noise_factor::noise_factors;

/// Largest added error of a value between repeats. With the largest factor that warns, 2.5, a limit stays below the smallest defect
/// that it has to find (11 %, dropout scaled twice).
pub(super) const MOST_ADDED: f64 = 0.04;

/// Recorded noise of one step and rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnitNoise {
    /// The step.
    pub step: u64,
    /// The rank; null where there is only one process.
    pub rank: Option<u64>,
    /// Kind of data that was compared: `tensor`, `statistics`, `md5`. Errors of one kind are no measure for another.
    pub data: String,
    /// Number of repeats it was recorded from.
    pub repeats: u32,
    /// Number of comparisons between them.
    pub comparisons: u32,
    /// Noise of every value that differed between two repeats, by row name.
    pub values: BTreeMap<String, ValueNoise>,
}

/// Recorded noise of one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValueNoise {
    /// Largest error between two repeats.
    pub error: f64,
    /// Largest part of it that the errors of its inputs do not explain.
    pub added: f64,
}

impl UnitNoise {
    /// Whether every number can serve as a limit.
    pub fn is_sound(&self) -> bool {
        let is_sound = |noise: &ValueNoise| {
            noise.error.is_finite() && noise.error >= 0.0 && (0.0..=MOST_ADDED).contains(&noise.added)
        };
        self.comparisons > 0 && self.values.values().all(is_sound)
    }

    /// Limits of the value at `row`; they are zero for a value that did not differ between repeats.
    pub(super) fn limits_of(&self, row: &str) -> RecordedLimits {
        let ValueNoise { error, added } = self.values.get(row).copied().unwrap_or_default();
        let (warn, fail) = noise_factors(self.comparisons);
        RecordedLimits { noise: warn * added, wrong: fail * added, total: fail * error }
    }
}

/// Limits of one value that follow from what repeats recorded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecordedLimits {
    /// Largest error that a value of a repeat may add, without a warning.
    pub(super) noise: f64,
    /// Added error above which a value is wrong.
    pub(super) wrong: f64,
    /// Largest error of a value of a repeat, added or received.
    pub(super) total: f64,
}

impl RecordedLimits {
    /// Whether an added error is within the noise of repeats.
    pub(super) fn allows(self, added: f64) -> bool {
        self.noise > 0.0 && added <= self.noise
    }

    /// The band, widened to the recorded limits where those are larger.
    pub(super) fn widen(self, band: ErrorBand) -> ErrorBand {
        ErrorBand { noise: band.noise.max(self.noise), wrong: band.wrong.max(self.wrong) }
    }
}
