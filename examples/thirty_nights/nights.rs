//! Thirty nights of three suites, made from the shipped curves and dumps and judged by the gate itself.
//!
//! Every night the candidate's distance from the baseline is drawn anew: the shipped distance, larger or smaller by a
//! fifth or so. Into one suite a slow drift is built, into one a step, into one a single bad night.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use jiff::{Timestamp, ToSpan};
use precision_gate::compare::measurements::Measurements;
use precision_gate::error::{Error, ErrorKind, Result};
use precision_gate::fetch::Fetcher;
use precision_gate::gate::history::{Moment, record};
use precision_gate::gate::selftest::synthetic::Random;
use precision_gate::gate::{Quiet, Request, Surroundings, run_by};
use precision_gate::history::record::Record;
use precision_gate::history::series::{RuleSeries, series_of};
use precision_gate::history::summary::summarise;
use precision_gate::history::trend::{finding, trends};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::sink::DiscardingSink;
use precision_gate::result::finding::Finding;
use precision_gate::result::history::Summary;
use precision_gate::result::trend::Trend;
use precision_gate::result::{GateResult, Source};
use precision_gate::verdict::{CheckId, Severity};
use rayon::prelude::*;
use serde_json::Value;

use crate::data;

/// Number of nights.
pub(crate) const NIGHTS: u64 = 30;
/// The night on which the step begins.
pub(crate) const STEP: u64 = 18;
/// The single bad night.
pub(crate) const FLAKY: u64 = 12;
/// Relative drift of the loss in one night, by the end of its run.
pub(crate) const DRIFT: f64 = 6e-5;
/// Nights in a row that have to fail before there is an alert.
const ALERT_AFTER: NonZeroU32 = NonZeroU32::new(2).expect("not 0");

const CURVES: &str = "tests/fixtures/loss/aligned_bf16";
const DUMPS: &str = "dumps/benign_glm_stats_mix";
/// The operation whose result is wrong from the night of the step on.
pub(crate) const CULPRIT: &str = "Functional.softmax.0.forward";

/// Change that is built into a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suite {
    /// The loss drifts away a little more every night.
    Drift,
    /// From one night on an operation is wrong, and the loss moves with it, within its limits.
    Step,
    /// In a single night the loss runs away.
    Flaky,
}

impl Suite {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Drift, Self::Step, Self::Flaky];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Drift => "drift",
            Self::Step => "step",
            Self::Flaky => "flaky",
        }
    }

    /// Relative difference of the loss at the end of a night's run, beside noise.
    fn loss_off(self, night: u64) -> f64 {
        match self {
            #[allow(clippy::cast_precision_loss, reason = "thirty nights")]
            Self::Drift => DRIFT * night as f64,
            Self::Step if night >= STEP => 1e-3,
            Self::Flaky if night == FLAKY => 0.1,
            Self::Step | Self::Flaky => 0.0,
        }
    }

    /// By which factor the culprit's output is off.
    fn output_off(self, night: u64) -> f64 {
        if self == Self::Step && night >= STEP { 1.2 } else { 1.0 }
    }
}

/// A night of a suite, judged.
pub(crate) struct Night {
    /// From 1.
    pub(crate) number: u64,
    /// Record of the run in the history.
    pub(crate) record: Record,
    /// Result of the gate.
    pub(crate) result: GateResult,
}

/// The commit of a night.
pub(crate) fn commit(night: u64) -> String {
    format!("{:040x}", night * 0x1_0001)
}

/// Every night, shortly after two in the morning (UTC), sometimes hours later.
fn time(night: u64, random: &mut Random) -> Timestamp {
    let late = (random.uniform() * 180.0).round();
    let start = Timestamp::UNIX_EPOCH + (20_727 * 24 + 2).hours();
    #[allow(clippy::cast_possible_truncation, reason = "minutes of three hours")]
    let late = (late as i64).minutes();
    start + (24 * i64::try_from(night).unwrap_or(0)).hours() + late
}

/// Judges thirty nights of a suite; candidates are written below `folder`.
pub(crate) fn judge(suite: Suite, folder: &Path) -> Result<Vec<Night>> {
    let sources = Sources::read()?;
    (1..=NIGHTS)
        .into_par_iter()
        .map(|number| {
            // A seed of its own for every night.
            let mut random = Random::new(1000 * (suite as u64 + 1) + number);
            let night = folder.join(format!("{}-{number}", suite.name()));
            sources.write(&night, suite, number, &mut random)?;
            let request = Request {
                baseline: TrustedLocation::own(folder.join("baseline").display().to_string()),
                several: Default::default(),
                candidate: night.display().to_string(),
                checks: vec![CheckId::Loss, CheckId::Dump],
                policy: Policy::default(),
                matching: Matching::default(),
            };
            let fetcher = Fetcher::default();
            let surroundings = Surroundings::new(&fetcher, &DiscardingSink);
            let mut judged = run_by(&request, &surroundings, &Measurements::default(), &Quiet)?;
            judged.result.source = Some(Source { commit: commit(number), repository: String::new(), target: None });
            let name = suite.name().parse().map_err(|error| Error::new(ErrorKind::Internal, suite.name(), error))?;
            let time = time(number, &mut random);
            let moment = Moment { suite: &name, time, run: "", manifest: None, versions: &[] };
            let record = record(&judged, &request.policy, &moment);
            Ok(Night { number, record, result: judged.result })
        })
        .collect()
}

/// Writes the baseline of all nights below `folder`.
pub(crate) fn write_baseline(folder: &Path) -> Result<()> {
    let sources = Sources::read()?;
    let dump = sources.dump_baseline.clone();
    write(&folder.join("baseline/trainer_state.json"), &sources.curve_baseline)?;
    sources.write_dump(&folder.join("baseline"), &dump)
}

/// The shipped files that nights are made from.
struct Sources {
    curve_baseline: Value,
    curve: Value,
    dump_baseline: Value,
    dump: Value,
    /// Files beside the dump, as they are.
    beside: Vec<(String, Vec<u8>)>,
}

impl Sources {
    fn read() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let dump = |side: &str| only_folder(&data::fixture(DUMPS).join(side).join("step0"));
        let (baseline, candidate) = (dump("gpu")?, dump("npu")?);
        let beside = |name: &str| Ok((name.to_owned(), bytes(&candidate.join(name))?));
        Ok(Self {
            curve_baseline: json(&root.join(CURVES).join("gpu/trainer_state.json"))?,
            curve: json(&root.join(CURVES).join("npu/trainer_state.json"))?,
            dump_baseline: json(&baseline.join("dump.json"))?,
            dump: json(&candidate.join("dump.json"))?,
            beside: ["construct.json", "stack.json"].into_iter().map(beside).collect::<Result<_>>()?,
        })
    }

    /// Writes what a night of `suite` leaves behind.
    fn write(&self, folder: &Path, suite: Suite, night: u64, random: &mut Random) -> Result<()> {
        let distance = wobble(random);
        let curve = self.curve_of(distance, suite.loss_off(night), random);
        write(&folder.join("trainer_state.json"), &curve)?;
        let mut dump = self.dump.clone();
        Statistics::default().redraw(&mut dump, random);
        if let Some(output) = dump.pointer_mut(&format!("/data/{CULPRIT}/output/0")) {
            scale(output, suite.output_off(night));
        }
        self.write_dump(folder, &dump)
    }

    fn write_dump(&self, folder: &Path, dump: &Value) -> Result<()> {
        let folder = folder.join("dump/step0/proc1");
        write(&folder.join("dump.json"), dump)?;
        for (name, bytes) in &self.beside {
            fs::write(folder.join(name), bytes).map_err(|error| Error::io(name.clone(), &error))?;
        }
        Ok(())
    }

    /// The candidate's curve, `distance` times as far from the baseline, and off by `off` at its end.
    fn curve_of(&self, distance: f64, off: f64, random: &mut Random) -> Value {
        let mut curve = self.curve.clone();
        let baseline = entries(&self.curve_baseline).to_vec();
        let count = baseline.len().max(1);
        let lines = curve.get_mut("log_history").and_then(Value::as_array_mut).into_iter().flatten();
        for (step, (line, trusted)) in lines.zip(&baseline).enumerate() {
            #[allow(clippy::cast_precision_loss, reason = "a few hundred steps")]
            let progress = (step + 1) as f64 / count as f64;
            for name in ["loss", "grad_norm"] {
                let number = |line: &Value| line.get(name).and_then(Value::as_f64);
                if let Some((own, trusted)) = number(line).zip(number(trusted)) {
                    let off = if name == "loss" { off } else { 0.0 };
                    let apart = (own - trusted) * distance * wobble(random);
                    line[name] = ((trusted + apart) * (1.0 + off * progress)).into();
                }
            }
        }
        curve
    }
}

/// A factor around 1: how far a night, or a step, lies from the baseline compared with the shipped run.
fn wobble(random: &mut Random) -> f64 {
    (0.2 * random.normal()).exp()
}

fn entries(curve: &Value) -> &[Value] {
    curve.get("log_history").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Statistics of a dump, drawn anew: one tensor's stay the same wherever it stands, and what no operation made (weights,
/// data) stays as it is.
#[derive(Default)]
struct Statistics(BTreeMap<String, Value>);

impl Statistics {
    fn redraw(&mut self, dump: &mut Value, random: &mut Random) {
        let operations = dump.get_mut("data").and_then(Value::as_object_mut).into_iter().flatten();
        for (_, operation) in operations {
            for (part, values) in operation.as_object_mut().into_iter().flatten() {
                self.values(values, part.starts_with("output"), random);
            }
        }
    }

    fn values(&mut self, value: &mut Value, is_output: bool, random: &mut Random) {
        match value {
            Value::Array(values) => values.iter_mut().for_each(|value| self.values(value, is_output, random)),
            Value::Object(tensor) if tensor.get("Norm").is_some_and(Value::is_f64) => {
                let own: Vec<String> = NAMES.iter().map(|name| tensor[*name].to_string()).collect();
                let drawn = self.0.entry(own.join(" ")).or_insert_with(|| {
                    let mut drawn = Value::Object(tensor.clone());
                    scale(&mut drawn, if is_output { 1.0 + 2e-7 * random.normal() } else { 1.0 });
                    drawn
                });
                NAMES.iter().for_each(|name| tensor[*name] = drawn[*name].clone());
            }
            Value::Object(values) => values.values_mut().for_each(|value| self.values(value, is_output, random)),
            _ => {}
        }
    }
}

const NAMES: [&str; 4] = ["Max", "Min", "Mean", "Norm"];

fn scale(tensor: &mut Value, factor: f64) {
    for name in NAMES {
        if let Some(value) = tensor[name].as_f64() {
            tensor[name] = (value * factor).into();
        }
    }
}

/// The values of every rule over the nights, as a history keeps them.
pub(crate) fn series(nights: &[Night]) -> Vec<RuleSeries> {
    series_of(&nights.iter().map(|night| &night.record).collect::<Vec<_>>())
}

/// Summary of the history by the last of the nights.
fn summary(nights: &[Night]) -> Option<Summary> {
    let records: Vec<Record> = nights.iter().map(|night| night.record.clone()).collect();
    let (current, earlier) = records.split_last()?;
    Some(summarise("nights", earlier, current, ALERT_AFTER))
}

/// A warning, with the night on which it was first given.
pub(crate) struct Told {
    /// The night.
    pub(crate) night: u64,
    /// The rule it is about.
    pub(crate) trend: Trend,
    /// The finding.
    pub(crate) finding: Finding,
}

/// Warnings of all nights, each warning once.
pub(crate) fn told(nights: &[Night]) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    for count in 1..=nights.len() {
        let so_far = nights.get(..count).unwrap_or_default();
        for trend in trends(&series(so_far)) {
            for finding in
                finding::trend_findings(&trend).into_iter().filter(|finding| finding.severity >= Severity::Warn)
            {
                let is_known =
                    told.iter().any(|old| (&old.finding.code, &old.finding.place) == (&finding.code, &finding.place));
                if !is_known {
                    told.push(Told { night: count as u64, trend: trend.clone(), finding });
                }
            }
        }
    }
    told
}

/// Nights that block.
pub(crate) fn red(nights: &[Night]) -> Vec<u64> {
    nights.iter().filter(|night| night.result.verdict.blocks()).map(|night| night.number).collect()
}

/// Nights with an alert: the same case has failed [`ALERT_AFTER`] times in a row.
pub(crate) fn alerts(nights: &[Night]) -> Vec<u64> {
    let is_alert = |count: &usize| nights.get(..*count).and_then(summary).is_some_and(|summary| summary.alert);
    (1..=nights.len()).filter(is_alert).map(|count| count as u64).collect()
}

/// The commits to look between, where the last night blocks.
pub(crate) fn bisect(nights: &[Night]) -> Option<(String, String)> {
    let since = summary(nights)?.since?;
    Some((since.green?.commit, since.red.commit))
}

fn only_folder(path: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(path).map_err(|error| Error::io(path.display().to_string(), &error))?;
    let missing = || Error::new(ErrorKind::NotFound, path.display().to_string(), "holds no folder");
    entries.flatten().map(|entry| entry.path()).find(|path| path.is_dir()).ok_or_else(missing)
}

fn bytes(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| Error::io(path.display().to_string(), &error))
}

fn json(path: &Path) -> Result<Value> {
    serde_json::from_slice(&bytes(path)?)
        .map_err(|error| Error::new(ErrorKind::Corrupt, path.display().to_string(), error))
}

fn write(path: &Path, value: &Value) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        // In lines, as a trainer writes it.
        .and_then(|()| fs::write(path, format!("{value:#}")))
        .map_err(|error| Error::io(path.display().to_string(), &error))
}
