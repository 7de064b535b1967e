//! Judges a synchronisation of weights between trainer and engine: equal bits are expected at both ends.

use std::collections::BTreeMap;

use super::rules;
use crate::compare::weight_sync::{SyncChange, SyncComparison, SyncOutcome};
use crate::dtype::Dtype;
use crate::judge::rule::Rule;
use crate::judge::rule::artifacts;
use crate::read::weight_sync::{PointerReport, SyncDamage};
use crate::result::finding::Finding;
use crate::result::unit::{AnyUnit, Evidence, SyncDifference, SyncUnit};
use crate::verdict::{CheckId, Severity, Side};

/// Share of matrices that have nothing in common with the sent ones, from which on nothing was loaded.
const NOT_LOADED: f64 = 0.8;
/// Most tensors that a finding names.
const NAMED: usize = 8;
/// Most tensors that a unit lists.
const LISTED: usize = 200;

/// A synchronisation to judge, with the comparisons of its tensors.
#[derive(Debug)]
pub(crate) struct Synchronisation<'a> {
    /// The unit, in which only the stages are filled in.
    pub unit: SyncUnit,
    /// Tensors of both stages.
    pub comparisons: &'a [SyncComparison],
    /// Names of tensors that were sent and not received.
    pub missing: Vec<String>,
    /// Names of tensors that were received and not sent.
    pub extra: Vec<String>,
    /// Names that the policy leaves out.
    pub left_out: Vec<String>,
    /// Element type that weights are rounded to by intent; `None` where none is declared.
    pub cast: Option<Dtype>,
}

#[derive(Debug)]
pub(crate) struct JudgedSync {
    /// The unit, without a verdict.
    pub unit: SyncUnit,
    /// Findings about it.
    pub findings: Vec<Finding>,
}

/// Key of tensors that share one finding.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    code: &'static str,
    /// Number of steps behind.
    lag: Option<u64>,
    /// Element types, shapes or forms at both ends.
    forms: Option<(String, String)>,
}

/// Tensors of a kind, with the facts for their finding.
struct Told {
    rule: &'static Rule,
    differences: Vec<SyncDifference>,
    facts: Vec<(&'static str, u64)>,
}

pub(crate) fn judge_sync(sync: Synchronisation<'_>) -> JudgedSync {
    let Synchronisation { mut unit, comparisons, missing, extra, left_out, cast } = sync;
    let is_unloaded = is_not_loaded(comparisons);
    let mut kinds: BTreeMap<Kind, Told> = BTreeMap::new();
    let mut evidence = Evidence::default();
    let mut findings = Vec::new();
    for comparison in comparisons {
        count(comparison, &mut evidence);
        if let SyncOutcome::Unread { reason } = &comparison.outcome {
            let finding = Finding::new(&rules::UNREAD, &comparison.name).with("checkpoint", unit.name());
            let side = unit.side.unwrap_or(Side::Candidate);
            findings.push(finding.with("side", side.as_str()).with("reason", reason.as_str()));
        }
        if let Some((kind, told)) = told(comparison, unit.step, is_unloaded) {
            let kept = kinds.entry(kind).or_insert(Told { differences: Vec::new(), ..told });
            kept.differences.extend(told.differences);
        }
    }
    unit.compared = evidence.compared;
    unit.equal = comparisons.iter().filter(|one| is_equal(&one.outcome)).count() as u64;
    let of = (comparisons.len() + missing.len()) as u64;
    let lost = missing.into_iter().map(|name| difference(name, &rules::SYNC_MISSING)).collect::<Vec<_>>();
    evidence.offered = evidence.total().saturating_sub(evidence.left_out);
    if !lost.is_empty() {
        // Tensors that were sent and not received count as compared and different.
        evidence.compared += lost.len() as u64;
        evidence.offered += lost.len() as u64;
        let kind = Kind { code: rules::SYNC_MISSING.code, lag: None, forms: None };
        kinds.insert(kind, Told { rule: &rules::SYNC_MISSING, differences: lost, facts: Vec::new() });
    }
    evidence.add_alone(unit.side.unwrap_or(Side::Candidate), extra.len() as u64);
    extra.iter().for_each(|name| evidence.example("one-sided", name));
    evidence.offered += extra.len() as u64;
    evidence.left_out = left_out.len() as u64;
    left_out.iter().for_each(|name| evidence.example("left-out", name));
    for (kind, told) in kinds {
        findings.push(finding(&unit, kind, &told, of, cast));
        let room = LISTED.saturating_sub(unit.differences.len());
        if told.rule.severity >= Severity::Warn {
            unit.differences.extend(told.differences.into_iter().take(room));
        }
    }
    if evidence.compared == 0 && findings.is_empty() {
        findings.push(Finding::new(&rules::NOTHING_COMPARED, unit.name()).with("checkpoint", unit.name()));
    }
    unit.names = unit.differences.iter().map(|difference| difference.name.clone()).collect();
    unit.evidence = evidence;
    if unit.side == Some(Side::Baseline) {
        soften(&mut findings);
    }
    JudgedSync { unit, findings }
}

/// Lowers findings to warnings: a fault in the baseline's own synchronisation must not fail the candidate.
fn soften(findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|finding| finding.severity > Severity::Warn) {
        finding.severity = Severity::Warn;
    }
}

/// Whether so many matrices are unlike the sent ones that no weights were loaded.
fn is_not_loaded(comparisons: &[SyncComparison]) -> bool {
    let matrices = || comparisons.iter().filter(|one| one.is_matrix);
    let unlike = matrices().filter(|one| one.outcome == SyncOutcome::Wrong(SyncChange::Unlike)).count();
    unlike > 0 && unlike as f64 >= NOT_LOADED * matrices().count() as f64
}

fn is_equal(outcome: &SyncOutcome) -> bool {
    matches!(outcome, SyncOutcome::Equal { .. } | SyncOutcome::Padded { .. })
}

fn count(comparison: &SyncComparison, evidence: &mut Evidence) {
    match &comparison.outcome {
        SyncOutcome::Incomparable { .. } => {
            evidence.not_compared += 1;
            evidence.example("not-compared", &comparison.name);
        }
        SyncOutcome::Unread { .. } => {
            evidence.damaged += 1;
            evidence.example("damaged", &comparison.name);
        }
        outcome => {
            evidence.compared += 1;
            evidence.equal_trivially += u64::from(*outcome == SyncOutcome::Equal { is_trivial: true });
        }
    }
}

fn difference(name: String, rule: &Rule) -> SyncDifference {
    SyncDifference { name, code: rule.code.to_owned(), rows: None, lag: None, with: None }
}

/// Kind and facts of a tensor; `None` for one that is equal or unread.
fn told(comparison: &SyncComparison, step: u64, is_unloaded: bool) -> Option<(Kind, Told)> {
    let (mut lag, mut forms, mut facts) = (None, None, Vec::new());
    let of = |rule: &'static Rule| (rule, difference(comparison.name.clone(), rule));
    let (rule, difference) = match &comparison.outcome {
        SyncOutcome::Equal { .. } | SyncOutcome::Unread { .. } => return None,
        SyncOutcome::Cast { from, to } => {
            forms = Some((from.clone(), to.clone()));
            of(&rules::SYNC_CAST)
        }
        SyncOutcome::Padded { rows } => {
            facts.push(("rows", *rows));
            of(&rules::SYNC_PADDED)
        }
        SyncOutcome::Incomparable { from, to } => {
            forms = Some((from.clone(), to.clone()));
            of(&rules::SYNC_NOT_COMPARABLE)
        }
        SyncOutcome::Wrong(change) => match change {
            SyncChange::Stale { step: held } => {
                lag = Some(step.saturating_sub(*held));
                facts.push(("held", *held));
                let (rule, difference) = of(&rules::SYNC_STALE);
                (rule, SyncDifference { lag, ..difference })
            }
            SyncChange::Swapped { with } => {
                let (rule, difference) = of(&rules::SYNC_SWAPPED);
                (rule, SyncDifference { with: Some(with.clone()), ..difference })
            }
            SyncChange::Copied { of: other } => {
                let (rule, difference) = of(&rules::SYNC_DIFFERS);
                (rule, SyncDifference { with: Some(other.clone()), ..difference })
            }
            SyncChange::Reordered => of(&rules::SYNC_REORDERED),
            SyncChange::Partial { rows, count } => {
                facts.push(("rows", *count));
                let (rule, difference) = of(&rules::SYNC_PARTIAL);
                (rule, SyncDifference { rows: Some(*rows), ..difference })
            }
            SyncChange::NonFinite { count } => {
                facts.push(("elements", *count));
                of(&rules::SYNC_NON_FINITE)
            }
            SyncChange::Unlike | SyncChange::Other if is_unloaded => of(&rules::SYNC_NOT_LOADED),
            SyncChange::Shapes { from, to } => {
                forms = Some((format!("{from:?}"), format!("{to:?}")));
                of(&rules::SYNC_DIFFERS)
            }
            SyncChange::Unlike | SyncChange::Other => of(&rules::SYNC_DIFFERS),
        },
    };
    Some((Kind { code: rule.code, lag, forms }, Told { rule, differences: vec![difference], facts }))
}

/// The finding about all tensors of a kind.
fn finding(unit: &SyncUnit, kind: Kind, told: &Told, of: u64, cast: Option<Dtype>) -> Finding {
    let Told { rule, differences, facts } = told;
    let names: Vec<String> = differences.iter().take(NAMED).map(name_of).collect();
    let place = match differences.as_slice() {
        [one] => one.name.clone(),
        _ => unit.name(),
    };
    let count = differences.len() as u64;
    let mut finding = about(rule, place, unit).with("names", names).with("count", count).with("of", of);
    if differences.len() > NAMED {
        finding = finding.with("more", count - NAMED as u64);
    }
    for (name, fact) in facts.iter().filter(|(name, _)| differences.len() == 1 || *name == "held") {
        finding = finding.with(name, *fact);
    }
    if let (Some([from, behind]), [_]) = (differences.first().and_then(|one| one.rows), differences.as_slice()) {
        finding = finding.with("first", from).with("last", behind.saturating_sub(1));
    }
    if let Some(lag) = kind.lag {
        finding = finding.with("lag", lag);
    }
    let Some((from, to)) = kind.forms else { return finding };
    let is_declared = finding.is(&rules::SYNC_CAST) && cast.is_some() && Dtype::parse(&to) == cast;
    let finding = finding.with("from", from).with("to", to);
    if is_declared { finding.with_severity(Severity::Info) } else { finding }
}

/// Name of a tensor, with the name of the tensor whose numbers it holds.
fn name_of(difference: &SyncDifference) -> String {
    match &difference.with {
        Some(with) => format!("{} = {with}", difference.name),
        None => difference.name.clone(),
    }
}

/// A finding with the step and rank of a synchronisation.
fn about(rule: &Rule, place: String, unit: &SyncUnit) -> Finding {
    let mut finding = Finding::new(rule, place).with("unit", unit.name()).with("step", unit.step);
    if let Some(rank) = unit.rank {
        finding = finding.with("rank", rank);
    }
    // Findings are about the candidate unless they name a side.
    let is_baselines = unit.side == Some(Side::Baseline);
    if is_baselines { finding.with("side", Side::Baseline.as_str()) } else { finding }
}

/// Judges a report of pointers: a parameter whose pointer did not move was not loaded.
pub(crate) fn judge_pointers(report: &PointerReport, side: Side) -> JudgedSync {
    let mut unit = SyncUnit::empty(report.step, report.rank);
    unit.side = Some(side);
    (unit.from, unit.to) = (String::new(), report.path.clone());
    let unmoved: Vec<&str> = report.rows.iter().filter(|row| !row.is_synced).map(|row| row.name.as_str()).collect();
    let rows = report.rows.len() as u64;
    (unit.compared, unit.equal) = (rows, rows - unmoved.len() as u64);
    unit.evidence = Evidence { offered: rows, compared: rows, ..Evidence::default() };
    let listed = unmoved.iter().take(LISTED);
    unit.differences = listed.map(|name| difference((*name).to_owned(), &rules::SYNC_NOT_LOADED)).collect();
    unit.names = unit.differences.iter().map(|difference| difference.name.clone()).collect();
    let mut findings = Vec::new();
    if !unmoved.is_empty() {
        let told = Told { rule: &rules::SYNC_NOT_LOADED, differences: unit.differences.clone(), facts: Vec::new() };
        let kind = Kind { code: rules::SYNC_NOT_LOADED.code, lag: None, forms: None };
        let finding =
            finding(&unit, kind, &told, rows, None).with("count", unmoved.len()).with("pointers", true_flag());
        findings.push(finding);
    }
    if rows == 0 {
        findings.push(Finding::new(&rules::NOTHING_COMPARED, unit.name()).with("checkpoint", unit.name()));
    }
    if side == Side::Baseline {
        soften(&mut findings);
    }
    JudgedSync { unit, findings }
}

/// Judges a stage that has no partner, or that the candidate lacks altogether.
pub(crate) fn judge_lone_stage(mut unit: SyncUnit, is_absent: bool) -> JudgedSync {
    unit.evidence = Evidence::default();
    let side = unit.side.unwrap_or(Side::Candidate);
    unit.evidence.add_alone(side, 1);
    unit.evidence.offered = 1;
    let mut finding = about(&rules::SYNC_STAGE_MISSING, unit.name(), &unit).with("side", side.as_str());
    if is_absent {
        finding = finding.with("absent", true_flag());
    }
    let mut findings = vec![finding];
    if side == Side::Baseline && !is_absent {
        soften(&mut findings);
    }
    JudgedSync { unit, findings }
}

fn true_flag() -> crate::result::finding::Fact {
    crate::result::finding::Fact::Flag(Some(true))
}

/// The finding about a part of a file that cannot be read.
pub(crate) fn damaged_part(damage: &SyncDamage, side: Side) -> Finding {
    let finding = Finding::new(&artifacts::DAMAGED, &damage.path).of_check(CheckId::Checkpoint);
    let finding = finding.with("side", side.as_str()).with("reason", damage.reason.as_str());
    finding.with("help", damage.help)
}
