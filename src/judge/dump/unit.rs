//! A unit's verdict: findings, culprit, divergence profile and operation lines, from the flow of errors.

mod element_limits;
mod missing;
mod names;
mod preset;
mod profile;

use std::sync::OnceLock;

use super::call_in_line::{call_in_line, module_of, nth_of_line};
use super::coverage::{self, Census};
use super::flow::{LeafFlow, OperationFlow, UncountedTensors, UnitContext, UnitFlow};
pub use super::input::UnitInput;
use super::limits::AMPLIFICATION;
use super::noise::UnitNoise;
use super::rules;
use super::shown::{show, summary};
use super::suspicion::Suspicion;
use super::update::StepParameters;
use super::walk;
use crate::compare::dump::{Basis, LeafComparison, OperationComparison};
use crate::judge::apply_policy::{Decision, decide, shown_places};
use crate::pair::dump::argument_of;
use crate::policy::Policy;
use crate::policy::dump::Refinement;
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Dump, Leaf, Operation};
use crate::result::finding::Finding;
use crate::result::identity::own_finding;
use crate::result::number::Number;
use crate::result::operation::{FromReference, OffSide};
use crate::result::unit::{Culprit, CulpritKind, DumpUnit, unit_place};
use crate::verdict::{Profile, Severity, Side};

/// Most suspects that become findings of their own; the others are only counted.
const MOST_FINDINGS: usize = 20;
/// The same for records without an order, where any suspect may be the first one.
const MOST_UNORDERED: usize = 500;

/// A judged unit.
#[derive(Debug)]
pub struct JudgedUnit {
    /// The unit.
    pub unit: DumpUnit,
    /// Findings of the unit, before the policy.
    pub findings: Vec<Finding>,
    /// Flow of errors through the compared operations, in their order; [`lines`](super::lines) makes their lines of it.
    pub flows: Vec<OperationFlow>,
    /// The largest error with a size, for later steps.
    pub largest_error: f64,
    /// Median error of the gradients that differ, for later steps.
    pub gradient_error: f64,
    /// Leaf inputs, for the next step.
    pub parameters: StepParameters,
    /// Whether anything differs beyond noise.
    pub differs: bool,
    /// Use of every limit rule of the policy, in its order: true where the rule fitted something here.
    pub limits_used: Vec<bool>,
    /// Tensors that a limit of the policy needs the elements of, and that have none in either dump.
    pub uncounted: Option<UncountedTensors>,
}

/// Judges one step and rank.
pub fn judge(input: &UnitInput<'_>, context: &UnitContext, policy: &Policy) -> JudgedUnit {
    let UnitFlow { flows, limits_used, uncounted, largest_error, gradient_error: gradients, accumulated, parameters } =
        walk::follow(input.baseline, input.candidate, input.comparison, context, &policy.dump);
    let view = View { input, flows: &flows, noise: context.noise.as_deref(), differing: OnceLock::new() };
    let suspects: Vec<Suspect<'_>> = view.suspects(policy).collect();
    // Without an order none is the first.
    let [culprit, runner_up] = if view.is_unordered() { [None, None] } else { culprits(&suspects, policy) };
    let mut findings = view.suspect_findings(&suspects, &[culprit, runner_up], policy);
    findings.extend(uncounted.as_ref().map(|uncounted| view.uncounted_finding(uncounted, policy)));
    if let Some(preset) = policy.dump.preset {
        findings.extend(view.preset_findings(preset, policy));
    }
    findings.extend(view.prefix_finding());
    let named_suspects = [culprit, runner_up].into_iter().flatten().filter_map(|place| suspects.get(place));
    findings.extend(named_suspects.filter_map(|suspect| view.baseline_off(suspect)));
    findings.extend(view.missing_findings(suspects.is_empty()));
    findings.extend(view.unreadable_findings(policy));
    let task = view.task_finding();
    let (census, profile) = rayon::join(|| Census::from_flows(input, &flows), || view.profile());
    findings.extend(census.findings(input, &view.place(), task.is_some()));
    findings.extend(task);
    findings.extend(coverage::damage_findings(input, &view.place()));
    let mut unit = DumpUnit::unread(input.step, input.rank);
    kind_of_data(input.candidate).clone_into(&mut unit.data);
    census.enter_counts(&mut unit);
    if unit.compared == 0 {
        findings.push(Finding::new(&rules::NOTHING_COMPARED, view.place()));
    }
    if suspects.is_empty() {
        findings.extend(accumulated.and_then(|accumulated| view.accumulation_finding(accumulated)));
    }
    if policy.profile == Profile::BitExact {
        findings.extend(view.bit_exact_finding());
    }
    let named = |place: Option<usize>| suspects.get(place?).map(|suspect| view.culprit(suspect));
    (unit.culprit, unit.runner_up) = (named(culprit), named(runner_up));
    unit.profile = profile;
    unit.rules = policy.dump.preset.and_then(|preset| view.preset_outcome(preset)).into_iter().collect();
    unit.rules.extend(view.limit_outcomes(policy));
    JudgedUnit {
        unit,
        findings,
        largest_error,
        gradient_error: gradients,
        parameters,
        limits_used,
        uncounted,
        differs: flows.iter().flat_map(|flow| &flow.leaves).any(|leaf| leaf.differs),
        flows,
    }
}

/// The places of the culprit and the runner-up among the suspects: the first suspect that can be blamed and that the policy neither
/// waives nor lowers to information, and the next such suspect of another operation. A failure goes before an earlier marginal
/// warning that does not explain it.
fn culprits(suspects: &[Suspect<'_>], policy: &Policy) -> [Option<usize>; 2] {
    let standing = || suspects.iter().enumerate().filter(|(_, suspect)| suspect.suspicion.is_culprit && suspect.stands);
    let Some((mut culprit, mut first)) = standing().next() else { return [None, None] };
    if policy.dump.has_refinement(Refinement::FailureFirst) && first.is_marginal() {
        let failure = standing().find(|(_, other)| other.severity == Severity::Fail && !first.explains(other));
        (culprit, first) = failure.unwrap_or((culprit, first));
    }
    let runner_up = standing().find(|(_, other)| other.operation.name != first.operation.name);
    [Some(culprit), runner_up.map(|(place, _)| place)]
}

impl Suspect<'_> {
    fn error(&self) -> f64 {
        self.comparison.measured.as_ref().map_or(f64::INFINITY, |measured| measured.error)
    }

    /// Whether it is a warning that is not far beyond its limit.
    fn is_marginal(&self) -> bool {
        self.severity == Severity::Warn && self.error() <= AMPLIFICATION * self.flow.limit
    }

    /// Whether a later error may be its consequence: amplified by an operation, and by the next one again.
    fn explains(&self, later: &Self) -> bool {
        later.error() <= AMPLIFICATION * AMPLIFICATION * self.error()
    }
}

/// Places of the suspects that become findings. A suspect that received an error may be a consequence of a waived suspect.
fn shown_suspects(suspects: &[Suspect<'_>], named: &[usize], is_unordered: bool) -> Vec<usize> {
    let decisions: Vec<Decision<'_>> = suspects.iter().map(|suspect| suspect.decision).collect();
    let waived = suspects.iter().filter(|suspect| suspect.decision.waiver.is_some());
    let noise = waived.map(|suspect| suspect.flow.limit).reduce(f64::min).unwrap_or(f64::INFINITY);
    let receives = |place: usize| suspects.get(place).is_some_and(|suspect| suspect.input_error > noise);
    let most = if is_unordered { MOST_UNORDERED } else { MOST_FINDINGS };
    shown_places(&decisions, receives, most, named)
}

/// Severity of a suspicion before the policy. A chosen preset decides about numbers: the gate's own suspicions about them are then
/// only shown.
fn own_severity(suspicion: Suspicion, policy: &Policy) -> Severity {
    let numeric = [&rules::OUTPUT_DIVERGES, &rules::OTHER_PRECISION, &rules::INPUT_DIFFERS];
    if policy.dump.preset.is_some() && numeric.contains(&suspicion.rule) {
        return Severity::Info;
    }
    if policy.profile == Profile::Strict && suspicion.is_culprit { Severity::Fail } else { suspicion.severity }
}

/// A value under suspicion.
struct Suspect<'a> {
    decision: Decision<'a>,
    /// Whether it may be the culprit, whatever a preset decides about its numbers.
    stands: bool,
    severity: Severity,
    order: usize,
    operation: Operation<'a>,
    leaf: Leaf<'a>,
    row: String,
    comparison: &'a LeafComparison,
    flow: &'a LeafFlow,
    suspicion: Suspicion,
    input_error: f64,
}

struct View<'a> {
    input: &'a UnitInput<'a>,
    flows: &'a [OperationFlow],
    /// Recorded noise, where there is some.
    noise: Option<&'a UnitNoise>,
    /// Orders of the operations of all values that differ beyond noise, once they were asked for.
    differing: OnceLock<Vec<usize>>,
}

impl<'a> View<'a> {
    fn operations(&self) -> impl Iterator<Item = (usize, &'a OperationComparison, &'a OperationFlow)> {
        let comparisons = self.input.comparison.operations.iter();
        comparisons.zip(self.flows).enumerate().map(|(order, (comparison, flow))| (order, comparison, flow))
    }

    /// Whether the records of a side have no order.
    fn is_unordered(&self) -> bool {
        self.input.baseline.is_unordered || self.input.candidate.is_unordered
    }

    fn place(&self) -> String {
        unit_place(self.input.step, self.input.rank)
    }

    fn candidate_operation(&self, comparison: &OperationComparison) -> Option<Operation<'a>> {
        self.input.candidate.operations.get(comparison.pair.candidate()?)
    }

    fn suspects(&self, policy: &'a Policy) -> impl Iterator<Item = Suspect<'a>> {
        self.operations().flat_map(move |(order, comparison, flow)| {
            let leaves = comparison.leaves.iter().zip(&flow.leaves);
            leaves.filter_map(move |(leaf, leaf_flow)| {
                let suspicion = *leaf_flow.suspicion.as_deref()?;
                let operation = self.candidate_operation(comparison)?;
                let value = operation.leaves.get(leaf.pair.candidate()?)?;
                let row = value.row.to_string();
                let severity = own_severity(suspicion, policy);
                let decision = decide(suspicion.rule.code, &row, severity, policy);
                Some(Suspect {
                    decision,
                    stands: decision.counts() || policy.dump.preset.is_some(),
                    severity,
                    order,
                    operation,
                    leaf: value,
                    row,
                    comparison: leaf,
                    flow: leaf_flow,
                    suspicion,
                    input_error: flow.input_error,
                })
            })
        })
    }

    /// The findings about the worst suspects, wherever they are, and about the `named` ones.
    fn suspect_findings(&self, suspects: &[Suspect<'_>], named: &[Option<usize>], policy: &Policy) -> Vec<Finding> {
        let total = suspects.len();
        let finding = |suspect: &Suspect<'_>| {
            let mut finding = Finding::new(suspect.suspicion.rule, &suspect.row)
                .with_severity(suspect.severity)
                .with("unit", self.place())
                .with("op", suspect.operation.name)
                .with("limit", suspect.flow.limit)
                .with("received", suspect.input_error)
                .with("suspects", total);
            if let Some(call) = call_in_line(self.input.candidate, suspect.operation.name) {
                finding = finding.with("call", call);
            }
            if let Some(module) = module_of(self.input.candidate, suspect.operation.name) {
                finding = finding.with("module", module);
            }
            if let Some(tool) = self.input.candidate.tool {
                finding = finding.with("tool", tool.as_str());
            }
            if self.is_unordered() {
                finding = finding.with(rules::UNORDERED, 1_u64);
            }
            if let Some(measured) = &suspect.comparison.measured {
                finding = finding.with("error", measured.error);
            }
            if let Some(recorded) = self.recorded(suspect) {
                finding = finding.with("recorded", recorded);
            }
            let behind = self.spread(suspect.order);
            if behind > 0 {
                finding = finding.with(rules::BEHIND, behind);
            }
            if let Some((baseline, candidate)) = self.summaries(suspect.comparison, suspect.order) {
                finding = finding.with("baseline", baseline).with("candidate", candidate);
            }
            if suspect.suspicion.rule == &rules::SHAPE_DIFFERS
                && let Some(leaves) = self.leaves(suspect.comparison, suspect.order)
                && let (Some(baseline), Some(candidate)) = (leaves.0.record(), leaves.1.record())
            {
                let told = |shape: &[u64]| format!("{shape:?}");
                finding =
                    finding.with("baseline_shape", told(baseline.shape)).with("candidate_shape", told(candidate.shape));
            }
            if suspect.suspicion.rule == &rules::LIMIT_NOT_MET {
                finding = self.with_missed_limit(finding, suspect, policy);
            }
            finding
        };
        let named: Vec<usize> = named.iter().flatten().copied().collect();
        shown_suspects(suspects, &named, self.is_unordered())
            .into_iter()
            .filter_map(|place| Some((suspects.get(place)?, named.contains(&place))))
            .map(|(suspect, is_named)| {
                let nth = || nth_of_line(self.input.candidate, suspect.operation.name);
                match is_named.then(nth).flatten() {
                    Some([nth, of]) => finding(suspect).with("call_nth", nth).with("call_of", of),
                    None => finding(suspect),
                }
            })
            .collect()
    }

    fn summaries(&self, comparison: &LeafComparison, order: usize) -> Option<(String, String)> {
        self.leaves(comparison, order).map(|(baseline, candidate)| (summary(baseline), summary(candidate)))
    }

    /// The two values of a comparison, of the operation at `order`.
    fn leaves(&self, comparison: &LeafComparison, order: usize) -> Option<(Leaf<'a>, Leaf<'a>)> {
        let pair = self.input.comparison.operations.get(order)?.pair;
        let baseline = self.input.baseline.operations.get(pair.baseline()?)?.leaves.get(comparison.pair.baseline()?)?;
        let candidate =
            self.input.candidate.operations.get(pair.candidate()?)?.leaves.get(comparison.pair.candidate()?)?;
        Some((baseline, candidate))
    }

    fn leaf_comparisons(&self) -> impl Iterator<Item = (&'a OperationComparison, &'a LeafComparison)> {
        self.input
            .comparison
            .operations
            .iter()
            .flat_map(|operation| operation.leaves.iter().map(move |leaf| (operation, leaf)))
    }

    fn row(&self, operation: &OperationComparison, leaf: &LeafComparison) -> Option<String> {
        let of = |dump: &'a Dump, operation: Option<usize>, leaf: Option<usize>| {
            Some(dump.operations.get(operation?)?.leaves.get(leaf?)?.row.to_string())
        };
        of(self.input.candidate, operation.pair.candidate(), leaf.pair.candidate())
            .or_else(|| of(self.input.baseline, operation.pair.baseline(), leaf.pair.baseline()))
    }

    /// Values that are there on one side only, and tensors whose data cannot be read.
    fn unreadable_findings(&self, policy: &Policy) -> Vec<Finding> {
        let mut findings = Vec::new();
        let comparable = self.operations().filter(|(_, operation, flow)| operation.is_paired() && !flow.is_other_node);
        for (operation, leaf) in comparable.flat_map(|(_, one, _)| one.leaves.iter().map(move |leaf| (one, leaf))) {
            let row = || self.row(operation, leaf).unwrap_or_default();
            if let Some(reason) = leaf.unreadable() {
                findings.push(
                    Finding::new(&rules::TENSOR_UNREADABLE, row()).with("unit", self.place()).with("reason", reason),
                );
            } else if leaf.measured.is_none() {
                let side = if leaf.pair.baseline().is_none() { "baseline" } else { "candidate" };
                findings.push(Finding::new(&rules::VALUE_MISSING, row()).with("unit", self.place()).with("side", side));
            }
        }
        most_telling(findings, policy)
    }

    fn task_finding(&self) -> Option<Finding> {
        let (baseline, candidate) = (kind_of_data(self.input.baseline), kind_of_data(self.input.candidate));
        let empty = self.input.baseline.operations.is_empty() || self.input.candidate.operations.is_empty();
        (baseline != candidate && !empty).then(|| {
            Finding::new(&rules::TASK_DIFFERS, self.place()).with("baseline", baseline).with("candidate", candidate)
        })
    }

    fn accumulation_finding(&self, (order, error): (usize, f64)) -> Option<Finding> {
        let operation = self.candidate_operation(self.input.comparison.operations.get(order)?)?;
        let finding = Finding::new(&rules::ERROR_ACCUMULATES, operation.name);
        Some(finding.with("unit", self.place()).with("error", error))
    }

    fn bit_exact_finding(&self) -> Option<Finding> {
        let mut different = self
            .leaf_comparisons()
            .filter(|(_, leaf)| leaf.measured.as_ref().is_some_and(|measured| !measured.identical));
        let (operation, leaf) = different.next()?;
        let count = different.count() + 1;
        Some(
            Finding::new(&rules::NOT_BIT_EXACT, self.row(operation, leaf)?)
                .with("unit", self.place())
                .with("count", count),
        )
    }

    fn culprit(&self, suspect: &Suspect<'_>) -> Culprit {
        let mut metrics = std::collections::BTreeMap::new();
        metrics.insert("limit".to_owned(), Number(suspect.flow.limit));
        metrics.insert("received".to_owned(), Number(suspect.input_error));
        if let Some(measured) = &suspect.comparison.measured {
            metrics.insert("error".to_owned(), Number(measured.error));
            metrics.extend(self.metrics(suspect));
        }
        let (baseline, candidate) = self.leaves(suspect.comparison, suspect.order).unzip();
        let mut culprit = Culprit {
            layout: None,
            location: None,
            mask: String::new(),
            check: suspect.suspicion.rule.check,
            finding: String::new(),
            order: suspect.order as u64,
            step: self.input.step,
            rank: self.input.rank,
            op: suspect.operation.name.to_owned(),
            tensor: suspect.row.clone(),
            kind: CulpritKind::Tensor(suspect.leaf.kind),
            argument: argument_of(suspect.operation, suspect.leaf, &self.input.candidate.operations)
                .unwrap_or_default(),
            monitor: None,
            operator: None,
            performance: None,
            side: suspect.comparison.pair.baseline().is_none().then_some(Side::Candidate),
            code: suspect.suspicion.rule.code.to_owned(),
            metrics: metrics.into(),
            reference: self.reference_errors(suspect),
            stack: stack_of(self.input.candidate, suspect.operation.name),
            spread: self.spread(suspect.order),
            baseline: baseline.map(show),
            candidate: candidate.or(Some(suspect.leaf)).map(show),
        };
        culprit.finding = own_finding(&culprit);
        culprit
    }

    /// The part of its error that a suspected value added in repeats of the baseline; `None` where it added nothing.
    fn recorded(&self, suspect: &Suspect<'_>) -> Option<f64> {
        let (baseline, _) = self.leaves(suspect.comparison, suspect.order)?;
        let noise = self.noise?.values.get(&baseline.row.to_string())?;
        Some(noise.added).filter(|added| *added > 0.0)
    }

    /// Errors of both sides against the reference, at a suspected value.
    fn reference_errors(&self, suspect: &Suspect<'_>) -> Option<FromReference> {
        let operation = self.input.comparison.operations.get(suspect.order)?;
        self.input.reference?.errors_of(operation, suspect.comparison, suspect.flow.limit)
    }

    /// The finding about a culprit at which the baseline is off, not the candidate.
    fn baseline_off(&self, suspect: &Suspect<'_>) -> Option<Finding> {
        let errors = self.reference_errors(suspect).filter(|errors| errors.off_side == OffSide::Baseline)?;
        let finding = Finding::new(&rules::BASELINE_OFF, &suspect.row)
            .with("unit", self.place())
            .with("op", suspect.operation.name)
            .with("baseline_error", errors.baseline.0)
            .with("candidate_error", errors.candidate.0);
        Some(finding)
    }

    /// Metrics of the suspected value by name.
    fn metrics(&self, suspect: &Suspect<'_>) -> Vec<(String, Number)> {
        let Some((baseline, candidate)) = self.leaves(suspect.comparison, suspect.order) else { return Vec::new() };
        let metrics = suspect.comparison.details(baseline, candidate).metrics;
        metrics.into_iter().map(|(name, value)| (name.to_owned(), Number(value))).collect()
    }

    /// Number of values that differ beyond noise in the operations after `order`.
    fn spread(&self, order: usize) -> u64 {
        let differing = self.differing.get_or_init(|| {
            let differing = |flow: &OperationFlow| flow.leaves.iter().filter(|leaf| leaf.differs).count();
            self.operations().flat_map(|(order, _, flow)| std::iter::repeat_n(order, differing(flow))).collect()
        });
        (differing.len() - differing.partition_point(|other| *other <= order)) as u64
    }
}

/// The findings that are shown, where there are too many to show all.
fn most_telling(findings: Vec<Finding>, policy: &Policy) -> Vec<Finding> {
    let decisions: Vec<Decision<'_>> =
        findings.iter().map(|one| decide(&one.code, &one.place, one.severity, policy)).collect();
    let shown = shown_places(&decisions, |_| false, MOST_FINDINGS, &[]);
    let mut places = shown.into_iter().peekable();
    let numbered = findings.into_iter().enumerate();
    numbered.filter_map(|(place, finding)| places.next_if_eq(&place).map(|_| finding)).collect()
}

/// The call stack of an operation; a backward operation has that of its forward operation.
pub(super) fn stack_of(dump: &Dump, name: &str) -> Vec<String> {
    let Some(stacks) = &dump.stacks else { return Vec::new() };
    let parts = OpName::parse(name);
    let forward = parts.forward_names();
    // The own stack of a backward call holds no more than the line that starts the whole backward pass.
    let of_forward = forward.iter().filter(|_| parts.direction != Some(Direction::Forward));
    let stack = of_forward.map(String::as_str).chain([name]).find_map(|name| stacks.get(name));
    stack.map(|stack| stack.as_ref().clone()).unwrap_or_default()
}

/// Kind of data that a dump holds: `tensor`, `md5`, `xor`, `statistics`, or another task's name.
pub(crate) fn kind_of_data(dump: &Dump) -> &str {
    if dump.task != "statistics" {
        return &dump.task;
    }
    match dump.operations.first_checksum() {
        Some(checksum) if checksum.starts_with("0x") => "xor",
        Some(_) => "md5",
        None => "statistics",
    }
}

/// Name of a basis, as the lines of `operations.jsonl` show it.
pub(crate) fn basis_name(basis: Basis) -> &'static str {
    match basis {
        Basis::Data => "data",
        Basis::Statistics => "statistics",
        Basis::Checksum => "checksum",
        Basis::Plain => "value",
    }
}
