//! Judging a run in parts: each part measures its share of the tensors and judges nothing. Joined, the parts are judged as
//! one run, with exactly the same result.
//!
//! A part file is JSON lines: a header with the settings of the measurement, then one measurement per line. Judging opens
//! both sides again for everything but measurements (records, curves, packs), so that parts stay small. The digests of both
//! sides have to equal those of the parts, which proves that the judged files are the measured ones.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};

use globset::Glob;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::checks::{self, search};
use super::discover::Inventory;
use super::request::{Request, UncheckedRequest};
use super::run::run_by;
use super::side;
use super::surroundings::Surroundings;
use super::wiring::Measuring;
use crate::compare::measurements::{Measurements, PartPlan, Selection};
use crate::compare::sample::Sample;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::progress::Progress;
use crate::fetch::{Fetcher, Trust};
use crate::gate::dump::renaming;
use crate::msprobe::dump::Matching;
use crate::pair::dump::Renaming;
use crate::policy::Policy;
use crate::report::JudgedRun;
use crate::result::Tool;
use crate::result::this_tool;
use crate::verdict::CheckId;

/// Measurements of a part, and how many parts there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    tool: Tool,
    part: u64,
    parts: u64,
    baseline: Measured,
    candidate: Measured,
    checks: Vec<CheckId>,
    matching: Matching,
    preset: Option<String>,
    /// Names of operations that are translated.
    renaming: Renaming,
    /// Limits that count elements, where there are any.
    limits: Vec<String>,
    /// Ratio and seed.
    sample: Option<(f64, u64)>,
    checksum: bool,
    ops: Option<String>,
}

/// One side of what was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Measured {
    location: String,
    digest: String,
}

/// One measurement of a part file.
#[derive(Serialize, Deserialize)]
struct Line {
    of: String,
    found: Value,
}

/// Measures part `part` (from 1) of `parts` of what `request` would compare, and writes it to `out`.
///
/// # Errors
/// As [`run`](super::run()); `Usage` where there is no such part.
pub fn measure_part(
    request: &Request,
    fetcher: &Fetcher,
    selection: Selection,
    (part, parts): (u64, u64),
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<()> {
    if part == 0 || part > parts {
        let error = Error::new(ErrorKind::Usage, "--shard", format!("part {part} of {parts} does not exist"));
        return Err(error.with_help("parts count from 1"));
    }
    let mut sides = Vec::new();
    for (location, trust) in [(&*request.baseline, Trust::Baseline), (request.candidate.as_str(), Trust::Any)] {
        let files = fetcher.open(location, trust, progress)?.files;
        sides.push(side::inventory_of_side(files, fetcher, search(None), progress)?);
    }
    let [baseline, candidate] = sides.as_slice() else {
        return Err(Error::new(ErrorKind::Internal, "", "two sides"));
    };
    let files = candidate.all_files().list().iter().map(|entry| (entry.path.clone(), entry.len));
    let measurements = Measurements::for_part(selection.clone(), PartPlan::new(part, parts, files));
    let measuring = Measuring { baseline, candidate, request, measurements: &measurements, progress };
    let measures = request.checks.iter().filter_map(|check| checks::find_check(*check)?.measure);
    measures.into_iter().try_for_each(|measure| measure(&measuring))?;
    // Digests come last, because measuring has computed most of them.
    let of = |inventory: &Inventory| Measured { location: inventory.location().to_owned(), digest: inventory.digest() };
    let header = Header {
        tool: this_tool(),
        part,
        parts,
        baseline: of(baseline),
        candidate: of(candidate),
        checks: request.checks.clone(),
        matching: request.matching.clone(),
        preset: preset(&request.policy),
        renaming: renaming::renaming_of_request(request),
        limits: limits(&request.policy),
        sample: selection.sample.map(|sample| (sample.ratio(), sample.seed())),
        checksum: selection.checksum,
        ops: selection.ops.as_ref().map(|ops| ops.glob().glob().to_owned()),
    };
    write_line(out, &header)?;
    measurements.into_results().into_iter().try_for_each(|(of, found)| write_line(out, &Line { of, found }))
}

fn preset(policy: &Policy) -> Option<String> {
    policy.dump.preset.map(|preset| preset.as_str().to_owned())
}

/// Text of every limit that decides how elements are counted. All limits are listed, because which one fits a tensor depends
/// on all of them.
fn limits(policy: &Policy) -> Vec<String> {
    let rules = policy.dump.limits.iter().filter(|_| policy.dump.counts_elements());
    rules.map(|rule| format!("{} {:?} {}", rule.selector(), rule.tolerance(), rule.max_relative.is_some())).collect()
}

fn write_line(out: &mut dyn Write, line: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_vec(line).map_err(|error| Error::new(ErrorKind::Internal, "part", error))?;
    text.push(b'\n');
    out.write_all(&text).map_err(|error| Error::io("part", &error))
}

/// All parts of a run.
#[derive(Debug)]
pub struct Parts {
    header: Header,
    noted: BTreeMap<String, Value>,
}

impl Parts {
    /// Reads part files, each given with the name messages call it.
    ///
    /// # Errors
    /// `Corrupt` where a file is not a part, `Usage` where the parts are not those of one run, or not all of them.
    pub fn read<R: BufRead + Send>(files: Vec<(String, R)>) -> Result<Self> {
        let parts: Vec<Result<Part>> = files.into_par_iter().map(|(name, file)| read(name, file)).collect();
        let mut parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
        parts.sort_by_key(|part| part.header.part);
        let Some(first) = parts.first() else { return Err(refused("merge", "no parts given".into())) };
        let header = first.header.clone();
        header.expect_all(&parts)?;
        if header.tool != this_tool() {
            let (parts_version, own_version) = (&header.tool.version, this_tool().version);
            return Err(refused(
                "merge",
                format!("the parts are of version {parts_version}, this is version {own_version}"),
            ));
        }
        Ok(Self { header, noted: parts.into_iter().flat_map(|part| part.noted).collect() })
    }

    /// Location that the baseline was read from.
    pub(crate) fn baseline_location(&self) -> &str {
        &self.header.baseline.location
    }

    /// Location that the candidate was read from.
    pub(crate) fn candidate_location(&self) -> &str {
        &self.header.candidate.location
    }

    /// The request that the parts were made for, under `policy`, with the locations they were read from.
    pub fn to_request(&self, policy: Policy) -> UncheckedRequest {
        UncheckedRequest {
            baseline: self.baseline_location().to_owned(),
            candidate: self.candidate_location().to_owned(),
            checks: self.header.checks.clone(),
            matching: self.header.matching.clone(),
            several: Default::default(),
            policy,
        }
    }

    /// Judges the parts as one run.
    ///
    /// # Errors
    /// As [`run`](super::run()); `Usage` where the policy needs other measurements, `Corrupt` where a side is no longer
    /// what was measured.
    pub fn judge(self, request: &Request, from: &Surroundings<'_>, progress: &dyn Progress) -> Result<JudgedRun> {
        if self.header.preset != preset(&request.policy) {
            let error = Error::new(ErrorKind::Usage, "dump.preset", "the parts were measured for a different preset");
            return Err(error.with_help("give `merge` the policy file that the parts were measured with"));
        }
        if self.header.renaming != renaming::renaming_of_request(request) {
            let error =
                Error::new(ErrorKind::Usage, "dump", "the parts were measured for different names of operations");
            return Err(error.with_help("give `merge` the policy file that the parts were measured with"));
        }
        if self.header.limits != limits(&request.policy) {
            let error = Error::new(ErrorKind::Usage, "dump.limits", "the parts were measured for different limits");
            return Err(error.with_help("give `merge` the policy file that the parts were measured with"));
        }
        let sample = self.header.sample.and_then(|(ratio, seed)| Sample::new(ratio, seed));
        let ops = self.header.ops.as_deref().and_then(|ops| Some(Glob::new(ops).ok()?.compile_matcher()));
        let measurements =
            Measurements::from_parts(Selection { sample, checksum: self.header.checksum, ops, stop: None }, self.noted);
        let outcome = run_by(request, from, &measurements, progress)?;
        let result = &outcome.result;
        let of_baseline = result.baseline.as_ref().map(|judged| (&self.header.baseline, judged));
        let sides = of_baseline.into_iter().chain([(&self.header.candidate, &result.candidate)]);
        if let Some((_, judged)) = sides.into_iter().find(|(measured, judged)| measured.digest != judged.digest) {
            let error =
                Error::corrupt(&judged.location, "differs from the files that the parts were measured on (digest)");
            return Err(error.with_help("measure the parts again, or restore the files they were measured on"));
        }
        Ok(outcome)
    }
}

impl Header {
    /// Refuses parts of different runs, and sorted parts of which one is missing or occurs twice.
    fn expect_all(&self, parts: &[Part]) -> Result<()> {
        let mut expected = 1..=self.parts;
        for Part { name, header, .. } in parts {
            if (Self { part: 0, ..header.clone() }) != (Self { part: 0, ..self.clone() }) {
                let message = "is a part of another run: it measured other files, or with other options";
                return Err(refused(name, message.into()));
            }
            if expected.next() != Some(header.part) {
                let message = format!("is part {} of {}, but not the next missing one", header.part, header.parts);
                return Err(refused(name, message));
            }
        }
        match expected.next() {
            Some(missing) => Err(refused("merge", format!("part {missing} of {} is missing", self.parts))),
            None => Ok(()),
        }
    }
}

fn refused(subject: &str, message: String) -> Error {
    Error::new(ErrorKind::Usage, subject, message).with_help("give the files of all parts of one run, each once")
}

/// A part file, read.
struct Part {
    name: String,
    header: Header,
    noted: BTreeMap<String, Value>,
}

fn read(name: String, mut file: impl BufRead) -> Result<Part> {
    let mut text = String::new();
    let mut number = 0;
    let mut next = |text: &mut String| {
        text.clear();
        number += 1;
        let read = file.read_line(text).map_err(|error| Error::io(name.as_str(), &error))?;
        Ok::<_, Error>((read > 0).then_some(number))
    };
    let damaged = |line: usize, error: serde_json::Error| {
        Error::corrupt(name.as_str(), format!("line {line}: {error}"))
            .with_help("copy the part again, or measure it again with `--shard K/N`")
    };
    let line = next(&mut text)?.unwrap_or(1);
    let header: Header = serde_json::from_str(&text).map_err(|error| damaged(line, error))?;
    let mut noted = BTreeMap::new();
    while let Some(line) = next(&mut text)? {
        let Line { of, found } = serde_json::from_str(&text).map_err(|error| damaged(line, error))?;
        noted.insert(of, found);
    }
    Ok(Part { name, header, noted })
}
