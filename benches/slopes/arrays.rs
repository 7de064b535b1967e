//! Arrays that are no record of another check.

use std::io::Write;
use std::path::Path;

use super::{create, value};

#[allow(clippy::cast_possible_truncation, reason = "a float32 is written")]
fn npy(path: &Path, shape: &str, numbers: impl Iterator<Item = f64>) {
    let mut out = create(path);
    let head = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    out.write_all(b"\x93NUMPY\x01\x00\x76\x00").and_then(|()| writeln!(out, "{head:117}")).expect("written");
    numbers.for_each(|number| out.write_all(&(number as f32).to_le_bytes()).expect("written"));
}

/// Files of a few elements each.
pub(super) fn array_files(folder: &Path, n: usize, drift: bool) {
    for index in 0..n {
        npy(&folder.join(format!("logits_{index}.npy")), "(4,)", (0..4).map(|at| value(index + at, drift)));
    }
}

/// Embeddings of four numbers; those of a drifted side are those of the row behind.
pub(super) fn array_rows(folder: &Path, n: usize, drift: bool) {
    let numbers = (0..4 * n).map(|at| value(at * 31, false) - 2.1);
    let mut numbers: Vec<f64> = numbers.collect();
    if drift {
        numbers.rotate_left(4);
    }
    npy(&folder.join("embeddings.npy"), &format!("({n}, 4)"), numbers.into_iter());
}
