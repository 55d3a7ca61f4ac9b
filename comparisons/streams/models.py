"""The models that are compared, and how one of them is tested and trained along a stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from river import dummy, ensemble, forest, linear_model, multiclass, preprocessing, stats, tree

from comparisons.streams.streams import Rows
from softwood.stream import (
    HoeffdingTreeClassifier,
    HoeffdingTreeRegressor,
    SoftHoeffdingTreeClassifier,
    SoftHoeffdingTreeRegressor,
    StreamForestClassifier,
    StreamForestRegressor,
    river,
)

# Rows between two lines of the file of runs.
STEP = 1000
# Probabilities below this count as it.
LEAST = 1e-6
SEED = 0

# Names as in the file of runs and in the tables. The forest in single rows is the same model through river's methods:
# it is there for its speed alone.
FOREST, ONE_BY_ONE = "StreamForest(10)", "StreamForest(10), learn_one"
CLASS_MODELS: dict[str, Callable[[], Any]] = {
    FOREST: lambda: StreamForestClassifier(10, random_state=SEED, n_jobs=1),
    "soft Hoeffding tree": lambda: SoftHoeffdingTreeClassifier(random_state=SEED),
    "Hoeffding tree": HoeffdingTreeClassifier,
    "river HT": tree.HoeffdingTreeClassifier,
    "river HAT": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=SEED),
    "river ARF(10)": lambda: forest.ARFClassifier(n_models=10, seed=SEED),
    "river SRP(10)": lambda: ensemble.SRPClassifier(n_models=10, seed=SEED),
    "river leveraging bagging(10)": lambda: ensemble.LeveragingBaggingClassifier(
        model=tree.HoeffdingTreeClassifier(), n_models=10, seed=SEED
    ),
    "river logistic regression": lambda: (
        preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
    ),
    "no change": dummy.NoChangeClassifier,
    ONE_BY_ONE: lambda: river.StreamForestClassifier(seed=SEED),
}
REAL_MODELS: dict[str, Callable[[], Any]] = {
    FOREST: lambda: StreamForestRegressor(10, random_state=SEED, n_jobs=1),
    "soft Hoeffding tree": lambda: SoftHoeffdingTreeRegressor(random_state=SEED),
    "Hoeffding tree": HoeffdingTreeRegressor,
    "river HT": tree.HoeffdingTreeRegressor,
    "river HAT": lambda: tree.HoeffdingAdaptiveTreeRegressor(seed=SEED),
    "river ARF(10)": lambda: forest.ARFRegressor(n_models=10, seed=SEED),
    "river SRP(10)": lambda: ensemble.SRPRegressor(n_models=10, seed=SEED),
    "river linear regression": lambda: preprocessing.StandardScaler() | linear_model.LinearRegression(),
    "mean so far": lambda: dummy.StatisticRegressor(stats.Mean()),
    ONE_BY_ONE: lambda: river.StreamForestRegressor(seed=SEED),
}
MODELS = tuple(dict.fromkeys([*CLASS_MODELS, *REAL_MODELS]))


@dataclass
class Sums:
    """Sums over all rows so far: of errors, of log losses or squared errors, and of processor seconds."""

    n: int = 0
    errors: float = 0.0
    losses: float = 0.0
    seconds: float = 0.0


def models_of(rows: Rows) -> dict[str, Callable[[], Any]]:
    return CLASS_MODELS if rows.is_class else REAL_MODELS


def run_stream(name: str, rows: Rows, seconds: float) -> Iterator[Sums]:
    """Test and train a model on the rows; the sums after each `STEP` rows.

    It ends when the model has used up its processor seconds, at the next step.
    """
    model, sums = models_of(rows)[name](), Sums()
    n_classes = int(rows.y.max()) + 1 if rows.is_class else 0
    test_and_train = _in_blocks if hasattr(model, "test_then_train") else _one_by_one
    for begin in range(0, len(rows.y), STEP):
        part = Rows(rows.X[begin : begin + STEP], rows.y[begin : begin + STEP])
        predictions, taken = test_and_train(model, part, n_classes)
        _add(sums, predictions, part, taken)
        yield sums
        if sums.seconds > seconds:
            return


def _in_blocks(model: Any, rows: Rows, n_classes: int) -> tuple[np.ndarray, float]:
    known = {"classes": np.arange(n_classes)} if n_classes else {}
    start = time.process_time()
    predictions = model.test_then_train(rows.X, rows.y, **known)
    return predictions, time.process_time() - start


def _one_by_one(model: Any, rows: Rows, n_classes: int) -> tuple[np.ndarray, float]:
    """river's way, with dicts that are made before the clock starts."""
    pairs = [(dict(enumerate(row)), y) for row, y in zip(rows.X.tolist(), rows.y.tolist(), strict=True)]
    ask = model.predict_proba_one if n_classes else model.predict_one
    answers = []
    start = time.process_time()
    for x, y in pairs:
        answers.append(ask(x))
        model.learn_one(x, y)
    taken = time.process_time() - start
    if not n_classes:
        return np.array([0.0 if answer is None else answer for answer in answers]), taken
    # labels that a model has not seen have no probability; before the first all are alike
    predictions = np.zeros((len(answers), n_classes))
    for i, answer in enumerate(answers):
        total = sum(answer.values()) if answer else 0.0
        if not total > 0.0:
            predictions[i] = 1.0 / n_classes
            continue
        for label, p in answer.items():
            predictions[i, int(label)] = p / total
    return predictions, taken


def _add(sums: Sums, predictions: np.ndarray, rows: Rows, seconds: float) -> None:
    sums.n += len(rows.y)
    sums.seconds += seconds
    if rows.is_class:
        given = np.clip(predictions[np.arange(len(rows.y)), rows.y], LEAST, 1.0)
        sums.errors += float(np.count_nonzero(predictions.argmax(axis=1) != rows.y))
        sums.losses -= float(np.log(given).sum())
    else:
        # a model whose answer is no number is as wrong as can be told
        away = np.nan_to_num(np.abs(predictions - rows.y), nan=1e100, posinf=1e100)
        sums.errors += float(away.sum())
        sums.losses += float((np.minimum(away, 1e100) ** 2).sum())


def warm_up() -> None:
    """Load what the package's models need before a clock starts."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    for rows in (Rows(X, (X[:, 0] > 0).astype(np.int64)), Rows(X, X[:, 0])):
        for name, make in models_of(rows).items():
            if type(make()).__module__.startswith("softwood"):
                for _ in run_stream(name, rows, np.inf):
                    pass
