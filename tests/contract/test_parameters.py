"""Every parameter of every estimator: what is refused, and what it does."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import softwood
from softwood import stream
from tests.contract.specs import SPECS, Change, every, over
from tests.models import answer, trees_of


def with_parameters(parts):
    """Each estimator with each parameter of these parts of its spec."""
    pairs = [(spec, name) for spec in SPECS for name in getattr(spec, parts)]
    return pytest.mark.parametrize(("spec", "name"), pairs, ids=lambda part: str(part))


def test_every_estimator_has_a_spec():
    public = [*softwood.__all__, *stream.__all__]
    assert sorted(spec.name for spec in SPECS) == sorted(n for n in public if n.endswith(("Classifier", "Regressor")))


@every
def test_every_parameter_has_its_place(spec):
    assert set(spec.wrong) == spec.parameters
    assert set(spec.changes) | set(spec.unseen) == spec.parameters
    assert not set(spec.changes) & set(spec.unseen)


@every
def test_parameters_are_given_by_name(spec):
    parameters = inspect.signature(spec.model_class).parameters.values()
    positional = [parameter.name for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY]
    assert positional == (["n_estimators"] if "n_estimators" in spec.parameters else [])
    assert all(parameter.default is not parameter.empty for parameter in parameters)
    assert spec.model_class().get_params() == {parameter.name: parameter.default for parameter in parameters}


# ------------------------------------------------------------------ wrong values


@with_parameters("wrong")
def test_wrong_values_are_told_by_name_before_any_work(spec, name, monkeypatch):
    X = np.arange(80.0).reshape(40, 2)
    y = spec.targets(X[:, 0], 2)
    monkeypatch.setattr("softwood.core.steps.Steps.begin", None)  # all work is in steps
    given = {"bandwidth": 0.3} if name.startswith("prediction_") else {}  # a bandwidth is chosen before they are read
    for value in spec.wrong[name]:
        model = spec.model_class(**{name: value}, **given)
        before = dict(vars(model))
        with pytest.raises(ValueError, match=r"must|[Ss]eed") as found:
            model.fit(X, y)
        told = str(found.value)
        assert vars(model) == before
        if name == "random_state":  # scikit-learn reads it
            assert "seed" in told.lower()
            continue
        assert told.startswith(f"The '{name}' parameter of {spec.name} must be "), told
        assert " Got " in told
        assert told.endswith(" instead."), told


# ------------------------------------------------------------------ effects


def effect_table(spec):
    """Rows on which each parameter has something to do: the last column holds few values, and counts."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(spec.n_rows, 4))
    X[:, 0], X[:, 3] = 2 * X[:, 0], np.round(X[:, 3])
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X)) + 2.0 * (X[:, 3] == 1)
    return X, spec.targets(signal, 2)


@with_parameters("changes")
def test_every_parameter_has_an_effect(spec, name):
    X, y = effect_table(spec)
    change = spec.changes[name]
    change = change if isinstance(change, Change) else Change(change)
    before = spec.make(**change.given).fit(X, y)
    after = spec.make(**change.given).set_params(**{name: change.value}).fit(X, y)
    if change.seen == "answer":
        assert np.abs(answer(before, X) - answer(after, X)).max() > 1e-3
    else:
        assert getattr(before, change.seen, None) != getattr(after, change.seen, None)


@every
def test_fit_changes_no_parameter(spec):
    X, y = effect_table(spec)
    seed = {"random_state": np.random.RandomState(0)} if "random_state" in spec.parameters else {}
    own = {"bandwidth": {0: 0.3}, "measurement_error": [0.1, 0, 0, 0]} if spec.is_kernel else {}
    model = spec.make(categorical_features=[3], **seed, **own)
    before = model.get_params()
    shown = {name: repr(value) for name, value in before.items() if name != "random_state"}
    model.fit(X, y)
    after = model.get_params()
    assert all(after[name] is value for name, value in before.items())
    assert {name: repr(value) for name, value in after.items() if name != "random_state"} == shown


@every
def test_parameters_set_after_fit_change_no_prediction(spec):
    X, y = spec.table()
    X = pd.DataFrame(X).rename(columns=str).assign(word=np.where(X[:, 2] > 0, "up", "down"))
    new = X.assign(word="sideways")
    model = spec.make().fit(X, y)
    fresh = clone(model)
    expected, importances = answer(model, new), model.feature_importances_
    later = {name: change.value if isinstance(change, Change) else change for name, change in spec.changes.items()}
    if "handle_unknown" in spec.parameters:
        later["handle_unknown"] = "error"
    model.set_params(**later)
    assert np.array_equal(answer(model, new), expected)
    assert np.array_equal(model.feature_importances_, importances)
    assert np.array_equal(model.predict(X), fresh.fit(X, y).predict(X))


# ------------------------------------------------------------------ limits


@every
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_depth_is_a_limit(spec, depth):
    X, y = spec.table(n=200)
    model = spec.make(max_depth=depth).fit(X, y)
    assert 1 <= model.get_depth() <= depth * spec.depth_factor
    depths = [tree.max_depth for tree in trees_of(model)]
    assert model.get_depth() == max(depths)
    if spec.is_kernel and depth < 3:
        assert set(depths) == {depth}


@over([spec for spec in SPECS if "max_leaf_nodes" in spec.parameters])
def test_leaves_are_limited(spec):
    X, y = spec.table(n=200)
    model = spec.make(max_leaf_nodes=4).fit(X, y)
    assert {tree.n_leaves for tree in trees_of(model)} == {4}
    assert model.get_n_leaves() == sum(tree.n_leaves for tree in trees_of(model))


@over([spec for spec in SPECS if "min_mass" in spec.parameters])
def test_masses_are_limited(spec):
    X, y = spec.table(n=200)
    own = {"prune": False} if "prune" in spec.parameters else {}
    own |= {"cutoff": 0.0} if "cutoff" in spec.parameters else {}  # it moves shares after the search
    model = spec.make(min_mass=9.5, **own).fit(X, y)
    assert model.get_n_leaves() > len(trees_of(model))
    assert min(tree.mass.min() for tree in trees_of(model)) >= 9.5 * (1 - 1e-6)
