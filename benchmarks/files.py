"""Files: saving and loading beside joblib and skops, the command line's start, and streams through it.

Run:  python benchmarks/files.py [--times N] [--write docs/comparisons/benchmarks.md]

Files are flushed to the disk when softwood saves, and not when joblib and skops do; both seconds of a clock and of the
processor are shown, the least of several runs, measured in turn. skops is left out if it is not installed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from measuring import machine, write_page

import softwood

FORMATS = "| what | format | MB | save (ms) | save (MB/s) | save, processor (MB/s) | load (ms) | load (MB/s) |"
STREAMS = "| stream, whole process | rows per second | part of the API's | MB, a tenth of the rows | MB, all rows |"
STARTS = "| what | seconds | target | met |"


def models() -> dict[str, object]:
    """A hundred trees of 31 leaves, and a forest of about 100 MB."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120_000, 10))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(size=len(X))
    small = softwood.KernelBoostingRegressor(max_iter=100, max_leaf_nodes=31, bandwidth=0.0, random_state=0)
    large = softwood.KernelForestRegressor(n_estimators=7, bandwidth=0.0, random_state=0)
    return {"100 trees of 31 leaves": small.fit(X[:20_000], y[:20_000]), "a large forest": large.fit(X, y)}


def least(works: dict[str, Callable[[], object]], times: int) -> dict[str, tuple[float, float]]:
    """Least seconds of each, by the clock and of the processor, measured in turn."""
    best = dict.fromkeys(works, (np.inf, np.inf))
    for _ in range(times):
        for name, work in works.items():
            clock, processor = time.perf_counter(), time.process_time()
            work()
            found = time.perf_counter() - clock, time.process_time() - processor
            best[name] = min(best[name][0], found[0]), min(best[name][1], found[1])
    return best


def works_of(model: object, folder: Path) -> dict[str, tuple[Callable[[], object], Callable[[], object], Path]]:
    """For each format how to save, how to load, and the file."""
    paths = {name: folder / f"model.{name}" for name in ("softwood", "joblib", "skops")}
    found: dict[str, tuple[Callable[[], object], Callable[[], object], Path]] = {
        "softwood": (
            lambda: softwood.save(model, paths["softwood"]),
            lambda: softwood.load(paths["softwood"]),
            paths["softwood"],
        ),
        "joblib": (lambda: joblib.dump(model, paths["joblib"]), lambda: joblib.load(paths["joblib"]), paths["joblib"]),
    }
    if find_spec("skops"):
        import skops.io

        skops.io.dump(model, paths["skops"])
        trusted = skops.io.get_untrusted_types(file=paths["skops"])
        found["skops"] = (
            lambda: skops.io.dump(model, paths["skops"]),
            lambda: skops.io.load(paths["skops"], trusted=trusted),
            paths["skops"],
        )
    return found


def formats(folder: Path, times: int) -> list[str]:
    """A line for each model and format."""
    lines = []
    for what, model in models().items():
        works = works_of(model, folder)
        saved = least({name: work[0] for name, work in works.items()}, times)
        loaded = least({name: work[1] for name, work in works.items()}, times)
        for name, (_, _, path) in works.items():
            size = path.stat().st_size / 1e6
            (save, processor), (load, _) = saved[name], loaded[name]
            lines.append(
                f"| {what} | {name} | {size:.1f} | {1e3 * save:.1f} | {size / save:,.0f} | {size / processor:,.0f} | "
                f"{1e3 * load:.1f} | {size / load:,.0f} |"
            )
    return lines


def start(times: int) -> tuple[float, float]:
    """Seconds of `softwood --help`, by the clock and of this process."""
    command = [sys.executable, "-m", "softwood", "--help"]
    return least({"help": lambda: subprocess.run(command, capture_output=True, check=True)}, times)["help"]


# What the command does, in Python; both print the most memory of their process, as Linux counts it.
BY_PYTHON = """
import sys
from softwood.stream import HoeffdingTreeClassifier, prequential
prequential(HoeffdingTreeClassifier(), sys.argv[1], target="y", classes=["down", "up"])
"""
BY_COMMAND = """
import sys
from softwood.cli import main
main(["stream", sys.argv[1], "--target", "y", "--model", "hoeffding-tree", "-o", sys.argv[1] + ".softwood"])
"""
MEMORY = """
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1], file=sys.stderr)
"""


def stream(folder: Path, n_rows: int, times: int) -> list[str]:
    """Rows per second of `prequential` and of `softwood stream` over a file, each in a process of its own."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n_rows, 5)), columns=list("abcde")).round(4)
    table["y"] = np.where(table["a"] + table["b"] * (table["c"] > 0) > 0, "up", "down")
    table.to_csv(folder / "all.csv", index=False)
    table[: n_rows // 10].to_csv(folder / "tenth.csv", index=False)
    del table
    codes = {"prequential": BY_PYTHON, "softwood stream": BY_COMMAND}
    seconds = dict.fromkeys(codes, np.inf)
    memory: dict[str, list[float]] = {name: [] for name in codes}
    for file in ["tenth.csv"] + ["all.csv"] * times:
        for name, code in codes.items():
            begin = time.perf_counter()
            command = [sys.executable, "-c", code + MEMORY, str(folder / file)]
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            if file == "all.csv":
                seconds[name] = min(seconds[name], time.perf_counter() - begin)
            memory[name].append(int(run.stderr.split()[-1]) / 1e3)
    return [
        f"| {name} | {n_rows / seconds[name]:,.0f} | {seconds['prequential'] / seconds[name]:.2f} | "
        f"{memory[name][0]:.0f} | {memory[name][-1]:.0f} |"
        for name in codes
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [FORMATS, "|" + "---|" * (FORMATS.count("|") - 1), *formats(folder, chosen.times), "", STARTS]
        seconds, _ = start(chosen.times)
        lines += [
            "|---|---|---|---|",
            f"| softwood --help | {seconds:.2f} | 0.2 | {'yes' if seconds <= 0.2 else 'no'} |",
        ]
        lines += ["", STREAMS, "|" + "---|" * (STREAMS.count("|") - 1), *stream(folder, chosen.rows, 3)]
    print(machine(), *lines, sep="\n")
    if chosen.write:
        write_page(chosen.write, "files", "\n".join([machine(), "", *lines, ""]))


if __name__ == "__main__":
    main()
