//! Gradients that are combined differently: over ranks, over micro-batches, or over steps.
//!
//! A sum instead of a mean is one factor over all gradients. Gradients that were not set to zero are the sum of this
//! step's gradients and the previous step's, and so are their means. A missing reduction lets the ranks' copies of a
//! parameter diverge.

use super::super::before::Four;
use super::super::context::{DumpContext, Suspect};
use super::super::entry::Cause;
use super::super::factor;
use super::super::fingerprint::{is_distinctive, is_same_data};
use super::super::updates::Updates;
use super::super::value_pair::{ValuePair, operations_of, values_of};
use super::missing_operations;
use crate::compare::dump::bounds_of_sums;
use crate::kind::TensorKind;
use crate::read::dump::TensorRecord;
use crate::read::dump::name::{Direction, OpName};
use crate::result::diagnosis::{Diagnosis, Statement, Sureness};

pub(super) const CAUSE: Cause = Cause { in_dump, ..Cause::new("gradient-reduction") };

/// Least number of gradients that do not agree by chance.
const FEWEST: usize = 3;
/// Scatter allowed for a constant factor: far above what rounding does to the norm of a gradient, below any factor in
/// use.
const SCATTER: f64 = 0.02;

fn in_dump(context: &DumpContext<'_>) -> Option<Diagnosis> {
    let suspect = context.suspect()?;
    let (evidence, sureness) = of_ranks(context, &suspect)
        .or_else(|| of_earlier_step(context, &suspect))
        .or_else(|| of_backward(context, &suspect))
        .or_else(|| of_update(context, &suspect))?;
    let advice = evidence
        .iter()
        .find(|statement| statement.is_any(&["gradients-kept", "copies-part", "factor-is-ranks"]))
        .cloned();
    let diagnosis = Diagnosis::new(&CAUSE, suspect.culprit.tensor.as_str(), sureness).because_all(evidence);
    Some(diagnosis.advise(advice))
}

type Found = (Vec<Statement>, Sureness);

/// Whether it explains a parameter that differs.
pub(super) fn explains(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> bool {
    of_ranks(context, suspect).or_else(|| of_update(context, suspect)).is_some()
}

/// A parameter of which all ranks hold equal copies on one side only.
fn of_ranks(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Found> {
    let row = suspect.culprit.tensor.as_str();
    let is_parameter = context.before.is_some_and(|before| before.parameters.statistics_of(row).is_some());
    let (baseline, candidate) = suspect.value.records().filter(|_| is_parameter && !context.peers.is_empty())?;
    let mut are_copies = [true, true];
    for peer in context.peers {
        let value = peer.values()?.find(|both| both.candidate.row == *row)?;
        let (peer_baseline, peer_candidate) = value.records()?;
        are_copies[0] &= is_same_data(&peer_baseline, &baseline);
        are_copies[1] &= is_same_data(&peer_candidate, &candidate);
    }
    let side = match are_copies {
        [true, false] => "candidate",
        [false, true] => "baseline",
        _ => return None,
    };
    let evidence =
        Statement::new("copies-part").with("parameter", row).with("side", side).with("ranks", context.peers.len() + 1);
    Some((vec![evidence], Sureness::Certain))
}

/// Gradients that still hold those of the step before: sums add up, and so do their means.
fn of_earlier_step(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Found> {
    let before = context.before.filter(|_| suspect.is_backward())?;
    let mut kept: [usize; 2] = [0, 0];
    let mut telling = 0;
    for both in gradients(context).filter(|both| both.kind == TensorKind::ParameterGradient) {
        let Some((numbers, records)) = both.finite_statistics().zip(both.records()) else { continue };
        let Some(earlier) = before.gradients.gradient(&both.candidate.row.to_string()) else { continue };
        let Some(found) = adds_up(numbers, earlier, &records) else { continue };
        telling += 1;
        kept = [kept[0] + usize::from(found[0]), kept[1] + usize::from(found[1])];
    }
    let side = match kept.map(|kept| telling >= FEWEST && kept * 5 >= telling * 4) {
        [false, true] => "candidate",
        [true, false] => "baseline",
        _ => return None,
    };
    let count = kept.into_iter().max().unwrap_or_default();
    let evidence = Statement::new("gradients-kept").with("side", side).with("step", before.step).with("count", count);
    Some((vec![evidence.with("of", telling)], Sureness::Certain))
}

/// Whether each side's mean (baseline, candidate) is the other side's plus its own of the previous step; `None` where
/// that one is too small to be told from rounding.
fn adds_up(
    now: [Four; 2],
    earlier: &[Four; 2],
    (baseline, candidate): &(TensorRecord<'_>, TensorRecord<'_>),
) -> Option<[bool; 2]> {
    let [[_, _, baseline_mean, _], [_, _, candidate_mean, _]] = now;
    let [[_, _, baseline_earlier, _], [_, _, candidate_earlier, _]] = *earlier;
    let bound = bounds_of_sums(baseline, candidate, candidate.elements())[2];
    if baseline_earlier.abs().min(candidate_earlier.abs()) < 40.0 * bound {
        return None;
    }
    let is_sum =
        |sum: f64, one: f64, other: f64| (sum - one - other).abs() <= SCATTER.mul_add(other.abs(), 4.0 * bound);
    Some([
        is_sum(baseline_mean, candidate_mean, baseline_earlier),
        is_sum(candidate_mean, baseline_mean, candidate_earlier),
    ])
}

/// One factor over all gradients of a backward pass that begins with it.
fn of_backward(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Found> {
    if !suspect.is_backward() || has_backward_before(context, suspect.order) {
        return None;
    }
    let mut factors: Vec<f64> = gradients(context).filter_map(|both| ratio(&both)).collect();
    factors.sort_by(f64::total_cmp);
    let middle = *factors.get(factors.len() / 2)?;
    let near = factors.iter().filter(|factor| (*factor / middle - 1.0).abs() <= SCATTER).count();
    if factors.len() < FEWEST || near * 10 < factors.len() * 9 || (middle - 1.0).abs() <= 2.0 * SCATTER {
        return None;
    }
    let evidence =
        Statement::new("gradients-scaled").with("factor", middle).with("count", near).with("of", factors.len());
    let meaning = factor::factor_meaning(middle, context, suspect);
    Some((std::iter::once(evidence).chain(meaning).collect(), Sureness::Likely))
}

/// Updates that are the number of ranks times the baseline's, or a share of it.
fn of_update(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Found> {
    let updates = Updates::from_suspect(context, suspect)?;
    let factor = updates.factor()?;
    let ranks = reducing_ranks(context);
    let count = super::super::values::count_of(ranks);
    let is_ranks = [count, 1.0 / count].into_iter().any(|value| (factor / value - 1.0).abs() <= SCATTER);
    (ranks > 1 && is_ranks).then(|| {
        let evidence = updates.note(Statement::new("update-factor").with("factor", factor));
        let meaning = Statement::new("factor-is-ranks").with("factor", factor).with("ranks", ranks);
        let collective = missing_operations::collective_on_one_side(context);
        ([evidence, meaning].into_iter().chain(collective).collect(), Sureness::Likely)
    })
}

/// Ranks over which gradients are reduced: those of the data where the layout is known, else all.
fn reducing_ranks(context: &DumpContext<'_>) -> usize {
    match context.input.candidate.parts.as_deref() {
        Some(parts) => usize::try_from(parts.layout.dp.saturating_mul(parts.layout.cp)).unwrap_or(1),
        None => context.peers.len() + 1,
    }
}

/// Gradients that the backward pass made, on both sides.
fn gradients<'a>(context: &DumpContext<'a>) -> impl Iterator<Item = ValuePair<'a>> {
    let input = context.input;
    let pairs = input.comparison.operations.iter().filter_map(move |comparison| {
        let (baseline, candidate) = operations_of(input, comparison)?;
        is_backward(candidate.name).then(|| values_of(comparison, baseline, candidate))
    });
    pairs.flatten().filter(|both| matches!(both.kind, TensorKind::Output | TensorKind::ParameterGradient))
}

fn is_backward(name: &str) -> bool {
    matches!(OpName::parse(name).direction, Some(Direction::Backward | Direction::ParametersGradient))
}

/// Whether a backward call that both sides ran comes before the operation at `order`.
fn has_backward_before(context: &DumpContext<'_>, order: usize) -> bool {
    let earlier = context.input.comparison.operations.iter().take(order);
    earlier
        .filter_map(|comparison| operations_of(context.input, comparison))
        .any(|(_, candidate)| is_backward(candidate.name))
}

/// Norm of a gradient as a multiple of the baseline's; `None` for scalars and zeros.
fn ratio(both: &ValuePair<'_>) -> Option<f64> {
    both.records().filter(|(record, _)| is_distinctive(record))?;
    let [[.., baseline], [.., candidate]] = both.finite_statistics()?;
    (baseline > 0.0 && candidate > 0.0).then(|| candidate / baseline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::read::dump::Statistic;

    fn record(mean: f64) -> TensorRecord<'static> {
        TensorRecord {
            dtype: "torch.float32",
            element: Some(Dtype::F32),
            shape: &[256],
            max: Statistic::Float(0.1),
            min: Statistic::Float(-0.1),
            mean: Statistic::Float(mean),
            norm: Statistic::Float(0.3),
            requires_grad: None,
            checksum: None,
            extension: None,
            precision: crate::read::dump::Precision::Exact,
        }
    }

    #[test]
    fn means_of_kept_gradients_add_up() {
        let four = |mean: f64| [0.1, -0.1, mean, 0.3];
        let earlier = [four(0.003_795_2), four(0.003_795_2)];
        let records = (record(-0.000_385_2), record(0.003_41));
        assert_eq!(adds_up([four(-0.000_385_2), four(0.003_41)], &earlier, &records), Some([false, true]));
        assert_eq!(adds_up([four(0.003_41), four(-0.000_385_2)], &earlier, &records), Some([true, false]));
        assert_eq!(adds_up([four(-0.000_385_2), four(0.002)], &earlier, &records), Some([false, false]));
        let tiny = [four(1e-12), four(1e-12)];
        assert_eq!(adds_up([four(0.0), four(1e-12)], &tiny, &records), None);
    }
}
