//! Pages that the book includes and nobody commits, as each change of a message would change thousands of their lines. The tests
//! write them below `target/pages`, from where `mdbook build docs` takes them.

use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

use precision_gate::report::explain::{self, page::page};
use precision_gate::report::messages::Language;

use super::command_line;
use super::pages::{files_below, root};

/// The text of a page.
type Maker = fn() -> String;

/// Names of the pages, and what makes them.
const MADE: [(&str, Maker); 3] = [
    ("findings.md", || page(Language::En)),
    ("findings.zh.md", || page(Language::Zh)),
    ("reference-cli.md", command_line::page),
];

/// The texts, made once.
static TEXTS: LazyLock<BTreeMap<&str, String>> =
    LazyLock::new(|| MADE.iter().map(|(name, make)| (*name, make())).collect());

/// The text of a made page.
pub(super) fn text(name: &str) -> &'static str {
    TEXTS.get(name).unwrap_or_else(|| panic!("no test makes {name}"))
}

/// Beginning of the line by which a page of `docs/` includes a made one.
const INCLUDE: &str = "{{#include ../target/pages/";

/// A page with the made one that it includes in its place.
pub(super) fn with_included(page: &str) -> String {
    let line = |line: &str| {
        let name = line.strip_prefix(INCLUDE).and_then(|rest| rest.strip_suffix("}}"));
        name.map_or_else(|| line.to_owned(), |name| text(name).to_owned())
    };
    page.lines().map(|found| line(found) + "\n").collect()
}

#[test]
fn pages_of_the_book_are_made() {
    let folder = root().join("target/pages");
    fs::create_dir_all(&folder).expect("a folder");
    for (name, _) in MADE {
        fs::write(folder.join(name), text(name)).expect("written");
        let page = fs::read_to_string(root().join("docs").join(name)).expect("a page");
        assert!(page.contains(&format!("\n{INCLUDE}{name}}}}}\n")), "docs/{name} does not include what is made");
    }
    let mut including = files_below("docs", ".md");
    including.retain(|path| fs::read_to_string(root().join(path)).expect("a page").contains(INCLUDE));
    assert_eq!(including.len(), MADE.len(), "{including:?}");
}

#[test]
fn every_code_is_explained() {
    for name in ["findings.md", "findings.zh.md"] {
        let page = text(name);
        for code in explain::codes() {
            assert!(page.contains(&format!("`{code}`")), "{name} lacks {code}");
        }
        for glue in ["{{", "{%", "…", "||", "****", ": \n", "：\n"] {
            assert!(!page.contains(glue), "{name} holds `{glue}`");
        }
    }
}
