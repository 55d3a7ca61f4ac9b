"""Docstrings of all public names: parameters as in the signature, with types and texts, and what is returned."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pydoc
import re
from abc import ABCMeta
from enum import Enum
from typing import Literal

import pytest

from softwood.core.estimators import Documentation, documented, estimator
from tests.docstrings import entries, faults_of_signature, sections

PACKAGES = ["", "datasets", "explanations", "export", "plots", "stats", "stream"]
# Sections in the order of numpydoc.
ORDER = ["Parameters", "Attributes", "Returns", "Yields", "Raises", "See Also", "Notes", "References", "Examples"]
WITH_EXTRAS = {"nn": "torch", "dask": "distributed", "stream.river": "river"}


def public_names():
    """Module and name of everything public whose packages are installed."""
    for package in (*PACKAGES, *WITH_EXTRAS):
        module = f"softwood.{package}".rstrip(".")
        if importlib.util.find_spec(WITH_EXTRAS.get(package, "softwood")) is not None:
            for name in importlib.import_module(module).__all__:
                yield f"{module}:{name}"


def is_result(owner):
    """Whether objects of the class are made by the package, so that their fields are documented as attributes."""
    fields = hasattr(owner, "_fields") or (dataclasses.is_dataclass(owner) and not hasattr(owner, "get_params"))
    return fields and "Parameters" not in sections(owner.__doc__)


def fields_of(owner):
    names = owner._fields if hasattr(owner, "_fields") else [part.name for part in dataclasses.fields(owner)]
    return [name for name in names if not name.startswith("_")]


def faults_of_attributes(listed, expected):
    names = [name for entry in listed for name in entry.names]
    faults = [f"the attribute {name} is not documented" for name in expected if name not in names]
    faults += [f"the attribute {name} is documented twice" for name in set(names) if names.count(name) > 1]
    for entry in listed:
        if not entry.type or not entry.text.endswith("."):
            faults.append(f"{', '.join(entry.names)} needs a type and a sentence")
    return faults


def faults_of(owner):
    parts = sections(owner.__doc__)
    summary = parts[""].split("\n\n")[0]
    faults = [] if summary.endswith((".", ")")) and "\n" not in summary else [f"the summary is {summary!r}"]
    titles = [title for title in parts if title]
    if titles != [title for title in ORDER if title in titles]:
        faults.append(f"sections are {titles}, and numpydoc's order is {ORDER}")
    attributes, parameters = entries(parts.get("Attributes", "")), entries(parts.get("Parameters", ""))
    if not inspect.isclass(owner):
        faults += faults_of_signature(owner, parameters)
        returns = inspect.signature(owner).return_annotation not in ("None", None)
        if returns and not re.fullmatch(r"(\S.*\n(    .*\n|\n)+)+", parts.get("Returns", "") + "\n"):
            faults.append("Returns needs a type, and a text below it")
        return faults
    if issubclass(owner, Enum):
        return faults + faults_of_attributes(attributes, list(owner.__members__))
    if is_result(owner):
        return faults + faults_of_attributes(attributes, fields_of(owner))
    return faults + faults_of_signature(owner, parameters) + faults_of_attributes(attributes, [])


@pytest.mark.parametrize("name", [*public_names()])
def test_public_names(name):
    module, _, attribute = name.partition(":")
    owner = getattr(importlib.import_module(module), attribute)
    if callable(owner):
        assert faults_of(owner) == []


def public_methods(owner):
    """Functions of the public methods that the class or its bases in softwood define, by name."""
    for base in owner.__mro__:
        for name, member in vars(base).items() if base.__module__.startswith("softwood") else ():
            function = getattr(member, "__func__", member)
            if not name.startswith("_") and inspect.isfunction(function):
                yield name, inspect.unwrap(function)


@pytest.mark.parametrize("name", [*public_names()])
def test_public_methods(name):
    module, _, attribute = name.partition(":")
    owner = getattr(importlib.import_module(module), attribute)
    for method, function in public_methods(owner) if inspect.isclass(owner) else ():
        parts, parameters = sections(function.__doc__), list(inspect.signature(function).parameters)
        assert parts[""], method
        if parameters[1:]:
            listed = entries(parts.get("Parameters", ""))
            assert faults_of_signature(function, listed, skipped=tuple(parameters[:1])) == [], method
            returns = inspect.signature(function).return_annotation != "None"
            assert not returns or "Returns" in parts or "Yields" in parts, method


def right(a: int, b: Literal["x", "y"] | None = "x") -> int:
    """Do something.

    Parameters
    ----------
    a : int
        A number.
    b : {"x", "y"} or None, default="x"
        A name.

    Returns
    -------
    int
        A number.
    """
    return a


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("a : int\n        A number.\n    ", "", "documents"),
        ("a : int", "c : int", "documents"),
        ("a : int", "a", "documents|type"),
        ("a : int\n        A number.", "a : int", "no sentence"),
        ('default="x"', 'default="y"', "default"),
        (', default="x"', "", "default"),
        ('{"x", "y"}', '{"x"}', "does not name 'y'"),
        (" or None", "", "does not name None"),
        ("    Returns\n    -------\n    int\n        A number.\n", "", "Returns"),
        ('int\n        A number.\n    """', 'int\n    """', "Returns"),
        ("    Parameters\n    ----------", "    Arguments\n    ---------", "sections"),
        ("Do something.", "Do something,\n    and more", "summary"),
    ],
)
def test_faults_are_found(old, new, fault):
    def wrong(a: int, b: Literal["x", "y"] | None = "x") -> int:
        return a

    assert faults_of(right) == []
    text = f'{right.__doc__}"""'
    assert old in text
    wrong.__doc__ = text.replace(old, new, 1).removesuffix('"""')
    wrong.__annotations__ = right.__annotations__
    assert re.search(fault, " ".join(faults_of(wrong)))


class TestDocumentation:
    """How docstrings are put together."""

    def test_entries_come_from_the_nearest_class(self):
        @estimator
        class Base:
            """Base.

            Parameters
            ----------
            depth : int
                Depth of the base.
            verbose : int
                How much is printed.

            Attributes
            ----------
            tree_ : object
                The tree.

            Examples
            --------
            >>> Base()
            """

            verbose: int = 0
            depth: int = 3

        @estimator
        class Derived(Base):
            """Derived.

            More about it.

            Parameters
            ----------
            depth : int or None
                Depth: first line,
                second line.

                - a list
            name : str
                A name.
            """

            depth: int | None = None
            name: str = "x"
            _leading = ("name",)

        assert (
            Derived.__doc__
            == inspect.cleandoc(
                """Derived.

            More about it.

            Parameters
            ----------
            name : str, default="x"
                A name.
            depth : int or None, default=None
                Depth: first line,
                second line.

                - a list
            verbose : int, default=0
                How much is printed.

            Attributes
            ----------
            tree_ : object
                The tree.
            """
            )
            + "\n"
        )
        assert str(inspect.signature(Derived)) == (
            "(*, name: 'str' = 'x', depth: 'int | None' = None, verbose: 'int' = 0) -> None"
        )
        assert "default=3" in Base.__doc__
        assert Base.__doc__ is Base().__doc__

    def test_methods_are_completed_by_the_arguments_of_the_class_and_the_results_of_its_base(self):
        @documented
        class Base:
            """Base.

            Arguments of methods
            --------------------
            X : array
                The rows.
            **more : dict
                Further arguments.
            """

            def predict(self, X, **more):
                """Predict.

                Returns
                -------
                array
                    Predictions.
                """

        @documented
        class Derived(Base):
            """Derived."""

            def predict(self, X=None, *, size: int = 1, **more):
                """Predict well.

                Parameters
                ----------
                size : int, default=1
                    A size.

                Examples
                --------
                >>> 1
                """

            def _hidden(self, X):
                """Hidden."""

        assert "Arguments" not in Base.__doc__
        assert Base.predict.__doc__.count("The rows.") == Base.predict.__doc__.count("Predictions.") == 1
        assert Derived._hidden.__doc__ == "Hidden."
        assert [*sections(Derived.predict.__doc__)] == ["", "Parameters", "Returns", "Examples"]
        listed = entries(sections(Derived.predict.__doc__)["Parameters"])
        assert [(entry.names, entry.type, entry.default) for entry in listed] == [
            (["X"], "array", "None"), (["size"], "int", "1"), (["**more"], "dict", None),
        ]  # fmt: skip
        assert sections(Derived.predict.__doc__)["Returns"] == "array\n    Predictions."

    def test_parameters_by_position_come_first(self):
        @estimator
        class Model:
            first: int = 1
            second: int = dataclasses.field(default=2, kw_only=False)
            third: int = 3
            _leading = ("third",)

        assert list(inspect.signature(Model).parameters) == ["second", "third", "first"]
        model = Model(5, third=6)
        assert (model.first, model.second, model.third) == (1, 5, 6)

    def test_without_docstrings(self):
        """As with ``python -OO``."""

        @documented
        class Model:
            pass

        assert Model.__doc__.strip() == ""

    def test_a_derived_class_of_a_user_has_its_own_docstring(self):
        @documented
        class Base:
            """Base."""

        class Users(Base):
            """By a user."""

        class Silent(Base):
            pass

        assert Users.__doc__ == "By a user."
        assert Silent.__doc__ is None

    @pytest.mark.parametrize("metaclass", [type, ABCMeta])
    def test_help_reads_it_first(self, metaclass):
        @documented
        class Model(metaclass=metaclass):
            """A model."""

        assert pydoc.getdoc(Model) == "A model."
        assert "A model." in pydoc.render_doc(Model)

    def test_an_argument_without_default(self):
        found = Documentation.read("A.\n\nParameters\n----------\nx : int\n    A number.\n")
        parameter = inspect.Parameter("x", inspect.Parameter.KEYWORD_ONLY)
        assert found.write([parameter]) == "A.\n\nParameters\n----------\nx : int\n    A number.\n"
