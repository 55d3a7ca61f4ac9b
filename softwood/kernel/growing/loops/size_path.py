"""Losses of all trees that best-first growth passes through, from one division of the rows."""

import numpy as np

from softwood.kernel.growing.loops.divide import left_parts, share_out
from softwood.kernel.growing.loops.frontier import find_intervals


def add_loss(prediction, truth, i, weight, counts_wrong, out, line):
    """Add the loss of the prediction of row `i` and its square, times a weight, to a line of `out`.

    The loss is the squared error; with `counts_wrong`, the mean of this and of 1 for a wrong class.
    """
    loss = 0.0
    largest = 0
    for o in range(truth.shape[1]):
        loss += (prediction[i, o] - truth[i, o]) ** 2
        if prediction[i, o] > prediction[i, largest]:
            largest = o
    if counts_wrong:
        loss = 0.5 * (loss + 1.0 - truth[i, largest])
    out[line, 0] += weight * loss
    out[line, 1] += weight * loss * loss


def losses_by_size(bins, widths, kernels, lines, subsets, order, values, rows, truth, weights, counts_wrong, out):
    """Losses of some rows for the root alone, and after each split in its turn.

    Rows are shared among the nodes as in predicting: by their own values, and without a cutoff.

    Parameters
    ----------
    lines, subsets : (n_nodes,) the grown nodes, of type `tree_groups.NODE`; and their sets of categories
    order : (n_splits,) the nodes that are split, in the order of their splits
    values : (n_nodes, q) predictions of the nodes
    counts_wrong : whether wrong classes count, see `add_loss`
    rows : (m,) rows of `bins`;  truth, weights : (m, q) and (m,) what is true for them, and their weights
    out : (n_splits + 1, 2) filled with weighted sums of the losses and of their squares
    """
    m = rows.shape[0]
    n_nodes = lines.shape[0]
    capacity = 2 * m
    node_rows = np.empty(capacity, np.uint32)
    shares = np.empty(capacity)
    left_rows = np.empty(m, np.uint32)
    left_shares = np.empty(m)
    touched = np.empty(m, np.int64)
    begin = np.zeros(n_nodes, np.int64)
    size = np.zeros(n_nodes, np.int64)
    child = np.full((n_nodes, 2), -1, np.int64)
    for node in range(1, n_nodes):
        child[lines[node]["parent"], lines[node]["side"]] = node
    place = np.empty(bins.points.shape[0], np.int64)
    prediction = np.empty((m, values.shape[1]))
    out[0, 0] = 0.0
    out[0, 1] = 0.0
    for k in range(m):
        node_rows[k] = rows[k]
        shares[k] = 1.0
        place[rows[k]] = k
        for o in range(values.shape[1]):
            prediction[k, o] = values[0, o]
        add_loss(prediction, truth, k, weights[k], counts_wrong, out, 0)
    size[0] = m
    end = m
    intervals = np.empty((2, widths.shape[0]))
    for step in range(order.shape[0]):
        node = order[step]
        n_rows = size[node]
        first = begin[node]
        if end + n_rows > capacity:
            capacity = 2 * (end + n_rows)
            more = np.empty(capacity, np.uint32)
            more_shares = np.empty(capacity)
            for k in range(end):
                more[k] = node_rows[k]
                more_shares[k] = shares[k]
            node_rows = more
            shares = more_shares
        feature = int(lines[node]["feature"])
        find_intervals(lines, node, intervals)
        out[step + 1, 0] = out[step, 0]
        out[step + 1, 1] = out[step, 1]
        for k in range(n_rows):  # what the node has predicted goes
            i = place[node_rows[first + k]]
            touched[k] = i
            add_loss(prediction, truth, i, -weights[i], counts_wrong, out, step + 1)
            for o in range(values.shape[1]):
                prediction[i, o] -= shares[first + k] * values[node, o]
        threshold = lines[node]["threshold"]
        missing_left = lines[node]["missing_left"]
        left_parts(
            bins, widths, kernels, intervals, subsets, node, (feature, threshold, missing_left), node_rows, first,
            n_rows, left_shares,
        )  # fmt: skip
        # All shares are kept, however small.
        n_left, n_right = share_out(node_rows, shares, first, n_rows, 0.0, left_rows, left_shares)
        for k in range(n_left):
            node_rows[end + k] = left_rows[k]
            shares[end + k] = left_shares[k]
        begin[child[node, 0]] = end
        size[child[node, 0]] = n_left
        begin[child[node, 1]] = first
        size[child[node, 1]] = n_right
        for side in range(2):
            below = child[node, side]
            for k in range(size[below]):
                i = place[node_rows[begin[below] + k]]
                for o in range(values.shape[1]):
                    prediction[i, o] += shares[begin[below] + k] * values[below, o]
        for k in range(n_rows):
            add_loss(prediction, truth, touched[k], weights[touched[k]], counts_wrong, out, step + 1)
        end += n_left
