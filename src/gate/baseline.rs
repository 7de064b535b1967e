//! Baselines as reviewed things.
//!
//! A baseline has a manifest: which bytes it consists of, what it was recorded from, how far it moves by itself, and who
//! took it over, when and why. The manifest is a file of the repository; a lock file beside it says which baseline a
//! branch uses, and pins the manifest by digest. Changing either is a change that a reviewer sees.
//!
//! [`promote`](super::promote::promote) writes both, never in the job that judges; [`check`] holds a run's baseline against its
//! manifest.

pub mod check;
pub mod facts;
pub mod job;
pub mod lock;
pub mod manifest;
pub mod verify;

/// Folder of manifests, from the repository's root.
pub const FOLDER: &str = "baselines";
