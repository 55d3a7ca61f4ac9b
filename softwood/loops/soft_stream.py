"""Soft trees on streams: rows are shared among leaves, all gates and leaves that a row reaches learn from it.

Arguments that recur are the tuples of `softwood.loops.stream_layout`, and

points : (n, n_features) values, nan where missing; a row is one of these
x : (1 + n_features,) 1 or 0 and the standardised row
labels, targets : (n,) int64 numbers of the classes of the rows; their real targets. One of the two is None, and so is
    the row's label or target: code of the other kind is then not even compiled
tree : `SoftNodes`;  path : `Path`;  statistics : `SoftStatistics`, or None in a tree that does not grow
    Loops that Python calls for single rows get them as plain tuples, which numba recognises faster.
n : number of nodes that the row reaches, which are listed in `path`
"""

import math

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.adam import BETA_1, BETA_2, EPSILON
from softwood.loops.gates import smooth_step, smooth_step_slope
from softwood.loops.hoeffding import update_scaler
from softwood.loops.soft_stream_growth import grow, has_room_for_all, observe, passes
from softwood.loops.stream_alarms import note_class, note_target
from softwood.loops.stream_layout import (
    ALL_WEIGHT,
    ALONG,
    ALPHA_AT,
    ALPHA_RATE,
    BATCH,
    BIAS_AT,
    CENTRE,
    COUNT_PERIOD,
    FADE_1,
    FADE_2,
    GAMMA,
    HAS_BIAS,
    LEFT,
    LESS_TEST,
    MEMORY,
    N_IN_BATCH,
    N_NODES,
    N_ROWS,
    OUTLIER_LIMIT,
    PART,
    PULL,
    RATE,
    SHARE,
    SLOPE,
    TOUCHED,
    VARIANCE,
    WEIGHT,
    Path,
    SoftNodes,
)  # fmt: skip

# A learned alpha does not fall below this: with 0 one side is not reached, and nothing could ever be learned again.
LEAST_ALPHA = 0.02
# A weight up to this is learned in portions of 1.
MOST_ALIKE = 64.0
# A standardised value counts in a gradient up to here, so that an outlier does not fill Adam's second moment.
LARGEST_INPUT = 10.0
# Rows for which the values that a leaf begins with count while it follows class shares.
PRIOR_WEIGHT = 10.0


@compiled
def standardise(row, scaler, has_bias, x):
    """Fill `x` (1 + n_features,): 1 for the bias if there is one, and standardised values, 0 where missing."""
    x[0] = 1.0 if has_bias else 0.0
    for j in range(row.shape[0]):
        x[1 + j] = 0.0 if np.isnan(row[j]) else (row[j] - scaler[1, j]) * scaler[2, j]


@compiled
def bounded(row, scaler, limit, within):
    """Fill `within` (n_features,): the row, with values beyond the limit of `update_scaler` moved to there."""
    for j in range(row.shape[0]):
        x = row[j]
        if limit > 0.0 and scaler[VARIANCE, j] > 0.0 and not np.isnan(x):
            reach = limit * math.sqrt(scaler[VARIANCE, j])
            x = min(max(x, scaler[CENTRE, j] - reach), scaler[CENTRE, j] + reach)
        within[j] = x


@compiled(reassociate=True)
def along(gates, node, x):
    """Weights of a gate times the standardised row."""
    z = 0.0
    for j in range(x.shape[0]):
        z += gates[0, node, BIAS_AT + j] * x[j]
    return z


@compiled
def visit(row, x, nodes, numbers, gates, gamma, path):
    """List the nodes that a row reaches, parents first, and its share in each.

    Returns
    -------
    number of nodes
    """
    places, shares = path
    places[0, 0] = 0
    shares[0, SHARE] = 1.0
    n = 1
    i = 0
    while i < n:
        node = places[i, 0]
        places[i, 1] = -1
        places[i, 2] = -1
        if nodes[node, LEFT] >= 0:
            z = along(gates, node, x)
            step = smooth_step(z, gamma)
            alpha = gates[0, node, ALPHA_AT]
            test = passes(row, node, nodes, numbers)
            part = alpha * step + (1.0 - alpha) * test
            shares[i, PART] = part
            shares[i, SLOPE] = alpha * smooth_step_slope(z, gamma)
            shares[i, LESS_TEST] = step - test
            for side in range(2):
                share = part if side == 0 else 1.0 - part
                if share > 0.0:
                    places[i, 1 + side] = n
                    places[n, 0] = nodes[node, LEFT + side]
                    shares[n, SHARE] = shares[i, SHARE] * share
                    n += 1
        i += 1
    return n


@compiled
def add_outputs(n, nodes, values, path, out):
    """Fill `out` (n_outputs,): shares of the leaves times their values."""
    places, shares = path
    for k in range(out.shape[0]):
        out[k] = 0.0
    for i in range(n):
        node = places[i, 0]
        if nodes[node, LEFT] < 0:
            for k in range(out.shape[0]):
                out[k] += shares[i, SHARE] * values[0, node, k]


@compiled
def softmax(out):
    """In place, without overflow."""
    highest = out[0]
    for k in range(1, out.shape[0]):
        highest = max(highest, out[k])
    total = 0.0
    for k in range(out.shape[0]):
        out[k] = math.exp(out[k] - highest)
        total += out[k]
    for k in range(out.shape[0]):
        out[k] /= total


@compiled
def predict_soft(points, tree, path, is_class, out):
    """Probabilities of rows, (n, n_classes), or real outputs in units of the scaler of targets, (n, 1).

    Parameters
    ----------
    is_class : True or None, not False: the softmax is then not even compiled
    """
    nodes, numbers, gates, values, _, _, scaler, _, _, settings, _ = tree
    path = Path(*path)
    x = np.empty(points.shape[1] + 1)
    for i in range(points.shape[0]):
        standardise(points[i], scaler, settings[HAS_BIAS] > 0.0, x)
        n = visit(points[i], x, nodes, numbers, gates, settings[GAMMA], path)
        add_outputs(n, nodes, values, path, out[i])
        if is_class is not None:
            softmax(out[i])


@compiled
def add_gradients(x, slope, weight, n, tree, path):
    """Add the gradients of one row to those that are waiting.

    Parameters
    ----------
    slope : (n_outputs,) derivative of the loss by the tree's output, times the weight of the row
    weight : of the row, by which the penalty on each alpha of its path counts
    """
    nodes, _, _, values, gate_slopes, value_slopes, _, _, _, settings, _ = tree
    places, shares = path
    pull = settings[PULL] * weight
    learns_alpha = settings[ALPHA_RATE] > 0.0
    for i in range(n - 1, -1, -1):
        node = places[i, 0]
        share = shares[i, SHARE]
        if nodes[node, LEFT] < 0:
            nodes[node, TOUCHED] = 1
            s = 0.0
            for k in range(slope.shape[0]):
                s += slope[k] * values[0, node, k]
                value_slopes[node, k] += share * slope[k]
            shares[i, ALONG] = s
            continue
        at_left, at_right = places[i, 1], places[i, 2]
        if at_left < 0:
            shares[i, ALONG] = shares[at_right, ALONG]
        elif at_right < 0:
            shares[i, ALONG] = shares[at_left, ALONG]
        else:
            part = shares[i, PART]
            difference = shares[at_left, ALONG] - shares[at_right, ALONG]
            shares[i, ALONG] = part * shares[at_left, ALONG] + (1.0 - part) * shares[at_right, ALONG]
            dz = share * difference * shares[i, SLOPE]
            if dz != 0.0:
                nodes[node, TOUCHED] = 1
                for j in range(x.shape[0]):
                    gate_slopes[node, BIAS_AT + j] += dz * min(max(x[j], -LARGEST_INPUT), LARGEST_INPUT)
            if learns_alpha:
                nodes[node, TOUCHED] = 1
                gate_slopes[node, ALPHA_AT] += share * (difference * shares[i, LESS_TEST] + pull)


@compiled
def count_label(label, weight, n, tree, path):
    """Leaves that have seen few rows of each class follow the class shares of their rows, without a gradient step.

    Their values are logarithms of shares: those that they began with, which count for PRIOR_WEIGHT, and the rows seen.
    """
    nodes, numbers, _, values, _, value_slopes, _, _, _, settings, _ = tree
    places, shares = path
    q = values.shape[2]
    for i in range(n):
        node = places[i, 0]
        if nodes[node, LEFT] >= 0 or numbers[node, WEIGHT] >= settings[COUNT_PERIOD] * q:
            continue
        mass = weight * shares[i, SHARE]
        part = mass / (numbers[node, WEIGHT] + PRIOR_WEIGHT + mass)
        highest = values[0, node, 0]
        for k in range(1, q):
            highest = max(highest, values[0, node, k])
        total = 0.0
        for k in range(q):
            total += math.exp(values[0, node, k] - highest)
        before = math.exp(values[0, node, label] - highest) / total
        less = math.log(1.0 - part) - highest - math.log(total)
        for k in range(q):
            values[0, node, k] += less
            value_slopes[node, k] = 0.0
        values[0, node, label] = math.log((1.0 - part) * before + part)
        nodes[node, TOUCHED] = 0


@compiled
def adam_part(lines, slopes, node, begin, end, scale, rate, numbers):
    """Adam's step for a part of a node's line by `scale` times its gradient, which is then 0.

    As `softwood.loops.adam.adam_line` without penalties, with the corrections taken out of the loop: that makes it
    short enough to be done for several parameters at once.
    """
    root = math.sqrt(1.0 - numbers[node, FADE_2])
    length = rate * root / (1.0 - numbers[node, FADE_1])
    least = EPSILON * root
    # Rows of their own: with these the compiler sees that it may do several parameters at once.
    line, firsts, seconds = lines[0, node, begin:end], lines[1, node, begin:end], lines[2, node, begin:end]
    slope = slopes[node, begin:end]
    for j in range(line.shape[0]):
        g = scale * slope[j]
        first = BETA_1 * firsts[j] + (1.0 - BETA_1) * g
        second = BETA_2 * seconds[j] + (1.0 - BETA_2) * g * g
        firsts[j] = first
        seconds[j] = second
        line[j] -= length * first / (np.sqrt(second) + least)
        slope[j] = 0.0


@compiled
def take_steps(n, tree, path):
    """A step of Adam after each batch, by the mean of its gradients, for the gates and leaves that have one.

    Each counts its own steps, for rows do not reach all nodes.
    """
    nodes, numbers, gates, values, gate_slopes, value_slopes, _, _, counters, settings, _ = tree
    places = path.places
    counters[N_IN_BATCH] += 1
    if counters[N_IN_BATCH] < settings[BATCH]:
        return
    counters[N_IN_BATCH] = 0
    is_batch = settings[BATCH] > 1.0
    scale, rate, alpha_rate = 1.0 / settings[BATCH], settings[RATE], settings[ALPHA_RATE]
    first, bias, end = np.int64(0), np.int64(BIAS_AT), gates.shape[2]
    for i in range(counters[N_NODES] if is_batch else n):
        node = i if is_batch else places[i, 0]
        if nodes[node, TOUCHED] != 1:
            continue
        nodes[node, TOUCHED] = 0
        # Down to 0 at once where it makes no difference: processors are slow with the tiniest numbers.
        numbers[node, FADE_1] = BETA_1 * numbers[node, FADE_1] if numbers[node, FADE_1] > 1e-18 else 0.0
        numbers[node, FADE_2] = BETA_2 * numbers[node, FADE_2] if numbers[node, FADE_2] > 1e-18 else 0.0
        if nodes[node, LEFT] < 0:
            adam_part(values, value_slopes, node, first, values.shape[2], scale, rate, numbers)
            continue
        adam_part(gates, gate_slopes, node, bias, end, scale, rate, numbers)
        if alpha_rate > 0.0:
            adam_part(gates, gate_slopes, node, first, bias, scale, alpha_rate, numbers)
            gates[0, node, ALPHA_AT] = min(max(gates[0, node, ALPHA_AT], LEAST_ALPHA), 1.0)


@compiled
def learn_soft(points, labels, targets, weights, start, tree, path, statistics, detector, out):
    """Learn rows one after the other, from row `start` on; `out`, if it has rows, gets the predictions before.

    A row of weight 2 is learned twice: to Adam, a gradient twice as large would be something else. Of large weights
    the first portions are larger than 1, so that no row takes long.

    Returns
    -------
    number of the first row of which something is not learned: there was no room, or an alarm
    """
    tree, path = SoftNodes(*tree), Path(*path)
    nodes, numbers, gates, values, _, _, scaler, target_scaler, counters, settings, _ = tree
    n_outputs, limit = values.shape[2], settings[OUTLIER_LIMIT]
    x, within = np.empty(points.shape[1] + 1), np.empty(points.shape[1])
    slope, is_alarm = np.empty(n_outputs), False
    sides = np.empty((2, max(3, n_outputs)))
    if statistics is not None:
        slots, _, _, _, events = statistics
    for i in range(start, points.shape[0]):
        row = points[i]
        # A negative weight is what is left of a row that was begun before there was no room.
        is_begun = weights[i] < 0.0
        left_over = abs(weights[i])
        while not is_begun or left_over > 0.0:
            if statistics is not None:  # noqa: SIM102 (the outer branch is dropped where there are none)
                if not has_room_for_all(nodes, slots, counters, settings, events):
                    if is_begun:
                        weights[i] = -left_over
                    return i
            standardise(row, scaler, settings[HAS_BIAS] > 0.0, x)
            n = visit(row, x, nodes, numbers, gates, settings[GAMMA], path)
            add_outputs(n, nodes, values, path, slope)
            if labels is not None:
                softmax(slope)
            if out.shape[0] > 0 and not is_begun:
                for k in range(n_outputs):
                    out[i, k] = slope[k]
                if targets is not None:
                    out[i, 0] = target_scaler[1, 0] + slope[0] * math.sqrt(target_scaler[3, 0])
            if left_over <= 0.0:
                break
            counters[N_ROWS] += not is_begun
            is_begun = True
            weight = min(left_over, max(1.0, left_over / MOST_ALIKE))
            left_over -= weight
            numbers[0, ALL_WEIGHT] += weight
            # The derivative of cross-entropy behind a softmax, or of half of the squared error.
            if labels is not None:
                if statistics is not None:
                    is_alarm = note_class(slope, labels[i], settings, detector)
                slope[labels[i]] -= 1.0
            if targets is not None:
                if statistics is not None:
                    output = target_scaler[1, 0] + slope[0] * math.sqrt(target_scaler[3, 0])
                    is_alarm = note_target(output, targets[i], settings, detector)
                # With the row itself in the scale, which bounds what the first rows can do.
                update_scaler(target_scaler, targets[i : i + 1], weight, settings[MEMORY], limit)
                target = (targets[i] - target_scaler[1, 0]) * target_scaler[2, 0]
                if limit > 0.0:
                    target = min(max(target, -limit), limit)
                slope[0] -= target
            for k in range(n_outputs):
                slope[k] *= weight
            add_gradients(x, slope, weight, n, tree, path)
            if statistics is not None and labels is not None and settings[COUNT_PERIOD] > 0.0:
                count_label(labels[i], weight, n, tree, path)
            take_steps(n, tree, path)
            if statistics is not None:
                bounded(row, scaler, limit, within)
                if labels is not None:
                    observe(within, labels[i], None, weight, n, nodes, numbers, settings, path, statistics)
                if targets is not None:
                    observe(within, None, target, weight, n, nodes, numbers, settings, path, statistics)
                grow(n, labels, targets, tree, path, statistics, sides)
            update_scaler(scaler, row, weight, settings[MEMORY], limit)
            if is_alarm:
                weights[i] = -left_over
                return i if left_over > 0.0 else i + 1
    return points.shape[0]
