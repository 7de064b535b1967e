//! A monitor without a baseline: the first row that is NaN or infinite, and parameters that no update changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::account::RowAccount;
use super::rules;
use crate::judge::run::motion;
use crate::kind::{MonitorKind, Statistic};
use crate::read::monitor::{KeyedRow, MonitorParameter, MonitorRow, MonitorStatistics, MonitorStep};
use crate::result::finding::Finding;
use crate::result::identity::own_finding;
use crate::result::number::Number;
use crate::result::run::{Invariant, Looked};
use crate::result::unit::{Culprit, CulpritKind, Evidence, MonitorCause, MonitorCulprit, unit_place};
use crate::verdict::CheckId;

/// Fewest updates after which an unchanged parameter is reported.
const UPDATES: u64 = 2;
/// Fewest updates without any movement that make a standstill.
const STANDSTILL: u64 = 3;

/// Recorded updates of one parameter.
#[derive(Default)]
struct Updates {
    name: Arc<str>,
    recorded: u64,
    /// Step of the first update.
    since: u64,
    is_changed: bool,
    has_gradient: bool,
}

/// The walk over the rows of a rank.
pub(crate) struct LoneWalk {
    rank: u64,
    /// Whether numbers are rounded, so that a small update may not show.
    is_rounded: bool,
    culprit: Option<Culprit>,
    /// Findings about rows.
    findings: Vec<Finding>,
    /// Account of the rows.
    account: RowAccount,
    kinds: BTreeSet<MonitorKind>,
    /// Parameters in the order in which they were first seen.
    parameters: Vec<Updates>,
    /// Index of each parameter in `parameters`.
    places: HashMap<MonitorParameter, usize>,
}

/// Everything found in the rows of one rank.
pub(crate) struct LoneWalkResult {
    /// Findings about rows and parameters.
    pub findings: Vec<Finding>,
    /// The first row that is NaN or infinite.
    pub culprit: Option<Culprit>,
    /// Account of the rows.
    pub evidence: Evidence,
    /// Kinds of the rows.
    pub kinds: BTreeSet<MonitorKind>,
    /// The invariant that its parameters move.
    pub motion: Looked,
}

impl LoneWalk {
    /// Starts a walk over the tables of `rank`; `is_rounded` says whether their numbers are rounded.
    pub(crate) fn new(rank: u64, is_rounded: bool) -> Self {
        Self {
            rank,
            is_rounded,
            culprit: None,
            findings: Vec::new(),
            account: RowAccount::default(),
            kinds: BTreeSet::new(),
            parameters: Vec::new(),
            places: HashMap::new(),
        }
    }

    /// Walks over the rows of a step.
    pub(crate) fn step(&mut self, update: i64, step: MonitorStep) {
        let mut rows = step.rows;
        rows.sort_by(|a, b| {
            let place = |row: &KeyedRow| (row.key.kind, row.key.micro_step, row.order);
            place(a).cmp(&place(b)).then_with(|| a.key.cmp(&b.key))
        });
        for (place, keyed) in rows.iter().enumerate() {
            if keyed.row.statistics.written().next().is_none() && keyed.row.nans.is_none() {
                continue;
            }
            self.account.count_lone_row(&keyed.row, &keyed.key);
            self.kinds.insert(keyed.key.kind);
            if self.culprit.is_none()
                && let Some(statistic) = non_finite_statistic(&keyed.row)
            {
                self.blame(keyed, statistic, update, place);
            }
        }
        self.updates(&rows);
    }

    fn blame(&mut self, keyed: &KeyedRow, statistic: &'static str, update: i64, place: usize) {
        let (row, kind) = (&keyed.row, keyed.key.kind);
        let name = row.name.to_string();
        let value = Statistic::ALL.into_iter().find(|one| one.as_str() == statistic);
        let value = value.and_then(|one| row.statistics.get(one)).or(row.nans).unwrap_or(f64::NAN);
        let mut culprit = Culprit {
            order: place as u64,
            step: row.step,
            rank: Some(self.rank),
            op: name.clone(),
            tensor: name.clone(),
            code: rules::NON_FINITE.code.to_owned(),
            metrics: BTreeMap::from([("candidate".to_owned(), Number(value))]).into(),
            monitor: Some(MonitorCulprit {
                name,
                stage: keyed.key.stage,
                micro_step: keyed.key.micro_step,
                update,
                statistic: statistic.to_owned(),
                cause: MonitorCause::NonFinite,
                factor: None,
            }),
            ..Culprit::new(CheckId::Monitor, CulpritKind::Monitor(kind))
        };
        culprit.finding = own_finding(&culprit);
        let finding = Finding::new(&rules::NON_FINITE, &*row.name)
            .with("unit", unit_place(culprit.step, culprit.rank))
            .with("step", culprit.step)
            .with("rank", self.rank)
            .with("kind", kind.as_str())
            .with("cause", MonitorCause::NonFinite.as_str())
            .with("statistic", statistic);
        self.findings.push(finding);
        self.culprit = Some(culprit);
    }

    /// Notes which parameters an update changes, and which have a gradient that is not zero.
    fn updates(&mut self, rows: &[KeyedRow]) {
        let mut before: HashMap<MonitorParameter, MonitorStatistics> = HashMap::new();
        for keyed in rows.iter().filter(|keyed| keyed.key.kind == MonitorKind::ParamOrigin) {
            before.insert(keyed.key.parameter(), keyed.row.statistics);
        }
        for keyed in rows {
            let parameter = keyed.key.parameter();
            match keyed.key.kind {
                MonitorKind::ParamUpdated => {
                    let Some(before) = before.get(&parameter) else { continue };
                    let updates = self.parameter(parameter, &keyed.row.name);
                    if updates.recorded == 0 {
                        updates.since = keyed.row.step;
                    }
                    updates.recorded += 1;
                    updates.is_changed |= !is_same(before, &keyed.row.statistics);
                }
                MonitorKind::GradReduced | MonitorKind::GradUnreduced => {
                    let is_zero = keyed.row.statistics.written().all(|(_, value)| value.abs() <= 0.0 || value.is_nan());
                    self.parameter(parameter, &keyed.row.name).has_gradient |= !is_zero;
                }
                _ => {}
            }
        }
    }

    fn parameter(&mut self, parameter: MonitorParameter, name: &Arc<str>) -> &mut Updates {
        let next = self.parameters.len();
        let place = *self.places.entry(parameter).or_insert(next);
        if place == next {
            self.parameters.push(Updates { name: name.clone(), ..Updates::default() });
        }
        let last = self.parameters.len() - 1;
        #[allow(clippy::indexing_slicing, reason = "the place was taken from this list, or just added to it")]
        &mut self.parameters[place.min(last)]
    }

    /// Ends the walk and returns its result.
    pub(crate) fn finish(mut self) -> LoneWalkResult {
        let motion = self.motion();
        LoneWalkResult {
            findings: self.findings,
            culprit: self.culprit,
            evidence: self.account.finish(),
            kinds: self.kinds,
            motion,
        }
    }

    /// Reports parameters that no update changes, and returns the invariant.
    fn motion(&mut self) -> Looked {
        const ID: Invariant = Invariant::ParametersMove;
        let updated = || self.parameters.iter().filter(|one| one.recorded >= UPDATES);
        if updated().next().is_none() {
            return Looked::not(ID, "no-parameters");
        }
        let has_moved = updated().any(|one| one.is_changed);
        // Rounded numbers may hide every update of a small learning rate.
        let is_told = !self.is_rounded || has_moved;
        let frozen: Vec<&Updates> = updated().filter(|one| is_told && !one.is_changed && one.has_gradient).collect();
        let of = updated().count();
        let Some(first) = frozen.first() else {
            let (has_gradient, is_rounded) = (updated().any(|one| one.has_gradient), !is_told);
            return if is_rounded {
                Looked::not(ID, "parameters-rounded")
            } else if !has_moved && !has_gradient {
                Looked::not(ID, "no-gradients")
            } else {
                Looked::over(ID, true, [("parameters", of), ("updates", most(updated()))])
            };
        };
        let counts = [("parameters", of), ("updates", most(updated()))];
        let names: Vec<&str> = frozen.iter().map(|one| &*one.name).collect();
        let told = if !has_moved && first.recorded >= STANDSTILL {
            let intervals = usize::try_from(first.recorded).unwrap_or(usize::MAX);
            Some(motion::standstill_finding("updates", first.since, frozen.len(), intervals))
        } else {
            motion::frozen_finding(&names, of, first.recorded)
        };
        let told = told.map(|finding| finding.of_check(CheckId::Monitor).with("rank", self.rank));
        self.findings.extend(told);
        Looked::over(ID, false, counts)
    }
}

/// The most updates of a parameter.
fn most<'a>(mut updated: impl Iterator<Item = &'a Updates>) -> usize {
    let first = updated.next().map_or(0, |one| one.recorded);
    usize::try_from(updated.fold(first, |most, one| most.max(one.recorded))).unwrap_or(usize::MAX)
}

/// Whether all statistics are the same numbers.
fn is_same(before: &MonitorStatistics, after: &MonitorStatistics) -> bool {
    let bits = |value: Option<f64>| value.map(f64::to_bits);
    let mut written = before.written().peekable();
    written.peek().is_some() && written.all(|(one, value)| bits(after.get(one)) == Some(value.to_bits()))
}

/// Name of the statistic that is NaN or infinite, or `nans` for the count of NaN. A row of nothing but NaN may stand for an absent tensor
/// unless it is a parameter, and -inf without NaN in an activation is the mask of an attention.
pub(crate) fn non_finite_statistic(row: &MonitorRow) -> Option<&'static str> {
    if row.is_undecided() && !row.kind.is_parameter() {
        return None;
    }
    let is_negative = |value: f64| value.is_infinite() && value < 0.0;
    let [least, most] = [Statistic::Min, Statistic::Max].map(|one| row.statistics.get(one));
    let is_mask = row.kind == MonitorKind::Actv
        && least.is_some_and(is_negative)
        && most.is_some_and(|most| most.is_finite() || is_negative(most))
        && row.nans.is_none_or(|nans| nans <= 0.0);
    if is_mask {
        return None;
    }
    let mut written = row.statistics.written();
    let broken = written.find(|(_, value)| !value.is_finite()).map(|(one, _)| one.as_str());
    broken.or_else(|| row.nans.is_some_and(|nans| nans > 0.0 || nans.is_nan()).then_some("nans"))
}
