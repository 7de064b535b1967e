//! 7.4: differences and verdicts of statistics.

use super::{DTYPE, NORM_GROWS, NORM_OF_OUTPUT, SCALAR, SHAPE};
use crate::dumps::build::{Compared, Item, Op, Tensor, x};

const DIFFERENCES: [&str; 4] = ["Max diff", "Min diff", "Mean diff", "L2norm diff"];
const RELATIVE: [&str; 4] = ["MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr"];
const NPU: [&str; 4] = ["NPU max", "NPU min", "NPU mean", "NPU l2norm"];
const BENCH: [&str; 4] = ["Bench max", "Bench min", "Bench mean", "Bench l2norm"];

fn f32s(values: &[f32]) -> Tensor {
    Tensor::f32(&[values.len() as u64], values)
}

/// A tensor whose four statistics are given.
fn given(statistics: [&str; 4]) -> Tensor {
    f32s(&[1., 2., 3.]).with_statistics(statistics)
}

fn pair(npu: Tensor, bench: Tensor) -> Compared {
    Compared::of("statistics", &x(npu), &x(bench))
}

fn differences(npu: Tensor, bench: Tensor) -> ([String; 4], [String; 4]) {
    let table = pair(npu, bench);
    (table.cells(0, DIFFERENCES), table.cells(0, RELATIVE))
}

fn same(word: &str) -> ([String; 4], [String; 4]) {
    (std::array::from_fn(|_| word.into()), std::array::from_fn(|_| word.into()))
}

#[test]
fn s1_to_s3_numbers() {
    let (zeros, counting) = (f32s(&[0.; 3]), f32s(&[1., 2., 3.]));
    let table = pair(zeros.clone(), counting.clone());
    assert_eq!(table.cells(0, DIFFERENCES), ["-3.0", "-1.0", "-2.0", "-3.7416574954986572"], "S1");
    assert_eq!(table.cells(0, RELATIVE), ["100.0%"; 4], "S1");
    table.verdict(0, &[NORM_OF_OUTPUT, NORM_GROWS]);
    let table = pair(counting.clone(), zeros);
    assert_eq!(table.cells(0, RELATIVE), ["inf"; 4], "S2");
    table.verdict(0, &[NORM_OF_OUTPUT]);
    let table = pair(counting, f32s(&[-1., -2., -3.]));
    assert_eq!(table.cells(0, DIFFERENCES), ["4.0", "4.0", "4.0", "0"], "S3");
    assert_eq!(table.cells(0, RELATIVE), ["400.0%", "133.33333333333331%", "200.0%", "0"], "S3");
    table.verdict(0, &[]);
}

#[test]
fn s4_to_s6_what_is_no_number() {
    let nan = || f32s(&[f32::NAN, 1.]);
    assert_eq!(differences(nan(), nan()), same("0"), "S4");
    assert_eq!(differences(nan(), f32s(&[2., 1.])), same("Nan"), "S4");
    assert_eq!(differences(f32s(&[2., 1.]), nan()), same("Nan"), "S4");
    let table = pair(f32s(&[f32::INFINITY, 2., 3.5]), f32s(&[f32::NEG_INFINITY, 2., 3.]));
    assert_eq!(table.cells(0, DIFFERENCES), ["inf", "inf", "inf", "0"], "S5");
    assert_eq!(table.cells(0, NPU), [" inf", "2.0", " inf", " inf"], "S5");
    assert_eq!(table.cells(0, BENCH), ["3.0", " -inf", " -inf", " inf"], "S5");
    let table = pair(Tensor::bool(&[2], &[true, false]), Tensor::bool(&[2], &[true, true]));
    assert_eq!(table.cells(0, DIFFERENCES), ["0", "Diff", "0", "0"], "S6");
    let table = pair(given(["1.0", "null", "null", "null"]), given(["1.0", "2.0", "2.0", "null"]));
    assert_eq!(table.cells(0, DIFFERENCES), ["0", "Diff", "Diff", "0"], "S6");
}

#[test]
fn s7_devices_are_no_numbers_and_still_scalars() {
    let op = |device| {
        let device = Item::Raw(device);
        vec![Op::output("Torch.X.0.forward", f32s(&[1., 2.])).kwarg("device", device)]
    };
    let table = Compared::of(
        "statistics",
        &op(r#"{"type": "torch.device", "value": "npu:0"}"#),
        &op(r#"{"type": "torch.device", "value": "cuda:0"}"#),
    );
    assert_eq!(table.cells(0, DIFFERENCES), ["N/A"; 4]);
    assert_eq!(table.cells(0, RELATIVE), ["N/A"; 4]);
    table.verdict(0, &[SCALAR]);
}

#[test]
fn s8_integers_stay_integers_among_themselves() {
    let one = || Item::Raw(r#"{"type": "int", "value": 1}"#);
    let two = || Item::Raw(r#"{"type": "int", "value": 2}"#);
    let table = Compared::of("statistics", &x(one()), &x(two()));
    assert_eq!(table.cells(0, ["Max diff", "MaxRelativeErr"]), ["-1", "50.0%"]);
    let with_float = |item: Item| vec![Op::output("Torch.X.0.forward", item).and_output(f32s(&[1.5, 2.]))];
    let table = Compared::of("statistics", &with_float(one()), &with_float(two()));
    assert_eq!(table.cell(0, "Max diff"), "-1.0");
}

#[test]
fn s9_inputs_decide_what_outputs_may_do() {
    let with_norms = |input: &str, output: &str| {
        let tensor = |norm: &str| given(["1.0", "1.0", "1.0", norm]);
        vec![Op::output("Torch.X.0.forward", tensor(output)).input(tensor(input))]
    };
    let bench = with_norms("1.0", "1.0");
    let check = |npu: &[Op], messages: &[&str]| {
        let table = Compared::of("statistics", npu, &bench);
        table.verdict(0, &[]);
        table.verdict(1, messages);
    };
    check(&with_norms("1.0", "1.05"), &[]);
    check(&with_norms("1.0", "1.12"), &[NORM_GROWS]);
    check(&with_norms("1.0", "9.0"), &[NORM_OF_OUTPUT, NORM_GROWS]);
    check(&with_norms("1.05", "9.0"), &[NORM_OF_OUTPUT, NORM_GROWS]);
}

#[test]
fn s10_some_operations_are_not_judged() {
    for name in ["Tensor.to", "Torch.empty", "Tensor.__setitem__", "Distributed.all_to_all_single"] {
        let op = |norm: &str| {
            let tensor = |norm: &str| given(["1.0", "1.0", "1.0", norm]);
            vec![Op::output(&format!("{name}.0.forward"), tensor(norm)).input(tensor("1.0"))]
        };
        Compared::of("statistics", &op("9.0"), &op("1.0")).verdict(1, &[]);
    }
}

#[test]
fn s11_and_s14_kinds_of_numbers_are_those_of_the_table() {
    let int = || Item::Raw(r#"{"type": "int", "value": 1}"#);
    let npu = vec![
        Op::output("Torch.X.0.forward", f32s(&[1.5, 2.])).input(int()),
        Op::output("Torch.Y.0.forward", f32s(&[1.5, 2.])),
    ];
    let table = Compared::of("statistics", &npu, &npu[..1]);
    assert_eq!(table.cells(0, NPU), ["1.0"; 4], "S11");
    assert_eq!(table.cells(0, BENCH), ["1"; 4], "S11");
    assert_eq!(table.cells(0, DIFFERENCES), ["0.0"; 4], "S11");
    assert_eq!(table.cells(0, RELATIVE), ["0.0%"; 4], "S11");
    let two = vec![
        Op::output("Torch.X.0.forward", given(["1", "2", "null", "null"])).and_output(given(["1.5", "2", "3", "null"])),
    ];
    let table = Compared::of("statistics", &two, &two);
    assert_eq!([table.cell(0, "NPU max"), table.cell(1, "NPU max")], ["1.0", "1.5"], "S14");
    assert_eq!([table.cell(0, "NPU min"), table.cell(1, "NPU min")], ["2", "2"], "S14");
    assert_eq!([table.cell(0, "NPU mean"), table.cell(1, "NPU mean")], ["None", "3"], "S14");
}

#[test]
fn s12_messages_come_in_the_order_of_the_rules() {
    let table = pair(
        f32s(&[1., 2., 3.]).with_statistics(["3.0", "1.0", "2.0", "3.74"]),
        f32s(&[1., 2.]).with_statistics(["2.0", "1.0", "1.5", "2.24"]),
    );
    table.verdict(0, &[NORM_OF_OUTPUT, SHAPE, NORM_GROWS]);
}

#[test]
fn s13_values_that_are_no_tensors() {
    let op = vec![
        Op::output("Distributed.x.0.forward", Item::Raw("null"))
            .input(Item::Raw(r#"{"type": "slice", "value": [0, null, 2]}"#))
            .input(Item::Raw(r#"{"type": "ellipsis", "value": "..."}"#))
            .input(Item::Raw(r#"{"type": "torch.Size", "value": [3, 2]}"#))
            .input(Item::Raw(r#"{"type": "torch.memory_format", "format": "channels_last"}"#))
            .input(Item::Raw(r#"{"type": "torch.dtype", "value": "torch.float16"}"#))
            .kwarg("group", Item::Raw(r#"{"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "1"}"#))
            .kwarg("src", Item::Raw(r#"{"type": "int", "value": 1}"#))
            .kwarg("flag", Item::Raw(r#"{"type": "bool", "value": true}"#)),
    ];
    let table = Compared::of("statistics", &op, &op);
    for (row, cells) in [
        ["slice", "(3,)", "None"],
        ["ellipsis", "[]", "..."],
        ["torch.Size", "[3, 2]", "None"],
        ["<class 'NoneType'>", "[]", "None"],
        ["<class 'str'>", "[]", "torch.float16"],
        ["torch.ProcessGroup", "[]", "[0, 1]"],
        ["int", "[]", "1"],
        ["<class 'bool'>", "[]", "True"],
        ["N/A", "N/A", "None"],
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(&table.cells(row, ["NPU Dtype", "NPU Tensor Shape", "NPU max"]), cells);
    }
}

#[test]
fn p5_dtypes_of_one_family_are_paired_and_named() {
    let table = pair(Tensor::f16(&[2], &[1., 2.]), f32s(&[1., 2.]));
    table.verdict(0, &[DTYPE]);
}
