//! GitHub's check runs: a verdict with its whole report and annotations on lines of the repository.

use serde::Serialize;
use serde_json::json;

use super::answer::github::{Check, Checks};
use super::answer::{Answer, Read, check_same, check_same_commit};
use super::call::{Call, segment};
use super::status::{Annotation, CommitReport, Conclusion};
use crate::fetch::permission::Permission;

/// Largest number of characters of an annotation's title.
const MOST_TITLE: usize = 255;
/// Largest number of annotations in one request.
pub(super) const MOST_ANNOTATIONS: usize = 50;

/// Check runs of one repository.
#[derive(Clone, Copy, Debug)]
pub struct CheckRuns<'a> {
    /// `/repos/owner/name`
    pub root: &'a str,
}

/// A check run, as it is sent.
#[derive(Serialize)]
struct Sent<'a> {
    name: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    details_url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    conclusion: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Output<'a>>,
    #[serde(flatten)]
    of: Option<Of<'a>>,
}

/// The commit and the run of a new check run.
#[derive(Serialize)]
struct Of<'a> {
    head_sha: &'a str,
    external_id: &'a str,
}

#[derive(Serialize)]
struct Output<'a> {
    title: String,
    summary: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    annotations: Vec<Line<'a>>,
}

/// An annotation, as it is sent.
#[derive(Serialize)]
struct Line<'a> {
    path: &'a str,
    start_line: u64,
    end_line: u64,
    annotation_level: &'static str,
    title: &'a str,
    message: &'a str,
}

impl CheckRuns<'_> {
    /// Writes a check run.
    pub fn create(&self, report: &CommitReport) -> Call {
        let of = Of { head_sha: &report.commit, external_id: &report.run };
        Call::post(
            "create the check",
            Permission::Checks.write(),
            format!("{}/check-runs", self.root),
            sent(report, Some(of)),
        )
    }

    /// Changes a check run.
    pub fn update(&self, id: u64, report: &CommitReport) -> Call {
        Call::patch("update the check", Permission::Checks.write(), self.one(id), sent(report, None))
    }

    /// Adds further annotations to a check run, which keeps the earlier ones.
    pub fn add_annotations(&self, id: u64, report: &CommitReport, more: &[Annotation]) -> Call {
        let body = json!({ "output": output(report, more) });
        Call::patch("add annotations to the check", Permission::Checks.write(), self.one(id), body)
    }

    /// Asks for the check runs with a report's name and commit.
    pub fn list(&self, report: &CommitReport) -> Call {
        let (commit, name) = (segment(&report.commit), segment(&report.name));
        let path = format!("{}/commits/{commit}/check-runs?check_name={name}&filter=all", self.root);
        Call::page("list the checks", Permission::Checks.read(), path)
    }

    fn one(&self, id: u64) -> String {
        format!("{}/check-runs/{id}", self.root)
    }
}

/// Reads one check run.
pub(super) fn read(answer: &Answer) -> Read<Check> {
    answer.read("a check")
}

/// The check run of exactly this run, among those that [`CheckRuns::list`] asks for.
pub(super) fn own_check(answer: &Answer, report: &CommitReport) -> Read<Option<Check>> {
    let checks: Checks = answer.read("a list of checks")?;
    Ok(checks.check_runs.into_iter().find(|check| check.run.as_deref() == Some(&report.run)))
}

/// Checks that a check run shows `report`; further annotations do not matter.
pub(super) fn check_shows_report(check: &Check, report: &CommitReport) -> Read<()> {
    check_same_commit(&report.commit, &check.commit)?;
    check_same("status", status_word(report), &check.status)?;
    check_same(
        "conclusion",
        conclusion_word(report).unwrap_or_default(),
        check.conclusion.as_deref().unwrap_or_default(),
    )
}

fn status_word(report: &CommitReport) -> &'static str {
    if report.conclusion().is_some() { "completed" } else { "in_progress" }
}

fn conclusion_word(report: &CommitReport) -> Option<&'static str> {
    Some(match report.conclusion()? {
        Conclusion::Success => "success",
        Conclusion::Neutral => "neutral",
        Conclusion::Failure => "failure",
    })
}

fn sent<'a>(report: &'a CommitReport, of: Option<Of<'a>>) -> Sent<'a> {
    let conclusion = conclusion_word(report);
    let first = report.annotations.get(..MOST_ANNOTATIONS).unwrap_or(&report.annotations);
    Sent {
        name: &report.name,
        status: status_word(report),
        details_url: &report.url,
        output: conclusion.map(|_| output(report, first)),
        conclusion,
        of,
    }
}

fn output<'a>(report: &'a CommitReport, annotations: &'a [Annotation]) -> Output<'a> {
    let line = |annotation: &'a Annotation| Line {
        path: &annotation.path,
        start_line: annotation.line,
        end_line: annotation.line,
        annotation_level: annotation.level,
        title: &annotation.title,
        message: &annotation.message,
    };
    Output {
        title: report.short_title(MOST_TITLE),
        summary: &report.summary,
        annotations: annotations.iter().map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::publish::WarnAs;
    use crate::publish::call::Body;
    use crate::publish::status::RunState;
    use crate::verdict::Verdict;

    #[test]
    fn a_request_carries_fifty_annotations_and_the_next_ones_the_rest() {
        let one = |line| Annotation {
            path: "a.py".into(),
            line,
            level: "failure",
            title: "output-diverges".into(),
            message: "m".into(),
        };
        let report = CommitReport {
            name: "precision-gate".into(),
            commit: "0123".into(),
            state: RunState::Judged(Verdict::Fail),
            warn: WarnAs::Neutral,
            report_only: false,
            title: "fail".into(),
            summary: "s".into(),
            annotations: (1..=120).map(one).collect(),
            url: String::new(),
            run: "default/1.1".into(),
            pipeline: None,
        };
        let checks = CheckRuns { root: "/repos/o/r" };
        let count = |call: Call| match call.body {
            Body::Json(body) => body["output"]["annotations"].as_array().map_or(0, Vec::len),
            _ => 0,
        };
        assert_eq!(count(checks.create(&report)), 50);
        let rest: Vec<usize> = report
            .annotations
            .chunks(MOST_ANNOTATIONS)
            .skip(1)
            .map(|more| count(checks.add_annotations(1, &report, more)))
            .collect();
        assert_eq!(rest, [50, 20]);
    }
}
