"""Finds and runs the binary."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Dict, Iterator, Optional, Sequence, Tuple

from ._errors import BinaryError, CrashError, FetchError, UsageError

__all__ = ["Ran", "binary", "execute", "package_version"]

#: Names the binary, in place of the one that was installed with this package.
VARIABLE = "PRECISION_GATE_BINARY"
NAME = "precision-gate"
_VERSIONS: Dict[Tuple[str, int], str] = {}


@dataclass(frozen=True)
class Ran:
    """A command that ended with a verdict."""

    exit_code: int
    stdout: str
    stderr: str


def package_version() -> Optional[str]:
    """Version of this package; ``None`` where it is imported from a folder that nothing installed."""
    try:
        return metadata.version(NAME)
    except metadata.PackageNotFoundError:
        return None


def binary() -> str:
    """Path of the binary: that of ``PRECISION_GATE_BINARY``, else the one beside this package, else that on ``PATH``.

    Raises :class:`BinaryError` where there is none, or its version is not that of this package.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if not os.access(named, os.X_OK) or os.path.isdir(named):
            raise BinaryError(f"{VARIABLE} names {named}, which is no program that can be run: give the path of precision-gate")
        return _checked(named)
    for place in _places():
        if os.access(place, os.X_OK) and not place.is_dir():
            return _checked(str(place))
    found = shutil.which(NAME)
    if found is None:
        raise BinaryError(
            "the program precision-gate is not there: install the package again for this platform "
            f"(`pip install --force-reinstall precision-gate`), or name the program in {VARIABLE}"
        )
    return _checked(found)


def _places() -> Iterator[Path]:
    # Where pip puts scripts: of this package, of this environment, of this user.
    here = Path(__file__).resolve().parents[1]
    yield from (here.parents[2] / "bin" / NAME, here / "bin" / NAME)
    schemes = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    user = "nt_user" if os.name == "nt" else "posix_user"
    if user in sysconfig.get_scheme_names():
        schemes.append(sysconfig.get_path("scripts", user))
    for folder in schemes:
        yield Path(folder) / NAME


def _checked(path: str) -> str:
    key = (path, os.stat(path).st_mtime_ns)
    if key not in _VERSIONS:
        try:
            ran = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BinaryError(f"{path} does not run on this machine ({error}): install the package for this platform") from error
        said = re.fullmatch(rb"precision-gate (\S+)\s*", ran.stdout)
        if ran.returncode != 0 or said is None:
            raise BinaryError(f"{path} is not precision-gate: name the program in {VARIABLE}")
        _VERSIONS[key] = said.group(1).decode(errors="replace")
    ours, theirs = package_version(), _VERSIONS[key]
    if ours is not None and ours != theirs:
        raise BinaryError(
            f"{path} is version {theirs}, this package is {ours}: `pip install precision-gate=={theirs}`, "
            f"or let {VARIABLE} name the program of version {ours}"
        )
    return path


def _words(stderr: str) -> str:
    """What the command line said of an error, without the word in front."""
    return "\n".join(re.sub(r"^(error|help): ", "", line) for line in stderr.strip().splitlines())


def execute(arguments: Sequence[str], cwd: Optional[Path] = None) -> Ran:
    """Runs the binary. Exit codes that are no verdict become exceptions, with the words of the command line."""
    command = [binary(), *arguments]
    # Inputs of an action are settings of its own step, and none of a script that the step starts.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INPUT_")}
    try:
        ran = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False, env=environment, cwd=cwd
        )
    except OSError as error:
        raise BinaryError(f"{command[0]} cannot be started: {error}") from error
    stdout, stderr = ran.stdout.decode("utf-8", "replace"), ran.stderr.decode("utf-8", "replace")
    if ran.returncode == 2:
        raise UsageError(_words(stderr))
    if ran.returncode == 3 and not stdout:
        raise FetchError(_words(stderr))
    if ran.returncode not in (0, 1, 3):
        ended = f"by signal {-ran.returncode}" if ran.returncode < 0 else f"with exit code {ran.returncode}"
        last = (stderr.strip().splitlines() or ["it wrote nothing to standard error"])[-1]
        raise CrashError(f"precision-gate ended {ended}: {last}", ran.returncode, stderr)
    return Ran(ran.returncode, stdout, stderr)
