//! Judging monitors without a baseline, rank by rank.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::rank::{is_ignored, note_damage};
use super::tables::{open_rank_tables, tables_by_rank};
use crate::compare::run::snapshot::{self, Parameters};
use crate::fetch::progress::Progress;
use crate::gate::discover::Inventory;
use crate::gate::outcome::CheckOutcome;
use crate::judge::apply_policy::decide;
use crate::judge::monitor::alone::{LoneWalk, LoneWalkResult};
use crate::judge::monitor::rules;
use crate::judge::run::replicas::Replicas;
use crate::judge::unread;
use crate::kind::MonitorKind;
use crate::pair::monitor::models;
use crate::policy::Policy;
use crate::read::account::UnreadNumbers;
use crate::read::monitor::{MonitorPlace, RankTables, RowMemory};
use crate::result::finding::{Finding, verdict_of};
use crate::result::run::Looked;
use crate::result::unit::{Evidence, MonitorSteps, MonitorUnit, Unit};
use crate::verdict::{CheckId, Side, Verdict};

/// Number of decimals that show every update of a 32-bit number.
const ENOUGH: u32 = 10;

/// A judged rank, with its steps.
struct Judged {
    unit: MonitorUnit,
    findings: Vec<Finding>,
    steps: BTreeSet<i64>,
    /// Numbers that were not read.
    account: UnreadNumbers,
}

/// A rank while its steps are walked over.
struct Walking<'a> {
    tables: RankTables,
    steps: BTreeSet<i64>,
    walk: LoneWalk,
    left_out: Evidence,
    findings: Vec<Finding>,
    /// Whether a file could no longer be read.
    is_stopped: bool,
    policy: &'a Policy,
}

/// Judges the candidate's monitors, one step of all ranks in memory at a time. Damage is a finding of its rank.
pub(in crate::gate) fn check(candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(CheckId::Monitor);
    let ranks: Vec<_> = tables_by_rank(candidate).into_iter().collect();
    let taken = RowMemory::default();
    let of_rank =
        |(rank, places): &(u64, Vec<MonitorPlace>)| open_rank_tables(candidate, *rank, places, (&taken, ranks.len()));
    let mut walking: Vec<Walking<'_>> = ranks.par_iter().map(|rank| Walking::new(of_rank(rank), policy)).collect();
    let steps: BTreeSet<i64> = walking.iter().flat_map(|rank| rank.steps.iter().copied()).collect();
    progress.begin("looking through monitors", steps.len() as u64);
    let mut replicas = Replicas::new(&policy.health.replicas);
    for step in steps {
        let copies: Vec<(u64, [Parameters; 2])> = walking.par_iter_mut().filter_map(|rank| rank.step(step)).collect();
        // A parameter before the update and after it are two places in time.
        let before = copies.iter().map(|(rank, [before, _])| (*rank, before)).collect();
        let after = copies.iter().map(|(rank, [_, after])| (*rank, after)).collect();
        for ranks in [before, after] {
            let ranks: BTreeMap<u64, &Parameters> = ranks;
            if ranks.values().any(|copies| !copies.is_empty()) {
                replicas.add_step(u64::try_from(step).unwrap_or(0), &ranks);
            }
        }
        progress.advance(1);
    }
    let mut judged: Vec<Judged> = walking.into_iter().map(|rank| rank.finish(&mut outcome.looked)).collect();
    tell_missing_steps(&mut judged);
    let unread = unread::judge_alone(judged.iter().map(|one| &one.account));
    for Judged { unit, findings, .. } in judged {
        outcome.add_unit(Unit::Monitor(Box::new(unit)), findings);
    }
    if !ranks.is_empty() {
        outcome.add_findings(replicas.unused_selectors());
        let (finding, looked) = replicas.finish();
        outcome.add_findings(finding.map(|finding| finding.of_check(CheckId::Monitor)));
        outcome.looked.push(looked);
    }
    outcome.add_findings(unread::cell_findings(unread, CheckId::Monitor));
    outcome
}

impl<'a> Walking<'a> {
    fn new(tables: RankTables, policy: &'a Policy) -> Self {
        let models = models::models_of_one_run(&tables);
        let tables = tables.with_models(models);
        let findings = super::rank::damage_of(Side::Candidate, &tables);
        let (steps, walk) = (
            tables.steps().into_keys().collect(),
            LoneWalk::new(tables.rank, tables.decimals().is_some_and(|decimals| decimals < ENOUGH)),
        );
        Self { tables, steps, walk, left_out: Evidence::default(), findings, is_stopped: false, policy }
    }

    /// Judges a step, and returns its parameters before and after the update.
    fn step(&mut self, step: i64) -> Option<(u64, [Parameters; 2])> {
        if self.is_stopped || !self.steps.contains(&step) {
            return None;
        }
        match self.tables.read_step(step, None) {
            Ok(mut rows) => {
                let left_out = &mut self.left_out;
                rows.rows.retain(|keyed| {
                    let is_left_out = is_ignored(self.policy, &[&keyed.row.name, &keyed.key.name]);
                    if is_left_out {
                        left_out.left_out += 1;
                        left_out.example("left-out", &*keyed.key.name);
                    }
                    !is_left_out
                });
                let copies = [MonitorKind::ParamOrigin, MonitorKind::ParamUpdated]
                    .map(|kind| snapshot::monitored_parameters(&rows, kind));
                self.walk.step(step, rows);
                Some((self.tables.rank, copies))
            }
            Err(error) => {
                let finding = Finding::new(&rules::FILE_DAMAGED, error.subject()).with("rank", self.tables.rank);
                let finding = finding.with("what", "unreadable").with("reason", error.message());
                self.findings.push(finding.with("side", Side::Candidate.as_str()));
                self.is_stopped = true;
                None
            }
        }
    }

    fn finish(self, looked: &mut Vec<Looked>) -> Judged {
        let Self { tables, steps, walk, left_out, mut findings, policy, .. } = self;
        let rank = tables.rank;
        let LoneWalkResult { findings: of_rows, culprit, evidence, kinds, motion } = walk.finish();
        looked.push(motion);
        let mut evidence = Evidence { left_out: left_out.left_out, examples: left_out.examples, ..evidence };
        note_damage(&mut evidence, &[&tables]);
        findings.extend(of_rows);
        if evidence.compared == 0 && verdict_of(&findings) < Verdict::Incomplete {
            findings.push(Finding::new(&rules::NOTHING_COMPARED, format!("rank {rank}")).with("rank", rank));
        }
        let counts = |culprit: &crate::result::unit::Culprit| {
            decide(&culprit.code, &culprit.tensor, rules::NON_FINITE.severity, policy).counts()
        };
        let unit = MonitorUnit {
            compared: evidence.compared,
            steps: MonitorSteps { candidate: steps.len() as u64, ..MonitorSteps::default() },
            kinds: kinds.into_iter().collect(),
            evidence,
            culprit: culprit.filter(counts),
            ..MonitorUnit::empty(Some(rank))
        };
        Judged { unit, findings, steps, account: tables.account() }
    }
}

/// Adds to each rank a finding about the steps that other ranks have and it lacks.
fn tell_missing_steps(judged: &mut [Judged]) {
    let all: BTreeSet<i64> = judged.iter().flat_map(|one| one.steps.iter().copied()).collect();
    for one in judged {
        let mut missing = all.difference(&one.steps);
        let Some(first) = missing.next() else { continue };
        let finding = rules::rank_finding(&rules::STEPS_MISSING, one.unit.rank);
        let first = u64::try_from(*first).unwrap_or(0);
        one.findings.push(finding.with("count", missing.count() + 1).with("first", first));
    }
}
