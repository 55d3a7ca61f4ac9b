"""Loops of budding trees against a reference implementation and finite differences."""

from dataclasses import replace

import numpy as np
import pytest

from softwood.compiled import gradient as loop
from softwood.gradient.loops.budding import BuddingAdam, BuddingGradient, BuddingNodes, BuddingScratch
from softwood.gradient.loops.soft_split import IDENTITY, Rows
from tests.reference.one_stage import Budding
from tests.reference.soft import LINKS, adam, loss, random_targets, sigmoid

links = pytest.mark.parametrize(("link", "q"), LINKS)
seeds = pytest.mark.parametrize("seed", range(5))


def rows(seed, link, q, n=4, d=2):
    rng = np.random.default_rng(seed)
    return Rows(rng.normal(size=(n, d)), random_targets(rng, n, q, link), rng.integers(1, 4, size=n).astype(float))


def nodes(tree):
    living, awake = tree.alive()
    return BuddingNodes(tree.gates, tree.values, tree.buds, awake, living)


def scratch(tree):
    """What is not filled is not a number."""
    sides, outputs = np.full(len(tree.gates), np.nan), np.full_like(tree.values, np.nan)
    return BuddingScratch(sides, outputs, outputs.copy(), np.full(outputs.shape[1], np.nan))


def empty_gradient(tree):
    return BuddingGradient(np.zeros_like(tree.gates), np.zeros_like(tree.values), np.zeros_like(tree.buds))


BATCH = np.array([3, 1, 0, 2]), 1, 4


def gradient(tree, data, link):
    """That of the batch."""
    found = empty_gradient(tree)
    loop.add_budding_gradient(data, *BATCH, link, nodes(tree), scratch(tree), found)
    return found


def expected_gradient(tree, data, link):
    order, begin, end = BATCH
    batch = [column[order[begin:end]] for column in data]
    return [part / (end - begin) for part in tree.gradient(*batch, link)]


@pytest.mark.tiny
@seeds
@pytest.mark.parametrize("depth", [1, 3])
def test_outputs_are_those_of_the_recursion(seed, depth):
    tree = Budding.random(seed, depth)
    points, _, _ = rows(seed, IDENTITY, 2)
    out = np.empty((4, 2))
    loop.budding_outputs(points, nodes(tree), scratch(tree), out)
    assert out == pytest.approx(np.array([tree.response(x) for x in points]))


@pytest.mark.tiny
@seeds
def test_every_living_node_responds_and_no_other(seed):
    tree, (points, _, _) = Budding.random(seed), rows(seed, IDENTITY, 2)
    living, awake = tree.alive()
    for i, x in enumerate(points):
        sides, outputs, _, _ = work = scratch(tree)
        loop.respond(points, i, nodes(tree), work)
        assert outputs[living] == pytest.approx(np.array([tree.response(x, node) for node in living]))
        assert np.isnan(np.delete(outputs, living, axis=0)).all()
        assert sides[awake] == pytest.approx(sigmoid(tree.gates[awake, :-1] @ x + tree.gates[awake, -1]))
        assert np.isnan(sides[~awake]).all()


@pytest.mark.tiny
@links
@seeds
def test_the_gradient_is_that_of_small_steps(link, q, seed):
    """Also by the buds of sleeping nodes, which are 0 and whose children sleep."""
    tree, data = Budding.random(seed, depth=2, q=q), rows(seed, link, q)
    found, expected = gradient(tree, data, link), expected_gradient(tree, data, link)
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, abs=1e-7)


@pytest.mark.tiny
@links
def test_sleeping_nodes_tell_what_a_bud_would_bring(link, q):
    tree, data = Budding.random(0, depth=2, q=q), rows(3, link, q)
    tree.buds[:] = [1.0, 0.0, 0.4]
    living, awake = tree.alive()
    assert living.tolist() == [0, 1, 2, 5, 6]
    assert awake.tolist() == [True, False, True]
    by_gates, by_values, by_buds = gradient(tree, data, link)
    assert by_buds[1] == pytest.approx(expected_gradient(tree, data, link)[2][1], abs=1e-7)
    assert abs(by_buds[1]) > 1e-6
    assert not by_gates[1].any()
    assert not by_values[[3, 4]].any()


class Pass:
    def __init__(self, tree, data, link):
        self.tree, self.data, self.link = replace(tree), data, link
        self.gates, self.values, self.buds = tree.gates.copy(), tree.values.copy(), tree.buds.copy()
        self.living, self.awake = tree.alive()
        self.steps = np.zeros((2, len(tree.values)), np.int64)
        self.gradient = empty_gradient(tree)
        self.adam = BuddingAdam(*np.zeros((2, *tree.gates.shape)), *np.zeros((2, *tree.values.shape)), self.steps)

    def now(self):
        return Budding(self.gates, self.values, self.buds)

    def run(self, *, batch=2, rate=0.05, bud_learning_rate=0.1, cost=0.0):
        tree = BuddingNodes(self.gates, self.values, self.buds, self.awake, self.living)
        loop.budding_pass(
            self.data, np.arange(len(self.data.points)), batch, self.link, tree, rate, bud_learning_rate, cost,
            scratch(self.tree), self.gradient, self.adam,
        )  # fmt: skip
        return self


@pytest.mark.tiny
@links
@seeds
def test_one_batch_is_one_step(link, q, seed):
    tree, data = Budding.random(seed, depth=2, q=q), rows(seed, link, q)
    by_gates, by_values, by_buds = (part / 4 for part in tree.gradient(*data, link))
    run = Pass(tree, data, link).run(batch=4, cost=0.01)
    alive = run.living
    inner = alive[alive < 3]
    assert run.gates[run.awake] == pytest.approx(adam(tree.gates, [by_gates], 0.05)[run.awake], abs=1e-4)
    assert np.array_equal(run.gates[~run.awake], tree.gates[~run.awake])
    assert run.values[alive] == pytest.approx(adam(tree.values, [by_values], 0.05)[alive], abs=1e-4)
    expected = np.clip(tree.buds - 0.1 * (by_buds + 0.01), 0.0, 1.0)
    assert run.buds[inner] == pytest.approx(expected[inner], abs=1e-8)
    assert all(not part.any() for part in run.gradient)


@pytest.mark.tiny
def test_a_gate_that_wakes_late_takes_steps_of_its_own_age():
    tree, data = Budding.random(1, depth=2, q=1), rows(1, IDENTITY, 1)
    tree.buds[:] = [1.0, 0.0, 1.0]
    run = Pass(tree, data, IDENTITY)
    for _ in range(300):
        run.run(batch=4, rate=1e-3, bud_learning_rate=1e-9)
    assert np.array_equal(run.gates[1], tree.gates[1])
    run.buds[1] = 0.5
    run.living, run.awake = run.now().alive()
    run.run(batch=4, rate=1e-3, bud_learning_rate=1e-9)
    assert np.abs(run.gates[1] - tree.gates[1]) == pytest.approx(np.full(3, 1e-3), rel=1e-3)
    assert run.steps[0, 1] == 301
    assert run.steps[1, :3].tolist() == [301, 1, 301]


@pytest.mark.tiny
@links
def test_passes_lower_the_loss(link, q):
    tree, data = Budding.random(2, q=q), rows(2, link, q, n=12)
    run = Pass(tree, data, link)

    def mean():
        now = run.now()
        losses = [loss(now.response(x), y, link) for x, y, _ in zip(*data, strict=True)]
        return np.average(losses, weights=data[2])

    before = mean()
    for _ in range(15):
        run.run(batch=4)
        run.living, run.awake = run.now().alive()
    assert mean() < 0.95 * before


@pytest.mark.tiny
def test_dear_buds_are_given_up():
    run = Pass(Budding.random(3, q=1), rows(3, IDENTITY, 1), IDENTITY)
    run.run(cost=1e6)
    assert not run.buds[run.living[run.living < 7]].any()
