"""Data, clocks and pages that the benchmarks share."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def blobs(n: int, p: int, classes: int, seed: int = 0) -> Data:
    """Gaussian clusters of scikit-learn, half of the columns informative, and a held-out part."""
    held_out = 5_000
    X, y = make_classification(
        n + held_out, p, n_informative=max(5, p // 2), n_redundant=p // 10, n_classes=classes,
        n_clusters_per_class=2 if classes < 10 else 1, class_sep=1.0 if classes < 10 else 1.5, random_state=seed,
    )  # fmt: skip
    return X[:n], y[:n], X[n:], y[n:]


def letter_like(n: int = 20_000, p: int = 16, classes: int = 26, seed: int = 0) -> Data:
    """Whole numbers from 0 to 15 around a few prototypes per class, like the letter recognition data."""
    rng = np.random.default_rng(seed)
    held_out = 5_000
    prototypes = rng.uniform(2, 13, size=(classes, 3, p))
    y = rng.integers(classes, size=n + held_out)
    X = prototypes[y, rng.integers(3, size=len(y))] + rng.normal(scale=1.8, size=(len(y), p))
    X = np.clip(np.round(X), 0, 15)
    return X[:n], y[:n], X[n:], y[n:]


def seconds(work: Callable[[], object], times: int) -> float:
    """Median duration."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def compare(
    ours: Callable[[], object], peer: Callable[[], object], times: int, *, is_warm: bool = False
) -> tuple[float, float]:
    """Median durations of both, measured in turn so that a slow minute of the machine hits both."""
    if not is_warm:
        ours()  # load modules and fill caches
    pairs = [(seconds(ours, 1), seconds(peer, 1)) for _ in range(times)]
    return float(np.median([a for a, _ in pairs])), float(np.median([b for _, b in pairs]))


TIME_IT = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def run_python(code: str, before: str = "", **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"{before}\n{code}"], capture_output=True, text=True, check=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    return done.stdout.split()[-1]


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def write_page(page: Path, name: str, text: str) -> None:
    """Put a text into a page, between the markers of this name."""
    begin, end = f"<!-- {name} begins -->", f"<!-- {name} ends -->"
    old = page.read_text(encoding="utf-8")
    new = old[: old.index(begin) + len(begin)] + "\n" + text + old[old.index(end) :]
    page.write_text(new, encoding="utf-8")


def merge_rows(page: Path, name: str, lines: list[str]) -> None:
    """Put some rows into the first table between the markers of this name; others stay as they were measured before.

    A row with the same first cell is replaced, a new one goes to the end of the table.
    """
    begin, end = f"<!-- {name} begins -->\n", f"<!-- {name} ends -->"
    old = page.read_text(encoding="utf-8")
    first, last = old.index(begin) + len(begin), old.index(end)
    table, _, rest = old[first:last].partition("\n\n")
    rows = {line.split("|")[1]: line for line in table.splitlines()}
    rows |= {line.split("|")[1]: line for line in lines}
    new = "\n".join(rows.values()) + "\n\n" + rest
    page.write_text(old[:first] + new + old[last:], encoding="utf-8")


def run_rows(
    name: str, description: str | None, peer: str, heading: str, rows: dict[str, Callable[[Path | None], list[str]]]
) -> None:
    """The command of a benchmark: print the lines of its rows, and put their table into a page.

    Parameters
    ----------
    name : of the markers in the page
    peer : what the Python of ``--peer-python``, which every row gets, must have
    heading : of the table
    rows : what can be measured, by name
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", type=Path, help=f"Python of an environment with {peer}")
    parser.add_argument(
        "--only", nargs="+", choices=[*rows], help="only these rows; others stay as they are in the page"
    )
    parser.add_argument("--write", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    lines = [heading, "|---" * (heading.count("|") - 1) + "|"]
    for row in options.only or rows:
        found = rows[row](options.peer_python)
        lines += found
        print("\n".join(found), flush=True)
    if options.write and options.only:
        merge_rows(options.write, name, lines)
    elif options.write:
        write_page(options.write, name, "\n".join(lines) + f"\n\n{machine()}, one thread\n")
