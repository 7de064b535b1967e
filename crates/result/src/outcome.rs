//! Rule outcomes: a measured value with its unit, its limits and the side of them on which it has to lie.
//!
//! An outcome carries facts alone. The rule's formula and the words of its notes stand in the message files
//! (`formulas.yaml`, `report.yaml`), found by the rule's name and the note's code.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::LimitDirection::{AtLeast, AtMost, Within};
use self::ValueUnit::{Elements, Plain, Relative, Share, Spikes, Steps};
use super::finding::Fact;
use super::number::Number;
use crate::verdict::Verdict;

/// One rule as it was applied: limits, measured value and margin. Passed ones are shown too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuleOutcome {
    /// Stable name of the rule.
    pub rule: String,
    /// The measured value, the worst where there are several; absent where it could not be measured.
    pub value: Option<Number>,
    /// Unit of value and limits.
    #[serde(default)]
    pub unit: ValueUnit,
    /// Warns beyond this.
    pub warn: Option<Number>,
    /// Fails beyond this.
    pub fail: Option<Number>,
    /// On which side of its limits the value has to lie.
    pub direction: LimitDirection,
    /// Distance from the nearest limit that was not crossed, in parts of that limit; negative when all are crossed.
    pub margin: Option<Number>,
    /// Verdict that follows from value and limits.
    pub verdict: Verdict,
    /// Notes on where the value was taken, or why there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// One remark on a rule's value: a code and its facts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// Code of the note: `step`, `tensor`, `beside-preset` ...
    pub code: String,
    /// The numbers and names that belong to it.
    #[serde(flatten)]
    pub facts: BTreeMap<String, Fact>,
}

/// On which side of its limits a value has to lie. A limit itself is kept; a value that is not a number keeps none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitDirection {
    /// At most the limit.
    AtMost,
    /// At least the limit.
    AtLeast,
    /// Between the limit and its negative: the value has a sign, and its magnitude is held.
    Within,
}

/// Unit of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ValueUnit {
    /// Nothing: a correlation, a ratio, a difference in the metric's own unit.
    #[default]
    #[serde(rename = "")]
    Plain,
    /// Parts of the baseline's value.
    Relative,
    /// Parts of a whole that is counted.
    Share,
    /// Steps of a curve.
    Steps,
    /// Spikes of a curve.
    Spikes,
    /// Elements of a tensor.
    Elements,
}

/// Fixed facts of a rule, the same for every value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleKind {
    /// Stable name of the rule.
    pub name: &'static str,
    /// Unit of its value.
    pub unit: ValueUnit,
    /// On which side of its limits the value has to lie.
    pub direction: LimitDirection,
}

impl RuleKind {
    const fn new(name: &'static str, unit: ValueUnit, direction: LimitDirection) -> Self {
        Self { name, unit, direction }
    }

    /// The kind of the rule called `name`.
    pub fn find(name: &str) -> Option<Self> {
        KINDS.into_iter().find(|kind| kind.name == name)
    }

    /// Unit and direction of the rule called `name`; plain and at most for what this version does not know.
    pub fn held(name: &str) -> (ValueUnit, LimitDirection) {
        Self::find(name).map_or((Plain, AtMost), |kind| (kind.unit, kind.direction))
    }
}

/// Every rule with an outcome.
pub const KINDS: [RuleKind; 70] = [
    RuleKind::new("step_time", Plain, AtMost),
    RuleKind::new("memory_peak", Plain, AtMost),
    RuleKind::new("growth", Plain, AtMost),
    RuleKind::new("monitor_jump", Plain, AtMost),
    RuleKind::new("monitor_update", Plain, AtMost),
    RuleKind::new("standstill", Steps, AtMost),
    RuleKind::new("lasting_non_finite", Steps, AtMost),
    RuleKind::new("coverage", Share, AtLeast),
    RuleKind::new("non_finite", Steps, AtMost),
    RuleKind::new("hidden_failure", Steps, AtMost),
    RuleKind::new("bit_exact", Plain, AtMost),
    RuleKind::new("step_1_rel", Relative, AtMost),
    RuleKind::new("head_max_rel", Relative, AtMost),
    RuleKind::new("mean_rel", Relative, AtMost),
    RuleKind::new("tail_signed_rel", Relative, Within),
    RuleKind::new("level_windows", Relative, AtMost),
    RuleKind::new("spread", Steps, AtMost),
    RuleKind::new("outliers", Steps, AtMost),
    RuleKind::new("longest_run", Steps, AtMost),
    RuleKind::new("max_rel", Relative, AtMost),
    RuleKind::new("abrupt_onset", Plain, AtMost),
    RuleKind::new("spikes", Spikes, AtMost),
    RuleKind::new("change_apart", Plain, AtMost),
    RuleKind::new("median_rel", Relative, AtMost),
    RuleKind::new("last_rel", Relative, AtMost),
    RuleKind::new("grad_norm_mean_rel", Relative, AtMost),
    RuleKind::new("learning_rate", Relative, AtMost),
    RuleKind::new("worse_mean", Plain, AtMost),
    RuleKind::new("reward_dead", Steps, AtMost),
    RuleKind::new("reward_tail", Relative, AtMost),
    RuleKind::new("reward_windows", Relative, AtMost),
    RuleKind::new("reward_higher", Relative, AtMost),
    RuleKind::new("eval_shortfall", Relative, AtMost),
    RuleKind::new("centre_shift", Plain, AtMost),
    RuleKind::new("spread_ratio", Plain, AtMost),
    RuleKind::new("kl_tail_ratio", Plain, AtMost),
    RuleKind::new("entropy_low", Plain, AtMost),
    RuleKind::new("entropy_high", Plain, AtMost),
    RuleKind::new("length_ratio", Plain, AtMost),
    RuleKind::new("truncation_rise", Share, AtMost),
    RuleKind::new("clip_change", Share, AtMost),
    RuleKind::new("grad_norm_ratio", Plain, AtMost),
    RuleKind::new("grad_norm_zeros", Share, AtMost),
    RuleKind::new("loss_tail_ratio", Plain, AtMost),
    RuleKind::new("mismatch_level", Plain, AtMost),
    RuleKind::new("mismatch_ratio", Plain, AtMost),
    RuleKind::new("constant", Relative, AtMost),
    RuleKind::new("declared_mean_rel", Relative, AtMost),
    RuleKind::new("declared_difference", Plain, Within),
    RuleKind::new("declared_worse", Relative, AtMost),
    RuleKind::new("mean_change", Relative, Within),
    RuleKind::new("preset:megatron", Steps, AtMost),
    RuleKind::new("preset:mindspeed-llm", Relative, AtMost),
    RuleKind::new("preset:mindspeed-mm", Relative, AtMost),
    RuleKind::new("preset:torchtitan-exact", Steps, AtMost),
    RuleKind::new("preset:flagperf", Relative, AtMost),
    RuleKind::new("preset:mindformers", Relative, AtMost),
    RuleKind::new("preset:msprobe-guide", Relative, AtMost),
    RuleKind::new("preset:rl-mae-2pct", Plain, AtMost),
    RuleKind::new("torch-assert-close", Share, AtLeast),
    RuleKind::new("numpy", Share, AtLeast),
    RuleKind::new("polygraphy", Elements, AtMost),
    RuleKind::new("pcc-0.99", Plain, AtLeast),
    RuleKind::new("cann-mixed", Share, AtLeast),
    RuleKind::new("cann-double-1e-3", Share, AtMost),
    RuleKind::new("msprobe", Plain, AtLeast),
    RuleKind::new("allclose", Share, AtMost),
    RuleKind::new("cosine", Plain, AtLeast),
    RuleKind::new("max-relative", Relative, AtMost),
    RuleKind::new("relative-l2", Relative, AtMost),
];

impl LimitDirection {
    /// Whether `value` lies on the right side of `limit`.
    pub fn keeps(self, value: f64, limit: f64) -> bool {
        match self {
            Self::AtMost => value <= limit,
            Self::AtLeast => value >= limit,
            Self::Within => value.abs() <= limit,
        }
    }

    /// Verdict on a value under its limits. NaN fails wherever there is a failing limit, and warns where there is only
    /// a warning one.
    pub fn verdict(self, value: f64, warn: Option<f64>, fail: Option<f64>) -> Verdict {
        // Written so that a value which is not a number fails instead of slipping through a comparison.
        let kept = |limit: Option<f64>| limit.is_none_or(|limit| self.keeps(value, limit));
        match (kept(fail), kept(warn)) {
            (false, _) => Verdict::Fail,
            (true, false) => Verdict::Warn,
            (true, true) => Verdict::Pass,
        }
    }

    /// Distance of `value` from the nearest limit that it keeps, or from the last one where it keeps none, in parts of
    /// that limit. `None` without limits, and for a limit of 0, of which nothing is a part.
    pub fn margin(self, value: f64, warn: Option<f64>, fail: Option<f64>) -> Option<f64> {
        let limit = warn.filter(|warn| self.keeps(value, *warn)).or(fail).or(warn).filter(|limit| *limit > 0.0)?;
        Some(match self {
            Self::AtMost => 1.0 - value / limit,
            Self::AtLeast => value / limit - 1.0,
            Self::Within => 1.0 - value.abs() / limit,
        })
    }

    /// Orders values from the best to the worst; a value that is not a number is worst.
    pub fn badness(self, a: f64, b: f64) -> Ordering {
        let order = match self {
            Self::AtMost => a.total_cmp(&b),
            Self::AtLeast => b.total_cmp(&a),
            Self::Within => a.abs().total_cmp(&b.abs()),
        };
        a.is_nan().cmp(&b.is_nan()).then(order)
    }
}

impl RuleOutcome {
    /// The outcome of `rule` for `value` under the limits `(warn, fail)`; unit, direction and margin follow.
    pub fn new(
        rule: impl Into<String>,
        value: Option<f64>,
        limits: (Option<f64>, Option<f64>),
        verdict: Verdict,
    ) -> Self {
        let rule = rule.into();
        let (unit, direction) = RuleKind::held(&rule);
        let (warn, fail) = limits;
        Self {
            rule,
            value: value.map(Number),
            unit,
            warn: warn.map(Number),
            fail: fail.map(Number),
            direction,
            margin: value.and_then(|value| direction.margin(value, warn, fail)).map(Number),
            verdict,
            notes: Vec::new(),
        }
    }

    /// Adds notes.
    #[must_use]
    pub fn noting(mut self, notes: impl IntoIterator<Item = Note>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// The margin that follows from value, limits and direction.
    pub fn expected_margin(&self) -> Option<Number> {
        let number = |number: Option<Number>| number.map(|number| number.0);
        self.direction.margin(number(self.value)?, number(self.warn), number(self.fail)).map(Number)
    }

    /// The first note with this code.
    pub fn note(&self, code: &str) -> Option<&Note> {
        self.notes.iter().find(|note| note.code == code)
    }

    /// The name of the parameter or tensor that the value was taken from; empty where none is noted.
    pub fn subject(&self) -> &str {
        let named = |code| self.note(code).and_then(|note| note.facts.get(code));
        match named(Note::PARAMETER).or_else(|| named(Note::TENSOR)) {
            Some(Fact::Text(name)) => name,
            _ => "",
        }
    }
}

impl Note {
    /// The value was taken at `step`.
    pub const STEP: &'static str = "step";
    /// The rule is broken at `step` for the first time.
    pub const FIRST_STEP: &'static str = "first-step";
    /// The count begins at `step`.
    pub const FROM_STEP: &'static str = "from-step";
    /// A published rule decides in this rule's place.
    pub const BESIDE_PRESET: &'static str = "beside-preset";
    /// `both` of the `baseline` steps have a value on both sides.
    pub const STEPS_COVERED: &'static str = "steps-covered";
    /// There is no gradient norm to tell by.
    pub const NO_GRADIENT_NORM: &'static str = "no-gradient-norm";
    /// A rolling median of 11 stands before the count.
    pub const SMOOTHED: &'static str = "smoothed";
    /// The step is a uniform prediction, which tells nothing of the weights.
    pub const UNIFORM: &'static str = "uniform-start";
    /// The value is that of the tensor `tensor`.
    pub const TENSOR: &'static str = "tensor";
    /// The value is that of the parameter `parameter`.
    pub const PARAMETER: &'static str = "parameter";
    /// The limit is that of the selector `limit`.
    pub const LIMIT: &'static str = "limit";
    /// The limit is that of the selector `limit`, and its elements are counted by `rtol` and `atol`.
    pub const TOLERANCE: &'static str = "tolerance";
    /// A remark of an earlier version: `text`, as it stood there.
    pub const TEXT: &'static str = "text";

    /// All codes, each with the facts that its sentence is made of.
    pub const CODES: [(&'static str, &'static [&'static str]); 13] = [
        (Self::STEP, &["step"]),
        (Self::FIRST_STEP, &["step"]),
        (Self::FROM_STEP, &["step"]),
        (Self::BESIDE_PRESET, &[]),
        (Self::STEPS_COVERED, &["both", "baseline"]),
        (Self::NO_GRADIENT_NORM, &[]),
        (Self::SMOOTHED, &[]),
        (Self::UNIFORM, &[]),
        (Self::TENSOR, &["tensor"]),
        (Self::PARAMETER, &["parameter"]),
        (Self::LIMIT, &["limit"]),
        (Self::TOLERANCE, &["limit", "rtol", "atol"]),
        (Self::TEXT, &["text"]),
    ];

    /// Whether this version knows the code, and every fact that belongs to it is there.
    pub fn is_whole(&self) -> bool {
        let known = Self::CODES.iter().find(|(code, _)| *code == self.code);
        known.is_some_and(|(_, facts)| facts.iter().all(|name| self.facts.contains_key(*name)))
    }

    /// A note without facts.
    pub fn new(code: &str) -> Self {
        Self { code: code.to_owned(), facts: BTreeMap::new() }
    }

    /// Adds a fact.
    #[must_use]
    pub fn with(mut self, name: &str, fact: impl Into<Fact>) -> Self {
        self.facts.insert(name.to_owned(), fact.into());
        self
    }

    /// A note about a step, where there is one.
    pub fn at_step(code: &str, step: Option<u64>) -> Option<Self> {
        step.map(|step| Self::new(code).with("step", step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_no_number_never_passes() {
        for direction in [AtMost, AtLeast, Within] {
            assert_eq!(direction.verdict(f64::NAN, Some(0.1), Some(0.2)), Verdict::Fail);
            assert_eq!(direction.verdict(9.0, None, None), Verdict::Pass);
        }
    }

    #[test]
    fn each_direction_has_its_side() {
        for (direction, values) in
            [(AtMost, [0.1, 0.15, 0.3]), (Within, [-0.1, -0.15, -0.3]), (AtLeast, [0.2, 0.15, 0.05])]
        {
            let limits = if direction == AtLeast { (Some(0.2), Some(0.1)) } else { (Some(0.1), Some(0.2)) };
            let verdicts = values.map(|value| direction.verdict(value, limits.0, limits.1));
            assert_eq!(verdicts, [Verdict::Pass, Verdict::Warn, Verdict::Fail], "{direction:?}");
        }
        assert_eq!(AtMost.verdict(-9.0, None, Some(0.2)), Verdict::Pass, "no magnitude is held");
    }

    #[test]
    fn margins_are_to_the_nearest_limit_not_crossed() {
        let close = |found: Option<f64>, expected: f64| (found.expect("limits") - expected).abs() < 1e-12;
        for (value, expected) in [(0.05, 0.5), (0.15, 0.25), (0.4, -1.0)] {
            assert!(close(AtMost.margin(value, Some(0.1), Some(0.2)), expected));
            assert!(close(Within.margin(-value, Some(0.1), Some(0.2)), expected));
        }
        assert!(close(AtLeast.margin(1.0, None, Some(0.8)), 0.25), "more than is needed");
        assert!(close(AtLeast.margin(0.4, None, Some(0.8)), -0.5));
        assert_eq!(AtMost.margin(1.0, None, None), None);
        assert_eq!(AtMost.margin(1.0, None, Some(0.0)), None, "nothing is a part of 0");
    }

    #[test]
    fn the_worst_is_on_the_side_of_the_limit() {
        let worst = |direction: LimitDirection, values: [f64; 3]| {
            values.into_iter().max_by(|a, b| direction.badness(*a, *b)).expect("values")
        };
        assert_eq!(worst(AtMost, [0.1, 0.3, 0.2]).to_bits(), 0.3_f64.to_bits());
        assert_eq!(worst(AtLeast, [0.99, 0.995, 1.0]).to_bits(), 0.99_f64.to_bits());
        assert_eq!(worst(Within, [0.1, -0.3, 0.2]).to_bits(), (-0.3_f64).to_bits());
        for direction in [AtMost, AtLeast, Within] {
            assert!(worst(direction, [0.5, f64::NAN, f64::INFINITY]).is_nan());
        }
    }

    #[test]
    fn rules_are_named_once() {
        let mut names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KINDS.len());
    }

    #[test]
    fn a_change_of_level_may_go_either_way() {
        assert_eq!(RuleKind::held("mean_change"), (Relative, Within));
    }

    #[test]
    fn an_outcome_survives_json_and_lists_its_notes_flat() {
        let outcome = RuleOutcome::new("coverage", Some(0.9), (None, Some(0.8)), Verdict::Pass).noting([Note::new(
            Note::STEPS_COVERED,
        )
        .with("both", 9_u64)
        .with("baseline", 10_u64)]);
        let text = serde_json::to_value(&outcome).expect("JSON");
        assert_eq!(text["notes"], serde_json::json!([{"code": "steps-covered", "both": 9, "baseline": 10}]));
        assert_eq!((text["unit"].as_str(), text["direction"].as_str()), (Some("share"), Some("at-least")));
        assert_eq!(serde_json::from_value::<RuleOutcome>(text).expect("an outcome"), outcome);
    }
}
