//! Values of one rule of one unit over the runs of a suite, from which trends are computed.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::record::{Record, RecordedMeasure};
use crate::result::outcome::LimitDirection;
use crate::verdict::{CheckId, Verdict};

/// The measured values of one rule, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSeries {
    /// The suite of the runs.
    pub suite: String,
    /// The check that the rule belongs to.
    pub check: CheckId,
    /// The unit, as [`AnyUnit::name`](crate::result::unit::AnyUnit::name) calls it: a metric, a step and rank, a checkpoint, a
    /// checker.
    pub unit: String,
    /// The rule's stable name.
    pub rule: String,
    /// Side of its limits on which a value has to lie, in the latest run.
    pub direction: LimitDirection,
    /// Limit beyond which the rule warns, in the latest run.
    pub warn: Option<f64>,
    /// Limit beyond which the rule fails, in the latest run.
    pub fail: Option<f64>,
    /// Points of the runs in which the rule was measured, by time, then commit. A run without a value leaves no point.
    pub points: Vec<SeriesPoint>,
}

/// Value of one run in a series.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesPoint {
    /// Time at which the run was judged.
    pub time: Timestamp,
    /// The judged commit; empty where it is unknown.
    pub commit: String,
    /// The measured value, in the rule's own unit; it may be infinite or NaN.
    pub value: f64,
    /// The rule's verdict.
    pub verdict: Verdict,
}

/// The series of every rule in `records`, by suite, check, unit and rule.
pub fn series_of(records: &[&Record]) -> Vec<RuleSeries> {
    let mut by_time = records.to_vec();
    by_time.sort_by(|a, b| (a.time, &a.commit).cmp(&(b.time, &b.commit)));
    let mut series: BTreeMap<(&str, CheckId, &str, &str), RuleSeries> = BTreeMap::new();
    for record in by_time {
        for measure in &record.measures {
            let key = (record.suite.as_str(), measure.check, measure.unit.as_str(), measure.rule.as_str());
            series.entry(key).or_insert_with(|| RuleSeries::new(record, measure)).add(record, measure);
        }
    }
    series.into_values().filter(|series| !series.points.is_empty()).collect()
}

impl RuleSeries {
    fn new(record: &Record, measure: &RecordedMeasure) -> Self {
        Self {
            suite: record.suite.to_string(),
            check: measure.check,
            unit: measure.unit.clone(),
            rule: measure.rule.clone(),
            direction: measure.direction(),
            warn: None,
            fail: None,
            points: Vec::new(),
        }
    }

    fn add(&mut self, record: &Record, measure: &RecordedMeasure) {
        (self.warn, self.fail) = (measure.warn.map(|limit| limit.0), measure.fail.map(|limit| limit.0));
        self.direction = measure.direction();
        let Some(value) = measure.value else { return };
        let point =
            SeriesPoint { time: record.time, commit: record.commit.clone(), value: value.0, verdict: measure.verdict };
        self.points.push(point);
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;
    use crate::result::number::Number;

    #[test]
    fn each_rule_is_a_series_in_order_of_time() {
        let mut third = record(3, &[]);
        third.measures[0].fail = Some(Number(0.02));
        let mut unmeasured = record(2, &[]);
        unmeasured.measures[0].value = None;
        let series = series_of(&[&third, &record(1, &[]), &unmeasured]);
        let [only] = series.as_slice() else { panic!("{series:?}") };
        let commits: Vec<&str> = only.points.iter().map(|point| &point.commit[..2]).collect();
        assert_eq!(commits, ["01", "03"], "a run without a value leaves no point");
        assert_eq!((only.unit.as_str(), only.rule.as_str(), only.fail), ("loss", "mean_rel", Some(0.02)));
    }
}
