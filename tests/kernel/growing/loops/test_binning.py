import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled.growing import encode_column, part_of
from softwood.kernel.growing.loops.binning import N_PARTS

numbers = st.integers(-5, 5).map(float) | st.sampled_from([-np.inf, np.inf, 0.5, -0.0])


finite = st.floats(allow_nan=False, allow_infinity=False)


def expected_bins(cuts, column):
    return [len(cuts) + 1 if np.isnan(x) else sum(c <= x for c in cuts) for x in column]


@pytest.mark.tiny
@given(
    cuts=st.lists(st.integers(-5, 5).map(float), max_size=9, unique=True).map(sorted),
    column=st.lists(numbers | st.just(np.nan), min_size=1, max_size=12),
)
def test_bin_is_the_number_of_cuts_at_or_below(cuts, column):
    points = np.column_stack([np.zeros(len(column)), column])
    out = np.full(points.shape, 77, dtype=np.uint8)
    encode_column(points, 1, np.array(cuts, dtype=float), out)
    assert out[:, 1].tolist() == expected_bins(cuts, column)
    assert np.all(out[:, 0] == 77)


@pytest.mark.tiny
@given(
    cuts=st.lists(finite, max_size=9, unique=True).map(sorted),
    column=st.lists(finite | st.just(np.nan), max_size=9),
)
def test_bins_of_any_range(cuts, column):
    """Huge, tiny, and skewed: the parts of the range are then too many or too few, but no value is in a wrong bin."""
    with np.errstate(all="ignore"):  # the smallest number has no neighbour; and the loop may not be compiled
        column = [*column, *cuts, *np.nextafter(cuts, -np.inf)]
        out = np.zeros((len(column), 1), dtype=np.uint8)
        if column:
            encode_column(np.array(column)[:, None], 0, np.array(cuts, dtype=float), out)
    assert out[:, 0].tolist() == expected_bins(cuts, column)


@pytest.mark.tiny
@given(st.lists(finite | st.sampled_from([-np.inf, np.inf]), min_size=2, max_size=9), finite, st.floats(0.0, 1e300))
def test_parts_rise_with_the_value(values, low, scale):
    with np.errstate(all="ignore"):
        parts = [part_of(x, low, scale) for x in sorted(values)]
    assert parts == sorted(parts)
    assert parts[0] >= 0
    assert parts[-1] < N_PARTS
    assert part_of(low, low, scale) == 0
