//! Recognition of dump records by content, and reading of step and rank from the names of their folders.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::folder::{DumpFolder, DumpFormat};
use super::name::OpName;
use super::ptdbg;
use super::tools::{ToolDump, ToolPart};
use crate::error::Error;
use crate::fetch::{Files, MemorySource};
use crate::read::json::{Json, Parser};

/// Names of files with records, to recognise files whose content was lost.
const RECORDS: [&str; 2] = ["dump.json", "debug.json"];
/// Assumed name of the file with records if it is missing.
const LOST: &str = "dump.json";
/// Names of files that are written next to the records.
const PARTS: [&str; 2] = ["construct.json", "stack.json"];

/// Dump whose records are in the file at `path` with the first bytes `head`; `None` if the file holds no records.
///
/// A file with the name and folder of records always counts as a dump, whatever it contains. Reading it then reports the damage.
pub fn recognise(files: &Arc<dyn Files>, path: &str, head: &[u8]) -> Option<DumpFolder> {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let place = Place::of(files.location(), path, folder);
    let is_lost = place.is_dump_folder && tells_of_lost_records(&**files, folder, name);
    let format = if is_lost {
        DumpFormat::Msprobe
    } else if ptdbg::recognise(head) {
        DumpFormat::Ptdbg
    } else {
        let damaged = || RECORDS.contains(&name) && place.is_dump_folder;
        let level = level_of(head).or_else(|| damaged().then(String::new))?;
        let debug = level == "debug" || (level.is_empty() && name == "debug.json");
        if debug { DumpFormat::MsprobeDebug } else { DumpFormat::Msprobe }
    };
    Some(DumpFolder {
        files: files.clone(),
        path: beside(folder, ""),
        records: if is_lost { beside(folder, LOST) } else { path.to_owned() },
        format,
        step: place.step.unwrap_or(0),
        rank: place.rank,
        assembled: None,
        tool_dump: None,
    })
}

/// Dumps of other tools, made of the parts that were found among a side's files.
pub(crate) fn tool_dumps(files: &Arc<dyn Files>, parts: &[ToolPart]) -> Vec<DumpFolder> {
    let folder = |dump: ToolDump| DumpFolder {
        files: files.clone(),
        path: beside(&dump.group, ""),
        records: dump.path().to_owned(),
        format: DumpFormat::OtherTool(dump.tool),
        step: dump.step,
        rank: dump.rank,
        assembled: None,
        tool_dump: Some(Arc::new(dump)),
    };
    ToolDump::from_parts(files, parts).into_iter().map(folder).collect()
}

/// Whether the file `name` in a dump's folder stands for records that are lost. Call stacks and the module tree are only written
/// together with records.
fn tells_of_lost_records(files: &dyn Files, folder: &str, name: &str) -> bool {
    let has_records = RECORDS.iter().any(|records| is_listed(files, folder, records));
    let first = PARTS.iter().find(|part| is_listed(files, folder, part));
    !has_records && first == Some(&name)
}

fn is_listed(files: &dyn Files, folder: &str, name: &str) -> bool {
    let path = beside(folder, name);
    files.list().binary_search_by(|entry| entry.path.as_str().cmp(&path)).is_ok()
}

fn beside(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Folders with the values of ptdbg dumps. Each has the name of a `.pkl` file next to it.
pub(crate) fn data_folders(files: &dyn Files) -> BTreeSet<String> {
    files.list().iter().filter_map(|entry| entry.path.strip_suffix(".pkl").map(str::to_owned)).collect()
}

/// Whether the file at `path` holds call stacks or the module tree of records next to it.
pub(crate) fn is_part_of_dump(files: &dyn Files, path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let others = || RECORDS.iter().chain(&PARTS).filter(|other| **other != name);
    PARTS.contains(&name) && others().any(|other| is_listed(files, folder, other))
}

/// Step and rank of a dump, from the names of its folders.
#[derive(Debug, Default, PartialEq, Eq)]
struct Place {
    step: Option<u64>,
    rank: Option<u64>,
    /// Whether the nearest folders have the names of a dump's folders.
    is_dump_folder: bool,
}

impl Place {
    /// Reads the folders below the root, nearest first. If the root itself is a folder of a dump, its name counts too.
    fn of(location: &str, path: &str, folder: &str) -> Self {
        let mut place = Self::default();
        let mut rank_seen = false;
        let location = if location.ends_with(path) && location != path {
            location.get(..location.len() - path.len()).unwrap_or_default()
        } else {
            location
        };
        let root = location.trim_end_matches('/').rsplit('/').map(folder_kind);
        let below = folder.split('/').rev().filter(|name| !name.is_empty()).map(folder_kind);
        for kind in below.chain(root.take_while(|kind| *kind != Folder::Other)) {
            match kind {
                Folder::Step(step) => place.step = place.step.or(Some(step)),
                Folder::Rank(rank) if !rank_seen => (place.rank, rank_seen) = (rank, true),
                Folder::Rank(_) | Folder::Other => continue,
            }
            place.is_dump_folder = true;
        }
        place
    }
}

/// Meaning of a folder's name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folder {
    Step(u64),
    /// `rank<N>`, or `rank` and `proc<pid>`, which have no number.
    Rank(Option<u64>),
    Other,
}

fn folder_kind(name: &str) -> Folder {
    let number = |prefix| name.strip_prefix(prefix).filter(|digits: &&str| digits.bytes().all(|b| b.is_ascii_digit()));
    if let Some(Ok(step)) = number("step").map(str::parse) {
        return Folder::Step(step);
    }
    if let Some(digits) = number("rank") {
        return Folder::Rank(digits.parse().ok());
    }
    match number("proc") {
        Some(digits) if !digits.is_empty() => Folder::Rank(None),
        _ => Folder::Other,
    }
}

/// Level of msprobe records that begin with `head`, empty if it is not recorded; `None` if these are not records.
///
/// Records are an object that has `task` or `level` and then `data`, or that starts with `data` holding operation names.
/// If the head ends before `data`, both `task` and `level` must be present.
fn level_of(head: &[u8]) -> Option<String> {
    let start = head.iter().position(|byte| !byte.is_ascii_whitespace())?;
    if head.get(start) != Some(&b'{') {
        return None;
    }
    let source = MemorySource::new("", head.to_vec());
    let (mut task, mut level, mut data) = (None, None, None);
    // The head is only a part of a document, so an error at its end is expected.
    let _cut = Parser::new(&source).object(|key, parser| {
        match key.as_str() {
            "task" => task = text(parser.value()?),
            "level" => level = text(parser.value()?),
            "data" => {
                data = Some(false);
                parser.object(|name, _| {
                    data = Some(OpName::parse(&name).direction.is_some());
                    Err(seen_enough())
                })?;
                return Err(seen_enough());
            }
            _ => drop(parser.value()?),
        }
        Ok(())
    });
    let known = task.is_some() || level.is_some();
    let records = match data {
        Some(operations) => known || operations,
        None => task.is_some() && level.is_some(),
    };
    records.then(|| level.unwrap_or_default())
}

fn text(value: Json) -> Option<String> {
    if let Json::Text(text) = value { Some(text) } else { None }
}

/// Error that ends the parsing early.
fn seen_enough() -> Error {
    Error::corrupt("", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_known_by_their_first_keys() {
        for (head, level) in [
            (r#"{"task": "statistics", "level": "L1", "framework": "pytorch", "data": {"#, Some("L1")),
            (r#"{"task": "tensor", "level": "debug", "dump_data_dir": "/x/y", "da"#, Some("debug")),
            (r#"{"data": {"Functional.linear.0.forward": {"input_args": ["#, Some("")),
            (r#"{"task": "tensor", "data": {}}"#, Some("")),
            (r#"{"data": {"loss": [1, 2"#, None),
            (r#"{"data": {}}"#, None),
            (r#"{"log_history": [{"loss": 1.0}]}"#, None),
            (r#"{"task": "tensor"}"#, None),
            (r#"[1, 2]"#, None),
            ("", None),
        ] {
            assert_eq!(level_of(head.as_bytes()).as_deref(), level, "{head}");
        }
    }

    #[test]
    fn step_and_rank_come_from_the_nearest_folders() {
        for (location, path, step, rank) in [
            ("runs/gpu", "step3/rank2/dump.json", Some(3), Some(2)),
            ("runs/gpu", "step3/proc123/dump.json", Some(3), None),
            ("runs/gpu/step5", "rank0/dump.json", Some(5), Some(0)),
            ("runs/gpu/step5/rank1", "dump.json", Some(5), Some(1)),
            ("runs/gpu/step5/rank1/dump.json", "dump.json", Some(5), Some(1)),
            ("rank7/gpu", "step0/proc9/dump.json", Some(0), None),
            ("x", "a/step1/b/step2/rank/dump.json", Some(2), None),
            ("x", "pynative/step1/rank4/dump.json", Some(1), Some(4)),
            ("x", "dump.json", None, None),
        ] {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let place = Place::of(location, path, folder);
            assert_eq!((place.step, place.rank), (step, rank), "{location} {path}");
        }
    }
}
