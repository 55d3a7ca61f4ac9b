"""What a leaf of a growing tree remembers of each feature, and the best test that can be read off it.

Classes: a normal distribution for each feature and class (`stats` of a slot: (n_features, n_classes, 7)). Columns that
stand for a category hold zeros and ones only, so that their counts are exact.

Real targets: a histogram of each feature with the mean and spread of the target in each bin (`stats` of a slot:
(n_features, n_bins + 1, 3)); the last row holds the lower end, the width of a bin, and the weight seen.

Arguments that recur are the tuple `Statistics` of `softwood.stream.loops.layout`, and

points, i : (n, n_features) values, nan where missing, and the number of the row that is meant
"""

import math

import numpy as np

from softwood.stream.loops.layout import FIRST_KEY, GINI, IGNORED, N_SLOT_KEYS, OWNER, UNLIKELY, FoundTest

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
LOG_2 = math.log(2.0)
# Standard deviations above the mean up to which a gain may come from chance.
SURE = 3.0


def take_slot(statistics, node):
    """Give a free slot to a node and empty it; -1 if there is none."""
    for s in range(statistics.slots.shape[0]):
        if statistics.slots[s, OWNER] < 0:
            statistics.slots[s, OWNER] = node
            clear_slot(statistics, s)
            return s
    return -1


def clear_slot(statistics, slot):
    """Forget what a slot has seen."""
    statistics.slots[slot, N_SLOT_KEYS] = 0
    for j in range(statistics.stats.shape[1]):
        for b in range(statistics.stats.shape[2]):
            for c in range(statistics.stats.shape[3]):
                statistics.stats[slot, j, b, c] = 0.0


def keep_normals(statistics, slot, out):
    """Copy the normal distributions of a slot to `out` (n_features, n_classes, 7)."""
    for j in range(out.shape[0]):
        for k in range(out.shape[1]):
            for c in range(out.shape[2]):
                out[j, k, c] = statistics.stats[slot, j, k, c]


def observe_class(statistics, slot, points, i, label, weight, with_density):
    """Add a row to the normal distributions of its class, which may be new to the slot.

    Without `with_density` the last two columns, which only `add_log_densities` reads, are left as they are.
    """
    k = 0
    n_keys = statistics.slots[slot, N_SLOT_KEYS]
    while k < n_keys and statistics.slots[slot, FIRST_KEY + k] != label:
        k += 1
    if k == n_keys:
        statistics.slots[slot, FIRST_KEY + k] = label
        statistics.slots[slot, N_SLOT_KEYS] = k + 1
    for j in range(points.shape[1]):
        x, n, before = points[i, j], statistics.stats[slot, j, label, N], statistics.stats[slot, j, label, CENTER]
        if np.isnan(x):
            continue
        x = min(max(x, -LARGEST), LARGEST)
        if n == 0.0:
            statistics.stats[slot, j, label, LOWEST] = x
            statistics.stats[slot, j, label, HIGHEST] = x
        else:
            statistics.stats[slot, j, label, LOWEST] = min(statistics.stats[slot, j, label, LOWEST], x)
            statistics.stats[slot, j, label, HIGHEST] = max(statistics.stats[slot, j, label, HIGHEST], x)
        n += weight
        center = before + (weight / n) * (x - before)
        squares = statistics.stats[slot, j, label, SQUARES] + weight * (x - before) * (x - center)
        statistics.stats[slot, j, label, N] = n
        statistics.stats[slot, j, label, CENTER] = center
        statistics.stats[slot, j, label, SQUARES] = squares
        if with_density:
            variance = squares / (n - 1.0) if n > 1.0 else 0.0
            if variance > 0.0:
                statistics.stats[slot, j, label, FACTOR] = -0.5 / variance
                statistics.stats[slot, j, label, CONSTANT] = -HALF_LOG_TAU - 0.5 * math.log(variance)


def add_log_densities(statistics, slot, points, i, keys, node, n_keys, unseen, out, row):
    """Add to a row of `out` the logarithms of the densities of a row in the classes ``keys[node, :n_keys]``.

    Features are independent; missing values add 0.

    Parameters
    ----------
    unseen : UNLIKELY: values that the class has not shown have the density 0, a category the share that it has with one
        more row of each category; IGNORED: both add 0
    """
    for j in range(points.shape[1]):
        x, source = points[i, j], statistics.is_category[j]
        # Of the columns of one text column only that of the row's own category counts.
        if np.isnan(x) or (source > 0 and x <= 0.5):
            continue
        for k in range(n_keys):
            label = keys[node, k]
            n, center = statistics.stats[slot, j, label, N], statistics.stats[slot, j, label, CENTER]
            factor = statistics.stats[slot, j, label, FACTOR]
            if source > 0:
                if unseen == IGNORED:
                    out[row, label] += math.log(center) if center > 0.0 else 0.0
                elif n > 0.0:
                    out[row, label] += math.log((center * n + 1.0) / (n + statistics.n_values[j]))
                else:
                    out[row, label] = -np.inf
            elif factor != 0.0:
                d = x - center
                out[row, label] += d * d * factor + statistics.stats[slot, j, label, CONSTANT]
            elif unseen == UNLIKELY and (x != center or n == 0.0):
                # no row of the class, or all of them with another value
                out[row, label] = -np.inf


def weight_below(statistics, slot, j, label, threshold):
    """Weight of a class at or below a threshold on a feature, as its normal distribution has it."""
    n = statistics.stats[slot, j, label, N]
    center = statistics.stats[slot, j, label, CENTER]
    squares = statistics.stats[slot, j, label, SQUARES]
    if statistics.is_category[j] > 0:
        return n * (1.0 - center)
    if threshold < statistics.stats[slot, j, label, LOWEST]:
        return 0.0
    if threshold >= statistics.stats[slot, j, label, HIGHEST]:
        return n
    if n <= 1.0 or squares <= 0.0:
        return 0.0
    z = (threshold - center) / math.sqrt(squares / (n - 1.0))
    return n * 0.5 * (1.0 + math.erf(z / SQRT_2))


def impurity_sum(total, sum_of_terms, criterion):
    """Impurity of a distribution times its weight: `total` and the sum of `impurity_term` of its parts."""
    if total <= 0.0:
        return 0.0
    if criterion == GINI:
        return total - sum_of_terms / total
    return total * math.log2(total) - sum_of_terms


def impurity_term(weight, criterion):
    """What a class adds to the sum that `impurity_sum` takes."""
    if weight <= 0.0:
        return 0.0
    if criterion == GINI:
        return weight * weight
    return weight * math.log2(weight)


def impurity(weights, row, criterion):
    """Entropy in bits, or Gini impurity, of class weights: a row of `weights`."""
    total = 0.0
    terms = 0.0
    for k in range(weights.shape[1]):
        total += weights[row, k]
        terms += impurity_term(weights[row, k], criterion)
    return impurity_sum(total, terms, criterion) / total if total > 0.0 else 0.0


def merit_of_threshold(statistics, slot, j, threshold, before, min_fraction, criterion):
    """Decrease of impurity by a test, from `before`; -inf if one side has hardly any weight."""
    total_l, total_r, terms_l, terms_r = 0.0, 0.0, 0.0, 0.0
    for i in range(statistics.slots[slot, N_SLOT_KEYS]):
        label = statistics.slots[slot, FIRST_KEY + i]
        n = statistics.stats[slot, j, label, N]
        if n == 0.0:
            continue
        below = weight_below(statistics, slot, j, label, threshold)
        total_l += below
        total_r += n - below
        terms_l += impurity_term(below, criterion)
        terms_r += impurity_term(n - below, criterion)
    total = total_l + total_r
    if not (total > 0.0 and total_l / total > min_fraction and total_r / total > min_fraction):
        return -np.inf
    after = impurity_sum(total_l, terms_l, criterion) + impurity_sum(total_r, terms_r, criterion)
    return before - after / total


def ones(statistics, slot, j, label):
    """Weight of a class in a category."""
    return statistics.stats[slot, j, label, N] * statistics.stats[slot, j, label, CENTER]


def weight_of_category(statistics, slot, j):
    """Weight of a category, and the weight of all rows whose category is known."""
    weight, total = 0.0, 0.0
    for i in range(statistics.slots[slot, N_SLOT_KEYS]):
        label = statistics.slots[slot, FIRST_KEY + i]
        weight += ones(statistics, slot, j, label)
        total += statistics.stats[slot, j, label, N]
    return weight, total


def is_side_of_its_own(statistics, slot, j, min_fraction):
    """Whether a split of the source of a category many ways has a side for it; rare categories stay together."""
    weight, total = weight_of_category(statistics, slot, j)
    return weight > min_fraction * total


def merit_of_categories(statistics, slot, first, before, min_fraction, criterion):
    """Decrease of impurity, from `before`, if the source of a category is split many ways.

    As more sides gain more by chance alone, what the sides after the second may win in pure noise is subtracted.

    Parameters
    ----------
    first : the first column of the source

    Returns
    -------
    the merit, -inf unless two sides have weight, and the number of tests that divide the sides
    """
    source, n_keys = statistics.is_category[first], statistics.slots[slot, N_SLOT_KEYS]
    after, total, rest, rest_terms, n_sides, n_heavy = 0.0, 0.0, 0.0, 0.0, 0, 0
    for i in range(n_keys):
        label = statistics.slots[slot, FIRST_KEY + i]
        statistics.sides[0, label] = 0.0
        total += statistics.stats[slot, first, label, N]
    for j in range(first, statistics.stats.shape[1]):
        if statistics.is_category[j] != source:
            continue
        weight, terms = 0.0, 0.0
        for i in range(n_keys):
            part = ones(statistics, slot, j, statistics.slots[slot, FIRST_KEY + i])
            weight += part
            terms += impurity_term(part, criterion)
        if weight > min_fraction * total:
            after += impurity_sum(weight, terms, criterion)
            n_sides += 1
            n_heavy += 1
        else:
            for i in range(n_keys):
                label = statistics.slots[slot, FIRST_KEY + i]
                statistics.sides[0, label] += ones(statistics, slot, j, label)
    for i in range(n_keys):
        part = statistics.sides[0, statistics.slots[slot, FIRST_KEY + i]]
        rest += part
        rest_terms += impurity_term(part, criterion)
    if rest > 0.0:
        after += impurity_sum(rest, rest_terms, criterion)
        n_sides += 1
        n_heavy += rest > min_fraction * total
    if n_heavy < 2:
        return -np.inf, 0
    # Of noise, the gain times the weight and this factor has a chi-squared distribution.
    factor = max(n_keys - 1.0, 1.0) / before if criterion == GINI else 2.0 * LOG_2
    freedom = (n_sides - 2.0) * (n_keys - 1.0)
    by_chance = (freedom + SURE * math.sqrt(2.0 * freedom)) / factor
    return before - (after + by_chance) / total, n_sides - 1


def best_class_test(statistics, slot, before, min_fraction, criterion, most_tests):
    """The test of a slot that decreases the impurity most, from `before`: a `FoundTest`.

    Parameters
    ----------
    most_tests : categories are split many ways if that takes two tests or more, and no more than these
    """
    best, best_threshold, merit, second, is_many = -1, 0.0, -np.inf, -np.inf, False
    for j in range(statistics.stats.shape[1]):
        low, high = np.inf, -np.inf
        for i in range(statistics.slots[slot, N_SLOT_KEYS]):
            label = statistics.slots[slot, FIRST_KEY + i]
            if statistics.stats[slot, j, label, N] > 0.0:
                low = min(low, statistics.stats[slot, j, label, LOWEST])
                high = max(high, statistics.stats[slot, j, label, HIGHEST])
        if not low < high:
            continue
        source = statistics.is_category[j]
        feature_merit, feature_threshold = -np.inf, 0.0
        width = (high - low) / (N_CANDIDATES + 1.0)
        for c in range(1 if source > 0 else N_CANDIDATES):
            threshold = 0.5 if source > 0 else low + width * (c + 1)
            if low < threshold < high:
                m = merit_of_threshold(statistics, slot, j, threshold, before, min_fraction, criterion)
                if m > feature_merit:
                    feature_merit, feature_threshold = m, threshold
        splits_many = False
        if source > 0 and most_tests > 1 and is_first_of_source(statistics, j):
            m, n_tests = merit_of_categories(statistics, slot, j, before, min_fraction, criterion)
            if 1 < n_tests <= most_tests and m > feature_merit:
                feature_merit, splits_many = m, True
        if feature_merit == -np.inf:
            continue
        # Of equal merits the last feature is taken, as where suggestions are sorted.
        # Categories of the same source are one feature: they do not compete with one another.
        is_same = best >= 0 and source > 0 and source == statistics.is_category[best]
        if feature_merit >= merit:
            if not is_same:
                second = merit
            best, best_threshold, merit, is_many = j, feature_threshold, feature_merit, splits_many
        elif feature_merit > second and not is_same:
            second = feature_merit
    return FoundTest(best, best_threshold, merit, second, is_many)


def is_first_of_source(statistics, j):
    """Whether no category of the same source comes before."""
    k = 0
    while statistics.is_category[k] != statistics.is_category[j]:
        k += 1
    return k == j


def observe_real(statistics, slot, points, i, target, weight):
    """Add a row and its target to the histograms of a slot."""
    n_bins = statistics.stats.shape[2] - 1
    for j in range(points.shape[1]):
        x = points[i, j]
        if np.isnan(x):
            continue
        x = min(max(x, -LARGEST), LARGEST)
        fit_range(statistics, slot, j, x)
        statistics.stats[slot, j, n_bins, TOTAL] += weight
        b = bin_of(statistics, slot, j, x)
        n = statistics.stats[slot, j, b, BIN_N] + weight
        before = statistics.stats[slot, j, b, BIN_MEAN]
        mean = before + (weight / n) * (target - before)
        statistics.stats[slot, j, b, BIN_N] = n
        statistics.stats[slot, j, b, BIN_MEAN] = mean
        statistics.stats[slot, j, b, BIN_SQUARES] += weight * (target - before) * (target - mean)


def bin_of(statistics, slot, j, x):
    """Number of the bin of a value; bins are closed above, so that a test ``x <= edge`` divides them."""
    n_bins = statistics.stats.shape[2] - 1
    width = statistics.stats[slot, j, n_bins, BIN_WIDTH]
    if width == 0.0:
        return 0
    b = int(np.ceil((x - statistics.stats[slot, j, n_bins, LOWER]) / width)) - 1
    return min(max(b, 0), n_bins - 1)


def fit_range(statistics, slot, j, x):
    """Widen a histogram until it covers a value: neighbouring bins are put together, so that nothing is lost."""
    n_bins = statistics.stats.shape[2] - 1
    if statistics.stats[slot, j, n_bins, TOTAL] == 0.0:
        statistics.stats[slot, j, n_bins, LOWER] = x
        statistics.stats[slot, j, n_bins, BIN_WIDTH] = 0.0
        return
    low = statistics.stats[slot, j, n_bins, LOWER]
    if statistics.stats[slot, j, n_bins, BIN_WIDTH] > 0.0:
        while not low <= x <= low + n_bins * statistics.stats[slot, j, n_bins, BIN_WIDTH]:
            double_range(statistics, slot, j, x < low)
            low = statistics.stats[slot, j, n_bins, LOWER]
        return
    if x == low:
        return
    # The lower end is no value: bins are open below. Halves of a power of two keep edges exact.
    width = abs(x - low) / (n_bins // 2)
    if width == 0.0:
        return
    statistics.stats[slot, j, n_bins, LOWER] = min(low, x) - width
    statistics.stats[slot, j, n_bins, BIN_WIDTH] = width
    old = bin_of(statistics, slot, j, low)
    if old != 0:
        for c in range(N_BIN_NUMBERS):
            statistics.stats[slot, j, old, c] = statistics.stats[slot, j, 0, c]
            statistics.stats[slot, j, 0, c] = 0.0


def double_range(statistics, slot, j, is_upper):
    """Put pairs of bins together; the old range becomes the upper or the lower half, the other one is empty."""
    n_bins = statistics.stats.shape[2] - 1
    half = n_bins // 2
    if is_upper:
        statistics.stats[slot, j, n_bins, LOWER] -= n_bins * statistics.stats[slot, j, n_bins, BIN_WIDTH]
    statistics.stats[slot, j, n_bins, BIN_WIDTH] *= 2.0
    for step in range(half):
        old = half - 1 - step if is_upper else step
        new = half + old if is_upper else old
        n_1, n_2 = statistics.stats[slot, j, 2 * old, BIN_N], statistics.stats[slot, j, 2 * old + 1, BIN_N]
        mean_1, mean_2 = statistics.stats[slot, j, 2 * old, BIN_MEAN], statistics.stats[slot, j, 2 * old + 1, BIN_MEAN]
        squares = statistics.stats[slot, j, 2 * old, BIN_SQUARES] + statistics.stats[slot, j, 2 * old + 1, BIN_SQUARES]
        n = n_1 + n_2
        mean = 0.0
        if n > 0.0:
            mean = mean_1 + (mean_2 - mean_1) * (n_2 / n)
            squares += (mean_2 - mean_1) * (mean_2 - mean_1) * (n_1 * n_2 / n)
        statistics.stats[slot, j, new, BIN_N] = n
        statistics.stats[slot, j, new, BIN_MEAN] = mean
        statistics.stats[slot, j, new, BIN_SQUARES] = squares
    for b in range(half):
        for c in range(N_BIN_NUMBERS):
            statistics.stats[slot, j, b if is_upper else half + b, c] = 0.0


def best_real_test(statistics, slot, min_fraction):
    """The test of a slot that decreases the target's variance most: a `FoundTest`.

    The sides of `statistics` are filled with weight, mean and sum of squares of both sides of it.
    """
    n_bins = statistics.stats.shape[2] - 1
    best, best_bin, merit, second = -1, -1, 0.0, 0.0
    for j in range(statistics.stats.shape[1]):
        total = statistics.stats[slot, j, n_bins, TOTAL]
        if total == 0.0 or statistics.stats[slot, j, n_bins, BIN_WIDTH] == 0.0:
            continue
        mean = 0.0
        for b in range(n_bins):
            mean += statistics.stats[slot, j, b, BIN_N] / total * statistics.stats[slot, j, b, BIN_MEAN]
        # From the left: weight and sum of deviations of the mean of each bin from the mean of all.
        n, deviation, feature_merit, feature_bin = 0.0, 0.0, 0.0, -1
        for b in range(n_bins - 1):
            if statistics.stats[slot, j, b, BIN_N] == 0.0:
                continue
            n += statistics.stats[slot, j, b, BIN_N]
            deviation += statistics.stats[slot, j, b, BIN_N] * (statistics.stats[slot, j, b, BIN_MEAN] - mean)
            if n / total <= min_fraction or (total - n) / total <= min_fraction:
                continue
            # Between the means of both sides, weighted: the part of the variance that the test explains.
            m = (deviation / total) * (deviation / n) * (total / (total - n))
            if m > feature_merit:
                feature_merit, feature_bin = m, b
        if feature_bin < 0:
            continue
        source = statistics.is_category[j]
        is_same = best >= 0 and source > 0 and source == statistics.is_category[best]
        if feature_merit >= merit:
            if not is_same:
                second = merit
            best, best_bin, merit = j, feature_bin, feature_merit
        elif feature_merit > second and not is_same:
            second = feature_merit
    best_threshold = 0.0
    if best >= 0:
        add_sides(statistics, slot, best, best_bin)
        # In the middle of the empty bins after it.
        after = best_bin + 1
        while after < n_bins and statistics.stats[slot, best, after, BIN_N] == 0.0:
            after += 1
        low, width = statistics.stats[slot, best, n_bins, LOWER], statistics.stats[slot, best, n_bins, BIN_WIDTH]
        best_threshold = 0.5 if statistics.is_category[best] > 0 else low + width * 0.5 * (best_bin + 1 + after)
    return FoundTest(best, best_threshold, merit, second, False)


def real_merit(statistics, slot, j, threshold):
    """Decrease of the target's variance by a test, whose threshold counts as the next edge of a bin below it."""
    n_bins = statistics.stats.shape[2] - 1
    total = statistics.stats[slot, j, n_bins, TOTAL]
    low, width = statistics.stats[slot, j, n_bins, LOWER], statistics.stats[slot, j, n_bins, BIN_WIDTH]
    if total == 0.0 or width == 0.0:
        return 0.0
    mean = 0.0
    for b in range(n_bins):
        mean += statistics.stats[slot, j, b, BIN_N] / total * statistics.stats[slot, j, b, BIN_MEAN]
    n, deviation = 0.0, 0.0
    for b in range(n_bins):
        if low + width * (b + 1) > threshold:
            break
        n += statistics.stats[slot, j, b, BIN_N]
        deviation += statistics.stats[slot, j, b, BIN_N] * (statistics.stats[slot, j, b, BIN_MEAN] - mean)
    if n <= 0.0 or n >= total:
        return 0.0
    return (deviation / total) * (deviation / n) * (total / (total - n))


def add_sides(statistics, slot, j, last):
    """Fill the sides of `statistics`: weight, mean and squares of the bins up to `last`, and of those after it."""
    n_bins = statistics.stats.shape[2] - 1
    for side in range(2):
        n, mean, squares = 0.0, 0.0, 0.0
        for b in range(0 if side == 0 else last + 1, last + 1 if side == 0 else n_bins):
            m = statistics.stats[slot, j, b, BIN_N]
            if m == 0.0:
                continue
            d = statistics.stats[slot, j, b, BIN_MEAN] - mean
            n += m
            mean += d * (m / n)
            squares += statistics.stats[slot, j, b, BIN_SQUARES] + d * d * (m * (n - m) / n)
        statistics.sides[side, 0] = n
        statistics.sides[side, 1] = mean
        statistics.sides[side, 2] = squares


def hoeffding_bound(spread, delta, n):
    """Deviation of a mean of `n` values in a range of length `spread` that is passed with probability `delta`."""
    return math.sqrt(spread * spread * math.log(1.0 / delta) / (2.0 * n))
