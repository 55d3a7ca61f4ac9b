"""The gradient by a gate against a product of matrices."""

import numpy as np
import pytest

from softwood.compiled.gradient import fill_gate_gradient


@pytest.mark.tiny
@pytest.mark.parametrize("d", [1, 3, 9])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 7, 8, 13])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_gradient_by_a_gate(d, n, is_sparse):
    rng = np.random.default_rng(n)
    points, order = rng.normal(size=(20, d)), rng.permutation(20)
    by_inputs, by_gates = rng.normal(size=(3, 15)), np.full((4, d + 1), np.nan)
    if is_sparse:
        by_inputs[rng.random(size=(3, 15)) < 0.8] = 0.0
    fill_gate_gradient(points, order, 2, n, by_inputs, 1, by_gates, 2)
    amounts, rows = by_inputs[1, :n], points[order[2 : 2 + n]]
    assert by_gates[2] == pytest.approx(np.append(amounts @ rows, amounts.sum()), abs=1e-12)
    assert np.isnan(by_gates[[0, 1, 3]]).all()
