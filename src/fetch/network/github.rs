//! GitHub: artifacts of workflow runs, and release assets (`docs/locations.md`).
//!
//! The API's address is `GITHUB_API_URL`, so that GitHub Enterprise Server works; the token is `GITHUB_TOKEN`, `GH_TOKEN` or
//! `PRECISION_GATE_TOKEN`. As a baseline, an artifact counts only from a successful run of the wanted workflow and
//! branch in the repository itself: a fork can upload one of the same name.

use std::num::NonZeroU64;

use reqwest::header;
use serde::Deserialize;

use super::rest::Rest;
use super::web::WebRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::digest::Digest;
use crate::fetch::environment::Environment;
use crate::fetch::location::GitHubLocation;
use crate::fetch::origin::{ArtifactOrigin, Trust};
use crate::fetch::permission::{Need, Permission};

/// Largest number of runs that are searched backwards for an artifact.
const RUNS: &str = "20";
/// Variables that may hold the token, the first set one first.
pub(super) const TOKENS: &[&str] = &["GITHUB_TOKEN", "GH_TOKEN", "PRECISION_GATE_TOKEN"];

#[derive(Clone, Debug, Deserialize)]
struct Run {
    id: NonZeroU64,
    path: String,
    #[serde(default)]
    head_branch: Option<String>,
    #[serde(default)]
    head_sha: Option<String>,
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default)]
    created_at: Option<String>,
    #[serde(default)]
    repository: Option<Repository>,
    #[serde(default)]
    head_repository: Option<Repository>,
}

#[derive(Clone, Debug, Deserialize)]
struct Repository {
    id: NonZeroU64,
    #[serde(default)]
    default_branch: Option<String>,
}

#[derive(Deserialize)]
struct Runs {
    workflow_runs: Vec<Run>,
}

#[derive(Clone, Debug, Deserialize)]
struct Artifact {
    id: NonZeroU64,
    name: String,
    expired: bool,
    #[serde(default)]
    expires_at: Option<String>,
    #[serde(default)]
    digest: Option<String>,
    #[serde(default)]
    workflow_run: Option<ArtifactRun>,
}

#[derive(Clone, Debug, Deserialize)]
struct ArtifactRun {
    #[serde(default)]
    id: Option<NonZeroU64>,
    #[serde(default)]
    head_branch: Option<String>,
}

#[derive(Deserialize)]
struct Artifacts {
    artifacts: Vec<Artifact>,
}

#[derive(Deserialize)]
struct Release {
    id: NonZeroU64,
    tag_name: String,
    #[serde(default)]
    published_at: Option<String>,
}

#[derive(Clone, Deserialize)]
struct Asset {
    id: NonZeroU64,
    name: String,
    #[serde(default)]
    digest: Option<String>,
}

/// File to download, and its origin.
pub(super) struct FoundFile {
    pub(super) ask: WebRequest,
    pub(super) digest: Option<Digest>,
    pub(super) identity: String,
    /// Whether the identity always stands for the same bytes.
    pub(super) is_permanent: bool,
    pub(super) origin: ArtifactOrigin,
}

/// The request to the API's root.
pub(super) fn root(environment: &Environment) -> Result<WebRequest> {
    let address = environment.get("GITHUB_API_URL").unwrap_or("https://api.github.com");
    let url = reqwest::Url::parse(address)
        .map_err(|error| Error::new(ErrorKind::Usage, "GITHUB_API_URL", format!("is not an address: {error}")))?;
    let mut ask = WebRequest::new(url)
        .with_header(header::ACCEPT, "application/vnd.github+json")
        .with_header(header::HeaderName::from_static("x-github-api-version"), "2022-11-28");
    if let Some(token) = environment.secret(TOKENS) {
        ask = ask.with_secret(header::AUTHORIZATION, "Bearer ", &token);
    }
    Ok(ask)
}

/// The permission that reading `at` needs.
fn need(at: &GitHubLocation) -> Need {
    if at.release.is_some() { Permission::Contents.read() } else { Permission::Actions.read() }
}

/// Advice where something is denied or not found.
pub(super) fn help(at: &GitHubLocation) -> String {
    let line = need(at).line().unwrap_or_default();
    format!(
        "set GITHUB_TOKEN to a token that may read it (in a workflow: `{line}`); what a token may not see is answered \
         with 404 as well"
    )
}

/// Finds the artifact or asset that `at` means.
pub(super) async fn find(rest: &Rest<'_>, at: &GitHubLocation, trust: Trust) -> Result<FoundFile> {
    let forge = GitHub { rest, at, trust };
    match &at.release {
        Some(tag) => forge.asset(tag).await,
        None => forge.artifact().await,
    }
}

struct GitHub<'a> {
    rest: &'a Rest<'a>,
    at: &'a GitHubLocation,
    trust: Trust,
}

impl GitHub<'_> {
    fn path<'b>(&'b self, rest: &[&'b str]) -> Vec<&'b str> {
        [&["repos", &self.at.owner, &self.at.repo], rest].concat()
    }

    async fn artifact(&self) -> Result<FoundFile> {
        let (mut passed_over, mut expired) = (0, false);
        for run in self.runs().await? {
            let id = run.id.to_string();
            match self.artifact_of(&id).await? {
                Some(artifact) if !artifact.expired => return self.found(&run, &artifact, passed_over),
                Some(_) => expired = true,
                None => {}
            }
            passed_over += 1;
        }
        let message = match (expired, passed_over) {
            (true, _) => "has expired".to_owned(),
            (false, 0) => format!("there is no {} run", self.wanted()),
            (false, runs) => format!("none of the last {runs} {} runs left it", self.wanted()),
        };
        let error = Error::new(ErrorKind::NotFound, self.at.to_string(), message);
        Err(if self.trust == Trust::Baseline {
            error
        } else {
            error.with_help("check names of workflow, branch and artifact")
        })
    }

    /// The runs that may have uploaded the artifact, the newest first.
    async fn runs(&self) -> Result<Vec<Run>> {
        if let Some(run) = self.at.run {
            let run: Run = self.rest.one(&self.path(&["actions", "runs", &run.to_string()]), &[]).await?;
            return self.accepted(&run, self.at.branch.as_deref()).map(|()| vec![run]);
        }
        let Some(workflow) = &self.at.workflow else { return self.newest().await };
        let branch = match &self.at.branch {
            Some(branch) => branch.clone(),
            None => self.default_branch().await?,
        };
        let query = [("branch", branch.as_str()), ("status", "success"), ("per_page", RUNS)];
        let path = self.path(&["actions", "workflows", workflow, "runs"]);
        let runs: Runs = self.rest.one(&path, &query).await?;
        Ok(runs.workflow_runs.into_iter().filter(|run| self.accepted(run, Some(&branch)).is_ok()).collect())
    }

    /// The run of the newest artifact of that name, of any workflow; not sufficient for a baseline.
    async fn newest(&self) -> Result<Vec<Run>> {
        if self.trust == Trust::Baseline {
            let message = "a baseline needs the workflow that leaves it: any branch and any fork can upload this name";
            let error = Error::new(ErrorKind::Usage, self.at.to_string(), message);
            return Err(error.with_help("add ?workflow=FILE.yml&branch=main, or the run: ?run=NUMBER"));
        }
        let query = [("name", self.at.name.as_str()), ("per_page", "100")];
        let list: Artifacts = self.rest.one(&self.path(&["actions", "artifacts"]), &query).await?;
        let is_meant = |run: &ArtifactRun| self.at.branch.is_none() || self.at.branch == run.head_branch;
        let runs = list.artifacts.into_iter().filter(|artifact| !artifact.expired);
        let run = runs.filter_map(|artifact| artifact.workflow_run).find(is_meant).and_then(|run| run.id);
        match run {
            None => Ok(Vec::new()),
            Some(run) => Ok(vec![self.rest.one(&self.path(&["actions", "runs", &run.to_string()]), &[]).await?]),
        }
    }

    async fn default_branch(&self) -> Result<String> {
        let repository: Repository = self.rest.one(&self.path(&[]), &[]).await?;
        Ok(repository.default_branch.unwrap_or_else(|| "main".to_owned()))
    }

    /// Checks that a run may have uploaded the wanted artifact. For a baseline, workflow, branch and repository must match.
    fn accepted(&self, run: &Run, branch: Option<&str>) -> Result<()> {
        let reason = if branch.is_some_and(|branch| run.head_branch.as_deref() != Some(branch)) {
            Some("is from another branch")
        } else if self.at.workflow.as_deref().is_some_and(|workflow| !is_workflow(&run.path, workflow)) {
            Some("is from another workflow")
        } else if self.trust == Trust::Any {
            None
        } else if run.conclusion.as_deref() != Some("success") {
            Some("did not succeed")
        } else {
            let ids = (run.repository.as_ref().map(|at| at.id), run.head_repository.as_ref().map(|at| at.id));
            (ids.0.is_none() || ids.0 != ids.1).then_some("is of a fork")
        };
        match reason {
            None => Ok(()),
            Some(reason) => {
                let error = Error::new(ErrorKind::NotFound, self.at.to_string(), format!("run {} {reason}", run.id));
                Err(error.with_help("a baseline must come from a successful run of the repository itself"))
            }
        }
    }

    async fn artifact_of(&self, run: &str) -> Result<Option<Artifact>> {
        let is_it = |artifact: &Artifact| artifact.name == self.at.name;
        let path = self.path(&["actions", "runs", run, "artifacts"]);
        let query = [("name", self.at.name.as_str()), ("per_page", "100")];
        let list = self.rest.all(&path, &query, |page: Artifacts| page.artifacts, |all| all.iter().any(is_it)).await?;
        Ok(list.into_iter().find(is_it))
    }

    fn found(&self, run: &Run, artifact: &Artifact, passed_over: usize) -> Result<FoundFile> {
        let id = artifact.id.to_string();
        let ask = self.rest.ask(&self.path(&["actions", "artifacts", &id, "zip"]), &[]);
        let workflow = run.path.split('@').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let branch = run.head_branch.as_deref().unwrap_or("?");
        let digest = self.digest(artifact.digest.as_deref())?;
        let origin = ArtifactOrigin {
            description: format!("run {} of {workflow} on {branch}", run.id),
            commit: run.head_sha.clone(),
            created: run.created_at.as_deref().and_then(day),
            expires: artifact.expires_at.as_deref().and_then(day),
            passed_over,
            proved: digest,
        };
        let identity = format!("github {} artifact {id}", self.rest.root.display_name());
        Ok(FoundFile { ask, digest, identity, is_permanent: true, origin })
    }

    /// The digest to verify: the demanded one, which must equal the forge's digest if there is one.
    fn digest(&self, told: Option<&str>) -> Result<Option<Digest>> {
        let told = told.and_then(Digest::parse);
        match (self.at.digest, told) {
            (Some(wanted), Some(told)) if wanted != told => {
                let error = Error::corrupt(self.at.to_string(), format!("has digest {told}, expected {wanted}"));
                Err(error.with_help("it was replaced since its digest was written down"))
            }
            (wanted, told) => Ok(wanted.or(told)),
        }
    }

    async fn asset(&self, tag: &str) -> Result<FoundFile> {
        let path = if tag == "latest" { vec!["releases", "latest"] } else { vec!["releases", "tags", tag] };
        let release: Release = self.rest.one(&self.path(&path), &[]).await?;
        let id = release.id.to_string();
        let is_it = |asset: &Asset| asset.name == self.at.name;
        let path = self.path(&["releases", &id, "assets"]);
        let assets = self.rest.all(&path, &[("per_page", "100")], |page: Vec<Asset>| page, |all| all.iter().any(is_it));
        let asset = assets.await?.into_iter().find(is_it).ok_or_else(|| {
            let message = format!("release {} has no such asset", release.tag_name);
            Error::new(ErrorKind::NotFound, self.at.to_string(), message)
        })?;
        let id = asset.id.to_string();
        let ask = self.rest.ask(&self.path(&["releases", "assets", &id]), &[]);
        let ask = ask.with_header(header::ACCEPT, "application/octet-stream");
        let digest = self.digest(asset.digest.as_deref())?;
        let origin = ArtifactOrigin {
            description: format!("release {}", release.tag_name),
            created: release.published_at.as_deref().and_then(day),
            proved: digest,
            ..ArtifactOrigin::default()
        };
        let identity = format!("github {} asset {id}", self.rest.root.display_name());
        Ok(FoundFile { ask, digest, identity, is_permanent: true, origin })
    }

    /// The runs that count, in words.
    fn wanted(&self) -> String {
        let workflow = self.at.workflow.as_deref().unwrap_or("workflow");
        match &self.at.branch {
            Some(branch) => format!("successful {workflow} ({branch})"),
            None => format!("successful {workflow}"),
        }
    }
}

/// Whether a run's workflow path (`.github/workflows/ci.yml@refs/heads/main`) is that of the wanted file.
fn is_workflow(path: &str, wanted: &str) -> bool {
    let path = path.split('@').next().unwrap_or_default();
    path == wanted || path.strip_prefix(".github/workflows/") == Some(wanted)
}

/// The day of a time stamp in the format of forges (`2026-11-21T08:00:00Z`).
pub(super) fn day(time: &str) -> Option<String> {
    let day = time.get(..10)?;
    (day.len() == time.find('T').unwrap_or(time.len())).then(|| day.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workflow_is_known_by_its_file() {
        assert!(is_workflow(".github/workflows/ci.yml@refs/heads/main", "ci.yml"));
        assert!(is_workflow(".github/workflows/ci.yml", ".github/workflows/ci.yml"));
        assert!(!is_workflow(".github/workflows/evil-ci.yml", "ci.yml"));
        assert!(!is_workflow("", "ci.yml"));
    }
}
