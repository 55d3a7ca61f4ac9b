"""Anything in any place of a row: it is learned, or an error leaves the model bit for bit as it was."""

import copy
import datetime
import decimal
import fractions
import functools
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.multioutput import MultiOutputClassifier

from softwood.stream import (
    HoeffdingTreeRegressor,
    SmoothStepTreeClassifier,
    SoftHoeffdingTreeClassifier,
    StreamForestClassifier,
)
from softwood.stream import river as for_river

CLASSIFIERS = (
    "SoftHoeffdingTreeClassifier", "HoeffdingTreeClassifier", "SmoothStepTreeClassifier", "StreamForestClassifier",
)  # fmt: skip
REGRESSORS = (
    "SoftHoeffdingTreeRegressor", "HoeffdingTreeRegressor", "SmoothStepTreeRegressor", "StreamForestRegressor",
)  # fmt: skip
POOLS = ("ModelPoolClassifier", "ModelPoolRegressor")

numbers = st.one_of(st.floats(), st.integers(), st.just(10**400), st.booleans(), st.complex_numbers())
things = st.one_of(
    numbers,
    st.none(),
    st.text(max_size=3),
    st.binary(max_size=2),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=1), st.integers(), max_size=1),
    st.tuples(st.integers(), st.lists(st.integers(), max_size=1)),
    st.sampled_from([
        np.float32(1.5), np.int8(3), np.bool_(True), np.nan, np.inf, -np.inf, pd.NA, pd.NaT, object,
        np.datetime64("NaT", "us"), np.zeros(2), np.array(1.0), pd.Timestamp(0), datetime.date(2020, 1, 1),
        decimal.Decimal("1e999999"), decimal.Decimal("NaN"),
        fractions.Fraction(10**400, 3), {1}, frozenset([1]), range(3), ..., b"", "a",
    ]),
)  # fmt: skip
rows = st.dictionaries(
    st.one_of(st.sampled_from(["a", "b", "c"]), st.text(max_size=2), st.integers()), things, max_size=4
)


def new(name):
    if name in POOLS:
        side = name.removeprefix("ModelPool")
        return getattr(for_river, name)([new(family + side) for family in ("HoeffdingTree", "SoftHoeffdingTree")])
    few = {"n_estimators": 3, "warning_delta": 0.5, "drift_delta": 0.3} if name.startswith("StreamForest") else {}
    return getattr(for_river, name)(**few, **({} if name.startswith("Hoeff") else {"seed": 0}))


def started(name):
    """A model of two numbers and a text, after some rows."""
    model = new(name)
    for k in range(30):
        x = {"a": float(k % 7), "b": k % 3, "c": "xy"[k % 2]}
        model.learn_one(x, "uv"[k % 2] if name.endswith("Classifier") else float(k % 5))
    return model


def state(model):
    """All that a model has learned, as bytes."""
    if type(model).__name__ in POOLS:
        numbers = (model.losses_, model.n_trained_, model._n_in_period, model._learners, model._state.get_state())
        return [pickle.dumps(numbers), *map(state, model.models_)]
    places = model._places
    return pickle.dumps(
        (places.numbers, places.categories, places.names, getattr(model, "_codes", None), model._growth)
    )


@functools.cache
def kept(name):
    """Learned once, when the first test asks for it."""
    return started(name)


SINGLE = [*CLASSIFIERS, *REGRESSORS]
EVERY = [*SINGLE, *POOLS]


@pytest.mark.parametrize("name", EVERY)
@given(
    x=st.one_of(rows, rows, things), y=st.one_of(things, st.just("u"), st.just(1.0)), w=st.one_of(st.just(1.0), things)
)
@settings(max_examples=25)
def test_one_row(name, x, y, w):
    model = started(name) if name in POOLS else copy.deepcopy(kept(name))
    before = state(model)
    try:
        model.learn_one(x, y, **({} if name in POOLS else {"w": w}))
    except Exception:
        assert state(model) == before
    usual = {"a": 1.0, "b": 2, "c": "x"}
    answer = model.predict_one(usual)
    assert answer is not None
    model.learn_one(usual, y="u" if name.endswith("Classifier") else 1.0)


@pytest.mark.parametrize("name", SINGLE)
@given(
    cells=st.lists(things, min_size=1, max_size=4), ys=st.lists(things, min_size=4, max_size=4), at=st.integers(0, 2)
)
@settings(max_examples=15)
def test_one_block(name, cells, ys, at):
    model = copy.deepcopy(kept(name))
    before = state(model)
    column = pd.Series(["x", "y", "x", *cells], dtype=object)
    X = pd.DataFrame({"a": np.arange(len(column)) * 1.0, "c": column})
    usual = ["u", "v"] if name in CLASSIFIERS else [1.0, 2.0]
    y = pd.Series([usual[k % 2] for k in range(len(X))], dtype=object)
    if at == 0:
        y[len(X) - 1] = ys[0]
    try:
        model.learn_many(X, y)
    except Exception:
        assert state(model) == before
    model.learn_many(X[:3], y[:3])


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_new_label_and_a_feature_that_cannot_be_learned(name):
    model = copy.deepcopy(kept(name))
    before = state(model)
    with pytest.raises(ValueError, match=r"Feature 'z' is list, neither a number nor a category"):
        model.learn_one({"a": 1.0, "new": 2.0, "z": [1]}, "w")
    with pytest.raises(ValueError, match="Feature 'c' is list"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0], "c": ["x", ["y"]]}), pd.Series(["w", "u"]))
    with pytest.raises(ValueError, match="'a' is there twice"):
        model.learn_many(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), pd.Series(["u"]))
    assert state(model) == before
    assert set(model.predict_proba_one({"a": 1.0})) == {"u", "v"}


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("w", [10**400, fractions.Fraction(10**400), 1j, -1.0, np.inf, np.nan, "1", None])
def test_a_new_feature_and_a_weight_that_is_none(name, w):
    model = copy.deepcopy(kept(name))
    before = state(model)
    with pytest.raises(ValueError, match="w must be a finite number of at least 0"):
        model.learn_one({"a": 1.0, "new": 2.0}, "w" if name in CLASSIFIERS else 1.0, w=w)
    assert state(model) == before


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name != "StreamForestClassifier"])
def test_a_weight_of_two_is_the_row_twice_also_with_a_new_label(name):
    heavy, twice = copy.deepcopy(kept(name)), copy.deepcopy(kept(name))
    for k in range(40):
        x, y = {"a": float(k % 7), "b": k % 3}, f"label {k // 8}"
        heavy.learn_one(x, y, w=2)
        twice.learn_one(x, y)
        twice.learn_one(x, y)
    probe = {"a": 1.0, "b": 2, "c": "x"}
    assert heavy.predict_proba_one(probe) == twice.predict_proba_one(probe)


@pytest.mark.parametrize(
    "model_class",
    [SoftHoeffdingTreeClassifier, SmoothStepTreeClassifier, HoeffdingTreeRegressor, StreamForestClassifier],
)
def test_read_only_memory_maps_go_on_learning(model_class, tmp_path):
    X = np.random.default_rng(0).normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(int)
    model = model_class().fit(X[:200], y[:200])
    joblib.dump(model, tmp_path / "model")
    again = joblib.load(tmp_path / "model", mmap_mode="r")
    for part in (model, again):
        part.partial_fit(X[200:], y[200:])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_one_model_for_each_output(n_jobs):
    """Processes get the rows as read-only memory maps if these are large."""
    X = np.random.default_rng(0).normal(size=(40_000, 4))
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > X[:, 2]]).astype(int)
    model = MultiOutputClassifier(SoftHoeffdingTreeClassifier(max_depth=3, random_state=0), n_jobs=n_jobs)
    for part in (slice(30_000), slice(30_000, None)):
        model.partial_fit(X[part], Y[part], classes=[[0, 1], [0, 1]])
    alone = SoftHoeffdingTreeClassifier(max_depth=3, random_state=0).partial_fit(X, Y[:, 1], classes=[0, 1])
    np.testing.assert_array_equal(model.predict(X[:2000])[:, 1], alone.predict(X[:2000]))


def learn_ever_wider_rows(model):
    for k in range(60):
        model.learn_one({f"x{j}": 1.0 for j in range(k)}, k % 2)


def test_a_limit_of_memory_that_cannot_be_kept_gives_a_warning():
    X = np.random.default_rng(0).normal(size=(100, 30))
    with pytest.warns(UserWarning, match=r"max_size cannot be kept: a tree of 30 columns .* limit is 0.001 MiB"):
        SoftHoeffdingTreeClassifier(max_size=0.001).fit(X, X[:, 0] > 0)
    model = for_river.HoeffdingTreeClassifier(max_size=0.01)
    with pytest.warns(UserWarning, match=r"max_size cannot be kept") as found:
        learn_ever_wider_rows(model)
    assert len(found) == 1


def test_a_label_that_is_none_is_named():
    model = started("HoeffdingTreeClassifier")
    with pytest.raises(ValueError, match=r"y must be a label, got \['u'\]"):
        model.learn_one({"a": 1.0}, ["u"])
