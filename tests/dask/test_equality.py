"""Fits on a cluster have the bits of the local fit, however the rows are divided."""

import time

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from sklearn.base import clone

import softwood
from softwood.dask import holders, source
from softwood.trees.gates import Gate
from tests.dask.models import KINDS, assert_same, in_parts, pair, table


@pytest.mark.parametrize("ending", ["Classifier", "Regressor"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_any_number_of_parts_in_any_order(client, kind, ending):
    X, y = table()
    y = np.digitize(y, [-0.5, 0.5]) if ending == "Classifier" else y
    weights = np.random.default_rng(1).random(len(y))
    on_cluster, local = pair(kind, ending)
    local.fit(X, y, weights)
    for n_parts in (1, 2, 5, 13) if kind in ("KernelTree", "KernelBoosting") else (5,):
        given = [in_parts(array, n_parts) for array in (X, y, weights)]
        assert_same(on_cluster.fit(*given), local)
        np.testing.assert_array_equal(on_cluster.predict(given[0]).compute(), local.predict(X))
    order = np.random.default_rng(2).permutation(len(y))  # rows and parts
    assert_same(on_cluster.fit(*(in_parts(array[order], 4) for array in (X, y, weights))), local)


def test_one_worker(client, cluster):
    X, y = table()
    on_cluster, local = pair("KernelBoosting")
    local.fit(X, y > 0)
    cluster.scale(1)
    while len(client.nthreads()) > 1:
        time.sleep(0.05)
    try:
        assert_same(on_cluster.fit(in_parts(X, 3), in_parts(y > 0, 3)), local)
    finally:
        cluster.scale(2)
        client.wait_for_workers(2, timeout=60)


@pytest.mark.parametrize("kind", ["KernelTree", "KernelForest", "KernelBoosting"])
def test_bandwidths_that_are_chosen(client, kind):
    X, y = table()
    on_cluster, local = pair(kind, "Regressor", bandwidth="auto")
    assert_same(on_cluster.fit(in_parts(X, 3), in_parts(y, 3)), local.fit(X, y))
    assert on_cluster.bandwidth_ == local.bandwidth_


@pytest.mark.parametrize("ending", ["Classifier", "Regressor"])
def test_trends_and_refining(client, ending):
    X, y = table()
    y = np.digitize(y, [-0.5, 0.5]) if ending == "Classifier" else y
    settings = {"bandwidth": "auto", "refine": True, "trend": "linear"}
    on_cluster, local = pair("KernelTree", ending, **settings)
    assert_same(on_cluster.fit(in_parts(X, 3), in_parts(y, 3)), local.fit(X, y))
    assert local.n_passes_ > 0
    np.testing.assert_array_equal(on_cluster.predict(in_parts(X, 5)).compute(), local.predict(X))
    np.testing.assert_array_equal(on_cluster.to_local().forest_.value, local.forest_.value)


def test_frames_with_text_classes_and_categories_missing_in_parts(client):
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["city"] = np.where(np.arange(len(y)) < 200, np.where(y > 0, "Rome", "Oslo"), "Bern")
    frame.loc[::7, "city"] = None
    labels = pd.Series(np.where(np.arange(len(y)) < 50, "first", np.where(y > 0, "high", "low")), name="label")
    weights = pd.Series(np.arange(len(y)) % 3 * 1.0)
    on_cluster, local = pair("KernelTree", class_weight="balanced")
    local.fit(frame, labels, weights)
    parts = [dd.from_pandas(given, npartitions=6, sort=False) for given in (frame, labels, weights)]
    on_cluster.fit(*parts)
    assert_same(on_cluster, local)
    assert on_cluster.classes_.tolist() == ["first", "high", "low"]
    assert on_cluster.columns_.names == local.columns_.names
    np.testing.assert_array_equal(on_cluster.feature_names_in_, local.feature_names_in_)
    lazy = on_cluster.predict_proba(parts[0])
    assert isinstance(lazy, da.Array)
    np.testing.assert_array_equal(lazy.compute(), local.predict_proba(frame))
    assert on_cluster.predict(parts[0]).compute().tolist() == local.predict(frame).tolist()


def test_empty_parts_and_unknown_sizes(client):
    X, y = table()
    frame = dd.from_pandas(pd.DataFrame(np.column_stack([X, y]), columns=list("abcdy")), npartitions=4, sort=False)
    frame = dd.concat([frame, frame[frame["y"] > 1e9]])  # parts without rows
    on_cluster, local = pair("KernelBoosting", "Regressor")
    on_cluster.fit(frame[list("abcd")].to_dask_array(), frame["y"].to_dask_array())
    assert_same(on_cluster, local.fit(X, y))
    lazy = on_cluster.predict(frame[list("abcd")].to_dask_array())
    np.testing.assert_array_equal(lazy.compute(), local.predict(X))


def test_a_folder_of_files(client, tmp_path):
    X, y = table()
    whole = pd.DataFrame(np.column_stack([X, y]), columns=list("abcdy"))
    for k, part in enumerate(np.array_split(np.arange(len(y)), 5)):
        whole.iloc[part].to_parquet(tmp_path / f"{k}.parquet")
    frame = dd.read_parquet(tmp_path)  # from which Dask itself would read one column in fewer parts
    on_cluster, local = pair("KernelBoosting", "Regressor")
    assert_same(on_cluster.fit(frame[list("abcd")], frame["y"]), local.fit(whole[list("abcd")], whole["y"]))


def test_lists_of_parts(client):
    X, y = table()
    on_cluster, local = pair("KernelTree", "Regressor")
    local.fit(X, y)
    tables, targets = np.array_split(X, 3), np.array_split(y, 3)
    assert_same(on_cluster.fit(list(map(delayed, tables)), list(map(delayed, targets))), local)
    futures = client.scatter(tables), client.scatter(targets)
    assert_same(on_cluster.fit(*futures), local)


def test_parameters_of_boosting(client):
    X, y = table(400)
    settings = {"subsample": 0.6, "max_features": 2, "early_stopping": True, "bandwidth_decay": 0.9, "max_iter": 8}
    on_cluster, local = pair("KernelBoosting", **settings)
    labels = np.digitize(y, [-0.5, 0.5])
    on_cluster.fit(in_parts(X, 4), in_parts(labels, 4))
    assert_same(on_cluster, local.fit(X, labels))
    np.testing.assert_array_equal(on_cluster.validation_score_, local.validation_score_)
    np.testing.assert_array_equal(on_cluster.train_score_, local.train_score_)


def test_shares_of_classes_and_several_targets(client):
    X, y = table()
    shares = np.column_stack([y <= 0, y > 0]) * 0.8 + 0.1
    for kind in ("KernelTree", "KernelBoosting"):
        on_cluster, local = pair(kind)
        assert_same(on_cluster.fit(in_parts(X, 2), in_parts(shares, 2)), local.fit(X, shares))
    on_cluster, local = pair("KernelForest", "Regressor")
    both = np.column_stack([y, -2 * y])
    assert_same(on_cluster.fit(in_parts(X, 2), in_parts(both, 2)), local.fit(X, both))
    assert on_cluster.predict(in_parts(X, 2)).shape == both.shape


def test_the_way_back_and_copies(client):
    X, y = table()
    on_cluster, local = pair("KernelBoosting")
    on_cluster.set_params(client=client).fit(in_parts(X, 2), in_parts(y > 0, 2))
    local.fit(X, y > 0)
    back = on_cluster.to_local()
    assert type(back) is softwood.KernelBoostingClassifier
    np.testing.assert_array_equal(back.predict_proba(X), local.predict_proba(X))
    np.testing.assert_array_equal(on_cluster.predict_proba(X), local.predict_proba(X))
    scores = on_cluster.decision_function(in_parts(X, 3))
    np.testing.assert_array_equal(scores.compute(), local.decision_function(X))
    copied = clone(on_cluster)
    assert copied.client is client
    assert not hasattr(copied, "forest_")


def test_holders_that_wait_for_others(client, monkeypatch):
    monkeypatch.setattr(holders, "FAN_IN", 1)
    X, y = table()
    for kind in ("KernelForest", "KernelBoosting"):
        model, local = pair(kind)
        assert_same(model.fit(in_parts(X, 4), in_parts(y > 0, 4)), local.fit(X, y > 0))


def test_workers_with_many_blocks(client, monkeypatch):
    X, y = table()
    for most in (1, 5000):  # bytes of a block: one part each, or a few
        monkeypatch.setattr(source, "_BLOCK_BYTES", most)
        for kind in ("KernelForest", "KernelBoosting"):
            model, local = pair(kind)
            assert_same(model.fit(in_parts(X, 13), in_parts(y > 0, 13)), local.fit(X, y > 0))


def test_groups_of_parts_have_a_size():
    sizes = dict(enumerate([0, 20, 30, 30, 100, 10, 5]))
    most = source._BLOCK_BYTES // 60
    groups = source._grouped(list(sizes), {part: size * most for part, size in sizes.items()})
    assert groups == [[0, 1, 2], [3], [4], [5, 6]]


def test_a_tree_of_holders():
    tree = holders._arranged(list(range(100)))

    def numbers(tree):
        assert len(tree) <= holders.FAN_IN
        return [number for head, below in tree for number in (head, *numbers(below))]

    assert sorted(numbers(tree)) == list(range(100))


def test_categories_and_errors(client):
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["city"] = np.random.default_rng(0).choice(["Bern", "Oslo", "Rome", "Paris"], len(y))
    y = y + np.where(frame["city"].isin(["Oslo", "Rome"]), 2.0, -1.0)
    parts = dd.from_pandas(frame, npartitions=5, sort=False), dd.from_pandas(pd.Series(y), npartitions=5, sort=False)
    for kind in KINDS:
        on_cluster, local = pair(kind, "Regressor", measurement_error={"a": 0.3})
        assert_same(on_cluster.fit(*parts), local.fit(frame, y))
        finished = local.tree_ if kind == "KernelTree" else local.forest_
        assert np.any(finished.gate == Gate.SUBSET)
        np.testing.assert_array_equal(on_cluster.predict(parts[0]).compute(), local.predict(frame))


def test_errors_that_are_functions_and_kernels_with_a_scale(client):
    X, y = table()
    scaled = softwood.Kernel([-1.0, 1.0], [0.5], scale=lambda x: 0.5 + np.abs(x))
    options = {"measurement_error": {0: lambda x: 0.1 + 0.2 * np.abs(x)}, "kernel": {1: scaled}}
    on_cluster, local = pair("KernelTree", "Regressor", **options)
    assert_same(on_cluster.fit(in_parts(X, 3), in_parts(y, 3)), local.fit(X, y))


def test_warm_start(client):
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(city=np.where(y > 0.5, "Rome", "Oslo"))
    later = frame.assign(city=np.where(y > 0.5, "Bern", "Oslo"))
    on_cluster, local = pair("KernelForest", "Regressor", n_estimators=2, warm_start=True)
    targets = dd.from_pandas(pd.Series(y), npartitions=3, sort=False)
    for n, given in ((2, frame), (4, later)):
        for model, rows in (
            (on_cluster, (dd.from_pandas(given, npartitions=3, sort=False), targets)),
            (local, (given, y)),
        ):
            model.set_params(n_estimators=n).fit(*rows)
    assert len(on_cluster.forest_) == 4
    assert_same(on_cluster, local)
    assert on_cluster.columns_.categories == local.columns_.categories
