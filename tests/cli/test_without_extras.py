"""Every verb in a plain installation: numpy, scipy, scikit-learn and joblib, and what they need."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import softwood

# Packages of the extras, as if they were not installed.
HIDDEN = ("rich", "pandas", "pyarrow", "polars", "matplotlib", "onnx", "torch", "river", "dask", "distributed", "shap")
WITHOUT = f"""
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HIDDEN!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refuse())
from softwood.cli.main import main
sys.exit(main())
"""


def messy(n=240):
    """Dates, flags, categories and numbers with missing cells, a column without values, and one that is constant."""
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2021-03-05") + pd.to_timedelta(rng.integers(0, 400, n), unit="D")
    table = pd.DataFrame({
        "signup": day, "login": day + pd.to_timedelta(rng.integers(0, 10**6, n), unit="s"),
        "plan": rng.choice(["free", "pro", "à la carte"], n), "letter": rng.random(n) < 0.5,
        "age": rng.integers(18, 80, n), "spend": rng.gamma(2.0, 30.0, n), "empty": np.nan, "same": 7,
        "7": rng.normal(size=n), "key": range(n),
    })  # fmt: skip
    signal = (table["plan"] == "pro") + 2.0 * (day.day_of_week >= 5) + table["spend"] / 60
    table["churn"] = np.where(signal > 1.5, "no", "yes")
    for column in ("signup", "plan", "letter", "age"):
        table[column] = table[column].astype(object).where(rng.random(n) > 0.05, None)
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    messy().to_csv(folder / "messy.csv", index=False)
    messy().to_parquet(folder / "messy.parquet", index=False)
    return folder


def run(folder, *words, hidden=True, status=0):
    command = [sys.executable, *(["-c", WITHOUT] if hidden else ["-m", "softwood"]), *words]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=os.environ | {"PYTHONIOENCODING": "utf-8"}
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


FIT = ("fit", "messy.csv", "--target", "churn", "--drop", "key", "--set", "bandwidth=0.1", "max_depth=3")


@pytest.fixture(scope="module")
def model(folder):
    run(folder, *FIT, "-o", "model.softwood")
    return "model.softwood"


def test_the_same_model_with_and_without_pandas(folder, model):
    run(folder, *FIT, "-o", "rich.softwood", hidden=False)
    assert (folder / model).read_bytes() == (folder / "rich.softwood").read_bytes()
    table = pd.read_csv(folder / "messy.csv", parse_dates=["signup", "login"])
    python = softwood.KernelTreeClassifier(bandwidth=0.1, max_depth=3, random_state=0)
    python.fit(table.drop(columns=["churn", "key"]), table["churn"])
    softwood.save(python, folder / "python.softwood", metadata={"target": "churn", "dropped": ["key"]})
    assert (folder / model).read_bytes() == (folder / "python.softwood").read_bytes()


VERBS = {
    "describe": ("describe", "messy.csv", "--target", "churn"),
    "fit": (*FIT[:-1], "max_depth=2", "-o", "fit.softwood"),
    "compare": ("compare", "messy.csv", "--models", "model.softwood", "sklearn-tree"),
    "predict": ("predict", "model.softwood", "messy.csv"),
    "evaluate": ("evaluate", "model.softwood", "messy.csv", "--draws", "20"),
    "show": ("show", "model.softwood"),
    "explain": ("explain", "model.softwood", "messy.csv", "--row", "3"),
    "report": ("report", "model.softwood", "messy.csv", "--rows", "5", "-o", "page.html"),
    "export": ("export", "model.softwood", "--to", "json"),
    "stream": ("stream", "messy.csv", "--target", "churn", "--window", "80", "-o", "stream.softwood"),
    "bench": ("bench", "model.softwood", "messy.csv", "--rows", "1", "20", "--seconds", "0.01"),
}
# Their output has times.
TIMED = ("bench", "compare", "fit", "stream")


@pytest.mark.parametrize("verb", VERBS)
def test_verbs(folder, model, verb):
    words = VERBS[verb]
    plain, rich = run(folder, *words), run(folder, *words, hidden=False)
    assert plain.strip() or verb == "fit"
    if verb not in TIMED:
        assert plain == rich
    assert [line.split()[:1] for line in plain.splitlines()] == [line.split()[:1] for line in rich.splitlines()]


def test_demo(folder):
    assert "No figure: The figure needs matplotlib. Install it with: pip install" in run(folder, "demo")


def test_streams_are_the_same(folder):
    words = ("stream", "messy.csv", "--target", "churn", "--json", "-o")
    plain, rich = run(folder, *words, "a.softwood"), run(folder, *words, "b.softwood", hidden=False)
    assert json.loads(plain)["scores"] == json.loads(rich)["scores"]
    assert (folder / "a.softwood").read_bytes() == (folder / "b.softwood").read_bytes()


def test_parquet_needs_an_extra(folder, model):
    for words in (
        ("describe", "messy.parquet"),
        ("predict", model, "messy.csv", "-o", "x.parquet"),
        ("stream", "messy.parquet", "--target", "churn"),
    ):
        assert 'needs pyarrow. Install it with: pip install "softwood[cli]"' in run(folder, *words, status=1)


def test_the_target_of_the_file(folder, model):
    """The file of a model names its target; what is given wins; without either there is one line that says so."""
    assert softwood.read_metadata(folder / model) == {"target": "churn", "dropped": ["key"]}
    named = run(folder, "evaluate", model, "messy.csv", "--target", "churn", "--draws", "0")
    assert named == run(folder, "evaluate", model, "messy.csv", "--draws", "0")
    assert "none of the model's classes" in run(folder, "evaluate", model, "messy.csv", "--target", "plan", status=1)
    softwood.save(softwood.load(folder / model), folder / "bare.softwood")
    for words in (("evaluate", "bare.softwood", "messy.csv"), ("compare", "messy.csv"), ("stream", "messy.csv")):
        assert "--target: no file of a model names the column to predict" in run(folder, *words, status=2)
    run(folder, "report", "bare.softwood", "messy.csv", "-o", "bare.html")  # which needs no target
    header, *lines = pd.read_csv(folder / "messy.csv").drop(columns="churn").to_csv(index=False).splitlines()
    (folder / "rows.csv").write_text("\n".join([header, *lines[:9]]) + "\n", encoding="utf-8")
    run(folder, "report", model, "rows.csv", "-o", "rows.html")
    assert "has no column 'churn'" in run(folder, "evaluate", model, "rows.csv", status=2)


def test_compare_takes_the_parameters_of_files(folder, model):
    found = json.loads(run(folder, "compare", "messy.csv", "--models", model, "kernel-tree", "--json"))
    assert {line["model"] for line in found["models"]} == {model, "kernel-tree"}
    run(folder, "fit", "messy.csv", "--target", "spend", "--held-out", "0", "-o", "spend.softwood")
    words = ("compare", "messy.csv", "--models", "spend.softwood", "--target", "churn")
    assert "holds a KernelTreeRegressor, and this is classification" in run(folder, *words, status=2)
