//! False-alarm rate of the tests of a trend, and the delay until they see a real one.

use std::fmt::Write;

use jiff::{Timestamp, ToSpan};
use precision_gate::gate::selftest::synthetic::Random;
use precision_gate::history::moment::instant;
use precision_gate::history::series::{RuleSeries, SeriesPoint};
use precision_gate::history::trend::trend_of;
use precision_gate::result::outcome::LimitDirection;
use precision_gate::result::trend::Trend;
use precision_gate::verdict::{CheckId, Verdict};
use rayon::prelude::*;

/// Nights of a series, and the first after which a trend is looked for.
const NIGHTS: usize = 30;
const FIRST_LOOK: usize = 8;
/// Quiet series of each kind.
const QUIET: u64 = 1000;
/// Series of each size of step or slope.
const MOVED: u64 = 200;
/// The night (from 0) of a step.
const STEP: usize = 14;
/// The level of quiet series in their standard deviations, and the limit.
const LEVEL: f64 = 10.0;
const LIMIT: f64 = 15.0;
/// The limit of drifting series.
const FAR_LIMIT: f64 = 18.0;

/// Difference that one night adds to a level, from the night before and a source of randomness.
type Noise = fn(f64, &mut Random) -> f64;

const KINDS: [(&str, Noise); 7] = [
    ("normal", |_, random| random.normal()),
    ("skewed (log-normal)", |_, random| random.normal().exp() - 1.0),
    ("heavy tails (ratio of normals)", |_, random| random.normal() / random.normal().abs().max(0.1)),
    ("one night in ten is wild", |_, random| {
        let wild = if random.uniform() < 0.1 { 20.0 } else { 1.0 };
        wild * random.normal()
    }),
    ("counts, mostly zero", |_, random| (random.normal() - 1.0).max(0.0).ceil() - LEVEL),
    ("each night depends on the last (0.3)", |last, random| 0.3 * last + random.normal()),
    ("each night depends on the last (0.6)", |last, random| 0.6 * last + random.normal()),
];

fn series(values: &[f64]) -> RuleSeries {
    let point = |(night, value): (i64, &f64)| SeriesPoint {
        time: Timestamp::UNIX_EPOCH + (24 * night).hours(),
        commit: String::new(),
        value: *value,
        verdict: Verdict::Pass,
    };
    RuleSeries {
        suite: "measured".into(),
        check: CheckId::Loss,
        unit: String::new(),
        rule: String::new(),
        direction: LimitDirection::AtMost,
        warn: Some(LIMIT),
        fail: None,
        points: (0..).zip(values).map(point).collect(),
    }
}

fn drawn(noise: Noise, seed: u64, level: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut last = 0.0;
    let mut next = |night| {
        last = noise(last, &mut random);
        level(night) + last
    };
    (0..NIGHTS).map(&mut next).collect()
}

/// The trend after so many nights.
fn after(values: &[f64], nights: usize) -> Trend {
    trend_of(&series(values.get(..nights).unwrap_or(values)))
}

/// Of `count` seeds, how many fit.
fn hits(count: u64, fits: impl Fn(u64) -> bool + Sync) -> usize {
    (0..count).into_par_iter().filter(|seed| fits(*seed)).count()
}

/// The tables of `docs/trend.md`.
pub(crate) fn tables() -> String {
    [false_alarms(), steps(), drifts()].join("\n")
}

fn false_alarms() -> String {
    let mut text = format!(
        "Of {QUIET} quiet series of {NIGHTS} nights, looked at every night, this many showed a step, or a drift towards \
         a limit, on any night:\n\n| noise | step | drift |\n|---|---:|---:|\n"
    );
    for (name, noise) in KINDS {
        let looks: Vec<(bool, bool)> =
            (0..QUIET).into_par_iter().map(|seed| looks(&drawn(noise, seed, |_| LEVEL))).collect();
        let count = |shows: fn(&(bool, bool)) -> bool| looks.iter().filter(|look| shows(look)).count().to_string();
        line(&mut text, &[name.to_owned(), count(|look| look.0), count(|look| look.1)]);
    }
    text
}

/// Whether any night showed a step, and a drift towards a limit.
fn looks(values: &[f64]) -> (bool, bool) {
    let trends = (FIRST_LOOK..=NIGHTS).map(|nights| after(values, nights));
    trends.fold((false, false), |seen, trend| (seen.0 || trend.change.is_some(), seen.1 || crosses(&trend)))
}

fn crosses(trend: &Trend) -> bool {
    trend.drift.as_ref().is_some_and(|drift| drift.crosses.is_some())
}

fn steps() -> String {
    let mut text = format!(
        "A step on night {} in normal noise: share of {MOVED} series in which it is found, at most one night beside its \
         own, so many nights into the new level:\n\n| size in deviations (in MAD) | 4 | 5 | 6 | 8 | 12 | 16 |\n|---|---:|---:|---:|---:|---:|---:|\n",
        STEP + 1
    );
    for size in [2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0] {
        let found = |into: usize| {
            let at = Timestamp::UNIX_EPOCH + (24 * i64::try_from(STEP).unwrap_or(0)).hours();
            let is_there = |seed| {
                let values = drawn(KINDS[0].1, seed, |night| if night < STEP { LEVEL } else { LEVEL + size });
                let change = after(&values, STEP + into).change;
                change.is_some_and(|change| instant(&change.first_after.time).duration_since(at).as_hours().abs() <= 24)
            };
            percent(hits(MOVED, is_there))
        };
        let mut cells = vec![format!("{size} ({:.1})", size * 1.4826)];
        cells.extend([4, 5, 6, 8, 12, 16].map(found));
        line(&mut text, &cells);
    }
    text
}

fn drifts() -> String {
    let mut text = format!(
        "An even drift in normal noise, {} deviations below a limit at first: share of {MOVED} series in which it is \
         told within {NIGHTS} nights and before it crosses; by the median of these, on which night it is first told, how \
         many days before the crossing, and how far the foretold day is off; and share in which it is called a step on \
         any night:\n\n| deviations a night | told | on night | days ahead | days off | a step |\n|---|---:|---:|---:|---:|---:|\n",
        FAR_LIMIT - LEVEL
    );
    for slope in [0.1, 0.15, 0.2, 0.3, 0.5] {
        let level = |night: usize| LEVEL + slope * f64::from(u32::try_from(night).unwrap_or(0));
        let crossing = (FAR_LIMIT - LEVEL) / slope;
        let seen: Vec<Drifting> =
            (0..MOVED).into_par_iter().map(|seed| drifting(&drawn(KINDS[0].1, seed, level), crossing)).collect();
        let middle = |of: fn(&(f64, f64)) -> f64| {
            let mut told: Vec<f64> = seen.iter().filter_map(|seen| seen.told.as_ref().map(of)).collect();
            told.sort_by(f64::total_cmp);
            told.get(told.len() / 2).copied().unwrap_or(f64::NAN)
        };
        let count = |fits: fn(&&Drifting) -> bool| percent(seen.iter().filter(fits).count());
        let (night, off) = (middle(|told| told.0), middle(|told| told.1));
        let cells = [
            slope.to_string(),
            count(|seen| seen.told.is_some()),
            format!("{night:.0}"),
            format!("{:.0}", crossing - night),
            format!("{off:.0}"),
            count(|seen| seen.is_step),
        ];
        line(&mut text, &cells);
    }
    text
}

/// Detection of a drift, night after night.
struct Drifting {
    /// The first night on which it is told before it crosses, and by how many days the crossing is off.
    told: Option<(f64, f64)>,
    /// Whether it is called a step.
    is_step: bool,
}

fn drifting(values: &[f64], crossing: f64) -> Drifting {
    let mut seen = Drifting { told: None, is_step: false };
    for night in FIRST_LOOK..=NIGHTS {
        let trend = trend_of(&RuleSeries { warn: Some(FAR_LIMIT), ..series(values.get(..night).unwrap_or(values)) });
        seen.is_step |= trend.change.is_some();
        let on = trend.drift.and_then(|drift| drift.crosses).map(|crossing| crossing.on);
        let days = on
            .and_then(|on| on.as_str().parse::<jiff::civil::Date>().ok()?.since(jiff::civil::date(1970, 1, 1)).ok())
            .map(|days| f64::from(days.get_days()));
        let night = f64::from(u32::try_from(night).unwrap_or(0));
        if let Some(days) = days.filter(|_| seen.told.is_none() && night <= crossing) {
            seen.told = Some((night, (days - crossing).abs()));
        }
    }
    seen
}

fn percent(hits: usize) -> String {
    format!("{} %", hits * 100 / usize::try_from(MOVED).unwrap_or(1))
}

fn line(text: &mut String, cells: &[String]) {
    // Writing to a string cannot fail.
    let _written = writeln!(text, "| {} |", cells.join(" | "));
}
