"""First use: the first fit and prediction of a process beside the second one, imports, memory, and a whole process.

Run:  python benchmarks/first_use.py [--only NAME ...] [--times N] [--write docs/comparisons/benchmarks.md]

Each row is a process of its own, which fits the model twice with its default parameters to data of scikit-learn and
predicts all rows. Medians of several processes, in CPU seconds; memory is the resident size after the import.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from measuring import machine, run_python, write_page

CODE = """
import time
start = time.process_time()
import numpy, sklearn.datasets
from {module} import {name} as Model
imported = time.process_time()
memory = int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6
X, y = sklearn.datasets.load_{data}(return_X_y=True)
seconds = []
for _ in range(2):
    begin = time.process_time()
    model = Model()
    {work}
    seconds.append(time.process_time() - begin)
print(imported - start, *seconds, memory, sep=";")
"""
FIT = "model.fit(X, y); model.predict_proba(X) if hasattr(model, 'predict_proba') else model.predict(X)"
LEARN = FIT.replace("fit(X, y)", "partial_fit(X, y, **({'classes': numpy.unique(y)} if y.dtype == int else {}))")
TAKE = "model.take(1000)"

# module, class, data of scikit-learn, and what is done
ROWS = {
    "kernel tree, 2 classes": ("softwood", "KernelTreeClassifier", "breast_cancer", FIT),
    "kernel tree, 3 classes": ("softwood", "KernelTreeClassifier", "iris", FIT),
    "kernel tree, a target": ("softwood", "KernelTreeRegressor", "diabetes", FIT),
    "kernel forest, 3 classes": ("softwood", "KernelForestClassifier", "iris", FIT),
    "kernel extra trees, 3 classes": ("softwood", "KernelExtraTreesClassifier", "iris", FIT),
    "kernel boosting, 2 classes": ("softwood", "KernelBoostingClassifier", "breast_cancer", FIT),
    "soft tree, 3 classes": ("softwood", "SoftTreeClassifier", "iris", FIT),
    "linear discriminant tree, 3 classes": ("softwood", "LinearDiscriminantTreeClassifier", "iris", FIT),
    "one-stage tree, 3 classes": ("softwood", "OneStageTreeClassifier", "iris", FIT),
    "one-stage forest, 3 classes": ("softwood", "OneStageForestClassifier", "iris", FIT),
    "budding tree, 3 classes": ("softwood", "BuddingTreeClassifier", "iris", FIT),
    "end-to-end tree, 3 classes": ("softwood", "EndToEndTreeClassifier", "iris", FIT),
    "Hoeffding tree, 3 classes": ("softwood.stream", "HoeffdingTreeClassifier", "iris", LEARN),
    "Hoeffding tree, a target": ("softwood.stream", "HoeffdingTreeRegressor", "diabetes", LEARN),
    "soft Hoeffding tree, 3 classes": ("softwood.stream", "SoftHoeffdingTreeClassifier", "iris", LEARN),
    "soft Hoeffding tree, a target": ("softwood.stream", "SoftHoeffdingTreeRegressor", "diabetes", LEARN),
    "complete soft tree on a stream, 3 classes": ("softwood.stream", "SmoothStepTreeClassifier", "iris", LEARN),
    "generator, Agrawal": ("softwood.stream", "Agrawal", "iris", TAKE),
}
# The most that a first fit may take longer than a second one, and that a process with a fit may take, in seconds.
LONGER, PROCESS = 0.3, 1.3
HEADING = "| model | import (s) | memory (MB) | first (s) | second (s) | difference | target | met |"
WHOLE = """
import sklearn.datasets, softwood
softwood.KernelTreeClassifier().fit(*sklearn.datasets.load_iris(return_X_y=True))
print(0)
"""


def first_use(module: str, name: str, data: str, work: str) -> np.ndarray:
    """Import, first and second time (s), memory (MB)."""
    return np.array(run_python(CODE.format(module=module, name=name, data=data, work=work)).split(";"), np.float64)


def whole_process() -> float:
    """Seconds of a process that imports softwood and fits a kernel tree to iris."""
    start = time.perf_counter()
    run_python(WHOLE)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*ROWS], help="only these rows")
    parser.add_argument("--times", type=int, default=5, help="processes for each row (default %(default)s)")
    parser.add_argument("--write", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    lines = [HEADING, "|---" * (HEADING.count("|") - 1) + "|"]
    for row in options.only or ROWS:
        imports, first, second, memory = np.median([first_use(*ROWS[row]) for _ in range(options.times)], axis=0)
        met = "yes" if first - second <= LONGER else "**no**"
        found = f"{imports:.2f} | {memory:.0f} | {first:.2f} | {second:.2f} | {first - second:.2f}"
        lines.append(f"| {row} | {found} | ≤ {LONGER} s | {met} |")
        print(lines[-1], flush=True)
    whole = np.median([whole_process() for _ in range(options.times)])
    met = "met" if whole <= PROCESS else "not met"
    lines.append(f"\nA process that fits a kernel tree to iris: {whole:.2f} s (target ≤ {PROCESS} s, {met}).")
    print(lines[-1])
    if options.write:
        write_page(options.write, "first_use", "\n".join(lines) + f"\n\n{machine()}\n")


if __name__ == "__main__":
    main()
