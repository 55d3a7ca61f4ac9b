"""Speed of certificates: how far readings can be off, and whether a class is certain.

Run:  python benchmarks/certificates.py [--only forest] [--write docs/comparisons/benchmarks.md]

Models are fitted to 5 000 rows of 20 columns. Times are CPU milliseconds per row, of one thread, the least of several
after one that loads modules. `certified_radius` searches one radius and one reach for each of the columns;
`certify` answers for one box of errors, a twentieth of a standard deviation in every column. No other package computes
such bounds for soft trees, so there is no peer; `predict` of the same rows is shown for comparison.
"""

from __future__ import annotations

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measuring import blobs, run_rows

from softwood import KernelBoostingClassifier, KernelForestClassifier, KernelTreeClassifier, SoftTreeClassifier
from softwood.explanations import certified_radius, certify

N_ROWS, TIMES = 200, 3
MODELS: dict[str, tuple[str, Any]] = {
    "tree": ("kernel tree, 40 leaves", KernelTreeClassifier(bandwidth=0.3, max_leaf_nodes=40, random_state=0)),
    "large tree": (
        "kernel tree, fully grown",
        KernelTreeClassifier(bandwidth=0.3, max_leaf_nodes=None, random_state=0),
    ),
    "forest": (
        "kernel forest, 100 trees of 31 leaves",
        KernelForestClassifier(100, bandwidth=0.3, max_leaf_nodes=31, random_state=0),
    ),
    "boosting": (
        "boosting, 100 trees of 31 leaves",
        KernelBoostingClassifier(max_iter=100, bandwidth=0.1, max_leaf_nodes=31, random_state=0),
    ),
    "soft tree": ("soft tree, depth 4", SoftTreeClassifier(max_depth=4, random_state=0)),
}


def least(work: Callable[[], object]) -> float:
    """CPU milliseconds per row, the least of several runs after one that loads modules."""
    work()
    taken = []
    for _ in range(TIMES):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return 1000 * min(taken) / N_ROWS


def measure(name: str, peer: Path | None) -> list[str]:
    """The line of one model."""
    what, model = MODELS[name]
    X, y, held_out, _ = blobs(5_000, 20, 2)
    model.fit(X, y)
    rows = held_out[:N_ROWS]
    errors = 0.05 * X.std(axis=0)
    radius = least(lambda: certified_radius(model, rows))
    box = least(lambda: certify(model, rows, errors))
    plain = least(lambda: model.predict(rows))
    certain = np.mean(certify(model, rows, errors))
    return [f"| {what} | {radius:.3g} | {box:.3g} | {plain:.3g} | {certain:.0%} |"]


if __name__ == "__main__":
    run_rows(
        "certificates",
        __doc__,
        "nothing else",
        "| model | certified_radius, ms per row | certify, ms per row | predict, ms per row | certain rows |",
        {name: partial(measure, name) for name in MODELS},
    )
