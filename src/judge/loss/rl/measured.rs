//! A rule of a trend, as measured.

use crate::judge::loss::limits::Limits;
use crate::judge::rule::Rule;

/// Shorter curves have no trend to judge.
pub const TREND_FROM: usize = 20;

/// A rule as measured.
#[derive(Clone, Copy, Debug)]
pub struct TrendMeasure {
    /// Stable name of the rule.
    pub rule: &'static str,
    /// The code of its finding.
    pub code: &'static Rule,
    /// The value.
    pub value: f64,
    /// Its limits.
    pub limits: Limits,
    /// Its limits where other metrics of the run say that it is on another way, and not late; `None` where that makes no
    /// difference.
    pub agreed: Option<Limits>,
    /// Last step of the window that it was taken from, where it is one.
    pub step: Option<u64>,
    /// Whether recorded repeats replace the limits.
    pub is_noisy: bool,
}
