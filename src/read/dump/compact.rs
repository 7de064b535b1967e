//! What keeps a dump of millions of values small: texts and shapes once, statistics as numbers, names as hashes.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::read::json::Json;

/// Gives equal texts and equal shapes the same memory.
#[derive(Debug, Default)]
pub(super) struct Shared {
    texts: HashSet<Arc<str>>,
    shapes: HashSet<Arc<[u64]>>,
}

impl Shared {
    pub(super) fn text(&mut self, text: &str) -> Arc<str> {
        once(&mut self.texts, text)
    }

    pub(super) fn shape(&mut self, shape: &[u64]) -> Arc<[u64]> {
        once(&mut self.shapes, shape)
    }
}

fn once<T: ?Sized + Hash + Eq>(known: &mut HashSet<Arc<T>>, wanted: &T) -> Arc<T>
where
    Arc<T>: Borrow<T> + for<'a> From<&'a T>,
{
    known.get(wanted).cloned().unwrap_or_else(|| {
        let shared: Arc<T> = wanted.into();
        known.insert(shared.clone());
        shared
    })
}

/// A statistic as it was written: nearly always a number, in a third of the room of [`Json`].
#[derive(Clone, Debug, PartialEq)]
pub enum Statistic {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// An integer that fits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Anything else.
    Other(Box<Json>),
}

impl From<Json> for Statistic {
    fn from(value: Json) -> Self {
        match value {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(value),
            Json::Int(value) => Self::Int(value),
            Json::Float(value) => Self::Float(value),
            other => Self::Other(Box::new(other)),
        }
    }
}

impl Statistic {
    /// The value as it was written.
    pub fn json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Int(value) => Json::Int(*value),
            Self::Float(value) => Json::Float(*value),
            Self::Other(value) => value.as_ref().clone(),
        }
    }

    /// The value of any number (not of a boolean).
    pub fn as_f64(&self) -> Option<f64> {
        self.json().as_f64()
    }

    /// The truth value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        self.json().as_bool()
    }
}

/// Something for each of many names, without the names: they stand in the operations, and two of them share a hash of
/// 64 bits once in a million dumps.
#[derive(Clone, Debug, PartialEq)]
pub struct ByName<T>(HashMap<u64, T>);

impl<T> Default for ByName<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> ByName<T> {
    /// What `name` has.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.get(&hash_of(name))
    }

    /// Whether no name has anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn insert(&mut self, name: &str, value: T) {
        self.0.insert(hash_of(name), value);
    }
}

fn hash_of(name: &str) -> u64 {
    let mut hash = DefaultHasher::new();
    name.hash(&mut hash);
    hash.finish()
}
