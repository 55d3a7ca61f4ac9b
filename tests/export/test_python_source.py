import subprocess
import sys

import numpy as np
import pytest

from softwood.export import to_python
from tests.export.models import answers, fitted, fitted_to_frames, trying_rows, trying_table


def module_of(model):
    module = {}
    exec(compile(to_python(model), "exported", "exec"), module)
    return module


@pytest.mark.parametrize("name", fitted())
def test_predicts_as_the_model(name):
    model = fitted()[name]
    X = trying_rows(model, 150)
    predict = module_of(model)["predict"]
    np.testing.assert_allclose([predict(row) for row in X.tolist()], answers(model, X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", fitted_to_frames())
def test_rows_are_dicts_with_categories(name):
    model = fitted_to_frames()[name]
    table = trying_table(model, 150)
    predict = module_of(model)["predict"]
    rows = table.astype(object).where(table.notna(), None).to_dict(orient="records")
    np.testing.assert_allclose([predict(row) for row in rows], answers(model, table), rtol=0, atol=1e-12)


def test_labels():
    model = fitted()["kernel forest"]
    X = trying_rows(model, 100)
    label = module_of(model)["label"]
    assert [label(row) for row in X.tolist()] == model.predict(X).tolist()


def test_the_module_needs_no_package(tmp_path):
    (tmp_path / "exported.py").write_text(to_python(fitted()["boosting, two classes"]), encoding="utf-8")
    code = "import exported; print(sum(exported.predict([None] * 4)))"
    run = subprocess.run([sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert float(run.stdout) == pytest.approx(1.0)
