"""Forests and extra trees: known models as limits, what must not matter, more trees, weights, targets, tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_classification, make_friedman1
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor

from softwood import KernelForestClassifier, KernelForestRegressor, KernelTreeClassifier, KernelTreeRegressor
from tests.kernel.forests import ALL, BAGGED, CLASSIFIERS, REGRESSORS, problem
from tests.models import answer, assert_same_nodes

# ------------------------------------------------------------------ known models as limits


def tables():
    yield load_wine(return_X_y=True)
    yield load_breast_cancer(return_X_y=True)
    yield make_classification(600, 12, n_informative=5, n_classes=3, flip_y=0.1, random_state=0)
    yield load_diabetes(return_X_y=True)
    yield make_friedman1(500, noise=1.0, random_state=0)


def measures(model, X, y, leaves):
    """Score, squared error of probabilities or predictions, and size of the trees."""
    truth = y[:, None] == model.classes_ if is_classifier(model) else y
    error = (answer(model, X) - truth) ** 2
    return [model.score(X, y), error.mean(), leaves / len(model.estimators_)]


@pytest.mark.parametrize("table", range(5))
@pytest.mark.parametrize("extra", [False, True])
def test_bandwidth_zero_is_the_forest_of_scikit_learn(table, extra):
    """Both draw their trees, so their scores agree up to chance.

    How large chance is, the seeds say: means over six forests of each kind may be four standard errors apart, which
    happens to one of a hundred correct tests with five and more degrees of freedom. On these data that allows 1 to 3
    percent of the score.
    """
    X, y = list(tables())[table]
    X = X.astype(np.float32).astype(np.float64)  # what scikit-learn's trees see
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[::2], order[1::2]
    is_class = y.dtype.kind == "i"
    ours = (CLASSIFIERS if is_class else REGRESSORS)[extra]
    theirs = (
        [RandomForestClassifier, ExtraTreesClassifier] if is_class else [RandomForestRegressor, ExtraTreesRegressor]
    )
    found, expected = [], []
    for seed in range(6):
        model = ours(20, bandwidth=0, random_state=seed).fit(X[train], y[train])
        found.append(measures(model, X[test], y[test], model.get_n_leaves()))
        peer = theirs[extra](20, random_state=seed).fit(X[train], y[train])
        expected.append(measures(peer, X[test], y[test], sum(t.get_n_leaves() for t in peer.estimators_)))
    error = np.sqrt((np.var(found, axis=0, ddof=1) + np.var(expected, axis=0, ddof=1)) / 6)
    distance = np.abs(np.mean(found, axis=0) - np.mean(expected, axis=0))
    assert np.all(distance <= 4 * error), f"score, error, leaves: {distance} apart, with standard errors {error}"


@pytest.mark.parametrize("model_class", BAGGED)
@pytest.mark.parametrize(
    "parameters",
    [
        {"bandwidth": 0},
        {"bandwidth": 0.3},
        {"bandwidth": "silverman", "kernel": "gaussian", "max_depth": 4},
        {"bandwidth": 0.3, "splitter": "hist", "max_bins": 20, "min_gain": 0.001, "ccp_alpha": 0.001},
        {"bandwidth": 0.3, "max_leaf_nodes": 9, "prediction_kernel": None},
    ],
)
def test_a_forest_of_one_tree_with_all_rows_and_features_is_the_tree(model_class, parameters):
    X, y = problem(model_class)
    X[::9, 1] = np.nan
    forest = model_class(1, bootstrap=False, max_features=None, **parameters).fit(X, y)
    parameters = {"max_leaf_nodes": None, "cutoff": forest.cutoff, **parameters}
    tree = (KernelTreeClassifier if is_classifier(forest) else KernelTreeRegressor)(**parameters).fit(X, y)
    assert len(forest) == 1
    assert_same_nodes(forest.forest_[0], tree.tree_)
    np.testing.assert_array_equal(forest.bandwidths_, tree.bandwidths_)
    np.testing.assert_allclose(answer(forest, X), answer(tree, X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("model_class", ALL)
def test_a_kernel_helps_where_the_signal_is_smooth(model_class):
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-2, 2, size=(2, 300, 1))
    y, truth = X[:, 0] + rng.normal(size=300), new[:, 0]
    if model_class in CLASSIFIERS:
        y, truth = (y > 0).astype(int), (truth > 0).astype(int)
    crisp, soft = (model_class(20, bandwidth=b, random_state=0).fit(X, y).score(new, truth) for b in (0, 0.5))
    assert soft > crisp + 0.02


# ------------------------------------------------------------------ what must not matter


# ------------------------------------------------------------------ more trees


@pytest.mark.filterwarnings("ignore:Some rows are in the bag of every tree")
@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize(
    "parameters",
    [
        {"bandwidth": 0.3},
        {"bandwidth": 0.3, "bootstrap": True, "oob_score": True, "ccp_alpha": 0.001},
        {"bandwidth": "silverman", "prediction_kernel": None, "n_jobs": 2},
    ],
)
def test_five_and_five_trees_are_ten(model_class, parameters):
    X, y = problem(model_class)
    model = model_class(10, random_state=0, **parameters).fit(X, y)
    later = model_class(5, random_state=0, warm_start=True, **parameters)
    assert len(later.fit(X, y)) == 5
    later.set_params(n_estimators=10).fit(X, y)
    assert_same_nodes(later.forest_, model.forest_)
    np.testing.assert_array_equal(answer(later, X), answer(model, X))
    if "oob_score" in parameters:
        assert later.oob_score_ == model.oob_score_
    # and again, one by one
    for n in (11, 12):
        later.set_params(n_estimators=n).fit(X, y)
    assert_same_nodes(later.forest_, model.set_params(n_estimators=12).fit(X, y).forest_)


def test_any_number_of_trees_can_be_added_to():
    X, y = problem(KernelForestClassifier, n=30)
    model = KernelForestClassifier(49, bandwidth=0.3, max_depth=2, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=98).fit(X, y)
    expected = KernelForestClassifier(98, bandwidth=0.3, max_depth=2, random_state=0).fit(X, y)
    assert_same_nodes(model.forest_, expected.forest_)


@pytest.mark.parametrize("bandwidth", ["auto", "oob", "cv"])
def test_trees_that_are_added_have_the_bandwidth_of_the_others(bandwidth):
    X, y = problem(KernelForestRegressor)
    model = KernelForestRegressor(4, bandwidth=bandwidth, cv=3, warm_start=True, random_state=0).fit(X, y)
    chosen = model.bandwidth_
    model.set_params(n_estimators=8).fit(X, y)
    assert model.bandwidth_ == chosen
    expected = KernelForestRegressor(8, bandwidth=chosen, refine=True, random_state=0).fit(X, y)
    assert_same_nodes(model.forest_, expected.forest_)


def test_what_cannot_be_added():
    X, y = problem(KernelForestClassifier)
    model = KernelForestClassifier(3, bandwidth=0.3, warm_start=True, random_state=0).fit(X, y)
    before = model.forest_
    with pytest.warns(UserWarning, match="Warm-start fitting without increasing n_estimators does not fit new trees"):
        model.fit(X, y)
    assert_same_nodes(model.forest_, before)
    with pytest.raises(
        ValueError, match=r"'n_estimators' parameter of .* must be at least 3, .* warm_start=True. Got 2"
    ):
        model.set_params(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 3 features, .* expecting 4 .*\n.*warm_start=False"):
        model.set_params(n_estimators=5).fit(X[:, :3], y)
    assert_same_nodes(model.forest_, before)
    # without warm_start it begins anew
    again = model.set_params(n_estimators=2, warm_start=False).fit(X[:, :3], y)
    assert len(again) == 2


# ------------------------------------------------------------------ weights and targets


@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize(("wanted", "number"), [(None, 80), (20, 20), (0.32, 26), (1.0, 80), (1, 1), (1e-9, 1)])
def test_rows_drawn_for_each_tree(model_class, wanted, number):
    X, y = problem(model_class)
    model = model_class(5, bandwidth=0.3, bootstrap=True, max_samples=wanted, random_state=0).fit(X, y)
    assert [tree.mass[0] for tree in model.forest_] == [number] * 5
    # a whole weight is that many rows, others are not
    weights = np.random.default_rng(0).integers(0, 4, size=80).astype(float)
    if wanted is None:
        model.fit(X, y, sample_weight=weights)
        assert [tree.mass[0] for tree in model.forest_] == [weights.sum()] * 5
        model.fit(X, y, sample_weight=weights + 0.25)
        np.testing.assert_allclose([tree.mass[0] for tree in model.forest_], weights.sum() + 20)


def test_class_weights_do_not_change_the_draws():
    X, y = load_wine(return_X_y=True)
    factors = {0: 1.0, 1: 3.0, 2: 0.5}
    deviations = X.std(axis=0)
    for model_class in CLASSIFIERS:
        model = model_class(
            4, bandwidth=0.5 * deviations, bandwidth_unit="absolute", max_features=None, bootstrap=False, max_depth=4,
            random_state=0,
        )  # fmt: skip
        drawn = clone(model).set_params(bootstrap=True).fit(X, y)
        weighted = clone(model).set_params(bootstrap=True, class_weight=factors).fit(X, y)
        for one, other in zip(drawn.forest_, weighted.forest_, strict=True):
            expected = one.mass[0] * one.value[0] * [1.0, 3.0, 0.5]
            np.testing.assert_allclose(other.mass[0] * other.value[0], expected)


@pytest.mark.parametrize("model_class", CLASSIFIERS)
def test_balanced_classes(model_class):
    X, y = load_wine(return_X_y=True)
    counts = np.bincount(y)
    model = model_class(4, bandwidth=0.5, max_depth=3, random_state=0)
    for bootstrap in (False, True):
        parameters = {"bootstrap": bootstrap}
        plain = clone(model).set_params(**parameters).fit(X, y)
        whole = clone(model).set_params(class_weight="balanced", **parameters).fit(X, y)
        within = clone(model).set_params(class_weight="balanced_subsample", **parameters).fit(X, y)
        for a, b, c in zip(plain.forest_, whole.forest_, within.forest_, strict=True):
            np.testing.assert_allclose(c.value[0], 1 / 3)
            factors = 178 / (3 * counts)
            np.testing.assert_allclose(b.mass[0] * b.value[0], a.mass[0] * a.value[0] * factors)
        if not bootstrap:
            np.testing.assert_allclose(answer(whole, X), answer(within, X), rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="class_weight needs class labels as y"):
        clone(model).set_params(class_weight="balanced_subsample").fit(X, np.eye(3)[y])


# ------------------------------------------------------------------ tables


@pytest.mark.parametrize("model_class", ALL)
def test_measurement_error_is_a_bandwidth(model_class):
    X, y = problem(model_class)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    errors = {"a": 0.5, "c": 0.25}
    model = model_class(4, bandwidth=0, max_depth=5, random_state=0)
    known = clone(model).set_params(measurement_error=errors).fit(frame, y)
    same = clone(model).set_params(bandwidth=errors, bandwidth_unit="absolute").fit(frame, y)
    assert_same_nodes(known.forest_, same.forest_)
    cells = np.tile([0.5, 0.0, 0.25, 0.0], (80, 1))
    by_cell = clone(model).fit(frame, y, measurement_error=cells)
    expected = answer(known, frame)
    np.testing.assert_allclose(answer(by_cell, frame, measurement_error=cells), expected, rtol=0, atol=1e-9)
    # One uncertain reading is smoothed, the others are as they were.
    unsure = answer(known, frame, measurement_error={"a": np.where(np.arange(80) == 7, 9.0, 0.5)})
    changed = np.abs(unsure - expected).reshape(80, -1).max(axis=1)
    assert np.flatnonzero(changed > 1e-9).tolist() == [7]
    mean = np.mean([answer(tree, frame, measurement_error=cells) for tree in known.estimators_], axis=0)
    np.testing.assert_allclose(answer(known, frame, measurement_error=cells), mean, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=f"'measurement_error' parameter of {model_class.__name__}"):
        known.predict(frame, measurement_error={"e": 0.5})
