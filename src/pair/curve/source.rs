//! One metric in one file of a side.

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::error::Result;
use crate::read::curve::series::Series;
use crate::read::curve::stored::StoredSeries;
use crate::read::curve::{CurveNote, LossMeaning};

/// Formats from precise to coarse.
const PRECISION: [&str; 16] = [
    "HF trainer_state.json",
    "JSON lines",
    "JSON records",
    "JSON by step",
    "W&B log",
    "SwanLab log",
    "Trackio database",
    "MLflow metric",
    "MLflow database",
    "TensorBoard JSON",
    "torchtitan loss list",
    "CSV table",
    "Megatron golden JSON",
    "MindSpeed baseline JSON",
    "TensorBoard events",
    "training log",
];

/// One metric in one file, with its points.
pub(crate) type CurveSource<'a> = SourceOf<'a, Series>;
/// One metric in one file, whose points may be on disk.
pub(crate) type StoredSource<'a> = SourceOf<'a, StoredSeries>;

/// One metric in one file.
#[derive(Clone, Debug)]
pub struct SourceOf<'a, S: Clone> {
    /// Path below the side's root.
    pub path: String,
    /// Name of the run, where its tracker has one.
    pub run: Option<String>,
    /// Paths of the files that continue it.
    pub continued_in: Vec<String>,
    /// Name of the file's format, for people.
    pub format: &'static str,
    /// Meaning of the logged losses.
    pub logged: LossMeaning,
    /// Steps between two log lines.
    pub interval: u64,
    /// The values.
    pub series: Cow<'a, S>,
    /// The metric's own tolerance, where the file brings one along.
    pub margin: Option<f64>,
    /// Remarks for a reader of the report.
    pub notes: Vec<CurveNote>,
}

impl<S: Clone> SourceOf<'_, S> {
    /// The folder it lies in; empty for the root.
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    fn precision(&self) -> usize {
        PRECISION.iter().position(|format| *format == self.format).unwrap_or(PRECISION.len())
    }

    /// The same source with another form of its series.
    fn with<'s, T: Clone>(&self, series: Cow<'s, T>) -> SourceOf<'s, T> {
        SourceOf {
            path: self.path.clone(),
            run: self.run.clone(),
            continued_in: self.continued_in.clone(),
            format: self.format,
            logged: self.logged,
            interval: self.interval,
            series,
            margin: self.margin,
            notes: self.notes.clone(),
        }
    }
}

impl StoredSource<'_> {
    /// Loads the points, where they are not in memory.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn load(&self) -> Result<CurveSource<'_>> {
        Ok(self.with(self.series.load()?))
    }

    /// The source with an empty series.
    pub(super) fn without_points(&self) -> CurveSource<'static> {
        self.with(Cow::Owned(Series::by_step(self.series.name().to_owned(), [])))
    }

    /// Smaller is better: a record of a NaN is believed over one without, more points over fewer, precise over
    /// coarse.
    pub(super) fn rank(&self) -> (bool, Reverse<usize>, usize, &str) {
        (self.series.shape().is_finite, Reverse(self.series.shape().len), self.precision(), &self.path)
    }
}

/// One unit of the last digit a series was printed with; 0 where it has six decimals or more, or is made of whole
/// numbers.
pub(crate) fn resolution(series: &Series) -> f64 {
    let sample = || series.values.iter().filter(|value| value.is_finite()).take(1000);
    let printed = |decimals: i32| {
        let scale = 10_f64.powi(decimals);
        sample().all(|value| (value * scale - (value * scale).round()).abs() <= 1e-9 * (value * scale).abs().max(1.0))
    };
    if sample().next().is_none() || printed(0) {
        return 0.0;
    }
    (1..=5).find(|decimals| printed(*decimals)).map_or(0.0, |decimals| 10_f64.powi(-decimals))
}
