import pickle
from dataclasses import replace

import numpy as np
import pytest

from softwood import Gate, SoftTree
from softwood.compiled.trees import predict_rows
from softwood.trees import sharing
from softwood.trees.nodes import KernelShapes
from tests.reference.kernels import BOX, SHAPES, STAIRS, table
from tests.reference.sharing import node_shares
from tests.reference.trees import ALL_GATES, random_points, random_tree


def stump(**columns):
    columns = {"feature": [0, -1, -1], "threshold": [1.5, np.nan, np.nan], "value": [0.5, 0.0, 1.0]} | columns
    return SoftTree.from_nodes(children_left=[1, -1, -1], children_right=[2, -1, -1], n_features=1, **columns)


# What holds for every tree


@pytest.mark.tiny
@pytest.mark.parametrize("seed", range(6))
def test_children_add_up_to_their_parent_and_leaves_to_one(seed):
    tree = random_tree(seed, gates=ALL_GATES, n_leaves=20)
    shares = tree.memberships(random_points(seed, 30, 3, missing=0.2)).toarray()
    inner = np.flatnonzero(tree.children_left >= 0)
    below = shares[:, tree.children_left[inner]] + shares[:, tree.children_right[inner]]
    assert below == pytest.approx(shares[:, inner], abs=1e-14)
    assert shares[:, tree.children_left < 0].sum(axis=1) == pytest.approx(1.0, abs=1e-14)
    assert np.all(shares >= 0)


@pytest.mark.tiny
@pytest.mark.parametrize("seed", range(3))
def test_answers_agree_with_one_another(seed):
    tree, X = random_tree(seed, gates=ALL_GATES, n_leaves=20), random_points(seed, 30, 3, missing=0.1)
    shares = tree.memberships(X).toarray()
    leaves = np.flatnonzero(tree.children_left < 0)
    assert tree.predict(X) == pytest.approx(shares[:, leaves] @ tree.value[leaves])
    assert np.array_equal(tree.predict_largest(X), tree.predict(X).argmax(axis=1))
    assert np.array_equal(tree.apply(X), leaves[shares[:, leaves].argmax(axis=1)])
    assert np.array_equal(tree.decision_path(X).toarray(), (shares > 0).astype(int))


@pytest.mark.tiny
def test_apply_takes_the_first_of_equal_leaves():
    assert stump(width=[1.0, 0, 0]).apply(np.array([[1.5]])).tolist() == [1]


@pytest.mark.tiny
def test_parents_depths_and_counts():
    tree = random_tree(0, n_leaves=15)
    for node in range(1, tree.n_nodes):
        above = tree.parent[node]
        assert node in (tree.children_left[above], tree.children_right[above])
        assert tree.depth[node] == tree.depth[above] + 1
    assert (tree.n_leaves, tree.n_nodes) == (15, 29)
    assert (tree.parent[0], tree.depth[0]) == (-1, 0)
    assert tree.max_depth == tree.depth.max()
    assert "29 nodes, 15 leaves" in repr(tree)


@pytest.mark.tiny
def test_walk_is_depth_first_left_before_right():
    tree = random_tree(1, n_leaves=15)
    order = list(tree.walk())
    assert sorted(order) == list(range(tree.n_nodes))
    place = {node: k for k, node in enumerate(order)}
    for node in np.flatnonzero(tree.children_left >= 0):
        left, right = tree.children_left[node], tree.children_right[node]
        assert place[left] == place[node] + 1
        assert place[right] > place[left]
        below = list(tree.walk(int(node)))
        assert below == order[place[node] : place[node] + len(below)]
        assert sum(np.isin(below, np.flatnonzero(tree.children_left < 0))) == (len(below) + 1) // 2


# Kernels


@pytest.mark.tiny
def test_crisp_only_if_all_gates_are_crisp_tests():
    assert random_tree(0, widths=0.0).is_crisp
    assert not random_tree(0, widths=1.0).is_crisp
    assert random_tree(0, n_leaves=1).is_crisp
    assert random_tree(0, gates=(Gate.OBLIQUE, Gate.KERNEL), widths=0.0).is_crisp
    assert not random_tree(0, gates=(Gate.SIGMOID,), widths=0.0).is_crisp
    assert not random_tree(0, gates=(Gate.BLEND,), widths=0.0).is_crisp
    assert random_tree(0).crisp().is_crisp
    assert random_tree(0, gates=(Gate.SIGMOID, Gate.KERNEL)).crisp().is_crisp


@pytest.mark.tiny
def test_crisp_keeps_the_tests_and_the_other_gates():
    tree = random_tree(0, gates=ALL_GATES, n_leaves=30)
    crisp = tree.crisp()
    assert np.array_equal(crisp.threshold, tree.threshold, equal_nan=True)
    kernel, sigmoid = tree.gate == Gate.KERNEL, tree.gate == Gate.SIGMOID
    assert np.all(crisp.width[kernel] == 0)
    assert np.array_equal(crisp.width[~kernel], tree.width[~kernel])
    assert tree.width[kernel].max() > 0
    assert np.all(crisp.gate[sigmoid] == Gate.OBLIQUE)
    assert np.array_equal(crisp.gate[~sigmoid], tree.gate[~sigmoid])
    assert sigmoid.any()


@pytest.mark.tiny
@pytest.mark.parametrize("seed", range(3))
def test_crisp_sigmoids_send_a_row_to_the_larger_side(seed):
    tree, X = random_tree(seed, gates=(Gate.SIGMOID,)), random_points(seed, 30, 3)
    crisp = tree.crisp()
    for x, leaf in zip(X, crisp.apply(X), strict=True):
        node = 0
        while tree.children_left[node] >= 0:
            goes_left = tree.weights[node] @ x + tree.bias[node] > 0
            node = tree.children_left[node] if goes_left else tree.children_right[node]
        assert node == leaf
    assert np.array_equal(crisp.raw(X), tree.value[crisp.apply(X)])
    assert np.array_equal(crisp.predict_largest(X), tree.value[crisp.apply(X)].argmax(axis=1))


# Sigmoid gates alone have a loop of their own


@pytest.mark.tiny
@pytest.mark.parametrize("n_leaves", [2, 12])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_loop_for_sigmoid_gates_answers_as_the_general_one(n_leaves, n_outputs, monkeypatch):
    tree = random_tree(1, gates=(Gate.SIGMOID,), n_leaves=n_leaves, n_outputs=n_outputs)
    X = random_points(1, 40, 3)
    leaves = np.flatnonzero(tree.children_left < 0)
    assert tree._is_sigmoid
    assert tree.raw(X) == pytest.approx(tree.memberships(X)[:, leaves] @ tree.value[leaves])
    general = np.zeros((40, n_outputs))
    predict_rows(*sharing.walk_arguments(tree, slice(None), X, None), tree.value, general)
    assert tree.predict(X) == pytest.approx(general, rel=1e-12)
    linked = replace(tree, link="softmax")
    assert linked.predict(X) == pytest.approx(np.exp(general) / np.exp(general).sum(axis=1, keepdims=True), rel=1e-12)
    called = []
    monkeypatch.setattr(sharing, "sigmoid_predictions", lambda tree, X: called.append(True) or general)
    tree.predict(X)
    assert called


@pytest.mark.tiny
def test_the_loop_for_sigmoid_gates_is_not_for_other_trees():
    tree, X = random_tree(2, gates=(Gate.SIGMOID,)), random_points(2, 40, 3, missing=0.2)
    assert not random_tree(2, gates=ALL_GATES, n_leaves=30)._is_sigmoid
    assert not random_tree(2, n_leaves=1)._is_sigmoid
    # a child before its parent: the same tree, nodes 1 and the last exchanged
    order = np.arange(tree.n_nodes)
    order[[1, -1]] = order[[-1, 1]]
    names = ("children_left", "children_right")
    children = {name: np.where(getattr(tree, name) < 0, -1, order[getattr(tree, name)])[order] for name in names}
    columns = {name: getattr(tree, name)[order] for name in ("gate", "weights", "bias", "value", "missing_left")}
    shuffled = SoftTree.from_nodes(n_features=3, **children, **columns)
    if tree.children_left[1] >= 0 or tree.children_left[-1] >= 0:
        assert not shuffled._is_sigmoid
    for other in (tree, shuffled):
        leaves = np.flatnonzero(other.children_left < 0)
        for rows in (X, np.nan_to_num(X)):
            assert other.raw(rows) == pytest.approx(other.memberships(rows)[:, leaves] @ other.value[leaves])
    with pytest.raises(ValueError, match=r"widths must have shape \(40, 3\)"):
        tree.raw(np.nan_to_num(X), widths=np.zeros((1, 1)))


@pytest.mark.tiny
def test_inputs_too_large_for_the_exponential():
    tree = random_tree(3, gates=(Gate.SIGMOID,))
    X = 1e200 * random_points(3, 20, 3)
    assert np.isfinite(tree.predict(X)).all()
    assert tree.predict(X) == pytest.approx(tree.crisp().predict(X))


@pytest.mark.parametrize("gates", [(Gate.SIGMOID,), (Gate.KERNEL,), (Gate.OBLIQUE,), ALL_GATES])
@pytest.mark.parametrize("is_crisp", [False, True])
def test_a_missing_value_changes_no_other_row(gates, is_crisp):
    """Bit for bit: rows are read on their own, each by the fastest way that it can go."""
    tree, X = random_tree(5, gates=gates, n_outputs=3, n_leaves=60), random_points(5, 300, 3)
    tree = tree.crisp() if is_crisp else tree
    expected, largest = tree.predict(X), tree.predict_largest(X)
    X[7, 1] = np.nan
    others = np.arange(300) != 7
    assert np.array_equal(tree.predict(X)[others], expected[others])
    assert np.array_equal(tree.predict_largest(X)[others], largest[others])
    assert tree.predict(X)[7] == pytest.approx((tree.memberships(X[7:8]) @ _leaf_values(tree))[0])


def _leaf_values(tree):
    return np.where(tree.children_left[:, None] < 0, tree.value, 0.0)


# What the output passes


@pytest.mark.tiny
@pytest.mark.parametrize("gates", [(Gate.SIGMOID,), (Gate.KERNEL,), ALL_GATES])
def test_softmax_link(gates):
    plain, X = random_tree(4, gates=gates, n_outputs=3), random_points(4, 25, 3, missing=0.1)
    tree = replace(plain, link="softmax")
    assert plain.link == "identity"
    assert plain.raw(X) == pytest.approx(plain.predict(X), rel=1e-12)
    assert np.array_equal(tree.raw(X), plain.raw(X))
    powers = np.exp(tree.raw(X))
    assert tree.predict(X) == pytest.approx(powers / powers.sum(axis=1, keepdims=True))
    assert np.array_equal(tree.predict_largest(X), tree.predict(X).argmax(axis=1))
    values = np.exp(tree.value)
    assert tree.node_predictions == pytest.approx(values / values.sum(axis=1, keepdims=True))
    assert np.array_equal(plain.node_predictions, plain.value)
    assert np.array_equal(tree.apply(X), plain.apply(X))


@pytest.mark.tiny
def test_softmax_of_huge_values():
    tree = stump(value=[[0.0, 0.0], [800.0, -800.0], [-1e300, 1e300]], link="softmax")
    assert tree.predict(np.array([[0.0], [9.0]])).tolist() == [[1, 0], [0, 1]]
    assert tree.node_predictions.tolist() == [[0.5, 0.5], [1, 0], [0, 1]]


@pytest.mark.tiny
@pytest.mark.parametrize("link", ["identity", "softmax"])
def test_gradient_of_sigmoid_trees_through_the_link(link):
    tree = replace(random_tree(5, gates=(Gate.SIGMOID,), n_outputs=3), link=link)
    X, step = random_points(5, 15, 3), 1e-5
    gradient = tree.input_gradient(X)
    for j in range(3):
        move = step * np.eye(3)[j]
        slope = (tree.predict(X + move) - tree.predict(X - move)) / (2 * step)
        assert gradient[:, :, j] == pytest.approx(slope, abs=1e-7)


@pytest.mark.tiny
@pytest.mark.parametrize("link", ["logit", None, 1])
def test_unknown_links(link):
    with pytest.raises(ValueError, match="link must be one of 'identity', 'softmax', got"):
        stump(link=link)


@pytest.mark.tiny
def test_links_survive_copies():
    tree = replace(random_tree(6, gates=(Gate.SIGMOID,)), link="softmax")
    X = random_points(6, 9, 3)
    expected = tree.predict(X)
    assert np.array_equal(pickle.loads(pickle.dumps(tree)).predict(X), expected)
    assert tree.crisp().link == "softmax"
    assert not set(tree.__getstate__()) & {"_is_sigmoid", "_sigmoid_gates", "is_crisp"}


@pytest.mark.tiny
def test_text_tells_what_a_node_predicts():
    tree = stump(value=[[0.0, 0.0], [np.log(3.0), 0.0], [0.0, np.log(4.0)]], link="softmax")
    assert [line.rsplit("[", 1)[1] for line in str(tree).splitlines()] == [
        "value 0.500, 0.500]", "value 0.750, 0.250]", "value 0.200, 0.800]"
    ]  # fmt: skip


@pytest.mark.tiny
def test_other_kernels():
    tree = random_tree(0, n_leaves=20, shapes=[BOX])
    widths, kernels = np.array([0.0, 0.5, 1.5]), np.array([0, 1, 1])
    other = tree.with_kernel(widths, kernels, KernelShapes.of([table(BOX), table(STAIRS)]))
    X = random_points(0, 10, 3)
    expected = np.array([node_shares(other, [BOX, STAIRS], x) for x in X])
    assert other.memberships(X).toarray() == pytest.approx(expected)
    inner = tree.children_left >= 0
    assert np.array_equal(other.width[inner], widths[tree.feature[inner]])
    assert np.array_equal(other.kernel[inner], kernels[tree.feature[inner]])


@pytest.mark.tiny
def test_shapes_of_different_length_share_a_table():
    shapes = KernelShapes.of([table(shape) for shape in SHAPES])
    assert len(shapes) == len(SHAPES)
    assert shapes.edges.shape == shapes.cdfs.shape
    assert shapes.edges[0].tolist() == [-1, 1, 1, 1]
    assert shapes.cdfs[0].tolist() == [0, 1, 1, 1]


# Importances


@pytest.mark.tiny
def test_importances_are_the_decrease_of_impurity():
    tree = SoftTree.from_nodes(
        children_left=[1, -1, 3, -1, -1], children_right=[2, -1, 4, -1, -1], feature=[0, -1, 2, -1, -1],
        threshold=[0, np.nan, 0, np.nan, np.nan], value=np.zeros(5), n_features=3,
        mass=[10.0, 4, 6, 3, 3], impurity=[0.5, 0.25, 0.5, 0.1, 0.3],
    )  # fmt: skip
    first, second = 10 * 0.5 - 4 * 0.25 - 6 * 0.5, 6 * 0.5 - 3 * 0.1 - 3 * 0.3
    assert tree.feature_importances() == pytest.approx([first / (first + second), 0, second / (first + second)])


@pytest.mark.tiny
def test_importances_of_oblique_gates_follow_their_weights():
    columns = {"children_left": [1, -1, -1], "children_right": [2, -1, -1], "value": np.zeros(3), "n_features": 3}
    columns |= {"mass": [4.0, 2, 2], "impurity": [0.5, 0.25, 0], "weights": [[1.0, -3, 0], [0, 0, 0], [0, 0, 0]]}
    sigmoid = SoftTree.from_nodes(gate=[Gate.SIGMOID, -1, -1], **columns)
    assert sigmoid.feature_importances() == pytest.approx([0.25, 0.75, 0])
    test = {"feature": [2, -1, -1], "threshold": [0, np.nan, np.nan]}
    blend = SoftTree.from_nodes(gate=[Gate.BLEND, -1, -1], blend=0.2, **test, **columns)
    assert blend.feature_importances() == pytest.approx([0.05, 0.15, 0.8])


@pytest.mark.tiny
def test_importances_do_not_depend_on_units_where_these_are_known():
    tree, units = random_tree(7, gates=(Gate.SIGMOID, Gate.BLEND)), np.array([1e-3, 2.0, 1e5])
    known = {"mass": np.ones(tree.n_nodes), "impurity": np.linspace(2.0, 0.1, tree.n_nodes)}
    tree = replace(tree, **known, scale=np.ones(3), center=np.zeros(3))
    other = replace(tree, weights=tree.weights / units, scale=units)
    assert other.feature_importances() == pytest.approx(tree.feature_importances())
    assert other.weight_sizes(0) == pytest.approx(np.abs(tree.weights[0]))
    plain = replace(other, scale=None)
    assert plain.weight_sizes(0) == pytest.approx(np.abs(other.weights[0]))
    assert plain.feature_importances() != pytest.approx(tree.feature_importances())


@pytest.mark.tiny
def test_contributions_add_up_to_the_input_of_the_gate():
    tree, X = random_tree(8, gates=(Gate.SIGMOID,)), random_points(8, 10, 3, missing=0.2)
    known = np.nan_to_num(X)
    assert tree.contributions(known, 0).sum(axis=1) + tree.bias[0] == pytest.approx(
        known @ tree.weights[0] + tree.bias[0]
    )
    moved = replace(tree, center=np.array([1.0, -2.0, 0.5]))
    assert moved.contributions(known, 0) == pytest.approx((known - moved.center) * tree.weights[0])
    assert np.all(moved.contributions(X, 0)[np.isnan(X)] == 0)
    leaf = int(np.flatnonzero(tree.children_left < 0)[0])
    for other, node in ((tree, leaf), (random_tree(8), 0)):
        with pytest.raises(ValueError, match=f"Node {node} has no oblique gate"):
            other.contributions(known, node)


@pytest.mark.tiny
@pytest.mark.parametrize("name", ["center", "scale"])
@pytest.mark.parametrize("numbers", [[1.0], [1.0, 2.0, np.inf], [1.0, np.nan, 2.0]])
def test_wrong_units(name, numbers):
    with pytest.raises(ValueError, match=f"{name} must have 3 finite numbers"):
        replace(random_tree(0), **{name: np.array(numbers)})


@pytest.mark.tiny
def test_importances_of_a_lone_root_are_zero():
    root = {"children_left": [-1], "children_right": [-1], "value": [1.0], "mass": 1.0, "impurity": 0.5}
    assert SoftTree.from_nodes(n_features=2, **root).feature_importances().tolist() == [0, 0]


# Making a tree


@pytest.mark.tiny
def test_types_are_fixed_and_columns_broadcast():
    tree = stump(missing_left=0.25, mass=[3, 1, 2])
    assert tree.children_left.dtype == np.int32
    assert tree.gate.dtype == np.int8
    assert tree.mass.dtype == np.float64
    assert tree.missing_left.tolist() == [0.25] * 3
    assert tree.value.shape == (3, 1)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gate": [-1, -1, -1]}, "Exactly the nodes with children must have a gate"),
        ({"gate": [0, 0, -1]}, "Exactly the nodes with children must have a gate"),
        ({"feature": [-1, -1, -1]}, "feature of the data and a finite threshold"),
        ({"feature": [1, -1, -1]}, "feature of the data and a finite threshold"),
        ({"threshold": [np.nan] * 3}, "feature of the data and a finite threshold"),
        ({"threshold": [np.inf] * 3}, "feature of the data and a finite threshold"),
        ({"gate": [Gate.SIGMOID, -1, -1]}, r"Oblique gates need weights of shape \(3, 1\)"),
        ({"weights": np.zeros((3, 2))}, r"weights must have shape \(3, 1\) and type float64, got \(3, 2\)"),
        ({"weights": np.full((3, 1), np.inf)}, "weights must be finite"),
        ({"bias": np.nan}, "bias must be finite"),
        ({"blend": 1.5}, r"missing_left and blend must be in \[0, 1\]"),
        ({"missing_left": np.nan}, r"missing_left and blend must be in \[0, 1\]"),
        ({"value": [0.0, np.nan, 1.0]}, "value must be finite"),
        ({"kernel": 1}, "kernel must be a row of shapes"),
        ({"kernel": -1}, "kernel must be a row of shapes"),
        ({"width": -1.0}, "width at least 0"),
        ({"width": np.nan}, "width at least 0"),
    ],
)
def test_nodes_that_are_no_tree_of_gates(change, message):
    with pytest.raises(ValueError, match=message):
        stump(**change)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1, -1, -1], [1, -1, -1]),  # a child twice
        ([1, -1, -1], [-1, -1, -1]),  # half a fork
        ([1, 0, -1], [2, 0, -1]),  # the root has a parent
        ([-1, 3, -1, 1, -1], [-1, 2, -1, 4, -1]),  # two pieces, one a circle
        ([1, -1, -1, -1], [2, -1, -1, -1]),  # a node without parent
        ([1, -1, -1], [5, -1, -1]),  # no such node
        ([-1, -1, 1], [-1]),  # of different length
        ([-1], [-1, -1, -1]),
    ],
)
def test_structures_that_are_no_tree(left, right):
    with pytest.raises(ValueError, match="must describe one tree with node 0 as its root"):
        SoftTree.from_nodes(children_left=left, children_right=right, value=np.zeros(len(left)), n_features=1)


@pytest.mark.tiny
def test_unknown_columns_and_wrong_types():
    with pytest.raises(TypeError, match="SoftTree has no column 'treshold'"):
        stump(treshold=0.0)
    tree = stump()
    with pytest.raises(ValueError, match="depth must have shape"):
        replace(tree, depth=tree.depth[:2])
    with pytest.raises(ValueError, match=r"children_left must have shape .* int32"):
        replace(tree, children_left=tree.children_left.astype(np.int64))
    with pytest.raises(ValueError, match="parent and depth do not agree"):
        replace(tree, depth=tree.depth + 1)
    with pytest.raises(ValueError, match="value must have one row"):
        replace(tree, value=tree.value[:2])


@pytest.mark.tiny
def test_rows_of_the_wrong_shape():
    tree = stump()
    for X in (np.zeros((2, 3)), np.zeros(2)):
        with pytest.raises(ValueError, match=r"X must have shape \(n_rows, 1\)"):
            tree.predict(X)
    for widths in (np.zeros((3, 1)), -np.ones((2, 1))):
        with pytest.raises(ValueError, match=r"widths must have shape \(2, 1\) and be at least 0"):
            tree.memberships(np.zeros((2, 1)), widths=widths)


@pytest.mark.tiny
def test_a_tree_survives_pickling():
    tree, X = random_tree(0, gates=ALL_GATES), random_points(0, 9, 3)
    tree.predict(X)
    again = pickle.loads(pickle.dumps(tree))
    assert np.array_equal(again.predict(X), tree.predict(X))
    assert str(again) == str(tree)


# Text


@pytest.mark.tiny
def test_text_of_each_gate():
    columns = {"children_left": [1, -1, -1], "children_right": [2, -1, -1], "value": [[0.5], [0], [1]], "n_features": 5}
    weights = np.zeros((3, 5))
    weights[0] = [0.5, 0, -2, 1, 0.25]
    test = {"feature": [1, -1, -1], "threshold": [2.5, np.nan, np.nan]}
    kernel = SoftTree.from_nodes(**columns, **test, width=[0.25, 0, 0], mass=[8, 5, 3])
    assert str(kernel).splitlines() == [
        "[mass 8.0, value 0.500]",
        "|-- x[1] <= 2.500 ±0.25  [mass 5.0, value 0.000]",
        "|-- x[1] >  2.500 ±0.25  [mass 3.0, value 1.000]",
    ]
    sigmoid = SoftTree.from_nodes(**columns, gate=[Gate.SIGMOID, -1, -1], weights=weights, bias=[-1.0, 0, 0])
    assert str(sigmoid).splitlines()[1:] == [
        "|-- -2 x[2] +1 x[3] +0.5 x[0] + 1 more -1 > 0  [value 0.000]",
        "|-- -2 x[2] +1 x[3] +0.5 x[0] + 1 more -1 <= 0  [value 1.000]",
    ]
    weights[0, [0, 4]] = 0
    blend = SoftTree.from_nodes(
        **columns, **test, gate=[Gate.BLEND, -1, -1], weights=weights, bias=[1.0, 0, 0], blend=[0.25, 0, 0], width=1.0
    )
    assert str(blend).splitlines()[1] == ("|-- 0.75 [x[1] <= 2.500] + 0.25 [-2 x[2] +1 x[3] +1 > 0]  [value 0.000]")


@pytest.mark.tiny
def test_terms_of_oblique_gates_are_ordered_by_size():
    """A small weight of a column of large numbers counts; terms that are as good as zero do not."""
    weights = np.zeros((3, 6))
    weights[0] = [1e-5, -0.0004, 0.02, 0.0, 3e-6, -1.0]
    nodes = {
        "children_left": [1, -1, -1], "children_right": [2, -1, -1], "value": [[0.5], [0], [1]], "n_features": 6,
        "feature": [0, -1, -1], "threshold": [2.5, np.nan, np.nan], "weights": weights, "bias": [-0.00012, 0, 0],
        "scale": np.array([1.0, 600.0, 4.0, 9.0, 1.0, 0.05]),
    }  # fmt: skip
    gates = {"gate": [Gate.BLEND, -1, -1], "width": 1.0}
    oblique = "-0.0004 x[1] +0.02 x[2] -1 x[5] -0.00012"
    for blend, text in (
        (0.5, f"0.50 [x[0] <= 2.500] + 0.50 [{oblique} > 0]"),
        (1.0, f"{oblique} > 0"),
        (0.001, "x[0] <= 2.500"),
    ):
        tree = SoftTree.from_nodes(**nodes, **gates, blend=[blend, 0, 0])
        assert str(tree).splitlines()[1] == f"|-- {text}  [value 0.000]"
    nothing = SoftTree.from_nodes(**nodes | {"weights": 0 * weights}, gate=[Gate.SIGMOID, -1, -1])
    assert str(nothing).splitlines()[1] == "|-- -0.00012 > 0  [value 0.000]"


@pytest.mark.tiny
def test_names_may_hold_braces():
    from softwood import export_text

    tree = SoftTree.from_nodes(
        children_left=[1, -1, -1], children_right=[2, -1, -1], value=np.zeros(3), n_features=1, feature=[0, -1, -1],
        threshold=[0, np.nan, np.nan], gate=[Gate.BLEND, -1, -1], weights=np.ones((3, 1)), blend=0.5, width=1.0,
    )  # fmt: skip
    assert "{a} <= 0.000" in export_text(tree, feature_names=["{a}"])
