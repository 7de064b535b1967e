"""Does a model moved from GPU to Ascend NPU still compute the same numbers? The gate, from Python.

    import precision_gate

    result = precision_gate.run("runs/gpu", "runs/npu")
    print(result.verdict, result.headline)
    result.assert_pass()

Every function calls the program ``precision-gate``, which judges; nothing is judged here. https://github.com/precision-gate/precision-gate
"""

from ._commands import Location, Option, compare, config_check, evaluation, health, loss, run, source
from ._errors import BinaryError, CrashError, FetchError, GateError, PrecisionError, ResultError, UsageError
from ._result import Result, load
from ._tensors import assert_close, compare_state, compare_tensors

__all__ = [
    "BinaryError",
    "CrashError",
    "FetchError",
    "GateError",
    "Location",
    "Option",
    "PrecisionError",
    "Result",
    "ResultError",
    "UsageError",
    "assert_close",
    "compare",
    "compare_state",
    "compare_tensors",
    "config_check",
    "evaluation",
    "health",
    "load",
    "loss",
    "run",
    "source",
]
