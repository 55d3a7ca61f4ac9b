"""What rows in parts may hold: names that are not text, rows without weight."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from tests.dask.models import assert_same, in_parts, pair, table


def test_names_that_are_numbers(client):
    X, y = table()
    frame = pd.DataFrame(X, columns=[3, 2, 1, 0])
    on_cluster, local = pair("KernelTree", "Regressor", bandwidth={3: 0.5})
    parts = dd.from_pandas(frame, npartitions=3, sort=False)
    targets = dd.from_pandas(pd.Series(y), npartitions=3, sort=False)
    assert_same(on_cluster.fit(parts, targets), local.fit(frame, y))
    np.testing.assert_array_equal(on_cluster.predict(parts).compute(), local.predict(frame))
    by_position, _ = pair("KernelTree", "Regressor", bandwidth={0: 0.5})
    assert_same(by_position.fit(in_parts(X, 3), in_parts(y, 3)), on_cluster)
    with pytest.raises(ValueError, match="feature names should match"):
        on_cluster.predict(frame[[0, 1, 2, 3]])


def test_rows_without_weight_have_no_effect(client):
    X, y = table()
    weights = np.arange(len(y)) % 3.0
    weights[:90] = 0.0  # a part without any weight
    labels = np.where(weights > 0, np.where(y > 0, "up", "down"), "new")
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["city"] = np.where(weights > 0, np.where(y > 0.5, "Rome", "Oslo"), "Bern")
    on_cluster, local = pair("KernelTree")
    rows = weights > 0
    local.fit(frame[rows], labels[rows], weights[rows])
    on_cluster.fit(
        dd.from_pandas(frame, npartitions=3, sort=False),
        dd.from_pandas(pd.Series(labels), npartitions=3, sort=False),
        da.from_array(weights, chunks=80),
    )
    assert_same(on_cluster, local)
    assert on_cluster.columns_.categories == local.columns_.categories
    assert on_cluster.classes_.tolist() == ["down", "up"]


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_dates(client, zone):
    """The first date, and the parts that vary, are those of all parts together."""
    X, y = table()
    day = pd.Timestamp("2021-03-05") + pd.to_timedelta(np.arange(len(y)) // 3 % 70, unit="D")  # sorted at first
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(
        day=day.tz_localize(zone), wait=pd.to_timedelta(np.arange(len(y)) % 9, unit="h")
    )
    frame.loc[5:60, "day"] = pd.NaT
    parts = dd.from_pandas(frame, npartitions=4, sort=False)
    targets = dd.from_pandas(pd.Series(y + 2.0 * (day.day_of_week == 3)), npartitions=4, sort=False)
    on_cluster, local = pair("KernelTree", "Regressor")
    assert_same(on_cluster.fit(parts, targets), local.fit(frame, targets.compute()))
    assert on_cluster.columns_.dates == local.columns_.dates
    assert on_cluster.columns_.dates[2].parts == ("days", "weekday", "month")
    np.testing.assert_array_equal(on_cluster.predict(parts).compute(), local.predict(frame))
    array = frame[["day"]].to_numpy(dtype="M8[us]")
    if zone is None:
        by_array, local = pair("KernelTree", "Regressor", dates="days")
        assert_same(by_array.fit(in_parts(array, 4), in_parts(y, 4)), local.fit(array, y))
