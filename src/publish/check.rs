//! The flow of checks and statuses: a check run where the forge takes one, else a status, else a warning.
#![allow(clippy::indexing_slicing, reason = "a key that is not there reads as null in serde_json")]

use serde_json::Value;

use super::client::Failure;
use super::github::{GitHub, MOST_ANNOTATIONS};
use super::session::Desk;
use super::status::Report;
use crate::policy::publish::CheckMode;

/// Requests with further annotations: two hundred lines in all are more than anyone reads.
const MOST_APPENDED: usize = 3;

impl Desk {
    /// Says beside the commit what the report says.
    pub(super) async fn report(&mut self, report: &Report) {
        if report.commit.is_empty() {
            return;
        }
        let mut refused = None;
        if self.job.settings.check == CheckMode::Check {
            match self.check_run(report).await {
                Ok(true) => return,
                Ok(false) => {}
                // Only apps may write checks; a status takes less.
                Err(failure) if matches!(failure.status, Some(403 | 404 | 422)) && self.check.is_none() => {
                    refused = Some(failure);
                }
                Err(failure) => return self.warn(failure),
            }
            self.job.settings.check = CheckMode::Status;
        }
        if self.job.settings.check == CheckMode::None {
            return;
        }
        match (self.status(report).await, refused) {
            (Ok(()), None) => {}
            (Ok(()), Some(refused)) => {
                let refused = refused.into_error(self.forge.as_ref());
                self.notices.push(format!("a status stands in place of the check: {refused}"));
            }
            (Err(failure), refused) => {
                self.job.settings.check = CheckMode::None;
                refused.into_iter().chain([failure]).for_each(|failure| self.warn(failure));
            }
        }
    }

    /// Writes the check run; false where the forge has none.
    async fn check_run(&mut self, report: &Report) -> Result<bool, Failure> {
        let Some(github) = self.forge.as_github() else { return Ok(false) };
        let id = match self.check {
            Some(id) => {
                self.client.send(&github.update_check(id, report)).await?;
                id
            }
            None => {
                let created = self.create_check(github, report).await?;
                if let Some(app) = created["app"]["slug"].as_str() {
                    let _ = self.app.set(format!("{app}[bot]"));
                }
                created["id"].as_u64().unwrap_or_default()
            }
        };
        let more = report.annotations.chunks(MOST_ANNOTATIONS).skip(1).take(MOST_APPENDED);
        for annotations in more {
            self.client.send(&github.add_annotations(id, report, annotations)).await?;
        }
        self.check = Some(id);
        Ok(true)
    }

    /// A check of this run found after a lost answer may be an earlier state of it: it is brought up to date.
    async fn create_check(&self, github: &GitHub, report: &Report) -> Result<Value, Failure> {
        let look = async || {
            let listed = self.client.send(&github.checks(report)).await?.json();
            Ok(GitHub::own_check(&listed, report))
        };
        self.client.create(&github.create_check(report), look).await
    }

    /// Sets the status. Sending it twice leaves the same status, so that a lost answer does no harm.
    async fn status(&self, report: &Report) -> Result<(), Failure> {
        let Some(call) = self.forge.status(report) else { return Ok(()) };
        match self.client.send(&call).await {
            Err(failure) if !self.forge.is_same_status(&failure) => Err(failure),
            _ => Ok(()),
        }
    }
}
