"""One row explained: prediction, leaves, Shapley values, gradient and certificate together."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np

from softwood.core.parameters import check_count, check_integer
from softwood.core.tables import is_missing_value
from softwood.explanations.certificates import Certificates, certified_radius
from softwood.explanations.one_row import as_table
from softwood.explanations.rules import leaf_rules
from softwood.explanations.shapley import ShapleyValues, shapley_values
from softwood.export.portable import PortableModel
from softwood.outputs import Outputs
from softwood.plots.tree import DrawnTree, read_drawn
from softwood.trees.forest import SoftForest

__all__ = ["Explanation", "LeafShare", "explain"]

_CALLER = "explain"
_PLUS, _MINUS = "rgba(0,114,178,.6)", "rgba(213,94,0,.6)"  # readable on light and on dark pages
_BAR = 60  # pixels of the longest bar
_LINE = 110  # longest line of text


def explain(
    model: Any,
    row: Any,
    *,
    output: int | None = None,
    tree: int | None = None,
    n_leaves: int = 3,
    n_columns: int = 10,
    random_state: Any = 0,
) -> Explanation:
    """Explain the prediction for one row.

    The result prints as text, and as a table in notebooks. It contains the prediction; the leaves that hold the
    largest shares of the row, with their rules in words; and for each column its Shapley value, the derivative of the
    prediction, and how far the reading can be off before the class may change.

    Parameters
    ----------
    model : fitted estimator, `SoftTree` or `SoftForest`
    row : dict, Series, array (n_features_in,) or table with one row
    output : int, default=None
        Number of the class or target to explain. None explains the predicted class, or the first target.
    tree : int, default=None
        Number of the tree whose leaves are shown. None chooses: in a forest, the tree whose prediction is closest to
        that of the forest; in boosting, the tree with the largest part in the score.
    n_leaves : int, default=3
        Number of leaves to show.
    n_columns : int, default=10
        Number of columns to show, those with the largest Shapley values.
    random_state : int, RandomState instance or None, default=0
        For Shapley values that are sampled, see `shapley_values`.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier, explain
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.2, max_leaf_nodes=4).fit(iris.data, iris.target_names[iris.target])
    >>> print(explain(model, iris.data.iloc[70]))
    KernelTreeClassifier predicts virginica with probability 0.93; versicolor 0.07
    <BLANKLINE>
    leaves with the largest shares of the row
      99 %  virginica 0.95    petal length (cm) > 2.45 ± 0.352; petal width (cm) > 1.65 ± 0.152
       1 %  versicolor 0.96   2.45 < petal length (cm) ≤ 5.25 ± 0.352; petal width (cm) ≤ 1.65 ± 0.152
    <BLANKLINE>
    column             value  Shapley value  gradient  may be off by
    petal width (cm)     1.8         +0.372     +2.98          0.146
    petal length (cm)    4.8         +0.228         0           2.34
    sepal length (cm)    5.9              0         0       anything
    sepal width (cm)     3.2              0         0       anything
    <BLANKLINE>
    Shapley values add up from 0.3333, with no column known, to the probability of virginica, 0.9341
    the class is certain for errors of all readings of less than 0.959 bandwidths in sum
    """
    drawn = read_drawn(model, _CALLER)
    model = getattr(model, "best_model_", model)
    check_count(_CALLER, "n_leaves", n_leaves)
    check_count(_CALLER, "n_columns", n_columns)
    check_integer(_CALLER, "tree", tree, low=0, high=drawn.n_trees - 1, or_none=True)
    X = as_table(_CALLER, row, drawn.columns.inputs, drawn.has_names, drawn.columns.keys)
    certificates = certified_radius(model, X)
    prediction = certificates.predictions[0]
    check_integer(_CALLER, "output", output, low=0, high=len(prediction) - 1, or_none=True)
    is_class = len(prediction) > 1 and (drawn.is_class or drawn.named.is_class)
    chosen = output if output is not None else int(prediction.argmax()) if is_class else 0
    shapley, reason = _shapley(model, drawn, X, random_state)
    number = _tree_to_show(drawn, model, X, prediction, chosen) if tree is None else tree
    return Explanation(
        kind=type(model).__name__,
        columns=drawn.columns.inputs,
        cells=tuple(_cells(X)),
        outputs=drawn.outputs,
        prediction=prediction,
        is_class=is_class,
        output=chosen,
        tree=number,
        n_trees=drawn.n_trees,
        leaves=_leaves(drawn.of_tree(number), X, n_leaves, chosen),
        shapley=shapley,
        shapley_reason=reason,
        gradient=_gradient(model, drawn, X),
        certificates=certificates,
        n_columns=n_columns,
        _named=drawn.named,
    )


@dataclass(frozen=True)
class LeafShare:
    """A leaf that holds a share of the row.

    Attributes
    ----------
    leaf : number of the node;  share : of the row, from 0 to 1
    value : (n_outputs,) prediction of the leaf;  rules : what holds for its rows, in words
    text : its prediction in words
    """

    leaf: int
    share: float
    value: np.ndarray
    rules: tuple[str, ...]
    text: str


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The prediction for one row, explained; `explain` makes it.

    Attributes
    ----------
    kind : name of the class of the model
    columns, cells : names of the columns, and the row's values
    outputs, prediction : names of the classes or targets, and (n_outputs,) probabilities or predicted targets
    is_class : whether the outputs are classes
    output : number of the explained output
    tree, n_trees : number of the tree whose leaves are listed, and number of trees
    leaves : leaves with the largest shares of the row, as `LeafShare`
    shapley : `ShapleyValues` of the row, or None, with the reason in `shapley_reason`
    gradient : (n_outputs, n_columns) derivative of the prediction; None if there is none
    certificates : `Certificates` of the row
    n_columns : number of columns to show
    """

    kind: str
    columns: tuple[str, ...]
    cells: tuple[Any, ...]
    outputs: tuple[str, ...]
    prediction: np.ndarray
    is_class: bool
    output: int
    tree: int
    n_trees: int
    leaves: tuple[LeafShare, ...]
    shapley: ShapleyValues | None
    shapley_reason: str
    gradient: np.ndarray | None
    certificates: Certificates
    n_columns: int
    _named: Outputs

    @property
    def contributions(self) -> np.ndarray:
        """Shapley values of the explained output, (n_columns,); nan if there are none.

        If two classes have a single raw score, that of the second, those of the first are the negatives.
        """
        if self.shapley is None:
            return np.full(len(self.columns), np.nan)
        return self.of_output(self.shapley.values[0])

    @property
    def slopes(self) -> np.ndarray:
        """Derivative of the explained output with respect to each column, (n_columns,); nan if there is none."""
        if self.gradient is None:
            return np.full(len(self.columns), np.nan)
        return self.of_output(self.gradient.T)

    def of_output(self, scores: np.ndarray, output: int | None = None) -> np.ndarray:
        """Shapley values or other numbers (..., n_scores) of an output, the explained one if None, with its sign."""
        return self._named.of_output(scores, self.output if output is None else output)

    def __str__(self) -> str:
        lines = [self._headline(), "", self._leaves_title()]
        wide = max(len(leaf.text) for leaf in self.leaves)
        for leaf in self.leaves:
            start = f"{_percent(leaf.share):>6}  {leaf.text:<{wide}}   "
            rules = "; ".join(leaf.rules) or "all rows"
            lines += wrap(rules, _LINE, initial_indent=start, subsequent_indent=" " * len(start))
        header, rows, rest = self._table()
        lines.append("")
        table = [header, *rows.values()]
        widths = [max(len(line[k]) for line in table) for k in range(len(header))]
        for first, *others in table:
            numbers = (f"{cell:>{wide}}" for cell, wide in zip(others, widths[1:], strict=True))
            lines.append(f"{first:<{widths[0]}}  {'  '.join(numbers)}".rstrip())
        lines += [rest] if rest else []
        return "\n".join([*lines, "", *self._notes()])

    def __repr__(self) -> str:
        return f"<Explanation: {self._headline()}>"

    def _repr_html_(self) -> str:
        place = "text-align:left;padding:2px 10px 2px 0;vertical-align:top"
        cell, short = f'style="{place}"', f'style="{place};white-space:nowrap"'
        leaves = "".join(
            f"<tr><td {short}>{_percent(leaf.share)}</td><td {short}>{escape(leaf.text)}</td>"
            f"<td {cell}>{'<br>'.join(map(escape, leaf.rules)) or 'all rows'}</td></tr>"
            for leaf in self.leaves
        )
        header, rows, rest = self._table()
        largest = float(np.nanmax(np.abs(self.contributions), initial=0.0))
        head = "".join(f"<th {cell}>{escape(name)}</th>" for name in header)
        body = ""
        for j, line in rows.items():
            part = float(self.contributions[j])
            cells = [f"<td {cell}>{escape(text)}</td>" for text in line]
            if self.shapley is not None:
                cells[2] = f"<td {cell}>{_bar(part, largest)}{escape(line[2])}</td>"
            body += f"<tr>{''.join(cells)}</tr>"
        notes = "<br>".join(escape(note) for note in self._notes())
        style = "color:inherit;font-size:inherit;background:transparent;border-collapse:collapse;margin:4px 0 10px 0"
        return (
            f'<div style="color:inherit"><p style="margin:0 0 6px 0"><b>{escape(self._headline())}</b></p>'
            f'<div>{escape(self._leaves_title())}</div><table style="{style}">{leaves}</table>'
            f'<table style="{style}"><tr>{head}</tr>{body}</table>'
            f'<div style="opacity:.75">{escape(rest)}{"<br>" if rest else ""}{notes}</div></div>'
        )

    # Words

    def _headline(self) -> str:
        if not self.is_class:
            named = [
                f"{name} {_number(value)}".strip() for name, value in zip(self.outputs, self.prediction, strict=True)
            ]
            return f"{self.kind} predicts {', '.join(named)}"
        order = np.argsort(-self.prediction, kind="stable")
        others = [f"{self.outputs[k]} {self.prediction[k]:.2f}" for k in order[1:4] if self.prediction[k] >= 0.005]
        best = int(order[0])
        text = f"{self.kind} predicts {self.outputs[best]} with probability {self.prediction[best]:.2f}"
        return f"{text}; {', '.join(others)}" if others else text

    def _leaves_title(self) -> str:
        of = f" in tree {self.tree} of {self.n_trees}" if self.n_trees > 1 else ""
        return f"leaves with the largest shares of the row{of}"

    def _table(self) -> tuple[list[str], dict[int, list[str]], str]:
        """Header, rows by number of the column, and words for the columns that are not shown."""
        has_reach = bool(np.any(~np.isnan(self.certificates.reach)))
        header = ["column", "value"]
        header += ["Shapley value"] if self.shapley is not None else []
        header += ["± error"] if self.shapley is not None and self.shapley.standard_errors is not None else []
        header += ["gradient"] if self.gradient is not None else []
        header += ["may be off by"] if has_reach else []
        sizes = np.abs(self.contributions if self.shapley is not None else self.slopes)
        order = np.argsort(-np.nan_to_num(sizes), kind="stable")
        shown = order if len(order) <= self.n_columns + 1 else order[: self.n_columns]
        rows = {int(j): self._line(int(j), has_reach) for j in shown}
        n_more = len(order) - len(shown)
        if not n_more:
            return header, rows, ""
        total = float(np.nan_to_num(self.contributions[order[len(shown) :]]).sum())
        return (
            header,
            rows,
            f"{n_more} more columns" + (f", {_signed(total)} together" if self.shapley is not None else ""),
        )

    def _line(self, j: int, has_reach: bool) -> list[str]:
        line = [self.columns[j], _cell(self.cells[j])]
        if self.shapley is not None:
            line.append(_signed(self.contributions[j]))
            if self.shapley.standard_errors is not None:
                line.append(f"{abs(self.of_output(self.shapley.standard_errors[0, j])):.2g}")
        if self.gradient is not None:
            line.append(_signed(self.slopes[j]))
        if has_reach:
            reach = float(self.certificates.reach[0, j])
            line.append("—" if np.isnan(reach) else "anything" if reach == np.inf else f"{reach:.3g}")
        return line

    def _notes(self) -> list[str]:
        """What the numbers mean."""
        notes = []
        named, name = self._named, self.outputs[self.output]
        prediction = f"the {'probability' if self.is_class else 'prediction'}{f' of {name}' if name else ''}"
        score = f"the raw score{f' of {name}' if name else ''} ({named.scale})"
        if self.shapley is not None:
            start, end = (float(self.of_output(s)) for s in (self.shapley.base_values, self.shapley.prediction[0]))
            stop = f"{score if named.is_raw else prediction}, {_number(end)}"
            if named.is_raw:
                stop += f"; {prediction} is {_number(self.prediction[self.output])}"
            notes.append(f"Shapley values add up from {_number(start)}, with no column known, to {stop}")
        elif self.shapley_reason:
            notes.append(f"no Shapley values: {self.shapley_reason}")
        if self.gradient is not None and named.is_raw:
            notes.append(f"the gradient is that of {prediction}")
        radius = float(self.certificates.radius[0])
        if not np.isnan(radius):
            most = "any size" if radius == np.inf else f"less than {radius:.3g} bandwidths in sum"
            notes.append(f"the class is certain for errors of all readings of {most}")
        elif self.is_class:
            notes.append(f"no radius in bandwidths: {self.certificates.reason}")
        return notes


def _cells(X: Any) -> list[Any]:
    """The values of the only row of a table."""
    if hasattr(X, "iloc"):
        return [X.iloc[0, j] for j in range(X.shape[1])]
    if hasattr(X, "row"):  # polars
        return list(X.row(0))
    return list(np.asarray(X)[0])


def _shapley(model: Any, drawn: DrawnTree, X: Any, random_state: Any) -> tuple[ShapleyValues | None, str]:
    """Shapley values of the row, or None and the reason."""
    if drawn.model is not None and not hasattr(model, "columns_"):
        return None, f"{type(model).__name__} is a model for river"
    try:
        return shapley_values(model, X, random_state=random_state), ""
    except ValueError as error:  # predictions that are not those of the trees
        return None, str(error)


def _tree_to_show(drawn: DrawnTree, model: Any, X: Any, prediction: np.ndarray, output: int) -> int:
    """In a mean, the tree whose prediction is closest to that of all; in a sum, the one with the largest part."""
    forest = drawn.trees
    if not isinstance(forest, SoftForest):
        return 0
    points, widths = (np.asarray(X, dtype=np.float64), None) if drawn.model is None else model._read_points(X)
    each = [tree.predict(points, widths=widths)[0] for tree in forest]
    if forest.is_mean:
        return int(np.argmin([np.abs(values - np.mean(each, axis=0)).sum() for values in each]))
    own = [k for k, first in enumerate(forest.output) if forest.n_outputs == 1 or first == output]
    return max(own, key=lambda k: abs(float(each[k][0]))) if own else 0


def _leaves(drawn: DrawnTree, X: Any, n: int, output: int) -> tuple[LeafShare, ...]:
    tree = drawn.tree
    shares = np.where(tree.children_left < 0, drawn.shares(X), 0.0)
    found = []
    for leaf in np.argsort(-shares, kind="stable")[:n]:
        if shares[leaf] > 0:
            value = tree.node_predictions[leaf]
            rules = tuple(leaf_rules(tree, int(leaf), drawn.columns))
            found.append(LeafShare(int(leaf), float(shares[leaf]), value, rules, _leaf_text(drawn, value, output)))
    return tuple(found)


def _leaf_text(drawn: DrawnTree, value: np.ndarray, output: int) -> str:
    """The prediction of a leaf in words: its class, the score of the explained output, or targets."""
    best = int(value.argmax())
    if drawn.is_class:
        return f"{drawn.outputs[best]} {value[best]:.2f}"
    labels = drawn.named.node_labels(drawn.trees, drawn.number)
    if labels is None:
        return ", ".join(map(_number, value[:3]))
    if drawn.named.n_scores == len(drawn.outputs):
        return f"{labels[best]} {_signed(value[best])}"
    return f"score of {drawn.outputs[output]} {_signed(float(drawn.named.of_output(value, output)))}"


def _gradient(model: Any, drawn: DrawnTree, X: Any) -> np.ndarray | None:
    """Derivative of the prediction, (n_outputs, n_columns)."""
    if hasattr(model, "columns_"):
        return np.asarray(model.input_gradient(X)[0])
    if drawn.model is None:
        return drawn.trees.input_gradient(np.asarray(X, dtype=np.float64))[0]
    known = PortableModel.of(model, _CALLER)
    gradient = model._growth.input_gradient(known.encode(X))[0]
    gradient[:, known.columns.is_category] = 0.0
    return np.array([known.columns.add_up(line) for line in gradient])


def _bar(part: float, largest: float) -> str:
    """A bar to the right for a positive, to the left for a negative number, as HTML."""
    length = 0 if largest == 0 or np.isnan(part) else round(_BAR * abs(part) / largest)
    left, right = (0, length) if part >= 0 else (length, 0)
    block = "display:inline-block;height:.7em;width:{}px;background:{};margin-{}:{}px"
    return (
        f'<span style="{block.format(left, _MINUS, "left", _BAR - left)}"></span>'
        f'<span style="{block.format(right, _PLUS, "right", _BAR - right + 6)}"></span>'
    )


def _cell(value: Any) -> str:
    if is_missing_value(value):
        return "missing"
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return f"{float(value):.6g}" if is_number else str(value)


def _signed(value: float) -> str:
    return "0" if value == 0 else f"{value:+.3g}"


def _number(value: float) -> str:
    return f"{float(value):.4g}"


def _percent(share: float) -> str:
    return "< 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"
