//! Evidence that the two sides log the training loss of different batches, from a comparison with the held-out loss.
//!
//! A log that prints the loss of rank 0 alone shows other samples if the number of devices differs. The held-out loss, which uses
//! the same data on both sides, then agrees far better, and the training losses differ in both directions and end at one level.

use super::limits::LimitPair;
use super::scale::scale;
use crate::compare::curve::{CurveMeasures, measure};
use crate::error::Result;
use crate::kind::Role;
use crate::pair::curve::{CurvePair, PairedSources};
use crate::policy::loss::LossPolicy;
use crate::result::finding::Finding;

/// Least number of evaluations for such evidence.
const EVALUATIONS: usize = 5;
/// Factor by which the held-out loss must agree better than the training loss.
const CLOSER: f64 = 10.0;
/// Limits of the mean difference of the held-out loss: above the first one the losses differ.
const HELD_OUT: LimitPair = LimitPair::new(0.005, 0.01);
/// Share of the steps at which the candidate may lie above the baseline.
const BOTH_SIGNS: std::ops::RangeInclusive<f64> = 0.2..=0.8;
/// Relative difference of the means of the last quarters that counts as equal.
const EQUAL_END: f64 = 0.005;

/// Distances of the losses of a run whose training loss is of other batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OtherBatches {
    held_out: f64,
    training: f64,
    evaluations: usize,
}

impl OtherBatches {
    /// Adds these numbers to a finding.
    pub(super) fn add_facts(&self, finding: Finding) -> Finding {
        finding.with("held_out", self.held_out).with("training", self.training).with("count", self.evaluations)
    }
}

/// The evidence that the training loss of a run, measured as `lead`, is of different batches on the two sides; `None` without it.
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

/// Whether a loss differs in both directions and ends at the same level, within the uncertainty of its own scatter.
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
