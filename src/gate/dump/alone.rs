//! Judging dumps without a baseline: non-finite and saturated values, step by step, beside the operations that msprobe's
//! `overflow_check` names.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::compare::run::Snapshot;
use crate::fetch::Source;
use crate::fetch::progress::Progress;
use crate::gate::discover::Inventory;
use crate::gate::outcome::{CheckOutcome, damaged_finding};
use crate::judge::apply_policy::decide;
use crate::judge::dump::alone::{self, DumpScan, StepRank};
use crate::judge::dump::rules;
use crate::judge::dump::unit::kind_of_data;
use crate::judge::rule::artifacts;
use crate::judge::run::watch::Watch;
use crate::kind::Role;
use crate::msprobe::overflow_check::{self, RankOverflow};
use crate::pair::unit::units_of_one_side;
use crate::policy::Policy;
use crate::read::curve::CurveFile;
use crate::read::dump::DumpFolder;
use crate::read::metric;
use crate::read::overflow_check as answer;
use crate::result::finding::Finding;
use crate::result::run::{self, Invariant, InvariantState};
use crate::result::unit::{Culprit, DumpUnit, Evidence, Place, Unit, unit_place};
use crate::verdict::{CheckId, Side};

/// One step and rank after the scan.
struct Looked {
    at: StepRank,
    scan: DumpScan,
    /// Kind of data; empty where nothing could be read.
    data: String,
    findings: Vec<Finding>,
}

/// Judges the candidate's dumps, one in memory at a time. Damage is a finding of its unit.
pub(in crate::gate) fn check(candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(CheckId::Dump);
    let (folders, doubled) = units_of_one_side(candidate.artifacts::<DumpFolder>());
    let missing = ranks_missing(&folders);
    progress.begin("looking through dumps", folders.len() as u64);
    let mut steps: BTreeMap<u64, Vec<&DumpFolder>> = BTreeMap::new();
    for folder in folders {
        steps.entry(folder.step).or_default().push(folder);
    }
    let mut watch = Watch::new(&policy.health.replicas);
    for (at, ranks) in steps {
        watch.add_step(at, step(&ranks, policy, progress, &mut outcome));
    }
    let (told, looked) = watch.finish(training_steps(candidate));
    carry_checksums(&mut outcome, &looked);
    outcome.add_findings(told);
    outcome.looked.extend(looked);
    let twice = doubled.into_iter().map(|folder| {
        let finding = Finding::new(&artifacts::AMBIGUOUS, &folder.records).of_check(CheckId::Dump);
        let finding = finding.with("side", Side::Candidate.as_str()).with("kind", "dump").with("count", 2_usize);
        finding.with("paths", vec![folder.records.clone()])
    });
    let mut findings: Vec<Finding> = twice.chain(missing).collect();
    findings.extend(candidate.overflow_checks().iter().map(answer_of));
    outcome.add_findings(findings);
    outcome
}

/// Findings about ranks that one step has and another lacks.
fn ranks_missing(folders: &[&DumpFolder]) -> Vec<Finding> {
    let mut steps: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for folder in folders {
        steps.entry(folder.step).or_default().extend(folder.rank);
    }
    let all: BTreeSet<u64> = steps.values().flatten().copied().collect();
    let missing = |(step, ranks): (&u64, &BTreeSet<u64>)| {
        let place = format!("step{step}");
        let finding = |rank: u64| {
            Finding::new(&rules::RANK_MISSING, place.as_str())
                .with("side", Side::Candidate.as_str())
                .with("step", *step)
                .with("rank", rank.to_string())
        };
        all.difference(ranks).copied().map(finding).collect::<Vec<_>>()
    };
    steps.iter().flat_map(missing).collect()
}

/// The finding that shows an output of `overflow_check`.
fn answer_of(source: &Source) -> Finding {
    let finding = Finding::new(&rules::OVERFLOW_CHECK, source.name()).with("source", "file");
    match answer::read(source.as_ref()) {
        Ok(names) => finding.with("count", names.len()).with("names", shown(&names)),
        Err(error) => finding.with("count", 0_usize).with("reason", error.message()),
    }
}

/// The first of many names.
fn shown(names: &[String]) -> Vec<String> {
    /// Names that a finding lists.
    const SHOWN: usize = 10;
    names.iter().take(SHOWN).cloned().collect()
}

/// Judges the ranks of a step, and returns a snapshot of each for comparing the steps with each other.
fn step(
    folders: &[&DumpFolder],
    policy: &Policy,
    progress: &dyn Progress,
    outcome: &mut CheckOutcome,
) -> BTreeMap<u64, Snapshot> {
    let (mut looked, mut ranks, mut snapshots) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for folder in folders {
        let (one, snapshot) = look(folder, &mut ranks);
        snapshots.extend(snapshot.map(|snapshot| (one.at.rank.unwrap_or_default(), snapshot)));
        looked.push(one);
        progress.advance(1);
    }
    let mut names = overflow_check::named_operations(&ranks);
    let origin = origin(&looked);
    for one in looked {
        let named = names.remove(&one.at.rank);
        add(one, named, origin.as_ref(), policy, outcome);
    }
    snapshots
}

/// Number of training steps by a log beside the dumps.
fn training_steps(candidate: &Inventory) -> Option<u64> {
    let series = candidate.artifacts::<CurveFile>().iter().flat_map(|file| &file.series);
    series.filter(|series| metric::role(series.name()) == Role::Loss).map(|series| series.shape().len as u64).max()
}

/// Counts checksums as compared, where they were compared between ranks. Alone, they show no NaN and are only shown.
fn carry_checksums(outcome: &mut CheckOutcome, looked: &[run::Looked]) {
    let replicas = looked.iter().find(|one| one.invariant == Invariant::Replicas);
    if replicas.is_none_or(|one| one.state == InvariantState::NotLooked) {
        return;
    }
    for unit in &mut outcome.check.units {
        if let Unit::Dump(unit) = unit
            && unit.evidence.compared == 0
        {
            std::mem::swap(&mut unit.evidence.compared, &mut unit.evidence.shown_only);
        }
    }
    outcome.observations.retain(|one| !one.finding.is(&rules::NOTHING_COMPARED));
}

fn look(folder: &DumpFolder, ranks: &mut BTreeMap<Option<u64>, RankOverflow>) -> (Looked, Option<Snapshot>) {
    let at = StepRank { step: folder.step, rank: folder.rank };
    match folder.read() {
        Ok(dump) => {
            ranks.extend(overflow_check::rank_overflow(&dump).map(|rank| (at.rank, rank)));
            let scan = alone::scan(&dump, at);
            let findings = alone::gap_findings(&dump, &scan, at);
            (Looked { at, scan, data: kind_of_data(&dump).to_owned(), findings }, Some(Snapshot::from_dump(&dump)))
        }
        Err(error) => (
            Looked {
                at,
                scan: DumpScan::default(),
                data: String::new(),
                findings: vec![damaged_finding(CheckId::Dump, Side::Candidate, &error)],
            },
            None,
        ),
    }
}

/// The earliest operation of the step, over all ranks, that is not a collective and that makes NaN or infinity.
fn origin(looked: &[Looked]) -> Option<Culprit> {
    let births = looked.iter().filter_map(|one| one.scan.culprit.as_ref()).filter(|culprit| !culprit.kind.is_minor());
    let place = |culprit: &&Culprit| {
        let collectives = culprit.metrics.get(alone::COLLECTIVES).map_or(0.0, |count| count.0);
        (collectives, culprit.order, culprit.rank)
    };
    births.min_by(|a, b| place(a).partial_cmp(&place(b)).unwrap_or(Ordering::Equal)).cloned()
}

/// The culprit of a unit, and the place that its wrong values came from where another rank produced them.
fn settle(scan: DumpScan, origin: Option<&Culprit>) -> (Option<Culprit>, Option<Place>) {
    let DumpScan { culprit, received, .. } = scan;
    let own = culprit.filter(|own| received.is_none() || !own.kind.is_minor());
    let Some((before, received)) = received else { return (own, None) };
    let collectives = |culprit: &Culprit| culprit.metrics.get(alone::COLLECTIVES).map_or(0.0, |count| count.0);
    #[allow(clippy::cast_precision_loss, reason = "a count of operations")]
    let before = before as f64;
    if own.as_ref().is_some_and(|own| collectives(own) <= before) {
        return (own, None);
    }
    match origin.filter(|origin| origin.rank != received.rank && collectives(origin) <= before) {
        Some(origin) => {
            let from = Place { step: origin.step, rank: origin.rank, op: origin.op.clone() };
            (Some(received), Some(from))
        }
        None => (Some(received), None),
    }
}

/// Adds a unit with its findings.
fn add(
    looked: Looked,
    named: Option<Vec<String>>,
    origin: Option<&Culprit>,
    policy: &Policy,
    outcome: &mut CheckOutcome,
) {
    let Looked { at, scan, data, mut findings } = looked;
    let (seen, unseen, checksummed) = (scan.with_statistics, scan.without_statistics.0, scan.checksummed);
    let (culprit, from) = settle(scan, origin);
    if let Some(culprit) = &culprit {
        let finding = alone::culprit_finding(culprit);
        findings.push(match &from {
            Some(Place { rank: Some(rank), op, .. }) => finding.with("from_rank", *rank).with("from", op.as_str()),
            _ => finding,
        });
    }
    if let Some(names) = named.as_ref().filter(|names| !names.is_empty()) {
        let is_same = culprit.as_ref().is_some_and(|culprit| names.contains(&culprit.op));
        let unit = unit_place(at.step, at.rank);
        let finding = Finding::new(&rules::OVERFLOW_CHECK, &unit).with("unit", unit).with("source", "rule");
        let finding = finding.with("count", names.len()).with("names", shown(names));
        findings.push(finding.with("is_same", u64::from(is_same)));
    }
    let counts = |culprit: &Culprit| {
        let severity = if culprit.kind.is_minor() { rules::SATURATED.severity } else { rules::NON_FINITE.severity };
        decide(&culprit.code, &culprit.tensor, severity, policy).counts()
    };
    let culprit = culprit.filter(|culprit| from.is_none() && counts(culprit));
    let unit = DumpUnit {
        data,
        compared: seen,
        not_compared: unseen,
        evidence: Evidence { compared: seen, shown_only: checksummed, damaged: unseen, ..Evidence::default() },
        culprit,
        inherited_from: from,
        msprobe_overflow: named,
        ..DumpUnit::unread(at.step, at.rank)
    };
    outcome.add_unit(Unit::Dump(Box::new(unit)), findings);
}
