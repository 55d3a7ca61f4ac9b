"""Every compiled function has a test, few arguments, and is what the package uses."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

from softwood.compiled import UNITS

ROOT = Path(__file__).parents[1]
MOST_ARGUMENTS = 12


def compiled_functions():
    """Names of the functions of a unit, and the functions of the sources."""
    for name in UNITS:
        unit = import_module(f"softwood.compiled.{name}")
        for attribute, module in unit.SOURCES.items():
            source = getattr(import_module(module), attribute)
            if inspect.isfunction(source):
                yield name, attribute, source


def names_used(path):
    """Units and names that a file takes from `softwood.compiled`, imported by name or with the unit, and uses."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    units = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "softwood.compiled":
            units |= {alias.asname or alias.name: alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("softwood.compiled."):
            for alias in node.names:
                if (alias.asname or alias.name) in used:
                    yield node.module.rpartition(".")[2], alias.name
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in units:
            yield units[node.value.id], node.attr


def test_every_function_is_tested():
    tested = {each for path in (ROOT / "tests").rglob("*.py") for each in names_used(path)}
    assert sorted({(unit, name) for unit, name, _ in compiled_functions()} - tested) == []


def test_no_function_has_many_arguments():
    long = [(unit, name) for unit, name, source in compiled_functions()
            if len(inspect.signature(source).parameters) > MOST_ARGUMENTS]  # fmt: skip
    assert long == []


def test_the_package_calls_compiled_functions_only():
    """Sources of loops are imported for their constants and named tuples, never for their functions."""
    sources = {source.__module__: set() for _, _, source in compiled_functions()}
    for _, name, source in compiled_functions():
        sources[source.__module__].add(name)
    slow = []
    for path in (ROOT / "softwood").rglob("*.py"):
        if path.parent.name == "loops":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                slow += [(path.name, alias.name) for alias in node.names if alias.name in sources.get(node.module, ())]
    assert slow == []
