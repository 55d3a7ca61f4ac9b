"""What all stream models share, as a user meets it: learning in parts, tables, labels, errors, odd data, copies."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier

from softwood import export_text
from softwood.stream import (
    HoeffdingTreeClassifier,
    HoeffdingTreeRegressor,
    SmoothStepTreeClassifier,
    SmoothStepTreeRegressor,
    SoftHoeffdingTreeClassifier,
    SoftHoeffdingTreeRegressor,
)
from softwood.stream.loops.layout import N_ROWS

CLASSIFIERS = [HoeffdingTreeClassifier, SoftHoeffdingTreeClassifier, SmoothStepTreeClassifier]
REGRESSORS = [HoeffdingTreeRegressor, SoftHoeffdingTreeRegressor, SmoothStepTreeRegressor]
HARD = [HoeffdingTreeClassifier, HoeffdingTreeRegressor]
COMPLETE = [SmoothStepTreeClassifier, SmoothStepTreeRegressor]
ALL = CLASSIFIERS + REGRESSORS
SOFT = [model_class for model_class in ALL if model_class not in HARD]

every = pytest.mark.parametrize("model_class", ALL)
classifiers = pytest.mark.parametrize("model_class", CLASSIFIERS)
regressors = pytest.mark.parametrize("model_class", REGRESSORS)


def small(model_class, **parameters):
    """A model that splits soon."""
    few = {"max_depth": 3} if model_class in COMPLETE else {"grace_period": 40, "tau": 1.0, "max_depth": 4}
    if model_class in SOFT:
        few["random_state"] = 0
    return model_class(**{**few, **parameters})


def problem(model_class, n=400, p=3, seed=0, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    signal = 2 * (X[:, 0] > 0) + X[:, 1] + 0.2 * rng.normal(size=n)
    if not is_classifier(model_class()):
        return X, signal
    return X, np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))


def learn(model, X, y, **given):
    """`partial_fit`, with the classes if it is the first call of a classifier."""
    if is_classifier(model) and not hasattr(model, "growth_"):
        given = {"classes": np.unique(y), **given}
    return model.partial_fit(X, y, **given)


def answer(model, X):
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def state(model):
    """All that a model knows, as copies."""
    found = {name: value for name, value in vars(model).items() if name != "growth_"}
    found |= {f"growth {name}": array.copy() for name, array in model.growth_.state().items()}
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in found.items()}


def assert_same_state(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, np.ndarray):
            assert value.dtype == other[name].dtype, name
            np.testing.assert_array_equal(value, other[name], err_msg=name)
        elif name == "columns_":
            assert (value.names, value.categories, value.inputs) == (
                other[name].names, other[name].categories, other[name].inputs,
            )  # fmt: skip
            np.testing.assert_array_equal(value.source, other[name].source)
        elif name != "random_state":
            assert value == other[name], name


def assert_same_model(one, other):
    assert_same_state(state(one), state(other))


# ------------------------------------------------------------------ learning in parts

cuts = st.lists(st.integers(1, 399), max_size=6, unique=True).map(sorted)


@every
@settings(max_examples=12)
@given(cuts=cuts, missing=st.booleans(), weighted=st.booleans(), batch=st.sampled_from([1, 7]))
def test_any_partition_gives_the_same_model(model_class, cuts, missing, weighted, batch):
    X, y = problem(model_class)
    if missing:
        X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    weights = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 3.0], 400) if weighted else np.ones(400)
    options = {} if model_class in HARD else {"batch_size": batch}
    whole, parts, before = (small(model_class, **options) for _ in range(3))
    learn(whole, X, y, sample_weight=weights)
    predictions = []
    classes = {"classes": np.unique(y)} if is_classifier(whole) else {}
    for begin, end in zip([0, *cuts], [*cuts, 400], strict=True):
        learn(parts, X[begin:end], y[begin:end], sample_weight=weights[begin:end], **classes)
        rows = slice(begin, end)
        predictions.append(before.test_then_train(X[rows], y[rows], sample_weight=weights[rows], **classes))
    assert_same_model(whole, parts)
    assert_same_model(whole, before)
    again = small(model_class, **options).test_then_train(X, y, sample_weight=weights, **classes)
    np.testing.assert_array_equal(np.concatenate(predictions), again)


@every
@pytest.mark.parametrize("categorical", ["from_dtype", ["city"]])
def test_a_stream_begins_with_its_first_row_that_has_a_weight(model_class, categorical):
    X, y = problem(model_class)
    X = pd.DataFrame(X, columns=["a", "b", "c"]).assign(city=np.random.default_rng(3).choice(["Oslo", "Rome"], 400))
    weights = np.where(np.arange(400) < 60, 0.0, 1.0)
    classes = {"classes": np.unique(y)} if is_classifier(model_class()) else {}
    whole, parts, later = (small(model_class, categorical_features=categorical) for _ in range(3))
    learn(whole, X, y, sample_weight=weights, **classes)
    for rows in (slice(0, 20), slice(20, 60), slice(60, 400)):
        learn(parts, X[rows], y[rows], sample_weight=weights[rows], **classes)
        assert np.isfinite(answer(parts, X)).all()
    learn(later, X[60:], y[60:], **classes)
    assert_same_model(parts, later)
    assert_same_model(whole, later)


@classifiers
def test_rows_of_a_class_of_weight_0_have_no_effect(model_class):
    X, y = problem(model_class)
    order = np.argsort(y == 1, kind="stable")[::-1]  # class 1 comes first
    city = np.where(y == 1, "Bern", np.random.default_rng(3).choice(["Oslo", "Rome"], 400))
    X, y = pd.DataFrame(X, columns=["a", "b", "c"]).assign(city=city).iloc[order], y[order]
    first = int(np.sum(y == 1))
    whole, parts, rest = (small(model_class, class_weight={1: 0.0}) for _ in range(3))
    learn(whole, X, y)
    for rows in (slice(0, first // 2), slice(first // 2, first + 20), slice(first + 20, 400)):
        learn(parts, X[rows], y[rows], classes=[0, 1, 2])
    learn(rest, X[first:], y[first:], classes=[0, 1, 2])
    for model in (whole, parts):
        assert "city=Bern" not in model.columns_.names
        assert_same_model(model, rest)


@every
def test_predictions_before_learning_are_those_of_predict(model_class):
    X, y = problem(model_class, n=250)
    one, other = small(model_class), small(model_class)
    classes = {"classes": np.unique(y)} if is_classifier(one) else {}
    found = one.test_then_train(X, y, **classes)
    learn(other, X[:1], y[:1], **classes)
    for i in range(1, len(X)):
        np.testing.assert_array_equal(answer(other, X[i : i + 1])[0], found[i])
        other.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_same_model(one, other)


@every
def test_fit_starts_over(model_class):
    X, y = problem(model_class)
    model = small(model_class).fit(X, y)
    once = state(model)
    assert model.n_samples_seen_ == 400
    assert_same_state(once, state(learn(small(model_class), X, y)))
    learn(model, X, y)
    assert model.n_samples_seen_ == 800
    assert_same_state(once, state(model.fit(X, y)))
    model.fit(X[:, :2], y)
    assert model.n_features_in_ == 2


@every
def test_a_weight_of_two_is_the_row_twice_in_succession(model_class):
    # What scikit-learn checks with the rows in another order holds on a stream in their order only.
    X, y = problem(model_class, n=200)
    weights = np.random.default_rng(0).integers(0, 4, 200)
    weighted = learn(small(model_class), X, y, sample_weight=weights)
    repeated = learn(small(model_class), np.repeat(X, weights, axis=0), np.repeat(y, weights))
    if model_class in SOFT:
        one, other = state(weighted), state(repeated)
        for found in (one, other):  # they differ in the number of rows, and in nothing else
            assert found["growth counters"][N_ROWS] == (np.sum(weights > 0) if found is one else weights.sum())
            found["growth counters"][N_ROWS] = 0
            found["growth log"]["n_samples"] = 0
        assert_same_state(one, other)
    else:
        assert weighted.tree_.n_nodes > 1
        np.testing.assert_allclose(weighted.tree_.mass[0], weights.sum())


@classifiers
def test_balanced_classes(model_class):
    rng = np.random.default_rng(0)
    y = (rng.random(1500) < 0.1).astype(int)
    X = rng.normal(size=(1500, 2)) + 1.2 * y[:, None]
    plain, balanced = (small(model_class, class_weight=w).fit(X, y) for w in (None, "balanced"))
    assert np.mean(balanced.predict(X)[y == 1]) > np.mean(plain.predict(X)[y == 1]) + 0.1
    parts = small(model_class, class_weight="balanced")
    for begin, end in ((0, 1), (1, 2), (2, 700), (700, 1500)):
        learn(parts, X[begin:end], y[begin:end], classes=[0, 1])
    np.testing.assert_allclose(answer(parts, X), answer(balanced, X), atol=1e-9)
    np.testing.assert_allclose(parts._class_mass, np.bincount(y))


@classifiers
def test_weights_of_classes(model_class):
    X, y = problem(model_class)
    given = small(model_class, class_weight={0: 1.0, 2: 3}).fit(X, y)
    by_hand = small(model_class).fit(X, y, sample_weight=np.where(y == 2, 3.0, 1.0))
    np.testing.assert_array_equal(answer(given, X), answer(by_hand, X))
    words = np.array(["a", "b", "c"])[y]
    np.testing.assert_array_equal(
        answer(small(model_class, class_weight={"c": 3.0}).fit(X, words), X), answer(by_hand, X)
    )
    for value in ("heavy", 3, [1, 2], {0: -1.0}, {0: np.nan}, {0: "x"}):
        with pytest.raises(ValueError, match=f"'class_weight' parameter of {model_class.__name__} must be a dict"):
            small(model_class, class_weight=value).fit(X, y)


# ------------------------------------------------------------------ labels


@classifiers
def test_a_class_that_never_comes(model_class):
    X, _ = problem(model_class)
    rare = learn(small(model_class), X, np.zeros(400, dtype=int), classes=[0, 1])
    assert (rare.predict(X) == 0).all()
    assert rare.predict_proba(X).shape == (400, 2)


@classifiers
def test_classes_must_be_known(model_class):
    X, y = problem(model_class)
    for call in (small(model_class).partial_fit, small(model_class).test_then_train):
        with pytest.raises(ValueError, match=f"classes must be given in the first call .* {model_class.__name__}"):
            call(X, y)
    for classes, message in (
        ([], "classes must hold at least one label"),
        ([0, 1, np.nan], "Input classes contains NaN"),
        ([0, 1, None], "Input classes contains NaN"),
        (np.array([0, "x"], dtype=object), "classes must be labels of one type"),
        ([[0, 1], [2, 3]], "1d array"),
    ):
        model = small(model_class)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, y, classes=classes)
        assert vars(model) == vars(small(model_class))
    model = small(model_class).partial_fit(X, y, classes=[2, 0, 1, 1])
    model.partial_fit(X, y, classes=[1, 2, 0])
    before = state(model)
    with pytest.raises(ValueError, match=r"classes is array\(\[0, 1\]\), but the calls before .*\[0, 1, 2\]"):
        model.partial_fit(X, y, classes=[0, 1])
    for unknown, shown in ((5, "5"), (-1, "-1"), (0.5, "0.5"), ("x", "'x'"), (np.nan, "NaN"), (None, "None")):
        with pytest.raises(ValueError, match=f"y (holds|contains) .*{shown}"):
            model.partial_fit(X, np.array([*y[:-1], unknown], dtype=object))
        with pytest.raises(ValueError, match=r"y (holds|contains) "):
            model.partial_fit(X, [*y[:-1].tolist(), unknown])
    assert_same_state(before, state(model))
    words = learn(small(model_class), X, np.array(["a", "b", "c"])[y])
    with pytest.raises(ValueError, match=r"y holds [012], which is none of the classes array\(\['a', 'b', 'c'\]"):
        words.partial_fit(X, y)


@classifiers
def test_many_classes_in_small_parts(model_class):
    # scikit-learn warns of as many classes as this in `fit`; a part of a stream is no reason to
    X, _ = problem(model_class, n=30)
    model = small(model_class).partial_fit(X, np.arange(30), classes=np.arange(50))
    assert model.predict_proba(X).shape == (30, 50)
    model.partial_fit(X, np.arange(30).tolist())


@every
def test_a_first_part_without_weight(model_class):
    X, y = problem(model_class)
    model = learn(small(model_class), X[:10], y[:10], sample_weight=np.zeros(10), **(
        {"classes": np.unique(y)} if model_class in CLASSIFIERS else {}
    ))  # fmt: skip
    assert model.n_samples_seen_ == 0
    assert np.isfinite(answer(model, X)).all()
    learn(model, X, y)
    assert_same_state(
        {n: v for n, v in state(model).items() if n != "classes_"},
        {n: v for n, v in state(learn(small(model_class), X, y)).items() if n != "classes_"},
    )


# ------------------------------------------------------------------ tables


def mixed(n=400, seed=0):
    rng = np.random.default_rng(seed)
    city = rng.choice(["Oslo", "Rome", "Lima"], size=n)
    size = rng.normal(size=n)
    return {"size": size, "city": city, "flag": rng.random(n) < 0.5}, size + 2.0 * (city == "Rome")


@every
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_categories_come_and_go(model_class, frame):
    data, signal = mixed()
    y = np.where(signal > 0, "up", "down") if model_class in CLASSIFIERS else signal
    model = learn(small(model_class), frame(data), y)
    first = model.columns_.names
    assert first[:3] == ("size", f"city={data['city'][0]}", f"flag={data['flag'][0]}")
    assert set(first) == {"size", "city=Oslo", "city=Rome", "city=Lima", "flag=True", "flag=False"}
    assert model.score(frame(data), y) > 0.6
    expected = answer(model, frame(data))
    new = frame({**data, "city": np.where(data["city"] == "Rome", "Bern", data["city"])})
    unknown = answer(model, new)  # a category that is not known is none of those that are
    assert np.isfinite(unknown).all()
    stays = data["city"] != "Rome"
    np.testing.assert_array_equal(unknown[stays], expected[stays])
    learn(model, new, y)
    assert model.columns_.names == (*first, "city=Bern")
    assert model.n_features_in_ == 3
    assert model.feature_importances_.shape == (3,)
    assert model.tree_.n_features == len(model.columns_.names)
    assert model.score(new, y) > 0.6
    assert len(export_text(model).splitlines()) == model.tree_.n_nodes
    assert model.input_gradient(new[:5]).shape[2] == 3
    gone = frame({**data, "city": np.array([None] * 400, dtype=object), "size": np.full(400, np.nan)})
    assert np.isfinite(answer(model, gone)).all()
    learn(model, gone, y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame({"size": data["size"], "city": data["city"]}))


@every
@settings(max_examples=6)
@given(cuts=st.lists(st.integers(1, 299), max_size=8, unique=True).map(sorted))
def test_any_partition_of_a_table_gives_the_same_model(model_class, cuts):
    rng = np.random.default_rng(0)
    town = np.minimum(rng.geometric(0.4, 300), 1 + np.arange(300) // 30)  # new ones until the end
    data = {
        "town": town.astype(str).astype(object),
        "kind": rng.choice(["x", "y", None], 300),
        "size": rng.normal(size=300),
    }
    table = pd.DataFrame(data).sort_values("town", kind="stable", key=lambda column: rng.random(300) + (column == "7"))
    y = problem(model_class, n=300)[1]
    classes = {"classes": np.unique(y)} if model_class in CLASSIFIERS else {}
    whole, parts = small(model_class), small(model_class)
    expected = whole.test_then_train(table, y, **classes)
    found = [
        parts.test_then_train(table[a:b], y[a:b], **classes) for a, b in zip([0, *cuts], [*cuts, 300], strict=True)
    ]
    np.testing.assert_array_equal(np.concatenate(found), expected)
    assert_same_model(whole, parts)
    assert whole.columns_.names[:3] != whole.columns_.names[-3:]


@every
def test_numbers_may_be_categories(model_class):
    X, y = problem(model_class)
    X[:, 2] = np.random.default_rng(0).integers(5, 9, size=400)
    model = learn(small(model_class, categorical_features=[2]), X[:200], y[:200], **(
        {"classes": np.unique(y)} if model_class in CLASSIFIERS else {}
    ))  # fmt: skip
    X[200:, 2] += 2
    learn(model, X[200:], y[200:])
    assert sorted(model.columns_.categories[2]) == [5, 6, 7, 8, 9, 10]
    np.testing.assert_array_equal(answer(model, X.tolist()), answer(model, X))
    with pytest.raises(ValueError, match=r"Column 'x\[0\]' .*infinity"):
        model.predict(np.where(X[0, 0] == X, np.inf, X))


# ------------------------------------------------------------------ looking changes nothing; copies


def look(model, X, y):
    answers = [model.predict(X), answer(model, X), model.memberships(X).toarray(), model.apply(X)]
    answers += [model.decision_path(X).toarray(), model.input_gradient(X), model.feature_importances_]
    answers += [model.tree_.value, np.array(model.score(X, y)), np.array([model.get_depth(), model.get_n_leaves()])]
    return answers


@every
def test_looking_changes_nothing(model_class):
    X, y = problem(model_class)
    rows = np.vstack([X, np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)])
    model = learn(small(model_class), X, y)
    before = state(model)
    first, second = (look(model, rows, np.tile(y, 2)) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    str(model.tree_), repr(model), export_text(model), model.log_.clear()
    snapshot = model.tree_
    assert not any(np.shares_memory(snapshot.value, array) for array in model.growth_.arrays.values())
    assert_same_state(before, state(model))


@every
def test_copies_go_on_bit_for_bit(model_class):
    X, y = problem(model_class)
    model = learn(small(model_class), X[:200], y[:200], **(
        {"classes": np.unique(y)} if model_class in CLASSIFIERS else {}
    ))  # fmt: skip
    again = pickle.loads(pickle.dumps(model))
    assert_same_model(model, again)
    learn(model, X[200:], y[200:])
    assert again.n_samples_seen_ == 200
    learn(again, X[200:], y[200:])
    assert_same_model(model, again)


# ------------------------------------------------------------------ regressors


@regressors
@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e6, 0.0), (1.0, 1e6), (1e-6, 0.0), (-1e100, 0.0)])
@pytest.mark.parametrize("shape", ["step", "linear"])
def test_regressors_learn(model_class, scale, offset, shape):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(4000, 2))
    y = (X[:, 0] > 0.2) + 0.0 if shape == "step" else X @ [1.0, -0.5]
    model = model_class(**({"random_state": 0} if model_class in SOFT else {})).partial_fit(X, offset + scale * y)
    found = (model.predict(X) - offset) / scale
    assert 1 - np.mean((found - y) ** 2) / y.var() > 0.85


@regressors
def test_columns_of_targets(model_class):
    X, y = problem(model_class)
    with pytest.warns(UserWarning, match="column-vector y"):
        model = small(model_class).partial_fit(X, y[:, None])
    assert_same_model(model, small(model_class).partial_fit(X, y))
    assert_same_model(model, small(model_class).partial_fit(X, y.tolist()))
    with pytest.raises(ValueError, match="could not convert string to float"):
        model.partial_fit(X, np.full(400, "x"))
