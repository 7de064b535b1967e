"""Makes a pair of runs with as many metrics and steps as wanted, in one of the formats of curves, or reads the tables with pandas.

    python3 benches/large_curves.py make FOLDER FORMAT METRICS STEPS     # FORMAT: csv, jsonl, state, log, steps, events; needs NumPy
    /usr/bin/time -v precision-gate run FOLDER/gpu FOLDER/npu --out FOLDER/out --quiet --max-memory 256MB
    python3 benches/large_curves.py megatron FOLDER STEPS                # one log of Megatron, of one run
    /usr/bin/time -v python3 benches/large_curves.py read FOLDER         # pandas reads the tables of both sides, one after the other

Values have the digits of a `float32`, as `tensor.item()` gives them. The candidate differs by rounding noise, and its last metric by
5 % from the middle on.
"""

import json
import pathlib
import random
import struct
import sys

ROWS = 10_000
FIRST = ["loss", "grad_norm", "learning_rate", "aux_loss"]


def names(metrics):
    return (FIRST + [f"layer_{index}/act_norm" for index in range(metrics)])[:metrics]


def blocks(metrics, steps, drift):
    """Step and values of each row, in blocks of rows."""
    import numpy

    own = numpy.random.default_rng(drift)
    for start in range(0, steps, ROWS):
        common = numpy.random.default_rng((7, start))
        count = min(ROWS, steps - start)
        at = numpy.arange(start + 1, start + count + 1)
        values = 2 + 8 / (1 + at[:, None] / 1000) * common.uniform(0.9, 1.1, (count, metrics))
        values *= 1 + drift * own.uniform(-1e-6, 1e-6, (count, metrics))
        if metrics > 2:
            values[:, 2] = 3e-4 * numpy.minimum(1, at / 1000)
        if drift:
            values[at > steps // 2, -1] *= 1.05
        yield at.tolist(), values.astype(numpy.float32).astype(float).tolist()


def csv(file, metrics, rows):
    file.write(",".join(["step", *names(metrics)]) + "\n")
    for steps, values in rows:
        file.writelines(f"{step},{','.join(map(repr, row))}\n" for step, row in zip(steps, values))


def jsonl(file, metrics, rows):
    for steps, values in rows:
        for step, row in zip(steps, values):
            file.write(json.dumps({"step": step, **dict(zip(names(metrics), row))}) + "\n")


def state(file, metrics, rows):
    file.write('{"global_step": 1, "log_history": [\n')
    separator = ""
    for steps, values in rows:
        for step, row in zip(steps, values):
            record = {"epoch": step / 1000, **dict(zip(names(metrics), row)), "step": step}
            file.write(separator + json.dumps(record, indent=1))
            separator = ",\n"
    file.write("]}\n")


def log(file, metrics, rows):
    for steps, values in rows:
        for step, row in zip(steps, values):
            said = " | ".join(f"{name.replace('_', ' ')}: {value:.6E}" for name, value in zip(names(metrics), row))
            file.write(f" [2026-01-01 10:00:00] iteration {step:8}/ 9999999 | consumed samples: {step * 8:12} | {said} |\n")


def steps(file, metrics, rows):
    for numbers, values in rows:
        file.writelines(f"{step} {row[0]!r}\n" for step, row in zip(numbers, values))


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def masked(data, table=[]):
    if not table:
        for byte in range(256):
            for _ in range(8):
                byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
            table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def events(file, metrics, rows):
    """One event for each value, as `SummaryWriter.add_scalar` writes them."""

    def write(event):
        length = struct.pack("<Q", len(event))
        file.write(length + masked(length) + event + masked(event))

    write(b"\x09" + struct.pack("<d", 1.7e9) + field(3, b"brain.Event:2"))
    for steps, values in rows:
        for step, row in zip(steps, values):
            for name, value in zip(names(metrics), row):
                summary = field(1, field(1, name.encode()) + b"\x15" + struct.pack("<f", value))
                write(b"\x09" + struct.pack("<d", 1.7e9 + step) + b"\x10" + varint(step) + field(5, summary))


FORMATS = {"csv": csv, "jsonl": jsonl, "state": state, "log": log, "steps": steps, "events": events}
FILES = {"csv": "metrics.csv", "jsonl": "metrics.jsonl", "state": "trainer_state.json", "log": "train.log", "steps": "loss.txt"}


def make(folder, form, metrics, count):
    for side, drift in (("gpu", 0), ("npu", 1)):
        home = pathlib.Path(folder, side)
        home.mkdir(parents=True, exist_ok=True)
        name = FILES.get(form, "events.out.tfevents.1700000000.host")
        with open(home / name, "wb" if form == "events" else "w") as file:
            FORMATS[form](file, metrics, blocks(metrics, count, drift))


def megatron(folder, count):
    """The lines that Megatron prints, 356 bytes each."""
    rnd = random.Random(1)
    home = pathlib.Path(folder, "npu")
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "train.log", "w") as file:
        for step in range(1, count + 1):
            loss, norm, time = 2 + 8 / (1 + step / 2000) + rnd.gauss(0, 0.02), 1 + abs(rnd.gauss(0, 0.1)), 1200 + rnd.gauss(0, 10)
            clock = f"{step // 3600 % 24:02}:{step // 60 % 60:02}:{step % 60:02}"
            file.write(
                f" [2026-01-01 {clock}] iteration {step:8}/{count:8} | consumed samples: {step * 256:12} |"
                f" elapsed time per iteration (ms): {time:.1f} | throughput per GPU (TFLOP/s/GPU): {4e5 / time:.1f} |"
                f" learning rate: {1e-4 * (1 - step / count / 2):.6E} | global batch size:   256 | lm loss: {loss:.6E} |"
                f" loss scale: 1.0 | grad norm: {norm:.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
            )


def read(folder):
    import pandas

    for path in sorted(pathlib.Path(folder).glob("?pu/*.csv")):
        print(path, pandas.read_csv(path).shape)


if __name__ == "__main__":
    if sys.argv[1] == "megatron":
        megatron(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
    else:
        read(sys.argv[2])
