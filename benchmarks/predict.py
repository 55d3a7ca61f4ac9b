"""Speed of predictions with kernels, as ratios to scikit-learn's trees and forests measured in the same run.

Run:  python benchmarks/predict.py [--only NAME ...] [--times 3] [--threads 1] [--write docs/comparisons/benchmarks.md]

Both sides predict the class probabilities of the same 20 000 rows with the same number of threads. All rows differ:
after a few repetitions of the same short table, the processor foresees the branches of a crisp path, and the time of
scikit-learn's trees falls to half. Every figure is the median of repetitions, ours and the peer's in turn. The last
columns are the shares of our time that reading the table and sharing its rows take. Accuracy is on the same rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Data, blobs, compare, machine, seconds, write_page
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from softwood import KernelForestClassifier, KernelTreeClassifier, OneStageTreeClassifier, SoftTreeClassifier

N_ROWS = 20_000
CUTOFFS = (1e-2, 1e-6)


def data(n: int, p: int, classes: int) -> Data:
    """Gaussian clusters: `n` rows to fit, and 20 000 others to predict."""
    X, y, more_X, more_y = blobs(n + N_ROWS, p, classes)
    X, y = np.concatenate([X, more_X]), np.concatenate([y, more_y])
    return X[:n], y[:n], X[n : n + N_ROWS], y[n : n + N_ROWS]


def row(work: str, rows: Data, ours: Any, peer: Any, times: int, target: float | None) -> dict:
    """One line of the table; both models are fitted here."""
    X, y, X_test, y_test = rows
    ours.fit(X, y)
    peer.fit(X, y)
    time, peer_time = compare(lambda: ours.predict_proba(X_test), lambda: peer.predict_proba(X_test), times)
    matrix, widths = ours._read_points(X_test)
    return {
        "work": work, "ours": time, "peer": peer_time, "target": target, "leaves": ours.get_n_leaves(),
        "reading": seconds(lambda: ours._read_points(X_test), times) / time,
        "sharing": seconds(lambda: ours._predict_matrix(matrix, widths), times) / time,
        "accuracy": ours.score(X_test, y_test), "peer accuracy": peer.score(X_test, y_test),
    }  # fmt: skip


def row_tree(times: int, threads: int) -> list[dict]:
    """Small trees against CART of the same size, fully grown trees against fully grown CART."""
    found = []
    large, many = data(100_000, 20, 2), data(20_000, 16, 26)
    for cutoff in CUTOFFS:
        for size, bandwidth in ((16, 0.3), (64, 0.1), (64, 0.3)):
            ours = KernelTreeClassifier(bandwidth=bandwidth, max_leaf_nodes=size, cutoff=cutoff, random_state=0)
            peer = DecisionTreeClassifier(max_leaf_nodes=size, random_state=0)
            work = f"tree of {size} leaves, 100 000 × 20, h = {bandwidth:g}, cutoff {cutoff:g}"
            found.append(row(work, large, ours, peer, 10 * times, 1.5))
        for words, rows in (("100 000 × 20", large), ("20 000 × 16, 26 classes", many)):
            ours = KernelTreeClassifier(bandwidth=0.1, max_leaf_nodes=None, cutoff=cutoff, random_state=0)
            work = f"fully grown tree, {words}, h = 0.1, cutoff {cutoff:g}"
            found.append(row(work, rows, ours, DecisionTreeClassifier(random_state=0), 10 * times, 2.5))
    return found


def forests(words: str, rows: Data, times: int, threads: int) -> list[dict]:
    found = []
    for cutoff in CUTOFFS:
        ours = KernelForestClassifier(100, bandwidth=0.1, cutoff=cutoff, random_state=0, n_jobs=threads)
        peer = RandomForestClassifier(100, random_state=0, n_jobs=threads)
        found.append(row(f"forest of 100, {words}, h = 0.1, cutoff {cutoff:g}", rows, ours, peer, times, 1.5))
    return found


def row_forest(times: int, threads: int) -> list[dict]:
    return forests("20 000 × 16, 26 classes", data(20_000, 16, 26), times, threads)


def row_forest_large(times: int, threads: int) -> list[dict]:
    return forests("100 000 × 20", data(100_000, 20, 2), times, threads)


def row_gradient(times: int, threads: int) -> list[dict]:
    """Trees whose gates are sigmoids, against CART as it is by default."""
    rows = data(10_000, 20, 2)
    models = {"soft tree": SoftTreeClassifier(random_state=0), "one-stage tree": OneStageTreeClassifier(random_state=0)}
    return [
        row(f"{name}, 10 000 × 20", rows, model, DecisionTreeClassifier(random_state=0), 10 * times, None)
        for name, model in models.items()
    ]


ROWS: dict[str, Callable[[int, int], list[dict]]] = {
    "tree": row_tree, "forest": row_forest, "forest_large": row_forest_large, "gradient": row_gradient,
}  # fmt: skip


def line(r: dict) -> str:
    ratio, target = r["ours"] / r["peer"], r["target"]
    goal, met = ("", "") if target is None else (f"≤ {target:.2g} ×", "yes" if ratio <= target else "no")
    return (
        f"| {r['work']} | {1e3 * r['ours']:.3g} | {1e3 * r['peer']:.3g} | {ratio:.2f} | {goal} | {met} | "
        f"{r['accuracy']:.3f} | {r['peer accuracy']:.3f} | {r['leaves']} | {r['reading']:.0%} | {r['sharing']:.0%} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*ROWS], help="only these rows")
    parser.add_argument("--times", type=int, default=3, help="repetitions, of single trees ten times as many")
    parser.add_argument("--threads", type=int, default=1, help="threads of forests, ours and the peer's")
    parser.add_argument("--write", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    lines = [
        "| predict 20 000 rows | ours (ms) | peer (ms) | ratio | target | met "
        "| accuracy | peer's | leaves | reading | sharing |",
        "|---" * 11 + "|",
    ]
    for name in options.only or ROWS:
        found = [line(r) for r in ROWS[name](options.times, options.threads)]
        lines += found
        print("\n".join(found), flush=True)
    if options.write:
        threads = "one thread" if options.threads == 1 else f"{options.threads} threads"
        write_page(options.write, "predict", "\n".join(lines) + f"\n\n{machine()}, {threads}\n")


if __name__ == "__main__":
    main()
