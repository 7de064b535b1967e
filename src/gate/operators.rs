//! The check of operator tests: the tables of both sides, or of the candidate alone, are judged test by test.

mod files;
mod listing;

use std::collections::{BTreeMap, BTreeSet};

use super::discover::{Extent, FileSample, Inventory, RecognisedFile, Recogniser, RecognitionEvidence};
use super::outcome::CheckOutcome;
use super::wiring::GateCheck;
use crate::fetch::progress::Progress;
use crate::judge::operators::alone;
use crate::judge::operators::api::ApiTables;
use crate::judge::operators::paired;
use crate::judge::operators::rules;
use crate::judge::operators::table::{JudgedTest, NamedTest, TestContent, judge, missing_rows_finding};
use crate::judge::rule::policy::SELECTOR_UNUSED;
use crate::msprobe::operators as msprobe;
use crate::pair::operators::{OperatorTest, operator_tests, pair_outputs, pair_tests};
use crate::policy::Policy;
use crate::read::operators::{OperatorPlace, TableKind};
use crate::result::finding::Finding;
use crate::result::unit::Unit;
use crate::verdict::{CheckId, Side};
use files::{ComparedTables, TestedTables};

/// The check of operator tests.
pub(super) const CHECK: GateCheck = GateCheck {
    // A table may be empty or cut within its header; its name still says what it would be.
    recogniser: Recogniser { check: ID, evidence: RecognitionEvidence::Place, extent: Extent::Content, recognise },
    judge: |sides, _, shared| Ok(check(&sides.baseline, &sides.candidate, &shared.request.policy, shared.progress)),
    judge_samples: None,
    measure: None,
    judge_alone: Some(health),
    judge_tree: None,
};

const ID: CheckId = CheckId::Operators;
/// Name of a test whose path names neither rank nor folder.
const UNNAMED: &str = "operators";

fn recognise(sample: &FileSample<'_>) -> Option<RecognisedFile> {
    let kind = TableKind::recognise(sample.path, sample.head)?;
    Some(RecognisedFile::read(kind.name(), OperatorPlace::from_path(sample.path, kind)))
}

/// Tests of a side that `acc_check` wrote, or that `api_precision_compare` wrote.
fn tests_of(inventory: &Inventory, is_of_test: bool) -> Vec<OperatorTest> {
    let places: Vec<OperatorPlace> = inventory
        .artifacts::<OperatorPlace>()
        .iter()
        .filter(|place| place.kind.is_acc_check() == is_of_test)
        .cloned()
        .collect();
    operator_tests(&places)
}

/// Judges the operator tests of both sides.
fn check(baseline: &Inventory, candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    // A side without any table is reported elsewhere, as a check with artifacts on one side only.
    if !baseline.has_files_of(ID) || !candidate.has_files_of(ID) {
        return outcome;
    }
    let (baseline_tests, candidate_tests) = (tests_of(baseline, true), tests_of(candidate, true));
    let paired = pair_tests(&baseline_tests, &candidate_tests);
    progress.begin("comparing operator tests", paired.both.len() as u64);
    let (mut judged, mut names) = (Vec::new(), Names::default());
    for (our, their) in paired.both {
        let (Some(our), Some(their)) = (baseline_tests.get(our), candidate_tests.get(their)) else { continue };
        let named = NamedTest { baseline_file: our.path().to_owned(), ..names.name(their) };
        judged.push(of_both((baseline, our), (candidate, their), &named, policy));
        progress.advance(1);
    }
    let mut findings = Vec::new();
    let lonely = [
        (Side::Candidate, &paired.only_baseline, &baseline_tests),
        (Side::Baseline, &paired.only_candidate, &candidate_tests),
    ];
    for (side, places, tests) in lonely {
        let paths: Vec<String> = places.iter().filter_map(|nth| Some(tests.get(*nth)?.path().to_owned())).collect();
        findings.extend(missing_rows_finding(side, &paths, None));
    }
    if judged.is_empty() && findings.is_empty() {
        // Tables of msprobe's comparison are its verdict, and hold no numbers of either device.
        findings.push(Finding::new(&rules::NOTHING_CHECKED, candidate.location()).with("skipped", 0_usize));
    }
    finish(&mut outcome, judged, findings, policy);
    outcome
}

/// Judges the operator tests of a candidate without a baseline.
pub(super) fn health(candidate: &Inventory, policy: &Policy, progress: &dyn Progress) -> CheckOutcome {
    let mut outcome = CheckOutcome::new(ID);
    if !candidate.has_files_of(ID) {
        return outcome;
    }
    let tested = tests_of(candidate, true);
    // The tool's own comparisons are judged only where the tests themselves are missing.
    let compared = if tested.is_empty() { tests_of(candidate, false) } else { Vec::new() };
    progress.begin("judging operator tests", (tested.len() + compared.len()) as u64);
    let mut names = Names::default();
    let mut judged = Vec::new();
    for test in &tested {
        let named = names.name(test);
        let read = TestedTables::read(candidate, test, Side::Candidate, &named.table);
        let (rows, left_out) = alone::tested_rows(read.tables(), &policy.operators);
        judged.push(judge(
            &named,
            TestContent { rows, left_out, damage: read.damage, ..TestContent::default() },
            policy,
        ));
        progress.advance(1);
    }
    for test in &compared {
        let named = names.name(test);
        let read = ComparedTables::read(candidate, test, &named.table);
        let (rows, left_out) = alone::compared_rows(&read.results, &read.details, &policy.operators);
        judged.push(judge(
            &named,
            TestContent { rows, left_out, damage: read.damage, ..TestContent::default() },
            policy,
        ));
        progress.advance(1);
    }
    finish(&mut outcome, judged, Vec::new(), policy);
    outcome
}

fn of_both(
    (baseline, our): (&Inventory, &OperatorTest),
    (candidate, their): (&Inventory, &OperatorTest),
    named: &NamedTest,
    policy: &Policy,
) -> JudgedTest {
    let (tested_baseline, tested_candidate) = rayon::join(
        || TestedTables::read(baseline, our, Side::Baseline, &named.table),
        || TestedTables::read(candidate, their, Side::Candidate, &named.table),
    );
    let (baseline_tables, candidate_tables): (ApiTables<'_>, ApiTables<'_>) =
        (tested_baseline.tables(), tested_candidate.tables());
    let paired = pair_outputs(baseline_tables.details, candidate_tables.details);
    let content = paired::content(baseline_tables, candidate_tables, &paired, msprobe::status, &policy.operators);
    let damage = [tested_baseline.damage.clone(), tested_candidate.damage.clone()].concat();
    judge(named, TestContent { damage, ..content }, policy)
}

/// Applies the policy, and adds up.
fn finish(outcome: &mut CheckOutcome, judged: Vec<JudgedTest>, mut findings: Vec<Finding>, policy: &Policy) {
    let mut used = BTreeSet::new();
    let mut tables = Vec::new();
    for JudgedTest { unit, findings, rows, used: of_unit } in judged {
        used.extend(of_unit);
        tables.push((unit.table.clone(), rows));
        outcome.add_unit(Unit::Operators(Box::new(unit)), findings);
    }
    if !tables.is_empty() {
        let rules = policy.operators.limits.iter().enumerate().filter(|(place, _)| !used.contains(place));
        findings.extend(rules.map(|(_, rule)| Finding::new(&SELECTOR_UNUSED, rule.selector())));
        outcome.tables.push(listing::table(&tables));
    }
    outcome.add_findings(findings);
}

/// Names of tests, each used once.
#[derive(Default)]
struct Names(BTreeMap<String, usize>);

impl Names {
    /// The name of a test: its rank, its folder, or a fixed word. Further tests of the same name get a number.
    fn name(&mut self, test: &OperatorTest) -> NamedTest {
        let plain = match test.rank {
            Some(rank) => format!("rank {rank}"),
            None if test.folder.is_empty() => UNNAMED.to_owned(),
            None => test.folder.clone(),
        };
        let nth = self.0.entry(plain.clone()).or_default();
        *nth += 1;
        let table = if *nth == 1 { plain } else { format!("{plain} ({nth})") };
        NamedTest { table, rank: test.rank, baseline_file: String::new(), candidate_file: test.path().to_owned() }
    }
}

#[cfg(test)]
mod unit_tests;
