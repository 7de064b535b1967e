"""Time and memory of every kind of artifact in one run, beside what the machine and others take: rows of a Markdown table.

    cargo build --release --manifest-path benches/parse/Cargo.toml
    python3 benches/all_kinds.py target/release/precision-gate benches/parse/target/release/parse [--rounds 5] [--folder /tmp] [KIND…]

`made.py` makes each pair, and it is gone before the next is made. Files are in the page cache. In turns with the gate from start to
verdict, all documents written, are measured: reading the files and throwing the bytes away, on one thread and on two; taking them
apart once on one thread, by the fastest parser there is (`benches/parse`); and the same by Python's own json, by pandas or by NumPy,
where people use these. Of each the least of all rounds counts, and the ratio is that of the gate to taking apart, or else to
reading on two threads. Needs NumPy and pandas.
"""

import argparse
import concurrent.futures
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import made

BLOCK = 1 << 20


def read(path):
    with open(path, "rb", buffering=0) as file:
        block = bytearray(BLOCK)
        while file.readinto(block):
            pass


# What people read a kind with: its name, and a line of Python for a file `path` with this ending.
BY_JSON = ("json", ".json", "json.load(open(path))")
BY_LINES = ("json", ".jsonl", "for line in open(path): json.loads(line)")
BY_PANDAS = ("pandas", ".csv", "pandas.read_csv(path)")
PEERS = {
    "dump of statistics": BY_JSON,
    "dump of statistics, two layouts": BY_JSON,
    "training monitor": BY_PANDAS,
    "training monitor, one run": BY_PANDAS,
    "curves, CSV": BY_PANDAS,
    "curves, JSON lines": BY_LINES,
    "curves, trainer state": BY_JSON,
    "evaluation": BY_LINES,
    "trace of a GPU": BY_JSON,
    "tests of operators": BY_PANDAS,
    "arrays": ("numpy", ".npy", "numpy.load(path)"),
}


def only_reading(folders, threads):
    """Seconds that reading all files below takes."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        start = time.monotonic()
        list(pool.map(read, files))
        return time.monotonic() - start


def taken_apart(program, folders):
    """Seconds of the fastest parser; infinite where it knows none of the files."""
    seconds, _, megabytes, _ = subprocess.run([program, *folders], check=True, capture_output=True, text=True).stdout.split()
    return float(seconds) if float(megabytes) > 0 else float("inf")


def by_peer(kind, folders):
    """Seconds that Python takes to read the files of a kind, without its start."""
    name, ending, line = PEERS[kind]
    paths = [str(path) for folder in folders for path in folder.rglob(f"*{ending}")]
    program = f"import {name}, sys, time\nstart = time.monotonic()\nfor path in sys.argv[1:]:\n {line}\nprint(time.monotonic() - start)"
    return float(subprocess.run([sys.executable, "-c", program, *paths], check=True, capture_output=True, text=True).stdout)


def row(asked, kind):
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        folder = pathlib.Path(folder)
        make, items, _ = made.KINDS[kind]
        make(folder, items)
        words, folders = made.asked(kind, folder)
        size = sum(map(made.bytes_below, folders))
        rounds = []
        for _ in range(asked.rounds):
            out = folder / "out"
            shutil.rmtree(out, ignore_errors=True)
            probes = [only_reading(folders, 1), only_reading(folders, 2), taken_apart(asked.parse, folders)]
            *gate, code = made.timed([asked.gate, *words, "--out", out, "--quiet"], 900)
            assert code in (0, 1), f"{kind}: judged"
            rounds.append([*probes, by_peer(kind, folders) if kind in PEERS else 0, *gate])
        written = made.bytes_below(out)
    one, two, apart, peer, wall, processor, memory = (min(column) for column in zip(*rounds))
    known = apart < float("inf")
    cells = [f"{size / 1e6:.0f} MB", f"{one:.3f}, {two:.3f} s", f"{apart:.2f} s" if known else "", f"{wall:.2f} s"]
    cells += [f"{processor:.2f} s", f"{wall / (apart if known else two):.1f}", f"{memory:.0f} MB", f"{written / 1e6:.1f} MB"]
    cells += [f"{PEERS[kind][0]} {peer:.2f} s" if kind in PEERS else ""]
    print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gate", type=pathlib.Path)
    parser.add_argument("parse", type=pathlib.Path)
    parser.add_argument("kinds", nargs="*", default=list(made.KINDS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where artifacts are made for as long as they are needed")
    asked = parser.parse_intermixed_args()
    columns = ["kind", "both sides", "only reading, 1 and 2 threads", "taking apart once", "from start to verdict", "processor time"]
    print("| " + " | ".join([*columns, "ratio", "peak memory", "written", "Python"]) + " |\n" + "|---" * 10 + "|")
    for kind in asked.kinds:
        row(asked, kind)


if __name__ == "__main__":
    main()
