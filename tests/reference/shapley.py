"""Shapley values and interactions by definition, over all sets of players; what trees are worth to a set."""

from itertools import combinations
from math import comb

import numpy as np

from softwood.trees.gates import Gate
from tests.reference.kernels import cdf
from tests.reference.sharing import prediction


def subsets(players):
    return [set(chosen) for size in range(len(players) + 1) for chosen in combinations(players, size)]


def shapley(worth, n):
    """Values of `n` players, (n, n_outputs); `worth` is a function of a set of players."""
    known = {frozenset(s): np.asarray(worth(s), dtype=np.float64) for s in subsets(range(n))}
    out = []
    for i in range(n):
        others = [k for k in range(n) if k != i]
        out.append(
            sum((known[frozenset(s | {i})] - known[frozenset(s)]) / (n * comb(n - 1, len(s))) for s in subsets(others))
        )
    return np.array(out)


def interactions(worth, n):
    """Interactions (n, n, n_outputs): halves of the interaction index, main effects on the diagonal."""
    known = {frozenset(s): np.asarray(worth(s), dtype=np.float64) for s in subsets(range(n))}
    values = shapley(worth, n)
    out = np.zeros((n, *values.shape))
    for i in range(n):
        for j in range(n):
            if i != j:
                for s in subsets([k for k in range(n) if k not in (i, j)]):
                    change = known[frozenset(s | {i, j})] - known[frozenset(s | {i})] - known[frozenset(s | {j})]
                    out[i, j] += (change + known[frozenset(s)]) / (2 * (n - 1) * comb(n - 2, len(s)))
        out[i, i] = values[i] - out[i].sum(axis=0)
    return out


def way_to(tree, node):
    """Gates from the root to a node, each with the child that it leads to."""
    way = []
    while tree.parent[node] >= 0:
        way.append((int(tree.parent[node]), int(node)))
        node = tree.parent[node]
    return way[::-1]


def factor(tree, shapes, node, features, x, cells=None):
    """Part of a row that the gates of these features send towards a node, all others being passed as a whole."""
    out = 1.0
    lower, upper = dict.fromkeys(features, 0.0), dict.fromkeys(features, 1.0)
    for gate, child in way_to(tree, node):
        j = int(tree.feature[gate])
        if j not in features:
            continue
        is_left = child == tree.children_left[gate]
        if np.isnan(x[j]):
            out *= tree.missing_left[gate] if is_left else 1 - tree.missing_left[gate]
            continue
        if tree.gate[gate] == Gate.SUBSET:
            out *= float((int(x[j]) in tree.members(gate)) == is_left)
            continue
        width = tree.width[gate] if cells is None or np.isnan(cells[j]) else cells[j]
        mass = cdf(tree.threshold[gate], x[j], width, shapes[tree.kernel[gate]])
        ends = sorted([lower[j], upper[j]])
        part = float(np.clip((mass - ends[0]) / (ends[1] - ends[0]), 0, 1)) if ends[1] > ends[0] else 0.0
        out *= part if is_left else 1 - part
        if is_left:
            upper[j] = min(upper[j], mass)
        else:
            lower[j] = max(lower[j], mass)
    return out


def absent_factor(tree, node, features, left_shares):
    """The same for an absent player: a product of shares of the gates."""
    out = 1.0
    for gate, child in way_to(tree, node):
        if tree.feature[gate] in features:
            out *= left_shares[gate] if child == tree.children_left[gate] else 1 - left_shares[gate]
    return out


def path_worth(tree, shapes, x, groups, left_shares, cells=None):
    """Function from a set of players to the output if the features of the others are absent.

    Parameters
    ----------
    groups : features of each player;  left_shares : (n_nodes,) share of an absent value that goes left
    """
    leaves = np.flatnonzero(tree.children_left < 0)

    def worth(present):
        total = 0.0
        for leaf in leaves:
            share = 1.0
            for player, features in enumerate(groups):
                if player in present:
                    share *= factor(tree, shapes, leaf, features, x, cells)
                else:
                    share *= absent_factor(tree, leaf, features, left_shares)
            total = total + share * tree.value[leaf]
        return total

    return worth


def background_worth(tree, shapes, x, groups, others, cells=None, other_cells=None):
    """Function from a set of players to the mean output if the features of the others come from background rows."""

    def worth(present):
        chosen = np.zeros(len(x), dtype=bool)
        for player in present:
            chosen[list(groups[player])] = True
        total = 0.0
        for b, other in enumerate(others):
            widths = None if cells is None else np.where(chosen, cells, other_cells[b])
            total = total + prediction(tree, shapes, np.where(chosen, x, other), widths)
        return total / len(others)

    return worth
