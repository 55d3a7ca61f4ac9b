"""The points of a node, and what its splits are measured by."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled import growing as loop
from softwood.kernel.growing.loops.groups import Goal
from softwood.kernel.growing.loops.scan import BINARY_ENTROPY, ENTROPY, SQUARED
from softwood.kernel.growing.loops.tree_groups import NODE, Rules
from tests.kernel.growing.loops.growth import new_scratch
from tests.reference.gains import impurity


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
    labels, targets = None, weights[:, None]
    if n_classes:
        truth = rng.integers(n_classes, size=12).astype(np.int32)
        Y = np.eye(n_classes)[truth]
        stored = Y if n_classes > 2 else Y[:, 1:].copy()
        labels = truth if n_classes > 2 else None
    else:
        Y = stored = rng.normal(size=(12, 2))
    if labels is None:
        targets = np.column_stack([weights, stored])
    q = stored.shape[1]
    scratch = new_scratch(m, 1, q, labels is not None)
    lines, sums = np.zeros(2, NODE), np.full((2, q), np.nan)
    loop.weigh(rows, 2, shares, m, labels, targets, scratch, lines, sums, 1)
    assert scratch.points[:, 0] == pytest.approx(masses)
    assert lines[1]["mass"] == pytest.approx(masses.sum())
    assert sums[1] == pytest.approx(masses @ stored[at])
    assert lines[0]["mass"] == 0.0
    assert np.isnan(sums[0]).all()
    if labels is not None:
        assert np.array_equal(scratch.labels, labels[at])
    else:
        assert scratch.points[:, 1:] == pytest.approx(masses[:, None] * stored[at])
        assert lines[1]["square"] == pytest.approx(masses @ (stored[at] ** 2).sum(axis=1))
    found, impure = loop.merit_and_impurity(lines, sums, 1, number, n_classes > 0)
    factor = 0.5 if (criterion, n_classes) == ("gini", 2) else 1.0  # of two classes one is stored
    assert impure == pytest.approx(factor * masses.sum() * impurity(masses, Y[at], criterion))
    if criterion != "entropy":
        assert found == pytest.approx(((masses @ stored[at]) ** 2).sum() / masses.sum())
    else:
        assert found == pytest.approx(-impure)


@pytest.mark.tiny
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_labels_of_a_node_are_numbered_without_gaps(labels):
    present = sorted(set(labels))
    masses = [labels.count(o) / 4 for o in range(5)]
    scratch = new_scratch(len(labels), 1, 5, True)
    scratch.labels[:] = labels
    assert loop.number_labels(np.array([[9.0] * 5, masses]), 1, len(labels), scratch) == len(present)
    assert [present[k] for k in scratch.labels] == labels
    assert scratch.totals[: len(present)].tolist() == [masses[o] for o in present]


@pytest.mark.tiny
def test_sums_of_targets_are_taken_as_they_are():
    scratch = new_scratch(1, 1, 3, False)
    assert loop.number_labels(np.array([[2.0, 0.0, -1.0]]), 0, 0, scratch) == 3
    assert scratch.totals.tolist() == [2.0, 0.0, -1.0]


@pytest.mark.tiny
def test_ties_are_a_trifle():
    assert loop.tie_of(-3.0, 2.0, 5.0) == pytest.approx(1e-10 * 2.0 + 1e-14 * 8.0, rel=1e-12)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("depth", "min_mass", "is_pure"), [(2, 1.0, False), (3, 1.0, False), (2, 1.7, False), (2, 1.0, True)]
)
def test_goal_of_a_node(depth, min_mass, is_pure):
    """A node remains a leaf if it is deep, light or pure."""
    masses = [[0.0, 3.0, 0.0], [1.0, 0.0, 2.0]]
    lines, sums, scratch = np.zeros(2, NODE), np.array(masses[::-1] if is_pure else masses), new_scratch(2, 1, 3, True)
    lines["depth"], lines["mass"], scratch.labels[:] = depth, 3.0, [2, 0]
    rules = Rules(max_depth=3, min_mass=0.1, min_gain=0.0, n_draw=1, cutoff=0.0, is_class=True, rare_mass=0.5)
    goal = Goal(*loop.goal_of(lines, sums, 1, 2, rules, SQUARED, min_mass, scratch))
    assert goal[:2] == pytest.approx((3.0, 3.0 if is_pure else 5 / 3))
    assert (goal.min_mass, goal.criterion, goal.rare_mass) == (min_mass, SQUARED, 0.5)
    if depth == 3 or min_mass > 1.5 or is_pure:
        assert goal.n_outputs == 0
    else:
        assert goal.n_outputs == 2
        assert goal.tie == pytest.approx(loop.tie_of(5 / 3, 4 / 3, 3.0))
        assert scratch.labels.tolist() == [1, 0]
