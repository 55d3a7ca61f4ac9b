"""Columns of categories in kernel trees, forests and boosting: splits by sets of categories."""

from itertools import combinations

import lightgbm
import numpy as np
import pandas as pd
import pytest

from softwood import (
    Gate,
    KernelBoostingClassifier,
    KernelBoostingRegressor,
    KernelExtraTreesClassifier,
    KernelForestClassifier,
    KernelForestRegressor,
    KernelTreeClassifier,
    KernelTreeRegressor,
)
from softwood.kernel.rounds.newton import NewtonLimits


def table(seed, n=240, n_categories=7, missing=0.0):
    """Categories whose means differ, and a column of numbers."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(np.arange(n) % n_categories)
    effect = rng.normal(size=n_categories)
    X = pd.DataFrame({"x": rng.normal(size=n), "city": [f"c{k:03d}" for k in number]})
    z = effect[number] + 0.3 * X["x"].to_numpy() + 0.5 * rng.normal(size=n)
    X.loc[rng.random(n) < missing, "city"] = None
    return X, z


def loss_after(labels, y, left, criterion):
    """Mean impurity of both sides, of targets or 0 and 1."""
    loss = 0.0
    for side in (np.isin(labels, left), ~np.isin(labels, left)):
        p = y[side].mean()
        if criterion == "entropy":
            own = -sum(q * np.log2(q) for q in (p, 1 - p) if q > 0)
        else:
            own = np.var(y[side])
        loss += side.mean() * own
    return loss


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_the_first_split_is_the_best_of_all_sets(seed, criterion):
    """By enumeration; every category has more rows than the rare ones that stay together."""
    X, z = table(seed)
    labels = X["city"].to_numpy()
    if criterion == "squared_error":
        model, y = KernelTreeRegressor(refine=False, trend=None, max_depth=1, bandwidth=0), z
    else:
        model, y = (
            KernelTreeClassifier(refine=False, trend=None, max_depth=1, bandwidth=0, criterion=criterion),
            (z > 0).astype(float),
        )
    tree = model.fit(X[["city"]], y).tree_
    assert tree.gate.tolist() == [Gate.SUBSET, Gate.LEAF, Gate.LEAF]
    names = np.array(model.columns_.categories[0])
    best = min(loss_after(labels, y, s, criterion) for k in range(1, 7) for s in combinations(names, k))
    assert loss_after(labels, y, names[tree.members(0)], criterion) == pytest.approx(best, rel=1e-9)
    assert tree.mass[1] / tree.mass[0] == pytest.approx(np.isin(labels, names[tree.members(0)]).mean())


MODELS = [
    KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, max_leaf_nodes=6),
    KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, max_leaf_nodes=None, max_depth=4),
    KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, max_leaf_nodes=None, kernel="triangle", max_depth=4),
    KernelTreeClassifier(
        refine=False, trend=None, bandwidth=0.2, max_leaf_nodes=None, bandwidth_per_node=True, max_depth=3
    ),
    KernelForestClassifier(n_estimators=3, bandwidth=0.2, bootstrap=False, random_state=0),
    KernelExtraTreesClassifier(n_estimators=3, bandwidth=0.2, random_state=0),
    KernelBoostingClassifier(max_iter=4, bandwidth=0.2, min_mass=5.0, early_stopping=False),
]
IDS = ["best first", "depth first", "triangle", "per node", "forest", "extra trees", "boosting"]


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_weights_are_repetitions(model):
    X, z = table(0, missing=0.1)
    y = np.digitize(z, [-0.5, 0.5]) if "boosting" not in type(model).__name__.lower() else (z > 0).astype(int)
    weights = np.random.default_rng(1).integers(1, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    weighted = model.fit(X, y, sample_weight=weights).predict_proba(X)
    repeated = model.fit(X.iloc[rows].reset_index(drop=True), y[rows]).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-8)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_names_and_order_of_categories_do_not_matter(model):
    X, z = table(2)
    y = (z > 0).astype(int)
    before = model.fit(X, y).predict_proba(X)
    renamed = X.assign(city=X["city"].map({name: f"{(3 * k) % 7}" for k, name in enumerate(sorted(set(X["city"])))}))
    if isinstance(model, KernelExtraTreesClassifier):
        return  # draws go by the numbers of categories
    np.testing.assert_allclose(model.fit(renamed, y).predict_proba(renamed), before, atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_missing_and_unknown_categories(model):
    """Both are divided alike; a row of the fit without a category reaches both sides."""
    X, z = table(1, missing=0.15)
    model.fit(X, (z > 0).astype(int))
    some = pd.DataFrame({"x": [0.0, 0.0], "city": [None, "nowhere"]})
    found = model.predict_proba(some)
    np.testing.assert_array_equal(found[0], found[1])
    assert np.all((found > 0) & (found < 1))
    strict = type(model)(**(model.get_params() | {"handle_unknown": "error"})).fit(X, (z > 0).astype(int))
    with pytest.raises(ValueError, match="Column 'city' holds categories that were not seen in fit"):
        strict.predict(some)


def test_a_missing_category_is_divided_by_mass():
    X, z = table(3)
    y = (z > 0).astype(int)
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0, max_depth=1).fit(X[["city"]], y)
    assert model.predict_proba(pd.DataFrame({"city": [None]}))[0, 1] == pytest.approx(y.mean())


@pytest.mark.parametrize(
    "model",
    [
        KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1, random_state=0),
        KernelForestClassifier(n_estimators=4, bandwidth=0.1, random_state=0),
        KernelExtraTreesClassifier(n_estimators=4, bandwidth=0.1, random_state=0),
        KernelBoostingClassifier(max_iter=4, bandwidth=0.1),
    ],
    ids=["tree", "forest", "extra trees", "boosting"],
)
def test_hundreds_of_categories_and_any_number_of_jobs(model):
    X, z = table(4, n=2500, n_categories=250, missing=0.05)
    y = np.digitize(z, [-0.5, 0.5])
    one = model.set_params(n_jobs=1).fit(X, y).predict_proba(X)
    assert one.shape == (2500, 3)
    np.testing.assert_array_equal(model.set_params(n_jobs=2).fit(X, y).predict_proba(X), one)
    assert len(model.feature_importances_) == 2
    assert model.columns_.names == ("x", "city")
    for array in (X["x"].to_numpy(), y):
        array.setflags(write=False)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), one)


def test_categories_that_a_node_has_no_rows_of():
    """In a node below the set they go to the side of the rare ones, or to the heavier one."""
    rng = np.random.default_rng(0)
    city = np.repeat(["a", "b", "c", "d"], 100)
    x = np.where(city == "d", 1.0, 0.0) + 0.01 * rng.normal(size=400)
    y = np.select([city == "a", city == "b", city == "c"], [0.0, 0.0, 5.0], 50.0)
    X = pd.DataFrame({"city": city, "x": x})
    model = KernelTreeRegressor(refine=False, trend=None, bandwidth=0, max_features=None).fit(X, y)
    found = model.predict(pd.DataFrame({"city": ["d"], "x": [0.0]}))[0]
    assert min(abs(found - value) for value in (0.0, 5.0, 50.0)) < 1e-9
    assert model.score(X, y) == 1.0


def test_rows_of_weight_zero_name_no_categories():
    """A category that has no weight in fit is unknown: a missing value."""
    X, z = table(5)
    weights = np.where(X["city"] == "c003", 0.0, 1.0)
    for model in (
        KernelTreeRegressor(refine=False, trend=None, bandwidth=0),
        KernelBoostingRegressor(max_iter=3, bandwidth=0),
    ):
        model.fit(X, z, sample_weight=weights)
        assert "c003" not in model.columns_.categories[1]
        assert np.array_equal(model.predict(X.assign(city="c003")), model.predict(X.assign(city=None)))


def test_two_categories_are_as_good_as_a_number():
    """A tree of zeros and ones and a tree of two categories predict the same."""
    rng = np.random.default_rng(3)
    flag, x = rng.integers(0, 2, 300), rng.normal(size=300)
    y = flag * x + rng.normal(size=300) * 0.1
    named = pd.DataFrame({"flag": np.where(flag == 1, "yes", "no"), "x": x})
    given = {"max_depth": 5, "max_leaf_nodes": None, "bandwidth": {"x": 0.3}}
    by_set = KernelTreeRegressor(refine=False, trend=None, **given).fit(named, y).predict(named)
    by_number = KernelTreeRegressor(refine=False, trend=None, **given).fit(named.assign(flag=flag.astype(float)), y)
    np.testing.assert_allclose(by_set, by_number.predict(named.assign(flag=flag.astype(float))), atol=1e-9)


def test_noise_of_many_categories_is_not_learned():
    """A column of 60 categories without any meaning costs little, in a forest and in boosting."""
    rng = np.random.default_rng(0)
    n = 1200
    X = pd.DataFrame({"x": rng.normal(size=n), "noise": [f"k{k}" for k in rng.integers(0, 60, n)]})
    y = X["x"].to_numpy() + rng.normal(size=n)
    for model in (KernelBoostingRegressor(max_iter=30, bandwidth=0.2), KernelForestRegressor(bandwidth=0.5)):
        scores = [model.fit(T[:600], y[:600]).score(T[600:], y[600:]) for T in (X[["x"]], X)]
        assert scores[1] > scores[0] - 0.12


@pytest.mark.parametrize("seed", range(3))
def test_the_first_set_of_boosting_is_that_of_lightgbm(seed):
    """With its rules: order by gradient over smoothed hessian, regularised gain, no rare categories."""
    X, z = table(seed, n=600, n_categories=12)
    limits = NewtonLimits()
    settings = {
        "cat_smooth": limits.category_smooth, "cat_l2": limits.category_l2, "min_data_per_group": 1,
        "max_cat_threshold": 100, "max_cat_to_onehot": 4, "num_leaves": 2, "n_estimators": 1, "min_data_in_bin": 1,
    }  # fmt: skip
    theirs = lightgbm.LGBMRegressor(**settings, verbose=-1, n_jobs=1)
    theirs.fit(X[["city"]].astype("category"), z)
    root = theirs.booster_.dump_model()["tree_info"][0]["tree_structure"]
    expected = {int(number) for number in root["threshold"].split("||")}
    ours = KernelBoostingRegressor(max_iter=1, max_leaf_nodes=2, bandwidth=0, early_stopping=False).fit(X[["city"]], z)
    found = set(ours.forest_[0].members(0).tolist())
    assert expected in (found, set(range(12)) - found)
