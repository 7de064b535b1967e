//! Inputs: the origin of their error, and whether something before explains it.

use super::super::flow::LeafFlow;
use super::super::item::{Item, is_input, item};
use super::super::limits::{AMPLIFICATION, band_of_dtype, looser_dtype};
use super::super::rules;
use super::super::suspicion::{self, culprit_suspicion};
use super::super::update;
use super::super::upstream::Upstream;
use super::{Walk, explains, is_of_statistics, size};
use crate::compare::dump::{Basis, ExactDifference, Measurement, UnitComparison};
use crate::dtype::Dtype;
use crate::hash::hash_of;
use crate::kind::TensorKind;
use crate::median::upper_median;
use crate::policy::dump::Refinement;
use crate::read::dump::name::{Direction, OpName};
use crate::verdict::Severity;

impl Walk<'_> {
    /// State of the value at its earlier appearance; `None` if it was not seen before.
    pub(super) fn origin(&self, item: &Item<'_>) -> Option<Upstream> {
        item.keys().find_map(|key| self.values.get(&key)).copied()
    }

    /// Error and loosest type that an input brings into its operation, from its origin or else from all values before.
    pub(super) fn upstream_of_input(&self, item: &Item<'_>, origin: Option<Upstream>) -> Upstream {
        let Some(measured) = item.measurement() else { return Upstream::NOTHING };
        let loosest = match origin {
            Some(origin) => looser_dtype(origin.loosest, item.dtype()),
            None if measured.identical => item.dtype(),
            None => looser_dtype(item.dtype(), self.before.loosest),
        };
        let error = measured
            .error
            .max(origin.map_or(0.0, |origin| origin.error))
            .max(self.uncorrelated(item, measured, loosest));
        let of_rounding = origin.is_some_and(|origin| origin.of_rounding);
        let shown = size(measured, measured.error);
        Upstream { error: size(measured, error), shown, identical: measured.is_equal, loosest, of_rounding }
    }

    /// The error of the elements that follows from the error of their norm, where that is beyond rounding: an error of relative size ε
    /// that is independent of the values moves their norm by ε²/2.
    fn uncorrelated(&self, item: &Item<'_>, measured: &Measurement, loosest: Option<Dtype>) -> f64 {
        if !self.has_refinement(Refinement::CarriedError)
            || !is_of_statistics(item)
            || measured.error <= band_of_dtype(loosest).wrong
        {
            return 0.0;
        }
        let norm = item.largest_metric(&["norm_difference"]).unwrap_or(0.0);
        // A norm is rounded to the tensor's own type, on both sides.
        let of_recorder = 2.0 * item.dtype().map_or(0.0, Dtype::unit_roundoff);
        (2.0 * (norm - of_recorder).clamp(0.0, 0.5)).sqrt()
    }

    /// Judges an input: it is suspected if nothing before explains its difference.
    pub(super) fn judge_input(
        &self,
        item: &Item<'_>,
        origin: Option<Upstream>,
        items: &[Item<'_>],
        (op, name): (&str, &OpName<'_>),
    ) -> LeafFlow {
        let direction = name.direction;
        let Some(measured) = item.measurement() else { return LeafFlow::undecided() };
        if origin.is_none() && self.is_of_roundings(item, name) {
            return LeafFlow::undecided();
        }
        let before = origin.filter(|origin| !origin.identical).unwrap_or(self.before);
        let limits = self.limits(op, direction, item, before.loosest);
        let (band, whole) = (limits.band, limits.overall_band());
        let moved_since = || {
            let since_step = self.context.parameters.movement(item);
            since_step.or_else(|| self.given.movement_of_use(item, name))
        };
        let movement = (self.has_refinement(Refinement::LinkedSteps) && origin.is_none()).then(moved_since).flatten();
        // A gradient of the other sign moves an element the other way: twice an update.
        let moved =
            movement.as_ref().filter(|_| !before.identical).map_or(0.0, |movement| 2.0 * movement.relative_size(item));
        let inherited = AMPLIFICATION * before.error;
        let limit = AMPLIFICATION.mul_add(before.error, whole.noise).max(moved);
        let added = (measured.error - inherited.max(moved)).max(0.0);
        let differs = limits.differs(measured, measured.error);
        let mut flow = LeafFlow { limit, added, differs, is_unread: false, suspicion: None };
        let is_parted = self.has_refinement(Refinement::LinkedSteps)
            && origin.is_none()
            && !self.context.parted.is_empty()
            && self.context.parted.contains(&hash_of(&item.row()));
        let is_lost = limits.by_scale && (is_parted || movement.is_some_and(|movement| movement.only_one_moved(item)));
        if is_lost && !limits.negligible {
            flow.suspicion = culprit_suspicion(&rules::INPUT_DIFFERS, Severity::Fail).map(Box::new);
            return flow;
        }
        if limits.negligible || measured.is_equal && !limits.is_missed {
            return flow;
        }
        let suspicion = if limits.is_missed && measured.exact.is_none() {
            limits.missed_limit()
        } else if origin.is_some_and(|origin| !origin.identical && explains(&origin, measured)) {
            None
        } else if measured.exact == Some(ExactDifference::NonFinite) && self.nan_begins.is_some() {
            self.nan_arrives.set(true);
            None
        } else if let Some(exact) = measured.exact {
            suspicion::input_suspicion(exact, item, before, band, items, name, origin.is_none())
        } else if !limits.by_scale {
            None
        } else if (before.identical && self.is_leaf(item, measured, name) && !limits.recorded.allows(added))
            || measured.error > limit
        {
            let severity = if measured.error > whole.wrong { Severity::Fail } else { Severity::Warn };
            culprit_suspicion(&rules::INPUT_DIFFERS, severity)
        } else {
            None
        };
        flow.suspicion = suspicion.or(limits.missed_limit()).map(Box::new);
        flow
    }

    /// Whether an input that was not seen before is a leaf, which no operation computed: a weight, a buffer, data.
    ///
    /// Statistics do not show every difference, so a view, a part or a product of a leaf may be the first value to show it. A
    /// parameter, and a value outside the graph of a training step, count as leaves. An activation and a gradient never do: autograd
    /// adds gradients up, and tools do not record every operation.
    pub(super) fn is_leaf(&self, item: &Item<'_>, measured: &Measurement, name: &OpName<'_>) -> bool {
        if item.kind == TensorKind::Parameter {
            return true;
        }
        // Other tools look at some modules only, so that anything may have made it.
        if self.candidate.tool.is_some() {
            return false;
        }
        if name.direction != Some(Direction::Forward) || self.is_gradient(item, name) {
            return false;
        }
        let is_in_graph = |known| item.records().iter().flatten().any(|record| record.requires_grad == known);
        let outside_graph = !is_in_graph(Some(true)) && (!is_in_graph(None) || measured.basis == Basis::Data);
        let is_first = self.before.loosest.is_none();
        is_first || update::is_weight(item, name) || (self.training || measured.basis == Basis::Data) && outside_graph
    }

    /// Whether an input that was not seen before is a gradient of roundings alone.
    pub(super) fn is_of_roundings(&self, item: &Item<'_>, name: &OpName<'_>) -> bool {
        let differs = item.measurement().is_some_and(|measured| !measured.is_equal);
        differs && self.is_gradient(item, name) && self.arriving.is_rounding(item, self.before.error)
    }

    /// Whether a value outside the graph has the shape of a parameter, as its gradient has.
    pub(super) fn is_of_parameter(&self, item: &Item<'_>) -> bool {
        item.records().into_iter().flatten().all(|record| {
            record.requires_grad != Some(true)
                && record.element.is_some_and(|element| element.unit_roundoff() > 0.0)
                && self.parameter_shapes.contains(&hash_of(&record.shape))
        })
    }

    /// Whether an input that was not seen before is a gradient that an optimizer is given: outside the graph, after the backward
    /// pass has begun, and of the shape of a parameter.
    fn is_gradient(&self, item: &Item<'_>, name: &OpName<'_>) -> bool {
        name.direction == Some(Direction::Forward)
            && item.kind == TensorKind::Input
            && self.arriving.has_gradients()
            && self.is_of_parameter(item)
    }

    /// Error of a parameter that its statistics may hide: elements whose gradient is smaller than the error of the gradients may have
    /// moved in the other direction, by twice an update each.
    pub(super) fn hidden_update(&self, item: &Item<'_>) -> f64 {
        if !self.has_refinement(Refinement::LinkedSteps)
            || !is_of_statistics(item)
            || self.context.earlier_gradient_error == 0.0
        {
            return 0.0;
        }
        // An extreme of this one may have had no gradient (a row of an embedding that no token chose).
        let scale = item.rms().filter(|_| update::is_trained(item));
        scale.map_or(0.0, |scale| 2.0 * self.distance / scale * self.context.earlier_gradient_error.min(1.0).sqrt())
    }

    /// Notes the shape of a trained leaf input, which its gradient has too.
    pub(super) fn note_parameter(&mut self, item: &Item<'_>) {
        if update::is_trained(item) {
            let shapes = item.records().into_iter().flatten().map(|record| hash_of(&record.shape));
            self.parameter_shapes.extend(shapes);
        }
    }

    /// Notes how a leaf input moved since the step before.
    pub(super) fn follow_update(
        &mut self,
        item: &Item<'_>,
        place: usize,
        items: &[Item<'_>],
        (op, name): (&str, &OpName<'_>),
    ) {
        let is_by_elements = || self.is_by_elements(op, name.direction, item);
        if !self.has_refinement(Refinement::LinkedSteps) || item.measurement().is_none() || is_by_elements() {
            return;
        }
        let (noise, gradients) = (band_of_dtype(item.dtype()).noise, self.context.earlier_error);
        let movement = self.context.parameters.movement(item);
        self.updates.extend(movement.as_ref().and_then(|movement| movement.moved_differently(noise, gradients)));
        let differs = |item: &Item<'_>| item.measurement().is_some_and(|measured| !measured.is_equal);
        if self.first_update.is_none() && movement.is_some() && items.iter().any(differs) {
            self.first_update = Some((self.order - 1, place));
        }
    }

    /// The median distance that the extremes of parameters moved since the step before (it is the learning rate if the optimizer
    /// scales by the gradient's own size), and the median of twice that distance relative to the parameter's root mean square.
    pub(super) fn common_movement(&self, unit: &UnitComparison) -> (f64, f64) {
        if self.context.parameters.is_empty() || !self.has_refinement(Refinement::LinkedSteps) {
            return (0.0, 0.0);
        }
        let (mut distances, mut shares) = (Vec::new(), Vec::new());
        for comparison in &unit.operations {
            let (Some(baseline), Some(candidate)) = comparison.operations(self.baseline, self.candidate) else {
                continue;
            };
            let items = comparison.leaves.iter().map(|leaf| item(leaf, baseline, candidate));
            let given = items.filter(|item| is_input(item.kind) && update::is_trained(item));
            for item in given {
                let distance = self.context.parameters.movement(&item).map_or(0.0, |movement| movement.distance());
                let rms = item.rms();
                let Some(rms) = rms.filter(|_| distance > 0.0) else { continue };
                distances.push(distance);
                shares.push(2.0 * distance / rms);
            }
        }
        (upper_median(distances).unwrap_or(0.0), upper_median(shares).unwrap_or(0.0))
    }
}
