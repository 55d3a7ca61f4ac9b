import ctypes
import os
import shutil
import subprocess

import numpy as np
import pytest

from softwood import SoftForest
from softwood.export import FittedModel, c_source, to_c
from tests.export.models import answers, fitted, fitted_to_frames, mixed_tree, trying_rows, trying_table

DOUBLES = ctypes.POINTER(ctypes.c_double)


class Compiled:
    """An exported model, compiled by the system's compiler with all warnings as errors."""

    def __init__(self, model, folder):
        compiler = shutil.which("cc")
        assert compiler is not None, "these tests need a C compiler"
        to_c(model, name="exported").save(folder)
        library = folder / "exported.so"
        flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, folder / "exported.c", "-o", library, "-lm"], check=True)
        self.library = ctypes.CDLL(os.fspath(library))
        self.library.exported_category.restype = ctypes.c_double
        self.known = FittedModel.of(model)

    def predict(self, rows):
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        out = np.empty((len(rows), self.known.n_outputs))
        for row, place in zip(rows, out, strict=True):
            self.library.exported_predict(row.ctypes.data_as(DOUBLES), place.ctypes.data_as(DOUBLES))
        return out

    def labels(self, rows):
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        names = (ctypes.c_char_p * self.known.n_outputs).in_dll(self.library, "exported_classes")
        return [names[self.library.exported_label(row.ctypes.data_as(DOUBLES))].decode() for row in rows]

    def code(self, column, value):
        if value is None or value != value:
            return np.nan
        if self.known.columns.categories[column] is None:
            return float(value)
        return self.library.exported_category(column, str(value).encode())


@pytest.mark.parametrize("name", fitted())
def test_predicts_as_the_model(name, tmp_path):
    model = fitted()[name]
    compiled = Compiled(model, tmp_path)
    X = trying_rows(model, 10_000)
    np.testing.assert_allclose(compiled.predict(X), answers(model, X), rtol=0, atol=1e-12)
    if compiled.known.classes is not None:
        assert compiled.labels(X[:500]) == [str(label) for label in model.predict(X[:500])]


@pytest.mark.parametrize("name", fitted_to_frames())
def test_categories_have_codes(name, tmp_path):
    model = fitted_to_frames()[name]
    compiled = Compiled(model, tmp_path)
    table = trying_table(model)
    columns = compiled.known.columns.inputs
    rows = [[compiled.code(j, row[column]) for j, column in enumerate(columns)] for _, row in table.iterrows()]
    np.testing.assert_allclose(compiled.predict(rows), answers(model, table), rtol=0, atol=1e-12)


def test_names_with_quotes_and_comments(tmp_path):
    columns = FittedModel.of(mixed_tree()).columns
    names = ('a "b" */ int', "\\", "c\nd", "??/")
    named = type(columns)(names, columns.source, columns.categories, names)
    model = FittedModel("SoftTree", mixed_tree(), named, classes=('"', "??=\\", "Łódź\n"))
    compiled = Compiled(model, tmp_path)
    X = trying_rows(model.trees, 50)
    assert set(compiled.labels(X)) <= {'"', "??=\\", "Łódź\n"}


def test_more_nodes_than_a_compiler_takes_are_refused(monkeypatch):
    monkeypatch.setattr(c_source, "MAX_NODES", 50)
    with pytest.raises(ValueError, match="up to 50 nodes"):
        to_c(SoftForest.mean([mixed_tree(), mixed_tree(1)]))


@pytest.mark.parametrize("name", ["a b", "1x", "", None])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="'name' parameter of to_c"):
        to_c(mixed_tree(), name=name)
