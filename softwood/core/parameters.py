"""Checks of parameters, with messages of the same form."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from dataclasses import field, fields
from functools import partial
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np

Owner = TypeVar("Owner")

# So many characters of a wrong value are shown.
MOST_SHOWN = 200


def parameter(default: Any, check: Callable[..., Any], **limits: Any) -> Any:
    """A field of a dataclass with its check: a function of this module that is called with `limits`; see `checked`."""
    return field(default=default, metadata={"check": partial(check, **limits)})


def checked(owner: Owner) -> Owner:
    """A copy of an estimator with checked parameters, converted to the types that compiled loops expect.

    Only fields made by `parameter` are checked. For example, an int given for a float parameter becomes a float.
    """
    found = copy.copy(owner)
    for part in fields(cast(Any, owner)):
        if "check" in part.metadata:
            setattr(found, part.name, part.metadata["check"](owner, part.name, getattr(owner, part.name)))
    return found


def parameter_error(owner: object, name: str, expected: str, found: Any) -> ValueError:
    """An error that names the parameter, what was expected and what was found, of long values only the beginning."""
    of = owner if isinstance(owner, str) else type(owner).__name__
    shown = repr(found) if len(repr(found)) <= MOST_SHOWN else repr(found)[:MOST_SHOWN] + " ..."
    return ValueError(f"The {name!r} parameter of {of} must be {expected}. Got {shown} instead.")


def is_real(value: Any) -> bool:
    """Whether `value` is a finite real number; True and False are not."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return bool(np.isfinite(float(value)))


def check_flag(owner: object, name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise parameter_error(owner, name, "a bool", value)
    return bool(value)


def check_number(
    owner: object, name: str, value: Any, *, low: float, open_low: bool = False, high: float = np.inf
) -> float:
    """A finite real number in [low, high], or in (low, high] if `open_low`."""
    if not is_real(value) or value < low or (open_low and value == low) or value > high:
        end = "inf)" if high == np.inf else f"{high}]"
        bracket = "(" if open_low else "["
        raise parameter_error(owner, name, f"a number in the range {bracket}{low}, {end}", value)
    return float(value)


def check_integer(
    owner: object, name: str, value: Any, *, low: int, high: float = np.inf, or_none: bool = False
) -> int | None:
    """An integer in [low, high], or None if allowed."""
    if value is None and or_none:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= int(value) <= high:
        end = "inf)" if high == np.inf else f"{high}]"
        raise parameter_error(
            owner, name, f"an int in the range [{low}, {end}" + (" or None" if or_none else ""), value
        )
    return int(value)


def check_count(owner: object, name: str, value: Any, *, low: int = 1, high: float = np.inf) -> int:
    """An integer in [low, high], never None."""
    number = check_integer(owner, name, value, low=low, high=high)
    assert number is not None
    return number


def check_n_jobs(owner: object, value: Any) -> int | None:
    """Number of jobs in joblib's sense: -1 for all processors, -2 for all but one; None for joblib's default."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or int(value) == 0):
        raise parameter_error(owner, "n_jobs", "an int other than 0, or None", value)
    return None if value is None else int(value)


def or_auto(check: Callable[..., Any]) -> Callable[..., Any]:
    """A check that also allows "auto", which becomes None."""

    def check_or_auto(owner: object, name: str, value: Any, **limits: Any) -> Any:
        if isinstance(value, str) and value == "auto":
            return None
        try:
            return check(owner, name, value, **limits)
        except ValueError as error:
            raise ValueError(str(error).replace(". Got ", ", or 'auto'. Got ", 1)) from None

    return check_or_auto


def check_choice(owner: object, name: str, value: Any, choices: Collection[Any]) -> Any:
    """One of a few values."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise parameter_error(owner, name, "one of " + ", ".join(repr(c) for c in choices), value)
    return value
