"""Size and bandwidth chosen together: against trees of each size that are fitted and scored one by one."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from softwood import KernelTreeClassifier, KernelTreeRegressor
from softwood.density.choosing import AUTO_GRID, content_folds
from softwood.density.sizing import SizePath

both = pytest.mark.parametrize("model_class", [KernelTreeClassifier, KernelTreeRegressor])


def table(model_class, n=90, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    signal = X[:, 0] + X[:, 1] * (X[:, 0] > 0) + np.random.default_rng(seed + 1).normal(scale=0.3, size=n)
    return X, np.digitize(signal, [-0.5, 0.7]) if model_class is KernelTreeClassifier else signal


def columns(model):
    """Losses by bandwidth, (n_sizes,) each."""
    path = {name: np.asarray(column) for name, column in model.size_path_.items()}
    assert len({len(column) for column in path.values()}) == 1
    found = {}
    for scale in np.unique(path["bandwidth"]):
        rows = path["bandwidth"] == scale
        assert path["max_leaf_nodes"][rows].tolist() == list(range(1, rows.sum() + 1))
        found[scale] = path["loss"][rows], path["standard_error"][rows]
    return found


@both
@pytest.mark.parametrize("prediction_kernel", ["same", None])
def test_losses_are_those_of_trees_of_each_size(model_class, prediction_kernel):
    X, y = table(model_class)
    weights = np.random.default_rng(5).integers(1, 3, size=len(X)).astype(float)
    model = model_class(max_leaf_nodes="auto", prediction_kernel=prediction_kernel, random_state=3).fit(X, y, weights)
    seed = int(np.random.RandomState(3).randint(np.iinfo(np.int32).max))
    deviations = model.bandwidths_ / model.bandwidth_
    found = columns(model)
    assert list(found) == sorted(AUTO_GRID.tolist())
    scale_of_targets = (
        1.0
        if model_class is KernelTreeClassifier
        else np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
    )
    for scale in (0.1, 0.65):
        for size in (2, 5, 12):
            plain = clone(model).set_params(
                max_leaf_nodes=size, bandwidth=(scale * deviations).tolist(), bandwidth_unit="absolute"
            )
            losses = np.full(len(X), np.nan)
            for train, test in content_folds(X, 5, seed):
                answer = plain.fit(X[train], y[train], weights[train]).predict(X[test])
                losses[test] = answer != y[test] if model_class is KernelTreeClassifier else (answer - y[test]) ** 2
            expected = np.average(losses, weights=weights) / scale_of_targets
            assert found[scale][0][size - 1] == pytest.approx(expected, rel=1e-9)
            spread = np.average((losses / scale_of_targets - expected) ** 2, weights=weights)
            assert found[scale][1][size - 1] == pytest.approx(np.sqrt(spread / weights.sum()), rel=1e-9)


@both
def test_the_best_and_the_smallest_that_is_as_good(model_class):
    X, y = table(model_class, n=300)
    best, small = (model_class(max_leaf_nodes=way, random_state=0).fit(X, y) for way in ("auto", "small"))
    found = columns(best)
    least = min(losses.min() for losses, _ in found.values())
    losses, errors = found[best.bandwidth_]
    assert losses[best.get_n_leaves() - 1] == least
    slack = errors[best.get_n_leaves() - 1]
    assert all(np.all(losses[: small.get_n_leaves() - 1] > least + slack) for losses, _ in found.values())
    assert found[small.bandwidth_][0][small.get_n_leaves() - 1] <= least + slack
    assert small.get_n_leaves() <= best.get_n_leaves()
    for model in (best, small):
        given = clone(model).set_params(max_leaf_nodes=model.get_n_leaves(), bandwidth=model.bandwidth_)
        np.testing.assert_array_equal(given.fit(X, y).predict(X), model.predict(X))


@both
@pytest.mark.parametrize("way", ["auto", "small"])
def test_a_weight_of_two_is_the_row_twice(model_class, way):
    X, y = table(model_class, n=200)
    weights = np.random.default_rng(7).integers(0, 4, size=len(X))
    weighted = model_class(max_leaf_nodes=way, random_state=0).fit(X, y, weights)
    repeated = model_class(max_leaf_nodes=way, random_state=0).fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert weighted.get_n_leaves() == repeated.get_n_leaves()
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9, atol=1e-12)
    for name, column in weighted.size_path_.items():
        np.testing.assert_allclose(column, repeated.size_path_[name], rtol=1e-9, atol=1e-12)


@both
def test_the_size_alone(model_class):
    X, y = table(model_class, n=200)
    for bandwidth in (0.3, [0.1, 0.2, 0.0], "silverman", "cv"):
        model = model_class(max_leaf_nodes="auto", bandwidth=bandwidth, cv=3, random_state=0).fit(X, y)
        assert set(model.size_path_["bandwidth"]) == {1.0}
        assert model.get_n_leaves() == model.size_path_["loss"].argmin() + 1
        assert hasattr(model, "bandwidth_") == (bandwidth == "cv")


def test_data_that_need_many_leaves_get_them():
    X = np.random.default_rng(0).uniform(size=(4000, 2))
    y = (np.floor(12 * X).sum(axis=1) % 2).astype(int)
    model = KernelTreeClassifier(max_leaf_nodes="auto", random_state=0).fit(X, y)
    assert model.get_n_leaves() > 100
    assert model.score(X, y) > 0.9
    peer = DecisionTreeClassifier(max_leaf_nodes=64, random_state=0).fit(X, y)
    assert model.score(X, y) > peer.score(X, y) + 0.1


@both
def test_edges(model_class):
    X, y = table(model_class, n=40)
    same = model_class(max_leaf_nodes="auto", random_state=0).fit(X[:1].repeat(40, axis=0), y)
    assert same.get_n_leaves() == 1
    with pytest.raises(ValueError, match=r"'max_leaf_nodes' .* must be an int .*'auto', 'small' or None. Got 'tiny'"):
        model_class(max_leaf_nodes="tiny").fit(X, y)
    with pytest.raises(ValueError, match="must be None with bandwidth_per_node"):
        model_class(max_leaf_nodes="auto", bandwidth=0.3, bandwidth_per_node=True).fit(X, y)
    assert not hasattr(model_class(max_leaf_nodes=4).fit(X, y), "size_path_")


def test_choices_from_a_path():
    path = SizePath(
        {0.1: np.array([0.5, 0.3, 0.2, 0.2]), 0.3: np.array([0.5, 0.22, 0.21, 0.2])},
        {0.1: np.full(4, 0.03), 0.3: np.full(4, 0.001)},
    )
    assert path.best() == (0.1, 3), "of equal losses the smallest tree"
    assert path.small() == (0.3, 2)
