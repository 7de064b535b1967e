//! Numbers a curve is held against. None of them can be one that never fails.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A limit: finite and not negative.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(extend("minimum" = 0))]
pub struct Limit(f64);

impl Limit {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Limit {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if value.is_finite() && value >= 0.0 {
            return Ok(Self(value));
        }
        Err(format!("expects a number of at least 0, not {value}; such a limit can never fail"))
    }
}

/// A warning and a failing limit, either of which may be left to the default.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "RawBand")]
pub struct Band {
    /// Warns above this.
    pub warn: Option<Limit>,
    /// Fails above this.
    pub fail: Option<Limit>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawBand {
    warn: Option<Limit>,
    fail: Option<Limit>,
}

impl TryFrom<RawBand> for Band {
    type Error = String;

    fn try_from(raw: RawBand) -> Result<Self, String> {
        match (raw.warn, raw.fail) {
            (None, None) => Err("expects `warn`, `fail` or both".into()),
            (Some(warn), Some(fail)) if warn > fail => {
                Err(format!("has a `warn` ({}) above its `fail` ({})", warn.get(), fail.get()))
            }
            (warn, fail) => Ok(Self { warn, fail }),
        }
    }
}

/// The absolute floor; finite and not negative.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(extend("minimum" = 0))]
pub struct Floor(f64);

impl Floor {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Default for Floor {
    fn default() -> Self {
        Self(1e-5)
    }
}

impl TryFrom<f64> for Floor {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if value.is_finite() && value >= 0.0 {
            return Ok(Self(value));
        }
        Err(format!("expects a number of at least 0, not {value}"))
    }
}

/// A share above 0 and up to 1.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
pub struct Share(f64);

impl Share {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Default for Share {
    fn default() -> Self {
        Self(0.95)
    }
}

impl TryFrom<f64> for Share {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if value > 0.0 && value <= 1.0 {
            return Ok(Self(value));
        }
        Err(format!("expects a number above 0 and at most 1, not {value}"))
    }
}
