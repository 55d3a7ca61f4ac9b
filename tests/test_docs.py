"""The Python in README and docs runs, page by page, prints what the page shows, and links lead somewhere."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest
from matplotlib import pyplot

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# a block of Python and, if one follows at once, the block that shows what it prints
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n+^```\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def _name(page):
    return str(page.relative_to(ROOT))


def _with_python():
    return [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


def test_readme_has_an_example():
    assert ROOT / "README.md" in _with_python()


@pytest.mark.parametrize("page", _with_python(), ids=_name)
def test_python_blocks_run_in_one_namespace(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what a block saves goes here
    text = page.read_text(encoding="utf-8")
    namespace = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        above = text.count("\n", 0, block.start(1))
        code = compile("\n" * above + block[1], str(page), "exec")  # so that errors tell the line of the page
        exec(code, namespace)
        printed = capsys.readouterr().out
        assert block[2] is None or printed == block[2]
    pyplot.close("all")


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if not target.startswith(("http", "mailto:", "#")):
            assert (page.parent / target.partition("#")[0]).exists(), f"{_name(page)} links to {target}"


def test_only_tables_stand_between_the_markers_of_benchmarks():
    """The next run replaces what stands there: words of a person belong outside."""
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    parts = re.findall(r"<!-- (\w+) begins -->\n(.*?)<!-- \1 ends -->", text, flags=re.DOTALL)
    assert len(parts) >= 6
    for name, part in parts:
        others = [line for line in part.splitlines() if line and not line.startswith("|")]
        told = [line for line in others if not re.match(r"x86_64|aarch64|arm64|[\d,]+ rows; first tenth", line)]
        assert not told, f"{name}: {told[0]}"


def test_the_navigation_lists_every_page():
    listed = re.findall(
        r"^ +- [^:]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert sorted(listed) == sorted(str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize(
    "package",
    [
        "softwood",
        "softwood.dask",
        "softwood.datasets",
        "softwood.explanations",
        "softwood.export",
        "softwood.nn",
        "softwood.plots",
        "softwood.stats",
        "softwood.stream",
    ],
)
def test_the_list_of_public_names_is_complete(package):
    listed = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "api.md").read_text(encoding="utf-8")))
    assert set(importlib.import_module(package).__all__) - listed == set()


def test_the_page_of_the_architecture_lists_the_layers_and_the_folders():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert "\n".join(layer.replace("(", "").replace(")", "") for layer in contract["layers"]) in text
    folders = {path.parent for path in (ROOT / "softwood").rglob("*.py")} - {ROOT / "softwood"}
    named = {path for path in folders if f"`{path.relative_to(ROOT / 'softwood').parts[0]}" in text}
    assert named == folders
