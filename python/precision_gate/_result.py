"""A result as Python sees it."""

from __future__ import annotations

import base64
import html
import json
import os
import tempfile
import webbrowser
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NoReturn, Optional, Union

from ._errors import GateError, PrecisionError, ResultError
from ._read import Mismatch, build
from ._types import SCHEMA_VERSION, ArtifactRow, Check, Culprit, Diagnosis, Finding, ResultData, Verdict, WaivedFinding

if TYPE_CHECKING:
    import pandas

__all__ = ["Result", "load"]

#: Pictures of a report, that of the failure first where its check has one.
PICTURES = {
    "dump": "divergence.png",
    "loss": "loss.png",
    "monitor": "monitor.png",
    "evaluation": "evaluation.png",
    "performance": "performance.png",
    "tokens": "tokens.png",
    "arrays": "error-map.png",
}
COLOURS = {"pass": "#1a7f37", "warn": "#9a6700", "fail": "#cf222e", "incomplete": "#8250df", "skipped": "#57606a"}
SIGNS = {"pass": "✓", "warn": "!", "incomplete": "?", "fail": "✗", "skipped": "-"}
BLOCKS = ("fail", "incomplete")


@dataclass(frozen=True)
class Result:
    """What the gate found. ``data`` holds all of ``result.json``; the most used parts are properties."""

    #: The whole result, typed by its JSON Schema.
    data: ResultData
    #: The folder with the reports; ``None`` where none were written.
    folder: Optional[Path] = None
    #: The summary of the command line.
    text: str = ""
    #: ``result.json`` as it was parsed, with keys that a later version adds.
    raw: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _scratch: Optional[tempfile.TemporaryDirectory[str]] = field(default=None, repr=False, compare=False)

    @property
    def verdict(self) -> Verdict:
        """``pass``, ``warn``, ``fail``, ``incomplete`` or ``skipped``."""
        return self.data.verdict

    @property
    def headline(self) -> str:
        """One sentence that says what is wrong, or what agrees."""
        return self.data.headline

    @property
    def place(self) -> str:
        """Where: source line, operation, step and rank; of a pass, what agreed."""
        return self.data.place

    @property
    def fix(self) -> str:
        """The step to take; empty where there is none."""
        return self.data.fix

    @property
    def certainty(self) -> str:
        """How sure the cause is, and why; empty without one."""
        return self.data.certainty

    @property
    def not_judged(self) -> str:
        """What no verdict covers; empty where all was judged."""
        return self.data.not_judged

    @property
    def culprit(self) -> Optional[Culprit]:
        """The first wrong operation; ``None`` where none was found."""
        return self.data.culprit

    @property
    def checks(self) -> List[Check]:
        """The checks, with their units."""
        return self.data.checks

    @property
    def findings(self) -> List[Finding]:
        """The findings, the worst first."""
        return self.data.findings

    @property
    def diagnoses(self) -> List[Diagnosis]:
        """Likely causes, the likeliest first."""
        return self.data.diagnoses

    @property
    def waived(self) -> List[WaivedFinding]:
        """Findings that a waiver covers."""
        return self.data.waived

    @property
    def artifacts(self) -> List[ArtifactRow]:
        """Files that were found, and whether they were read."""
        return self.data.artifacts

    def check(self, name: str) -> Check:
        """The check ``name`` (``dump``, ``loss`` ...); ``KeyError`` names those that there are."""
        for check in self.checks:
            if check.id == name:
                return check
        raise KeyError(f"no check `{name}`; there are {', '.join(check.id for check in self.checks) or 'none'}")

    @property
    def page(self) -> Optional[Path]:
        """Path of the page; ``None`` where none was written."""
        page = self.folder / "report.html" if self.folder else None
        return page if page and page.is_file() else None

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a result is neither true nor false: a warning, a part that could not be read and a skipped check would have to be "
            'one of them. Ask `result.verdict == "pass"`, or call `result.assert_pass()`'
        )

    def __str__(self) -> str:
        return self.text.rstrip("\n") or self._lines()

    def _lines(self) -> str:
        first = f"{SIGNS.get(self.verdict, '')} {self.verdict}: {self.headline}".strip()
        rest = (self.place, self.fix, self.certainty, self.not_judged)
        return "\n".join([first, *(line for line in rest if line)])

    def assert_pass(self, allow_warn: bool = True) -> Result:
        """Raises :class:`PrecisionError`, with the text of the terminal, unless the verdict is ``pass`` or, if allowed, ``warn``.

        Nothing compared is no pass: ``skipped`` raises as ``incomplete`` does.
        """
        if self.verdict == "pass" or (allow_warn and self.verdict == "warn"):
            return self
        raise PrecisionError(str(self), self)

    def show(self) -> None:
        """Opens the page in the browser."""
        page = self.page
        if page is None:
            raise GateError('no page was written: leave out `out="-"`, or give a folder')
        webbrowser.open(page.resolve().as_uri())

    def operations(self) -> Iterator[Dict[str, Any]]:
        """The compared values, one dictionary each, from ``operations.jsonl``."""
        if self.folder is None:
            raise GateError('no operations were kept: leave out `out="-"`, or give a folder')
        path = self.folder / "operations.jsonl"
        if not path.is_file():
            packed = path.with_suffix(".jsonl.zst")
            if packed.is_file():
                raise GateError(f"{packed} is compressed: run `zstd -d {packed}`, or leave out `compress`")
            raise GateError(f"{path} is not there: it is written beside `result.json`")
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)

    def to_frame(self) -> pandas.DataFrame:
        """The compared values as a frame of pandas: a row each, the numbers of ``metrics`` in columns of their own."""
        try:
            import pandas
        except ImportError as error:
            raise GateError("pandas is not installed: `pip install pandas`, or use `result.operations()`") from error
        rows = []
        for line in self.operations():
            metrics = line.pop("metrics", None) or {}
            rows.append({**line, **{f"metrics.{name}": _number(value) for name, value in metrics.items()}})
        return pandas.DataFrame(rows)

    def _picture(self) -> Optional[Path]:
        if self.folder is None:
            return None
        worst = [check.id for check in self.checks if check.verdict == self.verdict]
        leading = [self.culprit.check] if self.culprit else []
        names = [PICTURES[name] for name in [*leading, *worst] if name in PICTURES]
        for name in [*names, *PICTURES.values()]:
            if (self.folder / name).is_file():
                return self.folder / name
        return None

    def _repr_html_(self) -> str:
        """The first screen of the page, for notebooks: headline, place, fix, certainty, checks and the picture."""
        escape = html.escape
        colour = COLOURS.get(self.verdict, COLOURS["skipped"])
        lines = [
            f'<div style="border-left:4px solid {colour};padding:.2em 1em;max-width:60em">',
            f'<p style="font-size:1.2em;margin:.3em 0"><b style="color:{colour}">{SIGNS.get(self.verdict, "")} '
            f"{escape(self.verdict)}</b> {escape(self.headline)}</p>",
        ]
        for text, is_strong in ((self.place, True), (self.fix, False), (self.certainty, False), (self.not_judged, False)):
            if text:
                told = f"<b>{escape(text)}</b>" if is_strong else escape(text)
                lines.append(f'<p style="margin:.3em 0">{told}</p>')
        judged = [check for check in self.checks if check.verdict != "skipped"]
        cells = "".join(
            f'<td style="text-align:left">{escape(check.id)} '
            f'<b style="color:{COLOURS.get(check.verdict, colour)}">{escape(check.verdict)}</b></td>'
            for check in judged
        )
        if cells:
            lines.append(f"<table><tr>{cells}</tr></table>")
        picture = self._picture()
        if picture is not None:
            data = base64.b64encode(picture.read_bytes()).decode("ascii")
            lines.append(f'<img alt="{escape(picture.stem)}" style="max-width:100%" src="data:image/png;base64,{data}">')
        page = self.page
        if page is not None and self._scratch is None:
            lines.append(f'<p style="margin:.3em 0"><a href="{escape(page.resolve().as_uri())}">{escape(str(page))}</a></p>')
        lines.append("</div>")
        return "\n".join(lines)


def _number(value: Any) -> Any:
    return float(value) if value in ("nan", "inf", "-inf") else value


def parse(
    text: str,
    name: str,
    folder: Optional[Path] = None,
    shown: str = "",
    scratch: Optional[tempfile.TemporaryDirectory[str]] = None,
) -> Result:
    """The result that ``text`` holds; errors call it ``name``."""
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise ResultError(f"{name} is no JSON ({error}): give the `result.json` as precision-gate wrote it") from error
    version = raw.get("schema_version") if isinstance(raw, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise ResultError(f"{name} is no result: give the `result.json` as precision-gate wrote it")
    wrote = (raw.get("tool") or {}).get("version", "")
    if version > SCHEMA_VERSION:
        raise ResultError(
            f"{name} has schema version {version}, and this package reads up to {SCHEMA_VERSION}: "
            f"`pip install precision-gate=={wrote}`, the version that wrote it"
        )
    try:
        data = build(ResultData, raw)
    except Mismatch as error:
        raise ResultError(
            f"{name} is not as this package knows it ({error}): `precision-gate report {name}` with the version that wrote it "
            f"({wrote}) shows it"
        ) from error
    return Result(data, folder, shown, raw, scratch)


def load(path: Union[str, os.PathLike[str]]) -> Result:
    """Reads a ``result.json``, or that of a folder. The verdict is the one in the file: nothing is judged again."""
    path = Path(path)
    path = path / "result.json" if path.is_dir() else path
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ResultError(f"{path} cannot be read ({error.strerror}): give a `result.json`, or the folder of one") from error
    except UnicodeDecodeError as error:
        raise ResultError(f"{path} is no text: give the `result.json` as precision-gate wrote it") from error
    return parse(text, str(path), path.parent)
