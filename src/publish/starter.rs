//! The person who started a job of GitLab.
//!
//! The variables that name the person belong to the job, and whoever starts a job by hand may set them. The job's token, which only
//! the running job has, identifies the job at GitLab, and GitLab then names the person.

use secrecy::SecretString;
use serde::Deserialize;

use super::answer::{Answer, Read};
use super::call::Call;
use super::client::{Client, Undone};
use super::desk::Desk;
use crate::fetch::permission::Permission::Metadata;

/// Person who started a job, and its project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Starter {
    /// The person's number.
    pub id: String,
    /// The login, for people.
    pub name: String,
    /// The project's number.
    pub project: String,
}

impl Desk {
    /// Asks for the person who started the job with this token.
    pub(super) async fn starter(&self, token: &SecretString) -> Result<Starter, Undone> {
        if self.client.is_dry() {
            return Ok(Starter::default());
        }
        let client = Client::of_job(&self.job.api, token, self.job.seed)?;
        let call = Call::get("ask who started the job", Metadata.read(), "/job");
        Ok(client.ask(&call, read).await?)
    }
}

fn read(answer: &Answer) -> Read<Starter> {
    #[derive(Deserialize)]
    struct Job {
        status: String,
        user: User,
        pipeline: Pipeline,
    }
    #[derive(Deserialize)]
    struct User {
        id: std::num::NonZeroU64,
        username: String,
    }
    #[derive(Deserialize)]
    struct Pipeline {
        project_id: u64,
    }
    let job: Job = answer.read("a job and its user")?;
    if job.status != "running" {
        return Err("with a job that does not run".to_owned());
    }
    Ok(Starter { id: job.user.id.to_string(), name: job.user.username, project: job.pipeline.project_id.to_string() })
}
