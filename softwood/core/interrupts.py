"""Interrupts of compiled loops.

Python handles an interrupt only between two of its own instructions, in the main thread. So a long compiled loop runs
in a separate thread while the main thread waits, and it regularly checks a flag that asks it to stop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import numpy as np

__all__ = ["Stopped", "interruptible", "new_stop"]

T = TypeVar("T")


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
