"""Forests on streams: how often each tree learns a row, whether it still fits the stream, and how trees vote.

outputs : (n, n_outputs) predictions of one tree for rows that it had not learned
weights : (n,) of the rows as the user gave them; rows of weight 0 are predicted and leave no trace
memory : rows after which a loss has faded to about a third
detectors : (2, n_numbers) states of the warning and the drift detector of a tree, both ADWIN
scores : (N_SCORES,) what is known of a tree's losses
adjustment : (N_ADJUSTMENT,) what the errors of the votes have shown
"""

import math

import numpy as np

from softwood.stream.loops.drift import DRIFT, NOTHING, WARNING, update_adwin
from softwood.stream.loops.layout import CENTRE, VARIANCE
from softwood.stream.loops.scales import LARGEST_ROOT, update_scale
from softwood.trees.loops.random import next_seed, to_unit

# scores: faded mean of the losses and rows in it; of regressors also the mean of all absolute errors and rows in it
LOSS, N_LOSSES, SIZE, N_SIZES = range(4)
N_SCORES = 4
# Probabilities below this count as it in losses, so that one row cannot silence a tree.
LEAST_IN_LOSS = 1e-3
# The same in votes, so that one tree cannot rule out a class.
LEAST_IN_VOTES = 1e-4
# An error counts in a regressor's detectors as it compares with so many mean errors.
ERRORS = 3.0
# Larger errors count as this one.
LARGEST_ERROR = 1e300
# adjustment of votes; of classes: the power that they are raised to less 1, and the curvature of the log loss by it;
# of real targets: faded mean of the last errors, faded sums of its products with the next errors and of its squares,
# and rows, up to LEARNED
EXCESS, CURVATURE = range(2)
LEVEL, PRODUCTS, SQUARES, N_ERRORS = range(4)
N_ADJUSTMENT = 4
# Part of these sums that is left after a row.
FADING = 0.998
LEAST_POWER, LARGEST_POWER = 0.3, 3.0
# A smaller curvature counts as this, so that the first rows make small steps.
LEAST_CURVATURE = 30.0
LEAST_VOTE = 1e-12
# The last error counts as this part of the level.
LEVEL_RATE = 0.4
# Rows that do not count, as a young forest errs all the time, and row from which on the level is added.
SKIPPED, LEARNED = 30.0, 60.0
# Running variances from here on are not exact, as squares of larger differences are no floats.
LARGEST_VARIANCE = 1e290


def bound_targets(targets, weights, scaler, limit, out):
    """Fill `out` (n,): targets as the trees learn them, so that one outlier does not stay in the means of leaves.

    Parameters
    ----------
    scaler : (N_SCALER_ROWS, 1) running mean and deviation of the targets, which the rows are added to
    limit : a target that is further than so many deviations from the mean is moved to there
    """
    for i in range(targets.shape[0]):
        out[i] = targets[i]
        if weights[i] <= 0.0:
            continue
        # With the target itself in the scale, as in soft trees.
        update_scale(scaler, 0, targets[i], weights[i], np.inf, limit)
        if 0.0 < scaler[VARIANCE, 0] < LARGEST_VARIANCE:
            reach = limit * math.sqrt(scaler[VARIANCE, 0])
            out[i] = min(max(out[i], scaler[CENTRE, 0] - reach), scaler[CENTRE, 0] + reach)


def draw_count(seed, number, rate, start):
    """A number from a Poisson distribution of the mean `rate`, ``exp(-rate)`` being `start`.

    Parameters
    ----------
    seed : of the tree
    number : of the row among all rows of the stream that had a weight
    """
    u = to_unit(next_seed(seed, number))
    count, part, total = 0, start, start
    while u >= total and part > 1e-17:
        count += 1
        part *= rate / count
        total += part
    return count


def draw_weights(seed, first, rate, weights, out):
    """Weights with which a tree learns rows: the row's own, times a number from a Poisson distribution.

    Parameters
    ----------
    seed : of the tree
    first : number of the first of these rows among all rows of the stream that had a weight
    rate : mean of the distribution
    """
    number = first
    start = math.exp(-rate)
    for i in range(weights.shape[0]):
        out[i] = 0.0
        if weights[i] > 0.0:
            out[i] = draw_count(seed, number, rate, start) * weights[i]
            number += 1


def draw_row(seeds, number, rate, weight, out):
    """`draw_weights` of all trees for one row: `seeds` of the trees and `out`, both (n_trees,)."""
    start = math.exp(-rate)
    for t in range(seeds.shape[0]):
        out[t] = draw_count(seeds[t], number, rate, start) * weight if weight > 0.0 else 0.0


def keep_columns(points, is_kept, out):
    """Copy rows (n, n_features) to `out`, with nan in columns that a tree does not see: `is_kept` is uint8."""
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            out[i, j] = points[i, j] if is_kept[j] else np.nan


def keep_columns_of_all(points, is_kept, out):
    """`keep_columns` of all trees: `is_kept` (n_trees, n_features), `out` (n_trees, n, n_features)."""
    for t in range(out.shape[0]):
        keep_columns(points, is_kept[t], out[t])


def class_error(outputs, i, label, memory, scores):
    """Add the cross-entropy of a row of probabilities to the scores; returns 1 if another class is the largest."""
    scores[N_LOSSES] = min(scores[N_LOSSES] + 1.0, memory)
    scores[LOSS] += (-math.log(max(outputs[i, label], LEAST_IN_LOSS)) - scores[LOSS]) / scores[N_LOSSES]
    best = 0
    for k in range(1, outputs.shape[1]):
        if outputs[i, k] > outputs[i, best]:
            best = k
    return 0.0 if best == label else 1.0


def real_error(output, target, memory, scores):
    """Add the absolute error of one row to the scores; returns it on a scale from 0 to 1, by the mean of all so far."""
    size = min(abs(output - target), LARGEST_ERROR)
    scores[N_LOSSES] = min(scores[N_LOSSES] + 1.0, memory)
    scores[LOSS] += (size - scores[LOSS]) / scores[N_LOSSES]
    scores[N_SIZES] += 1.0
    scores[SIZE] += (size - scores[SIZE]) / scores[N_SIZES]
    return size / (size + ERRORS * scores[SIZE]) if size > 0.0 else 0.0


def watch(outputs, labels, targets, weights, start, memory, detectors, scores, losses):
    """Look at the errors of a tree from row `start` on, until a detector reports something.

    Parameters
    ----------
    labels, targets : (n,) of the rows, one of them None
    losses : (n,) is filled with the recent loss of the tree as it was before each row

    Returns
    -------
    row after the last one that was looked at, and NOTHING, WARNING or DRIFT
    """
    warning, drift = detectors[0], detectors[1]
    is_class = labels is not None
    for i in range(start, outputs.shape[0]):
        losses[i] = scores[LOSS]
        if weights[i] <= 0.0:
            continue
        if is_class:
            error = class_error(outputs, i, labels[i], memory, scores)
        else:
            error = real_error(outputs[i, 0], targets[i], memory, scores)
        is_warned = update_adwin(warning, error) == DRIFT
        if update_adwin(drift, error) == DRIFT:
            return i + 1, DRIFT
        if is_warned:
            return i + 1, WARNING
    return outputs.shape[0], NOTHING


def watch_row(outputs, labels, targets, weights, memory, detectors, scores, losses, found):
    """`watch` of all trees for one row: arguments of all trees; `found` (n_trees,) int64 gets what detectors report."""
    for t in range(outputs.shape[0]):
        found[t] = watch(outputs[t], labels, targets, weights, 0, memory, detectors[t], scores[t], losses[t])[1]


def score_spare(outputs, labels, targets, weights, memory, scores):
    """Add the losses of a tree that does not vote yet to its scores."""
    is_class = labels is not None
    for i in range(outputs.shape[0]):
        if weights[i] <= 0.0:
            continue
        if is_class:
            class_error(outputs, i, labels[i], memory, scores)
        else:
            real_error(outputs[i, 0], targets[i], memory, scores)


def vote_classes(outputs, losses, sharpness, out):
    """Weighted geometric means of the trees' probabilities, (n, n_classes), that add up to 1.

    Parameters
    ----------
    outputs, losses : (n_trees, n, n_classes) and (n_trees, n) of all trees
    sharpness : by how much the logarithm of a vote's weight falls with the loss
    """
    n_trees, n, n_classes = outputs.shape[0], outputs.shape[1], outputs.shape[2]
    for i in range(n):
        least = np.inf
        for t in range(n_trees):
            least = min(least, losses[t, i])
        for k in range(n_classes):
            out[i, k] = 0.0
        total = 0.0
        for t in range(n_trees):
            weight = math.exp(-sharpness * (losses[t, i] - least))
            total += weight
            for k in range(n_classes):
                out[i, k] += weight * math.log(max(outputs[t, i, k], LEAST_IN_VOTES))
        highest = -np.inf
        for k in range(n_classes):
            out[i, k] /= total
            highest = max(highest, out[i, k])
        total = 0.0
        for k in range(n_classes):
            out[i, k] = math.exp(out[i, k] - highest)
            total += out[i, k]
        for k in range(n_classes):
            out[i, k] /= total


def adjust_classes(labels, weights, adjustment, out):
    """Raise votes (n, n_classes) to a power, and learn it from rows in their order: that of the least log loss so far.

    Each row makes a step of Newton's method, whose curvature fades. Votes that are too sure get a power below 1.

    Parameters
    ----------
    labels : (n,) int64, or None, and nothing is learned
    """
    n_classes = out.shape[1]
    for i in range(out.shape[0]):
        power, highest = 1.0 + adjustment[EXCESS], -np.inf
        for k in range(n_classes):
            out[i, k] = math.log(max(out[i, k], LEAST_VOTE))
            highest = max(highest, out[i, k])
        own = out[i, labels[i]] - highest if labels is not None else 0.0
        total, first, second = 0.0, 0.0, 0.0
        for k in range(n_classes):
            d = out[i, k] - highest
            p = math.exp(power * d)
            total += p
            first += p * d
            second += p * d * d
            out[i, k] = p
        for k in range(n_classes):
            out[i, k] /= total
        if labels is None or weights[i] <= 0.0:
            continue
        first /= total
        adjustment[CURVATURE] = FADING * adjustment[CURVATURE] + max(second / total - first * first, 0.0)
        power -= (first - own) / max(adjustment[CURVATURE], LEAST_CURVATURE)
        adjustment[EXCESS] = min(max(power, LEAST_POWER), LARGEST_POWER) - 1.0


def level_part(adjustment):
    """What is added to predictions: the level, times the part of it that errors after it have shown so far."""
    if adjustment[N_ERRORS] < LEARNED or adjustment[SQUARES] <= 0.0:
        return 0.0
    return min(max(adjustment[PRODUCTS] / adjustment[SQUARES], 0.0), 1.0) * adjustment[LEVEL]


def adjust_reals(targets, weights, adjustment, out):
    """Add the level to votes (n, 1), and take in the errors of the votes, for rows in their order.

    Errors of streams that are in the order of time often last for some rows.

    Parameters
    ----------
    targets : (n,), or None, and nothing is learned
    """
    for i in range(out.shape[0]):
        vote = out[i, 0]
        out[i, 0] = vote + level_part(adjustment)
        if targets is None or weights[i] <= 0.0:
            continue
        adjustment[N_ERRORS] = min(adjustment[N_ERRORS] + 1.0, LEARNED)
        if adjustment[N_ERRORS] <= SKIPPED:
            continue
        error, level = min(max(targets[i] - vote, -LARGEST_ROOT), LARGEST_ROOT), adjustment[LEVEL]
        adjustment[PRODUCTS] = FADING * adjustment[PRODUCTS] + error * level
        adjustment[SQUARES] = FADING * adjustment[SQUARES] + level * level
        adjustment[LEVEL] = level + LEVEL_RATE * (error - level)


def vote_reals(outputs, losses, sharpness, out):
    """Weighted means of the trees' predictions, (n, 1): a weight falls with this power of the loss.

    Parameters
    ----------
    outputs, losses : (n_trees, n, 1) and (n_trees, n) of all trees
    """
    n_trees, n = outputs.shape[0], outputs.shape[1]
    for i in range(n):
        least = np.inf
        for t in range(n_trees):
            least = min(least, losses[t, i])
        total = 0.0
        for t in range(n_trees):
            total += math.pow(least / losses[t, i], sharpness) if losses[t, i] > least else 1.0
        out[i, 0] = 0.0
        for t in range(n_trees):
            weight = math.pow(least / losses[t, i], sharpness) if losses[t, i] > least else 1.0
            out[i, 0] += weight / total * outputs[t, i, 0]
