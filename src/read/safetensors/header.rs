//! The header of a safetensors file. Its tensors are counted against the memory limit before they are kept.

use std::fmt;

use safetensors::tensor::{Metadata, TensorInfo};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::error::{Error, Result};
use crate::fetch::{Budget, ByteSource};
use crate::read::tensor::StoredValue;

/// Key of the free text about the file, which is not a tensor.
const ABOUT: &str = "__metadata__";

/// Parses the header `text` of `source`, and checks that its tensors leave no gap in the file.
///
/// # Errors
/// `Corrupt` if it is damaged or names a tensor twice, `LimitExceeded` if its tensors take more memory than the file grants.
pub(super) fn read(source: &dyn ByteSource, text: &[u8]) -> Result<Metadata> {
    let mut counted = Counted { budget: Budget::from_source(source), refused: None };
    let parsed = Entries(&mut counted).deserialize(&mut serde_json::Deserializer::from_slice(text));
    let damaged = |error: &dyn fmt::Display| Error::corrupt(source.name(), format!("its header is damaged: {error}"));
    let mut tensors = match (parsed, counted.refused) {
        (_, Some(refused)) => return Err(refused),
        (parsed, None) => parsed.map_err(|error| damaged(&error))?,
    };
    tensors.sort_by(|a, b| (a.1.data_offsets, &a.0).cmp(&(b.1.data_offsets, &b.0)));
    let count = tensors.len();
    let metadata = Metadata::new(None, tensors).map_err(|error| damaged(&error))?;
    if metadata.offset_keys().len() < count {
        return Err(damaged(&"it names a tensor twice"));
    }
    Ok(metadata)
}

/// Remaining memory, and the error if there was too little.
struct Counted {
    budget: Budget,
    refused: Option<Error>,
}

impl Counted {
    /// Counts the memory of a tensor. Its name is stored twice, in the header and in the opened tensor.
    fn tensor(&mut self, name: &str, info: &TensorInfo) -> Result<()> {
        let held = size_of::<(String, TensorInfo)>() + size_of::<(String, StoredValue)>();
        self.budget.reserve(held + 2 * (name.len() + info.shape.len() * size_of::<u64>()))
    }
}

struct Entries<'a>(&'a mut Counted);

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = Vec<(String, TensorInfo)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = Vec<(String, TensorInfo)>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut tensors = Vec::new();
        while let Some(name) = entries.next_key::<String>()? {
            if name == ABOUT {
                entries.next_value::<IgnoredAny>()?;
                continue;
            }
            let info: TensorInfo = entries.next_value()?;
            if let Err(refused) = self.0.tensor(&name, &info) {
                self.0.refused = Some(refused);
                return Err(A::Error::custom("too large"));
            }
            tensors.push((name, info));
        }
        Ok(tensors)
    }
}
