//! Pipelines that `init` writes.

use std::fs;
use std::path::Path;

use crate::signoff::release::Release;

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pipelines").join(name);
    fs::read_to_string(path).expect("an example")
}

#[test]
fn pipelines_are_the_examples_and_replace_nothing_unasked() {
    let release = Release::empty();
    let ended = release.run(&["init", "--nightly"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.contains("written: ./.github/workflows/precision-nightly.yml"), "{ended:?}");
    assert!(ended.stdout.contains("next: make a pipeline schedule"), "both forges where none is known: {ended:?}");
    assert_eq!(release.read(".github/workflows/precision-nightly.yml"), example("github/nightly.yml"));
    assert_eq!(release.read(".gitlab/precision-nightly.yml"), example("gitlab/nightly.yml"));

    let ended = release.run(&["init", "--nightly", "--release", "--forge", "gitlab"]);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.stderr.contains("is there already") && ended.stderr.contains("--force"), "{ended:?}");
    assert!(!release.path(".gitlab/precision-signoff.yml").exists(), "all or nothing");
    let ended = release.run(&["init", "--nightly", "--release", "--forge", "gitlab", "--force"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(release.read(".gitlab/precision-signoff.yml"), example("gitlab/release-signoff.yml"));
}

#[test]
fn the_forge_of_the_job_decides() {
    let release = Release::empty();
    let ended = release.run_in(&["init", "--release"], &[("GITHUB_ACTIONS", "true")]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(release.read(".github/workflows/precision-signoff.yml"), example("github/release-signoff.yml"));
    assert!(!release.path(".gitlab").exists());
    assert_eq!(release.run(&["init"]).code, 2);
    assert_eq!(release.run(&["init", "runs/gpu"]).code, 2);
}
