//! The end of a run: an error behind the last record, and a log that stops before the steps it declares.

use crate::judge::loss::code;
use crate::kind::Role;
use crate::read::curve::CurveFile;
use crate::read::ending::RunError;
use crate::read::metric;
use crate::redact::Redactor;
use crate::result::finding::Finding;
use crate::result::run::{Ended, Invariant, Looked};
use crate::verdict::Severity;

/// Most characters of an error message in a sentence, and in a headline.
const WIDTH: usize = 240;
const HEADLINE: usize = 60;

/// The error that ended a run with these files; of several errors the one whose kind comes first.
pub(crate) fn ending_error(files: &[CurveFile]) -> Option<Ended> {
    let told = files.iter().filter_map(|file| Some((file, file.told.ending.error.as_ref()?)));
    let (_, error) = told.min_by_key(|(file, error)| (error.kind, error.file.is_none(), file.path.as_str()))?;
    Some(ended_by(error, last_step(files)))
}

fn ended_by(error: &RunError, last_step: Option<u64>) -> Ended {
    let redactor = Redactor::default();
    Ended {
        kind: error.kind,
        rank: error.rank,
        step: error.step,
        file: error.file.as_deref().map(|file| redactor.text(file)),
        line: error.line,
        code: error.code.clone(),
        kernel: error.kernel.as_deref().map(|kernel| redactor.text(kernel)),
        message: redactor.text(&error.message),
        last_step,
    }
}

/// The last step of a run's losses, norms and learning rates; of all its metrics where it logs none of these.
pub fn last_step(files: &[CurveFile]) -> Option<u64> {
    let last = |is_told: bool| {
        let all = files.iter().flat_map(|file| &file.series);
        let told = all.filter(|series| !is_told || metric::is_key_metric(&metric::canonical(series.name())));
        told.filter_map(|series| Some(series.shape().ends?.1)).max()
    };
    last(true).or_else(|| last(false))
}

/// The finding about the error that ended a run, for a run without a baseline.
pub(crate) fn error_finding(files: &[CurveFile]) -> Option<Finding> {
    let ended = ending_error(files)?;
    let path = files.iter().find(|file| file.told.ending.error.is_some()).map(|file| file.path.as_str());
    Some(finding_about(&ended, path.unwrap_or_default()))
}

fn finding_about(ended: &Ended, path: &str) -> Finding {
    let name = |file: &str| file.rsplit(['/', '\\']).next().unwrap_or(file).to_owned();
    let text = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let [what, value] = failed_part(&ended.message);
    let finding = Finding::new(&code::RUN_ENDED_WITH_ERROR, path)
        .with("kind", ended.kind.as_str())
        .with("what", what)
        .with("value", value)
        .with("error", ended.message.chars().take(HEADLINE).collect::<String>())
        .with("text", ended.message.chars().take(WIDTH).collect::<String>())
        .with("last_step", text(ended.last_step));
    let known = [
        ("rank", ended.rank.map(|rank| rank.to_string())),
        ("step", ended.step.map(|step| step.to_string())),
        ("file", ended.file.as_deref().map(name)),
        ("line", ended.line.map(|line| line.to_string())),
        ("frame", ended.file.as_deref().zip(ended.line).map(|(file, line)| format!("{}:{line}", name(file)))),
        ("error_code", ended.code.clone()),
        ("kernel", ended.kernel.clone()),
    ];
    known.into_iter().fold(finding, |finding, (name, fact)| finding.with(name, fact.unwrap_or_default()))
}

/// The part of a step that a framework's own check found not finite, and the value it found (`NaN` or `inf`); empty for other
/// errors.
fn failed_part(message: &str) -> [&'static str; 2] {
    let lower = message.to_ascii_lowercase();
    let has = |word: &str| lower.contains(word);
    let value = if has("nan") { "NaN" } else { "inf" };
    if !has("nan") && !has("inf in") && !has("inf ") {
        return ["", ""];
    }
    if has("local grad norm") || has("local gradient norm") {
        ["gradient-norm", value]
    } else if has("local forward loss") || has("local loss") {
        ["forward-loss", value]
    } else {
        ["", ""]
    }
}

/// The finding about the candidate's error in a pair: incomplete where the candidate stopped before the baseline's last step, a
/// note where both runs end in an error, and a warning otherwise.
pub(crate) fn error_finding_of_pair(baseline: &[CurveFile], candidate: &[CurveFile]) -> Option<Finding> {
    let finding = error_finding(candidate)?;
    let is_missing = last_step(candidate) < last_step(baseline);
    let severity = match (ending_error(baseline), is_missing) {
        (_, true) => Severity::Incomplete,
        (Some(_), false) => Severity::Info,
        (None, false) => Severity::Warn,
    };
    Some(finding.with_severity(severity))
}

/// The finding about a log that stops before the steps that it declares.
pub(crate) fn early_end_finding(files: &[CurveFile]) -> Option<Finding> {
    files.iter().filter(|file| file.told.is_log).find_map(|file| {
        let told = &file.told;
        let loss = file.series.iter().find(|series| metric::role(&metric::canonical(series.name())) == Role::Loss)?;
        let (shape, is_numbered) = (loss.shape(), loss.shape().is_numbered);
        let last = shape.ends.filter(|_| is_numbered).map(|(_, last)| last);
        let is_ended = told.ending.is_complete || told.ending.error.is_some();
        let is_early = told.declared.ends_early(last, shape.interval.unwrap_or(1));
        let (_, total) = told.declared.last.or_else(|| last.zip(told.declared.total))?;
        (is_early && !is_ended).then(|| {
            let step = told.declared.last.map(|(at, _)| at).or(last).unwrap_or_default();
            Finding::new(&code::RUN_ENDED_EARLY, &*file.path).with("step", step.to_string()).with("of", total)
        })
    })
}

/// State of the invariant that a run reaches its end without an error.
pub(crate) fn end_invariant(files: &[CurveFile], findings: &[Finding]) -> Looked {
    let logs = files.iter().filter(|file| file.told.is_log).count();
    if logs == 0 {
        return Looked::not(Invariant::EndOfRun, "no-text-log");
    }
    // The run may still be going on while its log is read, so that a log that stops early does not show the end.
    if findings.iter().any(|finding| finding.is(&code::RUN_ENDED_EARLY)) {
        return Looked::not(Invariant::EndOfRun, "log-stops");
    }
    let holds = !findings.iter().any(|finding| finding.is(&code::RUN_ENDED_WITH_ERROR));
    Looked::over(Invariant::EndOfRun, holds, [("files", logs)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::loss::files::log;
    use crate::kind::EndKind;
    use crate::result::finding::Fact;

    const STEPS: &str = "step=1 loss=2.5 lr=0.1\nstep=2 loss=2.25 lr=0.1\nstep=3 loss=2.0 lr=0.1\n";
    const ERROR: &str = "Traceback (most recent call last):\n  File \"/work/train.py\", line 61, in main\n    f()\nRuntimeError: token=ghp_0123456789abcdefghij0123456789abcdefgh\n";

    #[test]
    fn an_error_fails_alone_and_is_incomplete_in_a_pair_that_misses_steps() {
        let (whole, cut) = ([log(STEPS)], [log(&format!("step=1 loss=2.5 lr=0.1\nstep=2 loss=2.25 lr=0.1\n{ERROR}"))]);
        let found = error_finding(&cut).expect("an error");
        assert_eq!((found.severity, found.facts["file"].clone()), (Severity::Fail, Fact::from("train.py")));
        assert_eq!(error_finding_of_pair(&whole, &cut).map(|found| found.severity), Some(Severity::Incomplete));
        assert_eq!(error_finding_of_pair(&cut, &cut).map(|found| found.severity), Some(Severity::Info));
        assert_eq!(error_finding(&whole), None);
        let ended = ending_error(&cut).expect("an error");
        assert_eq!((ended.kind, ended.last_step, ended.line), (EndKind::PythonError, Some(2), Some(61)));
        assert!(!ended.message.contains("ghp_"), "{}", ended.message);
    }

    #[test]
    fn a_log_without_records_is_told_by_its_error() {
        let only = [log(&format!("INFO: start\n{ERROR}"))];
        assert_eq!(ending_error(&only).and_then(|ended| ended.line), Some(61));
        assert!(only[0].series.is_empty());
    }

    #[test]
    fn a_log_that_stops_before_its_steps_is_told() {
        let declared = format!("max_steps: 160\n{STEPS}");
        assert!(early_end_finding(&[log(&declared)]).is_some());
        assert_eq!(early_end_finding(&[log(&format!("{declared}exiting program at iteration 3\n"))]), None);
        assert_eq!(early_end_finding(&[log(&format!("max_steps: 3\n{STEPS}"))]), None);
        assert_eq!(early_end_finding(&[log(STEPS)]), None);
    }
}
