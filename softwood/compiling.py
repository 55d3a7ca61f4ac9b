"""Compiling the inner loops in advance, in several processes: the command ``softwood compile``.

A job fits small models of one kind (`softwood.compiling_jobs`). numba keeps the code that it compiles for them on disk,
where later processes find it.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import wraps
from itertools import zip_longest
from typing import Any, TextIO

__all__ = ["FAMILIES", "Compiled", "Progress", "cache_folder", "compile_jobs", "compile_loops", "jobs_of"]

# What can be compiled, as the command lists it. The jobs are in `softwood.compiling_jobs`, which imports more.
FAMILIES = {
    "finished-trees": "SoftTree: predictions, memberships and gradients, which all families share",
    "kernel-tree": "KernelTreeClassifier, KernelTreeRegressor",
    "extra-trees": "KernelExtraTreesClassifier, KernelExtraTreesRegressor",
    "boosting": "KernelBoostingClassifier, KernelBoostingRegressor",
    "by-levels": 'kernel models with growth="level", and softwood.dask',
    "soft-tree": "SoftTreeClassifier, SoftTreeRegressor",
    "one-stage": "OneStageTreeClassifier, OneStageTreeRegressor",
    "hoeffding": "HoeffdingTreeClassifier, HoeffdingTreeRegressor, of river too",
    "soft-hoeffding": "SoftHoeffdingTreeClassifier, SoftHoeffdingTreeRegressor, of river too",
    "budding": "BuddingTreeClassifier, BuddingTreeRegressor",
    "end-to-end": "EndToEndTreeClassifier, EndToEndTreeRegressor",
    "generators": "streams with drift",
    "kernel-forest": "KernelForestClassifier, KernelForestRegressor",
    "one-stage-forest": "OneStageForestClassifier, OneStageForestRegressor",
    "smooth-step": "SmoothStepTreeClassifier, SmoothStepTreeRegressor, of river too",
    "stream-forest": "StreamForestClassifier, StreamForestRegressor, of river too",
    "discriminant": "LinearDiscriminantTreeClassifier",
}
# Compiled first, because all others use it; and last, because the others leave little to compile for these.
_FIRST = ("finished-trees",)
_LAST = ("kernel-forest", "one-stage-forest", "smooth-step", "stream-forest", "discriminant")

# Number of numba threads in a worker. With only one, boosting would not compile its code for several threads.
_NUMBA_THREADS = "2"
_INTERRUPTED = 130

Job = tuple[str, str]


@dataclass(frozen=True)
class Compiled:
    """Result of a job: number of compiled functions, seconds, and the error (None if there was none)."""

    n_functions: int
    seconds: float
    error: str | None = None


class Progress:
    """Progress of the work: on a terminal one line that is rewritten, otherwise one line per step.

    Parameters
    ----------
    total : number of steps
    stream : where progress is written; None: standard error
    """

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total, self.n_done = total, 0
        self.stream = sys.stderr if stream is None else stream
        self.is_terminal = self.stream.isatty()
        self.start = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time since the beginning."""
        return time.perf_counter() - self.start

    def show(self, name: str) -> None:
        """Show the current work, on a terminal only."""
        if self.is_terminal:
            width = 24
            full = width * self.n_done // max(1, self.total)
            line = f"[{'#' * full}{'.' * (width - full)}] {self.n_done}/{self.total}, {self.seconds:.0f} s  {name}"
            self._write("\r" + line[: shutil.get_terminal_size().columns - 1] + "\x1b[K")

    def step(self, name: str) -> None:
        """Report that a step is done."""
        self.n_done += 1
        if self.is_terminal:
            self.show(name)
        else:
            self._write(f"[{self.n_done}/{self.total}] {name}\n")

    def tell(self, line: str) -> None:
        """Write a line that is not overwritten."""
        self._write(("\r\x1b[K" if self.is_terminal else "") + line + "\n")

    def close(self) -> None:
        """Clear the progress line of the terminal."""
        if self.is_terminal:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def cache_folder() -> str | None:
    """Folder where numba keeps the compiled loops; None if there is none, or if compiling is turned off."""
    from softwood.compiled.trees import next_seed

    return next_seed.stats.cache_path if hasattr(next_seed, "stats") else None


def jobs_of(families: Sequence[str]) -> list[Job]:
    """Jobs of some families, in an order in which few processes compile the same function at the same time.

    Kinds of the same family share code, so families take turns.
    """
    from softwood.compiling_jobs import JOBS

    def kinds(family: str) -> list[Job]:
        return [(family, kind) for kind in JOBS[family]]

    chosen = [family for family in FAMILIES if family in families]
    in_turn = [kinds(family) for family in chosen if family not in _FIRST + _LAST]
    return [
        *(job for family in chosen if family in _FIRST for job in kinds(family)),
        *(job for turn in zip_longest(*in_turn) for job in turn if job is not None),
        *(job for family in chosen if family in _LAST for job in kinds(family)),
    ]


def compile_loops(families: Sequence[str] = (), n_jobs: int | None = None) -> int:
    """Compile the loops of some families, show the progress, and print a summary.

    Parameters
    ----------
    families : names from `FAMILIES`; all if empty
    n_jobs : number of processes; None: as many as there are cores

    Returns
    -------
    exit status: 0, 1 if a job failed or there is no place for the cache, 130 after an interrupt
    """
    import joblib

    folder = cache_folder()
    if folder is None:
        print(
            "numba has no folder to keep compiled code in, or compiling is turned off. Set NUMBA_CACHE_DIR "
            "to a folder that can be written to, and leave NUMBA_DISABLE_JIT unset.",
            file=sys.stderr,
        )
        return 1
    jobs = jobs_of(families or [*FAMILIES])
    progress = Progress(len(jobs))
    try:
        results = compile_jobs(jobs, joblib.cpu_count() if n_jobs is None else n_jobs, progress)
    except KeyboardInterrupt:
        progress.tell(f"Interrupted. What was compiled so far is kept in {folder}")
        return _INTERRUPTED
    progress.close()
    failed = [" ".join(job) for job, result in results.items() if result.error is not None]
    n_functions = sum(result.n_functions for result in results.values())
    print(f"Compiled {n_functions} functions in {progress.seconds:.1f} s. They are kept in {folder}")
    if failed:
        print(f"{len(failed)} of {len(jobs)} jobs failed: {'; '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def compile_jobs(jobs: Sequence[Job], n_jobs: int, progress: Progress) -> dict[Job, Compiled]:
    """Run jobs in processes; a job that fails is reported, and the others go on."""
    results = _in_pool(jobs, n_jobs, progress)
    # A process that dies breaks its pool. The remaining jobs then run one by one, to find out which job is the cause.
    for job in [job for job in jobs if job not in results]:
        results |= _in_pool([job], 1, progress)
        if job not in results:
            results[job] = Compiled(0, 0.0, "the process that worked on it has ended")
            _tell(progress, job, results[job])
    return results


def _in_pool(jobs: Sequence[Job], n_jobs: int, progress: Progress) -> dict[Job, Compiled]:
    """Results of the jobs, except those that were not finished when the pool broke."""
    context = multiprocessing.get_context("spawn")
    lock = context.Lock()
    others = set(multiprocessing.active_children())
    results: dict[Job, Compiled] = {}
    pool = ProcessPoolExecutor(min(n_jobs, len(jobs)), context, _start_worker, (lock,))
    try:
        futures = {pool.submit(_run, *job): job for job in jobs}
        pending = set(futures)
        progress.show("starting")
        while pending:
            done, pending = wait(pending, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                if not isinstance(future.exception(), BrokenProcessPool):
                    job = futures[future]
                    results[job] = future.result()
                    _tell(progress, job, results[job])
            running = [" ".join(futures[future]) for future in pending if future.running()]
            progress.show("; ".join(sorted(running)))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        lock.acquire(timeout=10.0)  # do not end a process while it writes to the cache
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown()
    return results


def _tell(progress: Progress, job: Job, result: Compiled) -> None:
    name = f"{job[0]}, {job[1]}"
    if result.error is not None:
        progress.tell(f"failed: {name}: {result.error}")
    progress.step(f"{name}: {result.n_functions} functions, {result.seconds:.1f} s")


# In the worker processes


def _start_worker(lock: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles interrupts
    os.environ["NUMBA_NUM_THREADS"] = _NUMBA_THREADS  # numba is not imported yet
    warnings.simplefilter("ignore")  # warnings about models that are too small
    _use_cache_in_turn(lock)


def _use_cache_in_turn(lock: Any) -> None:
    """Let one process at a time read or write numba's cache.

    numba reads the next free number from the index of a function, and writes the index and then the code. Two processes
    that compile the same function for different types could use the same number, and the code of one would later be
    called with arguments of the other.
    """
    from numba.core.caching import IndexDataCacheFile

    def in_turn(method: Callable) -> Callable:
        @wraps(method)
        def guarded(*arguments: Any) -> Any:
            with lock:
                return method(*arguments)

        return guarded

    for name in ("load", "save"):
        setattr(IndexDataCacheFile, name, in_turn(getattr(IndexDataCacheFile, name)))


def _run(family: str, kind: str) -> Compiled:
    from softwood.compiling_jobs import run_job

    start, before = time.perf_counter(), _n_compiled()
    error = None
    try:
        run_job(family, kind)
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"
    return Compiled(_n_compiled() - before, time.perf_counter() - start, error)


def _n_compiled() -> int:
    """Number of functions that this process has compiled and not loaded from the cache; each signature counts."""
    modules = [module for name, module in sys.modules.items() if name.startswith("softwood.loops.")]
    functions = {id(f): f for module in modules for f in vars(module).values() if hasattr(f, "py_func")}
    return sum(sum(f.stats.cache_misses.values()) for f in functions.values())
