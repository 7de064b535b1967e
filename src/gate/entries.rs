//! A folder with one run in each entry, a file or a folder.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Result;
use crate::fetch::{FileEntry, Files, ReadAheadRoom, Source};

/// The entries of a folder by name, each as files of its own.
pub(super) fn entries(files: &Arc<dyn Files>) -> Vec<(String, Arc<dyn Files>)> {
    let mut found: BTreeMap<String, Entry> = BTreeMap::new();
    for FileEntry { path, len } in files.list() {
        let (name, rest) = path.split_once('/').unwrap_or((path, path));
        let entry = found.entry(name.to_owned()).or_insert_with(|| Entry {
            files: files.clone(),
            location: format!("{}/{name}", files.location().trim_end_matches('/')),
            prefix: if rest.len() == path.len() { String::new() } else { format!("{name}/") },
            list: Vec::new(),
        });
        entry.list.push(FileEntry { path: rest.to_owned(), len: *len });
    }
    found.into_iter().map(|(name, entry)| (name, Arc::new(entry) as Arc<dyn Files>)).collect()
}

/// One entry of a folder.
struct Entry {
    files: Arc<dyn Files>,
    location: String,
    prefix: String,
    list: Vec<FileEntry>,
}

impl Files for Entry {
    fn location(&self) -> &str {
        &self.location
    }

    fn list(&self) -> &[FileEntry] {
        &self.list
    }

    fn open(&self, path: &str) -> Result<Source> {
        self.files.open(&format!("{}{path}", self.prefix))
    }

    fn read_ahead_room(&self) -> ReadAheadRoom {
        self.files.read_ahead_room()
    }
}
