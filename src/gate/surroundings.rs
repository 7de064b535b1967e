//! Inputs of a run that its request does not hold, for the whole run and for its checks.

use std::path::PathBuf;

use super::baseline::manifest::Manifest;
use super::discover::Recogniser;
use super::request::Request;
use super::training::Training;
use crate::compare::measurements::Measurements;
use crate::fetch::Fetcher;
use crate::fetch::progress::Progress;
use crate::read::source::change::SourceChange;
use crate::report::sink::Sink;
use crate::result::finding::Finding;

/// Inputs of a run that its request does not hold, and the sink for the outputs that grow with the run.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Opens both locations.
    pub fetcher: &'a Fetcher,
    /// The baseline's manifest, where it was named by one.
    pub manifest: Option<&'a Manifest>,
    /// Takes lines of operations and tables.
    pub sink: &'a dyn Sink,
    /// Findings known before the run; each counts as any finding.
    pub known_findings: &'a [Finding],
    /// Outcome of the job that made the candidate; `None` where nobody stated it.
    pub training: Option<Training>,
    /// Training code, and what a change touches of it; `None` where there is none to judge.
    pub source: Option<&'a SourceTree>,
}

impl<'a> Surroundings<'a> {
    /// Surroundings without a manifest, findings or an outcome of the training job.
    pub fn new(fetcher: &'a Fetcher, sink: &'a dyn Sink) -> Self {
        Self { fetcher, manifest: None, sink, known_findings: &[], training: None, source: None }
    }
}

/// Inputs and sinks that the checks of a run share.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    /// Runs to judge, and how.
    pub request: &'a Request,
    /// Selection of the tensors to measure, and their measurements.
    pub measurements: &'a Measurements,
    /// Recognisers of all checks.
    pub recognisers: &'a [Recogniser],
    /// Receiver of lines and tables.
    pub sink: &'a dyn Sink,
    /// Receiver of progress.
    pub progress: &'a dyn Progress,
    /// Bytes of memory that records may take beyond those at work.
    pub room: u64,
}

/// Training code, and what a change touches of it.
#[derive(Clone, Debug)]
pub struct SourceTree {
    /// A folder, or one file.
    pub root: PathBuf,
    /// The change; `None` where none is judged.
    pub change: Option<SourceChange>,
    /// Reason why the lines of a change are not known; empty where they are, or there is no change.
    pub unknown_reason: String,
}
