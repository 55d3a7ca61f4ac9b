from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from softwood import Gate, SoftTree
from softwood.trees.pruning import (
    cut_below,
    merge_equal_leaves,
    prune_cost_complexity,
    pruning_path,
    without_empty_nodes,
)
from tests.kernel.grown import KernelTreeClassifier, KernelTreeRegressor
from tests.reference.pruning import leaves_after, weakest_links
from tests.reference.trees import ALL_GATES, random_points, random_tree


def coherent_tree(seed, n_leaves=14, n_outputs=3, **parameters):
    """A random tree whose masses, values and impurities are those of the leaves added up, as in a fitted tree."""
    tree = random_tree(seed, n_leaves=n_leaves, n_outputs=n_outputs, **parameters)
    rng = np.random.default_rng(seed)
    value = rng.dirichlet(np.ones(n_outputs) * 0.5, size=tree.n_nodes)
    for node in list(tree.walk())[::-1]:
        left, right = tree.children_left[node], tree.children_right[node]
        if left >= 0:
            part = tree.mass[left] / tree.mass[node]
            value[node] = part * value[left] + (1 - part) * value[right]
    tree.value[:] = value
    tree.impurity[:] = 1 - (value**2).sum(axis=1)
    return tree


@pytest.mark.tiny
@pytest.mark.parametrize("seed", range(8))
def test_path_by_definition(seed):
    tree = coherent_tree(seed)
    alphas, impurities = pruning_path(tree)
    expected = weakest_links(tree)
    assert alphas == pytest.approx([alpha for alpha, _, _ in expected])
    assert impurities == pytest.approx([loss for _, loss, _ in expected])
    for alpha, _, cut in expected:
        pruned = prune_cost_complexity(tree, alpha * (1 + 1e-9))
        leaves = leaves_after(tree, cut)
        assert pruned.n_leaves == len(leaves)
        assert np.sort(pruned.mass[pruned.children_left < 0]) == pytest.approx(np.sort(tree.mass[leaves]))


@pytest.mark.tiny
@pytest.mark.parametrize("seed", range(4))
def test_pruned_tree_has_the_least_cost(seed):
    tree = coherent_tree(seed)
    own = tree.mass * tree.impurity / tree.mass[0]

    def least(node, alpha):
        as_leaf = own[node] + alpha
        if tree.children_left[node] < 0:
            return as_leaf
        return min(as_leaf, least(tree.children_left[node], alpha) + least(tree.children_right[node], alpha))

    for alpha in (0.0, 0.001, 0.01, 0.05, 1.0):
        pruned = prune_cost_complexity(tree, alpha)
        leaf = pruned.children_left < 0
        cost = (pruned.mass * pruned.impurity)[leaf].sum() / pruned.mass[0] + alpha * leaf.sum()
        assert cost == pytest.approx(least(0, alpha))


@pytest.mark.parametrize(("criterion", "n_classes"), [("gini", 3), ("entropy", 2), ("squared_error", 0)])
def test_path_and_pruned_trees_are_those_of_scikit_learn(criterion, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 1)).astype(np.float32).astype(float)
    # weights that differ, so that hardly any two splits are equally good, and whose sums are exact
    weights = rng.integers(32, 96, size=120) / 64
    score = np.sin(3 * X[:, 0]) + 0.5 * rng.normal(size=120)
    if n_classes:
        y = np.digitize(score, np.linspace(-1, 1, n_classes - 1) if n_classes > 2 else [0])
        ours, theirs = KernelTreeClassifier, DecisionTreeClassifier
    else:
        y, ours, theirs = score, KernelTreeRegressor, DecisionTreeRegressor
    ours = ours(bandwidth=0, criterion=criterion, min_mass=4.0)
    theirs = theirs(criterion=criterion, min_weight_fraction_leaf=4.0 / weights.sum())
    theirs_full = theirs.fit(X, y, sample_weight=weights).tree_
    ours.fit(X, y, sample_weight=weights)
    assert ours.tree_.n_leaves == theirs_full.n_leaves > 10
    path = ours.cost_complexity_pruning_path(X, y, sample_weight=weights)
    expected = theirs.cost_complexity_pruning_path(X, y, sample_weight=weights)
    assert path.ccp_alphas == pytest.approx(expected.ccp_alphas, abs=1e-12)
    assert path.impurities == pytest.approx(expected.impurities, abs=1e-12)
    for alpha in 0.5 * (path.ccp_alphas[1:] + path.ccp_alphas[:-1]):
        a = ours.set_params(ccp_alpha=alpha).fit(X, y, sample_weight=weights)
        b = theirs.set_params(ccp_alpha=alpha).fit(X, y, sample_weight=weights)
        assert np.array_equal(a.tree_.children_left, b.tree_.children_left)
        assert a.predict(X) == pytest.approx(b.predict(X))


def test_pruning_path_of_a_soft_tree_ends_at_the_root():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.integers(2, size=80)
    model = KernelTreeClassifier(bandwidth=0.3, min_mass=2)
    path = model.cost_complexity_pruning_path(X, y)
    assert path.ccp_alphas[0] == 0
    assert np.all(np.diff(path.ccp_alphas) > 0)
    assert np.all(np.diff(path.impurities) > 0)
    assert path.impurities[-1] == pytest.approx(1 - (np.bincount(y) / 80) @ (np.bincount(y) / 80))
    assert model.set_params(ccp_alpha=path.ccp_alphas[-1] * 1.01).fit(X, y).tree_.n_leaves == 1
    leaves = [model.set_params(ccp_alpha=a).fit(X, y).tree_.n_leaves for a in path.ccp_alphas]
    assert np.all(np.diff(leaves) < 0)


@pytest.mark.tiny
@pytest.mark.parametrize("seed", range(5))
def test_merging_keeps_the_crisp_decision(seed):
    tree = coherent_tree(seed, n_leaves=40, n_outputs=2, widths=0.0)
    merged = merge_equal_leaves(tree)
    X = random_points(seed, 200, 3)
    assert merged.n_leaves < tree.n_leaves
    assert np.array_equal(merged.predict_largest(X), tree.predict_largest(X))
    leaf = merged.children_left < 0
    winner = merged.value.argmax(axis=1)
    for node in np.flatnonzero(~leaf):
        left, right = merged.children_left[node], merged.children_right[node]
        assert not (leaf[left] and leaf[right] and winner[left] == winner[right])


@pytest.mark.tiny
def test_merging_goes_on_upwards():
    tree = SoftTree.from_nodes(
        children_left=[1, 3, -1, -1, -1], children_right=[2, 4, -1, -1, -1], feature=[0, 0, -1, -1, -1],
        threshold=[1, 0, np.nan, np.nan, np.nan], value=[[0.8, 0.2], [0.7, 0.3], [0.9, 0.1], [0.6, 0.4], [0.8, 0.2]],
        n_features=1,
    )  # fmt: skip
    assert merge_equal_leaves(tree).n_nodes == 1


def test_the_estimator_merges():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=150) > 0).astype(int)
    full = KernelTreeClassifier(bandwidth=0, min_mass=5).fit(X, y)
    merged = KernelTreeClassifier(bandwidth=0, min_mass=5, merge_equal=True).fit(X, y)
    assert merged.tree_.n_leaves < full.tree_.n_leaves
    assert np.array_equal(merged.predict(X), full.predict(X))


@pytest.mark.tiny
@pytest.mark.parametrize("seed", range(3))
def test_cutting_keeps_what_is_above(seed):
    tree = random_tree(seed, gates=ALL_GATES, n_leaves=20)
    cut = np.random.default_rng(seed).random(tree.n_nodes) < 0.2
    cut[0] = False
    small = cut_below(tree, cut)
    X = random_points(seed, 20, 3, missing=0.1)
    kept = leaves_after(tree, set(np.flatnonzero(cut)))
    assert small.n_leaves == len(kept) < tree.n_leaves
    shares = tree.memberships(X)
    assert small.predict(X) == pytest.approx(shares[:, kept] @ tree.value[kept])
    leaf = small.children_left < 0
    assert np.all(small.gate[leaf] == Gate.LEAF)
    assert np.all(np.isnan(small.threshold[leaf]))


@pytest.mark.tiny
def test_nothing_to_cut_is_the_same_tree():
    tree = random_tree(0)
    assert cut_below(tree, tree.children_left < 0) is tree
    assert cut_below(tree, np.ones(tree.n_nodes, dtype=bool)).n_nodes == 1


@pytest.mark.tiny
@pytest.mark.parametrize("seed", range(6))
def test_empty_nodes_are_dropped_without_a_change_for_the_rows_of_the_masses(seed):
    tree = random_tree(seed, n_leaves=12, n_outputs=2, widths=0.1)
    X = random_points(seed, 5, tree.n_features)
    tree = replace(tree, mass=tree.memberships(X).sum(axis=0))
    dropped = without_empty_nodes(tree)
    leaves = tree.children_left < 0
    assert np.any(tree.mass[leaves] == 0)
    assert dropped.n_leaves == (tree.mass[leaves] > 0).sum()
    assert np.all(dropped.mass > 0)
    np.testing.assert_allclose(dropped.predict(X), tree.predict(X))
    np.testing.assert_allclose(dropped.memberships(X).sum(axis=0), dropped.mass)
    assert without_empty_nodes(dropped) is dropped
