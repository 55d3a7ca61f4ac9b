"""Compiling the inner loops beforehand, in several processes: what ``softwood compile`` does.

A job fits small models of one kind (`softwood.compiling_jobs`); numba keeps on disk what it compiles for them, and the
first fit of a later process finds it there.
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
    "discriminant": "LinearDiscriminantTreeClassifier",
}
# Compiled first, for all others share it; and last, for there is little left to compile once the others are done.
_FIRST = ("finished-trees",)
_LAST = ("kernel-forest", "one-stage-forest", "smooth-step", "discriminant")

# Threads of numba's in a worker. With a single one boosting would not compile its code for several.
_NUMBA_THREADS = "2"
_INTERRUPTED = 130

Job = tuple[str, str]


@dataclass(frozen=True)
class Compiled:
    """What became of a job: compiled functions, how long it took, and what went wrong (None: nothing)."""

    n_functions: int
    seconds: float
    error: str | None = None


class Progress:
    """How far the work is: one line that is written over again on a terminal, a line for each step elsewhere.

    Parameters
    ----------
    total : number of steps
    stream : where it is shown; None: standard error
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
        """Say what is being done; on a terminal only."""
        if self.is_terminal:
            width = 24
            full = width * self.n_done // max(1, self.total)
            line = f"[{'#' * full}{'.' * (width - full)}] {self.n_done}/{self.total}, {self.seconds:.0f} s  {name}"
            self._write("\r" + line[: shutil.get_terminal_size().columns - 1] + "\x1b[K")

    def step(self, name: str) -> None:
        """One step is done."""
        self.n_done += 1
        if self.is_terminal:
            self.show(name)
        else:
            self._write(f"[{self.n_done}/{self.total}] {name}\n")

    def tell(self, line: str) -> None:
        """A line that stays."""
        self._write(("\r\x1b[K" if self.is_terminal else "") + line + "\n")

    def close(self) -> None:
        """Take the line of the terminal away."""
        if self.is_terminal:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def cache_folder() -> str | None:
    """Where numba keeps the compiled loops; None if it has no place for them, or compiles nothing."""
    from softwood.loops.random import next_seed

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
    """Compile the loops of some families, show how far it is, and tell at the end what was done.

    Parameters
    ----------
    families : names as in `FAMILIES`; none: all
    n_jobs : processes; None: as many as there are cores

    Returns
    -------
    exit status: 0, 1 if a job failed or there is no place for the cache, 130 after an interrupt
    """
    import joblib

    folder = cache_folder()
    if folder is None:
        print(
            "There is no place where numba could keep compiled code, or compiling is turned off. Set NUMBA_CACHE_DIR "
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
    """Do jobs in processes; one that fails is told, and the others go on."""
    results = _in_pool(jobs, n_jobs, progress)
    # A process that ends in mid-work breaks its pool. What is left is done one by one, so that it is known which it is.
    for job in [job for job in jobs if job not in results]:
        results |= _in_pool([job], 1, progress)
        if job not in results:
            results[job] = Compiled(0, 0.0, "the process that worked on it has ended")
            _tell(progress, job, results[job])
    return results


def _in_pool(jobs: Sequence[Job], n_jobs: int, progress: Progress) -> dict[Job, Compiled]:
    """Results of jobs; without those of a pool that broke."""
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
        lock.acquire(timeout=10.0)  # nobody is ended in the middle of writing to the cache
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it sees to interrupts
    os.environ["NUMBA_NUM_THREADS"] = _NUMBA_THREADS  # numba is not imported yet
    warnings.simplefilter("ignore")  # about models that are too small to be any good
    _use_cache_in_turn(lock)


def _use_cache_in_turn(lock: Any) -> None:
    """Let one process at a time read or write numba's cache.

    numba looks the next free number up in the index of a function, and writes the index and then the code. Two
    processes that compile the same function for different types would take the same number, and one would later be
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
    """Functions that this process has compiled, rather than found in the cache; each type of arguments counts."""
    modules = [module for name, module in sys.modules.items() if name.startswith("softwood.loops.")]
    functions = {id(f): f for module in modules for f in vars(module).values() if hasattr(f, "stats")}
    return sum(sum(f.stats.cache_misses.values()) for f in functions.values())
