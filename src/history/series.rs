//! One rule of one unit over the runs of a suite: what a trend is read from.

use jiff::Timestamp;

use crate::verdict::{CheckId, Verdict};

/// The measured values of one rule, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The suite whose runs these are.
    pub suite: String,
    /// The check the rule belongs to.
    pub check: CheckId,
    /// The unit, as [`Unit::name`](crate::judge::unit::Unit::name) calls it: a metric, a step and rank, a checkpoint, a
    /// checker.
    pub unit: String,
    /// The rule's stable name.
    pub rule: String,
    /// The latest run's limit above which it warns.
    pub warn: Option<f64>,
    /// The latest run's limit above which it fails.
    pub fail: Option<f64>,
    /// One per run in which the rule was measured, by time, then commit. A run without a value leaves no point.
    pub points: Vec<Point>,
}

/// What one run measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// When the run was judged.
    pub time: Timestamp,
    /// The commit judged; empty where it is not known.
    pub commit: String,
    /// The value, in the rule's own unit; not finite where that is what was measured.
    pub value: f64,
    /// The rule's verdict.
    pub verdict: Verdict,
}
