//! Checks that do not judge several runs as a sample: each candidate run is judged by itself against the first baseline run.

use super::outcome::CheckOutcome;
use super::sides::Sides;
use super::surroundings::{Shared, Surroundings};
use super::wiring::GateCheck;
use crate::error::Result;
use crate::judge::samples::dumps::not_repeatable;
use crate::result::observation::Observation;
use crate::result::unit::RunCounts;
use crate::verdict::{PerSide, Verdict};

/// Judges each run of the candidate by `check`.
pub(super) fn judge(
    check: &GateCheck,
    sides: &mut Sides,
    surroundings: &Surroundings<'_>,
    shared: &Shared<'_>,
) -> Result<CheckOutcome> {
    let id = check.recogniser.check;
    let more = sides
        .samples
        .as_ref()
        .map_or(PerSide::default(), |sampled| PerSide::of(|side| sampled.further_runs[side].len()));
    let mut joined = CheckOutcome::new(id);
    let (mut failed, mut has) = (Vec::new(), PerSide::<Vec<bool>>::default());
    let mut counts = RunCounts { n: 1 + more.baseline as u64, m: 0, failed: 0 };
    for run in 0..=more.candidate {
        exchange(sides, run);
        let is_there = sides.candidate.has_files_of(id);
        let judged = (check.judge)(sides, surroundings, shared);
        exchange(sides, run);
        let mut one = judged?;
        has.candidate.push(is_there);
        if !is_there {
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
    joined.add_findings(not_repeatable(id, &failed, counts));
    if let Some(sampled) = sides.samples.as_ref().filter(|_| counts.m > 0) {
        joined.add_findings(
            sampled.runs.missing_metric_findings(id.as_str(), &has).into_iter().map(|finding| finding.of_check(id)),
        );
        joined.check.samples = Some(counts);
    }
    Ok(joined)
}

/// Swaps a further run with the candidate; a second call swaps it back. Run 0 is the candidate itself.
fn exchange(sides: &mut Sides, run: usize) {
    let Some(sampled) = &mut sides.samples else { return };
    if let Some(other) = run.checked_sub(1).and_then(|place| sampled.further_runs.candidate.get_mut(place)) {
        std::mem::swap(&mut sides.candidate, other);
    }
}

/// Adds the outcome of one run, whose name is noted in its findings.
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
