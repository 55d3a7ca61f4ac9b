"""Growth by levels, adding up: histograms and sums of whole numbers, by definition."""

import numpy as np
import pytest

from softwood.compiled.boosting import add_classes, add_columns, add_node, add_totals, gather_values, weigh_rows
from softwood.kernel.parts.loops.sums import BLOCK


def random_rows(seed, *, n_columns, is_soft, n=BLOCK + 40, p=3, n_bins=5):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_bins + 1, size=(n, p)).astype(np.uint8)
    rows = rng.permutation(n).astype(np.uint32)
    shares = rng.random(n) if is_soft else None
    values = rng.normal(0, 100, size=(n, n_columns))
    return (
        codes,
        rows,
        shares,
        values if is_soft else np.rint(values).astype(np.int64),
        rng.integers(0, 3, n).astype(np.int32),
    )


def one_by_one(rows, begin, end, shares, values):
    """Row, and its whole numbers."""
    for k in range(begin, end):
        i = int(rows[k])
        yield i, [round(float(v) if shares is None else float(shares[k] * v)) for v in values[i]]


@pytest.mark.tiny
@pytest.mark.parametrize("is_soft", [False, True])
@pytest.mark.parametrize(("n_columns", "has_labels"), [(2, False), (4, False), (1, True)])
def test_histograms_add_up_rows(is_soft, n_columns, has_labels):
    codes, rows, shares, values, labels = random_rows(0, n_columns=n_columns, is_soft=is_soft)
    begin, end, features = 7, len(rows) - 3, np.array([2, 0])
    width = 4 if has_labels else n_columns
    tables = np.zeros((2, 6, width), np.int64)
    block = np.empty((BLOCK + 1, n_columns), np.int64)
    add_node(codes, rows, begin, end, shares, values, labels if has_labels else None, features, tables, block)
    expected = np.zeros_like(tables)
    for i, numbers in one_by_one(rows, begin, end, shares, values):
        for f, j in enumerate(features):
            if has_labels:
                expected[f, codes[i, j], 0] += numbers[0]
                expected[f, codes[i, j], 1 + labels[i]] += numbers[0]
            else:
                expected[f, codes[i, j]] += numbers
    np.testing.assert_array_equal(tables, expected)


@pytest.mark.tiny
@pytest.mark.parametrize("is_soft", [False, True])
@pytest.mark.parametrize("has_labels", [False, True])
def test_sums_of_some_slots(is_soft, has_labels):
    _, rows, shares, values, labels = random_rows(1, n_columns=1 if has_labels else 3, is_soft=is_soft)
    begins, slots = np.array([0, 10, 10, BLOCK + 30, len(rows)]), np.array([2, 1, 0])
    totals = np.zeros((3, 4 if has_labels else 3), np.int64)
    block = np.empty((BLOCK, values.shape[1]), np.int64)
    add_totals(rows, begins, slots, shares, values, labels if has_labels else None, totals, block)
    expected = np.zeros_like(totals)
    for k, slot in enumerate(slots):
        for i, numbers in one_by_one(rows, begins[slot], begins[slot + 1], shares, values):
            if has_labels:
                expected[k, [0, 1 + labels[i]]] += numbers[0]
            else:
                expected[k] += numbers
    np.testing.assert_array_equal(totals, expected)


@pytest.mark.tiny
def test_parts_add_up_to_the_whole_in_any_order():
    codes, rows, shares, values, _ = random_rows(2, n_columns=4, is_soft=True)
    features, block = np.arange(3), np.empty((BLOCK + 1, 4), np.int64)
    whole = np.zeros((3, 6, 4), np.int64)
    add_node(codes, rows, 0, len(rows), shares, values, None, features, whole, block)
    order = np.random.default_rng(3).permutation(len(rows))
    total = np.zeros_like(whole)
    for part in np.array_split(order, 4):
        own = np.zeros_like(whole)
        add_node(codes, rows[part], 0, len(part), shares[part], values, None, features, own, block)
        total += own
    np.testing.assert_array_equal(whole, total)


@pytest.mark.tiny
def test_rows_are_gathered_and_four_columns_added():
    codes, rows, shares, values, _ = random_rows(4, n_columns=4, is_soft=True)
    block, tables = np.zeros((BLOCK, 4), np.int64), np.zeros((1, 6, 4), np.int64)
    gather_values(rows, 5, 25, shares, values, block)
    np.testing.assert_array_equal(block[:20], np.rint(shares[5:25, None] * values[rows[5:25]]))
    add_columns(codes, rows, 5, 25, np.array([1]), tables, block)
    expected = [block[:20][codes[rows[5:25], 1] == c].sum(axis=0) for c in range(6)]
    np.testing.assert_array_equal(tables[0], expected)


@pytest.mark.tiny
@pytest.mark.parametrize("is_whole", [False, True])
def test_numbers_of_boosting(is_whole):
    rng = np.random.default_rng(5)
    h, g, w, scales = rng.random(9), rng.normal(size=9), rng.random(9), np.array([8.0, 64.0, 2.0])
    counts = np.array([1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0])
    values = np.full((7, 4), 9, np.int64 if is_whole else np.float64)
    largest = weigh_rows(h, g, w, counts, scales, is_whole, values)
    assert largest == (np.max(h[:7] * counts), np.max(np.abs(g[:7] * counts)))
    expected = np.column_stack([h, g, w])[:7] * counts[:, None] * scales
    np.testing.assert_array_equal(values[:, :3], np.rint(expected) if is_whole else expected)
    np.testing.assert_array_equal(values[:, 3], 0)


@pytest.mark.tiny
def test_rows_are_added_to_the_columns_of_their_classes():
    rng = np.random.default_rng(5)
    codes, labels = rng.integers(0, 3, (9, 2)).astype(np.uint8), rng.integers(0, 2, 9).astype(np.int32)
    rows, block = rng.permutation(9).astype(np.uint32), rng.integers(1, 5, (4, 1))
    tables = np.zeros((2, 4, 3), np.int64)
    add_classes(codes, rows, 3, 7, labels, np.array([1, 0]), tables, block)
    expected = np.zeros_like(tables)
    for k in range(4):
        i = rows[3 + k]
        for f, j in enumerate((1, 0)):
            expected[f, codes[i, j], 0] += block[k, 0]
            expected[f, codes[i, j], 1 + labels[i]] += block[k, 0]
    np.testing.assert_array_equal(tables, expected)
