//! Distance between the probabilities that the rollout engine and the training engine give the same tokens.
//!
//! Two engines on one set of weights should agree: the ideal is 0 for differences and 1 for correlations and ratios.

use super::measured::{TREND_FROM, TrendMeasure};
use super::trend::Trend;
use crate::judge::loss::code;
use crate::judge::loss::limits::LimitPair;

/// Metrics with limits on their distance from the ideal, by how their names end. `docs/rl.md` has the sources.
const LEVELS: [(&str, LimitPair); 8] = [
    ("rollout_probs_diff_mean", LimitPair::new(0.01, 0.02)),
    ("rollout_actor_probs_pearson_corr", LimitPair::new(0.01, 0.05)),
    ("token_mult_prob_error", LimitPair::new(0.05, 0.1)),
    ("gen_kl_error", LimitPair::new(0.01, 0.05)),
    ("rollout_corr/k3_kl", LimitPair::new(0.01, 0.05)),
    ("train_rollout_logprob_abs_diff", LimitPair::new(0.05, 0.1)),
    ("sampling_logp_difference/mean", LimitPair::new(0.05, 0.1)),
    ("log_ppl_abs_diff", LimitPair::new(0.05, 0.1)),
];
/// Distances below which two engines differ by rounding only: of metrics that are 0 where the engines agree, and of those that are 1.
const FLOORS: (f64, f64) = (2e-4, 1e-4);

/// Whether a metric is 1 rather than 0 for two engines that agree.
fn is_one_where_equal(metric: &str) -> bool {
    let last = metric.rsplit('/').find(|part| !matches!(*part, "mean" | "avg")).unwrap_or(metric);
    let mut words = last.split('_');
    words.any(|word| matches!(word, "corr" | "correlation" | "ratio" | "mult" | "ess"))
        || last.ends_with("eff_sample_size")
        || last.ends_with("rollout_is_mean")
}

/// Signed distance of a value from that of two engines that agree.
pub(super) fn distance(metric: &str) -> impl Fn(f64) -> f64 + use<> {
    let ideal = if is_one_where_equal(metric) { 1.0 } else { 0.0 };
    move |value: f64| value - ideal
}

/// Limits on the level of a metric; `None` where nothing is published about it.
pub(super) fn limits(metric: &str) -> Option<LimitPair> {
    LEVELS.iter().find(|(name, _)| metric.ends_with(name)).map(|(_, limits)| *limits)
}

/// The largest distance from the ideal of a window of the baseline and of the candidate, and the last step of that window of the
/// candidate.
fn worst(metric: &str, trend: &Trend) -> (f64, f64, Option<u64>) {
    let windows = trend.windows_of(distance(metric));
    let baseline = windows.iter().map(|window| window.baseline.abs()).fold(0.0, f64::max);
    let candidate = windows.iter().map(|window| (window.candidate.abs(), window.to_step));
    let largest = candidate.reduce(|a, b| if b.0 > a.0 { b } else { a });
    (baseline, largest.map_or(0.0, |largest| largest.0), largest.map(|largest| largest.1))
}

/// The level in the worst window. A limit that the baseline itself exceeds does not apply to a candidate below twice the baseline.
pub(super) fn level(metric: &str, trend: &Trend) -> Option<TrendMeasure> {
    let own = limits(metric)?;
    let (baseline, candidate, step) = worst(metric, trend);
    let waived = |limit: &f64| baseline > *limit && candidate < 2.0 * baseline;
    let held = |limit: Option<f64>| limit.filter(|limit| !waived(limit));
    Some(measured(candidate, LimitPair { warn: held(own.warn), fail: held(own.fail) }, step))
}

/// The level of a metric that the candidate alone logs.
pub(crate) fn level_alone(metric: &str, trend: &Trend) -> Option<TrendMeasure> {
    let own = limits(metric).filter(|_| trend.len() >= TREND_FROM)?;
    let (_, candidate, step) = worst(metric, trend);
    Some(measured(candidate, own, step))
}

fn measured(value: f64, limits: LimitPair, step: Option<u64>) -> TrendMeasure {
    TrendMeasure {
        rule: "mismatch_level",
        code: &code::RL_MISMATCH,
        value,
        limits,
        limits_without_delay: None,
        step,
        is_noisy: true,
    }
}

/// Distance of the candidate from the ideal over that of the baseline, in the second worst window.
pub(super) fn ratio(metric: &str, trend: &Trend) -> f64 {
    let floor = if is_one_where_equal(metric) { FLOORS.1 } else { FLOORS.0 };
    let from_ideal = distance(metric);
    let windows = trend.windows_of(|value| from_ideal(value).abs());
    let mut ratios: Vec<f64> =
        windows.iter().map(|window| window.candidate.max(floor) / window.baseline.max(floor)).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.iter().rev().nth(usize::from(ratios.len() > 1)).copied().unwrap_or(1.0)
}
