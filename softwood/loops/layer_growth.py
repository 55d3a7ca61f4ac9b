"""Soft trees that grow beside a layer: rows enter the statistics, and leaves are split, but nothing is learned.

Arguments are those of `softwood.loops.soft_stream`.
"""

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.hoeffding import update_scaler
from softwood.loops.soft_stream import standardise, visit
from softwood.loops.soft_stream_growth import grow, has_room_for_all, observe
from softwood.loops.stream_layout import GAMMA, HAS_BIAS, MEMORY, N_ROWS, OUTLIER_LIMIT, Path, SoftNodes


@compiled
def observe_rows(points, labels, targets, tree, path, statistics):
    """Add rows to what the nodes that they reach have seen; without labels and targets only to the running means.

    All rows see the running means from before the first one, as a batch does.
    """
    tree, path = SoftNodes(*tree), Path(*path)
    nodes, numbers, gates, _, _, _, scaler, _, counters, settings, _ = tree
    x = np.empty(points.shape[1] + 1)
    if labels is not None or targets is not None:
        for i in range(points.shape[0]):
            row = points[i]
            standardise(row, scaler, settings[HAS_BIAS] > 0.0, x)
            n = visit(row, x, nodes, numbers, gates, settings[GAMMA], path)
            counters[N_ROWS] += 1
            if labels is not None:
                observe(row, labels[i], None, 1.0, n, nodes, numbers, settings, path, statistics)
            if targets is not None:
                observe(row, None, targets[i], 1.0, n, nodes, numbers, settings, path, statistics)
    for i in range(points.shape[0]):
        update_scaler(scaler, points[i], 1.0, settings[MEMORY], settings[OUTLIER_LIMIT])


@compiled
def split_leaves(labels, targets, tree, path, statistics):
    """Split the leaves whose time has come, if the setting BATCH is above 1.

    Parameters
    ----------
    labels, targets : an array of any length for trees of classes, or of real targets; None for the other one

    Returns
    -------
    whether there was room, without which nothing is done
    """
    tree, path = SoftNodes(*tree), Path(*path)
    if not has_room_for_all(tree.nodes, statistics[0], tree.counters, tree.settings, statistics[4]):
        return False
    sides = np.empty((2, max(3, tree.values.shape[2])))
    grow(0, labels, targets, tree, path, statistics, sides)
    return True
