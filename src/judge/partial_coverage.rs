//! Findings about a check that did not look at everything: a quick look never passes by itself.
//!
//! The findings warn. A policy that accepts quick looks sets their severity to `info`.

use super::rule::rules;
use crate::compare::measurements::Measurements;
use crate::compare::sample::unseen_share;
use crate::result::finding::Finding;
use crate::verdict::{CheckId, Severity};

rules! {
    CheckId::Artifacts;

    /// Only a sample of the elements was looked at.
    SAMPLED = "data-sampled", Warn;
    /// Tensors were compared by checksum. What is equal is known to be; what is not is judged by what was recorded of it, and
    /// then this is a quick look as any other, and warns.
    CHECKSUMMED = "data-checksummed", Info;
    /// Only some operations' data was read; of the others, what was recorded was compared.
    NARROWED = "data-narrowed", Warn;
    /// Time was up before all data was read; of the rest, what was recorded was compared.
    STOPPED = "data-stopped", Warn;

    /// A limit of the policy for named operations or parameters is so wide that a known defect passes there.
    LIMIT_WIDE = "limit-wide", Warn;
}
/// Findings about the coverage of `check`, from the counts of `measurements` since the last call.
pub fn findings(check: CheckId, measurements: &Measurements) -> Vec<Finding> {
    let partial_coverage = measurements.partial_coverage();
    let mut findings = Vec::new();
    if let Some(sample) = measurements.sample().filter(|_| partial_coverage.elements < partial_coverage.of_elements) {
        let finding = Finding::new(&SAMPLED, check.as_str())
            .with("ratio", sample.ratio())
            .with("seed", sample.seed())
            .with("elements", partial_coverage.elements)
            .with("of", partial_coverage.of_elements)
            .with("unseen", unseen_share(partial_coverage.runs));
        findings.push(finding);
    }
    if measurements.by_checksum() && check == CheckId::Dump && partial_coverage.measured > 0 {
        let severity = if partial_coverage.unequal > 0 { Severity::Warn } else { CHECKSUMMED.severity };
        let finding = Finding::new(&CHECKSUMMED, check.as_str()).with_severity(severity);
        findings.push(finding.with("count", partial_coverage.measured).with("unequal", partial_coverage.unequal));
    }
    if let Some(ops) = measurements.ops().filter(|_| partial_coverage.by_operation > 0) {
        findings.push(
            Finding::new(&NARROWED, check.as_str())
                .with("ops", ops)
                .with("count", partial_coverage.by_operation)
                .with("measured", partial_coverage.measured),
        );
    }
    if partial_coverage.by_time > 0 {
        findings.push(
            Finding::new(&STOPPED, check.as_str())
                .with("count", partial_coverage.by_time)
                .with("measured", partial_coverage.measured),
        );
    }
    findings.into_iter().map(|finding| finding.of_check(check)).collect()
}
