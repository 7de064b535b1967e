//! Sources of a run's inputs, given whose commit is judged.
//!
//! Only this file decides about them. [`EVENTS`] has a row per event, with the way in which the event tells whose commit the job
//! judges. A second table has a cell per input: the input's source for the repository's own commits, and for those of strangers.
//! If the repositories differ, or that cannot be known, the stranger's column applies. `docs/security.md` shows the same tables,
//! and a test compares the page with this file.

use super::forge::ForgeKind;
use crate::policy::input::Input;

/// Owner of the commit that a job judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
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
pub enum Standing {
    /// Files of the checkout decide; a reviewer is told which of them the change touches.
    Own,
    /// Files of the checkout decide nothing.
    Stranger,
}

impl Origin {
    /// Rights of the files of the checkout.
    pub fn standing(self) -> Standing {
        match self {
            Self::Own => Standing::Own,
            Self::Fork | Self::Unknown => Standing::Stranger,
        }
    }
}

/// Way in which an event tells whose commit its job judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The event runs for commits of the repository itself, unless a flag names another pull request or commit.
    Own,
    /// The event names the repositories of both ends.
    ByEvent,
    /// The event names a pull request at most, which the forge is asked about.
    ByForge,
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The forge whose event it is.
    pub forge: ForgeKind,
    /// The event, as the forge spells it; at GitLab the kind of pipeline.
    pub event: &'static str,
    /// Way in which it tells the origin.
    pub told: Told,
}

const fn row(forge: ForgeKind, event: &'static str, told: Told) -> Row {
    Row { forge, event, told }
}

/// Every event with a row of its own. Gitea's and Forgejo's events are read as GitHub's.
pub const EVENTS: [Row; 21] = [
    row(ForgeKind::Github, "pull_request", Told::ByEvent),
    row(ForgeKind::Github, "pull_request_target", Told::ByEvent),
    row(ForgeKind::Github, "pull_request_review", Told::ByEvent),
    row(ForgeKind::Github, "pull_request_review_comment", Told::ByEvent),
    row(ForgeKind::Github, "workflow_run", Told::ByEvent),
    row(ForgeKind::Github, "merge_group", Told::ByForge),
    row(ForgeKind::Github, "issue_comment", Told::ByForge),
    row(ForgeKind::Github, "push", Told::Own),
    row(ForgeKind::Github, "schedule", Told::Own),
    row(ForgeKind::Github, "workflow_dispatch", Told::Own),
    row(ForgeKind::Github, "repository_dispatch", Told::Own),
    row(ForgeKind::Github, "release", Told::Own),
    row(ForgeKind::Github, "any other event", Told::ByForge),
    row(ForgeKind::Gitlab, "merge request, detached", Told::ByEvent),
    row(ForgeKind::Gitlab, "merge request, merged results", Told::ByEvent),
    row(ForgeKind::Gitlab, "merge request, merge train", Told::ByEvent),
    row(ForgeKind::Gitlab, "external pull request", Told::ByEvent),
    row(ForgeKind::Gitlab, "branch", Told::Own),
    row(ForgeKind::Gitlab, "tag", Told::Own),
    row(ForgeKind::Gitlab, "schedule", Told::Own),
    row(ForgeKind::Gitlab, "any other pipeline", Told::ByForge),
];

/// Way in which GitHub's event `name` tells the origin; an event without a row tells nothing.
pub fn told(name: &str) -> Told {
    let known = EVENTS.iter().find(|row| row.forge == ForgeKind::Github && row.event == name);
    known.map_or(Told::ByForge, |row| row.told)
}

/// Source of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
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

impl Taken {
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
pub fn taken(standing: Standing, input: Input) -> Taken {
    match (input, standing) {
        (Input::Policy | Input::Templates | Input::NoiseBand | Input::Lock, Standing::Own) => Taken::Checkout,
        (Input::Policy | Input::Templates | Input::NoiseBand | Input::Lock, Standing::Stranger) => Taken::Target,
        (Input::Repeats | Input::BaselineFiles, Standing::Own) => Taken::Checkout,
        (Input::Repeats | Input::BaselineFiles, Standing::Stranger) => Taken::Unchanged,
        (Input::History, Standing::Own) => Taken::Job,
        (Input::History, Standing::Stranger) => Taken::Nowhere,
        (Input::Request, _) => Taken::Forge,
        (Input::Secrets | Input::Folders, _) => Taken::Job,
        (Input::Candidate, _) => Taken::Data,
    }
}
