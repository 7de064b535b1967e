"""Inputs of the actions and of the component are flags of the program, under the same names, and each reaches it.

python inputs.py GATE (the binary; in a Python with ruamel.yaml), from the root of the repository.
"""

import re
import subprocess
import sys
from pathlib import Path

from ruamel.yaml import YAML

# Inputs of the composite action that are its own.
INSTALLING = {"version", "sha256", "mirror", "allow-http", "from-source", "bin", "run"}
# Inputs of the component that are the job's own.
JOB = {"job", "stage", "image", "version", "sha256"}


def flags(command):
    """Long flags of a command of the program."""
    text = subprocess.run([sys.argv[1], command, "--help"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^\s+(?:-\w, )?--([a-z0-9-]+)", text, re.MULTILINE))


def same(what, found, wanted):
    """Two sets that have to be one."""
    if found != wanted:
        sys.exit(f"{what}: missing {sorted(wanted - found)}, unknown {sorted(found - wanted)}")


def main():
    yaml = YAML(typ="safe")
    paths = ("action.yml", "binary/action.yml", "publish/action.yml")
    container, binary, publish = (yaml.load(Path(path)) for path in paths)
    # The token comes by the environment alone; every other input is a flag.
    inputs = set(container["inputs"])
    same("action.yml against run --help", inputs - flags("run"), {"token"})
    same("publish/action.yml against publish --help", set(publish["inputs"]) - flags("publish"), {"token", "result"})

    same("binary/action.yml against action.yml", set(binary["inputs"]) - INSTALLING, inputs)
    handed = {key: value for key, value in binary["runs"]["steps"][-1]["env"].items() if key.startswith("INPUT_")}
    wanted = {("INPUT_" + name.upper().replace("-", "_"), f"${{{{ inputs.{name} }}}}") for name in inputs}
    same("environment of binary/action.yml", set(handed.items()), wanted)

    text = Path("templates/precision-gate/template.yml").read_text()
    spec = next(yaml.load_all(text))
    offered = set(spec["spec"]["inputs"]) - JOB
    variables = dict(re.findall(r"^ +(INPUT_\w+)=(.*)$", text, re.MULTILINE))
    # GitLab's variables have no hyphens, and `image` is the job's.
    variable = {name: "INPUT_" + name.upper().replace("-", "_") for name in offered} | {"picture": "INPUT_IMAGE"}
    wanted = {(variable[name], f"$[[ inputs.{name} ]]") for name in offered}
    same("variables of the component", set(variables.items()), wanted)
    same("inputs of the component against run --help", (offered - {"picture"}) - flags("run"), set())


main()
