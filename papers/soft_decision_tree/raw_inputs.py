"""Why the paper loses on spambase and magic: soft trees on inputs as they are, and on standardised ones.

    python papers/soft_decision_tree/raw_inputs.py [--data-sets spambase magic_gamma] [--columns soft]

The paper does not speak of scaling. softwood always standardises inside; here that is switched off, with the paper's
own settings and with our defaults, over the ten runs of tables.py.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from unittest import mock

import numpy as np

from softwood.gradient.data import Scaling

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # a script finds only what is beside it

from papers.soft_decision_tree.tables import COLUMNS, read_halves, run_one
from papers.soft_decision_tree.tables_summary import CLASSES, REALS


def no_scaling(matrix: np.ndarray, weights: np.ndarray) -> Scaling:
    """The scaling that changes nothing."""
    return Scaling(np.zeros(matrix.shape[1]), np.ones(matrix.shape[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", nargs="+", choices=[*REALS, *CLASSES], default=["spambase", "magic_gamma"])
    parser.add_argument("--columns", nargs="+", choices=[*COLUMNS], default=["soft_as_published", "soft"])
    options = parser.parse_args()
    for name in options.data_sets:
        for column in options.columns:
            for words, scaling in (("raw inputs", no_scaling), ("standardised", Scaling.of)):
                with mock.patch.object(Scaling, "of", scaling):
                    results = [run_one(column, name in CLASSES, rows) for _, _, rows in read_halves(name)]
                score, nodes = (np.mean([result[key] for result in results]) for key in ("score", "nodes"))
                print(f"{name}, {column}, {words}: {score:.2f}, {nodes:.0f} nodes", flush=True)


if __name__ == "__main__":
    main()
