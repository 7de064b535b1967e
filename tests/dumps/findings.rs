//! Findings that few dumps give: each with the dump that gives it, and its neighbour that does not.

use std::fs;
use std::path::Path;

use precision_gate::result::GateResult;

use crate::changes::data::fixture;
use crate::changes::{codes, judge};
use crate::dumps::build::{Op, Tensor, dump, x};
use crate::dumps::support::fixtures;

/// A sound tensor of six elements.
fn sound() -> Tensor {
    Tensor::f32(&[2, 3], &[1.0, -2.0, 3.0, 4.0, 5.0, 6.0])
}

/// Judges two dumps of one task; `change` has a hand in the candidate's folder.
fn judged(task: &str, sides: [&[Op]; 2], policy: &str, change: impl Fn(&Path)) -> GateResult {
    let folder = tempfile::tempdir().expect("a folder");
    let [gpu, npu] = ["gpu", "npu"].map(|side| folder.path().join(side));
    for (side, operations) in [&gpu, &npu].into_iter().zip(sides) {
        dump(&side.join("step0/rank0"), task, operations);
    }
    change(&npu.join("step0/rank0"));
    judge(&gpu, &npu, policy).expect("both sides are there")
}

/// Takes a text out of the records of a candidate, or puts another in its place.
fn replaced(folder: &Path, from: &str, to: &str) {
    let path = folder.join("dump.json");
    let text = fs::read_to_string(&path).expect("records");
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).expect("written");
}

/// A code, the task of both dumps, and the change of the candidate's that gives it.
type Change = (&'static str, &'static str, fn(&Path));

const CHANGES: [Change; 9] = [
    ("data-missing", "tensor", |npu| replaced(npu, r#", "data_name": "Torch.X.0.forward.output.0.pt""#, "")),
    ("tensor-unreadable", "tensor", |npu| {
        fs::write(npu.join("dump_tensor_data/Torch.X.0.forward.output.0.pt"), "PK").expect("written");
    }),
    ("statistics-missing", "statistics", |npu| replaced(npu, r#""Norm": 9.53"#, r#""Norm": null, "was": 9.53"#)),
    ("statistics-unreadable", "statistics", |npu| replaced(npu, r#""Max": 6.0"#, r#""Max": "six""#)),
    ("statistics-contradict", "tensor", |npu| replaced(npu, r#""Norm": 9.53"#, r#""Norm": 19.07"#)),
    ("requires-grad-missing", "statistics", |npu| replaced(npu, r#", "requires_grad": false"#, "")),
    ("record-unreadable", "statistics", |npu| replaced(npu, r#""shape": [2, 3]"#, r#""shape": "2, 3""#)),
    ("record-repeated", "statistics", |npu| {
        replaced(
            npu,
            r#""data": {"#,
            r#""data": {"Torch.X.0.forward": {"input_args": [], "input_kwargs": {}, "output": []}, "#,
        );
    }),
    ("side-file-unreadable", "statistics", |npu| fs::write(npu.join("stack.json"), "{").expect("written")),
];

#[test]
fn each_change_of_a_sound_dump_has_its_finding() {
    let operations = x(sound());
    let mut wrong = Vec::new();
    for (code, task, change) in CHANGES {
        let untouched = judged(task, [&operations, &operations], "", |_| {});
        assert!(!codes(&untouched).contains(&code), "{code} without a change");
        let changed = judged(task, [&operations, &operations], "", change);
        if !codes(&changed).contains(&code) {
            wrong.push(format!("{code}: {:?}", changed.findings));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn one_element_that_is_off_is_told_from_many_that_are_off_a_little() {
    let values = |off: &dyn Fn(usize) -> f32| -> Vec<f32> {
        (0..4096).map(|index| ((index % 97) as f32 - 48.0) * (1.0 + off(index))).collect()
    };
    let tensor = |values: &[f32]| x(Tensor::f32(&[64, 64], values));
    let baseline = tensor(&values(&|_| 0.0));
    for (candidate, is_outlier) in [
        (values(&|index| if index == 1000 { 1e-3 } else { 0.0 }), true),
        (values(&|index| if index % 2 == 0 { 3e-7 } else { -3e-7 }), false),
    ] {
        let result = judged("tensor", [&baseline, &tensor(&candidate)], "", |_| {});
        assert_eq!(codes(&result).contains(&"outliers"), is_outlier, "{:?}", result.findings);
    }
}

/// A chain of calls, each of which makes its input's error `growth` times as large.
#[test]
fn errors_that_no_single_call_makes_are_told_where_they_build_up() {
    let chain = |error: f64, growth: f64| -> Vec<Op> {
        let tensor = |call: i32| {
            // Both sides start from the same input.
            let off = if call == 0 { 0.0 } else { error * growth.powi(call) };
            let values: Vec<f64> = (1..=64).map(|index| f64::from(index + call) * (1.0 + off)).collect();
            #[allow(clippy::cast_possible_truncation, reason = "float32 is what is dumped")]
            Tensor::f32(&[64], &values.iter().map(|value| *value as f32).collect::<Vec<_>>())
        };
        (0..40)
            .map(|call| Op::output(&format!("Torch.mul.{call}.forward"), tensor(call + 1)).input(tensor(call)))
            .collect()
    };
    for (growth, is_told) in [(1.4, true), (1.0, false)] {
        let result = judged("tensor", [&chain(0.0, 1.0), &chain(1e-6, growth)], "", |_| {});
        assert_eq!(codes(&result).contains(&"error-accumulates"), is_told, "{growth}: {:?}", result.findings);
        assert!(!codes(&result).contains(&"output-diverges"), "{:?}", result.findings);
    }
}

#[test]
fn a_published_rule_fails_is_met_or_has_nothing_to_hold() {
    let preset = "dump: {preset: numpy}";
    let off = |factor: f32| x(Tensor::f32(&[3], &[1.0, 2.0 * factor, 3.0]));
    for (task, factor, code) in [
        ("tensor", 1.01, Some("preset-not-met")),
        ("tensor", 1.0, None),
        ("statistics", 1.0, Some("preset-needs-data")),
    ] {
        let result = judged(task, [&off(1.0), &off(factor)], preset, |_| {});
        for known in ["preset-not-met", "preset-needs-data"] {
            assert_eq!(codes(&result).contains(&known), code == Some(known), "{task} {factor}: {:?}", result.findings);
        }
    }
}

#[test]
fn a_value_that_one_side_lacks_is_told() {
    let one = [Op::output("Torch.X.0.forward", sound())];
    let two = [Op::output("Torch.X.0.forward", sound()).and_output(sound())];
    for (candidate, is_told) in [(&one, false), (&two, true)] {
        let result = judged("statistics", [&one, candidate], "", |_| {});
        assert_eq!(codes(&result).contains(&"value-missing"), is_told, "{:?}", result.findings);
    }
}

/// The same values in other places are a cause of their own; other values are not.
#[test]
fn a_rolled_tensor_is_told_from_one_of_other_values() {
    let values: Vec<f32> = (0..64_u8).map(|index| (f32::from(index) * 1.7).sin()).collect();
    let tensor = |values: &[f32]| x(Tensor::f32(&[8, 8], values));
    let rolled = [&values[8..], &values[..8]].concat();
    let other: Vec<f32> = rolled.iter().map(|value| value * 1.5).collect();
    for (candidate, is_moved) in [(rolled, true), (other, false)] {
        let result = judged("tensor", [&tensor(&values), &tensor(&candidate)], "", |_| {});
        let causes: Vec<&str> = result.diagnoses.iter().map(|cause| cause.cause.as_str()).collect();
        assert_eq!(causes.contains(&"permuted"), is_moved, "{causes:?}: {:?}", codes(&result));
    }
}

/// Recorded pairs that give a code, beside recorded ones that do not.
#[test]
fn recorded_pairs_have_the_findings_that_they_were_made_for() {
    for (case, policy, code, neighbour) in [
        ("dumps/legacy_ptdbg_api_stack_npy", "", "decomposed-otherwise", "dumps/legacy_ptdbg_three_statistics"),
        ("dumps/md5_inplace_args", "", "in-place-argument", "dumps/md5_identical"),
        ("health/pair-nan-candidate-only", "", "not-a-number-appears", "dumps/zoo_stats_scalar_bool_int"),
        ("dumps/zoo_stats_scalar_bool_int", "", "not-a-number-on-both", "dumps/md5_identical"),
        ("dumps/zoo_stats_scalar_bool_int", "", "requires-grad-differs", "dumps/md5_identical"),
        ("dumps/benign_amp_bf16_stats", "profile: bit-exact", "not-bit-exact", "dumps/md5_identical"),
        ("dumps/broken_empty_dump", "", "nothing-compared", "dumps/broken_missing_rank"),
        ("dumps/broken_missing_rank", "", "rank-missing", "dumps/broken_missing_step"),
        ("dumps/broken_missing_step", "", "step-missing", "dumps/broken_missing_rank"),
        ("dumps/broken_task_differs", "", "task-differs", "dumps/broken_missing_rank"),
    ] {
        let result_of = |case: &str| {
            let folder = fixture(case);
            judge(&folder.join("gpu"), &folder.join("npu"), policy).expect("judged")
        };
        let result = result_of(case);
        assert!(codes(&result).contains(&code), "{case}: {code}: {:?}", codes(&result));
        assert!(!codes(&result_of(neighbour)).contains(&code), "{neighbour}: {code}");
    }
}

/// The conversion to another type that only the candidate runs stands where the numbers begin to differ.
#[test]
fn an_operation_of_the_candidate_alone_is_blamed_for_what_follows_it() {
    let case = fixtures().join("zoo_tensor_dtype_mismatch");
    let sides = [case.join("gpu"), case.join("npu")];
    let with = judge(&sides[1], &sides[0], "").expect("judged");
    assert!(codes(&with).contains(&"other-operation"), "{:?}", codes(&with));
    assert!(!codes(&judge(&sides[0], &sides[1], "").expect("judged")).contains(&"other-operation"));
}
