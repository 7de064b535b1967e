//! A JSON value.

/// A JSON value as Python sees it.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// An integer that fits into `i64`.
    Int(i64),
    /// An integer that does not fit into `i64`, as its digits.
    BigInt(String),
    /// A number with a fraction or exponent, `NaN` and the infinities.
    Float(f64),
    /// A string.
    Text(String),
    /// An array.
    Array(Vec<Json>),
    /// An object, in file order; a repeated key keeps its first place and its last value, as in Python.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Value under `key`; `None` if this is not an object or lacks the key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.as_object()?.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Entries of an object.
    pub fn as_object(&self) -> Option<&[(String, Json)]> {
        if let Self::Object(entries) = self { Some(entries) } else { None }
    }

    /// Items of an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// Text of a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// Value of an integer that fits into `i64`.
    pub(crate) fn as_i64(&self) -> Option<i64> {
        if let Self::Int(value) = self { Some(*value) } else { None }
    }

    /// Value of any number; `None` for a boolean.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            #[allow(clippy::cast_precision_loss, reason = "Python converts the same way")]
            Self::Int(value) => Some(*value as f64),
            Self::BigInt(digits) => digits.parse().ok(),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }
}
