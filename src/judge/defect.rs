//! Defects: root findings, and the findings that are their consequences.
//!
//! A waiver covers a defect together with its consequences, which are then not judged. An exact fault (a NaN, another shape or type)
//! is never a consequence of an error of numbers, and neither is a finding that receives nothing from the root: of another rank,
//! task or parameter, or of a metric that diverges earlier.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::operators::rules::operator;
use super::performance::culprit::outstanding_rank;
use super::register;
use super::rule::Rule;
use super::{checkpoint, dump, evaluation, loss, monitor, operators, performance};
use crate::result::GateResult;
use crate::result::finding::{Fact, Finding};
use crate::result::observation::Observation;
use crate::result::unit::{Check, CurveUnit, EvaluationScope, EvaluationUnit, MonitorUnit, Unit, profiles};
use crate::verdict::{CheckId, Severity};

/// Findings about numbers, which may be consequences of an earlier finding.
const NUMERIC: [&Rule; 40] = [
    &dump::rules::OUTPUT_DIVERGES,
    &dump::rules::OTHER_PRECISION,
    &dump::rules::INPUT_DIFFERS,
    &dump::rules::NEAR_TIE,
    &dump::rules::CHECKSUM_DIFFERS,
    &dump::rules::OUTLIERS,
    &dump::rules::ERROR_ACCUMULATES,
    &dump::rules::IN_PLACE_ARGUMENT,
    &dump::rules::LIMIT_NOT_MET,
    &dump::rules::INTEGER_DIFFERS,
    &monitor::rules::JUMP,
    &monitor::rules::NOISE_HORIZON,
    &performance::rules::SLOWER,
    &performance::rules::JITTER,
    &evaluation::rules::DROP,
    &evaluation::rules::SMALL_DROP,
    &evaluation::rules::POSSIBLE_DROP,
    &evaluation::rules::ANSWERS_CHANGED,
    &evaluation::rules::OUTSIDE_BAND,
    &loss::code::STEP_1,
    &loss::code::HEAD,
    &loss::code::MEAN,
    &loss::code::TAIL,
    &loss::code::SPREAD,
    &loss::code::DEPARTURE,
    &loss::code::PEAK,
    &loss::code::SPIKES,
    &loss::code::ORDER,
    &loss::code::ONSET,
    &loss::code::RANDOMNESS,
    &loss::code::FIRST_STEP,
    &loss::code::GRAD_NORM,
    &loss::code::WORSE,
    &loss::code::DIFFERENCE,
    &loss::code::PRESET,
    &loss::code::RL_REWARD_LOWER,
    &loss::code::RL_LENGTH,
    &loss::code::RL_ENTROPY,
    &loss::code::RL_KL,
    &loss::code::EXPLODING,
];

/// Defects that waivers accept, all of one check.
pub(crate) struct AcceptedDefects<'a> {
    roots: Vec<Root<'a>>,
    places: Places,
    /// Place of the rank that the other ranks of a profile wait for.
    standing: Option<usize>,
}

impl<'a> AcceptedDefects<'a> {
    /// The accepted defects of `check`.
    pub(crate) fn from_observations(observations: impl IntoIterator<Item = &'a Observation>, check: &Check) -> Self {
        let roots: Vec<Root<'a>> = observations.into_iter().map(Root::new).collect();
        let mut places = Places::default();
        for (place, root) in roots.iter().enumerate() {
            places.add(place, kin(root.observation, check));
        }
        let standing = if roots.is_empty() { None } else { place_of_awaited_rank(check) };
        Self { roots, places, standing }
    }

    /// Place of the first accepted defect that `observation` is a consequence of.
    pub(crate) fn first_cause(&self, observation: &Observation, check: &Check) -> Option<usize> {
        if self.roots.is_empty() {
            return None;
        }
        let other = Root::new(observation);
        let is_cause =
            |place: &usize| self.roots.get(*place).is_some_and(|root| root.is_cause_of(other, check, || self.standing));
        let kin = kin(observation, check);
        let causes = self.places.causes(&kin);
        causes.filter_map(|list| list.iter().copied().find(is_cause)).min()
    }
}

/// Whether a finding is about numbers, and so may be a consequence of an earlier finding.
fn is_numeric(finding: &Finding) -> bool {
    finding.is_any(&NUMERIC) || finding.is_any(&operators::rules::NUMERIC)
}

/// Place of the rank that the other ranks of a profile wait for.
fn place_of_awaited_rank(check: &Check) -> Option<usize> {
    outstanding_rank(profiles(std::slice::from_ref(check))).map(|standing| standing.place)
}

/// Whether `other` is a consequence of `root`. The flags say which of the two are about numbers; `standing` gives the place of the
/// rank that the others wait for.
fn is_consequence(
    [root, other]: [&Observation; 2],
    [is_root_numeric, is_other_numeric]: [bool; 2],
    check: &Check,
    standing: impl FnOnce() -> Option<usize>,
) -> bool {
    let Some((first, second)) = units(check, root).zip(units(check, other)) else { return false };
    if root.of != other.of {
        return false;
    }
    if is_uncovered_by(root, other) {
        return true;
    }
    // An exact fault may cause errors of numbers in dumps and monitors, where values flow; in a monitor it may also cause the same
    // exact fault in later rows.
    let may_begin = is_root_numeric || matches!(first, Unit::Dump(_) | Unit::Monitor(_));
    let is_same = matches!(first, Unit::Monitor(_)) && root.finding.code == other.finding.code;
    if !(is_other_numeric || is_same) || !may_begin {
        return false;
    }
    match (first, second) {
        (Unit::Curve(root), Unit::Curve(other)) => moves_with(root, other),
        (Unit::Dump(before), Unit::Dump(after)) => receives(&root.finding, &other.finding) && before.step <= after.step,
        (Unit::Monitor(before), Unit::Monitor(after)) => is_later((before, &root.finding), (after, &other.finding)),
        (Unit::Operators(_), Unit::Operators(_)) => {
            root.units == other.units && operator(&root.finding) == operator(&other.finding)
        }
        (Unit::Evaluation(root), Unit::Evaluation(other)) => {
            root.model == other.model && (root.task == other.task || is_pooled(other) && !is_pooled(root))
        }
        (Unit::Performance(_), Unit::Performance(_)) => root.units == other.units || waits_for(standing(), root, other),
        _ => false,
    }
}

/// Number of places that are not judged because a waiver covers `root`: those of its consequence `other`.
pub(crate) fn places_behind(root: &Finding, other: &Finding) -> u64 {
    if root.facts.contains_key(dump::rules::BEHIND) {
        // They are counted with the root.
        return 0;
    }
    if is_about_coverage(root, other) { count(root, "count") } else { 1 }
}

/// Number of values after `root` that are not judged because a waiver covers it; they include those after a later root.
pub(crate) fn values_behind(root: &Finding) -> u64 {
    count(root, dump::rules::BEHIND)
}

/// Number of places without comparable numbers that a waiver of `finding` accepts: they have no partner, or one of another shape.
pub(crate) fn places_without_numbers(finding: &Finding) -> u64 {
    const RULES: [&Rule; 3] =
        [&operators::rules::MISSING, &checkpoint::rules::MISSING, &checkpoint::rules::SHAPE_DIFFERS];
    if finding.is_any(&RULES) { count(finding, "count").max(1) } else { 0 }
}

fn count(finding: &Finding, name: &str) -> u64 {
    match finding.facts.get(name) {
        Some(Fact::Count(count)) => *count,
        _ => 0,
    }
}

/// Whether one is about steps that are not finite, and the other about steps that are not covered.
fn is_about_coverage(root: &Finding, other: &Finding) -> bool {
    root.is(&loss::code::NON_FINITE) && other.is(&loss::code::COVERAGE)
}

/// Whether the steps that `other` calls not covered are those that `root` calls not finite.
fn is_uncovered_by(root: &Observation, other: &Observation) -> bool {
    let numbers = || {
        let [both, baseline, limit] = ["both", "baseline", "limit"].map(|name| number(&other.finding, name));
        Some((both? + number(&root.finding, "count")?, limit? * baseline?))
    };
    is_about_coverage(&root.finding, &other.finding)
        && root.units == other.units
        && numbers().is_some_and(|(seen, needed)| seen >= needed)
}

/// The findings of `result` that block and are the root of a defect, in the order in which they were measured. Absences are left out,
/// because no waiver covers them.
pub fn root_findings(result: &GateResult) -> Vec<&Finding> {
    let mut roots = Roots::default();
    let blocking = Blocking::from_result(result);
    for observation in &result.measured {
        let Some(finding) = blocking.find(&observation.finding) else { continue };
        let check = result.checks.iter().find(|check| check.id == observation.of);
        roots.add(observation, finding, check);
    }
    roots.found.into_iter().flatten().map(|root| root.finding).collect()
}

/// Roots among the observations so far.
#[derive(Default)]
struct Roots<'a> {
    /// In the order in which they were measured; `None` for one that follows from a later one.
    found: Vec<Option<Root<'a>>>,
    /// Places of the roots in `found`, by check.
    places: BTreeMap<CheckId, Places>,
    /// Place of the rank that the others wait for, by check, as far as it was determined.
    standing: BTreeMap<CheckId, Option<usize>>,
}

/// An observation that may be the root of a defect.
#[derive(Clone, Copy)]
struct Root<'a> {
    observation: &'a Observation,
    /// The finding as the result lists it.
    finding: &'a Finding,
    is_numeric: bool,
}

impl<'a> Root<'a> {
    fn new(observation: &'a Observation) -> Self {
        Self { observation, finding: &observation.finding, is_numeric: is_numeric(&observation.finding) }
    }

    /// Whether `other` is a consequence of this observation; both belong to `check`.
    fn is_cause_of(self, other: Root<'_>, check: &Check, standing: impl FnOnce() -> Option<usize>) -> bool {
        let numeric = [self.is_numeric, other.is_numeric];
        is_consequence([self.observation, other.observation], numeric, check, standing)
    }
}

impl<'a> Roots<'a> {
    fn add(&mut self, observation: &'a Observation, finding: &'a Finding, check: Option<&Check>) {
        let new = Root { finding, ..Root::new(observation) };
        let related = check.map(|check| (check, kin(observation, check)));
        if let Some((check, kin)) = &related {
            let places = self.places.entry(observation.of).or_default();
            let is_profile = matches!(units(check, observation), Some(Unit::Performance(_)));
            let known = self.standing.entry(check.id);
            let standing = *known.or_insert_with(|| if is_profile { place_of_awaited_rank(check) } else { None });
            let found = &mut self.found;
            let root = |found: &[Option<Root<'a>>], place: &usize| found.get(*place).copied().flatten();
            let is_cause =
                |place: &usize| root(found, place).is_some_and(|root| root.is_cause_of(new, check, || standing));
            if places.causes(kin).flatten().any(is_cause) {
                return;
            }
            places.keep_consequences(kin, |place| {
                let Some(old) = root(found, &place) else { return false };
                let follows = new.is_cause_of(old, check, || standing);
                if let Some(root) = found.get_mut(place).filter(|_| follows) {
                    *root = None;
                }
                !follows
            });
        }
        if let Some((_, kin)) = related {
            self.places.entry(observation.of).or_default().add(self.found.len(), kin);
        }
        self.found.push(Some(new));
    }
}

/// Places of the observations of a check, indexed by possible relations: of tens of thousands only a few can be related.
#[derive(Default)]
struct Places {
    by_name: BTreeMap<String, Vec<usize>>,
    by_step: BTreeMap<u64, Vec<usize>>,
}

impl Places {
    fn add(&mut self, place: usize, kin: Kin) {
        kin.own.into_iter().for_each(|name| self.by_name.entry(name).or_default().push(place));
        kin.step.into_iter().for_each(|step| self.by_step.entry(step).or_default().push(place));
    }

    /// Lists of the places of observations that may be a cause of one with this kin.
    fn causes(&self, kin: &Kin) -> impl Iterator<Item = &Vec<usize>> {
        let named = kin.causes.iter().filter_map(|name| self.by_name.get(name));
        let earlier = kin.bound().into_iter().flat_map(|end| self.by_step.range((Bound::Unbounded, end)));
        named.chain(earlier.map(|(_, list)| list))
    }

    /// Keeps only those places of possible consequences of an observation for which `stays` returns true.
    fn keep_consequences(&mut self, kin: &Kin, mut stays: impl FnMut(usize) -> bool) {
        for name in &kin.consequences {
            if let Some(list) = self.by_name.get_mut(name) {
                list.retain(|place| stays(*place));
            }
        }
        let Some(start) = kin.bound() else { return };
        for list in self.by_step.range_mut((start, Bound::Unbounded)).map(|(_, list)| list) {
            list.retain(|place| stays(*place));
        }
    }
}

/// Keys of an observation in [`Places`]: its own ones, and those of its possible causes and consequences.
#[derive(Default)]
struct Kin {
    own: Vec<String>,
    causes: Vec<String>,
    consequences: Vec<String>,
    /// The step of a monitor's row or of a curve's onset, which any earlier step may have caused, whatever the names.
    step: Option<u64>,
    /// Whether an observation of the same step may be related, too.
    is_step_shared: bool,
}

impl Kin {
    /// The kin of an observation that may be related to all others of the same name.
    fn from_name(name: String) -> Self {
        let names = || vec![name.clone()];
        Self { own: names(), causes: names(), consequences: names(), ..Self::default() }
    }

    /// The last step of possible causes, and the first of possible consequences.
    fn bound(&self) -> Option<Bound<u64>> {
        self.step.map(if self.is_step_shared { Bound::Included } else { Bound::Excluded })
    }
}

/// The kin of an observation: those of source, checkpoints and packs have none, those of an evaluation are of its task, and
/// pooled scores of any of its model's, those of operator tests are of the operator, those of a monitor of its rank or of other
/// steps, those of a curve of its metric or of later onsets; all others of a check may be related.
fn kin(observation: &Observation, check: &Check) -> Kin {
    match units(check, observation) {
        Some(Unit::Operators(_)) => Kin::from_name(operator(&observation.finding).to_owned()),
        Some(Unit::Evaluation(unit)) => {
            let task = format!("task {} {}", unit.model, unit.task);
            let [tasks, pooled] = ["tasks", "pooled"].map(|name| format!("{name} {}", unit.model));
            let (own, causes, consequences) = if is_pooled(unit) {
                (vec![task.clone(), pooled], vec![task.clone(), tasks], vec![task])
            } else {
                (vec![task.clone(), tasks], vec![task.clone()], vec![task, pooled])
            };
            Kin { own, causes, consequences, ..Kin::default() }
        }
        Some(Unit::Monitor(unit)) => {
            Kin { step: step_of_row(&observation.finding), ..Kin::from_name(format!("rank {:?}", unit.rank)) }
        }
        Some(Unit::Curve(unit)) => {
            let name = format!("{} {:?} {}", unit.run, unit.rank, unit.metric);
            // What is not about numbers neither begins another curve's defect nor follows from it.
            let step = unit.first_diverging_step.filter(|_| is_numeric(&observation.finding));
            Kin { step, is_step_shared: true, ..Kin::from_name(name) }
        }
        Some(Unit::Dump(_) | Unit::Performance(_)) => Kin::from_name(String::new()),
        _ => Kin::default(),
    }
}

/// Findings that block.
struct Blocking<'a> {
    by_place: BTreeMap<(CheckId, &'a str, &'a str), Vec<&'a Finding>>,
}

impl<'a> Blocking<'a> {
    fn from_result(result: &'a GateResult) -> Self {
        let mut by_place: BTreeMap<_, Vec<&Finding>> = BTreeMap::new();
        for finding in result.counting().filter(|finding| finding.severity >= Severity::Incomplete) {
            by_place.entry((finding.check, &*finding.code, &*finding.place)).or_default().push(finding);
        }
        Self { by_place }
    }

    /// The blocking finding of the result that belongs to a measured one; `None` if it does not block, or no waiver may cover it.
    fn find(&self, measured: &Finding) -> Option<&'a Finding> {
        let is_absence = register::find(&measured.code).is_some_and(|rule| rule.is_absence);
        if is_absence && measured.severity == Severity::Incomplete {
            return None;
        }
        let found = self.by_place.get(&(measured.check, &*measured.code, &*measured.place))?;
        found.iter().copied().find(|finding| finding.facts.get("unit") == measured.facts.get("unit"))
    }
}

fn units<'a>(check: &'a Check, observation: &Observation) -> Option<&'a Unit> {
    observation.units.first().and_then(|place| check.units.get(*place))
}

fn number(finding: &Finding, name: &str) -> Option<f64> {
    match finding.facts.get(name)? {
        Fact::Number(number) => Some(number.0),
        #[allow(clippy::cast_precision_loss, reason = "a rank or a step")]
        Fact::Count(count) => Some(*count as f64),
        _ => None,
    }
}

/// Whether two curves belong to one defect: all findings of one metric do, and another metric does if it diverges at the same step or
/// later.
fn moves_with(root: &CurveUnit, other: &CurveUnit) -> bool {
    let same = root.run == other.run && root.rank == other.rank;
    let onset = root.first_diverging_step.zip(other.first_diverging_step);
    same && (root.metric == other.metric || onset.is_some_and(|(root, other)| root <= other))
}

/// Whether the operation of a finding received an error larger than the noise at the root. Errors reach other ranks through
/// collectives, and later steps through parameters.
fn receives(root: &Finding, other: &Finding) -> bool {
    let noise = number(root, "limit").unwrap_or(0.0);
    number(other, "received").is_some_and(|received| received > noise)
}

/// Whether a row of a monitor comes later: a later step of any rank, or the same step of the same rank.
fn is_later((before, root): (&MonitorUnit, &Finding), (after, other): (&MonitorUnit, &Finding)) -> bool {
    match (step_of_row(root), step_of_row(other)) {
        (Some(first), Some(second)) => first < second || first == second && before.rank == after.rank,
        // Findings about a rank as a whole have no step.
        _ => before.rank == after.rank,
    }
}

/// The step of a finding about a row of a monitor; `None` for a finding about a rank as a whole.
fn step_of_row(finding: &Finding) -> Option<u64> {
    match finding.facts.get("unit") {
        Some(Fact::Text(unit)) => unit.strip_prefix("step ")?.split(' ').next()?.parse().ok(),
        _ => None,
    }
}

/// Whether a unit pools several tasks, so that their drops cause its own.
fn is_pooled(unit: &EvaluationUnit) -> bool {
    unit.scope != EvaluationScope::Task
}

/// Whether the rank of `other` waits for the rank of `root`.
fn waits_for(standing: Option<usize>, root: &Observation, other: &Observation) -> bool {
    standing.is_some_and(|place| root.units.contains(&place) && !other.units.contains(&place))
}

#[cfg(test)]
mod tests;
