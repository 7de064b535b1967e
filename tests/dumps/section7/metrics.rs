//! 7.3: metrics of tensors.

use super::{COSINE, DTYPE, NOT_FINITE, ONE_THOUSANDTH, REQUIRES_GRAD, SHAPE, SIX};
use crate::dumps::build::{Compared, Op, Tensor, x};

/// Compares two tensors as the only output of an operation.
fn pair(npu: Tensor, bench: Tensor) -> Compared {
    Compared::of("tensor", &x(npu), &x(bench))
}

fn check(id: &str, npu: Tensor, bench: Tensor, cells: [&str; 6], messages: &[&str]) {
    let table = pair(npu, bench);
    assert_eq!(table.cells(0, SIX), cells, "{id}");
    table.verdict(0, messages);
}

fn f32s(values: &[f32]) -> Tensor {
    Tensor::f32(&[values.len() as u64], values)
}

#[test]
fn t1_to_t8_finite_values() {
    check("T1", f32s(&[1., 2., 3., 4.]), f32s(&[1., 2., 3., 4.]), ["1.0", "0.0", "0.0", "0.0", "1.0", "1.0"], &[]);
    check(
        "T2",
        f32s(&[1.0005, 2., 3., 4.]),
        f32s(&[1., 2., 3., 4.]),
        ["1.0", "0.0004999637603759766", "0.00049996376", "0.00049996376", "1.0", "1.0"],
        &[],
    );
    check(
        "T3",
        f32s(&[1.001, 2.01, 3., 4.]),
        f32s(&[1., 2., 3., 4.]),
        ["0.999999", "0.01004987078163169", "0.009999990463", "0.004999995232", "0.5", "1.0"],
        &[],
    );
    check(
        "T4",
        f32s(&[0.5, 0., 3., 4.]),
        f32s(&[0., 0., 3., 4.]),
        ["0.99503719021", "0.5", "0.5", "4194304.0", "0.75", "0.75"],
        &[],
    );
    check("T5", f32s(&[0.; 3]), f32s(&[0.; 3]), ["1.0", "0.0", "0.0", "0.0", "1.0", "1.0"], &[]);
    let (zeros, counting) = (f32s(&[0.; 3]), f32s(&[1., 2., 3.]));
    check(
        "T6",
        zeros.clone(),
        counting.clone(),
        ["Nan", "3.7416573867739413", "3.0", "1.0", "0.0", "0.0"],
        &[ONE_THOUSANDTH],
    );
    check(
        "T7",
        counting.clone(),
        zeros,
        ["Nan", "3.7416573867739413", "3.0", "25165824.0", "0.0", "0.0"],
        &[ONE_THOUSANDTH],
    );
    check(
        "T8",
        counting,
        f32s(&[-1., -2., -3.]),
        ["-1.0", "7.483314773547883", "6.0", "2.0", "0.0", "0.0"],
        &[ONE_THOUSANDTH, COSINE],
    );
}

#[test]
fn t9_to_t11_values_that_are_not_finite() {
    let cells = ["0.997630328423", "0.5", "0.5", "0.166666671634", "0.666666666667", "0.666666666667"];
    check("T9", f32s(&[f32::NAN, 2., 3.5]), f32s(&[f32::NAN, 2., 3.]), cells, &[]);
    check("T10", f32s(&[f32::INFINITY, 2., 3.5]), f32s(&[f32::NEG_INFINITY, 2., 3.]), cells, &[]);
    check("T11", f32s(&[f32::NAN, 2., 3.]), f32s(&[1., 2., 3.]), ["N/A"; 6], &[NOT_FINITE]);
    check("T11 swapped", f32s(&[1., 2., 3.]), f32s(&[f32::NAN, 2., 3.]), ["N/A"; 6], &[]);
}

#[test]
fn t12_to_t14_single_values() {
    let u = "unsupported";
    for shape in [&[1][..], &[]] {
        check("T12", Tensor::f32(shape, &[1.5]), Tensor::f32(shape, &[1.0]), [u, u, "0.5", "0.5", u, u], &[]);
    }
    let table = pair(Tensor::f32(&[], &[1.5]), Tensor::f32(&[], &[0.0]));
    assert_eq!(table.cell(0, "MaxRelativeErr"), "12582912.0", "T13");
    let table = pair(Tensor::bool(&[], &[true]), Tensor::bool(&[], &[false]));
    assert_eq!(table.cells(0, ["MaxAbsErr", "MaxRelativeErr"]), ["1.0", "4503599627370496.0"], "T13");
    let table = pair(Tensor::u8(&[], &[0]), Tensor::u8(&[], &[1]));
    assert_eq!(table.cells(0, ["MaxAbsErr", "MaxRelativeErr"]), ["255.0", "1.0"], "T14");
}

#[test]
fn t15_to_t20_other_types() {
    let two_thirds = "0.666666666667";
    check(
        "T15",
        Tensor::bool(&[3], &[true, false, true]),
        Tensor::bool(&[3], &[true; 3]),
        ["0.816496580928", "1.0", "1.0", "1.0", two_thirds, two_thirds],
        &[COSINE],
    );
    let table = pair(Tensor::i32(&[3], &[1, 2, 30]), Tensor::i32(&[3], &[1, 2, 3]));
    assert_eq!(table.cells(0, SIX), ["0.843986107308", "27.0", "27.0", "9.0", two_thirds, two_thirds], "T16");
    table.verdict(0, &[COSINE]);
    let large = 1 << 53;
    let equal = ["1.0", "0.0", "0.0", "0.0", "1.0", "1.0"];
    check("T17", Tensor::i64(&[3], &[large + 1, 2, 30]), Tensor::i64(&[3], &[large, 2, 30]), equal, &[]);
    check(
        "T18",
        Tensor::bf16(&[3], &[1., 2., 3.015625]),
        Tensor::bf16(&[3], &[1., 2., 3.]),
        ["0.999997", "0.015625", "0.015625", "0.005208333489", two_thirds, two_thirds],
        &[],
    );
    check(
        "T19",
        Tensor::f16(&[2], &[1e-3, 2.]),
        Tensor::f16(&[2], &[0., 2.]),
        ["1.0", "0.0010004043579101562", "0.001000404358", "8392.0", "0.5", "0.5"],
        &[],
    );
    check(
        "T20",
        Tensor::f64(&[3], &[1., 2., 3.01]),
        Tensor::f64(&[3], &[1., 2., 3.]),
        ["0.999999", "0.009999999999999787", "0.01", "0.003333333333", two_thirds, "1.0"],
        &[],
    );
}

#[test]
fn t21_to_t23_shapes() {
    let equal = ["1.0", "0.0", "0.0", "0.0", "1.0", "1.0"];
    let values = [1., 2., 3.];
    check("T21", Tensor::f32(&[1, 3], &values), Tensor::f32(&[3], &values), equal, &[SHAPE]);
    let four = [1., 2., 3., 4.];
    check("T22", Tensor::f32(&[2, 2], &four), Tensor::f32(&[4], &four), ["shape unmatched"; 6], &[SHAPE]);
    check("T22", f32s(&values), f32s(&[1., 2.]), ["shape unmatched"; 6], &[SHAPE]);
    let empty = || Tensor::f32(&[0], &[]);
    check("T23", empty(), empty(), ["unsupported"; 6], &[]);
    check("T23", empty(), f32s(&[1., 2.]), ["unsupported"; 6], &[SHAPE]);
}

#[test]
fn t24_to_t29_the_rest() {
    let equal = ["1.0", "0.0", "0.0", "0.0", "1.0", "1.0"];
    check(
        "T24",
        Tensor::complex64(&[2], &[(1., 1.), (2., 2.)]),
        Tensor::complex64(&[2], &[(1., 1.), (2., 3.)]),
        equal,
        &[],
    );
    let table = pair(f32s(&[3e38, 1.]), f32s(&[-3e38, 1.]));
    assert_eq!(table.cells(0, ["MaxRelativeErr", "EucDist"]), [" inf", "6.0000000109955115e+38"], "T25");
    let eight = |last| Tensor::f8(&[3], &[0x38, 0x40, last]);
    let table = pair(eight(0x44), eight(0x46));
    assert_eq!(
        table.cells(0, ["Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "NPU max", "Bench l2norm"]),
        ["0.997408650736", "0.5", "0.5", "0.142857149243", "None", "None"],
        "T26"
    );
    check("T27", f32s(&[1., 2.]), f32s(&[1., 3.]).lost(), ["unsupported"; 6], &[]);
    let table = pair(f32s(&[1., 2.]).requiring_grad(), f32s(&[1., 2.]));
    table.verdict(0, &[REQUIRES_GRAD]);
    assert_eq!(table.cell(0, "Requires_grad Consistent"), "False", "T28");
    assert_eq!(pair(f32s(&[1., 0.02]), f32s(&[1., 0.])).cell(0, "Cosine"), "0.999800059989", "T29");
    assert_eq!(pair(f32s(&[1., 0.005]), f32s(&[1., 0.])).cell(0, "Cosine"), "0.999988", "T29");
}

#[test]
fn p5_float_types_are_compared_with_each_other() {
    let table = pair(Tensor::f16(&[3], &[1., 2., 3.]), f32s(&[1., 2., 3.]));
    assert_eq!(table.cells(0, SIX), ["1.0", "0.0", "0.0", "0.0", "1.0", "1.0"]);
    table.verdict(0, &[DTYPE]);
}

#[test]
fn a_null_output_can_be_the_first() {
    let op = |output: Tensor| {
        vec![Op::output("Torch.X.0.backward", crate::dumps::build::Item::Raw("null")).and_output(output)]
    };
    let table = Compared::of("tensor", &op(f32s(&[1., 2., 3.])), &op(f32s(&[-1., -2., -3.])));
    table.verdict(0, &[ONE_THOUSANDTH, COSINE]);
    table.verdict(1, &[]);
}
