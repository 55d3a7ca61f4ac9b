"""Known measurement error: half-widths of kernels by column, by reading, and by cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from softwood.core.columns import Columns
from softwood.core.parameters import parameter_error
from softwood.core.tables import is_frame
from softwood.kernel.data.kernels import Kernel

# By column of the matrix: one number, or one for each row.
Errors = dict[int, float | np.ndarray]
Function = Callable[[np.ndarray], Any]

_NAME = "measurement_error"


def read_errors(
    owner: object, spec: Any, columns: Columns, X: np.ndarray, rows: np.ndarray | None = None, n_rows: int | None = None
) -> Errors:
    """Check the measurement errors given by the user, and collect them by column.

    Parameters
    ----------
    spec : None; a dict from columns to numbers, arrays (n_rows,) or functions of the readings; an array
        (n_features_in,), or (n_rows, n_features_in) with one error for each cell; a frame or a pandas Series, whose
        names are those of the columns if the table has names
    X : (n, p) the readings, encoded
    rows, n_rows : (n,) numbers of these rows in the user's table, and its number of rows, if rows were left out
    """
    if spec is None:
        return {}
    n_inputs = len(columns.categories)
    may_have_zeros = not isinstance(spec, Mapping)  # for categories
    spec = _by_name(spec, columns)
    if isinstance(spec, Mapping):
        items = {columns.find(owner, _NAME, column): error for column, error in spec.items()}
    else:
        array = _numbers(spec)
        if array is None and isinstance(spec, list | tuple) and len(spec) == n_inputs:
            for name, error in zip(columns.inputs, spec, strict=True):
                if _numbers(error) is None:
                    raise parameter_error(owner, _NAME, f"a number for column {name!r}", error)
        if array is None or array.ndim not in (1, 2) or array.shape[-1] != n_inputs:
            raise parameter_error(
                owner,
                _NAME,
                f"a dict by column, or an array of shape ({n_inputs},) or (n_rows, {n_inputs}) of numbers",
                spec if array is None or array.ndim == 0 else f"an array of shape {array.shape}",
            )
        items = {j: array[..., j] for j in range(n_inputs)}
    out: Errors = {}
    for j, error in items.items():
        name = columns.inputs[j]
        if columns.categories[j] is not None:
            if not may_have_zeros or np.any(np.asarray(error) != 0):
                raise parameter_error(owner, _NAME, "given for columns of numbers", name)
            continue
        where = int(np.flatnonzero(columns.source == j)[0])  # of a date, the days
        out[where] = _one_column(owner, name, error, X[:, where], rows, n_rows)
    return out


def take_errors(errors: Errors, rows: np.ndarray) -> Errors:
    """The errors of some rows."""
    return {j: error[rows] if isinstance(error, np.ndarray) else error for j, error in errors.items()}


def are_by_column(spec: Any) -> bool:
    """Whether measurement errors do not depend on the row: one number, or one function of the values, per column."""
    if isinstance(spec, Mapping):
        return all(callable(error) or np.ndim(error) == 0 for error in spec.values())
    return spec is None or np.ndim(spec) < 2


def error_functions(owner: object, spec: Any, columns: Columns) -> dict[int, Function | None]:
    """By column of the matrix, for the columns that the user's measurement errors name: the function, if it is one."""
    spec = _by_name(spec, columns)
    if not isinstance(spec, Mapping):
        return {} if spec is None else dict.fromkeys(range(len(columns.source)))
    items = {columns.find(owner, _NAME, column): error for column, error in spec.items()}
    named = [k for k, j in enumerate(columns.source) if j in items and not columns.is_step[k]]
    return {k: items[columns.source[k]] if callable(items[columns.source[k]]) else None for k in named}


def _by_name(spec: Any, columns: Columns) -> Any:
    """A frame or a pandas Series as a dict by column, if the table has names: the columns may be in another order."""
    if columns.keys is None and columns.inputs == tuple(f"x[{j}]" for j in range(len(columns.inputs))):
        return spec
    if is_frame(spec):
        return {name: np.asarray(spec[name]) for name in spec.columns}
    return dict(spec.items()) if hasattr(spec, "items") and hasattr(spec, "index") else spec


def _one_column(
    owner: object, name: str, error: Any, x: np.ndarray, rows: np.ndarray | None, n_rows: int | None
) -> float | np.ndarray:
    is_known = ~np.isnan(x)
    found = error(x[is_known]) if callable(error) else error
    values = _numbers(found)
    if callable(error):
        n, expected = (int(is_known.sum()), f"a function that returns a number for each reading of column {name!r}")
    else:
        n, expected = len(x), f"one number, or one for each row, for column {name!r}"
        if values is not None and values.ndim == 1 and rows is not None and len(values) == n_rows:
            values = values[rows]
    if values is None or values.shape not in ((), (n,)):
        raise parameter_error(owner, _NAME, expected, found if values is None else f"an array of shape {values.shape}")
    if callable(error):
        readings, values = values, np.zeros(len(x))
        values[is_known] = readings
    checked = values[is_known] if values.ndim else values
    is_bad = ~(np.isfinite(checked) & (checked >= 0))
    if np.any(is_bad):
        found = float(checked[is_bad][0])
        raise parameter_error(owner, _NAME, f"finite and at least 0 for column {name!r}", found)
    return np.where(is_known, values, 0.0) if values.ndim else float(values)


def _numbers(given: Any) -> np.ndarray | None:
    """The given values as an array; None if they are not numbers."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def combine_widths(
    widths: np.ndarray, kernels: list[Kernel], errors: Errors, X: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Combine bandwidth and measurement error as independent errors: the root of the sum of their squares.

    Returns
    -------
    widths : (p,) half-width of each column, with the errors that are the same for all rows
    cells : (n, p) half-widths of single cells, nan in columns where all rows have the same; None if all columns do
    """
    combined = np.array(widths, dtype=np.float64)
    for j, error in errors.items():
        if np.ndim(error) == 0:
            combined[j] = np.hypot(combined[j], error)
    cells = None
    for j, kernel in enumerate(kernels):
        error = errors.get(j, 0.0)
        if kernel.scale is None and (j not in errors or np.ndim(error) == 0):
            continue
        if cells is None:
            cells = np.full(X.shape, np.nan)
        cells[:, j] = np.hypot(widths[j] if kernel.scale is None else widths[j] * _factors(kernel, X[:, j]), error)
    return combined, cells


def width_slopes(
    widths: np.ndarray, kernels: list[Kernel], functions: dict[int, Function | None], X: np.ndarray, cells: np.ndarray
) -> np.ndarray | None:
    """Derivatives of the half-widths of single cells with respect to their values; None if they are all 0.

    The half-width is the root of ``(width * scale(x))**2 + error(x)**2``, where any of the two functions may be there.
    Their derivatives are central differences.

    Parameters
    ----------
    widths, kernels : (p,) half-width before scales and errors, and kernel of each column
    functions : measurement errors that are functions of the values, by column
    X, cells : (n, p) values, and their half-widths by `combine_widths`
    """
    out = np.zeros(X.shape)
    for j, kernel in enumerate(kernels):
        for factor, function in ((widths[j], kernel.scale), (1.0, functions.get(j))):
            if function is not None:
                soft = cells[:, j] > 0  # not missing either
                h = cells[soft, j]
                value, slope = _value_and_slope(function, X[soft, j], h)
                out[soft, j] += factor * value / h * factor * slope
    return out if out.any() else None


def _value_and_slope(function: Function, x: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values of a user's function, and its derivative by central differences, one-sided at the end of its domain."""
    step = np.cbrt(np.finfo(float).eps) * np.maximum(np.abs(x), size)
    with np.errstate(all="ignore"):
        value, above, below = (
            np.broadcast_to(np.asarray(function(at), dtype=np.float64), x.shape) for at in (x, x + step, x - step)
        )
    ends = [np.isfinite(end) & (end >= 0) for end in (above, below)]
    distance = ((x + step) - x) * ends[0] + (x - (x - step)) * ends[1]
    rise = np.where(ends[0], above, value) - np.where(ends[1], below, value)
    return value, np.divide(rise, distance, out=np.zeros(x.shape), where=distance > 0)


def _factors(kernel: Kernel, x: np.ndarray) -> np.ndarray:
    assert kernel.scale is not None
    out = np.ones(len(x))
    is_known = ~np.isnan(x)
    factors = np.asarray(kernel.scale(x[is_known]), dtype=np.float64)
    if factors.shape != (is_known.sum(),) or not np.all(np.isfinite(factors)) or np.any(factors < 0):
        raise ValueError("scale of a Kernel must return a finite factor of at least 0 for each reading.")
    out[is_known] = factors
    return out
