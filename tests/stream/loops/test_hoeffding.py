"""Loops of Hoeffding trees against trees that keep all rows, and their limits."""

import itertools
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled import stream as loop
from softwood.stream.growing.arrays import Limits
from softwood.stream.growing.events import SplitEvent
from softwood.stream.growing.hoeffding import HoeffdingClassTree, HoeffdingRealTree
from softwood.stream.loops.hoeffding import FEWEST_INHERITED, MARGIN
from softwood.stream.loops.layout import (
    ADAPTIVE,
    CENTRE,
    DEPTH,
    EVENT,
    FEATURE,
    GINI,
    INFO_GAIN,
    INVERSE,
    LAST_ATTEMPT,
    LEFT,
    MEAN,
    MODEL,
    MODEL_LATELY,
    MODEL_SCORE,
    N_EVENTS,
    N_INNER,
    N_KEYS,
    N_NODES,
    N_ROWS,
    N_SCALER_ROWS,
    OWNER,
    PARENT,
    PLAIN,
    PLAIN_LATELY,
    PLAIN_SCORE,
    RIGHT,
    SLOT,
    SLOTS_ARE_ALL,
    SPREAD,
    THRESHOLD,
    WEIGHT,
    ClassNodes,
    FoundTest,
    Rows,
    Settings,
    Statistics,
    TreeNodes,
)
from softwood.stream.loops.observers import CENTER, CONSTANT, FACTOR, HIGHEST, LOWEST, SQUARES, N
from tests.reference import hoeffding as slow
from tests.reference.soft_stream import Scaler

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
    return X, labels.astype(np.int64), 3.0 * score, weights


def settings_of(reference):
    return Settings(
        grace_period=reference.grace, delta=reference.delta, tau=reference.tau, max_depth=reference.max_depth,
        min_branch_fraction=reference.min_fraction, leaf_prediction=HOW[reference.how],
        least_growth=reference.least_growth,
    )  # fmt: skip


def class_tree(reference):
    criterion = GINI if reference.is_gini else INFO_GAIN
    settings = settings_of(reference)._replace(
        split_criterion=criterion, max_share_to_split=reference.max_share, many_ways=reference.many,
        unseen_values=reference.unlikely, judges_copies=reference.copies,
    )  # fmt: skip
    tree = HoeffdingClassTree(
        settings, Limits(max_inner=reference.max_inner), len(reference.is_category), reference.n_outputs
    )
    tree.arrays["is_category"][:] = reference.is_category
    if reference.n_slots < 10**6:
        tree._resize(slots=reference.n_slots)
        tree.arrays["counters"][SLOTS_ARE_ALL] = 1
    return tree


def real_tree(reference):
    settings = settings_of(reference)._replace(learning_rate=reference.rate, model_selector_decay=reference.fading)
    tree = HoeffdingRealTree(settings, Limits(max_inner=reference.max_inner), len(reference.is_category), 1)
    tree.arrays["is_category"][:] = reference.is_category
    return tree


def learn_both(tree, reference, X, targets, weights):
    """Predictions before each row was learned, of both."""
    out, expected = np.empty((len(X), reference.n_outputs)), []
    tree.learn(X, targets, weights, out)
    for x, y, w in zip(X, targets, weights, strict=True):
        expected.append(np.atleast_1d(reference.predict(x)))
        reference.learn(x, y, w)
    return out, np.array(expected)


def pairs(tree, reference):
    """Numbers of the nodes of the growing tree with the reference's nodes, from the root on."""
    nodes = tree.structure()[0]
    todo = [(0, reference.root)]
    for number, node in todo:
        if node.children:
            todo += zip(nodes[number, [LEFT, RIGHT]], node.children, strict=True)
    return todo


def assert_same_tree(tree, reference):
    nodes, numbers, inner = tree.structure()
    both = pairs(tree, reference)
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
    assert [(e.feature, e.threshold) for e in tree.log] == [pytest.approx(split) for split in reference.splits]


# ------------------------------------------------------------------ classes


@pytest.mark.tiny
@leaf_kinds
@pytest.mark.parametrize("is_gini", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_class_trees_are_those_of_the_reference(seed, is_gini, how):
    X, labels, _, weights = stream(seed)
    reference = slow.ClassTree(N_CLASSES, IS_CATEGORY, how=how, is_gini=is_gini, delta=0.5)
    tree = class_tree(reference)
    out, expected = learn_both(tree, reference, X, labels, weights)
    assert tree.n_inner >= 2
    assert_same_tree(tree, reference)
    assert out == pytest.approx(expected, abs=1e-9)
    for number, node in pairs(tree, reference):
        counts = [node.counts.get(k, 0.0) for k in range(N_CLASSES)]
        assert tree.arrays["counts"][number] == pytest.approx(counts, abs=1e-9)
    assert tree.predict(X[:20]) == pytest.approx(np.array([reference.predict(x) for x in X[:20]]), abs=1e-9)
    assert tree.n_rows == np.count_nonzero(weights)


@pytest.mark.tiny
@pytest.mark.parametrize("kind", [slow.ClassTree, slow.RealTree])
def test_leaves_that_must_grow_by_a_share_try_to_split_less_often(kind):
    X, labels, targets, weights = stream(1)
    found = []
    for least_growth in (0.0, 0.4):
        is_class = kind is slow.ClassTree
        reference = kind(N_CLASSES if is_class else 1, IS_CATEGORY, grace=5, delta=1e-3, least_growth=least_growth)
        tree = (class_tree if is_class else real_tree)(reference)
        learn_both(tree, reference, X, labels if is_class else targets, weights)
        assert_same_tree(tree, reference)
        found.append([event.n_samples for event in tree.log])
    assert found[1]
    assert found[1] != found[0]


@pytest.mark.tiny
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("heaviest", "n"), [(2.0, 120), (100.0, 16)])
def test_a_row_of_weight_w_is_judged_as_w_rows(seed, heaviest, n):
    X, labels, _, weights = stream(seed, n)
    weights *= np.random.default_rng(seed).uniform(0.2, heaviest, size=len(X))
    found = []
    for copies in (False, True):
        reference = slow.ClassTree(
            N_CLASSES, IS_CATEGORY, how="adaptive", delta=0.9, grace=15 * heaviest, copies=copies, unlikely=True
        )
        tree = class_tree(reference)
        out, expected = learn_both(tree, reference, X, labels, weights)
        assert_same_tree(tree, reference)
        assert out == pytest.approx(expected, abs=1e-9)
        for number, node in pairs(tree, reference):
            scores = tree.arrays["numbers"][number, [MODEL_SCORE, PLAIN_SCORE]]
            assert scores == pytest.approx(node.scores, rel=1e-9)
        found.append(out)
    assert not np.array_equal(*found)


@pytest.mark.tiny
@pytest.mark.parametrize("seed", range(3))
def test_one_leaf_judges_weights_as_repeated_rows(seed):
    X, labels, _, _ = stream(seed)
    weights = np.random.default_rng(seed).integers(0, 5, size=len(X))
    settings = Settings(grace_period=1e9, leaf_prediction=ADAPTIVE, unseen_values=1.0, judges_copies=1.0)
    scores = []
    for times in (np.ones_like(weights), weights):
        tree = HoeffdingClassTree(settings, Limits(), X.shape[1], N_CLASSES)
        rows = np.repeat(np.arange(len(X)), np.where(times > 0, weights // np.maximum(times, 1), 0))
        tree.learn(X[rows], labels[rows], times[rows].astype(float), None)
        scores.append(tree.arrays["numbers"][0, [MODEL_SCORE, PLAIN_SCORE]])
    assert np.array_equal(*scores)
    assert scores[0].sum() < 2.0 * weights.sum()


@pytest.mark.tiny
@leaf_kinds
@pytest.mark.parametrize("is_gini", [False, True])
@pytest.mark.parametrize("limits", [{}, {"n_slots": 3}, {"max_depth": 3}, {"max_inner": 5}, {"min_fraction": 0.1}])
@pytest.mark.parametrize("n_categories", [3, 9])
def test_many_sides_and_unlikely_values_are_those_of_the_reference(n_categories, limits, is_gini, how):
    X, labels, weights = categories(n_categories)
    reference = slow.ClassTree(
        N_CLASSES, [0, *[1] * n_categories, 0, *[2] * 4], how=how, is_gini=is_gini, delta=0.9, grace=30, many=True,
        unlikely=True, **limits,
    )  # fmt: skip
    tree = class_tree(reference)
    out, expected = learn_both(tree, reference, X, labels, weights)
    assert_same_tree(tree, reference)
    assert out == pytest.approx(expected, abs=1e-9)
    depth = tree.structure()[0][:, DEPTH].max()
    assert depth <= limits.get("max_depth", math.inf)
    assert tree.n_inner <= limits.get("max_inner", math.inf)
    has_many = any(first.merit > 0.0 == second.merit for first, second in itertools.pairwise(tree.log))
    assert has_many or limits


def categories(n_categories, n=260):
    """A number, two text columns, of which one decides the class, and another number; missing values; weights."""
    rng = np.random.default_rng(n_categories)
    X, codes = np.zeros((n, n_categories + 6)), np.minimum(rng.poisson(2.0, size=n), n_categories - 1)
    X[np.arange(n), 1 + codes] = 1.0
    X[np.arange(n), n_categories + 2 + rng.integers(4, size=n)] = 1.0
    X[:, [0, n_categories + 1]] = rng.normal(size=(n, 2))
    labels = np.where(rng.random(n) < 0.2, rng.integers(N_CLASSES, size=n), rng.permutation(n_categories)[codes] % 3)
    X[rng.random(n) < 0.05, 0] = np.nan
    X[rng.random(n) < 0.05, 1 : 1 + n_categories] = np.nan
    return X, labels.astype(np.int64), rng.uniform(0.5, 2.0, size=n)


@pytest.mark.tiny
def test_a_split_many_ways_waits_for_room_and_is_the_same_for_any_calls():
    X, labels, weights = categories(40, n=400)
    settings = Settings(
        grace_period=50, delta=0.9, tau=0.05, max_depth=np.inf, leaf_prediction=ADAPTIVE, max_share_to_split=1.0,
        many_ways=1.0, unseen_values=1.0, min_branch_fraction=0.001,
    )  # fmt: skip
    grown_trees = []
    for block in (400, 7, 1):
        tree = HoeffdingClassTree(settings, Limits(), X.shape[1], N_CLASSES)
        tree.arrays["is_category"][:] = [0, *[1] * 40, 0, *[2] * 4]
        for begin in range(0, 400, block):
            part = slice(begin, begin + block)
            tree.learn(X[part], labels[part], weights[part], None)
        grown_trees.append(tree)
    assert grown_trees[0].n_inner > 5
    for other in grown_trees[1:]:
        assert other.log == grown_trees[0].log
        assert np.array_equal(other.predict(X), grown_trees[0].predict(X))


@pytest.mark.tiny
@pytest.mark.parametrize("how", ["plain", "adaptive"])
@pytest.mark.parametrize("n_slots", [1, 2, 3])
def test_the_least_promising_leaf_gives_up_its_statistics(n_slots, how):
    X, labels, _, weights = stream(3, n=400)
    reference = slow.ClassTree(N_CLASSES, IS_CATEGORY, how=how, n_slots=n_slots, delta=0.9, grace=15)
    tree = class_tree(reference)
    out, expected = learn_both(tree, reference, X, labels, weights)
    assert_same_tree(tree, reference)
    assert out == pytest.approx(expected, abs=1e-9)
    assert tree.n_inner >= 2
    assert len(tree.arrays["slots"]) == n_slots


@pytest.mark.tiny
@pytest.mark.parametrize("limits", [{"max_depth": 0}, {"max_depth": 2}, {"max_inner": 0}, {"max_inner": 2}])
def test_limits_of_class_trees(limits):
    X, labels, _, weights = stream(1, n=300)
    reference = slow.ClassTree(N_CLASSES, IS_CATEGORY, how="adaptive", delta=0.9, grace=15, **limits)
    tree = class_tree(reference)
    out, expected = learn_both(tree, reference, X, labels, weights)
    assert_same_tree(tree, reference)
    assert out == pytest.approx(expected, abs=1e-9)
    depth = tree.structure()[0][:, DEPTH].max()
    assert depth <= limits.get("max_depth", math.inf)
    assert tree.n_inner <= limits.get("max_inner", math.inf)
    assert depth == limits.get("max_depth", depth)
    assert tree.n_inner == limits.get("max_inner", tree.n_inner)


@pytest.mark.tiny
def test_leaves_of_nearly_one_class_do_not_split_and_clear_their_statistics():
    X, labels, _, _ = stream(0, n=60, missing=0.0)
    labels[:] = 0
    labels[0] = 1
    reference = slow.ClassTree(N_CLASSES, IS_CATEGORY, delta=0.9, max_share=0.9, tau=1.0)
    tree = class_tree(reference)
    learn_both(tree, reference, X, labels, np.ones(60))
    assert tree.n_nodes == 1
    assert not tree.arrays["stats"][0].any()
    assert len(reference.root.seen.points) == 0


@pytest.mark.tiny
def test_predictions_of_leaves_by_kind():
    """Two classes at 0 and 4: naive Bayes separates them where the majority does not."""
    rng = np.random.default_rng(0)
    labels = (rng.random(60) < 0.3).astype(np.int64)
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
    own, _, statistics = tree._groups()
    loop.put_test(0, FoundTest(0, 1.5, 0.4, 0.3), 0.1, 9.0, own, statistics)
    points = np.array([[1.5], [np.nextafter(1.5, 2.0)], [np.nan]])
    for weights, heavier in [((2.0, 1.0), 1), ((1.0, 2.0), 2), ((1.0, 1.0), 1)]:
        a["numbers"][1:3, WEIGHT] = weights
        assert [loop.find_leaf(points, i, own) for i in range(3)] == [1, 2, heavier]


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
def test_real_trees_are_those_of_the_reference(seed, how):
    X, _, targets, weights = stream(seed)
    reference = slow.RealTree(1, IS_CATEGORY, how=how, delta=0.5)
    tree = real_tree(reference)
    out, expected = learn_both(tree, reference, X, targets, weights)
    assert tree.n_inner >= 2
    assert_same_tree(tree, reference)
    assert out == pytest.approx(expected, abs=1e-9)
    _, numbers, inner = tree.structure()
    for number, node in pairs(tree, reference):
        assert numbers[number, [MEAN, SPREAD]] == pytest.approx([node.mean, node.spread])
        if how != "plain" and not inner[number]:
            model = tree.arrays["models"][number].copy()
            model[0] += node.mean
            assert model == pytest.approx(node.model)
    assert tree.predict(X[:20])[:, 0] == pytest.approx([reference.predict(x) for x in X[:20]])


@pytest.mark.tiny
@pytest.mark.parametrize("limits", [{"max_depth": 0}, {"max_depth": 2}, {"max_inner": 0}, {"max_inner": 2}])
def test_limits_of_real_trees(limits):
    X, _, targets, weights = stream(1, n=300)
    reference = slow.RealTree(1, IS_CATEGORY, delta=0.9, grace=15, **limits)
    tree = real_tree(reference)
    out, expected = learn_both(tree, reference, X, targets, weights)
    assert_same_tree(tree, reference)
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
    scaler = np.zeros((N_SCALER_ROWS, 1))
    for value, weight in zip(x, w, strict=True):
        loop.update_scale(scaler, 0, value, weight, np.inf, 0.0)
    loop.update_scale(scaler, 0, np.nan, 1.0, np.inf, 0.0)
    mean = np.average(x, weights=w)
    variance = np.average((x - mean) ** 2, weights=w)
    assert scaler[[0, 1, 3], 0] == pytest.approx([w.sum(), mean, variance], abs=1e-9 * max(1.0, (x**2).max()))
    assert scaler[2, 0] == (1.0 / math.sqrt(scaler[3, 0]) if scaler[3, 0] > 0.0 else 0.0)
    both = np.zeros((N_SCALER_ROWS, 2))
    points = np.column_stack([np.full(len(x), np.nan), x])
    for i, weight in enumerate(w):
        loop.update_scaler(both, points, i, weight, np.inf, 0.0)
    assert np.array_equal(both[:, 1:], scaler)
    assert not both[:, 0].any()


@pytest.mark.tiny
@pytest.mark.parametrize("x", [-1.7e308, -1e200, -3.0, 1.0, 1e200, 1.7e308])
@pytest.mark.parametrize("inverse", [0.0, 1e-10, 0.5, 1e100])
def test_differences_from_the_mean_have_squares(x, inverse):
    scaler = np.zeros((N_SCALER_ROWS, 2))
    scaler[CENTRE], scaler[INVERSE] = 1.0, inverse
    found = loop.from_mean(x, scaler, 1)
    assert np.isfinite((found * inverse) ** 2)
    if abs(x) < 10.0:
        assert found == x - 1.0
    else:
        assert found * np.sign(x) > 0.0


@pytest.mark.tiny
def test_scaler_forgets_what_is_beyond_its_memory():
    scaler, x = np.zeros((N_SCALER_ROWS, 1)), np.random.default_rng(0).normal(size=30)
    for value in x:
        loop.update_scale(scaler, 0, value, 1.0, 10.0, 0.0)
    weights = np.where(np.arange(30) < 10, 1.0, np.nan)
    for i in range(10, 30):
        # Nine tenths of what was, one tenth of the new row.
        weights[:i] *= 0.9
        weights[i] = 1.0
    mean = np.average(x, weights=weights)
    variance = np.average((x - mean) ** 2, weights=weights)
    assert scaler[[0, 1, 3], 0] == pytest.approx([10.0, mean, variance])


@pytest.mark.tiny
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.3, 1.0, -1.5, 40.0, -1e7, np.nan]), st.sampled_from([0.5, 1.0, 20.0])),
        max_size=120,
    )
)
def test_a_scaler_with_a_limit_is_that_of_the_reference(rows):
    scaler, reference = np.zeros((N_SCALER_ROWS, 1)), Scaler(1, limit=6.0)
    for value, weight in rows:
        loop.update_scale(scaler, 0, value, weight, np.inf, 6.0)
        reference.add(np.array([value]), weight)
    expected = [reference.weight[0], reference.mean[0], reference.variance[0], reference.run[0], reference.last[0]]
    assert scaler[[0, 1, 3, 4, 5], 0] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.tiny
@pytest.mark.parametrize(("at", "n_outliers"), [(0, 1), (1, 1), (7, 1), (0, 3), (500, 1), (500, 5)])
def test_a_scaler_gets_over_outliers(at, n_outliers):
    x = np.random.default_rng(0).normal(3.0, 2.0, 2000)
    x[at : at + n_outliers] = 1e6
    scaler = np.zeros((N_SCALER_ROWS, 1))
    for value in x:
        loop.update_scale(scaler, 0, value, 1.0, np.inf, 30.0)
    assert scaler[1, 0] == pytest.approx(3.0, abs=0.6)
    assert 1.5 < np.sqrt(scaler[3, 0]) < 20.0


@pytest.mark.tiny
@pytest.mark.parametrize("n_before", [10_000])
def test_a_scaler_follows_a_new_scale(n_before):
    rng, scaler = np.random.default_rng(0), np.zeros((N_SCALER_ROWS, 1))
    for value in [*rng.normal(size=n_before), *rng.normal(1000.0, 100.0, 300)]:
        loop.update_scale(scaler, 0, value, 1.0, np.inf, 30.0)
    assert scaler[1, 0] == pytest.approx(1000.0, rel=0.1)
    assert 70.0 < np.sqrt(scaler[3, 0]) < 300.0


@pytest.mark.tiny
def test_a_scaler_keeps_the_scale_of_rare_values():
    """Zeros that repeat do not contradict the scale, however rare the ones are."""
    x = (np.random.default_rng(0).random(20_000) < 0.002).astype(float)
    scaler = np.zeros((N_SCALER_ROWS, 1))
    for value in x:
        loop.update_scale(scaler, 0, value, 1.0, np.inf, 30.0)
    assert scaler[3, 0] == pytest.approx(x.var(), rel=0.3)
    assert loop.past_weight(scaler, 0, 0.0, 1.0, 30.0) == 20_000.0


# ------------------------------------------------------------------ the single loops


def rows_of(X, targets, weights, out):
    is_class = targets.dtype == np.int64
    return Rows(X, targets if is_class else None, None if is_class else targets, weights, out)


def grown(seed, kind=slow.ClassTree, n=240, **settings):
    """A tree and its reference after the same rows, and these rows."""
    X, labels, reals, weights = stream(seed, n=n)
    is_class = kind is slow.ClassTree
    reference = kind(N_CLASSES if is_class else 1, IS_CATEGORY, **{"delta": 0.5, "how": "adaptive", **settings})
    tree, targets = (class_tree if is_class else real_tree)(reference), labels if is_class else reals
    learn_both(tree, reference, X, targets, weights)
    return tree, reference, X, targets


@pytest.mark.tiny
def test_there_is_room_for_one_split_or_none_will_be_made():
    counters = np.zeros(8, dtype=np.int64)
    counters[[N_INNER, N_NODES]] = 3, 7
    for n_nodes, n_slots, n_events, is_all, max_inner in product((8, 9), (4, 5), (2, 3), (0, 1), (3, 4)):
        counters[[N_EVENTS, SLOTS_ARE_ALL]], settings = (n_events, is_all), Settings(max_inner=max_inner)
        tree = TreeNodes(
            np.empty((n_nodes, 8), dtype=np.int64), np.empty((n_nodes, 7)), counters, settings, np.empty(0)
        )
        statistics = Statistics(np.empty((n_slots, 5), dtype=np.int64), None, None, None, np.empty(3, EVENT), None)
        # Two nodes more; statistics of five leaves, unless there are no more slots; an entry in a log of three.
        is_expected = n_events < 3 and (max_inner == 3 or (n_nodes == 9 and (is_all or n_slots == 5)))
        assert loop.has_room(tree, statistics, 1) == is_expected


@pytest.mark.tiny
def test_how_many_tests_a_split_may_take():
    limits = {"max_depth": np.inf, "max_inner": np.inf, "max_share_to_split": 1.0}
    settings = Settings(grace_period=10.0, delta=1e-7, min_branch_fraction=0.1, many_ways=1.0, **limits)
    tree = HoeffdingClassTree(settings, Limits(), 7, 2)
    for column in range(6):
        tree.mark_category(column, 0 if column else None)
    category = np.array([0, 0, 0, 0, 0, 1, 1, 2])
    X = np.column_stack([np.eye(6)[category], np.arange(8.0)])
    tree.learn(X, category % 2, np.ones(8), None)
    nodes, classes, statistics = tree._arguments
    # A row of weight 1 makes no split due; of six categories three have a side, and that of the row may be a fourth.
    assert loop.n_tests_of(0, 1.0, nodes, classes, statistics) == 1
    assert loop.n_tests_of(0, 2.0, nodes, classes, statistics) == 4
    assert loop.due_after(0, nodes) == 10.0
    tree.arrays["numbers"][0, LAST_ATTEMPT] = 80.0
    tree.change_settings(least_growth=0.25)
    assert loop.due_after(0, tree._arguments[0]) == 20.0
    tree.arrays["numbers"][0, LAST_ATTEMPT] = 0.0
    tree.change_settings(many_ways=0.0)
    assert loop.n_tests_of(0, 2.0, *tree._arguments) == 1


@pytest.mark.tiny
def test_room_for_several_tests():
    counters = np.zeros(8, dtype=np.int64)
    counters[[N_INNER, N_NODES]] = 3, 7
    wanted = 3
    for n_nodes, n_slots, n_events, is_all, max_inner in product((12, 13), (6, 7), (2, 3), (0, 1), (3, 5, 9)):
        counters[SLOTS_ARE_ALL], settings = is_all, Settings(max_inner=max_inner)
        tree = TreeNodes(
            np.empty((n_nodes, 8), dtype=np.int64), np.empty((n_nodes, 7)), counters, settings, np.empty(0)
        )
        statistics = Statistics(
            np.empty((n_slots, 5), dtype=np.int64), None, None, None, np.empty(n_events, EVENT), None
        )
        # Of five inner nodes two are left to make. None is made of three; that needs no more than an entry.
        n_tests = {3: 0, 5: 2, 9: wanted}[max_inner]
        is_expected = n_tests == 0 or (
            n_nodes >= 7 + 2 * n_tests and (is_all or n_slots >= 4 + n_tests) and n_events >= n_tests
        )
        assert loop.has_room(tree, statistics, wanted) == is_expected
        assert loop.room(tree, statistics) == min((n_nodes - 7) // 2, n_events, 9 if is_all else n_slots - 4)


@pytest.mark.tiny
def test_a_leaf_that_gets_a_test_has_two_leaves_and_later_tests_replace_it():
    tree = class_tree(slow.ClassTree(2, [False]))
    a = tree.arrays
    a["nodes"][1:], a["numbers"][1:], a["counters"][N_ROWS] = 77, 77.0, 6
    own, _, statistics = tree._groups()
    loop.put_test(0, FoundTest(0, 1.5, 0.4, 0.3), 0.1, 9.0, own, statistics)
    assert (tree.n_nodes, tree.n_inner) == (3, 1)
    assert a["nodes"][0, [LEFT, RIGHT, FEATURE]].tolist() == [1, 2, 0]
    for child in (1, 2):
        expected = np.full(8, -1)
        expected[[PARENT, DEPTH, N_KEYS]] = 0, 1, 0
        assert a["nodes"][child].tolist() == expected.tolist()
        assert np.isnan(a["numbers"][child, THRESHOLD])
        assert not np.delete(a["numbers"][child], THRESHOLD).any()
    loop.put_test(0, FoundTest(0, 2.5, 0.6, 0.2), 0.2, 11.0, own, statistics)
    assert (tree.n_nodes, a["numbers"][0, THRESHOLD]) == (3, 2.5)
    tree._read_events()
    splits = [("split", 6, 0, 0, 1.5, 0.4, 0.3, 0.1, 9.0), ("replace", 6, 0, 0, 2.5, 0.6, 0.2, 0.2, 11.0)]
    assert tree.log == [SplitEvent(*split) for split in splits]


@pytest.mark.tiny
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.5, 1.0, 3.0])), max_size=12))
def test_weights_of_classes_are_those_of_a_dict(rows):
    nodes, counts, keys = np.zeros((2, 8), dtype=np.int64), np.zeros((2, 5)), np.zeros((2, 5), dtype=np.int64)
    tree, classes = TreeNodes(nodes, None, None, Settings(), None), ClassNodes(counts, keys, None, None)
    expected = {}
    for label, weight in rows:
        loop.add_class(1, label, weight, tree, classes)
        expected[label] = expected.get(label, 0.0) + weight
    assert keys[1, : nodes[1, N_KEYS]].tolist() == list(expected)
    assert counts[1].tolist() == [expected.get(k, 0.0) for k in range(5)]
    total, largest, majority = loop.weigh_classes(1, tree, classes)
    assert (total, largest) == (sum(expected.values()), max(expected.values(), default=0.0))
    assert majority == max(expected, key=expected.get, default=-1)
    assert not counts[0].any()


@pytest.mark.tiny
@leaf_kinds
def test_probabilities_of_leaves_are_those_of_the_reference(how):
    tree, reference, X, _ = grown(0, how=how)
    own, classes, _ = groups = tree._groups()
    out, all_rows = np.empty((2, N_CLASSES)), np.empty((30, N_CLASSES))
    loop.predict_classes(Rows(X[:30], None, None, None, all_rows), *groups)
    for i, x in enumerate(X[:30]):
        number, leaf = loop.find_leaf(X, i, own), reference.path(x)[-1]
        guess = loop.leaf_probabilities(X, i, number, *groups, out, 1)
        assert out[1] == pytest.approx(reference.predict(x), abs=1e-9)
        assert np.array_equal(all_rows[i], out[1])
        if how == "plain":
            assert guess == -1
        else:
            bayes = reference.bayes(leaf, x)
            assert guess == max(bayes, key=bayes.get)
            total = loop.weigh_classes(number, own, classes)[0]
            assert loop.bayes_probabilities(X, i, number, total, *groups, out, 1) == guess
            assert out[1] == pytest.approx([bayes.get(k, 0.0) for k in range(N_CLASSES)], abs=1e-9)


@pytest.mark.tiny
def test_a_row_whose_density_is_0_in_all_classes_says_nothing():
    tree = class_tree(slow.ClassTree(2, [False], how="model", grace=1e9))
    X, labels = np.random.default_rng(0).normal(size=(40, 1)), np.repeat([0, 1], [10, 30])
    tree.learn(X, labels, np.ones(40), None)
    groups, far, out = tree._groups(), np.array([[1e200]]), np.empty((1, 2))
    assert loop.bayes_probabilities(far, 0, 0, 40.0, *groups, out, 0) == -1
    assert loop.leaf_probabilities(far, 0, 0, *groups, out, 0) == -1
    assert out.tolist() == [[0.25, 0.75]]


@pytest.mark.tiny
@pytest.mark.parametrize("kind", [slow.ClassTree, slow.RealTree])
def test_loops_learn_from_their_first_row_on_until_there_is_no_room(kind):
    tree, reference, X, targets = grown(1, kind, n=30, grace=1e9)
    learn = loop.learn_classes if kind is slow.ClassTree else loop.learn_targets
    reference.grace, weights, start = 1.0, np.ones(30), 20
    tree.change_settings(grace_period=1.0, max_inner=np.inf)
    expected, out = [], np.full((30, reference.n_outputs), np.nan)
    while start < 30:
        start, is_alarm, n_events = learn(rows_of(X, targets, weights, out), start, *tree._arguments)
        assert not is_alarm
        assert n_events == tree.arrays["counters"][N_EVENTS]
        tree._make_room()
    for x, y in zip(X[20:], targets[20:], strict=True):
        expected.append(np.atleast_1d(reference.predict(x)))
        reference.learn(x, y, 1.0)
    assert_same_tree(tree, reference)
    assert np.isnan(out[:20]).all()
    assert out[20:] == pytest.approx(np.array(expected), abs=1e-9)
    assert learn(rows_of(X, targets, weights, out), 30, *tree._arguments)[0] == 30
    tree.arrays["counters"][N_EVENTS] = len(tree.arrays["events"])
    assert learn(rows_of(X, targets, weights, out), 7, *tree._arguments)[0] == 7


@pytest.mark.tiny
@pytest.mark.parametrize("delta", [1e-300, 0.9])
@pytest.mark.parametrize("kind", [slow.ClassTree, slow.RealTree])
def test_a_leaf_is_split_as_by_the_reference(kind, delta):
    tree, reference, _, _ = grown(2, kind, n=150, grace=1e9, delta=delta)
    if kind is slow.ClassTree:
        loop.try_class_split(0, *tree._groups())
        reference.try_split(reference.root, sum(reference.root.counts.values()))
    else:
        loop.try_target_split(0, *tree._groups())
        reference.try_split(reference.root)
    tree._read_events()
    assert tree.n_inner == (delta > 0.5)
    assert_same_tree(tree, reference)


@pytest.mark.tiny
@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0]), min_size=2, max_size=2), min_size=3, max_size=3))
def test_a_new_leaf_gets_the_slot_of_the_leaf_that_promises_least(weights):
    tree = class_tree(slow.ClassTree(2, [False]))
    tree._resize(slots=2)
    own, classes, statistics = tree._groups()
    for leaf, (a, b) in enumerate(weights):
        loop.add_class(leaf, 0, a, own, classes)
        loop.add_class(leaf, 1, b, own, classes)
    own.nodes[:, SLOT] = [0, 1, *[-1] * (len(own.nodes) - 2)]
    statistics.slots[:, OWNER], statistics.stats[:] = [0, 1], 1.0
    promises = [min(pair) for pair in weights]
    least = min((0, 1), key=promises.__getitem__)
    slot = loop.slot_for(2, own, classes, statistics)
    if promises[least] >= promises[2]:
        assert slot == -1
        assert statistics.slots[:, OWNER].tolist() == [0, 1]
        return
    assert slot == least
    assert statistics.slots[:, OWNER].tolist() == ([2, 1] if slot == 0 else [0, 2])
    assert own.nodes[least, SLOT] == -1
    assert not statistics.stats[slot].any()
    assert statistics.stats[1 - slot].all()


@pytest.mark.tiny
@leaf_kinds
def test_targets_of_leaves_and_their_linear_models_are_those_of_the_reference(how):
    tree, reference, X, targets = grown(0, slow.RealTree, how=how)
    own, reals, _ = tree._groups()
    out = np.empty((30, 1))
    loop.predict_targets(Rows(X[:30], None, None, None, out), own, reals)
    for i, (x, y) in enumerate(zip(X[:30], targets[:30], strict=True)):
        number, leaf = loop.find_leaf(X, i, own), reference.path(x)[-1]
        prediction, linear = loop.leaf_target(X, i, number, own, reals)
        assert prediction == out[i, 0] == pytest.approx(reference.predict(x))
        if how == "plain":
            assert linear == prediction
            continue
        z = reference.standardised(x)
        error = y - leaf.model @ z
        assert linear == pytest.approx(leaf.model @ z)
        model, scores = reals.models[number].copy(), own.numbers[number, [MODEL_SCORE, PLAIN_SCORE]]
        loop.learn_linear(X, i, y, 2.0, number, linear, own, reals)
        moved = reals.models[number] - model
        assert moved == pytest.approx((1.0 - (1.0 - reference.rate) ** 2) * error * z / (z @ z), abs=1e-9)
        assert own.numbers[number, [MODEL_SCORE, PLAIN_SCORE]] == pytest.approx(
            reference.fading**2 * scores + np.array([error, y - leaf.mean]) ** 2
        )
        reals.models[number], own.numbers[number, [MODEL_SCORE, PLAIN_SCORE]] = model, scores


@pytest.mark.tiny
def test_leaves_may_grow_in_time_and_within_the_limits_of_depth_and_inner_nodes():
    tree = class_tree(slow.ClassTree(2, [False], grace=10, least_growth=0.5))
    tree.change_settings(max_depth=3.0, max_inner=5.0)
    own = tree._groups()[0]
    for depth, n_inner, seen in product((2, 3), (4, 5), (129.9, 130.0, 150.0)):
        own.nodes[1, DEPTH], own.counters[N_INNER], own.numbers[1, LAST_ATTEMPT] = depth, n_inner, 100.0
        assert loop.is_time(1, seen, own) == (depth == 2 and n_inner == 4 and seen == 150.0)
        assert own.numbers[1, LAST_ATTEMPT] == (150.0 if seen == 150.0 else 100.0)
    own.nodes[1, DEPTH], own.counters[N_INNER], own.numbers[1, LAST_ATTEMPT] = 2, 4, 0.0
    assert [loop.is_time(1, seen, own) for seen in (9.0, 10.0, 19.0, 20.0)] == [False, True, False, True]


@pytest.mark.tiny
@pytest.mark.parametrize(("copies", "left_over", "plain", "model"), [(1.0, 4.0, 5.0, 4.0), (0.0, 5.0, 5.0, 0.0)])
def test_copies_are_judged_until_both_predictions_are_right(copies, left_over, plain, model):
    settings = Settings(grace_period=1e9, leaf_prediction=ADAPTIVE, judges_copies=copies)
    own, classes, statistics = HoeffdingClassTree(settings, Limits(), 2, N_CLASSES)._groups()
    rows = Rows(np.array([[1.0, 2.0]]), np.array([1]), None, np.array([5.0]), np.empty((0, 0)))
    # An empty leaf counts as right with its majority; naive Bayes knows the class after the first copy.
    assert loop.judge(rows, 0, 0, -1, own, classes, statistics) == left_over
    assert own.numbers[0, [PLAIN_SCORE, MODEL_SCORE]].tolist() == [plain, model]
    assert classes.counts[0].tolist() == [0.0, 5.0 - left_over, 0.0]


@pytest.mark.tiny
@pytest.mark.parametrize("most", [0.0, 30.0, 1e9])
@pytest.mark.parametrize("many", [0.0, 1.0])
def test_new_leaves_inherit_the_distributions_of_their_parent(most, many):
    X, labels, _, weights = stream(1, n=150)
    if many:
        labels = X[:, 2:].argmax(axis=1)
    ways = {"grace": 100, "delta": 1.0, "how": "adaptive", "unlikely": True, "many": bool(many)}
    tree, single = (class_tree(slow.ClassTree(N_CLASSES, IS_CATEGORY, **ways)) for _ in range(2))
    tree.change_settings(inherited_weight=most)
    single.change_settings(max_depth=0)  # the parent, which is not split
    n = 0
    while tree.n_inner == 0:
        for model in (tree, single):
            model.learn(X[n : n + 1], labels[n : n + 1], weights[n : n + 1], None)
        n += 1
    assert tree.n_inner == (2 if many else 1)
    parent = single.arrays["stats"][0]
    nodes, _, inner = tree.structure()
    own, classes, statistics = tree._groups()
    classes.parent[:] = parent
    for leaf in np.flatnonzero(~inner):
        counts, slot = tree.arrays["counts"][leaf], nodes[leaf, SLOT]
        if most > 0.0:  # once more, for this leaf alone
            loop.clear_slot(statistics, slot)
            loop.inherit_normals(leaf, nodes[0, FEATURE], own, classes, statistics)
        found, known = tree.arrays["stats"][slot], []
        for k in range(N_CLASSES):
            weight = min(1.0, most / counts.sum()) * counts[k]
            if weight < FEWEST_INHERITED:
                assert not found[:, k].any()
                continue
            known.append(k)
            part = weight / parent[nodes[0, FEATURE], k, N]
            assert found[:, k, [N, SQUARES]] == pytest.approx(part * parent[:, k, [N, SQUARES]])
            assert np.array_equal(found[:, k, [CENTER, FACTOR, CONSTANT]], parent[:, k, [CENTER, FACTOR, CONSTANT]])
            # values are those of the leaf's own rows
            assert np.array_equal(found[:2, k, LOWEST], [np.inf, np.inf])
            assert np.array_equal(found[:2, k, HIGHEST], [-np.inf, -np.inf])
            assert np.array_equal(found[2:, k, [LOWEST, HIGHEST]], parent[2:, k, [LOWEST, HIGHEST]])
        assert sorted(tree.arrays["slots"][slot, 2 : 2 + len(known)].tolist()) == known
        assert tree.arrays["slots"][slot, 1] == len(known)
        assert bool(known) == (most > 0.0)
    rest = slice(n, None)
    before = tree.predict(X)
    assert np.isfinite(before).all()
    tree.learn(X[rest], labels[rest], weights[rest], None)
    assert np.isfinite(tree.predict(X)).all()


@pytest.mark.tiny
@pytest.mark.parametrize("margin", [MARGIN - 0.1, MARGIN + 0.1])
def test_leaves_inherit_only_from_a_parent_whose_naive_bayes_is_right_of_late(margin):
    X, labels, _, weights = stream(1, n=150)
    tree = class_tree(slow.ClassTree(N_CLASSES, IS_CATEGORY, grace=100, delta=1.0, how="adaptive"))
    tree.change_settings(inherited_weight=30.0)
    for n in range(150):
        # as if it had been so up to here; the row itself moves both scores by a twentieth at the most
        tree.arrays["numbers"][0, [MODEL_LATELY, PLAIN_LATELY]] = 0.5 + margin, 0.5
        if tree.n_inner:
            break
        tree.learn(X[n : n + 1], labels[n : n + 1], weights[n : n + 1], None)
    leaves = tree.structure()[0][1:, SLOT]
    assert len(leaves) == 2
    scores = tree.arrays["numbers"][0, [MODEL_LATELY, PLAIN_LATELY]]
    assert scores[0] - scores[1] == pytest.approx(margin)
    assert tree.arrays["stats"][leaves].any() == (margin > MARGIN)
