"""Growth of soft trees on streams: what a split leaves behind, tests that became bad, learned alpha."""

import copy
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled import stream as loop
from softwood.stream.growing.soft import SoftRealTree
from softwood.stream.loops import layout
from softwood.stream.loops.layout import FADE_1, FADE_2, FEATURE, Settings, Statistics, TreeNodes
from softwood.stream.loops.observers import N
from softwood.stream.loops.soft_stream_growth import FIRST_WEIGHTS
from tests.reference import observers
from tests.reference.soft_stream import SoftStream, assert_same_tree, growing, stream, visited

kinds = pytest.mark.parametrize("is_class", [True, False], ids=["class", "real"])

# ------------------------------------------------------------------ after a split


def split_once(**settings):
    """A tree of one feature right after its first split, and the rows that it has learned."""
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, size=(200, 1))
    labels = (X[:, 0] + rng.normal(size=200) > 3.5).astype(np.int64)
    tree = growing(SoftStream(1, 2, max_depth=1, **settings))
    for i in range(200):
        tree.learn(X[i : i + 1], labels[i : i + 1], np.ones(1), None)
        if tree.n_inner:
            return tree, X[: i + 1], labels[: i + 1]
    raise AssertionError("no split")


@pytest.mark.tiny
@pytest.mark.parametrize("leaf_init", [0.0, 0.1, 1.0])
def test_new_leaves_go_on_from_their_parent(leaf_init):
    tree, X, labels = split_once(leaf_init=leaf_init, min_share=0.0)
    values, numbers, event = tree.arrays["values"], tree.arrays["numbers"], tree.log[0]
    seen = observers.Seen.of(X, labels, np.ones(len(X)))
    sides = observers.class_sides(seen, 0, event.threshold, False)[:, np.argsort(seen.labels)]

    def log_shares(w):
        return np.log((w + 1) / (w.sum() + 2))

    for child, side in zip([1, 2], sides, strict=True):
        difference = log_shares(side) - log_shares(sides.sum(axis=0))
        assert values[0, child] - values[0, 0] == pytest.approx(leaf_init * difference)
        assert np.array_equal(values[1:, child], values[1:, 0])
        assert values[1:, child].all()
        assert numbers[child, [FADE_1, FADE_2]] == pytest.approx([0.9 ** len(X), 0.999 ** len(X)])
    assert not tree.arrays["gates"][1:, 0].any()


@pytest.mark.tiny
def test_a_new_gate_agrees_with_its_test():
    tree, X, _ = split_once(alpha=1.0, gate_init=0.5)
    threshold = tree.log[0].threshold
    # The scaler has learned one row more since the gate was made.
    tree.arrays["scaler"][1], deviation = X[:-1].mean(), X[:-1].std()
    tree.arrays["scaler"][2], tree.arrays["scaler"][3] = 1 / deviation, deviation**2
    x = np.empty(2)
    for value in [*np.linspace(-5, 10, 50), threshold - 1e-6, threshold + 1e-6]:
        loop.standardise(np.array([[value]]), 0, tree.arrays["scaler"], True, x)
        part = visited(tree, np.array([value]), x)[2][0, layout.PART]
        assert (part > 0.5) == (value <= threshold)


@pytest.mark.tiny
def test_gates_without_a_start_have_small_weights_of_their_own():
    tree, _, _ = split_once(gate_init=0.0)
    gate = tree.arrays["gates"][0, 0]
    assert gate[layout.ALPHA_AT] == tree.settings.alpha
    assert gate[layout.BIAS_AT] == 0.0
    assert 0.0 < abs(gate[layout.FIRST_WEIGHT]) <= FIRST_WEIGHTS


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("is_auto", "n_outputs", "expected"), [(0, 500, 7), (1, 1, 7), (1, 32, 7), (1, 33, 8), (1, 200, 10)]
)
def test_depth_for_many_classes(is_auto, n_outputs, expected):
    settings = Settings(max_depth=7.0, deeper_for_classes=is_auto)
    assert loop.deepest(TreeNodes(None, None, None, settings, None), n_outputs) == expected


# ------------------------------------------------------------------ tests that became bad, learned alpha


@pytest.mark.tiny
@kinds
@pytest.mark.parametrize("recheck", [50.0, np.inf])
def test_a_test_that_became_bad_is_replaced(recheck, is_class):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    labels = np.where(np.arange(600) < 200, X[:, 0] > 0, X[:, 1] > 0.5).astype(np.int64 if is_class else float)
    tree = growing(SoftStream(2, 2 if is_class else 1, is_class, recheck=recheck, max_depth=1))
    tree.learn(X[:200], labels[:200], np.ones(200), None)
    # The first test may be replaced by a better threshold.
    assert {e.feature for e in tree.log} == {0}
    n_before = len(tree.log)
    gate = tree.arrays["gates"][0, 0].copy()
    tree.learn(X[200:], labels[200:], np.ones(400), None)
    if recheck == np.inf:
        assert len(tree.log) == n_before == 1
        return
    event = tree.log[n_before]
    assert (event.kind, event.node, event.feature) == ("replace", 0, 1)
    gain = event.merit - max(event.second_merit, 0.0)
    assert gain > event.bound * (1.0 if is_class else event.merit)
    assert event.threshold == pytest.approx(0.5, abs=0.5)
    assert tree.structure()[0][0, FEATURE] == 1
    assert tree.n_nodes == 3
    # Its gate goes on learning where it was.
    assert np.abs(tree.arrays["gates"][0, 0] - gate).max() < 4.0


@pytest.mark.tiny
@given(st.integers(0, 10**6), st.floats(0.0, 2.0), st.booleans())
def test_learned_alpha_stays_above_its_least_and_up_to_1(seed, pull, is_class):
    X, labels, targets, weights = stream(seed, n=60)
    tree = growing(SoftStream(3, 2 if is_class else 1, is_class, alpha_rate=0.7, pull=pull, delta=0.9, grace=10))
    for rows in np.split(np.arange(60), 6):
        tree.learn(X[rows], (labels if is_class else targets)[rows], weights[rows], None)
        alphas = tree.alphas[tree.structure()[2]]
        assert ((alphas >= 0.02) & (alphas <= 1.0)).all()


@pytest.mark.tiny
def test_the_pull_makes_gates_crisp():
    X, labels, _, _ = stream(0, n=300)
    means = []
    for pull in (0.0, 0.5):
        tree = growing(SoftStream(3, 2, alpha_rate=0.01, pull=pull))
        tree.learn(X, labels, np.ones(300), None)
        means.append(np.nanmean(tree.alphas))
    assert means[1] < means[0]


@pytest.mark.tiny
def test_real_trees_of_constant_targets_stay_finite():
    tree = growing(SoftStream(2, 1, False))
    assert isinstance(tree, SoftRealTree)
    tree.learn(np.random.default_rng(0).normal(size=(50, 2)), np.full(50, 7.0), np.ones(50), None)
    assert tree.predict(np.zeros((1, 2)))[0, 0] == pytest.approx(7.0)


# ------------------------------------------------------------------ the single loops


def unsplit(is_class, **settings):
    """A tree and its reference that have learned rows and could be split, but not yet."""
    X, labels, targets, weights = stream(2, n=150, missing=0.05)
    y = labels if is_class else targets
    n_outputs = 2 if is_class else 1
    reference = SoftStream(3, n_outputs, is_class, is_category=[False, False, True], grace=1e9, delta=0.9, **settings)
    tree = growing(reference)
    tree.learn(X, y, weights, None)
    for row, target, weight in zip(X, y, weights, strict=True):
        reference.learn(row, target, weight)
    return tree, reference, X, y


def flags(is_class, y):
    return (y, np.nan) if is_class else (-1, y)


@pytest.mark.tiny
def test_there_is_room_for_all_splits_of_a_row():
    counters = np.zeros(layout.N_COUNTERS, dtype=np.int64)
    counters[[layout.N_INNER, layout.N_NODES, layout.N_TAKEN]] = 3, 7, 2
    for n_nodes, n_slots, n_events, is_all, max_inner in product((14, 15), (5, 6), (1, 2), (0, 1), (3, 4)):
        counters[[layout.N_EVENTS, layout.SLOTS_ARE_ALL]] = n_events, is_all
        tree = TreeNodes(np.empty((n_nodes, 8), dtype=np.int64), None, counters, Settings(max_inner=max_inner), None)
        statistics = Statistics(
            np.empty((n_slots, 4), dtype=np.int64), None, None, None, np.empty(8, layout.EVENT), None
        )
        # Two children of four leaves; slots of two of these, and of their children; each node in a log of eight.
        is_expected = n_events == 1 and (max_inner == 3 or (n_nodes == 15 and (is_all or n_slots == 6)))
        assert loop.has_room_for_all(tree, statistics) == is_expected


@pytest.mark.tiny
def test_passing_a_test_is_a_part_where_the_value_is_missing():
    nodes, numbers = np.zeros((1, layout.N_NODE_INTS), dtype=np.int64), np.zeros((1, layout.N_NODE_NUMBERS))
    numbers[0, layout.THRESHOLD] = 1.5
    tree, points = TreeNodes(nodes, numbers, None, Settings(), None), np.array([[1.5], [1.6], [np.nan]])
    assert [loop.passes(points, i, 0, tree) for i in range(3)] == [1.0, 0.0, 0.5]
    numbers[0, [layout.WEIGHT, layout.LEFT_WEIGHT]] = 4.0, 1.0
    assert [loop.passes(points, i, 0, tree) for i in range(3)] == [1.0, 0.0, 0.25]
    nodes[0, FEATURE] = -1
    assert [loop.passes(points, i, 0, tree) for i in range(3)] == [0.0, 0.0, 0.0]


@pytest.mark.tiny
@kinds
@pytest.mark.parametrize("weigh_by_share", [True, False])
def test_rows_are_observed_as_by_the_reference(weigh_by_share, is_class):
    X, labels, targets, _ = stream(2, n=60, missing=0.05)
    reference = SoftStream(3, 2 if is_class else 1, is_class, weigh_by_share=weigh_by_share, recheck=1e9, min_share=0.3)
    tree = growing(reference)
    y = labels if is_class else targets
    tree.learn(X[:50], y[:50], np.ones(50), None)
    for row, target in zip(X[:50], y[:50], strict=True):
        reference.learn(row, target, 1.0)
    own, soft, path, statistics = tree._groups()
    assert len(reference.nodes) >= 3
    for i, (row, target) in enumerate(zip(X[50:], y[50:], strict=True), 50):
        x = reference.inputs(row)
        n = loop.visit(X, i, own, soft, path._replace(x=x))
        loop.observe(X, i, *flags(is_class, target), 1.5, n, own, path, statistics)
        reference.observe(reference.reached(row, x), row, target, 1.5)
    for k, node in enumerate(reference.nodes):
        assert own.numbers[k, layout.WEIGHT] == pytest.approx(node.weight)
        assert own.numbers[k, layout.LEFT_WEIGHT] == pytest.approx(node.passed)
        slot = own.nodes[k, layout.SLOT]
        assert (slot >= 0) == (node.seen is not None)
        if slot < 0:
            continue
        total = np.bincount(node.seen.targets, node.seen.weights, 2) if is_class else [sum(node.seen.weights)]
        assert statistics.seen[slot] == pytest.approx(total)
        for j in range(3):
            known = node.seen.known(j)[1].sum()
            stats = statistics.stats[slot, j]
            assert (stats[:, N].sum() if is_class else stats[-1, 2]) == pytest.approx(known)


@pytest.mark.tiny
@kinds
@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize("recheck", [30.0, np.inf])
def test_leaves_are_split_and_tests_replaced_as_by_the_reference(recheck, batch, is_class):
    tree, reference, X, y = unsplit(is_class, batch=batch, recheck=recheck)
    reference.grace = 20.0
    tree.change_settings(grace_period=20.0)
    own, soft, path, statistics = tree._groups()
    path.places[0, 0] = 0
    own.counters[layout.N_IN_BATCH] = reference.n_in_batch = 0
    grow = (1, is_class, own, soft, path, statistics)
    loop.grow(*grow)
    reference.grow([reference.nodes[0]])
    assert tree.n_inner == 1
    if recheck < np.inf:
        # Another test than the one that it got, and rows that show it.
        for i, (row, target) in enumerate(zip(X, y, strict=True)):
            loop.observe(X, i, *flags(is_class, target), 1.0, 1, own, path, statistics)
            reference.observe([(reference.nodes[0], path.shares[0, layout.SHARE])], row, target, 1.0)
        own.nodes[0, FEATURE], own.numbers[0, layout.THRESHOLD] = 1, 20.0
        reference.nodes[0].feature, reference.nodes[0].threshold = 1, 20.0
        seen = reference.nodes[0].seen
        now = observers.class_merit(seen, 1, 20.0, reference.impurity(seen), False) if is_class else None
        now = observers.real_merit(seen, 1, 20.0) if now is None else max(now, 0.0)
        loop.grow(*grow)
        reference.grow([reference.nodes[0]])
        assert [event[0] for event in reference.log] == ["split", "replace"]
    tree._read_events()
    assert_same_tree(tree, reference)
    assert recheck == np.inf or tree.log[1].second_merit == pytest.approx(now)


@pytest.mark.tiny
@kinds
@pytest.mark.parametrize("gate_init", [0.0, 0.5])
@pytest.mark.parametrize("leaf_init", [0.0, 0.7])
def test_a_divided_leaf_is_that_of_the_reference(leaf_init, gate_init, is_class):
    tree, reference, _, _ = unsplit(is_class, leaf_init=leaf_init, gate_init=gate_init, tau=1e9)
    own, soft, _, statistics = tree._groups()
    total = sum(reference.nodes[0].seen.weights)
    (feature, threshold, merit, second), found, bound, _ = reference.best_test(reference.nodes[0].seen, total)
    test = layout.FoundTest(feature, threshold, merit, second)
    loop.put_test(0, test, bound, total, own, statistics)
    if is_class:
        loop.class_moves(0, own, statistics)
        expected = reference.side_values(reference.nodes[0].seen, feature, threshold, None)
        assert statistics.sides[:, :2] == pytest.approx(np.array(expected))
    else:
        statistics.sides[:] = found
    nodes, gates = copy.deepcopy((own, soft))
    loop.start_gate(0, nodes, gates)
    assert gates.gates[0, 0] == pytest.approx(copy.copy(reference).first_gate(feature, threshold))
    assert not gates.gates[1:, 0].any()
    assert nodes.numbers[0, [FADE_1, FADE_2]].tolist() == [1.0, 1.0]
    own.numbers[0, layout.WEIGHT] = 0.0
    loop.divide_leaf(0, is_class, own, soft, statistics)
    reference.try_split(reference.nodes[0], total)
    tree._read_events()
    assert_same_tree(tree, reference)
