//! Training monitors: every case with a known truth, defects planted in healthy ones, and what must not bend a verdict.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should"
)]

use crate::data;
mod findings;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data::fixture;
use precision_gate::fetch::MemorySource;
use precision_gate::gate::{self, Quiet, Request};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::value::Date;
use precision_gate::read::monitor::{MonitorPlace, MonitorTable, RowMemory};
use precision_gate::result::GateResult;
use precision_gate::result::unit::{MonitorUnit, monitors};
use precision_gate::verdict::{CheckId, Verdict};
use serde_json::Value;
use tempfile::TempDir;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/monitor")
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

fn culprit(result: &GateResult) -> Value {
    serde_json::to_value(&result.culprit).expect("JSON")
}

fn has(result: &GateResult, code: &str) -> bool {
    result.findings.iter().any(|finding| finding.code == code)
}

fn listed(list: &Value, value: &Value) -> bool {
    list.as_array().is_none_or(|list| list.contains(value))
}

#[test]
fn every_case_gets_its_verdict_and_its_culprit() {
    assert_eq!(judge_all(&cases()), 16);
}

/// Cases that are too large to be kept here, where they lie beside the repository.
#[test]
fn cases_beside_the_repository_get_theirs_too() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/fixtures/monitor");
    if !folder.is_dir() {
        println!("no cases at {}: nothing was judged", folder.display());
        return;
    }
    println!("{} cases judged", judge_all(&folder));
}

/// Judges every case of a folder that has both sides, and counts them.
fn judge_all(folder: &Path) -> usize {
    let mut judged = 0;
    for entry in fs::read_dir(folder).expect("cases").flatten() {
        let Ok(text) = fs::read(entry.path().join("case.json")) else { continue };
        let (gpu, npu) = (entry.path().join("gpu"), entry.path().join("npu"));
        if gpu.is_dir() && npu.is_dir() {
            let case: Value = serde_json::from_slice(&text).expect("JSON");
            judge_case(&entry.file_name().to_string_lossy(), &case["truth"], &judge(&gpu, &npu, ""));
            judged += 1;
        }
    }
    judged
}

fn judge_case(name: &str, truth: &Value, result: &GateResult) {
    let verdict = Value::from(result.verdict.as_str());
    let is_accepted = verdict == truth["verdict"]
        || truth["also"].as_array().expect("a list").contains(&verdict)
        || truth["verdict"] == "warn" && verdict == "fail";
    assert!(is_accepted, "{name}: {verdict}");
    let (found, wanted) = (culprit(result), &truth["culprit"]);
    if wanted.is_null() {
        let is_defect = truth["verdict"] == "fail";
        assert!(is_defect || found.is_null(), "{name}: {found}");
    } else if verdict != "incomplete" {
        assert_eq!(found["check"], "monitor", "{name}");
        for key in ["step", "rank", "name"] {
            assert!(wanted[key].is_null() || found[key] == wanted[key], "{name}: {key} {}", found[key]);
        }
        let is_place = listed(&wanted["kind"], &found["kind"]) && listed(&wanted["cause"], &found["cause"]);
        assert!(is_place, "{name}: {found}");
        if let Some(factor) = wanted["factor"].as_f64().filter(|_| found["cause"] == "scaled") {
            assert!((found["factor"].as_f64().expect("a factor") - factor).abs() < 0.01 * factor, "{name}");
        }
    }
    for code in truth["codes"].as_array().expect("a list") {
        let code = code.as_str().expect("a code");
        assert!(has(result, code) || has(result, &format!("monitor-{code}")), "{name}: {code}");
    }
}

/// Changes the names in one column of every table.
fn renamed(from: &Path, to: &Path, rename: impl Fn(&str) -> String) {
    copied(from, to, &|_, titles, cells| {
        let column = titles.iter().position(|title| title == "name" || title == "module_name");
        if let Some(cell) = column.and_then(|column| cells.get_mut(column)) {
            *cell = rename(cell);
        }
    });
}

/// A rule that gives a parameter another name.
type Renaming<'r> = &'r dyn Fn(&str) -> String;

#[test]
fn wrappers_of_one_side_are_the_same_model() {
    let case = cases().join("ok-sdpa-against-math-v2");
    let wrapped = |part: &'static str| {
        move |name: &str| if name.starts_with('.') { format!("{part}{name}") } else { format!("{part}.{name}") }
    };
    let inside = |name: &str| name.replacen("blk.0.", "blk.0._checkpoint_wrapped_module.", 1);
    let all: [(&str, Renaming<'_>); 4] = [
        ("module", &wrapped("module")),
        ("_orig_mod", &wrapped("_orig_mod")),
        ("_orig_mod.module", &wrapped("_orig_mod.module")),
        ("inside", &inside),
    ];
    for (what, rename) in all {
        let npu = TempDir::new().expect("a folder");
        renamed(&case.join("npu"), npu.path(), rename);
        let result = judge(&case.join("gpu"), npu.path(), "");
        assert_eq!((result.verdict, culprit(&result)), (Verdict::Pass, Value::Null), "{what}: {:?}", result.findings);
        let unit = unit(&result);
        assert_eq!((unit.unmatched_baseline, unit.unmatched_candidate), (0, 0), "{what}");
    }
}

#[test]
fn two_monitors_of_a_process_are_two_models() {
    let case = cases().join("gan-two-monitors-generator-v1");
    let result = judge(&case.join("gpu"), &case.join("npu"), "");
    assert!(!has(&result, "monitor-rank-twice") && !has(&result, "evidence-contradicting"), "{:?}", result.findings);
    let (found, unit) = (culprit(&result), unit(&result));
    assert_eq!((&found["cause"], &found["step"]), (&Value::from("forward"), &Value::from(2)), "{found}");
    assert_eq!((unit.unmatched_baseline, unit.unmatched_candidate), (0, 0));
    let same = judge(&case.join("gpu"), &case.join("gpu"), "");
    assert_eq!(same.verdict, Verdict::Pass, "{:?}", same.findings);
}

#[test]
fn what_trains_on_the_candidate_alone_is_named() {
    let case = cases().join("lora-base-not-frozen-v1");
    let result = judge(&case.join("gpu"), &case.join("npu"), "");
    assert!(result.verdict == Verdict::Fail && has(&result, "monitor-trainable-differs"), "{:?}", result.findings);
    assert_eq!(culprit(&result)["cause"], "optimizer");
    assert!(!has(&judge(&case.join("npu"), &case.join("gpu"), ""), "monitor-trainable-differs"));
}

#[test]
fn an_optimizer_is_judged_by_its_updates() {
    let outcome = |result: &GateResult| {
        let rules = unit(result).rules.iter();
        rules.filter(|rule| rule.rule == "monitor_update").map(|rule| rule.verdict).collect::<Vec<_>>()
    };
    let pattern = |result: &GateResult| {
        let found = result.findings.iter().find(|finding| finding.code == "monitor-update-differs")?;
        let fact = |name: &str| serde_json::to_value(found.facts.get(name)).expect("JSON");
        Some((fact("pattern"), fact("ratio").as_f64()))
    };
    let case = cases().join("lr-x10-at-1e-6-v2");
    let result = judge(&case.join("gpu"), &case.join("npu"), "");
    let (found, ratio) = pattern(&result).expect("a rate of another size");
    assert!(found == "scaled" && ratio.is_some_and(|ratio| (ratio - 10.0).abs() < 0.5), "{found} {ratio:?}");
    assert_eq!(outcome(&result), [Verdict::Fail]);
    let accepted = judge(&case.join("gpu"), &case.join("npu"), "severity: {monitor-update-differs: info}");
    assert!(!has(&accepted, "monitor-noise-horizon"), "{:?}", accepted.findings);
    let healthy = cases().join("ok-sdpa-against-math-v2");
    let edited = |change: &dyn Fn(&str, f64) -> f64| {
        let npu = TempDir::new().expect("a folder");
        copied(&healthy.join("npu"), npu.path(), &|_, titles, cells| {
            let at = |title: &str| column(titles, title);
            if titles.iter().any(|title| title == "scope")
                && cells[at("scope")] == "param_updated"
                && cells[at("step")] == "0"
            {
                for statistic in ["norm", "min", "max", "mean"] {
                    let value: f64 = cells[at(statistic)].parse().expect("a number");
                    cells[at(statistic)] = change(&cells[at("module_name")], value).to_string();
                }
            }
        });
        judge(&healthy.join("gpu"), npu.path(), "")
    };
    let untouched = edited(&|_, value| value);
    assert_eq!((untouched.verdict, outcome(&untouched)), (Verdict::Pass, vec![Verdict::Pass]));
    let decayed = edited(&|name, value| if name.ends_with("weight") { value * (1.0 - 1e-4) } else { value });
    assert_eq!(pattern(&decayed).map(|(found, _)| found), Some(Value::from("decay")), "{:?}", decayed.findings);
    assert_eq!(culprit(&decayed)["kind"], "param_updated");
}

#[test]
fn a_single_rank_has_no_reduction_to_blame() {
    let case = cases().join("loss-scale-half-v1/gpu");
    let npu = TempDir::new().expect("a folder");
    copied(&case, npu.path(), &|path, titles, cells| {
        let is_reduced = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("grad_reduced"));
        if is_reduced && cells[column(titles, "name")] == "emb.weight" {
            for statistic in ["norm", "min", "max", "mean"] {
                let cell = &mut cells[column(titles, statistic)];
                *cell = (cell.parse::<f64>().expect("a number") * 1.05).to_string();
            }
        }
    });
    let found = culprit(&judge(&case, npu.path(), ""));
    assert_eq!((&found["kind"], &found["cause"]), (&Value::from("grad_reduced"), &Value::from("backward")), "{found}");
}

/// Copies a folder with every table changed by `edit`: path, line and cells in, the cells to write out.
fn copied<F: Fn(&Path, &[String], &mut Vec<String>)>(from: &Path, to: &Path, edit: &F) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &target, edit);
        } else if entry.path().extension().is_some_and(|ending| ending == "csv") {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(entry.path()).expect("a table");
            let mut writer = csv::Writer::from_path(&target).expect("a table");
            let mut header = Vec::new();
            for record in reader.records() {
                let mut cells: Vec<String> = record.expect("a row").iter().map(str::to_owned).collect();
                if header.is_empty() {
                    header.clone_from(&cells);
                } else {
                    edit(&entry.path(), &header, &mut cells);
                }
                writer.write_record(&cells).expect("written");
            }
            writer.flush().expect("written");
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

fn column(header: &[String], name: &str) -> usize {
    header.iter().position(|column| column == name).expect(name)
}

/// The healthy run of a case, with the statistics of one tensor at one step and later scaled on the candidate.
fn planted(scope: &'static str, tensor: &'static str, from_step: u64, factor: f64) -> GateResult {
    let folder = TempDir::new().expect("a folder");
    let gpu = cases().join("stale-rank2-v2/gpu");
    copied(&gpu, &folder.path().join("npu"), &|path, header, cells| {
        let is_meant = cells[column(header, "scope")] == scope && cells[column(header, "module_name")] == tensor;
        let step: u64 = cells[column(header, "step")].parse().expect("a step");
        if is_meant && step >= from_step && path.display().to_string().contains("rank_1") {
            for name in ["norm", "min", "max", "mean"] {
                let cell = &mut cells[column(header, name)];
                *cell = (cell.parse::<f64>().expect("a number") * factor).to_string();
            }
        }
    });
    judge(&gpu, &folder.path().join("npu"), "")
}

#[test]
fn a_planted_defect_is_found_at_its_step_rank_and_cause() {
    for (scope, tensor, step, factor, cause) in [
        ("param_origin", "fc2.weight", 0, 1.000_2, "initial-state"),
        ("param_origin", "fc1.weight", 2, 1.01, "state"),
        ("reduced", "fc2.weight", 1, 1.02, "backward"),
        ("param_updated", "fc1.weight", 1, 1.01, "optimizer"),
    ] {
        let result = planted(scope, tensor, step, factor);
        let found = culprit(&result);
        assert_eq!((&found["name"], &found["cause"]), (&tensor.into(), &cause.into()), "{scope}: {found}");
        assert_eq!((&found["step"], &found["rank"]), (&step.into(), &1.into()), "{scope}");
        assert!(result.verdict >= Verdict::Warn);
    }
    let same = planted("reduced", "fc2.weight", 1, 1.0);
    assert_eq!((same.verdict, &same.culprit), (Verdict::Pass, &None));
    let verdicts = |result: &GateResult| -> Vec<Verdict> {
        let rules = monitors(&result.checks).flat_map(|unit| &unit.rules);
        rules.filter(|one| one.rule == "monitor_jump").map(|one| one.verdict).collect()
    };
    let ranks = [Verdict::Pass; 4];
    assert_eq!(verdicts(&same), ranks);
    assert_ne!(verdicts(&planted("reduced", "fc2.weight", 1, 1.02)), ranks);
}

#[test]
fn a_nan_that_follows_a_warning_fails_and_leads() {
    let folder = TempDir::new().expect("a folder");
    let gpu = cases().join("stale-rank2-v2/gpu");
    copied(&gpu, &folder.path().join("npu"), &|_, header, cells| {
        let norm = column(header, "norm");
        let (scope, step) = (cells[column(header, "scope")].clone(), cells[column(header, "step")].clone());
        if scope == "reduced" && cells[column(header, "module_name")] == "fc2.weight" && step == "1" {
            cells[norm] = (cells[norm].parse::<f64>().expect("a number") * 1.000_5).to_string();
        }
        if scope == "reduced" && cells[column(header, "module_name")] == "fc1.weight" && step == "2" {
            cells[norm] = "nan".to_owned();
            cells[column(header, "nans")] = "3.0".to_owned();
        }
    });
    let result = judge(&gpu, &folder.path().join("npu"), "");
    assert_eq!(result.verdict, Verdict::Fail);
    assert_eq!((&culprit(&result)["cause"], &culprit(&result)["step"]), (&"non-finite".into(), &2.into()));
    assert!(has(&result, "monitor-jump") && has(&result, "monitor-non-finite"));
}

#[test]
fn a_baseline_that_is_nan_is_no_agreement() {
    let folder = TempDir::new().expect("a folder");
    let npu = cases().join("stale-rank2-v2/gpu");
    copied(&npu, &folder.path().join("gpu"), &|_, header, cells| {
        if cells[column(header, "scope")] == "reduced" {
            cells[column(header, "norm")] = "nan".to_owned();
        }
    });
    let result = judge(&folder.path().join("gpu"), &npu, "");
    assert_eq!((result.verdict, has(&result, "monitor-baseline-non-finite")), (Verdict::Incomplete, true));
    assert!(unit(&result).evidence.not_compared > 0 && result.culprit.is_none());
}

#[test]
fn nan_and_zeros_on_both_sides_are_no_agreement() {
    let run = cases().join("stale-rank2-v2/gpu");
    let judged = |value: &str, from: i64| {
        let folder = TempDir::new().expect("a folder");
        for side in ["gpu", "npu"] {
            copied(&run, &folder.path().join(side), &|_, header, cells| {
                let step: i64 = cells[column(header, "step")].parse().expect("a step");
                for title in ["norm", "min", "max", "mean"] {
                    if step >= from {
                        cells[column(header, title)] = value.to_owned();
                    }
                }
            });
        }
        judge(&folder.path().join("gpu"), &folder.path().join("npu"), "")
    };
    let broken = judged("nan", 0);
    assert_eq!((unit(&broken).evidence.compared, broken.verdict), (0, Verdict::Incomplete));
    let later = judged("nan", 1);
    let evidence = &unit(&later).evidence;
    assert!(has(&later, "monitor-non-finite-both") && evidence.compared > 0 && evidence.not_compared > 0);
    assert_eq!((evidence.offered, later.verdict), (evidence.compared + evidence.not_compared, Verdict::Incomplete));
    let zero = judged("0.0", 0);
    assert_eq!((unit(&zero).evidence.telling(), zero.verdict), (0, Verdict::Incomplete));
    let healthy = judged("0.0", i64::MAX);
    assert!(unit(&healthy).evidence.telling() > 0 && !has(&healthy, "monitor-non-finite-both"));
}

#[test]
fn of_two_rows_of_one_place_the_worse_is_judged() {
    let run = cases().join("loss-scale-half-v1/gpu");
    let written_again = |factor: f64| {
        let folder = TempDir::new().expect("a folder");
        copied(&run, folder.path(), &|_, _, _| {});
        for entry in walk(folder.path()).filter(|path| path.to_string_lossy().contains("grad_reduced")) {
            let text = fs::read_to_string(&entry).expect("a table");
            let titles: Vec<&str> = text.lines().next().expect("a header").split(',').collect();
            let norm = titles.iter().position(|title| *title == "norm").expect("a norm");
            let again = |line: &str| {
                let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
                cells[norm] = (cells[norm].parse::<f64>().expect("a number") * factor).to_string();
                cells.join(",") + "\n"
            };
            let rows: String = text.lines().skip(1).map(again).collect();
            fs::write(&entry, text.clone() + &rows).expect("written");
        }
        judge(&run, folder.path(), "")
    };
    let wrong = written_again(1.5);
    assert_eq!(wrong.verdict, Verdict::Fail);
    assert!(unit(&wrong).evidence.contradicting > 0 && has(&wrong, "monitor-jump"));
    let same = written_again(1.0);
    assert!(!same.verdict.blocks() && unit(&same).evidence.contradicting == 0, "{:?}", same.findings);
}

/// All files below a folder.
fn walk(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
            if entry.is_dir() { open.push(entry) } else { files.push(entry) }
        }
    }
    files.into_iter()
}

fn unit(result: &GateResult) -> &MonitorUnit {
    monitors(&result.checks).next().expect("a unit")
}

#[test]
fn policy_waives_ignores_and_limits() {
    let case = cases().join("matmul-precision-v1");
    let judged = |policy: &str| judge(&case.join("gpu"), &case.join("npu"), policy);
    let plain = judged("");
    assert_eq!(plain.verdict, Verdict::Warn);
    let waived = judged(
        "waivers: [{code: monitor-jump, where: 'head.input', reason: reviewed, owner: alice, expires: 2026-12-01}]",
    );
    assert!(!waived.waived.is_empty() && culprit(&waived)["name"] != "head.input");
    let limited = judged("monitor: {limits: [{name: 'head.input', kind: actv_grad, noise: 0.01}]}");
    assert_ne!(culprit(&limited)["name"], "head.input");
    let unused = judged("monitor: {limits: [{name: 'other', noise: 0.01}]}");
    assert!(has(&unused, "selector-unused"));
    let ignored = judged("monitor: {ignore: ['head.*']}");
    assert!(unit(&ignored).evidence.left_out > 0 && unit(&ignored).compared < unit(&plain).compared);
    assert_eq!(judged("required: [monitor]").verdict, Verdict::Warn);
}

#[test]
fn the_result_holds_what_the_picture_is_drawn_from() {
    let case = cases().join("loss-scale-half-v1");
    let result = judge(&case.join("gpu"), &case.join("npu"), "");
    let unit = unit(&result);
    let map = unit.heatmap.as_ref().expect("a map");
    assert!(map.cells.len() == map.layers.len() && map.cells.iter().all(|row| row.len() == map.steps.len()));
    let series = unit.culprit_series.as_ref().expect("a series");
    assert_eq!(series.step.len() as u64, unit.steps.paired);
    let text = serde_json::to_string(&result).expect("JSON");
    let back: GateResult = serde_json::from_str(&text).expect("what was written is read");
    assert_eq!(back.checks, result.checks);
    assert_eq!(back.culprit, result.culprit);
}

#[test]
fn a_monitor_is_never_a_curve_and_hostile_tables_are_damage() {
    let case = cases().join("stale-rank2-v2");
    let result = judge(&case.join("gpu"), &case.join("npu"), "");
    assert!(result.checks.iter().all(|check| (check.id == CheckId::Monitor) == (check.verdict != Verdict::Skipped)));
    let folder = TempDir::new().expect("a folder");
    for (name, text) in [
        ("numbers", "vpp_stage,step,module_name,scope,norm\n-1,99999999999999999999,a,reduced,1\n"),
        ("cells", "vpp_stage,step,module_name,scope,norm\n-1,0\n"),
        ("scope", "vpp_stage,step,module_name,scope,norm\n-1,0,a,other,1\n"),
        ("bytes", "vpp_stage,step,module_name,scope,norm\n-1,0,\u{0}\u{fffd},reduced,1e400\n-1,0,a,reduced,abc\n"),
        ("header", "\u{0}\u{1}"),
    ] {
        let npu = folder.path().join(name).join("rank_0");
        fs::create_dir_all(&npu).expect("a folder");
        fs::write(npu.join("weight_grad_step0-4.csv"), text).expect("written");
        let result = judge(&case.join("gpu"), &folder.path().join(name), "");
        assert!(result.verdict.blocks() && has(&result, "monitor-file-damaged"), "{name}: {:?}", result.verdict);
    }
}

/// Tables of all cases, by their paths.
fn tables(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() {
            tables(&entry.path(), found);
        } else if entry.path().extension().is_some_and(|ending| ending == "csv") {
            found.push(entry.path());
        }
    }
}

#[test]
fn every_row_that_was_counted_is_read_at_its_step_whatever_bytes_a_table_holds() {
    let mut found = Vec::new();
    tables(&cases(), &mut found);
    found.sort();
    let strange = *b",\n\r\"-+.eEnaif0195 x\xff";
    let mut state = 0_u64;
    let mut below = move |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("small") % most.max(1)
    };
    let (mut rows_read, mut damaged) = (0, 0);
    for round in 0..1_500 {
        let path = &found[round % found.len()];
        let mut bytes = fs::read(path).expect("a table");
        for _ in 0..below(6) {
            let at = below(bytes.len());
            match below(3) {
                0 => bytes[at] = strange[below(strange.len())],
                1 => bytes.insert(at, strange[below(strange.len())]),
                _ => bytes.truncate(at.max(60)),
            }
        }
        let (source, place) =
            (Arc::new(MemorySource::new("table", bytes)), MonitorPlace::from_path(&path.display().to_string()));
        let again = MonitorTable::open_sharing_memory(place.clone(), source.clone(), &RowMemory::all());
        let table = MonitorTable::open(place, source);
        damaged += u64::from(table.damage.is_some());
        let mut counted: BTreeMap<i64, u64> = BTreeMap::new();
        table.steps().for_each(|(step, rows)| *counted.entry(step).or_default() += rows);
        for (step, count) in counted {
            let rows = table.rows(step).expect("bytes in memory");
            assert_eq!(rows.len() as u64, count, "{} round {round} step {step}", path.display());
            // What memory had no room for is read again, and the same.
            let read_again = again.rows(step).expect("bytes in memory");
            assert_eq!(format!("{read_again:?}"), format!("{rows:?}"), "{} round {round} step {step}", path.display());
            rows_read += count;
        }
    }
    assert!(rows_read > 10_000 && damaged > 100, "{rows_read} rows, {damaged} damaged tables");
}

#[test]
fn what_nobody_compared_does_not_pass() {
    let folder = TempDir::new().expect("a folder");
    // One side recorded forward only, the other backward only: no kind in common with another version.
    let [gpu, npu] = ["gpu", "npu"].map(|side| folder.path().join(side).join("rank_0"));
    for (side, header, row) in [
        (&gpu, "vpp_stage,step,module_name,scope,norm", "-1,0,fc.output.0,forward,1.5"),
        (&npu, "vpp_stage,name,step,norm", "0,fc.weight,0,1.5"),
    ] {
        fs::create_dir_all(side).expect("a folder");
        let name = if header.contains("scope") { "module_step0-4.csv" } else { "grad_reduced_0-4.csv" };
        fs::write(side.join(name), format!("{header}\n{row}\n")).expect("written");
    }
    let result = judge(&folder.path().join("gpu"), &folder.path().join("npu"), "");
    assert_eq!(result.verdict, Verdict::Incomplete);
    assert!(has(&result, "monitor-nothing-compared"), "{:?}", result.findings);

    let case = cases().join("v1-against-v2");
    let result = judge(&case.join("gpu"), &case.join("npu"), "monitor: {ignore: ['*']}");
    assert_eq!(result.verdict, Verdict::Incomplete, "a policy that leaves everything out");
    assert!(has(&result, "monitor-nothing-compared"));
}

/// A folder with a monitor (wrong at step 2), a curve that diverges, and a dump that is wrong at `dump_step`.
fn mixed(to: &Path, side: &str, dump_step: u64) {
    let nothing = |_: &Path, _: &[String], _: &mut Vec<String>| {};
    copied(&fixture("monitor/stale-rank2-v2").join(side), &to.join(side).join("monitor"), &nothing);
    copied(&fixture("loss/diverging_trend").join(side), &to.join(side).join("curves"), &nothing);
    let dump = fixture("dumps/gpt_bf16_stats_attention_scale").join(side).join("step0");
    copied(&dump, &to.join(side).join(format!("dump/step{dump_step}")), &nothing);
}

#[test]
fn monitors_curves_and_dumps_of_one_folder_are_all_judged_and_the_earliest_culprit_leads() {
    for (dump_step, first, step) in [(0, "dump", 0), (2, "dump", 2), (3, "monitor", 2)] {
        let folder = TempDir::new().expect("a folder");
        for side in ["gpu", "npu"] {
            mixed(folder.path(), side, dump_step);
        }
        let result = judge(&folder.path().join("gpu"), &folder.path().join("npu"), "");
        for check in [CheckId::Loss, CheckId::Dump, CheckId::Monitor] {
            let verdict = result.checks.iter().find(|judged| judged.id == check).map(|judged| judged.verdict);
            assert_eq!(verdict, Some(Verdict::Fail), "{check:?} beside a dump of step {dump_step}");
        }
        let culprit = culprit(&result);
        assert_eq!((culprit["check"].as_str(), culprit["step"].as_u64()), (Some(first), Some(step)), "{culprit}");
    }
}

#[test]
fn the_example_says_what_its_page_says() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/monitor");
    let result = judge(&example.join("gpu"), &example.join("npu"), "");
    let culprit = culprit(&result);
    assert_eq!((culprit["name"].as_str(), culprit["step"].as_u64()), (Some("fc1.weight"), Some(3)));
    let page = fs::read_to_string(example.join("README.md")).expect("a page");
    assert!(page.contains("The gradient of `fc1.weight` is 5.0 % off at step 3; the forward pass agrees"), "{page}");
}
