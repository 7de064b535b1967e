//! Comments of the shipped pipelines in the language of the reader: a pipeline is a file of the user's repository.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use precision_gate::language::Language;
use unicode_width::UnicodeWidthStr;

/// Chinese comments by the English ones.
static CHINESE: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let text = include_str!("../../../templates/pipelines.zh.yaml");
    serde_yaml::from_str(text).expect("invariant: shipped comments are tested")
});

/// Width of a comment's lines, in Latin letters.
const WIDE: usize = 110;

/// A directive for zizmor, which stands before the words of a comment.
const DIRECTIVE: &str = "zizmor: ignore[";

/// The pipeline `text` with its comments in `language`.
pub(super) fn in_language(text: &str, language: Language) -> String {
    if language == Language::En {
        return text.to_owned();
    }
    let mut written = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((indent, first)) = comment_of(line) else {
            written.push_str(&behind_a_value(line));
            written.push('\n');
            continue;
        };
        let mut block = first.to_owned();
        while let Some((_, more)) = lines.peek().and_then(|next| comment_of(next)).filter(|(there, _)| *there == indent)
        {
            block.push(' ');
            block.push_str(more);
            lines.next();
        }
        for line in wrapped(CHINESE.get(&block).unwrap_or(&block), WIDE.saturating_sub(indent.len())) {
            written.push_str(&format!("{indent}# {line}\n"));
        }
    }
    written
}

/// Indentation and words of a line that is a comment.
fn comment_of(line: &str) -> Option<(&str, &str)> {
    let words = line.trim_start().strip_prefix("# ")?;
    Some((line.get(..line.len() - line.trim_start().len())?, words))
}

/// A line whose comment, behind a value, is in Chinese.
fn behind_a_value(line: &str) -> String {
    let Some((value, comment)) = line.rsplit_once(" # ") else { return line.to_owned() };
    let (directive, words) = match comment.strip_prefix(DIRECTIVE).and_then(|rest| rest.split_once("] ")) {
        Some((rule, words)) => (format!("{DIRECTIVE}{rule}] "), words),
        None => (String::new(), comment),
    };
    let said = CHINESE.get(words).map_or(words, String::as_str);
    format!("{value} # {directive}{said}")
}

/// A text in lines up to a width. Chinese is broken anywhere but within a Latin word and before a mark.
fn wrapped(text: &str, wide: usize) -> Vec<String> {
    let is_latin = |letter: char| letter.is_ascii() && letter != ' ';
    let mut lines = vec![String::new()];
    let mut letters = text.chars().peekable();
    let mut piece = String::new();
    while let Some(letter) = letters.next() {
        piece.push(letter);
        let goes_on = letters.peek().is_some_and(|next| {
            (is_latin(letter) && is_latin(*next)) || "，。；：、）”".contains(*next) || "（“".contains(letter)
        });
        if goes_on {
            continue;
        }
        if lines.last().is_some_and(|line| !line.is_empty() && line.width() + piece.width() > wide) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { piece.trim_start() } else { &piece });
        }
        piece.clear();
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::PIPELINES;
    use super::*;

    #[test]
    fn every_comment_is_chinese_and_no_value_changes() {
        let is_chinese = |text: &str| text.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter));
        let is_version =
            |text: &str| text.starts_with('v') && text.chars().skip(1).all(|c| c == '.' || c.is_ascii_digit());
        for pipeline in &PIPELINES {
            let text = in_language(pipeline.text, Language::Zh);
            let comments = text.lines().filter_map(|line| line.split_once("# ")).map(|(_, comment)| comment);
            for comment in comments.filter(|comment| !is_version(comment)) {
                assert!(is_chinese(comment), "{}: {comment}", pipeline.path);
            }
            assert!(text.lines().all(|line| line.width() <= 180), "{}: a long line", pipeline.path);
            let of = |text: &str| serde_yaml::from_str::<Value>(text).expect("YAML");
            assert_eq!(of(&text), of(pipeline.text), "{}", pipeline.path);
            assert_eq!(in_language(pipeline.text, Language::En), pipeline.text);
        }
    }

    #[test]
    fn long_comments_are_broken_between_words() {
        let lines = wrapped("训练几百步，在 runs/npu 中留下配置包、训练曲线与 dump。", 24);
        assert!(lines.len() > 2 && lines.iter().all(|line| line.width() <= 26), "{lines:?}");
        assert!(lines.iter().any(|line| line.contains("runs/npu")), "{lines:?}");
        assert_eq!(wrapped("检查", 24), ["检查"]);
    }
}
