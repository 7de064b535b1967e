//! Numbers as results carry them.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An `f64` that survives JSON: NaN and the infinities are the strings `"nan"`, `"inf"`, `"-inf"`.
/// A recorded NaN equals itself, so that a thing with numbers in it equals its copy.
#[derive(Clone, Copy, Debug)]
pub struct Number(pub f64);

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || (self.0.is_nan() && other.0.is_nan())
    }
}

impl Number {
    /// The word for a value JSON has no number for.
    fn word(self) -> Option<&'static str> {
        match self.0 {
            value if value.is_nan() => Some("nan"),
            f64::INFINITY => Some("inf"),
            f64::NEG_INFINITY => Some("-inf"),
            _ => None,
        }
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.word() {
            Some(word) => serializer.serialize_str(word),
            None => serializer.serialize_f64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

/// Reads a number or the word for one.
struct Either;

impl Visitor<'_> for Either {
    type Value = Number;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a number, or \"nan\", \"inf\" or \"-inf\"")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
        Ok(Number(value))
    }

    #[allow(clippy::cast_precision_loss, reason = "JSON has one kind of number")]
    fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
        Ok(Number(value as f64))
    }

    #[allow(clippy::cast_precision_loss, reason = "JSON has one kind of number")]
    fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
        Ok(Number(value as f64))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Number, E> {
        match word {
            "nan" => Ok(Number(f64::NAN)),
            "inf" => Ok(Number(f64::INFINITY)),
            "-inf" => Ok(Number(f64::NEG_INFINITY)),
            _ => Err(E::invalid_value(Unexpected::Str(word), &self)),
        }
    }
}

impl JsonSchema for Number {
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}]})
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn a_copy_is_equal_whatever_the_value() {
        for value in [0.0, f64::INFINITY, f64::NAN] {
            assert_eq!(Number(value), Number(value));
        }
        assert_eq!(Number(0.0), Number(-0.0));
        assert_ne!(Number(f64::NAN), Number(0.0));
    }

    #[test]
    fn every_value_comes_back() {
        for value in [0.0, -1.5, 1e-300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let text = serde_json::to_string(&Number(value)).expect("a number is JSON");
            let back: Number = serde_json::from_str(&text).expect("what was written can be read");
            assert!(back.0.to_bits() == value.to_bits(), "{text}");
        }
    }
}
