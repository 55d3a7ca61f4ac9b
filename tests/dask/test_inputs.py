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
