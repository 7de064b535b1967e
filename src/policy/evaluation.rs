//! Evaluations: how the check of evaluations judges.

pub mod margin;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::{Pattern, Tolerance};
use margin::Margins;

/// Evaluations.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct EvaluationPolicy {
    /// Probability of a drop by chance alone, corrected for the number of tests, up to which a drop fails.
    pub alpha: Alpha,
    /// The same up to which a drop warns.
    #[serde(alias = "alpha_warn")]
    pub alpha_warn: Alpha,
    /// Drop that matters: a number for rates, a text such as `1%` for a part of the baseline's score, or either by metric or
    /// `task/metric`.
    pub margin: Margins,
    /// Share of the answers that noise changes, both ways together.
    #[serde(alias = "answers_changed")]
    pub answers_changed: Fraction,
    /// Smallest drop that a test of a release has to be able to find.
    #[serde(alias = "max_detectable")]
    pub max_detectable: Fraction,
    /// Whether scores without samples may pass.
    #[serde(alias = "accept_scores")]
    pub accept_scores: bool,
    /// Correction for the number of tests in the run.
    pub correction: Correction,
    /// Difference of log-probabilities up to which two tokens tie, in nats; `auto` takes it from the run's own noise.
    #[schemars(extend("default" = "auto"))]
    pub tie: Tie,
    /// Mean magnitude of the log-probabilities' differences above which generations fail, in nats.
    #[serde(alias = "logprob_mean")]
    pub logprob_mean: Tolerance,
    /// Distance of the log-probabilities' scale from 1 above which generations fail.
    #[serde(alias = "logprob_scale")]
    pub logprob_scale: Tolerance,
    /// A published rule that scores have to keep too.
    pub preset: Option<EvaluationPreset>,
    /// Tasks that are judged; all where none is named.
    #[schemars(example = &["gsm8k*"])]
    pub tasks: Vec<Pattern>,
    /// Tasks that are left out on both sides.
    #[serde(alias = "ignore_tasks")]
    pub ignore_tasks: Vec<Pattern>,
    /// Tasks without which the check may not pass.
    pub required: Vec<Pattern>,
}

impl Default for EvaluationPolicy {
    fn default() -> Self {
        Self {
            alpha: Alpha(0.01),
            alpha_warn: Alpha(0.05),
            margin: Margins::default(),
            answers_changed: Fraction(0.05),
            max_detectable: Fraction(0.05),
            accept_scores: false,
            correction: Correction::Holm,
            tie: Tie::Auto,
            logprob_mean: Tolerance::new(0.1),
            logprob_scale: Tolerance::new(0.05),
            preset: None,
            tasks: Vec::new(),
            ignore_tasks: Vec::new(),
            required: Vec::new(),
        }
    }
}

impl EvaluationPolicy {
    /// Whether a task is judged.
    pub fn judges(&self, task: &str) -> bool {
        let is_named = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(task));
        (self.tasks.is_empty() || is_named(&self.tasks)) && !is_named(&self.ignore_tasks)
    }
}

/// Probability that a test is held against: above 0 and at most 0.5.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(extend("exclusiveMinimum" = 0, "maximum" = 0.5))]
pub struct Alpha(f64);

impl Alpha {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Alpha {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if value > 0.0 && value <= 0.5 {
            return Ok(Self(value));
        }
        Err(format!("expects a number above 0 and at most 0.5, not {value}"))
    }
}

/// Part of a whole: above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
pub struct Fraction(f64);

impl Fraction {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Fraction {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if value > 0.0 && value <= 1.0 {
            return Ok(Self(value));
        }
        Err(format!("expects a number above 0 and at most 1, not {value}"))
    }
}

/// Correction for the number of tests in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Correction {
    /// Holm's: the chance of any false alarm in the run is at most alpha.
    #[default]
    Holm,
    /// None: each test has a false alarm with the chance alpha.
    None,
}

/// A published rule about scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvaluationPreset {
    /// Accuracy tests of vllm-ascend: 5 % around the candidate's score, both ways, each task by itself.
    VllmAscend,
}

impl EvaluationPreset {
    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VllmAscend => "vllm-ascend",
        }
    }
}

/// Difference of log-probabilities up to which two tokens tie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(from = "TieForm", into = "TieForm")]
#[schemars(with = "TieForm")]
pub enum Tie {
    /// Taken from the noise of the run.
    #[default]
    Auto,
    /// In nats.
    Nats(Tolerance),
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
enum TieForm {
    Auto(Auto),
    Nats(Tolerance),
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Auto {
    Auto,
}

impl From<TieForm> for Tie {
    fn from(form: TieForm) -> Self {
        match form {
            TieForm::Auto(Auto::Auto) => Self::Auto,
            TieForm::Nats(nats) => Self::Nats(nats),
        }
    }
}

impl From<Tie> for TieForm {
    fn from(tie: Tie) -> Self {
        match tie {
            Tie::Auto => Self::Auto(Auto::Auto),
            Tie::Nats(nats) => Self::Nats(nats),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Correction, EvaluationPolicy, EvaluationPreset, Tie};
    use crate::policy::Policy;

    fn read(yaml: &str) -> Result<EvaluationPolicy, String> {
        let text = format!("evaluation:\n  {yaml}\n");
        Policy::parse("p.yml", &text, &[]).map(|policy| policy.evaluation).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_out_of_their_range_are_refused_with_the_path_of_their_key() {
        for (yaml, said) in [
            ("alpha: 0", "`evaluation.alpha:` expects a number above 0 and at most 0.5, not 0"),
            ("alpha: 0.6", "`evaluation.alpha:` expects a number above 0 and at most 0.5, not 0.6"),
            ("alpha-warn: .nan", "`evaluation.alpha-warn:` expects a number above 0 and at most 0.5, not NaN"),
            ("answers-changed: 2", "`evaluation.answers-changed:` expects a number above 0 and at most 1, not 2"),
            ("max-detectable: -1", "`evaluation.max-detectable:` expects a number above 0 and at most 1, not -1"),
            ("logprob-mean: -0.1", "`evaluation.logprob-mean:` expects a number of at least 0, not -0.1"),
            ("logprob-scale: .inf", "`evaluation.logprob-scale:` expects a number of at least 0, not inf"),
            ("tie: sure", "`evaluation.tie:` expects `auto`"),
            ("correction: bonferroni", "`evaluation.correction:` expects `holm` or `none`, not `bonferroni`"),
            ("preset: vllm", "`evaluation.preset:` expects `vllm-ascend`, not `vllm`"),
            ("tasks: ['a[']", "`evaluation.tasks[0]` expects a shell-style pattern"),
        ] {
            let error = read(yaml).expect_err(yaml);
            assert!(error.starts_with("p.yml:2:") && error.contains(said), "{error}");
        }
    }

    #[test]
    fn both_spellings_are_read() {
        let kebab = "{alpha-warn: 0.1, answers-changed: 0.1, max-detectable: 0.1, accept-scores: true, logprob-mean: 0.2, logprob-scale: 0.1, ignore-tasks: [a]}";
        for yaml in [kebab.to_owned(), kebab.replace("-", "_")] {
            let policy = Policy::parse("p.yml", &format!("evaluation: {yaml}"), &[]).expect("sound").evaluation;
            assert!(policy.accept_scores && policy.alpha_warn.get() > 0.09 && policy.max_detectable.get() > 0.09);
            assert!(policy.answers_changed.get() > 0.09 && policy.logprob_mean.get() > 0.1);
            assert!(policy.logprob_scale.get() > 0.09 && !policy.judges("a"));
        }
    }

    #[test]
    fn a_sound_section_is_read_and_an_empty_one_has_the_built_in_numbers() {
        let policy = EvaluationPolicy::default();
        assert!((policy.alpha.get() - 0.01).abs() <= 0.0 && (policy.alpha_warn.get() - 0.05).abs() <= 0.0);
        assert_eq!((policy.correction, policy.tie, policy.preset), (Correction::Holm, Tie::Auto, None));
        let policy =
            read("{correction: none, tie: 0.3, preset: vllm-ascend, tasks: ['gsm*'], ignore-tasks: [gsm_plus]}");
        let policy = policy.expect("sound");
        assert_eq!((policy.correction, policy.preset), (Correction::None, Some(EvaluationPreset::VllmAscend)));
        assert!(matches!(policy.tie, Tie::Nats(nats) if nats.get() > 0.29));
        assert!(policy.judges("gsm8k") && !policy.judges("gsm_plus") && !policy.judges("arc"));
        assert!(matches!(read("tie: auto").expect("sound").tie, Tie::Auto));
    }
}
