//! Directions of metrics whose harness does not say whether a larger value is better.

/// Metrics of which a larger value is better.
const HIGHER: [&str; 16] = [
    "acc",
    "accuracy",
    "avg",
    "bertscore",
    "bleu",
    "chrf",
    "cons",
    "em",
    "exact",
    "f1",
    "maj",
    "mcc",
    "meteor",
    "pass",
    "precision",
    "recall",
];
/// Metrics of which a smaller value is better.
const LOWER: [&str; 12] =
    ["bpb", "brier", "cer", "edit", "error", "latency", "loss", "mae", "nll", "perplexity", "ppl", "wer"];

/// Whether a larger value of the metric is better; `None` where its name does not tell.
pub fn higher_is_better(metric: &str) -> Option<bool> {
    let name = metric.to_lowercase();
    let words = || name.split(|character: char| !character.is_ascii_alphanumeric());
    let has = |known: &[&str]| words().any(|word| known.contains(&word));
    if name.starts_with("bits_per_") || has(&LOWER) || name == "ter" {
        return Some(false);
    }
    let begins = ["rouge", "bleu", "chrf"].iter().any(|start| words().any(|word| word.starts_with(start)));
    (has(&HIGHER) || begins).then_some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_direction() {
        for name in [
            "acc",
            "acc_norm",
            "exact_match",
            "f1",
            "bleu",
            "chrf",
            "rougeL",
            "rouge1",
            "accuracy",
            "pass@1",
            "maj@4",
            "mean_acc",
            "prompt_level_strict_acc",
            "AccEvaluator_accuracy",
            "chrf++",
        ] {
            assert_eq!(higher_is_better(name), Some(true), "{name}");
        }
        for name in
            ["perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "ter", "wer", "loss", "brier_score"]
        {
            assert_eq!(higher_is_better(name), Some(false), "{name}");
        }
        for name in ["likelihood_diff", "length", "x", ""] {
            assert_eq!(higher_is_better(name), None, "{name}");
        }
    }
}
