"""Threads that share short pieces of work, many times.

Threads of OpenMP wait for each other by spinning: two fits at once on the same processors then take many times as long
as one after the other. Here a thread that waits sleeps, and pieces that no
other thread has begun are done by the caller.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

__all__ = ["Threads"]


class Threads:
    """Threads that live as long as the block of its ``with`` statement; the caller's thread is one of them.

    Parameters
    ----------
    n_threads : number of threads; with 1, everything is done by the caller

    Examples
    --------
    >>> squares = [0] * 5
    >>> def work(item, worker):
    ...     squares[item] = item**2
    >>> with Threads(2) as threads:
    ...     threads.run(work, 5)
    >>> squares
    [0, 1, 4, 9, 16]
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
        """Call ``work(item, worker)`` for all items, each once; `worker` is the number of the thread, from 0.

        Returns when all are done; an exception in any thread ends it and is raised.
        """
        todo = deque(range(n_items))

        def take(worker: int) -> None:
            while True:
                try:
                    item = todo.popleft()
                except IndexError:  # another thread may have taken the last one just now
                    return
                try:
                    work(item, worker)
                except BaseException:
                    todo.clear()  # nothing more is begun
                    raise

        if self._pool is None or n_items < 2:
            for item in todo:
                work(item, 0)
            return
        others = [self._pool.submit(take, worker) for worker in range(1, min(self.n_threads, n_items))]
        try:
            take(0)
        finally:
            failures = [None if other.cancel() else other.exception() for other in others]
        for failure in failures:
            if failure is not None:
                raise failure
