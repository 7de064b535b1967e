//! Summary, levels, rows and exceptions are those of the real tool, in every case.

use precision_gate::msprobe::table::{Cell, MsprobeTable};
use serde_json::Value;

use crate::config::common::{cases, expected, run};

/// Sheets whose rows the real tool writes in an order drawn anew for each process.
const UNORDERED: [&str; 2] = ["weights", "random"];

#[test]
fn every_case_has_the_rows_and_levels_of_the_real_tool() {
    let (mut rows, mut sheets) = (0, 0);
    let cases = cases();
    assert_eq!(cases.len(), 68);
    for case in &cases {
        let expected = expected(case);
        let Ok(outcome) = run(case, "{}") else {
            assert_eq!(case, "bad-file-missing");
            continue;
        };
        let items = &outcome.result.checks[0].items;
        for (checker, level) in expected["summary"].as_object().unwrap() {
            let item = items.iter().find(|item| item.name == *checker).unwrap_or_else(|| panic!("{case} {checker}"));
            assert_eq!(item.msprobe.as_deref(), level.as_str(), "{case} {checker}");
        }
        for (name, sheet) in expected["sheets"].as_object().unwrap() {
            let table = outcome.tables.iter().find(|table| table.sheet == *name);
            if name == "summary" && table.is_none() {
                assert_eq!(sheet["rows"].as_array().unwrap().len(), 0, "{case}");
                continue;
            }
            let table = table.unwrap_or_else(|| panic!("{case} {name}"));
            // Where the run broke off, the sheets before it stand; the checkers after it are ours alone.
            rows += check_sheet(case, table, sheet);
            sheets += 1;
        }
        if expected["exit_code"] == 0 && case != "bad-empty-archive" {
            let named = expected["summary"].as_object().unwrap().len();
            assert_eq!(items.iter().filter(|item| item.msprobe.is_some()).count(), named, "{case}");
        }
    }
    println!("{} cases, {sheets} sheets, {rows} rows", cases.len());
    assert_eq!(rows, 1711);
}

fn check_sheet(case: &str, table: &MsprobeTable, sheet: &Value) -> usize {
    let columns: Vec<&str> =
        sheet["columns"].as_array().unwrap().iter().map(|column| column.as_str().unwrap()).collect();
    assert_eq!(table.columns, columns, "{case} {}", table.sheet);
    let mut wanted: Vec<Vec<String>> = sheet["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row.as_array().unwrap().iter().map(text).collect())
        .collect();
    let mut found: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(Cell::text).map(|text| canonical(&text)).collect()).collect();
    if UNORDERED.contains(&table.sheet.as_str()) {
        wanted.sort();
        found.sort();
    }
    assert_eq!(found, wanted, "{case} {}", table.sheet);
    wanted.len()
}

/// A cell as the sheet reads back, where 0.0 has become 0.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(value) => if *value { "True" } else { "False" }.into(),
        Value::String(text) => canonical(text),
        number => canonical(&number.to_string()),
    }
}

/// Numbers in one spelling, with the sixteen digits that a workbook holds.
fn canonical(text: &str) -> String {
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    text.parse::<f64>()
        .ok()
        .filter(|_| numeric)
        .map_or_else(|| text.to_owned(), |value| format!("{:.15e}", value + 0.0))
}

#[test]
fn every_exception_of_the_real_tool_is_named() {
    let mut counted = 0;
    for case in cases() {
        let expected = expected(&case);
        if expected["exit_code"] == 0 {
            continue;
        }
        counted += 1;
        let kind = expected["error"]["type"].as_str().unwrap().rsplit('.').next().unwrap().to_owned();
        match run(&case, "{}") {
            Ok(outcome) => {
                let items = &outcome.result.checks[0].items;
                let kinds: Vec<&str> = items.iter().filter_map(|item| item.msprobe_error.as_deref()).collect();
                assert!(!kinds.is_empty() && kinds.iter().all(|found| *found == kind), "{case}: {kinds:?}, not {kind}");
                let failed = items.iter().filter(|item| item.msprobe.as_deref() == Some("failed")).count();
                assert_eq!(failed == 0, !expected["summary"].as_object().unwrap().is_empty(), "{case}");
            }
            Err(error) => {
                // The pack is not there: the gate ends like the real tool, before any checker.
                assert_eq!((case.as_str(), kind.as_str()), ("bad-file-missing", "FileCheckException"), "{error}");
            }
        }
    }
    assert_eq!(counted, 12);
}
