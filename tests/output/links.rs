//! Links that a change may plant in a checkout: nothing is written through them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::output::support::{documents, ended, example, gate, names, run};

/// A checkout, and a file beside it that nobody may touch.
struct Planted {
    root: TempDir,
    checkout: PathBuf,
    victim: PathBuf,
}

impl Planted {
    fn new() -> Self {
        let root = TempDir::new().expect("a folder");
        let (checkout, home) = (root.path().join("work/checkout"), root.path().join("home"));
        fs::create_dir_all(&checkout).expect("a folder");
        fs::create_dir_all(&home).expect("a folder");
        let victim = home.join(".bashrc");
        fs::write(&victim, "mine").expect("written");
        Self { root, checkout, victim }
    }

    /// Runs into `out`; demands a refusal that names `what`, and that nothing was written through it.
    fn refused(&self, out: &Path, what: &str) {
        let mut command = run(&self.checkout, "npu", out);
        command.env("GITHUB_WORKSPACE", &self.checkout);
        let (code, error) = ended(command);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(what) && error.contains("help: "), "{error}");
        self.is_untouched();
    }

    fn is_untouched(&self) {
        assert_eq!(fs::read_to_string(&self.victim).expect("there"), "mine");
        assert_eq!(names(&self.root.path().join("home")), [".bashrc"]);
    }
}

#[test]
fn a_link_in_the_place_of_a_document_is_not_written_through() {
    for name in ["compare_result_step0.csv", "summary.md", "result.json", "operations.jsonl", "loss.png"] {
        let relative = PathBuf::from("../../../home/.bashrc");
        let planted = Planted::new();
        let absolute = planted.victim.clone();
        let nowhere = planted.root.path().join("home/new");
        let folder = planted.root.path().join("home");
        for target in [relative, absolute, nowhere, folder, PathBuf::from("summary.md")] {
            let out = planted.checkout.join("precision-gate-out");
            fs::create_dir_all(&out).expect("a folder");
            symlink(&target, out.join(name)).expect("linked");
            fs::write(out.join("metrics.txt"), "old").expect("written");
            planted.refused(Path::new("precision-gate-out"), &format!("{name}: is a symbolic link"));
            assert_eq!(names(&out), [name], "old documents go, the link stays");
            fs::remove_dir_all(&out).expect("removed");
        }
    }
}

#[test]
fn a_link_on_the_way_to_the_folder_is_not_followed() {
    let planted = Planted::new();
    symlink("../../home", planted.checkout.join("out")).expect("linked");
    symlink("../../no-such", planted.checkout.join("dangling")).expect("linked");
    symlink(".", planted.checkout.join("itself")).expect("linked");
    let absolute = planted.checkout.join("out");
    for (out, what) in [
        (Path::new("out"), "out: is a symbolic link"),
        (Path::new("out/"), "out: is a symbolic link"),
        (Path::new("./out/below/it"), "out: is a symbolic link"),
        (Path::new("dangling"), "dangling: is a symbolic link"),
        (Path::new("itself/new"), "itself: is a symbolic link"),
        (&absolute, "out: is a symbolic link"),
        (&absolute.join("below"), "out: is a symbolic link"),
    ] {
        planted.refused(out, what);
    }
    assert!(!planted.root.path().join("no-such").exists() && !planted.root.path().join("work/no-such").exists());
}

#[test]
fn parents_outside_of_the_checkout_belong_to_the_job() {
    let planted = Planted::new();
    let (real, link) = (planted.root.path().join("real"), planted.root.path().join("link"));
    fs::create_dir(&real).expect("a folder");
    symlink(&real, &link).expect("linked");
    let (code, error) = ended(run(&planted.checkout, "npu", &link.join("out")));
    assert_eq!(code, 1, "{error}");
    assert!(documents(&real.join("out")).contains_key("summary.md"));
    planted.refused(&link, "link: is a symbolic link");
    // The same checkout by another name is the checkout.
    let alias = planted.root.path().join("alias");
    symlink(&planted.checkout, &alias).expect("linked");
    symlink("../../home", planted.checkout.join("out")).expect("linked");
    planted.refused(&alias.join("out/below"), "out: is a symbolic link");
}

#[test]
fn the_other_name_of_a_hard_link_keeps_its_content() {
    let planted = Planted::new();
    let out = planted.checkout.join("out");
    fs::create_dir(&out).expect("a folder");
    for name in ["summary.md", "compare_result_step0.csv", ".precision-gate.lock"] {
        fs::hard_link(&planted.victim, out.join(name)).expect("linked");
    }
    let (code, error) = ended(run(&planted.checkout, "npu", Path::new("out")));
    assert_eq!(code, 1, "{error}");
    planted.is_untouched();
    assert!(fs::read_to_string(out.join("summary.md")).expect("there").starts_with("## "));
}

#[test]
fn pipes_folders_and_links_of_the_gates_own_names_are_refused() {
    let planted = Planted::new();
    let out = planted.checkout.join("out");
    let anew = || {
        let _gone = fs::remove_dir_all(&out);
        fs::create_dir(&out).expect("a folder");
    };
    anew();
    assert!(Command::new("mkfifo").arg(out.join("junit.xml")).status().expect("started").success());
    planted.refused(Path::new("out"), "junit.xml: is a named pipe");
    anew();
    fs::create_dir(out.join("report.html")).expect("a folder");
    planted.refused(Path::new("out"), "report.html: is a folder");
    anew();
    symlink(&planted.victim, out.join(".precision-gate.lock")).expect("linked");
    planted.refused(Path::new("out"), ".precision-gate.lock: is a symbolic link");
    anew();
    symlink(&planted.victim, out.join(".precision-gate.result.json.1-0.tmp")).expect("linked");
    assert_eq!(ended(run(&planted.checkout, "npu", Path::new("out"))).0, 1);
    planted.is_untouched();
    fs::remove_dir_all(&out).expect("removed");
    fs::write(&out, "a file").expect("written");
    planted.refused(Path::new("out"), "out: is a file");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let planted = Planted::new();
    let out = planted.checkout.join("out");
    fs::create_dir(&out).expect("a folder");
    fs::set_permissions(&out, fs::Permissions::from_mode(0o555)).expect("set");
    // Nothing is forbidden to root, but that file system.
    let is_root = fs::write(out.join("probe"), "").is_ok();
    let folder = if is_root { PathBuf::from("/proc/precision-gate-out") } else { out };
    let (code, error) = ended(run(&planted.checkout, "npu", &folder));
    assert!(code == 2 || code == 3, "{code}: {error}");
    assert!(error.contains(&folder.display().to_string()), "{error}");
}

#[test]
fn files_that_a_user_names_are_no_links_either() {
    let planted = Planted::new();
    let checkout = &planted.checkout;
    assert_eq!(ended(run(checkout, "npu", Path::new("made"))).0, 1);
    symlink("../../home/.bashrc", checkout.join("file.json")).expect("linked");
    symlink("../../home", checkout.join(".github")).expect("linked");
    symlink("../../home", checkout.join("history")).expect("linked");
    let losses = [example("gpu"), example("gpu")].map(|side| side.join("trainer_state.json"));
    let mut noise = gate(checkout);
    noise.arg("noise").args(&losses).args(["--output", "file.json"]);
    let mut next = gate(checkout);
    next.args(["next-dump", "made/result.json", "--output", "file.json"]);
    let mut pack = gate(checkout);
    pack.args(["config-pack", "--site-packages", "made", "--out", "file.json"]);
    let mut init = gate(checkout);
    init.args(["init", "--nightly", "--forge", "github"]);
    for command in [noise, next, pack, init] {
        let shown = format!("{command:?}");
        let (code, error) = ended(command);
        assert_eq!(code, 2, "{shown}: {error}");
        assert!(error.contains("is a symbolic link"), "{shown}: {error}");
        planted.is_untouched();
    }
    let mut history = run(checkout, "npu", Path::new("made"));
    history.args(["--history", "history", "--suite", "night"]);
    let (_, error) = ended(history);
    assert!(error.contains("history: is a symbolic link"), "{error}");
    planted.is_untouched();
}
