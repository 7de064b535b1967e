//! Log-probabilities: every case with a known truth, the same numbers in five forms, and what must not bend a verdict.
#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a test that indexes beyond what is there fails, as it should"
)]

pub(crate) mod truth;
pub(crate) mod unmet;

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use precision_gate::fetch;
use precision_gate::read::tokens::{Scratch, TokensFile, TokensFormat, TokensRow, open_all};
use serde_json::{Value, json};
use tempfile::TempDir;
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tokens")
}

/// Result and headline of a run; without a baseline the candidate is judged alone.
fn judge_with(baseline: Option<&Path>, candidate: &Path, policy: &str) -> (Value, String) {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("policy.yml");
    fs::write(&file, policy).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_precision-gate"));
    command.arg("run").arg("--candidate").arg(candidate).arg("--config").arg(&file);
    match baseline {
        Some(baseline) => command.arg("--baseline").arg(baseline),
        None => command.arg("--health"),
    };
    let out = folder.path().join("out");
    let output = command.arg("--out").arg(&out).args(["--today", "2026-11-25"]).output().expect("it runs");
    let text = fs::read(out.join("result.json"));
    let text = text.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let summary = fs::read_to_string(out.join("summary.md")).expect("a comment");
    let headline = summary.lines().find(|line| line.starts_with("## ")).unwrap_or_default().to_owned();
    (serde_json::from_slice(&text).expect("JSON"), headline)
}

fn judge(baseline: Option<&Path>, candidate: &Path) -> Value {
    judge_with(baseline, candidate, "").0
}

fn side(case: &str, side: &str) -> PathBuf {
    cases().join(case).join(side)
}

fn units(result: &Value) -> Vec<&Value> {
    let checks = result["checks"].as_array().into_iter().flatten();
    checks
        .flat_map(|check| check["units"].as_array().into_iter().flatten())
        .filter(|unit| unit["kind"] == "logprobs")
        .collect()
}

fn candidate(result: &Value) -> &Value {
    units(result).into_iter().find(|unit| unit["side"] != "baseline").expect("a unit")
}

fn codes(result: &Value) -> Vec<&str> {
    result["findings"].as_array().into_iter().flatten().filter_map(|finding| finding["code"].as_str()).collect()
}

fn near(found: &Value, wanted: f64, tolerance: f64) -> bool {
    found.as_f64().is_some_and(|found| (found - wanted).abs() <= tolerance * wanted.abs() + 2e-6)
}

/// Everything that the truth of a case asks for and the result does not say.
fn missed(result: &Value, truth: &Value) -> Vec<String> {
    let verdict = result["verdict"].as_str().unwrap_or_default();
    let mut missed = unmet::unmet(truth, verdict, &codes(result));
    if let Some(causes) = truth["cause"].as_array() {
        let found = [&result["diagnoses"][0]["cause"], &candidate(result)["cause"]];
        if !found.iter().any(|cause| causes.contains(cause)) {
            missed.push(format!("causes {found:?} in place of {causes:?}"));
        }
        if found[0] != found[1] && candidate(result)["side"] == "candidate" {
            missed.push(format!("two causes {found:?}"));
        }
    }
    for (measure, wanted) in truth["measures"].as_object().into_iter().flatten() {
        let wanted = wanted.as_f64().expect("a number");
        if !near(&candidate(result)[measure], wanted, 0.02) {
            missed.push(format!("{measure} {} in place of {wanted}", candidate(result)[measure]));
        }
    }
    if let Some(factor) = truth["factor"].as_f64().filter(|factor| !near(&candidate(result)["factor"], *factor, 0.03)) {
        missed.push(format!("factor {} in place of {factor}", candidate(result)["factor"]));
    }
    for (place, wanted) in truth["place"].as_object().into_iter().flatten() {
        let keys = if place == "step" { vec!["step", "first_step"] } else { vec![place.as_str()] };
        let facts = result["findings"].as_array().into_iter().flatten().map(|finding| &finding["facts"]);
        let all: Vec<&Value> = facts.chain(units(result)).collect();
        if !all.iter().any(|one| keys.iter().any(|key| &one[*key] == wanted)) {
            missed.push(format!("{place} {wanted} is not told"));
        }
    }
    missed
}

#[test]
fn every_case_gets_its_verdict_cause_place_and_numbers() {
    let (mut judged, mut wrong) = (0, Vec::new());
    for entry in fs::read_dir(cases()).expect("cases").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("sync-") || name.starts_with("rollout-") {
            continue;
        }
        let Ok(text) = fs::read(entry.path().join("case.json")) else { continue };
        let case: Value = serde_json::from_slice(&text).expect("JSON");
        let baseline = (case["truth"]["mode"] == "pair").then(|| entry.path().join("gpu"));
        let result = judge(baseline.as_deref(), &entry.path().join("npu"));
        let missed = missed(&result, &case["truth"]);
        if !missed.is_empty() {
            wrong.push(format!("{}: {}", entry.path().display(), missed.join("; ")));
        }
        judged += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(judged, 31);
}

/// Answers of a file of a case.
fn rows(case: &str, path: &str) -> Vec<TokensRow> {
    let files = fetch::open(&side(case, "npu").display().to_string()).expect("there");
    let file = TokensFile { path: path.to_owned(), format: TokensFormat::Torch };
    let opened = open_all(files.as_ref(), &[file]);
    let table = opened.tables.first().expect("it opens");
    let mut scratch = Scratch::default();
    let read = |nth: u64| {
        let mut row = TokensRow::default();
        table.read(nth, &mut scratch, &mut row).expect("it is read");
        row
    };
    (0..table.rows()).map(read).collect()
}

/// An array of numpy.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let len = u16::try_from(header.len()).expect("short").to_le_bytes();
    [b"\x93NUMPY\x01\x00".as_slice(), &len, header.as_bytes(), data].concat()
}

fn ids(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn floats(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect()
}

/// Named arrays: type of numpy, shape, bytes.
type Arrays = Vec<(&'static str, &'static str, Vec<usize>, Vec<u8>)>;

/// A batch with padding on both sides, as verl has it.
fn batch(rows: &[TokensRow]) -> Arrays {
    let longest = rows.iter().map(|row| row.prompt.len()).max().expect("rows");
    let width = rows[0].engine.len();
    let (mut prompts, mut responses, mut attention, mut mask) = (vec![], vec![], vec![], vec![]);
    let (mut engine, mut trainer) = (vec![], vec![]);
    for row in rows {
        let padding = longest - row.prompt.len();
        prompts.extend(vec![0; padding].into_iter().chain(row.prompt.iter().copied()));
        responses.extend((0..width).map(|at| row.response.get(at).copied().unwrap_or(0)));
        attention.extend((0..longest).map(|at| i64::from(at >= padding)));
        attention.extend((0..width).map(|at| i64::from(at < row.response.len())));
        mask.extend((0..width).map(|at| i64::from(row.judged[at])));
        engine.extend_from_slice(&row.engine);
        trainer.extend_from_slice(&row.trainer);
    }
    let shape = |width: usize| vec![rows.len(), width];
    vec![
        ("prompts", "<i8", shape(longest), ids(&prompts)),
        ("responses", "<i8", shape(width), ids(&responses)),
        ("attention_mask", "<i8", shape(longest + width), ids(&attention)),
        ("response_mask", "<i8", shape(width), ids(&mask)),
        ("rollout_log_probs", "<f4", shape(width), floats(&engine)),
        ("old_log_probs", "<f4", shape(width), floats(&trainer)),
    ]
}

/// The same answers packed one behind the other.
fn packed(rows: &[TokensRow]) -> Arrays {
    let (mut tokens, mut mask, mut engine, mut trainer) = (vec![], vec![], vec![], vec![]);
    let mut boundaries = vec![0_i64];
    for row in rows {
        let (prompt, answer) = (row.prompt.len(), row.response.len());
        tokens.extend(row.prompt.iter().chain(&row.response).copied());
        mask.extend(vec![0; prompt].into_iter().chain(row.judged.iter().take(answer).map(|judged| i64::from(*judged))));
        for (to, from) in [(&mut engine, &row.engine), (&mut trainer, &row.trainer)] {
            to.extend(vec![0.0; prompt].into_iter().chain(from.iter().take(answer).copied()));
        }
        boundaries.push(tokens.len() as i64);
    }
    let len = vec![tokens.len()];
    vec![
        ("tokens", "<i8", len.clone(), ids(&tokens)),
        ("cu_seqlens", "<i8", vec![boundaries.len()], ids(&boundaries)),
        ("loss_mask", "<i8", len.clone(), ids(&mask)),
        ("rollout_log_probs", "<f4", len.clone(), floats(&engine)),
        ("log_probs", "<f4", len, floats(&trainer)),
    ]
}

fn npz(arrays: &Arrays, method: CompressionMethod) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, descr, shape, data) in arrays {
        let inside = shape.iter().map(|len| format!("{len},")).collect::<String>();
        let options = SimpleFileOptions::default().compression_method(method);
        archive.start_file(format!("{name}.npy"), options).expect("memory");
        archive.write_all(&npy(descr, &format!("({inside})"), data)).expect("memory");
    }
    archive.finish().expect("memory").into_inner()
}

fn safetensors(arrays: &Arrays) -> Vec<u8> {
    let (mut header, mut bytes) = (serde_json::Map::new(), Vec::new());
    for (name, descr, shape, data) in arrays {
        let dtype = if *descr == "<f4" { "F32" } else { "I64" };
        let offsets = [bytes.len(), bytes.len() + data.len()];
        header.insert((*name).to_owned(), json!({"dtype": dtype, "shape": shape, "data_offsets": offsets}));
        bytes.extend(data);
    }
    let header = serde_json::to_vec(&header).expect("JSON");
    [&(header.len() as u64).to_le_bytes()[..], &header, &bytes].concat()
}

fn line(row: &TokensRow) -> Value {
    let answer = row.response.len();
    let of = |values: &[f64]| values.iter().take(answer).copied().collect::<Vec<f64>>();
    json!({
        "step": 1, "prompt_ids": row.prompt, "response_ids": row.response, "rollout_log_probs": of(&row.engine),
        "log_probs": of(&row.trainer),
        "loss_mask": row.judged.iter().take(answer).map(|judged| u8::from(*judged)).collect::<Vec<u8>>(),
    })
}

fn lines(rows: &[TokensRow]) -> Vec<u8> {
    rows.iter().map(|row| format!("{}\n", line(row))).collect::<String>().into_bytes()
}

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (path, bytes) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("below")).expect("a folder");
        fs::write(path, bytes).expect("written");
    }
    folder
}

#[test]
fn the_same_answers_in_five_forms_give_the_same_numbers_and_words() {
    for case in ["positions-count-padding", "ok-nan-in-padding"] {
        let rows = rows(case, "batch_step_1.pt");
        let (first, headline) = judge_with(None, &side(case, "npu"), "");
        let forms = [
            ("rollout/batch_step_1.npz", npz(&batch(&rows), CompressionMethod::Stored)),
            ("rollout/deflated_step_1.npz", npz(&batch(&rows), CompressionMethod::Deflated)),
            ("batch_step_1.safetensors", safetensors(&batch(&rows))),
            ("rollouts/1.jsonl", lines(&rows)),
            ("rollout/packed_step_1.npz", npz(&packed(&rows), CompressionMethod::Deflated)),
        ];
        for (name, bytes) in forms {
            let folder = folder(&[(name, &bytes)]);
            let (result, told) = judge_with(None, folder.path(), "");
            assert_eq!(
                (&result["verdict"], told.replace("candidate", "NPU")),
                (&first["verdict"], headline.clone()),
                "{case} as {name}"
            );
            let (ours, theirs) = (candidate(&result), candidate(&first));
            for key in ["cause", "tokens", "sequences", "sequences_off", "first_position", "step"] {
                assert_eq!(ours[key], theirs[key], "{case} as {name}: {key}");
            }
            for key in ["mean_abs", "k3", "prob_mean", "bias", "outside"] {
                let apart = ours[key].as_f64().expect("a number") - theirs[key].as_f64().expect("a number");
                assert!(apart.abs() <= 1e-6, "{case} as {name}: {key} {apart}");
            }
        }
    }
}

fn weight(result: &Value) -> u8 {
    match result["verdict"].as_str() {
        Some("fail" | "incomplete") => 2,
        Some("warn") => 1,
        _ => 0,
    }
}

/// Lines of the candidate of a case.
fn text(case: &str, side_name: &str, path: &str) -> Vec<String> {
    let text = fs::read_to_string(side(case, side_name).join(path)).expect("text");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn order_and_names_do_not_bend_a_verdict() {
    for case in ["temperature-one-side", "cache-position-off", "padding-attended"] {
        let baseline = side(case, "gpu");
        let first = judge(Some(&baseline), &side(case, "npu"));
        let mut lines = text(case, "npu", "rollouts/1.jsonl");
        lines.reverse();
        lines.rotate_left(7);
        let bytes = (lines.join("\n") + "\n").into_bytes();
        let moved = folder(&[("elsewhere/answers.jsonl", &bytes)]);
        let result = judge(Some(&baseline), moved.path());
        for key in ["verdict", "cause", "tokens", "sequences_off", "first_position"] {
            assert_eq!(candidate(&result)[key], candidate(&first)[key], "{case}: {key}");
        }
    }
}

#[test]
fn a_mask_that_is_widened_over_padding_leaves_the_verdict() {
    let case = "positions-count-padding";
    let mut rows = rows(case, "batch_step_1.pt");
    let first = judge(None, &side(case, "npu"));
    for row in &mut rows {
        row.judged.fill(true);
    }
    let wide = folder(&[("rollout/batch_step_1.npz", &npz(&batch(&rows), CompressionMethod::Stored))]);
    let result = judge(None, wide.path());
    for key in ["verdict", "cause", "tokens", "mean_abs"] {
        assert_eq!(candidate(&result)[key], candidate(&first)[key], "{key}");
    }
}

#[test]
fn taking_answers_or_files_of_the_candidate_away_never_improves_a_verdict() {
    let (case, path) = ("padding-attended", "rollouts/1.jsonl");
    let baseline = side(case, "gpu");
    let all = text(case, "npu", path);
    let whole = judge(Some(&baseline), &side(case, "npu"));
    for kept in [&all[..0], &all[..1], &all[..15], &all[..30], &all[..39]] {
        let bytes = (kept.join("\n") + "\n").into_bytes();
        let less = judge(Some(&baseline), folder(&[(path, &bytes)]).path());
        assert!(weight(&less) >= weight(&whole), "{} answers: {}", kept.len(), less["verdict"]);
    }
    // The loud ones alone go: what is left is within noise, and a third of the answers is missing.
    let mean = |line: &String| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let of =
            |key: &str| line[key].as_array().expect("a list").iter().filter_map(Value::as_f64).collect::<Vec<f64>>();
        of("rollout_log_probs").iter().zip(of("log_probs")).map(|(a, b)| (a - b).abs()).sum::<f64>()
    };
    let quiet: Vec<&str> = all.iter().filter(|line| mean(line) < 0.1).map(String::as_str).collect();
    assert!(!quiet.is_empty() && quiet.len() < all.len());
    let left = judge(Some(&baseline), folder(&[(path, (quiet.join("\n") + "\n").as_bytes())]).path());
    assert_eq!((left["verdict"].as_str(), codes(&left).contains(&"evidence-coverage")), (Some("incomplete"), true));
    // A rank, and a step.
    let (case, gone) = ("one-rank-stale", "rollout/step_1_rank_2.npz");
    let files: Vec<(String, Vec<u8>)> = (0..4)
        .map(|rank| format!("rollout/step_1_rank_{rank}.npz"))
        .filter(|path| path != gone)
        .map(|path| (path.clone(), fs::read(side(case, "npu").join(&path)).expect("bytes")))
        .collect();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (path.as_str(), &bytes[..])).collect();
    assert_eq!(judge(Some(&side(case, "gpu")), folder(&files).path())["verdict"], "incomplete");
}

#[test]
fn damage_is_told_with_its_file_and_the_rest_is_judged() {
    let (case, path) = ("copied", "rollouts/1.jsonl");
    let mut lines = text(case, "npu", path);
    let cut = lines[5].len() / 2;
    lines[5].truncate(cut);
    let result = judge(None, folder(&[(path, lines.join("\n").as_bytes())]).path());
    assert_eq!((result["verdict"].as_str(), &candidate(&result)["sequences"]), (Some("incomplete"), &json!(23)));
    let finding = result["findings"].as_array().expect("findings").iter().find(|one| one["code"] == "artifact-damaged");
    let place = finding.and_then(|finding| finding["where"].as_str()).expect("a place");
    assert!(place.contains("rollouts/1.jsonl") && place.contains('6'), "{place}");
    // An archive that is cut.
    let case = "lora-not-merged";
    let bytes = fs::read(side(case, "npu").join("rollout/step_1.npz")).expect("bytes");
    let result = judge(Some(&side(case, "gpu")), folder(&[("rollout/step_1.npz", &bytes[..bytes.len() / 2])]).path());
    assert_eq!(result["verdict"], "incomplete", "{:?}", codes(&result));
}

#[test]
fn two_files_of_one_step_and_rank_that_differ_contradict_each_other() {
    let case = "ok-bf16-alone";
    let bytes = fs::read(side(case, "npu").join("rollout/step_1.npz")).expect("bytes");
    let again = judge(None, folder(&[("a/step_1.npz", &bytes), ("b/step_1.npz", &bytes)]).path());
    assert_eq!((again["verdict"].as_str(), &candidate(&again)["sequences"]), (Some("pass"), &json!(24)));
    let case = "padding-attended";
    let [ours, theirs] = ["npu", "gpu"].map(|one| text(case, one, "rollouts/1.jsonl").join("\n"));
    let both = folder(&[("a/1.jsonl", ours.as_bytes()), ("b/1.jsonl", theirs.as_bytes())]);
    let result = judge(None, both.path());
    assert!(codes(&result).contains(&"evidence-contradicting"), "{:?}", codes(&result));
}

#[test]
fn the_policy_sets_noise_and_bits() {
    let case = "ok-bf16-alone";
    let judged = |policy: &str| judge_with(None, &side(case, "npu"), policy).0;
    let tight = judged("tokens: {noise: 0.001}");
    assert_eq!((tight["verdict"].as_str(), &candidate(&tight)["noise_from"]), (Some("fail"), &json!("policy")));
    assert!(codes(&tight).contains(&"tokens-diverge"));
    let bits = judged("tokens: {bitwise: true}");
    assert_eq!((bits["verdict"].as_str(), codes(&bits).contains(&"tokens-diverge")), (Some("fail"), true));
    let equal = judge_with(None, &side("copied", "npu"), "tokens: {bitwise: true}").0;
    assert_eq!(equal["verdict"], "pass", "{:?}", codes(&equal));
    let case = "ok-two-ranks-two-steps";
    let strict = judge_with(Some(&side(case, "gpu")), &side(case, "npu"), "tokens: {strict: true}").0;
    assert_eq!((strict["verdict"].as_str(), codes(&strict).contains(&"tokens-other-precision")), (Some("fail"), true));
}

#[test]
fn what_aligning_finds_has_a_code_of_its_own() {
    let base = text("copied", "npu", "rollouts/1.jsonl");
    let with = |change: &dyn Fn(&mut Value)| {
        let changed: Vec<String> = base
            .iter()
            .map(|line| {
                let mut line: Value = serde_json::from_str(line).expect("JSON");
                change(&mut line);
                line.to_string()
            })
            .collect();
        let result = judge(None, folder(&[("rollouts/1.jsonl", changed.join("\n").as_bytes())]).path());
        (result["verdict"].as_str().expect("a verdict").to_owned(), codes(&result).join(" "))
    };
    let set = |line: &mut Value, key: &str, at: usize, value: f64| line[key][at] = json!(value);
    let apart = |line: &mut Value| (0..20).for_each(|at| set(line, "log_probs", at, -2.0 - at as f64 / 10.0));
    let (verdict, codes) =
        with(&|line| line["response_mask"] = json!([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]));
    assert!(verdict == "warn" && codes.contains("tokens-mask-differs"), "{verdict} {codes}");
    let (verdict, codes) = with(&|line| {
        line.as_object_mut().expect("an object").remove("loss_mask");
        (15..20).for_each(|at| set(line, "rollout_log_probs", at, 0.0));
    });
    assert!(verdict == "warn" && codes.contains("tokens-mask-missing"), "{verdict} {codes}");
    let (verdict, codes) = with(&|line| set(line, "rollout_log_probs", 3, 0.5));
    assert!(verdict == "incomplete" && codes.contains("tokens-not-log-probabilities"), "{verdict} {codes}");
    let (verdict, codes) = with(&|line| (0..20).for_each(|at| set(line, "rollout_log_probs", at, -1.0)));
    assert!(verdict == "incomplete" && codes.contains("tokens-constant"), "{verdict} {codes}");
    let (verdict, codes) = with(&|line| line["train_input_ids"] = json!(vec![9; 40]));
    assert!(verdict == "fail" && codes.contains("tokens-prompt-differs"), "{verdict} {codes}");
    let (verdict, codes) = with(&apart);
    assert!(verdict == "fail" && codes.contains("tokens-diverge"), "{verdict} {codes}");
    let baseline_off = {
        let lines: Vec<String> = base
            .iter()
            .map(|line| {
                let mut line: Value = serde_json::from_str(line).expect("JSON");
                apart(&mut line);
                line.to_string()
            })
            .collect();
        folder(&[("rollouts/1.jsonl", lines.join("\n").as_bytes())])
    };
    let result = judge(Some(baseline_off.path()), &side("copied", "npu"));
    assert!(self::codes(&result).contains(&"tokens-baseline-off"), "{:?}", self::codes(&result));
}

#[test]
fn an_answer_that_cannot_be_read_is_counted_and_the_others_are_judged() {
    let rows = rows("ok-nan-in-padding", "batch_step_1.pt");
    let mut arrays = packed(&rows);
    let boundaries = arrays.iter_mut().find(|(name, ..)| *name == "cu_seqlens").expect("there");
    // The second sequence ends before it begins.
    boundaries.3[16..24].copy_from_slice(&1_i64.to_le_bytes());
    let result = judge(None, folder(&[("rollout/packed_step_1.npz", &npz(&arrays, CompressionMethod::Stored))]).path());
    assert!(codes(&result).contains(&"tokens-answers-damaged"), "{:?}", codes(&result));
    assert_eq!(result["verdict"], "incomplete");
}

#[test]
fn one_loud_answer_warns_and_two_fail() {
    let base = text("copied", "npu", "rollouts/1.jsonl");
    let judged = |loud: usize| {
        let lines: Vec<String> = base
            .iter()
            .enumerate()
            .map(|(nth, line)| {
                let mut line: Value = serde_json::from_str(line).expect("JSON");
                let off = if nth < loud { 0.09 } else { 0.001 };
                for at in 0..20 {
                    let value = line["log_probs"][at].as_f64().expect("a number");
                    let sign = if at % 2 == 0 { -1.0 } else { 1.0 };
                    line["log_probs"][at] = json!(value + sign * off);
                }
                line.to_string()
            })
            .collect();
        let result = judge(None, folder(&[("rollouts/1.jsonl", lines.join("\n").as_bytes())]).path());
        (result["verdict"].as_str().expect("a verdict").to_owned(), candidate(&result)["sequences_off"].as_u64())
    };
    assert_eq!(judged(0), ("pass".to_owned(), Some(0)));
    assert_eq!(judged(1), ("warn".to_owned(), Some(1)));
    assert_eq!(judged(2), ("fail".to_owned(), Some(2)));
}

#[test]
fn a_state_dict_stays_a_checkpoint_and_a_log_stays_a_curve() {
    let weights = safetensors(&vec![("model.log_probs.weight", "<f4", vec![4], floats(&[1.0, 2.0, 3.0, 4.0]))]);
    let log = b"{\"step\": 1, \"loss\": 2.0, \"log_probs\": -1.5}\n{\"step\": 2, \"loss\": 1.0, \"log_probs\": -1.4}\n";
    let both = folder(&[("model.safetensors", &weights), ("log.jsonl", log)]);
    let result = judge(Some(both.path()), both.path());
    let ran = |id: &str| {
        result["checks"].as_array().expect("checks").iter().any(|one| one["id"] == id && one["verdict"] != "skipped")
    };
    assert!(ran("checkpoint") && ran("loss") && !ran("tokens"), "{}", result["checks"]);
}

/// Causes of cases, by the cases' names.
const CAUSES: [(&str, &str); 9] = [
    ("other-log-base", "log-base"),
    ("lora-not-merged", "other-weights"),
    ("one-rank-stale", "rank-weights"),
    ("shifted-by-one", "shifted"),
    ("stale-frozen", "stale-weights"),
    ("top-k-renormalised", "truncated-sampling"),
    ("temperature-one-side", "temperature"),
    ("cache-position-off", "position"),
    ("positions-count-padding", "padding"),
];

#[test]
fn each_cause_is_told_with_its_advice() {
    for (case, cause) in CAUSES {
        let baseline = Some(side(case, "gpu")).filter(|path| path.exists());
        let result = judge(baseline.as_deref(), &side(case, "npu"));
        let first = &result["diagnoses"][0];
        assert_eq!((&first["cause"], &candidate(&result)["cause"]), (&json!(cause), &json!(cause)), "{case}");
        assert!(first["advice"].to_string().len() > 20, "{case}: {}", first["advice"]);
    }
    let differing = judge(Some(&side("lengths-differ", "gpu")), &side("lengths-differ", "npu"));
    assert!(codes(&differing).contains(&"tokens-length-differs"));
}

#[test]
fn a_shared_token_and_a_cache_are_told_from_other_answers() {
    let base = text("copied", "npu", "rollouts/1.jsonl");
    let judged = |change: &dyn Fn(&mut Value, usize)| {
        let lines: Vec<String> = base
            .iter()
            .enumerate()
            .map(|(nth, line)| {
                let mut line: Value = serde_json::from_str(line).expect("JSON");
                let off = if [3, 4, 9, 14, 20].contains(&nth) { 0.3 } else { 0.001 };
                for at in 0..20 {
                    let value = line["log_probs"][at].as_f64().expect("a number");
                    line["log_probs"][at] = json!(value + if at % 2 == 0 { -off } else { off });
                }
                change(&mut line, usize::from(off > 0.1));
                line.to_string()
            })
            .collect();
        let result = judge(None, folder(&[("rollouts/1.jsonl", lines.join("\n").as_bytes())]).path());
        (candidate(&result)["cause"].clone(), candidate(&result)["token"].clone(), result["verdict"].clone())
    };
    assert_eq!(judged(&|_, _| ()).0, "sequences");
    let off = |result: &Value| {
        let findings = result["findings"].as_array().expect("findings").iter();
        let of_answers = findings.filter(|finding| finding["code"] == "tokens-sequences-off");
        of_answers.map(|finding| finding["facts"]["off"].clone()).collect::<Vec<_>>()
    };
    let lines: Vec<String> = (base.iter().enumerate())
        .map(|(nth, line)| {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            let values = line["rollout_log_probs"].as_array_mut().expect("the engine's");
            let is_off = [3, 9].contains(&nth);
            values
                .iter_mut()
                .filter(|_| is_off)
                .for_each(|value| *value = json!(value.as_f64().expect("a number") - 0.5));
            line.to_string()
        })
        .collect();
    let candidate = folder(&[("rollouts/1.jsonl", lines.join("\n").as_bytes())]);
    let baseline = folder(&[("rollouts/1.jsonl", base.join("\n").as_bytes())]);
    let result = judge(Some(baseline.path()), candidate.path());
    assert!(off(&result).iter().all(|off| off == "engine") && !off(&result).is_empty(), "{}", result["findings"]);
    assert_eq!(judged(&|line, loud| line["cached_tokens"] = json!(6 * loud)).0, "prefix-cache");
    let (cause, token, verdict) = judged(&|line, loud| line["prompt_ids"][1] = json!(500 + 77 * loud));
    assert_eq!((cause, token, verdict), (json!("token-row"), json!(577), json!("fail")));
}
