"""The stream models in river: its checks, dicts with all that may be in them, blocks, pipelines."""

import copy
import datetime
import math
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import softwood
from softwood import stream
from softwood.stream import SEA

pytest.importorskip("river")

from river import checks, compose, evaluate, metrics, preprocessing

from softwood.stream import river

CLASSIFIERS = [river.HoeffdingTreeClassifier, river.SoftHoeffdingTreeClassifier, river.SmoothStepTreeClassifier]
CLASSIFIERS += [river.StreamForestClassifier]
REGRESSORS = [river.HoeffdingTreeRegressor, river.SoftHoeffdingTreeRegressor, river.SmoothStepTreeRegressor]
REGRESSORS += [river.StreamForestRegressor]
FORESTS = [river.StreamForestClassifier, river.StreamForestRegressor]
ALL = CLASSIFIERS + REGRESSORS
COMPLETE = [river.SmoothStepTreeClassifier, river.SmoothStepTreeRegressor]
HARD = [river.HoeffdingTreeClassifier, river.HoeffdingTreeRegressor]

every = pytest.mark.parametrize("model_class", ALL)
classifiers = pytest.mark.parametrize("model_class", CLASSIFIERS)
regressors = pytest.mark.parametrize("model_class", REGRESSORS)


def small(model_class, **parameters):
    few = {"max_depth": 3} if model_class in COMPLETE else {"grace_period": 40, "tau": 1.0, "max_depth": 4}
    if model_class in FORESTS:
        few = {"n_estimators": 3, "max_depth": 4}
    if model_class not in HARD:
        few["seed"] = 0
    return model_class(**{**few, **parameters})


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, 2 * (X[:, 0] > 0) + X[:, 1]


def dicts(X):
    return [dict(zip("abc", row, strict=True)) for row in X.tolist()]


def targets(model_class, signal):
    return np.digitize(signal, [0.0, 1.0, 2.0]).tolist() if model_class in CLASSIFIERS else signal.tolist()


def answer(model, x):
    return model.predict_proba_one(x) if type(model) in CLASSIFIERS else model.predict_one(x)


def state(model):
    places = model._places
    found = {"numbers": dict(places.numbers), "categories": copy.deepcopy(places.categories), "names": places.names[:]}
    found["labels"] = list(getattr(model, "_codes", ()))
    if model._growth is not None:
        found |= {name: array.copy() for name, array in model._growth.state().items()}
    return found


def assert_same(one, other):
    one, other = (found if isinstance(found, dict) else state(found) for found in (one, other))
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, other[name], err_msg=name)
        else:
            assert value == other[name], name


# ------------------------------------------------------------------ river's contract


def all_checks():
    for model_class in ALL:
        for check in checks.yield_checks(model_class()):
            name = getattr(check, "__name__", None) or check.func.__name__
            yield pytest.param(model_class, check, id=f"{model_class.__name__}-{name}")


@pytest.mark.parametrize(("model_class", "check"), list(all_checks()))
def test_checks_of_river(model_class, check):
    assert not model_class._unit_test_skips(model_class())
    check(model_class().clone())


@every
def test_parameters(model_class):
    own = model_class()._get_params()
    theirs = getattr(stream, model_class.__name__)().get_params()
    assert set(own) == {"seed" if name == "random_state" else name for name in theirs} - {
        "categorical_features", "class_weight",
    }  # fmt: skip
    name = "max_depth" if model_class in COMPLETE + FORESTS else "grace_period"
    with pytest.raises(ValueError, match=f"'{name}' parameter of {model_class.__name__} must be"):
        model_class(**{name: -1})
    with pytest.raises(TypeError, match="no_such"):
        model_class(no_such=1)
    model = small(model_class)
    for x, y in zip(dicts(rows()[0]), targets(model_class, rows()[1]), strict=True):
        model.learn_one(x, y)
    assert model.clone()._get_params() == model._get_params()
    assert model.clone().n_nodes == 0
    assert f"`softwood.stream.{model_class.__name__}`" in model.__doc__


# ------------------------------------------------------------------ before, after, and looking


@every
def test_before_the_first_row(model_class):
    model = model_class()
    X = pd.DataFrame(rows(3)[0], columns=list("abc"), index=[7, 8, 9])
    assert model.predict_one({"a": 1.0}) == (None if model_class in CLASSIFIERS else 0.0)
    assert model.predict_many(X).index.tolist() == [7, 8, 9]
    if model_class in CLASSIFIERS:
        assert model.predict_proba_one({}) == {}
        assert model.predict_proba_many(X).shape == (3, 0)
    assert (model.n_nodes, model.n_leaves, model.height, model.log, model.feature_names) == (0, 0, 0, [], [])
    with pytest.raises(ValueError, match=f"{model_class.__name__} has not learned anything yet"):
        model.snapshot()
    model.learn_one({}, 1)
    assert model.predict_one({}) == 1 if model_class in CLASSIFIERS else 0 < model.predict_one({}) <= 1
    model.learn_one({"a": None, "b": math.nan}, 1)
    assert model.feature_names == []
    model.learn_one({"a": 3}, 1)
    assert model.feature_names == ["a"]


@every
def test_predicting_changes_nothing(model_class):
    X, signal = rows()
    model = small(model_class)
    for x, y in zip(dicts(X), targets(model_class, signal), strict=True):
        model.learn_one(x, y)
    before = state(model)
    for x in ({"a": 1.0}, {"z": 3.0, "a": "text"}, {"c": None}, {}, {"a": np.float32(1), "b": True, "c": 2}):
        found = answer(model, x)
        assert found == answer(model, dict(reversed(x.items())))
    frame = pd.DataFrame(X, columns=list("abc"))
    model.predict_many(frame.assign(z="new"))
    assert_same(before, model)
    found = model.predict_many(frame)
    assert found.tolist() == [model.predict_one(x) for x in dicts(X)]
    assert (model.n_nodes, model.height) == (model.snapshot().n_nodes, model.snapshot().max_depth)
    assert model.n_leaves == model.snapshot().n_leaves
    n_trees = 3 if model_class in FORESTS else 1
    assert len(model.log) == (0 if model_class in COMPLETE else model.n_leaves - n_trees)


# ------------------------------------------------------------------ blocks


@every
@pytest.mark.parametrize("with_text", [False, True])
def test_blocks_are_rows_one_by_one(model_class, with_text):
    X, signal = rows()
    y = targets(model_class, signal)
    if model_class in CLASSIFIERS:
        y[150] = "new"
    frame = pd.DataFrame(X, columns=list("bac"))
    frame.loc[np.random.default_rng(1).random(300) < 0.2, "c"] = np.nan
    if with_text:
        frame["town"] = np.random.default_rng(2).choice(["Oslo", "Rome", "Lima", None], 300)
        frame["flag"] = X[:, 2] > 0
        frame["whole"] = pd.array(np.where(X[:, 1] > 0, 1, None), dtype="Int64")
    weights = np.random.default_rng(3).choice([0.0, 1.0, 2.0], 300)
    one, many = small(model_class), small(model_class)
    for x, label, w in zip(frame.to_dict(orient="records"), y, weights, strict=True):
        one.learn_one(x, label, w)
    for part in (slice(0, 1), slice(1, 70), slice(70, 300)):
        many.learn_many(frame[part], pd.Series(y[part]), w=weights[part])
    assert_same(one, many)
    found = many.predict_many(frame)
    assert found.tolist() == [one.predict_one(x) for x in frame.to_dict(orient="records")]
    if model_class in CLASSIFIERS:
        table = many.predict_proba_many(frame)
        assert table.columns.tolist() == list(one._codes)
        assert table.iloc[5].to_dict() == one.predict_proba_one(frame.to_dict(orient="records")[5])
    many.learn_many(frame[:0], pd.Series([], dtype=object if model_class in CLASSIFIERS else float))
    assert_same(one, many)


@pytest.mark.parametrize("model_class", [river.HoeffdingTreeClassifier, *REGRESSORS])
def test_the_same_model_as_in_scikit_learn(model_class):
    X, signal = rows(1000)
    y = targets(model_class, signal)
    if model_class in CLASSIFIERS:
        y[:4] = range(4)  # classes in the order of their labels
    model = small(model_class)
    parameters = {"random_state" if k == "seed" else k: v for k, v in model._get_params().items()}
    other = getattr(stream, model_class.__name__)(**parameters)
    other.partial_fit(X, y, **({"classes": range(4)} if model_class in CLASSIFIERS else {}))
    for x, label in zip(dicts(X), y, strict=True):
        model.learn_one(x, label)
    for name, array in other.growth_.state().items():
        np.testing.assert_array_equal(model._growth.state()[name], array, err_msg=name)
    frame = pd.DataFrame(X, columns=list("abc"))
    np.testing.assert_array_equal(model.predict_many(frame).to_numpy(), other.predict(X))


@pytest.mark.parametrize("model_class", FORESTS)
def test_features_named_by_numbers_have_the_order_of_the_numbers(model_class):
    """A model of `dict(enumerate(row))` has the columns of the row, also from ten of them on."""
    model = small(model_class)
    model.learn_one({10: 1.0, 2: 0.0, "b": 1.0, 1: 0.5, "a10": 0.0, "a2": 0.0}, 1)
    assert model.feature_names == ["1", "2", "10", "a10", "a2", "b"]


# ------------------------------------------------------------------ features as they come


@every
def test_features_appear_disappear_and_change_places(model_class):
    rng = np.random.default_rng(0)
    X, signal = rows(1200)
    y = targets(model_class, signal)
    straight, shuffled = small(model_class), small(model_class)
    for i, x in enumerate(dicts(X)):
        if 400 <= i < 800:
            x["town"] = ["Oslo", "Rome", "Lima"][i % 3]
        if i > 600:
            del x["c"]
            x["d"] = i % 7
        keys = list(x)
        rng.shuffle(keys)
        straight.learn_one(x, y[i])
        shuffled.learn_one({key: x[key] for key in keys}, y[i])
    assert_same(straight, shuffled)
    assert straight.feature_names == ["a", "b", "c", "town=Rome", "town=Lima", "town=Oslo", "d"]
    for x in ({"a": 1.0}, {"town": "Rome"}, {"town": "Bern", "a": 1.0}, {"d": 3, "a": 0.1, "b": 2.0}):
        found = answer(straight, x)
        assert np.isfinite(list(found.values()) if isinstance(found, dict) else found).all()
    assert answer(straight, {"a": 2.0, "b": 1.0}) != answer(straight, {"a": -2.0, "b": -1.0})


@every
def test_kinds_of_values(model_class):
    one, other = small(model_class), small(model_class)
    for i in range(200):
        one.learn_one({"a": i % 7, "b": i % 2 == 0, "t": "x" if i % 3 else "y"}, i % 2)
        a = (np.int8(i % 7), np.float32(i % 7), Decimal(i % 7), float(i % 7))[i % 4]
        other.learn_one({"t": np.str_("x" if i % 3 else "y"), "b": np.bool_(i % 2 == 0), "a": a, "n": None}, i % 2)
    assert_same(one, other)
    assert one.feature_names == ["a", "b", "t=y", "t=x"]
    x = {"a": 3, "b": True, "t": "x"}
    for nothing in (None, math.nan, pd.NA, pd.NaT, np.nan):
        assert answer(one, {**x, "a": nothing}) == answer(one, {"b": True, "t": "x"})
        one.learn_one({**x, "a": nothing, "z": nothing}, 1)
    assert one.feature_names == ["a", "b", "t=y", "t=x"]


@every
def test_text_in_a_feature_of_numbers_is_text(model_class):
    model = small(model_class)
    for i in range(50):
        model.learn_one({"a": float(i), "b": 1.0}, i % 2)
    model.learn_one({"a": "7", "b": 1.0}, 1)
    assert model.feature_names == ["a", "b", "a=7"]


@every
def test_many_categories(model_class):
    model = small(model_class, **({} if model_class in COMPLETE + FORESTS else {"max_inner_nodes": 3}))
    for i in range(400):
        model.learn_one({"id": f"row {i}"}, i % 2)
    assert len(model.feature_names) == 255
    model.predict_one({"id": "row 399"})


@every
def test_errors_change_nothing(model_class):
    X, signal = rows(100)
    y = targets(model_class, signal)
    model = small(model_class)
    fresh = state(model)
    with pytest.raises(ValueError, match="Feature 'a' is infinite"):
        model.learn_one({"a": math.inf}, y[0])
    assert_same(fresh, model)
    for x, label in zip(dicts(X), y, strict=True):
        model.learn_one(x, label)
    before = state(model)
    x = {"a": 1.0, "b": 1.0, "c": 1.0}
    new = "new" if model_class in CLASSIFIERS else 5.0
    for wrong in ({**x, "b": math.inf}, {**x, "b": -math.inf}, {"z": np.inf}, {"z": 1, "y": "text", "a": math.inf}):
        for label in (y[0], new):
            with pytest.raises(ValueError, match="is infinite"):
                model.learn_one(wrong, label)
        with pytest.raises(ValueError, match="is infinite"):
            model.learn_many(pd.DataFrame([x, wrong]), pd.Series([y[0], new]))
    for w in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="w must be a finite number of at least 0"):
            model.learn_one({**x, "z": 1}, new, w)
        with pytest.raises(ValueError, match="sample_weight must hold finite numbers"):
            model.learn_many(pd.DataFrame([x, x]), pd.Series([y[0], new]), w=[1.0, w])
    for label in (math.nan, None) if model_class in CLASSIFIERS else (math.nan, math.inf):
        with pytest.raises(ValueError, match="y must be"):
            model.learn_one(x, label)
        with pytest.raises(ValueError, match="y must hold"):
            model.learn_many(pd.DataFrame([x, x]), pd.Series([y[0], label]))
    with pytest.raises(ValueError, match="X has 2 rows, but y has 1"):
        model.learn_many(pd.DataFrame([x, x]), pd.Series([new]))
    assert_same(before, model)
    with pytest.raises(ValueError, match="Feature 'b' is infinite"):
        model.predict_one({**x, "b": math.inf})
    model.learn_one({**x, "a": 1e308, "b": 1e308}, y[0])


# ------------------------------------------------------------------ labels and pipelines


@classifiers
def test_labels_seen_for_the_first_time(model_class):
    X, signal = rows(2000)
    model = small(model_class, **({} if model_class in HARD + FORESTS else {"learning_rate": 0.03}))
    for i, x in enumerate(dicts(X)):
        label = "b" if X[i, 0] > 0 else "a"
        model.learn_one(x, "late" if i > 300 and X[i, 1] > 0.5 else label)
        assert sum(model.predict_proba_one(x).values()) == pytest.approx(1.0)
    assert set(model.predict_proba_one(x)) == {"a", "b", "late"}
    assert model.predict_one({"a": 1.0, "b": 2.0, "c": 0.0}) == "late"
    for labels in ([True, False], [1, 2], [1.5, 2.5], [("a", 1), ("b", 2)]):
        model = small(model_class)
        for x, s in zip(dicts(X), signal, strict=True):
            model.learn_one(x, labels[int(s > 1)])
        assert {model.predict_one(x) for x in dicts(X)} == set(labels)


@every
def test_pipelines(model_class):
    X, y = SEA(seed=0).take(2000)
    model = compose.Pipeline(preprocessing.StandardScaler(), small(model_class))
    pairs = zip(dicts(X), (y == 1).tolist() if model_class in CLASSIFIERS else y.tolist(), strict=True)
    metric = metrics.Accuracy() if model_class in CLASSIFIERS else metrics.MAE()
    found = evaluate.progressive_val_score(pairs, model, metric).get()
    assert found > 0.85 if model_class in CLASSIFIERS else found < 0.25


@every
def test_copies_go_on_bit_for_bit(model_class):
    X, signal = rows()
    y = targets(model_class, signal)
    model = small(model_class)
    for x, label in zip(dicts(X[:150]), y[:150], strict=True):
        model.learn_one(x, label)
    again = copy.deepcopy(model)
    for x, label in zip(dicts(X[150:]), y[150:], strict=True):
        model.learn_one(x, label)
        again.learn_one(x, label)
    assert_same(model, again)


def test_without_river():
    code = (
        "import sys; sys.modules['river'] = None\n"
        "import softwood.stream\n"
        "try:\n    import softwood.stream.river\n"
        "except ImportError as error:\n    print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == (
        'Learning as river\'s models do needs river. Install it with: pip install "softwood[streams]"'
    )


@pytest.mark.parametrize("kind", ["ADWIN", "PageHinkley", "DDM"])
def test_detectors_in_rivers_ensembles(kind):
    """river clones a detector, hands it errors, and asks for alarms."""
    from river import drift, forest

    detector = getattr(river, kind)()
    X, _ = rows(900)
    found = []
    peers = (drift.binary.DDM if kind == "DDM" else getattr(drift, kind))()
    for one in (detector, peers):
        model = forest.ARFClassifier(3, seed=1, drift_detector=one, warning_detector=one)
        wrong = 0
        for i, x in enumerate(dicts(X)):
            label = int((X[i, 0] > 0) ^ (i > 450))
            wrong += model.predict_one(x) != label
            model.learn_one(x, label)
        found.append((wrong, [model.n_drifts_detected(k) for k in range(3)]))
    assert found[0] == found[1]
    assert sum(found[0][1]) > 0


@every
def test_rows_of_weight_zero_have_no_effect(model_class):
    """Not even if their features, categories or labels are new."""
    is_class = model_class in CLASSIFIERS
    rng = np.random.default_rng(0)
    model, expected = small(model_class), small(model_class)
    new = {"size": 1.0, "city": "Bergen", "other": 3.0}
    rows = [{"size": x, "city": "Oslo" if x > 0.3 else "Rome"} for x in rng.normal(size=150)]
    targets = [x["city"] == "Oslo" if is_class else x["size"] for x in rows]
    model.learn_one(new, "new" if is_class else 1e9, w=0.0)
    for x, y in zip(rows, targets, strict=True):
        model.learn_one(x, y)
        expected.learn_one(x, y)
        model.learn_one(new, "new" if is_class else 1e9, w=0.0)
    block = pd.DataFrame([new] * 5)
    model.learn_many(block, pd.Series(["new"] * 5 if is_class else [1e9] * 5), w=np.zeros(5))
    assert model.feature_names == expected.feature_names
    for x in rows:
        if is_class:
            assert model.predict_proba_one(x) == expected.predict_proba_one(x)
        else:
            assert model.predict_one(x) == expected.predict_one(x)
    with pytest.raises(ValueError, match="infinite"):
        model.learn_one({"size": np.inf}, targets[0], w=0.0)


@pytest.mark.parametrize("side", ["Classifier", "Regressor"])
def test_settings_of_the_paper(side):
    name = f"SoftHoeffdingTree{side}"
    model = getattr(river, name).as_published(max_depth=4, seed=3)
    expected = getattr(stream, name).as_published(max_depth=4, random_state=3).get_params()
    assert model.seed == 3
    assert all(getattr(model, key) == value for key, value in expected.items() if hasattr(model, key))
    assert not hasattr(river.HoeffdingTreeClassifier, "as_published")


def test_dates_in_dicts(tmp_path):
    """A date has columns for days, hour, weekday and month from its first row on; files keep them."""
    begin = datetime.datetime(2021, 3, 5, 6)
    model = river.SoftHoeffdingTreeClassifier(seed=0)
    rows = [({"x": k % 3, "at": begin + datetime.timedelta(hours=7 * k), "day": None}, k % 2 == 0) for k in range(300)]
    for x, label in rows:
        model.learn_one(x, label)
    parts = ["days since 2021-03-05", "hour", "weekday", "month"]
    assert model.feature_names == [*(f"at: {part}" for part in parts), "x"]
    model.learn_one({"x": 1, "at": None, "day": datetime.date(2021, 3, 5)}, True)
    assert model.feature_names[5:] == [f"day: {part}" for part in parts]
    model.learn_one({"x": 1, "wait": datetime.timedelta(days=2)}, True)
    softwood.save(model, tmp_path / "model.softwood")
    again = softwood.load(tmp_path / "model.softwood")
    later = {"x": 2, "at": begin + datetime.timedelta(days=5000)}
    assert again.predict_proba_one(later) == model.predict_proba_one(later)
    again.learn_one(later, False)
    model.learn_one(later, False)
    assert again.predict_proba_one(later) == model.predict_proba_one(later)
    before = model.predict_proba_one(later)
    for wrong, message in (
        (begin.replace(tzinfo=datetime.UTC), "'at' has the time zone UTC, and had none in fit"),
        (datetime.timedelta(1), "'at' held dates in fit"),
    ):
        with pytest.raises(ValueError, match=message):
            model.learn_one({"x": 1, "at": wrong}, True)
    assert model.predict_proba_one(later) == before
    frame = pd.DataFrame([x for x, _ in rows]).astype({"day": "datetime64[us]"})
    blocks = river.SoftHoeffdingTreeClassifier(seed=0)
    blocks.learn_many(frame, pd.Series([label for _, label in rows]))
    one_by_one = river.SoftHoeffdingTreeClassifier(seed=0)
    for x, label in rows:
        one_by_one.learn_one(x, label)
    assert blocks.predict_proba_one(later) == one_by_one.predict_proba_one(later)
    assert softwood.explain(model, frame[:1].assign(wait=pd.Timedelta(0))).columns == ("at", "x", "day", "wait")
