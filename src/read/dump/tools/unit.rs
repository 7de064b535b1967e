//! One step and rank of a tool's dump: the grouping of its files, and their reading.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use super::part::{ToolFile, ToolPart, ToolTables};
use super::tensors::{self, TensorPlace};
use super::{table, trace};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Files, Source};
use crate::kind::TensorKind;
use crate::read::dump::builder::Builder;
use crate::read::dump::content::{DamageKind, Dump};
use crate::read::dump::tool::Tool;
use crate::read::tensor::TensorData;

/// One step and rank of a tool's dump.
pub struct ToolDump {
    /// The tool.
    pub tool: Tool,
    /// Folder of the dump, without the folders of step and rank.
    pub group: String,
    /// The step.
    pub step: u64,
    /// The rank.
    pub rank: Option<u64>,
    files: Arc<dyn Files>,
    parts: Vec<ToolFile>,
    tables: Option<Arc<ToolTables>>,
    /// Places of the tensors by row name; known once the dump was read.
    places: OnceLock<HashMap<String, TensorPlace>>,
}

type Key = (Tool, String, u64, Option<u64>);

/// Sorts files by the order of execution if the tool records it, else by their paths, comparing numbers by value. A tree with
/// statistics only is dropped if the tree with all elements exists too.
fn in_order(mut parts: Vec<ToolFile>) -> Vec<ToolFile> {
    let paths: BTreeSet<String> = parts.iter().map(|part| part.path.clone()).collect();
    parts.retain(|part| {
        part.tool != Tool::Trace || trace::full_tree_path(&part.path).is_none_or(|fuller| !paths.contains(&fuller))
    });
    let key = |part: &ToolFile| part.order.unwrap_or(u64::MAX);
    parts.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| natural(&a.path, &b.path)));
    parts
}

/// Compares names so that runs of digits count as numbers.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    while let (Some(one), Some(other)) = (left.first(), right.first()) {
        if one.is_ascii_digit() && other.is_ascii_digit() {
            let (first, second) = (digits(&mut left), digits(&mut right));
            match first.len().cmp(&second.len()).then_with(|| first.cmp(second)) {
                Ordering::Equal => continue,
                order => return order,
            }
        }
        if one != other {
            return one.cmp(other);
        }
        (left, right) = (left.get(1..).unwrap_or_default(), right.get(1..).unwrap_or_default());
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// Removes the digits at the start of a text and returns them without leading zeros.
fn digits<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (taken, rest) = text.split_at(count);
    *text = rest;
    let zeros = taken.iter().take_while(|digit| **digit == b'0').count();
    taken.get(zeros..).unwrap_or_default()
}

impl ToolDump {
    /// Groups the parts found on a side by step and rank, in order.
    pub(crate) fn from_parts(files: &Arc<dyn Files>, parts: &[ToolPart]) -> Vec<Self> {
        let mut units: BTreeMap<Key, Vec<ToolFile>> = BTreeMap::new();
        let mut found = Vec::new();
        for part in parts {
            match part {
                ToolPart::File(file) => {
                    units.entry((file.tool, file.group.clone(), file.step, file.rank)).or_default().push(file.clone());
                }
                ToolPart::Table(tables) => {
                    let unit = |(step, rank): &(u64, Option<u64>)| {
                        let key = (tables.tool, tables.group.clone(), *step, *rank);
                        Self::new(files, key, Vec::new(), Some(tables.clone()))
                    };
                    found.extend(tables.units.keys().map(unit));
                }
            }
        }
        found.extend(units.into_iter().map(|(key, parts)| Self::new(files, key, in_order(parts), None)));
        found
    }

    fn new(files: &Arc<dyn Files>, key: Key, parts: Vec<ToolFile>, tables: Option<Arc<ToolTables>>) -> Self {
        let (tool, group, step, rank) = key;
        Self { tool, group, step, rank, files: files.clone(), parts, tables, places: OnceLock::new() }
    }

    /// Path of the file that represents the dump: its table, or the first of its records.
    pub fn path(&self) -> &str {
        let table = self.tables.as_ref().map(|tables| tables.path.as_str());
        table.or_else(|| self.parts.first().map(|part| part.path.as_str())).unwrap_or(&self.group)
    }

    /// Whether the tool records the order of its records.
    fn has_order(&self) -> bool {
        match self.tool {
            Tool::Saved => false,
            Tool::Unknown => self.parts.iter().all(|part| part.order.is_some() || part.name.is_none()),
            _ => true,
        }
    }

    /// Reads the records. A damaged file among many is recorded as damage of the dump.
    ///
    /// # Errors
    /// If a tree cannot be read.
    pub fn read(&self) -> Result<Dump> {
        let mut dump =
            Dump { task: "statistics".into(), framework: "pytorch".into(), tool: Some(self.tool), ..Dump::default() };
        dump.is_unordered = !self.has_order();
        let mut builder = Builder::default();
        if let Some(tables) = &self.tables {
            builder.set_precision(tables.precision);
            let rows = tables.units.get(&(self.step, self.rank)).map_or(&[][..], Vec::as_slice);
            table::add_rows(rows, &mut builder);
            if let Some((reason, _)) = &tables.damage {
                dump.note_damage(DamageKind::Record, &tables.path, reason.as_str());
            }
        } else if self.tool == Tool::Trace {
            let mut all = Vec::new();
            for part in &self.parts {
                let (rows, precision) = trace::read(&part.path, &self.files.open(&part.path)?)?;
                builder.set_precision(precision);
                all.extend(rows);
            }
            table::add_rows(&all, &mut builder);
        } else {
            dump.task = "tensor".into();
            let kind = if dump.is_unordered { TensorKind::Output } else { TensorKind::Value };
            let places = tensors::read(self.files.as_ref(), &self.parts, kind, &mut builder, &mut dump);
            // Reading the dump again gives the same places.
            let _known = self.places.set(places);
        }
        dump.operations = builder.finish();
        Ok(dump)
    }

    fn place(&self, row: &str) -> Result<&TensorPlace> {
        let places = match self.places.get() {
            Some(places) => places,
            None => {
                self.read()?;
                self.places.get_or_init(HashMap::new)
            }
        };
        let missing = || Error::new(ErrorKind::NotFound, self.path(), format!("no tensor of `{row}`"));
        places.get(row).ok_or_else(missing)
    }

    /// Path of the file that holds a row's tensor, followed by `:` and the row name.
    pub(crate) fn tensor_path(&self, row: &str) -> String {
        self.place(row).map_or_else(|_| row.to_owned(), |place| format!("{}:{row}", place.path()))
    }

    /// Opens the file that holds a row's tensor.
    ///
    /// # Errors
    /// `NotFound` for a row without a tensor, else errors of opening the file.
    pub fn open(&self, row: &str) -> Result<Source> {
        self.files.open(self.place(row)?.path())
    }

    /// Reads the tensor of a row from the file that [`open`](Self::open) returned.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and `Corrupt` if the file no longer holds the tensor.
    pub fn tensor(&self, row: &str, source: Source) -> Result<TensorData> {
        tensors::tensor(self.place(row)?, source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["layers.10.a", "layers.2.b", "layers.2.a", "layers.02.c", "x"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["layers.2.a", "layers.2.b", "layers.02.c", "layers.10.a", "x"]);
    }
}
