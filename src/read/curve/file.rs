//! One file with curves: its metrics, and what a reader of the report should know about it.

use std::collections::BTreeMap;

use super::collector::Collector;
use super::format::{CurveFormat, LossMeaning};
use super::stored::StoredSeries;
use super::told::LogFacts;
use super::updates::UpdateHistory;
use crate::error::Result;
use crate::fetch::ByteSource;
use crate::read::account::UnreadNumbers;
use crate::read::metric;

/// Something about a file that a reader of the report should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CurveNote {
    /// The file ends in the middle of a record, or its compressed data is cut. Everything before the cut was read.
    Truncated,
    /// Number of lines that look like data and could not be read.
    SkippedLines(u64),
    /// Name of the encoding that was assumed for a text that does not state its own.
    EncodingGuessed(&'static str),
    /// Blocks of NUL bytes inside a text, which were skipped.
    NulBytes,
    /// Number of lines of more than 1 MiB, whose rest was not read.
    LongLines(u64),
    /// Canonical name of a metric with zeros that may be rounded small numbers.
    RoundedZeros(String),
    /// Canonical name of a learning rate with the number of decimals, at most six, that all of its values are printed with.
    Decimals(String, u8),
    /// Some lines have a counter, and other lines without one could not be assigned to it.
    UnusedCounter,
}

/// Canonical name of the training loss.
const LOSS: &str = "loss";

/// One file with curves.
#[derive(Clone, Debug)]
pub struct CurveFile {
    /// Path below the side's root.
    pub path: String,
    /// Name of the run, where its tracker has one.
    pub run: Option<String>,
    /// Name of the file's format, for people: `HF trainer_state.json`.
    pub format: &'static str,
    /// Its metrics, in the order of the file.
    pub series: Vec<StoredSeries>,
    /// Meaning of the logged losses.
    pub logged: LossMeaning,
    /// Number of steps between two log lines, where the file states it.
    pub interval: Option<u64>,
    /// Per-metric tolerances the file brings along (MindSpeed's `<metric> margin`); canonical names.
    pub margins: BTreeMap<String, f64>,
    /// Remarks for a reader of the report.
    pub notes: Vec<CurveNote>,
    /// Skipped updates according to its lines; `None` where the lines do not mention them.
    pub updates: Option<UpdateHistory>,
    /// Facts about the run that its lines state beside its records.
    pub told: LogFacts,
    /// Numbers beside a metric's name that were not read.
    pub account: UnreadNumbers,
}

impl CurveFile {
    /// A file of these series. `total_loss` becomes the loss where the file has no other.
    pub(super) fn new(source: &dyn ByteSource, format: CurveFormat, mut series: Vec<StoredSeries>) -> Self {
        let is_loss = |series: &StoredSeries| metric::canonical(series.name()) == LOSS;
        if !series.iter().any(is_loss) {
            let total = series.iter_mut().find(|series| metric::canonical(series.name()) == "total_loss");
            total.into_iter().for_each(|series| series.rename(LOSS));
        }
        Self {
            path: source.name().to_owned(),
            run: None,
            format: format.name(),
            series,
            logged: format.loss_meaning(),
            interval: None,
            margins: BTreeMap::new(),
            notes: Vec::new(),
            updates: None,
            told: LogFacts::default(),
            account: UnreadNumbers::default(),
        }
    }

    /// A file of the series and unread numbers of a collector.
    ///
    /// # Errors
    /// Those of [`Room`](crate::fetch::Room).
    pub(super) fn from_collector(
        source: &dyn ByteSource,
        format: CurveFormat,
        mut collector: Collector,
    ) -> Result<Self> {
        let account = collector.take_account();
        Ok(Self { account, ..Self::new(source, format, collector.finish()?) })
    }

    /// All its metrics with their points.
    #[cfg(test)]
    pub(super) fn loaded(&self) -> Vec<super::series::Series> {
        self.series.iter().map(|series| series.load().expect("readable").into_owned()).collect()
    }

    pub(super) fn with_note(mut self, note: Option<CurveNote>) -> Self {
        self.notes.extend(note);
        self
    }
}
