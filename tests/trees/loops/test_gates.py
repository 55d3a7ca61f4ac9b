import numpy as np
import pytest

from softwood.compiled.trees import oblique_share, oblique_slope, sigmoid, smooth_step, smooth_step_slope
from softwood.trees.loops.gates import BLEND, OBLIQUE, SIGMOID

Z = np.concatenate([np.linspace(-4, 4, 161), [-800.0, -40.0, 40.0, 800.0]])


@pytest.mark.tiny
@pytest.mark.parametrize("z", [-2.0, 0.0, 0.7])
def test_sigmoid(z):
    assert sigmoid(z) == pytest.approx(1 / (1 + np.exp(-z)), rel=1e-14)


@pytest.mark.tiny
def test_sigmoid_far_out_does_not_overflow():
    assert sigmoid(-1e4) == 0.0
    assert sigmoid(1e4) == 1.0
    assert sigmoid(-700.0) == pytest.approx(np.exp(-700.0), rel=1e-12)


@pytest.mark.tiny
def test_smooth_step_is_the_cubic_with_flat_ends():
    # value and slope at both ends, odd around the middle: that is one cubic only
    for width in (0.5, 3.0):
        assert smooth_step(-0.5 * width, width) == 0.0
        assert smooth_step(0.5 * width, width) == 1.0
        assert smooth_step(0.0, width) == 0.5
        assert smooth_step(-0.25 * width, width) == pytest.approx(0.5 - 1.5 / 4 + 2 / 64)
        assert smooth_step_slope(0.4999999 * width, width) == pytest.approx(0.0, abs=1e-5)
    assert smooth_step(-0.1, 0.0) == 0.0  # a width of 0 is the crisp step
    assert smooth_step(0.1, 0.0) == 1.0


@pytest.mark.tiny
@pytest.mark.parametrize("kind", [SIGMOID, OBLIQUE, BLEND])
@pytest.mark.parametrize("passes", [False, True])
def test_shares_and_slopes(kind, passes):
    width, blend, step = 1.7, 0.6, 1e-6
    for z in Z:
        share = oblique_share(kind, z, width, blend, passes)
        assert 0.0 <= share <= 1.0
        slope = oblique_slope(kind, z, width, blend)
        if kind == OBLIQUE and abs(z) <= step:
            continue  # the jump
        up, down = (oblique_share(kind, z + d, width, blend, passes) for d in (step, -step))
        assert slope == pytest.approx((up - down) / (2 * step), abs=1e-5)


@pytest.mark.tiny
def test_blend_mixes_the_two_gates():
    assert oblique_share(BLEND, 9.0, 1.0, 0.3, False) == pytest.approx(0.3)
    assert oblique_share(BLEND, -9.0, 1.0, 0.3, True) == pytest.approx(0.7)
    assert oblique_share(BLEND, 9.0, 1.0, 0.3, True) == pytest.approx(1.0)


@pytest.mark.tiny
def test_oblique_gate_is_crisp_and_open_at_zero():
    assert oblique_share(OBLIQUE, 0.0, 0.0, 0.0, False) == 0.0
    assert oblique_share(OBLIQUE, 1e-300, 0.0, 0.0, False) == 1.0
