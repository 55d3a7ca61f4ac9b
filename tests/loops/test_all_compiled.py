"""Every compiled function has a test beside it, and few arguments."""

import ast
from importlib import import_module
from pathlib import Path

import numba
import pytest

import softwood.loops

SOURCES = [
    path for path in Path(softwood.loops.__file__).parent.glob("*.py") if path.stem not in ("__init__", "_compile")
]
TESTS = [path for path in Path(__file__).parent.glob("*.py") if path.name != Path(__file__).name]
MOST_ARGUMENTS = 12


def is_decorator(node):
    """``compiled``, or ``compiled(...)`` with options."""
    if isinstance(node, ast.Call):
        return is_decorator(node.func)
    return isinstance(node, ast.Name) and node.id == "compiled"


def compiled_functions(source):
    """Name in the module, and definition, of all functions under the decorator: above them, or called with them."""
    tree = ast.parse(source)
    definitions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(map(is_decorator, node.decorator_list)):
            yield node.name, node
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and is_decorator(node.value.func):
            (argument,) = node.value.args
            yield node.targets[0].id, definitions[argument.id]


def named_functions(source):
    """Modules of loops with the functions of theirs that a test uses, imported by name or with the module.

    A word in a text or a comment is no use, nor is a name that means something else.
    """
    nodes = list(ast.walk(ast.parse(source)))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    modules = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "softwood.loops":
            modules |= {alias.asname or alias.name: alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("softwood.loops."):
            for alias in node.names:
                if (alias.asname or alias.name) in used:
                    yield node.module.rsplit(".", 1)[1], alias.name
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield modules[node.value.id], node.attr


FUNCTIONS = [
    (path.stem, name, definition)
    for path in sorted(SOURCES)
    for name, definition in compiled_functions(path.read_text())
]
NAMES = [f"{module}.{name}" for module, name, _ in FUNCTIONS]


@pytest.fixture(scope="module")
def named():
    """(module, function) of all that the tests of loops use."""
    return {each for path in TESTS for each in named_functions(path.read_text())}


@pytest.mark.parametrize("path", SOURCES, ids=[path.stem for path in SOURCES])
def test_the_list_is_that_of_the_modules(path):
    """By importing them: nothing is compiled in another way."""
    module = import_module(f"softwood.loops.{path.stem}")
    listed = {name for where, name, _ in FUNCTIONS if where == path.stem}
    if numba.config.DISABLE_JIT:  # the decorator hands the plain function back
        assert listed <= set(vars(module))
        return
    dispatchers = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, numba.core.dispatcher.Dispatcher) and value.py_func.__module__ == module.__name__
    }
    assert set(dispatchers) == listed


@pytest.mark.parametrize(("module", "name"), [each[:2] for each in FUNCTIONS], ids=NAMES)
def test_every_compiled_function_is_named_in_a_test_of_loops(module, name, named):
    assert (module, name) in named, f"no test in tests/loops uses {name} of softwood/loops/{module}.py"


@pytest.mark.parametrize("definition", [each[2] for each in FUNCTIONS], ids=NAMES)
def test_no_compiled_function_takes_many_arguments(definition):
    arguments = definition.args
    assert len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs) <= MOST_ARGUMENTS
    assert arguments.vararg is None
    assert arguments.kwarg is None


def test_what_would_be_found():
    source = """
@compiled
def one(a): ...
@compiled(reassociate=True)
def two(a, b): ...
def _three(a): ...
three = compiled(_three, parallel=True)
def four(): ...
"""
    found = {name: len(definition.args.args) for name, definition in compiled_functions(source)}
    assert found == {"one": 1, "two": 2, "three": 1}
    test = '''
"""seven"""
from softwood.loops import scan as loop, walk
from softwood.loops.grow import one, two, three as other, four as unused
x = one + two(other)  # eight
loop.five("nine") + walk.six
grow.ten()
'''
    expected = {("grow", "one"), ("grow", "two"), ("grow", "three"), ("scan", "five"), ("walk", "six")}
    assert set(named_functions(test)) == expected
