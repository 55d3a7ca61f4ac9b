"""Small fitted models for tests of Shapley values, and what they are worth to sets of columns."""

from functools import cache

import numpy as np
import pandas as pd

import softwood
from softwood import Kernel, SoftForest, SoftTree, stream
from tests.reference.shapley import path_worth

N_COLUMNS = 5


def numbers(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_COLUMNS))
    X[rng.random(X.shape) < 0.08] = np.nan
    return X


def targets(X):
    z = np.nan_to_num(X)
    return z[:, 0] + np.sin(2 * z[:, 1]) + z[:, 2] * z[:, 3]


def labels(X, n_classes=3):
    score = targets(X)
    return np.array(["ant", "bee", "cow"])[
        np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    ]


def frame(n=300, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"size": rng.normal(size=n), "weight": rng.normal(size=n)})
    table["city"] = rng.choice(["Rome", "Oslo", "Bonn", "Bern"], n)
    table["is_new"] = rng.choice(["yes", "no"], n)
    table["city"] = table["city"].mask(rng.random(n) < 0.1)
    table["size"] = table["size"].mask(rng.random(n) < 0.1)
    return table


def frame_targets(table):
    city = table["city"].map({"Rome": 0.0, "Oslo": 1.0, "Bonn": 2.0}).fillna(3.0).to_numpy()
    return city + table["size"].fillna(0).to_numpy() * (table["is_new"] == "yes") + 0.3 * table["weight"].to_numpy()


def _kernel_models():
    X = numbers()
    y, labelled = targets(X), labels(X)
    own = Kernel(edges=[-1.0, -0.2, 0.0], densities=[0.5, 2.0])
    errors = {0: 0.3, 1: lambda x: 0.1 + 0.2 * np.abs(x)}
    return {
        "tree, three classes": lambda: softwood.KernelTreeClassifier(
            refine=False, trend=None, bandwidth=0.3, max_depth=5
        ).fit(X, labelled),
        "tree, crisp": lambda: softwood.KernelTreeClassifier(refine=False, trend=None, bandwidth=0.0, max_depth=5).fit(
            X, labelled
        ),
        "tree, wide": lambda: softwood.KernelTreeRegressor(refine=False, trend=None, bandwidth=2.0, max_depth=4).fit(
            X, y
        ),
        "tree, own kernels": lambda: softwood.KernelTreeRegressor(
            bandwidth=[0.3, 0.1, 0.5, 0.2, 0.0], kernel={0: "gaussian", 1: "triangle", 2: own}, max_depth=4
        ).fit(X, np.column_stack([y, y**2])),
        "tree, errors of cells": lambda: softwood.KernelTreeRegressor(
            bandwidth=0.2, measurement_error=errors, max_depth=4
        ).fit(np.nan_to_num(X), y),
        "forest": lambda: softwood.KernelForestClassifier(3, bandwidth=0.2, max_depth=4, random_state=0).fit(
            X, labelled
        ),
        "extra trees": lambda: softwood.KernelExtraTreesRegressor(3, bandwidth=0.4, max_depth=4, random_state=0).fit(
            X, y
        ),
    }


def _kernel_models_of_frames():
    table = frame()
    y = frame_targets(table)
    return {
        "tree of a frame": lambda: softwood.KernelTreeClassifier(
            refine=False, trend=None, bandwidth=0.2, max_depth=6
        ).fit(table, np.digitize(y, [1.0, 2.0])),
        "forest of a frame": lambda: softwood.KernelForestRegressor(3, bandwidth=0.2, max_depth=5, random_state=0).fit(
            table, y
        ),
    }


def _one_sided_models():
    """Models that send missing values to one side, so that the game of the path divides by masses."""
    X, table = numbers(), frame()
    y = targets(X)
    return {
        "boosting, two classes": lambda: softwood.KernelBoostingClassifier(
            max_iter=4, bandwidth=0.2, max_leaf_nodes=6
        ).fit(X, labels(X, 2)),
        "boosting, three classes": lambda: softwood.KernelBoostingClassifier(
            max_iter=2, bandwidth=0.2, bandwidth_decay=0.7, max_leaf_nodes=6
        ).fit(X, labels(X)),
        "boosting, counts": lambda: softwood.KernelBoostingRegressor(
            loss="poisson", max_iter=3, bandwidth=0.1, max_leaf_nodes=6
        ).fit(X, np.round(np.abs(y))),
        "boosting of a frame": lambda: softwood.KernelBoostingRegressor(
            max_iter=4, bandwidth=0.1, max_leaf_nodes=6
        ).fit(table, frame_targets(table)),
        "Hoeffding tree": lambda: stream.HoeffdingTreeClassifier(leaf_prediction="mc", grace_period=50, tau=0.2).fit(
            numbers(3000), labels(numbers(3000))
        ),
    }


def _evaluated_models():
    """Models whose gates do not factor."""
    X = np.nan_to_num(numbers(), nan=1.0)
    y, labelled = targets(X), labels(X)
    many, table = numbers(2000), frame()
    few = {"max_depth": 3, "random_state": 0}
    return {
        "soft tree": lambda: softwood.SoftTreeClassifier(**few).fit(X, labelled),
        "soft tree of a frame": lambda: softwood.SoftTreeRegressor(**few).fit(table, frame_targets(table)),
        "discriminant tree": lambda: softwood.LinearDiscriminantTreeClassifier().fit(X, labelled),
        "one-stage forest": lambda: softwood.OneStageForestRegressor(n_estimators=2, **few).fit(X, y),
        "soft Hoeffding tree": lambda: stream.SoftHoeffdingTreeClassifier(random_state=0, grace_period=50, tau=0.1).fit(
            many, labels(many)
        ),
        "soft Hoeffding tree, targets": lambda: stream.SoftHoeffdingTreeRegressor(
            random_state=0, grace_period=50, tau=0.1
        ).fit(many, targets(many)),
        "Hoeffding tree, models in leaves": lambda: stream.HoeffdingTreeClassifier(
            leaf_prediction="nba", grace_period=50, tau=0.2
        ).fit(many, labels(many)),
    }


MAKERS = _kernel_models() | _kernel_models_of_frames() | _one_sided_models() | _evaluated_models()
KERNEL = [*_kernel_models(), *_kernel_models_of_frames()]
ONE_SIDED = list(_one_sided_models())
EVALUATED = list(_evaluated_models())


@cache
def fitted(name):
    return MAKERS[name]()


def rows_for(name, n=2, seed=5):
    X = frame(n, seed) if "frame" in name else numbers(n, seed)
    return np.nan_to_num(X) if "errors" in name else X


def outputs(model, X):
    """Raw outputs, by the model's own readers, (n_rows, n_outputs)."""
    if hasattr(model, "growth_"):
        growth = model.growth_
        return (growth.raw if getattr(growth, "is_class", False) else growth.predict)(model._matrix(X))
    points, widths = model._read_points(X)
    trees = model._finished
    return trees.raw(points, widths=widths) if isinstance(trees, SoftTree) else trees.predict(points, widths=widths)


def mixed_worth(model, X, i, background=None):
    """Function from a set of columns to the outputs if the others are missing, or come from background rows."""
    is_frame = hasattr(X, "iloc")

    def worth(present):
        others = [c for c in range(X.shape[1]) if c not in present]
        if is_frame:
            table = pd.concat([X.iloc[[i]]] * (1 if background is None else len(background)), ignore_index=True)
            for c in others:
                name = X.columns[c]
                absent = (
                    pd.Series([None] * len(table)) if background is None else background[name].reset_index(drop=True)
                )
                table[name] = absent.astype(X[name].dtype)
        else:
            table = np.repeat(X[[i]], 1 if background is None else len(background), axis=0)
            table[:, others] = np.nan if background is None else background[:, others]
        return outputs(model, table).mean(axis=0)

    return worth


def mass_worth(model, X, i, shapes):
    """Function from a set of columns to the outputs if the others are divided by the masses of the nodes."""
    points, _ = (model._matrix(X), None) if hasattr(model, "growth_") else model._read_points(X)
    groups = [set(np.flatnonzero(model.columns_.source == j)) for j in range(X.shape[1])]
    trees = model._finished
    trees = SoftForest.mean([trees]) if isinstance(trees, SoftTree) else trees
    functions = []
    for tree in trees:
        left, right = tree.mass[tree.children_left], tree.mass[tree.children_right]
        one_sided = (tree.missing_left == 0) | (tree.missing_left == 1)
        shares = np.where(one_sided, left / (left + right), tree.missing_left)
        functions.append(path_worth(tree, shapes, points[i], groups, shares))

    def worth(present):
        total = np.zeros(trees.n_outputs)
        for function, first in zip(functions, trees.output, strict=True):
            own = function(present)
            total[first : first + len(own)] += own
        return trees.base + trees.factor * total

    return worth


def is_close(found, expected, tolerance):
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    return found.shape == expected.shape and np.abs(found - expected).max(initial=0.0) <= tolerance * scale


def adds_up(found, tolerance=1e-10):
    return is_close(found.base_values + found.values.sum(axis=1), found.prediction, tolerance)


def vars_of(tree):
    return {name: getattr(tree, name) for name in tree.__dataclass_fields__}
