import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled.trees import box_share, box_shares, kernel_cdf, kernel_density, kernel_share
from tests.reference.kernels import SHAPES, cdf, density, interval_mass, left_share
from tests.reference.kernels import table as shape_table

places = st.integers(-24, 24).map(lambda k: k / 8) | st.floats(-3, 3)
widths = st.sampled_from([0.0, 1e-3, 0.25, 1.0, 7.0])
shapes = st.sampled_from(SHAPES)


def table(shape):
    """A table of one shape, as the loops take it: the number of the shape, edges, distribution values."""
    edges, values = shape_table(shape)
    return 0, edges[None], values[None]


@pytest.mark.tiny
@given(t=places, x=places, width=widths, shape=shapes)
def test_distribution_function(t, x, width, shape):
    assert kernel_cdf(t, x, width, *table(shape)) == pytest.approx(cdf(t, x, width, shape), abs=1e-12)


@pytest.mark.tiny
@pytest.mark.parametrize("shape", SHAPES)
def test_distribution_function_rises_from_0_to_1(shape):
    kernel = table(shape)
    at = np.linspace(-10, 10, 401)
    found = [kernel_cdf(t, 0.5, 2.0, *kernel) for t in at]
    assert found[0] == 0.0
    assert found[-1] == 1.0
    assert np.all(np.diff(found) >= 0)
    assert kernel_cdf(-np.inf, 0.5, 2.0, *kernel) == 0.0
    assert kernel_cdf(np.inf, 0.5, 2.0, *kernel) == 1.0


@pytest.mark.tiny
def test_a_crisp_point_is_left_of_its_own_place():
    kernel = table(SHAPES[0])
    assert kernel_cdf(1.0, 1.0, 0.0, *kernel) == 1.0
    assert kernel_cdf(np.nextafter(1.0, 0), 1.0, 0.0, *kernel) == 0.0


@pytest.mark.tiny
@given(t=places, x=places, width=widths, shape=shapes)
def test_density_is_the_slope_of_the_distribution_function(t, x, width, shape):
    kernel = table(shape)
    found = kernel_density(t, x, width, *kernel)
    near_edge = np.any(np.abs(x + width * kernel[1] - t) < 1e-6)
    if not near_edge:
        assert found == pytest.approx(density(t, x, width, shape), rel=1e-9)
        step = 1e-7
        rise = kernel_cdf(t + step, x, width, *kernel) - kernel_cdf(t - step, x, width, *kernel)
        assert rise / (2 * step) == pytest.approx(found, abs=1e-5)


@pytest.mark.tiny
@given(ends=st.lists(places, min_size=3, max_size=3, unique=True), x=places, width=widths, shape=shapes)
def test_share_within_an_interval(ends, x, width, shape):
    lo, t, hi = sorted(ends)
    kernel = table(shape)
    lower, upper = (kernel_cdf(end, x, width, *kernel) for end in (lo, hi))
    if upper - lower > 1e-9:
        share = kernel_share(t, x, width, *kernel, lower, upper)
        assert 0.0 <= share <= 1.0
        assert share == pytest.approx(left_share(t, x, width, lo, hi, shape), abs=1e-6)


@pytest.mark.tiny
@given(ends=st.lists(places, min_size=3, max_size=3, unique=True), x=places, width=widths, is_open=st.booleans())
def test_share_of_a_box(ends, x, width, is_open):
    lo, t, hi = sorted(ends)
    lo, hi = (-np.inf, np.inf) if is_open else (lo, hi)
    if interval_mass(x, width, lo, hi) > 1e-9:
        share = box_share(t, x, width, lo, hi)
        assert 0.0 <= share <= 1.0
        assert share == pytest.approx(left_share(t, x, width, lo, hi), abs=1e-6)


@pytest.mark.tiny
def test_a_crisp_box_is_left_of_its_own_place():
    assert box_share(1.0, 1.0, 0.0, -np.inf, np.inf) == 1.0
    assert box_share(np.nextafter(1.0, 0), 1.0, 0.0, -np.inf, np.inf) == 0.0
    assert box_share(0.25, 0.0, 1.0, -np.inf, np.inf) == 0.625
    assert box_share(0.25, 0.0, 1.0, 0.0, 0.5) == 0.5


@pytest.mark.tiny
@given(
    x=st.lists(places | st.just(np.nan), max_size=40), t=places, width=widths,
    ends=st.lists(places | st.sampled_from([-np.inf, np.inf]), min_size=2, max_size=2),
    missing=st.sampled_from([0.3, np.nan]),
)  # fmt: skip
def test_shares_of_many_boxes_are_those_of_each(x, t, width, ends, missing):
    """To the last bit, boxes outside of the interval included; entries after the last box stay as they are."""
    lo, hi = min(ends), max(ends)
    if not lo < t < hi:
        lo, hi = -np.inf, np.inf
    expected = [missing if np.isnan(each) else box_share(t, each, width, lo, hi) for each in x]
    found = np.array([*x, 7.0])
    box_shares(found, len(x), t, width, (lo, hi), missing)
    np.testing.assert_array_equal(found, [*expected, 7.0])
