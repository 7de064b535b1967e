//! Trend of a rule's values over the runs of a suite: steps and drifts that no single run shows.
//!
//! A passing run shows no history: a value that doubled three weeks ago and a value that creeps towards its limit both
//! pass. [`trend_of`] looks at the last `WINDOW` runs of one rule. It finds the last *step*
//! ([`change`]), and a *drift* since then ([`drift`]) with the day on which a limit would be crossed. Both are
//! rank tests with stated significance, on the values alone: nothing is assumed of their distribution, single wild
//! nights do not count, and the same series gives the same answer everywhere. `docs/trend.md` measures both.
//!
//! Nights may be missing and times irregular: order decides what is significant, days decide how fast a drift is. Values
//! that are not finite are kept for pictures and left out of every statistic: the gate judges those by itself.

pub mod change;
pub mod drift;
pub mod finding;
mod rank;
mod robust;
mod sample;
mod side;

use std::cmp::Reverse;

use jiff::tz::Offset;
use jiff::{Span, Timestamp};
use rayon::prelude::*;

use super::moment::{day, result_time};
use super::series::{RuleSeries, SeriesPoint};
use crate::result::number::Number;
use crate::result::time::Day;
use crate::result::trend::{Change, Crossing, Drift, Limit, Measured, Moment, Trend};
use drift::TrendLine;
use sample::TrendSample;
use side::WorseSide;

/// Most runs that a trend looks back.
pub(crate) const WINDOW: usize = 60;
/// Most days ahead that a drift is extrapolated.
pub(crate) const HORIZON_DAYS: f64 = 60.0;
/// Most time ahead that a drift is extrapolated, in multiples of the time that it was observed.
pub(crate) const HORIZON_SPANS: f64 = 2.0;

/// The trend of a series. A series that is empty or too short has neither step nor drift.
pub fn trend_of(series: &RuleSeries) -> Trend {
    let window = series.points.get(series.points.len().saturating_sub(WINDOW)..).unwrap_or_default();
    let limits = (series.warn, series.fail);
    let side = WorseSide::from_limits(series.direction, limits, window.iter().map(|point| point.value));
    let points: Vec<SeriesPoint> =
        window.iter().map(|point| SeriesPoint { value: side.shown_value(point.value), ..point.clone() }).collect();
    let finite: Vec<&SeriesPoint> = points.iter().filter(|point| point.value.is_finite()).collect();
    let samples = samples(&finite, side);
    let regime = change::present_regime(&samples);
    let present = samples.get(regime.start..).unwrap_or_default();
    let since = finite.get(regime.start).map(|first| first.time);
    let median = robust::median(present.iter().map(|sample| sample.value));
    Trend {
        suite: series.suite.clone(),
        check: series.check,
        unit: series.unit.clone(),
        rule: series.rule.clone(),
        direction: series.direction,
        warn: series.warn.map(Number),
        fail: series.fail.map(Number),
        last: points.iter().map(Measured::from).collect(),
        median: median.map(|median| Number(side.value_of_badness(median))),
        change: regime.step.and_then(|step| change_at(&step, &finite, side)),
        drift: since.and_then(|since| drift_of(present, since, limits, side)),
    }
}

/// Share of the way to the nearest limit that the present median takes, 1 at the limit; 0 where there is no limit.
pub(crate) fn closeness(trend: &Trend) -> f64 {
    let side = WorseSide::from_trend(trend);
    let limit = trend.warn.or(trend.fail).map(|limit| side.badness(limit.0));
    match trend.median.map(|median| side.badness(median.0)).zip(limit) {
        Some((median, limit)) if median > 0.0 => median / limit,
        _ => 0.0,
    }
}

/// The trends of several series, sorted by the severity of their findings, then by `closeness`, so that a document can show the first
/// ones.
pub fn trends(series: &[RuleSeries]) -> Vec<Trend> {
    let mut trends: Vec<Trend> = series.par_iter().map(trend_of).collect();
    let key = |trend: &Trend| Reverse(finding::trend_findings(trend).into_iter().map(|finding| finding.severity).max());
    trends.sort_by(|a, b| closeness(b).total_cmp(&closeness(a)));
    trends.sort_by_cached_key(key);
    trends
}

/// Finite points as samples, larger where they are worse.
fn samples(points: &[&SeriesPoint], side: WorseSide) -> Vec<TrendSample> {
    let Some(first) = points.first() else { return Vec::new() };
    let sample =
        |point: &&SeriesPoint| TrendSample { day: days(first.time, point.time), value: side.badness(point.value) };
    points.iter().map(sample).collect()
}

fn days(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64() / 86_400.0
}

impl From<&SeriesPoint> for Measured {
    fn from(point: &SeriesPoint) -> Self {
        Self { time: result_time(point.time), value: Number(point.value), verdict: point.verdict }
    }
}

impl From<&SeriesPoint> for Moment {
    fn from(point: &SeriesPoint) -> Self {
        Self { time: result_time(point.time), commit: point.commit.clone() }
    }
}

/// A step among `points`.
fn change_at(step: &change::LevelStep, points: &[&SeriesPoint], side: WorseSide) -> Option<Change> {
    let (before, after) = points.split_at_checked(step.at)?;
    Some(Change {
        last_before: (*before.last()?).into(),
        first_after: (*after.first()?).into(),
        before: Number(side.value_of_badness(step.before)),
        after: Number(side.value_of_badness(step.after)),
        runs: after.len() as u64,
        p: Number(step.p),
    })
}

/// The drift of `samples`, the first of them at `since`, towards the limits at which the rule warns and fails.
fn drift_of(
    samples: &[TrendSample],
    since: Timestamp,
    limits: (Option<f64>, Option<f64>),
    side: WorseSide,
) -> Option<Drift> {
    let p = drift::significance(samples)?;
    let line = TrendLine::fit(samples)?;
    let (first, last) = (samples.first()?.day, samples.last()?.day);
    let horizon = HORIZON_DAYS.min(HORIZON_SPANS * (last - first));
    let crossing = |(kind, limit): (Limit, Option<f64>)| {
        let days = line.days_until(side.badness(limit?), last).filter(|days| *days <= horizon)?;
        Some(Crossing { limit: kind, on: date_after(since, last - first + days)? })
    };
    let limits = [(Limit::Warn, limits.0), (Limit::Fail, limits.1)];
    Some(Drift {
        since: result_time(since),
        then: Number(side.value_of_badness(line.value_at(first))),
        now: Number(side.value_of_badness(line.value_at(last))),
        per_day: Number(side.value_rise(line.per_day(last))),
        crosses: limits.into_iter().find_map(crossing),
        p: Number(p),
    })
}

/// The day (UTC) that begins or runs `days` after `time`; `None` beyond the calendar.
fn date_after(time: Timestamp, days: f64) -> Option<Day> {
    #[allow(clippy::cast_possible_truncation, reason = "a cast saturates, and the calendar refuses what is beyond it")]
    let seconds = (days * 86_400.0) as i64;
    let then = time.checked_add(Span::new().try_seconds(seconds).ok()?).ok()?;
    Some(day(Offset::UTC.to_datetime(then).date()))
}

#[cfg(test)]
mod tests;
