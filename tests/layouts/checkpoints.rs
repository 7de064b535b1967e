//! Checkpoints of ranks: each case's verdict, layouts and tensors, and what happens where a file is taken away or damaged.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use precision_gate::check::Command;
use precision_gate::gate::{Quiet, Request, run};
use precision_gate::judge::register;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::escape::TextTarget;
use precision_gate::report::messages::Language;
use precision_gate::report::writer;
use precision_gate::report::writer::Writer;
use precision_gate::result::GateResult;
use precision_gate::result::finding::Finding;
use precision_gate::verdict::{CheckId, Severity, Verdict};
use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;

use crate::data::{beside, fixture};

/// A case, unpacked.
struct Case {
    name: String,
    truth: Value,
    policy: String,
    folder: TempDir,
}

impl Case {
    fn open(place: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let packed = BufReader::new(File::open(place.join("sides.tar.xz")).expect("an archive"));
        tar::Archive::new(lzma_rust2::XzReader::new(packed, false)).unpack(folder.path()).expect("unpacked");
        let spec: Value = serde_json::from_slice(&fs::read(place.join("case.json")).expect("case.json")).expect("JSON");
        let policy = fs::read_to_string(place.join("precision-gate.yml")).unwrap_or_default();
        let name = place.file_name().expect("a name").to_string_lossy().into_owned();
        Self { name, truth: spec["truth"].clone(), policy, folder }
    }

    fn own(name: &str) -> Self {
        Self::open(&fixture("layouts").join(name))
    }

    fn side(&self, side: &str) -> PathBuf {
        self.folder.path().join(side)
    }

    fn judged(&self) -> GateResult {
        judged(&self.side("gpu"), &self.side("npu"), &self.policy)
    }
}

/// The cases of checkpoints in a folder.
fn cases(folder: &Path) -> Vec<PathBuf> {
    let is_checkpoint = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ck-"));
    let mut cases: Vec<PathBuf> = fs::read_dir(folder).expect("cases").flatten().map(|entry| entry.path()).collect();
    cases.retain(is_checkpoint);
    cases.sort();
    cases
}

/// Judges two sides; every finding has its text in both languages.
fn judged(baseline: &Path, candidate: &Path, policy: &str) -> GateResult {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let request = Request {
        baseline: TrustedLocation::own(baseline.display().to_string()),
        several: Default::default(),
        candidate: candidate.display().to_string(),
        checks: Command::Compare.checks(),
        policy: Policy::parse("case.yml", policy, &codes).expect("a sound policy"),
        matching: precision_gate::msprobe::dump::Matching::default(),
    };
    let mut result = run(&request, &Quiet).expect("both paths are there").result;
    for language in [Language::Zh, Language::En] {
        let writer = Writer::from_result(&result, language, TextTarget::Plain);
        writer::write_finding_texts(&mut result.findings, &writer).expect("every finding has its text");
    }
    result
}

fn compared(result: &GateResult) -> u64 {
    let check = result.checks.iter().find(|check| check.id == CheckId::Checkpoint).expect("the check");
    check.units.iter().filter_map(|unit| unit.evidence()).map(|evidence| evidence.compared).sum()
}

fn with_code<'a>(result: &'a GateResult, code: &str) -> Vec<&'a Finding> {
    result.findings.iter().filter(|finding| finding.code == code).collect()
}

/// Problems of a case, held to its truth.
fn problems(case: &Case) -> Vec<String> {
    let (truth, result) = (&case.truth, case.judged());
    let mut problems = Vec::new();
    let mut hold = |holds: bool, problem: String| {
        if !holds {
            problems.push(format!("{}: {problem}", case.name));
        }
    };
    let texts = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap_or_default() };
    hold(texts(&truth["verdict"]).contains(&result.verdict.as_str().to_owned()), format!("{:?}", result.verdict));
    let codes = texts(&truth["codes"]);
    hold(
        codes.is_empty() || result.findings.iter().any(|found| codes.contains(&found.code)),
        format!("none of {codes:?}"),
    );
    hold(compared(&result) >= truth["min_compared"].as_u64().unwrap_or(0), format!("{} compared", compared(&result)));
    if codes.is_empty() {
        let layout = serde_json::to_value(&result.layout).expect("JSON");
        for side in ["baseline", "candidate"] {
            for size in ["tp", "pp", "vpp", "ep"] {
                let (told, true_size) = (&layout[side][size], &truth["layout"][side][size]);
                hold(told == true_size, format!("{side} {size} {told}, not {true_size}"));
            }
        }
    }
    let wanted = truth["parameters"].as_array().cloned().unwrap_or_default();
    let is_named = |finding: &Finding, want: &Value| {
        texts(&want["names"]).iter().any(|name| Regex::new(name).expect("an expression").is_match(&finding.place))
    };
    for want in &wanted {
        let codes = texts(&want["codes"]);
        let found = result.findings.iter().any(|found| codes.contains(&found.code) && is_named(found, want));
        hold(found, format!("none of {codes:?} at {}", want["names"]));
    }
    let blamed = result
        .findings
        .iter()
        .filter(|found| found.severity == Severity::Fail && found.code.starts_with("parameter-") && !wanted.is_empty());
    for finding in blamed {
        hold(wanted.iter().any(|want| is_named(finding, want)), format!("blames {}", finding.place));
    }
    problems
}

#[test]
fn every_case_gets_its_verdict_its_layouts_and_its_tensors() {
    let cases = cases(&fixture("layouts"));
    assert!(cases.len() > 15, "only {} cases", cases.len());
    let problems: Vec<String> = cases.iter().flat_map(|case| problems(&Case::open(case))).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn cases_beside_the_checkout_get_theirs() {
    let Some(folder) = beside("layouts") else { return };
    let cases = cases(&folder);
    let problems: Vec<String> = cases.iter().flat_map(|case| problems(&Case::open(case))).collect();
    println!("{} cases", cases.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The finding that each defect gives, by case.
#[test]
fn each_change_of_a_tensor_has_its_code() {
    for (case, code, place) in [
        ("ck-proj-transposed", "parameter-transposed", "model.layers.1.self_attn.o_proj.weight"),
        ("ck-experts-swapped", "parameter-swapped", "model.layers.0.block_sparse_moe.experts.2.w1.weight"),
        ("ck-stale-shard", "parameter-stale", "decoder.layers.1.mlp.linear_fc2.weight"),
        ("ck-qkv-plain", "parameter-permuted", "model.layers.0.self_attn.k_proj.weight"),
        ("ck-embedding-scaled", "parameter-scaled", "model.embed_tokens.weight"),
        ("ck-padding-trained", "parameter-padding", "lm_head.weight"),
        ("ck-tied-apart", "replicas-differ", "lm_head.weight"),
        ("ck-kv-copies", "replicas-differ", "model.layers.0.self_attn.k_proj.weight"),
        ("ck-rank-missing", "shard-missing", "iter_0000010/mp_rank_01/model_optim_rng.pt"),
    ] {
        let result = Case::own(case).judged();
        let places: Vec<&str> = with_code(&result, code).iter().map(|finding| finding.place.as_str()).collect();
        assert!(places.contains(&place), "{case}: {code} at {places:?}");
    }
}

#[test]
fn a_swapped_tensor_names_its_partner_and_a_scaled_one_its_factor() {
    let result = Case::own("ck-experts-swapped").judged();
    let first = with_code(&result, "parameter-swapped").remove(0);
    assert!(first.message.contains("experts.3.w1.weight (mp_rank_00_001)"), "{}", first.message);
    let result = Case::own("ck-stale-shard").judged();
    let stale = with_code(&result, "parameter-stale").remove(0);
    assert!(stale.message.ends_with("iter_0000005 (mp_rank_01)"), "{}", stale.message);
    let result = Case::own("ck-embedding-scaled").judged();
    let factor =
        &serde_json::to_value(&with_code(&result, "parameter-scaled").remove(0).facts).expect("JSON")["factor"];
    assert!((factor.as_f64().expect("a number") - 4.0).abs() < 1e-5, "{factor}");
}

/// Every file with tensors below a folder.
fn shards(folder: &Path) -> Vec<PathBuf> {
    let mut shards = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_shard = [".pt", ".bin", ".distcp", ".safetensors"].iter().any(|ending| name.ends_with(ending));
        if path.is_dir() {
            shards.extend(self::shards(&path));
        } else if is_shard || name == ".metadata" {
            shards.push(path);
        }
    }
    shards
}

#[test]
fn a_sound_case_without_one_of_its_files_never_passes() {
    let mut taken = 0;
    for place in cases(&fixture("layouts")) {
        let case = Case::open(&place);
        if case.truth["benign"] != Value::Bool(true) {
            continue;
        }
        for side in ["gpu", "npu"] {
            for shard in shards(&case.side(side)) {
                let bytes = fs::read(&shard).expect("read");
                fs::remove_file(&shard).expect("removed");
                let gone = case.judged();
                fs::write(&shard, &bytes[..bytes.len() / 2]).expect("written");
                let cut = case.judged();
                fs::write(&shard, &bytes).expect("written");
                for result in [gone, cut] {
                    let is_blind = matches!(result.verdict, Verdict::Pass | Verdict::Warn);
                    assert!(!is_blind, "{} without {}: {:?}", case.name, shard.display(), result.verdict);
                }
                taken += 1;
            }
        }
    }
    assert!(taken > 25, "only {taken} files were taken away");
}

#[test]
fn a_description_that_points_out_of_its_files_is_damage() {
    let case = Case::own("ck-ok-hf-dcp");
    let path = case.side("npu").join("__1_0.distcp");
    let bytes = fs::read(&path).expect("read");
    fs::write(&path, &bytes[..bytes.len() - 2000]).expect("written");
    let result = case.judged();
    assert_eq!(result.verdict, Verdict::Incomplete);
    let damaged = with_code(&result, "artifact-damaged");
    assert!(damaged.iter().any(|finding| finding.message.contains("bytes at")), "{:?}", result.findings);
}

#[test]
fn shapes_that_do_not_add_up_to_the_partitions_are_damage_with_both_numbers() {
    let case = Case::own("ck-ok-zero1-dp2-dp4");
    let other = Case::own("ck-ok-hf-zero3");
    let partition = "global_step10/zero_pp_rank_1_mp_rank_00_optim_states.pt";
    // Stage 3 of the same shapes: its parts of two ranks are twice those of four.
    for rank in 0..4 {
        let own = case.side("npu").join(partition.replace("rank_1_mp", &format!("rank_{rank}_mp")));
        fs::copy(other.side("npu").join(partition), own).expect("copied");
    }
    let result = case.judged();
    assert_eq!(result.verdict, Verdict::Incomplete);
    let damaged = with_code(&result, "artifact-damaged");
    assert!(damaged.iter().any(|finding| finding.message.contains("add up to")), "{:?}", result.findings);
}

#[test]
fn two_folders_of_one_rank_are_damage() {
    let case = Case::own("ck-ok-hf-mcore-tp2pp2");
    let iteration = case.side("npu").join("iter_0000010");
    let twin = iteration.join("mp_rank_0_0");
    fs::create_dir(&twin).expect("a folder");
    fs::copy(iteration.join("mp_rank_00_000/model_optim_rng.pt"), twin.join("model_optim_rng.pt")).expect("copied");
    let result = case.judged();
    assert_eq!(result.verdict, Verdict::Incomplete);
    let damaged = with_code(&result, "artifact-damaged");
    assert!(damaged.iter().any(|finding| finding.message.contains("of one rank")), "{:?}", result.findings);
}

#[test]
fn moments_that_one_side_alone_has_are_told_and_not_missed() {
    let case = Case::own("ck-ok-zero1-dp2-dp4");
    let whole = case.folder.path().join("whole");
    fs::create_dir(&whole).expect("a folder");
    let states = case.side("gpu").join("global_step10/mp_rank_00_model_states.pt");
    fs::copy(states, whole.join("model.pt")).expect("copied");
    let result = judged(&whole, &case.side("npu"), "");
    assert_eq!((result.verdict, compared(&result)), (Verdict::Pass, 21), "{:?}", result.findings);
    assert_eq!(with_code(&result, "optimizer-state-unread").len(), 1);
}

#[test]
fn weights_rounded_to_fewer_bits_are_told_as_such() {
    let case = Case::own("ck-ok-hf-mcore-tp2pp2");
    let folder = case.side("gpu");
    for shard in shards(&folder) {
        let mut bytes = fs::read(&shard).expect("read");
        let header = u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"));
        let start = 8 + usize::try_from(header).expect("small");
        // The lower half of a float32 is what bfloat16 does not have.
        bytes[start..].chunks_exact_mut(4).for_each(|element| element[..2].fill(0));
        fs::write(&shard, bytes).expect("written");
    }
    let result = judged(&case.side("npu"), &folder, "");
    assert_eq!(result.verdict, Verdict::Warn);
    assert_eq!(with_code(&result, "parameter-rounded").len(), 39);
    assert_eq!(judged(&case.side("npu"), &folder, "profile: strict").verdict, Verdict::Fail);
}

#[test]
fn the_same_files_are_compared_one_by_one_and_their_layout_is_told() {
    let case = Case::own("ck-ok-hf-mcore-tp2pp2");
    let result = judged(&case.side("npu"), &case.side("npu"), "");
    let check = result.checks.iter().find(|check| check.id == CheckId::Checkpoint).expect("the check");
    assert_eq!((result.verdict, check.units.len()), (Verdict::Pass, 4));
    let layout = result.layout.expect("layouts");
    assert_eq!((layout.candidate.tp, layout.candidate.pp), (2, 2));
}

#[test]
fn a_rank_that_both_sides_lack_is_missing() {
    let case = Case::own("ck-ok-hf-mcore-tp2pp2");
    fs::remove_dir_all(case.side("npu").join("iter_0000010/mp_rank_01_001")).expect("removed");
    let result = judged(&case.side("npu"), &case.side("npu"), "");
    assert_eq!(result.verdict, Verdict::Incomplete);
    assert_eq!(with_code(&result, "shard-missing").len(), 2);
}

#[test]
fn a_line_of_the_mapping_that_fits_nothing_is_told_and_a_wrong_one_refused() {
    let mut case = Case::own("ck-ok-own-mapping");
    case.policy.push_str("    - {from: \"nowhere.{i}\", to: \"nothing.{i}\"}\n");
    assert_eq!(with_code(&case.judged(), "selector-unused").len(), 1);
    for line in [
        "{from: a, to: \"b.{i}\"}",
        "{from: \"a.{i}\", to: \"b.{i} + \"}",
        "{from: \"a.{\", to: b}",
        "{from: a, into: b}",
    ] {
        let policy = format!("checkpoint: {{names: [{line}]}}");
        assert!(Policy::parse("p.yml", &policy, &[]).is_err(), "{line}");
    }
}

#[test]
fn what_a_mapping_does_not_divide_has_another_shape() {
    let case = Case::own("ck-ok-own-mapping");
    let policy = case.policy.replace("axis: 0}", "axis: 1}");
    let result = judged(&case.side("gpu"), &case.side("npu"), &policy);
    assert!(!with_code(&result, "parameter-shape-differs").is_empty(), "{:?}", result.findings);
}

#[test]
fn a_side_that_is_judged_alone_is_read_as_one() {
    let case = Case::own("ck-ok-torch-dist");
    let result = judged(&case.side("npu"), &case.side("npu"), "");
    assert_eq!(result.verdict, Verdict::Pass, "{:?}", result.findings);
    assert!(compared(&result) >= 12);
}

/// Numbers that look random, the same in every run.
fn scattered(seed: u64, below: usize) -> usize {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    usize::try_from(mixed >> 33).expect("31 bits") % below
}

#[test]
fn changed_bytes_of_a_pickle_are_read_or_refused() {
    for (name, file) in [
        ("ck-ok-hf-dcp", ".metadata"),
        ("ck-ok-torch-dist", ".metadata"),
        ("ck-ok-hf-zero3", "global_step10/zero_pp_rank_0_mp_rank_00_model_states.pt"),
        ("ck-ok-hf-mcore-tp2pp2", "iter_0000010/mp_rank_00_000/model_optim_rng.pt"),
    ] {
        let case = Case::own(name);
        let path = case.side("npu").join(file);
        let bytes = fs::read(&path).expect("read");
        // The pickle comes first; behind it are the numbers.
        let pickle = bytes.len().min(12_000);
        for seed in 0..40 {
            let mut changed = bytes.clone();
            for place in 0..3 {
                let at = scattered(seed * 8 + place, pickle);
                changed[at] = u8::try_from(scattered(seed * 8 + place + 4, 256)).expect("a byte");
            }
            fs::write(&path, changed).expect("written");
            case.judged();
        }
    }
}
