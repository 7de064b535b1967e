//! A run without a baseline: its answers judged by themselves.

use super::answers::{AnswerTally, answer_findings};
use super::generations::JudgedGenerations;
use super::rules;
use crate::read::evaluation::AnswerFile;
use crate::result::finding::Finding;
use crate::result::run::{Invariant, Looked};
use crate::result::unit::{Evidence, GenerationUnit};
use crate::verdict::{Severity, Side};

/// Judges the answers of one file, or of the rollouts of one folder.
pub fn judge(file: &AnswerFile, answers: &AnswerTally) -> JudgedGenerations {
    let counted = answers.answers();
    let (compared, shown_only) = if answers.is_enough() { (counted, 0) } else { (0, counted) };
    let mut evidence = Evidence { compared, shown_only, not_compared: file.failed, ..Evidence::default() };
    for damage in &file.damages {
        evidence.damaged += 1;
        evidence.example("damaged", damage.path.as_str());
    }
    evidence.offered = evidence.total();
    let unit =
        GenerationUnit { compared, evidence, answers: Some(answers.counts()), ..GenerationUnit::empty(&file.task) };
    let mut findings = damage(file);
    findings.extend(answer_findings(&file.task, answers));
    JudgedGenerations { unit, findings }
}

/// The finding about lines and files that cannot be read, with the first of them.
fn damage(file: &AnswerFile) -> Vec<Finding> {
    let Some(damage) = file.damages.first() else { return Vec::new() };
    let mut finding = Finding::new(&rules::DAMAGED, &damage.path)
        .with("unit", file.task.as_str())
        .with("task", file.task.as_str())
        .with("path", damage.path.as_str())
        .with("side", Side::Candidate.as_str())
        .with("reason", damage.reason.as_str());
    if let Some(line) = damage.line {
        finding = finding.with("line", line).with("count", file.damages.len());
    }
    vec![finding]
}

/// The invariant that answers are sound; `None` where there are no answers at all.
pub(crate) fn answers_invariant(judged: &[JudgedGenerations], tallies: &[&AnswerTally]) -> Option<Looked> {
    if tallies.is_empty() {
        return None;
    }
    let enough = || tallies.iter().filter(|tally| tally.is_enough());
    if enough().next().is_none() {
        return Some(Looked::not(Invariant::Generations, "too-few-answers"));
    }
    let is_broken = |finding: &Finding| finding.severity >= Severity::Warn && !finding.is(&rules::DAMAGED);
    let holds = !judged.iter().flat_map(|one| &one.findings).any(is_broken);
    let answers: u64 = enough().map(|tally| tally.answers()).sum();
    let prompts: usize = enough().map(|tally| tally.prompts()).sum();
    let counts = [("answers", usize::try_from(answers).unwrap_or(usize::MAX)), ("prompts", prompts)];
    Some(Looked::over(Invariant::Generations, holds, counts.into_iter().filter(|(_, count)| *count > 0)))
}

#[cfg(test)]
mod tests {
    use super::super::answers::measure_answer;
    use super::*;
    use crate::read::evaluation::{Answer, EvaluationDamage};
    use crate::result::run::InvariantState;

    fn tally(texts: &[&str]) -> AnswerTally {
        let mut tally = AnswerTally::default();
        texts.iter().for_each(|text| tally.add(measure_answer(&Answer { text, prompt: Some(1), ..Answer::default() })));
        tally
    }

    #[test]
    fn answers_carry_a_verdict_from_three_on() {
        let file = AnswerFile { task: "g".to_owned(), failed: 1, ..AnswerFile::default() };
        let three = judge(&file, &tally(&["a", "b", "c"])).unit;
        assert_eq!((three.compared, three.evidence.offered, three.evidence.not_compared), (3, 4, 1));
        let two = judge(&file, &tally(&["a", "b"])).unit;
        assert_eq!((two.compared, two.evidence.shown_only), (0, 2));
    }

    #[test]
    fn the_invariant_says_how_many_answers_and_why_not() {
        let state = |texts: &[&str]| {
            let tally = tally(texts);
            let judged = judge(&AnswerFile::default(), &tally);
            answers_invariant(&[judged], &[&tally]).expect("answers")
        };
        let held = state(&["a", "b", "c"]);
        assert_eq!((held.state, held.counts["answers"], held.counts["prompts"]), (InvariantState::Held, 3, 1));
        assert_eq!(state(&["", "", ""]).state, InvariantState::Broken);
        let few = state(&["a"]);
        assert_eq!((few.state, few.reason.as_str()), (InvariantState::NotLooked, "too-few-answers"));
        assert!(answers_invariant(&[], &[]).is_none());
    }

    #[test]
    fn a_line_that_cannot_be_read_is_told() {
        let damage = EvaluationDamage { path: "r/1.jsonl".to_owned(), line: Some(4), reason: "cut".to_owned() };
        let file = AnswerFile { task: "r".to_owned(), damages: vec![damage], ..AnswerFile::default() };
        let judged = judge(&file, &tally(&["a", "b", "c"]));
        assert_eq!(judged.findings[0].code, "evaluation-damaged");
        assert_eq!(judged.unit.evidence.damaged, 1);
    }
}
