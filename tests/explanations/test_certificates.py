from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError

from softwood import (
    Kernel,
    KernelBoostingRegressor,
    KernelForestClassifier,
    KernelTreeClassifier,
    KernelTreeRegressor,
    SoftForest,
    SoftTree,
    SoftTreeClassifier,
    soften,
    stream,
)
from softwood.explanations import certified_radius, certify
from softwood.stream import river
from softwood.trees.gates import Gate
from tests.explanations import attack
from tests.reference.kernels import BOX
from tests.reference.trees import ALL_GATES, random_points, random_tree


def stump(width, threshold=1.5, **given):
    return SoftTree.from_nodes(
        children_left=[1, -1, -1], children_right=[2, -1, -1], feature=[0, -1, -1],
        threshold=[threshold, np.nan, np.nan], width=[width, 0, 0], value=[[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]],
        n_features=2, **given,
    )  # fmt: skip


# What is certain


@pytest.mark.parametrize("width", [0.0, 0.4, 3.0])
@pytest.mark.parametrize("x", [1.2, 1.9, -7.0])
def test_a_stump_is_certified_up_to_its_threshold(width, x):
    tree = stump(width)
    row = np.array([[x, 5.0]])
    certificates = certified_radius(tree, row)
    border = abs(x - 1.5)
    assert certificates.reach[0] == pytest.approx([border, np.inf], rel=2e-6)
    towards = np.sign(1.5 - x)
    own = tree.predict(row).argmax()
    for part, stays in ((0.99999, True), (1.00001, False)):
        moved = row + np.array([[part * certificates.reach[0, 0] * towards, -100.0]])
        assert (tree.predict(moved).argmax() == own) == stays
        assert certify(tree, row, [part * border, 100.0])[0] == stays
    if width == 0.0:
        assert np.isnan(certificates.radius[0])
        assert "bandwidth 0" in certificates.reason
    else:
        assert certificates.radius[0] == pytest.approx(border / width, rel=2e-6)
        assert certificates.bandwidths.tolist() == [width, np.inf]


def test_a_tie_is_not_certain():
    tree = stump(1.0)
    row = np.array([[1.5, 0.0]])
    assert not certify(tree, row, 0.0)[0]
    assert certified_radius(tree, row).reach[0, 0] == 0.0
    assert certified_radius(tree, row).radius[0] == 0.0


def test_the_radius_is_at_least_the_lead():
    X, y = load_wine(return_X_y=True)
    for model in (
        KernelTreeClassifier(refine=False, trend=None, bandwidth=0.5).fit(X, y),
        KernelForestClassifier(5, bandwidth=0.5, random_state=0).fit(X, y),
    ):
        found = certified_radius(model, X)
        ordered = np.sort(model.predict_proba(X), axis=1)
        assert np.all(found.radius >= (ordered[:, -1] - ordered[:, -2]) * (1 - 1e-5) - 1e-9)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    gates=st.sampled_from([(Gate.KERNEL,), (Gate.SIGMOID,), ALL_GATES]),
    widths=st.sampled_from(["any", 0.0, 0.8]),
    link=st.sampled_from(["identity", "softmax"]),
    n_trees=st.sampled_from([1, 3]),
)
def test_no_row_breaks_its_certificate(seed, gates, widths, link, n_trees):
    given_shapes = {} if widths == "any" else {"shapes": (BOX,)}
    trees = [
        replace(random_tree(seed + k, gates=gates, widths=widths, n_outputs=3, **given_shapes), link=link)
        for k in range(n_trees)
    ]
    model = trees[0] if n_trees == 1 else SoftForest.mean(trees)
    rng = np.random.default_rng(seed)
    X = random_points(seed, 8, 3, missing=0.1)
    errors = rng.random(3) * rng.choice([0.02, 0.3], size=3)
    found = certified_radius(model, X)
    low, high = found.bounds(errors)
    own = model.predict(X).argmax(axis=1)
    certain = certify(model, X, errors)
    assert np.array_equal(np.isnan(found.reach), np.isnan(X))
    for _ in range(15):
        signs = rng.choice([-1.0, 1.0], size=X.shape)
        moved = model.predict(X + errors * signs * np.where(rng.random(X.shape) < 0.5, 1.0, rng.random(X.shape)))
        assert np.all((moved >= low) & (moved <= high))
        assert np.all(moved.argmax(axis=1)[certain] == own[certain])
        alone = attack.alone(rng, X, found.reach, np.ones(3))
        assert np.all(model.predict(alone).argmax(axis=1) == own)
        if not np.isnan(found.radius).any():
            radius = np.minimum(found.radius, 1e3)
            ball = attack.in_ball(rng, X, radius, found.bandwidths, np.zeros(X.shape))
            assert np.all(model.predict(ball).argmax(axis=1) == own)


WINE = load_wine(return_X_y=True)


@pytest.mark.parametrize("kind", attack.models(WINE[1]))
def test_attacks_on_all_families(kind):
    X, y = WINE
    model = attack.models(y)[kind].fit(X, y)
    done, broken = attack.attack(model, X[::4], 1500)
    assert done >= 1500
    assert broken == 0


def test_attacks_find_certificates_that_are_too_large(monkeypatch):
    X, y = WINE
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.5, max_leaf_nodes=8).fit(X, y)
    for name, factor in (("radius", 2.5), ("reach", 1.01)):

        def too_large(model, X, name=name, factor=factor):
            found = certified_radius(model, X)
            return replace(found, **{name: factor * getattr(found, name)})

        monkeypatch.setattr(attack, "certified_radius", too_large)
        assert attack.attack(model, X, 20_000)[1] > 0


# Tables


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=300), "city": rng.choice(["Rome", "Oslo", "Bonn"], 300), "age": 50.0})
    X["age"] += 20 * rng.normal(size=300)
    X.loc[::7, "age"] = np.nan
    y = np.where((X["city"] == "Rome") ^ (X["size"] > 0.3) ^ (X["age"] > 60), "yes", "no")
    return X, y


def test_categories_and_missing_values_stay(table):
    X, y = table
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, max_depth=5).fit(X, y)
    found = certified_radius(model, X)
    assert found.columns == ("size", "city", "age")
    assert np.isnan(found.reach[:, 1]).all()
    assert found.column_reasons == {"city": "a category must not change"}
    assert np.array_equal(np.isnan(found.reach[:, 2]), X["age"].isna())
    assert np.isnan(found.bandwidths[1])
    rng = np.random.default_rng(0)
    for column, j in (("size", 0), ("age", 2)):
        for part in (0.999, 0.5):
            moved = X.copy()
            moved[column] += part * np.minimum(found.reach[:, j], 1e3) * rng.choice([-1, 1], len(X))
            assert np.array_equal(model.predict(moved), model.predict(X))
    frame = found.to_frame()
    assert list(frame.columns) == ["radius", "size", "city", "age"]
    assert "300 rows and 3 columns, median radius" in repr(found)


def test_ways_to_give_errors(table):
    X, y = table
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, max_depth=5).fit(X, y)
    expected = certify(model, X, {"size": 0.1, "age": 0.1})
    assert 0 < expected.sum() < len(X)
    per_row = np.tile([0.1, 0.0, 0.1], (len(X), 1))
    for errors in (0.1, [0.1, 0.0, 0.1], per_row, pd.Series({"size": 0.1, "age": 0.1}), {0: 0.1, 2: 0.1}):
        assert np.array_equal(certify(model, X, errors), expected)
    assert np.array_equal(certify(model, X, {"size": np.full(len(X), 0.1), "age": 0.1}), expected)
    assert certify(model, X, {}).all()
    # A reading that may have any value is certain only if it can reach everything.
    unknown = certify(model, X, {"size": np.inf})
    assert np.array_equal(unknown, certified_radius(model, X).reach[:, 0] == np.inf)


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        (-1.0, r"'errors' parameter of certify must be at least 0 for column 'size'. Got -1.0"),
        ({"age": np.nan}, "at least 0 for column 'age'. Got nan"),
        ({"city": 0.1}, "given for columns of numbers. Got 'city'"),
        ([0.1, 0.1, 0.1], "given for columns of numbers. Got 'city'"),
        ({"height": 0.1}, r"by name or number \(3: 'size', 'city', 'age'\). Got 'height'"),
        ([0.1, 0.1], r"an array of shape \(3,\) or \(300, 3\), or a dict of these by column. Got .* shape \(2,\)"),
        ("much", "must be numbers"),
        ({"age": "much"}, "must be numbers"),
    ],
)
def test_errors_that_are_refused(table, errors, message):
    X, y = table
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, max_depth=3).fit(X, y)
    with pytest.raises(ValueError, match=message):
        certify(model, X, errors)


def test_models_that_are_refused():
    with pytest.raises(NotFittedError):
        certified_radius(KernelTreeClassifier(), [[0.0]])
    with pytest.raises(TypeError, match="certify takes a fitted estimator of softwood, a SoftTree or a SoftForest"):
        certify("model", [[0.0]], 1.0)


# What has no certificate, and why


def test_oblique_gates_have_no_bandwidth_but_a_reach():
    X, y = load_iris(return_X_y=True)
    model = SoftTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    found = certified_radius(model, X)
    assert np.isnan(found.radius).all()
    assert found.reason == "gates that weigh several columns have no bandwidth"
    assert np.all(found.reach > 0)
    assert np.isfinite(found.reach).any()
    assert "no radius: gates that weigh" in repr(found)


@pytest.mark.parametrize(
    "model", [KernelTreeRegressor(refine=False, trend=None, bandwidth=0.2), KernelBoostingRegressor(max_iter=10)]
)
def test_regressors_have_bounds(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model.fit(X, X[:, 0] ** 2 + X[:, 1])
    found = certified_radius(model, X)
    assert np.isnan(found.radius).all()
    assert np.isnan(found.reach).all()
    assert "largest_change" in found.reason
    with pytest.raises(TypeError, match="certify takes a classifier"):
        certify(model, X, 0.1)
    change = found.largest_change({"x[0]": 0.05})[:, 0]
    for _ in range(20):
        moved = X + [[1.0, 0.0, 0.0]] * rng.uniform(-0.05, 0.05, size=(200, 1))
        assert np.all(np.abs(model.predict(moved) - model.predict(X)) <= change)
    assert np.all(change < np.ptp(model.predict(X)))
    assert found.largest_change(0.0).max() < 1e-8


def test_kernels_that_depend_on_the_reading_have_none():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 5, size=(100, 2))
    kernel = Kernel([-1.0, 1.0], [0.5], scale=np.abs)
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, kernel=kernel).fit(X, X[:, 0] > 3)
    found = certified_radius(model, X)
    assert np.isnan(found.reach).all()
    assert "depend on the row" in found.reason
    assert set(found.column_reasons) == {"x[0]", "x[1]"}
    assert found.predictions == pytest.approx(model.predict_proba(X))
    with pytest.raises(ValueError, match="depend on the row"):
        found.bounds(0.1)
    with pytest.raises(ValueError, match="depend on the row"):
        certify(model, X, 0.1)


def test_leaves_with_models_of_their_own_have_none():
    X, y = load_iris(return_X_y=True)
    model = stream.HoeffdingTreeClassifier(leaf_prediction="nb").fit(X, y)
    assert "models of their own" in certified_radius(model, X).reason
    pool = stream.ModelPool([stream.HoeffdingTreeClassifier(leaf_prediction="nb")]).fit(X, y)
    assert "models of their own" in certified_radius(pool, X).reason
    other = river.HoeffdingTreeClassifier(leaf_prediction="nb")
    other.learn_one({"a": 1.0}, 0)
    assert "models of their own" in certified_radius(other, pd.DataFrame({"a": [1.0]})).reason
    with pytest.raises(ValueError, match="models of their own"):
        certify(other, pd.DataFrame({"a": [1.0]}), 0.1)


def test_crisp_models_of_other_packages():
    from sklearn.ensemble import RandomForestClassifier

    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    bare = SoftForest.from_sklearn(forest)
    found = certified_radius(bare, X)
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = attack.alone(rng, X, found.reach, X.std(axis=0))
        assert np.array_equal(bare.predict(moved).argmax(axis=1), bare.predict(X).argmax(axis=1))
    soft = soften(forest, bandwidth=0.2, X=X)
    assert np.nanmedian(certified_radius(soft, X).radius) > 0
