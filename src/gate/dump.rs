//! The dump check: dumps of both sides to a verdict and a culprit per step and rank.

use std::collections::{BTreeMap, HashMap};

use rayon::prelude::*;

use super::discover::Inventory;
use super::dump_tables::{self, Dumps};
use super::{CheckOutcome, Shared};
use crate::compare::book::Book;
use crate::compare::dump::{self as compare, UnitComparison};
use crate::diagnose::{self, Peer, Scene};
use crate::error::{Error, Result};
use crate::judge::dump::flow::Context;
use crate::judge::dump::unit::{JudgedUnit, UnitInput, judge};
use crate::judge::dump::{lines, preset, rules};
use crate::judge::finding::{Finding, verdict_of};
use crate::judge::rule::{artifacts, policy as policy_rules};
use crate::judge::settle::settle;
use crate::judge::unit::{Check, Culprit, DumpUnit, Place, Unit};
use crate::msprobe::dump::Matching;
use crate::pair::unit::{Missing, UnitPair};
use crate::policy::Policy;
use crate::read::dump::Dump;
use crate::report::sink::Sink;
use crate::verdict::{CheckId, Side, Verdict};

/// Judges the dumps of both sides, step by step: a later step inherits from an earlier one, and within a step a
/// collective carries errors from rank to rank.
///
/// # Errors
/// What the sink gives.
pub fn check(baseline: &Inventory, candidate: &Inventory, shared: &Shared<'_>) -> Result<CheckOutcome> {
    let policy = &shared.request.policy;
    let mut outcome = CheckOutcome::new(CheckId::Dump);
    let (pairs, missing) = crate::pair::unit::units(&baseline.dumps, &candidate.dumps);
    let mut steps: BTreeMap<u64, Vec<UnitPair<'_>>> = BTreeMap::new();
    for pair in pairs {
        steps.entry(pair.candidate.step).or_default().push(pair);
    }
    let mut earlier: HashMap<Option<u64>, Earlier> = HashMap::new();
    let mut limits_used = vec![false; policy.dump.limits.len()];
    shared.progress.begin("comparing dumps", steps.values().map(Vec::len).sum::<usize>() as u64);
    for pairs in steps.into_values() {
        for used in step(&pairs, &mut earlier, shared, &mut outcome)? {
            limits_used.iter_mut().zip(used).for_each(|(known, here)| *known |= here);
        }
    }
    let mut findings: Vec<Finding> = missing.iter().map(missing_finding).collect();
    if !outcome.check.units.is_empty() {
        findings.extend(unused_limits(policy, &limits_used));
    }
    let settled = settle(findings, policy);
    outcome.findings.extend(settled.findings);
    outcome.waived.extend(settled.waived);
    let units = outcome.check.units.iter().map(Unit::verdict);
    let findings = (!outcome.findings.is_empty()).then(|| verdict_of(&outcome.findings));
    outcome.check.verdict = Verdict::of_all(units.chain(findings));
    Ok(outcome)
}

/// What a later step of a rank has to know.
#[derive(Clone, Default)]
struct Earlier {
    largest_error: f64,
    culprit: Option<Place>,
}

/// A unit that was read and compared.
pub(super) struct Compared<'a> {
    pair: &'a UnitPair<'a>,
    baseline: Dump,
    candidate: Dump,
    comparison: UnitComparison,
}

fn step(
    pairs: &[UnitPair<'_>],
    earlier: &mut HashMap<Option<u64>, Earlier>,
    shared: &Shared<'_>,
    outcome: &mut CheckOutcome,
) -> Result<Vec<Vec<bool>>> {
    let Shared { book, sink, .. } = *shared;
    let policy = &shared.request.policy;
    let mut compared = Vec::new();
    for pair in pairs {
        match read_and_compare(pair, policy, book) {
            Ok(unit) => compared.push(unit),
            Err(errors) => unreadable(pair, &errors, policy, outcome),
        }
        shared.progress.advance(1);
    }
    compared.iter().try_for_each(|unit| unit.table(&shared.request.matching, book, sink))?;
    let collectives = collective_errors(&compared);
    let mut judged: Vec<JudgedUnit> = compared
        .par_iter()
        .map(|unit| {
            let earlier_steps = earlier.get(&unit.pair.candidate.rank).map_or(0.0, |earlier| earlier.largest_error);
            let context = Context { collectives: collectives.clone(), earlier_steps };
            judge(&unit.input(), &context, policy)
        })
        .collect();
    if earlier.values().all(|earlier| earlier.culprit.is_none()) {
        diagnose(&compared, &judged, outcome);
    }
    inherit(&mut judged, earlier);
    let culprits = judged.iter().filter_map(|unit| unit.unit.culprit.as_ref());
    culprits.for_each(|culprit| outcome.sizes.ask(culprit, &outcome.diagnoses));
    let mut limits_used = Vec::new();
    for (unit, compared) in judged.into_iter().zip(&compared) {
        for line in lines::of_unit(&compared.input(), &unit.flows) {
            outcome.sizes.add(&line);
            sink.line(line)?;
        }
        limits_used.push(unit.limits_used);
        outcome.check.units.push(Unit::Dump(Box::new(unit.unit)));
        outcome.findings.extend(unit.findings);
        outcome.waived.extend(unit.waived);
    }
    Ok(limits_used)
}

/// Looks for causes while the dumps are at hand: at the first culprit of the step, and at units that have none.
fn diagnose(compared: &[Compared<'_>], judged: &[JudgedUnit], outcome: &mut CheckOutcome) {
    let first = first_of(judged.iter().map(|unit| &unit.unit));
    let inputs: Vec<Peer<'_>> = compared.iter().map(Compared::input).collect();
    for (index, (unit, input)) in judged.iter().zip(&inputs).enumerate() {
        if unit.unit.culprit.as_ref().is_some_and(|culprit| first != Some(culprit)) {
            continue;
        }
        let peers = inputs.iter().enumerate().filter(|(other, _)| *other != index);
        let peers: Vec<Peer<'_>> = peers.map(|(_, peer)| *peer).collect();
        let Some(folders) = compared.get(index).map(|unit| *unit.pair) else { continue };
        let scene = Scene { input, unit: &unit.unit, findings: &unit.findings, folders, peers: &peers };
        outcome.diagnoses.extend(diagnose::in_dump(&scene));
    }
}

/// A limit rule of the policy that fits nothing protects nothing.
fn unused_limits(policy: &Policy, used: &[bool]) -> Vec<Finding> {
    let unused = policy.dump.limits.iter().zip(used).filter(|(_, used)| !**used);
    unused.map(|(rule, _)| Finding::new(&policy_rules::SELECTOR_UNUSED, rule.name())).collect()
}

impl Compared<'_> {
    /// Gives msprobe's table, from the tensors that were compared for the verdict already where it pairs alike.
    pub(super) fn table(&self, matching: &Matching, book: &Book, sink: &dyn Sink) -> Result<()> {
        let known = dump_tables::measured(&self.comparison);
        let dumps = Dumps { folders: *self.pair, baseline: &self.baseline, candidate: &self.candidate };
        dump_tables::table(&dumps, matching, &known, book).map_or(Ok(()), |table| sink.table(table))
    }

    fn input(&self) -> UnitInput<'_> {
        UnitInput {
            step: self.pair.candidate.step,
            rank: self.pair.candidate.rank,
            baseline: &self.baseline,
            candidate: &self.candidate,
            comparison: &self.comparison,
        }
    }
}

/// Reads both sides of a unit and compares them.
pub(super) fn read_and_compare<'a>(
    pair: &'a UnitPair<'a>,
    policy: &Policy,
    book: &Book,
) -> std::result::Result<Compared<'a>, Vec<(Side, Error)>> {
    let (baseline, candidate) = rayon::join(|| pair.baseline.read(), || pair.candidate.read());
    match (baseline, candidate) {
        (Ok(baseline), Ok(candidate)) => {
            let pairs = crate::pair::dump::operations(&baseline, &candidate);
            let preset = policy.dump.preset;
            let tolerance = |left, right| preset.and_then(|preset| preset::tolerance(preset, left, right));
            let tolerance: Option<&(dyn Fn(_, _) -> _ + Sync)> = if preset.is_some() { Some(&tolerance) } else { None };
            let folders = compare::Folders { baseline: pair.baseline, candidate: pair.candidate, book, tolerance };
            let comparison = compare::unit(&baseline, &candidate, &pairs, &folders);
            Ok(Compared { pair, baseline, candidate, comparison })
        }
        (baseline, candidate) => {
            let errors = [(Side::Baseline, baseline.err()), (Side::Candidate, candidate.err())];
            Err(errors.into_iter().filter_map(|(side, error)| Some((side, error?))).collect())
        }
    }
}

/// A unit whose records cannot be read is there, and incomplete.
fn unreadable(pair: &UnitPair<'_>, errors: &[(Side, Error)], policy: &Policy, outcome: &mut CheckOutcome) {
    let finding = |(side, error): &(Side, Error)| {
        Finding::new(&artifacts::DAMAGED, error.subject())
            .of_check(CheckId::Dump)
            .with("side", side.as_str())
            .with("reason", error.message())
            .with("help", error.help().unwrap_or_default())
    };
    let settled = settle(errors.iter().map(finding).collect(), policy);
    let mut unit = DumpUnit::unread(pair.candidate.step, pair.candidate.rank);
    unit.verdict = verdict_of(&settled.findings);
    outcome.check.units.push(Unit::Dump(Box::new(unit)));
    outcome.findings.extend(settled.findings);
    outcome.waived.extend(settled.waived);
}

/// The largest error that enters each collective on any rank of the step.
fn collective_errors(units: &[Compared<'_>]) -> HashMap<String, f64> {
    let mut errors: HashMap<String, f64> = HashMap::new();
    for unit in units.iter().filter(|_| units.len() > 1) {
        for comparison in &unit.comparison.operations {
            let operation = comparison.pair.candidate.and_then(|index| unit.candidate.operations.get(index));
            let Some(operation) = operation.filter(|operation| operation.name.starts_with("Distributed.")) else {
                continue;
            };
            let entering = errors.entry(operation.name.clone()).or_default();
            *entering = compare::input_error(operation, comparison).max(*entering);
        }
    }
    errors
}

/// Says of every unit that only inherits where its error came from, and remembers what later steps have to know.
fn inherit(judged: &mut [JudgedUnit], earlier: &mut HashMap<Option<u64>, Earlier>) {
    let place = |culprit: &Culprit| Place { step: culprit.step, rank: culprit.rank, op: culprit.op.clone() };
    let first = judged.iter().filter_map(|unit| unit.unit.culprit.as_ref()).map(place).next();
    for unit in judged {
        let before = earlier.entry(unit.unit.rank).or_default();
        if unit.unit.culprit.is_none() && unit.differs {
            unit.unit.inherited_from = before.culprit.clone().or_else(|| first.clone());
        }
        before.largest_error = before.largest_error.max(unit.largest_error);
        let origin = unit.unit.culprit.as_ref().map(place).or_else(|| unit.unit.inherited_from.clone());
        before.culprit = before.culprit.take().or(origin);
    }
}

fn missing_finding(missing: &Missing<'_>) -> Finding {
    let (rule, folder, side) = match missing {
        Missing::Step { folder, side } => (&rules::STEP_MISSING, *folder, *side),
        Missing::Rank { folder, side } => (&rules::RANK_MISSING, *folder, *side),
        Missing::Ambiguous { folder, side } => (&artifacts::AMBIGUOUS, *folder, *side),
    };
    let finding = Finding::new(rule, &folder.records)
        .of_check(CheckId::Dump)
        .with("side", side.as_str())
        .with("step", folder.step);
    let finding = finding.with("rank", folder.rank.map_or_else(String::new, |rank| rank.to_string()));
    if let Missing::Ambiguous { .. } = missing {
        return finding.with("count", 2_usize).with("paths", vec![folder.records.clone()]);
    }
    finding
}

/// The culprit the comment names: of the earliest step that has one, the first in execution order, lowest rank first.
pub fn first_culprit(checks: &[Check]) -> Option<Culprit> {
    let units = checks.iter().filter(|check| check.id == CheckId::Dump).flat_map(|check| &check.units);
    let units = units.filter_map(|unit| match unit {
        Unit::Dump(unit) => Some(unit.as_ref()),
        _ => None,
    });
    first_of(units).cloned()
}

fn first_of<'a>(units: impl Iterator<Item = &'a DumpUnit>) -> Option<&'a Culprit> {
    let culprits = units.filter_map(|unit| {
        let culprit = unit.culprit.as_ref()?;
        let order = unit.profile.iter().position(|point| point.op == culprit.op).unwrap_or(usize::MAX);
        Some(((culprit.step, order, culprit.rank), culprit))
    });
    culprits.min_by_key(|(key, _)| *key).map(|(_, culprit)| culprit)
}
