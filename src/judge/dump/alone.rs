//! A dump without a baseline: NaN and infinity that an operation makes or that enter from outside, and saturation.
//!
//! Only recorded statistics are needed. An operation that has NaN among its results and not among its inputs has made it; one that
//! has it among its inputs passes it on. Modules repeat the values of the operations inside them and are left out, unless nothing
//! else was dumped.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::domain;
use super::item::is_input;
use super::poison::{is_mask, is_poisoned, is_poisoned_value, is_uninitialised, newly_poisoned_output, plain_number};
use super::rules;
use super::shown::show;
use super::unit::stack_of;
use crate::compare::convert::largest_finite;
use crate::dtype::Dtype;
use crate::kind::TensorKind;
use crate::read::dump::name::{OpName, is_module};
use crate::read::dump::{DamageKind, Dump, DumpDamage, Leaf, Operation, TensorRecord};
use crate::result::finding::Finding;
use crate::result::identity::own_finding;
use crate::result::number::Number;
use crate::result::unit::{Culprit, CulpritKind, VisibleDefect, unit_place};
use crate::verdict::{CheckId, Side};

/// Metric of a culprit: number of collectives before it, by which culprits of several ranks are put in order.
pub(crate) const COLLECTIVES: &str = "collectives";

/// Metric of a culprit: its input's largest or smallest value, where that lies outside of the function's domain.
const INPUT_END: &str = "input_end";

/// Metric of a culprit: the bound of its function's domain.
const DOMAIN_BOUND: &str = "domain_bound";

/// Calls that return the same data in another view: uninitialised memory stays uninitialised.
const VIEWS: [&str; 16] = [
    "view",
    "view_as",
    "reshape",
    "transpose",
    "permute",
    "t",
    "__getitem__",
    "narrow",
    "chunk",
    "split",
    "expand",
    "unsqueeze",
    "squeeze",
    "flatten",
    "detach",
    "select",
];

/// A step and rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepRank {
    /// The step.
    pub step: u64,
    /// The rank; `None` where there is only one process.
    pub rank: Option<u64>,
}

/// Everything that a dump shows by itself.
#[derive(Debug, Default)]
pub struct DumpScan {
    /// Tensors with statistics.
    pub with_statistics: u64,
    /// Floating-point tensors of which a checksum alone was recorded.
    pub checksummed: u64,
    /// Floating-point tensors with elements and without statistics, and the first of them.
    pub without_statistics: (u64, String),
    /// The first defect that counts: NaN or infinity made by an operation, else one that came from outside, else saturation.
    pub culprit: Option<Culprit>,
    /// A collective that brought NaN or infinity from another rank, with the number of collectives before it.
    pub received: Option<(u64, Culprit)>,
}

/// A value under suspicion.
struct Found<'a> {
    order: usize,
    operation: Operation<'a>,
    leaf: Leaf<'a>,
    kind: CulpritKind,
    collectives: u64,
}

/// Looks through a dump once, operation by operation.
#[derive(Default)]
struct Walk<'a> {
    scan: DumpScan,
    birth: Option<Found<'a>>,
    input: Option<Found<'a>>,
    saturation: Option<Found<'a>>,
    received: Option<Found<'a>>,
    collectives: u64,
    /// Number of results with NaN or +inf after the operation that made the first one.
    spread: u64,
    /// Keys of the records of tensors with NaN or +inf in memory that no operation has written yet.
    uninitialised: HashSet<u64>,
    /// Name of the last operation that made a mask, by the key of its record.
    masks: HashMap<u64, &'a str>,
}

/// Scans `dump` operation by operation, in execution order.
pub fn scan(dump: &Dump, at: StepRank) -> DumpScan {
    let has_operations = dump.operations.iter().any(|operation| !is_module(operation.name));
    let mut walk = Walk::default();
    for (order, operation) in dump.operations.iter().enumerate() {
        walk.count(operation);
        if !has_operations || !is_module(operation.name) {
            walk.operation(order, operation);
        }
    }
    let Walk { mut scan, birth, input, saturation, received, masks, spread, .. } = walk;
    let culprit = |found: Found<'_>| culprit_of(&found, dump, at, &masks);
    scan.received = received.map(|found| (found.collectives, culprit(found)));
    let is_born = birth.is_some();
    scan.culprit = birth.or(input).or(saturation).map(culprit);
    if let Some(culprit) = scan.culprit.as_mut().filter(|_| is_born) {
        culprit.spread = spread;
    }
    scan
}

impl<'a> Walk<'a> {
    /// Counts tensors with statistics, and floating-point tensors that lack them.
    fn count(&mut self, operation: Operation<'_>) {
        for leaf in operation.leaves.iter() {
            let Some(record) = leaf.record() else { continue };
            if record.max.as_f64().is_some() && record.min.as_f64().is_some() {
                self.scan.with_statistics += 1;
            } else if record.checksum.is_some() {
                self.scan.checksummed += 1;
            } else if record.elements() > 0 && Dtype::parse(record.dtype).is_some_and(Dtype::is_float) {
                self.scan.without_statistics.0 += 1;
                if self.scan.without_statistics.1.is_empty() {
                    self.scan.without_statistics.1 = leaf.row.to_string();
                }
            }
        }
    }

    fn operation(&mut self, order: usize, operation: Operation<'a>) {
        let is_collective = operation.name.starts_with("Distributed.");
        let found = |leaf: Leaf<'a>, kind: CulpritKind, collectives: u64| {
            Some(Found { order, operation, leaf, kind, collectives })
        };
        if is_uninitialised(operation.name) {
            self.remember_uninitialised(operation);
            return;
        }
        if self.birth.is_some() {
            let results = operation.leaves.iter().filter(|leaf| !is_input(leaf.kind));
            self.spread += results.filter(|leaf| is_poisoned_value(*leaf)).count() as u64;
        }
        let birth = CulpritKind::Visible(VisibleDefect::NonFinite);
        if let Some(leaf) = newly_poisoned_output(operation).and_then(|place| operation.leaves.get(place)) {
            let place = if is_collective { &mut self.received } else { &mut self.birth };
            *place = place.take().or_else(|| found(leaf, birth, self.collectives));
        } else if let Some(leaf) = self.poisoned_input(operation) {
            let kind = CulpritKind::Tensor(TensorKind::Input);
            self.input = self.input.take().or_else(|| found(leaf, kind, self.collectives));
        }
        if let Some(leaf) = saturated(operation) {
            let kind = CulpritKind::Visible(VisibleDefect::Saturation);
            self.saturation = self.saturation.take().or_else(|| found(leaf, kind, self.collectives));
        }
        self.collectives += u64::from(is_collective);
        for leaf in operation.leaves.iter().filter(|leaf| !is_input(leaf.kind)) {
            let mask = leaf.record().filter(is_mask).map(|record| record_key(&record));
            self.masks.extend(mask.map(|mask| (mask, operation.name)));
        }
    }

    /// Remembers the results with NaN or +inf of an operation that returns memory without having written it.
    fn remember_uninitialised(&mut self, operation: Operation<'_>) {
        let results = operation.leaves.iter().filter(|leaf| !is_input(leaf.kind));
        self.uninitialised
            .extend(results.filter_map(Leaf::record).filter(is_poisoned).map(|record| record_key(&record)));
    }

    /// The first input that holds NaN or +inf. Memory that nobody has written counts only where a result depends on it.
    fn poisoned_input(&mut self, operation: Operation<'a>) -> Option<Leaf<'a>> {
        let mut poisoned = operation.leaves.iter().filter(|leaf| is_input(leaf.kind) && is_poisoned_value(*leaf));
        let first = poisoned.clone().next()?;
        let written =
            poisoned.find(|leaf| leaf.record().is_some_and(|it| !self.uninitialised.contains(&record_key(&it))));
        if written.is_some() {
            return written;
        }
        let depends = operation.leaves.iter().any(|leaf| !is_input(leaf.kind) && is_poisoned_value(leaf));
        if depends && VIEWS.contains(&OpName::parse(operation.name).api()) {
            self.remember_uninitialised(operation);
            return None;
        }
        Some(first).filter(|_| depends)
    }
}

/// Key of a record, by which its tensor is recognised again: a hash of type, shape and statistics.
fn record_key(record: &TensorRecord<'_>) -> u64 {
    let mut hash = DefaultHasher::new();
    (record.dtype, record.shape).hash(&mut hash);
    record.statistics().map(|one| one.as_f64().map(f64::to_bits)).hash(&mut hash);
    hash.finish()
}

/// The first result whose largest value is the largest number of its type, where no input holds that number.
fn saturated(operation: Operation<'_>) -> Option<Leaf<'_>> {
    let largest = |record: &TensorRecord<'_>| Dtype::parse(record.dtype).and_then(largest_finite);
    let reaches =
        |value: Option<f64>, largest: f64| value.is_some_and(|value| (value - largest).abs() <= 1e-6 * largest);
    let is_full = |leaf: &Leaf<'_>| {
        leaf.record().is_some_and(|record| largest(&record).is_some_and(|most| reaches(record.max.as_f64(), most)))
    };
    let leaf = operation.leaves.iter().find(|leaf| !is_input(leaf.kind) && is_full(leaf))?;
    let most = leaf.record().and_then(|record| largest(&record))?;
    let holds = |leaf: Leaf<'_>| {
        reaches(plain_number(leaf), most) || leaf.record().is_some_and(|record| reaches(record.max.as_f64(), most))
    };
    let given = operation.leaves.iter().filter(|leaf| is_input(leaf.kind)).any(|leaf| is_full(&leaf) || holds(leaf));
    (!given).then_some(leaf)
}

fn culprit_of(found: &Found<'_>, dump: &Dump, at: StepRank, masks: &HashMap<u64, &str>) -> Culprit {
    let Found { order, operation, leaf, kind, collectives } = found;
    #[allow(clippy::cast_precision_loss, reason = "a count of operations")]
    let collectives = Number(*collectives as f64);
    let mut metrics = BTreeMap::from([(COLLECTIVES.to_owned(), collectives)]);
    if let Some(outside) =
        domain::of_operation(*operation).filter(|_| *kind == CulpritKind::Visible(VisibleDefect::NonFinite))
    {
        metrics.insert(INPUT_END.to_owned(), Number(outside.end));
        metrics.insert(DOMAIN_BOUND.to_owned(), Number(outside.bound));
    }
    let rule = if kind.is_minor() { &rules::SATURATED } else { &rules::NON_FINITE };
    let tensor = leaf.row.to_string();
    let mut culprit = Culprit {
        order: *order as u64,
        step: at.step,
        rank: at.rank,
        op: operation.name.to_owned(),
        tensor,
        code: rule.code.to_owned(),
        metrics: metrics.into(),
        stack: stack_of(dump, operation.name),
        candidate: Some(show(*leaf)),
        mask: mask_of(*operation, masks).unwrap_or_default(),
        ..Culprit::new(CheckId::Dump, *kind)
    };
    culprit.finding = own_finding(&culprit);
    culprit
}

/// The operation that made the -inf among an operation's inputs; an empty text if it came from outside, `None` without a mask.
fn mask_of(operation: Operation<'_>, masks: &HashMap<u64, &str>) -> Option<String> {
    let inputs = operation.leaves.iter().filter(|leaf| is_input(leaf.kind));
    let mask = inputs.filter_map(Leaf::record).find(is_mask)?;
    Some(masks.get(&record_key(&mask)).copied().unwrap_or_default().to_owned())
}

/// Whether the value from outside is a parameter of a module.
fn is_parameter(culprit: &Culprit) -> bool {
    culprit.tensor.strip_prefix(&culprit.op).is_some_and(|below| below.starts_with(".parameters."))
}

/// The finding that a culprit stands for.
pub(crate) fn culprit_finding(culprit: &Culprit) -> Finding {
    let rule = if culprit.kind.is_minor() { &rules::SATURATED } else { &rules::NON_FINITE };
    let what = match culprit.kind {
        CulpritKind::Tensor(_) if is_parameter(culprit) => "parameter",
        CulpritKind::Tensor(_) => "input",
        _ if culprit.op.starts_with("Distributed.") => "collective",
        _ => "output",
    };
    let finding = Finding::new(rule, &culprit.tensor)
        .with("unit", unit_place(culprit.step, culprit.rank))
        .with("op", culprit.op.as_str())
        .with("what", what);
    let finding = match culprit.candidate.as_ref() {
        Some(shown) => {
            finding.with("candidate", format!("{} {:?} {}", shown.dtype, shown.shape, shown.values.join(", ")))
        }
        None => finding,
    };
    let metric = |name: &str| culprit.metrics.get(name).map(|number| number.0);
    let finding = match metric(INPUT_END).zip(metric(DOMAIN_BOUND)) {
        Some((end, bound)) => finding.with("end", end).with("bound", bound),
        None => finding,
    };
    if culprit.mask.is_empty() { finding } else { finding.with("mask", culprit.mask.as_str()) }
}

/// Findings about parts of a dump's files that could not be used, and about tensors without statistics.
pub(crate) fn gap_findings(dump: &Dump, scan: &DumpScan, at: StepRank) -> Vec<Finding> {
    let unit = unit_place(at.step, at.rank);
    let damaged = |damage: &DumpDamage| {
        let rule = match damage.kind {
            DamageKind::SideFile => &rules::SIDE_FILE_UNREADABLE,
            DamageKind::Record => &rules::RECORD_UNREADABLE,
            DamageKind::Repeated => &rules::RECORD_REPEATED,
        };
        Finding::new(rule, damage.place.as_str())
            .with("unit", unit.as_str())
            .with("side", Side::Candidate.as_str())
            .with("count", damage.count)
            .with("reason", damage.reason.as_str())
    };
    let mut findings: Vec<Finding> = dump.damage.iter().map(damaged).collect();
    let (count, first) = &scan.without_statistics;
    if scan.with_statistics == 0 {
        findings.push(Finding::new(&rules::NOTHING_COMPARED, unit.as_str()));
    } else if *count > 0 {
        let finding = Finding::new(&rules::STATISTICS_MISSING, first.as_str()).with("unit", unit.as_str());
        findings.push(finding.with("side", Side::Candidate.as_str()).with("count", *count));
    }
    findings
}
