"""The explanation of one prediction, as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np

from softwood.core.tables import is_missing_value
from softwood.explanations.certificates import Certificates
from softwood.explanations.shapley import ShapleyValues
from softwood.outputs import Outputs

_PLUS, _MINUS = "rgba(0,114,178,.6)", "rgba(213,94,0,.6)"  # readable on light and on dark pages
_BAR = 60  # pixels of the longest bar
_LINE = 110  # longest line of text


@dataclass(frozen=True)
class LeafShare:
    """A leaf that holds a share of the row.

    Attributes
    ----------
    leaf : int
        Number of the node.
    share : float
        Share of the row, from 0 to 1.
    value : ndarray of shape (n_outputs,)
        Prediction of the leaf.
    rules : tuple of str
        What holds for the rows of the leaf, in words.
    text : str
        Prediction of the leaf in words.
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
    kind : str
        Name of the class of the model.
    columns : tuple of str
        Names of the columns.
    cells : tuple
        Values of the row.
    outputs : tuple of str
        Names of the classes or targets.
    prediction : ndarray of shape (n_outputs,)
        Class probabilities or predicted targets.
    is_class : bool
        Whether the outputs are classes.
    output : int
        Number of the explained output.
    tree : int
        Number of the tree whose leaves are listed.
    n_trees : int
        Number of trees.
    leaves : tuple of LeafShare
        The leaves with the largest shares of the row.
    shapley : ShapleyValues
        Shapley values of the row.
    gradient : ndarray of shape (n_outputs, n_columns)
        Derivative of the prediction.
    certificates : Certificates
        Certificates of the row.
    n_columns : int
        Number of columns to show.
    trend : ndarray of shape (n_scores,) or None
        Start value and linear trend of the row, which are added to the leaves. None if the model has no trend.
    coverage : float
        Probability that the interval or the set contains the truth.
    interval : ndarray of shape (n_targets, 2) or None
        Lower and upper end for each target. None for classes, and if the model has no errors on held-out rows.
    class_set : tuple of str or None
        Classes in the set of the row. None for targets, and if the model has no errors on held-out rows.
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
    shapley: ShapleyValues
    gradient: np.ndarray
    certificates: Certificates
    n_columns: int
    trend: np.ndarray | None
    coverage: float
    interval: np.ndarray | None
    class_set: tuple[str, ...] | None
    _named: Outputs

    @property
    def contributions(self) -> np.ndarray:
        """Shapley values of the explained output, (n_columns,).

        If two classes have a single raw score, that of the second, those of the first are the negatives.
        """
        return self.of_output(self.shapley.values[0])

    @property
    def slopes(self) -> np.ndarray:
        """Derivative of the explained output with respect to each column, (n_columns,)."""
        return self.of_output(self.gradient.T)

    def of_output(self, scores: np.ndarray, output: int | None = None) -> np.ndarray:
        """Shapley values or other numbers of an output, the explained one if None, with its sign.

        Parameters
        ----------
        scores : ndarray of shape (..., n_scores)
            Shapley values or other numbers.
        output : int or None, default=None
            Number of the output. None takes the explained one.

        Returns
        -------
        ndarray of shape (...)
            The numbers of the output.
        """
        return self._named.of_output(scores, self.output if output is None else output)

    def __str__(self) -> str:
        lines = [self._headline(), *self.uncertainty, "", self._leaves_title()]
        wide = max(len(leaf.text) for leaf in self.leaves)
        for leaf in self.leaves:
            start = f"{percent_text(leaf.share):>6}  {leaf.text:<{wide}}   "
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
            f"<tr><td {short}>{percent_text(leaf.share)}</td><td {short}>{escape(leaf.text)}</td>"
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
            cells[2] = f"<td {cell}>{_bar(part, largest)}{escape(line[2])}</td>"
            body += f"<tr>{''.join(cells)}</tr>"
        notes = "<br>".join(escape(note) for note in self._notes())
        sure = "".join(f"<br>{escape(line)}" for line in self.uncertainty)
        style = "color:inherit;font-size:inherit;background:transparent;border-collapse:collapse;margin:4px 0 10px 0"
        return (
            f'<div style="color:inherit"><p style="margin:0 0 6px 0"><b>{escape(self._headline())}</b>{sure}</p>'
            f'<div>{escape(self._leaves_title())}</div><table style="{style}">{leaves}</table>'
            f'<table style="{style}"><tr>{head}</tr>{body}</table>'
            f'<div style="opacity:.75">{escape(rest)}{"<br>" if rest else ""}{notes}</div></div>'
        )

    # Words

    def _headline(self) -> str:
        if not self.is_class:
            named = [
                f"{name} {number_text(value)}".strip()
                for name, value in zip(self.outputs, self.prediction, strict=True)
            ]
            return f"{self.kind} predicts {', '.join(named)}"
        order = np.argsort(-self.prediction, kind="stable")
        others = [f"{self.outputs[k]} {self.prediction[k]:.2f}" for k in order[1:4] if self.prediction[k] >= 0.005]
        best = int(order[0])
        text = f"{self.kind} predicts {self.outputs[best]} with probability {self.prediction[best]:.2f}"
        return f"{text}; {', '.join(others)}" if others else text

    @property
    def uncertainty(self) -> list[str]:
        """The interval of each target, or the set of classes, in words; empty if the model has no such errors."""
        chance = f"with probability {self.coverage:g}"
        if self.class_set is not None:
            return [f"{chance} the class is {' or '.join(self.class_set) or 'none of them'}"]
        if self.interval is None:
            return []
        names = self.outputs if len(self.outputs) == len(self.interval) > 1 else ["the target"] * len(self.interval)
        return [
            f"{chance} {name} is between {number_text(low)} and {number_text(high)}"
            if np.isfinite([low, high]).all()
            else f"there are too few held-out rows for an interval with probability {self.coverage:g}"
            for name, (low, high) in zip(names, self.interval, strict=True)
        ]

    def _leaves_title(self) -> str:
        of = f" in tree {self.tree} of {self.n_trees}" if self.n_trees > 1 else ""
        return f"leaves with the largest shares of the row{of}"

    def _table(self) -> tuple[list[str], dict[int, list[str]], str]:
        """Header, rows by number of the column, and words for the columns that are not shown."""
        has_reach = bool(np.any(~np.isnan(self.certificates.reach)))
        header = ["column", "value", "Shapley value"]
        header += ["± error"] if self.shapley.standard_errors is not None else []
        header += ["gradient"]
        header += ["may be off by"] if has_reach else []
        order = np.argsort(-np.abs(np.nan_to_num(self.contributions)), kind="stable")
        shown = order if len(order) <= self.n_columns + 1 else order[: self.n_columns]
        rows = {int(j): self._line(int(j), has_reach) for j in shown}
        n_more = len(order) - len(shown)
        if not n_more:
            return header, rows, ""
        total = float(np.nan_to_num(self.contributions[order[len(shown) :]]).sum())
        return header, rows, f"{n_more} more columns, {signed_text(total)} together"

    def _line(self, j: int, has_reach: bool) -> list[str]:
        line = [self.columns[j], _cell(self.cells[j]), signed_text(self.contributions[j])]
        if self.shapley.standard_errors is not None:
            line.append(f"{abs(self.of_output(self.shapley.standard_errors[0, j])):.2g}")
        line.append(signed_text(self.slopes[j]))
        if has_reach:
            reach = float(self.certificates.reach[0, j])
            line.append("—" if np.isnan(reach) else "anything" if reach == np.inf else f"{reach:.3g}")
        return line

    def _notes(self) -> list[str]:
        """What the numbers mean."""
        named, name = self._named, self.outputs[self.output]
        prediction = f"the {'probability' if self.is_class else 'prediction'}{f' of {name}' if name else ''}"
        score = f"the raw score{f' of {name}' if name else ''} ({named.scale})"
        start, end = (float(self.of_output(s)) for s in (self.shapley.base_values, self.shapley.prediction[0]))
        stop = f"{score if named.is_raw else prediction}, {number_text(end)}"
        if named.is_raw:
            stop += f"; {prediction} is {number_text(self.prediction[self.output])}"
        notes = [f"Shapley values add up from {number_text(start)}, with no column known, to {stop}"]
        if named.is_raw:
            notes.append(f"the gradient is that of {prediction}")
        if self.trend is not None:
            added = signed_text(float(self.of_output(self.trend)))
            notes.append(f"the start value and the linear trend add {added} to the leaves")
        radius = float(self.certificates.radius[0])
        if not np.isnan(radius):
            most = "any size" if radius == np.inf else f"less than {radius:.3g} bandwidths in sum"
            notes.append(f"the class is certain for errors of all readings of {most}")
        elif self.is_class:
            notes.append(f"no radius in bandwidths: {self.certificates.reason}")
        return notes


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


def signed_text(value: float) -> str:
    """A number with its sign."""
    return "0" if value == 0 else f"{value:+.3g}"


def number_text(value: float) -> str:
    """A number with four digits."""
    return f"{float(value):.4g}"


def percent_text(share: float) -> str:
    """A share of rows, without decimal places."""
    return "< 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"
