"""One tree of boosting: the same for any number of threads and any room, its rows, and what it becomes."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest

from softwood.core.threads import Threads
from softwood.kernel.data.binning import bin_features
from softwood.kernel.rounds import newton
from softwood.kernel.rounds.finishing import boosted_forest, boosted_tree
from softwood.kernel.rounds.loops.boost_search import BLOCK_ROWS
from softwood.kernel.rounds.newton import BinnedRows, Boxes, NewtonGrower, NewtonLimits
from tests.reference.kernels import BOX
from tests.reference.records import as_columns, assert_same_records
from tests.reference.sharing import prediction

BANDWIDTHS = [0.0, 0.3]


def problem(n=200, p=4, seed=0, missing=0.1):
    """A matrix, and hessian, gradient and weight of its rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    gradient = X[:, 0] + np.abs(X[:, 1]) - 1.0 + 0.5 * rng.normal(size=n)
    X[rng.random((n, p)) < missing] = np.nan
    weight = rng.uniform(0.5, 2.0, size=n)
    return X, np.column_stack([weight * rng.uniform(0.2, 1.0, size=n), weight * gradient, weight])


def grow(X, sums, bandwidth, limits=None, rows=None, features=None, n_threads=1):
    p = X.shape[1]
    bins = bin_features(X, None, 255)
    with Threads(n_threads) as threads:
        grower = NewtonGrower(BinnedRows.of(bins), limits or NewtonLimits(min_mass=3.0), threads)
        return grower.grow(sums, rows, np.arange(p) if features is None else features, boxes(bins, bandwidth))


def boxes(bins, bandwidth):
    return Boxes.of(bins, np.full(bins.codes.shape[1], bandwidth))


def memberships(tree, n):
    """Share of each row in each leaf, (n_leaves, n)."""
    out = np.zeros((len(tree.leaves), n))
    for leaf in range(len(tree.leaves)):
        rows, shares = tree.members(leaf)
        assert len(set(rows)) == len(rows)
        out[leaf, rows] = shares
    return out


# ------------------------------------------------------------------ what must not matter


@pytest.mark.parametrize("bandwidth", BANDWIDTHS)
@pytest.mark.parametrize("max_leaves", [31, None])
@pytest.mark.parametrize("worth", [0, 20_000])
def test_same_tree_for_any_number_of_threads(monkeypatch, bandwidth, max_leaves, worth):
    monkeypatch.setattr(newton, "WORTH_THREADS", worth)  # all searches are divided, or some of them
    X, sums = problem(n=4000, p=11)
    limits = NewtonLimits(max_leaves=max_leaves, min_mass=60.0)
    one, *others = (grow(X, sums, bandwidth, limits, n_threads=n) for n in (1, 2, 3))
    assert len(one.nodes) > 20
    for other in others:
        for name in ("nodes", "leaves"):
            assert_same_records(getattr(one, name), getattr(other, name))
        for name in ("rows", "shares"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("bandwidth", BANDWIDTHS)
def test_blocks_of_large_leaves(bandwidth, monkeypatch):
    """They are added up, divided and searched by blocks, which do not depend on the number of threads."""
    monkeypatch.setattr(newton, "WORTH_DIVIDING", BLOCK_ROWS)
    n = 10 * BLOCK_ROWS
    X, sums = problem(n=n, p=3)
    limits = NewtonLimits(max_leaves=6, min_mass=60.0)
    one, *others = (grow(X, sums, bandwidth, limits, n_threads=threads) for threads in (1, 2, 5))
    assert len(one.leaves) == 6
    for other in others:
        for name in ("nodes", "leaves"):
            assert_same_records(getattr(one, name), getattr(other, name))
        for leaf in range(6):
            for found, expected in zip(other.members(leaf), one.members(leaf), strict=True):
                np.testing.assert_array_equal(found, expected)
    shares = memberships(one, n)
    added = [np.full((n, 1), 0.25) for _ in range(3)]
    for raw, n_threads in zip(added, (1, 2, 5), strict=True):
        with Threads(n_threads) as threads:
            one.add_to(raw, 0, threads)
    np.testing.assert_allclose(added[0][:, 0], 0.25 + one.nodes["value"][one.leaves["line"]] @ shares, rtol=1e-12)
    np.testing.assert_array_equal(added[1:], [added[0]] * 2)
    for leaf, line in enumerate(one.leaves["line"]):
        found = [one.nodes[name][line] for name in ("h", "g", "w")]
        np.testing.assert_allclose(found, shares[leaf] @ sums, rtol=1e-9)
    # The first split is the best one by sums of all rows.
    with np.errstate(invalid="ignore"):
        scores = {}
        for j in range(3):
            for t in np.nanquantile(X[:, j], np.linspace(0.05, 0.95, 50)):
                for left in (X[:, j] <= t, ~(X[:, j] > t)):
                    parts = np.array([sums[left].sum(axis=0), sums[~left].sum(axis=0)])
                    scores[j, t] = max(scores.get((j, t), 0.0), (parts[:, 1] ** 2 / parts[:, 0]).sum())
    j, t = max(scores, key=scores.get)
    assert one.nodes["feature"][0] == j
    assert one.nodes["threshold"][0] == pytest.approx(t, abs=0.05)


def test_two_python_threads_may_grow_at_once(monkeypatch):
    monkeypatch.setattr(newton, "WORTH_THREADS", 0)
    X, sums = problem(n=4000, p=11)
    with ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(lambda _: grow(X, sums, 0.0, n_threads=2), range(8)))
    for tree in trees[1:]:
        assert_same_records(tree.nodes, trees[0].nodes)


@pytest.mark.tiny
@pytest.mark.parametrize("bandwidth", BANDWIDTHS)
@pytest.mark.parametrize("max_leaves", [20, None])
def test_arrays_grow_as_needed(bandwidth, max_leaves):
    X, sums = problem(n=80)
    bins, features, limits = bin_features(X, None, 255), np.arange(4), NewtonLimits(max_leaves=max_leaves, min_mass=2.0)
    binned, widths = BinnedRows.of(bins), boxes(bins, bandwidth)
    expected = NewtonGrower(binned, limits).grow(sums, None, features, widths)
    grower = NewtonGrower(binned, limits)
    rooms = {"leaves": 1, "splits": 1, "bounds": 1, "nodes": 1, "rows": 80}
    grower.pile = grower.pile._replace(
        **{name: getattr(grower.pile, name)[:room].copy() for name, room in rooms.items()}
    )
    grower.space = grower.space._replace(tables=grower.space.tables[:1].copy())
    for _ in range(2):  # again with the room that there is now
        found = grower.grow(sums, None, features, widths)
        assert len(found.leaves) > 8
        assert_same_records(found.nodes, expected.nodes)
        np.testing.assert_array_equal(memberships(found, 80), memberships(expected, 80))


@pytest.mark.tiny
def test_a_grower_forgets_its_last_tree():
    X, sums = problem(n=80)
    bins, limits = bin_features(X, None, 255), NewtonLimits(max_leaves=8, min_mass=2.0)
    binned = BinnedRows.of(bins)
    grower = NewtonGrower(binned, limits)
    some = np.arange(0, 80, 2)
    for bandwidth, rows, features in (
        (0.0, None, [0, 1, 2, 3]),
        (0.3, None, [0, 1, 2, 3]),
        (0.3, some, [1, 3]),
        (0.0, some, [0, 2]),
        (0.3, None, [2]),
    ):
        arguments = (sums, rows, np.array(features), boxes(bins, bandwidth))
        found, expected = grower.grow(*arguments), NewtonGrower(binned, limits).grow(*arguments)
        assert_same_records(found.nodes, expected.nodes)
        np.testing.assert_array_equal(memberships(found, 80), memberships(expected, 80))
        assert (found.shares is None) == (bandwidth == 0.0)


@pytest.mark.tiny
def test_edges_of_boxes():
    """In their order; at one place, those where boxes begin come first."""
    X = np.array([[0.0, 5.0, np.nan], [1.0, 5.0, np.nan], [4.0, 5.0, np.nan]])
    bins = bin_features(X, None, 255)
    edges = Boxes.of(bins, np.array([0.5, 0.0, 0.5])).edges
    assert edges.places[0].tolist() == [-0.5, 0.5, 0.5, 1.5, 3.5, 4.5]
    begin, end, last = 0, 1, 2
    assert edges.kinds[0].tolist() == [begin, 4 + begin, end, 4 + end + last, 8 + begin, 8 + end + last]
    assert np.all(np.isinf(edges.places[1:])), "no kernel, no bins"
    assert Boxes.of(bins, np.zeros(3)).edges.places.shape == (3, 0)


# ------------------------------------------------------------------ rows and limits


@pytest.mark.tiny
@pytest.mark.parametrize("bandwidth", BANDWIDTHS)
@pytest.mark.parametrize("cutoff", [0.0, 0.02])
@pytest.mark.parametrize("rows", [None, np.arange(10, 70)])
def test_rows_and_shares_of_the_leaves_add_up(bandwidth, cutoff, rows):
    X, sums = problem(n=80)
    tree = grow(X, sums, bandwidth, NewtonLimits(max_leaves=9, min_mass=2.0, cutoff=cutoff), rows)
    assert len(tree.leaves) == 9
    shares = memberships(tree, 80)
    expected = np.ones(80) if rows is None else np.isin(np.arange(80), rows).astype(float)
    np.testing.assert_allclose(shares.sum(axis=0), expected, rtol=0, atol=1e-12)
    assert shares[shares > 0].min() >= cutoff
    if bandwidth == 0.0:
        assert set(np.unique(shares)) == {0.0, 1.0}
    else:
        assert np.any((shares > 0) & (shares < 1))
    found = as_columns(tree.nodes, ["h", "g", "w"])
    np.testing.assert_allclose(found[tree.leaves["line"]], shares @ sums, rtol=1e-12, atol=1e-12)
    # the sums of a node are those of its children
    for line in np.flatnonzero(tree.nodes["feature"] >= 0):
        below = tree.nodes["parent"] == line
        assert tree.nodes["side"][below].tolist() == [0, 1]
        np.testing.assert_allclose(found[below].sum(axis=0), found[line], rtol=1e-9, atol=1e-9)


@pytest.mark.tiny
@pytest.mark.parametrize("bandwidth", BANDWIDTHS)
def test_limits_hold(bandwidth):
    X, sums = problem(n=120)

    def nodes(**limits):
        return grow(X, sums, bandwidth, NewtonLimits(**{"min_mass": 1.0, **limits})).nodes

    assert np.sum(nodes(max_leaves=5)["feature"] < 0) == 5
    assert nodes(max_depth=2)["depth"].max() == 2
    assert nodes(max_leaves=None, max_depth=2)["depth"].max() == 2
    assert nodes(min_mass=12.5)["w"].min() >= 12.5 * (1 - 1e-9)
    assert len(nodes(max_leaves=None)) > len(nodes(max_leaves=None, min_mass=5.0)) > 1
    assert len(nodes(min_mass=1000.0)) == 1
    plain, damped = nodes(max_leaves=2), nodes(max_leaves=2, l2=100.0)
    h, g = damped["h"], damped["g"]
    np.testing.assert_allclose(damped["value"], -g / (h + 100.0))
    assert np.abs(damped["value"]).max() < np.abs(plain["value"]).max()
    scores = plain["g"] ** 2 / plain["h"]
    gain = scores[1] + scores[2] - scores[0]
    assert len(nodes(min_gain=gain * (1 + 1e-6))) == 1
    assert len(nodes(min_gain=gain * (1 - 1e-6))) >= 3


@pytest.mark.tiny
@pytest.mark.parametrize("bandwidth", BANDWIDTHS)
@pytest.mark.parametrize("direction", [1, -1])
def test_directions_hold_between_all_leaves(bandwidth, direction):
    X, sums = problem(n=120)
    directions = np.array([direction, -direction, 0, 0])
    tree = boosted_tree(grow(X, sums, bandwidth, NewtonLimits(min_mass=1.0, directions=directions)))
    assert {0, 1} & set(tree.feature)
    rng = np.random.default_rng(1)
    for j, d in ((0, direction), (1, -direction)):
        rows = np.repeat(rng.normal(size=(20, 1, 4)), 40, axis=1)
        rows[:, :, j] = np.linspace(-3, 3, 40)
        rows[::3, :, 2] = np.nan
        values = tree.predict(rows.reshape(-1, 4)).reshape(20, 40)
        assert np.all(d * np.diff(values, axis=1) >= -1e-12)


# ------------------------------------------------------------------ the finished tree


@pytest.mark.tiny
@pytest.mark.parametrize("rows", [None, np.arange(10, 70)])
def test_crisp_trees_add_what_they_predict(rows):
    """To the last bit, however many values share a bin."""
    X, sums = problem(n=400 if rows is None else 80, missing=0.0 if rows is None else 0.1)
    tree = grow(X, sums, 0.0, rows=rows)
    raw = np.full((len(X), 2), 0.25, order="F")
    tree.add_to(raw, 1)
    expected = 0.25 + boosted_tree(tree).predict(X)[:, 0]
    at = slice(None) if rows is None else rows
    np.testing.assert_array_equal(raw[at, 1], expected[at])
    assert np.all(raw[:, 0] == 0.25)
    if rows is not None:
        assert np.all(np.delete(raw[:, 1], rows) == 0.25)


@pytest.mark.tiny
def test_soft_trees_add_what_they_predict():
    """Where every value has its own bin."""
    X, sums = problem(n=80)
    tree = grow(X, sums, 0.3, NewtonLimits(max_leaves=9, min_mass=2.0, cutoff=0.0))
    raw = np.zeros((80, 1))
    tree.add_to(raw, 0)
    finished = boosted_tree(tree)
    np.testing.assert_allclose(raw, finished.predict(X), rtol=0, atol=1e-12)
    slow = [prediction(finished, [BOX], x) for x in X]
    np.testing.assert_allclose(raw, slow, rtol=0, atol=1e-12)
    np.testing.assert_allclose(finished.mass, sums[:, 2] @ finished.memberships(X).toarray(), rtol=1e-9)


@pytest.mark.tiny
def test_soft_trees_of_few_bins_add_nearly_what_they_predict():
    """Rows are shared as the mean of their bin is; the more bins, the more exactly."""
    X, sums = problem(n=300, missing=0.0)
    errors = []
    for max_bins in (20, 60, 200):
        bins = bin_features(X, None, max_bins)
        grower = NewtonGrower(BinnedRows.of(bins), NewtonLimits(max_leaves=9, min_mass=3.0))
        tree = grower.grow(sums, None, np.arange(4), boxes(bins, 0.3))
        raw = np.zeros((300, 1))
        tree.add_to(raw, 0)
        error = raw - boosted_tree(tree).predict(X)
        errors.append(np.sqrt((error**2).mean()) / raw.std())
    assert errors[0] > 1.5 * errors[1] > 3 * errors[2]
    assert errors[2] < 0.05


@pytest.mark.tiny
def test_the_forest_is_the_sum_of_its_trees():
    X, sums = problem(n=80)
    limits = [NewtonLimits(max_leaves=k, min_mass=2.0) for k in (2, 7, 4, 5)]
    trees = [grow(X, sums, b, each) for b, each in zip((0.0, 0.3, 0.3, 0.1), limits, strict=True)]
    trees.append(grow(X, sums, 0.3, NewtonLimits(min_mass=1000.0)))  # a lone root
    output, base = np.array([0, 1, 2, 1, 0]), np.array([0.5, -1.0, 2.0])
    forest = boosted_forest(trees, output, base)
    expected = np.tile(base, (80, 1))
    for number, (tree, k) in enumerate(zip(trees, output, strict=True)):
        alone = boosted_tree(tree)
        expected[:, k] += alone.predict(X)[:, 0]
        for field in fields(alone):
            if field.name != "shapes":
                np.testing.assert_array_equal(
                    getattr(forest[number], field.name), getattr(alone, field.name), err_msg=field.name
                )
        np.testing.assert_array_equal(alone.value[:, 0], tree.nodes["value"])
        np.testing.assert_array_equal(alone.threshold, tree.nodes["threshold"])
        inner = alone.feature >= 0
        np.testing.assert_array_equal(alone.width[inner], tree.widths[alone.feature[inner]])
        assert not alone.width[~inner].any()
    np.testing.assert_allclose(forest.predict(X), expected, rtol=0, atol=1e-12)
    assert not forest.is_mean
    assert forest.sizes.tolist() == [3, 13, 7, 9, 1]


@pytest.mark.tiny
@pytest.mark.parametrize("bandwidth", BANDWIDTHS)
def test_importances_are_gains(bandwidth):
    X, sums = problem(n=80)
    trees = [grow(X, sums, bandwidth, NewtonLimits(max_leaves=k, min_mass=2.0)) for k in (4, 9)]
    gains = np.zeros((2, 4))
    for tree, out in zip(trees, gains, strict=True):
        nodes = tree.nodes
        score = nodes["g"] ** 2 / nodes["h"]
        for line in np.flatnonzero(nodes["feature"] >= 0):
            gain = score[nodes["parent"] == line].sum() - score[line]
            assert gain > 0
            out[nodes["feature"][line]] += gain
        np.testing.assert_allclose(boosted_tree(tree).feature_importances(), out / out.sum(), rtol=1e-9)
    forest = boosted_forest(trees, np.zeros(2), np.zeros(1))
    total = gains.sum(axis=0)
    np.testing.assert_allclose(forest.feature_importances(), total / total.sum(), rtol=1e-9)
