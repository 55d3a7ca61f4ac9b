"""Reading docstrings in numpydoc's form, and what they must say about a signature."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Entry:
    """An entry of a section: its names, the type without the default, the default (None: not given) and the text."""

    names: list[str]
    type: str
    default: str | None
    text: str


def sections(docstring: str | None) -> dict[str, str]:
    """Bodies of the sections by title; what comes before the first one has the title ''."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    found: dict[str, list[str]] = {"": []}
    title = ""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if line and set(below) == {"-"} and len(below) == len(line):
            title = line
            found[title] = []
        elif not (title and set(line) == {"-"} and not found[title]):
            found[title].append(line)
    return {title: "\n".join(body).strip("\n") for title, body in found.items()}


def entries(body: str) -> list[Entry]:
    """The entries of a section of parameters, attributes or results."""
    found = []
    for block in re.split(r"\n(?=\S)", body) if body else []:
        head, _, text = block.partition("\n")
        names, _, kind = head.partition(" : ")
        kind, _, default = kind.partition(", default=")
        found.append(Entry(names.split(", "), kind, default or None, inspect.cleandoc(text)))
    return found


def faults_of_signature(owner: Any, documented: list[Entry], skipped: tuple[str, ...] = ()) -> list[str]:
    """What is wrong with the documentation of the parameters of a callable; `skipped` may be left out."""
    expected = {name: p for name, p in inspect.signature(owner).parameters.items() if name not in ("self", *skipped)}
    names = [name.lstrip("*") for entry in documented for name in entry.names]
    faults = [] if names == list(expected) else [f"documents {names}, but the signature is {list(expected)}"]
    for entry in documented:
        label = ", ".join(entry.names)
        if not entry.type:
            faults.append(f"{label} has no type")
        if not entry.text.endswith((".", ":")) and not re.search(r"[.`:)\]]$", entry.text):
            faults.append(f"the text of {label} is no sentence: {entry.text!r}")
        for name in entry.names:
            faults += _faults_of_type(expected.get(name.lstrip("*")), entry)
    return faults


def _faults_of_type(parameter: inspect.Parameter | None, entry: Entry) -> list[str]:
    if parameter is None:
        return []
    faults = []
    default = None
    if parameter.default is not parameter.empty:
        default = f'"{parameter.default}"' if isinstance(parameter.default, str) else str(parameter.default)
    if entry.default != default:
        faults.append(f"{parameter.name} has the default {default}, documented is {entry.default}")
    annotation = str(parameter.annotation)
    for choices in re.findall(r"Literal\[(.*?)\]", annotation):
        missing = [choice for choice in re.findall(r"['\"](\w+)['\"]", choices) if f'"{choice}"' not in entry.type]
        faults += [f"the type of {parameter.name} does not name {choice!r}" for choice in missing]
    if annotation.endswith("| None") and "None" not in entry.type and default != "None":
        faults.append(f"the type of {parameter.name} does not name None")
    return faults
