import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.loops.binning import encode_column

numbers = st.integers(-5, 5).map(float) | st.sampled_from([-np.inf, np.inf, 0.5, -0.0])


@pytest.mark.tiny
@given(
    cuts=st.lists(st.integers(-5, 5).map(float), max_size=9, unique=True).map(sorted),
    column=st.lists(numbers | st.just(np.nan), min_size=1, max_size=12),
)
def test_bin_is_the_number_of_cuts_at_or_below(cuts, column):
    points = np.column_stack([np.zeros(len(column)), column])
    out = np.full(points.shape, 77, dtype=np.uint8)
    encode_column(points, 1, np.array(cuts, dtype=float), out)
    expected = [len(cuts) + 1 if np.isnan(x) else sum(c <= x for c in cuts) for x in column]
    assert out[:, 1].tolist() == expected
    assert np.all(out[:, 0] == 77)
