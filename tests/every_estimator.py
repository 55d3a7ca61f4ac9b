"""Every estimator that is fitted to a whole table, with settings that make it quick."""

import numpy as np
from sklearn.base import is_classifier

import softwood

SMALL = {
    "BuddingTree": {"max_depth": 3, "max_iter": 5},
    "EndToEndTree": {"max_depth": 2, "level_max_iter": 2, "max_iter": 4},
    "KernelBoosting": {"max_iter": 5, "min_mass": 3.0},
    "KernelExtraTrees": {"n_estimators": 4},
    "KernelForest": {"n_estimators": 4},
    "KernelTree": {},
    "LinearDiscriminantTree": {},
    "OneStageForest": {"n_estimators": 3, "max_depth": 2, "tree_parameters": {"max_iter": 4}},
    "OneStageTree": {"max_depth": 3, "max_iter": 5},
    "SoftTree": {"max_leaf_nodes": 3, "refine_max_iter": 3},
}

ESTIMATORS = [name for name in softwood.__all__ if name.endswith(("Classifier", "Regressor"))]
KERNEL_ESTIMATORS = [name for name in ESTIMATORS if name.startswith("Kernel")]


def small(name, **parameters):
    """The estimator with quick settings."""
    family = name.removesuffix("Classifier").removesuffix("Regressor")
    return getattr(softwood, name)(**{**SMALL[family], "random_state": 0, **parameters})


def given_bandwidth(name):
    """Parameters that spare the choice of the bandwidth, where there is one."""
    return {"bandwidth": 0.3} if name in KERNEL_ESTIMATORS else {}


def table(name, n=120, seed=0):
    """Rows of four columns, and targets that depend on two of them."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    signal = X[:, 0] + X[:, 1] * (X[:, 0] > 0)
    if name.endswith("Classifier"):
        return X, np.array(["ant", "bee", "cow"])[np.digitize(signal, [-0.5, 0.7])]
    return X, signal


def answer(model, X):
    """Class probabilities, or targets."""
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)
