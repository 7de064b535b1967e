//! The limits that apply to a curve: ours by mode, replaced by a recorded noise band, replaced by the policy.

use super::limits::Limits;
use super::mode::Weights;
use super::noise::MetricNoise;
use super::start::{FORWARD_NOISE, UPDATE_NOISE};
use crate::policy::loss::LossPolicy;

/// All limits of a loss curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurveLimits {
    /// r of the first step.
    pub step_1: Limits,
    /// Largest r of the first five.
    pub head: Limits,
    /// Mean r.
    pub mean: Limits,
    /// Signed tail.
    pub tail: Limits,
    /// r above which a step counts as outside.
    pub spread: f64,
    /// The largest r, which only warns.
    pub peak: Limits,
    /// Mean r of the gradient norm.
    pub grad_norm: Limits,
}

impl CurveLimits {
    /// Ours; `docs/loss.md` says where each number comes from.
    fn of_mode(weights: Weights) -> Self {
        match weights {
            Weights::Same => Self {
                step_1: Limits::new(FORWARD_NOISE, 5e-3),
                head: Limits::new(2e-4, UPDATE_NOISE),
                mean: Limits::new(2e-3, 1e-2),
                tail: Limits::new(2e-3, 5e-3),
                spread: 0.02,
                peak: Limits::NONE,
                grad_norm: Limits::new(5e-2, 1e-1),
            },
            Weights::Own => Self {
                step_1: Limits::NONE,
                head: Limits::NONE,
                mean: Limits::new(5e-3, 1e-2),
                tail: Limits::new(5e-3, 1e-2),
                spread: 0.05,
                peak: Limits::NONE,
                grad_norm: Limits::new(1e-1, 2e-1),
            },
        }
    }

    /// The limits that apply to a curve: those of the mode, then noise, then the policy.
    pub fn resolve(weights: Weights, policy: &LossPolicy, noise: Option<&MetricNoise>) -> Self {
        let mut limits = Self::of_mode(weights);
        if let Some(noise) = noise {
            limits.mean = noise.limits(noise.mean);
            if weights == Weights::Same {
                limits.head = noise.limits(noise.head);
            }
        }
        let own = &policy.limits;
        limits.step_1 = limits.step_1.overridden(own.step_1);
        limits.head = limits.head.overridden(own.head);
        limits.mean = limits.mean.overridden(own.mean);
        limits.tail = limits.tail.overridden(own.tail);
        limits.spread = own.spread.map_or(limits.spread, |limit| limit.get());
        limits.grad_norm = limits.grad_norm.overridden(own.grad_norm);
        // With the same weights no step strays far by itself; own weights spike in good health, and how far is known only
        // from repeats.
        let recorded = noise.and_then(|noise| noise.limits(noise.max).warn);
        let peak = recorded.or(Some(limits.spread).filter(|_| weights == Weights::Same));
        limits.peak = Limits { warn: peak, fail: None };
        limits
    }

    /// The relative difference that counts as inside: what the head allows, or the mean where the head is free.
    pub fn band(&self) -> f64 {
        self.head.fail.or(self.mean.fail).unwrap_or(self.spread)
    }
}
