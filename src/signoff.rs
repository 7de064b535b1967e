//! Stage 8, *signoff*: the results of a release candidate's suites to one document that a person can sign.
//!
//! [`input`] reads the results, [`check`] holds them against the policy, and only where nothing is refused
//! [`document`] writes what people read and [`statement`] the in-toto statement over every file. Results are untrusted:
//! they are data, their digests are taken from the bytes that were read, and their documents are made again.

pub mod check;
pub mod document;
pub mod input;
pub mod refusal;
pub mod statement;
pub mod write;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::signoff::BaselineDemand;
use crate::report::outcomes::UnitRule;
use crate::result::finding::{Finding, WaivedFinding};
use crate::result::{Run, Source, Tool};
use crate::verdict::{CheckId, Profile, Verdict};

/// Version of `signoff.json`'s layout.
pub const SCHEMA_VERSION: u32 = 2;

/// A signed-off release candidate: `signoff.json`, and the predicate of the in-toto statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Signoff {
    /// Version of this layout.
    pub schema_version: u32,
    /// Program that wrote it.
    pub tool: Tool,
    /// The day of the sign-off (`YYYY-MM-DD`), an input.
    pub today: String,
    /// The release candidate: the commit that every suite was judged at.
    pub source: Source,
    /// Demands on every suite.
    pub demands: Demands,
    /// People who approved.
    pub approvals: Vec<Approval>,
    /// The suites, required ones first in the policy's order.
    pub suites: Vec<Suite>,
}

/// Demands on every suite, beside a verdict of `pass`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Demands {
    /// Days that a result may be old.
    pub max_age_days: u32,
    /// Demand on every baseline.
    pub baselines: BaselineDemand,
}

/// An approval, as the command line gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Person.
    pub by: String,
    /// Date (`YYYY-MM-DD`).
    pub on: String,
}

/// One suite of the release candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// Whether the policy requires it; others were given beside, and held to the same.
    pub required: bool,
    /// Labels that the policy gives it: model, steps, ranks, platform.
    pub labels: BTreeMap<String, String>,
    /// The verdict.
    pub verdict: Verdict,
    /// The profile it was judged by.
    pub profile: Profile,
    /// The day it was judged (`YYYY-MM-DD`).
    pub judged: String,
    /// The program that judged it.
    pub tool: Tool,
    /// The trusted run.
    pub baseline: Run,
    /// The run judged.
    pub candidate: Run,
    /// The checks and their verdicts.
    pub checks: BTreeMap<CheckId, Verdict>,
    /// Every rule as applied: value, limits, direction, margin.
    pub rules: Vec<UnitRule>,
    /// Findings of the suite; none of them blocks.
    pub findings: Vec<Finding>,
    /// Findings that a waiver covers.
    pub waived: Vec<WaivedFinding>,
    /// The files read: the result, and its operations where they lie beside it.
    pub files: Vec<FileRecord>,
}

/// A file that was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRecord {
    /// `<suite>/<file>` for a file that was read, the file's name for one that was written.
    pub name: String,
    /// Length.
    pub bytes: u64,
    /// SHA-256 of the content, 64 hexadecimal digits.
    pub sha256: String,
}
