"""The verbs: what they print and write, the same models as in Python, and one clear line if something is wrong."""

import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import softwood
from softwood.cli import arguments, names, printing
from softwood.cli.errors import UsageError
from softwood.cli.main import main
from softwood.stream import HoeffdingTreeClassifier, SoftHoeffdingTreeRegressor, prequential
from tests.files.models import frame, signal_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    table = frame(300).drop(columns="level")
    table = table.assign(kind=np.where(signal_of(table) > 1, "large", "small"), amount=signal_of(table))
    table.to_csv(folder / "table.csv", index=False)
    table.to_csv(folder / "table.csv.gz", index=False)
    table.to_parquet(folder / "table.parquet", index=False)
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("a,b\n")
    (folder / "torn.csv").write_text('a,b\n1,2\n3,4,5\n"6')
    (folder / "cut.csv.gz").write_bytes((folder / "table.csv.gz").read_bytes()[:300])
    (folder / "text.txt").write_text("a\n1\n")
    (folder / "binary.csv").write_bytes(bytes(range(256)))
    words = ["--target", "kind", "--drop", "amount", "--set", "bandwidth=0.1", "max_depth=3"]
    assert main(["fit", str(folder / "table.csv"), *words, "-o", str(folder / "kind.softwood")]) == 0
    words = [
        "--target",
        "amount",
        "--drop",
        "kind",
        "--model",
        "kernel-forest",
        "--set",
        "n_estimators=4",
        "bandwidth=0.1",
    ]
    assert main(["fit", str(folder / "table.csv"), *words, "-o", str(folder / "amount.softwood")]) == 0
    return folder


@pytest.fixture
def run(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    capsys.readouterr()

    def call(*words, status=0):
        before = sorted(os.listdir())
        assert main([str(word) for word in words]) == status
        out, err = capsys.readouterr()
        if status:
            assert sorted(os.listdir()) == before  # nothing is half-written
            assert err.count("softwood: error: ") == 1
            assert "Traceback" not in err
            return err.splitlines()[-1]  # after progress and notes
        return out

    return call


def read_json(text):
    return json.loads(text, parse_constant=lambda name: pytest.fail(name))


# ------------------------------------------------------------------ describe


@pytest.mark.parametrize("file", ["table.csv", "table.csv.gz", "table.parquet"])
def test_describe(run, file):
    found = read_json(run("describe", file, "--json"))
    assert (found["n_rows"], found["n_columns"]) == (300, 7)
    columns = {column["name"]: column for column in found["columns"]}
    assert columns["Straße"]["type"] == "category"
    assert columns["Straße"]["n_missing"] == frame(300)["Straße"].isna().sum()
    assert columns["kind"]["could_be_target"] == "classification"
    assert columns["size"]["could_be_target"] == "regression"
    assert columns["flag"]["type"] == "truth value"
    assert "300 rows, 7 columns" in run("describe", file)


def test_describe_odd_columns(run, folder):
    pd.DataFrame({
        "key": range(400), "same": 1, "nothing": np.nan, "day": pd.date_range("2020-01-01", periods=400),
        "words": [f"w{k}" for k in range(400)],
    }).to_parquet(folder / "odd.parquet")  # fmt: skip
    columns = {c["name"]: c for c in read_json(run("describe", "odd.parquet", "--json"))["columns"]}
    assert {name: c["type"] for name, c in columns.items()} == {
        "key": "whole number", "same": "whole number", "nothing": "empty", "day": "date", "words": "identifier",
    }  # fmt: skip
    assert not any(c["could_be_target"] for c in columns.values())


# ------------------------------------------------------------------ fit


@pytest.mark.parametrize("file", ["table.csv", "table.parquet"])
def test_the_model_is_that_of_python_byte_for_byte(run, folder, file):
    run(
        "fit",
        file,
        "--target",
        "kind",
        "--drop",
        "amount",
        "--set",
        "bandwidth=0.1",
        "max_depth=3",
        "-o",
        "cli.softwood",
    )
    table = pd.read_csv(file) if file.endswith("csv") else pd.read_parquet(file)
    model = softwood.KernelTreeClassifier(bandwidth=0.1, max_depth=3, random_state=0)
    metadata = {"target": "kind", "dropped": ["amount"]}
    softwood.save(
        model.fit(table.drop(columns=["kind", "amount"]), table["kind"]), "python.softwood", metadata=metadata
    )
    assert (folder / "cli.softwood").read_bytes() == (folder / "python.softwood").read_bytes()


def test_verbose_shows_python_that_makes_the_same_file(run, folder, capsys):
    words = ["--target", "amount", "--drop", "kind", "Straße", "--seed", "3", "--set", "bandwidth=0.1"]
    assert main(["fit", "table.csv", *words, "-o", "shown.softwood", "--verbose"]) == 0
    shown = capsys.readouterr().err.partition("# the same in Python\n")[2].partition("fitting")[0]
    before = (folder / "shown.softwood").read_bytes()
    (folder / "shown.softwood").unlink()
    exec(shown, {})
    assert (folder / "shown.softwood").read_bytes() == before


def test_fit_prints_what_it_did(run, folder):
    words = ["fit", "table.csv", "--target", "amount", "--drop", "kind", "--weight", "count", "-o", "w.softwood"]
    found = read_json(run(*words, "--set", "bandwidth=0.1", "--json"))
    assert found["task"] == "regression"
    assert (found["rows"], found["columns"], found["file"]) == (300, 4, "w.softwood")
    assert 0.5 < found["held_out_scores"]["R²"] <= 1
    again = read_json(run(*words, "--set", "bandwidth=0.1", "--json", "--held-out", "0"))
    assert again["held_out_scores"] == {}
    assert again["leaves"] == found["leaves"]


def test_rows_without_a_target_are_left_out(run, folder, capsys):
    table = pd.read_csv("table.csv")
    table.loc[5:9, "kind"] = None
    table.to_csv("gaps.csv", index=False)
    assert main(["fit", "gaps.csv", "--target", "kind", "--set", "bandwidth=0.1", "-o", "gaps.softwood", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["rows"] == 295
    assert "5 rows without 'kind' are left out, the first is row 5" in err


def test_the_kind_of_problem_follows_from_the_target(run):
    for column, task in (("count", "regression"), ("flag", "classification"), ("Straße", "classification")):
        words = ["--target", column, "--held-out", "0", "--set", "bandwidth=0.1", "-o", "task.softwood", "--json"]
        assert read_json(run("fit", "table.csv", *words))["task"] == task
    words = ["--target", "count", "--task", "classification", "--set", "bandwidth=0.1", "-o", "task.softwood"]
    run("fit", "table.csv", *words)
    assert "Classifier" in run("show", "task.softwood")


FIT = ["fit", "table.csv", "--target", "kind"]
WRONG = {
    "no file": (["describe", "nothing.csv"], 1, "there is no file 'nothing.csv'"),
    "empty": (["describe", "empty.csv"], 1, "empty.csv is empty"),
    "no rows": (["describe", "header.csv"], 1, "header.csv has no rows"),
    "torn": (["describe", "torn.csv"], 1, "torn.csv cannot be read: "),
    "cut": (["describe", "cut.csv.gz"], 1, "cut.csv.gz cannot be read: "),
    "binary": (["describe", "binary.csv"], 1, "binary.csv cannot be read: "),
    "suffix": (["describe", "text.txt"], 2, "must end in one of .csv, .csv.gz, .parquet"),
    "target": (["fit", "table.csv", "--target", "price", "-o", "x"], 2, "table.csv has no column 'price'; it has"),
    "drop": ([*FIT, "--drop", "price", "-o", "x"], 2, "--drop: table.csv has no column 'price'"),
    "weight": ([*FIT, "--weight", "price", "-o", "x"], 2, "--weight: table.csv has no column 'price'"),
    "model": ([*FIT, "--model", "kernel-tre", "-o", "x"], 2, "there is no model 'kernel-tre'"),
    "hint": ([*FIT, "--model", "kernel-tre", "-o", "x"], 2, "Did you mean kernel-tree?"),
    "parameter": ([*FIT, "--set", "max_dept=3", "-o", "x"], 2, "'max_dept'. Did you mean max_depth?"),
    "setting": ([*FIT, "--set", "max_depth", "-o", "x"], 2, "--set: 'max_depth' must have the form NAME=VALUE"),
    "twice": ([*FIT, "--set", "cv=3", "cv=4", "-o", "x"], 2, "--set: cv is given twice"),
    "value": ([*FIT, "--set", "max_depth=-3", "-o", "x"], 1, "The 'max_depth' parameter of KernelTree"),
    "folder": ([*FIT, "-o", "nowhere/x"], 2, "--output: there is no folder 'nowhere'"),
    "held out": ([*FIT, "--held-out", "1.5", "-o", "x"], 2, "--held-out: must be in the range"),
    "for classes": (
        ["fit", "table.csv", "--target", "amount", "--model", "linear-discriminant-tree", "-o", "x"], 2,
        "the model 'linear-discriminant-tree' is for classification only",
    ),
    "text target": ([*FIT, "--task", "regression", "-o", "x"], 2, "--task: column 'kind' holds no numbers"),
    "no model file": (["predict", "none.softwood", "table.csv"], 1, "there is no file 'none.softwood'"),
    "no model": (["show", "table.csv"], 1, "'table.csv' is no softwood model"),
    "missing column": (["predict", "kind.softwood", "header.csv"], 1, "header.csv has no rows"),
    "columns": (["predict", "kind.softwood", "text.csv"], 2, "text.csv lacks columns 'size', 'Straße'"),
    "output": (["predict", "kind.softwood", "table.csv", "-o", "x.txt"], 2, "must end in one of .csv"),
    "row": (["explain", "kind.softwood", "table.csv", "--row", "300"], 2, "table.csv has rows 0 to 299, got 300"),
    "tree": (["show", "amount.softwood", "--tree", "9"], 2, "--tree: the model has trees 0 to 3, got 9"),
    "labels": (["evaluate", "kind.softwood", "table.csv", "--target", "Straße"], 1, "is none of the model's classes"),
    "numbers": (["evaluate", "amount.softwood", "table.csv", "--target", "kind"], 1, "column 'kind' holds no numbers"),
    "draws": (["evaluate", "kind.softwood", "table.csv", "--target", "kind", "--draws", "-1"], 2, "--draws must be"),
    "onnx": (["export", "kind.softwood", "--to", "onnx"], 2, "--output: onnx needs a file"),
    "name in C": (["export", "kind.softwood", "--to", "c", "-o", "my-model.c"], 2, "cannot be the name of a function"),
    "stream model": (["stream", "table.csv", "--target", "kind", "--model", "kernel-tree"], 2, "no stream model"),
    "stream target": (["stream", "table.csv", "--target", "price"], 2, "--target: table.csv has no column 'price'"),
    "Parquet target": (["stream", "table.parquet", "--target", "price"], 2, "table.parquet has no column 'price'"),
    "stream file": (["stream", "none.csv", "--target", "price"], 1, "there is no file 'none.csv'"),
    "standard input": (["stream", "-", "--target", "kind"], 2, "--classes or --task regression is needed"),
    "start": (["stream", "table.csv", "--target", "kind", "--start", "kind.softwood"], 2, "learn from streams"),
    "window": (["stream", "table.csv", "--target", "kind", "--window", "0"], 2, "--window: must be at least 1"),
    "compare": (["compare", "table.csv", "--target", "kind", "--models", "bush"], 2, "there is no model 'bush'"),
    "plot": (["compare", "table.csv", "--target", "kind", "--plot", "x.txt"], 2, "--plot: 'x.txt' must be a .png"),
    "bench": (["bench", "kind.softwood", "table.csv", "--rows", "0"], 2, "--rows must be at least 1"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_told_in_one_line(what, run, folder):
    (folder / "text.csv").write_text("word\nx\ny\n")
    words, status, message = WRONG[what]
    assert message in run(*words, status=status)


def test_a_target_with_one_value(run, folder):
    pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x"] * 3}).to_csv(folder / "one.csv", index=False)
    assert "column 'b' has only one value, 'x'" in run("fit", "one.csv", "--target", "b", "-o", "x", status=1)
    assert "has no columns beside the target" in run(
        "fit", "one.csv", "--target", "b", "--drop", "a", "-o", "x", status=2
    )


def test_a_missing_extra_is_answered_with_its_command(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for words in (
        ["describe", "table.parquet"],
        ["predict", "kind.softwood", "table.csv", "-o", "x.parquet"],
        ["stream", "table.parquet", "--target", "kind"],
    ):
        assert 'pip install "softwood[cli]"' in run(*words, status=1)


# ------------------------------------------------------------------ predict, evaluate, show, explain, bench


def test_predictions_are_those_of_python(run, folder, capsys):
    table, model = pd.read_csv("table.csv"), softwood.load("kind.softwood")
    expected = model.predict_proba(table[list(model.feature_names_in_)])
    found = pd.read_csv(io.StringIO(run("predict", "kind.softwood", "table.csv")))
    np.testing.assert_allclose(found[["probability large", "probability small"]], expected, rtol=1e-14)
    assert found["prediction"].tolist() == model.predict(table[list(model.feature_names_in_)]).tolist()
    for name in ("p.csv", "p.csv.gz", "p.parquet"):
        assert run("predict", "kind.softwood", "table.parquet", "-o", name) == ""
    assert (folder / "p.csv").read_bytes() == gzip.decompress((folder / "p.csv.gz").read_bytes())
    np.testing.assert_array_equal(pd.read_parquet("p.parquet")["probability large"], expected[:, 0])
    lines = read_json(run("predict", "amount.softwood", "table.csv", "--json"))
    assert len(lines) == 300
    assert list(lines[0]) == ["prediction"]


def test_intervals_and_sets(run):
    lines = read_json(run("predict", "amount.softwood", "table.csv", "--coverage", "0.8", "--json"))
    assert list(lines[0]) == ["prediction", "lower", "upper"]
    assert all(line["lower"] < line["upper"] for line in lines)
    lines = read_json(run("predict", "kind.softwood", "table.csv", "--coverage", "0.8", "--json"))
    assert list(lines[0])[-2:] == ["in set large", "in set small"]
    assert all(line["in set large"] or line["in set small"] for line in lines)
    run("fit", "table.csv", "--target", "kind", "--set", "bandwidth=0.1", "max_leaf_nodes=3", "-o", "given.softwood")
    error = run("predict", "given.softwood", "table.csv", "--coverage", "0.8", status=1)
    assert "Call calibrate(X, y)" in error  # nothing was chosen, so no rows were held out


def test_standard_input(folder):
    for command, words in (("describe", []), ("predict", ["kind.softwood"])):
        run = subprocess.run(
            [sys.executable, "-m", "softwood", command, *words, "-"], cwd=folder, capture_output=True,
            input=(folder / "table.csv").read_bytes(),
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        assert run.stdout.count(b"\n") > 8


def test_a_reader_that_goes_away(folder):
    line = f"{sys.executable} -m softwood predict kind.softwood table.csv | head -1"
    run = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True)
    assert run.stdout == "prediction,probability large,probability small\n"
    assert "Traceback" not in run.stderr


def test_scores_have_intervals(run):
    found = read_json(run("evaluate", "kind.softwood", "table.csv", "--target", "kind", "--draws", "100", "--json"))
    assert set(found["scores"]) == {"accuracy", "log loss", "Brier score", "AUROC"}
    for score in found["scores"].values():
        assert score["low"] <= score["value"] <= score["high"]
        assert score["high"] - score["low"] < 0.3
    table, model = pd.read_csv("table.csv"), softwood.load("kind.softwood")
    expected = model.score(table[list(model.feature_names_in_)], table["kind"])
    assert found["scores"]["accuracy"]["value"] == pytest.approx(expected)
    wide = read_json(run("evaluate", "amount.softwood", "table.csv", "--target", "amount", "--level", "0.99", "--json"))
    narrow = read_json(
        run("evaluate", "amount.softwood", "table.csv", "--target", "amount", "--level", "0.5", "--json")
    )
    for name in ("R²", "RMSE", "MAE"):
        assert wide["scores"][name]["low"] < narrow["scores"][name]["low"] <= narrow["scores"][name]["high"]
    assert "95% interval" in run("evaluate", "kind.softwood", "table.csv", "--target", "kind")
    assert "interval" not in run("evaluate", "kind.softwood", "table.csv", "--target", "kind", "--draws", "0")


def test_show(run):
    text = run("show", "kind.softwood", "--depth", "1")
    assert "KernelTreeClassifier" in text
    assert re.search(r"max_depth +3", text)
    assert "|-- " in text
    assert "|   |-- " not in text
    assert "trees" in run("show", "amount.softwood")
    assert "|-- " in run("show", "amount.softwood", "--tree", "1")
    found = read_json(run("show", "kind.softwood", "--json"))
    assert sum(found["importances"].values()) == pytest.approx(1.0)


@pytest.mark.parametrize("model", ["kind.softwood", "amount.softwood"])
def test_shares_of_paths_are_memberships(run, model):
    found = read_json(run("explain", model, "table.csv", "--row", "11", "--paths", "100", "--json"))
    assert sum(path["share"] for path in found["paths"]) == pytest.approx(1.0)
    for path in found["paths"]:
        shares = [test["share"] for test in path["tests"]]
        assert shares == sorted(shares, reverse=True)
        assert shares[-1] == path["share"]
    loaded, table = softwood.load(model), pd.read_csv("table.csv")
    row = table[list(loaded.feature_names_in_)][11:12]
    if model == "kind.softwood":
        expected = dict(zip(loaded.classes_, loaded.predict_proba(row)[0], strict=True))
        assert found["prediction"] == pytest.approx(expected)
    assert "share" in run("explain", model, "table.csv", "--row", "11")


def test_bench(run):
    found = read_json(run("bench", "kind.softwood", "table.csv", "--rows", "1", "500", "--seconds", "0.05", "--json"))
    assert [line["rows"] for line in found] == [1, 500]
    assert all(0 < line["p50_ms"] <= line["p99_ms"] for line in found)


# ------------------------------------------------------------------ export, compare


@pytest.mark.parametrize("kind", ["json", "sql", "python", "javascript", "dot", "mermaid"])
def test_exports_of_text(run, folder, kind):
    from softwood import export

    text = getattr(export, f"to_{kind}")(softwood.load("kind.softwood"))
    assert run("export", "kind.softwood", "--to", kind).rstrip("\n") == text.rstrip("\n")
    run("export", "kind.softwood", "--to", kind, "-o", "exported.txt")
    assert (folder / "exported.txt").read_text(encoding="utf-8").rstrip("\n") == text.rstrip("\n")


def test_exports_to_files(run, folder):
    run("export", "kind.softwood", "--to", "c", "-o", "tree.c")
    assert '#include "tree.h"' in (folder / "tree.c").read_text()
    run("export", "kind.softwood", "--to", "onnx", "-o", "tree.onnx")
    assert len((folder / "tree.onnx").read_bytes()) > 100
    assert 'FROM "flowers"' in run("export", "kind.softwood", "--to", "sql", "--table", "flowers").replace(
        "FROM flowers", 'FROM "flowers"'
    )


def test_compare(run, folder):
    words = ["compare", "table.csv", "--target", "kind", "--drop", "amount", "--models", "linear-discriminant-tree"]
    found = read_json(run(*words, "sklearn-tree", "sklearn-forest", "--rows", "60", "--plot", "c.png", "--json"))
    assert found["rows"] == 60
    losses = [line["log loss"] for line in found["models"]]
    assert losses == sorted(losses)
    assert found["models"][0]["p against the best"] is None
    assert all(0 <= line["p against the best"] <= 1 for line in found["models"][1:])
    assert (folder / "c.png").read_bytes().startswith(b"\x89PNG")
    words = ["compare", "table.csv", "--target", "amount", "--drop", "kind", "--rows", "60", "--models"]
    text = run(*words, "sklearn-tree", "sklearn-boosting")
    assert "RMSE" in text
    assert "regression, 60 rows, 5 times 2 folds" in text


# ------------------------------------------------------------------ stream


def test_streams_are_those_of_python(run, folder):
    words = ["stream", "table.csv", "--target", "kind", "--model", "hoeffding-tree", "--set", "grace_period=30"]
    found = read_json(run(*words, "--window", "100", "-o", "s.softwood", "--json"))
    model = HoeffdingTreeClassifier(grace_period=30)
    result = prequential(model, "table.csv", target="kind", classes=["large", "small"], window=100)
    assert found["scores"] == pytest.approx(result.scores)
    assert [line["rows"] for line in found["windows"]] == [100, 200, 300]
    assert [line["accuracy"] for line in found["windows"]] == pytest.approx(result.curves["accuracy"].tolist())
    softwood.save(model, "python.softwood", metadata={"target": "kind"})
    assert (folder / "s.softwood").read_bytes() == (folder / "python.softwood").read_bytes()
    run("stream", "table.csv", "--start", "s.softwood", "-o", "s.softwood")
    assert softwood.load("s.softwood").n_samples_seen_ == 600
    assert "all rows" in run(*words, "--rows", "150")


def test_streams_of_numbers(run, folder):
    run("stream", "table.parquet", "--target", "amount", "--seed", "4", "-o", "n.softwood")
    model = SoftHoeffdingTreeRegressor(random_state=4)
    prequential(model, "table.parquet", target="amount")
    softwood.save(model, "python.softwood", metadata={"target": "amount"})
    assert (folder / "n.softwood").read_bytes() == (folder / "python.softwood").read_bytes()


def test_streams_on_standard_input(folder):
    command = [sys.executable, "-m", "softwood", "stream", "--target", "flag", "--classes", "False", "True", "--json"]
    run = subprocess.run(command, cwd=folder, input=(folder / "table.csv").read_bytes(), capture_output=True)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["rows"] == 300


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_stream_is_saved(folder, stop):
    command = [
        sys.executable,
        "-m",
        "softwood",
        "stream",
        "-",
        "--target",
        "y",
        "--task",
        "regression",
        "--window",
        "1000",
    ]
    (folder / "stopped.softwood").unlink(missing_ok=True)
    process = subprocess.Popen(
        [*command, "-o", "stopped.softwood"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("a,b,y\n" + "1.5,2,3\n0.5,1,2\n" * 3000)
    process.stdin.flush()
    while "1,000" not in (line := process.stdout.readline()):
        assert line, "the stream ended"
    time.sleep(0.2)
    process.send_signal(stop)
    rest = process.communicate()[0]
    assert process.returncode == 130
    assert "all rows" in rest
    assert softwood.load(folder / "stopped.softwood").n_samples_seen_ >= 1000


# ------------------------------------------------------------------ parts


def test_settings_are_literals_or_text():
    words = [
        "a=3",
        "b=0.5",
        "c=None",
        "d=auto",
        "e=[1, 2]",
        "f={'x': 1}",
        "g=",
        "h=a=b",
        "i=True",
        "j=__import__('os')",
    ]
    assert arguments.read_settings(words) == {
        "a": 3, "b": 0.5, "c": None, "d": "auto", "e": [1, 2], "f": {"x": 1}, "g": "", "h": "a=b", "i": True,
        "j": "__import__('os')",
    }  # fmt: skip


@pytest.mark.parametrize("name", [*names.BATCH, *names.STREAM])
def test_every_name_is_a_model(name):
    assert names.class_of(name, "classification").__name__.endswith("Classifier")
    if name != "linear-discriminant-tree":
        assert names.class_of(name, "regression").__name__.endswith("Regressor")
    with pytest.raises(UsageError):
        names.class_of(name + "s", "regression")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (12345, "12,345"),
        (0.123456, "0.1235"),
        (123456.7, "123,457"),
        (None, "-"),
        (np.nan, "-"),
        (True, "True"),
    ],
)
def test_numbers_as_people_read_them(value, text):
    assert printing.number(value) == text
