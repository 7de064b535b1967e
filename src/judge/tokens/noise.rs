//! Noise: the mean difference of log-probabilities that rounding explains, and limits in units of it.
//!
//! bf16 against fp32 moves a log-probability by 0.009 nats on average (0.0079 to 0.0101 in 48 runs of four small models, at a
//! temperature of 0.7 up to 0.0143); fp16 by 0.0011, another kernel or a cache in fp32 by 4e-7. docs/tokens.md has the runs.

use crate::compare::tokens::Measures;
use crate::policy::tokens::{TokenNoise, TokensPolicy};
use crate::result::unit::NoiseSource;

/// Least noise that is taken from the baseline, in nats: a precise baseline must not narrow the limits below the rounding of bf16.
const LEAST: f64 = 0.012;
/// Noise where none is known, in nats. It is also the most that is taken from the baseline: a broken one must not widen the limits.
const MOST: f64 = 0.02;
/// Mean differences of probabilities that warn and that fail: the limits of the metric `rollout_probs_diff_mean` in curves.
const PROB_MEAN: [f64; 2] = [0.01, 0.02];
/// Least mean difference of probabilities that is assumed for a baseline.
const LEAST_PROB: f64 = 2e-4;
/// Factors over the baseline's mean difference of probabilities that warn and that fail, where nothing else is known.
const PROB_TIMES: [f64; 2] = [4.0, 10.0];

/// Noise in nats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// The mean difference that rounding explains.
    pub nats: f64,
    /// Its origin.
    pub source: NoiseSource,
}

impl Noise {
    /// The noise from the policy, else from the mean difference of the baseline's own engine and trainer, else the default for bf16.
    pub(crate) fn from_policy(policy: &TokensPolicy, baseline: Option<f64>) -> Self {
        match (policy.noise, baseline.filter(|mean| mean.is_finite())) {
            (TokenNoise::Nats(nats), _) => Self { nats: nats.get(), source: NoiseSource::Policy },
            (TokenNoise::Auto, Some(mean)) => Self { nats: mean.clamp(LEAST, MOST), source: NoiseSource::Baseline },
            (TokenNoise::Auto, None) => Self { nats: MOST, source: NoiseSource::Default },
        }
    }
}

/// Level that a measure exceeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExcessLevel {
    /// Within all limits.
    #[default]
    Quiet,
    /// Above the limit that warns.
    Warn,
    /// Above the limit that fails.
    Fail,
}

/// A measure above its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ExceededLimit {
    /// The level that it exceeds.
    pub level: ExcessLevel,
    /// Its name in results.
    pub measure: &'static str,
    /// Its value.
    pub value: f64,
    /// The limit that it exceeds; the limit of the warning where it exceeds none.
    pub limit: f64,
}

/// Limits of a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenLimits {
    mean_abs: [f64; 2],
    k3: [f64; 2],
    prob_mean: [f64; 2],
}

impl TokenLimits {
    /// The limits from the policy; `baseline_prob` is the baseline's mean difference of probabilities, where only differences are recorded.
    pub(crate) fn from_policy(policy: &TokensPolicy, noise: f64, baseline_prob: Option<f64>) -> Self {
        let mean_abs = [policy.warn.get() * noise, policy.fail.get() * noise];
        let prob_mean = baseline_prob.map_or(PROB_MEAN, |baseline| {
            let baseline = baseline.max(LEAST_PROB);
            let [warn, fail] = PROB_TIMES;
            let [most_warn, most_fail] = PROB_MEAN;
            [most_warn.min(warn * baseline), most_fail.min(fail * baseline)]
        });
        Self { mean_abs, k3: [policy.k3.warn(), policy.k3.fail()], prob_mean }
    }

    /// The first measure with the highest level; the first known one where all are within limits.
    pub(crate) fn exceeded(&self, measures: &Measures) -> ExceededLimit {
        let all = [
            ("mean_abs", measures.mean_abs, self.mean_abs),
            ("k3", measures.k3, self.k3),
            ("prob_mean", measures.prob_mean, self.prob_mean),
        ];
        let known = all.into_iter().filter(|(_, value, _)| !value.is_nan());
        let exceeded = known.map(|(measure, value, [warn, fail])| {
            let level = if value > fail {
                ExcessLevel::Fail
            } else if value > warn {
                ExcessLevel::Warn
            } else {
                ExcessLevel::Quiet
            };
            ExceededLimit { level, measure, value, limit: if level == ExcessLevel::Fail { fail } else { warn } }
        });
        let none = ExceededLimit { level: ExcessLevel::Quiet, measure: "mean_abs", value: f64::NAN, limit: f64::NAN };
        exceeded.fold(none, |worst, one| if worst.value.is_nan() || one.level > worst.level { one } else { worst })
    }
}
