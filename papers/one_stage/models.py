"""The models of the One-Stage Tree paper's tables, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import softwood

Make = Callable[[bool, int, int, float], Any]  # is_class, seed, depth, validation part


def ours(name: str, *, is_published: bool = False, **parameters: Any) -> Make:
    """A tree of softwood; `name` is its class without Classifier or Regressor."""

    def make(is_class: bool, seed: int, depth: int, validation: float) -> Any:
        kind = getattr(softwood, name + ("Classifier" if is_class else "Regressor"))
        given = {"max_depth": depth, "random_state": seed, **parameters}
        if "validation_fraction" in kind().get_params():
            given["validation_fraction"] = validation
        return kind.as_published(**given) if is_published else kind(**given)

    return make


def cart(is_class: bool, seed: int, depth: int, validation: float) -> Any:
    kind = DecisionTreeClassifier if is_class else DecisionTreeRegressor
    return kind(max_depth=depth, random_state=seed)


def searched(make: Callable[[bool, int], Any], grid: dict[str, list]) -> Make:
    """A model with a small grid search, three folds."""

    def model(is_class: bool, seed: int, depth: int, validation: float) -> Any:
        steps = make_pipeline(StandardScaler(), make(is_class, seed))
        name = steps.steps[-1][0]
        return GridSearchCV(steps, {f"{name}__{key}": values for key, values in grid.items()}, cv=3)

    return model


def xgboost(is_class: bool, seed: int) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    return (XGBClassifier if is_class else XGBRegressor)(n_estimators=100, random_state=seed, n_jobs=1)


def linear_svm(is_class: bool, seed: int) -> Any:
    return (LinearSVC if is_class else LinearSVR)(random_state=seed, max_iter=5000)


def mlp(is_class: bool, seed: int) -> Any:
    return (MLPClassifier if is_class else MLPRegressor)(random_state=seed, early_stopping=True, max_iter=200)


MODELS: dict[str, Make] = {
    "cart": cart,
    "soft": ours("SoftTree"),
    "budding": ours("BuddingTree"),
    "end_to_end": ours("EndToEndTree"),
    "one_stage": ours("OneStageTree"),
    "as_published": ours("OneStageTree", is_published=True),
    "proximal": ours("OneStageTree", architecture="proximal"),
    "joint": ours("OneStageTree", architecture="joint"),
    "gumbel": ours("OneStageTree", architecture="gumbel"),
    "one_stage_forest": ours("OneStageForest"),
    "xgboost": searched(xgboost, {"max_depth": [3, 6], "learning_rate": [0.1, 0.3]}),
    "linear_svm": searched(linear_svm, {"C": [0.1, 1.0, 10.0]}),
    "mlp": searched(mlp, {"alpha": [1e-4, 1e-2], "learning_rate_init": [1e-3, 1e-2]}),
}
TITLES = {
    "cart": "CART", "soft": "soft tree", "budding": "budding tree", "end_to_end": "end-to-end tree",
    "one_stage": "one-stage tree", "as_published": "one-stage tree as published", "proximal": "proximal tree",
    "joint": "joint tree", "gumbel": "Gumbel tree",
    "one_stage_forest": "one-stage forest", "xgboost": "XGBoost", "linear_svm": "linear SVM", "mlp": "MLP",
}  # fmt: skip
