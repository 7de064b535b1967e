//! Steps for which a file holds several different values: the worst of them counts.
//!
//! The file does not show which value the run computed. Each value is paired with the nearest one of the other side at its
//! step, and the worst pair enters both series. Two files that hold the same two values therefore agree.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::read::curve::series::Series;

/// Puts the worst pair of values at each step that has several; `more_is_better` is known where one direction is better.
pub(super) fn take_worst(
    baseline: &mut Cow<'_, Series>,
    candidate: &mut Cow<'_, Series>,
    more_is_better: Option<bool>,
) {
    let others = baseline.contradicting.iter().chain(&candidate.contradicting);
    let steps: BTreeSet<u64> = others.map(|(step, _)| *step).collect();
    if steps.is_empty() {
        return;
    }
    let (baseline_values, candidate_values) = (Values::new(baseline, &steps), Values::new(candidate, &steps));
    let mut worst: [BTreeMap<u64, f64>; 2] = Default::default();
    for step in steps {
        let [for_baseline, for_candidate] = &mut worst;
        let (b, c) = worst_pair(&baseline_values.at(step), &candidate_values.at(step), more_is_better);
        for_baseline.extend(b.map(|value| (step, value)));
        for_candidate.extend(c.map(|value| (step, value)));
    }
    let [for_baseline, for_candidate] = worst;
    replace(baseline, &for_baseline);
    replace(candidate, &for_candidate);
}

/// Values of a side at some steps.
struct Values {
    at: BTreeMap<u64, Vec<f64>>,
    /// Steps and values of the series, to look for the nearest step.
    points: BTreeMap<u64, f64>,
}

impl Values {
    fn new(series: &Series, steps: &BTreeSet<u64>) -> Self {
        let points: BTreeMap<u64, f64> = series.points().collect();
        let mut at: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let due = series.points().filter(|(step, _)| steps.contains(step));
        for (step, value) in due.chain(series.contradicting.iter().copied()) {
            at.entry(step).or_default().push(value);
        }
        Self { at, points }
    }

    /// The values at a step, or those of the nearest one where the side does not log it.
    fn at(&self, step: u64) -> Vec<f64> {
        let nearest = || self.points.range(step..).next().or_else(|| self.points.range(..step).next_back());
        self.at.get(&step).cloned().unwrap_or_else(|| nearest().map(|(_, value)| *value).into_iter().collect())
    }
}

/// The worst pair of a value with the nearest one of the other side. Among equally bad pairs, one that is not finite wins, then
/// the largest.
fn worst_pair(baseline: &[f64], candidate: &[f64], more_is_better: Option<bool>) -> (Option<f64>, Option<f64>) {
    let by_baseline = baseline.iter().filter_map(|b| Some((*b, nearest(*b, candidate)?)));
    let by_candidate = candidate.iter().filter_map(|c| Some((nearest(*c, baseline)?, *c)));
    let rank =
        |(b, c): &(f64, f64)| (badness(*b, *c, more_is_better), if c.is_finite() { c.abs() } else { f64::INFINITY });
    let higher = |a: &(f64, f64), b: &(f64, f64)| rank(a).0.total_cmp(&rank(b).0).then(rank(a).1.total_cmp(&rank(b).1));
    let worst = by_baseline.chain(by_candidate).max_by(higher);
    worst.map_or((None, None), |(b, c)| (Some(b), Some(c)))
}

fn nearest(value: f64, others: &[f64]) -> Option<f64> {
    others.iter().copied().min_by(|a, b| badness(value, *a, None).total_cmp(&badness(value, *b, None)))
}

/// Relative distance of a candidate's value from the baseline's, in the worse direction; infinite where only one is finite.
fn badness(baseline: f64, candidate: f64, more_is_better: Option<bool>) -> f64 {
    match (baseline.is_finite(), candidate.is_finite()) {
        (true, true) => {
            let above = (candidate - baseline) / baseline.abs().max(f64::MIN_POSITIVE);
            more_is_better.map_or(above.abs(), |more| if more { -above } else { above })
        }
        (false, false) => 0.0,
        _ => f64::INFINITY,
    }
}

/// Replaces the series' values at the given steps; steps that the series lacks are ignored.
fn replace(series: &mut Cow<'_, Series>, worst: &BTreeMap<u64, f64>) {
    let changed = series.points().enumerate().filter_map(|(place, (step, value))| {
        worst.get(&step).filter(|worst| worst.to_bits() != value.to_bits()).map(|worst| (place, *worst))
    });
    let changed: Vec<(usize, f64)> = changed.collect();
    if changed.is_empty() {
        return;
    }
    let values = &mut series.to_mut().values;
    for (place, value) in changed {
        values.get_mut(place).into_iter().for_each(|slot| *slot = value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worst(baseline: &[(u64, f64)], candidate: &[(u64, f64)], more_is_better: Option<bool>) -> [Vec<f64>; 2] {
        let series = |points: &[(u64, f64)]| Series::by_step("loss", points.iter().copied());
        let (baseline, candidate) = (series(baseline), series(candidate));
        let (mut baseline, mut candidate) = (Cow::Borrowed(&baseline), Cow::Borrowed(&candidate));
        take_worst(&mut baseline, &mut candidate, more_is_better);
        [baseline.values.clone(), candidate.values.clone()]
    }

    #[test]
    fn the_worst_of_two_values_stands() {
        let once = [(1, 2.0), (2, 1.0)];
        assert_eq!(worst(&once, &[(1, 3.0), (1, 2.0), (2, 1.0)], None), [vec![2.0, 1.0], vec![3.0, 1.0]]);
        assert_eq!(worst(&once, &[(1, 2.0), (1, 3.0), (2, 1.0)], None), [vec![2.0, 1.0], vec![3.0, 1.0]]);
        assert_eq!(worst(&once, &[(1, 1.5), (1, 9.0)], Some(true))[1], [1.5], "the worse direction");
        assert!(worst(&once, &[(1, f64::NAN), (1, 2.0), (2, 1.0)], None)[1][0].is_nan());
        assert_eq!(worst(&[(1, 2.0), (1, 3.0)], &[(1, 2.0)], None), [[3.0], [2.0]], "of the baseline too");
        assert!(worst(&[(2, 2.0)], &[(1, f64::INFINITY), (1, 2.0)], None)[1][0].is_infinite(), "without a partner");
    }

    #[test]
    fn sides_with_the_same_values_agree() {
        let twice = [(1, 2.0), (1, 3.0), (2, 1.0)];
        let swapped = [(1, 3.0), (1, 2.0), (2, 1.0)];
        let [baseline, candidate] = worst(&twice, &swapped, None);
        assert_eq!(baseline, candidate);
    }
}
