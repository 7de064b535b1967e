"""Tensors in memory: written into a temporary folder, and judged as files are."""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
import tempfile
import urllib.parse
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ._commands import Location, Option, judge
from ._errors import UsageError
from ._result import Result

__all__ = ["assert_close", "compare_state", "compare_tensors"]

#: Names of types in a safetensors file, by those of torch and NumPy.
SAFETENSORS = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "uint16": "U16",
    "int32": "I32",
    "uint32": "U32",
    "int64": "I64",
    "uint64": "U64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}
#: Types of NumPy files, by those of torch; others have no name there.
NUMPY = {
    "bool": "|b1",
    "uint8": "|u1",
    "int8": "|i1",
    "int16": "<i2",
    "uint16": "<u2",
    "int32": "<i4",
    "uint32": "<u4",
    "int64": "<i8",
    "uint64": "<u8",
    "float16": "<f2",
    "float32": "<f4",
    "float64": "<f8",
    "complex64": "<c8",
    "complex128": "<c16",
}
#: Longest name of a file, without its ending.
LONGEST_NAME = 150


class Values:
    """A tensor in this machine's memory: contiguous, little-endian, and held until it is written."""

    def __init__(self, name: str, given: Any) -> None:
        self.name = name
        if is_torch(given):
            self._take_torch(given)
        elif is_numpy(given):
            self._take_numpy(given)
        elif isinstance(given, (bool, int, float, complex)):
            self._take_number(given)
        else:
            kind = f"{type(given).__module__}.{type(given).__qualname__}".replace("builtins.", "")
            raise UsageError(f"`{name}` is of type {kind}, and no tensor: leave it out on both sides, or give a tensor or an array")

    def _take_torch(self, tensor: Any) -> None:
        if tensor.device.type == "meta":
            raise UsageError(f"`{self.name}` is on the device meta and has no values: load it, or leave it out on both sides")
        tensor = tensor.detach()
        if hasattr(tensor, "full_tensor"):
            tensor = tensor.full_tensor()
        if str(tensor.layout) != "torch.strided":
            raise UsageError(f"`{self.name}` is of layout {tensor.layout}: give `tensor.to_dense()` on both sides")
        if tensor.is_quantized:
            raise UsageError(f"`{self.name}` is quantised: give `tensor.dequantize()` on both sides")
        # The one copy; a tensor that lies here already is not copied.
        self.held = tensor.to("cpu").resolve_conj().resolve_neg().contiguous()
        self.dtype = str(tensor.dtype).replace("torch.", "")
        self.shape = tuple(int(size) for size in tensor.shape)
        self.size = int(self.held.numel()) * int(self.held.element_size())
        self.buffer = memoryview((ctypes.c_char * self.size).from_address(self.held.data_ptr())) if self.size else memoryview(b"")

    def _take_numpy(self, array: Any) -> None:
        import numpy

        array = numpy.asarray(array)
        if array.dtype.kind not in "biufc" and array.dtype.name not in SAFETENSORS:
            raise UsageError(f"`{self.name}` is an array of type {array.dtype}, and holds no numbers: leave it out on both sides")
        self.held = numpy.ascontiguousarray(array).reshape(array.shape)
        if array.dtype.byteorder == ">" or (array.dtype.byteorder == "=" and sys.byteorder == "big"):
            self.held = self.held.astype(array.dtype.newbyteorder("<"))
        self.dtype = array.dtype.name
        self.shape = tuple(array.shape)
        self.size = int(self.held.nbytes)
        self.buffer = memoryview(self.held.reshape(-1).view("u1")) if self.size else memoryview(b"")

    def _take_number(self, number: Any) -> None:
        formats = {bool: ("bool", "<?"), int: ("int64", "<q"), float: ("float64", "<d")}
        if isinstance(number, complex):
            self.dtype, data = "complex128", struct.pack("<dd", number.real, number.imag)
        else:
            self.dtype, layout = formats[bool if isinstance(number, bool) else int if isinstance(number, int) else float]
            try:
                data = struct.pack(layout, number)
            except struct.error as error:
                raise UsageError(f"`{self.name}` is {number}, more than 64 bits hold: give it as a float") from error
        self.held, self.shape, self.size, self.buffer = data, (), len(data), memoryview(data)


def is_torch(value: Any) -> bool:
    """Whether a value is a tensor of torch; torch is not imported for it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_numpy(value: Any) -> bool:
    """Whether a value is an array of NumPy; NumPy is not imported for it."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic))


def write_safetensors(path: Path, tensors: Sequence[Values]) -> None:
    """Writes a safetensors file."""
    header: Dict[str, Any] = {}
    at = 0
    for tensor in tensors:
        if tensor.dtype not in SAFETENSORS:
            raise UsageError(
                f"`{tensor.name}` is of type {tensor.dtype}, which a safetensors file cannot hold: convert it on both sides"
            )
        offsets = [at, at + tensor.size]
        header[tensor.name] = {"dtype": SAFETENSORS[tensor.dtype], "shape": list(tensor.shape), "data_offsets": offsets}
        at += tensor.size
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors:
            _write(file, tensor)


def write_npy(path: Path, tensor: Values) -> None:
    """Writes a file of NumPy, version 1.0."""
    shape = "".join(f"{size}, " for size in tensor.shape)
    text = f"{{'descr': '{NUMPY[tensor.dtype]}', 'fortran_order': False, 'shape': ({shape.strip()}), }}".encode("ascii")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
        _write(file, tensor)


def _write(file: IO[bytes], tensor: Values) -> None:
    if tensor.size:
        file.write(tensor.buffer)


def _file_names(names: Sequence[str], are_bare: Sequence[bool]) -> List[str]:
    """Names of files that nothing takes for the path of a module, a step or a parameter; parts of a path become folders."""
    files: List[str] = []
    for name, is_bare in zip(names, are_bare):
        parts = [urllib.parse.quote(part, safe=" ()[]{},;+@#!$'~^&") for part in name.replace("/", ".").split(".") if part]
        parts = parts or ["tensor"]
        if parts[-1][0].isdigit() and not parts[-1].isdigit():
            parts[-1] = f"[{parts[-1]}]"
        file = "/".join(parts) + ("" if is_bare else " (tensor)")
        if len(file) > LONGEST_NAME:
            raise UsageError(f"`{name[:60]}…` is a name of {len(name)} characters: give one of at most {LONGEST_NAME}")
        if file in files:
            raise UsageError(f"`{name}` and `{names[files.index(file)]}` differ only in `.` and `/`: give them other names")
        files.append(file)
    return files


def _write_array(path: Path, tensor: Values) -> None:
    """A file per array."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if tensor.dtype in NUMPY:
        write_npy(Path(f"{path}.npy"), tensor)
    elif is_torch(tensor.held):
        import torch

        torch.save(tensor.held.clone(), f"{path}.pt")
    else:
        raise UsageError(f"`{tensor.name}` is of type {tensor.dtype}, which NumPy's files cannot hold: give the tensor of torch")


def _folders() -> Tuple[tempfile.TemporaryDirectory[str], Path, Path]:
    scratch = tempfile.TemporaryDirectory(prefix="precision-gate-")
    baseline, candidate = (Path(scratch.name) / side for side in ("baseline", "candidate"))
    baseline.mkdir()
    candidate.mkdir()
    return scratch, baseline, candidate


def _judge(
    scratch: tempfile.TemporaryDirectory[str], baseline: str, candidate: str, out: Optional[Location], given: Dict[str, Any]
) -> Result:
    """Judges two places of a temporary folder. Without `out` the reports lie beside them, and go with the result."""
    keeps = out is None
    place = os.path.join(scratch.name, "report") if out is None else out
    result = judge("compare", [baseline, candidate], out=place, scratch=scratch if keeps else None, **given)
    if not keeps:
        scratch.cleanup()
        return result
    # The page goes with the result, and its path would tell nobody anything.
    told = "".join(line for line in result.text.splitlines(True) if scratch.name not in line)
    return replace(result, text=told)


def flat(state: Any, side: str) -> Dict[str, Any]:
    """The entries of a state dict, nested ones joined by dots."""
    if hasattr(state, "state_dict"):
        state = state.state_dict()
    if not isinstance(state, Mapping):
        raise UsageError(f"the {side} is of type {type(state).__qualname__}: give a state dict, or a module that has one")
    entries: Dict[str, Any] = {}
    waiting: List[Tuple[str, Any]] = [("", state)]
    while waiting:
        prefix, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [(f"{prefix}.{key}" if prefix else str(key), part) for key, part in reversed(list(value.items()))]
        elif isinstance(value, (list, tuple)):
            waiting += [(f"{prefix}.{index}" if prefix else str(index), part) for index, part in reversed(list(enumerate(value)))]
        else:
            entries[prefix] = value
    if not entries:
        raise UsageError(f"the {side} holds no tensors: give a state dict with parameters")
    return entries


def compare_state(
    a: Any,
    b: Any,
    *,
    config: Optional[Location] = None,
    out: Optional[Location] = None,
    lang: Optional[str] = None,
    **options: Option,
) -> Result:
    """Two state dicts, or two modules with one, judged as two checkpoints: ``a`` is the baseline.

    Tensors may lie on any device; each is moved once. Without ``out`` the reports go with the result.
    """
    ours, theirs = flat(a, "baseline"), flat(b, "candidate")
    if not ours.keys() & theirs.keys():
        raise UsageError(
            f"no name is on both sides (`{min(ours)}`, `{min(theirs)}`): rename the entries of one side, "
            "such as without the prefix `module.`"
        )
    scratch, baseline, candidate = _folders()
    for folder, entries in ((baseline, ours), (candidate, theirs)):
        tensors = [Values(name, value) for name, value in entries.items()]
        write_safetensors(folder / "model.safetensors", tensors)
    return _judge(scratch, str(baseline), str(candidate), out, {"config": config, "lang": lang, "options": options})


def write_tensors(folder: Path, tensors: Mapping[str, Any]) -> None:
    """Writes tensors as files of arrays, for a baseline that other runs are judged against."""
    values = {str(name): Values(str(name), value) for name, value in tensors.items()}
    files = _file_names(list(values), [value.dtype in NUMPY for value in values.values()])
    for file, value in zip(files, values.values()):
        _write_array(folder / file, value)


def compare_tensors(
    tensors: Mapping[str, Tuple[Any, Any]],
    *,
    config: Optional[Location] = None,
    out: Optional[Location] = None,
    lang: Optional[str] = None,
    **options: Option,
) -> Result:
    """Pairs of tensors by name, judged as arrays: ``{"logits": (baseline, candidate)}``.

    Tensors of torch on any device, arrays of NumPy and numbers. An integer, a shape or a NaN on one side is exact; floating-point
    values have the noise of their type.
    """
    if not tensors:
        raise UsageError('no tensors are given: `{"name": (baseline, candidate)}`')
    pairs: Dict[str, Tuple[Values, Values]] = {}
    for key, pair in tensors.items():
        name = str(key)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise UsageError(f"`{name}` is no pair: `{{{name!r}: (baseline, candidate)}}`")
        pairs[name] = (Values(name, pair[0]), Values(name, pair[1]))
    are_bare = [all(side.dtype in NUMPY for side in pair) for pair in pairs.values()]
    files = _file_names(list(pairs), are_bare)
    scratch, baseline, candidate = _folders()
    for file, sides in zip(files, pairs.values()):
        for folder, values in zip((baseline, candidate), sides):
            _write_array(folder / file, values)
    return _judge(scratch, str(baseline), str(candidate), out, {"config": config, "lang": lang, "options": options})


def assert_close(
    actual: Any,
    expected: Any,
    *,
    name: str = "tensor",
    allow_warn: bool = False,
    config: Optional[Location] = None,
    lang: Optional[str] = None,
    **options: Option,
) -> None:
    """``torch.testing.assert_close`` by the noise of the types, in place of a tolerance for each element.

    ``expected`` is the baseline. Tensors, arrays, numbers, and lists or dictionaries of them. Raises :class:`PrecisionError` with
    the text of the terminal. Types need not be the same: the noise is that of the looser one.
    """
    named = pairs(name, actual, expected)
    common: Dict[str, Any] = {"config": config, "lang": lang, **options}
    if _passes(compare_tensors(named, out="-", **common), allow_warn):
        return
    compare_tensors(named, **common).assert_pass(allow_warn)


def pairs(name: str, actual: Any, expected: Any) -> Dict[str, Tuple[Any, Any]]:
    """Pairs of two values of one structure by their place in it, the expected one first."""
    return dict(_pairs(name, actual, expected))


def _passes(result: Result, allow_warn: bool) -> bool:
    return result.verdict == "pass" or (allow_warn and result.verdict == "warn")


def _pairs(name: str, actual: Any, expected: Any) -> List[Tuple[str, Tuple[Any, Any]]]:
    """Pairs of two values of one structure, by their place in it."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        if actual.keys() != expected.keys():
            lacking = sorted(map(str, actual.keys() ^ expected.keys()))
            raise UsageError(f"`{name}` has other keys on each side ({', '.join(lacking[:5])}): give the same ones")
        found = [_pairs(f"{name}[{key}]", actual[key], expected[key]) for key in expected]
    elif isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        if len(actual) != len(expected):
            raise UsageError(f"`{name}` has {len(actual)} items, and {len(expected)} are expected: give as many")
        found = [_pairs(f"{name}[{index}]", *pair) for index, pair in enumerate(zip(actual, expected))]
    else:
        return [(name, (expected, actual))]
    return [pair for pairs in found for pair in pairs]
