"""The generated types: current, and valid for the result of every fixture."""

import concurrent.futures
import dataclasses
import json
import keyword
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import pytest

import precision_gate
from conftest import ROOT
from precision_gate import _types
from precision_gate._binary import binary

GENERATOR = ROOT / "python/generate_types.py"
SIDES = (("gpu", "npu"), ("baseline", "candidate"))


def test_the_types_are_those_of_the_schema():
    schema = subprocess.run([binary(), "schema", "result"], capture_output=True, check=True).stdout
    written = subprocess.run([sys.executable, str(GENERATOR)], input=schema, capture_output=True, check=True).stdout
    current = (ROOT / "python/precision_gate/_types.py").read_bytes()
    assert written == current, "precision-gate schema result | python python/generate_types.py > python/precision_gate/_types.py"


def lost(raw, built, place="result"):
    """Keys of JSON that a dataclass has not taken over, or has changed."""
    if isinstance(raw, dict) and dataclasses.is_dataclass(built):
        for key, value in raw.items():
            # A key that is a word of Python has an underscore behind it.
            own = {name[:-1] if keyword.iskeyword(name.rstrip("_")) else name: value for name, value in vars(built).items()}
            taken = {**own.get("others", {}), **own}
            yield from lost(value, taken[key], f"{place}.{key}") if key in taken else [f"{place}.{key}"]
    elif isinstance(raw, dict) and isinstance(built, dict):
        for key, value in raw.items():
            yield from lost(value, built.get(key), f"{place}.{key}")
    elif isinstance(raw, list) and isinstance(built, list) and len(raw) == len(built):
        for index, (one, other) in enumerate(zip(raw, built)):
            yield from lost(one, other, f"{place}[{index}]")
    elif raw != built:
        yield place


def cases(scratch):
    """Pairs of runs below the fixtures; packed ones are unpacked."""
    for packed in sorted((ROOT / "tests/fixtures").rglob("sides.tar.xz")):
        folder = pathlib.Path(scratch) / packed.parent.relative_to(ROOT)
        folder.mkdir(parents=True)
        with tarfile.open(packed) as archive:
            archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    for root in (ROOT / "tests/fixtures", ROOT / "examples", pathlib.Path(scratch)):
        for one, other in SIDES:
            for baseline in sorted(root.rglob(one)):
                if (baseline.parent / other).exists():
                    yield baseline, baseline.parent / other


def judge(pair):
    """Keys that are lost, and the kinds of units, of a pair's result."""
    try:
        result = precision_gate.run(*pair, out="-", today="2026-11-24", threads=1)
    except precision_gate.FetchError:
        return [], set()
    return list(lost(result.raw, result.data)), {type(unit).__name__ for check in result.checks for unit in check.units}


def test_every_fixture_has_a_result_of_these_types():
    if not (ROOT / "tests/fixtures").is_dir():
        pytest.skip("no fixtures")
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        pairs = list(cases(scratch))
        found = list(pool.map(judge, pairs))
    wrong = {str(pair[0]): keys[:3] for pair, (keys, _) in zip(pairs, found) if keys}
    assert not wrong
    kinds = set().union(*(kinds for _, kinds in found))
    print(f"{len(pairs)} results, units: {', '.join(sorted(kinds))}")
    assert len(pairs) > 300
    assert {"DumpUnit", "CurveUnit", "CheckpointUnit", "MonitorUnit", "EvaluationUnit", "LogprobsUnit"} <= kinds


def test_a_result_is_read_as_it_was_written(quickstart, tmp_path):
    made = precision_gate.run(*quickstart, out=tmp_path)
    read = precision_gate.load(tmp_path)
    assert read.data == made.data
    assert read.raw == json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert made.culprit is not None
    assert isinstance(made.culprit, _types.Culprit)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.data.verdict = "pass"
