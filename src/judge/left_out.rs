//! What is said of a check that did not look at everything: a quick look is never worth a pass by itself.
//!
//! The findings warn; a policy that accepts quick looks sets their severity to `info`.

use super::finding::Finding;
use super::rule::Rule;
use crate::compare::book::LeftOut;
use crate::compare::sample::{Sample, unseen_share};
use crate::verdict::{CheckId, Severity};

const fn rule(code: &'static str) -> Rule {
    Rule::new(CheckId::Artifacts, code, Severity::Warn)
}

/// Only a sample of the elements was looked at.
pub const SAMPLED: Rule = rule("data-sampled");
/// Only some operations' data was read; of the others, what was recorded was compared.
pub const NARROWED: Rule = rule("data-narrowed");
/// Time was up before all data was read; of the rest, what was recorded was compared.
pub const STOPPED: Rule = rule("data-stopped");

/// All of them.
pub const RULES: &[&Rule] = &[&SAMPLED, &NARROWED, &STOPPED];

/// What is to be said of `check`, of which `left_out` was counted. `sample` and `ops` are what was asked for.
pub fn findings(check: CheckId, left_out: &LeftOut, sample: Option<&Sample>, ops: Option<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(sample) = sample.filter(|_| left_out.elements < left_out.of_elements) {
        let finding = Finding::new(&SAMPLED, check.as_str())
            .with("ratio", sample.ratio())
            .with("seed", sample.seed())
            .with("elements", left_out.elements)
            .with("of", left_out.of_elements)
            .with("unseen", unseen_share(left_out.runs));
        findings.push(finding);
    }
    if let Some(ops) = ops.filter(|_| left_out.by_operation > 0) {
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
