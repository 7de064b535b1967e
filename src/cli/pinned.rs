//! Baselines that the lock file of a checkout pins.

use std::path::Path;

use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::fetch::{Digest, Environment};
use precision_gate::gate::baseline::lock::{Lock, Pin};
use precision_gate::gate::baseline::manifest::Manifest;
use precision_gate::gate::baseline_name;

/// Variables that name the branch a change goes to, or the branch that is built.
pub(crate) const BRANCHES: [&str; 4] =
    ["GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "GITHUB_REF_NAME", "CI_COMMIT_BRANCH"];
/// The manifest that the lock file pins, unchanged since.
pub(crate) fn pinned(root: &Path, name: &str, branch: Option<&str>, environment: &Environment) -> Result<Manifest> {
    let found = find(root, name, branch, environment)?;
    found.ok_or_else(|| {
        Error::new(ErrorKind::NotFound, name, format!("{} pins no such baseline for this branch", baseline_name::LOCK))
            .with_help(format!("record it: `{}`", baseline_name::record_command(name)))
    })
}

/// The manifest of a baseline, where one is pinned for the branch.
///
/// # Errors
/// `Policy` where its manifest is not the one that was pinned.
pub(crate) fn find(
    root: &Path,
    name: &str,
    branch: Option<&str>,
    environment: &Environment,
) -> Result<Option<Manifest>> {
    let lock = Lock::read(&root.join(baseline_name::LOCK))?;
    let branch = branch.or_else(|| environment.first(&BRANCHES)).unwrap_or_default();
    let Some(pin) = lock.find(branch, name) else { return Ok(None) };
    as_pinned(pin, Manifest::read(&root.join(&pin.manifest))?).map(Some)
}

/// The manifest, where it is the one that `pin` means.
///
/// # Errors
/// `Policy` where it changed since it was pinned.
pub(crate) fn as_pinned(pin: &Pin, (manifest, digest): (Manifest, Digest)) -> Result<Manifest> {
    if digest == pin.digest {
        return Ok(manifest);
    }
    let error =
        Error::new(ErrorKind::Policy, &pin.manifest, format!("is not the manifest that {} pins", baseline_name::LOCK));
    Err(error.with_help("promote the baseline again, so that manifest and pin change together"))
}
