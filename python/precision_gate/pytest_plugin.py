"""Plugin of pytest: the fixture ``precision_gate``.

    def test_logits(precision_gate, model, batch):
        precision_gate.check({"logits": model(batch)})

``pytest --precision-record`` records what such a test gives as its baseline; without it, it is judged against the baseline.
"""

from __future__ import annotations

import getpass
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Dict, Generator, List, Mapping, Optional, Tuple, Union

import pytest

from . import _commands, _tensors
from ._binary import execute
from ._commands import Location, Option
from ._errors import UsageError
from ._result import Result

__all__ = ["Gate"]

#: Folder of reports, below pytest's root.
REPORTS = "precision-gate-out"
#: Folder of recorded baselines, below pytest's root.
BASELINES = "precision-baselines"
#: Key under which a test's results go to the terminal, from workers of pytest-xdist too.
PROPERTY = "precision_gate"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("precision-gate")
    group.addoption(
        "--precision-baseline",
        metavar="LOCATION",
        help="Baseline of the tests: a folder with one folder per test, or any location where one test is run",
    )
    group.addoption("--precision-record", action="store_true", help="Record the tests' baselines, and judge nothing")


class Gate:
    """The functions of :mod:`precision_gate`, with reports under the test's name."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._config = request.config
        self._node = request.node.nodeid
        self._root = Path(str(request.config.rootpath))
        self._results: List[Result] = []
        #: Name of the test, as folders and baselines have it.
        self.name = re.sub(r"[^A-Za-z0-9_.-]+", "-", self._node.replace(".py::", "-")).strip("-.")

    def _out(self) -> Path:
        number = len(self._results)
        return self._root / REPORTS / (self.name if number == 0 else f"{self.name}-{number + 1}")

    def _kept(self, result: Result) -> Result:
        self._results.append(result)
        return result

    def run(self, baseline: Any, candidate: Any, **options: Option) -> Result:
        """As :func:`precision_gate.run`."""
        return self._kept(_commands.run(baseline, candidate, **{"out": self._out(), **options}))  # type: ignore[arg-type]

    def compare(self, baseline: Location, candidate: Location, **options: Option) -> Result:
        """As :func:`precision_gate.compare`."""
        return self._kept(_commands.compare(baseline, candidate, **{"out": self._out(), **options}))  # type: ignore[arg-type]

    def loss(self, baseline: Location, candidate: Location, **options: Option) -> Result:
        """As :func:`precision_gate.loss`."""
        return self._kept(_commands.loss(baseline, candidate, **{"out": self._out(), **options}))  # type: ignore[arg-type]

    def config_check(self, baseline: Location, candidate: Location, **options: Option) -> Result:
        """As :func:`precision_gate.config_check`."""
        return self._kept(_commands.config_check(baseline, candidate, **{"out": self._out(), **options}))  # type: ignore[arg-type]

    def evaluation(self, baseline: Any, candidate: Any, **options: Option) -> Result:
        """As :func:`precision_gate.evaluation`."""
        return self._kept(_commands.evaluation(baseline, candidate, **{"out": self._out(), **options}))  # type: ignore[arg-type]

    def health(self, candidate: Location, **options: Option) -> Result:
        """As :func:`precision_gate.health`."""
        return self._kept(_commands.health(candidate, **{"out": self._out(), **options}))  # type: ignore[arg-type]

    def source(self, path: Location, **options: Option) -> Result:
        """As :func:`precision_gate.source`."""
        return self._kept(_commands.source(path, **{"out": self._out(), **options}))  # type: ignore[arg-type]

    def compare_state(self, a: Any, b: Any, **options: Option) -> Result:
        """As :func:`precision_gate.compare_state`."""
        return self._kept(_tensors.compare_state(a, b, **{"out": self._out(), **options}))  # type: ignore[arg-type]

    def compare_tensors(self, tensors: Mapping[str, Tuple[Any, Any]], **options: Option) -> Result:
        """As :func:`precision_gate.compare_tensors`."""
        return self._kept(_tensors.compare_tensors(tensors, **{"out": self._out(), **options}))  # type: ignore[arg-type]

    def assert_close(
        self, actual: Any, expected: Any, *, name: str = "tensor", allow_warn: bool = False, **options: Option
    ) -> None:
        """As :func:`precision_gate.assert_close`, with a report."""
        self.compare_tensors(_tensors.pairs(name, actual, expected), **options).assert_pass(allow_warn)

    def check(self, candidate: Union[Location, Mapping[str, Any]], allow_warn: bool = True, **options: Option) -> Result:
        """Judges a folder of a run, or tensors by name, against the test's baseline, and raises unless it passes.

        The baseline is that of ``--precision-baseline``, else the one that ``--precision-record`` recorded.
        """
        if self._config.getoption("--precision-record"):
            self._record(candidate)
            pytest.skip(f"recorded as the baseline {self.name}")
        return self._judge(candidate, options).assert_pass(allow_warn)

    def _judge(self, candidate: Union[Location, Mapping[str, Any]], options: Dict[str, Any]) -> Result:
        out = self._out().resolve()
        if isinstance(candidate, Mapping):
            place = self._root / REPORTS / ".tensors" / out.name
            shutil.rmtree(place, ignore_errors=True)
            _tensors.write_tensors(place, candidate)
        else:
            place = Path(candidate)
        flags = [f"--baseline={self._baseline()}", f"--candidate={place.resolve()}"]
        given = {"config": options.pop("config", None), "out": options.pop("out", out), "lang": options.pop("lang", None)}
        try:
            return self._kept(_commands.judge("run", [], flags=flags, options=options, cwd=self._root, **given))
        finally:
            if isinstance(candidate, Mapping):
                shutil.rmtree(place, ignore_errors=True)

    def _baseline(self) -> str:
        given: Optional[str] = self._config.getoption("--precision-baseline")
        if given is None:
            if not (self._root / "precision-gate.lock").is_file():
                raise UsageError("no baseline is recorded: run `pytest --precision-record` on the trusted machine, or name one by "
                                 "--precision-baseline")
            return f"baseline:{self.name}"
        below = Path(given) / self.name
        if below.is_dir():
            return str(below.resolve())
        # Only a path is relative to a folder.
        return str(Path(given).resolve()) if Path(given).exists() else given

    def _record(self, candidate: Union[Location, Mapping[str, Any]]) -> None:
        """Keeps what the test gave below the root, and makes it the baseline: a change that a reviewer sees."""
        place = self._root / BASELINES / self.name
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(candidate, Mapping):
            _tensors.write_tensors(place, candidate)
        elif Path(candidate).is_dir():
            shutil.copytree(candidate, place)
        else:
            place.mkdir(parents=True)
            shutil.copy(candidate, place)
        arguments = ["baseline", "promote", f"--name={self.name}", f"--reason=recorded by pytest, {self._node}"]
        commit = _commit(self._root)
        arguments += [f"--commit={commit}"] if commit else []
        who = os.environ.get("PRECISION_GATE_APPROVED_BY") or _user()
        arguments += [f"--approved-by={who}"] if who else []
        arguments += ["--accept-change", f"--root={self._root}", "--", f"{BASELINES}/{self.name}"]
        execute(arguments, self._root)

    def told(self) -> List[Dict[str, str]]:
        """Results for the terminal."""
        return [
            {"verdict": result.verdict, "headline": result.headline, "page": str(result.page or "")} for result in self._results
        ]


def _commit(root: Path) -> str:
    try:
        said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


@pytest.fixture(name="precision_gate")
def _precision_gate(request: pytest.FixtureRequest) -> Generator[Gate, None, None]:
    """The gate, with reports under the name of the test in ``precision-gate-out/``."""
    gate = Gate(request)
    yield gate


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Hands a test's results to the terminal."""
    outcome = yield
    report = outcome.get_result()
    gate = getattr(item, "funcargs", {}).get("precision_gate")
    if report.when == "call" and isinstance(gate, Gate):
        report.user_properties.append((PROPERTY, gate.told()))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says where the pages lie."""
    lines = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            properties = getattr(report, "user_properties", []) if getattr(report, "when", "") == "call" else []
            for told in (one for name, value in properties if name == PROPERTY for one in value):
                lines.append((report.nodeid, told))
    if not lines:
        return
    terminalreporter.section("precision-gate")
    for node, told in lines:
        terminalreporter.write_line(f"{told['verdict']}  {node}  {told['headline']}")
        if told["page"]:
            terminalreporter.write_line(f"      {told['page']}")
