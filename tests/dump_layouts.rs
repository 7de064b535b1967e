//! Dumps of two runs that cut the same model differently: put together, judged, and never passed with a rank less.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that indexes beyond what is there fails, as it should; it says what it looked at"
)]

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assert_cmd::Command;
use precision_gate::fetch::local::LocalFile;
use precision_gate::read::tensor_file;
use rayon::prelude::*;
use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;

/// Sizes of a layout that a dump shows.
const SIZES: [&str; 5] = ["tp", "pp", "dp", "cp", "ep"];

/// Cases of the repository, each with its folder of both sides; packed ones are unpacked into `room`.
fn own(room: &Path) -> Vec<(PathBuf, PathBuf)> {
    cases(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/layouts"), room)
}

/// Cases beside the checkout, unpacked into `room`; none where there are none.
fn shared(room: &Path) -> Vec<(PathBuf, PathBuf)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/fixtures/layouts");
    if !root.exists() {
        println!("no shared fixtures beside the checkout: they were not looked at");
        return Vec::new();
    }
    cases(&root, &room.join("shared"))
}

/// The cases of dumps below `root`, by name.
fn cases(root: &Path, room: &Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = fs::read_dir(root).expect("fixtures").flatten();
    let mut cases: Vec<PathBuf> = entries.map(|case| case.path()).filter(|case| is_of_dumps(case)).collect();
    cases.sort();
    cases.into_par_iter().map(|case| (case.clone(), unpacked(&case, room))).collect()
}

/// The folder of a case's sides.
fn unpacked(case: &Path, room: &Path) -> PathBuf {
    let Ok(packed) = File::open(case.join("sides.tar.xz")) else { return case.to_path_buf() };
    let sides = room.join(case.file_name().expect("a name"));
    tar::Archive::new(lzma_rust2::XzReader::new(BufReader::new(packed), false)).unpack(&sides).expect("unpacked");
    sides
}

/// A case of the repository that is not packed.
fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/layouts").join(name)
}

fn truth(case: &Path) -> Value {
    let text = fs::read_to_string(case.join("case.json")).unwrap_or_else(|_| "{}".to_owned());
    serde_json::from_str(&text).expect("JSON")
}

fn is_of_dumps(case: &Path) -> bool {
    truth(case)["check"] == "dump"
}

/// The result of comparing both sides, with the case's policy.
fn judged(case: &Path, sides: &Path) -> Value {
    let out = TempDir::new().expect("a folder");
    let mut command = Command::cargo_bin("precision-gate").expect("the program");
    command.arg("run").arg("--baseline").arg(sides.join("gpu")).arg("--candidate").arg(sides.join("npu"));
    command.arg("--out").arg(out.path());
    let policy = case.join("precision-gate.yml");
    if policy.exists() {
        command.arg("--config").arg(policy);
    }
    let output = command.output().expect("ran");
    let text = fs::read_to_string(out.path().join("result.json")).unwrap_or_else(|_| {
        panic!("{}: {}", case.display(), String::from_utf8_lossy(&output.stderr));
    });
    serde_json::from_str(&text).expect("JSON")
}

fn listed(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Reason why a result is not what is true of its case.
fn fault(case: &Path, result: &Value) -> Option<String> {
    let name = case.file_name()?.to_string_lossy().into_owned();
    let spec = truth(case);
    let truth = &spec["truth"];
    let verdict = result["verdict"].as_str()?;
    if !listed(&truth["verdict"]).contains(&verdict) {
        return Some(format!("{name}: {verdict}, not {}", truth["verdict"]));
    }
    let units = result["checks"].as_array()?.iter().flat_map(|check| check["units"].as_array().into_iter().flatten());
    let compared: u64 = units.filter_map(|unit| unit["compared"].as_u64()).sum();
    if compared < truth["min_compared"].as_u64().unwrap_or_default() {
        return Some(format!("{name}: {compared} values compared, not {}", truth["min_compared"]));
    }
    let codes: Vec<&str> =
        result["findings"].as_array()?.iter().filter_map(|finding| finding["code"].as_str()).collect();
    let wanted = listed(&truth["codes"]);
    if !wanted.is_empty() {
        return (!wanted.iter().any(|code| codes.contains(code))).then(|| format!("{name}: {codes:?}, not {wanted:?}"));
    }
    for side in ["baseline", "candidate"] {
        for size in SIZES {
            let (told, is) = (&result["layout"][side][size], &truth["layout"][side][size]);
            if told != is {
                return Some(format!("{name}: {size} of the {side} is {told}, not {is}"));
            }
        }
    }
    if truth["culprit"].is_null() { None } else { misplaced(&name, &truth["culprit"], result) }
}

/// Reason why the culprit is not the one that is true.
fn misplaced(name: &str, truth: &Value, result: &Value) -> Option<String> {
    let culprit = &result["culprit"];
    let op = culprit["op"].as_str().unwrap_or_default();
    let local = Regex::new(r"^Module\.(.+?)\.\w+\.(?:forward|backward|parameters_grad)\b").expect("an expression");
    let of_op = local.captures(op).and_then(|found| found.get(1)).map_or("", |found| found.as_str());
    let module = culprit["layout"]["module"].as_str().unwrap_or(of_op);
    let is_one = |patterns: &Value, text: &str| {
        listed(patterns).iter().any(|pattern| Regex::new(pattern).expect("an expression").is_match(text))
    };
    if !is_one(&truth["modules"], module) && !is_one(&truth["ops"], op) {
        return Some(format!("{name}: culprit {op} in {module}"));
    }
    let ranks = culprit["layout"]["ranks"].as_array().cloned().unwrap_or_default();
    let mut ranks = ranks.iter().chain([&culprit["rank"]]);
    if !ranks.any(|rank| truth["ranks"].as_array().is_some_and(|wanted| wanted.contains(rank))) {
        return Some(format!("{name}: ranks of the culprit are {}", culprit["layout"]["ranks"]));
    }
    let causes = listed(&truth["causes"]);
    let cause = result["diagnoses"][0]["cause"].as_str().unwrap_or_default();
    (!causes.is_empty() && !causes.contains(&cause)).then(|| format!("{name}: cause {cause}, not {causes:?}"))
}

#[test]
fn values_of_ranks_are_put_together_and_judged_right() {
    let room = TempDir::new().expect("a folder");
    let cases: Vec<_> = own(room.path()).into_iter().chain(shared(room.path())).collect();
    let faults: Vec<String> = cases.par_iter().filter_map(|(case, sides)| fault(case, &judged(case, sides))).collect();
    println!("{} cases were looked at", cases.len());
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Copies a folder.
fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// Rank folders of a side.
fn ranks(side: &Path) -> Vec<PathBuf> {
    let below = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    below(side.to_path_buf()).flat_map(below).filter(|path| path.is_dir()).collect()
}

#[test]
fn a_rank_less_is_never_a_pass() {
    let unpacked = TempDir::new().expect("a folder");
    let benign = own(unpacked.path()).into_iter().filter(|(case, _)| truth(case)["truth"]["benign"] == true);
    let mut seen = 0;
    for (case, sides) in benign {
        for side in ["gpu", "npu"] {
            for rank in ranks(&sides.join(side)) {
                let room = TempDir::new().expect("a folder");
                copied(&sides, room.path());
                let below = rank.strip_prefix(&sides).expect("below");
                fs::remove_dir_all(room.path().join(below)).expect("removed");
                let result = judged(&case, room.path());
                assert_ne!(result["verdict"], "pass", "{} without {}", case.display(), below.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "{seen} ranks were taken away");
}

#[test]
fn a_layout_that_is_not_there_is_said() {
    let case = fixture("ok-tp2-cp2-pp2");
    let room = TempDir::new().expect("a folder");
    for (declared, code) in [
        ("candidate: {tp: 4, cp: 2, pp: 2}", "layout-ranks-missing"),
        ("candidate: {tp: 2, cp: 2}", "layout-contradicted"),
        ("candidate: {tp: 2, cp: 4}", "layout-contradicted"),
    ] {
        fs::write(room.path().join("precision-gate.yml"), format!("layout:\n  {declared}\n")).expect("written");
        let result = judged(room.path(), &case);
        let codes: Vec<&str> = result["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .filter_map(|finding| finding["code"].as_str())
            .collect();
        assert!(codes.contains(&code), "{declared}: {codes:?}");
        assert_eq!(result["verdict"], "incomplete", "{declared}");
    }
}

#[test]
fn layouts_and_what_they_do_to_a_dump_are_told() {
    let room = TempDir::new().expect("a folder");
    let cases: Vec<_> = own(room.path()).into_iter().chain(shared(room.path())).collect();
    for (name, code) in [
        ("ok-dp2-against-micro2", "layout-differs"),
        ("no-data-reduce-dp2", "layout-inferred"),
        ("no-tp2-md5", "layout-not-mergeable"),
        ("equal-tp2-backward-reduce", "missing-collective"),
        ("padding-in-loss-tp4", "padding"),
        ("same-mask-tp2-tensor", "same-mask"),
        ("cp-position-rank1", "wrong-positions"),
        ("kv-order-rank1-tensor", "wrong-split"),
    ] {
        let Some((case, sides)) = cases.iter().find(|(case, _)| case.ends_with(name)) else {
            println!("{name} is not beside the checkout: it was not looked at");
            continue;
        };
        let result = judged(case, sides);
        let codes = result["findings"].as_array().expect("findings").iter().map(|finding| &finding["code"]);
        let causes = result["diagnoses"].as_array().expect("diagnoses").iter().map(|one| &one["cause"]);
        assert!(codes.chain(causes).any(|told| told == code), "{name} says nothing of {code}");
    }
}

/// Takes from a dump what tells its tensor parallelism: the shape of the projection behind attention, equal tokens, and collectives.
fn without_signs(file: &Path) {
    let mut dump: Value = serde_json::from_str(&fs::read_to_string(file).expect("a dump")).expect("JSON");
    let data = dump["data"].as_object_mut().expect("operations");
    data.retain(|name, _| !name.starts_with("Distributed."));
    let rank = file.parent().expect("a rank").to_string_lossy().chars().last().and_then(|rank| rank.to_digit(10));
    for (name, operation) in data.iter_mut() {
        if name.contains("word_embeddings") && name.contains(".forward.") {
            operation["input_args"][0]["Mean"] = rank.into();
        }
        if name.contains("linear_proj") && name.contains(".forward.") {
            operation["parameters"]["weight"]["shape"][0] = 20.into();
        }
    }
    fs::write(file, dump.to_string()).expect("written");
}

#[test]
fn parts_of_an_unknown_layout_are_not_compared() {
    let room = TempDir::new().expect("a folder");
    let Some((_, sides)) = shared(room.path()).into_iter().find(|(case, _)| case.ends_with("ok-tp4-from-tp2")) else {
        println!("no shared fixtures beside the checkout: layout-uncertain was not looked at");
        return;
    };
    for side in ["gpu", "npu"] {
        ranks(&sides.join(side)).iter().for_each(|rank| without_signs(&rank.join("dump.json")));
    }
    let result = judged(room.path(), &sides);
    let codes = result["findings"].as_array().expect("findings").iter().map(|finding| &finding["code"]);
    assert_eq!(
        (&result["verdict"], codes.filter(|code| *code == "layout-uncertain").count()),
        (&"incomplete".into(), 1)
    );
}

#[test]
fn a_part_of_a_call_that_is_wrong_is_found_without_modules() {
    let room = TempDir::new().expect("a folder");
    let Some((case, sides)) = shared(room.path()).into_iter().find(|(case, _)| case.ends_with("ok-tp2-l1")) else {
        println!("no shared fixtures beside the checkout: calls without modules were not looked at");
        return;
    };
    let file = sides.join("npu/step0/rank1/dump.json");
    let mut dump: Value = serde_json::from_str(&fs::read_to_string(&file).expect("a dump")).expect("JSON");
    let output = &mut dump["data"]["Functional.gelu.0.forward"]["output"][0];
    let norm = output["Norm"].as_f64().expect("a norm");
    output["Norm"] = (1.5 * norm).into();
    fs::write(&file, dump.to_string()).expect("written");
    let result = judged(&case, &sides);
    assert_eq!((&result["verdict"], &result["culprit"]["op"]), (&"fail".into(), &"Functional.gelu.0.forward".into()));
}

/// Takes an operation out of a rank's dump; whether it was there.
fn without_operation(file: &Path, name: &str) -> bool {
    let mut dump: Value = serde_json::from_str(&fs::read_to_string(file).expect("a dump")).expect("JSON");
    let was_there = dump["data"].as_object_mut().expect("operations").remove(name).is_some();
    fs::write(file, dump.to_string()).expect("written");
    was_there
}

#[test]
fn an_operation_that_one_rank_lacks_is_never_a_pass() {
    let room = TempDir::new().expect("a folder");
    let layer = "Module.decoder.layers.0";
    for (name, operation) in [
        ("ok-tp2-cp2-pp2", format!("{layer}.mlp.linear_fc2.RowParallelLinear.forward.0")),
        ("ok-tp2-cp2-pp2", format!("{layer}.mlp.linear_fc1.ColumnParallelLinear.backward.0")),
        ("ok-tp2-cp2-pp2", format!("{layer}.input_layernorm.LayerNorm.forward.0")),
        ("ok-dp2-against-micro2", format!("{layer}.mlp.MLP.forward.0")),
        ("ok-tp2-l1", "Functional.gelu.0.forward".to_owned()),
    ] {
        let cases = own(room.path()).into_iter().chain(shared(room.path()));
        let Some((case, sides)) = cases.into_iter().find(|(case, _)| case.ends_with(name)) else {
            println!("{name} is not beside the checkout: it was not looked at");
            continue;
        };
        let copy = TempDir::new().expect("a folder");
        copied(&sides, copy.path());
        let lacking = ranks(&copy.path().join("npu")).into_iter().filter(|rank| rank.ends_with("rank1"));
        let taken = lacking.filter(|rank| without_operation(&rank.join("dump.json"), &operation)).count();
        assert!(taken > 0, "{name} has no {operation}");
        assert_ne!(judged(&case, copy.path())["verdict"], "pass", "{name} without {operation}");
    }
}

#[test]
fn a_rank_that_is_damaged_blames_nobody() {
    let case = fixture("ok-tp2-cp2-pp2");
    let room = TempDir::new().expect("a folder");
    copied(&case, room.path());
    for rank in ranks(&room.path().join("npu")).iter().filter(|rank| rank.ends_with("rank1")) {
        fs::write(rank.join("dump.json"), "{\"task\": \"stat").expect("written");
        let result = judged(&case, room.path());
        let codes = result["findings"].as_array().expect("findings").iter().map(|finding| &finding["code"]);
        assert_eq!(
            (&result["verdict"], codes.filter(|code| *code == "artifact-damaged").count()),
            (&"incomplete".into(), 1)
        );
    }
}

/// The number of dump units by what was compared of them.
fn recorded(result: &Value) -> Vec<&str> {
    let units = result["checks"].as_array().into_iter().flatten().flat_map(|check| check["units"].as_array()).flatten();
    units.filter_map(|unit| unit["data"].as_str()).collect()
}

#[test]
fn elements_of_parts_are_compared_in_their_order() {
    let room = TempDir::new().expect("a folder");
    let case = fixture("ok-tp2-tensor-l0");
    let sides = unpacked(&case, room.path());
    let sound = judged(&case, &sides);
    assert_eq!((&sound["verdict"], recorded(&sound)), (&"pass".into(), vec!["tensor"]));
    // Statistics do not see that two values of a part are exchanged.
    let name = "Module.decoder.layers.0.mlp.linear_fc1.ColumnParallelLinear.forward.0.output.0.pt";
    let file = sides.join("npu/step0/rank1/dump_tensor_data").join(name);
    let source = LocalFile::open(&file, name).expect("a file");
    let tensor = tensor_file::open(Arc::new(source)).expect("a tensor");
    let at = usize::try_from(tensor.offset()).expect("small");
    let mut bytes = fs::read(&file).expect("bytes");
    let (first, rest) = bytes[at..].split_at_mut(4 * 7);
    first[..4].swap_with_slice(&mut rest[..4]);
    fs::write(&file, bytes).expect("written");
    let exchanged = judged(&case, &sides);
    assert_ne!(exchanged["verdict"], "pass");
    let culprit = &exchanged["culprit"];
    assert!(culprit["op"].as_str().is_some_and(|op| op.contains("linear_fc1")), "{culprit}");
    // What cannot be read is not passed either.
    fs::remove_file(&file).expect("removed");
    assert_eq!(judged(&case, &sides)["verdict"], "incomplete");
}
