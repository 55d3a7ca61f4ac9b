"""Derivatives of a loss by the gates and values of a tree, against plain Python and finite differences."""

from dataclasses import replace

import numpy as np
import pytest

from softwood.compiled.layers import add_leaves, half_width, loss_slope, reach_gates, refine_slopes, refined_sums
from softwood.trees.gate_tables import Structure
from softwood.trees.loops.gate_walk import N_ROOM
from softwood.trees.loops.layout import MISSING_LEFT, N_GATE_NUMBERS, THRESHOLD, WIDTH, LayerTrees
from softwood.trees.loops.refine import LearnedRows, RowSpace
from tests.reference.kernels import SHAPES
from tests.reference.layers import numeric_slopes
from tests.reference.sharing import prediction
from tests.reference.trees import points_with_categories, random_points, random_tree, with_sets

pytestmark = pytest.mark.tiny


class Case:
    """A random tree as the loops take it, and rows."""

    def __init__(self, seed, *, sets, cells, is_class, offset=False, n=6):
        tree = random_tree(seed, n_leaves=7, n_outputs=3, widths=2.0)
        self.tree = with_sets(tree, seed) if sets else tree
        points = points_with_categories(seed, n, 3) if sets else random_points(seed, n, 3, missing=0.15)
        rng = np.random.default_rng(seed)
        targets = rng.dirichlet(np.ones(3), size=n) if is_class else rng.normal(size=(n, 3))
        weights = rng.uniform(0.5, 2.0, size=n)
        self.rows = LearnedRows(points, targets, rng.normal(size=(n if offset else 0, 3)), weights)
        self.cells = np.empty((0, 3))
        if cells:
            self.cells = np.full((n, 3), np.nan)
            self.cells[:, 0] = rng.uniform(1.0, 3.0, size=n)
        self.is_class = is_class
        self.structure = Structure.of(self.tree)
        gates = self.structure.gate_nodes
        self.numbers = np.zeros((len(gates), N_GATE_NUMBERS))
        self.numbers[:, THRESHOLD] = np.nan_to_num(self.tree.threshold[gates])
        self.numbers[:, WIDTH], self.numbers[:, MISSING_LEFT] = self.tree.width[gates], self.tree.missing_left[gates]
        self.value = self.tree.value[self.structure.leaf_nodes].copy()
        self.trees = LayerTrees(
            self.structure.table, self.structure.gates, self.structure.leaves, self.tree.shapes.edges,
            self.tree.shapes.cdfs, self.tree.set_words[gates],
        )  # fmt: skip
        room, row = np.full((len(gates), N_ROOM), np.nan), (np.empty((1, 1, 3)), np.empty((1, 1, 3)))
        self.space = RowSpace(np.empty(len(gates), np.int64), room, *row)

    def sums(self):
        threshold, width = self.tree.threshold.copy(), self.tree.width.copy()
        threshold[self.structure.gate_nodes], width[self.structure.gate_nodes] = self.numbers[:, [THRESHOLD, WIDTH]].T
        tree = replace(self.tree, threshold=threshold, width=np.maximum(width, 0.0))
        value = np.zeros_like(tree.value)
        value[self.structure.leaf_nodes] = self.value
        tree = replace(tree, value=value)
        cells = self.cells if len(self.cells) else [None] * len(self.rows.points)
        rows = zip(self.rows.points, cells, strict=True)
        return np.array([prediction(tree, SHAPES, *row) for row in rows])

    def loss(self):
        out, (_, targets, offset, weights) = self.sums(), self.rows
        out = out + offset if len(offset) else out
        if not self.is_class:
            return float(weights @ (0.5 * (out - targets) ** 2).sum(axis=1))
        return float(weights @ (np.log(np.exp(out).sum(axis=1)) - (out * targets).sum(axis=1)))


@pytest.mark.parametrize("is_class", [False, True])
@pytest.mark.parametrize("cells", [False, True])
@pytest.mark.parametrize("sets", [False, True])
def test_slopes(sets, cells, is_class):
    n_slopes = 0
    for seed in (1, 2):
        case = Case(seed, sets=sets, cells=cells, is_class=is_class, offset=seed == 2)
        by_numbers, by_value = np.zeros_like(case.numbers), np.zeros_like(case.value)
        halves = [
            refine_slopes(
                case.rows, case.cells, *ends, is_class, case.trees, case.numbers, case.value, case.space, by_numbers,
                by_value,
            )
            for ends in ((0, 2), (2, 6))
        ]  # fmt: skip
        assert sum(halves) == pytest.approx(case.loss())
        np.testing.assert_allclose(by_value, numeric_slopes(case.loss, case.value), rtol=0, atol=1e-7)
        expected = numeric_slopes(case.loss, case.numbers)[:, [THRESHOLD, WIDTH]]
        found = by_numbers[:, [THRESHOLD, WIDTH]]
        if cells:  # half-widths of cells stand for those of the gates of this feature
            own = case.trees.table[:, 3] == 0
            found[own, 1] = expected[own, 1] = 0.0
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
        n_slopes += np.count_nonzero(found)
        out = np.empty((6, 3))
        refined_sums(case.rows.points, case.cells, case.trees, case.numbers, case.value, case.space, out)
        np.testing.assert_allclose(out, case.sums(), rtol=0, atol=1e-12)
    assert n_slopes >= 8, "so that the comparison is not one of zeros"


def test_leaves_and_losses_of_one_row():
    case = Case(3, sets=False, cells=True, is_class=True)
    none = case.rows.points[:0]
    n = reach_gates(
        case.rows.points, 1, 0, case.trees, none, case.numbers, case.cells, case.space.nodes, case.space.room
    )
    add_leaves(n, case.trees, case.value, case.space)
    np.testing.assert_allclose(case.space.out[0, 0], case.sums()[1], rtol=0, atol=1e-12)
    gate = int(np.flatnonzero(case.trees.table[:, 3] == 0)[0])
    assert half_width(1, gate, case.trees, case.numbers, case.cells) == case.cells[1, 0]
    assert half_width(1, gate, case.trees, case.numbers, none) == case.numbers[gate, WIDTH]
    out, slope = np.array([[[1000.0, 999.0]]]), np.empty((1, 1, 2))
    loss = loss_slope(np.array([[0.25, 0.75]]), 0, 2.0, True, out, slope)
    assert loss == pytest.approx(2.0 * (np.log1p(np.exp(-1.0)) + 0.75))
    probability = 1 / (1 + np.exp(-1.0))
    assert slope[0, 0] == pytest.approx([2.0 * (probability - 0.25), 2.0 * (0.25 - probability)])
    assert loss_slope(np.array([[1.0, 3.0]]), 0, 2.0, False, np.array([[[2.0, 1.0]]]), slope) == 5.0
    assert slope[0, 0].tolist() == [2.0, -4.0]


@pytest.mark.parametrize("score", [-800.0, -0.7, 0.0, 1.2, 800.0])
def test_a_single_score_is_the_log_odds_of_the_second_class(score):
    one, two, out = np.empty((1, 1, 1)), np.empty((1, 1, 2)), np.array([[[0.0, score]]])
    loss = loss_slope(np.array([[0.3]]), 0, 2.0, True, np.ascontiguousarray(out[:, :, 1:]), one)
    assert loss == pytest.approx(loss_slope(np.array([[0.7, 0.3]]), 0, 2.0, True, out, two))
    assert one[0, 0, 0] == pytest.approx(two[0, 0, 1], abs=1e-15)
