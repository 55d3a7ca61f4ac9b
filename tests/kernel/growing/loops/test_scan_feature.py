"""The best split of one feature: which scan is taken, and when a split is better than another one."""

import numpy as np
import pytest

from softwood.compiled.growing import is_better, keep_subset, scan_box, scan_box_single, scan_feature
from softwood.kernel.growing.loops.groups import NO_SETS, Bins, Goal, SubsetSpace
from softwood.kernel.growing.loops.scan import SQUARED
from softwood.kernel.growing.loops.tree_groups import Search

VALUES = np.array([0.0, 1.0, 2.0, 3.0])
EVERYWHERE = (-np.inf, np.inf)


def bins_of(n_categories=0):
    categories = np.array([n_categories]) if n_categories else np.zeros(0, np.int64)
    return Bins(np.empty((0, 1), np.uint8), VALUES, VALUES, VALUES, np.array([0, 4]), np.arange(1), categories)


def search_of(q):
    columns = 1 if q == 1 else 4
    atoms = np.zeros((4, 3 + columns))
    atoms[:, 0], atoms[:, 1], atoms[:, 2] = VALUES, np.arange(4), 10.0
    atoms[:, 3 : 3 + q] = np.array([[1.0, 5.0, 1.5, 6.0], [4.0, 0.0, 4.0, 0.0]])[:q].T
    subset = SubsetSpace(np.zeros(4), np.zeros(4, np.int64), np.zeros(4, np.int64), np.zeros((4, columns)), NO_SETS)
    return Search(
        np.zeros((1, 5, 1 + columns)), np.zeros(1, np.uint64), np.zeros(1, np.uint64), atoms, np.zeros((5, 5)),
        np.zeros((5, columns)), np.zeros(1, np.uint8), subset,
    )  # fmt: skip


def goal_of(q):
    return Goal(40.0, 0.0, 1.0, 1e-9, q, SQUARED, 0.0)


@pytest.mark.tiny
@pytest.mark.parametrize("width", [0.0, 0.7])
@pytest.mark.parametrize("q", [1, 2])
def test_columns_of_numbers(q, width):
    bins, search, goal, widths = bins_of(), search_of(q), goal_of(q), np.array([width])
    columns = search.work.shape[1]
    found = scan_feature(bins, widths, None, 0, 4, EVERYWHERE, goal, columns, False, search)
    atoms, lines, work = search.atoms, np.zeros((5, 5)), np.zeros((5, 4))
    work[0] = 0.0 if q == 1 else atoms[:, 3:].sum(axis=0)
    expected = (
        scan_box_single(atoms, 4, VALUES, VALUES, -np.inf, np.inf, width, 1.0, 1e-9, lines)
        if q == 1
        else scan_box(atoms, 4, VALUES, VALUES, EVERYWHERE, width, 1.0, 1e-9, SQUARED, 4, lines, work)
    )
    assert tuple(found)[:3] == tuple(expected)
    assert tuple(found)[3:] == (-1, -1, q > 1)
    nothing = scan_feature(bins, widths, None, 0, 0, EVERYWHERE, goal, columns, True, search)
    assert nothing[0] == -np.inf
    assert nothing[5]


@pytest.mark.tiny
@pytest.mark.parametrize("q", [1, 2])
def test_columns_of_categories(q):
    bins, search, goal = bins_of(5), search_of(q), goal_of(q)
    merit, threshold, left_mass, last, rare, _ = scan_feature(
        bins, np.zeros(1), None, 0, 4, EVERYWHERE, goal, search.work.shape[1], False, search
    )
    assert np.isnan(threshold)
    assert (left_mass, last, rare) == (20.0, 1, -1)
    subsets = np.zeros((2, 1), np.uint32)
    keep_subset(bins, 0, last, rare, left_mass, 40.0, search, subsets, 1)
    sums = search.atoms[:, 3:].reshape(2, 2, -1).sum(axis=0)  # 0 and 2 on one side, 1 and 3 on the other one
    assert merit == pytest.approx((sums**2).sum() / 20.0)
    assert int(subsets[1, 0]) & 0b1111 in (0b0101, 0b1010)
    assert int(subsets[1, 0]) & 0b10000  # a category that the node lacks: sides of equal mass count as left
    keep_subset(bins, 0, last, 3, left_mass, 40.0, search, subsets, 0)
    assert not int(subsets[0, 0]) & 0b10000  # with the rare ones, which are on the right


@pytest.mark.tiny
def test_better_splits():
    goal = Goal(10.0, 1.0, 1.0, 0.1, 1, SQUARED, 0.0)
    assert is_better(1.5, 2.0, -np.inf, 0.0, False, goal)
    assert not is_better(1.5, 2.0, 2.0, 2.0, False, goal)
    assert is_better(1.95, 5.0, 2.0, 2.0, False, goal)  # as good, and nearer to halves
    assert not is_better(1.0, 5.0, -np.inf, 0.0, False, goal)  # without gain
    assert is_better(1.0, 5.0, -np.inf, 0.0, True, goal)
    assert not is_better(-np.inf, 0.0, -np.inf, 0.0, True, goal)
