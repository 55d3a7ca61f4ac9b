"""Speed of soft decision trees against the package neural-trees (soft trees on torch), measured in the same run.

Run:  python benchmarks/soft_tree.py --peer-python PATH [--only NAME ...] [--write docs/comparisons/benchmarks.md]

neural-trees brings torch, so it has an environment of its own, with `pip install torch neural-trees==0.8.0`; PATH is
the Python there. Both fit the same synthetic, seeded data with their default parameters and one thread; scores are on
held-out rows. Without --peer-python the rows that need it are left out.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measuring import Data, blobs, run_rows, seconds

from softwood import SoftTreeClassifier, SoftTreeRegressor

PEER = """
import sys, time
import numpy as np, torch
torch.set_num_threads(1)
from neural_trees import SoftDecisionTree, SoftDecisionTreeRegressor
data = np.load(sys.argv[1])
kind = SoftDecisionTree if data["y"].dtype.kind == "i" else SoftDecisionTreeRegressor
model = kind(random_state=0)
start = time.perf_counter()
model.fit(data["X"], data["y"])
taken = time.perf_counter() - start
row = data["X_test"][:1]
model.predict(row)
start = time.perf_counter()
for _ in range(100):
    model.predict(row)
one = (time.perf_counter() - start) / 100
print(taken, model.score(data["X_test"], data["y_test"]), one)
"""


def friedman(n: int, p: int, seed: int = 0) -> Data:
    """Friedman's first function of five columns, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n + 5_000, p))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    y = y + rng.normal(size=len(y))
    return X[:n], y[:n], X[n:], y[n:]


def run_peer(python: Path, data: Data) -> tuple[float, float, float]:
    """Seconds to fit, score, and seconds to predict a row, of neural-trees."""
    X, y, X_test, y_test = data
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        np.savez(file, X=X, y=y, X_test=X_test, y_test=y_test)
        done = subprocess.run([python, "-c", PEER, str(file)], capture_output=True, text=True, check=True)
    fit, score, one = map(float, done.stdout.split()[-3:])
    return fit, score, one


def row_peer(python: Path | None) -> list[str]:
    """Fits against the peer's, and predictions of single rows."""
    lines = []
    for name, kind, data in (
        ("10 000 × 20, two classes", SoftTreeClassifier, blobs(10_000, 20, 2)),
        ("5 000 × 20, regression", SoftTreeRegressor, friedman(5_000, 20)),
    ):
        X, y, X_test, y_test = data
        peer = None if python is None else run_peer(python, data)
        if peer is not None:
            lines.append(
                f"| fit {name}: neural-trees | {peer[0]:.1f} s | score {peer[1]:.4f} | one row: `predict` "
                f"{peer[2] * 1e6:.0f} µs |"
            )
        for words, parameters in (("", {}), (", `min_gain=0.03`", {"min_gain": 0.03})):
            model = kind(random_state=0, **parameters)
            model.fit(X[:500], y[:500])  # load modules and fill caches
            fit = seconds(lambda m=model, X=X, y=y: m.fit(X, y), 3)
            score = model.score(X_test, y_test)
            row = X_test[:1]
            one = seconds(lambda m=model, row=row: [m.tree_.predict(row) for _ in range(1000)], 3) / 1000
            whole = seconds(lambda m=model, row=row: [m.predict(row) for _ in range(100)], 3) / 100
            ratio = ""
            if peer is not None:
                met = "yes" if peer[0] >= 50 * fit and round(score, 3) >= round(peer[1], 3) else "no"
                ratio = f", **{peer[0] / fit:.0f} × faster** (target 50 × at no lower score: {met})"
            lines.append(
                f"| the same, ours{words} ({model.tree_.n_nodes} nodes) | {fit:.2f} s{ratio} | score {score:.4f} | one "
                f"row: tree {one * 1e6:.0f} µs (target 20), `predict` with its checks {whole * 1e6:.0f} µs |"
            )
    return lines


def row_large(python: Path | None) -> list[str]:
    """100 000 rows: under a minute is wanted."""
    X, y, X_test, y_test = blobs(100_000, 20, 2)
    model = SoftTreeClassifier(random_state=0).fit(X[:500], y[:500])
    start = time.perf_counter()
    model.fit(X, y)
    taken = time.perf_counter() - start
    met = "yes" if taken < 60 else "no"
    return [
        f"| fit 100 000 × 20, two classes ({model.tree_.n_nodes} nodes) | {taken:.1f} s (target 60 s: {met}) | "
        f"score {model.score(X_test, y_test):.4f} | |"
    ]


def row_growth(python: Path | None) -> list[str]:
    """Time per split that was kept, and how it grows with rows, columns and nodes."""
    lines = []
    for n, p, leaves in (
        (2_000, 20, 8), (8_000, 20, 8), (32_000, 20, 8), (8_000, 80, 8), (8_000, 20, 32), (8_000, 20, 128),
    ):  # fmt: skip
        X, y, _, _ = blobs(n, p, 2)
        model = SoftTreeClassifier(random_state=0, max_leaf_nodes=leaves, min_gain=0.0, refine=False)
        model.fit(X[:500], y[:500])
        taken = seconds(lambda m=model, X=X, y=y: m.fit(X, y), 1)
        kept, tried = model.get_n_leaves() - 1, model.n_iter_
        lines.append(
            f"| {n} × {p}, up to {leaves} leaves | {taken:.2f} s | {kept} splits kept of {tried} tried | "
            f"{1e3 * taken / max(kept, 1):.0f} ms per split kept, {1e3 * taken / max(tried, 1):.0f} ms per trial |"
        )
    return lines


ROWS: dict[str, Callable[[Path | None], list[str]]] = {"peer": row_peer, "large": row_large, "growth": row_growth}


if __name__ == "__main__":
    run_rows("soft_tree", __doc__, "neural-trees", "| work | time | result | more |", ROWS)
