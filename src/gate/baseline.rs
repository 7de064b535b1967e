//! Baselines as reviewed things.
//!
//! A baseline has a manifest: which bytes it consists of, what it was recorded from, how far it moves by itself, and who
//! took it over, when and why. The manifest is a file of the repository; a lock file beside it says which baseline a
//! branch uses, and pins the manifest by digest. Changing either is a change that a reviewer sees.
//!
//! [`promote`](promote::promote) writes both, never in the job that judges; [`check`] holds a run's baseline against its
//! manifest.

pub mod check;
pub mod facts;
pub mod job;
pub mod lock;
pub mod manifest;
pub mod promote;
pub mod verify;

/// How a baseline is named as a location: `baseline:NAME`.
pub const SCHEME: &str = "baseline:";
/// Folder of manifests, from the repository's root.
pub const FOLDER: &str = "baselines";
/// The lock file, in the repository's root.
pub const LOCK: &str = "precision-gate.lock";

/// The command that records a baseline, for messages.
pub fn record_command(name: &str) -> String {
    let name = if name.is_empty() { "NAME" } else { name };
    format!("precision-gate baseline promote LOCATION --name {name} --reason WHY")
}
