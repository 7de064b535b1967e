//! Names of the two runs in sentences: their labels, if these are more informative than `baseline` and `candidate`.
//!
//! A label comes from the policy or from a result, so it is foreign text. A label of one or two short words (`GPU`, `A100`,
//! `Ascend 910B`) is used in sentences unchanged; any other passes through [`escape::name`].

use minijinja::Value;

use super::escape::{self, TextTarget};
use super::messages::Language;
use super::phrases;
use crate::verdict::Side;

/// Placeholder for a space before a name in Latin letters; it becomes a space only after Chinese text. This code point and the
/// next one are Unicode noncharacters, and [`escape::cleaned`] removes them from every foreign text.
const BEFORE: char = '\u{fdd0}';

/// The same placeholder after a name.
const AFTER: char = '\u{fdd1}';

/// Largest number of characters of a label that appears in a sentence without a code span.
const MOST_PLAIN: usize = 24;

/// Extensions by which a label is recognised as a file name.
const FILES: [&str; 14] =
    ["zip", "tar", "gz", "tgz", "json", "jsonl", "log", "txt", "csv", "pt", "pth", "npy", "safetensors", "pkl"];

/// Names of baseline and candidate, as sentences show them.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    /// The trusted run.
    pub(super) baseline: Value,
    /// The run judged.
    pub(super) candidate: Value,
}

impl Sides {
    /// The names from `labels` (baseline, candidate). Both runs are called by their side if a label is missing or a file name, or if
    /// both labels are the same.
    pub(super) fn new(labels: [&str; 2], language: Language, target: TextTarget) -> Self {
        let [baseline, candidate] = labels.map(str::trim);
        let known = is_telling(baseline) && is_telling(candidate) && !baseline.eq_ignore_ascii_case(candidate);
        let name = |label: &str, side: Side| match known {
            true => shown(label, target),
            false => phrases::find(&format!("side_{}", side.as_str()), language).unwrap_or_default().to_owned(),
        };
        let value = |label, side| spaced_word(&name(label, side), language);
        Self { baseline: value(baseline, Side::Baseline), candidate: value(candidate, Side::Candidate) }
    }

    /// The name of a run without a baseline; the baseline is called by its side.
    pub(super) fn without_baseline(label: &str, language: Language, target: TextTarget) -> Self {
        let label = label.trim();
        let word = |side: Side| phrases::find(&format!("side_{}", side.as_str()), language).unwrap_or_default();
        let candidate = if is_telling(label) { shown(label, target) } else { word(Side::Candidate).to_owned() };
        Self { baseline: spaced_word(word(Side::Baseline), language), candidate: spaced_word(&candidate, language) }
    }

    /// The name of a side, by the word that facts use for it.
    pub(super) fn find(&self, side: &str) -> Option<Value> {
        match side {
            "baseline" => Some(self.baseline.clone()),
            "candidate" => Some(self.candidate.clone()),
            _ => None,
        }
    }
}

/// Whether a label is more informative than the word for its side.
fn is_telling(label: &str) -> bool {
    let is_file = label.rsplit_once('.').is_some_and(|(_, extension)| FILES.contains(&extension));
    let is_path = label.contains(['/', '\\']) || label.contains("://");
    !label.is_empty() && !is_file && !is_path && label != "baseline" && label != "candidate"
}

fn shown(label: &str, target: TextTarget) -> String {
    if is_plain(label) { label.to_owned() } else { escape::name(label, target) }
}

/// Whether a label has only letters, digits and single spaces, which no forge turns into a link, a reference or a commit.
fn is_plain(label: &str) -> bool {
    let is_commit = |word: &str| word.len() > 6 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !is_commit(word);
    label.len() <= MOST_PLAIN && label.split(' ').all(is_word)
}

/// A word for a template; in Chinese documents with [`BEFORE`] and [`AFTER`] at its Latin ends.
pub(super) fn spaced_word(text: &str, language: Language) -> Value {
    let is_latin = |end: Option<char>| language == Language::Zh && end.is_some_and(|end| end.is_ascii());
    let mark = |end, mark: char| is_latin(end).then_some(mark).map(String::from).unwrap_or_default();
    Value::from_safe_string(format!(
        "{}{text}{}",
        mark(text.chars().next(), BEFORE),
        mark(text.chars().next_back(), AFTER)
    ))
}

/// Rendered text with [`BEFORE`] and [`AFTER`] resolved: a space beside Chinese text, nothing beside punctuation, a space or an
/// end of the text.
pub(super) fn resolve_spaces(text: String) -> String {
    if !text.contains([BEFORE, AFTER]) {
        return text;
    }
    let mut settled = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let beside = match letter {
            BEFORE => settled.chars().next_back(),
            AFTER => letters.peek().copied(),
            other => {
                settled.push(other);
                continue;
            }
        };
        if beside.is_some_and(is_chinese) {
            settled.push(' ');
        }
    }
    settled
}

/// Whether a character is an ideograph.
pub(super) fn is_chinese(letter: char) -> bool {
    matches!(letter, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(baseline: &str, candidate: &str, target: TextTarget) -> [String; 2] {
        let sides = Sides::new([baseline, candidate], Language::En, target);
        [sides.baseline.to_string(), sides.candidate.to_string()]
    }

    #[test]
    fn runs_are_called_by_their_labels() {
        assert_eq!(names("GPU", "NPU", TextTarget::Markdown), ["GPU", "NPU"]);
        assert_eq!(names("A100", "Ascend 910B", TextTarget::Html), ["A100", "Ascend 910B"]);
    }

    #[test]
    fn runs_without_telling_labels_are_called_by_their_sides() {
        for (baseline, candidate) in
            [("baseline", "candidate"), ("", "NPU"), ("gpu.zip", "npu.zip"), ("runs/gpu", "runs/npu"), ("NPU", "npu")]
        {
            assert_eq!(
                names(baseline, candidate, TextTarget::Plain),
                ["baseline", "candidate"],
                "{baseline}, {candidate}"
            );
        }
        let chinese = Sides::new(["", ""], Language::Zh, TextTarget::Plain);
        assert_eq!(resolve_spaces(format!("在{}侧", chinese.baseline)), "在标杆侧");
    }

    #[test]
    fn foreign_labels_are_escaped() {
        assert_eq!(names("@org/team", "a|b", TextTarget::Markdown), ["baseline", "candidate"], "a path");
        assert_eq!(names("@all", "GH-26", TextTarget::Markdown), ["`@all`", "`GH-26`"]);
        assert_eq!(names("www.example.com", "3cd622e0", TextTarget::Markdown), ["`www.example.com`", "`3cd622e0`"]);
        assert_eq!(names("<b>", "GPU", TextTarget::Html), ["<code>&lt;b&gt;</code>", "GPU"]);
        let long = "everything agrees so merge this now please";
        assert_eq!(names(long, "NPU", TextTarget::Markdown)[0], format!("`{long}`"));
    }

    #[test]
    fn chinese_text_has_a_space_beside_a_latin_name_and_no_other() {
        let sides = Sides::new(["GPU", "NPU"], Language::Zh, TextTarget::Plain);
        let (gpu, npu) = (&sides.baseline, &sides.candidate);
        assert_eq!(
            resolve_spaces(format!("仅在{npu}侧出现，{gpu}侧没有（{npu}）：{gpu}")),
            "仅在 NPU 侧出现，GPU 侧没有（NPU）：GPU"
        );
        assert_eq!(resolve_spaces(format!("{npu}侧缺少 {gpu} 的数据")), "NPU 侧缺少 GPU 的数据");
        let subject = spaced_word("h[order] 的反向计算", Language::Zh);
        assert_eq!(resolve_spaces(format!("其中{subject}在{npu}侧全为 0")), "其中 h[order] 的反向计算在 NPU 侧全为 0");
    }
}
