"""The Python in README and docs runs, page by page, prints what the page shows, and links lead somewhere."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
from matplotlib import pyplot

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# where the README, which is also shown on a package index, finds the files of the repository and the pages of the site
FILES = re.compile(
    r"https://(?:raw\.githubusercontent\.com|github\.com)/softwood-learn/softwood/(?:blob/|tree/)?main/([^)#\s]+)"
)
SITE = re.compile(r"https://softwood-learn\.github\.io/softwood/([\w/]+)\.html")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += sorted(page for page in DOCS.rglob("*.md") if "build" not in page.parts)
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


def test_links_of_the_readme_lead_to_files_of_the_repository():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    files, pages = FILES.findall(text), SITE.findall(text)
    assert files
    assert [name for name in files if not (ROOT / name).exists()] == []
    assert [name for name in pages if not any((DOCS / name).with_suffix(end).exists() for end in (".md", ".rst"))] == []
    assert not re.findall(r"\]\((?!https://)[^)]*\)", text)  # relative links do not work on a package index


def test_only_tables_stand_between_the_markers_of_benchmarks():
    """The next run replaces what stands there: words of a person belong outside."""
    text = (DOCS / "comparisons" / "benchmarks.md").read_text(encoding="utf-8")
    parts = re.findall(r"<!-- (\w+) begins -->\n(.*?)<!-- \1 ends -->", text, flags=re.DOTALL)
    assert len(parts) >= 6
    for name, part in parts:
        others = [line for line in part.splitlines() if line and not line.startswith("|")]
        told = [line for line in others if not re.match(r"x86_64|aarch64|arm64|[\d,]+ rows; first tenth", line)]
        assert not told, f"{name}: {told[0]}"


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
        "softwood.stream.river",
    ],
)
def test_every_public_name_has_a_page(package):
    listed = set()
    for page in (DOCS / "api").glob("*.rst"):
        module = None
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule:: "):
                module = line.rpartition(" ")[2]
            elif module == package and re.fullmatch(r"   \w+", line):
                listed.add(line.strip())
    public = {name for name in importlib.import_module(package).__all__ if not name.isupper() or len(name) < 6}
    assert listed == public  # constants are described in words


def test_the_pictures_of_the_guide_are_those_of_the_script(tmp_path):
    path = DOCS / "pictures.py"
    script = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location("pictures", path))
    spec.loader.exec_module(script)
    script.main(tmp_path, [])
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in (DOCS / "images").glob("guide_*.png")}
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in drawn if f"../images/{name}" not in text] == []


def test_the_page_of_the_architecture_lists_the_layers_and_the_folders():
    text = (DOCS / "contributing" / "architecture.md").read_text(encoding="utf-8")
    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert "\n".join(layer.replace("(", "").replace(")", "") for layer in contract["layers"]) in text
    folders = {path.parent for path in (ROOT / "softwood").rglob("*.py")} - {ROOT / "softwood"}
    named = {path for path in folders if f"`{path.relative_to(ROOT / 'softwood').parts[0]}" in text}
    assert named == folders
