//! Traces of torch's profiler.

use std::io::Write;
use std::path::Path;

use super::{create, value};

/// Eight steps of some kernels, which take a fifth longer on a drifted side; `kind` numbers the kind of a kernel.
fn trace(folder: &Path, kernels: usize, drift: bool, kind: &dyn Fn(usize) -> usize) {
    let mut out = create(&folder.join("rank0.pt.trace.json"));
    writeln!(
        out,
        r#"{{"schemaVersion": 1, "deviceProperties": [{{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}}], "record_shapes": 1, "traceEvents": ["#
    )
    .expect("written");
    let (mut now, mut number, mut comma) = (1_763_700_000_000_000.0, 0, "");
    for step in 0..8 {
        let begun = now;
        for kernel in 0..kernels.div_ceil(8) {
            number += 1;
            let (duration, kind) = ((100.0 * value(kernel + step, drift)).round(), kind(number));
            writeln!(
                out,
                "{comma}{{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op{kind}\", \"pid\": 1, \"tid\": 1, \"ts\": {:.3}, \"dur\": 3.1, \"args\": {{\"External id\": {number}, \"Input type\": [\"float\"], \"Input Dims\": [[8, 8]]}}}},\n{{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1, \"ts\": {:.3}, \"dur\": 1.2, \"args\": {{\"External id\": {number}, \"correlation\": {number}}}}},\n{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"kernel_{kind}\", \"pid\": 0, \"tid\": 7, \"ts\": {now:.3}, \"dur\": {duration}, \"args\": {{\"External id\": {number}, \"device\": 0, \"stream\": 7, \"correlation\": {number}}}}}",
                now - 4.0,
                now - 3.0
            )
            .expect("written");
            comma = ",";
            now += duration + 0.9;
        }
        writeln!(
            out,
            ",{{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#{step}\", \"pid\": 1, \"tid\": 1, \"ts\": {:.3}, \"dur\": {:.3}, \"args\": {{\"External id\": 0}}}}",
            begun - 5.0,
            now - begun
        )
        .expect("written");
        now += 400.0;
    }
    write!(out, "]}}").expect("written");
}

pub(super) fn trace_kernels(folder: &Path, n: usize, drift: bool) {
    trace(folder, n, drift, &|kernel| kernel % 5);
}

/// Every kernel is of a kind of its own.
pub(super) fn trace_kinds(folder: &Path, n: usize, drift: bool) {
    let each = n.div_ceil(8).max(1);
    trace(folder, n, drift, &|kernel| kernel % each);
}
