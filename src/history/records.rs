//! Lists, reads, writes and removes the records in a place.

use std::sync::Arc;

use rayon::prelude::*;

use super::record::{LARGEST, Record, RecordEntry};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Files, Writable, read_all};
use crate::result::history::Suite;

/// A place with records.
pub struct RecordStore<'a> {
    place: Box<dyn Writable + 'a>,
}

/// The records that lie in a place, not read yet.
pub struct RecordListing {
    files: Arc<dyn Files>,
    /// Folder that the paths of `files` are relative to.
    folder: String,
    /// Entries, sorted by suite, then time.
    entries: Vec<RecordEntry>,
}

/// Records that were read.
#[derive(Debug, Default)]
pub struct ReadRecords {
    /// Records that could be read, in the order of their entries.
    pub records: Vec<Record>,
    /// Errors of the records that could not be read.
    pub damaged: Vec<Error>,
}

impl<'a> RecordStore<'a> {
    /// The records in `place`.
    pub fn new(place: Box<dyn Writable + 'a>) -> Self {
        Self { place }
    }

    /// The records of one suite, or of all. Files that are not records are left out.
    ///
    /// # Errors
    /// `NotFound` where there is no such place or suite, and whatever else keeps it from being listed.
    pub fn list(&self, suite: Option<&Suite>) -> Result<RecordListing> {
        let folder = suite.map(|suite| format!("{suite}/")).unwrap_or_default();
        let files = self.place.files(folder.trim_end_matches('/'))?;
        let of_file = |file: &crate::fetch::FileEntry| RecordEntry::from_path(&format!("{folder}{}", file.path));
        let mut entries: Vec<RecordEntry> = files.list().iter().filter_map(of_file).collect();
        entries.sort();
        Ok(RecordListing { files, folder, entries })
    }

    /// [`list`](Self::list), where a place or suite that is not there yet has no records.
    ///
    /// # Errors
    /// Whatever else keeps the place from being listed.
    pub fn list_or_none(&self, suite: &Suite) -> Result<Option<RecordListing>> {
        match self.list(Some(suite)) {
            Ok(listing) => Ok(Some(listing)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a record and returns its path. An existing record of that name has the same content, and stays.
    ///
    /// # Errors
    /// Where the place cannot be written.
    pub fn write(&self, record: &Record) -> Result<String> {
        let (path, bytes) = record.encode()?;
        self.place.put(&path, &bytes)?;
        Ok(path)
    }

    /// Removes records; one that is gone already is not an error.
    ///
    /// # Errors
    /// Where the place cannot be written.
    pub fn remove(&self, entries: &[RecordEntry]) -> Result<()> {
        let paths: Vec<String> = entries.iter().map(|entry| entry.path.clone()).collect();
        if paths.is_empty() { Ok(()) } else { self.place.remove(&paths) }
    }
}

impl RecordListing {
    /// The entries, by suite, then time.
    pub fn entries(&self) -> &[RecordEntry] {
        &self.entries
    }

    /// Keeps the entries for which `fits` is true.
    pub fn retain(&mut self, fits: impl FnMut(&RecordEntry) -> bool) {
        self.entries.retain(fits);
    }

    /// Keeps the latest `most` entries of each suite.
    pub fn keep_latest(&mut self, most: usize) {
        let mut left: Vec<RecordEntry> = Vec::new();
        for of_suite in self.entries.chunk_by(|a, b| a.suite == b.suite) {
            left.extend_from_slice(of_suite.get(of_suite.len().saturating_sub(most)..).unwrap_or_default());
        }
        self.entries = left;
    }

    /// Reads all entries. Damaged records do not keep the others from being read.
    pub fn read(&self) -> ReadRecords {
        let one = |entry: &RecordEntry| {
            let path = entry.path.strip_prefix(&self.folder).unwrap_or(&entry.path);
            let named = |error: Error| match error.help() {
                Some(help) => Error::new(error.kind(), &entry.path, error.message()).with_help(help),
                None => Error::new(error.kind(), &entry.path, error.message()),
            };
            let bytes = self.files.open(path).and_then(|source| read_all(source.as_ref(), LARGEST)).map_err(named)?;
            Record::decode(&entry.path, &bytes)
        };
        let outcomes: Vec<Result<Record>> = self.entries.par_iter().map(one).collect();
        let mut reading = ReadRecords::default();
        for outcome in outcomes {
            match outcome {
                Ok(record) => reading.records.push(record),
                Err(error) => reading.damaged.push(error),
            }
        }
        reading
    }
}
