//! Rules, made as every check makes its own; and those that belong to no judge.
//!
//! Each check lists its rules beside its judge; [`register`](super::register) joins the lists. What a rule says to
//! people stands in `templates/messages/<language>/<check>.yaml` under its code.

/// Makes rules of a check, and the list of all of them.
macro_rules! rules {
    (CheckId::$check:ident; $($(#[$doc:meta])+ $name:ident = $code:literal, $severity:ident $($absence:ident)?;)+) => {
        $(
            $(#[$doc])+
            pub const $name: $crate::judge::rule::Rule = $crate::judge::rule::Rule::new(
                $crate::verdict::CheckId::$check,
                $code,
                $crate::verdict::Severity::$severity,
            )$(.$absence())?;
        )+

        /// All of them.
        pub const RULES: &[&$crate::judge::rule::Rule] = &[$(&$name),+];
    };
}

pub(in crate::judge) use rules;

pub use precision_gate_result::rule::Rule;

/// Rules about the artifacts, before any check.
pub mod artifacts {
    rules! {
        CheckId::Artifacts;

        /// A file that was recognised cannot be read.
        DAMAGED = "artifact-damaged", Incomplete absence;
        /// A file looks like one of ours and is of a kind or version that is not read.
        UNSUPPORTED = "artifact-unsupported", Incomplete absence;
        /// Nothing at all was recognised on one side.
        NOTHING_RECOGNISED = "nothing-recognised", Incomplete absence;
        /// A check has artifacts on one side only.
        ONE_SIDE_ONLY = "one-side-only", Incomplete absence;
        /// A check that the policy requires has nothing to judge.
        REQUIRED_MISSING = "required-check-missing", Incomplete absence;
        /// More than one artifact of a kind, and no rule that says which is meant.
        AMBIGUOUS = "artifact-ambiguous", Incomplete absence;

        /// The files of a check are the same bytes on both sides: a copy, or one folder given twice. Information, because a
        /// deterministic run may repeat itself; a release, which needs two runs, fails.
        SIDES_IDENTICAL = "sides-identical", Info;

        /// The candidate is better than a run of the same case can be.
        TOO_GOOD = "too-good", Warn;

        /// The job that makes the candidate did not end well.
        TRAINING_FAILED = "training-failed", Incomplete;

        /// A result's verdict cannot be decided again from what it holds.
        CLAIMED = "result-claimed", Incomplete absence;

        /// The candidate was judged without a baseline.
        NO_BASELINE = "no-baseline", Info;
        /// Artifacts of a run without a baseline that say nothing alone.
        NEEDS_BASELINE = "needs-baseline", Incomplete absence;

        /// No Python file of a tree could be read, or there is none.
        NO_SOURCE = "source-nothing-read", Incomplete absence;
        /// The lines of a pull request are not known, so all lines count.
        CHANGE_UNKNOWN = "source-change-unknown", Info;
    }
}

/// Rules about what a verdict rests on, the same for every check.
pub mod evidence {
    rules! {
        CheckId::Artifacts;

        /// Nothing was compared that could show a difference.
        MISSING = "evidence-missing", Incomplete absence;
        /// The verdict rests on a single number.
        SINGLE = "evidence-single-place", Warn;
        /// Less was compared than the limit of coverage asks for.
        COVERAGE = "evidence-coverage", Incomplete absence;
        /// Places are damaged, or of a form that no reader knows.
        DAMAGED = "evidence-damaged", Warn;
        /// A place has two values that differ on one side.
        CONTRADICTING = "evidence-contradicting", Warn;
        /// Something was read or paired in a way that is less than the intended one.
        FALLBACK = "evidence-fallback", Warn;
        /// The policy leaves something out.
        LEFT_OUT = "evidence-left-out", Info;
    }
}

/// Rules about the policy itself.
pub mod policy {
    rules! {
        CheckId::Policy;

        /// A waiver has run out.
        WAIVER_EXPIRED = "waiver-expired", Fail;
        /// A waiver covers nothing.
        WAIVER_UNUSED = "waiver-unused", Info;
        /// A waiver fits something that was not read or not compared, which no waiver covers.
        WAIVER_OF_ABSENCE = "waiver-of-absence", Warn;
        /// A selector fits nothing.
        SELECTOR_UNUSED = "selector-unused", Warn;

        /// The target branch's policy cannot be read by a job that has no token of its repository.
        UNREAD = "policy-unread", Incomplete absence;
    }
}

/// Rules about the runs of a suite over time.
pub mod history {
    rules! {
        CheckId::History;

        /// A rule's values changed their level and stayed there.
        STEP = "history-step", Warn;
        /// A rule's values drift towards a limit.
        DRIFT = "history-drift", Warn;
    }
}
