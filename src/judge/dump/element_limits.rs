//! Limits of a policy that need the elements of tensors (`docs/dump.md`, Limits that count elements).

use super::item::dtype_of;
use super::tensor_outcome::TensorOutcome;
use crate::compare::closeness::{Closeness, ElementTolerance};
use crate::compare::dump::CountedPair;
use crate::compare::tensor::PairStats;
use crate::dtype::Dtype;
use crate::policy::dump::{DirectionName, DumpPolicy, LimitRule};
use crate::read::dump::name::{Direction, OpName};

/// Share of the elements outside `rtol` and `atol`.
pub(crate) const ALLCLOSE: &str = "allclose";
/// Cosine similarity.
pub const COSINE: &str = "cosine";
/// Largest relative error of an element.
pub(crate) const MAX_RELATIVE: &str = "max-relative";

/// All of them, in the order of the policy's keys.
pub const KINDS: [&str; 3] = [ALLCLOSE, COSINE, MAX_RELATIVE];

/// The first limit of the policy that fits a tensor of an operation, with its index.
pub(super) fn first_fitting_limit<'a>(
    policy: &'a DumpPolicy,
    op: &str,
    direction: Option<Direction>,
    dtype: Option<Dtype>,
) -> Option<(usize, &'a LimitRule)> {
    let direction = match direction {
        Some(Direction::Backward | Direction::ParametersGradient) => DirectionName::Backward,
        _ => DirectionName::Forward,
    };
    policy.limits.iter().enumerate().find(|(_, rule)| rule.fits(op, direction, dtype))
}

/// The tolerance by which the elements of two tensors are counted; `None` where no limit asks for a count.
pub fn tolerance(policy: &DumpPolicy, counted: &CountedPair<'_>) -> Option<ElementTolerance> {
    let dtype = dtype_of(counted.records.each_ref().map(Option::as_ref))?;
    let (_, rule) = first_fitting_limit(policy, counted.op, OpName::parse(counted.op).direction, Some(dtype))?;
    // Without a tolerance the count still measures complex numbers.
    let counts = rule.tolerance().is_some() || rule.max_relative.is_some() && dtype.is_complex();
    let [relative, absolute] = rule.tolerance().unwrap_or_default();
    counts.then_some(ElementTolerance { relative, absolute })
}

/// The limits of `rule` by name, applied to a tensor of type `dtype`; `None` if its elements were not counted as the limits require.
pub(super) fn element_outcomes(
    rule: &LimitRule,
    stats: &PairStats,
    closeness: Option<&Closeness>,
    dtype: Dtype,
) -> Option<Vec<(&'static str, TensorOutcome)>> {
    let mut found = Vec::new();
    let is_finite = stats.nonfinite_mismatches == 0;
    if rule.tolerance().is_some() {
        let misses = rule.misses.map_or(0.0, |share| share.get());
        found.push((ALLCLOSE, TensorOutcome::at_most(closeness?.share_outside(), misses)));
    }
    if let Some(least) = rule.cosine {
        found.push((COSINE, TensorOutcome::at_least(cosine(stats), least.get()).only_if(is_finite)));
    }
    if let Some(most) = rule.max_relative {
        let largest = if dtype.is_complex() { closeness?.largest_relative } else { stats.msprobe.max_relative };
        found.push((MAX_RELATIVE, TensorOutcome::at_most(largest, most.get()).only_if(is_finite)));
    }
    Some(found)
}

/// Cosine similarity over the elements that are finite on both sides: 1 if nothing differs, 0 if only one side is all zero.
fn cosine(stats: &PairStats) -> f64 {
    let norms = stats.sum_sq_baseline.sqrt() * stats.sum_sq_candidate.sqrt();
    if stats.unequal == 0 {
        1.0
    } else if norms > 0.0 {
        (stats.dot / norms).clamp(-1.0, 1.0)
    } else {
        0.0
    }
}
