"""Rows in parts: where they are, and how a function is applied to all of them.

A `Source` reads the rows in every pass; its coded rows are `Parts`, which keep a state for each part while trees grow.
Both exist in the memory of this process, here, and on clusters (`softwood.dask`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from softwood.core.threads import Threads
from softwood.kernel.parts.numbers import merged
from softwood.kernel.parts.rows import CodedRows

# Smallest number of rows of a part, which a thread works on.
_SMALLEST_PART = 1000


class RawRows(NamedTuple):
    """A part of the rows, read and encoded.

    Attributes
    ----------
    matrix : (n, p);  weights : (n,) above 0
    targets : (n,) int32 numbers of classes, (n, n_classes) probabilities of classes, or (n, n_targets) numbers
    """

    matrix: np.ndarray
    targets: np.ndarray
    weights: np.ndarray


class Source(Protocol):
    """Reader of the parts of the rows."""

    def summary(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """The merged results of ``function(raw, *arguments)`` for all parts."""

    def coded(self, name: str, function: Callable[..., CodedRows], *arguments: Any) -> AbstractContextManager[Parts]:
        """The parts that ``function(raw, *arguments)`` returns."""


class Parts(Protocol):
    """Holder of the coded parts of the rows, with a state for each part.

    Functions are called for each part with the rows, the state, and the further arguments.
    """

    def update(self, name: str, function: Callable[..., Any], *arguments: Any, restart: bool = False) -> None:
        """Replace the states by what the function returns; with `restart`, it gets None as the state."""

    def summary(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """The merged results of the function."""


class LocalSource:
    """Rows in the memory of this process, in as many parts as there are threads."""

    def __init__(self, raw: RawRows, n_parts: int) -> None:
        n = len(raw.matrix)
        ends = np.linspace(0, n, min(n_parts, max(1, n // _SMALLEST_PART)) + 1).astype(np.int64)
        self._parts = [RawRows(*(array[a:b] for array in raw)) for a, b in pairwise(ends)]

    def _each(self, function: Callable[..., Any], arguments: tuple) -> list[Any]:
        """Results for all parts, each in a thread."""
        found: list[Any] = [None] * len(self._parts)

        def work(part: int, _: int) -> None:
            found[part] = function(self._parts[part], *arguments)

        with Threads(len(self._parts)) as threads:
            threads.run(work, len(self._parts))
        return found

    def summary(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """The merged results."""
        return reduce(merged, self._each(function, arguments))

    def coded(self, name: str, function: Callable[..., CodedRows], *arguments: Any) -> LocalParts:
        """The coded parts."""
        return LocalParts(self._each(function, arguments))


class LocalParts:
    """Coded parts in the memory of this process.

    Parameters
    ----------
    n_threads : number of threads; None: one for each part
    """

    def __init__(self, parts: list[CodedRows], n_threads: int | None = None) -> None:
        self._parts = parts
        self._states: list[Any] = [None] * len(parts)
        self._threads = Threads(min(n_threads or len(parts), len(parts)))

    def __enter__(self) -> LocalParts:
        return self

    def __exit__(self, *error: Any) -> None:
        self._threads.__exit__(*error)

    def update(self, name: str, function: Callable[..., Any], *arguments: Any, restart: bool = False) -> None:
        """Replace the states."""
        old = [None] * len(self._parts) if restart else self._states
        new: list[Any] = [None] * len(self._parts)

        def work(part: int, _: int) -> None:
            new[part] = function(self._parts[part], old[part], *arguments)

        self._threads.run(work, len(self._parts))
        self._states = new

    def summary(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """The merged results. A thread keeps at most two of them at a time, because they may be large."""
        found: list[Any] = [None] * self._threads.n_threads

        def work(part: int, worker: int) -> None:
            own = function(self._parts[part], self._states[part], *arguments)
            found[worker] = merged(found[worker], own)

        self._threads.run(work, len(self._parts))
        return reduce(merged, found)
