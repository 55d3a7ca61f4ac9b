"""The models that are compared, and how each is grown and judged on a fold."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from comparisons.small_trees.peers import PEERS, Grown
from softwood import KernelTreeClassifier, KernelTreeRegressor

# Kernel trees by name: the parameters beside the size, which both the classifier and the regressor take.
SOFTWOOD: dict[str, dict[str, Any]] = {"softwood": {}}
SOFTWOOD_SIZES: dict[str, int | str] = {"8": 8, "16": 16, "32": 32, "small": "small", "default": "auto"}
PEER_SIZES = ("8", "16", "32", "tuned")
MODELS = (*SOFTWOOD, *PEERS)
# Smallest probability that counts: without it, a single 0 of a crisp tree would make its log loss infinite.
LEAST = 1e-6
STOPPED = "stopped"
N_FOLDS = 5


def sizes_of(model: str) -> tuple[str, ...]:
    """The sizes that a model is run at, the cheapest first."""
    return tuple(SOFTWOOD_SIZES) if model in SOFTWOOD else PEER_SIZES


def takes(model: str, task: str) -> bool:
    """Whether there is such a model for the task."""
    return model in SOFTWOOD or task in PEERS[model].tasks


@dataclass(frozen=True)
class Fold:
    """Training and test rows; `encoded` has a column of 0 and 1 for each category, as the peers need it."""

    X: pd.DataFrame
    encoded: np.ndarray
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray
    is_class: bool


def encode(X: pd.DataFrame) -> np.ndarray:
    """Numbers, and a column of 0 and 1 for each value of a category; missing numbers stay missing."""
    return pd.get_dummies(X).astype(float).to_numpy()


def run_model(model: str, size: str, fold: Fold, seconds: float) -> dict[str, Any]:
    """Grow a model on the training rows and judge it on the test rows; it may take so many seconds."""
    # Labels are the numbers of the classes: ConTree and STreeD take nothing else.
    classes, y = np.unique(fold.y[fold.train], return_inverse=True) if fold.is_class else (None, fold.y[fold.train])
    X: Any = fold.X if model in SOFTWOOD else _columns(model, fold)
    take = X.iloc if isinstance(X, pd.DataFrame) else X
    package = None if model in SOFTWOOD else PEERS[model].load()
    start = time.process_time()
    try:
        with limit(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if model in SOFTWOOD:
                grown = _kernel_tree(take[fold.train], y, SOFTWOOD_SIZES[size], SOFTWOOD[model], is_class=fold.is_class)
            else:
                grown = PEERS[model].grow(package, take[fold.train], y, size, is_class=fold.is_class, seconds=seconds)
    except (TimeoutError, MemoryError) as error:
        cause = f"{STOPPED}: {f'{seconds:g} seconds' if isinstance(error, TimeoutError) else 'memory'}"
        nothing = {"score": np.nan, "log_loss": np.nan, "leaves": 0}
        return {**nothing, "seconds": time.process_time() - start, "parameter": cause}
    used = time.process_time() - start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        score, loss = judge(grown, take[fold.test], fold.y[fold.test], classes)
    return {"score": score, "log_loss": loss, "leaves": grown.leaves, "seconds": used, "parameter": grown.parameter}


def _kernel_tree(X: Any, y: np.ndarray, size: int | str, parameters: dict[str, Any], *, is_class: bool) -> Grown:
    kind = KernelTreeClassifier if is_class else KernelTreeRegressor
    model = kind(max_leaf_nodes=size, random_state=0, **parameters).fit(X, y)
    return Grown(model, int(model.get_n_leaves()), f"bandwidth {model.bandwidth_:g}")


def _columns(model: str, fold: Fold) -> np.ndarray:
    """Columns of numbers; peers that take no missing values get the medians of the training rows."""
    if PEERS[model].takes_missing or not np.isnan(fold.encoded).any():
        return fold.encoded
    with warnings.catch_warnings():  # a column may have no value at all
        warnings.simplefilter("ignore", RuntimeWarning)
        medians = np.nan_to_num(np.nanmedian(fold.encoded[fold.train], axis=0))
    return np.where(np.isnan(fold.encoded), medians, fold.encoded)


def judge(grown: Grown, X: Any, y: np.ndarray, classes: np.ndarray | None) -> tuple[float, float]:
    """Accuracy and log loss, or R² and nan. Classes that the training rows lack get the smallest probability."""
    predicted = np.asarray(grown.model.predict(X)).ravel()
    if classes is None:
        return float(1.0 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2)), np.nan
    accuracy = float(np.mean(classes[predicted.astype(int)] == y))
    if not grown.has_probabilities:
        return accuracy, np.nan
    everything = np.union1d(classes, y)
    shares = np.full((len(y), len(everything)), LEAST)
    shares[:, np.searchsorted(everything, classes)] = np.clip(grown.model.predict_proba(X), LEAST, None)
    shares /= shares.sum(axis=1, keepdims=True)
    return accuracy, float(-np.log(shares[np.arange(len(y)), np.searchsorted(everything, y)]).mean())


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after so many seconds of processor time; never on systems without such a clock."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    if seconds == np.inf or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
