//! Scales that follow from the terms of a sum.
//!
//! A sum of m terms of size t with random signs has a size near √m·t. If it is far smaller, its terms cancel: a gradient that is
//! zero in exact arithmetic holds only the roundings of its terms, and its error is measured relative to √m·t.

use super::item::Item;
use super::limits::AMPLIFICATION;
use crate::dtype::Dtype;
use crate::hash::{ByHash, hash_of};
use crate::kind::TensorKind;
use crate::read::dump::TensorRecord;
use crate::read::dump::name::{Direction, OpName};

/// Ratio of a tensor's extremes above which they share no scale: the larger one is a mask (`-1e9`, the type's lowest number), or the
/// numbers are logarithms of shares. Scores of size 10 with the smallest mask in use (-10 000) have a ratio of 1000.
const MASKED: f64 = 1e3;

/// Size and number of the gradients that arrive at backward calls.
#[derive(Debug, Default)]
pub(super) struct ArrivingGradients {
    /// By the hash of the base name of a module or call.
    of_call: ByHash<Gradients>,
    /// The largest 2-norm of one.
    norm: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Gradients {
    rms: f64,
    elements: f64,
}

impl ArrivingGradients {
    /// Remembers what arrives at a backward call.
    pub(super) fn remember(&mut self, name: &OpName<'_>, items: &[Item<'_>]) {
        if name.direction != Some(Direction::Backward) {
            return;
        }
        let Some(gradients) = items.iter().filter(|item| item.kind == TensorKind::Input).find_map(sized) else {
            return;
        };
        self.norm = self.norm.max(gradients.rms * gradients.elements.sqrt());
        let known = self.of_call.entry(hash_of(name.base)).or_default();
        known.rms = known.rms.max(gradients.rms);
        known.elements += gradients.elements;
    }

    /// Whether a gradient has arrived so far.
    pub(super) fn has_gradients(&self) -> bool {
        self.norm > 0.0
    }

    /// Whether a gradient holds nothing but the roundings of its terms, because it is zero in exact arithmetic, like that of a bias
    /// before a normalisation. A sum of arriving gradients with a relative error of `error` is off by that share of their norm.
    pub(super) fn is_rounding(&self, item: &Item<'_>, error: f64) -> bool {
        let unit = item.dtype().map_or(0.0, Dtype::unit_roundoff);
        let floor = AMPLIFICATION * (error.min(1.0) + unit) * self.norm;
        let largest = |record: Option<&TensorRecord<'_>>| {
            let [max, min, ..] = record?.finite_statistics()?;
            Some(max.abs().max(min.abs()))
        };
        let [baseline, candidate] = item.records().map(largest);
        baseline.zip(candidate).is_some_and(|(baseline, candidate)| baseline.max(candidate) <= floor)
    }

    /// The factor that turns the error of `item` relative to its own scale into one relative to the scale of the terms it
    /// sums: 1 where it sums none, or where they do not cancel.
    pub(super) fn cancelling_factor(&self, item: &Item<'_>, items: &[Item<'_>], name: &OpName<'_>) -> f64 {
        let adds_up = matches!(name.direction, Some(Direction::ParametersGradient | Direction::Backward))
            || matches!(name.api(), "sum" | "mean");
        let Some(own) = adds_up.then(|| sized(item)).flatten() else { return 1.0 };
        let of_sum = |terms: Gradients| {
            let count = terms.elements / own.elements;
            if count > 1.0 { terms.rms * count.sqrt() } else { 0.0 }
        };
        let natural = match name.direction {
            Some(Direction::ParametersGradient) => self.of_call.get(&hash_of(name.base)).copied().map_or(0.0, of_sum),
            Some(Direction::Backward) => given(items).map(of_sum).fold(0.0, f64::max),
            _ if name.api() == "sum" => given(items).map(of_sum).fold(0.0, f64::max),
            // A mean is the sum over the number of its terms.
            _ if name.api() == "mean" => {
                given(items).map(|terms| of_sum(terms) * own.elements / terms.elements).fold(0.0, f64::max)
            }
            _ => 0.0,
        };
        if natural > own.rms && natural.is_finite() { own.rms / natural } else { 1.0 }
    }
}

fn given(items: &[Item<'_>]) -> impl Iterator<Item = Gradients> {
    items.iter().filter(|item| item.kind == TensorKind::Input).filter_map(sized)
}

#[allow(clippy::cast_precision_loss, reason = "element counts are far below 2^53")]
fn sized(item: &Item<'_>) -> Option<Gradients> {
    let details = item.details()?;
    Some(Gradients { rms: details.rms?, elements: details.elements as f64 })
}

/// Whether a mask sets the scale of a tensor: its extremes are too far apart to share one.
pub(super) fn is_masked(item: &Item<'_>) -> bool {
    let extremes = |record: &TensorRecord<'_>| Some((record.max.as_f64()?.abs(), record.min.as_f64()?.abs()));
    item.records()
        .into_iter()
        .flatten()
        .filter_map(extremes)
        .any(|(max, min)| max.min(min) > 0.0 && max.max(min) > MASKED * max.min(min))
}
