"""The streams on which the package is compared with MOA; categories are numbers of nominal columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from river.datasets import synth

from comparisons.streams.streams import functions_in_turn
from softwood.datasets import load_dataset
from softwood.stream import LED, Agrawal, Hyperplane, RandomRBF


@dataclass(frozen=True)
class Table:
    """Rows in memory: X (n, n_features), y (n,) int64 classes or float64 targets, and which columns are nominal."""

    X: np.ndarray
    y: np.ndarray
    is_nominal: np.ndarray

    @property
    def is_class(self) -> bool:
        return self.y.dtype.kind == "i"

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1


def _table(X: Any, y: Any, is_nominal: Any = False) -> Table:
    X, y = np.ascontiguousarray(X, dtype=np.float64), np.asarray(y)
    if y.dtype.kind != "f":
        y = np.unique(y, return_inverse=True)[1].astype(np.int64)
    return Table(X, y, np.broadcast_to(np.asarray(is_nominal, dtype=bool), X.shape[1:]))


def _of_package(make: Callable[[int, int], Any], is_nominal: Any = False) -> Callable[[int, int], Table]:
    return lambda n, seed: _table(*make(n, seed).take(n), is_nominal)


def _of_river(make: Callable[[int, int], Any], is_class: bool = True) -> Callable[[int, int], Table]:
    """Pairs of river's; whole numbers among the features are categories."""

    def rows(n: int, seed: int) -> Table:
        pairs = list(make(n, seed))
        is_nominal = [isinstance(value, int | np.integer) for value in pairs[0][0].values()]
        targets = [y for _, y in pairs]
        return _table([list(x.values()) for x, _ in pairs], np.array(targets, int if is_class else float), is_nominal)

    return rows


def _stagger(n: int, seed: int) -> Table:
    """Size, colour and shape of three values each, and one of three rules after the other."""
    X, rule = np.random.default_rng(seed).integers(3, size=(n, 3)), np.arange(n) * 3 // n
    size, colour, shape = X.T
    y = np.choose(rule, [(size == 0) & (colour == 0), (colour == 1) | (shape == 1), (size == 1) | (size == 2)])
    return _table(X, y.astype(np.int64), True)


def _every_kth(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of every k-th row of a table of numbers, in the order of the file."""
    data = load_dataset(name)
    order = np.arange(0, len(data.y), max(1, len(data.y) // n))[:n]
    return data.X.to_numpy(np.float64)[order], np.asarray(data.y)[order]


def _covertype(n: int, seed: int) -> Table:
    """The four columns of wilderness areas and the forty of soils are two nominal columns."""
    X, y = _every_kth("covertype", n)
    X = np.column_stack([X[:, :10], X[:, 10:14].argmax(axis=1), X[:, 14:].argmax(axis=1)])
    return _table(X, y, [False] * 10 + [True] * 2)


def _moving_squares(n: int, seed: int) -> Table:
    """Four squares in a row, a class for each, that move to one side and turn round every 600 rows (Losing 2016)."""
    rng, t = np.random.default_rng(seed), np.arange(n) % 1200
    y = rng.integers(4, size=n)
    shift = 5.0 * np.minimum(t, 1200 - t) / 600
    return _table(np.column_stack([1.5 * y + shift, np.zeros(n)]) + rng.uniform(size=(n, 2)), y)


def _kddcup(n: int, seed: int) -> Table:
    """Every k-th connection in the order of the file; its three columns of text are nominal."""
    data = load_dataset("kddcup99_10pct")
    rows = data.X.iloc[np.arange(0, len(data.y), max(1, len(data.y) // n))[:n]]
    is_text = np.array([not pd.api.types.is_numeric_dtype(kind) for kind in rows.dtypes])
    columns = [np.unique(rows[name].astype(str), return_inverse=True)[1] if text else rows[name]
               for name, text in zip(rows, is_text, strict=True)]  # fmt: skip
    return _table(np.column_stack(columns), np.asarray(data.y)[rows.index].astype(str), is_text)


# Education, car and zip code of Agrawal's loans.
LOANS = np.isin(np.arange(9), (3, 4, 5))
CLASSES: dict[str, Callable[[int, int], Table]] = {
    "covertype": _covertype,
    "poker hands": lambda n, seed: _table(*_every_kth("poker_hand_100k", n)),
    "LED, drift": _of_package(lambda n, s: LED(noise=0.1, irrelevant=True, n_drift_features=7, seed=s), True),
    "random tree": _of_river(lambda n, s: synth.RandomTree(s, s, n_classes=2).take(n)),
    "sine, abrupt": _of_river(lambda n, s: functions_in_turn(synth.Sine, (0, 1, 2, 3), 100 * s)(n)),
    "STAGGER, abrupt": _stagger,
    "RBF, slow": _of_package(lambda n, s: RandomRBF(n_classes=5, speed=0.0001, seed=s)),
    "RBF, fast": _of_package(lambda n, s: RandomRBF(n_classes=5, speed=0.001, seed=s)),
    "Agrawal, abrupt": _of_package(lambda n, s: Agrawal(functions=(0, 1, 4, 5), drift_every=n // 4, seed=s), LOANS),
    "Agrawal, gradual": _of_package(
        lambda n, s: Agrawal(functions=(0, 3, 7, 9), drift_every=n // 4, drift_width=n // 10, seed=s), LOANS
    ),
    "hyperplane": _of_package(lambda n, s: Hyperplane(magnitude=0.001, n_drift_features=10, seed=s)),
    "waveform": _of_river(lambda n, s: synth.Waveform(seed=s).take(n)),
    "mixed, abrupt": _of_river(lambda n, s: functions_in_turn(synth.Mixed, (0, 1, 0, 1), 100 * s)(n)),
    "moving squares": _moving_squares,
    "KDD cup 99": _kddcup,
}
REALS: dict[str, Callable[[int, int], Table]] = {
    "bike sharing": lambda n, seed: _table(*_floats(*_every_kth("bike_sharing_hour", n))),
    "Friedman": _of_river(lambda n, s: synth.Friedman(seed=s).take(n), is_class=False),
    "Friedman, local drift": _of_river(
        lambda n, s: synth.FriedmanDrift("lea", (n // 4, n // 2, 3 * n // 4), seed=s).take(n), is_class=False
    ),
}
STREAMS = CLASSES | REALS


def _floats(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return X, y.astype(np.float64)
