import subprocess
import sys

import softwood.stats


def test_all_is_sorted_and_importable():
    assert softwood.stats.__all__ == sorted(softwood.stats.__all__)
    for name in softwood.stats.__all__:
        assert getattr(softwood.stats, name) is not None


def test_importing_the_package_does_not_import_matplotlib():
    code = "import sys, softwood.stats; print('matplotlib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"]
