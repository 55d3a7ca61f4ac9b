"""Measurement errors of single cells in the fit of boosting."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

from softwood import KernelBoostingClassifier, KernelBoostingRegressor
from softwood.kernel import rows as kernel_rows
from tests.kernel.boosts import BOTH, problem, small
from tests.models import assert_same_nodes


def rows_of(model_class, n=200, missing=0.05):
    X, y = problem(model_class, n=n)
    rng = np.random.default_rng(1)
    X = np.round(X, 1)  # a bin for each value
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, np.round(rng.gamma(1.0, 0.4, X.shape), 1)


def answer(model, X, **conditions):
    return model.predict_proba(X, **conditions) if is_classifier(model) else model.predict(X, **conditions)


@pytest.mark.parametrize(
    "parameters", [{}, {"bandwidth": 0.0}, {"early_stopping": True, "subsample": 0.5}, {"bandwidth": "auto"}]
)
@pytest.mark.parametrize("model_class", BOTH)
def test_cells_with_the_same_error_are_as_a_column_with_it(model_class, parameters):
    X, y, _ = rows_of(model_class)
    errors = np.array([0.5, 0.0, 0.25, 0.0])
    expected = small(model_class, measurement_error=errors, **parameters).fit(X, y)
    cells = np.tile(errors, (len(X), 1))
    frame = pd.DataFrame(X, columns=list("abcd"))
    for table, given in ((X, cells), (frame, {"a": cells[:, 0], "c": cells[:, 2].tolist()})):
        model = small(model_class, **parameters).fit(table, y, measurement_error=given)
        np.testing.assert_array_equal(model.forest_.threshold, expected.forest_.threshold)
        np.testing.assert_allclose(answer(model, table, measurement_error=given), answer(expected, X), atol=2e-5)
    # a number for a column is stored, errors of training rows are not
    mixed = small(model_class, **parameters).fit(X, y, measurement_error={0: 0.5, 2: cells[:, 2]})
    np.testing.assert_allclose(answer(mixed, X, measurement_error={2: 0.25}), answer(expected, X), atol=2e-5)


@pytest.fixture
def calls(monkeypatch):
    """The arguments of `Rounds`, and its results."""
    made = []

    class Spy(kernel_rows.Rounds):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            made.append((arguments, options, self.result))

    monkeypatch.setattr(kernel_rows, "Rounds", Spy)
    return made


@pytest.mark.parametrize("parameters", [{}, {"bandwidth": 0.0}, {"prediction_kernel": None}, {"subsample": 0.6}])
@pytest.mark.parametrize("model_class", BOTH)
def test_scores_while_learning_are_those_of_the_model_given_the_errors(model_class, parameters, calls):
    X, y, cells = rows_of(model_class)
    model = small(model_class, early_stopping=True, validation_fraction=0.3, **parameters)
    model.fit(X, y, measurement_error=cells)
    (train, *_), options, result = calls[-1]
    for part, found in ((train, result.train_losses), (options["validation"], result.validation_losses)):
        number = [np.flatnonzero((np.nan_to_num(X, nan=99) == np.nan_to_num(row, nan=99)).all(axis=1)) for row in
                  part.matrix]  # fmt: skip
        own = cells[[same[0] for same in number]]
        assert all(len(same) == 1 for same in number)
        for j, error in part.errors.items():
            np.testing.assert_array_equal(error, np.where(np.isnan(part.matrix[:, j]), 0.0, own[:, j]))
        is_crisp = model.prediction_kernel is None
        staged = model._staged_raw(part.matrix, **({} if is_crisp else {"measurement_error": own}))
        expected = [model._loss_.value(part.y, raw, part.weights) for raw in staged]
        assert found[1 : model.n_iter_ + 1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("model_class", BOTH)
def test_validation_rows_have_errors_of_their_own(model_class):
    X, y, cells = rows_of(model_class)
    train, held_out = slice(140), slice(140, None)
    given = {"X_val": X[held_out], "y_val": y[held_out]}
    known, unknown = (
        small(model_class).fit(
            X[train], y[train], measurement_error=cells[train], **given, measurement_error_val=errors
        )
        for errors in (cells[held_out], None)
    )
    assert_same_nodes(known.forest_[0], unknown.forest_[0])
    raw = next(iter(known._staged_raw(X[held_out], measurement_error=cells[held_out])))
    y_val = np.searchsorted(known.classes_, y[held_out]) if is_classifier(known) else y[held_out]
    if not is_classifier(known):
        assert known.validation_score_[1] == pytest.approx(-known._loss_.value(y_val, raw, None), rel=1e-9)
    assert known.validation_score_[1] != unknown.validation_score_[1]
    name = "'measurement_error_val' parameter"
    with pytest.raises(ValueError, match=rf"{name} .* must be None without X_val"):
        small(model_class).fit(X, y, measurement_error_val=cells)


@pytest.mark.parametrize("model_class", BOTH)
def test_a_weight_of_zero_leaves_a_row_and_its_errors_out(model_class):
    X, y, cells = rows_of(model_class)
    weights = np.arange(200) % 3
    some = weights > 0
    one = small(model_class).fit(X, y, sample_weight=weights, measurement_error=cells)
    other = small(model_class).fit(X[some], y[some], sample_weight=weights[some], measurement_error=cells[some])
    assert_same_nodes(one.forest_, other.forest_)
    again = np.repeat(np.arange(200), weights)
    repeated = small(model_class).fit(X[again], y[again], measurement_error=cells[again])
    np.testing.assert_allclose(answer(repeated, X), answer(one, X), atol=1e-9)


@pytest.mark.parametrize("model_class", BOTH)
def test_huge_errors_of_some_cells_and_read_only_arrays(model_class):
    X, y, cells = rows_of(model_class, n=400)
    cells[::17, 0] = 1e12
    X[5, 1] = 1e12
    for array in (X, y, cells):
        array.setflags(write=False)
    one, two = (small(model_class, n_jobs=n, max_iter=20).fit(X, y, measurement_error=cells) for n in (1, 2))
    assert_same_nodes(one.forest_, two.forest_)
    assert one.score(X, y) > (0.5 if is_classifier(one) else 0.2)
    assert np.isfinite(answer(one, X, measurement_error=cells)).all()


def test_functions_of_the_readings():
    X, y, _ = rows_of(KernelBoostingRegressor, missing=0.0)
    error = {0: lambda x: 0.1 + 0.2 * np.abs(x)}
    model = small(KernelBoostingRegressor, measurement_error=error).fit(X, y)
    cells = {0: 0.1 + 0.2 * np.abs(X[:, 0])}
    same = small(KernelBoostingRegressor).fit(X, y, measurement_error=cells)
    np.testing.assert_allclose(model.predict(X), same.predict(X, measurement_error=cells))
    with pytest.raises(ValueError, match="a number or an array for a column with a monotonic constraint"):
        small(KernelBoostingRegressor, measurement_error=error, monotonic_cst={0: 1}).fit(X, y)


def test_rows_with_small_errors_count_for_more_than_rows_with_large_ones():
    rng = np.random.default_rng(0)
    truth = rng.uniform(-1, 1, size=(4000, 1))
    y = np.sign(truth[:, 0])
    cells = np.where(rng.random((4000, 1)) < 0.5, 0.05, 2.0)
    X = truth + cells * rng.uniform(-1, 1, size=truth.shape)
    train, test = slice(2000), slice(2000, None)
    given = KernelBoostingRegressor(bandwidth=0.0, random_state=0).fit(
        X[train], y[train], measurement_error=cells[train]
    )
    ignored = KernelBoostingRegressor(bandwidth=0.0, random_state=0).fit(X[train], y[train])
    of_given = np.mean((given.predict(X[test], measurement_error=cells[test]) - y[test]) ** 2)
    assert of_given < 0.8 * np.mean((ignored.predict(X[test]) - y[test]) ** 2)
    at_predict = np.mean((ignored.predict(X[test], measurement_error=cells[test]) - y[test]) ** 2)
    assert of_given < at_predict


@pytest.mark.parametrize("model_class", BOTH)
def test_what_is_refused(model_class):
    X, y, cells = rows_of(model_class)
    name = f"'measurement_error' parameter of {model_class.__name__} must be "
    for given in (cells, {0: cells[:, 0]}):
        with pytest.raises(ValueError, match=name + "one number for a column, or a function; pass"):
            small(model_class, measurement_error=given).fit(X, y)
        with pytest.raises(ValueError, match=name + "a number or a function for each column, not .*growth='level'"):
            small(model_class, growth="level").fit(X, y, measurement_error=given)
    with pytest.raises(ValueError, match=name):
        small(model_class).fit(X, y, measurement_error=cells[:-1])
    with pytest.raises(ValueError, match=name + "finite and at least 0"):
        small(model_class).fit(X, y, measurement_error=-cells - 1)
    with pytest.raises(ValueError, match=r"'bandwidth_decay' .* must be 1.0 with measurement errors"):
        small(model_class, bandwidth_decay=0.9).fit(X, y, measurement_error=cells)


def test_growth_by_levels_takes_errors_of_columns_in_fit():
    X, y, _ = rows_of(KernelBoostingClassifier)
    one = small(KernelBoostingClassifier, growth="level", measurement_error={0: 0.3}).fit(X, y)
    other = small(KernelBoostingClassifier, growth="level").fit(X, y, measurement_error={0: 0.3})
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X))
