"""Writes python/precision_gate/_types.py from the JSON Schema of a result.

    precision-gate schema result | python python/generate_types.py > python/precision_gate/_types.py

Every object of the schema becomes a frozen dataclass, every list of words a ``Literal``. A result of a later version may have
more keys: they are kept in ``raw`` of :class:`precision_gate.Result`, and no type refuses them.
"""

import json
import keyword
import pathlib
import re
import sys
import textwrap
from typing import Any, Dict, List, Set

HEAD = '''"""Types of ``result.json``, which python/generate_types.py writes from its JSON Schema: change that, not this file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Literal, Optional, Union

__all__ = [
{names}]

#: The layout that these types describe.
SCHEMA_VERSION = {version}
'''
WIDTH = 132
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def name_of(reference: str) -> str:
    return reference.rsplit("/", 1)[1]


class Types:
    """The definitions of a schema as Python."""

    def __init__(self, schema: Dict[str, Any]) -> None:
        self.definitions: Dict[str, Any] = {**schema["$defs"], "ResultData": {**schema, "$defs": None}}

    def is_class(self, name: str) -> bool:
        definition = self.definitions[name]
        return bool(definition.get("properties")) or (
            definition.get("type") == "object" and "additionalProperties" not in definition
        )

    def union(self, parts: List[str]) -> str:
        parts = list(dict.fromkeys(parts))
        others = [part for part in parts if part != "None"]
        if not others:
            return "None"
        one = others[0] if len(others) == 1 else "Union[{}]".format(", ".join(others))
        return f"Optional[{one}]" if "None" in parts else one

    def type_of(self, schema: Any) -> str:
        """The annotation of a value."""
        if not isinstance(schema, dict) or schema is True:
            return "Any"
        if "$ref" in schema:
            return name_of(schema["$ref"])
        for key in ("anyOf", "oneOf"):
            if key in schema:
                parts = schema[key]
                if all("const" in part for part in parts):
                    return "Literal[{}]".format(", ".join(json.dumps(part["const"]) for part in parts))
                return self.union([self.type_of(part) for part in parts])
        if "enum" in schema:
            return "Literal[{}]".format(", ".join(json.dumps(value) for value in schema["enum"]))
        kinds = schema.get("type")
        if kinds is None:
            return "Any"
        return self.union([self.of_kind(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)])

    def of_kind(self, kind: str, schema: Dict[str, Any]) -> str:
        if kind == "array":
            if "prefixItems" in schema:
                return "List[{}]".format(self.union([self.type_of(item) for item in schema["prefixItems"]]))
            return "List[{}]".format(self.type_of(schema.get("items", True)))
        if kind == "object":
            return "Dict[str, {}]".format(self.type_of(schema.get("additionalProperties", True)))
        return SCALARS[kind]

    def references(self, schema: Any) -> Set[str]:
        """Definitions that an alias names."""
        found: Set[str] = set()
        if isinstance(schema, dict):
            if "$ref" in schema:
                found.add(name_of(schema["$ref"]))
            for value in schema.values():
                found |= self.references(value)
        elif isinstance(schema, list):
            for value in schema:
                found |= self.references(value)
        return found

    def ordered_aliases(self) -> List[str]:
        """Aliases after those that they name; classes are named in quotes."""
        done: List[str] = []

        def add(name: str) -> None:
            if name in done or self.is_class(name):
                return
            for other in sorted(self.references(self.definitions[name])):
                if other != name:
                    add(other)
            if name not in done:
                done.append(name)

        for name in self.definitions:
            add(name)
        return done

    def alias(self, name: str) -> str:
        """An alias. It is evaluated when the module is read, so that classes, which come before it, have to be there."""
        definition = self.definitions[name]
        text = f"{name} = {self.type_of(definition)}"
        return wrapped_comment(definition.get("description", "")) + wrapped_alias(text)

    def default(self, schema: Any, is_required: bool) -> str:
        """The default of a key that a result may leave out, behind an equals sign."""
        if is_required:
            return ""
        kind = self.type_of(schema)
        if isinstance(schema, dict) and "default" in schema and isinstance(schema["default"], (str, int, float, bool)):
            return f" = {schema['default']!r}".replace("'", '"')
        if kind.startswith("Optional[") or kind in ("Any", "None"):
            return " = None"
        if kind.startswith("List["):
            return " = field(default_factory=list)"
        if kind.startswith("Dict["):
            return " = field(default_factory=dict)"
        if kind in ("str", "int", "float", "bool"):
            return {"str": ' = ""', "int": " = 0", "float": " = 0.0", "bool": " = False"}[kind]
        if kind in self.definitions:
            if self.definitions[kind].get("type") == "object":
                if not self.is_class(kind):
                    return " = field(default_factory=dict)"
                if not self.definitions[kind].get("required"):
                    return f" = field(default_factory=lambda: {kind}())"
            plain = self.type_of(self.definitions[kind])
            if plain == "str":
                return ' = ""'
            words = [part.get("const") for part in self.definitions[kind].get("oneOf", [])]
            if "" in words:
                return ' = ""'
        return " = None"

    def field(self, key: str, schema: Any, is_required: bool) -> str:
        name = key + "_" if keyword.iskeyword(key) or not key.isidentifier() else key
        default = self.default(schema, is_required)
        kind = self.type_of(schema)
        if default == " = None" and not kind.startswith("Optional[") and kind not in ("Any", "None"):
            kind = f"Optional[{kind}]"
        text = schema.get("description", "") if isinstance(schema, dict) else ""
        return wrapped_comment(text, "    ", "#: ") + f"    {name}: {kind}{default}\n"

    def dataclass(self, name: str) -> str:
        definition = self.definitions[name]
        required = set(definition.get("required", []))
        fields = list(definition.get("properties", {}).items())
        fields.sort(key=lambda item: item[0] not in required)
        told = definition.get("description", name).replace("\n", " ").replace('"', "'").replace("\\", "\\\\")
        told = "\n    ".join(textwrap.wrap(told, WIDTH - 12)) or name
        lines = [f'@dataclass(frozen=True)\nclass {name}:\n    """{told}"""\n\n']
        lines += [self.field(key, schema, key in required) for key, schema in fields]
        if isinstance(definition.get("additionalProperties"), dict):
            kind = self.type_of(definition["additionalProperties"])
            lines.append(f"    #: All other keys.\n    others: Dict[str, {kind}] = field(default_factory=dict)\n")
        return "".join(lines).rstrip("\n") + "\n"

    def text(self, version: int) -> str:
        classes = [name for name in self.definitions if self.is_class(name)]
        aliases = self.ordered_aliases()
        names = "".join(f"    {json.dumps(name)},\n" for name in ["SCHEMA_VERSION", *sorted(classes + aliases)])
        head = HEAD.replace("{version}", str(version)).replace("{names}", names)
        body = [self.dataclass(name) for name in classes] + [self.alias(name) for name in aliases]
        return head + "\n\n" + "\n\n".join(body[: len(classes)]) + "\n\n" + "\n".join(body[len(classes) :])


def wrapped_comment(text: str, indent: str = "", mark: str = "#: ") -> str:
    """A text as comment lines."""
    lines = textwrap.wrap(" ".join(text.split()), WIDTH - len(indent) - len(mark))
    return "".join(f"{indent}{mark}{line}\n" for line in lines)


def wrapped_alias(text: str) -> str:
    """An alias, over several lines where it is long."""
    if len(text) <= WIDTH:
        return text + "\n"
    head, rest = text.split("[", 1)
    parts, depth, part = [], 0, ""
    for sign in rest[:-1]:
        depth += sign == "["
        depth -= sign == "]"
        if sign == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += sign
    parts.append(part.strip())
    return head + "[\n" + "".join(f"    {part},\n" for part in parts) + "]\n"


def main() -> None:
    source = (pathlib.Path(__file__).parent.parent / "crates/result/src/lib.rs").read_text(encoding="utf-8")
    version = re.search(r"pub const SCHEMA_VERSION: u32 = (\d+);", source)
    if version is None:
        raise SystemExit("crates/result/src/lib.rs has no SCHEMA_VERSION")
    sys.stdout.write(Types(json.load(sys.stdin)).text(int(version.group(1))))


if __name__ == "__main__":
    main()
