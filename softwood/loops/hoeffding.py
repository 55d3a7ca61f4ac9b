"""Hoeffding trees: rows go down one path, leaves keep statistics and split when the best test is surely the best.

Arguments that recur are the arrays of `softwood.loops.stream_layout`, and

points : (n, n_features) values, nan where missing
targets : (n,) number of the class of each row, or its real target
counts : (capacity, n_classes) class weights of each node, as of regressors (capacity, 1 + n_features) the linear model
keys : (capacity, n_classes) int64, classes of each node in the order in which they came
is_category : (n_features,) int64, 0 for numbers; columns of zeros and ones for the categories of the same source have
    its number, from 1 on
"""

import math

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.observers import (
    HIGHEST,
    LOWEST,
    N,
    best_class_test,
    best_real_test,
    clear_slot,
    hoeffding_bound,
    impurity,
    log_density,
    observe_class,
    observe_real,
    see_class,
    take_slot,
    weight_below,
)
from softwood.loops.stream_layout import (
    ADAPTIVE,
    CRITERION,
    DELTA,
    DEPTH,
    EVENT_BOUND,
    EVENT_FEATURE,
    EVENT_KIND,
    EVENT_MERIT,
    EVENT_NODE,
    EVENT_ROWS,
    EVENT_SECOND,
    EVENT_SEEN,
    EVENT_THRESHOLD,
    FADING,
    FEATURE,
    FIRST_KEY,
    GINI,
    GRACE,
    LAST_ATTEMPT,
    LEAF_PREDICTION,
    LEFT,
    MAX_DEPTH,
    MAX_INNER,
    MAX_SHARE,
    MEAN,
    MIN_FRACTION,
    MODEL,
    MODEL_SCORE,
    N_EVENTS,
    N_INNER,
    N_KEYS,
    N_NODES,
    N_ROWS,
    N_SLOT_KEYS,
    OWNER,
    PARENT,
    PLAIN,
    PLAIN_SCORE,
    RATE,
    RIGHT,
    SLOT,
    SLOTS_ARE_ALL,
    SPLIT,
    SPREAD,
    TAU,
    THRESHOLD,
    WEIGHT,
)  # fmt: skip

# Numbers beyond this count as it in running means, and differences beyond its root in running variances.
LARGEST = 1e300
LARGEST_ROOT = 1e150
# A leaf with less weight than this predicts its mean, unless it is told to use its linear model.
FEW = 50.0


@compiled
def has_room(nodes, slots, counters, settings, events):
    """Whether a leaf can be split: room for two nodes, for statistics of all leaves, and in the log."""
    if counters[N_EVENTS] >= events.shape[0]:
        return False
    if counters[N_INNER] >= settings[MAX_INNER]:
        return True
    has_slots = counters[N_INNER] + 2 <= slots.shape[0] or counters[SLOTS_ARE_ALL] == 1
    return has_slots and counters[N_NODES] + 2 <= nodes.shape[0]


@compiled
def find_leaf(row, nodes, numbers):
    """Leaf of a row; where the value is missing the row goes to the heavier side."""
    node = 0
    while nodes[node, LEFT] >= 0:
        x = row[nodes[node, FEATURE]]
        if np.isnan(x):
            goes_left = numbers[nodes[node, LEFT], WEIGHT] >= numbers[nodes[node, RIGHT], WEIGHT]
        else:
            goes_left = x <= numbers[node, THRESHOLD]
        node = nodes[node, LEFT] if goes_left else nodes[node, RIGHT]
    return node


@compiled
def open_leaf(nodes, numbers, counters, parent, depth):
    """A new leaf without weight."""
    node = counters[N_NODES]
    counters[N_NODES] = node + 1
    for c in range(nodes.shape[1]):
        nodes[node, c] = -1
    nodes[node, PARENT] = parent
    nodes[node, DEPTH] = depth
    nodes[node, N_KEYS] = 0
    for c in range(numbers.shape[1]):
        numbers[node, c] = 0.0
    numbers[node, THRESHOLD] = np.nan
    return node


@compiled
def put_test(nodes, numbers, counters, node, feature, threshold):
    """Make a leaf an inner node with two new leaves."""
    nodes[node, FEATURE] = feature
    numbers[node, THRESHOLD] = threshold
    left = open_leaf(nodes, numbers, counters, node, nodes[node, DEPTH] + 1)
    right = open_leaf(nodes, numbers, counters, node, nodes[node, DEPTH] + 1)
    nodes[node, LEFT] = left
    nodes[node, RIGHT] = right
    counters[N_INNER] += 1


@compiled
def log_event(events, counters, kind, node, feature, threshold, merit, second, bound, seen):
    """Note a split; the caller takes the events out."""
    e = counters[N_EVENTS]
    if e < events.shape[0]:
        counters[N_EVENTS] = e + 1
        events[e, EVENT_KIND] = kind
        events[e, EVENT_ROWS] = counters[N_ROWS]
        events[e, EVENT_NODE] = node
        events[e, EVENT_FEATURE] = feature
        events[e, EVENT_THRESHOLD] = threshold
        events[e, EVENT_MERIT] = merit
        events[e, EVENT_SECOND] = second
        events[e, EVENT_BOUND] = bound
        events[e, EVENT_SEEN] = seen


@compiled
def total_weight(counts, keys, nodes, node):
    """Weight of a leaf, added up in the order in which its classes came."""
    total = 0.0
    for i in range(nodes[node, N_KEYS]):
        total += counts[node, keys[node, i]]
    return total


@compiled
def majority_class(counts, keys, nodes, node):
    """Class with the most weight, of equal ones the one that came first; -1 in a leaf that has seen none."""
    best, weight = -1, -1.0
    for i in range(nodes[node, N_KEYS]):
        label = keys[node, i]
        if counts[node, label] > weight:
            best, weight = label, counts[node, label]
    return best


@compiled
def bayes_votes(row, nodes, counts, keys, stats, is_category, node, total, out):
    """Fill `out` (n_classes,) with the class probabilities of naive Bayes; returns the most probable class."""
    slot = nodes[node, SLOT]
    highest, best = -np.inf, -1
    for i in range(nodes[node, N_KEYS]):
        label = keys[node, i]
        if counts[node, label] <= 0.0:
            out[label] = -np.inf
            continue
        vote = math.log(counts[node, label] / total) + log_density(stats, slot, row, label, is_category)
        out[label] = vote
        if vote > highest:
            highest, best = vote, label
    scale = 0.0
    for i in range(nodes[node, N_KEYS]):
        label = keys[node, i]
        out[label] = math.exp(out[label] - highest)
        scale += out[label]
    for i in range(nodes[node, N_KEYS]):
        out[keys[node, i]] /= scale
    return best


@compiled
def leaf_probabilities(row, nodes, numbers, counts, keys, stats, is_category, settings, node, votes, out):
    """Fill `out` (n_classes,) with the class probabilities of a leaf, uniform if it has seen nothing.

    Returns
    -------
    the class that naive Bayes finds most probable, -1 if it was not asked
    """
    n_classes = out.shape[0]
    total = total_weight(counts, keys, nodes, node)
    if total <= 0.0:
        for k in range(n_classes):
            out[k] = 1.0 / n_classes
        return -1
    how = settings[LEAF_PREDICTION]
    guess = -1
    uses_bayes = False
    if how != PLAIN and nodes[node, SLOT] >= 0:
        for k in range(n_classes):
            votes[k] = 0.0
        guess = bayes_votes(row, nodes, counts, keys, stats, is_category, node, total, votes)
        uses_bayes = how == MODEL or numbers[node, MODEL_SCORE] >= numbers[node, PLAIN_SCORE]
    for k in range(n_classes):
        out[k] = votes[k] if uses_bayes else counts[node, k] / total
    return guess


@compiled
def predict_classes(points, nodes, numbers, counts, keys, stats, is_category, settings, out):
    """Class probabilities of rows, (n, n_classes)."""
    votes = np.zeros(out.shape[1])
    for i in range(points.shape[0]):
        leaf = find_leaf(points[i], nodes, numbers)
        leaf_probabilities(
            points[i], nodes, numbers, counts, keys, stats, is_category, settings, leaf, votes, out[i]
        )  # fmt: skip


@compiled
def learn_classes(
    points, targets, weights, start, nodes, numbers, counts, keys, slots, stats, is_category, counters, settings,
    events, out,
):  # fmt: skip
    """Learn rows one after the other, from row `start` on; `out`, if it has rows, gets the predictions before.

    Returns
    -------
    number of the first row that was not learned, because there was no room
    """
    n_classes = counts.shape[1]
    votes = np.zeros(n_classes)
    prediction = np.zeros(n_classes)
    for i in range(start, points.shape[0]):
        if not has_room(nodes, slots, counters, settings, events):
            return i
        row = points[i]
        label = int(targets[i])
        leaf = find_leaf(row, nodes, numbers)
        guess = -1
        if out.shape[0] > 0 or settings[LEAF_PREDICTION] == ADAPTIVE:
            guess = leaf_probabilities(
                row, nodes, numbers, counts, keys, stats, is_category, settings, leaf, votes, prediction
            )  # fmt: skip
            if out.shape[0] > 0:
                for k in range(n_classes):
                    out[i, k] = prediction[k]
        if weights[i] <= 0.0:
            continue
        counters[N_ROWS] += 1
        learn_class(
            row, label, weights[i], leaf, guess, nodes, numbers, counts, keys, slots, stats, is_category, counters,
            settings, events,
        )  # fmt: skip
    return points.shape[0]


@compiled
def learn_class(
    row, label, weight, leaf, guess, nodes, numbers, counts, keys, slots, stats, is_category, counters, settings, events
):  # fmt: skip
    """Add a row to its leaf, and try to split it when it is time."""
    slot = nodes[leaf, SLOT]
    if slot >= 0 and settings[LEAF_PREDICTION] == ADAPTIVE:
        majority = majority_class(counts, keys, nodes, leaf)
        if majority < 0 or majority == label:
            numbers[leaf, PLAIN_SCORE] += weight
        if guess == label:
            numbers[leaf, MODEL_SCORE] += weight
    add_class(counts, keys, nodes, leaf, label, weight)
    node = leaf
    while node >= 0:
        numbers[node, WEIGHT] += weight
        node = nodes[node, PARENT]
    if slot < 0:
        return
    see_class(slots, slot, label)
    observe_class(stats, slot, row, label, weight, settings[LEAF_PREDICTION] != PLAIN)
    seen = total_weight(counts, keys, nodes, leaf)
    if seen - numbers[leaf, LAST_ATTEMPT] >= settings[GRACE]:
        numbers[leaf, LAST_ATTEMPT] = seen
        if nodes[leaf, DEPTH] < settings[MAX_DEPTH] and counters[N_INNER] < settings[MAX_INNER]:
            try_class_split(
                leaf, seen, nodes, numbers, counts, keys, slots, stats, is_category, counters, settings, events
            )  # fmt: skip


@compiled
def add_class(counts, keys, nodes, node, label, weight):
    """Add weight of a class to a node."""
    n = nodes[node, N_KEYS]
    is_new = True
    for i in range(n):
        if keys[node, i] == label:
            is_new = False
            break
    if is_new:
        keys[node, n] = label
        nodes[node, N_KEYS] = n + 1
    counts[node, label] += weight


@compiled
def try_class_split(
    leaf, seen, nodes, numbers, counts, keys, slots, stats, is_category, counters, settings, events
):  # fmt: skip
    """Split a leaf if its best test beats the second best by more than the bound, or if both are as good."""
    n_present, largest = 0, 0.0
    for i in range(nodes[leaf, N_KEYS]):
        weight = counts[leaf, keys[leaf, i]]
        largest = max(largest, weight)
        if weight != 0.0:
            n_present += 1
    if n_present < 2:
        return
    slot = nodes[leaf, SLOT]
    if largest / seen > settings[MAX_SHARE]:
        # Hardly anything to win: what the leaf has seen of the features is collected anew.
        clear_slot(slots, slot, stats)
        return
    before = impurity(counts[leaf], settings[CRITERION])
    feature, threshold, merit, second = best_class_test(
        stats, slots, slot, before, is_category, settings[MIN_FRACTION], settings[CRITERION]
    )
    spread = 1.0 if settings[CRITERION] == GINI else math.log2(max(2, nodes[leaf, N_KEYS]))
    bound = hoeffding_bound(spread, settings[DELTA], seen)
    if feature < 0:
        if bound < settings[TAU]:
            clear_slot(slots, slot, stats)
        return
    if not (merit - second > bound or bound < settings[TAU]):
        return
    log_event(events, counters, SPLIT, leaf, feature, threshold, merit, second, bound, seen)
    put_test(nodes, numbers, counters, leaf, feature, threshold)
    for i in range(slots[slot, N_SLOT_KEYS]):
        label = slots[slot, FIRST_KEY + i]
        n = stats[slot, feature, label, N]
        if n == 0.0:
            continue
        below = weight_below(stats, slot, feature, label, threshold, is_category[feature])
        if is_category[feature] > 0 or threshold >= stats[slot, feature, label, LOWEST]:
            add_class(counts, keys, nodes, nodes[leaf, LEFT], label, below)
        if is_category[feature] > 0 or threshold < stats[slot, feature, label, HIGHEST]:
            add_class(counts, keys, nodes, nodes[leaf, RIGHT], label, n - below)
    slots[slot, OWNER] = -1
    nodes[leaf, SLOT] = -1
    for side in range(2):
        child = nodes[leaf, LEFT + side]
        weight = total_weight(counts, keys, nodes, child)
        numbers[child, WEIGHT] = weight
        numbers[child, LAST_ATTEMPT] = weight
        if nodes[child, DEPTH] < settings[MAX_DEPTH]:
            nodes[child, SLOT] = slot_for(child, weight, nodes, counts, keys, slots, stats)


@compiled
def promise(counts, keys, nodes, node):
    """Weight of a leaf that is not of its largest class: what further splits may win at most."""
    total, largest = 0.0, 0.0
    for i in range(nodes[node, N_KEYS]):
        weight = counts[node, keys[node, i]]
        total += weight
        largest = max(largest, weight)
    return total - largest


@compiled
def slot_for(leaf, weight, nodes, counts, keys, slots, stats):
    """A slot for a new leaf, if need be that of the least promising leaf; -1 if all others promise more."""
    slot = take_slot(slots, leaf, stats)
    if slot >= 0:
        return slot
    least, lowest = -1, promise(counts, keys, nodes, leaf)
    for s in range(slots.shape[0]):
        p = promise(counts, keys, nodes, slots[s, OWNER])
        if p < lowest:
            least, lowest = s, p
    if least < 0:
        return -1
    nodes[slots[least, OWNER], SLOT] = -1
    slots[least, OWNER] = leaf
    clear_slot(slots, least, stats)
    return least


# Real targets


@compiled
def linear_prediction(row, center, scale, model):
    """Linear model of a leaf in standardised features; missing values count as the mean."""
    total = model[0]
    for j in range(row.shape[0]):
        if not np.isnan(row[j]):
            total += model[1 + j] * (row[j] - center[j]) * scale[j]
    return total


@compiled
def leaf_target(row, nodes, numbers, models, scaler, settings, node):
    """Prediction of a leaf: mean of its targets, or its linear model."""
    how = settings[LEAF_PREDICTION]
    mean = numbers[node, MEAN]
    if how == PLAIN:
        return mean, mean
    linear = mean + linear_prediction(row, scaler[1], scaler[2], models[node])
    is_known = numbers[node, WEIGHT] >= FEW
    if how == MODEL or (is_known and numbers[node, MODEL_SCORE] <= numbers[node, PLAIN_SCORE]):
        return linear, linear
    return mean, linear


@compiled
def predict_targets(points, nodes, numbers, models, scaler, settings, out):
    """Predicted targets of rows, (n,)."""
    for i in range(points.shape[0]):
        leaf = find_leaf(points[i], nodes, numbers)
        out[i, 0] = leaf_target(points[i], nodes, numbers, models, scaler, settings, leaf)[0]


@compiled
def update_scaler(scaler, row, weight, memory):
    """Add a row to the running means (row 1) and inverse standard deviations (row 2).

    Rows 0 and 3 hold the weights and variances. A weight beyond `memory` counts as that, so that old rows fade.
    """
    for j in range(row.shape[0]):
        x = row[j]
        if np.isnan(x):
            continue
        n = min(scaler[0, j] + weight, max(memory, weight))
        part = weight / n
        # Within bounds, so that neither the mean nor the square of a huge number overflows.
        d = min(max(x, -LARGEST), LARGEST) - scaler[1, j]
        scaler[0, j] = n
        scaler[1, j] += part * d
        d = min(max(d, -LARGEST_ROOT), LARGEST_ROOT)
        scaler[3, j] = (1.0 - part) * (scaler[3, j] + part * d * d)
        scaler[2, j] = 1.0 / math.sqrt(scaler[3, j]) if scaler[3, j] > 0.0 else 0.0


@compiled
def learn_targets(
    points, targets, weights, start, nodes, numbers, models, scaler, slots, stats, is_category, counters, settings,
    events, out,
):  # fmt: skip
    """Learn rows one after the other, from row `start` on; `out`, if it has rows, gets the predictions before.

    Returns
    -------
    number of the first row that was not learned, as `learn_classes` does
    """
    sides = np.zeros((2, 3))
    for i in range(start, points.shape[0]):
        if not has_room(nodes, slots, counters, settings, events):
            return i
        row = points[i]
        leaf = find_leaf(row, nodes, numbers)
        prediction, linear = leaf_target(row, nodes, numbers, models, scaler, settings, leaf)
        if out.shape[0] > 0:
            out[i, 0] = prediction
        weight = weights[i]
        if weight <= 0.0:
            continue
        counters[N_ROWS] += 1
        target = targets[i]
        if settings[LEAF_PREDICTION] != PLAIN:
            if numbers[leaf, WEIGHT] > 0.0:
                # the first row makes the mean, about which the linear model is
                learn_linear(row, target, weight, leaf, linear, numbers, models, scaler, settings)
            update_scaler(scaler, row, weight, np.inf)
        learn_target(
            row, target, weight, leaf, nodes, numbers, models, slots, stats, is_category, counters, settings, events,
            sides,
        )  # fmt: skip
    return points.shape[0]


@compiled
def learn_linear(row, target, weight, leaf, linear, numbers, models, scaler, settings):
    """One normalised gradient step of a leaf's linear model, and the faded errors of both of its predictions."""
    fading = settings[FADING] ** weight
    numbers[leaf, PLAIN_SCORE] = fading * numbers[leaf, PLAIN_SCORE] + (target - numbers[leaf, MEAN]) ** 2
    numbers[leaf, MODEL_SCORE] = fading * numbers[leaf, MODEL_SCORE] + (target - linear) ** 2
    p = row.shape[0]
    squares = 1.0
    for j in range(p):
        if not np.isnan(row[j]):
            squares += ((row[j] - scaler[1, j]) * scaler[2, j]) ** 2
    # Divided by the length of the row, so that no step goes beyond the target.
    step = (1.0 - (1.0 - settings[RATE]) ** weight) * (target - linear) / squares
    models[leaf, 0] += step
    for j in range(p):
        if not np.isnan(row[j]):
            models[leaf, 1 + j] += step * (row[j] - scaler[1, j]) * scaler[2, j]


@compiled
def learn_target(
    row, target, weight, leaf, nodes, numbers, models, slots, stats, is_category, counters, settings, events, sides
):  # fmt: skip
    """Add a row to its leaf, and try to split it when it is time."""
    node = leaf
    while node >= 0:
        numbers[node, WEIGHT] += weight
        d = target - numbers[node, MEAN]
        move = d * (weight / numbers[node, WEIGHT])
        numbers[node, MEAN] += move
        if settings[LEAF_PREDICTION] != PLAIN and node == leaf and numbers[node, WEIGHT] > weight:
            # What the linear model says must not move with the mean.
            models[node, 0] -= move
        numbers[node, SPREAD] += weight * d * (target - numbers[node, MEAN])
        node = nodes[node, PARENT]
    slot = nodes[leaf, SLOT]
    if slot < 0:
        return
    observe_real(stats, slot, row, target, weight)
    seen = numbers[leaf, WEIGHT]
    if seen - numbers[leaf, LAST_ATTEMPT] < settings[GRACE]:
        return
    numbers[leaf, LAST_ATTEMPT] = seen
    if nodes[leaf, DEPTH] >= settings[MAX_DEPTH] or counters[N_INNER] >= settings[MAX_INNER]:
        return
    feature, threshold, merit, second = best_real_test(stats, slot, is_category, settings[MIN_FRACTION], sides)
    bound = hoeffding_bound(1.0, settings[DELTA], seen)
    if feature < 0 or not (second / merit < 1.0 - bound or bound < settings[TAU]):
        return
    log_event(events, counters, SPLIT, leaf, feature, threshold, merit, second, bound, seen)
    put_test(nodes, numbers, counters, leaf, feature, threshold)
    slots[slot, OWNER] = -1
    nodes[leaf, SLOT] = -1
    for side in range(2):
        child = nodes[leaf, LEFT + side]
        for j in range(models.shape[1]):
            models[child, j] = models[leaf, j]
        numbers[child, WEIGHT] = sides[side, 0]
        numbers[child, MEAN] = sides[side, 1]
        numbers[child, SPREAD] = sides[side, 2]
        models[child, 0] += numbers[leaf, MEAN] - sides[side, 1]
        numbers[child, MODEL_SCORE] = numbers[leaf, MODEL_SCORE]
        numbers[child, PLAIN_SCORE] = numbers[leaf, PLAIN_SCORE]
        numbers[child, LAST_ATTEMPT] = sides[side, 0]
        if nodes[child, DEPTH] < settings[MAX_DEPTH]:
            nodes[child, SLOT] = take_slot(slots, child, stats)
