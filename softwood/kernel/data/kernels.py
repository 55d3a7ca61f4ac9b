"""Kernels: how the mass of a measured value is spread around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from math import erf, sqrt
from typing import Any

import numpy as np

from softwood.core.columns import Columns
from softwood.core.parameters import parameter_error
from softwood.trees.nodes import KernelShapes


@dataclass(frozen=True, eq=False)
class Kernel:
    """A piecewise-constant density around a measured value.

    Parameters
    ----------
    edges : array-like of shape (n_pieces + 1,)
        Rising edges of the pieces, in units of the half-width (bandwidth). 0 is the measured value.
    densities : array-like of shape (n_pieces,)
        Density between neighbouring edges, up to a common factor.
    scale : callable or None, default=None
        Function of an array of measured values that returns a factor on the half-width for each value, for errors that
        depend on the measured value. None means that the half-width is the same everywhere.

    Examples
    --------
    A sensor that never reads too low, with an error that is small half of the time:

    >>> from softwood import Kernel
    >>> kernel = Kernel(edges=[-1.0, -0.2, 0.0], densities=[0.5, 2.0])
    >>> kernel.cdf
    array([0. , 0.5, 1. ])
    """

    edges: Any
    densities: Any
    scale: Callable[[np.ndarray], np.ndarray] | None = None

    def __post_init__(self) -> None:
        edges, densities = _numbers(self.edges), _numbers(self.densities)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.diff(edges) if edges.ndim == 1 else np.empty(0)
        if len(lengths) == 0 or not np.all(np.isfinite(lengths)) or np.any(lengths <= 0):
            raise parameter_error(
                "Kernel", "edges", "at least two finite numbers, each above the one before", self.edges
            )
        if densities.shape != lengths.shape or not np.all(np.isfinite(densities)) or np.any(densities < 0):
            expected = f"finite numbers of at least 0, one for each of the {len(lengths)} pieces between edges"
            raise parameter_error("Kernel", "densities", expected, self.densities)
        if densities[0] == 0 or densities[-1] == 0:
            expected = "above 0 in the first and the last piece (drop empty pieces there)"
            raise parameter_error("Kernel", "densities", expected, self.densities)
        if self.scale is not None and not callable(self.scale):
            raise parameter_error("Kernel", "scale", "a function of an array of readings, or None", self.scale)
        with np.errstate(over="ignore", divide="ignore"):
            total = (densities * lengths).sum()
            densities = densities / total
        if not np.isclose((densities * lengths).sum(), 1.0):
            expected = "such that the integral, to be brought to 1, is neither too large nor too small for floats"
            raise parameter_error("Kernel", "densities", expected, f"densities with an integral of {total:g}")
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "densities", densities)

    @cached_property
    def cdf(self) -> np.ndarray:
        """Distribution values at the edges, (n_pieces + 1,), from 0 to 1."""
        values = np.concatenate([[0.0], np.cumsum(self.densities * np.diff(self.edges))])
        return values / values[-1]

    @property
    def standard_deviation(self) -> float:
        """Standard deviation in units of the half-width."""
        e, d = self.edges, self.densities
        mean = float((d * (e[1:] ** 2 - e[:-1] ** 2)).sum() / 2)
        return sqrt(float((d * (e[1:] ** 3 - e[:-1] ** 3)).sum() / 3) - mean**2)


def _numbers(given: Any) -> np.ndarray:
    """The given values as an array; nan if they are not numbers."""
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array(np.nan)


@cache
def box() -> Kernel:
    """Constant density from -1 to 1."""
    return Kernel([-1.0, 1.0], [0.5])


def triangle(n_pieces: int = 7) -> Kernel:
    """A stepwise triangle with the standard deviation of the box."""
    middle = np.linspace(-1, 1, 2 * n_pieces + 1)[1::2]
    return _as_wide_as_box(np.linspace(-1, 1, n_pieces + 1), 1 - np.abs(middle))


def gaussian(n_pieces: int = 9, reach: float = 2.5) -> Kernel:
    """A stepwise Gaussian, cut off at `reach` standard deviations, with the standard deviation of the box."""
    edges = np.linspace(-reach, reach, n_pieces + 1)
    mass = np.diff([0.5 * (1 + erf(e / sqrt(2))) for e in edges])
    return _as_wide_as_box(edges, mass / np.diff(edges))


def _as_wide_as_box(edges: np.ndarray, densities: np.ndarray) -> Kernel:
    factor = box().standard_deviation / Kernel(edges, densities).standard_deviation
    return Kernel(edges * factor, densities)


NAMED: dict[str, Callable[[], Kernel]] = {"box": box, "gaussian": gaussian, "triangle": triangle}


def resolve_kernels(
    owner: object, name: str, spec: Any, columns: Columns
) -> tuple[list[Kernel], np.ndarray, KernelShapes]:
    """Kernel of each column of the matrix, the number of its shape, and the table of shapes (the box is number 0).

    Parameters
    ----------
    spec : name, `Kernel`, or a dict from columns of the table (names or numbers) to these; other columns get the box
    """
    n_inputs = len(columns.categories)
    per_input: list[Kernel] = [box()] * n_inputs
    if isinstance(spec, Mapping):
        for column, kernel in spec.items():
            per_input[columns.find(owner, name, column)] = _kernel(owner, name, kernel)
    else:
        per_input = [_kernel(owner, name, spec)] * n_inputs
    kernels = [box() if columns.categories[j] is not None else per_input[j] for j in columns.source]
    shapes = [(box().edges, box().cdf)]
    numbers = {}
    for kernel in {id(kernel): kernel for kernel in kernels}.values():  # most columns share one
        shape = (kernel.edges, kernel.cdf)
        same = [k for k, s in enumerate(shapes) if np.array_equal(s[0], shape[0]) and np.array_equal(s[1], shape[1])]
        if not same:
            shapes.append(shape)
        numbers[id(kernel)] = same[0] if same else len(shapes) - 1
    return kernels, np.array([numbers[id(kernel)] for kernel in kernels], dtype=np.int64), KernelShapes.of(shapes)


def _kernel(owner: object, name: str, spec: Any) -> Kernel:
    if isinstance(spec, Kernel):
        return spec
    if isinstance(spec, str) and spec in NAMED:
        return NAMED[spec]()
    special = "'same', None, " if name == "prediction_kernel" else ""
    choices = special + ", ".join(repr(known) for known in NAMED)
    raise parameter_error(owner, name, f"one of {choices}, a Kernel, or a dict of these by column", spec)
