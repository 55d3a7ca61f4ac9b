"""What leaves remember of the features against numpy, and the best test against all tests."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from softwood.compiled import stream as loop
from softwood.stream.loops import observers
from softwood.stream.loops.layout import (
    FIRST_KEY,
    GINI,
    IGNORED,
    INFO_GAIN,
    N_SLOT_KEYS,
    OWNER,
    UNLIKELY,
    Statistics,
)
from tests.reference import observers as slow

criteria = pytest.mark.parametrize("criterion", [INFO_GAIN, GINI])
seeds = pytest.mark.parametrize("seed", range(4))
numbers = st.floats(-1e6, 1e6, allow_subnormal=False) | st.sampled_from([0.0, 1.0, -3.5])
N_BINS = 64
IS_CATEGORY = [False, False, False, True]


def rows(seed, n=60, n_classes=3, missing=0.1):
    """Two columns of numbers, one of few values, one of categories; classes and weights that are not 1."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, 4)) + labels[:, None] * [1.0, -0.3, 0.0, 0.0]
    X[:, 2] = np.round(X[:, 2])
    X[:, 3] = rng.random(n) < [0.2, 0.5, 0.9][seed % 3]
    X[rng.random(X.shape) < missing] = np.nan
    return X, labels, rng.integers(1, 9, size=n) / 4


def statistics_of(stats, slots=None, is_category=None):
    """The tuple of arrays that loops take; columns are numbers unless it is said that they are categories."""
    is_category = np.zeros(stats.shape[1]) if is_category is None else np.array(is_category)
    source = is_category.astype(np.int64)
    n_values = np.where(source > 0, np.bincount(source)[source], 0)
    return Statistics(slots, stats, None, source, None, np.zeros((2, 3)), n_values)


def class_slot(X, labels, weights, n_classes=3, n_slots=3, slot=1, is_category=None):
    slots = np.full((n_slots, FIRST_KEY + n_classes), -1, dtype=np.int64)
    stats = np.full((n_slots, X.shape[1], n_classes, observers.N_NORMAL_NUMBERS), np.nan)
    slots[slot, OWNER] = 5
    statistics = statistics_of(stats, slots, is_category)
    loop.clear_slot(statistics, slot)
    for i, (label, w) in enumerate(zip(labels, weights, strict=True)):
        loop.observe_class(statistics, slot, X, i, label, w, True)
    return statistics, slot


def real_slot(X, targets, weights, n_bins=N_BINS, is_category=None):
    stats = np.zeros((1, X.shape[1], n_bins + 1, observers.N_BIN_NUMBERS))
    statistics = statistics_of(stats, None, is_category)
    for i, (y, w) in enumerate(zip(targets, weights, strict=True)):
        loop.observe_real(statistics, 0, X, i, y, w)
    return statistics


# ------------------------------------------------------------------ slots


@pytest.mark.tiny
def test_slots_are_given_emptied_until_there_is_none():
    slots, stats = np.full((2, 4), -1, dtype=np.int64), np.ones((2, 1, 2, 7))
    statistics = statistics_of(stats, slots)
    assert [loop.take_slot(statistics, node) for node in (7, 8, 9)] == [0, 1, -1]
    assert slots[:, OWNER].tolist() == [7, 8]
    assert not stats.any()
    slots[0, OWNER] = -1
    assert loop.take_slot(statistics, 9) == 0


@pytest.mark.tiny
def test_classes_are_noted_in_the_order_in_which_they_came():
    statistics, slot = class_slot(np.zeros((5, 1)), [2, 0, 2, 1, 0], np.ones(5))
    assert statistics.slots[slot, N_SLOT_KEYS] == 3
    assert statistics.slots[slot, FIRST_KEY:].tolist() == [2, 0, 1]


# ------------------------------------------------------------------ normal distributions


@pytest.mark.tiny
@given(st.lists(st.tuples(numbers, st.integers(1, 5)), min_size=1, max_size=30))
def test_a_row_of_weight_k_is_k_rows(pairs):
    x, k = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    statistics, slot = class_slot(x[:, None], [0] * len(x), k.astype(float), n_classes=1)
    all_rows, found = np.repeat(x, k), statistics.stats[slot, 0, 0]
    assert found[observers.N] == len(all_rows)
    assert found[observers.CENTER] == pytest.approx(all_rows.mean(), abs=1e-9 * np.abs(x).max())
    squares = ((all_rows - all_rows.mean()) ** 2).sum()
    assert found[observers.SQUARES] == pytest.approx(squares, abs=1e-9 * (x**2).max())
    assert (found[observers.LOWEST], found[observers.HIGHEST]) == (x.min(), x.max())


@pytest.mark.tiny
def test_missing_values_and_other_slots_and_classes_are_left_alone():
    statistics, slot = class_slot(np.array([[1.0, np.nan], [3.0, 2.0]]), [2, 2], [1.0, 1.0])
    stats = statistics.stats
    assert stats[slot, :, 2, observers.N].tolist() == [2.0, 1.0]
    assert not stats[slot, :, :2].any()
    assert np.isnan(stats[[0, 2]]).all()


def log_density(statistics, slot, points, i, label, unseen):
    """That of one class, with and without the others."""
    n_classes = statistics.stats.shape[2]
    keys, out = np.arange(n_classes).reshape(1, -1)[:, ::-1].copy(), np.zeros((2, n_classes))
    loop.add_log_densities(statistics, slot, points, i, keys, 0, n_classes, unseen, out, 1)
    alone = np.zeros((1, n_classes))
    loop.add_log_densities(statistics, slot, points, i, np.array([[label]]), 0, 1, unseen, alone, 0)
    assert alone[0, label] == out[1, label]
    assert not out[0].any()
    assert np.count_nonzero(alone) <= 1
    return alone[0, label]


@pytest.mark.tiny
@seeds
def test_log_density_is_that_of_normal_distributions(seed):
    X, labels, weights = rows(seed)
    statistics, slot = class_slot(X, labels, weights, is_category=IS_CATEGORY)
    seen = slow.Seen.of(X, labels, weights)
    for i in range(8):
        for label in range(3):
            for unseen in (IGNORED, UNLIKELY):
                found = log_density(statistics, slot, X, i, label, unseen)
                expected = slow.log_density(seen, X[i], label, IS_CATEGORY, unseen == UNLIKELY)
                assert found == pytest.approx(expected)


@pytest.mark.tiny
def test_log_density_against_scipy_and_by_hand():
    stats_of = pytest.importorskip("scipy.stats")
    X = np.random.default_rng(0).normal(size=(50, 2))
    X[:, 1] = X[:, 1] > 0
    statistics, slot = class_slot(X, [0] * 50, np.ones(50), n_classes=1, is_category=[False, True])
    expected = stats_of.norm(X[:, 0].mean(), X[:, 0].std(ddof=1)).logpdf(0.3)
    points = np.array([[0.3, np.nan], [0.3, 0.0], [0.3, 1.0]])
    found = [log_density(statistics, slot, points, i, 0, IGNORED) for i in range(3)]
    # Only the category that the row has counts, with its share.
    assert found == pytest.approx([expected, expected, expected + math.log(X[:, 1].mean())])


@pytest.mark.tiny
@pytest.mark.parametrize("values", [[], [2.0], [2.0, 2.0]])
def test_features_without_a_variance_add_nothing(values):
    X = np.array([[v] for v in values]).reshape(-1, 1)
    statistics, slot = class_slot(X, [0] * len(X), np.ones(len(X)), n_classes=1)
    assert log_density(statistics, slot, np.array([[3.0]]), 0, 0, IGNORED) == 0.0


@pytest.mark.tiny
def test_values_that_a_class_has_not_shown_have_no_density():
    X, is_category = np.array([[2.0, 1.0, 0.0], [2.0, 0.0, 1.0], [2.0, 0.0, 1.0]]), [False, True, True]
    statistics, slot = class_slot(X, [0, 0, 0], np.ones(3), n_classes=2, is_category=is_category)
    rows = np.array([[2.0, 0.0, 1.0], [2.0, 0.0, 0.0], [np.nan, 1.0, 0.0], [3.0, 0.0, 1.0]])
    found = [log_density(statistics, slot, rows, i, 0, UNLIKELY) for i in range(4)]
    assert found == pytest.approx([math.log(3 / 5), 0.0, math.log(2 / 5), -math.inf])
    assert [log_density(statistics, slot, rows, i, 1, UNLIKELY) for i in range(4)] == [-math.inf] * 4


@pytest.mark.tiny
@given(st.integers(0, 10**6), st.floats(-4, 4))
def test_weight_below_is_that_of_the_normal_distribution(seed, threshold):
    X, labels, weights = rows(seed, n=25)
    statistics, slot = class_slot(X, labels, weights, is_category=IS_CATEGORY)
    seen = slow.Seen.of(X, labels, weights)
    for j in range(4):
        for label in range(3):
            found = loop.weight_below(statistics, slot, j, label, threshold)
            assert found == pytest.approx(slow.weight_below(*seen.known(j, label), threshold, j == 3), abs=1e-9)
            assert 0.0 <= found <= statistics.stats[slot, j, label, observers.N]


@pytest.mark.tiny
def test_all_weight_is_below_the_highest_value_itself_and_none_below_the_lowest():
    X = np.array([[1.0], [2.0], [4.0]])
    statistics, slot = class_slot(X, [0] * 3, np.ones(3), n_classes=1)
    below = [loop.weight_below(statistics, slot, 0, 0, t) for t in (0.999, 4.0, 3.999)]
    assert below[:2] == [0.0, 3.0]
    assert 0.0 < below[2] < 3.0


# ------------------------------------------------------------------ impurity and merits


@pytest.mark.tiny
@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=6))
def test_impurity_is_entropy_in_bits_or_gini(weights):
    weights = np.array(weights)
    assume(weights.sum() > 1e-6)
    assert loop.impurity(np.array([weights], dtype=float), 0, INFO_GAIN) == pytest.approx(
        slow.impurity(weights, False), abs=1e-9
    )
    assert loop.impurity(np.array([weights], dtype=float), 0, GINI) == pytest.approx(
        slow.impurity(weights, True), abs=1e-9
    )


@pytest.mark.tiny
def test_impurity_by_hand():
    assert loop.impurity(np.array([[2.0, 2.0]]), 0, INFO_GAIN) == pytest.approx(1.0)
    assert loop.impurity(np.array([[1.0, 1.0, 2.0]]), 0, INFO_GAIN) == pytest.approx(1.5)
    assert loop.impurity(np.array([[1.0, 1.0, 2.0]]), 0, GINI) == pytest.approx(1 - (1 + 1 + 4) / 16)
    assert loop.impurity(np.zeros((1, 3)), 0, INFO_GAIN) == 0.0


@pytest.mark.tiny
@criteria
@seeds
def test_merit_is_the_decrease_of_impurity(seed, criterion):
    X, labels, weights = rows(seed)
    statistics, slot = class_slot(X, labels, weights, is_category=IS_CATEGORY)
    seen, before = slow.Seen.of(X, labels, weights), 1.2345
    for j in range(4):
        for threshold in (-50.0, -1.0, 0.1, 2.0, 50.0):
            for fraction in (0.0, 0.3):
                found = loop.merit_of_threshold(statistics, slot, j, threshold, before, fraction, criterion)
                expected = slow.class_merit(seen, j, threshold, before, j == 3, fraction, criterion == GINI)
                assert found == pytest.approx(expected)


@pytest.mark.tiny
@criteria
def test_merit_of_a_category_is_exact(criterion):
    X, labels = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]]), [0, 0, 0, 1, 1]
    statistics, slot = class_slot(X, labels, np.ones(5), n_classes=2, is_category=[True])
    is_gini = criterion == GINI
    before = slow.impurity([3, 2], is_gini)
    expected = before - 3 / 5 * slow.impurity([1, 2], is_gini)
    assert loop.merit_of_threshold(statistics, slot, 0, 0.5, before, 0.0, criterion) == pytest.approx(expected)
    found = loop.best_class_test(statistics, slot, before, 0.0, criterion, 1)
    assert found[:2] == (0, 0.5)
    assert found[2] == pytest.approx(expected)
    assert found[3] == -math.inf


# ------------------------------------------------------------------ best test for classes


@pytest.mark.tiny
@given(st.integers(0, 10**6), st.sampled_from([INFO_GAIN, GINI]), st.sampled_from([0.0, 0.01, 0.2]), st.integers(1, 30))
def test_no_test_beats_the_one_found(seed, criterion, fraction, n):
    X, labels, weights = rows(seed, n=n)
    statistics, slot = class_slot(X, labels, weights, is_category=IS_CATEGORY)
    seen = slow.Seen.of(X, labels, weights)
    before = slow.impurity(np.bincount(labels, weights), criterion == GINI)
    feature, threshold, merit, second, _ = loop.best_class_test(statistics, slot, before, fraction, criterion, 1)
    expected = slow.best_class_test(seen, before, IS_CATEGORY, fraction, criterion == GINI)
    assert (merit, second) == pytest.approx(expected[2:])
    if feature < 0:
        assert expected[0] == -1
        return
    assert threshold == pytest.approx(
        min(slow.candidates(seen, feature, feature == 3), key=lambda t: abs(t - threshold))
    )
    own = slow.class_merit(seen, feature, threshold, before, feature == 3, fraction, criterion == GINI)
    assert own == pytest.approx(merit)


@pytest.mark.tiny
def test_of_equal_features_the_last_is_taken():
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 1)), 3, axis=1)
    labels = (X[:, 0] > 0).astype(int)
    statistics, slot = class_slot(X, labels, np.ones(20), n_classes=2)
    feature, _, merit, second, _ = loop.best_class_test(statistics, slot, 1.0, 0.0, INFO_GAIN, 1)
    assert feature == 2
    assert merit == second


@pytest.mark.tiny
def test_there_is_no_test_on_constant_or_missing_features():
    X = np.array([[1.0, np.nan], [1.0, np.nan]])
    statistics, slot = class_slot(X, [0, 1], np.ones(2), n_classes=2)
    found = loop.best_class_test(statistics, slot, 1.0, 0.0, INFO_GAIN, 1)
    assert found[0] == -1
    assert found[2:4] == (-math.inf, -math.inf)


# ------------------------------------------------------------------ histograms


wide = st.floats(-1e300, 1e300) | st.floats(-1e-300, 1e-300) | st.floats(-10, 10) | st.sampled_from([1e-5, 1e5, 0.0])


@pytest.mark.tiny
@given(
    st.lists(st.tuples(wide, st.floats(-1e3, 1e3), st.integers(1, 4)), min_size=1, max_size=25),
    st.sampled_from([2, 4, N_BINS]),
)
@example([(1.0, 0.0, 1), (1e300, 1.0, 1), (-1e300, 2.0, 1), (5e-324, 3.0, 1)], N_BINS)
@example([(-1.7e308, 0.0, 1), (1.7e308, 1.0, 1), (0.0, 2.0, 1)], N_BINS)
@example([(-1e308, 0.0, 1), (1e308, 1.0, 1), (-1.7e308, 2.0, 1), (1.7e308, 3.0, 1)], N_BINS)
def test_a_histogram_loses_nothing_when_widened(triples, n_bins):
    x, y, w = (np.array(column, dtype=float) for column in zip(*triples, strict=True))
    statistics = real_slot(x[:, None], y, w, n_bins)
    stats, sides = statistics.stats, statistics.sides
    bins = stats[0, 0, :n_bins]
    assert stats[0, 0, n_bins, observers.TOTAL] == w.sum()
    assert bins[:, observers.BIN_N].sum() == w.sum()
    loop.add_sides(statistics, 0, 0, n_bins - 1)
    mean = np.average(y, weights=w)
    assert sides[0] == pytest.approx([w.sum(), mean, w @ (y - mean) ** 2], abs=1e-7)
    assert sides[1].tolist() == [0.0, 0.0, 0.0]
    low, width = stats[0, 0, n_bins, [observers.LOWER, observers.BIN_WIDTH]]
    assert np.isfinite([low, width]).all()
    assert low <= max(x.min(), -observers.LARGEST)


@pytest.mark.tiny
@seeds
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_bins_are_those_of_all_rows_on_the_final_grid(seed, scale):
    rng = np.random.default_rng(seed)
    x, y, w = scale * rng.standard_cauchy(80), rng.normal(size=80), rng.integers(1, 5, size=80) / 2
    stats = real_slot(x[:, None], y, w).stats
    bins, lower, width = slow.bin_numbers(x, N_BINS)
    assert stats[0, 0, N_BINS, [observers.LOWER, observers.BIN_WIDTH]] == pytest.approx([lower, width], rel=1e-9, abs=0)
    expected = [slow.mean_and_squares(y[bins == b], w[bins == b]) for b in range(N_BINS)]
    assert stats[0, 0, :N_BINS] == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.tiny
def test_bins_are_closed_above_as_tests_are():
    # 0 and 32 are the first values, so that edges are whole numbers.
    x = np.array([0.0, 32.0, *range(1, 32)])
    statistics = real_slot(x[:, None], x, np.ones(33))
    stats = statistics.stats
    assert stats[0, 0, N_BINS].tolist() == [-1.0, 1.0, 33.0]
    assert stats[0, 0, :N_BINS, observers.BIN_N].tolist() == [1.0] * 33 + [0.0] * 31
    assert [loop.bin_of(statistics, 0, 0, v) for v in (2.0, np.nextafter(2.0, 3.0), -1.0, 99.0)] == [2, 3, 0, 63]


@pytest.mark.tiny
@given(st.lists(st.integers(-50, 50), min_size=3, max_size=40))
def test_rows_are_on_the_side_of_an_edge_that_a_test_puts_them_on(values):
    x = np.array(values, dtype=float)
    stats = real_slot(x[:, None], x, np.ones(len(x))).stats
    lower, width, _ = stats[0, 0, N_BINS]
    below = np.cumsum(stats[0, 0, :N_BINS, observers.BIN_N])
    if width > 0.0:
        assert below.tolist() == [(x <= lower + width * (b + 1)).sum() for b in range(N_BINS)]


@pytest.mark.tiny
@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([0.0, 0.01, 0.25]))
def test_no_edge_explains_more_of_the_variance(seed, n, fraction):
    X, labels, w = rows(seed, n=n)
    y = labels + np.random.default_rng(seed).normal(size=n)
    statistics, seen = real_slot(X, y, w, is_category=IS_CATEGORY), slow.Seen.of(X, y, w)
    feature, threshold, merit, second, _ = loop.best_real_test(statistics, 0, fraction)
    expected = slow.best_real_test(seen, IS_CATEGORY, fraction)
    assert (merit, second) == pytest.approx(expected[2:4], abs=1e-9)
    if merit < 1e-9:
        return
    # The test that was found, on the rows themselves.
    known = ~np.isnan(X[:, feature])
    left = known & (X[:, feature] <= threshold)
    both = [slow.mean_and_squares(y[side], w[side]) for side in (left, known & ~left)]
    assert statistics.sides == pytest.approx(np.array(both), abs=1e-9)
    within = sum(side[2] for side in both) / w[known].sum()
    variance = np.average((y[known] - np.average(y[known], weights=w[known])) ** 2, weights=w[known])
    assert merit == pytest.approx(variance - within)
    assert min(both[0][0], both[1][0]) / w[known].sum() > fraction


@pytest.mark.tiny
def test_the_threshold_is_in_the_middle_of_the_gap_and_at_a_half_for_categories():
    X = np.array([[0.0, 0.0], [32.0, 1.0], [10.0, 0.0], [24.0, 1.0]])
    y, is_category = np.array([0.0, 1.0, 0.0, 1.0]), [False, True]
    found = loop.best_real_test(real_slot(X[:, :1].copy(), y, np.ones(4)), 0, 0.0)
    # 24 is in the bin that begins after 23.
    assert found[:4] == pytest.approx((0, (10 + 23) / 2, 0.25, 0.0))
    found = loop.best_real_test(real_slot(X, y, np.ones(4), is_category=is_category), 0, 0.0)
    assert found[:4] == pytest.approx((1, 0.5, 0.25, 0.25))


@pytest.mark.tiny
@given(st.integers(0, 10**6), st.integers(1, 40), st.floats(-4, 4))
def test_merit_of_any_threshold_is_that_of_the_edge_below_it(seed, n, threshold):
    X, labels, w = rows(seed, n=n)
    y = labels + np.random.default_rng(seed).normal(size=n)
    statistics, seen = real_slot(X, y, w, is_category=IS_CATEGORY), slow.Seen.of(X, y, w)
    for j in range(4):
        found = loop.real_merit(statistics, 0, j, threshold)
        assert found == pytest.approx(slow.real_merit(seen, j, threshold), abs=1e-9)
    feature, best, merit, _, _ = loop.best_real_test(statistics, 0, 0.0)
    assert feature < 0 or loop.real_merit(statistics, 0, feature, best) == pytest.approx(merit)


@pytest.mark.tiny
def test_there_is_no_test_where_nothing_is_explained():
    X = np.array([[1.0, 1.0, np.nan], [1.0, 2.0, np.nan]])
    assert loop.best_real_test(real_slot(X, np.ones(2), np.ones(2)), 0, 0.0)[0] == -1


@pytest.mark.tiny
def test_hoeffding_bound():
    assert loop.hoeffding_bound(2.0, 0.05, 50) == pytest.approx(math.sqrt(4 * math.log(20) / 100))


@pytest.mark.tiny
@criteria
@given(weights=st.lists(st.floats(0, 1e4), min_size=1, max_size=6))
def test_impurity_times_weight_is_a_sum_of_terms(criterion, weights):
    total, terms = sum(weights), sum(loop.impurity_term(w, criterion) for w in weights)
    assume(total > 1e-6)
    expected = total * slow.impurity(weights, criterion == GINI)
    assert loop.impurity_sum(total, terms, criterion) == pytest.approx(expected, abs=1e-9 * max(1.0, total**2))
    assert loop.impurity_sum(0.0, 0.0, criterion) == loop.impurity_term(0.0, criterion) == 0.0


@pytest.mark.tiny
@given(st.lists(st.integers(-300, 300), min_size=1, max_size=12), st.integers(-5000, 5000), st.sampled_from([2, 4, 64]))
def test_the_range_is_that_of_the_grid_and_holds_the_value(values, value, n_bins):
    x, y = np.array(values, dtype=float), np.arange(len(values)) ** 2.0
    statistics = real_slot(x[:, None], y, np.ones(len(x)), n_bins)
    stats = statistics.stats
    loop.fit_range(statistics, 0, 0, float(value))
    lower, width = slow.grid([*x, float(value)], n_bins)
    assert stats[0, 0, n_bins, [observers.LOWER, observers.BIN_WIDTH]].tolist() == [lower, width]
    bins = np.clip(np.ceil((x - lower) / width) - 1, 0, n_bins - 1) if width > 0.0 else np.zeros(len(x))
    expected = [slow.mean_and_squares(y[bins == b], np.ones(len(x))[bins == b]) for b in range(n_bins)]
    assert stats[0, 0, :n_bins] == pytest.approx(np.array(expected), abs=1e-7)
    assert width == 0.0 or lower <= value <= lower + n_bins * width


@pytest.mark.tiny
@pytest.mark.parametrize("is_upper", [False, True])
def test_a_doubled_range_has_pairs_of_bins_in_one_half(is_upper):
    x = np.array([0.0, 32.0, *range(1, 32)])
    statistics = real_slot(x[:, None], x, np.ones(33))
    before = statistics.stats[0, 0].copy()
    loop.double_range(statistics, 0, 0, is_upper)
    after = statistics.stats[0, 0]
    assert after[N_BINS].tolist() == [-65.0 if is_upper else -1.0, 2.0, 33.0]
    full, empty = (after[32:64], after[:32]) if is_upper else (after[:32], after[32:64])
    assert not empty.any()
    assert full[:, observers.BIN_N].tolist() == before[:N_BINS, observers.BIN_N].reshape(-1, 2).sum(axis=1).tolist()
    assert full[:16, observers.BIN_MEAN] == pytest.approx(np.arange(16) * 2 + 0.5)
    assert full[:16, observers.BIN_SQUARES] == pytest.approx(np.full(16, 0.5))


@pytest.mark.tiny
def test_normal_distributions_of_a_slot_are_kept():
    statistics, slot = class_slot(*rows(0))
    kept = np.empty(statistics.stats.shape[1:])
    loop.keep_normals(statistics, slot, kept)
    np.testing.assert_array_equal(kept, statistics.stats[slot])
    assert kept.any()
