//! Each cause appears on its evidence and goes when that is taken away, the rest of the difference staying.

use crate::diagnoses::made::{Op, Pair, Stat, op, stat};
use crate::diagnoses::{advice, case, causes, evidence};

/// Both sides of one process.
fn pair(baseline: &[Op], candidate: &[Op]) -> Pair {
    let pair = Pair::empty();
    pair.write("gpu", None, baseline);
    pair.write("npu", None, candidate);
    pair
}

/// One operation with an input and an output, alone after one that agrees.
fn single(name: &str, input: &Stat, output: &Stat) -> Vec<Op> {
    let before = op("Functional.embedding.0.forward", &[stat(3.1, -2.9, 0.1, 7.7)], std::slice::from_ref(input));
    vec![before, op(name, std::slice::from_ref(input), std::slice::from_ref(output))]
}

/// The first cause of a pair that differs in one operation's output.
fn first_of(name: &str, baseline: &Stat, candidate: &Stat) -> Option<String> {
    let input = stat(1.3, -1.7, 0.05, 4.4);
    pair(&single(name, &input, baseline), &single(name, &input, candidate)).causes().into_iter().next()
}

#[test]
fn randomness_goes_with_the_probability() {
    let operation = "Functional.dropout.0.forward";
    let dropped = Pair::copy("dumps/glm_stats_mix_dropout");
    assert_eq!(dropped.causes()[0], "randomness");
    for side in ["gpu", "npu"] {
        dropped.edit(side, operation, |record| record.replace("\"value\": 0.1", "\"value\": 0.0"));
    }
    assert!(!dropped.causes().contains(&"randomness".to_owned()));
    let evaluated = Pair::copy("dumps/glm_stats_mix_dropout");
    for side in ["gpu", "npu"] {
        evaluated.edit(side, operation, |record| record.replacen("\"value\": true", "\"value\": false", 1));
    }
    assert!(!evaluated.causes().contains(&"randomness".to_owned()));
}

#[test]
fn randomness_of_draws_goes_with_the_draw() {
    let (ours, theirs) = (stat(2.1, -2.0, 0.1, 5.0), stat(2.6, -1.8, 0.2, 5.6));
    assert_eq!(first_of("Torch.randn.0.forward", &ours, &theirs).as_deref(), Some("randomness"));
    assert_ne!(first_of("Torch.sin.0.forward", &ours, &theirs).as_deref(), Some("randomness"));
}

#[test]
fn saturation_goes_with_the_largest_number_of_the_type() {
    let operation = "Tensor.__mul__.0.forward";
    let saturated = Pair::copy("dumps/glm_stats_mix_fp16_saturation");
    assert_eq!(saturated.causes()[0], "saturation");
    saturated.edit("npu", operation, |record| record.replace("65504.0", "65000.0"));
    let causes = saturated.causes();
    assert!(!causes.contains(&"saturation".to_owned()) && causes[0] == "overflow", "{causes:?}");
}

#[test]
fn overflow_goes_where_all_is_finite() {
    let healthy = stat(2.1, -2.0, 0.1, 5.0);
    let broken = stat(f64::INFINITY, -2.0, f64::INFINITY, f64::INFINITY);
    assert_eq!(first_of("Torch.exp.0.forward", &healthy, &broken).as_deref(), Some("overflow"));
    assert_ne!(first_of("Torch.exp.0.forward", &healthy, &healthy.clone().times(3.0)).as_deref(), Some("overflow"));
}

#[test]
fn a_zero_gradient_goes_with_its_zeros() {
    for (name, operation) in [
        ("glm_stats_mix_zero_getitem_grad", "Tensor.__getitem__.0.backward"),
        ("glm_stats_mix_zero_grad_undumped_op", "Tensor.permute.0.backward"),
    ] {
        let pair = Pair::copy(&format!("dumps/{name}"));
        assert_eq!(pair.causes()[0], "zero-gradient", "{name}");
        pair.edit("npu", operation, |record| record.replace("\"Max\": 0.0", "\"Max\": 0.02"));
        assert!(!pair.causes().contains(&"zero-gradient".to_owned()), "{name}: {:?}", pair.causes());
    }
}

#[test]
fn a_gap_tells_of_an_index_only_where_values_merely_move() {
    let pair = Pair::copy("dumps/glm_stats_mix_zero_grad_undumped_op");
    pair.edit("gpu", "Tensor.permute.0.backward", |record| record.replace("0.03939962014555931", "0.05"));
    let result = pair.result();
    assert_eq!((causes(&result)[0], advice(&result)), ("zero-gradient", "zero-gradient-undumped"));
    assert!(!evidence(&result).contains(&"only-moved"));
}

fn ranks(collective: [&Stat; 2], local: [&Stat; 2]) -> Pair {
    let (input, healthy) = (stat(1.3, -1.7, 0.05, 4.4), stat(2.1, -2.0, 0.1, 5.0));
    let operations = |product: &Stat, reduced: &Stat| {
        vec![
            op("Functional.linear.0.forward", std::slice::from_ref(&input), std::slice::from_ref(product)),
            op("Distributed.all_reduce.0.forward", std::slice::from_ref(product), std::slice::from_ref(reduced)),
        ]
    };
    let pair = Pair::empty();
    for rank in [0, 1] {
        pair.write("gpu", Some(rank), &operations(&healthy, collective[0]));
    }
    pair.write("npu", Some(0), &operations(local[0], collective[1]));
    pair.write("npu", Some(1), &operations(local[1], collective[1]));
    pair
}

#[test]
fn communication_goes_where_a_local_operation_differs() {
    let (healthy, sum, other) = (stat(2.1, -2.0, 0.1, 5.0), stat(4.2, -4.0, 0.2, 10.0), stat(4.9, -3.1, 0.6, 12.0));
    let collective = ranks([&sum, &other], [&healthy, &healthy]);
    assert_eq!(collective.causes()[0], "communication");
    let local = ranks([&sum, &other], [&healthy, &healthy.clone().times(1.5)]);
    assert!(!local.causes().contains(&"communication".to_owned()), "{:?}", local.causes());
}

#[test]
fn corruption_of_one_rank_goes_where_every_rank_errs() {
    let (healthy, sum) = (stat(2.1, -2.0, 0.1, 5.0), stat(4.2, -4.0, 0.2, 10.0));
    let wrong = stat(2.9, -2.0, 0.13, 5.4);
    let alone = ranks([&sum, &sum], [&healthy, &wrong]);
    assert_eq!(alone.causes()[0], "silent-corruption", "{:?}", alone.causes());
    let all = ranks([&sum, &sum], [&wrong, &wrong]);
    assert!(!all.causes().contains(&"silent-corruption".to_owned()), "{:?}", all.causes());
}

#[test]
fn corruption_in_data_goes_with_the_tile() {
    let pair = Pair::copy("dumps/tp2_bf16_tensor_rank1_bad_tile");
    assert_eq!(pair.causes()[0], "silent-corruption");
    let name = "step0/rank1/dump_tensor_data/Functional.linear.0.forward.output.0.pt";
    std::fs::copy(pair.side("gpu").join(name), pair.side("npu").join(name)).expect("copied");
    assert!(!pair.causes().contains(&"silent-corruption".to_owned()), "{:?}", pair.causes());
}

#[test]
fn a_near_tie_goes_without_noise_to_tie_in() {
    let indices = |max: f64| stat(max, 0.0, 0.0, 0.0).dtype("torch.int64").shape(&[4, 2]);
    let scores = stat(0.9, 0.1, 0.4, 2.6);
    let noisy = stat(0.900_000_1, 0.1, 0.4, 2.6);
    let calls = |scores: &Stat, chosen: f64| {
        vec![
            op("Functional.linear.0.forward", &[stat(1.3, -1.7, 0.05, 4.4)], std::slice::from_ref(scores)),
            op("Torch.topk.0.forward", std::slice::from_ref(scores), &[indices(chosen)]),
        ]
    };
    let tie = pair(&calls(&scores, 7.0), &calls(&noisy, 6.0));
    assert_eq!(tie.causes(), ["near-tie"]);
    let exact = pair(&calls(&scores, 7.0), &calls(&scores, 6.0));
    assert!(!exact.causes().contains(&"near-tie".to_owned()), "{:?}", exact.causes());
}

#[test]
fn another_input_goes_where_it_is_equal() {
    let pair = Pair::copy("dumps/glm_stats_mix_inv_freq");
    let result = pair.result();
    assert_eq!((causes(&result)[0], advice(&result)), ("input-differs", "inverse-frequencies"));
    for operation in ["Torch.einsum.0.forward", "Torch.einsum.3.forward"] {
        let table =
            |record: &str| record.replace("0.0003161430358886719", "0.5").replace("0.0003151893615722656", "0.51");
        pair.edit("gpu", operation, table);
        pair.edit("npu", operation, table);
    }
    let result = pair.result();
    assert_eq!((causes(&result)[0], advice(&result)), ("input-differs", "input-differs"), "no table of frequencies");
    assert_eq!(causes(&crate::diagnoses::result(&pair.side("gpu"), &pair.side("gpu"))), [""; 0]);
}

#[test]
fn wrong_weights_go_where_only_digits_differ() {
    let weight = stat(0.25, -0.24, 0.002, 2.5).shape(&[20, 16]).trained();
    let input = stat(1.3, -1.7, 0.05, 4.4);
    let call = |weight: &Stat| {
        vec![op("Functional.linear.0.forward", &[input.clone(), weight.clone()], &[stat(2.1, -2.0, 0.1, 5.0)])]
    };
    let other = stat(0.25, -0.18, -0.04, 3.1).shape(&[20, 16]).trained();
    assert_eq!(pair(&call(&weight), &call(&other)).causes(), ["wrong-weights-or-data"]);
    let close = weight.clone().times(1.0001);
    assert_eq!(pair(&call(&weight), &call(&close)).causes(), ["input-differs"]);
    let tokens = |max: f64| {
        vec![op(
            "Functional.embedding.0.forward",
            &[stat(max, 3.0, 0.0, 0.0).dtype("torch.int64")],
            &[stat(2.1, -2.0, 0.1, 5.0)],
        )]
    };
    assert_eq!(pair(&tokens(60.0), &tokens(59.0)).causes()[0], "wrong-weights-or-data");
    assert_eq!(pair(&tokens(60.0), &tokens(60.0)).causes(), [""; 0]);
}

#[test]
fn reduced_precision_goes_with_the_size_of_the_error_and_the_kind_of_operation() {
    let healthy = stat(2.1, -2.013, 0.1, 5.0);
    let shifted = |by: f64| stat(2.1 + 2.1 * by, -2.013 + 2.0 * by, 0.1, 5.0 - 0.3 * by);
    assert_eq!(first_of("Functional.linear.0.forward", &healthy, &shifted(4e-4)).as_deref(), Some("reduced-precision"));
    assert_eq!(
        first_of("Torch.matmul.0.forward", &healthy, &shifted(5e-3)).as_deref(),
        Some("reduced-precision"),
        "bf16"
    );
    assert_ne!(first_of("Functional.linear.0.forward", &healthy, &shifted(0.2)).as_deref(), Some("reduced-precision"));
    assert_ne!(first_of("Functional.gelu.0.forward", &healthy, &shifted(4e-4)).as_deref(), Some("reduced-precision"));
}

#[test]
fn a_narrow_store_goes_with_numbers_the_narrow_type_cannot_hold() {
    let wide = stat(2.100_3, -2.013_7, 0.1, 5.0);
    let narrow = stat(2.099_609_375, -2.013_671_875, 0.1, 5.001);
    assert_eq!(first_of("Functional.softmax.0.forward", &wide, &narrow).as_deref(), Some("reduced-precision"));
    let neither = stat(2.099_6, -2.013_6, 0.1, 5.001);
    assert_ne!(first_of("Functional.softmax.0.forward", &wide, &neither).as_deref(), Some("reduced-precision"));
}

#[test]
fn a_formula_goes_where_it_does_not_fit() {
    let input = stat(1.3, -1.7, 0.05, 4.4);
    let call = |output: &Stat| {
        let mut calls = single("Torch.baddbmm.0.forward", &input, output);
        calls[1] = calls[1].clone().with("alpha", 0.25);
        calls
    };
    let healthy = stat(2.4, -1.9, 0.17, 16.0);
    let twice = pair(&call(&healthy), &call(&healthy.clone().times(0.25))).result();
    assert_eq!((causes(&twice)[0], evidence(&twice)[1]), ("other-algorithm", "formula-factor-twice"));
    let uneven = pair(&call(&healthy), &call(&stat(0.6, -0.9, 0.05, 9.0))).result();
    assert!(!evidence(&uneven).iter().any(|evidence| evidence.starts_with("formula")), "{:?}", evidence(&uneven));
}

#[test]
fn a_bias_left_out_is_found_by_its_mean() {
    let (input, weight) = (stat(1.3, -1.7, 0.05, 4.4), stat(0.25, -0.24, 0.002, 2.5).shape(&[8, 16]).trained());
    let bias = stat(0.9, 0.1, 0.5, 1.6).shape(&[8]).trained();
    let call = |output: Stat| {
        vec![op("Functional.linear.0.forward", &[input.clone(), weight.clone(), bias.clone()], &[output])]
    };
    let with = call(stat(2.4, -1.9, 0.6, 6.0));
    let result = pair(&with, &call(stat(1.7, -2.6, 0.1, 5.1))).result();
    assert_eq!((causes(&result)[0], evidence(&result)[1]), ("other-algorithm", "formula-bias-left-out"));
    let result = pair(&with, &call(stat(1.7, -2.6, 0.3, 5.1))).result();
    assert!(!evidence(&result).contains(&"formula-bias-left-out"));
}

#[test]
fn missing_operations_go_where_both_sides_recorded_the_same() {
    let pair = Pair::copy("dumps/glm_stats_mix_jit_script_missing_bench");
    assert_eq!(pair.causes(), ["missing-operations"]);
    assert_eq!(causes(&crate::diagnoses::result(&pair.side("npu"), &pair.side("npu"))), [""; 0]);
    assert_eq!(causes(&case("dumps/broken_empty_dump")), [""; 0], "nothing in agreement around it");
}

#[test]
fn plain_differences_go_where_they_are_equal() {
    for (name, cause, operation, from, to) in [
        ("zoo_stats_scalar_bool_int", "argument-differs", "Torch.clamp.0.forward", "\"value\": 1.25", "\"value\": 1.0"),
        ("md5_one_diff", "checksum-differs", "Functional.linear.0.forward", "\"md5\"", "\"none\""),
    ] {
        let pair = Pair::copy(&format!("dumps/{name}"));
        assert_eq!(pair.causes()[0], cause, "{name}");
        for side in ["gpu", "npu"] {
            pair.edit(side, operation, |record| record.replace(from, to));
        }
        assert_ne!(pair.causes().first().map(String::as_str), Some(cause), "{name}");
    }
    for (name, cause) in
        [("zoo_tensor_shape_mismatch", "shape-differs"), ("zoo_tensor_dtype_mismatch", "dtype-differs")]
    {
        let pair = Pair::copy(&format!("dumps/{name}"));
        assert_eq!(pair.causes()[0], cause, "{name}");
        assert_eq!(causes(&crate::diagnoses::result(&pair.side("npu"), &pair.side("npu"))), [""; 0], "{name}");
    }
}

#[test]
fn gradient_only_goes_where_the_forward_pass_differs_too() {
    let (input, healthy, wrong) = (stat(1.3, -1.7, 0.05, 4.4), stat(2.1, -2.0, 0.1, 5.0), stat(2.9, -2.0, 0.4, 5.9));
    let calls = |forward: &Stat, backward: &Stat| {
        vec![
            op("Functional.linear.0.forward", std::slice::from_ref(&input), std::slice::from_ref(forward)),
            op("Functional.linear.0.backward", std::slice::from_ref(&input), std::slice::from_ref(backward)),
        ]
    };
    let backward = stat(0.03, -0.04, 0.001, 0.2);
    let argument = backward.clone().dtype("torch.bfloat16");
    let only = pair(&calls(&healthy, &backward), &calls(&healthy, &wrong));
    assert_eq!(only.causes()[0], "other-algorithm");
    let other = pair(&calls(&healthy, &argument), &calls(&wrong, &argument));
    assert!(!other.causes().contains(&"gradient-only".to_owned()));
    let curve = Pair::copy("loss/diverging_trend");
    assert_eq!(curve.causes()[0], "gradient-only");
    std::fs::remove_file(curve.side("npu").join("trainer_state.json")).expect("there");
    let text =
        std::fs::read_to_string(crate::data::fixture("loss/diverging_trend/npu/trainer_state.json")).expect("text");
    let equal = text.replacen("1.172806978225708", "1.305770993232727", 1);
    std::fs::write(curve.side("npu").join("trainer_state.json"), equal).expect("written");
    assert!(!curve.causes().contains(&"gradient-only".to_owned()), "{:?}", curve.causes());
}

#[test]
fn curves_name_a_cause_only_with_its_shape() {
    let edited = |name: &str, from: &str, to: &str| {
        let pair = Pair::copy(name);
        let path = pair.side("npu").join("trainer_state.json");
        let text = std::fs::read_to_string(&path).expect("text");
        assert!(text.contains(from), "{name} does not hold {from}");
        std::fs::write(&path, text.replace(from, to)).expect("written");
        pair
    };
    // A jump that lasts is no single faulty step.
    assert_eq!(causes(&case("loss/spike_recovers"))[0], "silent-corruption");
    let lasting = edited("loss/spike_recovers", "5.8555684089660645", "2.55");
    assert!(!lasting.causes().contains(&"silent-corruption".to_owned()), "{:?}", lasting.causes());
    assert_eq!(causes(&case("loss/nan_from_step")), ["overflow"]);
    let finite = edited("loss/nan_from_step", "NaN", "2.5");
    assert!(!finite.causes().contains(&"overflow".to_owned()), "{:?}", finite.causes());
}

#[test]
fn configuration_names_what_differs_and_nothing_where_it_is_equal() {
    for (name, cause) in [
        ("hyper-shell-differs", "hyperparameters-differ"),
        ("hyper-dynamic-differs", "hyperparameters-differ"),
        ("weights-attention-scaled", "wrong-weights-or-data"),
        ("dataset-token-changed", "wrong-weights-or-data"),
        ("rank-data-differs", "wrong-weights-or-data"),
        ("random-count-differs", "randomness"),
        ("random-seed-differs", "randomness"),
    ] {
        let folder = crate::data::fixture("config-check").join(name);
        assert_eq!(causes(&case(&format!("config-check/{name}"))).first().copied(), Some(cause), "{name}");
        let same = crate::diagnoses::result(&folder.join("npu.zip"), &folder.join("npu.zip"));
        assert!(!causes(&same).contains(&cause), "{name}");
    }
}
