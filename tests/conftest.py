import hashlib
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from numba.core.caching import IndexDataCacheFile

# The same examples in every run. To look further: pytest --hypothesis-profile=explore
_common = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, max_examples=60, **_common)
settings.register_profile("few", derandomize=True, max_examples=15, **_common)
settings.register_profile("explore", max_examples=2000, **_common)
settings.load_profile("few" if numba.config.DISABLE_JIT or numba.config.BOUNDSCHECK else "same")


def _save_under_a_name_of_its_own(self, key, data):
    """Save compiled code so that other processes may save code of the same function at the same time.

    numba itself takes the next free number. Two processes that save code for different types of arguments would take
    the same one, and the code of one would be called with arguments of the other. At worst, code that another process
    saves in the same moment is now left out of the index, and is compiled again.
    """
    number = int(hashlib.sha256(repr(key).encode()).hexdigest()[:12], 16)
    self._save_data(self._data_name(number), data)
    self._save_index({**self._load_index(), key: self._data_name(number)})


IndexDataCacheFile.save = _save_under_a_name_of_its_own


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
    with np.errstate(all="ignore" if numba.config.DISABLE_JIT else None):
        yield
