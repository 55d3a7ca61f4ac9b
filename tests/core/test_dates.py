"""Dates as numbers, beside pandas."""

import datetime
from dataclasses import replace
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from softwood.core.dates import Dates, date_kind, kind_of_cell, read_times

ODD = [
    "1583-10-15 12:00",
    "1900-02-28",
    "1969-12-31 23:59:59.999999",
    "1970-01-01",
    "2000-02-29 06:30",
    "2024-12-31 23:00",
]


@pytest.mark.tiny
def test_parts_are_those_of_pandas():
    days = pd.Series(np.array(ODD, dtype="M8[us]"))
    date = Dates.learn(days.to_numpy(), "date", "", "parts")
    assert date == Dates("date", "1583-10-15", "", ("days", "hour", "weekday", "month"))
    found = date.encode(days.to_numpy())
    since = (days.to_numpy() - np.datetime64("1583-10-15", "us")) / np.timedelta64(1, "D")
    expected = [since, days.dt.hour, days.dt.day_of_week, days.dt.month]
    np.testing.assert_array_equal(found, np.column_stack(expected))


@pytest.mark.tiny
def test_only_parts_that_vary():
    week = np.arange("2020-01-06", "2020-01-11", dtype="M8[D]").astype("M8[us]")
    assert Dates.learn(week, "date", "", "parts").parts == ("days", "weekday")
    assert Dates.learn(week[::7], "date", "", "parts").parts == ("days",)
    assert Dates.learn(week + np.timedelta64(9, "h"), "date", "", "parts").parts == ("days", "weekday")
    assert Dates.learn(week, "date", "", "all").parts == ("days", "hour", "weekday", "month")
    assert Dates.learn(np.full(3, "NaT", "M8[us]"), "date", "", "parts") == Dates("date", "1970-01-01")
    later = Dates.learn(week, "date", "", "parts").encode(np.array(["2019-01-01", "NaT"], dtype="M8[us]"))
    np.testing.assert_array_equal(later, [[-370.0, 1.0], [np.nan, np.nan]])


@pytest.mark.tiny
@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "day"}, {"origin": ""}, {"origin": "x"}, {"parts": ()}, {"parts": ("hour",)},
        {"parts": ("days", "month", "hour")}, {"parts": ("days", "days")}, {"kind": "duration"},
    ],
)  # fmt: skip
def test_what_is_no_encoding(wrong):
    with pytest.raises(ValueError):  # noqa: PT011 - of Dates, or of numpy
        replace(Dates("date", "2020-01-01"), **wrong)


@pytest.mark.tiny
def test_kinds_of_cells():
    dates = [datetime.date(2020, 1, 1), pd.Timestamp("2020"), np.datetime64("2020"), pd.Period("2020-01")]
    assert {kind_of_cell(value) for value in dates} == {"date"}
    durations = [datetime.timedelta(1), pd.Timedelta("1D"), np.timedelta64(1, "h")]
    assert {kind_of_cell(value) for value in durations} == {"duration"}
    assert kind_of_cell(datetime.time(7)) == "time"
    others = [pd.NaT, np.datetime64("NaT", "us"), np.timedelta64("NaT", "us"), None, np.nan, 1.0, "2020-01-01", True]
    assert {kind_of_cell(value) for value in others} == {None}


def column(values):
    cells = np.empty((len(values), 1), dtype=object)
    cells[:, 0] = values
    return cells


@pytest.mark.tiny
def test_clocks_change():
    """An hour that a clock shows twice, and one that it skips."""
    utc = pd.date_range("2023-10-28 21:00", "2023-10-29 04:00", freq="15min", tz="UTC").append(
        pd.date_range("2023-03-25 22:00", "2023-03-26 04:00", freq="15min", tz="UTC")
    )
    berlin = utc.tz_convert("Europe/Berlin")
    expected = berlin.tz_localize(None).to_numpy().astype("M8[us]")
    for table in (pd.DataFrame({"t": berlin}), column(list(berlin)), column(list(berlin.to_pydatetime()))):
        kind = date_kind(table, 0, str(table.dtypes["t"]) if hasattr(table, "dtypes") else "object")
        times, zone = read_times(table, 0, "t", kind, None)
        assert zone == "Europe/Berlin"
        np.testing.assert_array_equal(times, expected)
    np.testing.assert_array_equal(read_times(pd.DataFrame({"t": utc}), 0, "t", "date", "Europe/Berlin")[0], expected)


@pytest.mark.tiny
def test_zones():
    fixed = datetime.timezone(-datetime.timedelta(hours=3, minutes=30))
    times, zone = read_times(column([datetime.datetime(2020, 1, 1, 2, tzinfo=fixed)]), 0, "t", "date", None)
    assert (str(times[0]), zone) == ("2020-01-01T02:00:00.000000", "UTC-03:30")
    assert read_times(column([datetime.datetime(2020, 1, 1, 2, tzinfo=datetime.UTC)]), 0, "t", "date", zone)[0][0] == (
        np.datetime64("2019-12-31T22:30")
    )
    both = column([datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=ZoneInfo("UTC"))])
    with pytest.raises(ValueError, match="'t' holds dates with and without a time zone"):
        read_times(both, 0, "t", "date", None)
    with pytest.raises(ValueError, match=r"time zone 'No/Where' is not known on this machine; pip install tzdata"):
        read_times(pd.DataFrame({"t": pd.to_datetime(["2020"], utc=True)}), 0, "t", "date", "No/Where")
    missing = pd.DataFrame({"t": [None, None]})
    assert np.isnat(read_times(missing, 0, "t", "date", "Europe/Berlin")[0]).all()  # of any zone
