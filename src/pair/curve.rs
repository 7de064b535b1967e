//! Pairing of training curves: metric with metric, step with step.
//!
//! Two questions: which files of the two sides belong together ([`cluster`]), and which values ([`align`]). Values
//! are looked at for one purpose only: to see whether several files of one side tell the same story.

pub mod align;
pub mod cluster;
pub mod source;

use std::collections::{BTreeMap, BTreeSet};

use crate::read::curve::CurveFile;
use crate::read::metric::{self, Role};
use crate::verdict::Side;
use align::Aligned;
use cluster::Cluster;
use source::Source;

/// One metric of both sides.
#[derive(Debug)]
pub struct CurvePair<'a> {
    /// Canonical name of the metric.
    pub metric: String,
    /// Role of the metric.
    pub role: Role,
    /// Folder of this run, where several lie beside each other; else empty.
    pub run: String,
    /// The trusted side.
    pub baseline: Source<'a>,
    /// The judged side.
    pub candidate: Source<'a>,
    /// Other files of either side that say the same.
    pub duplicates: Vec<(Side, String)>,
    /// The values, step by step.
    pub points: Aligned<'a>,
}

/// A metric that could not be paired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unpaired {
    /// Several sources, and nothing says which is meant.
    Ambiguous {
        /// The metric.
        metric: String,
        /// The side with several sources.
        side: Side,
        /// Their paths.
        paths: Vec<String>,
    },
    /// One side does not have it.
    OneSided {
        /// The metric.
        metric: String,
        /// Role of the metric.
        role: Role,
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
    pub pairs: Vec<CurvePair<'a>>,
    /// The rest.
    pub unpaired: Vec<Unpaired>,
}

/// Pairs the curves of two sides.
pub fn pair_curves<'a>(baseline: &'a [CurveFile], candidate: &'a [CurveFile]) -> CurvePairing<'a> {
    let mut sides = (cluster::by_metric(baseline), cluster::by_metric(candidate));
    let metrics: BTreeSet<String> = sides.0.keys().chain(sides.1.keys()).cloned().collect();
    let mut pairing = CurvePairing::default();
    for metric in metrics {
        match (sides.0.remove(&metric), sides.1.remove(&metric)) {
            (Some(baseline), Some(candidate)) => pairing.pair(&metric, baseline, candidate),
            (Some(only), None) => pairing.one_sided(metric, Side::Baseline, &only),
            (None, Some(only)) => pairing.one_sided(metric, Side::Candidate, &only),
            (None, None) => {}
        }
    }
    // The plain loss leads, as it is what a report shows first.
    pairing.pairs.sort_by(|a, b| {
        let key = |pair: &CurvePair<'_>| (pair.role, pair.metric != "loss", pair.metric.clone(), pair.run.clone());
        key(a).cmp(&key(b))
    });
    pairing
}

impl<'a> CurvePairing<'a> {
    fn one_sided(&mut self, metric: String, side: Side, clusters: &[Cluster<'a>]) {
        let path = clusters.first().map(|cluster| cluster.best().path.clone()).unwrap_or_default();
        self.unpaired.push(Unpaired::OneSided { role: metric::role(&metric), metric, side, path });
    }

    fn pair(&mut self, metric: &str, baseline: Vec<Cluster<'a>>, candidate: Vec<Cluster<'a>>) {
        let (only_b, only_c) = (baseline.len() == 1, candidate.len() == 1);
        if only_b && only_c {
            for (baseline, candidate) in baseline.into_iter().zip(candidate) {
                self.push(metric, String::new(), baseline, candidate);
            }
            return;
        }
        match match_by_path(&baseline, &candidate) {
            Some(order) => {
                let mut candidate: BTreeMap<usize, Cluster<'a>> = candidate.into_iter().enumerate().collect();
                for (baseline, index) in baseline.into_iter().zip(order) {
                    if let Some(candidate) = candidate.remove(&index) {
                        self.push(metric, baseline.best().folder().to_owned(), baseline, candidate);
                    }
                }
            }
            None => {
                for (side, clusters, only) in
                    [(Side::Baseline, &baseline, only_b), (Side::Candidate, &candidate, only_c)]
                {
                    if !only {
                        let paths = clusters.iter().map(|cluster| cluster.best().path.clone()).collect();
                        self.unpaired.push(Unpaired::Ambiguous { metric: metric.to_owned(), side, paths });
                    }
                }
            }
        }
    }

    fn push(&mut self, metric: &str, run: String, baseline: Cluster<'a>, candidate: Cluster<'a>) {
        let role = metric::role(metric);
        let (b, c) = cluster::choose(&baseline, &candidate);
        let mut duplicates = Vec::new();
        let baseline = baseline.take(b, Side::Baseline, &mut duplicates);
        let candidate = candidate.take(c, Side::Candidate, &mut duplicates);
        let points = align::align(&baseline, &candidate, role.is_averaged());
        self.pairs.push(CurvePair { metric: metric.to_owned(), role, run, baseline, candidate, duplicates, points });
    }
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
