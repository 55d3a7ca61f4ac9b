"""What pyproject.toml says agrees with the package, with messages and with other files."""

import re
import tomllib
from pathlib import Path

import pytest

import softwood

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
SOURCES = {file: file.read_text(encoding="utf-8") for file in (ROOT / "softwood").rglob("*.py")}
# require("module", "extra", ...), the call that imports an optional package
REQUIRED = re.compile(r'require\(f?"(\w+)[^"]*"[^,]*, "(\w+)"')
CITED = re.compile(r"^version: (.*)\ndate-released: (.*)$", re.MULTILINE)
NO_USERS_EXTRAS = {"tests", "docs"}


def packages(extra):
    return {re.split(r"\W", requirement.replace("-", "_"))[0] for requirement in EXTRAS[extra]}


def test_the_version_is_the_same_everywhere():
    cited, released = CITED.search((ROOT / "CITATION.cff").read_text(encoding="utf-8")).groups()
    assert PROJECT["version"] == softwood.__version__ == cited
    # the newest section of the changelog after what is not released yet
    sections = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sections[:2] == ["[Unreleased]", f"[{cited}] - {released}"]


def test_messages_name_the_extra_that_has_the_package():
    found = {pair for file, text in SOURCES.items() if file.name != "extras.py" for pair in REQUIRED.findall(text)}
    assert len(found) >= 6
    for package, extra in found:
        assert package in packages(extra), f"softwood[{extra}] does not install {package}"


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.py")], ids=str)
def test_pages_name_extras_that_exist(page):
    for extras in re.findall(r"softwood\[([\w,]+)\]", page.read_text(encoding="utf-8")):
        assert set(extras.split(",")) <= set(EXTRAS)


def test_one_extra_has_all():
    (everything,) = EXTRAS["all"]
    named = re.fullmatch(r"softwood\[([\w,]+)\]", everything)[1].split(",")
    assert set(named) == set(EXTRAS) - NO_USERS_EXTRAS - {"all"}


def test_classifiers_begin_with_the_oldest_python():
    versions = [name.rpartition(" :: ")[2] for name in PROJECT["classifiers"] if "Python :: 3." in name]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    minors = [int(version.partition(".")[2]) for version in versions]
    assert minors == list(range(minors[0], minors[-1] + 1))


def test_one_module_knows_the_versions_of_scikit_learn():
    version = re.compile(r"sklearn\.callback|sklearn\.__version__")
    assert [file.name for file, text in SOURCES.items() if version.search(text)] == ["compatibility.py"]
