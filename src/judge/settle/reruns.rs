//! Reruns: a blocking verdict is confirmed if it recurs.
//!
//! The rule of two failures in three runs reduces false alarms from 1 % to 2 in 10 000, and keeps 89 % of the defects that show in 90 % of
//! runs. NaN in the first run blocks whatever the reruns show.

use crate::judge::loss::code;
use crate::judge::samples::rules::RERUNS;
use crate::result::GateResult;
use crate::result::advice::Advice;
use crate::result::confirm::{Confirm, ConfirmOutcome, Rerun};
use crate::result::finding::Finding;
use crate::verdict::{Severity, Verdict};

/// Fewest runs for a verdict about the node.
const RUNS: usize = 3;

/// Decides by the reruns. Changes nothing where there are none, or the first run does not block.
pub(super) fn decide_by_reruns(result: &mut GateResult) {
    result.confirm = None;
    let Some((first, again)) = result.reruns.split_first() else { return };
    if !result.verdict.blocks() {
        return;
    }
    let is_broken =
        result.findings.iter().any(|finding| finding.is(&code::NON_FINITE) && finding.severity == Severity::Fail);
    let runs: Vec<(&str, bool)> = [(first.node.as_str(), true)]
        .into_iter()
        .chain(again.iter().map(|run| (run.node.as_str(), run.blocks)))
        .collect();
    let (outcome, needed, verdict) =
        if is_broken { (ConfirmOutcome::Confirmed, None, Verdict::Fail) } else { outcome(&runs, result.verdict) };
    let node = (outcome == ConfirmOutcome::Node).then(|| first.node.clone());
    let commands = if needed.is_some() { vec![command(result, first)] } else { Vec::new() };
    let finding = Finding::new(&RERUNS, "runs").with("outcome", outcome.as_str());
    let finding = finding.with("blocked", runs.iter().filter(|(_, blocks)| *blocks).count()).with("of", runs.len());
    let finding = finding.with("needed", needed.unwrap_or_default()).with("node", node.clone().unwrap_or_default());
    let finding = finding.with("command", commands.first().cloned().unwrap_or_default());
    for check in result.checks.iter_mut().filter(|check| check.verdict.blocks()) {
        check.verdict = verdict;
    }
    result.verdict = verdict;
    result.findings.insert(0, finding);
    result.confirm = Some(Confirm { outcome, reruns_needed: needed, node, commands });
}

/// Outcome of the runs, of which the first one blocks; the number of further runs needed; and the verdict, which stays `verdict` before the
/// first rerun.
fn outcome(runs: &[(&str, bool)], verdict: Verdict) -> (ConfirmOutcome, Option<u64>, Verdict) {
    let blocked = runs.iter().filter(|(_, blocks)| *blocks).count();
    let node = runs.first().map_or("", |(node, _)| *node);
    let is_own = |(of, blocks): &(&str, bool)| (*of == node) == *blocks;
    let is_of_node = !node.is_empty() && runs.iter().all(is_own) && runs.iter().any(|(of, _)| *of != node);
    match (runs.len(), blocked) {
        (1, _) => (ConfirmOutcome::RerunNeeded, Some(2), verdict),
        (len, 2..) if len >= RUNS && is_of_node => (ConfirmOutcome::Node, None, Verdict::Fail),
        (_, 2..) => (ConfirmOutcome::Confirmed, None, Verdict::Fail),
        (2, _) => (ConfirmOutcome::RerunNeeded, Some(1), Verdict::Incomplete),
        _ => (ConfirmOutcome::NotConfirmed, None, Verdict::Warn),
    }
}

/// The command that judges again with one more rerun.
fn command(result: &GateResult, first: &Rerun) -> String {
    let baseline = result.baseline.as_ref().map_or("BASELINE", |run| run.location.as_str());
    let node = if first.node.is_empty() { "NODE" } else { &first.node };
    let again =
        result.reruns.iter().skip(1).flat_map(|run| ["--rerun".into(), format!("{}={}", run.node, run.location)]);
    let words = ["run", "--baseline", baseline, "--candidate", &first.location, "--node", node].map(str::to_owned);
    let more = ["--rerun".into(), format!("{node}=LOCATION")];
    Advice::new(words.into_iter().chain(again).chain(more)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_three_confirm_and_one_of_three_does_not() {
        use ConfirmOutcome::{Confirmed, Node, NotConfirmed, RerunNeeded};
        let of = |runs: &[(&str, bool)]| outcome(runs, Verdict::Fail);
        assert_eq!(of(&[("a", true)]), (RerunNeeded, Some(2), Verdict::Fail));
        assert_eq!(of(&[("a", true), ("a", true)]).0, Confirmed);
        assert_eq!(of(&[("a", true), ("a", false)]), (RerunNeeded, Some(1), Verdict::Incomplete));
        assert_eq!(of(&[("a", true), ("a", false), ("a", true)]), (Confirmed, None, Verdict::Fail));
        assert_eq!(of(&[("a", true), ("a", false), ("a", false)]), (NotConfirmed, None, Verdict::Warn));
        assert_eq!(of(&[("a", true), ("b", false), ("a", true), ("b", false)]).0, Node);
        assert_eq!(of(&[("", true), ("b", false), ("", true), ("b", false)]).0, Confirmed, "nobody named the machine");
        assert_eq!(of(&[("a", true), ("b", true), ("a", false)]).0, Confirmed);
    }
}
