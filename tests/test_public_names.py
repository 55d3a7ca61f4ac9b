import subprocess
import sys

import softwood


def test_all_is_sorted_and_importable():
    assert softwood.__all__ == sorted(softwood.__all__)
    for name in softwood.__all__:
        assert getattr(softwood, name) is not None


def test_importing_softwood_imports_nothing_heavy():
    # in a process of its own: here other tests have long imported them
    heavy = {"torch", "matplotlib", "pandas"}
    code = f"import sys, softwood; print(*sorted({heavy!r} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
