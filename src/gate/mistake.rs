//! Files that people give in place of a run's artifacts, and the command that works with them.

use std::path::Path;

use super::discover::Inventory;
use super::sides::Sides;
use crate::fetch::Location;
use crate::result::advice::Advice;
use crate::result::finding::Finding;
use crate::verdict::Side;

/// Folder in which msprobe saves the tensors of a dump, beside the records that name them.
const TENSORS: &str = "dump_tensor_data";

/// Names of the two folders of a pair, as people call them.
const PAIRS: [[&str; 2]; 6] = [
    ["gpu", "npu"],
    ["baseline", "candidate"],
    ["golden", "npu"],
    ["bench", "npu"],
    ["bench", "target"],
    ["golden", "target"],
];

/// `finding` about a side that holds nothing to judge, with the mistake that its files show and the command that works.
pub(super) fn told(finding: Finding, sides: &Sides, side: Side) -> Finding {
    let inventory = if side == Side::Baseline { &sides.baseline } else { &sides.candidate };
    let location = inventory.location();
    let found = match () {
        () if inventory.holds_tensors_alone() => Some(("tensors", of_dumps(sides))),
        () if inventory.has_ignored(COMPARE_TABLE) => {
            Some(("compare-table", Advice::new(["run", "GPU_DUMP", "NPU_DUMP"])))
        }
        () if inventory.has_ignored(OTHER_PACKER) => Some(("packed", Advice::new(["run", "GPU_FOLDER", "NPU_FOLDER"]))),
        () if inventory.has_ignored(LAUNCH_SCRIPT) => {
            let script = inventory.first_ignored(LAUNCH_SCRIPT).unwrap_or_default();
            let script = if location.ends_with(script) { location.to_owned() } else { format!("{location}/{script}") };
            let out = if side == Side::Baseline { "gpu_pack.zip" } else { "npu_pack.zip" };
            Some(("script", Advice::new(["config-pack", "--out", out, script.as_str()])))
        }
        () => None,
    };
    match found {
        Some((mistake, advice)) => finding.with("mistake", mistake).with("line", format!("`{advice}`")),
        None => finding,
    }
}

/// Reason for not reading a table that a comparison of msprobe wrote.
pub(super) const COMPARE_TABLE: &str = "a table of msprobe's compare, which holds its answers and no values of a run";
/// Reason for not reading an archive of RAR or 7-Zip.
pub(super) const OTHER_PACKER: &str = "an archive of RAR or 7-Zip, which is not unpacked";
/// Reason for not reading a script that starts a training.
pub(super) const LAUNCH_SCRIPT: &str = "a script that starts a training, which holds settings and no values";

/// Columns of msprobe's table of a comparison.
const TABLE_HEAD: [&[u8]; 2] = [b"NPU Name,", b"Bench Name,"];
/// First bytes of RAR (versions 4 and 5) and 7-Zip.
const PACKERS: [&[u8]; 2] = [b"Rar!\x1a\x07", b"7z\xbc\xaf\x27\x1c"];
/// Programs that start a training.
const LAUNCHERS: [&[u8]; 7] =
    [b"torchrun", b"python ", b"python3 ", b"deepspeed", b"msrun", b"accelerate launch", b"mpirun"];

/// Reason for not reading a file that begins with `head`, where it is one that people give by mistake.
pub(super) fn of_file(path: &str, head: &[u8]) -> Option<&'static str> {
    let has = |part: &[u8]| memchr::memmem::find(head, part).is_some();
    if PACKERS.iter().any(|magic| head.starts_with(magic)) {
        return Some(OTHER_PACKER);
    }
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if TABLE_HEAD.iter().all(|column| memchr::memmem::find(line, column).is_some()) {
        return Some(COMPARE_TABLE);
    }
    let is_shell = Path::new(path).extension().is_some_and(|ending| ending == "sh" || ending == "bash");
    (is_shell && LAUNCHERS.iter().any(|word| has(word))).then_some(LAUNCH_SCRIPT)
}

/// The command that compares the folders around the tensors of both sides.
fn of_dumps(sides: &Sides) -> Advice {
    let around = |inventory: &Inventory| {
        let location = inventory.location().trim_end_matches('/');
        location.strip_suffix(TENSORS).map(|folder| folder.trim_end_matches('/').to_owned())
    };
    match [&sides.baseline, &sides.candidate].map(around) {
        [Some(baseline), Some(candidate)] if !baseline.is_empty() && !candidate.is_empty() => {
            Advice::new(["run".to_owned(), baseline, candidate])
        }
        _ => Advice::new(["run", "GPU_DUMP", "NPU_DUMP"]),
    }
}

/// Whether `location` is a folder of dumped tensors, without the records that name them.
pub(super) fn is_tensor_folder(location: &str) -> bool {
    location.trim_end_matches('/').rsplit('/').next() == Some(TENSORS)
}

/// The command that judges the two runs that lie in the folder `location`, by the names of its folders.
pub fn pair_inside(location: &str) -> Option<Advice> {
    if !Location::parse(location).is_ok_and(|location| !location.is_remote()) {
        return None;
    }
    let folder = Path::new(location);
    let names = PAIRS.iter().find(|names| names.iter().all(|name| folder.join(name).is_dir()))?;
    let [baseline, candidate] = names.map(|name| folder.join(name).display().to_string());
    Some(Advice::new(["run".to_owned(), baseline, candidate]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_given_by_mistake_are_told_by_their_content() {
        for (path, head, reason) in [
            ("a.rar", b"Rar!\x1a\x07\x01\x00".as_slice(), Some(OTHER_PACKER)),
            ("a", b"7z\xbc\xaf\x27\x1c\x00\x04", Some(OTHER_PACKER)),
            ("a.csv", b"NPU Name,Bench Name,NPU Dtype,Bench Dtype\n", Some(COMPARE_TABLE)),
            ("a.csv", b"step,loss\nNPU Name,Bench Name,\n", None),
            ("train.sh", b"#!/bin/bash\ntorchrun train.py\n", Some(LAUNCH_SCRIPT)),
            ("train.log", b"torchrun train.py\n", None),
        ] {
            assert_eq!(of_file(path, head), reason, "{path}");
        }
    }
}
