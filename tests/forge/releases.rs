//! A sign-off's documents beside a release.

use std::path::Path;

use crate::forge::fake::github::{GitHub, Rights, TOKEN};
use crate::forge::fake::gitlab::{self, GitLab};
use crate::forge::fake::{Fake, Reply, Wrong};
use crate::forge::gate::{Ended, Gate};

const FILES: [&str; 7] = [
    "signoff.json",
    "signoff.md",
    "signoff.html",
    "signoff.zh.md",
    "signoff.zh.html",
    "signoff.sha256",
    "signoff.intoto.json",
];

/// A sign-off of one suite, whose baseline needs no manifest.
fn sign_off(gate: &Gate, more: &[&str]) -> Ended {
    gate.write("signoff.yml", "{ baselines: any, suites: [{ name: quick, profile: default }] }\n");
    if !Path::new(&gate.path("quick/result.json")).exists() {
        let pair = crate::forge::gate::Pair::Pass;
        assert_eq!(gate.run(pair, &["--out", "quick", "--sha", crate::forge::fake::github::HEAD]).code, 0);
    }
    let given = ["signoff", "quick", "--require", "signoff.yml", "--today", "2026-11-21", "--attach", "v1.2.0"];
    gate.command(&[&given[..], more].concat())
}

fn on_github() -> (Fake<GitHub>, Gate) {
    let fake = GitHub::start("");
    fake.state().uploads.clone_from(&fake.base);
    let mut gate = Gate::nightly_on_github(&fake.base);
    gate.set(&[("INPUT_PUBLISH", "false"), ("INPUT_ISSUE", "false")]);
    (fake, gate)
}

#[test]
fn a_release_of_github_gets_the_documents_once() {
    let (fake, gate) = on_github();
    for draft in [false, true] {
        fake.state().draft = draft;
        let ended = sign_off(&gate, &["--strict-publish"]);
        assert_eq!(ended.code, 0, "{ended:?}");
        let state = fake.state();
        let names: Vec<&str> = state.assets.iter().map(|(_, name, _)| name.as_str()).collect();
        assert_eq!(names, FILES);
        assert_eq!(state.assets[1].2, gate.read("signoff/signoff.md").into_bytes());
    }
    fake.requests();
    fake.fail("POST", "/assets", 1, Wrong::Afterwards(Reply::refusal(502, "bad gateway")));
    assert_eq!(sign_off(&gate, &["--strict-publish"]).code, 0, "a lost answer");
    assert_eq!(fake.state().assets.len(), 7);
    fake.requests();
}

#[test]
fn the_token_goes_to_no_other_host() {
    let (fake, gate) = on_github();
    let elsewhere = GitHub::start("");
    fake.state().uploads = elsewhere.base.replace("127.0.0.1", "localhost");
    let ended = sign_off(&gate, &["--strict-publish"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.stdout.contains("where the token does not go"), "{ended:?}");
    assert_eq!(elsewhere.requests(), [""; 0]);
}

#[test]
fn what_is_missing_for_a_release_is_told() {
    let (fake, gate) = on_github();
    fake.state().tokens.insert(TOKEN.into(), Rights::read_only());
    let ended = sign_off(&gate, &[]);
    assert_eq!(ended.code, 0, "the sign-off stands: {ended:?}");
    assert!(ended.stdout.contains("permissions: { contents: write }"), "{ended:?}");
    fake.state().tag = "v9".into();
    let ended = sign_off(&gate, &["--strict-publish"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.stdout.contains("the tag v1.2.0 has no release; make the release first"), "{ended:?}");
    let ended = sign_off(&gate, &["--dry-run"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.contains("POST UPLOADS?name=signoff.intoto.json"), "{ended:?}");
}

#[test]
fn a_release_of_gitlab_links_the_documents() {
    let fake = GitLab::start();
    let mut gate = Gate::nightly_on_gitlab(&fake.base);
    gate.set(&[("INPUT_PUBLISH", "false"), ("INPUT_ISSUE", "false"), ("PRECISION_GATE_TOKEN", gitlab::TOKEN)]);
    for _twice in 0..2 {
        let ended = sign_off(&gate, &["--strict-publish"]);
        assert_eq!(ended.code, 0, "{ended:?}");
        let state = fake.state();
        let names: Vec<&str> = state.links.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, FILES);
        let url = format!("{}/projects/1/packages/generic/precision-gate-signoff/v1.2.0/signoff.json", fake.base);
        assert_eq!(state.links[0].1, url);
        assert_eq!(
            state.packages["precision-gate-signoff/v1.2.0/signoff.md"],
            gate.read("signoff/signoff.md").into_bytes()
        );
    }
    fake.requests();
}
