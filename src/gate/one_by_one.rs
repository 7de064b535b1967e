//! Checks whose runs are no sample: each candidate is judged by itself against the first baseline.

use super::checks;
use super::outcome::CheckOutcome;
use super::sides::Sides;
use super::surroundings::{Shared, Surroundings};
use crate::error::Result;
use crate::judge::samples::dumps::not_repeatable;
use crate::judge::samples::rules::METRIC_MISSING;
use crate::result::finding::Finding;
use crate::result::observation::Observation;
use crate::result::unit::RunCounts;
use crate::verdict::{CheckId, PerSide, Side, Verdict};

/// Judges each run of the candidate; `None` for what is no check of runs.
pub(super) fn check(
    id: CheckId,
    sides: &mut Sides,
    surroundings: &Surroundings<'_>,
    shared: &Shared<'_>,
) -> Result<Option<CheckOutcome>> {
    let Some(check) = checks::of(id) else { return Ok(None) };
    let more =
        sides.samples.as_ref().map_or(PerSide::default(), |sampled| PerSide::of(|side| sampled.more[side].len()));
    let mut joined = CheckOutcome::new(id);
    let (mut failed, mut absent) = (Vec::new(), Vec::new());
    let mut counts = RunCounts { n: 1 + more.baseline as u64, m: 0, failed: 0 };
    for run in 0..=more.candidate {
        exchange(sides, run);
        let is_there = sides.candidate.has(id);
        let judged = (check.judge)(sides, surroundings, shared);
        exchange(sides, run);
        let mut one = judged?;
        if !is_there {
            absent.push(run);
            continue;
        }
        counts.m += 1;
        one.settle(&shared.request.policy);
        let name = sides
            .samples
            .as_ref()
            .and_then(|sampled| sampled.runs.sides.candidate.get(run))
            .map(|run| run.name.clone());
        if one.check.verdict == Verdict::Fail {
            counts.failed += 1;
            failed.extend(name.clone());
        }
        join(&mut joined, one, name.as_deref());
    }
    joined.say(not_repeatable(id, &failed, counts));
    joined.say(missing(id, sides, &absent, counts.m));
    if counts.m > 0 {
        joined.check.samples = Some(counts);
    }
    Ok(Some(joined))
}

/// Runs without anything of a check that others have.
fn missing(id: CheckId, sides: &Sides, absent: &[usize], there: u64) -> Option<Finding> {
    let sampled = sides.samples.as_ref().filter(|_| there > 0 && !absent.is_empty())?;
    let finding = Finding::new(&METRIC_MISSING, id.as_str()).of_check(id).with("side", Side::Candidate.as_str());
    let finding = finding.with("count", absent.len()).with("of", absent.len() as u64 + there);
    Some(finding.with("runs", sampled.runs.names(Side::Candidate, absent)))
}

/// Puts a run in the candidate's place, or back; the first one stands there already.
fn exchange(sides: &mut Sides, run: usize) {
    let Some(sampled) = &mut sides.samples else { return };
    if let Some(other) = run.checked_sub(1).and_then(|place| sampled.more.candidate.get_mut(place)) {
        std::mem::swap(&mut sides.candidate, other);
    }
}

/// Adds what was made of one run.
fn join(joined: &mut CheckOutcome, one: CheckOutcome, name: Option<&str>) {
    let (units_before, items_before) = (joined.check.units.len(), joined.check.items.len());
    joined.check.units.extend(one.check.units);
    joined.check.items.extend(one.check.items);
    for Observation { of, units, item, finding } in one.observations {
        let finding = match name {
            Some(name) => finding.with("run", name),
            None => finding,
        };
        let units = units.into_iter().map(|place| units_before + place).collect();
        joined.observations.push(Observation { of, units, item: item.map(|place| items_before + place), finding });
    }
    joined.diagnoses.extend(one.diagnoses);
    joined.tables.extend(one.tables);
    if one.sizes.is_some() {
        joined.sizes = one.sizes;
    }
}
