"""Every verb in a plain installation: numpy, scipy, scikit-learn and joblib, and what they need."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import softwood
from softwood.cli.main import main

# Packages of the extras, as if they were not installed.
HIDDEN = ("rich", "pandas", "pyarrow", "polars", "matplotlib", "onnx", "torch", "river", "dask", "distributed", "shap")
# Runs commands one after the other in one process, since imports take longer than the work.
COMMANDS = """
import contextlib, io, json, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

HIDDEN, commands = json.loads(sys.stdin.read())
sys.meta_path.insert(0, Refuse())
from softwood.cli.main import main
found = []
for words in commands:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    found.append([status, out.getvalue(), err.getvalue()])
print(json.dumps(found))
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


FIT = ("fit", "messy.csv", "--target", "churn", "--drop", "key", "--set", "bandwidth=0.1", "max_depth=3", "-o")
VERBS = {
    "describe": ("describe", "messy.csv", "--target", "churn"),
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
PARQUET = (
    ("describe", "messy.parquet"),
    ("predict", "model.softwood", "messy.csv", "-o", "x.parquet"),
    ("stream", "messy.parquet", "--target", "churn"),
)
# Their output has times.
TIMED = ("bench", "compare", "stream")


def run(folder, *commands, hidden=()):
    """Status, output and errors of commands of one process."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS], cwd=folder, input=json.dumps([hidden, commands]), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What the commands give without the extras, and with them, each with its folder."""
    found = []
    for hidden in (HIDDEN, ()):
        folder = tmp_path_factory.mktemp("tables")
        messy().to_csv(folder / "messy.csv", index=False)
        messy().to_parquet(folder / "messy.parquet", index=False)
        demo = [("demo", "--output", "demo.png")] if hidden else []
        found.append((folder, run(folder, (*FIT, "model.softwood"), *VERBS.values(), *PARQUET, *demo, hidden=hidden)))
    return found


def test_the_same_models_with_and_without_pandas(results):
    (plain, _), (rich, _) = results
    for name in ("model.softwood", "stream.softwood", "page.html"):
        assert (plain / name).read_bytes() == (rich / name).read_bytes()
    table = pd.read_csv(rich / "messy.csv", parse_dates=["signup", "login"])
    python = softwood.KernelTreeClassifier(bandwidth=0.1, max_depth=3, random_state=0)
    python.fit(table.drop(columns=["churn", "key"]), table["churn"])
    softwood.save(python, rich / "python.softwood", metadata={"target": "churn", "dropped": ["key"]})
    assert (plain / "model.softwood").read_bytes() == (rich / "python.softwood").read_bytes()


@pytest.mark.parametrize("verb", ["fit", *VERBS])
def test_verbs(results, verb):
    at = 0 if verb == "fit" else 1 + list(VERBS).index(verb)
    (status, plain, errors), (_, rich, _) = (found[at] for _, found in results)
    assert status == 0, errors
    assert plain.strip()
    if verb in TIMED:
        plain, rich = ([line.split()[:1] for line in text.splitlines()] for text in (plain, rich))
    elif verb == "fit":
        plain, rich = ([line for line in text.splitlines() if "seconds" not in line] for text in (plain, rich))
    assert plain == rich


def test_parquet_needs_an_extra(results):
    for (status, _, errors), rich in zip(results[0][1][-4:-1], results[1][1][-3:], strict=True):
        assert status == 1
        assert 'needs pyarrow. Install it with: pip install "softwood[cli]"' in errors
        assert rich[0] == 0


def test_demo_has_no_figure(results):
    status, out, _ = results[0][1][-1]
    assert status == 0
    assert "No figure: The figure needs matplotlib. Install it with: pip install" in out


def test_the_target_of_the_file(results, monkeypatch, capsys):
    """The file of a model names its target; what is given wins; without either there is one line that says so."""
    monkeypatch.chdir(results[1][0])

    def call(*words, status=0):
        assert main(words) == status
        found = capsys.readouterr()
        return found.err if status else found.out

    assert softwood.read_metadata("model.softwood") == {"target": "churn", "dropped": ["key"]}
    named = call("evaluate", "model.softwood", "messy.csv", "--target", "churn", "--draws", "0")
    assert named == call("evaluate", "model.softwood", "messy.csv", "--draws", "0")
    other = call("evaluate", "model.softwood", "messy.csv", "--target", "plan", status=1)
    assert "none of the model's classes" in other
    softwood.save(softwood.load("model.softwood"), "bare.softwood")
    for words in (("evaluate", "bare.softwood", "messy.csv"), ("compare", "messy.csv"), ("stream", "messy.csv")):
        assert "--target: no file of a model names the column to predict" in call(*words, status=2)
    call("report", "bare.softwood", "messy.csv", "-o", "bare.html")  # which needs no target
    pd.read_csv("messy.csv").drop(columns="churn").to_csv("rows.csv", index=False)
    call("report", "model.softwood", "rows.csv", "-o", "rows.html")
    assert "has no column 'churn'" in call("evaluate", "model.softwood", "rows.csv", status=2)
    call("fit", "messy.csv", "--target", "spend", "--held-out", "0", "-o", "spend.softwood")
    words = ("compare", "messy.csv", "--models", "spend.softwood", "--target", "churn")
    assert "holds a KernelTreeRegressor, and this is classification" in call(*words, status=2)
    assert "holds a SoftTree, which cannot be fitted" in _of_a_tree(call)


def _of_a_tree(call):
    softwood.save(softwood.load("model.softwood").tree_, "tree.softwood")
    return call("compare", "messy.csv", "--models", "tree.softwood", "--target", "churn", status=2)
