//! Does a result contradict itself? What concerns it as a whole; its units have a file each.

use std::collections::BTreeSet;

use super::refusal::{Checked, Contradiction, demand, shown};
use super::said::{self, Said, everything, key, keys};
use super::{Against, alone, checkpoint, config, curve, dump, evaluation, monitor, operators, performance, source};
use crate::check::Command;
use crate::gate::Request;
use crate::gate::first_culprit;
use crate::judge::dump::rules as dump_rules;
use crate::judge::register;
use crate::judge::rule::{artifacts, policy as policy_rules};
use crate::policy::value::Date;
use crate::read::evaluation::FileKind;
use crate::read::operators::TableKind;
use crate::read::performance::FileKind as ProfileKind;
use crate::result::finding::{Finding, verdict_of};
use crate::result::unit::{Check, Unit};
use crate::result::{ArtifactRow, GateResult, SCHEMA_VERSION, Tool};
use crate::verdict::{CheckId, Severity, Side, Verdict};

/// Refuses a result that contradicts itself.
pub(super) fn check(result: &GateResult, said: &Said<'_>, against: &Against<'_>) -> Checked {
    origin(result, against)?;
    words(result)?;
    alone::consistent(result)?;
    checks(result)?;
    findings(result)?;
    waived(result)?;
    // The rules below are those of comparisons.
    if !result.is_alone() {
        seen(result)?;
        result.checks.iter().try_for_each(|check| units(result, check, said))?;
    }
    result.checks.iter().try_for_each(|check| bounds(result, check))?;
    verdict(result)?;
    let first = first_culprit(&result.checks);
    demand(result.culprit == first, "culprit", || match first {
        Some(first) => format!("is not {}, which its units name first", shown(&first.op)),
        None => "is there, and no unit has one".into(),
    })
}

/// Layout, program, day, repository, and the file beside it.
fn origin(result: &GateResult, against: &Against<'_>) -> Checked {
    demand(result.schema_version == SCHEMA_VERSION, "schema_version", || format!("is not {SCHEMA_VERSION}"))?;
    demand(result.tool.name == Tool::current().name, "tool.name", || "was written by another program".into())?;
    demand(Date::try_from(result.today.clone()).is_ok(), "today", || {
        format!("{} is not a date", shown(&result.today))
    })?;
    let of = result.source.as_ref().map_or("", |source| source.repository.as_str());
    // A project's number says nothing about its path.
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let comparable = !of.is_empty() && !against.repository.is_empty() && is_number(of) == is_number(against.repository);
    demand(!comparable || of.eq_ignore_ascii_case(against.repository), "source.repository", || {
        format!("{} is not the repository {}", shown(of), shown(against.repository))
    })?;
    let beside = against.operations;
    demand(beside.is_none() || beside == result.operations_digest.as_deref(), "operations_digest", || {
        "does not match the `operations.jsonl` next to the result".into()
    })
}

/// Words of the gate's own, which documents have sentences for.
fn words(result: &GateResult) -> Checked {
    let statuses = ["read", "damaged", "ignored"];
    let row = result.artifacts.iter().find(|row| !statuses.contains(&row.status.as_str()));
    demand(row.is_none(), "artifacts", || {
        format!("{} is not a status of a file", shown(row.map_or("", |row| &row.status)))
    })?;
    let Some(next) = &result.next_dump else { return Ok(()) };
    let known = ["tensors", "inside-module", "gap", "curve"].contains(&next.reason.as_str())
        && ["statistics", "tensor"].contains(&next.task.as_str())
        && ["L0", "L1", "mix"].contains(&next.level.as_str());
    demand(known, "next_dump", || "asks for a dump that the gate does not ask for".into())
}

fn checks(result: &GateResult) -> Checked {
    let ids: Vec<CheckId> = result.checks.iter().map(|check| check.id).collect();
    demand(!ids.is_empty(), "checks", || "holds no check".into())?;
    let different: BTreeSet<&CheckId> = ids.iter().collect();
    demand(different.len() == ids.len(), "checks", || "holds a check twice".into())?;
    // All, or those of a command that judges one pair.
    // Source is judged where the policy asks for it.
    let of_runs = |ids: &[CheckId]| ids.iter().copied().filter(|id| *id != CheckId::Source).collect::<Vec<_>>();
    let is_in_order = ids.last() == Some(&CheckId::Source) || !ids.contains(&CheckId::Source);
    let fits = is_in_order && of_runs(&ids) == of_runs(Request::ALL_CHECKS)
        || Command::ALL.iter().any(|command| command.checks() == ids);
    demand(fits, "checks", || "are not those of any command".into())
}

/// Codes that exist, under their check, about units that are there.
fn findings(result: &GateResult) -> Checked {
    let units = keys(result);
    let there: BTreeSet<CheckId> = result.checks.iter().map(|check| check.id).collect();
    for finding in everything(result) {
        let at = || format!("finding {} at {}", shown(&finding.code), shown(&finding.place));
        let Some(rule) = register::find(&finding.code) else {
            return Err(Contradiction::new(at(), "the code does not exist"));
        };
        let fits = finding.check == rule.check || rule.check == CheckId::Artifacts && there.contains(&finding.check);
        demand(fits, &at(), || format!("a finding of the check `{}` has no such code", finding.check.as_str()))?;
        let general = !finding.check.is_of_run();
        demand(general || there.contains(&finding.check), &at(), || "its check is missing".into())?;
        demand(finding.check != CheckId::History || result.history.is_some(), &at(), || {
            "the history is missing".into()
        })?;
        let owner = said::owner(finding, &units);
        demand(owner.is_none_or(|owner| units.contains(&owner)), &at(), || "its unit is missing".into())?;
    }
    Ok(())
}

fn waived(result: &GateResult) -> Checked {
    for waived in &result.waived {
        let at = format!("waived {}", shown(&waived.finding.code));
        let named = waived.waiver.contains(" at ") && !waived.owner.is_empty() && !waived.reason.is_empty();
        demand(named, &at, || "no waiver is named".into())?;
        demand(Date::try_from(waived.expires.clone()).is_ok(), &at, || "its waiver ends on no day".into())?;
        demand(waived.finding.severity > Severity::Info, &at, || "it weighs nothing".into())?;
    }
    Ok(())
}

/// Checks that every artifact that was read has been judged, and that every judged check had artifacts.
fn seen(result: &GateResult) -> Checked {
    for row in result.artifacts.iter().filter(|row| row.status == "read") {
        let Some(id) = check_of(row) else { continue };
        let judged = result.checks.iter().find(|check| check.id == id);
        demand(judged.is_some_and(|check| !is_empty(check)), "artifacts", || {
            format!("{} was read, and the check `{}` judged nothing", shown(&row.path), id.as_str())
        })?;
    }
    let is_of_runs = |check: &&Check| !check.units.is_empty() && check.id != CheckId::Source;
    for check in result.checks.iter().filter(is_of_runs) {
        let on = |side| result.artifacts.iter().any(|row| row.side == side && check_of(row) == Some(check.id));
        demand(on(Side::Baseline) && on(Side::Candidate), "artifacts", || {
            format!("hold nothing of the check `{}`, which has units", check.id.as_str())
        })?;
    }
    dumps(result)
}

/// Every recorded step and rank of either side is a unit, or has a finding that says why it is none.
fn dumps(result: &GateResult) -> Checked {
    let Some(check) = result.checks.iter().find(|check| check.id == CheckId::Dump) else { return Ok(()) };
    // A part of a dump has a note that says so.
    let is_record = |row: &&ArtifactRow| check_of(row) == Some(check.id) && row.status == "read" && row.note.is_empty();
    let records = result.artifacts.iter().filter(is_record).count();
    let codes = [dump_rules::STEP_MISSING.code, dump_rules::RANK_MISSING.code, artifacts::AMBIGUOUS.code];
    let told = |finding: &&Finding| finding.check == check.id && codes.contains(&finding.code.as_str());
    let (units, missing) = (check.units.len(), everything(result).filter(told).count());
    // Where one side has no dump at all, that is said of the check.
    let one_sided = everything(result).any(|finding| finding.code == artifacts::ONE_SIDE_ONLY.code);
    demand(records == 2 * units + missing || one_sided && units == 0, "artifacts", || {
        format!("hold {records} dumps, and there are {units} units and {missing} findings of others")
    })
}

fn is_empty(check: &Check) -> bool {
    check.verdict == Verdict::Skipped && check.units.is_empty() && check.items.is_empty()
}

/// The check that a file belongs to, by what it was recognised as.
fn check_of(row: &ArtifactRow) -> Option<CheckId> {
    match row.kind.as_str() {
        "" | "archive" => None,
        "config pack" => Some(CheckId::Config),
        "dump" => Some(CheckId::Dump),
        "checkpoint" => Some(CheckId::Checkpoint),
        "training monitor" | "anomalies of a monitor" => Some(CheckId::Monitor),
        kind if TableKind::ALL.into_iter().any(|known| known.name() == kind) => Some(CheckId::Operators),
        kind if FileKind::ALL.into_iter().any(|known| known.name() == kind) => Some(CheckId::Evaluation),
        kind if ProfileKind::ALL.into_iter().any(|known| known.name() == kind) => Some(CheckId::Performance),
        // Curves are called by their format.
        _ => Some(CheckId::Loss),
    }
}

fn units(result: &GateResult, check: &Check, said: &Said<'_>) -> Checked {
    let place = format!("checks.{}", check.id.as_str());
    let mut known = BTreeSet::new();
    for unit in &check.units {
        let key = key(check.id, unit);
        let at = format!("{place}, {}", shown(&key.1));
        match (check.id, unit) {
            (CheckId::Dump, Unit::Dump(unit)) => dump::check(unit, &key, said, &at)?,
            (CheckId::Loss, Unit::Curve(unit)) => curve::check(unit, &key, said, result.profile, &at)?,
            (CheckId::Checkpoint, Unit::Checkpoint(unit)) => {
                checkpoint::check(unit, &key, said, result.profile, &at)?;
            }
            (CheckId::Monitor, Unit::Monitor(unit)) => monitor::check(unit, &key, said, &at)?,
            (CheckId::Evaluation, Unit::Evaluation(unit)) => evaluation::check(unit, &key, said, &at)?,
            (CheckId::Evaluation, Unit::Generation(unit)) => evaluation::generations(unit, &key, said, &at)?,
            (CheckId::Operators, Unit::Operators(unit)) => operators::check(unit, &key, said, &at)?,
            (CheckId::Performance, Unit::Performance(unit)) => performance::check(unit, &key, said, &at)?,
            (CheckId::Source, Unit::Source(unit)) => source::check(unit, &key, said, &at)?,
            // A unit that cannot be compared with itself proves nothing.
            _ => return Err(Contradiction::new(place, "holds a unit of another check")),
        }
        demand(known.insert(key), &at, || "is there twice".into())?;
    }
    evaluation::corrected(check, &place)?;
    performance::culprit_of_check(check, &place)?;
    if check.id == CheckId::Config {
        return config::check(check, &result.findings, &place);
    }
    demand(check.items.is_empty(), &place, || "has checkers, which only the config check has".into())
}

/// A check's verdict is what its units, checkers and findings lead to.
fn bounds(result: &GateResult, check: &Check) -> Checked {
    let (least, most) = range(check, &result.findings);
    demand((least..=most).contains(&check.verdict), &format!("checks.{}", check.id.as_str()), || {
        let (said, least) = (check.verdict.as_str(), if check.verdict < least { least } else { most });
        format!("claims {said}, but its content gives {}", least.as_str())
    })
}

/// Between which verdicts a check lies. Damaged files and unused limits may count outside of it.
pub(super) fn range(check: &Check, findings: &[Finding]) -> (Verdict, Verdict) {
    let parts = check.units.iter().map(|unit| unit.verdict()).chain(check.items.iter().map(|item| item.verdict));
    let mut least = Verdict::of_all(parts);
    if check.id == CheckId::Loss && least == Verdict::Skipped && !check.units.is_empty() {
        least = Verdict::Incomplete;
    }
    let mut most = least;
    let outside =
        |finding: &Finding| finding.code == artifacts::DAMAGED.code || finding.code == artifacts::UNSUPPORTED.code;
    let of_tree = |finding: &Finding| check.id == CheckId::Source && finding.code == artifacts::NO_SOURCE.code;
    for finding in findings.iter().filter(|finding| finding.counts()) {
        let verdict = finding.severity.verdict();
        if finding.check == check.id || of_tree(finding) {
            most = most.max(verdict);
            if !outside(finding) && finding.severity > Severity::Info {
                least = least.max(verdict);
            }
        }
        let of_limits = finding.code == policy_rules::SELECTOR_UNUSED.code;
        if of_limits && !matches!(check.id, CheckId::Config | CheckId::Loss) {
            most = most.max(verdict);
        }
    }
    // A finding that is waived leaves a check that has looked, and so does curves that none could be judged of.
    if most == Verdict::Skipped {
        most = Verdict::Pass;
    }
    if check.id == CheckId::Loss && check.units.is_empty() && check.verdict == Verdict::Incomplete {
        most = most.max(Verdict::Incomplete);
    }
    (least, most)
}

/// The verdict of the whole is what checks and findings lead to.
fn verdict(result: &GateResult) -> Checked {
    let checks = Verdict::of_all(result.checks.iter().map(|check| check.verdict));
    let all = checks.max(verdict_of(&result.findings));
    let nothing = checks == Verdict::Skipped && all <= Verdict::Pass;
    let fits = result.verdict == all || nothing && result.verdict == Verdict::Incomplete;
    let empty = nothing && result.verdict != Verdict::Incomplete;
    demand(!empty, "verdict", || format!("is {}, and no check has judged anything", result.verdict.as_str()))?;
    demand(fits, "verdict", || {
        format!("is {}, and its checks and findings come to {}", result.verdict.as_str(), all.as_str())
    })
}
