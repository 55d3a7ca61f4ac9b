"""Files of results and the sections of pages; the command that lists stale results."""

import math
import re
import sys

import pytest

from comparisons import results
from comparisons.results import Results, oldest, present_version, write_sections
from scripts import stale

RUNS = Results(about={"data_set": str, "fold": int}, figures={"score": float, "leaves": int, "seconds": float})
LINE = {"data_set": "iris", "fold": 3, "score": 0.123456789, "leaves": 4, "seconds": 1.0}


def test_lines_come_back_with_their_types_and_the_version(tmp_path):
    path = tmp_path / "runs.csv"
    assert RUNS.read(path) == []
    RUNS.append(path, [LINE, {**LINE, "fold": 4, "score": math.nan}])
    RUNS.append(path, [{**LINE, "data_set": "a, b"}])
    first, second, third = RUNS.read(path)
    assert first == {**LINE, "score": 0.123457, "version": present_version()}
    assert math.isnan(second["score"])
    assert third["data_set"] == "a, b"
    assert RUNS.done(path) == {("iris", 3), ("iris", 4), ("a, b", 3)}
    RUNS.write(path, [second])
    assert path.read_text().count("\n") == 2
    assert RUNS.place(RUNS.read(path)[0]) == ("iris", 4)


def test_version_names_the_commit_where_there_is_one(monkeypatch):
    assert re.fullmatch(r"\d+\.\d+\.\d+(\+\d{8}\.[0-9a-f]+)?", present_version())
    monkeypatch.setattr(results.subprocess, "run", lambda *_, **__: (_ for _ in ()).throw(OSError))
    assert "+" not in present_version.__wrapped__()


def test_pages_show_the_oldest_version():
    rows = [{"version": version} for version in ("0.10.0", "0.9.0+20270101.abc", "0.9.0+20261231.def")]
    assert "softwood 0.9.0+20261231.def to 0.10.0;" in oldest(rows)
    assert "softwood 0.10.0;" in oldest(rows[:1])


def test_a_page_is_changed_between_the_markers_only(tmp_path):
    page = tmp_path / "page.md"
    write_sections(page, {"one": "old", "two": "old"}, "a.py")
    page.write_text(f"before\n{page.read_text()}after\n")
    write_sections(page, {"one": "new"}, "a.py")
    text = page.read_text()
    assert (text.count("new"), text.count("old")) == (1, 1)
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    with pytest.raises(SystemExit, match="no place for three"):
        write_sections(page, {"two": "new", "three": ""}, "a.py")
    assert page.read_text() == text


class Script:
    """Repeats lines with a score of one half."""

    RESULTS = RUNS

    @staticmethod
    def repeat(line):
        return {**line, "score": 0.5, "seconds": 99.0}


def test_stale_results_are_listed(tmp_path, monkeypatch, capsys):
    path = tmp_path / "runs.csv"
    RUNS.append(
        path, [{**LINE, "score": 0.5}, {**LINE, "data_set": "wine"}, {**LINE, "data_set": "long", "seconds": 1e3}]
    )
    own = stale.File(Script, path, "data_set", {"iris", "wine", "long"})
    monkeypatch.setattr(stale, "FILES", {"own": lambda: own})
    monkeypatch.setattr(sys, "argv", ["stale.py"])
    stale.main()
    told = dict(line.split(": ", 1) for line in capsys.readouterr().out.replace("own: ", "").splitlines())
    assert told["iris"].endswith(": as committed")
    assert told["wine"].endswith(": score 0.12346 -> 0.5")
    assert told["long"].endswith(": not tried")


@pytest.mark.parametrize("name", stale.FILES)
def test_every_file_of_results_can_be_repeated(name):
    if name == "boosting":
        pytest.importorskip("catboost")
    if name == "streams":
        pytest.importorskip("river")
    file = stale.FILES[name]()
    rows = file.script.RESULTS.read(file.path)
    assert {row[file.column] for row in rows} & file.models
    assert callable(file.script.repeat)
    assert all(row["version"] for row in rows)
