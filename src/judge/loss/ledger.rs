//! The ledger of one curve: rules as applied, and what is said.

use super::code;
use super::limits::Limits;
use super::preset::PresetOutcome;
use crate::judge::finding::{Finding, RuleOutcome};
use crate::judge::number::Number;
use crate::judge::rule::Rule;
use crate::policy::loss::preset::Preset;
use crate::verdict::{Profile, Severity, Verdict};

/// What becomes of a rule that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// It is a finding.
    Counts,
    /// It is shown with its verdict; a published rule decides.
    Beside,
    /// It is shown without a verdict.
    ShownOnly,
}

/// A rule with a measured value and limits.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Stable name of the rule.
    pub rule: &'static str,
    /// The code of its finding.
    pub code: &'static Rule,
    /// The formula.
    pub formula: &'static str,
    /// What was measured; its magnitude is held against the limits.
    pub value: f64,
    /// The limits.
    pub limits: Limits,
    /// Where the value was taken.
    pub step: Option<u64>,
    /// Not worse than this, where a reason was found.
    pub at_worst: Verdict,
}

/// Collects rules and findings.
#[derive(Debug)]
pub struct Ledger {
    place: String,
    strict: bool,
    weight: Weight,
    /// Rules, in the order in which they were applied.
    pub rules: Vec<RuleOutcome>,
    /// Findings, in the same order.
    pub findings: Vec<Finding>,
}

impl Ledger {
    /// An empty ledger of the curve that findings call `place`.
    pub fn new(place: String, profile: Profile) -> Self {
        let strict = matches!(profile, Profile::Strict | Profile::BitExact);
        Self { place, strict, weight: Weight::Counts, rules: Vec::new(), findings: Vec::new() }
    }

    /// Adds a finding of `rule`, completed by `facts`.
    pub fn say(&mut self, rule: &Rule, facts: impl FnOnce(Finding) -> Finding) {
        self.findings.push(facts(Finding::new(rule, self.place.clone())));
    }

    /// Adds a rule that was applied by other means than limits on a magnitude.
    pub fn note(&mut self, outcome: RuleOutcome) {
        self.rules.push(outcome);
    }

    /// Applies what `rules` adds without letting it count: a published rule decides.
    pub fn beside(&mut self, rules: impl FnOnce(&mut Self)) {
        self.weighing(Weight::Beside, rules);
    }

    /// Applies what `rules` adds without any verdict.
    pub fn show_only(&mut self, rules: impl FnOnce(&mut Self)) {
        self.weighing(Weight::ShownOnly, rules);
    }

    fn weighing(&mut self, weight: Weight, rules: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.weight, weight);
        let findings = self.findings.len();
        rules(self);
        self.findings.truncate(findings);
        self.weight = before;
    }

    /// Holds a value against its limits.
    pub fn measure(&mut self, measured: Measured) {
        let magnitude = measured.value.abs();
        let mut verdict = verdict_of(magnitude, measured.limits).min(measured.at_worst);
        if self.strict && verdict == Verdict::Warn {
            verdict = Verdict::Fail;
        }
        let shown = if self.weight == Weight::ShownOnly { Verdict::Skipped } else { verdict };
        let step = measured.step.map(|step| step.to_string()).unwrap_or_default();
        let mut note = if step.is_empty() { String::new() } else { format!("step {step}") };
        if self.weight == Weight::Beside {
            note = if note.is_empty() { "beside the preset".into() } else { format!("{note}, beside the preset") };
        }
        self.rules.push(RuleOutcome {
            rule: measured.rule.to_owned(),
            formula: measured.formula.to_owned(),
            value: Some(Number(measured.value)),
            warn: measured.limits.warn.map(Number),
            fail: measured.limits.fail.map(Number),
            margin: margin(magnitude, measured.limits).map(Number),
            verdict: shown,
            note,
        });
        let (severity, limit) = match verdict {
            Verdict::Fail => (Severity::Fail, measured.limits.fail.or(measured.limits.warn)),
            Verdict::Warn => (Severity::Warn, measured.limits.warn.or(measured.limits.fail)),
            _ => return,
        };
        self.say(measured.code, |finding| {
            finding
                .weighing(severity)
                .with("value", measured.value)
                .with("limit", limit.unwrap_or_default())
                .with("step", step)
        });
    }

    /// Notes what a published rule says, and fails by it.
    pub fn preset(&mut self, preset: Preset, outcome: PresetOutcome) {
        let verdict = match outcome.pass {
            Some(true) => Verdict::Pass,
            Some(false) => Verdict::Fail,
            None => Verdict::Incomplete,
        };
        let step = outcome.step.map(|step| step.to_string()).unwrap_or_default();
        self.rules.push(RuleOutcome {
            rule: format!("preset:{}", preset.as_str()),
            formula: outcome.formula.to_owned(),
            value: Some(Number(outcome.value)),
            warn: None,
            fail: Some(Number(outcome.limit)),
            margin: margin(outcome.value, Limits { warn: None, fail: Some(outcome.limit) }).map(Number),
            verdict,
            note: if step.is_empty() { String::new() } else { format!("first at step {step}") },
        });
        let rule = match outcome.pass {
            Some(true) => return,
            Some(false) => &code::PRESET,
            None => &code::PRESET_EMPTY,
        };
        self.say(rule, |finding| {
            finding
                .with("preset", preset.as_str())
                .with("formula", outcome.formula)
                .with("value", outcome.value)
                .with("limit", outcome.limit)
                .with("step", step)
        });
    }
}

/// What a magnitude leads to under its limits.
pub fn verdict_of(magnitude: f64, limits: Limits) -> Verdict {
    // Written so that a value which is not a number fails instead of slipping through a comparison.
    let within = |limit: Option<f64>| limit.is_none_or(|limit| magnitude <= limit);
    match (within(limits.fail), within(limits.warn)) {
        (false, _) => Verdict::Fail,
        (true, false) => Verdict::Warn,
        (true, true) => Verdict::Pass,
    }
}

/// `1 - value/limit` of the nearest limit that was not crossed, or of the last one where all were; 0 at a limit of
/// 0 that holds, and nothing without limits.
pub fn margin(magnitude: f64, limits: Limits) -> Option<f64> {
    let limit = limits.warn.filter(|warn| magnitude <= *warn).or(limits.fail).or(limits.warn)?;
    if limit > 0.0 {
        return Some(1.0 - magnitude / limit);
    }
    Some(if magnitude <= limit { 0.0 } else { f64::NEG_INFINITY })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_no_number_never_passes() {
        assert_eq!(verdict_of(f64::NAN, Limits::new(0.1, 0.2)), Verdict::Fail);
        assert_eq!(verdict_of(f64::INFINITY, Limits::new(0.1, 0.2)), Verdict::Fail);
        assert_eq!(verdict_of(0.15, Limits::new(0.1, 0.2)), Verdict::Warn);
        assert_eq!(verdict_of(0.1, Limits::new(0.1, 0.2)), Verdict::Pass);
        assert_eq!(verdict_of(9.0, Limits::NONE), Verdict::Pass);
    }

    #[test]
    fn margins_are_to_the_nearest_limit_not_crossed() {
        let limits = Limits::new(0.1, 0.2);
        for (value, expected) in [(0.05, 0.5), (0.15, 0.25), (0.4, -1.0)] {
            assert!((margin(value, limits).expect("limits") - expected).abs() < 1e-12);
        }
        assert_eq!(margin(1.0, Limits::NONE), None);
    }
}
