//! Synchronisations of weights: every case with a known truth, and what is taken away, shuffled or damaged.
#![allow(clippy::indexing_slicing, reason = "a test that indexes beyond what is there fails, as it should")]

use crate::data;
use crate::tokens::truth;

use std::fs;
use std::path::{Path, PathBuf};

use data::{beside, fixture};
use precision_gate::result::GateResult;
use precision_gate::result::finding::Fact;
use precision_gate::result::unit::{SyncUnit, synchronisations};
use precision_gate::verdict::Verdict;
use serde_json::{Value, json};
use tempfile::TempDir;
use truth::{assert_case, cases, judge, rank_of};

fn case(name: &str) -> PathBuf {
    fixture(format!("tokens/{name}/npu"))
}

fn alone(candidate: &Path) -> GateResult {
    judge(None, candidate, "")
}

fn units(result: &GateResult) -> Vec<&SyncUnit> {
    synchronisations(&result.checks).collect()
}

fn codes(result: &GateResult) -> Vec<&str> {
    result.findings.iter().map(|finding| finding.code.as_str()).filter(|code| *code != "no-baseline").collect()
}

/// A copy of a case's candidate that may be changed.
fn copied(name: &str) -> TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    let from = case(name);
    for path in files(&from) {
        let to = copy.path().join(path.strip_prefix(&from).expect("below"));
        fs::create_dir_all(to.parent().expect("a folder")).expect("created");
        fs::copy(&path, to).expect("copied");
    }
    copy
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Changes the JSON of a file.
fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON");
    change(&mut value);
    fs::write(path, value.to_string()).expect("written");
}

#[test]
fn synchronisations_are_judged_as_the_truth_of_each_case_says() {
    let own = cases(&fixture("tokens"), "sync-");
    assert_eq!(own.len(), 19);
    own.iter().for_each(|case| assert_case(case));
}

#[test]
fn synchronisations_of_further_cases_are_judged_so_too() {
    let Some(folder) = beside("tokens") else { return };
    let further = cases(&folder, "sync-");
    assert!(further.len() > 25, "{}", further.len());
    further.iter().for_each(|case| assert_case(case));
}

#[test]
fn each_code_has_its_case() {
    for (name, code) in [
        ("sync-missing", "sync-missing"),
        ("sync-stale-layer", "sync-stale"),
        ("sync-swapped", "sync-swapped"),
        ("sync-restacked", "sync-reordered"),
        ("sync-half", "sync-partial"),
        ("sync-not-loaded", "sync-not-loaded"),
        ("sync-nan", "sync-non-finite"),
        ("sync-manifest-differs", "sync-differs"),
        ("sync-cast", "sync-cast"),
        ("sync-ok-padded-vocabulary", "sync-padded"),
        ("sync-receiver-absent", "sync-stage-missing"),
        ("sync-manifest-dtype", "sync-not-comparable"),
    ] {
        assert!(codes(&alone(&case(name))).iter().all(|told| *told == code), "{name}");
    }
}

#[test]
fn a_unit_says_which_step_is_held_and_where() {
    let result = alone(&case("sync-one-rank"));
    let stale: Vec<_> = units(&result).into_iter().filter(|unit| unit.equal < unit.compared).collect();
    let [unit] = stale.as_slice() else { panic!("one rank") };
    assert_eq!((unit.step, unit.rank, unit.compared), (2, Some(1), 21));
    assert_eq!((unit.differences[0].code.as_str(), unit.differences[0].lag), ("sync-stale", Some(1)));
    let finding = result.findings.iter().find(|finding| finding.code == "sync-stale").expect("told");
    assert_eq!((&finding.facts["held"], &finding.facts["lag"]), (&Fact::Count(1), &Fact::Count(1)));
    let half = alone(&case("sync-half"));
    assert_eq!(units(&half)[0].differences[0].rows, Some([4, 8]));
}

#[test]
fn a_declared_cast_passes_and_another_does_not() {
    let cast = case("sync-cast");
    let verdict = |policy: &str| judge(None, &cast, policy).verdict;
    assert_eq!(verdict("tokens: {cast: bf16}"), Verdict::Pass);
    assert_eq!(verdict("tokens: {cast: float16}"), Verdict::Warn);
    let left_out = judge(None, &case("sync-half"), "checkpoint: {ignore: ['*.q_proj.weight']}");
    assert_eq!(left_out.verdict, Verdict::Pass);
}

#[test]
fn the_order_of_rows_says_nothing() {
    for name in ["sync-manifest-stale", "sync-manifest-swapped", "sync-manifest-missing"] {
        let copy = copied(name);
        let before = alone(copy.path());
        for path in files(copy.path()).iter().filter(|path| path.display().to_string().contains("rollout")) {
            edit(path, |manifest| manifest["tensors"].as_array_mut().expect("rows").reverse());
        }
        let after = alone(copy.path());
        assert_eq!((after.verdict, codes(&after)), (before.verdict, codes(&before)), "{name}");
    }
}

#[test]
fn a_manifest_may_be_lines_in_one_file() {
    let copy = copied("sync-manifest-stale");
    let mut lines = String::new();
    for path in files(copy.path()) {
        let manifest: Value = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
        let role = if path.display().to_string().contains("rollout") { "receiver" } else { "sender" };
        for row in manifest["tensors"].as_array().expect("rows") {
            let mut row = row.clone();
            (row["step"], row["role"]) = (manifest["version"].clone(), json!(role));
            lines += &format!("{row}\n");
        }
        fs::remove_file(path).expect("removed");
    }
    fs::write(copy.path().join("sync.jsonl"), lines).expect("written");
    let result = alone(copy.path());
    assert_eq!((result.verdict, codes(&result)), (Verdict::Fail, vec!["sync-stale"]));
    assert_eq!(units(&result).iter().map(|unit| unit.step).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn taking_files_or_rows_away_never_improves_a_pair() {
    for name in ["sync-one-rank", "sync-swapped", "sync-pointers-contradict", "sync-manifest-differs"] {
        let baseline = case(name);
        let whole = judge(Some(&baseline), &case(name), "").verdict;
        for path in files(&case(name)) {
            let copy = copied(name);
            fs::remove_file(copy.path().join(path.strip_prefix(case(name)).expect("below"))).expect("removed");
            let without = judge(Some(&baseline), copy.path(), "");
            assert!(
                rank_of(without.verdict) >= rank_of(whole),
                "{name} without {}: {:?}",
                path.display(),
                codes(&without)
            );
        }
    }
    let copy = copied("sync-manifest-differs");
    let whole = rank_of(alone(copy.path()).verdict);
    for path in files(copy.path()) {
        let kept = fs::read(&path).expect("a file");
        for row in 0..8 {
            edit(&path, |manifest| drop(manifest["tensors"].as_array_mut().expect("rows").remove(row)));
            assert!(rank_of(alone(copy.path()).verdict) >= whole, "{} row {row}", path.display());
            fs::write(&path, &kept).expect("written");
        }
    }
}

#[test]
fn a_step_that_the_candidate_lacks_is_told() {
    let copy = copied("sync-half");
    for path in files(copy.path()).iter().filter(|path| path.display().to_string().contains("step2")) {
        fs::remove_file(path).expect("removed");
    }
    let result = judge(Some(&case("sync-ok-pair-apart")), copy.path(), "");
    assert_eq!(result.verdict, Verdict::Fail);
    let result = judge(Some(&case("sync-half")), copy.path(), "");
    let lacking = result.findings.iter().find(|finding| finding.code == "sync-stage-missing").expect("told");
    assert_eq!((&lacking.facts["step"], &lacking.facts["absent"]), (&Fact::Count(2), &Fact::Flag(Some(true))));
}

#[test]
fn damage_is_told_and_the_rest_is_judged() {
    // A cut archive.
    let copy = copied("sync-ok-bridge");
    let exported = files(copy.path()).into_iter().find(|path| path.display().to_string().contains("exported"));
    let exported = exported.expect("a file");
    let bytes = fs::read(&exported).expect("a file");
    fs::write(&exported, &bytes[..bytes.len() / 2]).expect("written");
    let cut = alone(copy.path());
    assert_eq!(cut.verdict, Verdict::Incomplete);
    assert!(codes(&cut).contains(&"artifact-damaged"), "{:?}", codes(&cut));
    // A digest that is none, and a cut manifest.
    let copy = copied("sync-manifest-swapped");
    let manifest = copy.path().join("sync/rollout_step1.json");
    edit(&manifest, |manifest| manifest["tensors"][0]["sha256"] = json!("none"));
    let bad = alone(copy.path());
    let told = bad.findings.iter().find(|finding| finding.code == "artifact-damaged").expect("told");
    assert!(told.text("reason").is_some_and(|reason| reason.starts_with("the digest of `model.embed_tokens.weight`")));
    assert!(codes(&bad).contains(&"sync-swapped"));
    let text = fs::read_to_string(&manifest).expect("a text");
    fs::write(&manifest, &text[..text.len() * 3 / 4]).expect("written");
    let cut = alone(copy.path());
    assert!(codes(&cut).contains(&"artifact-damaged") && codes(&cut).contains(&"sync-missing"), "{:?}", codes(&cut));
}

#[test]
fn two_files_of_one_step_and_rank_that_differ_contradict() {
    let copy = copied("sync-half");
    let folder = copy.path().join("stage2_transfer");
    let twin = folder.join("again");
    fs::create_dir(&twin).expect("created");
    fs::copy(folder.join("P2_sender_step1_rank0.pt"), twin.join("P5_receiver_step1_rank0.pt")).expect("copied");
    let result = alone(copy.path());
    assert_eq!(result.verdict, Verdict::Fail);
    assert!(codes(&result).contains(&"evidence-contradicting"), "{:?}", codes(&result));
    // Equal ones say nothing.
    fs::copy(folder.join("P5_receiver_step1_rank0.pt"), twin.join("P5_receiver_step1_rank0.pt")).expect("copied");
    assert!(!codes(&alone(copy.path())).contains(&"evidence-contradicting"));
}

#[test]
fn a_sender_may_send_for_all_ranks_at_a_price() {
    let copy = copied("sync-one-rank");
    for step in [1, 2] {
        let sender = |rank| copy.path().join(format!("stage2_transfer/P2_sender_step{step}_rank{rank}.pt"));
        fs::remove_file(sender(1)).expect("removed");
    }
    let result = alone(copy.path());
    assert!(codes(&result).contains(&"evidence-fallback") && codes(&result).contains(&"sync-stale"));
}

#[test]
fn nothing_is_said_of_how_a_parameter_is_loaded() {
    for case in cases(&fixture("tokens"), "sync-") {
        let result = alone(&case.join("npu"));
        let said = result.findings.iter().map(|finding| format!("{} {}", finding.message, finding.help));
        assert!(
            said.clone().all(|text| !text.contains("how this parameter")),
            "{}: {:?}",
            case.display(),
            said.collect::<Vec<_>>()
        );
    }
}
