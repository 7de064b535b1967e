//! Trackers and logs of every kind, through the gate: which runs are paired, and what is said of what could not be read whole.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{codes, judge, loss, units};
use precision_gate::result::GateResult;
use precision_gate::result::finding::Finding;
use precision_gate::verdict::Verdict;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/curve-sources").join(name)
}

fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, bytes).expect("written");
}

fn value(step: u32) -> f64 {
    2.0 + 8.0 * (-0.05 * f64::from(step)).exp() + 0.05 * f64::from(step * 7 % 5)
}

/// A log of 60 steps, each line as `line` writes it.
fn log(line: impl Fn(u32, f64) -> String) -> String {
    (1..=60).map(|step| line(step, value(step)) + "\n").collect()
}

fn sides(folder: &TempDir, files: [(&str, &[u8]); 2]) -> GateResult {
    let paths = [("gpu", files[0]), ("npu", files[1])].map(|(side, (name, bytes))| {
        let path = folder.path().join(side).join(name);
        write(&path, bytes);
        folder.path().join(side)
    });
    judge(&paths[0], &paths[1], "")
}

fn finding<'r>(result: &'r GateResult, code: &str) -> &'r Finding {
    result.findings.iter().find(|finding| finding.code == code).unwrap_or_else(|| panic!("{code}: {:?}", codes(result)))
}

/// A run of MLflow's file store below `side`.
fn mlflow_run(side: &Path, experiment: &str, run: &str, name: &str, factor: f64) {
    let folder = side.join(format!("mlruns/{experiment}/{run}"));
    write(&folder.join("tags/mlflow.runName"), name);
    write(&folder.join("params/lr"), "0.0001");
    for (metric, scale) in [("train/loss", factor), ("grad_norm", 0.5)] {
        let lines: String =
            (1..=60).map(|step| format!("1795350304{step:03} {} {step}\n", value(step) * scale)).collect();
        write(&folder.join("metrics").join(metric), lines);
    }
}

#[test]
fn several_runs_of_mlflow_are_paired_by_their_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = |digit: char| digit.to_string().repeat(32);
    let side = |name: &str| folder.path().join(name);
    // Names and ids are sorted differently on the two sides.
    mlflow_run(&side("gpu"), "1", &id('a'), "small", 1.0);
    mlflow_run(&side("gpu"), "1", &id('b'), "large", 1.5);
    mlflow_run(&side("npu"), "2", &id('c'), "large", 1.5);
    mlflow_run(&side("npu"), "2", &id('d'), "small", 1.03);
    let result = judge(&side("gpu"), &side("npu"), "");
    let verdicts: Vec<(&str, &str, Verdict)> =
        units(&result).iter().map(|unit| (unit.run.as_str(), unit.metric.as_str(), unit.verdict)).collect();
    assert_eq!(verdicts.len(), 4, "{verdicts:?}");
    assert!(verdicts.contains(&("small", "loss", Verdict::Fail)), "{verdicts:?}");
    assert!(verdicts.contains(&("large", "loss", Verdict::Pass)), "{verdicts:?}");
    assert!(verdicts.contains(&("small", "grad_norm", Verdict::Pass)), "{verdicts:?}");
    assert!(units(&result).iter().all(|unit| unit.format == "MLflow metric"));

    // Two runs of one name: nothing says which is meant.
    mlflow_run(&side("npu"), "2", &id('c'), "small", 1.5);
    let result = judge(&side("gpu"), &side("npu"), "");
    assert!(codes(&result).contains(&"artifact-ambiguous"), "{:?}", codes(&result));
}

#[test]
fn one_run_each_is_paired_whatever_it_is_called() {
    let folder = tempfile::tempdir().expect("a folder");
    let [gpu, npu] = ["gpu", "npu"].map(|side| folder.path().join(side));
    mlflow_run(&gpu, "1", &"a".repeat(32), "bold-owl-7", 1.0);
    mlflow_run(&npu, "2", &"b".repeat(32), "shy-cat-9", 1.0);
    let result = judge(&gpu, &npu, "");
    assert_eq!((loss(&result).paired, loss(&result).verdict), (60, Verdict::Pass));
}

#[test]
fn a_database_of_a_killed_run_is_read_with_its_log_of_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    for side in ["gpu", "npu"] {
        for name in ["trackio.db", "trackio.db-wal"] {
            write(&folder.path().join(side).join(name), fs::read(fixture("killed").join(name)).expect("read"));
        }
    }
    let files = || -> Vec<(PathBuf, Vec<u8>)> {
        let folders = ["gpu", "npu"].map(|side| folder.path().join(side));
        let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder").flatten());
        let mut files: Vec<_> = entries.map(|entry| (entry.path(), fs::read(entry.path()).expect("read"))).collect();
        files.sort();
        files
    };
    let before = files();
    let result = judge(&folder.path().join("gpu"), &folder.path().join("npu"), "");
    assert_eq!((loss(&result).paired, loss(&result).format.as_str()), (20, "Trackio database"));
    assert_eq!(files(), before, "nothing is written beside a database");
    fs::remove_file(folder.path().join("npu/trackio.db-wal")).expect("removed");
    let result = judge(&folder.path().join("gpu"), &folder.path().join("npu"), "");
    assert_eq!((loss(&result).paired, loss(&result).verdict), (10, Verdict::Incomplete));
}

#[test]
fn a_trackers_log_is_compared_with_a_table_of_the_other_run() {
    let wandb = fs::read(fixture("run-step-metric.wandb")).expect("read");
    let step = |at: u32| f64::from(at).mul_add(-0.25, 9.5);
    let rows = (1..=12).flat_map(|at| {
        let nan = (at == 3).then(|| "35,nan\n".to_owned());
        [format!("{},{}\n", at * 10, step(at))].into_iter().chain(nan)
    });
    let table: String = ["step,train/loss\n".to_owned()].into_iter().chain(rows).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let result = sides(&folder, [("run.wandb", &wandb), ("loss.csv", table.as_bytes())]);
    assert_eq!((loss(&result).paired, loss(&result).format.as_str()), (13, "W&B log, CSV table"));
    assert_eq!(loss(&result).series.step[..4], [10, 20, 30, 35], "steps are those of train/global_step");
}

#[test]
fn cut_logs_are_judged_as_far_as_they_go() {
    let whole = fs::read(fixture("run-abcd1234.swanlab")).expect("read");
    let folder = tempfile::tempdir().expect("a folder");
    let result = sides(&folder, [("run.swanlab", &whole), ("run.swanlab", &whole[..whole.len() - 100])]);
    assert!(finding(&result, "source-cut").message.contains("run.swanlab"));
    assert!(loss(&result).paired >= 58 && loss(&result).verdict == Verdict::Warn, "{:?}", codes(&result));
    let result = sides(&folder, [("run.swanlab", &whole), ("run.swanlab", &whole[..whole.len() / 2])]);
    assert_eq!(loss(&result).verdict, Verdict::Incomplete);
    // The last line loses its end: figures of its last value, all of it, or all values.
    for end in [4, 9, 22] {
        let folder = tempfile::tempdir().expect("a folder");
        let text = log(|step, loss| format!("step: {step} grad_norm: 1.5 loss: {loss:.6}"));
        let result = sides(&folder, [("a.log", text.as_bytes()), ("a.log", &text.as_bytes()[..text.len() - end])]);
        assert_eq!((loss(&result).paired, loss(&result).verdict), (59, Verdict::Warn), "{end}: {:?}", codes(&result));
    }
}

#[test]
fn a_bare_head_names_its_file_and_what_was_expected() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = fs::read(fixture("run-abcd1234.swanlab")).expect("read");
    let result = sides(&folder, [("run.swanlab", &whole), ("run.swanlab", &whole[..7])]);
    let damaged = finding(&result, "artifact-damaged");
    assert_eq!(result.verdict, Verdict::Incomplete);
    assert!(damaged.place.contains("run.swanlab") && damaged.message.contains("expected"), "{damaged:?}");
}

#[test]
fn a_guessed_encoding_is_said_and_numbers_are_the_same() {
    let text = log(|step, loss| format!("第 {step} 步，损失：{loss:.6}"));
    let folder = tempfile::tempdir().expect("a folder");
    // Both characters of a two-byte encoding, by the code table of GB18030.
    let (coded, _, had_errors) = encoding_rs::GB18030.encode(&text);
    assert!(!had_errors);
    let result = sides(&folder, [("a.log", text.as_bytes()), ("a.log", &coded)]);
    assert_eq!((loss(&result).paired, result.verdict), (60, Verdict::Pass), "{:?}", codes(&result));
    let message = &finding(&result, "encoding-guessed").message;
    assert!(message.contains("GB18030") && message.contains("a.log"), "{message}");
}

#[test]
fn lines_that_no_rule_reads_come_with_the_pattern_that_reads_them() {
    for line in [
        |step: u32, loss: f64| format!("LOSS@<{step}> ==> {loss:.5} units"),
        |step: u32, loss: f64| {
            format!("[2026-11-22 10:11:{:02}] round {step} of 60 | our loss ~ {loss:.5} | ok", step % 60)
        },
        |step: u32, loss: f64| format!("#{step} `loss` {{now}} \u{1b}[1m-> {loss:.5}"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let text = log(line);
        let result = sides(&folder, [("a.log", text.as_bytes()), ("a.log", text.as_bytes())]);
        let unknown = finding(&result, "format-unknown");
        assert_eq!(result.verdict, Verdict::Incomplete);
        assert!(result.checks.iter().any(|check| check.verdict == Verdict::Incomplete), "not skipped");
        assert!(!unknown.message.contains('\u{1b}') && unknown.message.chars().count() < 400, "{}", unknown.message);
        let Some((_, pattern)) = unknown.help.split_once("log-pattern: '") else {
            assert!(text.contains('`'), "a pattern for {}", unknown.message);
            continue;
        };
        let (pattern, _) = pattern.split_once("'}").expect("its end");
        let policy = format!("loss: {{log-pattern: '{pattern}'}}");
        let result = judge(&folder.path().join("gpu"), &folder.path().join("npu"), &policy);
        assert_eq!((loss(&result).paired, loss(&result).series.step[59]), (60, 60), "{pattern}");
    }
}

#[test]
fn a_long_line_is_cut_where_it_is_shown() {
    let long = "x".repeat(3000);
    let text = log(|step, loss| format!("LOSS@<{step}> ==> {loss:.5} {long}"));
    let folder = tempfile::tempdir().expect("a folder");
    let result = sides(&folder, [("a.log", text.as_bytes()), ("a.log", text.as_bytes())]);
    assert!(finding(&result, "format-unknown").message.chars().count() < 400);
}

#[test]
fn a_text_beside_a_curve_that_was_read_is_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    for side in ["gpu", "npu"] {
        let path = |name: &str| folder.path().join(side).join(name);
        write(&path("a.log"), log(|step, loss| format!("step: {step} loss: {loss:.6}")));
        write(&path("notes.log"), log(|step, loss| format!("LOSS@<{step}> ==> {loss:.5} units")));
    }
    let result = judge(&folder.path().join("gpu"), &folder.path().join("npu"), "");
    assert_eq!(result.verdict, Verdict::Pass, "{:?}", codes(&result));
}

#[test]
fn policies_of_three_lines_judge_the_runs_they_are_written_for() {
    for (name, case) in [("mindformers.yml", "mindformers_new"), ("nanogpt.yml", "nanogpt")] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/policies").join(name);
        let policy = fs::read_to_string(path).expect("a policy");
        let settings = policy.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()).count();
        assert_eq!(settings, 3, "{name}");
        let [gpu, npu] = ["gpu", "npu"].map(|side| fixture(case).join(side));
        let result = judge(&gpu, &npu, &policy);
        assert_eq!((loss(&result).paired, result.verdict), (60, Verdict::Pass), "{name}: {:?}", codes(&result));
        // From step 30 on the loss is 3 % too large.
        let log = fs::read_to_string(npu.join("train.log")).expect("a log");
        let mut step = 0;
        let wrong = |line: &str| {
            let at = line.find("loss")?;
            let start = at + line.get(at..)?.find(|sign: char| sign.is_ascii_digit())?;
            let len = line.get(start..)?.find(|sign: char| !sign.is_ascii_digit() && sign != '.')?;
            let value: f64 = line.get(start..start + len)?.parse().ok()?;
            Some(format!("{}{:.6}{}", &line[..start], value * 1.03, &line[start + len..]))
        };
        let changed: String = log
            .lines()
            .map(|line| {
                step += u32::from(line.contains("loss"));
                (if step >= 30 { wrong(line) } else { None }).unwrap_or_else(|| line.to_owned()) + "\n"
            })
            .collect();
        let folder = tempfile::tempdir().expect("a folder");
        write(&folder.path().join("train.log"), changed);
        let result = judge(&gpu, folder.path(), &policy);
        assert_eq!(loss(&result).verdict, Verdict::Fail, "{name}: {:?}", codes(&result));
    }
}
