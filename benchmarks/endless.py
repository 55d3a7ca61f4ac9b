"""Ten million rows of a drifting stream: does memory grow, does a block take longer, do numbers run away?

Run:  python benchmarks/endless.py [--rows 10000000] [--only NAME ...] [--write docs/benchmarks.md]

Test then train in blocks of 10 000 rows. The first and the last tenth of the stream are compared: rows per second, the
slowest block, memory of the process, bytes of the model, and cross-entropy. All arrays of the model are looked through
for nan and infinity at the end.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import machine, write_page

from softwood.stream import (
    AS_PUBLISHED,
    HoeffdingTreeClassifier,
    Hyperplane,
    SmoothStepTreeClassifier,
    SoftHoeffdingTreeClassifier,
)

BLOCK = 10_000
MODELS: dict[str, Callable[[], Any]] = {
    "Hoeffding tree": HoeffdingTreeClassifier,
    "Hoeffding tree, at most 1 MiB": lambda: HoeffdingTreeClassifier(max_size=1.0),
    "soft Hoeffding tree": lambda: SoftHoeffdingTreeClassifier(random_state=0),
    "soft Hoeffding tree, tests replaced": lambda: SoftHoeffdingTreeClassifier(recheck_period=5000, random_state=0),
    "soft Hoeffding tree, as published": lambda: SoftHoeffdingTreeClassifier(**AS_PUBLISHED, random_state=0),
    "complete soft tree": lambda: SmoothStepTreeClassifier(random_state=0),
}


def resident() -> float:
    """Memory of the process now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
    return pages * resource.getpagesize() / 2**20


def is_sound(model: Any) -> bool:
    """Whether all numbers of a model are finite; thresholds of leaves are nan by design."""
    arrays = {name: array for name, array in model.growth_.state().items() if array.dtype.kind == "f"}
    numbers = arrays.pop("numbers")[: model.growth_.n_nodes]
    del arrays["settings"]
    return bool(np.all(np.isfinite(numbers[:, 1:])) and all(np.all(np.isfinite(a)) for a in arrays.values()))


def run(name: str, n: int) -> str:
    model, stream = MODELS[name](), Hyperplane(magnitude=0.001, seed=0)
    taken, losses, memory = [], [], []
    for X, y in stream.blocks(n, BLOCK):
        start = time.perf_counter()
        found = model.test_then_train(X, y, classes=[0, 1])
        taken.append(time.perf_counter() - start)
        losses.append(-np.log(np.maximum(found[np.arange(len(y)), y], 1e-15)).mean())
        memory.append(resident())
    tenth = max(1, len(taken) // 10)
    # the first tenth without the block that compiles
    first, last = np.array(taken[1 : tenth + 1]), np.array(taken[-tenth:])
    cells = [
        name,
        f"{BLOCK / np.median(first):,.0f} → {BLOCK / np.median(last):,.0f}",
        f"{first.max() * 1e3:.0f} → {last.max() * 1e3:.0f}",
        f"{memory[tenth]:.0f} → {memory[-1]:.0f}",
        f"{model.nbytes_ / 2**20:.2f}",
        f"{model.growth_.n_nodes:,}",
        f"{np.mean(losses[1 : tenth + 1]):.3f} → {np.mean(losses[-tenth:]):.3f}",
        "yes" if is_sound(model) else "**no**",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--only", nargs="+", choices=[*MODELS])
    parser.add_argument("--write", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    lines = [
        "| model | rows per second | slowest block (ms) | memory of the process (MiB) | model (MiB) | nodes "
        "| cross-entropy | all finite |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in options.only or MODELS:
        lines.append(run(name, options.rows))
        print(lines[-1], flush=True)
    text = f"{options.rows:,} rows; first tenth → last tenth.\n\n" + "\n".join(lines) + f"\n\n{machine()}, one thread\n"
    if options.write:
        write_page(options.write, "endless", text)


if __name__ == "__main__":
    main()
