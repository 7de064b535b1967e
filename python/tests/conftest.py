"""The binary under test: that of PRECISION_GATE_BINARY, else the one that was installed or that cargo has built."""

import os
import pathlib
import shutil
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUICKSTART = ROOT / "examples/quickstart"
BUILT = ROOT / "target/debug/precision-gate"

pytest_plugins = ["pytester"]

if "PRECISION_GATE_BINARY" not in os.environ and BUILT.is_file() and not shutil.which("precision-gate"):
    os.environ["PRECISION_GATE_BINARY"] = str(BUILT)


@pytest.fixture
def quickstart():
    """Both runs of the quickstart."""
    return QUICKSTART / "gpu", QUICKSTART / "npu"


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Puts a script in the place of the binary; it is given the body of a Python program."""

    def put(body, version="0.1.0"):
        path = tmp_path / "program"
        asked = f"if '--version' in sys.argv:\n    print('precision-gate {version}')\n    sys.exit(0)\n"
        path.write_text(f"#!{sys.executable}\nimport os, signal, sys\n{asked}{body}")
        path.chmod(0o755)
        monkeypatch.setenv("PRECISION_GATE_BINARY", str(path))
        return path

    return put
