//! Pairs of two layouts that agree, and pieces that bytes choose to be taken away: a rank, a file of one, or a part of such a file
//! that no other holds.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::data::fixture;
use super::places::{places, replaced};
use super::removal::{CHOICE, of_archive, with_header};
use super::tree::{copy, files};

/// Endings of the files that hold values of a rank.
const VALUES: [&str; 6] = ["dump.json", ".pt", ".csv", ".distcp", ".safetensors", ".metadata"];
/// Members of an archive of torch that hold no values: the directory of its tensors needs none of them.
const WITHOUT_VALUES: [&str; 4] = ["version", "byteorder", ".format_version", ".storage_alignment"];

/// A pair of runs that cut the same model differently and compute the same.
pub(crate) struct LayoutPair {
    pub(crate) name: String,
    pub(crate) policy: String,
    folder: TempDir,
}

impl LayoutPair {
    /// Both sides, in a folder that may be changed.
    pub(crate) fn copied(&self) -> TempDir {
        let room = tempfile::tempdir().expect("a folder");
        copy(self.folder.path(), room.path());
        room
    }
}

/// The pairs among the fixtures.
pub(crate) fn pairs() -> Vec<LayoutPair> {
    let mut cases: Vec<PathBuf> =
        fs::read_dir(fixture("layouts")).expect("cases").flatten().map(|entry| entry.path()).collect();
    cases.retain(|case| case.is_dir());
    cases.sort();
    cases.iter().filter_map(|case| pair(case)).collect()
}

fn pair(case: &Path) -> Option<LayoutPair> {
    let spec: Value = serde_json::from_slice(&fs::read(case.join("case.json")).expect("case.json")).expect("JSON");
    if spec["truth"]["benign"] != Value::Bool(true) {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    match File::open(case.join("sides.tar.xz")) {
        Ok(packed) => {
            let packed = lzma_rust2::XzReader::new(BufReader::new(packed), false);
            tar::Archive::new(packed).unpack(folder.path()).expect("unpacked");
        }
        Err(_) => ["gpu", "npu"].iter().for_each(|side| copy(&case.join(side), &folder.path().join(side))),
    }
    let policy = fs::read_to_string(case.join("precision-gate.yml")).unwrap_or_default();
    Some(LayoutPair { name: case.file_name()?.to_string_lossy().into_owned(), policy, folder })
}

/// Takes from one side below `folder` what `choices` say, and says what that was; nothing where a choice fits nothing.
pub(crate) fn take(folder: &Path, choices: &[u8]) -> Vec<String> {
    let Some(side) = choices.first().map(|byte| if byte.is_multiple_of(2) { "npu" } else { "gpu" }) else {
        return Vec::new();
    };
    let side = folder.join(side);
    choices.chunks_exact(CHOICE).filter_map(|choice| piece(&side, choice)).collect()
}

fn piece(side: &Path, choice: &[u8]) -> Option<String> {
    let number =
        |range: std::ops::Range<usize>| choice[range].iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
    let mut there = files(side);
    // Values that were saved beside a dump's records are read where their elements are put together: of copies one is.
    there.retain(|file| {
        let name = file.to_string_lossy();
        VALUES.iter().any(|ending| name.ends_with(ending)) && !name.contains("dump_tensor_data")
    });
    let file = there.get(number(1..2) % there.len().max(1))?;
    let name = file.strip_prefix(side).expect("below").display().to_string();
    let bytes = fs::read(file).expect("readable");
    match choice[2] % 8 {
        0 => fs::remove_file(file).expect("removed"),
        1 => {
            let rank = rank(side, file)?;
            fs::remove_dir_all(&rank).expect("removed");
            return Some(format!("{} as a whole", rank.strip_prefix(side).expect("below").display()));
        }
        2 if !is_text(file) => fs::write(file, &bytes[..number(3..6) % bytes.len().max(1)]).expect("written"),
        _ => fs::write(file, without_a_part(file, &bytes, number(3..6))?).expect("written"),
    }
    Some(format!("a piece of {name}, by {choice:?}"))
}

/// The folder of a rank that a file lies in, where ranks have folders.
fn rank(side: &Path, file: &Path) -> Option<PathBuf> {
    let mut above = file.ancestors().skip(1).take_while(|folder| *folder != side);
    above
        .find(|folder| folder.file_name().is_some_and(|name| name.to_string_lossy().contains("rank")))
        .map(Path::to_owned)
}

fn is_text(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "json" || ending == "csv")
}

/// A file without an operation, a row, a tensor or a member.
fn without_a_part(file: &Path, bytes: &[u8], number: usize) -> Option<Vec<u8>> {
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "json" => without_an_operation(bytes, number),
        "csv" => without_a_row(bytes, number),
        "safetensors" => with_header(bytes, |header| without_a_value(header, number)),
        "pt" => {
            let holds_values = |name: &str| !WITHOUT_VALUES.contains(&name.rsplit('/').next().unwrap_or(name));
            of_archive(bytes, number, |name| holds_values(name) && !name.contains("/.data/"))
        }
        _ => None,
    }
}

/// A dump without an operation of a module. Gradients of parameters do not merge over data ranks, and are not compared.
fn without_an_operation(bytes: &[u8], number: usize) -> Option<Vec<u8>> {
    let mut found = places(bytes);
    found.retain(|place| {
        let is_module = place.key().starts_with("Module.") || place.key().starts_with("Cell.");
        let is_gradient = place.key().contains(".parameters_grad");
        place.path.len() == 3 && place.path[1] == "data" && is_module && !is_gradient
    });
    let place = found.get(number % found.len().max(1))?;
    Some(replaced(bytes, &place.cut(bytes), b""))
}

/// A header without one of the values that say what the tensors are; the metadata hold none.
fn without_a_value(header: &[u8], number: usize) -> Vec<u8> {
    let mut found = places(header);
    found.retain(|place| !place.path.iter().any(|key| key == "__metadata__"));
    let place = found.get(number % found.len().max(1));
    place.map_or_else(Vec::new, |place| replaced(header, &place.cut(header), b""))
}

/// A table without one of its rows below the head. Values of modules that span stages are compared where the model begins and
/// ends, and stay.
fn without_a_row(bytes: &[u8], number: usize) -> Option<Vec<u8>> {
    let mut rows: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let compared: Vec<usize> = (1..rows.len()).filter(|at| is_compared(rows[*at])).collect();
    rows.remove(*compared.get(number % compared.len().max(1))?);
    Some(rows.concat())
}

/// Whether a row holds a tensor, and not that of the model or its decoder as a whole. The monitor writes blanks for a tensor
/// without a gradient.
fn is_compared(row: &[u8]) -> bool {
    let name = row.split(|byte| *byte == b',').nth(1).unwrap_or_default();
    let spans_stages = [".", "decoder.input", "decoder.output"].iter().any(|start| name.starts_with(start.as_bytes()));
    let is_blank = row.trim_ascii_end().ends_with(b",nan,nan");
    !spans_stages && !is_blank
}
