"""Soft trees on streams: rows are shared among leaves, all gates and leaves that a row reaches learn from it.

Arguments that recur are the arrays of `softwood.loops.stream_layout`, and

points : (n, n_features) values, nan where missing
targets : (n,) float64, number of the class of each row, or its real target
gates : (3, capacity, 2 + n_features) parameters of gates and Adam's two moments: alpha, which is the part of the smooth
    step in the gate, bias, and weights of the standardised features
values : (3, capacity, n_outputs) values of leaves and Adam's two moments
gate_slopes, value_slopes : (capacity, 2 + n_features) and (capacity, n_outputs), gradients that are waiting for a step
scaler : (4, n_features) running weight, mean, inverse standard deviation and variance of each feature
target_scaler : (4, 1) the same of a real target; None for classes, so that nothing of the other kind is compiled
seen : (n_slots, n_outputs) class weights of each slot; of regressors the weight
places : (capacity, 3) int64, nodes that a row reaches, parents first, and the places of both children (-1: none)
shares : (capacity, 5) of each of these: share, part that goes left, slope of the smooth step, gradient along the
    subtree's output, and the smooth step less the test
"""

import math

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.adam import BETA_1, BETA_2, EPSILON
from softwood.loops.gates import smooth_step, smooth_step_slope
from softwood.loops.hoeffding import update_scaler
from softwood.loops.soft_stream_growth import grow, has_room_for_all, observe, passes
from softwood.loops.stream_layout import (
    ALONG,
    ALPHA_AT,
    ALPHA_RATE,
    BATCH,
    BIAS_AT,
    FADE_1,
    FADE_2,
    GAMMA,
    HAS_BIAS,
    LEFT,
    LESS_TEST,
    MAX_INNER,
    MEMORY,
    N_IN_BATCH,
    N_NODES,
    N_ROWS,
    PART,
    PULL,
    RATE,
    SHARE,
    SLOPE,
    TOUCHED,
)  # fmt: skip

# A learned alpha does not fall below this: with 0 one side is not reached, and nothing could ever be learned again.
LEAST_ALPHA = 0.02
# A weight up to this is learned in portions of 1.
MOST_ALIKE = 64.0
# A standardised value counts in a gradient up to here, so that an outlier does not fill Adam's second moment.
LARGEST_INPUT = 10.0


@compiled
def standardise(row, scaler, has_bias, x):
    """Fill `x` (1 + n_features,): 1 for the bias if there is one, and standardised values, 0 where missing."""
    x[0] = 1.0 if has_bias else 0.0
    for j in range(row.shape[0]):
        x[1 + j] = 0.0 if np.isnan(row[j]) else (row[j] - scaler[1, j]) * scaler[2, j]


@compiled(reassociate=True)
def along(gates, node, x):
    """Weights of a gate times the standardised row."""
    z = 0.0
    for j in range(x.shape[0]):
        z += gates[0, node, BIAS_AT + j] * x[j]
    return z


@compiled
def visit(row, x, nodes, numbers, gates, gamma, places, shares):
    """List the nodes that a row reaches, parents first, and its share in each.

    Returns
    -------
    number of nodes
    """
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
def add_outputs(nodes, values, places, shares, n, out):
    """Fill `out` (n_outputs,): shares of the leaves times their values."""
    out[:] = 0.0
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
def finish_output(out, target_scaler):
    """From outputs of the tree to probabilities, or to the units of the target."""
    if target_scaler is None:
        softmax(out)
    else:
        out[0] = target_scaler[1, 0] + out[0] * math.sqrt(target_scaler[3, 0])


@compiled
def predict_soft(
    points, nodes, numbers, gates, values, scaler, target_scaler, settings, places, shares, out
):  # fmt: skip
    """Probabilities, or real predictions, of rows, (n, n_outputs)."""
    x = np.zeros(points.shape[1] + 1)
    for i in range(points.shape[0]):
        standardise(points[i], scaler, settings[HAS_BIAS] > 0.0, x)
        n = visit(points[i], x, nodes, numbers, gates, settings[GAMMA], places, shares)
        add_outputs(nodes, values, places, shares, n, out[i])
        finish_output(out[i], target_scaler)


@compiled
def add_gradients(
    x, slope, pull, learns_alpha, nodes, gates, values, gate_slopes, value_slopes, places, shares, n, input_slope
):  # fmt: skip
    """Add the gradients of one row to those that are waiting.

    Parameters
    ----------
    slope : (n_outputs,) derivative of the loss by the tree's output
    pull : derivative of the penalty on each alpha of the row's path, by share
    input_slope : (1 + n_features,) is filled with the derivative by the standardised row, or None
    """
    q = slope.shape[0]
    m = x.shape[0]
    if input_slope is not None:
        input_slope[:] = 0.0
    for i in range(n - 1, -1, -1):
        node = places[i, 0]
        share = shares[i, SHARE]
        if nodes[node, LEFT] < 0:
            nodes[node, TOUCHED] = 1
            s = 0.0
            for k in range(q):
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
                for j in range(m):
                    gate_slopes[node, BIAS_AT + j] += dz * min(max(x[j], -LARGEST_INPUT), LARGEST_INPUT)
                if input_slope is not None:
                    for j in range(m):
                        input_slope[j] += dz * gates[0, node, BIAS_AT + j]
            if learns_alpha:
                nodes[node, TOUCHED] = 1
                gate_slopes[node, ALPHA_AT] += share * (difference * shares[i, LESS_TEST] + pull)


@compiled
def step_node(node, scale, rate, alpha_rate, nodes, numbers, gates, values, gate_slopes, value_slopes):
    """One step of Adam for a gate or a leaf; each counts its own steps, for rows do not reach all nodes."""
    nodes[node, TOUCHED] = 0
    # Down to 0 at once where it makes no difference: processors are slow with the tiniest numbers.
    numbers[node, FADE_1] = BETA_1 * numbers[node, FADE_1] if numbers[node, FADE_1] > 1e-18 else 0.0
    numbers[node, FADE_2] = BETA_2 * numbers[node, FADE_2] if numbers[node, FADE_2] > 1e-18 else 0.0
    if nodes[node, LEFT] < 0:
        adam_part(values, value_slopes, node, 0, values.shape[2], scale, rate, numbers)
        return
    adam_part(gates, gate_slopes, node, BIAS_AT, gates.shape[2], scale, rate, numbers)
    if alpha_rate > 0.0:
        adam_part(gates, gate_slopes, node, ALPHA_AT, ALPHA_AT + 1, scale, alpha_rate, numbers)
        gates[0, node, ALPHA_AT] = min(max(gates[0, node, ALPHA_AT], LEAST_ALPHA), 1.0)


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
def learn_soft(
    points, targets, weights, start, nodes, numbers, gates, values, gate_slopes, value_slopes, scaler, target_scaler,
    slots, stats, seen, is_category, counters, settings, seed, events, places, shares, out,
):  # fmt: skip
    """Learn rows one after the other, from row `start` on; `out`, if it has rows, gets the predictions before.

    A row of weight 2 is learned twice: to Adam, a gradient twice as large would be something else. Of large weights
    the first portions are larger than 1, so that no row takes long.

    Returns
    -------
    number of the first row that was not learned, because there was no room
    """
    x = np.zeros(points.shape[1] + 1)
    slope = np.zeros(values.shape[2])
    sides = np.zeros((2, max(3, values.shape[2])))
    for i in range(start, points.shape[0]):
        # A negative weight is what is left of a row that was begun before there was no room.
        is_begun = weights[i] < 0.0
        left_over = abs(weights[i])
        while not is_begun or left_over > 0.0:
            if not has_room_for_all(nodes, slots, counters, settings, events):
                if is_begun:
                    weights[i] = -left_over
                return i
            row = points[i]
            standardise(row, scaler, settings[HAS_BIAS] > 0.0, x)
            n = visit(row, x, nodes, numbers, gates, settings[GAMMA], places, shares)
            add_outputs(nodes, values, places, shares, n, slope)
            if target_scaler is None:
                softmax(slope)
            if out.shape[0] > 0 and not is_begun:
                for k in range(slope.shape[0]):
                    out[i, k] = slope[k]
                if target_scaler is not None:
                    finish_output(out[i], target_scaler)
            if left_over <= 0.0:
                break
            counters[N_ROWS] += not is_begun
            is_begun = True
            weight = min(left_over, max(1.0, left_over / MOST_ALIKE))
            left_over -= weight
            learn_row(
                row, targets[i : i + 1], weight, n, x, slope, nodes, numbers, gates, values, gate_slopes, value_slopes,
                scaler, target_scaler, slots, stats, seen, is_category, counters, settings, seed, events, places,
                shares, sides,
            )  # fmt: skip
    return points.shape[0]


@compiled
def learn_row(
    row, targets, weight, n, x, slope, nodes, numbers, gates, values, gate_slopes, value_slopes, scaler, target_scaler,
    slots, stats, seen, is_category, counters, settings, seed, events, places, shares, sides,
):  # fmt: skip
    """Learn one row that has been visited.

    Parameters
    ----------
    targets : (1,) the row's
    slope : (n_outputs,) probabilities, or the output in standard units; becomes the derivative of the loss
    """
    target = targets[0]
    # Cross-entropy behind a softmax, or half of the squared error.
    if target_scaler is None:
        slope[int(target)] -= 1.0
    else:
        # With the row itself in the scale, which bounds what the first rows can do.
        update_scaler(target_scaler, targets, weight, settings[MEMORY])
        target = (target - target_scaler[1, 0]) * target_scaler[2, 0]
        slope[0] -= target
    for k in range(slope.shape[0]):
        slope[k] *= weight
    add_gradients(
        x, slope, settings[PULL] * weight, settings[ALPHA_RATE] > 0.0, nodes, gates, values, gate_slopes, value_slopes,
        places, shares, n, None,
    )  # fmt: skip
    take_steps(n, nodes, numbers, gates, values, gate_slopes, value_slopes, counters, settings, places)
    if settings[MAX_INNER] > 0.0:
        observe(row, target, weight, n, nodes, numbers, slots, stats, seen, settings, target_scaler, places, shares)
        grow(
            n, nodes, numbers, gates, values, gate_slopes, value_slopes, scaler, slots, stats, seen, is_category,
            counters, settings, target_scaler, seed, events, places, sides,
        )  # fmt: skip
    update_scaler(scaler, row, weight, settings[MEMORY])


@compiled
def take_steps(n, nodes, numbers, gates, values, gate_slopes, value_slopes, counters, settings, places):
    """A step of Adam after each batch, by the mean of its gradients."""
    counters[N_IN_BATCH] += 1
    if counters[N_IN_BATCH] < settings[BATCH]:
        return
    if settings[BATCH] == 1.0:
        for i in range(n):
            if nodes[places[i, 0], TOUCHED] == 1:
                step_node(
                    places[i, 0], 1.0, settings[RATE], settings[ALPHA_RATE], nodes, numbers, gates, values, gate_slopes,
                    value_slopes,
                )  # fmt: skip
    else:
        for node in range(counters[N_NODES]):
            if nodes[node, TOUCHED] == 1:
                step_node(
                    node, 1.0 / settings[BATCH], settings[RATE], settings[ALPHA_RATE], nodes, numbers, gates, values,
                    gate_slopes, value_slopes,
                )  # fmt: skip
    counters[N_IN_BATCH] = 0
