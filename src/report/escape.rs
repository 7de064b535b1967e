//! Foreign text in documents: names from artifacts are shown as text and never interpreted.
//!
//! Markdown is that of GitHub and GitLab: names stand in code spans, where neither mentions, links, HTML nor quick
//! actions work. `prose` does the same word by word for sentences that quote an artifact.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};

/// Format that a text is written for; it decides which characters are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTarget {
    /// Terminal, JSON and XML, whose writers escape by themselves.
    Plain,
    /// Comments and job summaries.
    Markdown,
    /// The page.
    Html,
}

/// Largest number of characters of a name that are shown; a longer name loses its middle.
const MOST_CHARS: usize = 160;
/// Number of those characters that follow the cut, since the end distinguishes tensors of one operation.
const END_CHARS: usize = 60;
/// Largest number of characters of a quoted text that are shown.
const MOST_QUOTED: usize = 200;
/// Largest number of characters of a sentence that are shown.
const MOST_PROSE: usize = 600;

/// A name or value from an artifact, as `target` shows it: a code span, `<code>`, or cleaned text.
pub fn name(text: &str, target: TextTarget) -> String {
    let text = shortened(&cleaned(text));
    match target {
        TextTarget::Plain => text,
        TextTarget::Markdown => code_span(&text),
        TextTarget::Html => format!("<code>{}</code>", html(&text)),
    }
}

/// A sentence that may quote an artifact: ordinary words stay, everything else is shown as [`name`] shows it.
pub(crate) fn prose(text: &str, target: TextTarget) -> String {
    let text = cleaned(text);
    let text: String = text.chars().take(MOST_PROSE).collect();
    match target {
        TextTarget::Plain => text,
        TextTarget::Html => html(&text).into_owned(),
        TextTarget::Markdown => prose_markdown(&text),
    }
}

/// A long quotation from an artifact: like [`name`], but only its end is cut, and the page has no `<code>` around it.
pub fn quoted(text: &str, target: TextTarget) -> String {
    let cleaned = cleaned(text);
    let mut text: String = cleaned.chars().take(MOST_QUOTED).collect();
    if text.len() < cleaned.len() {
        text.push('…');
    }
    match target {
        TextTarget::Plain => text,
        TextTarget::Markdown => code_span(&text),
        TextTarget::Html => html(&text).into_owned(),
    }
}

/// Text without control, bidirectional and invisible characters and without terminal colours; line breaks and tabs become
/// spaces.
pub fn cleaned(text: &str) -> String {
    let shown = |character: char| match character {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => Some(' '),
        character => Some(character).filter(|character| is_shown(*character)),
    };
    let mut parts = text.split("\u{1b}[");
    let plain = parts.next().unwrap_or_default();
    let rest = parts.map(after_sequence);
    std::iter::once(plain).chain(rest).flat_map(str::chars).filter_map(shown).collect()
}

/// The text after the parameters and the final letter of a control sequence (ECMA-48, 5.4).
fn after_sequence(text: &str) -> &str {
    let letters = text.trim_start_matches(|letter: char| matches!(letter, '0'..='?' | ' '..='/'));
    letters.strip_prefix(|letter: char| matches!(letter, '@'..='~')).unwrap_or(letters)
}

/// [`cleaned`], of each line: for documents whose texts may have several.
pub(crate) fn cleaned_lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(cleaned).collect();
    lines.join("\n")
}

/// JSON for systems that show its texts to people, all of them [`cleaned`]: escapes of JSON hide a character from its
/// parser, not from the reader.
///
/// # Errors
/// `Internal` where a value has no JSON.
pub fn json(name: &str, value: &impl Serialize) -> Result<String> {
    let failed = |error| Error::new(ErrorKind::Internal, name, error);
    let mut value = serde_json::to_value(value).map_err(failed)?;
    clean(&mut value);
    serde_json::to_string_pretty(&value).map(|json| json + "\n").map_err(failed)
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = cleaned_lines(text),
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(fields) => fields.values_mut().for_each(clean),
        _ => {}
    }
}

/// A finished XML document without the characters that XML 1.0 (section 2.2) excludes, and those that hide or reorder text.
/// Neither occurs in markup, so that leaving them out is safe.
pub fn xml(document: &str) -> String {
    document.chars().filter(|character| matches!(character, '\n' | '\t') || is_shown(*character)).collect()
}

/// Whether a character is visible, or white space within a line.
pub(super) fn is_shown(character: char) -> bool {
    !character.is_control() && !is_invisible(character) && !is_no_character(character)
}

/// Whether a character is a bidirectional control, a zero-width character, a soft hyphen, a filler, an annotation or a tag. These
/// are Unicode's format characters and default ignorable ones, except the variation selectors, which emoji and Chinese names use.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e00ff}')
}

/// Whether a code point is one of Unicode's noncharacters (section 23.7 of its standard).
fn is_no_character(character: char) -> bool {
    let code = u32::from(character);
    (0xfdd0..=0xfdef).contains(&code) || code & 0xfffe == 0xfffe
}

fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= MOST_CHARS {
        return text.to_owned();
    }
    let start = text.chars().take(MOST_CHARS - END_CHARS);
    let end = text.chars().skip(count - END_CHARS);
    start.chain(['…']).chain(end).collect()
}

/// A code span whose fence is longer than any run of backticks inside.
fn code_span(text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    let mut longest = 0;
    let mut run = 0;
    for character in text.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    // CommonMark takes one space off each end where both have one.
    let bounded = |edge: Option<char>| edge.is_some_and(|edge| edge == '`' || edge == ' ');
    let pad = if bounded(text.chars().next()) || bounded(text.chars().last()) { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Markdown for a table cell: on one line, pipes escaped; `\|` means a pipe inside code spans too.
pub fn cell(markdown: &str) -> String {
    markdown.replace(['\n', '\r'], " ").replace('|', "\\|")
}

/// A text of the gate's own, before names are put into it; text between backticks becomes code on the page too.
pub(crate) fn own_text(text: &str, target: TextTarget) -> Cow<'_, str> {
    let parts: Vec<&str> = text.split('`').collect();
    if target != TextTarget::Html || parts.len() == 1 || parts.len().is_multiple_of(2) {
        return Cow::Borrowed(text);
    }
    let marked =
        |(index, part): (usize, &str)| if index % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() };
    Cow::Owned(parts.into_iter().enumerate().map(marked).collect())
}

/// Text for HTML content and quoted attributes.
pub fn html(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

fn prose_markdown(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let mut out = String::with_capacity(text.len());
    if parts.len().is_multiple_of(2) {
        words(text, &mut out);
        return out;
    }
    for (index, part) in parts.iter().enumerate() {
        if index % 2 == 1 {
            out.push_str(&name(part, TextTarget::Markdown));
        } else {
            words(part, &mut out);
        }
    }
    out
}

fn words(text: &str, out: &mut String) {
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            out.push(' ');
        }
        let start = word.trim_start_matches(['(', '"', '\'']);
        let core = start.trim_end_matches([',', '.', ';', ':', '?', '!', ')', '"', '\'']);
        let (before, after) = (&word[..word.len() - start.len()], &start[core.len()..]);
        out.push_str(before);
        if is_plain_word(core) {
            out.push_str(core)
        } else {
            out.push_str(&name(core, TextTarget::Markdown))
        }
        out.push_str(after);
    }
}

/// A word that means nothing in Markdown and links to nothing.
fn is_plain_word(word: &str) -> bool {
    let plain = |character: char| {
        character.is_alphanumeric()
            || matches!(character, '-' | '\'' | '.' | ',' | '，' | '。' | '；' | '：' | '、' | '（' | '）')
    };
    word.chars().all(plain) && !word.starts_with('-') && !word.to_ascii_lowercase().contains("www.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_run_inside() {
        assert_eq!(name("a", TextTarget::Markdown), "`a`");
        assert_eq!(name("a`b", TextTarget::Markdown), "``a`b``");
        assert_eq!(name("```", TextTarget::Markdown), "```` ``` ````");
        assert_eq!(name("", TextTarget::Markdown), "");
    }

    #[test]
    fn backticks_of_the_gate_are_code_on_the_page_and_stay_elsewhere() {
        let text = "set `lr` or `{{ name }}`";
        assert_eq!(own_text(text, TextTarget::Html), "set <code>lr</code> or <code>{{ name }}</code>");
        assert_eq!(own_text("a lone ` stays", TextTarget::Html), "a lone ` stays");
        assert_eq!(own_text(text, TextTarget::Markdown), text);
        assert_eq!(own_text(text, TextTarget::Plain), text);
    }

    #[test]
    fn hidden_characters_are_removed_and_lines_joined() {
        assert_eq!(name("a\u{202e}b\u{200b}\u{1b}[31m\nc", TextTarget::Plain), "ab c");
        assert_eq!(name("\u{1b}[1;31mloss\u{1b}[0m \u{1b}[", TextTarget::Plain), "loss ");
    }

    #[test]
    fn long_names_keep_both_ends() {
        let long = format!("start{}end", "x".repeat(500));
        let shown = name(&long, TextTarget::Plain);
        assert_eq!(shown.chars().count(), MOST_CHARS + 1);
        assert!(shown.starts_with("start") && shown.ends_with("end"));
    }

    #[test]
    fn cells_keep_pipes_as_text() {
        assert_eq!(cell("`a|b`"), "`a\\|b`");
        assert_eq!(cell("`a\\|b`"), "`a\\\\|b`");
    }

    #[test]
    fn sentences_stay_readable_and_harmless() {
        let prose = |text| prose(text, TextTarget::Markdown);
        assert_eq!(prose("unexpected end, at byte 12 (of 40)."), "unexpected end, at byte 12 (of 40).");
        assert_eq!(prose("expected `PK`, found `a|b`"), "expected `PK`, found `a|b`");
        assert_eq!(prose("see @org and #1 or http://x"), "see `@org` and `#1` or `http://x`");
        assert_eq!(prose("/merge now"), "`/merge` now");
        assert_eq!(prose("a ` b <img>"), "a `` ` `` b `<img>`");
        assert_eq!(prose("::error:: x"), "`::error`:: x");
    }

    #[test]
    fn quoted_texts_keep_their_beginning_and_are_code_in_markdown_alone() {
        let long = "x".repeat(300);
        assert_eq!(quoted(&long, TextTarget::Plain), format!("{}…", "x".repeat(200)));
        assert_eq!(quoted("a\n`b`", TextTarget::Markdown), "`` a `b` ``");
        assert_eq!(quoted("<b>\u{202e}a", TextTarget::Html), "&lt;b&gt;a");
    }

    #[test]
    fn html_is_text() {
        assert_eq!(name("<b>\"&'", TextTarget::Html), "<code>&lt;b&gt;&quot;&amp;&#39;</code>");
    }
}
