"""Hoeffding trees: rows go down one path, leaves keep statistics and split when the best test is surely the best.

Arguments that recur are the arrays and tuples of `softwood.loops.stream_layout`, and

points : (n, n_features) values, nan where missing; a row is one of these
labels, targets : (n,) int64 numbers of the classes of the rows; their real targets
tree : `ClassNodes` or `RealNodes`;  statistics : `Statistics`
    Loops that Python calls for single rows get both as plain tuples, which numba recognises faster.
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
    take_slot,
    weight_below,
)
from softwood.loops.stream_alarms import note_class, note_target
from softwood.loops.stream_layout import (
    ADAPTIVE,
    CENTRE,
    CRITERION,
    DELTA,
    DEPTH,
    DRIFT_DELTA,
    FADING,
    FEATURE,
    FIRST_KEY,
    GINI,
    GRACE,
    INVERSE,
    LAST,
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
    REPLACE,
    RIGHT,
    RUN,
    SCALED_WEIGHT,
    SLOT,
    SLOTS_ARE_ALL,
    SPLIT,
    SPREAD,
    TAU,
    THRESHOLD,
    VARIANCE,
    WEIGHT,
    ClassNodes,
    RealNodes,
    Statistics,
)  # fmt: skip

# Numbers beyond this count as it in running means, and differences beyond its root in running variances.
LARGEST = 1e300
LARGEST_ROOT = 1e150
# Weight of values that contradict a running scale before its past counts for less, and what that counts for then.
SURPRISES, FRESH = 30.0, 8.0
# Part of the limit from which on a value is far from the mean: ten standard deviations, of the usual limit of 30.
SURPRISING = 1.0 / 3.0
# Fewer rows than this cannot be told from outliers.
FEW_ROWS = 16.0
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
def put_test(node, test, bound, seen, nodes, numbers, counters, events):
    """Give a node a test (a `FoundTest`) and log it; a leaf becomes an inner node with two new leaves of no weight."""
    feature, threshold, merit, second = test
    is_leaf = nodes[node, LEFT] < 0
    e = counters[N_EVENTS]
    counters[N_EVENTS] = e + 1
    event = events[e]
    event["kind"] = SPLIT if is_leaf else REPLACE
    event["n_samples"] = counters[N_ROWS]
    event["node"] = node
    event["feature"] = feature
    event["threshold"] = threshold
    event["merit"] = merit
    event["second_merit"] = second
    event["bound"] = bound
    event["weight_seen"] = seen
    nodes[node, FEATURE] = feature
    numbers[node, THRESHOLD] = threshold
    if not is_leaf:
        return
    for side in range(2):
        child = counters[N_NODES] + side
        for c in range(nodes.shape[1]):
            nodes[child, c] = -1
        nodes[child, PARENT] = node
        nodes[child, DEPTH] = nodes[node, DEPTH] + 1
        nodes[child, N_KEYS] = 0
        for c in range(numbers.shape[1]):
            numbers[child, c] = 0.0
        numbers[child, THRESHOLD] = np.nan
        nodes[node, LEFT + side] = child
    counters[N_NODES] += 2
    counters[N_INNER] += 1


# Classes


@compiled
def weigh_classes(node, nodes, counts, keys):
    """Weight of a leaf, added up in the order in which its classes came, that of its largest class, and that class.

    Of equal classes the one that came first is the largest; it is -1 in a leaf that has seen none.
    """
    total, largest, majority = 0.0, -1.0, np.int64(-1)
    for i in range(nodes[node, N_KEYS]):
        label = keys[node, i]
        total += counts[node, label]
        if counts[node, label] > largest:
            largest, majority = counts[node, label], label
    return total, max(largest, 0.0), majority


@compiled
def add_class(node, label, weight, nodes, counts, keys):
    """Add weight of a class to a node."""
    i, n = 0, nodes[node, N_KEYS]
    while i < n and keys[node, i] != label:
        i += 1
    if i == n:
        keys[node, n] = label
        nodes[node, N_KEYS] = n + 1
    counts[node, label] += weight


@compiled
def leaf_probabilities(row, leaf, tree, statistics, votes, out):
    """Fill `out` (n_classes,) with the class probabilities of a leaf, uniform if it has seen nothing.

    Parameters
    ----------
    votes : (n_classes,) is filled with the probabilities of naive Bayes, if it is asked

    Returns
    -------
    the class that naive Bayes finds most probable, -1 if it was not asked
    """
    nodes, numbers, counts, keys, _, settings = tree
    _, stats, is_category, _ = statistics
    n_classes = out.shape[0]
    total = weigh_classes(leaf, nodes, counts, keys)[0]
    if total <= 0.0:
        for k in range(n_classes):
            out[k] = 1.0 / n_classes
        return -1
    guess = -1
    slot, how = nodes[leaf, SLOT], settings[LEAF_PREDICTION]
    uses_bayes = slot >= 0 and (
        how == MODEL or (how == ADAPTIVE and numbers[leaf, MODEL_SCORE] >= numbers[leaf, PLAIN_SCORE])
    )
    if slot >= 0 and how != PLAIN:
        highest, scale = -np.inf, 0.0
        for k in range(n_classes):
            votes[k] = 0.0
        for i in range(nodes[leaf, N_KEYS]):
            label = keys[leaf, i]
            if counts[leaf, label] <= 0.0:
                votes[label] = -np.inf
                continue
            vote = math.log(counts[leaf, label] / total) + log_density(stats, slot, row, label, is_category)
            votes[label] = vote
            if vote > highest:
                highest, guess = vote, label
        # A value so far away that its density is 0 in all classes says nothing.
        uses_bayes = uses_bayes and guess >= 0
        for i in range(nodes[leaf, N_KEYS] if guess >= 0 else 0):
            label = keys[leaf, i]
            votes[label] = math.exp(votes[label] - highest)
            scale += votes[label]
        for i in range(nodes[leaf, N_KEYS] if guess >= 0 else 0):
            votes[keys[leaf, i]] /= scale
    for k in range(n_classes):
        out[k] = votes[k] if uses_bayes else counts[leaf, k] / total
    return guess


@compiled
def predict_classes(points, tree, statistics, out):
    """Class probabilities of rows, (n, n_classes)."""
    tree, statistics = ClassNodes(*tree), Statistics(*statistics)
    nodes, numbers = tree.nodes, tree.numbers
    votes = np.empty(out.shape[1])
    for i in range(points.shape[0]):
        leaf = find_leaf(points[i], nodes, numbers)
        leaf_probabilities(points[i], leaf, tree, statistics, votes, out[i])


@compiled
def learn_classes(points, labels, weights, start, tree, statistics, detector, out):
    """Learn rows one after the other, from row `start` on; `out`, if it has rows, gets the predictions before.

    Returns
    -------
    number of the first row that was not learned: there was no room, or an alarm with the row before
    """
    tree, statistics = ClassNodes(*tree), Statistics(*statistics)
    nodes, numbers, counts, keys, counters, settings = tree
    slots, stats, _, events = statistics
    n_classes = counts.shape[1]
    votes = np.empty(n_classes)
    prediction = np.empty(n_classes)
    for i in range(start, points.shape[0]):
        if not has_room(nodes, slots, counters, settings, events):
            return i
        row, label, weight = points[i], labels[i], weights[i]
        leaf = find_leaf(row, nodes, numbers)
        guess = -1
        if out.shape[0] > 0 or settings[LEAF_PREDICTION] == ADAPTIVE or settings[DRIFT_DELTA] > 0.0:
            guess = leaf_probabilities(row, leaf, tree, statistics, votes, prediction)
            if out.shape[0] > 0:
                for k in range(n_classes):
                    out[i, k] = prediction[k]
        if weight <= 0.0:
            continue
        counters[N_ROWS] += 1
        slot = nodes[leaf, SLOT]
        if slot >= 0 and settings[LEAF_PREDICTION] == ADAPTIVE:
            majority = weigh_classes(leaf, nodes, counts, keys)[2]
            if majority < 0 or majority == label:
                numbers[leaf, PLAIN_SCORE] += weight
            if guess == label:
                numbers[leaf, MODEL_SCORE] += weight
        add_class(leaf, label, weight, nodes, counts, keys)
        node = leaf
        while node >= 0:
            numbers[node, WEIGHT] += weight
            node = nodes[node, PARENT]
        if slot >= 0:
            observe_class(stats, slots, slot, row, label, weight, settings[LEAF_PREDICTION] != PLAIN)
            seen = weigh_classes(leaf, nodes, counts, keys)[0]
            if seen - numbers[leaf, LAST_ATTEMPT] >= settings[GRACE]:
                numbers[leaf, LAST_ATTEMPT] = seen
                if nodes[leaf, DEPTH] < settings[MAX_DEPTH] and counters[N_INNER] < settings[MAX_INNER]:
                    try_class_split(leaf, tree, statistics)
        if note_class(prediction, label, settings, detector):
            return i + 1
    return points.shape[0]


@compiled
def try_class_split(leaf, tree, statistics):
    """Split a leaf if its best test beats the second best by more than the bound, or if both are as good."""
    nodes, numbers, counts, keys, counters, settings = tree
    slots, stats, is_category, events = statistics
    n_present = 0
    for i in range(nodes[leaf, N_KEYS]):
        if counts[leaf, keys[leaf, i]] != 0.0:
            n_present += 1
    if n_present < 2:
        return
    slot = nodes[leaf, SLOT]
    seen, largest, _ = weigh_classes(leaf, nodes, counts, keys)
    if largest / seen > settings[MAX_SHARE]:
        # Hardly anything to win: what the leaf has seen of the features is collected anew.
        clear_slot(slots, slot, stats)
        return
    before = impurity(counts[leaf], settings[CRITERION])
    test = best_class_test(stats, slots, slot, before, is_category, settings[MIN_FRACTION], settings[CRITERION])
    feature, threshold, merit, second = test
    spread = 1.0 if settings[CRITERION] == GINI else math.log2(max(2, nodes[leaf, N_KEYS]))
    bound = hoeffding_bound(spread, settings[DELTA], seen)
    if feature < 0:
        if bound < settings[TAU]:
            clear_slot(slots, slot, stats)
        return
    if not (merit - second > bound or bound < settings[TAU]):
        return
    put_test(leaf, test, bound, seen, nodes, numbers, counters, events)
    for i in range(slots[slot, N_SLOT_KEYS]):
        label = slots[slot, FIRST_KEY + i]
        n = stats[slot, feature, label, N]
        if n == 0.0:
            continue
        below = weight_below(stats, slot, feature, label, threshold, is_category[feature])
        if is_category[feature] > 0 or threshold >= stats[slot, feature, label, LOWEST]:
            add_class(nodes[leaf, LEFT], label, below, nodes, counts, keys)
        if is_category[feature] > 0 or threshold < stats[slot, feature, label, HIGHEST]:
            add_class(nodes[leaf, RIGHT], label, n - below, nodes, counts, keys)
    slots[slot, OWNER] = -1
    nodes[leaf, SLOT] = -1
    for side in range(2):
        child = nodes[leaf, LEFT + side]
        weight = weigh_classes(child, nodes, counts, keys)[0]
        numbers[child, WEIGHT] = weight
        numbers[child, LAST_ATTEMPT] = weight
        if nodes[child, DEPTH] < settings[MAX_DEPTH]:
            nodes[child, SLOT] = slot_for(child, tree, statistics)


@compiled
def slot_for(leaf, tree, statistics):
    """A slot for a new leaf, if need be that of the least promising leaf; -1 if all others promise more.

    The weight of a leaf that is not of its largest class is what further splits may win at most.
    """
    nodes, counts, keys = tree.nodes, tree.counts, tree.keys
    slots, stats = statistics.slots, statistics.stats
    slot = take_slot(slots, leaf, stats)
    if slot >= 0:
        return slot
    total, largest, _ = weigh_classes(leaf, nodes, counts, keys)
    lowest = total - largest
    for s in range(slots.shape[0]):
        total, largest, _ = weigh_classes(slots[s, OWNER], nodes, counts, keys)
        if total - largest < lowest:
            slot, lowest = s, total - largest
    if slot >= 0:
        nodes[slots[slot, OWNER], SLOT] = -1
        slots[slot, OWNER] = leaf
        clear_slot(slots, slot, stats)
    return slot


# Real targets


@compiled
def from_mean(x, scaler, j):
    """Difference of a value from the running mean, bounded so that its square in standard deviations is a float."""
    d = min(max(x, -LARGEST), LARGEST) - scaler[CENTRE, j]
    return d if abs(d * scaler[INVERSE, j]) <= LARGEST_ROOT else math.copysign(LARGEST_ROOT / scaler[INVERSE, j], d)


@compiled
def leaf_target(row, leaf, tree):
    """Prediction of a leaf, the mean of its targets or its linear model, and that of its linear model, if it has one.

    In the linear model missing values count as the mean.
    """
    _, numbers, models, scaler, _, settings = tree
    how = settings[LEAF_PREDICTION]
    mean = numbers[leaf, MEAN]
    if how == PLAIN:
        return mean, mean
    total = models[leaf, 0]
    for j in range(row.shape[0]):
        if not np.isnan(row[j]):
            total += models[leaf, 1 + j] * from_mean(row[j], scaler, j) * scaler[2, j]
    linear = mean + total
    is_known = numbers[leaf, WEIGHT] >= FEW
    if how == MODEL or (is_known and numbers[leaf, MODEL_SCORE] <= numbers[leaf, PLAIN_SCORE]):
        return linear, linear
    return mean, linear


@compiled
def predict_targets(points, tree, out):
    """Predicted targets of rows, (n, 1)."""
    tree = RealNodes(*tree)
    nodes, numbers = tree.nodes, tree.numbers
    for i in range(points.shape[0]):
        out[i, 0] = leaf_target(points[i], find_leaf(points[i], nodes, numbers), tree)[0]


@compiled
def update_scaler(scaler, row, weight, memory, limit):
    """Add a row to the running means and inverse standard deviations; see `RealNodes` for the lines of `scaler`.

    Parameters
    ----------
    memory : a weight beyond this counts as this, so that old rows fade
    limit : a value that is further than so many standard deviations from the mean enters as if it were there, so that
        a single one cannot change the scale for long; 0 for no limit
    """
    for j in range(row.shape[0]):
        x = row[j]
        if np.isnan(x):
            continue
        # Within bounds, so that neither the mean nor the square of a huge number overflows.
        d = min(max(x, -LARGEST), LARGEST) - scaler[CENTRE, j]
        past = scaler[SCALED_WEIGHT, j]
        if limit > 0.0 and scaler[VARIANCE, j] > 0.0:
            past = past_weight(scaler, j, x, weight, limit)
            reach = limit * math.sqrt(scaler[VARIANCE, j])
            d = min(max(d, -reach), reach)
        n = min(past + weight, max(memory, weight))
        part = weight / n
        scaler[SCALED_WEIGHT, j] = n
        scaler[CENTRE, j] += part * d
        d = min(max(d, -LARGEST_ROOT), LARGEST_ROOT)
        scaler[VARIANCE, j] = (1.0 - part) * (scaler[VARIANCE, j] + part * d * d)
        scaler[INVERSE, j] = 1.0 / math.sqrt(scaler[VARIANCE, j]) if scaler[VARIANCE, j] > 0.0 else 0.0
        scaler[LAST, j] = x


@compiled
def past_weight(scaler, j, x, weight, limit):
    """What the past of a feature counts for when the value `x` comes.

    That is its weight, but no more than FRESH once values of the weight SURPRISES contradict the scale, which then is
    that of the present after some rows. Either more values are far from the mean than near: the scale is too small. Or
    values that vary are all so near to the mean that at most FEW_ROWS rows can have made the variance, and that for a
    quarter of all weight: the scale is that of outliers among the first rows.
    """
    past, run = scaler[SCALED_WEIGHT, j], scaler[RUN, j]
    z = (x - scaler[CENTRE, j]) * scaler[INVERSE, j]
    if abs(z) > SURPRISING * limit:
        run = max(run, 0.0) + weight
    elif z * z * past >= FEW_ROWS:
        run = max(run - weight, 0.0)
    elif x != scaler[LAST, j]:
        run -= weight
    if run >= SURPRISES:
        past, run = min(past, FRESH), 0.0
    elif -run >= max(SURPRISES, 0.25 * past):
        past = min(past, FRESH)
    scaler[RUN, j] = run
    return past


@compiled
def learn_linear(row, target, weight, leaf, linear, tree):
    """One normalised gradient step of a leaf's linear model, and the faded errors of both of its predictions."""
    _, numbers, models, scaler, _, settings = tree
    fading = settings[FADING] ** weight
    numbers[leaf, PLAIN_SCORE] = fading * numbers[leaf, PLAIN_SCORE] + (target - numbers[leaf, MEAN]) ** 2
    numbers[leaf, MODEL_SCORE] = min(fading * numbers[leaf, MODEL_SCORE] + (target - linear) ** 2, LARGEST)
    p = row.shape[0]
    squares = 1.0
    for j in range(p):
        if not np.isnan(row[j]):
            squares += (from_mean(row[j], scaler, j) * scaler[2, j]) ** 2
    # Divided by the length of the row, so that no step goes beyond the target.
    step = (1.0 - (1.0 - settings[RATE]) ** weight) * (target - linear) / squares
    models[leaf, 0] += step
    for j in range(p):
        if not np.isnan(row[j]):
            models[leaf, 1 + j] += step * from_mean(row[j], scaler, j) * scaler[2, j]


@compiled
def learn_targets(points, targets, weights, start, tree, statistics, detector, out):
    """Learn rows one after the other, from row `start` on; `out`, if it has rows, gets the predictions before.

    Returns
    -------
    number of the first row that was not learned: there was no room, or an alarm with the row before
    """
    tree, statistics = RealNodes(*tree), Statistics(*statistics)
    nodes, numbers, models, scaler, counters, settings = tree
    slots, stats, _, events = statistics
    sides = np.empty((2, 3))
    for i in range(start, points.shape[0]):
        if not has_room(nodes, slots, counters, settings, events):
            return i
        row, target, weight = points[i], targets[i], weights[i]
        leaf = find_leaf(row, nodes, numbers)
        prediction, linear = leaf_target(row, leaf, tree)
        if out.shape[0] > 0:
            out[i, 0] = prediction
        if weight <= 0.0:
            continue
        counters[N_ROWS] += 1
        has_model = settings[LEAF_PREDICTION] != PLAIN
        if has_model:
            if numbers[leaf, WEIGHT] > 0.0:
                # the first row makes the mean, about which the linear model is
                learn_linear(row, target, weight, leaf, linear, tree)
            update_scaler(scaler, row, weight, np.inf, 0.0)
        node = leaf
        while node >= 0:
            numbers[node, WEIGHT] += weight
            d = target - numbers[node, MEAN]
            move = d * (weight / numbers[node, WEIGHT])
            numbers[node, MEAN] += move
            if has_model and node == leaf and numbers[node, WEIGHT] > weight:
                # What the linear model says must not move with the mean.
                models[node, 0] -= move
            numbers[node, SPREAD] += weight * d * (target - numbers[node, MEAN])
            node = nodes[node, PARENT]
        slot = nodes[leaf, SLOT]
        if slot >= 0:
            observe_real(stats, slot, row, target, weight)
            if numbers[leaf, WEIGHT] - numbers[leaf, LAST_ATTEMPT] >= settings[GRACE]:
                numbers[leaf, LAST_ATTEMPT] = numbers[leaf, WEIGHT]
                if nodes[leaf, DEPTH] < settings[MAX_DEPTH] and counters[N_INNER] < settings[MAX_INNER]:
                    try_target_split(leaf, tree, statistics, sides)
        if note_target(prediction, target, settings, detector):
            return i + 1
    return points.shape[0]


@compiled
def try_target_split(leaf, tree, statistics, sides):
    """Split a leaf if its best test is surely better than the second best, or if both are as good.

    Parameters
    ----------
    sides : (2, 3) room for what `best_real_test` fills
    """
    nodes, numbers, models, _, counters, settings = tree
    slots, stats, is_category, events = statistics
    slot, seen = nodes[leaf, SLOT], numbers[leaf, WEIGHT]
    test = best_real_test(stats, slot, is_category, settings[MIN_FRACTION], sides)
    feature, _, merit, second = test
    bound = hoeffding_bound(1.0, settings[DELTA], seen)
    if feature < 0 or not (second / merit < 1.0 - bound or bound < settings[TAU]):
        return
    put_test(leaf, test, bound, seen, nodes, numbers, counters, events)
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
