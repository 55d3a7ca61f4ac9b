"""Bounds of predictions over boxes of readings: how far a prediction can move if each reading is off by so much.

Two bounds hold for each tree, and the better one counts.

The walk: the part of a row that a gate sends left lies in an interval if the readings lie in intervals, and so does the
prediction of a node, a mixture of those of its children.

The shift: the shares of leaves are the kernel's masses in their cells. Moving the kernel moves no more mass than the
kernel and its moved copy do not have in common.

Arguments that recur
--------------------
box : (2, p) lower and upper ends, equal where a reading does not move, nan where it is missing
trees : `Trees`;  model : `Ensemble`;  room : `Room`
weights : (n_nodes, p) of oblique gates; None if there are none
label : number of a class, whose lead over each other output is bounded; below 0: the outputs themselves are
"""

from typing import NamedTuple

import numpy as np

from softwood.trees.loops.gates import BLEND, KERNEL, OBLIQUE, SUBSET, sigmoid, smooth_step
from softwood.trees.loops.kernel import kernel_cdf
from softwood.trees.loops.sets import has_member

# Slack for rounding: of ends of a box, of weighted sums.
END_SLACK, SUM_SLACK = 1e-15, 1e-13
# The search for the largest box ends when its ends are as close as this, relative to the larger one.
PRECISION = 1e-6
SMALLEST_SCALE, LARGEST_SCALE = 1e-12, 1e30
# In place of the number of the one reading that moves.
ALL, NONE = -1, -2


class Trees(NamedTuple):
    """Arrays of trees one after the other, as in `SoftForest`; nodes are numbered within their tree."""

    left: np.ndarray
    right: np.ndarray
    parent: np.ndarray
    gate: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    width: np.ndarray
    blend: np.ndarray
    bias: np.ndarray
    kernel: np.ndarray
    edges: np.ndarray
    cdfs: np.ndarray
    value: np.ndarray
    offsets: np.ndarray
    subsets: np.ndarray


class Ensemble(NamedTuple):
    """What is done with the trees.

    Attributes
    ----------
    output : (n_trees,) first output that each tree adds to;  base : (n_outputs,);  factor : on the sum of the trees
    is_softmax : whether each tree has the softmax link
    is_box : (n_trees, p) whether all gates of a feature have the same kernel, of one constant piece
    rates : (n_trees, p) mass that moves, at most, if a reading moves by 1; inf at crisp and oblique gates
    fill : (p,) numbers in place of missing values in weighted sums; nan: the gate goes by `missing_left`
    slack : bounds of a class's lead must be above this
    """

    output: np.ndarray
    base: np.ndarray
    factor: float
    is_softmax: bool
    is_box: np.ndarray
    rates: np.ndarray
    fill: np.ndarray
    slack: float


class Room(NamedTuple):
    """Scratch space; nodes are those of the largest tree.

    Attributes
    ----------
    nodes, stack : (n_nodes,) nodes that the box reaches, parents first; nodes that are still to visit
    parts, masses : (n_nodes, 2) smallest and largest part that goes left; distribution value of the kernel at the
        threshold, around the lower and the upper end of the box
    bounds : (2, n_nodes, n_values) of the prediction of each node
    found : (4, n_values) bounds of a tree, and smallest and largest value of the leaves that the box reaches
    kept : (n_trees, 2, n_values) bounds of the trees for the row itself
    total : (2, n_outputs) bounds of the ensemble;  box : (2, p) its lower and its upper ends
    delta : (p,) half-lengths of the box
    """

    nodes: np.ndarray
    stack: np.ndarray
    parts: np.ndarray
    masses: np.ndarray
    bounds: np.ndarray
    found: np.ndarray
    kept: np.ndarray
    total: np.ndarray
    box: np.ndarray
    delta: np.ndarray


# Gates


def kernel_parts(node, begin, trees, masses, is_box):
    """Smallest and largest part that goes left at a kernel gate, of what earlier gates on the feature have left.

    Parameters
    ----------
    begin : index of the tree's first node
    masses : (n_nodes, 2) of this node and of those above it
    is_box : see `Ensemble`
    """
    j = trees.feature[begin + node]
    lower_low = lower_high = 0.0  # left of the node's interval, around the lower and around the upper end
    upper_low = upper_high = 1.0
    child = node
    above = trees.parent[begin + node]
    while above >= 0:
        if trees.gate[begin + above] == KERNEL and trees.feature[begin + above] == j:
            if trees.left[begin + above] == child:
                upper_low = min(upper_low, masses[above, 0])
                upper_high = min(upper_high, masses[above, 1])
            else:
                lower_low = max(lower_low, masses[above, 0])
                lower_high = max(lower_high, masses[above, 1])
        child = above
        above = trees.parent[begin + above]
    at_low, at_high = masses[node, 0], masses[node, 1]
    if is_box:
        # The larger the reading, the smaller the part: a cut box that moves up has more of its mass above.
        largest = smallest = 0.0
        if lower_low >= upper_low or at_low >= upper_low:
            largest = 1.0  # also where the lower end does not reach the node: it is on the left of it, if at all
        elif at_low > lower_low:
            largest = (at_low - lower_low) / (upper_low - lower_low)
        if lower_high < upper_high:
            if at_high >= upper_high:
                smallest = 1.0
            elif at_high > lower_high:
                smallest = (at_high - lower_high) / (upper_high - lower_high)
        return smallest, largest
    # In general, only the masses of the two sides are bounded.
    most_left, least_left = at_low - lower_high, at_high - lower_low
    most_right, least_right = upper_low - at_high, upper_high - at_low
    largest = 0.0 if most_left <= 0.0 else 1.0 if least_right <= 0.0 else most_left / (most_left + least_right)
    smallest = 1.0 if most_right <= 0.0 else 0.0 if least_left <= 0.0 else least_left / (least_left + most_right)
    if smallest > largest:  # the box does not reach the node
        return 0.0, 1.0
    return smallest, largest


def oblique_sums(box, weights, node, bias, fill):
    """Smallest and largest weighted sum of an oblique gate; nan if a value is missing."""
    smallest = largest = bias
    size = abs(bias)
    is_moved = False
    for j in range(weights.shape[1]):
        weight = weights[node, j]
        if weight != 0.0:
            start = fill[j] if np.isnan(box[0, j]) else box[0, j]
            stop = fill[j] if np.isnan(box[1, j]) else box[1, j]
            is_moved |= start < stop
            one, other = weight * start, weight * stop
            smallest += min(one, other)
            largest += max(one, other)
            size += max(abs(one), abs(other))
    if is_moved and size < np.inf:
        smallest -= SUM_SLACK * size
        largest += SUM_SLACK * size
    return smallest, largest


def oblique_parts(kind, smallest, largest, width, blend, test_low, test_high):
    """Smallest and largest part that goes left at an oblique gate with sums in this interval.

    Parameters
    ----------
    test_low, test_high : smallest and largest part that passes the test of a blended gate
    """
    if kind == BLEND:
        low = blend * smooth_step(smallest, width) + (1.0 - blend) * test_low
        high = blend * smooth_step(largest, width) + (1.0 - blend) * test_high
        return low, high
    if kind == OBLIQUE:
        return (1.0 if smallest > 0.0 else 0.0), (1.0 if largest > 0.0 else 0.0)
    return sigmoid(smallest), sigmoid(largest)


# Trees


def mix_bounds(n, begin, trees, room):
    """Bounds of gates from those of their children, for the `n` nodes that a box reaches, parents first.

    Parameters
    ----------
    begin : index of the tree's first node
    """
    left, right, parts, bounds = trees.left, trees.right, room.parts, room.bounds
    for t in range(n - 1, -1, -1):
        node = room.nodes[t]
        at = begin + node
        if left[at] >= 0:
            smallest, largest = parts[node, 0], parts[node, 1]
            one = left[at] if largest > 0.0 else right[at]
            other = right[at] if smallest < 1.0 else left[at]
            for k in range(bounds.shape[2]):
                a, b = bounds[0, one, k], bounds[0, other, k]
                bounds[0, node, k] = b + (smallest if a > b else largest) * (a - b)
                a, b = bounds[1, one, k], bounds[1, other, k]
                bounds[1, node, k] = b + (largest if a > b else smallest) * (a - b)


def walk_box(number, trees, model, weights, label, room):
    """Bounds of the nodes of one tree over ``room.box``, and the range of its leaves.

    The bounds are in ``room.bounds``, the range is in ``room.found``.

    Parameters
    ----------
    number : of the tree
    """
    begin = trees.offsets[number]
    q = trees.value.shape[1]
    for k in range(q):
        room.found[2, k] = np.inf
        room.found[3, k] = -np.inf
    n = 0
    room.stack[0] = 0
    height = 1
    while height > 0:
        height -= 1
        node = room.stack[height]
        room.nodes[n] = node
        n += 1
        at = begin + node
        if trees.left[at] < 0:
            for k in range(q):
                v = trees.value[at, k] if label < 0 else trees.value[at, label] - trees.value[at, k]
                room.bounds[0, node, k] = room.bounds[1, node, k] = v
                room.found[2, k] = min(room.found[2, k], v)
                room.found[3, k] = max(room.found[3, k], v)
            continue
        j, kind, threshold, width = trees.feature[at], trees.gate[at], trees.threshold[at], trees.width[at]
        smallest = largest = trees.missing_left[at]
        if kind == KERNEL:
            low, high = room.box[0, j], room.box[1, j]
            if not np.isnan(low):
                shape = trees.kernel[at]
                room.masses[node, 0] = kernel_cdf(threshold, low, width, shape, trees.edges, trees.cdfs)
                room.masses[node, 1] = room.masses[node, 0]
                if low < high:
                    room.masses[node, 1] = kernel_cdf(threshold, high, width, shape, trees.edges, trees.cdfs)
                smallest, largest = kernel_parts(node, begin, trees, room.masses, model.is_box[number, j])
        elif kind == SUBSET:  # categories do not change
            low = room.box[0, j]
            if not np.isnan(low):
                smallest = largest = 1.0 if has_member(trees.subsets, at, int(low)) else 0.0
        elif weights is not None:
            least, most = oblique_sums(room.box, weights, at, trees.bias[at], model.fill)
            test_low = test_high = trees.missing_left[at]
            if kind == BLEND:
                low, high = room.box[0, j], room.box[1, j]
                if np.isnan(low):
                    least = np.nan if np.isnan(model.fill[j]) else least
                else:
                    test_low = 1.0 if high <= threshold else 0.0
                    test_high = 1.0 if low <= threshold else 0.0
            if not np.isnan(least):
                smallest, largest = oblique_parts(kind, least, most, width, trees.blend[at], test_low, test_high)
        room.parts[node, 0], room.parts[node, 1] = smallest, largest
        if largest > 0.0:
            room.stack[height] = trees.left[at]
            height += 1
        if smallest < 1.0:
            room.stack[height] = trees.right[at]
            height += 1
    mix_bounds(n, begin, trees, room)


def moved_mass(number, delta, rates, is_ball):
    """Largest share that moves to other leaves of a tree if readings move by up to `delta` (p,).

    Parameters
    ----------
    number : of the tree;  rates : see `Ensemble`
    is_ball : only ``sum(abs(move) / delta)`` is at most 1, not each move
    """
    stays = 1.0
    most = 0.0
    for j in range(delta.shape[0]):
        if delta[j] > 0.0 and rates[number, j] > 0.0:
            part = min(1.0, delta[j] * rates[number, j])
            stays *= 1.0 - part
            most = max(most, part)
    return most if is_ball else 1.0 - stays


def tree_bounds(number, is_ball, trees, model, weights, label, centre, room):
    """Bounds of one tree over ``room.box``, the better of walk and shift, in the first two rows of ``room.found``.

    Parameters
    ----------
    centre : (n_trees, n_values) predictions of the trees for the row itself
    """
    bounds, found = room.bounds, room.found
    mass = moved_mass(number, room.delta, model.rates, is_ball)
    walk_box(number, trees, model, weights, label, room)
    for k in range(found.shape[1]):
        found[0, k] = bounds[0, 0, k]
        found[1, k] = bounds[1, 0, k]
    if mass < 1.0:
        for k in range(found.shape[1]):
            change = mass * (found[3, k] - found[2, k])
            found[0, k] = max(found[0, k], centre[number, k] - change)
            found[1, k] = min(found[1, k], centre[number, k] + change)


def softmax_bounds(found, label):
    """Replace bounds of a tree's values by bounds of their softmax, or of the lead of a class in it.

    Parameters
    ----------
    found : (4, n_outputs) bounds of the values, or of the lead of the class in them; then room for a copy of these
    """
    q = found.shape[1]
    for k in range(q):
        found[2, k] = found[0, k]
        found[3, k] = found[1, k]
    for k in range(q):
        if label < 0:
            rest_low = rest_high = 0.0
            for o in range(q):
                if o != k:
                    rest_low += np.exp(min(found[2, o] - found[3, k], 700.0))
                    rest_high += np.exp(min(found[3, o] - found[2, k], 700.0))
            found[0, k] = 1.0 / (1.0 + rest_high)
            found[1, k] = 1.0 / (1.0 + rest_low)
        elif k != label:
            rest_low = rest_high = 1.0  # the class itself
            for o in range(q):
                if o != k and o != label:
                    rest_low += np.exp(min(-found[3, o], 700.0))
                    rest_high += np.exp(min(-found[2, o], 700.0))
            one, other = np.exp(min(-found[2, k], 700.0)), np.exp(min(-found[3, k], 700.0))
            found[0, k] = (1.0 - one) / ((rest_high if one < 1.0 else rest_low) + one)
            found[1, k] = (1.0 - other) / ((rest_low if other < 1.0 else rest_high) + other)


# Ensembles


def set_box(x, delta, scale, only, room):
    """The box of half-lengths ``scale * delta`` around a row, a little larger for rounding.

    Parameters
    ----------
    only : the one reading that moves, or `ALL`
    """
    box = room.box
    for j in range(x.shape[0]):
        box[0, j] = box[1, j] = x[j]
        room.delta[j] = 0.0
        if delta[j] > 0.0 and scale > 0.0 and (only < 0 or only == j) and not np.isnan(x[j]):
            room.delta[j] = scale * delta[j]
            wide = room.delta[j] + END_SLACK * (abs(x[j]) + room.delta[j])
            box[0, j] -= wide
            box[1, j] += wide


def total_bounds(is_ball, trees, model, weights, label, centre, only, room):
    """Bounds of the ensemble over ``room.box``, in ``room.total``: of its outputs, or of the lead of a class.

    Parameters
    ----------
    only : the one reading that moves, for which trees that do not use it are taken from ``room.kept``; `ALL` if all
        readings may move; `NONE` if none does, which fills ``room.kept``

    Notes
    -----
    With a class, only the lower bounds are right, and the lead of the class over itself has no meaning. The lead of a
    single score is the score itself, with its sign turned for class 0.
    """
    found, total, kept, base, factor = room.found, room.total, room.kept, model.base, model.factor
    K, q = base.shape[0], trees.value.shape[1]
    is_lead = label >= 0 and K > 1
    own = label if is_lead and q == K else -1
    for k in range(K):
        total[0, k] = total[1, k] = base[label] - base[k] if is_lead else base[k]
    for number in range(model.output.shape[0]):
        if only >= 0 and model.rates[number, only] == 0.0:
            for k in range(q):
                found[0, k], found[1, k] = kept[number, 0, k], kept[number, 1, k]
        else:
            tree_bounds(number, is_ball, trees, model, weights, own, centre, room)
        if only == NONE:
            for k in range(q):
                kept[number, 0, k], kept[number, 1, k] = found[0, k], found[1, k]
        if model.is_softmax:
            softmax_bounds(found, own)
        for k in range(q):
            o = model.output[number] + k
            if own >= 0 or not is_lead:
                total[0, o] += factor * found[0, k]
                total[1, o] += factor * found[1, k]
            elif o == label:
                for other in range(K):
                    total[0, other] += factor * found[0, k]
            else:
                total[0, o] -= factor * found[1, k]
    if K == 1 and label == 0:
        total[0, 0] = -total[1, 0]


def leads(total, label, slack):
    """Whether a class is ahead of all others; `total` are bounds of its lead, as `total_bounds` gives them."""
    n = total.shape[1]
    is_ahead = True
    for k in range(n):
        is_ahead &= total[0, k] > slack or (k == label and n > 1)  # nan is not above
    return is_ahead


def next_scale(scale, low, high, is_certain):
    """The next trial of the search for the largest box, and the ends between which it is.

    The search starts with the row itself, at 0, and goes on with the infinite box, with 1, and by doubling; then it
    halves the interval. It ends with a scale below 0.

    Parameters
    ----------
    scale : the last trial;  low, high : largest scale that was certain, and smallest that was not, inf at first
    """
    if is_certain:
        low = scale
    else:
        high = min(high, scale)
    if scale == 0.0 and is_certain:
        return np.inf, low, high
    if low > LARGEST_SCALE or high == 0.0:
        return -1.0, low, high
    if high == np.inf:
        return (2.0 * low if low > 0.0 else 1.0), low, high
    if high - low <= PRECISION * high or high < SMALLEST_SCALE:
        return -1.0, low, high
    return 0.5 * (low + high), low, high


# Rows


def bound_rows(points, deltas, is_ball, labels, centres, trees, model, weights, room, out):
    """Bounds in a box around each row.

    Parameters
    ----------
    deltas : (n, p) half-lengths of the boxes
    labels : (n,) classes whose lead is bounded, or numbers below 0 for the outputs
    centres : (n, n_trees, n_values) as in `tree_bounds`
    out : (n, 2, n_outputs)
    """
    for i in range(points.shape[0]):
        set_box(points[i], deltas[i], 1.0, ALL, room)
        total_bounds(is_ball, trees, model, weights, labels[i], centres[i], ALL, room)
        for k in range(out.shape[2]):
            out[i, 0, k] = room.total[0, k]
            out[i, 1, k] = room.total[1, k]


def search_rows(points, deltas, is_ball, labels, centres, trees, model, weights, room, out):
    """Largest factor on the half-lengths of a box in which the class of each row is certain.

    Parameters
    ----------
    deltas : (n, p) half-lengths of a box for each row, 0 for readings that stay
    is_ball : move all readings, by parts of `deltas` that add up to 1; otherwise, move each reading alone
    out : (n, 1), or (n, p) if readings move alone; entries of readings that stay are not changed
    """
    for i in range(points.shape[0]):
        x, delta, centre = points[i], deltas[i], centres[i]
        is_sure = is_tried = False  # of the row itself
        for k in range(out.shape[1]):
            if not is_ball and not delta[k] > 0.0:
                continue
            only = ALL if is_ball else k
            scale, low, high = 0.0, 0.0, np.inf
            while scale >= 0.0:
                is_certain = is_sure
                if scale > 0.0 or not is_tried:
                    set_box(x, delta, scale, only, room)
                    moving = only if scale > 0.0 else NONE
                    total_bounds(is_ball, trees, model, weights, labels[i], centre, moving, room)
                    is_certain = leads(room.total, labels[i], model.slack)
                if scale == 0.0:
                    is_sure, is_tried = is_certain, True
                scale, low, high = next_scale(scale, low, high, is_certain)
            out[i, k] = low
