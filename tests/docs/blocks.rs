//! Blocks that people paste: policies that the program accepts, scripts that a shell parses. That every YAML block parses is
//! held by `tests/pipelines.rs`.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use precision_gate::judge::register;
use precision_gate::policy::Policy;
use serde_json::Value;

use super::pages::{blocks, pages, read};

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
    let codes: Vec<&str> = register::all().map(|rule| rule.code).collect();
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
