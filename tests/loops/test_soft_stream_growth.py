"""Growth of soft trees on streams: what a split leaves behind, tests that became bad, learned alpha."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.loops import soft_stream as loop
from softwood.loops import stream_layout as layout
from softwood.loops.soft_stream_growth import FIRST_WEIGHTS
from softwood.loops.stream_layout import (
    ALPHA,
    FADE_1,
    FADE_2,
    FEATURE,
)
from softwood.stream.soft_growth import SoftRealTree
from tests.reference import observers
from tests.reference.soft_stream import SoftStream, growing, stream, visited

# ------------------------------------------------------------------ after a split


def split_once(**settings):
    """A tree of one feature right after its first split, and the rows that it has learned."""
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, size=(200, 1))
    labels = (X[:, 0] + rng.normal(size=200) > 3.5).astype(float)
    tree = growing(SoftStream(1, 2, max_depth=1, **settings))
    for i in range(200):
        tree.learn(X[i : i + 1], labels[i : i + 1], np.ones(1), None)
        if tree.n_inner:
            return tree, X[: i + 1], labels[: i + 1]
    raise AssertionError("no split")


@pytest.mark.tiny
@pytest.mark.parametrize("leaf_init", [0.0, 0.1, 1.0])
def test_new_leaves_go_on_from_their_parent(leaf_init):
    tree, X, labels = split_once(leaf_init=leaf_init, min_share=0.0)
    values, numbers, event = tree.arrays["values"], tree.arrays["numbers"], tree.log[0]
    seen = observers.Seen.of(X, labels, np.ones(len(X)))
    sides = observers.class_sides(seen, 0, event.threshold, False)[:, np.argsort(seen.labels)]

    def log_shares(w):
        return np.log((w + 1) / (w.sum() + 2))

    for child, side in zip([1, 2], sides, strict=True):
        difference = log_shares(side) - log_shares(sides.sum(axis=0))
        assert values[0, child] - values[0, 0] == pytest.approx(leaf_init * difference)
        assert np.array_equal(values[1:, child], values[1:, 0])
        assert values[1:, child].all()
        assert numbers[child, [FADE_1, FADE_2]] == pytest.approx([0.9 ** len(X), 0.999 ** len(X)])
    assert not tree.arrays["gates"][1:, 0].any()


@pytest.mark.tiny
def test_a_new_gate_agrees_with_its_test():
    tree, X, _ = split_once(alpha=1.0, gate_init=0.5)
    threshold = tree.log[0].threshold
    # The scaler has learned one row more since the gate was made.
    tree.arrays["scaler"][1], deviation = X[:-1].mean(), X[:-1].std()
    tree.arrays["scaler"][2], tree.arrays["scaler"][3] = 1 / deviation, deviation**2
    x = np.empty(2)
    for value in [*np.linspace(-5, 10, 50), threshold - 1e-6, threshold + 1e-6]:
        loop.standardise(np.array([value]), tree.arrays["scaler"], True, x)
        part = visited(tree, np.array([value]), x)[2][0, layout.PART]
        assert (part > 0.5) == (value <= threshold)


@pytest.mark.tiny
def test_gates_without_a_start_have_small_weights_of_their_own():
    tree, _, _ = split_once(gate_init=0.0)
    gate = tree.arrays["gates"][0, 0]
    assert gate[layout.ALPHA_AT] == tree.settings[ALPHA]
    assert gate[layout.BIAS_AT] == 0.0
    assert 0.0 < abs(gate[layout.FIRST_WEIGHT]) <= FIRST_WEIGHTS


# ------------------------------------------------------------------ tests that became bad, learned alpha


@pytest.mark.tiny
@pytest.mark.parametrize("is_class", [True, False], ids=["class", "real"])
@pytest.mark.parametrize("recheck", [50.0, np.inf])
def test_a_test_that_became_bad_is_replaced(recheck, is_class):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    labels = np.where(np.arange(600) < 200, X[:, 0] > 0, X[:, 1] > 0.5).astype(float)
    tree = growing(SoftStream(2, 2 if is_class else 1, is_class, recheck=recheck, max_depth=1))
    tree.learn(X[:200], labels[:200], np.ones(200), None)
    # The first test may be replaced by a better threshold.
    assert {e.feature for e in tree.log} == {0}
    n_before = len(tree.log)
    gate = tree.arrays["gates"][0, 0].copy()
    tree.learn(X[200:], labels[200:], np.ones(400), None)
    if recheck == np.inf:
        assert len(tree.log) == n_before == 1
        return
    event = tree.log[n_before]
    assert (event.kind, event.node, event.feature) == ("replace", 0, 1)
    gain = event.merit - max(event.second_merit, 0.0)
    assert gain > event.bound * (1.0 if is_class else event.merit)
    assert event.threshold == pytest.approx(0.5, abs=0.5)
    assert tree.structure()[0][0, FEATURE] == 1
    assert tree.n_nodes == 3
    # Its gate goes on learning where it was.
    assert np.abs(tree.arrays["gates"][0, 0] - gate).max() < 4.0


@pytest.mark.tiny
@given(st.integers(0, 10**6), st.floats(0.0, 2.0), st.booleans())
def test_learned_alpha_stays_above_its_least_and_up_to_1(seed, pull, is_class):
    X, labels, targets, weights = stream(seed, n=60)
    tree = growing(SoftStream(3, 2 if is_class else 1, is_class, alpha_rate=0.7, pull=pull, delta=0.9, grace=10))
    for rows in np.split(np.arange(60), 6):
        tree.learn(X[rows], (labels if is_class else targets)[rows], weights[rows], None)
        alphas = tree.alphas[tree.structure()[2]]
        assert ((alphas >= 0.02) & (alphas <= 1.0)).all()


@pytest.mark.tiny
def test_the_pull_makes_gates_crisp():
    X, labels, _, _ = stream(0, n=300)
    means = []
    for pull in (0.0, 0.5):
        tree = growing(SoftStream(3, 2, alpha_rate=0.01, pull=pull))
        tree.learn(X, labels, np.ones(300), None)
        means.append(np.nanmean(tree.alphas))
    assert means[1] < means[0]


@pytest.mark.tiny
def test_real_trees_of_constant_targets_stay_finite():
    tree = growing(SoftStream(2, 1, False))
    assert isinstance(tree, SoftRealTree)
    tree.learn(np.random.default_rng(0).normal(size=(50, 2)), np.full(50, 7.0), np.ones(50), None)
    assert tree.predict(np.zeros((1, 2)))[0, 0] == pytest.approx(7.0)
