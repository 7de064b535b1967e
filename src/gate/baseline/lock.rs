//! The lock file: which baseline a branch uses.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Digest;
use crate::policy::value::Pattern;

/// The content of `precision-gate.lock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// Marks the file and its layout: 1.
    pub precision_gate_lock: u32,
    /// Pins, sorted by branch and name.
    pub pins: Vec<Pin>,
}

/// One baseline of one branch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The branch, or a pattern of branches (`release/*`); `*` is every branch without a pin of its own.
    pub branch: String,
    /// The baseline's name.
    pub name: String,
    /// Its manifest, below the lock file's folder.
    pub manifest: String,
    /// Digest of the manifest's file.
    pub digest: Digest,
}

impl Default for Lock {
    fn default() -> Self {
        Self { precision_gate_lock: Self::LAYOUT, pins: Vec::new() }
    }
}

impl Lock {
    /// The layout this version reads and writes.
    pub(crate) const LAYOUT: u32 = 1;

    /// Reads the lock file; a missing file pins nothing.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        match std::fs::read(path) {
            Ok(text) => Self::parse(&name, &text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error::io(name, &error)),
        }
    }

    /// The lock that `text` of the file `name` holds.
    ///
    /// # Errors
    /// `Policy` where the file has another layout, or a manifest's path leads out of the folder.
    pub fn parse(name: &str, text: &[u8]) -> Result<Self> {
        let damaged =
            |message: String| Error::new(ErrorKind::Policy, name, message).with_help("restore it from the repository");
        let lock: Self = serde_json::from_slice(text).map_err(|error| damaged(error.to_string()))?;
        if lock.precision_gate_lock != Self::LAYOUT {
            return Err(damaged(format!("has layout {}, expected {}", lock.precision_gate_lock, Self::LAYOUT)));
        }
        if let Some(pin) = lock.pins.iter().find(|pin| pin.manifest.split('/').any(|part| part == "..")) {
            return Err(damaged(format!("`{}` leads out of its folder", pin.manifest)));
        }
        Ok(lock)
    }

    /// The file's text.
    pub fn text(&self) -> Result<String> {
        let text =
            serde_json::to_string_pretty(self).map_err(|error| Error::new(ErrorKind::Internal, "lock", error))?;
        Ok(text + "\n")
    }

    /// The pin of `name` on `branch`: the branch's own, else that of a pattern, else that of every branch. An empty name
    /// stands for the only baseline there is.
    pub fn find(&self, branch: &str, name: &str) -> Option<&Pin> {
        let of_name = || self.pins.iter().filter(|pin| name.is_empty() || pin.name == name);
        let fits = |pin: &&Pin| Pattern::try_from(pin.branch.clone()).is_ok_and(|pattern| pattern.matches(branch));
        let exact = || of_name().find(|pin| pin.branch == branch);
        exact()
            .or_else(|| of_name().filter(|pin| pin.branch != "*").find(fits))
            .or_else(|| of_name().find(|pin| pin.branch == "*"))
    }

    /// Sets a pin, instead of the one with the same branch and name.
    pub fn set(&mut self, pin: Pin) {
        self.pins.retain(|known| (&known.branch, &known.name) != (&pin.branch, &pin.name));
        self.pins.push(pin);
        self.pins.sort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_goes_before_a_pattern_and_that_before_all() {
        let mut lock = Lock::default();
        for branch in ["*", "main", "release/*"] {
            lock.set(Pin {
                branch: branch.into(),
                name: "glm".into(),
                manifest: format!("baselines/{branch}.json"),
                digest: Digest::of(branch.as_bytes()),
            });
        }
        for (branch, found) in [("main", "main"), ("release/1.2", "release/*"), ("feature", "*")] {
            assert_eq!(lock.find(branch, "glm").map(|pin| pin.branch.as_str()), Some(found), "{branch}");
            assert_eq!(lock.find(branch, ""), lock.find(branch, "glm"));
        }
        assert_eq!(lock.find("main", "other"), None);
        let again: Lock = serde_json::from_str(&lock.text().expect("text")).expect("a lock");
        assert_eq!(again, lock);
    }
}
