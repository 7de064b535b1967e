//! The `samples` section: how sure a verdict over several runs of a side has to be, and which shift matters.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Runs as samples: several runs of a side are judged together.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SamplesPolicy {
    /// False alarms of one verdict, all rules together: above 0, at most 0.1.
    #[schemars(example = 0.01)]
    pub alpha: Alpha,
    /// Share of shifts of the detectable size that are found: from 0.5 on, below 1.
    #[schemars(example = 0.9)]
    pub power: Power,
    /// Runs of both sides together without which nothing is tested, at least 5.
    #[schemars(example = 5)]
    pub minimum: Minimum,
    /// Shift that matters, as a part of the baseline's value, in place of the rules' own; by metric or by rule where it is a map.
    #[schemars(example = 0.005)]
    pub effect: Effects,
    /// Whether runs of one seed are paired.
    pub pair: Pair,
    /// Values whose first step is compared, by metric.
    #[schemars(example = example_target())]
    pub target: BTreeMap<String, f64>,
}

fn example_target() -> BTreeMap<String, f64> {
    BTreeMap::from([("eval_loss".to_owned(), 0.925)])
}

/// Pairing of runs by seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pair {
    /// Paired where seeds are known.
    #[default]
    Auto,
    /// Paired; without known seeds the run is incomplete.
    Seed,
    /// Never paired.
    None,
}

/// Makes a checked number of the section.
macro_rules! checked {
    ($(#[$about:meta])+ $name:ident($number:ty) = $usual:literal, $holds:expr, $expects:literal, $schema:tt) => {
        $(#[$about])+
        #[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
        #[serde(try_from = "f64")]
        pub struct $name($number);

        impl $name {
            /// The number.
            pub fn get(self) -> $number {
                self.0
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self($usual)
            }
        }

        impl TryFrom<f64> for $name {
            type Error = String;

            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
            fn try_from(value: f64) -> Result<Self, String> {
                let holds: fn(f64) -> bool = $holds;
                if holds(value) { Ok(Self(value as $number)) } else { Err(format!(concat!("expects ", $expects, ", not {}"), value)) }
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

checked!(
    /// False alarms of one verdict.
    Alpha(f64) = 0.01, |value| value > 0.0 && value <= 0.1, "a number above 0, at most 0.1",
    {"type": "number", "exclusiveMinimum": 0, "maximum": 0.1}
);
checked!(
    /// Share of shifts that are found.
    Power(f64) = 0.9, |value| (0.5..1.0).contains(&value), "a number from 0.5 on, below 1",
    {"type": "number", "minimum": 0.5, "exclusiveMaximum": 1}
);
checked!(
    /// Runs of both sides together.
    Minimum(u32) = 5, |value| (5.0..=100_000.0).contains(&value) && value.fract() == 0.0, "a whole number, at least 5",
    {"type": "integer", "minimum": 5}
);

/// A shift that matters: finite and above 0.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "f64")]
pub struct Effect(f64);

impl TryFrom<f64> for Effect {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        let is_sound = value.is_finite() && value > 0.0;
        is_sound.then_some(Self(value)).ok_or_else(|| format!("expects an effect above 0, not {value}"))
    }
}

/// Shifts that matter: one for all rules, or one by metric or rule.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Effects {
    /// Of every rule that compares values.
    All(Effect),
    /// By metric or rule.
    Named(BTreeMap<String, Effect>),
}

impl Default for Effects {
    fn default() -> Self {
        Self::Named(BTreeMap::new())
    }
}

impl Effects {
    /// The shift of `rule` of `metric` that matters; `None` where the rule's own counts.
    pub(crate) fn effect_of(&self, metric: &str, rule: &str) -> Option<f64> {
        match self {
            Self::All(effect) => Some(effect.0),
            Self::Named(named) => named.get(rule).or_else(|| named.get(metric)).map(|effect| effect.0),
        }
    }
}

impl JsonSchema for Effects {
    fn schema_name() -> Cow<'static, str> {
        "Effects".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let effect = || serde_json::json!({"type": "number", "exclusiveMinimum": 0});
        json_schema!({"anyOf": [effect(), {"type": "object", "additionalProperties": effect()}]})
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::Policy;

    fn samples(yaml: &str) -> Result<super::SamplesPolicy, String> {
        let policy = Policy::parse("policy.yml", &format!("samples:\n  {yaml}\n"), &[]);
        policy.map(|policy| policy.samples).map_err(|error| error.to_string())
    }

    #[test]
    fn a_section_is_read_and_numbers_that_decide_nothing_are_refused_with_their_line() {
        let read = samples(
            "{alpha: 0.05, power: 0.8, minimum: 6, effect: {eval_loss: 0.01, steps_to_target: 0.1}, pair: none}",
        );
        let read = read.expect("sound");
        assert_eq!((read.alpha.get(), read.power.get(), read.minimum.get()), (0.05, 0.8, 6));
        assert_eq!(read.effect.effect_of("eval_loss", "level"), Some(0.01));
        assert_eq!(read.effect.effect_of("eval_loss", "steps_to_target"), Some(0.1));
        assert_eq!(read.effect.effect_of("loss", "level"), None);
        assert_eq!(samples("effect: 0.02").expect("sound").effect.effect_of("loss", "level"), Some(0.02));
        for wrong in [
            "alpha: 0.9",
            "alpha: 0",
            "alpha: .nan",
            "power: 1",
            "minimum: 4",
            "minimum: 5.5",
            "effect: -0.01",
            "alfa: 0.01",
        ] {
            let error = samples(wrong).expect_err(wrong);
            assert!(error.contains("policy.yml:2"), "{error}");
        }
    }
}
