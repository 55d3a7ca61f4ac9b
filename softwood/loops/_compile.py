"""The one decorator of all compiled loops."""

from collections.abc import Callable
from typing import Any

import numba


def compiled(
    function: Callable | None = None, *, reassociate: bool = False, parallel: bool = False, inline: bool = False
) -> Any:
    """Compile on first call, release the GIL, and keep the machine code on disk where that is possible.

    A read-only or home-less installation has no place for the cache: the function is then compiled anew in every
    process instead of failing at import.

    Parameters
    ----------
    reassociate : sums may be added up in another order, so that the processor adds several numbers at once;
        nan and infinities keep their meaning
    inline : callers contain a copy of the function, which saves the time of handing it many arrays
    parallel : `numba.prange` runs in threads; such a function must not be entered by two Python threads at once
    """
    if function is None:
        return lambda f: compiled(f, reassociate=reassociate, parallel=parallel, inline=inline)
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "parallel": parallel}
    if inline:
        options["inline"] = "always"
    if reassociate:
        options["fastmath"] = {"reassoc", "contract"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba: "cannot cache function ...: no locator available"
        return numba.njit(**options)(function)
