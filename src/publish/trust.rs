//! Sources of a run's inputs, given whose commit is judged.
//!
//! Only this file decides about them. [`EVENTS`] has a row per event, with the way in which the event tells whose commit the job
//! judges. A second table has a cell per input: the input's source for the repository's own commits, and for those of strangers.
//! If the repositories differ, or that cannot be known, the stranger's column applies. `docs/security.md` shows the same tables,
//! and a test compares the page with this file.

use super::forge::ForgeKind;
use crate::policy::input::InputKind;

/// Owner of the commit that a job judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitOrigin {
    /// The repository's own: whoever wrote it may write to the repository.
    #[default]
    Own,
    /// Another repository's: a fork.
    Fork,
    /// The event does not tell. The forge is asked; without an answer the commit counts as a fork's.
    Unknown,
}

/// Rights of the files in the checkout, which follow from the commit's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileRights {
    /// Files of the checkout decide; a reviewer is told which of them the change touches.
    Own,
    /// Files of the checkout decide nothing.
    Stranger,
}

impl CommitOrigin {
    /// Rights of the files of the checkout.
    pub fn file_rights(self) -> FileRights {
        match self {
            Self::Own => FileRights::Own,
            Self::Fork | Self::Unknown => FileRights::Stranger,
        }
    }
}

/// Way in which an event tells whose commit its job judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginSource {
    /// The event runs for commits of the repository itself, unless a flag names another pull request or commit.
    Own,
    /// The event names the repositories of both ends.
    ByEvent,
    /// The event names a pull request at most, which the forge is asked about.
    ByForge,
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct EventRow {
    /// The forge whose event it is.
    pub forge: ForgeKind,
    /// The event, as the forge spells it; at GitLab the kind of pipeline.
    pub event: &'static str,
    /// Way in which it tells the origin.
    pub origin_source: OriginSource,
}

const fn row(forge: ForgeKind, event: &'static str, origin_source: OriginSource) -> EventRow {
    EventRow { forge, event, origin_source }
}

/// Every event with a row of its own. Gitea's and Forgejo's events are read as GitHub's. GitLab's rows and the rows "any other ..."
/// are for the page and the tests: variables of the job tell GitLab's origin (`event::gitlab`).
pub const EVENTS: [EventRow; 21] = [
    row(ForgeKind::Github, "pull_request", OriginSource::ByEvent),
    row(ForgeKind::Github, "pull_request_target", OriginSource::ByEvent),
    row(ForgeKind::Github, "pull_request_review", OriginSource::ByEvent),
    row(ForgeKind::Github, "pull_request_review_comment", OriginSource::ByEvent),
    row(ForgeKind::Github, "workflow_run", OriginSource::ByEvent),
    row(ForgeKind::Github, "merge_group", OriginSource::ByForge),
    row(ForgeKind::Github, "issue_comment", OriginSource::ByForge),
    row(ForgeKind::Github, "push", OriginSource::Own),
    row(ForgeKind::Github, "schedule", OriginSource::Own),
    row(ForgeKind::Github, "workflow_dispatch", OriginSource::Own),
    row(ForgeKind::Github, "repository_dispatch", OriginSource::Own),
    row(ForgeKind::Github, "release", OriginSource::Own),
    row(ForgeKind::Github, "any other event", OriginSource::ByForge),
    row(ForgeKind::Gitlab, "merge request, detached", OriginSource::ByEvent),
    row(ForgeKind::Gitlab, "merge request, merged results", OriginSource::ByEvent),
    row(ForgeKind::Gitlab, "merge request, merge train", OriginSource::ByEvent),
    row(ForgeKind::Gitlab, "external pull request", OriginSource::ByEvent),
    row(ForgeKind::Gitlab, "branch", OriginSource::Own),
    row(ForgeKind::Gitlab, "tag", OriginSource::Own),
    row(ForgeKind::Gitlab, "schedule", OriginSource::Own),
    row(ForgeKind::Gitlab, "any other pipeline", OriginSource::ByForge),
];

/// Way in which GitHub's event `name` tells the origin; an event without a row tells nothing.
pub fn origin_source(name: &str) -> OriginSource {
    let known = EVENTS.iter().find(|row| row.forge == ForgeKind::Github && row.event == name);
    known.map_or(OriginSource::ByForge, |row| row.origin_source)
}

/// Source of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputSource {
    /// The checkout, with a note where the pull request changes it.
    Checkout,
    /// The tip of the target branch, as the forge gives it.
    Target,
    /// The checkout, if the forge shows that the change leaves the input as it is on the target branch; otherwise it is not accepted.
    Unchanged,
    /// Flags and variables of the job, which the workflow's file sets.
    Job,
    /// The event and the forge's interface.
    Forge,
    /// Data, whoever wrote it: read with limits, never run.
    Data,
    /// Not used.
    Nowhere,
}

impl InputSource {
    /// The place in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Checkout => "checkout",
            Self::Target => "target's tip",
            Self::Unchanged => "checkout, if unchanged",
            Self::Job => "job",
            Self::Forge => "forge",
            Self::Data => "data",
            Self::Nowhere => "not used",
        }
    }
}

/// The source of `input`. A file outside of the checkout belongs to the job in both columns.
pub fn input_source(rights: FileRights, input: InputKind) -> InputSource {
    match (input, rights) {
        (InputKind::Policy | InputKind::Templates | InputKind::NoiseBand | InputKind::Lock, FileRights::Own) => {
            InputSource::Checkout
        }
        (InputKind::Policy | InputKind::Templates | InputKind::NoiseBand | InputKind::Lock, FileRights::Stranger) => {
            InputSource::Target
        }
        (InputKind::Repeats | InputKind::BaselineFiles, FileRights::Own) => InputSource::Checkout,
        (InputKind::Repeats | InputKind::BaselineFiles, FileRights::Stranger) => InputSource::Unchanged,
        (InputKind::History, FileRights::Own) => InputSource::Job,
        (InputKind::History, FileRights::Stranger) => InputSource::Nowhere,
        (InputKind::Request, _) => InputSource::Forge,
        (InputKind::Secrets | InputKind::Folders, _) => InputSource::Job,
        (InputKind::Candidate, _) => InputSource::Data,
    }
}
