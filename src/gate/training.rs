//! Outcome of the training job: a run that crashed leaves nothing, or half of its artifacts, and neither may pass.

use super::discover::Inventory;
use crate::judge::rule::artifacts as rules;
use crate::result::finding::Finding;

/// Outcome of the job that makes the candidate, in the words of GitHub's `needs.train.result`; GitLab's are taken too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
pub enum Training {
    /// It ended well
    Success,
    /// It failed
    #[cfg_attr(feature = "program", value(alias = "failed"))]
    Failure,
    /// Somebody or something stopped it
    #[cfg_attr(feature = "program", value(alias = "canceled"))]
    Cancelled,
    /// It did not run
    Skipped,
    /// Not known; it counts as failed where it left nothing
    Unknown,
}

impl Training {
    /// The outcome as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the outcome explains a missing candidate, which is otherwise taken for a wrong path.
    pub(super) fn explains_absence(self) -> bool {
        self != Self::Success
    }

    /// The finding about a candidate from such a job; `None` where there is nothing to report.
    ///
    /// `is_recognised` says whether anything in it can be judged.
    pub(super) fn finding(self, candidate: &Inventory, is_recognised: bool) -> Option<Finding> {
        let is_told = match self {
            Self::Success => false,
            Self::Failure | Self::Cancelled | Self::Skipped => true,
            Self::Unknown => candidate.file_count() == 0,
        };
        is_told.then(|| {
            // The place stays empty: the sentence is about the job, and begins the headline.
            Finding::new(&rules::TRAINING_FAILED, "")
                .with("training", self.as_str())
                .with("left", if is_recognised { "something" } else { "nothing" })
        })
    }
}
