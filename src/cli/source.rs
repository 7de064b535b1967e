//! `source`: training code, or what a change touches of it; and the tree that `run` judges.

use std::path::{Path, PathBuf};

use clap::Args;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::fetch::writable::change_since;
use precision_gate::gate::{Progress, Request, SourceTree, Surroundings as GateSurroundings, UncheckedRequest, source};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::publish::event::CommentTarget;
use precision_gate::read::source::change::{CommitChange, SourceChange};
use precision_gate::read::source::diff::{Diff, MOST_BYTES};
use precision_gate::verdict::CheckId;

use super::flags::CommonArgs;
use super::judge;
use super::surroundings::Surroundings;

/// `source`
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// The training code: a folder, or one file
    pub(crate) path: PathBuf,
    /// Unified diff of the change, whose lines alone count [default: that of the pull request that CI runs for]
    #[arg(long, value_name = "FILE")]
    pub(crate) diff: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// `precision-gate source`
pub(crate) fn run(args: &SourceArgs) -> Result<u8> {
    let output = judge::begin(&args.common)?;
    let case = judge::case(&args.common, |policy| request(args, policy))?;
    let tree = tree(&args.path, args.diff.as_deref(), &Surroundings::of_process())?;
    let look = |request: &Request, from: &GateSurroundings<'_>, progress: &dyn Progress| {
        source::run(request, &tree, from, progress)
    };
    judge::judge_by(&args.common, output, &case, look)
}

fn request(args: &SourceArgs, policy: Policy) -> UncheckedRequest {
    let candidate = args.path.display().to_string();
    let (baseline, checks) = (String::new(), vec![CheckId::Source]);
    UncheckedRequest { baseline, candidate, checks, policy, matching: Matching::default(), several: Default::default() }
}

/// The tree that a run judges beside its artifacts, where its policy asks for that.
///
/// # Errors
/// None of git: a change that cannot be told is a finding.
pub(crate) fn of_run(policy: &Policy, root: Option<&Path>, surroundings: &Surroundings) -> Result<Option<SourceTree>> {
    if policy.source.is_none() && !policy.required.contains(&CheckId::Source) {
        return Ok(None);
    }
    tree(root.unwrap_or(Path::new(".")), None, surroundings).map(Some)
}

/// A tree, with the change that a file holds, or that the pull request is which the job runs for.
fn tree(root: &Path, diff: Option<&Path>, surroundings: &Surroundings) -> Result<SourceTree> {
    let (change, unknown) = match diff {
        Some(file) => (Some(SourceChange::Diff(read_diff(file)?)), String::new()),
        None => of_pull_request(root, surroundings),
    };
    Ok(SourceTree { root: root.to_owned(), change, unknown_reason: unknown })
}

fn read_diff(file: &Path) -> Result<Diff> {
    let name = file.display().to_string();
    let size = std::fs::metadata(file).map_err(|error| Error::io(&name, &error))?.len();
    if size > MOST_BYTES {
        let message = format!("a diff of {size} bytes; at most {MOST_BYTES} are read");
        return Err(Error::new(ErrorKind::Usage, name, message));
    }
    let text = std::fs::read(file).map_err(|error| Error::io(&name, &error))?;
    Diff::parse(&text).map_err(|error| {
        Error::new(ErrorKind::Usage, name, format!("not a unified diff: {error}"))
            .with_help("make it with `git diff --unified=0 main...HEAD > change.diff`")
    })
}

/// The change of the pull request that the job runs for, or why it is not known; neither outside of one.
fn of_pull_request(root: &Path, surroundings: &Surroundings) -> (Option<SourceChange>, String) {
    let place = &surroundings.place;
    let variable = |name: &str| surroundings.environment.get(name).map(String::as_str).unwrap_or_default();
    // GitLab names the merge base itself.
    let base = variable("CI_MERGE_REQUEST_DIFF_BASE_SHA");
    let is_pull = matches!(place.target, CommentTarget::Pull(_)) || !base.is_empty();
    if !is_pull {
        return (None, String::new());
    }
    let branch = place.target_branch.as_str();
    let candidates = match base.is_empty() {
        true => vec![format!("refs/remotes/origin/{branch}"), format!("refs/heads/{branch}")],
        false => vec![base.to_owned()],
    };
    if base.is_empty() && branch.is_empty() {
        return (None, "the job does not say which branch the pull request goes to".into());
    }
    match change_since(root, &candidates).and_then(|commits| CommitChange::read(&commits)) {
        Ok(change) => (Some(SourceChange::Commits(change)), String::new()),
        Err(reason) => (None, reason),
    }
}
