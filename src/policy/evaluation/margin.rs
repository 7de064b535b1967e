//! Drops that matter, by the kind of metric and by name.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A drop that matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Margin {
    /// In the metric's own unit.
    Absolute(f64),
    /// As a part of the baseline's score.
    Relative(f64),
}

/// Margins that the policy gives in place of the built-in ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Margins {
    /// The margin of every metric that has none of its own: of rates where it is a number, of all where it is a part.
    pub all: Option<Margin>,
    /// Margins by metric or `task/metric`.
    pub named: BTreeMap<String, Margin>,
}

/// Scale that a metric's name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricScale {
    /// From 0 to 1.
    Rate,
    /// From 0 to 100.
    Points,
    /// A perplexity, at least 1.
    Perplexity,
    /// Bits of a byte.
    BitsPerByte,
}

impl MetricScale {
    /// The scale of a metric of this name; `None` for a name that tells none.
    pub(crate) fn from_metric_name(metric: &str) -> Option<Self> {
        match metric.to_ascii_lowercase().as_str() {
            "acc" | "acc_norm" | "acc_bytes" | "accuracy" | "exact_match" | "em" | "f1" | "mc1" | "mc2" | "mcc" => {
                Some(Self::Rate)
            }
            "bleu" | "chrf" | "ter" => Some(Self::Points),
            "word_perplexity" | "byte_perplexity" | "perplexity" => Some(Self::Perplexity),
            "bits_per_byte" => Some(Self::BitsPerByte),
            _ => None,
        }
    }
}

impl Margins {
    /// The margin of a metric of a task by name, with its key; `task/metric` takes precedence over the metric.
    pub(crate) fn margin_of(&self, task: &str, metric: &str) -> Option<(&str, Margin)> {
        let key = format!("{task}/{metric}");
        let entry = self.named.get_key_value(&key).or_else(|| self.named.get_key_value(metric));
        entry.map(|(key, margin)| (key.as_str(), *margin))
    }
}

impl<'de> Deserialize<'de> for Margins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrNamed)
    }
}

impl Serialize for Margins {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.all {
            Some(margin) => margin.serialize(serializer),
            None => self.named.serialize(serializer),
        }
    }
}

impl Serialize for Margin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absolute(value) => serializer.serialize_f64(*value),
            Self::Relative(part) => serializer.collect_str(&format_args!("{}%", percent(*part))),
        }
    }
}

/// Reads one margin, or one per name.
struct OneOrNamed;

impl<'de> Visitor<'de> for OneOrNamed {
    type Value = Margins;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number, a text such as `1%`, or one of them by metric")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Margins, E> {
        absolute(value, true).map(Margins::from_margin).map_err(E::custom)
    }

    #[allow(clippy::cast_precision_loss, reason = "whole numbers of that size are refused")]
    fn visit_u64<E: Error>(self, value: u64) -> Result<Margins, E> {
        self.visit_f64(value as f64)
    }

    #[allow(clippy::cast_precision_loss, reason = "negative numbers are refused")]
    fn visit_i64<E: Error>(self, value: i64) -> Result<Margins, E> {
        self.visit_f64(value as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Margins, E> {
        relative(text).map(Margins::from_margin).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Margins, A::Error> {
        let mut named = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let metric = name.rsplit('/').next().unwrap_or(&name);
            let is_rate = MetricScale::from_metric_name(metric) == Some(MetricScale::Rate);
            let margin = map.next_value_seed(OfMetric { is_rate })?;
            named.insert(name, margin);
        }
        Ok(Margins { all: None, named })
    }
}

impl Margins {
    fn from_margin(margin: Margin) -> Self {
        Self { all: Some(margin), named: BTreeMap::new() }
    }
}

/// Reads the margin of one metric.
struct OfMetric {
    is_rate: bool,
}

impl<'de> DeserializeSeed<'de> for OfMetric {
    type Value = Margin;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Margin, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for OfMetric {
    type Value = Margin;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number, or a text such as `1%`")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Margin, E> {
        absolute(value, self.is_rate).map_err(E::custom)
    }

    #[allow(clippy::cast_precision_loss, reason = "a margin has few digits")]
    fn visit_u64<E: Error>(self, value: u64) -> Result<Margin, E> {
        self.visit_f64(value as f64)
    }

    #[allow(clippy::cast_precision_loss, reason = "negative numbers are refused")]
    fn visit_i64<E: Error>(self, value: i64) -> Result<Margin, E> {
        self.visit_f64(value as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Margin, E> {
        relative(text).map_err(E::custom)
    }
}

fn absolute(value: f64, is_rate: bool) -> Result<Margin, String> {
    if !value.is_finite() || value < 0.0 {
        return Err(format!("expects a number of at least 0, not {value}; such a limit can never fail"));
    }
    if is_rate && value >= 1.0 {
        let meant = if value <= 100.0 { format!("; write {} for {value} %", value / 100.0) } else { String::new() };
        return Err(format!("expects a number below 1 for a rate, not {value}; no rate drops by as much{meant}"));
    }
    Ok(Margin::Absolute(value))
}

fn relative(text: &str) -> Result<Margin, String> {
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match number.map(|percent| percent / 100.0) {
        Some(part) if part.is_finite() && (0.0..1.0).contains(&part) => Ok(Margin::Relative(part)),
        Some(_) => Err(format!("expects a part below 100%, not `{}`", text.escape_debug())),
        None => Err(format!("expects a number, or a text such as `1%`, not `{}`", text.escape_debug())),
    }
}

/// The percentage that is read back as exactly `part`: of the nearby products, the one whose hundredth is `part`.
fn percent(part: f64) -> f64 {
    let product = part * 100.0;
    let near = [product, product.next_down(), product.next_up()];
    let is_read_as_part = |percent: &f64| (percent / 100.0).to_bits() == part.to_bits();
    near.into_iter().find(is_read_as_part).unwrap_or(product)
}

impl JsonSchema for Margin {
    fn schema_name() -> Cow<'static, str> {
        "Margin".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": "^\\s*[0-9.]+\\s*%\\s*$", "examples": ["1%"]},
        ]})
    }
}

impl JsonSchema for Margins {
    fn schema_name() -> Cow<'static, str> {
        "Margins".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let margin = generator.subschema_for::<Margin>();
        json_schema!({"anyOf": [
            {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
            {"type": "string", "pattern": "^\\s*[0-9.]+\\s*%\\s*$", "examples": ["1%"]},
            {"type": "object", "additionalProperties": margin},
        ]})
    }
}

#[cfg(test)]
mod tests {
    use super::{Margin, Margins};
    use crate::policy::Policy;

    fn read(yaml: &str) -> Result<Margins, String> {
        let text = format!("evaluation:\n  margin: {yaml}\n");
        let policy = Policy::parse("p.yml", &text, &[]);
        policy.map(|policy| policy.evaluation.margin).map_err(|error| error.to_string())
    }

    #[test]
    fn margins_are_numbers_parts_or_either_by_name() {
        assert_eq!(read("0.02").expect("a number").all, Some(Margin::Absolute(0.02)));
        assert_eq!(read("0").expect("a whole number").all, Some(Margin::Absolute(0.0)));
        assert_eq!(read("\"1%\"").expect("a part").all, Some(Margin::Relative(0.01)));
        let named = read("{acc: 0.02, gsm8k/exact_match: '3 %', bleu: 2, latency: 5}").expect("by name");
        assert_eq!(named.margin_of("arc", "acc"), Some(("acc", Margin::Absolute(0.02))));
        assert_eq!(named.margin_of("gsm8k", "exact_match"), Some(("gsm8k/exact_match", Margin::Relative(0.03))));
        assert_eq!(named.margin_of("other", "exact_match"), None);
        assert_eq!(named.margin_of("wmt", "bleu"), Some(("bleu", Margin::Absolute(2.0))));
    }

    #[test]
    fn margins_are_written_as_they_are_read() {
        for per_mille in 0_u32..1000 {
            for percent in [f64::from(per_mille) / 10.0, f64::from(per_mille) / 10.7] {
                let text = format!("{percent}%");
                let margin = super::relative(&text).expect("a part");
                let written = serde_json::to_value(margin).expect("a text");
                assert_eq!(super::relative(written.as_str().expect("a text")), Ok(margin), "{text} {written}");
            }
        }
        for yaml in ["0.02", "{acc: 0.02, bleu: 2}", "{acc: '3%'}", "{}"] {
            let margins = read(yaml).expect(yaml);
            let written = serde_json::to_string(&margins).expect("JSON");
            assert_eq!(read(&written), Ok(margins), "{yaml} {written}");
        }
    }

    #[test]
    fn margins_that_never_fail_are_refused_with_the_path_of_their_key() {
        for (yaml, place, said) in [
            ("-0.1", "`evaluation.margin:`", "expects a number of at least 0, not -0.1"),
            (".nan", "`evaluation.margin:`", "not NaN"),
            (
                "1",
                "`evaluation.margin:`",
                "expects a number below 1 for a rate, not 1; no rate drops by as much; write 0.01",
            ),
            ("'100%'", "`evaluation.margin:`", "expects a part below 100%, not `100%`"),
            ("'-1%'", "`evaluation.margin:`", "expects a part below 100%, not `-1%`"),
            ("wide", "`evaluation.margin:`", "expects a number, or a text such as `1%`, not `wide`"),
            ("{acc: 2}", "`evaluation.margin.acc:`", "expects a number below 1 for a rate, not 2"),
            ("{gsm8k/exact_match: 1.5}", "exact_match", "expects a number below 1 for a rate, not 1.5"),
            ("{bleu: -1}", "`evaluation.margin.bleu:`", "expects a number of at least 0, not -1"),
            ("[0.1]", "`evaluation.margin:`", "not a list"),
            ("{acc: [0.1]}", "`evaluation.margin.acc:`", "not a list"),
        ] {
            let error = read(yaml).expect_err(yaml);
            assert!(error.starts_with("p.yml:") && error.contains(place) && error.contains(said), "{yaml}: {error}");
        }
    }
}
