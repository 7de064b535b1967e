//! Packs of our own collector, made by the real program.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use precision_gate::verdict::Verdict;

use crate::config::common::{codes, folder, run_paths};

const SCRIPT: &str = "LR=1e-4\ntorchrun train.py --lr $LR --hub-token hunter2-argument --bf16\n";
const YAML: &str = "model: {layers: 4}\ntracker: {api_key: hunter2-yaml}\n";

/// Lays a machine out and collects its pack; `change` is the data's last line.
fn collect(place: &Path, change: &str) -> (String, String) {
    let write = |name: &str, text: &str| {
        let path = place.join(name);
        fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        fs::write(path, text).expect("written");
    };
    write("train.sh", SCRIPT);
    write("train.yaml", YAML);
    write("corpus/a.txt", &format!("one\n{change}\n"));
    write("site/torch-2.7.1.dist-info/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 2.7.1\n\nbody\n");
    write("site/numpy-2.2.6.dist-info/METADATA", "Name: numpy\nVersion: 2.2.6\n");
    let out = place.join("pack.zip");
    let mut command = Command::cargo_bin("precision-gate").expect("binary");
    let run = command
        .env_clear()
        .envs([("HCCL_ALGO", "ring"), ("DB_PASSWORD", "hunter2-environment"), ("INTERNAL_NAME", "hunter2-pattern")])
        .arg("config-pack")
        .args(["train.sh", "train.yaml"].map(|name| place.join(name)))
        .args(["--redact", "INTERNAL_*", "--site-packages"])
        .arg(place.join("site"))
        .arg("--data")
        .arg(place.join("corpus"))
        .arg("--out")
        .arg(&out)
        .output()
        .expect("run");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    (out.display().to_string(), String::from_utf8_lossy(&run.stdout).into_owned())
}

/// All members as text.
fn members(pack: &str) -> String {
    use std::io::Read as _;
    let mut archive = zip::ZipArchive::new(fs::File::open(pack).expect("pack")).expect("zip");
    let mut text = String::new();
    for index in 0..archive.len() {
        let mut member = archive.by_index(index).expect("member");
        text.push_str(&format!("== {}\n", member.name().expect("name")));
        member.read_to_string(&mut text).expect("text");
    }
    text
}

#[test]
fn a_pack_holds_what_was_asked_for_and_no_secret() {
    let place = tempfile::tempdir().expect("folder");
    let (pack, said) = collect(place.path(), "two");
    assert!(said.contains("pip (2 packages)") && said.contains("digests.json (1 files)"), "{said}");
    let text = members(&pack);
    for secret in ["hunter2-environment", "hunter2-argument", "hunter2-yaml", "hunter2-pattern"] {
        assert!(!text.contains(secret), "{text}");
    }
    for wanted in [
        "\"HCCL_ALGO\": \"ring\"",
        "numpy=2.2.6\ntorch=2.7.1\n",
        "\"lr\": \"1e-4\"",
        "\"bf16\": true",
        "\"model.layers\": 4",
        "\"data/corpus/a.txt\": \"sha256:",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn the_same_machine_gives_the_same_bytes_and_another_corpus_is_told() {
    let places = [0; 3].map(|_| tempfile::tempdir().expect("folder"));
    let packs: Vec<String> =
        places.iter().zip(["two", "two", "three"]).map(|(place, change)| collect(place.path(), change).0).collect();
    assert_eq!(fs::read(&packs[0]).expect("pack"), fs::read(&packs[1]).expect("pack"));
    let same = run_paths(&packs[0], &packs[1], "{}").expect("read");
    assert_eq!(same.result.verdict, Verdict::Pass, "{:?}", codes(&same));
    let other = run_paths(&packs[0], &packs[2], "{}").expect("read");
    assert_eq!(other.result.verdict, Verdict::Fail);
    assert!(codes(&other).contains(&"digest-differs".to_owned()));
}

#[test]
fn packs_of_both_makers_compare() {
    let place = tempfile::tempdir().expect("folder");
    let (ours, _) = collect(place.path(), "two");
    let theirs = folder().join("hyper-shell-differs/gpu.zip").display().to_string();
    let outcome = run_paths(&theirs, &ours, "{}").expect("read");
    let items = &outcome.result.checks[0].items;
    let levels: Vec<&str> = items.iter().filter_map(|item| item.msprobe.as_deref()).collect();
    assert_eq!(levels, ["error", "error", "error"], "env, pip and hyperparameters are compared");
    assert!(codes(&outcome).contains(&"hyperparameter-differs".to_owned()));
}

#[test]
fn a_missing_interpreter_and_a_strange_file_say_what_to_do() {
    let refuse = |args: &[&str]| {
        let mut command = Command::cargo_bin("precision-gate").expect("binary");
        let run = command.arg("config-pack").args(args).output().expect("run");
        assert_eq!(run.status.code(), Some(2));
        String::from_utf8_lossy(&run.stderr).into_owned()
    };
    assert!(refuse(&["--python", "/nowhere/bin/python"]).contains("--site-packages"));
    let place = tempfile::tempdir().expect("folder");
    let file = place.path().join("settings.toml");
    fs::write(&file, "a = 1").expect("written");
    assert!(
        refuse(&["--site-packages", &place.path().display().to_string(), &file.display().to_string()])
            .contains(".yaml")
    );
}

/// The packages of a pack, and the warnings of the command that wrote it, with only these folders on the `PATH`.
fn packed_with(place: &Path, path: &Path, more: &[(&str, &str)]) -> (String, String) {
    let file = place.join("pack.zip");
    let mut command = Command::cargo_bin("precision-gate").expect("binary");
    command.env_clear().current_dir(place).env("PATH", path).envs(more.iter().copied());
    let run = command.arg("config-pack").arg("--out").arg(&file).output().expect("run");
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    let mut pack = zip::ZipArchive::new(fs::File::open(&file).expect("a pack")).expect("a pack");
    let mut packages = String::new();
    if let Ok(mut member) = pack.by_name("pip") {
        std::io::Read::read_to_string(&mut member, &mut packages).expect("text");
    }
    (packages, String::from_utf8_lossy(&run.stderr).into_owned())
}

#[test]
fn a_pack_is_written_without_python_and_says_what_it_lacks() {
    let place = tempfile::tempdir().expect("folder");
    let bin = place.path().join("bin");
    fs::create_dir_all(&bin).expect("folder");
    let (packages, said) = packed_with(place.path(), &bin, &[]);
    assert_eq!(packages, "");
    assert!(said.contains("warning: no Python was found: the pack holds no packages"), "{said}");
    fs::write(bin.join("python3"), "").expect("written");
    let (_, said) = packed_with(place.path(), &bin, &[]);
    assert!(said.contains("has no site-packages folder") && said.contains("--site-packages"), "{said}");
    let site = place.path().join("lib/python3.11/site-packages");
    fs::create_dir_all(&site).expect("folder");
    let (_, said) = packed_with(place.path(), &bin, &[]);
    assert!(said.contains("warning: no installed package was found in"), "{said}");
}

#[test]
fn the_interpreter_behind_a_shim_of_pyenv_is_found_without_running_it() {
    let place = tempfile::tempdir().expect("folder");
    let (shims, root) = (place.path().join("pyenv/shims"), place.path().join("pyenv"));
    fs::create_dir_all(&shims).expect("folder");
    fs::write(shims.join("python3"), "#!/bin/sh\nexit 1\n").expect("written");
    for version in ["3.10.4", "3.11.9"] {
        let prefix = root.join("versions").join(version);
        let package = prefix.join("lib/python3.11/site-packages").join(format!("torch-{version}.dist-info"));
        fs::create_dir_all(&package).expect("folder");
        fs::write(package.join("METADATA"), format!("Name: torch\nVersion: {version}\n")).expect("written");
        fs::create_dir_all(prefix.join("bin")).expect("folder");
        fs::write(prefix.join("bin/python3"), "").expect("written");
    }
    let (_, said) = packed_with(place.path(), &shims, &[]);
    assert!(said.contains("has no site-packages folder"), "no version is chosen: {said}");
    fs::write(root.join("version"), "system\n3.10.4\n").expect("written");
    assert!(packed_with(place.path(), &shims, &[]).0.contains("3.10.4"));
    let variable = [("PYENV_VERSION", "../../etc:3.11.9")];
    assert!(packed_with(place.path(), &shims, &variable).0.contains("3.11.9"));
}
