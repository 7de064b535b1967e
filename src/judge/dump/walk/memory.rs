//! Values and calls that are remembered for what comes after them.

use super::super::flow::LeafFlow;
use super::super::item::{Item, is_input};
use super::super::limits::{AMPLIFICATION, ErrorBand, band_of_dtype, looser_dtype};
use super::super::suspicion;
use super::super::terms;
use super::super::update;
use super::super::upstream::Upstream;
use super::super::writes::{is_destination, is_recorded_after};
use super::recurring::call_key;
use super::{Walk, error_of_sums, is_of_statistics, module_path, size};
use crate::compare::dump::ExactDifference;
use crate::dtype::Dtype;
use crate::hash::hash_of;
use crate::policy::dump::Refinement;
use crate::read::dump::name::{Direction, OpName};

/// Factor of the wrong limit above which an error is reported even if no operation is suspected.
const ACCUMULATED: f64 = 8.0;

impl Walk<'_> {
    /// Remembers what an operation received and made, and returns what it passes on to the modules around it.
    pub(super) fn remember(
        &mut self,
        (full_name, name): (&str, &OpName<'_>),
        items: &[Item<'_>],
        flows: &[Option<LeafFlow>],
        loosest: Option<Dtype>,
        received: &Upstream,
        is_other_node: bool,
    ) -> Upstream {
        let mut all = Upstream::NOTHING;
        let mut outputs = Upstream::NOTHING;
        for (item, flow) in items.iter().zip(flows) {
            let Some(measured) = item.measurement() else { continue };
            if measured.exact == Some(ExactDifference::RequiresGrad) && measured.error == 0.0 {
                continue;
            }
            let is_given = is_input(item.kind);
            if flow.as_ref().is_some_and(|flow| flow.is_unread) || !is_given && is_other_node {
                continue;
            }
            let loosest = if is_given { item.dtype() } else { looser_dtype(item.dtype(), loosest) };
            let mut error = size(measured, measured.error);
            let mut of_itself = None;
            let of_rounding = if is_given {
                self.origin(item).map_or_else(|| self.is_of_roundings(item, name), |origin| origin.of_rounding)
            } else {
                received.of_rounding && name.direction == Some(Direction::Forward)
            };
            if !is_given && error.is_finite() && !of_rounding {
                let (whole, factor) = (error, self.cancelling_factor(item, items, name));
                error *= factor;
                let by_scale = !self.is_by_elements(full_name, name.direction, item);
                self.note_error(item, error, name, by_scale.then(|| band_of_dtype(loosest)));
                // Terms cancel down to their own roundings here. An operation that reads the value sees its own error, and not
                // the one relative to the terms.
                let ErrorBand { noise, .. } = band_of_dtype(loosest);
                let unit = loosest.map_or(0.0, Dtype::unit_roundoff);
                let is_cancelled = factor <= AMPLIFICATION * received.error.clamp(unit, noise.max(unit));
                of_itself = Some(whole).filter(|whole| self.is_of_parameter(item) && is_cancelled && *whole > noise);
                let flips = self.flips(item, received, name);
                error = flips.map_or(error, |flips| error.max(flips.carried));
            }
            let shown = error;
            // A value made of roundings shows its whole error already, so that no hidden error is added.
            if !is_given && self.carries_received_error(item) && !of_rounding {
                error = error.max(received.error);
            }
            let seen = Upstream { error, shown, identical: measured.is_equal, loosest, of_rounding };
            if of_rounding {
                self.note_values(item, seen);
                continue;
            }
            if !update::is_bias(item, name) {
                all.add(seen);
            }
            if !is_input(item.kind) {
                outputs.add(seen);
                self.training |= item.records().iter().flatten().any(|record| record.requires_grad == Some(true));
            }
            let of_terms = of_itself.map(|error| Upstream { error, identical: false, of_rounding: true, ..seen });
            self.note_values(item, of_terms.unwrap_or(seen));
        }
        if !received.of_rounding {
            all.add(Upstream { loosest: None, ..*received });
        }
        if name.direction == Some(Direction::Forward) {
            self.remember_forward(name, all);
        }
        if !suspicion::is_in_place_artefact(items, name) {
            self.before.add(Upstream { loosest: outputs.loosest, ..all });
        }
        // Parameter gradients are made from what arrives at the backward call, which may be all it records.
        if name.direction == Some(Direction::Backward) { all } else { outputs }
    }

    /// Notes the state of a forward call, for its backward call.
    pub(super) fn remember_forward(&mut self, name: &OpName<'_>, state: Upstream) {
        let key = call_key(name);
        if self.recurring.has(key) {
            self.forward.insert(key, state);
        }
    }

    /// Notes the state of a value, for later operations that read it.
    fn note_values(&mut self, item: &Item<'_>, seen: Upstream) {
        for key in item.keys().filter(|key| self.recurring.has(*key)) {
            let origin = if is_input(item.kind) { self.values.get(&key).copied() } else { None };
            let entry = self.values.entry(key).or_insert(seen);
            *entry = seen;
            entry.add(origin.unwrap_or(Upstream::NOTHING));
        }
    }

    /// Notes the error of an output for the totals of the unit; `band` is `None` for a value that other limits judge.
    pub(super) fn note_error(&mut self, item: &Item<'_>, error: f64, name: &OpName<'_>, band: Option<ErrorBand>) {
        self.largest_error = self.largest_error.max(error);
        let is_forward = name.direction == Some(Direction::Forward);
        if error > 0.0 && !is_forward {
            self.gradients.push(error);
        }
        let (wrong, recorded) = (band.map_or(f64::INFINITY, |band| band.wrong), self.recorded(item).total);
        let least = wrong.max(recorded);
        if !is_forward || error <= least {
            return;
        }
        // A single extreme that moved far is not build-up.
        let of_all = if is_of_statistics(item) { error.min(error_of_sums(item)) } else { error };
        self.is_wrong |= of_all > least;
        if self.accumulated.is_none() && of_all > (ACCUMULATED * wrong).max(recorded) {
            self.accumulated = Some((self.order - 1, error));
        }
    }

    /// Whether the record of an input is not what the operation read: it shows memory that was not written yet, or the result that
    /// the operation itself left there.
    pub(super) fn is_unread(
        &self,
        item: &Item<'_>,
        origin: Option<Upstream>,
        items: &[Item<'_>],
        (op, name): (&str, &OpName<'_>),
    ) -> bool {
        self.has_refinement(Refinement::WriteDestinations)
            && (origin.is_none() && is_destination(item, name)
                || self.is_unfilled(op)
                || is_recorded_after(item, items, name))
    }

    /// Whether a value may carry received error that its own record hides: recorded extremes may agree while elements differ, and the
    /// scale of a mask hides every error.
    pub(super) fn carries_received_error(&self, item: &Item<'_>) -> bool {
        self.has_refinement(Refinement::CarriedError) && is_of_statistics(item)
            || self.has_refinement(Refinement::MaskedScale) && terms::is_masked(item)
    }

    /// Adds an error made inside a module to the module and to every module around it: those of the call's name, and those of its
    /// `parent`.
    pub(super) fn remember_inside(&mut self, name: &OpName<'_>, parent: Option<&str>, inside: Upstream) {
        let parent = parent.map(|parent| OpName::parse(parent).base);
        let own = module_path(name.base);
        let direction = match name.direction {
            Some(Direction::ParametersGradient) => Some(Direction::Backward),
            direction => direction,
        };
        for mut path in [own, parent.and_then(module_path)].into_iter().flatten() {
            loop {
                self.inside.entry(hash_of(&(path, direction))).or_insert(Upstream::NOTHING).add(inside);
                match path.rsplit_once('.') {
                    Some((outer, _)) => path = outer,
                    None => break,
                }
            }
        }
    }
}
