"""Rows on a cluster, read part by part: tasks of the passes over the table, and coded parts on the workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask
from dask.sizeof import sizeof
from distributed import Future

from softwood.dask.chunks import Chunks
from softwood.dask.holders import ClusterParts
from softwood.dask.session import Session
from softwood.kernel.parts.rows import CodedRows, joined

# A worker holds its coded rows in blocks of about this size. Larger blocks are faster while trees grow; smaller blocks
# need less memory when parts are joined.
_BLOCK_BYTES = 1 << 26


class ClusterSource:
    """Rows that are read from their source in every pass, so that they need not fit into memory."""

    def __init__(self, session: Session, chunks: Chunks, reader: Callable[..., Any]) -> None:
        self.session, self.chunks, self.reader = session, chunks, reader

    def futures(self, name: str, function: Callable[..., Any], arguments: tuple) -> list[Future]:
        """A task for each part."""
        session = self.session
        # The arguments may be large, so they are one task, which all others read.
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
        """Coded parts, joined to few blocks: at least one for each thread, each of at most `_BLOCK_BYTES`.

        Parts are released as soon as their join is submitted, so a worker holds only the parts of one block twice.
        """
        session = self.session
        futures = self.futures(name, function, arguments)
        session.wait(futures)
        sizes = dict(zip(futures, session.gather(session.map("size", sizeof, futures)), strict=True))
        threads, groups = session.client.nthreads(), []
        for worker, own in session.by_worker(futures).items():
            n = max(1, min(len(own), threads.get(worker, 1)))
            for k in range(n):
                groups += _grouped(own[k::n], sizes)
        blocks = session.map("join", joined, groups)
        session.drop(futures)
        groups.clear()
        session.wait(blocks)
        return ClusterParts(session, blocks)


def _grouped(parts: list[Future], sizes: dict[Future, int]) -> list[list[Future]]:
    """Parts in groups of at most `_BLOCK_BYTES`, unless a single one has more."""
    groups: list[list[Future]] = []
    room = 0
    for part in parts:
        if not groups or sizes[part] > room:
            groups.append([])
            room = _BLOCK_BYTES
        groups[-1].append(part)
        room -= sizes[part]
    return groups


def _with_plan(plan: tuple, x: Any, y: Any, weights: Any) -> Any:
    """Read a part, and call a function with it."""
    function, reader, arguments = plan
    return function(reader(x, y, weights), *arguments)
