//! GitHub, as far as publishing needs it; with `gitea` set, what Gitea leaves out is not there.

mod proposals;
mod tracker;

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use serde_json::{Value, json};

use super::{Asked, Brain, Fake, Reply};
use crate::forge::contract::Contract;
use proposals::Opened;
use tracker::Issue;

/// Permissions of a token.
#[derive(Clone, Debug)]
pub(crate) struct Rights {
    /// The token's user; a workflow's own token may not ask.
    pub(crate) login: &'static str,
    pub(crate) may_ask_who: bool,
    pub(crate) checks: bool,
    pub(crate) statuses: bool,
    pub(crate) comments: bool,
    pub(crate) contents: bool,
    pub(crate) issues: bool,
    /// Whether it may label an issue while it opens it.
    pub(crate) labels: bool,
    /// Whether it may open pull requests.
    pub(crate) pulls: bool,
}

impl Rights {
    /// The token of a workflow with the permissions that the documents name.
    pub(crate) fn workflow() -> Self {
        Self {
            login: "github-actions[bot]",
            may_ask_who: false,
            checks: true,
            statuses: true,
            comments: true,
            contents: true,
            issues: true,
            labels: true,
            pulls: true,
        }
    }

    /// The token of a workflow of a fork's pull request.
    pub(crate) fn read_only() -> Self {
        Self { checks: false, statuses: false, comments: false, contents: false, issues: false, ..Self::workflow() }
    }
}

/// The state.
pub(crate) struct GitHub {
    contract: Contract,
    pub(crate) tokens: BTreeMap<String, Rights>,
    /// Number to head, base and `owner:branch`.
    pub(crate) pulls: BTreeMap<u64, (String, String, String)>,
    /// Id, number, login, body.
    pub(crate) comments: Vec<(u64, u64, String, String)>,
    pub(crate) checks: Vec<Value>,
    pub(crate) statuses: Vec<Value>,
    /// Commit and path to text; a text that begins with `link:` is a link.
    pub(crate) files: BTreeMap<(String, String), String>,
    /// Branch to its newest commit.
    pub(crate) tips: BTreeMap<String, String>,
    /// Whether pull requests come from another repository.
    pub(crate) from_fork: bool,
    /// Whether pull requests are closed.
    pub(crate) closed: bool,
    /// Branches that pull requests go to, where that is not `main`.
    pub(crate) targets: BTreeMap<u64, String>,
    /// Branch that pull requests go to once their list was asked for so often: somebody retargets them meanwhile.
    pub(crate) retargeted: Option<(usize, u64, String)>,
    lists: usize,
    pub(crate) branch: Option<String>,
    pub(crate) issues: Vec<Issue>,
    /// The tag of the one release, and whether it is a draft.
    pub(crate) tag: String,
    pub(crate) draft: bool,
    /// Base address that the release names for uploads.
    pub(crate) uploads: String,
    /// Id, name, content.
    pub(crate) assets: Vec<(u64, String, Vec<u8>)>,
    /// Login to what the person may do.
    pub(crate) permissions: BTreeMap<&'static str, &'static str>,
    /// Pull requests that the program opened.
    pub(crate) opened: Vec<Opened>,
    /// Time of every comment's last change.
    pub(crate) updated: &'static str,
    /// Files of the last tree upon another one.
    proposed: Vec<Value>,
    trees: BTreeMap<String, Value>,
    blobs: usize,
    next: u64,
}

/// The pull request of all tests.
pub(crate) const PULL: u64 = 7;
pub(crate) const HEAD: &str = "1111111111111111111111111111111111111111";
pub(crate) const BASE: &str = "3333333333333333333333333333333333333333";
/// The newest commit of the target branch, which has moved on since the pull request began.
pub(crate) const TIP: &str = "4444444444444444444444444444444444444444";
pub(crate) const TOKEN: &str = "ghs_plantedTokenNobodyMaySee0123456789";

impl GitHub {
    /// A repository with one pull request, and a workflow's token.
    pub(crate) fn start(prefix: &'static str) -> Fake<Self> {
        Fake::start(Self::new(), Some(Contract::github()), prefix)
    }

    /// The same of Gitea, whose token may ask who it is; it publishes no contract that could be held against it.
    pub(crate) fn start_gitea() -> Fake<Self> {
        let mut state = Self::new();
        state.tokens.insert(TOKEN.into(), Rights { login: "gate-bot", may_ask_who: true, ..Rights::workflow() });
        Fake::start(state, None, "/api/v1")
    }

    fn new() -> Self {
        Self {
            contract: Contract::github(),
            tokens: BTreeMap::from([(TOKEN.to_owned(), Rights::workflow())]),
            pulls: BTreeMap::from([(PULL, (HEAD.to_owned(), BASE.to_owned(), "dev:topic".to_owned()))]),
            comments: Vec::new(),
            checks: Vec::new(),
            statuses: Vec::new(),
            files: BTreeMap::new(),
            tips: BTreeMap::from([("main".to_owned(), TIP.to_owned())]),
            from_fork: false,
            closed: false,
            targets: BTreeMap::new(),
            retargeted: None,
            lists: 0,
            branch: None,
            issues: Vec::new(),
            tag: "v1.2.0".into(),
            draft: false,
            uploads: String::new(),
            assets: Vec::new(),
            permissions: BTreeMap::new(),
            opened: Vec::new(),
            updated: "2026-11-21T10:00:00Z",
            proposed: Vec::new(),
            trees: BTreeMap::new(),
            blobs: 0,
            next: 100,
        }
    }

    /// The comments on the pull request: login and body.
    pub(crate) fn said(&self) -> Vec<(&str, &str)> {
        self.comments.iter().map(|(_, _, login, body)| (login.as_str(), body.as_str())).collect()
    }

    pub(crate) fn say(&mut self, login: &str, body: &str) -> u64 {
        self.next += 1;
        self.comments.push((self.next, PULL, login.to_owned(), body.to_owned()));
        self.next
    }

    fn comment(&self, (id, _, login, body): &(u64, u64, String, String)) -> Value {
        let mut comment = self.contract.example("issue-comment");
        comment["id"] = (*id).into();
        comment["body"] = body.as_str().into();
        comment["user"]["login"] = login.as_str().into();
        comment["updated_at"] = self.updated.into();
        comment
    }

    fn pull(&self, number: u64) -> Option<Value> {
        let (head, base, label) = self.pulls.get(&number)?;
        let mut pull = self.contract.example("pull-request");
        pull["number"] = number.into();
        // The example's team is older than the description.
        pull["requested_teams"] = json!([]);
        pull["state"] = if self.closed { "closed" } else { "open" }.into();
        pull["head"]["sha"] = head.as_str().into();
        pull["head"]["label"] = label.as_str().into();
        pull["base"]["sha"] = base.as_str().into();
        pull["base"]["ref"] = self.targets.get(&number).map_or("main", String::as_str).into();
        if self.from_fork {
            pull["head"]["repo"]["id"] = 2.into();
        }
        Some(pull)
    }

    fn list_comments(&self, asked: &Asked, number: u64) -> Reply {
        let page: usize = asked.query("page").and_then(|page| page.parse().ok()).unwrap_or(1);
        let size = asked.query("per_page").or(asked.query("limit"));
        let size: usize = size.and_then(|size| size.parse().ok()).unwrap_or(30);
        let all: Vec<Value> =
            self.comments.iter().filter(|comment| comment.1 == number).map(|comment| self.comment(comment)).collect();
        let shown: Vec<Value> = all.iter().skip((page - 1) * size).take(size).cloned().collect();
        let mut reply = Reply::json(200, &shown.into());
        if all.len() > page * size {
            reply.headers.push(("link", format!("<https://next.example/?page={}>; rel=\"next\"", page + 1)));
        }
        reply
    }

    fn write_check(&mut self, app: &str, body: &Value, id: Option<usize>) -> Reply {
        let index = id.unwrap_or_else(|| {
            let mut check = self.contract.example("check-run-example-of-in-progress-conclusion");
            check["id"] = (self.checks.len() + 1).into();
            check["app"]["slug"] = app.into();
            check["conclusion"] = Value::Null;
            check["seen_annotations"] = json!([]);
            self.checks.push(check);
            self.checks.len() - 1
        });
        let Some(check) = self.checks.get_mut(index) else { return Reply::refusal(404, "Not Found") };
        for (name, value) in body.as_object().into_iter().flatten() {
            check[name] = value.clone();
        }
        if let Some(more) = body["output"]["annotations"].as_array() {
            let seen = check["seen_annotations"].as_array_mut().expect("a list");
            seen.extend(more.iter().cloned());
        }
        let check = shown_check(check);
        Reply::json(if id.is_some() { 200 } else { 201 }, &check)
    }

    fn list_checks(&self, asked: &Asked, commit: &str) -> Reply {
        let name =
            asked.query("check_name").unwrap_or_default().replace("%20", " ").replace("%28", "(").replace("%29", ")");
        let fits = |check: &&Value| check["head_sha"] == commit && check["name"] == name.as_str();
        let found: Vec<Value> = self.checks.iter().filter(fits).map(shown_check).collect();
        Reply::json(200, &json!({ "total_count": found.len(), "check_runs": found }))
    }

    fn write_status(&mut self, commit: &str, body: &Value) -> Reply {
        if body["description"].as_str().is_some_and(|text| text.chars().count() > 140) {
            return Reply::refusal(422, "Validation Failed: description is too long (maximum is 140 characters)");
        }
        let mut status = self.contract.example("status");
        for name in ["state", "context", "description", "target_url"] {
            status[name] = body[name].clone();
        }
        self.statuses.push(status.clone());
        status["sha"] = commit.into();
        Reply::json(201, &status)
    }

    fn git(&mut self, asked: &Asked, rest: &[&str]) -> Reply {
        let body = asked.json();
        match (asked.method.as_str(), rest) {
            ("POST", ["blobs"]) => {
                let content = base64::engine::general_purpose::STANDARD.decode(body["content"].as_str().expect("text"));
                assert!(content.expect("base64").starts_with(b"\x89PNG"), "not a picture");
                self.blobs += 1;
                let mut blob = self.contract.example("short-blob");
                blob["sha"] = format!("{:040x}", self.blobs).into();
                Reply::json(201, &blob)
            }
            ("POST", ["trees"]) => {
                let sha = format!("{:040x}", 0x1000 + self.trees.len());
                let mut tree = self.contract.example("git-tree");
                tree["sha"] = sha.as_str().into();
                tree["tree"] = body["tree"].clone();
                self.trees.insert(sha, tree.clone());
                Reply::json(201, &tree)
            }
            ("POST", ["commits"]) => {
                assert_eq!(body["parents"], json!([]), "the branch must not grow");
                let mut commit = self.contract.example("git-commit");
                // The commit of a tree, so that a tree can be found by either.
                commit["sha"] = body["tree"].clone();
                Reply::json(201, &commit)
            }
            ("GET", ["ref", "heads", _]) => match &self.branch {
                None => Reply::refusal(404, "Not Found"),
                Some(commit) => Reply::json(200, &self.reference(commit)),
            },
            ("GET", ["trees", sha]) => match self.trees.get(*sha).cloned().or_else(|| self.folder(sha)) {
                None => Reply::refusal(404, "Not Found"),
                Some(tree) => Reply::json(200, &tree),
            },
            ("POST", ["refs"]) if self.branch.is_some() => Reply::refusal(422, "Reference already exists"),
            ("POST" | "PATCH", ["refs", ..]) => {
                let commit = body["sha"].as_str().expect("a commit").to_owned();
                let reply = Reply::json(if asked.method == "POST" { 201 } else { 200 }, &self.reference(&commit));
                self.branch = Some(commit);
                reply
            }
            _ => Reply::refusal(404, "Not Found"),
        }
    }

    fn reference(&self, commit: &str) -> Value {
        let mut reference = self.contract.example("git-ref");
        reference["object"]["sha"] = commit.into();
        reference
    }

    /// The entries of a commit's root, or of a folder by its digest.
    fn folder(&self, sha: &str) -> Option<Value> {
        let commits: BTreeSet<&String> = self.files.keys().map(|(commit, _)| commit).collect();
        let (commit, prefix) = match commits.get(&sha.to_owned()) {
            Some(commit) => ((*commit).clone(), String::new()),
            None => commits.iter().find_map(|commit| {
                let below = super::listing::folders(&self.files, commit);
                below
                    .into_iter()
                    .find(|folder| super::listing::digest(&self.files, commit, folder) == sha)
                    .map(|folder| ((*commit).clone(), folder))
            })?,
        };
        let mut tree = self.contract.example("git-tree");
        tree["sha"] = sha.into();
        tree["truncated"] = false.into();
        let entry = |entry: super::listing::Entry| json!({ "path": entry.name, "mode": entry.mode, "type": entry.kind, "sha": entry.id, "url": "https://example.com" });
        tree["tree"] = super::listing::entries(&self.files, &commit, &prefix).into_iter().map(entry).collect();
        Some(tree)
    }

    fn contents(&self, asked: &Asked, path: &str) -> Reply {
        let commit = asked.query("ref").unwrap_or_default().to_owned();
        let Some(text) = self.files.get(&(commit, path.to_owned())) else { return Reply::refusal(404, "Not Found") };
        let mut file = self.contract.example("content-file-response-if-content-is-a-file");
        let mut content = base64::engine::general_purpose::STANDARD.encode(text);
        // GitHub breaks its lines.
        for at in (1..content.len() / 60 + 1).rev() {
            content.insert(at * 60, '\n');
        }
        file["content"] = content.into();
        Reply::json(200, &file)
    }

    fn repository(&self) -> Reply {
        let mut repository = self.contract.example("full-repository-default-response");
        repository["full_name"] = "org/model".into();
        repository["html_url"] = "https://github.com/org/model".into();
        repository["default_branch"] = "main".into();
        repository["private"] = false.into();
        // The example is older than the description.
        repository["language"] = Value::Null;
        repository.as_object_mut().expect("an object").remove("source");
        Reply::json(200, &repository)
    }
}

impl Brain for GitHub {
    fn answer(&mut self, asked: &Asked) -> Reply {
        let Some(rights) = self.tokens.get(&asked.token).cloned() else {
            return Reply::refusal(401, "Bad credentials");
        };
        let refused = || Reply::refusal(403, "Resource not accessible by integration");
        let path = asked.path().to_owned();
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let body = asked.json();
        let app = rights.login.trim_end_matches("[bot]");
        if parts == ["user"] {
            let mut user = self.contract.example("private-user-response-with-public-and-private-profile-information");
            user["login"] = rights.login.into();
            return if rights.may_ask_who { Reply::json(200, &user) } else { refused() };
        }
        let Some(rest) = parts.strip_prefix(&["repos", "org", "model"]) else {
            return Reply::refusal(404, "Not Found");
        };
        let known = self.tracker(asked, rest, &rights).or_else(|| self.releases(asked, rest, &rights));
        let known = known.or_else(|| self.proposals(asked, rest, &rights));
        if let Some(reply) = known {
            return reply;
        }
        match (asked.method.as_str(), rest) {
            ("GET", []) => self.repository(),
            ("GET", ["pulls", number]) => {
                let pull = number.parse().ok().and_then(|number| self.pull(number));
                pull.map_or_else(|| Reply::refusal(404, "Not Found"), |pull| Reply::json(200, &pull))
            }
            ("GET", ["pulls"]) if asked.query("head").is_none() => self.list_pulls(asked),
            ("GET", ["pulls"]) => {
                let head = asked.query("head").unwrap_or_default().replace("%3A", ":").replace("%2F", "/");
                let fits = self.pulls.iter().filter(|(_, (_, _, label))| *label == head);
                let found: Vec<Value> = fits.filter_map(|(number, _)| self.pull_simple(*number)).collect();
                Reply::json(200, &found.into())
            }
            ("GET", ["commits", commit, "pulls"]) => {
                let fits = self.pulls.iter().filter(|(_, (head, _, _))| head == commit);
                let found: Vec<Value> = fits.filter_map(|(number, _)| self.pull_simple(*number)).collect();
                Reply::json(200, &found.into())
            }
            ("GET", ["commits", commit, "check-runs"]) => self.list_checks(asked, commit),
            ("GET", ["branches", name @ ..]) => match self.tips.get(&name.join("/")) {
                None => Reply::refusal(404, "Branch not found"),
                Some(tip) => {
                    let mut branch = self.contract.example("branch-get");
                    branch["commit"]["sha"] = tip.as_str().into();
                    Reply::json(200, &branch)
                }
            },
            ("GET", ["contents", rest @ ..]) => self.contents(asked, &rest.join("/")),
            ("GET", ["issues", number, "comments"]) => self.list_comments(asked, number.parse().expect("a number")),
            ("POST", ["check-runs"]) if rights.checks => self.write_check(app, &body, None),
            ("PATCH", ["check-runs", id]) if rights.checks => {
                self.write_check(app, &body, id.parse::<usize>().ok().map(|id| id - 1))
            }
            ("POST", ["statuses", commit]) if rights.statuses => self.write_status(commit, &body),
            ("POST", ["issues", number, "comments"]) if rights.comments => {
                if body["body"].as_str().is_some_and(|text| text.encode_utf16().count() > 65_535) {
                    return Reply::refusal(422, "Validation Failed: body is too long (maximum is 65536 characters)");
                }
                let (number, text) = (number.parse::<u64>().expect("a number"), body["body"].as_str().expect("text"));
                self.say(rights.login, text);
                let comment = self.comments.last_mut().expect("just said");
                comment.1 = number;
                let comment = comment.clone();
                Reply::json(201, &self.comment(&comment))
            }
            ("PATCH" | "DELETE", ["issues", "comments", id]) if rights.comments => {
                let id: u64 = id.parse().expect("a number");
                let Some(index) = self.comments.iter().position(|comment| comment.0 == id) else {
                    return Reply::refusal(404, "Not Found");
                };
                if asked.method == "DELETE" {
                    self.comments.remove(index);
                    return Reply::empty(204);
                }
                self.comments[index].3 = body["body"].as_str().expect("text").to_owned();
                Reply::json(200, &self.comment(&self.comments[index]))
            }
            ("GET", ["git", rest @ ..]) => self.git(asked, rest),
            (_, ["git", rest @ ..]) if rights.contents => self.git(asked, rest),
            ("POST" | "PATCH" | "DELETE", _) => refused(),
            _ => Reply::refusal(404, "Not Found"),
        }
    }
}

impl GitHub {
    /// The open pull requests, two on a page.
    fn list_pulls(&mut self, asked: &Asked) -> Reply {
        assert_eq!(asked.query("state"), Some("open"));
        self.lists += 1;
        if let Some((_, number, target)) = self.retargeted.clone().filter(|(after, ..)| self.lists > *after) {
            self.targets.insert(number, target);
        }
        let page: usize = asked.query("page").and_then(|page| page.parse().ok()).unwrap_or(1);
        let open: Vec<u64> = if self.closed { Vec::new() } else { self.pulls.keys().rev().copied().collect() };
        let shown = open.iter().skip((page - 1) * 2).take(2).filter_map(|number| self.pull_simple(*number));
        let mut reply = Reply::json(200, &shown.collect::<Vec<_>>().into());
        if open.len() > page * 2 {
            reply.headers.push(("link", format!("<https://next.example/?page={}>; rel=\"next\"", page + 1)));
        }
        reply
    }

    fn pull_simple(&self, number: u64) -> Option<Value> {
        let whole = self.pull(number)?;
        let mut pull = self.contract.example("pull-request-simple-items")[0].clone();
        for name in ["number", "state", "head", "base", "requested_teams"] {
            pull[name] = whole[name].clone();
        }
        Some(pull)
    }
}

/// A check run as GitHub shows it: annotations are counted, not listed.
fn shown_check(check: &Value) -> Value {
    let mut shown = check.clone();
    let count = check["seen_annotations"].as_array().map_or(0, Vec::len);
    shown.as_object_mut().expect("an object").remove("seen_annotations");
    shown["output"] = json!({
        "title": check["output"]["title"], "summary": check["output"]["summary"], "text": null,
        "annotations_count": count, "annotations_url": "https://api.github.com/annotations",
    });
    shown
}
