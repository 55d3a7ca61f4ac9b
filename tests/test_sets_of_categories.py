"""Trees with gates that test sets of categories: everything that is done with a finished tree."""

from dataclasses import replace

import numpy as np
import pytest

from softwood import Gate, SoftForest, SoftTree, export_text, load, save
from softwood.core.columns import Columns
from softwood.explanations.rules import leaf_rules
from softwood.trees.one_hot import one_hot_trees
from softwood.trees.pruning import cut_below
from tests.reference.kernels import BOX, SHAPES
from tests.reference.sharing import node_shares
from tests.reference.trees import points_with_categories, random_tree, with_sets

N = 40


def tree_of(seed, **given):
    return with_sets(random_tree(seed, **({"n_leaves": 14} | given)), seed, n_categories=N)


def columns_of(n_categories=N):
    """Three columns, of which the second has categories."""
    categories = tuple(f"c{k:02d}" for k in range(n_categories))
    return Columns(("a", "city", "b"), np.arange(3), (None, categories, None), ("a", "city", "b"), as_codes=True)


@pytest.mark.parametrize("widths", ["any", 0.0])
@pytest.mark.parametrize("seed", range(3))
def test_shares_and_predictions(seed, widths):
    tree = tree_of(seed, widths=widths)
    assert np.any(tree.gate == Gate.SUBSET)
    X = points_with_categories(seed, 30, 3, n_categories=N)
    expected = np.array([node_shares(tree, SHAPES, x) for x in X])
    np.testing.assert_allclose(tree.memberships(X).toarray(), expected, atol=1e-12)
    leaves = tree.children_left < 0
    values = expected[:, leaves] @ tree.value[leaves]
    np.testing.assert_allclose(tree.predict(X), values, atol=1e-12)
    np.testing.assert_allclose(tree.predict(X, widths=np.full(X.shape, np.nan)), values, atol=1e-12)
    forest = SoftForest.mean([tree, random_tree(seed + 9), tree])
    np.testing.assert_allclose(forest.predict(X), (2 * values + forest[1].predict(X)) / 3, atol=1e-12)
    np.testing.assert_array_equal(forest.predict(X, n_jobs=2), forest.predict(X))
    assert np.array_equal(tree.predict_largest(X), tree.predict(X).argmax(axis=1))
    assert np.all(tree.input_gradient(X)[:, :, 1] == 0.0)


def test_crisp_rows_without_missing_values():
    """The fastest loops, for one tree and for several."""
    tree = tree_of(4, widths=0.0)
    assert tree.is_crisp
    X = points_with_categories(4, 50, 3, n_categories=N, missing=0.0)
    shares = tree.memberships(X).toarray()
    assert set(np.unique(shares)) == {0.0, 1.0}
    leaves = np.flatnonzero(tree.children_left < 0)[shares[:, tree.children_left < 0].argmax(axis=1)]
    np.testing.assert_array_equal(tree.predict(X), tree.value[leaves])
    assert np.array_equal(tree.predict_largest(X), tree.value[leaves].argmax(axis=1))
    np.testing.assert_array_equal(SoftForest.mean([tree]).predict(X), tree.predict(X))


def test_numbers_without_a_bit_are_missing_values():
    tree = tree_of(1)
    X = points_with_categories(1, 5, 3, n_categories=N, missing=0.0)
    missing = X.copy()
    missing[:, 1] = np.nan
    X[:, 1] = [-1.0, 64.0, 1e300, -np.inf, np.inf]
    before = X.copy()
    np.testing.assert_array_equal(tree.predict(X), tree.predict(missing))
    np.testing.assert_array_equal(X, before)
    X.setflags(write=False)
    np.testing.assert_array_equal(tree.memberships(X).toarray(), tree.memberships(missing).toarray())


def test_kernels_do_not_touch_sets():
    tree = tree_of(2)
    X = points_with_categories(2, 20, 3, n_categories=N)
    assert tree.crisp().is_crisp
    wide = tree.with_kernel(np.full(3, 5.0), np.zeros(3, int), tree.shapes)
    assert np.array_equal(wide.gate, tree.gate)
    assert np.all(wide.width[tree.gate == Gate.SUBSET] == 0)
    assert wide.predict(X).shape == (20, 2)


def test_parts_of_trees_and_forests():
    tree, other = tree_of(0), with_sets(random_tree(5, n_leaves=6), 5, n_categories=10)
    X = points_with_categories(0, 20, 3, n_categories=10)
    forest = SoftForest.mean([tree, other])
    for number, own in enumerate((tree, other)):
        np.testing.assert_array_equal(forest[number].predict(X), own.predict(X))
    np.testing.assert_array_equal(forest.first(1).predict(X), tree.predict(X))
    both = forest.with_trees_of(SoftForest.mean([random_tree(7)]))
    assert both.subsets.shape == (both.n_nodes, 2)
    cut = np.zeros(tree.n_nodes, dtype=bool)
    cut[np.flatnonzero(tree.gate == Gate.SUBSET)[-1]] = True
    pruned = cut_below(tree, cut)
    assert np.all(pruned.subsets[pruned.gate != Gate.SUBSET] == 0)
    kept = pruned.memberships(X).toarray().sum(axis=1)
    assert kept.shape == (20,)
    importances = tree.feature_importances()
    assert importances.sum() == pytest.approx(1.0)
    assert importances[1] > 0


@pytest.mark.parametrize("n_categories", [1, 2, 3, 5, 40])
@pytest.mark.parametrize("seed", range(3))
def test_the_same_trees_with_columns_of_zeros_and_ones(seed, n_categories):
    tree = with_sets(random_tree(seed, n_leaves=20, shapes=[BOX]), seed, n_categories=n_categories)
    columns = columns_of(n_categories)
    X = points_with_categories(seed, 60, 3, n_categories=n_categories)
    plain, places = one_hot_trees(tree, columns)
    assert places.names == columns.one_hot().names
    assert np.all(plain.gate != Gate.SUBSET)
    assert plain.subsets is None
    shown = [1] if n_categories == 2 else range(n_categories)
    middle = np.where(np.isnan(X[:, 1:2]), np.nan, X[:, 1:2] == np.array(shown))
    Z = np.hstack([X[:, :1], middle, X[:, 2:]])
    np.testing.assert_allclose(plain.predict(Z), tree.predict(X), atol=1e-12)
    forest, _ = one_hot_trees(SoftForest.mean([tree, tree]), columns)
    np.testing.assert_allclose(forest.predict(Z), tree.predict(X), atol=1e-12)


def test_a_bare_tree_has_no_names_of_categories():
    names = ("x[0]", "x[1]", "x[2]")
    plain = Columns(names, np.arange(3), (None,) * 3, names)
    with pytest.raises(ValueError, match=r"Feature 'x\[1\]' is tested by sets of categories"):
        one_hot_trees(tree_of(0), plain)
    tree = random_tree(0)
    assert one_hot_trees(tree, plain)[0] is tree


def test_text_and_rules():
    """Fewer categories are listed: those inside or those outside."""
    tree = SoftTree.from_nodes(
        children_left=[1, -1, 3, -1, -1], children_right=[2, -1, 4, -1, -1], gate=[4, -1, 4, -1, -1],
        feature=[1, -1, 1, -1, -1], value=[[0.0]] * 5, n_features=3, subsets=[[0b00011], [0], [0b10111], [0], [0]],
    )  # fmt: skip
    columns = columns_of(5)
    text = export_text(tree)
    assert "x[1] in {0, 1}" in text
    assert "x[1] not in {0, 1}" in text
    assert leaf_rules(tree, 1, columns) == ["city in {c00, c01}"]
    assert leaf_rules(tree, 3, columns) == ["city in {c02, c04}"]
    assert leaf_rules(tree, 4, columns) == ["city = c03"]
    assert tree.members(2).tolist() == [0, 1, 2, 4]
    with pytest.raises(ValueError, match="Node 0 has no oblique gate"):
        tree.contributions(np.zeros((1, 3)), 0)


def test_wrong_sets_are_refused():
    tree = tree_of(0)
    with pytest.raises(ValueError, match="Gates of categories need subsets"):
        replace(tree, subsets=None)
    with pytest.raises(ValueError, match="Gates of categories need subsets"):
        replace(tree, subsets=tree.subsets[:, :0])
    with pytest.raises(ValueError, match=r"subsets must have shape \(27, any\) and type uint32, got \(26, "):
        replace(tree, subsets=tree.subsets[:-1])
    with pytest.raises(ValueError, match=r"type uint32, got .* int64"):
        replace(tree, subsets=tree.subsets.astype(np.int64))
    with pytest.raises(ValueError, match="need a feature of the data"):
        replace(tree, feature=np.where(tree.gate == Gate.SUBSET, 3, tree.feature).astype(np.int32))


def test_files(tmp_path):
    X = points_with_categories(0, 20, 3, n_categories=N)
    for number, trees in enumerate((tree_of(0), SoftForest.mean([tree_of(0), random_tree(1)]), random_tree(1))):
        path = tmp_path / f"{number}.softwood"
        save(trees, path)
        again = load(path)
        np.testing.assert_array_equal(again.predict(X), trees.predict(X))
        assert (again.subsets is None) == (trees.subsets is None)
