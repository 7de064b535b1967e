//! Evidence across the curves of a run: a training loss of other batches, told by the held-out loss.
//!
//! A log that prints the loss of rank 0 alone shows other samples where the number of devices differs. The held-out loss, which
//! is of the same data on both sides, then agrees far closer, and the training losses differ with both signs and end alike.

use super::limits::Limits;
use super::scale::scale;
use crate::compare::curve::{CurveMeasures, measure};
use crate::error::Result;
use crate::kind::Role;
use crate::pair::curve::{CurvePair, PairedSources};
use crate::policy::loss::LossPolicy;
use crate::result::finding::Finding;

/// Evaluations that such evidence needs.
const EVALUATIONS: usize = 5;
/// The held-out loss agrees so many times closer than the training loss.
const CLOSER: f64 = 10.0;
/// Largest mean difference of the held-out loss: what a curve of it may differ by without a warning.
const HELD_OUT: Limits = Limits::new(0.005, 0.01);
/// Share of the steps on either side of the baseline.
const BOTH_SIGNS: std::ops::RangeInclusive<f64> = 0.2..=0.8;
/// Difference of the last quarters' means that counts as equal.
const EQUAL_END: f64 = 0.005;

/// Distances of the losses of a run whose training loss is of other batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OtherBatches {
    held_out: f64,
    training: f64,
    evaluations: usize,
}

impl OtherBatches {
    /// The finding with these numbers.
    pub(super) fn told(&self, finding: Finding) -> Finding {
        finding.with("held_out", self.held_out).with("training", self.training).with("count", self.evaluations)
    }
}

/// Whether the training loss of a run, measured as `lead`, is of other batches on the two sides.
///
/// # Errors
/// Errors of the disk.
pub(super) fn find(
    pairs: &[&PairedSources<'_>],
    lead: Option<&CurveMeasures>,
    policy: &LossPolicy,
) -> Result<Option<OtherBatches>> {
    // Losses that agree need no such evidence.
    let differs = |lead: &&CurveMeasures| HELD_OUT.warn.is_some_and(|limit| lead.mean_rel > limit);
    let Some(lead) = lead.filter(differs) else { return Ok(None) };
    let of_role = |role: Role| pairs.iter().find(|pair| pair.role == role && !pair.is_rl);
    let (Some(loss), Some(held_out)) = (of_role(Role::Loss), of_role(Role::EvalLoss)) else { return Ok(None) };
    let held_out = held_out.load()?;
    let Some(measured) = measure(&held_out.points, scale(&held_out, policy)) else { return Ok(None) };
    let within = HELD_OUT.warn.is_none_or(|limit| measured.mean_rel <= limit);
    let closer = measured.rel.len() >= EVALUATIONS && measured.mean_rel * CLOSER <= lead.mean_rel && within;
    let is_other = closer && differs_both_ways(&loss.load()?);
    Ok(is_other.then_some(OtherBatches {
        held_out: measured.mean_rel,
        training: lead.mean_rel,
        evaluations: measured.rel.len(),
    }))
}

/// Whether a loss differs with both signs and ends at the same level, within what its own scatter leaves open.
fn differs_both_ways(pair: &CurvePair<'_>) -> bool {
    let differences: Vec<f64> = pair
        .points
        .iter()
        .filter(|(_, b, c)| b.is_finite() && c.is_finite() && *b != 0.0)
        .map(|(_, b, c)| (c - b) / b.abs())
        .collect();
    let last = differences.get(differences.len() * 3 / 4..).unwrap_or_default();
    #[allow(clippy::cast_precision_loss, reason = "a count of steps")]
    let (above, count, quarter) =
        (differences.iter().filter(|value| **value > 0.0).count() as f64, differences.len() as f64, last.len() as f64);
    if last.len() < 2 {
        return false;
    }
    let mean = last.iter().sum::<f64>() / quarter;
    let variance = last.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (quarter - 1.0);
    let error = 2.0 * (variance / quarter).sqrt();
    BOTH_SIGNS.contains(&(above / count)) && mean.abs() <= EQUAL_END.max(error)
}
