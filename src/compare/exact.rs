//! `f64` in JSON without loss: serde writes and reads finite numbers to the bit; NaN and the infinities, which JSON
//! lacks, are words.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written<'a> {
    Finite(f64),
    #[serde(borrow)]
    Word(Cow<'a, str>),
}

pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let written = match *value {
        value if value.is_nan() => Written::Word("nan".into()),
        f64::INFINITY => Written::Word("inf".into()),
        f64::NEG_INFINITY => Written::Word("-inf".into()),
        value => Written::Finite(value),
    };
    written.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match Written::deserialize(deserializer)? {
        Written::Finite(value) => Ok(value),
        Written::Word(word) => match word.as_ref() {
            "nan" => Ok(f64::NAN),
            "inf" => Ok(f64::INFINITY),
            "-inf" => Ok(f64::NEG_INFINITY),
            other => Err(de::Error::custom(format!("`{other}` is not a number"))),
        },
    }
}
