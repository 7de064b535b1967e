//! Comments of the sources: the pages that they cite exist, and doc comments name the item that they describe.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::root;

/// Folders with comments of this project.
const COMMENTED: [&str; 9] =
    ["src", "crates", "tests", "benches", "fuzz", "examples", "templates", "binary", "publish"];

/// Documents that the gate writes, which comments name as well.
const DOCUMENTS: [&str; 5] = ["issue.md", "issue.zh.md", "signoff.md", "signoff.zh.md", "summary.md"];

/// Marks of comments by the ending of a file.
const MARKS: [(&str, &str); 6] = [("rs", "//"), ("yaml", "#"), ("yml", "#"), ("toml", "#"), ("py", "#"), ("sh", "#")];

/// Files below a folder, sorted; build folders and fixtures, which others wrote, are left out.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths: BTreeSet<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    let left_out = |path: &Path| path.ends_with("target") || path.ends_with("fixtures") || path.ends_with("seeds");
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    paths.into_iter().filter(|path| !left_out(path)).flat_map(below).collect()
}

/// Comments of a text: number and text of every line from its comment mark on.
fn comments<'a>(text: &'a str, mark: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let lines = text.lines().enumerate();
    lines.filter_map(move |(index, line)| {
        let at = if line.trim_start().starts_with(mark) { line.find(mark) } else { line.find(&format!(" {mark} ")) };
        Some((index + 1, &line[at?..]))
    })
}

/// Pages that a comment names: words that end in `.md`. Addresses of the web and patterns are none.
fn pages(comment: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._-/:*<>{}".contains(c);
    let words = comment.split(move |c| !is_part(c)).map(|word| word.trim_end_matches(['.', ':', '>']));
    words.filter(|word| word.len() > ".md".len() && word.ends_with(".md") && !word.contains(['*', ':', '{', '<']))
}

/// Whether a page stands in the repository, or is a document that the gate writes.
fn exists(page: &str) -> bool {
    root().join(page).is_file() || DOCUMENTS.contains(&page)
}

#[test]
fn comments_cite_pages_of_this_repository() {
    let mut wrong = Vec::new();
    for file in COMMENTED.iter().flat_map(|folder| files_below(&root().join(folder))) {
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let Some((_, mark)) = MARKS.iter().find(|(known, _)| *known == ending) else { continue };
        let text = fs::read_to_string(&file).expect("a text");
        for (line, comment) in comments(&text, mark) {
            let missing = pages(comment).filter(|page| !exists(page));
            wrong.extend(missing.map(|page| format!("{}:{line} cites {page}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_page_is_found_in_a_comment_only() {
    let text = "let a = \"gone.md\";\n//! Rules (`docs/gone.md`, Rules), as gone.md.\nf(); // see docs/loss.md\n";
    let found: Vec<_> =
        comments(text, "//").flat_map(|(line, comment)| pages(comment).map(move |page| (line, page))).collect();
    assert_eq!(found, [(2, "docs/gone.md"), (2, "gone.md"), (3, "docs/loss.md")]);
    assert_eq!(pages("// <https://example.org/a.md>, a.md.j2, docs/*.md").count(), 0);
    assert!(exists("docs/loss.md") && exists("summary.md") && !exists("docs/gone.md"));
}

/// The top folder of a file of sources: `src/judge`, or `tests`.
fn top_folder(path: &str) -> String {
    let parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
    parts[..parts.len().min(if ["src", "crates"].contains(&parts[0]) { 2 } else { 1 })].join("/")
}

/// A doc comment names the item (a noun) or the action (a verb): a question word in front leaves both to the
/// reader.
#[test]
fn doc_comments_begin_with_the_item_or_its_action() {
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in COMMENTED.iter().flat_map(|folder| files_below(&root().join(folder))) {
        let path = file.strip_prefix(root()).expect("below the root").to_string_lossy().replace('\\', "/");
        if !path.ends_with(".rs") {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a text");
        let lines: Vec<&str> = text.lines().collect();
        let before =
            |index: usize| index.checked_sub(1).and_then(|index| lines.get(index)).copied().unwrap_or_default();
        let riddles = lines.iter().enumerate().filter(|(index, line)| is_riddle(before(*index), line));
        let shown = riddles.map(|(index, line)| format!("{path}:{} {}", index + 1, line.trim()));
        wrong.entry(top_folder(&path)).or_default().extend(shown);
    }
    wrong.retain(|_, lines| !lines.is_empty());
    let shown: Vec<String> =
        wrong.iter().map(|(folder, lines)| format!("{folder}: {}\n{}", lines.len(), lines.join("\n"))).collect();
    assert!(wrong.is_empty(), "begin these with the item or its action:\n{}", shown.join("\n"));
}

/// Whether a line of a doc comment begins with "What", or is its first line and begins with another question word.
fn is_riddle(before: &str, line: &str) -> bool {
    let text = |line: &'_ str| {
        let line = line.trim_start();
        line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! ")).map(str::to_owned)
    };
    let Some(said) = text(line) else { return false };
    let first = ["How ", "Where ", "Who ", "When ", "Why ", "Which "];
    let is_first = !before.trim_start().starts_with("//");
    said.starts_with("What ") || (is_first && first.iter().any(|word| said.starts_with(word)))
}

#[test]
fn a_riddle_is_a_doc_comment_that_begins_with_a_question_word() {
    for line in ["    /// What it says.", "//! What a forge answers.", "/// How it is shown.", "/// Why this verdict."]
    {
        assert!(is_riddle("", line), "{line}");
    }
    for line in
        ["/// The message.", "// What follows is safe.", "/// Whatever it is.", "/// Whether it is.", "let a = 1;"]
    {
        assert!(!is_riddle("", line), "{line}");
    }
    let errors = "/// Where the file cannot be read.";
    assert!(
        is_riddle("}", errors) && !is_riddle("/// # Errors", errors) && is_riddle("/// # Errors", "/// What it gives.")
    );
    let folders = ["src/judge/loss.rs", "src/cli.rs", "crates/result/src/unit.rs", "tests/docs.rs"].map(top_folder);
    assert_eq!(folders, ["src/judge", "src/cli", "crates/result", "tests"]);
}
