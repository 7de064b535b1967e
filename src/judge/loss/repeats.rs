//! Are two runs repeats of one case?
//!
//! Repeats start from the same weights and see the same data, so their losses stay at one level. Between runs of another
//! model, data set or learning rate the level differs by far more than randomness moves it.

use crate::compare::curve::CurveMeasures;
use crate::read::metric::{Role, role};

/// Levels of two repeats are apart by less than this. Dropout with other masks leaves the mean of a loss within 0.1 %, own
/// weights within 0.3 % (docs/loss.md); another learning rate or model moves it by tens of percent.
const LEVEL: f64 = 0.05;
/// The first five losses of two repeats are apart by less than this; dropout moves single steps by 3 %.
const HEAD: f64 = 0.2;
/// A loss that is smaller than this is not judged by its level: a ratio to a number near zero says nothing.
const LEAST_LOSS: f64 = 0.1;

/// Reason why two runs with these measures are not repeats of each other; `None` where they may be.
pub fn difference(measured: &[(String, CurveMeasures)]) -> Option<String> {
    if measured.is_empty() {
        return Some("they have no loss or gradient norm at a common step".into());
    }
    let is_loss = |metric: &str| matches!(role(metric), Role::Loss | Role::EvalLoss);
    measured.iter().filter(|(metric, _)| is_loss(metric)).find_map(|(metric, measures)| {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let (difference, _) = measures.mean_difference;
        let level = difference.abs() / measures.median;
        let head = measures.head.map_or(0.0, |head| head.value);
        match () {
            () if measures.median < LEAST_LOSS => None,
            () if level > LEVEL => Some(format!(
                "`{metric}` differs by {} on average (repeats: at most {})",
                percent(level),
                percent(LEVEL)
            )),
            () if head > HEAD => Some(format!(
                "`{metric}` differs by {} at the start (repeats: at most {})",
                percent(head),
                percent(HEAD)
            )),
            () => None,
        }
    })
}
