import json
import shutil
import subprocess

import numpy as np
import pytest

from softwood.export import FittedModel, to_javascript
from softwood.export.javascript_source import evaluator_source, model_data
from tests.export.models import answers, fitted, fitted_to_frames, mixed_tree, trying_rows, trying_table

RUN = """
const { softwood, model, predict, label } = require(process.argv[2]);
const rows = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(rows.map((row) => [
  predict(row),
  model.classes === null ? null : label(row),
  Array.from(softwood.shares(model, 0, softwood.encode(model, row))),
])));
"""


def run_node(model, rows, folder):
    """Predictions, labels, and shares in the first tree, as node computes them."""
    node = shutil.which("node")
    assert node is not None, "these tests need node"
    (folder / "exported.js").write_text(to_javascript(model), encoding="utf-8")
    (folder / "run.js").write_text(RUN, encoding="utf-8")
    done = subprocess.run(
        [node, folder / "run.js", folder / "exported.js"], input=json.dumps(rows), capture_output=True, text=True,
        check=True, encoding="utf-8",
    )  # fmt: skip
    predictions, labels, shares = zip(*json.loads(done.stdout), strict=True)
    return np.array(predictions), list(labels), np.array(shares)


def listed(X):
    return [[None if x != x else x for x in row] for row in X.tolist()]


@pytest.mark.parametrize("name", fitted())
def test_predicts_as_the_model(name, tmp_path):
    model = fitted()[name]
    X = trying_rows(model, 500)
    predictions, labels, shares = run_node(model, listed(X), tmp_path)
    known = FittedModel.of(model)
    np.testing.assert_allclose(predictions, answers(model, X), rtol=0, atol=1e-12)
    if known.classes is not None:
        assert labels == model.predict(X).tolist()
    if known.fill is None:
        np.testing.assert_allclose(shares, known.forest[0].memberships(X).toarray(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", fitted_to_frames())
def test_rows_are_objects_with_categories(name, tmp_path):
    model = fitted_to_frames()[name]
    table = trying_table(model, 500)
    rows = table.astype(object).where(table.notna(), None).to_dict(orient="records")
    predictions, _, _ = run_node(model, rows, tmp_path)
    np.testing.assert_allclose(predictions, answers(model, table), rtol=0, atol=1e-12)


def test_half_widths_of_cells_replace_those_of_the_nodes(tmp_path):
    tree = mixed_tree()
    X = trying_rows(tree, 50)
    widths = np.random.default_rng(0).uniform(0, 2, X.shape)
    widths[:, 1] = np.nan
    code = (
        f"{evaluator_source()}\nconst model = {json.dumps(model_data(tree))};\n"
        f"const rows = {json.dumps(listed(X))}, widths = {json.dumps(listed(widths))};\n"
        "console.log(JSON.stringify(rows.map((row, i) => softwood.predictPoint(model, row, widths[i]))));\n"
    )
    (tmp_path / "run.js").write_text(code, encoding="utf-8")
    done = subprocess.run(["node", tmp_path / "run.js"], capture_output=True, text=True, check=True)
    np.testing.assert_allclose(json.loads(done.stdout), tree.predict(X, widths=widths), rtol=0, atol=1e-12)


def test_names_cannot_end_a_script():
    columns = FittedModel.of(mixed_tree()).columns
    evil = ("</script><img onerror=1>", "\u2028", "c", "d")
    text = to_javascript(
        FittedModel("SoftTree", mixed_tree(), type(columns)(evil, columns.source, columns.categories, evil))
    )
    assert "</script" not in text
    assert "\u2028" not in text


@pytest.mark.parametrize("name", ["a b", "1x", "softwood", "", None])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="'name' parameter of to_javascript"):
        to_javascript(mixed_tree(), name=name)
