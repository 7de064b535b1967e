//! Recognisers: each check's rule for its own files, and what it keeps of them.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use super::digest::Extent;
use crate::error::{Error, Result};
use crate::fetch::{Files, Room, Source};
use crate::read::curve::log::LogPattern;
use crate::verdict::CheckId;

/// A check's recogniser.
#[derive(Clone, Copy)]
pub struct Recogniser {
    /// The check.
    pub check: CheckId,
    /// Evidence that it recognises a file by; recognisers with surer evidence are asked first.
    pub evidence: RecognitionEvidence,
    /// Extent of its files that the digest of a side covers.
    pub extent: Extent,
    /// Looks at a file; `None` where it is not the check's.
    pub recognise: fn(&FileSample<'_>) -> Option<RecognisedFile>,
}

/// Kinds of evidence for recognising a file, the surest first. Recognisers with the same evidence are asked in the order of
/// the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecognitionEvidence {
    /// Name and place beside other files; the file itself may be empty.
    Place,
    /// First bytes.
    Signature,
    /// Form of the lines; other texts may look alike.
    Lines,
}

/// A file as recognisers see it.
pub struct FileSample<'a> {
    /// The side's files.
    pub files: &'a Arc<dyn Files>,
    /// Its path below the side's root.
    pub path: &'a str,
    /// Its bytes.
    pub source: &'a Source,
    /// The first of its bytes.
    pub head: &'a [u8],
    /// Pattern of the user's own log lines, which content alone does not show.
    pub pattern: Option<&'a LogPattern>,
    /// Room for the points of curves.
    pub room: &'a Arc<Room>,
}

/// A file that a recogniser knows.
pub enum RecognisedFile {
    /// File of the check that was read.
    Read {
        /// Kind in the table of artifacts.
        kind: &'static str,
        /// Remark in the table of artifacts; empty for an artifact of its own.
        note: &'static str,
        /// Stores what was read.
        keep: Keep,
    },
    /// File of the check that cannot be read.
    Damaged {
        /// Kind in the table of artifacts.
        kind: &'static str,
        /// Reason.
        error: Error,
    },
    /// File that resembles one of the check's and is something else, with the reason.
    Ignored(String),
}

/// Stores an artifact among those of its side.
pub type Keep = Box<dyn FnOnce(&mut Artifacts) + Send>;

impl RecognisedFile {
    /// An artifact of the check.
    pub fn read<T: Any + Send + Sync>(kind: &'static str, artifact: T) -> Self {
        Self::Read { kind, note: "", keep: Box::new(move |artifacts| artifacts.push(artifact)) }
    }

    /// Several artifacts of the check in one file.
    pub(crate) fn read_several<T: Any + Send + Sync>(kind: &'static str, artifacts: Vec<T>) -> Self {
        let keep = |kept: &mut Artifacts| artifacts.into_iter().for_each(|artifact| kept.push(artifact));
        Self::Read { kind, note: "", keep: Box::new(keep) }
    }

    /// A file that is opened through another one, as `note` says.
    pub fn part(kind: &'static str, note: &'static str) -> Self {
        Self::Read { kind, note, keep: Box::new(|_| {}) }
    }

    /// An artifact of the check, or a damaged file with its error.
    pub fn from_result<T: Any + Send + Sync>(kind: &'static str, read: Result<T>) -> Self {
        match read {
            Ok(artifact) => Self::read(kind, artifact),
            Err(error) => Self::Damaged { kind, error },
        }
    }
}

/// Artifacts that were read, by their type.
#[derive(Default)]
pub struct Artifacts(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl Artifacts {
    /// Adds an artifact after the others of its type.
    pub fn push<T: Any + Send + Sync>(&mut self, artifact: T) {
        let all = self.0.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(Vec::<T>::new()));
        if let Some(all) = all.downcast_mut::<Vec<T>>() {
            all.push(artifact);
        }
    }

    /// All of a type, in the order of the side's files.
    pub fn all<T: Any>(&self) -> &[T] {
        let all = self.0.get(&TypeId::of::<T>()).and_then(|all| all.downcast_ref::<Vec<T>>());
        all.map_or(&[], Vec::as_slice)
    }
}
