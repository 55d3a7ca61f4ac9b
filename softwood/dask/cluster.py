"""Rows on a cluster: tasks that read the parts, and the states of coded parts as futures.

There are futures only. A state is a function of the rows and of the splits so far, which its task contains, so the
engine computes what a lost worker held again. All futures of a fit are kept in one place (`Session`), and cancelled at
its end, however it ends.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import reduce
from typing import Any

import dask
import numpy as np
from dask.sizeof import sizeof
from distributed import CancelledError, Client, Future, KilledWorker, get_client, wait
from sklearn.base import BaseEstimator

from softwood.dask.chunks import Chunks
from softwood.density.level_numbers import merged
from softwood.density.level_rows import CodedRows, joined

__all__ = ["ClusterParts", "ClusterSource", "Session"]

# Results of more parts than this are merged on the workers before they come here.
_FAN_IN = 8
# Seconds without any worker after which a fit gives up, and between two looks.
_PATIENCE, _PAUSE = 15.0, 1.0


class Session:
    """The tasks of a fit.

    Parameters
    ----------
    client : None: the current client of this process

    Attributes
    ----------
    n_exchanges, n_bytes : how often results were waited for, and how many bytes of them came here
    """

    def __init__(self, client: Client | None) -> None:
        self.client: Client = _current(client)
        self.token = uuid.uuid4().hex[:8]
        self.n_exchanges = self.n_bytes = 0
        self._live: set[Future] = set()
        self._n_calls = 0
        self._end = threading.Event()
        self._has_no_workers = False
        self._watch = threading.Thread(target=self._watch_workers, name="softwood-watch", daemon=True)

    def __enter__(self) -> Session:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        futures, self._live = list(self._live), set()
        with suppress(Exception):  # a client that is closed, for instance; what was raised in the fit matters more
            self.client.cancel(futures, force=True)
        for future in futures:
            future.release()
        self._watch.join(timeout=2 * _PAUSE)

    def _watch_workers(self) -> None:
        """Cancel the tasks if there is no worker left: they would wait for ever."""
        last = time.monotonic()
        while not self._end.wait(_PAUSE):
            with suppress(Exception):
                if self.client.nthreads():
                    last = time.monotonic()
            if time.monotonic() - last > _PATIENCE:
                self._has_no_workers = True
                with suppress(Exception):
                    self.client.cancel(list(self._live), force=True)
                return

    def keys(self, name: str, n: int) -> list[str]:
        """Names of tasks, by which the dashboard groups them."""
        self._n_calls += 1
        stem = f"softwood-{name.replace(' ', '-')}"
        return [f"{stem}-{self.token}-{self._n_calls}-{k}" for k in range(n)]

    def map(self, name: str, function: Callable[..., Any], *columns: list[Any], **shared: Any) -> list[Future]:
        """A task for each line of the columns."""
        return self.keep(
            self.client.map(function, *columns, key=self.keys(name, len(columns[0])), pure=False, **shared)
        )

    def keep(self, futures: list[Future]) -> list[Future]:
        """Add futures to those that are cancelled at the end."""
        self._live.update(futures)
        return futures

    def drop(self, futures: list[Future]) -> None:
        """Futures that are not needed any more."""
        for future in futures:
            self._live.discard(future)
            future.release()

    def gather(self, futures: list[Future]) -> list[Any]:
        """Results of futures, which are dropped."""
        self.n_exchanges += 1
        try:
            found = self.client.gather(futures)
            self.n_bytes += sizeof(found)
            return found
        except KilledWorker as error:
            raise RuntimeError(f"Workers died while they worked on a part of the rows: {error}") from error
        except CancelledError as error:
            if self._has_no_workers:
                raise RuntimeError(
                    f"The cluster has had no worker for {_PATIENCE:.0f} seconds; the fit was given up."
                ) from error
            raise RuntimeError(
                "Tasks of the fit were cancelled: parts of the table that were only in the memory of a lost worker "
                "cannot be computed again."
            ) from error
        finally:
            self.drop(futures)

    def merged(self, name: str, futures: list[Future]) -> Any:
        """The results as one; many are merged on the workers."""
        while len(futures) > _FAN_IN:
            groups = [futures[k : k + _FAN_IN] for k in range(0, len(futures), _FAN_IN)]
            fewer = self.map(f"merge {name}", _merge, groups)
            self.drop(futures)
            futures = fewer
        return reduce(merged, self.gather(futures))

    def wait(self, futures: list[Future]) -> None:
        """Wait until futures are there; raises the error of the first that failed."""
        with suppress(CancelledError):
            wait(futures)
        for future in futures:
            if future.status != "finished":
                self.gather([future])


def _current(client: Client | None) -> Client:
    if client is not None:
        return client
    try:
        return get_client()
    except ValueError as error:
        raise ValueError(
            "There is no Dask client: start one with `from distributed import Client; client = Client()`, or pass it "
            "as `client`."
        ) from error


def _merge(results: list[Any]) -> Any:
    return reduce(merged, results)


class ClusterSource:
    """Rows that are read from their source in every pass, so that they need not fit into memory."""

    def __init__(self, session: Session, chunks: Chunks, reader: Callable[..., Any]) -> None:
        self.session, self.chunks, self.reader = session, chunks, reader

    def futures(self, name: str, function: Callable[..., Any], arguments: tuple) -> list[Future]:
        """A task for each part."""
        session = self.session
        # One task of its own, which all others read: the arguments may be large.
        shared = dask.delayed(
            (function, self.reader, arguments), traverse=False, name=session.keys(f"{name}-plan", 1)[0]
        )
        keys = session.keys(name, len(self.chunks))
        tasks = [
            dask.delayed(_with_plan, pure=False)(shared, *part, dask_key_name=key)
            for part, key in zip(self.chunks.parts, keys, strict=True)
        ]
        return session.keep(session.client.compute(tasks))

    def summary(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """The merged results."""
        return self.session.merged(name, self.futures(name, function, arguments))

    def coded(self, name: str, function: Callable[..., CodedRows], *arguments: Any) -> ClusterParts:
        """Coded parts, joined to as many as there are threads."""
        session = self.session
        futures = self.futures(name, function, arguments)
        session.wait(futures)
        blocks = session.map("join", joined, _by_worker(session.client, futures))
        session.wait(blocks)
        session.drop(futures)
        return ClusterParts(session, blocks)


def _with_plan(plan: tuple, x: Any, y: Any, weights: Any) -> Any:
    """Read a part, and call a function with it."""
    function, reader, arguments = plan
    return function(reader(x, y, weights), *_owned(arguments))


def _by_worker(client: Client, futures: list[Future]) -> list[list[Future]]:
    """Groups of futures, as many for each worker as it has threads."""
    threads, holders = client.nthreads(), client.who_has(futures)
    by_worker: dict[str, list[Future]] = defaultdict(list)
    for future in futures:
        by_worker[min(holders.get(future.key) or [""])].append(future)
    groups = []
    for worker, own in by_worker.items():
        n = max(1, min(len(own), threads.get(worker, 1)))
        groups += [own[k::n] for k in range(n)]
    return groups


class ClusterParts:
    """Coded parts on the cluster, and their states."""

    def __init__(self, session: Session, blocks: list[Future]) -> None:
        self.session, self.blocks = session, blocks
        self.states: list[Any] = [None] * len(blocks)

    def __enter__(self) -> ClusterParts:
        return self

    def __exit__(self, *_: object) -> None:
        self._drop_states()
        self.session.drop(self.blocks)

    def _drop_states(self) -> None:
        self.session.drop([state for state in self.states if state is not None])

    def update(self, name: str, function: Callable[..., Any], *arguments: Any, anew: bool = False) -> None:
        """Replace the states."""
        states = [None] * len(self.blocks) if anew else self.states
        new = self.session.map(name, _call, self.blocks, states, step=function, arguments=arguments)
        self._drop_states()
        self.states = new

    def summary(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """The merged results."""
        futures = self.session.map(name, _call, self.blocks, self.states, step=function, arguments=arguments)
        return self.session.merged(name, futures)


def _call(rows: CodedRows, state: Any, *, step: Callable[..., Any], arguments: tuple) -> Any:
    return step(_owned(rows), _owned(state), *_owned(arguments))


def _owned(value: Any) -> Any:
    """The value with read-only arrays replaced by copies; what came over the network or from disk may hold some.

    The loops would have to be compiled again for them.
    """
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else value.copy()
    if isinstance(value, tuple | list):
        items = [_owned(item) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if is_dataclass(value) and not isinstance(value, type | BaseEstimator):
        owned = {field.name: _owned(getattr(value, field.name)) for field in fields(value)}
        changed = {name: item for name, item in owned.items() if item is not getattr(value, name)}
        return replace(value, **changed) if changed else value
    return value
