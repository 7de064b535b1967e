//! Records of a synchronisation of weights, in the same form for all file formats.

/// Advice for a file that cannot be read completely.
pub(super) const WHOLE: &str = "give the whole file, as the synchronisation wrote it";

/// A stage on the way of weights from disk to the engine, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SyncStage {
    /// Weights as stored on disk.
    Original,
    /// Weights as the trainer exports them under the engine's names.
    Exported,
    /// Weights as they leave the trainer.
    Sent,
    /// Weights as the engine holds them.
    Received,
}

/// File of a synchronisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncFile {
    /// Path, relative to the side's root.
    pub path: String,
    /// Kind of the file.
    pub kind: SyncFileKind,
}

/// Kind of a file of a synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncFileKind {
    /// Named tensors: pairs in a list, or a dictionary.
    Tensors,
    /// Digests of tensors.
    Manifest,
    /// Pointers of parameters before and after the synchronisation.
    Pointers,
}

/// Everything that a side recorded of its synchronisations.
#[derive(Debug, Default)]
pub struct SyncRecords {
    /// Records of single stages.
    pub records: Vec<SyncRecord>,
    /// Reports of pointers.
    pub pointers: Vec<PointerReport>,
    /// Parts that cannot be read.
    pub damages: Vec<SyncDamage>,
}

/// One stage of a step and rank.
#[derive(Debug)]
pub struct SyncRecord {
    /// The file.
    pub path: String,
    /// The stage.
    pub stage: SyncStage,
    /// Step of the training, or version of the weights.
    pub step: u64,
    /// Rank that wrote it; `None` if unknown.
    pub rank: Option<u64>,
    /// Tensors of the stage.
    pub tensors: SyncTensors,
}

/// Tensors of a stage.
#[derive(Debug)]
pub enum SyncTensors {
    /// The tensors are in the file itself.
    File,
    /// Only digests of the tensors are recorded.
    Digests(Vec<TensorDigest>),
}

impl SyncRecord {
    /// Digests, if it holds no tensors.
    pub fn digests(&self) -> Option<&[TensorDigest]> {
        match &self.tensors {
            SyncTensors::File => None,
            SyncTensors::Digests(rows) => Some(rows),
        }
    }
}

/// Digest of a tensor's elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorDigest {
    /// Name of the tensor.
    pub name: String,
    /// Element type as written; `None` if it is not recorded.
    pub dtype: Option<String>,
    /// Shape; `None` if it is not recorded.
    pub shape: Option<Vec<u64>>,
    /// Kind of the digest.
    pub kind: DigestKind,
    /// Digest in lower case.
    pub value: String,
}

/// Kind of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DigestKind {
    /// SHA-256.
    Sha256,
    /// MD5.
    Md5,
    /// A hash of another kind, which sender and receiver must share.
    Hash,
}

impl DigestKind {
    /// Key of the digest in a manifest.
    pub fn key(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Md5 => "md5",
            Self::Hash => "hash",
        }
    }

    /// Number of hexadecimal digits; `None` if the kind does not determine it.
    pub(super) fn digits(self) -> Option<usize> {
        match self {
            Self::Sha256 => Some(64),
            Self::Md5 => Some(32),
            Self::Hash => None,
        }
    }
}

/// Report of the pointers of an engine's parameters before and after a synchronisation.
#[derive(Debug)]
pub struct PointerReport {
    /// The file.
    pub path: String,
    /// Step of the training.
    pub step: u64,
    /// Rank that wrote it; `None` if unknown.
    pub rank: Option<u64>,
    /// Parameters of the report.
    pub rows: Vec<PointerRow>,
}

/// One parameter of a report of pointers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointerRow {
    /// Its name.
    pub name: String,
    /// Whether the parameter was replaced: its pointer changed, and the report does not say otherwise.
    pub is_synced: bool,
}

/// Part of a file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncDamage {
    /// The file.
    pub path: String,
    /// Reason.
    pub reason: String,
    /// Advice for the user.
    pub help: &'static str,
    /// Number of lost entries, as far as it is known.
    pub count: u64,
}
