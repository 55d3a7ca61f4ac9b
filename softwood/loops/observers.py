"""What a leaf of a growing tree remembers of each feature, and the best test that can be read off it.

Classes: a normal distribution for each feature and class (`stats` of a slot: (n_features, n_classes, 7)). Columns that
stand for a category hold zeros and ones only, so that their counts are exact.

Real targets: a histogram of each feature with the mean and spread of the target in each bin (`stats` of a slot:
(n_features, n_bins + 1, 3)); the last row holds the lower end, the width of a bin, and the weight seen.
"""

import math

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.stream_layout import FIRST_KEY, GINI, N_SLOT_KEYS, OWNER, FoundTest

# columns of a normal distribution: weight, mean, sum of squares about the mean, ends, and for its logarithm
# the factor of the square and the constant
N, CENTER, SQUARES, LOWEST, HIGHEST, FACTOR, CONSTANT = range(7)
N_NORMAL_NUMBERS = 7
# columns of a bin: weight, mean of the target, sum of its squares about the mean
BIN_N, BIN_MEAN, BIN_SQUARES = range(3)
N_BIN_NUMBERS = 3
# columns of the row after the last bin
LOWER, BIN_WIDTH, TOTAL = range(3)
# Larger values count as this one, so that no difference and no range of a histogram overflows.
LARGEST = 1e300

N_CANDIDATES = 10
HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)
SQRT_2 = math.sqrt(2.0)


@compiled
def take_slot(slots, node, stats):
    """Give a free slot to a node and empty it; -1 if there is none."""
    for s in range(slots.shape[0]):
        if slots[s, OWNER] < 0:
            slots[s, OWNER] = node
            clear_slot(slots, s, stats)
            return s
    return -1


@compiled
def clear_slot(slots, slot, stats):
    """Forget what a slot has seen."""
    slots[slot, N_SLOT_KEYS] = 0
    stats[slot] = 0.0


@compiled
def observe_class(stats, slots, slot, row, label, weight, with_density):
    """Add a row (nan where missing) to the normal distributions of its class, which may be new to the slot.

    Without `with_density` the last two columns, which only `log_density` reads, are left as they are.
    """
    i, n_keys = 0, slots[slot, N_SLOT_KEYS]
    while i < n_keys and slots[slot, FIRST_KEY + i] != label:
        i += 1
    if i == n_keys:
        slots[slot, FIRST_KEY + i] = label
        slots[slot, N_SLOT_KEYS] = i + 1
    for j in range(row.shape[0]):
        x = row[j]
        if np.isnan(x):
            continue
        x = min(max(x, -LARGEST), LARGEST)
        n = stats[slot, j, label, N]
        if n == 0.0:
            stats[slot, j, label, LOWEST] = x
            stats[slot, j, label, HIGHEST] = x
        else:
            stats[slot, j, label, LOWEST] = min(stats[slot, j, label, LOWEST], x)
            stats[slot, j, label, HIGHEST] = max(stats[slot, j, label, HIGHEST], x)
        n += weight
        before = stats[slot, j, label, CENTER]
        center = before + (weight / n) * (x - before)
        squares = stats[slot, j, label, SQUARES] + weight * (x - before) * (x - center)
        stats[slot, j, label, N] = n
        stats[slot, j, label, CENTER] = center
        stats[slot, j, label, SQUARES] = squares
        if with_density:
            variance = squares / (n - 1.0) if n > 1.0 else 0.0
            if variance > 0.0:
                stats[slot, j, label, FACTOR] = -0.5 / variance
                stats[slot, j, label, CONSTANT] = -HALF_LOG_TAU - 0.5 * math.log(variance)


@compiled
def log_density(stats, slot, row, label, is_category):
    """Logarithm of the density of a row in a class, features being independent; those that are not known add 0."""
    total = 0.0
    for j in range(row.shape[0]):
        x = row[j]
        if np.isnan(x):
            continue
        if is_category[j] > 0:
            # Of the columns of one text column only that of the row's own category counts.
            if x > 0.5 and stats[slot, j, label, CENTER] > 0.0:
                total += math.log(stats[slot, j, label, CENTER])
        elif stats[slot, j, label, FACTOR] != 0.0:
            d = x - stats[slot, j, label, CENTER]
            total += d * d * stats[slot, j, label, FACTOR] + stats[slot, j, label, CONSTANT]
    return total


@compiled
def weight_below(stats, slot, j, label, threshold, is_category):
    """Weight of a class at or below a threshold on a feature, as its normal distribution has it."""
    n = stats[slot, j, label, N]
    if is_category > 0:
        return n * (1.0 - stats[slot, j, label, CENTER])
    if threshold < stats[slot, j, label, LOWEST]:
        return 0.0
    if threshold >= stats[slot, j, label, HIGHEST]:
        return n
    if n <= 1.0 or stats[slot, j, label, SQUARES] <= 0.0:
        return 0.0
    z = (threshold - stats[slot, j, label, CENTER]) / math.sqrt(stats[slot, j, label, SQUARES] / (n - 1.0))
    return n * 0.5 * (1.0 + math.erf(z / SQRT_2))


@compiled
def impurity_sum(total, sum_of_terms, criterion):
    """Impurity of a distribution times its weight: `total` and the sum of `impurity_term` of its parts."""
    if total <= 0.0:
        return 0.0
    if criterion == GINI:
        return total - sum_of_terms / total
    return total * math.log2(total) - sum_of_terms


@compiled
def impurity_term(weight, criterion):
    """What a class adds to the sum that `impurity_sum` takes."""
    if weight <= 0.0:
        return 0.0
    if criterion == GINI:
        return weight * weight
    return weight * math.log2(weight)


@compiled
def impurity(weights, criterion):
    """Entropy in bits, or Gini impurity, of class weights."""
    total = 0.0
    terms = 0.0
    for k in range(weights.shape[0]):
        total += weights[k]
        terms += impurity_term(weights[k], criterion)
    return impurity_sum(total, terms, criterion) / total if total > 0.0 else 0.0


@compiled
def merit_of_threshold(stats, slots, slot, j, threshold, before, is_category, min_fraction, criterion):
    """Decrease of impurity by a test, from `before`; -inf if one side has hardly any weight."""
    total_l, total_r, terms_l, terms_r = 0.0, 0.0, 0.0, 0.0
    for i in range(slots[slot, N_SLOT_KEYS]):
        label = slots[slot, FIRST_KEY + i]
        n = stats[slot, j, label, N]
        if n == 0.0:
            continue
        below = weight_below(stats, slot, j, label, threshold, is_category)
        total_l += below
        total_r += n - below
        terms_l += impurity_term(below, criterion)
        terms_r += impurity_term(n - below, criterion)
    total = total_l + total_r
    if not (total > 0.0 and total_l / total > min_fraction and total_r / total > min_fraction):
        return -np.inf
    after = impurity_sum(total_l, terms_l, criterion) + impurity_sum(total_r, terms_r, criterion)
    return before - after / total


@compiled
def best_class_test(stats, slots, slot, before, is_category, min_fraction, criterion):
    """The test of a slot that decreases the impurity most, from `before`: a `FoundTest`."""
    best, best_threshold, merit, second = -1, 0.0, -np.inf, -np.inf
    for j in range(stats.shape[1]):
        low, high = np.inf, -np.inf
        for i in range(slots[slot, N_SLOT_KEYS]):
            label = slots[slot, FIRST_KEY + i]
            if stats[slot, j, label, N] > 0.0:
                low = min(low, stats[slot, j, label, LOWEST])
                high = max(high, stats[slot, j, label, HIGHEST])
        if not low < high:
            continue
        feature_merit, feature_threshold = -np.inf, 0.0
        width = (high - low) / (N_CANDIDATES + 1.0)
        for c in range(1 if is_category[j] > 0 else N_CANDIDATES):
            threshold = 0.5 if is_category[j] > 0 else low + width * (c + 1)
            if low < threshold < high:
                m = merit_of_threshold(
                    stats, slots, slot, j, threshold, before, is_category[j], min_fraction, criterion
                )  # fmt: skip
                if m > feature_merit:
                    feature_merit, feature_threshold = m, threshold
        if feature_merit == -np.inf:
            continue
        # Of equal merits the last feature is taken, as where suggestions are sorted.
        # Categories of the same source are one feature: they do not compete with one another.
        is_same = best >= 0 and is_category[j] > 0 and is_category[j] == is_category[best]
        if feature_merit >= merit:
            if not is_same:
                second = merit
            best, best_threshold, merit = j, feature_threshold, feature_merit
        elif feature_merit > second and not is_same:
            second = feature_merit
    return FoundTest(best, best_threshold, merit, second)


@compiled
def observe_real(stats, slot, row, target, weight):
    """Add a row (nan where missing) and its target to the histograms of a slot."""
    n_bins = stats.shape[2] - 1
    for j in range(row.shape[0]):
        x = row[j]
        if np.isnan(x):
            continue
        x = min(max(x, -LARGEST), LARGEST)
        fit_range(stats, slot, j, x)
        stats[slot, j, n_bins, TOTAL] += weight
        b = bin_of(stats, slot, j, x)
        n = stats[slot, j, b, BIN_N] + weight
        before = stats[slot, j, b, BIN_MEAN]
        mean = before + (weight / n) * (target - before)
        stats[slot, j, b, BIN_N] = n
        stats[slot, j, b, BIN_MEAN] = mean
        stats[slot, j, b, BIN_SQUARES] += weight * (target - before) * (target - mean)


@compiled
def bin_of(stats, slot, j, x):
    """Number of the bin of a value; bins are closed above, so that a test ``x <= edge`` divides them."""
    n_bins = stats.shape[2] - 1
    width = stats[slot, j, n_bins, BIN_WIDTH]
    if width == 0.0:
        return 0
    return min(max(math.ceil((x - stats[slot, j, n_bins, LOWER]) / width) - 1, 0), n_bins - 1)


@compiled
def fit_range(stats, slot, j, x):
    """Widen a histogram until it covers a value: neighbouring bins are put together, so that nothing is lost."""
    n_bins = stats.shape[2] - 1
    if stats[slot, j, n_bins, TOTAL] == 0.0:
        stats[slot, j, n_bins, LOWER] = x
        stats[slot, j, n_bins, BIN_WIDTH] = 0.0
        return
    low = stats[slot, j, n_bins, LOWER]
    if stats[slot, j, n_bins, BIN_WIDTH] == 0.0:
        if x == low:
            return
        # The lower end is no value: bins are open below. Halves of a power of two keep edges exact.
        width = abs(x - low) / (n_bins // 2)
        if width == 0.0:
            return
        stats[slot, j, n_bins, LOWER] = min(low, x) - width
        stats[slot, j, n_bins, BIN_WIDTH] = width
        old = bin_of(stats, slot, j, low)
        if old != 0:
            for c in range(N_BIN_NUMBERS):
                stats[slot, j, old, c] = stats[slot, j, 0, c]
                stats[slot, j, 0, c] = 0.0
        return
    half = n_bins // 2
    while True:
        low, length = stats[slot, j, n_bins, LOWER], n_bins * stats[slot, j, n_bins, BIN_WIDTH]
        if low <= x <= low + length:
            return
        # The old range becomes the upper or the lower half; the other one is empty.
        is_upper = x < low
        for step in range(half):
            old = half - 1 - step if is_upper else step
            new = half + old if is_upper else old
            n_1, n_2 = stats[slot, j, 2 * old, BIN_N], stats[slot, j, 2 * old + 1, BIN_N]
            mean_1, mean_2 = stats[slot, j, 2 * old, BIN_MEAN], stats[slot, j, 2 * old + 1, BIN_MEAN]
            squares = stats[slot, j, 2 * old, BIN_SQUARES] + stats[slot, j, 2 * old + 1, BIN_SQUARES]
            n = n_1 + n_2
            mean = 0.0
            if n > 0.0:
                mean = mean_1 + (mean_2 - mean_1) * (n_2 / n)
                squares += (mean_2 - mean_1) * (mean_2 - mean_1) * (n_1 * n_2 / n)
            stats[slot, j, new, BIN_N] = n
            stats[slot, j, new, BIN_MEAN] = mean
            stats[slot, j, new, BIN_SQUARES] = squares
        for b in range(half):
            for c in range(N_BIN_NUMBERS):
                stats[slot, j, b if is_upper else half + b, c] = 0.0
        stats[slot, j, n_bins, BIN_WIDTH] *= 2.0
        if is_upper:
            stats[slot, j, n_bins, LOWER] -= length


@compiled
def best_real_test(stats, slot, is_category, min_fraction, sides):
    """The test of a slot that decreases the target's variance most: a `FoundTest`.

    Parameters
    ----------
    sides : (2, 3) is filled with weight, mean and sum of squares of both sides of it
    """
    n_bins = stats.shape[2] - 1
    best, best_bin, merit, second = -1, -1, 0.0, 0.0
    for j in range(stats.shape[1]):
        total = stats[slot, j, n_bins, TOTAL]
        width = stats[slot, j, n_bins, BIN_WIDTH]
        if total == 0.0 or width == 0.0:
            continue
        mean = 0.0
        for b in range(n_bins):
            mean += stats[slot, j, b, BIN_N] / total * stats[slot, j, b, BIN_MEAN]
        # From the left: weight and sum of deviations of the mean of each bin from the mean of all.
        n, deviation, feature_merit, feature_bin = 0.0, 0.0, 0.0, -1
        for b in range(n_bins - 1):
            if stats[slot, j, b, BIN_N] == 0.0:
                continue
            n += stats[slot, j, b, BIN_N]
            deviation += stats[slot, j, b, BIN_N] * (stats[slot, j, b, BIN_MEAN] - mean)
            if n / total <= min_fraction or (total - n) / total <= min_fraction:
                continue
            # Between the means of both sides, weighted: the part of the variance that the test explains.
            m = (deviation / total) * (deviation / n) * (total / (total - n))
            if m > feature_merit:
                feature_merit, feature_bin = m, b
        if feature_bin < 0:
            continue
        is_same = best >= 0 and is_category[j] > 0 and is_category[j] == is_category[best]
        if feature_merit >= merit:
            if not is_same:
                second = merit
            best, best_bin, merit = j, feature_bin, feature_merit
        elif feature_merit > second and not is_same:
            second = feature_merit
    best_threshold = 0.0
    if best >= 0:
        add_sides(stats, slot, np.int64(best), np.int64(best_bin), sides)
        # In the middle of the empty bins after it.
        after = best_bin + 1
        while after < n_bins and stats[slot, best, after, BIN_N] == 0.0:
            after += 1
        low, width = stats[slot, best, n_bins, LOWER], stats[slot, best, n_bins, BIN_WIDTH]
        best_threshold = 0.5 if is_category[best] > 0 else low + width * 0.5 * (best_bin + 1 + after)
    return FoundTest(best, best_threshold, merit, second)


@compiled
def real_merit(stats, slot, j, threshold):
    """Decrease of the target's variance by a test, whose threshold counts as the next edge of a bin below it."""
    n_bins = stats.shape[2] - 1
    total = stats[slot, j, n_bins, TOTAL]
    low, width = stats[slot, j, n_bins, LOWER], stats[slot, j, n_bins, BIN_WIDTH]
    if total == 0.0 or width == 0.0:
        return 0.0
    mean = 0.0
    for b in range(n_bins):
        mean += stats[slot, j, b, BIN_N] / total * stats[slot, j, b, BIN_MEAN]
    n, deviation = 0.0, 0.0
    for b in range(n_bins):
        if low + width * (b + 1) > threshold:
            break
        n += stats[slot, j, b, BIN_N]
        deviation += stats[slot, j, b, BIN_N] * (stats[slot, j, b, BIN_MEAN] - mean)
    if n <= 0.0 or n >= total:
        return 0.0
    return (deviation / total) * (deviation / n) * (total / (total - n))


@compiled
def add_sides(stats, slot, j, last, sides):
    """Weight, mean and squares of the bins up to `last`, and of those after it."""
    n_bins = stats.shape[2] - 1
    for side in range(2):
        n, mean, squares = 0.0, 0.0, 0.0
        for b in range(0 if side == 0 else last + 1, last + 1 if side == 0 else n_bins):
            m = stats[slot, j, b, BIN_N]
            if m == 0.0:
                continue
            d = stats[slot, j, b, BIN_MEAN] - mean
            n += m
            mean += d * (m / n)
            squares += stats[slot, j, b, BIN_SQUARES] + d * d * (m * (n - m) / n)
        sides[side, 0] = n
        sides[side, 1] = mean
        sides[side, 2] = squares


@compiled
def hoeffding_bound(spread, delta, n):
    """Deviation of a mean of `n` values in a range of length `spread` that is passed with probability `delta`."""
    return math.sqrt(spread * spread * math.log(1.0 / delta) / (2.0 * n))
