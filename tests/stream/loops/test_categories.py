"""Splits of categories, loop by loop: against sums over the rows, and the reference that keeps all rows."""

import math

import numpy as np
import pytest

from softwood.compiled import stream as loop
from softwood.stream.growing.arrays import Limits
from softwood.stream.growing.hoeffding import HoeffdingClassTree
from softwood.stream.loops.layout import (
    DEPTH,
    FEATURE,
    GINI,
    INFO_GAIN,
    LAST_ATTEMPT,
    LEFT,
    N_KEYS,
    OWNER,
    RIGHT,
    SLOT,
    WEIGHT,
    FoundTest,
    Settings,
)
from softwood.stream.loops.observers import CENTER, N
from tests.reference import observers as slow

N_CLASSES = 3
# Columns of two sources that have come in turn, among numbers: (1, 3, 4, 7, 8) and (2, 6, 9).
IS_CATEGORY = [0, 1, 2, 1, 1, 0, 2, 1, 1, 2]
SOURCES = {source: [j for j, s in enumerate(IS_CATEGORY) if s == source] for source in (1, 2)}
# The first source has a rare category and one that never comes.
SHARES = {1: [0.45, 0.0, 0.3, 0.2, 0.05], 2: [0.3, 0.5, 0.2]}
CATEGORIES = [j for j, source in enumerate(IS_CATEGORY) if source]
# With the second of these one category of the first source is rare, with the last all are.
FRACTIONS = [0.0, 0.1, 0.4, 0.7]
seeds = pytest.mark.parametrize("seed", range(3))
fractions = pytest.mark.parametrize("fraction", FRACTIONS)


def rows(seed, n=60):
    """Values with missing ones, classes that depend on the categories, and weights of which no two are equal."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, len(IS_CATEGORY)))
    X[:, [0, 5]] = rng.normal(size=(n, 2))
    codes = {source: rng.choice(len(share), size=n, p=share) for source, share in SHARES.items()}
    for source, columns in SOURCES.items():
        X[np.arange(n), np.take(columns, codes[source])] = 1.0
        X[np.ix_(rng.random(n) < 0.1, columns)] = np.nan
    labels = np.where(rng.random(n) < 0.6, codes[1] % N_CLASSES, rng.integers(N_CLASSES, size=n))
    # The rows of the last class have no number in the first column.
    X[labels == 2, 0] = np.nan
    return X, labels.astype(np.int64), rng.uniform(0.5, 2.0, size=n)


def leaf_of(X, labels, weights, is_category=IS_CATEGORY, **settings):
    """A tree of one leaf that has seen the rows, with room for a split."""
    settings = Settings(grace_period=1e9, max_share_to_split=1.0, many_ways=1.0, **{"max_depth": np.inf, **settings})
    tree = HoeffdingClassTree(settings, Limits(), X.shape[1], N_CLASSES)
    tree.arrays["is_category"][:] = is_category
    tree.learn(X, labels, weights, None)
    tree._make_room()
    return tree


def known(X, labels, weights, column):
    """The rows that have a value in a column."""
    keep = ~np.isnan(X[:, column])
    return X[keep], labels[keep], weights[keep]


def by_class(labels, weights):
    return np.bincount(labels, weights, minlength=N_CLASSES)


# ------------------------------------------------------------------ weights and merits


@pytest.mark.tiny
@seeds
def test_weights_of_categories_are_those_of_their_rows(seed):
    X, labels, weights = rows(seed)
    statistics = leaf_of(X, labels, weights)._groups()[2]
    for j in CATEGORIES:
        expected = by_class(labels, weights * (X[:, j] == 1.0))
        found = [loop.ones(statistics, 0, j, label) for label in range(N_CLASSES)]
        assert found == pytest.approx(expected)
        total = weights[~np.isnan(X[:, j])].sum()
        assert loop.weight_of_category(statistics, 0, j) == pytest.approx((expected.sum(), total))
        for fraction in FRACTIONS:
            is_expected = expected.sum() > fraction * total
            assert loop.is_side_of_its_own(statistics, 0, j, fraction) == is_expected


@pytest.mark.tiny
def test_a_category_of_just_the_least_share_has_no_side_of_its_own():
    statistics = leaf_of(*rows(0))._groups()[2]
    statistics.stats[0, 1, :, N], statistics.stats[0, 1, :, CENTER] = 4.0, 0.25
    assert loop.weight_of_category(statistics, 0, 1) == (3.0, 12.0)
    assert not loop.is_side_of_its_own(statistics, 0, 1, 0.25)
    assert loop.is_side_of_its_own(statistics, 0, 1, np.nextafter(0.25, 0.0))


@pytest.mark.tiny
def test_the_first_column_of_a_source_is_that_of_no_other_before():
    statistics = leaf_of(*rows(0))._groups()[2]
    assert [j for j in CATEGORIES if loop.is_first_of_source(statistics, j)] == [1, 2]


@pytest.mark.tiny
@seeds
@fractions
@pytest.mark.parametrize("criterion", [INFO_GAIN, GINI])
def test_merits_of_splits_many_ways_are_those_of_the_reference(seed, fraction, criterion):
    X, labels, weights = rows(seed)
    statistics, seen = leaf_of(X, labels, weights)._groups()[2], slow.Seen.of(X, labels, weights)
    before = slow.impurity(by_class(labels, weights), criterion == GINI)
    for source, (first, *_) in SOURCES.items():
        statistics.sides[:] = 77.0  # scratch space: what it held does not count
        found = loop.merit_of_categories(statistics, 0, first, before, fraction, criterion)
        expected = slow.merit_of_source(seen, source, before, IS_CATEGORY, fraction, criterion == GINI)
        assert found == pytest.approx(expected)
        assert found[1] >= 2 or fraction > 0.1
        assert (found[0] == -math.inf) == (found[1] == 0)


@pytest.mark.tiny
def test_merits_of_splits_many_ways_by_hand():
    """Three categories, each of another class: the side after the second wins something by chance."""
    X, labels = np.tile(np.eye(3), (10, 1)), np.tile(np.arange(3), 10)
    statistics = leaf_of(X, labels, np.ones(30), is_category=[1, 1, 1])._groups()[2]
    # One side more and three classes: two degrees of freedom, and three standard deviations of chi squared.
    noise = 2.0 + 3.0 * 2.0
    found = loop.merit_of_categories(statistics, 0, 0, math.log2(3), 0.01, INFO_GAIN)
    assert found == pytest.approx((math.log2(3) - noise / (2.0 * math.log(2.0)) / 30, 2))
    found = loop.merit_of_categories(statistics, 0, 0, 2 / 3, 0.01, GINI)
    assert found == pytest.approx((2 / 3 - noise * (2 / 3) / 2 / 30, 2))
    # Categories that are all rare are one side.
    assert loop.merit_of_categories(statistics, 0, 0, 2 / 3, 0.5, GINI) == (-math.inf, 0)


@pytest.mark.tiny
@pytest.mark.parametrize("criterion", [INFO_GAIN, GINI])
def test_rare_categories_are_a_side_only_if_they_are_not_rare_together(criterion):
    """One common category and two rare ones, which are together just the least share, or more."""
    labels = np.repeat([0, 1], [24, 8])
    X = np.repeat(np.eye(3), [24, 4, 4], axis=0)
    statistics = leaf_of(X, labels, np.ones(32), is_category=[1, 1, 1])._groups()[2]
    before = slow.impurity(by_class(labels, np.ones(32)), criterion == GINI)
    assert loop.merit_of_categories(statistics, 0, 0, before, 0.25, criterion) == (-math.inf, 0)
    fraction = np.nextafter(0.25, 0.0)
    assert loop.merit_of_categories(statistics, 0, 0, before, fraction, criterion) == pytest.approx((before, 1))


# ------------------------------------------------------------------ splits


def children_of(tree, node):
    """Class weights of the two children, and the set of the classes of each."""
    arrays, children = tree.arrays, tree.arrays["nodes"][node, [LEFT, RIGHT]]
    keys = [set(arrays["keys"][child, : arrays["nodes"][child, N_KEYS]].tolist()) for child in children]
    return arrays["counts"][children], keys


@pytest.mark.tiny
@seeds
@pytest.mark.parametrize(("feature", "threshold"), [(0, 0.2), (0, -9.0), (5, -0.3), (5, 9.0), (4, 0.5), (3, 0.5)])
def test_leaves_of_a_split_have_the_class_weights_of_their_sides(seed, feature, threshold):
    X, labels, weights = rows(seed)
    tree = leaf_of(X, labels, weights)
    own, classes, statistics = tree._groups()
    test = FoundTest(feature, threshold, 0.4, 0.3)
    loop.split_leaf(0, 0, test, 0.1, 50.0, own, classes, statistics)
    counts, keys = children_of(tree, 0)
    seen, is_category = slow.Seen.of(X, labels, weights), IS_CATEGORY[feature] > 0
    expected = np.zeros((2, N_CLASSES))
    expected[:, seen.labels] = slow.class_sides(seen, feature, threshold, is_category)
    assert counts == pytest.approx(expected, abs=1e-9)
    # A class is known to both sides of a category, and to the sides that its numbers reach.
    values, groups, _ = known(X, labels, weights, feature)
    reached = [values[:, feature] <= threshold, values[:, feature] > threshold]
    assert keys == [set(groups[side | is_category].tolist()) for side in reached]
    tree._read_events()
    assert [(e.feature, e.threshold, e.merit, e.second_merit, e.bound, e.weight_seen) for e in tree.log] == [
        (*test[:4], 0.1, 50.0)
    ]


def split_many_ways(fraction, source, seed=0, **settings):
    """A tree after a split of a source, and the rows whose category is known."""
    X, labels, weights = rows(seed)
    tree = leaf_of(X, labels, weights, min_branch_fraction=fraction, **settings)
    test = FoundTest(SOURCES[source][0], 0.5, 0.4, 0.3, True)
    loop.split_categories(0, 0, test, 0.1, 50.0, *tree._groups())
    return tree, known(X, labels, weights, SOURCES[source][0])


@pytest.mark.tiny
@seeds
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("fraction", FRACTIONS[:3])
def test_each_category_of_a_split_many_ways_has_a_leaf_with_its_rows(seed, source, fraction):
    tree, (X, labels, weights) = split_many_ways(fraction, source, seed)
    columns, nodes = SOURCES[source], tree.structure()[0]
    parts = {j: weights[X[:, j] == 1.0].sum() for j in columns}
    own = [j for j in columns if parts[j] > fraction * weights.sum()]
    has_rest = sum(parts[j] for j in columns if j not in own) > 0.0
    tested = own if has_rest else own[:-1]
    # Each test hands what is left to its left leaf, where the next one is.
    node, is_left_over = 0, np.ones(len(X), dtype=bool)
    for j in tested:
        assert nodes[node, FEATURE] == j
        sides = [is_left_over & (X[:, j] == value) for value in (0.0, 1.0)]
        counts, keys = children_of(tree, node)
        assert counts == pytest.approx(np.array([by_class(labels[s], weights[s]) for s in sides]), abs=1e-9)
        assert keys == [set(labels[s].tolist()) for s in sides]
        assert nodes[nodes[node, RIGHT], LEFT] == -1
        node, is_left_over = nodes[node, LEFT], sides[0]
    assert nodes[node, LEFT] == -1
    assert tree.n_inner == len(tested)
    tree._read_events()
    # The merit is that of the whole split, and counts once.
    assert [(e.feature, e.merit, e.second_merit) for e in tree.log] == [
        (j, *((0.0, 0.0) if k else (0.4, 0.3))) for k, j in enumerate(tested)
    ]


@pytest.mark.tiny
@pytest.mark.parametrize("max_depth", [np.inf, 3, 2])
def test_new_leaves_get_their_weights_and_slots_unless_they_are_too_deep_to_split(max_depth):
    tree, _ = split_many_ways(0.0, 1, max_depth=max_depth)
    own, classes, statistics = tree._groups()
    # The leaf that was split gives up its own slot first.
    own.nodes[0, SLOT], statistics.slots[0, OWNER] = -1, -1
    weight = own.numbers[0, WEIGHT]
    loop.open_leaves(0, 2, own, classes, statistics)
    nodes, numbers, inner = tree.structure()
    counts = tree.arrays["counts"][: tree.n_nodes].sum(axis=1)
    assert numbers[0, WEIGHT] == weight
    assert inner.sum() == 3
    assert numbers[1:, WEIGHT] == pytest.approx(counts[1:])
    assert np.array_equal(numbers[1:, LAST_ATTEMPT], numbers[1:, WEIGHT])
    has_slot = ~inner & (nodes[:, DEPTH] < max_depth)
    assert np.array_equal(nodes[:, SLOT] >= 0, has_slot)
    assert statistics.slots[nodes[has_slot, SLOT], OWNER].tolist() == np.flatnonzero(has_slot).tolist()
    assert not statistics.stats[nodes[has_slot, SLOT]].any()
