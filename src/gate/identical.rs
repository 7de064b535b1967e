//! Detects sides with identical bytes: a folder that was copied, or given twice, would compare as perfect agreement.
//!
//! Sizes rule most pairs out. For files with the same name, the digests that were taken of both sides decide. The bytes of
//! the rest are compared block by block, up to the first difference.

use std::collections::BTreeMap;
use std::path::Path;

use super::discover::Inventory;
use super::mistake;
use super::sides::Sides;
use crate::fetch::{FileEntry, Location, Source};
use crate::judge::rule::artifacts::SIDES_IDENTICAL;
use crate::policy::Policy;
use crate::read::weight_sync::SyncFile;
use crate::result::advice::Advice;
use crate::result::finding::Finding;
use crate::verdict::{CheckId, Profile, Severity};

/// Bytes compared at once.
const BLOCK: u64 = 1 << 20;
/// Blocks of a check that are compared, evenly over its files: a quarter of a gigabyte, read in a second or less.
const MOST_BLOCKS: u64 = 256;

/// The check that synchronisations of weights belong to.
const SYNCHRONISED: CheckId = CheckId::Checkpoint;

/// Finding that both locations are the same.
pub(super) fn same_location_finding(sides: &Sides, policy: &Policy) -> Option<Finding> {
    let [baseline, candidate] = [&sides.baseline, &sides.candidate].map(|side| side.location());
    if !is_same_location(baseline, candidate) || sides.baseline.file_count() == 0 {
        return None;
    }
    let advice = mistake::pair_inside(candidate).unwrap_or_else(|| Advice::new(["run", "GPU_FOLDER", "NPU_FOLDER"]));
    Some(finding(candidate, "location", sides.baseline.file_count(), policy).with("line", format!("`{advice}`")))
}

/// Finding that all files of `check` hold the same bytes on both sides.
pub(super) fn same_files_finding(check: CheckId, sides: &Sides, policy: &Policy) -> Option<Finding> {
    if is_same_location(sides.baseline.location(), sides.candidate.location()) {
        return None;
    }
    // Files that could not be read may be equal without any meaning.
    if !sides.baseline.has_read(check) || !sides.candidate.has_read(check) {
        return None;
    }
    // Both ends of a correct synchronisation hold the same bytes.
    let is_of_sync =
        [&sides.baseline, &sides.candidate].into_iter().any(|side| !side.artifacts::<SyncFile>().is_empty());
    if is_of_sync && check == SYNCHRONISED {
        return None;
    }
    let files = pairs(check, &sides.baseline, &sides.candidate)?;
    let bytes: u64 = files.iter().map(|pair| pair.baseline.len).sum();
    let compared = compare(&files, sides)?;
    let said = finding(check.as_str(), "copy", files.len(), policy).of_check(check);
    Some(said.with("bytes", bytes).with("compared", compared))
}

/// The finding, which fails under the release profile only: elsewhere, a deterministic run may repeat itself.
fn finding(place: &str, how: &str, files: usize, policy: &Policy) -> Finding {
    let severity = if policy.profile == Profile::Release { Severity::Fail } else { SIDES_IDENTICAL.severity };
    Finding::new(&SIDES_IDENTICAL, place).with_severity(severity).with("how", how).with("files", files)
}

fn is_same_location(baseline: &str, candidate: &str) -> bool {
    let real = |location: &str| {
        let is_local = Location::parse(location).is_ok_and(|location| !location.is_remote());
        is_local.then(|| Path::new(location).canonicalize().ok()).flatten()
    };
    baseline == candidate || real(baseline).is_some_and(|baseline| Some(baseline) == real(candidate))
}

/// A file of each side, of the same length.
struct Pair<'a> {
    baseline: &'a FileEntry,
    candidate: &'a FileEntry,
    /// Whether the digests of both sides show that they are equal.
    is_known: bool,
}

/// The files of `check` with their partners: by name where both sides have the same names, else by length. `None` where
/// they cannot all be equal.
fn pairs<'a>(check: CheckId, baseline: &'a Inventory, candidate: &'a Inventory) -> Option<Vec<Pair<'a>>> {
    let [mut baseline_files, mut candidate_files] = [baseline, candidate].map(|side| side.files_of(check));
    if baseline_files.is_empty() || baseline_files.len() != candidate_files.len() {
        return None;
    }
    let by_path: BTreeMap<&str, &FileEntry> =
        baseline_files.iter().map(|entry| (entry.path.as_str(), *entry)).collect();
    let has_same_names = candidate_files.iter().all(|entry| by_path.contains_key(entry.path.as_str()));
    for files in [&mut baseline_files, &mut candidate_files] {
        let name = |entry: &FileEntry| entry.path.rsplit('/').next().unwrap_or_default().to_owned();
        match has_same_names {
            true => files.sort_by(|a, b| a.path.cmp(&b.path)),
            false => files.sort_by_cached_key(|entry| (entry.len, name(entry))),
        }
    }
    let pair = |(baseline_file, candidate_file): (&'a FileEntry, &'a FileEntry)| {
        let known = if has_same_names { baseline.has_same_content(candidate, &baseline_file.path) } else { None };
        let can_be_equal = baseline_file.len == candidate_file.len && known != Some(false);
        can_be_equal.then_some(Pair {
            baseline: baseline_file,
            candidate: candidate_file,
            is_known: known == Some(true),
        })
    };
    baseline_files.into_iter().zip(candidate_files).map(pair).collect()
}

/// The bytes that were compared; `None` where a difference was found or a file cannot be read.
fn compare(files: &[Pair<'_>], sides: &Sides) -> Option<u64> {
    let known: u64 = files.iter().filter(|pair| pair.is_known).map(|pair| pair.baseline.len).sum();
    let open: Vec<&Pair<'_>> = files.iter().filter(|pair| !pair.is_known).collect();
    let total: u64 = open.iter().map(|pair| pair.baseline.len.div_ceil(BLOCK)).sum();
    let mut compared = known;
    let mut before = 0;
    for pair in open {
        let blocks = pair.baseline.len.div_ceil(BLOCK);
        let due: Vec<u64> = (0..blocks).filter(|block| is_due(before + block, total)).collect();
        before += blocks;
        if !due.is_empty() {
            let baseline = sides.baseline.all_files().open(&pair.baseline.path).ok()?;
            let candidate = sides.candidate.all_files().open(&pair.candidate.path).ok()?;
            for block in due {
                compared += equal_block(&baseline, &candidate, block)?;
            }
        }
    }
    Some(compared)
}

/// Whether a block is among those compared: all of few, evenly spaced ones of many, the first always.
fn is_due(block: u64, total: u64) -> bool {
    let [at, total] = [block, total].map(u128::from);
    let most = u128::from(MOST_BLOCKS);
    total <= most || at == 0 || at * most / total != (at - 1) * most / total
}

/// The bytes of a block, where they are equal.
fn equal_block(baseline: &Source, candidate: &Source, block: u64) -> Option<u64> {
    let start = block * BLOCK;
    let len = baseline.len().checked_sub(start)?.min(BLOCK);
    let read = |source: &Source| {
        let mut bytes = vec![0; usize::try_from(len).ok()?];
        source.read_at(start, &mut bytes).ok()?;
        Some(bytes)
    };
    (baseline.len() == candidate.len() && read(baseline)? == read(candidate)?).then_some(len)
}

#[cfg(test)]
mod tests {
    use super::{MOST_BLOCKS, is_due};

    #[test]
    fn many_blocks_are_compared_at_even_distances() {
        let due = |total: u64| (0..total).filter(|block| is_due(*block, total)).count() as u64;
        assert_eq!((due(1), due(MOST_BLOCKS)), (1, MOST_BLOCKS));
        for total in [257, 1000, 1_000_000] {
            assert!((MOST_BLOCKS..=MOST_BLOCKS + 1).contains(&due(total)), "{total}: {}", due(total));
        }
    }
}
