"""First use: the first fit and prediction of a process, with an empty cache of compiled code and with a full one.

Run:  python benchmarks/first_use.py [--only NAME ...] [--times N] [--write docs/benchmarks.md]

Each row is a process of its own with an empty folder as NUMBA_CACHE_DIR (cold), and then another one with the same
folder (warm); both fit the model with its default parameters to data of scikit-learn and predict all rows. Imports are
measured apart. With --times, medians of so many pairs. What compiling costs is the difference of both.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from measuring import machine, run_python, write_page

CODE = """
import time
start = time.perf_counter()
import numpy, sklearn.datasets
from {module} import {name} as Model
from softwood.compiling import _n_compiled
imported = time.perf_counter()
X, y = sklearn.datasets.load_{data}(return_X_y=True)
begin = time.perf_counter()
model = Model()
{work}
print(imported - start, time.perf_counter() - begin, _n_compiled(), sep=";")
"""
FIT = "model.fit(X, y)\nmodel.predict_proba(X) if hasattr(model, 'predict_proba') else model.predict(X)"
LEARN = FIT.replace("fit(X, y)", "partial_fit(X, y, **({'classes': numpy.unique(y)} if y.dtype == int else {}))")
TAKE = "model.take(1000)"

# module, class, data of scikit-learn, what is done, and the most seconds that it may take with an empty cache
ROWS = {
    "kernel tree, 2 classes": ("softwood", "KernelTreeClassifier", "breast_cancer", FIT, 6),
    "kernel tree, 3 classes": ("softwood", "KernelTreeClassifier", "iris", FIT, 6),
    "kernel tree, a target": ("softwood", "KernelTreeRegressor", "diabetes", FIT, 6),
    "kernel forest, 3 classes": ("softwood", "KernelForestClassifier", "iris", FIT, 10),
    "kernel extra trees, 3 classes": ("softwood", "KernelExtraTreesClassifier", "iris", FIT, 10),
    "kernel boosting, 2 classes": ("softwood", "KernelBoostingClassifier", "breast_cancer", FIT, 10),
    "soft tree, 3 classes": ("softwood", "SoftTreeClassifier", "iris", FIT, 10),
    "linear discriminant tree, 3 classes": ("softwood", "LinearDiscriminantTreeClassifier", "iris", FIT, 10),
    "one-stage tree, 3 classes": ("softwood", "OneStageTreeClassifier", "iris", FIT, 10),
    "one-stage forest, 3 classes": ("softwood", "OneStageForestClassifier", "iris", FIT, 10),
    "budding tree, 3 classes": ("softwood", "BuddingTreeClassifier", "iris", FIT, 10),
    "end-to-end tree, 3 classes": ("softwood", "EndToEndTreeClassifier", "iris", FIT, 10),
    "Hoeffding tree, 3 classes": ("softwood.stream", "HoeffdingTreeClassifier", "iris", LEARN, 10),
    "Hoeffding tree, a target": ("softwood.stream", "HoeffdingTreeRegressor", "diabetes", LEARN, 10),
    "soft Hoeffding tree, 3 classes": ("softwood.stream", "SoftHoeffdingTreeClassifier", "iris", LEARN, 10),
    "soft Hoeffding tree, a target": ("softwood.stream", "SoftHoeffdingTreeRegressor", "diabetes", LEARN, 10),
    "complete soft tree on a stream, 3 classes": ("softwood.stream", "SmoothStepTreeClassifier", "iris", LEARN, 10),
    "generator, Agrawal": ("softwood.stream", "Agrawal", "iris", TAKE, 10),
}
HEADING = "| model | imports (s) | cold (s) | functions compiled | warm (s) | target, cold | met |"


def first_use(module: str, name: str, data: str, work: str) -> np.ndarray:
    """Import and work with an empty cache and with a full one (s), and functions compiled in each, (2, 3)."""
    code = CODE.format(module=module, name=name, data=data, work=work)
    with tempfile.TemporaryDirectory() as folder:
        runs = [run_python(code, NUMBA_CACHE_DIR=folder) for _ in range(2)]
    return np.array([run.split(";") for run in runs], dtype=np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*ROWS], help="only these rows")
    parser.add_argument("--times", type=int, default=1, help="pairs of processes for each row (default %(default)s)")
    parser.add_argument("--write", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    lines = [HEADING, "|---" * (HEADING.count("|") - 1) + "|"]
    for row in options.only or ROWS:
        *what, limit = ROWS[row]
        cold, warm = np.median([first_use(*what) for _ in range(options.times)], axis=0)
        assert warm[2] == 0, f"{row}: compiled again"
        met = "yes" if cold[1] <= limit else "**no**"
        lines.append(f"| {row} | {warm[0]:.1f} | {cold[1]:.1f} | {cold[2]:.0f} | {warm[1]:.2f} | ≤ {limit} s | {met} |")
        print(lines[-1], flush=True)
    if options.write:
        write_page(options.write, "first_use", "\n".join(lines) + f"\n\n{machine()}\n")


if __name__ == "__main__":
    main()
