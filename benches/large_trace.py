#!/usr/bin/env python3
"""Makes two large profiles of one job, to measure the check of performance.

    python3 benches/large_trace.py OUT --megabytes 1000 --form gpu
    /usr/bin/time -v target/release/precision-gate run --baseline OUT/baseline --candidate OUT/candidate

`gpu` is a PyTorch trace a side (events as Kineto writes them), `npu` an Ascend profile with kernel_details.csv and
step_trace_time.csv, `view` the same with a trace_view.json of that size. The candidate's matrix products take 20 % longer.
`--kernels N` makes that many kernels a side in place of a size.
"""

import argparse
import pathlib
import random

STEPS = 20
START = 1763700000000000.0
KINDS = [
    ("MatMulV2", "AI_CORE", "8192,2048;2048,6144", "DT_BF16;DT_BF16", 1100.0, "aten::mm"),
    ("FlashAttentionScore", "MIX_AIC", "4,16,2048,128;4,16,2048,128", "DT_BF16;DT_BF16", 900.0, "npu::npu_fusion_attention"),
    ("Add", "AI_VECTOR_CORE", "4,2048,2048;4,2048,2048", "DT_BF16;DT_BF16", 130.0, "aten::add"),
    ("LayerNormV4", "AI_VECTOR_CORE", "4,2048,2048;2048;2048", "DT_BF16;DT_BF16;DT_BF16", 68.0, "aten::native_layer_norm"),
    ("Gelu", "AI_VECTOR_CORE", "4,2048,8192", "DT_BF16", 270.0, "aten::gelu"),
]


def schedule(kernels, slow, seed):
    """Kernels of one stream: step, kind, start and duration in microseconds."""
    dice, now = random.Random(seed), START
    per_step = max(1, kernels // STEPS)
    for step in range(10, 10 + STEPS):
        for place in range(per_step):
            kind = KINDS[place % len(KINDS)]
            time = kind[4] / 100 * dice.gauss(1.0, 0.01) * (slow if kind[0] == "MatMulV2" else 1.0)
            yield step, kind, now, round(time, 3)
            now += time + 0.9
        now += 400.0


def gpu(path, kernels, slow, seed):
    head = ('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "numSms": 108}],\n'
            '"record_shapes": 1, "with_stack": 0, "traceEvents": [\n')
    with open(path / "rank0.pt.trace.json", "w", buffering=1 << 20) as out:
        out.write(head)
        last, begun, number = None, START, 0
        for step, kind, start, time in schedule(kernels, slow, seed):
            number += 1
            if step != last:
                if last is not None:
                    out.write(span(last, begun, start - 5.0 - begun))
                last, begun = step, start - 5.0
            name = f"void at::native::{kind[0]}_kernel<c10::BFloat16, float, (anonymous namespace)::Functor<{number % 7}>>(int, float*)"
            out.write(f'{{"ph": "X", "cat": "cpu_op", "name": "{kind[5]}", "pid": 1, "tid": 1, "ts": {start - 4:.3f}, "dur": 3.1, '
                      f'"args": {{"External id": {number}, "Sequence number": {number}, "Fwd thread id": 0, "Record function id": 0, '
                      f'"Concrete Inputs": ["", "", "1"], "Input type": ["c10::BFloat16", "c10::BFloat16"], '
                      f'"Input Dims": [[8192, 2048], [2048, 6144]], "Ev Idx": {number}}}}},\n'
                      f'{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": {start - 3:.3f}, '
                      f'"dur": 1.2, "args": {{"External id": {number}, "cbid": 211, "correlation": {number}}}}},\n'
                      f'{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {start:.3f}, "dur": {time}, '
                      f'"args": {{"External id": {number}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {number}, '
                      f'"registers per thread": 128, "shared memory": 0, "blocks per SM": 4.0, "warps per SM": 16.0, '
                      f'"grid": [432, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 25}}}},\n')
        out.write(span(last, begun, start - begun + 1000.0).rstrip(",\n"))
        out.write("\n]}\n")


def span(step, start, time):
    return (f'{{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": {start:.3f}, '
            f'"dur": {time:.3f}, "args": {{"External id": 0}}}},\n')


HEADER = ("Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
          "Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,"
          "Output Formats,Context ID\r\n")


def npu(path, kernels, slow, seed, view=False):
    folder = path / "node01_4242_20261121100000000_ascend_pt"
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True, exist_ok=True)
    (folder / "profiler_info.json").write_text('{"config": {"common_config": {"record_shapes": true, "with_stack": false}}}')
    busy, first, last = {}, {}, {}
    trace = open(output / "trace_view.json", "w", buffering=1 << 20) if view else None
    if trace:
        trace.write("[")
    rows = min(kernels, 19250) if view else kernels
    with open(output / "kernel_details.csv", "w", buffering=1 << 20, newline="") as out:
        out.write(HEADER)
        for number, (step, kind, start, time) in enumerate(schedule(rows, slow, seed), 1):
            out.write(f'{step},0,4294967295,{number},2,aclnn{kind[0]}_{number},{kind[0]},dynamic,{kind[1]},{start:.3f}\t,{time},0.9,24,0,NO,'
                      f'"""{kind[2]}""",{kind[3]},ND;ND,"""{kind[2]}""",DT_BF16,ND,N/A\r\n')
            busy[step] = busy.get(step, 0.0) + time
            first.setdefault(step, start)
            last[step] = start + time
    if trace:
        for number, (step, kind, start, time) in enumerate(schedule(kernels, slow, seed), 1):
            trace.write(f'{"," if number > 1 else ""}{{"name": "aclnn{kind[0]}_{number}", "pid": 31, "tid": 2, "ts": "{start:.3f}", '
                        f'"dur": {time}, "ph": "X", "args": {{"Model Id": 4294967295, "Task Type": "{kind[1]}", "Stream Id": 2, '
                        f'"Task Id": {number}, "Batch Id": 0, "Subtask Id": 4294967295, "connection_id": {number}}}}}\n')
            if number % 1000 == 0:
                trace.write(f',{{"name": "AI Core Freq", "pid": 4096, "tid": 0, "ts": "{start:.3f}", "ph": "C", "args": {{"MHz": 1800}}}}\n')
        trace.write("]")
        trace.close()
    with open(output / "step_trace_time.csv", "w", newline="") as out:
        out.write("Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
                  "Communication(Not Overlapped and Exclude Receive),Preparing\r\n")
        for step, time in busy.items():
            whole = first.get(step + 1, last[step]) - first[step]
            out.write(f"0,{step},{time:.3f},0,0,0,{whole - time:.3f},{whole:.3f},0,0,300.0\r\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--kernels", type=int)
    parser.add_argument("--form", choices=["gpu", "npu", "view"], default="gpu")
    wanted = parser.parse_args()
    size = {"gpu": 1235, "npu": 305, "view": 240}[wanted.form]
    kernels = wanted.kernels or wanted.megabytes * 1_000_000 // size
    for side, slow, seed in [("baseline", 1.0, 1), ("candidate", 1.2, 2)]:
        path = wanted.out / side
        path.mkdir(parents=True, exist_ok=True)
        if wanted.form == "gpu":
            gpu(path, kernels, slow, seed)
        else:
            npu(path, kernels, slow, seed, wanted.form == "view")


if __name__ == "__main__":
    main()
