"""How fast a pair in an S3 server is compared, against a plain parallel download of the same objects in the same run.

    python3 tests/locations/peers/speed.py target/release/precision-gate [--rounds N] [--format npy] 64x32MiB 400x2.5MB

Needs moto, boto3, numpy, and for `--format pt` torch. For each COUNTxSIZE it makes a pair of tensor dumps of so many float32
tensors a side, as MindSpore (npy) or `torch.save` (pt) writes them, and puts it into moto. Then it takes turns: all objects by eight connections, bodies discarded, and
the gate with `--max-disk 100MB --max-memory 256MB`. Prints both rates, their ratio, the gate's peak memory, and the bytes it
left on disk.
"""
import argparse
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

import numpy
import s3_bucket

CONNECTIONS = 8
UNITS = {"KB": 10**3, "MB": 10**6, "KiB": 2**10, "MiB": 2**20}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def record(name, elements):
    kind, dtype = ("torch.Tensor", "torch.float32") if name.endswith(".pt") else ("mindspore.Tensor", "Float32")
    return {"type": kind, "dtype": dtype, "shape": [elements], "Max": 4.0, "Min": -4.0, "Mean": 0.0,
            "Norm": elements**0.5, "requires_grad": False, "data_name": name}


def save(values, path):
    if path.suffix == ".npy":
        return numpy.save(path, values)
    import torch
    return torch.save(torch.from_numpy(values), path)


def write_side(folder, count, size, noise, ending):
    """One operation a tensor; the sides differ by noise of single precision."""
    rank = pathlib.Path(folder) / "step0" / "rank0"
    data = rank / "dump_tensor_data"
    data.mkdir(parents=True)
    values = numpy.random.default_rng(7).standard_normal(size // 4, dtype=numpy.float32)
    operations = {}
    for index in range(count):
        name = f"Functional.relu.{index}.forward"
        file = f"{name}.output.0.{ending}"
        save((values + numpy.float32(index % 7)) * numpy.float32(1 + noise), data / file)
        operations[name] = {"input_args": [], "input_kwargs": {}, "output": [record(file, size // 4)]}
    framework = "pytorch" if ending == "pt" else "mindspore"
    head = {"task": "tensor", "level": "L1", "framework": framework, "dump_data_dir": str(data), "data": operations}
    (rank / "dump.json").write_text(json.dumps(head))


def compare(binary, endpoint, bucket, folder):
    environment = {"AWS_ACCESS_KEY_ID": "access", "AWS_SECRET_ACCESS_KEY": "secret", "HOME": folder}
    sides = [f"s3://{bucket}/{side}?endpoint={endpoint}" for side in ("gpu", "npu")]
    limits = ["--max-disk", "100MB", "--max-memory", "256MB"]
    # A child of this process would begin with its memory.
    told = f"{folder}/memory"
    command = ["/usr/bin/time", "-q", "-f", "%M", "-o", told, binary, "compare", *sides, *limits, "--out", f"{folder}/out", "-q"]
    start = time.monotonic()
    child = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL)
    taken = time.monotonic() - start
    memory = int(pathlib.Path(told).read_text()) / 1024
    pathlib.Path(told).unlink()
    return taken, child.returncode, memory


def stored(folder):
    paths = (path for path in pathlib.Path(folder).rglob("*") if path.is_file() and "out" not in path.parts)
    return sum(path.stat().st_size for path in paths)


def upload(endpoint, bucket, count, size, ending):
    with tempfile.TemporaryDirectory() as folder:
        for side, noise in (("gpu", 0.0), ("npu", 2.0**-23)):
            write_side(f"{folder}/{side}", count, size, noise, ending)
        s3_bucket.put(endpoint, bucket, folder, "")


def measure(options, endpoint, pair):
    count, size, unit = re.fullmatch(r"(\d+)x([\d.]+)([KM]i?B)", pair).groups()
    bucket = pair.lower().replace(".", "-")
    upload(endpoint, bucket, int(count), int(float(size) * UNITS[unit]), options.format)
    for _ in range(options.rounds):
        seconds, total = s3_bucket.download(endpoint, bucket, CONNECTIONS)
        with tempfile.TemporaryDirectory() as folder:
            taken, code, memory = compare(options.binary.resolve(), endpoint, bucket, folder)
            left = stored(folder)
        print(f"{pair} {options.format}: download {total / seconds / 1e6:.0f} MB/s, compare {total / taken / 1e6:.0f} MB/s, "
              f"ratio {seconds / taken:.2f}, exit {code}, peak {memory:.0f} MiB, stored {left} bytes", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("pairs", nargs="+", metavar="COUNTxSIZE")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--format", choices=["npy", "pt"], default="npy")
    options = parser.parse_args()
    port = free_port()
    for pair in options.pairs:
        # A server each, for it keeps what it was given in memory.
        moto = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(5)
            measure(options, f"http://127.0.0.1:{port}", pair)
        finally:
            moto.terminate()
            moto.wait()


if __name__ == "__main__":
    main()
