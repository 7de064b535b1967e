//! The verdict of a rule over several runs per side: the size of the shift, its p-value, and the shift that could have been detected.
//!
//! Numbers above zero are compared by their logarithms, so that a shift is relative to the baseline's value. Other numbers are compared by
//! their difference over the baseline's median magnitude.

use super::rules;
use super::runs::SampleRuns;
use crate::compare::significance::correction::holm;
use crate::compare::significance::rank_sum;
use crate::compare::significance::shift::{self, Levels, Shift, mean};
use crate::judge::rule::Rule;
use crate::kind::Better;
use crate::median::midpoint_median;
use crate::policy::samples::{Pair, SamplesPolicy};
use crate::result::finding::{Finding, verdict_of};
use crate::result::number::Number;
use crate::result::unit::SampleRule;
use crate::verdict::{PerSide, Profile, Severity, Side, Verdict};

/// Largest corrected p-value of a possible shift.
const PERHAPS: f64 = 0.05;
/// Largest detectable shift, in units of the shift that matters, at which a test without a finding passes.
const SEEN: f64 = 2.0;
/// Shift, in units of the shift that matters, from which on more runs are demanded whatever the p-value.
const LARGE: f64 = 4.0;
/// Factor over the baseline's number of spikes that matters.
const SPIKES: f64 = 2.0;

/// Scale on which numbers of two runs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberScale {
    /// Relative to the baseline's value.
    Relative,
    /// As counts, whose difference of means is reported.
    Count,
    /// As scores in the unit of their margin, whose drop is reported.
    Score,
}

/// One number per run of both sides, in the order of the runs; `None` for runs without one.
pub(crate) type RunNumbers = PerSide<Vec<Option<f64>>>;

/// A rule with one number per run.
#[derive(Clone, Debug)]
pub struct RuleNumbers {
    /// Name of the rule.
    pub rule: &'static str,
    /// Its numbers.
    pub of_runs: RunNumbers,
    /// Scale on which they are compared.
    pub scale: NumberScale,
    /// Smallest shift that matters.
    pub matters: f64,
    /// Direction that is better; `None` where both directions are a defect.
    pub better: Option<Better>,
    /// Whether the rule reports that a shift could not have been detected.
    pub is_main: bool,
    /// Target value whose first step is compared, and whether the policy declares it; `None` for other rules.
    pub target: Option<(f64, bool)>,
}

/// Settings of the tests.
#[derive(Clone, Copy, Debug)]
pub struct SampleSetting<'a> {
    /// The policy's section.
    pub policy: &'a SamplesPolicy,
    /// Profile of the gate.
    pub profile: Profile,
}

/// A tested rule.
#[derive(Debug)]
pub struct DecidedRule {
    /// The rule, for the result.
    pub rule: SampleRule,
    /// The finding about it, if any.
    pub finding: Option<Finding>,
}

/// A rule between its test and its verdict.
struct Tested<'a> {
    numbers: &'a RuleNumbers,
    sides: PerSide<Vec<f64>>,
    shift: Option<Shift>,
    is_relative: bool,
    is_paired: bool,
}

/// Tests all rules together, corrects the p-values for their number, and decides each rule. `rules` are pairs of the metric's name in findings
/// and the rule.
pub fn decide_all(rules: &[(&str, &RuleNumbers)], runs: &SampleRuns, setting: SampleSetting<'_>) -> Vec<DecidedRule> {
    let levels = levels(rules.len(), setting.policy);
    let tested: Vec<Tested<'_>> =
        rules.iter().map(|(_, numbers)| test(numbers, runs, levels, setting.policy)).collect();
    let p_values: Vec<f64> = tested.iter().map(|one| one.shift.map_or(1.0, |shift| shift.p_value)).collect();
    let adjusted = holm(&p_values);
    let pairs = tested.iter().zip(rules).zip(adjusted);
    pairs.map(|((one, (place, _)), adjusted)| decide(one, place, adjusted, levels, setting.profile)).collect()
}

#[allow(clippy::cast_precision_loss, reason = "a count of rules")]
fn levels(tests: usize, policy: &SamplesPolicy) -> Levels {
    let alpha = policy.alpha.get();
    Levels { alpha, corrected: alpha / tests.max(1) as f64, power: policy.power.get() }
}

fn test<'a>(numbers: &'a RuleNumbers, runs: &SampleRuns, levels: Levels, policy: &SamplesPolicy) -> Tested<'a> {
    let there = |side: &Vec<Option<f64>>| side.iter().copied().flatten().collect::<Vec<f64>>();
    let sides = PerSide::of(|side| there(&numbers.of_runs[side]));
    let is_positive = sides.each().flatten().all(|value| *value > 0.0);
    let is_relative = numbers.scale == NumberScale::Relative && is_positive;
    let magnitudes = || sides.baseline.iter().map(|value| value.abs()).collect();
    let unit = match numbers.scale {
        NumberScale::Relative if !is_positive => {
            midpoint_median(magnitudes()).filter(|unit| *unit > 0.0).unwrap_or(1.0)
        }
        _ => 1.0,
    };
    let seen = |value: f64| if is_relative { value.ln() } else { value / unit };
    let [baseline, candidate] =
        PerSide::of(|side| sides[side].iter().copied().map(seen).collect::<Vec<f64>>()).into_array();
    let is_enough = sides.each().map(Vec::len).sum::<usize>() >= policy.minimum.get() as usize
        && (policy.pair != Pair::Seed || !runs.pairs.is_empty());
    let value = |side: Side, place: usize| numbers.of_runs[side].get(place).copied().flatten().map(seen);
    let differences: Option<Vec<f64>> = runs
        .pairs
        .iter()
        .map(|[baseline_place, candidate_place]| {
            Some(value(Side::Candidate, *candidate_place)? - value(Side::Baseline, *baseline_place)?)
        })
        .collect();
    let differences = differences.filter(|differences| !differences.is_empty());
    let is_paired = differences.is_some();
    let is_count = numbers.scale == NumberScale::Count;
    let shift = match differences {
        _ if !is_enough => None,
        _ if is_count && 2.0 / rank_sum::choice_count(baseline.len(), candidate.len()) > levels.corrected => None,
        Some(differences) if !is_count => shift::shift_of_pairs(&differences, levels),
        _ => shift::shift_of_sides(&baseline, &candidate, levels),
    };
    // Spikes are reported by their mean number, since most runs have none.
    let shift = shift.map(|shift| if is_count { of_means(shift, &baseline, &candidate) } else { shift });
    Tested { numbers, sides, shift, is_relative, is_paired: is_paired && !is_count }
}

fn of_means(shift: Shift, baseline: &[f64], candidate: &[f64]) -> Shift {
    let estimate = mean(candidate) - mean(baseline);
    let [low, high] = shift.interval;
    Shift { estimate, interval: [low.min(estimate), high.max(estimate)], ..shift }
}

impl Tested<'_> {
    /// Converts a shift of the compared numbers to one relative to the baseline's value, or in units.
    fn effect(&self, shift: f64) -> f64 {
        if self.is_relative { shift.exp_m1() } else { shift }
    }

    /// Whether a shift in this direction is worse.
    fn is_worse(&self, effect: f64) -> bool {
        match self.numbers.better {
            None => true,
            Some(Better::Lower) => effect > 0.0,
            Some(Better::Higher) => effect < 0.0,
        }
    }

    /// Whether a shift of this size matters.
    fn matters(&self, effect: f64) -> bool {
        let is_count = self.numbers.scale == NumberScale::Count;
        let twice = || mean(&self.sides.candidate) >= SPIKES * mean(&self.sides.baseline);
        effect.abs() >= self.numbers.matters && (!is_count || effect <= 0.0 || twice())
    }
}

fn decide(tested: &Tested<'_>, place: &str, adjusted: f64, levels: Levels, profile: Profile) -> DecidedRule {
    let numbers = tested.numbers;
    let [n, m] = PerSide::of(|side| tested.sides[side].len() as u64).into_array();
    let all = |side: &[f64]| side.iter().copied().map(Number).collect::<Vec<_>>();
    let mut rule = SampleRule {
        rule: numbers.rule.to_owned(),
        n,
        m,
        test: None,
        effect: None,
        drop: None,
        interval: None,
        p_value: None,
        p_adjusted: None,
        limit: Number(numbers.matters),
        false_alarms: Number(levels.alpha),
        detectable: None,
        power: Number(levels.power),
        needed: None,
        target: numbers.target.map(|(target, _)| Number(target)),
        numbers: PerSide::of(|side| all(&tested.sides[side])).into_array(),
        verdict: Verdict::Skipped,
    };
    let Some(shift) = tested.shift else { return DecidedRule { rule, finding: None } };
    let effect = tested.effect(shift.estimate);
    let mut interval = shift.interval.map(|end| Number(tested.effect(end)));
    let is_score = numbers.scale == NumberScale::Score;
    // The reported drop of a score is positive where the candidate is worse.
    let is_turned = is_score && numbers.better != Some(Better::Lower);
    if is_turned {
        interval.reverse();
        interval = interval.map(|end| Number(-end.0));
    }
    let shown = if is_turned { -effect } else { effect };
    (rule.effect, rule.drop) = if is_score { (None, Some(Number(shown))) } else { (Some(Number(shown)), None) };
    rule.test = Some(shift.test.as_str().to_owned());
    rule.interval = Some(interval);
    (rule.p_value, rule.p_adjusted) = (Some(Number(shift.p_value)), Some(Number(adjusted)));
    let detectable = tested.effect(shift.detectable);
    rule.detectable = Some(Number(detectable));
    let told = told(tested, shift, (effect, detectable, adjusted), levels, profile);
    if let Some(Told { needed: Some(needed), .. }) = told {
        rule.needed = Some(needed as u64);
    }
    // The text says higher or lower, so the ends have the sign of the effect removed.
    let [low, high] = if effect > 0.0 { interval.map(|end| end.0) } else { [-interval[1].0, -interval[0].0] };
    let finding = told.map(|told| {
        let finding = Finding::new(told.rule, format!("{place} {}", numbers.rule)).with_severity(told.severity);
        let finding = finding.with("metric", place).with("rule", numbers.rule);
        let finding = finding.with("effect", shown).with("size", effect.abs()).with("higher", u64::from(effect > 0.0));
        let finding = finding.with("low", low).with("high", high).with("n", n);
        let finding = finding.with("m", m).with("p", adjusted).with("alpha", levels.alpha);
        let finding = finding.with("detectable", detectable).with("limit", numbers.matters);
        let finding = finding.with("plain", u64::from(numbers.scale != NumberScale::Relative));
        match told.needed {
            Some(needed) => finding.with("needed", needed),
            None => finding,
        }
    });
    rule.verdict = finding.as_ref().map_or(Verdict::Pass, |finding| verdict_of([finding]));
    DecidedRule { rule, finding }
}

/// The finding that a rule leads to: its code, severity, and number of runs needed.
struct Told {
    rule: &'static Rule,
    severity: Severity,
    needed: Option<usize>,
}

impl Told {
    fn of(rule: &'static Rule) -> Self {
        Self { rule, severity: rule.severity, needed: None }
    }

    fn weighing(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }
}

/// The finding for a shift; `None` where the sides agree and a shift would have been detected.
fn told(
    tested: &Tested<'_>,
    shift: Shift,
    (effect, detectable, adjusted): (f64, f64, f64),
    levels: Levels,
    profile: Profile,
) -> Option<Told> {
    let (numbers, limit) = (tested.numbers, tested.numbers.matters);
    let (is_worse, matters) = (tested.is_worse(effect), tested.matters(effect));
    if adjusted <= levels.alpha {
        return match (matters, is_worse, numbers.target) {
            (true, true, Some((_, false))) => Some(Told::of(&rules::CONVERGENCE)),
            (true, true, _) => Some(Told::of(&rules::SHIFT)),
            (true, false, _) => Some(Told::of(&rules::BETTER)),
            (false, ..) if profile == Profile::Strict && is_worse => {
                Some(Told::of(&rules::SMALL_SHIFT).weighing(Severity::Warn))
            }
            (false, ..) => Some(Told::of(&rules::SMALL_SHIFT)),
        };
    }
    let is_perhaps = adjusted <= PERHAPS && matters && is_worse;
    if detectable <= SEEN * limit {
        return is_perhaps.then(|| Told::of(&rules::POSSIBLE_SHIFT));
    }
    if !numbers.is_main {
        return None;
    }
    if is_perhaps || is_worse && effect.abs() >= LARGE * limit {
        let needed = shift::needed_runs(shift.estimate, shift.spread, tested.is_paired, levels);
        return Some(Told { needed, ..Told::of(&rules::TOO_FEW) });
    }
    let told = Told::of(&rules::NOT_DETECTABLE);
    Some(match profile {
        Profile::Strict => told.weighing(Severity::Warn),
        Profile::Release => told.weighing(Severity::Incomplete),
        _ => told,
    })
}

/// Indexes of runs outside of the prediction interval of all other runs of their side.
#[allow(clippy::cast_precision_loss, reason = "a count of runs")]
pub fn outliers(numbers: &[Option<f64>], alpha: f64, runs: usize) -> Vec<usize> {
    let is_positive = numbers.iter().flatten().all(|value| *value > 0.0);
    let seen = |value: f64| if is_positive { value.ln() } else { value };
    let there: Vec<(usize, f64)> =
        numbers.iter().enumerate().filter_map(|(place, value)| Some((place, seen((*value)?)))).collect();
    let is_outside = |(place, value): &(usize, f64)| {
        let others: Vec<f64> = there.iter().filter(|(other, _)| other != place).map(|(_, value)| *value).collect();
        shift::prediction_interval(&others, alpha / runs.max(1) as f64)
            .is_some_and(|[low, high]| *value < low || *value > high)
    };
    there.iter().filter(|one| is_outside(one)).map(|(place, _)| *place).collect()
}
