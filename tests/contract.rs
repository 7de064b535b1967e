//! Promises of the project that a machine can keep: the direction of the layers, codes that are stable, and
//! documents that say what the program does.
#![allow(
    clippy::indexing_slicing,
    clippy::float_cmp,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should; it compares exactly where that is meant, and says what it counted"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::check::CheckId;
use precision_gate::judge::register;

mod codes;
mod comments;
mod modules;

use modules::Modules;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The library, the program and the crates that they are made of.
fn modules() -> Modules {
    let source = |file| root().join(file);
    let modules = Modules::read(&[
        ("precision_gate_result", &source("crates/result/src/lib.rs")),
        ("precision_gate_source", &source("crates/source/src/lib.rs")),
        ("precision_gate", &source("src/lib.rs")),
        ("program", &source("src/main.rs")),
    ]);
    assert!(modules.files().len() > 300, "the sources were not found");
    modules
}

/// A file's way below a folder, without its ending and `src`: `judge/rule`, and of a crate of its own `crates/result/unit`.
fn place(file: &Path, folder: &Path) -> Vec<String> {
    let below = file.strip_prefix(folder).expect("below the folder").with_extension("");
    below.iter().map(|part| part.to_string_lossy().into_owned()).filter(|part| part != "src").collect()
}

/// The layer of a file by its [`place`]. A crate has the layer of its name; that of results holds modules, too, that every
/// other may import.
fn layer(place: &[String]) -> &str {
    let names: Vec<&str> = place.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["crates", "result", name, ..] if GROUND.contains(name) || *name == "exit" => name,
        ["crates", name, ..] => name,
        [name, ..] => name,
        [] => "",
    }
}

/// Modules that every module may import.
const GROUND: [&str; 11] =
    ["documentation", "error", "dtype", "check", "hash", "kind", "language", "layout", "median", "nearest", "verdict"];

/// Modules that each top-level module may import, besides itself: the stages, the modules beside them, and the program
/// above.
fn allowed() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    const STAGES: [(&str, &[&str]); 11] = [
        ("fetch", &["output"]),
        ("read", &["fetch", "source"]),
        ("pair", &["fetch", "read"]),
        ("compare", &["fetch", "read", "pair"]),
        ("judge", &["read", "pair", "compare", "policy", "redact", "result", "source"]),
        ("diagnose", &["read", "pair", "compare", "policy", "judge", "result"]),
        ("history", &["fetch", "policy", "judge", "result"]),
        ("report", &["read", "policy", "judge", "diagnose", "history", "msprobe", "output", "result", "source"]),
        ("reproduce", &["read", "compare", "judge", "diagnose", "report", "output", "result"]),
        ("signoff", &["fetch", "policy", "judge", "report", "output", "result"]),
        ("publish", &["fetch", "policy", "judge", "diagnose", "history", "report", "result"]),
    ];
    const BESIDE: [(&str, &[&str]); 20] = [
        // A program that reads results needs no stage, and neither does one that looks at source.
        ("result", &[]),
        ("source", &["result"]),
        ("kind", &[]),
        ("language", &[]),
        ("layout", &[]),
        ("output", &[]),
        ("redact", &["read"]),
        ("documentation", &[]),
        ("error", &[]),
        ("dtype", &[]),
        ("check", &[]),
        ("hash", &[]),
        ("median", &[]),
        ("nearest", &[]),
        ("verdict", &[]),
        ("exit", &[]),
        ("policy", &["result"]),
        ("msprobe", &["fetch", "read", "pair", "compare", "redact", "result"]),
        ("collect", &["fetch", "read", "redact", "policy"]),
        ("lib", &["exit"]),
    ];
    // The gate runs the checks and knows neither what is signed nor where results go.
    const GATE: [&str; 14] = [
        "fetch", "read", "pair", "compare", "judge", "diagnose", "history", "report", "output", "redact", "policy",
        "msprobe", "result", "source",
    ];
    let stages = STAGES.into_iter().chain(BESIDE).chain([("gate", GATE.as_slice())]);
    let mut allowed: BTreeMap<&str, BTreeSet<&str>> =
        stages.map(|(name, imports)| (name, imports.iter().copied().chain(GROUND).chain([name]).collect())).collect();
    let library: BTreeSet<&str> = allowed.keys().copied().filter(|name| *name != "lib").collect();
    allowed.insert("cli", library.iter().copied().chain(["cli"]).collect());
    allowed.insert("main", ["cli", "report", "exit", "main"].into_iter().chain(GROUND).collect());
    allowed
}

#[test]
fn a_layer_imports_only_the_layers_before_it() {
    let (allowed, modules, root) = (allowed(), modules(), root());
    let layer = |file: &Path| layer(&place(file, &root)).to_owned();
    let layers: BTreeSet<String> = modules.files().into_iter().map(layer).collect();
    assert_eq!(layers.iter().map(String::as_str).collect::<BTreeSet<_>>(), allowed.keys().copied().collect());
    let upward = |(from, to): &(&Path, &Path)| !allowed[layer(from).as_str()].contains(layer(to).as_str());
    let shown = |(from, to): (&Path, &Path)| arrow(&place(from, &root), &place(to, &root));
    let wrong: Vec<String> = modules.arrows().into_iter().filter(upward).map(shown).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Cells of the rows of `docs/architecture.md` that begin with a module, by its name.
fn rows_of_the_architecture() -> BTreeMap<String, Vec<String>> {
    let page = fs::read_to_string(root().join("docs/architecture.md")).expect("a page");
    let row = |line: &str| {
        let (name, cells) = line.strip_prefix("| `")?.split_once("` |")?;
        Some((name.to_owned(), cells.trim_end_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()))
    };
    page.lines().filter_map(row).collect()
}

#[test]
fn the_page_of_the_architecture_names_every_module_and_what_it_imports() {
    let (rows, allowed) = (rows_of_the_architecture(), allowed());
    let page = fs::read_to_string(root().join("docs/architecture.md")).expect("a page");
    for name in allowed.keys().filter(|name| !["lib", "main"].contains(name)) {
        assert!(page.contains(&format!("`{name}`")), "docs/architecture.md does not name `{name}`");
    }
    let stages = rows.iter().filter(|(_, cells)| cells.len() == 3);
    let mut seen = 0;
    for (name, cells) in stages {
        let listed: BTreeSet<&str> = cells[2].split(", ").chain(GROUND).chain([name.as_str()]).collect();
        assert_eq!(listed, allowed[name.as_str()], "the row of `{name}`");
        seen += 1;
    }
    assert_eq!(seen, 11, "rows of stages");
}

fn arrow(from: &[String], to: &[String]) -> String {
    format!("{} imports {}", from.join("/"), to.join("/"))
}

/// No two files of a folder lead to each other, on whatever way through that folder.
///
/// A file and the folder of its name are one room of the folder that they stand in: `judge/dump.rs` with all of
/// `judge/dump/`. An arrow between two files therefore counts once, in the folder where their ways part, between the
/// rooms that they stand in there: `judge/rule.rs` and `judge/dump/rules.rs` that name each other are a circle of
/// `judge`. In the folder of its name a file is a room of its own: one that uses a part is used by no part that it uses, so
/// that what parts share stands in a file that uses none of them.
///
/// A path counts for the file that its longest run of modules leads to. Where that file only hands a name on, as
/// `pub use` does and as any `use` does for the modules below it, the file that the name comes from counts too.
#[test]
fn no_circle_ties_the_files_of_a_folder() {
    let wrong = circles(&modules(), &root());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_circle_is_found_however_its_files_are_named() {
    let one = ["folder/one imports folder/two", "folder/two imports folder/one"];
    for (found, one_says, two_says) in [
        (true, "use super::two::{self as other, Two};", "pub fn of() { crate::folder::one::run() }"),
        (true, "mod inner { use super::super::two; }", "fn f() -> Vec<super::one::One> { vec![] }"),
        (true, "use crate::{folder::{two::Two}};", "pub(crate) use super::one::One as First;"),
        (false, "use super::two;", "#[cfg(test)] mod tests { use super::super::one::One; }"),
        (
            false,
            "use super::two;",
            "// super::one::One\nconst A: &str = \"\\\"super::one::One\"; const B: char = '\"';",
        ),
        (false, "use super::two;", "fn f(one: One) { one.run() }"),
    ] {
        let sources = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(sources.path().join(name), text).expect("written");
        fs::create_dir(sources.path().join("folder")).expect("a folder");
        write("lib.rs", "mod folder;");
        write("folder.rs", "mod one; mod two; pub use one::One;");
        write("folder/one.rs", one_says);
        write("folder/two.rs", two_says);
        let modules = Modules::read(&[("house", &sources.path().join("lib.rs"))]);
        let wanted: &[&str] = if found { &one } else { &[] };
        assert_eq!(circles(&modules, sources.path()), wanted, "{one_says} {two_says}");
    }
}

/// The room of the file that a folder has its name of.
const PARENT: &str = ".";

/// By room, and by the room that it imports: the files that do.
type Rooms = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// The arrows between the rooms of a folder whose end leads back to their start.
fn circles(modules: &Modules, folder: &Path) -> Vec<String> {
    let mut folders: BTreeMap<Vec<String>, Rooms> = BTreeMap::new();
    for (from, to) in modules.arrows() {
        let (from, to) = (place(from, folder), place(to, folder));
        let shared = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
        let room = |place: &[String]| place.get(shared).cloned().unwrap_or_else(|| PARENT.to_owned());
        let rooms = folders.entry(from[..shared].to_vec()).or_default();
        let ties = rooms.entry(room(&from)).or_default().entry(room(&to)).or_default();
        ties.push(arrow(&from, &to));
    }
    folders.values().flat_map(circles_of_folder).cloned().collect()
}

fn circles_of_folder(rooms: &Rooms) -> impl Iterator<Item = &String> {
    let arrows = rooms.iter().flat_map(|(from, ends)| ends.iter().map(move |(to, ties)| (from, to, ties)));
    let back = arrows.filter(|(from, to, _)| reached(rooms, to).contains(from.as_str()));
    back.flat_map(|(.., ties)| ties)
}

/// The rooms that imports lead to from a room, on any way.
fn reached<'a>(rooms: &'a Rooms, start: &'a str) -> BTreeSet<&'a str> {
    let (mut found, mut left) = (BTreeSet::new(), vec![start]);
    while let Some(room) = left.pop() {
        let ends = rooms.get(room).into_iter().flat_map(BTreeMap::keys).map(String::as_str);
        left.extend(ends.filter(|room| found.insert(*room)));
    }
    found
}

#[test]
fn codes_are_unique_and_kebab_case() {
    let mut codes = BTreeSet::new();
    for rule in register::all_rules() {
        assert!(codes.insert(rule.code), "{} is listed twice", rule.code);
        assert!(rule.code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{}", rule.code);
    }
}

#[test]
fn the_readme_names_the_commands_that_work() {
    for readme in ["README.md", "README.zh.md"] {
        let text = fs::read_to_string(root().join(readme)).expect(readme);
        for command in [
            "cargo run --locked -- run --baseline examples/quickstart/gpu --candidate examples/quickstart/npu",
            "cargo test --locked",
            "modeling_glm.py:128",
            "h.index_select(0, order)",
        ] {
            assert!(text.contains(command), "{readme} does not say `{command}`");
        }
    }
}

#[test]
fn every_rule_can_be_weighed_by_a_policy() {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    for code in &codes {
        let policy =
            precision_gate::policy::Policy::parse("policy.yml", &format!("severity: {{ {code}: info }}"), &codes);
        assert!(policy.is_ok_and(|policy| policy.severity.contains_key(*code)), "{code}");
    }
}

/// Files that need all checks take them from their table (`src/check.rs`): elsewhere, a file that names one names no
/// other.
/// A result of others is held against itself check by check, and refused where nothing is known of a check.
#[test]
fn no_file_lists_the_checks() {
    let modules = modules();
    let mut wrong = Vec::new();
    for file in modules.files().into_iter().filter(|file| !file.components().any(|part| part.as_os_str() == "recheck"))
    {
        let text = fs::read_to_string(file).expect("readable");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let named = CheckId::CHECKS.iter().filter(|check| code.contains(&format!("CheckId::{check:?}"))).count();
        if named > 1 {
            wrong.push(format!("{} names {named} checks", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
