"""Results that the present code would change: python scripts/stale.py [--files NAME ...] [--lines 2] [--seconds 20]

For every file of results and every model of softwood in it, the oldest lines that took up to ``--seconds`` are run
again, the quickest first, and compared with the committed figures. Data come from the folder SOFTWOOD_DATA, or from
OpenML.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # a script finds only what is beside it

# Figures that agree to so many digits are the same: lines have six of them, and processors round in different ways.
SAME = 1e-4
TIMES = ("seconds", "fit_seconds")


class File(NamedTuple):
    """A file of results: the script that wrote it, the column that names the model, and the models of softwood."""

    script: ModuleType
    path: Path
    column: str
    models: frozenset[str]


def kernel_density() -> File:
    from papers.kernel_density import table2
    from papers.kernel_density.table2_columns import COLUMNS

    own = frozenset(name for name, column in COLUMNS.items() if not column.is_baseline)
    return File(table2, table2.Files().folds, "column", own)


def soft_decision_tree() -> File:
    from papers.soft_decision_tree import tables

    return File(tables, tables.RUNS, "column", frozenset(tables.COLUMNS) - {"hard", "hard_full"})


def one_stage() -> File:
    from papers.one_stage import tables

    return File(tables, tables.RUNS, "model", frozenset(tables.MODELS) - {"cart", "xgboost", "linear_svm", "mlp"})


def probabilistic_forest() -> File:
    from papers.probabilistic_forest import tables

    return File(tables, tables.RUNS, "model", frozenset(tables.MODELS) - {"forest_sklearn", "prf_10", "prf_100"})


def soft_hoeffding() -> File:
    from papers.soft_hoeffding import tables

    return File(tables, tables.RUNS, "model", frozenset(tables.MODELS))


def soft_hoeffding_options() -> File:
    from papers.soft_hoeffding import options

    return File(options, options.RUNS, "option", frozenset(options.OPTIONS))


def boosting() -> File:
    from comparisons.boosting import run
    from comparisons.boosting.models import OURS

    return File(run, run.RUNS, "model", frozenset({OURS}))


def intervals() -> File:
    from comparisons.intervals import run

    return File(run, run.RUNS, "model", frozenset(run.OURS))


def sets() -> File:
    from comparisons.intervals import sets

    return File(sets, sets.RUNS, "model", frozenset(name for name in sets.MODELS if name.startswith("softwood")))


def small_trees() -> File:
    from comparisons.small_trees import run
    from comparisons.small_trees.models import SOFTWOOD

    return File(run, run.RUNS, "model", frozenset(SOFTWOOD))


def streams() -> File:
    from comparisons.streams import run

    return File(run, run.RUNS, "model", frozenset(name for name in run.MODELS if not name.startswith("river")))


# Functions, because scripts import the peers that they compare with.
FILES: dict[str, Callable[[], File]] = {
    file.__name__: file
    for file in (
        kernel_density, soft_decision_tree, one_stage, probabilistic_forest, soft_hoeffding, soft_hoeffding_options,
        boosting, intervals, sets, small_trees, streams,
    )
}  # fmt: skip


def differences(file: File, line: dict[str, Any]) -> list[str]:
    """The figures of a line that are not those of the present code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = file.script.repeat(line)
    names = [name for name, kind in file.script.RESULTS.figures.items() if kind is not str and name not in TIMES]
    pairs = [(name, float(line[name]), float(found[name])) for name in names if name in found]
    return [
        f"{name} {old:.5g} -> {new:.5g}"
        for name, old, new in pairs
        if not (math.isclose(old, new, rel_tol=SAME, abs_tol=1e-6) or (math.isnan(old) and math.isnan(new)))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="+", choices=[*FILES], default=[*FILES])
    parser.add_argument("--lines", type=int, default=2, help="lines of each model to run again")
    parser.add_argument("--seconds", type=float, default=20.0, help="lines that took longer are not run again")
    options = parser.parse_args()
    for name in options.files:
        file = FILES[name]()
        rows = file.script.RESULTS.read(file.path)
        for model in sorted({row[file.column] for row in rows} & file.models):
            own = [row for row in rows if row[file.column] == model]
            took = next(column for column in TIMES if column in own[0])
            quick = [row for row in own if row[took] <= options.seconds]
            tried = sorted(quick, key=lambda row: (row["version"], row[took]))
            changed = [text for row in tried[: options.lines] for text in differences(file, row)]
            state = "not tried" if not tried else "; ".join(changed) if changed else "as committed"
            print(f"{name}: {model}: {len(own)} lines, from {min(row['version'] for row in own)}: {state}", flush=True)


if __name__ == "__main__":
    main()
