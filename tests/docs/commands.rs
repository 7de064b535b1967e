//! Commands in the documents are commands of the program: each one's flags and words are read by it, and the files of the
//! repository that they name are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Documents that people follow.
fn pages(root: &Path) -> Vec<PathBuf> {
    let docs = fs::read_dir(root.join("docs")).expect("docs").map(|entry| entry.expect("an entry").path());
    let top = ["README.md", "README.zh.md", "CONTRIBUTING.md"].map(|name| root.join(name));
    let mut pages: Vec<PathBuf> =
        docs.filter(|path| path.extension().is_some_and(|end| end == "md")).chain(top).collect();
    pages.sort();
    pages
}

/// Texts that a person types: blocks of a shell or of no language, and code within lines that begins with the program's name.
fn typed(page: &str) -> Vec<String> {
    let (mut texts, mut block) = (Vec::new(), None);
    for event in Parser::new(page) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language =
                    if let CodeBlockKind::Fenced(language) = kind { language.to_string() } else { String::new() };
                block = ["", "sh", "bash", "shell"].contains(&language.as_str()).then(String::new);
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
fn lines(text: &str) -> Vec<String> {
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

#[test]
fn every_command_of_the_documents_is_one_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut seen, mut wrong) = (BTreeSet::new(), String::new());
    for page in pages(root) {
        let text = fs::read_to_string(&page).expect("a page");
        for line in typed(&text).iter().flat_map(|text| lines(text)) {
            let Some(arguments) = arguments(&line).filter(|arguments| seen.insert(arguments.clone())) else { continue };
            let asked = Command::cargo_bin("precision-gate").expect("binary").args(&arguments).arg("--help").output();
            let asked = asked.expect("runs");
            let said = String::from_utf8_lossy(&asked.stderr);
            // `publish --judge` in a sentence names a flag without its value.
            if !asked.status.success() && !said.contains("a value is required for") {
                let first = said.lines().next().unwrap_or_default();
                wrong.push_str(&format!("{}: `{}`\n  {first}\n", page.display(), line.trim()));
            }
        }
    }
    assert_eq!(wrong, "");
    assert!(seen.len() > 60, "{}", seen.len());
}

#[test]
fn files_that_the_documents_run_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for page in pages(root) {
        let text = fs::read_to_string(&page).expect("a page");
        for line in typed(&text).iter().flat_map(|text| lines(text)) {
            let words = line.split_whitespace().map(|word| word.trim_matches(['"', '\'', '`', ',']));
            let own = ["benches/", "tests/", ".ci/", "examples/", "templates/"];
            for word in
                words.filter(|word| own.iter().any(|folder| word.starts_with(folder)) && !word.contains(['*', '$']))
            {
                assert!(root.join(word).exists(), "{}: {word} in `{}`", page.display(), line.trim());
                seen += 1;
            }
        }
    }
    assert!(seen > 15, "{seen}");
}

/// A paragraph that begins with a bar is a table that does not render: its rows lost their heading, or a heading its rule.
#[test]
fn tables_of_the_documents_render() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut tables, mut broken) = (0, Vec::new());
    for page in pages(root) {
        let text = fs::read_to_string(&page).expect("a page");
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
