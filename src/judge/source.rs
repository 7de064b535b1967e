//! Judging source: turns the rules that a file breaks into findings, with the severities of the policy.
//!
//! The linter, a crate of its own (`crates/source`), inspects the files; docs/source.md has its rules with examples.

pub use precision_gate_source::rules::{
    Context, Family, Flags, Looked, RULES, SOURCE_RULES, SourceRule, find, look_at_module, look_other,
};

use precision_gate_source::rules::{Breach, broken};

use crate::policy::source::SourcePolicy;
use crate::read::source::Touched;
use crate::result::finding::Finding;
use crate::result::place::{Accepted, LinePlace, SourcePlace};
use crate::verdict::Severity;

/// Findings of one file.
#[derive(Debug, Default)]
pub(crate) struct JudgedSource {
    /// Findings, in the order of lines.
    pub findings: Vec<Finding>,
    /// Comments of the change that accept findings.
    pub accepted: Vec<Accepted>,
}

/// Findings of a file in its tree. `touched` holds the lines that a change touches; without a change all lines count.
pub(crate) fn file_findings(
    path: &str,
    looked: Looked,
    context: &Context,
    policy: &SourcePolicy,
    touched: Option<&Touched>,
) -> JudgedSource {
    let broken = broken(path, looked, context, touched);
    let findings = broken.breaches.into_iter().filter_map(|breach| finding(path, breach, policy)).collect();
    JudgedSource { findings, accepted: broken.accepted }
}

/// The finding of a rule that is broken; `None` where the policy has switched the rule off.
fn finding(path: &str, breach: Breach, policy: &SourcePolicy) -> Option<Finding> {
    let rule = breach.rule;
    let severity = match policy.rule_setting(rule.rule.code) {
        Some(setting) => setting.severity()?,
        None if rule.is_off => return None,
        None if breach.is_milder => Severity::Warn,
        None => rule.rule.severity,
    };
    let place = SourcePlace {
        at: LinePlace { file: path.to_owned(), line: breach.line, column: breach.column },
        family: rule.family,
        changed: breach.changed,
        counts: breach.changed != Some(false) || !policy.changed_only.0,
        fix: breach.fix,
    };
    let mut finding = Finding::new(&rule.rule, "").with_severity(severity).at(place).with("unit", path);
    finding.facts.extend(breach.facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)));
    Some(finding)
}
