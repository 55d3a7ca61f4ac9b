"""How much there is to explain in the decisions of soft stream trees: important features, and decisions one by one.

A decision rule is an inner node that a row reaches. The fewer features have a say in it, the shorter its explanation,
and the more transparent the tree (section 4 of Köbschall, Hartung and Kramer 2024).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softwood.core.parameters import parameter_error
from softwood.stream.base import StreamModel
from softwood.stream.growing.soft import SoftGrowingTree
from softwood.stream.loops.layout import BIAS_AT, DEPTH, FEATURE, LEFT, LEFT_WEIGHT, RIGHT, THRESHOLD, WEIGHT

# An impact that is average but for rounding counts as average: 1 - 0.9 is a little less than 1 / 10.
_ROUNDING = 1e-9


@dataclass(frozen=True, repr=False, eq=False)
class ImportantFeatures:
    """Numbers of important features in the decision rules of rows.

    Attributes
    ----------
    counts : ndarray of shape (n_rows, n_nodes)
        Number of important features of each rule that a row reaches. nan where it does not, and at leaves.
    per_row : ndarray of shape (n_rows,)
        Mean over the rules that the row reaches.
    per_node : ndarray of shape (n_nodes,)
        Mean over the rows that reach the node. nan at leaves, and where no row comes.
    mean : float
        Mean number of important features over all pairs of a row and an inner node that it reaches.
    n_rules : int
        Number of these pairs, by which means of several blocks of rows are averaged.
    n_features : int
        Number of columns of the encoded table, p.
    """

    counts: np.ndarray
    per_row: np.ndarray
    per_node: np.ndarray
    mean: float
    n_rules: int
    n_features: int

    @property
    def share(self) -> float:
        """Average proportion of important features to the total number of features (figures 3 and 5 of the paper)."""
        return self.mean / self.n_features

    def __repr__(self) -> str:
        return (
            f"ImportantFeatures: {self.mean:.3g} of {self.n_features} features ({100 * self.share:.3g} %) per decision "
            f"rule, {len(self.counts):,} rows"
        )


@dataclass(frozen=True)
class Contribution:
    """A summand of an oblique gate.

    Attributes
    ----------
    feature : name of the column
    value : w_i x_i, x_i in standard units; above 0 it draws the row to the left
    part : |w_i x_i| / sigma, its part of all summands without their signs
    """

    feature: str
    value: float
    part: float

    def __str__(self) -> str:
        return f"{self.feature} {self.value:+.3g} ({100 * self.part:.0f} %)"


@dataclass(frozen=True)
class DecisionRule:
    """What an inner node decides about a row, and why.

    Attributes
    ----------
    node : int
        Number of the node.
    depth : int
        Depth of the node.
    share : float
        Share of the row that reaches the node.
    test : str or None
        Text of the test, such as "salary <= 5.2e+04". None for a gate without one.
    passed : bool or None
        Whether the row passes the test. None without a test, and where the value is missing.
    alpha : float
        Weight of the smooth step in the gate.
    step : float
        S(w @ x + b), the part that the smooth step alone would send to the left.
    left : float
        Part of the share that goes to the left (equation 2).
    important : tuple of Contribution
        Summands of the smooth step that are important, largest first.
    test_is_important : bool
        Whether the feature of the test counts as important, which is so if 1 - alpha >= 1 / p.
    """

    node: int
    depth: int
    share: float
    test: str | None
    passed: bool | None
    alpha: float
    step: float
    left: float
    important: tuple[Contribution, ...]
    test_is_important: bool

    @property
    def n_important(self) -> int:
        """Number of important features (equation 5, or 4 for a gate without a test)."""
        return len(self.important) + self.test_is_important

    def __str__(self) -> str:
        parts = []
        if self.test is not None:
            answer = {True: "yes", False: "no", None: "missing"}[self.passed]
            parts.append(f"{1 - self.alpha:.2f} [{self.test}: {answer}]")
        by = ", ".join(map(str, self.important)) or "no feature above average"
        parts.append(f"{self.alpha:.2f} [smooth step {self.step:.2f}: {by}]")
        where = f"node {self.node} (share {self.share:.3g})"
        return f"{'  ' * self.depth}{where}: {' + '.join(parts)} -> {100 * self.left:.0f} % left"


def important_features(model: Any, X: Any) -> ImportantFeatures:
    """Count the features with more than average influence on each decision that rows pass.

    With ``sigma = sum_i |w_i x_i|``, a soft gate without a test has (equation 4 of the paper)
    ``sum_i [|w_i x_i| / sigma >= 1/p]`` important features; a gate of a soft Hoeffding tree has (equation 5)
    ``sum_i [alpha |w_i x_i| / sigma >= 1/p] + [1 - alpha >= 1/p]``, with the node's own alpha. The x_i are in running
    standard units, as the gate sees them, and 0 where missing; a bias is no feature. If sigma is 0, no summand is
    important. Comparisons allow for rounding.

    Parameters
    ----------
    model : fitted soft Hoeffding tree or smooth-step tree
        The model that decides.
    X : array-like or data frame of shape (n_rows, n_features_in)
        The rows.

    Returns
    -------
    ImportantFeatures
        Counts by row and node, and their means.

    Examples
    --------
    >>> from softwood.stream import SEA, SmoothStepTreeClassifier, SoftHoeffdingTreeClassifier
    >>> from softwood.stream.transparency import important_features
    >>> X, y = SEA(seed=0).take(3_000)
    >>> growing = SoftHoeffdingTreeClassifier(alpha_pull=0.1, random_state=0).fit(X, y)
    >>> complete = SmoothStepTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> important_features(growing, X).mean < important_features(complete, X).mean
    True
    >>> important_features(complete, X).counts.shape
    (3000, 15)
    """
    growth, matrix = _read(model, X, "important_features")
    standardised = growth.standardised(matrix)
    counts = np.full((len(matrix), growth.n_nodes), np.nan)
    weights = growth.weights
    has_test = growth.structure()[0][:, FEATURE] >= 0
    for at in _decisions(growth, matrix, standardised):
        parts = _parts(standardised[at.rows] * weights[at.node])
        found = _is_important(parts, at.alpha).sum(axis=1)
        counts[at.rows, at.node] = found + (has_test[at.node] and _test_counts(at.alpha, growth.n_features))
    reached = ~np.isnan(counts)
    return ImportantFeatures(
        counts=counts,
        per_row=_means(counts, reached, axis=1),
        per_node=_means(counts, reached, axis=0),
        mean=float(counts[reached].mean()) if reached.any() else np.nan,
        n_rules=int(reached.sum()),
        n_features=growth.n_features,
    )


def decision_rules(model: Any, x_row: Any) -> list[DecisionRule]:
    """The decisions about one row, from the root on, with what was important in them.

    Parameters
    ----------
    model : fitted soft Hoeffding tree or smooth-step tree
        The model that decides.
    x_row : array-like of shape (n_features_in,) or data frame with one row
        The row.

    Returns
    -------
    list of DecisionRule
        One for each inner node that the row reaches, parents first. They print as text.

    Examples
    --------
    >>> from softwood.stream import SEA, SoftHoeffdingTreeClassifier
    >>> from softwood.stream.transparency import decision_rules
    >>> X, y = SEA(seed=0).take(3_000)
    >>> model = SoftHoeffdingTreeClassifier(random_state=0).fit(X, y)
    >>> rule = decision_rules(model, X[0])[0]
    >>> rule.node, rule.share, rule.test.split()[:2]
    (0, 1.0, ['x[0]', '<='])
    """
    X = x_row if hasattr(x_row, "columns") or np.ndim(x_row) == 2 else np.asarray(x_row)[None, :]
    if len(X) != 1:
        raise ValueError(f"The 'x_row' parameter of decision_rules must be one row. Got {len(X)} rows instead.")
    growth, matrix = _read(model, X, "decision_rules")
    names, is_category = model.columns_.names, model.columns_.is_category
    standardised = growth.standardised(matrix)
    nodes, numbers, _ = growth.structure()
    rules = []
    for at in _decisions(growth, matrix, standardised):
        feature = int(nodes[at.node, FEATURE])
        values = standardised[0] * growth.weights[at.node]
        parts = _parts(values[None, :])[0]
        found = np.flatnonzero(_is_important(parts, at.alpha))
        found = found[np.argsort(-parts[found], kind="stable")]
        test, passed = None, None
        if feature >= 0:
            test = _test_text(names[feature], float(numbers[at.node, THRESHOLD]), bool(is_category[feature]))
            passed = None if np.isnan(matrix[0, feature]) else bool(at.passed[0])
        rule = DecisionRule(
            node=at.node,
            depth=int(nodes[at.node, DEPTH]),
            share=float(at.share[0]),
            test=test,
            passed=passed,
            alpha=at.alpha,
            step=float(at.step[0]),
            left=float(at.left[0]),
            important=tuple(Contribution(names[j], float(values[j]), float(parts[j])) for j in found),
            test_is_important=feature >= 0 and _test_counts(at.alpha, growth.n_features),
        )
        rules.append(rule)
    return rules


@dataclass(frozen=True)
class _Decision:
    """What an inner node decides about all rows that reach it.

    Attributes
    ----------
    rows : (n,) numbers of the rows
    share : (n,) of each that comes to the node
    passed : (n,) 1 if it passes the test, 0 if not; in between where the value is missing
    step : (n,) the smooth step
    left : (n,) part that goes to the left
    """

    node: int
    alpha: float
    rows: np.ndarray
    share: np.ndarray
    passed: np.ndarray
    step: np.ndarray
    left: np.ndarray


def _decisions(growth: SoftGrowingTree, matrix: np.ndarray, standardised: np.ndarray) -> Iterator[_Decision]:
    """Inner nodes that rows reach, parents first. As in the loop that predicts, which does not keep them."""
    nodes, numbers, inner = growth.structure()
    alphas, weights = growth.alphas, growth.weights
    bias = growth.arrays["gates"][0, : growth.n_nodes, BIAS_AT] * (growth.settings.bias > 0)
    pending = {0: (np.arange(len(matrix)), np.ones(len(matrix)))}
    for node in np.flatnonzero(inner).tolist():  # children have larger numbers than their parents
        rows, share = pending.pop(node, (np.empty(0, dtype=np.int64), np.empty(0)))
        if len(rows) == 0:
            continue
        passed = np.zeros(len(rows))
        feature, alpha = int(nodes[node, FEATURE]), float(alphas[node])
        if feature >= 0:
            x = matrix[rows, feature]
            usual = numbers[node, LEFT_WEIGHT] / numbers[node, WEIGHT] if numbers[node, WEIGHT] > 0 else 0.5
            passed = np.where(np.isnan(x), usual, x <= numbers[node, THRESHOLD])
        step = _smooth_step(standardised[rows] @ weights[node] + bias[node], float(growth.settings.gamma))
        left = alpha * step + (1.0 - alpha) * passed
        yield _Decision(node, alpha, rows, share, passed, step, left)
        for child, part in ((int(nodes[node, LEFT]), left), (int(nodes[node, RIGHT]), 1.0 - left)):
            come = part > 0
            pending[child] = rows[come], share[come] * part[come]


def _smooth_step(z: np.ndarray, gamma: float) -> np.ndarray:
    """Equation 1."""
    t = np.clip(z / gamma, -0.5, 0.5)
    return t * (1.5 - 2.0 * t * t) + 0.5


def _parts(summands: np.ndarray) -> np.ndarray:
    """|w_i x_i| / sigma, (n_rows, n_features); 0 where sigma is."""
    sizes = np.abs(summands)
    sigma = sizes.sum(axis=1, keepdims=True)
    return np.divide(sizes, sigma, out=np.zeros_like(sizes), where=sigma > 0)


def _is_important(parts: np.ndarray, alpha: float) -> np.ndarray:
    """Which summands are important, by their parts of the sum (last axis)."""
    return (alpha * parts * parts.shape[-1] >= 1.0 - _ROUNDING) & (parts > 0)


def _test_counts(alpha: float, n_features: int) -> bool:
    """Whether the feature of the test is important."""
    return bool((1.0 - alpha) * n_features >= 1.0 - _ROUNDING)


def _means(counts: np.ndarray, reached: np.ndarray, axis: int) -> np.ndarray:
    """Means of what is not nan; nan if all is."""
    n = reached.sum(axis=axis)
    total = np.where(reached, counts, 0.0).sum(axis=axis)
    return np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)


def _test_text(name: str, threshold: float, is_category: bool) -> str:
    """A test as text; a category is either there or not."""
    return f"not {name}" if is_category else f"{name} <= {threshold:.3g}"


def _read(model: Any, X: Any, caller: str) -> tuple[SoftGrowingTree, np.ndarray]:
    """The growing tree of a model, and rows as it takes them, (n_rows, n_features)."""
    expected = "a fitted soft Hoeffding tree or smooth-step tree, whose gates add up features"
    if not isinstance(model, StreamModel):
        raise parameter_error(caller, "model", expected, model)
    check_is_fitted(model)
    growth = model.growth_
    if not isinstance(growth, SoftGrowingTree):
        raise parameter_error(caller, "model", expected, model)
    return growth, model._matrix(X)
