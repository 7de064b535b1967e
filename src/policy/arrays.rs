//! Arrays: how the check of arrays judges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::Pattern;

/// Whether pictures are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Images {
    /// Judged where nothing else was given: beside other artifacts they are drawings of these.
    #[default]
    Auto,
    /// Always.
    Judged,
    /// Never: pictures that were sampled from other noise cannot be compared.
    Shown,
}

/// Arrays.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ArraysPolicy {
    /// Arrays that hold a vector per row and are judged row by row, beside those whose names say so.
    pub embeddings: Vec<Pattern>,
    /// Whether pictures are judged.
    pub images: Images,
    /// Arrays that are left out on both sides.
    pub ignore: Vec<Pattern>,
}

impl ArraysPolicy {
    /// Whether an array is left out.
    pub fn ignores(&self, name: &str) -> bool {
        self.ignore.iter().any(|pattern| pattern.matches(name))
    }

    /// Whether an array is named as an embedding.
    pub(crate) fn is_embedding(&self, name: &str) -> bool {
        self.embeddings.iter().any(|pattern| pattern.matches(name))
    }
}
