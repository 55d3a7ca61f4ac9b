"""``softwood explain`` prints the Shapley values of Python."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import softwood
import softwood.stream
from softwood.cli.main import main
from softwood.explanations import shapley_values
from tests.explanations import shapley_models as models


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
    softwood.save(
        softwood.KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2).fit(wide, labelled),
        folder / "wide.softwood",
    )
    target = wide["c0"] + wide["c1"] * wide["c2"]
    softwood.save(softwood.SoftTreeRegressor(max_depth=2, random_state=0).fit(wide, target), folder / "soft.softwood")
    X, y = wide.iloc[:, :3], np.where(target > 0, "high", "low")
    boosting = softwood.KernelBoostingClassifier(max_iter=10, bandwidth=0.2, random_state=0).fit(X, y)
    softwood.save(boosting, folder / "two_classes.softwood")
    stream = softwood.stream.SoftHoeffdingTreeClassifier(grace_period=40, tau=1.0, random_state=0)
    scaled = wide * np.array([1e4, *np.ones(24)])
    scaled.to_csv(folder / "scaled.csv", index=False)
    softwood.save(stream.fit(scaled, np.where(target > 0, "high", "low")), folder / "stream.softwood")
    return folder


@pytest.mark.parametrize("name", ["tree", "boosting", "soft"])
def test_values_are_those_of_python(explain, name):
    table = "wide.csv" if name == "soft" else "table.csv"
    found = json.loads(explain(f"{name}.softwood", table, "--row", "3", "--seed", "5", "--json"))["shapley_values"]
    model = softwood.load(f"{name}.softwood")
    row = pd.read_csv(table)[3:4]
    expected = shapley_values(model, row, random_state=5)
    assert found["quantity"] == expected.quantity
    assert found["base_values"] == pytest.approx(dict(zip(expected.outputs, expected.base_values, strict=True)))
    for j, column in enumerate(expected.names):
        own = dict(zip(expected.outputs, expected.values[0, j], strict=True))
        assert found["values"][column] == pytest.approx(own)
    assert (found["standard_errors"] is None) == (name != "soft")
    if name == "soft":
        assert found["standard_errors"]["c0"]["prediction"] == pytest.approx(expected.standard_errors[0, 0, 0])


def test_the_table_adds_up(explain):
    text = explain("tree.softwood", "table.csv", "--row", "3")
    head, _, table = text.partition("Shapley values: part of each column in the probability\n")
    assert "leaves of the tree" in head
    lines = [line.split() for line in table.splitlines()]
    found = shapley_values(softwood.load("tree.softwood"), pd.read_csv("table.csv")[3:4])
    order = np.argsort(-found.prediction[0])
    assert lines[0] == ["column", *(found.outputs[k] for k in order)]
    assert lines[1][:2] == ["base", "value"]
    assert sorted(line[0] for line in lines[2:-1]) == sorted(found.names)
    numbers = np.array([line[-3:] for line in lines[1:]], dtype=float)
    assert numbers[:-1].sum(axis=0) == pytest.approx(numbers[-1], abs=2e-3)
    assert numbers[-1] == pytest.approx(found.prediction[0, order], rel=1e-3, abs=1e-6)


def test_large_tables_are_cut(explain):
    lines = explain("wide.softwood", "wide.csv").partition("Shapley values")[2].splitlines()
    assert len(lines[1].split()) == 1 + 6
    assert len(lines) == 1 + 1 + 1 + 20 + 1 + 1
    assert lines[-2].startswith("5 others")


def test_standard_errors_are_printed(explain):
    text = explain("soft.softwood", "wide.csv")
    assert "in the prediction, sampled, with standard errors" in text
    assert text.count(" ± ") >= 20


@pytest.mark.parametrize("row", range(4))
def test_a_single_score_of_two_classes(explain, row):
    """The table has both classes, the predicted one first, each with values of its own sign."""
    text = explain("two_classes.softwood", "wide.csv", "--row", str(row))
    model, X = softwood.load("two_classes.softwood"), pd.read_csv("wide.csv").iloc[[row], :3]
    label, score = model.predict(X)[0], model.decision_function(X)[0]
    assert text.startswith(f"row {row}: prediction {label}, probability ")
    assert "score of low " in text.split("how far")[0]  # the values of the tree are those of the second class
    head, _, table = text.partition("Shapley values: part of each column in the raw score (log odds), not in the ")
    assert head
    lines = [line.split() for line in table.splitlines()]
    assert lines[:2][0] == ["probability"]
    assert lines[1] == ["column", label, {"low": "high", "high": "low"}[label]]
    sums = dict(zip(lines[1][1:], map(float, lines[-1][1:]), strict=True))
    assert sums == pytest.approx({"low": score, "high": -score}, rel=1e-3)
    assert sums[label] > 0


def test_leaves_name_classes_in_the_order_of_the_table(explain):
    text = explain("tree.softwood", "table.csv", "--row", "3")
    order = text.partition("Shapley values")[2].splitlines()[1].split()[1:]
    leaves = [line for line in text.splitlines() if line.startswith("share ")]
    for line in leaves:
        assert [part.split()[0] for part in line.split(", ")[2:]] == order
    found = json.loads(explain("tree.softwood", "table.csv", "--row", "3", "--json"))
    assert [list(path["value"]) for path in found["paths"]] == [order] * len(leaves)
    assert sum(found["paths"][0]["value"].values()) == pytest.approx(1.0)


def test_weights_of_gates_are_never_rounded_to_zero(explain):
    """The weight of a column of large numbers is small, and its term is not."""
    for text in (explain("stream.softwood", "scaled.csv"), str(softwood.explain(
        softwood.load("stream.softwood"), pd.read_csv("scaled.csv").iloc[0]
    ))):  # fmt: skip
        weights = [float(w) for w, _ in re.findall(r"([+-]\S+) (c\d+)", text)]
        assert len(weights) >= 3
        assert all(weights)
        assert not re.search(r"[+-]0\.?0* c\d", text)


def test_python_that_does_the_same(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["explain", "tree.softwood", "table.csv", "--verbose"]) == 0
    assert "\nshapley_values(model, row, random_state=0)" in capsys.readouterr().err
