"""Interrupts that reach compiled loops.

Python hears of an interrupt only between two of its own steps, in the main thread. So a long compiled loop runs in a
thread of its own while the main thread waits; and loops look now and then at a flag that asks them to stop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import numpy as np

__all__ = ["Stopped", "interruptible", "new_stop"]

T = TypeVar("T")


class Stopped(Exception):
    """Raised where a loop has ended because it was asked to."""


def new_stop() -> np.ndarray:
    """A flag, (1,) uint8: 0 until somebody asks to stop."""
    return np.zeros(1, dtype=np.uint8)


def interruptible(work: Callable[[], T], stop: np.ndarray) -> T:
    """Call `work`, and set `stop` if an interrupt comes; it is passed on when `work` has ended."""
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
        while not done.wait(0.2):  # not `join`, which takes a thread for ended when it is interrupted
            pass
    except BaseException:
        stop[0] = 1
        done.wait(10.0)  # not for ever: the interrupt may have come before the thread
        raise
    if failed:
        raise failed[0]
    return found[0]
