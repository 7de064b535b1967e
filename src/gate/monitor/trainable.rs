//! Parameters that train on the candidate only. The baseline records other parameters, and only the outputs of their modules.

use std::collections::{BTreeMap, BTreeSet};

use crate::judge::monitor::copies;
use crate::judge::monitor::rules;
use crate::kind::MonitorKind;
use crate::read::monitor::{DifferingRow, KeyedRow, MonitorParameter, MonitorStatistics, MonitorStep, MonitorTables};
use crate::result::finding::Finding;
use crate::result::identity::own_finding;
use crate::result::unit::{Culprit, MonitorCause, unit_place};

/// Names that a finding lists.
const SHOWN: usize = 5;

/// Collector of the parameters that only the candidate records and that an update changes.
#[derive(Debug, Default)]
pub(super) struct OnlyTrained {
    suspects: BTreeSet<String>,
    /// Suspects that an update changes.
    moved: BTreeSet<String>,
    /// The first suspect that changes, with the step by which rows are ordered.
    first: Option<(DifferingRow, i64)>,
    /// The parameter that begins with the same values as the first suspect: where it is tied, both are one.
    twin: Option<String>,
    rank: Option<u64>,
}

impl OnlyTrained {
    /// Finds suspects by name. There are none where the baseline has a parameter without a partner, because then the model was
    /// renamed.
    pub(super) fn from_tables((baseline, candidate): (&MonitorTables, &MonitorTables)) -> Self {
        let names = |tables: &MonitorTables| -> BTreeSet<String> {
            let all = tables.names().into_iter();
            all.filter(|(kind, _)| is_of_parameter(*kind)).map(|(_, name)| name.to_owned()).collect()
        };
        let (baseline_names, candidate_names) = (names(baseline), names(candidate));
        let rank = baseline.rank();
        let is_blind = baseline.damage().next().is_some() || baseline_names.is_empty();
        if is_blind || baseline.version() != candidate.version() || !baseline_names.is_subset(&candidate_names) {
            return Self { rank, ..Self::default() };
        }
        let computed = baseline.names();
        let modules: BTreeSet<&str> = computed
            .iter()
            .filter(|(kind, _)| *kind == MonitorKind::Actv)
            .filter_map(|(_, name)| name.rsplit_once('.')?.0.strip_suffix(".output"))
            .collect();
        let module = |name: &str| name.rsplit_once('.').is_some_and(|(module, _)| modules.contains(module));
        let suspects = candidate_names.difference(&baseline_names).filter(|name| module(name)).cloned().collect();
        Self { suspects, rank, ..Self::default() }
    }

    /// Notes the suspects that change in a step of the candidate; `update` is the step by which rows are ordered.
    pub(super) fn add_step(&mut self, step: &MonitorStep, update: i64) {
        if self.suspects.is_empty() {
            return;
        }
        let of_kind = |kind: MonitorKind| {
            let rows = step.rows.iter().filter(move |keyed| keyed.key.kind == kind);
            rows.filter(|keyed| self.suspects.contains(&*keyed.key.name)).collect::<Vec<&KeyedRow>>()
        };
        let before: Vec<(MonitorParameter, MonitorStatistics)> = of_kind(MonitorKind::ParamOrigin)
            .into_iter()
            .map(|keyed| (keyed.key.parameter(), keyed.row.statistics))
            .collect();
        let before: BTreeMap<MonitorParameter, MonitorStatistics> = before.into_iter().collect();
        let twin_of = |keyed: &KeyedRow| {
            let own = before.get(&keyed.key.parameter()).filter(|own| own.written().next().is_some())?;
            let others = step.rows.iter().filter(|other| other.key.kind == MonitorKind::ParamOrigin);
            let mut others = others.filter(|other| !self.suspects.contains(&*other.key.name));
            others.find(|other| other.row.statistics.is_same(own)).map(|other| other.key.name.to_string())
        };
        let moves = |keyed: &&KeyedRow| {
            let before = before.get(&keyed.key.parameter());
            before.is_some_and(|before| !before.is_same(&keyed.row.statistics))
        };
        let moved: Vec<&KeyedRow> = of_kind(MonitorKind::ParamUpdated).into_iter().filter(moves).collect();
        if let (None, Some(keyed)) = (&self.first, moved.first()) {
            self.twin = twin_of(keyed);
            self.first = Some((differing(keyed), update));
        }
        let names: Vec<String> = moved.iter().map(|keyed| keyed.key.name.to_string()).collect();
        self.moved.extend(names);
    }

    /// The finding about the suspects that an update changes.
    pub(super) fn finding(&self) -> Option<Finding> {
        let (first, _) = self.first.as_ref()?;
        let names: Vec<String> = self.moved.iter().take(SHOWN).cloned().collect();
        let finding = Finding::new(&rules::TRAINABLE_DIFFERS, &*first.name);
        let finding = finding.with("unit", unit_place(first.step, self.rank)).with("step", first.step);
        let finding = finding.with("kind", first.key.kind.as_str()).with("cause", MonitorCause::Optimizer.as_str());
        let finding = finding.with("count", self.moved.len()).with("names", names);
        let finding = match &self.twin {
            Some(twin) => finding.with("twin", twin.as_str()),
            None => finding,
        };
        Some(rules::with_rank(finding, self.rank))
    }

    /// The culprit, with the step by which it is ordered.
    pub(super) fn culprit(&self) -> Option<(Culprit, i64)> {
        let (first, update) = self.first.as_ref()?;
        let mut culprit = copies::row_culprit(first, *update, &rules::TRAINABLE_DIFFERS, MonitorCause::Optimizer);
        culprit.rank = self.rank;
        culprit.finding = own_finding(&culprit);
        Some((culprit, *update))
    }
}

fn differing(keyed: &KeyedRow) -> DifferingRow {
    DifferingRow {
        key: keyed.key.clone(),
        name: keyed.row.name.clone(),
        order: keyed.order,
        step: keyed.row.step,
        ranks: Vec::new(),
        error: 1.0,
    }
}

fn is_of_parameter(kind: MonitorKind) -> bool {
    kind.is_parameter() || kind.is_gradient() && kind != MonitorKind::ActvGrad || kind.is_moment()
}
