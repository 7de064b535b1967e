//! Pairing of training curves: metric with metric, step with step.
//!
//! [`cluster`] finds the files of the two sides that belong together, and [`align`] the values. Values are used for one
//! purpose only: to see whether several files of one side hold the same curve.

pub mod align;
pub mod cluster;
mod kind;
pub mod offset;
pub mod source;
pub mod updates;

mod repeats;
mod run_files;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::error::Result;
use crate::kind::{Better, Role, curve_name};
use crate::read::curve::CurveFile;
use crate::read::curve::updates::UpdateHistory;
use crate::read::metric;
use crate::verdict::Side;
use align::{AlignedPoints, LoggingForm, PairedBy, PairingObstacle};
use cluster::{Cluster, CurveId};
use source::{CurveSource, StoredSource};

/// One metric of both sides, whose points may be on disk.
#[derive(Debug)]
pub struct PairedSources<'a> {
    /// Canonical name of the metric.
    pub metric: String,
    /// Rank that logged it, where the ranks of a file differ.
    pub rank: Option<u64>,
    /// Role of the metric.
    pub role: Role,
    /// Whether its run is one of reinforcement learning.
    pub is_rl: bool,
    /// Folder of this run, where several lie beside each other; else empty.
    pub run: String,
    /// The trusted side.
    pub baseline: StoredSource<'a>,
    /// The judged side.
    pub candidate: StoredSource<'a>,
    /// Other files of either side that hold the same curve.
    pub duplicates: Vec<(Side, String)>,
    /// Number that is added to the candidate's steps, because the two sides count from different numbers.
    pub shift: i64,
    /// Steps of a gradient norm whose update was skipped on the baseline, and on the candidate.
    pub skipped: [Arc<BTreeSet<u64>>; 2],
}

/// One metric of both sides, step by step.
#[derive(Debug)]
pub struct CurvePair<'a> {
    /// Canonical name of the metric.
    pub metric: String,
    /// Rank that logged it, where the ranks of a file differ.
    pub rank: Option<u64>,
    /// Role of the metric.
    pub role: Role,
    /// Whether its run is one of reinforcement learning.
    pub is_rl: bool,
    /// Folder of this run, where several lie beside each other; else empty.
    pub run: String,
    /// The trusted side.
    pub baseline: CurveSource<'a>,
    /// The judged side.
    pub candidate: CurveSource<'a>,
    /// Other files of either side that hold the same curve.
    pub duplicates: Vec<(Side, String)>,
    /// Number that was added to the candidate's steps, because the two sides count from different numbers.
    pub shift: i64,
    /// The values, step by step.
    pub points: AlignedPoints<'a>,
}

/// A metric that could not be paired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnpairedCurve {
    /// Several sources on one side, without a way to choose one.
    Ambiguous {
        /// The metric.
        metric: String,
        /// Its rank, where ranks differ.
        rank: Option<u64>,
        /// The side with several sources.
        side: Side,
        /// Their paths.
        paths: Vec<String>,
    },
    /// A file with several runs one after the other, without a way to choose one.
    SeveralRuns {
        /// The metric.
        metric: String,
        /// Its rank, where ranks differ.
        rank: Option<u64>,
        /// The side with the file.
        side: Side,
        /// Path of the file.
        path: String,
    },
    /// One side does not have it.
    OneSided {
        /// The metric.
        metric: String,
        /// Its rank, where ranks differ.
        rank: Option<u64>,
        /// Role of the metric.
        role: Role,
        /// Whether the runs are of reinforcement learning.
        is_rl: bool,
        /// The side that has it.
        side: Side,
        /// Path of the file.
        path: String,
    },
}

/// Pairs of curves, and the curves without a partner.
#[derive(Debug, Default)]
pub struct CurvePairing<'a> {
    /// Metrics of both sides, losses first, then by name.
    pub pairs: Vec<PairedSources<'a>>,
    /// The rest.
    pub unpaired: Vec<UnpairedCurve>,
    /// Metrics of the candidate alone.
    pub candidate_only: Vec<(CurveId, StoredSource<'a>)>,
    /// Skipped updates by the logs of the baseline and of the candidate.
    pub updates: [Option<UpdateHistory>; 2],
}

/// Pairs the curves of two sides.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub fn pair_curves<'a>(baseline: &'a [CurveFile], candidate: &'a [CurveFile]) -> Result<CurvePairing<'a>> {
    let mut sides = (cluster::by_metric(baseline)?, cluster::by_metric(candidate)?);
    let curves: BTreeSet<CurveId> = sides.0.keys().chain(sides.1.keys()).cloned().collect();
    let updates = [updates::of_files(baseline)?, updates::of_files(candidate)?];
    let mut pairing = CurvePairing { updates, ..CurvePairing::default() };
    for id in curves {
        match (sides.0.remove(&id), sides.1.remove(&id)) {
            (Some(baseline), Some(candidate)) => pairing.pair(&id, baseline, candidate)?,
            (Some(only), None) => pairing.one_sided(id, Side::Baseline, &only),
            (None, Some(only)) => pairing.one_sided(id, Side::Candidate, &only),
            (None, None) => {}
        }
    }
    // A run that is paired with itself needs no shift.
    if !std::ptr::eq(baseline, candidate) {
        pairing.shift()?;
    }
    pairing.find_kinds(baseline, candidate);
    Ok(pairing)
}

/// Manner in which a metric of a role is logged.
fn kept(role: Role) -> LoggingForm {
    match role {
        role if role.is_averaged() => LoggingForm::Averaged,
        Role::EvalLoss | Role::EvalScore => LoggingForm::Evaluated,
        _ => LoggingForm::AtStep,
    }
}

/// Whether more of a metric is better; `None` where a difference in either direction counts, as that of a loss does.
fn more_is_better(metric: &str, role: Role) -> Option<bool> {
    let has_direction = matches!(role, Role::EvalScore | Role::Reward) || role.is_performance();
    metric::better_direction(metric, role).filter(|_| has_direction).map(|better| better == Better::Higher)
}

impl PairedSources<'_> {
    /// Both sides with their points, as each logged them, without the norms of updates that were skipped.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(crate) fn load_sides(&self) -> Result<[CurveSource<'_>; 2]> {
        let (mut baseline, mut candidate) = (self.baseline.load()?, self.candidate.load()?);
        let [skipped, skipped_by_candidate] = &self.skipped;
        updates::leave_out_skipped(&mut baseline.series, skipped);
        updates::leave_out_skipped(&mut candidate.series, skipped_by_candidate);
        Ok([baseline, candidate])
    }

    /// The pair with its points, step by step.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn load(&self) -> Result<CurvePair<'_>> {
        let [mut baseline, mut candidate] = self.load_sides()?;
        if self.shift != 0 {
            candidate.series = Cow::Owned(candidate.series.shifted(self.shift));
        }
        let more_is_better = more_is_better(&self.metric, self.role);
        repeats::take_worst(&mut baseline.series, &mut candidate.series, more_is_better);
        // How a metric is logged depends on its own role, not on the kind of training.
        let points = align::align(&baseline, &candidate, kept(metric::role(&self.metric)));
        Ok(self.pair_of(baseline, candidate, points))
    }

    /// The pair of a run with itself. It holds the candidate's points only, because the baseline's are the same.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(crate) fn load_alone(&self) -> Result<CurvePair<'_>> {
        let mut candidate = self.candidate.load()?;
        let [_, skipped] = &self.skipped;
        updates::leave_out_skipped(&mut candidate.series, skipped);
        let mut same = Cow::Borrowed(&*candidate.series);
        if !same.contradicting.is_empty() {
            let mut baseline = same.clone();
            repeats::take_worst(&mut baseline, &mut same, more_is_better(&self.metric, self.role));
            candidate.series = Cow::Owned(same.into_owned());
        }
        Ok(self.pair_of(self.baseline.without_points(), candidate, AlignedPoints::new(PairedBy::Step)))
    }

    fn pair_of<'s>(
        &'s self,
        baseline: CurveSource<'s>,
        candidate: CurveSource<'s>,
        points: AlignedPoints<'s>,
    ) -> CurvePair<'s> {
        CurvePair {
            metric: self.metric.clone(),
            rank: self.rank,
            role: self.role,
            is_rl: self.is_rl,
            run: self.run.clone(),
            baseline,
            candidate,
            duplicates: self.duplicates.clone(),
            shift: self.shift,
            points,
        }
    }
}

/// Splits the pairs, in order, into groups whose points fit in memory together. A group holds at least one pair.
pub fn groups<'p, 'a>(pairs: &'p [&'p PairedSources<'a>]) -> Vec<&'p [&'p PairedSources<'a>]> {
    /// Bytes that judging a point of one side takes: its value, its difference and what medians sort.
    const BYTES: u64 = 32;
    /// Multiple of the memory for points that are kept, for as long as judging takes.
    const MORE: u64 = 8;
    let (mut groups, mut rest) = (Vec::new(), pairs);
    while let Some(first) = rest.first() {
        let room = first.candidate.series.room().map_or(u64::MAX, |room| room.limit().saturating_mul(MORE));
        let mut bytes = 0;
        let fits = |pair: &&&PairedSources<'_>| {
            let points = pair.baseline.series.shape().len + pair.candidate.series.shape().len;
            bytes += BYTES * points as u64;
            bytes <= room
        };
        let (group, others) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        groups.push(group);
        rest = others;
    }
    groups
}

impl CurvePair<'_> {
    /// Whether more of it is better; `None` where a difference in either direction counts.
    pub(crate) fn more_is_better(&self) -> Option<bool> {
        more_is_better(&self.metric, self.role)
    }

    /// The metric, with its rank where ranks differ.
    pub fn name(&self) -> String {
        curve_name(&self.metric, self.rank)
    }

    /// The key that its points were paired by, as results name it.
    pub fn paired_by(&self) -> &'static str {
        match self.points.by {
            PairedBy::Step => self.baseline.series.counter.as_str(),
            other => other.as_str(),
        }
    }

    /// The reason for which nothing of both sides belongs together.
    pub(crate) fn obstacle(&self) -> Option<PairingObstacle> {
        align::obstacle(&self.baseline.series, &self.candidate.series)
    }
}

impl<'a> CurvePairing<'a> {
    fn one_sided(&mut self, (metric, rank): CurveId, side: Side, clusters: &[Cluster<'a>]) {
        let source = clusters.first().map(|cluster| cluster.best().clone());
        let path = source.as_ref().map(|source| source.path.clone()).unwrap_or_default();
        if side == Side::Candidate {
            self.candidate_only.extend(source.map(|source| ((metric.clone(), rank), source)));
        }
        let role = metric::role(&metric);
        self.unpaired.push(UnpairedCurve::OneSided { role, is_rl: false, metric, rank, side, path });
    }

    fn pair(&mut self, id: &CurveId, baseline: Vec<Cluster<'a>>, candidate: Vec<Cluster<'a>>) -> Result<()> {
        let several =
            [(Side::Baseline, &baseline), (Side::Candidate, &candidate)].into_iter().find_map(|(side, of)| {
                let mut best = of.iter().map(Cluster::best);
                best.find(|source| source.series.order().is_several_runs).map(|source| (side, source.path.clone()))
            });
        if let Some((side, path)) = several {
            let (metric, rank) = id.clone();
            self.unpaired.push(UnpairedCurve::SeveralRuns { metric, rank, side, path });
            return Ok(());
        }
        let (only_b, only_c) = (baseline.len() == 1, candidate.len() == 1);
        if only_b && only_c {
            for (baseline, candidate) in baseline.into_iter().zip(candidate) {
                self.push(id, String::new(), baseline, candidate)?;
            }
            return Ok(());
        }
        let order = match_by_run(&baseline, &candidate).or_else(|| match_by_path(&baseline, &candidate));
        match order {
            Some(order) => {
                let mut candidate: BTreeMap<usize, Cluster<'a>> = candidate.into_iter().enumerate().collect();
                for (baseline, index) in baseline.into_iter().zip(order) {
                    if let Some(candidate) = candidate.remove(&index) {
                        let run = baseline.run().unwrap_or(baseline.best().folder()).to_owned();
                        self.push(id, run, baseline, candidate)?;
                    }
                }
            }
            None => {
                for (side, clusters, only) in
                    [(Side::Baseline, &baseline, only_b), (Side::Candidate, &candidate, only_c)]
                {
                    if !only {
                        let paths = clusters.iter().map(|cluster| cluster.best().path.clone()).collect();
                        let (metric, rank) = id.clone();
                        self.unpaired.push(UnpairedCurve::Ambiguous { metric, rank, side, paths });
                    }
                }
            }
        }
        Ok(())
    }

    fn push(
        &mut self,
        (metric, rank): &CurveId,
        run: String,
        baseline: Cluster<'a>,
        candidate: Cluster<'a>,
    ) -> Result<()> {
        let role = metric::role(metric);
        let (b, c) = cluster::choose(&baseline, &candidate);
        let mut duplicates = Vec::new();
        let baseline = baseline.take(b, Side::Baseline, &mut duplicates)?;
        let candidate = candidate.take(c, Side::Candidate, &mut duplicates)?;
        let skipped = match role {
            Role::GradNorm => self.updates.each_ref().map(|updates| Arc::new(updates::skipped_steps(updates.as_ref()))),
            _ => Default::default(),
        };
        let (metric, rank) = (metric.clone(), *rank);
        self.pairs.push(PairedSources {
            metric,
            rank,
            role,
            is_rl: false,
            run,
            baseline,
            candidate,
            duplicates,
            shift: 0,
            skipped,
        });
        Ok(())
    }

    /// Shifts the candidate's steps where its losses show that the two sides count from different numbers. The shift applies to
    /// every metric from the same file.
    fn shift(&mut self) -> Result<()> {
        let mut shifts: BTreeMap<String, i64> = BTreeMap::new();
        for pair in self.pairs.iter().filter(|pair| pair.role == Role::Loss) {
            let shift = offset::find(&*pair.baseline.series.load()?, &*pair.candidate.series.load()?);
            shifts.extend(shift.map(|shift| (pair.candidate.path.clone(), shift)));
        }
        for pair in &mut self.pairs {
            pair.shift = shifts.get(&pair.candidate.path).copied().unwrap_or_default();
        }
        Ok(())
    }
}

/// Pairs each cluster of the baseline with the one of the candidate whose tracker gave the run the same name; `None` where
/// that is not one to one.
fn match_by_run(baseline: &[Cluster<'_>], candidate: &[Cluster<'_>]) -> Option<Vec<usize>> {
    let names = |clusters: &[Cluster<'_>]| -> Option<Vec<String>> {
        clusters.iter().map(|cluster| cluster.run().map(str::to_owned)).collect()
    };
    let (baseline_names, candidate_names) = (names(baseline)?, names(candidate)?);
    let is_unique = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    if baseline_names.len() != candidate_names.len() || !is_unique(&baseline_names) || !is_unique(&candidate_names) {
        return None;
    }
    baseline_names.iter().map(|name| candidate_names.iter().position(|other| other == name)).collect()
}

/// Pairs each cluster of the baseline with the one of the candidate that holds a file of the same relative path.
///
/// `None` where that is not one to one, or where two clusters of a side share a folder: files side by side that
/// disagree are two stories of one run, and a path does not say which is true.
fn match_by_path(baseline: &[Cluster<'_>], candidate: &[Cluster<'_>]) -> Option<Vec<usize>> {
    if baseline.len() != candidate.len() || cluster::share_a_folder(baseline) || cluster::share_a_folder(candidate) {
        return None;
    }
    let mut used = BTreeSet::new();
    let mut order = Vec::new();
    for cluster in baseline {
        let mut matching =
            (0..candidate.len()).filter(|index| candidate.get(*index).is_some_and(|c| c.shares_path(cluster)));
        let (Some(index), None) = (matching.next(), matching.next()) else { return None };
        if !used.insert(index) {
            return None;
        }
        order.push(index);
    }
    Some(order)
}
