"""The forest beside river's adaptive random forest in turn, in one process: accuracy, and rows per processor second.

    python comparisons/streams/in_turn.py [--streams elec sine] [--rows 12000]

The forest gets the first rows of a stream in blocks of 1 000 and of 50 rows, and as dicts. `elec`, the electricity
market of New South Wales, is read from the folder SOFTWOOD_DATA; it is left out if it is not there. The table in
docs/comparisons/streams.md is written if no stream is named.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # a script finds only what is beside it

from comparisons.results import write_sections  # noqa: E402
from comparisons.streams.models import CLASS_MODELS, FOREST, ONE_BY_ONE, warm_up  # noqa: E402
from comparisons.streams.streams import CLASSES, Rows, of_data  # noqa: E402
from comparisons.streams.summary import ARF  # noqa: E402

PAGE = ROOT / "docs" / "comparisons" / "streams.md"
SCRIPT = "comparisons/streams/in_turn.py"
BLOCKS = (1_000, 50)
# Rows of each stream that are learned, and the number of rows by which its drifts are placed.
N_ROWS, LENGTH = 2_000, 10_000
STREAMS = ("hyperplane, fast", "RBF, moving", "Agrawal, abrupt", "sine", "STAGGER", "covertype", "sleep", "churn")
ELEC_ROWS = 12_000


def of_stream(name: str, n: int | None) -> Rows:
    """The first rows of a stream, and of electricity prices in their order."""
    if name == "elec":
        rows, n = of_data("elec", in_order=True)(10**6), n or ELEC_ROWS
    else:
        rows, n = CLASSES[name](LENGTH), n or N_ROWS
    return Rows(rows.X[:n], rows.y[:n])


def in_blocks(rows: Rows, size: int) -> tuple[float, float]:
    """Accuracy and processor seconds of the forest, test then train."""
    model, classes, right = CLASS_MODELS[FOREST](), np.arange(rows.y.max() + 1), 0
    start = time.process_time()
    for begin in range(0, len(rows.y), size):
        X, y = rows.X[begin : begin + size], rows.y[begin : begin + size]
        right += np.count_nonzero(model.test_then_train(X, y, classes=classes).argmax(axis=1) == y)
    return right / len(rows.y), time.process_time() - start


def one_by_one(rows: Rows, name: str) -> tuple[float, float]:
    """The same of a model with river's methods."""
    pairs = [(dict(enumerate(row)), y) for row, y in zip(rows.X.tolist(), rows.y.tolist(), strict=True)]
    model, right = CLASS_MODELS[name](), 0
    start = time.process_time()
    for x, y in pairs:
        shares: dict[Any, float] = model.predict_proba_one(x)
        right += bool(shares) and max(shares, key=shares.__getitem__) == y
        model.learn_one(x, y)
    return right / len(pairs), time.process_time() - start


def line(name: str, rows: Rows) -> str:
    """A line of the table; the peer runs between two runs of each of ours."""
    ways = [lambda size=size: in_blocks(rows, size) for size in BLOCKS] + [lambda: one_by_one(rows, ONE_BY_ONE)]
    before, peer, after = [way() for way in ways], one_by_one(rows, ARF), [way() for way in ways]
    faster = [f"{2 * peer[1] / (one[1] + two[1]):.1f}" for one, two in zip(before, after, strict=True)]
    cells = [name, f"{len(rows.y)}", f"{before[1][0]:.4f}", f"{peer[0]:.4f}", *faster]
    print(*cells, file=sys.stderr, flush=True)
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", nargs="+", choices=("elec", *CLASSES), metavar="STREAM")
    parser.add_argument("--rows", type=int, help=f"rows of each stream, by default {N_ROWS}, of elec {ELEC_ROWS}")
    chosen = parser.parse_args()
    has_elec = (Path(os.environ.get("SOFTWOOD_DATA", "")) / "elec.csv.gz").exists()
    warm_up()
    lines = [
        f"| stream | rows | {FOREST} | {ARF} | times as fast: blocks of 1 000 | of 50 | dicts |",
        "|---" * 7 + "|",
        *(line(name, of_stream(name, chosen.rows)) for name in chosen.streams or (*["elec"] * has_elec, *STREAMS)),
    ]
    if chosen.streams:
        print("\n".join(lines))
    else:
        write_sections(PAGE, {"in turn": "\n".join(lines)}, SCRIPT)


if __name__ == "__main__":
    main()
