#!/usr/bin/env python3
"""Reproduces the culprit of every dump below a folder with torch on the CPU, and prints what each script says.

    run_fixtures.py PRECISION_GATE FOLDER... [--python PYTHON] [--markdown]

A folder holds cases, each with `gpu/` and `npu/` or a `sides.tar.xz` of them. Every case is judged, its culprit is written with
`reproduce --with-data`, and the script runs by PYTHON in an empty folder of its own. Columns: error of the CPU in the type of the
run against fp64 (rel. L2), of the recorded baseline, of the recorded candidate, and the script's exit code (1: the NPU errs).
Exit code 0 where every script ran.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("gate")
    arguments.add_argument("folders", nargs="+", type=pathlib.Path)
    arguments.add_argument("--python", default=sys.executable)
    arguments.add_argument("--markdown", action="store_true", help="a table for a document")
    options = arguments.parse_args()
    failed = 0
    show(options, "case", "operation", "inputs", "native against fp64", "baseline", "candidate", "exit")
    for folder in options.folders:
        for case in sorted(path for path in folder.iterdir() if (path / "gpu").is_dir() or (path / "sides.tar.xz").exists()):
            with tempfile.TemporaryDirectory(prefix="gate-reproduce-") as work:
                failed += not one(options, case, pathlib.Path(work))
    return 1 if failed else 0


def one(options, case, work):
    sides = case
    if (case / "sides.tar.xz").exists():
        sides = work / "sides"
        with tarfile.open(case / "sides.tar.xz") as archive:
            archive.extractall(sides)
    gate(options, "run", sides / "gpu", sides / "npu", "--out", work / "out", "-q")
    try:
        result = json.loads((work / "out" / "result.json").read_text())
    except OSError:
        return True
    if not result["culprit"]:
        return True
    op = result["culprit"]["op"]
    made = gate(options, "reproduce", work / "out" / "result.json", "--with-data", "--out", work / "made")
    if made.returncode:
        why = made.stderr.split("cannot run alone: ")[-1].split("\n")[0]
        show(options, case.name, op, "cannot: " + why, "", "", "", made.returncode)
        return "cannot run alone" in made.stderr
    # The folder alone, somewhere else.
    alone = work / "received" / "folder"
    shutil.copytree(work / "made", alone)
    ran = subprocess.run([options.python, alone / "reproduce.py", "--device", "cpu"], capture_output=True, text=True, cwd="/",
                         env={"PATH": os.environ["PATH"]})
    if ran.returncode == 2 or not (alone / "errors_cpu.json").exists():
        show(options, case.name, op, "FAILED: " + (ran.stderr.strip().split("\n") or [""])[-1], "", "", "", ran.returncode)
        return False
    errors = {path.stem[len("errors_"):]: json.loads(path.read_text()) for path in alone.glob("errors_*.json")}
    show(options, case.name, op, errors["cpu"]["inputs"], *(worst(errors.get(name)) for name in ("cpu", "baseline", "candidate")),
         ran.returncode)
    return True


def gate(options, *args):
    environment = {key: value for key, value in os.environ.items() if key not in ("CI", "GITHUB_ACTIONS", "GITLAB_CI")}
    return subprocess.run([options.gate, *map(str, args)], capture_output=True, text=True, env=environment)


def worst(answer):
    """The largest error of an answer, with the result that has it."""
    if answer is None:
        return ""
    found = []
    for one in answer["results"]:
        if "wrong" in one:
            found.append((float("inf"), one["name"], "shape"))
        elif "unequal" in one:
            found.append((one["unequal"], one["name"], "unequal"))
        elif "rel_l2" in one:
            note = " +%d non-finite" % one["non_finite"] if one["non_finite"] else ""
            found.append((float("inf") if note else one["rel_l2"], one["name"], "%.2g%s" % (one["rel_l2"], note)))
    if not found:
        return "-"
    value, name, text = max(found)
    return "%s %s" % (text, name) if text != "unequal" else "%.2g of elements %s" % (value, name)


def show(options, *cells):
    if options.markdown:
        print("| %s |" % " | ".join(str(cell) for cell in cells), flush=True)
        if cells[0] == "case":
            print("|%s" % ("---|" * len(cells)))
        return
    print("%-38s %-46s %-12s %-22s %-22s %-28s %s" % cells, flush=True)


if __name__ == "__main__":
    sys.exit(main())
