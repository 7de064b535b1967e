//! Lines that hold numbers and no value of the run, each kind with its reason.

use std::sync::LazyLock;

use memchr::memmem::{Finder, find};

/// Text of the trainer's summary at the end, which repeats what it logged.
const SUMMARY: &str = "train_runtime";
/// Texts that only lines without data contain.
const NOISE: [&str; 5] = [
    // Arguments of a program, which are settings.
    "Namespace(",
    SUMMARY,
    // Source code that an error message quotes.
    "Traceback (most recent",
    "Warning:",
    "Deprecat",
];
static NOISE_FINDERS: LazyLock<[Finder<'static>; 5]> = LazyLock::new(|| NOISE.map(Finder::new));
/// Texts of lines that have numbers beside a metric's name which are known to be no values.
const KNOWN: [&str; 9] = [
    "loss function",
    "loss_function",
    "loss fn",
    "label smoothing",
    "label_smoothing",
    "patience",
    // The best value so far repeats a logged value.
    "best",
    "Best",
    "deprecat",
];

/// Whether a line is no data, whatever else it holds.
pub(super) fn is_noise(line: &str) -> bool {
    NOISE_FINDERS.iter().any(|text| text.find(line.as_bytes()).is_some()) || is_package(line) || is_construction(line)
}

/// Whether a line is the trainer's summary, which repeats logged values.
pub(super) fn is_summary(line: &str) -> bool {
    line.contains(SUMMARY)
}

/// Whether the numbers of a line are known to be no values.
pub(super) fn is_known_noise(line: &str) -> bool {
    KNOWN.iter().any(|text| line.contains(text))
}

/// `torch==2.7.1`.
fn is_package(line: &str) -> bool {
    find(line.as_bytes(), b"==").and_then(|at| line.split_at_checked(at)).is_some_and(|(name, sign)| {
        let version = sign.strip_prefix("==").unwrap_or_default();
        name.ends_with(|sign: char| sign.is_ascii_alphanumeric())
            && version.starts_with(|sign: char| sign.is_ascii_digit())
    })
}

/// `optimizer = AdamW(lr=0.1)`, `AdamW (`: an object as a program prints it.
fn is_construction(line: &str) -> bool {
    let named = line.split_once('=').map(|(_, value)| value.trim_start());
    let is_class = |text: &str| {
        let len = text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')).count();
        len > 2
            && text.starts_with(|first: char| first.is_ascii_uppercase())
            && text.as_bytes().get(len) == Some(&b'(')
            && text.ends_with(')')
    };
    named.is_some_and(is_class) || is_class(line.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_programs_are_no_data() {
        for line in [
            "Namespace(lr=0.1, epochs=3)",
            "optimizer = AdamW(lr=0.1, eps=1e-8)",
            "torch==2.7.1",
            "CrossEntropyLoss(label_smoothing=0.1)",
        ] {
            assert!(is_noise(line), "{line}");
        }
        for line in ["step 1 | loss 2.5", "loss==> 2.5", "lr=0.1"] {
            assert!(!is_noise(line), "{line}");
        }
        assert!(is_known_noise("best val loss so far 0.5"));
    }
}
