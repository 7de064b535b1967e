//! The dump check: dumps of both sides to a verdict and a culprit per step and rank.

pub(super) mod renaming;
mod units;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::checks::{GateCheck, Measuring};
use super::discover::{Evidence, Extent, Inventory, Recognised, Recogniser, Sample};
use super::{CheckOutcome, Shared};
use crate::diagnose::next_dump::Sizes;
use crate::diagnose::{Before, Diagnosis, Gradients};
use crate::error::{Error, ErrorKind, Result};
use crate::judge::apply_policy::apply_policy;
use crate::judge::dump::flow::Context;
use crate::judge::dump::unit::{JudgedUnit, judge};
use crate::judge::dump::update::Parameters;
use crate::judge::dump::{lines, rules};
use crate::judge::finding::{Finding, verdict_of};
use crate::judge::rule::{artifacts, policy as policy_rules};
use crate::judge::unit::{Check, Culprit, DumpUnit, ErrorLocation, Place, Unit, unit_place};
use crate::pair::dump::Renaming;
use crate::pair::unit::{Missing, UnitPair};
use crate::policy::Policy;
use crate::read::dump;
use crate::report::sink::{Dropped, Sink};
use crate::verdict::{CheckId, Side, Verdict};
use units::{Compared, Units};

use units::read_and_compare;

/// The check of dumps.
pub(super) const CHECK: GateCheck = GateCheck {
    recogniser: Recogniser { check: ID, by: Evidence::Place, extent: Extent::Content, look: recognise },
    judge: |sides, _, shared| check(&sides.baseline, &sides.candidate, shared),
    measure: Some(measure),
};

const ID: CheckId = CheckId::Dump;

fn recognise(sample: &Sample<'_>) -> Option<Recognised> {
    match dump::recognise(sample.files, sample.path, sample.head) {
        Some(folder) => Some(Recognised::read("dump", folder)),
        None if dump::is_part(sample.files.as_ref(), sample.path) => Some(Recognised::part("dump", "part of a dump")),
        None => None,
    }
}

/// Measures every unit; what cannot be read is found again, and said, when the parts are judged.
fn measure(measuring: &Measuring<'_>) -> Result<()> {
    let Measuring { baseline, candidate, request, measurements, progress } = *measuring;
    let (pairs, _) = crate::pair::unit::units(baseline.all(), candidate.all());
    let renaming = renaming::of(request);
    progress.begin("measuring dumps", pairs.len() as u64);
    for pair in &pairs {
        if let Ok(unit) = read_and_compare(pair, &request.policy, &renaming, measurements) {
            unit.table(&request.matching, measurements, &Dropped)?;
        }
        progress.advance(1);
    }
    Ok(())
}

/// Judges the dumps of both sides, step by step: a later step inherits from an earlier one, and within a step a
/// collective carries errors from rank to rank.
///
/// # Errors
/// Errors of the sink, where a line or table cannot be written.
pub fn check(baseline: &Inventory, candidate: &Inventory, shared: &Shared<'_>) -> Result<CheckOutcome> {
    let policy = &shared.request.policy;
    let mut outcome = CheckOutcome::new(ID);
    let (pairs, missing) = crate::pair::unit::units(baseline.all(), candidate.all());
    let mut steps: BTreeMap<u64, Vec<UnitPair<'_>>> = BTreeMap::new();
    for pair in pairs {
        steps.entry(pair.candidate.step).or_default().push(pair);
    }
    let mut earlier: HashMap<Option<u64>, Earlier> = HashMap::new();
    let mut limits_used = vec![false; policy.dump.limits.len()];
    shared.progress.begin("comparing dumps", steps.values().map(Vec::len).sum::<usize>() as u64);
    let renaming = renaming::of(shared.request);
    for pairs in steps.into_values() {
        for used in step(&pairs, &renaming, &mut earlier, shared, &mut outcome)? {
            limits_used.iter_mut().zip(used).for_each(|(known, here)| *known |= here);
        }
    }
    let mut findings: Vec<Finding> = missing.iter().map(missing_finding).collect();
    if !outcome.check.units.is_empty() {
        findings.extend(unused_limits(policy, &limits_used));
    }
    tell_prefixes_once(&mut outcome.findings);
    let applied = apply_policy(findings, policy);
    outcome.findings.extend(applied.findings);
    outcome.waived.extend(applied.waived);
    let units = outcome.check.units.iter().map(|unit| unit.verdict());
    let findings = (!outcome.findings.is_empty()).then(|| verdict_of(&outcome.findings));
    outcome.check.verdict = Verdict::of_all(units.chain(findings));
    Ok(outcome)
}

/// State of a rank after a step, which its later steps inherit.
#[derive(Clone, Default)]
struct Earlier {
    largest_error: f64,
    gradients: f64,
    parameters: Arc<Parameters>,
    recorded: Option<(u64, Gradients)>,
    culprit: Option<Place>,
}

impl Earlier {
    /// The step before, as causes may know it.
    fn before(&self) -> Option<Before<'_>> {
        let (step, gradients) = self.recorded.as_ref()?;
        Some(Before { step: *step, parameters: &self.parameters, gradients })
    }
}

/// A unit that was judged, and where it is to be found again.
struct Judged<'a> {
    place: usize,
    pair: &'a UnitPair<'a>,
    unit: JudgedUnit,
    gradients: Gradients,
}

/// Judges the units of a step, one after the other.
fn step(
    pairs: &[UnitPair<'_>],
    renaming: &Renaming,
    earlier: &mut HashMap<Option<u64>, Earlier>,
    shared: &Shared<'_>,
    outcome: &mut CheckOutcome,
) -> Result<Vec<Vec<bool>>> {
    let Shared { request, measurements, sink, .. } = *shared;
    let policy = &request.policy;
    let mut units = Units::new(policy, renaming, measurements);
    let (collectives, parted) =
        units.across_ranks(pairs, shared.progress, |pair, errors| unreadable(pair, errors, policy, outcome));
    let mut context = Context { collectives, parted, ..Context::default() };
    let is_first = earlier.values().all(|earlier| earlier.culprit.is_none());
    let mut judged = Vec::new();
    let mut diagnoses = BTreeMap::new();
    for (place, pair) in units.readable() {
        let unit = match units.get(place, pair) {
            Ok(unit) => unit,
            Err(errors) => {
                unreadable(pair, &errors, policy, outcome);
                continue;
            }
        };
        if let Some(before) = earlier.get(&pair.candidate.rank) {
            (context.earlier_steps, context.earlier_gradients) = (before.largest_error, before.gradients);
            context.parameters = Arc::clone(&before.parameters);
        } else {
            (context.earlier_steps, context.earlier_gradients) = (0.0, 0.0);
            context.parameters = Arc::default();
        }
        let (table, judgement) = rayon::join(
            || unit.table(&request.matching, measurements, sink),
            || judge_unit(unit, &context, policy, sink),
        );
        table?;
        let judgement = judgement?;
        refuse_uncounted(&judgement, policy)?;
        if is_first && judgement.unit.culprit.is_none() {
            diagnoses.insert(place, unit.diagnose(&judgement, &[], None));
        }
        judged.push(Judged { place, pair, unit: judgement, gradients: Gradients::of(&unit.input()) });
    }
    if is_first {
        let has_culprit = judged.iter().any(|judged| judged.unit.unit.culprit.is_some());
        if has_culprit {
            outcome.diagnoses.iter_mut().for_each(Diagnosis::doubt);
        }
        let (sizes, location) = diagnose_first(&judged, &mut units, earlier, &mut diagnoses);
        outcome.sizes = Some(sizes);
        let guilty = location.as_ref().map(|(place, _)| *place);
        if let Some(judged) = judged.iter_mut().find(|judged| Some(judged.place) == guilty)
            && let Some(culprit) = &mut judged.unit.unit.culprit
        {
            culprit.location = location.map(|(_, location)| location);
        }
        outcome.diagnoses.extend(diagnoses.into_values().flatten());
    }
    let mut judged: Vec<JudgedUnit> = judged
        .into_iter()
        .map(|judged| {
            earlier.entry(judged.unit.unit.rank).or_default().recorded =
                Some((judged.unit.unit.step, judged.gradients));
            judged.unit
        })
        .collect();
    inherit(&mut judged, earlier);
    let mut limits_used = Vec::new();
    for unit in judged {
        limits_used.push(unit.limits_used);
        outcome.check.units.push(Unit::Dump(Box::new(unit.unit)));
        outcome.findings.extend(unit.findings);
        outcome.waived.extend(unit.waived);
    }
    Ok(limits_used)
}

/// Judges a unit and writes its lines; what grows with the unit goes with it.
fn judge_unit(unit: &Compared<'_>, context: &Context, policy: &Policy, sink: &dyn Sink) -> Result<JudgedUnit> {
    let input = unit.input();
    let mut judged = judge(&input, context, policy);
    let flows = std::mem::take(&mut judged.flows);
    lines::of_unit(&input, &flows).try_for_each(|line| sink.line(line))?;
    Ok(judged)
}

/// Looks for causes at the first culprit of the step, with the other ranks beside it; says what its operations weigh, and
/// where in the culprit's tensor of which unit the error lies.
fn diagnose_first<'a>(
    judged: &[Judged<'a>],
    units: &mut Units<'a>,
    earlier: &HashMap<Option<u64>, Earlier>,
    diagnoses: &mut BTreeMap<usize, Vec<Diagnosis>>,
) -> (Sizes, Option<(usize, ErrorLocation)>) {
    let nothing = || (Sizes::default(), None);
    let Some(culprit) = first_of(judged.iter().map(|judged| &judged.unit.unit)) else { return nothing() };
    let guilty = judged.iter().find(|judged| judged.unit.unit.culprit.as_ref() == Some(culprit));
    let Some(Judged { place, pair, unit, .. }) = guilty else { return nothing() };
    let peers = units.peers(&culprit.op, *place);
    // What cannot be read again has been judged all the same; its cause stays unnamed.
    let Ok(compared) = units.get(*place, pair) else { return nothing() };
    let before = earlier.get(&pair.candidate.rank).and_then(Earlier::before);
    // What was said of units without a culprit does not explain this one.
    diagnoses.values_mut().flatten().for_each(Diagnosis::doubt);
    diagnoses.insert(*place, compared.diagnose(unit, &peers, before));
    let location = compared.location(unit).map(|location| (*place, location));
    (Sizes::of(culprit, diagnoses.values().flatten(), compared.candidate()), location)
}

/// Keeps the first of several findings about one prefix: steps and ranks have the same names.
fn tell_prefixes_once(findings: &mut Vec<Finding>) {
    let mut told = HashSet::new();
    findings.retain(|finding| {
        finding.code != rules::MODULE_PREFIX.code || told.insert(format!("{:?}", finding.facts.get("prefix")))
    });
}

/// Refuses limits that need the elements of tensors where a dump holds none at all: judged by other limits, its numbers would
/// pass or fail for reasons that the policy does not give.
fn refuse_uncounted(judged: &JudgedUnit, policy: &Policy) -> Result<()> {
    let Some(uncounted) = judged.uncounted.as_ref().filter(|_| judged.unit.data != "tensor") else { return Ok(()) };
    let limit = policy.dump.limits.get(uncounted.rule);
    let key = limit.and_then(|limit| limit.of_elements().next()).unwrap_or_default();
    let message = format!(
        "`{key}` needs the elements of `{}`, and the dump of {} holds {} only",
        uncounted.first,
        unit_place(judged.unit.step, judged.unit.rank),
        if judged.unit.data == "statistics" { "statistics" } else { "checksums" }
    );
    Err(Error::new(ErrorKind::Policy, format!("dump.limits[{}]", uncounted.rule), message)
        .with_help("dump both runs with `task: tensor`, or limit these operations by `noise` and `wrong`, which statistics have too"))
}

/// A limit rule of the policy that fits nothing protects nothing.
fn unused_limits(policy: &Policy, used: &[bool]) -> Vec<Finding> {
    let unused = policy.dump.limits.iter().zip(used).filter(|(_, used)| !**used);
    unused.map(|(rule, _)| Finding::new(&policy_rules::SELECTOR_UNUSED, rule.name())).collect()
}

/// A unit whose records cannot be read is there, and incomplete.
fn unreadable(pair: &UnitPair<'_>, errors: &[(Side, Error)], policy: &Policy, outcome: &mut CheckOutcome) {
    let finding = |(side, error): &(Side, Error)| {
        Finding::new(&artifacts::DAMAGED, error.subject())
            .of_check(ID)
            .with("side", side.as_str())
            .with("reason", error.message())
            .with("help", error.help().unwrap_or_default())
    };
    let applied = apply_policy(errors.iter().map(finding).collect(), policy);
    let mut unit = DumpUnit::unread(pair.candidate.step, pair.candidate.rank);
    unit.verdict = verdict_of(&applied.findings);
    outcome.check.units.push(Unit::Dump(Box::new(unit)));
    outcome.findings.extend(applied.findings);
    outcome.waived.extend(applied.waived);
}

/// Says of every unit that only inherits where its error came from, and remembers what later steps have to know.
fn inherit(judged: &mut [JudgedUnit], earlier: &mut HashMap<Option<u64>, Earlier>) {
    let place = |culprit: &Culprit| Place { step: culprit.step, rank: culprit.rank, op: culprit.op.clone() };
    let first = first_of(judged.iter().map(|unit| &unit.unit)).map(place);
    for unit in judged {
        let before = earlier.entry(unit.unit.rank).or_default();
        if unit.unit.culprit.is_none() && unit.differs {
            unit.unit.inherited_from = before.culprit.clone().or_else(|| first.clone());
        }
        before.largest_error = before.largest_error.max(unit.largest_error);
        before.gradients = before.gradients.max(unit.gradients);
        before.parameters = Arc::new(std::mem::take(&mut unit.parameters));
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
    let finding =
        Finding::new(rule, &folder.records).of_check(ID).with("side", side.as_str()).with("step", folder.step);
    let finding = finding.with("rank", folder.rank.map_or_else(String::new, |rank| rank.to_string()));
    if let Missing::Ambiguous { .. } = missing {
        return finding.with("kind", "dump").with("count", 2_usize).with("paths", vec![folder.records.clone()]);
    }
    finding
}

/// The culprit the comment names: of the earliest step that has one, the first in execution order, lowest rank first.
pub fn first_culprit(checks: &[Check]) -> Option<Culprit> {
    let units = checks.iter().filter(|check| check.id == ID).flat_map(|check| &check.units);
    let units = units.filter_map(|unit| match unit {
        Unit::Dump(unit) => Some(unit.as_ref()),
        _ => None,
    });
    first_of(units).cloned()
}

fn first_of<'a>(units: impl Iterator<Item = &'a DumpUnit>) -> Option<&'a Culprit> {
    let culprits = units.filter_map(|unit| unit.culprit.as_ref());
    culprits.min_by_key(|culprit| (culprit.step, culprit.order, culprit.rank))
}
