"""The verb report: the same page as in Python, and one clear line if something is wrong."""

import numpy as np
import pandas as pd
import pytest

import softwood
from softwood.cli.main import main
from softwood.stream import river


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=100), "city": rng.choice(["Rome", "Oslo"], 100)})
    table["kind"] = np.where(table["size"] > 0, "large", "small")
    table.to_csv("table.csv", index=False)
    model = softwood.KernelTreeClassifier(bandwidth=0.1, max_depth=3).fit(table[["size", "city"]], table["kind"])
    softwood.save(model, "kind.softwood")
    softwood.save(model.tree_, "tree.softwood")
    learner = river.HoeffdingTreeClassifier(leaf_prediction="mc")
    learner.learn_many(table[["size", "city"]], table["kind"])
    softwood.save(learner, "river.softwood")
    return tmp_path


def test_writes_the_page_of_python(folder, capsys):
    words = ["report", "kind.softwood", "table.csv", "--target", "kind", "--rows", "5", "-o", "page.html", "--verbose"]
    assert main(words) == 0
    printed = capsys.readouterr()
    table = pd.read_csv("table.csv")
    model = softwood.load("kind.softwood")
    expected = softwood.report(model, X=table[["size", "city"]], y=table["kind"], rows=5)
    assert (folder / "page.html").read_text(encoding="utf-8") == expected.html
    assert printed.out.startswith("page.html: ")
    assert "softwood.report(softwood.load('kind.softwood'), 'page.html'" in printed.err


@pytest.mark.parametrize(
    "words", [["kind.softwood"], ["tree.softwood"], ["river.softwood", "table.csv", "--target", "kind"]]
)
def test_other_models(folder, words):
    assert main(["report", *words, "-o", "page.html"]) == 0
    assert (folder / "page.html").stat().st_size > 50_000


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["kind.softwood", "-o", "page.txt"], 2, "must end in one of .html"),
        (["kind.softwood", "--rows", "3", "-o", "page.html"], 2, "--target and --rows need a table"),
        (["kind.softwood", "table.csv", "--rows", "-1", "-o", "page.html"], 2, "--rows: must be at least 0, got -1"),
        (["kind.softwood", "table.csv", "--target", "sort", "-o", "page.html"], 2, "no column 'sort'"),
        (["tree.softwood", "table.csv", "-o", "page.html"], 2, "table.csv has 3 columns, and the model takes 2"),
        (["none.softwood", "-o", "page.html"], 1, "there is no file 'none.softwood'"),
    ],
)
def test_errors(folder, capsys, words, status, message):
    assert main(["report", *words]) == status
    err = capsys.readouterr().err
    assert err.count("softwood: error: ") == 1
    assert message in err
    assert not (folder / "page.html").exists()
