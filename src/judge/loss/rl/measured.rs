//! A rule about a trend with its measured value.

use crate::judge::loss::limits::LimitPair;
use crate::judge::rule::Rule;

/// Least number of steps of a curve with a trend to judge.
pub(crate) const TREND_FROM: usize = 20;

/// A rule with its measured value and its limits.
#[derive(Clone, Copy, Debug)]
pub struct TrendMeasure {
    /// Stable name of the rule.
    pub rule: &'static str,
    /// The code of its finding.
    pub code: &'static Rule,
    /// The value.
    pub value: f64,
    /// Its limits.
    pub limits: LimitPair,
    /// Its limits if other metrics show that the run took another path and is not just late; `None` where that makes no
    /// difference.
    pub limits_without_delay: Option<LimitPair>,
    /// Last step of the window that the value comes from; `None` where it comes from no single window.
    pub step: Option<u64>,
    /// Whether recorded repeats replace the limits.
    pub is_noisy: bool,
}
