//! Cause of the difference of a row, from its kind and from the other rows of the step.

use std::collections::HashMap;

use crate::kind::{MonitorKind, Statistic};
use crate::median::upper_median;
use crate::pair::monitor::MonitorRowPair;
use crate::read::monitor::MonitorRow;
use crate::result::unit::MonitorCause;

/// Smallest gradient that counts for a common factor, relative to the largest.
const LEAST_SHARE: f64 = 1e-3;
/// Fewest gradients that have to share a factor.
const LEAST_TENSORS: usize = 3;
/// Largest spread of a common factor, relative to its distance from 1.
const MOST_SPREAD: f64 = 0.05;

/// A cause, and the factor by which all gradients differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cause {
    pub(super) cause: MonitorCause,
    pub(super) factor: Option<f64>,
    /// Number of unreduced gradients that agree, where the reduced ones share the factor.
    pub(super) unreduced: usize,
    /// Number of reduced gradients of the candidate that are the rank's own, unreduced ones.
    pub(super) own: usize,
    /// Norms to which the baseline and the candidate clipped their gradients, where those show one.
    pub(super) clip_norms: [Option<f64>; 2],
}

impl From<MonitorCause> for Cause {
    fn from(cause: MonitorCause) -> Self {
        Self { cause, factor: None, unreduced: 0, own: 0, clip_norms: [None; 2] }
    }
}

/// The cause of `pair`, the first row that differs among the `pairs` of its step. `is_start` marks the first step of both runs; `is_alone`
/// means that a single rank was recorded, so its gradients are not reduced over ranks.
pub(super) fn row_cause(pair: &MonitorRowPair, pairs: &[MonitorRowPair], is_start: bool, is_alone: bool) -> Cause {
    let kind = pair.key.kind;
    let is_gradient = kind.is_gradient() || kind == MonitorKind::Comm;
    if let Some(factor) = common_factor(kind, pairs).filter(|_| is_gradient) {
        // The first row that differs is a reduced one: the unreduced ones of its step come before it.
        let is_before = |other: &&MonitorRowPair| other.key.kind == MonitorKind::GradUnreduced;
        let unreduced = pairs.iter().filter(is_before).count() * usize::from(kind == MonitorKind::GradReduced);
        let clip_norms = if kind == MonitorKind::GradReduced { clip_norms(pairs) } else { [None; 2] };
        return Cause { cause: MonitorCause::Scaled, factor: Some(factor), unreduced, own: 0, clip_norms };
    }
    let has = |kind| pairs.iter().any(|other| other.key.kind == kind);
    let is_reduced = || has(MonitorKind::GradUnreduced) && (!is_alone || has(MonitorKind::Comm));
    match kind {
        MonitorKind::ParamOrigin if is_start => MonitorCause::InitialState,
        MonitorKind::ParamOrigin => MonitorCause::State,
        MonitorKind::Actv if is_input(pair, pairs) => MonitorCause::Data,
        MonitorKind::Actv => MonitorCause::Forward,
        MonitorKind::GradReduced if pair.is_parted || is_reduced() => {
            return Cause { own: own_gradients(pairs), ..MonitorCause::Communication.into() };
        }
        MonitorKind::ActvGrad | MonitorKind::GradUnreduced | MonitorKind::GradReduced => MonitorCause::Backward,
        MonitorKind::Comm => MonitorCause::Communication,
        MonitorKind::ExpAvg | MonitorKind::ExpAvgSq | MonitorKind::ParamUpdated => MonitorCause::Optimizer,
    }
    .into()
}

/// The norms over all reduced gradients of both sides that are a limit: clipping leaves `max_norm`, a number of at most two digits, less
/// one part in 10^6, and any other norm is that near to one about once in a thousand times.
fn clip_norms(pairs: &[MonitorRowPair]) -> [Option<f64>; 2] {
    const NEAR: f64 = 1e-5;
    let total = |of: fn(&MonitorRowPair) -> &MonitorRow| {
        let reduced = pairs.iter().filter(|pair| pair.key.kind == MonitorKind::GradReduced);
        let squares = reduced.map(|pair| Some(of(pair).statistics.get(Statistic::Norm)?.powi(2)));
        squares.sum::<Option<f64>>().map(f64::sqrt).filter(|norm| norm.is_finite() && *norm > 0.0)
    };
    let limit = |norm: f64| {
        let unit = 10_f64.powf(norm.log10().floor() - 1.0);
        let limit = (norm / unit).round() * unit;
        ((norm / limit - 1.0).abs() <= NEAR).then_some(limit)
    };
    // A side whose norm is not known may clip as well.
    let norms = total(|pair| &pair.baseline).zip(total(|pair| &pair.candidate));
    norms.map_or([None; 2], |(baseline, candidate)| [limit(baseline), limit(candidate)])
}

/// The number of reduced gradients that the candidate left as they were before the reduction, and the baseline did not.
fn own_gradients(pairs: &[MonitorRowPair]) -> usize {
    let of = |kind: MonitorKind| pairs.iter().filter(move |pair| pair.key.kind == kind);
    let before: HashMap<_, _> = of(MonitorKind::GradUnreduced).map(|pair| (pair.key.parameter(), pair)).collect();
    let is_own = |reduced: &&MonitorRowPair| {
        before.get(&reduced.key.parameter()).is_some_and(|unreduced| {
            have_same_statistics(&unreduced.candidate, &reduced.candidate)
                && !have_same_statistics(&unreduced.baseline, &reduced.baseline)
        })
    };
    of(MonitorKind::GradReduced).filter(is_own).count()
}

/// Whether an activation is the model's input: the first one of its micro step, or a later row with the same statistics.
pub(super) fn is_input(pair: &MonitorRowPair, pairs: &[MonitorRowPair]) -> bool {
    let is_first = |other: &&MonitorRowPair| {
        (other.key.kind, other.key.model, other.key.micro_step)
            == (MonitorKind::Actv, pair.key.model, pair.key.micro_step)
    };
    pair.key.kind == MonitorKind::Actv
        && pairs.iter().find(is_first).is_some_and(|first| have_same_statistics(&first.baseline, &pair.baseline))
}

/// Whether two rows of a file have the same statistics.
pub(super) fn have_same_statistics(one: &MonitorRow, other: &MonitorRow) -> bool {
    one.statistics == other.statistics && one.statistics.written().next().is_some()
}

/// The factor by which all gradients of a kind differ; `None` where they share none.
fn common_factor(kind: MonitorKind, pairs: &[MonitorRowPair]) -> Option<f64> {
    let size =
        |row: &MonitorRow| row.statistics.get(Statistic::Norm).or_else(|| row.statistics.largest()).map(f64::abs);
    let sizes: Vec<(f64, f64)> = pairs
        .iter()
        .filter(|pair| pair.key.kind == kind)
        .filter_map(|pair| Some((size(&pair.baseline)?, size(&pair.candidate)?)))
        .filter(|(b, c)| b.is_finite() && c.is_finite())
        .collect();
    let largest = sizes.iter().map(|(b, _)| *b).fold(0.0, f64::max);
    let ratios: Vec<f64> = sizes.into_iter().filter(|(b, _)| *b > LEAST_SHARE * largest).map(|(b, c)| c / b).collect();
    if ratios.len() < LEAST_TENSORS {
        return None;
    }
    let spread = ratios.iter().fold(f64::NEG_INFINITY, |most, ratio| most.max(*ratio))
        - ratios.iter().fold(f64::INFINITY, |least, ratio| least.min(*ratio));
    let factor = upper_median(ratios)?;
    (spread < MOST_SPREAD * (factor - 1.0).abs()).then_some(factor)
}
