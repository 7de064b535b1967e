//! The flow of error through a unit: what each operation received, what it added, and whether that is suspicious.

use std::cell::Cell;
use std::collections::HashMap;

use super::item::{Item, ValueKey, hash_of, is_input, item};
use super::limits::{AMPLIFICATION, Band, band, looser};
use super::rules;
use super::suspicion::{self, Suspicion, culprit};
use super::upstream::Upstream;
use crate::compare::dump::{Basis, ExactDifference, Measurement, OperationComparison, UnitComparison};
use crate::dtype::Dtype;
use crate::policy::dump::{DirectionName, DumpPolicy, LimitRule};
use crate::policy::value::Tolerance;
use crate::read::dump::name::{Direction, OpName};
use crate::read::dump::{Dump, Leaf, Operation, TensorKind};
use crate::verdict::Severity;

/// Error that reached an operation, and the limits that follow for its values.
#[derive(Clone, Debug)]
pub struct OperationFlow {
    /// The largest error among what the operation was computed from.
    pub input_error: f64,
    /// The band of its outputs.
    pub band: Band,
    /// One entry per leaf comparison.
    pub leaves: Box<[LeafFlow]>,
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
}

/// Follows the errors of a unit through its operations, in execution order.
///
/// Also answers which limit rules of the policy fitted something.
pub fn follow(
    baseline: &Dump,
    candidate: &Dump,
    unit: &UnitComparison,
    context: &Context,
    policy: &DumpPolicy,
) -> (Vec<OperationFlow>, Vec<bool>) {
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
    };
    let mut flows: Vec<OperationFlow> = unit.operations.iter().map(|operation| walk.operation(operation)).collect();
    if let Some((order, leaf)) = walk.nan_begins.filter(|_| walk.nan_arrives.get()) {
        let flow = flows.get_mut(order).and_then(|flow| flow.leaves.get_mut(leaf));
        flow.into_iter()
            .for_each(|flow| flow.suspicion = culprit(&rules::NOT_A_NUMBER_APPEARS, Severity::Fail).map(Box::new));
    }
    (flows, walk.used.iter().map(Cell::get).collect())
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
        for (item, flow) in items.iter().zip(&mut leaves).filter(|(item, _)| is_input(item.kind)) {
            let origin = self.origin(item);
            *flow = Some(self.judge_input(item, origin, &items, candidate.name));
            inputs.add(self.arrived(item, origin));
        }
        let loosest = looser(own, inputs.loosest);
        for (item, flow) in items.iter().zip(&mut leaves).filter(|(item, _)| !is_input(item.kind)) {
            *flow = Some(self.judge_output(item, &inputs, loosest, &items, candidate.name));
        }
        self.remember(&name, candidate.name, &items, loosest);
        let leaves = leaves.into_iter().flatten().collect();
        OperationFlow { input_error: inputs.error, band: band(loosest), leaves }
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
        OperationFlow { input_error: 0.0, band: band(None), leaves }
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
        Upstream { error: size(measured, error), identical: measured.identical, loosest }
    }

    /// An input is suspected when nothing before it explains what it shows.
    fn judge_input(&self, item: &Item<'_>, origin: Option<Upstream>, items: &[Item<'_>], op: &str) -> LeafFlow {
        let direction = OpName::parse(op).direction;
        let Some(measured) = item.measured() else { return LeafFlow::undecided() };
        let before = origin.filter(|origin| !origin.identical).unwrap_or(self.before);
        let (limits, negligible) = self.limits(op, direction, item, before.loosest);
        let limit = AMPLIFICATION.mul_add(before.error, limits.noise);
        let mut flow = LeafFlow { limit, differs: !negligible && differs(measured, limits), suspicion: None };
        if measured.identical || negligible {
            return flow;
        }
        let suspicion = if origin.is_some_and(|origin| !origin.identical && explains(&origin, measured)) {
            None
        } else if measured.exact == Some(ExactDifference::NonFinite) && self.nan_begins.is_some() {
            self.nan_arrives.set(true);
            None
        } else if let Some(exact) = measured.exact {
            suspicion::of_input(exact, item, before, limits, items, op)
        } else if (before.identical && self.is_leaf(item, measured, direction)) || measured.error > limit {
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
    /// Statistics of narrow types are rounded, so equal statistics before it do not prove that nothing differed; a
    /// view or part of such a tensor may be the first to show it. A parameter, and a value outside the graph of a
    /// training step, are leaves all the same.
    fn is_leaf(&self, item: &Item<'_>, measured: &Measurement, direction: Option<Direction>) -> bool {
        let narrow = self.before.loosest.is_some_and(|dtype| dtype.unit_roundoff() > Dtype::F32.unit_roundoff());
        if measured.basis == Basis::Data || !narrow || item.kind == TensorKind::Parameter {
            return true;
        }
        let outside_graph = item.records().iter().flatten().all(|record| record.requires_grad == Some(false));
        direction == Some(Direction::Forward) && self.training && outside_graph
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
        let inherited = AMPLIFICATION * inputs.error;
        let allowance = reduction_allowance(item, items, &name, limits);
        let limit = limits.noise + inherited + allowance;
        let mut flow = LeafFlow { limit, differs: !negligible && differs(measured, limits), suspicion: None };
        if measured.identical || negligible {
            return flow;
        }
        let suspicion = match measured.exact {
            Some(exact) => suspicion::of_output(exact, item, &inputs, limits, items),
            None if measured.error > limits.wrong + inherited + allowance => {
                culprit(&rules::OUTPUT_DIVERGES, Severity::Fail)
            }
            None if measured.error > limit => culprit(&rules::OTHER_PRECISION, Severity::Warn),
            None => None,
        };
        flow.suspicion = suspicion.map(Box::new);
        flow
    }

    fn remember(&mut self, name: &OpName, full_name: &str, items: &[Item<'_>], loosest: Option<Dtype>) {
        let mut all = Upstream::NOTHING;
        let mut outputs = Upstream::NOTHING;
        for item in items {
            let Some(measured) = item.measured() else { continue };
            if measured.exact == Some(ExactDifference::RequiresGrad) && measured.error == 0.0 {
                continue;
            }
            let loosest = if is_input(item.kind) { item.dtype() } else { looser(item.dtype(), loosest) };
            let seen = Upstream { error: size(measured, measured.error), identical: measured.identical, loosest };
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

/// A gradient or mean that sums many terms may be zero in mathematics; its error is then that of the terms: one
/// rounding of each, adding up as a random walk. In units of the tensor's own scale.
#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
fn reduction_allowance(item: &Item<'_>, items: &[Item<'_>], name: &OpName, limits: Band) -> f64 {
    let is_sum = matches!(name.direction, Some(Direction::Backward | Direction::ParametersGradient))
        || matches!(name.base.rsplit('.').next(), Some("sum" | "mean"));
    let Some(own) = Some(item).filter(|_| is_sum).and_then(Item::details) else { return 0.0 };
    let Some(own_rms) = own.rms else { return 0.0 };
    let terms = items.iter().filter(|item| item.kind == TensorKind::Input).filter_map(|item| {
        let input = item.details()?;
        let ratio = input.elements as f64 / own.elements as f64;
        let absolute = input.rms? * ratio.sqrt() * limits.noise / 8.0;
        (ratio > 1.0).then_some(absolute)
    });
    let absolute = terms.fold(0.0, f64::max);
    if absolute == 0.0 { 0.0 } else { absolute / own_rms }
}
