//! Openings of results without a failure, and the rows of checks that do not lead: the things that agreed, how closely, and over
//! how much.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use minijinja::{Value, context};

use super::builder::{Builder, Columns, EvidenceRow, Opening};
use super::words::uncapital;
use crate::error::Result;
use crate::judge::rule::evidence::LEFT_OUT;
use crate::report::escape::cleaned;
use crate::report::writer::safe;
use crate::report::{checks, compared, curve, performance, standing};
use crate::result::finding::{Fact, Finding, WaivedFinding};
use crate::result::unit::{
    AnyUnit, Check, CurveUnit, Evidence, LogprobsSide, LogprobsUnit, PerformanceUnit, SampleRule, Unit, logprobs,
    sources,
};
use crate::verdict::{CheckId, Verdict};

/// Order of rules in the opening of a pass: the rule of the level or the score first, then the least sensitive rule.
fn main_first(one: &SampleRule, other: &SampleRule) -> Ordering {
    let is_main = |rule: &SampleRule| matches!(rule.rule.as_str(), "level" | "score");
    let seen = |rule: &SampleRule| rule.detectable.map_or(0.0, |detectable| detectable.0);
    is_main(one).cmp(&is_main(other)).then(seen(one).total_cmp(&seen(other)))
}

/// Whether all units of a check are synchronisations of weights.
fn holds_synchronisations_alone(check: &Check) -> bool {
    !check.units.is_empty() && check.units.iter().all(|unit| matches!(unit, Unit::Sync(_)))
}

/// The candidate's own engine and trainer.
fn own_logprobs(check: &Check) -> Option<&LogprobsUnit> {
    logprobs(std::slice::from_ref(check)).find(|unit| unit.side == LogprobsSide::Candidate)
}

fn context_of(unit: &LogprobsUnit) -> Value {
    context! { mean_abs => unit.mean_abs.map(|mean| mean.0), tokens => unit.tokens }
}

impl Builder<'_> {
    /// The opening of a result without a failure that counts.
    pub(super) fn agreement(&self) -> Result<Opening> {
        let mut opening = Opening::from_headline(self.headline_of_agreement()?);
        let mut rest = self.uncovered()?;
        let unchecked = self.unchecked_names()?;
        if checks::computed_anything(self.result) && !unchecked.is_empty() {
            rest.push(self.writer.phrase("unchecked_in_line", &context! { checks => unchecked })?);
        }
        opening.uncovered = rest.join(" · ");
        if self.result.verdict == Verdict::Pass {
            opening.place = safe(self.agreed()?.into_iter().chain(rest).collect::<Vec<_>>().join(" · "));
        }
        Ok(opening)
    }

    fn headline_of_agreement(&self) -> Result<Value> {
        if self.result.verdict != Verdict::Pass {
            return self.word("headline_nothing");
        }
        if let Some(waived) = self.waived()? {
            return Ok(waived);
        }
        let lowered: Vec<_> =
            self.result.counting().filter(|finding| standing::is_lowered(finding.severity, &finding.code)).collect();
        if let Some(first) = lowered.first() {
            let headline = safe(self.within_a_sentence(first)?);
            return self.phrase("headline_lowered", context! { headline, more => lowered.len() - 1 });
        }
        if self.result.is_of_source() {
            return self.headline_of_source();
        }
        if !checks::computed_anything(self.result) {
            return match performance::leading_unit(self.result).filter(|unit| unit.step_time.is_some()) {
                Some(unit) => self.phrase("headline_pass_times", self.times_of(unit)),
                None => self.word("headline_pass_settings"),
            };
        }
        if self.is_of_synchronisations() {
            return self.word("headline_pass_sync");
        }
        if let [check] = self.compared().as_slice()
            && let Some(unit) = own_logprobs(check)
        {
            return self.phrase("headline_pass_tokens", context_of(unit));
        }
        let verified = self.result.baseline.as_ref().and_then(|run| run.verified.as_ref());
        let manifest = verified.map(|verified| verified.manifest.as_str());
        self.phrase("headline_pass", context! { manifest })
    }

    /// The headline of a finding for the middle of a sentence; a name at its start stays as it is written.
    fn within_a_sentence(&self, finding: &Finding) -> Result<String> {
        let texts = finding.facts.values().flat_map(|fact| match fact {
            Fact::Text(text) => std::slice::from_ref(text),
            Fact::List(texts) => texts.as_slice(),
            _ => &[],
        });
        let mut names: Vec<String> = texts.chain([&finding.place]).map(|text| self.writer.name(text)).collect();
        names.push(self.writer.name(super::words::without_direction(super::culprit::operation_of(finding))));
        for side in ["baseline", "candidate"] {
            names.push(cleaned(&self.writer.fact("side", &side.into()).to_string()));
        }
        Ok(uncapital(&self.headline_of_finding(finding)?, &names))
    }

    /// The headline of source without a finding that counts.
    fn headline_of_source(&self) -> Result<Value> {
        let files = sources(&self.result.checks).filter(|unit| unit.is_read).count();
        let is_change = self.result.findings.iter().any(|finding| !finding.counts());
        self.phrase("headline_pass_source", context! { files, is_change })
    }

    /// The headline of a pass that rests on waivers.
    fn waived(&self) -> Result<Option<Value>> {
        let waived: Vec<&WaivedFinding> = self.result.waived.iter().filter(|waived| !waived.follows).collect();
        let severity = |waived: &&WaivedFinding| waived.finding.severity;
        let worst = waived.iter().map(severity).max();
        let Some(first) = waived.iter().find(|waived| Some(severity(waived)) == worst) else { return Ok(None) };
        let waivers: BTreeSet<&str> = waived.iter().map(|waived| waived.waiver.as_str()).collect();
        let context = context! {
            count => waivers.len(),
            headline => safe(self.within_a_sentence(&first.finding)?),
            owner => first.owner.as_str(),
            expires => first.expires.as_str(),
            more => waived.len() - 1,
        };
        self.phrase("headline_waived", context).map(Some)
    }

    /// Whether nothing but synchronisations of weights was compared.
    fn is_of_synchronisations(&self) -> bool {
        let compared = self.compared();
        !compared.is_empty() && compared.into_iter().all(holds_synchronisations_alone)
    }

    /// The parts of a pass: each check with its agreement.
    fn agreed(&self) -> Result<Vec<String>> {
        self.compared().into_iter().map(|check| self.agreed_by(check)).collect()
    }

    /// Phrases for values that no verdict covers: they follow from waived defects, were not read, or the policy excludes them.
    fn uncovered(&self) -> Result<Vec<String>> {
        let mut parts = Vec::new();
        let units = || self.result.checks.iter().flat_map(|check| &check.units).filter_map(|unit| unit.evidence());
        let behind: u64 = units().map(|evidence| evidence.behind_waived).fold(0, u64::saturating_add);
        if behind > 0 {
            parts.push(self.writer.phrase("behind_waived_in_line", &context! { count => behind })?);
        }
        let left_out: Vec<&Evidence> = units().filter(|evidence| evidence.left_out > 0).collect();
        let members = logprobs(&self.result.checks).map(|unit| unit.evidence.unread).fold(0, u64::saturating_add);
        if members > 0 {
            parts.push(self.writer.phrase("members_unread_in_line", &context! { count => members })?);
        }
        let unread = units().map(|evidence| evidence.unread).fold(0, u64::saturating_add).saturating_sub(members);
        if unread > 0 {
            parts.push(self.writer.phrase("unread_in_line", &context! { count => unread })?);
        }
        if !left_out.is_empty() {
            let count = left_out.iter().map(|evidence| evidence.left_out).fold(0, u64::saturating_add);
            let names: BTreeSet<String> = self.left_out_names();
            parts.push(self.writer.phrase("left_out_in_line", &context! { count, names => Vec::from_iter(names) })?);
        }
        Ok(parts)
    }

    /// Some names of what the policy leaves out.
    fn left_out_names(&self) -> BTreeSet<String> {
        /// Names that the line shows.
        const SHOWN: usize = 3;
        let findings = self.result.findings.iter().filter(|finding| finding.is(&LEFT_OUT));
        let of = |finding: &Finding| match finding.facts.get("examples") {
            Some(Fact::List(names)) if !names.is_empty() => names.clone(),
            _ => vec![finding.place.clone()],
        };
        findings.flat_map(of).take(SHOWN).collect()
    }

    /// The checks that compared something, those of settings last.
    fn compared(&self) -> Vec<&Check> {
        let checks = self.result.checks.iter();
        let mut compared: Vec<&Check> =
            checks.filter(|check| check.verdict != Verdict::Skipped && check.id.is_of_run()).collect();
        compared.sort_by_key(|check| checks::compares_settings(check.id));
        compared
    }

    fn agreed_by(&self, check: &Check) -> Result<String> {
        let waived = self.result.waived.iter().filter(|waived| waived.finding.check == check.id).count();
        if waived > 0 {
            let name = self.word(&format!("check_{}", check.id.as_str()))?;
            return self.writer.phrase("agrees_but_waived", &context! { check => name, count => waived });
        }
        if let Some(agreed) = self.agreed_samples(check)? {
            return Ok(agreed);
        }
        let counts = compared::counts(check);
        if curve::has_curves(check)
            && let Some(agreed) = self.agreed_curve(check)?
        {
            return Ok(agreed);
        }
        if let Some(unit) = own_logprobs(check).or_else(|| logprobs(std::slice::from_ref(check)).last()) {
            return self.writer.phrase("agrees_tokens", &context_of(unit));
        }
        if holds_synchronisations_alone(check) {
            return self.writer.phrase("agrees_sync", &counts);
        }
        if !check.units.is_empty() && check.units.iter().all(|unit| matches!(unit, Unit::Rollout(_))) {
            return self.writer.phrase("agrees_rollouts", &counts);
        }
        let timed = performance::leading_unit(self.result).filter(|unit| unit.step_time.is_some());
        if let Some(unit) = timed.filter(|_| checks::compares_times(check.id)) {
            return self.writer.phrase("agrees_times", &self.times_of(unit));
        }
        let key = format!("agrees_{}", check.id.as_str());
        match crate::report::phrases::find(&key, self.writer.language()) {
            Some(_) => self.writer.phrase(&key, &counts),
            None => {
                let name = self.word(&format!("check_{}", check.id.as_str()))?;
                self.writer.phrase("agrees_other", &context! { check => name })
            }
        }
    }

    /// The step time of a profile, for phrases.
    fn times_of(&self, unit: &PerformanceUnit) -> Value {
        let [baseline, candidate, ratio, noise] = unit.step_time.as_ref().map_or([f64::NAN; 4], |time| {
            [time.baseline, time.candidate, time.ratio, time.noise].map(|number| number.0)
        });
        let change = safe(performance::change_text(ratio));
        let is_judged = unit.rules.iter().any(|rule| rule.rule == "step_time" && (rule.warn.or(rule.fail)).is_some());
        context! { baseline, candidate, ratio, noise, change, is_judged, steps => unit.steps }
    }

    /// Agreement of several runs of each side, with the smallest shift of the leading metric that would have been found; `None`
    /// where there is one of each.
    fn agreed_samples(&self, check: &Check) -> Result<Option<String>> {
        let of_check = check.units.iter().filter_map(|unit| match unit {
            Unit::Sample(unit) => Some(unit),
            _ => None,
        });
        let tested = of_check.flat_map(|unit| unit.rules.iter().map(move |rule| (unit, rule)));
        let Some((unit, rule)) =
            tested.filter(|(_, rule)| rule.detectable.is_some()).max_by(|a, b| main_first(a.1, b.1))
        else {
            return Ok(None);
        };
        let detectable = rule.detectable.map_or(f64::NAN, |detectable| detectable.0);
        let times = (10.0 * rule.power.0).round();
        let (metric, plain) = (safe(self.writer.name(&unit.name())), rule.drop.is_some());
        let context = context! { n => rule.n, m => rule.m, metric, detectable, plain, times };
        self.writer.phrase("agrees_samples", &context).map(Some)
    }

    /// Agreement of the leading curve with its limit; `None` without a curve.
    fn agreed_curve(&self, check: &Check) -> Result<Option<String>> {
        let Some(unit) = curve::leading_curve(self.result) else { return Ok(None) };
        let mean = unit.rules.iter().find(|rule| rule.rule == "mean_rel");
        let Some((value, limit)) = mean.and_then(|rule| rule.value.zip(rule.fail)) else {
            return self.writer.phrase("agrees_loss", &compared::counts(check)).map(Some);
        };
        let metric = self.metric(unit)?;
        let context = context! { metric, value => value.0, limit => limit.0, steps => unit.paired };
        self.writer.phrase("agrees_curve", &context).map(Some)
    }

    /// Rows of the checks beside the one that leads.
    pub(super) fn other_checks(&self, leading: Option<CheckId>, columns: Columns) -> Result<Vec<EvidenceRow>> {
        let mut others: Vec<&Check> = self.compared().into_iter().filter(|check| Some(check.id) != leading).collect();
        others.sort_by_key(|check| std::cmp::Reverse(check.verdict));
        others.into_iter().map(|check| self.row_of_check(check, columns)).collect()
    }

    /// Rows of all checks. The row of the leading check only tells how much it compared, since the headline tells the rest.
    pub(super) fn all_checks(&self, leading: CheckId) -> Result<Vec<EvidenceRow>> {
        let mut rows = Vec::new();
        for check in self.compared() {
            let mut row = self.row_of_check(check, Columns::Checks)?;
            if let Some(said) = row.cells.last_mut().filter(|_| check.id == leading) {
                *said = Value::from("");
                row.note = Value::from("");
            }
            rows.push(row);
        }
        let is_empty = |row: &EvidenceRow| row.cells.last().is_some_and(|cell| cell.as_str() == Some(""));
        if rows.iter().all(is_empty) {
            rows.iter_mut().for_each(|row| row.cells.truncate(2));
        }
        Ok(rows)
    }

    fn row_of_check(&self, check: &Check, columns: Columns) -> Result<EvidenceRow> {
        if check.verdict >= Verdict::Warn {
            return self.row_of_wrong(check, columns);
        }
        let name = self.word(&format!("check_{}", check.id.as_str()))?.to_string();
        let curve = curve::leading_curve(self.result).filter(|_| curve::has_curves(check) && !self.result.is_alone());
        let (what, said) = match curve {
            Some(unit) => (self.steps_of(unit)?, self.agreed_by(check)?),
            None if !check.items.is_empty() => (self.checkers(check)?, self.checkers_agree(check)?),
            None => (name.clone(), self.agreed_by(check)?),
        };
        let cells = match columns {
            Columns::Sides => vec![what, String::new(), said],
            Columns::Limits => vec![what, said, String::new()],
            Columns::Checks => vec![name, compared::compared_phrase(check, &self.result.findings, self.writer)?, said],
        };
        Ok(EvidenceRow::new(cells, check.verdict))
    }

    /// The config checkers that compared something, in words.
    fn checkers(&self, check: &Check) -> Result<String> {
        self.named_checkers(check, |verdict| verdict != Verdict::Skipped)
    }

    fn checkers_agree(&self, check: &Check) -> Result<String> {
        let skipped = self.named_checkers(check, |verdict| verdict == Verdict::Skipped)?;
        match skipped.as_str() {
            "" => self.writer.word("row_config_agree"),
            _ => self.writer.phrase("row_config_unrecorded", &context! { checkers => safe(skipped) }),
        }
    }

    fn named_checkers(&self, check: &Check, is_wanted: fn(Verdict) -> bool) -> Result<String> {
        let mut names = Vec::new();
        for item in check.items.iter().filter(|item| is_wanted(item.verdict)) {
            let key = format!("checker_{}", item.name);
            let known = crate::report::phrases::find(&key, self.writer.language());
            names.push(known.map_or_else(|| self.writer.name(&item.name), str::to_owned));
        }
        Ok(names.join(&self.writer.word("opening_comma")?))
    }

    pub(super) fn steps_of(&self, unit: &CurveUnit) -> Result<String> {
        let metric = self.metric(unit)?;
        self.writer.phrase("row_steps", &context! { metric, steps => unit.paired })
    }

    /// Heads of a table of both sides.
    pub(super) fn columns_of_sides(&self) -> Result<Vec<Value>> {
        let name = |side: &str| safe(cleaned(&self.writer.fact("side", &side.into()).to_string()));
        let [baseline, candidate] = ["baseline", "candidate"].map(name);
        Ok(vec![Value::from(""), baseline, candidate])
    }

    /// Heads of a table of checks.
    pub(super) fn columns_of_checks(&self) -> Result<Vec<Value>> {
        Ok(vec![self.word("check")?, self.word("compared")?, Value::from("")])
    }
}
