"""The data streams of the Soft Hoeffding Tree paper (its table 1), at any length, generated or from data sets."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from softwood.datasets import load_dataset
from softwood.stream import SEA, Agrawal, Hyperplane, OversampledClasses, RandomRBF, Stream

HERE = Path(__file__).resolve().parent
FEWEST = 5000  # rows of a stream, however small the scale
N_DRIFTS = 10
FREQUENT = 0.75  # share of the class that a context has most of
KERNEL_NOISE = 0.1  # standard deviation of the noise on resampled rows, in standard deviations of the column


class Rows(NamedTuple):
    """A stream of a certain length, all of it."""

    X: np.ndarray
    y: np.ndarray
    classes: np.ndarray


Make = Callable[[int, int], Rows]  # number of rows, seed


def generated(make: Callable[[int, int], Stream], n_rows: int, seed: int) -> Rows:
    """Rows of a generator."""
    stream = make(n_rows, seed)
    X, y = stream.take(n_rows)
    return Rows(X, y, np.arange(len(stream.classes)))


def sea_of_two(n_rows: int, seed: int) -> Stream:
    """The paper's one drift, after 500 000 of 10^6 rows: in the middle, whatever the length."""
    return SEA(drift_every=max(1, n_rows // 2), seed=seed)


def agrawal_abrupt(n_rows: int, seed: int) -> Stream:
    """Ten drifts, through all ten functions and back to the first."""
    return Agrawal(drift_every=-(-n_rows // (N_DRIFTS + 1)), seed=seed)


@cache
def numbers(name: str) -> tuple[np.ndarray, np.ndarray, int]:
    """A data set as a matrix (a column of 0 and 1 for each category of text columns), class numbers and their count."""
    data = load_dataset(name)
    labels, codes = np.unique(data.y, return_inverse=True)
    return pd.get_dummies(data.X, dtype=float).to_numpy(dtype=float), codes, len(labels)


def resampled(name: str, n_rows: int, seed: int) -> Rows:
    """Rows of a data set drawn again with small noise, in contexts that each have most of one class."""
    X, y, n_classes = numbers(name)
    stream = OversampledClasses(
        X, y, n_drifts=N_DRIFTS, share=FREQUENT, n_samples=n_rows, noise=KERNEL_NOISE, seed=seed
    )  # fmt: skip
    rows, codes = stream.take(n_rows)
    return Rows(rows, codes, np.arange(n_classes))


def shuffled(name: str, n_rows: int, seed: int) -> Rows:
    """So many rows of a data set, in random order."""
    X, y, n_classes = numbers(name)
    order = np.random.default_rng(seed).permutation(len(y))[:n_rows]
    return Rows(np.ascontiguousarray(X[order]), y[order], np.arange(n_classes))


MAKE: dict[str, Make] = {
    "sea_50": partial(generated, lambda n, seed: SEA(drift_every=50, seed=seed)),
    "sea_500000": partial(generated, sea_of_two),
    "hyperplane_0.0001": partial(generated, lambda n, seed: Hyperplane(magnitude=0.0001, seed=seed)),
    "hyperplane_0.001": partial(generated, lambda n, seed: Hyperplane(magnitude=0.001, seed=seed)),
    "rbf_0.0001": partial(generated, lambda n, seed: RandomRBF(n_classes=5, speed=0.0001, seed=seed)),
    "rbf_0.001": partial(generated, lambda n, seed: RandomRBF(n_classes=5, speed=0.001, seed=seed)),
    "agrawal_abrupt": partial(generated, agrawal_abrupt),
    "agrawal_perturbed": partial(generated, lambda n, seed: Agrawal(perturbation=0.1, seed=seed)),
    "sleep": partial(resampled, "sleep"),
    "nursery": partial(resampled, "nursery"),
    "twonorm": partial(resampled, "twonorm"),
    "ann_thyroid": partial(resampled, "ann_thyroid"),
    "satimage": partial(resampled, "satimage"),
    "optdigits": partial(resampled, "optdigits"),
    "texture": partial(resampled, "texture"),
    "churn": partial(resampled, "churn"),
    "poker": partial(shuffled, "poker_hand_100k"),
    "covertype": partial(shuffled, "covertype"),
    "kdd99": partial(shuffled, "kddcup99_10pct"),
}
STREAMS = tuple(MAKE)
# Rows of the files of those that are not drawn again and again.
LONGEST = {"poker": 99_998, "covertype": 581_012, "kdd99": 494_021}
TITLES = {
    "sea_50": "SEA(50)", "sea_500000": "SEA(5·10⁵)", "hyperplane_0.0001": "HYP .0001", "hyperplane_0.001": "HYP .001",
    "rbf_0.0001": "RBF .0001", "rbf_0.001": "RBF .001", "agrawal_abrupt": "AGR abrupt",
    "agrawal_perturbed": "AGR perturbed", "sleep": "Sleep", "nursery": "Nursery", "twonorm": "Twonorm",
    "ann_thyroid": "Ann-Thyroid", "satimage": "Satimage", "optdigits": "Optdigits", "texture": "Texture",
    "churn": "Churn", "poker": "Poker", "covertype": "Covertype", "kdd99": "KDD99", "epsilon": "Epsilon",
}  # fmt: skip


def published() -> dict[str, dict[str, str]]:
    """What the paper says of each stream: size, kind of drift and results."""
    with (HERE / "published.csv").open(newline="", encoding="utf-8") as lines:
        return {row["stream"]: row for row in csv.DictReader(lines)}


def length(name: str, scale: float, max_rows: int | None = None) -> int:
    """Rows of a stream: the published number times the scale, at least 5 000 and at most what there is."""
    wanted = max(FEWEST, round(scale * int(published()[name]["instances"])))
    return min(wanted, max_rows or wanted, LONGEST.get(name, wanted))


def make_stream(name: str, n_rows: int, seed: int) -> Rows:
    """The stream of a repetition, whose number is the seed."""
    return MAKE[name](n_rows, seed)
