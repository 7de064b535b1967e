//! Judgements of one commit, one by the policy of each branch that requests of it go to; the worst is that of its check.

use std::path::PathBuf;

use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::publish::comment::{Note, Ruling};
use precision_gate::publish::{PublishSettings, Story};
use precision_gate::report::templates::Templates;
use precision_gate::result::{self, GateResult};

use super::open::Publishing;
use crate::cli::flags::CommonArgs;
use crate::cli::requests::{MOST_BRANCHES, branches};
use crate::cli::surroundings::{PublishFlags, Surroundings};
use crate::cli::trusted::{Trusted, trusted_at};

/// Judgement by one branch's policy.
pub(crate) struct Judgement {
    /// The result.
    pub(crate) result: GateResult,
    /// The exit code that it gives.
    pub(crate) code: u8,
    /// The branch's tip, where it decided.
    pub(crate) target: Option<result::Target>,
    /// Templates.
    pub(crate) templates: Templates,
    /// Remarks for the reader.
    pub(crate) notes: Vec<Note>,
    /// Folder whose lines findings point at.
    pub(crate) source_root: Option<PathBuf>,
    /// Settings of publishing, by that policy.
    pub(crate) settings: PublishSettings,
}

impl Judgement {
    /// The judgement as it is published.
    pub(crate) fn story(&self) -> Story<'_> {
        Story {
            result: &self.result,
            templates: &self.templates,
            notes: &self.notes,
            source_root: self.source_root.as_deref(),
            target: self.target.as_ref(),
            settings: &self.settings,
        }
    }

    fn is_of(&self, branch: &str) -> bool {
        self.target.as_ref().is_some_and(|target| target.branch == branch)
    }
}

/// The judged commit, and the job that judges it.
pub(crate) struct Commit<'a> {
    /// Its name.
    pub(crate) commit: &'a str,
    /// Flags of the command.
    pub(crate) common: &'a CommonArgs,
    /// Flags about publishing.
    pub(crate) flags: &'a PublishFlags,
    /// The job.
    pub(crate) surroundings: &'a Surroundings,
}

/// `first`, and a judgement by every other branch that requests of the commit go to by now. One that no request goes to any
/// more is left out. A change of the repository's own is judged once.
///
/// # Errors
/// As `judge` and the forge's answers say; `Unavailable` where requests are retargeted faster than they are judged.
pub(crate) fn every(
    first: Judgement,
    of: &Commit<'_>,
    publishing: &mut Publishing<'_>,
    mut judge: impl FnMut(&mut Publishing<'_>, &CommonArgs, Trusted) -> Result<Judgement>,
) -> Result<Vec<Judgement>> {
    let mut all = vec![first];
    // A dry run asks nobody which other requests there are.
    if of.flags.dry_run || all.iter().all(|judgement| judgement.target.is_none()) {
        return Ok(all);
    }
    for _ in 0..=MOST_BRANCHES {
        let Some(session) = publishing.session() else { return Ok(all) };
        let wanted = branches(session, &of.surroundings.place, of.commit)?;
        let Some(branch) = wanted.iter().find(|branch| !all.iter().any(|judgement| judgement.is_of(branch))) else {
            all.retain(|judgement| wanted.iter().any(|branch| judgement.is_of(branch)));
            tell(&mut all);
            return Ok(all);
        };
        // Documents of the other branches are read by nobody: their comments and the check say what they found.
        let folder = tempfile::tempdir().map_err(|error| Error::io("a temporary folder", &error))?;
        let common = of.common.aside(folder.path().to_owned());
        let trusted = trusted_at(&common, of.flags, of.surroundings, (branch, of.commit))?;
        all.push(judge(publishing, &common, trusted)?);
    }
    let error = Error::new(ErrorKind::Unavailable, of.commit, "its requests were retargeted while it was judged");
    Err(error.with_help("run the job again"))
}

/// Tells every reader what the other branches say.
fn tell(all: &mut [Judgement]) {
    let ruling = |judgement: &Judgement| {
        let target = judgement.target.clone()?;
        Some(Ruling { branch: target.branch, commit: target.commit, verdict: judgement.result.verdict })
    };
    let rulings: Vec<Ruling> = all.iter().filter_map(ruling).collect();
    if rulings.len() > 1 {
        all.iter_mut().for_each(|judgement| judgement.notes.insert(0, Note::Requests(rulings.clone())));
    }
}
