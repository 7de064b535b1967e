//! The limits that apply to a curve: the built-in ones of the mode, replaced by a recorded noise band, replaced by the policy.

use super::limits::LimitPair;
use super::mode::Weights;
use super::noise::MetricNoise;
use super::start::{FORWARD_NOISE, UPDATE_NOISE};
use crate::policy::loss::LossPolicy;

/// All limits of a loss curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurveLimits {
    /// Limits of r at the first step. r is the relative difference of the two sides at one step.
    pub step_1: LimitPair,
    /// Limits of the largest r of the first five steps.
    pub head: LimitPair,
    /// Limits of the mean r.
    pub mean: LimitPair,
    /// Limits of the relative difference at the end, whose sign counts.
    pub tail: LimitPair,
    /// Value of r above which a step counts as outside.
    pub spread: f64,
    /// Limits of the largest r, which only warns.
    pub peak: LimitPair,
    /// Limits of the mean r of the gradient norm.
    pub grad_norm: LimitPair,
}

impl CurveLimits {
    /// The built-in limits of a mode; `docs/loss.md` says where each number comes from.
    fn of_mode(weights: Weights) -> Self {
        match weights {
            Weights::Same => Self {
                step_1: LimitPair::new(FORWARD_NOISE, 5e-3),
                head: LimitPair::new(2e-4, UPDATE_NOISE),
                mean: LimitPair::new(2e-3, 1e-2),
                tail: LimitPair::new(2e-3, 5e-3),
                spread: 0.02,
                peak: LimitPair::NONE,
                grad_norm: LimitPair::new(5e-2, 1e-1),
            },
            Weights::Own => Self {
                step_1: LimitPair::NONE,
                head: LimitPair::NONE,
                mean: LimitPair::new(5e-3, 1e-2),
                tail: LimitPair::new(5e-3, 1e-2),
                spread: 0.05,
                peak: LimitPair::NONE,
                grad_norm: LimitPair::new(1e-1, 2e-1),
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
        // With the same weights no healthy step strays far. Runs from different weights spike in good health, and only repeats
        // show how far.
        let recorded = noise.and_then(|noise| noise.limits(noise.max).warn);
        let peak = recorded.or(Some(limits.spread).filter(|_| weights == Weights::Same));
        limits.peak = LimitPair { warn: peak, fail: None };
        limits
    }

    /// The relative difference that counts as agreement at one step: the failing limit of the head, or of the mean where the head
    /// has none.
    pub fn band(&self) -> f64 {
        self.head.fail.or(self.mean.fail).unwrap_or(self.spread)
    }
}
