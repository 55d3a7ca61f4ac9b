"""Rows side by side, and the inputs of gates for them."""

import numpy as np
import pytest

from softwood.compiled.trees import fill_batch, fill_gate_inputs


@pytest.mark.tiny
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("n", [0, 1, 6])
def test_inputs_of_gates(d, n):
    rng = np.random.default_rng(d)
    points, gates = rng.normal(size=(9, d)), rng.normal(size=(3, d + 1))
    order = rng.permutation(9)
    for rows, given in ((order[2 : 2 + n], order), (np.arange(2, 2 + n), None)):
        batch, inputs = np.full((d, 7), np.nan), np.full((4, 7), np.nan)
        fill_batch(points, given, 2, n, batch)
        assert np.array_equal(batch[:, :n], points[rows].T)
        assert np.isnan(batch[:, n:]).all()
        fill_gate_inputs(batch, n, gates, 1, inputs, 2)
        assert inputs[2, :n] == pytest.approx(points[rows] @ gates[1, :-1] + gates[1, -1])
        assert np.isnan(inputs[[0, 1, 3]]).all()
        assert np.isnan(inputs[2, n:]).all()
