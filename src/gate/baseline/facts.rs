//! What a run says of itself: facts for a manifest, read from its config packs.

use std::collections::BTreeMap;
use std::path::Path;

use super::manifest::Recorded;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Digest, Files};
use crate::gate::discover::Inventory;
use crate::policy::value::Pattern;
use crate::read::json::to_text;

/// Packages whose versions decide what a run computes.
const PACKAGES: [&str; 12] = [
    "torch",
    "torch-npu",
    "mindspore",
    "megatron-core",
    "mindspeed",
    "mindspeed-llm",
    "transformers",
    "transformer-engine",
    "apex",
    "flash-attn",
    "deepspeed",
    "numpy",
];
/// Settings that hold the seed.
const SEEDS: [&str; 4] = ["seed", "--seed", "random_seed", "train_seed"];
/// Folders of a checkout that hold no sources.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];

/// What the packs of a side tell. Where several packs disagree, the first in path order stands.
pub fn of_inventory(inventory: &Inventory) -> Recorded {
    let mut recorded = Recorded::default();
    for pack in &inventory.packs {
        for line in pack.pip.iter().flatten().flatten() {
            let Some((name, version)) = line.split_once("==") else { continue };
            let name = name.trim().to_ascii_lowercase().replace('_', "-");
            if PACKAGES.contains(&name.as_str()) {
                recorded.versions.entry(name).or_insert_with(|| version.trim().to_owned());
            }
        }
        if let Some(Ok(digests)) = &pack.digests {
            recorded.inputs.extend(digests.clone());
        }
        let seed = pack.settings().find(|(name, _)| SEEDS.contains(&name.as_str()));
        if let Some((_, seed)) = seed.filter(|_| recorded.seed.is_empty()) {
            recorded.seed = to_text(seed).trim_matches('"').to_owned();
        }
    }
    recorded
}

/// Digests of the files below `root` that fit one of `patterns`.
///
/// # Errors
/// `Usage` where `root` cannot be listed or a file cannot be read.
pub fn sources(root: &Path, patterns: &[Pattern]) -> Result<BTreeMap<String, Digest>> {
    let mut found = BTreeMap::new();
    if patterns.is_empty() {
        return Ok(found);
    }
    let location = root.display().to_string();
    let files = crate::fetch::local::LocalFiles::open(&location)?;
    for entry in files.list() {
        let is_skipped = entry.path.split('/').any(|part| SKIPPED.contains(&part));
        if is_skipped || !patterns.iter().any(|pattern| pattern.matches(&entry.path)) {
            continue;
        }
        let bytes = std::fs::read(root.join(&entry.path)).map_err(|error| Error::io(&entry.path, &error))?;
        found.insert(entry.path.clone(), Digest::of(&bytes));
    }
    if found.is_empty() {
        let message = "no file there fits `baselines.sources`";
        return Err(Error::new(ErrorKind::Usage, location, message)
            .with_help("run it in the repository's root, or pass --source-root"));
    }
    Ok(found)
}
