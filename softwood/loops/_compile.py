"""The one decorator of all compiled loops."""

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable | None = None, *, reassociate: bool = False) -> Any:
    """Compile on first call, release the GIL, and keep the machine code on disk where that is possible.

    A read-only or home-less installation has no place for the cache: the function is then compiled anew in every
    process instead of failing at import.

    Parameters
    ----------
    reassociate : sums may be added up in another order, so that the processor adds several numbers at once;
        nan and infinities keep their meaning
    """
    if function is None:
        return lambda f: compiled(f, reassociate=reassociate)
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    if reassociate:
        options["fastmath"] = {"reassoc", "contract"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba: "cannot cache function ...: no locator available"
        return numba.njit(**options)(function)
