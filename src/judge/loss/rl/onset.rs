//! The step since which a metric is apart from the baseline's, and whether it jumps there or parts more and more.

use super::trend::{Trend, mean};

/// Most points that are looked at; longer curves are cut into as many parts.
const MOST_POINTS: usize = 240;
/// Least share of the difference that the found course explains.
const EXPLAINS: f64 = 0.4;
/// Largest mean difference before a drop, as a share of that after it.
const AGREES: f64 = 0.25;

/// Share of the steps after which a difference begins late: settings that are fixed for a run do not start there.
const LATE: f64 = 0.1;

/// The course of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// The difference is there at all steps.
    Throughout,
    /// The runs agree, and differ by the same amount from this step on.
    Drops(u64),
    /// The difference grows from this step on.
    Grows(u64),
}

impl Course {
    /// Its name in facts.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Throughout => "throughout",
            Self::Drops(_) => "drops",
            Self::Grows(_) => "grows",
        }
    }

    /// The step that it begins at; `None` where it is there from the start.
    pub(super) fn step(self) -> Option<u64> {
        match self {
            Self::Throughout => None,
            Self::Drops(step) | Self::Grows(step) => Some(step),
        }
    }

    /// Whether it begins in the middle of the run.
    #[allow(clippy::cast_precision_loss, reason = "counts of steps")]
    pub(super) fn is_late(self, trend: &Trend) -> bool {
        let before = |step: u64| trend.steps().partition_point(|other| *other < step);
        self.step().is_some_and(|step| before(step) as f64 > LATE * trend.len() as f64)
    }
}

/// A model of the differences: 0 before the point `from`, what it explains of their sum of squares, and its size after that point.
#[derive(Clone, Copy, Debug)]
struct Model {
    from: usize,
    explained: f64,
    size: f64,
}

/// The course of the differences that `apart` makes of baseline and candidate; `None` where no simple one explains them.
#[allow(clippy::cast_precision_loss, reason = "counts of points")]
pub(super) fn course_of(trend: &Trend, apart: impl Fn(f64, f64) -> f64) -> Option<Course> {
    let points = points(trend, apart);
    let apart: Vec<f64> = points.iter().map(|(_, apart)| *apart).collect();
    let total: f64 = apart.iter().map(|apart| apart * apart).sum();
    let drop = best(apart.len(), |from| {
        let after = apart.get(from..)?;
        let sum: f64 = after.iter().sum();
        Some(Model { from, explained: sum * sum / after.len() as f64, size: sum / after.len() as f64 })
    })?;
    let growth = best(apart.len(), |from| {
        let after = (1..).zip(apart.get(from..)?);
        let (mut squares, mut products) = (0.0, 0.0);
        for (place, apart) in after {
            let place = f64::from(place);
            squares += place * place;
            products += place * apart;
        }
        Some(Model { from, explained: products * products / squares, size: products / squares })
    })?;
    let is_drop = drop.explained >= growth.explained;
    let model = if is_drop { drop } else { growth };
    let before = mean(apart.iter().take(model.from).copied());
    let is_clear = total > 0.0 && model.explained > EXPLAINS * total && model.size > 0.0;
    let (step, _) = points.get(model.from).filter(|_| is_clear)?;
    match is_drop {
        true if model.from > 0 => (before.abs() < AGREES * model.size).then_some(Course::Drops(*step)),
        true => Some(Course::Throughout),
        false => Some(Course::Grows(*step)),
    }
}

/// The model that explains most, among those that leave three points after their start.
fn best(points: usize, model: impl Fn(usize) -> Option<Model>) -> Option<Model> {
    let all = (0..points.saturating_sub(2)).filter_map(model);
    all.reduce(|best, next| if next.explained > best.explained { next } else { best })
}

/// First step and mean difference in each part of the curve.
fn points(trend: &Trend, apart: impl Fn(f64, f64) -> f64) -> Vec<(u64, f64)> {
    let size = trend.len().div_ceil(MOST_POINTS).max(1);
    let apart: Vec<f64> = trend.baseline.iter().zip(&trend.candidate).map(|(b, c)| apart(*b, *c)).collect();
    let parts = trend.steps().chunks(size).zip(apart.chunks(size));
    parts.filter_map(|(steps, apart)| Some((*steps.first()?, mean(apart.iter().copied())))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortfall(trend: &Trend) -> Option<Course> {
        course_of(trend, |b, c| b - c)
    }

    fn course(apart: impl Fn(u64) -> f64) -> Option<Course> {
        let noise = |step: u64| if step.is_multiple_of(2) { 0.01 } else { -0.01 };
        shortfall(&Trend::new((1..=120).map(|step| (step, 0.9, 0.9 - apart(step) + noise(step)))))
    }

    #[test]
    fn a_drop_is_told_from_a_growing_gap() {
        assert_eq!(course(|step| if step > 90 { 0.1 } else { 0.0 }), Some(Course::Drops(91)));
        let grows = course(|step| step.saturating_sub(40) as f64 * 0.002).expect("a growing gap");
        assert!(matches!(grows, Course::Grows(step) if (30..50).contains(&step)), "{grows:?}");
        assert_eq!(course(|_| 0.1), Some(Course::Throughout), "lower throughout");
        assert_eq!(course(|step| if (40..50).contains(&step) { 0.1 } else { 0.0 }), None, "a dip");
        assert_eq!(course(|step| if step > 90 { -0.1 } else { 0.0 }), None, "higher");
    }

    #[test]
    fn a_long_curve_is_looked_at_in_parts() {
        let long = Trend::new((1..=24_000).map(|step| (step, 0.9, if step > 18_000 { 0.8 } else { 0.9 })));
        assert_eq!(shortfall(&long), Some(Course::Drops(18_001)));
        assert_eq!(shortfall(&Trend::default()), None);
    }
}
