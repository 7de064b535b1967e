//! Dumps of other tools than msprobe, and arrays of no other check: judged as they are true, and never passed with less.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should; it says what it looked at"
)]

use crate::tokens::unmet;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use rayon::prelude::*;
use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;
use zip::write::SimpleFileOptions;

/// Beginnings of the names of cases.
const KINDS: [&str; 9] =
    ["sglang-", "hf-trace-", "inspect-", "atb-", "save-", "unknown-", "array-", "embedding-", "image-"];

/// Cases of the repository.
fn own() -> Vec<PathBuf> {
    cases(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tools"))
}

/// Cases beside the checkout; none where there are none.
fn shared() -> Vec<PathBuf> {
    cases(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/fixtures/tokens"))
}

fn cases(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root) else {
        println!("{} is not there: it was not looked at", root.display());
        return Vec::new();
    };
    let is_ours = |case: &PathBuf| {
        let name = case.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        KINDS.iter().any(|kind| name.starts_with(kind)) && !is_of_tokens(case)
    };
    let mut cases: Vec<PathBuf> = entries.flatten().map(|case| case.path()).filter(is_ours).collect();
    cases.sort();
    cases
}

fn truth(case: &Path) -> Value {
    let text = fs::read_to_string(case.join("case.json")).expect("a truth");
    serde_json::from_str::<Value>(&text).expect("JSON")["truth"].clone()
}

fn is_of_tokens(case: &Path) -> bool {
    case.join("case.json").is_file() && truth(case)["check"] == "tokens"
}

fn list(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// The result of comparing two folders.
fn judged(baseline: &Path, candidate: &Path, policy: &str) -> (Value, String) {
    let out = TempDir::new().expect("a folder");
    let mut command = Command::cargo_bin("precision-gate").expect("the program");
    command.arg("run").arg("--baseline").arg(baseline).arg("--candidate").arg(candidate);
    command.arg("--out").arg(out.path()).args(["--today", "2026-11-25"]);
    if !policy.is_empty() {
        fs::write(out.path().join("gate.yml"), policy).expect("a policy");
        command.arg("--config").arg(out.path().join("gate.yml"));
    }
    let output = command.output().expect("it runs");
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{candidate:?}: {}", String::from_utf8_lossy(&output.stderr));
    let result = fs::read_to_string(out.path().join("result.json")).expect("a result");
    let summary = fs::read_to_string(out.path().join("summary.md")).expect("a summary");
    (serde_json::from_str(&result).expect("JSON"), summary)
}

fn of_case(case: &Path) -> (Value, String) {
    judged(&case.join("gpu"), &case.join("npu"), "")
}

fn codes(result: &Value) -> Vec<String> {
    // Equal files are told as such.
    let counting = |one: &&Value| one["severity"] != "info" || one["code"] == "image-differs";
    let all = result["findings"].as_array().expect("findings").iter().filter(counting);
    all.map(|one| one["code"].as_str().expect("a code").to_owned()).collect()
}

fn squashed(text: &str) -> String {
    text.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect()
}

/// Everything in which a result is not what is true of its case.
fn faults(case: &Path) -> Vec<String> {
    let (truth, (result, summary)) = (truth(case), of_case(case));
    let told = codes(&result);
    let all_told: Vec<&str> = told.iter().map(String::as_str).collect();
    let mut faults = unmet::unmet(&truth, result["verdict"].as_str().unwrap_or_default(), &all_told);
    let units = |check: &Value| check["units"].as_array().is_some_and(|units| !units.is_empty());
    let checks = result["checks"].as_array().expect("checks");
    let read: Vec<&str> = checks.iter().filter(|check| units(check)).filter_map(|check| check["id"].as_str()).collect();
    let is_step_missing = all_told.contains(&"step-missing");
    if !read.iter().any(|check| list(&truth["check"]).iter().any(|wanted| wanted == check)) && !is_step_missing {
        faults.push(format!("read by {read:?}"));
    }
    // A check stands among what may not be there, too.
    let absent = list(&truth["absent"]).into_iter().filter(|absent| read.contains(&absent.as_str()));
    faults.extend(absent.map(|absent| format!("is read by {absent}")));
    if let Some(op) = truth["op"].as_str() {
        let culprit = result["culprit"]["op"].as_str().unwrap_or_default();
        if !squashed(culprit).contains(&squashed(op)) {
            faults.push(format!("culprit {culprit}, not {op}"));
        }
    }
    let all = result.to_string();
    for name in list(&truth["names"]) {
        if !all.contains(&name) {
            faults.push(format!("{name} is not named"));
        }
    }
    for (key, value) in truth["place"].as_object().into_iter().flatten() {
        if !all.contains(&format!("\"{key}\":{value}")) {
            faults.push(format!("{key} {value} is not told"));
        }
    }
    let text = format!("{summary}\n{all}");
    let says = |key: &str| truth[key].as_str().map(|pattern| Regex::new(pattern).expect("a pattern").is_match(&text));
    if says("says") == Some(false) || says("saysnot") == Some(true) {
        faults.push("says another thing".to_owned());
    }
    faults
}

#[test]
fn every_case_is_judged_as_it_is_true() {
    let all: Vec<PathBuf> = [own(), shared()].concat();
    let wrong: Vec<String> = all
        .par_iter()
        .map(|case| (case, faults(case)))
        .filter(|(_, faults)| !faults.is_empty())
        .map(|(case, faults)| format!("{}: {}", case.display(), faults.join("; ")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{} cases", all.len());
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        match entry.path() {
            folder if folder.is_dir() => copied(&folder, &to.join(entry.file_name())),
            file => drop(fs::copy(file, to.join(entry.file_name())).expect("a copy")),
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            folder if folder.is_dir() => found.extend(files(&folder)),
            file => found.push(file),
        }
    }
    found.sort();
    found
}

fn rank(verdict: &Value) -> u8 {
    match verdict.as_str() {
        Some("fail" | "incomplete") => 2,
        Some("warn") => 1,
        _ => 0,
    }
}

/// A candidate of a case, of which one file was changed.
fn changed(case: &Path, nth: usize, change: impl Fn(&Path)) -> Option<(TempDir, String)> {
    let room = TempDir::new().expect("a folder");
    copied(&case.join("npu"), room.path());
    let all = files(room.path());
    let file = all.get(nth)?;
    let name = file.strip_prefix(room.path()).expect("below").to_string_lossy().into_owned();
    change(file);
    Some((room, name))
}

fn cut(file: &Path) {
    let bytes = fs::read(file).expect("a file");
    fs::write(file, &bytes[..bytes.len() * 2 / 3]).expect("a cut");
}

/// A way of damaging a file, and its name.
type Change = (&'static str, fn(&Path));

#[test]
fn taking_away_and_cutting_improves_no_verdict() {
    let changes: [Change; 3] = [
        ("removed", |file| fs::remove_file(file).expect("gone")),
        ("cut", cut),
        ("emptied", |file| fs::write(file, "").expect("empty")),
    ];
    let tasks: Vec<(PathBuf, usize, usize)> = own()
        .into_iter()
        .flat_map(|case| {
            let last = files(&case.join("npu")).len() - 1;
            let mut places = vec![0, last / 2, last];
            places.dedup();
            places.into_iter().flat_map(move |place| {
                (0..3).map({
                    let case = case.clone();
                    move |change| (case.clone(), place, change)
                })
            })
        })
        .collect();
    let wrong: Vec<String> = tasks
        .par_iter()
        .filter_map(|(case, place, change)| {
            let (name, change) = changes[*change];
            let (room, file) = changed(case, *place, change)?;
            let (whole, less) = (of_case(case).0, judged(&case.join("gpu"), room.path(), "").0);
            let better = rank(&less["verdict"]) < rank(&whole["verdict"]);
            let unsaid = rank(&less["verdict"]) < 2;
            (better || unsaid).then(|| format!("{}: {file} {name}: {}", case.display(), less["verdict"]))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn damage_is_incomplete_and_names_its_file() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tools");
    for (case, code) in [
        ("atb-ok", "record-unreadable"),
        ("hf-trace-scaled", "artifact-damaged"),
        ("inspect-scaled", "record-unreadable"),
        ("image-ok", "artifact-damaged"),
        ("array-ok", "artifact-damaged"),
        ("array-ok-members", "artifact-damaged"),
        ("unknown-dump-ok", "record-unreadable"),
        ("save-npy-ok", "record-unreadable"),
    ] {
        let case = root.join(case);
        let (room, file) = changed(&case, 0, cut).expect("a file");
        let (result, _) = judged(&case.join("gpu"), room.path(), "");
        let finding = result["findings"].as_array().expect("findings").iter().find(|one| {
            one["where"].as_str().is_some_and(|place| place.contains(&file)) && one["severity"] == "incomplete"
        });
        let told = result["findings"].to_string();
        assert!(finding.is_some(), "{}: {file} is not told: {told}", case.display());
        assert!(codes(&result).contains(&code.to_owned()), "{}: {told}", case.display());
        assert!(rank(&result["verdict"]) == 2, "{}", case.display());
    }
}

/// Bytes of an array of NumPy.
fn npy(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(header.len()).expect("short").to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(bytes);
    file
}

fn floats(numbers: &[f32], shape: &str) -> Vec<u8> {
    npy("<f4", shape, &numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>())
}

/// The result of comparing one file of each side.
fn pair(name: &str, baseline: &[u8], candidate: &[u8], policy: &str) -> Value {
    let room = TempDir::new().expect("a folder");
    for (side, bytes) in [("gpu", baseline), ("npu", candidate)] {
        fs::create_dir(room.path().join(side)).expect("a folder");
        fs::write(room.path().join(side).join(name), bytes).expect("a file");
    }
    judged(&room.path().join("gpu"), &room.path().join("npu"), policy).0
}

fn wave(count: usize) -> Vec<f32> {
    (0..count).map(|place| ((place * 7) as f32 * 0.618_034).fract() - 0.5).collect()
}

#[test]
fn each_rule_of_arrays_has_its_code() {
    let ours = wave(64);
    let with = |change: &dyn Fn(usize, f32) -> f32| -> Vec<f32> {
        ours.iter().enumerate().map(|(place, number)| change(place, *number)).collect()
    };
    let of =
        |theirs: &[f32], policy: &str| pair("out.npy", &floats(&ours, "(8, 8)"), &floats(theirs, "(8, 8)"), policy);
    for (theirs, policy, code, verdict) in [
        (with(&|_, number| number * 1.0002), "", "array-drifts", "warn"),
        (with(&|_, number| number * 1.0002), "profile: strict\n", "array-differs", "fail"),
        (with(&|_, number| number * 1.01), "", "array-differs", "fail"),
        (with(&|_, number| number * 1.000_000_1), "profile: bit-exact\n", "array-not-bit-exact", "fail"),
        (with(&|place, number| if place == 9 { f32::NAN } else { number }), "", "array-non-finite-differs", "fail"),
    ] {
        let result = of(&theirs, policy);
        assert_eq!((codes(&result)[0].as_str(), result["verdict"].as_str()), (code, Some(verdict)));
    }
    assert!(codes(&of(&ours, "")).is_empty());
    let shape = pair("out.npy", &floats(&ours, "(8, 8)"), &floats(&ours, "(64,)"), "");
    assert!(codes(&shape).contains(&"array-shape-differs".to_owned()) && shape["verdict"] == "fail");
    let empty = pair("out.npy", &floats(&[], "(0, 8)"), &floats(&[], "(0, 8)"), "");
    assert!(codes(&empty).contains(&"array-not-compared".to_owned()) && empty["verdict"] == "incomplete");
    let half =
        pair("out.npy", &npy("<i8", "(1,)", &1_i64.to_le_bytes()), &npy("<i8", "(1,)", &2_i64.to_le_bytes()), "");
    assert!(codes(&half).contains(&"array-differs".to_owned()), "integers have no rounding");
}

#[test]
fn rows_of_embeddings_are_judged_by_angle_and_length() {
    let ours = wave(160);
    let rows = |change: &dyn Fn(usize) -> Vec<f32>| -> Vec<f32> { (0..20).flat_map(change).collect() };
    let row = |place: usize| ours[place * 8..place * 8 + 8].to_vec();
    let of = |name: &str, theirs: &[f32], policy: &str| {
        pair(name, &floats(&ours, "(20, 8)"), &floats(theirs, "(20, 8)"), policy)
    };
    let longer = rows(&|place| row(place).iter().map(|number| number * 2.0).collect());
    let reversed = rows(&|place| row(19 - place));
    let swapped = rows(&|place| {
        row(match place {
            3 => 11,
            11 => 3,
            other => other,
        })
    });
    for (theirs, code) in
        [(&longer, "array-norm-differs"), (&reversed, "array-rows-permuted"), (&swapped, "array-rows-differ")]
    {
        let named = of("text_emb.npy", theirs, "");
        assert_eq!((codes(&named), named["verdict"].as_str()), (vec![code.to_owned()], Some("fail")));
        let declared = of("out.npy", theirs, "arrays: {embeddings: [\"out*\"]}\n");
        assert_eq!(codes(&declared), [code]);
        assert_eq!(codes(&of("out.npy", theirs, "")), ["array-differs"]);
    }
    let result = of("features.npy", &swapped, "");
    let unit =
        result["checks"].as_array().expect("checks").iter().find(|check| check["id"] == "arrays").expect("the check");
    assert_eq!(unit["units"][0]["rows"], serde_json::json!([3, 11]));
    assert!(unit["units"][0]["neighbours"].as_f64().expect("a share") < 1.0);
}

#[test]
fn pictures_are_judged_where_the_policy_says_so() {
    let picture = |shift: u8| {
        let pixels: Vec<u8> = (0..64_u8).flat_map(|place| [place + shift, 2 * place, 255 - 3 * place]).collect();
        npy("|u1", "(8, 8, 3)", &pixels)
    };
    assert!(codes(&pair("x.npy", &picture(0), &picture(1), "")).is_empty());
    let wrong = pair("x.npy", &picture(0), &picture(90), "");
    assert_eq!((codes(&wrong), wrong["verdict"].as_str()), (vec!["image-differs".to_owned()], Some("fail")));
    let warned = pair("x.npy", &picture(0), &picture(7), "");
    assert_eq!((codes(&warned), warned["verdict"].as_str()), (vec!["image-differs".to_owned()], Some("warn")));
    let shown = pair("x.npy", &picture(0), &picture(90), "arrays: {images: shown}\n");
    assert_eq!(shown["verdict"], "incomplete", "what is shown carries no verdict");
}

fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (nth, (name, bytes)) in members.iter().enumerate() {
        let stored = if nth == 0 { zip::CompressionMethod::Stored } else { zip::CompressionMethod::Deflated };
        writer.start_file(*name, SimpleFileOptions::default().compression_method(stored)).expect("a member");
        writer.write_all(bytes).expect("bytes");
    }
    writer.finish().expect("an archive").into_inner()
}

#[test]
fn members_of_one_side_and_members_without_numbers_are_told() {
    let (ours, text) = (wave(12), npy("<U1", "(1,)", &[65, 0, 0, 0]));
    let member = |name: &'static str| (name, floats(&ours, "(3, 4)"));
    let whole = archive(&[member("a.npy"), member("b.npy")]);
    assert!(codes(&pair("x.npz", &whole, &whole, "")).is_empty());
    let less = pair("x.npz", &whole, &archive(&[member("a.npy")]), "");
    assert_eq!((codes(&less), less["verdict"].as_str()), (vec!["array-missing".to_owned()], Some("incomplete")));
    assert_eq!(less["findings"][0]["where"], "x.npz:b");
    let left_out = pair("x.npz", &whole, &archive(&[member("a.npy")]), "arrays: {ignore: [\"*:b\"]}\n");
    assert!(!codes(&left_out).contains(&"array-missing".to_owned()));
    let unread = pair("x.npz", &whole, &archive(&[member("a.npy"), ("b.npy", text)]), "");
    assert!(codes(&unread).contains(&"array-unread".to_owned()) && unread["verdict"] == "incomplete");
}

#[test]
fn wrong_keys_of_the_policy_are_told_with_their_line() {
    for (policy, told) in [
        ("arrays: {images: no}\n", "gate.yml:1:"),
        ("profile: strict\narrays:\n  image: shown\n", "gate.yml:3:"),
        ("profile: strict\narrays: {embeddings: [\"[\"]}\n", "gate.yml:2:"),
    ] {
        let room = TempDir::new().expect("a folder");
        fs::write(room.path().join("gate.yml"), policy).expect("a policy");
        let mut command = Command::cargo_bin("precision-gate").expect("the program");
        command.current_dir(room.path()).args(["run", "--baseline", ".", "--candidate", ".", "--config", "gate.yml"]);
        let output = command.output().expect("it runs");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{policy}: {error}");
        assert!(error.contains(told), "{policy}: {error}");
    }
}
