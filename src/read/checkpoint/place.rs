//! Places of checkpoints: one file, shards with an index, or a folder of a run's ranks.

use std::collections::BTreeMap;

/// Place of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointPlace {
    /// Path of the file, the index, or the folder of the ranks' files, relative to the side's root.
    pub path: String,
    /// Files with tensors, each with the tensor names that the index gives for it; no names without an index.
    pub shards: BTreeMap<String, Vec<String>>,
    /// Format of the folder.
    pub format: CheckpointFormat,
}

/// Format of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckpointFormat {
    /// Whole tensors in one file, or in shards with an index.
    Whole,
    /// Folders `mp_rank_TT` of Megatron.
    Megatron,
    /// A distributed checkpoint of torch: `.metadata` and `.distcp`.
    Dcp,
    /// Partitions of the optimizer of DeepSpeed, ZeRO 1 to 3.
    Zero,
    /// A file for each rank with its parts of tensors, as trainers on FSDP write them.
    Fsdp,
}

impl CheckpointPlace {
    /// Creates the place of a checkpoint in one file.
    pub(crate) fn from_file(path: String) -> Self {
        Self { shards: BTreeMap::from([(path.clone(), Vec::new())]), path, format: CheckpointFormat::Whole }
    }

    /// Creates the place of one rank's file, of a checkpoint that is cut over ranks.
    pub(crate) fn from_rank_file(path: String) -> Self {
        Self { format: CheckpointFormat::Fsdp, ..Self::from_file(path) }
    }

    /// Creates the place of the checkpoint that the index at `path` describes.
    pub(crate) fn from_index(path: String, shards: BTreeMap<String, Vec<String>>) -> Self {
        let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let shards = shards.into_iter().map(|(file, names)| (format!("{folder}{file}"), names)).collect();
        Self { path, shards, format: CheckpointFormat::Whole }
    }

    /// Creates the place of the checkpoint whose ranks' files are in `folder`, which is empty for the side's root.
    pub(super) fn folder_of_ranks(folder: &str, format: CheckpointFormat) -> Self {
        let root = match format {
            CheckpointFormat::Whole | CheckpointFormat::Megatron | CheckpointFormat::Fsdp => "mp_rank_*",
            CheckpointFormat::Dcp => ".metadata",
            CheckpointFormat::Zero => "zero_pp_rank_*",
        };
        let path = if folder.is_empty() { root } else { folder };
        Self { path: path.to_owned(), shards: BTreeMap::new(), format }
    }

    /// Folder of the files, with a `/` at its end; empty for the side's root.
    pub fn folder(&self) -> String {
        let above = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
        let file = self.shards.keys().next().map_or("", String::as_str);
        let folder = match self.format {
            CheckpointFormat::Whole => above(&self.path),
            CheckpointFormat::Dcp | CheckpointFormat::Zero | CheckpointFormat::Fsdp => above(file),
            CheckpointFormat::Megatron => above(&above(file)),
        };
        if folder.is_empty() { folder } else { format!("{folder}/") }
    }
}
