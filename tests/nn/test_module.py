"""Fitted trees of any family as modules, and back."""

import copy
import io

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from softwood import (
    KernelBoostingClassifier,
    KernelForestRegressor,
    KernelTreeClassifier,
    LinearDiscriminantTreeClassifier,
    SoftForest,
    SoftTreeClassifier,
    export_text,
)
from softwood.nn import TreeModule
from softwood.stream import SmoothStepTreeClassifier, SoftHoeffdingTreeClassifier
from softwood.trees.gates import Gate
from softwood.trees.nodes import NODE_TYPES
from softwood.trees.tree import SoftTree
from tests.reference.trees import ALL_GATES, random_points, random_tree

X, Y = load_iris(return_X_y=True)
KINDS = [*[(gate,) for gate in ALL_GATES], ALL_GATES]
kinds = pytest.mark.parametrize("gates", KINDS, ids=lambda gates: "+".join(Gate(g).name for g in gates))
dtypes = pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
MODELS = [
    KernelTreeClassifier(bandwidth=0.3, max_leaf_nodes=8),
    KernelForestRegressor(bandwidth=0.3, n_estimators=3, max_leaf_nodes=6, random_state=0),
    KernelBoostingClassifier(bandwidth=0.3, max_iter=3, random_state=0),
    SoftTreeClassifier(random_state=0),
    LinearDiscriminantTreeClassifier(),
    SoftHoeffdingTreeClassifier(grace_period=20, random_state=0),
    SmoothStepTreeClassifier(max_depth=3, random_state=0),
]


def assert_same(one, two):
    for name in [*NODE_TYPES, "value", "weights", "center", "scale"]:
        if getattr(one, name) is None:
            assert getattr(two, name) is None
        else:
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name), strict=True)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@dtypes
def test_fitted_models(model, dtype, within):
    """Equal predictions, and the same tree back, in float32 too."""
    model = model.fit(X, Y)
    trees = model.forest_ if hasattr(model, "forest_") else model.tree_
    module = TreeModule.from_tree(model, dtype=dtype)
    points = X.astype(np.float32).astype(np.float64)
    points[::4, 1], points[::5, 2] = np.nan, np.nan
    found = module(torch.tensor(points, dtype=dtype)).detach().numpy()
    np.testing.assert_allclose(found, trees.predict(points), rtol=0, atol=within)
    assert_same(trees, module.to_tree())
    assert_same(trees, module.double().to_tree())
    assert_same(trees, module.float().to_tree())


@kinds
@dtypes
@pytest.mark.parametrize("link", ["identity", "softmax"])
def test_random_trees(gates, dtype, within, link):
    tree = random_tree(0, gates=gates, n_outputs=3)
    tree = SoftTree(**(vars_of(tree) | {"link": link}))
    points = random_points(1, 60, 3, missing=0.1).astype(np.float32).astype(np.float64)
    module = TreeModule.from_tree(tree, dtype=dtype)
    x = torch.tensor(points, dtype=dtype)
    np.testing.assert_allclose(module(x).detach(), tree.predict(points), rtol=0, atol=within)
    as_tensors = module._linked(module.trees.as_tensors(x, *module._arguments()))
    np.testing.assert_allclose(as_tensors.detach(), tree.predict(points), rtol=0, atol=within)
    raw = TreeModule.from_tree(tree, dtype=dtype, output="raw")(x)
    np.testing.assert_allclose(raw.detach(), tree.raw(points), rtol=0, atol=within)


def vars_of(tree):
    names = [*NODE_TYPES, "value", "weights", "n_features", "shapes", "link", "center", "scale"]
    return {name: getattr(tree, name) for name in names}


@kinds
def test_gradcheck(gates):
    tree = random_tree(3, gates=gates, n_leaves=7, widths=2.5)
    module = TreeModule.from_tree(tree, dtype=torch.float64)
    names, parameters = zip(*module.named_parameters(), strict=True)
    x = torch.tensor(random_points(2, 6, 3)).requires_grad_()

    def outputs(x, *values):
        return torch.func.functional_call(module, dict(zip(names, values, strict=True)), (x,))

    assert torch.autograd.gradcheck(outputs, (x, *parameters), eps=1e-6, atol=1e-7)
    module(x).square().sum().backward()
    found, points = x.grad, x.detach().numpy()
    slopes = 2 * tree.predict(points)[:, :, None] * tree.input_gradient(points)
    np.testing.assert_allclose(found, slopes.sum(axis=1), rtol=0, atol=1e-10)


@pytest.mark.parametrize("sizes", [(5, 1, 9), (4, 4, 4)])
def test_forests_of_any_shape(sizes):
    trees = [random_tree(seed, n_leaves=n, gates=ALL_GATES) for seed, n in enumerate(sizes)]
    points = random_points(4, 30, 3, missing=0.1)
    base = np.array([0.3, -1.0, 2.0])
    for forest in (SoftForest.mean(trees), SoftForest.sum(trees, [1, 0, 1], base)):
        module = TreeModule.from_tree(forest, dtype=torch.float64)
        x = torch.tensor(points)
        np.testing.assert_allclose(module(x).detach(), forest.predict(points), rtol=0, atol=1e-12)
        as_tensors = module._linked(module.trees.as_tensors(x, *module._arguments()))
        np.testing.assert_allclose(as_tensors.detach(), forest.predict(points), rtol=0, atol=1e-12)
        assert_same(forest, module.to_tree())


def test_training_and_reading_it_again():
    """Fine-tuned numbers come back, others stay as they were, and the tree can be read."""
    model = KernelTreeClassifier(bandwidth=0.5, max_leaf_nodes=6).fit(X, Y)
    module = TreeModule.from_tree(model)
    x, y = torch.tensor(X, dtype=torch.float32), torch.tensor(Y)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    losses = []
    for _ in range(30):
        loss = torch.nn.functional.nll_loss(torch.log(module(x).clamp(min=1e-6)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.8 * losses[0]
    tree = module.to_tree()
    np.testing.assert_allclose(tree.predict(X), module(x).detach(), rtol=0, atol=1e-5)
    assert not np.array_equal(tree.threshold, model.tree_.threshold)
    np.testing.assert_array_equal(tree.mass, model.tree_.mass)
    root = np.average(tree.value[[1, tree.children_right[0]]], axis=0, weights=tree.mass[[1, tree.children_right[0]]])
    np.testing.assert_allclose(tree.value[0], root)
    assert "mass" in export_text(tree)


def test_frozen_gates():
    tree = random_tree(0, gates=ALL_GATES)
    module = TreeModule.from_tree(tree, train_gates=False, dtype=torch.float64)
    module(torch.tensor(random_points(0, 20, 3))).sum().backward()
    assert [name for name, p in module.named_parameters() if p.grad is not None] == ["value"]
    with torch.no_grad():
        module.value += 1.0
    found = module.to_tree()
    np.testing.assert_array_equal(found.threshold, tree.threshold)
    np.testing.assert_array_equal(found.weights, tree.weights)
    np.testing.assert_allclose(found.value[tree.children_left < 0], tree.value[tree.children_left < 0] + 1.0)


def test_a_width_below_zero_is_a_crisp_test():
    tree = random_tree(1, widths=1.0)
    module = TreeModule.from_tree(tree, dtype=torch.float64)
    with torch.no_grad():
        module.width.fill_(-0.5)
    points = random_points(3, 20, 3)
    np.testing.assert_array_equal(module(torch.tensor(points)).detach(), tree.crisp().predict(points))
    assert module.to_tree().is_crisp


def test_state_copies_files_and_export():
    tree = random_tree(2, gates=(Gate.KERNEL, Gate.SIGMOID))
    module, other = (TreeModule.from_tree(tree) for _ in range(2))
    x = torch.tensor(random_points(0, 12, 3), dtype=torch.float32)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.1
    other.load_state_dict(module.state_dict())
    assert torch.equal(other(x), module(x))
    assert torch.equal(copy.deepcopy(module)(x), module(x))
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False)(x), module(x))
    exported = torch.export.export(module, (x,))
    torch.testing.assert_close(exported.module()(x), module(x), rtol=0, atol=1e-6)


def test_clear_errors():
    with pytest.raises(NotFittedError):
        TreeModule.from_tree(KernelTreeClassifier())
    with pytest.raises(TypeError, match=r"TreeModule.from_tree takes a fitted estimator of softwood"):
        TreeModule.from_tree("tree")
    with pytest.raises(TypeError, match="SoftTree or SoftForest, got int"):
        TreeModule(3)
    tree = random_tree(0, gates=(Gate.SIGMOID,))
    with pytest.raises(ValueError, match="The 'output' parameter of TreeModule must be"):
        TreeModule.from_tree(tree, output="logits")
    with pytest.raises(ValueError, match="no raw output"):
        TreeModule.from_tree(SoftForest.mean([SoftTree(**(vars_of(tree) | {"link": "softmax"}))]), output="raw")
    module = TreeModule.from_tree(tree)
    with pytest.raises(ValueError, match=r"TreeModule takes inputs of shape \(..., 3\), got \(2,\)"):
        module(torch.zeros(2))
    with torch.no_grad():
        module.bias[0] = torch.nan
    with pytest.raises(ValueError, match="'bias' of TreeModule has values that are not finite"):
        module.to_tree()
