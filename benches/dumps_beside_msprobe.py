"""Time, memory and output of statistics dumps of several sizes, beside msprobe on the same dumps in the same run.

    python3 benches/dumps_beside_msprobe.py target/release/precision-gate [--rounds 3] [--folder /tmp] 10000 100000 64x16000

Each size is the number of values a side, or ranks and values of each; `large_dump.py` makes the dumps, three values an
operation. The gate runs so many rounds, of which the median counts; msprobe (`pip install mindstudio-probe==26.2.0`) once, on
the `PATH`, with at most so much time and memory as `--seconds` and `--gigabytes` say. Prints rows of a Markdown table.
"""

import argparse
import pathlib
import shutil
import statistics
import tempfile

import large_dump
from made import bytes_below, timed


def of_gate(options, pair, out):
    rounds = []
    command = [options.gate, "compare", pair / "gpu", pair / "npu", "--out", out, "--quiet"]
    for _ in range(options.rounds):
        # As msprobe's: a folder of its own, and no time for removing an earlier one.
        shutil.rmtree(out, ignore_errors=True)
        rounds.append(timed(command, options.seconds))
        assert rounds[-1][3] in (0, 1), "judged"
    return [statistics.median(column) for column in zip(*rounds)]


def of_msprobe(options, pair, ranks, out):
    """Its wall time; `None` where it did not finish."""
    place = "step0" if ranks > 1 else "step0/rank0/dump.json"
    command = ["msprobe", "compare", "-tp", pair / "npu" / place, "-gp", pair / "gpu" / place, "-o", out]
    wall, _, memory, code = timed(command, options.seconds, int(options.gigabytes * (1 << 30)))
    return (wall, memory) if code == 0 and any(out.rglob("compare_result*")) else None


def row(options, size):
    ranks, values = ([1] + [int(part) for part in size.split("x")])[-2:]
    with tempfile.TemporaryDirectory(dir=options.folder) as work:
        work = pathlib.Path(work)
        large_dump.write_pair(work / "pair", round(values / 3), ranks=ranks)
        wall, processor, memory, _ = of_gate(options, work / "pair", work / "out")
        written = bytes_below(work / "out")
        beside = of_msprobe(options, work / "pair", ranks, work / "msprobe") if options.msprobe else None
        shown = f"{beside[0]:.1f} s, {beside[1]:.0f} MB | {beside[0] / wall:.0f}" if beside else f"{'did not finish' if options.msprobe else 'not run'} | "
    print(f"| {size} | {wall:.2f} s | {processor:.2f} s | {memory:.0f} MB | {written / 1e6:.0f} MB | {shown} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gate", type=pathlib.Path)
    parser.add_argument("sizes", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the dumps are made for as long as they are needed")
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--gigabytes", type=float, default=16)
    options = parser.parse_args()
    options.msprobe = shutil.which("msprobe")
    print("| values a side | time | processor time | peak memory | written | msprobe | times as fast |\n" + "|---" * 7 + "|")
    for size in options.sizes:
        row(options, size)


if __name__ == "__main__":
    main()
