//! No output holds a secret, wherever in a pack it stands.

use std::io::Write as _;
use std::path::Path;

use assert_cmd::Command;

const SECRETS: [&str; 7] = [
    "hunter2-environment",
    "hunter2-argument",
    "hunter2-yaml",
    "hunter2-nested",
    "ghp_0123456789abcdefghijABCDEFGHIJ",
    "hunter2-literal",
    "unlisted-value-of-the-machine",
];

fn pack(path: &Path, rate: &str) {
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).expect("file"));
    let mut member = |name: &str, text: String| {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).expect("start");
        zip.write_all(text.as_bytes()).expect("write");
    };
    member(
        "env",
        format!(
            r#"{{"DB_PASSWORD": "hunter2-environment{rate}", "MY_SETTING": "unlisted-value-of-the-machine{rate}", "HCCL_ALGO": "hunter2-environment{rate}"}}"#
        ),
    );
    member("pip", "torch=2.7.1\n".into());
    member(
        "hyperparameters/hyperparameters_static.json",
        format!(
            r#"{{"lr": "{rate}", "wandb-api-key": "hunter2-argument{rate}", "hub.token": "hunter2-yaml{rate}",
                "note": "use ghp_0123456789abcdefghijABCDEFGHIJ at {rate}", "echo": "x hunter2-argument{rate} y",
                "tracker": {{"password": "hunter2-nested{rate}", "rate": {rate}}}}}"#
        ),
    );
    let frame = format!(r#"File /w/a.py, line 1, in main, login(token=\"hunter2-literal\", {rate}); torch.rand(2)"#);
    member("random/rank0.json", format!(r#"{{"torch.rand": [{{"count": {}, "stack": ["{frame}"]}}]}}"#, rate.len()));
    zip.finish().expect("finish");
}

#[test]
fn no_output_file_holds_a_secret() {
    let place = tempfile::tempdir().expect("folder");
    let [gpu, npu, out] = ["gpu.zip", "npu.zip", "out"].map(|name| place.path().join(name));
    pack(&gpu, "0.1");
    pack(&npu, "0.25");
    let mut command = Command::cargo_bin("precision-gate").expect("binary");
    let run = command.arg("config-check").args([&gpu, &npu]).arg("--out").arg(&out).output().expect("run");
    assert_eq!(run.status.code(), Some(1), "{}", String::from_utf8_lossy(&run.stderr));
    let mut outputs = vec![("terminal".to_owned(), [run.stdout, run.stderr].concat())];
    for entry in std::fs::read_dir(&out).expect("out") {
        let path = entry.expect("entry").path();
        outputs.push((path.display().to_string(), std::fs::read(&path).expect("read")));
    }
    assert!(outputs.len() > 5, "{}", outputs.len());
    for (name, bytes) in &outputs {
        let text = String::from_utf8_lossy(bytes);
        for secret in SECRETS {
            assert!(!text.contains(secret), "{name} holds {secret}");
        }
    }
    let table = std::fs::read_to_string(out.join("config_check_hyperparameters.csv")).expect("table");
    assert!(table.contains("lr,lr,0.1,0.25") && table.contains("<redacted>"), "{table}");
}
