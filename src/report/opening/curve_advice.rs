//! The next step about a training curve: by its likeliest cause, by how it begins and parts, or by what else is off in its run.

use minijinja::{Value, context};

use super::builder::{Builder, MOST_REASONS, Opening};
use super::curves::{DIFFERS, LOWER_REWARD, headline_in_rl, is_gradient_norm, told};
use super::levels::times;
use super::words::uncapital;
use crate::error::Result;
use crate::judge::loss::code as curve_rules;
use crate::judge::loss::rl;
use crate::kind::Role;
use crate::report::sides::spaced_word;
use crate::report::writer::safe;
use crate::report::{causes, curve};
use crate::result::diagnosis::Sureness;
use crate::result::finding::{Fact, Finding};
use crate::result::number::Number;
use crate::result::outcome::RuleOutcome;
use crate::result::unit::{AnyUnit, CurveUnit, curves};
use crate::verdict::{Severity, Verdict};

/// Causes whose advice is a dump; the command that configures the dump replaces the advice.
pub(super) const BY_DUMP: [&str; 2] = ["gradient-only", "overflow"];

/// The cause that settings differ, which a comparison of settings shows faster than a dump.
const SETTINGS: &str = "hyperparameters-differ";

/// Metrics beside a broken one that are named as sound.
const MOST_ALIKE: usize = 2;

/// Metrics of reinforcement learning that a policy on another way moves.
const MOVED_BY_POLICY: [Role; 5] = [Role::Entropy, Role::Kl, Role::GradNorm, Role::Length, Role::Mismatch];

impl Builder<'_> {
    /// The likeliest cause beside a curve: it explains the headline, and its advice is the one that helps.
    pub(super) fn reasons_of_curve(&self, unit: &CurveUnit, finding: &Finding, opening: &mut Opening) -> Result<()> {
        let start = match finding.is_any(&DIFFERS) || finding.is(&curve_rules::ONSET) {
            true => self.advice_of_start(unit, &opening.advice)?,
            false => None,
        };
        let Some(cause) = self.result.diagnoses.first() else {
            opening.advice = start.unwrap_or_else(|| opening.advice.clone());
            return Ok(());
        };
        let text = causes::text(cause, self.writer)?;
        // The leading finding is not evidence for itself.
        let leading = Some(&Fact::Text(opening.code.clone()));
        let told =
            cause.evidence.iter().zip(&text.evidence).filter(|(said, _)| said.facts.get("finding_code") != leading);
        let reasons: Vec<&str> = told.map(|(_, text)| text.as_str()).take(MOST_REASONS).collect();
        if !reasons.is_empty() {
            let key = format!("curve_cause_{}", cause.sureness.as_str());
            opening.certainty = self.phrase(&key, context! { cause => safe(text.title) })?;
            opening.reasons = safe(reasons.join(&self.writer.word("semicolon")?));
        }
        // A whole factor of the gradients is known without another dump.
        let is_factor = cause.advice.is_any(&["norms-by-factor"]);
        let by_dump = self.result.next_dump.is_some() && BY_DUMP.contains(&cause.cause.as_str()) && !is_factor;
        if !by_dump && cause.sureness >= Sureness::Likely && !text.advice.is_empty() {
            opening.advice = safe(text.advice);
        } else if let Some(start) = start {
            opening.advice = start;
        } else if cause.cause == SETTINGS && cause.sureness < Sureness::Likely && self.result.next_dump.is_some() {
            let then = safe(uncapital(&opening.advice.to_string(), &[]));
            let mut rates = curves(&self.result.checks).filter(|other| other.role == Some(Role::LearningRate));
            let rates = rates.find(|other| other.run == unit.run && other.verdict == Verdict::Pass);
            let rate_steps = rates.map_or(0, |rates| rates.paired);
            opening.advice = self.phrase("next_settings_first", context! { then, rate_steps })?;
        }
        Ok(())
    }

    /// The next step about a curve by how it parts, and only `then` a dump: what decides a first loss that differs, before any update, or
    /// what happens at the step up to which both agree and at which they part at once.
    fn advice_of_start(&self, unit: &CurveUnit, then: &Value) -> Result<Option<Value>> {
        let place = unit.name();
        let then = safe(uncapital(&then.to_string(), &[]));
        let is_finite = unit.non_finite_steps.is_empty();
        let first = unit.series.step.first().filter(|_| is_finite && self.first_loss(&place).is_some());
        if let Some(step) = first {
            let floors = other_floors(unit).map(|floors| floors.to_vec());
            let norms = self.shifted_norms(unit).filter(|_| floors.is_none());
            return self.phrase("next_first_loss", context! { step, then, floors, norms }).map(Some);
        }
        let Some([before, step]) = self.jump_of(unit) else { return Ok(None) };
        self.phrase("next_jump", context! { step, before, then, level_step => level_step(unit, step) }).map(Some)
    }

    /// Gradient norms of the run of `unit` that lie on one side from the first step on: those of the first step, and at how many steps.
    fn shifted_norms(&self, unit: &CurveUnit) -> Option<Value> {
        /// Fewest steps, and the least share of them on one side.
        const FEWEST: usize = 10;
        const SHARE: f64 = 0.95;
        /// Least difference of the first norms: another order of sums moves them by far less.
        const APART: f64 = 0.05;
        let mut norms = curves(&self.result.checks).filter(|other| other.role == Some(Role::GradNorm));
        let norms = norms.find(|other| other.run == unit.run && other.rank == unit.rank)?;
        let pairs = norms.series.baseline.iter().zip(&norms.series.candidate);
        let pairs: Option<Vec<[f64; 2]>> =
            pairs.map(|(baseline, candidate)| Some([baseline.as_ref()?.0, candidate.as_ref()?.0])).collect();
        let pairs = pairs.filter(|pairs| pairs.len() >= FEWEST)?;
        let [baseline, candidate] = *pairs.first()?;
        let is_lower = candidate < baseline;
        let count = pairs.iter().filter(|[baseline, candidate]| (candidate < baseline) == is_lower).count();
        #[allow(clippy::cast_precision_loss, reason = "a share needs no exact count")]
        let is_shifted = count as f64 >= SHARE * pairs.len() as f64 && (candidate - baseline).abs() > APART * baseline;
        is_shifted.then(|| context! { baseline, candidate, is_lower, count, of => pairs.len() })
    }

    /// The last step up to which a curve agrees, and the one at which it parts at once.
    pub(super) fn jump_of(&self, unit: &CurveUnit) -> Option<[u64; 2]> {
        let mut jumps = self.result.counting().filter(|finding| finding.is(&curve_rules::ONSET));
        let jump = jumps.find(|finding| finding.place == unit.name())?.text("step")?.parse::<u64>().ok()?;
        let before = unit.series.step.iter().rev().find(|step| **step < jump)?;
        Some([*before, jump])
    }

    /// The next step about a metric by what the other metrics of its run show.
    pub(super) fn advice_by_other_metrics(&self, unit: &CurveUnit, finding: &Finding) -> Result<Option<String>> {
        if finding.is(&curve_rules::NON_FINITE) {
            return self.advice_of_lone_nan(unit, finding);
        }
        if finding.is(&curve_rules::PERIODIC) {
            return self.advice_of_repeats(unit);
        }
        if finding.is(&curve_rules::RL_CLIP) {
            return self.advice_of_clip(unit, finding);
        }
        self.advice_of_reward(unit, finding)
    }

    /// Metrics of the run of `unit` with one of `roles`.
    fn metrics_of_run<'a>(&'a self, unit: &'a CurveUnit, roles: &'a [Role]) -> impl Iterator<Item = &'a CurveUnit> {
        let of_run = |other: &&CurveUnit| other.run == unit.run && other.rank == unit.rank;
        curves(&self.result.checks)
            .filter(of_run)
            .filter(|other| other.role.as_ref().is_some_and(|role| roles.contains(role)))
    }

    /// The next step about a loss that repeats itself although gradients flow: what happens between them and the parameters.
    fn advice_of_repeats(&self, unit: &CurveUnit) -> Result<Option<String>> {
        let roles = [Role::GradNorm];
        let norms = self.metrics_of_run(unit, &roles).flat_map(|other| other.series.candidate.iter().flatten());
        let norms: Vec<f64> = norms.map(|norm| norm.0).collect();
        let least = norms.iter().copied().fold(f64::INFINITY, f64::min);
        let most = norms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !(least > 0.0 && most.is_finite()) {
            return Ok(None);
        }
        self.writer.phrase("next_repeats", &context! { least, most }).map(Some)
    }

    /// The next step about more clipped tokens where the learning rate agrees: the clip range.
    fn advice_of_clip(&self, unit: &CurveUnit, finding: &Finding) -> Result<Option<String>> {
        /// Metrics that tell a larger move of the policy.
        const MOVES: [Role; 2] = [Role::LearningRate, Role::Kl];
        let is_lower = match (finding.facts.get("baseline"), finding.facts.get("candidate")) {
            (Some(Fact::Number(baseline)), Some(Fact::Number(candidate))) => candidate.0 < baseline.0,
            _ => return Ok(None),
        };
        let agrees = self.metrics_of_run(unit, &MOVES).filter(|other| other.verdict == Verdict::Pass);
        let (rates, moves): (Vec<&CurveUnit>, Vec<&CurveUnit>) =
            agrees.partition(|other| other.role == Some(Role::LearningRate));
        let Some(rate) = rates.first() else { return Ok(None) };
        let size = |values: &[Option<Number>]| {
            mean(&values.iter().map(|value| value.map(|value| Number(value.0.abs()))).collect::<Vec<_>>())
        };
        let moves_on = |other: &&&CurveUnit| match (size(&other.series.baseline), size(&other.series.candidate)) {
            (Some(baseline), Some(candidate)) if is_lower => candidate >= baseline,
            (Some(baseline), Some(candidate)) => candidate <= baseline,
            _ => false,
        };
        let names = moves.iter().filter(moves_on).map(|other| self.metric(other)).collect::<Result<Vec<_>>>()?;
        let rate = self.metric(rate)?;
        self.writer.phrase("next_clip_range", &context! { names, rate, is_lower }).map(Some)
    }

    /// The next step about rollouts that disagree with training at once, where the first reward tells that they were sampled otherwise
    /// while the entropy of training agrees.
    pub(super) fn advice_of_sampling(&self, unit: &CurveUnit, finding: &Finding) -> Result<Option<String>> {
        /// Least ratio of the first rewards, and the largest relative difference of the first entropies.
        const APART: f64 = 1.25;
        const ALIKE: f64 = 0.05;
        let first = |role: Role| {
            let roles = [role];
            let mut found = self.metrics_of_run(unit, &roles).filter_map(|other| {
                let series = &other.series;
                Some((
                    *series.step.first()?,
                    series.baseline.first()?.as_ref()?.0,
                    series.candidate.first()?.as_ref()?.0,
                ))
            });
            found.next()
        };
        let (Some((step, baseline, candidate)), Some((_, entropy, other_entropy))) =
            (first(Role::Reward), first(Role::Entropy))
        else {
            return Ok(None);
        };
        let is_apart = baseline > 0.0 && candidate > 0.0 && (candidate / baseline).max(baseline / candidate) >= APART;
        if !finding.is(&curve_rules::RL_MISMATCH)
            || !is_apart
            || (other_entropy - entropy).abs() > ALIKE * entropy.abs()
        {
            return Ok(None);
        }
        let is_sharper = candidate > baseline;
        self.writer.phrase("next_sampling", &context! { step, baseline, candidate, is_sharper }).map(Some)
    }

    /// The next step about a reward that is lower: another metric that is off, furthest beyond its limit, or the reward itself
    /// where the metrics that a changed policy would move agree.
    fn advice_of_reward(&self, unit: &CurveUnit, finding: &Finding) -> Result<Option<String>> {
        if headline_in_rl(unit, finding) != Some(LOWER_REWARD) {
            return Ok(None);
        }
        let others =
            || curves(&self.result.checks).filter(|other| other.mode == rl::MODE && other.role != Some(Role::Reward));
        // A reward that drops at one step is not what a policy that drifts learns: only what fails is looked at before the reward.
        let drops = finding.facts.get("course") == Some(&Fact::Text("drops".into()));
        let least = if drops { Verdict::Fail } else { Verdict::Warn };
        let off = others().filter(|other| other.verdict >= least).filter_map(|other| {
            let rule = curve::deciding_rule(other)?;
            let mut own = self.result.counting().filter(|own| own.severity >= Severity::Warn);
            Some((other, rule, own.find(|own| own.place == other.name())?))
        });
        // A metric that parts after the reward is no reason for it.
        let onset = |finding: &Finding| match finding.facts.get("onset") {
            Some(Fact::Count(step)) => Some(*step),
            _ => None,
        };
        let latest = onset(finding).map(|step| step.saturating_add(step / 10));
        let off = off.filter(|(.., own)| onset(own).zip(latest).is_none_or(|(step, latest)| step <= latest));
        let order = |rule: &RuleOutcome| (rule.verdict, curve::excess_over_limit(rule));
        let worst = off.reduce(|one, other| if order(other.1) > order(one.1) { other } else { one });
        if let Some((other, rule, own)) = worst {
            let what = safe(self.rule_of(&other.name(), Some(other), rule)?);
            let context = context! {
                what, value => safe(times(rule, told(rule))), help => safe(self.writer.finding(own)?.help),
            };
            return self.writer.phrase("next_rl_other", &context).map(Some);
        }
        let agrees = |role: Role| others().find(|other| other.verdict == Verdict::Pass && other.role == Some(role));
        let names = MOVED_BY_POLICY.into_iter().filter_map(agrees).map(|other| self.metric(other));
        let names = names.collect::<Result<Vec<_>>>()?;
        if names.is_empty() {
            return Ok(None);
        }
        let onset = finding.facts.get("onset").map(|fact| self.writer.fact("onset", fact));
        self.writer.phrase("next_rl_reward", &context! { names, onset, drops }).map(Some)
    }

    /// The next step about a metric that is NaN or infinite while the gradient norm of its run is not: how the metric itself is computed.
    fn advice_of_lone_nan(&self, unit: &CurveUnit, finding: &Finding) -> Result<Option<String>> {
        if unit.metric == "grad_norm" {
            return Ok(None);
        }
        let of_run = curves(&self.result.checks).filter(|other| other.run == unit.run && other.rank == unit.rank);
        let mut finite = of_run.filter(|other| other.non_finite_steps.is_empty() && other.metric != unit.metric);
        let Some(norm) = finite.find(|other| is_gradient_norm(other)) else { return Ok(None) };
        let [metric, norm] = [self.metric(unit)?, self.metric(norm)?]
            .map(|metric| spaced_word(&metric.to_string(), self.writer.language()));
        let step = finding.facts.get("step").map(|step| self.writer.fact("step", step));
        let mismatch = [Role::Mismatch];
        let alike =
            self.metrics_of_run(unit, &mismatch).filter(|other| other.metric != unit.metric && other.role == unit.role);
        let alike = alike.filter(|other| other.non_finite_steps.is_empty()).take(MOST_ALIKE);
        let siblings = alike.map(|other| self.metric(other)).collect::<Result<Vec<_>>>()?;
        let context = context! { metric, norm, step, siblings };
        self.writer.phrase("next_lone_nan", &context).map(Some)
    }
}

/// The levels at which both curves end, where one is at least twice the other: no other batch or seed moves the floor of a loss so far.
fn other_floors(unit: &CurveUnit) -> Option<[f64; 2]> {
    /// Part of the steps that a level is the mean of, a tenth, and the fewest steps.
    const PART: usize = 10;
    const FEWEST: usize = 5;
    const RATIO: f64 = 2.0;
    let level =
        |values: &[Option<Number>]| mean(values.get(values.len().checked_sub((values.len() / PART).max(FEWEST))?..)?);
    let floors = [level(&unit.series.baseline)?, level(&unit.series.candidate)?];
    let (low, high) = (floors[0].min(floors[1]), floors[0].max(floors[1]));
    (low > 0.0 && high >= RATIO * low).then_some(floors)
}

/// The step at which the baseline was last as high as the candidate is from the step `jump` on, where that is clearly higher than just before:
/// the level of older weights.
pub(super) fn level_step(unit: &CurveUnit, jump: u64) -> Option<u64> {
    /// Points that a level is the mean of.
    const POINTS: usize = 5;
    /// Least ratio of the level after the jump to that before it.
    const HIGHER: f64 = 1.02;
    let series = &unit.series;
    let at = series.step.iter().position(|step| *step == jump)?;
    let after = mean(series.candidate.get(at..at + POINTS)?)?;
    let levels = series.baseline.get(..at)?.windows(POINTS);
    let levels: Vec<(usize, f64)> =
        levels.enumerate().filter_map(|(place, window)| Some((place + POINTS / 2, mean(window)?))).collect();
    let (_, last) = levels.last()?;
    let (place, _) = levels.iter().rfind(|(_, level)| *level >= after).filter(|_| after > HIGHER * last)?;
    series.step.get(*place).copied()
}

/// Mean of values; `None` where one is missing or not finite.
fn mean(values: &[Option<Number>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().flatten().map(|value| value.0).filter(|value| value.is_finite()).collect();
    #[allow(clippy::cast_precision_loss, reason = "a few points")]
    (known.len() == values.len()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}
