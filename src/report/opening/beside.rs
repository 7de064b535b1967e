//! Rows of wrong checks other than the leading one: the numbers of both sides, and the next step.

use minijinja::{Value, context};

use super::builder::{Builder, Columns, EvidenceRow};
use super::curve_advice::BY_DUMP;
use super::curve_advice::level_step;
use super::curves::DIFFERS;
use super::lead::Lead;
use super::steps::first_step;
use crate::error::Result;
use crate::judge::loss::code as curve_rules;
use crate::judge::loss::start::{BACKWARD_NOISE, FORWARD_NOISE};
use crate::judge::performance::rules::SLOWER;
use crate::read::dump::name::{Direction, OpName};
use crate::report::writer::safe;
use crate::report::{causes, checks, compared, curve, evaluation, next_dump, performance};
use crate::result::diagnosis::{Diagnosis, Sureness};
use crate::result::finding::{Fact, Finding};
use crate::result::unit::{AnyUnit, Check, CulpritKind, CurveUnit, curves, dumps, profile_place};
use crate::verdict::{CheckId, Severity, Verdict};

/// Content of a row: its subject, its cells of both sides, and words after its verdict.
struct Told {
    what: String,
    sides: Option<[String; 2]>,
    note: String,
}

impl Builder<'_> {
    /// The row of a check that is wrong; the row of a blocking check names the next step.
    pub(super) fn row_of_wrong(&self, check: &Check, columns: Columns) -> Result<EvidenceRow> {
        let name = self.word(&format!("check_{}", check.id.as_str()))?.to_string();
        let finding = self.worst_finding(check);
        let blocking = finding.filter(|_| check.verdict >= Verdict::Incomplete);
        let next = blocking.map(|finding| self.step_beside(finding)).transpose()?.unwrap_or_default();
        let Told { what, sides, note } = match columns {
            Columns::Checks => Told { what: name, sides: None, note: String::new() },
            Columns::Sides | Columns::Limits => self.told_of_wrong(check, name)?,
        };
        let cells = match (columns, sides) {
            (Columns::Sides, Some([baseline, candidate])) => vec![what, baseline, candidate],
            (Columns::Limits, Some([baseline, candidate])) if baseline.is_empty() => vec![what, candidate, baseline],
            (Columns::Limits, Some([baseline, candidate])) => {
                vec![what, format!("{baseline} → {candidate}"), String::new()]
            }
            (Columns::Sides | Columns::Limits, None) => vec![what, String::new(), String::new()],
            (Columns::Checks, _) => {
                vec![
                    what,
                    compared::compared_phrase(check, &self.result.findings, self.writer)?,
                    self.said_of_wrong(check)?,
                ]
            }
        };
        let notes: Vec<String> = [note, next].into_iter().filter(|note| !note.is_empty()).collect();
        Ok(EvidenceRow { note: safe(notes.join(" · ")), ..EvidenceRow::new(cells, check.verdict) })
    }

    fn told_of_wrong(&self, check: &Check, name: String) -> Result<Told> {
        let curve = curve::leading_curve(self.result).filter(|_| curve::has_curves(check) && !self.result.is_alone());
        let is_ahead = |finding: &&Finding, unit: &CurveUnit| {
            finding.is(&curve_rules::ORDER) && finding.place == unit.name() && finding.facts.contains_key("ahead")
        };
        if let Some(unit) = curve {
            if let Some(ahead) = self.result.counting().find(|finding| is_ahead(finding, unit)) {
                let fact = |name: &str| ahead.facts.get(name).map(|fact| self.writer.fact(name, fact));
                let context = context! { side => fact("side"), ahead => fact("ahead") };
                let note = self.writer.phrase("row_ahead", &context)?;
                return Ok(Told { what: name, sides: None, note });
            }
            let (what, sides, note) = self.wrong_curve(unit)?;
            return Ok(Told { what, sides: Some(sides), note });
        }
        let row = match self.worst_finding(check) {
            Some(finding) if finding.facts.contains_key("meaning") => self.row_of_meaning(finding),
            Some(finding) if evaluation::is_about_evaluation(finding) => {
                self.score_of(finding).map(|unit| self.row_of_score(unit)).transpose()?
            }
            Some(finding) if finding.is(&SLOWER) => self.row_of_slower(finding)?,
            Some(finding) => self.row_of_setting(finding),
            _ => None,
        };
        let Some(EvidenceRow { cells, note, .. }) = row else {
            return Ok(Told { what: name, sides: None, note: self.said_of_wrong(check)? });
        };
        let mut cells = cells.into_iter().map(|cell| cell.to_string());
        let rule = safe(cells.next().unwrap_or_default());
        let what = self.writer.phrase("row_of_metric", &context! { metric => safe(name), rule })?;
        let sides = cells.next().zip(cells.next()).map(<[String; 2]>::from);
        Ok(Told { what, sides, note: note.to_string() })
    }

    /// The step time of the rank that leads, with the reason of its growth after the amount.
    fn row_of_slower(&self, finding: &Finding) -> Result<Option<EvidenceRow>> {
        let Some(unit) = performance::leading_unit(self.result) else { return Ok(None) };
        let Some(row) = self.rows_of_profile(unit)?.into_iter().next() else { return Ok(None) };
        let reasons = performance::growth_reasons(self.result, &finding.place);
        let Some(why) = self.why_slower(finding, reasons.first().copied())? else { return Ok(Some(row)) };
        let note = self.writer.phrase("row_why", &context! { amount => row.note.clone(), why => safe(why) })?;
        Ok(Some(EvidenceRow { note: safe(note), ..row }))
    }

    /// A setting beside the tensors, with its values of both sides.
    pub(super) fn row_of_meaning(&self, finding: &Finding) -> Option<EvidenceRow> {
        let value = |side: &str| match finding.facts.get(side)? {
            Fact::Text(text) => Some(self.writer.name(text)),
            other => Some(self.writer.fact(side, other).to_string()),
        };
        let cells = vec![self.writer.name(&finding.place), value("baseline")?, value("candidate")?];
        Some(EvidenceRow::new(cells, finding.severity.verdict()))
    }

    /// The headline of the worst finding of a check.
    fn said_of_wrong(&self, check: &Check) -> Result<String> {
        let Some(finding) = self.worst_finding(check) else { return self.writer.word("headline_nothing") };
        let is_own = |cause: &&Diagnosis| cause.place == finding.place && cause.sureness >= Sureness::Likely;
        if let Some(cause) = self.result.diagnoses.iter().find(is_own) {
            let culprit = dumps(&self.result.checks).filter_map(|unit| unit.culprit.as_ref());
            let culprit = culprit.filter(|_| check.id == CheckId::Dump).find(|culprit| culprit.stands_for(finding));
            if let Some(told) = self.headline_of_cause(cause, finding, culprit)? {
                return Ok(told);
            }
        }
        let alike = super::settings::similar_settings_findings(finding, &self.result.findings);
        if alike.is_empty() {
            return self.headline_of_finding(finding);
        }
        let said = self.headline_of_settings(&alike)?;
        let row = self.row_of_setting(finding).filter(|_| alike.len() == 1);
        let Some([_, baseline, candidate]) = row.and_then(|row| <[Value; 3]>::try_from(row.cells).ok()) else {
            return Ok(said);
        };
        if baseline.as_str() == Some("") {
            return Ok(said);
        }
        self.writer.phrase("setting_values", &context! { said => safe(said), baseline, candidate })
    }

    /// The worst finding of a check; for an evaluation the most informative one, for profiles that of the leading rank.
    fn worst_finding(&self, check: &Check) -> Option<&Finding> {
        let own = || self.result.counting().filter(|finding| finding.check == check.id);
        let worst = own().map(|finding| finding.severity).max().filter(|worst| *worst >= Severity::Warn)?;
        let first = own().find(|finding| finding.severity == worst)?;
        if evaluation::is_about_evaluation(first) {
            return Some(evaluation::leading_finding(self.result, first));
        }
        let leading = performance::leading_unit(self.result).map(|unit| profile_place(unit.rank));
        let is_of_leading = |finding: &&Finding| Some(&finding.place) == leading.as_ref() && finding.code == first.code;
        let of_leading = own().find(is_of_leading).filter(|_| checks::compares_times(first.check));
        Some(of_leading.unwrap_or(first))
    }

    /// The next step about a finding that does not lead, in one clause; empty where it has none.
    fn step_beside(&self, finding: &Finding) -> Result<String> {
        let is_of_checkpoint = evaluation::is_about_evaluation(finding)
            && Lead::from_result(self.result).check().is_some_and(|check| checks::compares_weights(self.result, check));
        let step = if is_of_checkpoint {
            self.writer.word("next_after_checkpoint")?
        } else {
            first_step(&self.advice_beside(finding)?, self.writer.target())
        };
        if step.is_empty() {
            return Ok(step);
        }
        self.writer.phrase("row_next", &context! { step => safe(step) })
    }

    /// The next step about a curve that may differ because of what leads: a setting, or a wrong value of the same training that is not
    /// later than the first step at which the curve is off. Another dump of it shows nothing before that is repaired.
    fn advice_behind_leading(&self, finding: &Finding) -> Result<Option<String>> {
        // The advice about these is a dump of the steps that differ.
        let advises_dump = finding.is_any(&DIFFERS) || finding.is(&curve_rules::NON_FINITE);
        let lead = Lead::from_result(self.result);
        if !advises_dump || !curve::is_judged_by(self.result, finding.check) || lead.check() == Some(finding.check) {
            return Ok(None);
        }
        let culprit = match &lead {
            Lead::Settings(_) => return self.writer.word("next_follows").map(Some),
            // A single operator and a checkpoint have no step of this training.
            Lead::Culprit(culprit, ..)
                if culprit.operator.is_none()
                    && matches!(culprit.kind, CulpritKind::Tensor(_) | CulpritKind::Monitor(_)) =>
            {
                culprit
            }
            _ => return Ok(None),
        };
        let unit = curve::leading_curve(self.result);
        if let Some((unit, [before, step])) = unit.and_then(|unit| Some((unit, self.jump_of(unit)?))) {
            let level_step = level_step(unit, step);
            return self.writer.phrase("next_jump_beside", &context! { before, step, level_step }).map(Some);
        }
        // Where both runs begin alike, what is wrong in the first step's own values is not why they part.
        let is_backward = OpName::parse(&culprit.op).direction == Some(Direction::Backward);
        let differs = finding.is_any(&DIFFERS);
        if differs && culprit.step == 0 && unit.is_some_and(|unit| self.begins_alike(unit, is_backward)) {
            return self.writer.word("next_begins_alike").map(Some);
        }
        // Logs count steps from 0 or from 1.
        let is_before =
            unit.and_then(|unit| unit.first_diverging_step).is_none_or(|first| culprit.step <= first.saturating_add(1));
        is_before.then(|| self.writer.word("next_follows")).transpose()
    }

    /// Whether the loss of the first step agrees, and the gradient norm where `with_gradient`.
    fn begins_alike(&self, loss: &CurveUnit, with_gradient: bool) -> bool {
        let first = |unit: &CurveUnit| {
            let [baseline, candidate] =
                [&unit.series.baseline, &unit.series.candidate].map(|side| side.first().and_then(|value| *value));
            Some((baseline?.0, candidate?.0))
        };
        let mut all = curves(&self.result.checks);
        let norm = all.find(|unit| unit.metric == "grad_norm" && unit.run == loss.run && unit.rank == loss.rank);
        let agree =
            |(baseline, candidate): (f64, f64), noise: f64| (candidate - baseline).abs() <= noise * baseline.abs();
        let loss = first(loss).is_some_and(|values| agree(values, FORWARD_NOISE));
        loss && norm.and_then(first).map_or(!with_gradient, |values| agree(values, BACKWARD_NOISE))
    }

    /// The advice about a finding: that of its explanation, otherwise the next dump of a curve, otherwise its own.
    fn advice_beside(&self, finding: &Finding) -> Result<String> {
        let mut causes = self.result.diagnoses.iter();
        let cause = causes.find(|cause| cause.place == finding.place && cause.sureness >= Sureness::Likely);
        if let Some(advice) = cause.is_none().then(|| self.advice_behind_leading(finding)).transpose()?.flatten() {
            return Ok(advice);
        }
        let text = cause.map(|cause| causes::text(cause, self.writer)).transpose()?;
        let next = self.result.next_dump.as_ref().filter(|next| next_dump::is_of_curve(next));
        let next = next.filter(|_| curve::is_judged_by(self.result, finding.check));
        let is_by_dump = next.is_some() && cause.is_some_and(|cause| BY_DUMP.contains(&cause.cause.as_str()));
        if let Some(text) = text.filter(|text| !is_by_dump && !text.advice.is_empty()) {
            return Ok(text.advice);
        }
        if let Some(next) = next {
            return next_dump::reason(next, self.writer);
        }
        let explains = match finding {
            finding if checks::compares_times(finding.check) => {
                performance::growth_reasons(self.result, &finding.place)
            }
            finding if evaluation::is_about_evaluation(finding) => evaluation::drop_reasons(self.result, finding),
            _ => Vec::new(),
        };
        self.writer.finding(explains.first().copied().unwrap_or(finding)).map(|text| text.help)
    }
}
