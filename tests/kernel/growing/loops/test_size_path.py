"""Losses of all sizes at once: against the trees of each size, read one by one."""

import numpy as np
import pytest

from softwood.compiled.growing import add_loss, losses_by_size
from softwood.kernel.growing.loops.groups import NO_SETS, NodeTable
from tests.kernel.growing.loops.growth import problem, rules_for, run_best_first, tree_of


def slow_losses(prediction, truth, counts_wrong):
    squares = ((prediction - truth) ** 2).sum(axis=1)
    wrong = 1.0 - truth[np.arange(len(truth)), prediction.argmax(axis=1)]
    return (squares + wrong) / 2 if counts_wrong else squares


def smaller(nodes, order, n_splits):
    """The tree with the first splits alone."""
    lines = nodes.lines[: 2 * n_splits + 1].copy()
    later = [node for node in order[n_splits:] if node < len(lines)]
    lines["feature"][later], lines["threshold"][later] = -1, np.nan
    return NodeTable(lines, nodes.sums[: len(lines)])


@pytest.mark.tiny
@pytest.mark.parametrize("counts_wrong", [False, True])
def test_loss_of_a_row(counts_wrong):
    prediction = np.array([[0.2, 0.5, 0.3], [0.0, 0.0, 1.0], [0.4, 0.4, 0.2]])
    truth = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5]])
    for i, expected in enumerate(slow_losses(prediction, truth, counts_wrong)):
        out = np.ones((2, 2))
        add_loss(prediction, truth, i, 3.0, counts_wrong, out, 1)
        assert out.ravel() == pytest.approx([1.0, 1.0, 1.0 + 3.0 * expected, 1.0 + 3.0 * expected**2])


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("target", "general", "counts_wrong"),
    [("one target", False, False), ("targets", True, False), ("labels", True, False), ("labels", True, True)],
)
@pytest.mark.parametrize("cutoff", [0.0, 0.05])
def test_losses_of_all_sizes(target, general, counts_wrong, cutoff):
    for seed in range(3):
        given = problem(seed, target, general)
        nodes, order, _ = run_best_first(given, rules_for(given, cutoff=cutoff), most_splits=12, seed=seed)
        values = nodes.sums / nodes.lines["mass"][:, None]
        rows = np.array([3, 0, 11, 7, 8, 2], dtype=np.uint32)
        truth, weights = given.stored[rows], given.weights[rows]
        found = np.full((len(order) + 1, 2), np.nan)
        losses_by_size(
            given.bins, given.widths, given.kernels, nodes.lines, NO_SETS, order, values, rows, truth, weights,
            counts_wrong, found,
        )  # fmt: skip
        assert len(order) > 3
        for n_splits in range(len(found)):
            tree = tree_of(given, smaller(nodes, order, n_splits))
            widths = None
            if given.cells is not None:
                widths = np.full_like(given.X, np.nan)
                widths[:, 1] = given.cells[:, 1]
            prediction = tree.predict(given.X[rows], widths=None if widths is None else widths[rows])
            expected = slow_losses(prediction, truth, counts_wrong)
            assert found[n_splits] == pytest.approx([weights @ expected, weights @ expected**2], abs=1e-9)
