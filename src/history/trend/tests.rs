//! Whole series: irregular nights, values that are not finite, and where a drift leads.

use jiff::ToSpan;
use jiff::civil::Date;

use super::super::moment::instant;
use super::*;
use crate::result::outcome::LimitDirection;
use crate::verdict::Severity;
use crate::verdict::{CheckId, Verdict};

/// A night's time; nights count from 0.
fn night(index: usize) -> Timestamp {
    let first: Timestamp = "2026-10-01T02:00:00Z".parse().expect("a time");
    first + (24 * i64::try_from(index).expect("small")).hours()
}

/// Days between a day of a result and another one.
fn days_off(day: &Day, other: &str) -> i32 {
    let (one, other): (Date, Date) = (day.as_str().parse().expect("a day"), other.parse().expect("a day"));
    one.since(other).expect("close").get_days().abs()
}

fn series(points: impl IntoIterator<Item = (usize, f64)>) -> RuleSeries {
    let point = |(index, value)| SeriesPoint {
        time: night(index),
        commit: format!("{index:040}"),
        value,
        verdict: Verdict::Pass,
    };
    RuleSeries {
        suite: "nightly".into(),
        check: CheckId::Loss,
        unit: "loss".into(),
        rule: "mean_rel".into(),
        direction: LimitDirection::AtMost,
        warn: Some(100.0),
        fail: Some(200.0),
        points: points.into_iter().map(point).collect(),
    }
}

/// Values around a level, evenly spread over plus and minus 1.7 in an order without pattern (the golden ratio's).
fn noisy(nights: usize, level: impl Fn(usize) -> f64) -> Vec<(usize, f64)> {
    let noise = |night: usize| 3.4 * ((0.618_034 * night as f64).fract() - 0.5);
    (0..nights).map(|night| (night, level(night) + noise(night))).collect()
}

fn codes(trend: &Trend) -> Vec<String> {
    finding::trend_findings(trend).into_iter().map(|finding| finding.code).collect()
}

#[test]
fn a_drift_names_the_day_it_crosses() {
    let trend = trend_of(&series(noisy(30, |night| 20.0 + 2.0 * night as f64)));
    let drift = trend.drift.as_ref().expect("a drift of two deviations a night");
    let crossing = drift.crosses.as_ref().expect("within the horizon");
    // 20 + 2 t = 100 on night 40, 10 November.
    let (limit, off) = (crossing.limit, days_off(&crossing.on, "2026-11-10"));
    assert_eq!(limit, Limit::Warn);
    assert!(off <= 1, "{}", crossing.on);
    assert_eq!((codes(&trend), trend.change.is_none()), (vec!["history-drift".to_owned()], true));
}

#[test]
fn beyond_the_first_limit_a_drift_is_held_against_the_second() {
    let trend = trend_of(&series(noisy(30, |night| 110.0 + 2.0 * night as f64)));
    assert_eq!(trend.drift.and_then(|drift| drift.crosses).map(|crossing| crossing.limit), Some(Limit::Fail));
}

#[test]
fn a_drift_that_leads_nowhere_is_no_finding() {
    for slope in [-1.0, 0.4] {
        let trend = trend_of(&series(noisy(30, |night| 40.0 + slope * night as f64)));
        let drift = trend.drift.as_ref().expect("a drift");
        assert_eq!((drift.per_day.0 > 0.0, drift.crosses.is_none()), (slope > 0.0, true));
        assert_eq!(codes(&trend), Vec::<String>::new());
    }
}

#[test]
fn a_step_is_news_for_two_weeks() {
    let stepped = |nights| trend_of(&series(noisy(nights, |night| if night < 18 { 20.0 } else { 40.0 })));
    let fresh = stepped(25);
    let change = fresh.change.as_ref().expect("a step");
    assert_eq!(
        (instant(&change.last_before.time), instant(&change.first_after.time), change.runs),
        (night(17), night(18), 7)
    );
    assert_eq!(finding::trend_findings(&fresh)[0].severity, Severity::Warn);
    assert!(fresh.median.is_some_and(|median| (median.0 - 40.0).abs() < 2.0), "of the present level");
    let old = stepped(40);
    assert_eq!((old.change.is_some(), codes(&old)), (true, vec![]));
}

#[test]
fn a_step_down_is_told_and_does_not_warn() {
    let mut better = series(noisy(25, |night| if night < 18 { 40.0 } else { 20.0 }));
    assert_eq!(finding::trend_findings(&trend_of(&better))[0].severity, Severity::Info);
    (better.warn, better.fail) = (None, None);
    assert_eq!(finding::trend_findings(&trend_of(&better))[0].severity, Severity::Warn, "nobody knows what is better");
}

/// A correlation that has to be at least 0.99.
fn correlation(points: impl IntoIterator<Item = (usize, f64)>) -> RuleSeries {
    RuleSeries {
        rule: "pcc-0.99".into(),
        direction: LimitDirection::AtLeast,
        warn: None,
        fail: Some(0.99),
        ..series(points)
    }
}

#[test]
fn a_falling_correlation_drifts_towards_its_lower_limit() {
    let trend = trend_of(&correlation((0..20).map(|night| (night, 0.9999 - 0.0003 * night as f64))));
    let drift = trend.drift.as_ref().expect("a drift");
    assert!(drift.per_day.0 < 0.0 && drift.now.0 < drift.then.0 && drift.now.0 > 0.99, "{drift:?}");
    let crossing = drift.crosses.as_ref().expect("0.99 is 14 nights away");
    // 0.9999 - 0.0003 t = 0.99 on night 33, 3 November.
    let off = days_off(&crossing.on, "2026-11-03");
    assert_eq!((crossing.limit, off <= 1), (Limit::Fail, true), "{}", crossing.on);
    assert_eq!(codes(&trend), ["history-drift"]);
    assert!(closeness(&trend) > 0.25, "of the way from 1 to 0.99: {}", closeness(&trend));
}

#[test]
fn a_rising_correlation_drifts_nowhere() {
    let rising = trend_of(&correlation((0..20).map(|night| (night, 0.991 + 0.0003 * night as f64))));
    let drift = rising.drift.as_ref().expect("a drift");
    assert!(drift.per_day.0 > 0.0 && drift.crosses.is_none(), "{drift:?}");
    assert_eq!(codes(&rising), Vec::<String>::new());
}

#[test]
fn a_correlation_that_steps_down_warns_and_one_that_steps_up_does_not() {
    let severity = |before: f64, after: f64| {
        let trend = trend_of(&correlation((0..25).map(|night| (night, if night < 18 { before } else { after }))));
        let change = trend.change.as_ref().expect("a step");
        assert!((change.before.0 - before).abs() < 1e-12 && (change.after.0 - after).abs() < 1e-12);
        finding::trend_findings(&trend)[0].severity
    };
    assert_eq!(severity(0.9999, 0.994), Severity::Warn);
    assert_eq!(severity(0.994, 0.9999), Severity::Info);
    assert_eq!(severity(0.9999, 0.9996), Severity::Info, "4 % of the way to the limit");
}

#[test]
fn the_best_of_a_lower_limit_beyond_1_is_not_known() {
    let severity = |before: f64, after: f64| {
        let mut speed = correlation((0..25).map(|night| (night, if night < 18 { before } else { after })));
        speed.fail = Some(500.0);
        finding::trend_findings(&trend_of(&speed))[0].severity
    };
    assert_eq!(severity(1000.0, 700.0), Severity::Warn);
    assert_eq!(severity(700.0, 1000.0), Severity::Info);
}

#[test]
fn a_signed_value_is_held_by_its_magnitude() {
    let mut tail = series(noisy(30, |night| -20.0 - 2.0 * night as f64));
    tail.direction = LimitDirection::Within;
    assert_eq!(codes(&trend_of(&tail)), ["history-drift"]);
}

#[test]
fn a_step_far_below_its_limit_warns_only_if_it_is_large() {
    let severity = |low: f64, high: f64| {
        let values = (0..25).map(|night| (night, if night < 18 { low } else { high }));
        finding::trend_findings(&trend_of(&series(values)))[0].severity
    };
    assert_eq!(severity(5.0, 9.0), Severity::Info);
    assert_eq!(severity(0.0, 9.0), Severity::Info);
    assert_eq!(severity(0.5, 9.0), Severity::Warn);
    assert_eq!(severity(5.0, 11.0), Severity::Warn);
}

#[test]
fn missing_nights_and_values_move_nothing() {
    let drifting = |night: usize| 20.0 + 2.0 * night as f64;
    let whole = noisy(30, drifting);
    let gaps: Vec<(usize, f64)> = whole.iter().copied().filter(|(night, _)| !(5..12).contains(night)).collect();
    let mut broken = gaps.clone();
    for (index, value) in [(3, f64::NAN), (9, f64::INFINITY), (15, f64::NEG_INFINITY)] {
        broken[index].1 = value;
    }
    let per_day = |points: Vec<(usize, f64)>| trend_of(&series(points)).drift.expect("a drift").per_day.0;
    for points in [whole, gaps, broken] {
        assert!((per_day(points) - 2.0).abs() < 0.1);
    }
}

#[test]
fn nothing_measured_is_no_trend() {
    for values in [vec![], vec![1.0], vec![f64::NAN; 30], vec![0.0; 30], vec![7.5; 30]] {
        let trend = trend_of(&series(values.iter().copied().enumerate()));
        assert_eq!((&trend.change, &trend.drift, trend.last.len()), (&None, &None, values.len()));
        assert_eq!(trend.median.is_some(), values.first().is_some_and(|value| value.is_finite()));
    }
}

#[test]
fn runs_of_one_moment_are_no_drift() {
    let mut at_once = series((0..30).map(|night| (night, night as f64)));
    at_once.points.iter_mut().for_each(|point| point.time = night(0));
    assert_eq!(trend_of(&at_once).drift, None);
}

#[test]
fn only_the_last_runs_count() {
    let old_step = trend_of(&series(noisy(100, |night| if night < 30 { 20.0 } else { 60.0 })));
    assert_eq!((old_step.last.len(), old_step.change), (WINDOW, None));
}

#[test]
fn what_is_worst_comes_first() {
    let near = series(noisy(30, |_| 90.0));
    let drifting = series(noisy(30, |night| 20.0 + 2.0 * night as f64));
    let far = series(noisy(30, |_| 10.0));
    let order: Vec<bool> = trends(&[far, near, drifting]).iter().map(|trend| trend.drift.is_some()).collect();
    assert_eq!(order, [true, false, false]);
}

#[test]
fn a_trend_survives_json() {
    let trend = trend_of(&series(noisy(30, |night| 20.0 + 2.0 * night as f64)));
    let text = serde_json::to_string(&trend).expect("JSON");
    assert_eq!(serde_json::from_str::<Trend>(&text).expect("a trend"), trend);
}

proptest::proptest! {
    #[test]
    fn any_numbers_at_any_times_are_survived(
        points in proptest::collection::vec((0_usize..200, proptest::num::f64::ANY), 0..70)
    ) {
        let trend = trend_of(&series(points));
        proptest::prop_assert!(finding::trend_findings(&trend).len() <= 2);
    }
}
