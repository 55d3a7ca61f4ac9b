"""Forests and extra trees as a user meets them: scikit-learn's contract, all parameters, the finished forest."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from softwood import KernelExtraTreesClassifier, KernelForestClassifier, KernelTreeClassifier, KernelTreeRegressor
from softwood.density.choosing_forest import AUTO_GRID
from tests.density.forests import ALL, BAGGED, CLASSIFIERS, REGRESSORS, answer, assert_same_forest, differs, problem


# Without a bag, choosing a bandwidth takes longer; that of forests with a bag is chosen here, too.
@parametrize_with_checks([m(5) for m in BAGGED] + [m(5, bandwidth=0.3) for m in ALL if m not in BAGGED])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# ------------------------------------------------------------------ every parameter

WRONG = {
    "n_estimators": [0, -1, 2.0, None, True],
    "bandwidth": [-1.0, np.nan, "wide", None, [0.1], {"x": 0.1}],
    "kernel": ["square", None, {0: "square"}],
    "prediction_kernel": ["square", 3],
    "prediction_bandwidth": [-1.0, "wide", None, [0.1]],
    "bandwidth_unit": ["cm", None],
    "measurement_error": [0.5, {"x": 1.0}, [-1.0, 0.0]],
    "criterion": ["log_loss", None],
    "splitter": ["best", None],
    "max_bins": [1, 256, None],
    "max_depth": [0, 2.0, True],
    "min_mass": [0.0, -1.0, None],
    "min_gain": [-1e-9, None],
    "max_leaf_nodes": [1, 2.5],
    "max_features": [0, 0.0, 1.5, "all", True],
    "bootstrap": [1, "yes", None],
    "max_samples": [0, 5, 0.0, 1.5, "all", True, False, np.nan],
    "oob_score": [1, "yes", None],
    "ccp_alpha": [-0.1, None],
    "cutoff": [-1e-9, 0.2],
    "categorical_features": ["all", [5], ["x"]],
    "handle_unknown": ["ignore", None, True],
    "cv": [1, 0],
    "warm_start": [1, None],
    "verbose": [-1, 0.5],
}


@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_wrong_values_are_told_by_name(model_class, name, value):
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    model = model_class(**{"n_estimators": 2, "bandwidth": 0.1, "bootstrap": True, name: value})
    with pytest.raises(ValueError, match=f"'{name}' parameter of {model_class.__name__} must be .* Got .* instead"):
        model.fit(X, y)


@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize("value", ["wide", None, -1.0])
def test_all_rules_for_the_bandwidth_are_told(model_class, value):
    with pytest.raises(ValueError, match=r"'auto', 'oob', 'cv', 'silverman'(,| or) 'loo'. Got"):
        model_class(2, bandwidth=value).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("model_class", CLASSIFIERS)
@pytest.mark.parametrize("value", ["equal", 3])
def test_wrong_class_weights_are_told_by_name(model_class, value):
    with pytest.raises(
        ValueError, match=f"'class_weight' parameter of {model_class.__name__} must be a dict, 'balanced'"
    ):
        model_class(2, bandwidth=0, class_weight=value).fit([[0.0], [1.0]], [0, 1])


def test_every_parameter_is_looked_at():
    others = {"n_jobs", "random_state", "class_weight"}  # checked elsewhere, or by scikit-learn and joblib
    for model_class in ALL:
        assert set(model_class().get_params()) - others == set(WRONG)


@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize(
    ("name", "value"), [("oob_score", True), ("oob_score", accuracy_score), ("max_samples", 3), ("max_samples", 0.5)]
)
def test_what_needs_a_bootstrap(model_class, name, value):
    X, y = problem(model_class)
    model = model_class(2, bandwidth=0, bootstrap=False, **{name: value})
    with pytest.raises(ValueError, match=f"'{name}' parameter of .* must be .* with bootstrap=False. Got"):
        model.fit(X, y)


EFFECTS = {
    "n_estimators": 3,
    "bandwidth": 0.1,
    "kernel": "triangle",
    "prediction_kernel": None,
    "prediction_bandwidth": 0.05,
    "bandwidth_unit": "absolute",
    "measurement_error": {0: 0.5},
    "splitter": "hist",  # with few bins, below
    "max_depth": 2,
    "min_mass": 6.0,
    "min_gain": 0.02,
    "max_leaf_nodes": 5,
    "max_features": 1,
    "max_samples": 0.3,
    "ccp_alpha": 0.02,
    "cutoff": 0.1,
    "categorical_features": [3],
    "random_state": 1,
}


@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize("name", EFFECTS)
def test_every_parameter_has_an_effect(model_class, name):
    X, y = problem(model_class)
    X[:, 3] = np.round(X[:, 3])
    parameters = {
        "n_estimators": 4, "bandwidth": 0.4, "max_bins": 5, "bootstrap": True, "max_features": 2, "random_state": 0,
    }  # fmt: skip
    before = model_class(**parameters).fit(X, y)
    after = model_class(**parameters | {name: EFFECTS[name]}).fit(X, y)
    assert np.abs(answer(before, X) - answer(after, X)).max() > 1e-3


@pytest.mark.parametrize("model_class", ALL)
def test_the_other_parameters_have_an_effect(model_class):
    X, y = problem(model_class)
    model = model_class(4, bandwidth=0.4, random_state=0, splitter="hist")
    expected = clone(model).fit(X, y)
    flipped = clone(model).set_params(bootstrap=not model.bootstrap).fit(X, y)
    assert differs(flipped.forest_, expected.forest_)
    assert differs(clone(model).set_params(max_bins=5).fit(X, y).forest_, expected.forest_)
    if model_class in CLASSIFIERS:
        assert differs(clone(model).set_params(criterion="entropy").fit(X, y).forest_, expected.forest_)
    tried = [model_class(4, bandwidth="cv", cv=cv, random_state=0).fit(X, y).bandwidth_ for cv in range(2, 9)]
    assert len(set(tried)) > 1
    # these must not change the trees
    for name, value in (("n_jobs", 2), ("verbose", 0), ("warm_start", True), ("cv", 3)):
        assert_same_forest(clone(model).set_params(**{name: value}).fit(X, y).forest_, expected.forest_)


def test_limits_hold():
    X, y = problem(KernelForestClassifier, n=150)
    for model_class in CLASSIFIERS:
        parameters = {"n_estimators": 4, "bandwidth": 0.2, "random_state": 0}
        for tree in model_class(max_depth=3, **parameters).fit(X, y).forest_:
            assert tree.max_depth == 3
        for tree in model_class(max_leaf_nodes=7, **parameters).fit(X, y).forest_:
            assert tree.n_leaves == 7
        for tree in model_class(min_mass=9.5, **parameters).fit(X, y).forest_:
            assert tree.mass.min() >= 9.5 * (1 - 1e-6)
        model = model_class(max_depth=3, **parameters).fit(X, y)
        assert model.get_depth() == 3
        assert model.get_n_leaves() == sum(tree.n_leaves for tree in model.forest_)


def test_fit_changes_no_parameter():
    for model_class in ALL:
        X, y = problem(model_class, n=20)
        model = model_class(2, bandwidth={0: 0.3}, kernel={0: "triangle"}, measurement_error=[0.1, 0, 0, 0])
        before = pickle.dumps(model.get_params())
        model.fit(X, y)
        assert pickle.dumps(model.get_params()) == before


# ------------------------------------------------------------------ the finished forest


@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize("parameters", [{"bandwidth": 0.3}, {"bandwidth": 0}, {"bandwidth": 0.3, "kernel": "gaussian"}])
def test_the_trees_are_estimators_whose_mean_is_the_forest(model_class, parameters):
    X, y = problem(model_class)
    model = model_class(5, random_state=0, **parameters).fit(X, y)
    trees = model.estimators_
    assert len(trees) == len(model) == 5
    X[::9, 1] = np.nan
    np.testing.assert_allclose(answer(model, X), np.mean([answer(t, X) for t in trees], axis=0), rtol=0, atol=1e-12)
    gradients = [tree.input_gradient(X) for tree in trees]
    np.testing.assert_allclose(model.input_gradient(X), np.mean(gradients, axis=0), rtol=0, atol=1e-9)
    for tree in trees:
        assert isinstance(tree, KernelTreeClassifier if is_classifier(model) else KernelTreeRegressor)
        assert tree.n_features_in_ == 4
        assert tree.score(X, y) > 0.1
        assert tree.get_depth() <= model.get_depth()
    if is_classifier(model):
        np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("model_class", ALL)
def test_paths_and_leaves_have_the_shapes_of_scikit_learn(model_class):
    X, y = problem(model_class)
    peer = (RandomForestClassifier if model_class in CLASSIFIERS else RandomForestRegressor)(5, random_state=0).fit(
        X, y
    )
    model = model_class(5, bandwidth=0, random_state=0).fit(X, y)
    path, pointer = model.decision_path(X)
    peer_path, peer_pointer = peer.decision_path(X)
    assert pointer.shape == peer_pointer.shape == (6,)
    assert path.shape == (80, pointer[-1])
    assert peer_path.shape == (80, peer_pointer[-1])
    leaves = model.apply(X)
    assert leaves.shape == peer.apply(X).shape == (80, 5)
    assert leaves.dtype.kind == peer.apply(X).dtype.kind == "i"
    for number, tree in enumerate(model.estimators_):
        np.testing.assert_array_equal(leaves[:, number], tree.apply(X))
        own = path[:, pointer[number] : pointer[number + 1]]
        np.testing.assert_array_equal(own.toarray(), tree.decision_path(X).toarray())
        assert np.all(own.toarray()[np.arange(80), leaves[:, number]] == 1)
    soft = model.set_params(bandwidth=0.3).fit(X, y)
    leaf = soft.forest_.children_left < 0
    np.testing.assert_allclose(soft.memberships(X)[:, leaf].sum(axis=1), 5.0)


@pytest.mark.parametrize("model_class", ALL)
def test_importances(model_class):
    X, y = problem(model_class, n=200)
    model = model_class(10, bandwidth=0.2, random_state=0).fit(X, y)
    found = model.feature_importances_
    assert found.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found, np.mean([tree.feature_importances_ for tree in model.estimators_], axis=0))
    assert found.argmax() == 0
    assert found.argmin() == 3
    constant = model_class(2, bandwidth=0.2).fit(X, np.zeros(200, dtype=int))
    assert constant.feature_importances_.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("model_class", ALL)
def test_prediction_kernels(model_class):
    X, y = problem(model_class)
    model = model_class(3, bandwidth=0.3, random_state=0)
    same, crisp, other = (
        clone(model).set_params(**parameters).fit(X, y)
        for parameters in (
            {},
            {"prediction_kernel": None},
            {"prediction_kernel": "gaussian", "prediction_bandwidth": 1},
        )
    )
    np.testing.assert_array_equal(same.forest_.threshold, crisp.forest_.threshold)
    assert_same_forest(crisp.forest_, same.forest_.crisp())
    np.testing.assert_array_equal(same.forest_.threshold, other.forest_.threshold)
    inner = other.forest_.feature >= 0
    np.testing.assert_allclose(other.forest_.width[inner], X.std(axis=0)[other.forest_.feature[inner]])


# ------------------------------------------------------------------ in company


def test_in_pipelines_searches_and_files():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), KernelForestClassifier(5, random_state=0)),
        {"kernelforestclassifier__bandwidth": [0.1, 0.4], "kernelforestclassifier__oob_score": np.array([False])},
        cv=3,
    )
    assert search.fit(X, y).best_score_ > 0.9
    model = KernelExtraTreesClassifier(5, bandwidth=0.3, random_state=0)
    alone = cross_val_score(model, X, y, cv=3)
    np.testing.assert_array_equal(cross_val_score(model.set_params(n_jobs=2), X, y, cv=3, n_jobs=2), alone)


@pytest.mark.parametrize("model_class", ALL)
def test_copies(model_class):
    X, y = problem(model_class)
    model = model_class(3, bandwidth=0.3, kernel="triangle", random_state=0).fit(X, y)
    expected = answer(model, X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answer(again, X), expected)
    assert_same_forest(again.forest_, model.forest_)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    for attribute in ("forest_", "estimators_", "feature_importances_"):
        assert not hasattr(fresh, attribute)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    np.testing.assert_array_equal(answer(fresh.fit(X, y), X), expected)


@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize("bandwidth", [0.3, "auto", "oob", "cv", "silverman", "loo"])
def test_hardly_any_data(model_class, bandwidth):
    for X, y in (
        (np.zeros((1, 1)), [1]),
        (np.zeros((5, 2)), [0, 1, 0, 1, 1]),
        (np.arange(4.0)[:, None], [1, 1, 1, 1]),
        (np.array([[np.nan], [np.nan]]), [0, 1]),
    ):
        model = model_class(3, bandwidth=bandwidth, random_state=0).fit(X, y)
        assert model.predict(X).shape == (len(X),)
        assert len(model) == 3
        assert np.isfinite(answer(model, X)).all()


@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e150])
def test_any_scale(model_class, scale):
    X, y = problem(model_class)
    new = problem(model_class, seed=1)[0]
    model = model_class(3, bandwidth=0.3, random_state=0)
    expected = answer(clone(model).fit(X, y), new)
    if model_class in REGRESSORS:
        np.testing.assert_allclose(clone(model).fit(X, y * scale).predict(new) / scale, expected, rtol=1e-9)
    # other units are other rows for the draws, so that only the quality is the same
    assert clone(model).fit(X * scale, y).score(X * scale, y) > 0.75


# ------------------------------------------------------------------ telling, and interrupts


def test_progress_is_told_when_asked(capsys):
    X, y = load_iris(return_X_y=True)
    KernelForestClassifier(4, bandwidth=0.3, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("[KernelForestClassifier] tree 4 of 4, ")
    assert lines[-1].endswith(" s")
    KernelForestClassifier(4, bandwidth=0.3, verbose=2).fit(X, y)
    told = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in told] == [f"[KernelForestClassifier] tree {k} of 4" for k in (1, 2, 3, 4)]
    model = KernelExtraTreesClassifier(2, bandwidth=0.3, verbose=2, warm_start=True).fit(X, y)
    capsys.readouterr()
    model.set_params(n_estimators=4).fit(X, y)
    told = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in told] == [f"[KernelExtraTreesClassifier] tree {k} of 4" for k in (3, 4)]
    KernelExtraTreesClassifier(2, verbose=1).fit(X, y)
    first = f"[KernelExtraTreesClassifier] bandwidth {AUTO_GRID[0]:.3g} sd: held-out loss 0."
    assert capsys.readouterr().out.startswith(first)
    for bandwidth in ("auto", 0.3):
        KernelForestClassifier(2, bandwidth=bandwidth).fit(X, y)
        assert capsys.readouterr().out == ""


def interrupted(model, after):
    """The model, interrupted as from the keyboard when so many new trees are done."""

    def progress(n_before):
        def tell(n_new):
            if n_new >= after:
                raise KeyboardInterrupt

        return tell

    model._progress = progress
    return model


@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_leaves_a_working_forest(model_class, n_jobs):
    X, y = problem(model_class)
    parameters = {"bandwidth": 0.3, "random_state": 0, "prediction_kernel": "triangle"}
    whole = model_class(8, **parameters).fit(X, y)
    model = interrupted(model_class(8, n_jobs=n_jobs, warm_start=True, **parameters), 3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    n = len(model)
    assert n == 3 or n_jobs > 1
    assert 0 < n < 8
    assert_same_forest(model.forest_, whole.forest_.first(n))
    np.testing.assert_array_equal(answer(model, X), answer(whole.set_params(n_estimators=n).fit(X, y), X))
    assert len(model.estimators_) == n
    del model._progress
    model.fit(X, y)  # goes on where it was interrupted
    assert_same_forest(model.forest_, whole.set_params(n_estimators=8).fit(X, y).forest_)


def test_an_interrupt_before_the_first_tree_leaves_nothing(monkeypatch):
    from softwood.density import bagging

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    X, y = problem(KernelForestClassifier)
    monkeypatch.setattr(bagging, "grow_nodes", stop)
    for bandwidth in (0.3, "auto"):
        model = KernelForestClassifier(3, bandwidth=bandwidth)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        with pytest.raises(NotFittedError):
            model.predict(X)


def test_an_interrupt_keeps_the_trees_of_the_last_fit():
    X, y = problem(KernelForestClassifier)
    model = KernelForestClassifier(3, bandwidth=0.3, warm_start=True, random_state=0).fit(X, y)
    interrupted(model.set_params(n_estimators=9), 2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    expected = KernelForestClassifier(5, bandwidth=0.3, random_state=0).fit(X, y)
    assert_same_forest(model.forest_, expected.forest_)
