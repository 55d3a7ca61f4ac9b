"""Small tables and models, and what makes two models the same."""

import dask.array as da
import numpy as np

import softwood
import softwood.dask

KINDS = {
    "KernelTree": {"max_depth": 4},
    "KernelForest": {"n_estimators": 3, "max_depth": 4},
    "KernelExtraTrees": {"n_estimators": 3, "max_depth": 4},
    "KernelBoosting": {"max_iter": 3},
}


def table(n=240, *, missing=True):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n, 4)), 3)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def pair(kind, ending="Classifier", **parameters):
    """The model on a cluster and the local one, with the same parameters."""
    settings = KINDS[kind] | {"bandwidth": 0.2, "random_state": 0, "min_mass": 3.0} | parameters
    local = getattr(softwood, kind + ending)(growth="level", **settings)
    return getattr(softwood.dask, kind + ending)(**settings), local


def in_parts(array, n_parts):
    """A Dask array of parts of different sizes."""
    cuts = np.linspace(0, len(array), n_parts + 1).astype(int)
    cuts[1:-1] += np.arange(n_parts - 1) % 3
    sizes = tuple(np.diff(cuts).tolist())
    return da.from_array(array, chunks=(sizes, *array.shape[1:]))


def assert_same(first, second):
    one, other = (model.tree_ if hasattr(model, "tree_") else model.forest_ for model in (first, second))
    names = ("feature", "threshold", "missing_left", "width", "children_left", "value", "mass", "impurity")
    for name in names:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(first.bandwidths_, second.bandwidths_)
