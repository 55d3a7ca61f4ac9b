"""A small fitted model of every kind that a file may hold, and what is done with one that was loaded."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeRegressor

from softwood import Gate, Kernel, KernelTreeClassifier, SoftForest, SoftTree, soften
from softwood.files.kinds import KINDS
from softwood.stream import (
    ADWIN,
    DDM,
    HoeffdingTreeClassifier,
    HoeffdingTreeRegressor,
    ModelPool,
    PageHinkley,
    SoftHoeffdingTreeClassifier,
    river,
)
from softwood.stream.drift import DriftDetector
from tests.contract.specs import SPECS

N_COLUMNS = 4


def bare_tree() -> SoftTree:
    """All kinds of gates in one tree."""
    return SoftTree.from_nodes(
        children_left=[1, 3, 5, -1, 7, -1, -1, -1, -1],
        children_right=[2, 4, 6, -1, 8, -1, -1, -1, -1],
        gate=[Gate.KERNEL, Gate.SIGMOID, Gate.BLEND, -1, Gate.OBLIQUE, -1, -1, -1, -1],
        feature=[2, -1, 0, -1, -1, -1, -1, -1, -1],
        threshold=[0.25, np.nan, -0.5, *[np.nan] * 6],
        width=[0.5, 0, 1.5, *[0] * 6],
        blend=[0, 0, 0.75, *[0] * 6],
        weights=np.arange(9 * N_COLUMNS).reshape(9, N_COLUMNS) / 10 - 1,
        bias=np.linspace(-1, 1, 9),
        value=np.linspace(0, 1, 18).reshape(9, 2),
        n_features=N_COLUMNS,
        mass=np.arange(9.0),
        center=np.zeros(N_COLUMNS),
        scale=np.ones(N_COLUMNS),
    )


def bare_forest() -> SoftForest:
    X, y = _table(True)
    model = KernelTreeClassifier(
        refine=False, trend=None, bandwidth=0.2, kernel="triangle", max_depth=4, random_state=0
    )
    trees = [model.fit(X[k::2], y[k::2]).tree_ for k in range(2)]
    return SoftForest.sum(trees, [0, 0], [0.5] * trees[0].n_outputs)


def _table(is_class: bool, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, N_COLUMNS))
    signal = X[:, 0] + X[:, 1] * (X[:, 0] > 0)
    return X, np.where(signal > 0, "up", "down") if is_class else signal


def frame(n: int = 120, seed: int = 0) -> pd.DataFrame:
    """Numbers, text, categories, truth values, and missing values in all of them."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "size": rng.normal(size=n),
        "Straße": rng.choice(["Rome", "Bern", "São Paulo", "\u6771\u4eac"], n),
        "grade": pd.Categorical(rng.choice(["low", "mid", "high"], n), categories=["low", "mid", "high", "never"]),
        "level": pd.Categorical(rng.integers(0, 3, n)),
        "flag": rng.random(n) < 0.5,
        "count": rng.integers(0, 9, n).astype(float),
    })  # fmt: skip
    table.loc[rng.random(n) < 0.1, "size"] = np.nan
    table.loc[rng.random(n) < 0.1, "Straße"] = None
    table.loc[rng.random(n) < 0.1, "grade"] = None
    return table


def signal_of(table: pd.DataFrame) -> np.ndarray:
    return np.asarray(table["size"].fillna(0.0) + 2 * (table["Straße"] == "Rome") + table["flag"], dtype=float)


def dicts(n: int = 250) -> list[dict[Any, Any]]:
    """Rows for river: features that come late, text, truth values, a key that is a number."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n):
        x = {"size": float(rng.normal()), 7: i % 5, "town": "abc"[i % 3], "flag": bool(i % 2), ("a", 1): float(i % 4)}
        if i > 100:
            x["late"] = float(i % 11)
        rows.append(x)
    return rows


def river_targets(model: Any, rows: list[dict]) -> list[Any]:
    if type(model).__name__.endswith("Classifier"):
        return [["no", 3, True][int(x["size"] > 0) + (x[7] == 2)] for x in rows]
    return [x["size"] + x[7] for x in rows]


def _river(name: str) -> Any:
    complete = name.startswith("SmoothStep")
    few: dict[str, Any] = {"max_depth": 3} if complete else {"grace_period": 30, "tau": 1.0}
    if name.startswith("StreamForest"):
        few = {"n_estimators": 3, "warning_delta": 0.5, "drift_delta": 0.3}  # with a spare tree, and a replaced one
    if not name.startswith("Hoeffding"):
        few["seed"] = 0
    model = getattr(river, name)(**few)
    rows = dicts()
    for x, y in zip(rows, river_targets(model, rows), strict=True):
        model.learn_one(x, y)
    return model


def _pool(is_class: bool) -> ModelPool:
    kind: Any = HoeffdingTreeClassifier if is_class else HoeffdingTreeRegressor
    X, y = _table(is_class)
    pool = ModelPool([kind(grace_period=20 * (k + 1)) for k in range(3)], period=25)
    return pool.partial_fit(X, y, **({"classes": ["down", "up"]} if is_class else {}))


def _river_pool(side: str) -> Any:
    models = [getattr(river, f"HoeffdingTree{side}")(grace_period=20 * (k + 1)) for k in range(3)]
    pool = getattr(river, f"ModelPool{side}")(models, period=25, seed=0)
    rows = dicts()
    for x, y in zip(rows, river_targets(pool, rows), strict=True):
        pool.learn_one(x, y)
    return pool


def _restarted() -> Any:
    X = np.random.default_rng(0).normal(size=(900, N_COLUMNS))
    y = np.where((X[:, 0] > 0) ^ (np.arange(900) >= 500), "up", "down")
    model = SoftHoeffdingTreeClassifier(max_depth=4, random_state=0).partial_fit(X, y, classes=["down", "up"])
    assert [event.kind for event in model.drifts_] == ["restart"]
    return model


def _detector(kind: Any) -> DriftDetector:
    detector = kind()
    detector.update_many(np.random.default_rng(0).random(700) < np.repeat([0.1, 0.7], 350))
    return detector


def _kernels() -> Any:
    X, y = _table(True)
    shape = Kernel(edges=[-1.0, -0.2, 0.0, 0.7], densities=[0.5, 2.0, 0.1])
    return KernelTreeClassifier(refine=False, trend=None,
        bandwidth="auto", kernel={0: shape}, prediction_kernel="triangle", measurement_error={1: 0.25}, random_state=0,
        max_leaf_nodes="auto",
    ).fit(X, y)  # fmt: skip


def _softened(is_class: bool) -> Any:
    X, y = _table(is_class)
    kind: Any = GradientBoostingClassifier if is_class else DecisionTreeRegressor
    few = {"n_estimators": 4} if is_class else {"max_depth": 4}
    return soften(kind(random_state=0, **few).fit(X[:80], y[:80]), X[80:], y[80:])


@cache
def fitted(name: str) -> Any:
    """The model of this name, shared by all tests: look at it, and change nothing."""
    if name in MAKERS:
        return MAKERS[name]()
    kind = KINDS.by_name[name]
    if name.startswith("river."):
        return _river(kind.class_name)
    return next(spec for spec in SPECS if spec.name == kind.class_name).fitted()


MAKERS = {
    "SoftenedClassifier": lambda: _softened(True),
    "SoftenedRegressor": lambda: _softened(False),
    "SoftTree": bare_tree,
    "SoftForest": bare_forest,
    "stream.ModelPool": lambda: _pool(True),
    "pool of regressors": lambda: _pool(False),
    "river.ModelPoolClassifier": lambda: _river_pool("Classifier"),
    "river.ModelPoolRegressor": lambda: _river_pool("Regressor"),
    "restarted tree": _restarted,
    "own kernels": _kernels,
    "detector.ADWIN": lambda: _detector(ADWIN),
    "detector.PageHinkley": lambda: _detector(PageHinkley),
    "detector.DDM": lambda: _detector(DDM),
    "river detector.ADWIN": lambda: _detector(river.ADWIN),
}
NAMES = sorted({
    name for name in KINDS.by_name if name[0].isupper() or name.startswith(("stream.", "river."))
} | set(MAKERS))  # fmt: skip


def answers(model: Any) -> np.ndarray:
    """What a model of this module says of some rows."""
    if isinstance(model, DriftDetector):
        return copy.deepcopy(model).update_many(np.repeat([0.0, 1.0, 0.0], 200)).astype(float)
    if type(model).__module__.startswith("softwood.stream.river"):
        found = [model.predict_one(x) for x in dicts(20)]
        if type(model).__name__.endswith("Classifier"):
            found = [list(model.predict_proba_one(x).values()) for x in dicts(20)]
        return np.array(found, dtype=float)
    X = np.random.default_rng(1).normal(size=(30, N_COLUMNS))
    X[::3, 0] = np.nan
    if isinstance(model, SoftTree | SoftForest):
        return model.predict(X)
    return (model.predict_proba if is_classifier(model) else model.predict)(X)


def learn_on(model: Any) -> Any:
    """A copy of a model that has learned more rows, if it can."""
    model = copy.deepcopy(model)
    if isinstance(model, DriftDetector):
        model.update_many(np.repeat([0.0, 1.0], 100))
    elif type(model).__module__.startswith("softwood.stream.river"):
        rows = dicts(60)
        for x, y in zip(rows, river_targets(model, rows), strict=True):
            model.learn_one(x, y)
    elif hasattr(model, "partial_fit"):
        X = np.random.default_rng(2).normal(size=(60, N_COLUMNS))
        y = np.resize(model.classes_, 60) if is_classifier(model) else X[:, 0]
        model.partial_fit(X, y)
    return model
