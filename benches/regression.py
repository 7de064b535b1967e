"""Fails where this build of the gate is slower than another, beyond what the machine's noise explains.

    python3 benches/regression.py target/release/precision-gate OTHER [--rounds 7] [--folder /tmp] [KIND…]

Each kind of artifact that `made.py` knows is made once, and both builds judge it in turns; the other one twice in each turn, so that
what differs between two runs of one program is measured in the same minutes. Of each of the three the least processor time
counts, which other programs disturb least. The end is code 1 where this build takes more than 10 % longer than the other, beyond the
distance between the other's own two. Needs NumPy for monitors and curves.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile

import made

KINDS = ["dump of statistics", "dump of tensors, bfloat16", "training monitor", "curves, CSV", "log", "profile of an NPU"]
# Items of a kind that takes too little time with those of the table.
ITEMS = {"dump of tensors, bfloat16": 800}
ALLOWED = 0.10
# Processor times are told in hundredths: what takes less says nothing.
LEAST = 0.2


def least(programs, kind, folder, rounds):
    """The least processor and wall time of each program over rounds, taken in turns."""
    words, _ = made.asked(kind, folder)
    best = [(float("inf"), float("inf"))] * len(programs)
    for _ in range(rounds):
        for at, program in enumerate(programs):
            out = folder / "out"
            shutil.rmtree(out, ignore_errors=True)
            wall, processor, _, code = made.timed([program, *words, "--out", out, "--quiet"], 900)
            assert code in (0, 1), f"{program} ended with {code}"
            best[at] = (min(best[at][0], processor), min(best[at][1], wall))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("this", type=pathlib.Path)
    parser.add_argument("other", type=pathlib.Path)
    parser.add_argument("kinds", nargs="*", default=KINDS)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", help="where artifacts are made for as long as they are needed")
    asked = parser.parse_intermixed_args()
    print("| kind | other: processor, wall | this: processor, wall | ratio | noise | |\n" + "|---" * 6 + "|")
    slower = []
    for kind in asked.kinds:
        with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
            folder = pathlib.Path(folder)
            make, items, _ = made.KINDS[kind]
            make(folder, ITEMS.get(kind, items))
            once, this, again = least([asked.other, asked.this, asked.other], kind, folder, asked.rounds)
        other = (min(once[0], again[0]), min(once[1], again[1]))
        noise = abs(once[0] - again[0]) / max(other[0], LEAST)
        ratio = max(this[0], LEAST) / max(other[0], LEAST)
        is_slower = ratio > 1 + ALLOWED + noise
        slower += [kind] * is_slower
        told = [f"{processor:.2f} s, {wall:.2f} s" for processor, wall in (other, this)]
        print(f"| {kind} | {told[0]} | {told[1]} | {ratio:.2f} | {noise:.2f} | {'slower' if is_slower else ''} |", flush=True)
    if slower:
        sys.exit(f"slower by more than {ALLOWED:.0%} beyond noise: {', '.join(slower)}")


if __name__ == "__main__":
    main()
