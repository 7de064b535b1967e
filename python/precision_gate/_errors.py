"""Exceptions; their texts are those of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ._result import Result

__all__ = ["BinaryError", "CrashError", "FetchError", "GateError", "PrecisionError", "ResultError", "UsageError"]


class GateError(Exception):
    """Root of the exceptions below, but for :class:`PrecisionError`, which is about the runs."""


class UsageError(GateError, ValueError):
    """Exit code 2: a wrong option, a policy with an error, a path that is not there."""


class FetchError(GateError, OSError):
    """Exit code 3: a location that could not be fetched, or a machine without memory or disk space left."""

    def __init__(self, message: str, result: Optional[Result] = None) -> None:
        super().__init__(message)
        #: What could be judged nevertheless; mostly ``None``.
        self.result = result


class BinaryError(GateError):
    """The binary ``precision-gate`` is not there, or is of another version than this package."""


class ResultError(GateError, ValueError):
    """A ``result.json`` that this version does not read."""


class CrashError(GateError, RuntimeError):
    """The binary ended in a way that it should never end in."""

    def __init__(self, message: str, exit_code: int, stderr: str) -> None:
        super().__init__(message)
        #: Its exit code; below 0 the number of the signal that ended it.
        self.exit_code = exit_code
        #: All that it wrote to standard error.
        self.stderr = stderr


class PrecisionError(AssertionError):
    """The candidate does not compute what the baseline computed, or too little could be compared."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        #: The result.
        self.result = result
