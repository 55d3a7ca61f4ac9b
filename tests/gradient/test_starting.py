"""First gates of complete trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.gradient.data import LearningSet
from softwood.gradient.starting import FEW, SPREAD, fitted_start, random_start
from tests.reference.soft import best_merit

both = pytest.mark.parametrize("is_class", [True, False])


def rows(seed, n, d=3, q=2, is_class=True):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d))
    signal = points[:, 0] + points[:, d // 2] * points[:, -1] + 0.2 * rng.normal(size=n)
    if is_class:
        labels = np.digitize(signal, np.quantile(signal, np.arange(1, q) / q))
        targets = (labels[:, None] == np.arange(q)).astype(float)
    else:
        targets = np.column_stack([signal, *rng.normal(size=(q - 1, n))])
    return LearningSet(points, targets, rng.integers(1, 4, size=n).astype(float))


def side(gates, node, points):
    return points @ gates[node, :-1] + gates[node, -1] > 0


def reached(gates, points):
    """Which rows come to each node, (n_nodes, n)."""
    out = np.ones((2 * len(gates) + 1, len(points)), dtype=bool)
    for node in range(len(gates)):
        left = side(gates, node, points)
        out[2 * node + 1], out[2 * node + 2] = out[node] & left, out[node] & ~left
    return out


def n_used(gate):
    return np.count_nonzero(gate[:-1])


# ------------------------------------------------------------------ both children get rows


@both
@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 60), d=st.integers(1, 4), q=st.integers(1, 4), depth=st.integers(1, 4)
)
def test_a_node_that_can_be_divided_is(is_class, seed, n, d, q, depth):
    train, validation = rows(seed, n, d, q, is_class), rows(seed + 1, n, d, q, is_class)
    gates = fitted_start(train, validation, is_class, depth)
    assert gates.shape == (2**depth - 1, d + 1)
    assert np.isfinite(gates).all()
    members = reached(gates, train.points)
    for node in range(len(gates)):
        here = members[node]
        if here.any() and best_merit(train.points[here], train.targets[here], train.weights[here])[0] > 1e-9:
            assert members[2 * node + 1].any()
            assert members[2 * node + 2].any()


@pytest.mark.tiny
@both
def test_nothing_to_divide(is_class):
    points = np.random.default_rng(0).normal(size=(30, 2))
    for targets, where in ((np.ones((30, 1)), points), (np.eye(2)[np.arange(30) % 2], np.zeros((30, 2)))):
        same = LearningSet(where, targets, np.ones(30))
        assert not fitted_start(same, same, is_class, 2).any()


@pytest.mark.tiny
@both
def test_what_is_not_divided_has_the_gate_of_its_parent(is_class):
    """A row that training has not seen then goes on in its direction."""
    points = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    same = LearningSet(points, np.eye(2)[[0, 0, 1, 1]], np.ones(4))
    gates = fitted_start(same, same, is_class, 3)
    assert gates[0, 0] != 0
    assert np.array_equal(gates, np.tile(gates[0], (7, 1)))


@pytest.mark.tiny
@both
@pytest.mark.parametrize("gap", [1e-15, 1e-100, 1e-200, 5e-324])
def test_columns_that_hardly_differ(is_class, gap):
    points = np.repeat([[-1.0], [0.0], [gap], [1.0]], 10, axis=0)
    same = LearningSet(points, np.eye(2)[np.repeat([0, 1, 0, 1], 10)], np.ones(40))
    gates = fitted_start(same, same, is_class, 3)
    assert np.isfinite(gates).all()


# ------------------------------------------------------------------ what must not matter


@both
def test_order_of_rows_and_unit_of_weights(is_class):
    train, validation = rows(0, 200, is_class=is_class), rows(1, 100, is_class=is_class)
    order = np.random.default_rng(0).permutation(200)
    one = fitted_start(train, validation, is_class, 4)
    np.testing.assert_allclose(fitted_start(train.take_raw(order), validation, is_class, 4), one, atol=1e-8)
    heavy = LearningSet(train.points, train.targets, train.weights * 1024.0)
    np.testing.assert_allclose(fitted_start(heavy, validation, is_class, 4), one, atol=1e-8)
    np.testing.assert_array_equal(fitted_start(train, validation, is_class, 4), one)  # nothing is random


def test_names_of_classes_and_units_of_targets():
    train, validation = rows(0, 200, q=3), rows(1, 100, q=3)
    one = reached(fitted_start(train, validation, True, 3), train.points)
    turned = [LearningSet(part.points, part.targets[:, [2, 0, 1]], part.weights) for part in (train, validation)]
    other = reached(fitted_start(*turned, True, 3), train.points)
    assert {tuple(leaf) for leaf in one[7:]} == {tuple(leaf) for leaf in other[7:]}  # left and right may change places
    real = [rows(seed, n, is_class=False) for seed, n in ((0, 200), (1, 100))]
    large = [LearningSet(part.points, 1e6 * part.targets, part.weights) for part in real]
    np.testing.assert_allclose(fitted_start(*large, False, 3), fitted_start(*real, False, 3), rtol=1e-6, atol=1e-8)


@both
def test_weights_are_repetition_at_the_first_gate(is_class):
    train = rows(0, 400, is_class=is_class)
    again = train.take_raw(np.repeat(np.arange(400), train.weights.astype(int)))
    again = LearningSet(again.points, again.targets, np.ones(len(again)))
    one, other = (fitted_start(part, train, is_class, 1)[0] for part in (train, again))
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert cosine > 0.999  # the ridge penalty counts different rows


# ------------------------------------------------------------------ which gate


@both
def test_steps_of_one_column_are_found(is_class):
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, size=(400, 6))
    targets = np.eye(2)[(points[:, 2] > 0.5).astype(int)]  # the mean of a linear fit would cut elsewhere
    train, validation = (
        LearningSet(points[part], targets[part], np.ones(200)) for part in (slice(200), slice(200, 400))
    )
    gates = fitted_start(train, validation, is_class, 1)
    assert n_used(gates[0]) == 1
    assert gates[0, 2] != 0
    assert -gates[0, -1] / gates[0, 2] == pytest.approx(0.5, abs=0.05)
    assert np.mean(side(gates, 0, points) == (points[:, 2] < 0.5)) > 0.98


@both
def test_oblique_borders_are_found(is_class):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(400, 6))
    targets = np.eye(2)[(points.sum(axis=1) > 0).astype(int)]
    train, validation = (
        LearningSet(points[part], targets[part], np.ones(200)) for part in (slice(200), slice(200, 400))
    )
    gates = fitted_start(train, validation, is_class, 1)
    assert n_used(gates[0]) == 6
    agree = np.mean(side(gates, 0, points) == (points.sum(axis=1) > 0))
    assert max(agree, 1 - agree) > 0.93


def test_validation_rows_say_which_gate_is_better():
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, size=(400, 4))
    step, slant = points[:, 0] > 0.4, points.sum(axis=1) > 0
    train = LearningSet(points, np.eye(4)[2 * step + slant], np.ones(400))
    used = []
    for truth in (step, slant):
        validation = LearningSet(points, np.eye(4)[2 * truth + truth], np.ones(400))
        used.append(n_used(fitted_start(train, validation, True, 1)[0]))
        few = validation.take_raw(np.arange(FEW - 1))
        assert n_used(fitted_start(train, few, True, 1)[0]) == n_used(fitted_start(train, train, True, 1)[0])
    assert used == [1, 4]


@both
def test_inputs_of_gates_have_a_common_spread(is_class):
    train, validation = rows(0, 500, is_class=is_class), rows(1, 200, is_class=is_class)
    gates = fitted_start(train, validation, is_class, 3)
    members = reached(gates, train.points)
    for node in range(7):
        here, weights = train.points[members[node]], train.weights[members[node]]
        z = here @ gates[node, :-1] + gates[node, -1]
        spread = np.sqrt(np.average((z - np.average(z, weights=weights)) ** 2, weights=weights))
        assert spread == pytest.approx(SPREAD)


@both
def test_a_deeper_start_explains_more(is_class):
    train, validation = rows(0, 500, is_class=is_class), rows(1, 200, is_class=is_class)
    errors = []
    for depth in range(1, 6):
        members = reached(fitted_start(train, validation, is_class, depth), train.points)[2**depth - 1 :]
        parts = [train.targets[leaf] for leaf in members if leaf.any()]
        errors.append(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))
    assert np.all(np.diff(errors) < 0)
    assert errors[-1] < 0.5 * ((train.targets - train.targets.mean(axis=0)) ** 2).sum()


# ------------------------------------------------------------------ random gates


def test_random_gates():
    one, same, other = (random_start(6, 24, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one.shape == (63, 25)
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert one.std() == pytest.approx(0.2, rel=0.1)  # inputs of standardised rows have the spread 1
