"""Growing beside a layer: the same statistics, splits and first parameters as a tree that learns on its own."""

import numpy as np
import pytest

from softwood.compiled.stream import observe_rows, split_leaves
from softwood.stream.growing.arrays import Limits
from softwood.stream.growing.soft import SoftClassTree, SoftRealTree
from softwood.stream.loops.layout import TOUCHED, Rows, Settings

pytestmark = pytest.mark.tiny


def new_tree(kind, batch, **limits):
    settings = Settings(
        grace_period=30.0, delta=0.05, tau=0.2, max_depth=3.0, max_share_to_split=1.0, gamma=1.0, alpha=0.3,
        batch_size=batch, min_share=0.25, leaf_init=0.1, scaler_memory=np.inf, recheck_period=np.inf,
    )  # fmt: skip
    return kind(settings, Limits(**limits), 2, 2 if kind is SoftClassTree else 1)


def rows(kind, n=120):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 2))
    points[::11, 1] = np.nan
    targets = (points[:, 0] > 0.2) + 2 * (points[:, 0] > 1)
    return points, np.minimum(targets, 1).astype(np.int64) if kind is SoftClassTree else targets.astype(float)


def as_rows(points, labels=None, targets=None):
    return Rows(points, labels, targets, None, np.empty((0, 0)))


def test_row_by_row_it_grows_as_a_tree_that_does_not_move():
    """With a learning rate of 0 a tree that learns is one that only grows; its gates are crisp enough to tell apart."""
    learned, grown = new_tree(SoftClassTree, 1), new_tree(SoftClassTree, 2)
    points, labels = rows(SoftClassTree)
    learned.learn(points, labels, np.ones(len(points)), None)
    for i in range(len(points)):
        observe_rows(as_rows(points[i : i + 1], labels[i : i + 1]), *grown._arguments)
        while not split_leaves(True, *grown._arguments):
            grown._make_room()
    grown._read_events()
    assert len(learned.log) >= 2
    assert grown.log == learned.log
    grown.arrays["nodes"][:, TOUCHED] = learned.arrays["nodes"][:, TOUCHED] = 0
    for name in ("nodes", "seen", "stats", "scaler"):
        np.testing.assert_allclose(
            grown.arrays[name][: grown.n_nodes], learned.arrays[name][: learned.n_nodes], rtol=0, atol=1e-12
        )
    np.testing.assert_allclose(grown.snapshot().value, learned.snapshot().value, rtol=0, atol=1e-12)


def test_real_targets_and_rows_without_targets():
    tree = new_tree(SoftRealTree, 2)
    points, targets = rows(SoftRealTree)
    observe_rows(as_rows(points, None, targets), *tree._arguments)
    assert split_leaves(False, *tree._arguments)
    tree._read_events()
    assert [event.feature for event in tree.log] == [0]
    other = new_tree(SoftRealTree, 2)
    observe_rows(as_rows(points), *other._arguments)
    np.testing.assert_array_equal(other.arrays["scaler"], tree.arrays["scaler"])
    assert not other.arrays["stats"].any()


def test_the_rows_of_a_batch_see_the_same_means():
    tree, points = new_tree(SoftClassTree, 2), rows(SoftClassTree)[0]
    observe_rows(as_rows(points), *tree._arguments)
    np.testing.assert_allclose(tree.arrays["scaler"][1], np.nanmean(points, axis=0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(tree.arrays["scaler"][3], np.nanvar(points, axis=0), rtol=0, atol=1e-12)


def test_without_room_nothing_is_split():
    tree = new_tree(SoftClassTree, 2)
    points, labels = rows(SoftClassTree)
    observe_rows(as_rows(points, labels), *tree._arguments)
    tree._resize(nodes=2)
    assert not split_leaves(True, *tree._arguments)
    assert tree.n_nodes == 1
