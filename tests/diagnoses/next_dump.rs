//! The next dump: what a result asks msprobe to collect.

use std::fs;

use assert_cmd::Command;
use precision_gate::diagnose::next_dump;
use serde_json::Value;

use crate::diagnoses::case;

/// The configuration of a case's next dump; null where it asks for none.
fn config(name: &str) -> Value {
    case(name)
        .next_dump
        .map_or(Value::Null, |next| serde_json::to_value(next_dump::msprobe_config(&next, "./dump")).expect("JSON"))
}

#[test]
fn a_call_in_statistics_is_dumped_with_its_tensors() {
    let config = config("dumps/glm_stats_mix_inv_freq");
    assert_eq!(config["task"], "tensor");
    assert_eq!(config["level"], "L1");
    assert_eq!(config["step"], serde_json::json!([0]));
    assert_eq!(config["tensor"]["list"], serde_json::json!(["Torch.einsum.0.forward"]));
    let next = case("dumps/glm_stats_mix_inv_freq").next_dump.expect("a plan");
    // fp16: 12 positions, 8 frequencies and their product.
    assert_eq!(next.bytes, Some(2 * (12 + 8 + 96)));
}

#[test]
fn a_module_is_dumped_with_everything_inside() {
    let config = config("dumps/glm_stats_l0_layernorm_cancellation");
    assert_eq!(config["level"], "mix");
    assert_eq!(config["tensor"]["list"], serde_json::json!(["Module.layers.0.input_layernorm.LayerNorm.forward.0"]));
}

#[test]
fn a_gap_is_dumped_from_both_sides_of_it() {
    let config = config("dumps/glm_stats_mix_zero_grad_undumped_op");
    assert_eq!(
        config["tensor"]["list"],
        serde_json::json!([
            "Tensor.permute.0.forward",
            "Tensor.permute.0.backward",
            "Functional.layer_norm.0.forward",
            "Functional.layer_norm.0.backward"
        ])
    );
}

#[test]
fn a_curve_asks_for_the_step_at_which_it_parts() {
    let config = config("loss/nan_from_step");
    assert_eq!((&config["task"], &config["level"]), (&Value::from("statistics"), &Value::from("mix")));
    assert_eq!(config["step"], serde_json::json!([69]), "msprobe counts from 0");
    let step = |name: &str| case(name).next_dump.expect("a plan").step;
    assert_eq!(step("loss/diverging_trend"), 0, "where the gradients part, before the loss does");
    assert_eq!(step("loss/spike_recovers"), 59);
}

#[test]
fn tensors_in_hand_and_clean_runs_ask_for_nothing() {
    for name in [
        "dumps/cnn_tensor_l1_fp16_linear",
        "dumps/zoo_tensor_identical",
        "dumps/zoo_stats_scalar_bool_int",
        "loss/identical",
    ] {
        assert_eq!(config(name), Value::Null, "{name}");
    }
}

#[test]
fn the_command_writes_the_file_or_says_that_there_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let gate = || Command::new(assert_cmd::cargo::cargo_bin!("precision-gate"));
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, is_written) in [("glm_stats_mix_inv_freq", true), ("zoo_tensor_identical", false)] {
        let case = crate::data::fixture("dumps").join(name);
        let sides = [case.join("gpu").display().to_string(), case.join("npu").display().to_string()];
        gate().args(["compare", &sides[0], &sides[1], "--out", &path(name), "-q"]).output().expect("ran");
        let result = path(&format!("{name}/result.json"));
        let output = path(&format!("{name}.json"));
        let next = gate().args(["next-dump", &result, "-o", &output, "--dump-path", "./here"]).output().expect("ran");
        assert_eq!(next.status.code(), Some(0), "{name}");
        let said = String::from_utf8_lossy(&next.stdout).into_owned();
        assert_eq!(said.starts_with("nothing more to collect"), !is_written, "{said}");
        assert_eq!(std::path::Path::new(&output).exists(), is_written, "{name}");
        if is_written {
            let config: Value = serde_json::from_slice(&fs::read(&output).expect("written")).expect("JSON");
            assert_eq!(config["dump_path"], "./here");
        }
    }
}
