import subprocess
import sys

import pytest

from softwood import stream


def test_all_is_sorted_and_importable():
    # constants and acronyms first, then classes, then functions, as ruff sorts them
    assert stream.__all__ == sorted(stream.__all__, key=lambda name: (not name.isupper(), name))
    assert sorted(stream.__all__) == stream.__dir__() == sorted(stream._HOME)
    for name in stream.__all__:
        assert getattr(stream, name) is not None
    with pytest.raises(AttributeError, match=r"module 'softwood.stream' has no attribute 'NoSuchTree'"):
        _ = stream.NoSuchTree


def test_importing_streams_imports_nothing_heavy():
    # in a process of its own: here other tests have long imported them
    heavy = {"river", "torch", "matplotlib", "pandas", "polars"}
    code = f"import sys, softwood.stream; print(*sorted({heavy!r} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
    heavy -= {"pandas"}  # scikit-learn imports pandas where it is there
    names = "HoeffdingTreeClassifier, ModelPool, SoftHoeffdingTreeRegressor, prequential"
    code = f"import sys; from softwood.stream import {names}; print(*sorted({heavy!r} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
