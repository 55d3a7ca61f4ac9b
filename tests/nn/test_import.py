"""torch is imported with softwood.nn, and not before."""

import subprocess
import sys

import pytest

import softwood.nn
from softwood.nn import GrowingTreeLayer, TreeLayer, TreeModule

HIDE = "import sys; sys.modules['torch'] = None; "


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_softwood_does_not_import_torch():
    code = "import softwood, softwood.stream, softwood.export, sys; assert not [m for m in sys.modules if 'torch' in m]"
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_a_missing_torch_is_answered_with_the_command():
    done = run(HIDE + "import softwood.nn")
    assert 'ImportError: softwood.nn needs torch. Install it with: pip install "softwood[torch]"' in done.stderr


@pytest.mark.parametrize("kind", [GrowingTreeLayer, TreeLayer, TreeModule])
def test_public_names(kind):
    assert kind.__name__ in softwood.nn.__all__
