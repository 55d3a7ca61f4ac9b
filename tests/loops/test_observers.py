"""What leaves remember of the features against numpy, and the best test against all tests."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from softwood.compiled import stream as loop
from softwood.stream.loops.layout import FIRST_KEY, GINI, INFO_GAIN, N_SLOT_KEYS, OWNER
from tests.reference import observers as slow

criteria = pytest.mark.parametrize("criterion", [INFO_GAIN, GINI])
seeds = pytest.mark.parametrize("seed", range(4))
numbers = st.floats(-1e6, 1e6, allow_subnormal=False) | st.sampled_from([0.0, 1.0, -3.5])
N_BINS = 64


def rows(seed, n=60, n_classes=3, missing=0.1):
    """Two columns of numbers, one of few values, one of categories; classes and weights that are not 1."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, 4)) + labels[:, None] * [1.0, -0.3, 0.0, 0.0]
    X[:, 2] = np.round(X[:, 2])
    X[:, 3] = rng.random(n) < [0.2, 0.5, 0.9][seed % 3]
    X[rng.random(X.shape) < missing] = np.nan
    return X, labels, rng.integers(1, 9, size=n) / 4


def class_slot(X, labels, weights, n_classes=3, n_slots=3, slot=1):
    slots = np.full((n_slots, FIRST_KEY + n_classes), -1, dtype=np.int64)
    stats = np.full((n_slots, X.shape[1], n_classes, loop.N_NORMAL_NUMBERS), np.nan)
    slots[slot, OWNER] = 5
    loop.clear_slot(slots, slot, stats)
    for x, label, w in zip(X, labels, weights, strict=True):
        loop.observe_class(stats, slots, slot, x, label, w, True)
    return slots, stats, slot


def real_slot(X, targets, weights, n_bins=N_BINS):
    stats = np.zeros((1, X.shape[1], n_bins + 1, loop.N_BIN_NUMBERS))
    for x, y, w in zip(X, targets, weights, strict=True):
        loop.observe_real(stats, 0, x, y, w)
    return stats


# ------------------------------------------------------------------ slots


@pytest.mark.tiny
def test_slots_are_given_emptied_until_there_is_none():
    slots, stats = np.full((2, 4), -1, dtype=np.int64), np.ones((2, 1, 2, 7))
    assert [loop.take_slot(slots, node, stats) for node in (7, 8, 9)] == [0, 1, -1]
    assert slots[:, OWNER].tolist() == [7, 8]
    assert not stats.any()
    slots[0, OWNER] = -1
    assert loop.take_slot(slots, 9, stats) == 0


@pytest.mark.tiny
def test_classes_are_noted_in_the_order_in_which_they_came():
    slots, _, slot = class_slot(np.zeros((5, 1)), [2, 0, 2, 1, 0], np.ones(5))
    assert slots[slot, N_SLOT_KEYS] == 3
    assert slots[slot, FIRST_KEY:].tolist() == [2, 0, 1]


# ------------------------------------------------------------------ normal distributions


@pytest.mark.tiny
@given(st.lists(st.tuples(numbers, st.integers(1, 5)), min_size=1, max_size=30))
def test_a_row_of_weight_k_is_k_rows(pairs):
    x, k = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    _, stats, slot = class_slot(x[:, None], [0] * len(x), k.astype(float), n_classes=1)
    all_rows, found = np.repeat(x, k), stats[slot, 0, 0]
    assert found[loop.N] == len(all_rows)
    assert found[loop.CENTER] == pytest.approx(all_rows.mean(), abs=1e-9 * np.abs(x).max())
    squares = ((all_rows - all_rows.mean()) ** 2).sum()
    assert found[loop.SQUARES] == pytest.approx(squares, abs=1e-9 * (x**2).max())
    assert (found[loop.LOWEST], found[loop.HIGHEST]) == (x.min(), x.max())


@pytest.mark.tiny
def test_missing_values_and_other_slots_and_classes_are_left_alone():
    _, stats, slot = class_slot(np.array([[1.0, np.nan], [3.0, 2.0]]), [2, 2], [1.0, 1.0])
    assert stats[slot, :, 2, loop.N].tolist() == [2.0, 1.0]
    assert not stats[slot, :, :2].any()
    assert np.isnan(stats[[0, 2]]).all()


@pytest.mark.tiny
@seeds
def test_log_density_is_that_of_normal_distributions(seed):
    X, labels, weights = rows(seed)
    _, stats, slot = class_slot(X, labels, weights)
    is_category = np.array([False, False, False, True])
    seen = slow.Seen.of(X, labels, weights)
    for x in X[:8]:
        for label in range(3):
            found = loop.log_density(stats, slot, x, label, is_category)
            assert found == pytest.approx(slow.log_density(seen, x, label, is_category))


@pytest.mark.tiny
def test_log_density_against_scipy_and_by_hand():
    stats_of = pytest.importorskip("scipy.stats")
    X = np.random.default_rng(0).normal(size=(50, 2))
    X[:, 1] = X[:, 1] > 0
    _, stats, slot = class_slot(X, [0] * 50, np.ones(50), n_classes=1)
    expected = stats_of.norm(X[:, 0].mean(), X[:, 0].std(ddof=1)).logpdf(0.3)
    is_category = np.array([False, True])
    assert loop.log_density(stats, slot, np.array([0.3, np.nan]), 0, is_category) == pytest.approx(expected)
    # Only the category that the row has counts, with its share.
    assert loop.log_density(stats, slot, np.array([0.3, 0.0]), 0, is_category) == pytest.approx(expected)
    share = math.log(X[:, 1].mean())
    assert loop.log_density(stats, slot, np.array([0.3, 1.0]), 0, is_category) == pytest.approx(expected + share)


@pytest.mark.tiny
@pytest.mark.parametrize("values", [[], [2.0], [2.0, 2.0]])
def test_features_without_a_variance_add_nothing(values):
    X = np.array([[v] for v in values]).reshape(-1, 1)
    _, stats, slot = class_slot(X, [0] * len(X), np.ones(len(X)), n_classes=1)
    assert loop.log_density(stats, slot, np.array([3.0]), 0, np.array([False])) == 0.0


@pytest.mark.tiny
@given(st.integers(0, 10**6), st.floats(-4, 4))
def test_weight_below_is_that_of_the_normal_distribution(seed, threshold):
    X, labels, weights = rows(seed, n=25)
    _, stats, slot = class_slot(X, labels, weights)
    seen = slow.Seen.of(X, labels, weights)
    for j in range(4):
        for label in range(3):
            found = loop.weight_below(stats, slot, j, label, threshold, j == 3)
            assert found == pytest.approx(slow.weight_below(*seen.known(j, label), threshold, j == 3), abs=1e-9)
            assert 0.0 <= found <= stats[slot, j, label, loop.N]


@pytest.mark.tiny
def test_all_weight_is_below_the_highest_value_itself_and_none_below_the_lowest():
    X = np.array([[1.0], [2.0], [4.0]])
    _, stats, slot = class_slot(X, [0] * 3, np.ones(3), n_classes=1)
    below = [loop.weight_below(stats, slot, 0, 0, t, False) for t in (0.999, 4.0, 3.999)]
    assert below[:2] == [0.0, 3.0]
    assert 0.0 < below[2] < 3.0


# ------------------------------------------------------------------ impurity and merits


@pytest.mark.tiny
@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=6))
def test_impurity_is_entropy_in_bits_or_gini(weights):
    weights = np.array(weights)
    assume(weights.sum() > 1e-6)
    assert loop.impurity(weights, INFO_GAIN) == pytest.approx(slow.impurity(weights, False), abs=1e-9)
    assert loop.impurity(weights, GINI) == pytest.approx(slow.impurity(weights, True), abs=1e-9)


@pytest.mark.tiny
def test_impurity_by_hand():
    assert loop.impurity(np.array([2.0, 2.0]), INFO_GAIN) == pytest.approx(1.0)
    assert loop.impurity(np.array([1.0, 1.0, 2.0]), INFO_GAIN) == pytest.approx(1.5)
    assert loop.impurity(np.array([1.0, 1.0, 2.0]), GINI) == pytest.approx(1 - (1 + 1 + 4) / 16)
    assert loop.impurity(np.zeros(3), INFO_GAIN) == 0.0


@pytest.mark.tiny
@criteria
@seeds
def test_merit_is_the_decrease_of_impurity(seed, criterion):
    X, labels, weights = rows(seed)
    slots, stats, slot = class_slot(X, labels, weights)
    seen, before = slow.Seen.of(X, labels, weights), 1.2345
    for j in range(4):
        for threshold in (-50.0, -1.0, 0.1, 2.0, 50.0):
            for fraction in (0.0, 0.3):
                found = loop.merit_of_threshold(
                    stats, slots, slot, j, threshold, before, j == 3, fraction, criterion
                )  # fmt: skip
                expected = slow.class_merit(seen, j, threshold, before, j == 3, fraction, criterion == GINI)
                assert found == pytest.approx(expected)


@pytest.mark.tiny
@criteria
def test_merit_of_a_category_is_exact(criterion):
    X, labels = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]]), [0, 0, 0, 1, 1]
    slots, stats, slot = class_slot(X, labels, np.ones(5), n_classes=2)
    is_gini = criterion == GINI
    before = slow.impurity([3, 2], is_gini)
    expected = before - 3 / 5 * slow.impurity([1, 2], is_gini)
    assert loop.merit_of_threshold(stats, slots, slot, 0, 0.5, before, True, 0.0, criterion) == pytest.approx(expected)
    found = loop.best_class_test(stats, slots, slot, before, np.array([True]), 0.0, criterion)
    assert found[:2] == (0, 0.5)
    assert found[2] == pytest.approx(expected)
    assert found[3] == -math.inf


# ------------------------------------------------------------------ best test for classes


@pytest.mark.tiny
@given(st.integers(0, 10**6), st.sampled_from([INFO_GAIN, GINI]), st.sampled_from([0.0, 0.01, 0.2]), st.integers(1, 30))
def test_no_test_beats_the_one_found(seed, criterion, fraction, n):
    X, labels, weights = rows(seed, n=n)
    is_category = np.array([False, False, False, True])
    slots, stats, slot = class_slot(X, labels, weights)
    seen = slow.Seen.of(X, labels, weights)
    before = slow.impurity(np.bincount(labels, weights), criterion == GINI)
    feature, threshold, merit, second = loop.best_class_test(
        stats, slots, slot, before, is_category, fraction, criterion
    )
    expected = slow.best_class_test(seen, before, is_category, fraction, criterion == GINI)
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
    slots, stats, slot = class_slot(X, labels, np.ones(20), n_classes=2)
    feature, _, merit, second = loop.best_class_test(stats, slots, slot, 1.0, np.zeros(3, dtype=bool), 0.0, INFO_GAIN)
    assert feature == 2
    assert merit == second


@pytest.mark.tiny
def test_there_is_no_test_on_constant_or_missing_features():
    X = np.array([[1.0, np.nan], [1.0, np.nan]])
    slots, stats, slot = class_slot(X, [0, 1], np.ones(2), n_classes=2)
    found = loop.best_class_test(stats, slots, slot, 1.0, np.zeros(2, dtype=bool), 0.0, INFO_GAIN)
    assert found[0] == -1
    assert found[2:] == (-math.inf, -math.inf)


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
    stats = real_slot(x[:, None], y, w, n_bins)
    bins = stats[0, 0, :n_bins]
    assert stats[0, 0, n_bins, loop.TOTAL] == w.sum()
    assert bins[:, loop.BIN_N].sum() == w.sum()
    sides = np.zeros((2, 3))
    loop.add_sides(stats, 0, 0, n_bins - 1, sides)
    mean = np.average(y, weights=w)
    assert sides[0] == pytest.approx([w.sum(), mean, w @ (y - mean) ** 2], abs=1e-7)
    assert sides[1].tolist() == [0.0, 0.0, 0.0]
    low, width = stats[0, 0, n_bins, [loop.LOWER, loop.BIN_WIDTH]]
    assert np.isfinite([low, width]).all()
    assert low <= max(x.min(), -loop.LARGEST)


@pytest.mark.tiny
@seeds
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_bins_are_those_of_all_rows_on_the_final_grid(seed, scale):
    rng = np.random.default_rng(seed)
    x, y, w = scale * rng.standard_cauchy(80), rng.normal(size=80), rng.integers(1, 5, size=80) / 2
    stats = real_slot(x[:, None], y, w)
    bins, lower, width = slow.bin_numbers(x, N_BINS)
    assert stats[0, 0, N_BINS, [loop.LOWER, loop.BIN_WIDTH]] == pytest.approx([lower, width], rel=1e-9, abs=0)
    expected = [slow.mean_and_squares(y[bins == b], w[bins == b]) for b in range(N_BINS)]
    assert stats[0, 0, :N_BINS] == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.tiny
def test_bins_are_closed_above_as_tests_are():
    # 0 and 32 are the first values, so that edges are whole numbers.
    x = np.array([0.0, 32.0, *range(1, 32)])
    stats = real_slot(x[:, None], x, np.ones(33))
    assert stats[0, 0, N_BINS].tolist() == [-1.0, 1.0, 33.0]
    assert stats[0, 0, :N_BINS, loop.BIN_N].tolist() == [1.0] * 33 + [0.0] * 31
    assert [loop.bin_of(stats, 0, 0, v) for v in (2.0, np.nextafter(2.0, 3.0), -1.0, 99.0)] == [2, 3, 0, 63]


@pytest.mark.tiny
@given(st.lists(st.integers(-50, 50), min_size=3, max_size=40))
def test_rows_are_on_the_side_of_an_edge_that_a_test_puts_them_on(values):
    x = np.array(values, dtype=float)
    stats = real_slot(x[:, None], x, np.ones(len(x)))
    lower, width, _ = stats[0, 0, N_BINS]
    below = np.cumsum(stats[0, 0, :N_BINS, loop.BIN_N])
    if width > 0.0:
        assert below.tolist() == [(x <= lower + width * (b + 1)).sum() for b in range(N_BINS)]


@pytest.mark.tiny
@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([0.0, 0.01, 0.25]))
def test_no_edge_explains_more_of_the_variance(seed, n, fraction):
    X, labels, w = rows(seed, n=n)
    y = labels + np.random.default_rng(seed).normal(size=n)
    is_category = np.array([False, False, False, True])
    stats, seen = real_slot(X, y, w), slow.Seen.of(X, y, w)
    sides = np.zeros((2, 3))
    feature, threshold, merit, second = loop.best_real_test(stats, 0, is_category, fraction, sides)
    expected = slow.best_real_test(seen, is_category, fraction)
    assert (merit, second) == pytest.approx(expected[2:4], abs=1e-9)
    if merit < 1e-9:
        return
    # The test that was found, on the rows themselves.
    known = ~np.isnan(X[:, feature])
    left = known & (X[:, feature] <= threshold)
    both = [slow.mean_and_squares(y[side], w[side]) for side in (left, known & ~left)]
    assert sides == pytest.approx(np.array(both), abs=1e-9)
    within = sum(side[2] for side in both) / w[known].sum()
    variance = np.average((y[known] - np.average(y[known], weights=w[known])) ** 2, weights=w[known])
    assert merit == pytest.approx(variance - within)
    assert min(both[0][0], both[1][0]) / w[known].sum() > fraction


@pytest.mark.tiny
def test_the_threshold_is_in_the_middle_of_the_gap_and_at_a_half_for_categories():
    X = np.array([[0.0, 0.0], [32.0, 1.0], [10.0, 0.0], [24.0, 1.0]])
    stats, sides = real_slot(X, np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4)), np.zeros((2, 3))
    found = loop.best_real_test(stats[:, :1].copy(), 0, np.array([False]), 0.0, sides)
    # 24 is in the bin that begins after 23.
    assert found == pytest.approx((0, (10 + 23) / 2, 0.25, 0.0))
    found = loop.best_real_test(stats, 0, np.array([False, True]), 0.0, sides)
    assert found == pytest.approx((1, 0.5, 0.25, 0.25))


@pytest.mark.tiny
@given(st.integers(0, 10**6), st.integers(1, 40), st.floats(-4, 4))
def test_merit_of_any_threshold_is_that_of_the_edge_below_it(seed, n, threshold):
    X, labels, w = rows(seed, n=n)
    y = labels + np.random.default_rng(seed).normal(size=n)
    stats, seen = real_slot(X, y, w), slow.Seen.of(X, y, w)
    for j in range(4):
        assert loop.real_merit(stats, 0, j, threshold) == pytest.approx(slow.real_merit(seen, j, threshold), abs=1e-9)
    feature, best, merit, _ = loop.best_real_test(stats, 0, np.array([False] * 3 + [True]), 0.0, np.zeros((2, 3)))
    assert feature < 0 or loop.real_merit(stats, 0, feature, best) == pytest.approx(merit)


@pytest.mark.tiny
def test_there_is_no_test_where_nothing_is_explained():
    X, sides = np.array([[1.0, 1.0, np.nan], [1.0, 2.0, np.nan]]), np.zeros((2, 3))
    assert loop.best_real_test(real_slot(X, np.ones(2), np.ones(2)), 0, np.zeros(3, dtype=bool), 0.0, sides)[0] == -1


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
    stats = real_slot(x[:, None], y, np.ones(len(x)), n_bins)
    loop.fit_range(stats, 0, 0, float(value))
    lower, width = slow.grid([*x, float(value)], n_bins)
    assert stats[0, 0, n_bins, [loop.LOWER, loop.BIN_WIDTH]].tolist() == [lower, width]
    bins = np.clip(np.ceil((x - lower) / width) - 1, 0, n_bins - 1) if width > 0.0 else np.zeros(len(x))
    expected = [slow.mean_and_squares(y[bins == b], np.ones(len(x))[bins == b]) for b in range(n_bins)]
    assert stats[0, 0, :n_bins] == pytest.approx(np.array(expected), abs=1e-7)
    assert width == 0.0 or lower <= value <= lower + n_bins * width
