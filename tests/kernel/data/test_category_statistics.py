"""Columns of many categories: statistics from other folds, and sets of categories in the finished trees."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

import softwood
import softwood.plots
from softwood import Gate, SoftTree
from softwood.kernel.choosing.boosting_plans import PLANS, Plan
from softwood.kernel.data.category_statistics import (
    N_FOLDS,
    SMOOTHING,
    CategoryStatistics,
    ManyCategories,
    as_sets,
    one_number,
)

N_CATEGORIES = np.array([0, 300, 3])
MODELS = {
    "tree": (softwood.KernelTreeClassifier, softwood.KernelTreeRegressor, {"bandwidth": 0.1}),
    "forest": (softwood.KernelForestClassifier, softwood.KernelForestRegressor, {"bandwidth": 0.1, "n_estimators": 5}),
    "boosting": (
        softwood.KernelBoostingClassifier, softwood.KernelBoostingRegressor, {"bandwidth": 0.1, "max_iter": 10},
    ),
}  # fmt: skip


def rows_of(seed, n=900, missing=0.1):
    rng = np.random.default_rng(seed)
    matrix = np.column_stack([rng.normal(size=n), rng.integers(0, 300, n), rng.integers(0, 3, n)])
    matrix[rng.random(n) < missing, 1] = np.nan
    return matrix, rng.normal(size=n), rng.integers(1, 3, n).astype(float)


def frame_of(seed, n=900, kinds=290):
    """Rows whose category matters, and the probability of the second class."""
    rng = np.random.default_rng(seed)
    codes = np.r_[np.arange(kinds), rng.integers(0, kinds, n - kinds)]
    frame = pd.DataFrame({"x": rng.normal(size=n), "city": [f"city {c:03d}" for c in codes]})
    odds = np.where(codes % 2 == 0, 2.0, -2.0) + frame["x"].to_numpy()
    return frame, rng.random(n) < 1 / (1 + np.exp(-odds))


def test_statistics_are_those_of_a_slow_loop():
    matrix, y, weights = rows_of(0)
    group = np.arange(len(matrix)) // 2  # pairs of rows in the same fold
    found, encoded = CategoryStatistics.learn(matrix, y, weights, group, N_CATEGORIES, 7)
    fold = np.random.default_rng([7, 3]).permutation(group.max() + 1)[group] % N_FOLDS
    middle = np.average(y, weights=weights)
    assert found.middle == pytest.approx(middle)
    assert list(found.tables) == [1]
    assert found.complete == frozenset()

    def mean_of(own):
        return (weights[own] @ y[own] + SMOOTHING * middle) / (weights[own].sum() + SMOOTHING)

    for i in range(len(matrix)):
        same = matrix[:, 1] == matrix[i, 1]
        if np.isnan(matrix[i, 1]):
            assert np.isnan(encoded[i, 1])
            continue
        assert encoded[i, 1] == pytest.approx(mean_of(same & (fold != fold[i])))
        assert found.tables[1][int(matrix[i, 1])] == pytest.approx(mean_of(same))
    assert np.array_equal(encoded[:, [0, 2]], matrix[:, [0, 2]])
    assert np.array_equal(found.encode(matrix)[0], [matrix[0, 0], found.tables[1][int(matrix[0, 1])], matrix[0, 2]])


def test_a_weight_is_a_repetition():
    matrix, y, weights = rows_of(1)
    group, times = np.arange(len(matrix)), weights.astype(int)
    found, encoded = CategoryStatistics.learn(matrix, y, weights, group, N_CATEGORIES, 0)
    repeated = (np.repeat(part, times, axis=0) for part in (matrix, y, np.ones(len(y)), group))
    again, encoded_again = CategoryStatistics.learn(*repeated, N_CATEGORIES, 0)
    np.testing.assert_allclose(again.tables[1], found.tables[1])
    np.testing.assert_allclose(encoded_again, np.repeat(encoded, times, axis=0))


def test_targets_as_one_number():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([1.0, 1.0], 50)
    assert np.array_equal(one_number(shares), shares[:, 1])
    line = rng.normal(size=(50, 1)) * np.array([[3.0, 4.0, 0.0]])
    np.testing.assert_allclose(one_number(line), (line - line.mean(axis=0)) @ [0.6, 0.8, 0.0], atol=1e-12)
    assert np.array_equal(one_number(line[:, :1]), line[:, 0])


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_sets_predict_what_thresholds_of_the_statistics_predict(missing):
    matrix, y, weights = rows_of(2, missing=missing)
    categories = ManyCategories.of(matrix, y[:, None], weights, np.arange(len(y)), N_CATEGORIES, 0)
    threshold = float(np.median(categories.statistics.tables[1]))
    tree = SoftTree.from_nodes(
        children_left=[1, -1, 3, -1, -1], children_right=[2, -1, 4, -1, -1], parent=[-1, 0, 0, 2, 2],
        depth=[0, 1, 1, 2, 2], feature=[1, -1, 0, -1, -1], threshold=[threshold, np.nan, 0.5, np.nan, np.nan],
        missing_left=[0.3, 0.5, 0.5, 0.5, 0.5], width=np.zeros(5), value=np.arange(5.0)[:, None], mass=np.ones(5),
        impurity=np.zeros(5), n_features=3,
    )  # fmt: skip
    found = as_sets(tree, N_CATEGORIES, categories)
    assert found.gate.tolist() == [Gate.SUBSET, Gate.LEAF, Gate.KERNEL, Gate.LEAF, Gate.LEAF]
    assert np.array_equal(found.predict(matrix), tree.predict(categories.statistics.encode(matrix)))
    unknown = found.predict(np.array([[0.0, np.nan, 0.0]]))[0, 0]
    at_the_mean = tree.predict(np.array([[0.0, categories.statistics.middle, 0.0]]))[0, 0]
    assert unknown == (at_the_mean if missing == 0.0 else pytest.approx(0.3 * 1 + 0.7 * 3))
    assert as_sets(found, N_CATEGORIES, categories) is found


def test_without_many_categories_there_are_no_statistics():
    assert ManyCategories.of(np.zeros((2, 1)), np.zeros((2, 1)), np.ones(2), np.arange(2), np.array([255]), 0) is None


def test_statistics_of_a_part_do_not_know_the_held_out_targets():
    matrix, y, weights = rows_of(3)
    group, is_training = np.arange(len(y)), np.arange(len(y)) % 3 > 0

    def parts(targets):
        categories = ManyCategories.of(matrix, targets[:, None], weights, group, N_CATEGORIES, 0)
        own = np.arange(is_training.sum())
        return categories.apart(is_training, ~is_training, weights[is_training], own)

    before, after = parts(y), parts(np.where(is_training, y, 1e6))
    for one, other in zip(before, after, strict=True):
        assert np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("kind", MODELS)
def test_models_learn_from_many_categories(kind, tmp_path):
    X, y = frame_of(0)
    X_new, y_new = frame_of(1)
    classifier, regressor, settings = MODELS[kind]
    model = classifier(random_state=0, **settings).fit(X, y)
    assert model.score(X_new, y_new) > 0.72  # by the number alone .6
    assert (
        clone(model).set_params(n_jobs=2).fit(X, y).predict_proba(X_new).tolist() == model.predict_proba(X_new).tolist()
    )
    assert model.columns_.names == ("x", "city")
    softwood.save(model, tmp_path / "model.zip")
    assert np.array_equal(softwood.load(tmp_path / "model.zip").predict_proba(X_new), model.predict_proba(X_new))
    unknown = X_new.assign(city="nowhere")
    assert np.isfinite(model.predict_proba(unknown)).all()
    real = regressor(random_state=0, **settings).fit(X, y.astype(float))
    assert np.mean((real.predict(X_new) - y_new) ** 2) < 0.21
    many = np.digitize(X["x"], [-0.5, 0.5]) + 3 * y
    assert classifier(random_state=0, **settings).fit(X, many).predict_proba(X_new).shape == (len(X), 6)


def test_growth_by_levels_and_out_of_bag_scores_refuse_many_categories():
    X, y = frame_of(2)
    with pytest.raises(ValueError, match=r"Column 'city' has 290 different categories.*at most 255"):
        softwood.KernelTreeClassifier(growth="level").fit(X, y)
    with pytest.raises(ValueError, match="False with columns of more than 255 categories"):
        softwood.KernelForestClassifier(5, oob_score=True).fit(X, y)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"prediction_bandwidth": 0.1},
        {"subsample": 1.0},
        {"crisp_every": 3},
        {"multi_strategy": "multi_output_tree"},
    ],
)
def test_trees_of_boosting_grow_with_kernels_on_statistics_and_predict_by_sets(parameters, monkeypatch):
    """So the losses of validation rows while trees grow are those of the finished model."""
    X, y = frame_of(0)
    X_val, y_val = frame_of(1)
    y, y_val = (np.digitize(frame["x"], [-0.5, 0.5]) + 3 * labels for frame, labels in ((X, y), (X_val, y_val)))
    monkeypatch.setitem(PLANS, "balanced", Plan(kernels=((0.4, 0),), beyond={}))
    monkeypatch.setattr(Plan, "without_mixtures", lambda plan, _: plan)
    model = softwood.KernelBoostingClassifier(max_iter=30, max_leaf_nodes=8, random_state=0, **parameters)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.bandwidth_ == 0.4
    assert (model.bandwidths_ > 0.0).tolist() == [True, False]
    assert np.all(model.forest_.gate[model.forest_.feature == 1] == Gate.SUBSET)
    expected = [log_loss(y_val, shares) for shares in model.staged_predict_proba(X_val)]
    assert -model.validation_score_[1:] == pytest.approx(expected, rel=1e-9)
    crisp = clone(model).set_params(bandwidth={"x": model.bandwidth_}).fit(X, y, X_val=X_val, y_val=y_val)
    assert not np.array_equal(crisp.predict_proba(X_val), model.predict_proba(X_val))


def test_boosting_tries_the_order_of_the_categories():
    rng = np.random.default_rng(0)
    size = rng.integers(0, 40, 400)
    y = size + 0.1 * rng.normal(size=400)
    X = pd.DataFrame({"size": [f"size {k:02d}" for k in size]})
    model = softwood.KernelBoostingRegressor(random_state=0).fit(X, y)
    best = min((trial for trial in model.search_ if trial["stage"] != "rounds"), key=lambda trial: trial["loss"])
    assert {trial["categories"] for trial in model.search_} == {"sets", "mixed", "codes"}
    assert best["categories"] == "codes"
    assert set(model.forest_.gate.tolist()) == {Gate.LEAF, Gate.SUBSET}
    assert model.score(X, y) > 0.99
    labels = [line.get_label() for line in softwood.plots.plot_search(model).lines]
    assert any("categories: codes" in label for label in labels)
