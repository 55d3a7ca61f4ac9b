"""The step of Adam against its definition, and its penalties."""

import numpy as np
import pytest

from softwood.compiled.gradient import adam_row, adam_step


def steps(gradients, rate=0.1, n_penalised=0, l1=0.0, l2=0.0):
    """A line after these steps; it is the second of a table, whose other lines must stay."""
    lines = np.tile([1.0, -2.0, 0.05], (3, 1))
    others = lines[[0, 2]].copy()
    first, second = np.zeros_like(lines), np.zeros_like(lines)
    for number, gradient in enumerate(gradients, start=1):
        used = np.tile(gradient, (3, 1))
        adam_row(lines, used, first, second, 1, adam_step(number, rate), n_penalised, l1, l2)
        assert not used[1].any()
        assert np.array_equal(used[[0, 2]], np.tile(gradient, (2, 1)))
    assert np.array_equal(lines[[0, 2]], others)
    assert not first[[0, 2]].any()
    assert not second[[0, 2]].any()
    return lines[1]


@pytest.mark.tiny
def test_steps_are_those_of_adam():
    gradients = np.random.default_rng(0).normal(size=(5, 3))
    line, m, v = np.array([1.0, -2.0, 0.05]), np.zeros(3), np.zeros(3)
    for t, g in enumerate(gradients, start=1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        line = line - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    assert steps(gradients) == pytest.approx(line)


@pytest.mark.tiny
def test_penalties_draw_to_zero_but_only_what_is_penalised():
    gradient = [[0.5, 0.5, 0.001]]
    plain, drawn = steps(gradient), steps(gradient, n_penalised=2, l1=0.1, l2=0.2)
    length = 0.1 / 0.5
    assert drawn[:2] == pytest.approx((plain[:2] - length * 0.1 * np.sign(plain[:2])) / (1 + length * 0.2))
    assert drawn[2] == plain[2]
    assert steps([[0.0, 0.0, 0.0]], n_penalised=3, l1=1e-3).tolist() == [0.0, 0.0, 0.0]
