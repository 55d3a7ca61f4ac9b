"""A hundred million rows of a drifting stream: does memory grow, does a block take longer, do numbers run away?

Run:  python benchmarks/endless.py [--rows 100000000] [--minutes 60] [--only NAME ...]
                                       [--write docs/comparisons/benchmarks.md]

Test then train in blocks of 10 000 rows. The first and the last tenth of the stream are compared: rows per second,
memory of the process, bytes of the model, and cross-entropy. Latencies of blocks are those of the whole run without the
first block; latencies of single rows are those of `learn_one` of the same model for river, after it has
learned a hundred thousand rows in blocks. A model that takes longer than `--minutes` stops there; the table tells how
many rows each has learned. All arrays of the model are looked through for nan and infinity at the end.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measuring import machine, write_page

from softwood.stream import (
    HoeffdingTreeClassifier,
    Hyperplane,
    SmoothStepTreeClassifier,
    SoftHoeffdingTreeClassifier,
    StreamForestClassifier,
    river,
)

BLOCK = 10_000
# Rows in blocks, and then one by one, of the model for river.
N_BEFORE, N_SINGLE = 100_000, 20_000
PARTS = (50, 99, 99.9)
MODELS: dict[str, Callable[[], Any]] = {
    "Hoeffding tree": HoeffdingTreeClassifier,
    "Hoeffding tree, at most 1 MiB": lambda: HoeffdingTreeClassifier(max_size=1.0),
    "soft Hoeffding tree": lambda: SoftHoeffdingTreeClassifier(random_state=0),
    "soft Hoeffding tree, tests replaced": lambda: SoftHoeffdingTreeClassifier(recheck_period=5000, random_state=0),
    "soft Hoeffding tree, as published": lambda: SoftHoeffdingTreeClassifier.as_published(random_state=0),
    "complete soft tree": lambda: SmoothStepTreeClassifier(random_state=0),
    "stream forest of 10": lambda: StreamForestClassifier(10, random_state=0),
}


def resident() -> float:
    """Memory of the process now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
    return pages * resource.getpagesize() / 2**20


def is_sound(model: Any) -> bool:
    """Whether all numbers of a model are finite; thresholds of leaves are nan by design."""
    forest = getattr(model.growth_, "trees", None)
    trees = [model.growth_] if forest is None else model.growth_._all_trees()
    for tree in trees:
        arrays = {name: array for name, array in tree.state().items() if array.dtype.kind == "f"}
        numbers = arrays.pop("numbers")[: tree.n_nodes]
        del arrays["settings"]
        if not np.all(np.isfinite(numbers[:, 1:])) or not all(np.all(np.isfinite(a)) for a in arrays.values()):
            return False
    return forest is None or bool(
        np.isfinite(model.growth_.scores).all() and np.isfinite(model.growth_.detectors).all()
    )


def single_rows(model: Any) -> np.ndarray:
    """Seconds of `learn_one` for rows of the same stream, (N_SINGLE,)."""
    names = set(model.get_params()) - {"class_weight", "categorical_features"}
    parameters = {"seed" if n == "random_state" else n: v for n, v in model.get_params().items() if n in names}
    peer = getattr(river, type(model).__name__)(**parameters)
    stream = Hyperplane(magnitude=0.001, seed=1)
    X, y = stream.take(N_BEFORE)
    peer.learn_many(pd.DataFrame(X), pd.Series(y))
    X, y = stream.take(N_SINGLE)
    taken = np.empty(N_SINGLE)
    for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(enumerate(row))
        start = time.perf_counter()
        peer.learn_one(x, label)
        taken[i] = time.perf_counter() - start
    return taken


def told(taken: np.ndarray, unit: float) -> str:
    return " / ".join(f"{seconds * unit:.3g}" for seconds in np.percentile(taken, PARTS))


def run(name: str, n: int, minutes: float) -> str:
    model, stream = MODELS[name](), Hyperplane(magnitude=0.001, seed=0)
    taken, losses, memory = [], [], []
    end = time.monotonic() + 60.0 * minutes
    for X, y in stream.blocks(n, BLOCK):
        start = time.perf_counter()
        found = model.test_then_train(X, y, classes=[0, 1])
        taken.append(time.perf_counter() - start)
        losses.append(-np.log(np.maximum(found[np.arange(len(y)), y], 1e-15)).mean())
        memory.append(resident())
        if time.monotonic() > end:
            break
    tenth = max(1, len(taken) // 10)
    # the first tenth without the first block, which loads modules
    first, last = np.array(taken[1 : tenth + 1]), np.array(taken[-tenth:])
    cells = [
        name,
        f"{BLOCK * len(taken):,}",
        f"{BLOCK / np.median(first):,.0f} → {BLOCK / np.median(last):,.0f}",
        told(np.array(taken[1:]), 1e3),
        told(single_rows(model), 1e6),
        f"{memory[tenth]:.0f} → {memory[-1]:.0f}",
        f"{model.nbytes_ / 2**20:.2f}",
        f"{model.growth_.n_nodes:,}",
        f"{np.mean(losses[1 : tenth + 1]):.3f} → {np.mean(losses[-tenth:]):.3f}",
        "yes" if is_sound(model) else "**no**",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--minutes", type=float, default=60.0, help="most minutes for each model")
    parser.add_argument("--only", nargs="+", choices=[*MODELS])
    parser.add_argument("--write", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    lines = [
        "| model | rows | rows per second | block, p50 / p99 / p99.9 (ms) | learn_one, p50 / p99 / p99.9 (µs) "
        "| memory of the process (MiB) | model (MiB) | nodes | cross-entropy | all finite |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in options.only or MODELS:
        lines.append(run(name, options.rows, options.minutes))
        print(lines[-1], flush=True)
    text = f"{options.rows:,} rows; first tenth → last tenth.\n\n" + "\n".join(lines) + f"\n\n{machine()}, one thread\n"
    if options.write:
        write_page(options.write, "endless", text)


if __name__ == "__main__":
    main()
