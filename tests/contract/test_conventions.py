"""scikit-learn's conventions: its own checks, copies, parameters by name, and company."""

import copy
import pickle

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from softwood import export_text
from softwood.explanations.nodes import node_table
from softwood.stream import HoeffdingTreeClassifier, HoeffdingTreeRegressor, ModelPool
from tests.contract.specs import BY_NAME, SPECS, every, every_with_jobs
from tests.models import answer, trees_of

CHECKED = [spec.model_class(**spec.checked) for spec in SPECS]
POOLS = [ModelPool([HoeffdingTreeClassifier()]), ModelPool([HoeffdingTreeRegressor()])]


def known_failures(estimator):
    name = type(getattr(estimator, "models", [estimator])[0]).__name__  # a pool learns as its models do
    return BY_NAME[name].known_failures if name in BY_NAME else {}


@parametrize_with_checks([*CHECKED, *POOLS], expected_failed_checks=known_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@every
def test_no_check_is_expected_to_fail_but_of_streams(spec):
    assert not spec.known_failures or spec.is_stream


@every
def test_copies(spec):
    X, y = spec.table()
    X_gone = np.where(np.arange(4) == 1, np.nan, X)
    model = spec.fitted()
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        for rows in (X, X_gone):
            assert np.array_equal(answer(again, rows), answer(model, rows))
        for one, other in zip(trees_of(again), trees_of(model), strict=True):
            assert np.array_equal(one.value, other.value)
            assert np.array_equal(one.children_left, other.children_left)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert vars(fresh) == vars(spec.make())
    assert np.array_equal(answer(fresh.fit(X, y), X), answer(model, X))


@every
def test_nothing_is_there_before_fitting(spec):
    X, _ = spec.table()
    model = spec.make()
    calls = [model.predict, model.memberships, model.apply, model.decision_path, model.input_gradient]
    for call in calls + ([model.predict_proba] if spec.is_classifier else []):
        with pytest.raises(NotFittedError, match=spec.name):
            call(X)
    for call in (model.get_depth, model.get_n_leaves):
        with pytest.raises(NotFittedError):
            call()
    names = ("tree_", "forest_", "estimators_", "feature_importances_", "classes_", "history_", "n_iter_", "log_")
    for name in (*names, "n_samples_seen_", "nbytes_"):
        assert not hasattr(model, name)


@every
def test_parameters_are_read_and_set_by_name(spec):
    model = spec.model_class()
    assert repr(model) == f"{spec.name}()"
    assert repr(spec.model_class(max_depth=3)).replace("\n", "").replace(" ", "") == f"{spec.name}(max_depth=3)"
    assert model.set_params(max_depth=3) is model
    assert model.get_params()["max_depth"] == model.max_depth == 3
    with pytest.raises(ValueError, match=r"Invalid parameter 'depth' for estimator"):
        model.set_params(depth=3)
    with pytest.raises(TypeError, match="depth"):
        spec.model_class(depth=3)


@every
def test_in_pipelines_and_searches(spec):
    X, y = spec.table(n=150)
    pipeline = make_pipeline(StandardScaler(), spec.make())
    search = GridSearchCV(pipeline, {f"{spec.name.lower()}__max_depth": np.array([1, 3])}, cv=2, error_score="raise")
    assert search.fit(X, y).best_score_ > (0.42 if spec.is_classifier else 0.0)


@every_with_jobs
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_jobs_within_jobs(spec, backend, monkeypatch):
    X, y = spec.table()
    monkeypatch.undo()  # other processes have the usual number of folds
    alone = cross_val_score(spec.make(), X, y, cv=2)
    with parallel_config(backend=backend):
        assert np.array_equal(cross_val_score(spec.make(n_jobs=2), X, y, cv=2, n_jobs=2), alone)


@every
def test_text_and_tables_of_nodes(spec):
    model = spec.fitted()
    n_nodes = sum(tree.n_nodes for tree in trees_of(model))
    assert str(trees_of(model)[0])
    if not hasattr(model, "forest_"):
        assert len(export_text(model).splitlines()) == len(node_table(model)["node"]) == n_nodes
