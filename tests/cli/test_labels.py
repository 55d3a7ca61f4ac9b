"""Labels that look like something else, and files with other separators."""

import json

import numpy as np
import pandas as pd
import pytest

import softwood
from softwood.cli.main import main


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(labels, name="table.csv", n=120, **options):
    """A table whose column `size` says which label a row has."""
    numbers = np.arange(n) % len(labels)
    table = pd.DataFrame({"size": numbers + 0.25, "kind": [labels[k] for k in numbers]})
    table.to_csv(name, index=False, **options)
    return table


def classes_of(*words, name="table.csv"):
    command = [
        "fit",
        name,
        "--target",
        "kind",
        "--set",
        "bandwidth=0.0",
        "max_leaf_nodes=None",
        "-o",
        "model.softwood",
        *words,
    ]
    assert main(command) == 0
    return softwood.load("model.softwood").classes_.tolist()


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["NA", "SA", "EU"], ["EU", "NA", "SA"]),
        (["None", "nan", "null"], ["None", "nan", "null"]),
        (["NA", "NA2"], ["NA", "NA2"]),
        (["003", "010", "3"], ["003", "010", "3"]),
        (["003", "4"], ["003", "4"]),
        (["NA", "003"], ["003", "NA"]),
        (["1.0", "x"], ["1.0", "x"]),
        (["0", "1"], [0, 1]),
        (["True", "False"], [False, True]),
    ],
)
def test_labels_are_those_of_the_file(labels, classes, capsys):
    write(labels)
    assert classes_of() == classes
    capsys.readouterr()
    assert main(["evaluate", "model.softwood", "table.csv", "--target", "kind", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"]["accuracy"]["value"] == 1.0
    assert main(["predict", "model.softwood", "table.csv", "-o", "found.csv"]) == 0
    found = pd.read_csv("found.csv", dtype=str, keep_default_na=False)
    assert found["prediction"].tolist() == pd.read_csv("table.csv", dtype=str, keep_default_na=False)["kind"].tolist()


def test_numbers_as_labels():
    write(["1.0", "2.0"])
    assert classes_of("--task", "classification") == [1.0, 2.0]
    write(["1.1", "1.10", "2.0"])
    assert classes_of("--task", "classification") == ["1.1", "1.10", "2.0"]
    write(["003", "4"])
    assert main(["fit", "table.csv", "--target", "kind", "--task", "regression", "-o", "model.softwood"]) == 0
    assert not hasattr(softwood.load("model.softwood"), "classes_")


def test_a_missing_number_is_no_class(capsys):
    """Among numbers, NA is what it is for pandas; among text, only an empty cell is missing."""
    write(["1.5", "NA", "2.5", ""])
    assert main(["fit", "table.csv", "--target", "kind", "-o", "model.softwood", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["rows"] == 60
    assert "60 rows without 'kind' are left out" in err
    write(["up", "NA", "down", ""])
    assert classes_of("--json") == ["NA", "down", "up"]
    out, err = capsys.readouterr()
    assert json.loads(out)["rows"] == 90
    assert "'NA' in column 'kind' is a class; leave the cells of rows without one empty" in err


def test_labels_of_the_model_decide_how_a_file_is_read(capsys):
    write(["003", "004"])
    classes_of()
    write(["003"], "part.csv")
    assert main(["evaluate", "model.softwood", "part.csv", "--target", "kind", "--draws", "0"]) == 0
    assert main(["report", "model.softwood", "part.csv", "--target", "kind", "-o", "page.html"]) == 0


def test_verbose_shows_how_labels_are_read(capsys, tmp_path):
    write(["003", "NA"], sep=";")
    words = ["fit", "table.csv", "--target", "kind", "--held-out", "0", "-o", "model.softwood", "--verbose"]
    assert main(words) == 0
    shown = capsys.readouterr().err.partition("# the same in Python\n")[2].partition("fitting")[0]
    before = (tmp_path / "model.softwood").read_bytes()
    (tmp_path / "model.softwood").unlink()
    exec(shown, {})
    assert (tmp_path / "model.softwood").read_bytes() == before


@pytest.mark.parametrize("labels", [["NA", "SA"], ["003", "004"], ["x", "y"]])
def test_labels_of_streams(labels):
    write(labels, n=300)
    for more in ([], ["--classes", *labels]):
        assert main(["stream", "table.csv", "--target", "kind", "-o", "stream.softwood", *more]) == 0
        assert softwood.load("stream.softwood").classes_.tolist() == sorted(labels)
    assert main(["stream", "table.csv", "--target", "kind", "--start", "stream.softwood"]) == 0


# ------------------------------------------------------------------ separators


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_separators_are_found(separator, name, capsys):
    write(["a, b", "c; d", 'e "f"\tg|'], name, sep=separator)
    assert main(["describe", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [column["name"] for column in found["columns"]] == ["size", "kind"]
    assert [column["type"] for column in found["columns"]] == ["number", "category"]
    assert classes_of(name=name) == sorted(["a, b", "c; d", 'e "f"\tg|'])


def test_numbers_with_commas(capsys):
    write(["x", "y"], sep=";", decimal=",")
    assert main(["describe", "table.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"][0]["type"] == "number"


def test_a_single_column_stays_one(tmp_path, capsys):
    (tmp_path / "table.csv").write_text("words\nshort; text\nlonger\n")
    assert main(["describe", "table.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_columns"] == 1


def test_a_stream_with_another_separator_is_refused_with_what_to_do(capsys):
    write(["x", "y"], sep=";")
    assert main(["stream", "table.csv", "--target", "kind"]) == 2
    assert "separated by ';', and streams are read with commas: convert the file" in capsys.readouterr().err
