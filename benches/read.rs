//! Time of a run before the first element is compared: opening a folder and every tensor in it; then how fast
//! the pair is compared from files.
//!
//! `PRECISION_GATE_BENCH` names a folder with `gpu/step0/rank0` and `npu/step0/rank0`, both with `dump_tensor_data`;
//! without it a small one is made.
//!
//! ```text
//! PRECISION_GATE_BENCH=FOLDER cargo bench --bench read
//! ```
#![allow(clippy::print_stdout, reason = "a benchmark speaks to the terminal")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "made-up data of known size"
)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use precision_gate::compare::tensor::compare;
use precision_gate::fetch;
use precision_gate::read::tensor::TensorData;
use precision_gate::read::tensor_file::open;
use rayon::prelude::*;

const ROUNDS: usize = 5;
/// Tensors of the folder that is made, and elements of each.
const TENSORS: usize = 200;
const ELEMENTS: usize = 256 << 10;

fn main() {
    let made = tempfile::tempdir().expect("a folder");
    let folder = std::env::var_os("PRECISION_GATE_BENCH").map_or_else(|| make(made.path()), PathBuf::from);
    let sides = ["gpu", "npu"].map(|side| folder.join(side).join("step0/rank0/dump_tensor_data"));
    let listing = seconds(|| sides.each_ref().map(|side| fetch::open(&side.display().to_string()).expect("a folder")));
    let opening = seconds(|| sides.each_ref().map(|side| open_all(side)));
    let [baseline, candidate] = sides.each_ref().map(|side| open_all(side));
    let bytes: u64 = [&baseline, &candidate]
        .into_iter()
        .flatten()
        .map(|tensor| tensor.elements() * tensor.dtype.size() as u64)
        .sum();
    let pairs: Vec<(&TensorData, &TensorData)> = baseline.iter().zip(&candidate).collect();
    let comparing = seconds(|| pairs.par_iter().map(|(b, c)| compare(b, c).expect("readable")).collect::<Vec<_>>());
    println!("{} tensors a side, {:.2} GB of both", baseline.len(), bytes as f64 / 1e9);
    println!("listing   {:>9.1} ms", listing * 1e3);
    println!("opening   {:>9.1} ms   {:.0} µs a tensor", opening * 1e3, opening * 1e6 / (2 * baseline.len()) as f64);
    println!("comparing {:>9.1} ms   {:.1} GB/s", comparing * 1e3, bytes as f64 / comparing / 1e9);
}

/// Median time of one run.
fn seconds<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn open_all(folder: &Path) -> Vec<TensorData> {
    let files = fetch::open(&folder.display().to_string()).expect("a folder");
    files.list().iter().map(|entry| open(files.open(&entry.path).expect("a file")).expect("a tensor")).collect()
}

/// A pair of folders of `.npy` files whose values differ in the last digits.
fn make(root: &Path) -> PathBuf {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({ELEMENTS},), }}");
    let header = format!("{header:width$}\n", width = (header.len() + 11).next_multiple_of(64) - 11);
    for (side, scale) in [("gpu", 1.0f32), ("npu", 1.000_001)] {
        let folder = root.join(side).join("step0/rank0/dump_tensor_data");
        std::fs::create_dir_all(&folder).expect("a folder");
        for tensor in 0..TENSORS {
            let mut file =
                [b"\x93NUMPY\x01\x00".as_slice(), &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
            let value = |i: usize| ((i * 7919 + tensor) % 10_007) as f32 * 1e-3 * scale;
            file.extend((0..ELEMENTS).flat_map(|i| value(i).to_le_bytes()));
            std::fs::write(folder.join(format!("t{tensor}.npy")), file).expect("written");
        }
    }
    root.to_path_buf()
}
