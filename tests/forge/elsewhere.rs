//! Gitea, Gitee and GitCode, and any other system by a command; and the address given by hand.

use crate::forge::fake::community::Community;
use crate::forge::fake::github::{GitHub, HEAD, TOKEN};
use crate::forge::gate::{Gate, Pair};

#[test]
fn gitee_and_gitcode_get_a_comment_and_a_label() {
    for (gitcode, forge, variable) in [(false, "gitee", "GITEE_TOKEN"), (true, "gitcode", "GITCODE_TOKEN")] {
        let fake = Community::start(gitcode);
        let mut gate = Gate::outside();
        gate.set(&[(variable, TOKEN)]);
        let place = ["--publish", "--forge", forge, "--url", &fake.base, "--repo", "org/model", "--number", "7"];
        for (pair, code, label) in [(Pair::Fail, 1, "precision-gate-fail"), (Pair::Pass, 0, "precision-gate-pass")] {
            let ended = gate.run(pair, &[&place[..], &["--strict-publish"]].concat());
            assert_eq!(ended.code, code, "{forge}: {ended:?}");
            assert_eq!(fake.state().labels, [label]);
            assert_eq!(fake.state().comments.len(), 1, "{forge}");
        }
        assert!(fake.state().comments[0].1.contains("verdict=pass"));
        let writes = fake.writes();
        assert!(writes.iter().any(|line| line.starts_with("PATCH /repos/org/model/pulls/comments/500")), "{writes:?}");
    }
}

#[test]
fn gitea_is_spoken_to_as_github_is_but_for_checks() {
    let fake = GitHub::start_gitea();
    let mut gate = Gate::on_github(&fake.base);
    gate.set(&[("GITEA_ACTIONS", "true")]);
    for (pair, code) in [(Pair::Fail, 1), (Pair::Pass, 0)] {
        let ended = gate.run(pair, &["--strict-publish"]);
        assert_eq!(ended.code, code, "{ended:?}");
    }
    let state = fake.state();
    assert!(matches!(state.said()[..], [("gate-bot", body)] if body.contains("verdict=pass")), "{:?}", state.said());
    let states: Vec<&str> = state.statuses.iter().filter_map(|status| status["state"].as_str()).collect();
    assert_eq!(states, ["pending", "failure", "pending", "success"]);
    assert!(state.checks.is_empty());
}

#[test]
fn another_system_gets_the_comment_by_a_command() {
    let gate = Gate::outside();
    let ended = gate.run(Pair::Fail, &["--post-command", "cat > posted.md"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(gate.read("posted.md").contains("## ❌ "));
    let ended = gate.run(Pair::Pass, &["--post-command", "exit 7"]);
    assert_eq!(ended.code, 0);
    assert!(ended.stderr.contains("--post-command: ended with exit status: 7"), "{ended:?}");
    assert_eq!(gate.run(Pair::Pass, &["--post-command", "exit 7", "--strict-publish"]).code, 3);
}

#[test]
fn publishing_from_a_desk_needs_an_address() {
    let gate = Gate::outside();
    let ended = gate.run(Pair::Pass, &["--publish"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("publishing needs to know the forge"), "{ended:?}");
    let fake = GitHub::start("");
    let mut gate = Gate::outside();
    gate.set(&[("GITHUB_TOKEN", TOKEN)]);
    let place = ["--publish", "--forge", "github", "--url", &fake.base, "--repo", "org/model", "--number", "7"];
    let ended = gate.run(Pair::Fail, &[&place[..], &["--strict-publish"]].concat());
    assert_eq!(ended.code, 1, "{ended:?}");
    assert_eq!(fake.state().checks[0]["head_sha"], HEAD, "the head of the pull request");
    assert_eq!(fake.state().said().len(), 1);
    fake.requests();
}
