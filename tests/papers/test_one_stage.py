"""The script of the one-stage paper: tasks, fits that are stopped and go on, tables and figures from few fits."""

import csv
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from papers.one_stage import pictures, summary, tables
from papers.one_stage.models import MODELS, TITLES
from papers.one_stage.tables import Task
from softwood.gradient import crisp_choice

QUICK = ("cart", "one_stage", "proximal", "joint", "gumbel")


def made_up(name):
    """Small data of the kind that the data set has."""
    rng = np.random.default_rng(len(name))
    X = rng.normal(size=(90, 3))
    signal = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=90)
    is_class = name in summary.CLASSES
    return X, (signal > 0).astype(int) if is_class else signal, is_class


def test_every_model_has_a_title_and_is_made():
    assert set(MODELS) == set(TITLES)
    for name, make in MODELS.items():
        if name != "xgboost":
            for is_class in (True, False):
                assert hasattr(make(is_class, 0, 3, 0.25), "fit")


def test_tables_ask_for_what_they_show():
    wanted = {name: list(tables.tasks(name, 2)) for name in tables.WORK}
    assert len(wanted["table2"]) == 2 * 13 * 6
    pairs = list(tables.tasks("pairs", 5))
    assert sorted({task.seed for task in pairs}) == list(range(15))
    assert len(pairs) == len(set(pairs)) == 15 * 18 * 2
    oblique = list(tables.tasks("oblique", 5))
    assert {(task.data_set, task.depth) for task in oblique} == {("letter", 10), ("pendigits", 8), ("satimage", 6)}
    assert {task.seed for task in oblique} == set(range(10))
    assert {task.depth for task in wanted["table7"]} == set(range(1, 10))
    assert {task.test_part for task in wanted["table4"]} == {"0.333"}
    assert len({task.validation for task in wanted["table8"]}) == 6
    assert {task.validation for task in wanted["table2"]} == {"0.25"}
    known = summary.published()
    assert all(("2", name, "one_stage") in known for name in summary.CLASSES)
    assert known["7", "9", "one_stage"] == 187.4


def test_fits_go_on_where_they_stopped(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    wanted = [Task("spambase", model, depth=2, seed=seed) for seed in (0, 1) for model in ("cart", "one_stage")]
    tables.run(wanted[:3], path, made_up)
    first = path.read_text()
    tables.run(wanted[:3], path, made_up)
    assert path.read_text() == first
    tables.run(wanted, path, made_up)
    assert path.read_text().startswith(first)
    rows = tables.RESULTS.read(path)
    assert [(row["model"], row["seed"]) for row in rows] == [(task.model, task.seed) for task in wanted]
    assert all(row["test_score"] > 60 for row in rows)
    assert all(0 < row["splits"] <= 3 for row in rows)
    assert "spambase one_stage depth 2 seed 1" in capsys.readouterr().out


@pytest.fixture(scope="module")
def few_fits(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "runs.csv"
    sets = (*summary.CLASSES[:3], *summary.REALS)
    wanted = [Task(name, model, depth=d, seed=s) for s in (0, 1) for name in sets for model in QUICK for d in (6,)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crisp_choice, "REPEATS", ())
        patch.setattr(crisp_choice, "N_FOLDS", 2)
        tables.run(wanted, path, made_up)
    return tables.RESULTS.read(path)


def test_tables(few_fits, tmp_path):
    sections = summary.sections(few_fits)
    assert {*sections} == {"pairs", "oblique", *(f"table {k}" for k in (2, 3, 4, 6, 7, 8, 9))}
    text = "\n".join(sections.values())
    mean = summary.scores(few_fits, "spectf", "cart").mean()
    assert f"{mean:.2f} ± " in text
    assert "| regression, test |" in text
    assert "Wilcoxon's signed ranks" in text
    assert "Friedman's test of 3 models on 8 data sets" in text
    pair = [summary.scores(few_fits, "boston_housing", model) for model in ("cart", "one_stage")]
    assert f"| {(pair[1] - pair[0]).mean():+.2f} |" in text
    summary.write_summary(tmp_path / "tables.csv", few_fits)
    with (tmp_path / "tables.csv").open(newline="") as lines:
        assert {row["n_seeds"] for row in csv.DictReader(lines)} == {"2"}


def test_tables_of_nothing_are_empty():
    assert "at least the published figure on 0 of 0" in "\n".join(summary.sections([]).values())


def test_figures(few_fits, tmp_path):
    pytest.importorskip("matplotlib")
    summary.write_figures(tmp_path, few_fits)
    assert {file.name for file in tmp_path.iterdir()} == {"one_stage_figure_5.png", "one_stage_figure_6.png"}


def test_usual_training_rows_are_the_first_ones():
    name, (n, depth) = next(iter(summary.OBLIQUE.items()))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 50, 2))
    y = (X[:, 0] > 0).astype(int)
    y[n:] = 1 - y[n:]  # the test rows say the opposite
    found = tables.run_one(Task(name, "cart", test_part=summary.USUAL, depth=depth), X, y, True)
    assert found["train_score"] == 100.0
    assert found["test_score"] < 5.0


def test_pictures(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=["mass", "age", "sugar"])
    y = np.where(X["mass"] + X["sugar"] > 0.0, "ill", "well")
    monkeypatch.setattr(pictures, "load_dataset", lambda name: SimpleNamespace(X=X, y=y))
    pictures.write_pictures(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"one_stage_figure_{k}.png" for k in (7, 8, 9)]
