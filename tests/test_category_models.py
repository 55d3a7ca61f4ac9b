"""Models with sets of categories outside of fit: files, exports, explanations, layers."""

import pickle

import numpy as np
import pandas as pd
import pytest

from softwood import Gate, KernelBoostingClassifier, KernelTreeClassifier, SoftTree, explain, export_text, load, save
from softwood.core.columns import Columns
from softwood.explanations import certify, shapley_values
from softwood.export import FittedModel, from_json, to_dot, to_json, to_python, to_sql
from softwood.files.records import build_columns, columns_state


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 400
    number = rng.integers(0, 9, n)
    X = pd.DataFrame({"x": rng.normal(size=n), "city": [f"c{k}" for k in number], "new": rng.random(n) < 0.5})
    X["new"] = np.where(X["new"], "yes", "no")
    y = np.where(np.isin(number, [1, 4, 8]) ^ (X["x"] > 0.5), "in", "out")
    X.loc[::11, "city"] = None
    return X, y


@pytest.fixture(scope="module")
def tree(table):
    return KernelTreeClassifier(bandwidth=0.2, max_leaf_nodes=8, random_state=0).fit(*table)


@pytest.fixture(scope="module")
def boosting(table):
    return KernelBoostingClassifier(max_iter=3, bandwidth=0.2, min_mass=5.0).fit(*table)


@pytest.fixture(scope="module")
def some(table):
    """Rows with missing and unknown categories."""
    X = table[0].iloc[:60].reset_index(drop=True).copy()
    X.loc[:4, "city"] = "nowhere"
    X.loc[5:8, "new"] = None
    return X


@pytest.fixture(params=["tree", "boosting"])
def model(request):
    return request.getfixturevalue(request.param)


def test_names_stay_those_of_the_table(tree):
    assert np.any(tree.tree_.gate == Gate.SUBSET)
    assert tree.columns_.names == ("x", "city", "new")
    assert tree.feature_importances_[1] > 0.1
    assert "city in {c1, c4, c8}" in export_text(tree)
    assert "city" in to_dot(tree)


def test_files_and_pickles(model, some, tmp_path):
    expected = model.predict_proba(some)
    save(model, tmp_path / "model.softwood")
    for again in (load(tmp_path / "model.softwood"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(some), expected)
        assert again.columns_.as_codes


@pytest.mark.parametrize("change", [{"as_codes": 1}, {"as_codes": False}, {"source": np.array([0, 1, 1])}])
def test_damaged_columns(tree, change):
    state = columns_state(tree.columns_)
    assert build_columns(Columns, dict(state)).n_categories.tolist() == [0, 9, 2]
    with pytest.raises(ValueError, match=r"as_codes|encoded columns"):
        build_columns(Columns, state | change)


def test_exports(model, some):
    expected = model.predict_proba(some)
    assert np.any(FittedModel.of(model).trees.gate == Gate.SUBSET)
    np.testing.assert_allclose(FittedModel.of(model).predict(some), expected, atol=1e-12)
    np.testing.assert_allclose(FittedModel.of(model).one_hot().predict(some), expected, atol=1e-9)
    np.testing.assert_allclose(from_json(to_json(model)).predict(some), expected, atol=1e-9)
    namespace = {}
    exec(to_python(model), namespace)
    rows = some.astype(object).where(some.notna(), None).to_dict(orient="records")
    found = np.array([namespace["predict"](row) for row in rows])
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert "city" in to_sql(model)


def test_a_bare_tree_is_refused_by_exports(tree):
    assert isinstance(tree.tree_, SoftTree)
    with pytest.raises(ValueError, match=r"Feature 'x\[\d\]' is tested by sets of categories"):
        to_json(tree.tree_)


def test_explanations(model, some):
    values = shapley_values(model, some)
    assert values.names == ("x", "city", "new")
    assert values.is_exact
    np.testing.assert_allclose(values.values.sum(axis=1) + values.base_values, values.prediction, atol=1e-9)
    if isinstance(model, KernelTreeClassifier):  # a missing value is as good as an absent one
        assert np.all(values.values[some["city"].isna(), 1] == 0)
    told = explain(model, some.iloc[[10]])
    assert "city" in str(told)
    certain = certify(model, some, {"x": 1e-9})
    assert certain.mean() > 0.8


def test_a_module_takes_columns_of_zeros_and_ones(tree, some):
    torch = pytest.importorskip("torch")
    from softwood.nn import TreeModule

    rows = FittedModel.of(tree).one_hot().encode(some)
    module = TreeModule.from_tree(tree, dtype=torch.float64)
    found = module(torch.tensor(rows)).detach().numpy()
    np.testing.assert_allclose(found, tree.predict_proba(some), atol=1e-9)
    with pytest.raises(ValueError, match=r"Feature 'x\[\d\]' is tested by sets of categories"):
        TreeModule.from_tree(tree.tree_)
