//! Locations that a policy names. They can be opened only after they were resolved to a trusted place.
//!
//! A policy names files and folders that influence a verdict: noise, repeats, a third run. Where a stranger's change is judged,
//! such a file in the checkout may be part of that change. Every location of the policy therefore has to be resolved first,
//! in one place that visits all of them (`holding.rs`).

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::path::Path;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::input::InputKind;
use crate::error::{Error, ErrorKind, Result};

/// A location that may be opened: checked against the target branch where a stranger's change is judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedLocation(String);

impl TrustedLocation {
    /// A location of a job whose files are all its own.
    pub fn own(location: impl Into<String>) -> Self {
        Self(location.into())
    }
}

impl Deref for TrustedLocation {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<Path> for TrustedLocation {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl fmt::Display for TrustedLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A location that the policy names. It serialises as the text that the policy has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
pub struct PolicyLocation {
    written: String,
    held: Option<TrustedLocation>,
}

impl PolicyLocation {
    /// The text as the policy has it, for messages and for resolving it.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Whether the policy names none.
    pub fn is_empty(&self) -> bool {
        self.written.is_empty()
    }

    /// Has `by` resolve the location, unless that was done before.
    ///
    /// # Errors
    /// Errors of `by`.
    pub fn resolve(&mut self, input: InputKind, by: &mut LocationResolver<'_>) -> Result<&TrustedLocation> {
        let held = match self.held.take() {
            Some(held) => held,
            None => TrustedLocation(by(input, &self.written)?),
        };
        Ok(self.held.insert(held))
    }

    /// Trusts the location as written, in a job whose files are all its own.
    pub(super) fn trust_as_written(&mut self) {
        self.held = Some(TrustedLocation(self.written.clone()));
    }

    /// The location to open.
    ///
    /// # Errors
    /// `Internal` where it was not resolved before.
    pub fn trusted(&self) -> Result<&TrustedLocation> {
        let message = "the location was not held against the target branch";
        self.held.as_ref().ok_or_else(|| Error::new(ErrorKind::Internal, self.written.as_str(), message))
    }
}

impl From<String> for PolicyLocation {
    fn from(written: String) -> Self {
        Self { written, held: None }
    }
}

impl From<PolicyLocation> for String {
    fn from(named: PolicyLocation) -> Self {
        named.written
    }
}

impl JsonSchema for PolicyLocation {
    fn schema_name() -> Cow<'static, str> {
        "Location".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": LOCATION})
    }
}

/// One path, or several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(from = "OneOrMany", into = "Vec<PolicyLocation>")]
#[schemars(with = "OneOrMany")]
pub struct Paths(pub Vec<PolicyLocation>);

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum OneOrMany {
    One(PolicyLocation),
    Many(Vec<PolicyLocation>),
}

impl Paths {
    /// Whether none is named.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(PolicyLocation::is_empty)
    }

    /// The texts as the policy has them.
    pub fn written(&self) -> Vec<String> {
        self.0.iter().map(|named| named.written().to_owned()).collect()
    }

    /// The locations to open.
    ///
    /// # Errors
    /// `Internal` where one was not resolved before.
    pub fn trusted(&self) -> Result<Vec<TrustedLocation>> {
        self.0.iter().map(|named| named.trusted().cloned()).collect()
    }
}

impl From<Vec<String>> for Paths {
    fn from(written: Vec<String>) -> Self {
        Self(written.into_iter().map(PolicyLocation::from).collect())
    }
}

impl From<OneOrMany> for Paths {
    fn from(value: OneOrMany) -> Self {
        match value {
            OneOrMany::One(path) => Self(vec![path]),
            OneOrMany::Many(paths) => Self(paths),
        }
    }
}

impl From<Paths> for Vec<PolicyLocation> {
    fn from(paths: Paths) -> Self {
        paths.0
    }
}

/// Format of a location in the policy's schema.
pub const LOCATION: &str = "location";

/// Function that resolves a location: takes the kind of input and the text in the policy, returns the location to open.
pub(crate) type LocationResolver<'a> = dyn FnMut(InputKind, &str) -> Result<String> + 'a;
