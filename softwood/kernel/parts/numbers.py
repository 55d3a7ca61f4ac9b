"""Numbers that do not depend on how rows are divided into parts: exact sums, whole numbers, draws by content."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import exp
from typing import Any, NamedTuple

import numpy as np

from softwood.kernel.data.row_keys import row_keys, row_numbers

# Exact sums are counted in units of this power of two, below the smallest float and its 53 digits.
_UNIT = -1127
# Bits of a sum of whole numbers; the two that are left are for the sign, and for rounding.
_BITS = 61
# Draws with replacement are cut off at this number, which one row in 10**15 would exceed.
_MOST_DRAWS = 20


class Largest(NamedTuple):
    """Numbers of which the larger ones are kept when summaries of parts are merged."""

    values: np.ndarray


def merged(first: Any, second: Any) -> Any:
    """Two summaries as one: numbers and arrays are added, entry by entry of lists and tuples."""
    if isinstance(first, Largest):
        return Largest(np.maximum(first.values, second.values))
    if first is None or second is None:
        return second if first is None else first
    if type(first) in (list, tuple):
        return [merged(*pair) for pair in zip(first, second, strict=True)]
    return first + second


def exact_sum(values: np.ndarray) -> int:
    """Sum of finite floats without any rounding, as a whole number; see `as_float`."""
    parts, exponents = np.frexp(values)
    order = np.argsort(exponents.astype(np.int16), kind="stable")
    exponents = exponents[order]
    digits = (parts[order] * 2.0**53).astype(np.int64)
    starts = np.flatnonzero(np.diff(exponents, prepend=exponents[:1] - 1))
    if len(starts) == 0:
        return 0
    high, low = np.add.reduceat(digits >> 26, starts), np.add.reduceat(digits & ((1 << 26) - 1), starts)
    return sum(
        ((int(h) << 26) + int(part)) << (int(e) - 53 - _UNIT)
        for h, part, e in zip(high, low, exponents[starts], strict=True)
    )


def as_float(total: int, n: int = 1) -> float:
    """An exact sum, divided by `n`, as the nearest float."""
    return float(Fraction(total, n << -_UNIT))


def exponent_for(largest: float, n: int) -> int:
    """Exponent of the power of two to multiply numbers by, so that the sum of `n` of them fits into 64 bits.

    largest : their largest absolute value
    """
    return _BITS - int(np.ceil(np.log2(max(n, 1)))) - int(np.frexp(largest)[1]) if largest > 0 else 0


def whole(values: np.ndarray, exponent: int) -> np.ndarray:
    """Numbers times ``2**exponent``, rounded to int64."""
    return np.rint(np.ldexp(values, exponent)).astype(np.int64)


def draw_keys(matrix: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """64 pseudo-random bits for each row and its target, (n,) uint64; equal rows have equal ones."""
    return row_keys(np.column_stack([matrix, in_columns(y)]), seed)


def in_columns(targets: np.ndarray) -> np.ndarray:
    """Targets (n,) or (n, n_targets) as floats (n, n_targets)."""
    return (targets[:, None] if targets.ndim == 1 else targets).astype(np.float64)


@cache
def _poisson_steps(rate: float) -> np.ndarray:
    """Distribution function of the Poisson distribution."""
    terms = np.cumprod(np.concatenate([[exp(-rate)], rate / np.arange(1, _MOST_DRAWS)]))
    return np.cumsum(terms)


def draw_counts(keys: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """How often each row is drawn for a tree, (n,) int64: a Poisson number of mean `rate` that depends on its key."""
    return np.searchsorted(_poisson_steps(rate), _numbers(keys, seed), side="right")


def is_drawn(keys: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Whether each row is among the `fraction` of the rows that are drawn without replacement, (n,) bool."""
    return _numbers(keys, seed) < fraction


def _numbers(keys: np.ndarray, seed: int) -> np.ndarray:
    """A new number in [0, 1) from each key and the seed."""
    halves = np.column_stack([keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)]).astype(np.float64)
    return row_numbers(halves, seed)
