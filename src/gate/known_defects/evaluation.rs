//! Levels and margins of evaluations so wide that a known defect passes.

use crate::compare::evaluation::binomial;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::evaluation::margin::{Margin, MetricScale};
use crate::policy::evaluation::{EvaluationPolicy, Tie};

/// The word that findings carry about answers that are lost.
pub(super) const ANSWERS: &str = "answers";
/// Answers lost, none won, and the answers asked.
const LOST: (u64, u64) = (20, 200);
/// Drop of a rate that these lost answers make.
const DROP: f64 = 0.1;
/// The same drop of a metric in points (0 to 100).
const POINTS: f64 = 10.0;
/// Distance of the scale of logits multiplied by 0.6 from 1.
const SCALED: f64 = 0.4;
/// Distance of a wrong first token from a tie, in nats.
const FIRST_TOKEN: f64 = 7.0;

const WHAT_ANSWERS: &str = "one answer in ten lost (20 of 200, none won)";

/// Refuses numbers for all tasks that let a known defect pass.
///
/// # Errors
/// `Policy`, with the key and the defect.
pub(super) fn refuse_blind(policy: &EvaluationPolicy) -> Result<()> {
    let (lost, _) = LOST;
    let tie = match policy.tie {
        Tie::Nats(nats) => nats.get(),
        Tie::Auto => 0.0,
    };
    let for_all = policy.margin.named.iter().find(|(key, margin)| !key.contains('/') && is_wide(key, **margin));
    let blind = [
        (policy.alpha.get() < binomial::mcnemar(lost, 0), "alpha".to_owned(), WHAT_ANSWERS),
        (policy.margin.all.is_some_and(|margin| is_wide("", margin)), "margin".to_owned(), WHAT_ANSWERS),
        (for_all.is_some(), for_all.map(|(key, _)| format!("margin.{key}")).unwrap_or_default(), WHAT_ANSWERS),
        (policy.logprob_scale.get() >= SCALED, "logprob-scale".to_owned(), "logits multiplied by 0.6"),
        (tie >= FIRST_TOKEN, "tie".to_owned(), "a wrong first token, 7 nats from a tie"),
    ];
    let Some((_, key, what)) = blind.into_iter().find(|(is_blind, ..)| *is_blind) else { return Ok(()) };
    let message = format!("is so wide that a known defect passes: {what}");
    Err(Error::new(ErrorKind::Policy, format!("evaluation.{key}"), message)
        .with_help("narrow it, or give the few tasks that need it a margin of their own: `margin: {TASK/METRIC: 0.2}`"))
}

/// Keys of margins for named tasks that are as wide.
pub(super) fn wide_margins(policy: &EvaluationPolicy) -> impl Iterator<Item = &str> {
    let wide = policy.margin.named.iter().filter(|(key, margin)| key.contains('/') && is_wide(key, **margin));
    wide.map(|(key, _)| key.as_str())
}

/// Whether a margin is no smaller than the drop of the known defect.
fn is_wide(key: &str, margin: Margin) -> bool {
    let metric = key.rsplit('/').next().unwrap_or(key);
    match (margin, MetricScale::from_metric_name(metric)) {
        (Margin::Relative(part), _) => part > DROP,
        (Margin::Absolute(points), Some(MetricScale::Points)) => points > POINTS,
        // The scale of these metrics is unknown before they are read.
        (Margin::Absolute(_), Some(MetricScale::Perplexity | MetricScale::BitsPerByte)) => false,
        // For a metric of unknown scale, a margin of 1 or more cannot be one of a rate.
        (Margin::Absolute(value), None) => value > DROP && value < 1.0,
        (Margin::Absolute(value), Some(MetricScale::Rate)) => value > DROP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    fn read(yaml: &str) -> EvaluationPolicy {
        Policy::parse("p.yml", &format!("evaluation: {yaml}"), &[]).expect("sound").evaluation
    }

    #[test]
    fn numbers_for_all_tasks_that_let_a_defect_pass_are_refused() {
        for (yaml, key) in [
            ("{alpha: 1e-9}", "evaluation.alpha"),
            ("{margin: 0.3}", "evaluation.margin"),
            ("{margin: '30%'}", "evaluation.margin"),
            ("{margin: {acc: 0.3}}", "evaluation.margin.acc"),
            ("{margin: {score: 0.5}}", "evaluation.margin.score"),
            ("{margin: {bleu: 20}}", "evaluation.margin.bleu"),
            ("{logprob-scale: 0.5}", "evaluation.logprob-scale"),
            ("{tie: 20}", "evaluation.tie"),
        ] {
            let error = refuse_blind(&read(yaml)).expect_err(yaml).to_string();
            assert!(error.contains(&format!("{key}: is so wide that a known defect passes")), "{error}");
        }
    }

    #[test]
    fn numbers_that_see_the_defects_are_accepted() {
        for yaml in [
            "{}",
            "{alpha: 1e-5, margin: 0.1}",
            "{margin: {acc: 0.05, bleu: 3, latency: 5, word_perplexity: 2, mmlu/acc: 0.3}}",
            "{logprob-scale: 0.1, tie: 1}",
        ] {
            refuse_blind(&read(yaml)).expect(yaml);
        }
        assert_eq!(wide_margins(&read("{margin: {mmlu/acc: 0.3, arc/acc: 0.02}}")).collect::<Vec<_>>(), ["mmlu/acc"]);
    }
}
