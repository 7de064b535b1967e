//! The culprit that documents name, chosen from the culprits of all units.

use std::cmp::Ordering;

use super::dump::alone::COLLECTIVES;
use super::performance::culprit;
use crate::result::unit::{Check, Culprit, DumpUnit, MonitorUnit, arrays, dumps, monitors, operators, profiles};
use crate::verdict::CheckId;

/// The first culprit of all checks: that of the earliest step, and of one step that of the finer check.
pub(crate) fn first_culprit(checks: &[Check]) -> Option<Culprit> {
    let finest_first = [first_of_dumps(dumps(checks)).cloned(), of_monitors(checks)];
    let first = finest_first.into_iter().flatten().min_by_key(|culprit| (culprit.kind.is_minor(), culprit.step));
    // An operator test replays generated inputs, so a culprit of the run itself goes before it.
    first.or_else(|| of_operators(checks)).or_else(|| of_profiles(checks)).or_else(|| of_arrays(checks))
}

/// The culprit of the first array that has one; arrays have no order, so any of them will do.
fn of_arrays(checks: &[Check]) -> Option<Culprit> {
    arrays(checks).find_map(|unit| unit.culprit.clone())
}

/// The first culprit of the earliest step, in execution order; of equal ones that of the lowest rank.
pub(crate) fn first_of_dumps<'a>(units: impl Iterator<Item = &'a DumpUnit>) -> Option<&'a Culprit> {
    let culprits = units.filter_map(|unit| unit.culprit.as_ref());
    // Within a step of several ranks, an operation with fewer collectives before it ran earlier.
    let place = |culprit: &&Culprit| {
        let collectives = culprit.metrics.get(COLLECTIVES).map_or(0.0, |count| count.0);
        (culprit.kind.is_minor(), culprit.step, collectives, culprit.order, culprit.rank)
    };
    culprits.min_by(|a, b| place(a).partial_cmp(&place(b)).unwrap_or(Ordering::Equal))
}

/// The earliest culprit over all ranks, by the order in which a step computes its rows; of equal ones that of the lowest rank.
fn of_monitors(checks: &[Check]) -> Option<Culprit> {
    let culprits = monitors(checks).filter_map(|unit| Some((unit, unit.culprit.as_ref()?)));
    let place = |(unit, culprit): &(&MonitorUnit, &Culprit)| {
        let facts = culprit.monitor.as_ref();
        let update = facts.map_or(0, |facts| facts.update);
        let micro_step = facts.map_or(0, |facts| facts.micro_step);
        (std::cmp::Reverse(unit.verdict), update, culprit.kind.order(), micro_step, culprit.order, culprit.rank)
    };
    culprits.min_by_key(place).map(|(_, culprit)| culprit.clone())
}

/// The culprit of the operator test of the lowest rank that has one.
fn of_operators(checks: &[Check]) -> Option<Culprit> {
    let culprits = operators(checks).filter_map(|unit| unit.culprit.as_ref());
    culprits.min_by_key(|culprit| culprit.rank).cloned()
}

/// The culprit of the rank that stands out; if none stands out, that of any rank, without its rank.
fn of_profiles(checks: &[Check]) -> Option<Culprit> {
    let check = checks.iter().find(|check| check.id == CheckId::Performance)?;
    let chosen = check.culprit.as_ref()?;
    let same = |culprit: &&Culprit| culprit.performance.as_ref() == Some(&chosen.cause);
    let of_rank = |culprit: &&Culprit| chosen.rank.is_none() || culprit.rank == chosen.rank;
    let units = profiles(std::slice::from_ref(check)).filter_map(|unit| unit.culprit.as_ref());
    let found = units.filter(same).find(of_rank)?;
    Some(Culprit { rank: chosen.rank, ..found.clone() })
}

/// Sets the culprit of the performance check from those of its units; leaves other checks alone.
pub(crate) fn name_performance_culprit(check: &mut Check) {
    if check.id == CheckId::Performance {
        let units: Vec<_> = profiles(std::slice::from_ref(&*check)).collect();
        check.culprit = culprit::check_culprit(&units);
    }
}
