//! Blocks that people paste: policies that the program accepts, scripts that a shell parses. That every YAML block parses is
//! held by `tests/pipelines.rs`.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use precision_gate::judge::register;
use precision_gate::policy::Policy;
use regex::Regex;
use serde_json::Value;

use super::pages::{blocks, files_below, pages, read, root};

/// The keys of a policy file.
fn keys() -> BTreeSet<String> {
    let schema = schemars::schema_for!(Policy).to_value();
    let properties = schema["properties"].as_object().expect("a mapping");
    properties.keys().cloned().collect()
}

/// Whether a block is a policy: it names the file, or all of its keys are keys of it.
fn is_policy(block: &str, keys: &BTreeSet<String>) -> bool {
    let Ok(Value::Object(content)) = serde_yaml::from_str::<Value>(block) else { return false };
    block.starts_with("# precision-gate.yml") || content.keys().all(|key| keys.contains(key))
}

#[test]
fn every_policy_of_the_pages_is_accepted() {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let (keys, mut seen, mut wrong) = (keys(), 0, Vec::new());
    for page in pages() {
        for block in blocks(&read(&page), &["yaml"]).iter().filter(|block| is_policy(block, &keys)) {
            seen += 1;
            if let Err(error) = Policy::parse("precision-gate.yml", block, &codes) {
                wrong.push(format!("{}: {error}\n{block}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 15, "{seen}");
}

#[test]
fn a_block_is_taken_for_a_policy_by_its_keys() {
    let keys = keys();
    assert!(is_policy("loss: {coverage: 2}\n", &keys) && is_policy("# precision-gate.yml\nprofil: strict\n", &keys));
    assert!(!is_policy("jobs: {}\n", &keys) && !is_policy("- uses: a\n", &keys));
}

#[test]
fn every_script_of_the_pages_parses() {
    if Command::new("bash").arg("-c").arg("exit").status().is_err() {
        println!("not checked: there is no bash on this machine");
        return;
    }
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in pages() {
        for block in blocks(&read(&page), &["sh", "bash", "shell"]) {
            seen += 1;
            let asked = Command::new("bash").arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
            let mut asked = asked.expect("bash");
            asked.stdin.take().expect("its input").write_all(block.as_bytes()).expect("written");
            let said = asked.wait_with_output().expect("ended");
            if !said.status.success() {
                wrong.push(format!("{}: {}\n{block}", page.display(), String::from_utf8_lossy(&said.stderr)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 30, "{seen}");
}

/// Words of sentences and templates that stand for a value, with one.
const VALUES: [(&str, &str); 13] = [
    ("{{ '{' }}", "{"),
    ("{{ '}' }}", "}"),
    ("{{ to }}", "bfloat16"),
    ("{{ prefix }}", "module."),
    ("{{ found }}", "strict"),
    ("{{ metric }}", "loss"),
    ("VALUE", "2.5"),
    ("值", "2.5"),
    ("NAME", "cann-mixed"),
    ("名称", "loss"),
    ("CODE", "near-tie"),
    ("[...]", "[]"),
    ("[codes]", "[near-tie]"),
];

/// Settings of other files: of pipelines, and of records that are read.
const OF_OTHER_FILES: [&str; 3] = ["baseline: baseline:pull-request", "history: $NIGHTLY_HISTORY", "source: generate"];

/// A setting between backticks as a person writes it into the file: with values in place of words for them. `None` where it names
/// a key of a section alone, such as `loss: limits`.
fn setting(code: &str, schema: &Value) -> Option<String> {
    let (key, value) = code.split_once(": ").filter(|_| !OF_OTHER_FILES.contains(&code))?;
    let section = &schema["properties"][key];
    let definition =
        section["$ref"].as_str().map_or(section, |name| &schema["$defs"][name.rsplit('/').next().unwrap_or(name)]);
    let names_a_key = definition["properties"].get(value).is_some();
    let text = code.replace("\\\"", "\"");
    (!section.is_null() && !names_a_key)
        .then(|| VALUES.iter().fold(text, |text, (word, value)| text.replace(word, value)))
}

#[test]
fn every_setting_within_a_sentence_is_accepted() {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let schema = schemars::schema_for!(Policy).to_value();
    let messages = files_below("templates/messages", ".yaml");
    let span = Regex::new("`([a-z-]+: [^`\n]+)`").expect("a pattern");
    let (mut seen, mut wrong) = (BTreeSet::new(), Vec::new());
    for page in pages().into_iter().chain(messages) {
        let text = read(&page);
        for found in span.captures_iter(&text) {
            let Some(setting) = setting(&found[1], &schema).filter(|setting| seen.insert(setting.clone())) else {
                continue;
            };
            if let Err(error) = Policy::parse("precision-gate.yml", &setting, &codes) {
                wrong.push(format!("{}: `{}`: {error}", page.display(), &found[1]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen.len() > 35, "{}", seen.len());
}

/// The sections that stand in comments of a policy file, each as it is once the marks are taken off.
fn commented_sections(text: &str) -> String {
    let section = |paragraph: &str| {
        let lines = paragraph.lines().filter_map(|line| line.strip_prefix("# "));
        let is_key = |line: &&str| {
            line.ends_with(':') && line.bytes().all(|byte| byte.is_ascii_lowercase() || b":-".contains(&byte))
        };
        let mut lines = lines.skip_while(|line| !is_key(line));
        let first = lines.next().unwrap_or_default().to_owned();
        lines.take_while(|line| line.starts_with(' ')).fold(first, |text, line| text + "\n" + line) + "\n"
    };
    text.split("\n\n").map(section).collect()
}

#[test]
fn the_file_that_init_writes_is_accepted_with_all_of_its_sections() {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    for (locale, placeholders) in
        [("C.UTF-8", ("why it is acceptable", "the person responsible")), ("zh_CN.UTF-8", ("为何可以接受", "由谁负责"))]
    {
        let mut init = assert_cmd::Command::cargo_bin("precision-gate").expect("built");
        let sides = ["gpu", "npu"].map(|side| root().join("examples/quickstart").join(side));
        let written = init.env_clear().env("LANG", locale).arg("init").args(sides).output().expect("runs");
        let written = String::from_utf8(written.stdout).expect("text");
        Policy::parse("precision-gate.yml", &written, &codes).unwrap_or_else(|error| panic!("{error}\n{written}"));
        let sections = commented_sections(&written);
        let (reason, owner) = placeholders;
        assert!(sections.contains(reason) && sections.contains(owner), "{locale}: {sections}");
        let whole = written.clone() + &sections.replace(reason, "reviewed").replace(owner, "ann");
        let policy =
            Policy::parse("precision-gate.yml", &whole, &codes).unwrap_or_else(|error| panic!("{error}\n{whole}"));
        assert!(policy.waivers.len() == 1 && policy.severity.len() == 1 && policy.dump.limits.len() == 1, "{whole}");
    }
}
