//! Findings about a trend.

use super::side::WorseSide;
use crate::judge::rule::history as rules;
use crate::result::finding::Finding;
use crate::result::trend::{Change, Drift, Limit, Trend};
use crate::verdict::Severity;

/// Most runs after a step for which it is reported: two weeks of nights. Later it is the normal level, and only in the table.
pub(crate) const NEWS_RUNS: u64 = 14;
/// A step matters from this share of the nearest limit on ...
const MATTERS_FROM: f64 = 0.1;
/// ... or where a value that was not zero grows by this factor.
const MATTERS_BY: f64 = 10.0;
/// Characters of a commit that are shown.
const COMMIT_CHARS: usize = 12;

/// Findings about `trend`: at most a fresh step and a drift that crosses a limit.
///
/// For a rule with limits, a step is only [`Severity::Info`] if it leads away from them, or stays within a tenth of the way to the nearest
/// limit and grows less than tenfold.
pub fn trend_findings(trend: &Trend) -> Vec<Finding> {
    let fresh = trend.change.iter().filter(|change| change.runs <= NEWS_RUNS);
    fresh.map(|change| step(trend, change)).chain(trend.drift.as_ref().and_then(|found| drift(trend, found))).collect()
}

fn step(trend: &Trend, change: &Change) -> Finding {
    let finding = Finding::new(&rules::STEP, place(trend))
        .with("rule", trend.rule.as_str())
        .with("before", change.before.0)
        .with("after", change.after.0)
        .with("date", change.first_after.time.day())
        .with("runs", change.runs)
        .with("good", short(&change.last_before.commit))
        .with("bad", short(&change.first_after.commit));
    if matters(trend, change) { finding } else { finding.with_severity(Severity::Info) }
}

/// Whether a step deserves a warning. Without a limit every step does, since the worse direction is unknown.
fn matters(trend: &Trend, change: &Change) -> bool {
    let side = WorseSide::from_trend(trend);
    let (before, after) = (side.badness(change.before.0), side.badness(change.after.0));
    let grows = before > 0.0 && after >= MATTERS_BY * before;
    let limit = trend.warn.or(trend.fail).map(|limit| side.badness(limit.0));
    // Where the best value is unknown, so is the share of the way to the limit, and every step to the worse matters.
    limit.is_none_or(|limit| after > before && (grows || limit <= 0.0 || after >= MATTERS_FROM * limit))
}

fn drift(trend: &Trend, drift: &Drift) -> Option<Finding> {
    let crossing = drift.crosses.as_ref()?;
    let limit = match crossing.limit {
        Limit::Warn => trend.warn?,
        Limit::Fail => trend.fail?,
    };
    Some(
        Finding::new(&rules::DRIFT, place(trend))
            .with("rule", trend.rule.as_str())
            .with("per_day", drift.per_day.0)
            .with("since", drift.since.day())
            .with("now", drift.now.0)
            .with("limit", limit.0)
            .with("kind", crossing.limit.as_str())
            .with("date", crossing.on.to_string()),
    )
}

/// The suite, unit and rule.
fn place(trend: &Trend) -> String {
    [trend.suite.as_str(), trend.unit.as_str(), trend.rule.as_str()].join(" ")
}

fn short(commit: &str) -> String {
    commit.chars().take(COMMIT_CHARS).collect()
}
