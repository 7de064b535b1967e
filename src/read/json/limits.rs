//! Checks of the size of a JSON document before any of it is kept in memory.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Limits on a document.
#[derive(Clone, Copy, Debug)]
pub struct JsonLimits {
    /// Most values: numbers, texts, keys, lists.
    pub values: u64,
    /// Longest text in bytes.
    pub text: usize,
}

impl JsonLimits {
    /// Checks the JSON document `text` against the limits without keeping any of it.
    ///
    /// # Errors
    /// Message that says which limit is exceeded. Invalid JSON is not an error here; the reader of the document reports it.
    pub fn check(self, text: &str) -> Result<(), String> {
        let mut left = self.values;
        match (Count { left: &mut left, limits: self }).deserialize(&mut serde_json::Deserializer::from_str(text)) {
            Err(error) if error.is_data() => Err(error.to_string()),
            _ => Ok(()),
        }
    }
}

/// Counts the values of a document without keeping any.
struct Count<'a> {
    left: &'a mut u64,
    limits: JsonLimits,
}

impl Count<'_> {
    fn one<E: serde::de::Error>(&mut self) -> Result<(), E> {
        let more = || E::custom(format!("holds more than {} values", self.limits.values));
        *self.left = self.left.checked_sub(1).ok_or_else(more)?;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Count<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Count<'_> {
    type Value = ();

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("a value")
    }

    fn visit_bool<E: serde::de::Error>(mut self, _: bool) -> Result<(), E> {
        self.one()
    }

    fn visit_i64<E: serde::de::Error>(mut self, _: i64) -> Result<(), E> {
        self.one()
    }

    fn visit_u64<E: serde::de::Error>(mut self, _: u64) -> Result<(), E> {
        self.one()
    }

    fn visit_f64<E: serde::de::Error>(mut self, _: f64) -> Result<(), E> {
        self.one()
    }

    fn visit_unit<E: serde::de::Error>(mut self) -> Result<(), E> {
        self.one()
    }

    fn visit_str<E: serde::de::Error>(mut self, text: &str) -> Result<(), E> {
        let most = self.limits.text;
        if text.len() > most {
            return Err(E::custom(format!("holds a text of {} bytes; at most {most} are read", text.len())));
        }
        self.one()
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.one()?;
        while items.next_element_seed(Count { left: self.left, limits: self.limits })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        self.one()?;
        while entries.next_key_seed(Count { left: self.left, limits: self.limits })?.is_some() {
            entries.next_value_seed(Count { left: self.left, limits: self.limits })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::JsonLimits;

    #[test]
    fn what_a_document_may_hold_is_counted_wherever_it_stands() {
        let limits = JsonLimits { values: 5, text: 3 };
        for (text, said) in [
            ("[1, [2, 3]]", None),
            ("[1, [2, 3], 4]", Some("holds more than 5 values")),
            (r#"{"a": {"b": null}, "c": [1]}"#, Some("holds more than 5 values")),
            (r#"["abcd"]"#, Some("holds a text of 4 bytes; at most 3 are read")),
            (r#"{"abcd": 1}"#, Some("holds a text of 4 bytes; at most 3 are read")),
            ("[1, [2", None),
        ] {
            let held = limits.check(text).err();
            assert!(
                held.as_deref().map_or(said.is_none(), |error| error.contains(said.unwrap_or("?"))),
                "{text}: {held:?}"
            );
        }
    }
}
