import os
from importlib import import_module
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import softwood.compiled

UNCOMPILED = bool(os.environ.get("SOFTWOOD_UNCOMPILED"))
if UNCOMPILED:  # the sources of the loops take the place of the compiled functions, before anything imports these
    for name in softwood.compiled.UNITS:
        unit = import_module(f"softwood.compiled.{name}")
        for attribute, module in unit.SOURCES.items():
            setattr(unit, attribute, getattr(import_module(module), attribute))

# The same examples in every run. To look further: pytest --hypothesis-profile=explore
_common = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, max_examples=60, **_common)
settings.register_profile("few", derandomize=True, max_examples=15, **_common)
settings.register_profile("explore", max_examples=2000, **_common)
settings.load_profile("few" if UNCOMPILED or numba.config.DISABLE_JIT or numba.config.BOUNDSCHECK else "same")


def pytest_configure():
    """Drop compiled loops that are older than any of the sources.

    numba looks only at the file of the function itself, not at those of the functions that it calls.
    """
    loops = Path(__file__).parents[1] / "softwood" / "loops"
    if numba.config.DISABLE_JIT:  # uses none of it, while another process may
        return
    newest = max(source.stat().st_mtime for source in loops.glob("*.py"))
    compiled = list(Path(numba.config.CACHE_DIR or loops / "__pycache__").rglob("*.nb[ci]"))
    if any(file.stat().st_mtime < newest for file in compiled):
        for file in compiled:
            file.unlink(missing_ok=True)


@pytest.fixture(autouse=True)
def _as_silent_as_compiled():
    """Compiled code wraps integers around and multiplies infinity by 0 in silence; without the JIT numpy would warn."""
    with np.errstate(all="ignore" if UNCOMPILED or numba.config.DISABLE_JIT else None):
        yield
