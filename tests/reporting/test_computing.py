"""What the page computes in a browser equals what Python computes."""

import json
from dataclasses import replace

import numpy as np
import pytest

from softwood import SoftForest, SoftTree
from softwood.explanations import certified_radius, shapley_values
from softwood.fitted import FittedModel
from softwood.reporting.report import report
from tests.export.models import answers, fitted, fitted_to_frames, mixed_tree, trying_rows, trying_table

N_ROWS = 10_000
# All gates, all links, all ways to treat missing values.
MANY_ROWS = [
    "tree of all gates", "mean of trees, softmax", "kernel tree, box", "kernel tree, own kernels",
    "boosting, two classes", "boosting, counts", "soft tree", "discriminant tree", "soft Hoeffding tree",
]  # fmt: skip
FEW_ROWS = [name for name in fitted() if name not in MANY_ROWS]

PREDICT = """
const rows = JSON.parse(arguments[0]);
return rows.map((row) => softwood.predict(softwoodReport.page.state.model, row));
"""
EXPLAIN = """
return JSON.parse(arguments[0]).map((row) => {
  const { scores, shapley, gradient } = softwoodReport.explain(row);
  const plain = (list) => Array.from(list, (own) => Array.from(own));
  const [values, base] = shapley ? [plain(shapley.values), Array.from(shapley.base)] : [null, null];
  return { scores, shapley: values, base, gradient: plain(gradient) };
});
"""
CERTIFY = """
const text = (x) => Number.isFinite(x) ? x : String(x);
return JSON.parse(arguments[0]).map((row) => {
  const { reach, change, error, radius } = softwoodReport.certificate(row);
  const plain = (map) => Array.from(map, ([input, x]) => [input, Array.isArray(x) ? x.map(text) : text(x)]);
  return { reach: plain(reach), change: plain(change), error: plain(error), radius: text(radius) };
});
"""


def listed(X):
    return json.dumps([[None if x != x else x for x in row] for row in X.tolist()])


@pytest.mark.parametrize("name", MANY_ROWS)
def test_predictions_of_many_rows(name, page, tmp_path):
    model = fitted()[name]
    X = trying_rows(model, N_ROWS)
    report(model, tmp_path / "page.html")
    found = page.open(tmp_path / "page.html").run(PREDICT, listed(X))
    np.testing.assert_allclose(found, answers(model, X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", FEW_ROWS)
def test_predictions_of_all_models(name, page, tmp_path):
    model = fitted()[name]
    X = trying_rows(model, 300)
    report(model, tmp_path / "page.html", X=X)
    found = page.open(tmp_path / "page.html").run(PREDICT, listed(X))
    np.testing.assert_allclose(found, answers(model, X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", fitted_to_frames())
def test_predictions_with_categories(name, page, tmp_path):
    model = fitted_to_frames()[name]
    table = trying_table(model, 300)
    report(model, tmp_path / "page.html", X=table)
    rows = table.astype(object).where(table.notna(), None).to_dict(orient="records")
    found = page.open(tmp_path / "page.html").run(PREDICT, json.dumps(rows))
    np.testing.assert_allclose(found, answers(model, table), rtol=0, atol=1e-12)


EXACT = [
    "kernel tree, box", "kernel tree, crisp", "kernel tree, own kernels", "kernel forest", "boosting, two classes",
    "boosting, three classes", "Hoeffding tree", "one leaf",
]  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_shapley_values(name, page, tmp_path):
    model = fitted()[name]
    X = trying_rows(model, 60)
    report(model, tmp_path / "page.html")
    found = page.open(tmp_path / "page.html").run(EXPLAIN, listed(X))
    expected = shapley_values(model, X)
    np.testing.assert_allclose([row["shapley"] for row in found], expected.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[0]["base"], expected.base_values, rtol=0, atol=1e-12)


def test_a_category_is_one_player(page, tmp_path):
    model = fitted_to_frames()["kernel tree of a frame"]
    table = trying_table(model, 60)
    report(model, tmp_path / "page.html")
    rows = table.astype(object).where(table.notna(), None).to_dict(orient="records")
    found = page.open(tmp_path / "page.html").run(EXPLAIN, json.dumps(rows))
    expected = shapley_values(model, table)
    np.testing.assert_allclose([row["shapley"] for row in found], expected.values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["tree of all gates", "soft tree", "mean of trees, softmax"])
def test_no_shapley_values_without_a_formula(name, page, tmp_path):
    report(fitted()[name], tmp_path / "page.html")
    page.open(tmp_path / "page.html")
    assert page.run("return softwoodReport.page.now.shapley") is None
    assert "Not shown" in page.text("#shapley-note")


@pytest.mark.parametrize(
    "name", ["tree of all gates", "mean of trees, softmax", "sum of trees", "kernel tree, own kernels", "soft tree"]
)
def test_gradients(name, page, tmp_path):
    model = fitted()[name]
    X = trying_rows(model, 60, with_missing=name != "soft tree")
    report(model, tmp_path / "page.html")
    found = page.open(tmp_path / "page.html").run(EXPLAIN, listed(X))
    expected = FittedModel.of(model).trees.input_gradient(X)
    np.testing.assert_allclose([row["gradient"] for row in found], expected, rtol=1e-11, atol=1e-12)


def numbers(pairs):
    return {int(k): np.array(x, dtype=float) for k, x in pairs}


CERTIFIED = [
    "tree of all gates", "mean of trees, softmax", "kernel tree, box", "kernel tree, crisp", "kernel forest",
    "boosting, two classes", "boosting, three classes", "soft tree", "discriminant tree", "soft Hoeffding tree",
]  # fmt: skip


@pytest.mark.parametrize("name", CERTIFIED)
def test_certificates_of_classes(name, page, tmp_path):
    model = fitted()[name]
    X = trying_rows(model, 25)
    report(model, tmp_path / "page.html")
    found = page.open(tmp_path / "page.html").run(CERTIFY, listed(X))
    expected = certified_radius(model, X)
    for i, row in enumerate(found):
        reach = numbers(row["reach"])
        np.testing.assert_allclose([reach[j] for j in reach], expected.reach[i, list(reach)], rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(float(row["radius"]), expected.radius[i], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", ["kernel tree, no cutoff", "extra trees", "boosting, counts", "soft tree, targets"])
def test_certificates_of_targets(name, page, tmp_path):
    model = fitted()[name]
    X = trying_rows(model, 25, with_missing=False)
    report(model, tmp_path / "page.html", X=X)
    found = page.open(tmp_path / "page.html").run(CERTIFY, listed(X))
    expected = certified_radius(model, X)
    for i, row in enumerate(found):
        error, change = numbers(row["error"]), numbers(row["change"])
        for j in error:
            largest = expected.largest_change({f"x{j}": error[j]} if f"x{j}" in expected.columns else {j: error[j]})
            np.testing.assert_allclose(change[j], largest[i], rtol=1e-9, atol=1e-9)


def test_other_half_widths(page, tmp_path):
    tree = fitted()["kernel tree, own kernels"].tree_
    X = trying_rows(tree, 200)
    report(tree, tmp_path / "page.html")
    page.open(tmp_path / "page.html")
    widths = np.full(X.shape, np.nan)
    widths[:, 1] = 0.7
    page.run("softwoodReport.setWidths(1, [NaN, 0.7, NaN, NaN]); return null")
    found = page.run(PREDICT, listed(X))
    np.testing.assert_allclose(found, tree.predict(X, widths=widths), rtol=0, atol=1e-12)
    page.run("softwoodReport.setWidths(2); return null")
    wider = replace(tree, width=2 * tree.width)
    np.testing.assert_allclose(page.run(PREDICT, listed(X)), wider.predict(X), rtol=0, atol=1e-12)


def test_bare_trees_and_forests(page, tmp_path):
    tree = mixed_tree(3)
    for trees in (tree, SoftForest.mean([tree, mixed_tree(4)])):
        X = trying_rows(tree, 100)
        report(trees, tmp_path / "page.html")
        found = page.open(tmp_path / "page.html").run(PREDICT, listed(X))
        np.testing.assert_allclose(found, trees.predict(X), rtol=0, atol=1e-12)
        assert isinstance(trees, SoftTree) == (page.text("#title") == "SoftTree")
