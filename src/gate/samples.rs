//! Opening several runs of a side: the locations that are named, or the entries of a folder.

use std::collections::BTreeMap;

use super::baseline_name::SCHEME;
use super::discover::Inventory;
use super::entries::entries;
use super::location;
use super::repeats::read_band_file;
use super::request::Request;
use super::side::{self, Opening};
use super::sides::{RecordedRuns, Sampled, Sides};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Location, Trust};
use crate::judge::loss::noise::NoiseBand;
use crate::judge::samples::runs::{SampleRuns, seed_of};
use crate::policy::location::TrustedLocation;
use crate::result::samples::SampledRun;
use crate::verdict::{PerSide, Side};

/// A run that was opened.
struct Run {
    name: String,
    inventory: Inventory,
}

/// Opens all runs of both sides.
///
/// # Errors
/// As for one run; `Policy` where a recorded sample is damaged.
pub(super) fn open(request: &Request, opening: Opening<'_>) -> Result<Sides> {
    let several = &request.several;
    let recorded = if several.baseline.is_empty() { recorded(&request.baseline, opening)? } else { None };
    let baselines: Vec<&str> = [&request.baseline].into_iter().chain(&several.baseline).map(|held| &**held).collect();
    let candidates: Vec<&str> =
        [&request.candidate].into_iter().chain(&several.candidate).map(String::as_str).collect();
    let [are_baseline_runs, are_candidate_runs] = several.are_runs;
    let baseline_runs = match &recorded {
        Some(_) => Vec::new(),
        None => side_of(&baselines, are_baseline_runs, Side::Baseline, opening)?,
    };
    let candidate_runs = side_of(&candidates, are_candidate_runs, Side::Candidate, opening)?;
    let names = |runs: &[Run]| runs.iter().map(|run| named(&run.name)).collect::<Vec<_>>();
    let of_baseline = match &recorded {
        Some(recorded) => recorded.iter().map(|run| SampledRun { seed: run.seed, ..named(&run.name) }).collect(),
        None => names(&baseline_runs),
    };
    let named = PerSide { baseline: of_baseline, candidate: names(&candidate_runs) };
    let runs = SampleRuns::new(named, opening.policy.samples.pair);
    let (baseline, baseline_runs) = first(baseline_runs, &request.baseline, opening)?;
    let (candidate, candidate_runs) = first(candidate_runs, &request.candidate, opening)?;
    let locations = PerSide { baseline: shown(&baselines), candidate: shown(&candidates) };
    let samples = Some(Sampled {
        locations,
        further_runs: PerSide { baseline: baseline_runs, candidate: candidate_runs },
        runs,
        recorded,
    });
    Ok(Sides { baseline, candidate, reference: None, verified: None, is_alone: false, samples })
}

/// Locations of a side for documents; none may show a secret.
fn shown(locations: &[&str]) -> String {
    let shown = |location: &&str| Location::parse(location).map_or_else(|_| "?".to_owned(), |place| place.to_string());
    locations.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn named(name: &str) -> SampledRun {
    SampledRun { name: name.to_owned(), seed: seed_of(name), left_out: None }
}

fn recorded(location: &TrustedLocation, opening: Opening<'_>) -> Result<Option<RecordedRuns>> {
    if location.starts_with(SCHEME) || Location::parse(location)?.is_remote() {
        return Ok(None);
    }
    let Some(NoiseBand { sample, .. }) = read_band_file(location, opening.fetcher)? else { return Ok(None) };
    if sample.is_empty() {
        let message = "holds a band and no runs, so that it is no baseline";
        let error = Error::new(ErrorKind::Policy, location.to_string(), message);
        return Err(error.with_help("record the runs again with `precision-gate noise`, or give it with --noise"));
    }
    Ok(Some(sample))
}

/// The first run and the others; a side without any is an empty one.
fn first(runs: Vec<Run>, location: &str, opening: Opening<'_>) -> Result<(Inventory, Vec<Inventory>)> {
    let mut runs = runs.into_iter().map(|run| run.inventory);
    let first = runs.next().map_or_else(|| side::empty_inventory(location, opening), Ok)?;
    Ok((first, runs.collect()))
}

fn side_of(locations: &[&str], are_runs: bool, side: Side, opening: Opening<'_>) -> Result<Vec<Run>> {
    let mut found = Vec::new();
    for location in locations {
        if !are_runs {
            let name = location.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(location);
            found.push(Run { name: name.to_owned(), inventory: side::open(location, side, opening)? });
            continue;
        }
        let trust = if side == Side::Baseline { Trust::Baseline } else { Trust::Any };
        let files = location::open(location, trust, opening.fetcher, opening.progress)?;
        for (name, files) in entries(&files) {
            let inventory = side::inventory_of_side(files, opening.fetcher, opening.search, opening.progress)?;
            found.push(Run { name, inventory });
        }
    }
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for run in &mut found {
        let count = known.entry(run.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            run.name = format!("{} ({count})", run.name);
        }
    }
    Ok(found)
}
