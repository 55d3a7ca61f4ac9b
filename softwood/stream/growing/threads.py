"""One thread at a time: models that learn in one thread and predict in others."""

from __future__ import annotations

import threading


class ThreadLock(type(threading.RLock())):  # type: ignore[misc]
    """A lock that its holder may take again, and that copies, pickles and files leave behind: theirs is a new one."""

    def __reduce__(self) -> tuple:
        return ThreadLock, ()
