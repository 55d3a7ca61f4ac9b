"""Hoeffding trees for classes are river's: the same tests, and the same probabilities before each row is learned."""

from functools import cache

import numpy as np
import pytest

from softwood.stream import HoeffdingTreeClassifier
from softwood.stream.loops.layout import FEATURE, LEFT, RIGHT, THRESHOLD

river_tree = pytest.importorskip("river.tree")
synth = pytest.importorskip("river.datasets.synth")

STREAMS = {
    "sea": lambda: synth.SEA(variant=0, seed=1, noise=0.1),
    "agrawal": lambda: synth.Agrawal(classification_function=6, seed=2, perturbation=0.05),
    "rbf": lambda: synth.RandomRBF(seed_model=3, seed_sample=4, n_classes=5, n_features=10, n_centroids=50),
    "hyperplane": lambda: synth.Hyperplane(seed=3, n_features=10),
}


@cache
def stream(name, n):
    rows = list(STREAMS[name]().take(n))
    X = np.array([[float(v) for v in x.values()] for x, _ in rows])
    return [x for x, _ in rows], X, np.array([int(y) for _, y in rows])


def river_tests(node, names):
    """Tests of river's tree as nested tuples; leaves are None."""
    if not hasattr(node, "children"):
        return None
    assert len(node.children) == 2
    return names.index(node.feature), node.threshold, *(river_tests(child, names) for child in node.children)


def own_tests(growth, node=0):
    nodes, numbers, inner = growth.structure()
    if not inner[node]:
        return None
    children = (own_tests(growth, nodes[node, side]) for side in (LEFT, RIGHT))
    return nodes[node, FEATURE], numbers[node, THRESHOLD], *children


def assert_same_tests(own, river):
    if own is None or river is None:
        assert own == river
        return
    assert own[0] == river[0]
    assert own[1] == pytest.approx(river[1], rel=1e-9)
    for side in (2, 3):
        assert_same_tests(own[side], river[side])


def assert_same(name, n, *, least_inner, weights=None, **settings):
    rows, X, y = stream(name, n)
    names, labels = list(rows[0]), y.tolist()
    n_classes = len(set(labels))
    peer = river_tree.HoeffdingTreeClassifier(**settings)
    expected = np.zeros((n, n_classes))
    for i in range(n):
        for label, p in peer.predict_proba_one(rows[i]).items():
            expected[i, label] = p
        peer.learn_one(rows[i], labels[i], w=1.0 if weights is None else weights[i])
    rivers = {"delta": 1e-7, "inherited_weight": 0, "unseen_values": "ignored", "restart_rise": None}
    model = HoeffdingTreeClassifier(**(rivers | settings))
    found = model.test_then_train(X, y, classes=range(n_classes), sample_weight=weights)
    # Of the first row river says nothing.
    assert found[0] == pytest.approx(np.full(n_classes, 1 / n_classes))
    assert np.abs(found - expected)[1:].max() < 1e-9
    assert_same_tests(own_tests(model.growth_), river_tests(peer._root, names))
    assert model.growth_.n_inner >= least_inner


@pytest.mark.parametrize("leaf_prediction", ["mc", "nba"])
@pytest.mark.parametrize(("name", "n", "least_inner"), [("sea", 8_000, 4), ("agrawal", 8_000, 5), ("rbf", 22_000, 1)])
def test_same_tree_and_probabilities(name, n, least_inner, leaf_prediction):
    assert_same(name, n, least_inner=least_inner, leaf_prediction=leaf_prediction)


@pytest.mark.parametrize(
    "settings",
    [
        {"leaf_prediction": "nb"},
        {"max_depth": 3, "grace_period": 50, "leaf_prediction": "nba"},
        {"split_criterion": "gini", "delta": 0.1, "leaf_prediction": "mc"},
        {"grace_period": 37, "delta": 1e-3, "tau": 0.2, "leaf_prediction": "nba"},
    ],
    ids=["nb", "max_depth", "gini", "bound"],
)
@pytest.mark.parametrize("name", ["agrawal", "hyperplane"])
def test_same_tree_with_other_settings(name, settings):
    assert_same(name, 6_000, least_inner=1, **settings)


@pytest.mark.parametrize("leaf_prediction", ["mc", "nb"])  # "nba" judges a row of weight 2 as two rows, river as one
def test_same_tree_with_weights(leaf_prediction):
    weights = np.random.default_rng(0).integers(1, 4, size=6_000).astype(float)
    assert_same("agrawal", 6_000, least_inner=3, weights=weights, leaf_prediction=leaf_prediction)
