//! Source: every case with a known truth, what a change makes of it, reports, and input that must not stop the gate.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod changes;
mod work;

use assert_cmd::Command;
use precision_gate::gate::recheck::{Against, recheck};
use precision_gate::judge::source::SOURCE_RULES;
use precision_gate::policy::Policy;
use precision_gate::read::source::Module;
use precision_gate::report::source_rules::{examples, rules_page};
use precision_gate::result::load;
use precision_gate::verdict::Verdict;
use serde_json::Value;
use tempfile::TempDir;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/source")
}

/// Runs the command in a folder; its exit code and its output folder.
fn gate(folder: &Path, arguments: &[&str]) -> (i32, TempDir) {
    let out = TempDir::new().expect("a folder");
    let mut command = Command::cargo_bin("precision-gate").expect("built");
    for variable in ["CI", "GITHUB_ACTIONS", "GITLAB_CI", "GITHUB_EVENT_PATH", "GITHUB_REF"] {
        command.env_remove(variable);
    }
    command.current_dir(folder).args(arguments).arg("--out").arg(out.path()).args(["--today", "2026-11-24"]);
    let output = command.output().expect("runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!errors.contains("panicked"), "{errors}");
    (output.status.code().expect("ended"), out)
}

fn json(out: &TempDir, file: &str) -> Value {
    serde_json::from_slice(&fs::read(out.path().join(file)).expect(file)).expect("JSON")
}

fn text(out: &TempDir, file: &str) -> String {
    fs::read_to_string(out.path().join(file)).expect(file)
}

/// A folder with files.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, content).expect("written");
    }
    folder
}

fn of_source(result: &Value) -> Vec<&Value> {
    let findings = result["findings"].as_array().expect("a list");
    findings.iter().filter(|finding| finding["check"] == "source").collect()
}

#[test]
fn every_case_has_exactly_its_findings() {
    let mut judged = 0;
    for entry in fs::read_dir(cases()).expect("a folder").flatten().filter(|entry| entry.path().is_dir()) {
        let case = entry.path();
        let spec: Value = serde_json::from_slice(&fs::read(case.join("case.json")).expect("a case")).expect("JSON");
        let arguments: Vec<&str> =
            spec["command"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        let (code, out) = gate(&case, &arguments);
        let result = json(&out, "result.json");
        let name = case.display();
        assert_eq!(result["verdict"], spec["truth"]["verdict"], "{name}");
        assert_eq!(code, i32::from(result["verdict"] == "fail"), "{name}");
        let told = |finding: &Value, line: &Value, file: &Value| {
            [&finding["code"], &finding["severity"], file, line].map(ToString::to_string).join(" ")
        };
        let wanted: BTreeSet<String> = spec["truth"]["findings"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|finding| told(finding, &finding["line"], &finding["file"]))
            .collect();
        let found: BTreeSet<String> = of_source(&result)
            .into_iter()
            .map(|finding| {
                let exact = told(finding, &finding["where"]["line"], &finding["where"]["file"]);
                let loose = told(finding, &Value::Null, &finding["where"]["file"]);
                if wanted.contains(&loose) { loose } else { exact }
            })
            .collect();
        assert_eq!(found, wanted, "{name}");
        judged += 1;
    }
    assert!(judged > 20, "{judged} cases");
}

#[test]
fn every_rule_is_shown_on_its_example() {
    for rule in SOURCE_RULES {
        let code = rule.rule.code;
        let example = examples().get(code).unwrap_or_else(|| panic!("templates/source.yaml lacks {code}"));
        let policy = format!("source: {{rules: {{{code}: warn}}}}\n");
        let codes = |source: &str| {
            let folder = tree(&[("train.py", source), ("precision-gate.yml", &policy)]);
            let (_, out) = gate(folder.path(), &["source", "train.py"]);
            let result = json(&out, "result.json");
            of_source(&result)
                .iter()
                .map(|finding| finding["code"].as_str().expect("a code").to_owned())
                .collect::<Vec<_>>()
        };
        assert!(codes(&example.bad).iter().any(|found| found == code), "the bad example of {code} is not found");
        assert!(codes(&example.good).iter().all(|found| found != code), "the good example of {code} is found");
    }
    assert_eq!(examples().len(), SOURCE_RULES.len(), "an example of no rule");
}

#[test]
fn the_page_holds_every_rule() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/source.md");
    let page = fs::read_to_string(&path).unwrap_or_default();
    let (start, end) = ("<!-- rules -->\n\n", "<!-- end of rules -->");
    let (before, rest) = page.split_once(start).expect("a mark");
    let (_, after) = rest.split_once(end).expect("a mark");
    let wanted = format!("{before}{start}{}{end}{after}", rules_page());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &wanted).expect("written");
        return;
    }
    assert!(page == wanted, "docs/source.md is stale: run `UPDATE_DOCS=1 cargo test --test all source::`");
}

#[test]
fn findings_stand_beside_their_lines_with_their_repair() {
    let folder = tree(&[("train.py", "import torch\n\nif x:\n    torch.backends.cudnn.benchmark = True\n")]);
    let (_, out) = gate(folder.path(), &["source", "."]);
    let sarif = json(&out, "sarif.json");
    let found = &sarif["runs"][0]["results"][0];
    assert_eq!((&found["ruleId"], &found["level"]), (&"cudnn-benchmark".into(), &"warning".into()));
    let place = &found["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "train.py");
    assert_eq!((&place["region"]["startLine"], &place["region"]["startColumn"]), (&4.into(), &5.into()));
    let replaced = &found["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!(replaced["insertedContent"]["text"], "False");
    assert_eq!(replaced["deletedRegion"]["startColumn"], 38);
    let quality = json(&out, "gl-code-quality.json");
    assert_eq!(quality[0]["location"]["lines"]["begin"], 4);
    assert!(text(&out, "junit.xml").contains("cudnn-benchmark"));
    assert!(text(&out, "report.html").contains("cudnn-benchmark"));
}

#[test]
fn a_comment_names_rules_unchanged_findings_and_new_ignores() {
    let source = "import torch\ntorch.backends.cudnn.benchmark = True\n\
                  torch.backends.cudnn.benchmark = True  # precision-gate: ignore[cudnn-benchmark] throughput | job\n";
    let diff = "--- a/train.py\n+++ b/train.py\n@@ -2,0 +3 @@\n+x\n";
    let folder = tree(&[("train.py", source), ("change.diff", diff)]);
    let (code, out) = gate(folder.path(), &["source", ".", "--diff", "change.diff"]);
    assert_eq!(code, 0);
    let summary = text(&out, "summary.md");
    assert!(summary.contains("Not counted: 1 finding of 1 rule"), "{summary}");
    assert!(summary.contains("`train.py:3`: the change accepts `cudnn-benchmark`: throughput"), "{summary}");
    let result = json(&out, "result.json");
    assert_eq!(result["accepted"][0]["line"], 3);
    assert_eq!((&result["findings"][0]["changed"], &result["findings"][0]["counts"]), (&false.into(), &false.into()));
    assert_eq!(json(&out, "sarif.json")["runs"][0]["results"].as_array().map(Vec::len), Some(0));
    // The policy may let every line count.
    fs::write(folder.path().join("precision-gate.yml"), "source: {changed-only: false}\n").expect("written");
    let (_, out) = gate(folder.path(), &["source", ".", "--diff", "change.diff"]);
    assert_eq!(json(&out, "result.json")["verdict"], "warn");
}

#[test]
fn what_cannot_be_looked_at_never_passes() {
    let empty = tree(&[("notes.txt", "x")]);
    let codes = |out: &TempDir| -> Vec<String> {
        let result = json(out, "result.json");
        let findings = result["findings"].as_array().expect("a list").iter();
        findings.map(|finding| finding["code"].as_str().expect("a code").to_owned()).collect()
    };
    let (code, out) = gate(empty.path(), &["source", "."]);
    assert_eq!((code, &json(&out, "result.json")["verdict"]), (1, &"incomplete".into()));
    assert_eq!(codes(&out), ["source-nothing-read"]);
    let damaged = tree(&[("a.py", "x = (\n"), ("b.py", "y = )\n")]);
    let (code, out) = gate(damaged.path(), &["source", "."]);
    assert_eq!((code, &json(&out, "result.json")["verdict"]), (1, &"incomplete".into()));
    assert!(codes(&out).contains(&"source-not-read".to_owned()));
    assert_eq!(gate(empty.path(), &["source", "nowhere"]).0, 2);
    let diff = tree(&[("a.py", "x = 1\n"), ("change.diff", "no diff\n")]);
    assert_eq!(gate(diff.path(), &["source", ".", "--diff", "change.diff"]).0, 2);
    let policy = tree(&[("a.py", "x = 1\n"), ("precision-gate.yml", "source: {rules: {cudnn-benchmrk: fail}}\n")]);
    assert_eq!(gate(policy.path(), &["source", "."]).0, 2);
}

/// A pull request whose base git does not know: every line counts, and that is told.
#[test]
fn an_unknown_change_is_told() {
    let folder = tree(&[("train.py", "import torch\ntorch.backends.cudnn.benchmark = True\n")]);
    for (base, is_told) in [(Some("1111111111111111111111111111111111111111"), true), (None, false)] {
        let out = TempDir::new().expect("a folder");
        let mut command = Command::cargo_bin("precision-gate").expect("built");
        command.current_dir(folder.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(base.map(|base| ("CI_MERGE_REQUEST_DIFF_BASE_SHA", base)));
        command.args(["source", ".", "--today", "2026-11-24", "--out"]).arg(out.path()).output().expect("runs");
        let result = json(&out, "result.json");
        let findings = result["findings"].as_array().expect("a list");
        assert_eq!(findings.iter().any(|finding| finding["code"] == "source-change-unknown"), is_told, "{result}");
        assert!(findings.iter().any(|finding| finding["code"] == "cudnn-benchmark" && finding["severity"] == "warn"));
    }
}

#[test]
fn a_run_judges_the_tree_that_its_policy_names() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart");
    let [gpu, npu] = ["gpu", "npu"].map(|side| example.join(side).display().to_string());
    let policy = "source: {rules: {cudnn-benchmark: fail}}\nsource-root: .\n";
    let folder = tree(&[
        ("src/train.py", "import torch\ntorch.backends.cudnn.benchmark = True\n"),
        ("precision-gate.yml", policy),
    ]);
    let (code, out) = gate(folder.path(), &["run", &gpu, &npu]);
    let result = json(&out, "result.json");
    let checks = result["checks"].as_array().expect("a list");
    let source = checks.iter().find(|check| check["id"] == "source").expect("judged");
    assert_eq!((code, &source["verdict"]), (1, &"fail".into()));
    assert_eq!(source["units"][0]["file"], "src/train.py");
    assert!(text(&out, "summary.md").contains("Source by rule"));
    fs::write(folder.path().join("precision-gate.yml"), "profile: default\n").expect("written");
    let (_, out) = gate(folder.path(), &["run", &gpu, &npu]);
    let result = json(&out, "result.json");
    assert!(result["checks"].as_array().expect("a list").iter().all(|check| check["id"] != "source"));
}

#[test]
fn a_dump_and_a_line_confirm_each_other() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart");
    let [gpu, npu] = ["gpu", "npu"].map(|side| example.join(side).display().to_string());
    // The first wrong operation of the example was called in `forward` of this file.
    let code = "import torch\n\n\ndef forward(x):\n    return x + torch.randn_like(x)\n\n\ntorch.backends.cudnn.benchmark = True\n";
    let folder = tree(&[("train/modeling_glm.py", code), ("precision-gate.yml", "source: {}\nsource-root: .\n")]);
    let (_, out) = gate(folder.path(), &["run", &gpu, &npu]);
    let result = json(&out, "result.json");
    let confirmed = |code: &str| {
        let found = of_source(&result).into_iter().find(|finding| finding["code"] == code);
        found.expect(code)["facts"].get("confirmed_by").is_some()
    };
    assert!(confirmed("device-rng") && !confirmed("cudnn-benchmark"));
    let summary = text(&out, "summary.md");
    assert!(summary.contains("passes through code that a rule points at: `train/modeling_glm.py:5`"), "{summary}");
    assert!(summary.contains("the dump confirms it"), "{summary}");
}

#[test]
fn the_same_tree_gives_the_same_bytes_on_any_number_of_threads() {
    let case = cases().join("grpo_like");
    let results =
        ["1", "4"].map(|threads| text(&gate(&case, &["source", "repo", "--threads", threads]).1, "result.json"));
    assert_eq!(results[0], results[1]);
}

#[test]
fn a_strangers_result_is_decided_by_what_was_measured() {
    let case = cases().join("pr_new_sin");
    let (_, out) = gate(&case, &["source", "repo", "--diff", "changes.diff"]);
    let written = json(&out, "result.json");
    let policy = Policy::default();
    let judged = |value: &Value| {
        let result = load::parse("result.json", &value.to_string()).expect("a result");
        let against = Against { name: "result.json", policy: &policy, repository: "", operations: None };
        recheck(result, &against).map(|checked| checked.result.verdict).map_err(|error| error.to_string())
    };
    assert_eq!(judged(&written), Ok(Verdict::Fail));
    let place = written["findings"].as_array().expect("a list").iter().position(|one| one["code"] == "platform-dtype");
    let place = place.expect("the finding");
    for change in ["severity", "counts", "unit", "line"] {
        let mut edited = written.clone();
        match change {
            "severity" => {
                edited["findings"][place]["severity"] = "info".into();
                edited["checks"][0]["verdict"] = "pass".into();
                edited["verdict"] = "pass".into();
            }
            "counts" => {
                edited["findings"][place]["counts"] = false.into();
                edited["checks"][0]["units"][0]["verdict"] = "pass".into();
                edited["checks"][0]["verdict"] = "pass".into();
                edited["verdict"] = "pass".into();
            }
            "unit" => drop(edited["findings"].as_array_mut().expect("a list").remove(1 - place)),
            _ => edited["findings"][place]["where"]["line"] = 0.into(),
        }
        assert_eq!(judged(&edited), Ok(Verdict::Fail), "{change}");
    }
    let mut edited = written;
    edited["measured"][0]["where"]["line"] = 0.into();
    let error = judged(&edited).expect_err("other numbers");
    assert!(error.starts_with("result.json: seal: "), "{error}");
}

/// Texts that are deep, long or broken.
fn hostile() -> Vec<(&'static str, String)> {
    let nested =
        |open: &str, close: &str, depth: usize| format!("x = {}1{}\n", open.repeat(depth), close.repeat(depth));
    vec![
        ("brackets", nested("(", ")", 100_000)),
        ("open brackets", "[".repeat(1_000_000)),
        ("a sum", format!("x = {}1\n", "a + ".repeat(200_000))),
        ("attributes", format!("x = a{}\n", ".b".repeat(200_000))),
        ("calls", format!("x = f{}\n", "()".repeat(200_000))),
        ("subscripts", format!("x = a{}\n", "[0]".repeat(200_000))),
        ("not", format!("x = {}a\n", "not ".repeat(200_000))),
        ("powers", format!("x = {}a\n", "a ** ".repeat(100_000))),
        ("conditions", format!("x = {}a\n", "a if b else ".repeat(100_000))),
        ("lambdas", format!("x = {}a\n", "lambda a, b: ".repeat(100_000))),
        ("blocks", (0..2_000).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect()),
        ("comparisons", format!("x = a{}\n", " < b".repeat(200_000))),
        ("strings", format!("x = {}\n", "'a' ".repeat(200_000))),
        ("f-strings", format!("x = {}{}\n", "f'{".repeat(300), "}'".repeat(300))),
        ("elif", format!("if a: pass\n{}", "elif a: pass\n".repeat(50_000))),
        ("matches", format!("match x:\n    case {}1: pass\n", "1 | ".repeat(50_000))),
        ("no end", "x = '''".to_owned() + &"a\n".repeat(100_000)),
        ("a continuation", "x = 1 \\".to_owned()),
        ("carriage returns", "import torch\r".repeat(50_000)),
        ("a NUL", "x = 1\0\n".to_owned()),
    ]
}

#[test]
fn no_text_stops_the_gate_or_holds_it_up() {
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    let work = thread.spawn(|| {
        for (name, text) in hostile() {
            let start = Instant::now();
            let megabytes = text.len() as f64 / 1e6;
            let read = Module::parse("x.py", text.into_bytes());
            println!("{name}: {} in {:?}", if read.is_ok() { "read" } else { "refused" }, start.elapsed());
            // A build without optimisation takes several times longer.
            let limit = Duration::from_secs_f64(2.0 + 10.0 * megabytes);
            assert!(start.elapsed() < limit, "{name} took {:?}", start.elapsed());
        }
    });
    work.expect("a thread").join().expect("no panic");
}
