"""Threads: each piece of work is done once, no exception is lost, and interrupts stop loops."""

import _thread
import signal
import threading
import time

import numpy as np
import pytest

from softwood import KernelForestClassifier, KernelTreeClassifier
from softwood.core.threads import Stopped, Threads, interruptible, new_stop
from softwood.kernel.growing import growing
from tests.callbacks import Recorder, require_callbacks
from tests.contract.specs import BY_NAME


@pytest.fixture(autouse=True)
def _interrupts_are_heard():
    """Interrupts may be ignored where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_when(event):
    """Interrupt the main thread as soon as the event is set."""

    def wait():
        event.wait(60)
        _thread.interrupt_main()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


# ------------------------------------------------------------------ the pool


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


def test_the_caller_does_what_no_other_thread_has_started():
    """A fit does not wait for threads that are busy elsewhere."""
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
            raise error("as planned")
        time.sleep(0.001)
        done.append(item)

    with Threads(n_threads) as threads:
        with pytest.raises(error, match="as planned"):
            threads.run(work, 1000)
        assert len(done) < 1000, "no further item starts"
        threads.run(work, failing)  # it can be used once more


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_items", [0, 1, 2, 40])
def test_results_come_in_order(n_threads, n_items):
    def work(item):
        time.sleep(0.001 * (item % 3))
        return item**2

    with Threads(n_threads) as threads:
        for _ in range(2):
            assert list(threads.map(work, n_items)) == [item**2 for item in range(n_items)]


def test_all_threads_work_on_results_and_none_waits_for_a_slow_item():
    release, threads_seen = threading.Event(), set()

    def work(item):
        threads_seen.add(threading.current_thread())
        if item == 0:
            release.wait(60)
        elif item == 9:
            release.set()
        time.sleep(0.001)
        return item

    with Threads(2) as threads:
        assert list(threads.map(work, 10)) == list(range(10))
    assert len(threads_seen) == 2


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_no_further_item_starts_after_an_exception_or_when_results_are_closed(n_threads, error):
    started = []

    def work(item):
        started.append(item)
        time.sleep(0.001)
        if item == 7:
            raise error("as planned")
        return item

    with Threads(n_threads) as threads:
        with pytest.raises(error, match="as planned"):
            list(threads.map(work, 1000))
        assert len(started) < 1000
        results = threads.map(work, 1000)
        assert next(results) == 0
        results.close()
        assert len(started) < 2000


# ------------------------------------------------------------------ interrupts


def test_an_interrupt_stops_the_work_and_is_passed_on():
    stop, begun, ended = new_stop(), threading.Event(), []

    def work():
        begun.set()
        deadline = time.monotonic() + 60
        while not stop[0] and time.monotonic() < deadline:
            time.sleep(0.001)
        ended.append(bool(stop[0]))
        raise Stopped

    thread = interrupt_when(begun)
    with pytest.raises(KeyboardInterrupt):
        interruptible(work, stop)
    thread.join()
    assert ended == [True], "it waits for the work to end"


def test_results_and_errors_come_through():
    def fail():
        raise ValueError("from work")

    assert interruptible(lambda: 5, new_stop()) == 5
    with pytest.raises(ValueError, match="from work"):
        interruptible(fail, new_stop())


def test_threads_other_than_the_main_one_call_the_work_directly():
    found = []
    thread = threading.Thread(
        target=lambda: found.append(interruptible(threading.current_thread, new_stop()) is threading.current_thread())
    )
    thread.start()
    thread.join()
    assert found == [True]


@pytest.mark.parametrize("parameters", [{}, {"max_leaf_nodes": 50}, {"n_jobs": 2}, {"kernel": "gaussian"}])
def test_growing_stops_within_a_node(parameters, monkeypatch):
    """The search looks at the flag before each feature: a wide node is not searched to its end."""
    X, y = BY_NAME["KernelTreeClassifier"].table(n=400)
    searched = []
    new_space = growing.Workspace.__init__

    def asked_to_stop(space, stop=None):
        new_space(space, stop)
        space.stop[0] = 1

    monkeypatch.setattr(growing.Workspace, "__init__", asked_to_stop)
    monkeypatch.setattr(growing, "finish", lambda *arguments: searched.append(True))
    with pytest.raises(Stopped):
        KernelTreeClassifier(bandwidth=0.2, **parameters).fit(X, y)
    assert not searched


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("kernel", ["box", "gaussian"])
def test_an_interrupted_forest_keeps_its_trees_and_leaves_no_thread_at_work(n_jobs, kernel, monkeypatch):
    require_callbacks()
    X, y = BY_NAME["KernelForestClassifier"].table(n=1000)
    X = np.column_stack([X] * 5)
    monkeypatch.setattr(growing, "_LONG", 1)
    begun = threading.Event()
    model = KernelForestClassifier(500, bandwidth=0.2, kernel=kernel, n_jobs=n_jobs, random_state=0)
    model.set_callbacks(Recorder(4, then=begun.set))
    thread = interrupt_when(begun)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    thread.join()
    assert 1 <= len(model) < 500
    assert model.score(X, y) > 0.5
    for worker in threading.enumerate():
        if worker.name == "softwood-loop":
            worker.join(10)
            assert not worker.is_alive()
