"""Small fitted models of every kind that the exports must reproduce, and rows that try them."""

from collections import ChainMap
from collections.abc import Mapping
from functools import cache

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn import ensemble

import softwood
from softwood import Kernel, SoftForest, SoftTree, stream
from softwood.fitted import FittedModel
from softwood.stream import river
from softwood.trees.gates import Gate
from softwood.trees.nodes import KernelShapes

N_FEATURES = 4
MEANS, SCALES = np.array([0.0, 5.0, 3.0, 0.0]), np.array([1.0, 10.0, 0.5, 1.0])


def numbers(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_FEATURES)) * SCALES + MEANS
    X[:, 3] = np.round(X[:, 3] * 2) / 2
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


def targets(X):
    z = np.nan_to_num((X - MEANS) / SCALES)
    return z[:, 0] + np.sin(2 * z[:, 1]) + z[:, 2] * z[:, 3]


def labels(X, n_classes=3):
    score = targets(X)
    edges = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return np.array(["ant", "bee", "cow", "dog"])[np.searchsorted(edges, score)]


def frame(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = numbers(n, seed)
    table = pd.DataFrame({"size (cm)": X[:, 0], "weight": X[:, 1]})
    table["city"] = rng.choice(["Rome", "Oslo", 'Łódź "x"', "O'Hare"], n)
    table["is_new"] = rng.choice(["yes", "no"], n)
    table["open"] = rng.random(n) < 0.5
    table["city"] = table["city"].mask(rng.random(n) < 0.1)
    return table


def frame_targets(table):
    city = table["city"].map({"Rome": 0.0, "Oslo": 1.0, 'Łódź "x"': 2.0}).fillna(3.0).to_numpy()
    return city + np.nan_to_num(table["size (cm)"].to_numpy()) * (table["is_new"] == "yes") + 0.3 * table["open"]


def mixed_tree(seed=0, link="identity", n_outputs=3, depth=4):
    """A complete tree whose gates are of all kinds, with several kernels and a width of its own at each node."""
    rng = np.random.default_rng(seed)
    n_inner = 2**depth - 1
    n = 2 * n_inner + 1
    number = np.arange(n)
    inner = number < n_inner
    kinds = rng.choice([Gate.KERNEL, Gate.KERNEL, Gate.KERNEL, Gate.SIGMOID, Gate.OBLIQUE, Gate.BLEND], n)
    shapes = [
        (np.array([-1.0, 1.0]), np.array([0.0, 1.0])),
        (np.array([-1.0, -0.2, 0.0, 0.7]), np.array([0, 0.5, 0.5, 1])),
    ]
    shapes.append((np.linspace(-2, 2, 10), np.linspace(0, 1, 10) ** 2))
    gate = np.where(inner, kinds, Gate.LEAF)
    tests, sums, blends = np.isin(gate, (Gate.KERNEL, Gate.BLEND)), gate > Gate.KERNEL, gate == Gate.BLEND
    width = np.where((rng.random(n) < 0.2) & ~blends, 0.0, rng.uniform(0.2, 2.0, n))
    weights = rng.normal(size=(n, N_FEATURES)) * (rng.random((n, N_FEATURES)) < 0.7)
    return SoftTree.from_nodes(
        children_left=np.where(inner, 2 * number + 1, -1),
        children_right=np.where(inner, 2 * number + 2, -1),
        gate=gate,
        feature=np.where(tests, rng.integers(0, N_FEATURES, n), -1),
        threshold=np.where(tests, np.round(rng.normal(size=n), 1), np.nan),
        width=np.where(tests, width, 0.0),
        kernel=np.where(gate == Gate.KERNEL, rng.integers(0, 3, n), 0),
        missing_left=np.where(inner, rng.choice([0.0, 0.3, 0.5, 1.0], n), 0.5),
        weights=np.where(sums[:, None], weights, 0.0),
        bias=np.where(sums, rng.normal(size=n), 0.0),
        blend=np.where(blends, rng.random(n), 0.0),
        value=rng.normal(size=(n, n_outputs)),
        n_features=N_FEATURES,
        link=link,
        shapes=KernelShapes.of(shapes),
    )


def _bare():
    first = mixed_tree(0)
    return {
        "tree of all gates": lambda: first,
        "another tree of all gates": lambda: mixed_tree(1),
        "tree of all gates, softmax": lambda: mixed_tree(2, link="softmax"),
        "mean of trees, softmax": lambda: SoftForest.mean([mixed_tree(k, link="softmax") for k in range(3)]),
        "sum of trees": lambda: SoftForest.sum(
            [mixed_tree(k, n_outputs=1) for k in range(4)], [0, 1, 0, 1], [0.5, -0.25]
        ),
        "one leaf": lambda: SoftTree.from_nodes(
            children_left=[-1], children_right=[-1], value=[[0.25, 0.75]], n_features=N_FEATURES
        ),
    }


def _kernel():
    X = numbers()
    y, labelled = targets(X), labels(X)
    own = Kernel(edges=[-1.0, -0.2, 0.0], densities=[0.5, 2.0])
    kernels = {0: "gaussian", 1: "triangle", 2: own}
    two = np.column_stack([y, X[:, 3] ** 2])
    two[np.isnan(two)] = 0.0
    return {
        "kernel tree, box": lambda: softwood.KernelTreeClassifier(bandwidth=0.3).fit(X, labelled),
        "kernel tree with a trend, two classes": lambda: softwood.KernelTreeClassifier(
            bandwidth=0.3, max_leaf_nodes=6, trend="linear"
        ).fit(X, (np.asarray(labelled) == labelled[0]).astype(int)),
        "kernel tree with a trend, targets": lambda: softwood.KernelTreeRegressor(
            bandwidth=0.3, max_leaf_nodes=6, trend="linear"
        ).fit(X, y),
        "kernel tree, crisp": lambda: softwood.KernelTreeClassifier(bandwidth=0.0, max_depth=6).fit(X, labelled),
        "kernel tree, own kernels": lambda: softwood.KernelTreeRegressor(
            bandwidth=[0.3, 0.1, 0.5, 0.2], kernel=kernels, max_depth=5
        ).fit(X, two),
        "kernel tree, no cutoff": lambda: softwood.KernelTreeRegressor(bandwidth=0.2, cutoff=0.0, max_depth=5).fit(
            X, y
        ),
        "kernel forest": lambda: softwood.KernelForestClassifier(5, bandwidth=0.2, max_depth=6, random_state=0).fit(
            X, labelled
        ),
        "extra trees": lambda: softwood.KernelExtraTreesRegressor(5, bandwidth=0.2, max_depth=6, random_state=0).fit(
            X, y
        ),
        "boosting, two classes": lambda: softwood.KernelBoostingClassifier(
            max_iter=12, bandwidth=0.1, max_leaf_nodes=8
        ).fit(X, labels(X, 2)),
        "boosting, three classes": lambda: softwood.KernelBoostingClassifier(
            max_iter=5, bandwidth=0.2, bandwidth_decay=0.7, max_leaf_nodes=8
        ).fit(X, labelled),
        "boosting, counts": lambda: softwood.KernelBoostingRegressor(
            loss="poisson", max_iter=8, bandwidth=0.1, max_leaf_nodes=8
        ).fit(X, np.round(np.abs(y))),
        "boosting, crisp": lambda: softwood.KernelBoostingRegressor(max_iter=8, bandwidth=0.0).fit(X, y),
        "boosting, median": lambda: softwood.KernelBoostingRegressor(
            loss="absolute_error", max_iter=4, bandwidth=0.1, prediction_kernel="triangle", max_leaf_nodes=6
        ).fit(X, y),
        "boosting, quantile": lambda: softwood.KernelBoostingRegressor(
            loss="quantile", quantile=0.8, max_iter=4, bandwidth=0.1, measurement_error={0: 0.2}, max_leaf_nodes=6
        ).fit(X, y),
        "boosting by levels": lambda: softwood.KernelBoostingClassifier(
            max_iter=3, bandwidth=0.1, growth="level", max_leaf_nodes=6
        ).fit(X, labels(X, 2)),
        "kernel tree, read with another kernel": lambda: softwood.KernelTreeClassifier(
            bandwidth=0.2,
            prediction_kernel={0: own},
            prediction_bandwidth=0.4,
            measurement_error=[0.1, 0, 0, 0.2],
            max_depth=5,
        ).fit(X, labels(X, 2)),
        "kernel tree, bandwidths of nodes": lambda: softwood.KernelTreeRegressor(
            bandwidth=0.2, bandwidth_per_node=True, max_depth=5
        ).fit(X, y),
    }


def _imported():
    X = numbers()
    y, small = targets(X), {"n_estimators": 3, "max_depth": 4, "random_state": 0}
    counts = np.column_stack([np.abs(y), np.round(np.abs(y))])
    of_lightgbm = {"n_estimators": 3, "num_leaves": 6, "verbose": -1, "n_jobs": 1}
    return {
        "forest of scikit-learn": lambda: SoftForest.from_sklearn(
            ensemble.RandomForestClassifier(**small).fit(X, labels(X))
        ),
        "boosting of XGBoost": lambda: SoftForest.from_xgboost(xgboost.XGBRegressor(n_jobs=1, **small).fit(X, y)),
        "boosting of LightGBM": lambda: SoftForest.from_lightgbm(
            lightgbm.LGBMClassifier(use_missing=False, **of_lightgbm).fit(X, labels(X))
        ),
        "softened, log odds": lambda: softwood.soften(
            lightgbm.LGBMClassifier(sigmoid=2.0, **of_lightgbm).fit(X, labels(X, 2)), X, bandwidth=0.2
        ),
        "softened, three classes": lambda: softwood.soften(
            ensemble.HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=6).fit(X, labels(X)), X, bandwidth=0.1
        ),
        "softened, counts": lambda: softwood.soften(
            xgboost.XGBRegressor(objective="count:poisson", n_jobs=1, **small).fit(X, counts), X, bandwidth=0.1
        ),
        "softened, targets": lambda: softwood.soften(
            ensemble.ExtraTreesRegressor(**small).fit(X, np.column_stack([y, -y])), X, bandwidth=0.3
        ),
    }


def _gradient():
    X = np.nan_to_num(numbers(), nan=1.0)
    y, labelled = targets(X), labels(X)
    few = {"max_depth": 3, "random_state": 0}
    return {
        "soft tree": lambda: softwood.SoftTreeClassifier(**few).fit(X, labelled),
        "soft tree, targets": lambda: softwood.SoftTreeRegressor(**few).fit(X, y),
        "soft tree, two classes": lambda: softwood.SoftTreeClassifier(**few).fit(X, labels(X, 2)),
        "soft tree, several targets": lambda: softwood.SoftTreeRegressor(**few).fit(X, np.column_stack([y, -y])),
        "discriminant tree": lambda: softwood.LinearDiscriminantTreeClassifier().fit(X, labelled),
        "one-stage tree": lambda: softwood.OneStageTreeClassifier(**few).fit(X, labelled),
        "one-stage tree, targets": lambda: softwood.OneStageTreeRegressor(**few).fit(X, y),
        "one-stage forest, classes": lambda: softwood.OneStageForestClassifier(n_estimators=2, **few).fit(X, labelled),
        "one-stage forest": lambda: softwood.OneStageForestRegressor(n_estimators=3, **few).fit(X, y),
        "budding tree": lambda: softwood.BuddingTreeRegressor(random_state=0).fit(X, y),
        "end-to-end tree": lambda: softwood.EndToEndTreeClassifier(**few).fit(X, labelled),
    }


def _streams():
    X = numbers(3000)
    y, labelled = targets(X), labels(X)
    few = {"grace_period": 50, "tau": 0.1}
    pool = stream.ModelPool([stream.SoftHoeffdingTreeClassifier(random_state=0, learning_rate=r) for r in (0.01, 0.1)])
    return {
        "soft Hoeffding tree": lambda: stream.SoftHoeffdingTreeClassifier(random_state=0, **few).fit(X, labelled),
        "soft Hoeffding tree, targets": lambda: stream.SoftHoeffdingTreeRegressor(random_state=0, **few).fit(X, y),
        "smooth-step tree": lambda: stream.SmoothStepTreeClassifier(random_state=0).fit(X, labelled),
        "smooth-step tree, targets": lambda: stream.SmoothStepTreeRegressor(random_state=0).fit(X, y),
        "Hoeffding tree": lambda: stream.HoeffdingTreeClassifier(leaf_prediction="mc", **few).fit(X, labelled),
        "Hoeffding tree, targets": lambda: stream.HoeffdingTreeRegressor(leaf_prediction="mean", **few).fit(X, y),
        "pool": lambda: pool.fit(X, labelled),
    }


def _stream_forests():
    X = numbers(3000)
    few = {"n_estimators": 3, "soft_share": 1.0, "voting": "mean", "random_state": 0}
    few["soft_parameters"] = {"grace_period": 50, "tau": 0.1}
    return {
        "stream forest": lambda: stream.StreamForestClassifier(**few).fit(X, labels(X)),
        "stream forest, targets": lambda: stream.StreamForestRegressor(**few).fit(X, targets(X)),
    }


def _with_categories():
    table = frame(600)
    y = frame_targets(table)
    labelled = np.digitize(y, [1.0, 2.0])
    return {
        "kernel tree of a frame": lambda: softwood.KernelTreeClassifier(bandwidth=0.2, max_depth=6).fit(
            table, labelled
        ),
        "boosting of a frame": lambda: softwood.KernelBoostingRegressor(max_iter=8, bandwidth=0.1).fit(table, y),
        "soft tree of a frame": lambda: softwood.SoftTreeRegressor(max_depth=3, random_state=0).fit(table, y),
        "soft Hoeffding tree of a frame": lambda: stream.SoftHoeffdingTreeClassifier(
            random_state=0, grace_period=50, tau=0.1
        ).fit(table, labelled > 1),
        "Hoeffding tree of a frame": lambda: stream.HoeffdingTreeRegressor(
            leaf_prediction="mean", grace_period=50, tau=0.2
        ).fit(table, y),
    }


def _river():
    table = frame(600)

    def learned():
        model = river.SoftHoeffdingTreeRegressor(seed=0, grace_period=50, tau=0.2)
        model.learn_many(table, pd.Series(frame_targets(table)))
        return model

    return {"river": learned}


class Models(Mapping):
    """Models by name, each made at its first use: that tests are collected must not fit anything."""

    def __init__(self, makers):
        self._makers = makers
        self._made = {}

    def __getitem__(self, name):
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self):
        return iter(self._makers)

    def __len__(self):
        return len(self._makers)


@cache
def fitted():
    """Models by name."""
    return Models(_bare() | _kernel() | _gradient() | _streams() | _imported())


@cache
def stream_forests():
    """Models by name whose exports differ slightly from them in rows with missing values."""
    return Models(_stream_forests())


@cache
def fitted_to_frames():
    """Models of tables with categories, by name."""
    return Models(_with_categories() | _river())


@cache
def all_fitted():
    """Both, by name."""
    return ChainMap(fitted(), fitted_to_frames())


def answers(model, X):
    """What the model itself predicts, (n_rows, n_outputs)."""
    for name in ("predict_proba", "predict_many", "predict"):
        if hasattr(model, name):
            out = np.asarray(getattr(model, name)(X), dtype=np.float64)
            return out.reshape(len(out), -1)
    raise AssertionError(model)


def trying_rows(model, n=400, seed=1, with_missing=True):
    """Rows like those of training and further out, some with missing values, many exactly on thresholds."""
    rng = np.random.default_rng(seed)
    known = FittedModel.of(model)
    trees = known.trees
    X = numbers(n, seed)
    X[::3] += rng.normal(size=X[::3].shape) * SCALES
    if isinstance(model, SoftTree | SoftForest):
        X = rng.normal(size=X.shape)
        X[rng.random(X.shape) < 0.05] = np.nan
    if not with_missing:
        X = np.nan_to_num(X, nan=0.5)
    tests = np.flatnonzero((trees.gate == Gate.KERNEL) | (trees.gate == Gate.BLEND))
    for i in range(0, n if len(tests) else 0, 2):
        node = rng.choice(tests)
        reach = trees.width[node] * rng.choice([-1.0, 0.0, 0.0, 1.0]) if trees.gate[node] == Gate.KERNEL else 0.0
        X[i, trees.feature[node]] = trees.threshold[node] + reach
    return X


def trying_table(model, n=400, seed=1):
    """The same for tables with categories, some of them unknown."""
    rng = np.random.default_rng(seed)
    known = FittedModel.of(model)
    trees, table = known.trees, frame(n, seed)
    table.loc[rng.random(n) < 0.05, "city"] = "Bergen"
    table["is_new"] = table["is_new"].mask(rng.random(n) < 0.1)
    for at, name in enumerate(known.columns.names):
        tests = np.flatnonzero((trees.feature == at) & (trees.gate != Gate.LEAF))
        if name in table.columns and known.columns.categories[known.columns.source[at]] is None and len(tests):
            rows = rng.random(n) < 0.3
            table.loc[rows, name] = trees.threshold[rng.choice(tests, rows.sum())]
    return table
