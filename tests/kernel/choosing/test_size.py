"""Size and bandwidth chosen together: against trees of each size that are fitted and scored one by one."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from softwood import KernelTreeClassifier, KernelTreeRegressor
from softwood.kernel.choosing import size as sizing
from softwood.kernel.choosing.bandwidth import AUTO_GRID, content_folds
from softwood.kernel.choosing.size import SizePath, _gains_between, smoothed

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


def slow_choice(found, within):
    """Bandwidth and size by the rule in words: means over neighbouring sizes, the smallest tree near the least one."""
    means = {}
    for scale, (losses, _) in found.items():
        n = len(losses)
        near = [[k for k in range(1, n + 1) if 0.8 * size <= k <= 1.2 * size] for size in range(1, n + 1)]
        means[scale] = np.array([losses[np.array(each) - 1].mean() for each in near])
    best = min(means, key=lambda scale: (means[scale].min(), scale))
    rounding = 1e-12 * max(losses[0] for losses, _ in found.values())
    limit = means[best].min() + rounding + within * found[best][1][means[best].argmin()]
    candidates = [
        (size, mean, scale) for scale in means for size, mean in enumerate(means[scale], start=1) if mean <= limit
    ]
    size, _, scale = min(candidates)
    return scale, max(size, 2)


@both
@pytest.mark.parametrize("prediction_kernel", ["same", None])
def test_losses_are_those_of_trees_of_each_size(model_class, prediction_kernel):
    X, y = table(model_class)
    weights = np.random.default_rng(5).integers(1, 3, size=len(X)).astype(float)
    model = model_class(
        max_leaf_nodes="auto", prediction_kernel=prediction_kernel, refine=False, trend=None, random_state=3
    )
    model.fit(X, y, weights)
    seed = int(np.random.RandomState(3).randint(np.iinfo(np.int32).max))
    deviations = model.bandwidths_ / model.bandwidth_
    found = columns(model)
    assert list(found) == sorted(AUTO_GRID.tolist())
    is_class = model_class is KernelTreeClassifier
    truth = y[:, None] == model.classes_ if is_class else y[:, None]
    unit = 1.0 if is_class else np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
    for scale in (0.1, 0.65):
        for size in (2, 5, 12):
            plain = clone(model).set_params(
                max_leaf_nodes=size, bandwidth=(scale * deviations).tolist(), bandwidth_unit="absolute"
            )
            losses = np.full((3, len(X)), np.nan)
            for time in range(3):
                for train, test in content_folds(X, 5, seed + time):
                    plain.fit(X[train], y[train], weights[train])
                    answer = plain.predict_proba(X[test]) if is_class else plain.predict(X[test])[:, None]
                    losses[time, test] = ((answer - truth[test]) ** 2).sum(axis=1) / unit
            expected = np.average(losses.mean(axis=0), weights=weights)
            assert found[scale][0][size - 1] == pytest.approx(expected, rel=1e-9)
            spread = np.average(((losses - expected) ** 2).mean(axis=0), weights=weights)
            assert found[scale][1][size - 1] == pytest.approx(np.sqrt(spread / weights.sum()), rel=1e-9)


@both
@pytest.mark.parametrize(("way", "within"), [("auto", 0.25), ("small", 1.0)])
def test_the_smallest_tree_that_is_as_good_as_the_best(model_class, way, within):
    for seed in range(3):
        X, y = table(model_class, n=300, seed=seed)
        model = model_class(max_leaf_nodes=way, refine=False, trend=None, random_state=0).fit(X, y)
        assert (model.bandwidth_, model.get_n_leaves()) == slow_choice(columns(model), within)
        given = clone(model).set_params(max_leaf_nodes=model.get_n_leaves(), bandwidth=model.bandwidth_)
        np.testing.assert_array_equal(given.fit(X, y).predict(X), model.predict(X))


@both
def test_small_is_not_larger(model_class):
    X, y = table(model_class, n=300)
    best, small = (
        model_class(refine=False, trend=None, max_leaf_nodes=way, random_state=0).fit(X, y) for way in ("auto", "small")
    )
    assert 2 <= small.get_n_leaves() <= best.get_n_leaves()


@both
def test_large_tables_grow_for_as_long_as_splits_gain_as_much_as_those_of_the_sample(model_class):
    X, y = table(model_class, n=6000)
    model = model_class(max_leaf_nodes="auto", refine=False, trend=None, random_state=0).fit(X, y)
    scale, size = slow_choice(columns(model), 0.1)
    assert model.bandwidth_ == scale
    assert model.get_n_leaves() > size, "more rows, more leaves"
    full = clone(model).set_params(max_leaf_nodes=None, bandwidth=scale).fit(X, y)
    assert model.get_n_leaves() < full.get_n_leaves() / 2
    given = clone(model).set_params(max_leaf_nodes=model.get_n_leaves(), bandwidth=scale).fit(X, y)
    np.testing.assert_array_equal(given.predict(X), model.predict(X))


@both
@pytest.mark.parametrize("way", ["auto", "small"])
def test_a_weight_of_two_is_the_row_twice(model_class, way):
    X, y = table(model_class, n=200)
    weights = np.random.default_rng(7).integers(0, 4, size=len(X))
    weighted = model_class(refine=False, trend=None, max_leaf_nodes=way, random_state=0).fit(X, y, weights)
    repeated = model_class(refine=False, trend=None, max_leaf_nodes=way, random_state=0).fit(
        X.repeat(weights, axis=0), y.repeat(weights)
    )
    assert weighted.get_n_leaves() == repeated.get_n_leaves()
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9, atol=1e-12)
    for name, column in weighted.size_path_.items():
        np.testing.assert_allclose(column, repeated.size_path_[name], rtol=1e-9, atol=1e-12)


@both
def test_the_size_alone(model_class):
    X, y = table(model_class, n=200)
    for bandwidth in (0.3, [0.1, 0.2, 0.0], "silverman", "cv"):
        model = model_class(max_leaf_nodes="auto", bandwidth=bandwidth, cv=3, refine=False, trend=None, random_state=0)
        model.fit(X, y)
        assert set(model.size_path_["bandwidth"]) == {1.0}
        assert model.get_n_leaves() == slow_choice(columns(model), 0.25)[1]
        assert hasattr(model, "bandwidth_") == (bandwidth == "cv")


def test_data_that_need_many_leaves_get_them():
    X = np.random.default_rng(0).uniform(size=(4000, 2))
    y = (np.floor(12 * X).sum(axis=1) % 2).astype(int)
    model = KernelTreeClassifier(refine=False, trend=None, max_leaf_nodes="auto", random_state=0).fit(X, y)
    assert model.get_n_leaves() > 100
    assert model.score(X, y) > 0.9
    peer = DecisionTreeClassifier(max_leaf_nodes=64, random_state=0).fit(X, y)
    assert model.score(X, y) > peer.score(X, y) + 0.1


@both
def test_edges(model_class):
    X, y = table(model_class, n=40)
    same = model_class(refine=False, trend=None, max_leaf_nodes="auto", random_state=0).fit(X[:1].repeat(40, axis=0), y)
    assert same.get_n_leaves() == 1
    with pytest.raises(ValueError, match=r"'max_leaf_nodes' .* must be an int .*'auto', 'small' or None. Got 'tiny'"):
        model_class(refine=False, trend=None, max_leaf_nodes="tiny").fit(X, y)
    with pytest.raises(ValueError, match="must be None or 'auto' with bandwidth_per_node"):
        model_class(refine=False, trend=None, max_leaf_nodes="small", bandwidth=0.3, bandwidth_per_node=True).fit(X, y)
    for other in ({"bandwidth": 0.3, "bandwidth_per_node": True}, {"bandwidth": 0.3, "ccp_alpha": 1e-6}):
        assert not hasattr(model_class(refine=False, trend=None, **other).fit(X, y), "size_path_"), (
            "another rule decides"
        )
    assert not hasattr(model_class(refine=False, trend=None, max_leaf_nodes=4).fit(X, y), "size_path_")


def test_choices_from_a_path():
    """Sizes below 5 have no neighbours within a fifth."""
    path = SizePath(
        {0.1: np.array([0.5, 0.3, 0.2, 0.2]), 0.3: np.array([0.5, 0.22, 0.21, 0.2])},
        {0.1: np.full(4, 0.03), 0.3: np.full(4, 0.001)},
    )
    assert path.choose(0.0) == (0.1, 3), "of equal losses the smallest tree"
    assert path.choose(1.0) == (0.3, 2)
    assert path.least(0.3) == (pytest.approx(0.2), 4)


def test_losses_of_a_perfect_tree_that_rounding_has_made_negative():
    path = SizePath({1.0: np.array([0.44, -1e-17, -3e-17, -2e-17])}, {1.0: np.zeros(4)})
    assert path.choose(0.25) == (1.0, 2)


def test_one_split_that_is_right_everywhere():
    X = np.random.default_rng(0).choice([0.0, 1.0, 2.0], size=(200, 1))
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.5, random_state=0).fit(X, X[:, 0] > 0)
    assert model.get_n_leaves() == 2
    assert min(model.size_path_["loss"]) >= 0.0


def test_means_over_neighbouring_sizes():
    losses = np.random.default_rng(0).uniform(size=40)
    expected = [losses[[k - 1 for k in range(1, 41) if 0.8 * s <= k <= 1.2 * s]].mean() for s in range(1, 41)]
    np.testing.assert_allclose(smoothed(losses), expected, rtol=1e-12)


def test_gains_between_the_last_split_and_the_next():
    gains = np.array([8.0, 2.0, 4.0, 1.0])  # the third came to be by the second
    found = np.exp(_gains_between(gains, 6))
    np.testing.assert_allclose(found, [8.0, np.sqrt(8 * 2), 2.0, np.sqrt(2 * 1), 0.5, 0.5])
    np.testing.assert_allclose(np.exp(_gains_between(gains, 3)), found[:3])
    assert np.isfinite(_gains_between(np.empty(0), 3)).all()


@pytest.mark.parametrize(("n_classes", "n_parts"), [(20, 15), (400, 5)])
def test_folds_are_drawn_once_if_many_outputs_make_them_costly(n_classes, n_parts):
    X, y = np.random.default_rng(0).normal(size=(800, 4)), np.arange(800) % n_classes
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.0, random_state=0)
    drawn = []

    def spy(data, seed, times, parts_of=sizing._parts_of):
        drawn.append(parts_of(data, seed, times)[0])
        return parts_of(data, seed, times)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizing, "_parts_of", spy)
        model.fit(X, y)
    assert [len(parts) for parts in drawn] == [n_parts]
