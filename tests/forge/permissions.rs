//! The permission that each request of a dialect says it needs, and the advice where a token lacks it.

use std::collections::BTreeMap;

use precision_gate::fetch::permission::{Need, Permission};
use precision_gate::publish::call::Call;
use precision_gate::publish::dialect::{Forge, Gallery};
use precision_gate::publish::forge::ForgeKind;
use precision_gate::publish::github::GitHub;
use precision_gate::publish::gitlab::GitLab;
use precision_gate::publish::proposal::{Proposal, ProposedFile};
use precision_gate::publish::proposer::Push;
use precision_gate::publish::status::{CommitReport, RunState};
use precision_gate::publish::tree::TreeFolder;

use crate::forge::contract::Contract;

const COMMIT: &str = "0123456789012345678901234567890123456789";

/// GitHub's operations that the dialect uses, each with what "Permissions required for fine-grained personal access tokens" and the reference of
/// GitHub's REST API name for it. Of comments and labels, which serve issues and pull requests, the need depends on which
/// of them they are of.
const DOCUMENTED: [(&str, &[&str]); 29] = [
    ("checks/create", &["checks: write"]),
    ("checks/list-for-ref", &["checks: read"]),
    ("checks/update", &["checks: write"]),
    ("git/create-blob", &["contents: write"]),
    ("git/create-commit", &["contents: write"]),
    ("git/create-ref", &["contents: write"]),
    ("git/create-tree", &["contents: write"]),
    ("git/get-commit", &["contents: read"]),
    ("git/get-ref", &["contents: read"]),
    ("git/get-tree", &["contents: read"]),
    ("git/update-ref", &["contents: write"]),
    ("issues/add-labels", &["issues: write", "pull-requests: write"]),
    ("issues/create", &["issues: write"]),
    ("issues/create-comment", &["issues: write", "pull-requests: write"]),
    ("issues/delete-comment", &["issues: write", "pull-requests: write"]),
    ("issues/list-comments", &["issues: read", "pull-requests: read"]),
    ("issues/list-for-repo", &["issues: read"]),
    ("issues/update", &["issues: write"]),
    ("issues/update-comment", &["issues: write", "pull-requests: write"]),
    ("pulls/create", &["pull-requests: write"]),
    ("pulls/get", &["pull-requests: read"]),
    ("pulls/list", &["pull-requests: read"]),
    ("repos/create-commit-status", &["statuses: write"]),
    ("repos/get", &["metadata: read"]),
    ("repos/get-branch", &["contents: read"]),
    ("repos/get-collaborator-permission-level", &["metadata: read"]),
    ("repos/get-content", &["contents: read"]),
    ("repos/list-pull-requests-associated-with-commit", &["pull-requests: read"]),
    // It takes any token but a workflow's own.
    ("users/get-authenticated", &["metadata: read"]),
];

fn report() -> CommitReport {
    CommitReport {
        name: "precision-gate".into(),
        commit: COMMIT.into(),
        state: RunState::Running,
        warn: precision_gate::policy::publish::WarnAs::Neutral,
        report_only: false,
        title: "running".into(),
        summary: "running".into(),
        annotations: Vec::new(),
        url: String::new(),
        run: "default/1".into(),
        pipeline: None,
    }
}

fn proposal() -> Proposal {
    Proposal {
        branch: "gate/waiver".into(),
        target: "main".into(),
        tip: COMMIT.into(),
        files: vec![ProposedFile { path: "a.yml".into(), text: "a: 1\n".into(), is_there: true }],
        title: "t".into(),
        body: "b".into(),
    }
}

/// Every request that a dialect writes.
fn calls(forge: &dyn Forge) -> Vec<Call> {
    let (report, proposal) = (report(), proposal());
    let mut calls = vec![
        forge.token_user(),
        forge.pull(7),
        forge.comments(7, 1),
        forge.create_comment(7, "b"),
        forge.update_comment(7, 1, "b"),
        forge.delete_comment(7, 1),
        forge.repository(),
        forge.branch("main"),
        forge.entries(&TreeFolder { commit: COMMIT, path: "ci", id: COMMIT }, 1),
        forge.file("ci/gate.yml", COMMIT),
    ];
    calls.push(forge.open_pulls(1));
    calls.extend(forge.pulls_of_commit(COMMIT));
    calls.extend(forge.pulls_of_branch("org", "topic"));
    calls.extend(forge.status(&report));
    if let Some(checks) = forge.check_runs() {
        calls.extend([checks.create(&report), checks.update(1, &report), checks.list(&report)]);
        calls.push(checks.add_annotations(1, &report, &[]));
    }
    if let Some(labels) = forge.labels() {
        let verdict = precision_gate::verdict::Verdict::Pass;
        calls.extend([labels.add(7, verdict), labels.remove(7, verdict)]);
    }
    match forge.gallery() {
        Some(Gallery::Uploads(root)) => calls.push(Gallery::upload(root, "loss.png", vec![1])),
        Some(Gallery::Branch(objects)) => calls.extend([
            objects.create_blob(b"x"),
            objects.create_tree(&[("a.png".into(), COMMIT.into())]),
            objects.create_commit(COMMIT),
            objects.picture_branch("pictures"),
            objects.pictures(COMMIT),
            objects.create_branch("pictures", COMMIT),
            objects.move_branch("pictures", COMMIT),
        ]),
        None => {}
    }
    if let Some(tracker) = forge.tracker() {
        calls.extend([tracker.issues(1), tracker.create_issue("t", "b"), tracker.update_issue(4, "b", None)]);
        calls.extend([tracker.label_issue(4), tracker.issue_comments(4, 1), tracker.comment_on_issue(4, "b")]);
    }
    if let Some(proposer) = forge.proposer() {
        calls.extend([proposer.rights("alice"), proposer.open(&proposal)]);
        match proposer.push(&proposal) {
            Push::Whole(call) => calls.push(*call),
            Push::Objects(objects) => calls.extend([
                objects.commit(COMMIT),
                objects.add_files(COMMIT, &proposal.files),
                objects.commit_upon(COMMIT, COMMIT, "m"),
            ]),
        }
    }
    calls
}

#[test]
fn each_request_of_github_needs_what_is_documented_for_its_operation() {
    let contract = Contract::github();
    let documented = BTreeMap::from(DOCUMENTED);
    let github = GitHub::new(ForgeKind::Github, "org/model");
    let mut asked = BTreeMap::new();
    for call in calls(&github) {
        let operation = contract.operation(call.method.as_str(), &call.path).expect("an operation of the contract");
        let needs = documented.get(operation).unwrap_or_else(|| panic!("{operation} is not in the table"));
        let need = call.need.to_string();
        assert!(needs.contains(&need.as_str()), "{operation} is said to need {need}: {needs:?}");
        let is_of_issue = call.purpose.contains("issue");
        assert!(needs.len() == 1 || need.starts_with(if is_of_issue { "issues" } else { "pull" }), "{call:?}");
        asked.insert(operation.to_owned(), need);
    }
    let unused: Vec<&str> = documented.keys().copied().filter(|name| !asked.contains_key(*name)).collect();
    assert!(unused.is_empty(), "no request is one of {unused:?}");
}

#[test]
fn advice_names_the_line_to_add() {
    let github = GitHub::new(ForgeKind::Github, "org/model");
    for (need, line) in [
        (Permission::PullRequests.write(), "`permissions: { pull-requests: write }`; pull requests from forks"),
        (Permission::Checks.write(), "`permissions: { checks: write }`; pull requests from forks"),
        (Permission::Contents.read(), "`permissions: { contents: read }`; what a token may not see"),
        (Permission::Metadata.read(), "the repository's name"),
    ] {
        assert!(github.advice(need).contains(line), "{}", github.advice(need));
    }
    // Gitee and GitCode have no workflows.
    for kind in [ForgeKind::Gitee, ForgeKind::Gitcode] {
        let advice = GitHub::new(kind, "org/model").advice(Permission::PullRequests.write());
        assert!(advice.contains("`pull-requests: write`") && !advice.contains("permissions:"), "{advice}");
    }
}

/// Roles as `docs/publish.md` names them.
#[test]
fn advice_at_gitlab_names_scope_and_role() {
    let gitlab = GitLab::new("group/model");
    let role = |need: Need| {
        let advice = gitlab.advice(need);
        assert!(advice.contains("the scope `api`"), "{advice}");
        ["Reporter", "Developer"].into_iter().find(|role| advice.contains(role)).expect("a role")
    };
    for call in calls(&gitlab) {
        let writes_code = ["status", "picture", "push", "open the merge request"];
        let is_developers = writes_code.iter().any(|word| call.purpose.contains(word));
        assert_eq!(role(call.need), if is_developers { "Developer" } else { "Reporter" }, "{}", call.purpose);
    }
}
