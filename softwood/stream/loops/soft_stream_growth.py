"""How soft trees on streams grow: what their nodes have seen, and splits.

Arguments are those of `softwood.stream.loops.soft_stream`.
"""

import math

import numpy as np

from softwood.stream.loops.hoeffding import put_test
from softwood.stream.loops.layout import (
    ALPHA_AT,
    BIAS_AT,
    CENTRE,
    DEPTH,
    FADE_1,
    FADE_2,
    FEATURE,
    FIRST_KEY,
    FIRST_WEIGHT,
    INVERSE,
    LAST_ATTEMPT,
    LEFT,
    LEFT_WEIGHT,
    N_DRAWS,
    N_EVENTS,
    N_IN_BATCH,
    N_INNER,
    N_NODES,
    N_SLOT_KEYS,
    N_TAKEN,
    OWNER,
    SHARE,
    SLOT,
    SLOTS_ARE_ALL,
    THRESHOLD,
    WEIGHT,
    FoundTest,
)
from softwood.stream.loops.observers import (
    N,
    best_class_test,
    best_real_test,
    clear_slot,
    hoeffding_bound,
    impurity,
    merit_of_threshold,
    observe_class,
    observe_real,
    real_merit,
    take_slot,
    weight_below,
)
from softwood.trees.loops.random import next_seed, to_unit

# Half of the width of the first weights, as in the paper.
FIRST_WEIGHTS = 0.01


def passes(points, i, node, tree):
    """1 if a row passes the test of a node, else 0; the part of the rows that did, where its value is missing."""
    feature = tree.nodes[node, FEATURE]
    if feature < 0:
        return 0.0
    x = points[i, feature]
    if np.isnan(x):
        weight = tree.numbers[node, WEIGHT]
        return tree.numbers[node, LEFT_WEIGHT] / weight if weight > 0.0 else 0.5
    return 1.0 if x <= tree.numbers[node, THRESHOLD] else 0.0


def has_room_for_all(tree, statistics):
    """Whether all leaves could be split, and all tests replaced, in the same row."""
    n_nodes, n_inner = tree.counters[N_NODES], tree.counters[N_INNER]
    if tree.counters[N_EVENTS] + n_nodes > statistics.events.shape[0]:
        return False
    if n_inner >= tree.settings.max_inner:
        return True
    # Only nodes with a slot can be split, and each then needs two more before it gives up its own, if it does.
    has_slots = 3 * tree.counters[N_TAKEN] <= statistics.slots.shape[0] or tree.counters[SLOTS_ARE_ALL] == 1
    return has_slots and n_nodes + 2 * (n_inner + 1) <= tree.nodes.shape[0]


def observe(points, i, label, target, weight, n, tree, path, statistics):
    """Add a row to what the nodes that it reaches have seen.

    Parameters
    ----------
    label : number of its class, -1 in trees for real targets, which take `target`
    """
    for at in range(n):
        node = path.places[at, 0]
        share = path.shares[at, SHARE]
        tree.numbers[node, LEFT_WEIGHT] += weight * share * path.tests[at]
        tree.numbers[node, WEIGHT] += weight * share
        slot = tree.nodes[node, SLOT]
        if slot < 0 or share <= tree.settings.min_share:
            continue
        mass = weight * share if tree.settings.weigh_by_share > 0.0 else weight
        if label >= 0:
            statistics.seen[slot, label] += mass
            observe_class(statistics, slot, points, i, label, mass, False)
        else:
            statistics.seen[slot, 0] += mass
            observe_real(statistics, slot, points, i, target, mass)


def grow(n, is_class, tree, soft, path, statistics):
    """Try to split the leaves that a row has reached, when it is time; look again at the tests of inner nodes."""
    if tree.counters[N_IN_BATCH] > 0:
        return
    # Rows of earlier calls may have brought other leaves to their time if steps are taken in batches.
    is_batch = tree.settings.batch_size > 1.0
    recheck, delta = tree.settings.recheck_period, tree.settings.delta
    least, criterion = tree.settings.min_branch_fraction, tree.settings.split_criterion
    n_outputs = statistics.seen.shape[1]
    n_nodes = tree.counters[N_NODES]
    for at in range(n_nodes if is_batch else n):
        if not is_batch and path.shares[at, SHARE] <= tree.settings.min_share:
            continue  # it has seen nothing new
        node = at if is_batch else path.places[at, 0]
        slot = tree.nodes[node, SLOT]
        if slot < 0:
            continue
        total = 0.0
        for k in range(n_outputs):
            total += statistics.seen[slot, k]
        is_inner = tree.nodes[node, LEFT] >= 0
        if total - tree.numbers[node, LAST_ATTEMPT] < (recheck if is_inner else tree.settings.grace_period):
            continue
        tree.numbers[node, LAST_ATTEMPT] = total
        if not is_inner and tree.counters[N_INNER] >= tree.settings.max_inner:
            continue
        # The second best test of an inner node is the one that it has; not splitting a leaf is worth 0.
        old, threshold = tree.nodes[node, FEATURE], tree.numbers[node, THRESHOLD]
        if is_class:
            before = impurity(statistics.seen, slot, criterion)
            test = best_class_test(statistics, slot, before, least, criterion, 1)
            second = test.second
            if is_inner:
                second = merit_of_threshold(statistics, slot, old, threshold, before, 0.0, criterion)
                # It is of no use at all if all rows are on one side now.
                second = max(second, 0.0)
            # A test has two sides, so it cannot win more than a bit; the paper takes the entropy of the classes.
            spread = tree.settings.merit_range
            if spread <= 0.0:
                spread = math.log2(max(2, n_outputs))
            bound = hoeffding_bound(spread, delta, total)
            is_sure = test.merit - max(second, 0.0) > bound
        else:
            test = best_real_test(statistics, slot, least)
            second = real_merit(statistics, slot, old, threshold) if is_inner else test.second
            bound = hoeffding_bound(1.0, delta, total)
            is_sure = test.merit > 0.0 and second / test.merit < 1.0 - bound
        if not is_inner:
            is_sure = test.merit > 0.0 and (is_sure or bound < tree.settings.tau)
        is_new = test.feature >= 0 and is_sure
        if is_new:
            test = FoundTest(test.feature, test.threshold, test.merit, second, False)
            put_test(node, test, bound, total, tree, statistics)
            tree.numbers[node, WEIGHT] = 0.0
            tree.numbers[node, LEFT_WEIGHT] = 0.0
        if is_new and not is_inner:
            divide_leaf(node, is_class, tree, soft, statistics)
        if is_inner or (is_new and recheck < np.inf):
            # What was seen has been used; the test is compared with others by rows that are still to come.
            clear_slot(statistics, slot)
            for k in range(n_outputs):
                statistics.seen[slot, k] = 0.0
            tree.numbers[node, LAST_ATTEMPT] = 0.0


def deepest(tree, n_outputs):
    """The largest depth: the limit, or as many leaves as there are classes four times over if that is more."""
    if tree.settings.deeper_for_classes > 0.0:
        return max(tree.settings.max_depth, math.ceil(math.log2(n_outputs)) + 2.0)
    return tree.settings.max_depth


def divide_leaf(leaf, is_class, tree, soft, statistics):
    """Give a leaf that has got a test its gate, and its children what they begin with.

    The sides of `statistics` are those of the test, as `best_real_test` leaves them; of classes they are found here.
    """
    slot, n_outputs = tree.nodes[leaf, SLOT], soft.values.shape[2]
    fade_1, fade_2 = tree.numbers[leaf, FADE_1], tree.numbers[leaf, FADE_2]
    start_gate(leaf, tree, soft)
    for j in range(soft.gate_slopes.shape[1]):
        soft.gate_slopes[leaf, j] = 0.0
    if is_class:
        class_moves(leaf, tree, statistics)
    else:
        # How much larger the mean of a side is than that of the leaf.
        n_left, n_right = statistics.sides[0, 0], statistics.sides[1, 0]
        left, right = statistics.sides[0, 1], statistics.sides[1, 1]
        mean = (n_left * left + n_right * right) / (n_left + n_right)
        statistics.sides[0, 0] = left - mean
        statistics.sides[1, 0] = right - mean
    for side in range(2):
        child = tree.nodes[leaf, LEFT + side]
        tree.numbers[child, FADE_1] = fade_1
        tree.numbers[child, FADE_2] = fade_2
        for k in range(n_outputs):
            # The leaves start from the values and moments of their parent.
            for c in range(3):
                soft.values[c, child, k] = soft.values[c, leaf, k]
            soft.value_slopes[child, k] = 0.0
            soft.values[0, child, k] += tree.settings.leaf_init * statistics.sides[side, k]
        if tree.nodes[child, DEPTH] < deepest(tree, n_outputs):
            taken = take_slot(statistics, child)
            tree.nodes[child, SLOT] = taken
            if taken >= 0:
                tree.counters[N_TAKEN] += 1
                for k in range(n_outputs):
                    statistics.seen[taken, k] = 0.0
    if tree.settings.recheck_period == np.inf:
        tree.numbers[leaf, LAST_ATTEMPT] = 0.0
        statistics.slots[slot, OWNER] = -1
        tree.counters[N_TAKEN] -= 1
        tree.nodes[leaf, SLOT] = -1


def start_gate(node, tree, soft):
    """First parameters of a gate: small random weights, or weights that agree with its test."""
    for c in range(3):
        for j in range(soft.gates.shape[2]):
            soft.gates[c, node, j] = 0.0
    for j in range(FIRST_WEIGHT, soft.gates.shape[2]):
        u = to_unit(next_seed(soft.seed, tree.counters[N_DRAWS]))
        tree.counters[N_DRAWS] += 1
        soft.gates[0, node, j] = FIRST_WEIGHTS * (2.0 * u - 1.0)
    soft.gates[0, node, ALPHA_AT] = tree.settings.alpha
    size = tree.settings.gate_init
    if size > 0.0:
        feature = tree.nodes[node, FEATURE]
        distance = tree.numbers[node, THRESHOLD] - soft.scaler[CENTRE, feature]
        soft.gates[0, node, FIRST_WEIGHT + feature] = -size
        soft.gates[0, node, BIAS_AT] = size * distance * soft.scaler[INVERSE, feature]
    tree.numbers[node, FADE_1] = 1.0
    tree.numbers[node, FADE_2] = 1.0


def class_moves(node, tree, statistics):
    """Fill the sides of `statistics`: how much more each side has of each class than the node, in logarithms."""
    slot, feature, q = tree.nodes[node, SLOT], tree.nodes[node, FEATURE], statistics.seen.shape[1]
    for k in range(q):
        statistics.sides[0, k] = 0.0
        statistics.sides[1, k] = 0.0
    for i in range(statistics.slots[slot, N_SLOT_KEYS]):
        label = statistics.slots[slot, FIRST_KEY + i]
        below = weight_below(statistics, slot, feature, label, tree.numbers[node, THRESHOLD])
        statistics.sides[0, label] = below
        statistics.sides[1, label] = statistics.stats[slot, feature, label, N] - below
    n_left, n_right, total = 0.0, 0.0, 0.0
    for k in range(q):
        n_left += statistics.sides[0, k]
        n_right += statistics.sides[1, k]
        total += statistics.sides[0, k] + statistics.sides[1, k]
    for k in range(q):
        left, right = statistics.sides[0, k], statistics.sides[1, k]
        both = math.log((left + right + 1.0) / (total + q))
        statistics.sides[0, k] = math.log((left + 1.0) / (n_left + q)) - both
        statistics.sides[1, k] = math.log((right + 1.0) / (n_right + q)) - both
