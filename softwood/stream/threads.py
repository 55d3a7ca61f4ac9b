"""One thread at a time: models that learn in one thread and predict in others."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["ThreadLock"]


class ThreadLock:
    """A lock that its holder may take again, and that copies, pickles and files leave behind: theirs is a new one."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: Any) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple:
        return ThreadLock, ()
