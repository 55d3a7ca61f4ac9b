"""Classes of estimators: the constructor from the fields, and the docstring from those of the base classes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Self, TypeVar, dataclass_transform

from softwood.core.parameters import parameter

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
# Section of the docstring of a class with the arguments that several of its methods have.
SHARED = "Arguments of methods"
# What `fit` and `partial_fit` return.
_FITTED = "Returns\n-------\nestimator\n    The fitted estimator itself."
_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


@dataclass(frozen=True)
class Documentation:
    """The parts of a docstring in the form of numpydoc.

    Attributes
    ----------
    text : what comes before the first section
    parameters, attributes : entries of these sections by name, each without the name and without the default
    others : the other sections by title, such as Examples
    """

    text: str
    parameters: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, docstring: str | None) -> Self:
        """Divide a docstring into its parts."""
        text, *sections = _HEADING.split(inspect.cleandoc(docstring or ""))
        bodies = dict(zip(sections[::2], sections[1::2], strict=True))
        parameters, attributes = (_entries(bodies.pop(title, "")) for title in ("Parameters", "Attributes"))
        return cls(text.strip(), parameters, attributes, {title: body.strip() for title, body in bodies.items()})

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
        bodies = {"Parameters": "\n".join(known), "Attributes": "\n".join(attributes), **self.others}
        bodies.pop(SHARED, None)
        sections = [f"{title}\n{'-' * len(title)}\n{body}" for title, body in bodies.items() if body]
        return "\n\n".join(filter(None, [self.text, *sections])) + "\n"


def documented(own: Class) -> Class:
    """A class whose docstring describes all its parameters and attributes.

    Each is described once, in the class that declares it. A derived class describes it again only where it differs.
    The same holds for methods: an argument that is not described there is described in the section "Arguments of
    methods" of the class or of a base class, and results are those of the method of the same name in a base class.
    """
    declared: Any = own
    declared._own_docstring = own.__doc__
    declared._own_arguments = _entries(Documentation.read(own.__doc__).others.get(SHARED, ""))
    shared = {name: entry for base in reversed(own.__mro__) for name, entry in
              vars(base).get("_own_arguments", {}).items()}  # fmt: skip
    for name, member in vars(own).items():
        method = getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(method) and method.__doc__:
            above = (vars(base)[name].__doc__ for base in own.__mro__[1:] if name in vars(base))
            complete(method, shared, next(above, None))
    declared.__doc__ = _Docstring()
    if type(own) is not type:  # `help` reads the docstring of a class with a metaclass past the descriptor
        _ = own.__doc__
    return own


def complete(function: Any, shared: Mapping[str, str], above: str | None) -> None:
    """Complete the docstring of a function: arguments from `shared`, results from another docstring, `above`."""
    own = Documentation.read(function.__doc__)
    parameters = inspect.signature(function).parameters.values()
    listed = {p.name: shared[p.name] for p in parameters if p.name in shared} | own.parameters
    others = own.others
    if not {"Returns", "Yields"} & set(others):
        theirs = Documentation.read(_FITTED if function.__name__ in ("fit", "partial_fit") else above).others
        others = {title: theirs[title] for title in ("Returns", "Yields") if title in theirs} | others
    if len(listed) > len(own.parameters) or others != own.others:
        whole = Documentation(own.text, listed, {}, others).write(parameters)
        inspect.unwrap(function).__doc__ = function.__doc__ = whole


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


def _entries(body: str) -> dict[str, str]:
    """Entries of a section by name: lines that are not indented begin an entry."""
    found = re.split(r"^\**(\S+) : ", body.strip(), flags=re.MULTILINE)[1:]
    return {name: entry.rstrip() for name, entry in zip(found[::2], found[1::2], strict=True)}


def _entry(parameter: inspect.Parameter, entry: str) -> str:
    kind, *text = entry.split("\n")
    if parameter.default is not parameter.empty and ", default=" not in kind:
        default = parameter.default
        kind += f', default="{default}"' if isinstance(default, str) else f", default={default}"
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    return "\n".join([f"{stars}{parameter.name} : {kind}", *text])
