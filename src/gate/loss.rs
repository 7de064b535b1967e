//! The loss check: curves of both sides to a verdict per metric.

mod paired;
mod samples;

use super::discover::{self, Extent, FileSample, Inventory, RecognisedFile, Recogniser, RecognitionEvidence};
use super::outcome::{CheckOutcome, damaged_finding};
use super::repeats::{Repeat, RepeatOpener, not_a_repeat, read_band_file, too_few_repeats};
use super::sides::Sides;
use super::surroundings::{Shared, Surroundings};
use super::wiring::GateCheck;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::Source;
use crate::fetch::progress::Progress;
use crate::judge::loss::noise::{NoiseBand, RecordedCurve, SampleRun};
use crate::judge::loss::repeats::RepeatDifference;
use crate::judge::loss::{self, JudgedCurve, LossSettings};
use crate::judge::rule::evidence;
use crate::judge::rule::policy::SELECTOR_UNUSED;
use crate::judge::samples::runs::seed_of;
use crate::judge::unread;
use crate::policy::Policy;
use crate::policy::health::{HealthPolicy, Vocabulary};
use crate::policy::location::TrustedLocation;
use crate::policy::loss::{LossPolicy, pattern};
use crate::read::account::UnreadNumbers;
use crate::read::curve::log::{LogPattern, unknown};
use crate::read::curve::{self, CurveFile, CurveFormat, DeclaredSettings, DecodedText, mlflow, results};
use crate::read::sqlite;
use crate::result::finding::Finding;
use crate::result::number::Number;
use crate::result::run::Timeline;
use crate::result::unit::{CurveUnit, Unit};
use crate::verdict::{CheckId, Severity, Side};
use paired::paired_curves;

/// The check of training curves.
pub(super) const CHECK: GateCheck = GateCheck {
    recogniser: Recogniser { check: ID, evidence: RecognitionEvidence::Lines, extent: Extent::Content, recognise },
    judge: |sides, surroundings, shared| of_sides(sides, surroundings, shared),
    judge_alone: Some(alone),
    judge_samples: Some(samples::check),
    measure: None,
    judge_tree: None,
};

const ID: CheckId = CheckId::Loss;

fn recognise(sample: &FileSample<'_>) -> Option<RecognisedFile> {
    let damaged = |error| RecognisedFile::Damaged { kind: "training curve", error };
    if sqlite::is_log(sample.head) {
        return database_of_log(sample);
    }
    if let Some(read) = results_beside_state(sample) {
        return Some(read);
    }
    let DecodedText { source, notes } = match curve::decode_text(sample.head, sample.source) {
        // A compressed file that is no text, or that cannot be unpacked, does not belong to this check.
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
    let run =
        if matches!(format, CurveFormat::Mlflow) { mlflow::run_name(sample.files.as_ref(), sample.path) } else { None };
    Some(match curve::read(source, format, sample.room) {
        Ok(mut curves) => {
            for curve in &mut curves {
                curve
                    .notes
                    .extend(notes.iter().filter(|note| !curve.notes.contains(note)).cloned().collect::<Vec<_>>());
                curve.run = curve.run.take().or_else(|| run.clone());
            }
            RecognisedFile::read_several(kind, curves)
        }
        Err(error) => damaged(error),
    })
}

/// Evaluations that a trainer wrote at its end, where its state lies beside them.
fn results_beside_state(sample: &FileSample<'_>) -> Option<RecognisedFile> {
    let state = sample.files.open(&results::trainer_state_path(sample.path)?).ok()?;
    match results::read(sample.source.as_ref(), state.as_ref(), sample.room) {
        Ok(file) => Some(RecognisedFile::read_several("HF results", vec![file?])),
        Err(error) => Some(RecognisedFile::Damaged { kind: "training curve", error }),
    }
}

/// End of the name of a database's log of writes.
const LOG: &str = "-wal";

/// The file itself; a database with a log of writes beside it is returned with those writes applied.
fn with_log(sample: &FileSample<'_>) -> Source {
    let log = || sample.files.open(&format!("{}{LOG}", sample.path)).ok();
    let log = sqlite::recognise(sample.head).then(log).flatten();
    let merged = log.and_then(|log| sqlite::with_log(sample.source, &log).ok());
    merged.unwrap_or_else(|| sample.source.clone())
}

/// Recognises a log of writes as part of the database beside it.
fn database_of_log(sample: &FileSample<'_>) -> Option<RecognisedFile> {
    let database = sample.path.strip_suffix(LOG)?;
    sample.files.open(database).is_ok().then(|| RecognisedFile::part("SQLite log of writes", "read with its database"))
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
    /// Inspects some lines of a file; `None` where it is no text. A pattern is suggested where it reads all lines of that shape
    /// in the file and in each of `others`, the unread texts of the other side.
    pub(super) fn from_file(file: &Source, pattern: Option<&LogPattern>, others: &[Source]) -> Option<Self> {
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
                let mut texts = [file].into_iter().chain(others);
                parsed.is_some_and(|pattern| texts.all(|text| unknown.is_read(text.as_ref(), &pattern)))
            };
            let (line, pattern) = (quoted(&unknown.line), unknown.pattern.clone().filter(reads));
            return Some(Self::Unknown { path: name, line, pattern, has_pattern });
        }
        let lines: Vec<String> = curve::log::sample_lines(file.as_ref())?.iter().map(quoted).collect();
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

/// Judges the candidate's curves without a baseline. The files are paired with themselves, which finds each metric's file and
/// role.
fn alone(candidate: &Inventory, policy: &Policy, _: &dyn Progress) -> CheckOutcome {
    let files: &[CurveFile] = candidate.artifacts();
    if files.is_empty() {
        return CheckOutcome::new(ID);
    }
    let settings = LossSettings { policy: &policy.loss, profile: policy.profile, noise: None };
    match of_run(files, settings, policy) {
        Ok(outcome) => outcome,
        Err(error) => {
            let finding = damaged_finding(ID, Side::Candidate, &error);
            outcome_of(Vec::new(), vec![finding], Vec::new())
        }
    }
}

/// Judges the curves, the updates, the norms by layer and the end of one run.
fn of_run(files: &[CurveFile], settings: LossSettings<'_>, policy: &Policy) -> Result<CheckOutcome> {
    let pairing = paired_curves(files, files, &policy.loss)?;
    let [.., updates] = &pairing.updates;
    let growth = loss::growth::growth_of_run(files);
    // The finding about the end comes first, because the others may follow from it.
    let mut general: Vec<Finding> =
        loss::ending::error_finding(files).or_else(|| loss::ending::early_end_finding(files)).into_iter().collect();
    general.extend(loss::sources::unclear_file_findings(&pairing, &policy.loss.metrics));
    general.extend(loss::updates::skipped_finding(&pairing));
    general.extend(loss::updates::overflow_finding(updates.as_ref()));
    general.extend(growth.as_ref().and_then(|(_, finding)| finding.clone()));
    let curves = loss::alone::judge(&pairing, &declared(files, &policy.health), settings)?;
    let mut looked = loss::alone::looked::curve_invariants(&pairing, &curves, &general)?;
    looked.push(loss::growth::growth_invariant(growth.as_ref()));
    looked.push(loss::ending::end_invariant(files, &general));
    let course = loss::timeline::course_of_run(files, updates.as_ref())?;
    let mut outcome = outcome_of(curves, general, unread::judge_alone(accounts(files)));
    outcome.looked = looked;
    outcome.timeline = loss::timeline::is_telling(&course).then_some(Timeline { candidate: course, baseline: None });
    outcome.growth = growth.map(|(growth, _)| growth);
    Ok(outcome)
}

/// Settings that the logs of a run declare; the policy gives the size of the vocabulary where no log does.
fn declared(files: &[CurveFile], policy: &HealthPolicy) -> DeclaredSettings {
    let vocabulary = policy.vocabulary.map(Vocabulary::get);
    let told = files.iter().map(|file| &file.told.declared).fold(DeclaredSettings::default(), |known, file| {
        DeclaredSettings {
            total: known.total.or(file.total),
            decay: known.decay.or_else(|| file.decay.clone()),
            classes: known.classes.or(file.classes),
            last: known.last.or(file.last),
        }
    });
    DeclaredSettings { classes: told.classes.or(vocabulary), ..told }
}

fn of_sides(sides: &Sides, surroundings: &Surroundings<'_>, shared: &Shared<'_>) -> Result<CheckOutcome> {
    let recorded = surroundings.manifest.and_then(|manifest| manifest.noise.as_ref());
    let repeats = RepeatOpener { fetcher: surroundings.fetcher, recognisers: shared.recognisers };
    check(sides.baseline.artifacts(), sides.candidate.artifacts(), &shared.request.policy, repeats, recorded)
}

/// Judges the curves of both sides, by the `recorded` band of the baseline's manifest where the policy names none.
///
/// # Errors
/// The policy's own files (a noise band) cannot be read; damage inside an artifact is a finding.
pub fn check(
    baseline: &[CurveFile],
    candidate: &[CurveFile],
    policy: &Policy,
    repeats: RepeatOpener<'_>,
    recorded: Option<&NoiseBand>,
) -> Result<CheckOutcome> {
    let is_one_sided = baseline.is_empty() || candidate.is_empty();
    let noise = if is_one_sided { None } else { noise_of(&policy.loss, repeats)? };
    judge(baseline, candidate, policy, noise.as_ref().or(recorded))
}

/// Judges with a noise band that is already there.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub fn judge(
    baseline: &[CurveFile],
    candidate: &[CurveFile],
    policy: &Policy,
    noise: Option<&NoiseBand>,
) -> Result<CheckOutcome> {
    if baseline.is_empty() || candidate.is_empty() {
        return Ok(CheckOutcome::new(ID));
    }
    let pairing = paired_curves(baseline, candidate, &policy.loss)?;
    let settings = LossSettings { policy: &policy.loss, profile: policy.profile, noise };
    let (mut curves, mut general) = loss::judge(&pairing, settings)?;
    loss::both::add_own_findings(
        &pairing,
        [&declared(baseline, &policy.health), &declared(candidate, &policy.health)],
        settings,
        &mut curves,
    )?;
    let growth = loss::growth::growth_of_pair(baseline, candidate);
    // The finding about the end comes first, because the others may follow from it.
    general.splice(0..0, loss::ending::error_finding_of_pair(baseline, candidate));
    general.extend(loss::updates::overflow_finding_of_pair(&pairing));
    general.extend(growth.as_ref().and_then(|(_, finding)| finding.clone()));
    general.extend(
        loss::ending::early_end_finding(candidate).filter(|_| loss::ending::early_end_finding(baseline).is_none()),
    );
    let [of_baseline, of_candidate] = &pairing.updates;
    let timeline = Timeline {
        candidate: loss::timeline::course_of_run(candidate, of_candidate.as_ref())?,
        baseline: Some(loss::timeline::course_of_run(baseline, of_baseline.as_ref())?),
    };
    let points = curves.iter().map(|curve| curve.unit.evidence.telling()).sum();
    let is_broken = |curve: &&JudgedCurve| !curve.unit.non_finite_steps.is_empty();
    let broken = curves.iter().filter(is_broken).map(|curve| curve.unit.metric.clone()).collect();
    let judged = unread::ReadNumbers { points, broken: &broken };
    let unread = unread::judge(accounts(baseline), accounts(candidate), &policy.loss.unread, judged);
    if let Some(first) = curves.first_mut() {
        unread.add_to_evidence(&mut first.unit.evidence);
    }
    let unused = unread.unused.iter().map(|shape| Finding::new(&SELECTOR_UNUSED, shape));
    let mut outcome = outcome_of(curves, general, unread.findings.iter().cloned().chain(unused).collect());
    outcome.timeline = loss::timeline::is_telling(&timeline.candidate).then_some(timeline);
    outcome.growth = growth.map(|(growth, _)| growth);
    Ok(outcome)
}

/// Accounts of some files.
fn accounts(files: &[CurveFile]) -> impl Iterator<Item = &UnreadNumbers> {
    files.iter().map(|file| &file.account)
}

/// Builds the outcome from judged curves and from findings that belong to no curve: first those in `general`, last those
/// about values that were not read.
fn outcome_of(curves: Vec<JudgedCurve>, general: Vec<Finding>, unread: Vec<Finding>) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    let is_told = general.iter().chain(&unread).any(|finding| finding.severity >= Severity::Incomplete);
    outcome.add_findings(general);
    for JudgedCurve { unit, findings, counts } in curves {
        let unit = CurveUnit { is_shown_only: !counts, ..unit };
        outcome.add_unit(Unit::Curve(Box::new(unit)), findings);
    }
    outcome.add_findings(unread);
    if outcome.check.units.is_empty() && !is_told {
        outcome.add_findings([Finding::new(&evidence::MISSING, ID.as_str()).of_check(ID).with("check", ID.as_str())]);
    }
    outcome
}

/// The user's pattern for log lines, ready to use.
pub(crate) fn log_pattern(policy: &LossPolicy) -> Result<Option<LogPattern>> {
    let parse = |pattern: &pattern::LogPattern| {
        LogPattern::parse(pattern.as_str())
            .map_err(|message| Error::new(ErrorKind::Policy, "loss.log-pattern", message))
    };
    policy.log_pattern.as_ref().map(parse).transpose()
}

/// Help where runs are not repeats of each other.
const OTHER_RUN: &str = "a band of runs that differ hides every difference as large: give runs of the same model, data, seed and \
                         settings; record it with `precision-gate noise --allow-different-runs`; or give the runs as several \
                         baselines";

/// The noise band that the policy names, from a recorded file or recorded now from repeats; `None` where it holds dumps only.
fn noise_of(policy: &LossPolicy, repeats: RepeatOpener<'_>) -> Result<Option<NoiseBand>> {
    let band = match policy.noise.0.as_slice() {
        [] => return Ok(None),
        [named] => match read_band_file(named.trusted()?, repeats.fetcher)? {
            Some(band) => as_band(band)?,
            None => record_curve_band(&policy.noise.trusted()?, policy, repeats, false)?,
        },
        _ => record_curve_band(&policy.noise.trusted()?, policy, repeats, false)?,
    };
    Ok(Some(band).filter(|band| !band.metrics.is_empty() || band.dumps.is_empty()))
}

/// Records a noise band from repeats: the locations of several runs, or of one folder with a run in each entry. Runs that
/// are not repeats of each other are refused, unless `any_runs` is set.
///
/// # Errors
/// Errors of opening them; `Usage` where fewer than two hold curves, or two are not repeats of one case.
pub fn record_curve_band(
    runs: &[TrustedLocation],
    policy: &LossPolicy,
    repeats: RepeatOpener<'_>,
    any_runs: bool,
) -> Result<NoiseBand> {
    let (found, locations) = repeats.open(runs, log_pattern(policy)?.as_ref())?;
    let found: Vec<Repeat> = found.into_iter().filter(|repeat| !repeat.curves.is_empty()).collect();
    if found.len() < 2 {
        return Err(too_few_repeats(&locations, &format!("{} with curves", found.len())));
    }
    as_band(band_of_repeats(&found, policy, any_runs)?)
}

/// Refuses a record of runs that are not repeats of each other, which is no noise band.
fn as_band(band: NoiseBand) -> Result<NoiseBand> {
    if band.no_band.is_empty() {
        return Ok(band);
    }
    Err(Error::new(ErrorKind::Usage, "noise", band.no_band).with_help(OTHER_RUN))
}

/// The noise band of the curves of `runs`. For runs that are not repeats of each other, it holds the reason why there is no
/// band, unless `any_runs` is set.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub(crate) fn band_of_repeats(runs: &[Repeat], policy: &LossPolicy, any_runs: bool) -> Result<NoiseBand> {
    let names = || runs.iter().map(|run| run.name.clone()).collect();
    let mut band = NoiseBand::new(names());
    for (index, first) in runs.iter().enumerate() {
        for second in runs.iter().skip(index + 1) {
            let pairing = paired_curves(&first.curves, &second.curves, policy)?;
            let measured = loss::repeat_measures(&pairing)?;
            match loss::repeats::repeat_difference(&pairing, &measured)?.filter(|_| !any_runs) {
                Some(RepeatDifference { why, is_other: true }) => {
                    return Err(not_a_repeat([&first.name, &second.name], &why, OTHER_RUN));
                }
                Some(RepeatDifference { why, .. }) => {
                    let no_band = format!("{} is not a repeat of {}: {why}", second.name, first.name);
                    return Ok(NoiseBand { no_band, ..NoiseBand::new(names()) });
                }
                None => {}
            }
            for (metric, measures) in measured {
                band.record(&metric, &measures);
            }
        }
    }
    Ok(band)
}

/// The finite points of the curves of `runs`, by run.
///
/// # Errors
/// Errors of the disk, where points lie there; `Usage` where a run holds NaN or infinity.
pub(crate) fn sample_of_repeats(runs: &[Repeat], policy: &LossPolicy) -> Result<Vec<SampleRun>> {
    let mut sample = Vec::new();
    for run in runs {
        let pairing = paired_curves(&run.curves, &run.curves, policy)?;
        let mut curves = Vec::new();
        for pair in &pairing.pairs {
            let source = pair.candidate.load()?;
            let (steps, values): (Vec<u64>, Vec<f64>) = source.series.points().unzip();
            if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                let message = format!("its {} holds {value}, so that it is no run of a baseline", pair.metric);
                return Err(Error::new(ErrorKind::Usage, &run.name, message).with_help("leave the run out"));
            }
            let values = values.into_iter().map(Number).collect();
            curves.push(RecordedCurve { metric: pair.metric.clone(), rank: pair.rank, steps, values });
        }
        let name = run.name.rsplit('/').next().unwrap_or(&run.name).to_owned();
        sample.push(SampleRun { seed: seed_of(&name), name, curves });
    }
    Ok(sample)
}
