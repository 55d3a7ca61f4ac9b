"""Results that do not fit into memory are refused before they are computed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import prod

_GIB = 2**30
# Results smaller than this, in bytes, are not checked.
_SMALL = 2**24


def check_fits(caller: str, *shapes: tuple[int, ...], ways: Sequence[str] = ()) -> None:
    """Raise a MemoryError if arrays of float64 with these shapes do not fit into the memory of the machine.

    Without the check, the system may grant the memory, and kill the process when the array is filled.

    Parameters
    ----------
    caller : name of the public function, for the message
    shapes : shapes of all arrays, the largest first; the first axis is that of the rows
    ways : what users can do besides passing fewer rows, such as "set interactions=False"
    """
    needed = 8 * sum(map(prod, shapes))
    available = None if needed < _SMALL else _available()
    if available is None or needed <= available:
        return
    n_rows = shapes[0][0]
    most = n_rows * available // needed
    to_do = [f"pass at most {most:,} rows at a time", *ways] if most > 0 else list(ways)
    raise MemoryError(
        f"{caller} needs {_size(needed)} for {n_rows:,} rows: its result has the shape {shapes[0]}. This machine has "
        f"{_size(available)} of free memory. You can {', or '.join(to_do or ['fit the model to fewer columns'])}."
    )


def _available() -> int | None:
    """Bytes of memory that can be used, or all bytes that the machine has, or None if neither is known."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = next((line for line in lines if line.startswith("MemAvailable:")), None)
        if found is not None:
            return 1024 * int(found.split()[1])
    except OSError:  # not Linux
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows, or a system without these names
        return None


def _size(n_bytes: int) -> str:
    return f"{n_bytes / _GIB:,.1f} GiB"
