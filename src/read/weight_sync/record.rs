//! Records of a synchronisation, whatever they were read from.

/// Advice for a file that cannot be read whole.
pub(super) const WHOLE: &str = "give the whole file, as the synchronisation wrote it";

/// A stage on the way of a weight, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Weights as they lie on disk.
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
    /// Its path below the side's root.
    pub path: String,
    /// Its kind.
    pub kind: SyncFileKind,
}

/// Kind of a file of a synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncFileKind {
    /// Named tensors: pairs in a list, or a dictionary.
    Tensors,
    /// Digests of tensors.
    Manifest,
    /// Pointers of parameters before and after.
    Pointers,
}

/// Everything that a side recorded of its synchronisations.
#[derive(Debug, Default)]
pub struct SyncRecords {
    /// Stages.
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
    pub stage: Stage,
    /// Step of the training, or version of the weights.
    pub step: u64,
    /// Rank that wrote it; `None` where nothing says.
    pub rank: Option<u64>,
    /// Its tensors.
    pub tensors: SyncTensors,
}

/// Tensors of a stage.
#[derive(Debug)]
pub enum SyncTensors {
    /// In the file itself.
    File,
    /// By their digests alone.
    Digests(Vec<TensorDigest>),
}

impl SyncRecord {
    /// The digests, where it holds nothing else.
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
    /// Element type as it is written; `None` where it is not.
    pub dtype: Option<String>,
    /// Shape; `None` where it is not written.
    pub shape: Option<Vec<u64>>,
    /// Kind of the digest.
    pub kind: DigestKind,
    /// The digest, in small letters.
    pub value: String,
}

/// Kind of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DigestKind {
    /// SHA-256.
    Sha256,
    /// MD5.
    Md5,
    /// A hash of another kind, which both ends have to share.
    Hash,
}

impl DigestKind {
    /// Key that it stands under.
    pub fn key(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Md5 => "md5",
            Self::Hash => "hash",
        }
    }

    /// Hexadecimal digits of it; `None` where the kind does not tell.
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
    /// Rank that wrote it; `None` where nothing says.
    pub rank: Option<u64>,
    /// Its parameters.
    pub rows: Vec<PointerRow>,
}

/// One parameter of a report of pointers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointerRow {
    /// Its name.
    pub name: String,
    /// Whether it was replaced: the pointer moved, and the report does not say otherwise.
    pub is_synced: bool,
}

/// Part of a file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncDamage {
    /// The file.
    pub path: String,
    /// Reason.
    pub reason: String,
    /// Step to take.
    pub help: &'static str,
    /// Number of places that are lost, as far as it is known.
    pub count: u64,
}
