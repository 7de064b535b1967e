//! GitLab: artifacts of jobs, and files of generic packages (`docs/locations.md`).
//!
//! The API's address is `CI_API_V4_URL`, so that self-managed instances work. The token is `PRECISION_GATE_TOKEN` or
//! `GITLAB_TOKEN` (header `PRIVATE-TOKEN`), else the job's own `CI_JOB_TOKEN` (header `JOB-TOKEN`). A fork's pipelines run in
//! the fork's project, so that a project's branch has only its own jobs.

use std::num::NonZeroU64;

use reqwest::header::{self, HeaderName};
use serde::Deserialize;

use super::github::{FoundFile, day};
use super::rest::Rest;
use super::web::WebRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::environment::Environment;
use crate::fetch::location::GitLabLocation;
use crate::fetch::origin::{ArtifactOrigin, Trust};

/// The header of a job's own token.
const JOB_TOKEN: HeaderName = HeaderName::from_static("job-token");
/// Largest number of pipelines that are searched backwards for a job.
const PIPELINES: &str = "20";
/// Advice where something is denied or not found.
pub(super) const HELP: &str = "set GITLAB_TOKEN to a token with the scope read_api, or let the other project's CI/CD \
     settings allow this job's token; what a token may not see is answered with 404 as well";

#[derive(Deserialize)]
struct Pipeline {
    id: NonZeroU64,
}

#[derive(Clone, Deserialize)]
struct Job {
    id: NonZeroU64,
    name: String,
    status: String,
    #[serde(default)]
    created_at: Option<String>,
    #[serde(default)]
    artifacts_expire_at: Option<String>,
    #[serde(default)]
    artifacts_file: Option<ArtifactsFile>,
    #[serde(default)]
    commit: Option<Commit>,
}

#[derive(Clone, Deserialize)]
struct ArtifactsFile {
    #[serde(default)]
    filename: Option<String>,
}

#[derive(Clone, Deserialize)]
struct Commit {
    #[serde(default)]
    id: Option<String>,
}

/// The request to the API's root.
pub(super) fn root(environment: &Environment) -> Result<WebRequest> {
    let address = environment.get("CI_API_V4_URL").unwrap_or("https://gitlab.com/api/v4");
    let url = reqwest::Url::parse(address)
        .map_err(|error| Error::new(ErrorKind::Usage, "CI_API_V4_URL", format!("is not an address: {error}")))?;
    let ask = WebRequest::new(url).with_header(header::ACCEPT, "application/json");
    let private = environment.secret(&["PRECISION_GATE_TOKEN", "GITLAB_TOKEN"]);
    Ok(match (private, environment.secret(&["CI_JOB_TOKEN"])) {
        (Some(token), _) => ask.with_secret(HeaderName::from_static("private-token"), "", &token),
        (None, Some(token)) => ask.with_secret(JOB_TOKEN, "", &token),
        (None, None) => ask,
    })
}

/// Finds the job's artifacts or the package's file that `at` means.
pub(super) async fn find(rest: &Rest<'_>, at: &GitLabLocation, trust: Trust) -> Result<FoundFile> {
    if let (Some(package), Some(version)) = (&at.package, &at.version) {
        return Ok(package_file(rest, at, package, version));
    }
    match (at.job, at.reference.as_deref()) {
        (Some(_), _) if trust == Trust::Baseline => {
            let message = "name a baseline by its branch: a job's number does not show whether it succeeded";
            let error = Error::new(ErrorKind::Usage, at.to_string(), message);
            Err(error.with_help("write gitlab://group/project/job?ref=main"))
        }
        (Some(job), _) => {
            let (id, what) = (job.to_string(), format!("job {job}"));
            let path = ["projects", &at.project, "jobs", &id, "artifacts"];
            Ok(artifacts(
                rest,
                at,
                rest.ask(&path, &[]),
                ArtifactOrigin { description: what, ..ArtifactOrigin::default() },
                Some(job),
            ))
        }
        (None, reference) => {
            let reference = reference.unwrap_or_default();
            if may_list(&rest.root) { listed(rest, at, reference).await } else { Ok(newest(rest, at, reference)) }
        }
    }
}

/// Whether the token may list pipelines; a job's own token may not.
fn may_list(root: &WebRequest) -> bool {
    !root.private.contains_key(JOB_TOKEN)
}

/// The job's artifacts from the pipeline that the forge considers the newest successful one.
fn newest(rest: &Rest<'_>, at: &GitLabLocation, reference: &str) -> FoundFile {
    let path = ["projects", &at.project, "jobs", "artifacts", reference, "download"];
    let ask = rest.ask(&path, &[("job", &at.name)]);
    let what = format!("the newest successful job {} on {reference}", at.name);
    artifacts(rest, at, ask, ArtifactOrigin { description: what, ..ArtifactOrigin::default() }, None)
}

/// The job's artifacts from the newest successful pipeline of a listing, with commit and dates.
async fn listed(rest: &Rest<'_>, at: &GitLabLocation, reference: &str) -> Result<FoundFile> {
    let (job, passed_over) = newest_job(rest, at, reference).await?;
    let id = job.id.to_string();
    let ask = rest.ask(&["projects", &at.project, "jobs", &id, "artifacts"], &[]);
    let origin = ArtifactOrigin {
        description: format!("job {id} ({}) on {reference}", job.name),
        commit: job.commit.and_then(|commit| commit.id),
        created: job.created_at.as_deref().and_then(day),
        expires: job.artifacts_expire_at.as_deref().and_then(day),
        passed_over,
        proved: None,
    };
    Ok(artifacts(rest, at, ask, origin, Some(job.id.get())))
}

/// The artifacts as a file to download. The archive of a given job never changes, but the newest job does.
fn artifacts(
    rest: &Rest<'_>,
    at: &GitLabLocation,
    ask: WebRequest,
    origin: ArtifactOrigin,
    job: Option<u64>,
) -> FoundFile {
    let ask = ask.with_header(header::ACCEPT, "*/*");
    let origin = ArtifactOrigin { proved: at.digest, ..origin };
    let which = job.map_or_else(|| at.to_string(), |job| job.to_string());
    let identity = format!("gitlab {} job {which}", rest.root.display_name());
    FoundFile { ask, digest: at.digest, identity, is_permanent: job.is_some(), origin }
}

/// The job in the newest successful pipeline of the branch that has it, and the number of pipelines that were skipped.
async fn newest_job(rest: &Rest<'_>, at: &GitLabLocation, reference: &str) -> Result<(Job, usize)> {
    let query =
        [("ref", reference), ("status", "success"), ("order_by", "id"), ("sort", "desc"), ("per_page", PIPELINES)];
    let pipelines: Vec<Pipeline> = rest.one(&["projects", &at.project, "pipelines"], &query).await?;
    let count = pipelines.len();
    for (passed_over, pipeline) in pipelines.into_iter().enumerate() {
        let id = pipeline.id.to_string();
        let is_it = |job: &Job| job.name == at.name && job.status == "success";
        let path = ["projects", &at.project, "pipelines", &id, "jobs"];
        let jobs = rest.all(&path, &[("per_page", "100")], |page: Vec<Job>| page, |all| all.iter().any(is_it)).await?;
        if let Some(job) = jobs.into_iter().find(|job| is_it(job) && has_artifacts(job)) {
            return Ok((job, passed_over));
        }
    }
    let message = match count {
        0 => format!("{reference} has no successful pipeline"),
        count => format!("none of the last {count} successful pipelines of {reference} has artifacts of this job"),
    };
    Err(Error::new(ErrorKind::NotFound, at.to_string(), message)
        .with_help("check branch and job, and how long artifacts are kept"))
}

fn has_artifacts(job: &Job) -> bool {
    job.artifacts_file.as_ref().is_some_and(|file| file.filename.is_some())
}

/// A package's file. Its digest comes with its bytes (`X-Checksum-SHA256`); a version can be uploaded again, so that the address
/// does not identify the bytes.
fn package_file(rest: &Rest<'_>, at: &GitLabLocation, package: &str, version: &str) -> FoundFile {
    let path = ["projects", &at.project, "packages", "generic", package, version, &at.name];
    let ask = rest.ask(&path, &[]).with_header(header::ACCEPT, "*/*");
    let origin = ArtifactOrigin {
        description: format!("package {package} {version}"),
        proved: at.digest,
        ..ArtifactOrigin::default()
    };
    let identity =
        format!("gitlab {} {} package {package} {version} {}", rest.root.display_name(), at.project, at.name);
    FoundFile { ask, digest: at.digest, identity, is_permanent: false, origin }
}
