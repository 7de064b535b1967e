//! Speed of the comparison, beside the speed at which the same memory can be read at all.
//!
//! Two tensors of 128 MiB each lie in memory. Probe and comparison take turns, nine rounds; medians are printed in
//! GB/s of stored bytes of both tensors. Absolute figures vary with the machine's neighbours: the ratio is what counts.
//!
//! ```text
//! cargo bench --bench kernel [f32 bf16 …]
//! ```
#![allow(clippy::print_stdout, reason = "a benchmark speaks to the terminal")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "made-up data of known size"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use half::{bf16, f16};
use precision_gate::compare::tensor::compare;
use precision_gate::fetch::MemorySource;
use precision_gate::read::tensor::TensorData;
use precision_gate::read::tensor_file::open;
use rayon::prelude::*;

/// Bytes of one tensor; the pair is larger than any cache.
const BYTES: usize = 128 << 20;
const ROUNDS: usize = 9;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    println!("{:>6} {:>7} {:>10} {:>10} {:>6}", "dtype", "threads", "probe GB/s", "pair GB/s", "ratio");
    for dtype in ["f32", "f32+0", "bf16", "f16", "f64", "i64", "i32"] {
        if wanted.is_empty() || wanted.iter().any(|name| name == dtype) {
            let pair = [tensor_bytes(dtype, 1.0), tensor_bytes(dtype, 1.0 + 1.0 / 1024.0)];
            [1, 2].into_iter().for_each(|threads| measure(dtype, &pair, threads));
        }
    }
}

fn measure(dtype: &str, pair: &[Vec<u8>; 2], threads: usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let [baseline, candidate] = pair.each_ref().map(|bytes| tensor(dtype, bytes));
    let (mut probe, mut kernel) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        probe.push(rate(|| pool.install(|| read(pair))));
        kernel.push(rate(|| {
            black_box(pool.install(|| compare(&baseline, &candidate)).expect("readable"));
        }));
    }
    let (probe, kernel) = (median(probe), median(kernel));
    println!("{dtype:>6} {threads:>7} {probe:>10.1} {kernel:>10.1} {:>5.0}%", 100.0 * kernel / probe);
}

/// GB/s of one run over both tensors.
fn rate(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    2.0 * BYTES as f64 / start.elapsed().as_secs_f64() / 1e9
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Reads every byte of both sides, side by side as the comparison does, and does next to nothing with it.
fn read(pair: &[Vec<u8>; 2]) {
    let chunk = 4 << 20;
    let [a, b] = pair.each_ref().map(|bytes| bytes.par_chunks(chunk));
    a.zip(b).for_each(|(a, b)| {
        for (a, b) in a.chunks(64 << 10).zip(b.chunks(64 << 10)) {
            black_box(pulp::Arch::new().dispatch(|| fold(a) ^ fold(b)));
        }
    });
}

#[inline(always)]
fn fold(bytes: &[u8]) -> u64 {
    let mut lanes = [0u64; 32];
    for group in bytes.as_chunks::<8>().0.as_chunks::<32>().0 {
        lanes.iter_mut().zip(group).for_each(|(lane, word)| *lane ^= u64::from_le_bytes(*word));
    }
    lanes.iter().fold(0, |all, lane| all ^ lane)
}

/// A `.npy` file in memory; of bf16, which that format lacks, a safetensors file.
fn tensor(dtype: &str, data: &[u8]) -> TensorData {
    let elements = |size: usize| data.len() / size;
    let (descr, size) = match dtype {
        "f32" | "f32+0" => ("<f4", 4),
        "f16" => ("<f2", 2),
        "f64" => ("<f8", 8),
        "i64" => ("<i8", 8),
        "i32" => ("<i4", 4),
        _ => {
            let json = format!(
                "{{\"x\":{{\"dtype\":\"BF16\",\"shape\":[{}],\"data_offsets\":[0,{}]}}}}",
                elements(2),
                data.len()
            );
            let header = format!("{json:width$}", width = json.len().next_multiple_of(8));
            return opened(&[&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat());
        }
    };
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({},), }}", elements(size));
    let header = format!("{header:width$}\n", width = (header.len() + 11).next_multiple_of(64) - 11);
    let len = u16::try_from(header.len()).expect("short").to_le_bytes();
    opened(&[b"\x93NUMPY\x01\x00", len.as_slice(), header.as_bytes(), data].concat())
}

fn opened(file: &[u8]) -> TensorData {
    open(Arc::new(MemorySource::new("tensor", file.to_vec()))).expect("a tensor file")
}

/// Values like activations: both signs, some orders of magnitude; one in a hundred is zero in `f32+0`.
fn tensor_bytes(dtype: &str, scale: f32) -> Vec<u8> {
    let value = |i: usize| {
        let noise = (i.wrapping_mul(2_654_435_761) >> 7) & 0xffff;
        if dtype == "f32+0" && noise < 600 { 0.0 } else { (noise as f32 - 32767.5) / 9000.0 * scale }
    };
    match dtype {
        "f32" | "f32+0" => (0..BYTES / 4).flat_map(|i| value(i).to_le_bytes()).collect(),
        "f16" => (0..BYTES / 2).flat_map(|i| f16::from_f32(value(i)).to_le_bytes()).collect(),
        "bf16" => (0..BYTES / 2).flat_map(|i| bf16::from_f32(value(i)).to_le_bytes()).collect(),
        "f64" => (0..BYTES / 8).flat_map(|i| f64::from(value(i)).to_le_bytes()).collect(),
        "i32" => (0..BYTES / 4).flat_map(|i| ((value(i) * 1e4) as i32).to_le_bytes()).collect(),
        _ => (0..BYTES / 8).flat_map(|i| ((value(i) * 1e4) as i64).to_le_bytes()).collect(),
    }
}
