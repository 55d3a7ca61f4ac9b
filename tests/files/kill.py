"""Kill a process that saves one model after the other, at a random moment, and look at what it leaves.

    python tests/files/kill.py --count 500

After every kill the file must be complete: the model of the last save, or the one before. At the end, the next save
removes the temporary files.
"""

from __future__ import annotations

import argparse
import collections
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

import softwood
from tests.files.models import bare_tree


def model(number: int) -> softwood.SoftForest:
    """One of two forests of different sizes, a few MB each."""
    return softwood.SoftForest.mean([bare_tree()] * (3000 + 1000 * number))


def _save_for_ever(models: list[softwood.SoftForest], path: Path) -> None:
    while True:
        for one in models:
            softwood.save(one, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    rng = np.random.default_rng(chosen.seed)
    counts: collections.Counter = collections.Counter()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        path = Path(name) / "model.softwood"
        models, expected = [model(number) for number in range(2)], set()
        for one in models:
            softwood.save(one, path)
            expected.add(path.read_bytes())
        for _ in range(chosen.count):
            process = os.fork()
            if process == 0:  # which ends in no other way than by the signal
                _save_for_ever(models, path)
            time.sleep(float(rng.uniform(0.0, 0.1)))
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            left_over = [entry for entry in os.listdir(name) if entry.endswith(".part")]
            counts["in the middle of writing"] += bool(left_over)
            assert path.read_bytes() in expected, "the file is neither the old one nor the new one"
            assert len(left_over) <= 1, left_over
        assert len(softwood.load(path)) in (3000, 4000)
        softwood.save(models[0], path)
        assert os.listdir(name) == ["model.softwood"]
    print(f"{chosen.count} kills, {counts['in the middle of writing']} in the middle of writing: always a whole file")


if __name__ == "__main__":
    main()
