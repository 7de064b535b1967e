//! One rule: a code that findings carry, stable for ever, and its weight; and the rules that belong to no judge.
//!
//! Each check lists its rules beside its judge; [`register`](super::register) joins the lists. What a rule says to
//! people stands in `templates/messages/<language>/<check>.yaml` under its code.

use std::collections::BTreeMap;

use crate::result::finding::Finding;
use crate::verdict::{CheckId, Severity};

/// One rule: its code, the check it belongs to, and how much it weighs unless the policy says otherwise.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// The check whose findings carry it.
    pub check: CheckId,
    /// Weight of a finding by default; a judge that measures a band may weigh it less or more.
    pub severity: Severity,
    /// Whether it says that something was not read or not compared. A waiver accepts differences, never an absence.
    pub is_absence: bool,
}

impl Rule {
    /// A rule of `check`.
    pub const fn new(check: CheckId, code: &'static str, severity: Severity) -> Self {
        Self { code, check, severity, is_absence: false }
    }

    /// The same rule, about something that was not read or not compared.
    #[must_use]
    pub const fn absence(self) -> Self {
        Self { is_absence: true, ..self }
    }
}

impl Finding {
    /// A finding of `rule` at `place`, with the rule's own weight.
    pub fn new(rule: &Rule, place: impl Into<String>) -> Self {
        Self {
            id: String::new(),
            check: rule.check,
            severity: rule.severity,
            code: rule.code.to_owned(),
            place: place.into(),
            source: None,
            facts: BTreeMap::new(),
            message: String::new(),
            help: String::new(),
        }
    }
}

/// Rules about the artifacts, before any check.
pub mod artifacts {
    use super::{CheckId, Rule, Severity};

    /// A rule of this list.
    pub(in crate::judge) const fn rule(code: &'static str, severity: Severity) -> Rule {
        Rule::new(CheckId::Artifacts, code, severity)
    }

    /// A file that was recognised cannot be read.
    pub const DAMAGED: Rule = rule("artifact-damaged", Severity::Incomplete).absence();
    /// A file looks like one of ours and is of a kind or version that is not read.
    pub const UNSUPPORTED: Rule = rule("artifact-unsupported", Severity::Incomplete).absence();
    /// Nothing at all was recognised on one side.
    pub const NOTHING_RECOGNISED: Rule = rule("nothing-recognised", Severity::Incomplete).absence();
    /// A check has artifacts on one side only.
    pub const ONE_SIDE_ONLY: Rule = rule("one-side-only", Severity::Incomplete).absence();
    /// A check that the policy requires has nothing to judge.
    pub const REQUIRED_MISSING: Rule = rule("required-check-missing", Severity::Incomplete).absence();
    /// More than one artifact of a kind, and no rule that says which is meant.
    pub const AMBIGUOUS: Rule = rule("artifact-ambiguous", Severity::Incomplete).absence();

    /// The files of a check are the same bytes on both sides: a copy, or one folder given twice. Information, because a
    /// deterministic run may repeat itself; a release, which needs two runs, fails.
    pub const SIDES_IDENTICAL: Rule = rule("sides-identical", Severity::Info);

    /// The candidate is better than a run of the same case can be.
    pub const TOO_GOOD: Rule = rule("too-good", Severity::Warn);

    /// The job that makes the candidate did not end well.
    pub const TRAINING_FAILED: Rule = rule("training-failed", Severity::Incomplete);

    /// A result's verdict cannot be decided again from what it holds.
    pub const CLAIMED: Rule = rule("result-claimed", Severity::Incomplete).absence();

    /// The candidate was judged without a baseline.
    pub const NO_BASELINE: Rule = rule("no-baseline", Severity::Info);
    /// Artifacts of a run without a baseline that say nothing alone.
    pub const NEEDS_BASELINE: Rule = rule("needs-baseline", Severity::Incomplete).absence();

    /// No Python file of a tree could be read, or there is none.
    pub const NO_SOURCE: Rule = rule("source-nothing-read", Severity::Incomplete).absence();
    /// The lines of a pull request are not known, so all lines count.
    pub const CHANGE_UNKNOWN: Rule = rule("source-change-unknown", Severity::Info);

    /// All of them.
    pub const RULES: &[&Rule] = &[
        &DAMAGED,
        &UNSUPPORTED,
        &NOTHING_RECOGNISED,
        &ONE_SIDE_ONLY,
        &REQUIRED_MISSING,
        &AMBIGUOUS,
        &SIDES_IDENTICAL,
        &TOO_GOOD,
        &TRAINING_FAILED,
        &CLAIMED,
        &NO_BASELINE,
        &NEEDS_BASELINE,
        &NO_SOURCE,
        &CHANGE_UNKNOWN,
    ];
}

/// Rules about what a verdict rests on, the same for every check.
pub mod evidence {
    use super::{Rule, Severity, artifacts};

    /// Nothing was compared that could show a difference.
    pub const MISSING: Rule = artifacts::rule("evidence-missing", Severity::Incomplete).absence();
    /// The verdict rests on a single number.
    pub const SINGLE: Rule = artifacts::rule("evidence-single-place", Severity::Warn);
    /// Less was compared than the limit of coverage asks for.
    pub const COVERAGE: Rule = artifacts::rule("evidence-coverage", Severity::Incomplete).absence();
    /// Places are damaged, or of a form that no reader knows.
    pub const DAMAGED: Rule = artifacts::rule("evidence-damaged", Severity::Warn);
    /// A place has two values that differ on one side.
    pub const CONTRADICTING: Rule = artifacts::rule("evidence-contradicting", Severity::Warn);
    /// Something was read or paired in a way that is less than the intended one.
    pub const FALLBACK: Rule = artifacts::rule("evidence-fallback", Severity::Warn);
    /// The policy leaves something out.
    pub const LEFT_OUT: Rule = artifacts::rule("evidence-left-out", Severity::Info);

    /// All of them.
    pub const RULES: &[&Rule] = &[&MISSING, &SINGLE, &COVERAGE, &DAMAGED, &CONTRADICTING, &FALLBACK, &LEFT_OUT];
}

/// Rules about the policy itself.
pub mod policy {
    use super::{CheckId, Rule, Severity};

    /// A rule of this list.
    const fn rule(code: &'static str, severity: Severity) -> Rule {
        Rule::new(CheckId::Policy, code, severity)
    }

    /// A waiver has run out.
    pub const WAIVER_EXPIRED: Rule = rule("waiver-expired", Severity::Fail);
    /// A waiver covers nothing.
    pub const WAIVER_UNUSED: Rule = rule("waiver-unused", Severity::Info);
    /// A waiver fits something that was not read or not compared, which no waiver covers.
    pub const WAIVER_OF_ABSENCE: Rule = rule("waiver-of-absence", Severity::Warn);
    /// A selector fits nothing.
    pub const SELECTOR_UNUSED: Rule = rule("selector-unused", Severity::Warn);

    /// The target branch's policy cannot be read by a job that has no token of its repository.
    pub const UNREAD: Rule = rule("policy-unread", Severity::Incomplete).absence();

    /// All of them.
    pub const RULES: &[&Rule] = &[&WAIVER_EXPIRED, &WAIVER_UNUSED, &WAIVER_OF_ABSENCE, &SELECTOR_UNUSED, &UNREAD];
}

/// Rules about the runs of a suite over time.
pub mod history {
    use super::{CheckId, Rule, Severity};

    /// A rule of this list.
    const fn rule(code: &'static str, severity: Severity) -> Rule {
        Rule::new(CheckId::History, code, severity)
    }

    /// A rule's values changed their level and stayed there.
    pub const STEP: Rule = rule("history-step", Severity::Warn);
    /// A rule's values drift towards a limit.
    pub const DRIFT: Rule = rule("history-drift", Severity::Warn);

    /// All of them.
    pub const RULES: &[&Rule] = &[&STEP, &DRIFT];
}
