//! Documents that are made from the program stay what the program says. `UPDATE_DOCS=1 cargo test --test docs` writes them
//! again.
#![allow(
    clippy::indexing_slicing,
    clippy::float_cmp,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should; it compares exactly where that is meant, and says what it counted"
)]

use std::fmt::Write;
use std::fs;
use std::path::Path;

use precision_gate::judge::rule;
use precision_gate::report::messages::{Language, texts};

fn is_fresh(name: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, wanted).expect("written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/{name} is stale: run `UPDATE_DOCS=1 cargo test --test docs`");
}

/// A message without its places for facts, of many where it counts something.
fn plain(template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let is_value = after.starts_with('{');
        let (inside, behind) = after.split_once(if is_value { "}}" } else { "%}" }).unwrap_or(("", ""));
        match inside.split_once("| pluralize") {
            Some((_, endings)) => text.push_str(endings.rsplit('\'').nth(1).unwrap_or("s")),
            None if is_value => text.push('…'),
            None => {}
        }
        rest = behind;
    }
    text.push_str(rest);
    text.replace('|', "\\|").replace('\n', " ")
}

#[test]
fn every_finding_code_is_listed() {
    let mut page = String::from(
        "# Finding codes\n\nStable for ever; a policy names them under `severity` and `waivers`. Made by `UPDATE_DOCS=1 cargo test --test docs`.\n\n\
         | code | check | severity by default | what it says | what to do |\n|---|---|---|---|---|\n",
    );
    let mut rules: Vec<_> = rule::all().collect();
    rules.sort_by_key(|rule| (rule.check, rule.code));
    for rule in rules {
        let (message, help) = texts(rule.code, Language::En).expect("every code has a text");
        let severity = format!("{:?}", rule.severity).to_lowercase();
        writeln!(
            page,
            "| `{}` | {} | {severity} | {} | {} |",
            rule.code,
            rule.check.as_str(),
            plain(message),
            plain(help)
        )
        .expect("a string takes it");
    }
    is_fresh("findings.md", &page);
}
