//! Monitors without a baseline, rank by rank.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::rank::{is_ignored, note_damage};
use super::tables::{open, ranks};
use crate::fetch::progress::Progress;
use crate::gate::discover::Inventory;
use crate::gate::outcome::CheckOutcome;
use crate::judge::apply_policy::decide;
use crate::judge::monitor::alone::{Walk, Walked};
use crate::judge::monitor::rules;
use crate::judge::unread;
use crate::policy::Policy;
use crate::read::account::Account;
use crate::read::monitor::RankTables;
use crate::result::finding::{Finding, verdict_of};
use crate::result::unit::{Evidence, MonitorSteps, MonitorUnit, Unit};
use crate::verdict::{CheckId, Side, Verdict};

/// A judged rank, with its steps.
struct Judged {
    unit: MonitorUnit,
    findings: Vec<Finding>,
    steps: BTreeSet<i64>,
    /// Numbers that were not read.
    account: Account,
}

/// Judges the candidate's monitors. Damage is a finding of its rank.
pub(in crate::gate) fn check(candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(CheckId::Monitor);
    let ranks = ranks(candidate);
    progress.begin("looking through monitors", ranks.len() as u64);
    let ranks: Vec<_> = ranks.iter().collect();
    let mut judged: Vec<Judged> = ranks
        .par_iter()
        .map(|(rank, places)| {
            let judged = judge(&open(candidate, **rank, places), policy);
            progress.advance(1);
            judged
        })
        .collect();
    tell_missing_steps(&mut judged);
    let unread = unread::alone(judged.iter().map(|one| &one.account));
    for Judged { unit, findings, .. } in judged {
        outcome.add_unit(Unit::Monitor(Box::new(unit)), findings);
    }
    outcome.say(unread::of_cells(unread, CheckId::Monitor));
    outcome
}

fn judge(tables: &RankTables, policy: &Policy) -> Judged {
    let rank = tables.rank;
    let mut findings = super::rank::damage_of(Side::Candidate, tables);
    let steps: BTreeMap<i64, u64> = tables.steps();
    let mut left_out = Evidence::default();
    let mut walk = Walk::new(rank, tables.decimals().is_some());
    for step in steps.keys() {
        match tables.step(*step, None) {
            Ok(mut rows) => {
                rows.rows.retain(|keyed| {
                    let is_left_out = is_ignored(policy, &[&keyed.row.name, &keyed.key.name]);
                    if is_left_out {
                        left_out.left_out += 1;
                        left_out.example("left-out", &*keyed.key.name);
                    }
                    !is_left_out
                });
                walk.step(*step, rows);
            }
            Err(error) => {
                let finding = Finding::new(&rules::FILE_DAMAGED, error.subject()).with("rank", rank);
                let finding = finding.with("what", "unreadable").with("reason", error.message());
                findings.push(finding.with("side", Side::Candidate.as_str()));
                break;
            }
        }
    }
    let Walked { findings: of_rows, culprit, evidence, kinds } = walk.finish();
    let mut evidence = Evidence { left_out: left_out.left_out, examples: left_out.examples, ..evidence };
    note_damage(&mut evidence, &[tables]);
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
        ..MonitorUnit::empty(rank)
    };
    Judged { unit, findings, steps: steps.into_keys().collect(), account: tables.account() }
}

/// Says of each rank which steps of other ranks it lacks.
fn tell_missing_steps(judged: &mut [Judged]) {
    let all: BTreeSet<i64> = judged.iter().flat_map(|one| one.steps.iter().copied()).collect();
    for one in judged {
        let mut missing = all.difference(&one.steps);
        let Some(first) = missing.next() else { continue };
        let finding =
            Finding::new(&rules::STEPS_MISSING, format!("rank {}", one.unit.rank)).with("rank", one.unit.rank);
        let first = u64::try_from(*first).unwrap_or(0);
        one.findings.push(finding.with("count", missing.count() + 1).with("first", first));
    }
}
