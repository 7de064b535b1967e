//! The folder of a dump of one step and rank, and the reading of its files.

use std::sync::Arc;

use rayon::prelude::*;

use super::content::{DamageKind, Dump};
use super::shard::Shard;
use super::tool::Tool;
use super::tools::ToolDump;
use super::{msprobe, ptdbg, stack};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Files, ReadAheadRoom, Source};
use crate::read::json::Json;
use crate::read::tensor::TensorData;
use crate::read::tensor_file;

/// Folder and files of a dump of one step and rank.
#[derive(Clone)]
pub struct DumpFolder {
    /// The side's files.
    pub files: Arc<dyn Files>,
    /// Folder of the dump, relative to the side's root, with a `/` at its end; empty for the root itself.
    pub path: String,
    /// Path of the file with the records, relative to the side's root.
    pub records: String,
    /// The format of that file.
    pub format: DumpFormat,
    /// Step, from the nearest `step<N>` folder; 0 if there is none.
    pub step: u64,
    /// Rank, from a `rank<N>` folder; `None` for `proc<pid>`, `rank`, or no such folder.
    pub rank: Option<u64>,
    /// Ranks to assemble, if this stands for the whole model.
    pub assembled: Option<Arc<dyn WholeModel>>,
    /// Records of a tool other than msprobe.
    pub tool_dump: Option<Arc<ToolDump>>,
}

/// Several ranks that are assembled into the values of the whole model.
pub trait WholeModel: Send + Sync {
    /// Reads the dumps of all ranks and assembles them.
    ///
    /// # Errors
    /// Those of the first rank that cannot be read.
    fn read(&self) -> Result<Dump>;

    /// Opens the elements of a value by the name of its file. The records must have been read before.
    ///
    /// # Errors
    /// Those of the first file of a rank that cannot be opened; `Corrupt` for a value without elements.
    fn tensor(&self, data_name: &str) -> Result<TensorData>;

    /// Parts of all ranks in the elements of a row; empty if they are not known, or if one rank holds everything.
    fn shards(&self, _row: &str) -> Vec<Shard> {
        Vec::new()
    }
}

/// Formats of dump records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpFormat {
    /// msprobe `dump.json`
    Msprobe,
    /// msprobe `debug.json`
    MsprobeDebug,
    /// ptdbg_ascend line-JSON `.pkl`
    Ptdbg,
    /// Another tool's
    OtherTool(Tool),
}

/// Reads dumps, as many at a time as there are threads, and passes them on in their order.
///
/// # Errors
/// The first error in their order.
pub(crate) fn read_each<'d>(folders: impl Iterator<Item = &'d DumpFolder>, mut take: impl FnMut(Dump)) -> Result<()> {
    let folders: Vec<&DumpFolder> = folders.collect();
    for some in folders.chunks(rayon::current_num_threads()) {
        let read: Vec<Result<Dump>> = some.par_iter().map(|folder| folder.read()).collect();
        read.into_iter().try_for_each(|dump| dump.map(&mut take))?;
    }
    Ok(())
}

impl DumpFolder {
    /// Reads the records, and the stacks and the module tree if their files exist.
    ///
    /// A damaged file of stacks or of the module tree is recorded as damage of the dump; damaged records are an error.
    pub fn read(&self) -> Result<Dump> {
        if let Some(assembled) = &self.assembled {
            return assembled.read();
        }
        if let Some(tool) = &self.tool_dump {
            return tool.read();
        }
        let records = self.files.open(&self.records)?;
        if self.format == DumpFormat::Ptdbg {
            return ptdbg::read(records.as_ref(), |data_name| self.has(&self.data_path(data_name)));
        }
        let mut dump = msprobe::read(records.as_ref())?;
        if let Some(source) = self.open_beside("stack.json") {
            let stacks = source.and_then(|source| stack::stacks(source.as_ref()));
            dump.stacks = stacks.map_err(|error| self.side_file(&mut dump, "stack.json", &error)).ok();
        }
        if let Some(source) = self.open_beside("construct.json") {
            let parents = source.and_then(|source| stack::parents(source.as_ref()));
            dump.parents =
                parents.map_err(|error| self.side_file(&mut dump, "construct.json", &error)).unwrap_or_default();
        }
        Ok(dump)
    }

    /// Records of operations as they are written, in the order of `names`; `None` for a missing name. Apart from the records that
    /// were found, only one record is in memory at a time.
    ///
    /// # Errors
    /// `Unsupported` for ptdbg_ascend, which writes rows instead of records; else those of [`read`](Self::read).
    pub(crate) fn records_of(&self, names: &[&str]) -> Result<Vec<Option<Json>>> {
        if self.assembled.is_some() {
            return Err(Error::unsupported(&self.records, "it is put together of several ranks"));
        }
        if let DumpFormat::OtherTool(tool) = self.format {
            return Err(Error::unsupported(&self.records, format!("{} records no arguments of calls", tool.as_str())));
        }
        if self.format == DumpFormat::Ptdbg {
            return Err(Error::unsupported(&self.records, "ptdbg_ascend records no arguments of calls"));
        }
        msprobe::records(self.files.open(&self.records)?.as_ref(), names)
    }

    /// Opens a saved tensor.
    ///
    /// # Errors
    /// Those of [`open_tensor`](Self::open_tensor), and those of a file that holds no tensor.
    pub fn tensor(&self, data_name: &str) -> Result<TensorData> {
        match &self.assembled {
            Some(assembled) => assembled.tensor(data_name),
            None => self.tensor_in_file(data_name, self.open_tensor(data_name)?),
        }
    }

    /// Parts of all ranks in the saved tensor of a row of the whole model; empty if one rank holds everything.
    pub fn shards(&self, row: &str) -> Vec<Shard> {
        self.assembled.as_ref().map(|assembled| assembled.shards(row)).unwrap_or_default()
    }

    /// Opens the file of a saved tensor.
    ///
    /// A name that leads out of the data folder is an error, because the name comes from the artifact and is not trusted.
    pub fn open_tensor(&self, data_name: &str) -> Result<Source> {
        if let Some(tool) = &self.tool_dump {
            return tool.open(data_name);
        }
        let path = self.data_path(data_name);
        if data_name.is_empty() || data_name.contains(['/', '\\', '\0']) || matches!(data_name, "." | "..") {
            return Err(Error::corrupt(&self.records, format!("`{data_name}` is not a file name in the data folder")));
        }
        if !self.has(&path) {
            let error = Error::new(ErrorKind::NotFound, path, "named in the records, but missing");
            return Err(error.with_help("collect the dump again, or finish its upload"));
        }
        self.files.open(&path)
    }

    /// Reads the tensor saved under `data_name` from the file that [`open_tensor`](Self::open_tensor) returned.
    ///
    /// # Errors
    /// Those of [`tensor_file::open`].
    pub(crate) fn tensor_in_file(&self, data_name: &str, source: Source) -> Result<TensorData> {
        match &self.tool_dump {
            Some(tool) => tool.tensor(data_name, source),
            None => tensor_file::open(source),
        }
    }

    /// Name of the tool that recorded it; `None` for msprobe.
    pub fn tool(&self) -> Option<&'static str> {
        if let DumpFormat::OtherTool(tool) = self.format { Some(tool.as_str()) } else { None }
    }

    /// Number of bytes that may be requested ahead of reading.
    pub(crate) fn room_ahead(&self) -> ReadAheadRoom {
        // An assembled tensor has several files, so nothing is requested ahead.
        if self.assembled.is_some() { ReadAheadRoom::default() } else { self.files.read_ahead_room() }
    }

    /// Execution mode in the path of a dump with mixed dynamic and static graphs (`pynative`, `graph`); empty for other dumps.
    pub fn layer(&self) -> &str {
        self.path.split('/').find(|folder| matches!(*folder, "pynative" | "graph")).unwrap_or_default()
    }

    /// Path of a saved tensor's file, relative to the side's root.
    pub(crate) fn data_path(&self, data_name: &str) -> String {
        if let Some(tool) = &self.tool_dump {
            return tool.tensor_path(data_name);
        }
        match self.format {
            DumpFormat::Ptdbg => format!("{}/{data_name}", self.records.trim_end_matches(".pkl")),
            _ => format!("{}dump_tensor_data/{data_name}", self.path),
        }
    }

    fn side_file(&self, dump: &mut Dump, name: &str, error: &Error) {
        dump.note_damage(DamageKind::SideFile, &format!("{}{name}", self.path), error.message());
    }

    fn open_beside(&self, name: &str) -> Option<Result<Source>> {
        let path = format!("{}{name}", self.path);
        self.has(&path).then(|| self.files.open(&path))
    }

    /// Whether a file exists. If only the file of records was given, other files are not listed but can be opened.
    fn has(&self, path: &str) -> bool {
        match self.files.list() {
            [alone] if alone.path == self.records => self.files.open(path).is_ok(),
            entries => entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).is_ok(),
        }
    }
}
