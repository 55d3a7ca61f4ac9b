"""Hoeffding trees: rows go down one path, leaves keep statistics and split when the best test is surely the best.

Arguments that recur are the tuples of `softwood.stream.loops.layout`,

rows : `Rows`;  tree : `TreeNodes`;  classes : `ClassNodes`;  reals : `RealNodes`;  statistics : `Statistics`

and

points, i : (n, n_features) values, nan where missing, and the number of the row that is meant
out, row : an array of predictions, and the row of it to fill
"""

import math

import numpy as np

from softwood.stream.loops.alarms import learned, note_class, note_target
from softwood.stream.loops.layout import (
    ADAPTIVE,
    CENTRE,
    DEPTH,
    FEATURE,
    FIRST_KEY,
    GINI,
    INVERSE,
    LAST,
    LAST_ATTEMPT,
    LEFT,
    MEAN,
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
    REPLACE,
    RIGHT,
    RUN,
    SCALED_WEIGHT,
    SLOT,
    SLOTS_ARE_ALL,
    SPLIT,
    SPREAD,
    THRESHOLD,
    VARIANCE,
    WEIGHT,
    FoundTest,
)
from softwood.stream.loops.observers import (
    HIGHEST,
    LOWEST,
    N,
    add_log_densities,
    best_class_test,
    best_real_test,
    clear_slot,
    hoeffding_bound,
    impurity,
    is_side_of_its_own,
    observe_class,
    observe_real,
    ones,
    take_slot,
    weight_below,
    weight_of_category,
)

# Numbers beyond this count as it in running means, and differences beyond its root in running variances.
LARGEST = 1e300
LARGEST_ROOT = 1e150
# Weight of values that contradict a running scale before its past counts for less, and what that counts for then.
SURPRISES, FRESH = 30.0, 8.0
# Part of the limit from which on a value is far from the mean: ten standard deviations, of the usual limit of 30.
SURPRISING = 1.0 / 3.0
# Fewer rows than this cannot be distinguished from outliers.
FEW_ROWS = 16.0
# Most portions of a row of large weight, so that no row takes long.
MOST_PORTIONS = 64.0
# A leaf with less weight than this predicts its mean, unless its settings ask for its linear model.
FEW = 50.0


def has_room(tree, statistics):
    """Whether a leaf can be split: space for the nodes of all tests, for statistics of all leaves, and in the log."""
    n_inner = tree.counters[N_INNER]
    n_tests = min(statistics.most_tests, max(tree.settings.max_inner - n_inner, 1.0))
    if tree.counters[N_EVENTS] + n_tests > statistics.events.shape[0]:
        return False
    if n_inner >= tree.settings.max_inner:
        return True
    has_slots = n_inner + 1 + n_tests <= statistics.slots.shape[0] or tree.counters[SLOTS_ARE_ALL] == 1
    return has_slots and tree.counters[N_NODES] + 2 * n_tests <= tree.nodes.shape[0]


def find_leaf(points, i, tree):
    """Leaf of a row; where the value is missing the row goes to the heavier side."""
    node = 0
    while tree.nodes[node, LEFT] >= 0:
        x = points[i, tree.nodes[node, FEATURE]]
        goes_left = x <= tree.numbers[node, THRESHOLD]
        if np.isnan(x):
            goes_left = tree.numbers[tree.nodes[node, LEFT], WEIGHT] >= tree.numbers[tree.nodes[node, RIGHT], WEIGHT]
        node = tree.nodes[node, LEFT] if goes_left else tree.nodes[node, RIGHT]
    return node


def put_test(node, test, bound, seen, tree, statistics):
    """Give a node a test (a `FoundTest`) and log it; a leaf becomes an inner node with two new leaves of no weight."""
    is_leaf = tree.nodes[node, LEFT] < 0
    e = tree.counters[N_EVENTS]
    tree.counters[N_EVENTS] = e + 1
    statistics.events[e]["kind"] = SPLIT if is_leaf else REPLACE
    statistics.events[e]["n_samples"] = tree.counters[N_ROWS]
    statistics.events[e]["node"] = node
    statistics.events[e]["feature"] = test.feature
    statistics.events[e]["threshold"] = test.threshold
    statistics.events[e]["merit"] = test.merit
    statistics.events[e]["second_merit"] = test.second
    statistics.events[e]["bound"] = bound
    statistics.events[e]["weight_seen"] = seen
    tree.nodes[node, FEATURE] = test.feature
    tree.numbers[node, THRESHOLD] = test.threshold
    if not is_leaf:
        return
    for side in range(2):
        child = tree.counters[N_NODES] + side
        for c in range(tree.nodes.shape[1]):
            tree.nodes[child, c] = -1
        tree.nodes[child, PARENT] = node
        tree.nodes[child, DEPTH] = tree.nodes[node, DEPTH] + 1
        tree.nodes[child, N_KEYS] = 0
        for c in range(tree.numbers.shape[1]):
            tree.numbers[child, c] = 0.0
        tree.numbers[child, THRESHOLD] = np.nan
        tree.nodes[node, LEFT + side] = child
    tree.counters[N_NODES] += 2
    tree.counters[N_INNER] += 1


# Classes


def weigh_classes(node, tree, classes):
    """Weight of a leaf, added up in the order in which its classes came, that of its largest class, and that class.

    Of equal classes the one that came first is the largest; it is -1 in a leaf that has seen none.
    """
    total, largest, majority = 0.0, -1.0, -1
    for i in range(tree.nodes[node, N_KEYS]):
        label = classes.keys[node, i]
        total += classes.counts[node, label]
        if classes.counts[node, label] > largest:
            largest, majority = classes.counts[node, label], label
    return total, max(largest, 0.0), majority


def add_class(node, label, weight, tree, classes):
    """Add weight of a class to a node."""
    i = 0
    n = tree.nodes[node, N_KEYS]
    while i < n and classes.keys[node, i] != label:
        i += 1
    if i == n:
        classes.keys[node, n] = label
        tree.nodes[node, N_KEYS] = n + 1
    classes.counts[node, label] += weight


def bayes_probabilities(points, i, leaf, total, tree, classes, statistics, out, row):
    """Fill a row of `out` with the class probabilities that naive Bayes finds in a leaf of the weight `total`.

    Returns
    -------
    the most probable class; -1, and nothing that is of use in `out`, if the density of the row is 0 in all classes
    """
    slot, n_keys = tree.nodes[leaf, SLOT], tree.nodes[leaf, N_KEYS]
    guess = -1
    highest, scale = -np.inf, 0.0
    for k in range(out.shape[1]):
        out[row, k] = 0.0
    unseen = tree.settings.unseen_values
    add_log_densities(statistics, slot, points, i, classes.keys, leaf, n_keys, unseen, out, row)
    for k in range(n_keys):
        label = classes.keys[leaf, k]
        vote = -np.inf
        if classes.counts[leaf, label] > 0.0:
            vote = math.log(classes.counts[leaf, label] / total) + out[row, label]
        out[row, label] = vote
        if vote > highest:
            highest, guess = vote, label
    if guess < 0:
        return guess
    for k in range(n_keys):
        label = classes.keys[leaf, k]
        out[row, label] = math.exp(out[row, label] - highest)
        scale += out[row, label]
    for k in range(n_keys):
        out[row, classes.keys[leaf, k]] /= scale
    return guess


def leaf_probabilities(points, i, leaf, tree, classes, statistics, out, row):
    """Fill a row of `out` with the class probabilities of a leaf, uniform if it has seen nothing.

    Returns
    -------
    the class that naive Bayes finds most probable, -1 if it was not asked
    """
    n_classes = out.shape[1]
    total = weigh_classes(leaf, tree, classes)[0]
    if total <= 0.0:
        for k in range(n_classes):
            out[row, k] = 1.0 / n_classes
        return -1
    guess = -1
    how = tree.settings.leaf_prediction
    if tree.nodes[leaf, SLOT] >= 0 and how != PLAIN:
        guess = bayes_probabilities(points, i, leaf, total, tree, classes, statistics, out, row)
        # A value so far away that its density is 0 in all classes says nothing.
        if guess >= 0 and (how == MODEL or tree.numbers[leaf, MODEL_SCORE] >= tree.numbers[leaf, PLAIN_SCORE]):
            return guess
    for k in range(n_classes):
        out[row, k] = classes.counts[leaf, k] / total
    return guess


def predict_classes(rows, tree, classes, statistics):
    """Class probabilities of rows."""
    for i in range(rows.points.shape[0]):
        leaf = find_leaf(rows.points, i, tree)
        leaf_probabilities(rows.points, i, leaf, tree, classes, statistics, rows.out, i)


def judge(rows, i, leaf, guess, tree, classes, statistics):
    """Compare both predictions of a leaf, each copy of a row being predicted before it is learned.

    From the first copy that both predict right on, they are taken to be right.

    Parameters
    ----------
    guess : the class that naive Bayes finds most probable before the row is learned

    Returns
    -------
    weight of the copies that are still to be learned
    """
    label, left, slot = rows.labels[i], rows.weights[i], tree.nodes[leaf, SLOT]
    portion = max(1.0, left / MOST_PORTIONS) if tree.settings.judges_copies > 0.0 else left
    while True:
        total, _, majority = weigh_classes(leaf, tree, classes)
        is_plain, is_model = majority < 0 or majority == label, guess == label
        part = left if left <= portion or (is_plain and is_model) else portion
        if is_plain:
            tree.numbers[leaf, PLAIN_SCORE] += part
        if is_model:
            tree.numbers[leaf, MODEL_SCORE] += part
        if part == left:
            return left
        left -= part
        add_class(leaf, label, part, tree, classes)
        observe_class(statistics, slot, rows.points, i, label, part, True)
        total += part
        guess = bayes_probabilities(rows.points, i, leaf, total, tree, classes, statistics, classes.prediction, 1)


def learn_classes(rows, start, tree, classes, statistics):
    """Learn rows one after the other, from row `start` on, while there is space and no alarm; returns a `Learned`."""
    has_out = rows.out.shape[0] > 0
    how = tree.settings.leaf_prediction
    for i in range(start, rows.points.shape[0]):
        if not has_room(tree, statistics):
            return learned(i, tree)
        label, weight = rows.labels[i], rows.weights[i]
        leaf = find_leaf(rows.points, i, tree)
        guess = -1
        if has_out:
            guess = leaf_probabilities(rows.points, i, leaf, tree, classes, statistics, rows.out, i)
        elif how == ADAPTIVE or tree.settings.drift_delta > 0.0:
            guess = leaf_probabilities(rows.points, i, leaf, tree, classes, statistics, classes.prediction, 0)
        if weight <= 0.0:
            continue
        tree.counters[N_ROWS] += 1
        slot = tree.nodes[leaf, SLOT]
        left_over = weight
        if slot >= 0 and how == ADAPTIVE:
            left_over = judge(rows, i, leaf, guess, tree, classes, statistics)
        add_class(leaf, label, left_over, tree, classes)
        node = leaf
        while node >= 0:
            tree.numbers[node, WEIGHT] += weight
            node = tree.nodes[node, PARENT]
        if slot >= 0:
            observe_class(statistics, slot, rows.points, i, label, left_over, how != PLAIN)
            seen = weigh_classes(leaf, tree, classes)[0]
            if is_time(leaf, seen, tree):
                try_class_split(leaf, tree, classes, statistics)
        if has_out:
            is_alarm = note_class(rows.out, i, label, tree)
        else:
            is_alarm = note_class(classes.prediction, 0, label, tree)
        if is_alarm:
            return learned(i + 1, tree)
    return learned(rows.points.shape[0], tree)


def is_time(leaf, seen, tree):
    """Whether a leaf of the weight `seen` may be split: enough has come since the last attempt, and limits allow it."""
    last = tree.numbers[leaf, LAST_ATTEMPT]
    if seen - last < max(tree.settings.grace_period, tree.settings.least_growth * last):
        return False
    tree.numbers[leaf, LAST_ATTEMPT] = seen
    return tree.nodes[leaf, DEPTH] < tree.settings.max_depth and tree.counters[N_INNER] < tree.settings.max_inner


def try_class_split(leaf, tree, classes, statistics):
    """Split a leaf if its best test beats the second best by more than the bound, or if both are as good."""
    n_present = 0
    for i in range(tree.nodes[leaf, N_KEYS]):
        if classes.counts[leaf, classes.keys[leaf, i]] != 0.0:
            n_present += 1
    if n_present < 2:
        return
    slot = tree.nodes[leaf, SLOT]
    seen, largest, _ = weigh_classes(leaf, tree, classes)
    if largest / seen > tree.settings.max_share_to_split:
        # Little to gain: the statistics of the features start from zero.
        clear_slot(statistics, slot)
        return
    criterion = tree.settings.split_criterion
    before = impurity(classes.counts, leaf, criterion)
    most_tests = 1
    if tree.settings.many_ways > 0.0:
        limit = min(tree.settings.max_depth - tree.nodes[leaf, DEPTH], tree.settings.max_inner - tree.counters[N_INNER])
        most_tests = int(min(statistics.most_tests, limit))
    test = best_class_test(statistics, slot, before, tree.settings.min_branch_fraction, criterion, most_tests)
    spread = 1.0 if criterion == GINI else math.log2(max(2, tree.nodes[leaf, N_KEYS]))
    bound = hoeffding_bound(spread, tree.settings.delta, seen)
    if test.feature < 0:
        if bound < tree.settings.tau:
            clear_slot(statistics, slot)
        return
    if not (test.merit - test.second > bound or bound < tree.settings.tau):
        return
    if test.is_many:
        split_categories(leaf, slot, test, bound, seen, tree, classes, statistics)
    else:
        split_leaf(leaf, slot, test, bound, seen, tree, classes, statistics)
    statistics.slots[slot, OWNER] = -1
    tree.nodes[leaf, SLOT] = -1
    open_leaves(leaf, tree, classes, statistics)


def split_leaf(leaf, slot, test, bound, seen, tree, classes, statistics):
    """Give a leaf a test, and its two leaves the class weights of their sides."""
    put_test(leaf, test, bound, seen, tree, statistics)
    is_category = statistics.is_category[test.feature] > 0
    for i in range(statistics.slots[slot, N_SLOT_KEYS]):
        label = statistics.slots[slot, FIRST_KEY + i]
        n = statistics.stats[slot, test.feature, label, N]
        if n == 0.0:
            continue
        below = weight_below(statistics, slot, test.feature, label, test.threshold)
        if is_category or test.threshold >= statistics.stats[slot, test.feature, label, LOWEST]:
            add_class(tree.nodes[leaf, LEFT], label, below, tree, classes)
        if is_category or test.threshold < statistics.stats[slot, test.feature, label, HIGHEST]:
            add_class(tree.nodes[leaf, RIGHT], label, n - below, tree, classes)


def split_categories(leaf, slot, test, bound, seen, tree, classes, statistics):
    """Give a leaf one test after the other, each of which divides a category from those that are left.

    The first test is logged with the merit of the whole split, the others with a merit of 0.
    """
    least = tree.settings.min_branch_fraction
    source, n_features = statistics.is_category[test.feature], statistics.stats.shape[1]
    # Without rare categories, the last one is what the other tests leave.
    last, has_rest = -1, False
    for j in range(test.feature, n_features):
        if statistics.is_category[j] == source:
            if is_side_of_its_own(statistics, slot, j, least):
                last = j
            elif weight_of_category(statistics, slot, j)[0] > 0.0:
                has_rest = True
    node, merit, second = leaf, test.merit, test.second
    for j in range(test.feature, n_features):
        if statistics.is_category[j] != source or not is_side_of_its_own(statistics, slot, j, least):
            continue
        if j == last and not has_rest:
            break
        put_test(node, FoundTest(j, 0.5, merit, second, True), bound, seen, tree, statistics)
        merit, second = 0.0, 0.0
        for i in range(statistics.slots[slot, N_SLOT_KEYS]):
            label = statistics.slots[slot, FIRST_KEY + i]
            left_over = 0.0
            for k in range(test.feature, n_features):
                if statistics.is_category[k] == source and (
                    k > j or not is_side_of_its_own(statistics, slot, k, least)
                ):
                    left_over += ones(statistics, slot, k, label)
            if left_over > 0.0:
                add_class(tree.nodes[node, LEFT], label, left_over, tree, classes)
            if ones(statistics, slot, j, label) > 0.0:
                add_class(tree.nodes[node, RIGHT], label, ones(statistics, slot, j, label), tree, classes)
        node = tree.nodes[node, LEFT]


def open_leaves(node, tree, classes, statistics):
    """Weights of all nodes below one that has been split, and slots for the new leaves."""
    while tree.nodes[node, LEFT] >= 0:
        for side in range(2):
            child = tree.nodes[node, LEFT + side]
            weight = weigh_classes(child, tree, classes)[0]
            tree.numbers[child, WEIGHT] = weight
            tree.numbers[child, LAST_ATTEMPT] = weight
            if tree.nodes[child, LEFT] < 0 and tree.nodes[child, DEPTH] < tree.settings.max_depth:
                tree.nodes[child, SLOT] = slot_for(child, tree, classes, statistics)
        node = tree.nodes[node, LEFT]


def slot_for(leaf, tree, classes, statistics):
    """A slot for a new leaf, if need be that of the least promising leaf; -1 if all others promise more.

    The weight of a leaf that is not of its largest class is what further splits may win at most.
    """
    slot = take_slot(statistics, leaf)
    if slot >= 0:
        return slot
    total, largest, _ = weigh_classes(leaf, tree, classes)
    lowest = total - largest
    for s in range(statistics.slots.shape[0]):
        total, largest, _ = weigh_classes(statistics.slots[s, OWNER], tree, classes)
        if total - largest < lowest:
            slot, lowest = s, total - largest
    if slot >= 0:
        tree.nodes[statistics.slots[slot, OWNER], SLOT] = -1
        statistics.slots[slot, OWNER] = leaf
        clear_slot(statistics, slot)
    return slot


# Real targets


def from_mean(x, scaler, j):
    """Difference of a value from the running mean, bounded so that its square in standard deviations is a float."""
    d = min(max(x, -LARGEST), LARGEST) - scaler[CENTRE, j]
    return d if abs(d * scaler[INVERSE, j]) <= LARGEST_ROOT else math.copysign(LARGEST_ROOT / scaler[INVERSE, j], d)


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


def update_scaler(scaler, points, i, weight, memory, limit):
    """Add a row to the running means and inverse standard deviations: `update_scale` of each feature."""
    for j in range(points.shape[1]):
        update_scale(scaler, j, points[i, j], weight, memory, limit)


def update_scale(scaler, j, x, weight, memory, limit):
    """Add a value to a running mean and inverse standard deviation; see `RealNodes` for the rows of `scaler`.

    Parameters
    ----------
    x : nan if it is missing
    memory : a weight beyond this counts as this, so that old rows fade
    limit : a value that is further than so many standard deviations from the mean enters as if it were there, so that
        a single one cannot change the scale for long; 0 for no limit
    """
    if np.isnan(x):
        return
    # Within bounds, so that neither the mean nor the square of a huge number overflows.
    d = min(max(x, -LARGEST), LARGEST) - scaler[CENTRE, j]
    past, variance = scaler[SCALED_WEIGHT, j], scaler[VARIANCE, j]
    if limit > 0.0 and variance > 0.0:
        past = past_weight(scaler, j, x, weight, limit)
        if not abs(d) * scaler[INVERSE, j] < 0.5 * limit:
            reach = limit * math.sqrt(variance)
            d = min(max(d, -reach), reach)
    n = min(past + weight, max(memory, weight))
    part = weight / n
    scaler[SCALED_WEIGHT, j] = n
    scaler[CENTRE, j] += part * d
    d = min(max(d, -LARGEST_ROOT), LARGEST_ROOT)
    variance = (1.0 - part) * (variance + part * d * d)
    scaler[VARIANCE, j] = variance
    scaler[INVERSE, j] = 1.0 / math.sqrt(variance) if variance > 0.0 else 0.0
    scaler[LAST, j] = x


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
        if not has_room(tree, statistics):
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
