//! Judges all rows of an operator test: counts, findings, and the first wrong row.

use std::collections::{BTreeSet, HashSet};

use super::output::{JudgedRow, RowEvidence, RowReason};
use super::rules;
use super::siblings::ComparedOperators;
use super::told::ToldRow;
use crate::judge::apply_policy::{Decision, decide, shown_places};
use crate::kind::TensorKind;
use crate::policy::Policy;
use crate::read::operators::OperatorStatus;
use crate::result::finding::{Finding, verdict_of};
use crate::result::identity::own_finding;
use crate::result::number::Number;
use crate::result::unit::{Culprit, CulpritKind, Evidence, OperatorCulprit, OperatorsUnit, StatusCounts};
use crate::verdict::{CheckId, Side, Verdict};

/// Most findings about the rows of a test. As many again may be covered by waivers, and as many again may follow from those.
pub const MOST_FINDINGS: usize = 40;
/// Most names that a finding lists.
const SHOWN: usize = 5;

/// A test, as its findings name it.
#[derive(Clone, Debug, Default)]
pub struct NamedTest {
    /// Name of the table, the same in every run.
    pub table: String,
    /// Rank; `None` where no path names one.
    pub rank: Option<u64>,
    /// The baseline's file; empty where the candidate is judged alone.
    pub baseline_file: String,
    /// The candidate's file.
    pub candidate_file: String,
}

/// Names of rows, or of operators, that only one side has.
#[derive(Clone, Debug, Default)]
pub struct OneSidedRows {
    /// Rows of the baseline alone.
    pub baseline: Vec<String>,
    /// Rows of the candidate alone.
    pub candidate: Vec<String>,
}

/// Rows of a test before it is judged as a whole.
#[derive(Debug, Default)]
pub struct TestContent {
    /// Judged rows, in the order of the candidate's table.
    pub rows: Vec<JudgedRow>,
    /// Names of rows without a partner.
    pub one_sided: OneSidedRows,
    /// Names of rows that the policy leaves out.
    pub left_out: Vec<String>,
    /// Names of rows that a table repeats with other numbers.
    pub contradicting: Vec<String>,
    /// Findings about the files.
    pub damage: Vec<Finding>,
}

/// A judged test. Its verdict follows from the findings once the policy is applied to them.
#[derive(Debug)]
pub struct JudgedTest {
    /// The test.
    pub unit: OperatorsUnit,
    /// Its findings.
    pub findings: Vec<Finding>,
    /// Its rows.
    pub rows: Vec<JudgedRow>,
    /// Indexes of the policy's limits that matched a row.
    pub used: BTreeSet<usize>,
}

/// Judges a test.
pub fn judge(named: &NamedTest, content: TestContent, policy: &Policy) -> JudgedTest {
    let TestContent { rows, one_sided, left_out, contradicting, damage } = content;
    let told: Vec<ToldRow<'_>> = rows.iter().enumerate().filter_map(|(place, row)| ToldRow::of(place, row)).collect();
    let decisions: Vec<_> =
        told.iter().map(|told| decide(told.rule.code, &told.row.name, told.rule.severity, policy)).collect();
    let (own, behind) = apart(&told, &decisions);
    let first = own.iter().copied().find(|nth| {
        let is_wrong = |told: &ToldRow<'_>| told.row.status == OperatorStatus::Error;
        decisions.get(*nth).is_some_and(Decision::counts) && told.get(*nth).is_some_and(is_wrong)
    });
    let culprit = first.and_then(|nth| Some(culprit(told.get(nth)?, named)));
    let shown = shown_rows(&told, &decisions, (own, behind), first);
    let counts = counts(&rows);
    let mut findings: Vec<Finding> = damage;
    findings.extend(missing(&one_sided, &findings, &named.table));
    if !shown.is_empty() {
        let operators = ComparedOperators::of(&rows);
        findings.extend(shown.into_iter().map(|told| operators.told(told.finding(&named.table))));
    }
    findings
        .extend([Side::Baseline, Side::Candidate].into_iter().filter_map(|side| skipped(&rows, side, &named.table)));
    let evidence = evidence(&rows, &one_sided, (left_out, contradicting), &findings);
    if evidence.compared == 0 && verdict_of(&findings) < Verdict::Incomplete {
        let finding = Finding::new(&rules::NOTHING_CHECKED, &named.table).with("unit", named.table.as_str());
        findings.push(finding.with("skipped", counts.skip));
    }
    let unmatched = (one_sided.baseline.len() as u64, one_sided.candidate.len() as u64);
    let worst = rows.iter().filter_map(|row| row.worst).max_by(f64::total_cmp);
    let unit = OperatorsUnit {
        table: named.table.clone(),
        rank: named.rank,
        baseline_file: named.baseline_file.clone(),
        candidate_file: named.candidate_file.clone(),
        verdict: Verdict::Skipped,
        compared: evidence.compared,
        counts,
        unmatched_baseline: unmatched.0,
        unmatched_candidate: unmatched.1,
        evidence,
        worst: worst.map(Number),
        culprit,
    };
    let used = rows.iter().filter_map(|row| row.rule).collect();
    JudgedTest { unit, findings, rows, used }
}

/// Indexes of rows that are independent, and of rows that follow from a waived one about the same operator.
fn apart(told: &[ToldRow<'_>], decisions: &[Decision<'_>]) -> (Vec<usize>, Vec<usize>) {
    let roots = accepted(told.iter().zip(decisions));
    let follows = |nth: &usize| {
        let (told, decision) = (told.get(*nth), decisions.get(*nth));
        decision.is_some_and(Decision::counts)
            && told.is_some_and(|told| told.is_numeric() && roots.contains(told.operator()))
    };
    let (behind, own) = (0..told.len()).partition(follows);
    (own, behind)
}

/// Operators of which a waiver covers a row about numbers.
fn accepted<'a>(told: impl Iterator<Item = (&'a ToldRow<'a>, &'a Decision<'a>)>) -> HashSet<&'a str> {
    let covered = told.filter(|(told, decision)| decision.waiver.is_some() && told.is_numeric());
    covered.map(|(told, _)| told.operator()).collect()
}

/// The rows that are shown, in order: independent ones, and those that follow from waived ones that are shown. The latter do not
/// displace the former.
fn shown_rows<'a>(
    told: &[ToldRow<'a>],
    decisions: &[Decision<'_>],
    (own, behind): (Vec<usize>, Vec<usize>),
    first: Option<usize>,
) -> Vec<ToldRow<'a>> {
    let of_own: Vec<Decision<'_>> = own.iter().filter_map(|nth| decisions.get(*nth).copied()).collect();
    let kept: Vec<usize> = first.and_then(|first| own.binary_search(&first).ok()).into_iter().collect();
    let places = shown_places(&of_own, |_| false, MOST_FINDINGS, &kept).into_iter();
    let mut places: Vec<usize> = places.filter_map(|place| own.get(place).copied()).collect();
    let roots = accepted(places.iter().filter_map(|nth| told.get(*nth).zip(decisions.get(*nth))));
    let has_root = |nth: &usize| told.get(*nth).is_some_and(|told| roots.contains(told.operator()));
    places.extend(behind.into_iter().filter(has_root).take(MOST_FINDINGS));
    places.sort_unstable();
    places.iter().filter_map(|nth| told.get(*nth).copied()).collect()
}

/// The account of a test.
fn evidence(
    rows: &[JudgedRow],
    one_sided: &OneSidedRows,
    (left_out, contradicting): (Vec<String>, Vec<String>),
    findings: &[Finding],
) -> Evidence {
    let of = |wanted: &[RowEvidence]| rows.iter().filter(|row| wanted.contains(&row.evidence)).count() as u64;
    let mut evidence = Evidence {
        compared: of(&[RowEvidence::Compared, RowEvidence::Trivial]),
        equal_trivially: of(&[RowEvidence::Trivial]),
        not_compared: of(&[RowEvidence::NotCompared]),
        shown_only: of(&[RowEvidence::Nothing]),
        one_sided: [one_sided.baseline.len() as u64, one_sided.candidate.len() as u64],
        left_out: left_out.len() as u64,
        contradicting: contradicting.len() as u64,
        ..Evidence::default()
    };
    // A repeated row counts once.
    let again = evidence.contradicting.min(evidence.unpaired_count());
    evidence.offered = evidence.compared + evidence.not_compared + evidence.unpaired_count() - again;
    left_out.into_iter().for_each(|name| evidence.example("left-out", name));
    contradicting.into_iter().for_each(|name| evidence.example("contradicting", name));
    for row in rows.iter().filter(|row| row.evidence == RowEvidence::NotCompared) {
        evidence.example("not-compared", row.name.as_str());
    }
    for file in findings.iter().filter(|finding| finding.is(&rules::FILE_DAMAGED)) {
        evidence.damaged += 1;
        evidence.example("damaged", file.place.as_str());
    }
    evidence
}

fn counts(rows: &[JudgedRow]) -> StatusCounts {
    let of = |status: OperatorStatus| rows.iter().filter(|row| row.status == status).count() as u64;
    StatusCounts {
        pass: of(OperatorStatus::Pass),
        warning: of(OperatorStatus::Warning),
        error: of(OperatorStatus::Error),
        skip: of(OperatorStatus::Skip),
    }
}

fn culprit(told: &ToldRow<'_>, named: &NamedTest) -> Culprit {
    let ToldRow { place, row, rule, .. } = *told;
    let numbers = match &row.reason {
        Some(RowReason::Ratio { value, limit, .. }) => vec![("value", *value), ("limit", *limit)],
        Some(RowReason::Elements(share)) => vec![("value", *share), ("limit", 0.0)],
        _ => Vec::new(),
    };
    let mut metrics: crate::result::unit::Metrics =
        numbers.into_iter().map(|(name, value)| (name.to_owned(), Number(value))).collect();
    metrics.rule = row.reason.as_ref().map(|reason| reason.as_str().to_owned());
    let mut culprit = Culprit {
        order: place as u64,
        rank: named.rank,
        op: row.operation(),
        tensor: row.name.clone(),
        code: rule.code.to_owned(),
        metrics,
        operator: Some(OperatorCulprit {
            table: named.table.clone(),
            api: row.api.clone(),
            direction: row.direction,
            output: row.output,
            row: row.name.clone(),
        }),
        ..Culprit::new(CheckId::Operators, CulpritKind::Tensor(TensorKind::Output))
    };
    culprit.finding = own_finding(&culprit);
    culprit
}

/// Findings about rows that a side lacks, unless a damaged file explains them.
fn missing(one_sided: &OneSidedRows, damage: &[Finding], table: &str) -> Vec<Finding> {
    let is_damaged = |side: Side| {
        let of_side = crate::result::finding::Fact::from(side.as_str());
        damage.iter().any(|finding| finding.facts.get("side") == Some(&of_side))
    };
    let sides = [(Side::Candidate, &one_sided.baseline), (Side::Baseline, &one_sided.candidate)];
    sides
        .into_iter()
        .filter(|(side, _)| !is_damaged(*side))
        .filter_map(|(side, rows)| missing_rows_finding(side, rows, Some(table)))
        .collect()
}

/// The finding that `side` lacks rows of a test, or tests where none is named.
pub(crate) fn missing_rows_finding(side: Side, rows: &[String], table: Option<&str>) -> Option<Finding> {
    let first = rows.first()?;
    let shown: Vec<String> = rows.iter().take(SHOWN).cloned().collect();
    let finding = Finding::new(&rules::MISSING, first.as_str()).with("side", side.as_str());
    let finding = finding.with("count", rows.len()).with("names", shown);
    Some(match table {
        Some(table) => finding.with("unit", table),
        None => finding.with("tables", rows.len()),
    })
}

/// The finding that a side skipped what the other one checked.
fn skipped(rows: &[JudgedRow], side: Side, table: &str) -> Option<Finding> {
    let skipped: Vec<&JudgedRow> = rows.iter().filter(|row| row.skipped_on == Some(side)).collect();
    let first = skipped.first()?;
    let shown: Vec<String> = skipped.iter().take(SHOWN).map(|row| row.name.clone()).collect();
    let finding = Finding::new(&rules::SKIPPED, first.name.as_str()).with("unit", table).with("side", side.as_str());
    Some(finding.with("count", skipped.len()).with("names", shown))
}
