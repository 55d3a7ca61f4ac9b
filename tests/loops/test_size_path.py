"""Losses of all sizes at once: against the trees of each size, read one by one."""

import numpy as np
import pytest

from softwood.loops.groups import NodeTable
from softwood.loops.size_path import CROSS_ENTROPY, ERRORS, LEAST_PROBABILITY, SQUARED_ERROR, losses_by_size, row_loss
from tests.loops.growth import problem, tree_of
from tests.loops.test_grow_best_first import rules_for, run_best_first


def slow_losses(prediction, truth, kind):
    if kind == SQUARED_ERROR:
        return ((prediction - truth) ** 2).sum(axis=1)
    if kind == ERRORS:
        return 1.0 - truth[np.arange(len(truth)), prediction.argmax(axis=1)]
    return -(truth * np.log(np.maximum(prediction, LEAST_PROBABILITY))).sum(axis=1)


def smaller(nodes, order, n_splits):
    """The tree with the first splits alone."""
    lines = nodes.lines[: 2 * n_splits + 1].copy()
    later = [node for node in order[n_splits:] if node < len(lines)]
    lines["feature"][later], lines["threshold"][later] = -1, np.nan
    return NodeTable(lines, nodes.sums[: len(lines)])


@pytest.mark.tiny
@pytest.mark.parametrize("kind", [SQUARED_ERROR, ERRORS, CROSS_ENTROPY])
def test_loss_of_a_row(kind):
    prediction = np.array([[0.2, 0.5, 0.3], [0.0, 0.0, 1.0], [0.4, 0.4, 0.2]])
    truth = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5]])
    for i, expected in enumerate(slow_losses(prediction, truth, kind)):
        assert row_loss(prediction, truth, i, kind) == pytest.approx(expected)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("target", "general", "loss"),
    [
        ("one target", False, SQUARED_ERROR),
        ("targets", True, SQUARED_ERROR),
        ("labels", True, ERRORS),
        ("labels", True, CROSS_ENTROPY),
    ],
)
@pytest.mark.parametrize("cutoff", [0.0, 0.05])
def test_losses_of_all_sizes(target, general, loss, cutoff):
    for seed in range(3):
        given = problem(seed, target, general)
        nodes, order, _ = run_best_first(given, rules_for(given, cutoff=cutoff), most_splits=12, seed=seed)
        values = nodes.sums / nodes.lines["mass"][:, None]
        rows = np.array([3, 0, 11, 7, 8, 2], dtype=np.uint32)
        truth, weights = given.stored[rows], given.weights[rows]
        found = losses_by_size(
            given.bins, given.widths, given.kernels, nodes.lines, order, values, rows, truth, weights, cutoff, loss
        )
        assert len(order) > 3
        assert len(found) == len(order) + 1
        for n_splits in range(len(found)):
            tree = tree_of(given, smaller(nodes, order, n_splits), cutoff)
            widths = None
            if given.cells is not None:
                widths = np.full_like(given.X, np.nan)
                widths[:, 1] = given.cells[:, 1]
            prediction = tree.predict(given.X[rows], widths=None if widths is None else widths[rows])
            expected = slow_losses(prediction, truth, loss)
            assert found[n_splits] == pytest.approx([weights @ expected, weights @ expected**2], abs=1e-9)
