//! Slow drift: a robust line through a series, which single outliers do not change.

use super::rank::mann_kendall;
use super::robust::median;
use super::sample::TrendSample;

/// Fewest runs that show a drift.
pub(crate) const MIN_RUNS: usize = 10;
/// Largest p-value of a drift.
pub(crate) const SIGNIFICANCE: f64 = 0.001;

/// The p-value of a drift of `samples` in either direction; `None` where chance explains it, or there are too few samples.
pub(super) fn significance(samples: &[TrendSample]) -> Option<f64> {
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    let p = mann_kendall(&values);
    (values.len() >= MIN_RUNS && p <= SIGNIFICANCE).then_some(p)
}

/// Scale on which a line is straight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// Constant difference per day.
    Linear,
    /// Constant factor per day.
    Logarithmic,
}

/// A line through samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrendLine {
    scale: Scale,
    slope: f64,
    /// Value at day 0, on the line's scale.
    level: f64,
}

impl TrendLine {
    /// The line of Theil and Sen: its slope is the median slope of all pairs, its level the median residual (H. Theil, 1950;
    /// P. K. Sen, J. Amer. Statist. Assoc. 63, 1968). Up to 29 % of the samples may be outliers.
    ///
    /// Errors grow by factors as often as by sums. So where all values are positive, a line is fitted to their logarithms too, and the line that
    /// is closer to the values, in their own unit, is returned.
    ///
    /// `None` where no two samples lie at different times. Values are finite.
    pub(super) fn fit(samples: &[TrendSample]) -> Option<Self> {
        let linear = Self::on(Scale::Linear, samples)?;
        if samples.iter().any(|sample| sample.value <= 0.0) {
            return Some(linear);
        }
        let logarithmic = Self::on(Scale::Logarithmic, samples)?;
        Some(if logarithmic.cost(samples) < linear.cost(samples) { logarithmic } else { linear })
    }

    fn on(scale: Scale, samples: &[TrendSample]) -> Option<Self> {
        let scaled = |sample: &TrendSample| match scale {
            Scale::Linear => sample.value,
            Scale::Logarithmic => sample.value.ln(),
        };
        let points: Vec<(f64, f64)> = samples.iter().map(|sample| (sample.day, scaled(sample))).collect();
        let pairs = points
            .iter()
            .enumerate()
            .flat_map(|(index, from)| points.iter().skip(index + 1).map(move |to| (to.0 - from.0, to.1 - from.1)));
        let slope = median(pairs.filter(|(days, _)| *days > 0.0).map(|(days, rise)| rise / days))?;
        let level = median(points.iter().map(|(day, value)| value - slope * day))?;
        Some(Self { scale, slope, level })
    }

    /// The line's value on a day.
    pub(super) fn value_at(&self, day: f64) -> f64 {
        let value = self.level + self.slope * day;
        match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.exp(),
        }
    }

    /// Sum of the absolute deviations of the samples from the line.
    pub(super) fn cost(&self, samples: &[TrendSample]) -> f64 {
        samples.iter().map(|sample| (sample.value - self.value_at(sample.day)).abs()).sum()
    }

    /// Slope on `day`, in units of the value per day.
    pub(super) fn per_day(&self, day: f64) -> f64 {
        match self.scale {
            Scale::Linear => self.slope,
            Scale::Logarithmic => self.slope * self.value_at(day),
        }
    }

    /// Days after `day` until the values reach `limit` from below if they go on rising as on that day; `None` where
    /// they fall, or are there.
    ///
    /// The extrapolation is linear on either scale, since an exponential one turns a few early values into an alarm. Growth by factors crosses
    /// the limit earlier, and the predicted day comes closer with every run.
    pub(super) fn days_until(&self, limit: f64, day: f64) -> Option<f64> {
        let days = (limit - self.value_at(day)) / self.per_day(day);
        (days > 0.0 && days.is_finite() && self.slope > 0.0).then_some(days)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: impl IntoIterator<Item = f64>) -> Vec<TrendSample> {
        (0..).map(f64::from).zip(values).map(|(day, value)| TrendSample { day, value }).collect()
    }

    #[test]
    fn a_line_is_found_behind_wild_values() {
        let mut drifting = samples((0..20).map(|day| 1.0 + 0.5 * f64::from(day)));
        for index in [3, 4, 11, 19] {
            drifting[index].value = 500.0;
        }
        let line = TrendLine::fit(&drifting).expect("a line");
        assert!((line.per_day(19.0) - 0.5).abs() < 1e-9);
        assert!((line.days_until(20.0, 19.0).expect("towards it") - 19.0).abs() < 1e-9);
        assert_eq!(line.days_until(5.0, 19.0), None, "it is beyond that");
    }

    #[test]
    fn growth_by_factors_is_told_from_growth_by_sums() {
        let doubling = samples((0..20).map(|day| 1e-6 * (f64::from(day) / 4.0).exp2()));
        let line = TrendLine::fit(&doubling).expect("a line");
        assert_eq!(line.scale, Scale::Logarithmic);
        let now = 1e-6 * (19.0 / 4.0_f64).exp2();
        assert!((line.per_day(19.0) / now - 2.0_f64.ln() / 4.0).abs() < 1e-9);
        // Twice as much takes four nights, by the rise of this night 4 / ln 2.
        let wait = line.days_until(2.0 * now, 19.0).expect("towards it");
        assert!((wait - 4.0 / 2.0_f64.ln()).abs() < 1e-6);
    }

    #[test]
    fn falling_and_level_lines_reach_no_limit() {
        let falling = samples((0..20).map(|day| 100.0 - f64::from(day)));
        assert_eq!(TrendLine::fit(&falling).expect("a line").days_until(200.0, 19.0), None);
        let level = TrendLine::fit(&samples([0.0; 9])).expect("a line");
        assert_eq!((level.days_until(1.0, 8.0), level.value_at(3.0)), (None, 0.0));
        assert!(TrendLine::fit(&[TrendSample { day: 1.0, value: 2.0 }; 3]).is_none(), "all at one time");
    }

    proptest::proptest! {
        #[test]
        fn the_slope_is_the_median_of_all(values in proptest::collection::vec(-9.0_f64..9.0, 2..25)) {
            let samples = samples(values);
            let mut slopes = Vec::new();
            for (index, from) in samples.iter().enumerate() {
                for to in &samples[index + 1..] {
                    slopes.push((to.value - from.value) / (to.day - from.day));
                }
            }
            slopes.sort_by(f64::total_cmp);
            let middle = (slopes[slopes.len() / 2] + slopes[(slopes.len() - 1) / 2]) / 2.0;
            let line = TrendLine::on(Scale::Linear, &samples).expect("a line");
            proptest::prop_assert!((line.slope - middle).abs() < 1e-12);
        }
    }
}
