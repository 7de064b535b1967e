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
use precision_gate::judge::rule;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// What each top-level module may import, besides itself.
fn allowed() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    const GROUND: [&str; 4] = ["error", "dtype", "check", "verdict"];
    const STAGES: [(&str, &[&str]); 10] = [
        ("fetch", &["output"]),
        ("read", &["fetch"]),
        ("pair", &["fetch", "read"]),
        ("compare", &["fetch", "read", "pair"]),
        ("judge", &["read", "pair", "compare", "policy", "redact"]),
        ("diagnose", &["read", "pair", "compare", "policy", "judge"]),
        ("history", &["fetch", "policy", "judge"]),
        ("report", &["read", "policy", "judge", "diagnose", "history", "msprobe", "output"]),
        ("signoff", &["fetch", "policy", "judge", "report", "output"]),
        ("publish", &["fetch", "policy", "judge", "diagnose", "history", "report"]),
    ];
    const BESIDE: [(&str, &[&str]); 10] = [
        ("output", &[]),
        ("redact", &["read"]),
        ("error", &[]),
        ("dtype", &[]),
        ("check", &[]),
        ("verdict", &[]),
        ("exit", &[]),
        ("policy", &[]),
        ("msprobe", &["fetch", "read", "pair", "compare", "redact"]),
        ("collect", &["fetch", "read", "redact", "policy"]),
    ];
    let with_ground = |(name, imports): (&'static str, &[&'static str])| {
        (name, imports.iter().copied().chain(GROUND).chain([name]).collect())
    };
    STAGES.into_iter().chain(BESIDE).map(with_ground).collect()
}

#[test]
fn a_layer_imports_only_the_layers_before_it() {
    let allowed = allowed();
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    assert!(files.len() > 30, "the sources were not found");
    let mut wrong = Vec::new();
    for file in files {
        let path = file.strip_prefix(root().join("src")).expect("below src").to_owned();
        let module =
            path.iter().next().and_then(|part| part.to_str()).expect("a name").trim_end_matches(".rs").to_owned();
        let Some(may_import) = allowed.get(module.as_str()) else { continue };
        let text = fs::read_to_string(&file).expect("readable");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for import in code.split("crate::").skip(1) {
            let name: String = import.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !may_import.contains(name.as_str()) && !name.is_empty() {
                wrong.push(format!("{}: {module} imports {name}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn codes_are_unique_and_kebab_case() {
    let mut codes = BTreeSet::new();
    for rule in rule::all() {
        assert!(codes.insert(rule.code), "{} is listed twice", rule.code);
        assert!(rule.code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{}", rule.code);
    }
}

#[test]
fn the_readme_names_the_commands_that_work() {
    for readme in ["README.md", "README.zh.md"] {
        let text = fs::read_to_string(root().join(readme)).expect(readme);
        for command in [
            "cargo run --release -- run --baseline examples/quickstart/gpu --candidate examples/quickstart/npu",
            "cargo test --locked",
            "Tensor.__getitem__.0.backward",
        ] {
            assert!(text.contains(command), "{readme} does not say `{command}`");
        }
    }
}

#[test]
fn every_rule_can_be_weighed_by_a_policy() {
    let codes: Vec<&str> = rule::all().map(|rule| rule.code).collect();
    for code in &codes {
        let policy =
            precision_gate::policy::Policy::parse("policy.yml", &format!("severity: {{ {code}: info }}"), &codes);
        assert!(policy.is_ok_and(|policy| policy.severity.contains_key(*code)), "{code}");
    }
}

/// What has to know all checks takes them from their table (`src/check.rs`): elsewhere, a file that names one names no other.
/// A result of others is held against itself check by check, and refused where nothing is known of a check.
#[test]
fn no_file_lists_the_checks() {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    let mut wrong = Vec::new();
    for file in files.iter().filter(|file| !file.components().any(|part| part.as_os_str() == "recheck")) {
        let text = fs::read_to_string(file).expect("readable");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let named = CheckId::CHECKS.iter().filter(|check| code.contains(&format!("CheckId::{check:?}"))).count();
        if named > 1 {
            wrong.push(format!("{} names {named} checks", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
