//! Folders of commits, made of the files that a test puts there.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Commit and path to text.
pub(crate) type Texts = BTreeMap<(String, String), String>;

/// An entry of a folder.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    pub(crate) mode: &'static str,
}

/// Every folder of a commit below its root.
pub(crate) fn folders(files: &Texts, commit: &str) -> BTreeSet<String> {
    let paths = files.keys().filter(|(of, _)| of == commit).map(|(_, path)| path);
    let parents = |path: &String| {
        let parts: Vec<&str> = path.split('/').collect();
        (1..parts.len()).map(|len| parts[..len].join("/")).collect::<Vec<_>>()
    };
    paths.flat_map(parents).collect()
}

/// The digest of a folder's content, the same for the same content.
pub(crate) fn digest(files: &Texts, commit: &str, folder: &str) -> String {
    let below = format!("{folder}/");
    let inside: Vec<(&str, &String)> = files
        .iter()
        .filter(|((of, _), _)| of == commit)
        .filter_map(|((_, path), text)| Some((path.strip_prefix(&below)?, text)))
        .collect();
    hash(&inside)
}

/// The entries of a folder.
pub(crate) fn entries(files: &Texts, commit: &str, folder: &str) -> Vec<Entry> {
    let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
    for ((_, path), text) in files.iter().filter(|((of, _), _)| of == commit) {
        let Some(rest) = path.strip_prefix(&below) else { continue };
        let entry = match rest.split_once('/') {
            Some((name, _)) => Entry {
                name: name.to_owned(),
                id: digest(files, commit, &format!("{below}{name}")),
                kind: "tree",
                mode: "040000",
            },
            None => Entry {
                name: rest.to_owned(),
                id: hash(text),
                kind: "blob",
                mode: if text.starts_with("link:") { "120000" } else { "100644" },
            },
        };
        entries.insert(entry.name.clone(), entry);
    }
    entries.into_values().collect()
}

fn hash(value: &(impl Hash + ?Sized)) -> String {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    format!("{:040x}", hasher.finish())
}
