"""Threads that share pieces of work: each piece once, and no exception is lost."""

import threading
import time

import pytest

from softwood.kernel.growing.threads import Threads


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_items", [0, 1, 2, 40])
def test_every_item_is_done_once(n_threads, n_items):
    done = []
    with Threads(n_threads) as threads:
        for _ in range(3):
            threads.run(lambda item, worker: done.append((item, worker)), n_items)
    assert sorted(item for item, _ in done) == sorted([*range(n_items)] * 3)
    assert {worker for _, worker in done} <= set(range(n_threads))


def test_a_worker_does_one_item_at_a_time():
    busy, together = set(), []

    def work(item, worker):
        assert worker not in busy
        busy.add(worker)
        together.append(len(busy))
        time.sleep(0.002)
        busy.remove(worker)

    with Threads(3) as threads:
        threads.run(work, 30)
    assert max(together) == 3


def test_the_caller_does_what_no_other_thread_has_begun():
    """So a fit does not wait for threads that have other things to do."""
    release, done = threading.Event(), []
    with Threads(2) as threads:
        other = threading.Thread(target=threads.run, args=(lambda item, worker: release.wait(), 2))
        other.start()
        try:
            while threads._pool._work_queue.qsize():  # until the only worker is busy
                time.sleep(0.001)
            threads.run(lambda item, worker: done.append(worker), 4)
            assert done == [0] * 4
        finally:
            release.set()
            other.join()


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("failing", [0, 1, 7])
@pytest.mark.parametrize("error", [ValueError, IndexError, KeyboardInterrupt])
def test_exceptions_reach_the_caller(n_threads, failing, error):
    done = []

    def work(item, worker):
        if item == failing:
            raise error("as told")
        time.sleep(0.001)
        done.append(item)

    with Threads(n_threads) as threads:
        with pytest.raises(error, match="as told"):
            threads.run(work, 1000)
        assert len(done) < 1000, "nothing more is begun"
        threads.run(work, failing)  # it can be used again
