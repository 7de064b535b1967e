//! Parts of healthy runs: ranks that are renamed, taken away or in another order, steps that are missing. Nothing fails for that,
//! and no invariant is said to hold over what is not there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;

use super::{gate, list, root, shared};

static RANK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"rank_?(\d+)").expect("sound"));
/// The step of a dump, or the last one of a monitor's table.
static STEP: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"step(\d+)/|\d-(\d+)\.csv$").expect("sound"));

/// A file of a run, with its rank and the last step that it holds.
struct Part {
    path: String,
    rank: u64,
    step: u64,
}

impl Part {
    /// The file of a run by its path inside; `None` where it belongs to no rank and no step.
    fn of(path: String) -> Option<Self> {
        let rank = RANK.captures(&path)?[1].parse().ok()?;
        let step = STEP.captures(&path)?.iter().skip(1).flatten().next()?.as_str().parse().ok()?;
        Some(Self { path, rank, step })
    }

    /// Its path under another rank.
    fn renamed(&self, rank: u64) -> String {
        let rename = |found: &regex::Captures<'_>| found[0].replace(&found[1], &rank.to_string());
        RANK.replace(&self.path, rename).into_owned()
    }
}

fn files(folder: &Path, inside: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = format!("{inside}{}", entry.file_name().to_string_lossy());
        match entry.path().is_dir() {
            true => files(&entry.path(), &format!("{path}/"), found),
            false => found.push(path),
        }
    }
}

/// A healthy run of several steps.
struct Run {
    folder: PathBuf,
    parts: Vec<Part>,
    ranks: Vec<u64>,
    steps: Vec<u64>,
}

impl Run {
    fn of(folder: PathBuf) -> Option<Self> {
        let mut found = Vec::new();
        files(&folder, "", &mut found);
        let parts: Vec<Part> = found.into_iter().filter_map(Part::of).collect();
        let ranks: BTreeSet<u64> = parts.iter().map(|part| part.rank).collect();
        let steps: BTreeSet<u64> = parts.iter().map(|part| part.step).collect();
        let (ranks, steps) = (ranks.into_iter().collect(), steps.into_iter().collect());
        (!parts.is_empty()).then_some(Self { folder, parts, ranks, steps })
    }

    /// The result of those parts whose rank and step have a new rank.
    fn judged(&self, new: &dyn Fn(u64, u64) -> Option<u64>) -> (String, Value) {
        let (folder, out) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
        for part in &self.parts {
            let Some(rank) = new(part.rank, part.step) else { continue };
            let path = folder.path().join(part.renamed(rank));
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::copy(self.folder.join(&part.path), path).expect("copied");
        }
        gate(&["run", "--candidate", &folder.path().display().to_string(), "--health"], out.path())
    }
}

/// Invariants that hold, with what they were looked at over.
fn held(result: &Value) -> Vec<(String, Value)> {
    let looked = list(&result["looked"]).into_iter().filter(|one| one["state"] == "held");
    looked.map(|one| (one["invariant"].as_str().unwrap_or_default().to_owned(), one["counts"].clone())).collect()
}

#[test]
fn a_part_of_a_healthy_run_fails_for_nothing_and_holds_for_nothing_that_is_gone() {
    let own = root().join("tests/fixtures/onerun");
    let folders = [Some(own), shared().map(|shared| shared.join("onerun"))].into_iter().flatten();
    let cases = folders.flat_map(|folder| fs::read_dir(folder).expect("cases").flatten());
    let cases = cases.filter(|case| case.file_name().to_string_lossy().starts_with("ok-"));
    let runs: Vec<(String, Run)> =
        cases.filter_map(|case| Some((case.path().display().to_string(), Run::of(case.path().join("npu"))?))).collect();
    assert!(runs.len() >= 2, "healthy runs with ranks and steps");
    for (name, run) in &runs {
        let (ranks, steps) = (run.ranks.len() as u64, run.steps.len() as u64);
        let (first, last) = (run.ranks[0], *run.steps.last().expect("a step"));
        let turned = |rank: u64| {
            run.ranks[(run.ranks.iter().position(|one| *one == rank).expect("a rank") + 1) % run.ranks.len()]
        };
        type New<'r> = &'r dyn Fn(u64, u64) -> Option<u64>;
        let changes: [(&str, New<'_>, u64, u64); 6] = [
            ("as it is", &|rank, _| Some(rank), ranks, steps),
            ("its ranks in another order", &|rank, _| Some(turned(rank)), ranks, steps),
            ("its ranks under other numbers", &|rank, _| Some(8 * rank + 3), ranks, steps),
            ("without its last step", &|rank, step| (step != last).then_some(rank), ranks, steps - 1),
            ("without its first rank", &|rank, _| (rank != first).then_some(rank), ranks - 1, steps),
            ("with its first step alone", &|rank, step| (step == run.steps[0]).then_some(rank), ranks, 1),
        ];
        let whole = run.judged(changes[0].1).1;
        for (change, new, ranks, steps) in changes.into_iter().filter(|(.., ranks, steps)| ranks * steps > 0) {
            let (text, result) = run.judged(new);
            let fails = list(&result["findings"]).into_iter().find(|finding| finding["severity"] == "fail");
            assert_eq!(fails, None, "{name} {change}: {text}");
            assert_ne!(result["verdict"], "fail", "{name} {change}: {text}");
            for (invariant, counts) in held(&result) {
                assert!(held(&whole).iter().any(|(known, _)| *known == invariant), "{name} {change}: {invariant}");
                let most = |key: &str| counts[key].as_u64().unwrap_or_default();
                // A table of a monitor holds several steps.
                let is_dump = run.parts.iter().all(|part| !part.path.ends_with(".csv"));
                assert!(most("ranks") <= ranks, "{name} {change}: {invariant} {counts}");
                assert!(!is_dump || most("steps") <= steps, "{name} {change}: {invariant} {counts}");
                assert!(invariant != "replicas" || ranks > 1, "{name} {change}: {invariant} {counts}");
            }
        }
    }
}
