//! Operator tests: every case with a known truth, changes of healthy tables, and what must not bend a verdict.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::fetch::MemorySource;
use precision_gate::gate::{self, Quiet, Request};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::value::Date;
use precision_gate::read::operators::{OperatorDamage, TableKind, read_compared, read_details, read_results};
use precision_gate::report::RunOutcome;
use precision_gate::result::GateResult;
use precision_gate::result::unit::{OperatorsUnit, operators};
use precision_gate::verdict::{CheckId, Verdict};
use serde_json::Value;
use tempfile::TempDir;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/operators")
}

fn run(baseline: &Path, candidate: &Path, policy: &str) -> RunOutcome {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let today = Date::try_from("2026-11-23".to_owned()).expect("a date");
    let request = Request {
        several: Default::default(),
        baseline: TrustedLocation::own(baseline.display().to_string()),
        candidate: candidate.display().to_string(),
        checks: CheckId::CHECKS.to_vec(),
        policy: Policy { today, ..Policy::parse("policy.yml", policy, &codes).expect("a sound policy") },
        matching: Matching::default(),
    };
    gate::run(&request, &Quiet).expect("both sides are there")
}

fn judge(baseline: &Path, candidate: &Path, policy: &str) -> GateResult {
    run(baseline, candidate, policy).result
}

fn judge_case(name: &str) -> RunOutcome {
    run(&cases().join(name).join("gpu"), &cases().join(name).join("npu"), "")
}

fn unit(result: &GateResult) -> &OperatorsUnit {
    operators(&result.checks).next().expect("a unit")
}

fn row(result: &GateResult) -> Option<&str> {
    Some(result.culprit.as_ref()?.operator.as_ref()?.row.as_str())
}

fn has(result: &GateResult, code: &str) -> bool {
    result.findings.iter().any(|finding| finding.code == code)
}

/// Text of the details of a side of a case.
fn details(case: &str, side: &str) -> String {
    fs::read_to_string(file(&cases().join(case).join(side), "accuracy_checking_details")).expect("text")
}

fn file(folder: &Path, start: &str) -> PathBuf {
    let mut files = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    files.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))).expect("a file")
}

/// A folder that holds tables under their names.
fn folder(tables: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (name, text) in tables {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
    folder
}

const DETAILS: &str = "accuracy_checking_details_20261122123045.csv";

/// Verdict on two tables of details.
fn pair(baseline: &str, candidate: &str, policy: &str) -> GateResult {
    let (ours, theirs) = (folder(&[(DETAILS, baseline)]), folder(&[(DETAILS, candidate)]));
    judge(ours.path(), theirs.path(), policy)
}

/// Replaces a cell of the row that begins with `name`; columns count from 0.
fn with_cell(table: &str, name: &str, column: usize, cell: &str) -> String {
    let start = table.find(&format!("\n{name},")).expect("the row") + 1;
    let (before, rest) = table.split_at(start);
    let (mut end, mut nth, mut quoted, mut from) = (rest.len(), 0, false, 0);
    for (place, letter) in rest.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => {
                if nth == column {
                    end = place;
                    break;
                }
                nth += 1;
                from = place + 1;
            }
            _ => {}
        }
    }
    format!("{before}{}{cell}{}", &rest[..from], &rest[end..])
}

const DTYPE: usize = 2;
const SHAPE: usize = 3;
const COSINE: usize = 4;
const MAX_ABS: usize = 5;
const BINARY: usize = 9;
const RMSE: usize = 11;
const MAX_REL: usize = 13;
const MEAN_REL: usize = 14;
const STATUS: usize = 21;
const GELU: &str = "Functional.gelu.0.forward.output.0";

#[test]
fn every_pair_gets_its_verdict_and_its_culprit() {
    let mut judged = 0;
    for entry in fs::read_dir(cases()).expect("cases").flatten() {
        let Ok(text) = fs::read(entry.path().join("case.json")) else { continue };
        let case: Value = serde_json::from_slice(&text).expect("JSON");
        if !entry.path().join("gpu").exists() {
            continue;
        }
        let (name, truth) = (case["case"].as_str().expect("a name"), &case["truth"]);
        let result = judge(&entry.path().join("gpu"), &entry.path().join("npu"), "");
        let verdict = result.verdict.as_str();
        let fits =
            truth["verdict"] == verdict || truth["also"].as_array().expect("a list").iter().any(|one| one == verdict);
        assert!(fits, "{name}: {verdict}");
        assert_eq!(row(&result), truth["culprit"]["row"].as_str(), "{name}");
        for code in truth["codes"].as_array().expect("a list") {
            assert!(has(&result, code.as_str().expect("a code")), "{name}: {code}");
        }
        judged += 1;
    }
    assert_eq!(judged, 9);
}

#[test]
fn another_result_is_told_from_an_inaccurate_one() {
    let (table, good) = (details("ok-fp32", "gpu"), details("ok-fp32", "npu"));
    let facts = |cosine: &str| {
        let off = with_cell(&with_cell(&good, GELU, MEAN_REL, "5.01"), GELU, COSINE, cosine);
        let result = pair(&table, &off, "");
        let found = result.findings.iter().find(|finding| finding.code == "operators-inaccurate");
        let facts = &found.expect("an inaccurate operator").facts;
        ["similarity", "arguments"].map(|name| facts.get(name).map(|fact| format!("{fact:?}")).unwrap_or_default())
    };
    let [similarity, arguments] = facts("0.69");
    assert!(similarity.contains("0.69") && arguments.contains("approximate"), "{similarity} {arguments}");
    assert_eq!(facts("0.9999"), ["", ""]);
}

#[test]
fn the_unit_says_what_the_contract_asks_for() {
    let result = judge_case("gelu-2-percent").result;
    let unit = serde_json::to_value(unit(&result)).expect("JSON");
    assert_eq!((&unit["rank"], &unit["verdict"], &unit["compared"]), (&Value::Null, &"fail".into(), &25.into()));
    assert_eq!(unit["counts"], serde_json::json!({"pass": 23, "warning": 0, "error": 2, "skip": 2}));
    let culprit = &unit["culprit"];
    assert_eq!((&culprit["api"], &culprit["direction"]), (&"Functional.gelu.0".into(), &"forward".into()));
    assert_eq!((&culprit["output"], &culprit["row"]), (&0.into(), &GELU.into()));
    assert_eq!(culprit["metrics"]["rule"], "mean_rel_ratio");
    assert_eq!(culprit["metrics"]["limit"], 1.2);
    assert!((culprit["metrics"]["value"].as_f64().expect("a number") - 327.68).abs() < 0.01);
    let top = serde_json::to_value(&result.culprit).expect("JSON");
    assert_eq!((&top["check"], &top["row"]), (&"operators".into(), &GELU.into()));
    let read: GateResult = serde_json::from_value(serde_json::to_value(&result).expect("JSON")).expect("read again");
    assert_eq!(read.culprit, result.culprit);
    assert_eq!(read.checks, result.checks);
}

#[test]
fn msprobe_status_is_reproduced_row_by_row() {
    let mut rows = 0;
    for entry in fs::read_dir(cases()).expect("cases").flatten() {
        let expected = entry.path().join("expected");
        if !expected.exists() {
            continue;
        }
        let bytes = fs::read(file(&expected, "api_precision_compare_details")).expect("a table");
        let wanted = read_compared(&MemorySource::new("expected", bytes)).expect("a table").rows;
        let wanted: BTreeMap<&str, &str> = wanted.iter().map(|row| (row.name.as_str(), row.status.as_str())).collect();
        let name = entry.file_name().to_string_lossy().into_owned();
        for found in listing(&judge_case(&name)) {
            assert_eq!(wanted.get(found["API Name"].as_str()), Some(&found["msprobe"].as_str()), "{name}: {found:?}");
            rows += 1;
        }
    }
    assert!(rows > 200, "{rows}");
}

/// Rows of `operators_result.csv`, by title.
fn listing(outcome: &RunOutcome) -> Vec<BTreeMap<String, String>> {
    let table = outcome.tables.iter().find(|table| table.name == "operators_result").expect("the table");
    let row = |row: &Vec<_>| table.columns.iter().cloned().zip(row.iter().map(text)).collect();
    table.rows.iter().map(row).collect()
}

fn text(cell: &precision_gate::msprobe::table::Cell) -> String {
    cell.text().into_owned()
}

#[test]
fn a_row_that_only_one_side_checked_never_passes() {
    let table = details("ok-fp32", "gpu");
    assert_eq!(pair(&table, &table, "").verdict, Verdict::Pass);
    let blank = |text: &str| {
        let text = with_cell(text, GELU, DTYPE, " ");
        let text = [COSINE, MAX_ABS, RMSE, MAX_REL, MEAN_REL]
            .iter()
            .fold(text, |text, column| with_cell(&text, GELU, *column, " "));
        with_cell(&text, GELU, STATUS, "SKIP")
    };
    for result in [pair(&blank(&table), &table, ""), pair(&table, &blank(&table), "")] {
        assert_eq!(result.verdict, Verdict::Warn);
        assert!(has(&result, "operators-skipped"));
    }
}

#[test]
fn errors_that_are_no_numbers_on_both_sides_are_no_agreement() {
    let table = details("ok-fp32", "gpu");
    let errors = [COSINE, MAX_ABS, RMSE, 12, MAX_REL, MEAN_REL];
    let with = |name: &str, cell: &str| {
        errors.iter().fold(table.clone(), |text, column| with_cell(&text, name, *column, cell))
    };
    for cell in ["nan", " "] {
        let one = with(GELU, cell);
        let result = pair(&one, &one, "");
        let evidence = &unit(&result).evidence;
        assert_eq!((evidence.not_compared, evidence.offered), (1, evidence.compared + 1), "{cell}");
    }
    assert_eq!(unit(&pair(&table, &table, "")).evidence.not_compared, 0);
}

#[test]
fn a_type_that_is_judged_on_one_side_only_never_passes() {
    let table = details("ok-fp32", "gpu");
    let double = with_cell(&table, GELU, DTYPE, "torch.float64");
    let result = pair(&table, &double, "");
    assert_eq!(result.verdict, Verdict::Warn);
    assert!(has(&result, "operators-skipped"));
    assert!(has(&pair(&double, &table, ""), "operators-dtype-differs"));
    assert!(has(&pair(&table, &with_cell(&table, GELU, SHAPE, "\"(0,)\""), ""), "operators-skipped"));
    assert_eq!(pair(&double, &double, "").verdict, Verdict::Pass, "the tool judges no float64");
    let wrong = with_cell(&double, GELU, STATUS, "error");
    assert!(has(&pair(&double, &wrong, ""), "operators-tool-warning"));
}

#[test]
fn the_spelling_of_a_table_does_not_matter_and_a_lost_error_does() {
    let (good, bad) = (details("gelu-2-percent", "gpu"), details("gelu-2-percent", "npu"));
    let plain = |text: &str| text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let result = pair(&plain(&good), &plain(&bad), "");
    assert_eq!((result.verdict, row(&result)), (Verdict::Fail, Some(GELU)));
    assert_eq!(pair(&plain(&good), &good, "").verdict, Verdict::Pass);
    for column in [RMSE, MAX_REL, MEAN_REL] {
        let lost = with_cell(&good, GELU, column, " ");
        for result in [pair(&good, &lost, ""), pair(&lost, &good, "")] {
            assert_eq!(result.verdict, Verdict::Warn);
            assert!(has(&result, "operators-skipped"));
        }
        assert_eq!(pair(&lost, &lost, "").verdict, Verdict::Pass);
    }
}

#[test]
fn each_rule_of_an_output_is_applied() {
    let table = details("ok-fp32", "gpu");
    let changed = |column: usize, cell: &str| pair(&table, &with_cell(&table, GELU, column, cell), "");
    for (column, cell, verdict, code) in [
        (COSINE, "nan", Verdict::Fail, "operators-non-finite"),
        (MAX_ABS, "nan", Verdict::Fail, "operators-non-finite"),
        (RMSE, "inf", Verdict::Fail, "operators-non-finite"),
        (MEAN_REL, "-inf", Verdict::Fail, "operators-non-finite"),
        (DTYPE, "torch.bfloat16", Verdict::Fail, "operators-dtype-differs"),
        (RMSE, "0.001", Verdict::Fail, "operators-inaccurate"),
        (MEAN_REL, "0.001", Verdict::Fail, "operators-inaccurate"),
        (MAX_REL, "0.5", Verdict::Warn, "operators-max-relative"),
        (STATUS, "broken", Verdict::Incomplete, "operators-file-damaged"),
        (RMSE, "0,1", Verdict::Incomplete, "operators-file-damaged"),
    ] {
        let result = changed(column, cell);
        assert!(has(&result, code), "{column} {cell}: {:?}", result.findings);
        assert_eq!(result.verdict, verdict, "{column} {cell}");
    }
    for (column, cell) in [(STATUS, "error"), (STATUS, "warning"), (MAX_ABS, "9"), (COSINE, "0.5")] {
        assert_eq!(changed(column, cell).verdict, Verdict::Pass, "{column} {cell}: ratios decide");
    }
}

#[test]
fn errors_of_another_kind_are_a_difference() {
    let table = details("ok-fp32", "gpu");
    let with = |column: usize, cell: &str| with_cell(&table, GELU, column, cell);
    for column in [MAX_ABS, RMSE] {
        for (ours, theirs, verdict, code) in [
            ("inf", "nan", Verdict::Fail, "operators-non-finite"),
            ("nan", "inf", Verdict::Fail, "operators-non-finite"),
            ("nan", "0.0", Verdict::Warn, "operators-baseline-non-finite"),
            ("inf", "0.0", Verdict::Warn, "operators-baseline-non-finite"),
        ] {
            let result = pair(&with(column, ours), &with(column, theirs), "");
            assert!(result.verdict == verdict && has(&result, code), "{column} {ours} {theirs}: {:?}", result.findings);
        }
        for cell in ["nan", "inf"] {
            assert_eq!(pair(&with(column, cell), &with(column, cell), "").verdict, Verdict::Pass, "{cell}");
        }
    }
}

#[test]
fn numbers_lost_on_both_sides_and_integers_are_judged_as_such() {
    let table = details("ok-fp32", "gpu");
    let lost =
        [COSINE, MAX_ABS, MEAN_REL].iter().fold(table.clone(), |text, column| with_cell(&text, GELU, *column, "nan"));
    assert_eq!(pair(&lost, &lost, "").verdict, Verdict::Pass);
    assert_eq!(
        pair(&lost, &table, "").verdict,
        Verdict::Warn,
        "NaN on the baseline alone is no defect of the candidate, and nothing to agree with"
    );
    let whole = with_cell(&table, GELU, DTYPE, "torch.int64");
    let with_share = |share: &str| with_cell(&whole, GELU, BINARY, share);
    assert_eq!(pair(&whole, &whole, "").verdict, Verdict::Warn, "a share that was not computed is not compared");
    assert_eq!(pair(&with_share("0"), &with_share("0.00000000000000"), "").verdict, Verdict::Pass);
    let result = pair(&with_share("0"), &with_share("0.25"), "");
    assert_eq!(row(&result), Some(GELU));
    assert!(has(&result, "operators-elements-differ"));
    assert_eq!(pair(&with_share("0"), &with_share("nan"), "").verdict, Verdict::Fail);
}

#[test]
fn the_policy_sets_levels_limits_and_exceptions() {
    let table = details("ok-fp32", "gpu");
    let worse = with_cell(&table, GELU, MEAN_REL, "0.0001");
    let judged = |policy: &str| pair(&table, &worse, policy);
    assert_eq!(judged("").verdict, Verdict::Fail, "1.6 times the floor, and 1.2 at level 2");
    assert_eq!(judged("operators: {limits: [{api: 'Functional.gelu.*', level: L0}]}").verdict, Verdict::Pass);
    assert_eq!(judged("operators: {limits: [{api: 'Functional.gelu.*', mean-rel-ratio: 1.7}]}").verdict, Verdict::Pass);
    let backward = judged("operators: {limits: [{api: 'Functional.gelu.*', direction: backward, level: L0}]}");
    assert_eq!(backward.verdict, Verdict::Fail);
    assert_eq!(judged("operators: {ignore: ['Functional.gelu.*']}").verdict, Verdict::Pass);
    let unused = pair(&table, &table, "operators: {limits: [{api: 'Torch.nothing.*', level: L2}]}");
    assert!(has(&unused, "selector-unused"));
    let waiver = "waivers: [{code: operators-inaccurate, where: 'Functional.gelu.*', reason: approximation, owner: ann, expires: 2027-01-01}]";
    let waived = judged(waiver);
    assert_eq!((waived.verdict, waived.waived.len()), (Verdict::Pass, 1));
    assert!(waived.culprit.is_none());
}

#[test]
fn what_follows_from_accepted_operators_takes_the_place_of_no_other() {
    let table = details("ok-fp32", "gpu");
    let wrong = with_cell(&table, GELU, MEAN_REL, "0.1");
    let wrong = with_cell(&wrong, "Functional.gelu.0.backward.output.0", MEAN_REL, "0.1");
    let of_many = |table: &str| {
        let rows = table.lines().filter(|line| line.starts_with("Functional.gelu.0."));
        // Their messages go over several lines.
        let numbers = rows.filter_map(|line| line.split_once(",pass,"));
        let gelu: String = numbers.map(|(numbers, _)| format!("{numbers},pass,\r\n")).collect();
        let copies = (1..60).map(|call| gelu.replace("gelu.0", &format!("gelu.{call}")));
        copies.fold(table.to_owned(), |table, rows| table + &rows)
    };
    let waivers = (0..59).fold("waivers:\n".to_owned(), |mut text, call| {
        let place = format!("Functional.gelu.{call}.forward.output.0");
        let _written = writeln!(
            text,
            "- {{code: operators-inaccurate, where: {place}, reason: approximation, owner: ann, expires: 2027-01-01}}"
        );
        text
    });
    let result = pair(&of_many(&table), &of_many(&wrong), &waivers);
    assert_eq!(result.verdict, Verdict::Fail, "nothing accepts what the last one does");
    assert_eq!(row(&result), Some("Functional.gelu.59.forward.output.0"));
    let inaccurate = result.findings.iter().filter(|finding| finding.code == "operators-inaccurate");
    assert_eq!(inaccurate.count(), 2, "what follows from an accepted operator is accepted with it");
}

#[test]
fn a_cut_or_foreign_table_is_damage_wherever_it_ends() {
    let table = details("gelu-2-percent", "gpu");
    let start = table.find('\n').expect("a header") + 1;
    for end in (start..table.len() - 2).step_by(97) {
        let Some(cut) = table.get(..end) else { continue };
        let result = pair(&table, cut, "");
        assert_eq!(result.verdict, Verdict::Incomplete, "cut at {end}");
        assert!(result.culprit.is_none(), "cut at {end}");
    }
    let text = table.as_bytes();
    for end in 0..200 {
        let read = read_details(&MemorySource::new("cut", text[..end].to_vec())).expect("a table");
        assert!(read.rows.is_empty());
        assert!(
            matches!(read.damage, Some(OperatorDamage::Empty | OperatorDamage::Header)),
            "{end}: {:?}",
            read.damage
        );
    }
}

#[test]
fn several_tables_pair_by_folder_and_time() {
    let (good, bad) = (details("gelu-2-percent", "gpu"), details("gelu-2-percent", "npu"));
    let name = |rank: u64, second: u64| format!("rank{rank}/accuracy_checking_details_202611221230{second:02}.csv");
    let side = |second: u64, table: [&str; 2]| folder(&[(&name(0, second), table[0]), (&name(1, second), table[1])]);
    let result = judge(side(10, [&good, &good]).path(), side(20, [&good, &bad]).path(), "");
    let units: Vec<(Option<u64>, Verdict)> = operators(&result.checks).map(|unit| (unit.rank, unit.verdict)).collect();
    assert_eq!(units, [(Some(0), Verdict::Pass), (Some(1), Verdict::Fail)]);
    assert_eq!(result.culprit.as_ref().and_then(|culprit| culprit.rank), Some(1));
    let alone = folder(&[(&name(0, 20), &good)]);
    let result = judge(side(10, [&good, &good]).path(), alone.path(), "");
    assert_eq!(result.verdict, Verdict::Incomplete);
    assert!(has(&result, "operators-missing"));
}

#[test]
fn tables_of_results_add_operators_without_details() {
    let table = details("ok-fp32", "gpu");
    let results = "API name,Forward Test Success,Backward Test Success,Message\r\n";
    let side = |rows: &str| {
        folder(&[(DETAILS, &table), ("accuracy_checking_result_20261122123045.csv", &format!("{results}{rows}"))])
    };
    let judged = |ours: &str, theirs: &str| judge(side(ours).path(), side(theirs).path(), "");
    assert_eq!(judged("Torch.new.0,pass, \r\n", "Torch.new.0,pass, \r\n").verdict, Verdict::Pass);
    assert_eq!(row(&judged("Torch.new.0,pass,pass\r\n", "Torch.new.0,pass,error\r\n")), Some("Torch.new.0"));
    assert_eq!(judged("Torch.new.0,error,pass\r\n", "Torch.new.0,error,pass\r\n").verdict, Verdict::Pass);
    assert_eq!(judged("", "Torch.new.0,pass,pass\r\n").verdict, Verdict::Incomplete);
    assert_eq!(judged("Torch.new.0,pass,pass\r\n", "").verdict, Verdict::Incomplete);
    assert_eq!(
        row(&judged("Functional.gelu.0,pass,pass\r\n", "Functional.gelu.0,error,pass\r\n")),
        Some("Functional.gelu.0")
    );
    let cut =
        read_results(&MemorySource::new("cut", format!("{results}Torch.new.0,pa").into_bytes()), TableKind::Results);
    assert_eq!(cut.expect("a table").damage, Some(OperatorDamage::Cut { line: 2 }));
}

#[test]
fn tables_of_comparison_alone_prove_nothing() {
    let compared = cases().join("compare-result-only/npu");
    let result = judge(&compared, &compared, "");
    assert_eq!(result.verdict, Verdict::Incomplete);
    assert!(has(&result, "operators-nothing-checked"));
}

#[test]
fn random_damage_never_panics_and_never_hides_a_defect() {
    let (good, bad) = (details("gelu-2-percent", "gpu"), details("gelu-2-percent", "npu"));
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("small")
    };
    for _ in 0..60 {
        let mut bytes = bad.clone().into_bytes();
        for _ in 0..3 {
            let place = next(bytes.len());
            bytes[place] = b"\",\n\r \0z9\xff"[next(9)];
        }
        let (ours, theirs) = (folder(&[(DETAILS, &good)]), TempDir::new().expect("a folder"));
        fs::write(theirs.path().join(DETAILS), bytes).expect("written");
        let result = judge(ours.path(), theirs.path(), "");
        assert!(result.verdict > Verdict::Warn, "{:?}", result.findings);
    }
}

#[test]
fn what_a_run_computed_goes_before_what_was_tested_alone() {
    let dump = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/monitor/loss-scale-half-v1");
    let both = |side: &str| {
        let folder = TempDir::new().expect("a folder");
        copy(&dump.join(side), folder.path());
        copy(&cases().join("gelu-2-percent").join(side), folder.path());
        folder
    };
    let result = judge(both("gpu").path(), both("npu").path(), "");
    assert_eq!(result.culprit.as_ref().map(|culprit| culprit.check), Some(CheckId::Monitor));
    assert_eq!(unit(&result).culprit.as_ref().map(|culprit| culprit.tensor.as_str()), Some(GELU));
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&target).expect("made");
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// The holes of msprobe's tables: case, row (`None` for a row that one side lacks), and what it is.
const HOLES: [(&str, Option<&str>, &str); 6] = [
    ("softmax-nan", Some("Functional.softmax.0.forward.output.0"), "one NaN in the result of the NPU"),
    ("api-missing-in-baseline", None, "an operator that was never tested on the GPU"),
    ("api-missing-in-candidate", None, "an operator that was never tested on the NPU"),
    ("softmax-nan", Some("Functional.layer_norm.0.backward.output.2"), "16 elements, one of them near zero"),
    ("ok-fp32", Some("Tensor.masked_fill.0.forward.output.0"), "−inf of a mask on both sides"),
    ("gelu-2-percent", Some("Functional.gelu.0.backward.output.0"), "a gradient that is 2 % off and small"),
];

#[test]
fn the_page_shows_each_hole_as_it_is() {
    let mut table =
        "| what happened | row | `acc_check` | `api_precision_compare` | the gate |\n|---|---|---|---|---|\n"
            .to_owned();
    for (case, name, what) in HOLES {
        let outcome = judge_case(case);
        let [own, compared, gate, shown] = match name {
            Some(name) => {
                let rows = listing(&outcome);
                let row = rows.iter().find(|row| row["API Name"] == name).expect("the row");
                let rule = if row["Rule"].is_empty() { String::new() } else { format!(" (`{}`)", row["Rule"]) };
                [
                    row["Candidate Status"].clone(),
                    row["msprobe"].clone(),
                    format!("{}{rule}", row["Gate"]),
                    name.to_owned(),
                ]
            }
            None => {
                let finding =
                    outcome.result.findings.iter().find(|one| one.code == "operators-missing").expect("missing");
                let gate = format!("{} (`{}`)", outcome.result.verdict.as_str(), finding.code);
                ["—".to_owned(), "no row".to_owned(), gate, finding.place.clone()]
            }
        };
        writeln!(table, "| {what} | `{shown}` | {own} | {compared} | {gate} |").expect("text");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operators.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (start, end) = ("<!-- holes -->\n", "<!-- end of holes -->");
    let from = page.find(start).expect("the start of the table") + start.len();
    let to = page.find(end).expect("the end of the table");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, format!("{}{table}{}", &page[..from], &page[to..])).expect("written");
        return;
    }
    assert_eq!(&page[from..to], table, "UPDATE_DOCS=1 cargo test --locked --test all writes it");
}

#[test]
fn a_finding_says_by_how_much_an_output_is_off_and_what_that_looks_like() {
    let facts = |case: &str| {
        let result = judge_case(case).result;
        let finding = result.findings.iter().find(|finding| finding.code == "operators-inaccurate").expect("a finding");
        serde_json::to_value(&finding.facts).expect("JSON")
    };
    let rounded = facts("linear-bf16-products");
    assert_eq!((&rounded["rounding"], &rounded["failing"]), (&"bfloat16".into(), &"both".into()), "{rounded}");
    let factor = facts("gelu-2-percent");
    assert_eq!((&factor["pattern"], &factor["shape"]), (&"factor".into(), &"(2, 9, 32)".into()), "{factor}");
    assert!((factor["mean_rel"].as_f64().expect("a number") - 0.02).abs() < 1e-4, "{factor}");
}
