"""Weakest-link pruning by definition: cut the inner node that costs least per leaf, again and again."""

import numpy as np


def weakest_links(tree):
    """Alphas at which nodes are cut, the impurity of the leaves after each, and the nodes cut so far."""
    own = tree.mass * tree.impurity / tree.mass[0]
    cut = set()

    def leaves(node):
        if node in cut or tree.children_left[node] < 0:
            return [node]
        return leaves(tree.children_left[node]) + leaves(tree.children_right[node])

    path = [(0.0, own[leaves(0)].sum(), frozenset())]
    while leaves(0) != [0]:
        costs = {}
        for node in range(tree.n_nodes):
            below = leaves(node)
            is_reached = all(above not in cut for above in ancestors(tree, node))
            if len(below) > 1 and is_reached:
                costs[node] = (own[node] - own[below].sum()) / (len(below) - 1)
        alpha = min(costs.values())
        cut |= {node for node, cost in costs.items() if cost <= alpha + 1e-14}
        path.append((max(alpha, path[-1][0]), own[leaves(0)].sum(), frozenset(cut)))
    return path


def ancestors(tree, node):
    """Nodes above a node."""
    out = []
    while tree.parent[node] >= 0:
        node = tree.parent[node]
        out.append(node)
    return out


def leaves_after(tree, cut):
    """Leaves of the pruned tree."""
    found, pending = [], [0]
    while pending:
        node = pending.pop()
        if node in cut or tree.children_left[node] < 0:
            found.append(node)
        else:
            pending += [tree.children_left[node], tree.children_right[node]]
    return np.array(sorted(found))
