//! Quick looks and parts: `--sample`, `--checksum`, `--ops`, `--max-time`, `--shard`.

use std::io::BufWriter;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use globset::Glob;
use precision_gate::compare::measurements::Selection;
use precision_gate::compare::sample::Sample;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::exit;
use precision_gate::gate::{self, Request};
use precision_gate::output::{Dir, Draft};

use super::flags::CommonArgs;
use super::progress;

/// Environment variables in which job runners say which of how many jobs this is.
struct Runner {
    index: &'static str,
    /// Index of the first job: a number, or the variable that says it.
    first: First,
    count: Option<&'static str>,
}

enum First {
    Number(u64),
    Variable(&'static str),
}

/// GitLab's `parallel`, a Slurm array, an indexed job of Kubernetes (which does not say how many there are).
const RUNNERS: [Runner; 3] = [
    Runner { index: "CI_NODE_INDEX", first: First::Number(1), count: Some("CI_NODE_TOTAL") },
    Runner {
        index: "SLURM_ARRAY_TASK_ID",
        first: First::Variable("SLURM_ARRAY_TASK_MIN"),
        count: Some("SLURM_ARRAY_TASK_COUNT"),
    },
    Runner { index: "JOB_COMPLETION_INDEX", first: First::Number(0), count: None },
];

/// Flags of quick looks and of runs in parts.
#[derive(Debug, Default, Args)]
pub(crate) struct QuickArgs {
    /// Compare only this share of every tensor: 0.01 or 1%
    #[arg(long, value_name = "RATIO", help_heading = "Quick looks", value_parser = ratio)]
    pub(crate) sample: Option<f64>,
    /// Seed of the sample
    #[arg(long, value_name = "N", help_heading = "Quick looks", default_value_t = 0, requires = "sample")]
    pub(crate) sample_seed: u64,
    /// Compare saved tensors by their CRC-32: equal or not. How far apart they are is taken from the recorded statistics
    #[arg(long, help_heading = "Quick looks", conflicts_with = "sample")]
    pub(crate) checksum: bool,
    /// Read the data of these operations only: a pattern with *, ?, [..], {a,b}
    #[arg(long, value_name = "GLOB", help_heading = "Quick looks")]
    pub(crate) ops: Option<String>,
    /// Stop reading data after this time: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", help_heading = "Quick looks", value_parser = duration)]
    pub(crate) max_time: Option<Duration>,
    /// Measure part K of N without judging it; `precision-gate merge` judges all parts. `auto` takes K and N from
    /// CI_NODE_INDEX, SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX; `auto/N` takes only K
    #[arg(long, value_name = "K/N", help_heading = "Parts")]
    pub(crate) shard: Option<String>,
}

impl QuickArgs {
    /// The operations and the amount of data to look at.
    pub(crate) fn selection(&self) -> Result<Selection> {
        let ops = |text: &String| {
            let usage = |error: globset::Error| Error::new(ErrorKind::Usage, "--ops", error.to_string());
            Glob::new(text).map(|glob| glob.compile_matcher()).map_err(usage)
        };
        let start = Instant::now();
        let stop = self
            .max_time
            .map(|limit| -> Arc<dyn Fn() -> bool + Send + Sync> { Arc::new(move || start.elapsed() >= limit) });
        Ok(Selection {
            sample: self.sample.and_then(|ratio| Sample::new(ratio, self.sample_seed)),
            checksum: self.checksum,
            ops: self.ops.as_ref().map(ops).transpose()?,
            stop,
        })
    }

    /// Number of the part to measure, and of all parts; `None` where the whole run is measured.
    pub(crate) fn part(&self) -> Result<Option<(u64, u64)>> {
        let Some(text) = self.shard.as_deref() else { return Ok(None) };
        let part = part_of(text, &|name| std::env::var(name).ok());
        part.filter(|(part, count)| (1..=*count).contains(part)).map(Some).ok_or_else(|| {
            let message = format!("`{text}` does not say which part of how many");
            Error::new(ErrorKind::Usage, "--shard", message).with_help(
                "give K/N with K from 1 to N, `auto` in a GitLab `parallel` job or a Slurm array, or `auto/N` in an indexed \
                 job of Kubernetes",
            )
        })
    }
}

/// Part and count as `text` says them.
fn part_of(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> Option<(u64, u64)> {
    match text.split_once('/') {
        Some(("auto", count)) => of_environment(Some(number(count)?), environment),
        None if text == "auto" => of_environment(None, environment),
        Some((part, count)) => number(part).zip(number(count)),
        None => None,
    }
}

/// Part and count from the first job runner that is recognised; `count` where the user gave it.
fn of_environment(count: Option<u64>, environment: &dyn Fn(&str) -> Option<String>) -> Option<(u64, u64)> {
    let variable = |name: &str| number(&environment(name)?);
    RUNNERS.iter().find_map(|runner| {
        let index = variable(runner.index)?;
        let first = match runner.first {
            First::Number(first) => first,
            First::Variable(name) => variable(name).unwrap_or(0),
        };
        Some((index.checked_sub(first)? + 1, count.or_else(|| variable(runner.count?))?))
    })
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

fn ratio(text: &str) -> std::result::Result<f64, String> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|value| value / 100.0),
        None => text.parse(),
    };
    let value = value.ok().filter(|value| *value > 0.0 && *value <= 1.0);
    value.ok_or_else(|| "expects a share above 0 and at most 1, such as 0.01 or 1%".into())
}

fn duration(text: &str) -> std::result::Result<Duration, String> {
    let (digits, seconds) = match text.as_bytes().last() {
        Some(b's') => (text.trim_end_matches('s'), 1),
        Some(b'm') => (text.trim_end_matches('m'), 60),
        Some(b'h') => (text.trim_end_matches('h'), 3600),
        _ => (text, 1),
    };
    let seconds = number(digits).and_then(|value| value.checked_mul(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| "expects a time such as 90s, 10m or 2h".into())
}

/// Bytes of a part that are written at once.
const BUFFER: usize = 64 << 10;

/// Measures one part and writes `part-K-of-N.jsonl` into the folder for results.
pub(crate) fn measure(common: &CommonArgs, request: &Request, selection: Selection, part: (u64, u64)) -> Result<u8> {
    let name = format!("part-{}-of-{}.jsonl", part.0, part.1);
    let path = common.out.join(&name);
    let draft = Draft::create(Arc::new(Dir::make(&common.out)?), &name)?;
    let mut file = BufWriter::with_capacity(BUFFER, draft);
    let fetcher = common.fetching.fetcher();
    let progress = progress::progress_on_stderr(common.documents.quiet);
    gate::parts::measure_part(request, &fetcher, selection, part, progress.as_ref(), &mut file)?;
    let draft = file.into_inner().map_err(|error| Error::io(path.display().to_string(), error.error()))?;
    draft.commit()?;
    if !common.documents.quiet {
        super::show::sentences(&format!("measured part {} of {}: {}\n", part.0, part.1, path.display()))?;
    }
    Ok(exit::PASS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str, variables: &[(&str, &str)]) -> Option<(u64, u64)> {
        let environment =
            |wanted: &str| variables.iter().find(|(name, _)| *name == wanted).map(|(_, value)| (*value).to_owned());
        part_of(text, &environment)
    }

    #[test]
    fn job_runners_say_which_part_this_is() {
        assert_eq!(part("auto", &[("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "5")]), Some((2, 5)));
        let slurm = [("SLURM_ARRAY_TASK_ID", "7"), ("SLURM_ARRAY_TASK_MIN", "4"), ("SLURM_ARRAY_TASK_COUNT", "8")];
        assert_eq!(part("auto", &slurm), Some((4, 8)));
        assert_eq!(part("auto/8", &[("JOB_COMPLETION_INDEX", "0")]), Some((1, 8)));
        assert_eq!(part("3/4", &[("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "5")]), Some((3, 4)));
    }

    #[test]
    fn what_says_no_part_is_none() {
        for text in ["auto", "auto/x", "auto/4", "2", "a/b", ""] {
            assert_eq!(part(text, &[]), None, "{text}");
        }
        assert_eq!(part("auto", &[("JOB_COMPLETION_INDEX", "0")]), None);
    }

    #[test]
    fn shares_and_times_are_read_as_people_write_them() {
        assert_eq!((ratio("1%"), ratio("0.25")), (Ok(0.01), Ok(0.25)));
        assert!(["0", "-1%", "200%", "nan", ""].iter().all(|text| ratio(text).is_err()));
        assert_eq!((duration("90s"), duration("2m")), (Ok(Duration::from_secs(90)), Ok(Duration::from_secs(120))));
        assert!(["", "m", "1d", "-3s"].iter().all(|text| duration(text).is_err()));
    }
}
