"""Workflows that stand in the README and in the docs, each written into a file of its own, so that linters can read them.

python blocks.py FOLDER (in a Python with ruamel.yaml), from the root of the repository. A job or a list of steps becomes the
workflow around it; YAML that is none of GitHub's is left out.
"""

import sys
from pathlib import Path

from ruamel.yaml import YAML

HEAD = "name: {name}\non: pull_request\npermissions: {{}}\nconcurrency: {{ group: docs, cancel-in-progress: true }}\njobs:\n"
TRAIN = "  train:\n    name: train\n    runs-on: ubuntu-24.04\n    permissions: {}\n    steps: [{ run: bash train.sh }]\n"
JOB = "  job:\n    name: job\n    runs-on: ubuntu-24.04\n    permissions: {}\n    steps:\n"


def indented(text, spaces):
    """Text moved to the right, comments included."""
    return "".join(" " * spaces + line if line.strip() else line for line in text.splitlines(keepends=True))


def workflow(name, text, content):
    """The block as a whole workflow; None where it is no part of one."""
    if isinstance(content, list) and all("uses" in step or "run" in step for step in content):
        return HEAD.format(name=name) + JOB + indented(text, 6)
    if not isinstance(content, dict):
        return None
    if "jobs" in content:
        return text if "name" in content else f"name: {name}\n{text}"
    if all(isinstance(job, dict) and "steps" in job for job in content.values()):
        return HEAD.format(name=name) + TRAIN + indented(text, 2)
    return None


def main():
    folder = Path(sys.argv[1])
    pages = [Path("README.md"), Path("README.zh.md"), *sorted(Path("docs").glob("*.md"))]
    written = 0
    for page in pages:
        for number, part in enumerate(page.read_text().split("```yaml\n")[1:], start=1):
            text = part.split("```")[0]
            name = f"{page.stem}-{number}".lower()
            made = workflow(name, text, YAML(typ="safe").load(text))
            if made is not None:
                (folder / f"{name}.yml").write_text(made)
                written += 1
    if written < 4:
        sys.exit(f"{written} workflows: the pages have more")


main()
