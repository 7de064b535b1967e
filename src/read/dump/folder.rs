//! The folder of a dump: where the files of one step and rank lie, and reading them.

use std::sync::Arc;

use super::content::{DamageKind, Dump};
use super::shard::Shard;
use super::tool::Tool;
use super::tools::ToolDump;
use super::{msprobe, ptdbg, stack};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Files, RoomAhead, Source};
use crate::read::json::Json;
use crate::read::tensor::TensorData;
use crate::read::tensor_file;

/// Place of one step and rank of a dump.
#[derive(Clone)]
pub struct DumpFolder {
    /// The side's files.
    pub files: Arc<dyn Files>,
    /// Folder of the dump below the side's root, `/`-terminated, or empty.
    pub path: String,
    /// The file with the records, below the side's root.
    pub records: String,
    /// The format of that file.
    pub format: DumpFormat,
    /// The step, from the nearest `step<N>` folder; 0 where there is none.
    pub step: u64,
    /// The rank, from a `rank<N>` folder; `None` for `proc<pid>`, `rank`, or neither.
    pub rank: Option<u64>,
    /// The ranks that are put together, where this stands for the whole model.
    pub assembled: Option<Arc<dyn WholeModel>>,
    /// The records of another tool than msprobe.
    pub of_tool: Option<Arc<ToolDump>>,
}

/// Several ranks that are put together to the values of the whole model.
pub trait WholeModel: Send + Sync {
    /// Reads the dumps of all ranks and puts them together.
    ///
    /// # Errors
    /// Those of the first rank that cannot be read.
    fn read(&self) -> Result<Dump>;

    /// Opens the elements of a value by the name of its file, once the records were read.
    ///
    /// # Errors
    /// Those of the first file of a rank that cannot be opened; `Corrupt` for a value without elements.
    fn tensor(&self, data_name: &str) -> Result<TensorData>;

    /// The part of each rank in the elements of a row; none where it is not known, or one rank holds all of it.
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
    Of(Tool),
}

impl DumpFolder {
    /// Reads the records, with stacks and module tree where they lie beside them.
    ///
    /// A damaged stack or tree file is a note of the dump; damaged records are an error.
    pub fn read(&self) -> Result<Dump> {
        if let Some(assembled) = &self.assembled {
            return assembled.read();
        }
        if let Some(tool) = &self.of_tool {
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

    /// The records of operations as they are written, in the order of `names`; `None` for a name that is not there. One
    /// record is in memory at a time, beside those that were found.
    ///
    /// # Errors
    /// `Unsupported` for ptdbg_ascend, which writes rows in place of records; else as [`read`](Self::read).
    pub fn records_of(&self, names: &[&str]) -> Result<Vec<Option<Json>>> {
        if self.assembled.is_some() {
            return Err(Error::unsupported(&self.records, "it is put together of several ranks"));
        }
        if let DumpFormat::Of(tool) = self.format {
            return Err(Error::unsupported(&self.records, format!("{} records no arguments of calls", tool.as_str())));
        }
        if self.format == DumpFormat::Ptdbg {
            return Err(Error::unsupported(&self.records, "ptdbg_ascend records no arguments of calls"));
        }
        msprobe::records(self.files.open(&self.records)?.as_ref(), names)
    }

    /// Opens a tensor that was saved.
    ///
    /// # Errors
    /// Those of [`open_tensor`](Self::open_tensor), and those of a file that holds no tensor.
    pub fn tensor(&self, data_name: &str) -> Result<TensorData> {
        match &self.assembled {
            Some(assembled) => assembled.tensor(data_name),
            None => self.tensor_of(data_name, self.open_tensor(data_name)?),
        }
    }

    /// The part of each rank in the saved tensor of a row of the whole model; none where one rank holds all of it.
    pub fn shards(&self, row: &str) -> Vec<Shard> {
        self.assembled.as_ref().map(|assembled| assembled.shards(row)).unwrap_or_default()
    }

    /// Opens the file of a tensor that was saved.
    ///
    /// A name that leads out of the data folder is refused: it comes from the artifact.
    pub fn open_tensor(&self, data_name: &str) -> Result<Source> {
        if let Some(tool) = &self.of_tool {
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

    /// The tensor that was saved under `data_name`, in the file that [`open_tensor`](Self::open_tensor) gave.
    ///
    /// # Errors
    /// As [`tensor_file::open`].
    pub fn tensor_of(&self, data_name: &str, source: Source) -> Result<TensorData> {
        match &self.of_tool {
            Some(tool) => tool.tensor(data_name, source),
            None => tensor_file::open(source),
        }
    }

    /// Name of the tool that recorded it, where that is not msprobe.
    pub fn tool(&self) -> Option<&'static str> {
        if let DumpFormat::Of(tool) = self.format { Some(tool.as_str()) } else { None }
    }

    /// Room for tensors that are asked for before they are read.
    pub fn room_ahead(&self) -> RoomAhead {
        // The files of a tensor that is put together are those of its ranks.
        if self.assembled.is_some() { RoomAhead::default() } else { self.files.room_ahead() }
    }

    /// The layer of a dump with mixed dynamic and static graphs (`pynative`, `graph`); empty elsewhere.
    pub fn layer(&self) -> &str {
        self.path.split('/').find(|folder| matches!(*folder, "pynative" | "graph")).unwrap_or_default()
    }

    /// Path of a saved tensor's file below the side's root.
    pub fn data_path(&self, data_name: &str) -> String {
        if let Some(tool) = &self.of_tool {
            return tool.path_of(data_name);
        }
        match self.format {
            DumpFormat::Ptdbg => format!("{}/{data_name}", self.records.trim_end_matches(".pkl")),
            _ => format!("{}dump_tensor_data/{data_name}", self.path),
        }
    }

    fn side_file(&self, dump: &mut Dump, name: &str, error: &Error) {
        dump.damaged(DamageKind::SideFile, &format!("{}{name}", self.path), error.message());
    }

    fn open_beside(&self, name: &str) -> Option<Result<Source>> {
        let path = format!("{}{name}", self.path);
        self.has(&path).then(|| self.files.open(&path))
    }

    /// Whether a file is there. Beside a records file that was given alone, files are not listed but can be opened.
    fn has(&self, path: &str) -> bool {
        match self.files.list() {
            [alone] if alone.path == self.records => self.files.open(path).is_ok(),
            entries => entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).is_ok(),
        }
    }
}
