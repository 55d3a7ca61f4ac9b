import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled.growing import add_points, lowest_bit, mark_points, take_atoms


def run(codes, n_bins, points, labels, q, *, sparse, values):
    """Atoms of the points whose bins are `codes`, by the loops."""
    m = len(codes)
    matrix = np.zeros((m + 3, 2), dtype=np.uint32)
    rows = np.arange(m + 3, dtype=np.uint32)[::-1].copy()  # the node's rows begin at place 1
    matrix[rows[1 : m + 1], 1] = codes
    tables = np.zeros((3, n_bins + 1, 1 + q if labels is None else 3 + q))  # with labels, some may not be in use
    tables[[0, 2]] = 7.0  # the tables of other features
    words = np.zeros((n_bins >> 6) + 1, dtype=np.uint64)
    groups = np.zeros((len(words) >> 6) + 1, dtype=np.uint64)
    atoms = np.full((n_bins, 3 + q), np.nan)
    half = m // 2  # in two blocks
    add_points(matrix, 1, rows, 1, points, labels, 0, half, tables, 1)
    add_points(matrix, 1, rows, 1, points, labels, half, m, tables, 1)
    if sparse:
        mark_points(matrix, 1, rows, 1, m, words, groups)
    n = take_atoms(tables, 1, words, groups, values, 4, n_bins, q, sparse, atoms)
    assert not tables[1].any()
    assert np.all(tables[[0, 2]] == 7.0)
    assert not words.any()
    assert not groups.any()
    return atoms[:n]


def slow(codes, n_bins, points, sums, values):
    """The same by definition: points of a bin together, and missing ones in proportion to the mass of the others."""
    rows = []
    for c in range(n_bins):
        here = codes == c
        if here.any():
            rows.append([values[4 + c], 4 + c, points[here, 0].sum(), *sums[here].sum(axis=0)])
    out = np.array(rows).reshape(len(rows), 3 + sums.shape[1])
    missing = codes == n_bins
    if len(out):
        out[:, 2:] += np.outer(
            out[:, 2] / out[:, 2].sum(), np.column_stack([points[missing, :1], sums[missing]]).sum(axis=0)
        )
    return out


@pytest.mark.tiny
@given(
    codes=st.lists(st.integers(0, 12), min_size=1, max_size=20),
    spread=st.sampled_from([1, 7, 500]),
    q=st.integers(1, 3),
    labelled=st.booleans(),
    sparse=st.booleans(),
    seed=st.integers(0, 99),
)
def test_atoms_are_the_occupied_bins_in_order(codes, spread, q, labelled, sparse, seed):
    rng = np.random.default_rng(seed)
    codes, n_bins = np.array(codes) * spread, 12 * spread
    masses = rng.random(len(codes)) + 0.1
    values = np.sort(rng.normal(size=4 + n_bins))
    if labelled:
        labels = rng.integers(q, size=len(codes)).astype(np.int32)
        points, sums = masses[:, None], masses[:, None] * np.eye(q)[labels]
    else:
        labels, sums = None, rng.normal(size=(len(codes), q))
        points = np.column_stack([masses, sums])
    found = run(codes, n_bins, points, labels, q, sparse=sparse, values=values)
    assert found == pytest.approx(slow(codes, n_bins, points, sums, values), rel=1e-12)


@pytest.mark.tiny
def test_all_values_missing():
    codes = np.full(3, 5)
    found = run(codes, 5, np.ones((3, 2)), None, 1, sparse=True, values=np.arange(9.0))
    assert len(found) == 0


@pytest.mark.tiny
@given(st.integers(1, 2**64 - 1) | st.integers(0, 63).map(lambda k: 2**k))
def test_lowest_bit(word):
    assert lowest_bit(np.uint64(word)) == next(k for k in range(64) if word >> k & 1)


@pytest.mark.tiny
@given(st.lists(st.integers(0, 9000), min_size=1, max_size=30))
def test_marks_are_the_bits_of_the_occupied_bins(codes):
    rows = np.arange(len(codes) + 2, dtype=np.uint32)[::-1].copy()
    matrix = np.full((len(codes) + 2, 2), 5, dtype=np.uint32)
    matrix[rows[2:], 1] = codes
    words, groups = np.zeros(141, dtype=np.uint64), np.zeros(3, dtype=np.uint64)
    mark_points(matrix, 1, rows, 2, len(codes), words, groups)
    occupied = {k for k in range(9001) if int(words[k // 64]) >> k % 64 & 1}
    assert occupied == set(codes)
    assert {k for k in range(141) if int(groups[k // 64]) >> k % 64 & 1} == {code // 64 for code in codes}
