//! Dumps, curves and configuration tell one story: each cause once, the likeliest first, with evidence from everywhere.

use std::fs;

use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::causes as texts;
use precision_gate::report::escape::TextTarget;
use precision_gate::report::messages::Language;
use precision_gate::report::summary::{self, COMMENT_LIMIT};
use precision_gate::report::templates::Templates;
use precision_gate::report::writer::Writer;
use precision_gate::result::GateResult;
use precision_gate::result::diagnosis::Sureness;

use crate::diagnoses::causes;
use crate::diagnoses::made::Pair;
use crate::diagnoses::tree::copy;

/// A dump case with a curve case and a pair of packs beside it.
fn joined(dump: &str, curve: &str, packs: &str) -> GateResult {
    let pair = Pair::copy(&format!("dumps/{dump}"));
    for side in ["gpu", "npu"] {
        let from = crate::data::fixture("loss").join(curve).join(side);
        copy(&from, &pair.side(side).join("curves"));
        let pack = crate::data::fixture("config-check").join(packs).join(format!("{side}.zip"));
        fs::copy(pack, pair.side(side).join("config_check_pack.zip")).expect("copied");
    }
    pair.result()
}

#[test]
fn seeds_in_the_packs_and_noise_in_the_curve_speak_for_the_dropout_in_the_dump() {
    let result = joined("glm_stats_mix_dropout", "aligned_noisy_dropout", "random-seed-differs");
    assert_eq!(causes(&result), ["randomness"]);
    let codes: Vec<String> = result.diagnoses[0]
        .evidence
        .iter()
        .filter(|evidence| evidence.code == "finding")
        .map(|evidence| {
            serde_json::to_value(&evidence.facts["finding_code"]).expect("JSON").as_str().expect("text").to_owned()
        })
        .collect();
    assert!(codes.contains(&"seed-differs".to_owned()) && codes.contains(&"curve-randomness".to_owned()), "{codes:?}");
}

/// A dump case with tables of operator tests in which `api` takes the place of the inaccurate operator.
fn tested(dump: &str, api: &str) -> GateResult {
    let pair = Pair::copy(&format!("dumps/{dump}"));
    for side in ["gpu", "npu"] {
        let tables = crate::data::fixture("operators/gelu-2-percent").join(side);
        for table in fs::read_dir(tables).expect("tables").flatten() {
            let text = fs::read_to_string(table.path()).expect("text").replace("Functional.gelu.0", api);
            fs::write(pair.side(side).join(table.file_name()), text).expect("written");
        }
    }
    pair.result()
}

#[test]
fn an_operator_that_fails_alone_confirms_the_culprit_of_a_dump() {
    let plain = Pair::copy("dumps/gpt_bf16_stats_attention_scale").result();
    let culprit = plain.culprit.as_ref().expect("a culprit");
    let api = culprit.op.trim_end_matches(".forward");
    let result = tested("gpt_bf16_stats_attention_scale", api);
    assert_eq!(result.culprit.as_ref().map(|culprit| culprit.op.as_str()), Some(culprit.op.as_str()));
    let first = result.diagnoses.iter().find(|diagnosis| diagnosis.place == culprit.tensor).expect("a cause");
    assert_eq!(first.evidence[0].code, "operator-inaccurate");
    let other = tested("gpt_bf16_stats_attention_scale", "Functional.another_operator.0");
    assert_eq!(causes(&other), causes(&plain), "another operator says nothing about it");
}

#[test]
fn what_a_dump_explains_is_not_told_again_by_the_curve() {
    let result = joined("glm_stats_mix_zero_getitem_grad", "diverging_trend", "identical-gpu-vs-npu");
    assert_eq!(causes(&result), ["zero-gradient"]);
    let result = joined("glm_stats_mix_fp16_saturation", "nan_from_step", "identical-gpu-vs-npu");
    assert_eq!(causes(&result), ["saturation"]);
}

#[test]
fn the_likeliest_comes_first_and_the_comment_shows_five_lines_at_most() {
    let result = joined("glm_stats_mix_inv_freq", "diverging_trend", "hyper-shell-differs");
    let found = causes(&result);
    assert!(found.contains(&"input-differs") && found.contains(&"hyperparameters-differ"), "{found:?}");
    let sureness: Vec<Sureness> = result.diagnoses.iter().map(|diagnosis| diagnosis.sureness).collect();
    assert!(sureness.windows(2).all(|pair| pair[0] >= pair[1]), "{sureness:?}");
    let mut many = result;
    let first = many.diagnoses[0].clone();
    many.diagnoses.extend(std::iter::repeat_n(first, 6));
    let templates = Templates::shipped();
    let options = summary::SummaryOptions {
        language: Language::En,
        limit: COMMENT_LIMIT,
        pictures: &[],
        diagram: true,
        templates: &templates,
    };
    let text = summary::render(&many, &options).expect("renders");
    let part = text.split("#### Likely causes").nth(1).and_then(|rest| rest.split("####").next()).expect("a part");
    assert_eq!(part.lines().filter(|line| line.contains("**")).count(), 5, "{part}");
}

#[test]
fn a_diagnosis_reads_in_both_languages_and_survives_a_round_through_json() {
    let mut result = crate::diagnoses::case("dumps/glm_stats_mix_zero_getitem_grad");
    for (language, word) in [(Language::En, "index_select"), (Language::Zh, "高级索引")] {
        let writer = Writer::from_result(&result, language, TextTarget::Plain);
        texts::write_diagnosis_texts(&mut result.diagnoses, &writer).expect("texts");
        let diagnosis = &result.diagnoses[0];
        assert!(diagnosis.advice.text.contains(word), "{}", diagnosis.advice.text);
        assert!(diagnosis.evidence.iter().all(|evidence| !evidence.text.is_empty()), "{:?}", diagnosis.evidence);
    }
    let text = serde_json::to_string(&result.diagnoses).expect("JSON");
    let back: Vec<precision_gate::result::diagnosis::Diagnosis> = serde_json::from_str(&text).expect("JSON");
    assert_eq!(back, result.diagnoses);
}

#[test]
fn a_waived_culprit_has_no_cause() {
    use precision_gate::gate::{self, Quiet, Request};
    let folder = crate::data::fixture("dumps/cnn_tensor_l1_fp16_linear");
    let codes: Vec<&str> = precision_gate::judge::register::all_rules().map(|rule| rule.code).collect();
    let waiver = "waivers: [ { code: other-precision, where: '*', reason: r, owner: o, expires: 2027-01-01 } ]";
    let policy = precision_gate::policy::Policy::parse("policy.yml", waiver, &codes).expect("a policy");
    let request = Request {
        baseline: TrustedLocation::own(folder.join("gpu").display().to_string()),
        several: Default::default(),
        candidate: folder.join("npu").display().to_string(),
        checks: Request::ALL_CHECKS.to_vec(),
        policy: precision_gate::policy::Policy { today: "2026-11-21".to_owned().try_into().expect("a date"), ..policy },
        matching: precision_gate::msprobe::dump::Matching::default(),
    };
    let result = gate::run(&request, &Quiet).expect("both sides are there").result;
    assert_eq!(causes(&result), [""; 0]);
}
