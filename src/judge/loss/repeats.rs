//! The check that two runs are repeats of one case.
//!
//! Repeats start from the same weights and see the same data, so their losses stay at one level. With another model, data set or
//! learning rate the level differs by far more than randomness explains. Repeats of reinforcement learning have the same
//! settings, and their rewards end at one level.

use super::noise::RepeatMeasures;
use super::rl;
use super::secondary_metrics::{SCHEDULE, schedule_difference};
use crate::compare::curve::CurveMeasures;
use crate::error::Result;
use crate::kind::Role;
use crate::pair::curve::CurvePairing;
use crate::read::metric::role;

/// Largest relative difference of the levels of two repeats. Dropout with other masks leaves the mean of a loss within 0.1 %,
/// different weights within 0.3 % (docs/loss.md); another learning rate or model moves it by tens of percent.
const LEVEL: f64 = 0.05;
/// Largest relative difference of the first five losses of two repeats; dropout moves single steps by 3 %.
const HEAD: f64 = 0.2;
/// Least loss that is judged by its level: a ratio to a number near zero says nothing.
const LEAST_LOSS: f64 = 0.1;
/// Largest difference at the end of the rewards of two repeats, in parts of their scale: five times the default failing limit.
const REWARD: f64 = 0.25;

/// Largest relative difference of the levels of two runs of one model and one data set, whatever their seeds.
const OTHER: f64 = 0.25;

/// Difference between two runs which shows that they are no repeats of each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepeatDifference {
    /// The difference in words.
    pub why: String,
    /// Whether another model, data set or setting explains it, rather than another seed.
    pub is_other: bool,
}

/// The difference which shows that two runs with these measures are no repeats of each other; `None` if they may be.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub(crate) fn repeat_difference(
    pairing: &CurvePairing<'_>,
    measured: &[(String, RepeatMeasures)],
) -> Result<Option<RepeatDifference>> {
    let of_seed = |why: String| RepeatDifference { why, is_other: false };
    if measured.is_empty() {
        return Ok(Some(of_seed("they have no loss, reward or gradient norm at a common step".into())));
    }
    let of_metric = |(metric, repeated): &(String, RepeatMeasures)| match repeated {
        RepeatMeasures::Level(measures) => level(metric, measures),
        RepeatMeasures::Trend(rules) => reward(metric, rules).map(of_seed),
    };
    let setting = setting(pairing)?.map(|why| RepeatDifference { why, is_other: true });
    // A difference of the model, data set or settings goes before one of the seed.
    let found: Vec<RepeatDifference> = setting.into_iter().chain(measured.iter().filter_map(of_metric)).collect();
    Ok(found.iter().find(|one| one.is_other).or(found.first()).cloned())
}

/// A setting of a run of reinforcement learning that differs.
fn setting(pairing: &CurvePairing<'_>) -> Result<Option<String>> {
    let is_setting = |role: Role| matches!(role, Role::LearningRate | Role::Constant);
    for pair in pairing.pairs.iter().filter(|pair| pair.is_rl && is_setting(pair.role)) {
        let points = pair.load()?.points;
        let largest = match pair.role {
            Role::LearningRate => schedule_difference(points.iter()),
            _ => rl::constant_difference(points.iter()),
        };
        if largest.is_some_and(|largest| largest.value > SCHEDULE) {
            return Ok(Some(format!("`{}` differs", pair.metric)));
        }
    }
    Ok(None)
}

fn reward(metric: &str, rules: &[(&'static str, f64)]) -> Option<String> {
    let ends = rules.iter().filter(|(rule, _)| *rule == "reward_tail").map(|(_, apart)| *apart);
    let apart = ends.reduce(f64::max)?;
    (apart > REWARD).then(|| {
        let (apart, most) = (percent(apart), percent(REWARD));
        format!("`{metric}` ends {apart} apart (repeats: at most {most})")
    })
}

fn level(metric: &str, measures: &CurveMeasures) -> Option<RepeatDifference> {
    let (difference, _) = measures.mean_difference;
    let level = difference.abs() / measures.median;
    let head = measures.head.map_or(0.0, |head| head.value);
    if !matches!(role(metric), Role::Loss | Role::EvalLoss) || measures.median < LEAST_LOSS {
        None
    } else if level > LEVEL {
        let (apart, most) = (percent(level), percent(LEVEL));
        let why = format!("`{metric}` differs by {apart} on average (repeats: at most {most})");
        Some(RepeatDifference { why, is_other: level > OTHER })
    } else if head > HEAD {
        let (apart, most) = (percent(head), percent(HEAD));
        let why = format!("`{metric}` differs by {apart} at the start (repeats: at most {most})");
        Some(RepeatDifference { why, is_other: false })
    } else {
        None
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
