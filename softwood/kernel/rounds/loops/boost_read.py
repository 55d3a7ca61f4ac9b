"""Reading rows by a tree of boosting that was just grown, without making a finished tree of it."""

import numpy as np

from softwood.trees.loops.predict import BY_SET, add_block
from softwood.trees.loops.sets import is_category


def set_gates(nodes, widths, n_categories, gates, missing_left, thresholds, half_widths):
    """Fill in the gates of a tree of boxes, as `softwood.trees.nodes.NodeArrays` has them.

    Parameters
    ----------
    nodes : (n_nodes,) of type `boost.NODE`;  widths : (p,) half-widths;  n_categories : see
        `Bins`
    gates, missing_left, thresholds, half_widths : of `softwood.trees.loops.predict.KernelTrees`, with room for these
        nodes
    """
    for line in range(nodes.shape[0]):
        j = nodes[line]["feature"]
        low, high, width = np.nan, np.nan, 0.0
        gates[line]["feature"], gates[line]["kernel"] = 0, 0
        if j >= 0:
            gates[line]["feature"] = j
            if is_category(n_categories, j):
                low, high = 0.0, 0.0  # only nan has a meaning: leaves
                gates[line]["kernel"] = BY_SET
            else:
                width = widths[j]
                low = nodes[line]["threshold"] - width
                # The threshold of a crisp gate belongs to the left.
                high = max(nodes[line]["threshold"] + width, np.nextafter(low, np.inf))
        gates[line]["low"], gates[line]["high"] = low, high
        thresholds[line], missing_left[line] = nodes[line]["threshold"], nodes[line]["missing_left"]
        half_widths[line] = width
        if line > 0:
            if nodes[line]["side"] == 0:
                gates[nodes[line]["parent"]]["left"] = line
            else:
                gates[nodes[line]["parent"]]["right"] = line


def read_rows(points, cells, block, trees, lists, value, out):
    """Add the predictions of one tree to `out` (n, n_values), for `block` rows at once.

    cells : (n, p) half-widths of single cells (nan: those of the tree), or None
    """
    n = points.shape[0]
    for begin in range(0, n, block):
        add_block(points, cells, begin, min(begin + block, n), 0, trees, lists, value, 0, out)
