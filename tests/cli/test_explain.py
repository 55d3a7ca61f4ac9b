"""``softwood explain`` prints the Shapley values of Python."""

import json

import numpy as np
import pandas as pd
import pytest

import softwood
from softwood.cli.main import main
from tests.inspect import shapley_models as models


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    models.frame(30).to_csv(folder / "table.csv", index=False)
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(200, 25)), columns=[f"c{k}" for k in range(25)])
    wide.to_csv(folder / "wide.csv", index=False)
    labelled = np.arange(200) % 8
    softwood.save(models.fitted("tree of a frame"), folder / "tree.softwood")
    softwood.save(models.fitted("boosting of a frame"), folder / "boosting.softwood")
    softwood.save(softwood.KernelTreeClassifier(bandwidth=0.2).fit(wide, labelled), folder / "wide.softwood")
    target = wide["c0"] + wide["c1"] * wide["c2"]
    softwood.save(softwood.SoftTreeRegressor(max_depth=2, random_state=0).fit(wide, target), folder / "soft.softwood")
    return folder


@pytest.fixture
def run(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)

    def call(*words):
        capsys.readouterr()
        assert main(["explain", *words]) == 0
        return capsys.readouterr().out

    return call


@pytest.mark.parametrize("name", ["tree", "boosting", "soft"])
def test_values_are_those_of_python(run, name):
    table = "wide.csv" if name == "soft" else "table.csv"
    found = json.loads(run(f"{name}.softwood", table, "--row", "3", "--seed", "5", "--json"))["shapley_values"]
    model = softwood.load(f"{name}.softwood")
    row = pd.read_csv(table)[3:4]
    expected = softwood.shapley_values(model, row, random_state=5)
    assert found["quantity"] == expected.quantity
    assert found["base_values"] == pytest.approx(dict(zip(expected.outputs, expected.base_values, strict=True)))
    for j, column in enumerate(expected.names):
        own = dict(zip(expected.outputs, expected.values[0, j], strict=True))
        assert found["values"][column] == pytest.approx(own)
    assert (found["standard_errors"] is None) == (name != "soft")
    if name == "soft":
        assert found["standard_errors"]["c0"]["prediction"] == pytest.approx(expected.standard_errors[0, 0, 0])


def test_the_table_adds_up(run):
    text = run("tree.softwood", "table.csv", "--row", "3")
    head, _, table = text.partition("Shapley values: part of each column in the probability\n")
    assert "leaves of the tree" in head
    lines = [line.split() for line in table.splitlines()]
    found = softwood.shapley_values(softwood.load("tree.softwood"), pd.read_csv("table.csv")[3:4])
    order = np.argsort(-found.prediction[0])
    assert lines[0] == ["column", *(found.outputs[k] for k in order)]
    assert lines[1][:2] == ["base", "value"]
    assert sorted(line[0] for line in lines[2:-1]) == sorted(found.names)
    numbers = np.array([line[-3:] for line in lines[1:]], dtype=float)
    assert numbers[:-1].sum(axis=0) == pytest.approx(numbers[-1], abs=2e-3)
    assert numbers[-1] == pytest.approx(found.prediction[0, order], rel=1e-3, abs=1e-6)


def test_large_tables_are_cut(run):
    lines = run("wide.softwood", "wide.csv").partition("Shapley values")[2].splitlines()
    assert len(lines[1].split()) == 1 + 6
    assert len(lines) == 1 + 1 + 1 + 20 + 1 + 1
    assert lines[-2].startswith("5 others")


def test_standard_errors_are_printed(run):
    text = run("soft.softwood", "wide.csv")
    assert "in the prediction, sampled, with standard errors" in text
    assert text.count(" ± ") >= 20


def test_python_that_does_the_same(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["explain", "tree.softwood", "table.csv", "--verbose"]) == 0
    assert "softwood.shapley_values(model, row, random_state=0)" in capsys.readouterr().err
