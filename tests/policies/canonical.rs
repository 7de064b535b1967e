//! The policy that a result carries: read again, it is the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::judge::register;
use precision_gate::policy::Policy;
use proptest::prelude::*;
use serde_json::Value;

const FULL: &str = include_str!("full.yml");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn finding_codes() -> Vec<&'static str> {
    register::all_rules().map(|rule| rule.code).collect()
}

/// The canonical form of the policy `text`, which was read again; `None` where it is no policy.
fn read_again(text: &str) -> Option<Value> {
    let codes = finding_codes();
    let policy = Policy::parse("gate.yml", text, &codes).ok()?;
    let canonical = policy.canonical();
    let again = Policy::from_canonical("result.json", &canonical, &codes)
        .unwrap_or_else(|error| panic!("{error}\n{text}\n{canonical}"));
    assert_eq!(again.canonical().to_string(), canonical.to_string(), "{text}");
    assert_eq!(format!("{again:?}"), format!("{:?}", policy.deciding()), "{text}\n{canonical}");
    Some(canonical)
}

/// Files below `folder` whose names end with `.yml`, `.yaml` or `.md`.
fn texts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.extension().and_then(|ending| ending.to_str()) {
            _ if path.is_dir() => texts(&path, found),
            Some("yml" | "yaml" | "md") => found.push(path),
            _ => {}
        }
    }
}

/// Policies in a file: itself, or the examples of a page.
fn policies(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    if path.extension().is_some_and(|ending| ending != "md") {
        return vec![text];
    }
    let blocks = text.split("\n```yaml\n").skip(1).filter_map(|block| block.split("\n```").next());
    let inline = text.split('`').filter(|words| words.contains(": "));
    blocks.chain(inline).map(str::to_owned).collect()
}

#[test]
fn every_policy_of_the_repository_is_the_same_when_its_canonical_form_is_read() {
    let mut files = vec![root().join("README.md")];
    for folder in ["docs", "examples", "tests/fixtures", "templates"] {
        texts(&root().join(folder), &mut files);
    }
    let texts: BTreeSet<String> = files.iter().flat_map(|path| policies(path)).collect();
    let read = texts
        .iter()
        .filter_map(|text| read_again(text))
        .filter(|canonical| *canonical != Value::Object(serde_json::Map::new()))
        .count();
    assert!(read > 50, "{read}");
}

#[test]
fn a_policy_that_sets_every_key_is_the_same_when_its_canonical_form_is_read() {
    let canonical = read_again(FULL).expect("a policy");
    let schema = serde_json::to_value(schemars::schema_for!(Policy)).expect("a schema");
    let mut keys = BTreeSet::new();
    declared(&schema, &mut keys);
    assert!(keys.len() > 100, "{}", keys.len());
    let of_elements = ["rtol", "atol", "misses", "cosine", "max-relative"];
    let missing = |key: &&str| !FULL.contains(&format!("{key}: ")) && !FULL.contains(&format!("{key}:\n"));
    let missing: Vec<&str> = keys.into_iter().filter(missing).filter(|key| !of_elements.contains(key)).collect();
    assert!(missing.is_empty(), "{missing:?} of the schema are not in full.yml");
    // Those contradict the preset.
    let limits = "dump: {limits: [{rtol: 0.1, atol: 1e-5, misses: 0.25, cosine: 0.99, max-relative: 0.2}]}";
    read_again(limits).expect("a policy");

    let sections: Vec<&str> = canonical.as_object().expect("sections").keys().map(String::as_str).collect();
    let written = FULL.lines().filter(|line| line.starts_with(|sign: char| sign.is_ascii_lowercase()));
    let mut expected: Vec<&str> = written.filter_map(|line| line.split(':').next()).collect();
    expected.retain(|key| !["publish", "history", "lang", "templates", "source-root"].contains(key));
    expected.sort_unstable();
    assert_eq!(sections, expected);
}

/// The keys that a schema declares.
fn declared<'a>(schema: &'a Value, keys: &mut BTreeSet<&'a str>) {
    match schema {
        Value::Object(fields) => {
            let own = fields.get("properties").and_then(Value::as_object).into_iter().flat_map(|own| own.keys());
            keys.extend(own.map(String::as_str));
            fields.values().for_each(|value| declared(value, keys));
        }
        Value::Array(items) => items.iter().for_each(|item| declared(item, keys)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_part_of_a_policy_is_the_same_when_its_canonical_form_is_read(
        kept in proptest::collection::vec(any::<bool>(), 40),
        number in 0.0..1e6_f64,
        text in "\\PC{0,8}",
    ) {
        let whole: Value = serde_yaml::from_str(FULL).expect("YAML");
        let sections = whole.as_object().expect("sections").iter().zip(kept.iter().cycle());
        let mut part: Value = sections.filter(|(_, kept)| **kept).map(|((key, value), _)| (key.clone(), value.clone())).collect();
        for place in ["/waivers/0/reason", "/baseline/label", "/config/env/required/0/value"] {
            if let Some(slot) = part.pointer_mut(place) { *slot = Value::from(format!("r{text}")); }
        }
        for place in ["/dump/limits/0/wrong", "/loss/limits/spread", "/config/dataset/relative", "/evaluation/margin/bleu"] {
            if let Some(slot) = part.pointer_mut(place) { *slot = Value::from(number); }
        }
        prop_assert!(read_again(&serde_yaml::to_string(&part).expect("YAML")).is_some());
    }
}
