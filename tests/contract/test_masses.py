"""Masses and values of nodes are those of the training rows: what a finished tree says of itself can be recomputed."""

import numpy as np
import pytest

from softwood import Kernel
from tests.contract.specs import SPECS
from tests.models import trees_of

GROWN_ON_ALL_ROWS = [spec for spec in SPECS if not spec.is_stream]
FORESTS = ("KernelForest", "KernelExtraTrees")
SCALED = Kernel([-1, -0.2, 0.5], [1, 3], scale=lambda x: 1 + x**2)


def kernel_options(spec):
    """Fits whose masses follow from the shares of all rows: no drawn rows, no cutoff."""
    options = [{}]
    if spec.name.startswith(("KernelTree", *FORESTS)):
        options = [{"splitter": "exact"}, {"splitter": "hist", "max_bins": 12}, {"kernel": "triangle", "min_mass": 4.0}]
        options += [{"max_leaf_nodes": 6}, {"max_depth": 3, "criterion": "entropy"}] if spec.is_classifier else []
        options += [{"kernel": "gaussian", "max_depth": 6}, {"kernel": {2: SCALED}, "bandwidth": 0.5}]
        options += [{"bandwidth": 0.2, "measurement_error": {0: 0.5, 1: lambda x: 0.1 * np.abs(x)}}]
    if "bandwidth_per_node" in spec.parameters:
        options.append({"bandwidth": "silverman", "bandwidth_per_node": True})
    return [own | {"cutoff": 0.0} | ({"bootstrap": False} if "bootstrap" in spec.parameters else {}) for own in options]


@pytest.mark.parametrize("spec", [spec for spec in GROWN_ON_ALL_ROWS if spec.is_kernel], ids=str)
@pytest.mark.parametrize("missing", [False, True])
def test_masses_are_those_of_the_rows(spec, missing):
    X, y = spec.table(n=300)
    is_boosting = "max_iter" in spec.parameters
    if is_boosting:  # which divides the rows of a bin alike: each value has a bin of its own
        X = np.round(4 * X) / 4
    else:
        X[:, 2] = np.exp(2 * X[:, 2])  # bins of very different widths
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], size=len(X))
    for given in kernel_options(spec):
        model = spec.make(**given).fit(X, y, sample_weight=weights)
        shares, at = model.memberships(X), 0
        for tree in trees_of(model):
            own = shares[:, at : at + tree.n_nodes]
            at += tree.n_nodes
            np.testing.assert_allclose(tree.mass, own.T @ weights, rtol=1e-8, err_msg=str(given))
            least = model.min_mass * (1 - 1e-5)
            assert tree.n_nodes == 1 or tree.mass.min() >= least, given
            if is_boosting:
                continue  # values of boosting are steps of Newton's method
            targets = (y[:, None] == model.classes_).astype(float) if spec.is_classifier else y[:, None]
            means = own.T @ (weights[:, None] * targets) / tree.mass[:, None]
            np.testing.assert_allclose(tree.value, means, atol=1e-8, err_msg=str(given))


@pytest.mark.parametrize("spec", [spec for spec in GROWN_ON_ALL_ROWS if spec.is_kernel], ids=str)
def test_a_cutoff_moves_little_mass(spec):
    """With the defaults, masses are those of the rows but for what the cutoff moves while trees grow."""
    X, y = spec.table(n=300)
    model = spec.make(**{"bootstrap": False} if "bootstrap" in spec.parameters else {}).fit(X, y)
    shares, at = model.memberships(X), 0
    for tree in trees_of(model):
        leaf = tree.children_left < 0
        true = shares[:, at : at + tree.n_nodes].sum(axis=0)
        at += tree.n_nodes
        assert np.abs(tree.mass - true)[leaf].sum() <= 0.05 * len(X)
        assert tree.n_nodes == 1 or tree.mass.min() >= model.min_mass * (1 - 1e-5)
