"""Shapley values of trees of kernel gates, exactly.

The share of a leaf is a product with one factor for each player, the column of the table that gates of the path test:
``a`` if the player is present, from the row, and ``b`` if it is absent, from the rule of the game. With
``f = t a + (1 - t) b``, the Shapley value of player i is the sum over the leaves of

    value * (a_i - b_i) * integral over t from 0 to 1 of the product of f_k over all k other than i.

The integrand is a polynomial, whose integral is a weighted sum over a few points t (Gauss-Legendre, exact). The product
is carried from the root to the leaves and the sum of the leaves' values back, so that a node costs a few operations for
each point, whatever the length of the path. A leaf below two gates of the same player counts with the factors of the
lower one: at each gate, what the gate above has counted for the leaves of its branch is replaced.

Nodes are in the order of a walk, left before right: the left child of a node is the next one, and all nodes of a branch
are in one piece. Nodes of a tree are numbered from 0 in the arrays that belong to one tree.
"""

from typing import NamedTuple

import numpy as np

from softwood.trees.loops.kernel import kernel_cdf
from softwood.trees.loops.sets import has_member

# A node: where its branch ends and the node above, then its gate. `feature` is -1 at leaves; `last_feature` and
# `last_player` are the last nodes on the way from the root to this one, itself included, whose gate above tests the
# feature or the player of this node's gate; -1 if there is none. Other nodes are numbered within the tree.
STEP = np.dtype(
    [
        ("stop", "i8"), ("parent", "i8"), ("player", "i8"), ("last_feature", "i8"), ("last_player", "i8"),
        ("feature", "i8"), ("kernel", "i8"), ("threshold", "f8"), ("width", "f8"), ("missing_left", "f8"),
    ]
)  # fmt: skip

# What stands for the kernel of a gate that tests a set of categories.
BY_SET = -1

# Factors below this count as 0: their reciprocals would not be finite.
NOTHING = 1e-290


class Plan(NamedTuple):
    """Trees as the loops take them.

    Attributes
    ----------
    steps : (n_nodes,) of type `STEP`, one tree after the other;  value : (n_nodes, n_values)
    offsets : (n_trees + 1,) where the nodes of each tree begin;  output : (n_trees,) first output of each tree
    absent : (n_nodes,) factor of the absent player of the gate above each node, if there is no background
    n_points : (n_trees,) number of points of the integral;  points, weights : (most, most) those of each number, less 1
    edges, cdfs : the tables of the kernel shapes
    subsets : (n_nodes, n_words) sets of categories
    """

    steps: np.ndarray
    value: np.ndarray
    offsets: np.ndarray
    output: np.ndarray
    absent: np.ndarray
    n_points: np.ndarray
    points: np.ndarray
    weights: np.ndarray
    edges: np.ndarray
    cdfs: np.ndarray
    subsets: np.ndarray


class Scratch(NamedTuple):
    """Room for the walk through one tree: at most `n` nodes, `m` points and `q` values.

    Attributes
    ----------
    present : (n,) factors of the row;  absent : (n_background, n) of the background rows, or of the path's rule
    bounds : (2, n) part of the kernel of the gate's feature that is left below each node
    product : (n, m) at each point, of the factors on the way to a node;  inverse : (n, m) 1 / f of the gate above it
    sums : (n, q * m) product times value, added up over the leaves of a branch
    factors : (m,) of the sums of one branch in the value of its player
    visited : (n,) nodes that are not cut off
    lowest : (2, n) players of the way to a leaf, and the node below the lowest gate of each
    """

    present: np.ndarray
    absent: np.ndarray
    bounds: np.ndarray
    product: np.ndarray
    inverse: np.ndarray
    sums: np.ndarray
    factors: np.ndarray
    visited: np.ndarray
    lowest: np.ndarray


def order_steps(left, right, feature, player, offsets, order, steps, most):
    """Bring the nodes into the order of a walk, and fill the numbers of other nodes in `steps`.

    Parameters
    ----------
    left, right, feature : (n_nodes,) children within their tree, and tests
    player : (n_features,) player that each feature belongs to
    order : (n_nodes,) int64, filled: for each step the node that it is
    most : (n_trees,) int64, filled: largest number of different players on a path
    """
    pending = np.empty((left.shape[0] + 1, 2), np.int64)  # node, and the step above it
    n_players = np.zeros(left.shape[0], np.int64)
    for tree in range(offsets.shape[0] - 1):
        begin = offsets[tree]
        most[tree] = 0
        pending[0, 0] = 0
        pending[0, 1] = -1
        height = 1
        at = 0
        while height > 0:
            height -= 1
            node = begin + pending[height, 0]
            parent = pending[height, 1]
            order[begin + at] = node
            steps[begin + at]["parent"] = parent
            steps[begin + at]["stop"] = at + 1
            n_players[begin + at] = 0
            if parent >= 0:
                is_new = steps[begin + parent]["last_player"] < 0
                n_players[begin + at] = n_players[begin + parent] + (1 if is_new else 0)
                most[tree] = max(most[tree], n_players[begin + at])
            test = owner = last_feature = last_player = -1
            if left[node] >= 0:
                test = feature[node]
                owner = player[test]
                below = at
                while below > 0 and last_feature < 0:
                    above = steps[begin + below]["parent"]
                    if last_player < 0 and steps[begin + above]["player"] == owner:
                        last_player = below
                    if steps[begin + above]["feature"] == test:
                        last_feature = below
                    below = above
                pending[height, 0] = right[node]
                pending[height, 1] = at
                pending[height + 1, 0] = left[node]
                pending[height + 1, 1] = at
                height += 2
            steps[begin + at]["feature"] = test
            steps[begin + at]["player"] = owner
            steps[begin + at]["last_feature"] = last_feature
            steps[begin + at]["last_player"] = last_player
            at += 1
        for last in range(at - 1, 0, -1):
            parent = steps[begin + last]["parent"]
            steps[begin + parent]["stop"] = max(steps[begin + parent]["stop"], steps[begin + last]["stop"])


def fill_absent(steps, left_shares, begin, end, absent):
    """Factor of each gate's player if it is absent: a product of shares, at both children of each gate.

    Parameters
    ----------
    left_shares : (n_nodes,) share of an absent value that goes left
    begin, end : nodes of the tree
    absent : (n_nodes,) filled, with 1 at the root
    """
    absent[begin] = 1.0
    for at in range(end - begin):
        gate = steps[begin + at]
        if gate["feature"] >= 0:
            before = 1.0
            if gate["last_player"] >= 0:
                before = absent[begin + gate["last_player"]]
            right = begin + steps[begin + at + 1]["stop"]
            absent[begin + at + 1] = before * left_shares[begin + at]
            absent[right] = before * (1.0 - left_shares[begin + at])


def fill_present(rows, i, cells, steps, begin, end, edges, cdfs, subsets, bounds, present):
    """Factor of each gate's player for row `i`, at both children of each gate.

    Parameters
    ----------
    rows : (n, p) values;  cells : (n, p) half-widths of single cells (nan: the node's), or None
    bounds : (2, >= n_nodes) room;  present : (>= n_nodes,) filled, with 1 at the root
    """
    present[0] = 1.0
    for at in range(end - begin):
        gate = steps[begin + at]
        j = gate["feature"]
        if j < 0:
            continue
        before = 1.0
        if gate["last_player"] >= 0:
            before = present[gate["last_player"]]
        lower = 0.0
        upper = 1.0
        if gate["last_feature"] >= 0:
            lower = bounds[0, gate["last_feature"]]
            upper = bounds[1, gate["last_feature"]]
        left = at + 1
        right = steps[begin + left]["stop"]
        part = gate["missing_left"]
        mass = upper
        below = lower
        x = rows[i, j]
        if gate["kernel"] == BY_SET:
            if not np.isnan(x):
                part = 1.0 if has_member(subsets, begin + at, int(x)) else 0.0
        elif not np.isnan(x):
            h = gate["width"]
            if cells is not None and not np.isnan(cells[i, j]):
                h = cells[i, j]
            mass = kernel_cdf(gate["threshold"], x, h, gate["kernel"], edges, cdfs)
            part = 1.0 if mass >= upper else 0.0 if mass <= lower else (mass - lower) / (upper - lower)
            below = max(lower, mass)
            mass = min(upper, mass)
        bounds[0, left] = lower
        bounds[1, left] = mass
        bounds[0, right] = below
        bounds[1, right] = upper
        present[left] = before * part
        present[right] = before * (1.0 - part)


def go_down(steps, begin, end, points, scratch, b):
    """Products of the factors on the way to each node, without the branches where a factor is always 0.

    Parameters
    ----------
    points : (m,) of the integral
    b : number of the line of ``scratch.absent``

    Returns
    -------
    number of nodes in ``scratch.visited``
    """
    present, absent, product, inverse = scratch.present, scratch.absent, scratch.product, scratch.inverse
    m = points.shape[0]
    for k in range(m):
        product[0, k] = 1.0
    n = 0
    at = 1
    while at < end - begin:
        own, other = present[at], absent[b, at]
        if own < NOTHING and other < NOTHING:
            at = steps[begin + at]["stop"]
            continue
        parent = steps[begin + at]["parent"]
        before = steps[begin + parent]["last_player"]
        if before < 0:
            for k in range(m):
                f = points[k] * own + (1.0 - points[k]) * other
                product[at, k] = product[parent, k] * f
                inverse[at, k] = 1.0 / f
        else:
            for k in range(m):
                f = points[k] * own + (1.0 - points[k]) * other
                product[at, k] = product[parent, k] * (f * inverse[before, k])
                inverse[at, k] = 1.0 / f
        scratch.visited[n] = at
        n += 1
        at += 1
    return n


def go_up(steps, begin, n, value, first, weights, scratch, b, row, out):
    """Add the values of the players for one row, one background row and one tree.

    Parameters
    ----------
    n : number of visited nodes;  first : first output of the tree;  weights : (m,) of the points
    b : number of the line of ``scratch.absent``
    row : line of `out`, (n_rows, n_players, n_outputs)
    """
    present, absent, product, inverse = scratch.present, scratch.absent, scratch.product, scratch.inverse
    sums, factors, visited = scratch.sums, scratch.factors, scratch.visited
    m = weights.shape[0]
    q = value.shape[1]
    for s in range(m * q):
        sums[0, s] = 0.0
    for v in range(n):
        if steps[begin + visited[v]]["feature"] >= 0:
            for s in range(m * q):
                sums[visited[v], s] = 0.0
    for v in range(n - 1, -1, -1):
        at = visited[v]
        parent = steps[begin + at]["parent"]
        before, player = steps[begin + parent]["last_player"], steps[begin + parent]["player"]
        change = present[at] - absent[b, at]
        if before >= 0:
            earlier = present[before] - absent[b, before]
            for k in range(m):
                factors[k] = weights[k] * (change * inverse[at, k] - earlier * inverse[before, k])
        else:
            for k in range(m):
                factors[k] = weights[k] * change * inverse[at, k]
        if steps[begin + at]["feature"] < 0:
            total = 0.0
            for k in range(m):
                total += factors[k] * product[at, k]
            for o in range(q):
                leaf_value = value[begin + at, o]
                out[row, player, first + o] += total * leaf_value
                for k in range(m):
                    sums[parent, o * m + k] += product[at, k] * leaf_value
        else:
            for o in range(q):
                total = 0.0
                for k in range(m):
                    total += factors[k] * sums[at, o * m + k]
                    sums[parent, o * m + k] += sums[at, o * m + k]
                out[row, player, first + o] += total


def add_pairs(steps, begin, n, value, first, weights, scratch, b, row, pairs):
    """Add the interactions of pairs of players, half of each in both orders; arguments as in `go_up`.

    Parameters
    ----------
    pairs : (n_rows, n_players, n_players, n_outputs)
    """
    present, absent, product, inverse = scratch.present, scratch.absent, scratch.product, scratch.inverse
    lowest = scratch.lowest
    m = weights.shape[0]
    for v in range(n):
        leaf = scratch.visited[v]
        if steps[begin + leaf]["feature"] >= 0:
            continue
        n_players = 0
        at = leaf
        while at > 0:  # the lowest gate of each player
            parent = steps[begin + at]["parent"]
            player = steps[begin + parent]["player"]
            is_new = True
            for k in range(n_players):
                is_new = is_new and lowest[0, k] != player
            if is_new:
                lowest[0, n_players] = player
                lowest[1, n_players] = at
                n_players += 1
            at = parent
        for one in range(n_players):
            at = lowest[1, one]
            change = present[at] - absent[b, at]
            for other in range(one):
                beside = lowest[1, other]
                total = 0.0
                for k in range(m):
                    total += weights[k] * product[leaf, k] * inverse[at, k] * inverse[beside, k]
                total *= 0.5 * change * (present[beside] - absent[b, beside])
                for o in range(value.shape[1]):
                    amount = total * value[begin + leaf, o]
                    pairs[row, lowest[0, one], lowest[0, other], first + o] += amount
                    pairs[row, lowest[0, other], lowest[0, one], first + o] += amount


def add_shapley(rows, cells, others, other_cells, plan, scratch, out, pairs):
    """Add the Shapley values of all trees, summed over the background rows.

    Parameters
    ----------
    rows : (n, p) values;  cells : (n, p) half-widths of single cells, or None
    others : (n_background, p) background rows, or None for the rule of the path;  other_cells : their half-widths
    plan : `Plan`;  scratch : `Scratch`
    out : (n, n_players, n_outputs);  pairs : (n, n_players, n_players, n_outputs) interactions, or None
    """
    steps, edges, cdfs, subsets, bounds = plan.steps, plan.edges, plan.cdfs, plan.subsets, scratch.bounds
    absent = scratch.absent
    n_others = absent.shape[0]
    for tree in range(plan.offsets.shape[0] - 1):
        begin, end, first = plan.offsets[tree], plan.offsets[tree + 1], plan.output[tree]
        m = plan.n_points[tree]
        points, weights = plan.points[m - 1, :m], plan.weights[m - 1, :m]
        if others is not None:
            for b in range(n_others):
                fill_present(others, b, other_cells, steps, begin, end, edges, cdfs, subsets, bounds, absent[b])
        else:
            for at in range(end - begin):
                absent[0, at] = plan.absent[begin + at]
        for i in range(rows.shape[0]):
            fill_present(rows, i, cells, steps, begin, end, edges, cdfs, subsets, bounds, scratch.present)
            for b in range(n_others):
                n = go_down(steps, begin, end, points, scratch, b)
                go_up(steps, begin, n, plan.value, first, weights, scratch, b, i, out)
                if pairs is not None:
                    add_pairs(steps, begin, n, plan.value, first, weights, scratch, b, i, pairs)
