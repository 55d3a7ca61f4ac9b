"""The mass and the targets of a node: what its splits are measured by.

Arguments that recur are explained in `softwood.kernel.growing.loops.tree_groups`.
"""

import numpy as np

from softwood.kernel.growing.loops.groups import Goal
from softwood.kernel.growing.loops.scan import BINARY_ENTROPY, SLACK, SQUARED


def weigh(rows, begin, shares, m, labels, targets, scratch, lines, sums, line):
    """Gather the points of a node: mass and mass times target, or label; and put mass, squares and sums in its line."""
    points, node_labels = scratch.points, scratch.labels
    for o in range(sums.shape[1]):
        sums[line, o] = 0.0
    total = 0.0
    square = 0.0
    if labels is not None:
        of_class = 0.0
        current = labels[rows[begin]]
        for k in range(m):  # points of a class mostly follow one another: their sum stays in a register
            i = rows[begin + k]
            label = labels[i]
            if label != current:
                sums[line, current] += of_class
                total += of_class
                of_class = 0.0
                current = label
            mass = shares[begin + k] * targets[i, 0]
            points[k, 0] = mass
            node_labels[k] = label
            of_class += mass
        sums[line, current] += of_class
        total += of_class
    else:
        first = 0.0
        for k in range(m):  # sums that stay in registers
            i = rows[begin + k]
            mass = shares[begin + k] * targets[i, 0]
            part = mass * targets[i, 1]
            points[k, 0] = mass
            points[k, 1] = part
            total += mass
            square += part * targets[i, 1]
            first += part
        sums[line, 0] = first
        if targets.shape[1] > 2:
            for k in range(m):
                i = rows[begin + k]
                for o in range(2, targets.shape[1]):
                    part = points[k, 0] * targets[i, o]
                    points[k, o] = part
                    sums[line, o - 1] += part
                    square += part * targets[i, o]
    lines[line]["square"] = square
    lines[line]["mass"] = total


def number_labels(sums, line, m, scratch):
    """Replace the classes of a node's points by numbers without gaps: the search then has only those to look at.

    Returns
    -------
    number of outputs: of the node's classes, or of targets if there are no labels
    """
    node_labels, numbers, totals = scratch.labels, scratch.numbers, scratch.totals
    n_classes = sums.shape[1]
    if scratch.points.shape[1] > 1:  # there are targets
        for o in range(n_classes):
            totals[o] = sums[line, o]
        return n_classes
    n_outputs = 0
    for o in range(n_classes):
        numbers[o] = n_outputs
        totals[n_outputs] = sums[line, o]  # written over by the next one if there is none of this class
        n_outputs += 1 if sums[line, o] > 0.0 else 0
    if n_outputs < n_classes:
        for k in range(m):
            node_labels[k] = numbers[node_labels[k]]
    return n_outputs


def merit_and_impurity(lines, sums, line, criterion, is_class):
    """Merit of an unsplit node, and its impurity times its mass in the same unit as differences of merit."""
    q = sums.shape[1]
    mass = lines[line]["mass"]
    merit = 0.0
    if criterion != SQUARED:
        for o in range(q):
            s = sums[line, o]
            if s > 0.0:
                merit += s * np.log(s / mass)
        rest = mass - sums[line, 0]
        if criterion == BINARY_ENTROPY and rest > 0.0:
            merit += rest * np.log(rest / mass)
        return merit, -merit
    for o in range(q):
        merit += sums[line, o] ** 2
    merit /= mass
    if not is_class:
        return merit, lines[line]["square"] - merit
    if q == 1:  # two classes, one stored: S - S^2 / W is half of W times Gini
        return merit, sums[line, 0] - merit
    return merit, mass - merit


def tie_of(base, impure, mass):
    """Merits closer than this are equal: a trifle of the impurity, but no less than rounding errors."""
    return 1e-10 * impure + 1e-14 * (abs(base) + mass)


def goal_of(lines, sums, node, m, rules, criterion, min_mass, scratch):
    """What the splits of a node are measured by, after `weigh`; `n_outputs` is 0 if the node must remain a leaf.

    The classes of the node's points are numbered, see `number_labels`.

    min_mass : smallest mass of a child
    """
    mass = lines[node]["mass"]
    base, impure = merit_and_impurity(lines, sums, node, criterion, rules.is_class)
    is_leaf = lines[node]["depth"] >= rules.max_depth or mass < 2.0 * min_mass * SLACK or impure <= 1e-12 * mass
    n_outputs = 0 if is_leaf else number_labels(sums, node, m, scratch)
    return Goal(mass, base, min_mass, tie_of(base, impure, mass), n_outputs, criterion, rules.rare_mass)
