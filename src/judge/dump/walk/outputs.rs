//! Outputs: the error that an operation adds to what it received.

use super::super::flow::LeafFlow;
use super::super::item::{Item, is_input};
use super::super::kinks::{self, Flips};
use super::super::limits::{AMPLIFICATION, ErrorBand, wrong_sums};
use super::super::outlier;
use super::super::quotients;
use super::super::rules;
use super::super::suspicion::{self, culprit_suspicion};
use super::super::upstream::Upstream;
use super::{Walk, error_of_sums, explains, is_of_statistics};
use crate::compare::dump::Measurement;
use crate::dtype::Dtype;
use crate::kind::TensorKind;
use crate::policy::dump::Refinement;
use crate::read::dump::name::{Direction, OpName};
use crate::verdict::Severity;

/// Whether only a part of an output is wrong: mean and norm are off, while its extremes and the records of its inputs agree. An error
/// that the statistics of the inputs hide lies in all elements and would move the extremes as well.
fn is_partial(item: &Item<'_>, inputs: &Upstream, limits: ErrorBand) -> bool {
    is_of_statistics(item)
        && inputs.shown <= limits.noise
        && error_of_sums(item) > limits.wrong
        && error_of_extremes(item).is_some_and(|extremes| extremes <= limits.noise)
}

/// The limit of mean and norm of 8-bit values, by their roundings and the error of the inputs, if it is exceeded; `None` otherwise.
fn beyond_sums(item: &Item<'_>, inputs: &Upstream) -> Option<f64> {
    let [baseline, _] = item.records();
    let limit = wrong_sums(item.dtype(), baseline?.elements()).filter(|_| is_of_statistics(item))?;
    Some(AMPLIFICATION.mul_add(inputs.shown, limit)).filter(|limit| error_of_sums(item) > *limit)
}

/// The error of the extremes; `None` where they were not recorded.
fn error_of_extremes(item: &Item<'_>) -> Option<f64> {
    item.largest_metric(&["max_difference", "min_difference"])
}

impl Walk<'_> {
    /// Judges an output: it is suspected if its error exceeds noise and the error that the operation received.
    pub(super) fn judge_output(
        &self,
        item: &Item<'_>,
        inputs: &Upstream,
        loosest: Option<Dtype>,
        items: &[Item<'_>],
        (op, name): (&str, &OpName<'_>),
    ) -> LeafFlow {
        let Some(measured) = item.measurement() else { return LeafFlow::undecided() };
        let limits = self.limits(op, name.direction, item, loosest);
        let (band, whole) = (limits.band, limits.overall_band());
        let mut inputs = *inputs;
        if item.kind == TensorKind::Value {
            inputs.add(self.before);
        }
        if let Some(origin) = self.origin(item).filter(|origin| explains(origin, measured)) {
            inputs.add(origin);
        }
        let inherited = match is_partial(item, &inputs, whole) {
            true => 0.0,
            false => AMPLIFICATION * inputs.error + self.hidden_error(item, inputs.loosest),
        };
        let factor = self.cancelling_factor(item, items, name);
        let flips = self.flips(item, &inputs, name);
        let error = match flips {
            Some(Flips { beyond, .. }) => beyond,
            None => self.beyond_quotients(item, items, name, factor * self.error_of_many(item, measured)),
        };
        let sums = beyond_sums(item, &inputs);
        let limit = sums.unwrap_or(whole.noise + inherited);
        let (added, differs) = ((error - inherited).max(0.0), limits.differs(measured, error));
        let mut flow = LeafFlow { limit: limit / factor, added, differs, is_unread: false, suspicion: None };
        if limits.negligible || measured.is_equal && !limits.is_missed {
            return flow;
        }
        let suspicion = match measured.exact {
            Some(exact) => suspicion::output_suspicion(exact, item, &inputs, band, items).or(limits.missed_limit()),
            None if limits.is_missed => limits.missed_limit(),
            None if !limits.by_scale => None,
            None if error > whole.wrong + inherited => culprit_suspicion(&rules::OUTPUT_DIVERGES, Severity::Fail),
            None if sums.is_some() => culprit_suspicion(&rules::OUTPUT_DIVERGES, Severity::Fail),
            None if error > limit => culprit_suspicion(&rules::OTHER_PRECISION, Severity::Warn),
            None if self.is_outlier(item, items, name, &inputs, band) => {
                culprit_suspicion(&rules::OUTLIERS, Severity::Fail)
            }
            None => None,
        };
        flow.suspicion = suspicion.map(Box::new);
        flow
    }

    /// The error without the part of mean and norm that quotients of roundings explain; they do not explain extremes.
    fn beyond_quotients(&self, item: &Item<'_>, items: &[Item<'_>], name: &OpName<'_>, error: f64) -> f64 {
        let explained = quotients::explained_error(item, items, self.before.error, name);
        if explained == 0.0 || !is_of_statistics(item) {
            return error;
        }
        error_of_extremes(item).unwrap_or(0.0).max(error_of_sums(item) - explained).min(error)
    }

    /// The factor that makes an error relative to the terms of a sum that cancel; 1 where nothing cancels.
    pub(super) fn cancelling_factor(&self, item: &Item<'_>, items: &[Item<'_>], name: &OpName<'_>) -> f64 {
        if self.has_refinement(Refinement::SummedTerms) {
            self.arriving.cancelling_factor(item, items, name)
        } else {
            1.0
        }
    }

    /// Error that equal statistics may hide: elements of a narrow type that differ by one rounding, which an operation may amplify.
    pub(super) fn hidden_error(&self, item: &Item<'_>, loosest: Option<Dtype>) -> f64 {
        let unit = loosest.map_or(0.0, Dtype::unit_roundoff);
        if self.has_refinement(Refinement::CarriedError) && is_of_statistics(item) {
            AMPLIFICATION * 2.0 * unit
        } else {
            0.0
        }
    }

    /// The error that more than one element shows. After an update single elements of a parameter may have moved in the other
    /// direction: if one extreme is off by no more than that explains, and the other statistics agree, it is a single element.
    pub(super) fn error_of_many(&self, item: &Item<'_>, measured: &Measurement) -> f64 {
        if self.moved_share == 0.0 || !is_of_statistics(item) || measured.error > AMPLIFICATION * self.moved_share {
            return measured.error;
        }
        let metrics = item.details().map_or(&[][..], |details| &details.metrics);
        let of = |wanted: &str| metrics.iter().find(|(name, _)| *name == wanted).map_or(0.0, |(_, error)| *error);
        let other_extreme = of("max_difference").min(of("min_difference"));
        other_extreme.max(error_of_sums(item)).min(measured.error)
    }

    /// Whether single elements of an output are off that were not off in the inputs. Gradients are left out, because they jump where
    /// elements tie.
    pub(super) fn is_outlier(
        &self,
        item: &Item<'_>,
        items: &[Item<'_>],
        name: &OpName<'_>,
        inputs: &Upstream,
        limits: ErrorBand,
    ) -> bool {
        let may_jump = name.direction != Some(Direction::Forward)
            || outlier::result_may_jump(name)
            || self.before.error.is_infinite();
        let was_received = || items.iter().any(|item| is_input(item.kind) && outlier::has_outlier(item, limits));
        self.has_refinement(Refinement::Outliers)
            && !may_jump
            && inputs.error <= limits.noise
            && outlier::has_outlier(item, limits)
            && !was_received()
    }

    /// The error of a gradient that jumps where elements tie; `None` for any other value.
    pub(super) fn flips(&self, item: &Item<'_>, inputs: &Upstream, name: &OpName<'_>) -> Option<Flips> {
        if !kinks::has_kink(name)
            || !self.has_refinement(Refinement::Kinks)
            || inputs.identical
            || !is_of_statistics(item)
        {
            return None;
        }
        kinks::flips(item, error_of_sums(item), inputs.error)
    }
}
