import importlib
import subprocess
import sys

import pytest

import softwood


@pytest.mark.parametrize("package", ["softwood", "softwood.explanations", "softwood.export", "softwood.plots"])
def test_all_is_sorted_and_importable(package):
    module = importlib.import_module(package)
    assert module.__all__ == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None


def test_a_public_name_has_one_place():
    packages = ["softwood", "softwood.explanations", "softwood.export", "softwood.plots", "softwood.stream"]
    names = [name for package in packages for name in importlib.import_module(package).__all__]
    assert len(names) == len(set(names))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'softwood' has no attribute 'plot_tree'"):
        _ = softwood.plot_tree


def _imported(code, names):
    """Those of the modules that are loaded after the code, in a new process."""
    code = f"import sys; {code}; print(*sorted({set(names)!r} & set(sys.modules)))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_importing_softwood_imports_nothing_heavy():
    assert _imported("import softwood", ["torch", "matplotlib", "pandas", "sklearn", "softwood.plots"]) == []
    assert _imported("import softwood; softwood.explain, softwood.report", ["matplotlib", "softwood.plots"]) == []


def test_importing_plots_does_not_import_matplotlib():
    assert _imported("from softwood.plots import plot_tree", ["torch", "matplotlib"]) == []
