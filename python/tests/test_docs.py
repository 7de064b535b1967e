"""What the page and the notebook show runs as it stands there."""

import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

PAGE = ROOT / "docs/python.md"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_ten_lines_work_and_the_result_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    first, last = blocks("python")[0], blocks("python")[-1]
    assert len(first.strip().splitlines()) <= 10
    ran = subprocess.run([sys.executable, "-c", first + last], capture_output=True, text=True, check=True)
    lines = ran.stdout.splitlines()
    for line, told in zip(lines, re.findall(r"print\(.*?\)\s*# (.*)", first)):
        assert line.startswith(told.split("…")[0].rstrip(" ·,")), (line, told)
    assert lines[-1] == "fail The backward of h[order] returns only zeros on the NPU"


def test_the_lines_for_a_shell_work(tmp_path):
    if not (shutil.which("jq") and shutil.which("precision-gate")):
        pytest.skip("jq or precision-gate is not on PATH")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    subprocess.run(["precision-gate", "run", "examples/quickstart/gpu", "examples/quickstart/npu", "-q"], cwd=tmp_path, check=False)
    block = blocks("sh")[-1]
    ran = subprocess.run(["bash", "-c", block], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[:2] == [
        "fail The backward of h[order] returns only zeros on the NPU",
        "Tensor.__getitem__.0.backward",
    ]


def test_the_notebook_runs(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("pandas")
    folder = tmp_path / "python"
    folder.mkdir()
    (tmp_path / "quickstart").symlink_to(ROOT / "examples/quickstart")
    notebook = nbformat.read(str(ROOT / "examples/python/two_runs.ipynb"), as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = [output["data"].get("text/html", "") for output in outputs if "data" in output]
    assert "The backward of h[order] returns only zeros on the NPU" in shown[0]
    assert "data:image/png;base64," in shown[0]
