//! Draws of healthy runs out of systems with many runs: how often they fail, and how often a shift of 1 % is found.
//!
//! Each system is a folder with `baseline/` and `candidate/`, a curve file per run, whose runs are all of one setting: they are one pool.
//! A draw takes n and m of them, from 1 to 9, and judges them against each other.
//!
//! ```text
//! cargo run --release --example sample_draws -- FOLDER_OF_SYSTEMS [DRAWS]
//! ```
#![allow(clippy::print_stdout, reason = "an example that prints what it found")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::fetch::{MemorySource, Room};
use precision_gate::gate::selftest::synthetic::Random;
use precision_gate::judge::samples::curves::{MetricCurves, is_judged, judge, prepare};
use precision_gate::judge::samples::decide::SampleSetting;
use precision_gate::judge::samples::runs::SampleRuns;
use precision_gate::kind::Role;
use precision_gate::pair::curve::pair_curves;
use precision_gate::policy::samples::SamplesPolicy;
use precision_gate::read::curve::series::Series;
use precision_gate::read::{curve, metric};
use precision_gate::result::finding::verdict_of;
use precision_gate::result::samples::SampledRun;
use precision_gate::verdict::{PerSide, Profile, Verdict};
use rayon::prelude::*;

/// Draws where none are asked for.
const DRAWS: u64 = 10_000;
/// Runs of a side in a draw, at most.
const MOST: usize = 9;

/// Curves of a run by metric.
type Run = BTreeMap<String, Series>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map(PathBuf::from).ok_or_else(|| usage("name the folder of systems"))?;
    let draws = arguments.next().and_then(|draws| draws.parse().ok()).unwrap_or(DRAWS);
    let mut systems = Vec::new();
    for entry in entries(&folder)?.into_iter().filter(|entry| name(entry).starts_with("system-")) {
        systems.push((name(&entry), pool(&entry)?));
    }
    println!(
        "| system | runs | healthy draws | fail | 10 against 10, detectable below 1 % | 1 % found |\n| --- | ---: | ---: | ---: | ---: | ---: |"
    );
    let own = draws.div_ceil(systems.len().max(1) as u64);
    for (name, pool) in &systems {
        let fails = (0..own).into_par_iter().filter(|draw| fails(pool, *draw)).count();
        let shifted: Vec<bool> = (0..200_u64).into_par_iter().filter_map(|draw| finds(pool, draw)).collect();
        let found = shifted.iter().filter(|found| **found).count();
        println!("| {name} | {} | {own} | {fails} | {} | {found} |", pool.len(), shifted.len());
    }
    Ok(())
}

fn usage(message: &str) -> Error {
    Error::new(ErrorKind::Usage, "sample_draws", message)
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = std::fs::read_dir(folder).map_err(|error| Error::io(folder.display().to_string(), &error))?;
    let mut found: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
    found.sort();
    Ok(found)
}

/// All runs of a system.
fn pool(system: &Path) -> Result<Vec<Run>> {
    let mut pool = Vec::new();
    for side in ["baseline", "candidate"] {
        for file in entries(&system.join(side))? {
            let bytes = std::fs::read(&file).map_err(|error| Error::io(file.display().to_string(), &error))?;
            let source = MemorySource::new(name(&file), bytes.clone());
            let format = curve::recognise(&bytes, &source).ok_or_else(|| usage("a file is no curve"))?;
            let files = curve::read(Arc::new(source), format, &Room::unlimited())?;
            let mut run = Run::new();
            for pair in &pair_curves(&files, &files)?.pairs {
                run.insert(pair.metric.clone(), pair.candidate.load()?.series.into_owned());
            }
            pool.push(run);
        }
    }
    Ok(pool)
}

/// Judges some runs against others.
fn verdict(ours: &[&Run], theirs: &[&Run]) -> (Verdict, f64) {
    let policy = SamplesPolicy::default();
    let setting = SampleSetting { policy: &policy, profile: Profile::Default };
    let named = |runs: &[&Run]| vec![SampledRun::default(); runs.len()];
    let runs = SampleRuns { sides: PerSide { baseline: named(ours), candidate: named(theirs) }, pairs: Vec::new() };
    let metrics: BTreeSet<&String> = ours.iter().chain(theirs).flat_map(|run| run.keys()).collect();
    let of = |metric: &String| MetricCurves {
        metric: metric.clone(),
        rank: None,
        role: metric::role(metric),
        of_runs: PerSide {
            baseline: ours.iter().map(|run| run.get(metric)).collect(),
            candidate: theirs.iter().map(|run| run.get(metric)).collect(),
        },
    };
    let curves: Vec<MetricCurves<'_>> =
        metrics.into_iter().map(of).filter(|curves| is_judged(curves.role, false)).collect();
    let prepared = curves.iter().map(|curves| prepare(curves, &runs, setting)).collect();
    let (judged, _) = judge(prepared, &runs, setting);
    let main = |rule: &&precision_gate::result::unit::SampleRule| rule.rule == "level";
    let rules = judged.iter().filter(|one| one.unit.role != Some(Role::GradNorm)).flat_map(|one| &one.unit.rules);
    let detectable = rules.filter(main).filter_map(|rule| rule.detectable).map(|number| number.0).fold(0.0, f64::max);
    (verdict_of(judged.iter().flat_map(|one| &one.findings)), detectable)
}

/// Places of a pool in a drawn order.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a count of runs"
)]
fn shuffled(count: usize, random: &mut Random) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    for place in (1..count).rev() {
        places.swap(place, (random.uniform() * (place + 1) as f64) as usize % (place + 1));
    }
    places
}

fn fails(pool: &[Run], draw: u64) -> bool {
    let mut random = Random::new(draw + 1);
    let places = shuffled(pool.len(), &mut random);
    let sizes = shuffled(MOST, &mut random);
    let (n, m) = (sizes.first().map_or(1, |n| n + 1), sizes.get(1).map_or(1, |m| m + 1));
    let drawn: Vec<&Run> = places.iter().filter_map(|place| pool.get(*place)).collect();
    let (ours, rest) = drawn.split_at(n.min(drawn.len()));
    let theirs: Vec<&Run> = rest.iter().copied().take(m).collect();
    verdict(ours, &theirs).0 == Verdict::Fail
}

/// Whether a shift of 1 % is found at ten against ten; `None` where it is not below what can be seen, or there are fewer runs.
fn finds(pool: &[Run], draw: u64) -> Option<bool> {
    let mut random = Random::new(draw + 1_000_001);
    let drawn: Vec<&Run> = shuffled(pool.len(), &mut random).iter().filter_map(|place| pool.get(*place)).collect();
    let (ours, theirs) = (drawn.get(..10)?, drawn.get(10..20)?);
    let moved: Vec<Run> =
        theirs.iter().map(|run| run.iter().map(|(metric, series)| (metric.clone(), moved(series))).collect()).collect();
    let moved: Vec<&Run> = moved.iter().collect();
    (verdict(ours, theirs).1 < 0.01).then(|| verdict(ours, &moved).0 == Verdict::Fail)
}

/// A curve 1 % lower where more is better, and higher where less is: worse either way.
fn moved(series: &Series) -> Series {
    let is_score = metric::role(&metric::canonical(series.name.as_ref())) == Role::EvalScore;
    let factor = if is_score { 0.99 } else { 1.01 };
    Series::by_step(series.name.clone(), series.points().map(|(step, value)| (step, factor * value)))
}
