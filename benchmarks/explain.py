"""Speed of Shapley values, compared with shap's TreeExplainer.

Run:  python benchmarks/explain.py [--only "path game"] [--write docs/comparisons/benchmarks.md]

Both forests have 100 trees of 31 leaves, grown from the same 5 000 rows of 20 columns, and 1 000 other rows are
explained. Ours has kernels, the peer's (scikit-learn's) is crisp, because shap explains only crisp trees. Times are CPU
seconds of one thread, the least of several, measured in turn, after a run that loads modules. Errors are the largest
difference of base value and values from the prediction.

pip install shap
"""

from __future__ import annotations

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measuring import run_rows
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from softwood import KernelForestClassifier, KernelForestRegressor, SoftTreeClassifier
from softwood.explanations import ShapleyValues, shapley_values

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import shap

N_ROWS, N_TREES, N_LEAVES, N_BACKGROUND = 1_000, 100, 31, 100
SIZE = {"max_leaf_nodes": N_LEAVES, "random_state": 0}


def data(is_class: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and targets to grow from, and rows to explain."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000 + N_ROWS, 20))
    score = X[:, :10] @ rng.normal(size=10) + 3 * X[:, 0] * X[:, 1] + np.abs(X[:, 10])
    y = score > np.median(score) if is_class else score
    return X[:5_000], y[:5_000], X[5_000:]


def forests(is_class: bool) -> tuple[object, object, np.ndarray, np.ndarray]:
    """Our forest, the peer's, rows to explain, and background rows."""
    X, y, rows = data(is_class)
    ours = (KernelForestClassifier if is_class else KernelForestRegressor)(N_TREES, bandwidth=0.2, **SIZE)
    peer = (RandomForestClassifier if is_class else RandomForestRegressor)(N_TREES, **SIZE)
    return ours.fit(X, y), peer.fit(X, y), rows, X[:N_BACKGROUND]


def least(ways: list[Callable[[], object]], times: int) -> list[float]:
    """Least CPU seconds of each way, taken in turn."""
    taken = []
    for _ in range(times):
        for way in ways:
            start = time.process_time()
            way()
            taken.append(time.process_time() - start)
    return np.reshape(taken, (times, -1)).min(axis=0).tolist()


def error_of(found: ShapleyValues) -> float:
    return float(np.abs(found.base_values + found.values.sum(axis=1) - found.prediction).max())


def line(name: str, ours: float, peer: float | None, limit: float | None, most: float | None, error: float) -> str:
    """A row of the table: `limit` seconds, and at most `most` times the peer's."""
    ratio = None if peer is None else ours / peer
    is_met = (limit is None or ours <= limit) and (most is None or ratio is None or ratio <= most)
    target = " and ".join(text for text in (limit and f"≤ {limit:g} s", most and f"≤ {most:g} ×") if text)
    cells = [
        name, f"{ours:.3g}", "" if peer is None else f"{peer:.3g}", "" if ratio is None else f"{ratio:.2f}", target,
        "" if not target else "yes" if is_met else "no", f"{error:.0e}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def path_game(_: Path | None) -> list[str]:
    return [path_line("path game, two classes", True), path_line("path game, one target", False)]


def path_line(name: str, is_class: bool) -> str:
    model, crisp, rows, _ = forests(is_class)
    peer = shap.TreeExplainer(crisp, feature_perturbation="tree_path_dependent")
    shapley_values(model, rows[:2])  # load modules and fill caches
    ours, theirs = least(
        [lambda: shapley_values(model, rows), lambda: peer.shap_values(rows, check_additivity=False)], 7
    )
    return line(name, ours, theirs, 1.0, 3.0, error_of(shapley_values(model, rows)))


def background_game(_: Path | None) -> list[str]:
    model, crisp, rows, background = forests(True)
    peer = shap.TreeExplainer(crisp, background, feature_perturbation="interventional")
    shapley_values(model, rows[:2], background[:2])
    ours, theirs = least(
        [
            lambda: shapley_values(model, rows, background),
            lambda: peer.shap_values(rows, check_additivity=False),
        ],
        2,
    )
    error = error_of(shapley_values(model, rows[:50], background))
    return [line(f"{N_BACKGROUND} background rows, two classes", ours, theirs, 30.0, None, error)]


def interactions(_: Path | None) -> list[str]:
    model, crisp, rows, _ = forests(True)
    rows = rows[:100]
    peer = shap.TreeExplainer(crisp, feature_perturbation="tree_path_dependent")
    shapley_values(model, rows[:2], interactions=True)
    ours, theirs = least(
        [lambda: shapley_values(model, rows, interactions=True), lambda: peer.shap_interaction_values(rows)], 3
    )
    error = error_of(shapley_values(model, rows, interactions=True))
    return [line("interactions of 100 rows, path game, two classes", ours, theirs, None, None, error)]


def sampling(_: Path | None) -> list[str]:
    X, y, rows = data(True)
    model = SoftTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    rows = rows[:100]
    shapley_values(model, rows[:2], random_state=0)
    (ours,) = least([lambda: shapley_values(model, rows, random_state=0)], 3)
    error = error_of(shapley_values(model, rows, random_state=0))
    return [line("100 rows sampled, one soft tree", ours, None, None, None, error)]


ROWS = {
    "path game": path_game,
    "background": background_game,
    "interactions": interactions,
    "sampling": sampling,
}

if __name__ == "__main__":
    run_rows(
        "explain", __doc__, "shap",
        "| 1 000 rows, 100 trees of 31 leaves | ours (s) | shap (s) | ratio | target | met | error |", ROWS,
    )  # fmt: skip
