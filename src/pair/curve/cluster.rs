//! Choice of the file from which a metric of a side is read.
//!
//! A run often logs one metric several times: `trainer_state.json`, a side log, event files. Sources that agree
//! on every shared step tell one story and form a `Cluster`; of a cluster one source is used and the others are
//! named as duplicates. The order of preference:
//!
//! 1. a file with the same relative path on the other side,
//! 2. a file of the same format on the other side,
//! 3. more points,
//! 4. the more precise format: the Trainer's history, JSON, lists and tables, event files (`float32`), printed logs.
//!
//! Event files of one folder are one source, read in the order of their names, as TensorBoard does.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::align::{self, LoggingForm};
use super::run_files;
use super::source::{CurveSource, StoredSource, resolution};
use crate::error::Result;
use crate::read::curve::stored::StoredSeries;
use crate::read::curve::{CurveFile, LossMeaning};
use crate::read::metric;
use crate::verdict::Side;

/// Two records of one value differ by less: half a unit of `float32` on either side, and room for a re-parse.
const SAME_VALUE: f64 = 1e-6;

/// A metric, and the rank where ranks differ.
pub(super) type CurveId = (String, Option<u64>);

/// Sources of one side that agree.
#[derive(Debug)]
pub(crate) struct Cluster<'a>(Vec<StoredSource<'a>>);

impl<'a> Cluster<'a> {
    /// The best source, without regard to the other side.
    pub(super) fn best(&self) -> &StoredSource<'a> {
        self.0.iter().min_by(|a, b| a.rank().cmp(&b.rank())).expect("invariant: a cluster is made around a source")
    }

    pub(super) fn shares_path(&self, other: &Self) -> bool {
        self.0.iter().any(|source| other.0.iter().any(|candidate| candidate.path == source.path))
    }

    /// Returns the source at `index`, completed by steps that only other sources have; the remaining sources become duplicates.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(super) fn take(
        mut self,
        index: usize,
        side: Side,
        duplicates: &mut Vec<(Side, String)>,
    ) -> Result<StoredSource<'a>> {
        let mut chosen = self.0.remove(index.min(self.0.len() - 1));
        self.0.sort_by(|a, b| a.rank().cmp(&b.rank()));
        for source in self.0 {
            match completed(&chosen, &source)? {
                Some(series) => {
                    chosen.series = Cow::Owned(series);
                    chosen.continued_in.push(source.path);
                }
                None => duplicates.push((side, source.path)),
            }
        }
        Ok(chosen)
    }

    /// Whether a source holds the same values as all members. Runs that a tracker distinguishes never agree, even with equal
    /// values.
    fn agrees(&self, source: &StoredSource<'_>) -> Result<bool> {
        for member in &self.0 {
            let same_run = member.run.is_none() || source.run.is_none() || member.run == source.run;
            if !same_run || !agree(&member.load()?, &source.load()?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Name of the run that a tracker gave it.
    pub(super) fn run(&self) -> Option<&str> {
        self.0.iter().find_map(|source| source.run.as_deref())
    }

    /// Marks all sources as window means where one is: a source beside a history of window means holds window means
    /// too.
    fn mark_windows(&mut self) {
        if self.0.iter().any(|source| source.logged == LossMeaning::Windows) {
            self.0.iter_mut().for_each(|source| source.logged = LossMeaning::Windows);
        }
    }
}

/// The sources of a side, by canonical metric name, clustered.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub(super) fn by_metric(files: &[CurveFile]) -> Result<BTreeMap<CurveId, Vec<Cluster<'_>>>> {
    let mut clusters: BTreeMap<CurveId, Vec<Cluster<'_>>> = BTreeMap::new();
    for (metric, source) in sources(files)? {
        let of_metric = clusters.entry((metric, source.series.rank())).or_default();
        match first_that_agrees(of_metric, &source)?.and_then(|index| of_metric.get_mut(index)) {
            Some(cluster) => cluster.0.push(source),
            None => of_metric.push(Cluster(vec![source])),
        }
    }
    clusters.values_mut().flatten().for_each(Cluster::mark_windows);
    Ok(clusters)
}

fn first_that_agrees(clusters: &[Cluster<'_>], source: &StoredSource<'_>) -> Result<Option<usize>> {
    for (index, cluster) in clusters.iter().enumerate() {
        if cluster.agrees(source)? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

fn sources(files: &[CurveFile]) -> Result<Vec<(String, StoredSource<'_>)>> {
    let mut found: Vec<(String, StoredSource<'_>)> = Vec::new();
    let (order, runs) = run_files::in_order(files);
    let goes_on = |earlier: &StoredSource<'_>, next: &StoredSource<'_>| {
        continues(earlier, next)
            || runs.iter().any(|run| run.contains(&earlier.path.as_str()) && run.contains(&next.path.as_str()))
    };
    for file in order {
        let start = found.len();
        for series in file.series.iter().filter(|series| series.shape().len > 0) {
            let canonical = metric::canonical(series.name()).into_owned();
            let taken = found
                .iter()
                .skip(start)
                .any(|(metric, other)| *metric == canonical && other.series.rank() == series.rank());
            // Two spellings of one metric in one file are two metrics, because the file distinguishes them.
            let name = if taken { series.name().to_owned() } else { canonical };
            let source = source_of(file, series);
            let is_same = |(metric, earlier): &(String, StoredSource<'_>)| {
                *metric == name && earlier.series.rank() == series.rank() && goes_on(earlier, &source)
            };
            match found.iter_mut().find(|found| is_same(found)) {
                Some((_, earlier)) => append(earlier, source)?,
                None => found.push((name, source)),
            }
        }
    }
    Ok(found)
}

fn source_of<'a>(file: &'a CurveFile, series: &'a StoredSeries) -> StoredSource<'a> {
    let shape = series.shape();
    let logged_once = file.interval.or(shape.ends.map(|(first, _)| first));
    StoredSource {
        path: file.path.clone(),
        run: file.run.clone(),
        continued_in: Vec::new(),
        format: file.format,
        logged: file.logged,
        interval: shape.interval.or(logged_once).unwrap_or(1).max(1),
        series: Cow::Borrowed(series),
        margin: file.margins.get(metric::canonical(series.name()).as_ref()).copied(),
        notes: file.notes.clone(),
    }
}

/// The series of `chosen` with the steps that `other`, which agrees with it, has before its first and behind its last, and where both
/// log at one interval also between; `None` where there are none.
///
/// A run consists of all its files: a step that one file lacks and another has is not missing, and is compared.
fn completed(chosen: &StoredSource<'_>, other: &StoredSource<'_>) -> Result<Option<StoredSeries>> {
    let (chosen_shape, other_shape) = (chosen.series.shape(), other.series.shape());
    let (Some((first, last)), Some((start, end))) = (chosen_shape.ends, other_shape.ends) else { return Ok(None) };
    let is_finer = chosen_shape.interval == other_shape.interval && other_shape.len > 1;
    let reaches_further = start < first || end > last;
    let comparable = chosen.series.counter().is_comparable(other.series.counter());
    let is_numbered = chosen_shape.is_numbered && other_shape.is_numbered && comparable;
    if !(is_numbered && (reaches_further || is_finer && may_have_gaps(chosen))) {
        return Ok(None);
    }
    let (chosen_points, other_points) = (chosen.series.load()?, other.series.load()?);
    let known: BTreeSet<u64> = chosen_points.steps.iter().collect();
    let is_new = |step: &u64| (*step < first || *step > last || is_finer) && !known.contains(step);
    if !other_points.steps.iter().any(|step| is_new(&step)) {
        return Ok(None);
    }
    chosen.series.with_points(other_points.points().filter(|(step, _)| is_new(step))).map(Some)
}

/// Whether a series has fewer points than its first step, last step and interval imply.
fn may_have_gaps(source: &StoredSource<'_>) -> bool {
    let shape = source.series.shape();
    let promised = |(first, last): (u64, u64)| (last - first) / shape.interval.unwrap_or(1).max(1) + 1;
    shape.ends.is_some_and(|ends| (shape.len as u64) < promised(ends))
}

/// Whether `next` is another event file of the same run.
fn continues(earlier: &StoredSource<'_>, next: &StoredSource<'_>) -> bool {
    const EVENTS: &str = "TensorBoard events";
    earlier.format == EVENTS && next.format == EVENTS && earlier.folder() == next.folder()
}

fn append(earlier: &mut StoredSource<'_>, next: StoredSource<'_>) -> Result<()> {
    let joined = earlier.series.followed_by(&next.series)?;
    earlier.interval = joined.shape().interval.unwrap_or(earlier.interval);
    earlier.series = Cow::Owned(joined);
    earlier.notes.extend(next.notes);
    earlier.continued_in.push(next.path);
    Ok(())
}

/// Whether two sources of one side hold the same values wherever both have one.
///
/// A NaN against a number is agreement here: trainers filter NaN out of one log and leave it in another, and the
/// source with the NaN is then used.
fn agree(a: &CurveSource<'_>, b: &CurveSource<'_>) -> bool {
    let tolerance = resolution(&a.series) + resolution(&b.series);
    [false, true].into_iter().any(|averaged| {
        let kept = if averaged { LoggingForm::Averaged } else { LoggingForm::AtStep };
        let points = align::align(&as_windows(a, averaged), &as_windows(b, averaged), kept);
        let by_position_differs = !points.is_numbered() && a.series.steps.len() != b.series.steps.len();
        !by_position_differs
            && !points.is_empty()
            && points.iter().all(|(_, a, b)| {
                !a.is_finite() || !b.is_finite() || (a - b).abs() <= SAME_VALUE * a.abs().max(b.abs()) + tolerance
            })
    })
}

fn as_windows<'a>(source: &CurveSource<'a>, averaged: bool) -> CurveSource<'a> {
    let mut copy = source.clone();
    if averaged {
        copy.logged = LossMeaning::Windows;
    }
    copy
}

/// Indices of the two sources to use.
pub(super) fn choose(baseline: &Cluster<'_>, candidate: &Cluster<'_>) -> (usize, usize) {
    let pairs = || (0..baseline.0.len()).flat_map(|b| (0..candidate.0.len()).map(move |c| (b, c)));
    let rank = |(b, c): &(usize, usize)| {
        let (b, c) = (baseline.0.get(*b)?, candidate.0.get(*c)?);
        let (finite_b, points_b, precision_b, path_b) = b.rank();
        let (finite_c, points_c, precision_c, path_c) = c.rank();
        Some((
            (finite_b && finite_c, b.path != c.path, b.format != c.format),
            Reverse(points_b.0.saturating_add(points_c.0)),
            (precision_b + precision_c, path_b.to_owned(), path_c.to_owned()),
        ))
    };
    pairs().min_by_key(rank).unwrap_or_default()
}

/// Whether two clusters have a folder in common.
pub(super) fn share_a_folder(clusters: &[Cluster<'_>]) -> bool {
    let mut owner: BTreeMap<&str, usize> = BTreeMap::new();
    clusters
        .iter()
        .enumerate()
        .any(|(index, cluster)| cluster.0.iter().any(|source| *owner.entry(source.folder()).or_insert(index) != index))
}
