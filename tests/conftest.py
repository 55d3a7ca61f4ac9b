import os
import sys
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import softwood.compiled

# The loops that are tested: the installed ones; "uncompiled", their sources; or a folder, those of another build.
LOOPS = os.environ.get("SOFTWOOD_LOOPS", "")


def use_loops():
    """Put the loops that are asked for in the place of the installed ones, before anything imports their functions."""
    for name in softwood.compiled.UNITS if LOOPS else ():
        module = f"softwood.compiled.{name}"
        if LOOPS == "uncompiled":
            unit = import_module(module)
            for attribute, source in unit.SOURCES.items():
                setattr(unit, attribute, getattr(import_module(source), attribute))
        else:
            (file,) = (file for suffix in EXTENSION_SUFFIXES for file in Path(LOOPS).glob(f"{name}{suffix}"))
            spec = spec_from_file_location(module, file)
            sys.modules[module] = module_from_spec(spec)
            spec.loader.exec_module(sys.modules[module])


use_loops()

# The same examples in every run. To look further: pytest --hypothesis-profile=explore
_common = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, max_examples=60, **_common)
settings.register_profile("few", derandomize=True, max_examples=15, **_common)
settings.register_profile("explore", max_examples=2000, **_common)
settings.load_profile("few" if LOOPS or numba.config.DISABLE_JIT or numba.config.BOUNDSCHECK else "same")


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
    with np.errstate(all="ignore" if LOOPS == "uncompiled" or numba.config.DISABLE_JIT else None):
        yield
