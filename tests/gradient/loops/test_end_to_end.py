"""Loops of end-to-end trees against reference implementations and finite differences; expectation and maximisation."""

import numpy as np
import pytest

from softwood.compiled import gradient as loop
from softwood.gradient import end_to_end
from softwood.gradient.data import LearningSet
from softwood.gradient.loops.end_to_end import EndToEndDescent, EndToEndRows, EndToEndScratch
from tests.reference.one_stage import leaf_shares, log_likelihood
from tests.reference.soft import adam, slope

seeds = pytest.mark.parametrize("seed", range(4))
depths = pytest.mark.parametrize("depth", [1, 3])


def case(seed, depth=2, n=6, d=2):
    """Points, gates, likelihoods and weights."""
    rng = np.random.default_rng(seed)
    n_gates = 2**depth - 1
    return (
        rng.normal(size=(n, d)), rng.normal(size=(n_gates, d + 1)), rng.random((n, n_gates + 1)),
        rng.integers(1, 4, size=n).astype(float),
    )  # fmt: skip


def scratch(gates, size):
    """What is not filled is not a number."""
    n, d = len(gates), gates.shape[1] - 1
    shapes = (d, size), (n, size), (2 * n + 1, size), (2 * n + 1, size), (size,)
    return EndToEndScratch(*(np.full(shape, np.nan) for shape in shapes))


def gradient(rows, order, gates, n_gates, first_gate, steepness):
    """That of the rows of `order` but the first, which is not in the batch."""
    found, n = np.zeros_like(gates), len(order) - 1
    loop.fill_posterior_gradient(
        EndToEndRows(*rows), order, 1, n, gates, n_gates, first_gate, steepness, scratch(gates, n + 1), found
    )
    return found


def expected_gradient(rows, order, gates, steepness):
    points, likelihoods, weights = (column[order[1:]] for column in rows)
    return -slope(lambda g: log_likelihood(g, points, likelihoods, weights, steepness), gates) / len(points)


@pytest.mark.tiny
@seeds
@depths
def test_shares_of_the_nodes(seed, depth):
    points, gates, _, _ = case(seed, depth)
    n, work = len(points), scratch(gates, len(points) + 1)
    loop.leaf_shares(points.T.copy(), n, gates, len(gates), 2.0, work.sides, work.shares)
    for x, shares, sides in zip(points, work.shares.T, work.sides.T, strict=False):
        assert shares[len(gates) :] == pytest.approx(leaf_shares(gates, x, 2.0))
        for node in range(len(gates)):
            assert shares[2 * node + 1] == pytest.approx(shares[node] * sides[node])
            assert shares[2 * node + 1] + shares[2 * node + 2] == pytest.approx(shares[node])
    assert np.isnan(work.shares[:, n:]).all()


@pytest.mark.tiny
@seeds
@depths
@pytest.mark.parametrize("steepness", [1.0, 4.0, 1000.0])
def test_posteriors_add_up_to_one(seed, depth, steepness):
    points, gates, likelihoods, _ = case(seed, depth)
    out = np.empty_like(likelihoods)
    found = loop.posteriors(points, likelihoods, gates, len(gates), steepness, scratch(gates, 4), out)
    np.testing.assert_allclose(out.sum(axis=1), 1.0)
    if steepness < 1000:
        shares = np.array([leaf_shares(gates, x, steepness) for x in points])
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        joint = shares * likelihoods
        assert out == pytest.approx(joint / joint.sum(axis=1, keepdims=True))
        assert found == pytest.approx(log_likelihood(gates, points, likelihoods, np.ones(6), steepness) / 6)
    else:
        assert np.all(np.sort(out, axis=1)[:, -1] > 0.999)  # crisp


@pytest.mark.tiny
def test_nothing_is_divided_by_zero():
    points, gates, likelihoods, weights = case(0)
    out = np.empty_like(likelihoods)
    loop.posteriors(points, np.zeros_like(likelihoods), gates, 3, 1.0, scratch(gates, 4), out)
    assert not out.any()
    gates[0, -1] = 1e4  # no row goes right
    found = gradient((points, likelihoods, weights), np.arange(6), gates, 3, 0, 20.0)
    assert np.isfinite(found).all()
    assert found.any()


@pytest.mark.tiny
@seeds
@depths
@pytest.mark.parametrize("steepness", [1.0, 3.0])
def test_the_gradient_is_that_of_small_steps(seed, depth, steepness):
    points, gates, likelihoods, weights = case(seed, depth)
    rows, order = (points, likelihoods, weights), np.array([4, 1, 0, 2])
    expected = expected_gradient(rows, order, gates, steepness)
    for first_gate in (0, len(gates) // 2):
        found = gradient(rows, order, gates, len(gates), first_gate, steepness)
        assert found[first_gate:] == pytest.approx(expected[first_gate:], abs=1e-7)
        assert not found[:first_gate].any()


@pytest.mark.tiny
@seeds
def test_the_upper_gates_of_a_deeper_tree(seed):
    """While a tree is grown only the first levels are in use."""
    points, gates, likelihoods, weights = case(seed, depth=3)
    rows = points, likelihoods[:, :4].copy(), weights
    found = gradient(rows, np.arange(6), gates, 3, 0, 1.0)
    assert found[:3] == pytest.approx(expected_gradient(rows, np.arange(6), gates[:3], 1.0), abs=1e-7)
    assert not found[3:].any()


@pytest.mark.tiny
@seeds
@pytest.mark.parametrize("first_gate", [0, 1])
def test_one_batch_is_one_step_of_adam(seed, first_gate):
    points, gates, likelihoods, weights = case(seed)
    expected = -slope(lambda g: log_likelihood(g, points, likelihoods, weights, 2.0), gates) / 6
    rows, found, descent = (
        EndToEndRows(points, likelihoods, weights),
        gates.copy(),
        EndToEndDescent(*np.zeros((3, 3, 3))),
    )
    n_steps = loop.maximise_pass(rows, np.arange(6), found, 3, first_gate, 2.0, 0.1, 0, scratch(gates, 6), descent)
    assert n_steps == 1
    assert found[first_gate:] == pytest.approx(adam(gates, [expected], 0.1)[first_gate:], abs=1e-4)
    assert np.array_equal(found[:first_gate], gates[:first_gate])
    assert not descent.by_gates.any()
    again = loop.maximise_pass(rows, np.arange(6), found, 3, first_gate, 2.0, 0.1, n_steps, scratch(gates, 4), descent)
    assert again == 3


# ------------------------------------------------------------------ expectation and maximisation


def class_model(seed, n=40):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, size=n)
    points = rng.normal(size=(n, 2)) + labels[:, None]
    rows = LearningSet(points, (labels[:, None] == np.arange(3)).astype(float), rng.uniform(0.5, 1.5, size=n))
    return end_to_end._Expectation(rows, True, seed, 2)


def real_model(seed, n=40):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    targets = np.column_stack([points[:, 0] ** 2, points.sum(axis=1) + 0.1 * rng.normal(size=n)])
    return end_to_end._Expectation(LearningSet(points, targets, rng.uniform(0.5, 1.5, size=n)), False, seed, 2)


def leaves_of(model, belongs):
    """Mean and variance of the targets at each leaf, as `likelihoods` has them."""
    weighted = belongs * model.rows.weights[:, None]
    mass = (weighted.sum(axis=0) + end_to_end.PRIOR_ROWS)[:, None]
    means = (weighted.T @ model.rows.targets + end_to_end.PRIOR_ROWS * model.mean) / mass
    squares = weighted.T @ model.rows.targets**2 + end_to_end.PRIOR_ROWS * (model.variance + model.mean**2)
    return means, np.maximum(squares / mass - means**2, end_to_end.LEAST_VARIANCE * model.variance)


def goal(model, belongs):
    """What steps of the leaves climb: log likelihood, and that of the rows that a leaf has beside its own."""
    means, variances = leaves_of(model, belongs)
    shares = np.array([leaf_shares(model.gates, x, 1.0) for x in model.rows.points])
    if model.is_class:
        given = model.rows.targets @ means.T
        beside = model.mean @ np.log(means).T
    else:
        squares = (model.rows.targets[:, None, :] - means) ** 2 / variances
        given = np.exp(-0.5 * (squares + np.log(variances)).sum(axis=2))
        beside = -0.5 * ((model.variance + (model.mean - means) ** 2) / variances + np.log(variances)).sum(axis=1)
    found = model.likelihoods(belongs)
    assert found / found.max(axis=1, keepdims=True) == pytest.approx(given / given.max(axis=1, keepdims=True))
    return model.rows.weights @ np.log((shares * given).sum(axis=1)) + end_to_end.PRIOR_ROWS * beside.sum()


@pytest.mark.tiny
@seeds
@pytest.mark.parametrize("build", [class_model, real_model])
@pytest.mark.parametrize("prior", [1e-9, 1.0, 20.0])
def test_steps_of_the_leaves_never_lower_the_likelihood(seed, build, prior, monkeypatch):
    monkeypatch.setattr(end_to_end, "PRIOR_ROWS", prior)
    model = build(seed)
    belongs, likelihoods = np.empty((40, 4)), np.ones((40, 4))
    climbed = []
    for _ in range(12):
        loop.posteriors(model.rows.points, likelihoods, model.gates, 3, 1.0, scratch(model.gates, 32), belongs)
        likelihoods = model.likelihoods(belongs)
        climbed.append(goal(model, belongs))
    assert np.diff(climbed).min() > -1e-9
    assert climbed[-1] > climbed[0] + 1e-3


@pytest.mark.tiny
@pytest.mark.parametrize("build", [class_model, real_model])
def test_growing_and_annealing_raise_the_likelihood(build):
    model = build(0)

    def now():
        belongs, likelihoods = np.empty((40, 4)), np.ones((40, 4))
        for _ in range(2):
            loop.posteriors(model.rows.points, likelihoods, model.gates, 3, 1.0, scratch(model.gates, 32), belongs)
            likelihoods = model.likelihoods(belongs)
        return goal(model, belongs)

    before = model.gates.copy()
    assert len(list(model.passes(1, 0, np.ones(3), 0.05))) == 3
    assert np.any(model.gates[0] != before[0])
    assert np.array_equal(model.gates[1:], before[1:])
    seen = [now() for _ in model.passes(3, 0, np.ones(15), 0.05)]
    assert seen[-1] > seen[0]
