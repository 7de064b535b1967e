//! Every reason against a sign-off: one clear line, exit code 1, and no document.

use std::fs;

use crate::signoff::release::{Ended, Release, TODAY};

const LATER: &str = "89abcdef0123456789abcdef0123456789abcdef";

/// The lines that refuse.
fn refused(ended: &Ended, release: &Release) -> Vec<String> {
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(!release.path("signoff").exists() || fs::read_dir(release.path("signoff")).unwrap().count() == 0);
    ended
        .stderr
        .lines()
        .map(|line| line.strip_prefix("refused: ").unwrap_or_else(|| panic!("{line}")).to_owned())
        .collect()
}

/// A change to a release candidate.
type Change = fn(&Release);

#[test]
fn each_reason_is_one_line_with_its_way_out() {
    let cases: [(&str, Change, &[&str]); 11] = [
        (
            "llama",
            |r| r.change("llama", |it| it["source"]["commit"] = LATER.into()),
            &["of different commits", "0123456789ab (gpt, cnn), 89abcdef0123 (llama)", "with --commit"],
        ),
        (
            "llama",
            |r| r.change("llama", |it| it["source"] = serde_json::Value::Null),
            &["does not name its commit", "`--sha COMMIT`"],
        ),
        (
            "llama",
            |r| r.change("llama", |it| it["today"] = "2026-11-01".into()),
            &["judged 20 days ago on 2026-11-01 (14 allowed)", "run it again"],
        ),
        ("llama", |r| r.change("llama", |it| it["today"] = "2026-11-22".into()), &["after today (2026-11-21)"]),
        ("llama", |r| r.change("llama", |it| it["today"] = "yesterday".into()), &["has no date (`yesterday`)"]),
        (
            "llama",
            |r| r.change("llama", |it| it["profile"] = "default".into()),
            &["was judged by the profile default; release is required", "`--profile release`"],
        ),
        (
            "llama",
            |r| r.change("llama", |it| it["checks"][1]["verdict"] = "fail".into()),
            &["verdict: says pass, and a check says fail"],
        ),
        (
            "llama",
            |r| r.change("llama", |it| it["baseline"]["verified"] = serde_json::Value::Null),
            &["is not verified by a manifest", "baseline promote"],
        ),
        (
            "gpt",
            |r| fs::write(r.path("results/gpt/operations.jsonl"), "{}\n").unwrap(),
            &[
                "operations.jsonl is not the file that this result was written with",
                "keep the files of one run together",
            ],
        ),
        (
            "gpt",
            |r| fs::write(r.path("results/gpt/result.json"), "{").unwrap(),
            &["result.json", "name the `result.json` that its run wrote"],
        ),
        (
            "gpt",
            |r| fs::write(r.path("results/gpt/result.json"), r.read("results/llama/result.json")).unwrap(),
            &["suite `gpt` is the same file as suite `llama`"],
        ),
    ];
    for (suite, change, words) in cases {
        let release = Release::candidate();
        change(&release);
        let lines = refused(&release.sign_off(&[]), &release);
        let line = lines.iter().find(|line| words.iter().all(|word| line.contains(word)));
        let line = line.unwrap_or_else(|| panic!("no line says {words:?}: {lines:#?}"));
        assert!(line.contains(suite), "{line}");
        // A copied file has no operations of its own and lacks the check that its suite needs.
        assert!(lines.len() == 1 || words[0].contains("same file"), "{lines:#?}");
        assert!(line.contains("; "), "no way out: {line}");
    }
}

#[test]
fn a_set_is_complete_of_one_commit_and_without_doubles() {
    let release = Release::candidate();
    let all = ["results/llama", "results/gpt", "results/cnn"];
    for (results, words) in [
        (&all[..2], "suite `cnn` is required but missing; give its result: `cnn=PATH`"),
        (&["results/llama", "results/gpt", "results/cnn", "cnn=results/cnn"][..], "suite `cnn` is given twice"),
    ] {
        let lines = refused(&release.sign_off_of(results, &[]), &release);
        assert!(lines.iter().any(|line| line.contains(words)), "{words}: {lines:#?}");
    }
    let lines = refused(&release.sign_off(&["--commit", LATER]), &release);
    assert_eq!(lines.len(), 3, "one for each suite: {lines:#?}");
    assert!(
        lines[0].contains("suite `llama` is of commit 0123456789ab, but 89abcdef0123 is to be released"),
        "{lines:#?}"
    );
    let given = ["signoff", "results/llama", "results/gpt", "results/cnn", "--today", TODAY];
    assert_eq!(refused(&release.run(&given), &release), ["ann has not approved; pass `--approved-by` when they have"]);
    let lines = refused(&release.run(&[&given[..], &["--lang", "zh"]].concat()), &release);
    assert_eq!(lines, ["ann 尚未批准；批准后请给出 `--approved-by`"]);
}

#[test]
fn documents_of_an_earlier_sign_off_do_not_outlive_its_refusal() {
    let release = Release::candidate();
    assert_eq!(release.sign_off(&[]).code, 0);
    assert!(release.path("signoff/signoff.md").exists());
    release.change("llama", |it| it["today"] = "yesterday".into());
    assert_eq!(refused(&release.sign_off(&[]), &release).len(), 1);
}

#[test]
fn a_sign_off_against_nothing_is_bad_usage() {
    let release = Release::candidate();
    fs::write(release.path("nothing.yml"), "max-age-days: 3\n").unwrap();
    for (more, words) in [
        (&["--require", "nothing.yml"][..], "no suite is required"),
        (&["--commit", "main"], "`main` is none"),
        (&["--require", "there-is-none.yml"], "there-is-none.yml"),
    ] {
        let ended = release.sign_off(more);
        assert_eq!(ended.code, 2, "{ended:?}");
        assert!(ended.stderr.contains(words), "{ended:?}");
    }
    let ended = release.sign_off_of(&["results/nowhere/result.json"], &[]);
    assert_eq!(ended.code, 2, "{ended:?}");
    fs::write(release.path("any.yml"), "{ baselines: any, suites: [{ name: llama }] }\n").unwrap();
    release.change("llama", |it| it["baseline"]["verified"] = serde_json::Value::Null);
    assert_eq!(release.sign_off_of(&["results/llama"], &["--require", "any.yml"]).code, 0);
    assert!(release.read("signoff/signoff.md").contains("no manifest"));
}
