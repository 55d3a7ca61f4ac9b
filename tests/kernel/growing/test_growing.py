"""The whole growth against the slow search, and what must not change a tree."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from softwood import Kernel
from softwood.base import as_counts
from softwood.kernel.growing.workspace import Workspace
from tests.kernel.grown import KernelTreeClassifier, KernelTreeRegressor
from tests.reference.growing import check_splits
from tests.reference.kernels import BOX, LATE, SHAPES, STAIRS, draw

on_grid = st.integers(-8, 8).map(lambda k: k / 4)
anywhere = st.floats(-2, 2).map(lambda x: round(x, 3))


@st.composite
def problems(draw, *, shapes=SHAPES, max_rows=9, missing=True):
    """Few rows with ties, weights, missing values, and a kernel for each column."""
    n, p = draw(st.integers(2, max_rows)), draw(st.integers(1, 3))
    value = draw(st.sampled_from([on_grid, anywhere, on_grid | anywhere]))
    cell = value | st.just(np.nan) if missing and draw(st.booleans()) else value
    X = np.array([[draw(cell) for _ in range(p)] for _ in range(n)])
    return {
        "X": X,
        "weights": as_counts(np.array([draw(st.sampled_from([1.0, 1.0, 2.0, 0.7])) for _ in range(n)])),
        "widths": np.array([draw(st.sampled_from([0.0, 0.05, 0.25, 0.6, 2.0])) for _ in range(p)]),
        "shapes": [draw(st.sampled_from(shapes)) for _ in range(p)],
        "criterion": draw(st.sampled_from(["gini", "entropy", "squared_error"])),
        "labels": np.array([draw(st.integers(0, 2)) for _ in range(n)]),
        "min_mass": draw(st.sampled_from([0.3, 1.0, 1.5])),
    }


def fit(problem, *, errors=None, **parameters):
    """The estimator for a problem, and its targets as a matrix."""
    given = {
        "kernel": {j: Kernel(*shape) for j, shape in enumerate(problem["shapes"])},
        "bandwidth_unit": "absolute",
        "bandwidth": problem["widths"],
        "min_mass": problem["min_mass"],
        "splitter": "exact",
        "max_depth": 3,
        "cutoff": 0.0,
    }
    given |= parameters
    labels = problem["labels"]
    if problem["criterion"] == "squared_error":
        Y = np.column_stack([labels * 1.5, labels**2 - problem["weights"]])
        model = KernelTreeRegressor(refine=False, trend=None, **given)
        return model.fit(problem["X"], Y, sample_weight=problem["weights"], measurement_error=errors), Y
    model = KernelTreeClassifier(refine=False, trend=None, criterion=problem["criterion"], **given)
    model.fit(problem["X"], labels, sample_weight=problem["weights"], measurement_error=errors)
    return model, (labels[:, None] == model.classes_).astype(float)


def check(problem, model, Y, widths=None):
    # a column without spread has no kernel
    widths = np.broadcast_to(model.bandwidths_, problem["X"].shape) if widths is None else widths
    return check_splits(
        model.tree_, problem["X"], Y, problem["weights"], widths, problem["shapes"],
        criterion=problem["criterion"], min_mass=problem["min_mass"], max_depth=3,
    )  # fmt: skip


@pytest.mark.tiny
@given(problems(shapes=[BOX]))
def test_no_threshold_is_better_than_the_one_found_box(problem):
    check(problem, *fit(problem))


@pytest.mark.tiny
@given(problems())
def test_no_threshold_is_better_than_the_one_found_any_kernel(problem):
    check(problem, *fit(problem))


@pytest.mark.tiny
@given(problems(), st.data())
def test_no_threshold_is_better_than_the_one_found_errors_of_cells(problem, data):
    sizes = st.sampled_from([0.0, 0.1, 0.5, 1.5])
    errors = np.array([[data.draw(sizes) for _ in row] for row in problem["X"]])
    model, Y = fit(problem, errors=errors)
    check(problem, model, Y, np.hypot(model.bandwidths_, errors))


@pytest.mark.tiny
@given(problems())
def test_masses_at_fit_are_those_at_prediction(problem):
    model, Y = fit(problem, cutoff=0.0)  # which applies to growth alone
    shares = model.memberships(problem["X"]).toarray()
    masses = problem["weights"][:, None] * shares
    tree = model.tree_
    assert tree.mass == pytest.approx(masses.sum(axis=0), rel=1e-9)
    assert tree.value == pytest.approx(masses.T @ Y / masses.sum(axis=0)[:, None], rel=1e-8, abs=1e-8)
    inner = np.flatnonzero(tree.children_left >= 0)
    below = shares[:, tree.children_left[inner]] + shares[:, tree.children_right[inner]]
    assert below == pytest.approx(shares[:, inner], abs=1e-12)
    assert shares[:, tree.children_left < 0].sum(axis=1) == pytest.approx(1.0, abs=1e-12)


def grown(X, y, **parameters):
    parameters = {"bandwidth": 0.3, "random_state": 0} | parameters
    return KernelTreeClassifier(refine=False, trend=None, **parameters).fit(X, y).tree_


def same(one, other):
    """Whether two trees are equal to the last bit."""
    fields = ("children_left", "children_right", "feature", "threshold", "missing_left", "width", "value", "mass")
    return all(np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in fields)


def gains(tree):
    """Decrease of impurity at each node, as a part of the whole mass; nan at leaves."""
    loss = tree.mass * tree.impurity / tree.mass[0]
    out = loss - loss[tree.children_left] - loss[tree.children_right]
    return np.where(tree.children_left >= 0, out, np.nan)


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 6))
    X[rng.random(X.shape) < 0.05] = np.nan
    score = np.nansum(X[:, :3] * [1, 2, -1], axis=1) + rng.normal(size=1500)
    return X, np.digitize(score, [-1, 1])


@pytest.mark.parametrize("parameters", [{}, {"splitter": "hist"}, {"max_features": 2}, {"kernel": "triangle"}])
def test_number_of_threads_does_not_matter(blobs, parameters):
    one, two = (grown(*blobs, n_jobs=n, min_mass=5, **parameters) for n in (1, 2))
    assert one.n_nodes > 50
    assert same(one, two)


def test_best_first_without_a_limit_is_the_same_tree(blobs):
    X, y = blobs[0][:300], blobs[1][:300]
    assert same(grown(X, y, min_mass=3), grown(X, y, min_mass=3, max_leaf_nodes=100_000))


def test_best_first_takes_the_largest_gains():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 3)), rng.integers(3, size=200)
    full = grown(X, y, max_leaf_nodes=200, min_mass=5)
    small = grown(X, y, max_leaf_nodes=6, min_mass=5)
    assert small.n_leaves == 6

    # follow the small tree in the full one; what it left out gains less than the least it took
    taken, left_out, pairs = [], [], [(0, 0)]
    while pairs:
        a, b = pairs.pop()
        if small.children_left[a] >= 0:
            assert small.threshold[a] == full.threshold[b]
            taken.append(gains(full)[b])
            pairs.append((small.children_left[a], full.children_left[b]))
            pairs.append((small.children_right[a], full.children_right[b]))
        else:
            left_out.append(gains(full)[b])
    assert len(taken) == 5
    assert np.nanmax(left_out) <= min(taken) * (1 + 1e-9)


@pytest.mark.parametrize("splitter", ["exact", "hist"])
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_max_depth(blobs, splitter, limit):
    assert grown(*blobs, splitter=splitter, max_depth=limit).max_depth == limit


@pytest.mark.parametrize("kernel", ["box", "gaussian"])
@pytest.mark.parametrize("min_mass", [0.4, 7.0, 300.0])
def test_min_mass(blobs, kernel, min_mass):
    X, y = blobs[0][:600], blobs[1][:600]
    tree = grown(X, y, kernel=kernel, min_mass=min_mass, cutoff=0.0, max_depth=8)
    assert tree.n_leaves > 1
    assert tree.mass.min() >= min_mass * (1 - 1e-6)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("max_leaf_nodes", [None, 50])
def test_min_gain_is_in_units_of_the_impurity(blobs, criterion, n_classes, max_leaf_nodes):
    X, y = blobs[0][:240], np.minimum(blobs[1][:240], n_classes - 1)
    parameters = {"criterion": criterion, "max_leaf_nodes": max_leaf_nodes, "min_mass": 5}
    check_min_gain(grown(X, y, **parameters), lambda g: grown(X, y, min_gain=g, **parameters))


def test_min_gain_of_a_regressor(blobs):
    X, y = blobs[0][:240], 100.0 * np.nan_to_num(blobs[0][:240, :2])

    def fit(g):
        return KernelTreeRegressor(refine=False, trend=None, bandwidth=0.3, min_gain=g, min_mass=5).fit(X, y).tree_

    check_min_gain(fit(0.0), fit)


def check_min_gain(full, fit):
    limit = float(np.nanmedian(gains(full)))
    small = fit(limit)
    assert 1 < small.n_leaves < full.n_leaves
    assert np.nanmin(gains(small)) >= limit * (1 - 1e-9)
    # cut just above the gain of the root: nothing is left
    assert fit(float(gains(full)[0]) * (1 + 1e-6)).n_leaves == 1
    assert fit(float(gains(full)[0]) * (1 - 1e-6)).n_leaves > 1


def test_drawn_features_follow_the_seed(blobs):
    X, y = blobs
    trees = [grown(X, y, max_features=1, random_state=seed, max_depth=4) for seed in (0, 0, 1)]
    assert same(trees[0], trees[1])
    assert not same(trees[0], trees[2])
    firsts = [grown(X, y, max_features=1, random_state=seed, max_depth=1).feature[0] for seed in range(60)]
    assert set(firsts) == set(range(6))


def test_a_search_goes_on_past_features_that_cannot_be_split():
    X = np.column_stack([np.zeros((40, 9)), np.arange(40.0)])
    for seed in range(10):
        tree = grown(X, np.arange(40) >= 20, max_features=1, random_state=seed)
        assert tree.feature[0] == 9


@pytest.mark.parametrize(
    ("wanted", "number"), [("sqrt", 4), ("log2", 4), (0.5, 8), (3, 3), (99, 16), (None, 16), (1e-9, 1)]
)
def test_max_features(wanted, number):
    assert KernelTreeClassifier(max_features=wanted)._n_draw(16) == number


@pytest.mark.parametrize("bandwidth", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_histogram_and_exact_search_agree_if_every_value_has_its_bin(bandwidth, weighted):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, size=(900, 4)) / 7
    X[rng.random(X.shape) < 0.03] = np.nan
    y = (np.nansum(X, axis=1) > 55).astype(int) + (rng.random(900) < 0.1)
    weights = rng.random(900) if weighted else None
    exact, hist = (
        KernelTreeClassifier(refine=False, trend=None, bandwidth=bandwidth, splitter=s, min_mass=2)
        .fit(X, y, sample_weight=weights)
        .tree_
        for s in ("exact", "hist")
    )
    assert exact.n_nodes > 30
    assert same(exact, hist)


def test_histogram_search_is_the_exact_one_over_bins():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=1000) > 1).astype(int)
    parameters = {"bandwidth": 0.5, "bandwidth_unit": "absolute", "min_mass": 3}
    binned = np.empty_like(X)
    for j in range(3):  # 20 quantile bins of 50 points, each at its mean
        order = np.argsort(X[:, j]).reshape(20, 50)
        binned[order, j] = X[order, j].mean(axis=1, keepdims=True)
    hist = KernelTreeClassifier(refine=False, trend=None, splitter="hist", max_bins=20, max_depth=1, **parameters).fit(
        X, y
    )
    exact = KernelTreeClassifier(refine=False, trend=None, splitter="exact", max_depth=1, **parameters).fit(binned, y)
    for name in ("children_left", "feature"):
        assert np.array_equal(getattr(hist.tree_, name), getattr(exact.tree_, name))
    assert hist.tree_.threshold == pytest.approx(exact.tree_.threshold, nan_ok=True)


def test_histogram_search_comes_close_to_the_exact_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = X[:, 0] + np.abs(X[:, 1]) > 1
    exact, hist = (
        KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1, splitter=s, max_depth=6).fit(X, y)
        for s in ("exact", "hist")
    )
    assert np.abs(exact.predict_proba(X) - hist.predict_proba(X)).mean() < 0.02


def test_large_table_one_feature_after_the_other(monkeypatch):
    from softwood.kernel.growing import workspace

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    X[:, 2] = np.nan
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(3, size=300)
    at_once = grown(X, y, min_mass=4)
    monkeypatch.setattr(workspace, "_TABLES_AT_ONCE", 0)
    assert same(at_once, grown(X, y, min_mass=4))


def test_growth_over_many_budgets(monkeypatch):
    from softwood.kernel.growing import growing

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(2, size=200)
    whole = grown(X, y)
    monkeypatch.setattr(growing, "_BUDGET", 3)
    assert same(whole, grown(X, y))


@pytest.mark.tiny
def test_crossed_features_are_found_by_crisp_trees():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]])
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0).fit(X, [0, 1, 1, 0])
    assert model.predict(X).tolist() == [0, 1, 1, 0]


# What must not change a tree: small data full of near ties, where rounding errors would decide


def small_data(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(10, 100)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, p))
    score = X[:, 0] + 0.5 * rng.normal(size=n)
    return rng, X, score, rng.normal(size=(40, p))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("parameters", [{"bandwidth": 0}, {"bandwidth": 0.3}, {"bandwidth": 0.3, "kernel": "triangle"}])
def test_rows_columns_weights_and_units(seed, kind, parameters):
    rng, X, score, Z = small_data(seed)
    is_class = kind != "squared_error"
    y = np.digitize(score, [-0.5, 0.5] if seed % 2 else [0]) if is_class else score

    def answer(X, y, Z, weights=None):
        model = (KernelTreeClassifier if is_class else KernelTreeRegressor)(criterion=kind, **parameters)
        model.fit(X, y, sample_weight=weights)
        return model.predict_proba(Z) if is_class else model.predict(Z)

    expected = answer(X, y, Z)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    assert answer(X[rows], y[rows], Z) == pytest.approx(expected, abs=1e-7)
    assert answer(X[:, columns], y, Z[:, columns]) == pytest.approx(expected, abs=1e-7)
    assert answer(X * 3.7e5, y, Z * 3.7e5) == pytest.approx(expected, abs=1e-7)
    weights = rng.integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    assert answer(X[repeated], y[repeated], Z) == pytest.approx(answer(X, y, Z, weights), abs=1e-7)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_targets_of_any_size(scale):
    _, X, y, Z = small_data(1)
    for targets in (y, np.column_stack([y, -2 * y])):
        for parameters in ({}, {"max_leaf_nodes": 9}, {"bandwidth_per_node": True}):
            expected = KernelTreeRegressor(refine=False, trend=None, bandwidth=0.3, **parameters).fit(X, targets)
            found = KernelTreeRegressor(refine=False, trend=None, bandwidth=0.3, **parameters).fit(X, targets * scale)
            assert found.predict(Z) / scale == pytest.approx(expected.predict(Z))
            assert found.feature_importances_ == pytest.approx(expected.feature_importances_)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
@pytest.mark.parametrize("kernel", ["box", "gaussian"])
def test_columns_of_any_size(scale, kernel):
    _, X, y, Z = small_data(1)
    expected = KernelTreeRegressor(refine=False, trend=None, bandwidth=0.3, kernel=kernel).fit(X, y)
    found = KernelTreeRegressor(refine=False, trend=None, bandwidth=0.3, kernel=kernel).fit(X * scale, y)
    assert found.predict(Z * scale) == pytest.approx(expected.predict(Z), abs=1e-7)
    slopes = expected.input_gradient(Z)
    if scale < 1e300:
        assert found.input_gradient(Z * scale) * scale == pytest.approx(slopes, rel=1e-6, abs=1e-6)


@pytest.mark.tiny
def test_a_split_whose_shares_would_all_be_cut_off_is_made_without_cutoff():
    X, y = [[0.0], [0.05]], [0, 1]
    parameters = {"bandwidth": 1.0, "bandwidth_unit": "absolute", "min_mass": 0.01, "max_depth": 1}
    whole, cut = (
        KernelTreeClassifier(refine=False, trend=None, cutoff=cutoff, **parameters).fit(X, y).tree_
        for cutoff in (0.0, 0.1)
    )
    assert whole.mass[1:].min() < 0.1
    np.testing.assert_array_equal(cut.mass, whole.mass)


# Points drawn from the kernel density estimate


@pytest.mark.parametrize("shape", [BOX, STAIRS, LATE])
@pytest.mark.parametrize("is_class", [True, False])
def test_first_splits_are_those_of_many_points_from_the_density(shape, is_class):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    score = X[:, 0] + 0.7 * (X[:, 1] > 0.3) + 0.2 * rng.normal(size=60)
    y = np.digitize(score, [-0.3, 0.8]) if is_class else score
    widths = np.array([0.5, 0.4, 0.6])
    ours, cart = (
        (KernelTreeClassifier, DecisionTreeClassifier) if is_class else (KernelTreeRegressor, DecisionTreeRegressor)
    )
    parameters = {"bandwidth": widths, "bandwidth_unit": "absolute", "kernel": Kernel(*shape)}
    tree = ours(max_depth=2, **parameters).fit(X, y).tree_
    rows = np.repeat(np.arange(60), 1500)
    drawn = np.column_stack([draw(rng, X[rows, j], widths[j], shape, len(rows)) for j in range(3)])
    drawn_tree = cart(max_depth=2, random_state=0).fit(drawn, y[rows]).tree_
    inner = tree.children_left >= 0
    assert inner.sum() == 3
    assert np.array_equal(tree.children_left, drawn_tree.children_left)
    assert np.array_equal(tree.feature[inner], drawn_tree.feature[inner])
    assert tree.threshold[inner] == pytest.approx(drawn_tree.threshold[inner], abs=0.05)
    assert tree.value == pytest.approx(drawn_tree.value.reshape(7, -1), abs=0.03)
    assert tree.mass / 60 == pytest.approx(drawn_tree.weighted_n_node_samples / len(rows), abs=0.02)


@pytest.mark.parametrize("block", [None, 200, 1 << 16])
def test_copies_of_finished_trees_are_independent(block):
    """Whether they have memory of their own, or share blocks that are too short for all or for one of them."""
    space = Workspace(block=block)
    given = [np.arange(float(n)).reshape(-1, k) + n for n, k in ((6, 2), (9, 3), (0, 1), (60, 5), (3, 1))]
    given += [np.arange(7, dtype=np.int32), np.zeros(3, dtype=[("a", np.int32), ("b", np.float64)])]
    kept = [array.copy() for array in given]
    copies = [space.copy(array) for array in given]
    for array in given:
        array[...] = 0
    for copied, expected in zip(copies, kept, strict=True):
        np.testing.assert_array_equal(copied, expected)
        assert copied.dtype == expected.dtype
        assert copied.flags.writeable
        assert copied.flags.c_contiguous
    copies[3][...] = -1.0
    for copied, expected in zip(copies[:3] + copies[4:], kept[:3] + kept[4:], strict=True):
        np.testing.assert_array_equal(copied, expected)


def test_blocks_are_given_back_with_the_last_of_their_arrays():
    space = Workspace(block=1 << 12)
    first = space.copy(np.arange(10.0))
    block = weakref.ref(_owner(first))
    second = space.copy(np.arange(20.0))
    assert _owner(second) is block()
    space.copy(np.arange(1000.0))  # a new block
    del first
    gc.collect()
    np.testing.assert_array_equal(second, np.arange(20.0))
    assert block() is not None
    del second
    gc.collect()
    assert block() is None


def _owner(array):
    """The array that holds the memory of another."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
