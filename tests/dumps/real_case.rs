//! Pairs of dumps whose sides ran on other kernels, packed as `sides.tar.xz` beside what is true of them.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use precision_gate::error::Result;
use precision_gate::gate::{Quiet, Request, run};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::result::GateResult;
use precision_gate::verdict::{CheckId, Verdict};
use serde_json::Value;

/// A pair, unpacked.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) truth: Value,
    /// Check that the pair is of, where it is told.
    pub(crate) check: String,
    /// Text of its policy; empty where there is none.
    pub(crate) policy: String,
    folder: Unpacked,
}

/// The place of the two sides: beside `case.json`, or in a folder that goes away.
enum Unpacked {
    Beside(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Case {
    /// The pair in a folder.
    pub(crate) fn open(folder: &Path) -> Self {
        // Losses stand there as Python writes them.
        let text = fs::read_to_string(folder.join("case.json")).expect("case.json").replace("-Infinity", "null");
        let text = text.replace("Infinity", "null").replace("NaN", "null");
        let spec: Value = serde_json::from_str(&text).expect("JSON");
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let unpacked = match File::open(folder.join("sides.tar.xz")) {
            Ok(packed) => {
                let target = tempfile::tempdir().expect("a folder");
                let expanded = lzma_rust2::XzReader::new(BufReader::new(packed), false);
                tar::Archive::new(expanded).unpack(target.path()).expect("an archive");
                Unpacked::Temporary(target)
            }
            Err(_) => Unpacked::Beside(folder.to_owned()),
        };
        let policy = fs::read_to_string(folder.join("precision-gate.yml")).unwrap_or_default();
        let check = spec["check"].as_str().unwrap_or("dump").to_owned();
        Self { name, truth: spec["truth"].clone(), check, policy, folder: unpacked }
    }

    /// The folder that holds both sides.
    pub(crate) fn folder(&self) -> &Path {
        match &self.folder {
            Unpacked::Beside(folder) => folder.as_path(),
            Unpacked::Temporary(folder) => folder.path(),
        }
    }

    /// Judges the pair.
    pub(crate) fn judge(&self, policy: Policy) -> Result<GateResult> {
        let folder = self.folder();
        let request = Request {
            baseline: TrustedLocation::own(folder.join("gpu").display().to_string()),
            several: Default::default(),
            candidate: folder.join("npu").display().to_string(),
            checks: vec![CheckId::Dump],
            policy,
            matching: Matching::default(),
        };
        Ok(run(&request, &Quiet)?.result)
    }

    /// Whether the pair is healthy.
    pub(crate) fn is_benign(&self) -> bool {
        match &self.truth["benign"] {
            Value::Bool(benign) => *benign,
            _ => self.truth["verdict"] == "pass",
        }
    }

    /// Whether the verdict is one of those that are right.
    pub(crate) fn has_right_verdict(&self, result: &GateResult) -> bool {
        let right = listed(&self.truth["verdict"]);
        let is_unreadable = right == ["error"] && result.verdict == Verdict::Incomplete;
        is_unreadable || right.contains(&result.verdict.as_str())
    }

    /// Whether the culprit is the right one; `None` where there is none to be named.
    pub(crate) fn has_right_culprit(&self, result: &GateResult) -> Option<bool> {
        let wanted = self.truth["culprit"].as_object()?;
        if self.is_benign() || listed(&self.truth["verdict"]).contains(&"pass") {
            return None;
        }
        let Some(culprit) = &result.culprit else { return Some(false) };
        if let Some(modules) = wanted.get("modules") {
            let module = culprit.layout.as_ref().map_or(culprit.op.as_str(), |layout| layout.module.as_str());
            let is_one = |pattern: &&str| regex::Regex::new(pattern).expect("a pattern").is_match(module);
            return Some(listed(modules).iter().any(is_one));
        }
        let mut names = listed(&wanted["op"]);
        names.extend(listed(&self.truth["also"]));
        let rank = wanted.get("rank").and_then(Value::as_u64);
        let ranks = self.truth["ranks"].as_array().map(|ranks| ranks.iter().map(Value::as_u64).collect::<Vec<_>>());
        let is_rank = rank.is_none() || ranks.map_or(culprit.rank == rank, |ranks| ranks.contains(&culprit.rank));
        let is_name = names.iter().any(|name| culprit.op == *name || culprit.tensor == *name);
        Some(is_name && is_rank && wanted.get("step").and_then(Value::as_u64).is_none_or(|step| step == culprit.step))
    }

    /// Whether the first cause is one of those that are right; `None` where any is.
    pub(crate) fn has_right_cause(&self, result: &GateResult) -> Option<bool> {
        let of_culprit = listed(&self.truth["culprit"]["causes"]);
        let causes = if of_culprit.is_empty() { listed(&self.truth["causes"]) } else { of_culprit };
        if causes.is_empty() || self.is_benign() || listed(&self.truth["verdict"]).contains(&"pass") {
            return None;
        }
        Some(result.diagnoses.first().is_some_and(|first| causes.contains(&first.cause.as_str())))
    }
}

/// The texts of a list, or the one text.
fn listed(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Folders of pairs below a folder, sorted.
pub(crate) fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).expect("a folder of cases").flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|case| case.join("case.json").exists()).collect();
    found.sort();
    found
}
