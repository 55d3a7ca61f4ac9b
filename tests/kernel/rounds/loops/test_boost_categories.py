"""Sets of categories in the search of boosting, against all subsets."""

from itertools import combinations

import numpy as np
import pytest

from softwood.compiled import boosting as loop
from softwood.kernel.growing.loops.groups import Bins
from softwood.kernel.rounds.loops.boost_categories import KEY_BITS
from softwood.kernel.rounds.loops.boost_scores import BY_NUMBER, DRAWN, GAIN, LEFT_W, MISSING_LEFT, THRESHOLD, Rules

pytestmark = pytest.mark.tiny

NO_LIMITS = (-np.inf, np.inf, 0)


def members(subsets, line=0):
    bits = np.unpackbits(subsets[line].astype("<u4").view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())


def bins_of(n_categories):
    """One column of numbers before a column of categories, all of which occur."""
    values = np.concatenate([[0.5], np.arange(n_categories, dtype=np.float64)])
    offsets = np.array([0, 1, len(values)])
    codes = np.zeros((0, 2), np.uint8)
    return Bins(codes, values, values, values, offsets, np.arange(2), np.array([0, n_categories]))


def rules_of(**given):
    most = np.iinfo(np.int64).max
    defaults = {"max_leaves": 31, "max_depth": most, "min_mass": 0.0, "min_hessian": 1e-9, "min_gain": 0.0, "l2": 0.5}
    return Rules(**(defaults | {"cutoff": 0.0, "best_first": True} | given))


def table_of(seed, n, missing=0.0):
    """Histogram of two columns; that of the second one has `n` categories."""
    rng = np.random.default_rng(seed)
    table = np.zeros((2, n + 1, 4))
    table[1, :n, 0] = rng.integers(2, 9, n)
    table[1, :n, 1] = rng.normal(size=n) * table[1, :n, 0]
    table[1, :n, 2] = 2.0 * table[1, :n, 0]
    table[1, n] = missing * np.array([3.0, 2.0, 6.0, 0.0])
    return table


def slow_scores(table, l2):
    """Scores of all sets, with missing values on either side."""
    n = table.shape[1] - 1
    total = table[1].sum(axis=0)
    is_missing = table[1, n, 2] > 0
    for k in range(0 if is_missing else 1, n + 1):
        for chosen in combinations(range(n), k):
            for side in (0, 1) if is_missing else (0,):
                rows = [*chosen, *([n] if side else [])]
                if 0 < len(rows) < n + is_missing:
                    left = table[1, rows].sum(axis=0)
                    right = total - left
                    score = left[1] ** 2 / (left[0] + l2) + right[1] ** 2 / (right[0] + l2)
                    yield score, set(chosen), side


def run_search(table, rules):
    n = table.shape[1] - 1
    total, out = tuple(table[1, :, :3].sum(axis=0)), np.full((2, 6), np.nan)
    scratch = np.zeros((7, 2 * n + 2)), np.zeros(n + 1), np.zeros(n + 1, np.int64)
    loop.search_category(table, 1, n, total, rules, NO_LIMITS, *scratch, out, 1)
    return out[1], total


@pytest.mark.parametrize("missing", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_boosting_finds_the_best_of_all_subsets(seed, missing):
    """Without smoothing and regularisation, by Fisher's theorem; with missing values on their better side."""
    table, rules = table_of(seed, 6, missing), rules_of(l2=0.0)
    found, total = run_search(table, rules)
    best = max(slow_scores(table, 0.0), key=lambda entry: entry[0])
    assert found[GAIN] == pytest.approx(best[0], rel=1e-12)
    bins, subsets = bins_of(6), np.zeros((2, 1), np.uint32)
    split = found[THRESHOLD], found[LEFT_W]
    loop.set_subset(table, 1, bins, total[2], split, rules, np.zeros(7), np.zeros((2, 7), np.int64), subsets, 1)
    chosen = members(subsets, 1)
    left = table[1, sorted(chosen), 2].sum() + (table[1, 6, 2] if found[MISSING_LEFT] else 0.0) * (missing > 0)
    assert left == pytest.approx(found[LEFT_W])
    parts = np.empty(7)
    loop.set_category_parts(bins, 1, subsets, 1, 0.75, parts)
    assert parts.tolist() == [float(c in chosen) for c in range(6)] + [0.75]


def test_order_of_boosting():
    """By gradient over smoothed hessian; categories without rows are left out, rare ones are one entry."""
    table = table_of(2, 7)
    table[1, 2], table[1, 3, 2], table[1, 5, 2] = 0.0, 0.4, 0.3
    order, keys = np.zeros(8, np.int64), np.zeros(8)
    rules = rules_of(rare_mass=1.0, category_smooth=3.0)
    n, *rare = loop.order_categories(table, 1, 7, table[1, :, 2].sum(), rules, keys, order)
    assert rare == pytest.approx(table[1, [3, 5], :3].sum(axis=0).tolist())
    expected = {c: table[1, c, 1] / (table[1, c, 0] + 3.0) for c in (0, 1, 4, 6)} | {7: rare[1] / (rare[0] + 3.0)}
    assert order[:n].tolist() == sorted(expected, key=expected.get)
    bins, subsets = bins_of(7), np.zeros((1, 1), np.uint32)
    place = order[:n].tolist().index(7)
    for last in range(n - 1):
        scratch = np.zeros(8), np.zeros((2, 8), np.int64)
        loop.set_subset(table, 1, bins, 10.0, (last + 0.5, 5.0), rules, *scratch, subsets, 0)
        chosen = {int(c) for c in order[: last + 1] if c < 7}
        assert members(subsets) == (chosen | {2, 3, 5} if place <= last else chosen)


def test_order_by_number():
    """Categories without rows are left out, and go with the one before; rare ones are not merged."""
    table, rules = table_of(2, 7), rules_of(rare_mass=100.0, category_smooth=3.0, category_order=BY_NUMBER)
    table[1, [0, 2, 3]] = 0.0
    order, keys = np.zeros(8, np.int64), np.zeros(8)
    assert tuple(loop.order_categories(table, 1, 7, table[1, :, 2].sum(), rules, keys, order)) == (4, 0.0, 0.0, 0.0)
    assert order[:4].tolist() == [1, 4, 5, 6]
    bins, subsets, scratch = bins_of(7), np.zeros((1, 1), np.uint32), (np.zeros(8), np.zeros((2, 8), np.int64))
    for last, expected in enumerate(({0, 1, 2, 3}, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4, 5})):
        loop.set_subset(table, 1, bins, 10.0, (last + 0.5, 5.0), rules, *scratch, subsets, 0)
        assert members(subsets) == expected


def test_mixed_bits_are_different_and_spread():
    mixed = np.array([loop.mix_bits(x) for x in range(4096)])
    assert len(set(mixed.tolist())) == 4096, "a number has one source"
    assert np.all((mixed >= 0) & (mixed <= KEY_BITS))
    parts = np.bincount(mixed >> 27, minlength=16)
    assert parts.sum() == 4096
    assert np.all(np.abs(parts - 256) < 6 * 16), "as drawn numbers are, in each of 16 parts"


def test_drawn_orders():
    """All orders are about equally frequent, and those of two columns differ; a number always draws the same one."""
    table = np.stack([table_of(0, 4)[1]] * 2)
    table[:, 2] = 0.0
    order, keys = np.zeros(5, np.int64), np.zeros(5)
    found = {0: [], 1: []}
    for number in range(1200):
        rules = rules_of(rare_mass=100.0, category_order=DRAWN + number % 600)
        for j in found:
            n, *_ = loop.order_categories(table, j, 4, table[1, :, 2].sum(), rules, keys, order)
            found[j].append(tuple(order[:n].tolist()))
    assert found[0][:600] == found[0][600:]
    for orders in (found[0], [a + b for a, b in zip(found[0], found[1], strict=True)]):
        counts = [orders.count(one) for one in set(orders)]
        assert len(counts) == 6 ** (len(orders[0]) // 3)
        mean = len(orders) / len(counts)
        assert max(abs(count - mean) for count in counts) < 5.0 * np.sqrt(2.0 * mean)  # each order counts twice


def test_the_best_beginning_of_a_drawn_order_is_found():
    """Without an additional l2, among the beginnings only."""
    for number in range(5):
        table, rules = table_of(number, 6), rules_of(category_l2=10.0, category_order=DRAWN + number)
        order = np.zeros(7, np.int64)
        loop.order_categories(table, 1, 6, table[1, :, 2].sum(), rules, np.zeros(7), order)
        beginnings = [set(order[:k].tolist()) for k in range(1, 6)]
        found, total = run_search(table, rules)
        best = max((entry for entry in slow_scores(table, 0.5) if entry[1] in beginnings), key=lambda entry: entry[0])
        assert found[GAIN] == pytest.approx(best[0], rel=1e-12)
        subsets, scratch = np.zeros((1, 1), np.uint32), (np.zeros(7), np.zeros((2, 7), np.int64))
        split = found[THRESHOLD], found[LEFT_W]
        loop.set_subset(table, 1, bins_of(6), total[2], split, rules, *scratch, subsets, 0)
        assert members(subsets) == best[1]


def test_many_categories_are_compared_more_strictly():
    """Up to four groups as thresholds are; more of them with a larger l2."""
    rules = rules_of(category_l2=10.0)
    assert tuple(loop.stricter(rules)) == rules._replace(l2=10.5)
    for n, l2 in ((4, 0.5), (6, 10.5)):
        table = table_of(1, n)
        table[1, :, 0] = table[1, :, 0].max()  # equal hessians: the order does not depend on l2
        table[1, n] = 0.0
        best = max(score for score, _, _ in slow_scores(table, l2))
        assert run_search(table, rules)[0][GAIN] == pytest.approx(best, rel=1e-12)


def test_nothing_to_scan():
    """One category, or none."""
    for n in (0, 1):
        table, out = table_of(0, n), np.full((1, 6), -np.inf)
        total, start = tuple(table[1, :, :3].sum(axis=0)), (0.0, 0.0, 0.0)
        scratch = np.zeros((7, 4)), np.zeros(n + 1), np.zeros(n + 1, np.int64)
        loop.scan_categories(table, 1, n, total, start, rules_of(), NO_LIMITS, *scratch, out, 0)
        assert out[0, GAIN] == -np.inf
