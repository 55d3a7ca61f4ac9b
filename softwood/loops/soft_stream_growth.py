"""How soft trees on streams grow: what their nodes have seen, and splits.

Arguments are those of `softwood.loops.soft_stream`.
"""

import math

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.hoeffding import put_test
from softwood.loops.observers import (
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
from softwood.loops.random import next_seed, to_unit
from softwood.loops.stream_layout import (
    ALPHA,
    ALPHA_AT,
    BATCH,
    BIAS_AT,
    CRITERION,
    DEEPER_FOR_CLASSES,
    DELTA,
    DEPTH,
    FADE_1,
    FADE_2,
    FEATURE,
    FIRST_KEY,
    FIRST_WEIGHT,
    GATE_INIT,
    GRACE,
    LAST_ATTEMPT,
    LEAF_INIT,
    LEFT,
    LEFT_WEIGHT,
    MAX_DEPTH,
    MAX_INNER,
    MERIT_RANGE,
    MIN_FRACTION,
    N_DRAWS,
    N_EVENTS,
    N_IN_BATCH,
    N_INNER,
    N_NODES,
    N_SLOT_KEYS,
    N_TAKEN,
    OWNER,
    RECHECK,
    SHARE,
    SLOT,
    SLOTS_ARE_ALL,
    STATISTICS_SHARE,
    TAU,
    THRESHOLD,
    WEIGH_BY_SHARE,
    WEIGHT,
    FoundTest,
)

# Half of the width of the first weights, as in the paper.
FIRST_WEIGHTS = 0.01


@compiled
def passes(row, node, nodes, numbers):
    """1 if a row passes the test of a node, else 0; the part of the rows that did, where its value is missing."""
    feature = nodes[node, FEATURE]
    if feature < 0:
        return 0.0
    if np.isnan(row[feature]):
        return numbers[node, LEFT_WEIGHT] / numbers[node, WEIGHT] if numbers[node, WEIGHT] > 0.0 else 0.5
    return 1.0 if row[feature] <= numbers[node, THRESHOLD] else 0.0


@compiled
def has_room_for_all(nodes, slots, counters, settings, events):
    """Whether all leaves could be split, and all tests replaced, in the same row."""
    n_nodes = counters[N_NODES]
    if counters[N_EVENTS] + n_nodes > events.shape[0]:
        return False
    if counters[N_INNER] >= settings[MAX_INNER]:
        return True
    # Only nodes with a slot can be split, and each then needs two more before it gives up its own, if it does.
    has_slots = 3 * counters[N_TAKEN] <= slots.shape[0] or counters[SLOTS_ARE_ALL] == 1
    return has_slots and n_nodes + 2 * (counters[N_INNER] + 1) <= nodes.shape[0]


@compiled
def observe(row, label, target, weight, n, nodes, numbers, settings, path, statistics):
    """Add a row to what the nodes that it reaches have seen."""
    places, shares = path
    slots, stats, seen, _, _ = statistics
    for i in range(n):
        node = places[i, 0]
        share = shares[i, SHARE]
        numbers[node, LEFT_WEIGHT] += weight * share * passes(row, node, nodes, numbers)
        numbers[node, WEIGHT] += weight * share
        slot = nodes[node, SLOT]
        if slot < 0 or share <= settings[STATISTICS_SHARE]:
            continue
        mass = weight * share if settings[WEIGH_BY_SHARE] > 0.0 else weight
        if label is not None:
            seen[slot, label] += mass
            observe_class(stats, slots, slot, row, label, mass, False)
        if target is not None:
            seen[slot, 0] += mass
            observe_real(stats, slot, row, target, mass)


@compiled
def grow(n, labels, targets, tree, path, statistics, sides):
    """Try to split the leaves that a row has reached, when it is time; look again at the tests of inner nodes.

    Parameters
    ----------
    sides : (2, at least n_outputs and 3) room for both sides of a test
    """
    nodes, numbers, counters, settings = tree.nodes, tree.numbers, tree.counters, tree.settings
    slots, stats, seen, is_category, events = statistics
    places = path.places
    if counters[N_IN_BATCH] > 0:
        return
    # Rows of earlier calls may have brought other leaves to their time if steps are taken in batches.
    is_batch = settings[BATCH] > 1.0
    n_nodes = counters[N_NODES]
    for i in range(n_nodes if is_batch else n):
        node = i if is_batch else places[i, 0]
        slot = nodes[node, SLOT]
        if slot < 0:
            continue
        total = 0.0
        for k in range(seen.shape[1]):
            total += seen[slot, k]
        is_inner = nodes[node, LEFT] >= 0
        if total - numbers[node, LAST_ATTEMPT] < (settings[RECHECK] if is_inner else settings[GRACE]):
            continue
        numbers[node, LAST_ATTEMPT] = total
        if not is_inner and counters[N_INNER] >= settings[MAX_INNER]:
            continue
        # The second best test of an inner node is the one that it has; not splitting a leaf is worth 0.
        old, threshold, least = nodes[node, FEATURE], numbers[node, THRESHOLD], settings[MIN_FRACTION]
        if labels is not None:
            criterion = settings[CRITERION]
            before = impurity(seen[slot], criterion)
            test = best_class_test(stats, slots, slot, before, is_category, least, criterion)
            second = test.second
            if is_inner:
                second = merit_of_threshold(
                    stats, slots, slot, old, threshold, before, is_category[old], 0.0, criterion
                )  # fmt: skip
                # It is of no use at all if all rows are on one side now.
                second = max(second, 0.0)
            # A test has two sides, so it cannot win more than a bit; the paper takes the entropy of the classes.
            spread = settings[MERIT_RANGE] if settings[MERIT_RANGE] > 0.0 else math.log2(max(2, seen.shape[1]))
            bound = hoeffding_bound(spread, settings[DELTA], total)
            is_sure = test.merit - max(second, 0.0) > bound
        if targets is not None:
            test = best_real_test(stats, slot, is_category, least, sides)
            second = real_merit(stats, slot, old, threshold) if is_inner else test.second
            bound = hoeffding_bound(1.0, settings[DELTA], total)
            is_sure = test.merit > 0.0 and second / test.merit < 1.0 - bound
        if not is_inner:
            is_sure = test.merit > 0.0 and (is_sure or bound < settings[TAU])
        is_new = test.feature >= 0 and is_sure
        if is_new:
            test = FoundTest(test.feature, test.threshold, test.merit, second)
            put_test(node, test, bound, total, nodes, numbers, counters, events)
            numbers[node, WEIGHT] = 0.0
            numbers[node, LEFT_WEIGHT] = 0.0
        if is_new and not is_inner:
            divide_leaf(node, labels, targets, tree, statistics, sides)
        if is_inner or (is_new and settings[RECHECK] < np.inf):
            # What was seen has been used; the test is compared with others by rows that are still to come.
            clear_slot(slots, slot, stats)
            for k in range(seen.shape[1]):
                seen[slot, k] = 0.0
            numbers[node, LAST_ATTEMPT] = 0.0


@compiled
def deepest(settings, n_outputs):
    """The largest depth: the limit, or as many leaves as there are classes four times over if that is more."""
    if settings[DEEPER_FOR_CLASSES] > 0.0:
        return max(settings[MAX_DEPTH], math.ceil(math.log2(n_outputs)) + 2.0)
    return settings[MAX_DEPTH]


@compiled
def divide_leaf(leaf, labels, targets, tree, statistics, sides):
    """Give a leaf that has got a test its gate, and its children what they begin with."""
    nodes, numbers, _, values, gate_slopes, value_slopes, _, _, counters, settings, _ = tree
    slots, stats, seen, _, _ = statistics
    slot = nodes[leaf, SLOT]
    fade_1, fade_2 = numbers[leaf, FADE_1], numbers[leaf, FADE_2]
    start_gate(leaf, tree)
    for j in range(gate_slopes.shape[1]):
        gate_slopes[leaf, j] = 0.0
    if labels is not None:
        class_moves(leaf, nodes, numbers, statistics, sides)
    if targets is not None:
        # How much larger the mean of a side is than that of the leaf.
        n = sides[0, 0] + sides[1, 0]
        mean = (sides[0, 0] * sides[0, 1] + sides[1, 0] * sides[1, 1]) / n
        sides[0, 0], sides[1, 0] = sides[0, 1] - mean, sides[1, 1] - mean
    for side in range(2):
        child = nodes[leaf, LEFT + side]
        numbers[child, FADE_1] = fade_1
        numbers[child, FADE_2] = fade_2
        for k in range(values.shape[2]):
            # The leaves go on where their parent was, its moments included.
            for c in range(3):
                values[c, child, k] = values[c, leaf, k]
            value_slopes[child, k] = 0.0
            values[0, child, k] += settings[LEAF_INIT] * sides[side, k]
        if nodes[child, DEPTH] < deepest(settings, values.shape[2]):
            taken = take_slot(slots, child, stats)
            nodes[child, SLOT] = taken
            if taken >= 0:
                counters[N_TAKEN] += 1
                for k in range(seen.shape[1]):
                    seen[taken, k] = 0.0
    if settings[RECHECK] == np.inf:
        numbers[leaf, LAST_ATTEMPT] = 0.0
        slots[slot, OWNER] = -1
        counters[N_TAKEN] -= 1
        nodes[leaf, SLOT] = -1


@compiled
def start_gate(node, tree):
    """First parameters of a gate: small random weights, or weights that agree with its test."""
    nodes, numbers, gates, _, _, _, scaler, _, counters, settings, seed = tree
    for c in range(3):
        for j in range(gates.shape[2]):
            gates[c, node, j] = 0.0
    for j in range(FIRST_WEIGHT, gates.shape[2]):
        u = to_unit(next_seed(seed, counters[N_DRAWS]))
        counters[N_DRAWS] += 1
        gates[0, node, j] = FIRST_WEIGHTS * (2.0 * u - 1.0)
    gates[0, node, ALPHA_AT] = settings[ALPHA]
    if settings[GATE_INIT] > 0.0:
        feature = nodes[node, FEATURE]
        gates[0, node, FIRST_WEIGHT + feature] = -settings[GATE_INIT]
        gates[0, node, BIAS_AT] = (
            settings[GATE_INIT] * (numbers[node, THRESHOLD] - scaler[1, feature]) * scaler[2, feature]
        )
    numbers[node, FADE_1] = 1.0
    numbers[node, FADE_2] = 1.0


@compiled
def class_moves(node, nodes, numbers, statistics, moves):
    """How much more each side of a node's test has of each class than the node, in logarithms, (2, n_classes)."""
    slots, stats, seen, is_category, _ = statistics
    slot, feature, q = nodes[node, SLOT], nodes[node, FEATURE], seen.shape[1]
    for k in range(q):
        moves[0, k] = 0.0
        moves[1, k] = 0.0
    for i in range(slots[slot, N_SLOT_KEYS]):
        label = slots[slot, FIRST_KEY + i]
        below = weight_below(stats, slot, feature, label, numbers[node, THRESHOLD], is_category[feature])
        moves[0, label] = below
        moves[1, label] = stats[slot, feature, label, N] - below
    left, right, total = 0.0, 0.0, 0.0
    for k in range(q):
        left += moves[0, k]
        right += moves[1, k]
        total += moves[0, k] + moves[1, k]
    for k in range(q):
        both = math.log((moves[0, k] + moves[1, k] + 1.0) / (total + q))
        moves[0, k] = math.log((moves[0, k] + 1.0) / (left + q)) - both
        moves[1, k] = math.log((moves[1, k] + 1.0) / (right + q)) - both
