"""Known measurement errors: per column, per reading and per cell, at fit and at prediction."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from softwood import Kernel, KernelTreeClassifier, KernelTreeRegressor
from softwood.kernel.data.kernels import box
from softwood.kernel.data.measurement_errors import combine_widths


def data(n=60):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    return X, (X["a"] + 0.5 * rng.normal(size=n) > 0).to_numpy().astype(int)


def assert_same(one, other, X, **conditions):
    assert other.tree_.threshold == pytest.approx(one.tree_.threshold, nan_ok=True, rel=1e-9)
    assert other.predict_proba(X, **conditions) == pytest.approx(one.predict_proba(X), abs=1e-9)


@pytest.mark.tiny
def test_errors_and_bandwidths_add_up_as_squares():
    X = np.zeros((3, 4))
    scaled = Kernel([-1, 1], [1], scale=lambda x: np.array([1.0, 2.0, 3.0]))
    kernels = [box(), box(), scaled, scaled]
    errors = {0: 4.0, 1: np.array([4.0, 0.0, 1.0]), 2: 4.0, 3: np.full(3, 4.0)}
    widths, cells = combine_widths(np.full(4, 3.0), kernels, errors, X)
    assert widths[0] == 5.0
    assert np.isnan(cells[:, 0]).all()
    assert cells[:, 1] == pytest.approx([5, 3, np.sqrt(10)])
    # the scale is that of the kernel, not of the known error
    assert cells[:, 2] == pytest.approx(np.hypot([3, 6, 9], 4))
    assert cells[:, 3] == pytest.approx(cells[:, 2])
    widths, cells = combine_widths(np.full(4, 3.0), [box()] * 4, {}, X)
    assert cells is None
    assert widths.tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize(
    "error",
    [
        {"a": 0.5, "c": 0.2},
        {0: 0.5, "c": lambda x: np.full(len(x), 0.2)},
        [0.5, 0.0, 0.2],
        np.array([0.5, 0.0, 0.2]),
        {"a": np.float32(0.5), "c": 0.2},
    ],
)
def test_an_error_of_a_column_is_a_bandwidth(error):
    X, y = data()
    expected = KernelTreeClassifier(
        refine=False, trend=None, bandwidth={"a": 0.5, "c": 0.2}, bandwidth_unit="absolute", random_state=0
    ).fit(X, y)
    found = KernelTreeClassifier(refine=False, trend=None, bandwidth=0, measurement_error=error, random_state=0).fit(
        X, y
    )
    assert found.tree_.threshold == pytest.approx(expected.tree_.threshold, nan_ok=True, rel=1e-6)
    assert found.predict_proba(X) == pytest.approx(expected.predict_proba(X), abs=1e-6)


def test_errors_of_cells_at_fit_and_at_prediction():
    X, y = data()
    expected = KernelTreeClassifier(
        refine=False, trend=None, bandwidth=0, measurement_error={"a": 0.5, "c": 0.2}, random_state=0
    ).fit(X, y)
    cells = np.tile([0.5, 0.0, 0.2], (len(X), 1))
    for error in (cells, {"a": cells[:, 0], "b": 0.0, "c": cells[:, 2]}, {"a": 0.5, "c": cells[:, 2].tolist()}):
        model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0, random_state=0).fit(
            X, y, measurement_error=error
        )
        assert_same(expected, model, X, measurement_error=error)
    # errors of the cells of the training rows say nothing about other rows, one of a whole column does
    assert KernelTreeClassifier(refine=False, trend=None, bandwidth=0).fit(X, y, measurement_error=cells).tree_.is_crisp
    assert set(model.tree_.width) == {0.0, 0.5}


def test_errors_of_single_cells_change_those_rows_only():
    X, y = data()
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1).fit(X, y)
    errors = np.zeros(len(X))
    errors[[3, 8]] = 5.0
    changed = np.abs(model.predict_proba(X, measurement_error={"a": errors}) - model.predict_proba(X)).max(axis=1)
    assert np.flatnonzero(changed > 1e-9).tolist() == [3, 8]


def test_what_is_given_at_prediction_replaces_the_parameter():
    X, y = data()
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, measurement_error={"a": 0.5, "b": 0.3}).fit(
        X, y
    )
    assert model.predict_proba(X, measurement_error={"a": 0.5}) == pytest.approx(model.predict_proba(X))
    assert model.predict_proba(X, measurement_error=[0.5, 0.3, 0]) == pytest.approx(model.predict_proba(X))
    none = model.predict_proba(X, measurement_error={"a": 0.0, "b": 0.0})
    plain = model.tree_.with_kernel(model.bandwidths_, np.zeros(3, dtype=int), model.tree_.shapes)
    assert none == pytest.approx(plain.predict(X.to_numpy()))


def test_every_answer_takes_the_errors():
    X, y = data()
    model = KernelTreeClassifier(refine=True, bandwidth=0.2).fit(X, y)
    errors = {"a": np.linspace(0, 3, len(X))}
    shares = model.memberships(X, measurement_error=errors)
    leaf = model.tree_.children_left < 0
    probabilities = model.predict_proba(X, measurement_error=errors)
    powers = np.exp(shares[:, leaf] @ model.tree_.value[leaf])
    assert model.tree_.link == "softmax"
    assert probabilities == pytest.approx(powers / powers.sum(axis=1, keepdims=True))
    assert np.array_equal(model.predict(X, measurement_error=errors), probabilities.argmax(axis=1))
    assert model.decision_path(X, measurement_error=errors).nnz == shares.nnz
    assert np.array_equal(
        model.apply(X, measurement_error=errors), np.flatnonzero(leaf)[shares[:, leaf].argmax(axis=1)]
    )
    step = 1e-6
    up, down = X.assign(b=X["b"] + step), X.assign(b=X["b"] - step)
    slope = (
        model.predict_proba(up, measurement_error=errors) - model.predict_proba(down, measurement_error=errors)
    ) / (2 * step)
    found = model.input_gradient(X, measurement_error=errors)[:, :, 1]
    assert np.quantile(np.abs(found - slope), 0.95) < 1e-4


def test_masses_at_fit_are_those_at_prediction():
    X, y = data()
    X.iloc[::7, 0] = np.nan
    errors = np.abs(np.random.default_rng(1).normal(size=X.shape))
    errors[np.isnan(X.to_numpy())] = np.nan
    model = KernelTreeRegressor(
        refine=False, trend=None, bandwidth=0.2, kernel="triangle", cutoff=0.0, min_mass=3, max_leaf_nodes=None
    )
    model.fit(X, y, measurement_error=errors)
    shares = model.memberships(X, measurement_error=errors)
    assert model.tree_.n_leaves > 4
    assert shares.sum(axis=0) == pytest.approx(model.tree_.mass)


def test_errors_with_a_crisp_prediction():
    X, y = data()
    model = KernelTreeClassifier(
        refine=False, trend=None, bandwidth=0.3, measurement_error={"a": 0.5}, prediction_kernel=None
    ).fit(X, y)
    assert model.tree_.is_crisp
    assert np.array_equal(model.predict_proba(X), model.tree_.value[model.apply(X)])
    # said anew, they count
    soft = model.predict_proba(X, measurement_error={"a": 0.5})
    boxes = model.tree_.with_kernel(np.array([0.5, 0, 0]), np.zeros(3, dtype=int), model.tree_.shapes)
    assert soft == pytest.approx(boxes.predict(X.to_numpy()))


def test_errors_of_rows_without_weight_do_not_count():
    X, y = data()
    weights = np.ones(len(X))
    weights[[0, 5, len(X) - 1]] = 0
    errors = np.abs(np.random.default_rng(1).normal(size=X.shape))
    errors[0] = 1e9
    kept = weights > 0
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, max_leaf_nodes=None)
    all_rows = clone(model).fit(X, y, sample_weight=weights, measurement_error=errors)
    some_rows = clone(model).fit(X[kept], y[kept], measurement_error=errors[kept])
    assert np.array_equal(all_rows.tree_.threshold, some_rows.tree_.threshold, equal_nan=True)


def test_a_known_error_keeps_a_tree_from_reading_noise():
    rng = np.random.default_rng(0)
    truth = rng.uniform(0, 10, size=400)
    reading = (truth + rng.uniform(-1, 1, size=400))[:, None]
    y = (truth > 5).astype(int)
    new_truth = rng.uniform(0, 10, size=2000)
    new = (new_truth + rng.uniform(-1, 1, size=2000))[:, None]
    crisp = KernelTreeClassifier(refine=False, trend=None, bandwidth=0, max_leaf_nodes=None).fit(reading, y)
    knowing = KernelTreeClassifier(
        refine=False, trend=None, bandwidth=0, max_leaf_nodes=None, measurement_error={0: 1.0}
    ).fit(reading, y)

    def brier(model):
        return ((model.predict_proba(new)[:, 1] - (new_truth > 5)) ** 2).mean()

    assert brier(knowing) < 0.8 * brier(crisp)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"d": 1.0}, "by name or number"),
        ({"a": -1.0}, "finite and at least 0 for column 'a'. Got -1.0"),
        ({"a": np.nan}, "finite and at least 0 for column 'a'. Got nan"),
        ({"a": np.full(60, np.inf)}, "finite and at least 0 for column 'a'. Got inf"),
        ({"b": np.zeros(7)}, r"one for each row, for column 'b'. Got 'an array of shape \(7,\)'"),
        ({"b": lambda x: -np.ones(len(x))}, "finite and at least 0 for column 'b'"),
        (np.zeros((60, 2)), r"array of shape \(3,\) or \(n_rows, 3\)"),
        (np.zeros((61, 3)), "one for each row, for column 'a'"),
        (0.5, "a dict by column, or an array"),
    ],
)
@pytest.mark.parametrize("when", ["fit", "predict"])
def test_wrong_errors_name_the_column(error, message, when):
    X, y = data()
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1)
    if when == "predict":
        model.fit(X, y)
    with pytest.raises(ValueError, match="'measurement_error' parameter of KernelTreeClassifier") as caught:
        model.fit(X, y, measurement_error=error) if when == "fit" else model.predict(X, measurement_error=error)
    assert caught.match(message)


def test_categories_have_no_error():
    X, y = data()
    X["d"] = np.where(X["b"] > 0, "u", "v")
    with pytest.raises(ValueError, match=r"columns of numbers\. Got 'd'"):
        KernelTreeClassifier(refine=False, trend=None, measurement_error={"d": 0.1}).fit(X, y)
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1, measurement_error=[0.1, 0, 0, 0]).fit(X, y)
    assert model.predict(X).shape == (60,)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_frames_of_errors_are_read_by_name(kind):
    X, y = data()
    X["d"] = np.where(X["b"] > 0, "u", "v")
    given = {"a": np.full(60, 0.4), "c": np.arange(60) / 60}
    frame = kind({"c": given["c"], "d": np.zeros(60), "a": given["a"]})
    one, other = (
        KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1, random_state=0).fit(
            X, y, measurement_error=errors
        )
        for errors in (given, frame)
    )
    np.testing.assert_array_equal(other.predict_proba(X), one.predict_proba(X))
    np.testing.assert_array_equal(
        one.predict_proba(X, measurement_error=frame), one.predict_proba(X, measurement_error=given)
    )
    numbers = KernelTreeClassifier(bandwidth=0.1, random_state=0).fit(X[["a", "c"]].to_numpy(), y)
    with pytest.raises(ValueError, match=r"by name or number \(4: 'a', 'b', 'c', 'd'\). Got 'e'"):
        one.predict(
            X, measurement_error=frame.rename({"a": "e"}) if kind is pl.DataFrame else frame.rename(columns={"a": "e"})
        )
    by_place = numbers.predict_proba(X[["a", "c"]].to_numpy(), measurement_error=np.column_stack(list(given.values())))
    rows = kind({"first": given["a"], "second": given["c"]})
    np.testing.assert_array_equal(
        numbers.predict_proba(X[["a", "c"]].to_numpy(), measurement_error=rows), by_place, "rows without names"
    )


def test_a_series_of_errors_is_read_by_name():
    X, y = data()
    errors = pd.Series({"c": 0.7, "a": 0.2})
    one, other = (
        KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1, random_state=0, measurement_error=given).fit(X, y)
        for given in (errors, {"a": 0.2, "c": 0.7})
    )
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    by_place = KernelTreeClassifier(bandwidth=0.1, measurement_error=pd.Series([0.1, 0.2, 0.3]))
    assert by_place.fit(X.to_numpy(), y).predict(X.to_numpy()).shape == (60,)


WRONG = [
    ("bogus", r"a dict by column, or an array of shape \(3,\) or \(n_rows, 3\) of numbers. Got 'bogus'"),
    ([0.1, "wide", 0.2], "a number for column 'b'. Got 'wide'"),
    (["a", "b"], r"an array of shape .* of numbers. Got \['a', 'b'\]"),
    ([[0.1], [0.1, 0.2]], r"an array of shape .* of numbers. Got \[\[0.1\], .*"),
    (0.5, "an array of shape .* of numbers. Got 0.5"),
    ({"b": "wide"}, "one number, or one for each row, for column 'b'. Got 'wide'"),
    ({"b": {}}, "one number, or one for each row, for column 'b'. Got {}"),
    ({"b": [0.1, 0.2]}, r"one number, or one for each row, for column 'b'. Got 'an array of shape \(2,\)'"),
    ({"b": lambda x: "wide"}, "a function that returns a number for each reading of column 'b'. Got 'wide'"),
    ({"b": lambda x: x[:2]}, r"for each reading of column 'b'. Got 'an array of shape \(2,\)'"),
    ({"wide": 0.1}, r"by name or number \(3: 'a', 'b', 'c'\). Got 'wide'"),
]


@pytest.mark.parametrize(("error", "message"), WRONG)
def test_what_is_no_error_is_told_by_column(error, message):
    X, y = data()
    message = f"The 'measurement_error' parameter of KernelTreeClassifier must be .*{message} instead"
    with pytest.raises(ValueError, match=message):
        KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1, measurement_error=error).fit(X, y)
    with pytest.raises(ValueError, match=message):
        KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1).fit(X, y, measurement_error=error)
    for kernel in ("same", None):
        model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1, prediction_kernel=kernel).fit(X, y)
        with pytest.raises(ValueError, match=message):
            model.predict(X, measurement_error=error)


def test_a_function_may_return_one_number():
    X, y = data()
    one, other = (
        KernelTreeClassifier(refine=False, trend=None, bandwidth=0, measurement_error={"a": error}, random_state=0)
        for error in (lambda x: 0.5, 0.5)
    )
    assert_same(one.fit(X, y), other.fit(X, y), X)
