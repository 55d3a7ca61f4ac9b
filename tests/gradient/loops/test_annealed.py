"""Mixtures of leaves with gates that get steeper, against reference implementations and finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled import gradient as loop
from softwood.compiled.trees import fill_batch
from softwood.gradient.loops.annealed import AnnealedDescent, AnnealedScratch
from softwood.gradient.loops.soft_split import Rows
from tests.reference.crisp import Mixture
from tests.reference.one_stage import leaf_shares
from tests.reference.soft import slope

cases = st.builds(
    Mixture.random, st.integers(0, 10**6), depth=st.integers(1, 3), d=st.integers(1, 3), q=st.integers(1, 3),
    n=st.integers(1, 8),
)  # fmt: skip
seeds = pytest.mark.parametrize("seed", range(4))


def rows_of(tree):
    return Rows(tree.points, tree.targets, tree.weights)


def scratch(tree, size):
    """Scratch space filled with nan, for more rows than the batch has."""
    n_inner, q = len(tree.gates), tree.values.shape[1]
    shapes = (
        (tree.points.shape[1], size), (n_inner, size), (2 * n_inner + 1, size), (2 * n_inner + 1, q, size),
        (q, size), (1, size),
    )  # fmt: skip
    return AnnealedScratch(*(np.full(shape, np.nan) for shape in shapes))


class Batch:
    """The rows of a tree from the second on, in falling order, run through the loops."""

    def __init__(self, tree):
        self.tree = tree
        self.order = np.arange(len(tree.points))[::-1].copy()
        self.begin, self.n = min(1, len(self.order) - 1), max(len(self.order) - 1, 1)
        self.rows = self.order[self.begin :]
        self.scratch = scratch(tree, self.n + 2)
        batch, sides, shares, outputs, by_output, _ = self.scratch
        fill_batch(tree.points, self.order, self.begin, self.n, batch)
        loop.fill_mixtures(batch, self.n, tree.gates, tree.values, tree.steepness, sides, shares, outputs)
        self.loss = loop.fill_output_gradient(rows_of(tree), self.order, self.begin, self.n, outputs, by_output)

    def gate_gradient(self):
        _, sides, shares, outputs, by_output, by_input = self.scratch
        found = np.full_like(self.tree.gates, np.nan)
        for node in range(len(found)):
            loop.fill_input_gradient(
                node, self.n, self.tree.steepness, sides, shares, outputs, by_output, by_input
            )  # fmt: skip
            loop.fill_gate_gradient(self.tree.points, self.order, self.begin, self.n, by_input, 0, found, node)
        return found


@pytest.mark.tiny
@given(cases)
def test_shares_and_outputs_of_all_nodes(tree):
    batch = Batch(tree)
    n_inner = len(tree.gates)
    for i, row in enumerate(batch.rows):
        x = tree.points[row]
        np.testing.assert_allclose(batch.scratch.shares[n_inner:, i], leaf_shares(tree.gates, x, tree.steepness))
        for node in range(2 * n_inner + 1):
            np.testing.assert_allclose(batch.scratch.outputs[node, :, i], tree.output(x, node), atol=1e-12)
    assert np.isnan(batch.scratch.outputs[:, :, batch.n :]).all()


@pytest.mark.tiny
@given(cases)
def test_loss_and_its_derivative_by_the_output(tree):
    batch = Batch(tree)
    assert batch.loss == pytest.approx(tree.loss(batch.rows) * batch.n)
    errors = [tree.weights[i] * (tree.output(tree.points[i]) - tree.targets[i]) / batch.n for i in batch.rows]
    np.testing.assert_allclose(batch.scratch.by_output[:, : batch.n].T, errors, atol=1e-12)


@pytest.mark.tiny
@given(cases)
def test_gradient_by_the_gates_is_that_of_small_steps(tree):
    batch = Batch(tree)
    expected = slope(lambda gates: replace(tree, gates=gates).loss(batch.rows), tree.gates)
    np.testing.assert_allclose(batch.gate_gradient(), expected, atol=1e-7)


@pytest.mark.tiny
@seeds
def test_steep_gates_of_rows_far_away_do_not_overflow(seed):
    tree = replace(Mixture.random(seed), steepness=1e200)
    batch = Batch(tree)
    assert np.isfinite(batch.gate_gradient()).all()
    x = tree.points[batch.rows[0]]
    node = 0
    while node < len(tree.gates):
        node = 2 * node + (1 if tree.gates[node, :-1] @ x + tree.gates[node, -1] > 0 else 2)
    np.testing.assert_allclose(batch.scratch.outputs[0, :, 0], tree.values[node - len(tree.gates)], atol=1e-9)


# ------------------------------------------------------------------ passes


def run(tree, size, n_passes=1, rate=0.05, l1=0.0, l2=0.0):
    gates, values = tree.gates.copy(), tree.values.copy()
    first, second, by_gates = np.zeros((3, *gates.shape))
    value_first, value_second, by_values = np.zeros((3, *values.shape))
    descent = AnnealedDescent(first, second, value_first, value_second, by_gates, by_values)
    step = 0
    for _ in range(n_passes):
        step = loop.annealed_pass(
            rows_of(tree), np.arange(len(tree.points)), size, gates, values, tree.steepness, rate, l1, l2, step,
            scratch(tree, size), descent,
        )  # fmt: skip
    assert not by_gates.any()
    assert not by_values.any()
    return gates, values, step


class Adam:
    """By its definition, with penalties."""

    def __init__(self, rate, l1=0.0, l2=0.0):
        self.rate, self.l1, self.l2, self.t, self.m, self.v = rate, l1, l2, 0, 0.0, 0.0

    def move(self, parameters, gradient):
        self.t += 1
        self.m, self.v = 0.9 * self.m + 0.1 * gradient, 0.999 * self.v + 0.001 * gradient**2
        length = self.rate / (np.sqrt(self.v / (1 - 0.999**self.t)) + 1e-8)
        moved = parameters - length * self.m / (1 - 0.9**self.t)
        drawn = np.sign(moved) * np.maximum(np.abs(moved) - length * self.l1, 0.0) / (1 + length * self.l2)
        return moved, drawn


@pytest.mark.tiny
@seeds
@pytest.mark.parametrize(("size", "l1", "l2"), [(3, 0.0, 0.0), (7, 0.01, 0.02), (20, 0.0, 0.02)])
def test_passes_are_those_of_the_slow_twin(seed, size, l1, l2):
    tree = Mixture.random(seed)
    gates, values, step = run(tree, size, 2, 0.05, l1, l2)
    now, of_gates, of_values = tree, Adam(0.05, l1, l2), Adam(0.05)
    for begin in [*range(0, 7, size)] * 2:
        rows = range(begin, min(begin + size, 7))
        by_gates = slope(lambda part, at=now, rows=rows: replace(at, gates=part).loss(rows), now.gates)
        by_values = slope(lambda part, at=now, rows=rows: replace(at, values=part).loss(rows), now.values)
        moved, drawn = of_gates.move(now.gates, by_gates)
        drawn[:, -1] = moved[:, -1]
        now = replace(now, gates=drawn, values=of_values.move(now.values, by_values)[0])
    assert step == of_gates.t
    np.testing.assert_allclose(gates, now.gates, atol=1e-5)
    np.testing.assert_allclose(values, now.values, atol=1e-5)


@pytest.mark.tiny
@seeds
def test_passes_lower_the_loss(seed):
    tree = Mixture.random(seed, n=20)
    gates, values, _ = run(tree, 20, n_passes=30)
    assert replace(tree, gates=gates, values=values).loss(range(20)) < 0.9 * tree.loss(range(20))
