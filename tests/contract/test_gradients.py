"""`input_gradient` is the derivative of `predict_proba`, or of `predict` in regressors, whatever the options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier

from softwood import Kernel, soften
from tests.contract.specs import BY_NAME, SPECS
from tests.models import answer

STEP = 1e-6


@dataclass(frozen=True)
class Case:
    """A model: its class and options, the data, and what `predict` is given besides the rows."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    n_classes: int = 3
    n_rows: int = 120
    has_missing: bool = False
    has_category: bool = False
    target: str = "plain"
    conditions: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        about = [str(self.n_classes)] if self.name.endswith("Classifier") else []
        about += [f"{name} {_short(value)}" for name, value in (self.options | self.conditions).items()]
        about += [name for name in ("has_missing", "has_category") if getattr(self, name)]
        return ", ".join([self.name, *about])

    def fitted(self) -> tuple[Any, Any]:
        """The model, and rows to look at."""
        spec = BY_NAME[self.name]
        X, y = spec.table(n=self.n_rows, n_classes=self.n_classes)
        rows = spec.table(n=20, seed=1)[0]
        if self.target == "several":
            y = np.column_stack([y, -2 * y, X[:, 0] ** 2])
        elif self.target == "counts":
            y = np.random.default_rng(0).poisson(np.exp(y))
        elif self.target == "noisy":
            y = y + np.random.default_rng(0).normal(size=len(y))
        if self.has_missing:
            X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
            rows[np.random.default_rng(3).random(rows.shape) < 0.2] = np.nan
        if self.has_category:
            X, rows = (_with_category(each) for each in (X, rows))
        own = {"cutoff": 0.0} if "cutoff" in spec.parameters else {}
        return spec.make(**own | self.options).fit(X, y), rows


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}: {_short(each)}" for key, each in value.items())
    if callable(value):
        return value.__name__
    return type(value).__name__ if isinstance(value, Kernel | np.ndarray) else str(value)


def _with_category(X: np.ndarray) -> pd.DataFrame:
    frame = pd.DataFrame(X, columns=list("abcd"))
    return frame.assign(d=np.where(np.isnan(X[:, 3]), None, np.where(X[:, 3] > 0, "high", "low")))


def by_reading(x):
    return 0.2 + 0.3 * np.abs(x)


def bent(x):
    return 0.1 + 0.05 * (x - 1.0) ** 2


SCALED = Kernel([-1.0, 0.3, 1.0], [0.7, 0.3], scale=by_reading)
KERNEL_OPTIONS: list[dict[str, Any]] = [
    {"prediction_kernel": None},
    {"prediction_kernel": "gaussian"},
    {"prediction_kernel": SCALED},
    {"prediction_kernel": {1: SCALED}, "measurement_error": {1: bent}},
    {"prediction_bandwidth": 0.8},
    {"measurement_error": {0: 0.5}},
]
SEARCHED_OPTIONS: list[dict[str, Any]] = [
    {"kernel": "triangle"},
    {"kernel": "gaussian", "measurement_error": [0.3, 0.0, 0.1, 0.0]},
    {"kernel": SCALED},
    {"kernel": {0: SCALED}, "bandwidth": 0.7},
    {"measurement_error": {0: by_reading}},
    {"measurement_error": {0: by_reading, 1: 0.4}, "kernel": SCALED},
    {"growth": "level"},
]
CONDITIONS: list[Any] = [
    {1: 0.5},
    {0: np.linspace(0.1, 0.9, 20)},
    np.linspace(0.0, 0.9, 80).reshape(20, 4),
    {0: bent},
]
CASES = [Case(spec.name, n_classes=k) for spec in SPECS for k in ([2, 3] if spec.is_classifier else [2])]
CASES += [Case(spec.name, has_missing=True, has_category=True, n_rows=300) for spec in SPECS]
for name in ("KernelTreeClassifier", "KernelForestRegressor"):
    CASES += [Case(name, options) for options in KERNEL_OPTIONS + SEARCHED_OPTIONS]
    CASES += [Case(name, {"kernel": "triangle"}, conditions={"measurement_error": error}) for error in CONDITIONS]
    CASES.append(
        Case(name, {"measurement_error": {0: by_reading, 1: bent}}, conditions={"measurement_error": {0: 0.4}})
    )
CASES += [
    Case("KernelTreeRegressor", {"bandwidth": "silverman", "bandwidth_per_node": True}),
    Case("KernelExtraTreesClassifier", {"kernel": SCALED}, has_missing=True),
]
for options in [*KERNEL_OPTIONS[:-3], {"bandwidth_decay": 0.8}, {"growth": "level"}]:
    CASES += [Case("KernelBoostingClassifier", options, n_classes=k) for k in (2, 3)]
for options in [
    {"loss": "absolute_error"},
    {"loss": "quantile", "quantile": 0.8},
    {"loss": "quantile", "quantile": (0.45, 0.5, 0.55)},
]:
    CASES.append(Case("KernelBoostingRegressor", options, target="noisy"))
CASES += [
    Case("KernelBoostingRegressor", {"loss": "poisson"}, target="counts"),
    Case("KernelBoostingRegressor", {"loss": "poisson", "prediction_kernel": SCALED}, target="counts"),
    Case("KernelBoostingRegressor", conditions={"measurement_error": {0: bent, 1: 0.1}}),
]
CASES += [
    Case(name, target="several")
    for name in ("KernelTreeRegressor", "KernelForestRegressor", "SoftTreeRegressor", "OneStageTreeRegressor")
]
for how, given in [("mc", {}), ("nb", {}), ("nba", {}), ("nb", {"has_missing": True, "has_category": True})]:
    # leaves that may be split have a model
    CASES.append(Case("HoeffdingTreeClassifier", {"leaf_prediction": how, "max_depth": None}, n_rows=1500, **given))
for how in ("mean", "model", "adaptive"):
    CASES.append(Case("HoeffdingTreeRegressor", {"leaf_prediction": how}, n_rows=1500))
for kind in ("Classifier", "Regressor"):
    CASES += [
        Case(f"StreamForest{kind}", {"voting": voting, "soft_share": share}, n_rows=1500, has_missing=True)
        for voting in ("loss", "mean")
        for share in (0.0, 0.5, 1.0)
    ]
    CASES.append(Case(f"HoeffdingTree{kind}", n_rows=1500, has_missing=True, has_category=True))
CASES.append(Case("SoftHoeffdingTreeClassifier", {"alpha": 0.5}, n_rows=1500, has_missing=True))


def assert_is_derivative(model: Any, rows: Any, conditions: dict[str, Any]) -> np.ndarray:
    """Compare with differences of the prediction, where those to both sides agree: most points are no kinks."""
    said = answer(model, rows, **conditions)
    said = said.reshape(len(said), -1)
    n_features = rows.shape[1]
    gradient = model.input_gradient(rows, **conditions)
    assert gradient.shape == (len(rows), said.shape[1], n_features)
    for j in range(n_features):
        values = rows.iloc[:, j] if isinstance(rows, pd.DataFrame) else rows[:, j]
        if values.dtype == object or values.dtype.kind not in "f":
            assert not gradient[:, :, j].any()
            continue
        sides = []
        for step in (STEP, -STEP):
            moved = rows.copy()
            if isinstance(moved, pd.DataFrame):
                moved.isetitem(j, values + step)
            else:
                moved[:, j] = values + step
            sides.append((answer(model, moved, **conditions).reshape(said.shape) - said) / step)
        size = 1.0 + np.abs(gradient[:, :, j])
        smooth = (np.abs(sides[0] - sides[1]) < 1e-4 * size) & ~np.isnan(np.asarray(values, float))[:, None]
        assert smooth.mean() > 0.5
        assert not gradient[np.isnan(np.asarray(values, float)), :, j].any()
        error = np.abs(gradient[:, :, j] - (sides[0] + sides[1]) / 2) / size
        assert error[smooth].max() < 2e-5
    return gradient


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_are_derivatives_of_predictions(case):
    model, rows = case.fitted()
    gradient = assert_is_derivative(model, rows, case.conditions)
    trees = list(model.forest_) if hasattr(model, "forest_") else [model.tree_]
    if not BY_NAME[case.name].is_stream and not case.conditions:
        assert (np.abs(gradient).max() > 0.01) != all(tree.is_crisp for tree in trees)


def test_sorted_quantiles_cross_somewhere():
    """Otherwise the case of several quantiles would show nothing."""
    case = next(case for case in CASES if np.ndim(case.options.get("quantile")))
    model, rows = case.fitted()
    assert np.any(np.diff(model.forest_.predict(rows), axis=1) < 0)


def test_functions_that_end_within_reach():
    """At the end of the domain of a user's function, the difference is one-sided; a scale may be 0 somewhere."""
    X, y = BY_NAME["KernelTreeRegressor"].table()
    X = np.abs(X)
    for function in (np.sqrt, lambda x: 0.5 * x, lambda x: np.where(x > 0, 0.3, 0.0)):
        model = BY_NAME["KernelTreeRegressor"].make(measurement_error={0: function}, cutoff=0.0).fit(X, y)
        rows = X[:20].copy()
        rows[:5, 0] = 0.0
        assert np.isfinite(model.input_gradient(rows)).all()
        assert_is_derivative(model, rows[5:], {})


SOFTENED = {
    "tree of two classes": (GradientBoostingClassifier(n_estimators=3, random_state=0), 2),
    "three classes": (GradientBoostingClassifier(n_estimators=3, random_state=0), 3),
    "forest": (RandomForestClassifier(n_estimators=3, max_depth=4, random_state=0), 3),
    "counts": (HistGradientBoostingRegressor(loss="poisson", max_iter=3, random_state=0), 0),
}


@pytest.mark.parametrize("name", SOFTENED)
def test_softened(name):
    model, n_classes = SOFTENED[name]
    X, y = BY_NAME["KernelTreeClassifier"].table(n=200, n_classes=n_classes or 3)
    y = y if n_classes else np.random.default_rng(0).poisson(np.exp(X[:, 0]))
    soft = soften(model.fit(X, y), X, bandwidth=0.3)
    gradient = assert_is_derivative(soft, X[:20] + 0.01, {})
    assert np.abs(gradient).max() > 0.01
