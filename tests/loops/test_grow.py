"""Small parts of the growth loop; the whole is compared with the slow search in `tests/density/test_growing.py`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.loops import grow as loop
from softwood.loops.scan import BINARY_ENTROPY, ENTROPY, SQUARED
from tests.reference.gains import impurity


@pytest.mark.tiny
def test_draws_depend_on_the_seed_alone_and_are_fair():
    counts = np.zeros((5, 5))
    for seed in range(400):
        order = np.empty(5, dtype=np.int64)
        loop.draw_features(order, np.arange(len(order)), np.uint64(seed), 2)
        assert sorted(order) == [0, 1, 2, 3, 4]
        again = np.empty(5, dtype=np.int64)
        loop.draw_features(again, np.arange(len(again)), np.uint64(seed), 2)
        assert np.array_equal(order, again)
        counts[np.arange(5), order] += 1
    assert np.all(np.abs(counts - 80) < 45)  # five standard deviations


@pytest.mark.tiny
def test_all_features_in_order_if_all_are_wanted():
    order = np.empty(4, dtype=np.int64)
    loop.draw_features(order, np.arange(len(order)), np.uint64(9), 4)
    assert order.tolist() == [0, 1, 2, 3]


@pytest.mark.tiny
def test_seeds_of_the_nodes_of_a_tree_are_all_different():
    seeds = [np.uint64(1)]
    for level in range(8):
        seeds += [np.uint64(loop.next_seed(s, k)) for s in seeds[2**level - 1 :] for k in range(2)]
    assert len(set(map(int, seeds))) == len(seeds)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("criterion", "number", "n_classes"),
    [
        ("gini", SQUARED, 2),
        ("gini", SQUARED, 3),
        ("entropy", BINARY_ENTROPY, 2),
        ("entropy", ENTROPY, 3),
        ("squared_error", SQUARED, 0),
    ],
)
def test_points_of_a_node_and_its_impurity(criterion, number, n_classes):
    rng = np.random.default_rng(0)
    shares, weights = rng.random(9), rng.random(12) + 0.5
    rows = np.array([0, 0, 4, 1, 7, 9, 2, 11, 3], dtype=np.uint32)
    m = 7  # from place 2 on
    at = rows[2:]
    masses = shares[2:] * weights[at]
    labels, targets, squares, node_labels = None, None, None, None
    if n_classes:
        truth = rng.integers(n_classes, size=12).astype(np.int32)
        Y = np.eye(n_classes)[truth]
        if n_classes > 2:
            labels, node_labels = truth, np.empty(m, dtype=np.int32)
            stored = Y
        else:
            stored = targets = Y[:, 1:].copy()
    else:
        Y = stored = targets = rng.normal(size=(12, 2))
    if targets is not None:
        squares = (targets**2).sum(axis=1)
    q = stored.shape[1]
    points = np.empty((m, 1 if labels is not None else 1 + q))
    nodes = np.full((2, loop.SUMS + q), np.nan)
    loop.weigh(rows, 2, shares, m, weights, targets, labels, squares, points, node_labels, nodes, 1)
    assert points[:, 0] == pytest.approx(masses)
    assert nodes[1, loop.MASS] == pytest.approx(masses.sum())
    assert nodes[1, loop.SUMS :] == pytest.approx(masses @ stored[at])
    if labels is not None:
        assert np.array_equal(node_labels, labels[at])
    else:
        assert points[:, 1:] == pytest.approx(masses[:, None] * stored[at])
    merit, impure = loop.merit_and_impurity(nodes, 1, number, n_classes > 0)
    factor = 0.5 if (criterion, n_classes) == ("gini", 2) else 1.0  # of two classes one is stored
    assert impure == pytest.approx(factor * masses.sum() * impurity(masses, Y[at], criterion))
    if criterion != "entropy":
        assert merit == pytest.approx(((masses @ stored[at]) ** 2).sum() / masses.sum())
    else:
        assert merit == pytest.approx(-impure)


@pytest.mark.tiny
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_labels_of_a_node_are_numbered_without_gaps(labels):
    present = sorted(set(labels))
    masses = [labels.count(o) / 4 for o in range(5)]
    line = np.array([[0.0] * loop.SUMS + masses])
    renumbered, numbers, totals = np.array(labels, np.int32), np.empty(5, np.int32), np.full(5, np.nan)
    assert loop.number_labels(line, 0, renumbered, len(labels), numbers, totals) == len(present)
    assert [present[k] for k in renumbered] == labels
    assert totals[: len(present)].tolist() == [masses[o] for o in present]


@pytest.mark.tiny
def test_sums_of_targets_are_taken_as_they_are():
    line = np.array([[0.0] * loop.SUMS + [2.0, 0.0, -1.0]])
    totals = np.empty(3)
    assert loop.number_labels(line, 0, None, 0, np.empty(3, np.int32), totals) == 3
    assert totals.tolist() == [2.0, 0.0, -1.0]
