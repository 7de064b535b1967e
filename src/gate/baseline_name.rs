//! Names of recorded baselines: `baseline:NAME`, which the repository's lock file pins.

use crate::result::advice::Advice;

/// Prefix of a baseline as a location: `baseline:NAME`.
pub const SCHEME: &str = "baseline:";
/// The lock file, in the repository's root.
pub const LOCK: &str = "precision-gate.lock";

/// The command that records a baseline, for messages.
pub fn record_command(name: &str) -> String {
    Advice::record(name).to_string()
}
