"""A pair of each kind of artifact, made by the scripts beside this one, and how the gate is asked about it.

`all_kinds.py` measures every kind, `regression.py` two builds on some of them. Monitors and curves need NumPy.
"""

import array
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import zipfile

import large_dump
import large_tokens

HERE = pathlib.Path(__file__).parent


class BFloat16Storage:
    pass


BFloat16Storage.__module__ = "torch"
sys.modules["torch"].BFloat16Storage = BFloat16Storage


def timed(command, seconds, memory=None):
    """Wall time, processor time, peak memory in MB and exit code of a command; GNU time asks for them, for a child of this
    process would begin with its memory."""
    limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))) if memory else None
    with tempfile.NamedTemporaryFile("r") as told:
        timed_command = ["/usr/bin/time", "-q", "-f", "%e %U %S %M", "-o", told.name, "timeout", str(seconds), *command]
        child = subprocess.run(timed_command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit)
        wall, user, system, peak = map(float, told.read().split())
    return wall, user + system, peak / 1024, child.returncode


def bytes_below(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def by_script(name, *words):
    def make(folder, items):
        asked = [str(word).format(folder=folder, items=items) for word in words]
        subprocess.run([sys.executable, HERE / name, *asked], check=True, stdout=subprocess.DEVNULL)

    return make


def statistics(folder, operations):
    large_dump.write_pair(folder, operations)


def bfloat16(folder, tensors):
    """Dumps of tensors of a million elements; the candidate's differ by rounding."""
    numbers = random.Random(3)
    values = [numbers.gauss(0, 1) for _ in range(1 << 16)]
    for side, factor in (("gpu", 1), ("npu", 1 + 1 / 1024)):
        home, data = folder / side / "step0/rank0", {}
        words = array.array("H", memoryview(array.array("f", (value * factor for value in values))).cast("B").cast("H")[1::2])
        content = words.tobytes() * 16
        for at in range(tensors):
            name = f"Functional.linear.{at}.forward"
            tensor = {"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": [1024, 1024], "requires_grad": False}
            tensor |= {"Max": max(values), "Min": min(values), "Mean": 0.0, "Norm": 1024.0, "data_name": f"{name}.output.0.pt"}
            data[name] = {"input_args": [], "input_kwargs": {}, "output": [tensor]}
            value = large_tokens.Tensor(BFloat16Storage, "0", [1024, 1024])
            large_tokens.save(home / "dump_tensor_data" / tensor["data_name"], value, {"0": content})
        head = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": str(home / "dump_tensor_data")}
        (home / "dump.json").write_text(json.dumps(head | {"data": data}))


def operators(folder, count):
    columns = "API Name,Bench Dtype,DEVICE Dtype,Shape,余弦相似度,最大绝对误差,双百指标,双千指标,双万指标,二进制一致错误率,误差均衡性,均方根误差,小值域错误占比,"
    columns += "相对误差最大值,相对误差平均值,inf/nan错误率,相对误差错误率,绝对误差错误率,ULP误差最大值,ULP误差平均值,ULP误差大于阈值占比,Status,Message"
    for side in ("gpu", "npu"):
        home = folder / side
        home.mkdir(parents=True)
        with open(home / "accuracy_checking_details_20261122123045.csv", "w") as out:
            out.write(f"\ufeff{columns}\n")
            for at in range(count):
                error = f"{(at % 97 + 1) * 1e-9!r}"
                cells = f'1.0,{error}, , , , ,0.03,{error},0,{error},{error}, , , , , , ,pass,'
                out.write(f'Functional.gelu.{at}.forward.output.0,torch.float64,torch.float32,"(2, 9, 16)",{cells}\n')
        with open(home / "accuracy_checking_result_20261122123045.csv", "w") as out:
            out.write("\ufeffAPI name,Forward Test Success,Backward Test Success,Message\n")
            out.writelines(f"Functional.gelu.{at},pass,SKIP,\n" for at in range(count))


def pack(folder, weights):
    for side in ("gpu", "npu"):
        (folder / side).mkdir(parents=True)
        with zipfile.ZipFile(folder / side / "pack.zip", "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("pip", "\n".join(f"package-{at}=1.0.{at}" for at in range(500)))
            archive.writestr("env", json.dumps({"MASTER_PORT": "29500"}))
            numbers = ({"max": 1 + at % 89 / 7, "min": -1.5, "mean": 0.1, "norm": 3 + at % 83 / 9} for at in range(weights))
            layers = {f"layers.{at}.weight": one for at, one in enumerate(numbers)}
            archive.writestr("weights/step0/rank0/weight.json", json.dumps(layers))


def arrays(folder, rows):
    """Embeddings of 256 numbers a row."""
    numbers = random.Random(4)
    row = array.array("f", (numbers.gauss(0, 1) for _ in range(256 * 64)))
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 256), }}"
    for side, factor in (("gpu", 1), ("npu", 1 + 1e-6)):
        (folder / side).mkdir(parents=True)
        with open(folder / side / "embeddings.npy", "wb") as out:
            out.write(b"\x93NUMPY\x01\x00\x76\x00" + f"{head:117}\n".encode())
            block = array.array("f", (value * factor for value in row)).tobytes()
            out.write(block * (rows // 64))


def source(folder, files):
    text = "import torch\n\n\ndef step(model, batch):\n    with torch.no_grad():\n        return model(batch.to('cuda')).mean()\n"
    for at in range(files):
        path = folder / f"npu/part{at // 1000}/m{at}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text * 20)


PAIR = ("run", "{folder}/gpu", "{folder}/npu")
ALONE = ("run", "--health", "--candidate", "{folder}/npu")

# Each kind: how it is made, of how many items, and what the gate is asked.
KINDS = {
    "dump of statistics": (statistics, 60_000, PAIR),
    "dump of tensors, bfloat16": (bfloat16, 200, PAIR),
    "dump of statistics, two layouts": (
        by_script("large_layout.py", "{folder}", "--layers", "{items}"),
        2_000,
        (*PAIR, "--config", "{folder}/precision-gate.yml"),
    ),
    "training monitor": (by_script("large_monitor.py", "make", "{folder}", 16, 2_000, "{items}"), 50, PAIR),
    "training monitor, one run": (by_script("large_monitor.py", "make", "{folder}", 16, 2_000, "{items}"), 50, ALONE),
    "curves, CSV": (by_script("large_curves.py", "make", "{folder}", "csv", 50, "{items}"), 200_000, PAIR),
    "curves, JSON lines": (by_script("large_curves.py", "make", "{folder}", "jsonl", 20, "{items}"), 200_000, PAIR),
    "curves, trainer state": (by_script("large_curves.py", "make", "{folder}", "state", 20, "{items}"), 200_000, PAIR),
    "curves, TensorBoard": (by_script("large_curves.py", "make", "{folder}", "events", 10, "{items}"), 20_000, PAIR),
    "log": (by_script("large_curves.py", "make", "{folder}", "log", 5, "{items}"), 600_000, PAIR),
    "evaluation": (by_script("large_evaluation.py", "{folder}", "{items}"), 100_000, PAIR),
    "checkpoint, safetensors and Megatron": (by_script("large_checkpoint.py", "{folder}", "--layers", "{items}"), 2, PAIR),
    "tokens of a rollout": (
        by_script("large_tokens.py", "{folder}", "--answers", "{items}", "--gigabytes", 0.1),
        64,
        ("run", "--health", "--candidate", "{folder}/tokens"),
    ),
    "weights on their way": (
        by_script("large_tokens.py", "{folder}", "--answers", 1, "--gigabytes", "{items}"),
        1,
        ("run", "--health", "--candidate", "{folder}/sync"),
    ),
    "trace of a GPU": (
        by_script("large_trace.py", "{folder}", "--megabytes", "{items}", "--form", "gpu"),
        200,
        ("run", "{folder}/baseline", "{folder}/candidate"),
    ),
    "profile of an NPU": (
        by_script("large_trace.py", "{folder}", "--megabytes", "{items}", "--form", "npu"),
        200,
        ("run", "{folder}/baseline", "{folder}/candidate"),
    ),
    "tests of operators": (operators, 100_000, PAIR),
    "pack of settings and weights": (pack, 200_000, PAIR),
    "arrays": (arrays, 200_000, PAIR),
    "source": (source, 2_000, ("source", "{folder}/npu")),
}


def asked(kind, folder):
    """Arguments of the gate, and the folders that it reads, of a kind that was made below `folder`."""
    words = [word.format(folder=folder) for word in KINDS[kind][2]]
    return words, [pathlib.Path(word) for word in words if pathlib.Path(word).is_dir()]
