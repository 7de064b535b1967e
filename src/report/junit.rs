//! `junit.xml`: one suite per check, one case per unit or checker; names carry no values and stay the same.
//!
//! GitLab compares it with the target branch's and shows pictures that a case's output attaches.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::escape;
use super::issue::{Issue, blocks};
use crate::error::{Error, ErrorKind, Result};
use crate::judge::rule::artifacts::NO_BASELINE;
use crate::result::GateResult;
use crate::result::finding::{Fact, Finding};
use crate::result::unit::Check;
use crate::verdict::{CheckId, Severity, Verdict};

/// Renders the findings that count; `pictures` are paths below the project's folder.
pub fn render(result: &GateResult, issues: &[Issue<'_>], pictures: &[Picture]) -> Result<String> {
    let mut report = Report::new("precision-gate");
    let counting: Vec<&Issue<'_>> = issues.iter().filter(|issue| issue.waived.is_none()).collect();
    let general: Vec<&Issue<'_>> = of_check(&counting, CheckId::Artifacts);
    if !general.is_empty() {
        let mut suite = TestSuite::new(CheckId::Artifacts.as_str());
        let verdict = general.iter().map(|issue| issue.finding.severity.verdict()).max();
        let mut case = case(CheckId::Artifacts, "artifacts", verdict.unwrap_or(Verdict::Pass), &general);
        // A pass without a baseline has to say what it is.
        if let Some(issue) = general.iter().find(|issue| issue.finding.is(&NO_BASELINE)) {
            case.set_system_out(&issue.message);
        }
        suite.add_test_case(case);
        report.add_test_suite(suite);
    }
    let waived: Vec<&Issue<'_>> = issues.iter().filter(|issue| issue.waived.is_some()).collect();
    for check in &result.checks {
        let of = |issues| of_check(issues, check.id);
        report.add_test_suite(suite(check, &of(&counting), &of(&waived), pictures));
    }
    let xml = report.to_string().map_err(|error| Error::new(ErrorKind::Internal, "junit.xml", error))?;
    Ok(escape::xml(&without_total_of_skipped(&xml)))
}

/// The format's schema has no `skipped` on the root element, which the library writes.
fn without_total_of_skipped(xml: &str) -> String {
    let Some((root, suites)) = xml.split_once("<testsuite ") else { return xml.to_owned() };
    let kept: Vec<&str> = root.split(' ').filter(|attribute| !attribute.starts_with("skipped=")).collect();
    format!("{}<testsuite {suites}", kept.join(" "))
}

/// A picture that the cases of a check show.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The check.
    pub check: CheckId,
    /// Path below the project's folder.
    pub path: String,
}

fn of_check<'a, 'b>(issues: &[&'a Issue<'b>], check: CheckId) -> Vec<&'a Issue<'b>> {
    issues.iter().copied().filter(|issue| issue.finding.check == check).collect()
}

fn suite(check: &Check, issues: &[&Issue<'_>], waived: &[&Issue<'_>], pictures: &[Picture]) -> TestSuite {
    let mut suite = TestSuite::new(check.id.as_str());
    let mut left: Vec<&Issue<'_>> = issues.to_vec();
    let is_checker = !check.items.is_empty();
    for (name, verdict) in cases(check) {
        let own: Vec<&Issue<'_>> =
            left.iter().copied().filter(|issue| belongs(issue.finding, &name, is_checker)).collect();
        left.retain(|issue| !belongs(issue.finding, &name, is_checker));
        let mut case = case(check.id, &name, verdict, &own);
        attach(&mut case, check.id, verdict, pictures);
        let covered = waived.iter().copied().filter(|issue| belongs(issue.finding, &name, is_checker));
        name_waived(&mut case, verdict, &own, covered);
        suite.add_test_case(case);
    }
    // What concerns no single unit (a missing step, a damaged file) must not vanish.
    left.retain(|issue| blocks(issue.finding));
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

/// Whether a finding is about a case: by its unit, its place, or a code that starts with the checker's name.
fn belongs(finding: &Finding, case: &str, is_checker: bool) -> bool {
    let unit = match finding.facts.get("unit") {
        Some(Fact::Text(unit)) => unit == case,
        _ => false,
    };
    unit || finding.place == case || (is_checker && finding.code.split('-').next() == Some(case))
}

fn case(check: CheckId, name: &str, verdict: Verdict, issues: &[&Issue<'_>]) -> TestCase {
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

/// Says in a case that succeeds what waivers cover of it, so that it is not taken for agreement.
fn name_waived<'a>(
    case: &mut TestCase,
    verdict: Verdict,
    own: &[&Issue<'_>],
    waived: impl Iterator<Item = &'a Issue<'a>>,
) {
    if !matches!(verdict, Verdict::Pass | Verdict::Warn) {
        return;
    }
    let line = |issue: &'a Issue<'a>| {
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

fn told(issue: &&Issue<'_>) -> String {
    let severity = issue.finding.severity.verdict().as_str();
    let help = if issue.help.is_empty() { String::new() } else { format!("\n  {}", issue.help) };
    format!("{severity}: {} [{}]{help}", issue.message, issue.finding.code)
}

/// Foreign text attaches nothing.
fn without_attachments(text: &str) -> String {
    text.replace("[[", "[ [")
}

fn attach(case: &mut TestCase, check: CheckId, verdict: Verdict, pictures: &[Picture]) {
    if !matches!(verdict, Verdict::Fail | Verdict::Incomplete) {
        return;
    }
    let own = pictures.iter().filter(|picture| picture.check == check);
    let lines: Vec<String> = own.map(|picture| format!("[[ATTACHMENT|{}]]", picture.path)).collect();
    if !lines.is_empty() {
        case.set_system_out(lines.join("\n"));
    }
}
