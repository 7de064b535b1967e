//! Every character that text can hold, through every writer: what is made stays well-formed, and nothing in it hides,
//! reorders or becomes a formula.

use std::fs;
use std::io::Read;

use precision_gate::msprobe::table::{Cell, MsprobeTable};
use precision_gate::output::{DocumentSet, Output};
use precision_gate::report::folder::{FolderOptions, ReportFolder};
use precision_gate::report::messages::Language;
use precision_gate::report::sink::Sink;
use precision_gate::report::terminal::TerminalDetail;
use precision_gate::report::{annotations, code_quality, escape, issue, junit, metrics, sarif, terminal};
use precision_gate::result::GateResult;
use precision_gate::result::load;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::output::support::reference;

/// Characters of one name.
const CHUNK: usize = 1024;

fn scalars() -> impl Iterator<Item = char> {
    '\0'..=char::MAX
}

/// All characters, in names of equal length that start with their number.
fn chunks() -> Vec<String> {
    let all: Vec<char> = scalars().collect();
    let name = |(index, part): (usize, &[char])| format!("n{index} {}", part.iter().collect::<String>());
    all.chunks(CHUNK).enumerate().map(name).collect()
}

/// A result with a unit, and a finding, for each of the names.
fn result() -> GateResult {
    let text = String::from_utf8(reference("npu")["result.json"].clone()).expect("UTF-8");
    let mut made: Value = serde_json::from_str(&text).expect("JSON");
    let checks = made["checks"].as_array_mut().expect("checks");
    let loss = checks.iter_mut().find(|check| check["id"] == "loss").expect("a loss check");
    let unit = loss["units"][0].clone();
    let named = |name: &String| {
        let mut unit = unit.clone();
        unit["metric"] = json!(name);
        unit
    };
    loss["units"] = chunks().iter().map(named).collect();
    let finding = |name: &String| {
        json!({"check": "loss", "severity": "fail", "code": name, "where": name, "message": name,
               "facts": {"unit": name}, "help": name})
    };
    made["findings"] = chunks().iter().map(finding).collect();
    made["waived"] =
        json!([{"finding": finding(&"x".into()), "waiver": "v", "reason": chunks()[0], "owner": "o", "expires": "e"}]);
    load::parse("result.json", &made.to_string()).expect("still a result")
}

/// Characters that no document shows, whatever holds it.
fn is_hidden(character: char) -> bool {
    let code = u32::from(character);
    let is_no_character = (0xfdd0..=0xfdef).contains(&code) || code & 0xfffe == 0xfffe;
    let is_bidi =
        matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_space = matches!(character, '\n' | '\t');
    is_no_character || is_bidi || (character.is_control() && !is_space)
}

fn hides_nothing(what: &str, text: &str) {
    let found: Vec<u32> = text.chars().filter(|character| is_hidden(*character)).map(u32::from).take(9).collect();
    assert!(found.is_empty(), "{what} holds {found:x?}");
}

/// Every text of JSON, as its reader sees it.
fn texts(value: &Value, seen: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => seen(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, seen)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, seen)),
        _ => {}
    }
}

#[test]
fn documents_for_systems_hold_every_name() {
    let result = result();
    let issues =
        issue::all_issues(&result, &issue::IssueOptions { language: Language::En, source_root: None }).expect("issues");
    let xml = junit::render(&result, &issues, &[]).expect("renders");
    hides_nothing("junit.xml", &xml);
    let options = roxmltree::ParsingOptions { nodes_limit: u32::MAX, ..Default::default() };
    let parsed = roxmltree::Document::parse_with_options(&xml, options).expect("well-formed");
    let cases = parsed.descendants().filter(|node| node.has_tag_name("testcase")).count();
    assert!(cases >= chunks().len(), "{cases} cases");
    for (name, text) in [
        ("sarif.json", sarif::render(&result, &issues).expect("renders")),
        ("gl-code-quality.json", code_quality::render(&issues).expect("renders")),
    ] {
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let mut count = 0;
        texts(&value, &mut |text| {
            hides_nothing(name, text);
            count += text.chars().count();
        });
        assert!(count > 900_000, "{name}: {count} characters");
    }
    let text = metrics::render(&result);
    hides_nothing("metrics.txt", &text);
    assert!(text.lines().all(|line| line.starts_with("# ") || line.starts_with("precision_gate_")));
}

#[test]
fn the_terminal_and_a_runners_log_show_every_name() {
    let result = result();
    let options =
        terminal::TerminalOptions { language: Language::En, colour: false, report: "out", detail: TerminalDetail::All };
    hides_nothing("the terminal", &terminal::render(&result, &options).expect("renders"));
    let issues =
        issue::all_issues(&result, &issue::IssueOptions { language: Language::En, source_root: None }).expect("issues");
    for line in annotations::render(&result, &issues, Language::En).expect("renders") {
        hides_nothing("an annotation", &line);
    }
    let all: String = scalars().collect();
    let cleaned = escape::cleaned(&all);
    hides_nothing("a line", &cleaned);
    assert!(!cleaned.contains(['\n', '\r', '\t', '\u{2028}', '\u{2029}']), "it is one line");
    // What people write with stays: letters of every script, emoji and the selectors of their variants.
    let kept = |text: &str| assert_eq!(escape::cleaned(text), text);
    ["a\u{fe0f}b", "❌ ⚠️", "标杆", "é", "\u{e0100}", "עברית", "العربية"].into_iter().for_each(kept);
}

/// Tables through the folder, as a run writes them.
fn written(table: MsprobeTable, xlsx: bool) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let out = ReportFolder::new(
        Output::begin(&folder.path().join("out"), DocumentSet::Run).expect("begun"),
        FolderOptions { xlsx, ..FolderOptions::default() },
    );
    out.table(table.into()).expect("written");
    out.finish().expect("finished").output.commit().expect("committed");
    folder
}

fn table(cells: Vec<Cell<'static>>, columns: usize) -> MsprobeTable {
    let rows: Vec<Vec<Cell<'static>>> = cells.chunks(columns).map(<[Cell<'static>]>::to_vec).collect();
    let columns = (0..columns).map(|index| format!("c{index}")).collect();
    MsprobeTable { name: "compare_result_step0".into(), sheet: "s".into(), columns, rows }
}

#[test]
fn no_cell_of_a_table_becomes_a_formula() {
    let columns = 256;
    let cells: Vec<Cell<'static>> = scalars().map(|character| Cell::from(format!("{character}=1+1"))).collect();
    let folder = written(table(cells, columns), false);
    let file = fs::File::open(folder.path().join("out/compare_result_step0.csv")).expect("written");
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(file);
    let mut cells = Vec::new();
    for row in reader.records() {
        cells.extend(row.expect("a row").iter().map(str::to_owned));
    }
    assert_eq!(cells.len(), scalars().count(), "a cell ended early");
    for (cell, character) in cells.iter().zip(scalars()) {
        assert_eq!(cell.trim_start_matches('\''), format!("{character}=1+1").trim_start_matches('\''));
        let seen = cell.trim_start_matches(|c: char| c.is_whitespace() || c.is_control() || is_hidden(c));
        let is_formula = seen.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
        assert!(!is_formula && !cell.starts_with(['\t', '\r', '\n']), "U+{:04X}: {cell:?}", u32::from(character));
    }
}

#[test]
fn a_workbook_holds_every_character_and_no_formula() {
    let mut cells: Vec<Cell<'static>> = chunks().into_iter().map(Cell::from).collect();
    cells.extend(["=1", "\t=1", "\r1", " @x", "＝1"].map(Cell::from));
    let folder = written(table(cells, 1), true);
    let file = fs::File::open(folder.path().join("out/compare_result_step0.xlsx")).expect("written");
    let mut book = zip::ZipArchive::new(file).expect("a workbook");
    let mut parts = 0;
    for index in 0..book.len() {
        let mut xml = String::new();
        let mut part = book.by_index(index).expect("a part");
        part.read_to_string(&mut xml).expect("UTF-8");
        let name = part.name().expect("a name").into_owned();
        let parsed = roxmltree::Document::parse(&xml).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!parsed.descendants().any(|node| node.has_tag_name("f")), "{name} has a formula");
        for text in parsed.descendants().filter(|node| node.is_text()).filter_map(|node| node.text()) {
            assert!(!text.starts_with(['=', '@', '＝', '\t', '\r']), "{name}: {text:?}");
        }
        parts += 1;
    }
    assert!(parts > 5, "{parts} parts");
}
