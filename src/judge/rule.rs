//! One rule: a code that findings carry, stable for ever, and its weight; and the rules that belong to no judge.
//!
//! Each check lists its rules beside its judge; [`register`](super::register) joins the lists. What a rule says to
//! people stands in `templates/messages/<language>/<check>.yaml` under its code.

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
}

impl Rule {
    /// A rule of `check`.
    pub const fn new(check: CheckId, code: &'static str, severity: Severity) -> Self {
        Self { code, check, severity }
    }
}

/// Rules about what was found, before any check.
pub mod artifacts {
    use super::{CheckId, Rule, Severity};

    /// A file that was recognised cannot be read.
    pub const DAMAGED: Rule = Rule::new(CheckId::Artifacts, "artifact-damaged", Severity::Incomplete);
    /// A file looks like one of ours and is of a kind or version that is not read.
    pub const UNSUPPORTED: Rule = Rule::new(CheckId::Artifacts, "artifact-unsupported", Severity::Incomplete);
    /// Nothing at all was recognised on one side.
    pub const NOTHING_RECOGNISED: Rule = Rule::new(CheckId::Artifacts, "nothing-recognised", Severity::Incomplete);
    /// A check has artifacts on one side only.
    pub const ONE_SIDE_ONLY: Rule = Rule::new(CheckId::Artifacts, "one-side-only", Severity::Incomplete);
    /// A check that the policy requires has nothing to judge.
    pub const REQUIRED_MISSING: Rule = Rule::new(CheckId::Artifacts, "required-check-missing", Severity::Incomplete);
    /// More than one artifact of a kind, and no rule that says which is meant.
    pub const AMBIGUOUS: Rule = Rule::new(CheckId::Artifacts, "artifact-ambiguous", Severity::Incomplete);

    /// The job that makes the candidate did not end well.
    pub const TRAINING_FAILED: Rule = Rule::new(CheckId::Artifacts, "training-failed", Severity::Incomplete);

    /// All of them.
    pub const RULES: &[&Rule] =
        &[&DAMAGED, &UNSUPPORTED, &NOTHING_RECOGNISED, &ONE_SIDE_ONLY, &REQUIRED_MISSING, &AMBIGUOUS, &TRAINING_FAILED];
}

/// Rules about the policy itself.
pub mod policy {
    use super::{CheckId, Rule, Severity};

    /// A waiver has run out.
    pub const WAIVER_EXPIRED: Rule = Rule::new(CheckId::Policy, "waiver-expired", Severity::Fail);
    /// A waiver covers nothing.
    pub const WAIVER_UNUSED: Rule = Rule::new(CheckId::Policy, "waiver-unused", Severity::Info);
    /// A selector fits nothing.
    pub const SELECTOR_UNUSED: Rule = Rule::new(CheckId::Policy, "selector-unused", Severity::Warn);

    /// The target branch's policy cannot be read by a job that has no token of its repository.
    pub const UNREAD: Rule = Rule::new(CheckId::Policy, "policy-unread", Severity::Incomplete);

    /// All of them.
    pub const RULES: &[&Rule] = &[&WAIVER_EXPIRED, &WAIVER_UNUSED, &SELECTOR_UNUSED, &UNREAD];
}

/// Rules about the runs of a suite over time.
pub mod history {
    use super::{CheckId, Rule, Severity};

    /// A rule's values changed their level and stayed there.
    pub const STEP: Rule = Rule::new(CheckId::History, "history-step", Severity::Warn);
    /// A rule's values drift towards a limit.
    pub const DRIFT: Rule = Rule::new(CheckId::History, "history-drift", Severity::Warn);

    /// All of them.
    pub const RULES: &[&Rule] = &[&STEP, &DRIFT];
}
