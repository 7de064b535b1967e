//! Rules about curves with the values of both sides: levels that a finding tells, a side that stands still, and the values of a step.

use minijinja::{Value, context};

use super::builder::Builder;
use crate::error::Result;
use crate::judge::loss::{code as curve_rules, rl};
use crate::report::messages::{ratio, rounded};
use crate::report::writer::safe;
use crate::result::finding::{Fact, Finding};
use crate::result::number::Number;
use crate::result::outcome::RuleOutcome;
use crate::result::unit::CurveUnit;
use crate::verdict::Severity;

/// Rules whose values are shares, so that a difference counts in percentage points.
const SHARES: [&str; 2] = ["truncation_rise", "clip_change"];
/// Rules about the first steps, whose values of both sides are told.
const OF_FIRST_STEPS: [&str; 2] = ["head_max_rel", "step_1_rel"];
/// Rules about a setting that is logged at every step.
const OF_SETTINGS: [&str; 2] = ["constant", "learning_rate"];
/// Steps that a rule about the first ones looks at.
const FIRST_STEPS: usize = 5;
/// Relative difference of the first norms from which they tell a direction.
const LEAST_APART: f64 = 0.01;
/// Digits of a level.
const DIGITS: usize = 3;

/// Cells of a rule with the levels of both sides.
pub(super) struct LevelCells {
    /// Levels of baseline and candidate.
    pub(super) sides: [String; 2],
    /// Amount by which they differ, where the levels do not say so themselves; may be empty.
    pub(super) apart: String,
}

impl Builder<'_> {
    /// The finding that says that a rule of a curve is broken.
    pub(super) fn finding_of_rule(&self, place: &str, outcome: &RuleOutcome) -> Option<&Finding> {
        let value = outcome.value?;
        let mut own = self.result.counting().filter(|finding| finding.place == place);
        own.find(|finding| matches!(finding.facts.get("value"), Some(Fact::Number(Number(told))) if told.to_bits() == value.0.to_bits()))
    }

    /// The levels of both sides that a broken rule compares; `None` where its finding tells none. `told` is the rule's value in words.
    pub(super) fn levels_of(&self, finding: &Finding, outcome: &RuleOutcome, told: &str) -> Result<Option<LevelCells>> {
        let Some([baseline, candidate]) = numbers(finding, ["baseline", "candidate"]) else { return Ok(None) };
        let is_share = SHARES.contains(&outcome.rule.as_str());
        let level = |value: f64| if is_share { ratio(value, 2) } else { rounded(value, DIGITS) };
        let apart = match outcome.rule.as_str() {
            "length_ratio" | "kl_tail_ratio" | "loss_tail_ratio" | "grad_norm_ratio" => times(outcome, told.to_owned()),
            _ => String::new(),
        };
        Ok(Some(LevelCells { sides: [baseline, candidate].map(level), apart }))
    }

    /// The cell of a limit on a difference of shares, in percentage points; `None` for other rules.
    pub(super) fn limit_in_points(&self, outcome: &RuleOutcome, limit: Option<Number>) -> Result<Option<String>> {
        let Some(Number(limit)) = limit.filter(|_| SHARES.contains(&outcome.rule.as_str())) else { return Ok(None) };
        self.writer.phrase("row_points", &context! { points => limit * 100.0 }).map(Some)
    }

    /// The cell of a limit on a reward as the level that it allows, where the finding tells both levels; `None` for other rules. The
    /// rule's own value is relative to the size of the reward, which is not its distance from the baseline in percent.
    pub(super) fn limit_of_reward(
        &self,
        finding: Option<&Finding>,
        outcome: &RuleOutcome,
        limit: Option<Number>,
    ) -> Result<Option<String>> {
        let is_of_reward = outcome.rule.starts_with("reward_");
        let levels = finding.filter(|_| is_of_reward).and_then(|finding| numbers(finding, ["baseline", "candidate"]));
        let (Some([baseline, candidate]), Some(Number(value)), Some(Number(limit))) = (levels, outcome.value, limit)
        else {
            return Ok(None);
        };
        let level = baseline + (candidate - baseline) / value * limit;
        let told = rounded(level, DIGITS);
        Ok(match level {
            _ if !level.is_finite() => None,
            _ if level > baseline => Some(told),
            _ => Some(self.writer.phrase("bound_at_least", &context! { limit => safe(told) })?),
        })
    }

    /// A metric that has one value at all steps of the candidate and not of the baseline: both sides in words.
    pub(super) fn standing_sides(&self, finding: &Finding) -> Result<Option<[String; 2]>> {
        let Some([value, least, most]) = numbers(finding, ["stands", "least", "most"]) else { return Ok(None) };
        let Some(Fact::Count(steps)) = finding.facts.get("steps") else { return Ok(None) };
        let ends = self.writer.phrase("row_ends", &context! { least, most })?;
        Ok(Some([ends, self.writer.phrase("row_stands", &context! { value, steps })?]))
    }

    /// Step and values of both sides of a broken rule about the first steps or a setting, where the drawn points show them.
    pub(super) fn sides_of_step(&self, unit: &CurveUnit, outcome: &RuleOutcome) -> Option<(u64, [String; 2])> {
        let rule = outcome.rule.as_str();
        let most = if OF_FIRST_STEPS.contains(&rule) { FIRST_STEPS } else { usize::MAX };
        let is_of_step = OF_FIRST_STEPS.contains(&rule) || OF_SETTINGS.contains(&rule);
        let Number(worst) = outcome.value.filter(|_| is_of_step)?;
        let series = &unit.series;
        let points = series.step.iter().zip(series.baseline.iter().zip(&series.candidate)).take(most);
        let told = points.filter_map(|(step, (baseline, candidate))| Some((*step, (*baseline)?.0, (*candidate)?.0)));
        let apart = |(_, b, c): &(u64, f64, f64)| (c - b).abs() / b.abs();
        let (step, b, c) = told.max_by(|one, other| apart(one).total_cmp(&apart(other)))?;
        // Where a floor changed the measure, the drawn values would contradict it.
        let is_same = (apart(&(step, b, c)) - worst.abs()).abs() <= 0.05 * worst.abs();
        is_same.then(|| (step, [b, c].map(|value| rounded(value, 4))))
    }

    /// The courses of both learning rates that differ: one value throughout, or the first and the last one; `None` for other rules.
    pub(super) fn courses_of_rate(&self, unit: &CurveUnit, outcome: &RuleOutcome) -> Result<Option<[String; 2]>> {
        let course = |values: &[Option<Number>]| {
            let known: Vec<f64> = values.iter().flatten().map(|number| number.0).collect();
            let (Some(first), Some(last)) = (known.first(), known.last()) else { return Ok(None) };
            let most = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let is_constant = known.iter().all(|value| (value - first).abs() <= 1e-9 * most.abs());
            let context = context! { value => *first, steps => unit.paired, first => *first, last => *last, most };
            self.writer.phrase(if is_constant { "row_stands" } else { "row_course" }, &context).map(Some)
        };
        if outcome.rule != "learning_rate" {
            return Ok(None);
        }
        let sides = [course(&unit.series.baseline)?, course(&unit.series.candidate)?];
        Ok(match sides {
            [Some(baseline), Some(candidate)] => Some([baseline, candidate]),
            _ => None,
        })
    }

    /// The value of a rule about the gradient norm over all steps, with the first norms of both sides, which say in which
    /// direction they differ; `told` as it is for other rules.
    pub(super) fn with_first_values(&self, unit: &CurveUnit, outcome: &RuleOutcome, told: String) -> Result<String> {
        let series = &unit.series;
        let first = (series.step.first(), series.baseline.first(), series.candidate.first());
        let (Some(step), Some(Some(baseline)), Some(Some(candidate))) = first else { return Ok(told) };
        let is_apart = (candidate.0 - baseline.0).abs() > LEAST_APART * baseline.0.abs();
        if outcome.rule != "grad_norm_mean_rel" || !is_apart {
            return Ok(told);
        }
        let [baseline, candidate] = [baseline, candidate].map(|value| safe(rounded(value.0, DIGITS)));
        self.writer.phrase("row_first_values", &context! { value => safe(told), step, baseline, candidate })
    }

    /// Steps and levels that the words of a rule name.
    pub(super) fn context_of_rule(&self, unit: Option<&CurveUnit>, finding: Option<&Finding>) -> Value {
        let of = |name: &str| match finding.and_then(|finding| finding.facts.get(name)) {
            Some(Fact::Count(step)) => Value::from(*step),
            _ => Value::from(()),
        };
        let has_levels = finding.is_some_and(|finding| numbers(finding, ["baseline", "candidate"]).is_some());
        context! {
            steps => unit.map_or(0, |unit| unit.paired), from_step => of("from_step"), to_step => of("to_step"), has_levels,
        }
    }

    /// Words about the length of answers that parted before they were cut; empty where it did not.
    pub(super) fn longer_before(&self, finding: &Finding) -> Result<String> {
        let onset = |finding: &Finding| match finding.facts.get("onset") {
            Some(Fact::Count(step)) => Some(*step),
            _ => None,
        };
        let Some(cut) = onset(finding).filter(|_| finding.is(&curve_rules::RL_TRUNCATION)) else {
            return Ok(String::new());
        };
        let is_before = |other: &&Finding| {
            other.is(&curve_rules::RL_LENGTH)
                && other.severity >= Severity::Warn
                && onset(other).is_some_and(|step| step < cut)
                && numbers(other, ["baseline", "candidate"]).is_some_and(|[baseline, candidate]| candidate > baseline)
        };
        let Some(longer) = self.result.counting().find(is_before) else { return Ok(String::new()) };
        let context = context! {
            metric => safe(self.writer.name(&longer.place)), onset => onset(longer), course => longer.text("course"),
        };
        self.writer.phrase("place_longer_before", &context)
    }
}

/// Whether a curve is of a run of reinforcement learning.
pub(super) fn is_of_rl(unit: Option<&CurveUnit>) -> bool {
    unit.is_some_and(|unit| unit.mode == rl::MODE)
}

/// Numbers of a finding by their names; `None` where it lacks one.
fn numbers<const N: usize>(finding: &Finding, names: [&str; N]) -> Option<[f64; N]> {
    let mut all = [f64::NAN; N];
    for (place, name) in all.iter_mut().zip(names) {
        *place = match finding.facts.get(name)? {
            Fact::Number(number) => number.0,
            _ => return None,
        };
    }
    Some(all)
}

/// A value of a rule that is a ratio as a multiple, so that it is not taken for a value of the metric.
pub(super) fn times(outcome: &RuleOutcome, text: String) -> String {
    /// Largest multiple that is written out; a larger one means that the baseline is nearly 0.
    const MOST: f64 = 1e6;
    let is_ratio = is_ratio(outcome);
    match text.parse::<f64>() {
        Ok(ratio) if is_ratio && ratio > MOST => "> 1e6×".to_owned(),
        _ if is_ratio && text.ends_with(|last: char| last.is_ascii_digit()) => format!("{text}×"),
        _ => text,
    }
}

/// Whether the value of a rule is a multiple.
pub(super) fn is_ratio(outcome: &RuleOutcome) -> bool {
    outcome.rule.ends_with("_ratio") || outcome.rule.starts_with("entropy_")
}
