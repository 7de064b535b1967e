//! Limits on the sizes in a result that is drawn, taken from what the gate itself writes.

use super::refusal::{Checked, demand};
use crate::result::GateResult;
use crate::result::unit::{Check, Culprit, Unit};
use crate::verdict::CheckId;

/// Points of a series and of a profile, as the gate thins them.
const POINTS: usize = 2_000;
/// Layers and steps of a map of errors.
const LAYERS: usize = 200;
const COLUMNS: usize = 500;
/// Units of a check: a thousand ranks at four steps.
const UNITS: usize = 4_096;
/// Files of source: ten times the largest project that was measured.
const FILES: usize = 60_000;
/// Findings, including waived ones: forty for each of a hundred units. Writing their sentences takes the most time of all;
/// this many take a second or two.
const FINDINGS: usize = 4_000;
/// Diagnoses: at most one per cause and unit of the first step.
const DIAGNOSES: usize = 1_000;
/// Rules of a unit: a checkpoint shows its twenty worst, a curve has no more kinds.
const RULES: usize = 64;
/// Steps that are listed by number.
const LISTED: usize = crate::judge::loss::completeness::LISTED;
/// Operators of a profile.
const OPERATORS: usize = 20;
/// Numbers of a culprit.
const METRICS: usize = 64;
/// Frames of a call stack: Python's own limit.
const FRAMES: usize = 1_000;
/// Values, steps and operations that are counted: whole numbers up to here are exact everywhere.
const COUNT: u64 = 1 << 53;
/// Runs, changes and commits of a history.
const PAST: usize = 1_000;

/// Refuses a result that holds more of anything than the gate writes.
pub(super) fn check(result: &GateResult) -> Checked {
    check_drawn(result)?;
    most("findings", result.findings.len().saturating_add(result.waived.len()), FINDINGS)?;
    most("measured", result.measured.len(), FINDINGS)?;
    most("diagnoses", result.diagnoses.len(), DIAGNOSES)?;
    result.checks.iter().try_for_each(|check| {
        let units = if check.id == CheckId::Source { FILES } else { UNITS };
        most(&of_check(check)("units"), check.units.len(), units)
    })
}

fn most(what: &str, found: usize, most: usize) -> Checked {
    demand(found <= most, what, || format!("holds {found}, and the gate writes at most {most}"))
}

fn of_check(check: &Check) -> impl Fn(&str) -> String {
    move |part| format!("checks.{}.{part}", check.id.as_str())
}

/// Refuses a result in which a unit or the history holds more than can be drawn, for any number of units.
pub(super) fn check_drawn(result: &GateResult) -> Checked {
    for check in &result.checks {
        let name = of_check(check);
        for unit in &check.units {
            most(&name("rules"), unit.rules().len(), RULES)?;
            let large = unit.counts().into_iter().find(|(_, count)| *count > COUNT);
            demand(large.is_none(), &name("units"), || {
                format!("count {} values", large.map_or(0, |(_, count)| count))
            })?;
            of_unit(unit, &name)?;
        }
    }
    if let Some(history) = &result.history {
        most("history.last", history.last.len(), PAST)?;
        most("history.changed", history.changed.len(), PAST)?;
        most("history.trends", history.trends.len(), PAST)?;
        most("history.unread", history.unread.len(), PAST)?;
    }
    Ok(())
}

fn of_unit(unit: &Unit, name: &impl Fn(&str) -> String) -> Checked {
    let of_culprit = |culprit: &Culprit| {
        most(&name("culprit.metrics"), culprit.metrics.len(), METRICS)?;
        most(&name("culprit.stack"), culprit.stack.len(), FRAMES)
    };
    if let Unit::Curve(unit) = unit {
        most(&name("series"), unit.series.step.len(), POINTS)?;
        most(&name("non_finite_steps"), unit.non_finite_steps.len(), LISTED)?;
    }
    if let Unit::Dump(unit) = unit {
        most(&name("profile"), unit.profile.len(), POINTS)?;
        unit.culprit.iter().chain(&unit.runner_up).try_for_each(of_culprit)?;
    }
    if let Unit::Monitor(unit) = unit {
        most(&name("series"), unit.series.len(), POINTS)?;
        most(&name("culprit_series"), unit.culprit_series.as_ref().map_or(0, |series| series.step.len()), POINTS)?;
        let map = unit.heatmap.iter();
        most(&name("heatmap.layers"), map.clone().map(|map| map.layers.len().max(map.cells.len())).sum(), LAYERS)?;
        let widest = map.flat_map(|map| map.cells.iter().map(Vec::len).chain([map.steps.len()])).max();
        most(&name("heatmap.steps"), widest.unwrap_or(0), COLUMNS)?;
        unit.culprit.iter().try_for_each(of_culprit)?;
    }
    if let Unit::Performance(unit) = unit {
        let points = unit.periods.iter().flatten().map(Vec::len).max();
        most(&name("periods"), points.unwrap_or(0), POINTS)?;
        most(&name("operators"), unit.operators.len(), OPERATORS)?;
        most(&name("cause.operators"), unit.cause.as_ref().map_or(0, |cause| cause.operators.len()), OPERATORS)?;
        unit.culprit.iter().try_for_each(of_culprit)?;
    }
    if let Unit::Operators(unit) = unit {
        unit.culprit.iter().try_for_each(of_culprit)?;
    }
    Ok(())
}
