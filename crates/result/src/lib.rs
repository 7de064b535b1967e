//! The result of a precision gate: the types of `result.json` and `operations.jsonl`, with verdicts and exit codes.
//!
//! A program that reads results needs this crate alone: [`load`] reads them, those of the versions before too. It knows no
//! artifact, no limit and no sentence; the gate fills it, and every document is made from it.
//! `precision-gate schema result` prints its JSON Schema, and `examples/read.rs` is a whole program:
//!
//! ```
//! use precision_gate_result::load;
//!
//! let text = r#"{"schema_version": 3, "tool": {"name": "precision-gate", "version": "0.1.0"}, "today": "2026-11-24",
//!     "profile": "default", "verdict": "pass", "baseline": null, "culprit": null, "checks": [], "findings": [],
//!     "candidate": {"label": "910B", "location": "runs/910b", "digest": ""}, "diagnoses": [], "waived": [],
//!     "artifacts": []}"#;
//! let result = load::parse("result.json", text)?;
//! assert!(!result.verdict.blocks());
//! # Ok::<(), precision_gate_result::error::Error>(())
//! ```

pub mod check;
pub mod codes;
pub mod confirm;
pub mod diagnosis;
pub mod error;
pub mod exit;
pub mod finding;
pub mod history;
pub mod kind;
pub mod layout;
pub mod load;
pub mod next_dump;
pub mod number;
pub mod observation;
pub mod operation;
pub mod outcome;
pub mod place;
pub mod rule;
pub mod run;
pub mod samples;
pub mod time;
pub mod trend;
pub mod unit;
mod upgrade;
pub mod verdict;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::diagnosis::Diagnosis;
use self::finding::{Finding, WaivedFinding};
use self::history::Summary;
use self::next_dump::NextDump;
use self::observation::Observation;
use self::place::Accepted;
use self::run::{Growth, Looked, Timeline};
use self::unit::{Check, Culprit};
use crate::verdict::{Profile, Side, Verdict};

/// Version of `result.json`'s layout.
pub const SCHEMA_VERSION: u32 = 3;

/// Everything a report needs: `result.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// Version of this layout.
    pub schema_version: u32,
    /// Program that wrote it.
    pub tool: Tool,
    /// Today's date, an input of the run (`YYYY-MM-DD`).
    pub today: String,
    /// Profile that the gate ran under.
    pub profile: Profile,
    /// `health` for a run that was judged alone, `source` for source without any run; absent where two runs were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence that says what is wrong, or what agrees. It and the next four are the first lines of every document in the
    /// language of the run, in plain text; a command that loads a result writes them again. Empty until documents are written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub headline: String,
    /// The source line, then operation, step and rank; of a pass, what agreed and how closely. May be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The step to take: the fix where a cause is certain or likely, else what to look at next. Empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fix: String,
    /// Sureness of the cause, and why; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub certainty: String,
    /// Parts that no verdict covers: behind a waiver, left out by the policy, not read, checks without files. Empty where all was
    /// judged.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub not_judged: String,
    /// Whether the run reports and blocks nothing; absent where it may block.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub report_only: bool,
    /// The commit that is judged, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The trusted run; null where the candidate was judged alone.
    pub baseline: Option<Run>,
    /// The run judged.
    pub candidate: Run,
    /// The third run that both were measured against, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Run>,
    /// The culprit the comment names: earliest step, after following collectives.
    pub culprit: Option<Culprit>,
    /// The checks, in fixed order.
    pub checks: Vec<Check>,
    /// Observations, before any policy: verdicts are made of it and of the units' accounts of evidence. Absent in results
    /// of versions before the third, whose verdicts cannot be made again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<Observation>,
    /// Findings of all checks, worst first.
    pub findings: Vec<Finding>,
    /// Every invariant of a run judged alone, those that could not be looked at too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looked: Vec<Looked>,
    /// Runs of both sides and how they were tested, where several were judged together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<samples::Samples>,
    /// The first run and those that were made again, where the verdict waits for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reruns: Vec<confirm::Rerun>,
    /// Outcome of these runs together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<confirm::Confirm>,
    /// The course of the runs, where a log tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// Gradient norms over the layers, where a log prints them by parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// Parallel layouts of both runs, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<layout::Layouts>,
    /// Likely causes, most likely first.
    pub diagnoses: Vec<Diagnosis>,
    /// The dump to collect next; absent where another dump would show no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_dump: Option<NextDump>,
    /// Findings that a waiver covers.
    pub waived: Vec<WaivedFinding>,
    /// Comments, added by the change, that accept findings about source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<Accepted>,
    /// The run in the light of those before it, where a history is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Summary>,
    /// The policy that it was decided under, without what equals the default; absent in results of versions before the third.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<serde_json::Value>,
    /// Digest of what was measured; absent in results of versions before the third.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
    /// Version of the file where its verdicts cannot be made again; no part of the file.
    #[serde(skip)]
    pub claimed_version: Option<u32>,
    /// Path at which readers of its documents find it, for commands that take it; no part of the file. Empty where nobody knows.
    #[serde(skip)]
    pub file: String,
    /// Artifacts found in the two folders.
    pub artifacts: Vec<ArtifactRow>,
    /// Digest of the `operations.jsonl` written beside it (`sha256:…`); absent in results of versions that wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations_digest: Option<String>,
    /// Version of the lines in that file; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations_version: Option<u32>,
}

/// Kind of judgement, where it is not the comparison of two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The candidate was judged alone: a pass means that it shows no visible defect.
    Health,
    /// Source was judged, and no run.
    Source,
}

/// The program that wrote a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `precision-gate`
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The judged commit, its repository and its branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// The commit.
    pub commit: String,
    /// `owner/name`, or a project's number; empty where it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub repository: String,
    /// The tip of the branch that a stranger's change goes to: policy, limits, waivers and templates were read there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
}

/// The tip of the branch that a change goes to, as the forge gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// The branch.
    pub branch: String,
    /// Its newest commit when the run began.
    pub commit: String,
}

/// One of the two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// A short name for people: `A100`.
    pub label: String,
    /// Location that it was read from.
    pub location: String,
    /// Digest of the judged artifacts.
    pub digest: String,
    /// The manifest that it fits, where the run was held against one and fits; of the baseline only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
}

impl GateResult {
    /// Findings that count for the verdict, the worst first; others stand on lines that the change does not touch.
    pub fn counting(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.counts())
    }

    /// Whether source alone was judged, and no run.
    pub fn is_of_source(&self) -> bool {
        self.mode == Some(Mode::Source)
    }

    /// Whether the candidate was judged without a baseline.
    pub fn is_alone(&self) -> bool {
        self.mode == Some(Mode::Health)
    }
}

/// Proof that a baseline is the one its manifest describes, with the manifest's facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verified {
    /// The manifest's name.
    pub manifest: String,
    /// Digest of the manifest's text.
    pub digest: String,
    /// Whether every byte was read again (the release profile); else the digest of what is judged.
    pub every_byte: bool,
    /// Person who promoted the baseline.
    pub approved_by: String,
    /// Date (`YYYY-MM-DD`).
    pub approved_on: String,
    /// Reason.
    pub reason: String,
    /// Commit of the training code; empty where it was not recorded, as the next two.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// Digest of the container image.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// The accelerators and their number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hardware: String,
    /// Versions by package or part.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
}

/// Row of the table of artifacts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactRow {
    /// The side it lies on.
    pub side: Side,
    /// Path below that side's folder.
    pub path: String,
    /// Name of the format (`msprobe dump`, `config pack` ...); empty where none was recognised.
    pub kind: String,
    /// `read`, `damaged` or `ignored`.
    pub status: String,
    /// Detail or reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}
