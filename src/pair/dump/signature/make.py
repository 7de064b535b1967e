"""Writes signatures.txt: the calls that a dump records, with the names and defaults of their arguments.

    pip download torch==2.7.1 --no-deps && unzip torch-*.whl 'torch/*.py' 'torch/*.pyi' && python3 make.py . > signatures.txt

A line is one overload: the call, its parameters, `*` before those that are given by name alone. A default that the stubs leave out
(`...`) is looked for in the documentation; one that is no plain value is written as `?`. Standard library only.
"""
import ast
import json
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]) / "torch"
PLAIN = (bool, int, float, str, type(None))


def default(node, name, documented):
    if node is None:
        return None
    if isinstance(node, ast.Constant) and node.value is Ellipsis:
        return documented.get(name, "?")
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return "?"
    if isinstance(value, (list, tuple)) and all(isinstance(item, PLAIN) for item in value):
        return json.dumps(list(value), separators=(",", ":"))
    return json.dumps(value) if isinstance(value, PLAIN) else "?"


def parameters(function, documented):
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    if arguments.vararg or arguments.kwarg:
        return None
    named = list(zip(positional, defaults)) + ["*"] * bool(arguments.kwonlyargs)
    named += zip(arguments.kwonlyargs, arguments.kw_defaults)
    parts = []
    for entry in named:
        if entry == "*":
            parts.append("*")
            continue
        argument, node = entry
        value = default(node, argument.arg, documented)
        parts.append(argument.arg if value is None else f"{argument.arg}={value}")
    return " ".join(parts)


def functions(path, owner=None):
    tree = ast.parse((root / path).read_text())
    body = tree.body
    if owner:
        body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == owner).body
    return [node for node in body if isinstance(node, ast.FunctionDef)]


def documented():
    """Defaults in the first line of the documentation of functions that are written in C++."""
    found = {}
    for name, text in re.findall(r'"""\s*(\w+)\(([^)]*)\)\s*->', (root / "nn/functional.py").read_text()):
        for part in text.split(","):
            argument, equals, value = part.partition("=")
            if equals:
                try:
                    found.setdefault(name, {})[argument.strip()] = json.dumps(ast.literal_eval(value.strip()))
                except (ValueError, SyntaxError):
                    pass
    return found


def main():
    known = documented()
    variable, native = functions("_C/_VariableFunctions.pyi"), functions("_C/_nn.pyi")
    functional = functions("nn/functional.py")
    own = {function.name for function in functional}
    sources = [
        ("Functional", functional),
        ("Functional", [one for one in [*native, *variable] if one.name not in own and one.name in known or one in native]),
        ("Torch", variable),
        ("Torch", functions("functional.py")),
        ("Tensor", functions("_C/__init__.pyi", "TensorBase")),
        ("Tensor", functions("_tensor.py", "Tensor")),
    ]
    lines = set()
    for prefix, found in sources:
        for function in found:
            text = parameters(function, known.get(function.name, {}))
            if text is not None and not function.name.startswith("_") or text and function.name.startswith("__"):
                lines.add(f"{prefix}.{function.name} {text}".rstrip())
    version = re.search(r"__version__ = '([^'+]*)", (root / "version.py").read_text())[1]
    print(f"# torch {version}, by make.py")
    print("\n".join(sorted(lines)))


main()
