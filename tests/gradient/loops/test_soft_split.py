"""Loops of one split of a soft tree against their definitions and small steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled import gradient as loop
from softwood.gradient.loops.soft_split import IDENTITY, LOGISTIC, SHRINK_EVERY, SOFTMAX, Near
from tests.reference.soft import LINKS, Split, best_merit, loss, predict, random_targets, sigmoid, slope

links = pytest.mark.parametrize(("link", "q"), LINKS)


def near(split, weights=None):
    """The rows of a split as the loops take them."""
    weights = np.full(len(split.points), np.nan) if weights is None else weights
    return Near(split.points, split.targets, weights, split.rest, split.path)


# ------------------------------------------------------------------ losses


@pytest.mark.tiny
@links
@pytest.mark.parametrize("seed", range(3))
def test_error_is_prediction_less_target_and_the_slope_of_the_loss(link, q, seed):
    rng = np.random.default_rng(seed)
    targets, output = random_targets(rng, 4, q, link), 3 * rng.normal(size=q)
    for i in range(4):
        assert loop.row_loss(targets, i, link, output) == pytest.approx(loss(output, targets[i], link))
        error = output.copy()
        loop.fill_errors(targets, i, link, error)
        assert error == pytest.approx(predict(output, link) - targets[i])
        assert error == pytest.approx(slope(lambda o: loss(o, targets[i], link), output), abs=1e-8)  # noqa: B023


@pytest.mark.tiny
@pytest.mark.parametrize("size", [1e3, 1e8, 1e300])
def test_huge_outputs_have_finite_losses_and_errors(size):
    one, three = np.array([[1.0]]), np.array([[0.0, 1.0, 0.0]])
    assert loop.row_loss(one, 0, LOGISTIC, np.array([size])) == 0
    assert loop.row_loss(one, 0, LOGISTIC, np.array([-size])) == size
    assert loop.row_loss(three, 0, SOFTMAX, np.array([size, -size, 0.0])) == 2 * size
    for targets, link, output, expected in (
        (one, LOGISTIC, [-size], [-1.0]),
        (one, LOGISTIC, [size], [0.0]),
        (three, SOFTMAX, [size, -size, 0.0], [1.0, -1.0, 0.0]),
    ):
        error = np.array(output)
        loop.fill_errors(targets, 0, link, error)
        assert error.tolist() == expected


@pytest.mark.tiny
@links
def test_losses_are_weighted(link, q):
    split, weights = Split.random(5, link, q), np.array([1.0, 0, 2, 3, 0.5, 1, 1])
    rows = range(len(weights))
    losses = [split.loss(i, split.gate, split.values) for i in rows]
    outputs = np.array([split.output(i, split.gate, split.values) for i in rows])
    expected = np.average(losses, weights=weights)
    assert loop.mean_loss(split.targets, weights, link, outputs) == pytest.approx(expected)
    part, of_parts = np.arange(len(rows)) % 4, np.full(4, np.nan)
    found = loop.split_loss(near(split, weights), link, split.gate, split.values, part, of_parts, np.empty(q))
    assert found == pytest.approx(weights.sum() * expected)
    assert of_parts == pytest.approx([(weights * losses)[part == k].sum() for k in range(4)])


# ------------------------------------------------------------------ a split


@pytest.mark.tiny
@links
def test_outputs_of_a_split(link, q):
    split = Split.random(0, link, q)
    n = len(split.points)
    shares, outputs = np.empty(n), np.empty((n, q))
    loop.split_outputs(split.points, split.rest, split.path, split.gate, split.values, shares, outputs)
    assert shares == pytest.approx(sigmoid(split.points @ split.gate[:-1] + split.gate[-1]))
    assert outputs == pytest.approx(np.array([split.output(i, split.gate, split.values) for i in range(n)]))


@pytest.mark.tiny
@links
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_of_a_split_are_those_of_small_steps(link, q, seed):
    split = Split.random(seed, link, q)
    output = np.empty(q)
    for i in range(len(split.points)):
        by_input, share = loop.split_gradient(
            split.points, split.targets, split.rest, split.path, i, link, split.gate, split.values, output
        )
        by_gate, by_values = split.gradient(i, split.gate, split.values)
        assert by_input * np.append(split.points[i], 1.0) == pytest.approx(by_gate, abs=1e-8)
        assert np.array([share * output, (1 - share) * output]) == pytest.approx(by_values, abs=1e-8)


@pytest.mark.tiny
@pytest.mark.parametrize("d", [1, 3, 40])
def test_input_and_step_of_a_gate(d):
    rng = np.random.default_rng(d)
    points, gate = rng.normal(size=(4, d)), rng.normal(size=d + 1)
    for i, x in enumerate(points):
        assert loop.split_input(points, i, gate) == pytest.approx(gate[:-1] @ x + gate[-1])
        moved = gate.copy()
        loop._move_gate(points, i, moved, 0.3)
        assert moved == pytest.approx(gate - 0.3 * np.append(x, 1.0))


@pytest.mark.tiny
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.0), (2.0, 0.0), (0.0, 3.0), (2.0, 3.0), (0.0, 100.0)])
def test_weights_are_shrunk_but_not_the_bias(l1, l2):
    gate = np.array([1.0, -0.5, 0.1, -0.05, 0.0, 7.0])
    found = gate.copy()
    loop._shrink(found, 5, 0.1, l1, l2)
    smaller = gate[:5] * max(1.0 - 0.1 * l2, 0.0)
    assert found[:5] == pytest.approx(np.sign(smaller) * np.maximum(np.abs(smaller) - 0.1 * l1, 0.0))
    assert found[5] == gate[5]


def descend(split, visits, *, step=0.1, decay=1.0, l1=0.0, l2=0.0):
    """Gate, values and next step after the descent."""
    gate, values = split.gate.copy(), split.values.copy()
    length = loop.descend(
        near(split), np.array(visits), split.link, step, decay, l1, l2, gate, values, np.empty(values.shape[1])
    )
    return gate, values, length


@pytest.mark.tiny
@links
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.0), (0.05, 0.0), (0.0, 0.1), (0.05, 0.1)])
def test_a_descent_is_that_of_the_twin(link, q, l1, l2):
    """Several times as many visits as the penalties wait for; of one output, `descend` leaves it to another loop."""
    split = Split.random(6, link, q)
    visits = np.random.default_rng(0).integers(0, len(split.points), size=2 * SHRINK_EVERY + 7)
    expected = split.descend(visits, 0.1, 0.99, l1, l2, SHRINK_EVERY)
    found = [descend(split, visits, decay=0.99, l1=l1, l2=l2)]
    if q == 1:
        gate, values = split.gate.copy(), split.values.copy()
        found.append((gate, values, loop._descend_single(near(split), visits, link, 0.1, 0.99, l1, l2, gate, values)))
    for gate, values, step in found:
        assert gate == pytest.approx(expected[0], abs=1e-6)
        assert values == pytest.approx(expected[1], abs=1e-6)
        assert step == pytest.approx(expected[2])


@pytest.mark.tiny
@links
@pytest.mark.parametrize("i", [0, 3])
def test_one_visit_is_one_step_down_the_gradient(link, q, i):
    split = Split.random(1, link, q)
    gate, values, length = descend(split, [i], decay=0.5)
    by_gate, by_values = split.gradient(i, split.gate, split.values)
    assert gate == pytest.approx(split.gate - 0.1 * by_gate, abs=1e-8)
    assert values == pytest.approx(split.values - 0.1 * by_values, abs=1e-8)
    assert length == pytest.approx(0.05)


@pytest.mark.tiny
@links
def test_visits_follow_one_another_with_shorter_steps(link, q):
    split, visits = Split.random(2, link, q), [4, 0, 0, 6, 2]
    gate, values, step = split.gate, split.values, 0.3
    for i in visits:
        by_gate, by_values = split.gradient(i, gate, values)
        gate, values, step = gate - step * by_gate, values - step * by_values, 0.8 * step
    found = descend(split, visits, step=0.3, decay=0.8)
    assert found[0] == pytest.approx(gate, abs=1e-7)
    assert found[1] == pytest.approx(values, abs=1e-7)
    assert found[2] == pytest.approx(step)


@pytest.mark.tiny
def test_no_visits_change_nothing():
    split = Split.random(2, IDENTITY, 2)
    gate, values, length = descend(split, np.empty(0, np.int64), l1=1.0, l2=1.0)
    assert np.array_equal(gate, split.gate)
    assert np.array_equal(values, split.values)
    assert length == 0.1


@pytest.mark.tiny
@links
def test_penalties_draw_weights_but_not_the_bias_to_zero(link, q):
    split = Split.random(3, link, q)
    free, values, _ = descend(split, [5])
    shrunk, same, _ = descend(split, [5], l2=2.0)
    assert shrunk[:-1] == pytest.approx(free[:-1] * (1 - 0.1 * 2.0))
    cut, also_same, _ = descend(split, [5], l1=3.0)
    assert cut[:-1] == pytest.approx(np.sign(free[:-1]) * np.maximum(np.abs(free[:-1]) - 0.1 * 3.0, 0.0))
    assert free[-1] == shrunk[-1] == cut[-1]
    assert np.array_equal(values, same)
    assert np.array_equal(values, also_same)
    assert not descend(split, [5], l2=1e9)[0][:-1].any()  # to 0, not beyond


@pytest.mark.tiny
@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("n_visits", [1, 20, SHRINK_EVERY, SHRINK_EVERY + 1, 100])
def test_penalties_pull_once_for_each_visit(q, n_visits):
    split = Split.random(4, IDENTITY, q)
    split.path[:] = 0.0  # nothing else moves the gate
    gate, _, _ = descend(split, np.zeros(n_visits, np.int64), step=0.01, l1=0.02)
    assert gate[:-1] == pytest.approx(
        np.sign(split.gate[:-1]) * np.maximum(np.abs(split.gate[:-1]) - 0.01 * 0.02 * n_visits, 0.0)
    )
    assert gate[-1] == split.gate[-1]


@pytest.mark.tiny
@pytest.mark.parametrize("q", [1, 2])
def test_l1_makes_zeros_and_keeps_what_matters_and_l2_shrinks(q):
    split = Split.random(0, IDENTITY, q, n=200, d=6)
    split.rest, split.path = np.zeros((200, q)), np.ones(200)
    split.targets = np.where(split.points[:, [0]] > 0, 1.0, -1.0) * np.ones(q)
    split.values = np.outer([1.0, -1.0], np.ones(q))
    visits = np.tile(np.arange(200), 3)
    free, sparse, small = (
        descend(split, visits, l1=l1, l2=l2, decay=0.995)[0] for l1, l2 in ((0.0, 0.0), (0.1 * q, 0.0), (0.0, 0.1 * q))
    )
    assert np.count_nonzero(free[1:6]) == 5
    assert np.count_nonzero(sparse[1:6]) < 3
    assert sparse[0] > 0.5
    assert np.count_nonzero(small[1:6]) == 5
    assert np.abs(small[:6]).sum() < 0.8 * np.abs(free[:6]).sum()


# ------------------------------------------------------------------ the first gate


@st.composite
def tables(draw):
    """Few different values, so that there are ties; some rows without weight."""
    n, d, q = draw(st.integers(1, 9)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    numbers = st.integers(-3, 3).map(float)
    points = np.array(draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n)))
    targets = np.array(draw(st.lists(st.lists(numbers, min_size=q, max_size=q), min_size=n, max_size=n)))
    weights = np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=n, max_size=n)))
    return points, targets, weights


def run_best_test(points, targets, weights):
    """The test of all rows, which are not the first and last of the orders: those before and after do not count."""
    n, d = points.shape
    orders = np.full((d, n + 3), n - 1)
    orders[:, 1 : n + 1] = np.argsort(points, axis=0).T
    return loop.best_test(points, targets, weights, orders, 1, n + 1, np.full((2, targets.shape[1]), np.nan))


@pytest.mark.tiny
@given(tables())
def test_best_test_is_the_best_of_all(table):
    points, targets, weights = table
    feature, threshold = run_best_test(points, targets, weights)
    largest, best = best_merit(points, targets, weights)
    if feature < 0:
        assert largest < 1e-9
        assert np.isnan(threshold)
    else:
        counts = weights > 0
        assert (feature, tuple(counts & (points[:, feature] <= threshold))) in best
        below, above = points[counts, feature], points[counts, feature]
        assert threshold == (below[below <= threshold].max() + above[above > threshold].min()) / 2


@pytest.mark.tiny
@pytest.mark.parametrize("points", [[[1.0], [1.0], [1.0]], [[0.0], [0.0], [0.0]]])
def test_constant_columns_have_no_test(points):
    assert run_best_test(np.array(points), np.array([[0.0], [1.0], [2.0]]), np.ones(3))[0] == -1


@pytest.mark.tiny
def test_equal_targets_have_no_test():
    points = np.arange(6.0)[:, None]
    assert run_best_test(points, np.full((6, 1), 0.1), np.linspace(0.1, 1, 6))[0] == -1


@pytest.mark.tiny
@pytest.mark.parametrize("low", [1.0, 1.0 + 2**-52, -1.0, 0.0, 5e-324])
def test_a_threshold_between_neighbouring_numbers_still_separates_them(low):
    points = np.array([[low], [np.nextafter(low, 9.0)]])
    feature, threshold = run_best_test(points, np.array([[0.0], [1.0]]), np.ones(2))
    assert feature == 0
    assert points[0, 0] <= threshold < points[1, 0]
