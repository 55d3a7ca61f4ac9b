"""Loops over whole soft trees against recursion, least squares and small steps."""

import numpy as np
import pytest

from softwood.compiled import gradient as loop
from softwood.gradient.loops.soft_joint import SoftDescent, SoftNodes, SoftScratch
from softwood.gradient.loops.soft_split import IDENTITY, Rows
from tests.reference.soft import LINKS, Tree, adam, loss, random_targets

links = pytest.mark.parametrize(("link", "q"), LINKS)
sizes = pytest.mark.parametrize("n_leaves", [1, 2, 6])


def scratch(tree, size=2):
    """What is not filled is not a number."""
    (n, q), d = tree.values.shape, tree.gates.shape[1] - 1
    shapes = (d, size), (n, size), (n, size), (n, q, size), (q, size), (q,), (1, size)
    return SoftScratch(*(np.full(shape, np.nan) for shape in shapes))


def nodes(tree):
    return SoftNodes(tree.left, tree.right, tree.gates, tree.values)


def rows(seed, link, q, n=5, d=3):
    rng = np.random.default_rng(seed)
    return Rows(rng.normal(size=(n, d)), random_targets(rng, n, q, link), rng.integers(0, 3, size=n).astype(float))


# ------------------------------------------------------------------ sums


@pytest.mark.tiny
@sizes
@pytest.mark.parametrize("seed", range(3))
def test_normal_equations_are_those_of_least_squares(n_leaves, seed):
    """Their sums, added to what is there; and their solution is nowhere worse than a small step away."""
    tree, data = Tree.random(seed, n_leaves), rows(seed, IDENTITY, 2, n=30)
    leaves = np.flatnonzero(tree.left < 0)
    number = np.full(len(tree.left), -1)
    number[leaves] = np.arange(n_leaves)
    left_side, right_side = np.ones((n_leaves, n_leaves)), np.ones((n_leaves, 2))
    loop.add_normal_equations(data, nodes(tree), number, scratch(tree), left_side, right_side)
    shares = np.array([tree.shares(x)[leaves] for x in data.points])
    errors = data.targets - np.array([tree.output(x) for x in data.points])
    assert left_side == pytest.approx(1.0 + shares.T @ (data.weights[:, None] * shares))
    assert right_side == pytest.approx(1.0 + shares.T @ (data.weights[:, None] * errors))
    best = Tree(tree.left, tree.right, tree.gates, tree.values.copy())
    best.values[leaves] += np.linalg.solve(left_side - 1.0, right_side - 1.0)
    assert best.gradient(*data, IDENTITY)[1][leaves] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.tiny
@sizes
def test_sums_by_node(n_leaves):
    tree, (points, targets, weights) = Tree.random(3, n_leaves), rows(3, IDENTITY, 4)
    mass, sums, squares = np.zeros(len(tree.left)), np.zeros((len(tree.left), 4)), np.zeros((len(tree.left), 4))
    loop.node_sums(Rows(points, targets, weights), nodes(tree), scratch(tree), mass, sums, squares)
    parts = weights[:, None] * np.array([tree.shares(x) for x in points])
    assert mass == pytest.approx(parts.sum(axis=0))
    assert sums == pytest.approx(parts.T @ targets)
    assert squares == pytest.approx(parts.T @ targets**2)


@pytest.mark.tiny
@links
@sizes
def test_loss_is_the_weighted_mean_of_the_rows(link, q, n_leaves):
    tree, (points, targets, weights) = Tree.random(4, n_leaves, q=q), rows(4, link, q)
    found = loop.tree_loss(Rows(points, targets, weights), link, nodes(tree), scratch(tree))
    losses = [loss(tree.output(x), y, link) for x, y in zip(points, targets, strict=True)]
    assert found == pytest.approx(np.average(losses, weights=weights))


# ------------------------------------------------------------------ derivatives


@pytest.mark.tiny
@links
@sizes
@pytest.mark.parametrize("seed", range(2))
def test_derivatives_are_those_of_small_steps(link, q, n_leaves, seed):
    tree, data = Tree.random(seed, n_leaves, q=q), rows(seed, link, q)
    by_gates, by_values = np.zeros_like(tree.gates), np.zeros_like(tree.values)
    order = np.array([4, 1, 0, 2, 3])
    loop.fill_gradient(data, order, 1, 3, link, nodes(tree), 0.0, scratch(tree, 4), by_gates, by_values)
    expected = [part / 3 for part in tree.gradient(*(column[order[1:4]] for column in data), link)]
    assert by_gates == pytest.approx(expected[0], abs=1e-8)
    assert by_values == pytest.approx(expected[1], abs=1e-8)
    assert not by_gates[tree.left < 0].any()
    assert not by_values[tree.left >= 0].any()


# ------------------------------------------------------------------ Adam


class Pass:
    """Passes of Adam over the same tree and rows."""

    def __init__(self, tree, points, targets, weights, link):
        self.tree, self.data, self.link = tree, Rows(points, targets, weights), link
        self.gates, self.values = tree.gates.copy(), tree.values.copy()
        self.descent = SoftDescent(*np.zeros((3, *tree.gates.shape)), *np.zeros((3, *tree.values.shape)))
        self.n_steps = 0

    def run(self, order, batch, *, rate=0.1, l1=0.0, l2=0.0):
        self.n_steps = loop.refine_pass(
            self.data, np.array(order), batch, self.link,
            SoftNodes(self.tree.left, self.tree.right, self.gates, self.values), rate, l1, l2, self.n_steps,
            scratch(self.tree, batch), self.descent,
        )  # fmt: skip
        return self


@pytest.mark.tiny
@links
def test_one_batch_is_one_step_of_adam(link, q):
    tree, data = Tree.random(0, q=q), rows(0, link, q)
    by_gates, by_values = tree.gradient(*data, link)
    one = Pass(tree, *data, link).run([3, 1, 0, 4, 2], 32)
    # eps of Adam counts where the gradient is 0 but for the rounding of small steps
    assert one.gates == pytest.approx(adam(tree.gates, [by_gates / 5], 0.1), abs=1e-4)
    assert one.values == pytest.approx(adam(tree.values, [by_values / 5], 0.1), abs=1e-4)
    assert one.n_steps == 1


@pytest.mark.tiny
@links
@pytest.mark.parametrize("batch", [1, 2, 5])
def test_batches_and_passes_follow_one_another(link, q, batch):
    tree, data = Tree.random(1, n_leaves=4, q=q), rows(1, link, q)
    found = Pass(tree, *data, link)
    orders = [[4, 2, 0, 1, 3], [0, 1, 2, 3, 4]]
    for order in orders:
        found.run(order, batch, rate=0.02)
    now = Tree(tree.left, tree.right, tree.gates, tree.values)
    gates, values = [], []
    for order in orders:
        for begin in range(0, 5, batch):
            part = order[begin : begin + batch]
            by_gates, by_values = (
                by / len(part) for by in now.gradient(*(column[part] for column in data), link)
            )  # fmt: skip
            gates.append(by_gates)
            values.append(by_values)
            now = Tree(tree.left, tree.right, adam(tree.gates, gates, 0.02), adam(tree.values, values, 0.02))
    assert found.n_steps == len(gates)
    assert found.gates == pytest.approx(now.gates, abs=1e-4)
    assert found.values == pytest.approx(now.values, abs=1e-4)


@pytest.mark.tiny
def test_gradients_are_0_after_a_pass():
    one = Pass(Tree.random(0), *rows(0, IDENTITY, 2), IDENTITY).run(range(5), 2)
    assert not one.descent.by_gates.any()
    assert not one.descent.by_values.any()


@pytest.mark.tiny
@links
def test_penalties_pull_as_far_as_gradients_of_their_size(link, q):
    tree, data = Tree.random(2, q=q), rows(2, link, q)
    free = Pass(tree, *data, link).run(range(5), 5)
    step = 0.1 / (np.abs(tree.gradient(*data, link)[0][:, :-1]) / 5 + 1e-8)
    for l1, l2 in ((0.01, 0.0), (0.0, 0.02), (0.01, 0.02)):
        found = Pass(tree, *data, link).run(range(5), 5, l1=l1, l2=l2)
        w = free.gates[:, :-1]
        expected = np.sign(w) * np.maximum(np.abs(w) - l1 * step, 0.0) / (1.0 + l2 * step)
        inner = tree.left >= 0
        assert found.gates[inner, :-1] == pytest.approx(expected[inner], abs=1e-4)
        assert np.array_equal(found.gates[:, -1], free.gates[:, -1])
        assert np.array_equal(found.values, free.values)


@pytest.mark.tiny
def test_l1_makes_zeros_that_stay_and_l2_shrinks():
    tree, (points, _, _) = Tree.random(5, n_leaves=3, q=1), rows(5, IDENTITY, 1, n=40)
    targets = np.tanh(2 * points[:, :1])  # the first input matters, the others do not
    sizes = {}
    for l1, l2 in ((0.0, 0.0), (0.05, 0.0), (0.0, 0.05)):
        run = Pass(tree, points, targets, np.ones(40), IDENTITY)
        for _ in range(60):
            run.run(range(40), 8, rate=0.03, l1=l1, l2=l2)
        sizes[l1, l2] = np.abs(run.gates[tree.left >= 0, :-1])
    free, sparse, small = sizes.values()
    assert np.count_nonzero(free) == 6
    assert np.count_nonzero(sparse[:, 1:]) <= 1
    assert sparse[:, 0].max() > 0.5
    assert small.sum() < 0.8 * free.sum()
    assert np.count_nonzero(small) == 6


@pytest.mark.tiny
def test_passes_lower_the_loss():
    tree, (points, targets, _) = Tree.random(6, n_leaves=6, q=2), rows(6, IDENTITY, 2, n=30)
    run = Pass(tree, points, targets, np.ones(30), IDENTITY)
    for _ in range(30):
        run.run(range(30), 10, rate=0.05)
    after = Tree(tree.left, tree.right, run.gates, run.values)
    before, now = (t.loss(points, targets, np.ones(30), IDENTITY) for t in (tree, after))
    assert now < 0.8 * before


@pytest.mark.tiny
def test_outputs_of_subtrees_and_sums_of_leaves():
    """From the sides and shares of a batch of rows: rows side by side, as the loops keep them."""
    tree = Tree.random(1, 2, 4)
    space, arrays = scratch(tree, size=5), nodes(tree)
    rng = np.random.default_rng(0)
    space.sides[:, :3] = rng.random((len(tree.left), 3))
    loop.fill_outputs(3, arrays, space)
    shares = np.zeros((len(tree.left), 5))
    shares[0] = 1.0
    expected = np.zeros((len(tree.left), 2, 3))
    for node in range(len(tree.left)):
        if tree.left[node] >= 0:
            shares[tree.left[node], :3] = shares[node, :3] * space.sides[node, :3]
            shares[tree.right[node], :3] = shares[node, :3] * (1.0 - space.sides[node, :3])
    for node in reversed(range(len(tree.left))):
        if tree.left[node] < 0:
            expected[node] = tree.values[node][:, None]
        else:
            side = space.sides[node, :3]
            expected[node] = side * expected[tree.left[node]] + (1.0 - side) * expected[tree.right[node]]
    np.testing.assert_allclose(space.outputs[:, :, :3], expected, rtol=1e-12)
    out = np.full((2, 5), 7.0)
    loop.fill_leaf_sums(3, arrays, shares, out)
    np.testing.assert_allclose(out[:, :3], expected[0], rtol=1e-12)
    assert np.all(out[:, 3:] == 7.0)
