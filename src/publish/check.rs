//! The flow of checks and statuses: a check run if the forge accepts one, otherwise a status, otherwise a warning.

use super::answer::github::Check;
use super::answer::{Answer, Read};
use super::check_runs::{self, CheckRuns, MOST_ANNOTATIONS};
use super::client::Failure;
use super::desk::Desk;
use super::status::CommitReport;
use crate::error::{Error, ErrorKind};
use crate::policy::publish::CheckMode;

/// Largest number of requests with further annotations: nobody reads more than two hundred lines in all.
const MOST_APPENDED: usize = 3;

impl Desk {
    /// Writes the report to the commit, as a check or a status.
    pub(super) async fn report(&mut self, report: &CommitReport) {
        if report.commit.is_empty() {
            return self.miss_commit();
        }
        let mut refused = None;
        if self.job.settings.check == CheckMode::Check {
            match self.check_run(report).await {
                Ok(true) => return,
                Ok(false) => {}
                // Only apps may write checks; a status needs fewer permissions.
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
                let refused = refused.into_error(&*self.forge);
                self.notices.push(format!("a status was set instead of the check: {refused}"));
            }
            (Err(failure), refused) => {
                self.job.settings.check = CheckMode::None;
                refused.into_iter().chain([failure]).for_each(|failure| self.warn(failure));
            }
        }
    }

    /// Warns that there is no commit for a check. If asking the forge for the commit failed, there is a warning already.
    fn miss_commit(&mut self) {
        let is_wanted = self.job.settings.check != CheckMode::None && self.forge.labels().is_none();
        if is_wanted && self.warnings.is_empty() && !self.client.is_dry() {
            let error = Error::new(ErrorKind::NotFound, "no check is set", "the commit is not known");
            self.warnings.push(
                error.with_help("pass it with --sha; a job for a pull request or a push has it in its environment"),
            );
        }
    }

    /// Writes the check run; `false` if the forge has no check runs.
    async fn check_run(&mut self, report: &CommitReport) -> Result<bool, Failure> {
        let Some(checks) = self.forge.check_runs() else { return Ok(false) };
        let check = match self.check {
            Some(id) => self.update_check(checks, id, report).await?,
            None => self.create_check(checks, report).await?,
        };
        if let Some(app) = &check.app {
            let _ = self.app.set(format!("{app}[bot]"));
        }
        self.check = Some(check.id);
        let more = report.annotations.chunks(MOST_ANNOTATIONS).skip(1).take(MOST_APPENDED);
        for annotations in more {
            let call = checks.add_annotations(check.id, report, annotations);
            self.client.ask(&call, |answer| of_id(answer, check.id)).await?;
        }
        Ok(true)
    }

    async fn update_check(&self, checks: CheckRuns<'_>, id: u64, report: &CommitReport) -> Result<Check, Failure> {
        let shown = |answer: &Answer| of_id(answer, id).and_then(|check| shows(check, report));
        let check = self.client.ask(&checks.update(id, report), shown).await?;
        Ok(Check { id, ..check })
    }

    /// Creates the check run. If the answer is lost, the check of this run that is found may show an earlier state: it is updated.
    async fn create_check(&self, checks: CheckRuns<'_>, report: &CommitReport) -> Result<Check, Failure> {
        let look = async || self.client.ask(&checks.list(report), |answer| check_runs::own_check(answer, report)).await;
        let read = |answer: &Answer| check_runs::read(answer).and_then(|check| shows(check, report));
        let created = self.client.create(&checks.create(report), read, look).await?;
        if self.client.is_dry() || check_runs::check_shows_report(&created, report).is_ok() {
            return Ok(created);
        }
        self.update_check(checks, created.id, report).await
    }

    /// Sets the status. Sending it twice leaves the same status, so that a lost answer is harmless.
    async fn status(&self, report: &CommitReport) -> Result<(), Failure> {
        let Some(call) = self.forge.status(report) else { return Ok(()) };
        match self.client.ask(&call, |answer| self.forge.check_status(answer, report)).await {
            Err(failure) if !self.forge.is_same_status(&failure, report) => Err(failure),
            _ => Ok(()),
        }
    }
}

/// Reads a check, which must be the requested one.
fn of_id(answer: &Answer, id: u64) -> Read<Check> {
    let check = check_runs::read(answer)?;
    if check.id == id { Ok(check) } else { Err("with a check other than the requested one".to_owned()) }
}

/// Returns the check if it shows the report that was sent.
fn shows(check: Check, report: &CommitReport) -> Read<Check> {
    check_runs::check_shows_report(&check, report).map(|()| check)
}
