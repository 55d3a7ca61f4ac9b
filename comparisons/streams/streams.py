"""The streams of the comparison: generators of the package and of river with drifts, and real data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from river.datasets import synth

from softwood.datasets import load_dataset
from softwood.stream import LED, SEA, Agrawal, Hyperplane, OversampledClasses, RandomRBF

# Seeds of the table. The defaults of the forest were chosen on other streams, see docs/comparisons/streams.md.
SEED = 100


@dataclass(frozen=True)
class Rows:
    """Rows in memory: X (n, n_features) float64, and y (n,), int64 numbers of classes or float64 targets."""

    X: np.ndarray
    y: np.ndarray

    @property
    def is_class(self) -> bool:
        return self.y.dtype.kind == "i"


def of_package(make: Callable[[int], Any]) -> Callable[[int], Rows]:
    """A generator of the package; `make` gets the number of rows, by which drifts are placed."""

    def rows(n: int) -> Rows:
        X, y = make(n).take(n)
        return _rows(X, y)

    return rows


def of_river(make: Callable[[int], Iterable[tuple[dict, Any]]], is_class: bool = True) -> Callable[[int], Rows]:
    """Pairs of river's; truth values become numbers."""

    def rows(n: int) -> Rows:
        pairs = list(make(n))
        X = np.array([[float(value) for value in x.values()] for x, _ in pairs])
        return _rows(X, np.array([y for _, y in pairs], dtype=object if is_class else np.float64))

    return rows


def of_data(name: str, in_order: bool = False) -> Callable[[int], Rows]:
    """Real data, text as columns of 0 and 1: all rows shuffled, or every k-th row in the order of the file."""

    def rows(n: int) -> Rows:
        data = load_dataset(name)
        order = np.random.default_rng(SEED).permutation(len(data.y))[:n]
        if in_order:
            order = np.arange(0, len(data.y), max(1, len(data.y) // n))[:n]
        X = pd.get_dummies(data.X.iloc[order]).astype(float)
        y = np.asarray(data.y)[order]
        return _rows(X.to_numpy(), y.astype(np.float64) if data.task == "regression" else y)

    return rows


def _rows(X: Any, y: Any) -> Rows:
    y = np.asarray(y)
    if y.dtype.kind != "f":
        y = np.unique(y.astype(str), return_inverse=True)[1].astype(np.int64)
    return Rows(np.ascontiguousarray(X, dtype=np.float64), y)


def functions_in_turn(
    kind: Any, functions: tuple[int, ...], seed: int = SEED, **settings: Any
) -> Callable[[int], Iterable[tuple[dict, Any]]]:
    """One function of a generator after the other, for equal parts of the stream."""

    def pairs(n: int) -> Iterable[tuple[dict, Any]]:
        bounds = np.linspace(0, n, len(functions) + 1).astype(int)
        for k, function in enumerate(functions):
            made = kind(classification_function=function, seed=seed + k, **settings)
            yield from made.take(int(bounds[k + 1] - bounds[k]))

    return pairs


def _random_tree(n: int) -> Iterable[tuple[dict, Any]]:
    """Another tree in the second half."""
    for k in range(2):
        made = synth.RandomTree(seed_tree=SEED + k, seed_sample=SEED, n_classes=4, n_cat_features=0, n_num_features=8)
        yield from made.take(n // 2)


def _drifting_friedman(kind: str) -> Callable[[int], Iterable[tuple[dict, Any]]]:
    position = {"lea": (0.25, 0.5, 0.75), "gra": (0.35, 0.75), "gsg": (0.35, 0.75)}[kind]

    def pairs(n: int) -> Iterable[tuple[dict, Any]]:
        at = tuple(int(part * n) for part in position)
        return synth.FriedmanDrift(drift_type=kind, position=at, transition_window=max(1, n // 20), seed=SEED).take(n)

    return pairs


def _oversampled(n: int) -> Any:
    data = load_dataset("satimage")
    return OversampledClasses(data.X.to_numpy(float), np.asarray(data.y), n_drifts=5, n_samples=n, noise=0.1, seed=SEED)


CLASSES: dict[str, Callable[[int], Rows]] = {
    "SEA, abrupt": of_package(lambda n: SEA(drift_every=n // 4, noise=0.1, seed=SEED)),
    "Agrawal, abrupt": of_package(lambda n: Agrawal(functions=(0, 1, 4, 5), drift_every=n // 4, seed=SEED)),
    "Agrawal, gradual, perturbed": of_package(
        lambda n: Agrawal(functions=(2, 7, 9), drift_every=n // 3, drift_width=n // 10, perturbation=0.05, seed=SEED)
    ),
    "hyperplane, slow": of_package(lambda n: Hyperplane(magnitude=0.001, n_drift_features=10, seed=SEED)),
    "hyperplane, fast": of_package(lambda n: Hyperplane(magnitude=0.01, n_drift_features=5, seed=SEED)),
    "RBF": of_package(lambda n: RandomRBF(n_classes=5, seed=SEED)),
    "RBF, moving": of_package(lambda n: RandomRBF(n_classes=5, speed=0.001, seed=SEED)),
    "LED, drift": of_package(lambda n: LED(noise=0.1, irrelevant=True, n_drift_features=7, seed=SEED)),
    "satimage, oversampled": of_package(_oversampled),
    "sine": of_river(functions_in_turn(synth.Sine, (0, 1, 2, 3))),
    "mixed": of_river(functions_in_turn(synth.Mixed, (0, 1, 0, 1))),
    "STAGGER": of_river(functions_in_turn(synth.STAGGER, (0, 1, 2))),
    "waveform, noise": of_river(lambda n: synth.Waveform(seed=SEED, has_noise=True).take(n)),
    "random tree": of_river(_random_tree),
    "LEDDrift of river": of_river(
        lambda n: synth.LEDDrift(seed=SEED, noise_percentage=0.2, irrelevant_features=True, n_drift_features=4).take(n)
    ),
    "covertype": of_data("covertype", in_order=True),
    "poker hands": of_data("poker_hand_100k", in_order=True),
    "KDD cup 99": of_data("kddcup99_10pct", in_order=True),
    "sleep": of_data("sleep"),
    "nursery": of_data("nursery"),
    "thyroid": of_data("ann_thyroid"),
    "optdigits": of_data("optdigits"),
    "texture": of_data("texture"),
    "churn": of_data("churn"),
    "twonorm": of_data("twonorm"),
}
REALS: dict[str, Callable[[int], Rows]] = {
    "Friedman": of_river(lambda n: synth.Friedman(seed=SEED).take(n), is_class=False),
    "Friedman, local drift": of_river(_drifting_friedman("lea"), is_class=False),
    "Friedman, global drift": of_river(_drifting_friedman("gra"), is_class=False),
    "Friedman, slow drift": of_river(_drifting_friedman("gsg"), is_class=False),
    "bike sharing": of_data("bike_sharing_hour", in_order=True),
}
STREAMS = CLASSES | REALS
