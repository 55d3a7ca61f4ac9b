"""Coded rows on the workers of a cluster, while trees grow.

Every worker has a holder, with its blocks of coded rows and their states. A call goes to all holders at once, and their
results are merged. Holders are actors of Dask: a call takes a few milliseconds, a task would take more than ten, and a
fit makes hundreds of calls.

The blocks themselves are futures. If a worker is lost, Dask computes its blocks again, and new holders repeat the
updates so far, which give the same states.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from typing import Any, NamedTuple

from dask.sizeof import sizeof
from distributed import CancelledError, Future, wait

from softwood.dask.session import FAN_IN, PAUSE, Session
from softwood.kernel.parts.numbers import merged
from softwood.kernel.parts.rows import CodedRows
from softwood.kernel.parts.sources import LocalParts

# How many times in a row workers may be lost in the same exchange.
_ATTEMPTS = 3


class _Call(NamedTuple):
    """A call of `Parts.update` or `Parts.summary`."""

    name: str
    function: Callable[..., Any]
    arguments: tuple
    restart: bool = False


class Holder:
    """The blocks of a worker and their states; runs on the worker."""

    def __init__(self, blocks: list[CodedRows], n_threads: int) -> None:
        self._parts = LocalParts(blocks, n_threads)

    async def run(self, updates: list[_Call], summary: _Call, below: list[Any]) -> Any:
        """Update the states, and return the summary, merged with those of the holders below.

        It is a coroutine, so that waiting for a lost holder does not block the worker.
        """
        asked = [holder.run(updates, summary, beyond) for holder, beyond in below]
        found = await asyncio.to_thread(self._run, updates, summary)
        return reduce(merged, [found, *[await each for each in asked]])

    def _run(self, updates: list[_Call], summary: _Call) -> Any:
        for name, function, arguments, restart in updates:
            self._parts.update(name, function, *arguments, restart=restart)
        return self._parts.summary(summary.name, summary.function, *summary.arguments)


class _LostError(Exception):
    """A worker with a holder is lost."""


class ClusterParts:
    """Coded parts on the cluster, and their states.

    Updates are sent out with the next summary.
    """

    def __init__(self, session: Session, blocks: list[Future]) -> None:
        self._session, self._blocks = session, blocks
        self._holders: list[Future] = []
        self._tree: list[Any] = []
        self._updates: list[_Call] = []  # since the states were restarted
        self._n_done = 0  # number of these that the holders have done

    def __enter__(self) -> ClusterParts:
        return self

    def __exit__(self, *_: object) -> None:
        self._release_holders()
        self._session.drop(self._blocks)

    def _release_holders(self) -> None:
        """Release the holders."""
        self._session.cancel(self._holders)
        self._holders, self._tree, self._n_done = [], [], 0

    def update(self, name: str, function: Callable[..., Any], *arguments: Any, restart: bool = False) -> None:
        """Replace the states."""
        if restart:
            self._updates, self._n_done = [], 0
        self._updates.append(_Call(name, function, arguments, restart))

    def summary(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """The merged results."""
        call = _Call(name, function, arguments)
        self._session.begin_exchange()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                if not self._holders:
                    self._hold()
                found = self._ask(self._updates[self._n_done :], call)
            except _LostError as error:
                self._release_holders()
                if attempt == _ATTEMPTS:
                    raise RuntimeError(
                        f"Workers died {attempt} times in a row while they worked on '{name}'."
                    ) from error
                time.sleep(PAUSE)  # the scheduler may take this long to notice
            else:
                self._n_done = len(self._updates)
                return found
        raise AssertionError("unreachable")

    def _hold(self) -> None:
        """Make a holder on each worker that has blocks."""
        session = self._session
        session.wait(self._blocks)
        groups = session.by_worker(self._blocks)
        keys, threads = session.keys("hold", len(groups)), session.client.nthreads()

        def holder(key: str, address: str, blocks: list[Future]) -> Future:
            where = {"workers": [address], "allow_other_workers": True}
            n_threads = threads.get(address, 1)
            return session.client.submit(Holder, blocks, n_threads, actor=True, key=key, pure=False, **where)

        self._holders = session.keep([holder(key, *group) for key, group in zip(keys, groups.items(), strict=True)])
        with suppress(CancelledError):
            wait(self._holders)
        self._check_holders()
        self._tree = _arranged([future.result() for future in self._holders])

    def _ask(self, updates: list[_Call], summary: _Call) -> Any:
        self._check_holders()
        try:
            asked = [holder.run(updates, summary, below) for holder, below in self._tree]
        except RuntimeError as error:
            raise _LostError from error
        found = [self._answer(each) for each in asked]
        self._session.n_bytes += sizeof(found)
        return reduce(merged, found)

    def _answer(self, asked: Any) -> Any:
        while True:
            try:
                return asked.result(timeout=PAUSE)
            except TimeoutError:
                if asked.done():
                    raise
                self._check_holders()
            except OSError as error:  # the connection was closed
                raise _LostError from error

    def _check_holders(self) -> None:
        for future in self._holders:
            if future.status == "error":
                raise _LostError from future.exception()
            if future.status != "finished":
                raise _LostError


def _arranged(holders: list[Any]) -> list[Any]:
    """A tree of holders in which each has at most `FAN_IN` below it: pairs of a holder and those below."""
    heads = holders[:FAN_IN]
    rest = holders[FAN_IN:]
    return [(head, _arranged(rest[k::FAN_IN])) for k, head in enumerate(heads)]
