"""Soft trees that grow beside a layer: rows enter the statistics, and leaves are split, but nothing is learned.

Arguments are those of `softwood.stream.loops.soft_stream`.
"""

from softwood.stream.loops.layout import N_ROWS
from softwood.stream.loops.scales import update_scaler
from softwood.stream.loops.soft_stream import standardise, visit
from softwood.stream.loops.soft_stream_growth import grow, has_room_for_all, observe


def observe_rows(rows, tree, soft, path, statistics):
    """Add rows to what the nodes that they reach have seen; without labels and targets only to the running means.

    All rows see the running means from before the first one, as a batch does.
    """
    n_rows, has_bias = rows.points.shape[0], tree.settings.bias > 0.0
    is_class, is_real = rows.labels is not None, rows.targets is not None
    for i in range(n_rows if is_class or is_real else 0):
        standardise(rows.points, i, soft.scaler, has_bias, path.x)
        n = visit(rows.points, i, tree, soft, path)
        tree.counters[N_ROWS] += 1
        label = rows.labels[i] if is_class else -1
        target = rows.targets[i] if is_real else 0.0
        observe(rows.points, i, label, target, 1.0, n, tree, path, statistics)
    for i in range(n_rows):
        update_scaler(soft.scaler, rows.points, i, 1.0, tree.settings.scaler_memory, tree.settings.outlier_limit)


def split_leaves(is_class, tree, soft, path, statistics):
    """Split the leaves that have seen enough rows, if the setting `batch_size` is above 1.

    Parameters
    ----------
    is_class : whether it is a tree of classes, not of real targets

    Returns
    -------
    whether there was enough space; if not, nothing is done
    """
    if not has_room_for_all(tree, statistics):
        return False
    grow(0, is_class, tree, soft, path, statistics)
    return True
