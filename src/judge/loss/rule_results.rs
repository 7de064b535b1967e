//! Results of one curve: outcomes of rules, and findings.

use super::code;
use super::limits::LimitPair;
use super::preset::PresetOutcome;
use crate::judge::rule::Rule;
use crate::policy::loss::preset::Preset;
use crate::result::finding::Finding;
use crate::result::outcome::{Note, RuleKind, RuleOutcome};
use crate::verdict::{Profile, Severity, Verdict};

/// Effect of the rules that are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// A rule that does not hold gives a finding.
    Counts,
    /// The rule is shown with its verdict and gives no finding, because a published rule decides.
    Beside,
    /// The rule is shown without a verdict.
    ShownOnly,
}

/// A rule with a measured value and limits.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredRule {
    /// Stable name of the rule.
    pub rule: &'static str,
    /// The code of its finding.
    pub code: &'static Rule,
    /// The measured value, in the rule's own unit.
    pub value: f64,
    /// The limits.
    pub limits: LimitPair,
    /// Step at which the value was taken.
    pub step: Option<u64>,
    /// Remark on the value; `None` where there is none.
    pub note: Option<Note>,
    /// Worst verdict that the rule may give; better than `Fail` where a harmless reason was found.
    pub at_worst: Verdict,
}

/// Collects rules and findings.
#[derive(Debug)]
pub struct RuleResults {
    place: String,
    strict: bool,
    weight: Weight,
    /// Rules, in the order in which they were applied.
    pub rules: Vec<RuleOutcome>,
    /// Findings, in the same order.
    pub findings: Vec<Finding>,
}

impl RuleResults {
    /// Empty results of a curve; `place` is its name in findings.
    pub fn new(place: String, profile: Profile) -> Self {
        let strict = matches!(profile, Profile::Strict | Profile::BitExact);
        Self { place, strict, weight: Weight::Counts, rules: Vec::new(), findings: Vec::new() }
    }

    /// Adds a finding of `rule`, completed by `facts`.
    pub(crate) fn add_finding(&mut self, rule: &Rule, facts: impl FnOnce(Finding) -> Finding) {
        self.findings.push(facts(Finding::new(rule, self.place.clone())));
    }

    /// Whether there is a finding of `rule`.
    pub(crate) fn has_finding(&self, rule: &Rule) -> bool {
        self.findings.iter().any(|finding| finding.is(rule))
    }

    /// Adds the outcome of a rule that was applied elsewhere.
    pub(crate) fn add_outcome(&mut self, outcome: RuleOutcome) {
        self.rules.push(outcome);
    }

    /// Applies `rules` and drops their findings, because a published rule decides.
    pub(crate) fn show_beside_preset(&mut self, rules: impl FnOnce(&mut Self)) {
        self.with_weight(Weight::Beside, rules);
    }

    /// Applies `rules` without verdicts, and drops their findings.
    pub(crate) fn show_only(&mut self, rules: impl FnOnce(&mut Self)) {
        self.with_weight(Weight::ShownOnly, rules);
    }

    fn with_weight(&mut self, weight: Weight, rules: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.weight, weight);
        let findings = self.findings.len();
        rules(self);
        self.findings.truncate(findings);
        self.weight = before;
    }

    /// Compares a measured value with its limits: adds the outcome, and a finding where it does not pass.
    pub(crate) fn judge_measured(&mut self, measured: MeasuredRule) {
        let (_, direction) = RuleKind::held(measured.rule);
        let LimitPair { warn, fail } = measured.limits;
        let mut verdict = direction.verdict(measured.value, warn, fail).min(measured.at_worst);
        if self.strict && verdict == Verdict::Warn {
            verdict = Verdict::Fail;
        }
        let shown = if self.weight == Weight::ShownOnly { Verdict::Skipped } else { verdict };
        let beside = (self.weight == Weight::Beside).then(|| Note::new(Note::BESIDE_PRESET));
        self.rules.push(
            RuleOutcome::new(measured.rule, Some(measured.value), (warn, fail), shown)
                .noting(Note::at_step(Note::STEP, measured.step))
                .noting(measured.note)
                .noting(beside),
        );
        let (severity, limit) = match verdict {
            Verdict::Fail => (Severity::Fail, fail.or(warn)),
            Verdict::Warn => (Severity::Warn, warn.or(fail)),
            _ => return,
        };
        self.add_finding(measured.code, |finding| {
            finding
                .with_severity(severity)
                .with("value", measured.value)
                .with("limit", limit.unwrap_or_default())
                .with("step", step_text(measured.step))
        });
    }

    /// Adds the outcome of a published rule, and a finding where it does not pass.
    pub(crate) fn judge_preset(&mut self, preset: Preset, outcome: PresetOutcome) {
        let verdict = match outcome.pass {
            Some(true) => Verdict::Pass,
            Some(false) => Verdict::Fail,
            None => Verdict::Incomplete,
        };
        self.rules.push(
            RuleOutcome::new(
                format!("preset:{}", preset.as_str()),
                Some(outcome.value),
                (None, Some(outcome.limit)),
                verdict,
            )
            .noting(Note::at_step(Note::FIRST_STEP, outcome.step)),
        );
        let rule = match outcome.pass {
            Some(true) => return,
            Some(false) => &code::PRESET,
            None => &code::PRESET_EMPTY,
        };
        self.add_finding(rule, |finding| {
            finding
                .with("preset", preset.as_str())
                .with("value", outcome.value)
                .with("limit", outcome.limit)
                .with("step", step_text(outcome.step))
        });
    }
}

/// A step as findings carry it; empty where there is none.
fn step_text(step: Option<u64>) -> String {
    step.map(|step| step.to_string()).unwrap_or_default()
}
