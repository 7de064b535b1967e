//! The finding about codes of a quantised parameter: how many are wrong, in which rows, and how they came about.

use super::rules;
use crate::compare::checkpoint::{CodesPattern, QuantisedStats};
use crate::compare::tensor::PairStats;
use crate::dtype::Dtype;
use crate::result::finding::Finding;
use crate::verdict::Severity;

/// Number of quantised codes beyond rounding from which on a part of the parameter is lost; fewer are single flipped bits.
const FEW_CODES: u64 = 4;
/// Most rows that a finding names.
const NAMED: usize = 3;

/// The finding about the codes of a parameter; `None` where all are right.
pub(super) fn codes_finding(
    parameter: &str,
    dtypes: (Dtype, Dtype),
    stats: &PairStats,
    quantised: &QuantisedStats,
) -> Option<Finding> {
    if quantised.beyond == 0 && quantised.rows == 0 {
        return None;
    }
    let is_single = quantised.rows == 0 && quantised.beyond < FEW_CODES;
    let severity = if is_single { Severity::Warn } else { Severity::Fail };
    let finding = Finding::new(&rules::CODES_DIFFER, parameter).with_severity(severity);
    let finding = finding.with("dtype", codes_dtype(dtypes).to_string()).with("count", quantised.beyond);
    let finding = finding.with("elements", stats.elements).with("rows", quantised.rows);
    Some(with_overflow(with_change(finding, quantised), stats))
}

/// The type of the codes: that of the side with fewer bits.
pub(super) fn codes_dtype(dtypes: (Dtype, Dtype)) -> Dtype {
    if dtypes.1.size() <= dtypes.0.size() { dtypes.1 } else { dtypes.0 }
}

/// Adds the wrong rows, their pattern, and whether the scale agrees.
fn with_change(finding: Finding, quantised: &QuantisedStats) -> Finding {
    let mut finding = finding;
    if let Some((name, is_same)) = &quantised.scale {
        finding = finding.with("scale", name.as_str()).with("scale_agrees", u64::from(*is_same));
    }
    let Some(change) = &quantised.change else { return finding };
    let shown = |rows: &[u64]| -> Vec<String> { rows.iter().take(NAMED).map(u64::to_string).collect() };
    finding = finding.with("wrong_rows", change.wrong).with("of_rows", change.of);
    finding = finding.with("named_rows", shown(&change.rows));
    match &change.pattern {
        None => finding,
        Some(CodesPattern::Rows(sources)) => finding.with("pattern", "rows").with("sources", shown(sources)),
        Some(CodesPattern::Zero) => finding.with("pattern", "zero"),
        Some(CodesPattern::Scaled(factor)) => finding.with("pattern", "scaled").with("factor", *factor),
        Some(CodesPattern::Shifted(codes)) => finding.with("pattern", "shifted").with("shift", *codes),
        Some(CodesPattern::Sign) => finding.with("pattern", "sign"),
        Some(CodesPattern::Saturated) => finding.with("pattern", "saturated"),
    }
}

/// Adds the number of values that are NaN or infinite on the candidate alone.
fn with_overflow(finding: Finding, stats: &PairStats) -> Finding {
    let mut finding = finding;
    for (name, baseline, candidate) in
        [("nan", stats.nan_baseline, stats.nan_candidate), ("inf", stats.inf_baseline, stats.inf_candidate)]
    {
        if baseline == 0 && candidate > 0 {
            finding = finding.with(name, candidate);
        }
    }
    finding
}
