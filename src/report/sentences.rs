//! The program's own sentences in Chinese: errors, reasons, advice and kinds of files.
//!
//! The code contains them once, in English, as format strings. `templates/messages/zh/sentences.yaml` maps each such string to a
//! Chinese sentence. A text is recognised by the words between its values, and its values are put into the Chinese sentence;
//! values that are sentences are translated as well. English sentences in results of earlier versions, in parts that other
//! machines measured, and from libraries are therefore shown in Chinese too.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::sides::is_chinese;
use crate::language::Language;

/// Largest depth of nested sentences, such as an error of an archive about an error of its member.
const MOST_NESTED: usize = 4;

/// Largest length in bytes of a sentence of the program; a longer text is a quotation.
const LONGEST: usize = 8 << 10;

/// English sentences with their Chinese ones.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    /// Sentences in the source of this program.
    own: BTreeMap<String, String>,
    /// Sentences of libraries and the operating system, and words that are put together at run time.
    libraries: BTreeMap<String, String>,
}

/// A sentence in both languages.
struct Sentence {
    /// English words before the first value, between values, and after the last one.
    words: Vec<String>,
    /// Names of the values; empty for a value without a name.
    names: Vec<String>,
    /// The Chinese sentence.
    chinese: Vec<Part>,
}

/// A part of a Chinese sentence.
enum Part {
    /// Literal words.
    Words(String),
    /// The value of this position in the English sentence.
    Value(usize),
}

/// All sentences, those with the most words first, since a short pattern may match the text of a longer one.
static SENTENCES: LazyLock<Vec<Sentence>> = LazyLock::new(|| {
    let text = include_str!("../../templates/messages/zh/sentences.yaml");
    let catalogue: Catalogue = serde_yaml::from_str(text).expect("invariant: shipped sentences are tested");
    let all = catalogue.own.iter().chain(&catalogue.libraries);
    let mut sentences: Vec<Sentence> = all.map(|(english, chinese)| Sentence::new(english, chinese)).collect();
    sentences.sort_by_key(|sentence| std::cmp::Reverse(sentence.words.iter().map(String::len).sum::<usize>()));
    sentences
});

/// Translates `text` into `language` if it is a sentence of the program, or a place with such a sentence after a colon; otherwise
/// returns it unchanged.
///
/// ```
/// use precision_gate::language::Language;
/// use precision_gate::report::sentences::in_language;
///
/// let text = in_language("gpu/a.npy: holds 12 bytes, its header promises 16", Language::Zh);
/// assert_eq!(text, "gpu/a.npy：实有 12 字节，文件头声明 16 字节");
/// ```
pub fn in_language(text: &str, language: Language) -> Cow<'_, str> {
    let chinese = (language == Language::Zh && text.len() <= LONGEST).then(|| chinese(text, MOST_NESTED)).flatten();
    chinese.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The Chinese form of a text; `None` if it is not a sentence of the program.
fn chinese(text: &str, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let whole = SENTENCES.iter().find_map(|sentence| Some(sentence.filled(&sentence.values(text)?, depth)));
    whole.or_else(|| behind_a_place(text, depth)).or_else(|| listed(text, depth))
}

/// Translates a text of the form `place: sentence`.
fn behind_a_place(text: &str, depth: usize) -> Option<String> {
    text.match_indices(": ").find_map(|(at, colon)| {
        let (place, rest) = (text.get(..at)?, text.get(at + colon.len()..)?);
        let sentence = chinese(rest, depth)?;
        // A place of one word is a name and stays.
        let place_in_chinese = if place.contains(' ') { chinese(place, depth) } else { None };
        Some(format!("{}：{sentence}", place_in_chinese.as_deref().unwrap_or(place)))
    })
}

/// Translates a text of the form `sentence; sentence`.
fn listed(text: &str, depth: usize) -> Option<String> {
    let (first, rest) = text.split_once("; ")?;
    let (one, others) = (chinese(first, depth), chinese(rest, depth));
    let is_known = one.is_some() || others.is_some();
    is_known.then(|| format!("{}；{}", one.as_deref().unwrap_or(first), others.as_deref().unwrap_or(rest)))
}

impl Sentence {
    fn new(english: &str, chinese: &str) -> Self {
        let (mut words, mut names) = (Vec::new(), Vec::new());
        for (before, name) in pieces(english) {
            words.push(before.to_owned());
            names.extend(name.map(str::to_owned));
        }
        let mut parts = Vec::new();
        let mut next = 0;
        for (before, name) in pieces(chinese) {
            parts.push(Part::Words(before.to_owned()));
            let Some(name) = name else { continue };
            let named = names.iter().position(|known| !name.is_empty() && known == name);
            let numbered = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            parts.push(Part::Value(named.or(numbered).unwrap_or(next)));
            next += 1;
        }
        Self { words, names, chinese: parts }
    }

    /// The values in a text that matches this sentence; `None` for any other text.
    fn values<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        let (first, rest) = self.words.split_first()?;
        let mut left = text.strip_prefix(first.as_str())?;
        let Some((last, between)) = rest.split_last() else { return left.is_empty().then(Vec::new) };
        let mut values = Vec::with_capacity(self.names.len());
        for words in between {
            let (value, after) = left.split_once(words.as_str())?;
            values.push(value);
            left = after;
        }
        values.push(left.strip_suffix(last.as_str())?);
        Some(values)
    }

    /// The Chinese sentence with its values; values that are sentences outside of code spans are translated.
    fn filled(&self, values: &[&str], depth: usize) -> String {
        let mut text = String::new();
        for part in &self.chinese {
            match part {
                Part::Words(words) => join(&mut text, words),
                Part::Value(position) => {
                    let value = values.get(*position).copied().unwrap_or_default();
                    let in_chinese = if text.ends_with('`') { None } else { chinese(value, depth) };
                    join(&mut text, in_chinese.as_deref().unwrap_or(value));
                }
            }
        }
        text.trim_end().to_owned()
    }
}

/// Appends `more` without a space between two Chinese characters or beside Chinese punctuation.
fn join(text: &mut String, more: &str) {
    let is_wide = |letter: char| is_chinese(letter) || matches!(letter, '，' | '。' | '：' | '；' | '、' | '（' | '）');
    let (end, start) = (text.trim_end_matches(' '), more.trim_start_matches(' '));
    let (before, after) = (end.chars().next_back(), start.chars().next());
    let is_spaced = end.len() < text.len() || start.len() < more.len();
    let is_between = before.is_some_and(is_wide) && after.is_some_and(is_wide);
    if is_spaced && (is_between || after.is_none()) {
        text.truncate(end.len());
        text.push_str(start);
    } else {
        text.push_str(more);
    }
}

/// The words of a format string, each with the name of the value after them; `None` after the last words.
fn pieces(format: &str) -> Vec<(&str, Option<&str>)> {
    let (mut found, mut rest) = (Vec::new(), format);
    while let Some((before, name, after)) = first_value(rest) {
        found.push((before, Some(name)));
        rest = after;
    }
    found.push((rest, None));
    found
}

/// The first `{name}` of a format string, with the text before and after it.
fn first_value(format: &str) -> Option<(&str, &str, &str)> {
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    format.match_indices('{').find_map(|(at, _)| {
        let (name, after) = format.get(at + 1..)?.split_once('}')?;
        is_name(name).then_some((format.get(..at)?, name, after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_keeps_its_values_in_the_order_of_its_language() {
        for (english, chinese) in [
            ("expected a list at byte 3", "字节 3 处应为列表"),
            ("needs 8 bytes at offset 16, the file has 20", "在偏移 16 处需要 8 字节，文件只有 20 字节"),
            (
                "not valid JSON at byte 9: expected a key in double quotes, the file ends here",
                "字节 9 处不是有效的 JSON：应为双引号中的键，文件到此结束",
            ),
            ("there is no such finding code; did you mean `x-y`?", "没有这个问题代码；是否要写 `x-y`？"),
            ("gpu/x.json: No such file or directory (os error 2)", "gpu/x.json：没有这个文件或目录"),
        ] {
            assert_eq!(in_language(english, Language::Zh), chinese);
            assert_eq!(in_language(english, Language::En), english);
        }
    }

    #[test]
    fn what_is_no_sentence_of_the_program_stays() {
        for text in ["", "a", "训练日志", "Functional.linear.0.forward", "my own reason: a kernel"] {
            assert_eq!(in_language(text, Language::Zh), text);
        }
    }

    #[test]
    fn every_chinese_sentence_names_values_that_its_english_one_has() {
        let text = include_str!("../../templates/messages/zh/sentences.yaml");
        let catalogue: Catalogue = serde_yaml::from_str(text).expect("YAML");
        for (english, chinese) in catalogue.own.iter().chain(&catalogue.libraries) {
            let sentence = Sentence::new(english, chinese);
            let used = sentence.chinese.iter().filter_map(|part| match part {
                Part::Value(position) => Some(*position),
                Part::Words(_) => None,
            });
            assert!(used.into_iter().all(|position| position < sentence.names.len()), "{english}: {chinese}");
        }
    }

    /// Format strings of the sources: a sentence that nobody says any more is no entry, and a changed one needs its Chinese.
    #[test]
    fn every_sentence_stands_in_the_sources() {
        let mut sources = String::new();
        let home = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut folders = vec![home.join("src"), home.join("crates")];
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
                match path.is_dir() {
                    true => folders.push(path),
                    false => sources.push_str(&std::fs::read_to_string(path).expect("text")),
                }
            }
        }
        let continued = regex::Regex::new(r"\\\n\s*").expect("a pattern");
        let kind = regex::Regex::new(r"\{(\w*):[^{}\s]*\}").expect("a pattern");
        let sources = kind.replace_all(&continued.replace_all(&sources, ""), "{$1}").into_owned();
        let text = include_str!("../../templates/messages/zh/sentences.yaml");
        let catalogue: Catalogue = serde_yaml::from_str(text).expect("YAML");
        let written = |english: &str| english.replace('\\', "\\\\").replace('"', "\\\"");
        let lost: Vec<&String> = catalogue.own.keys().filter(|english| !sources.contains(&written(english))).collect();
        assert!(lost.is_empty(), "{lost:#?}");
    }
}
