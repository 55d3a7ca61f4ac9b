"""What leaves of growing trees remember, the slow way: all rows, looked at again whenever something is asked."""

import math
from dataclasses import dataclass, field

import numpy as np

N_CANDIDATES = 10


@dataclass
class Seen:
    """Rows of a leaf with their targets and weights, in the order in which they came."""

    points: list = field(default_factory=list)
    targets: list = field(default_factory=list)
    weights: list = field(default_factory=list)

    @classmethod
    def of(cls, points, targets, weights):
        return cls(list(points), list(targets), list(weights))

    def add(self, x, y, w):
        self.points.append(x)
        self.targets.append(y)
        self.weights.append(w)

    @property
    def labels(self):
        """Classes in the order in which they came."""
        return list(dict.fromkeys(self.targets))

    def known(self, j, label=None):
        """Values of a feature where it is known (and the class is `label`), and the weights of these rows."""
        x, w = np.array([p[j] for p in self.points]), np.array(self.weights)
        keep = ~np.isnan(x) if len(x) else np.zeros(0, dtype=bool)
        if label is not None:
            keep &= np.array(self.targets) == label
        return x[keep], w[keep]


# ------------------------------------------------------------------ classes


def center_and_squares(x, w):
    if x.min() == x.max():
        return x[0], 0.0
    center = (w @ x) / w.sum()
    return center, w @ (x - center) ** 2


def log_density(seen, row, label, is_category, unlikely=False):
    """With `unlikely`, values that the class has not shown have the density 0, and categories one more row each."""
    total = 0.0
    for j, value in enumerate(row):
        x, w = seen.known(j, label)
        if np.isnan(value):
            continue
        if unlikely and is_category[j]:
            if value == 1.0:
                n_values = sum(source == is_category[j] for source in is_category)
                total += math.log((w @ x + 1.0) / (w.sum() + n_values)) if len(x) else -math.inf
            continue
        if len(x) == 0:
            total += -math.inf if unlikely else 0.0
            continue
        center, squares = center_and_squares(x, w)
        if unlikely and (w.sum() <= 1.0 or squares == 0.0):
            total += 0.0 if value == center else -math.inf
            continue
        if is_category[j]:
            total += math.log(center) if value == 1.0 and center > 0.0 else 0.0
        elif w.sum() > 1.0 and squares > 0.0:
            variance = squares / (w.sum() - 1.0)
            total += -0.5 * math.log(2.0 * math.pi * variance) - (value - center) ** 2 / (2.0 * variance)
    return total


def weight_below(x, w, threshold, is_category):
    """Of rows of one class, as their normal distribution has it."""
    if is_category:
        return w[x == 0.0].sum()
    if len(x) == 0 or threshold < x.min():
        return 0.0
    if threshold >= x.max():
        return w.sum()
    center, squares = center_and_squares(x, w)
    if w.sum() <= 1.0:
        return 0.0
    z = (threshold - center) / math.sqrt(squares / (w.sum() - 1.0))
    return w.sum() * 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))


def impurity(weights, is_gini):
    p = np.array([w for w in weights if w > 0.0])
    p = p / p.sum() if len(p) else p
    p = p[p > 0.0]  # of a weight that is tiny beside the others nothing is left
    if is_gini:
        return 1.0 - (p**2).sum() if len(p) else 0.0
    return -(p * np.log2(p)).sum()


def class_sides(seen, j, threshold, is_category):
    """Weights of the classes on both sides of a test, (2, n_labels)."""
    sides = np.zeros((2, len(seen.labels)))
    for k, label in enumerate(seen.labels):
        x, w = seen.known(j, label)
        sides[0, k] = weight_below(x, w, threshold, is_category)
        sides[1, k] = w.sum() - sides[0, k]
    return sides


def class_merit(seen, j, threshold, before, is_category, min_fraction=0.0, is_gini=False):
    sides = class_sides(seen, j, threshold, is_category)
    parts = sides.sum(axis=1) / sides.sum()
    if not parts.min() > min_fraction:
        return -math.inf
    return before - sum(part * impurity(side, is_gini) for part, side in zip(parts, sides, strict=True))


def candidates(seen, j, is_category):
    x, _ = seen.known(j)
    if len(x) == 0 or x.min() == x.max():
        return []
    if is_category:
        return [0.5]
    steps = np.arange(1, N_CANDIDATES + 1) / (N_CANDIDATES + 1)
    return [t for t in x.min() + (x.max() - x.min()) * steps if x.min() < t < x.max()]


def sides_of_source(seen, source, is_category, min_fraction):
    """Columns of the categories with a side of their own, and class weights of each of these and of the others."""
    columns = [j for j in range(len(is_category)) if is_category[j] == source]
    parts = {j: np.array([np.dot(*seen.known(j, label)) for label in seen.labels]) for j in columns}
    total = seen.known(columns[0])[1].sum()
    own = [j for j in columns if parts[j].sum() > min_fraction * total]
    rest = sum((parts[j] for j in columns if j not in own), np.zeros(len(seen.labels)))
    return own, [parts[j] for j in own], rest, total


def merit_of_source(seen, source, before, is_category, min_fraction, is_gini):
    """Merit of a split many ways, less what the sides after the second may win by chance; and its number of tests."""
    own, sides, rest, total = sides_of_source(seen, source, is_category, min_fraction)
    n_heavy = len(own) + (rest.sum() > min_fraction * total)
    sides += [rest] if rest.sum() > 0.0 else []
    if n_heavy < 2:
        return -math.inf, 0
    n_classes = len(seen.labels)
    freedom = (len(sides) - 2) * (n_classes - 1)
    factor = max(n_classes - 1, 1) / before if is_gini else 2.0 * math.log(2.0)
    by_chance = (freedom + 3.0 * math.sqrt(2.0 * freedom)) / factor
    after = sum(side.sum() * impurity(side, is_gini) for side in sides)
    return before - (after + by_chance) / total, len(sides) - 1


def best_class_test(seen, before, is_category, min_fraction=0.0, is_gini=False, most_tests=1):
    """Feature, threshold, merit, merit of the best test on another feature; feature -1 if there is none.

    The threshold of a split many ways is None; these take no more than `most_tests`.
    """
    best = [(-1, 0.0, -math.inf)]
    for j in range(len(seen.points[0]) if seen.points else 0):
        tests = [
            (j, t, class_merit(seen, j, t, before, is_category[j], min_fraction, is_gini))
            for t in candidates(seen, j, is_category[j])
        ]
        if is_category[j] and most_tests > 1 and is_category[j] not in is_category[:j]:
            merit, n_tests = merit_of_source(seen, is_category[j], before, is_category, min_fraction, is_gini)
            tests += [(j, None, merit)] if 1 < n_tests <= most_tests else []
        tests = [test for test in tests if test[2] > -math.inf]
        if tests:
            best.append(max(tests, key=lambda test: test[2]))
    best.sort(key=lambda test: test[2])
    return *best[-1], max((t[2] for t in rivals(best, is_category)), default=-math.inf)


def rivals(tests, is_category):
    """All but the last, less those on other categories of its source."""
    source = is_category[tests[-1][0]] if tests[-1][0] >= 0 else 0
    return [t for t in tests[:-1] if not (source and t[0] >= 0 and is_category[t[0]] == source)]


# ------------------------------------------------------------------ real targets


def grid(values, n_bins):
    """Lower end and width of the bins after values have come in this order."""
    lower, width = values[0], 0.0
    for x in values[1:]:
        if width == 0.0:
            # The first two different values are on edges, half of all bins between them.
            width = abs(x - lower) / (n_bins // 2)
            lower = min(lower, x) - width if width > 0.0 else lower
            continue
        while x < lower:
            lower, width = lower - n_bins * width, 2.0 * width
        while x > lower + n_bins * width:
            width *= 2.0
    return lower, width


def bin_numbers(values, n_bins):
    """Bin of each value; bins are open below and closed above."""
    lower, width = grid(values, n_bins)
    if width == 0.0:
        return np.zeros(len(values), dtype=int), lower, width
    return np.clip(np.ceil((values - lower) / width).astype(int) - 1, 0, n_bins - 1), lower, width


def mean_and_squares(y, w):
    """Weight, mean and sum of squares about it."""
    return (w.sum(), *center_and_squares(y, w)) if len(y) else (0.0, 0.0, 0.0)


def best_real_test(seen, is_category, min_fraction=0.0, n_bins=64):
    """Feature, threshold, decrease of variance, that of the best test on another feature, and both sides' sums."""
    best = [(-1, 0.0, 0.0, None)]
    for j in range(len(seen.points[0]) if seen.points else 0):
        x, w = seen.known(j)
        if len(x) == 0:
            continue
        y = np.array([t for p, t in zip(seen.points, seen.targets, strict=True) if not np.isnan(p[j])])
        bins, lower, width = bin_numbers(x, n_bins)
        found = (j, 0.0, 0.0, None)
        for b in sorted(set(bins))[:-1]:
            sides = [mean_and_squares(y[side], w[side]) for side in (bins <= b, bins > b)]
            if min(sides[0][0], sides[1][0]) / w.sum() <= min_fraction:
                continue
            merit = (mean_and_squares(y, w)[2] - sides[0][2] - sides[1][2]) / w.sum()
            if merit > found[2]:
                after = min(bins[bins > b])
                threshold = 0.5 if is_category[j] else lower + width * (b + 1 + after) / 2
                found = (j, threshold, merit, sides)
        if found[2] > 0.0:
            best.append(found)
    best.sort(key=lambda test: test[2])
    feature, threshold, merit, sides = best[-1]
    return feature, threshold, merit, max((t[2] for t in rivals(best, is_category)), default=0.0), sides


def real_merit(seen, j, threshold, n_bins=64):
    """Decrease of variance by a test; bins that reach beyond the threshold are on the right."""
    x, w = seen.known(j)
    if len(x) == 0 or min(x) == max(x):
        return 0.0
    y = np.array([t for p, t in zip(seen.points, seen.targets, strict=True) if not np.isnan(p[j])])
    bins, lower, width = bin_numbers(x, n_bins)
    left = lower + width * (bins + 1) <= threshold
    if left.all() or not left.any():
        return 0.0
    sides = [mean_and_squares(y[side], w[side]) for side in (left, ~left)]
    return (mean_and_squares(y, w)[2] - sides[0][2] - sides[1][2]) / w.sum()


def hoeffding_bound(spread, delta, n):
    return math.sqrt(spread**2 * math.log(1.0 / delta) / (2.0 * n))
