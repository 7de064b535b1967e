//! An evaluation in the opening: how much worse the answers are, the scores of both runs, and why.

use std::collections::BTreeSet;

use minijinja::context;

use super::builder::{Builder, Columns, EvidenceRow, MOST_REASONS, Opening, rows_for_leading_check};
use crate::error::Result;
use crate::judge::evaluation::rules;
use crate::judge::rule::Rule;
use crate::report::evaluation;
use crate::report::writer::safe;
use crate::result::finding::{Fact, Finding};
use crate::result::number::Number;
use crate::result::unit::{AnyUnit, EvaluationScope, EvaluationUnit, GenerationUnit, RolloutUnit};
use crate::verdict::{Severity, Verdict};

impl Builder<'_> {
    /// The opening of an evaluation; of several findings as severe as `finding` the one that tells most leads.
    pub(super) fn evaluation(&self, finding: &Finding) -> Result<Opening> {
        let finding = evaluation::leading_finding(self.result, finding);
        let mut headline = finding.clone();
        headline.facts.insert("more".into(), Fact::Count(self.other_tasks(finding)));
        let told = self.headline_of_finding(&headline)?;
        let mut opening = Opening { picture: "evaluation", ..Opening::from_headline(safe(told)) };
        let others = self.other_checks(Some(finding.check), Columns::Sides)?;
        let most = rows_for_leading_check(&others);
        let rows = self.rows_of_evaluation()?;
        let is_told = rows.len() <= most && self.is_told_by_rows(finding);
        opening.rows = rows.into_iter().take(most).chain(others).collect();
        if opening.rows.is_empty() {
            opening.rows = self.all_checks(finding.check)?;
            opening.columns = self.columns_of_checks()?;
            let width = opening.rows.first().map_or(0, |row| row.cells.len());
            opening.columns.truncate(width);
        } else {
            opening.columns = self.columns_of_sides()?;
            self.drop_baseline(&mut opening);
        }
        let unit = self.score_of(finding);
        opening.place = match unit {
            Some(unit) => safe(self.place_of_score(unit)?),
            None => opening.place,
        };
        self.advise(&mut opening, None, finding)?;
        if finding.is(&rules::ANSWERS_CHANGED) && !self.settings_differ() {
            opening.advice = self.phrase(
                "next_answers_changed",
                context! { is_even => finding.facts.get("worse") == finding.facts.get("better") },
            )?;
        }
        self.reasons_of_evaluation(&mut opening, finding)?;
        opening.told = is_told.then_some(finding.check);
        Ok(opening)
    }

    /// Whether the files show that both runs asked the models otherwise, or other models.
    fn settings_differ(&self) -> bool {
        const SETTINGS: [&Rule; 6] = [
            &rules::MODEL_DIFFERS,
            &rules::MODEL_ARGS_DIFFER,
            &rules::PROMPTS_DIFFER,
            &rules::DOCS_DIFFER,
            &rules::GENERATION_SETTINGS_DIFFER,
            &rules::SHOTS_DIFFER,
        ];
        self.result.findings.iter().any(|finding| finding.is_any(&SETTINGS))
    }

    /// Takes the baseline's column out where there is no baseline, and no row has anything in it.
    fn drop_baseline(&self, opening: &mut Opening) {
        let is_empty = |row: &EvidenceRow| row.cells.get(1).is_none_or(|cell| cell.as_str() == Some(""));
        if !self.result.is_alone() || opening.columns.len() < 3 || !opening.rows.iter().all(is_empty) {
            return;
        }
        opening.columns.remove(1);
        for row in opening.rows.iter_mut().filter(|row| row.cells.len() > 1) {
            row.cells.remove(1);
        }
    }

    /// Whether every finding that counts is the one that leads, or about a score or file of generations that is not pass.
    fn is_told_by_rows(&self, leading: &Finding) -> bool {
        let scores = evaluation::scores(self.result).into_iter().map(EvaluationUnit::title);
        let generations = evaluation::generations(self.result).into_iter().map(AnyUnit::name);
        let places: BTreeSet<String> = scores.chain(generations).collect();
        let counts = |other: &&Finding| evaluation::is_about_evaluation(other) && other.severity >= Severity::Warn;
        let mut counting = self.result.findings.iter().filter(counts);
        counting.all(|other| other.id == leading.id || places.contains(&other.place))
    }

    /// The unit that a finding is about; of a task the one that lost most.
    pub(super) fn score_of(&self, finding: &Finding) -> Option<&EvaluationUnit> {
        let units = || evaluation::scores(self.result).into_iter();
        let of_task = || units().find(|unit| unit.task == finding.place && unit.verdict >= Verdict::Warn);
        units().find(|unit| unit.title() == finding.place).or_else(of_task)
    }

    /// Tasks beside that of `finding` with a finding of the same code and severity.
    fn other_tasks(&self, finding: &Finding) -> u64 {
        let is_alike = |other: &&Finding| other.code == finding.code && other.severity == finding.severity;
        let mut tasks: Vec<Option<&Fact>> = self
            .result
            .findings
            .iter()
            .filter(is_alike)
            .filter(|other| other.facts.get("scope") == finding.facts.get("scope"))
            .map(|other| other.facts.get("task"))
            .filter(|task| *task != finding.facts.get("task"))
            .collect();
        tasks.sort_by_key(|task| format!("{task:?}"));
        tasks.dedup();
        u64::try_from(tasks.len()).unwrap_or(u64::MAX)
    }

    /// The drop with its interval, its margin, and the smallest one that the test finds.
    fn place_of_score(&self, unit: &EvaluationUnit) -> Result<String> {
        let lost = |value: f64| safe(evaluation::drop_text(value, unit));
        let Some(drop) = unit.drop else { return Ok(String::new()) };
        let interval = unit.interval.map(|ends| ends.map(|end| lost(end.0)));
        let context = context! {
            unit => format!("{} {}", unit.task, evaluation::metric(unit)),
            drop => lost(drop.0),
            low => interval.as_ref().map(|[low, _]| low.clone()),
            high => interval.as_ref().map(|[_, high]| high.clone()),
            margin => lost(unit.margin.0),
            detectable => unit.detectable.map(|least| lost(least.0)),
        };
        self.writer.phrase("place_score", &context)
    }

    /// A row for each score and each file of generations that is not pass, the worst first.
    fn rows_of_evaluation(&self) -> Result<Vec<EvidenceRow>> {
        let wrong = |verdict: Verdict| verdict >= Verdict::Warn;
        let scores = evaluation::scores(self.result).into_iter().filter(|unit| wrong(unit.verdict));
        let mut rows = Vec::new();
        let mut untested: BTreeSet<&str> = BTreeSet::new();
        for unit in scores {
            // What was not compared is one fact for all metrics of a task.
            if unit.test.is_some() || untested.insert(&unit.task) {
                rows.push(self.row_of_score(unit)?);
            }
        }
        let generations = evaluation::generations(self.result).into_iter().filter(|unit| wrong(unit.verdict));
        for unit in generations {
            rows.push(self.row_of_generations(unit)?);
        }
        for unit in evaluation::rollouts(self.result).into_iter().filter(|unit| wrong(unit.verdict)) {
            rows.push(self.row_of_rollouts(unit)?);
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.verdict));
        Ok(rows)
    }

    /// The scores of both sides, and how many answers changed.
    pub(super) fn row_of_score(&self, unit: &EvaluationUnit) -> Result<EvidenceRow> {
        let score = |value: Option<Number>| value.map_or_else(String::new, |value| evaluation::score(value.0));
        let name = match unit.scope {
            EvaluationScope::All => {
                let metric = safe(self.writer.name(&evaluation::metric(unit)));
                self.writer.phrase("row_all_tasks", &context! { metric })?
            }
            EvaluationScope::Task | EvaluationScope::Group if unit.test.is_none() => self.writer.name(&unit.task),
            EvaluationScope::Task | EvaluationScope::Group => {
                self.writer.name(&format!("{} {}", unit.task, evaluation::metric(unit)))
            }
        };
        let note = match (unit.test, unit.paired) {
            (None, _) => self.writer.word("evaluation_not_compared")?,
            (_, 0) => self.writer.word("evaluation_row_without_samples")?,
            (_, paired) => {
                let counts = context! { worse => unit.worse, better => unit.better, paired };
                self.writer.phrase("evaluation_counts", &counts)?
            }
        };
        let cells = vec![name, score(unit.baseline), score(unit.candidate)];
        Ok(EvidenceRow { note: safe(note), ..EvidenceRow::new(cells, unit.verdict) })
    }

    /// A step of rollouts: its mean scores, and the candidate's answers that are wrong by themselves.
    fn row_of_rollouts(&self, unit: &RolloutUnit) -> Result<EvidenceRow> {
        let score = |value: Option<Number>| value.map_or_else(String::new, |value| evaluation::score(value.0));
        let step = context! { step => unit.step, task => safe(self.writer.name(&unit.task)) };
        let name = self.writer.phrase("evaluation_rollout_step", &step)?;
        let note = safe(evaluation::rollouts_in_words(unit, self.writer)?);
        let cells = vec![name, score(unit.score_baseline), score(unit.score_candidate)];
        Ok(EvidenceRow { note, ..EvidenceRow::new(cells, unit.verdict) })
    }

    fn row_of_generations(&self, unit: &GenerationUnit) -> Result<EvidenceRow> {
        if let Some(answers) = unit.answers {
            let counts = context! { wrong => answers.wrong(), answers => answers.answers };
            let told = self.writer.phrase("row_answers", &counts)?;
            let note = safe(evaluation::answers_in_words(answers, self.writer)?);
            let cells = vec![self.writer.name(&unit.name()), String::new(), told];
            return Ok(EvidenceRow { note, ..EvidenceRow::new(cells, unit.verdict) });
        }
        let mean = unit.logprob_mean_abs.map(|mean| mean.0);
        let counts = context! { changed => unit.changed, compared => unit.compared, mean => mean };
        let cells =
            vec![self.writer.name(&unit.name()), String::new(), self.writer.phrase("row_generations", &counts)?];
        let kinds = context! {
            changed => unit.changed, near_ties => unit.near_ties, far => unit.far, length => unit.length,
            unexplained => unit.unexplained,
        };
        let note = safe(self.writer.phrase("evaluation_kinds", &kinds)?);
        Ok(EvidenceRow { note, ..EvidenceRow::new(cells, unit.verdict) })
    }

    /// Findings that explain the drop: their sentences as evidence, the first one's advice in place of the drop's.
    fn reasons_of_evaluation(&self, opening: &mut Opening, finding: &Finding) -> Result<()> {
        let reasons = evaluation::drop_reasons(self.result, finding);
        let Some(first) = reasons.first() else { return Ok(()) };
        let mut told = Vec::new();
        for reason in reasons.iter().take(MOST_REASONS) {
            let message = self.writer.finding(reason)?.message;
            let unit = format!("{}{}", self.writer.name(&reason.place), self.writer.word("colon")?);
            told.push(message.strip_prefix(&unit).unwrap_or(&message).to_owned());
        }
        opening.certainty = self.word("because_likely")?;
        opening.reasons = safe(told.join(&self.writer.word("semicolon")?));
        opening.advice = safe(self.writer.finding(first)?.help);
        Ok(())
    }
}
