//! `junit.xml`: one suite per check, one case per unit or checker; names contain no values, so that they are the same in every run.
//!
//! GitLab compares it with the file of the target branch and shows pictures that a case's output attaches.

use std::collections::{BTreeMap, BTreeSet};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::escape;
use super::issue::{FindingIssue, is_blocking};
use crate::error::{Error, ErrorKind, Result};
use crate::judge::rule::artifacts::NO_BASELINE;
use crate::result::GateResult;
use crate::result::finding::Fact;
use crate::result::unit::Check;
use crate::verdict::{CheckId, Severity, Verdict};

/// Renders the findings that count; `pictures` are paths below the project's folder.
pub fn render(result: &GateResult, issues: &[FindingIssue<'_>], pictures: &[JunitPicture]) -> Result<String> {
    let mut report = Report::new("precision-gate");
    let counting: Vec<&FindingIssue<'_>> = issues.iter().filter(|issue| issue.waived.is_none()).collect();
    let general: Vec<&FindingIssue<'_>> = of_check(&counting, CheckId::Artifacts);
    if !general.is_empty() {
        let mut suite = TestSuite::new(CheckId::Artifacts.as_str());
        let verdict = general.iter().map(|issue| issue.finding.severity.verdict()).max();
        let mut case = case(CheckId::Artifacts, "artifacts", verdict.unwrap_or(Verdict::Pass), &general);
        // A pass without a baseline has to be recognisable as one.
        if let Some(issue) = general.iter().find(|issue| issue.finding.is(&NO_BASELINE)) {
            case.set_system_out(&issue.message);
        }
        suite.add_test_case(case);
        report.add_test_suite(suite);
    }
    let waived: Vec<&FindingIssue<'_>> = issues.iter().filter(|issue| issue.waived.is_some()).collect();
    for check in &result.checks {
        let of = |issues| of_check(issues, check.id);
        report.add_test_suite(suite(check, &of(&counting), &of(&waived), pictures));
    }
    let xml = report.to_string().map_err(|error| Error::new(ErrorKind::Internal, "junit.xml", error))?;
    Ok(escape::xml(&without_total_of_skipped(&xml)))
}

/// Removes the attribute `skipped` from the root element: the library writes it, but the format's schema does not allow it.
fn without_total_of_skipped(xml: &str) -> String {
    let Some((root, suites)) = xml.split_once("<testsuite ") else { return xml.to_owned() };
    let kept: Vec<&str> = root.split(' ').filter(|attribute| !attribute.starts_with("skipped=")).collect();
    format!("{}<testsuite {suites}", kept.join(" "))
}

/// A picture that the cases of a check show.
#[derive(Clone, Debug)]
pub struct JunitPicture {
    /// The check.
    pub check: CheckId,
    /// Path below the project's folder.
    pub path: String,
}

fn of_check<'a, 'b>(issues: &[&'a FindingIssue<'b>], check: CheckId) -> Vec<&'a FindingIssue<'b>> {
    issues.iter().copied().filter(|issue| issue.finding.check == check).collect()
}

fn suite(
    check: &Check,
    issues: &[&FindingIssue<'_>],
    waived: &[&FindingIssue<'_>],
    pictures: &[JunitPicture],
) -> TestSuite {
    let mut suite = TestSuite::new(check.id.as_str());
    let is_checker = !check.items.is_empty();
    let [places, places_waived] = [issues, waived].map(|issues| by_case(issues, is_checker));
    let mut is_left = vec![true; issues.len()];
    for (name, verdict) in cases(check) {
        let mut own: Vec<&FindingIssue<'_>> = Vec::new();
        for place in places.get(&*name).into_iter().flatten() {
            if let (Some(issue), Some(left)) = (issues.get(*place), is_left.get_mut(*place))
                && std::mem::take(left)
            {
                own.push(issue);
            }
        }
        let mut case = case(check.id, &name, verdict, &own);
        attach(&mut case, check.id, verdict, pictures);
        let covered = places_waived.get(&*name).into_iter().flatten().filter_map(|place| waived.get(*place).copied());
        name_waived(&mut case, verdict, &own, covered);
        suite.add_test_case(case);
    }
    // Findings that concern no single unit (a missing step, a damaged file) must not get lost.
    let left = issues.iter().zip(is_left).filter(|(issue, is_left)| *is_left && is_blocking(issue.finding));
    let left: Vec<&FindingIssue<'_>> = left.map(|(issue, _)| *issue).collect();
    if !left.is_empty() {
        let verdict = left.iter().map(|issue| issue.finding.severity.verdict()).max();
        suite.add_test_case(case(check.id, "other", verdict.unwrap_or(Verdict::Fail), &left));
    }
    suite
}

/// The check's cases in order: checkers, units, or the check itself where it has neither.
fn cases(check: &Check) -> Vec<(String, Verdict)> {
    let items = check.items.iter().map(|item| (item.name.clone(), item.verdict));
    let cases: Vec<(String, Verdict)> =
        items.chain(check.units.iter().map(|unit| (unit.name(), unit.verdict()))).collect();
    if cases.is_empty() { vec![(check.id.as_str().to_owned(), check.verdict)] } else { cases }
}

/// Indices of issues by the name of each case that they may be about: the name of their unit, their place, or the name of a
/// checker that their code starts with.
fn by_case<'a>(issues: &[&'a FindingIssue<'_>], is_checker: bool) -> BTreeMap<&'a str, BTreeSet<usize>> {
    let mut by_case: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (place, issue) in issues.iter().enumerate() {
        let finding = issue.finding;
        let unit = match finding.facts.get("unit") {
            Some(Fact::Text(unit)) => Some(unit.as_str()),
            _ => None,
        };
        let checker = finding.code.split('-').next().filter(|_| is_checker);
        for name in [unit, Some(finding.place.as_str()), checker].into_iter().flatten() {
            by_case.entry(name).or_default().insert(place);
        }
    }
    by_case
}

fn case(check: CheckId, name: &str, verdict: Verdict, issues: &[&FindingIssue<'_>]) -> TestCase {
    let first = issues.iter().max_by_key(|issue| issue.finding.severity).map_or("", |issue| issue.message.as_str());
    let lines: Vec<String> = issues.iter().filter(|issue| issue.finding.severity > Severity::Info).map(told).collect();
    let text = lines.join("\n");
    let status = match verdict {
        Verdict::Pass | Verdict::Warn => TestCaseStatus::success(),
        Verdict::Skipped => TestCaseStatus::skipped(),
        Verdict::Fail | Verdict::Incomplete => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type(verdict.as_str()).set_message(first).set_description(text.as_str());
            status
        }
    };
    let mut case = TestCase::new(name, status);
    case.set_classname(format!("precision-gate.{}", check.as_str()));
    if verdict == Verdict::Warn {
        case.set_system_out(without_attachments(&text));
    }
    case
}

/// Adds the waived findings to a case that succeeds, so that the success is not mistaken for agreement.
fn name_waived<'a>(
    case: &mut TestCase,
    verdict: Verdict,
    own: &[&FindingIssue<'_>],
    waived: impl Iterator<Item = &'a FindingIssue<'a>>,
) {
    if !matches!(verdict, Verdict::Pass | Verdict::Warn) {
        return;
    }
    let line = |issue: &'a FindingIssue<'a>| {
        let waiver = issue.waived.as_deref().unwrap_or_default();
        format!("waived: {} [{}]\n  {waiver}", issue.message, issue.finding.code)
    };
    let mut lines: Vec<String> = own.iter().filter(|issue| issue.finding.severity > Severity::Info).map(told).collect();
    let counting = lines.len();
    lines.extend(waived.map(line));
    if lines.len() > counting {
        case.set_system_out(without_attachments(&lines.join("\n")));
    }
}

fn told(issue: &&FindingIssue<'_>) -> String {
    let severity = issue.finding.severity.verdict().as_str();
    let help = if issue.help.is_empty() { String::new() } else { format!("\n  {}", issue.help) };
    format!("{severity}: {} [{}]{help}", issue.message, issue.finding.code)
}

/// Removes attachments from foreign text, which must not attach anything.
fn without_attachments(text: &str) -> String {
    text.replace("[[", "[ [")
}

fn attach(case: &mut TestCase, check: CheckId, verdict: Verdict, pictures: &[JunitPicture]) {
    if !matches!(verdict, Verdict::Fail | Verdict::Incomplete) {
        return;
    }
    let own = pictures.iter().filter(|picture| picture.check == check);
    let lines: Vec<String> = own.map(|picture| format!("[[ATTACHMENT|{}]]", picture.path)).collect();
    if !lines.is_empty() {
        case.set_system_out(lines.join("\n"));
    }
}
