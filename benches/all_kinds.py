"""Time and memory of every kind of artifact in one run, beside the time to only read the same files: rows of a Markdown table.

    python3 benches/all_kinds.py target/release/precision-gate [--rounds 5] [--folder /tmp] [KIND…]

`made.py` makes each pair, and it is gone before the next is made. Files are in the page cache. Reading them, on as many threads as there
are processors and with nothing done to the bytes, takes turns with the gate from start to verdict, all documents written; of
both the least of all rounds counts. Needs NumPy for monitors and curves.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import tempfile
import time

import made

BLOCK = 1 << 20


def read(path):
    with open(path, "rb", buffering=0) as file:
        block = bytearray(BLOCK)
        while file.readinto(block):
            pass


def only_reading(folders):
    """Seconds that reading all files below takes, by all processors together."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        start = time.monotonic()
        list(pool.map(read, files))
        return time.monotonic() - start


def row(asked, kind):
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        folder = pathlib.Path(folder)
        make, items, _ = made.KINDS[kind]
        make(folder, items)
        words, folders = made.asked(kind, folder)
        size = sum(map(made.bytes_below, folders))
        reading, rounds = [], []
        for _ in range(asked.rounds):
            out = folder / "out"
            shutil.rmtree(out, ignore_errors=True)
            reading.append(only_reading(folders))
            rounds.append(made.timed([asked.gate, *words, "--out", out, "--quiet"], 900))
            assert rounds[-1][3] in (0, 1), f"{kind}: judged"
        written = made.bytes_below(out)
    wall, processor, memory = (min(column) for column in list(zip(*rounds))[:3])
    least = min(reading)
    cells = [f"{size / 1e6:.0f} MB", f"{least:.3f} s", f"{wall:.2f} s", f"{processor:.2f} s", f"{wall / least:.1f}"]
    print(f"| {kind} | " + " | ".join([*cells, f"{memory:.0f} MB", f"{written / 1e6:.1f} MB"]) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gate", type=pathlib.Path)
    parser.add_argument("kinds", nargs="*", default=list(made.KINDS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where artifacts are made for as long as they are needed")
    asked = parser.parse_args()
    print("| kind | both sides | only reading | from start to verdict | processor time | ratio | peak memory | written |")
    print("|---" * 8 + "|")
    for kind in asked.kinds:
        row(asked, kind)


if __name__ == "__main__":
    main()
