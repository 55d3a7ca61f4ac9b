"""Rows read by the nodes of a tree that was just grown, against the finished tree."""

import numpy as np
import pytest

from softwood.compiled.boosting import read_rows, set_gates
from softwood.kernel.data.binning import bin_features
from softwood.kernel.rounds.finishing import boosted_tree
from softwood.kernel.rounds.held_out import HeldOutRows
from softwood.kernel.rounds.newton import BinnedRows, Boxes, NewtonGrower, NewtonLimits
from softwood.trees.loops.predict import GATE, KernelTrees
from softwood.trees.nodes import KernelShapes
from softwood.trees.sharing import kernel_lists


def grown(width, n=150, n_categories=0, max_leaves=12, seed=0):
    """A tree with missing values, and other rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 3))
    if n_categories:
        X[:, 1] = rng.integers(n_categories, size=2 * n)
    y = np.sin(2 * X[:, 0]) + (X[:, 1] if not n_categories else (X[:, 1] % 3 == 0)) * X[:, 2]
    X[rng.random(X.shape) < 0.05] = np.nan
    bins = bin_features(X[:n], None, 50, None, np.array([0, n_categories, 0]))
    widths = np.array([width, 0.0 if n_categories else width, 0.0])
    grower = NewtonGrower(BinnedRows.of(bins), NewtonLimits(max_leaves=max_leaves, min_mass=3.0, cutoff=0.0))
    sums = np.column_stack([np.ones(n), -y[:n], np.ones(n)])
    return grower.grow(sums, None, np.arange(3), Boxes.of(bins, widths)), bins, X[n:]


@pytest.mark.tiny
@pytest.mark.parametrize("n_categories", [0, 40])
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_rows_are_read_as_by_the_finished_tree(width, n_categories):
    tree, bins, points = grown(width, n_categories=n_categories)
    n = len(tree.nodes)
    box = KernelShapes.box()
    subsets = np.zeros((1, 0), np.uint32) if tree.subsets is None else tree.subsets
    trees = KernelTrees(np.zeros(n, GATE), np.zeros(n), np.zeros(n), np.zeros(n), box.edges, box.cdfs, True, subsets)
    raw = np.ones((len(points), 2), order="F")
    set_gates(tree.nodes, tree.widths, bins.n_categories, *trees[:4])
    finished = boosted_tree(tree)
    for name in ("low", "high", "kernel"):
        np.testing.assert_array_equal(trees.gates[name], finished._gates[name])
    is_inner = finished.children_left >= 0
    for name in ("feature", "left", "right"):
        np.testing.assert_array_equal(trees.gates[name][is_inner], finished._gates[name][is_inner])
    read_rows(points, None, 64, trees, kernel_lists(64, finished.max_depth, 3), tree.values.copy(), raw[:, 1:])
    np.testing.assert_array_equal(raw[:, 0], 1.0)
    np.testing.assert_allclose(raw[:, 1], 1.0 + finished.predict(points)[:, 0], rtol=1e-12)
    cells = np.random.default_rng(1).choice([np.nan, 0.0, 0.2, 2.0], size=points.shape)
    with_cells = np.zeros((len(points), 1))
    read_rows(points, cells, 64, trees, kernel_lists(64, finished.max_depth, 3), tree.values.copy(), with_cells)
    np.testing.assert_allclose(with_cells, finished.predict(points, widths=cells), rtol=1e-12)
    assert not np.allclose(with_cells[:, 0], raw[:, 1] - 1.0)


def test_held_out_rows_take_trees_of_any_size():
    small, large = grown(0.3, max_leaves=4), grown(0.3, n=600, max_leaves=None, seed=1)
    points = small[2]
    rows, raw, expected = HeldOutRows(points, small[1].n_categories), np.zeros((len(points), 1)), 0.0
    for tree, _, _ in (small, large, small):
        rows.add(tree, None, raw, 0)
        expected = expected + boosted_tree(tree).predict(points)
    np.testing.assert_allclose(raw, expected, rtol=1e-12)


def test_half_widths_that_overflow():
    tree, bins, points = grown(1e308)
    raw = np.zeros((len(points), 1))
    HeldOutRows(points, bins.n_categories).add(tree, None, raw, 0)
    np.testing.assert_allclose(raw, boosted_tree(tree).predict(points), rtol=1e-12)
