"""The comparison on streams: made-up streams, cheap models, a run that goes on where it stopped."""

import sys

import numpy as np
import pytest

pytest.importorskip("river")

from river import dummy

from comparisons.results import write_sections
from comparisons.streams import in_turn, models, run, streams, summary
from comparisons.streams.models import FOREST, LEAST, ONE_BY_ONE, Rows, run_stream
from softwood.stream import HoeffdingTreeClassifier, river

ARF = summary.ARF


@pytest.mark.parametrize(
    "name",
    [
        n
        for n in streams.STREAMS
        if (n[0].isupper() and not n.startswith("KDD")) or n in ("sine", "mixed", "random tree")
    ],
)
def test_generated_streams(name):
    rows = streams.STREAMS[name](400)
    assert len(rows.X) == len(rows.y) == 400
    assert rows.X.dtype == np.float64
    assert np.isfinite(rows.X).all()
    assert rows.is_class == (name in streams.CLASSES)
    if rows.is_class:
        assert set(rows.y.tolist()) == set(range(rows.y.max() + 1))
        assert rows.y.max() >= 1


def table(n=2500):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return Rows(X, (X[:, 0] > 0).astype(np.int64))


CHEAP = {
    FOREST: HoeffdingTreeClassifier,
    ARF: dummy.NoChangeClassifier,
    ONE_BY_ONE: river.HoeffdingTreeClassifier,
}


@pytest.fixture
def cheap(monkeypatch):
    monkeypatch.setattr(models, "CLASS_MODELS", CHEAP)
    monkeypatch.setattr(summary, "CLASS_MODELS", CHEAP)
    monkeypatch.setattr(run, "STREAMS", {"one": lambda n: table(n), "two": lambda n: table(n)})
    monkeypatch.setattr(summary, "STREAMS", {"one": None, "two": None})
    monkeypatch.setattr(run, "MODELS", tuple(CHEAP))


@pytest.mark.usefixtures("cheap")
def test_both_ways_of_running_give_the_same_scores():
    rows = table()
    for name, one in ((FOREST, []), (ONE_BY_ONE, []), (ARF, [])):
        for sums in run_stream(name, rows, np.inf):
            one.append((sums.n, sums.errors, sums.losses))
        assert [n for n, *_ in one] == [1000, 2000, 2500]
        if name == ARF:
            changes = np.count_nonzero(rows.y[1:] != rows.y[:-1])
            assert abs(one[-1][1] - changes) <= 1
            assert one[-1][2] == pytest.approx(-np.log(LEAST) * changes, rel=0.01)
        else:
            # rows before a label was seen differ
            assert one[-1][1] < 200
    assert len(list(run_stream(ONE_BY_ONE, rows, 0.0))) == 1  # the seconds are used up


@pytest.mark.usefixtures("cheap")
def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    page, runs = tmp_path / "page.md", tmp_path / "runs.csv"
    write_sections(page, {"versions": "", "tables": "old"}, run.SCRIPT)
    page.write_text(f"before\n{page.read_text()}after\n")
    arguments = ["run.py", "--rows", "2000", "--runs", str(runs), "--page", str(page)]
    monkeypatch.setattr(sys, "argv", [*arguments, "--streams", "one"])
    run.main()
    text = page.read_text()
    assert "### 1 streams of classes" in text
    assert text.endswith("after\n")
    assert "old" not in text
    assert "one: river ARF(10): 2000 rows" in capsys.readouterr().err
    before = runs.read_text()
    monkeypatch.setattr(sys, "argv", arguments)
    run.main()
    assert runs.read_text().startswith(before)
    told = capsys.readouterr().err.splitlines()
    assert {line.partition(":")[0] for line in told} == {"two"}  # what has its lines is not run again
    text = page.read_text()
    assert "### 2 streams of classes" in text
    row = next(line for line in text.splitlines() if line.startswith(f"| {FOREST} |"))
    assert row.split("|")[2:4] == [" 1.00 ", " 1.00 "]


def test_a_line_of_the_models_in_turn():
    rows = in_turn.of_stream("sine", 120)
    assert len(rows.y) == 120
    cells = in_turn.line("sine", rows).strip("| ").split(" | ")
    assert cells[:2] == ["sine", "120"]
    assert all(0.0 <= float(share) <= 1.0 for share in cells[2:4])
    assert all(float(ratio) > 0.0 for ratio in cells[4:])
    assert len(cells) == 4 + len(in_turn.BLOCKS) + 1
