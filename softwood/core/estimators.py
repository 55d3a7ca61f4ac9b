"""Classes of estimators: the constructor from the fields, and the docstring from those of the base classes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Self, TypeVar, dataclass_transform

from softwood.core.parameters import parameter

__all__ = ["Documentation", "documented", "estimator"]

Class = TypeVar("Class", bound=type)

# Parameters that all families have come at the end of a signature, in this order.
LAST = (
    "class_weight",
    "categorical_features",
    "dates",
    "handle_unknown",
    "warm_start",
    "client",
    "n_jobs",
    "random_state",
    "verbose",
)
_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


@dataclass(frozen=True)
class Documentation:
    """The parts of a docstring in the form of numpydoc.

    Attributes
    ----------
    text : what comes before the first section
    parameters, attributes : entries of these sections by name, each without the name and without the default
    others : the other sections, such as Examples
    """

    text: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    others: str = ""

    @classmethod
    def read(cls, docstring: str | None) -> Self:
        """Divide a docstring into its parts."""
        text, *sections = _HEADING.split(inspect.cleandoc(docstring or ""))
        bodies = dict(zip(sections[::2], sections[1::2], strict=True))
        parameters, attributes = (_entries(bodies.pop(title, "")) for title in ("Parameters", "Attributes"))
        others = "\n\n".join(_section(title, body.strip()) for title, body in bodies.items())
        return cls(text.strip(), parameters, attributes, others)

    @classmethod
    def collect(cls, owner: type) -> Self:
        """The documentation of a class, completed by the entries of its base classes; the nearest class counts."""
        parts = [cls.read(vars(base)["_own_docstring"]) for base in owner.__mro__ if "_own_docstring" in vars(base)]
        parameters: dict[str, str] = {}
        attributes: dict[str, str] = {}
        for part in parts:
            parameters = {**part.parameters, **parameters}
            attributes |= {name: entry for name, entry in part.attributes.items() if name not in attributes}
        return cls(parts[0].text, parameters, attributes, parts[0].others)

    def write(self, parameters: Iterable[inspect.Parameter]) -> str:
        """A docstring with these parameters, in their order and with their defaults."""
        known = [_entry(parameter, self.parameters[parameter.name]) for parameter in parameters
                 if parameter.name in self.parameters]  # fmt: skip
        attributes = [f"{name} : {entry}" for name, entry in self.attributes.items()]
        sections = [
            self.text,
            _section("Parameters", "\n".join(known)) if known else "",
            _section("Attributes", "\n".join(attributes)) if attributes else "",
            self.others,
        ]
        return "\n\n".join(filter(None, sections)) + "\n"


def documented(own: Class) -> Class:
    """A class whose docstring describes all its parameters and attributes.

    Each is described once, in the class that declares it. A derived class describes it again only where it differs.
    """
    declared: Any = own
    declared._own_docstring = own.__doc__
    declared.__doc__ = _Docstring()
    if type(own) is not type:  # `help` reads the docstring of a class with a metaclass past the descriptor
        _ = own.__doc__
    return own


class _Docstring:
    """The docstring of a class, put together when it is first read, so that imports are quick."""

    def __get__(self, instance: Any, owner: type) -> str:
        owner.__doc__ = Documentation.collect(owner).write(inspect.signature(owner).parameters.values())
        return owner.__doc__


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field, parameter))
def estimator(own: Class) -> Class:
    """A class with a constructor of its fields, which are parameters of the estimator, and with their documentation.

    The signature opens with the parameters that the class lists in ``_leading``, and ends with those of `LAST`.
    """
    docstring = own.__doc__
    decorate: Any = dataclass(kw_only=True, eq=False, repr=False)
    made = decorate(own)
    made.__doc__ = docstring  # not the signature that dataclasses write if there is no docstring
    leading = getattr(made, "_leading", ())
    places = {name: place for place, name in enumerate((*leading, None, *LAST))}
    declared = sorted(
        (part for part in fields(made) if part.init),
        key=lambda part: (bool(part.kw_only), places.get(part.name, len(leading))),
    )
    own_self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    made.__init__.__signature__ = inspect.Signature([own_self, *map(_parameter, declared)], return_annotation=None)
    return documented(made)


def _parameter(part: Field[Any]) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY if part.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = inspect.Parameter.empty if part.default is MISSING else part.default
    return inspect.Parameter(part.name, kind, default=default, annotation=part.type)


def _section(title: str, body: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{body}"


def _entries(body: str) -> dict[str, str]:
    """Entries of a section by name: lines that are not indented begin an entry."""
    found = re.split(r"^(\S+) : ", body.strip(), flags=re.MULTILINE)[1:]
    return {name: entry.rstrip() for name, entry in zip(found[::2], found[1::2], strict=True)}


def _entry(parameter: inspect.Parameter, entry: str) -> str:
    kind, *text = entry.split("\n")
    if parameter.default is not parameter.empty:
        default = parameter.default
        kind += f', default="{default}"' if isinstance(default, str) else f", default={default}"
    return "\n".join([f"{parameter.name} : {kind}", *text])
