//! Commands in the documents are commands of the program: each one's flags and words are read by it, and the files of the
//! repository that they name are there.

use std::collections::BTreeSet;
use std::path::PathBuf;

use assert_cmd::Command;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use super::command_line::{commands, help};
use super::pages::{files_below, pages, read, root};

/// Documents that people follow, with their texts.
fn documents() -> impl Iterator<Item = (PathBuf, String)> {
    let all = pages().into_iter().chain(files_below("examples", "README.md"));
    all.map(|page| (page.clone(), read(&page)))
}

/// Languages of blocks that a person types.
const SHELLS: [&str; 3] = ["sh", "bash", "shell"];

/// Texts that a person types: blocks of a shell, and code within lines that begins with the program's name.
pub(super) fn typed(page: &str) -> Vec<String> {
    let (mut texts, mut block) = (Vec::new(), None);
    for event in Parser::new(page) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language =
                    if let CodeBlockKind::Fenced(language) = kind { language.to_string() } else { String::new() };
                block = SHELLS.contains(&language.as_str()).then(String::new);
            }
            Event::Text(text) => block.iter_mut().for_each(|block| block.push_str(&text)),
            Event::End(TagEnd::CodeBlock) => texts.extend(block.take()),
            Event::Code(text) if text.starts_with("precision-gate ") => texts.push(text.to_string()),
            _ => {}
        }
    }
    texts
}

/// Lines of a text, continued ones joined.
pub(super) fn lines(text: &str) -> Vec<String> {
    text.replace("\\\n", " ").lines().map(str::to_owned).collect()
}

/// The arguments of the program in a line, if it is a command of it. What a shell would do with the rest does not matter.
fn arguments(line: &str) -> Option<Vec<String>> {
    let start = line.trim_start().trim_start_matches("$ ");
    let (name, rest) = start.split_once(' ')?;
    // `precision-gate (KEY)` is the name of a check.
    if name.rsplit('/').next() != Some("precision-gate") || rest.starts_with('(') {
        return None;
    }
    let mut words = shlex::split(rest)?;
    let is_end = |word: &String| ["|", ">", ">>", "&&", ";", "#", "||"].contains(&word.as_str());
    words.truncate(words.iter().position(is_end).unwrap_or(words.len()));
    // Dots that stand for more words are left out, those that stand for a flag's value are none.
    let is_open = |word: &str| ["…", "..."].contains(&word);
    let flags: Vec<bool> = words.iter().map(|word| word.starts_with("--")).collect();
    let is_kept = |index: usize, word: &str| !is_open(word) || index.checked_sub(1).is_some_and(|before| flags[before]);
    Some(words.into_iter().enumerate().filter(|(index, word)| is_kept(*index, word)).map(|(_, word)| word).collect())
}

/// The program's refusal of words, before it does anything.
fn refusal(arguments: &[String]) -> Option<String> {
    let asked = Command::cargo_bin("precision-gate").expect("binary").args(arguments).arg("--help").output();
    let asked = asked.expect("runs");
    let said = String::from_utf8_lossy(&asked.stderr);
    // `publish --judge` in a sentence names a flag without its value.
    let is_refused = !asked.status.success() && !said.contains("a value is required for");
    is_refused.then(|| said.lines().next().unwrap_or_default().to_owned())
}

#[test]
fn every_command_of_the_documents_is_one_of_the_program() {
    let (mut seen, mut wrong) = (BTreeSet::new(), String::new());
    for (page, text) in documents() {
        for line in typed(&text).iter().flat_map(|text| lines(text)) {
            let Some(arguments) = arguments(&line).filter(|arguments| seen.insert(arguments.clone())) else { continue };
            let refusal = refusal(&arguments).map(|said| format!("{}: `{}`\n  {said}\n", page.display(), line.trim()));
            wrong.extend(refusal);
        }
    }
    assert_eq!(wrong, "");
    assert!(seen.len() > 60, "{}", seen.len());
}

#[test]
fn files_that_the_documents_run_are_there() {
    let mut seen = 0;
    for (page, text) in documents() {
        for line in typed(&text).iter().flat_map(|text| lines(text)) {
            let words = line.split_whitespace().map(|word| word.trim_matches(['"', '\'', '`', ',']));
            let own = ["benches/", "tests/", ".ci/", "examples/", "templates/"];
            for word in
                words.filter(|word| own.iter().any(|folder| word.starts_with(folder)) && !word.contains(['*', '$']))
            {
                // What cargo builds is there once its package is built.
                let word =
                    word.split_once("/target/").map_or(word.into(), |(package, _)| format!("{package}/Cargo.toml"));
                assert!(root().join(&word).exists(), "{}: {word} in `{}`", page.display(), line.trim());
                seen += 1;
            }
        }
    }
    assert!(seen > 15, "{seen}");
}

/// A paragraph that begins with a bar is a table that does not render: its rows lost their heading, or a heading its rule.
#[test]
fn tables_of_the_documents_render() {
    let (mut tables, mut broken) = (0, Vec::new());
    for (page, text) in documents() {
        for (event, range) in Parser::new_ext(&text, Options::ENABLE_TABLES).into_offset_iter() {
            match event {
                Event::Start(Tag::Table(_)) => tables += 1,
                Event::Start(Tag::Paragraph) if text[range.clone()].lines().all(|line| line.starts_with('|')) => {
                    broken.push(format!("{}: {}", page.display(), text[range].lines().next().unwrap_or_default()));
                }
                _ => {}
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(tables > 100, "{tables}");
}

/// Texts of the program, and pipelines that people copy: what stands between backticks, and lines of scripts.
fn commands_of_texts() -> Vec<(PathBuf, String)> {
    let span = Regex::new(r"`(precision-gate [a-z][^`\n]*)`").expect("a pattern");
    let script = Regex::new(r#"(?:^|[\s"])(precision-gate [a-z]+[^`\n]*)"#).expect("a pattern");
    let (mut found, scripts) = (Vec::new(), ["examples/pipelines", "examples/shards", ".github"]);
    let texts =
        [("src", ".rs"), ("templates", ".yaml"), ("templates", ".j2"), ("templates", ".yml"), ("python", ".py")];
    let texts = texts.into_iter().flat_map(|(folder, ending)| files_below(folder, ending));
    let scripts = scripts.into_iter().flat_map(|folder| files_below(folder, ""));
    let all = texts.map(|file| (file, &span)).chain(scripts.map(|file| (file, &script)));
    for (file, form) in all {
        let text = read(&file).replace("\\\n", " ");
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let is_comment = |line: &str| ["#", "//"].iter().any(|mark| line.trim_start().starts_with(mark));
        let lines = text.lines().filter(|line| !is_comment(line));
        let of_line = |line| form.captures_iter(line).map(|found| found[1].to_owned()).collect::<Vec<_>>();
        found.extend(lines.flat_map(of_line).map(|line| (file.clone(), line)));
    }
    found
}

/// A command of a template with a word in place of each of its values.
fn with_values(line: &str) -> String {
    let value = Regex::new(r"\{\{[^}]*\}\}|\{[^}]*\}|\$[A-Za-z_]+").expect("a pattern");
    value.replace_all(&line.replace("\\\"", "\""), "1").into_owned()
}

#[test]
fn every_command_that_the_program_prints_is_one_of_its_own() {
    let (mut seen, mut wrong) = (BTreeSet::new(), String::new());
    for (file, line) in commands_of_texts() {
        let Some(arguments) = arguments(&with_values(&line)).filter(|words| seen.insert(words.clone())) else {
            continue;
        };
        let refusal = refusal(&arguments).map(|said| format!("{}: `{line}`\n  {said}\n", file.display()));
        wrong.extend(refusal);
    }
    assert_eq!(wrong, "");
    assert!(seen.len() > 40, "{seen:?}");
}

/// Flags of other programs that pages and messages name.
const FLAGS_OF_OTHERS: [(&str, &str); 14] = [
    ("--consistent_check", "msprobe"),
    ("--device", "benchmarks"),
    ("--dump-eval-details", "AISBench"),
    ("--flag", "any program"),
    ("--gen_kwargs", "lm-evaluation-harness"),
    ("--limit", "lm-evaluation-harness"),
    ("--log_samples", "lm-evaluation-harness"),
    ("--logprobs-mode", "vLLM"),
    ("--num_fewshot", "lm-evaluation-harness"),
    ("--precision-baseline", "the plugin of pytest"),
    ("--require-hashes", "pip"),
    ("--save-debug-rollout-data", "slime"),
    ("--save-debug-train-data", "slime"),
    ("--tensor-model-parallel-size", "Megatron"),
];

#[test]
fn every_flag_of_the_documents_is_one_of_the_program() {
    let all: String =
        commands().iter().map(|words| help(&words.iter().map(String::as_str).collect::<Vec<_>>(), "120")).collect();
    let flag = Regex::new(r"`(--[a-z][a-z0-9_-]*)").expect("a pattern");
    let known: BTreeSet<&str> = all
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
        .filter(|word| word.starts_with("--"))
        .collect();
    let texts = files_below("templates/messages", ".yaml").into_iter().map(|file| (file.clone(), read(&file)));
    let (mut seen, mut wrong) = (BTreeSet::new(), BTreeSet::new());
    for (page, text) in documents().chain(texts) {
        for found in flag.captures_iter(&text) {
            seen.insert(found[1].to_owned());
            let is_of_others = FLAGS_OF_OTHERS.iter().any(|(flag, _)| *flag == &found[1]);
            if !known.contains(&found[1]) && !is_of_others {
                wrong.insert(format!("{}: {}", page.display(), &found[1]));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen.len() > 60, "{}", seen.len());
    let unused = FLAGS_OF_OTHERS.iter().filter(|(flag, _)| !seen.contains(*flag)).collect::<Vec<_>>();
    assert!(unused.is_empty(), "no page names {unused:?} any more");
}
