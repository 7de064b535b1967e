//! What is said of a check that did not look at everything: a quick look is never worth a pass by itself.
//!
//! The findings warn; a policy that accepts quick looks sets their severity to `info`.

use super::finding::Finding;
use super::rule::{Rule, artifacts};
use crate::compare::book::Book;
use crate::compare::sample::unseen_share;
use crate::verdict::{CheckId, Severity};

const fn rule(code: &'static str) -> Rule {
    artifacts::rule(code, Severity::Warn)
}

/// Only a sample of the elements was looked at.
pub const SAMPLED: Rule = rule("data-sampled");
/// Tensors were compared by checksum. What is equal is known to be; what is not is judged by what was recorded of it, and
/// then this is a quick look as any other, and warns.
pub const CHECKSUMMED: Rule = artifacts::rule("data-checksummed", Severity::Info);
/// Only some operations' data was read; of the others, what was recorded was compared.
pub const NARROWED: Rule = rule("data-narrowed");
/// Time was up before all data was read; of the rest, what was recorded was compared.
pub const STOPPED: Rule = rule("data-stopped");

/// All of them.
pub const RULES: &[&Rule] = &[&SAMPLED, &CHECKSUMMED, &NARROWED, &STOPPED];

/// What is to be said of `check`, of what `book` counted since it was last asked.
pub fn findings(check: CheckId, book: &Book) -> Vec<Finding> {
    let left_out = book.left_out();
    let mut findings = Vec::new();
    if let Some(sample) = book.sample().filter(|_| left_out.elements < left_out.of_elements) {
        let finding = Finding::new(&SAMPLED, check.as_str())
            .with("ratio", sample.ratio())
            .with("seed", sample.seed())
            .with("elements", left_out.elements)
            .with("of", left_out.of_elements)
            .with("unseen", unseen_share(left_out.runs));
        findings.push(finding);
    }
    if book.by_checksum() && check == CheckId::Dump && left_out.measured > 0 {
        let severity = if left_out.unequal > 0 { Severity::Warn } else { CHECKSUMMED.severity };
        let finding = Finding::new(&CHECKSUMMED, check.as_str()).weighing(severity);
        findings.push(finding.with("count", left_out.measured).with("unequal", left_out.unequal));
    }
    if let Some(ops) = book.ops().filter(|_| left_out.by_operation > 0) {
        findings.push(
            Finding::new(&NARROWED, check.as_str())
                .with("ops", ops)
                .with("count", left_out.by_operation)
                .with("measured", left_out.measured),
        );
    }
    if left_out.by_time > 0 {
        findings.push(
            Finding::new(&STOPPED, check.as_str()).with("count", left_out.by_time).with("measured", left_out.measured),
        );
    }
    findings.into_iter().map(|finding| finding.of_check(check)).collect()
}
