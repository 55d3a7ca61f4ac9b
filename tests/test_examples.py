"""Every example runs, shows something, and stays short; a sentence stands before each block of code."""

import re
import runpy
import sys
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
TITLE = re.compile(r'"""\n(.+)\n(=+)\n\n')

matplotlib.use("agg")


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    figures = []
    monkeypatch.setattr(pyplot, "show", lambda: (figures.extend(pyplot.get_fignums()), pyplot.close("all")))
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
    assert figures
    assert not pyplot.get_fignums()  # all are shown


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_is_a_page_of_the_gallery(path):
    text = path.read_text(encoding="utf-8")
    title, underline = TITLE.match(text).groups()
    assert len(title) == len(underline)
    blocks = text.split("\n# %%\n")
    assert len(blocks) > 1
    assert all(block.startswith("# ") for block in blocks[1:])
    assert len(text.splitlines()) < 100
