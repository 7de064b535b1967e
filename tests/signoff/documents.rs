//! A complete set of results: its documents, and the statement over them.

use std::fs;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::signoff::release::{COMMIT, Release, SUITES};

fn sha256(release: &Release, name: &str) -> String {
    format!("{:x}", Sha256::digest(fs::read(release.path(name)).expect("there")))
}

/// Path of a subject of the statement.
fn file_of(subject: &str) -> String {
    if subject.contains('/') { format!("results/{subject}") } else { format!("signoff/{subject}") }
}

#[test]
fn a_complete_set_yields_documents_and_a_statement_that_fits_every_file() {
    let release = Release::candidate();
    let ended = release.sign_off(&["--commit", "0123456"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let statement = release.json("signoff/signoff.intoto.json");
    let schema: Value = serde_json::from_str(include_str!("../schemas/in-toto-statement-v1.json")).expect("a schema");
    let validator = jsonschema::draft202012::new(&schema).expect("compiles");
    assert!(validator.is_valid(&statement), "{:?}", validator.iter_errors(&statement).next());

    let subjects = statement["subject"].as_array().expect("a list");
    let names: Vec<&str> = subjects.iter().filter_map(|subject| subject["name"].as_str()).collect();
    let written = ["signoff.json", "signoff.md", "signoff.html", "signoff.zh.md", "signoff.zh.html"];
    let read = SUITES.map(|(suite, _)| [format!("{suite}/result.json"), format!("{suite}/operations.jsonl")]).concat();
    let all: Vec<&str> = read.iter().map(String::as_str).chain(written).collect();
    assert_eq!(names, all);
    let mut checksums = String::new();
    for subject in subjects {
        let name = subject["name"].as_str().expect("a name");
        let digest = sha256(&release, &file_of(name));
        assert_eq!(subject["digest"], serde_json::json!({ "sha256": digest }), "{name}");
        checksums.push_str(&format!("{digest}  {name}\n"));
    }
    assert_eq!(release.read("signoff/signoff.sha256"), checksums);
    assert_eq!(statement["predicate"], release.json("signoff/signoff.json"));
}

#[test]
fn the_document_holds_what_a_reviewer_signs() {
    let release = Release::candidate();
    assert_eq!(release.sign_off(&[]).code, 0);
    let signoff = release.json("signoff/signoff.json");
    assert_eq!(signoff["source"]["commit"], COMMIT);
    assert_eq!(signoff["approvals"][0]["by"], "ann");
    let verified = &signoff["suites"][0]["baseline"]["verified"];
    assert_eq!((&verified["manifest"], &verified["every_byte"]), (&"llama".into(), &true.into()));
    let manifest = sha256(&release, "baselines/llama.json");
    assert_eq!(verified["digest"], format!("sha256:{manifest}"));

    let schema: Value = serde_json::from_str(&release.run(&["schema", "signoff"]).stdout).expect("a schema");
    let validator = jsonschema::draft202012::new(&schema).expect("compiles");
    assert!(validator.is_valid(&signoff), "{:?}", validator.iter_errors(&signoff).next());

    for (name, words) in [
        (
            "signoff/signoff.md",
            ["# Precision sign-off", "failing limit", "Atlas 800", "bea", "until `2026-12-01`", "8x A100"],
        ),
        ("signoff/signoff.zh.md", ["# 精度签核报告", "公式", "Atlas 800", "bea", "有效期至 `2026-12-01`", "8x A100"]),
        ("signoff/signoff.html", ["Precision sign-off", "data:image/png;base64,", "carl", "bea", "cann", "Signature"]),
        ("signoff/signoff.zh.html", ["精度签核报告", "data:image/png;base64,", "carl", "bea", "cann", "签名"]),
    ] {
        let text = release.read(name);
        for word in words {
            assert!(text.contains(word), "{name} does not say `{word}`:\n{text}");
        }
    }
    let before = ["signoff.md", "signoff.zh.html", "signoff.intoto.json"].map(|name| sha256(&release, &file_of(name)));
    assert_eq!(release.sign_off(&[]).code, 0);
    let after = ["signoff.md", "signoff.zh.html", "signoff.intoto.json"].map(|name| sha256(&release, &file_of(name)));
    assert_eq!(before, after, "the same results give the same bytes");
}

#[test]
fn texts_of_a_result_stay_text() {
    let release = Release::candidate();
    let evil = "<img src=x onerror=alert(1)>|`@org/team`\n/close";
    release.change("llama", |result| {
        result["candidate"]["label"] = evil.into();
        result["baseline"]["verified"]["reason"] = evil.into();
        result["baseline"]["verified"]["versions"] = serde_json::json!({ evil: evil });
    });
    release.change("cnn", |result| result["policy"]["waivers"][0]["reason"] = evil.into());
    let ended = release.sign_off(&[]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(!release.read("signoff/signoff.html").contains("<img src=x"));
    for line in release.read("signoff/signoff.md").lines() {
        assert!(!line.starts_with("/close"), "{line}");
    }
    let options = pulldown_cmark::Options::ENABLE_TABLES;
    let text = release.read("signoff/signoff.md");
    let hostile = pulldown_cmark::Parser::new_ext(&text, options)
        .any(|event| matches!(event, pulldown_cmark::Event::InlineHtml(html) if html.contains("onerror")));
    assert!(!hostile, "{text}");
}

#[test]
fn one_language_and_own_templates() {
    let release = Release::candidate();
    fs::create_dir_all(release.path("own")).expect("made");
    fs::write(release.path("own/signoff.md.j2"), "commit {{ signoff.source.commit }}, {{ suites | length }} suites\n")
        .expect("written");
    assert_eq!(release.sign_off(&["--lang", "zh", "--templates", "own"]).code, 0);
    assert_eq!(release.read("signoff/signoff.zh.md"), format!("commit `{COMMIT}`, 3 suites\n"));
    assert!(!release.path("signoff/signoff.md").exists());
}
