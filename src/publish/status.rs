//! The verdict on a commit: a check run with the whole report, or a status of one line.

use crate::policy::publish::WarnAs;
use crate::verdict::Verdict;

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// The run has begun.
    Running,
    /// The run has a verdict.
    Judged(Verdict),
    /// The run ended without a verdict.
    Unfinished,
}

/// A line of the repository that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Path below the repository's root.
    pub path: String,
    /// Line, from 1.
    pub line: u64,
    /// `failure`, `warning` or `notice`.
    pub level: &'static str,
    /// The finding's code.
    pub title: String,
    /// Message of the finding.
    pub message: String,
}

/// State of a commit, for a status or a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitReport {
    /// The name that a branch's rules can require.
    pub name: String,
    /// The commit.
    pub commit: String,
    /// Progress of the run.
    pub state: RunState,
    /// Conclusion of a check whose verdict is `warn`.
    pub warn: WarnAs,
    /// Whether the verdict is only reported and never blocks; a run without a verdict still does.
    pub report_only: bool,
    /// One line.
    pub title: String,
    /// The report, in Markdown.
    pub summary: String,
    /// Findings on lines of the repository.
    pub annotations: Vec<Annotation>,
    /// A page with more details; empty if there is none.
    pub url: String,
    /// Identifier of this run, different for every run.
    pub run: String,
    /// GitLab's number of the pipeline.
    pub pipeline: Option<u64>,
}

/// Whether a run is good, bad or neither, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conclusion {
    /// Good.
    Success,
    /// Neither: counts as passing.
    Neutral,
    /// Bad: blocks.
    Failure,
}

impl CommitReport {
    /// Conclusion of the check; `None` while the run is not finished.
    pub fn conclusion(&self) -> Option<Conclusion> {
        conclusion(self.state, self.warn, self.report_only)
    }

    /// The title, cut to the `most` characters that a forge accepts.
    pub(crate) fn short_title(&self, most: usize) -> String {
        if self.title.chars().count() <= most {
            return self.title.clone();
        }
        self.title.chars().take(most.saturating_sub(1)).chain(['…']).collect()
    }
}

/// Conclusion of a check in `state`; `None` while the run is not finished.
pub(super) fn conclusion(state: RunState, warn: WarnAs, report_only: bool) -> Option<Conclusion> {
    let verdict = match state {
        RunState::Running => return None,
        RunState::Unfinished => return Some(Conclusion::Failure),
        RunState::Judged(verdict) => verdict,
    };
    if report_only {
        return Some(Conclusion::Neutral);
    }
    Some(match verdict {
        Verdict::Pass => Conclusion::Success,
        Verdict::Skipped => Conclusion::Neutral,
        Verdict::Fail | Verdict::Incomplete => Conclusion::Failure,
        Verdict::Warn => match warn {
            WarnAs::Neutral => Conclusion::Neutral,
            WarnAs::Success => Conclusion::Success,
            WarnAs::Failure => Conclusion::Failure,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_judged_blocks() {
        use Conclusion::{Failure, Neutral, Success};
        for (state, warn, conclusion) in [
            (RunState::Running, WarnAs::Neutral, None),
            (RunState::Unfinished, WarnAs::Success, Some(Failure)),
            (RunState::Judged(Verdict::Pass), WarnAs::Failure, Some(Success)),
            (RunState::Judged(Verdict::Warn), WarnAs::Neutral, Some(Neutral)),
            (RunState::Judged(Verdict::Warn), WarnAs::Failure, Some(Failure)),
            (RunState::Judged(Verdict::Incomplete), WarnAs::Success, Some(Failure)),
            (RunState::Judged(Verdict::Fail), WarnAs::Success, Some(Failure)),
            (RunState::Judged(Verdict::Skipped), WarnAs::Neutral, Some(Neutral)),
        ] {
            let report = CommitReport {
                name: String::new(),
                commit: String::new(),
                state,
                warn,
                report_only: false,
                title: "x".repeat(200),
                summary: String::new(),
                annotations: vec![],
                url: String::new(),
                run: String::new(),
                pipeline: None,
            };
            assert_eq!(report.conclusion(), conclusion, "{state:?} {warn:?}");
            assert_eq!(report.short_title(140).chars().count(), 140);
            let reported = CommitReport { report_only: true, ..report };
            let judged = matches!(state, RunState::Judged(_));
            assert_eq!(reported.conclusion(), if judged { Some(Neutral) } else { conclusion }, "{state:?} {warn:?}");
        }
    }
}
