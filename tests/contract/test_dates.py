"""Columns of dates in every estimator: what they become, at other times and in other frames, and what is refused."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import softwood
from softwood.explanations import shapley_values
from softwood.export import to_python
from softwood.fitted import FittedModel
from tests.contract.specs import SPECS, every, every_batch, over
from tests.models import answer

START = "2021-03-05"


def dated(spec, n=200):
    """A frame with dates, most of whose signal is in the weekday, and targets."""
    rng = np.random.default_rng(0)
    day = pd.Timestamp(START) + pd.to_timedelta(np.r_[0, rng.integers(0, 60, n - 1)], unit="D")
    X = pd.DataFrame(
        {"size": rng.normal(size=n), "day": day, "wait": pd.to_timedelta(rng.integers(1, 999, n), unit="m")}
    )
    signal = 3.0 * (day.day_of_week >= 5) + 0.3 * X["size"]
    X.loc[3:9, "day"] = pd.NaT
    return X, spec.targets(signal.to_numpy(), 2)


@every
def test_dates_become_days_and_parts(spec):
    X, y = dated(spec)
    model = spec.make().fit(X, y)
    parts = ["days since 2021-03-05", *(["hour"] if spec.is_stream else []), "weekday", "month"]
    names = sorted(["size", *(f"day: {part}" for part in parts), "wait: days"])
    assert sorted(model.columns_.names) == names
    assert model.n_features_in_ == 3
    assert model.feature_importances_.shape == (3,)
    encoded = FittedModel.of(model).encode(X)
    found = dict(zip(model.columns_.names, encoded.T, strict=True))
    np.testing.assert_array_equal(found["day: weekday"], X["day"].dt.day_of_week)
    np.testing.assert_array_equal(found["day: month"], X["day"].dt.month)
    np.testing.assert_array_equal(found["day: days since 2021-03-05"], (X["day"] - pd.Timestamp(START)).dt.days)
    np.testing.assert_allclose(found["wait: days"], X["wait"] / pd.Timedelta("1D"))
    gradient = model.input_gradient(X[:20])
    assert gradient.shape[2] == 3
    assert np.isfinite(gradient).all()
    later = X.assign(day=X["day"] + pd.Timedelta("9999D"))
    assert np.isfinite(answer(model, later)).all()
    assert np.isfinite(answer(model, X.assign(day=pd.NaT))).all()


@every_batch
def test_the_parameter(spec):
    X, y = dated(spec)
    days = (X["day"] - pd.Timestamp(START)) / pd.Timedelta("1D")
    numbers = X.assign(day=days, wait=X["wait"] / pd.Timedelta("1D"))
    model = spec.make(dates="days").fit(X, y)
    assert model.columns_.names == ("size", "day: days since 2021-03-05", "wait: days")
    np.testing.assert_array_equal(answer(model, X), answer(spec.make().fit(numbers, y), numbers))
    with pytest.raises(ValueError, match=rf"Column 'day' holds dates .*give {spec.name} numbers. With dates='parts'"):
        spec.make(dates="error").fit(X, y)
    as_categories = spec.make(categorical_features=["day"], dates="days").fit(X[:60], y[:60])
    assert as_categories.columns_.categories[1] is not None


@every
def test_kinds_of_frames(spec):
    X, y = dated(spec)
    expected = answer(spec.make().fit(X, y), X)
    dates = X["day"].dt.date.astype(object).where(X["day"].notna(), None)
    cells = np.column_stack([X["size"].astype(object), dates, X["wait"].astype(object)])
    others = {
        "polars": pl.from_pandas(X),
        "nanoseconds": X.astype({"day": "datetime64[ns]", "wait": "timedelta64[ns]"}),
        "arrow": X.astype({"day": "timestamp[us][pyarrow]", "wait": "duration[us][pyarrow]"}),
        "objects": X.assign(day=dates),
        "array of objects": cells,
        "list": cells.tolist(),
    }
    for name, other in others.items():
        np.testing.assert_allclose(answer(spec.make().fit(other, y), other), expected, rtol=1e-6, err_msg=name)
    array = X[["day"]].to_numpy(dtype="M8[s]")
    one = answer(spec.make().fit(array, y), array)
    np.testing.assert_array_equal(one, answer(spec.make().fit(X[["day"]], y), X[["day"]]))


@every
def test_time_zones(spec):
    """Days and hours are those of the clocks of the training rows, wherever rows to predict come from."""
    X, y = dated(spec)
    local = X.assign(day=(X["day"] + pd.Timedelta("23h")).dt.tz_localize("Asia/Tokyo"))
    model = spec.make().fit(local, y)
    assert model.columns_.dates[1].zone == "Asia/Tokyo"
    assert answer(model, local).tolist() == answer(spec.make().fit(_naive(local), y), _naive(local)).tolist()
    for other in (local.assign(day=local["day"].dt.tz_convert("America/Lima")), pl.from_pandas(local)):
        np.testing.assert_array_equal(answer(model, other), answer(model, local))
    with pytest.raises(
        ValueError, match=r"'day' has no time zone, and had Asia/Tokyo in fit: .*tz_localize\('Asia/Tokyo'"
    ):
        model.predict(X)
    with pytest.raises(ValueError, match="'day' has the time zone Asia/Tokyo, and had none in fit"):
        spec.make().fit(X, y).predict(local)


def _naive(X):
    return X.assign(day=X["day"].dt.tz_localize(None))


@every
def test_what_is_refused_later(spec):
    X, y = dated(spec)
    model = spec.make().fit(X, y)
    with pytest.raises(
        ValueError, match=r"'day' held dates in fit, and holds text now, .*pd.to_datetime\(X\['day'\]\)"
    ):
        model.predict(X.assign(day=X["day"].astype(str)))
    with pytest.raises(ValueError, match=r"'day' held dates in fit, and holds 7\.0 now"):
        model.predict(X.assign(day=7.0))
    with pytest.raises(ValueError, match=r"'wait' held durations in fit, .*pd.to_timedelta"):
        model.predict(X.assign(wait=X["day"].fillna(X["day"].min())))
    with pytest.raises(ValueError, match="'size' held numbers in fit, and holds dates now"):
        model.predict(X.assign(size=X["day"]))
    with pytest.raises(ValueError, match="names should match"):
        model.predict(X[X.columns[::-1]])
    mixed = X["day"].astype(object).where(X.index > 50, 3.5)
    with pytest.raises(ValueError, match=r"'day' holds dates and other values, such as 3.5.*errors='coerce'"):
        spec.make().fit(X.assign(day=mixed), y)


@every
def test_files_and_shapley_values(spec, tmp_path):
    X, y = dated(spec)
    model = spec.make().fit(X, y)
    softwood.save(model, tmp_path / "model.softwood")
    again = softwood.load(tmp_path / "model.softwood")
    assert again.columns_.dates == model.columns_.dates
    np.testing.assert_array_equal(answer(again, X), answer(model, X))
    if not FittedModel.of(model).differs:
        values = shapley_values(model, X[:3], random_state=0)
        assert values.names == ("size", "day", "wait")
        total = values.values.sum(axis=1) + values.base_values
        np.testing.assert_allclose(total, values.prediction, rtol=1e-6, atol=1e-9)


@every_batch
def test_exports_take_the_parts(spec):
    """A program gets each part as a column of numbers, by the names of the encoded columns."""
    X, y = dated(spec)
    model = spec.make().fit(X, y)
    scope: dict = {}
    exec(to_python(model), scope)
    encoded = FittedModel.of(model).encode(X)[:12]
    rows = [dict(zip(model.columns_.names, row, strict=True)) for row in encoded.tolist()]
    found = np.array([scope["predict"](row) for row in rows])
    np.testing.assert_allclose(found.reshape(len(rows), -1), answer(model, X[:12]).reshape(len(rows), -1), rtol=1e-9)


@over([spec for spec in SPECS if "warm_start" in spec.parameters])
def test_warm_start(spec):
    """Dates before the first ones of the last fit are negative days; the parts are those of the last fit."""
    X, y = dated(spec)
    grow = {"n_estimators": 3} if "n_estimators" in spec.parameters else {"max_iter": 3}
    model = spec.make(warm_start=True, **grow).fit(X, y)
    columns = model.columns_
    model.set_params(**{name: 6 for name in grow}).fit(X.assign(day=X["day"] - pd.Timedelta("5h") * 100), y)
    assert model.columns_.dates == columns.dates
    with pytest.raises(ValueError, match=r"'day' held dates in fit, and holds 7\.0 now"):
        model.set_params(**{name: 9 for name in grow}).fit(X.assign(day=7.0), y)


@over([spec for spec in SPECS if spec.is_stream])
def test_streams_do_not_depend_on_blocks(spec):
    X, y = dated(spec)
    X.loc[:2, "day"] = pd.NaT  # it comes with a later row
    options = {"classes": np.unique(y)} if spec.is_classifier else {}
    whole, parts = spec.make(), spec.make()
    whole.partial_fit(X, y, **options)
    for begin in range(0, len(X), 7):
        parts.partial_fit(X[begin : begin + 7], y[begin : begin + 7], **options)
    assert whole.columns_.names == parts.columns_.names
    np.testing.assert_array_equal(answer(whole, X), answer(parts, X))


@every
def test_times_of_day_and_periods(spec):
    X, y = dated(spec)
    clock = X[["size"]].assign(
        at=[datetime.time(k % 24, 30) for k in range(len(X))],
        month=pd.period_range("2020-01", periods=len(X), freq="M"),
    )
    model = spec.make().fit(clock, y)
    encoded = dict(zip(model.columns_.names, FittedModel.of(model).encode(clock).T, strict=True))
    assert encoded["at: hours"][:3].tolist() == [0.5, 1.5, 2.5]
    assert encoded["month: days since 2020-01-01"][:3].tolist() == [0.0, 31.0, 60.0]
