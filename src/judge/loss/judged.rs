//! A judged curve.

use crate::result::finding::Finding;
use crate::result::unit::CurveUnit;

/// One judged curve; its verdict follows from the findings once the policy has applied them.
#[derive(Debug)]
pub struct JudgedCurve {
    /// The unit, without a verdict.
    pub unit: CurveUnit,
    /// Findings about it.
    pub findings: Vec<Finding>,
    /// Whether the metric counts at all; a metric that is only shown is `skipped`.
    pub counts: bool,
}
