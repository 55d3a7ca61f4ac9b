import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import softwood.compiled

os.environ["MPLBACKEND"] = "agg"  # pictures are drawn without a screen

# The loops that are tested: the installed ones; "uncompiled", their sources; or a folder, those of another build.
LOOPS = os.environ.get("SOFTWOOD_LOOPS", "")


def use_build(folder):
    """Put the units of another build in the place of the installed ones."""
    for name in softwood.compiled.UNITS:
        (file,) = (file for suffix in EXTENSION_SUFFIXES for file in Path(folder).glob(f"{name}{suffix}"))
        spec = spec_from_file_location(f"softwood.compiled.{name}", file)
        sys.modules[spec.name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[spec.name])
        assert f"{spec.name}_avx2" not in sys.modules, "functions of the installation are in the place of the build's"


# before anything imports functions of the units
if LOOPS == "uncompiled":
    softwood.compiled.use_sources()
elif LOOPS:
    use_build(LOOPS)

# The same examples in every run. To look further: pytest --hypothesis-profile=explore
_common = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, max_examples=40, **_common)
settings.register_profile("few", derandomize=True, max_examples=10, **_common)
settings.register_profile("explore", max_examples=2000, **_common)
settings.load_profile("few" if LOOPS else "same")


@pytest.fixture(autouse=True)
def _as_silent_as_compiled():
    """Compiled code wraps integers around and multiplies infinity by 0 in silence; numpy would warn."""
    with np.errstate(all="ignore" if LOOPS == "uncompiled" else None):
        yield
