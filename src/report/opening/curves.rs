//! A training curve in the opening: how it fails, in words, and the rules that say so.

use std::collections::BTreeMap;

use minijinja::{Value, context};

use super::builder::{Builder, Columns, EvidenceRow, Opening, rows_for_leading_check};
use super::levels::{LevelCells, is_of_rl, is_ratio, times};
use super::numbers::with_minus_sign;
use super::words::capital;
use crate::error::Result;
use crate::judge::loss::code as curve_rules;
use crate::judge::loss::rl;
use crate::judge::rule::Rule;
use crate::kind::Role;
use crate::median::upper_median;
use crate::report::curve::{self, Spike};
use crate::report::messages::{Language, ratio, rounded, short_number, signed_ratio};
use crate::report::sides::spaced_word;
use crate::report::writer::safe;
use crate::report::{outcomes, phrases};
use crate::result::diagnosis::{Diagnosis, Sureness};
use crate::result::finding::{Fact, Finding};
use crate::result::number::Number;
use crate::result::outcome::{LimitDirection, RuleOutcome, ValueUnit};
use crate::result::unit::{AnyUnit, CurveUnit, curves};
use crate::verdict::{CheckId, Severity, Verdict};

/// Rules whose findings report that a curve differs, by how much or where.
pub(super) const DIFFERS: [&Rule; 9] = [
    &curve_rules::MEAN,
    &curve_rules::TAIL,
    &curve_rules::SPREAD,
    &curve_rules::DEPARTURE,
    &curve_rules::PEAK,
    &curve_rules::HEAD,
    &curve_rules::STEP_1,
    &curve_rules::SPIKES,
    &curve_rules::GRAD_NORM,
];

/// Rules whose findings report an event; they lead before rules that report an amount.
const HAPPENED: [&Rule; 4] = [&curve_rules::ZERO, &curve_rules::FROZEN, &curve_rules::SCALED, &curve_rules::ROLLBACK];

/// The headline of a reward that is lower.
pub(super) const LOWER_REWARD: &str = "headline_rl_reward";

/// Rules whose value is the amount by which the candidate is lower, and rules for the amount by which it is higher.
const LOWER: [&str; 3] = ["reward_tail", "reward_windows", "eval_shortfall"];
const HIGHER: [&str; 2] = ["reward_higher", "truncation_rise"];

impl Builder<'_> {
    pub(super) fn curve(&self, unit: &CurveUnit, finding: &Finding) -> Result<Opening> {
        let happened = HAPPENED.iter().find_map(|rule| self.beside(finding, rule));
        let finding = happened.filter(|happened| happened.severity >= finding.severity).unwrap_or(finding);
        let of_cause = self.headline_of_certain()?;
        let headline = of_cause.map_or_else(|| self.headline_of_curve(unit, finding), Ok)?;
        let mut opening = Opening { picture: "loss", ..Opening::from_headline(safe(headline)) };
        let others = self.other_checks(Some(CheckId::Loss), Columns::Limits)?;
        let most = rows_for_leading_check(&others);
        opening.is_marked = !others.is_empty();
        opening.rows = self.failed_rules(most)?.into_iter().chain(others).collect();
        let head = if is_of_rl(Some(unit)) { "head_levels" } else { "head_against" };
        opening.columns = vec![Value::from(""), self.phrase(head, context! {})?, self.word("head_allowed")?];
        let place = [
            self.start_of_curve(finding)?,
            self.equal_until(unit)?,
            self.longer_before(finding)?,
            self.norm_that_breaks(unit, finding)?,
        ];
        opening.place = safe(Vec::from_iter(place.into_iter().filter(|part| !part.is_empty())).join(" · "));
        self.advise(&mut opening, None, finding)?;
        if let Some(advice) = self.advice_by_other_metrics(unit, finding)? {
            opening.advice = safe(advice);
        }
        opening.told = Some(CheckId::Loss);
        self.reasons_of_curve(unit, finding, &mut opening)?;
        // What the first rewards show is more than what a mismatch alone does.
        if let Some(advice) = self.advice_of_sampling(unit, finding)? {
            opening.advice = safe(advice);
        }
        Ok(opening)
    }

    /// Sentence about the first loss, before any update, if it differs already and the headline does not say so.
    fn start_of_curve(&self, finding: &Finding) -> Result<String> {
        let first = self.first_loss(&finding.place).filter(|first| first.is(&curve_rules::FIRST_STEP));
        let Some(first) = first.filter(|first| first.code != finding.code) else { return Ok(String::new()) };
        let [value, limit] =
            ["value", "limit"].map(|name| first.facts.get(name).map(|fact| self.writer.fact(name, fact)));
        self.writer.phrase("place_first_loss", &context! { value, limit })
    }

    /// Sentence about the last step up to which both curves hold the same numbers, where they part later.
    fn equal_until(&self, unit: &CurveUnit) -> Result<String> {
        /// Fewest steps that are no accident.
        const FEWEST: usize = 5;
        let pairs = unit.series.baseline.iter().zip(&unit.series.candidate);
        let is_equal = |sides: (&Option<Number>, &Option<Number>)| match sides {
            (Some(baseline), Some(candidate)) => baseline.0.total_cmp(&candidate.0).is_eq(),
            _ => false,
        };
        let equal = pairs.take_while(|sides| is_equal(*sides)).count();
        let last = equal.checked_sub(1).and_then(|last| unit.series.step.get(last));
        match last.filter(|_| equal >= FEWEST && !is_of_rl(Some(unit))) {
            Some(step) => self.writer.phrase("place_equal_until", &context! { step }),
            None => Ok(String::new()),
        }
    }

    /// The gradient norm that is not finite from the same step on as its loss, and whether it grew before; empty where there is none.
    pub(super) fn norm_that_breaks(&self, unit: &CurveUnit, finding: &Finding) -> Result<String> {
        /// Multiple of its median up to which a norm is as high as usual.
        const USUAL: f64 = 3.0;
        let mut norms = curves(&self.result.checks).filter(|other| other.run == unit.run && other.rank == unit.rank);
        let norm = norms.find(|other| other.metric != unit.metric && is_gradient_norm(other));
        let first = unit.non_finite_steps.first().filter(|_| finding.is(&curve_rules::NON_FINITE));
        let Some((norm, first)) = norm.zip(first).filter(|(norm, first)| norm.non_finite_steps.first() == Some(first))
        else {
            return Ok(String::new());
        };
        let before = norm.series.step.iter().zip(&norm.series.candidate).take_while(|(step, _)| *step < first);
        let before: Vec<f64> = before.filter_map(|(_, value)| Some((*value)?.0)).collect();
        let (Some(last), Some(median)) = (before.last().copied(), upper_median(before.clone())) else {
            return Ok(String::new());
        };
        let metric = spaced_word(&self.metric(norm)?.to_string(), self.writer.language());
        self.writer.phrase("place_norm_breaks", &context! { metric, last, is_usual => last <= USUAL * median })
    }

    /// The step from which the losses part little by little, where that is known of runs that start equal and leave their band later.
    fn begins(&self, leaves: u64) -> Option<u64> {
        let parts = |cause: &Diagnosis| {
            let mut evidence = cause.evidence.iter();
            let parting = evidence.find(|statement| statement.is_any(&["grows-from-start", "first-update-differs"]))?;
            match parting.facts.get("step") {
                Some(Fact::Count(step)) => Some(*step).filter(|step| *step < leaves),
                _ => None,
            }
        };
        self.result.diagnoses.first().and_then(parts)
    }

    /// The finding that the first loss of a curve, before any update, differs already.
    pub(super) fn first_loss(&self, place: &str) -> Option<&Finding> {
        let mut all = self.result.findings.iter();
        all.find(|finding| curve_rules::is_first_loss(finding) && finding.place == place)
    }

    /// The headline of a cause that is certain: the fault that the log itself tells, of which the curve is a consequence.
    fn headline_of_certain(&self) -> Result<Option<String>> {
        let Some(cause) = self.result.diagnoses.first().filter(|cause| cause.sureness == Sureness::Certain) else {
            return Ok(None);
        };
        let mut counts = self.result.counting().filter(|finding| finding.severity >= Severity::Warn);
        let own = counts.find(|finding| finding.check == CheckId::Loss && finding.place == cause.place);
        own.map_or(Ok(None), |own| self.headline_of_cause(cause, own, None))
    }

    /// The finding of `rule` about the curve that `finding` is about, where it counts.
    fn beside(&self, finding: &Finding, rule: &Rule) -> Option<&Finding> {
        let mut all = self.result.findings.iter().filter(|other| other.check == CheckId::Loss);
        all.find(|other| other.is(rule) && other.place == finding.place && other.severity >= Severity::Warn)
    }

    fn headline_of_curve(&self, unit: &CurveUnit, finding: &Finding) -> Result<String> {
        let own = |rule: &Rule| self.beside(finding, rule);
        let (metric, subject) = (self.metric(unit)?, self.metric_subject(unit)?);
        let is_noun = metric.to_string() != subject.to_string() && self.writer.language() == Language::En;
        let metric_first = if is_noun { safe(capital(&metric.to_string())) } else { metric.clone() };
        if let Some(broken) = own(&curve_rules::NON_FINITE) {
            return self.not_finite(unit, broken, [&metric, &subject]);
        }
        if let Some(key) = headline_in_rl(unit, finding) {
            let mut facts = self.writer.facts(&finding.facts);
            facts.entry("step").or_insert_with(|| "".into());
            facts.extend([("metric", metric), ("subject", subject)]);
            return self.writer.phrase(key, &Value::from(facts));
        }
        if !finding.is_any(&DIFFERS) && !finding.is(&curve_rules::ONSET) {
            return self.headline_of_finding(finding);
        }
        let tail = wrong(unit, "tail_signed_rel").and_then(|rule| rule.value).map(|value| value.0);
        let direction = self.word(match tail {
            Some(tail) if tail < 0.0 => "headline_curve_lower",
            _ => "headline_curve_higher",
        })?;
        let mean = wrong(unit, "mean_rel").or_else(|| wrong(unit, "grad_norm_mean_rel"));
        let limit = mean.and_then(|rule| rule.fail.or(rule.warn)).map(|limit| limit.0);
        let tail = tail.map(f64::abs);
        let mean = mean.and_then(|rule| rule.value).map(|value| value.0);
        if let Some(first) = own(&curve_rules::STEP_1) {
            let [value, limit] =
                ["value", "limit"].map(|name| first.facts.get(name).map(|fact| self.writer.fact(name, fact)));
            return self.writer.phrase("headline_curve_first", &context! { metric, subject, value, limit });
        }
        if (own(&curve_rules::PEAK).is_some() || own(&curve_rules::SPIKES).is_some())
            && let Some(spike) = self.spike(unit, &metric_first, tail, &direction)?
        {
            return Ok(spike);
        }
        if unit.first_diverging_step.is_none()
            && let Some(departure) = own(&curve_rules::DEPARTURE)
        {
            return self.headline_of_finding(departure);
        }
        match (unit.first_diverging_step, tail, mean) {
            (Some(_), ..) if self.first_loss(&unit.name()).is_some() => {
                let value = self.first_loss(&unit.name()).and_then(|first| first.facts.get("value"));
                let value = value.map(|value| self.writer.fact("value", value));
                self.writer.phrase("headline_curve_from_start", &context! { subject, metric, value, tail, direction })
            }
            (Some(step), ..) => {
                let begins = self.begins(step);
                let context = context! { metric, subject, step, begins, tail, mean, limit, direction };
                self.writer.phrase("headline_curve_leaves", &context)
            }
            (None, Some(_), _) => {
                self.writer.phrase("headline_curve_tail", &context! { metric, subject, tail, direction })
            }
            (None, None, Some(_)) => {
                self.writer.phrase("headline_curve_apart", &context! { metric, subject, mean, limit })
            }
            (None, None, None) => self.headline_of_finding(finding),
        }
    }

    fn not_finite(&self, unit: &CurveUnit, finding: &Finding, words: [&Value; 2]) -> Result<String> {
        let [metric, subject] = words;
        // Steps are names where a run pairs windows or positions.
        let number = |name: &str| match finding.facts.get(name) {
            Some(Fact::Count(count)) => *count,
            Some(Fact::Text(text)) => text.parse().unwrap_or_default(),
            _ => 0,
        };
        let (step, count) = (number("step"), number("count"));
        let last = unit.series.step.last().copied();
        let after = unit.series.step.iter().filter(|other| **other >= step).count() as u64;
        let to_the_end = unit.non_finite_steps.last().copied() == last && count >= after;
        let (first, end) = (unit.non_finite_steps.first().copied(), unit.non_finite_steps.last().copied());
        let between = first
            .zip(end)
            .map(|(first, end)| unit.series.step.iter().filter(|step| (first..=end).contains(*step)).count());
        let is_one_stretch =
            count > 1 && between == Some(unit.non_finite_steps.len()) && count == unit.non_finite_steps.len() as u64;
        let until = end.filter(|_| is_one_stretch);
        self.writer.phrase("headline_curve_non_finite", &context! { metric, subject, step, count, to_the_end, until })
    }

    fn spike(
        &self,
        unit: &CurveUnit,
        metric_first: &Value,
        tail: Option<f64>,
        tail_direction: &Value,
    ) -> Result<Option<String>> {
        let Some(Spike { step, difference: apart, recovery_step: recovered }) = Spike::from_curve(unit) else {
            return Ok(None);
        };
        let direction = self.word(if apart < 0.0 { "headline_curve_below" } else { "headline_curve_above" })?;
        let context = context! {
            metric_first, apart => apart.abs(), direction, step, recovered, tail, tail_direction,
        };
        self.writer.phrase("headline_curve_spike", &context).map(Some)
    }

    /// The rules that curves break, the worst first and `most` of them, each with its value and its limit.
    fn failed_rules(&self, most: usize) -> Result<Vec<EvidenceRow>> {
        let rules = outcomes::rules(self.result).into_iter();
        let mut broken: Vec<_> =
            rules.filter(|rule| rule.check == CheckId::Loss && rule.outcome.verdict >= Verdict::Warn).collect();
        let first = curve::leading_curve(self.result).and_then(curve::deciding_rule);
        if curve::leading_curve(self.result).is_some_and(|unit| unit.mode == rl::MODE) {
            broken.sort_by(|one, other| {
                let by_verdict = other.outcome.verdict.cmp(&one.outcome.verdict);
                by_verdict
                    .then(curve::excess_over_limit(&other.outcome).total_cmp(&curve::excess_over_limit(&one.outcome)))
            });
        }
        broken.sort_by_key(|rule| Some(&rule.outcome) != first);
        // The first of a name, as everywhere.
        let mut units: BTreeMap<String, &CurveUnit> = BTreeMap::new();
        for unit in curves(&self.result.checks) {
            units.entry(unit.name()).or_insert(unit);
        }
        let mut rows = Vec::new();
        // Two windows of a reward say nothing more where its end is told.
        let with_end: Vec<String> =
            broken.iter().filter(|rule| rule.outcome.rule == "reward_tail").map(|rule| rule.unit.clone()).collect();
        broken.retain(|rule| rule.outcome.rule != "reward_windows" || !with_end.contains(&rule.unit));
        let alike = |one: &RuleOutcome, other: &RuleOutcome| {
            one.rule.starts_with("reward_")
                && one.rule == other.rule
                && one.value.is_some()
                && one.value.map(|value| value.0.to_bits()) == other.value.map(|value| value.0.to_bits())
        };
        for (nth, rule) in broken.iter().enumerate() {
            if rows.len() == most {
                break;
            }
            let outcome = &rule.outcome;
            // Two metrics of one value, such as a reward and the score that it is made of, are one row.
            let is_told = broken.iter().take(nth).any(|earlier| alike(&earlier.outcome, outcome));
            let twins = broken.iter().skip(nth + 1).filter(|later| alike(&later.outcome, outcome));
            let unit = units.get(&rule.unit).copied();
            if is_told || is_shown_openly(outcome, unit) {
                continue;
            }
            let limit = if outcome.verdict == Verdict::Warn {
                outcome.warn.or(outcome.fail)
            } else {
                outcome.fail.or(outcome.warn)
            };
            let digits =
                if unit.is_some_and(|unit| unit.mode == rl::MODE) { digits_of_limit(outcome, limit) } else { 4 };
            let finding = self.finding_of_rule(&rule.unit, outcome).filter(|_| is_of_rl(unit));
            let in_own_unit = match self.limit_in_points(outcome, limit)? {
                None => self.limit_of_reward(finding, outcome, limit)?,
                points => points,
            };
            let limit_cell = match in_own_unit {
                Some(limit) => limit,
                None if is_ratio(outcome) && is_of_rl(unit) => {
                    times(outcome, limit.map_or_else(String::new, |Number(limit)| rounded(limit, 3)))
                }
                None => times(outcome, self.limit_of(outcome, limit, digits)?),
            };
            let mut name = self.rule_of(&rule.unit, unit, outcome)?;
            for twin in twins {
                let metric = safe(self.writer.name(&twin.unit));
                name = self.writer.phrase("row_twin", &context! { name => safe(name), metric })?;
            }
            let cells = vec![name, self.value_cell(&rule.unit, unit, outcome)?, limit_cell];
            rows.push(EvidenceRow::new(cells, outcome.verdict));
        }
        Ok(rows)
    }

    /// The value of a rule: the levels of both sides where the run is one of reinforcement learning, otherwise how far they are apart.
    fn value_cell(&self, place: &str, unit: Option<&CurveUnit>, outcome: &RuleOutcome) -> Result<String> {
        let said = times(outcome, told(outcome));
        let Some(unit) = unit else { return Ok(said) };
        if let Some([baseline, candidate]) = self.courses_of_rate(unit, outcome)? {
            return Ok(format!("{baseline} → {candidate}"));
        }
        if !is_of_rl(Some(unit)) {
            return self.with_first_values(unit, outcome, said);
        }
        if let Some((_, [baseline, candidate])) = self.sides_of_step(unit, outcome) {
            return Ok(format!("{baseline} → {candidate}"));
        }
        let Some(finding) = self.finding_of_rule(place, outcome) else { return Ok(said) };
        let Some(LevelCells { sides: [baseline, candidate], apart }) =
            self.levels_of(finding, outcome, &told(outcome))?
        else {
            return Ok(said);
        };
        let levels = format!("{baseline} → {candidate}");
        if apart.is_empty() {
            return Ok(levels);
        }
        self.writer.phrase("row_levels_apart", &context! { levels => safe(levels), apart => safe(apart) })
    }

    /// A rule in words, after its metric where that is not the loss.
    pub(super) fn rule_of(&self, name: &str, unit: Option<&CurveUnit>, outcome: &RuleOutcome) -> Result<String> {
        let rule = self.rule_in_words(name, unit, outcome)?;
        if name == "loss" || is_named_in(name, outcome) {
            return Ok(rule);
        }
        self.after_metric(name, unit, rule)
    }

    fn rule_in_words(&self, name: &str, unit: Option<&CurveUnit>, outcome: &RuleOutcome) -> Result<String> {
        let key = format!("rule_{}", outcome.rule);
        match phrases::find(&key, self.writer.language()) {
            Some(_) => {
                let finding = self.finding_of_rule(name, outcome).filter(|_| is_of_rl(unit));
                self.writer.phrase(&key, &self.context_of_rule(unit, finding))
            }
            None => Ok(self.writer.name(&outcome.rule)),
        }
    }

    fn after_metric(&self, name: &str, unit: Option<&CurveUnit>, rule: String) -> Result<String> {
        let metric = unit.map(|unit| self.metric(unit)).transpose()?.unwrap_or_else(|| safe(self.writer.name(name)));
        self.writer.phrase("row_of_metric", &context! { metric, rule => safe(rule) })
    }

    /// The words for a curve that is NaN or infinite on the candidate alone, or whose log hides that: how, and since which step. The
    /// keys are those of the words for what the log hides, and for what it shows.
    pub(super) fn broken_curve(
        &self,
        unit: &CurveUnit,
        [hidden_key, open_key]: [&str; 2],
    ) -> Result<Option<(String, String)>> {
        let Some(finding) = curve::broken_finding(self.result, unit) else { return Ok(None) };
        let fact = |name: &str| finding.facts.get(name).map(|fact| self.writer.fact(name, fact));
        let key = if finding.is(&curve_rules::HIDDEN_FAILURE) { hidden_key } else { open_key };
        let [count, logged, gradient] = ["count", "logged", "gradient"].map(fact);
        let said = self.writer.phrase(key, &context! { count, logged, gradient })?;
        Ok(Some((said, self.writer.phrase("row_from_step", &context! { step => fact("step") })?)))
    }

    /// The worst rule of a curve beside something else that leads: what, both sides, from which step and by how much.
    pub(super) fn wrong_curve(&self, unit: &CurveUnit) -> Result<(String, [String; 2], String)> {
        let of_candidate = |said: String| [String::new(), said];
        if let Some((said, since)) = self.broken_curve(unit, ["row_hidden", "row_non_finite"])? {
            return Ok((self.steps_of(unit)?, of_candidate(said), since));
        }
        let note = match unit.first_diverging_step {
            Some(step) => self.writer.phrase("row_from_step", &context! { step })?,
            None => String::new(),
        };
        let metric = self.metric(unit)?;
        let is_spike = |finding: &&Finding| {
            finding.is_any(&[&curve_rules::PEAK, &curve_rules::SPIKES]) && finding.place == unit.name()
        };
        let spike = Spike::from_curve(unit).filter(|_| self.result.counting().any(|finding| is_spike(&finding)));
        if let Some(Spike { step, difference, .. }) = spike {
            let tail =
                wrong(unit, "tail_signed_rel").and_then(|rule| rule.value).map(|value| safe(signed_ratio(value.0)));
            let said =
                self.writer.phrase("row_spike", &context! { apart => safe(signed_ratio(difference)), step, tail })?;
            return Ok((self.steps_of(unit)?, of_candidate(said), String::new()));
        }
        let tail = wrong(unit, "tail_signed_rel").and_then(|rule| Some((rule, rule.value?.0)));
        if let Some((rule, value)) = tail {
            let what = self.writer.phrase("row_tail", &context! { metric, steps => unit.paired })?;
            let direction = self.word(if value < 0.0 { "headline_curve_lower" } else { "headline_curve_higher" })?;
            let bound = safe(self.at_most(rule)?);
            let said = self.writer.phrase("row_tail_value", &context! { value => value.abs(), direction, bound })?;
            return Ok((what, of_candidate(said), note));
        }
        let worst = curve::deciding_rule(unit).filter(|rule| rule.verdict >= Verdict::Warn);
        let Some(rule) = worst else { return Ok((self.steps_of(unit)?, of_candidate(String::new()), note)) };
        self.wrong_rule(unit, rule, note)
    }

    /// A broken rule of a curve beside something else that leads; `since` says from which step on.
    fn wrong_rule(&self, unit: &CurveUnit, rule: &RuleOutcome, since: String) -> Result<(String, [String; 2], String)> {
        let name = unit.name();
        let finding = self.finding_of_rule(&name, rule).filter(|_| is_of_rl(Some(unit)));
        if let Some(sides) = finding.map(|finding| self.standing_sides(finding)).transpose()?.flatten() {
            return Ok((self.metric(unit)?.to_string(), sides, String::new()));
        }
        let said = self.rule_in_words(&name, Some(unit), rule)?;
        let what = if is_named_in(&name, rule) { said } else { self.after_metric(&name, Some(unit), said)? };
        let bound = safe(self.at_most(rule)?);
        let amount = |value: String| self.writer.phrase("row_value", &context! { value => safe(value), bound });
        let levels = finding.map(|finding| self.levels_of(finding, rule, &told(rule))).transpose()?.flatten();
        let (sides, apart) = match (levels, self.sides_of_step(unit, rule)) {
            (Some(levels), _) => (levels.sides, levels.apart),
            (None, Some((step, sides))) => {
                let since = self.writer.phrase("row_at_step", &context! { step })?;
                return Ok((what, sides, format!("{} · {since}", amount(times(rule, told(rule)))?)));
            }
            (None, None) => {
                let said = amount(times(rule, told(rule)))?;
                return Ok((what, [String::new(), self.with_first_values(unit, rule, said)?], since));
            }
        };
        let notes = [if apart.is_empty() { String::new() } else { amount(apart)? }, since];
        Ok((what, sides, Vec::from_iter(notes.into_iter().filter(|note| !note.is_empty())).join(" · ")))
    }

    /// A limit for a narrow column, which only marks lower bounds as such.
    fn limit_of(&self, outcome: &RuleOutcome, limit: Option<Number>, digits: usize) -> Result<String> {
        let limit_text = brief(limit, outcome.unit, LimitDirection::AtMost, digits);
        match outcome.direction {
            LimitDirection::AtLeast => self.writer.phrase("bound_at_least", &context! { limit => safe(limit_text) }),
            _ => Ok(limit_text),
        }
    }

    fn at_most(&self, rule: &RuleOutcome) -> Result<String> {
        let limit = if rule.verdict == Verdict::Warn { rule.warn } else { rule.fail.or(rule.warn) };
        let direction = match rule.direction {
            LimitDirection::Within => LimitDirection::AtMost,
            direction => direction,
        };
        outcomes::bound_text(limit, rule.unit, direction, self.writer)
    }

    /// A metric at the start of a sentence: with an article where it is a noun, as it stands where it is a name.
    fn metric_subject(&self, unit: &CurveUnit) -> Result<Value> {
        let metric = self.metric(unit)?;
        let is_noun = phrases::find(&format!("metric_{}", unit.metric), self.writer.language()).is_some();
        if is_noun { self.phrase("metric_subject", context! { metric }) } else { Ok(metric) }
    }

    /// A metric as a noun: `loss`, `gradient norm`, or its name.
    pub(super) fn metric(&self, unit: &CurveUnit) -> Result<Value> {
        let known = phrases::find(&format!("metric_{}", unit.metric), self.writer.language());
        let mut metric = known.map_or_else(|| self.writer.name(&unit.metric), str::to_owned);
        if let Some(rank) = unit.rank {
            metric = self.writer.phrase("metric_of_rank", &context! { metric => safe(metric), rank })?;
        }
        if unit.run.is_empty() {
            return Ok(safe(metric));
        }
        self.phrase("metric_of_run", context! { metric => safe(metric), run => unit.run.as_str() })
    }
}

/// The headline of a run of reinforcement learning that failed, by what is to blame; `None` for what has none of its own.
pub(super) fn headline_in_rl(unit: &CurveUnit, finding: &Finding) -> Option<&'static str> {
    const HEADLINES: [(&Rule, &str); 6] = [
        (&curve_rules::RL_CLIP, "headline_rl_clip"),
        (&curve_rules::RL_TRUNCATION, "headline_rl_truncation"),
        (&curve_rules::RL_REWARD_DEAD, "headline_rl_dead"),
        (&curve_rules::RL_REWARD_LOWER, LOWER_REWARD),
        (&curve_rules::WORSE, "headline_rl_eval"),
        (&curve_rules::RL_MISMATCH, "headline_rl_mismatch"),
    ];
    let failed = finding.severity == Severity::Fail && unit.mode == rl::MODE;
    let (_, headline) = HEADLINES.into_iter().find(|(rule, _)| failed && finding.is(rule))?;
    Some(headline)
}

/// A value in a narrow column: a percentage with its sign where the sign counts, or a plain count.
fn brief(value: Option<Number>, unit: ValueUnit, direction: LimitDirection, digits: usize) -> String {
    let Some(Number(value)) = value else { return String::new() };
    let is_ratio = matches!(unit, ValueUnit::Relative | ValueUnit::Share);
    let text = if is_ratio { ratio(value, digits) } else { short_number(value) };
    let sign = if direction == LimitDirection::Within && value > 0.0 { "+" } else { "" };
    format!("{sign}{}", with_minus_sign(&text))
}

/// The value of a rule in a narrow column, with the sign that its rule stands for.
pub(super) fn told(outcome: &RuleOutcome) -> String {
    // A ratio in the digits of headlines.
    let text = match outcome.value {
        Some(Number(value)) if outcome.rule.ends_with("_ratio") && value < 1e6 => rounded(value, 3),
        _ => brief(outcome.value, outcome.unit, outcome.direction, 2),
    };
    match outcome.rule.as_str() {
        rule if LOWER.contains(&rule) && !text.is_empty() => format!("−{text}"),
        rule if HIGHER.contains(&rule) && !text.is_empty() => format!("+{text}"),
        _ => text,
    }
}

/// Whether the words of a rule name its metric themselves.
fn is_named_in(name: &str, outcome: &RuleOutcome) -> bool {
    outcome.rule.starts_with(name)
}

/// Digits of a limit that was computed: two, unless it then reads like the value beyond it.
fn digits_of_limit(outcome: &RuleOutcome, limit: Option<Number>) -> usize {
    let [value, limit] = [outcome.value, limit].map(|one| brief(one, outcome.unit, LimitDirection::AtMost, 2));
    if value == limit { 4 } else { 2 }
}

/// Whether a rule reports NaN that the log hides at steps at which the log shows it.
fn is_shown_openly(outcome: &RuleOutcome, unit: Option<&CurveUnit>) -> bool {
    let count = |name: &str| {
        let rule = unit.and_then(|unit| unit.rules.iter().find(|rule| rule.rule == name));
        rule.and_then(|rule| rule.value).map_or(0.0, |value| value.0)
    };
    outcome.rule == "hidden_failure" && count("non_finite") >= count("hidden_failure")
}

/// Relative distance of a curve's end, or of its mean, from the baseline's, where that fails.
pub(super) fn failed_tail_difference(unit: &CurveUnit) -> Option<f64> {
    let rule = wrong(unit, "tail_signed_rel").or_else(|| wrong(unit, "mean_rel"))?;
    rule.value.map(|value| value.0)
}

/// The outcome of a rule where it counts against the candidate.
fn wrong<'a>(unit: &'a CurveUnit, name: &str) -> Option<&'a RuleOutcome> {
    let is_finite = |rule: &&RuleOutcome| matches!(rule.value, Some(Number(value)) if value.is_finite());
    unit.rules.iter().find(|rule| rule.rule == name && rule.verdict >= Verdict::Warn).filter(is_finite)
}

/// Whether a curve is a gradient norm.
pub(super) fn is_gradient_norm(unit: &CurveUnit) -> bool {
    unit.metric == "grad_norm" || unit.role == Some(Role::GradNorm)
}
