"""The columns of a report: ranges and quantiles of sliders, categories, and rows to choose from."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.explanations.shapley_model import used_columns
from softwood.fitted import FittedModel
from softwood.trees.gates import Gate

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# Cell of a category that the model does not know.
UNKNOWN = -1


def column_facts(known: FittedModel, matrix: np.ndarray | None, importances: np.ndarray | None) -> list[dict]:
    """What the page knows of each column that a gate reads, the most important columns first.

    Parameters
    ----------
    matrix : (n_rows, n_features) encoded rows, or None
    importances : (n_inputs,) or None
    """
    places = _places(known)
    facts = []
    for j in used_columns(known).tolist():
        fact: dict[str, Any] = {"input": j, "features": places[j]}
        fact["importance"] = None if importances is None else float(importances[j])
        if known.columns.categories[j] is None:
            fact |= _range(known, places[j][0], None if matrix is None else matrix[:, places[j][0]])
        else:
            fact["start"] = 0 if matrix is None else _most_frequent(_categories(known, j, matrix[:, places[j]]))
        facts.append(fact)
    return facts if importances is None else sorted(facts, key=lambda fact: -fact["importance"])


def row_cells(known: FittedModel, matrix: np.ndarray) -> list[list]:
    """Cells of encoded rows, by column of the table: numbers, numbers of categories, and None where missing."""
    cells = []
    for j, own in enumerate(_places(known)):
        is_number = known.columns.categories[j] is None
        values = matrix[:, own[0]] if is_number else _categories(known, j, matrix[:, own])
        kind = float if is_number else int
        cells.append([None if np.isnan(x) else kind(x) for x in values.tolist()])
    return cells


def _categories(known: FittedModel, j: int, block: np.ndarray) -> np.ndarray:
    """Numbers of the categories of a column from its encoded columns, `UNKNOWN` or nan where missing, (n_rows,)."""
    categories = known.columns.categories[j]
    assert categories is not None
    if block.shape[1] == 0:  # of a table that grows, before its first category
        return np.full(len(block), UNKNOWN, dtype=np.float64)
    numbers = np.array([known.features[k][1] for k in _places(known)[j]], dtype=np.float64)
    # A single column stands for the second of two categories, and 0 there for the first.
    is_one_of_two = len(numbers) == 1 and len(categories) == 2 and not known.grows
    none = 0.0 if is_one_of_two else UNKNOWN
    found = np.where(np.nan_to_num(block).max(axis=1) > 0, numbers[np.nan_to_num(block).argmax(axis=1)], none)
    return np.where(np.isnan(block).any(axis=1), np.nan, found)


def _places(known: FittedModel) -> list[list[int]]:
    """The features of each column of the table."""
    places: list[list[int]] = [[] for _ in known.columns.inputs]
    for feature, j in enumerate(known.columns.source.tolist()):
        places[j].append(feature)
    return places


def _most_frequent(numbers: np.ndarray) -> int:
    """The most frequent category that the model knows, or the first one."""
    there = numbers[numbers >= 0]
    return int(np.bincount(there.astype(np.int64)).argmax()) if len(there) else 0


def _range(known: FittedModel, feature: int, values: np.ndarray | None) -> dict[str, Any]:
    """Ends of the slider, quantiles, whether all values are whole numbers, and where the slider starts."""
    there = np.empty(0) if values is None else values[~np.isnan(values)]
    if len(there):
        low, high = float(there.min()), float(there.max())
        marks = [float(q) for q in np.quantile(there, QUANTILES)]
        is_whole = bool(np.all(there == np.round(there)))
        start = float(np.median(there)) if not is_whole else float(np.round(np.median(there)))
    else:
        low, high = _range_of_gates(known, feature)
        marks, is_whole, start = [], False, 0.5 * (low + high)
    if not low < high:
        low, high = low - 1.0, high + 1.0
    return {"low": low, "high": high, "quantiles": marks, "isWhole": is_whole, "start": start}


def _range_of_gates(known: FittedModel, feature: int) -> tuple[float, float]:
    """A range that contains all thresholds with their kernels; without thresholds, three standard deviations."""
    trees = known.trees
    tests = (trees.feature == feature) & np.isin(trees.gate, (Gate.KERNEL, Gate.BLEND))
    if not tests.any():
        center = 0.0 if trees.center is None else float(trees.center[feature])
        reach = 3.0 * (1.0 if trees.scale is None else float(trees.scale[feature]))
        return center - reach, center + reach
    thresholds = trees.threshold[tests]
    width = float(np.where(trees.gate[tests] == Gate.KERNEL, trees.width[tests], 0.0).max())
    low, high = float(thresholds.min()), float(thresholds.max())
    reach = max(0.2 * (high - low), 2.0 * width) or max(1.0, abs(low))
    return low - reach, high + reach
