import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import softwood
from softwood import SoftForest, SoftTree
from softwood.export import FittedModel, sql_query, to_sql
from tests.export.models import (
    answers,
    fitted,
    fitted_to_frames,
    mixed_tree,
    numbers,
    targets,
    trying_rows,
    trying_table,
)


def in_sqlite(frame, query):
    with sqlite3.connect(":memory:") as connection:
        frame.to_sql("data", connection, index=False)
        return pd.read_sql_query(query, connection)


def in_duckdb(frame, query):
    connection = duckdb.connect()
    connection.execute("SET threads TO 1")
    data = frame.astype(object).where(frame.notna(), None).convert_dtypes()
    connection.register("frame", data)
    connection.execute("CREATE TABLE data AS SELECT * FROM frame")
    return connection.execute(query).df()


DATABASES = [in_sqlite, in_duckdb]


def run(model, frame, database, **settings):
    """Predictions and labels of a database, in the order of the rows."""
    known = FittedModel.of(model)
    query = to_sql(model, keep=["id"], **settings)
    found = database(frame.assign(id=np.arange(len(frame))), query).sort_values("id")
    names = known.outputs.columns if known.classes is None else [f"p_{name}" for name in known.outputs.columns]
    return found[list(names)].to_numpy(dtype=np.float64), found.get("label")


def named(model, X):
    return pd.DataFrame(X, columns=list(FittedModel.of(model).columns.inputs))


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("name", fitted())
def test_predicts_as_the_model(name, database):
    model = fitted()[name]
    X = trying_rows(model, 300)
    predictions, labels = run(model, named(model, X), database)
    np.testing.assert_allclose(predictions, answers(model, X), rtol=0, atol=1e-11)
    if labels is not None:
        assert labels.astype(str).tolist() == [str(label) for label in model.predict(X)]


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("name", fitted_to_frames())
def test_categories_are_compared_as_they_are(name, database):
    model = fitted_to_frames()[name]
    table = trying_table(model, 300)
    predictions, _ = run(model, table, database)
    np.testing.assert_allclose(predictions, answers(model, table), rtol=0, atol=1e-11)


@pytest.mark.parametrize("database", DATABASES)
def test_crisp_trees_are_one_expression(database):
    X = numbers(500)
    y = np.digitize(np.nan_to_num(targets(X)), [-0.5, 0.5])
    forest = SoftForest.from_sklearn(RandomForestClassifier(20, random_state=0).fit(X, y))
    query = to_sql(forest)
    assert "left_0_0" not in query
    rows = trying_rows(forest, 300)
    np.testing.assert_allclose(run(forest, named(forest, rows), database)[0], forest.predict(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("database", DATABASES)
def test_without_missing_values_a_crisp_tree_is_one_expression(database):
    model = fitted()["kernel tree, crisp"]
    X = trying_rows(model, 300, with_missing=False)
    assert "left_0_0" in to_sql(model)
    assert "left_0_0" not in to_sql(model, has_missing=False)
    predictions, _ = run(model, named(model, X), database, has_missing=False)
    np.testing.assert_allclose(predictions, model.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("database", DATABASES)
def test_names_and_whole_numbers(database):
    frame = pd.DataFrame({'a "b"': np.arange(50), "select": np.arange(50) % 7})
    y = frame['a "b"'] * 0.5 + frame["select"]
    model = softwood.KernelTreeRegressor(bandwidth=0.2, max_depth=4).fit(frame, y)
    np.testing.assert_allclose(run(model, frame, database)[0][:, 0], model.predict(frame), rtol=0, atol=1e-11)


@pytest.mark.parametrize(("limit", "settings"), [("MAX_SOFT_NODES", {}), ("MAX_CRISP_NODES", {"has_missing": False})])
def test_models_that_are_too_large_are_refused(monkeypatch, limit, settings):
    monkeypatch.setattr(sql_query, limit, 10)
    with pytest.raises(ValueError, match="up to 10 nodes"):
        to_sql(fitted()["kernel tree, crisp"], **settings)


def test_a_deep_crisp_tree_is_refused():
    n = 401
    chain = np.arange(0, 2 * n, 2)
    left, right = np.full(2 * n + 1, -1), np.full(2 * n + 1, -1)
    left[chain], right[chain] = chain + 1, chain + 2
    tree = SoftTree.from_nodes(
        children_left=left, children_right=right, feature=np.where(left < 0, -1, 0), value=np.zeros((2 * n + 1, 1)),
        threshold=np.where(left < 0, np.nan, 0.0), missing_left=1.0, n_features=1,
    )  # fmt: skip
    with pytest.raises(ValueError, match="a depth of 401"):
        to_sql(tree)


@pytest.mark.parametrize("wrong", [{"table": ""}, {"table": 3}, {"keep": "id"}, {"keep": [1]}, {"has_missing": 0}])
def test_wrong_parameters_are_named(wrong):
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of to_sql"):
        to_sql(mixed_tree(), **wrong)
