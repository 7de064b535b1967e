//! Inputs: where their error comes from, and whether anything explains it.

use super::super::flow::LeafFlow;
use super::super::item::{Item, is_input, item};
use super::super::limits::{AMPLIFICATION, band, looser};
use super::super::rules;
use super::super::suspicion::{self, culprit};
use super::super::update;
use super::super::upstream::Upstream;
use super::{Walk, explains, is_of_statistics, size};
use crate::compare::dump::{Basis, ExactDifference, Measurement, UnitComparison};
use crate::compare::median::median;
use crate::hash::of as hash_of;
use crate::kind::TensorKind;
use crate::policy::dump::Refinement;
use crate::read::dump::name::{Direction, OpName};
use crate::verdict::Severity;

impl Walk<'_> {
    /// The value's earlier appearance, if it had one.
    pub(super) fn origin(&self, item: &Item<'_>) -> Option<Upstream> {
        item.keys().find_map(|key| self.values.get(&key)).copied()
    }

    /// Error and loosest type that an input brings with it, from its origin or from everything before.
    pub(super) fn arrived(&self, item: &Item<'_>, origin: Option<Upstream>) -> Upstream {
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
    pub(super) fn judge_input(
        &self,
        item: &Item<'_>,
        origin: Option<Upstream>,
        items: &[Item<'_>],
        (op, name): (&str, &OpName),
    ) -> LeafFlow {
        let direction = name.direction;
        let Some(measured) = item.measured() else { return LeafFlow::undecided() };
        let before = origin.filter(|origin| !origin.identical).unwrap_or(self.before);
        let limits = self.limits(op, direction, item, before.loosest);
        let (band, whole) = (limits.band, limits.whole());
        let movement = (self.has(Refinement::LinkedSteps) && origin.is_none())
            .then(|| self.context.parameters.movement(item))
            .flatten();
        // A gradient of the other sign moves an element the other way: twice an update.
        let moved = movement.as_ref().filter(|_| !before.identical).map_or(0.0, |movement| 2.0 * movement.size(item));
        let inherited = AMPLIFICATION * before.error;
        let limit = AMPLIFICATION.mul_add(before.error, whole.noise).max(moved);
        let added = (measured.error - inherited.max(moved)).max(0.0);
        let differs = limits.differs(measured, measured.error);
        let mut flow = LeafFlow { limit, added, differs, suspicion: None };
        let is_parted = self.has(Refinement::LinkedSteps)
            && origin.is_none()
            && !self.context.parted.is_empty()
            && self.context.parted.contains(&hash_of(&item.row()));
        let is_lost = limits.by_scale && (is_parted || movement.is_some_and(|movement| movement.is_lost(item)));
        if is_lost && !limits.negligible {
            flow.suspicion = culprit(&rules::INPUT_DIFFERS, Severity::Fail).map(Box::new);
            return flow;
        }
        if limits.negligible || measured.is_equal && !limits.is_missed {
            return flow;
        }
        let suspicion = if limits.is_missed && measured.exact.is_none() {
            limits.missed()
        } else if origin.is_some_and(|origin| !origin.identical && explains(&origin, measured)) {
            None
        } else if measured.exact == Some(ExactDifference::NonFinite) && self.nan_begins.is_some() {
            self.nan_arrives.set(true);
            None
        } else if let Some(exact) = measured.exact {
            suspicion::of_input(exact, item, before, band, items, name, origin.is_none())
        } else if !limits.by_scale {
            None
        } else if (before.identical && self.is_leaf(item, measured, name) && !limits.recorded.holds(added))
            || measured.error > limit
        {
            let severity = if measured.error > whole.wrong { Severity::Fail } else { Severity::Warn };
            culprit(&rules::INPUT_DIFFERS, severity)
        } else {
            None
        };
        flow.suspicion = suspicion.or(limits.missed()).map(Box::new);
        flow
    }

    /// Whether an input that was not seen before is one that nothing computed: a weight, a buffer, data.
    ///
    /// Statistics do not show all that differs, so a view, a part or a product of a tensor that nothing dumped made may be the
    /// first to show it. A parameter, and a value outside the graph of a training step, are leaves all the same. Autograd adds
    /// up gradients, so that none is a leaf.
    pub(super) fn is_leaf(&self, item: &Item<'_>, measured: &Measurement, name: &OpName) -> bool {
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

    /// Error of a parameter that its statistics may hide: of its elements, as many as have a gradient below the gradients' own
    /// error may have moved the other way, by twice an update each.
    pub(super) fn hidden_update(&self, item: &Item<'_>) -> f64 {
        if !self.has(Refinement::LinkedSteps) || !is_of_statistics(item) || self.context.earlier_gradients == 0.0 {
            return 0.0;
        }
        // An extreme of this one may have had no gradient (a row of an embedding that no token chose).
        let scale = item.details().and_then(|details| details.rms).filter(|rms| *rms > 0.0 && update::is_trained(item));
        scale.map_or(0.0, |scale| 2.0 * self.distance / scale * self.context.earlier_gradients.min(1.0).sqrt())
    }

    /// Notes how a leaf input moved since the step before.
    pub(super) fn follow_update(
        &mut self,
        item: &Item<'_>,
        place: usize,
        items: &[Item<'_>],
        (op, name): (&str, &OpName),
    ) {
        let is_by_elements = || self.is_by_elements(op, name.direction, item);
        if !self.has(Refinement::LinkedSteps) || item.measured().is_none() || is_by_elements() {
            return;
        }
        let (noise, gradients) = (band(item.dtype()).noise, self.context.earlier_steps);
        let movement = self.context.parameters.movement(item);
        self.updates.extend(movement.as_ref().and_then(|movement| movement.is_other(noise, gradients)));
        let differs = |item: &Item<'_>| item.measured().is_some_and(|measured| !measured.is_equal);
        if self.first_update.is_none() && movement.is_some() && items.iter().any(differs) {
            self.first_update = Some((self.order - 1, place));
        }
    }

    /// The distance that the extremes of parameters commonly moved since the step before: the learning rate where the
    /// optimizer scales by the gradient's own size.
    ///
    /// And twice that distance relative to the parameters' root mean square.
    pub(super) fn common_movement(&self, unit: &UnitComparison) -> (f64, f64) {
        if self.context.parameters.is_empty() || !self.has(Refinement::LinkedSteps) {
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
                let rms = item.details().and_then(|details| details.rms).filter(|rms| *rms > 0.0);
                let Some(rms) = rms.filter(|_| distance > 0.0) else { continue };
                distances.push(distance);
                shares.push(2.0 * distance / rms);
            }
        }
        (median(distances).unwrap_or(0.0), median(shares).unwrap_or(0.0))
    }
}
