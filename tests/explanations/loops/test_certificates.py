"""Bounds over boxes: the loops beside slow versions, and beside predictions for rows of the box."""

from dataclasses import replace

import numpy as np
import pytest

from softwood import SoftForest, SoftTree
from softwood.compiled.explain import (
    bound_rows,
    kernel_parts,
    leads,
    mix_bounds,
    moved_mass,
    next_scale,
    oblique_parts,
    oblique_sums,
    search_rows,
    set_box,
    softmax_bounds,
    total_bounds,
    tree_bounds,
    walk_box,
)
from softwood.explanations.box_bounds import BoxModel
from softwood.explanations.loops.certificates import ALL, NONE
from softwood.fitted import FittedModel
from softwood.trees.gates import Gate
from tests.reference.certificates import box_bounds
from tests.reference.kernels import BOX, SHAPES, cdf
from tests.reference.sharing import node_shares, other_share, prediction
from tests.reference.trees import ALL_GATES, random_points, random_tree

KINDS = {"kernel": (Gate.KERNEL,), "sigmoid": (Gate.SIGMOID,), "oblique": (Gate.OBLIQUE,), "all": ALL_GATES}
pytestmark = pytest.mark.tiny


def in_box(rng, low, high, n):
    """Rows of a box, corners among them."""
    parts = rng.random((n, len(low)))
    parts[: n // 2] = parts[: n // 2] > 0.5
    return low + parts * (high - low)


def box_around(x, sizes, box):
    """A model's box, set by the loop."""
    room = box._room()
    set_box(x, np.asarray(sizes, dtype=np.float64), 1.0, -1, room)
    return room


# Gates


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("widths", ["any", 0.7])
def test_parts_of_kernel_gates(seed, widths):
    """All parts that occur in the interval lie between the bounds, which boxes of one width attain."""
    shapes = SHAPES if widths == "any" else (BOX,)
    tree = random_tree(seed, n_features=1, widths=widths, shapes=shapes, n_leaves=8)
    rng = np.random.default_rng(seed)
    trees, is_box = BoxModel.of(FittedModel.of(tree)).trees, widths != "any"
    for _ in range(20):
        low = rng.normal()
        high = low + rng.choice([0.0, 0.2, 2.0])
        ends = np.array([[cdf(t, x, w, shapes[k]) for x in (low, high)] for t, w, k in _gates(tree)])
        grid = np.linspace(low, high, 41)
        shares = np.array([node_shares(tree, shapes, np.array([x])) for x in grid])
        for node in np.flatnonzero(tree.children_left >= 0):
            smallest, largest = kernel_parts(node, 0, trees, ends, is_box)
            reached = shares[:, node] > 1e-9
            parts = shares[reached, tree.children_left[node]] / shares[reached, node]
            assert np.all((parts >= smallest - 1e-9) & (parts <= largest + 1e-9))
            if is_box and reached[[0, -1]].all():
                assert [smallest, largest] == pytest.approx([parts.min(), parts.max()], abs=1e-9)
            if low == high and reached.all():
                assert smallest == pytest.approx(largest, abs=1e-12)


def _gates(tree):
    return zip(np.nan_to_num(tree.threshold), tree.width, tree.kernel, strict=True)


@pytest.mark.parametrize("kind", [Gate.SIGMOID, Gate.OBLIQUE, Gate.BLEND])
@pytest.mark.parametrize("seed", range(4))
def test_parts_of_oblique_gates(kind, seed):
    tree = random_tree(seed, gates=(kind,), n_leaves=2)
    rng = np.random.default_rng(seed)
    low = rng.normal(size=3)
    high = low + rng.choice([0.0, 1.0], size=3) * rng.random(3)
    nothing = np.full(3, np.nan)
    sums = oblique_sums(np.stack([low, high]), tree.weights, 0, tree.bias[0], nothing)
    rows = in_box(rng, low, high, 200)
    inputs = rows @ tree.weights[0] + tree.bias[0]
    assert sums[0] <= inputs.min() + 1e-12
    assert sums[1] >= inputs.max() - 1e-12
    ends = [tree.bias[0] + sum(pick(w * a, w * b) for w, a, b in zip(tree.weights[0], low, high, strict=True))
            for pick in (min, max)]  # fmt: skip
    assert sums == pytest.approx(ends, abs=1e-10)
    tests = [float(x[tree.feature[0]] <= tree.threshold[0]) for x in (high, low)]
    parts = oblique_parts(tree.gate[0], *sums, tree.width[0], tree.blend[0], *tests)
    found = [other_share(tree, 0, x) for x in rows]
    assert min(found) >= parts[0] - 1e-12
    assert max(found) <= parts[1] + 1e-12


def test_missing_values_of_oblique_gates():
    weights, nothing = np.array([[77.0, 77.0, 77.0], [2.0, 0.0, 1.0]]), np.full(3, np.nan)
    box = np.array([[np.nan, np.nan, 3.0]] * 2)
    assert np.isnan(oblique_sums(box, weights, 1, 1.0, nothing)).all()
    assert oblique_sums(box, weights, 1, 1.0, np.array([5.0, 77.0, 77.0])) == (14.0, 14.0)


# Trees


def test_bounds_of_mixtures():
    """Of the children's bounds at the two ends of the part, the one that is worse."""
    left, right = np.array([[1, -1, 3, -1, -1], [2, -1, 4, -1, -1]], dtype=np.int32)
    leaves = {1: (0.0, 1.0), 3: (2.0, 2.5), 4: (-1.0, 0.5)}
    parts = np.array([[0.2, 0.5], [0, 0], [0.1, 0.4], [0, 0], [0, 0]])
    bounds = np.full((2, 5, 1), np.nan)
    for leaf, ends in leaves.items():
        bounds[:, leaf, 0] = ends
    box = BoxModel.of(FittedModel.of(random_tree(0)))
    trees = box.trees._replace(left=left, right=right)
    room = box._room()._replace(nodes=np.array([0, 2, 4, 3, 1]), parts=parts, bounds=bounds)
    mix_bounds(5, 0, trees, room)
    below = 0.1 * 2.0 + 0.9 * -1.0, 0.4 * 2.5 + 0.6 * 0.5
    assert bounds[:, 2, 0] == pytest.approx(below)
    lowest = min(part * 0.0 + (1 - part) * below[0] for part in (0.2, 0.5))
    assert bounds[:, 0, 0] == pytest.approx([lowest, max(part * 1.0 + (1 - part) * below[1] for part in (0.2, 0.5))])
    parts[0] = 0.0  # the box is all on the right
    mix_bounds(4, 0, trees, room)
    assert bounds[:, 0, 0] == pytest.approx(below)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("widths", ["any", 0.7])
def test_walks_through_boxes(kind, seed, widths):
    shapes = SHAPES if widths == "any" else (BOX,)
    tree = random_tree(seed, gates=KINDS[kind], widths=widths, shapes=shapes)
    box = BoxModel.of(FittedModel.of(tree))
    rng = np.random.default_rng(seed)
    for x in random_points(seed, 6, 3, missing=0.1):
        for size in (0.0, 0.3, 3.0):
            room = box_around(x, size * rng.random(3) * (rng.random(3) < 0.7), box)
            low, high = room.box
            walk_box(0, box.trees, box.ensemble, box.weights, -1, room)
            expected = box_bounds(tree, shapes, low, high, box.ensemble.is_box[0])
            assert room.bounds[0, 0] == pytest.approx(expected[0], abs=1e-9)
            assert room.bounds[1, 0] == pytest.approx(expected[1], abs=1e-9)
            found = np.array([prediction(tree, shapes, z) for z in in_box(rng, low, high, 20)])
            assert np.all((found >= expected[0] - 1e-9) & (found <= expected[1] + 1e-9))
            shares = np.array([node_shares(tree, shapes, z) for z in in_box(rng, low, high, 20)])
            reached = tree.value[(shares > 0).any(axis=0) & (tree.children_left < 0)]
            assert np.all((reached >= room.found[2]) & (reached <= room.found[3]))
            if size == 0.0:
                assert expected[0] == pytest.approx(prediction(tree, shapes, x), abs=1e-9)
                assert expected[1] == pytest.approx(expected[0], abs=1e-9)
            walk_box(0, box.trees, box.ensemble, box.weights, 1, room)
            margins = found[:, 1] - found[:, 0]
            assert np.all((margins >= room.bounds[0, 0, 0] - 1e-9) & (margins <= room.bounds[1, 0, 0] + 1e-9))
            assert room.bounds[:, 0, 1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_no_more_mass_moves_than_stated(shape, seed):
    """Sums of the differences of leaf shares, for kernels with several peaks too."""
    tree = random_tree(seed, widths=[0.5, 1.0, 2.0], shapes=(BOX, shape), n_leaves=20)
    tree = replace(tree, kernel=np.where(tree.gate == Gate.KERNEL, 1, 0).astype(np.int32))
    rates = BoxModel.of(FittedModel.of(tree)).ensemble.rates
    rng = np.random.default_rng(seed)
    leaf = tree.children_left < 0
    shapes = (BOX, shape)
    for x in random_points(seed, 8, 3):
        delta = rng.random(3) * rng.choice([0.05, 0.5])
        most = moved_mass(0, delta, rates, False)
        parts = rng.dirichlet(np.ones(3))
        here = node_shares(tree, shapes, x)[leaf]
        there = node_shares(tree, shapes, x + delta * rng.choice([-1, 1], 3))[leaf]
        assert 0.5 * np.abs(here - there).sum() <= most + 1e-12
        nearer = node_shares(tree, shapes, x + delta * parts)[leaf]
        assert 0.5 * np.abs(here - nearer).sum() <= moved_mass(0, delta, rates, True) + 1e-12


def test_moved_mass_by_hand():
    rates = np.array([[0.5, 0.0, np.inf], [0.5, 0.5, 0.0]])
    assert moved_mass(0, np.array([1.0, np.inf, 0.0]), rates, False) == 0.5
    assert moved_mass(0, np.array([0.5, 9.0, 0.1]), rates, False) == 1.0
    assert moved_mass(1, np.array([1.0, 1.0, 0.0]), rates, False) == 0.75
    assert moved_mass(1, np.array([1.0, 0.6, 0.0]), rates, True) == 0.5


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_a_tree_are_the_better_of_two(seed):
    tree = random_tree(seed, widths=3.0, shapes=(BOX,), n_leaves=60, n_features=1)
    box = BoxModel.of(FittedModel.of(tree))
    rng = np.random.default_rng(seed)
    for x in random_points(seed, 10, 1):
        delta = np.full(1, 0.1)
        room = box_around(x, delta, box)
        low, high = room.box.copy()
        centre = prediction(tree, (BOX,), x)[None]
        tree_bounds(0, False, box.trees, box.ensemble, box.weights, -1, centre, room)
        walk = box_bounds(tree, (BOX,), low, high, box.ensemble.is_box[0])
        room2 = box_around(x, delta, box)
        walk_box(0, box.trees, box.ensemble, box.weights, -1, room2)
        change = moved_mass(0, delta, box.ensemble.rates, False) * (room2.found[3] - room2.found[2])
        assert room.found[0] == pytest.approx(np.maximum(walk[0], centre[0] - change), abs=1e-9)
        assert room.found[1] == pytest.approx(np.minimum(walk[1], centre[0] + change), abs=1e-9)
        found = np.array([prediction(tree, (BOX,), z) for z in in_box(rng, low, high, 20)])
        assert np.all((found >= room.found[0] - 1e-9) & (found <= room.found[1] + 1e-9))


def test_a_shift_bounds_many_small_steps():
    """Leaves of values 0 and 1 in turn: gates that move one by one could do more than a kernel that moves."""
    n = 60
    number = np.arange(2 * n + 1)
    is_gate = (number % 2 == 0) & (number < 2 * n)  # a chain: each gate has a leaf on its left
    tree = SoftTree.from_nodes(
        children_left=np.where(is_gate, number + 1, -1), children_right=np.where(is_gate, number + 2, -1),
        feature=np.where(is_gate, 0, -1), threshold=np.where(is_gate, number / 20 - 2.0, np.nan),
        width=np.where(is_gate, 3.0, 0.0), value=number // 2 % 2, n_features=1,
    )  # fmt: skip
    box = BoxModel.of(FittedModel.of(tree))
    x = np.array([1.0])
    room = box_around(x, [0.1], box)
    low, high = room.box.copy()
    lowest, highest = box_bounds(tree, (BOX,), low, high, box.ensemble.is_box[0])
    centre = prediction(tree, (BOX,), x)[None]
    tree_bounds(0, False, box.trees, box.ensemble, box.weights, -1, centre, room)
    assert room.found[:2, 0] == pytest.approx([centre[0, 0] - 0.1 / 6, centre[0, 0] + 0.1 / 6])
    assert room.found[0, 0] > lowest[0] + 0.003
    assert room.found[1, 0] < highest[0] - 0.003


@pytest.mark.parametrize("n", [2, 4])
def test_bounds_of_the_softmax(n):
    rng = np.random.default_rng(n)
    for _ in range(30):
        low = rng.normal(size=n) * 3
        high = low + rng.random(n) * rng.choice([0.0, 1.0])
        scores = in_box(rng, low, high, 100)
        powers = np.exp(scores)
        found = np.stack([low, high, low, high])
        softmax_bounds(found, -1)
        shares = powers / powers.sum(axis=1, keepdims=True)
        assert np.all((shares >= found[0] - 1e-12) & (shares <= found[1] + 1e-12))
        if np.all(low == high):
            assert found[0] == pytest.approx(shares[0])
        # Leads of class 0: `scores` are now by how much it leads, 0 over itself.
        low[0] = high[0] = scores[:, 0] = 0.0
        powers = np.exp(-scores)
        shares = powers / powers.sum(axis=1, keepdims=True)
        found = np.stack([low, high, low, high])
        softmax_bounds(found, 0)
        lead = shares[:, :1] - shares
        assert np.all((lead[:, 1:] >= found[0, 1:] - 1e-12) & (lead[:, 1:] <= found[1, 1:] + 1e-12))


# Ensembles


def test_set_box():
    box = BoxModel.of(FittedModel.of(random_tree(0)))
    room, x = box._room(), np.array([1.0, np.nan, -2.0])
    set_box(x, np.array([0.5, 0.5, 0.0]), 2.0, -1, room)
    assert room.box[0] == pytest.approx([0.0, np.nan, -2.0], nan_ok=True)
    assert room.box[1] == pytest.approx([2.0, np.nan, -2.0], nan_ok=True)
    assert room.box[0, 0] < 0.0
    assert room.box[1, 0] > 2.0
    assert room.delta.tolist() == [1.0, 0.0, 0.0]
    set_box(x, np.array([0.5, 0.5, 0.5]), np.inf, 2, room)
    assert room.box[:, 2].tolist() == [-np.inf, np.inf]
    assert room.box[:, 0].tolist() == [1.0, 1.0]


def ensembles(seed, link="identity"):
    """A mean of trees, a sum of trees with an output each, and one of single scores."""
    few = {"widths": 0.7, "shapes": (BOX,), "n_leaves": 6}
    many = [replace(random_tree(seed + k, n_outputs=3, **few), link=link) for k in range(3)]
    single = [random_tree(seed + k, n_outputs=1, **few) for k in range(4)]
    out = [SoftForest.mean(many)]
    if link == "identity":
        out += [SoftForest.sum(single, [0, 1, 2, 1], [0.1, 0.2, 0.0]), SoftForest.sum(single, [0] * 4, [0.3])]
    return out


@pytest.mark.parametrize("link", ["identity", "softmax"])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_ensembles(seed, link):
    for forest in ensembles(seed, link):
        box = BoxModel.of(FittedModel.of(forest))
        rng = np.random.default_rng(seed)
        X = random_points(seed, 5, 3)
        for size in (0.0, 0.2):
            deltas = np.full(X.shape, size)
            none = np.full(len(X), -1)
            out = np.empty((len(X), 2, forest.n_outputs))
            centres = box._centres(X, none)
            bound_rows(X, deltas, False, none, centres, box.trees, box.ensemble, box.weights, box._room(), out)
            labels = rng.integers(max(2, forest.n_outputs), size=len(X))
            for i, x in enumerate(X):
                rows = in_box(rng, x - size, x + size, 30)
                found = forest.predict(rows)
                assert np.all((found >= out[i, 0] - 1e-9) & (found <= out[i, 1] + 1e-9))
                if size == 0.0:
                    assert out[i] == pytest.approx(found[:2], abs=1e-9)
                room = box_around(x, deltas[i], box)
                centre = box._centres(X[[i]], labels[[i]])[0]
                total_bounds(False, box.trees, box.ensemble, box.weights, labels[i], centre, ALL, room)
                if forest.n_outputs == 1:
                    lead = found if labels[i] == 1 else -found
                else:
                    lead = np.delete(found[:, labels[[i]]] - found, labels[i], axis=1)
                    room.total[0, labels[i]] = -1.0
                    assert leads(room.total, labels[i], 0.0) == (np.delete(room.total[0], labels[i]).min() > 0)
                    assert room.total[0, labels[i]] == -1.0
                low = room.total[0] if forest.n_outputs == 1 else np.delete(room.total[0], labels[i])
                assert np.all(lead >= low - 1e-9)
                if size == 0.0:
                    assert low == pytest.approx(lead[0], abs=1e-9)


def test_trees_that_do_not_use_the_reading_are_kept():
    few = {"widths": 0.7, "shapes": (BOX,), "n_leaves": 6}
    trees = [random_tree(k, n_outputs=3, n_features=3, **few) for k in range(3)]
    without = replace(trees[1], feature=np.where(trees[1].feature == 2, 0, trees[1].feature).astype(np.int32))
    box = BoxModel.of(FittedModel.of(SoftForest.mean([trees[0], without, trees[2]])))
    assert box.ensemble.rates[1, 2] == 0.0
    X = random_points(0, 1, 3)
    for label in (-1, 2):
        room, centre = box._room(), box._centres(X, np.array([label]))[0]
        set_box(X[0], np.full(3, 0.4), 0.0, ALL, room)
        total_bounds(False, box.trees, box.ensemble, box.weights, label, centre, NONE, room)
        found = []
        for only in (2, ALL):
            set_box(X[0], np.full(3, 0.4), 1.0, 2, room)
            total_bounds(False, box.trees, box.ensemble, box.weights, label, centre, only, room)
            found.append(room.total.copy())
        assert found[0] == pytest.approx(found[1], abs=1e-12)
        room.kept[1] += 3.0
        total_bounds(False, box.trees, box.ensemble, box.weights, label, centre, 2, room)
        assert room.total[:, 0] == pytest.approx(found[0][:, 0] + 1.0)


def test_leads():
    assert leads(np.array([[0.2, -9.0, 0.1], [0.0, 0.0, 0.0]]), 1, 0.05)
    assert not leads(np.array([[0.2, -9.0, 0.1], [0.0, 0.0, 0.0]]), 1, 0.1)
    assert not leads(np.array([[0.2, np.nan], [0.0, 0.0]]), 0, 0.0)
    assert leads(np.array([[0.2], [0.0]]), 0, 0.0)


@pytest.mark.parametrize("border", [0.0, 1e-9, 0.3, 1.0, 7.5, 1e6])
def test_the_search_finds_the_border(border):
    scale, low, high = 0.0, 0.0, np.inf
    steps = 0
    while scale >= 0.0:
        scale, low, high = next_scale(scale, low, high, scale < border)
        steps += 1
    assert low <= border
    assert low == pytest.approx(border, rel=2e-6)
    assert steps < 70


def test_the_search_ends_at_infinity():
    assert next_scale(0.0, 0.0, np.inf, True) == (np.inf, 0.0, np.inf)
    assert next_scale(np.inf, 0.0, np.inf, True)[:2] == (-1.0, np.inf)
    scale, low, high = 0.0, 0.0, np.inf
    while scale >= 0.0:  # all but infinite boxes are certain, as with sigmoids
        scale, low, high = next_scale(scale, low, high, scale < np.inf)
    assert 1e30 < low < 1e31


@pytest.mark.parametrize("is_ball", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_searches(is_ball, seed):
    """The largest certain box of a list of boxes is the one below what the search finds."""
    forest = ensembles(seed)[0]
    box = BoxModel.of(FittedModel.of(forest))
    X = random_points(seed, 3, 3)
    labels = forest.predict(X).argmax(axis=1)
    centres = box._centres(X, labels)
    deltas = np.full(X.shape, 0.5)
    deltas[0, 1] = 0.0
    out = np.full((3, 1 if is_ball else 3), 77.0)
    search_rows(X, deltas, is_ball, labels, centres, box.trees, box.ensemble, box.weights, box._room(), out)
    for i, k in np.ndindex(out.shape):
        if not is_ball and deltas[i, k] == 0.0:
            assert out[i, k] == 77.0
            continue
        for factor in (0.5, 0.999, 1.001, 2.0):
            if out[i, k] == np.inf or out[i, k] == 0.0:
                continue
            room = box._room()
            set_box(X[i], deltas[i], factor * out[i, k], -1 if is_ball else k, room)
            total_bounds(is_ball, box.trees, box.ensemble, box.weights, labels[i], centres[i], ALL, room)
            assert leads(room.total, labels[i], box.ensemble.slack) == (factor < 1)
