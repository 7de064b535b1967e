//! Steps for which a file holds values that differ: those count that lie worst.
//!
//! Nothing says which of them the run computed. Each value looks for the nearest one of the other side at its step; the pair
//! that is worst then stands in both series. Two files that hold the same two values therefore agree.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::read::curve::series::Series;

/// Lets the worst values stand at the steps with several of them; `more_is_better` where the metric has a better direction.
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
    let (ours, theirs) = (Values::new(baseline, &steps), Values::new(candidate, &steps));
    let mut worst: [BTreeMap<u64, f64>; 2] = Default::default();
    for step in steps {
        let [for_baseline, for_candidate] = &mut worst;
        let (b, c) = worst_pair(&ours.at(step), &theirs.at(step), more_is_better);
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

/// The worst pair of a value with the nearest one of the other side; of equally bad ones the pair that is not finite, else the
/// largest.
fn worst_pair(ours: &[f64], theirs: &[f64], more_is_better: Option<bool>) -> (Option<f64>, Option<f64>) {
    let of_ours = ours.iter().filter_map(|b| Some((*b, nearest(*b, theirs)?)));
    let of_theirs = theirs.iter().filter_map(|c| Some((nearest(*c, ours)?, *c)));
    let rank =
        |(b, c): &(f64, f64)| (badness(*b, *c, more_is_better), if c.is_finite() { c.abs() } else { f64::INFINITY });
    let higher = |a: &(f64, f64), b: &(f64, f64)| rank(a).0.total_cmp(&rank(b).0).then(rank(a).1.total_cmp(&rank(b).1));
    let worst = of_ours.chain(of_theirs).max_by(higher);
    worst.map_or((None, None), |(b, c)| (Some(b), Some(c)))
}

fn nearest(value: f64, others: &[f64]) -> Option<f64> {
    others.iter().copied().min_by(|a, b| badness(value, *a, None).total_cmp(&badness(value, *b, None)))
}

/// Distance of a candidate's value from the baseline's, in the worse direction; infinite where one of them alone is finite.
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

/// Puts values at their steps; those that the series does not have stay away.
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

    fn worst(ours: &[(u64, f64)], theirs: &[(u64, f64)], more_is_better: Option<bool>) -> [Vec<f64>; 2] {
        let series = |points: &[(u64, f64)]| Series::by_step("loss", points.iter().copied());
        let (ours, theirs) = (series(ours), series(theirs));
        let (mut ours, mut theirs) = (Cow::Borrowed(&ours), Cow::Borrowed(&theirs));
        take_worst(&mut ours, &mut theirs, more_is_better);
        [ours.values.clone(), theirs.values.clone()]
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
        let [ours, theirs] = worst(&twice, &swapped, None);
        assert_eq!(ours, theirs);
    }
}
