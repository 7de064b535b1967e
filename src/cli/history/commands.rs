//! `precision-gate history list|show|prune|page`

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};
use jiff::{Timestamp, ToSpan};
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::exit;
use precision_gate::fetch::{Fetcher, writable};
use precision_gate::history::record::{Record, RecordEntry};
use precision_gate::history::records::{ReadRecords, RecordListing, RecordStore};
use precision_gate::output::{DocumentSet, Output};
use precision_gate::policy::history::HistoryPolicy;
use precision_gate::report::escape::cleaned;
use precision_gate::report::messages::Language;
use precision_gate::report::{badge, history_page};
use precision_gate::result::history::Case;
use precision_gate::result::history::Suite;

use crate::cli::fetching::FetchArgs;
use crate::cli::{policy_file, show, speech};

/// `history`
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    command: HistoryCommand,
}

/// Commands on the history.
#[derive(Debug, Subcommand)]
enum HistoryCommand {
    /// List the latest runs, oldest first
    #[command(after_help = "Example:\n  precision-gate history list --history branch:precision-history --last 14")]
    List(ListArgs),
    /// Show the result of one run
    #[command(after_help = "Example:\n  precision-gate history show 4f2a9c1 --history s3://ci/precision")]
    Show(ShowArgs),
    /// Remove old records
    #[command(
        after_help = "Example:\n  precision-gate history prune --history s3://ci/precision \\\n      --older-than 365d --dry-run"
    )]
    Prune(PruneArgs),
    /// Write a static page of all suites, with badges: for the pages of a forge, or any web server
    #[command(after_help = "Example:\n  precision-gate history page --history branch:precision-history --out public")]
    Page(PageArgs),
}

/// `history page`
#[derive(Debug, Args)]
struct PageArgs {
    /// Number of runs per suite
    #[arg(long, value_name = "N", default_value_t = 90)]
    last: usize,
    /// Folder for the page and the badges
    #[arg(long, short, value_name = "DIR", default_value = "precision-history")]
    out: PathBuf,
    /// Replace files of the same names that precision-gate did not write
    #[arg(long)]
    force: bool,
    /// Language of the page [default: `lang` of the policy file, else that of the locale]
    #[arg(long, value_enum, default_value_t = Language::En, hide_default_value = true)]
    lang: Language,
    #[command(flatten)]
    common: CommonArgs,
}

/// `history list`
#[derive(Debug, Args)]
struct ListArgs {
    /// Number of runs per suite
    #[arg(long, value_name = "N", default_value_t = 30)]
    last: usize,
    /// Print the records as a JSON array
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// `history show`
#[derive(Debug, Args)]
struct ShowArgs {
    /// First digits of a commit, or beginning of the file name of a record [default: the latest run]
    #[arg(value_name = "RUN", default_value = "", hide_default_value = true)]
    run: String,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// `history prune`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("criterion").required(true).multiple(true))]
struct PruneArgs {
    /// Keep the latest N records of each suite
    #[arg(long, value_name = "N", group = "criterion")]
    keep: Option<usize>,
    /// Remove records older than this: 90d, 12w
    #[arg(long, value_name = "AGE", value_parser = age, group = "criterion")]
    older_than: Option<i64>,
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// The time that ages are counted from [default: now]
    #[arg(long, value_name = "TIME", hide = true)]
    at: Option<Timestamp>,
    #[command(flatten)]
    common: CommonArgs,
}

/// Flags of every command on the history.
#[derive(Debug, Args)]
struct CommonArgs {
    /// Location of the records [default: that of the policy file]
    #[arg(long, value_name = "LOCATION")]
    history: Option<String>,
    /// The suite [default: all]
    #[arg(long, value_name = "NAME")]
    suite: Option<Suite>,
    /// Policy file [default: precision-gate.yml, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    fetching: FetchArgs,
}

impl CommonArgs {
    fn policy(&self) -> Result<HistoryPolicy> {
        policy_file::policy(self.config.as_deref(), None).map(|policy| policy.history)
    }

    /// The records, of one suite or of all, and the place they are in.
    fn list<'a>(&self, fetcher: &'a Fetcher) -> Result<(RecordStore<'a>, RecordListing)> {
        self.list_by(&self.policy()?, fetcher)
    }

    /// [`list`](Self::list), under a policy that was read.
    fn list_by<'a>(&self, policy: &HistoryPolicy, fetcher: &'a Fetcher) -> Result<(RecordStore<'a>, RecordListing)> {
        let location = self.history.clone().or(policy.location.clone().map(String::from)).ok_or_else(|| {
            Error::new(ErrorKind::Usage, "", "no history is named")
                .with_help("pass --history, or set `history: {location: …}` in the policy file")
        })?;
        let records = RecordStore::new(writable::open(&location, fetcher)?);
        let listing = records.list(self.suite.as_ref()).map_err(|error| match error.kind() {
            ErrorKind::NotFound => error.with_help("no run has kept a record there yet; `run --history` does"),
            _ => error,
        })?;
        Ok((records, listing))
    }
}

/// `precision-gate history …`
pub(crate) fn run(args: &HistoryArgs) -> Result<u8> {
    match &args.command {
        HistoryCommand::List(args) => list(args),
        HistoryCommand::Show(args) => show_one(args),
        HistoryCommand::Prune(args) => prune(args),
        HistoryCommand::Page(args) => page(args),
    }
}

fn page(args: &PageArgs) -> Result<u8> {
    let output = Output::begin_beside_others(&args.out, DocumentSet::History, args.force)?;
    let fetcher = args.common.fetching.fetcher();
    let policy = args.common.policy()?;
    let (_, mut listing) = args.common.list_by(&policy, &fetcher)?;
    listing.keep_latest(args.last);
    let reading = listing.read();
    let unread = reading.damaged.len();
    let records = sound(reading);
    let latest = history_page::latest(&records);
    let text = history_page::render(&records, unread, policy.alert_after, args.lang)?;
    output.write("index.html", text.as_bytes())?;
    for suite in &latest {
        let text = badge::render(suite.suite.as_str(), suite.verdict, args.lang)?;
        output.write(&format!("badge-{}.json", suite.suite), text.as_bytes())?;
    }
    if let Some(worst) = latest.iter().map(|suite| suite.verdict).max() {
        output.write("badge.json", badge::render("precision-gate", worst, args.lang)?.as_bytes())?;
    }
    output.commit()?;
    show::sentences(&format!("written: {}\n", args.out.join("index.html").display()))?;
    Ok(exit::PASS)
}

fn list(args: &ListArgs) -> Result<u8> {
    let fetcher = args.common.fetching.fetcher();
    let (_, mut listing) = args.common.list(&fetcher)?;
    listing.keep_latest(args.last);
    let records = sound(listing.read());
    if args.json {
        return print_json(&records);
    }
    for record in &records {
        let failing: Vec<String> = record.failing.iter().take(2).map(Case::name).collect();
        let more = if record.failing.len() > 2 { " …" } else { "" };
        let commit: String = record.commit.chars().take(12).collect();
        let failing = failing.join(", ");
        let line = format!(
            "{}  {:<12}  {:<10}  {commit:<12}  {failing}{more}",
            record.time.strftime("%Y-%m-%d %H:%M:%SZ"),
            record.suite.as_str(),
            record.verdict.as_str(),
        );
        show::say(&(cleaned(line.trim_end()) + "\n"))?;
    }
    Ok(exit::PASS)
}

/// The records that could be read; each of the others gives a warning.
fn sound(reading: ReadRecords) -> Vec<Record> {
    for error in &reading.damaged {
        speech::tell(speech::Weight::Warning, &speech::line(error));
    }
    reading.records
}

fn print_json<T: serde::Serialize + ?Sized>(value: &T) -> Result<u8> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Error::new(ErrorKind::Internal, "record", error))?;
    show::say(&(text + "\n"))?;
    Ok(exit::PASS)
}

fn show_one(args: &ShowArgs) -> Result<u8> {
    let fetcher = args.common.fetching.fetcher();
    let (_, mut listing) = args.common.list(&fetcher)?;
    let fits = |entry: &RecordEntry| {
        let name = entry.path.rsplit('/').next().unwrap_or_default();
        let commit = name.split('-').nth(1).unwrap_or_default();
        // A file's name holds the start of the commit only.
        let wanted = args.run.get(..commit.len()).unwrap_or(&args.run);
        commit.starts_with(&wanted.to_ascii_lowercase()) || name.starts_with(&args.run)
    };
    listing.retain(fits);
    let latest = listing.entries().iter().max_by_key(|entry| entry.time).cloned().ok_or_else(|| {
        Error::new(ErrorKind::NotFound, &args.run, "there is no such record")
            .with_help("`history list` shows those there are")
    })?;
    listing.retain(|entry| *entry == latest);
    let ReadRecords { records, damaged } = listing.read();
    let Some(record) = records.first() else {
        return Err(damaged.into_iter().next().unwrap_or_else(|| Error::corrupt(latest.path, "cannot be read")));
    };
    if args.json { print_json(record) } else { print_record(record, &latest.path) }
}

fn print_record(record: &Record, path: &str) -> Result<u8> {
    let mut lines = vec![
        ("record", path.to_owned()),
        ("time", record.time.to_string()),
        ("commit", record.commit.clone()),
        ("repository", record.repository.clone()),
        ("run", record.run.clone()),
        ("verdict", record.verdict.as_str().to_owned()),
        ("baseline", format!("{} {}", record.baseline.label, record.baseline.digest)),
        ("manifest", format!("{} {}", record.baseline.name, record.baseline.manifest).trim().to_owned()),
        ("candidate", record.candidate.clone()),
        ("policy", record.policy.clone()),
        ("gate", record.tool.clone()),
    ];
    lines.extend(record.facts.versions.iter().map(|(what, version)| ("version", format!("{what} {version}"))));
    lines.extend(record.facts.environment.iter().map(|(name, value)| ("variable", format!("{name}={value}"))));
    lines.extend(record.facts.digests.iter().map(|(what, digest)| ("digest", format!("{what} {digest}"))));
    lines.extend(record.culprit.iter().map(|culprit| ("culprit", format!("{} ({})", culprit.tensor, culprit.code))));
    lines.extend(record.failing.iter().map(|case| ("failing", case.name())));
    for measure in &record.measures {
        let limit = |word: &str, limit: Option<precision_gate::result::number::Number>| {
            limit.map_or_else(String::new, |limit| format!(", {word} beyond {}", limit.0))
        };
        let value = measure.value.map_or_else(|| "not measured".to_owned(), |value| value.0.to_string());
        let limits = limit("warns", measure.warn) + &limit("fails", measure.fail);
        let verdict = measure.verdict.as_str();
        lines.push((
            "measure",
            format!("{} {} {}: {value}{limits} ({verdict})", measure.check.as_str(), measure.unit, measure.rule),
        ));
    }
    for (what, value) in lines.into_iter().filter(|(_, value)| !value.is_empty()) {
        show::say(&format!("{what:<12} {}\n", cleaned(&value)))?;
    }
    Ok(exit::PASS)
}

fn prune(args: &PruneArgs) -> Result<u8> {
    let fetcher = args.common.fetching.fetcher();
    let (records, mut listing) = args.common.list(&fetcher)?;
    let all = listing.entries().to_vec();
    let mut gone = all.clone();
    if let Some(keep) = args.keep {
        listing.keep_latest(keep);
        gone.retain(|entry| !listing.entries().contains(entry));
    }
    if let Some(days) = args.older_than {
        let oldest = super::now(args.at).checked_sub((days * 24).hours());
        let oldest = oldest.map_err(|error| Error::new(ErrorKind::Usage, "--older-than", error))?;
        gone.retain(|entry| entry.time < oldest);
    }
    let word = if args.dry_run { "would be removed" } else { "removed" };
    if !args.dry_run {
        records.remove(&gone)?;
    }
    for entry in &gone {
        show::sentences(&format!("{word}: {}\n", entry.path))?;
    }
    show::sentences(&format!("{} of {} records {word}\n", gone.len(), all.len()))?;
    Ok(exit::PASS)
}

/// Days: `90d`, `12w`.
fn age(text: &str) -> Result<i64, String> {
    /// Most days, a century: more is a typing error.
    const MOST: i64 = 36_525;
    let number = |digits: &str, days: i64| digits.parse::<i64>().ok().and_then(|number| number.checked_mul(days));
    let days = text.strip_suffix('d').and_then(|digits| number(digits, 1));
    let days = days.or_else(|| text.strip_suffix('w').and_then(|digits| number(digits, 7)));
    days.filter(|days| (0..=MOST).contains(days)).ok_or_else(|| "expected an age such as 90d or 12w".into())
}

#[cfg(test)]
mod tests {
    use super::age;

    #[test]
    fn ages_are_days_or_weeks() {
        assert_eq!((age("90d"), age("2w")), (Ok(90), Ok(14)));
        for text in ["", "d", "90", "-1d", "1y", "99999999999999999999w"] {
            assert!(age(text).is_err(), "{text}");
        }
    }
}
