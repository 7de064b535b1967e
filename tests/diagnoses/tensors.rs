//! Causes that tell what happened to a tensor: from one step to the next, and by what it holds.

use precision_gate::result::GateResult;

use crate::diagnoses::made::{Op, Pair, Stat, op, stat};
use crate::diagnoses::{advice, causes, evidence};

/// Layers of the model.
const LAYERS: u8 = 4;

/// A weight that moved by `moved` since the first step.
fn weight(layer: u8, moved: f64) -> Stat {
    let size = f64::from(layer) / 10.0;
    let (max, min, mean) = (0.31 + size + moved, -0.33 - size - moved, 0.011 + size / 10.0 + moved / 3.0);
    stat(max, min, mean, 5.3 + size + 4.0 * moved).shape(&[16, 16]).trained()
}

fn activation(layer: u8) -> Stat {
    let size = f64::from(layer) / 7.0;
    stat(2.13 + size, -2.07 - size, 0.051 + size / 9.0, 17.3 + size).shape(&[2, 8, 16])
}

fn gradient(layer: u8) -> Stat {
    let size = f64::from(layer) / 300.0;
    stat(0.0131 + size, -0.0127 - size, 0.0007 + size / 9.0, 0.0731 + size).shape(&[2, 8, 16])
}

/// A step of the model: every layer forward and back, its weights as given and all gradients times `factor`.
fn step(weights: impl Fn(u8) -> Stat, factor: f64) -> Vec<Op> {
    let forward = (0..LAYERS).map(|layer| {
        let inputs = [activation(layer), weights(layer)];
        op(&format!("Functional.linear.{layer}.forward"), &inputs, &[activation(layer + 1)])
    });
    let backward = (0..LAYERS).rev().map(|layer| {
        let of_weight = gradient(layer).shape(&[16, 16]).times(0.3);
        let outputs = [gradient(layer).times(factor), of_weight.times(factor)];
        op(&format!("Functional.linear.{layer}.backward"), &[gradient(layer + 1).times(factor)], &outputs)
    });
    forward.chain(backward).collect()
}

/// Two steps; at the second one, the sides' weights as given.
fn updated(baseline: impl Fn(u8) -> Stat, candidate: impl Fn(u8) -> Stat) -> GateResult {
    let pair = Pair::empty();
    for side in ["gpu", "npu"] {
        pair.write_step(side, 0, None, &step(|layer| weight(layer, 0.0), 1.0));
    }
    pair.write_step("gpu", 1, None, &step(baseline, 1.0));
    pair.write_step("npu", 1, None, &step(candidate, 1.0));
    pair.result()
}

#[test]
fn weights_that_all_move_otherwise_tell_of_the_optimizer() {
    let result = updated(|layer| weight(layer, 0.004), |layer| weight(layer, 0.008));
    assert_eq!(causes(&result), ["optimizer-differs"]);
    let told = evidence(&result);
    assert!(["updates-differ", "gradients-agreed", "update-factor"].iter().all(|code| told.contains(code)), "{told:?}");
    let alike = updated(|layer| weight(layer, 0.004), |layer| weight(layer, 0.004));
    assert_eq!(causes(&alike), [""; 0]);
}

#[test]
fn one_weight_of_other_numbers_tells_of_no_optimizer() {
    let result = updated(
        |layer| weight(layer, 0.004),
        |layer| if layer == 2 { weight(layer, 0.1) } else { weight(layer, 0.004) },
    );
    assert!(!causes(&result).contains(&"optimizer-differs"), "{:?}", causes(&result));
}

#[test]
fn a_weight_that_was_right_a_step_before_was_overwritten_and_not_loaded_wrong() {
    let of_layer = |layer: u8| weight(layer, 0.004);
    let result = updated(of_layer, |layer| of_layer(if layer == 2 { 1 } else { layer }));
    assert_eq!((causes(&result)[0], advice(&result)), ("wrong-weights-or-data", "overwritten-since"));
    assert_eq!(evidence(&result)[0], "tensor-elsewhere");
}

#[test]
fn weights_that_stay_are_lost_updates() {
    let all = updated(|layer| weight(layer, 0.004), |layer| weight(layer, 0.0));
    assert_eq!((causes(&all), advice(&all)), (vec!["lost-update"], "step-skipped"));
    let one = updated(
        |layer| weight(layer, 0.004),
        |layer| if layer == 0 { weight(layer, 0.0) } else { weight(layer, 0.004) },
    );
    assert_eq!((causes(&one), advice(&one)), (vec!["lost-update"], "lost-update"));
}

#[test]
fn one_factor_over_all_gradients_tells_of_their_reduction() {
    let pair = Pair::empty();
    pair.write("gpu", None, &step(|layer| weight(layer, 0.0), 1.0));
    pair.write("npu", None, &step(|layer| weight(layer, 0.0), 2.0));
    assert!(pair.causes().contains(&"gradient-reduction".to_owned()), "{:?}", pair.causes());
}

#[test]
fn copies_that_part_tell_of_a_missing_reduction() {
    let pair = Pair::empty();
    for (side, rank) in [("gpu", 0), ("gpu", 1), ("npu", 0), ("npu", 1)] {
        let moved = match (side, rank) {
            ("npu", 0) => 0.003,
            ("npu", _) => 0.005,
            _ => 0.004,
        };
        pair.write_step(side, 0, Some(rank), &step(|layer| weight(layer, 0.0), 1.0));
        pair.write_step(side, 1, Some(rank), &step(|layer| weight(layer, moved), 1.0));
    }
    let result = pair.result();
    assert_eq!((causes(&result)[0], evidence(&result)), ("gradient-reduction", vec!["copies-part"]));
}

/// The result where the candidate differs from the baseline in its forward calls.
fn compared(baseline: &[Op], candidate: &[Op]) -> GateResult {
    let pair = Pair::empty();
    pair.write("gpu", None, baseline);
    pair.write("npu", None, candidate);
    pair.result()
}

#[test]
fn exchanged_weights_are_found_by_what_they_hold() {
    let exchanged = |layer: u8| weight([0, 2, 1, 3][usize::from(layer)], 0.0);
    let result = compared(&step(|layer| weight(layer, 0.0), 1.0), &step(exchanged, 1.0));
    assert_eq!(causes(&result)[0], "wrong-weights-or-data");
    assert_eq!(evidence(&result), ["tensor-elsewhere", "tensors-exchanged"]);
    let unknown = compared(&step(|layer| weight(layer, 0.0), 1.0), &step(|layer| weight(layer + 5, 0.0), 1.0));
    assert!(!evidence(&unknown).contains(&"tensor-elsewhere"));
}

/// Two calls that multiply by tables that nothing dumped made.
fn tables(first: &Stat, second: &Stat) -> Vec<Op> {
    let call = |place: u8, table: &Stat| {
        let inputs = [activation(place), table.clone()];
        op(&format!("Tensor.__mul__.{place}.forward"), &inputs, &[activation(place + 1)])
    };
    vec![call(0, first), call(1, second)]
}

#[test]
fn tables_are_told_apart_by_factor_place_and_change() {
    let (one, other) = (stat(0.97, -0.93, 0.021, 6.1), stat(0.71, -0.83, 0.033, 4.7));
    let cause = |baseline: [&Stat; 2], candidate: [&Stat; 2]| {
        let result = compared(&tables(baseline[0], baseline[1]), &tables(candidate[0], candidate[1]));
        causes(&result)[0].to_owned()
    };
    assert_eq!(cause([&one, &other], [&one.clone().times(0.125), &other]), "scaled");
    assert_eq!(cause([&one, &other], [&other, &other]), "other-tensor");
    let changed = stat(0.95, -0.99, 0.051, 6.4);
    assert_eq!(cause([&one, &one], [&one, &changed]), "overwritten");
    assert_eq!(cause([&one, &other], [&one, &changed]), "input-differs");
}

#[test]
fn a_call_left_out_before_the_difference_is_told_before_the_input() {
    let (input, bias) = (activation(0), stat(0.97, -0.93, 0.021, 6.1).shape(&[2, 8, 16]));
    let linear = op("Functional.linear.0.forward", &[input, weight(0, 0.0)], &[activation(1)]);
    let add = op("Tensor.__add__.0.forward", &[activation(1), bias], &[activation(3).trained()]);
    let norm = |input: Stat| op("Functional.softmax.0.forward", &[input.trained()], &[activation(5)]);
    let baseline = [linear.clone(), add, norm(activation(3))];
    let result = compared(&baseline, &[linear, norm(activation(2))]);
    assert_eq!(causes(&result)[0], "missing-operations", "{:?}", causes(&result));
    assert!(evidence(&result).contains(&"difference-behind-gap"));
}
