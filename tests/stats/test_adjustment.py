import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.stats import holm

p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def rejected(p_values, alpha):
    """Holm's procedure, step by step: from the smallest p-value on, until one is too large."""
    out = [False] * len(p_values)
    for step, i in enumerate(np.argsort(p_values, kind="stable")):
        if p_values[i] * (len(p_values) - step) > alpha:
            break
        out[i] = True
    return out


@given(p_lists, st.sampled_from([0.01, 0.05, 0.3]))
def test_adjusted_p_values_reject_what_the_procedure_rejects(p_values, alpha):
    assert (holm(p_values) <= alpha).tolist() == rejected(p_values, alpha)


@given(p_lists)
def test_between_the_raw_and_bonferronis(p_values):
    adjusted, p = holm(p_values), np.array(p_values)
    assert np.all((adjusted >= p) & (adjusted <= 1))
    assert np.all(adjusted <= np.minimum(p * len(p), 1))
    assert np.array_equal(holm(p[::-1]), adjusted[::-1])
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(adjusted[order]) >= 0)


@pytest.mark.parametrize(
    ("p_values", "message"),
    [
        ([], r"p_values must be a list of at least 1 p-value. Got the shape \(0,\)"),
        ([[0.1]], r"Got the shape \(1, 1\)"),
        ([0.1, np.nan], "p_values must be finite numbers. Got nan"),
        ([0.1, 1.2], r"p_values must be in the range \[0, 1\]. Got 1.2"),
        ([-0.1], "Got -0.1"),
    ],
)
def test_bad_p_values_are_named(p_values, message):
    with pytest.raises(ValueError, match=message):
        holm(p_values)
