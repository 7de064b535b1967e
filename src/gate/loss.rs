//! The loss check: curves of both sides to a verdict per metric.

use super::checks::GateCheck;
use super::discover::{self, Evidence, Extent, Recognised, Recogniser, Sample, Search};
use super::{CheckOutcome, Sides, Surroundings};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{self, Fetcher, Source, Trust};
use crate::gate::{Quiet, side};
use crate::judge::apply_policy::apply_policy;
use crate::judge::finding::{Finding, verdict_of};
use crate::judge::loss::noise::NoiseBand;
use crate::judge::loss::{self, Settings};
use crate::judge::unit::Unit;
use crate::pair::curve::{CurvePairing, pair_curves};
use crate::policy::Policy;
use crate::policy::loss::{Kind, LossPolicy, pattern};
use crate::read::curve::log::{LogPattern, unknown};
use crate::read::curve::{self, CurveFile, Format, Readable, mlflow};
use crate::read::sqlite;
use crate::verdict::{CheckId, Side, Verdict};

/// The check of training curves.
pub(super) const CHECK: GateCheck = GateCheck {
    recogniser: Recogniser { check: ID, by: Evidence::Lines, extent: Extent::Content, look: recognise },
    judge: |sides, surroundings, shared| of_sides(sides, surroundings, &shared.request.policy),
    measure: None,
};

const ID: CheckId = CheckId::Loss;

fn recognise(sample: &Sample<'_>) -> Option<Recognised> {
    let damaged = |error| Recognised::Damaged { kind: "training curve", error };
    if sqlite::is_log(sample.head) {
        return database_of_log(sample);
    }
    let Readable { source, notes } = match curve::readable(sample.head, sample.source) {
        // A packed file that is no text is not this check's, and neither is one that cannot be unpacked.
        Ok(readable) => readable,
        Err(error) if error.kind() == ErrorKind::LimitExceeded => return Some(damaged(error)),
        Err(_) => return None,
    };
    let head = source.as_ref().map(discover::head).transpose().ok()?;
    let head = head.as_deref().unwrap_or(sample.head);
    let source = source.unwrap_or_else(|| with_log(sample));
    let by_pattern = sample.pattern.and_then(|known| curve::recognise_pattern(head, source.as_ref(), known));
    let format = by_pattern.or_else(|| curve::recognise(head, source.as_ref()))?;
    let kind = format.name();
    let run = if matches!(format, Format::Mlflow) { mlflow::run_of(sample.files.as_ref(), sample.path) } else { None };
    Some(match curve::read(source, format) {
        Ok(mut curves) => {
            for curve in &mut curves {
                curve
                    .notes
                    .extend(notes.iter().filter(|note| !curve.notes.contains(note)).cloned().collect::<Vec<_>>());
                curve.run = curve.run.take().or_else(|| run.clone());
            }
            Recognised::all(kind, curves)
        }
        Err(error) => damaged(error),
    })
}

/// End of the name of a database's log of writes.
const LOG: &str = "-wal";

/// The file, and where it is a database with a log of writes beside it, the database as that log leaves it.
fn with_log(sample: &Sample<'_>) -> Source {
    let log = || sample.files.open(&format!("{}{LOG}", sample.path)).ok();
    let log = sqlite::recognise(sample.head).then(log).flatten();
    let merged = log.and_then(|log| sqlite::with_log(sample.source, &log).ok());
    merged.unwrap_or_else(|| sample.source.clone())
}

/// A log of writes as part of the database beside it.
fn database_of_log(sample: &Sample<'_>) -> Option<Recognised> {
    let database = sample.path.strip_suffix(LOG)?;
    sample.files.open(database).is_ok().then(|| Recognised::part("SQLite log of writes", "read with its database"))
}

/// Text in which no loss was recognised.
pub(super) enum UnreadLog {
    /// Lines of one shape hold a loss, and no rule reads them.
    Unknown {
        /// Its path.
        path: String,
        /// The first of these lines, in backticks.
        line: String,
        /// Pattern that reads them.
        pattern: Option<String>,
        /// Whether the policy has a pattern, which matches none of them.
        has_pattern: bool,
    },
    /// Some of its lines may.
    Other {
        /// Its path.
        name: String,
        /// Some of its lines, in backticks.
        lines: String,
        /// Whether the policy has a pattern, which matches none of them.
        has_pattern: bool,
    },
}

impl UnreadLog {
    /// Looks at some lines of a file; `None` for what is no text.
    pub(super) fn of(file: &Source, pattern: Option<&LogPattern>) -> Option<Self> {
        /// Characters of a line that are shown.
        const WIDTH: usize = 200;
        let (name, has_pattern) = (file.name().to_owned(), pattern.is_some());
        let quoted = |line: &String| {
            let line: String = line.replace('`', "'").escape_debug().take(WIDTH).collect();
            format!("`{line}`")
        };
        if let Some(unknown) = unknown::find(file.as_ref()) {
            let reads = |pattern: &String| {
                let parsed = pattern::LogPattern::try_from(pattern.clone()).ok();
                let parsed = parsed.and_then(|pattern| LogPattern::parse(pattern.as_str()).ok());
                parsed.is_some_and(|pattern| curve::log::matches(file.as_ref(), &pattern))
            };
            let line = quoted(&unknown.line);
            return Some(Self::Unknown { path: name, line, pattern: unknown.pattern.filter(reads), has_pattern });
        }
        let lines: Vec<String> = curve::log::sample(file.as_ref())?.iter().map(quoted).collect();
        Some(Self::Other { name, lines: lines.join(", "), has_pattern })
    }

    /// The error of such a file that was given as a curve; `None` where the finding about its lines says it.
    pub(super) fn error(&self) -> Option<Error> {
        let Self::Other { name, lines, has_pattern } = self else { return None };
        let what = match has_pattern {
            false => format!("no loss values recognised in {name}"),
            true => format!("`loss.log-pattern` matches no line of {name}"),
        };
        let error = Error::corrupt(name, format!("{what}; lines that were looked at: {lines}"));
        Some(error.with_help("set `loss.log-pattern` in the policy file, for example `'iter {step} loss {loss}'`"))
    }

    /// The finding about lines of `side` that hold a loss and that no rule reads.
    pub(super) fn finding(&self, side: Side) -> Option<Finding> {
        let Self::Unknown { path, line, pattern, has_pattern } = self else { return None };
        let finding = Finding::new(&loss::code::FORMAT_UNKNOWN, path)
            .with("side", side.as_str())
            .with("line", line.as_str())
            .with("has_pattern", usize::from(*has_pattern));
        Some(match pattern {
            // As YAML, in which a quotation mark stands twice within quotation marks.
            Some(pattern) => {
                finding.with("setting", format!("loss: {{log-pattern: '{}'}}", pattern.replace('\'', "''")))
            }
            None => finding,
        })
    }
}

fn of_sides(sides: &Sides, surroundings: &Surroundings<'_>, policy: &Policy) -> Result<CheckOutcome> {
    let recorded = surroundings.manifest.and_then(|manifest| manifest.noise.as_ref());
    let repeats = Repeats { fetcher: surroundings.fetcher, recognisers: super::recognisers() };
    check(sides.baseline.all(), sides.candidate.all(), policy, repeats, recorded)
}

/// Opens repeats of a run and reads their curves.
#[derive(Clone, Copy)]
pub struct Repeats<'a> {
    /// Opens them.
    pub fetcher: &'a Fetcher,
    /// Recognisers of all checks.
    pub recognisers: &'a [Recogniser],
}

/// Judges the curves of both sides, by the `recorded` band of the baseline's manifest where the policy names none.
///
/// # Errors
/// The policy's own files (a noise band) cannot be read; damage inside an artifact is a finding.
pub fn check(
    baseline: &[CurveFile],
    candidate: &[CurveFile],
    policy: &Policy,
    repeats: Repeats<'_>,
    recorded: Option<&NoiseBand>,
) -> Result<CheckOutcome> {
    let is_one_sided = baseline.is_empty() || candidate.is_empty();
    let noise = if is_one_sided { None } else { noise_of(&policy.loss, repeats)? };
    Ok(judge(baseline, candidate, policy, noise.as_ref().or(recorded)))
}

/// Judges with a noise band that is already there.
pub fn judge(
    baseline: &[CurveFile],
    candidate: &[CurveFile],
    policy: &Policy,
    noise: Option<&NoiseBand>,
) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    if baseline.is_empty() || candidate.is_empty() {
        return outcome;
    }
    let pairing = paired(baseline, candidate, &policy.loss);
    let settings = Settings { policy: &policy.loss, profile: policy.profile, noise };
    let (curves, general) = loss::judge(&pairing, settings);
    let general = apply_policy(general, policy);
    let mut verdicts = vec![];
    if !general.findings.is_empty() {
        verdicts.push(verdict_of(&general.findings));
    }
    outcome.findings = general.findings;
    outcome.waived = general.waived;
    for mut curve in curves {
        let applied = apply_policy(curve.findings, policy);
        curve.unit.verdict = if curve.counts { verdict_of(&applied.findings) } else { Verdict::Skipped };
        verdicts.push(curve.unit.verdict);
        outcome.findings.extend(applied.findings);
        outcome.waived.extend(applied.waived);
        outcome.check.units.push(Unit::Curve(Box::new(curve.unit)));
    }
    outcome.check.verdict = match Verdict::of_all(verdicts) {
        // Curves on both sides of which none could be judged are not a check that had nothing to do.
        Verdict::Skipped => Verdict::Incomplete,
        verdict => verdict,
    };
    outcome
}

/// The curves of two runs, of the kind that the policy declares.
fn paired<'a>(baseline: &'a [CurveFile], candidate: &'a [CurveFile], policy: &LossPolicy) -> CurvePairing<'a> {
    let pairing = pair_curves(baseline, candidate);
    match policy.kind {
        Kind::Auto => pairing,
        Kind::Rl => pairing.declared(true),
        Kind::Supervised => pairing.declared(false),
    }
}

/// The user's pattern for log lines, ready to use.
pub fn log_pattern(policy: &LossPolicy) -> Result<Option<LogPattern>> {
    let parse = |pattern: &pattern::LogPattern| {
        LogPattern::parse(pattern.as_str())
            .map_err(|message| Error::new(ErrorKind::Policy, "loss.log-pattern", message))
    };
    policy.log_pattern.as_ref().map(parse).transpose()
}

/// The noise band the policy names: a recorded file, or repeats to record one from.
fn noise_of(policy: &LossPolicy, repeats: Repeats<'_>) -> Result<Option<NoiseBand>> {
    match policy.noise.0.as_slice() {
        [] => Ok(None),
        [path] => match band_file(path, repeats.fetcher)? {
            Some(band) => Ok(Some(band)),
            None => record(&policy.noise.0, policy, repeats, false).map(Some),
        },
        runs => record(runs, policy, repeats, false).map(Some),
    }
}

/// A recorded band, where one lies at `location`.
pub fn band_file(location: &str, fetcher: &Fetcher) -> Result<Option<NoiseBand>> {
    /// A band holds a few hundred numbers per metric.
    const LARGEST: u64 = 64 << 20;
    let files = fetcher.open(location, Trust::Baseline, &Quiet)?.files;
    let [entry] = files.list() else { return Ok(None) };
    let source = files.open(&entry.path)?;
    let mut head = vec![0; usize::try_from(source.len().min(256)).unwrap_or_default()];
    source.read_at(0, &mut head)?;
    if !String::from_utf8_lossy(&head).contains("\"precision_gate_noise\"") {
        return Ok(None);
    }
    let bytes = fetch::read_all(source.as_ref(), LARGEST)?;
    let damaged = |message: String| {
        Error::new(ErrorKind::Policy, files.location(), message)
            .with_help("record it again with `precision-gate noise`")
    };
    let band: NoiseBand = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if band.precision_gate_noise != NoiseBand::LAYOUT {
        return Err(damaged(format!("has layout {}, expected {}", band.precision_gate_noise, NoiseBand::LAYOUT)));
    }
    if !band.metrics.values().all(|metric| metric.is_sound()) {
        return Err(damaged("holds a number that no limit can be made of".into()));
    }
    Ok(Some(band))
}

/// Records a noise band from repeats: the locations of several runs, or of one folder with a run in each entry. Runs that
/// are not repeats of each other are refused, unless `any_runs` are taken.
///
/// # Errors
/// Errors of opening them; `Usage` where fewer than two hold curves, or two are not repeats of one case.
pub fn record(runs: &[String], policy: &LossPolicy, repeats: Repeats<'_>, any_runs: bool) -> Result<NoiseBand> {
    let mut found: Vec<(String, Vec<CurveFile>)> = Vec::new();
    let mut locations = Vec::new();
    for run in runs {
        let Repeats { fetcher, recognisers } = repeats;
        let files = fetcher.open(run, Trust::Baseline, &Quiet)?.files;
        let pattern = log_pattern(policy)?;
        let search = Search { recognisers, pattern: pattern.as_ref() };
        let inventory = side::look(files, fetcher.disk(), search, &Quiet)?;
        let curves = inventory.all::<CurveFile>().to_vec();
        // Not as it was given, which may hold a secret.
        let location = inventory.location().to_owned();
        locations.push(location.clone());
        if let [_] = runs {
            found.extend(repeats_in(&location, curves));
        } else {
            found.push((location, curves));
        }
    }
    found.retain(|(_, curves)| !curves.is_empty());
    if found.len() < 2 {
        let message = format!("noise needs two repeats at least, better three; {} with curves were found", found.len());
        return Err(Error::new(ErrorKind::Usage, locations.join(", "), message)
            .with_help("give several runs of the same case, or a folder with one run per entry"));
    }
    let (band, other) = compare_all(&found, policy);
    match other.filter(|_| !any_runs) {
        Some(other) => Err(other.into_error()),
        None => Ok(band),
    }
}

/// The repeats in one folder: each entry of it is one, a file or a folder.
fn repeats_in(root: &str, curves: Vec<CurveFile>) -> Vec<(String, Vec<CurveFile>)> {
    let mut repeats: std::collections::BTreeMap<String, Vec<CurveFile>> = std::collections::BTreeMap::new();
    for mut curve in curves {
        let (entry, rest) = match curve.path.split_once('/') {
            Some((entry, rest)) => (entry.to_owned(), rest.to_owned()),
            None => (curve.path.clone(), String::new()),
        };
        if !rest.is_empty() {
            curve.path = rest;
        }
        repeats.entry(entry).or_default().push(curve);
    }
    repeats.into_iter().map(|(entry, curves)| (format!("{root}/{entry}"), curves)).collect()
}

/// Two runs that are not repeats of one case.
struct OtherRun {
    runs: [String; 2],
    why: String,
}

impl OtherRun {
    fn into_error(self) -> Error {
        let [first, second] = &self.runs;
        let message = format!("is not a repeat of {first}: {}", self.why);
        Error::new(ErrorKind::Usage, second, message).with_help(
            "a band of runs that differ hides every difference as large: give runs of the same model, data, seed and \
             settings; or record it with `precision-gate noise --allow-different-runs`",
        )
    }
}

/// The band of all pairs of runs, and the first two that are not repeats of each other.
fn compare_all(runs: &[(String, Vec<CurveFile>)], policy: &LossPolicy) -> (NoiseBand, Option<OtherRun>) {
    let mut band = NoiseBand::new(runs.iter().map(|(name, _)| name.clone()).collect());
    let mut other = None;
    for (index, (first, ours)) in runs.iter().enumerate() {
        for (second, theirs) in runs.iter().skip(index + 1) {
            let pairing = paired(ours, theirs, policy);
            let measured = loss::measures_of(&pairing);
            let why = loss::repeats::difference(&pairing, &measured);
            other = other.or(why.map(|why| OtherRun { runs: [first.clone(), second.clone()], why }));
            for (metric, measures) in measured {
                band.record(&metric, &measures);
            }
        }
    }
    (band, other)
}
