"""Complete trees as a layer: equal to finished trees, right gradients, an ordinary module."""

import copy
import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from softwood.datasets import toy_classification
from softwood.nn import TreeLayer
from softwood.nn.operators import route, route_backward, walk, walk_backward
from softwood.nn.trees import Trees
from softwood.stream import SmoothStepTreeClassifier

GATES = ("smooth_step", "sigmoid", "kernel")
gates = pytest.mark.parametrize("gate", GATES)
# Few rows are computed gate by gate, and many, if they reach many gates, by matrix products.
sizes = pytest.mark.parametrize("n", [1, 5, 40])


def new_layer(gate, seed=0, **settings):
    torch.manual_seed(seed)
    return TreeLayer(4, 3, **({"n_trees": 3, "depth": 3, "gate": gate, "dtype": torch.float64} | settings))


def rows(n, seed=1, dtype=torch.float64):
    return torch.randn((n, 4), generator=torch.Generator().manual_seed(seed), dtype=dtype)


@gates
@sizes
@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_equal_to_the_finished_trees(gate, n, dtype, within):
    layer, x = new_layer(gate, dtype=dtype), rows(n, dtype=dtype)
    found = layer(x)
    assert found.dtype == dtype
    expected = layer.to_tree().predict(x.double().numpy())
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=0, atol=within)


@gates
def test_missing_values_and_ways_of_computing(gate):
    """Gate by gate, by matrix products and as tensor operations: outputs and all derivatives agree."""
    layer, x = new_layer(gate), rows(40)
    slope = torch.randn((40, 3), dtype=torch.float64)
    for missing in (False, True):
        if missing:
            x[::3, 1] = torch.nan
            x[1, :] = torch.nan
        found = []
        for way in (layer, lambda x: layer.trees.as_tensors(x, *layer._arguments()).mean(dim=1), _by_gates(layer)):
            points = x.clone().requires_grad_()
            layer.zero_grad()
            outputs = way(points)
            (outputs * slope).sum().backward()
            found.append([outputs.detach(), points.grad, *(p.grad for p in layer.parameters())])
        for other in found[1:]:
            for one, two in zip(found[0], other, strict=True):
                torch.testing.assert_close(two, one, rtol=0, atol=1e-13)
        expected = layer.to_tree().predict(x.numpy())
        np.testing.assert_allclose(found[0][0], expected, rtol=0, atol=1e-12)


def _by_gates(layer):
    def way(x):
        weights, numbers, value = layer._arguments()
        return walk(x, weights, numbers, value, *layer.trees.arguments()).mean(dim=1)

    return way


@gates
@pytest.mark.parametrize("n", [2, 9])
def test_gradcheck(gate, n):
    """Random rows are away from the kinks, for the derivative there is one of the two sides'."""
    layer, x = new_layer(gate, depth=2, n_trees=2), rows(n).requires_grad_()
    names, parameters = zip(*layer.named_parameters(), strict=True)

    def outputs(x, *values):
        return torch.func.functional_call(layer, dict(zip(names, values, strict=True)), (x,))

    assert torch.autograd.gradcheck(outputs, (x, *parameters), eps=1e-6, atol=1e-7)


@gates
def test_operators_follow_the_rules_of_torch(gate):
    layer, x = new_layer(gate, depth=2, n_trees=2), rows(9).requires_grad_()
    weights, numbers, value = (t.detach().requires_grad_() for t in layer._arguments())
    structure = layer.trees.arguments()
    # schema, fake tensors and autograd registration; gradients are compared above
    tests = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    torch.library.opcheck(walk, (x, weights, numbers, value, *structure), test_utils=tests)
    slope = torch.ones((9, 2, 3), dtype=torch.float64)
    for wanted in ((True, True), (False, False)):
        arguments = (slope, x.detach(), weights.detach(), numbers.detach(), value.detach(), *structure, *wanted)
        torch.library.opcheck(walk_backward, arguments, test_utils=("test_schema", "test_faketensor"))
    if gate != "kernel":
        z = torch.rand((len(weights), 9), dtype=torch.float64, requires_grad=True)
        gamma = 0.0 if gate == "sigmoid" else 1.0
        torch.library.opcheck(route, (z, value, *structure[:3], gamma), test_utils=tests)
        arguments = (slope, z.detach(), value.detach(), *structure[:3], gamma)
        torch.library.opcheck(route_backward, arguments, test_utils=("test_schema", "test_faketensor"))


def test_all_gates_are_computed_if_most_are_reached(monkeypatch):
    """The choice does not change results, so look at what was called."""
    called = []
    monkeypatch.setattr(Trees, "_routed", lambda self, *rest: called.append(1) or torch.zeros((40, 3, 3)))
    x = rows(40, dtype=torch.float32)
    new_layer("smooth_step", gamma=50.0, depth=8, dtype=torch.float32)(x)
    assert len(called) == 1
    new_layer("smooth_step", gamma=0.001, depth=8, dtype=torch.float32)(x)
    assert len(called) == 1
    new_layer("sigmoid", dtype=torch.float32)(x)
    assert len(called) == 2


def test_many_rows_are_computed_in_parts(monkeypatch):
    layer, x = new_layer("sigmoid"), rows(700)
    expected = layer(x)
    monkeypatch.setattr("softwood.nn.trees.MOST_NUMBERS", 1)
    torch.testing.assert_close(layer(x), expected, rtol=0, atol=1e-14)


@gates
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch uses it within its own compiler
def test_compile_and_export(gate):
    layer, x = new_layer(gate, depth=2, n_trees=2, dtype=torch.float32), rows(9, dtype=torch.float32)
    x[0, 0] = torch.nan
    expected = layer(x)
    compiled = torch.compile(layer, fullgraph=True, backend="inductor" if gate == "kernel" else "aot_eager")
    found = compiled(x)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    found.square().sum().backward()
    slopes = [parameter.grad.clone() for parameter in layer.parameters()]
    layer.zero_grad()
    layer(x).square().sum().backward()
    for one, two in zip(slopes, layer.parameters(), strict=True):
        torch.testing.assert_close(one, two.grad, rtol=0, atol=1e-5)
    exported = torch.export.export(layer, (x,), dynamic_shapes=({0: torch.export.Dim("n", min=2)},))
    torch.testing.assert_close(exported.module()(x[:5]), expected[:5], rtol=0, atol=1e-6)


@gates
def test_state_copies_and_files(gate):
    layer, x = new_layer(gate), rows(20)
    expected = layer(x)
    other = new_layer(gate, seed=5)
    assert not torch.equal(other(x), expected)
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other(x), expected)
    twin = copy.deepcopy(layer)
    with torch.no_grad():
        layer.value += 1
    assert torch.equal(twin(x), expected)
    assert torch.equal(twin.double().float().double()(x).round(decimals=4), expected.round(decimals=4))


@gates
def test_several_threads(gate):
    layer, parts = new_layer(gate, depth=6), rows(400).split(20)
    expected = [layer(part) for part in parts]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(layer, parts))
    assert all(torch.equal(one, two) for one, two in zip(found, expected, strict=True))


@gates
def test_shapes(gate):
    layer = new_layer(gate, dtype=torch.float32)
    assert layer(torch.empty((0, 4))).shape == (0, 3)
    assert layer(torch.zeros(4)).shape == (3,)
    assert layer(torch.zeros((2, 5, 4))).shape == (2, 5, 3)
    assert layer(torch.zeros((2, 0, 4))).shape == (2, 0, 3)
    layer(torch.empty((0, 4))).sum().backward()
    assert not layer.value.grad.any()
    one, all_trees = rows(9, dtype=torch.float32), new_layer(gate, reduce=None, dtype=torch.float32)
    assert all_trees(one).shape == (9, 3, 3)
    total = new_layer(gate, reduce="sum", dtype=torch.float32)
    torch.testing.assert_close(total(one), all_trees(one).sum(dim=1), rtol=0, atol=1e-6)
    np.testing.assert_allclose(total(one).detach(), total.to_tree().predict(one.double().numpy()), atol=1e-5)
    assert repr(layer).startswith("TreeLayer(")


def test_evaluation_mode_and_autocast():
    layer, x = new_layer("smooth_step", dtype=torch.float32), rows(20, dtype=torch.float32)
    expected = layer(x)
    assert torch.equal(layer.eval()(x), expected)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(layer(x), expected)
        halves = torch.nn.Linear(4, 4)(x)
        assert halves.dtype == torch.bfloat16
        found = layer(halves)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, layer(halves.float()), rtol=0, atol=0)


def test_clear_errors():
    layer = new_layer("smooth_step", dtype=torch.float32)
    with pytest.raises(ValueError, match=r"TreeLayer takes inputs of shape \(..., 4\), got \(2, 5\)"):
        layer(torch.zeros((2, 5)))
    with pytest.raises(TypeError, match=r"takes a torch\.Tensor, got ndarray"):
        layer(np.zeros((2, 4)))
    with pytest.raises(TypeError, match=r"floating-point inputs, got torch\.int64"):
        layer(torch.zeros((2, 4), dtype=torch.int64))
    with pytest.raises(TypeError, match=r"Convert the layer with .to\(torch.float64\)"):
        layer(torch.zeros((2, 4), dtype=torch.float64))
    with pytest.raises(TypeError, match=r"float32 or float64, got torch\.bfloat16"):
        layer.to(torch.bfloat16)(torch.zeros((2, 4), dtype=torch.bfloat16))
    with pytest.raises(ValueError, match="on meta, and its parameters on cpu"):
        new_layer("sigmoid")(torch.zeros((2, 4), dtype=torch.float64, device="meta"))
    for name, value in (("gate", "step"), ("gamma", 0), ("depth", 0), ("depth", 17), ("reduce", "max"), ("n_trees", 0)):
        with pytest.raises(ValueError, match=f"The '{name}' parameter of TreeLayer must be"):
            TreeLayer(4, 3, **{name: value})
    with pytest.raises(ValueError, match="reduce is None"):
        new_layer("sigmoid", reduce=None).to_tree()
    with pytest.raises(ValueError, match="needs finite values"):
        new_layer("sigmoid").init_from_data(torch.full((3, 4), torch.inf, dtype=torch.float64))
    with pytest.raises(ValueError, match="at least one row"):
        new_layer("sigmoid").init_from_data(torch.empty((0, 4), dtype=torch.float64))


@gates
def test_init_from_data(gate):
    """Rows far from 0 and of other scales are divided as standardised ones are; a constant column does no harm."""
    x = rows(500) * torch.tensor([100.0, 1e-3, 1.0, 0.0]) + torch.tensor([1e4, 5.0, -3.0, 2.0])
    x[::7, 2] = torch.nan
    layer = new_layer(gate, depth=2, gamma=0.5)
    layer.init_from_data(x)
    assert all(torch.isfinite(parameter).all() for parameter in layer.parameters())
    shares = layer.trees.as_tensors(x, *layer._arguments()[:2], torch.ones((12, 1), dtype=torch.float64))
    torch.testing.assert_close(shares, torch.ones_like(shares))
    if gate != "kernel":
        z = x.nan_to_num() @ layer.weight.flatten(0, 1).T + layer.bias.flatten()
        above = (z[~x.isnan().any(dim=1)] > 0).double().mean(dim=0)
        assert ((above > 0.15) & (above < 0.85)).all()
    else:
        above = (x[:, layer.feature.flatten()] > layer.threshold.flatten()).double().mean(dim=0)
        assert (above[layer.feature.flatten() != 3] > 0.15).all()


def test_training_gives_the_accuracy_of_the_estimator():
    X, y = toy_classification("gaussians", 3000, random_state=0)
    model = SmoothStepTreeClassifier(max_depth=5, random_state=0)
    for _ in range(4):
        model.partial_fit(X[:1500], y[:1500], classes=[0, 1, 2])
    torch.manual_seed(0)
    layer = TreeLayer(2, 3)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.02)
    x = torch.tensor((X - X[:1500].mean(axis=0)) / X[:1500].std(axis=0), dtype=torch.float32)
    target = torch.tensor(y)
    for _ in range(4):
        for part in torch.randperm(1500).split(16):
            optimizer.zero_grad()
            cross_entropy(layer(x[part]), target[part]).backward()
            optimizer.step()
    accuracy = float((layer(x[1500:]).argmax(dim=1) == target[1500:]).double().mean())
    assert abs(accuracy - model.score(X[1500:], y[1500:])) <= 0.01
