#!/usr/bin/env python3
"""Measure the parts of a comparison on a Dask cluster, and judge them here.

    pip install distributed
    with_dask.py BASELINE CANDIDATE --parts 8 --out precision-gate-out [--scheduler tcp://host:8786]

Both folders have to be at the same path on every worker, as on a shared file system; so does the program. Without a
scheduler a cluster of local processes is started. The exit code is that of `precision-gate merge`.
"""
import argparse
import subprocess
import sys
from pathlib import Path

from distributed import Client, LocalCluster


def measure(program, baseline, candidate, part, parts):
    """Runs on a worker; the part comes back as text, so that workers need no common folder for results."""
    import tempfile

    with tempfile.TemporaryDirectory() as out:
        command = [program, "compare", baseline, candidate, "--shard", f"{part}/{parts}", "--out", out, "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        name = f"part-{part}-of-{parts}.jsonl"
        return name, (Path(out) / name).read_text()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("baseline")
    arguments.add_argument("candidate")
    arguments.add_argument("--parts", type=int, default=4)
    arguments.add_argument("--out", type=Path, default=Path("precision-gate-out"))
    arguments.add_argument("--scheduler", help="address of a running scheduler")
    arguments.add_argument("--program", default="precision-gate")
    given = arguments.parse_args()

    cluster = given.scheduler or LocalCluster(n_workers=min(given.parts, 2), threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        tasks = [
            client.submit(measure, given.program, given.baseline, given.candidate, part, given.parts, pure=False)
            for part in range(1, given.parts + 1)
        ]
        found = client.gather(tasks)
    parts = given.out / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    files = []
    for name, text in found:
        (parts / name).write_text(text)
        files.append(str(parts / name))
    return subprocess.run([given.program, "merge", *files, "--out", str(given.out)]).returncode


if __name__ == "__main__":
    sys.exit(main())
