"""`report`: a page about a fitted model that recomputes in the browser."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from softwood.core.columns import Columns
from softwood.core.parameters import parameter_error
from softwood.explanations.one_tree import read_targets
from softwood.files.atomic import replacing
from softwood.fitted import FittedModel
from softwood.reporting.columns import column_facts, row_cells
from softwood.reporting.evaluation import evaluate_classes, evaluate_targets
from softwood.reporting.model import packed_model, thinned
from softwood.reporting.page import page
from softwood.reporting.timeline import check_history, timeline
from softwood.reporting.uncertainty import packed_uncertainty
from softwood.stream.adapting import Adaptation

# Characters of the arrays of a model and of its rows; a larger model is thinned out.
LARGEST_MODEL = 20_000_000
MOST_ROWS = 2000
MOST_SNAPSHOTS = 50


@dataclass(frozen=True, eq=False)
class Report:
    """A page about a model; a notebook shows it.

    Attributes
    ----------
    html : the page
    """

    html: str

    def save(self, path: str | os.PathLike) -> None:
        """Write the page to a file, which appears when it is complete."""
        with replacing(path) as file:
            file.write(self.html.encode("utf-8"))

    def _repr_html_(self) -> str:
        text = html.escape(self.html, quote=True)
        return (
            '<iframe sandbox="allow-scripts" title="Report of a model" srcdoc="' + text + '" '
            'style="width: 100%; height: 900px; border: 1px solid #ccc; border-radius: 6px"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Report of {len(self.html):,} characters>"


def report(
    model: Any, path: str | os.PathLike | None = None, X: Any = None, y: Any = None, rows: Any = None,
    history: Any = None,
) -> Report:  # fmt: skip
    """A page about a fitted model: sliders for its columns, and predictions and explanations that follow them.

    The page is a single HTML file without any address in it, and works without a network. It computes the prediction,
    the shares of the row in the nodes, Shapley values, gradient and certificate in the browser, and intervals or sets
    of classes if the model has errors on held-out rows. It contains no row of
    `X` unless `rows` asks for it: only ranges, quantiles and sums.

    Parameters
    ----------
    model : fitted estimator, SoftTree, SoftForest or model for river
        The model to describe.
    path : str, path-like or None, default=None
        File to write. None writes no file.
    X : array-like or data frame of shape (n_rows, n_features_in), or None, default=None
        Rows for the ranges of the sliders. Without them, the ranges follow from the gates.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), or None, default=None
        Labels or targets of `X`, for scores, confusion matrix and calibration.
    rows : int, list of int, array-like, data frame or None, default=None
        Rows to choose from in the page, at most 2000: the first of `X`, those with these numbers, or a table of rows.
    history : Adaptation, PrequentialResult or None, default=None
        What `adaptation` or `prequential` returned for a stream model, for the time line of the page. The snapshots of
        `adaptation` can be looked at one by one.

    Returns
    -------
    Report
        The page, which notebooks show.

    Notes
    -----
    A model whose arrays take more than 20 MB is thinned out: the page holds its first trees or its heaviest nodes, and
    says so.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier, report
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.2, max_depth=3).fit(iris.data, iris.target_names[iris.target])
    >>> page = report(model, X=iris.data, y=iris.target_names[iris.target])
    >>> "petal width (cm)" in page.html
    True
    """
    check_history(history)
    if y is not None and X is None:
        raise ValueError("The 'y' parameter of report needs the rows that the targets belong to: give X too.")
    whole = FittedModel.of(model, "report")
    reader = whole.one_hot()
    known = reader.portable()  # with a slider for each part of a date
    matrix = None if X is None else reader.encode(X)
    evaluation = None if y is None else _evaluation(whole, X, y)
    chosen = _rows(reader, X, y, rows, matrix)
    importances = _importances(replace(whole, columns=whole.columns.with_parts_of_dates()))
    log = None if whole.growth is None else list(whole.growth.log)
    packed, known, notes = _packed(known)
    if whole.differs:
        reason = whole.differs.partition(". ")[0]
        words = "This page computes with the trees alone, so its predictions differ from the model's."
        notes = [f"{reason}. {words}", *notes]
    data = {
        "model": packed,
        "columns": column_facts(known, matrix, importances),
        "importances": None if importances is None else [float(x) for x in importances],
        "evaluation": evaluation,
        "rows": chosen,
        "nRows": None if matrix is None else len(matrix),
        "stream": None if log is None else timeline(log, known.columns.names, history),
        "snapshots": _snapshots(known, history),
        "uncertainty": None if notes else packed_uncertainty(model, whole, known),
        "notes": notes,
    }
    out = Report(page(f"{known.kind}: report", data))
    if path is not None:
        out.save(path)
    return out


def _packed(known: FittedModel) -> tuple[dict[str, Any], FittedModel, list[str]]:
    """The arrays of the model, thinned out if they are too large, the model that they describe, and a note."""
    packed, words = packed_model(known), ""
    whole, n_nodes = known, known.trees.n_nodes
    while (size := _size(packed)) > LARGEST_MODEL and n_nodes > 3:
        n_nodes = min(n_nodes - 1, int(0.98 * n_nodes * LARGEST_MODEL / size))
        known, words = thinned(whole, n_nodes)
        packed = packed_model(known)
    if not words:
        return packed, known, []
    return packed, known, [f"The model is too large for a page. {words}, so its predictions differ from the model's."]


def _size(packed: dict[str, Any]) -> int:
    """Characters of the arrays of a packed model."""
    arrays = [part for part in packed.values() if isinstance(part, dict)]
    arrays += [part for whole in arrays for part in whole.values() if isinstance(part, dict)]
    return sum(len(array.get("bytes", "")) for array in arrays)


def _evaluation(known: FittedModel, X: Any, y: Any) -> dict[str, Any]:
    """Scores of the model itself, also if the page cannot reproduce its predictions."""
    predicted = known.predict(X)
    truth = read_targets(known, y, len(predicted))
    if known.classes is None:
        return evaluate_targets(predicted, truth)
    return evaluate_classes(predicted, truth.argmax(axis=1))


def _rows(known: FittedModel, X: Any, y: Any, rows: Any, matrix: np.ndarray | None) -> dict[str, Any] | None:
    """Rows to choose from: their names, cells by column, and targets if known."""
    if rows is None:
        return None
    expected = "a number of rows of X, numbers of rows of X, or a table of rows"
    is_count = isinstance(rows, Integral) and not isinstance(rows, bool)
    if not is_count and np.ndim(rows) == 0:
        raise parameter_error("report", "rows", expected, rows)
    if not is_count and np.ndim(rows) == 2:
        chosen = known.encode(rows)
        numbers, targets = np.arange(len(chosen)), None
    else:
        if matrix is None:
            raise ValueError("The 'rows' parameter of report needs X, which the numbers of rows refer to.")
        given = np.arange(min(int(rows), len(matrix))) if is_count else np.asarray(rows)
        if given.ndim != 1 or given.dtype.kind not in "iu" or np.any((given < 0) | (given >= len(matrix))):
            raise parameter_error("report", "rows", f"{expected}, from 0 to {len(matrix) - 1}", rows)
        numbers, chosen = given, matrix[given]
        targets = None if y is None else [str(label) for label in np.asarray(y)[given].tolist()]
    if len(chosen) > MOST_ROWS:
        raise parameter_error("report", "rows", f"at most {MOST_ROWS} rows", f"{len(chosen)} rows")
    return {"numbers": numbers.tolist(), "cells": row_cells(known.portable(), chosen), "targets": targets}


def _importances(known: FittedModel) -> np.ndarray | None:
    """Importance of each column of the table; None if the trees know no impurities."""
    found = known.importances
    return found if np.all(np.isfinite(found)) and found.sum() > 0 else None


def _snapshots(known: FittedModel, history: Any) -> list[dict[str, Any]]:
    """Earlier trees of a stream model; the page replaces the trees of the model by one of them."""
    if not isinstance(history, Adaptation):
        return []
    out = []
    for n_rows, tree in sorted(history.snapshots.items())[:MOST_SNAPSHOTS]:
        earlier = replace(known, trees=tree, columns=_first_columns(known.columns, tree.n_features), fill=tree.center)
        out.append({"rows": int(n_rows), "model": packed_model(earlier)})
    return out


def _first_columns(columns: Columns, n: int) -> Columns:
    """The encoding when a growing table had `n` encoded columns: those that came later are the last."""
    source = columns.source[:n]
    counts = np.bincount(source, minlength=len(columns.inputs))
    categories = tuple(None if own is None else own[: counts[j]] for j, own in enumerate(columns.categories))
    return replace(columns, names=columns.names[:n], source=source, categories=categories)
