//! The program from start to verdict: how long it takes to start, and to compare two folders of dumps, beside the time
//! it takes to only read the same files with as many threads; with warm files, and with cold ones.
//!
//! `PRECISION_GATE_BENCH` names a folder with `gpu/` and `npu/`; without it a pair of 256 MB a side is made.
//! `PRECISION_GATE_COLD=1` measures cold files too: each is dropped from the page cache before every round.
//!
//! ```text
//! PRECISION_GATE_BENCH=FOLDER cargo bench --bench end_to_end
//! ```
#![allow(clippy::print_stdout, reason = "a benchmark speaks to the terminal")]
#![allow(clippy::cast_precision_loss, clippy::indexing_slicing, reason = "made-up data of known size")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use rayon::prelude::*;

const ROUNDS: usize = 5;
const BLOCK: usize = 256 << 10;
/// Tensors of the pair that is made, and elements of each.
const TENSORS: usize = 64;
const ELEMENTS: usize = 1 << 20;

fn main() {
    let made = tempfile::tempdir().expect("a folder");
    let root = std::env::var_os("PRECISION_GATE_BENCH").map_or_else(|| make(made.path()), PathBuf::from);
    let files = files(&root);
    let bytes: u64 = files.iter().map(|path| path.metadata().expect("a file").len()).sum();
    let out = made.path().join("out");
    println!("{} files, {:.2} GB of both sides", files.len(), bytes as f64 / 1e9);
    println!("start-up             {:>8.1} ms", 1e3 * median(|| {}, || run(&["--version".as_ref()])));
    let [gpu, npu] = ["gpu", "npu"].map(|side| root.join(side));
    let compare = || run(&["compare".as_ref(), &gpu, &npu, "--quiet".as_ref(), "--out".as_ref(), &out]);
    tell("warm", bytes, median(|| {}, || read(&files)), median(|| {}, compare));
    if std::env::var_os("PRECISION_GATE_COLD").is_some() {
        let drop = || drop_from_cache(&files);
        tell("cold", bytes, median(drop, || read(&files)), median(drop, compare));
    }
}

fn tell(state: &str, bytes: u64, reading: f64, comparing: f64) {
    let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
    println!("{state}: only reading    {:>8.1} ms {:>6.2} GB/s", reading * 1e3, rate(reading));
    println!(
        "{state}: start to verdict {:>7.1} ms {:>6.2} GB/s, {:.0}% of reading",
        comparing * 1e3,
        rate(comparing),
        100.0 * reading / comparing
    );
}

/// Median time of `work`, each time after `before`.
fn median(before: impl Fn(), work: impl Fn()) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            before();
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn run(arguments: &[&Path]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_precision-gate"));
    let status = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status().expect("started");
    assert!(status.code().is_some_and(|code| code <= 1), "{arguments:?}: {status}");
}

/// Every file below both sides.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root.join("gpu"), root.join("npu")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            if entry.path().is_dir() { folders.push(entry.path()) } else { files.push(entry.path()) }
        }
    }
    files
}

fn read(files: &[PathBuf]) {
    files.par_iter().for_each_init(
        || vec![0; BLOCK],
        |block, path| {
            let file = File::open(path).expect("a file");
            let mut offset = 0;
            while let Ok(count @ 1..) = file.read_at(block, offset) {
                offset += count as u64;
            }
        },
    );
}

/// Written files leave the page cache once they are on the disk and the kernel is told so.
fn drop_from_cache(files: &[PathBuf]) {
    for path in files {
        let file = File::open(path).expect("a file");
        file.sync_all().expect("on the disk");
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("a file");
    }
}

/// A pair of dumps of `.npy` files whose values differ in the last digits.
fn make(root: &Path) -> PathBuf {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({ELEMENTS},), }}");
    let header = format!("{header:117}\n");
    let head = [b"\x93NUMPY\x01\x00".as_slice(), &118u16.to_le_bytes(), header.as_bytes()].concat();
    for (side, scale) in [("gpu", 1.0f32), ("npu", 1.000_001)] {
        let folder = root.join(side).join("step0/rank0/dump_tensor_data");
        fs::create_dir_all(&folder).expect("a folder");
        let mut records = Vec::new();
        for tensor in 0..TENSORS {
            let name = format!("Torch.add.{tensor}.forward");
            let value = |i: usize| ((i * 7919 + tensor) % 10_007) as f32 * 1e-3 * scale;
            let mut file = head.clone();
            file.extend((0..ELEMENTS).flat_map(|i| value(i).to_le_bytes()));
            fs::write(folder.join(format!("{name}.output.0.npy")), file).expect("written");
            records.push(format!(
                r#""{name}": {{"input_args": [], "input_kwargs": {{}}, "output": [{{"type": "torch.Tensor",
                "dtype": "torch.float32", "shape": [{ELEMENTS}], "Max": 10.0, "Min": 0.0, "Mean": 5.0, "Norm": 5900.0,
                "requires_grad": false, "data_name": "{name}.output.0.npy"}}]}}"#
            ));
        }
        let json = format!(
            r#"{{"task": "tensor", "level": "L1", "framework": "pytorch", "data": {{{}}}}}"#,
            records.join(",\n")
        );
        fs::write(folder.with_file_name("dump.json"), json).expect("written");
    }
    root.to_path_buf()
}
