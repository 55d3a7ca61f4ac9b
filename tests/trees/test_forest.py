"""Trees side by side, against the reference implementation of a tree and a plain loop over the trees."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy import sparse

from softwood import Gate, SoftForest, SoftTree
from softwood.trees.nodes import KernelShapes
from tests.reference.kernels import BOX, SHAPES, STAIRS, table
from tests.reference.sharing import prediction
from tests.reference.trees import ALL_GATES, random_points, random_tree

KINDS = {
    "crisp": {"widths": 0.0},
    "box": {"shapes": [BOX], "widths": 0.7},
    "kernels": {},
    "oblique": {"gates": ALL_GATES},
}


def trees_of(kind="kernels", n_trees=5, **parameters):
    """Trees of different sizes, among them a lone root."""
    parameters = {"n_leaves": 9, **KINDS[kind], **parameters}
    return [random_tree(k, **parameters | {"n_leaves": 1} if k == 2 else parameters) for k in range(n_trees)]


def slow_rows(trees, X, cells=None, shapes=SHAPES):
    """Predictions of each tree by the reference implementation, (n_trees, n_rows, n_outputs)."""
    cells = [None] * len(X) if cells is None else cells
    return np.array([[prediction(tree, shapes, x, c) for x, c in zip(X, cells, strict=True)] for tree in trees])


def cells_of(X, seed=0):
    """Half-widths of cells, some of them those of the trees."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(X.shape) < 0.3, np.nan, rng.choice([0.0, 0.2, 1.5], size=X.shape))


# ------------------------------------------------------------------ predictions


@pytest.mark.tiny
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("by_cell", [False, True])
def test_mean_of_the_trees(kind, missing, by_cell):
    trees, X = trees_of(kind), random_points(7, 12, 3, missing)
    cells = cells_of(X) if by_cell else None
    forest = SoftForest.mean(trees)
    expected = np.zeros((12, 2))
    for each in slow_rows(trees, X, cells, KINDS[kind].get("shapes", SHAPES)):
        expected += each
    expected /= len(trees)
    np.testing.assert_allclose(forest.predict(X, widths=cells), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(
        forest.predict_largest(X, widths=cells), forest.predict(X, widths=cells).argmax(axis=1)
    )


@pytest.mark.tiny
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_sum_of_the_trees_in_their_columns(kind, missing):
    """As in boosting: the values of a tree go to the columns from its own first one on."""
    trees, X = trees_of(kind), random_points(7, 12, 3, missing)
    output, base = [0, 2, 1, 2, 0], np.array([0.5, -1.0, 0.0, 2.0])
    forest = SoftForest.sum(trees, output, base)
    each = slow_rows(trees, X, None, KINDS[kind].get("shapes", SHAPES))
    expected = np.tile(base, (12, 1))
    for first, part in zip(output, each, strict=True):
        expected[:, first : first + 2] += part
    np.testing.assert_allclose(forest.predict(X), expected, rtol=0, atol=1e-12)
    some = np.zeros((12, 4))
    for number in (3, 1):
        some[:, output[number] : output[number] + 2] += each[number]
    np.testing.assert_allclose(forest.sum_of(np.array([3, 1]), X), some, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_with_infinite_and_huge_values(kind):
    trees = trees_of(kind)
    X = np.array([[np.inf, 0.0, 0.1], [0.0, -np.inf, 0.1], [np.inf, -np.inf, 0.1], [1e308, 1e308, 1.0], [0.0, 0.3, 1]])
    expected = np.mean([leaf_sums(tree, X) for tree in trees], axis=0)
    np.testing.assert_allclose(SoftForest.mean(trees).predict(X), expected, rtol=0, atol=1e-12)


def leaf_sums(tree, X):
    """Predictions from the memberships alone."""
    return tree.memberships(X) @ np.where((tree.children_left < 0)[:, None], tree.value, 0.0)


@pytest.mark.parametrize("kind", ["crisp", "box", "kernels"])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 255, 256, 257])
def test_any_number_of_rows(kind, n):
    trees, X = trees_of(kind), random_points(n, n, 3)
    expected = sum(leaf_sums(tree, X) for tree in trees) / len(trees)
    np.testing.assert_allclose(SoftForest.mean(trees).predict(X), expected, rtol=0, atol=1e-12)


def test_many_leaves_per_row_take_smaller_batches():
    """Kernels so wide that a batch of rows does not fit the scratch space at once."""
    trees = [random_tree(k, n_leaves=400, n_features=5, shapes=[BOX], widths=20.0) for k in range(2)]
    X = random_points(0, 300, 5)
    reached = np.diff(trees[0].decision_path(X[:256]).indptr)
    assert reached.sum() > max(2 * trees[0].n_nodes, 64 * 256), "the rows must fill the scratch space"
    small = random_tree(2, n_leaves=3, n_features=5, shapes=[BOX])
    trees = [trees[0], small, trees[1]]  # the batch is as large as ever in the tree after a large one
    expected = sum(leaf_sums(tree, X) for tree in trees) / 3
    np.testing.assert_allclose(SoftForest.mean(trees).predict(X), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [0.0, 0.002])
@pytest.mark.parametrize("by_cell", [False, True])
def test_neither_workers_nor_the_rows_beside_it_change_a_bit(kind, missing, by_cell):
    forest, X = SoftForest.mean(trees_of(kind, n_leaves=20)), random_points(3, 1203, 3, missing)
    cells = cells_of(X) if by_cell else None
    expected = forest.predict(X, widths=cells)
    np.testing.assert_array_equal(forest.predict(X, widths=cells, n_jobs=2), expected)
    for parts in (np.array_split(np.arange(1203), 7), np.arange(40)[:, None]):
        for part in parts:
            found = forest.predict(X[part], widths=None if cells is None else cells[part])
            np.testing.assert_array_equal(found, expected[part])


# ------------------------------------------------------------------ some of the trees, and more of them


def is_same(one, other):
    """Whether two trees, or forests, are equal to the last bit."""
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name == "shapes":
            if not (np.array_equal(a.edges, b.edges) and np.array_equal(a.cdfs, b.cdfs)):
                return False
        elif isinstance(a, np.ndarray):
            if a.dtype != b.dtype or not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
                return False
        elif a != b:
            return False
    return True


@pytest.mark.tiny
@pytest.mark.parametrize("kind", KINDS)
def test_the_trees_come_out_as_they_were_put_in(kind):
    trees = trees_of(kind)
    forest = SoftForest.mean(trees)
    assert len(forest) == 5
    assert all(is_same(one, other) for one, other in zip(forest, trees, strict=True))
    assert is_same(forest[-1], trees[4])
    assert isinstance(forest[0], SoftTree)
    with pytest.raises(IndexError):
        forest[5]


@pytest.mark.tiny
def test_trees_with_and_without_oblique_gates():
    trees, X = [random_tree(0), random_tree(1, gates=ALL_GATES)], random_points(0, 10, 3)
    forest = SoftForest.mean(trees)
    np.testing.assert_array_equal(forest[1].weights, trees[1].weights)
    assert not forest[0].weights.any()
    np.testing.assert_allclose(forest.predict(X), (trees[0].predict(X) + trees[1].predict(X)) / 2, atol=1e-12)


@pytest.mark.tiny
@pytest.mark.parametrize("kind", ["crisp", "kernels", "oblique"])
@pytest.mark.parametrize("step", [1, 2, 5, 9])
def test_stages_are_the_predictions_of_the_first_trees(kind, step):
    trees, X = trees_of(kind), random_points(0, 10, 3)
    base = np.array([1.0, -1.0, 0.0])
    for forest, of_first in (
        (SoftForest.mean(trees), lambda k: SoftForest.mean(trees[:k])),
        (SoftForest.sum(trees, [0, 1, 0, 1, 1], base), lambda k: SoftForest.sum(trees[:k], [0, 1, 0, 1, 1][:k], base)),
    ):
        stages = list(forest.staged_predict(X, step=step))
        ends = [*range(step, 5, step), 5]
        assert len(stages) == len(ends)
        for k, stage in zip(ends, stages, strict=True):
            np.testing.assert_array_equal(stage, of_first(k).predict(X))
            assert is_same(forest.first(k), of_first(k))
        np.testing.assert_array_equal(stages[-1], forest.predict(X))


@pytest.mark.tiny
@pytest.mark.parametrize("number", [0, -1, 6])
def test_first_trees_that_are_not_there(number):
    with pytest.raises(ValueError, match=rf"n_trees must be in the range \[1, 5\], got {number}"):
        SoftForest.mean(trees_of()).first(number)


@pytest.mark.tiny
@pytest.mark.parametrize("kind", ["kernels", "oblique"])
@pytest.mark.parametrize("n_first", [1, 2, 4])
def test_trees_of_two_forests(kind, n_first):
    trees, output, base = trees_of(kind), np.array([0, 1, 0, 1, 1]), np.array([1.0, -1.0, 0.0])
    mean = SoftForest.mean(trees[:n_first]).with_trees_of(SoftForest.mean(trees[n_first:]))
    assert is_same(mean, SoftForest.mean(trees))
    first, last = (SoftForest.sum(trees[part], output[part], base) for part in (slice(0, n_first), slice(n_first, 5)))
    assert is_same(first.with_trees_of(last), SoftForest.sum(trees, output, base))


@pytest.mark.tiny
def test_means_and_sums_of_one_tree_stay_what_they_are():
    one, other = random_tree(0), random_tree(1)
    X, zero = random_points(0, 5, 3), np.zeros(2)
    total = one.predict(X) + other.predict(X)
    mean = SoftForest.mean([one]).with_trees_of(SoftForest.mean([other]))
    np.testing.assert_allclose(mean.predict(X), total / 2, atol=1e-12)
    both = SoftForest.sum([one], [0], zero).with_trees_of(SoftForest.sum([other], [0], zero))
    np.testing.assert_allclose(both.predict(X), total, atol=1e-12)


@pytest.mark.tiny
def test_means_of_any_number_of_trees_are_put_together():
    """1 / 49 * 49 is not 1 in floating point."""
    trees = [random_tree(0, n_leaves=2)] * 60
    for n in (49, 11, 3):
        both = SoftForest.mean(trees[:n]).with_trees_of(SoftForest.mean(trees[n:]))
        assert both.factor == 1 / 60
    assert SoftForest.mean(trees).first(49).factor == 1 / 49


# ------------------------------------------------------------------ other answers


@pytest.mark.tiny
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by_cell", [False, True])
def test_answers_are_those_of_the_trees(kind, by_cell):
    trees, X = trees_of(kind), random_points(7, 12, 3, 0.1)
    cells = cells_of(X) if by_cell else None
    forest = SoftForest.mean(trees)
    shares = sparse.hstack([tree.memberships(X, widths=cells) for tree in trees]).toarray()
    np.testing.assert_array_equal(forest.memberships(X, widths=cells).toarray(), shares)
    np.testing.assert_array_equal(forest.decision_path(X, widths=cells).toarray(), (shares > 0).astype(int))
    leaves = forest.apply(X, widths=cells)
    assert leaves.shape == (12, 5)
    for k, tree in enumerate(trees):
        np.testing.assert_array_equal(leaves[:, k], tree.apply(X, widths=cells))
        own = slice(forest.offsets[k], forest.offsets[k + 1])
        np.testing.assert_array_equal(forest.memberships(X)[:, own].toarray(), tree.memberships(X).toarray())


@pytest.mark.tiny
@pytest.mark.parametrize("kind", ["kernels", "oblique"])
def test_gradients_are_those_of_the_trees(kind):
    trees, X = trees_of(kind), random_points(7, 12, 3, 0.1)
    cells = cells_of(X)
    each = [tree.input_gradient(X, widths=cells) for tree in trees]
    mean = SoftForest.mean(trees).input_gradient(X, widths=cells)
    np.testing.assert_allclose(mean, np.mean(each, axis=0), rtol=1e-12, atol=1e-12)
    expected = np.zeros((12, 3, 3))
    for first, gradient in zip([0, 1, 1, 0, 1], each, strict=True):
        expected[:, first : first + 2] += gradient
    total = SoftForest.sum(trees, [0, 1, 1, 0, 1], np.ones(3)).input_gradient(X, widths=cells)
    np.testing.assert_allclose(total, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.tiny
def test_importances_are_means_over_trees_that_have_a_split():
    trees = trees_of()
    assert trees[2].n_nodes == 1
    expected = np.mean([trees[k].feature_importances() for k in (0, 1, 3, 4)], axis=0)
    found = SoftForest.mean(trees).feature_importances()
    np.testing.assert_allclose(found, expected / expected.sum())
    assert found.sum() == pytest.approx(1.0)
    assert SoftForest.mean([trees[2]] * 3).feature_importances().tolist() == [0, 0, 0]


@pytest.mark.tiny
def test_importances_do_not_depend_on_units():
    """A weight of an oblique gate is compared with others in standard deviations of its column."""
    units, spread = np.array([1e-3, 1.0, 1e5]), np.array([1.0, 2.0, 0.5])
    trees = trees_of("oblique")
    plain = [replace(tree, center=np.zeros(3), scale=spread) for tree in trees]
    other = [replace(tree, weights=tree.weights / units, center=np.zeros(3), scale=spread * units) for tree in trees]
    forest = SoftForest.mean(plain)
    np.testing.assert_allclose(forest.feature_importances(), SoftForest.mean(other).feature_importances())
    np.testing.assert_allclose(
        SoftForest.sum(plain, np.zeros(5), np.zeros(2)).feature_importances(),
        SoftForest.sum(other, np.zeros(5), np.zeros(2)).feature_importances(),
    )
    expected = np.mean([plain[k].feature_importances() for k in (0, 1, 3, 4)], axis=0)
    np.testing.assert_allclose(forest.feature_importances(), expected)


@pytest.mark.tiny
def test_center_and_scale_stay_with_the_trees():
    center, scale = np.array([1.0, 0.0, -2.0]), np.array([2.0, 0.0, 0.5])
    trees = [replace(tree, center=center, scale=scale) for tree in trees_of("oblique")]
    mean, total = SoftForest.mean(trees), SoftForest.sum(trees, np.zeros(5), np.zeros(2))
    for forest in (mean, total, mean.first(2), total.first(2), mean.first(2).with_trees_of(mean), mean.crisp()):
        np.testing.assert_array_equal(forest.center, center)
        np.testing.assert_array_equal(forest.scale, scale)
    assert all(is_same(one, other) for one, other in zip(mean, trees, strict=True))
    assert is_same(pickle.loads(pickle.dumps(mean)), mean)
    assert SoftForest.mean(trees_of()).center is None
    assert SoftForest.mean(trees_of()).scale is None


@pytest.mark.tiny
@pytest.mark.parametrize("name", ["center", "scale"])
@pytest.mark.parametrize("array", [None, np.array([1.0, 2.0, 4.0])])
def test_trees_with_another_center_or_scale(name, array):
    tree = replace(random_tree(0), center=np.array([1.0, 2.0, 3.0]), scale=np.array([1.0, 2.0, 3.0]))
    other = replace(tree, **{name: array})
    with pytest.raises(ValueError, match=f"All trees of a SoftForest must have the same {name}"):
        SoftForest.mean([tree, tree, other])
    with pytest.raises(ValueError, match=f"All trees of a SoftForest must have the same {name}"):
        SoftForest.mean([other]).with_trees_of(SoftForest.mean([tree]))


@pytest.mark.tiny
@pytest.mark.parametrize("name", ["center", "scale"])
@pytest.mark.parametrize("array", [np.zeros(2), np.zeros((1, 3)), np.array([0.0, np.nan, 0.0])])
def test_center_and_scale_are_checked(name, array):
    forest = SoftForest.mean(trees_of())
    with pytest.raises(ValueError, match=f"{name} must have 3 finite numbers, got"):
        replace(forest, **{name: array})


@pytest.mark.tiny
def test_sizes():
    trees = trees_of()
    forest = SoftForest.mean(trees)
    assert forest.sizes.tolist() == [17, 17, 1, 17, 17]
    assert forest.offsets.tolist() == [0, 17, 34, 35, 52, 69]
    assert (forest.n_nodes, forest.n_leaves, forest.n_features, forest.n_outputs) == (69, 37, 3, 2)
    assert forest.max_depth == max(tree.max_depth for tree in trees)
    assert "5 trees, 69 nodes, 37 leaves, 3 features, 2 outputs" in repr(forest)


@pytest.mark.tiny
def test_other_kernels_are_those_of_the_trees():
    trees, X = trees_of("box"), random_points(0, 10, 3)
    assert not SoftForest.mean(trees).is_crisp
    crisp = SoftForest.mean(trees).crisp()
    assert crisp.is_crisp
    assert all(is_same(one, tree.crisp()) for one, tree in zip(crisp, trees, strict=True))
    other = (np.array([0.0, 0.5, 1.5]), np.array([0, 1, 1]), KernelShapes.of([table(BOX), table(STAIRS)]))
    forest = SoftForest.mean(trees).with_kernel(*other)
    assert all(is_same(one, tree.with_kernel(*other)) for one, tree in zip(forest, trees, strict=True))
    expected = slow_rows(list(forest), X, None, [BOX, STAIRS]).mean(axis=0)
    np.testing.assert_allclose(forest.predict(X), expected, rtol=0, atol=1e-12)


@pytest.mark.tiny
@pytest.mark.parametrize("kind", KINDS)
def test_a_forest_survives_pickling(kind):
    forest, X = SoftForest.mean(trees_of(kind)), random_points(0, 9, 3)
    before = len(pickle.dumps(forest))
    expected = forest.predict(X)
    again = pickle.loads(pickle.dumps(forest))
    assert len(pickle.dumps(forest)) == before, "what is made for predicting is not saved"
    assert is_same(again, forest)
    np.testing.assert_array_equal(again.predict(X), expected)


# ------------------------------------------------------------------ making a forest


@pytest.mark.tiny
def test_no_trees():
    with pytest.raises(ValueError, match="A SoftForest needs at least one tree"):
        SoftForest.mean([])
    with pytest.raises(ValueError, match="A SoftForest needs at least one tree"):
        SoftForest.sum([], [], [0.0])


@pytest.mark.tiny
@pytest.mark.parametrize("change", [{"n_features": 2}, {"n_outputs": 3}])
def test_trees_that_do_not_go_together(change):
    with pytest.raises(ValueError, match="must have the same features and number of outputs"):
        SoftForest.mean([random_tree(0), random_tree(1, **change)])
    with pytest.raises(ValueError, match="must have the same features and number of outputs"):
        SoftForest.mean([random_tree(0)]).with_trees_of(SoftForest.mean([random_tree(1, **change)]))


@pytest.mark.tiny
def test_trees_with_other_kernels():
    with pytest.raises(ValueError, match="must have the same table of kernel shapes"):
        SoftForest.mean([random_tree(0), random_tree(1, shapes=[BOX])])
    with pytest.raises(ValueError, match="must have the same table of kernel shapes"):
        SoftForest.mean([random_tree(0, shapes=[BOX, STAIRS]), random_tree(1, shapes=[BOX, SHAPES[3]])])


@pytest.mark.tiny
@pytest.mark.parametrize("output", [[0], [0, 0, 0], [0, -1], [[0, 0]]])
def test_outputs_that_are_not_one_for_each_tree(output):
    with pytest.raises(ValueError, match="output must hold a number of at least 0 for each of 2 trees"):
        SoftForest.sum([random_tree(0), random_tree(1)], output, np.zeros(4))


@pytest.mark.tiny
@pytest.mark.parametrize(("output", "base"), [([0, 1], [0.0, 0.0]), ([0, 0], [0.0])])
def test_base_without_room_for_the_outputs(output, base):
    with pytest.raises(ValueError, match="base must have an entry for each output that a tree adds to"):
        SoftForest.sum([random_tree(0), random_tree(1)], output, base)


@pytest.mark.tiny
@pytest.mark.parametrize(("base", "message"), [([[0.0, 0.0]], "base must have shape"), ([0.0, np.inf], "base must be")])
def test_base_that_is_no_row_of_numbers(base, message):
    with pytest.raises(ValueError, match=message):
        SoftForest.sum([random_tree(0), random_tree(1)], [0, 0], base)


@pytest.mark.tiny
@pytest.mark.parametrize("offsets", [[0, 5], [1, 17, 34], [0, 17, 33], [0, 0, 34], [0, 40, 34], [0]])
def test_offsets_that_are_not_those_of_the_trees(offsets):
    forest = SoftForest.mean(trees_of(n_trees=2))
    with pytest.raises(ValueError, match="offsets must rise from 0 to the number of nodes, 34"):
        replace(forest, offsets=np.array(offsets))


@pytest.mark.tiny
def test_a_mean_and_a_sum():
    trees = trees_of()
    mean, total = SoftForest.mean(trees), SoftForest.sum(trees, np.zeros(5), np.zeros(2))
    for one, other in ((mean, total), (total, mean), (mean.first(1), total), (total.first(1), mean)):
        with pytest.raises(ValueError, match="both"):
            one.with_trees_of(other)


@pytest.mark.tiny
def test_rows_of_the_wrong_shape():
    forest = SoftForest.mean(trees_of())
    for X in (np.zeros((2, 2)), np.zeros(3)):
        for answer in (forest.predict, forest.apply, forest.memberships, forest.input_gradient):
            with pytest.raises(ValueError, match=r"X must have shape \(n_rows, 3\)"):
                answer(X)
    for widths in (np.zeros((3, 3)), -np.ones((2, 3))):
        with pytest.raises(ValueError, match=r"widths must have shape \(2, 3\) and be at least 0"):
            forest.predict(np.zeros((2, 3)), widths=widths)
    with pytest.raises(ValueError, match="widths must have shape"):
        forest.predict(np.zeros((1000, 3)), widths=np.zeros((1001, 3)), n_jobs=2)


# Trees with a link


@pytest.mark.parametrize("gates", [(Gate.SIGMOID,), (Gate.KERNEL,)])
def test_trees_with_a_link_are_averaged_after_it(gates):
    trees = [replace(random_tree(seed, gates=gates, n_outputs=3), link="softmax") for seed in range(4)]
    X = random_points(0, 30, 3, missing=0.1)
    forest = SoftForest.mean(trees)
    assert forest.link == forest[2].link == forest.first(2).link == "softmax"
    assert forest.predict(X) == pytest.approx(np.mean([tree.predict(X) for tree in trees], axis=0))
    assert forest.input_gradient(X) == pytest.approx(np.mean([tree.input_gradient(X) for tree in trees], axis=0))
    with pytest.raises(ValueError, match="averaged, not added up"):
        SoftForest.sum(trees, np.zeros(4), np.zeros(3))
    with pytest.raises(ValueError, match="the same link, got 'softmax' and 'identity'"):
        SoftForest.mean([trees[0], replace(trees[1], link="identity")])
