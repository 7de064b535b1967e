//! Promotion of a run to the baseline, as a change that is reviewed.

use std::path::{Path, PathBuf};

use super::baseline::lock::{Lock, Pin};
use super::baseline::manifest::{Approval, BaselineOrigin, Manifest};
use super::baseline::{FOLDER, facts, job, verify};
use crate::compare::measurements::Measurements;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::progress::Progress;
use crate::fetch::{Digest, Environment, Fetcher};
use crate::gate::baseline_name::LOCK;
use crate::gate::checks::search;
use crate::gate::request::Request;
use crate::gate::run::run_by;
use crate::gate::side::{self, Opening};
use crate::gate::surroundings::Surroundings;
use crate::judge::loss::noise::NoiseBand;
use crate::msprobe::dump::Matching;
use crate::output;
use crate::policy::Policy;
use crate::policy::location::TrustedLocation;
use crate::report::sink::DiscardingSink;
use crate::result::finding::Finding;
use crate::verdict::{Severity, Side, Verdict};

/// Findings of the comparison with the old baseline that are kept.
const MOST: usize = 10;

/// Run to promote, and the facts given with it.
#[derive(Clone, Debug)]
pub struct Promotion {
    /// The repository's root, where manifest and lock file lie.
    pub root: PathBuf,
    /// The baseline's name: a file's name.
    pub name: String,
    /// Location of the run.
    pub location: String,
    /// The branch it is pinned for, or a pattern of branches.
    pub branch: String,
    /// Reason.
    pub reason: String,
    /// Owner: the person who approved it.
    pub by: String,
    /// Facts given by the user, which take precedence over those of the run's config pack.
    pub recorded: BaselineOrigin,
    /// Largest differences between repeats of the case.
    pub noise: Option<NoiseBand>,
    /// Promote the run although it differs from the old one by more than the recorded band.
    pub accept_change: bool,
}

/// Outcome of a promotion.
#[derive(Clone, Debug)]
pub struct Promoted {
    /// The new manifest.
    pub manifest: Manifest,
    /// Old against new, in words, one line each; empty for the first of its name.
    pub changes: Vec<String>,
    /// The files written; empty where the change has to be accepted first.
    pub written: Vec<PathBuf>,
}

/// Promotes a run to the baseline: writes its manifest and pins it.
///
/// # Errors
/// `Usage` without a reason or a person, in a job that judges, and for a location with nothing of the gate's in it.
pub fn promote(
    promotion: &Promotion,
    policy: &Policy,
    fetcher: &Fetcher,
    environment: &Environment,
    progress: &dyn Progress,
) -> Result<Promoted> {
    job::may_promote(environment)?;
    promote_for_review(promotion, policy, fetcher, progress)
}

/// [`promote`] without the check of the job: for files that go to a branch of their own to be reviewed there, and that
/// judge nothing until they are merged.
///
/// # Errors
/// As [`promote`], except for jobs that judge.
pub fn promote_for_review(
    promotion: &Promotion,
    policy: &Policy,
    fetcher: &Fetcher,
    progress: &dyn Progress,
) -> Result<Promoted> {
    check(promotion)?;
    let mut manifest = record(promotion, policy, fetcher, progress)?;
    let path = promotion.root.join(FOLDER).join(format!("{}.json", promotion.name));
    let old = if path.exists() { Some(Manifest::read(&path)?) } else { None };
    let mut changes = Vec::new();
    if let Some((old, digest)) = &old {
        let (verdict, said) = old_against_new(old, &manifest, policy, fetcher, progress);
        changes = manifest.changes_since(old);
        changes.extend(said.iter().cloned());
        let approval = &mut manifest.approval;
        approval.replaces = Some(*digest);
        approval.change = said;
        approval.exceeds_band = verdict != Verdict::Pass;
    }
    let written = if manifest.approval.exceeds_band && !promotion.accept_change {
        Vec::new()
    } else {
        write(promotion, &manifest, &path)?
    };
    Ok(Promoted { manifest, changes, written })
}

fn check(promotion: &Promotion) -> Result<()> {
    let wrong = |flag: &str, message: &str| Err(Error::new(ErrorKind::Usage, flag, message));
    let is_name = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !text.is_empty() && text.len() <= 64 && !text.starts_with('.') && text.chars().all(plain)
    };
    if promotion.reason.trim().is_empty() {
        return wrong("--reason", "say why this run becomes the baseline; reviewers read it");
    }
    if promotion.by.trim().is_empty() {
        return wrong("--approved-by", "name the person who approves it");
    }
    if !is_name(&promotion.name) {
        return wrong("--name", "use letters, digits, `-`, `_` and `.`, 64 at most");
    }
    Ok(())
}

fn record(promotion: &Promotion, policy: &Policy, fetcher: &Fetcher, progress: &dyn Progress) -> Result<Manifest> {
    let opening = Opening { fetcher, policy, search: search(None), progress };
    let inventory = side::open(&promotion.location, Side::Baseline, opening)?;
    if let Some(finding) = inventory.location_findings.iter().find(|finding| finding.severity == Severity::Incomplete) {
        return Err(refused(&promotion.location, finding));
    }
    if inventory.is_unknown() {
        let error = Error::new(
            ErrorKind::Usage,
            inventory.location(),
            "holds no dump, training curve, config pack or checkpoint",
        );
        return Err(error.with_help("give the folder of a run: dump, config pack, training curve or checkpoint"));
    }
    let mut recorded = facts::recorded_facts(&inventory);
    recorded.take(&promotion.recorded);
    recorded.sources = facts::source_digests(&promotion.root, &policy.baselines.sources)?;
    Ok(Manifest {
        precision_gate_baseline: Manifest::LAYOUT,
        name: promotion.name.clone(),
        location: promotion.location.clone(),
        digest: inventory.digest(),
        files: verify::file_facts(inventory.all_files(), progress)?,
        recorded,
        noise: promotion.noise.clone(),
        approval: Approval {
            by: promotion.by.trim().to_owned(),
            reason: promotion.reason.trim().to_owned(),
            date: policy.today.to_string(),
            replaces: None,
            change: Vec::new(),
            exceeds_band: false,
        },
    })
}

fn refused(location: &str, finding: &Finding) -> Error {
    let text = |fact: &str| match finding.facts.get(fact) {
        Some(crate::result::finding::Fact::Text(text)) => text.clone(),
        _ => String::new(),
    };
    let shown = if finding.place.is_empty() { location } else { &finding.place };
    Error::new(ErrorKind::NotFound, shown, text("reason"))
}

impl BaselineOrigin {
    /// Replaces fields by those of `said` that are not empty.
    fn take(&mut self, said: &Self) {
        let pairs = [
            (&mut self.commit, &said.commit),
            (&mut self.image, &said.image),
            (&mut self.hardware, &said.hardware),
            (&mut self.seed, &said.seed),
        ];
        for (here, said) in pairs {
            if !said.is_empty() {
                here.clone_from(said);
            }
        }
        self.versions.extend(said.versions.clone());
    }
}

/// Judges the new baseline against the old one, with the noise band of the old one. Returns the verdict, and lines that
/// describe it.
pub fn old_against_new(
    old: &Manifest,
    new: &Manifest,
    policy: &Policy,
    fetcher: &Fetcher,
    progress: &dyn Progress,
) -> (Verdict, Vec<String>) {
    let request = Request {
        baseline: TrustedLocation::own(old.location.as_str()),
        candidate: new.location.clone(),
        several: Default::default(),
        checks: Request::ALL_CHECKS.to_vec(),
        policy: Policy { profile: crate::verdict::Profile::Default, required: Vec::new(), ..policy.clone() },
        matching: Matching::default(),
    };
    let surroundings = Surroundings { manifest: Some(old), ..Surroundings::new(fetcher, &DiscardingSink) };
    let result = match run_by(&request, &surroundings, &Measurements::default(), progress) {
        Ok(outcome) => outcome.result,
        Err(error) => return (Verdict::Incomplete, vec![format!("the old one cannot be compared with: {error}")]),
    };
    let mut lines = vec![format!("new judged against old: {}", result.verdict.as_str())];
    let telling = result.findings.iter().filter(|finding| finding.severity > Severity::Info);
    lines.extend(
        telling
            .take(MOST)
            .map(|finding| format!("  {} {} ({})", finding.code, finding.place, finding.severity.verdict().as_str())),
    );
    (result.verdict, lines)
}

fn write(promotion: &Promotion, manifest: &Manifest, path: &Path) -> Result<Vec<PathBuf>> {
    let text = manifest.text()?;
    let lock_path = promotion.root.join(LOCK);
    let mut lock = Lock::read(&lock_path)?;
    lock.set(Pin {
        branch: promotion.branch.clone(),
        name: promotion.name.clone(),
        manifest: format!("{FOLDER}/{}.json", promotion.name),
        digest: Digest::of(text.as_bytes()),
    });
    let manifest = format!("{FOLDER}/{}.json", promotion.name);
    output::write_below(&promotion.root, &manifest, text.as_bytes())?;
    output::write_below(&promotion.root, LOCK, lock.text()?.as_bytes())?;
    Ok(vec![path.to_owned(), lock_path])
}
