"""Lost workers, interrupts and wrong input."""

import _thread
import os
import signal
import subprocess
import sys
import time

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import softwood.dask
from softwood.dask import holders, session
from softwood.kernel.parts import growing as level_growing
from tests.dask.conftest import assert_nothing_left
from tests.dask.models import assert_same, in_parts, pair, table


@pytest.fixture
def at_exchange(monkeypatch):
    """A function that makes something happen just before a given exchange of a fit; it returns a list of what did."""

    def arrange(number, event):
        begin_exchange, happened = session.Session.begin_exchange, []

        def with_event(self):
            if self.n_exchanges == number:
                happened.append(number)
                event()
            begin_exchange(self)

        monkeypatch.setattr(session.Session, "begin_exchange", with_event)
        return happened

    return arrange


@pytest.fixture
def interruptible():
    """Interrupts raise KeyboardInterrupt, also in a process that was started to ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def kill_one_of(client):
    pids = client.run(os.getpid)
    os.kill(next(iter(pids.values())), signal.SIGKILL)


@pytest.mark.parametrize("fan_in", [8, 1])
def test_a_killed_worker_with_a_nanny(client, at_exchange, monkeypatch, fan_in):
    monkeypatch.setattr(holders, "FAN_IN", fan_in)
    X, y = table()
    model, local = pair("KernelBoosting", max_iter=8)
    happened = at_exchange(25, lambda: kill_one_of(client))
    began = time.monotonic()
    assert_same(model.fit(in_parts(X, 4), in_parts(y > 0, 4)), local.fit(X, y > 0))
    assert happened
    assert time.monotonic() - began < 30
    client.wait_for_workers(2, timeout=60)


@pytest.fixture
def without_nanny():
    """Two workers that nobody starts again."""
    with (
        LocalCluster(n_workers=0, dashboard_address=":0") as started,
        Client(started) as client,
    ):
        command = [
            sys.executable, "-m", "distributed.cli.dask_worker", started.scheduler_address, "--no-nanny", "--nthreads",
            "1", "--no-dashboard",
        ]  # fmt: skip
        workers = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
        try:
            client.wait_for_workers(2, timeout=60)
            yield client, workers
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()


def test_killed_workers_without_a_nanny(without_nanny, at_exchange, monkeypatch):
    client, workers = without_nanny
    X, y = table()
    model, local = pair("KernelForest", n_estimators=10)
    happened = at_exchange(9, workers[0].kill)
    assert_same(model.fit(in_parts(X, 4), in_parts(y > 0, 4)), local.fit(X, y > 0))
    assert happened
    monkeypatch.undo()
    monkeypatch.setattr(session, "_PATIENCE", 3.0)
    at_exchange(9, workers[1].kill)
    began, before = time.monotonic(), model.forest_
    with pytest.raises(RuntimeError, match="no worker for 3 seconds"):
        model.fit(in_parts(X, 4), in_parts(y > 0, 4))
    assert time.monotonic() - began < 30
    assert model.forest_ is before
    assert_nothing_left(client)


def test_an_error_of_a_step_is_told(client, monkeypatch):
    X, y = table()
    model, _ = pair("KernelTree")
    monkeypatch.setattr(level_growing, "add_up", unknown_step)
    with pytest.raises(ZeroDivisionError, match="a step that fails"):
        model.fit(in_parts(X, 4), in_parts(y > 0, 4))


def unknown_step(*_):
    raise ZeroDivisionError("a step that fails")


def test_workers_that_die_again_and_again(monkeypatch):
    """In a cluster of its own: nannies may give up workers that die while they start."""
    X, y = table()
    model, _ = pair("KernelTree")
    monkeypatch.setattr(level_growing, "add_up", deadly_step)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster),
        pytest.raises(RuntimeError, match="Workers died 3 times in a row while they worked on 'add up'"),
    ):
        model.fit(in_parts(X, 2), in_parts(y > 0, 2))


def deadly_step(*_):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(("kind", "number"), [("KernelBoosting", 30), ("KernelTree", 6)])
def test_an_interrupt_cancels_all_tasks(client, at_exchange, kind, number, interruptible):
    X, y = table()
    model, _ = pair(kind, **({"max_iter": 20} if kind == "KernelBoosting" else {"max_depth": 10}))
    at_exchange(number, _thread.interrupt_main)
    with pytest.raises(KeyboardInterrupt):
        model.fit(in_parts(X, 4), in_parts(y > 0, 4))
    if kind == "KernelBoosting":  # the rounds that were finished make up a model
        assert 0 < model.n_iter_ < 20
        assert model.predict(X).shape == y.shape
    else:
        assert not hasattr(model, "tree_")


# ------------------------------------------------------------------ wrong input


def test_wrong_input_is_told_before_work_is_sent_out(client, monkeypatch):
    X, y = table()
    model, _ = pair("KernelTree")
    parts, labels = in_parts(X, 4), in_parts(y > 0, 4)
    monkeypatch.setattr(session.Session, "keep", None)  # all tasks pass through it
    dates = dd.from_pandas(pd.DataFrame({"day": pd.date_range("2020", periods=9), "x": 1.0}), npartitions=2)
    cases = [
        ((X, y > 0), TypeError, "X is a ndarray; softwood.dask.KernelTreeClassifier takes Dask arrays"),
        ((parts, y > 0), TypeError, "y is a ndarray"),
        ((parts, None), ValueError, "requires y to be passed"),
        ((parts, in_parts(y > 0, 5)), ValueError, "X has 4 parts, but y has 5"),
        ((parts, da.from_array(y > 0, chunks=60)), ValueError, "The parts of X have .* rows, but those of y have"),
        ((parts, labels, in_parts(y, 3)), ValueError, "X has 4 parts, but sample_weight has 3"),
        (([X], [y]), TypeError, "X is a list; a list must hold futures or delayed parts"),
        ((parts[:, 0], labels), ValueError, "X must have 2 dimensions. Got 1"),
    ]
    for given, kind, message in cases:
        with pytest.raises(kind, match=message):
            model.fit(*given)
    numbers_only = softwood.dask.KernelTreeClassifier(dates="error")
    for given, message in (
        ((parts.astype("M8[s]"), labels), "X holds datetime64"),
        ((dates, dates["x"]), "Column 'day' holds datetime64"),
    ):
        with pytest.raises(ValueError, match=message):
            numbers_only.fit(*given)
    with pytest.raises(ValueError, match="The 'dates' parameter of KernelTreeClassifier"):
        softwood.dask.KernelTreeClassifier(dates="all").fit(parts, labels)
    with pytest.raises(ValueError, match="The 'max_depth' parameter of KernelTreeClassifier"):
        softwood.dask.KernelTreeClassifier(max_depth=0).fit(parts, labels)
    with pytest.raises(ValueError, match="The 'growth' parameter of KernelTreeClassifier must be 'level' on a cluster"):
        softwood.dask.KernelTreeClassifier(growth="node").fit(parts, labels)


def test_wrong_rows_are_told_by_name(client):
    X, y = table()
    model, _ = pair("KernelTree", "Regressor")
    gap = y.copy()
    gap[200] = np.nan
    with pytest.raises(ValueError, match="Input y contains NaN"):
        model.fit(in_parts(X, 4), in_parts(gap, 4))
    infinite = X.copy()
    infinite[100, 2] = np.inf
    with pytest.raises(ValueError, match=r"Column 'x\[2\]' contains infinity"):
        model.fit(in_parts(infinite, 4), in_parts(y, 4))
    with pytest.raises(ValueError, match="sample_weight must hold finite numbers of at least 0"):
        model.fit(in_parts(X, 4), in_parts(y, 4), in_parts(-np.abs(y), 4))
    with pytest.raises(ValueError, match="sample_weight is zero for all rows"):
        model.fit(in_parts(X, 4), in_parts(y, 4), in_parts(0 * y, 4))
    boosting, _ = pair("KernelBoosting", "Regressor")
    with pytest.raises(ValueError, match="y must be one column of targets"):
        boosting.fit(in_parts(X, 2), in_parts(np.column_stack([y, y]), 2))
    model.fit(in_parts(X, 2), in_parts(y, 2))
    with pytest.raises(ValueError, match="X has 2 features, but KernelTreeRegressor is expecting 4"):
        model.predict(in_parts(X[:, :2], 2))


def test_without_a_client():
    X, y = table()
    model, _ = pair("KernelTree")
    with pytest.raises(ValueError, match="There is no Dask client"):
        model.fit(in_parts(X, 2), in_parts(y > 0, 2))
