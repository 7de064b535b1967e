//! The way in which a result is off: each pattern shows where the statistics show it, and nowhere else.

use crate::diagnoses::made::{Op, Pair, Stat, op, stat};
use crate::diagnoses::{advice, causes, evidence};
use precision_gate::result::GateResult;
use precision_gate::result::diagnosis::Sureness;

/// The result of one operation that differs, behind one that agrees.
fn differing(name: &str, inputs: &[Stat], baseline: &Stat, candidate: &Stat) -> GateResult {
    let before = op("Functional.relu.0.forward", &[stat(3.1, -2.9, 0.1, 7.7)], &[stat(3.1, 0.0, 0.9, 6.1)]);
    let side = |output: &Stat| vec![before.clone(), op(name, inputs, std::slice::from_ref(output))];
    both(&side(baseline), &side(candidate))
}

fn both(baseline: &[Op], candidate: &[Op]) -> GateResult {
    let pair = Pair::empty();
    pair.write("gpu", None, baseline);
    pair.write("npu", None, candidate);
    pair.result()
}

fn table() -> Stat {
    stat(2.013, -2.007, -0.001, 90.8).shape(&[128, 8])
}

fn indices() -> Stat {
    stat(23.0, 0.0, 11.5, 66.0).shape(&[1, 24]).dtype("torch.int64")
}

#[test]
fn a_lookup_within_its_table_reads_other_rows() {
    let (right, cut) = (stat(2.009, -1.816, -0.007, 6.6), stat(1.551, -1.816, -0.001, 6.5));
    let result = differing("Functional.embedding.0.forward", &[indices(), table()], &right, &cut);
    assert_eq!(evidence(&result), ["same-call", "other-rows", "largest-gone"]);
    assert_eq!(advice(&result), "other-rows");
    // Beyond the table it computes something else.
    let beyond = stat(2.9, -1.816, 0.3, 7.5);
    let result = differing("Functional.embedding.0.forward", &[indices(), table()], &right, &beyond);
    assert_eq!((evidence(&result), advice(&result)), (vec!["same-call"], "other-algorithm"));
}

#[test]
fn an_end_is_gone_only_where_the_other_end_agrees_and_the_mean_follows() {
    let (input, right) = (stat(1.3, -1.7, 0.05, 4.4), stat(2.0, -1.5, 0.1, 5.0));
    let told = |name: &str, candidate: &Stat| {
        evidence(&differing(name, std::slice::from_ref(&input), &right, candidate)).join(" ")
    };
    assert_eq!(told("Torch.cumsum.0.forward", &stat(1.6, -1.5, 0.08, 4.8)), "same-call largest-gone");
    assert_eq!(told("Torch.cumsum.0.forward", &stat(2.0, -1.2, 0.13, 4.8)), "same-call smallest-gone");
    assert_eq!(told("Torch.cumsum.0.forward", &stat(1.6, -1.5, 0.2, 4.8)), "same-call");
    assert_eq!(told("Torch.cumsum.0.forward", &stat(1.6, -1.1, 0.08, 4.1)), "same-call");
    // A function with a bound of its own always has that end.
    assert_eq!(told("Functional.silu.0.forward", &stat(1.6, -1.5, 0.08, 4.8)), "same-call");
}

#[test]
fn one_number_and_a_shift_are_told() {
    let (input, right) = (stat(1.3, -1.7, 0.05, 4.4), stat(2.0, -1.5, 0.1, 5.0));
    let told = |candidate: &Stat| {
        evidence(&differing("Torch.cumsum.0.forward", std::slice::from_ref(&input), &right, candidate)).join(" ")
    };
    assert_eq!(told(&stat(0.0, 0.0, 0.0, 0.0)), "same-call one-number");
    assert_eq!(told(&stat(2.5, -1.0, 0.6, 6.0)), "same-call values-shifted");
    assert_eq!(told(&stat(2.5, -1.0, 0.4, 6.0)), "same-call");
}

#[test]
fn a_factor_of_complex_numbers_needs_no_norm() {
    let spectrum = |factor: f64| stat(29.14, 0.0723, 4.78, 0.0).dtype("torch.complex64").trained().times(factor);
    let weight = || stat(1.03, 0.0066, 0.3, 0.0).dtype("torch.complex64").trained();
    let side = |input: Stat| {
        let gelu = op("Functional.gelu.0.forward", &[stat(3.1, -2.9, 0.1, 7.7)], &[stat(3.1, -0.1, 0.9, 6.1)]);
        vec![gelu, op("Torch.einsum.0.forward", &[input, weight()], &[stat(23.7, 0.13, 4.9, 30.0)])]
    };
    let result = both(&side(spectrum(1.0)), &side(spectrum(0.176_776_7)));
    assert_eq!((causes(&result)[0], advice(&result)), ("scaled", "scaled-by-undumped"));
    let other = stat(5.2, 0.02, 0.9, 0.0).dtype("torch.complex64").trained();
    assert_ne!(causes(&both(&side(spectrum(1.0)), &side(other))).first().copied(), Some("scaled"));
}

#[test]
fn nan_outside_of_a_domain_is_told_with_the_end_of_the_input() {
    let (right, broken) = (stat(1.3, -1.7, 0.05, 4.4), stat(f64::NAN, f64::NAN, f64::NAN, f64::NAN));
    let told = |name: &str, input: &Stat| {
        let result = differing(name, std::slice::from_ref(input), &right, &broken);
        (evidence(&result).join(" "), advice(&result).to_owned())
    };
    let outside = |code: &str| (format!("overflow-begins {code}"), "outside-domain".to_owned());
    assert_eq!(told("Torch.log.0.forward", &stat(3.0, -0.3, 1.0, 9.0)), outside("input-below-domain"));
    assert_eq!(told("Tensor.sqrt_.0.forward", &stat(3.0, -0.3, 1.0, 9.0)), outside("input-below-domain"));
    assert_eq!(told("Torch.acos.0.forward", &stat(1.01, -0.3, 0.4, 3.0)), outside("input-above-domain"));
    let within = |advice: &str| ("overflow-begins".to_owned(), advice.to_owned());
    assert_eq!(told("Torch.log.0.forward", &stat(3.0, 0.3, 1.0, 9.0)), within("broken-by-itself"));
    assert_eq!(told("Torch.exp.0.forward", &stat(3.0, -0.3, 1.0, 9.0)), within("broken-by-itself"));
    assert_eq!(told("Torch.exp.0.forward", &stat(300.0, -0.3, 1.0, 900.0)), within("overflow"));
}

#[test]
fn infinity_in_fp16_far_below_its_range_is_no_matter_of_range() {
    let told = |largest: f64| {
        let half = |max: f64, min: f64| stat(max, min, 0.05, 14.4).dtype("torch.float16");
        let inputs = [half(2.9, -2.7), half(0.74, -0.71)];
        let result =
            differing("Functional.linear.0.forward", &inputs, &half(largest, -1.4), &half(f64::INFINITY, -1.4));
        advice(&result).to_owned()
    };
    assert_eq!(told(1.4), "broken-within-range");
    assert_eq!(told(6.2e4), "overflow");
}

#[test]
fn a_gradient_that_no_call_records_is_sought_between_two_backward_calls() {
    let (input, weight) = (stat(2.3, -2.5, 0.1, 13.4), stat(0.31, -0.31, 0.001, 2.3).trained());
    let side = |received: f64| {
        let gradient = stat(0.132, -0.15, 0.001, 0.42);
        vec![
            op("Functional.linear.0.forward", &[input.clone(), weight.clone()], &[stat(1.5, -1.8, -0.17, 10.5)]),
            op("Tensor.index_add_.0.forward", &[stat(1.5, -1.1, -0.17, 9.5)], &[stat(1.7, -1.8, -0.17, 11.5)]),
            op("Tensor.index_add_.0.backward", std::slice::from_ref(&gradient), std::slice::from_ref(&gradient)),
            op("Functional.linear.0.backward", &[stat(received, -0.12, 0.01, 0.4)], &[stat(received, -0.2, 0.01, 0.6)]),
        ]
    };
    let result = both(&side(0.11), &side(0.33));
    let told = (causes(&result)[0], evidence(&result), advice(&result));
    assert_eq!(told, ("gradient-only", vec!["gradient-unrecorded"], "input-of-backward"));
    let sureness = |result: &GateResult| result.diagnoses[0].sureness;
    assert_eq!(sureness(&result), Sureness::Likely);
    assert_eq!(sureness(&both(&side(0.11), &side(0.111))), Sureness::Possible);
}

#[test]
fn nan_of_a_call_that_one_side_runs_asks_why_it_runs() {
    let before = |name: &str| op(name, &[stat(3.1, -2.9, 0.1, 7.7)], &[stat(3.1, -0.3, 0.9, 6.1)]);
    let last =
        |output: Stat| op("Functional.relu.0.forward", std::slice::from_ref(&output), std::slice::from_ref(&output));
    let broken = stat(f64::NAN, f64::NAN, f64::NAN, f64::NAN);
    let baseline = [before("Functional.linear.0.forward"), last(stat(3.1, -0.3, 0.9, 6.1))];
    for (name, end, code) in [
        ("Torch.log.0.forward", -0.3, "outside-domain-on-one-side"),
        ("Torch.log.0.forward", 0.3, "overflow-on-one-side"),
        ("Torch.sin.0.forward", -0.3, "overflow-on-one-side"),
    ] {
        let own = op(name, &[stat(3.1, end, 0.9, 6.1)], std::slice::from_ref(&broken));
        let result = both(&baseline, &[baseline[0].clone(), own, last(broken.clone())]);
        assert_eq!(advice(&result), code, "{name} {end}: {:?}", causes(&result));
    }
}

#[test]
fn gradients_in_fp16_tell_that_a_call_ran_on_fp16() {
    let (input, weight) = (stat(2.3, -2.5, 0.1, 13.4), stat(0.31, -0.31, 0.001, 2.3).trained());
    let side = |output: Stat, gradient: Stat| {
        vec![
            op("Functional.linear.0.forward", &[input.clone(), weight.clone()], &[output]),
            op("Functional.linear.0.backward", &[stat(0.11, -0.12, 0.01, 0.4)], &[gradient]),
        ]
    };
    let right = || stat(1.566_645, -1.852_895, -0.172_928, 10.595_17);
    let off = stat(1.566_045, -1.852_183, -0.172_961, 10.595_358);
    let stored = stat(0.132_446_289_062_5, -0.150_390_625, 0.001_16, 0.424_42);
    let wide = || stat(0.132_451_1, -0.150_387_3, 0.001_16, 0.424_42);
    let result = both(&side(right(), wide()), &side(off.clone(), stored));
    assert_eq!((evidence(&result), advice(&result)), (vec!["error-fits-type", "gradients-narrower"], "operands-cast"));
    let result = both(&side(right(), wide()), &side(off, wide()));
    assert_eq!((evidence(&result), advice(&result)), (vec!["error-fits-type"], "reduced-precision"));
}

#[test]
fn few_values_that_are_too_large_are_told_from_all_of_them() {
    let (input, right) = (stat(1.3, -1.7, 0.05, 4.4), stat(4.1, -4.1, 0.01, 186.0));
    let told = |candidate: &Stat| {
        let result = differing("Functional.linear.0.forward", std::slice::from_ref(&input), &right, candidate);
        (evidence(&result).join(" "), advice(&result).to_owned())
    };
    let few = ("same-call few-too-large".to_owned(), "few-too-large".to_owned());
    assert_eq!(told(&stat(10.2, -10.1, 0.05, 219.0)), few);
    assert_ne!(told(&stat(10.2, -9.1, 0.05, 420.0)), few, "all values are larger");
}

#[test]
fn complex_inputs_that_agree_in_magnitude_may_differ_in_phase() {
    let spectrum = || stat(29.14, 0.0723, 4.78, 90.0).dtype("torch.complex64");
    let (right, other) = (stat(21.7, -20.1, 0.3, 99.0), stat(21.3, -19.0, 0.5, 98.0));
    let result = differing("Torch.einsum.0.forward", &[spectrum()], &right, &other);
    assert_eq!((causes(&result)[0], advice(&result)), ("other-algorithm", "phase-unseen"));
}

#[test]
fn an_input_of_the_same_magnitudes_with_other_signs_is_told() {
    let side = |input: Stat| {
        let before = op("Tensor.__mul__.0.forward", &[stat(3.1, -2.9, 0.1, 7.7)], &[stat(3.1, -0.1, 0.9, 6.1)]);
        vec![before, op("Tensor.__mul__.1.forward", &[input.trained()], &[stat(2.0, -2.2, 0.2, 5.0)])]
    };
    let rotated = both(&side(stat(3.1, -2.5, 0.3, 7.7)), &side(stat(2.8, -3.1, -0.1, 7.7)));
    assert!(evidence(&rotated).contains(&"same-magnitudes"), "{:?}", evidence(&rotated));
    let other = both(&side(stat(3.1, -2.5, 0.3, 7.7)), &side(stat(2.8, -3.1, -0.1, 9.1)));
    assert!(!evidence(&other).contains(&"same-magnitudes"));
}

#[test]
fn an_argument_that_one_side_leaves_out_is_passed_there() {
    let pair = Pair::empty();
    let clamp = |output: &Stat| {
        let call = op("Torch.clamp.0.forward", &[stat(3.1, -2.9, 0.1, 7.7)], std::slice::from_ref(output));
        [call.with("max", 1.5)]
    };
    pair.write("gpu", None, &clamp(&stat(1.5, -2.9, 0.05, 7.1)));
    pair.write("npu", None, &clamp(&stat(3.1, -2.9, 0.1, 7.7)));
    pair.edit("npu", "Torch.clamp.0.forward", |record| record.replace(r#"{"type": "float", "value": 1.5}"#, "null"));
    let result = pair.result();
    assert_eq!((causes(&result)[0], advice(&result)), ("argument-differs", "argument-left-out"));
}
