//! The flow of error through a unit: what each operation received, what it added, and whether that is suspicious.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::decomposition::is_other_node;
use super::item::{Item, ValueKey, hash_of, is_input, item};
use super::kinks::{self, Flips};
use super::limits::{AMPLIFICATION, Band, band, looser};
use super::one_sided;
use super::outlier;
use super::rules;
use super::suspicion::{self, Suspicion, culprit};
use super::terms::{self, Arriving};
use super::update::{self, Parameters};
use super::upstream::Upstream;
use super::writes::is_destination;
use crate::compare::dump::{Basis, ExactDifference, Measurement, OperationComparison, UnitComparison};
use crate::dtype::Dtype;
use crate::policy::dump::{DirectionName, DumpPolicy, LimitRule, Refinement};
use crate::policy::value::Tolerance;
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Dump, Leaf, Operation, TensorKind};
use crate::verdict::Severity;

/// Errors this far beyond the band deserve a word even if no operation is suspected.
const ACCUMULATED: f64 = 8.0;

/// Error that reached an operation, and the limits that follow for its values.
#[derive(Clone, Debug)]
pub struct OperationFlow {
    /// The largest error among what the operation was computed from.
    pub input_error: f64,
    /// The band of its outputs.
    pub band: Band,
    /// One entry per leaf comparison.
    pub leaves: Box<[LeafFlow]>,
    /// Whether each side recorded another node of the graph, so that the results were not held against each other.
    pub is_other_node: bool,
}

/// Judgement of one value.
#[derive(Clone, Debug)]
pub struct LeafFlow {
    /// The error up to which it is explained.
    pub limit: f64,
    /// Whether it lies beyond noise, or differs in an exact property.
    pub differs: bool,
    /// Suspicion that an error starts here; `None` where nothing speaks for that.
    pub suspicion: Option<Box<Suspicion>>,
}

/// Errors that reach a unit from outside: from other ranks and earlier steps.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Largest input error over all ranks of the step, by name of a collective operation.
    pub collectives: HashMap<String, f64>,
    /// Largest error of the same rank at an earlier step; leaf inputs of a later step carry it.
    pub earlier_steps: f64,
    /// The same of half of the gradients of an earlier step: the error of a gradient as it commonly is.
    pub earlier_gradients: f64,
    /// Leaf inputs of the same rank at the step before.
    pub parameters: Parameters,
    /// Hashes of the rows of leaf inputs whose copies on the ranks are one in the baseline and part in the candidate.
    pub parted: HashSet<u64>,
}

/// A unit's errors, followed through its operations.
#[derive(Debug)]
pub struct Followed {
    /// One entry per operation of the comparison.
    pub flows: Vec<OperationFlow>,
    /// Use of every limit rule of the policy, in its order: true where the rule fitted something.
    pub limits_used: Vec<bool>,
    /// The largest error with a size that an operation made, for later steps.
    pub largest_error: f64,
    /// The error of a gradient as it commonly is: that of half of them.
    pub gradients: f64,
    /// The first operation whose error lies far beyond the band, and that error.
    pub accumulated: Option<(usize, f64)>,
    /// Leaf inputs, for the next step.
    pub parameters: Parameters,
}

/// Follows the errors of a unit through its operations, in execution order.
pub fn follow(
    baseline: &Dump,
    candidate: &Dump,
    unit: &UnitComparison,
    context: &Context,
    policy: &DumpPolicy,
) -> Followed {
    let mut walk = Walk {
        policy,
        used: vec![Cell::new(false); policy.limits.len()],
        baseline,
        candidate,
        context,
        values: HashMap::new(),
        forward: HashMap::new(),
        inside: HashMap::new(),
        before: Upstream { error: context.earlier_steps, identical: context.earlier_steps == 0.0, loosest: None },
        training: false,
        order: 0,
        nan_begins: None,
        nan_arrives: Cell::new(false),
        arriving: Arriving::default(),
        largest_error: 0.0,
        gradients: Vec::new(),
        accumulated: None,
        is_wrong: false,
        parameters: Parameters::default(),
        updates: Vec::new(),
        first_update: None,
        distance: 0.0,
        moved_share: 0.0,
        suspected: HashSet::new(),
    };
    (walk.distance, walk.moved_share) = walk.common_movement(unit);
    let mut flows: Vec<OperationFlow> = unit.operations.iter().map(|operation| walk.operation(operation)).collect();
    if let Some((order, leaf)) = walk.nan_begins.filter(|_| walk.nan_arrives.get()) {
        let flow = flows.get_mut(order).and_then(|flow| flow.leaves.get_mut(leaf));
        flow.into_iter()
            .for_each(|flow| flow.suspicion = culprit(&rules::NOT_A_NUMBER_APPEARS, Severity::Fail).map(Box::new));
    }
    let others = walk.updates.iter().filter(|is_other| **is_other).count();
    if let Some((order, leaf)) = walk.first_update.filter(|_| 2 * others > walk.updates.len()) {
        let flow = flows.get_mut(order).and_then(|flow| flow.leaves.get_mut(leaf));
        flow.into_iter().for_each(|flow| flow.suspicion = culprit(&rules::INPUT_DIFFERS, Severity::Fail).map(Box::new));
    }
    if policy.has(Refinement::Effect) && walk.is_wrong {
        raise_first_input(&mut flows);
    }
    if policy.has(Refinement::OtherOperations) {
        one_sided::blame(&mut flows, unit, candidate);
    }
    Followed {
        flows,
        limits_used: walk.used.iter().map(Cell::get).collect(),
        largest_error: walk.largest_error,
        gradients: median(walk.gradients),
        accumulated: walk.accumulated,
        parameters: walk.parameters,
    }
}

/// Where the first suspect is an input that is off by a rounding and what follows from it is wrong, so is the input.
fn raise_first_input(flows: &mut [OperationFlow]) {
    let mut suspicions =
        flows.iter_mut().flat_map(|flow| &mut flow.leaves).filter_map(|leaf| leaf.suspicion.as_deref_mut());
    let first = suspicions.find(|suspicion| suspicion.is_culprit);
    first
        .filter(|first| first.rule == &rules::INPUT_DIFFERS)
        .into_iter()
        .for_each(|first| first.severity = Severity::Fail);
}

/// The middle one of some errors; 0 where there are none.
fn median(mut errors: Vec<f64>) -> f64 {
    errors.sort_by(f64::total_cmp);
    errors.get(errors.len() / 2).copied().unwrap_or(0.0)
}

struct Walk<'a> {
    policy: &'a DumpPolicy,
    used: Vec<Cell<bool>>,
    baseline: &'a Dump,
    candidate: &'a Dump,
    context: &'a Context,
    values: HashMap<ValueKey, Upstream>,
    /// Errors and types of a forward call, for its backward call, by hash of base name and call number.
    forward: HashMap<u64, Upstream>,
    /// Calls with a suspect, by hash of base name and call number.
    suspected: HashSet<u64>,
    /// Errors and types inside a module, its inner modules included, by path and direction.
    inside: HashMap<(String, Option<Direction>), Upstream>,
    before: Upstream,
    /// Whether a result so far required a gradient.
    training: bool,
    /// Number of operations that were followed.
    order: usize,
    /// Order and output of the first operation that the candidate alone has and that makes NaN from numbers.
    nan_begins: Option<(usize, usize)>,
    /// Whether that NaN was received by an operation of both sides.
    nan_arrives: Cell<bool>,
    /// What arrives at the backward calls of modules, for the gradients of their parameters.
    arriving: Arriving,
    /// The largest error with a size that an operation made.
    largest_error: f64,
    /// Errors of gradients that differ.
    gradients: Vec<f64>,
    accumulated: Option<(usize, f64)>,
    /// Whether the error of a forward result lies beyond noise and another precision.
    is_wrong: bool,
    /// Leaf inputs so far.
    parameters: Parameters,
    /// Of every trained leaf input that moved since the step before, whether it moved otherwise on the other side.
    updates: Vec<bool>,
    /// Order and place of the first trained input of an operation of which something differs.
    first_update: Option<(usize, usize)>,
    /// The distance that the extremes of parameters commonly moved since the step before.
    distance: f64,
    /// Twice that distance relative to the parameters' root mean square, as it commonly is.
    moved_share: f64,
}

impl<'a> Walk<'a> {
    fn operation(&mut self, comparison: &OperationComparison) -> OperationFlow {
        self.order += 1;
        let operations = (
            comparison.pair.baseline().and_then(|index| self.baseline.operations.get(index)),
            comparison.pair.candidate().and_then(|index| self.candidate.operations.get(index)),
        );
        let (Some(baseline), Some(candidate)) = operations else {
            self.pass_over(operations.0.or(operations.1));
            return self.one_sided(comparison, operations.1);
        };
        let items: Vec<Item<'_>> = comparison.leaves.iter().map(|leaf| item(leaf, baseline, candidate)).collect();
        let name = OpName::parse(candidate.name);
        let mut inputs = self.upstream_of_context(&name, candidate.name);
        let mut own: Option<Dtype> = None;
        for item in &items {
            own = looser(own, item.dtype());
        }
        let mut leaves: Vec<Option<LeafFlow>> = vec![None; items.len()];
        for (place, (item, flow)) in items.iter().zip(&mut leaves).enumerate() {
            if !is_input(item.kind) {
                continue;
            }
            let origin = self.origin(item);
            if origin.is_none() && self.has(Refinement::WriteDestinations) && is_destination(item, &name) {
                *flow = Some(LeafFlow::undecided());
                continue;
            }
            if origin.is_none() {
                self.parameters.remember(item);
                self.follow_update(item, place, &items);
            }
            *flow = Some(self.judge_input(item, origin, &items, candidate.name));
            let mut arrived = self.arrived(item, origin);
            if origin.is_none() && name.direction == Some(Direction::Backward) && self.carries(item) {
                // Autograd adds up the gradients of several uses, which nothing dumps.
                arrived.error = arrived.error.max(self.before.error);
            }
            if origin.is_none() {
                arrived.error = arrived.error.max(self.hidden_update(item));
            }
            if self.has(Refinement::AdditiveTerms) && is_of_statistics(item) {
                arrived.error *= terms::share(item, &items, &name);
            }
            inputs.add(arrived);
        }
        let is_other_node = self.has(Refinement::OtherDecomposition)
            && !self.suspected.contains(&hash_of(&(&name.base, name.call)))
            && is_other_node(baseline, candidate);
        let loosest = looser(own, inputs.loosest);
        for (item, flow) in items.iter().zip(&mut leaves).filter(|(item, _)| !is_input(item.kind)) {
            *flow = Some(match is_other_node {
                true => LeafFlow::undecided(),
                false => self.judge_output(item, &inputs, loosest, &items, candidate.name),
            });
        }
        self.arriving.remember(&name, &items);
        self.remember(&name, candidate.name, &items, loosest, &inputs, is_other_node);
        let leaves: Box<[LeafFlow]> = leaves.into_iter().flatten().collect();
        if leaves.iter().any(|leaf| leaf.suspicion.is_some()) {
            self.suspected.insert(hash_of(&(&name.base, name.call)));
        }
        OperationFlow { input_error: inputs.error, band: band(loosest), leaves, is_other_node }
    }

    fn has(&self, refinement: Refinement) -> bool {
        self.policy.has(refinement)
    }

    /// Error of a parameter that its statistics may hide: of its elements, as many as have a gradient below the gradients' own
    /// error may have moved the other way, by twice an update each.
    fn hidden_update(&self, item: &Item<'_>) -> f64 {
        if !self.has(Refinement::LinkedSteps) || !is_of_statistics(item) || self.context.earlier_gradients == 0.0 {
            return 0.0;
        }
        // An extreme of this one may have had no gradient (a row of an embedding that no token chose).
        let scale = item.details().and_then(|details| details.rms).filter(|rms| *rms > 0.0 && update::is_trained(item));
        scale.map_or(0.0, |scale| 2.0 * self.distance / scale * self.context.earlier_gradients.min(1.0).sqrt())
    }

    /// The distance that the extremes of parameters commonly moved since the step before: the learning rate where the
    /// optimizer scales by the gradient's own size.
    ///
    /// And twice that distance relative to the parameters' root mean square.
    fn common_movement(&self, unit: &UnitComparison) -> (f64, f64) {
        if self.context.parameters.is_empty() || !self.has(Refinement::LinkedSteps) {
            return (0.0, 0.0);
        }
        let (mut distances, mut shares) = (Vec::new(), Vec::new());
        for comparison in &unit.operations {
            let baseline = comparison.pair.baseline().and_then(|index| self.baseline.operations.get(index));
            let candidate = comparison.pair.candidate().and_then(|index| self.candidate.operations.get(index));
            let Some((baseline, candidate)) = baseline.zip(candidate) else { continue };
            let items = comparison.leaves.iter().map(|leaf| item(leaf, baseline, candidate));
            let given = items.filter(|item| is_input(item.kind) && update::is_trained(item));
            for item in given {
                let distance = self.context.parameters.distance(&item);
                let rms = item.details().and_then(|details| details.rms).filter(|rms| *rms > 0.0);
                let Some(rms) = rms.filter(|_| distance > 0.0) else { continue };
                distances.push(distance);
                shares.push(2.0 * distance / rms);
            }
        }
        (median(distances), median(shares))
    }

    /// Notes how a leaf input moved since the step before.
    fn follow_update(&mut self, item: &Item<'_>, place: usize, items: &[Item<'_>]) {
        if !self.has(Refinement::LinkedSteps) || item.measured().is_none() {
            return;
        }
        let noise = band(item.dtype()).noise;
        let update = self.context.parameters.update(item, noise, self.context.earlier_steps);
        if let Some(is_other) = update.and_then(|update| update.is_other) {
            self.updates.push(is_other);
        }
        let differs = |item: &Item<'_>| item.measured().is_some_and(|measured| !measured.is_equal);
        if self.first_update.is_none() && self.context.parameters.knows(item) && items.iter().any(differs) {
            self.first_update = Some((self.order - 1, place));
        }
    }

    /// The values of an operation that only the candidate has: none has a limit. NaN that begins here is remembered, for it
    /// matters only where it reaches an operation of both sides; uninitialised memory may hold it too.
    fn one_sided(&mut self, comparison: &OperationComparison, candidate: Option<Operation<'_>>) -> OperationFlow {
        let order = self.order - 1;
        if self.nan_begins.is_none() {
            let leaf = candidate.and_then(nan_output);
            self.nan_begins = leaf.map(|leaf| (order, leaf));
        }
        let leaves = comparison.leaves.iter().map(|_| LeafFlow::undecided()).collect();
        OperationFlow { input_error: 0.0, band: band(None), leaves, is_other_node: false }
    }

    /// An operation without a partner: what it made was not compared, so nothing after it can be called the first
    /// difference, and its types may have added their noise.
    fn pass_over(&mut self, operation: Option<Operation<'_>>) {
        self.before.identical = false;
        for record in operation.into_iter().flat_map(|operation| operation.leaves.iter()).filter_map(Leaf::record) {
            let dtype = Dtype::parse(record.dtype).filter(|dtype| dtype.unit_roundoff() > 0.0);
            self.before.loosest = looser(self.before.loosest, dtype);
        }
    }

    /// Errors that reach an operation by other ways than its inputs.
    fn upstream_of_context(&self, name: &OpName, full_name: &str) -> Upstream {
        let mut inputs = Upstream::NOTHING;
        if matches!(name.direction, Some(Direction::Backward | Direction::ParametersGradient)) {
            let forward = self.forward.get(&hash_of(&(&name.base, name.call))).copied();
            inputs.add(forward.unwrap_or(Upstream::NOTHING));
        }
        if let Some(path) = module_path(&name.base) {
            let direction = match name.direction {
                Some(Direction::ParametersGradient) => Some(Direction::Backward),
                direction => direction,
            };
            inputs.add(self.inside.get(&(path.to_owned(), direction)).copied().unwrap_or(Upstream::NOTHING));
        }
        if let Some(error) = self.context.collectives.get(full_name) {
            inputs.add(Upstream { error: *error, identical: *error == 0.0, loosest: None });
        }
        inputs
    }

    /// The value's earlier appearance, if it had one.
    fn origin(&self, item: &Item<'_>) -> Option<Upstream> {
        item.keys().find_map(|key| self.values.get(&key)).copied()
    }

    /// Error and loosest type that an input brings with it, from its origin or from everything before.
    fn arrived(&self, item: &Item<'_>, origin: Option<Upstream>) -> Upstream {
        let Some(measured) = item.measured() else { return Upstream::NOTHING };
        let loosest = match origin {
            Some(origin) => looser(origin.loosest, item.dtype()),
            None if measured.identical => item.dtype(),
            None => looser(item.dtype(), self.before.loosest),
        };
        let error = measured.error.max(origin.map_or(0.0, |origin| origin.error));
        Upstream { error: size(measured, error), identical: measured.is_equal, loosest }
    }

    /// An input is suspected when nothing before it explains what it shows.
    fn judge_input(&self, item: &Item<'_>, origin: Option<Upstream>, items: &[Item<'_>], op: &str) -> LeafFlow {
        let name = OpName::parse(op);
        let direction = name.direction;
        let Some(measured) = item.measured() else { return LeafFlow::undecided() };
        let before = origin.filter(|origin| !origin.identical).unwrap_or(self.before);
        let (limits, negligible) = self.limits(op, direction, item, before.loosest);
        let update = (self.has(Refinement::LinkedSteps) && origin.is_none())
            .then(|| self.context.parameters.update(item, limits.noise, self.context.earlier_steps))
            .flatten();
        // A gradient of the other sign moves an element the other way: twice an update.
        let moved = update.as_ref().filter(|_| !before.identical).map_or(0.0, |update| 2.0 * update.size);
        let limit = AMPLIFICATION.mul_add(before.error, limits.noise).max(moved);
        let mut flow = LeafFlow { limit, differs: !negligible && differs(measured, limits), suspicion: None };
        let is_parted = self.has(Refinement::LinkedSteps)
            && origin.is_none()
            && self.context.parted.contains(&hash_of(&item.row()));
        if (is_parted || update.is_some_and(|update| update.is_lost)) && !negligible {
            flow.suspicion = culprit(&rules::INPUT_DIFFERS, Severity::Fail).map(Box::new);
            return flow;
        }
        if measured.is_equal || negligible {
            return flow;
        }
        let suspicion = if origin.is_some_and(|origin| !origin.identical && explains(&origin, measured)) {
            None
        } else if measured.exact == Some(ExactDifference::NonFinite) && self.nan_begins.is_some() {
            self.nan_arrives.set(true);
            None
        } else if let Some(exact) = measured.exact {
            suspicion::of_input(exact, item, before, limits, items, op, origin.is_none())
        } else if (before.identical && self.is_leaf(item, measured, &name)) || measured.error > limit {
            let severity = if measured.error > limits.wrong { Severity::Fail } else { Severity::Warn };
            culprit(&rules::INPUT_DIFFERS, severity)
        } else {
            None
        };
        flow.suspicion = suspicion.map(Box::new);
        flow
    }

    /// The band of a value: the policy's first limit rule that fits, over the built-in one; and whether the policy
    /// calls its difference negligible.
    fn limits(&self, op: &str, direction: Option<Direction>, item: &Item<'_>, loosest: Option<Dtype>) -> (Band, bool) {
        let mut limits = band(looser(item.dtype(), loosest));
        let direction = match direction {
            Some(Direction::Backward | Direction::ParametersGradient) => DirectionName::Backward,
            _ => DirectionName::Forward,
        };
        let fits = |(_, rule): &(usize, &LimitRule)| rule.fits(op, direction, item.dtype());
        let Some((index, rule)) = self.policy.limits.iter().enumerate().find(fits) else { return (limits, false) };
        if let Some(used) = self.used.get(index) {
            used.set(true);
        }
        limits.noise = rule.noise.map_or(limits.noise, Tolerance::get);
        limits.wrong = rule.wrong.map_or(limits.wrong, Tolerance::get).max(limits.noise);
        let has_size = item.measured().is_some_and(|measured| measured.exact.is_none());
        let absolute = rule.absolute.filter(|_| has_size).zip(item.details());
        let negligible = absolute.is_some_and(|(limit, details)| details.absolute <= limit.get());
        (limits, negligible)
    }

    /// Whether an input that was not seen before is one that nothing computed: a weight, a buffer, data.
    ///
    /// Statistics do not show all that differs, so a view, a part or a product of a tensor that nothing dumped made may be the
    /// first to show it. A parameter, and a value outside the graph of a training step, are leaves all the same. Autograd adds
    /// up gradients, so that none is a leaf.
    fn is_leaf(&self, item: &Item<'_>, measured: &Measurement, name: &OpName) -> bool {
        if measured.basis == Basis::Data || item.kind == TensorKind::Parameter {
            return true;
        }
        if name.direction != Some(Direction::Forward) {
            return false;
        }
        let outside_graph = item.records().iter().flatten().all(|record| record.requires_grad == Some(false));
        let is_first = self.before.loosest.is_none();
        is_first || update::is_weight(item, name) || self.training && outside_graph
    }

    /// An output is suspected when it shows more than noise and what the operation received.
    fn judge_output(
        &self,
        item: &Item<'_>,
        inputs: &Upstream,
        loosest: Option<Dtype>,
        items: &[Item<'_>],
        op: &str,
    ) -> LeafFlow {
        let Some(measured) = item.measured() else { return LeafFlow::undecided() };
        let name = OpName::parse(op);
        let (limits, negligible) = self.limits(op, name.direction, item, loosest);
        let mut inputs = *inputs;
        if item.kind == TensorKind::Value {
            inputs.add(self.before);
        }
        if let Some(origin) = self.origin(item).filter(|origin| explains(origin, measured)) {
            inputs.add(origin);
        }
        let inherited = AMPLIFICATION * inputs.error + self.hidden(item, inputs.loosest);
        let factor = self.cancelling(item, items, &name);
        let flips = self.flips(item, &inputs, &name);
        let error = match flips {
            Some(Flips { beyond, .. }) => beyond,
            None => factor * self.error_of_many(item, measured),
        };
        let limit = limits.noise + inherited;
        let differs = !negligible && (error > limits.noise || measured.exact.is_some());
        let mut flow = LeafFlow { limit: limit / factor, differs, suspicion: None };
        if measured.is_equal || negligible {
            return flow;
        }
        let suspicion = match measured.exact {
            Some(exact) => suspicion::of_output(exact, item, &inputs, limits, items),
            None if error > limits.wrong + inherited => culprit(&rules::OUTPUT_DIVERGES, Severity::Fail),
            None if error > limit => culprit(&rules::OTHER_PRECISION, Severity::Warn),
            None if self.is_outlier(item, items, &name, &inputs, limits) => culprit(&rules::OUTLIERS, Severity::Fail),
            None => None,
        };
        flow.suspicion = suspicion.map(Box::new);
        flow
    }

    /// The factor of an error that is relative to terms which cancel.
    fn cancelling(&self, item: &Item<'_>, items: &[Item<'_>], name: &OpName) -> f64 {
        if self.has(Refinement::SummedTerms) { self.arriving.cancelling(item, items, name) } else { 1.0 }
    }

    /// Error that equal statistics may hide: elements of a narrow type that lie one place apart, which an operation may
    /// amplify.
    fn hidden(&self, item: &Item<'_>, loosest: Option<Dtype>) -> f64 {
        let unit = loosest.map_or(0.0, Dtype::unit_roundoff);
        if self.has(Refinement::CarriedError) && is_of_statistics(item) { AMPLIFICATION * 2.0 * unit } else { 0.0 }
    }

    /// The error that more than one element shows. After an update single elements of a parameter may have moved the other way:
    /// where one extreme is off by no more than that brings, and the other statistics are not, one element is.
    fn error_of_many(&self, item: &Item<'_>, measured: &Measurement) -> f64 {
        if self.moved_share == 0.0 || !is_of_statistics(item) || measured.error > AMPLIFICATION * self.moved_share {
            return measured.error;
        }
        let metrics = item.details().map(|details| details.metrics).unwrap_or_default();
        let of = |wanted: &str| metrics.iter().find(|(name, _)| *name == wanted).map_or(0.0, |(_, error)| *error);
        let other_extreme = of("max_difference").min(of("min_difference"));
        other_extreme.max(of_all_elements(item)).min(measured.error)
    }

    /// Whether single elements are off that the operation did not receive so. Gradients jump where elements tie.
    fn is_outlier(&self, item: &Item<'_>, items: &[Item<'_>], name: &OpName, inputs: &Upstream, limits: Band) -> bool {
        let may_jump =
            name.direction != Some(Direction::Forward) || outlier::jumps(&name.base) || self.before.error.is_infinite();
        let was_received = || items.iter().any(|item| is_input(item.kind) && outlier::has_outlier(item, limits));
        self.has(Refinement::Outliers)
            && !may_jump
            && inputs.error <= limits.noise
            && outlier::has_outlier(item, limits)
            && !was_received()
    }

    /// The error of a gradient that jumps where elements tie; `None` for any other value.
    fn flips(&self, item: &Item<'_>, inputs: &Upstream, name: &OpName) -> Option<Flips> {
        let has_kink = name.direction == Some(Direction::Backward) && kinks::has_kink(&name.base);
        if !has_kink || !self.has(Refinement::Kinks) || inputs.identical || !is_of_statistics(item) {
            return None;
        }
        kinks::flips(item, of_all_elements(item), inputs.error)
    }

    fn remember(
        &mut self,
        name: &OpName,
        full_name: &str,
        items: &[Item<'_>],
        loosest: Option<Dtype>,
        received: &Upstream,
        is_other_node: bool,
    ) {
        let mut all = Upstream::NOTHING;
        let mut outputs = Upstream::NOTHING;
        for item in items {
            let Some(measured) = item.measured() else { continue };
            if measured.exact == Some(ExactDifference::RequiresGrad) && measured.error == 0.0 {
                continue;
            }
            let is_given = is_input(item.kind);
            if is_given && self.is_unread(item, name) || !is_given && is_other_node {
                continue;
            }
            let loosest = if is_given { item.dtype() } else { looser(item.dtype(), loosest) };
            let mut error = size(measured, measured.error);
            if !is_given && error.is_finite() {
                error *= self.cancelling(item, items, name);
                self.note_error(item, error, name, loosest);
                let flips = self.flips(item, received, name);
                error = flips.map_or(error, |flips| error.max(flips.carried));
            }
            if !is_given && self.carries(item) {
                error = error.max(received.error);
            }
            let seen = Upstream { error, identical: measured.is_equal, loosest };
            all.add(seen);
            if !is_input(item.kind) {
                outputs.add(seen);
                self.training |= item.records().iter().flatten().any(|record| record.requires_grad == Some(true));
            }
            for key in item.keys() {
                let origin = if is_input(item.kind) { self.values.get(&key).copied() } else { None };
                let entry = self.values.entry(key).or_insert(seen);
                *entry = seen;
                entry.add(origin.unwrap_or(Upstream::NOTHING));
            }
        }
        all.add(Upstream { loosest: None, ..*received });
        if name.direction == Some(Direction::Forward) {
            self.forward.insert(hash_of(&(&name.base, name.call)), all);
        }
        if !suspicion::is_in_place_artefact(items, full_name) {
            self.before.add(Upstream { loosest: outputs.loosest, ..all });
        }
        // Parameter gradients are made from what arrives at the backward call, which may be all it records.
        let inside = if name.direction == Some(Direction::Backward) { all } else { outputs };
        self.remember_inside(name, full_name, inside);
    }

    /// Notes the error of an output for the unit's sums.
    fn note_error(&mut self, item: &Item<'_>, error: f64, name: &OpName, loosest: Option<Dtype>) {
        self.largest_error = self.largest_error.max(error);
        let is_forward = name.direction == Some(Direction::Forward);
        if error > 0.0 && !is_forward {
            self.gradients.push(error);
        }
        // A single extreme that moved far is no build-up.
        let of_all = if is_of_statistics(item) { error.min(of_all_elements(item)) } else { error };
        self.is_wrong |= is_forward && of_all > band(loosest).wrong;
        if is_forward && self.accumulated.is_none() && of_all > ACCUMULATED * band(loosest).wrong {
            self.accumulated = Some((self.order - 1, error));
        }
    }

    /// Whether an input is only written to, and nothing dumped made it.
    fn is_unread(&self, item: &Item<'_>, name: &OpName) -> bool {
        self.has(Refinement::WriteDestinations) && is_destination(item, name) && self.origin(item).is_none()
    }

    /// Whether an output carries what the operation received: recorded extremes agree while elements differ, and the scale
    /// of a mask hides every error.
    fn carries(&self, item: &Item<'_>) -> bool {
        self.has(Refinement::CarriedError) && is_of_statistics(item)
            || self.has(Refinement::MaskedScale) && terms::is_masked(item)
    }

    /// An error made inside a module is the module's too, and that of every module around it.
    fn remember_inside(&mut self, name: &OpName, full_name: &str, inside: Upstream) {
        let parent = self.candidate.parents.get(full_name).map(|parent| OpName::parse(parent).base);
        let own = module_path(&name.base).map(str::to_owned);
        let direction = match name.direction {
            Some(Direction::ParametersGradient) => Some(Direction::Backward),
            direction => direction,
        };
        for path in [own, parent.as_deref().and_then(module_path).map(str::to_owned)].into_iter().flatten() {
            let mut path = path.as_str();
            loop {
                self.inside.entry((path.to_owned(), direction)).or_insert(Upstream::NOTHING).add(inside);
                match path.rsplit_once('.') {
                    Some((outer, _)) => path = outer,
                    None => break,
                }
            }
        }
    }
}

/// The first output that holds NaN, of an operation whose inputs are numbers.
fn nan_output(operation: Operation<'_>) -> Option<usize> {
    let has_nan = |leaf: Leaf<'_>| {
        let record = leaf.record();
        record.is_some_and(|record| record.statistics().iter().any(|one| one.as_f64().is_some_and(f64::is_nan)))
    };
    let mut inputs = operation.leaves.iter().filter(|leaf| is_input(leaf.kind));
    if inputs.any(has_nan) {
        return None;
    }
    operation.leaves.iter().position(|leaf| !is_input(leaf.kind) && has_nan(leaf))
}

impl LeafFlow {
    fn undecided() -> Self {
        Self { limit: 0.0, differs: false, suspicion: None }
    }
}

/// Path of a module below its class: `Module.layers.0.fc.Linear` lies at `Module.layers.0.fc`.
fn module_path(base: &str) -> Option<&str> {
    let is_module = base.starts_with("Module.") || base.starts_with("Cell.");
    base.rsplit_once('.').filter(|_| is_module).map(|(path, _)| path)
}

/// A checksum or a flag that differs says nothing of size; every other exact difference explains anything after it.
fn size(measured: &Measurement, error: f64) -> f64 {
    match measured.exact {
        Some(ExactDifference::Checksum | ExactDifference::RequiresGrad) if measured.basis != Basis::Checksum => error,
        Some(ExactDifference::Dtype) => error,
        Some(_) => f64::INFINITY,
        None => error,
    }
}

fn differs(measured: &Measurement, limits: Band) -> bool {
    measured.error > limits.noise || measured.exact.is_some()
}

/// Whether what was seen before is as bad as what is seen now, so that nothing was added in between.
fn explains(origin: &Upstream, measured: &Measurement) -> bool {
    !origin.identical && (origin.error >= 0.99 * measured.error || measured.error <= AMPLIFICATION * origin.error)
}

/// Whether a comparison rests on recorded statistics.
fn is_of_statistics(item: &Item<'_>) -> bool {
    item.measured().is_some_and(|measured| measured.basis == Basis::Statistics)
}

/// The error of those statistics that sum all elements, not of an extreme.
fn of_all_elements(item: &Item<'_>) -> f64 {
    let metrics = item.details().map(|details| details.metrics).unwrap_or_default();
    let of_all = metrics.iter().filter(|(name, _)| matches!(*name, "mean_difference" | "norm_difference"));
    of_all.map(|(_, error)| *error).fold(0.0, f64::max)
}
