//! Monitors of two runs that cut the same model differently: every case with a known truth, and what their ranks do not fit.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should"
)]

use crate::data;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use data::{beside, fixture};
use precision_gate::gate::{self, Quiet, Request};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::value::Date;
use precision_gate::result::GateResult;
use precision_gate::result::unit::{MonitorUnit, monitors};
use precision_gate::verdict::{CheckId, Verdict};
use serde_json::Value;
use tempfile::TempDir;

/// A case, unpacked.
struct Case {
    name: String,
    folder: TempDir,
    truth: Value,
    policy: String,
}

impl Case {
    fn of(folder: &Path) -> Self {
        let unpacked = tempfile::tempdir().expect("a folder");
        let packed = BufReader::new(File::open(folder.join("sides.tar.xz")).expect("an archive"));
        tar::Archive::new(lzma_rust2::XzReader::new(packed, false)).unpack(unpacked.path()).expect("unpacked");
        let text = fs::read(folder.join("case.json")).expect("a case");
        let case: Value = serde_json::from_slice(&text).expect("JSON");
        Self {
            name: folder.file_name().expect("a name").to_string_lossy().into_owned(),
            folder: unpacked,
            truth: case["truth"].clone(),
            policy: fs::read_to_string(folder.join("precision-gate.yml")).unwrap_or_default(),
        }
    }

    fn own(name: &str) -> Self {
        Self::of(&fixture("layouts").join(name))
    }

    fn side(&self, side: &str) -> PathBuf {
        self.folder.path().join(side)
    }

    /// The folder of a rank of the candidate.
    fn rank(&self, rank: u64) -> PathBuf {
        let is_rank = |path: &PathBuf| path.to_string_lossy().contains(&format!("-rank{rank}-"));
        let mut folders = fs::read_dir(self.side("npu")).expect("ranks").flatten().map(|entry| entry.path());
        folders.find(is_rank).expect("the rank")
    }

    fn judge(&self, policy: &str) -> GateResult {
        judge(&self.side("gpu"), &self.side("npu"), policy)
    }
}

fn judge(baseline: &Path, candidate: &Path, policy: &str) -> GateResult {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let today = Date::try_from("2026-11-23".to_owned()).expect("a date");
    let request = Request {
        baseline: TrustedLocation::own(baseline.display().to_string()),
        several: Default::default(),
        candidate: candidate.display().to_string(),
        checks: CheckId::CHECKS.to_vec(),
        policy: Policy { today, ..Policy::parse("policy.yml", policy, &codes).expect("a sound policy") },
        matching: Matching::default(),
    };
    gate::run(&request, &Quiet).expect("both sides are there").result
}

/// Changes each line of the tables below a folder: header and cells in, the cells to write out.
fn edit(folder: &Path, change: &dyn Fn(&[String], &mut Vec<String>)) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() {
            edit(&entry.path(), change);
            continue;
        }
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(entry.path()).expect("a table");
        let rows: Vec<Vec<String>> =
            reader.records().map(|record| record.expect("a row").iter().map(str::to_owned).collect()).collect();
        let header = rows[0].clone();
        let mut writer = csv::Writer::from_path(entry.path()).expect("a table");
        for mut row in rows {
            change(&header, &mut row);
            writer.write_record(&row).expect("written");
        }
    }
}

/// Takes columns out of the tables below a folder.
fn without(folder: &Path, columns: &[&str]) {
    edit(folder, &|header, row| {
        let mut names = header.iter();
        row.retain(|_| names.next().is_some_and(|name| !columns.contains(&name.as_str())));
    });
}

fn has(result: &GateResult, code: &str) -> bool {
    result.findings.iter().any(|finding| finding.code == code)
}

fn unit(result: &GateResult) -> &MonitorUnit {
    let mut units = monitors(&result.checks);
    let unit = units.next().expect("a unit");
    assert!(units.next().is_none(), "one unit of the whole model");
    unit
}

fn listed(list: &Value, value: &Value) -> bool {
    list.as_array().expect("a list").contains(value)
}

fn is_named(names: &Value, name: &str) -> bool {
    let mut names = names.as_array().expect("names").iter().filter_map(Value::as_str);
    names.any(|pattern| pattern == "." || name.contains(&pattern.replace("\\b", "").replace('\\', "")))
}

fn meets_its_truth(case: &Case) {
    let (name, truth, result) = (&case.name, &case.truth, case.judge(&case.policy));
    assert!(listed(&truth["verdict"], &Value::from(result.verdict.as_str())), "{name}: {}", result.verdict.as_str());
    let layout = serde_json::to_value(&result.layout).expect("JSON");
    for side in ["baseline", "candidate"] {
        for size in ["tp", "pp", "dp", "cp", "ep"] {
            assert_eq!(layout[side][size], truth["layout"][side][size], "{name}: {side} {size}");
        }
    }
    let unit = unit(&result);
    assert_eq!(unit.rank, None, "{name}");
    assert!(unit.compared >= truth["min_compared"].as_u64().expect("a number"), "{name}: {}", unit.compared);
    let (found, wanted) = (serde_json::to_value(&result.culprit).expect("JSON"), &truth["culprit"]);
    if wanted.is_null() {
        assert_eq!(found, Value::Null, "{name}");
        return;
    }
    assert!(listed(&wanted["kinds"], &found["kind"]), "{name}: {found}");
    assert!(is_named(&wanted["names"], found["name"].as_str().expect("a name")), "{name}: {found}");
    assert!(wanted["step"].is_null() || wanted["step"] == found["step"], "{name}: {found}");
    assert!(found["layout"]["ranks"].as_array().expect("ranks").iter().all(|rank| listed(&wanted["ranks"], rank)));
    assert!(listed(&wanted["causes"], &found["cause"]), "{name}: {found}");
    if name == "mon-forward-reduce" {
        assert_eq!(result.diagnoses[0].cause, "missing-collective");
    }
    if let Some(factor) = wanted["factor"].as_f64() {
        assert!((found["factor"].as_f64().expect("a factor") - factor).abs() < 0.01 * factor, "{name}: {found}");
    }
}

#[test]
fn every_case_meets_its_truth() {
    for name in ["mon-ok-pp2", "mon-layernorm-grad-sp"] {
        meets_its_truth(&Case::own(name));
    }
    let Some(cases) = beside("layouts") else { return };
    let folders = fs::read_dir(cases).expect("cases").flatten().map(|entry| entry.path());
    let of_monitors =
        folders.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("mon-")));
    let judged = of_monitors.map(|path| meets_its_truth(&Case::of(&path))).count();
    assert!(judged >= 8, "{judged} cases");
}

#[test]
fn a_layout_that_nothing_declares_shows_in_the_tables() {
    let result = Case::own("mon-ok-pp2").judge("");
    assert_eq!(result.verdict, Verdict::Pass);
    assert!(has(&result, "layout-differs") && has(&result, "layout-inferred"));
    let layouts = result.layout.expect("layouts");
    assert_eq!((layouts.candidate.pp, layouts.candidate.tp, layouts.candidate.dp), (2, 1, 1));
}

#[test]
fn sides_may_be_exchanged_and_shapes_are_not_needed() {
    let case = Case::own("mon-ok-pp2");
    let exchanged = "layout: {baseline: {pp: 2}, candidate: {pp: 1}}";
    assert_eq!(judge(&case.side("npu"), &case.side("gpu"), exchanged).verdict, Verdict::Pass);
    let case = Case::own("mon-layernorm-grad-sp");
    without(case.folder.path(), &["shape", "dtype", "nans"]);
    let result = case.judge(&case.policy);
    let culprit = result.culprit.as_ref().expect("a culprit");
    assert!(culprit.op.contains("layernorm"), "{}", culprit.op);
    assert!(has(&result, "replicas-differ"));
    // Keys and values may be copies where no shape tells it.
    assert!(unit(&result).evidence.examples["not-merged"].iter().any(|name| name.contains("linear_qkv")));
}

#[test]
fn ranks_that_are_missing_are_named() {
    let case = Case::own("mon-ok-pp2");
    fs::remove_dir_all(case.rank(1)).expect("removed");
    let result = case.judge(&case.policy);
    assert_eq!(result.verdict, Verdict::Incomplete);
    let finding = result.findings.iter().find(|finding| finding.code == "layout-ranks-missing").expect("a finding");
    let facts = serde_json::to_value(&finding.facts).expect("JSON");
    assert_eq!(
        (&facts["declared"], &facts["found"], &facts["ranks"][0]),
        (&Value::from(2), &Value::from(1), &Value::from("1"))
    );
}

#[test]
fn a_declared_layout_that_the_ranks_contradict_is_refused() {
    let case = Case::own("mon-ok-pp2");
    for candidate in ["{tp: 2}", "{dp: 2}", "{pp: 1}"] {
        let result = case.judge(&format!("layout: {{baseline: {{tp: 1}}, candidate: {candidate}}}"));
        assert_eq!(result.verdict, Verdict::Incomplete, "{candidate}");
        assert!(has(&result, "layout-contradicted"), "{candidate}");
    }
}

#[test]
fn ranks_of_equal_layouts_are_paired_one_by_one() {
    let case = Case::own("mon-ok-pp2");
    let result = judge(&case.side("npu"), &case.side("npu"), "layout: {baseline: {pp: 2}, candidate: {pp: 2}}");
    assert_eq!(result.verdict, Verdict::Pass);
    let ranks: Vec<Option<u64>> = monitors(&result.checks).map(|unit| unit.rank).collect();
    assert_eq!(ranks, [Some(0), Some(1)]);
    assert!(result.layout.is_some() && !has(&result, "layout-differs"));
}

#[test]
fn copies_that_part_are_found_where_the_baseline_has_no_such_row() {
    let case = Case::own("mon-layernorm-grad-sp");
    // Without gradients before and after their reduction the updated parameters are the first that part.
    let is_gradient = |path: &Path| path.to_string_lossy().contains("grad_");
    for side in ["gpu", "npu"] {
        for folder in fs::read_dir(case.side(side)).expect("ranks").flatten() {
            let files = fs::read_dir(folder.path()).expect("files").flatten().map(|entry| entry.path());
            files.filter(|path| is_gradient(path)).for_each(|path| fs::remove_file(path).expect("removed"));
        }
    }
    let result = case.judge(&case.policy);
    assert_eq!(result.verdict, Verdict::Fail);
    let culprit = serde_json::to_value(&result.culprit).expect("JSON");
    assert_eq!((&culprit["kind"], &culprit["step"]), (&Value::from("param_updated"), &Value::from(0)));
    assert_eq!(culprit["cause"], "optimizer");
    assert!(has(&result, "replicas-differ"));
}

#[test]
fn parts_that_a_rank_lacks_leave_rows_without_a_partner() {
    let case = Case::own("mon-layernorm-grad-sp");
    let lost = fs::read_dir(case.rank(1)).expect("files").flatten().map(|entry| entry.path());
    let lost: Vec<PathBuf> = lost.filter(|path| path.to_string_lossy().contains("param_origin")).collect();
    lost.into_iter().for_each(|path| fs::remove_file(path).expect("removed"));
    let result = case.judge(&case.policy);
    let finding = result.findings.iter().find(|finding| finding.code == "monitor-names-missing").expect("a finding");
    assert!(serde_json::to_string(&finding.facts).expect("JSON").contains("param_origin"));
    assert!(unit(&result).unmatched_baseline > 0);
}
