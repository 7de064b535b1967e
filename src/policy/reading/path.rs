//! Paths of keys in a policy: how they are written, their place in the text, and an example that leads to one.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_path_to_error::Segment;

/// One step into a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathStep {
    Key(String),
    Index(usize),
}

/// The way from the top of a policy to a value: `loss.metrics.loss.mean.fail`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path(Vec<PathStep>);

impl Path {
    pub(crate) fn new(steps: &[PathStep]) -> Self {
        Self(steps.to_vec())
    }

    /// The path of an error, up to the first unknown segment.
    pub(super) fn of(path: &serde_path_to_error::Path) -> Self {
        let step = |segment: &Segment| match segment {
            Segment::Seq { index } => Some(PathStep::Index(*index)),
            Segment::Map { key } => Some(PathStep::Key(key.clone())),
            Segment::Enum { .. } | Segment::Unknown => None,
        };
        Self(path.iter().map_while(step).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn steps(&self) -> &[PathStep] {
        &self.0
    }

    /// Whether the path equals `other` or lies below it.
    pub(super) fn is_below(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    #[must_use]
    pub(super) fn to(&self, step: PathStep) -> Self {
        Self(self.0.iter().cloned().chain([step]).collect())
    }

    pub(super) fn key(&self, name: &str) -> Self {
        self.to(PathStep::Key(name.to_owned()))
    }

    /// The path for people, in backticks; a colon says that it is a key.
    pub(super) fn shown(&self) -> String {
        match self.0.last() {
            None => "the policy".to_owned(),
            Some(PathStep::Key(_)) => format!("`{self}:`"),
            Some(PathStep::Index(_)) => format!("`{self}`"),
        }
    }

    /// YAML in one line that gives `value` at this path.
    pub(super) fn example(&self, value: &str) -> String {
        let wrapped = self.0.iter().enumerate().rev().fold(value.to_owned(), |value, (depth, step)| match step {
            PathStep::Key(key) if depth == 0 => format!("{key}: {value}"),
            PathStep::Key(key) => format!("{{{key}: {value}}}"),
            PathStep::Index(_) => format!("[{value}]"),
        });
        // At the top no brackets are needed.
        match wrapped.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')) {
            Some(inner) if self.0.is_empty() => inner.to_owned(),
            _ => wrapped,
        }
    }

    /// The value at this path.
    pub(super) fn value<'a>(&self, document: &'a serde_yaml::Value) -> Option<&'a serde_yaml::Value> {
        self.0.iter().try_fold(document, |value, step| match step {
            PathStep::Key(key) => value.get(key.as_str()),
            PathStep::Index(index) => value.get(*index),
        })
    }

    /// Line and column, from 1, of the last key or entry of the path in `text`.
    pub(super) fn position(&self, text: &str) -> Option<(usize, usize)> {
        let seek = Seek { steps: &self.0 };
        let error = seek.deserialize(serde_yaml::Deserializer::from_str(text)).err()?;
        error.location().map(|at| (at.line(), at.column()))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Key(key) if position == 0 => f.write_str(key)?,
                PathStep::Key(key) => write!(f, ".{key}")?,
                PathStep::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Message of an error without the path and the place that the parser adds.
pub(super) fn bare(error: &serde_path_to_error::Error<serde_yaml::Error>) -> String {
    let said = error.inner().to_string();
    let said = error
        .inner()
        .location()
        .and_then(|at| Some(said.strip_suffix(&format!(" at line {} column {}", at.line(), at.column()))?.to_owned()));
    let said = said.unwrap_or_else(|| error.inner().to_string());
    let path = error.path().to_string();
    let ancestors = path.char_indices().filter(|(_, sign)| matches!(sign, '.' | '[')).map(|(end, _)| end);
    let mut known = ancestors.chain([path.len()]).filter_map(|end| path.get(..end));
    let rest = known.find_map(|path| said.strip_prefix(path)?.strip_prefix(": "));
    rest.unwrap_or(&said).to_owned()
}

/// Search for the place of a path. It raises an error there on purpose, because the parser adds the place to errors.
struct Seek<'a> {
    steps: &'a [PathStep],
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.steps.is_empty() { deserializer.deserialize_any(Here) } else { deserializer.deserialize_any(self) }
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let [PathStep::Key(wanted), rest @ ..] = self.steps else { return Ok(()) };
        while let Some(is_it) = map.next_key_seed(Key { wanted, is_last: rest.is_empty() })? {
            match is_it {
                true => map.next_value_seed(Seek { steps: rest })?,
                false => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let [PathStep::Index(wanted), rest @ ..] = self.steps else { return Ok(()) };
        for _ in 0..*wanted {
            list.next_element::<IgnoredAny>()?;
        }
        list.next_element_seed(Seek { steps: rest })?;
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// Comparison of a key with the wanted one; at the last key of a path it ends the search with an error.
struct Key<'a> {
    wanted: &'a str,
    is_last: bool,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<bool, E> {
        match key == self.wanted {
            true if self.is_last => Err(E::custom("here")),
            is_it => Ok(is_it),
        }
    }
}

/// Value that ends the search with an error, to which the parser adds its place.
struct Here;

impl<'de> Visitor<'de> for Here {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing")
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        Err(A::Error::custom("here"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        Err(A::Error::custom("here"))
    }
}
