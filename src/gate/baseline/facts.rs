//! Facts about a run for its manifest, read from its config packs.

use std::collections::BTreeMap;
use std::path::Path;

use super::manifest::BaselineOrigin;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Digest, Files};
use crate::gate::discover::Inventory;
use crate::policy::value::Pattern;
use crate::read::json::to_text;
use crate::read::pack::Pack;

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
/// Parts that are no Python packages, with the environment variables that hold their versions.
const PARTS: [(&str, &[&str]); 4] = [
    ("cann", &["CANN_VERSION", "ASCEND_CANN_VERSION"]),
    ("driver", &["ASCEND_DRIVER_VERSION", "NPU_DRIVER_VERSION", "DRIVER_VERSION"]),
    ("python", &["PYTHON_VERSION"]),
    ("image", &["IMAGE_DIGEST", "CONTAINER_IMAGE", "CI_JOB_IMAGE"]),
];
/// Variables that hold the folder of the CANN toolkit.
const TOOLKITS: [&str; 2] = ["ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH"];
/// Settings that hold the seed.
const SEEDS: [&str; 4] = ["seed", "--seed", "random_seed", "train_seed"];
/// Folders of a checkout that hold no sources.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];

/// Facts from the packs of a side. Where several packs disagree, the first in path order counts.
pub fn recorded_facts(inventory: &Inventory) -> BaselineOrigin {
    let mut recorded = BaselineOrigin::default();
    for pack in inventory.artifacts::<Pack>() {
        for (name, version) in packages(pack).chain(parts(pack)) {
            recorded.versions.entry(name).or_insert(version);
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

/// Packages of the pack that decide what a run computes, as `name=version` or `name==version`.
fn packages(pack: &Pack) -> impl Iterator<Item = (String, String)> {
    pack.pip.iter().flatten().flatten().filter_map(|line| {
        let (name, version) = line.split_once('=')?;
        let name = name.trim().to_ascii_lowercase().replace(['_', '.'], "-");
        PACKAGES.contains(&name.as_str()).then(|| (name, version.trim_start_matches('=').trim().to_owned()))
    })
}

/// Parts that no package list holds, where a variable of the image or the job tells their version.
fn parts(pack: &Pack) -> impl Iterator<Item = (String, String)> {
    let told = PARTS.iter().filter_map(|(part, variables)| {
        let value = variables.iter().find_map(|name| pack.variable(name).filter(|value| !value.is_empty()))?;
        Some(((*part).to_owned(), value.to_owned()))
    });
    // The toolkit's folder is named after its version, unless the path goes through the link `latest`.
    let folder = TOOLKITS.iter().find_map(|name| pack.variable(name)).unwrap_or_default();
    let is_version = |part: &str| part.starts_with(|c: char| c.is_ascii_digit()) && part.contains('.');
    let versions = folder.split('/').map(|part| part.trim_start_matches("cann-"));
    let toolkit = versions.filter(move |part| is_version(part)).map(|version| ("cann".to_owned(), version.to_owned()));
    told.chain(toolkit)
}

/// Digests of the files below `root` that fit one of `patterns`.
///
/// # Errors
/// `Usage` where `root` cannot be listed or a file cannot be read.
pub(crate) fn source_digests(root: &Path, patterns: &[Pattern]) -> Result<BTreeMap<String, Digest>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::json::Json;

    #[test]
    fn versions_come_from_packages_variables_and_the_toolkits_folder() {
        let lines = ["torch_npu=2.6.0", "Transformers==4.57.1", "left-pad=1.0", "no version"];
        let pack = |variables: &[(&str, &str)]| Pack {
            pip: Some(Ok(lines.map(str::to_owned).to_vec())),
            env: Some(Ok(variables
                .iter()
                .map(|(name, value)| ((*name).into(), Json::Text((*value).into())))
                .collect())),
            ..Pack::default()
        };
        let of = |variables: &[(&str, &str)]| -> BTreeMap<String, String> {
            let pack = pack(variables);
            let mut all: Vec<_> = packages(&pack).chain(parts(&pack)).collect();
            all.reverse();
            all.into_iter().collect()
        };
        let home = ("ASCEND_TOOLKIT_HOME", "/usr/local/Ascend/ascend-toolkit/8.2.RC1/x86_64-linux");
        let found = of(&[("PYTHON_VERSION", "3.11.13"), home]);
        let expected = [("cann", "8.2.RC1"), ("python", "3.11.13"), ("torch-npu", "2.6.0"), ("transformers", "4.57.1")];
        assert_eq!(found, expected.map(|(name, version)| (name.to_owned(), version.to_owned())).into());
        assert_eq!(of(&[("CANN_VERSION", "8.3"), home])["cann"], "8.3", "what is said goes before what is guessed");
        assert!(!of(&[("ASCEND_HOME_PATH", "/usr/local/Ascend/ascend-toolkit/latest")]).contains_key("cann"));
    }
}
