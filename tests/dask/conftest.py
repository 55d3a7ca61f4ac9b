"""A cluster of two processes for all tests of this folder."""

import time

import pytest
from distributed import Client, LocalCluster


@pytest.fixture(scope="session")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as started:
        yield started


@pytest.fixture
def client(cluster):
    """A client, after whose test there is no task and no data on the scheduler."""
    with Client(cluster) as connected:
        connected.wait_for_workers(2, timeout=60)
        yield connected
        assert_nothing_left(connected)


def assert_nothing_left(client):
    """Tasks are released with a little delay, and their data on the workers later still."""

    def left():
        tasks = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
        if tasks:
            return tasks
        try:
            data = client.run(lambda dask_worker: list(dask_worker.data))
        except OSError as error:  # a worker that the test has killed is still on the scheduler's list
            return [error]
        return [key for keys in data.values() for key in keys]

    end = time.monotonic() + 30
    while found := left():
        assert time.monotonic() < end, found[:5]
        time.sleep(0.05)
