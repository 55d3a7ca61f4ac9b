"""Loops of one-stage trees against reference implementations and finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled import gradient as loop
from softwood.gradient.loops.one_stage import (
    GUMBEL,
    JOINT,
    PROXIMAL,
    OneStageDescent,
    OneStageNodes,
    OneStagePace,
    OneStageScratch,
)
from softwood.gradient.loops.soft_split import Rows
from tests.reference.one_stage import Staged, noise, other
from tests.reference.soft import adam, sigmoid, slope

seeds = pytest.mark.parametrize("seed", range(4))
cases = st.builds(
    Staged.random, st.integers(0, 10**6), depth=st.integers(1, 4), d=st.integers(1, 3), q=st.integers(1, 3),
    n=st.integers(1, 20),
)  # fmt: skip


def rows_of(tree):
    return Rows(tree.points, tree.targets, tree.weights)


def nodes(tree):
    """The tree as the loops take it, with mass and sums by `refresh`."""
    n_nodes = 2 * tree.n_inner + 1
    bottom, mass, sums = np.full(len(tree.points), -1), np.ones(n_nodes), np.ones((n_nodes, tree.targets.shape[1]))
    loop.refresh(rows_of(tree), tree.gates, bottom, mass, sums)
    return OneStageNodes(tree.gates, tree.shape, mass, sums, tree.prior)


def scratch(tree):
    """What is not filled is not a number."""
    depth, q = int(np.log2(tree.n_inner + 1)), tree.targets.shape[1]
    return OneStageScratch(
        np.full(depth, -1), np.full(depth, np.nan), np.full((depth + 1, q), np.nan), np.full((1, q), np.nan)
    )  # fmt: skip


def batch_of(tree):
    """An order of the rows, and where a batch in it begins and ends."""
    n = len(tree.points)
    return np.arange(n)[::-1].copy(), n // 3, n - n // 4


def gate_gradient(tree, seed=0):
    """By the batch: gradient, gates on the paths, and sum of the losses."""
    gradient, touched = np.zeros_like(tree.gates), np.zeros(tree.n_inner, dtype=bool)
    found = loop.add_gate_gradient(
        rows_of(tree), *batch_of(tree), nodes(tree), np.uint64(seed), scratch(tree), gradient, touched
    )
    return gradient, touched, found


def expected_gate_gradient(tree, seed=0):
    order, begin, end = batch_of(tree)
    gradient, total = np.zeros_like(tree.gates), 0.0
    for k in range(begin, end):
        i = order[k]
        part, loss = tree.gate_gradient(tree.points[i], tree.targets[i], other(seed, k + 2) if seed else None)
        gradient += tree.weights[i] * part / (end - begin)
        total += tree.weights[i] * loss
    return gradient, total


def shape_gradient(tree):
    out = np.zeros(tree.n_inner)
    loop.add_architecture_gradient(rows_of(tree), *batch_of(tree), nodes(tree), scratch(tree), out)
    return out


def expected_shape_gradient(tree):
    order, begin, end = batch_of(tree)
    parts = [tree.weights[i] * tree.shape_gradient(tree.points[i], tree.targets[i]) for i in order[begin:end]]
    return sum(parts) / (end - begin)


# ------------------------------------------------------------------ paths


@pytest.mark.tiny
@given(cases)
def test_gates_and_paths_of_signs(tree):
    for i, x in enumerate(tree.points):
        for node in range(tree.n_inner):
            assert loop.gate_input(tree.points, i, tree.gates, node) == pytest.approx(tree.z(node, x))
        assert loop.find_bottom(tree.points, i, tree.gates) == tree.path(x)[-1]


@pytest.mark.tiny
@given(cases)
def test_a_row_is_added_to_all_nodes_of_its_path(tree):
    n_nodes, q = 2 * tree.n_inner + 1, tree.targets.shape[1]
    mass, sums = np.ones(n_nodes), np.ones((n_nodes, q))
    expected = np.ones(n_nodes), np.ones((n_nodes, q))
    for i, x in enumerate(tree.points):
        path = tree.path(x)
        loop._add_path(i, path[-1], -1.5, tree.targets, mass, sums)
        expected[0][path] += -1.5
        expected[1][path] += -1.5 * tree.targets[i]
    assert mass == pytest.approx(expected[0])
    assert sums == pytest.approx(expected[1])


@pytest.mark.tiny
@given(cases, st.integers(0, 2**60))
def test_a_path_from_a_node_ends_with_the_value_of_its_leaf(tree, seed):
    values = tree.values()
    for i, x in enumerate(tree.points):
        for start in (0, min(2, tree.n_inner)):
            found = np.full((3, values.shape[1]), np.nan)
            found[1] = values[start]
            leaf = loop.follow(tree.points, i, start, nodes(tree), np.uint64(seed), found, 1)
            assert leaf == tree.leaf(x, start, seed)
            assert found[1] == pytest.approx(values[leaf])
            assert np.isnan(found[[0, 2]]).all()


# ------------------------------------------------------------------ values in closed form


@pytest.mark.tiny
@given(cases)
def test_sums_are_those_of_the_rows_that_pass(tree):
    n_nodes = 2 * tree.n_inner + 1
    bottom, mass, sums = np.full(len(tree.points), -1), np.ones(n_nodes), np.ones((n_nodes, tree.targets.shape[1]))
    loop.refresh(rows_of(tree), tree.gates, bottom, mass, sums)
    expected = tree.sums()
    assert mass == pytest.approx(expected[0])
    assert sums == pytest.approx(expected[1])
    assert np.array_equal(bottom, expected[2])


@pytest.mark.tiny
@given(cases)
def test_leaves_and_values(tree):
    leaves, out = np.empty(len(tree.points), np.int64), np.empty_like(tree.targets)
    loop.leaves_and_values(tree.points, nodes(tree), leaves, out)
    assert np.array_equal(leaves, [tree.leaf(x) for x in tree.points])
    assert out == pytest.approx(tree.values()[leaves])


@pytest.mark.tiny
@seeds
def test_an_empty_node_has_the_value_of_its_parent_and_a_full_one_nearly_its_mean(seed):
    tree = replace(Staged.random(seed, depth=2), shape=np.ones(3, dtype=bool), prior=1e-9)
    tree.gates[:] = 0.0
    tree.gates[0, 0] = 1.0  # by the first column; below all go right
    mass, sums, _ = tree.sums()
    values = np.full((3, 2), np.nan)
    value = values[1]
    loop.root_value(mass, sums, values, 1)
    assert value == pytest.approx(np.average(tree.targets, axis=0, weights=tree.weights))
    left = tree.points[:, 0] > 0
    loop.step_value(1, mass, sums, tree.prior, values, 1)
    assert value == pytest.approx(np.average(tree.targets[left], axis=0, weights=tree.weights[left]))
    before = value.copy()
    loop.step_value(3, mass, sums, tree.prior, values, 1)  # no row is here
    assert value == pytest.approx(before)
    assert np.isnan(values[[0, 2]]).all()


@pytest.mark.tiny
def test_what_rounding_leaves_of_a_node_does_not_count():
    """Rows that came and went leave a little mass and sum behind, which a small prior would blow up."""
    mass, sums, value = np.array([3.0, -4e-17, 3.0]), np.array([[3.0], [5e-17], [3.0]]), np.ones((1, 1))
    loop.step_value(1, mass, sums, 1e-30, value, 0)
    assert value == pytest.approx(1.0)


# ------------------------------------------------------------------ the gradient of gates


@pytest.mark.tiny
@given(cases, st.integers(1, 2**60))
def test_the_gradient_goes_straight_through_the_sampled_path(tree, seed):
    expected, loss = expected_gate_gradient(tree, seed)
    gradient, touched, found = gate_gradient(tree, seed)
    assert gradient == pytest.approx(expected, abs=1e-12)
    assert found == pytest.approx(loss)
    assert touched[0]
    assert not gradient[~touched].any()


@pytest.mark.tiny
@seeds
def test_the_gradient_along_the_signs(seed):
    tree = Staged.random(seed)
    expected, loss = expected_gate_gradient(tree)
    gradient, _, found = gate_gradient(tree)
    assert gradient == pytest.approx(expected, abs=1e-12)
    assert found == pytest.approx(loss)


def one_gate(z, low, high, y):
    """A tree of one gate with input z at its first row; its left child has the value `high`, the other one `low`."""
    tree = Staged(
        gates=np.array([[0.0, z]]), shape=np.ones(1, dtype=bool), points=np.zeros((1, 1)), targets=np.array([[y]]),
        weights=np.ones(1), prior=1e-12,
    )  # fmt: skip
    mass, sums = np.array([2.0, 1.0, 1.0]), np.array([[low + high], [high], [low]])
    return tree, OneStageNodes(tree.gates, tree.shape, mass, sums, tree.prior)


def sampled_gradients(z, low, high, y, n):
    """Derivative by the bias and the loss, for `n` samples."""
    tree, gate = one_gate(z, low, high, y)
    found, losses = np.empty(n), np.empty(n)
    work, touched = scratch(tree), np.zeros(1, dtype=bool)
    for k in range(n):
        gradient = np.zeros((1, 2))
        losses[k] = loop.add_gate_gradient(
            rows_of(tree), np.zeros(1, np.int64), 0, 1, gate, other(7, k), work, gradient, touched
        )
        found[k] = gradient[0, 1]
    return found, losses


def expected_loss(z, low, high, y):
    return sigmoid(z) * 0.5 * (high - y) ** 2 + (1 - sigmoid(z)) * 0.5 * (low - y) ** 2


GATES = [(0.0, 0.2, 0.9, 1.0), (1.0, 0.2, 0.9, 1.0), (-2.0, 0.2, 0.9, 0.0), (0.7, 0.6, 0.1, 1.0), (-0.5, 0.6, 0.1, 0.0)]


@pytest.mark.parametrize(("z", "low", "high", "y"), GATES)
def test_the_mean_of_sampled_losses_is_the_expected_loss(z, low, high, y):
    _, losses = sampled_gradients(z, low, high, y, 20_000)
    assert losses.mean() == pytest.approx(expected_loss(z, low, high, y), abs=4 * losses.std() / np.sqrt(20_000))


@pytest.mark.parametrize(("z", "low", "high", "y"), GATES)
def test_the_mean_of_sampled_gradients(z, low, high, y):
    """Straight through is biased: its mean is that of the formula, and has the sign of the expected loss's slope."""
    found, _ = sampled_gradients(z, low, high, y, 20_000)
    error = found.std() / np.sqrt(len(found))
    e = np.linspace(-40, 40, 400_001)
    density, s = sigmoid(e) * sigmoid(-e), sigmoid(z + e)
    answer = np.where(z + e > 0, high, low)
    mean = np.trapezoid(density * (answer - y) * (high - low) * s * (1 - s), e)
    assert found.mean() == pytest.approx(mean, abs=4 * error)
    by_bias = slope(lambda at: expected_loss(at[0], low, high, y), np.array([z]))[0]
    assert abs(found.mean()) > 4 * error
    assert np.sign(found.mean()) == np.sign(by_bias)
    assert 0.2 < found.mean() / by_bias < 1.1
    if z == 0.0:  # both sides alike: the mean slope of a sigmoid of logistic noise is 1 / 6, that of the sigmoid 1 / 4
        assert found.mean() == pytest.approx(2 / 3 * by_bias, abs=4 * error)


@pytest.mark.tiny
def test_noise_is_logistic():
    draws = np.array([noise(other(3, k)) for k in range(2000)])
    assert abs(draws.mean()) < 4 * draws.std() / np.sqrt(2000)
    assert np.mean(draws < 1.0) == pytest.approx(sigmoid(1.0), abs=0.04)
    assert np.mean(draws < -2.0) == pytest.approx(sigmoid(-2.0), abs=0.03)
    assert all(loop._logistic_noise(other(3, k)) == pytest.approx(draws[k]) for k in range(20))
    assert np.isfinite(loop._logistic_noise(np.uint64(0)))
    assert np.isfinite(loop._logistic_noise(np.uint64(2**64 - 1)))


# ------------------------------------------------------------------ the architecture


@pytest.mark.tiny
@given(cases)
def test_the_gradient_of_the_shape_is_that_of_small_steps(tree):
    assert shape_gradient(tree) == pytest.approx(expected_shape_gradient(tree), abs=1e-8)


@pytest.mark.tiny
@seeds
def test_the_gradient_of_the_shape_with_a_pruned_root(seed):
    tree = Staged.random(seed)
    tree.shape[0] = False
    expected = expected_shape_gradient(tree)
    assert shape_gradient(tree) == pytest.approx(expected, abs=1e-8)
    assert not expected[1:].any()


@pytest.mark.tiny
def test_discretise():
    gamma, shape = np.array([0.0, 0.5, 0.49, 1.0, 0.0]), np.zeros(5, dtype=bool)
    for mode in (PROXIMAL, JOINT):
        loop.discretise(mode, gamma, np.uint64(1), shape)
        assert shape.tolist() == [True, True, False, True, False]


@pytest.mark.tiny
def test_sampled_shapes():
    gamma = np.array([0.0, 0.5, 0.2, 1.0, 0.0, 0.9])
    shapes = np.empty((1000, 6), dtype=bool)
    for k in range(1000):
        loop.discretise(GUMBEL, gamma, other(5, k), shapes[k])
    assert shapes.mean(axis=0) == pytest.approx([1.0, 0.5, 0.2, 1.0, 0.0, 0.9], abs=0.06)
    assert np.abs(np.corrcoef(shapes[:, [1, 2, 5]].T) - np.eye(3)).max() < 0.15
    for node, chance in ((1, 0.5), (2, 0.2), (5, 0.9)):
        odds = np.log(chance / (1 - chance))
        assert shapes[:20, node].tolist() == [odds + noise(other(other(5, k), node)) > 0 for k in range(20)]


# ------------------------------------------------------------------ passes


class Pass:
    """Passes over the rows of a tree, which also validate unless others are given."""

    def __init__(self, tree, validation=None, mode=PROXIMAL, gamma=None):
        self.tree, self.mode = tree, mode
        self.validation = rows_of(validation or tree)
        self.gates, self.n_inner = tree.gates.copy(), tree.n_inner
        self.gamma = np.ones(self.n_inner) if gamma is None else np.array(gamma, dtype=float)
        self.shape = np.ones(self.n_inner, dtype=bool)
        self.bottom = np.full(len(tree.points), -1)
        self.mass, self.sums = np.zeros(2 * self.n_inner + 1), np.zeros((2 * self.n_inner + 1, tree.targets.shape[1]))
        self.descent = OneStageDescent(
            np.zeros_like(self.gates), np.zeros_like(self.gates), np.zeros(self.n_inner, np.int64),
            np.zeros_like(self.gates), np.zeros(self.n_inner, dtype=bool), np.zeros(self.n_inner),
        )  # fmt: skip

    def nodes(self):
        return OneStageNodes(self.gates, self.shape, self.mass, self.sums, self.tree.prior)

    def refresh(self):
        loop.refresh(rows_of(self.tree), self.gates, self.bottom, self.mass, self.sums)
        return self

    def run(self, *, batch=4, rate=0.1, l1=0.0, l2=0.0, gamma_rate=0.0, cost=0.0, seed=1):
        n, m = len(self.tree.points), len(self.validation.points)
        self.loss = loop.train_pass(
            rows_of(self.tree), np.arange(n), self.validation, np.arange(m), self.mode, self.nodes(), self.gamma,
            self.bottom, OneStagePace(batch, rate, l1, l2, gamma_rate, cost), np.uint64(seed), scratch(self.tree),
            self.descent,
        )  # fmt: skip
        return self


@pytest.mark.tiny
@given(cases)
def test_sums_that_follow_the_rows_are_those_found_anew(tree):
    run = Pass(tree).run(rate=0.0)  # paths are unknown before, and gates stay
    mass, sums, bottom = tree.sums()
    assert run.mass == pytest.approx(mass)
    assert run.sums == pytest.approx(sums, abs=1e-12)
    assert np.array_equal(run.bottom, bottom)
    run.gates[:] = Staged.random(1, int(np.log2(tree.n_inner + 1)), tree.points.shape[1]).gates
    run.run(rate=0.0)  # all gates are others: rows leave their old paths
    mass, sums, bottom = replace(tree, gates=run.gates).sums()
    assert run.mass == pytest.approx(mass, abs=1e-12)
    assert run.sums == pytest.approx(sums, abs=1e-12)
    assert np.array_equal(run.bottom, bottom)


@pytest.mark.tiny
@seeds
def test_sums_are_always_those_of_the_paths_that_are_known(seed):
    tree = Staged.random(seed)
    run = Pass(tree).refresh()
    for number in range(3):
        run.run(rate=0.3, seed=number + 1)
    mass = np.zeros_like(run.mass)
    for last, w in zip(run.bottom, tree.weights, strict=True):
        while last >= 0:
            mass[last] += w
            last = (last - 1) // 2 if last else -1
    assert run.mass == pytest.approx(mass, abs=1e-12)


@pytest.mark.tiny
@seeds
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.0), (0.01, 0.0), (0.0, 0.02), (0.01, 0.02)])
def test_one_batch_is_one_step_of_adam_for_the_gates_on_the_paths(seed, l1, l2):
    tree = replace(Staged.random(seed, n=6), shape=np.ones(7, dtype=bool))
    run = Pass(tree).run(batch=6, l1=l1, l2=l2, seed=9)
    batch_seed = other(9, 1)
    rows = range(6)
    found = [tree.gate_gradient(tree.points[i], tree.targets[i], other(batch_seed, i + 2)) for i in rows]
    gradient = sum(w * g for w, (g, _) in zip(tree.weights, found, strict=True)) / 6
    w = adam(tree.gates, [gradient], 0.1)
    step = 0.1 / (np.abs(gradient[:, :-1]) + 1e-8)
    drawn = np.sign(w[:, :-1]) * np.maximum(np.abs(w[:, :-1]) - l1 * step, 0.0)
    w[:, :-1] = drawn / (1 + l2 * step)
    first, second, steps, left_over, marks, _ = run.descent
    touched = steps == 1
    assert touched[0]
    assert not gradient[~touched].any()
    assert run.gates[touched] == pytest.approx(w[touched], abs=1e-6)
    assert np.array_equal(run.gates[~touched], tree.gates[~touched])
    assert run.loss == pytest.approx(np.mean(tree.weights * [loss for _, loss in found]))
    assert first[touched] == pytest.approx(0.1 * gradient[touched])
    assert second[touched] == pytest.approx(0.001 * gradient[touched] ** 2)
    assert not left_over.any()
    assert not marks.any()


@pytest.mark.tiny
@seeds
@pytest.mark.parametrize("mode", [PROXIMAL, JOINT])
def test_a_step_on_the_architecture(seed, mode):
    tree, rows = Staged.random(seed, n=5), Staged.random(seed + 100, n=5)
    gamma = np.where(tree.shape, 0.9, 0.3)
    run = Pass(tree, rows, mode, gamma)
    run.run(batch=5, rate=0.0, gamma_rate=0.01, cost=0.07)
    judges = tree if mode == JOINT else rows
    gradients = [tree.shape_gradient(x, y) for x, y in zip(judges.points, judges.targets, strict=True)]
    gradient = judges.weights @ np.array(gradients) / 5
    expected = np.clip(gamma - 0.01 * (gradient + 0.07 * tree.shape), 0.0, 1.0)
    expected[0] = gamma[0]
    assert run.gamma == pytest.approx(expected, abs=1e-9)
    assert np.array_equal(run.shape, tree.shape)
    assert not run.descent.by_architecture[1:].any()


@pytest.mark.tiny
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_fewer_validation_rows_go_round(seed):
    tree, rows = Staged.random(seed, n=7), Staged.random(seed + 5, n=3)
    gamma = np.where(tree.shape, 0.9, 0.3)
    run = Pass(tree, rows, gamma=gamma)
    run.run(batch=7, rate=0.0, gamma_rate=0.01)
    gradient = np.array([tree.shape_gradient(x, y) for x, y in zip(rows.points, rows.targets, strict=True)])
    visits = rows.weights * [3, 2, 2]
    expected = np.clip(gamma - 0.01 * visits @ gradient / 7, 0.0, 1.0)
    assert run.gamma[1:] == pytest.approx(expected[1:], abs=1e-9)
    assert np.abs(expected[1:] - gamma[1:]).max() > 1e-4


def stairs():
    """Depth 2: the first column is divided at 0 and then at ±1, and the target needs all of it."""
    x = np.linspace(-2, 2, 40)
    gates = np.array([[1.0, 0.0], [1.0, -1.0], [1.0, 1.0]])
    targets = np.where(x > 1, 3.0, np.where(x > 0, 1.0, np.where(x > -1, -1.0, -3.0)))[:, None]
    return Staged(gates, np.ones(3, dtype=bool), x[:, None], targets, np.ones(40))


@pytest.mark.tiny
@pytest.mark.parametrize("mode", [PROXIMAL, JOINT, GUMBEL])
def test_a_pruned_node_buds_again_where_its_split_helps(mode):
    run = Pass(stairs(), mode=mode, gamma=[1.0, 0.2, 1.0]).refresh()
    for number in range(10):
        run.run(rate=0.0, gamma_rate=0.2, cost=0.001, seed=number + 1)
    assert run.gamma[1] > 0.5
    assert run.gamma[2] > 0.5
    loop.discretise(PROXIMAL, run.gamma, np.uint64(0), run.shape)
    assert run.shape.all()


@pytest.mark.tiny
def test_what_is_below_a_pruned_node_counts():
    """A node whose own children say nothing, but theirs do: the gradient at the node sees all that lies below."""
    x = np.array([[a, b] for a in (-1.0, 1.0) for b in (-1.0, 1.0)] * 5)
    y = x[:, :1] * x[:, 1:]
    gates = np.zeros((7, 3))
    gates[0] = [0.0, 0.0, -1.0]  # all go right
    gates[2] = [1.0, 0.0, 0.0]
    gates[[5, 6]] = [0.0, 1.0, 0.0]
    tree = Staged(gates, np.array([True, True, False, True, True, True, True]), x, y, np.ones(20), prior=1e-9)
    run = Pass(tree, gamma=[1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0]).refresh()
    run.run(rate=0.0, gamma_rate=0.3, cost=0.0)
    assert run.gamma[2] > 0.5
    blind = Pass(tree, gamma=[1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0]).refresh()
    blind.run(rate=0.0, gamma_rate=0.3, cost=0.0)
    assert blind.gamma[2] == pytest.approx(0.0)


@pytest.mark.tiny
@seeds
@pytest.mark.parametrize("mode", [PROXIMAL, JOINT, GUMBEL])
def test_the_root_is_never_pruned(seed, mode):
    run = Pass(Staged.random(seed), mode=mode).refresh()
    for number in range(5):
        run.run(gamma_rate=0.01, cost=1000.0, seed=number + 1)
        assert run.shape[0]
    assert run.gamma[0] == 1.0
    assert run.gamma[1:].max() < 0.5  # all others are
    loop.discretise(PROXIMAL, run.gamma, np.uint64(0), run.shape)
    assert run.shape.tolist() == [True] + [False] * 6


@pytest.mark.tiny
def test_passes_lower_the_loss():
    tree = stairs()
    tree.gates[:, 1] += [0.7, -0.5, 0.5]
    run = Pass(tree).refresh()

    def loss():
        run.refresh()
        leaves, out = np.empty(40, np.int64), np.empty((40, 1))
        loop.leaves_and_values(tree.points, run.nodes(), leaves, out)
        return np.mean((out - tree.targets) ** 2)

    before = loss()
    for number in range(60):
        run.run(rate=0.03, batch=10, seed=number + 1)
    assert loss() < 0.7 * before
