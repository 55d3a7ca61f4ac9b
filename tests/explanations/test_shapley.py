"""Shapley values against their definition, against shap, and on real data."""

import pickle
import sys
import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import softwood
from softwood import SoftForest, SoftTree, stream
from softwood.explanations import shapley_values
from softwood.explanations.shapley_model import absent_shares
from tests.explanations import shapley_models as models
from tests.explanations.shapley_models import adds_up, is_close, vars_of
from tests.reference.kernels import BOX, SHAPES
from tests.reference.shapley import interactions, shapley
from tests.reference.trees import ALL_GATES, random_points, random_tree


@pytest.fixture(scope="module")
def shap():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of other packages
        import shap
    return shap


# ------------------------------------------------------------------ against enumeration


@pytest.mark.parametrize("name", [*models.KERNEL, *models.EVALUATED])
def test_absent_columns_are_missing_values(name):
    model, X = models.fitted(name), models.rows_for(name)
    found = shapley_values(model, X, interactions=True)
    assert found.is_exact
    for i in range(len(X)):
        worth = models.mixed_worth(model, X, i)
        assert is_close(found.base_values, worth(set()), 1e-12)
        assert is_close(found.prediction[i], worth(set(range(X.shape[1]))), 1e-12)
        assert is_close(found.values[i], shapley(worth, X.shape[1]), 1e-12)
        assert is_close(found.interactions[i], interactions(worth, X.shape[1]), 1e-12)
    assert is_close(found.interactions.sum(axis=2), found.values, 1e-13)
    assert adds_up(found, 1e-13)


@pytest.mark.parametrize("name", models.ONE_SIDED)
def test_absent_columns_are_divided_by_masses_where_missing_values_go_to_one_side(name):
    model, X = models.fitted(name), models.rows_for(name)
    found = shapley_values(model, X, interactions=True)
    for i in range(len(X)):
        worth = models.mass_worth(model, X, i, [BOX])
        assert is_close(found.base_values, worth(set()), 1e-12)
        assert is_close(found.prediction[i], models.outputs(model, X)[i], 1e-12)
        assert is_close(found.values[i], shapley(worth, X.shape[1]), 1e-12)
        assert is_close(found.interactions[i], interactions(worth, X.shape[1]), 1e-12)
    assert found.is_exact
    assert adds_up(found, 1e-13)


@pytest.mark.parametrize("name", models.MAKERS)
def test_absent_columns_come_from_background_rows(name):
    model, X, others = models.fitted(name), models.rows_for(name), models.rows_for(name, 3, seed=8)
    found = shapley_values(model, X, others, interactions=True)
    for i in range(len(X)):
        worth = models.mixed_worth(model, X, i, others)
        assert is_close(found.base_values, worth(set()), 1e-12)
        assert is_close(found.values[i], shapley(worth, X.shape[1]), 1e-12)
        assert is_close(found.interactions[i], interactions(worth, X.shape[1]), 1e-12)
    assert found.is_exact
    assert found.n_background == 3
    assert adds_up(found, 1e-13)


@pytest.mark.parametrize("with_background", [False, True])
def test_ten_columns(with_background):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    y = X @ rng.normal(size=10) + X[:, 0] * X[:, 9] + np.abs(X[:, 4])
    X[rng.random(X.shape) < 0.05] = np.nan
    model = softwood.KernelForestRegressor(2, bandwidth=0.3, max_features=0.3, random_state=0).fit(X, y)
    others = X[10:12] if with_background else None
    found = shapley_values(model, X[:1], others)
    worth = models.mixed_worth(model, X, 0, others)
    assert is_close(found.values[0], shapley(worth, 10), 1e-12)


def test_a_category_is_one_column():
    model, X = models.fitted("tree of a frame"), models.rows_for("tree of a frame", 20)
    assert model.columns_.names == ("size", "weight", "city", "is_new")
    found = shapley_values(model, X)
    assert found.names == ("size", "weight", "city", "is_new")
    assert found.values.shape == (20, 4, 3)
    assert np.abs(found.values[:, 2]).max() > 0.05
    assert np.all(found.values[X["city"].isna(), 2] == 0), "a missing value is as good as an absent one"


def test_the_parts_of_a_date_are_one_column():
    """The values are those of the reference with days, hour and weekday as one player."""
    rng = np.random.default_rng(0)
    X = models.frame().assign(at=pd.Timestamp("2021-03-05") + pd.to_timedelta(rng.integers(0, 900, 300), unit="h"))
    y = models.frame_targets(X) + 2.0 * (X["at"].dt.day_of_week > 4) + X["at"].dt.hour / 12
    model = softwood.KernelTreeRegressor(refine=False, trend=None, bandwidth=0.3, max_depth=6).fit(X, y)
    assert model.columns_.names[-3:] == ("at: hour", "at: weekday", "at: month")
    rows = X[:4]
    found = shapley_values(model, rows)
    assert found.names == ("size", "weight", "city", "is_new", "at")
    for i in range(len(rows)):
        worth = models.mixed_worth(model, rows, i)
        assert is_close(found.values[i], shapley(worth, 5), 1e-12)


# ------------------------------------------------------------------ on real data


REAL = {"breast cancer": load_breast_cancer, "digits": load_digits, "iris": load_iris, "wine": load_wine}


@pytest.mark.parametrize("with_background", [False, True])
@pytest.mark.parametrize("kind", ["tree", "forest", "boosting"])
@pytest.mark.parametrize("data", REAL)
def test_values_add_up_to_the_prediction(data, kind, with_background):
    X, y = REAL[data](return_X_y=True)
    make = {
        "tree": lambda: softwood.KernelTreeClassifier(refine=False, trend=None, bandwidth=0.4),
        "forest": lambda: softwood.KernelForestClassifier(5, bandwidth=0.2, random_state=0),
        "boosting": lambda: softwood.KernelBoostingClassifier(max_iter=5, bandwidth=0.1),
    }
    model = make[kind]().fit(X, y)
    found = shapley_values(model, X[:40], X[100:103] if with_background else None)
    assert adds_up(found)
    own = model.decision_function(X[:40]) if kind == "boosting" else model.predict_proba(X[:40])
    assert found.prediction.ravel() == pytest.approx(own.ravel())


def test_targets_add_up_to_the_prediction():
    X, y = load_diabetes(return_X_y=True)
    for model in (
        softwood.KernelTreeRegressor(refine=False, trend=None, bandwidth=0.4),
        softwood.KernelExtraTreesRegressor(5, bandwidth=0.2, random_state=0),
        softwood.KernelBoostingRegressor(max_iter=10, bandwidth=0.1),
    ):
        assert adds_up(shapley_values(model.fit(X, y), X[:40]))


# ------------------------------------------------------------------ against shap


CRISP = {
    "tree": (SoftTree, DecisionTreeClassifier(max_depth=6, random_state=0)),
    "regression tree": (SoftTree, DecisionTreeRegressor(max_depth=6, random_state=0)),
    "random forest": (SoftForest, RandomForestClassifier(10, max_depth=7, random_state=0)),
    "extra trees": (SoftForest, ExtraTreesClassifier(10, max_depth=7, random_state=0)),
    "boosting": (SoftForest, GradientBoostingRegressor(n_estimators=15, random_state=0)),
    "boosting of classes": (SoftForest, GradientBoostingClassifier(n_estimators=9, learning_rate=0.01, random_state=0)),
}


def coarse(X):
    """Columns on a grid: shap keeps thresholds in single precision, which must not take rows to the other side."""
    unit = 2.0 ** np.ceil(np.log2(X.std(axis=0)))
    return np.round(X / unit * 64) / 64


@pytest.mark.parametrize("with_background", [False, True])
@pytest.mark.parametrize("name", CRISP)
def test_crisp_trees_have_the_values_of_shap(name, with_background, shap):
    is_real, is_binary = "regression" in name or name == "boosting", name == "boosting of classes"
    X, y = (load_diabetes if is_real else load_breast_cancer if is_binary else load_wine)(return_X_y=True)
    X = coarse(X)
    y = y / 1000 if is_real else y  # with a background, shap computes in single precision
    kind, model = CRISP[name]
    trees = kind.from_sklearn(model.fit(X, y))
    others = X[::7] if with_background else None
    game = "interventional" if with_background else "tree_path_dependent"
    peer = shap.TreeExplainer(model, others, feature_perturbation=game)
    expected = np.asarray(peer.shap_values(X[:50], check_additivity=False)).reshape(50, X.shape[1], -1)
    for same in (trees, softwood.soften(model, X, bandwidth=0.0)):
        found = shapley_values(same, X[:50], others)
        assert np.abs(found.values - expected).max() <= (1e-8 if with_background else 1e-12)
        assert found.base_values == pytest.approx(np.ravel(peer.expected_value), abs=1e-8)


def test_interactions_of_crisp_trees_are_those_of_shap(shap):
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    model = RandomForestClassifier(5, max_depth=6, random_state=0).fit(X, y > 140)
    found = shapley_values(SoftForest.from_sklearn(model), X[:30], interactions=True)
    peer = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    assert is_close(found.interactions, np.asarray(peer.shap_interaction_values(X[:30])), 1e-8)


def test_explanation_of_shap(shap):
    model, X = models.fitted("tree of a frame"), models.rows_for("tree of a frame", 4)
    found = shapley_values(model, X)
    told = found.to_shap()
    assert isinstance(told, shap.Explanation)
    assert np.array_equal(told.values, found.values)
    assert np.array_equal(told.base_values, np.tile(found.base_values, (4, 1)))
    assert told.feature_names == ["size", "weight", "city", "is_new"]
    assert list(told.output_names) == ["0", "1", "2"]
    assert told.data.shape == (4, 4)
    one = shapley_values(models.fitted("extra trees"), models.rows_for("extra trees", 4)).to_shap()
    assert one.values.shape == (4, models.N_COLUMNS)
    assert one.base_values.shape == (4,)


def test_missing_shap(monkeypatch):
    found = shapley_values(models.fitted("extra trees"), models.rows_for("extra trees"))
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match=r"ShapleyValues.to_shap needs shap. Install it with: pip install shap"):
        found.to_shap()


# ------------------------------------------------------------------ invariants


@given(seed=st.integers(0, 10**6), with_background=st.booleans(), widths=st.sampled_from(["any", 0.0, 1.0]))
def test_efficiency_and_columns_without_a_gate(seed, with_background, widths):
    tree = random_tree(seed, n_leaves=12, n_features=4, widths=widths)
    X = random_points(seed, 5, 4, 0.2)
    found = shapley_values(tree, X, random_points(seed + 1, 3, 4, 0.2) if with_background else None)
    assert adds_up(found, 1e-12)
    unused = np.setdiff1d(np.arange(4), tree.feature)
    assert np.all(found.values[:, unused] == 0)


@given(seed=st.integers(0, 10**6), with_background=st.booleans())
def test_columns_with_the_same_part_have_the_same_value(seed, with_background):
    """Two trees that differ in the names of two columns only, and rows in which both hold the same."""
    one = random_tree(seed, n_leaves=8, n_features=4)
    other = SoftTree(**{**vars_of(one), "feature": np.array([0, 2, 1, 3, -1], dtype=np.int32)[one.feature]})
    X, others = random_points(seed, 4, 4, 0.2), random_points(seed + 1, 3, 4, 0.2)
    X[:, 2], others[:, 2] = X[:, 1], others[:, 1]
    found = shapley_values(SoftForest.mean([one, other]), X, others if with_background else None)
    assert is_close(found.values[:, 1], found.values[:, 2], 1e-12)


@given(seed=st.integers(0, 10**6), with_background=st.booleans())
def test_values_of_a_sum_are_sums_of_values(seed, with_background):
    trees = [random_tree(seed + k, n_leaves=8, n_features=3, n_outputs=1) for k in range(3)]
    X = random_points(seed, 4, 3, 0.2)
    others = random_points(seed + 1, 3, 3, 0.2) if with_background else None
    found = shapley_values(SoftForest.sum(trees, [0, 1, 0], [0.5, -1.0]), X, others)
    singles = [shapley_values(tree, X, others).values[..., 0] for tree in trees]
    assert is_close(found.values, np.stack([singles[0] + singles[2], singles[1]], axis=-1), 1e-12)


@pytest.mark.parametrize("name", ["tree, three classes", "tree of a frame", "boosting of a frame", "soft tree"])
def test_threads_and_other_rows_change_nothing(name):
    model, X, others = models.fitted(name), models.rows_for(name, 150), models.rows_for(name, 7, seed=9)
    for background in (None, others):
        one = shapley_values(model, X, background, interactions=background is None, n_samples=4000)
        many = shapley_values(model, X, background, interactions=background is None, n_samples=4000, n_jobs=3)
        assert np.array_equal(one.values, many.values)
        assert background is not None or np.array_equal(one.interactions, many.interactions)
        part = X.iloc[70:80] if hasattr(X, "iloc") else X[70:80]
        assert np.array_equal(shapley_values(model, part, background, n_samples=4000).values, one.values[70:80])


def test_more_background_rows_than_are_taken_at_once():
    model = models.fitted("tree, three classes")
    X, others = models.rows_for("tree", 2), models.numbers(600, seed=3)
    found = shapley_values(model, X, others)
    parts = [shapley_values(model, X, others[k : k + 200]).values for k in (0, 200, 400)]
    assert is_close(found.values, np.mean(parts, axis=0), 1e-13)
    assert adds_up(found)


def test_a_deep_tree_of_many_columns():
    """Forty columns on a path: twenty points of the integral; the values of a product are known."""
    p = 40
    left = np.array([k for i in range(p) for k in (2 * i + 1, -1)] + [-1])
    inner = left >= 0
    tree = SoftTree.from_nodes(
        children_left=np.where(inner, np.arange(2 * p + 1) + 2, -1), children_right=np.where(inner, left, -1),
        feature=np.where(inner, np.arange(2 * p + 1) // 2, -1), threshold=np.where(inner, 0.0, np.nan),
        width=np.where(inner, 1.0, 0.0), missing_left=np.where(inner, 0.9, 0.5), n_features=p,
        value=np.append(np.zeros(2 * p), 1.0),
    )  # fmt: skip
    same = shapley_values(tree, np.full((1, p), -0.9))  # all factors .95 present, .9 absent
    assert same.values[0, :, 0] == pytest.approx((0.95**p - 0.9**p) / p, rel=1e-12)
    X = np.random.default_rng(0).uniform(-1, 1, (5, p))
    assert adds_up(shapley_values(tree, X), 1e-13)


def test_a_lone_root_and_a_row_that_is_missing():
    root = SoftTree.from_nodes(children_left=[-1], children_right=[-1], value=[[0.25, 0.75]], n_features=3)
    found = shapley_values(root, np.zeros((2, 3)), interactions=True)
    assert np.all(found.values == 0)
    assert np.all(found.interactions == 0)
    assert found.base_values.tolist() == [0.25, 0.75]
    tree = random_tree(0, n_features=3)
    missing = shapley_values(tree, np.full((1, 3), np.nan))
    assert np.all(missing.values == 0)


def test_shares_of_absent_values():
    tree = random_tree(0, n_leaves=6)
    assert np.array_equal(absent_shares(tree), tree.missing_left)
    inner = tree.children_left >= 0
    sides = np.where(np.arange(tree.n_nodes) % 2, 1.0, 0.0)
    one_sided = SoftTree(**{**vars_of(tree), "missing_left": sides})
    ratio = tree.mass[tree.children_left] / tree.mass
    assert absent_shares(one_sided)[inner] == pytest.approx(ratio[inner], rel=1e-12)
    unknown = SoftTree(**{**vars_of(one_sided), "mass": np.full(tree.n_nodes, np.nan)})
    assert np.array_equal(absent_shares(unknown), sides)
    empty = SoftTree(**{**vars_of(one_sided), "mass": np.zeros(tree.n_nodes)})
    assert np.array_equal(absent_shares(empty), sides)
    forest = SoftForest.mean([one_sided, tree, one_sided])
    n = tree.n_nodes
    assert np.array_equal(absent_shares(forest)[n : 2 * n], tree.missing_left)
    assert np.array_equal(absent_shares(forest)[2 * n :], absent_shares(one_sided))


# ------------------------------------------------------------------ what is explained


def test_outputs_and_quantities():
    def told(name):
        found = shapley_values(models.fitted(name), models.rows_for(name))
        return found.outputs, found.quantity

    assert told("tree, three classes") == (("ant", "bee", "cow"), "probability")
    assert told("forest") == (("ant", "bee", "cow"), "probability")
    assert told("boosting, two classes") == (("bee",), "raw score")
    assert told("boosting, three classes") == (("ant", "bee", "cow"), "raw score")
    assert told("boosting, counts") == (("prediction",), "raw score")
    assert told("tree, own kernels") == (("prediction_0", "prediction_1"), "prediction")
    assert told("soft tree") == (("ant", "bee", "cow"), "raw score")
    assert told("soft Hoeffding tree") == (("ant", "bee", "cow"), "raw score")
    assert told("Hoeffding tree, models in leaves") == (("ant", "bee", "cow"), "probability")


def test_scores_before_the_link():
    X = models.numbers(20, seed=4)
    for name in ("soft tree", "soft Hoeffding tree"):
        model = models.fitted(name)
        raw = shapley_values(model, X).prediction
        powers = np.exp(raw - raw.max(axis=1, keepdims=True))
        assert powers / powers.sum(axis=1, keepdims=True) == pytest.approx(model.predict_proba(X), abs=1e-12)
    boosting = models.fitted("boosting, two classes")
    assert shapley_values(boosting, X).prediction[:, 0] == pytest.approx(boosting.decision_function(X), abs=0.01)


def test_a_mean_of_trees_with_a_link_is_evaluated():
    trees = [SoftTree(**{**vars_of(random_tree(k, n_features=3)), "link": "softmax"}) for k in range(2)]
    forest, X = SoftForest.mean(trees), random_points(0, 3, 3, 0.0)
    found = shapley_values(forest, X)
    assert is_close(found.prediction, forest.predict(X), 1e-13)
    assert adds_up(found, 1e-12)
    single = shapley_values(trees[0], X)
    assert is_close(single.prediction, trees[0].raw(X), 1e-13)
    assert single.quantity == "raw score"


def test_a_pool_is_its_best_model():
    X = models.numbers(800)
    pool = stream.ModelPool([stream.SoftHoeffdingTreeClassifier(random_state=0)])
    pool.fit(X, models.labels(X))
    found = shapley_values(pool, X[:2])
    assert np.array_equal(found.values, shapley_values(pool.best_model_, X[:2]).values)


def test_bare_trees_of_all_gates():
    tree, X = random_tree(3, n_features=3, gates=ALL_GATES), random_points(3, 2, 3, 0.2)
    found = shapley_values(tree, X)
    for i in range(2):

        def worth(present, i=i):
            row = np.full((1, 3), np.nan)
            row[0, list(present)] = X[i, list(present)]
            return tree.raw(row)[0]

        assert is_close(found.values[i], shapley(worth, 3), 1e-12)
    assert found.names == ("x[0]", "x[1]", "x[2]")


def test_repr():
    X = load_breast_cancer(as_frame=True)
    model = softwood.KernelTreeClassifier(refine=False, trend=None, bandwidth=0.3, max_depth=3).fit(X.data, X.target)
    text = repr(shapley_values(model, X.data[:10]))
    assert text.startswith("<ShapleyValues of 10 rows, 30 columns, 2 outputs (probability); exact, absent columns are")
    assert text.endswith("... 25 more")
    assert "2 background rows" in repr(shapley_values(model, X.data[:10], X.data[:2]))


def test_the_result_cannot_be_changed():
    found = shapley_values(models.fitted("extra trees"), models.rows_for("extra trees"))
    with pytest.raises(FrozenInstanceError):
        found.values = 0
    assert len(found) == 2


# ------------------------------------------------------------------ input


def test_tables_without_rows():
    for name in ("tree, three classes", "tree of a frame", "soft tree", "Hoeffding tree"):
        X = models.rows_for(name)
        found = shapley_values(models.fitted(name), X[:0], interactions=True)
        p, q = X.shape[1], len(found.outputs)
        assert found.values.shape == (0, p, q)
        assert found.interactions.shape == (0, p, p, q)
        assert found.prediction.shape == (0, q)
        assert repr(found).startswith("<ShapleyValues of 0 rows")
    assert shapley_values(random_tree(0), np.empty((0, 3))).values.shape == (0, 3, 2)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        shapley_values(models.fitted("extra trees"), [])


def test_lists_and_polars_frames():
    import polars

    model, table = models.fitted("tree of a frame"), models.rows_for("tree of a frame", 5)
    expected = shapley_values(model, table).values
    frame = polars.from_pandas(table)
    assert np.array_equal(shapley_values(model, frame, interactions=True).values, expected)
    plain, X = models.fitted("extra trees"), models.rows_for("extra trees")
    assert np.array_equal(shapley_values(plain, X.tolist()).values, shapley_values(plain, X).values)


@pytest.mark.parametrize("name", ["tree, three classes", "soft tree", "Hoeffding tree"])
def test_a_wrong_number_of_columns(name):
    model = models.fitted(name)
    for X in (np.zeros((2, 3)), np.zeros((0, 3))):
        with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 5"):
            shapley_values(model, X)
    with pytest.raises(ValueError, match="'background' parameter of shapley_values must be a table like X: X has 3"):
        shapley_values(model, np.zeros((2, 5)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"X has 4 features, but SoftTree is expecting 3"):
        shapley_values(random_tree(0), np.zeros((2, 4)))


def test_wrong_columns_of_frames():
    model, table = models.fitted("tree of a frame"), models.rows_for("tree of a frame")
    with pytest.raises(ValueError, match="height"):
        shapley_values(model, table.rename(columns={"size": "height"}))
    with pytest.raises(ValueError, match=r"'background' parameter .*\n(.*\n)*.*height"):
        shapley_values(model, table, table.rename(columns={"size": "height"}))
    with pytest.raises(ValueError, match="'weight'"):
        shapley_values(model, table.assign(weight=["x", "y"]))


def test_wrong_parameters():
    model, X = models.fitted("extra trees"), models.rows_for("extra trees")
    with pytest.raises(ValueError, match="'background' parameter of shapley_values must be a table with at least one"):
        shapley_values(model, X, X[:0])
    with pytest.raises(ValueError, match="'interactions' parameter of shapley_values must be a bool"):
        shapley_values(model, X, interactions=1)
    with pytest.raises(ValueError, match="'n_samples' parameter of shapley_values must be an int in the range"):
        shapley_values(model, X, n_samples=2)
    with pytest.raises(ValueError, match="'n_jobs' parameter of shapley_values must be an int other than 0"):
        shapley_values(model, X, n_jobs=0)


@pytest.mark.parametrize("other", [None, "tree", pd.DataFrame(), DecisionTreeClassifier().fit([[0], [1]], [0, 1])])
def test_what_is_no_model_of_softwood(other):
    with pytest.raises(TypeError, match="shapley_values takes a fitted estimator of softwood, a SoftTree or a"):
        shapley_values(other, [[0.0]])


def test_a_model_that_is_not_fitted():
    for model in (softwood.KernelTreeClassifier(), stream.HoeffdingTreeClassifier()):
        with pytest.raises(NotFittedError):
            shapley_values(model, [[0.0]])


def test_all_kernels_of_the_reference_are_exact():
    for seed in range(5):
        tree = random_tree(seed, n_leaves=14, n_features=4, shapes=SHAPES)
        X = random_points(seed, 2, 4, 0.2)
        found = shapley_values(tree, X, interactions=True)
        for i in range(2):

            def worth(present, tree=tree, x=X[i]):
                row = np.full((1, 4), np.nan)
                row[0, list(present)] = x[list(present)]
                return tree.predict(row)[0]

            assert is_close(found.values[i], shapley(worth, 4), 1e-12)
            assert is_close(found.interactions[i], interactions(worth, 4), 1e-12)


def test_arrays_that_cannot_be_written(tmp_path):
    table, others = models.rows_for("tree of a frame", 4), models.rows_for("tree of a frame", 3)
    X = models.rows_for("forest", 4)
    named, plain = models.fitted("forest of a frame"), models.fitted("forest")
    softwood.save(plain, tmp_path / "forest.softwood")
    expected = [shapley_values(named, table, others).values, shapley_values(plain, X).values]
    against_itself = shapley_values(plain, X, X).values
    locked = X.copy()
    locked.flags.writeable = False
    assert np.array_equal(shapley_values(named, table.copy(), others.copy()).values, expected[0])
    for model in (plain, softwood.load(tmp_path / "forest.softwood"), locked_copy(plain)):
        assert np.array_equal(shapley_values(model, locked).values, expected[1])
        assert np.array_equal(shapley_values(model, np.asfortranarray(X)).values, expected[1])
        assert np.array_equal(shapley_values(model, locked, locked).values, against_itself)


def locked_copy(model):
    """The forest of a model with arrays that cannot be written, as joblib gives them to other processes."""
    forest = pickle.loads(pickle.dumps(model.forest_))
    for array in vars_of(forest).values():
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return forest
