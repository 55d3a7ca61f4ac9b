"""The script of table 2: a small run that is stopped and goes on, and the files that it writes."""

import csv
import sys
from itertools import count

import numpy as np
import pytest

from papers.kernel_density import table2
from papers.kernel_density.table2_columns import COLUMNS, DATA_SETS, FAMILIES, Column, fit_one
from papers.kernel_density.table2_summary import summarise

TREES = FAMILIES["decision tree"]
ONCE = table2.Repeats(1, 1)


def read_blobs(name):
    rng = np.random.default_rng(0)
    y = np.repeat(np.array(["a", "b", "c"]), 16)
    X = rng.normal(size=(48, 2)) + 3 * (y[:, None] == ["a", "b"])
    return X, y


class Majority:
    """Predicts the most frequent label, and insists on labels 0, 1, ..., as XGBoost does."""

    def __init__(self, random_state):
        self.random_state = random_state

    def get_params(self):
        return {}

    def fit(self, X, y):
        assert sorted(set(y)) == list(range(len(set(y))))
        self.label = np.bincount(y).argmax()

    def predict(self, X):
        return np.full(len(X), self.label)


@pytest.fixture
def quick(monkeypatch):
    """Columns whose models take no time."""
    names = ("tree_auto", "forest_sklearn", "xgboost")
    for name in names:
        monkeypatch.setitem(COLUMNS, name, Column(name, fit_one(name, Majority)))
    return names


def run(path, columns, repeats=ONCE, **options):
    return table2.run(["blobs"], columns, repeats, path=path, n_folds=2, read=read_blobs, **options)


def test_run_goes_through_and_goes_on_where_it_stopped(tmp_path, capsys):
    path = tmp_path / "folds.csv"
    run(path, ["tree_auto", "tree_kernel"])
    first = path.read_text()
    assert "tree_kernel_read_crisp" in first  # served by the same fit
    assert "blobs repeat 1 fold 2, tree_auto: tree_auto 0." in capsys.readouterr().out

    assert run(path, TREES)
    text = path.read_text()
    assert text.startswith(first)
    assert "tree_auto" not in capsys.readouterr().out
    figures = summarise(table2.RESULTS.read(path), {}, n_folds=2)
    assert [f.column for f in figures if f.group == "decision tree"] == list(TREES)
    assert all(f.ours > 70 and f.repeats == 1 for f in figures)

    table2.drop_folds(path, ["blobs"], ["tree_kernel"])
    assert {row["column"] for row in table2.RESULTS.read(path)} == {"tree_sklearn", "tree_crisp", "tree_auto"}


def test_only_missing_lines_are_written(tmp_path):
    path = tmp_path / "folds.csv"
    run(path, ["tree_kernel"])
    rows = table2.RESULTS.read(path)
    table2.RESULTS.write(path, [row for row in rows if row["column"] == "tree_kernel"])
    run(path, ["tree_kernel"])
    again = table2.RESULTS.read(path)
    assert [(row["column"], row["fold"]) for row in again] == [
        ("tree_kernel", 0), ("tree_kernel", 1), ("tree_kernel_read_crisp", 0), ("tree_kernel_read_crisp", 1),
    ]  # fmt: skip


def test_trees_and_ensembles_have_their_own_repeats_and_repeats_come_before_columns(tmp_path, quick):
    path = tmp_path / "folds.csv"
    run(path, quick, table2.Repeats(3, 2))
    rows = [(row["repeat"], row["column"]) for row in table2.RESULTS.read(path)[::2]]
    assert rows == [(0, name) for name in quick] + [(1, name) for name in quick] + [(2, "tree_auto")]

    tree, forest = COLUMNS["tree_auto"].fit, COLUMNS["forest_sklearn"].fit
    automatic = table2.Repeats()
    assert (automatic.times(tree, 150), automatic.times(forest, 150)) == (10, 3)
    assert (automatic.times(tree, 2000), automatic.times(forest, 2000)) == (1, 1)


def test_models_without_parameter_leave_its_cell_empty(tmp_path, quick):
    path = tmp_path / "folds.csv"
    run(path, ["xgboost"])
    assert ",," in path.read_text().splitlines()[1]
    assert all(np.isnan(row["parameter"]) for row in table2.RESULTS.read(path))


def test_budget_stops_between_folds_and_the_next_run_goes_on(tmp_path, quick, monkeypatch, capsys):
    path = tmp_path / "folds.csv"
    minutes = count(0.0, 60.0)
    with monkeypatch.context() as patch:
        patch.setattr(table2.time, "monotonic", lambda: next(minutes))
        assert not run(path, quick, budget=300.0)
    assert len(table2.RESULTS.read(path)) == 1
    assert "Stopped after 5 minutes, before blobs repeat 1 fold 2, tree_auto." in capsys.readouterr().out
    assert run(path, quick, budget=300.0)
    assert len(table2.RESULTS.read(path)) == 6


def test_missing_package_is_told_once_and_its_column_skipped(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    path = tmp_path / "folds.csv"
    assert run(path, ["xgboost", "tree_auto"])
    told = capsys.readouterr().out
    assert told.count("Skipped xgboost: xgboost is not installed; install it with: pip install xgboost.") == 1
    assert {row["column"] for row in table2.RESULTS.read(path)} == {"tree_auto"}


def test_tables_of_another_file_of_folds_are_written_beside_it(tmp_path, monkeypatch, capsys):
    path = tmp_path / "folds.csv"
    table2.RESULTS.append(
        path,
        [
            {
                "data_set": name, "column": column, "repeat": 0, "fold": fold,
                "accuracy": 0.9 - 0.01 * k + 0.01 * fold, "parameter": float("nan"), "seconds": 1.0,
            }
            for name in DATA_SETS[:3]
            for k, column in enumerate(COLUMNS)
            for fold in range(10)
        ],
    )  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["table2.py", "--summary", "--folds-file", str(path)])
    table2.main()
    assert "| kernel tree |" in capsys.readouterr().out
    names = {"folds.csv", "table2.csv", "kernel_density.md"}
    assert {file.name for file in tmp_path.iterdir()} == names | {
        "kernel_density_ranks.png", "kernel_density_ranks_defaults.png",
    }  # fmt: skip
    assert "](./kernel_density_ranks.png)" in (tmp_path / "kernel_density.md").read_text()
    with (tmp_path / "table2.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert {row["group"] for row in rows} >= {"decision tree", "boosting", "tuned", "defaults"}
    assert rows[0]["median_parameter"] == ""
