"""Hoeffding trees: rows go down one path, leaves keep statistics and split when the best test is surely the best.

Arguments that recur are the tuples of `softwood.stream.loops.layout`,

rows : `Rows`;  tree : `TreeNodes`;  classes : `ClassNodes`;  statistics : `Statistics`

and

points, i : (n, n_features) values, nan where missing, and the number of the row that is meant
out, row : an array of predictions, and the row of it to fill
"""

import math

import numpy as np

from softwood.stream.loops.alarms import learned, note_class
from softwood.stream.loops.layout import (
    ADAPTIVE,
    DEPTH,
    FEATURE,
    FIRST_KEY,
    GINI,
    LAST_ATTEMPT,
    LEFT,
    MODEL,
    MODEL_LATELY,
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
    PLAIN_LATELY,
    PLAIN_SCORE,
    REPLACE,
    RIGHT,
    SLOT,
    SLOTS_ARE_ALL,
    SPLIT,
    THRESHOLD,
    WEIGHT,
    FoundTest,
)
from softwood.stream.loops.observers import (
    HIGHEST,
    LOWEST,
    SQUARES,
    N,
    add_log_densities,
    best_class_test,
    clear_slot,
    hoeffding_bound,
    impurity,
    is_side_of_its_own,
    keep_normals,
    observe_class,
    ones,
    take_slot,
    weight_below,
    weight_of_category,
)

# Most portions of a row of large weight, so that no row takes long.
MOST_PORTIONS = 64.0
# Part of the scores of late that is left after a row, and by how much naive Bayes must have been right more often.
LASTING, MARGIN = 0.98, 0.2
# Weights may be added up in another order later.
ROUNDED_UP = 1.0 + 1e-9
# A class of less weight than this does not inherit a normal distribution.
FEWEST_INHERITED = 2.0


def room(tree, statistics):
    """For how many tests there is space: for their nodes, for statistics of all leaves, and in the log."""
    found = min(
        tree.nodes.shape[0] - tree.counters[N_NODES], 2 * (statistics.events.shape[0] - tree.counters[N_EVENTS])
    )
    found //= 2
    if tree.counters[SLOTS_ARE_ALL] == 0:
        found = min(found, statistics.slots.shape[0] - tree.counters[N_INNER] - 1)
    return found


def has_room(tree, statistics, n_tests):
    """Whether there is space for a split that takes so many tests, as far as the limits allow it."""
    n_left = tree.settings.max_inner - tree.counters[N_INNER]
    if n_left < 1.0:
        return tree.counters[N_EVENTS] < statistics.events.shape[0]
    return room(tree, statistics) >= min(n_tests, n_left)


def n_tests_of(leaf, weight, tree, classes, statistics):
    """How many tests a split of a leaf may take, at the most, once it has a further row of this weight."""
    slot = tree.nodes[leaf, SLOT]
    if statistics.most_tests == 1 or slot < 0:
        return 1
    seen = weigh_classes(leaf, tree, classes)[0] + weight
    if seen * ROUNDED_UP - tree.numbers[leaf, LAST_ATTEMPT] < due_after(leaf, tree):
        return 1
    n_tests = 1  # that of the row's own category, if it is too light before
    for j in range(statistics.stats.shape[1]):
        if statistics.is_category[j] > 0 and is_side_of_its_own(statistics, slot, j, tree.settings.min_branch_fraction):
            n_tests += 1
    return min(n_tests, statistics.most_tests)


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
        kept = LASTING if part == 1.0 else math.pow(LASTING, part)
        tree.numbers[leaf, MODEL_LATELY] += (1.0 - kept) * (is_model - tree.numbers[leaf, MODEL_LATELY])
        tree.numbers[leaf, PLAIN_LATELY] += (1.0 - kept) * (is_plain - tree.numbers[leaf, PLAIN_LATELY])
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
        label, weight = rows.labels[i], rows.weights[i]
        leaf = find_leaf(rows.points, i, tree)
        if not has_room(tree, statistics, n_tests_of(leaf, weight, tree, classes, statistics)):
            return learned(i, tree)
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


def due_after(leaf, tree):
    """Weight that must have come to a leaf since the last attempt to split it."""
    return max(tree.settings.grace_period, tree.settings.least_growth * tree.numbers[leaf, LAST_ATTEMPT])


def is_time(leaf, seen, tree):
    """Whether a leaf of the weight `seen` may be split: enough has come since the last attempt, and limits allow it."""
    if seen - tree.numbers[leaf, LAST_ATTEMPT] < due_after(leaf, tree):
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
        most_tests = int(min(min(statistics.most_tests, limit), room(tree, statistics)))
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
    # After a change of the stream, what the leaf knows is of the past.
    is_sound = tree.numbers[leaf, MODEL_LATELY] > tree.numbers[leaf, PLAIN_LATELY] + MARGIN
    inherits = is_sound and tree.settings.inherited_weight > 0.0
    if inherits:
        keep_normals(statistics, slot, classes.parent)
    statistics.slots[slot, OWNER] = -1
    tree.nodes[leaf, SLOT] = -1
    open_leaves(leaf, test.feature if inherits else -1, tree, classes, statistics)


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


def open_leaves(node, feature, tree, classes, statistics):
    """Weights of all nodes below one that has been split by a feature, and slots for the new leaves."""
    while tree.nodes[node, LEFT] >= 0:
        for side in range(2):
            child = tree.nodes[node, LEFT + side]
            weight = weigh_classes(child, tree, classes)[0]
            tree.numbers[child, WEIGHT] = weight
            tree.numbers[child, LAST_ATTEMPT] = weight
            if tree.nodes[child, LEFT] < 0 and tree.nodes[child, DEPTH] < tree.settings.max_depth:
                tree.nodes[child, SLOT] = slot_for(child, tree, classes, statistics)
                if tree.nodes[child, SLOT] >= 0 and feature >= 0:
                    inherit_normals(child, feature, tree, classes, statistics)
        node = tree.nodes[node, LEFT]


def inherit_normals(leaf, feature, tree, classes, statistics):
    """Let a new leaf begin with the normal distributions of its parent, which has been split by a feature.

    As naive Bayes has it, features are independent within a class, so a test on one of them leaves the others as they
    were. Each class has its share of the leaf, and all together have a weight of `inherited_weight` at the most. The
    range of the values, from which thresholds are drawn, is that of the leaf's own rows.
    """
    slot, parent = tree.nodes[leaf, SLOT], classes.parent
    part = min(1.0, tree.settings.inherited_weight / max(tree.numbers[leaf, WEIGHT], 1.0))
    for i in range(tree.nodes[leaf, N_KEYS]):
        label = classes.keys[leaf, i]
        weight = part * classes.counts[leaf, label]
        if weight < FEWEST_INHERITED:
            continue
        factor = weight / parent[feature, label, N]
        k = statistics.slots[slot, N_SLOT_KEYS]
        statistics.slots[slot, FIRST_KEY + k] = label
        statistics.slots[slot, N_SLOT_KEYS] = k + 1
        for j in range(parent.shape[0]):
            for c in range(parent.shape[2]):
                statistics.stats[slot, j, label, c] = parent[j, label, c]
            statistics.stats[slot, j, label, N] *= factor
            statistics.stats[slot, j, label, SQUARES] *= factor
            if statistics.is_category[j] == 0:
                statistics.stats[slot, j, label, LOWEST] = np.inf
                statistics.stats[slot, j, label, HIGHEST] = -np.inf


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
