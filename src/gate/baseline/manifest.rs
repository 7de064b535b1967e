//! The manifest of a baseline.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Digest;
use crate::judge::loss::noise::NoiseBand;

/// Largest manifest that is read: a million files.
const LARGEST: u64 = 256 << 20;

/// The record of a baseline: the content of `baselines/<name>.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Marks the file and its layout: 1.
    pub precision_gate_baseline: u32,
    /// Its name.
    pub name: String,
    /// Location of the files.
    pub location: String,
    /// Digest of what is judged, as `result.json` has it; found without reading tensor data.
    pub digest: String,
    /// Every file, by path below the location.
    pub files: BTreeMap<String, FileFact>,
    /// Origin of the run.
    pub recorded: BaselineOrigin,
    /// Largest differences between repeats of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseBand>,
    /// Approval of the baseline.
    pub approval: Approval,
}

/// One file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileFact {
    /// Length.
    pub bytes: u64,
    /// Digest of its content.
    pub sha256: Digest,
}

/// Origin of a baseline. A field is empty where it is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BaselineOrigin {
    /// Commit of the training code.
    pub commit: String,
    /// Digest of the container image.
    pub image: String,
    /// The accelerators and their number: `8x A100-SXM4-80GB`.
    pub hardware: String,
    /// The random seed.
    pub seed: String,
    /// Versions by package or part: `torch`, `torch_npu`, `cann`, `driver`.
    pub versions: BTreeMap<String, String>,
    /// Digests of data and weight files, from the config pack.
    pub inputs: BTreeMap<String, String>,
    /// Digests of the repository's files that decide what the run computes.
    pub sources: BTreeMap<String, Digest>,
}

/// Person who promoted a baseline, with reason, date and changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The person.
    pub by: String,
    /// Reason.
    pub reason: String,
    /// Date (`YYYY-MM-DD`).
    pub date: String,
    /// Digest of the manifest before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Digest>,
    /// Verdict and worst findings of judging the new baseline against the old one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<String>,
    /// Whether that difference exceeds the recorded noise band, and the baseline was promoted nevertheless.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exceeds_band: bool,
}

impl Manifest {
    /// The layout this version reads and writes.
    pub(crate) const LAYOUT: u32 = 1;

    /// Reads a manifest with its digest.
    ///
    /// # Errors
    /// `NotFound`, and `Policy` where it is not a manifest of this layout.
    pub fn read(path: &Path) -> Result<(Self, Digest)> {
        let name = path.display().to_string();
        let len = std::fs::metadata(path).map_err(|error| Error::io(&name, &error))?.len();
        if len > LARGEST {
            return Err(damaged(&name, format!("is longer than {LARGEST} bytes")));
        }
        let text = std::fs::read(path).map_err(|error| Error::io(&name, &error))?;
        Self::parse(&name, &text)
    }

    /// The manifest that `text` of the file `name` holds, with the text's digest.
    ///
    /// # Errors
    /// `Policy` where it is not a manifest of this layout.
    pub fn parse(name: &str, text: &[u8]) -> Result<(Self, Digest)> {
        let damaged = |message: String| damaged(name, message);
        let manifest: Self = serde_json::from_slice(text).map_err(|error| damaged(error.to_string()))?;
        if manifest.precision_gate_baseline != Self::LAYOUT {
            let found = manifest.precision_gate_baseline;
            return Err(damaged(format!("has layout {found}, expected {}", Self::LAYOUT)));
        }
        Ok((manifest, Digest::of(text)))
    }

    /// The file's text.
    pub fn text(&self) -> Result<String> {
        let text =
            serde_json::to_string_pretty(self).map_err(|error| Error::new(ErrorKind::Internal, &self.name, error))?;
        Ok(text + "\n")
    }

    /// Differences from an older manifest, in words, one line each.
    pub fn changes_since(&self, old: &Self) -> Vec<String> {
        let mut lines = self.recorded.changes_since(&old.recorded);
        let mut line = |what: &str, old: &str, new: &str| {
            if old != new {
                lines.push(format!("{what}: {} -> {}", or_none(old), or_none(new)));
            }
        };
        line("location", &old.location, &self.location);
        let (added, gone) = (only(&self.files, &old.files), only(&old.files, &self.files));
        let other =
            self.files.iter().filter(|(path, fact)| old.files.get(*path).is_some_and(|old| old != *fact)).count();
        if added + gone + other > 0 {
            lines.push(format!("files: {added} added, {gone} gone, {other} changed"));
        }
        lines
    }
}

fn damaged(name: &str, message: String) -> Error {
    Error::new(ErrorKind::Policy, name, message)
        .with_help("restore it from the repository, or promote the baseline again")
}

impl BaselineOrigin {
    /// Differences from an older record, in words, one line each; a field that only one of the two records holds is one.
    pub fn changes_since(&self, old: &Self) -> Vec<String> {
        let singles = [
            ("commit", &old.commit, &self.commit),
            ("image", &old.image, &self.image),
            ("hardware", &old.hardware, &self.hardware),
            ("seed", &old.seed, &self.seed),
        ];
        let mut lines: Vec<String> = singles
            .into_iter()
            .filter(|(_, old, new)| old != new)
            .map(|(what, old, new)| format!("{what}: {} -> {}", or_none(old), or_none(new)))
            .collect();
        lines.extend(changed("version", &old.versions, &self.versions));
        lines.extend(changed("input", &old.inputs, &self.inputs));
        lines.extend(changed("source", &old.sources, &self.sources));
        lines
    }
}

fn only<V>(these: &BTreeMap<String, V>, those: &BTreeMap<String, V>) -> usize {
    these.keys().filter(|key| !those.contains_key(*key)).count()
}

/// Entries that differ between two maps, as lines.
pub(super) fn changed<V: PartialEq + ToString>(
    what: &str,
    old: &BTreeMap<String, V>,
    new: &BTreeMap<String, V>,
) -> Vec<String> {
    let keys: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let text = |value: Option<&V>| value.map_or_else(|| "-".to_owned(), ToString::to_string);
    keys.into_iter()
        .filter(|key| old.get(*key) != new.get(*key))
        .map(|key| format!("{what} {key}: {} -> {}", text(old.get(key)), text(new.get(key))))
        .collect()
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}
