"""Best paths of crisp trees and a pass of descent, against reference implementations and finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from softwood.compiled import gradient as loop
from softwood.compiled.trees import fill_batch, fill_gate_inputs
from softwood.gradient.loops.max_path import LEAST_SHARE, NO_GRADIENT, OTHER, MaxPathDescent, MaxPathScratch
from softwood.gradient.loops.soft_split import Rows
from tests.reference.crisp import Paths, in_order, leaf_logits, leaves_of, random_shape
from tests.reference.soft import slope

cases = st.builds(
    Paths.random, st.integers(0, 10**6), depth=st.integers(1, 4), d=st.integers(1, 3), q=st.integers(1, 4),
    n=st.integers(1, 9),
)  # fmt: skip
seeds = pytest.mark.parametrize("seed", range(4))


def rows_of(tree):
    return Rows(tree.points, tree.targets, tree.weights)


def order_of(splits, n_nodes):
    """Splits and places as the loops take them."""
    ordered = np.array(in_order(splits), dtype=np.int64)
    place = np.full(n_nodes, -1)
    place[ordered] = np.arange(len(ordered))
    return ordered, place


def scratch(tree, size):
    """Scratch space filled with nan, for more rows than the batch has."""
    n_inner, depth, q = len(tree.gates), int(np.log2(len(tree.gates) + 1)), tree.logits.shape[1]
    return MaxPathScratch(
        np.full((tree.points.shape[1], size), np.nan), np.full((n_inner, size), np.nan),
        np.full((n_inner, size), np.nan), np.full((n_inner, q, size), np.nan, np.float32),
        np.full((depth + 1, 2, q, size), np.nan), np.full(q, np.nan),
    )  # fmt: skip


class Batch:
    """The rows of a tree from the second on, in falling order, run through the loops."""

    def __init__(self, tree):
        self.tree, n_nodes = tree, len(tree.logits)
        self.splits, self.place = order_of(tree.splits, n_nodes)
        self.order = np.arange(len(tree.points))[::-1].copy()
        self.begin, self.n = min(1, len(self.order) - 1), max(len(self.order) - 1, 1)
        self.rows = self.order[self.begin :]
        self.scratch = scratch(tree, self.n + 2)
        fill_batch(tree.points, self.order, self.begin, self.n, self.scratch.batch)
        for s, node in enumerate(self.splits):
            fill_gate_inputs(self.scratch.batch, self.n, tree.gates, node, self.scratch.inputs, s)
        loop.fill_best(
            self.scratch.inputs, self.n, self.splits, self.place, tree.logits, self.scratch.best, self.scratch.sides
        )

    def input_gradient(self):
        """Loss, and the derivatives by the inputs."""
        loss = loop.fill_path_gradient(
            rows_of(self.tree), self.order, self.begin, self.n, 1.0 / self.n, self.splits, self.place, self.scratch
        )
        return loss, self.scratch.by_inputs[: len(self.splits), : self.n]


# ------------------------------------------------------------------ logits of leaves


@pytest.mark.tiny
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_logits_of_leaves(seed, depth, q, is_pure):
    rng = np.random.default_rng(seed)
    n_inner = 2**depth - 1
    values = rng.dirichlet(np.full(q, 0.7), size=2 * n_inner + 1)
    splits = random_shape(rng, n_inner)
    ordered, place = order_of(splits, len(values))
    logits = np.full(values.shape, np.nan)
    loop.fill_logits(values, ordered, place, is_pure, logits)
    np.testing.assert_allclose(logits, leaf_logits(values, splits, is_pure, OTHER, LEAST_SHARE))


@pytest.mark.tiny
def test_of_two_leaves_with_one_class_the_weaker_takes_another():
    values = np.array([[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.9, 0.05, 0.05]])
    logits = np.empty((3, 3))
    loop.fill_logits(values, *order_of({0}, 3), True, logits)
    assert (logits == 0.0).tolist() == [[True, False, False], [False, True, False], [True, False, False]]
    nothing_to_take = np.array([[0.6, 0.4], [0.6, 0.4], [0.6, 0.4]])
    logits = np.empty((3, 2))
    loop.fill_logits(nothing_to_take, *order_of({0}, 3), True, logits)
    assert (logits == 0.0).tolist() == [[True, False]] * 3


# ------------------------------------------------------------------ the best paths


@pytest.mark.tiny
@given(cases)
def test_batches_and_inputs(tree):
    batch = Batch(tree)
    assert np.array_equal(batch.scratch.batch[:, : batch.n], tree.points[batch.rows].T)
    assert np.isnan(batch.scratch.batch[:, batch.n :]).all()
    expected = [[tree.z(node, x) for x in tree.points[batch.rows]] for node in batch.splits]
    np.testing.assert_allclose(batch.scratch.inputs[: len(batch.splits), : batch.n], expected, atol=1e-12)


@pytest.mark.tiny
@given(cases)
def test_logits_at_the_root_are_the_largest_over_all_paths(tree):
    batch = Batch(tree)
    expected = np.array([tree.class_logits(x) for x in tree.points[batch.rows]])
    np.testing.assert_allclose(batch.scratch.best[0, 0, :, : batch.n].T, expected, atol=1e-12)


@pytest.mark.tiny
@given(cases)
def test_sides_lead_to_the_best_leaf(tree):
    assume(tree.distance_to_ties() > 1e-9)
    batch = Batch(tree)
    for i, row in enumerate(batch.rows):
        for k in range(tree.logits.shape[1]):
            node = 0
            while batch.place[node] >= 0:
                node = 2 * node + (1 if batch.scratch.sides[batch.place[node], k, i] else 2)
            assert node == tree.best_leaf(tree.points[row], k)


@pytest.mark.tiny
def test_a_tree_without_splits_has_the_logits_of_its_root():
    tree = replace(Paths.random(0), splits=set())
    batch = Batch(tree)
    assert np.array_equal(batch.scratch.best[0, 0, :, : batch.n].T, np.tile(tree.logits[0], (batch.n, 1)))
    loss, _ = batch.input_gradient()
    assert loss == pytest.approx(tree.losses()[batch.rows].mean())


@pytest.mark.tiny
@given(cases)
def test_with_pure_logits_the_largest_class_is_that_of_the_crisp_leaf(tree):
    """The tree that is trained is the tree that predicts."""
    rng = np.random.default_rng(0)
    tree.logits[:] = OTHER
    tree.logits[np.arange(len(tree.logits)), rng.integers(0, tree.logits.shape[1], size=len(tree.logits))] = 0.0
    batch = Batch(tree)
    for i, row in enumerate(batch.rows):
        leaf = tree.crisp_leaf(tree.points[row])
        assert batch.scratch.best[0, 0, tree.logits[leaf].argmax(), i] == 0.0 == batch.scratch.best[0, 0, :, i].max()
        assert tree.cost(leaf, tree.points[row]) == 0.0
        others = [tree.cost(other, tree.points[row]) for other in leaves_of(tree.splits) if other != leaf]
        assert min(others) > 0.0


# ------------------------------------------------------------------ gradients


@pytest.mark.tiny
@given(cases)
def test_loss_and_gradient_by_the_inputs(tree):
    assume(tree.distance_to_ties() > 1e-9)
    batch = Batch(tree)
    loss, found = batch.input_gradient()
    assert loss == pytest.approx(tree.losses()[batch.rows].mean())
    expected = np.array([tree.input_gradient(row)[batch.splits] for row in batch.rows]).T / batch.n
    # parts of the gradient that are as good as 0 are left out
    np.testing.assert_allclose(found, expected, atol=4 * 2 * NO_GRADIENT)


@pytest.mark.tiny
@given(cases)
def test_gradient_by_the_gates_is_that_of_small_steps(tree):
    assume(tree.distance_to_ties() > 1e-3)
    batch = Batch(tree)
    batch.input_gradient()
    found = np.zeros_like(tree.gates)
    for s, node in enumerate(batch.splits):
        loop.fill_gate_gradient(tree.points, batch.order, batch.begin, batch.n, batch.scratch.by_inputs, s, found, node)
    expected = slope(lambda gates: tree.with_gates(gates).losses()[batch.rows].mean(), tree.gates)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(found, tree.gradient(batch.rows), atol=1e-5)


@pytest.mark.tiny
@seeds
def test_gradients_are_bounded_however_far_a_row_is_off(seed):
    tree = Paths.random(seed)
    tree.gates *= 1e6
    _, found = Batch(tree).input_gradient()
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= 2 * tree.weights.max()


# ------------------------------------------------------------------ passes


def run(tree, size, n_passes=1, rate=0.05, l2=0.0):
    """Gates and mean losses after passes in the order of the rows."""
    gates = tree.gates.copy()
    first, second, by_gates = np.zeros((3, *gates.shape))
    descent = MaxPathDescent(first, second, np.zeros(len(gates), np.int64), by_gates)
    splits, place = order_of(tree.splits, len(tree.logits))
    losses = [
        loop.max_path_pass(
            rows_of(tree), np.arange(len(tree.points)), size, gates, splits, place, tree.logits, rate, l2,
            scratch(tree, size), descent,
        )
        for _ in range(n_passes)
    ]  # fmt: skip
    return gates, losses, descent


def slow_run(tree, size, n_passes, rate, l2):
    """Adam by its definition, with the gradients of all paths."""
    gates, m, v, t, losses = tree.gates.copy(), 0.0, 0.0, 0, []
    used = np.isin(np.arange(len(gates)), list(tree.splits))[:, None]
    for _ in range(n_passes):
        total = 0.0
        for begin in range(0, len(tree.points), size):
            rows, now = range(begin, min(begin + size, len(tree.points))), tree.with_gates(gates)
            g, t = now.gradient(rows), t + 1
            g[:, :-1] += l2 * gates[:, :-1]
            total += now.losses()[list(rows)].sum()
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            length = rate / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
            moved = gates - length * m / (1 - 0.9**t)
            gates = np.where(used, moved, gates)
        losses.append(total / len(tree.points))
    return gates, losses


@pytest.mark.tiny
@seeds
@pytest.mark.parametrize(("size", "l2"), [(3, 0.0), (8, 0.02), (20, 0.0)])
def test_passes_are_those_of_the_slow_twin(seed, size, l2):
    tree = Paths.random(seed)
    gates, losses, descent = run(tree, size, n_passes=2, l2=l2)
    expected, expected_losses = slow_run(tree, size, 2, 0.05, l2)
    np.testing.assert_allclose(gates, expected, atol=1e-5)
    assert losses == pytest.approx(expected_losses, abs=1e-5)
    n_steps = 2 * -(-len(tree.points) // size)
    assert descent.steps.tolist() == [n_steps if node in tree.splits else 0 for node in range(len(gates))]
    assert not descent.by_gates.any()


@pytest.mark.tiny
@seeds
def test_passes_lower_the_loss(seed):
    tree = Paths.random(seed, n=20)
    _, losses, _ = run(tree, 20, n_passes=30)
    assert losses[-1] < losses[0]
