"""The bandwidth of a forest: what the scales are compared by, which one is taken, and the trees that are kept."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold

from softwood import (
    KernelExtraTreesClassifier,
    KernelExtraTreesRegressor,
    KernelForestClassifier,
    KernelForestRegressor,
    KernelTreeClassifier,
    KernelTreeRegressor,
)
from softwood.kernel import forest_base as ensemble
from softwood.kernel.choosing import bandwidth as choosing
from softwood.kernel.choosing import forest_bandwidth as choosing_forest
from softwood.kernel.choosing.bandwidth import CV_GRID, MAX_SCALE
from softwood.kernel.choosing.forest_bandwidth import AUTO_GRID, AUTO_TREES, ForestChoice
from tests.reference.bagging import unseen_predictions

FORESTS = [KernelForestClassifier, KernelForestRegressor]
EXTRA = [KernelExtraTreesClassifier, KernelExtraTreesRegressor]
CLASSIFIERS = [KernelForestClassifier, KernelExtraTreesClassifier]


def data(model_class, n=60, p=3, noise=0.5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    signal = X[:, 0] + noise * rng.normal(size=n)
    return X, np.digitize(signal, [-0.5, 0.5]) if model_class in CLASSIFIERS else signal


def fitted(model, X, y, **conditions):
    """The model, and the scales that were compared with the loss of each."""
    lines = []

    def choice(*arguments):
        lines.append(arguments[-1].history)
        return ForestChoice(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ensemble, "ForestChoice", choice)
        model.fit(X, y, **conditions)
    trials = [line for history in lines for line in history if line["stage"] == "choose bandwidth"]
    return model, {line["bandwidth"]: line["validation_loss"] for line in trials}


def assert_same_forest(one, other):
    """To the last bit."""
    for name in ("offsets", "children_left", "feature", "threshold", "missing_left", "width", "value", "mass"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def with_bandwidth(model, scale, **parameters):
    return clone(model).set_params(bandwidth=scale, verbose=0, **parameters)


def refined(model):
    """What says that a forest of a given bandwidth is refined if one of a chosen bandwidth is."""
    return {} if is_classifier(model) else {"refine": model.bootstrap}


def check_choice(model, tried, X, y, grid, **conditions):
    """The scale is the first one with the smallest loss, and the forest is the one with that bandwidth given."""
    scales, losses = list(tried), list(tried.values())
    assert model.bandwidth_ == scales[int(np.argmin(losses))]
    assert len(scales) >= 3
    np.testing.assert_array_equal(scales[: len(grid)], grid[: len(scales)])
    given = with_bandwidth(model, model.bandwidth_, **refined(model)).fit(X, y, **conditions)
    np.testing.assert_array_equal(model.bandwidths_, given.bandwidths_)
    assert_same_forest(model.forest_, given.forest_)
    assert not hasattr(given, "bandwidth_")


def truth_of(model, y):
    """Targets as the forest predicts them, and the size of their square: that of reals is in units of the variance."""
    return (y[:, None] == model.classes_).astype(float) if is_classifier(model) else y.reshape(len(y), -1)


def unit(model, y, weights):
    if is_classifier(model):
        return 1.0
    y = y.reshape(len(y), -1)
    return np.average(((y - np.average(y, axis=0, weights=weights)) ** 2).sum(axis=1), weights=weights)


def slow_oob_loss(model, scale, X, y, n_trees=None, **conditions):
    """Squared error of the mean of the trees that have not seen a row, brought to the forest's number of trees.

    The mean of few trees errs by their variance, too: of this only the part counts that the whole forest will have.
    """
    forest = with_bandwidth(model, scale, n_estimators=n_trees or model.n_estimators).fit(X, y, **conditions)
    weights = conditions.pop("sample_weight", np.ones(len(X)))
    if model.prediction_kernel is None:  # read crisply, errors at fit are no errors at prediction
        conditions = {}
    each, truth, errors, masses = unseen_predictions(forest, X, weights, **conditions), truth_of(forest, y), [], []
    for i in range(len(X)):
        known = each[~np.isnan(each[:, i, 0]), i]
        if len(known) > 1:
            variance = known.var(axis=0, ddof=1).sum()
            error = ((known.mean(axis=0) - truth[i]) ** 2).sum()
            errors.append(error - variance * (1 / len(known) - 1 / model.n_estimators))
            masses.append(weights[i])
    return np.average(errors, weights=masses) / unit(forest, y, weights)


@pytest.mark.parametrize("model_class", FORESTS + EXTRA)
@pytest.mark.parametrize("bandwidth", ["auto", "oob"])
@pytest.mark.parametrize("parameters", [{}, {"prediction_kernel": None, "ccp_alpha": 0.002}])
def test_scales_are_compared_out_of_the_bag(model_class, bandwidth, parameters):
    X, y = data(model_class)
    model = model_class(5, bandwidth=bandwidth, bootstrap=True, random_state=0, **parameters)
    model, tried = fitted(model, X, y)
    check_choice(model, tried, X, y, AUTO_GRID if bandwidth == "auto" else CV_GRID)
    for scale, loss in tried.items():
        assert loss == pytest.approx(slow_oob_loss(model, scale, X, y), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("model_class", FORESTS)
def test_many_trees_are_compared_by_some_of_them(monkeypatch, model_class):
    assert AUTO_TREES < 100, "the default forest"
    monkeypatch.setattr(choosing_forest, "AUTO_TREES", 10)
    X, y = data(model_class)
    model, tried = fitted(model_class(15, max_depth=4, random_state=0), X, y)
    check_choice(model, tried, X, y, AUTO_GRID)
    for scale in list(tried)[:3]:
        assert tried[scale] == pytest.approx(slow_oob_loss(model, scale, X, y, n_trees=10), rel=1e-9)
    model, tried = fitted(model_class(15, bandwidth="oob", max_depth=4, random_state=0), X, y)
    check_choice(model, tried, X, y, CV_GRID)
    for scale in list(tried)[:3]:
        assert tried[scale] == pytest.approx(slow_oob_loss(model, scale, X, y), rel=1e-9)


@pytest.mark.parametrize("model_class", FORESTS + EXTRA)
@pytest.mark.parametrize("bandwidth", ["auto", "oob"])
def test_without_a_bag_trees_are_compared_on_a_part_of_the_rows(model_class, bandwidth):
    X, y = data(model_class)
    model = model_class(12, bandwidth=bandwidth, bootstrap=False, max_depth=5, random_state=0)
    model, tried = fitted(model, X, y)
    check_choice(model, tried, X, y, AUTO_GRID if bandwidth == "auto" else CV_GRID)
    # the final trees have all rows
    assert [tree.mass[0] for tree in model.forest_] == [60.0] * 12
    # by trees that have not seen the row: worse than by trees that have, better than without any trees
    for scale in list(tried)[:3]:
        forest = with_bandwidth(model, scale).fit(X, y)
        found = forest.predict_proba(X) if is_classifier(forest) else forest.predict(X)[:, None]
        seen = ((found - truth_of(forest, y)) ** 2).sum(axis=1).mean() / unit(forest, y, np.ones(60))
        assert seen + 0.05 < tried[scale] < 0.9


@pytest.mark.parametrize("model_class", FORESTS + EXTRA)
@pytest.mark.parametrize("parameters", [{}, {"prediction_kernel": None}])
def test_cross_validation(model_class, parameters):
    """Against forests of their own, with the half-widths of the whole data; one column, so that there are no ties."""
    X, y = data(model_class, p=1)
    folds = KFold(3, shuffle=True, random_state=0)
    model, tried = fitted(model_class(5, bandwidth="cv", cv=folds, random_state=0, **parameters), X, y)
    check_choice(model, tried, X, y, CV_GRID)
    for scale, loss in tried.items():
        own = with_bandwidth(model, scale * X.std(axis=0), bandwidth_unit="absolute")
        expected = 0.0
        for train, test in folds.split(X):
            own.fit(X[train], y[train])
            found = own.predict_proba(X[test]) if is_classifier(own) else own.predict(X[test])[:, None]
            expected += ((found - truth_of(own, y)[test]) ** 2).sum()
        assert loss == pytest.approx(expected / 60 / unit(own, y, np.ones(60)), rel=1e-9)


@pytest.mark.parametrize("bandwidth", ["auto", "oob"])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("prediction_kernel", ["same", None])
def test_known_errors_weights_and_several_targets_take_part_in_the_choice(bandwidth, several, prediction_kernel):
    X, y = data(KernelForestRegressor)
    y = np.column_stack([y, 3 * X[:, 1]]) if several else y
    rng = np.random.default_rng(1)
    conditions = {"measurement_error": rng.uniform(0, 0.5, size=X.shape), "sample_weight": rng.uniform(0.5, 2, size=60)}
    model = KernelForestRegressor(
        10, bandwidth=bandwidth, prediction_kernel=prediction_kernel, max_depth=3, random_state=0
    )
    model, tried = fitted(model, X, y, **conditions)
    check_choice(model, tried, X, y, AUTO_GRID if bandwidth == "auto" else CV_GRID, **conditions)
    for scale in list(tried)[:3]:
        assert tried[scale] == pytest.approx(slow_oob_loss(model, scale, X, y, **conditions), rel=1e-9)


@pytest.mark.parametrize("model_class", FORESTS + EXTRA)
@pytest.mark.parametrize("rule", ["silverman", "loo"])
def test_rules_are_those_of_the_tree(model_class, rule):
    X, y = data(model_class)
    model = model_class(3, bandwidth=rule, random_state=0).fit(X, y)
    tree = (KernelTreeClassifier if is_classifier(model) else KernelTreeRegressor)(bandwidth=rule, refine=False)
    tree.fit(X, y)
    np.testing.assert_array_equal(model.bandwidths_, tree.bandwidths_)
    assert not hasattr(model, "bandwidth_")
    given = with_bandwidth(model, model.bandwidths_, bandwidth_unit="absolute", **refined(model)).fit(X, y)
    assert_same_forest(model.forest_, given.forest_)


def test_a_chosen_scale_is_forgotten_when_the_next_one_is_given():
    X, y = data(KernelForestClassifier)
    model = KernelForestClassifier(3, random_state=0).fit(X, y)
    assert hasattr(model, "bandwidth_")
    assert not hasattr(model.set_params(bandwidth=0.3).fit(X, y), "bandwidth_")


@pytest.mark.parametrize("model_class", [KernelForestRegressor, KernelExtraTreesRegressor])
@pytest.mark.parametrize("bandwidth", ["auto", "oob", "cv"])
def test_a_wide_kernel_where_the_signal_is_smooth_and_a_narrow_one_where_it_is_not(model_class, bandwidth):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(250, 1))
    smooth = X[:, 0] + rng.normal(size=250)
    jagged = np.sign(np.sin(12 * X[:, 0]))
    model = model_class(10, bandwidth=bandwidth, cv=3, random_state=0)
    narrow, wide = (clone(model).fit(X, y).bandwidth_ for y in (jagged, smooth))
    assert narrow <= 0.1 < 0.15 < wide  # extra trees are smoother than others without a kernel


@pytest.mark.parametrize("bandwidth", ["oob", "cv"])
def test_past_the_grid_as_long_as_that_is_better(monkeypatch, bandwidth):
    monkeypatch.setattr(choosing, "CV_GRID", CV_GRID[:4])
    X, y = data(KernelForestRegressor, p=1, noise=1.0)
    model, tried = fitted(KernelForestRegressor(10, bandwidth=bandwidth, cv=3, random_state=0), X, y)
    scales, losses = np.array(list(tried)), np.array(list(tried.values()))
    assert model.bandwidth_ == scales[np.argmin(losses)] > CV_GRID[3]
    np.testing.assert_allclose(scales[1:] / scales[:-1], CV_GRID[1] / CV_GRID[0])
    assert np.all(np.diff(losses[3:-1]) < 0), "it goes on while it gets better"
    assert losses[-1] >= losses[-2] or scales[-1] * CV_GRID[1] / CV_GRID[0] > MAX_SCALE


@pytest.mark.parametrize(
    "cv", [2, KFold(3), StratifiedKFold(3), PredefinedSplit(np.arange(60) % 3), [(np.arange(40), np.arange(40, 60))]]
)
@pytest.mark.parametrize("zero_weights", [False, True])
def test_folds_of_any_kind(cv, zero_weights):
    X, y = data(KernelForestClassifier)
    weights = np.ones(60)
    if zero_weights:
        weights[[0, 3, 58, 59]] = 0
    model = KernelForestClassifier(3, bandwidth="cv", cv=cv, random_state=0)
    model, tried = fitted(model, X, y, sample_weight=weights)
    assert model.bandwidth_ == min(tried, key=tried.get)
    assert all(0 < loss < 2 for loss in tried.values())


@pytest.mark.parametrize("model_class", FORESTS + EXTRA)
@pytest.mark.parametrize("bandwidth", ["auto", "oob", "cv"])
@pytest.mark.parametrize("X", [np.zeros((6, 2)), np.full((6, 1), np.nan), np.array([[1.0]] * 5 + [[2.0]])])
def test_data_that_leave_no_choice(model_class, bandwidth, X):
    model = model_class(3, bandwidth=bandwidth, random_state=0).fit(X, [0, 1, 0, 1, 0, 1])
    assert model.bandwidth_ >= 0
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("bandwidth", ["auto", "oob", "cv"])
def test_progress_of_the_choice_is_told(capsys, bandwidth):
    X, y = data(KernelForestRegressor, n=30)
    model = KernelForestRegressor(3, bandwidth=bandwidth, random_state=0)
    _, tried = fitted(clone(model), X, y)
    capsys.readouterr()
    model.set_params(verbose=2).fit(X, y)
    lines = [line for line in capsys.readouterr().out.splitlines() if "validation loss" in line]
    assert [line[: line.rindex(",")] for line in lines] == [
        f"[KernelForestRegressor] trial {k}, bandwidth {s:.5g}, validation loss {tried[s]:.5g}"
        for k, s in enumerate(tried, 1)
    ]
    assert len(lines) >= 3
