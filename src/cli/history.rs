//! `precision-gate history`, and what `run` does with the history (docs/history.md).

pub(crate) mod commands;

use std::path::Path;

use clap::Args;
use jiff::Timestamp;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::fetch::Fetcher;
use precision_gate::fetch::writable::{self, commits_between};
use precision_gate::gate::baseline::manifest::Manifest;
use precision_gate::gate::history::{Moment, add_history, record};
use precision_gate::history::record::Record;
use precision_gate::history::records::{ReadRecords, RecordStore};
use precision_gate::history::summarise;
use precision_gate::policy::Policy;
use precision_gate::policy::history::HistoryPolicy;
use precision_gate::publish::event::JobPlace;
use precision_gate::report::JudgedRun;
use precision_gate::result::history::Suite;
use precision_gate::result::history::{Commit, Commits, Summary};

use super::fetching::{self, FetchArgs};

/// Commits between two runs that are named; the rest are counted.
const MOST_COMMITS: usize = 10;

/// Flags of `run` about the history.
#[derive(Debug, Args)]
#[command(next_help_heading = "History")]
pub(crate) struct HistoryFlags {
    /// Keep a record of the run in a folder, s3://bucket/prefix, obs://bucket/prefix or branch:NAME
    #[arg(long, value_name = "LOCATION")]
    history: Option<String>,
    /// Suite that the run belongs to [default: default]
    #[arg(long, value_name = "NAME")]
    suite: Option<Suite>,
    /// Ignore the history that the policy file names
    #[arg(long, conflicts_with = "history")]
    no_history: bool,
    /// Version that the config pack of the candidate does not hold: cann=8.2.RC1, driver=25.2
    #[arg(long = "with", value_name = "WHAT=VERSION", value_parser = fetching::version)]
    versions: Vec<(String, String)>,
    /// Time at which the run is judged [default: now]
    #[arg(long, value_name = "TIME", hide = true)]
    at: Option<Timestamp>,
}

/// A history that a run takes part in.
pub(crate) struct Recording<'a> {
    flags: &'a HistoryFlags,
    policy: &'a HistoryPolicy,
    location: &'a str,
    place: &'a JobPlace,
    /// Fetcher of its own: a failure to reach the history is no failure of the run.
    fetcher: Fetcher,
}

impl<'a> Recording<'a> {
    /// The history that flags or the policy name. A stranger's change neither reads nor writes one.
    pub(crate) fn of(
        flags: &'a HistoryFlags,
        policy: &'a Policy,
        place: &'a JobPlace,
        fetching: &FetchArgs,
    ) -> Option<Self> {
        let policy = &policy.history;
        let named = policy.location.as_ref().and_then(|named| named.trusted().ok()).filter(|_| !flags.no_history);
        let location = flags.history.as_deref().or(named.map(|held| &**held))?;
        Some(Self { flags, policy, location, place, fetcher: fetching.fetcher() })
    }

    /// Whether the run adds a record. That of a pull request judges code which is not merged, and is no part of a suite's
    /// history unless the command line says so.
    fn writes(&self) -> bool {
        self.flags.history.is_some() || !self.place.is_change()
    }

    /// Puts what the history says into the result, its trend's findings too, and adds the run to it. A history that cannot
    /// be read or written is a warning: it changes no verdict.
    pub(crate) fn complete(&self, judged: &mut JudgedRun, policy: &Policy, manifest: Option<&Manifest>) -> Vec<Error> {
        let moment = Moment {
            suite: self.flags.suite.as_ref().unwrap_or(&self.policy.suite),
            time: now(self.flags.at),
            run: &self.place.run_url,
            manifest,
            versions: &self.flags.versions,
        };
        let current = record(judged, policy, &moment);
        let place = match writable::open(self.location, &self.fetcher) {
            Ok(place) => place,
            Err(error) => return vec![unkept(&error)],
        };
        let location = place.location().to_owned();
        let records = RecordStore::new(place);
        let mut warnings = Vec::new();
        match self.earlier(&records, &current) {
            Ok(reading) => add_history(&mut judged.result, self.summary(&location, reading, &current), policy),
            Err(error) => warnings.push(unkept(&error)),
        }
        // A place that could not be read after all tries is not tried again.
        if self.writes() && warnings.is_empty() {
            warnings.extend(records.write(&current).err().map(|error| unkept(&error)));
        }
        warnings
    }

    /// The suite's runs before this one, as many as are looked at.
    fn earlier(&self, records: &RecordStore<'_>, current: &Record) -> Result<ReadRecords> {
        let Some(mut listing) = records.list_or_none(&current.suite)? else { return Ok(ReadRecords::default()) };
        listing.retain(|entry| entry.time < current.time);
        listing.keep_latest(usize::try_from(self.policy.last.get() - 1).unwrap_or(usize::MAX));
        Ok(listing.read())
    }

    fn summary(&self, location: &str, reading: ReadRecords, current: &Record) -> Summary {
        let mut summary = summarise(location, &reading.records, current, self.policy.alert_after);
        summary.unread = reading.damaged.iter().map(ToString::to_string).collect();
        summary.commits = summary.since.as_ref().and_then(|since| {
            let root = if self.place.workspace.is_empty() { "." } else { &self.place.workspace };
            let green = &since.green.as_ref()?.commit;
            let (total, list) = commits_between(Path::new(root), green, &since.red.commit, MOST_COMMITS)?;
            let list = list.into_iter().map(|(id, subject)| Commit { id, subject }).collect();
            Some(Commits { total, list })
        });
        summary
    }
}

/// The time given, or now, to the millisecond.
fn now(given: Option<Timestamp>) -> Timestamp {
    let time = given.unwrap_or_else(Timestamp::now);
    Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time)
}

/// Error that says why the history does not hold this run.
fn unkept(error: &Error) -> Error {
    let kind = if error.kind() == ErrorKind::Internal { ErrorKind::Internal } else { ErrorKind::Unavailable };
    let told = Error::new(kind, "history", error);
    match error.help() {
        Some(help) => told.with_help(help),
        None => told,
    }
}
