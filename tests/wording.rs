//! Every text that people read: no retired word, no riddle, no English left in Chinese.
//!
//! A phrase that was replaced once stays replaced: it goes into the lists here, with the word that stands for it now.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should"
)]

pub(crate) mod chinese;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Phrases that no English text holds any more, and what to write in their place. Patterns are of whole words, whatever
/// their case.
const RETIRED: &[(&str, &str)] = &[
    ("numbers first part|where the numbers part", "first difference"),
    ("passed ones too", "all rules"),
    ("nothing there on either side", "no files given"),
    (r"starts at \{\{|it starts at", "first wrong: X"),
    ("agrees within noise", "within rounding (largest error, limit)"),
    ("nothing dumped (before it )?(produced|made)", "made before the first dumped operation"),
    ("of (its|the tensor's|the) scale|relative to scale|of scale", "off by 32 %"),
    ("(the )?gate knows|knows nothing of|nothing known", "say what was looked for and what to set"),
    ("nothing says which is meant|nobody says", "name the files found and ask for one"),
    ("asks for no (further|more)", "nothing more to collect"),
    ("cr(y|ies|ied) wolf", "false-alarm rate"),
    ("as (they|it) lies?", "borrowed without conversion; as it is stored"),
    ("(nothing|lies|lie) (that )?lies? (at|on|in|where|there|beside)", "is, stands, is stored"),
    ("is not among it", "say what was removed"),
    ("had better", "say what happens"),
    ("in the way of nobody", "say what it removes"),
    ("in memory one after the other", "only one rank is in memory at a time"),
    ("nights that know|know the nights", "earlier runs"),
    (
        "is no (pass|proof|transient|agreement|evidence|sign)|prove[sd]? nothing",
        "is not a pass; does not count as agreement",
    ),
    (
        "(who|nobody|somebody|someone|person) answers for|nobody answers|vouch(es)? for|speaks? for",
        "owner; is verified by; shows",
    ),
    ("tells? nothing|say(s)? nothing of|tell something", "cannot be judged"),
    ("stray(s|ed)?", "differs, is off by"),
    ("in the light of", "compared with"),
    ("what is known to differ", "known differences"),
    ("(errs|err) in|only rank .* errs", "is wrong"),
    ("suffices? for this|suffices?", "is enough"),
    ("is to be done", "nothing to do"),
    ("of another (kind|sort) of truth|riddle", "say it plainly"),
    ("otherwise than|chooses otherwise|lest|whence|thereof|wherein|whereof|hitherto|nought|aught", "modern words"),
    ("in place of ours|the gate's own", "of precision-gate"),
    ("(expected|invalid type:?) struct", "name the keys that are expected"),
    ("signing http request", "no S3 credentials: set AWS_ACCESS_KEY_ID"),
    ("unknown field", "unknown key"),
    ("the one (side|hand) alone|on one side alone", "only on the NPU"),
];

/// Phrases that no message of a finding, evidence or advice holds: there sides have names.
const NAMELESS: &[(&str, &str)] = &[
    ("(on|from|of) (only )?one side( only)?|one side only", "{{ baseline_name }}, {{ candidate_name }} or {{ side }}"),
    ("the baseline side|the candidate side|baseline side|candidate side", "the {{ baseline_name }} side"),
    (
        "baseline:? \\{\\{|candidate:? \\{\\{",
        "{{ baseline_name }} {{ baseline }}, {{ candidate_name }} {{ candidate }}",
    ),
];

/// Words of the glossary that no Chinese text holds any more.
const RETIRED_CHINESE: &[(&str, &str)] = &[
    ("基线", "标杆"),
    ("(?i)golden", "标杆"),
    ("候选", "待测"),
    ("首个偏差算子", "首个精度异常算子"),
    ("张量尺度|张量量级|相对尺度|相对其尺度|相对量级", "相对误差"),
    ("(^|[^有])限值", "阈值"),
    ("警告", "告警"),
    ("无法判定", "不完整；未判定"),
    ("不通过", "失败"),
    ("静默数据损坏", "静默数据错误"),
    ("打平", "取值几乎相等"),
    ("损失图线|损失曲线", "loss 曲线"),
    ("转储", "dump；采集"),
    ("其他问题|其他发现", "问题清单"),
    ("录制", "采集"),
    ("两侧都没有(文件)?$", "未检查"),
    ("门限", "阈值"),
    ("噪声上限", "噪声阈值"),
    ("请在图中", "给出命令"),
];

/// Words of the glossary that Chinese messages do not use where sides have names.
const NAMELESS_CHINESE: &[(&str, &str)] = &[
    ("仅一侧|只有一侧|某一侧|有一侧|以下一侧|在一侧", "{{ side }}侧"),
    ("(?i)baseline 为|candidate 为", "{{ baseline_name }} 为"),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files below a folder with one of the endings.
fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.to_string_lossy().into_owned();
            match path.is_dir() {
                true => folders.push(path),
                false if endings.iter().any(|ending| name.ends_with(ending)) => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// The texts of a catalogue: every string of the YAML below its keys, with the keys that lead to it.
fn catalogue(path: &Path) -> BTreeMap<String, String> {
    fn strings(value: &serde_yaml::Value, key: &str, into: &mut BTreeMap<String, String>) {
        match value {
            serde_yaml::Value::String(text) => {
                into.insert(key.to_owned(), text.clone());
            }
            serde_yaml::Value::Mapping(entries) => {
                for (name, value) in entries {
                    strings(value, &format!("{key}.{}", name.as_str().unwrap_or_default()), into);
                }
            }
            _ => {}
        }
    }
    let mut texts = BTreeMap::new();
    let name = path.file_stem().expect("a name").to_string_lossy();
    strings(&serde_yaml::from_str(&read(path)).expect("YAML"), &name, &mut texts);
    texts
}

fn catalogues(language: &str) -> BTreeMap<String, String> {
    files(&format!("templates/messages/{language}"), &[".yaml"]).iter().flat_map(|path| catalogue(path)).collect()
}

/// String literals of a source file and what `--help` shows of it, without its tests.
fn literals(source: &str) -> String {
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let literal = Regex::new(r#""(?:[^"\\]|\\.)*""#).expect("a pattern");
    let mut texts = String::new();
    for line in source.lines() {
        let code = line.trim_start();
        // A comparison holds the words of a library, which are shown to nobody.
        if code.starts_with("//") || code.contains("== \"") {
            continue;
        }
        // Words without a space between them are codes and keys, which are contracts.
        for found in literal.find_iter(line).filter(|found| found.as_str().contains(' ')) {
            texts.push_str(found.as_str());
            texts.push('\n');
        }
        // A literal that goes on in the next line.
        if line.matches('"').count() % 2 == 1 {
            texts.push_str(code);
            texts.push('\n');
        }
    }
    texts
}

/// Doc comments of a file of the command line, which `--help` shows.
fn help_texts(source: &str) -> String {
    source.lines().filter_map(|line| line.trim_start().strip_prefix("/// ")).collect::<Vec<_>>().join("\n")
}

/// Every English text, by where it stands.
fn english() -> BTreeMap<String, String> {
    let mut texts = catalogues("en");
    let name = |path: &Path| path.strip_prefix(root()).expect("below the root").display().to_string();
    let mut add = |path: PathBuf, text: String| texts.insert(name(&path), text);
    for page in files("docs", &[".md"])
        .into_iter()
        .chain(["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(|page| root().join(page)))
    {
        let text = read(&page);
        add(page, text);
    }
    for path in ["src", "crates"].iter().flat_map(|folder| files(folder, &[".rs"])) {
        let source = read(&path);
        let shown = if name(&path).starts_with("src/cli") { help_texts(&source) } else { String::new() };
        let tests = path.ends_with("tests.rs");
        if !tests {
            add(path, format!("{}\n{shown}", literals(&source)));
        }
    }
    for path in files("templates", &[".j2", ".yml"]) {
        let text = read(&path);
        add(path, text);
    }
    texts
}

/// Every use of a retired phrase.
fn uses(texts: &BTreeMap<String, String>, retired: &[(&str, &str)], whole_words: bool) -> String {
    let mut found = String::new();
    for (phrase, instead) in retired {
        let pattern = if whole_words { format!(r"(?i)\b(?:{phrase})(?:\b|$)") } else { (*phrase).to_owned() };
        let pattern = Regex::new(&pattern.replace(r"\{\{)(?:\b|$)", r"\{\{)")).expect("a pattern");
        for (place, text) in texts {
            for line in text.lines().filter(|line| pattern.is_match(line)) {
                writeln!(found, "{place}: `{phrase}` (write: {instead})\n    {}", line.trim())
                    .expect("a string takes it");
            }
        }
    }
    found
}

#[test]
fn english_texts_hold_no_retired_phrase() {
    let found = uses(&english(), RETIRED, true);
    assert!(found.is_empty(), "\n{found}");
}

/// Messages of findings and sentences of evidence and advice, which are written over named sides.
fn sentences(language: &str) -> BTreeMap<String, String> {
    let is_sentence = |key: &str| {
        !key.starts_with("report.")
            && !key.starts_with("opening.")
            && !key.starts_with("explain.")
            && !key.starts_with("formulas.")
            && !key.starts_with("signoff.")
            && !key.starts_with("diagnoses.titles")
            && !key.starts_with("diagnoses.explained")
    };
    catalogues(language).into_iter().filter(|(key, _)| is_sentence(key)).collect()
}

#[test]
fn messages_call_the_two_runs_by_name() {
    let found = uses(&sentences("en"), NAMELESS, false) + &uses(&sentences("zh"), NAMELESS_CHINESE, false);
    assert!(found.is_empty(), "\n{found}");
}

#[test]
fn chinese_texts_hold_no_retired_word() {
    let mut texts = catalogues("zh");
    texts.insert("README.zh.md".into(), read(&root().join("README.zh.md")));
    let found = uses(&texts, RETIRED_CHINESE, false);
    assert!(found.is_empty(), "\n{found}");
}

#[test]
fn chinese_texts_hold_no_english_and_no_stray_space() {
    let mut texts = catalogues("zh");
    texts.retain(|key, _| !key.starts_with("formulas.") && !key.starts_with("signoff."));
    texts.insert("README.zh.md".into(), read(&root().join("README.zh.md")));
    let hole = Regex::new(r"\{\{.*?\}\}|\{%.*?%\}").expect("a pattern");
    let mut found = String::new();
    for (key, text) in &texts {
        let words = chinese::english(text, &BTreeSet::new());
        if !words.is_empty() {
            writeln!(found, "{key}: {words:?}\n    {text:.200}").expect("a string takes it");
        }
        let spaces = chinese::stray_spaces(&hole.replace_all(text, "\u{1}"));
        if !spaces.is_empty() {
            writeln!(found, "{key}: spaces at {spaces:?}").expect("a string takes it");
        }
    }
    assert!(found.is_empty(), "\n{found}");
}

/// Chinese fits a side's name without spaces of its own: the writer sets one where a name in Latin letters needs it.
#[test]
fn chinese_texts_leave_the_space_beside_a_sides_name_to_the_writer() {
    let spaced = Regex::new(r"\p{Han} \{\{ (side|sides|check|training|baseline_name|candidate_name) \}\}|\{\{ (side|sides|check|training|baseline_name|candidate_name) \}\} \p{Han}").expect("a pattern");
    let found: Vec<String> = catalogues("zh")
        .into_iter()
        .filter(|(_, text)| spaced.is_match(text))
        .map(|(key, text)| format!("{key}: {text}"))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_lists_find_what_they_name() {
    let text = |text: &str| BTreeMap::from([("here".to_owned(), text.to_owned())]);
    assert!(!uses(&text("holds nothing the gate knows"), RETIRED, true).is_empty());
    assert!(!uses(&text("it starts at {{ culprit }}"), RETIRED, true).is_empty());
    assert!(uses(&text("the restrayed noisegate"), RETIRED, true).is_empty());
    assert_eq!(chinese::stray_spaces("在 标杆侧，见 GPU 侧。 好"), ["在 标", "。 好"]);
    let names = BTreeSet::from(["glm".to_owned()]);
    let left = chinese::english("见 `any code`、glm 与 NPU 的 dump，the Functional.linear.0 差异 found", &names);
    assert_eq!(left.into_iter().collect::<Vec<_>>(), ["found", "the"]);
}
