"""First gates of crisp trees: logistic fits and tests of one column, against a general minimiser and all tests."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from softwood.compiled import gradient as loop
from softwood.gradient.loops.first_gates import SPREAD
from softwood.gradient.loops.soft_split import Rows
from tests.reference.crisp import rows_at
from tests.reference.soft import best_merit


@pytest.mark.tiny
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 4))
def test_products(seed, n, d):
    rng = np.random.default_rng(seed)
    points, w, v = rng.normal(size=(n, d)), rng.normal(size=d + 1), rng.normal(size=n)
    out, back = np.full(n, np.nan), np.full(d + 1, np.nan)
    loop._multiply_back(points, v, back)
    np.testing.assert_allclose(back, [*(v @ points), v.sum()], atol=1e-12)
    loop._multiply_both(points, w, v, out, back)
    np.testing.assert_allclose(out, points @ w[:-1] + w[-1], atol=1e-12)
    np.testing.assert_allclose(back, [*((v * out) @ points), v @ out], atol=1e-12)


# ------------------------------------------------------------------ logistic fits


def objective(gate, points, sides, weights, penalty):
    z = points @ gate[:-1] + gate[-1]
    loss = np.logaddexp(0.0, z) - sides * z
    return weights @ loss + 0.5 * penalty * (gate[:-1] ** 2).sum()


@pytest.mark.tiny
@given(
    seed=st.integers(0, 10**6), n=st.integers(4, 40), d=st.integers(1, 4),
    penalty=st.sampled_from([0.01, 0.3, 3.0, 50.0]), is_fuzzy=st.booleans(),
)  # fmt: skip
def test_no_other_gate_fits_better(seed, n, d, penalty, is_fuzzy):
    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(n, d)), rng.uniform(0.5, 2.0, size=n)
    signal = points[:, 0] + 0.5 * rng.normal(size=n)
    sides = 1 / (1 + np.exp(-signal)) if is_fuzzy else (signal > np.median(signal)).astype(float)
    gate = np.full(d + 1, np.nan)
    loop.logistic_gate(points, sides, weights, penalty, gate)
    data = points, sides, weights, penalty
    best = minimize(objective, np.zeros(d + 1), args=data, method="BFGS")
    start = objective(np.append(np.zeros(d), np.log(weights @ sides / (weights @ (1 - sides)))), *data)
    assert objective(gate, *data) <= best.fun + 0.01 * (start - best.fun) + 1e-6


@pytest.mark.tiny
def test_rows_that_a_line_divides_have_a_finite_gate():
    points = np.linspace(-1, 1, 20)[:, None]
    sides = (points[:, 0] > 0).astype(float)
    sizes = []
    for penalty in (1e-3, 1.0, 100.0):
        gate = np.empty(2)
        loop.logistic_gate(points, sides, np.ones(20), penalty, gate)
        assert np.isfinite(gate).all()
        assert np.array_equal(points[:, 0] * gate[0] + gate[1] > 0, sides > 0)
        sizes.append(gate[0])
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.tiny
def test_columns_that_are_constant_get_no_weight():
    points = np.column_stack([np.zeros(10), np.arange(10.0) - 4.5])
    gate = np.empty(3)
    loop.logistic_gate(points, (np.arange(10) > 6).astype(float), np.ones(10), 1.0, gate)
    assert gate[0] == 0.0
    assert gate[1] > 0.1


# ------------------------------------------------------------------ tests of one column


def table(seed, n, d, q):
    """Few different numbers, so that there are ties."""
    rng = np.random.default_rng(seed)
    return Rows(
        rng.integers(0, 4, size=(n, d)) / 2.0, rng.integers(0, 3, size=(n, q)).astype(float),
        rng.integers(1, 4, size=n).astype(float),
    )  # fmt: skip


@pytest.mark.tiny
@given(
    st.builds(table, st.integers(0, 10**6), n=st.integers(1, 25), d=st.integers(1, 3), q=st.integers(1, 3)),
    st.integers(1, 4),
)
def test_every_gate_tests_the_best_column(rows, depth):
    points, targets, weights = rows
    n, d = points.shape
    gates = np.full((2**depth - 1, d + 1), np.nan)
    orders = np.ascontiguousarray(np.argsort(points, axis=0, kind="stable").T)
    loop.column_gates(rows, orders, gates)
    assert np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(n), (d, 1)))
    members = rows_at(gates, points)
    for node, here in enumerate(members[: len(gates)]):
        gate, used = gates[node], np.flatnonzero(gates[node, :-1])
        merit, places = best_merit(points[here], targets[here], weights[here]) if here.any() else (0.0, set())
        if merit < 1e-9:  # nothing to divide: like its parent
            assert not gate.any() if node == 0 else np.array_equal(gate, gates[(node - 1) // 2])
            continue
        assert len(used) == 1
        left = points[here] @ gate[:-1] + gate[-1] > 0
        assert (used[0], tuple(left.tolist())) in places
        z, w = points[here] @ gate[:-1] + gate[-1], weights[here]
        assert np.sqrt(np.average((z - np.average(z, weights=w)) ** 2, weights=w)) == pytest.approx(SPREAD)


@pytest.mark.tiny
@pytest.mark.parametrize("gap", [1e-15, 1e-200, 5e-324])
def test_columns_that_hardly_differ(gap):
    points = np.repeat([[0.0], [gap]], 5, axis=0)
    gates = np.empty((3, 2))
    rows = Rows(points, np.repeat([[0.0], [1.0]], 5, axis=0), np.ones(10))
    loop.column_gates(rows, np.argsort(points, axis=0).T.copy(), gates)
    assert not gates.any()


@pytest.mark.tiny
def test_rows_are_added_one_or_four_at_once():
    points = np.random.default_rng(0).normal(size=(6, 3))
    out, numbers = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, -1.0, 2.0, 0.25])
    loop._add_rows(points, 1, *numbers, out)
    expected = np.array([1.0, 2.0, 3.0, 4.0]) + np.append(numbers @ points[1:5], numbers.sum())
    assert out == pytest.approx(expected)
    loop._add_row(points, 5, -0.5, out)
    assert out == pytest.approx(expected + np.append(-0.5 * points[5], -0.5))
