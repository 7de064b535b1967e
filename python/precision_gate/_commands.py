"""The commands of the binary as functions."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, List, Optional, Sequence, Union

from ._binary import execute
from ._errors import CrashError, FetchError, UsageError
from ._result import Result, parse

__all__ = ["Location", "Option", "compare", "config_check", "evaluation", "health", "loss", "run", "source"]

#: A path, or a location as the command line takes it (``s3://``, ``https://``, ``baseline:NAME`` ...).
Location = Union[str, "os.PathLike[str]"]
#: A value of an option: a flag, one value, or several.
Option = Union[None, bool, str, int, float, "os.PathLike[str]", Sequence[Location]]

#: Options that say how a terminal or a job shows a result; a program asks the result.
OF_TERMINALS = ("color", "dry_run", "json", "part", "quiet", "verbose", "warn_exit_code")


def arguments(options: Any) -> List[str]:
    """Options as the command line takes them: ``no_table=True`` is ``--no-table``; a list gives an option several times."""
    given: List[str] = []
    for name, value in options.items():
        if name in OF_TERMINALS:
            raise UsageError(f"`{name}` is for the command line: ask the result for its verdict, text and folder")
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            given.append(flag)
        elif isinstance(value, (list, tuple)):
            for part in value:
                given.append(f"{flag}={os.fspath(part)}")
        else:
            given.append(f"{flag}={value}")
    return given


def _places(locations: Union[Location, Sequence[Location]], side: str) -> List[str]:
    """The locations of a side, none of them taken for an option."""
    several: List[Any] = list(locations) if isinstance(locations, (list, tuple)) else [locations]
    if not several:
        raise UsageError(f"no {side} is given: name a folder, a file or a location")
    for location in several:
        if not isinstance(location, (str, os.PathLike)):
            raise UsageError(
                f"the {side} is of type {type(location).__qualname__}, and no location: "
                "tensors in memory go through `compare_tensors` or `compare_state`"
            )
        if not os.fspath(location):
            raise UsageError(f"the {side} is an empty text: name a folder, a file or a location")
    return [os.fspath(location) for location in several]


def judge(
    command: str,
    places: Sequence[str],
    *,
    flags: Sequence[str] = (),
    config: Optional[Location] = None,
    out: Optional[Location] = None,
    lang: Optional[str] = None,
    options: Any = None,
    scratch: Optional[tempfile.TemporaryDirectory[str]] = None,
    cwd: Optional[Path] = None,
) -> Result:
    """Runs a judging command and reads what it wrote; `scratch` goes with the result."""
    folder = Path("precision-gate-out" if out is None else out)
    settings = arguments({**(options or {}), "config": config, "lang": lang})
    # Places come last, behind `--`: a folder may be called `-x`.
    behind = ["--", *places] if places else []
    ran = execute([command, *flags, *settings, "--color=never", f"--out={os.fspath(folder)}", *behind], cwd)
    if str(folder) == "-":
        result = parse(ran.stdout, "the result", None, "", scratch)
    else:
        path = folder / "result.json"
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise CrashError(f"precision-gate wrote no {path} ({error})", ran.exit_code, ran.stderr) from error
        result = parse(text, str(path), folder, ran.stdout, scratch)
    if ran.exit_code == 3:
        raise FetchError(ran.stderr.strip().replace("error: ", "") or str(result), result)
    return result


def run(
    baseline: Union[Location, Sequence[Location]],
    candidate: Union[Location, Sequence[Location]],
    *,
    config: Optional[Location] = None,
    out: Optional[Location] = None,
    lang: Optional[str] = None,
    **options: Option,
) -> Result:
    """The whole gate: everything in two folders. Several locations of a side are several runs of it.

    Options are those of ``precision-gate run``, with ``_`` for ``-``: ``profile="strict"``, ``noise=["noise.json"]``,
    ``runs=True``, ``reference="cpu"``. ``out="-"`` writes no folder.
    """
    sides = [f"--baseline={place}" for place in _places(baseline, "baseline")]
    sides += [f"--candidate={place}" for place in _places(candidate, "candidate")]
    return judge("run", [], flags=sides, config=config, out=out, lang=lang, options=options)


def _pair(command: str, baseline: Location, candidate: Location, **given: Any) -> Result:
    places = [*_places(baseline, "baseline"), *_places(candidate, "candidate")]
    if len(places) != 2:
        raise UsageError(f"`{command}` takes one baseline and one candidate: give several runs to `run`")
    return judge(command, places, **given)


def compare(
    baseline: Location,
    candidate: Location,
    *,
    config: Optional[Location] = None,
    out: Optional[Location] = None,
    lang: Optional[str] = None,
    **options: Option,
) -> Result:
    """Two dumps, checkpoints or arrays."""
    return _pair("compare", baseline, candidate, config=config, out=out, lang=lang, options=options)


def loss(
    baseline: Location,
    candidate: Location,
    *,
    config: Optional[Location] = None,
    out: Optional[Location] = None,
    lang: Optional[str] = None,
    **options: Option,
) -> Result:
    """Two training curves."""
    return _pair("loss", baseline, candidate, config=config, out=out, lang=lang, options=options)


def config_check(
    baseline: Location,
    candidate: Location,
    *,
    config: Optional[Location] = None,
    out: Optional[Location] = None,
    lang: Optional[str] = None,
    **options: Option,
) -> Result:
    """Two config packs."""
    return _pair("config-check", baseline, candidate, config=config, out=out, lang=lang, options=options)


def evaluation(
    baseline: Union[Location, Sequence[Location]],
    candidate: Union[Location, Sequence[Location]],
    *,
    config: Optional[Location] = None,
    out: Optional[Location] = None,
    lang: Optional[str] = None,
    **options: Option,
) -> Result:
    """Two evaluations. It is :func:`run` on two folders of scores, and raises where neither holds any."""
    result = run(baseline, candidate, config=config, out=out, lang=lang, **options)
    if all(check.verdict == "skipped" for check in result.checks if check.id == "evaluation"):
        raise UsageError("neither side holds an evaluation: give the folders of the harness, or use `run`")
    return result


def health(
    candidate: Location,
    *,
    config: Optional[Location] = None,
    out: Optional[Location] = None,
    lang: Optional[str] = None,
    **options: Option,
) -> Result:
    """One run without a baseline: a pass means that it shows no visible defect."""
    [place] = _places(candidate, "candidate")
    flags = ["--health", f"--candidate={place}"]
    return judge("run", [], flags=flags, config=config, out=out, lang=lang, options=options)


def source(
    path: Location,
    *,
    diff: Optional[Location] = None,
    config: Optional[Location] = None,
    out: Optional[Location] = None,
    lang: Optional[str] = None,
    **options: Option,
) -> Result:
    """Training code, or what a change touches of it."""
    [place] = _places(path, "code")
    return judge("source", [place], config=config, out=out, lang=lang, options={**options, "diff": diff})
