#!/usr/bin/env python3
"""The Dask example on a `LocalCluster` gives the result of one run, byte for byte.

    test_with_dask.py PATH/TO/precision-gate
"""
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

here = Path(__file__).resolve().parent
packed = here.parent.parent / "tests/fixtures/dumps/tp2_bf16_tensor_rank1_bad_tile/sides.tar.xz"


def main():
    program = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        whole, parts, case = (Path(folder, name) for name in ["whole", "parts", "case"])
        with tarfile.open(packed) as archive:
            archive.extractall(case)
        sides = [str(case / "gpu"), str(case / "npu")]
        one = subprocess.run([program, "compare", *sides, "--out", str(whole), "--quiet"])
        spread = subprocess.run([sys.executable, str(here / "with_dask.py"), *sides, "--parts", "3", "--out", str(parts),
                                 "--program", program])
        assert spread.returncode == one.returncode == 1, (one.returncode, spread.returncode)
        for name in ["result.json", "operations.jsonl", "compare_result_step0_rank1.csv"]:
            assert (whole / name).read_bytes() == (parts / name).read_bytes(), f"{name} differs"
    print("ok: three parts on a local cluster are judged as one run")


if __name__ == "__main__":
    main()
