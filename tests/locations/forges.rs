//! GitHub and GitLab, against fakes that hold every request and every answer against the forges' own descriptions.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use precision_gate::error::{ErrorKind, Result};
use precision_gate::fetch::{Digest, Opened, Trust, read_all};
use precision_gate::gate::Quiet;
use serde_json::{Value, json};

use super::contract::Contract;
use super::server::{Fault, Server, fetcher, serve};
use super::web::bytes;

/// A forge that answers what it was told to.
struct Forge {
    address: SocketAddr,
    prefix: &'static str,
    shared: Arc<Shared>,
}

struct Shared {
    contract: Contract,
    prefix: &'static str,
    answers: Mutex<BTreeMap<String, Answer>>,
    asked: Mutex<Vec<String>>,
    wrong: Mutex<Vec<String>>,
}

#[derive(Clone)]
enum Answer {
    Json(Value),
    /// To storage elsewhere.
    To(String),
    Bytes(Vec<u8>),
    Status(u16),
}

impl Forge {
    fn start(contract: Contract, prefix: &'static str) -> Self {
        let shared = Arc::new(Shared {
            contract,
            prefix,
            answers: Mutex::default(),
            asked: Mutex::default(),
            wrong: Mutex::default(),
        });
        let address = serve(Router::new().fallback(answer).with_state(shared.clone()));
        Self { address, prefix, shared }
    }

    fn tell(&self, path: &str, answer: Answer) {
        self.shared.answers.lock().expect("no panic").insert(path.to_owned(), answer);
    }

    fn url(&self) -> String {
        format!("http://{}{}", self.address, self.prefix)
    }

    /// Opens a location with a token, and sees to it that no request or answer broke the contract.
    fn open(&self, location: &str, trust: Trust) -> Result<Opened> {
        let folder = tempfile::tempdir().expect("folder");
        let url = self.url();
        let variables = [
            ("GITHUB_API_URL", url.as_str()),
            ("CI_API_V4_URL", url.as_str()),
            ("GITHUB_TOKEN", "t0ken"),
            ("GITLAB_TOKEN", "t0ken"),
        ];
        let opened = fetcher(folder.path(), &variables).open(location, trust, &Quiet);
        let wrong = self.shared.wrong.lock().expect("no panic").clone();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        if let Err(error) = &opened {
            assert!(!format!("{error:?}").contains("t0ken") && !format!("{error:?}").contains("s3cret"), "{error:?}");
        }
        opened
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let target = request.uri().path_and_query().map_or("", |target| target.as_str());
    let target = target.strip_prefix(shared.prefix).unwrap_or("?").to_owned();
    let note = |wrong: String| shared.wrong.lock().expect("no panic").push(wrong);
    shared.asked.lock().expect("no panic").push(target.clone());
    if let Err(wrong) = shared.contract.check_request("GET", &target, "", b"") {
        note(wrong);
    }
    let headers = request.headers();
    if !headers.contains_key("authorization") && !headers.contains_key("private-token") {
        note(format!("{target}: without a token"));
    }
    let path = target.split('?').next().unwrap_or_default();
    let found = shared.answers.lock().expect("no panic").get(path).cloned().unwrap_or(Answer::Status(404));
    let (status, body, location) = match found {
        Answer::Json(value) => (200, serde_json::to_vec(&value).expect("JSON"), None),
        Answer::Bytes(bytes) => (200, bytes, None),
        Answer::To(address) => (302, Vec::new(), Some(address)),
        Answer::Status(status) => (status, Vec::new(), None),
    };
    let is_json = status == 200 && body.first().is_some_and(|first| b"[{".contains(first));
    if is_json && let Err(wrong) = shared.contract.check_answer("GET", &target, status, &body) {
        note(wrong);
    }
    let mut response = Response::builder().status(status);
    if let Some(location) = location {
        response = response.header("location", location);
    }
    response.body(Body::from(body)).expect("a response")
}

/// GitHub with one repository, and storage beside it.
struct GitHub {
    forge: Forge,
    storage: Server,
}

const RUNS: &str = "/repos/acme/model/actions/workflows/nightly.yml/runs";
const LOCATION: &str = "github://acme/model/gpu?workflow=nightly.yml&branch=main";

impl GitHub {
    fn start() -> Self {
        let (forge, storage) = (Forge::start(Contract::github(), "/api/v3"), Server::start());
        let mut repository = forge.shared.contract.example("full-repository-default-response");
        repository["default_branch"] = json!("main");
        forge.tell("/repos/acme/model", Answer::Json(repository));
        Self { forge, storage }
    }

    /// A run as the API lists it.
    fn run(&self, id: u64, changes: Value) -> Value {
        let mut run = self.forge.shared.contract.example("workflow-run");
        run["id"] = json!(id);
        run["path"] = json!(".github/workflows/nightly.yml@refs/heads/main");
        run["head_branch"] = json!("main");
        run["conclusion"] = json!("success");
        run["created_at"] = json!("2026-11-20T01:02:03Z");
        run["head_repository"]["id"] = run["repository"]["id"].clone();
        for (key, value) in changes.as_object().expect("an object") {
            run[key] = value.clone();
        }
        self.forge.tell(&format!("/repos/acme/model/actions/runs/{id}"), Answer::Json(run.clone()));
        run
    }

    fn runs(&self, runs: &[Value]) {
        self.forge.tell(RUNS, Answer::Json(json!({ "total_count": runs.len(), "workflow_runs": runs })));
    }

    /// The artifact of a run, its bytes in storage.
    fn artifact(&self, run: u64, bytes: &[u8], changes: Value) {
        let mut artifact = self.forge.shared.contract.example("artifact");
        artifact["id"] = json!(run * 10);
        artifact["name"] = json!("gpu");
        artifact["digest"] = json!(Digest::of(bytes).to_string());
        artifact["expires_at"] = json!("2027-02-01T00:00:00Z");
        for (key, value) in changes.as_object().expect("an object") {
            artifact[key] = value.clone();
        }
        let list = json!({ "total_count": 1, "artifacts": [artifact] });
        self.forge.tell(&format!("/repos/acme/model/actions/runs/{run}/artifacts"), Answer::Json(list));
        self.storage.put(&format!("/blob/{run}"), bytes);
        let address = self.storage.url(&format!("/blob/{run}?X-Signature=s3cret"));
        self.forge.tell(&format!("/repos/acme/model/actions/artifacts/{}/zip", run * 10), Answer::To(address));
    }

    fn without_artifact(&self, run: u64) {
        let list = json!({ "total_count": 0, "artifacts": [] });
        self.forge.tell(&format!("/repos/acme/model/actions/runs/{run}/artifacts"), Answer::Json(list));
    }
}

fn content(opened: &Opened) -> Vec<u8> {
    let source = opened.files.open(&opened.files.list()[0].path).expect("listed");
    read_all(source.as_ref(), u64::MAX).expect("readable")
}

#[test]
fn the_newest_run_that_has_the_artifact_gives_the_baseline() {
    let github = GitHub::start();
    let wanted = bytes(300_000);
    github.runs(&[github.run(3, json!({})), github.run(2, json!({})), github.run(1, json!({}))]);
    github.without_artifact(3);
    github.artifact(2, &wanted, json!({}));
    github.artifact(1, b"older", json!({}));
    github.storage.fail("/blob/2", &[Fault::Status(503), Fault::Cut(100_000)]);
    let opened = github.forge.open(LOCATION, Trust::Baseline).expect("found");
    assert!(content(&opened) == wanted);
    let origin = opened.origin.expect("a forge's");
    assert_eq!((origin.description.as_str(), origin.passed_over), ("run 2 of nightly.yml on main", 1));
    assert_eq!(origin.created.as_deref(), Some("2026-11-20"));
    assert_eq!(origin.proved, Some(Digest::of(&wanted)));
    let storage = github.storage.seen();
    assert!(storage.iter().all(|seen| !seen.headers.contains_key("authorization")), "the token stays with the API");
    assert!(storage.len() == 3 && storage[2].range.is_some(), "a cut transfer goes on from a fresh redirect");
}

#[test]
fn a_run_that_proves_nothing_gives_no_baseline() {
    let other = json!({ "id": 666 });
    for (name, changes) in [
        ("a fork", json!({ "head_repository": other })),
        ("a failed run", json!({ "conclusion": "failure" })),
        ("another branch", json!({ "head_branch": "evil" })),
        ("another workflow", json!({ "path": ".github/workflows/evil.yml" })),
    ] {
        let github = GitHub::start();
        let mut run = github.run(5, json!({}));
        for (key, value) in changes.as_object().expect("an object") {
            if key == "head_repository" {
                run[key]["id"] = value["id"].clone();
            } else {
                run[key] = value.clone();
            }
        }
        github.runs(std::slice::from_ref(&run));
        github.forge.tell("/repos/acme/model/actions/runs/5", Answer::Json(run));
        github.artifact(5, b"forged", json!({}));
        for location in [LOCATION.to_owned(), format!("{LOCATION}&run=5")] {
            let error =
                github.forge.open(&location, Trust::Baseline).err().unwrap_or_else(|| panic!("{name}: accepted"));
            assert_eq!(error.kind(), ErrorKind::NotFound, "{name}: {error}");
        }
        assert!(github.storage.seen().is_empty(), "{name}: nothing of it was even fetched");
    }
}

#[test]
fn an_artifact_that_expired_or_changed_is_told() {
    let github = GitHub::start();
    github.runs(&[github.run(5, json!({}))]);
    github.artifact(5, b"golden", json!({ "expired": true }));
    let error = github.forge.open(LOCATION, Trust::Baseline).err().expect("expired");
    assert_eq!((error.kind(), error.message()), (ErrorKind::NotFound, "has expired"));
    github.artifact(5, b"golden", json!({}));
    github.forge.tell("/repos/acme/model/actions/artifacts/50/zip", Answer::Status(410));
    let error = github.forge.open(LOCATION, Trust::Baseline).err().expect("expired meanwhile");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    github.artifact(5, b"golden", json!({ "digest": Digest::of(b"other").to_string() }));
    let error = github.forge.open(LOCATION, Trust::Baseline).err().expect("a wrong digest");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    github.runs(&[]);
    assert_eq!(github.forge.open(LOCATION, Trust::Baseline).err().expect("none").kind(), ErrorKind::NotFound);
    github.forge.tell(RUNS, Answer::Status(403));
    let error = github.forge.open(LOCATION, Trust::Baseline).err().expect("denied");
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.help().is_some_and(|help| help.contains("actions: read")), "{error:?}");
}

#[test]
fn a_baseline_names_its_workflow_and_a_candidate_need_not() {
    let github = GitHub::start();
    let run = github.run(5, json!({}));
    github.artifact(5, b"candidate", json!({}));
    let mut artifact = github.forge.shared.contract.example("artifact");
    artifact["name"] = json!("gpu");
    artifact["expired"] = json!(false);
    artifact["workflow_run"]["id"] = run["id"].clone();
    let list = json!({ "total_count": 1, "artifacts": [artifact] });
    github.forge.tell("/repos/acme/model/actions/artifacts", Answer::Json(list));
    let error = github.forge.open("github://acme/model/gpu", Trust::Baseline).err().expect("refused");
    assert_eq!(error.kind(), ErrorKind::Usage);
    let opened = github.forge.open("github://acme/model/gpu", Trust::Any).expect("found");
    assert_eq!(content(&opened), b"candidate");
}

#[test]
fn a_release_asset_is_found_and_proved() {
    for (name, is_redirect) in [("200", false), ("302", true)] {
        let github = GitHub::start();
        let mut release = github.forge.shared.contract.example("release");
        release["id"] = json!(7);
        release["tag_name"] = json!("v1");
        github.forge.tell("/repos/acme/model/releases/tags/v1", Answer::Json(release.clone()));
        github.forge.tell("/repos/acme/model/releases/latest", Answer::Json(release));
        let mut asset = github.forge.shared.contract.example("release-asset");
        asset["id"] = json!(70);
        asset["name"] = json!("gpu.tar");
        asset["digest"] = json!(Digest::of(b"golden").to_string());
        github.forge.tell("/repos/acme/model/releases/7/assets", Answer::Json(json!([asset])));
        github.storage.put("/asset", b"golden");
        let answer =
            if is_redirect { Answer::To(github.storage.url("/asset")) } else { Answer::Bytes(b"golden".to_vec()) };
        github.forge.tell("/repos/acme/model/releases/assets/70", answer);
        for tag in ["v1", "latest"] {
            let location = format!("github://acme/model/gpu.tar?release={tag}");
            let opened = github.forge.open(&location, Trust::Baseline).expect("found");
            assert_eq!(content(&opened), b"golden", "{name}");
            assert!(opened.origin.expect("a forge's").proved.is_some());
        }
        let error = github.forge.open("github://acme/model/npu.tar?release=v1", Trust::Baseline).err().expect("none");
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}

fn gitlab_job(id: u64, name: &str, status: &str, has_artifacts: bool) -> Value {
    let mut job = json!({
        "id": id, "name": name, "status": status, "stage": "train", "ref": "main",
        "web_url": "https://gitlab.example/job", "created_at": "2026-11-20T00:00:00Z",
        "commit": { "id": "0123456789abcdef0123456789abcdef01234567" },
    });
    if has_artifacts {
        job["artifacts_file"] = json!({ "filename": "artifacts.zip", "size": 6 });
    }
    job
}

fn gitlab() -> Forge {
    let forge = Forge::start(Contract::gitlab(), "/api/v4");
    let pipeline = |id: u64| json!({ "id": id, "sha": "0123", "ref": "main", "status": "success", "web_url": "https://gitlab.example/p" });
    forge.tell("/projects/group%2Fmodel/pipelines", Answer::Json(json!([pipeline(9), pipeline(8)])));
    forge.tell(
        "/projects/group%2Fmodel/pipelines/9/jobs",
        Answer::Json(json!([gitlab_job(90, "train:gpu", "success", false)])),
    );
    forge.tell(
        "/projects/group%2Fmodel/pipelines/8/jobs",
        Answer::Json(json!([gitlab_job(80, "train:gpu", "success", true)])),
    );
    forge
}

#[test]
fn gitlab_gives_a_jobs_artifacts_and_where_they_come_from() {
    let (forge, storage) = (gitlab(), Server::start());
    storage.put("/object", b"golden");
    forge.tell("/projects/group%2Fmodel/jobs/80/artifacts", Answer::To(storage.url("/object?X-Signature=s3cret")));
    storage.fail("/object", &[Fault::Cut(2)]);
    let opened = forge.open("gitlab://group/model/train:gpu?ref=main", Trust::Baseline).expect("found");
    assert_eq!(content(&opened), b"golden");
    let origin = opened.origin.expect("a forge's");
    assert_eq!((origin.description.as_str(), origin.passed_over), ("job 80 (train:gpu) on main", 1));
    assert!(storage.seen().iter().all(|seen| !seen.headers.contains_key("private-token")), "the token stays");
    let error = forge.open("gitlab://group/model/other?ref=main", Trust::Baseline).err().expect("no such job");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = forge.open("gitlab://group/model/train:gpu?job=80", Trust::Baseline).err().expect("no branch");
    assert_eq!(error.kind(), ErrorKind::Usage);
    forge.tell("/projects/group%2Fmodel/jobs/80/artifacts", Answer::Status(404));
    let error = forge.open("gitlab://group/model/train:gpu?ref=main", Trust::Baseline).err().expect("expired");
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn gitlab_gives_a_packages_file() {
    let forge = gitlab();
    let path = "/projects/group%2Fmodel/packages/generic/golden/1.0/gpu.tar";
    forge.tell(path, Answer::Bytes(b"golden".to_vec()));
    let location = "gitlab://group/model/gpu.tar?package=golden&version=1.0";
    assert_eq!(content(&forge.open(location, Trust::Baseline).expect("found")), b"golden");
    let wrong = format!("{location}#sha256={}", Digest::of(b"other").hex());
    assert_eq!(forge.open(&wrong, Trust::Baseline).err().expect("a wrong digest").kind(), ErrorKind::Corrupt);
}
