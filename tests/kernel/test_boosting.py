"""Boosting: scikit-learn's histogram boosting at bandwidth 0, what must not matter, targets, tables and kernels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine, make_friedman1
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from softwood import KernelBoostingClassifier, KernelBoostingRegressor
from softwood.core.targets import read_reals
from softwood.kernel.choosing.boosting_plans import PLANS
from softwood.kernel.data.bandwidths import loo_widths, silverman_widths
from softwood.kernel.rounds import newton, rounds
from tests.kernel.boosts import BOTH, few_values, losses, problem, small
from tests.models import answer, assert_same_model, assert_same_nodes

# ------------------------------------------------------------------ bandwidth 0 is histogram boosting


@pytest.fixture
def one_thread():
    """Scikit-learn's threads wait for one another busily, which takes long where there are others."""
    with threadpool_limits(1):
        yield


SETTINGS = {"max_iter": 20, "early_stopping": False, "l2_regularization": 0.0, "random_state": 0}

TABLES = {
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "iris": load_iris,
    "diabetes": load_diabetes,
    "friedman": lambda return_X_y: make_friedman1(1000, noise=1.0, random_state=0),
}


@pytest.mark.parametrize("load", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_bandwidth_zero_is_the_boosting_of_scikit_learn(load, missing, one_thread):
    """Scikit-learn keeps gradients in single precision; weights that differ a little leave no ties for it to decide."""
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(0)
    X, weights = few_values(X), rng.uniform(1.0, 1.01, size=len(X))
    X[rng.random(X.shape) < missing] = np.nan
    is_class = y.dtype.kind == "i"
    ours = (KernelBoostingClassifier if is_class else KernelBoostingRegressor)(bandwidth=0, **SETTINGS)
    peer = (HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor)(**SETTINGS)
    found, expected = (answer(model.fit(X, y, sample_weight=weights), X) for model in (ours, peer))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * expected.std())


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
@pytest.mark.parametrize("parameters", [{}, {"l2_regularization": 3.0, "max_depth": 3}, {"max_leaf_nodes": 4}])
def test_losses_of_a_regressor_are_those_of_scikit_learn(loss, parameters, one_thread):
    X, targets = losses()
    y, weights = targets[loss], np.random.default_rng(2).uniform(1.0, 1.01, size=600)
    parameters = {**SETTINGS, **parameters}
    ours = KernelBoostingRegressor(loss=loss, bandwidth=0, **parameters)
    peer = HistGradientBoostingRegressor(loss=loss, **parameters)
    found, expected = (model.fit(X, y, sample_weight=weights).predict(X) for model in (ours, peer))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * y.std())


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "absolute_error"},  # where the error is 0 its slope is not, in scikit-learn
        {"loss": "quantile", "quantile": 0.1},  # quantiles of few numbers are interpolated there
        {"loss": "quantile", "quantile": 0.5},
        {"loss": "quantile", "quantile": 0.9},
        {"loss": "squared_error", "monotonic_cst": [1, 0, -1, 1]},  # clipped values are judged by slopes alone there
        {"loss": "poisson", "monotonic_cst": [1, 0, -1, 1]},
    ],
)
def test_what_scikit_learn_does_in_another_way_is_as_good(parameters, one_thread):
    X, targets = losses()
    y = targets[parameters["loss"]]
    ours = KernelBoostingRegressor(bandwidth=0, **parameters, **SETTINGS).fit(X, y)
    peer = HistGradientBoostingRegressor(**parameters, **SETTINGS).fit(X, y)
    loss = ours._loss_
    raw = np.log if parameters["loss"] == "poisson" else np.asarray
    start = loss.value(y, np.tile(ours.forest_.base, (600, 1)), None)
    found, expected = (loss.value(y, raw(model.predict(X))[:, None], None) for model in (ours, peer))
    assert start - found == pytest.approx(start - expected, rel=0.05)
    if "quantile" in parameters:
        assert np.mean(y <= ours.predict(X)) == pytest.approx(parameters["quantile"], abs=0.04)


def test_a_kernel_helps_where_the_signal_is_smooth():
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-2, 2, size=(2, 300, 1))
    y, truth = X[:, 0] + rng.normal(size=300), new[:, 0]
    models = [(KernelBoostingRegressor, y, truth), (KernelBoostingClassifier, y > 0, truth > 0)]
    for model_class, known, wanted in models:
        crisp, soft = (model_class(bandwidth=b, max_iter=100).fit(X, known).score(new, wanted) for b in (0, 0.5))
        assert soft > crisp + 0.02


# ------------------------------------------------------------------ what must not matter


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize("bandwidth", [0.0, 0.3])
@pytest.mark.parametrize("most_bytes", [1 << 30, 1])
def test_same_model_for_any_number_of_threads(monkeypatch, model_class, bandwidth, most_bytes):
    """Whether they grow several trees at once, or divide the work on one."""
    monkeypatch.setattr(newton, "WORTH_THREADS", 20_000)
    monkeypatch.setattr(rounds, "_MOST_BYTES", most_bytes)
    monkeypatch.setattr(rounds, "_BLOCK", 500)
    X, y = problem(model_class, n=1500, p=25)
    X[::7, 3] = np.nan
    parameters = {"max_iter": 4, "bandwidth": bandwidth, "early_stopping": True, "random_state": 0, "subsample": 0.9}
    one, *others = (model_class(n_jobs=n, **parameters).fit(X, y) for n in (1, 2, 5))
    for other in others:
        assert_same_nodes(one.forest_, other.forest_)
        np.testing.assert_array_equal(one.validation_score_, other.validation_score_)
        np.testing.assert_array_equal(answer(one, X), answer(other, X))


@pytest.mark.parametrize("model_class", BOTH)
def test_the_seed_does_not_matter_where_nothing_is_drawn(model_class):
    X, y = problem(model_class)
    assert_same_model(*(small(model_class, random_state=seed).fit(X, y) for seed in (1, 2)))


@pytest.mark.parametrize("model_class", BOTH)
def test_rows_and_columns_that_are_drawn(model_class):
    X, y = problem(model_class, p=6)
    model = small(model_class, subsample=0.3, max_iter=6).fit(X, y)
    roots = model.forest_.mass[model.forest_.offsets[:-1]]
    np.testing.assert_allclose(roots, 36.0)
    n_scores = 3 if model_class is KernelBoostingClassifier else 1
    first = model.forest_.threshold[model.forest_.offsets[:-1]][::n_scores]
    assert len(set(first)) > 1, "other rows in each round"
    for wanted, number in ((1, 1), (0.5, 3), ("sqrt", 2), (6, 6), (None, 6)):
        model = small(model_class, max_features=wanted, max_iter=30, bandwidth=0.0, min_mass=2.0).fit(X, y)
        used = [set(tree.feature) - {-1} for tree in model.forest_]
        assert max(len(features) for features in used) <= number
        assert set().union(*used) == set(range(6))


# ------------------------------------------------------------------ targets and weights


@pytest.mark.parametrize("balanced", ["balanced", None])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fit_begins_with_the_weights_of_the_classes(n_classes, balanced):
    X, y = load_wine(return_X_y=True)
    base = small(KernelBoostingClassifier, class_weight=balanced).fit(X, np.minimum(y, n_classes - 1)).forest_.base
    assert bool(np.abs(base).max() > 0.1) == (balanced is None)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_fuzzy_labels_are_weighted_rows(n_classes):
    """A row that is 0.7 of a class is two rows of weights 0.7 and 0.3."""
    X, y = load_iris(return_X_y=True)
    y = np.minimum(y, n_classes - 1)
    shares = 0.7 * np.eye(n_classes)[y] + 0.3 * np.eye(n_classes)[(y + 1) % n_classes]
    mixed = small(KernelBoostingClassifier).fit(X, shares, sample_weight=np.full(150, 2.0))
    twice = small(KernelBoostingClassifier)
    twice.fit(np.vstack([X, X]), np.append(y, (y + 1) % n_classes), sample_weight=np.repeat([1.4, 0.6], 150))
    np.testing.assert_allclose(mixed.predict_proba(X), twice.predict_proba(X), atol=1e-9)


def test_targets_that_do_not_go():
    X, y = problem(KernelBoostingRegressor)
    with pytest.raises(ValueError, match="y holds one class only"):
        KernelBoostingClassifier().fit(X, np.zeros(120))
    with pytest.raises(ValueError, match=r"targets y of PoissonDeviance must be at least 0. Got -"):
        KernelBoostingRegressor(loss="poisson").fit(X, y)
    with pytest.raises(ValueError, match=r"above 0. All are 0"):
        KernelBoostingRegressor(loss="poisson").fit(X, np.zeros(120))
    with pytest.raises(ValueError, match="one column of targets for boosting, got 2"):
        KernelBoostingRegressor().fit(X, np.column_stack([y, y]))
    assert KernelBoostingRegressor(loss="poisson").__sklearn_tags__().target_tags.positive_only


# ------------------------------------------------------------------ tables


@pytest.mark.parametrize("bandwidth", [0.0, 0.3])
def test_missing_values_that_tell_something_are_learned(bandwidth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    is_missing = rng.random(400) < 0.4
    X[is_missing, 1] = np.nan
    X[:, 2] = np.where(rng.random(400) < 0.5, 1.0, np.nan)  # there, or not
    y = 2.0 * is_missing + (X[:, 0] > 0) * (1.0 + np.isnan(X[:, 2]))
    model = KernelBoostingRegressor(
        bandwidth=bandwidth, max_iter=1, learning_rate=1.0, max_leaf_nodes=8, l2_regularization=0.0
    ).fit(X, y)
    assert model.score(X, y) > (0.999 if bandwidth == 0.0 else 0.9)
    # what a missing value says does not depend on how large the others are
    new = np.array([[1.0, x, np.nan] for x in (-3.5, 0.0, 3.5)])
    np.testing.assert_allclose(model.predict(new), model.predict(new)[0])


@pytest.mark.parametrize("bandwidth", [0.0, 0.3])
def test_values_that_are_missing_later_go_to_the_larger_side(bandwidth):
    X = np.arange(100.0)[:, None]
    y = (X[:, 0] > 30) * 1.0
    model = KernelBoostingRegressor(bandwidth=bandwidth, max_iter=1, max_leaf_nodes=2, learning_rate=1.0).fit(X, y)
    right = model.forest_.value[model.forest_.children_right[0], 0] + model.forest_.base[0]
    assert model.predict([[np.nan]])[0] == pytest.approx(right)


@pytest.mark.parametrize("model_class", BOTH)
def test_categories_of_a_messy_frame(model_class):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=150),
            "city": rng.choice(["Rome", "Oslo", "Lima"], size=150),
            "grade": pd.Categorical(rng.choice(["b", "a", "c"], size=150), categories=["a", "b", "c", "unused"]),
            "open": rng.random(150) < 0.5,
        }
    )
    signal = frame["size"] + 2.0 * (frame["city"] == "Oslo") - (frame["grade"] == "a") + 0.5 * frame["open"]
    frame["city"] = frame["city"].astype(object)
    frame.loc[:5, "city"] = None
    frame.loc[7:12, "size"] = np.nan
    y = np.where(signal > 0.5, "yes", "no") if model_class is KernelBoostingClassifier else signal.to_numpy()
    model = small(model_class, max_iter=40, monotonic_cst={"size": 1}).fit(frame, y)
    assert model.score(frame, y) > 0.8
    assert model.feature_importances_.shape == (4,)
    assert model.feature_importances_[[0, 1]].sum() > 0.5
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.input_gradient(frame).shape == (150, 2 if model_class is KernelBoostingClassifier else 1, 4)
    assert not model.input_gradient(frame)[:, :, 1:].any()
    assert not model.bandwidths_[1:].any(), "categories have no kernel"
    np.testing.assert_array_equal(answer(model, frame.assign(city="Lagos")), answer(model, frame.assign(city=None)))


# ------------------------------------------------------------------ kernels, bandwidths and errors


@pytest.mark.parametrize("model_class", BOTH)
def test_prediction_kernels(model_class):
    X, y = problem(model_class)
    same, crisp, zero, other, wide = (
        small(model_class, **parameters).fit(X, y)
        for parameters in (
            {},
            {"prediction_kernel": None},
            {"prediction_bandwidth": 0},
            {"prediction_kernel": "gaussian"},
            {"prediction_bandwidth": {0: 1.0}},
        )
    )
    assert crisp.forest_.is_crisp
    assert not same.forest_.is_crisp
    np.testing.assert_array_equal(crisp.predict(X), zero.predict(X))
    n_scores = 3 if is_classifier(same) else 1
    for model in (crisp, other, wide):  # the first trees are the same, later ones make up for the other reading
        np.testing.assert_array_equal(model.forest_[0].threshold, same.forest_[0].threshold)
        values = [forest[3 * n_scores].value[0] for forest in (model.forest_, same.forest_)]
        assert values[0] != values[1]
    inner = other.forest_.feature >= 0
    feature = wide.forest_.feature
    np.testing.assert_allclose(other.forest_.width[inner], 0.3 * X.std(axis=0)[other.forest_.feature[inner]])
    np.testing.assert_allclose(wide.forest_.width[feature == 0], X[:, 0].std())
    assert not wide.forest_.width[feature > 0].any()
    assert len(other.forest_.shapes.edges[0]) > 2


@pytest.mark.parametrize("model_class", BOTH)
def test_bandwidths_decay_from_round_to_round(model_class):
    X, y = problem(model_class)
    model = small(model_class, bandwidth_decay=0.7, max_iter=5).fit(X, y)
    np.testing.assert_allclose(model.bandwidths_, 0.3 * X.std(axis=0))
    n_scores = 3 if is_classifier(model) else 1
    for number, tree in enumerate(model.forest_):
        inner = tree.feature >= 0
        expected = model.bandwidths_[tree.feature[inner]] * 0.7 ** (number // n_scores)
        np.testing.assert_allclose(tree.width[inner], expected)
    other = small(model_class, bandwidth_decay=0.7, max_iter=5, prediction_kernel="triangle").fit(X, y)
    inner = other.forest_.feature >= 0
    numbers = np.repeat(np.arange(len(other.forest_)), other.forest_.sizes)[inner] // n_scores
    np.testing.assert_allclose(
        other.forest_.width[inner], other.bandwidths_[other.forest_.feature[inner]] * 0.7**numbers
    )


@pytest.mark.parametrize("model_class", BOTH)
def test_some_rounds_are_crisp(model_class):
    X, y = problem(model_class)
    model = small(model_class, crisp_every=3, max_iter=7).fit(X, y)
    n_scores = 3 if is_classifier(model) else 1
    is_crisp = np.arange(len(model.forest_)) // n_scores % 3 == 2
    for tree, crisp in zip(model.forest_, is_crisp, strict=True):
        inner = tree.feature >= 0
        expected = 0.0 if crisp else model.bandwidths_[tree.feature[inner]]
        np.testing.assert_allclose(tree.width[inner], expected)
    triangle = small(model_class, crisp_every=3, max_iter=7, prediction_kernel="triangle").fit(X, y).forest_
    crisp_nodes = np.repeat(is_crisp, triangle.sizes)[triangle.feature >= 0]
    np.testing.assert_array_equal(triangle.width[triangle.feature >= 0] == 0, crisp_nodes)
    always = small(model_class, crisp_every=1, max_iter=7).fit(X, y)
    assert_same_nodes(always.forest_, small(model_class, bandwidth=0.0, max_iter=7).fit(X, y).forest_)


@pytest.mark.parametrize("model_class", BOTH)
def test_errors_of_cells_widen_crisp_rounds_by_themselves(model_class):
    X, y = problem(model_class)
    model = small(model_class, crisp_every=2, max_iter=4).fit(X, y)
    error = np.linspace(0.1, 0.9, len(X))
    n_scores = 3 if is_classifier(model) else 1
    expected = np.tile(model.forest_.base, (len(X), 1))
    for number, tree in enumerate(model.forest_):
        is_crisp = number // n_scores % 2 == 1
        widths = np.full(X.shape, np.nan)
        widths[:, 0] = error if is_crisp else np.hypot(model.bandwidths_[0], error)
        expected[:, model.forest_.output[number]] += tree.predict(X, widths=widths)[:, 0]
    found = model._raw(X, measurement_error={0: error})
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert np.abs(found - model._raw(X)).max() > 0.01


@pytest.mark.parametrize("model_class", BOTH)
def test_measurement_error_is_a_bandwidth(model_class):
    X, y = problem(model_class)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    errors = {"a": 0.5, "c": 0.25}
    known = small(model_class, bandwidth=0, measurement_error=errors).fit(frame, y)
    same = small(model_class, bandwidth=errors, bandwidth_unit="absolute").fit(frame, y)
    array = small(model_class, bandwidth=0, measurement_error=[0.5, 0.0, 0.25, 0.0]).fit(frame, y)
    assert_same_nodes(known.forest_, same.forest_)
    assert_same_nodes(array.forest_, same.forest_)
    both = small(model_class, bandwidth=0.3, measurement_error=errors).fit(frame, y)
    widths = np.hypot(0.3 * X.std(axis=0), [0.5, 0.0, 0.25, 0.0])
    inner = both.forest_.feature >= 0
    np.testing.assert_allclose(both.forest_.width[inner], widths[both.forest_.feature[inner]])
    # errors of the rows that are predicted, which may differ from cell to cell
    if not is_classifier(known):
        np.testing.assert_allclose(known.predict(frame, measurement_error=errors), known.predict(frame), rtol=1e-9)
    cells = {"a": np.linspace(0.0, 1.0, 120)}
    by_row = [known.predict(frame[i : i + 1], {"a": cells["a"][i]})[0] for i in range(120)]
    np.testing.assert_allclose(known.predict(frame, cells), by_row)
    assert not np.array_equal(known.predict(frame, cells), known.predict(frame)) or is_classifier(known)
    with pytest.raises(ValueError, match=r"'bandwidth_decay' .* must be 1.0 with measurement errors. Got 0.9"):
        small(model_class, bandwidth_decay=0.9, measurement_error=errors).fit(frame, y)


def test_units_of_bandwidths():
    X, y = load_wine(return_X_y=True)
    in_deviations = small(KernelBoostingClassifier, bandwidth=0.4).fit(X, y)
    absolute = small(KernelBoostingClassifier, bandwidth=0.4 * X.std(axis=0), bandwidth_unit="absolute").fit(X, y)
    by_name = small(KernelBoostingClassifier, bandwidth={j: 0.4 for j in range(13)}).fit(X, y)
    for model in (absolute, by_name):
        np.testing.assert_allclose(model.predict_proba(X), in_deviations.predict_proba(X), atol=1e-9)
    some = small(KernelBoostingClassifier, bandwidth={6: 0.4}).fit(X, y)
    assert np.flatnonzero(some.bandwidths_).tolist() == [6]


@pytest.mark.parametrize("model_class", BOTH)
def test_automatic_bandwidth_is_that_of_the_smallest_held_out_loss(model_class):
    for seed, n in ((0, 90), (1, 150), (2, 1100)):
        X, y = problem(model_class, n=n, seed=seed)
        model = small(model_class, bandwidth="auto", max_iter=5).fit(X, y)
        trials = [line for line in model.history_ if line["stage"] == "search"]
        tried = {line["bandwidth"]: line["validation_loss"] for line in trials}
        plan = PLANS["balanced"].without_mixtures(0)
        first = [bandwidth for bandwidth, _ in plan.kernels]
        assert list(tried) == [*first, plan.beyond[min(first, key=tried.get), 0][0]]
        assert model.bandwidth_ == min(tried, key=tried.get)
        np.testing.assert_allclose(model.bandwidths_, model.bandwidth_ * X.std(axis=0))
        fixed = small(model_class, bandwidth=model.bandwidth_, max_iter=5).fit(X, y)
        assert_same_nodes(model.forest_, fixed.forest_)


def test_automatic_bandwidth_is_small_for_steps_and_large_for_slopes():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(300, 1))
    steps = np.floor(2 * X[:, 0]) % 2 + 0.05 * rng.normal(size=300)
    slopes = X[:, 0] + rng.normal(size=300)
    assert KernelBoostingRegressor(random_state=0).fit(X, steps).bandwidth_ == 0.0
    assert KernelBoostingRegressor(random_state=0).fit(X, slopes).bandwidth_ >= 0.4


def test_rules_for_the_bandwidth():
    X, y = problem(KernelBoostingRegressor)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=120)
    silverman, loo = (
        small(KernelBoostingRegressor, bandwidth=rule).fit(X, y, sample_weight=weights) for rule in ("silverman", "loo")
    )
    np.testing.assert_allclose(silverman.bandwidths_, silverman_widths(X, weights))
    np.testing.assert_allclose(loo.bandwidths_, loo_widths(X, read_reals(y, weights), weights))
    assert not hasattr(loo, "bandwidth_")
