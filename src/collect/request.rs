//! The request for a config pack.

use std::path::PathBuf;

use crate::policy::value::Pattern;

/// Things to collect into a pack.
#[derive(Clone, Debug, Default)]
pub struct CollectRequest {
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// Python interpreter whose packages are listed.
    pub python: Option<PathBuf>,
    /// Whether the interpreter was found rather than named: then packages that cannot be listed are a note, not an error.
    pub is_found: bool,
    /// Folders with installed packages, instead of an interpreter's.
    pub site_packages: Vec<PathBuf>,
    /// Launch scripts, YAML and JSON files with settings.
    pub settings: Vec<PathBuf>,
    /// Data set files and folders to record digests of.
    pub data: Vec<PathBuf>,
    /// Weight files and folders to record digests of.
    pub weights: Vec<PathBuf>,
    /// Values that are kept out of the pack.
    pub redaction: Redaction,
}

/// Values that are kept out of a pack.
#[derive(Clone, Debug)]
pub enum Redaction {
    /// Nothing: every value goes into the pack.
    Off,
    /// Values whose names look secret, or fit one of these patterns.
    On(Vec<Pattern>),
}

impl Default for Redaction {
    fn default() -> Self {
        Self::On(Vec::new())
    }
}
