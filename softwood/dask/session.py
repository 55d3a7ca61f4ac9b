"""The tasks of a fit on a cluster: futures are kept in one place, and cancelled when the fit ends or fails."""

from __future__ import annotations

import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from typing import Any

from dask.sizeof import sizeof
from distributed import CancelledError, Client, Future, KilledWorker, get_client, wait

from softwood.kernel.parts.numbers import merged

# Results of more parts or workers than this are merged on the workers first.
FAN_IN = 8
# Seconds without any worker after which a fit fails, and between two checks.
_PATIENCE, PAUSE = 15.0, 1.0


class Session:
    """The tasks of a fit.

    Parameters
    ----------
    client : None: the current client of this process

    Attributes
    ----------
    n_exchanges, n_bytes : how often the fit waited for results, and how many bytes of results it received
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
        self.cancel(list(self._live))
        self._watch.join(timeout=2 * PAUSE)

    def _watch_workers(self) -> None:
        """Cancel the tasks if there is no worker left: they would never end."""
        last = time.monotonic()
        while not self._end.wait(PAUSE):
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
        """Release futures that are no longer needed."""
        for future in futures:
            self._live.discard(future)
            future.release()

    def begin_exchange(self) -> None:
        """Count a result that the fit waits for."""
        self.n_exchanges += 1

    def cancel(self, futures: list[Future]) -> None:
        """Cancel futures, even if something else refers to them, as proxies of actors do."""
        with suppress(Exception):  # the client may be closed; an error of the fit must not be hidden
            self.client.cancel(futures, force=True)
        self.drop(futures)

    def by_worker(self, futures: list[Future]) -> dict[str, list[Future]]:
        """Futures by the worker that has them."""
        holders = self.client.who_has(futures)
        groups: dict[str, list[Future]] = defaultdict(list)
        for future in futures:
            groups[min(holders.get(future.key) or [""])].append(future)
        return groups

    def gather(self, futures: list[Future]) -> list[Any]:
        """Results of futures, which are then released."""
        self.begin_exchange()
        try:
            found = self.client.gather(futures)
            self.n_bytes += sizeof(found)
            return found
        except KilledWorker as error:
            raise RuntimeError(f"Workers died while they worked on a part of the rows: {error}") from error
        except CancelledError as error:
            if self._has_no_workers:
                raise RuntimeError(
                    f"The cluster has had no worker for {_PATIENCE:.0f} seconds; the fit was stopped."
                ) from error
            raise RuntimeError(
                "Tasks of the fit were cancelled: parts of the table that were only in the memory of a lost worker "
                "cannot be computed again."
            ) from error
        finally:
            self.drop(futures)

    def merged(self, name: str, futures: list[Future]) -> Any:
        """The merged results; if there are many, the workers merge them first."""
        while len(futures) > FAN_IN:
            groups = [futures[k : k + FAN_IN] for k in range(0, len(futures), FAN_IN)]
            fewer = self.map(f"merge {name}", _merge, groups)
            self.drop(futures)
            futures = fewer
        return reduce(merged, self.gather(futures))

    def wait(self, futures: list[Future]) -> None:
        """Wait until futures have finished; raises the error of the first that failed."""
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
