"""How soft trees on streams grow: what their nodes have seen, and splits.

Arguments are those of `softwood.loops.soft_stream`.
"""

import math

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.hoeffding import log_event, put_test
from softwood.loops.observers import (
    best_class_test,
    best_real_test,
    clear_slot,
    hoeffding_bound,
    impurity,
    merit_of_threshold,
    observe_class,
    observe_real,
    real_merit,
    see_class,
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
    DELTA,
    DEPTH,
    FADE_1,
    FADE_2,
    FEATURE,
    FIRST_KEY,
    FIRST_WEIGHT,
    GATE_START,
    GRACE,
    LAST_ATTEMPT,
    LEFT,
    LEFT_WEIGHT,
    MAX_DEPTH,
    MAX_INNER,
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
    REPLACE,
    SHARE,
    SLOT,
    SLOTS_ARE_ALL,
    SPLIT,
    STATISTICS_SHARE,
    TAU,
    THRESHOLD,
    VALUE_START,
    WEIGH_BY_SHARE,
    WEIGHT,
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
def observe(row, target, weight, n, nodes, numbers, slots, stats, seen, settings, target_scaler, places, shares):
    """Add a row to what the nodes that it reaches have seen."""
    for i in range(n):
        node = places[i, 0]
        share = shares[i, SHARE]
        numbers[node, LEFT_WEIGHT] += weight * share * passes(row, node, nodes, numbers)
        numbers[node, WEIGHT] += weight * share
        slot = nodes[node, SLOT]
        if slot < 0 or share <= settings[STATISTICS_SHARE]:
            continue
        mass = weight * share if settings[WEIGH_BY_SHARE] > 0.0 else weight
        if target_scaler is None:
            see_class(slots, slot, int(target))
            seen[slot, int(target)] += mass
            observe_class(stats, slot, row, int(target), mass, False)
        else:
            seen[slot, 0] += mass
            observe_real(stats, slot, row, target, mass)


@compiled
def grow(
    n, nodes, numbers, gates, values, gate_slopes, value_slopes, scaler, slots, stats, seen, is_category, counters,
    settings, target_scaler, seed, events, places, sides,
):  # fmt: skip
    """Try to split the leaves that a row has reached, when it is time; look again at the tests of inner nodes."""
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
        wait = settings[GRACE] if nodes[node, LEFT] < 0 else settings[RECHECK]
        if total - numbers[node, LAST_ATTEMPT] < wait:
            continue
        numbers[node, LAST_ATTEMPT] = total
        if nodes[node, LEFT] >= 0:
            check_test(
                node, total, nodes, numbers, slots, stats, seen, is_category, counters, settings, target_scaler, events,
                sides,
            )  # fmt: skip
        elif counters[N_INNER] < settings[MAX_INNER]:
            try_split(
                node, total, nodes, numbers, gates, values, gate_slopes, value_slopes, scaler, slots, stats, seen,
                is_category, counters, settings, target_scaler, seed, events, sides,
            )  # fmt: skip


@compiled
def best_test(slot, total, slots, stats, seen, is_category, settings, target_scaler, sides):
    """Best test of a slot, the merits of it and of the second best (not splitting is worth 0), and the bound."""
    if target_scaler is None:
        before = impurity(seen[slot], settings[CRITERION])
        feature, threshold, merit, second = best_class_test(
            stats, slots, slot, before, is_category, settings[MIN_FRACTION], settings[CRITERION]
        )
        bound = hoeffding_bound(math.log2(max(2, seen.shape[1])), settings[DELTA], total)
        is_sure = merit - max(second, 0.0) > bound
    else:
        feature, threshold, merit, second = best_real_test(stats, slot, is_category, settings[MIN_FRACTION], sides)
        bound = hoeffding_bound(1.0, settings[DELTA], total)
        is_sure = merit > 0.0 and second / merit < 1.0 - bound
    return feature, threshold, merit, second, bound, is_sure


@compiled
def start_gate(node, nodes, numbers, gates, scaler, counters, settings, seed):
    """First parameters of a gate: small random weights, or weights that agree with its test."""
    gates[:, node] = 0.0
    for j in range(FIRST_WEIGHT, gates.shape[2]):
        u = to_unit(next_seed(seed, counters[N_DRAWS]))
        counters[N_DRAWS] += 1
        gates[0, node, j] = FIRST_WEIGHTS * (2.0 * u - 1.0)
    gates[0, node, ALPHA_AT] = settings[ALPHA]
    if settings[GATE_START] > 0.0:
        feature = nodes[node, FEATURE]
        gates[0, node, FIRST_WEIGHT + feature] = -settings[GATE_START]
        gates[0, node, BIAS_AT] = (
            settings[GATE_START] * (numbers[node, THRESHOLD] - scaler[1, feature]) * scaler[2, feature]
        )
    numbers[node, FADE_1] = 1.0
    numbers[node, FADE_2] = 1.0


@compiled
def try_split(
    leaf, total, nodes, numbers, gates, values, gate_slopes, value_slopes, scaler, slots, stats, seen, is_category,
    counters, settings, target_scaler, seed, events, sides,
):  # fmt: skip
    """Split a leaf if its best test is surely the best, or as good as the second best."""
    slot = nodes[leaf, SLOT]
    feature, threshold, merit, second, bound, is_sure = best_test(
        slot, total, slots, stats, seen, is_category, settings, target_scaler, sides
    )
    if feature < 0 or merit <= 0.0 or not (is_sure or bound < settings[TAU]):
        return
    log_event(events, counters, SPLIT, leaf, feature, threshold, merit, second, bound, total)
    put_test(nodes, numbers, counters, leaf, feature, threshold)
    fade_1, fade_2 = numbers[leaf, FADE_1], numbers[leaf, FADE_2]
    start_gate(leaf, nodes, numbers, gates, scaler, counters, settings, seed)
    if target_scaler is None:
        class_sides(slot, feature, threshold, slots, stats, is_category, sides)
    gate_slopes[leaf] = 0.0
    for side in range(2):
        child = nodes[leaf, LEFT + side]
        numbers[child, FADE_1] = fade_1
        numbers[child, FADE_2] = fade_2
        for k in range(values.shape[2]):
            # The leaves go on where their parent was, its moments included.
            for c in range(3):
                values[c, child, k] = values[c, leaf, k]
            value_slopes[child, k] = 0.0
            values[0, child, k] += settings[VALUE_START] * side_value(sides, side, k, values.shape[2], target_scaler)
        if nodes[child, DEPTH] < settings[MAX_DEPTH]:
            nodes[child, SLOT] = take_slot(slots, child, stats)
            if nodes[child, SLOT] >= 0:
                counters[N_TAKEN] += 1
                seen[nodes[child, SLOT]] = 0.0
    numbers[leaf, WEIGHT] = 0.0
    numbers[leaf, LAST_ATTEMPT] = 0.0
    if settings[RECHECK] < np.inf:
        clear_slot(slots, slot, stats)
        seen[slot] = 0.0
    else:
        slots[slot, OWNER] = -1
        counters[N_TAKEN] -= 1
        nodes[leaf, SLOT] = -1


@compiled
def class_sides(slot, feature, threshold, slots, stats, is_category, sides):
    """Class weights on both sides of a test, (2, n_classes)."""
    sides[:] = 0.0
    for i in range(slots[slot, N_SLOT_KEYS]):
        label = slots[slot, FIRST_KEY + i]
        below = weight_below(stats, slot, feature, label, threshold, is_category[feature])
        sides[0, label] = below
        sides[1, label] = stats[slot, feature, label, 0] - below


@compiled
def side_value(sides, side, k, n_outputs, target_scaler):
    """How much more a side of a test has of a class than the node, in logarithms; or how much larger its mean is."""
    if target_scaler is None:
        total_side, total = 0.0, 0.0
        for o in range(n_outputs):
            total_side += sides[side, o]
            total += sides[0, o] + sides[1, o]
        part = (sides[side, k] + 1.0) / (total_side + n_outputs)
        return math.log(part) - math.log((sides[0, k] + sides[1, k] + 1.0) / (total + n_outputs))
    n = sides[0, 0] + sides[1, 0]
    return sides[side, 1] - (sides[0, 0] * sides[0, 1] + sides[1, 0] * sides[1, 1]) / n


@compiled
def check_test(
    node, total, nodes, numbers, slots, stats, seen, is_category, counters, settings, target_scaler, events, sides
):  # fmt: skip
    """Replace the test of an inner node if the rows since the last look surely want another; then forget them."""
    slot = nodes[node, SLOT]
    old = nodes[node, FEATURE]
    feature, threshold, merit, _, bound, _ = best_test(
        slot, total, slots, stats, seen, is_category, settings, target_scaler, sides
    )
    if target_scaler is None:
        now = merit_of_threshold(
            stats, slots, slot, old, numbers[node, THRESHOLD], impurity(seen[slot], settings[CRITERION]),
            is_category[old], 0.0, settings[CRITERION],
        )  # fmt: skip
        # of no use at all if all rows are on one side now
        now = max(now, 0.0)
        is_surely_better = merit - now > bound
    else:
        now = real_merit(stats, slot, old, numbers[node, THRESHOLD])
        is_surely_better = merit > 0.0 and now / merit < 1.0 - bound
    if feature >= 0 and is_surely_better:
        log_event(events, counters, REPLACE, node, feature, threshold, merit, now, bound, total)
        nodes[node, FEATURE] = feature
        numbers[node, THRESHOLD] = threshold
        numbers[node, WEIGHT] = 0.0
        numbers[node, LEFT_WEIGHT] = 0.0
    clear_slot(slots, slot, stats)
    seen[slot] = 0.0
    numbers[node, LAST_ATTEMPT] = 0.0
