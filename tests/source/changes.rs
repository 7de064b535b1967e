//! Changes in real repositories: what hides itself counts as changed, and what is known to be unchanged does not.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use super::{json, of_source, tree};

const SIN: &str = "import torch\n\ndtype = torch.float16 if is_npu else torch.bfloat16\n";
const CLEAN: &str = "import torch\n\ndtype = torch.float16\n";

/// Runs git in a folder, without the user's configuration.
fn git(folder: &Path, arguments: &[&str]) {
    let mut git = std::process::Command::new("git");
    git.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"]);
    let ran = git.args(arguments).output().expect("git runs");
    assert!(ran.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

fn write(root: &Path, file: &str, content: impl AsRef<[u8]>) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, content).expect("written");
}

fn commit(root: &Path) {
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "change", "--allow-empty"]);
}

/// A repository with a branch `main`, and a branch of a change.
fn repository(files: &[(&str, &str)]) -> TempDir {
    let folder = tree(files);
    git(folder.path(), &["init", "-q", "-b", "main", "."]);
    commit(folder.path());
    git(folder.path(), &["checkout", "-qb", "feature"]);
    folder
}

/// The result of judging the change of a pull request, in a folder of its checkout.
fn judged_in(folder: &Path, root: &str, base: &str) -> Value {
    let out = TempDir::new().expect("a folder");
    let mut command = Command::cargo_bin("precision-gate").expect("built");
    command.current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.envs([("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"), ("CI_MERGE_REQUEST_DIFF_BASE_SHA", base)]);
    let output =
        command.args(["source", root, "--today", "2026-11-24", "--out"]).arg(out.path()).output().expect("runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!errors.contains("panicked"), "{errors}");
    json(&out, "result.json")
}

/// Code, place and `changed` of each finding, in order.
fn told(result: &Value) -> Vec<String> {
    let findings = of_source(result).into_iter().filter(|finding| finding["where"].is_object());
    let mut told: Vec<String> = findings
        .map(|finding| {
            let place = &finding["where"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            format!("{} {}:{} {}", text(&finding["code"]), text(&place["file"]), place["line"], finding["changed"])
        })
        .collect();
    told.sort_unstable();
    told
}

fn changed(folder: &Path) -> Vec<String> {
    told(&judged_in(folder, ".", "main"))
}

/// A way to bring a sin into a repository whose `train.py` is clean.
type Hiding = fn(&Path);

#[test]
fn no_change_hides_itself() {
    let hidings: &[(&str, Hiding)] = &[
        ("plain", |root| write(root, "train.py", SIN)),
        ("binary by an attribute", |root| {
            write(root, ".gitattributes", "*.py binary\n");
            write(root, "train.py", SIN);
        }),
        ("no diff by an attribute", |root| {
            write(root, ".gitattributes", "*.py -diff -text\n");
            write(root, "train.py", SIN);
        }),
        ("an attribute of a folder", |root| {
            write(root, "pkg/.gitattributes", "* binary linguist-generated\n");
            write(root, "pkg/train.py", SIN);
        }),
        ("external diff and textconv by an attribute", |root| {
            write(root, ".gitattributes", "*.py diff=hide filter=hide merge=ours\n");
            write(root, "train.py", SIN);
        }),
        ("line ends by an attribute", |root| {
            write(root, ".gitattributes", "* text=auto eol=crlf\n");
            write(root, "train.py", SIN);
        }),
        ("carriage returns", |root| write(root, "train.py", SIN.replace('\n', "\r"))),
        ("carriage returns and line feeds", |root| write(root, "train.py", SIN.replace('\n', "\r\n"))),
        ("mixed line ends", |root| write(root, "train.py", SIN.replacen('\n', "\r", 1))),
        ("a link in place of a file", |root| {
            write(root, "train.txt", SIN);
            fs::remove_file(root.join("train.py")).expect("removed");
            symlink("train.txt", root.join("train.py")).expect("a link");
        }),
        ("a NUL in a comment", |root| write(root, "train.py", format!("{SIN}# \0\n"))),
        ("renamed and edited", |root| {
            fs::remove_file(root.join("train.py")).expect("removed");
            write(root, "model.py", SIN);
        }),
        ("renamed alone", |root| {
            git(root, &["mv", "old.py", "model.py"]);
            git(root, &["rm", "-qf", "train.py"]);
        }),
        ("another mode", |root| {
            write(root, "train.py", SIN);
            fs::set_permissions(root.join("train.py"), fs::Permissions::from_mode(0o755)).expect("set");
        }),
        ("a folder that is a link", |root| {
            fs::remove_dir_all(root.join("pkg")).expect("removed");
            symlink("kept", root.join("pkg")).expect("a link");
            write(root, "kept/train.py", SIN);
        }),
        ("a link to a folder that is left out", |root| {
            fs::remove_dir_all(root.join("pkg")).expect("removed");
            write(root, ".hidden/train.py", SIN);
            symlink(".hidden", root.join("pkg")).expect("a link");
        }),
        ("a byte order mark", |root| write(root, "train.py", format!("\u{feff}{SIN}"))),
        ("form feeds and other line ends of Unicode", |root| {
            write(root, "train.py", format!("# \u{c} \u{85} \u{2028} \u{b}\n\u{c}{SIN}"));
        }),
        ("UTF-16", |root| {
            let units = std::iter::once(0xfeff).chain(SIN.encode_utf16());
            write(root, "train.py", units.flat_map(u16::to_le_bytes).collect::<Vec<_>>());
        }),
        ("another encoding", |root| write(root, "train.py", format!("# coding: gbk\n{SIN}"))),
        ("a very long line", |root| {
            let sin = "dtype = torch.float16 if is_npu else torch.bfloat16";
            write(root, "train.py", format!("import torch\nx = '{}'; {sin}\n", "y".repeat(3_000_000)));
        }),
        ("too large", |root| write(root, "train.py", format!("{SIN}{}", "# x\n".repeat(3_000_000)))),
        ("taken out and brought back", |root| {
            fs::remove_file(root.join("train.py")).expect("removed");
            commit(root);
            write(root, "train.py", SIN);
        }),
        ("stored in another way than shown", |root| {
            write(root, ".gitattributes", "train.py working-tree-encoding=UTF-16LE-BOM\n");
            let units = std::iter::once(0xfeff).chain(SIN.encode_utf16());
            write(root, "train.py", units.flat_map(u16::to_le_bytes).collect::<Vec<_>>());
        }),
    ];
    for (name, hide) in hidings {
        let folder = repository(&[("train.py", CLEAN), ("old.py", SIN), ("pkg/a.py", CLEAN), ("kept/b.py", CLEAN)]);
        hide(folder.path());
        commit(folder.path());
        let told = changed(folder.path());
        let found: Vec<&String> = told.iter().filter(|finding| !finding.contains(" old.py:")).collect();
        assert!(!found.is_empty(), "{name}: nothing is found");
        assert!(found.iter().all(|finding| finding.ends_with(" true")), "{name}: {told:?}");
        // The same sin in a file that nobody touched.
        let is_renamed = name.starts_with("renamed alone");
        assert_eq!(told.contains(&"platform-dtype old.py:3 false".to_owned()), !is_renamed, "{name}: {told:?}");
    }
}

/// The same with the sin there before: what is known to be unchanged is no finding of the change.
#[test]
fn an_unchanged_twin_stays_unchanged() {
    let crlf = SIN.replace('\n', "\r\n");
    let (mark, feeds) = (format!("\u{feff}{SIN}"), format!("# \u{c} \u{2028}\n\u{c}{SIN}"));
    let long = format!("{SIN}x = '{}'\n", "y".repeat(1_000_000));
    let changes: &[(&str, &str, Hiding)] = &[
        ("another line", SIN, |root| write(root, "train.py", format!("{SIN}x = 1\n"))),
        ("a line above", SIN, |root| write(root, "train.py", format!("# about\n{SIN}"))),
        ("a line taken out above", SIN, |root| write(root, "train.py", SIN.replacen("\n\n", "\n", 1))),
        ("another file", SIN, |root| write(root, "other.py", "x = 1\n")),
        ("an attribute", SIN, |root| write(root, ".gitattributes", "*.py binary diff=x filter=x -text\n")),
        ("line ends by an attribute", SIN, |root| {
            write(root, ".gitattributes", "* text=auto eol=crlf\n");
            commit(root);
            fs::remove_file(root.join("train.py")).expect("removed");
            git(root, &["checkout", "train.py"]);
            assert!(fs::read_to_string(root.join("train.py")).expect("read").contains("\r\n"));
        }),
        ("other line ends", SIN, |root| write(root, "train.py", SIN.replace('\n', "\r"))),
        ("CR LF", &crlf, |root| write(root, "other.py", "x = 1\n")),
        ("CR LF and another line", &crlf, |root| {
            write(root, "train.py", format!("{SIN}x = 1\n").replace('\n', "\r\n"))
        }),
        ("a byte order mark", &mark, |root| write(root, "train.py", format!("\u{feff}{SIN}x = 1\n"))),
        ("form feeds", &feeds, |root| write(root, "train.py", format!("# \u{c} \u{2028}\n\u{c}{SIN}x = 1\n"))),
        ("a long line", &long, |root| write(root, "other.py", "x = 1\n")),
        ("another mode", SIN, |root| {
            fs::set_permissions(root.join("train.py"), fs::Permissions::from_mode(0o755)).expect("set");
        }),
        ("taken out and brought back", SIN, |root| {
            fs::remove_file(root.join("train.py")).expect("removed");
            commit(root);
            write(root, "train.py", SIN);
        }),
        ("another link", SIN, |root| {
            write(root, "kept/x.py", "x = 1\n");
            symlink("kept", root.join("pkg")).expect("a link");
        }),
    ];
    for (name, before, change) in changes {
        let folder = repository(&[("train.py", before)]);
        change(folder.path());
        commit(folder.path());
        let told = changed(folder.path());
        assert!(told.len() == 1 && told[0].ends_with(" false"), "{name}: {told:?}");
    }
}

/// Links that were there before the change.
#[test]
fn an_unchanged_link_stays_unchanged() {
    let folder = tree(&[("train.txt", SIN), (".hidden/x.py", SIN)]);
    symlink("train.txt", folder.path().join("train.py")).expect("a link");
    symlink(".hidden", folder.path().join("pkg")).expect("a link");
    git(folder.path(), &["init", "-q", "-b", "main", "."]);
    commit(folder.path());
    git(folder.path(), &["checkout", "-qb", "feature"]);
    write(folder.path(), "other.py", "x = 1\n");
    commit(folder.path());
    let unchanged = ["platform-dtype pkg/x.py:3 false", "platform-dtype train.py:3 false"];
    assert_eq!(changed(folder.path()), unchanged);
    // A link that a step of the job made is not the commit's.
    fs::remove_file(folder.path().join("train.py")).expect("removed");
    symlink(".hidden/x.py", folder.path().join("train.py")).expect("a link");
    assert_eq!(changed(folder.path())[1], "platform-dtype train.py:3 true");
    // What they lead to is changed under their names too.
    write(folder.path(), ".hidden/x.py", format!("{SIN}x = 1\n"));
    commit(folder.path());
    assert_eq!(changed(folder.path())[0], "platform-dtype pkg/x.py:3 true");
}

/// The working tree is held against the commit.
#[test]
fn a_file_that_is_not_the_commits_counts_as_changed() {
    let folder = repository(&[("train.py", SIN), ("kept.py", SIN)]);
    write(folder.path(), "train.py", format!("# built\n{SIN}"));
    write(folder.path(), "new.py", SIN);
    let told = changed(folder.path());
    assert_eq!(
        told,
        ["platform-dtype kept.py:3 false", "platform-dtype new.py:3 true", "platform-dtype train.py:4 true"]
    );
}

#[test]
fn a_submodule_counts_as_changed() {
    let module = repository(&[("train.py", SIN)]);
    let folder = repository(&[("kept.py", SIN)]);
    git(folder.path(), &["submodule", "add", "-q", &module.path().display().to_string(), "sub"]);
    commit(folder.path());
    assert_eq!(changed(folder.path()), ["platform-dtype kept.py:3 false", "platform-dtype sub/train.py:3 true"]);
}

#[test]
fn a_sparse_checkout_hides_nothing_of_what_is_there() {
    let folder = repository(&[("a/train.py", CLEAN), ("b/kept.py", SIN), ("c/away.py", SIN)]);
    write(folder.path(), "a/train.py", SIN);
    commit(folder.path());
    git(folder.path(), &["sparse-checkout", "set", "--sparse-index", "a", "b"]);
    assert!(!folder.path().join("c").exists());
    assert_eq!(changed(folder.path()), ["platform-dtype a/train.py:3 true", "platform-dtype b/kept.py:3 false"]);
}

/// Files whose names or contents git cannot tell of a clone that lacks them.
#[test]
fn a_clone_without_the_old_file_counts_it_as_changed() {
    let folder = repository(&[("train.py", SIN), ("kept.py", &format!("{SIN}# kept\n"))]);
    git(folder.path(), &["config", "uploadpack.allowFilter", "true"]);
    git(folder.path(), &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    write(folder.path(), "train.py", format!("{SIN}x = 1\n"));
    commit(folder.path());
    let clone = TempDir::new().expect("a folder");
    let from = format!("file://{}", folder.path().display());
    git(clone.path(), &["clone", "-q", "--filter=blob:none", &from, "."]);
    let told = told(&judged_in(clone.path(), ".", "origin/main"));
    assert_eq!(told, ["platform-dtype kept.py:3 false", "platform-dtype train.py:3 true"]);
}

/// A part of the repository, named directly, from below and by a link.
#[test]
fn a_part_of_a_repository_is_held_against_its_own_files() {
    let folder = repository(&[("src/train.py", SIN), ("train.py", CLEAN), ("other/train.py", SIN)]);
    write(folder.path(), "train.py", SIN);
    commit(folder.path());
    let told_in = |folder: &Path, root: &str| told(&judged_in(folder, root, "main"));
    assert_eq!(told_in(folder.path(), "src"), ["platform-dtype train.py:3 false"]);
    assert_eq!(told_in(folder.path(), "src/train.py"), ["platform-dtype train.py:3 false"]);
    assert_eq!(told_in(&folder.path().join("src"), "../src"), ["platform-dtype train.py:3 false"]);
    assert_eq!(told_in(&folder.path().join("src"), ".."), told_in(folder.path(), "."));
    // The folder that is judged becomes a link to one with old files.
    fs::remove_dir_all(folder.path().join("src")).expect("removed");
    symlink("other", folder.path().join("src")).expect("a link");
    commit(folder.path());
    assert_eq!(told_in(folder.path(), "src"), ["platform-dtype train.py:3 true"]);
}

/// The change's own branch may have the name of its target.
#[test]
fn a_branch_that_only_has_the_targets_name_is_not_the_target() {
    let folder = repository(&[("train.py", CLEAN)]);
    git(folder.path(), &["checkout", "-q", "main"]);
    write(folder.path(), "train.py", SIN);
    commit(folder.path());
    let result = judged_in(folder.path(), ".", "");
    assert!(told(&result).iter().all(|finding| !finding.ends_with(" false")), "{result}");
}

/// Findings that lie on several lines, and the line of them that the change alters.
#[test]
fn a_finding_belongs_to_all_lines_of_its_expression() {
    let cases: &[(&str, &str, &str, bool)] = &[
        ("cuda-hard-coded", "model = Net(\n    1,\n).cuda()\n", "    1,", true),
        ("cuda-hard-coded", "model = (\n    Net()\n    .train()\n    .cuda()\n)\n", ".cuda()", true),
        ("cuda-hard-coded", "model = (\n    Net()\n    .cuda()\n    .train()\n)\n", ".train()", true),
        ("cuda-hard-coded", "x = move(\n    y,\n    device='cuda',\n    z=1,\n)\n", "z=1", true),
        ("cuda-hard-coded", "x = 1\ny = z.cuda()\nw = 2\n", "w = 2", false),
        ("cuda-hard-coded", "for a in f(\n    b.cuda(),\n):\n    use(a)\n", "use(a)", false),
        (
            "nccl-hard-coded",
            "dist.init_process_group(\n    init_method='env://',\n    backend='nccl',\n)\n",
            "init_method",
            true,
        ),
        ("nccl-hard-coded", "dist.init_process_group(\n    backend='nccl',\n    rank=0,\n)\nx = 1\n", "x = 1", false),
        (
            "fp16-optimizer-eps",
            "m.half()\no = torch.optim.Adam(\n    m.parameters(),\n    lr=1e-3,\n    eps=1e-9,\n)\n",
            "eps=",
            true,
        ),
        ("cudnn-benchmark", "torch.backends.cudnn.benchmark = (\n    True\n)\n", "True", true),
        ("platform-dtype", "if is_npu:\n    d = torch.float16\nelse:\n    d = torch.bfloat16\n", "else", false),
        (
            "platform-dtype",
            "if is_npu:\n    d = torch.float16\nelse:\n    d = torch.bfloat16\n",
            "torch.bfloat16",
            true,
        ),
        ("platform-dtype", "if is_npu:\n    d = torch.float16\nelse:\n    d = torch.bfloat16\n", "is_npu", true),
        (
            "platform-dtype",
            "if is_npu:\n    d = torch.float16\nelse:\n    d = torch.bfloat16\n    x = 1\n",
            "x = 1",
            false,
        ),
        ("platform-dtype", "d = (\n    torch.float16\n    if is_npu\n    else torch.bfloat16\n)\n", "else", true),
        ("platform-constant", "eps = 1e-6\nif is_npu:\n    eps = 1e-5\n", "1e-6", true),
        ("device-rng", "def forward(x):\n    return torch.randn_like(\n        x,\n    )\n", "        x,", true),
        ("jit-script", "@torch.jit.script\ndef f(x):\n    return x\n", "return x", false),
    ];
    for (code, source, altered, is_changed) in cases {
        let head = "import torch\nimport torch.distributed as dist\n";
        let source = format!("{head}{source}");
        let line = source.lines().position(|line| line.contains(altered)).expect("a line") + 1;
        let diff = format!("--- a/train.py\n+++ b/train.py\n@@ -{line} +{line} @@\n-old\n+new\n");
        // The same by a diff, and by two commits.
        let folder = tree(&[("train.py", &source), ("change.diff", &diff)]);
        let (_, out) = super::gate(folder.path(), &["source", ".", "--diff", "change.diff"]);
        let by_diff = told(&json(&out, "result.json"));
        let old = source.lines().enumerate().map(|(place, text)| match place + 1 == line {
            true => "# as it was\n".to_owned(),
            false => format!("{text}\n"),
        });
        let folder = repository(&[("train.py", &old.collect::<String>())]);
        write(folder.path(), "train.py", &source);
        commit(folder.path());
        let by_commits = changed(folder.path());
        for told in [by_diff, by_commits] {
            let found: Vec<&String> = told.iter().filter(|finding| finding.starts_with(code)).collect();
            assert!(found.len() == 1 && found[0].ends_with(&format!(" {is_changed}")), "{code} {altered}: {told:?}");
        }
    }
}

/// An argument that is gone makes a finding as well as one that came.
#[test]
fn a_line_taken_out_of_an_expression_changes_its_finding() {
    let call = |eps: &str| {
        format!("import torch\nm.half()\no = torch.optim.Adam(\n    m.parameters(),\n{eps}    lr=1,\n)\nx = 1\ny = 2\n")
    };
    let folder = repository(&[("train.py", &call("    eps=1e-6,\n"))]);
    write(folder.path(), "train.py", call(""));
    commit(folder.path());
    assert_eq!(changed(folder.path()), ["fp16-optimizer-eps train.py:3 true"]);
    let folder = repository(&[("train.py", &call(""))]);
    write(folder.path(), "train.py", call("").replace("x = 1\n", ""));
    commit(folder.path());
    assert_eq!(changed(folder.path()), ["fp16-optimizer-eps train.py:3 false"]);
}
