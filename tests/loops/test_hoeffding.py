"""Loops of Hoeffding trees against trees that keep all rows, and their limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.loops import hoeffding as loop
from softwood.loops.stream_layout import (
    ADAPTIVE,
    CRITERION,
    DELTA,
    DEPTH,
    FADING,
    FEATURE,
    GINI,
    GRACE,
    LEAF_PREDICTION,
    LEFT,
    MAX_DEPTH,
    MAX_SHARE,
    MEAN,
    MIN_FRACTION,
    MODEL,
    OWNER,
    PLAIN,
    RATE,
    RIGHT,
    SLOT,
    SLOTS_ARE_ALL,
    SPREAD,
    TAU,
    THRESHOLD,
    WEIGHT,
)
from softwood.stream.growth import Limits, new_settings
from softwood.stream.hoeffding_growth import HoeffdingClassTree, HoeffdingRealTree
from tests.reference import hoeffding as slow

HOW = {"plain": PLAIN, "model": MODEL, "adaptive": ADAPTIVE}
IS_CATEGORY = [False, False, True, True, True]
N_CLASSES = 3
leaf_kinds = pytest.mark.parametrize("how", list(HOW))


def stream(seed, n=240, missing=0.05):
    """Two numbers and a text column of three categories; classes and targets that depend on all; weights."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, 5))
    X[:, :2] = rng.normal(size=(n, 2))
    category = rng.integers(3, size=n)
    X[np.arange(n), 2 + category] = 1.0
    score = X[:, 0] + (category == 1) * np.sign(X[:, 1]) + 0.3 * rng.normal(size=n)
    labels = np.digitize(score, [-0.5, 0.7])
    X[rng.random(n) < missing, 0] = np.nan
    X[rng.random(n) < missing, 2:] = np.nan
    # No two sums of weights are equal: rounding decides nothing.
    weights = np.where(rng.random(n) < 0.05, 0.0, rng.uniform(0.5, 2.0, size=n))
    return X, labels.astype(float), 3.0 * score, weights


def settings_of(twin):
    settings = new_settings()
    settings[[GRACE, DELTA, TAU, MAX_DEPTH, MIN_FRACTION]] = (
        twin.grace, twin.delta, twin.tau, twin.max_depth, twin.min_fraction,
    )  # fmt: skip
    settings[LEAF_PREDICTION] = HOW[twin.how]
    return settings


def class_tree(twin):
    settings = settings_of(twin)
    settings[CRITERION], settings[MAX_SHARE] = GINI if twin.is_gini else 0, twin.max_share
    tree = HoeffdingClassTree(settings, Limits(max_inner=twin.max_inner), len(twin.is_category), twin.n_outputs)
    tree.arrays["is_category"][:] = twin.is_category
    if twin.n_slots < 10**6:
        tree._resize(slots=twin.n_slots)
        tree.arrays["counters"][SLOTS_ARE_ALL] = 1
    return tree


def real_tree(twin):
    settings = settings_of(twin)
    settings[RATE], settings[FADING] = twin.rate, twin.fading
    tree = HoeffdingRealTree(settings, Limits(max_inner=twin.max_inner), len(twin.is_category), 1)
    tree.arrays["is_category"][:] = twin.is_category
    return tree


def learn_both(tree, twin, X, targets, weights):
    """Predictions before each row was learned, of both."""
    out, expected = np.empty((len(X), twin.n_outputs)), []
    tree.learn(X, targets, weights, out)
    for x, y, w in zip(X, targets, weights, strict=True):
        expected.append(np.atleast_1d(twin.predict(x)))
        twin.learn(x, y, w)
    return out, np.array(expected)


def pairs(tree, twin):
    """Numbers of the nodes of the growing tree with the twin's nodes, from the root on."""
    nodes = tree.structure()[0]
    todo = [(0, twin.root)]
    for number, node in todo:
        if node.children:
            todo += zip(nodes[number, [LEFT, RIGHT]], node.children, strict=True)
    return todo


def assert_same_tree(tree, twin):
    nodes, numbers, inner = tree.structure()
    both = pairs(tree, twin)
    assert len(both) == len(nodes)
    for number, node in both:
        assert inner[number] == bool(node.children)
        assert nodes[number, DEPTH] == node.depth
        assert nodes[number, FEATURE] == node.feature
        assert numbers[number, THRESHOLD] == pytest.approx(node.threshold, nan_ok=True)
        assert numbers[number, WEIGHT] == pytest.approx(node.weight)
        assert (nodes[number, SLOT] >= 0) == (node.seen is not None)
        if nodes[number, SLOT] >= 0:
            assert tree.arrays["slots"][nodes[number, SLOT], OWNER] == number
    assert [(e.feature, e.threshold) for e in tree.log] == [pytest.approx(split) for split in twin.splits]


# ------------------------------------------------------------------ classes


@pytest.mark.tiny
@leaf_kinds
@pytest.mark.parametrize("is_gini", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_class_trees_are_those_of_the_twin(seed, is_gini, how):
    X, labels, _, weights = stream(seed)
    twin = slow.ClassTree(N_CLASSES, IS_CATEGORY, how=how, is_gini=is_gini, delta=0.5)
    tree = class_tree(twin)
    out, expected = learn_both(tree, twin, X, labels, weights)
    assert tree.n_inner >= 2
    assert_same_tree(tree, twin)
    assert out == pytest.approx(expected, abs=1e-9)
    for number, node in pairs(tree, twin):
        counts = [node.counts.get(k, 0.0) for k in range(N_CLASSES)]
        assert tree.arrays["counts"][number] == pytest.approx(counts, abs=1e-9)
    assert tree.predict(X[:20]) == pytest.approx(np.array([twin.predict(x) for x in X[:20]]), abs=1e-9)
    assert tree.n_rows == np.count_nonzero(weights)


@pytest.mark.tiny
@pytest.mark.parametrize("how", ["plain", "adaptive"])
@pytest.mark.parametrize("n_slots", [1, 2, 3])
def test_the_least_promising_leaf_gives_up_its_statistics(n_slots, how):
    X, labels, _, weights = stream(3, n=400)
    twin = slow.ClassTree(N_CLASSES, IS_CATEGORY, how=how, n_slots=n_slots, delta=0.9, grace=15)
    tree = class_tree(twin)
    out, expected = learn_both(tree, twin, X, labels, weights)
    assert_same_tree(tree, twin)
    assert out == pytest.approx(expected, abs=1e-9)
    assert tree.n_inner >= 2
    assert len(tree.arrays["slots"]) == n_slots


@pytest.mark.tiny
@pytest.mark.parametrize("limits", [{"max_depth": 0}, {"max_depth": 2}, {"max_inner": 0}, {"max_inner": 2}])
def test_limits_of_class_trees(limits):
    X, labels, _, weights = stream(1, n=300)
    twin = slow.ClassTree(N_CLASSES, IS_CATEGORY, how="adaptive", delta=0.9, grace=15, **limits)
    tree = class_tree(twin)
    out, expected = learn_both(tree, twin, X, labels, weights)
    assert_same_tree(tree, twin)
    assert out == pytest.approx(expected, abs=1e-9)
    depth = tree.structure()[0][:, DEPTH].max()
    assert depth <= limits.get("max_depth", math.inf)
    assert tree.n_inner <= limits.get("max_inner", math.inf)
    assert depth == limits.get("max_depth", depth)
    assert tree.n_inner == limits.get("max_inner", tree.n_inner)


@pytest.mark.tiny
def test_leaves_of_nearly_one_class_do_not_split_and_collect_anew():
    X, labels, _, _ = stream(0, n=60, missing=0.0)
    labels[:] = 0.0
    labels[0] = 1.0
    twin = slow.ClassTree(N_CLASSES, IS_CATEGORY, delta=0.9, max_share=0.9, tau=1.0)
    tree = class_tree(twin)
    learn_both(tree, twin, X, labels, np.ones(60))
    assert tree.n_nodes == 1
    assert not tree.arrays["stats"][0].any()
    assert len(twin.root.seen.points) == 0


@pytest.mark.tiny
def test_predictions_of_leaves_by_kind():
    """Two classes at 0 and 4: naive Bayes tells them apart where the majority does not."""
    rng = np.random.default_rng(0)
    labels = (rng.random(60) < 0.3).astype(float)
    X = (4.0 * labels + rng.normal(size=60))[:, None]
    out = {}
    for how in HOW:
        tree = class_tree(slow.ClassTree(2, [False], how=how, grace=1e9))
        assert tree.predict(X[:1])[0].tolist() == [0.5, 0.5]
        tree.learn(X, labels, np.ones(60), None)
        out[how] = tree.predict(np.array([[0.0], [4.0], [np.nan]]))
    share = labels.mean()
    assert out["plain"] == pytest.approx(np.tile([1 - share, share], (3, 1)))
    assert out["model"][0, 0] > 0.99
    assert out["model"][1, 1] > 0.99
    # Nothing is known of the row but how frequent the classes are.
    assert out["model"][2] == pytest.approx([1 - share, share])
    assert np.array_equal(out["adaptive"], out["model"])


@pytest.mark.tiny
def test_a_row_without_the_value_goes_to_the_heavier_side():
    tree = class_tree(slow.ClassTree(2, [False]))
    a = tree.arrays
    loop.put_test(a["nodes"], a["numbers"], a["counters"], 0, 0, 1.5)
    rows = [np.array([v]) for v in (1.5, np.nextafter(1.5, 2.0), np.nan)]
    for weights, heavier in [((2.0, 1.0), 1), ((1.0, 2.0), 2), ((1.0, 1.0), 1)]:
        a["numbers"][1:3, WEIGHT] = weights
        assert [loop.find_leaf(row, a["nodes"], a["numbers"]) for row in rows] == [1, 2, heavier]


@pytest.mark.tiny
@given(st.integers(0, 10**6))
def test_probabilities_are_those(seed):
    X, labels, _, weights = stream(seed, n=60)
    tree = class_tree(slow.ClassTree(N_CLASSES, IS_CATEGORY, how="model", delta=0.9, grace=10))
    out = np.empty((60, N_CLASSES))
    tree.learn(X, labels, weights, out)
    assert out.sum(axis=1) == pytest.approx(np.ones(60))
    assert out.min() >= 0.0


# ------------------------------------------------------------------ real targets


@pytest.mark.tiny
@leaf_kinds
@pytest.mark.parametrize("seed", range(2))
def test_real_trees_are_those_of_the_twin(seed, how):
    X, _, targets, weights = stream(seed)
    twin = slow.RealTree(1, IS_CATEGORY, how=how, delta=0.5)
    tree = real_tree(twin)
    out, expected = learn_both(tree, twin, X, targets, weights)
    assert tree.n_inner >= 2
    assert_same_tree(tree, twin)
    assert out == pytest.approx(expected, abs=1e-9)
    _, numbers, inner = tree.structure()
    for number, node in pairs(tree, twin):
        assert numbers[number, [MEAN, SPREAD]] == pytest.approx([node.mean, node.spread])
        if how != "plain" and not inner[number]:
            model = tree.arrays["models"][number].copy()
            model[0] += node.mean
            assert model == pytest.approx(node.model)
    assert tree.predict(X[:20])[:, 0] == pytest.approx([twin.predict(x) for x in X[:20]])


@pytest.mark.tiny
@pytest.mark.parametrize("limits", [{"max_depth": 0}, {"max_depth": 2}, {"max_inner": 0}, {"max_inner": 2}])
def test_limits_of_real_trees(limits):
    X, _, targets, weights = stream(1, n=300)
    twin = slow.RealTree(1, IS_CATEGORY, delta=0.9, grace=15, **limits)
    tree = real_tree(twin)
    out, expected = learn_both(tree, twin, X, targets, weights)
    assert_same_tree(tree, twin)
    assert out == pytest.approx(expected)
    assert tree.structure()[0][:, DEPTH].max() == limits.get("max_depth", tree.structure()[0][:, DEPTH].max())
    assert tree.n_inner == limits.get("max_inner", tree.n_inner)


@pytest.mark.tiny
def test_linear_leaves_learn_a_line_and_the_adaptive_ones_prefer_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) * [3.0, 0.1] + [100.0, -5.0]
    targets = 50.0 + 2.0 * X[:, 0] - 7.0 * X[:, 1]
    errors = {}
    for how in HOW:
        tree = real_tree(slow.RealTree(1, [False, False], how=how, grace=1e9, rate=0.5))
        out = np.empty((400, 1))
        tree.learn(X, targets, np.ones(400), out)
        errors[how] = np.abs(out[300:, 0] - targets[300:]).mean()
    assert errors["model"] < 0.01 * errors["plain"]
    assert errors["adaptive"] == errors["model"]


@pytest.mark.tiny
def test_the_adaptive_leaf_prefers_the_mean_where_a_line_is_worse():
    rng = np.random.default_rng(0)
    X, targets = rng.normal(size=(100, 3)), rng.normal(size=100)
    tree = real_tree(slow.RealTree(1, [False] * 3, how="adaptive", grace=1e9, rate=0.9))
    tree.learn(X, targets, np.ones(100), None)
    assert tree.predict(X[:1])[0, 0] == pytest.approx(targets.mean())


@pytest.mark.tiny
@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0.01, 4.0)), min_size=1, max_size=30))
def test_scaler_holds_means_and_deviations(rows):
    x, w = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    scaler = np.zeros((4, 1))
    for value, weight in zip(x, w, strict=True):
        loop.update_scaler(scaler, np.array([value]), weight, np.inf)
    loop.update_scaler(scaler, np.array([np.nan]), 1.0, np.inf)
    mean = np.average(x, weights=w)
    variance = np.average((x - mean) ** 2, weights=w)
    assert scaler[[0, 1, 3], 0] == pytest.approx([w.sum(), mean, variance], abs=1e-9 * max(1.0, (x**2).max()))
    assert scaler[2, 0] == (1.0 / math.sqrt(scaler[3, 0]) if scaler[3, 0] > 0.0 else 0.0)


@pytest.mark.tiny
def test_scaler_forgets_what_is_beyond_its_memory():
    scaler, x = np.zeros((4, 1)), np.random.default_rng(0).normal(size=30)
    for value in x:
        loop.update_scaler(scaler, np.array([value]), 1.0, 10.0)
    weights = np.where(np.arange(30) < 10, 1.0, np.nan)
    for i in range(10, 30):
        # Nine tenths of what was, one tenth of the new row.
        weights[:i] *= 0.9
        weights[i] = 1.0
    mean = np.average(x, weights=weights)
    variance = np.average((x - mean) ** 2, weights=weights)
    assert scaler[[0, 1, 3], 0] == pytest.approx([10.0, mean, variance])
