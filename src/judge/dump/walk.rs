//! Follows the errors of a unit through its operations, in execution order.

mod inputs;
mod memory;
mod outputs;
mod recurring;

use std::cell::{Cell, RefCell};

use super::decomposition::is_other_node;
use super::element_limits::{element_outcomes, first_fitting_limit};
use super::flow::{LeafFlow, OperationFlow, UncountedTensors, UnitContext, UnitFlow};
use super::item::{Item, is_input, item};
use super::limits::{AMPLIFICATION, ErrorBand, band_of_dtype, looser_dtype};
use super::noise::RecordedLimits;
use super::one_sided;
use super::poison::newly_poisoned_output;
use super::rules;
use super::suspicion::{Suspicion, culprit_suspicion};
use super::terms::ArrivingGradients;
use super::update::{StepParameters, is_bias, is_layer};
use super::upstream::Upstream;
use super::writes::unfilled_views;
use crate::compare::dump::{Basis, ExactDifference, Measurement, OperationComparison, UnitComparison};
use crate::dtype::Dtype;
use crate::hash::{ByHash, Hashes, hash_of};
use crate::median::upper_median;
use crate::policy::dump::{DumpPolicy, LimitRule, Refinement};
use crate::policy::value::Tolerance;
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Dump, Leaf, Operation};
use crate::verdict::Severity;
use recurring::{Recurring, call_key};

/// Follows the errors of a unit through its operations, in execution order.
pub(super) fn follow(
    baseline: &Dump,
    candidate: &Dump,
    unit: &UnitComparison,
    context: &UnitContext,
    policy: &DumpPolicy,
) -> UnitFlow {
    let mut walk = Walk {
        policy,
        used: vec![Cell::new(false); policy.limits.len()],
        uncounted: RefCell::default(),
        baseline,
        candidate,
        context,
        recurring: Recurring::of(unit, baseline, candidate),
        values: ByHash::default(),
        forward: ByHash::default(),
        inside: ByHash::default(),
        before: Upstream {
            error: context.earlier_error,
            shown: context.earlier_error,
            identical: context.earlier_error == 0.0,
            ..Upstream::NOTHING
        },
        training: false,
        order: 0,
        nan_begins: None,
        born: None,
        born_in_baseline: false,
        nan_arrives: Cell::new(false),
        arriving: ArrivingGradients::default(),
        largest_error: 0.0,
        gradients: Vec::new(),
        accumulated: None,
        is_wrong: false,
        parameters: StepParameters::default(),
        parameter_shapes: Hashes::default(),
        given: StepParameters::default(),
        unfilled: unfilled_views(unit, baseline, candidate),
        updates: Vec::new(),
        first_update: None,
        distance: 0.0,
        moved_share: 0.0,
        suspected: Hashes::default(),
    };
    (walk.distance, walk.moved_share) = walk.common_movement(unit);
    let mut flows: Vec<OperationFlow> = unit.operations.iter().map(|operation| walk.operation(operation)).collect();
    let begun = walk.nan_begins.filter(|_| walk.nan_arrives.get());
    if let Some((order, leaf)) = begun.or(walk.born.filter(|_| !walk.born_in_baseline)) {
        let flow = flows.get_mut(order).and_then(|flow| flow.leaves.get_mut(leaf));
        flow.into_iter().for_each(|flow| {
            flow.suspicion = culprit_suspicion(&rules::NOT_A_NUMBER_APPEARS, Severity::Fail).map(Box::new)
        });
    }
    let others = walk.updates.iter().filter(|is_other| **is_other).count();
    if let Some((order, leaf)) = walk.first_update.filter(|_| 2 * others > walk.updates.len()) {
        let flow = flows.get_mut(order).and_then(|flow| flow.leaves.get_mut(leaf));
        flow.into_iter()
            .for_each(|flow| flow.suspicion = culprit_suspicion(&rules::INPUT_DIFFERS, Severity::Fail).map(Box::new));
    }
    if policy.has_refinement(Refinement::Effect) && walk.is_wrong {
        raise_first_input(&mut flows);
    }
    if policy.has_refinement(Refinement::OtherOperations) {
        one_sided::blame(&mut flows, unit, candidate);
    }
    UnitFlow {
        flows,
        limits_used: walk.used.iter().map(Cell::get).collect(),
        uncounted: walk.uncounted.into_inner(),
        largest_error: walk.largest_error,
        gradient_error: upper_median(walk.gradients).unwrap_or(0.0),
        accumulated: walk.accumulated,
        parameters: walk.parameters,
    }
}

/// Raises the first suspect to a failure if it is an input that differs, for units in which a later forward result is wrong.
fn raise_first_input(flows: &mut [OperationFlow]) {
    let mut suspicions =
        flows.iter_mut().flat_map(|flow| &mut flow.leaves).filter_map(|leaf| leaf.suspicion.as_deref_mut());
    let first = suspicions.find(|suspicion| suspicion.is_culprit);
    first
        .filter(|first| first.rule == &rules::INPUT_DIFFERS)
        .into_iter()
        .for_each(|first| first.severity = Severity::Fail);
}

struct Walk<'a> {
    policy: &'a DumpPolicy,
    used: Vec<Cell<bool>>,
    uncounted: RefCell<Option<UncountedTensors>>,
    baseline: &'a Dump,
    candidate: &'a Dump,
    context: &'a UnitContext,
    recurring: Recurring,
    /// States of values that appear again, by their keys.
    values: ByHash<Upstream>,
    /// Errors and types of a forward call, for its backward call, by hash of base name and call number.
    forward: ByHash<Upstream>,
    /// Calls with a suspect, by hash of base name and call number.
    suspected: Hashes,
    /// Errors and types inside a module, its inner modules included, by hash of path and direction.
    inside: ByHash<Upstream>,
    before: Upstream,
    /// Whether a result so far required a gradient.
    training: bool,
    /// Number of operations that were followed.
    order: usize,
    /// Order and output of the first operation that the candidate alone has and that makes NaN from numbers.
    nan_begins: Option<(usize, usize)>,
    /// Order and output of the first operation that the candidate alone has, and in which NaN or +inf is surely born.
    born: Option<(usize, usize)>,
    /// Whether NaN or +inf is born in an operation that the baseline alone has.
    born_in_baseline: bool,
    /// Whether the NaN of `nan_begins` reached an operation of both sides.
    nan_arrives: Cell<bool>,
    /// Gradients that arrive at the backward calls of modules, for the gradients of their parameters.
    arriving: ArrivingGradients,
    /// The largest error with a size that an operation made.
    largest_error: f64,
    /// Errors of gradients that differ.
    gradients: Vec<f64>,
    accumulated: Option<(usize, f64)>,
    /// Whether the error of a forward result lies beyond noise and another precision.
    is_wrong: bool,
    /// Leaf inputs so far.
    parameters: StepParameters,
    /// Parameters of modules as they were last used in this step.
    given: StepParameters,
    /// Hashes of the names of calls that show a buffer before it is filled.
    unfilled: Hashes,
    /// Hashes of the shapes of trained leaf inputs so far.
    parameter_shapes: Hashes,
    /// One entry per trained leaf input that moved since the step before: whether the two sides moved differently.
    updates: Vec<bool>,
    /// Order and place of the first trained input of an operation of which something differs.
    first_update: Option<(usize, usize)>,
    /// Median distance that the extremes of parameters moved since the step before.
    distance: f64,
    /// Median of twice that distance, relative to the parameter's root mean square.
    moved_share: f64,
}

impl<'a> Walk<'a> {
    fn operation(&mut self, comparison: &OperationComparison) -> OperationFlow {
        self.order += 1;
        let operations = comparison.operations(self.baseline, self.candidate);
        let (Some(baseline), Some(candidate)) = operations else {
            self.pass_over(operations.0.or(operations.1));
            return self.one_sided(comparison, operations.1);
        };
        let items: Vec<Item<'_>> = comparison.leaves.iter().map(|leaf| item(leaf, baseline, candidate)).collect();
        let name = OpName::parse(candidate.name);
        let mut inputs = self.upstream_of_context(&name, candidate.name);
        // A layer keeps its input and its weight for its backward call, and not its result.
        let mut kept = Upstream::NOTHING;
        let mut own: Option<Dtype> = None;
        for item in &items {
            own = looser_dtype(own, item.dtype());
        }
        let mut leaves: Vec<Option<LeafFlow>> = vec![None; items.len()];
        for (place, (item, flow)) in items.iter().zip(&mut leaves).enumerate() {
            if !is_input(item.kind) {
                continue;
            }
            let origin = self.origin(item);
            if self.is_unread(item, origin, &items, (candidate.name, &name)) {
                *flow = Some(LeafFlow::unread());
                continue;
            }
            if origin.is_none() {
                self.note_parameter(item);
                if !self.context.is_last_step {
                    self.parameters.remember(item);
                }
                self.follow_update(item, place, &items, (candidate.name, &name));
            }
            *flow = Some(self.judge_input(item, origin, &items, (candidate.name, &name)));
            if origin.is_none() {
                self.given.remember_use(item, &name);
            }
            let mut arrived = self.upstream_of_input(item, origin);
            if origin.is_none() && name.direction == Some(Direction::Backward) && self.carries_received_error(item) {
                // Autograd adds up the gradients of several uses, which nothing dumps.
                arrived.error = arrived.error.max(self.before.error);
            }
            if origin.is_none() {
                arrived.error = arrived.error.max(self.hidden_update(item));
                arrived.of_rounding = self.is_of_roundings(item, &name);
            }
            if is_bias(item, &name) {
                let share = share_of_bias(item, &items);
                (arrived.error, arrived.shown) = (arrived.error * share, arrived.shown * share);
            } else {
                kept.add(arrived);
            }
            inputs.add(arrived);
        }
        let is_other_node = self.has_refinement(Refinement::OtherDecomposition)
            && name.direction == Some(Direction::Backward)
            && !self.suspected.contains(&call_key(&name))
            && is_other_node(baseline, candidate);
        let loosest = looser_dtype(own, inputs.loosest);
        for (item, flow) in items.iter().zip(&mut leaves).filter(|(item, _)| !is_input(item.kind)) {
            *flow = Some(match is_other_node {
                true => LeafFlow::undecided(),
                false if self.is_unfilled(candidate.name) => LeafFlow::unread(),
                false => self.judge_output(item, &inputs, loosest, &items, (candidate.name, &name)),
            });
        }
        self.arriving.remember(&name, &items);
        let inside = self.remember((candidate.name, &name), &items, &leaves, loosest, &inputs, is_other_node);
        let parent = comparison.pair.candidate().and_then(|index| self.candidate.parent_of(index));
        self.remember_inside(&name, parent, inside);
        let leaves: Box<[LeafFlow]> = leaves.into_iter().flatten().collect();
        if leaves.iter().any(|leaf| leaf.suspicion.is_some()) {
            self.suspected.insert(call_key(&name));
        } else if name.direction == Some(Direction::Forward) && is_layer(&name) {
            // A layer that is wrong forward is as wrong backward, so that its result counts there only if it is a suspect.
            self.remember_forward(&name, kept);
        }
        OperationFlow { input_error: inputs.error, loosest, leaves, is_other_node }
    }

    /// Whether a call shows a buffer before it is filled.
    fn is_unfilled(&self, op: &str) -> bool {
        !self.unfilled.is_empty() && self.unfilled.contains(&hash_of(op))
    }

    fn has_refinement(&self, refinement: Refinement) -> bool {
        self.policy.has_refinement(refinement)
    }

    /// The flow of an operation that only one side has, whose values have no limits. NaN that begins in one of the candidate is
    /// remembered: it matters only if it reaches an operation of both sides, because uninitialised memory may hold it too.
    fn one_sided(&mut self, comparison: &OperationComparison, candidate: Option<Operation<'_>>) -> OperationFlow {
        let order = self.order - 1;
        if self.nan_begins.is_none() {
            let leaf = candidate.and_then(nan_output);
            self.nan_begins = leaf.map(|leaf| (order, leaf));
        }
        let is_born = |operation: Operation<'_>| {
            newly_poisoned_output(operation).filter(|_| module_path(operation.name).is_none())
        };
        self.born = self.born.or_else(|| Some((order, candidate.and_then(is_born)?)));
        let alone = comparison.pair.baseline().and_then(|place| self.baseline.operations.get(place));
        self.born_in_baseline |= candidate.is_none() && alone.and_then(is_born).is_some();
        let leaves = comparison.leaves.iter().map(|_| LeafFlow::undecided()).collect();
        OperationFlow { input_error: 0.0, loosest: None, leaves, is_other_node: false }
    }

    /// Passes over an operation without a partner: its results were not compared, so no later difference is surely the first one, and
    /// its types may have added their noise.
    fn pass_over(&mut self, operation: Option<Operation<'_>>) {
        self.before.identical = false;
        for record in operation.into_iter().flat_map(|operation| operation.leaves.iter()).filter_map(Leaf::record) {
            let dtype = record.element.filter(|dtype| dtype.unit_roundoff() > 0.0);
            self.before.loosest = looser_dtype(self.before.loosest, dtype);
        }
    }

    /// Errors that reach an operation other than through its inputs.
    fn upstream_of_context(&self, name: &OpName<'_>, full_name: &str) -> Upstream {
        let mut inputs = Upstream::NOTHING;
        if matches!(name.direction, Some(Direction::Backward | Direction::ParametersGradient)) {
            let forward = self.forward.get(&call_key(name)).copied();
            inputs.add(forward.unwrap_or(Upstream::NOTHING));
        }
        if let Some(path) = module_path(name.base) {
            let direction = match name.direction {
                Some(Direction::ParametersGradient) => Some(Direction::Backward),
                direction => direction,
            };
            inputs.add(self.inside.get(&hash_of(&(path, direction))).copied().unwrap_or(Upstream::NOTHING));
        }
        let others = [&self.context.collectives, &self.context.received];
        for error in others.into_iter().filter_map(|errors| errors.get(full_name)) {
            inputs.add(Upstream { error: *error, shown: *error, identical: *error == 0.0, ..Upstream::NOTHING });
        }
        inputs
    }

    /// The limits of a value: the built-in ones, replaced by those of the first rule of the policy that fits. If that rule sets no
    /// limit of the error, the limits are no narrower than the recorded noise of repeats.
    fn limits(&self, op: &str, direction: Option<Direction>, item: &Item<'_>, loosest: Option<Dtype>) -> Limits {
        let mut limits = Limits::built_in(band_of_dtype(looser_dtype(item.dtype(), loosest)), self.recorded(item));
        let Some((index, rule)) = first_fitting_limit(self.policy, op, direction, item.dtype()) else { return limits };
        if let Some(used) = self.used.get(index) {
            used.set(true);
        }
        if rule.noise.is_some() || rule.wrong.is_some() {
            limits.recorded = RecordedLimits::default();
        }
        limits.band.noise = rule.noise.map_or(limits.band.noise, Tolerance::get);
        limits.band.wrong = rule.wrong.map_or(limits.band.wrong, Tolerance::get).max(limits.band.noise);
        let has_size = item.measurement().is_some_and(|measured| measured.exact.is_none());
        let absolute = rule.absolute.filter(|_| has_size).zip(item.details());
        limits.negligible = absolute.is_some_and(|(limit, details)| details.absolute <= limit.get());
        if rule.needs_elements() {
            self.count_elements(index, rule, item, &mut limits);
        }
        limits
    }

    /// Limits of a value that follow from the repeats of the baseline; zero where none were recorded.
    fn recorded(&self, item: &Item<'_>) -> RecordedLimits {
        let limits = || Some(self.context.noise.as_ref()?.limits_of(&item.baseline_row()?));
        limits().unwrap_or_default()
    }

    /// Applies the limits of `rule` that need elements. Tensors whose data a quick look leaves out are judged by their error as usual.
    fn count_elements(&self, index: usize, rule: &LimitRule, item: &Item<'_>, limits: &mut Limits) {
        let Some(dtype) = item.dtype() else { return };
        let by_elements = item.stats().and_then(|stats| element_outcomes(rule, stats, item.closeness(), dtype));
        if let Some(outcomes) = by_elements {
            limits.is_missed = !limits.negligible && outcomes.iter().any(|(_, outcome)| !outcome.is_met);
            limits.by_scale = rule.judges_scale();
        } else if item.is_without_data() && item.measurement().is_some_and(|measured| measured.exact.is_none()) {
            limits.by_scale = rule.judges_scale();
            let mut uncounted = self.uncounted.borrow_mut();
            uncounted
                .get_or_insert_with(|| UncountedTensors { rule: index, first: item.row().into_owned(), count: 0 })
                .count += 1;
        } else if item.unreadable().is_some() {
            limits.by_scale = rule.judges_scale();
        }
    }

    /// Whether limits that count elements decide about the numbers of a value in place of its error.
    fn is_by_elements(&self, op: &str, direction: Option<Direction>, item: &Item<'_>) -> bool {
        self.policy.counts_elements()
            && item.dtype().is_some()
            && item.stats().is_some()
            && first_fitting_limit(self.policy, op, direction, item.dtype())
                .is_some_and(|(_, rule)| !rule.judges_scale())
    }
}

/// Limits of one value.
#[derive(Clone, Copy)]
struct Limits {
    /// Limits of its error relative to scale, by its type or by the policy. Exact differences and single elements are judged by these
    /// limits alone.
    band: ErrorBand,
    /// Limits by repeats of the baseline.
    recorded: RecordedLimits,
    /// Whether the policy calls its difference negligible.
    negligible: bool,
    /// Whether it lies beyond a limit that counts elements.
    is_missed: bool,
    /// Whether its error relative to scale is judged at all.
    by_scale: bool,
}

impl Limits {
    fn built_in(band: ErrorBand, recorded: RecordedLimits) -> Self {
        Self { band, recorded, negligible: false, is_missed: false, by_scale: true }
    }

    /// The limits of its error as a whole.
    fn overall_band(self) -> ErrorBand {
        self.recorded.widen(self.band)
    }

    /// Whether a value of this error differs.
    fn differs(self, measured: &Measurement, error: f64) -> bool {
        let beyond = self.by_scale && error > self.overall_band().noise || self.is_missed;
        !self.negligible && (beyond || measured.exact.is_some())
    }

    /// Suspicion of a value beyond a limit that counts elements.
    fn missed_limit(self) -> Option<Suspicion> {
        culprit_suspicion(&rules::LIMIT_NOT_MET, Severity::Fail).filter(|_| self.is_missed)
    }
}

/// Share of a bias in the result that it is added to, which is the share of its error that the result has.
fn share_of_bias(bias: &Item<'_>, items: &[Item<'_>]) -> f64 {
    let result = items.iter().find(|item| !is_input(item.kind)).and_then(Item::rms);
    bias.rms().zip(result).map_or(1.0, |(bias, result)| (bias / result).min(1.0))
}

/// The first output that holds NaN, of an operation whose inputs are numbers.
fn nan_output(operation: Operation<'_>) -> Option<usize> {
    let has_nan = |leaf: Leaf<'_>| {
        let record = leaf.record();
        record.is_some_and(|record| [record.max, record.min].iter().any(|one| one.as_f64().is_some_and(f64::is_nan)))
    };
    let mut inputs = operation.leaves.iter().filter(|leaf| is_input(leaf.kind));
    if inputs.any(has_nan) {
        return None;
    }
    operation.leaves.iter().position(|leaf| !is_input(leaf.kind) && has_nan(leaf))
}

/// Path of a module below its class: `Module.layers.0.fc.Linear` lies at `Module.layers.0.fc`.
fn module_path(base: &str) -> Option<&str> {
    let is_module = base.starts_with("Module.") || base.starts_with("Cell.");
    base.rsplit_once('.').filter(|_| is_module).map(|(path, _)| path)
}

/// Whether a comparison rests on recorded statistics.
fn is_of_statistics(item: &Item<'_>) -> bool {
    item.measurement().is_some_and(|measured| measured.basis == Basis::Statistics)
}

/// The error of the statistics that sum all elements (mean and norm), without the extremes.
fn error_of_sums(item: &Item<'_>) -> f64 {
    item.largest_metric(&["mean_difference", "norm_difference"]).unwrap_or(0.0)
}

/// The error that a value passes on. For a different type, and for a different checksum or flag beside other measurements, it is the
/// measured error. Every other exact difference counts as infinite and explains anything after it.
fn size(measured: &Measurement, error: f64) -> f64 {
    match measured.exact {
        Some(ExactDifference::Checksum | ExactDifference::RequiresGrad) if measured.basis != Basis::Checksum => error,
        Some(ExactDifference::Dtype) => error,
        Some(_) => f64::INFINITY,
        None => error,
    }
}

/// Whether an earlier appearance of a value was already about as far off, so that nothing was added in between.
fn explains(origin: &Upstream, measured: &Measurement) -> bool {
    !origin.identical && (origin.error >= 0.99 * measured.error || measured.error <= AMPLIFICATION * origin.error)
}
