"""Values, losses and pruning of complete crisp trees, against reference implementations and all possible shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled import gradient as loop
from softwood.gradient.loops.crisp_shape import LEAST_PROBABILITY
from softwood.gradient.loops.soft_split import Rows
from tests.reference.crisp import in_order, leaves_of, node_loss, node_values, random_shape, rows_at, shapes


class Case:
    """Rows at the nodes of a complete tree: what the loops take, and which rows they are."""

    def __init__(self, seed, depth, q, n, is_class):
        rng = np.random.default_rng(seed)
        self.gates, self.points = rng.normal(size=(2**depth - 1, 3)), rng.normal(size=(n, 2))
        self.targets = rng.dirichlet(np.ones(q), size=n) if is_class else 3.0 + rng.normal(size=(n, q))
        self.weights, self.is_class, self.prior = rng.uniform(0.5, 2.0, size=n), is_class, rng.choice([0.1, 1.0, 5.0])
        self.members = rows_at(self.gates, self.points)
        self.mass = self.members @ self.weights
        self.sums = self.members @ (self.weights[:, None] * self.targets)
        self.squares = np.full(len(self.members), np.nan)
        last = len(self.gates)
        self.bottom = last + self.members[last:].argmax(axis=0)
        loop.add_squares(Rows(self.points, self.targets, self.weights), self.bottom, self.squares)
        self.values = np.full(self.sums.shape, np.nan)
        loop.fill_values(self.mass, self.sums, self.prior, self.values)


cases = st.builds(
    Case, st.integers(0, 10**6), depth=st.integers(1, 4), q=st.integers(1, 3), n=st.integers(1, 20),
    is_class=st.booleans(),
)  # fmt: skip


@pytest.mark.tiny
@given(cases)
def test_values_and_squares(case):
    np.testing.assert_allclose(case.values, node_values(case.members, case.targets, case.weights, case.prior))
    expected = [(case.weights[here] @ case.targets[here] ** 2).sum() for here in case.members]
    np.testing.assert_allclose(case.squares, expected, atol=1e-12)


@pytest.mark.tiny
def test_an_empty_node_has_the_value_of_its_parent():
    values = np.empty((3, 1))
    loop.fill_values(np.array([2.0, 2.0, 1e-12]), np.array([[4.0], [4.0], [-7.0]]), 1e-300, values)
    assert values.tolist() == [[2.0], [2.0], [2.0]]


@pytest.mark.tiny
@given(cases)
def test_losses_of_nodes_as_leaves(case):
    losses = np.full(len(case.mass), np.nan)
    loop.fill_losses(case.mass, case.sums, case.squares, case.values, case.is_class, losses)
    expected = [
        node_loss(value, case.targets[here], case.weights[here], case.is_class, LEAST_PROBABILITY)
        for value, here in zip(case.values, case.members, strict=True)
    ]
    np.testing.assert_allclose(losses, expected, atol=1e-9)


@pytest.mark.tiny
def test_classes_that_were_never_seen_cost_no_more_than_the_least_probability():
    losses = np.empty(1)
    loop.fill_losses(np.array([2.0]), np.array([[0.0, 2.0]]), np.zeros(1), np.array([[1.0, 0.0]]), True, losses)
    assert losses[0] == pytest.approx(-2.0 * np.log(LEAST_PROBABILITY))


@pytest.mark.tiny
@given(cases)
def test_errors_of_nodes_as_leaves(case):
    errors = np.full(len(case.mass), np.nan)
    loop.fill_node_errors(case.mass, case.sums, case.values, errors)
    expected = []
    for value, here in zip(case.values, case.members, strict=True):
        of_others = case.weights[here] * (1.0 - case.targets[here, value.argmax()])
        expected.append(of_others.sum())
    np.testing.assert_allclose(errors, expected, atol=1e-9)


# ------------------------------------------------------------------ shapes

# few different numbers, so that there are ties
numbers = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 7.0])


def pruned(losses, cost):
    n_inner = len(losses) // 2
    is_split, below = np.zeros(n_inner, dtype=bool), np.full(len(losses), np.nan)
    loop.prune(losses, cost, below, is_split)
    return set(np.flatnonzero(is_split).tolist()), below


@pytest.mark.tiny
@given(st.integers(1, 3).flatmap(lambda depth: st.lists(numbers, min_size=2 ** (depth + 1) - 1,
                                                        max_size=2 ** (depth + 1) - 1)), numbers)  # fmt: skip
def test_no_other_shape_is_better_and_of_equal_ones_the_smallest_is_taken(losses, cost):
    losses = np.array(losses)
    totals = {splits: losses[leaves_of(splits)].sum() + cost * len(splits) for splits in shapes(len(losses) // 2)}
    splits, below = pruned(losses, cost)
    assert totals[frozenset(splits)] == pytest.approx(min(totals.values()))
    assert below[0] == pytest.approx(min(totals.values()))
    smallest = min(len(shape) for shape, total in totals.items() if total <= min(totals.values()) + 1e-9)
    assert len(splits) == smallest


@pytest.mark.tiny
def test_splits_that_differ_by_rounding_alone_are_pruned():
    losses = np.array([3.0, 1.0, 2.0 - 4e-16])
    assert pruned(losses, 0.0)[0] == set()
    assert pruned(losses - [0.0, 1e-6, 0.0], 0.0)[0] == {0}


@pytest.mark.tiny
def test_a_pruned_node_returns_when_its_losses_are_better():
    """Pruning knows nothing of the pruning before: all nodes are counted each time."""
    poor, good = np.array([5.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0]), np.array([5.0, 2.0, 2.0, 0.1, 0.1, 1.0, 1.0])
    is_split, below = np.zeros(3, dtype=bool), np.empty(7)
    loop.prune(poor, 0.5, below, is_split)
    assert is_split.tolist() == [True, False, False]
    loop.prune(good, 0.5, below, is_split)
    assert is_split.tolist() == [True, True, False]


@pytest.mark.tiny
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_sums_over_leaves_and_the_order_of_splits(seed, depth):
    rng = np.random.default_rng(seed)
    n_inner = 2**depth - 1
    splits = random_shape(rng, n_inner) if rng.random() < 0.9 else set()
    is_split = np.isin(np.arange(n_inner), list(splits))
    judged = rng.normal(size=2 * n_inner + 1)
    n_splits, total = loop.add_leaves(judged, is_split)
    assert n_splits == len(splits)
    assert total == pytest.approx(judged[leaves_of(splits)].sum())
    ordered, place = np.full(n_inner, -7), np.full(2 * n_inner + 1, -7)
    assert loop.order_splits(is_split, ordered, place) == len(splits)
    assert ordered[: len(splits)].tolist() == in_order(splits)
    assert place[ordered[: len(splits)]].tolist() == list(range(len(splits)))
    assert np.count_nonzero(place >= 0) == len(splits)
