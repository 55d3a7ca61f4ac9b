"""The data sets and columns of table 2: how each model is fitted, and which columns are compared with which."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.tree import DecisionTreeClassifier

from softwood import KernelExtraTreesClassifier, KernelForestClassifier, KernelTreeClassifier, SoftTree
from softwood.trees.pruning import prune_cost_complexity

# smallest first, so that something can be seen early
DATA_SETS = (
    "iris", "wine", "glass", "image_segmentation_train", "sonar", "ionosphere", "yeast",
    "spambase", "optdigits", "pendigits", "satimage", "letter",
)  # fmt: skip
N_FOLDS = 10

ALPHAS = np.geomspace(1e-5, 1.0, 21)
BANDWIDTHS = np.geomspace(1e-2, 1.0, 9)

# The trees of the paper are fully grown, and no share of a point is too small.
_tree = partial(KernelTreeClassifier, max_leaf_nodes=None, cutoff=1e-6)


class Model(NamedTuple):
    """A fitted model and the parameter that was chosen for it, nan if it has none."""

    fitted: Any
    parameter: float = float("nan")


# training rows, labels 0, 1, ..., a seed and a number of jobs -> the models of one or several columns
Fit = Callable[[np.ndarray, np.ndarray, int, int], dict[str, Model]]


class Missing(Exception):
    """A model that is not there to be fitted, and how to get it."""


# ---------------------------------------------------------------- trees


def _inner_folds(seed: int) -> KFold:
    return KFold(N_FOLDS, shuffle=True, random_state=seed)


def fit_sklearn_tree(X: np.ndarray, y: np.ndarray, seed: int, n_jobs: int) -> dict[str, Model]:
    """Alpha by inner folds: one tree a fold, pruned at every alpha, as a tree fitted with that alpha would be."""
    X = X.astype(np.float32)  # as scikit-learn's tree sees it
    right = np.zeros(len(ALPHAS))
    for train, test in _inner_folds(seed).split(X):
        fitted = DecisionTreeClassifier(random_state=seed).fit(X[train], y[train])
        tree = as_soft_tree(fitted)
        for k, alpha in enumerate(ALPHAS):
            found = fitted.classes_[prune_cost_complexity(tree, alpha).predict_largest(X[test])]
            right[k] += np.mean(found == y[test])
    alpha = float(ALPHAS[int(np.argmax(right))])
    return {"tree_sklearn": Model(DecisionTreeClassifier(random_state=seed, ccp_alpha=alpha).fit(X, y), alpha)}


def as_soft_tree(fitted: DecisionTreeClassifier) -> SoftTree:
    """A fitted tree of scikit-learn as a `SoftTree`."""
    tree = fitted.tree_
    return SoftTree.from_nodes(
        children_left=tree.children_left, children_right=tree.children_right, feature=tree.feature,
        threshold=np.where(tree.children_left >= 0, tree.threshold, np.nan), value=tree.value[:, 0],
        mass=tree.weighted_n_node_samples, impurity=tree.impurity, n_features=tree.n_features,
    )  # fmt: skip


def fit_kernel_tree(X: np.ndarray, y: np.ndarray, seed: int, n_jobs: int) -> dict[str, Model]:
    """The bandwidth is chosen for the reading with the prediction kernel; the same tree is read without it, too."""
    kernel = _tree(bandwidth="cv", cv=N_FOLDS, random_state=seed, n_jobs=n_jobs).fit(X, y)
    crisp = _tree(bandwidth=kernel.bandwidth_, prediction_kernel=None, n_jobs=n_jobs).fit(X, y)
    return {
        "tree_kernel": Model(kernel, kernel.bandwidth_),
        "tree_kernel_read_crisp": Model(crisp, kernel.bandwidth_),
    }


def fit_crisp_tree(X: np.ndarray, y: np.ndarray, seed: int, n_jobs: int) -> dict[str, Model]:
    """The bandwidth is chosen for the crisp reading."""
    tree = _tree(prediction_kernel=None)
    search = GridSearchCV(tree, {"bandwidth": BANDWIDTHS}, cv=_inner_folds(seed), n_jobs=n_jobs)
    search.fit(X, y)
    return {"tree_crisp": Model(search, search.best_params_["bandwidth"])}


# ---------------------------------------------------------------- models that are fitted once


def fit_one(columns: str | tuple[str, ...], make: Callable[..., Any]) -> Fit:
    """A fit of the one model that `make` gives for a ``random_state``; its parameter is its bandwidth, if any."""

    def fit(X: np.ndarray, y: np.ndarray, seed: int, n_jobs: int) -> dict[str, Model]:
        model = make(random_state=seed)
        if "n_jobs" in model.get_params():  # histogram boosting takes all cores
            model.set_params(n_jobs=n_jobs)
        model.fit(X, y)
        found = Model(model, float(getattr(model, "bandwidth_", np.nan)))
        return dict.fromkeys((columns,) if isinstance(columns, str) else columns, found)

    return fit


def xgboost(**settings: Any) -> Any:
    return _optional("xgboost").XGBClassifier(**settings)


def lightgbm(**settings: Any) -> Any:
    return _optional("lightgbm").LGBMClassifier(verbose=-1, **settings)


def kernel_boosting(**settings: Any) -> Any:
    try:
        from softwood import KernelBoostingClassifier
    except ImportError:
        raise Missing("this version of softwood has no KernelBoostingClassifier") from None
    # as many rounds as the other boosting models have
    return KernelBoostingClassifier(max_iter=100, l2_regularization=0.0, **settings)


def _optional(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise Missing(f"{package} is not installed; install it with: pip install {package}") from None


# Ten inner folds of 100 trees for every bandwidth would take days on the large sets: rows out of the bag take their
# place. Extra trees have no bag; while bandwidths are compared, each of their trees is grown on a part of the rows.
_forest = partial(KernelForestClassifier, bandwidth="oob")
_extra = partial(KernelExtraTreesClassifier, bandwidth="oob")

# ---------------------------------------------------------------- columns


class Column(NamedTuple):
    """A column: how it is headed and how it is fitted. A fit may serve several columns."""

    title: str
    fit: Fit
    is_baseline: bool = False


# Published figures are found in published.csv under the same name.
COLUMNS = {
    "tree_sklearn": Column("scikit-learn's tree, pruned", fit_sklearn_tree, is_baseline=True),
    "tree_kernel": Column("kernel tree", fit_kernel_tree),
    "tree_crisp": Column("kernel tree read crisply", fit_crisp_tree),
    "tree_kernel_read_crisp": Column("same, bandwidth of the kernel reading", fit_kernel_tree),
    "tree_auto": Column("default kernel tree", fit_one("tree_auto", KernelTreeClassifier)),
    "forest_sklearn": Column(
        "scikit-learn's forest", fit_one("forest_sklearn", RandomForestClassifier), is_baseline=True
    ),
    "forest_kernel": Column("kernel forest", fit_one("forest_kernel", _forest)),
    "forest_crisp": Column(
        "kernel forest read crisply", fit_one("forest_crisp", partial(_forest, prediction_kernel=None))
    ),
    "default_forest": Column("default kernel forest", fit_one("default_forest", KernelForestClassifier)),
    "extra_sklearn": Column(
        "scikit-learn's extra trees", fit_one("extra_sklearn", ExtraTreesClassifier), is_baseline=True
    ),
    "extra_kernel": Column("kernel extra trees", fit_one("extra_kernel", _extra)),
    "extra_crisp": Column(
        "kernel extra trees read crisply", fit_one("extra_crisp", partial(_extra, prediction_kernel=None))
    ),
    "default_extra": Column("default kernel extra trees", fit_one("default_extra", KernelExtraTreesClassifier)),
    "xgboost": Column("XGBoost", fit_one("xgboost", xgboost), is_baseline=True),
    "hgb_default": Column(
        "scikit-learn's histogram boosting", fit_one("hgb_default", HistGradientBoostingClassifier), is_baseline=True
    ),
    "lightgbm_default": Column("LightGBM", fit_one("lightgbm_default", lightgbm), is_baseline=True),
}
# It chooses its bandwidth itself, so the model of the paper's kind and the one at its defaults are the same.
_boosting = fit_one(("boost_kernel", "default_boost"), kernel_boosting)
COLUMNS |= {
    "boost_kernel": Column("kernel boosting", _boosting),
    "default_boost": Column("default kernel boosting", _boosting),
}

# Families, in the order of the page: published and ours. Columns of a group are compared on the same folds.
FAMILIES = {
    "decision tree": ("tree_sklearn", "tree_kernel", "tree_crisp", "tree_kernel_read_crisp", "tree_auto"),
    "random forest": ("forest_sklearn", "forest_kernel", "forest_crisp", "default_forest"),
    "extra trees": ("extra_sklearn", "extra_kernel", "extra_crisp", "default_extra"),
    "boosting": ("xgboost", "boost_kernel", "hgb_default", "lightgbm_default"),
}
# Groups that are ranked. The baseline ensembles of the paper are at their defaults, so they are in both.
RANKED = {
    "tuned": (
        "tree_sklearn", "tree_kernel", "tree_crisp", "forest_sklearn", "forest_kernel", "forest_crisp",
        "extra_sklearn", "extra_kernel", "extra_crisp", "xgboost", "boost_kernel",
    ),
    "defaults": (
        "tree_auto", "default_forest", "default_extra", "default_boost",
        "forest_sklearn", "extra_sklearn", "hgb_default", "xgboost", "lightgbm_default",
    ),
}  # fmt: skip
GROUPS = FAMILIES | RANKED


def served_by(fit: Fit) -> list[str]:
    return [name for name, column in COLUMNS.items() if column.fit is fit]


def is_tree(fit: Fit) -> bool:
    """Whether it fits single trees."""
    return any(name in FAMILIES["decision tree"] for name in served_by(fit))
