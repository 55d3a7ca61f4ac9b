"""The soft Hoeffding tree as a layer: it grows and scores like the stream model, and optimisers go on."""

import copy
import io

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, mse_loss

from softwood.nn import GrowingTreeLayer
from softwood.stream import SEA, Agrawal, RandomRBF, SoftHoeffdingTreeClassifier

EAGER = {"grace_period": 60, "delta": 0.05, "tau": 0.2, "max_depth": 4}


def new_layer(n_features, n_classes, **settings):
    torch.manual_seed(0)
    layer = GrowingTreeLayer(n_features, n_classes, **({"dtype": torch.float64} | EAGER | settings))
    return layer, torch.optim.Adam(layer.parameters(), lr=0.01)


def train(layer, optimizer, X, y, size=1):
    """Test then train; returns accuracy and cross-entropy before each row was learned."""
    right, loss_sum = 0, 0.0
    x, target = torch.tensor(X).to(layer.mean), torch.tensor(y)
    for rows in torch.arange(len(x)).split(size):
        outputs = layer(x[rows], target[rows])
        loss = cross_entropy(outputs, target[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        layer.grow(optimizer)
        right += int((outputs.argmax(dim=1) == target[rows]).sum())
        loss_sum += float(loss.detach()) * len(rows)
    return right / len(x), loss_sum / len(x)


@pytest.fixture(scope="module")
def grown():
    """A layer that has grown, in batches, with its optimiser and the rows."""
    X, y = Agrawal(seed=2).take(1500)
    layer, optimizer = new_layer(X.shape[1], 2)
    train(layer, optimizer, X[:600], y[:600], size=8)
    assert len(layer.log) >= 3
    return layer, optimizer, X, y


@pytest.mark.parametrize("stream", [SEA(seed=1), Agrawal(seed=1), RandomRBF(seed=1)], ids=lambda s: type(s).__name__)
def test_row_by_row_it_is_the_stream_model(stream):
    """The full comparison, with the settings of the paper, is in benchmarks/torch_layers.py."""
    X, y = stream.take(900)
    model = SoftHoeffdingTreeClassifier.as_published(**EAGER, random_state=0)
    shares = model.test_then_train(X, y, classes=[0, 1])
    layer, optimizer = new_layer(X.shape[1], 2)
    accuracy, loss = train(layer, optimizer, X, y)
    assert len(model.log_) >= 3
    assert len(layer.log) >= 3
    assert abs(accuracy - np.mean(shares.argmax(axis=1) == y)) <= 0.01
    assert loss == pytest.approx(-np.log(shares[np.arange(len(y)), y]).mean(), rel=0.05)


def test_growing_keeps_what_the_optimiser_knows():
    X, y = SEA(seed=3).take(600)
    layer, _ = new_layer(3, 2)
    other = torch.nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.Adam([other, *layer.parameters()], lr=0.01)
    n_grown = 0
    x, target = torch.tensor(X), torch.tensor(y)
    for rows in torch.arange(len(x)).split(4):
        cross_entropy(layer(x[rows], target[rows]), target[rows]).backward()
        optimizer.step()
        optimizer.zero_grad()
        old = {p: copy.deepcopy(optimizer.state[p]) for p in layer.parameters() if p in optimizer.state}
        values = [value.detach().clone() for value in layer.values]
        weights = list(layer.weights)
        events = layer.grow(optimizer)
        assert all(one is two for one, two in zip(layer.weights, weights, strict=False))
        for parameter, state in old.items():
            for name, kept in state.items():
                assert torch.equal(optimizer.state[parameter][name], kept)
        if events:
            n_grown += 1
            assert len(layer.values) == len(layer.weights) + 1 == len(values) + len(events)
            held = [p for group in optimizer.param_groups for p in group["params"]]
            assert [id(p) for p in held] == [id(other), *(id(p) for p in layer.parameters())]
            assert len(optimizer.param_groups) == 1
            # Both new leaves go on with the moments of the leaf that was split; the new gate has none yet.
            split = [i for i, value in enumerate(values) if not torch.equal(layer.values[i], value)]
            assert len(split) == len(events)
            twins = zip(split, layer.values[len(values) :], strict=True) if len(events) == 1 else []
            for line, new in twins:
                for name, kept in optimizer.state[layer.values[line]].items():
                    assert torch.equal(optimizer.state[new][name], kept)
                    assert optimizer.state[new][name] is not kept
            assert not any(p in optimizer.state for p in layer.weights[len(weights) :])
    assert n_grown >= 2


def test_nothing_that_a_row_does_not_reach_moves(grown):
    layer, _, X, _ = grown
    layer = copy.deepcopy(layer)
    layer(torch.tensor(X[:1])).sum().backward()
    reached = [value.grad is not None for value in layer.values]
    assert any(reached)
    assert not all(reached)
    shares = layer.to_tree().memberships(X[:1]).toarray()[0]
    assert sum(reached) == np.count_nonzero(shares[layer.to_tree().children_left < 0])


@pytest.mark.parametrize("missing", [False, True])
def test_equal_to_the_finished_tree(grown, missing):
    layer, _, X, _ = grown
    points = X[:50].copy()
    if missing:
        points[::3, 2] = np.nan
    layer = copy.deepcopy(layer).eval()
    found = layer(torch.tensor(points)).detach().numpy()
    np.testing.assert_allclose(found, layer.to_tree().raw(points), rtol=0, atol=1e-11)
    as_tensors = layer.trees.as_tensors(torch.tensor(points), *layer._arguments(torch.tensor(points)))[:, 0]
    np.testing.assert_allclose(as_tensors.detach(), found, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        layer.float()(torch.tensor(points).float()).detach(), found, rtol=0, atol=1e-3
    )  # tests of float32 rows may fall to the other side of a threshold


def test_gradients(grown):
    layer, _, X, _ = grown
    layer = copy.deepcopy(layer).eval()
    x = torch.tensor(X[:4]).requires_grad_()
    names, parameters = zip(*layer.named_parameters(), strict=True)

    def outputs(x, *values):
        return torch.func.functional_call(layer, dict(zip(names, values, strict=True)), (x,))

    # The columns of the stream have very different scales.
    assert torch.autograd.gradcheck(lambda *values: outputs(x.detach(), *values), parameters, eps=1e-6, atol=1e-6)
    slopes = torch.autograd.grad(layer(x).square().sum(), x)[0].numpy()
    tree = layer.to_tree()
    expected = np.stack([numeric(tree, X[i]) for i in range(4)])
    np.testing.assert_allclose(slopes, expected, rtol=1e-4, atol=1e-8 * np.abs(expected).max())


def numeric(tree, x):
    """Derivative of the sum of squared outputs, by differences that fit the scale of each column."""
    slopes = np.zeros(len(x))
    for j, scale in enumerate(tree.scale):
        step = 1e-5 * scale * np.eye(len(x))[j]
        sums = [(tree.raw((x + sign * step)[None]) ** 2).sum() for sign in (1, -1)]
        slopes[j] = (sums[0] - sums[1]) / (2e-5 * scale)
    return slopes


def test_a_grown_state_loads_into_a_new_layer(grown):
    layer, optimizer, X, y = grown
    file = io.BytesIO()
    torch.save({"layer": layer.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    found = torch.load(file, weights_only=True)
    net = torch.nn.Sequential(new_layer(X.shape[1], 2)[0])
    net.load_state_dict({f"0.{name}": value for name, value in found["layer"].items()})
    other, twin = net[0], copy.deepcopy(layer)
    other_optimizer, twin_optimizer = (torch.optim.Adam(each.parameters(), lr=0.01) for each in (other, twin))
    for each in (other_optimizer, twin_optimizer):
        each.load_state_dict(copy.deepcopy(found["optimizer"]))
    assert other.log == layer.log
    # Both go on, and grow, alike.
    assert train(other, other_optimizer, X[600:], y[600:], 8) == train(twin, twin_optimizer, X[600:], y[600:], 8)
    assert other.log == twin.log
    assert len(other.log) > len(layer.log)
    # Also into a layer that has grown further.
    other.load_state_dict(found["layer"])
    x = torch.tensor(X[:20])
    assert torch.equal(other.eval()(x), copy.deepcopy(layer).eval()(x))


def test_damaged_states(grown):
    layer, _, X, _ = grown
    target = new_layer(X.shape[1], 2)[0]
    state = layer.state_dict()
    lost = {name: value for name, value in state.items() if name != "values.2"}
    broken = copy.deepcopy(state)
    broken["_extra_state"]["arrays"]["nodes"][0, 0] = 99
    for damaged in (lost, broken):
        with pytest.raises(ValueError, match="The state of GrowingTreeLayer"):
            target.load_state_dict(damaged)
    with pytest.raises(RuntimeError, match="_extra_state"):
        target.load_state_dict({name: value for name, value in state.items() if name != "_extra_state"})
    with pytest.raises(ValueError, match="The state of GrowingTreeLayer"):
        new_layer(X.shape[1] + 1, 2)[0].load_state_dict(state)
    assert len(target.values) == 1


def assert_same_state(one, two):
    for name, array in one["_extra_state"]["arrays"].items():
        np.testing.assert_array_equal(array, two["_extra_state"]["arrays"][name])


def test_evaluation_changes_nothing(grown):
    layer, _, X, y = grown
    layer = copy.deepcopy(layer).eval()
    before = layer.state_dict()
    layer(torch.tensor(X[:50]), torch.tensor(y[:50]))
    after = layer.state_dict()
    assert_same_state(before, after)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(torch.tensor(X[:9])), layer(torch.tensor(X[:9])), rtol=0, atol=1e-12)


def test_regression():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 2))
    target = 3.0 * (X[:, 0] > 0.2) + 0.1 * rng.normal(size=3000)
    torch.manual_seed(0)
    layer = GrowingTreeLayer(2, 1, task="regression", leaf_init=1.0, **EAGER)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    x, y = torch.tensor(X, dtype=torch.float32), torch.tensor(target, dtype=torch.float32)
    for rows in torch.arange(3000).split(10):
        loss = mse_loss(layer(x[rows], y[rows])[:, 0], y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        layer.grow(optimizer)
    assert layer.log[0].feature == 0
    assert abs(layer.log[0].threshold - 0.2) < 0.1
    layer.eval()
    assert float(mse_loss(layer(x)[:, 0].detach(), y)) < 0.15 * np.var(target)
    np.testing.assert_allclose(layer(x).detach(), layer.to_tree().predict(X), rtol=0, atol=1e-4)


def test_shapes_and_clear_errors():
    layer, optimizer = new_layer(3, 2)
    assert layer(torch.empty((0, 3), dtype=torch.float64)).shape == (0, 2)
    assert layer(torch.zeros((2, 4, 3), dtype=torch.float64), torch.zeros((2, 4), dtype=torch.int64)).shape == (2, 4, 2)
    x = torch.zeros((2, 3), dtype=torch.float64)
    seen = copy.deepcopy(layer.state_dict())
    for target, message in (
        (torch.tensor([0, 2]), r"Classes must be in the range \[0, 2\)"),
        (torch.tensor([0]), r"target must have the shape \(2,\), got \(1,\)"),
        (torch.tensor([0.0, 1.0]), "must be whole numbers"),
        ([0, 1], "target must have the shape"),
    ):
        with pytest.raises(ValueError, match=message):
            layer(x, target)
    with pytest.raises(ValueError, match="takes inputs of shape"):
        layer(torch.zeros((2, 4)))
    with pytest.raises(ValueError, match="none of the parameters of this layer"):
        layer.grow(torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))]))
    assert_same_state(layer.state_dict(), seen)
    assert layer.grow(optimizer) == layer.grow(None) == []
    with pytest.raises(ValueError, match="finite floating-point"):
        GrowingTreeLayer(3, 1, task="regression").double()(x, torch.tensor([0.0, torch.inf]))
    with pytest.raises(ValueError, match="out_features=1"):
        GrowingTreeLayer(3, 2, task="regression")
    with pytest.raises(ValueError, match="The 'alpha' parameter of GrowingTreeLayer must be"):
        GrowingTreeLayer(3, 2, alpha=2)
    assert "n_leaves=1" in repr(layer)
