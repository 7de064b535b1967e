//! A profile in the opening: how much longer a step takes, why, and what to do.

use minijinja::{Value, context};

use super::builder::{Builder, Columns, EvidenceRow, MOST_REASONS, Opening, rows_for_leading_check};
use crate::error::Result;
use crate::judge::performance::rules::{self, SLOWER};
use crate::report::messages::{duration, rounded, share_of_growth};
use crate::report::writer::safe;
use crate::report::{performance, phrases};
use crate::result::finding::{Fact, Finding};
use crate::result::unit::{PerformanceUnit, Phase};
use crate::verdict::{Severity, Verdict};

/// Share in the growth above which an operator gets a row.
const TELLS: f64 = 0.2;

impl Builder<'_> {
    /// The opening of a finding about a profile.
    pub(super) fn performance(&self, finding: &Finding) -> Result<Opening> {
        let reasons = performance::growth_reasons(self.result, &finding.place);
        let is_slower = finding.is(&SLOWER);
        let told = if is_slower {
            self.headline_of_slower(finding, reasons.first().copied())?
        } else {
            self.headline_of_finding(finding)?
        };
        let mut opening = Opening { picture: "performance", ..Opening::from_headline(safe(told)) };
        let unit = performance::leading_unit(self.result).filter(|unit| unit.step_time.is_some());
        if let Some(unit) = unit {
            opening.place = safe(self.place_of_profile(unit)?);
            opening.columns = self.columns_of_sides()?;
            let others = self.other_checks(Some(finding.check), Columns::Sides)?;
            let most = rows_for_leading_check(&others);
            opening.rows = self.rows_of_profile(unit)?.into_iter().take(most).chain(others).collect();
        } else {
            opening.rows = self.all_checks(finding.check)?;
            opening.columns = self.columns_of_checks()?;
            let width = opening.rows.first().map_or(0, |row| row.cells.len());
            opening.columns.truncate(width);
            opening.picture = "";
        }
        self.advise(&mut opening, None, finding)?;
        if is_slower {
            self.reasons_of_growth(&mut opening, &reasons)?;
            // Step times of all ranks are one fact, which the table of ranks tells.
            let is_alike = |other: &Finding| {
                !performance::is_about_profile(other) || other.severity < Severity::Warn || other.code == finding.code
            };
            opening.told = self.result.findings.iter().all(is_alike).then_some(finding.check);
        }
        Ok(opening)
    }

    /// `A step takes 18 % longer on the NPU: FlashAttentionScore was replaced by 24 calls of ...`
    fn headline_of_slower(&self, finding: &Finding, reason: Option<&Finding>) -> Result<String> {
        let mut told = self.writer.facts(&finding.facts);
        let why = self.why_slower(finding, reason)?;
        told.insert("why", why.map_or_else(|| Value::from(""), safe));
        let whole = self.writer.phrase_if_known("headline_performance_slower", &Value::from(told))?;
        whole.map_or_else(|| self.headline_of_finding(finding), Ok)
    }

    /// The reason of a growth in one clause: that of a finding, else the operator that adds most.
    pub(super) fn why_slower(&self, finding: &Finding, reason: Option<&Finding>) -> Result<Option<String>> {
        let clause = |finding: &Finding| -> Result<Option<String>> {
            let key = format!("why_{}", finding.code);
            if phrases::find(&key, self.writer.language()).is_none() {
                return Ok(None);
            }
            let mut facts = self.writer.facts(&finding.facts);
            let alike =
                |other: &&Finding| other.code == finding.code && other.facts.get("name") == finding.facts.get("name");
            let ranks = self.result.findings.iter().filter(alike).filter(|other| other.facts.contains_key("rank"));
            facts.insert("alike_ranks", ranks.count().into());
            self.writer.phrase_if_known(&key, &Value::from(facts))
        };
        match reason.map(clause).transpose()?.flatten() {
            Some(why) => Ok(Some(why)),
            None => self.why_by_operator(finding),
        }
    }

    /// Phrase about the operator that adds most, if no finding explains the growth.
    fn why_by_operator(&self, finding: &Finding) -> Result<Option<String>> {
        let unit = performance::leading_unit(self.result)
            .filter(|unit| finding.place == crate::result::unit::profile_place(unit.rank));
        let cause = unit.and_then(|unit| unit.cause.as_ref());
        let Some(name) = cause.and_then(|cause| cause.operators.first()) else { return Ok(None) };
        self.writer.phrase("why_operator", &context! { name }).map(Some)
    }

    /// Step times of both sides, noise, number of steps, and the rank.
    fn place_of_profile(&self, unit: &PerformanceUnit) -> Result<String> {
        let Some(time) = &unit.step_time else { return Ok(String::new()) };
        let context = context! {
            baseline => time.baseline.0, candidate => time.candidate.0, ratio => time.ratio.0,
            noise => time.noise.0, steps => unit.steps, rank => unit.rank,
            change => safe(performance::change_text(time.ratio.0)),
        };
        self.writer.phrase("place_profile", &context)
    }

    /// The step, the phase and the operators that grew most.
    pub(super) fn rows_of_profile(&self, unit: &PerformanceUnit) -> Result<Vec<EvidenceRow>> {
        let (Some(time), Some(phases)) = (&unit.step_time, &unit.phases) else { return Ok(Vec::new()) };
        let row = |name: String, times: [f64; 2]| {
            let [baseline, candidate] = times.map(duration);
            EvidenceRow::new(vec![name, baseline, candidate], unit.verdict)
        };
        let verdict_of = |name: &str| {
            let outcome = unit.rules.iter().find(|outcome| outcome.rule == name);
            outcome.map_or(Verdict::Pass, |outcome| outcome.verdict)
        };
        let note = safe(performance::change_text(time.ratio.0));
        let step = row(self.writer.word("row_step_time")?, [time.baseline.0, time.candidate.0]);
        let mut rows = vec![EvidenceRow { note, verdict: verdict_of("step_time"), ..step }];
        if let Some([baseline, candidate]) = unit.memory_peak.filter(|_| verdict_of("memory_peak") > Verdict::Pass) {
            let megabytes = [baseline, candidate].map(|peak| format!("{} MB", rounded(peak.0, 4)));
            let [of_baseline, of_candidate] = megabytes;
            let cells = vec![self.writer.word("rule_memory_peak")?, of_baseline, of_candidate];
            let note = safe(performance::change_text(candidate.0 / baseline.0));
            rows.push(EvidenceRow { note, ..EvidenceRow::new(cells, verdict_of("memory_peak")) });
            rows.extend(self.row_of_held_memory(verdict_of("memory_peak"))?);
        }
        let phase = unit.cause.as_ref().map_or_else(|| phases.grown_most(), |cause| cause.phase);
        let delta = time.candidate.0 - time.baseline.0;
        if unit.cause.is_none() {
            return Ok(rows);
        }
        let told = |part: f64| -> Result<Value> {
            self.phrase("row_share_of_growth", context! { share => safe(share_of_growth(part)) })
        };
        let of_phase = row(self.writer.word(&format!("phase_{}", phase.as_str()))?, phases.pair_of_phase(phase));
        rows.push(EvidenceRow { note: told(phases.growth(phase) / delta)?, ..of_phase });
        let mut by_name: Vec<(&str, [f64; 2], f64)> = Vec::new();
        for operator in unit.operators.iter().filter(|_| phase != Phase::Free) {
            let [baseline, candidate] = operator.total.map(|total| total.0);
            match by_name.iter_mut().find(|(name, _, _)| *name == operator.name) {
                Some((_, sum, part)) => {
                    *sum = [sum[0] + baseline, sum[1] + candidate];
                    *part += operator.contribution.0;
                }
                None => by_name.push((&operator.name, [baseline, candidate], operator.contribution.0)),
            }
        }
        by_name.sort_by(|a, b| b.2.total_cmp(&a.2));
        for (name, times, part) in by_name.into_iter().filter(|(_, _, part)| *part > TELLS) {
            let cell = row(self.writer.name(name), times);
            rows.push(EvidenceRow { note: told(part)?, ..cell });
        }
        Ok(rows)
    }

    /// The memory that is held throughout, where it was recorded beside a peak that is off.
    fn row_of_held_memory(&self, verdict: Verdict) -> Result<Option<EvidenceRow>> {
        let finding = self.result.counting().find(|finding| finding.is(&rules::MEMORY_PEAK));
        let number = |name: &str| match finding?.facts.get(name)? {
            Fact::Number(number) => Some(number.0),
            _ => None,
        };
        let Some((baseline, candidate)) = number("held").zip(number("candidate_held")) else { return Ok(None) };
        let [of_baseline, of_candidate] = [baseline, candidate].map(|held| format!("{} MB", rounded(held, 4)));
        let note = safe(performance::change_text(candidate / baseline));
        let cells = vec![self.writer.word("row_memory_held")?, of_baseline, of_candidate];
        Ok(Some(EvidenceRow { note, ..EvidenceRow::new(cells, verdict) }))
    }

    /// Findings that explain the growth: the first one's advice in place of the growth's, the others as evidence.
    fn reasons_of_growth(&self, opening: &mut Opening, reasons: &[&Finding]) -> Result<()> {
        let Some(first) = reasons.first() else { return Ok(()) };
        let told: Vec<String> = reasons
            .iter()
            .take(MOST_REASONS)
            .map(|reason| self.writer.finding(reason).map(|text| text.message))
            .collect::<Result<_>>()?;
        opening.certainty = self.word("because_measured")?;
        opening.reasons = safe(told.join(&self.writer.word("semicolon")?));
        opening.advice = safe(self.writer.finding(first)?.help);
        Ok(())
    }
}
