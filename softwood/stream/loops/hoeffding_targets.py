"""Hoeffding trees for real targets: means and linear models in leaves.

Arguments that recur are the tuples of `softwood.stream.loops.layout`,

rows : `Rows`;  tree : `TreeNodes`;  reals : `RealNodes`;  statistics : `Statistics`

and

points, i : (n, n_features) values, nan where missing, and the number of the row that is meant
"""

import math

import numpy as np

from softwood.stream.loops.alarms import learned, note_target
from softwood.stream.loops.hoeffding import find_leaf, has_room, is_time, put_test
from softwood.stream.loops.layout import (
    DEPTH,
    INVERSE,
    LAST_ATTEMPT,
    LEFT,
    MEAN,
    MODEL,
    MODEL_SCORE,
    N_ROWS,
    OWNER,
    PARENT,
    PLAIN,
    PLAIN_SCORE,
    SLOT,
    SPREAD,
    WEIGHT,
)
from softwood.stream.loops.observers import best_real_test, hoeffding_bound, observe_real, take_slot
from softwood.stream.loops.scales import LARGEST, from_mean, update_scaler

# A leaf with less weight than this predicts its mean, unless its settings ask for its linear model.
FEW = 50.0


def leaf_target(points, i, leaf, tree, reals):
    """Prediction of a leaf, the mean of its targets or its linear model, and that of its linear model, if it has one.

    In the linear model missing values count as the mean.
    """
    how = tree.settings.leaf_prediction
    mean = tree.numbers[leaf, MEAN]
    if how == PLAIN:
        return mean, mean
    total = reals.models[leaf, 0]
    for j in range(points.shape[1]):
        if not np.isnan(points[i, j]):
            total += reals.models[leaf, 1 + j] * from_mean(points[i, j], reals.scaler, j) * reals.scaler[INVERSE, j]
    linear = mean + total
    is_known = tree.numbers[leaf, WEIGHT] >= FEW
    if how == MODEL or (is_known and tree.numbers[leaf, MODEL_SCORE] <= tree.numbers[leaf, PLAIN_SCORE]):
        return linear, linear
    return mean, linear


def predict_targets(rows, tree, reals):
    """Predicted targets of rows."""
    for i in range(rows.points.shape[0]):
        rows.out[i, 0] = leaf_target(rows.points, i, find_leaf(rows.points, i, tree), tree, reals)[0]


def learn_linear(points, i, target, weight, leaf, linear, tree, reals):
    """One normalised gradient step of a leaf's linear model, and the faded errors of both of its predictions."""
    fading, left_over = tree.settings.model_selector_decay, 1.0 - tree.settings.learning_rate
    if weight != 1.0:
        fading, left_over = math.pow(fading, weight), math.pow(left_over, weight)
    plain_error, error = target - tree.numbers[leaf, MEAN], target - linear
    tree.numbers[leaf, PLAIN_SCORE] = fading * tree.numbers[leaf, PLAIN_SCORE] + plain_error * plain_error
    tree.numbers[leaf, MODEL_SCORE] = min(fading * tree.numbers[leaf, MODEL_SCORE] + error * error, LARGEST)
    squares = 1.0
    for j in range(points.shape[1]):
        if not np.isnan(points[i, j]):
            z = from_mean(points[i, j], reals.scaler, j) * reals.scaler[INVERSE, j]
            squares += z * z
    # Divided by the length of the row, so that no step goes beyond the target.
    step = (1.0 - left_over) * error / squares
    reals.models[leaf, 0] += step
    for j in range(points.shape[1]):
        if not np.isnan(points[i, j]):
            reals.models[leaf, 1 + j] += step * from_mean(points[i, j], reals.scaler, j) * reals.scaler[INVERSE, j]


def learn_targets(rows, start, tree, reals, statistics):
    """Learn rows one after the other, from row `start` on, while there is space and no alarm; returns a `Learned`."""
    has_out = rows.out.shape[0] > 0
    has_model = tree.settings.leaf_prediction != PLAIN
    for i in range(start, rows.points.shape[0]):
        if not has_room(tree, statistics, 1):
            return learned(i, tree)
        target, weight = rows.targets[i], rows.weights[i]
        leaf = find_leaf(rows.points, i, tree)
        prediction, linear = leaf_target(rows.points, i, leaf, tree, reals)
        if has_out:
            rows.out[i, 0] = prediction
        if weight <= 0.0:
            continue
        tree.counters[N_ROWS] += 1
        if has_model:
            if tree.numbers[leaf, WEIGHT] > 0.0:
                # the first row makes the mean, about which the linear model is
                learn_linear(rows.points, i, target, weight, leaf, linear, tree, reals)
            update_scaler(reals.scaler, rows.points, i, weight, np.inf, 0.0)
        node = leaf
        while node >= 0:
            tree.numbers[node, WEIGHT] += weight
            d = target - tree.numbers[node, MEAN]
            move = d * (weight / tree.numbers[node, WEIGHT])
            tree.numbers[node, MEAN] += move
            if has_model and node == leaf and tree.numbers[node, WEIGHT] > weight:
                # What the linear model says must not move with the mean.
                reals.models[node, 0] -= move
            tree.numbers[node, SPREAD] += weight * d * (target - tree.numbers[node, MEAN])
            node = tree.nodes[node, PARENT]
        slot = tree.nodes[leaf, SLOT]
        if slot >= 0:
            observe_real(statistics, slot, rows.points, i, target, weight)
            if is_time(leaf, tree.numbers[leaf, WEIGHT], tree):
                try_target_split(leaf, tree, reals, statistics)
        if note_target(prediction, target, tree):
            return learned(i + 1, tree)
    return learned(rows.points.shape[0], tree)


def try_target_split(leaf, tree, reals, statistics):
    """Split a leaf if its best test is surely better than the second best, or if both are as good."""
    slot, seen = tree.nodes[leaf, SLOT], tree.numbers[leaf, WEIGHT]
    test = best_real_test(statistics, slot, tree.settings.min_branch_fraction)
    bound = hoeffding_bound(1.0, tree.settings.delta, seen)
    if test.feature < 0 or not (test.second / test.merit < 1.0 - bound or bound < tree.settings.tau):
        return
    put_test(leaf, test, bound, seen, tree, statistics)
    statistics.slots[slot, OWNER] = -1
    tree.nodes[leaf, SLOT] = -1
    for side in range(2):
        child = tree.nodes[leaf, LEFT + side]
        for j in range(reals.models.shape[1]):
            reals.models[child, j] = reals.models[leaf, j]
        tree.numbers[child, WEIGHT] = statistics.sides[side, 0]
        tree.numbers[child, MEAN] = statistics.sides[side, 1]
        tree.numbers[child, SPREAD] = statistics.sides[side, 2]
        reals.models[child, 0] += tree.numbers[leaf, MEAN] - statistics.sides[side, 1]
        tree.numbers[child, MODEL_SCORE] = tree.numbers[leaf, MODEL_SCORE]
        tree.numbers[child, PLAIN_SCORE] = tree.numbers[leaf, PLAIN_SCORE]
        tree.numbers[child, LAST_ATTEMPT] = statistics.sides[side, 0]
        if tree.nodes[child, DEPTH] < tree.settings.max_depth:
            tree.nodes[child, SLOT] = take_slot(statistics, child)
