//! Files that people give by mistake in place of a run's artifacts, with the command that they need instead.

use std::path::Path;

use super::discover::Inventory;
use super::discover::mistaken::{COMPARE_TABLE, LAUNCH_SCRIPT, OTHER_PACKER, TENSORS};
use super::sides::Sides;
use crate::fetch::Location;
use crate::result::advice::Advice;
use crate::result::finding::Finding;
use crate::verdict::Side;

/// Names of the two folders of a pair, as people call them.
const PAIRS: [[&str; 2]; 6] = [
    ["gpu", "npu"],
    ["baseline", "candidate"],
    ["golden", "npu"],
    ["bench", "npu"],
    ["bench", "target"],
    ["golden", "target"],
];

/// Adds to a finding about a side without anything to judge the mistake that its files show, and the command to use instead.
pub(super) fn with_mistake(finding: Finding, sides: &Sides, side: Side) -> Finding {
    let inventory = if side == Side::Baseline { &sides.baseline } else { &sides.candidate };
    let location = inventory.location();
    let found = if inventory.holds_tensors_alone() {
        Some(("tensors", of_dumps(sides)))
    } else if inventory.has_ignored(COMPARE_TABLE) {
        Some(("compare-table", Advice::new(["run", "GPU_DUMP", "NPU_DUMP"])))
    } else if inventory.has_ignored(OTHER_PACKER) {
        Some(("packed", Advice::new(["run", "GPU_FOLDER", "NPU_FOLDER"])))
    } else if inventory.has_ignored(LAUNCH_SCRIPT) {
        let script = inventory.first_ignored(LAUNCH_SCRIPT).unwrap_or_default();
        let script = if location.ends_with(script) { location.to_owned() } else { format!("{location}/{script}") };
        let out = if side == Side::Baseline { "gpu_pack.zip" } else { "npu_pack.zip" };
        Some(("script", Advice::new(["config-pack", "--out", out, script.as_str()])))
    } else {
        None
    };
    match found {
        Some((mistake, advice)) => finding.with("mistake", mistake).with("line", format!("`{advice}`")),
        None => finding,
    }
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
