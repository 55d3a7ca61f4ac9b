"""Trees of other packages, grown to a number of leaves or to a size that folds of the training rows choose."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import validate_data

from comparisons.small_trees.pruning import tune_alpha

INNER_FOLDS = 3  # as in imodels
STRENGTHS = (0, 0.1, 1, 10, 50, 100, 500)  # of the shrinkage, as in imodels
# Sizes that are tried where the size is tuned.
SHRUNKEN_SIZES, FIGS_SIZES = (4, 8, 16, 32, 64, 128, 256), (4, 8, 16, 32, 64)
CONTREE_DEPTHS, STREED_DEPTHS, LINEAR_DEPTHS = (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4)
TUNED = "tuned"
# The solvers of optimal trees stop by a clock of the wall; a machine that does other work gets more of it.
WALL = 2.0


class Grown(NamedTuple):
    """A fitted model, its number of leaves, and what was chosen."""

    model: Any
    leaves: int
    parameter: str
    has_probabilities: bool = True


class Peer(NamedTuple):
    """How a tree of another package is grown, for which tasks, and what the page says about it."""

    load: Callable[[], ModuleType]
    grow: Callable[..., Grown]
    tasks: tuple[str, ...]
    about: str
    takes_missing: bool = False


def load(name: str, install: str = "") -> ModuleType:
    """The package, or the command that installs it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError as error:
        raise SystemExit(f"This model needs the package {name} ({error}): pip install {install or name}") from error


def choose(
    grow: Callable[[Any, np.ndarray, np.ndarray], Any],
    settings: Sequence[Any],
    X: np.ndarray,
    y: np.ndarray,
    *,
    is_class: bool,
    by_log_loss: bool = False,
) -> Any:
    """The setting with the best mean of accuracy, log loss or R² in folds of the rows; of equal ones the first."""
    if len(settings) == 1:
        return settings[0]
    folds = (StratifiedKFold if is_class else KFold)(INNER_FOLDS, shuffle=True, random_state=0)
    losses = np.zeros(len(settings))
    for train, test in folds.split(X, y):
        for i, setting in enumerate(settings):
            model = grow(setting, X[train], y[train])
            if not is_class:
                losses[i] += np.mean((np.asarray(model.predict(X[test])).ravel() - y[test]) ** 2) / np.var(y[test])
            elif by_log_loss:
                losses[i] += log_loss(y[test], model.predict_proba(X[test]), labels=np.unique(y))
            else:
                losses[i] += np.mean(model.predict(X[test]) != y[test])
    return settings[int(losses.argmin())]


def grow_cart(package: Any, X: np.ndarray, y: np.ndarray, size: str, *, is_class: bool, seconds: float) -> Grown:
    tree = (DecisionTreeClassifier if is_class else DecisionTreeRegressor)(random_state=0)
    if size == TUNED:
        tree.set_params(ccp_alpha=tune_alpha(tree, X, y, is_class=is_class))
    else:
        tree.set_params(max_leaf_nodes=int(size))
    return Grown(tree.fit(X, y), int(tree.get_n_leaves()), f"ccp_alpha {tree.ccp_alpha:.3g}")


def grow_shrunken(package: Any, X: np.ndarray, y: np.ndarray, size: str, *, is_class: bool, seconds: float) -> Grown:
    """Not `HSTreeClassifierCV`: its folds are neither shuffled nor stratified, and fail where they lack a class."""
    kind = package.HSTreeClassifier if is_class else package.HSTreeRegressor
    cart = DecisionTreeClassifier if is_class else DecisionTreeRegressor

    def grow(setting: tuple[int, float], X: np.ndarray, y: np.ndarray) -> Any:
        leaves, strength = setting
        return kind(cart(max_leaf_nodes=leaves, random_state=0), reg_param=strength).fit(X, y)

    sizes = SHRUNKEN_SIZES if size == TUNED else (int(size),)
    settings = [(leaves, strength) for leaves in sizes for strength in STRENGTHS]
    best = choose(grow, settings, X, y, is_class=is_class, by_log_loss=True)
    model = grow(best, X, y)
    return Grown(model, int(model.estimator_.get_n_leaves()), f"reg_param {best[1]:g}, {best[0]} leaves")


def grow_figs(package: Any, X: np.ndarray, y: np.ndarray, size: str, *, is_class: bool, seconds: float) -> Grown:
    """The sum of trees with the most rules whose leaves together are not more than the size."""
    kind = package.FIGSClassifier if is_class else package.FIGSRegressor

    def grow(most: int, X: np.ndarray, y: np.ndarray) -> Any:
        n_rules = most - 1
        while True:
            model = kind(max_rules=n_rules, random_state=0).fit(X, y)
            excess = _figs_leaves(model) - most
            if excess <= 0 or n_rules == 1:
                return model
            n_rules = max(1, n_rules - (excess + 1) // 2)  # a rule has one leaf, or two if it begins a tree

    sizes = FIGS_SIZES if size == TUNED else (int(size),)
    model = grow(choose(grow, sizes, X, y, is_class=is_class), X, y)
    return Grown(model, _figs_leaves(model), f"{model.complexity_} rules, {len(model.trees_)} trees")


def _figs_leaves(model: Any) -> int:
    return max(1, int(model.complexity_) + len(model.trees_))


def grow_contree(package: Any, X: np.ndarray, y: np.ndarray, size: str, *, is_class: bool, seconds: float) -> Grown:
    def grow(depth: int, X: np.ndarray, y: np.ndarray) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "Fitting exceeds time limit")
            try:
                return package.ConTree(max_depth=depth, time_limit=WALL * seconds).fit(X, y)
            except UserWarning as warning:
                raise TimeoutError from warning

    depth = choose(grow, _depths(size, CONTREE_DEPTHS), X, y, is_class=is_class)
    model = grow(depth, X, y)
    return Grown(model, int(model.get_num_leaf_nodes()), f"max_depth {depth}")


def grow_streed(package: Any, X: np.ndarray, y: np.ndarray, size: str, *, is_class: bool, seconds: float) -> Grown:
    def grow(depth: int, X: np.ndarray, y: np.ndarray) -> Any:
        model = package.STreeDClassifier(max_depth=depth, max_num_nodes=2**depth - 1, time_limit=WALL * seconds).fit(
            X, y
        )
        if not model.fit_result.is_optimal():
            raise TimeoutError
        return model

    depth = choose(grow, _depths(size, STREED_DEPTHS), X, y, is_class=is_class)
    model = grow(depth, X, y)
    return Grown(model, int(model.get_n_leaves()), f"max_depth {depth}")


def grow_linear_tree(package: Any, X: np.ndarray, y: np.ndarray, size: str, *, is_class: bool, seconds: float) -> Grown:
    kind = package.LinearTreeClassifier if is_class else package.LinearTreeRegressor
    base = RidgeClassifier() if is_class else LinearRegression()

    class Tree(kind):  # type: ignore[misc, valid-type]
        """Calls a method that scikit-learn 1.7 and later does not have."""

        def _validate_data(self, *arrays: Any, force_all_finite: bool = True, **options: Any) -> Any:
            return validate_data(self, *arrays, ensure_all_finite=force_all_finite, **options)

    def grow(depth: int, X: np.ndarray, y: np.ndarray) -> Any:
        # The default asks for a tenth of the rows in each leaf, too many for 16 leaves; least squares need some rows.
        least = max(round(0.8 * len(y) / 2**depth), X.shape[1] + 1, 3)
        tree = Tree(base, max_depth=depth, min_samples_leaf=min(least, len(y) // 2))
        return make_pipeline(StandardScaler(), tree).fit(X, y)  # the package computes in single precision

    depth = choose(grow, _depths(size, LINEAR_DEPTHS), X, y, is_class=is_class)
    model = grow(depth, X, y)
    # The probabilities of ridge classifiers would be 0 and 1.
    return Grown(model, len(model[-1].summary(only_leaves=True)), f"max_depth {depth}", has_probabilities=not is_class)


def load_m5() -> ModuleType:
    """m5py 0.3.3 imports three names that scikit-learn 1.9 does not have; the third is used for text only."""
    for module, name, value in (
        ("_classes", "DTYPE", np.float32),
        ("_tree", "DOUBLE", np.float64),
        ("_criterion", "FriedmanMSE", type(None)),
    ):
        found = importlib.import_module(f"sklearn.tree.{module}")
        if not hasattr(found, name):
            setattr(found, name, value)
    return load("m5py")


def grow_m5(package: Any, X: np.ndarray, y: np.ndarray, size: str, *, is_class: bool, seconds: float) -> Grown:
    """Pruned and smoothed; its tuned size is that of the pruned tree."""
    most = None if size == TUNED else int(size)
    model = package.M5Prime(criterion="squared_error", max_leaf_nodes=most, random_state=0).fit(X, y)
    return Grown(model, int(model.get_n_leaves()), "")


def _depths(size: str, tuned: tuple[int, ...]) -> tuple[int, ...]:
    """The depths that are tried: of a tree with that many leaves, or several."""
    return tuned if size == TUNED else (int(size).bit_length() - 1,)


def load_imodels() -> ModuleType:
    return load("imodels", "imodels six")


BOTH = ("classification", "regression")
PEERS = {
    "CART": Peer(
        partial(load, "sklearn", "scikit-learn"), grow_cart, BOTH,
        "scikit-learn's tree, grown best first; tuned: `ccp_alpha` chosen by five folds of the training rows among all "
        "values that make a difference",
        takes_missing=True,
    ),
    "hierarchical shrinkage": Peer(
        load_imodels, grow_shrunken, BOTH,
        "imodels, `HSTreeClassifier` and `HSTreeRegressor` on CART; the strength is chosen by the log loss or the "
        "squared error of three folds from the list of `HSTreeClassifierCV`; tuned: and the leaves, "
        f"{SHRUNKEN_SIZES[0]} to {SHRUNKEN_SIZES[-1]}",
        takes_missing=True,
    ),
    "FIGS": Peer(
        load_imodels, grow_figs, BOTH,
        "imodels, sums of trees; the leaves of all trees count; probabilities are those of the package, the "
        "softmax of the sums, which for two classes and sums from 0 to 1 are between 0.27 and 0.73; tuned: "
        f"{FIGS_SIZES[0]} to {FIGS_SIZES[-1]} leaves by three folds",
    ),
    "ConTree": Peer(
        partial(load, "pycontree"), grow_contree, ("classification",),
        "pycontree, optimal trees of depth 3, 4 and 5; tuned: depth "
        f"{CONTREE_DEPTHS[0]} to {CONTREE_DEPTHS[-1]} by three folds",
    ),
    "STreeD": Peer(
        partial(load, "pystreed"), grow_streed, ("classification",),
        "pystreed, optimal trees of depth 3, 4 and 5 on binarised columns (five quantiles each, its default); tuned: "
        f"depth {STREED_DEPTHS[0]} to {STREED_DEPTHS[-1]} by three folds",
    ),
    "linear-tree": Peer(
        partial(load, "lineartree", "linear-tree"), grow_linear_tree, BOTH,
        "linear-tree, of depth 3, 4 and 5: least squares in each leaf, for classes a ridge classifier, which has no "
        f"probabilities; tuned: depth {LINEAR_DEPTHS[0]} to {LINEAR_DEPTHS[-1]} by three folds",
    ),
    "M5": Peer(
        load_m5, grow_m5, ("regression",),
        "m5py, `M5Prime`, pruned and smoothed, linear models in the leaves; tuned: the size that its pruning chooses",
    ),
}  # fmt: skip
