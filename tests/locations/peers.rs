//! Servers and clients that others wrote: moto's S3, an OBS whose signatures Huawei's own client computes, nginx.
//!
//! `.ci/run` installs them; `PEERS_PYTHON` names the Python that has `moto`, `boto3` and `esdk-obs-python`.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use precision_gate::error::ErrorKind;
use precision_gate::fetch::{Fetcher, Settings, read_all, writable};
use precision_gate::verdict::Verdict;

use super::data::fixture;
use super::objects::{judge, sides};
use super::server::{fetcher, settings};
use super::web::{bytes, open, whole};

/// A process that ends with the test.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _gone = self.0.wait();
    }
}

fn python() -> Command {
    Command::new(std::env::var_os("PEERS_PYTHON").unwrap_or_else(|| "python3".into()))
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/locations/peers").join(name)
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

fn wait_for(port: u16) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "the server does not come up");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// moto's S3 server, and its address.
fn moto() -> (Peer, String) {
    let port = free_port();
    let command = python()
        .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let peer = Peer(command.expect("moto is installed"));
    wait_for(port);
    (peer, format!("http://127.0.0.1:{port}"))
}

fn put(endpoint: &str, folder: &Path, prefix: &str) {
    let done = python().arg(script("s3_bucket.py")).args(["put", endpoint, "golden"]).arg(folder).arg(prefix).status();
    assert!(done.expect("boto3 is installed").success());
}

const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "access"), ("AWS_SECRET_ACCESS_KEY", "secret")];

#[test]
#[ignore = "needs moto"]
fn a_real_s3_server_gives_the_result_of_local_folders() {
    let folder = tempfile::tempdir().expect("folder");
    let (_moto, endpoint) = moto();
    let [gpu, npu] = sides(&fixture("dumps/gpt_bf16_tensor_layernorm_eps"));
    put(&endpoint, &gpu, "gpu");
    put(&endpoint, &npu, "npu");
    let at = |prefix: &str| format!("s3://golden/{prefix}?endpoint={endpoint}");
    let local = judge(gpu.to_str().expect("UTF-8"), npu.to_str().expect("UTF-8"), &Fetcher::default());
    let mut streamed = judge(&at("gpu"), &at("npu"), &fetcher(folder.path(), &KEYS));
    let (ours, theirs) =
        (streamed.baseline.as_mut().expect("a baseline"), local.baseline.as_ref().expect("a baseline"));
    ours.location.clone_from(&theirs.location);
    streamed.candidate.location.clone_from(&local.candidate.location);
    assert_eq!(streamed, local);
    let fetcher = fetcher(folder.path(), &KEYS);
    assert_eq!(open(&fetcher, &at("none")).err().expect("nothing").kind(), ErrorKind::NotFound);
    let no_bucket = format!("s3://silver/x?endpoint={endpoint}");
    assert_eq!(open(&fetcher, &no_bucket).err().expect("no bucket").kind(), ErrorKind::NotFound);
}

/// The program, with keys for the bucket and nothing else.
fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_precision-gate"));
    command.current_dir(folder).env_clear().envs(KEYS).env("HOME", folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
#[ignore = "needs moto"]
fn runs_that_write_to_one_bucket_at_the_same_moment_lose_nothing() {
    let folder = tempfile::tempdir().expect("folder");
    let (_moto, endpoint) = moto();
    let [gpu, npu] = sides(&fixture("loss/identical"));
    put(&endpoint, &gpu, "gpu");
    let location = format!("s3://golden/history/?endpoint={endpoint}");
    let write = |place: usize, job: usize| {
        let mut command = program(folder.path());
        command.arg("run").arg("--baseline").arg(&gpu).arg("--candidate").arg(&npu).args([
            "--quiet",
            "--history",
            &location,
        ]);
        command.args([
            "--out",
            &format!("out-{place}"),
            "--sha",
            &format!("{job}").repeat(40),
            "--today",
            "2026-11-21",
        ]);
        command.args(["--at", "2026-11-21T02:00:00Z"]);
        command
    };
    // Two of them say the same.
    let jobs = [1, 2, 3, 4, 5, 5].into_iter().enumerate();
    let started: Vec<_> = jobs.map(|(place, job)| write(place, job).spawn().expect("started")).collect();
    for job in started {
        let ended = job.wait_with_output().expect("ended");
        assert!(ended.status.success() && ended.stderr.is_empty(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let history = |arguments: &[&str]| {
        let ended = program(folder.path()).arg("history").args(arguments).args(["--history", &location]).output();
        let ended = ended.expect("runs");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8(ended.stdout).expect("UTF-8")
    };
    assert_eq!(history(&["list", "--suite", "default"]).lines().count(), 5);
    assert!(history(&["prune", "--keep", "2"]).ends_with("3 of 5 records removed\n"));
    assert_eq!(history(&["list"]).lines().count(), 2);
}

/// The OBS server, and settings that reach it under the service's own name.
fn obs(files: &Path, folder: &Path, secret: &str) -> (Peer, Settings) {
    let mut child = python()
        .arg(script("obs_server.py"))
        .arg(files)
        .args(["golden", "access", "secret"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("esdk-obs-python is installed");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("its port");
    let port: u16 = line.trim().parse().expect("a port");
    let variables = [
        ("OBS_ACCESS_KEY_ID", "access"),
        ("OBS_SECRET_ACCESS_KEY", secret),
        ("OBS_ENDPOINT", "http://obs.cn-north-4.myhuaweicloud.com"),
    ];
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let resolve = vec![("golden.obs.cn-north-4.myhuaweicloud.com".to_owned(), address)];
    (Peer(child), Settings { resolve, ..settings(folder, &variables) })
}

#[test]
#[ignore = "needs esdk-obs-python"]
fn obs_is_asked_as_huaweis_own_client_would() {
    let folder = tempfile::tempdir().expect("folder");
    let case = fixture("dumps/zoo_tensor_identical");
    let (_obs, settings) = obs(&case, folder.path(), "secret");
    let fetcher = Fetcher::new(settings);
    let result = judge("obs://golden/gpu", "obs://golden/npu", &fetcher);
    assert_eq!(result.verdict, Verdict::Pass, "{:?}", result.findings);
    assert_eq!(open(&fetcher, "obs://golden/none").err().expect("nothing").kind(), ErrorKind::NotFound);
    let (_written, settings) = obs(folder.path(), folder.path(), "secret");
    let fetcher = Fetcher::new(settings);
    let place = writable::open("obs://golden/history", &fetcher).expect("a place to write");
    for _ in 0..2 {
        place.put("nightly/a b.json", b"{}").expect("written");
    }
    let listed = || place.files("nightly").map(|files| files.list().to_vec());
    assert_eq!(listed().expect("listed")[0].path, "a b.json");
    place.remove(&["nightly/a b.json".into(), "nightly/none".into()]).expect("removed");
    assert_eq!(listed().expect_err("nothing").kind(), ErrorKind::NotFound);
    let (_other, settings) = obs(&case, folder.path(), "wrong");
    let error = open(&Fetcher::new(settings), "obs://golden/gpu").err().expect("denied");
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.help().is_some_and(|help| help.contains("OBS_ACCESS_KEY_ID")));
}

/// nginx over `files`, with a listing as JSON, a slow and a closed corner.
fn nginx(files: &Path, folder: &Path) -> (Peer, String) {
    let port = free_port();
    let (root, place) = (files.display(), folder.display());
    let config = format!(
        "daemon off; master_process off; pid {place}/pid; error_log {place}/error.log;
         events {{}}
         http {{
           access_log off; client_body_temp_path {place}/b; proxy_temp_path {place}/p; fastcgi_temp_path {place}/f;
           uwsgi_temp_path {place}/u; scgi_temp_path {place}/s;
           server {{
             listen 127.0.0.1:{port}; root {root}; autoindex on; autoindex_format json;
             location /slow/ {{ alias {root}/; limit_rate 400k; }}
             location /closed/ {{ deny all; }}
           }}
         }}"
    );
    let path = folder.join("nginx.conf");
    std::fs::write(&path, config).expect("written");
    let child = Command::new("nginx").arg("-c").arg(&path).stderr(Stdio::null()).spawn();
    let peer = Peer(child.expect("nginx is installed"));
    wait_for(port);
    (peer, format!("http://127.0.0.1:{port}"))
}

#[test]
#[ignore = "needs nginx"]
fn nginx_gives_ranges_folders_and_refusals() {
    let (folder, files) = (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder"));
    std::fs::create_dir_all(files.path().join("run/step 0")).expect("made");
    let wanted = bytes(1_500_000);
    std::fs::write(files.path().join("run/step 0/file"), &wanted).expect("written");
    std::fs::write(files.path().join("large"), bytes(30_000_000)).expect("written");
    let (_nginx, address) = nginx(files.path(), folder.path());
    let fetcher = fetcher(folder.path(), &[]);
    let listed = open(&fetcher, &format!("{address}/run/")).expect("listed").files;
    assert_eq!(listed.list()[0].path, "step 0/file");
    let source = listed.open("step 0/file").expect("listed");
    assert!(read_all(source.as_ref(), u64::MAX).expect("readable") == wanted);
    assert!(whole(&fetcher, &format!("{address}/large")).expect("readable") == bytes(30_000_000));
    assert!(whole(&fetcher, &format!("{address}/slow/run/step%200/file")).expect("slow, and right") == wanted);
    for (path, kind) in [("/none", ErrorKind::NotFound), ("/closed/x", ErrorKind::Denied)] {
        assert_eq!(open(&fetcher, &format!("{address}{path}")).err().expect("refused").kind(), kind, "{path}");
    }
}
