"""Threads: a pool that shares short pieces of work, and loops that can be interrupted.

Threads of OpenMP spin while they wait: two fits at once on the same processors then take many times as long as one
after the other. Here a waiting thread sleeps, and the caller does the pieces that no other thread has started.

Python handles an interrupt only between two of its own instructions, in the main thread. So a long compiled loop runs
in a separate thread while the main thread waits, and it regularly checks a flag that asks it to stop.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

import numpy as np

T = TypeVar("T")


class Threads:
    """Threads that live as long as the ``with`` block; the caller's thread is one of them.

    Parameters
    ----------
    n_threads : number of threads; with 1, the caller does everything

    Examples
    --------
    >>> squares = [0] * 5
    >>> def work(item, worker):
    ...     squares[item] = item**2
    >>> with Threads(2) as threads:
    ...     threads.run(work, 5)
    >>> squares
    [0, 1, 4, 9, 16]
    >>> with Threads(2) as threads:
    ...     list(threads.map(str, 3))
    ['0', '1', '2']
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads - 1, "softwood") if n_threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def run(self, work: Callable[[int, int], None], n_items: int) -> None:
        """Call ``work(item, worker)`` once for every item in ``range(n_items)``; `worker` numbers the threads from 0.

        Returns when all items are done. After an exception in any thread no further item starts, and it is raised.
        """
        todo = deque(range(n_items))

        def take(worker: int) -> None:
            while True:
                try:
                    item = todo.popleft()
                except IndexError:  # another thread may have just taken the last one
                    return
                try:
                    work(item, worker)
                except BaseException:
                    todo.clear()  # start nothing more
                    raise

        if self._pool is None or n_items < 2:
            for item in todo:
                work(item, 0)
            return
        others = [self._pool.submit(take, worker) for worker in range(1, min(self.n_threads, n_items))]
        try:
            take(0)
        except BaseException:
            todo.clear()  # an interrupt may come between two items, too
            raise
        finally:
            failures = [None if other.cancel() else other.exception() for other in others]
        for failure in failures:
            if failure is not None:
                raise failure

    def map(self, work: Callable[[int], T], n_items: int) -> Generator[T]:
        """Yield ``work(item)`` for every item in ``range(n_items)``, in this order.

        Other threads work ahead while the caller uses a result; while it waits for one, it works on later items. When
        the iterator is closed, no further item starts.
        """
        if self._pool is None or n_items < 2:
            for item in range(n_items):
                yield work(item)
            return
        futures = [self._pool.submit(work, item) for item in range(n_items)]
        own: dict[int, T] = {}
        ahead = 0  # all items before this one have started
        try:
            for item, future in enumerate(futures):
                while ahead < n_items and item not in own and not future.done():
                    if futures[ahead].cancel():
                        own[ahead] = work(ahead)
                    ahead += 1
                yield own.pop(item) if item in own else future.result()
        finally:
            for future in futures:
                future.cancel()


class Stopped(Exception):
    """Raised when a loop has ended because it was asked to stop."""


def new_stop() -> np.ndarray:
    """A flag, (1,) uint8, which is 0 until the loop is asked to stop."""
    return np.zeros(1, dtype=np.uint8)


def interruptible(work: Callable[[], T], stop: np.ndarray) -> T:
    """Call `work`; on an interrupt, set `stop`, wait until `work` has ended, and raise the interrupt again."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    found: list[T] = []
    failed: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=run, name="softwood-loop").start()
        while not done.wait(0.2):  # not `join`: once interrupted, it treats the thread as ended
            pass
    except BaseException:
        stop[0] = 1
        done.wait(10.0)  # with a time limit: the interrupt may have come before the thread started
        raise
    if failed:
        raise failed[0]
    return found[0]
