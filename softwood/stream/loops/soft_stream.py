"""Soft trees on streams: rows are shared among leaves, all gates and leaves that a row reaches learn from it.

Arguments that recur are the tuples of `softwood.stream.loops.layout`,

rows : `Rows`;  tree : `TreeNodes`;  soft : `SoftNodes`;  path : `Path`
statistics : `Statistics`, or None in a tree that does not grow

and

points, i : (n, n_features) values, nan where missing, and the number of the row that is meant
n : number of nodes that the row reaches, which are listed in `path`
out, row : an array of outputs, and the row of it to fill
"""

import math

import numpy as np

from softwood.stream.loops.alarms import learned, note_class, note_target
from softwood.stream.loops.hoeffding import MOST_PORTIONS
from softwood.stream.loops.layout import (
    ALL_WEIGHT,
    ALONG,
    ALPHA_AT,
    BIAS_AT,
    CENTRE,
    FADE_1,
    FADE_2,
    INVERSE,
    LEFT,
    LESS_TEST,
    N_IN_BATCH,
    N_NODES,
    N_ROWS,
    PART,
    PROBABILITIES,
    SHARE,
    SLOPE,
    TARGETS,
    TOUCHED,
    VARIANCE,
    WEIGHT,
)
from softwood.stream.loops.scales import update_scale, update_scaler
from softwood.stream.loops.soft_stream_growth import grow, has_room_for_all, observe, passes

# Adam's factors of both moments, and what keeps steps finite.
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
# What of a gate or leaf has a gradient that waits for a step: all, or alpha alone, where the smooth step is flat.
ALL_WAITS, ALPHA_WAITS = 1, 2
# A learned alpha does not fall below this: with 0 one side is not reached, and nothing could ever be learned again.
LEAST_ALPHA = 0.02
# A standardised value counts in a gradient up to here, so that an outlier does not fill Adam's second moment.
LARGEST_INPUT = 10.0
# Rows for which the values that a leaf begins with count while it follows class shares.
PRIOR_WEIGHT = 10.0


def standardise(points, i, scaler, has_bias, x):
    """Fill `x` (1 + n_features,): 1 for the bias if there is one, and standardised values, 0 where missing."""
    x[0] = 1.0 if has_bias else 0.0
    for j in range(points.shape[1]):
        x[1 + j] = 0.0 if np.isnan(points[i, j]) else (points[i, j] - scaler[CENTRE, j]) * scaler[INVERSE, j]


def bounded(points, i, scaler, limit, within):
    """Fill `within` (1, n_features): the row, with values beyond the limit of `update_scale` moved to there."""
    for j in range(points.shape[1]):
        x = points[i, j]
        # Most values are well within the limit, so that their deviations need no root; nan is not.
        is_near = abs(x - scaler[CENTRE, j]) * scaler[INVERSE, j] < 0.5 * limit
        if limit > 0.0 and scaler[VARIANCE, j] > 0.0 and not is_near and not np.isnan(x):
            reach = limit * math.sqrt(scaler[VARIANCE, j])
            x = min(max(x, scaler[CENTRE, j] - reach), scaler[CENTRE, j] + reach)
        within[0, j] = x


def along(gates, node, x):
    """Weights of a gate times the standardised row; four sums at once, which takes less time than one."""
    n = x.shape[0]
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    j = 0
    while j + 4 <= n:
        a += gates[0, node, BIAS_AT + j] * x[j]
        b += gates[0, node, BIAS_AT + j + 1] * x[j + 1]
        c += gates[0, node, BIAS_AT + j + 2] * x[j + 2]
        d += gates[0, node, BIAS_AT + j + 3] * x[j + 3]
        j += 4
    while j < n:
        a += gates[0, node, BIAS_AT + j] * x[j]
        j += 1
    return (a + c) + (b + d)


def visit(points, i, tree, soft, path):
    """List the nodes that a row reaches, parents first, and its share in each.

    Returns
    -------
    number of nodes
    """
    gamma = tree.settings.gamma
    path.places[0, 0] = 0
    path.shares[0, SHARE] = 1.0
    n = 1
    at = 0
    while at < n:
        node = path.places[at, 0]
        if tree.nodes[node, LEFT] < 0:
            path.places[at, 1] = -1
            path.places[at, 2] = -1
            path.tests[at] = 0.0
        else:
            # `smooth_step` and its slope, with bounds in place of branches that cannot be predicted.
            r = min(max(along(soft.gates, node, path.x) / gamma, -0.5), 0.5)
            step = 0.5 + 1.5 * r - 2.0 * r * r * r
            alpha = soft.gates[0, node, ALPHA_AT]
            test = passes(points, i, node, tree)
            part = alpha * step + (1.0 - alpha) * test
            path.shares[at, PART] = part
            path.shares[at, SLOPE] = alpha * ((1.5 - 6.0 * r * r) / gamma)
            path.shares[at, LESS_TEST] = step - test
            path.tests[at] = test
            for side in range(2):
                share = part if side == 0 else 1.0 - part
                path.places[at, 1 + side] = -1
                if share > 0.0:
                    path.places[at, 1 + side] = n
                    path.places[n, 0] = tree.nodes[node, LEFT + side]
                    path.shares[n, SHARE] = path.shares[at, SHARE] * share
                    n += 1
        at += 1
    return n


def add_outputs(n, tree, soft, path, out, row):
    """Fill a row of `out`: shares of the leaves times their values."""
    for k in range(out.shape[1]):
        out[row, k] = 0.0
    for at in range(n):
        node = path.places[at, 0]
        if tree.nodes[node, LEFT] < 0:
            share = path.shares[at, SHARE]
            for k in range(out.shape[1]):
                out[row, k] += share * soft.values[0, node, k]


def softmax(out, row):
    """Of a row, in place, without overflow."""
    highest = out[row, 0]
    for k in range(1, out.shape[1]):
        highest = max(highest, out[row, k])
    total = 0.0
    for k in range(out.shape[1]):
        out[row, k] = math.exp(out[row, k] - highest) if out[row, k] != highest else 1.0
        total += out[row, k]
    for k in range(out.shape[1]):
        out[row, k] /= total


def predict_soft(rows, kind, tree, soft, path):
    """Outputs for rows, of a kind: RAW, PROBABILITIES, or TARGETS."""
    has_bias = tree.settings.bias > 0.0
    centre, deviation = soft.target_scaler[CENTRE, 0], math.sqrt(soft.target_scaler[VARIANCE, 0])
    for i in range(rows.points.shape[0]):
        standardise(rows.points, i, soft.scaler, has_bias, path.x)
        n = visit(rows.points, i, tree, soft, path)
        add_outputs(n, tree, soft, path, rows.out, i)
        if kind == PROBABILITIES:
            softmax(rows.out, i)
        elif kind == TARGETS:
            rows.out[i, 0] = centre + rows.out[i, 0] * deviation


def add_gradients(weight, label, n, tree, soft, path):
    """Add the gradients of one row, whose derivative by the output is in `path`, to those that are waiting.

    Without batches, each gate and leaf then takes its step.

    Parameters
    ----------
    weight : of the row, by which the penalty on each alpha of its path counts
    label : class of the row, which leaves that have seen few rows of each class count; -1 if they do not
    """
    pull = tree.settings.alpha_pull * weight
    learns_alpha, is_batch = tree.settings.alpha_learning_rate > 0.0, tree.settings.batch_size > 1.0
    q = path.slope.shape[1]
    for at in range(n - 1, -1, -1):
        node = path.places[at, 0]
        at_left, at_right = path.places[at, 1], path.places[at, 2]
        share = path.shares[at, SHARE]
        if at_left < 0 and at_right < 0:
            s = 0.0
            for k in range(q):
                s += path.slope[0, k] * soft.values[0, node, k]
            path.shares[at, ALONG] = s
            if label >= 0 and tree.numbers[node, WEIGHT] < tree.settings.count_period * q:
                count_label(label, weight * share, node, tree, soft)
                continue
            for k in range(q):
                soft.value_slopes[node, k] += share * path.slope[0, k]
            tree.nodes[node, TOUCHED] = ALL_WAITS
        elif at_left < 0:
            path.shares[at, ALONG] = path.shares[at_right, ALONG]
            continue
        elif at_right < 0:
            path.shares[at, ALONG] = path.shares[at_left, ALONG]
            continue
        else:
            part = path.shares[at, PART]
            difference = path.shares[at_left, ALONG] - path.shares[at_right, ALONG]
            path.shares[at, ALONG] = part * path.shares[at_left, ALONG] + (1.0 - part) * path.shares[at_right, ALONG]
            dz = share * difference * path.shares[at, SLOPE]
            if dz != 0.0:
                tree.nodes[node, TOUCHED] = ALL_WAITS
                for j in range(path.x.shape[0]):
                    soft.gate_slopes[node, BIAS_AT + j] += dz * min(max(path.x[j], -LARGEST_INPUT), LARGEST_INPUT)
            elif not learns_alpha:
                continue
            elif tree.nodes[node, TOUCHED] != ALL_WAITS:
                tree.nodes[node, TOUCHED] = ALPHA_WAITS
            if learns_alpha:
                soft.gate_slopes[node, ALPHA_AT] += share * (difference * path.shares[at, LESS_TEST] + pull)
        if not is_batch:
            take_step(node, tree, soft)


def count_label(label, mass, node, tree, soft):
    """A leaf that has seen few rows of each class follows the class shares of its rows, without a gradient step.

    Its values are logarithms of shares: those that it began with, which count for PRIOR_WEIGHT, and the rows seen.
    """
    q = soft.values.shape[2]
    part = mass / (tree.numbers[node, WEIGHT] + PRIOR_WEIGHT + mass)
    less = math.log(1.0 - part)
    if tree.numbers[node, WEIGHT] == 0.0:  # the shares that it begins with do not yet add up to 1
        highest, total = soft.values[0, node, 0], 0.0
        for k in range(1, q):
            highest = max(highest, soft.values[0, node, k])
        for k in range(q):
            total += math.exp(soft.values[0, node, k] - highest)
        less -= highest + math.log(total)
    for k in range(q):
        soft.values[0, node, k] += less
    soft.values[0, node, label] = math.log(math.exp(soft.values[0, node, label]) + part)


def adam_part(parameters, slopes, node, j, scale, length, least):
    """Adam's step for a parameter of a node by `scale` times its gradient, which is then 0.

    Parameters
    ----------
    length, least : rate and smallest deviation, with the factors of both moments that correct for their start
    """
    g = scale * slopes[node, j]
    first = BETA_1 * parameters[1, node, j] + (1.0 - BETA_1) * g
    second = BETA_2 * parameters[2, node, j] + (1.0 - BETA_2) * g * g
    parameters[1, node, j] = first
    parameters[2, node, j] = second
    parameters[0, node, j] -= length * first / (math.sqrt(second) + least)
    slopes[node, j] = 0.0


def take_step(node, tree, soft):
    """A step of Adam for a gate or leaf, by the gradients that wait.

    Each counts its own steps, for rows do not reach all nodes. Where the smooth step is flat, alpha alone is learned.
    """
    scale = 1.0 / tree.settings.batch_size
    # Down to 0 at once where it makes no difference: processors are slow with the tiniest numbers.
    fade_1, fade_2 = tree.numbers[node, FADE_1], tree.numbers[node, FADE_2]
    fade_1 = BETA_1 * fade_1 if fade_1 > 1e-18 else 0.0
    fade_2 = BETA_2 * fade_2 if fade_2 > 1e-18 else 0.0
    tree.numbers[node, FADE_1] = fade_1
    tree.numbers[node, FADE_2] = fade_2
    root = math.sqrt(1.0 - fade_2) if fade_2 > 0.0 else 1.0
    unfaded = 1.0 - fade_1
    length, least = tree.settings.learning_rate * root, EPSILON * root
    if fade_1 > 0.0:
        length /= unfaded
    if tree.nodes[node, LEFT] < 0:
        for j in range(soft.values.shape[2]):
            adam_part(soft.values, soft.value_slopes, node, j, scale, length, least)
    else:
        if tree.nodes[node, TOUCHED] == ALL_WAITS:
            for j in range(BIAS_AT, soft.gates.shape[2]):
                adam_part(soft.gates, soft.gate_slopes, node, j, scale, length, least)
        if tree.settings.alpha_learning_rate > 0.0:
            length = tree.settings.alpha_learning_rate * root
            if fade_1 > 0.0:
                length /= unfaded
            adam_part(soft.gates, soft.gate_slopes, node, ALPHA_AT, scale, length, least)
            soft.gates[0, node, ALPHA_AT] = min(max(soft.gates[0, node, ALPHA_AT], LEAST_ALPHA), 1.0)
    tree.nodes[node, TOUCHED] = 0


def take_steps(tree, soft):
    """A step after each batch, by the mean of its gradients, for the gates and leaves that have one."""
    tree.counters[N_IN_BATCH] += 1
    if tree.counters[N_IN_BATCH] < tree.settings.batch_size:
        return
    tree.counters[N_IN_BATCH] = 0
    for node in range(tree.counters[N_NODES]):
        if tree.nodes[node, TOUCHED] > 0:
            take_step(node, tree, soft)


def miss(rows, i, soft, path):
    """Error of the outputs in `path`: what the row's class lacks in probability, or the distance to the target."""
    if rows.labels is not None:
        return 1.0 - path.slope[0, rows.labels[i]]
    target = (rows.targets[i] - soft.target_scaler[CENTRE, 0]) * soft.target_scaler[INVERSE, 0]
    return abs(path.slope[0, 0] - target)


def learn_soft(rows, start, tree, soft, path, statistics):
    """Learn rows one after the other, from row `start` on, while there is space and no alarm; returns a `Learned`.

    A row of weight 2 is learned twice: to Adam, a gradient twice as large would be something else. Of large weights
    the first portions are larger than 1, so that no row takes long. In forests, what is left of the weight is learned
    at once when the error is small.
    """
    n_outputs, limit, memory = soft.values.shape[2], tree.settings.outlier_limit, tree.settings.scaler_memory
    is_class, grows, has_out = rows.labels is not None, statistics is not None, rows.out.shape[0] > 0
    has_bias = tree.settings.bias > 0.0
    is_alarm = False
    label, target, output = -1, 0.0, 0.0
    for i in range(start, rows.points.shape[0]):
        # A negative weight is the rest of a row that was interrupted for lack of space.
        is_begun = rows.weights[i] < 0.0
        left_over = abs(rows.weights[i])
        while not is_begun or left_over > 0.0:
            if grows and not has_room_for_all(tree, statistics):
                if is_begun:
                    rows.weights[i] = -left_over
                return learned(i, tree)
            standardise(rows.points, i, soft.scaler, has_bias, path.x)
            n = visit(rows.points, i, tree, soft, path)
            add_outputs(n, tree, soft, path, path.slope, 0)
            if is_class:
                softmax(path.slope, 0)
            else:
                output = soft.target_scaler[CENTRE, 0] + path.slope[0, 0] * math.sqrt(soft.target_scaler[VARIANCE, 0])
            if has_out and not is_begun:
                for k in range(n_outputs):
                    rows.out[i, k] = path.slope[0, k]
                if not is_class:
                    rows.out[i, 0] = output
            if left_over <= 0.0:
                break
            tree.counters[N_ROWS] += not is_begun
            is_begun = True
            weight = min(left_over, max(1.0, left_over / MOST_PORTIONS))
            if miss(rows, i, soft, path) < tree.settings.small_error:
                weight = left_over
            left_over -= weight
            tree.numbers[0, ALL_WEIGHT] += weight
            # The derivative of cross-entropy behind a softmax, or of half of the squared error.
            if is_class:
                label = rows.labels[i]
                if grows:
                    is_alarm = note_class(path.slope, 0, label, tree)
                path.slope[0, label] -= 1.0
            else:
                target = rows.targets[i]
                if grows:
                    is_alarm = note_target(output, target, tree)
                # With the row itself in the scale, which bounds what the first rows can do.
                update_scale(soft.target_scaler, 0, target, weight, memory, limit)
                target = (target - soft.target_scaler[CENTRE, 0]) * soft.target_scaler[INVERSE, 0]
                if limit > 0.0:
                    target = min(max(target, -limit), limit)
                path.slope[0, 0] -= target
            for k in range(n_outputs):
                path.slope[0, k] *= weight
            add_gradients(weight, label if grows else -1, n, tree, soft, path)
            if tree.settings.batch_size > 1.0:
                take_steps(tree, soft)
            if grows:
                bounded(rows.points, i, soft.scaler, limit, path.within)
                observe(path.within, 0, label, target, weight, n, tree, path, statistics)
                grow(n, is_class, tree, soft, path, statistics)
            update_scaler(soft.scaler, rows.points, i, weight, memory, limit)
            if is_alarm:
                rows.weights[i] = -left_over
                return learned(i if left_over > 0.0 else i + 1, tree)
    return learned(rows.points.shape[0], tree)
