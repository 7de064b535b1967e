"""Makes dataclasses of parsed JSON, by their annotations."""

from __future__ import annotations

import dataclasses
import keyword
import sys
import typing
from typing import Any, Callable, Dict, List, Literal, Optional, Tuple, Type, TypeVar, Union

__all__ = ["Mismatch", "build"]

T = TypeVar("T")
#: The field that takes the keys of an object which has names of its own beside those of the schema.
OTHERS = "others"
#: Builders by class; made when first used, since annotations name classes that come later.
_BUILDERS: Dict[type, Callable[[Any, str], Any]] = {}


class Mismatch(ValueError):
    """A value is not what the schema says; its text names the place."""


def build(cls: Type[T], value: Any, place: str = "result") -> T:
    """The dataclass ``cls`` of a parsed object. Keys that it does not know are left out."""
    built: T = _builder(cls)(value, place)
    return built


def _builder(kind: Any) -> Callable[[Any, str], Any]:
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        if kind not in _BUILDERS:
            _BUILDERS[kind] = _of_class(kind)
        return _BUILDERS[kind]
    if kind is Any:
        return lambda value, place: value
    origin = typing.get_origin(kind)
    if origin is Union:
        return _of_union(typing.get_args(kind))
    if origin is Literal:
        return _of_words(typing.get_args(kind))
    if origin is list:
        return _of_list(typing.get_args(kind)[0])
    if origin is dict:
        return _of_dict(typing.get_args(kind)[1])
    return _of_scalar(kind)


def _of_class(cls: Any) -> Callable[[Any, str], Any]:
    hints = typing.get_type_hints(cls, vars(sys.modules[cls.__module__]))
    others: Optional[Callable[[Any, str], Any]] = None
    known: Dict[str, Tuple[str, Callable[[Any, str], Any]]] = {}
    required: List[str] = []

    def later(kind: Any) -> Callable[[Any, str], Any]:
        made: List[Callable[[Any, str], Any]] = []

        def of(value: Any, place: str) -> Any:
            if not made:
                made.append(_builder(kind))
            return made[0](value, place)

        return of

    for field in dataclasses.fields(cls):
        name = field.name
        if name == OTHERS:
            others = later(typing.get_args(hints[name])[1])
            continue
        key = name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name
        known[key] = (name, later(hints[name]))
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            required.append(key)

    def of(value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            raise Mismatch(f"{place} is no object")
        lacking = [key for key in required if key not in value]
        if lacking:
            raise Mismatch(f"{place} lacks `{lacking[0]}`")
        given = {known[key][0]: known[key][1](part, f"{place}.{key}") for key, part in value.items() if key in known}
        if others is not None:
            rest = {key: others(part, f"{place}.{key}") for key, part in value.items() if key not in known}
            given[OTHERS] = rest
        return cls(**given)

    of.keys = frozenset(known)  # type: ignore[attr-defined]
    return of


def _of_union(kinds: Tuple[Any, ...]) -> Callable[[Any, str], Any]:
    is_optional = type(None) in kinds
    builders = [_builder(kind) for kind in kinds if kind is not type(None)]

    def of(value: Any, place: str) -> Any:
        if value is None and is_optional:
            return None
        fitting: List[Tuple[int, Any]] = []
        refused: Optional[Mismatch] = None
        for builder in builders:
            try:
                built = builder(value, place)
            except Mismatch as error:
                refused = refused or error
                continue
            # Of several objects that fit, the one which knows the most keys is meant.
            unknown = len(set(value) - getattr(builder, "keys", set())) if isinstance(value, dict) else 0
            if not unknown:
                return built
            fitting.append((unknown, built))
        if fitting:
            return min(fitting, key=lambda found: found[0])[1]
        raise refused or Mismatch(f"{place} is of no known kind")

    return of


def _of_words(words: Tuple[Any, ...]) -> Callable[[Any, str], Any]:
    def of(value: Any, place: str) -> Any:
        if not isinstance(value, str) or value not in words:
            raise Mismatch(f"{place} is {value!r}, and not one of {', '.join(map(repr, words[:8]))}")
        return value

    return of


def _of_list(kind: Any) -> Callable[[Any, str], Any]:
    builder = _builder(kind)

    def of(value: Any, place: str) -> Any:
        if not isinstance(value, list):
            raise Mismatch(f"{place} is no list")
        return [builder(part, f"{place}[{index}]") for index, part in enumerate(value)]

    return of


def _of_dict(kind: Any) -> Callable[[Any, str], Any]:
    builder = _builder(kind)

    def of(value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            raise Mismatch(f"{place} is no object")
        return {name: builder(part, f"{place}.{name}") for name, part in value.items()}

    return of


def _of_scalar(kind: Any) -> Callable[[Any, str], Any]:
    accepted = (int, float) if kind is float else kind

    def of(value: Any, place: str) -> Any:
        is_wrong_bool = isinstance(value, bool) and kind is not bool
        if is_wrong_bool or not isinstance(value, accepted):
            raise Mismatch(f"{place} is {value!r:.40}, and no {getattr(kind, '__name__', kind)}")
        return value

    return of
