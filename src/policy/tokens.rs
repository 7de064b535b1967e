//! Log-probabilities by token: how the check of tokens judges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dump::DtypeName;
use crate::dtype::Dtype;

/// Log-probabilities by token, and weights on their way to the engine.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TokensPolicy {
    /// Mean difference of log-probabilities that rounding explains, in nats; `auto` takes it from the baseline's own engine and
    /// trainer.
    #[schemars(extend("default" = "auto"))]
    pub noise: TokenNoise,
    /// Times the noise above which a step warns.
    pub warn: Times,
    /// Times the noise above which a step fails.
    pub fail: Times,
    /// Estimate k3 of the KL divergence above which a step warns, and above which it fails.
    #[schemars(extend("default" = [0.01, 0.05]))]
    pub k3: TwoLimits,
    /// Whether engine and trainer are expected to give the same bits: any difference fails then.
    pub bitwise: bool,
    /// Whether a lower precision than the baseline's fails.
    pub strict: bool,
    /// Data type that weights are declared to be cast to on their way.
    #[schemars(example = &"bfloat16")]
    pub cast: Option<CastType>,
}

impl Default for TokensPolicy {
    fn default() -> Self {
        Self {
            noise: TokenNoise::Auto,
            warn: Times(2.5),
            fail: Times(5.0),
            k3: TwoLimits([0.01, 0.05]),
            bitwise: false,
            strict: false,
            cast: None,
        }
    }
}

impl TokensPolicy {
    /// The key whose value contradicts another one, with the reason.
    pub(crate) fn contradiction(&self) -> Option<(&'static str, String)> {
        let Self { warn: Times(warn), fail: Times(fail), .. } = self;
        (warn >= fail).then(|| ("warn", format!("expects a number below `tokens.fail`, {fail}, not {warn}")))
    }
}

/// Mean difference that rounding explains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(from = "NoiseForm", into = "NoiseForm")]
#[schemars(with = "NoiseForm")]
pub enum TokenNoise {
    /// Taken from the baseline.
    #[default]
    Auto,
    /// In nats.
    Nats(Nats),
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
enum NoiseForm {
    Auto(Auto),
    Nats(Nats),
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Auto {
    Auto,
}

impl From<NoiseForm> for TokenNoise {
    fn from(form: NoiseForm) -> Self {
        match form {
            NoiseForm::Auto(Auto::Auto) => Self::Auto,
            NoiseForm::Nats(nats) => Self::Nats(nats),
        }
    }
}

impl From<TokenNoise> for NoiseForm {
    fn from(noise: TokenNoise) -> Self {
        match noise {
            TokenNoise::Auto => Self::Auto(Auto::Auto),
            TokenNoise::Nats(nats) => Self::Nats(nats),
        }
    }
}

/// A difference of log-probabilities: above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
pub struct Nats(f64);

impl Nats {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Nats {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if value > 0.0 && value <= 1.0 {
            return Ok(Self(value));
        }
        Err(format!("expects `auto`, or a number above 0 and at most 1 in nats, not {value}"))
    }
}

/// A multiple of the noise: above 1 and at most 100.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(extend("exclusiveMinimum" = 1, "maximum" = 100))]
pub struct Times(f64);

impl Times {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Times {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if value > 1.0 && value <= 100.0 {
            return Ok(Self(value));
        }
        Err(format!("expects a number above 1 and at most 100, such as 2.5, not {value}"))
    }
}

/// A limit that warns and a higher one that fails, both above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "Vec<f64>")]
#[schemars(with = "[f64; 2]")]
pub struct TwoLimits([f64; 2]);

impl TwoLimits {
    /// The limit that warns.
    pub fn warn(self) -> f64 {
        let [warn, _] = self.0;
        warn
    }

    /// The limit that fails.
    pub fn fail(self) -> f64 {
        let [_, fail] = self.0;
        fail
    }
}

impl TryFrom<Vec<f64>> for TwoLimits {
    type Error = String;

    fn try_from(values: Vec<f64>) -> Result<Self, String> {
        match *values.as_slice() {
            [warn, fail] if warn > 0.0 && warn < fail && fail <= 1.0 => Ok(Self([warn, fail])),
            _ => {
                let shown = values.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
                Err(format!(
                    "expects two numbers that rise, above 0 and at most 1, such as [0.01, 0.05], not [{shown}]"
                ))
            }
        }
    }
}

/// A data type of floating-point numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "DtypeName", into = "DtypeName")]
#[schemars(with = "DtypeName")]
pub struct CastType(Dtype);

impl CastType {
    /// The type.
    pub fn dtype(self) -> Dtype {
        self.0
    }
}

impl TryFrom<DtypeName> for CastType {
    type Error = String;

    fn try_from(DtypeName(dtype): DtypeName) -> Result<Self, String> {
        if dtype.is_float() {
            return Ok(Self(dtype));
        }
        Err(format!("expects a floating-point type such as `bfloat16`, not `{dtype}`"))
    }
}

impl From<CastType> for DtypeName {
    fn from(CastType(dtype): CastType) -> Self {
        Self(dtype)
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::Policy;

    fn error_of(text: &str) -> String {
        Policy::parse("gate.yml", text, &[]).expect_err("must be refused").to_string()
    }

    #[test]
    fn a_limit_that_cannot_fail_is_refused_with_its_line() {
        for (text, place) in [
            ("tokens:\n  noise: 0\n", "gate.yml:2:"),
            ("tokens:\n  noise: .nan\n", "gate.yml:2:"),
            ("tokens:\n  noise: -0.1\n", "gate.yml:2:"),
            ("tokens:\n  noise: .inf\n", "gate.yml:2:"),
            ("tokens:\n  warn: 1\n", "gate.yml:2:"),
            ("tokens:\n  fail: .inf\n", "gate.yml:2:"),
            ("tokens:\n  fail: 9\n  warn: 9\n", "gate.yml:3:"),
            ("tokens:\n  fail: 2\n", "gate.yml:"),
            ("tokens:\n  k3: [0.05, 0.01]\n", "gate.yml:2:"),
            ("tokens:\n  k3: [0.01]\n", "gate.yml:2:"),
            ("tokens:\n  k3: [.nan, 0.05]\n", "gate.yml:2:"),
            ("tokens:\n  bitwise: maybe\n", "gate.yml:2:"),
            ("tokens:\n  cast: int8\n", "gate.yml:2:"),
            ("tokens:\n  nois: 0.02\n", "gate.yml:2:3: unknown key `tokens.nois`; did you mean `tokens.noise`?"),
        ] {
            let error = error_of(text);
            assert!(error.starts_with(place), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_sound_is_read_and_written_as_it_was() {
        let text = "tokens: {noise: 0.015, warn: 2, fail: 4, k3: [0.02, 0.1], bitwise: true, strict: true, cast: bf16}";
        let policy = Policy::parse("gate.yml", text, &[]).expect("sound");
        let tokens = &policy.tokens;
        assert_eq!((tokens.warn.get(), tokens.fail.get(), tokens.k3.fail()), (2.0, 4.0, 0.1));
        assert_eq!(tokens.cast.map(super::CastType::dtype), Some(crate::dtype::Dtype::BF16));
        let written = serde_json::to_value(tokens).expect("JSON");
        let again: super::TokensPolicy = serde_json::from_value(written.clone()).expect("read again");
        assert_eq!(serde_json::to_value(again).expect("JSON"), written);
    }
}
