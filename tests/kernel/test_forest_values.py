"""Leaf values of forests of real targets, fitted together to the rows out of the bag."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from softwood import KernelExtraTreesRegressor, KernelForestClassifier, KernelForestRegressor
from softwood.kernel import forest_values
from softwood.kernel.growing.bagging import tree_seed
from tests.kernel.forests import problem
from tests.models import assert_same_nodes


def table(n=80, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X) @ rng.normal(size=(3, n_outputs)) + 0.3 * rng.normal(size=(n, n_outputs))
    return X, 5.0 + 20.0 * (y if n_outputs > 1 else y[:, 0])


def forest(refine=True, **given):
    return KernelForestRegressor(**{"n_estimators": 12, "bandwidth": 0.3, "random_state": 0, "refine": refine} | given)


def slow_predictions(grown, X, y, weights, new):
    """The same ridge regression with dense matrices of all rows and leaves, solved directly.

    Returns the predictions of new rows, the size of their errors from those that leave out the target of each row, and
    the mean by which the latter are divided.
    """
    X, y, weights = (array[weights > 0] for array in (X, y, weights))
    sums, counts, leaves, means = [], np.zeros(len(X)), [], []
    widths, new_widths = (grown._read_points(rows)[1] for rows in (X, new))
    with grown._rows(X, y, weights, None) as rows:
        draws = grown._draws(rows)
    for number, tree in enumerate(grown.forest_):
        is_out = np.zeros(len(X))
        masses = draws.masses(tree_seed(grown._seed_, number))
        is_out[draws.rest(masses)] = 1.0
        counts += is_out
        own = tree.children_left < 0
        shares = tree.memberships(X, widths=widths).toarray()[:, own]
        sums.append(is_out[:, None] * shares)
        means.append((masses[:, None] * shares / tree.mass[own]).T)
        leaves.append(tree.memberships(new, widths=new_widths).toarray()[:, own])
    Y = y.reshape(len(X), -1)
    shares = np.hstack(sums) / np.maximum(counts, 1)[:, None]
    value = grown.forest_.value[grown.forest_.children_left < 0]
    kept = counts > 0
    A, r, w = shares[kept], (Y - shares @ value)[kept], weights[kept]
    spread = (w @ (Y[kept] - np.average(Y[kept], axis=0, weights=w)) ** 2).sum()
    penalty = max(1.0, 10.0 * min(1.0, (w @ r**2).sum() / spread)) / len(grown.forest_)
    most = 10.0 * np.median(np.abs(r), axis=0)
    r = np.clip(r, -most, most)
    fit = np.linalg.solve(A.T @ (w[:, None] * A) + penalty * np.eye(A.shape[1]), A.T * w)
    found = np.hstack(leaves) @ (value + fit @ r) / len(grown.forest_)
    S, K = A @ fit, A @ np.vstack(means)[:, kept]
    own = 1.0 - S.diagonal() - K.diagonal() + (S @ K).diagonal()
    size = np.sqrt((w @ ((r - S @ r) / own[:, None]) ** 2).sum() / (w @ r**2).sum())
    return found if y.ndim > 1 else found[:, 0], size, np.average(own, weights=w)


@pytest.mark.parametrize(
    "given", [{}, {"prediction_kernel": None}, {"measurement_error": {0: 0.4}}, {"max_samples": 0.5}], ids=str
)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_ridge_regression(given, n_outputs, monkeypatch):
    monkeypatch.setattr(forest_values, "SMALL", 1e-10)
    monkeypatch.setattr(forest_values, "N_SIGNS", 500)
    monkeypatch.setattr(forest_values, "MOST_STEPS", 300)
    monkeypatch.setattr("softwood.kernel.forest.MOST_STEPS", 300)
    found, means = forest_values._Ridge.diagonal, []

    def diagonal_of(regression, *given):
        own = found(regression, *given)
        means.append(np.average(own, weights=regression.weights))
        return own

    monkeypatch.setattr(forest_values._Ridge, "diagonal", diagonal_of)
    X, y = table(n_outputs=n_outputs)
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    grown, refined = (forest(refine, **given).fit(X, y, weights) for refine in (False, True))
    new = table(30, seed=1)[0]
    expected, size, diagonal = slow_predictions(grown, X, y, weights, new)
    np.testing.assert_allclose(refined.predict(new), expected, rtol=1e-7, atol=1e-7)
    before = grown.rows_held_out().scale  # of few trees
    assert 0.9 < before < 1.0
    assert refined.rows_held_out().scale == pytest.approx(before * size, rel=0.08)
    assert means == pytest.approx([diagonal], rel=0.02)
    assert np.abs(refined.predict(new) - grown.predict(new)).max() > 0.1
    np.testing.assert_array_equal(refined.forest_.threshold, grown.forest_.threshold)


def test_few_steps_suffice():
    X, y = table(120)
    new = table(200, seed=1)[0]
    expected, *_ = slow_predictions(forest(False).fit(X, y), X, y, np.ones(len(X)), new)
    np.testing.assert_allclose(forest().fit(X, y).predict(new), expected, atol=0.01 * y.std())


def test_new_rows_are_predicted_better():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 5))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    grown, refined = (forest(refine).fit(X[:300], y[:300]).score(X[300:], y[300:]) for refine in (False, True))
    assert 1.0 - refined < 0.9 * (1.0 - grown)


def test_an_outlier_does_not_spoil_other_rows():
    X, y = table(400)
    new, truth = table(200, seed=1)
    X, new = np.nan_to_num(X), np.nan_to_num(new)
    y[7] = 1e12
    errors = [np.median(np.abs(forest(refine).fit(X, y).predict(new) - truth)) for refine in (False, True)]
    assert errors[1] < 1.3 * errors[0]


def test_order_weights_and_workers():
    X, y = table()
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    model = forest().fit(X, y, weights)
    order = np.random.default_rng(2).permutation(len(X))
    np.testing.assert_array_equal(forest(n_jobs=2).fit(X, y, weights).forest_.value, model.forest_.value)
    for given in (
        (X[order], y[order], weights[order]),
        (np.repeat(X, weights, axis=0), np.repeat(y, weights)),
    ):
        np.testing.assert_allclose(forest().fit(*given).forest_.value, model.forest_.value, rtol=1e-9)


def test_of_large_tables_some_rows_are_used(monkeypatch):
    X, y = table()
    whole, grown = forest().fit(X, y), forest(False).fit(X, y)
    monkeypatch.setattr(forest_values, "MOST_SHARES", 300)
    part = forest().fit(X, y)
    changes = [np.abs(model.forest_.value - grown.forest_.value).sum() for model in (part, whole)]
    assert 0 < changes[0] < 0.8 * changes[1]


def test_where_forests_are_refined():
    X, y = table()
    for given, is_refined in (
        ({"bandwidth": 0.3}, False), ({"bandwidth": "auto"}, True), ({"bandwidth": "silverman"}, True),
        ({"bandwidth": "auto", "bootstrap": False}, False), ({"bandwidth": "auto", "growth": "level"}, False),
    ):  # fmt: skip
        auto = forest("auto", **given).fit(X, y)
        grown = forest(False, **given).fit(X, y)
        assert (not np.array_equal(auto.forest_.value, grown.forest_.value)) == is_refined
    extra = KernelExtraTreesRegressor(5, bootstrap=True, random_state=0).fit(X, y)
    grown = clone(extra).set_params(refine=False).fit(X, y)
    assert not np.array_equal(extra.forest_.value, grown.forest_.value)
    assert "refine" not in KernelForestClassifier().get_params()


def test_out_of_bag_predictions_are_those_of_the_grown_trees():
    X, y = problem(KernelForestRegressor)
    grown, refined = (forest(refine, oob_score=True).fit(X, y) for refine in (False, True))
    np.testing.assert_array_equal(grown.oob_prediction_, refined.oob_prediction_)
    assert grown.oob_score_ == refined.oob_score_


def test_trees_that_are_added_are_refined_together():
    X, y = problem(KernelForestRegressor)
    model = forest(n_estimators=5, warm_start=True).fit(X, y)
    model.set_params(n_estimators=9).fit(X, y)
    assert_same_nodes(model.forest_, forest(n_estimators=9).fit(X, y).forest_)


def test_an_interrupt_leaves_the_grown_forest(monkeypatch):
    X, y = table()
    model = forest().fit(X, y)
    before = model.forest_

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(forest_values._Ridge, "coefficients", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.forest_ is before or len(model.forest_) == 12
    assert np.isfinite(model.predict(X)).all()


def test_constant_targets_and_all_rows_in_the_bag():
    X, y = table()
    assert np.all(forest().fit(X, np.full(len(X), 3.0)).predict(X) == 3.0)
    twin = np.tile(X[:1], (20, 1))
    assert forest(n_estimators=2).fit(twin, y[:20]).predict(twin[:1])[0] == pytest.approx(
        forest(False, n_estimators=2).fit(twin, y[:20]).predict(twin[:1])[0]
    )


@pytest.mark.parametrize("given", [{"refine": "yes"}, {"refine": 3}, {"refine": True, "bootstrap": False}], ids=str)
def test_parameters(given):
    X, y = table()
    with pytest.raises(ValueError, match="'refine' parameter of KernelForestRegressor must be"):
        forest(**given).fit(X, y)
    with pytest.raises(ValueError, match=r"refine.*growth='level'"):
        forest(growth="level").fit(X, y)


def test_columns_of_many_categories_are_not_refined():
    X, y = table(600)
    frame = pd.DataFrame({"x": X[:, 0], "id": [f"n{k % 300}" for k in range(600)]})
    auto, plain = (forest(refine, bandwidth="auto", n_estimators=3).fit(frame, y) for refine in ("auto", False))
    np.testing.assert_array_equal(auto.predict(frame), plain.predict(frame))
    with pytest.raises(ValueError, match=r"'refine' parameter of .* must be False with columns of more than 255"):
        forest().fit(frame, y)


def test_size_of_errors_of_new_rows():
    """The errors out of the bag, scaled, are those of new rows, where refining gains much and where it does not."""
    for noise, is_gain in ((0.1, True), (20.0, False)):
        found = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            X = rng.uniform(-1, 1, (2300, 3))
            y = np.sin(4 * X[:, 0]) * X[:, 1] + X[:, 2] + noise * rng.normal(size=2300)
            grown = forest(n_estimators=40, bandwidth=0.1, random_state=seed).fit(X[:300], y[:300])
            held = grown.rows_held_out()
            before = np.sqrt(np.mean((held.truth - held.predictions) ** 2))
            after = np.sqrt(np.mean((y[300:] - grown.predict(X[300:])) ** 2))
            found.append([held.scale, after / before])
        size, truth = np.mean(found, axis=0)
        assert size == pytest.approx(truth, abs=0.04), noise
        assert (truth < 0.95) == is_gain
