"""Small models of every estimator, with its main options: what their predictions must stay.

    python tests/golden/models.py             compares the present code with the stored predictions, to the last bit
    python tests/golden/models.py --write     stores those of the present code
    python tests/golden/models.py --file F    uses another file, to compare two versions of the code

`test_golden.py` compares them, too, with tolerances that hold on any processor.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.contract.specs import SPECS, Change, Spec
from tests.models import answer

FILE = Path(__file__).parent / "predictions.npz"
N_ROWS = 12


def cases(spec: Spec) -> dict[str, dict[str, Any]]:
    """Parameters by a short name: the quick settings, and each parameter that changes the model by the contract."""
    found: dict[str, dict[str, Any]] = {"as it is": {}}
    for name, change in spec.changes.items():
        found[name] = {**change.given, name: change.value} if isinstance(change, Change) else {name: change}
    return found


def table(spec: Spec, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows and targets with some missing cells, and rows to predict."""
    X, y = spec.table(n=200, n_classes=n_classes)
    X[::17, 1] = np.nan
    rows = spec.table(n=N_ROWS, seed=1)[0]
    rows[0, 0] = np.nan
    return X, y, rows


def predictions(spec: Spec) -> Iterator[tuple[str, np.ndarray]]:
    """Name and predictions of every case of an estimator."""
    for name, given in cases(spec).items():
        # three classes, but for options that are for two, such as weights by class and monotonic constraints
        X, y, rows = table(spec, 2 if name in ("class_weight", "monotonic_cst") else 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = spec.make(**given).fit(X, y)
        yield f"{spec.name}, {name}", answer(model, rows).reshape(N_ROWS, -1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="", help="beginning of the names of estimators")
    parser.add_argument("--file", type=Path, default=FILE, help="where predictions are stored")
    arguments = parser.parse_args()
    stored = dict(np.load(arguments.file)) if arguments.file.exists() else {}
    n_other = n_same = 0
    for spec in SPECS:
        if not spec.name.startswith(arguments.only):
            continue
        for name, found in predictions(spec):
            if arguments.write:
                stored[name] = found
            elif np.array_equal(stored[name], found):
                n_same += 1
            else:
                n_other += 1
                print(f"{name}: differs by up to {np.abs(stored[name] - found).max():.3g}", flush=True)
    if arguments.write:
        np.savez_compressed(arguments.file, **stored)
        print(f"{len(stored)} models, {arguments.file.stat().st_size / 1024:.0f} KB")
    else:
        print(f"{n_same} models with the same bits, {n_other} others")
        sys.exit(n_other > 0)


if __name__ == "__main__":
    main()
