//! Every shared case: the cause that fits its kind comes first, by the table in `docs/diagnoses.md`; clean cases have none.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::data::{beside, fixture};
use crate::diagnoses::{advice, case, causes, evidence};

/// Causes by kind of fault, as the documentation lists them: rows of a table headed `kind`.
fn causes_by_kind() -> BTreeMap<String, Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/diagnoses.md");
    let text = fs::read_to_string(page).expect("the page");
    let table = text.split("| kind |").nth(1).expect("a table of kinds");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let codes = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        (codes(cells[1])[0].clone(), codes(cells[2]))
    })
    .collect()
}

#[test]
fn every_case_gets_the_cause_of_its_kind() {
    let known = causes_by_kind();
    let (mut seen, mut wrong) = (0, Vec::new());
    for group in ["dumps", "loss"] {
        for entry in fs::read_dir(fixture(group)).expect("cases").flatten() {
            let Ok(text) = fs::read(entry.path().join("case.json")) else { continue };
            let spec: Value = serde_json::from_slice(&text).expect("JSON");
            let kind = spec["truth"]["kind"].as_str().expect("a kind");
            let name = format!("{group}/{}", entry.file_name().to_string_lossy());
            let result = case(&name);
            let wanted = known.get(kind).unwrap_or_else(|| panic!("`{kind}` is not in docs/diagnoses.md"));
            let found = causes(&result);
            seen += 1;
            let fits = match found.first() {
                Some(first) => wanted.iter().any(|cause| cause == first),
                None => wanted.is_empty(),
            };
            if !fits {
                wrong.push(format!("{name} ({kind}): {found:?}, want {wanted:?}"));
            }
        }
    }
    assert!(seen >= 46, "only {seen} cases were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn clean_packs_have_no_cause() {
    for name in ["identical-same-env", "identical-gpu-vs-npu", "identical-checkpoint-job", "identical-multi-rank"] {
        assert_eq!(causes(&case(&format!("config-check/{name}"))), [""; 0], "{name}");
    }
}

/// The case study this gate grew from: each of its faults with advice that leads to the fix made there.
#[test]
fn the_case_study_gets_advice_that_leads_to_its_fixes() {
    for (name, cause, action) in [
        ("glm_stats_mix_dropout", "randomness", "randomness"),
        ("glm_stats_mix_fp16_saturation", "saturation", "saturation"),
        ("glm_stats_mix_jit_script_missing_bench", "missing-operations", "function-not-recorded"),
        ("glm_stats_mix_inv_freq", "input-differs", "inverse-frequencies"),
        ("glm_tensor_l1_inv_freq", "input-differs", "inverse-frequencies"),
        ("glm_stats_mix_zero_getitem_grad", "zero-gradient", "zero-gradient-of-index"),
        ("glm_stats_mix_zero_grad_undumped_op", "zero-gradient", "zero-gradient-of-undumped-index"),
        ("glm_stats_l0_layernorm_cancellation", "other-algorithm", "cancelling-variance"),
    ] {
        let result = case(&format!("dumps/{name}"));
        assert_eq!((causes(&result).first().copied(), advice(&result)), (Some(cause), action), "{name}");
    }
}

#[test]
fn equal_values_lead_from_a_zero_gradient_to_its_forward_call_and_across_a_gap() {
    let dumped = case("dumps/glm_stats_mix_zero_getitem_grad");
    assert!(
        evidence(&dumped).contains(&"forward-of") && evidence(&dumped).contains(&"same-value-next"),
        "{:?}",
        evidence(&dumped)
    );
    let evidence_of = |result: &precision_gate::result::GateResult, code: &str| {
        let evidence = result.diagnoses[0].evidence.iter().find(|evidence| evidence.code == code).cloned().expect(code);
        serde_json::to_value(evidence.facts).expect("JSON")
    };
    let forward = evidence_of(&dumped, "forward-of");
    assert_eq!(forward["forward"], "Tensor.__getitem__.0.forward");
    assert!(forward["place"].as_str().is_some_and(|place| place.ends_with("h = h[order]")), "{forward}");
    assert_eq!(evidence_of(&dumped, "same-value-next")["next"], "Tensor.permute.0.backward");
    let gap = evidence_of(&case("dumps/glm_stats_mix_zero_grad_undumped_op"), "lost-in-gap");
    assert_eq!(gap["before"], "Functional.layer_norm.0.backward");
    assert_eq!(gap["after"], "Tensor.permute.0.backward");
    let places = gap["places"].as_array().expect("two places");
    assert!(places[0].as_str().is_some_and(|place| place.contains("h.permute(1, 0, 2)")), "{places:?}");
    assert!(places[1].as_str().is_some_and(|place| place.contains("self.input_layernorm(x)")), "{places:?}");
}

#[test]
fn the_formula_that_fits_is_named() {
    assert!(evidence(&case("dumps/gpt_bf16_stats_attention_scale")).contains(&"formula-factor-twice"));
    assert!(evidence(&case("dumps/gpt_bf16_tensor_layernorm_eps")).contains(&"formula-epsilon"));
    assert!(evidence(&case("dumps/tp2_bf16_tensor_rank1_bad_tile")).contains(&"error-confined"));
}

/// Pairs of real curves, where they lie beside the checkout: nothing is wrong with the benign ones.
#[test]
fn benign_pairs_of_real_curves_have_no_cause() {
    let Some(root) = beside("loss-real") else { return };
    for entry in fs::read_dir(&root).expect("pairs").flatten() {
        let Ok(text) = fs::read(entry.path().join("pair.json")) else { continue };
        let pair: Value = serde_json::from_slice(&text).expect("JSON");
        let side = |side: &str| entry.path().join(pair[side]["file"].as_str().expect("a file"));
        let result = crate::diagnoses::result(&side("baseline"), &side("candidate"));
        if pair["class"].as_str().is_some_and(|class| class.starts_with("benign")) {
            assert_eq!(causes(&result), [""; 0], "{}", entry.path().display());
        }
    }
}
