"""Every command in README and docs runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from softwood.cli.main import VERBS, main

ROOT = Path(__file__).parents[2]
DOCS = sorted(page for page in (ROOT / "docs").rglob("*.md") if "build" not in page.parts)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`softwood ([a-z]+)[ `]")
NAMES = {verb.__name__.rpartition(".")[2] for verb in VERBS}


def _with_commands():
    return [
        page for page in PAGES if any(m[1] == "sh" and "softwood " in m[2] for m in BLOCK.finditer(page.read_text()))
    ]


@pytest.mark.parametrize("page", _with_commands(), ids=lambda page: page.name)
def test_commands_run(page, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    n_run = 0
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block[1] == "python":
            exec(compile(block[2], str(page), "exec"), namespace)
            continue
        for line in block[2].splitlines():
            if line.startswith("softwood "):
                assert main(shlex.split(line)[1:]) == 0, (line, capfd.readouterr().err)
                n_run += 1
            elif " | softwood " in line:
                line = line.replace("| softwood ", f"| {sys.executable} -m softwood ")
                run = subprocess.run(line, shell=True, capture_output=True, text=True)
                assert run.returncode == 0, (line, run.stderr)
                n_run += 1
    assert n_run > 0
    if page.name == "command_line.md":
        assert Path("forest.softwood").read_bytes() == Path("same.softwood").read_bytes()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_verbs_that_are_named_exist(page):
    assert set(INLINE.findall(page.read_text(encoding="utf-8"))) <= NAMES
