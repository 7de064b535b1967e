//! Real pairs of every format that are small enough to be judged often.

use std::fs;
use std::path::{Path, PathBuf};

use super::data::fixture;

/// Dumps among them.
const DUMPS: [&str; 6] = [
    "md5_one_diff",
    "md5_identical",
    "legacy_ptdbg_three_statistics",
    "debug_save_tensor",
    "zoo_stats_scalar_bool_int",
    "glm_stats_mix_fp16_saturation",
];

/// Pairs whose candidate has a fault that the baseline lacks: taking the fault away mends the candidate.
const MORE: [&str; 13] = [
    "config-check/bad-parent-path-member",
    "config-check/bad-rank-name",
    "config-check/bad-weights-layout",
    "config-check/dataset-key-added",
    "config-check/dataset-more-steps",
    "config-check/hyper-not-parsed",
    "config-check/hyper-static-vs-dynamic",
    "config-check/pack-written-twice",
    "config-check/pip-odd-lines",
    "config-check/random-count-differs",
    "dumps/zoo_stats_scalar_bool_int",
    "evaluation/lines_twice_contradict",
    "operators/api-missing-in-baseline",
];

/// A real pair: a folder or an archive per side.
pub(crate) struct Pair {
    pub(crate) name: String,
    pub(crate) sides: [PathBuf; 2],
}

impl Pair {
    /// Whether the candidate holds more than the baseline, so that a removal may mend it.
    pub(crate) fn has_more_on_the_candidate(&self) -> bool {
        MORE.contains(&self.name.as_str())
    }
}

/// The pairs of each format: dumps, curves, packs, checkpoints, monitors, evaluations, operator tests.
pub(crate) fn by_format() -> [Vec<Pair>; 7] {
    let names = ["dumps", "loss", "config-check", "checkpoints", "monitor", "evaluation", "operators"];
    names.map(|family| {
        let root = fixture(family);
        let mut cases = folders(&root);
        cases.retain(|case| family != "dumps" || DUMPS.iter().any(|name| case.ends_with(name)));
        cases.iter().filter_map(|case| pair(family, case)).collect()
    })
}

fn pair(family: &str, case: &Path) -> Option<Pair> {
    let side = |name: &str| {
        let sides = [case.join(name), case.join(format!("{name}.zip"))];
        sides.into_iter().find(|path| path.exists())
    };
    let name = format!("{family}/{}", case.file_name()?.to_string_lossy());
    Some(Pair { name, sides: [side("gpu")?, side("npu")?] })
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(root).expect("a folder").flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    found
}
