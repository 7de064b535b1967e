//! Losses of runs that start from different weights or see different data: limits widened by the runs' own scatter.
//!
//! Two such runs differ at single steps by as much as each scatters around its trend, however healthy they are. Their level is
//! known within the standard error of the mean of a window, like that of a reward, and the mean of magnitudes shows only that they
//! scatter. `docs/loss.md` says where the limits come from.

use std::f64::consts::FRAC_2_PI;

use super::code;
use super::curve_limits::CurveLimits;
use super::limits::LimitPair;
use super::rl::{Rooms, TREND_FROM, Trend, Widened, level_rooms, reached_by_two_windows};
use super::rule_results::{MeasuredRule, RuleResults};
use crate::compare::curve::tail_len;
use crate::pair::curve::CurvePair;
use crate::verdict::Verdict;

/// Room for the estimation error of a mean of magnitudes and of the scatter that it is compared with, over the root of the number of
/// steps.
const ESTIMATED: f64 = 4.0;
/// Number of standard errors that limits allow: warning, failing.
const ERRORS: (f64, f64) = (2.0, 3.0);
/// Number of standard deviations that a single step may stray.
const STRAYS: f64 = 3.0;

/// Trend of a pair whose level is judged by its own scatter.
#[derive(Debug)]
pub(super) struct Scattered {
    trend: Trend,
    /// Scatter of the relative differences.
    scatter: f64,
    /// Whether the runs see different data, so that one may also be later than the other.
    is_apart: bool,
}

impl Scattered {
    /// The scatter of a pair, if it explains a larger mean difference than the fixed limit allows, or the runs see different data;
    /// `None` otherwise, and for short curves.
    pub(super) fn from_pair(pair: &CurvePair<'_>, is_apart: bool, fixed: LimitPair) -> Option<Self> {
        let trend = Trend::new(pair.points.iter());
        let scattered = Self { scatter: trend.relative_scatter(), trend, is_apart };
        let explains_more = fixed.fail.is_some_and(|fail| scattered.mean_of_magnitudes() > fail);
        let is_long = scattered.trend.len() >= TREND_FROM && scattered.scatter.is_finite();
        (is_long && (is_apart || explains_more)).then_some(scattered)
    }

    /// The mean of magnitudes that scatter alone explains: sqrt(2/pi) standard deviations for a normal distribution, with room for
    /// the estimation error.
    #[allow(clippy::cast_precision_loss, reason = "a count of steps")]
    fn mean_of_magnitudes(&self) -> f64 {
        FRAC_2_PI.sqrt() * self.scatter * (1.0 + ESTIMATED / (self.trend.len() as f64).sqrt())
    }

    /// Room for a delay, in parts of the baseline's mean; runs on the same data have none.
    fn delay(&self, some: std::ops::Range<usize>) -> (f64, f64) {
        let windows = self.trend.windows();
        let chosen = || windows.iter().take(some.end).skip(some.start);
        #[allow(clippy::cast_precision_loss, reason = "eight windows at most")]
        let size = chosen().map(|window| window.baseline.abs()).sum::<f64>() / some.len().max(1) as f64;
        if self.is_apart && size > 0.0 { level_rooms(&windows, some).relative_to(size).plus } else { Rooms::NONE.plus }
    }

    /// Limits of the level, widened by the scatter and the delay.
    pub(super) fn widen(&self, limits: &CurveLimits) -> CurveLimits {
        let count = self.trend.windows().len();
        let all = self.delay(0..count);
        let mean = self.mean_of_magnitudes();
        let error = self.error(tail_len(self.trend.len()));
        CurveLimits {
            mean: limits.mean.raised((mean + all.0, mean + all.1)),
            tail: self.level(limits.tail, self.delay(count.saturating_sub(1)..count), error),
            spread: limits.spread + STRAYS * self.scatter + all.1,
            grad_norm: limits.grad_norm.raised((mean + all.0, mean + all.1)),
            ..*limits
        }
    }

    /// Room for a score, warning and failing: the standard error of its mean, and the delay.
    pub(super) fn score_room(&self) -> (f64, f64) {
        let windows = self.trend.windows();
        let rooms = level_rooms(&windows, 0..windows.len()).plus;
        let error = self.trend.tail_error();
        (rooms.0 + error, rooms.1 + error)
    }

    /// Standard error of a mean of differences.
    #[allow(clippy::cast_precision_loss, reason = "a count of steps")]
    fn error(&self, steps: usize) -> f64 {
        self.scatter / (steps.max(1) as f64).sqrt()
    }

    fn level(&self, limits: LimitPair, delay: (f64, f64), error: f64) -> LimitPair {
        limits.raised((ERRORS.0 * error + delay.0, ERRORS.1 * error + delay.1))
    }

    /// Judges the largest difference of level, either way, that two windows in a row both reach.
    pub(super) fn judge_windows(&self, limits: &CurveLimits, results: &mut RuleResults) {
        let windows = self.trend.windows();
        let of = |sign: f64| {
            let apart = |(nth, window): (usize, &super::rl::Window)| Widened {
                value: sign * (window.candidate - window.baseline) / window.baseline.abs().max(f64::MIN_POSITIVE),
                rooms: Rooms { plus: self.delay(nth..nth + 1), ..Rooms::NONE },
            };
            reached_by_two_windows(windows.iter().enumerate().map(apart), beyond)
        };
        let (above, below) = (of(1.0), of(-1.0));
        let worst = if beyond(&above) >= beyond(&below) { above } else { below };
        let error = self.error(self.trend.len() / windows.len().max(1));
        results.judge_measured(MeasuredRule {
            rule: "level_windows",
            code: &code::MEAN,
            value: worst.value.max(0.0),
            limits: self.level(limits.tail, worst.rooms.plus, error),
            step: None,
            note: None,
            at_worst: Verdict::Fail,
        });
    }
}

fn beyond(widened: &Widened) -> f64 {
    widened.value - widened.rooms.plus.0
}
