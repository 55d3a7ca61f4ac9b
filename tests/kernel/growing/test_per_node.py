"""Bandwidths estimated again at every node."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood import Kernel
from softwood.base import as_counts
from softwood.core.targets import read_classes
from softwood.kernel.data.bandwidths import loo_widths, silverman_widths
from tests.kernel.grown import KernelTreeClassifier, KernelTreeRegressor
from tests.reference.gains import gain, impurity
from tests.reference.growing import MERITS
from tests.reference.kernels import BOX, LATE, STAIRS, cdf
from tests.reference.search import Axis


def bounds(tree, shape, X):
    """Shares of the rows in each node, and by feature the distribution values at the ends of their parts."""
    shares = np.zeros((tree.n_nodes, len(X)))
    lower, upper = np.zeros((tree.n_nodes, *X.shape)), np.ones((tree.n_nodes, *X.shape))
    shares[0] = 1.0
    for node in tree.walk():
        if tree.children_left[node] < 0:
            continue
        left, right = tree.children_left[node], tree.children_right[node]
        j = tree.feature[node]
        known = ~np.isnan(X[:, j])
        reached = cdf(tree.threshold[node], X[:, j], tree.width[node], shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            part = np.clip((reached - lower[node, :, j]) / (upper[node, :, j] - lower[node, :, j]), 0, 1)
        part = np.where(known, part, tree.missing_left[node])
        for child, child_part in ((left, part), (right, 1 - part)):
            shares[child] = np.where(shares[node] > 0, shares[node] * child_part, 0.0)
            lower[child], upper[child] = lower[node], upper[node]
        upper[left, known, j] = np.minimum(upper[node, known, j], reached[known])
        lower[right, known, j] = np.maximum(lower[node, known, j], reached[known])
    return shares, lower, upper


def weighted_deviation(x, masses):
    known = ~np.isnan(x)
    x, w = x[known], masses[known] / masses[known].sum()
    return np.sqrt(w @ (x - w @ x) ** 2)


@st.composite
def tables(draw):
    n, p = draw(st.integers(3, 9)), draw(st.integers(1, 2))
    cell = st.integers(-8, 8).map(lambda k: k / 4)
    cell = cell | st.just(np.nan) if draw(st.booleans()) else cell
    X = np.array([[draw(cell) for _ in range(p)] for _ in range(n)])
    y = np.array([draw(st.integers(0, 2)) for _ in range(n)])
    weights = as_counts(np.array([draw(st.sampled_from([1.0, 2.0, 0.7])) for _ in range(n)]))
    return X, y, weights


@pytest.mark.tiny
@given(tables(), st.sampled_from([BOX, STAIRS, LATE]), st.sampled_from(["gini", "entropy", "squared_error"]))
def test_no_threshold_is_better_than_the_one_found(data, shape, criterion):
    X, y, weights = data
    scale, min_mass = 0.6, 0.8
    parameters = {
        "bandwidth": scale, "bandwidth_per_node": True, "kernel": Kernel(*shape), "cutoff": 0.0, "min_mass": min_mass,
        "max_depth": 2,
    }  # fmt: skip
    if criterion == "squared_error":
        model = KernelTreeRegressor(**parameters).fit(X, y, sample_weight=weights)
        Y = y[:, None].astype(float)
    else:
        model = KernelTreeClassifier(criterion=criterion, **parameters).fit(X, y, sample_weight=weights)
        Y = (y[:, None] == model.classes_).astype(float)
    tree = model.tree_
    shares, lower, upper = bounds(tree, shape, X)
    for node in range(tree.n_nodes):
        masses = weights * shares[node]
        here = masses > 1e-12
        mass = masses.sum()
        assert tree.mass[node] == pytest.approx(mass, rel=1e-9)
        gains = []
        for j in range(X.shape[1]):
            if np.isnan(X[here, j]).all():
                continue
            width = scale * weighted_deviation(X[here, j], masses[here])
            width = width if np.ptp(X[here, j][~np.isnan(X[here, j])]) > 0 else 0.0
            axis = Axis(
                X[here, j], width, masses[here], masses[here, None] * Y[here], shape=shape, lower=lower[node, here, j],
                upper=upper[node, here, j],
            )  # fmt: skip
            _, t = axis.best(MERITS[criterion], min_mass, n_grid=20)
            if not np.isnan(t):
                gains.append(gain(masses[here], Y[here], axis.shares(t), criterion))
            if tree.feature[node] == j:
                assert tree.width[node] == pytest.approx(width)
                found = gain(masses[here], Y[here], axis.shares(tree.threshold[node]), criterion)
        tolerance = 1e-8 * mass * impurity(masses, Y, criterion) + 1e-11 * mass
        if tree.children_left[node] >= 0:
            assert found >= max(gains) - tolerance
        elif tree.depth[node] < 2:
            assert max(gains, default=0.0) <= tolerance


@pytest.mark.tiny
@pytest.mark.parametrize("cutoff", [0.0, 0.05])
@pytest.mark.parametrize("bandwidth", [0.7, "silverman", "loo"])
@pytest.mark.parametrize("kernel", ["box", "gaussian"])
def test_shares_at_fit_are_those_at_prediction(cutoff, bandwidth, kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(3, size=40)
    weights = rng.choice([1.0, 2.0], size=40)
    model = KernelTreeClassifier(bandwidth=bandwidth, bandwidth_per_node=True, kernel=kernel, cutoff=cutoff, min_mass=3)
    tree = model.fit(X, y, sample_weight=weights).tree_
    shares = model.memberships(X)
    assert tree.n_leaves > 4
    assert shares[:, tree.children_left < 0].sum(axis=1) == pytest.approx(1.0)
    assert tree.mass == pytest.approx(shares.T @ weights, rel=1e-9 if cutoff == 0.0 else 4 * cutoff)
    assert tree.mass.min() >= 3 * (1 - 1e-5)
    inner = np.flatnonzero(tree.children_left >= 0)
    below = tree.mass[tree.children_left[inner]] + tree.mass[tree.children_right[inner]]
    assert below == pytest.approx(tree.mass[inner], rel=1e-12)


@pytest.mark.tiny
@pytest.mark.parametrize("bandwidth", ["silverman", "loo"])
def test_widths_are_those_of_the_rule_for_the_points_of_the_node(bandwidth):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 2)), rng.integers(2, size=60)
    model = KernelTreeClassifier(bandwidth=bandwidth, bandwidth_per_node=True, cutoff=0.0, max_depth=3).fit(X, y)
    tree, shares = model.tree_, model.memberships(X).toarray()
    inner = np.flatnonzero(tree.children_left >= 0)
    assert len(np.unique(tree.width[inner])) > 2
    for node in inner:
        rows = np.flatnonzero(shares[:, node])
        if bandwidth == "silverman":
            widths = silverman_widths(X[rows], shares[rows, node])
        else:
            widths = loo_widths(X[rows], read_classes(y).take(rows), shares[rows, node])
        assert tree.width[node] == pytest.approx(widths[tree.feature[node]])


@pytest.mark.tiny
def test_a_constant_width_gives_the_tree_of_the_common_way():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(3, size=50)
    parameters = {"bandwidth": 0.4, "bandwidth_unit": "absolute", "min_mass": 4, "kernel": "triangle"}
    common, per_node = (
        KernelTreeClassifier(bandwidth_per_node=flag, **parameters).fit(X, y).tree_ for flag in (False, True)
    )
    assert np.array_equal(common.feature, per_node.feature)
    assert per_node.threshold == pytest.approx(common.threshold, nan_ok=True)
    assert per_node.value == pytest.approx(common.value)
    assert common.n_leaves > 4


@pytest.mark.tiny
def test_other_prediction_kernels():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.integers(2, size=50)
    parameters = {"bandwidth": 0.5, "bandwidth_per_node": True, "min_mass": 4}
    same = KernelTreeClassifier(**parameters).fit(X, y)
    crisp = KernelTreeClassifier(prediction_kernel=None, **parameters).fit(X, y)
    wide = KernelTreeClassifier(prediction_bandwidth=2.0, bandwidth_unit="absolute", **parameters).fit(X, y)
    other = KernelTreeClassifier(prediction_kernel="gaussian", **parameters).fit(X, y)
    assert crisp.tree_.is_crisp
    assert np.array_equal(crisp.tree_.threshold, same.tree_.threshold, equal_nan=True)
    assert set(wide.tree_.width[wide.tree_.children_left >= 0]) == {2.0}
    assert np.array_equal(other.tree_.width, same.tree_.width)
    assert not np.allclose(other.predict_proba(X), same.predict_proba(X))


def test_errors_at_prediction_are_refused():
    model = KernelTreeClassifier(bandwidth=0.5, bandwidth_per_node=True).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="'bandwidth_per_node' parameter of KernelTreeClassifier"):
        model.predict([[0.0]], measurement_error={0: 0.1})
