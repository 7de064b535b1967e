//! Finds steps in a series: changes of its level that stayed.

use super::drift::{self, TrendLine};
use super::rank::mann_whitney;
use super::robust::{median, spread};
use super::sample::TrendSample;

/// Fewest runs on either side of a step: with three good ones, a median ignores one outlier.
pub(crate) const MIN_SIDE: usize = 4;
/// Largest p-value of a step, corrected for the number of places where it could be.
pub(crate) const SIGNIFICANCE: f64 = 0.01;
/// Smallest step, in standard deviations of the values around their levels (from their median absolute deviation).
///
/// The medians of two halves of an even slope lie at most 2.7 such deviations apart, so that a drift alone is no step.
pub(crate) const MIN_DEVIATIONS: f64 = 3.0;
/// Smallest step, relative to the level before it: a smaller one needs no action.
pub(crate) const MIN_RELATIVE: f64 = 0.1;
/// Least reduction of the sum of absolute deviations, in standard deviations, that justifies one more level. Noise alone reduces it less.
const LEVEL_PENALTY: f64 = 5.0;

/// A step between two neighbouring samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LevelStep {
    /// Index of the first sample after it.
    pub(super) at: usize,
    /// Median of the level before it.
    pub(super) before: f64,
    /// Median after it.
    pub(super) after: f64,
    /// P-value, 0 to 1.
    pub(super) p: f64,
}

/// State at the end of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Regime {
    /// Index of its first sample.
    pub(super) start: usize,
    /// The step at its start; `None` where the regime is the whole series, or began with a bend.
    pub(super) step: Option<LevelStep>,
}

/// The present regime of `samples`: everything after the last step, or after the last bend into a drift.
///
/// The series is cut into the levels that fit it best (least absolute deviations from their medians, at least
/// [`MIN_SIDE`] samples each, every further level at a price; B. Jackson and others, IEEE Signal Process. Lett. 12,
/// 2005). Then the cuts are tried from the last one back, and one that does not hold is forgotten. A cut between a
/// level and everything after it holds where
///
/// * the medians differ by [`MIN_DEVIATIONS`] and by [`MIN_RELATIVE`],
/// * it saves the price of a level against one line through all of the values,
/// * the exact Mann-Whitney test, times the number of places where a series could be cut (Bonferroni), gives at most
///   [`SIGNIFICANCE`].
///
/// The test is the one that A. N. Pettitt (Appl. Statist. 28, 1979) scans a series with; his approximation of its
/// significance does not hold for the few runs that follow a fresh step. Where the level before begins is chosen by the
/// same values too, which no factor pays for; measured with that, of a thousand quiet series of thirty nights, looked at
/// every night, 4 (normal noise) to 17 (log-normal) show a step on any night (`docs/trend.md`). Fewer than twice [`MIN_SIDE`] samples are
/// one regime. Values are finite, samples in order of time.
pub(super) fn present_regime(samples: &[TrendSample]) -> Regime {
    // Most rules of most runs measure the same every night.
    if values(samples).zip(values(samples).skip(1)).all(|(value, next)| value.total_cmp(&next).is_eq()) {
        return Regime::default();
    }
    let cuts = cuts(samples);
    let starts = cuts.iter().rev().skip(1).copied().chain([0]);
    for (at, start) in cuts.iter().rev().copied().zip(starts) {
        let Some(cut) = samples.get(start..).and_then(|samples| Cut::near(samples, at - start)) else { continue };
        let places = (samples.len() + 1).saturating_sub(2 * MIN_SIDE);
        if let Some(p) = cut.significance(places) {
            let start = start + cut.early.len();
            let step = LevelStep { at: start, before: cut.before, after: cut.after, p };
            return Regime { start, step: (!cut.is_bend()).then_some(step) };
        }
    }
    Regime::default()
}

/// Indexes at which the levels that fit best begin, without the first one; in order.
fn cuts(samples: &[TrendSample]) -> Vec<usize> {
    let all: Vec<f64> = values(samples).collect();
    let jumps = all.windows(2).filter_map(|pair| Some(pair.last()? - pair.first()?));
    // Differences of neighbours do not depend on levels, and have twice the variance of the values.
    let price = LEVEL_PENALTY * spread(jumps) / std::f64::consts::SQRT_2;
    // For each end: the least cost of the values before it, and where its last level begins.
    let mut best: Vec<(f64, usize)> = vec![(-price, 0)];
    for end in 1..=all.len() {
        let level = |start: usize, cost: f64| Some((cost + price + deviations(all.get(start..end)?), start));
        let starts = best.iter().map(|(cost, _)| *cost).enumerate();
        let fits = starts.filter(|(start, _)| end - start >= MIN_SIDE && (*start == 0 || *start >= MIN_SIDE));
        let fits = fits.filter_map(|(start, cost)| level(start, cost));
        best.push(fits.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0)));
    }
    let before = |end: &usize| best.get(*end).map(|(_, start)| *start).filter(|start| *start > 0);
    let mut cuts: Vec<usize> = std::iter::successors(before(&all.len()), before).collect();
    cuts.reverse();
    cuts
}

/// Sum of the absolute deviations from the median; 0 without values.
fn deviations(values: &[f64]) -> f64 {
    let level = median(values.iter().copied()).unwrap_or(0.0);
    values.iter().map(|value| (value - level).abs()).sum()
}

/// A cut between a level and everything after it.
struct Cut<'a> {
    early: &'a [TrendSample],
    late: &'a [TrendSample],
    before: f64,
    after: f64,
    /// The line after the cut, where a drift and not a level follows.
    drift: Option<TrendLine>,
    /// Standard deviation of the values around both levels, or around level and line.
    deviation: f64,
    /// Sum of the absolute deviations of the values from their levels.
    cost: f64,
    /// Sum of the absolute deviations of the values from one line through all of them.
    line_cost: f64,
}

impl<'a> Cut<'a> {
    /// The cut before the sample `at`. Where a drift follows, no level fits it, so the cut is moved to where level and line fit best.
    fn near(samples: &'a [TrendSample], at: usize) -> Option<Self> {
        let cut = Self::at(samples, at)?;
        if cut.drift.is_none() {
            return Some(cut);
        }
        let places = MIN_SIDE..samples.len();
        let others = places.filter_map(|at| Self::at(samples, at)).filter(|cut| cut.drift.is_some());
        others.min_by(|a, b| a.cost.total_cmp(&b.cost))
    }

    fn at(samples: &'a [TrendSample], at: usize) -> Option<Self> {
        let (early, late) = samples.split_at_checked(at)?;
        let (before, after) = (median(values(early))?, median(values(late))?);
        let drift = drift::significance(late).and_then(|_| TrendLine::fit(late));
        let followed = |sample: &TrendSample| drift.map_or(after, |line| line.value_at(sample.day));
        let beside_level = early.iter().map(|sample| sample.value - before);
        let beside: Vec<f64> =
            beside_level.chain(late.iter().map(|sample| sample.value - followed(sample))).map(f64::abs).collect();
        Some(Self {
            early,
            late,
            before,
            after,
            drift,
            deviation: spread(beside.iter().copied()),
            cost: beside.iter().sum(),
            line_cost: TrendLine::fit(samples).map_or(f64::INFINITY, |line| line.cost(samples)),
        })
    }

    /// The p-value of a cut that holds, corrected for the number of `places`; `None` where it does not hold.
    #[allow(clippy::cast_precision_loss, reason = "a few dozen places")]
    fn significance(&self, places: usize) -> Option<f64> {
        // The cheap conditions come first: the exact test runs only where its result matters.
        if !self.is_large(self.after) || self.cost + LEVEL_PENALTY * self.deviation >= self.line_cost {
            return None;
        }
        let (early, late): (Vec<f64>, Vec<f64>) = (values(self.early).collect(), values(self.late).collect());
        let p = (mann_whitney(&early, &late) * places as f64).min(1.0);
        (p <= SIGNIFICANCE).then_some(p)
    }

    /// Whether a value lies far enough from the level before.
    fn is_large(&self, value: f64) -> bool {
        let size = (value - self.before).abs();
        size > 0.0 && size >= MIN_DEVIATIONS * self.deviation && size >= MIN_RELATIVE * self.before.abs()
    }

    /// Whether the values began to drift here instead of jumping: the line, continued back by a few runs into the level, comes close to the level
    /// or crosses it. The start of a drift is only known to within a few runs.
    fn is_bend(&self) -> bool {
        let back = self.early.len().checked_sub(MIN_SIDE).and_then(|index| self.early.get(index));
        self.drift.zip(back).is_some_and(|(line, back)| {
            let (rise, begun) = (self.after - self.before, line.value_at(back.day) - self.before);
            begun * rise <= 0.0 || !self.is_large(line.value_at(back.day))
        })
    }
}

fn values(samples: &[TrendSample]) -> impl Iterator<Item = f64> {
    samples.iter().map(|sample| sample.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::selftest::synthetic::Random;

    fn samples(values: impl IntoIterator<Item = f64>) -> Vec<TrendSample> {
        (0..).map(f64::from).zip(values).map(|(day, value)| TrendSample { day, value }).collect()
    }

    fn noisy(count: usize, seed: u64, level: impl Fn(usize) -> f64) -> Vec<TrendSample> {
        let mut random = Random::new(seed);
        samples((0..count).map(|night| level(night) + random.normal()))
    }

    #[test]
    fn a_step_is_found_at_its_night() {
        for seed in 0..50 {
            let series = noisy(30, seed, |night| if night < 18 { 20.0 } else { 30.0 });
            let step = present_regime(&series).step.expect("a step of ten deviations");
            assert_eq!(step.at, 18, "seed {seed}");
            assert!((step.before - 20.0).abs() < 1.5 && (step.after - 30.0).abs() < 1.5);
        }
    }

    #[test]
    fn a_step_is_found_after_four_nights_and_not_before() {
        let seen =
            |nights| present_regime(&noisy(nights, 7, |night| if night < 18 { 20.0 } else { 40.0 })).step.is_some();
        assert_eq!((20..=23).map(seen).collect::<Vec<_>>(), [false, false, true, true]);
    }

    #[test]
    fn wild_nights_are_no_step() {
        for seed in 0..50 {
            let wild = |night| if [9, 14, 15, 29].contains(&night) { 500.0 } else { 20.0 };
            assert_eq!(present_regime(&noisy(30, seed, wild)), Regime::default(), "seed {seed}");
        }
    }

    #[test]
    fn the_last_of_several_steps_counts() {
        let level = |night| [20.0, 45.0, 30.0][usize::min(night / 12, 2)];
        let step = present_regime(&noisy(36, 3, level)).step.expect("two steps");
        assert_eq!(step.at, 24);
        assert!((step.before - 45.0).abs() < 2.0, "not since the beginning");
    }

    #[test]
    fn a_drift_is_no_step_wherever_it_begins() {
        for seed in 0..50 {
            assert_eq!(present_regime(&noisy(30, seed, |night| 20.0 + 0.8 * night as f64)).step, None, "seed {seed}");
            let bend = present_regime(&noisy(30, seed, |night| 20.0 + 2.0 * night.saturating_sub(14) as f64));
            assert_eq!(bend.step, None, "seed {seed}");
            assert!((10..20).contains(&bend.start), "seed {seed}: the drift began at night 14, not {}", bend.start);
        }
    }

    #[test]
    fn values_without_noise_step_at_any_size_worth_a_look() {
        let stepped = |high| present_regime(&samples((0..20).map(|night| if night < 12 { 2.0 } else { high }))).step;
        assert!(stepped(2.3).is_some_and(|step| step.at == 12));
        assert_eq!(stepped(2.1), None, "5 %");
        assert!(present_regime(&samples((0..20).map(|night| f64::from(night >= 12)))).step.is_some(), "up from zero");
        assert_eq!(present_regime(&samples([0.0; 30])), Regime::default());
        assert_eq!(present_regime(&[]), Regime::default());
    }

    proptest::proptest! {
        #[test]
        fn the_levels_are_the_cheapest_of_all(values in proptest::collection::vec(-9.0_f64..9.0, 8..15)) {
            let found = cuts(&samples(values.clone()));
            let price = |cuts: &[usize]| {
                let bounds: Vec<usize> = [0].iter().chain(cuts).chain([&values.len()]).copied().collect();
                let cost: f64 = bounds.windows(2).map(|pair| deviations(&values[pair[0]..pair[1]])).sum();
                let jumps = values.windows(2).map(|pair| pair[1] - pair[0]);
                cost + cuts.len() as f64 * LEVEL_PENALTY * spread(jumps) / 2.0_f64.sqrt()
            };
            // Up to two cuts fit into 14 values.
            let mut choices = vec![vec![]];
            for one in MIN_SIDE..=values.len() - MIN_SIDE {
                choices.push(vec![one]);
                choices.extend((one + MIN_SIDE..=values.len() - MIN_SIDE).map(|two| vec![one, two]));
            }
            let least = choices.iter().map(|cuts| price(cuts)).fold(f64::INFINITY, f64::min);
            proptest::prop_assert!(price(&found) <= least + 1e-9, "{:?}", found);
        }

        #[test]
        fn any_numbers_are_survived(values in proptest::collection::vec(proptest::num::f64::NORMAL, 0..40)) {
            let samples = samples(values);
            proptest::prop_assert!(present_regime(&samples).start <= samples.len());
        }
    }
}
