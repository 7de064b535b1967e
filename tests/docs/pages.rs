//! Pages of the repository: which there are, and the headings, links and blocks of one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::made::with_included;

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files below a folder of the repository with this ending, sorted, by their path from the root.
pub(crate) fn files_below(folder: &str, ending: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![PathBuf::from(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).expect("a folder").flatten() {
            let path = folder.join(entry.file_name());
            match entry.path().is_dir() {
                true => folders.push(path),
                false if path.to_string_lossy().ends_with(ending) => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// Pages of the book and those at the root that people read, by their path from the root.
pub(crate) fn pages() -> Vec<PathBuf> {
    let top = ["README.md", "README.zh.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(PathBuf::from);
    files_below("docs", ".md").into_iter().chain(top).collect()
}

/// The text of a page, with the made page that it includes.
pub(crate) fn read(page: &Path) -> String {
    let text = fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    if page.starts_with("docs") { with_included(&text) } else { text }
}

fn events(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

/// Anchor of a heading, as the forge makes it: lower case, words joined by hyphens, without other signs.
pub(crate) fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || ['-', '_', ' '].contains(c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Anchors of a page; a heading that repeats gets a number.
pub(crate) fn anchors(text: &str) -> Vec<String> {
    let (mut found, mut heading) = (Vec::new(), None);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for event in events(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => heading.iter_mut().for_each(|heading| heading.push_str(&text)),
            Event::End(TagEnd::Heading(_)) => {
                let anchor = slug(&heading.take().unwrap_or_default());
                let times = seen.entry(anchor.clone()).or_default();
                found.push(if *times == 0 { anchor } else { format!("{anchor}-{times}") });
                *times += 1;
            }
            _ => {}
        }
    }
    found
}

/// Targets of links and images of a page.
pub(crate) fn links(text: &str) -> Vec<String> {
    let target = |event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.to_string()),
        _ => None,
    };
    events(text).filter_map(target).collect()
}

/// Blocks of code in one of these languages.
pub(crate) fn blocks(text: &str, languages: &[&str]) -> Vec<String> {
    let (mut found, mut block) = (Vec::new(), None);
    for event in events(text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                block = languages.contains(&language.as_ref()).then(String::new);
            }
            Event::Text(text) => block.iter_mut().for_each(|block| block.push_str(&text)),
            Event::End(TagEnd::CodeBlock) => found.extend(block.take()),
            _ => {}
        }
    }
    found
}

/// A release is cut with the version of the package: its section stands first below what is not released yet.
#[test]
fn the_changelog_begins_with_the_version() {
    let (version, text) = (env!("CARGO_PKG_VERSION"), read(Path::new("CHANGELOG.md")));
    let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert!(headings[0] == "[Unreleased]" && headings[1].starts_with(&format!("[{version}] - ")), "{headings:?}");
    let address = format!("https://github.com/precision-gate/precision-gate/releases/tag/v{version}");
    assert!(links(&text).contains(&address), "the heading leads to {address}");
}

#[test]
fn anchors_are_those_of_the_forge() {
    let page = "# What `run` writes: a list\n\n## 问题编码\n\n## Twice\n\n## Twice\n\n```sh\n# no heading\n```\n";
    assert_eq!(anchors(page), ["what-run-writes-a-list", "问题编码", "twice", "twice-1"]);
}
