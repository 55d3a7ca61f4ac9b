"""The models that are compared: kernel trees of three sizes, and scikit-learn's trees."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from softwood import KernelTreeClassifier, KernelTreeRegressor

# Names as in the file of runs and in the table.
KERNEL = {"default": {}, "small": {"max_leaf_nodes": "small"}, "full": {"max_leaf_nodes": None}}
CART = ("CART tuned", "CART of the size of default", "CART of the size of small", "CART default")
MODELS = (*KERNEL, *CART)
# Folds with which the pruning of CART is tuned, inside each training part.
INNER_FOLDS = 5


@dataclass(frozen=True)
class Fold:
    """Training and test rows; trees of scikit-learn get categories as columns of 0 and 1."""

    X: pd.DataFrame
    encoded: np.ndarray
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray
    is_class: bool


def encode(X: pd.DataFrame) -> np.ndarray:
    """Numbers, and a column of 0 and 1 for each value of a category; missing numbers stay missing."""
    return pd.get_dummies(X).astype(float).to_numpy()


def run_fold(fold: Fold, names: set[str]) -> Iterator[dict[str, Any]]:
    """Results of the named models; what the others need of each other is computed once."""
    leaves = {}
    for name, parameters in KERNEL.items():
        sizes = {f"CART of the size of {name}"} if name != "full" else set()
        if not names & ({name} | sizes):
            continue
        kind = KernelTreeClassifier if fold.is_class else KernelTreeRegressor
        result, model = _measure(kind(random_state=0, **parameters), fold, fold.X)
        leaves[name] = model.get_n_leaves()
        if name in names:
            yield {"model": name, **result, "parameter": f"bandwidth {model.bandwidth_:g}"}
    cart = (DecisionTreeClassifier if fold.is_class else DecisionTreeRegressor)(random_state=0)
    for name in ("default", "small"):
        if f"CART of the size of {name}" in names:
            same = clone(cart).set_params(max_leaf_nodes=max(2, leaves[name]))
            yield {
                "model": f"CART of the size of {name}",
                **_measure(same, fold, fold.encoded)[0],
                "parameter": f"max_leaf_nodes {leaves[name]}",
            }
    if "CART default" in names:
        yield {"model": "CART default", **_measure(cart, fold, fold.encoded)[0], "parameter": ""}
    if "CART tuned" in names:
        start = time.perf_counter()
        alpha = tune_alpha(cart, fold.encoded[fold.train], fold.y[fold.train], is_class=fold.is_class)
        seconds = time.perf_counter() - start
        result, _ = _measure(clone(cart).set_params(ccp_alpha=alpha), fold, fold.encoded)
        result["fit_seconds"] += seconds
        yield {"model": "CART tuned", **result, "parameter": f"ccp_alpha {alpha:.3g}"}


def _measure(model: Any, fold: Fold, X: Any) -> tuple[dict[str, Any], Any]:
    """Score, log loss of classes, leaves and seconds of a model, and the fitted model."""
    take = X.iloc if isinstance(X, pd.DataFrame) else X
    start = time.perf_counter()
    model.fit(take[fold.train], fold.y[fold.train])
    seconds = time.perf_counter() - start
    X_test, y_test = take[fold.test], fold.y[fold.test]
    loss = np.nan
    if fold.is_class:  # classes that the training part lacks have no probability
        shares = pd.DataFrame(model.predict_proba(X_test), columns=model.classes_)
        shares = shares.reindex(columns=np.union1d(model.classes_, y_test), fill_value=0.0)
        sums = np.clip(shares, 1e-6, None)
        loss = log_loss(y_test, sums.div(sums.sum(axis=1), axis=0), labels=list(shares.columns))
    result = {
        "score": model.score(X_test, y_test),
        "log_loss": loss,
        "leaves": int(model.get_n_leaves()),
        "fit_seconds": seconds,
    }
    return result, model


# Tuning CART


def tune_alpha(cart: Any, X: np.ndarray, y: np.ndarray, *, is_class: bool) -> float:
    """The `ccp_alpha` with the best mean score of five folds; of equal ones the largest.

    As a grid search over the geometric means of the alphas of all rows, but with one fit per fold: the pruned trees of
    a fold are nested, so the full tree and the alpha at which each node becomes a leaf give all of them.
    """
    alphas = np.maximum(cart.cost_complexity_pruning_path(X, y).ccp_alphas, 0.0)
    between = np.sqrt(alphas[:-1] * alphas[1:])
    candidates = np.unique(np.concatenate([[0.0], between]))
    folds = (StratifiedKFold if is_class else KFold)(INNER_FOLDS, shuffle=True, random_state=0)
    scores = np.zeros(len(candidates))
    for train, test in folds.split(X, y):
        fitted = clone(cart).fit(X[train], y[train])
        scores += scores_by_alpha(fitted, X[test], y[test], candidates)
    return float(candidates[np.flatnonzero(scores >= scores.max() - 1e-12)[-1]])


def scores_by_alpha(fitted: Any, X: np.ndarray, y: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """Scores of the fitted tree pruned with each of the `alphas`, as its `score` would tell them."""
    falls = leaf_alphas(fitted.tree_)
    answers = fitted.tree_.value[:, 0, 0]
    is_class = hasattr(fitted, "classes_")
    if is_class:
        answers = fitted.classes_[fitted.tree_.value[:, 0, :].argmax(axis=1)]
    paths = fitted.decision_path(X).tocsr()
    total = np.zeros(len(alphas))
    for i in range(len(y)):
        nodes = np.sort(paths.indices[paths.indptr[i] : paths.indptr[i + 1]])  # children have larger numbers
        # The row's leaf is the first node of its path that has become one: falls <= alpha.
        n_below = np.searchsorted(np.minimum.accumulate(falls[nodes])[::-1], alphas, side="right")
        found = answers[nodes[len(nodes) - n_below]]
        total += found != y[i] if is_class else (found - y[i]) ** 2
    return 1.0 - total / (len(y) if is_class else ((y - y.mean()) ** 2).sum())


def leaf_alphas(tree: Any) -> np.ndarray:
    """(n_nodes,) the smallest alpha with which each node is a leaf after cost-complexity pruning; -inf for leaves.

    Always the inner node is made a leaf whose subtree saves least per leaf.
    """
    left, right = tree.children_left, tree.children_right
    parent = np.full(tree.node_count, -1)
    for children in (left, right):
        parent[children[children >= 0]] = np.flatnonzero(children >= 0)
    cost = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    below, n_leaves = cost.copy(), np.ones(tree.node_count)
    is_inner = left >= 0
    for node in range(tree.node_count - 1, -1, -1):
        if is_inner[node]:
            below[node] = below[left[node]] + below[right[node]]
            n_leaves[node] = n_leaves[left[node]] + n_leaves[right[node]]
    links = np.full(tree.node_count, np.inf)
    links[is_inner] = (cost - below)[is_inner] / (n_leaves[is_inner] - 1)
    falls = np.where(is_inner, np.inf, -np.inf)
    alpha = -np.inf
    while np.isfinite(links[0]):
        node = int(links.argmin())
        alpha = falls[node] = max(alpha, links[node])
        links[node] = np.inf
        saved, fewer = cost[node] - below[node], n_leaves[node] - 1
        below[node], n_leaves[node] = cost[node], 1
        inside = [left[node], right[node]]
        while inside:  # nothing below is pruned any more
            child = inside.pop()
            links[child] = np.inf
            if left[child] >= 0 and not np.isfinite(falls[child]):
                inside += [left[child], right[child]]
        above = parent[node]
        while above >= 0:
            below[above] += saved
            n_leaves[above] -= fewer
            links[above] = (cost[above] - below[above]) / (n_leaves[above] - 1)
            above = parent[above]
    return falls
