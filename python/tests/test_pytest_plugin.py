"""The plugin, in runs of pytest of their own."""

import json

import pytest

pytest.importorskip("numpy")

TEST = """
import numpy

def test_logits(precision_gate):
    precision_gate.check({"logits": numpy.arange(1000, dtype="f4") %% 7 * %s})
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs pytest as outside of any job, so that a baseline may be recorded."""
    for name in ("CI", "GITHUB_ACTIONS", "GITLAB_CI"):
        monkeypatch.delenv(name, raising=False)
    import importlib.metadata

    entries = importlib.metadata.entry_points()
    known = entries.get("pytest11", []) if isinstance(entries, dict) else entries.select(group="pytest11")
    loaded = any(entry.name == "precision_gate" for entry in known)
    given = () if loaded else ("-p", "precision_gate.pytest_plugin")

    def of(scale, *arguments):
        pytester.makepyfile(test_model=TEST % scale)
        return pytester.runpytest_subprocess(*given, *arguments)

    return of


def test_a_baseline_is_recorded_and_judged_against(run, pytester):
    run("1.0").stdout.fnmatch_lines(["*no baseline is recorded: run `pytest --precision-record`*"])
    run("1.0", "--precision-record", "-rs").stdout.fnmatch_lines(["*recorded as the baseline test_model-test_logits*"])
    manifest = json.loads((pytester.path / "baselines/test_model-test_logits.json").read_text())
    assert "recorded by pytest, test_model.py::test_logits" in json.dumps(manifest)
    passed = run("1.0")
    passed.assert_outcomes(passed=1)
    passed.stdout.fnmatch_lines(["*precision-gate*", "pass*test_logits*", "*precision-gate-out*test_model-test_logits*report.html"])
    failed = run("1.5")
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(["*PrecisionError: ✗ fail: *logits*", "fail*test_logits*logits*", "*report.html"])


def test_a_baseline_of_a_location(run, pytester):
    import numpy

    folder = pytester.path / "golden/test_model-test_logits"
    folder.mkdir(parents=True)
    numpy.save(folder / "logits.npy", numpy.arange(1000, dtype="f4") % 7)
    run("1.0", f"--precision-baseline={folder.parent}").assert_outcomes(passed=1)
    run("2.0", f"--precision-baseline={folder.parent}").assert_outcomes(failed=1)


def test_every_result_has_a_folder_of_its_own(run, pytester):
    pytester.makepyfile(
        test_two="""
        import numpy, pytest, precision_gate as gate

        @pytest.mark.parametrize("name", ["a/b", "c d"])
        def test_two(precision_gate, name):
            x = numpy.arange(99.0)
            precision_gate.assert_close(x, x)
            with pytest.raises(gate.PrecisionError):
                precision_gate.assert_close(x, x + 1)
        """
    )
    ran = run("1.0", "-k", "test_two")
    ran.assert_outcomes(passed=2, deselected=1)
    folders = sorted(path.parent.name for path in pytester.path.glob("precision-gate-out/*/report.html"))
    assert folders == ["test_two-test_two-a-b", "test_two-test_two-a-b-2", "test_two-test_two-c-d", "test_two-test_two-c-d-2"]
