//! Settings of a run that its log declares: total steps, the schedule of the learning rate, classes or vocabulary.

use std::sync::LazyLock;

use regex::Regex;

use super::expression::constant_regex;

/// A setting and its value, as programs print them: `max_steps: 160`, `train_iters ....... 5000`, `'num_labels': 10`.
static SETTING: LazyLock<Regex> = LazyLock::new(|| {
    constant_regex(
        r#"(?i)(?:^|[\s,{(\["'])-{0,2}([a-z][a-z_-]{3,40})["']?(?:\s*[:=]\s*|\s*\.{3,}\s*|\s+)["']?([a-z_.]*[a-z]|\d[\d,_]*)\b"#,
    )
});
/// A setting whose name has several words: `Total optimization steps = 160`.
static PHRASE: LazyLock<Regex> = LazyLock::new(|| {
    constant_regex(
        r"(?i)\b((?:total|max|maximum)(?: [a-z]+)? (?:steps|iterations|iters)|number of (?:classes|labels))\s*[:=]\s*(\d[\d,]*)\b",
    )
});
/// Any word without which a line declares nothing.
static WORDS: LazyLock<Regex> =
    LazyLock::new(|| constant_regex(r"(?i-u:step|iter|sched|decay|label|class|vocab|lr_policy)"));
static PADDED: LazyLock<Regex> = LazyLock::new(|| constant_regex(r"(?i)\bvocab(?:ulary)? ?\(?size:? *(\d+)\)?"));

/// Names of the total number of steps.
const TOTALS: [&str; 16] = [
    "max_steps",
    "total_steps",
    "train_iters",
    "max_iters",
    "total_iters",
    "total_iterations",
    "max_iterations",
    "num_train_steps",
    "num_training_steps",
    "total_train_steps",
    "total_training_steps",
    "max_train_steps",
    "total_optimization_steps",
    "total_training_iterations",
    "maximum_steps",
    "maximum_iterations",
];
/// Names of the schedule.
const SCHEDULES: [&str; 13] = [
    "lr_scheduler_type",
    "lr_decay_style",
    "lr_scheduler",
    "lr_schedule",
    "lr_sched",
    "lr_policy",
    "scheduler",
    "scheduler_type",
    "decay_style",
    "schedule",
    "learning_rate_schedule",
    "learning_rate_scheduler",
    "lr_scheduler_name",
];
/// Names of the number of classes a prediction chooses from.
const CLASSES: [&str; 10] = [
    "num_labels",
    "num_classes",
    "n_classes",
    "nb_classes",
    "n_labels",
    "number_of_classes",
    "number_of_labels",
    "vocab_size",
    "padded_vocab_size",
    "vocabulary_size",
];
/// Words in the name of a schedule that decays until the end.
const DECAYS: [&str; 7] = ["cosine", "linear", "poly", "exponential", "inverse", "anneal", "rsqrt"];

/// Settings that a log declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredSettings {
    /// Total number of steps.
    pub total: Option<u64>,
    /// Name of the learning rate schedule, where it decays until the end.
    pub decay: Option<String>,
    /// Number of classes, or of tokens in the vocabulary.
    pub classes: Option<u64>,
    /// The step counter of the last record and that counter's total, as in `10/60`.
    pub last: Option<(u64, u64)>,
}

impl DeclaredSettings {
    /// Takes a line that is no record.
    pub(super) fn take_line(&mut self, line: &str) {
        // A long line of arguments holds a few of these among hundreds of others.
        const MOST: usize = 4096;
        if !speaks(line) {
            return;
        }
        if let Some(size) = PADDED.captures(line).and_then(|found| found.get(1)?.as_str().parse().ok()) {
            self.classes = Some(size);
        }
        if let Some(found) = PHRASE.captures(line)
            && let (Some(name), Some(value)) = (found.get(1), found.get(2))
        {
            self.setting(name.as_str(), value.as_str());
        }
        let mut at = 0;
        for _ in 0..MOST {
            let Some(found) = line.get(at..).and_then(|rest| SETTING.captures(rest)) else { break };
            let (Some(name), Some(value)) = (found.get(1), found.get(2)) else { break };
            self.setting(name.as_str(), value.as_str());
            // The value may itself be the name of the next setting.
            at += value.start().max(1);
        }
    }

    fn setting(&mut self, name: &str, value: &str) {
        let name = name.trim().to_ascii_lowercase().replace([' ', '-'], "_");
        let is = |names: &[&str]| names.contains(&name.as_str());
        let number = || value.replace([',', '_'], "").parse().ok().filter(|number| *number > 1);
        if is(&TOTALS) {
            self.total = number().or(self.total);
        } else if is(&CLASSES) {
            self.classes = number().or(self.classes);
        } else if is(&SCHEDULES) {
            let value = value.to_ascii_lowercase();
            if DECAYS.iter().any(|decay| value.contains(decay)) {
                self.decay = Some(value);
            }
        }
    }

    /// Whether the log ends before its declared total, by at least one logging interval.
    pub(crate) fn ends_early(&self, last_step: Option<u64>, interval: u64) -> bool {
        let short = |at: u64, of: u64| at.saturating_add(interval.max(1)) <= of;
        match (self.last, self.total) {
            (Some((at, of)), _) => short(at, of),
            (None, Some(total)) => last_step.is_some_and(|last| short(last, total)),
            (None, None) => false,
        }
    }
}

/// Whether a line may declare a setting.
fn speaks(line: &str) -> bool {
    WORDS.is_match(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(line: &str) -> DeclaredSettings {
        let mut declared = DeclaredSettings::default();
        declared.take_line(line);
        declared
    }

    #[test]
    fn settings_are_read_in_the_forms_in_which_programs_print_them() {
        for line in [
            "max_steps: 160",
            "  train_iters ..................................... 160",
            "{'num_train_steps': 160, 'seed': 1}",
            "  Total optimization steps = 160",
            "Namespace(lr=0.1, max_steps=160, warmup_steps=10)",
            "python train.py --seed 1 --train-iters 160 --bf16",
            "total steps: 160",
        ] {
            assert_eq!(declared(line).total, Some(160), "{line}");
        }
        for line in
            ["lr_scheduler_type: cosine", "  lr_decay_style ........ cosine", "lr_scheduler='cosine_with_min_lr'"]
        {
            assert!(declared(line).decay.is_some_and(|decay| decay.starts_with("cosine")), "{line}");
        }
        for line in
            ["num_labels: 10", "'vocab_size': 10,", " > padded vocab (size: 10) with 0 dummy tokens", "--vocab-size 10"]
        {
            assert_eq!(declared(line).classes, Some(10), "{line}");
        }
        for line in ["lr_scheduler_type: constant_with_warmup", "decay_style: WSD", "step 10 of 160", "max_steps: -1"] {
            assert_eq!(declared(line), DeclaredSettings::default(), "{line}");
        }
    }

    #[test]
    fn a_run_ends_early_where_another_record_was_due() {
        let of = |last| DeclaredSettings { last: Some(last), ..DeclaredSettings::default() };
        assert!(of((45, 400)).ends_early(None, 1));
        assert!(!of((400, 400)).ends_early(None, 1) && !of((1600, 1605)).ends_early(None, 10));
        let total = DeclaredSettings { total: Some(160), ..DeclaredSettings::default() };
        assert!(total.ends_early(Some(45), 1) && !total.ends_early(Some(160), 1) && !total.ends_early(None, 1));
    }
}
