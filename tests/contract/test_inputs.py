"""What estimators are given: kinds of tables, targets and weights, odd data, and what is refused."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import cross_val_score

from tests.contract.specs import (
    BATCH,
    CLASSES,
    SPECS,
    every,
    every_batch,
    every_classifier,
    every_validated,
    over,
    over_ways,
)
from tests.models import answer, trees_of

batch_classifiers = over([spec for spec in BATCH if spec.is_classifier])

# ------------------------------------------------------------------ kinds of tables


@every
def test_arrays_of_any_kind(spec):
    X, y = spec.table()
    X = np.round(8 * X)
    expected = answer(spec.make().fit(X, y), X)
    locked, locked_y = X.copy(), y.copy()
    locked.flags.writeable = locked_y.flags.writeable = False
    kinds = (
        X.astype(np.float32), X.astype(int), np.asfortranarray(X), locked, X[::-1][::-1], X.tolist(),
        X.astype(">f8"), X.astype(object), np.ma.asarray(X),
    )  # fmt: skip
    for other in kinds:
        models = [spec.make().fit(other, locked_y)]
        if spec.is_stream:
            models.append(spec.make().partial_fit(other[:1], locked_y[:1], **spec.classes(y)))
            models[1].partial_fit(other[1:], locked_y[1:])
        for model in models:
            assert np.array_equal(answer(model, other), expected)
            assert model.n_features_in_ == 4
    for call in (model.memberships, model.apply, model.input_gradient):
        one, two = call(X), call(locked)
        assert np.array_equal(*(each.toarray() if hasattr(each, "toarray") else each for each in (one, two)))


@every
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_columns(spec, frame):
    X, y = spec.table()
    named = frame(dict(zip("abcd", X.T, strict=True)))
    model = spec.make().fit(named, y)
    assert np.array_equal(answer(model, named), answer(spec.fitted(), X))
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    for other in (named[["b", "a", "c", "d"]], named[["a", "b"]]):
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(other)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    assert not hasattr(spec.fitted(), "feature_names_in_")


def messy(spec, n=300):
    """Numbers, text, categories and flags, with missing cells; most of the signal is in the text."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "size": rng.normal(size=n), "city": rng.choice(["Oslo", "Rome", "Lima"], size=n),
        "kind": pd.Categorical(rng.choice(["a", "b"], size=n)), "open": rng.random(n) < 0.5,
        "rooms": rng.integers(1, 6, size=n),
    })  # fmt: skip
    signal = frame["size"] + 3.0 * (frame["city"] == "Rome") - (frame["kind"] == "a")
    y = np.where(signal > 0.5, "up", "down") if spec.is_classifier else signal.to_numpy()
    frame.loc[:10, "city"] = None
    frame.loc[5:20, "size"] = np.nan
    return frame, y


@every_batch
def test_identifiers_are_not_learned(spec):
    X, y = spec.table()
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(row=[f"number {i}" for i in range(len(X))])
    frame.loc[3:5, "row"] = None
    model = spec.make().fit(frame, y)
    assert np.array_equal(answer(model, frame), answer(model, frame.assign(row="number 7")))


@every
def test_frames_with_text_and_missing_cells(spec):
    frame, y = messy(spec)
    same = pl.from_pandas(frame.astype({"kind": "str"}))
    one, other = spec.make().fit(frame, y), spec.make().fit(same, y)
    assert np.array_equal(answer(one, frame), answer(other, same))
    assert one.score(frame[21:], y[21:]) > (0.75 if spec.is_classifier else 0.3)
    if not spec.is_stream:
        as_columns = ("size", "city=Lima", "city=Oslo", "city=Rome", "kind=b", "open=True", "rooms")
        is_kernel = spec.name.startswith("Kernel")  # these test sets of categories
        assert one.columns_.names == (tuple(frame.columns) if is_kernel else as_columns)
    assert one.feature_importances_.shape == (5,)
    assert one.feature_importances_[1] > one.feature_importances_[4]
    assert one.input_gradient(frame[:5])[:, :, 1:4].any() == np.False_  # categories have no slope
    assert np.isfinite(answer(one, frame.assign(city=None, size=np.nan, rooms=np.nan))).all()
    wild = np.where(frame["city"] == "Rome", "Bern", frame["city"])  # is none of those that are known
    rest = frame["city"] != "Rome"
    assert np.array_equal(answer(one, frame.assign(city=wild))[rest], answer(one, frame)[rest])


@every_batch
def test_unknown_categories_are_shared_like_missing_values(spec):
    frame, y = messy(spec)
    model = spec.make().fit(frame, y)
    assert np.array_equal(answer(model, frame.assign(city="new")), answer(model, frame.assign(city=None)))
    model.set_params(handle_unknown="error").fit(frame, y)
    with pytest.raises(ValueError, match=r"Column 'city' holds categories that were not seen in fit: \['new'\]"):
        model.predict(frame.assign(city="new"))


@every
def test_cross_validation_with_rare_categories(spec):
    X, y = spec.table()
    rare = pd.DataFrame(X).rename(columns=str).assign(word=[f"w{k}" for k in np.arange(len(X)) % 60])
    assert np.isfinite(cross_val_score(spec.make(), rare, y, cv=3, error_score="raise")).all()


# ------------------------------------------------------------------ odd data

ROWS = np.arange(20.0).reshape(10, 2)
ODD = {
    "single row": ([[1.0, 2.0]], [1]),
    "single column": (np.arange(10.0)[:, None], [0, 1] * 5),
    "two rows": ([[0.0, 1.0], [1.0, 1.0]], [0, 1]),
    "two equal rows": ([[0.0, 1.0], [0.0, 1.0]], [1, 1]),
    "two equal rows of two classes": ([[0.0, 1.0], [0.0, 1.0]], [0, 1]),
    "three rows": ([[0.0, 1.0], [1.0, np.nan], [2.0, 0.0]], [0, 1, 1]),
    "one class": (ROWS, np.ones(10)),
    "a class for each row": (ROWS, np.arange(10)),
    "constant columns": (np.full((60, 2), 3.0), [0, 1] * 30),
    "duplicates": (np.repeat([[0.0, 1.0], [1.0, 0.0]], 80, axis=0), np.repeat([0, 1], 80)),
    "contradicting duplicates": (np.zeros((40, 2)), np.arange(40) % 2),
    "equal means": ([[-1.0, 0], [1.0, 0], [0, -1.0], [0, 1.0]] * 5, [0, 0, 1, 1] * 5),
    "all missing": (np.full((60, 2), np.nan), [0, 1] * 30),
    "a column all missing": (np.tile([np.nan, 1.0], (60, 1)), [0, 1] * 30),
    "smallest numbers": (np.arange(120.0).reshape(60, 2) % 7 * 5e-324, [0, 1] * 30),
    "small numbers": (np.arange(120.0).reshape(60, 2) % 7 * 1e-300, [0, 1] * 30),
    "large numbers": (np.arange(120.0).reshape(60, 2) % 7 * 1e300, [0, 1] * 30),
    "largest numbers": (np.array([[1.7e308, -1.7e308], [-1.7e308, 1.7e308]] * 20), [0, 1] * 20),
    "all scales": (np.array([[0.0, 1e300], [1e-300, 1.0], [1e300, -1e300], [1.0, 0.0]] * 8), [0, 1, 1, 0] * 8),
}


@over_ways(SPECS)
@pytest.mark.parametrize("odd", ODD)
def test_odd_data(spec, way, odd):
    X, y = (np.array(part) for part in ODD[odd])
    if spec.name == "KernelBoostingClassifier" and len(np.unique(y)) == 1:
        with pytest.raises(ValueError, match="one class only; boosting needs at least two"):
            spec.make().fit(X, y)
        return
    if "early_stopping" in way:
        pytest.skip("equal rows cannot be divided")
    model = spec.make(**way).fit(X, y)
    found = answer(model, X)
    assert np.isfinite(found).all()
    assert model.predict(X).shape == (len(X),)
    assert model.feature_importances_.sum() == pytest.approx(1.0) or not model.feature_importances_.any()
    assert model.get_n_leaves() >= len(trees_of(model))
    if spec.is_classifier:
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert found.min() >= 0.0
    if odd == "contradicting duplicates" and not spec.is_stream and not way:
        assert found == pytest.approx(0.5, abs=0.05)
    assert np.isfinite(model.input_gradient(X)).all()
    if spec.is_stream:  # which learns the rows again
        assert np.isfinite(model.test_then_train(X, y)).all()
        assert np.isfinite(answer(model, X)).all()


@every_batch
def test_what_is_plain_is_learned(spec):
    for odd in ("duplicates", "largest numbers"):
        X, y = ODD[odd]
        X, y = np.tile(X, (4, 1)), np.tile(y, 4)
        assert np.abs(spec.make(**spec.long).fit(X, y).predict(X) - y).max() < 0.2


@every
@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e150])
def test_columns_of_any_scale(spec, scale):
    if spec.is_stream:  # squares of the columns must be floats, for a scale is not known beforehand
        scale = max(scale, 1e-140)
    X, y = spec.table(n=200)
    expected = spec.make().fit(X, y).score(X, y)
    assert spec.make().fit(X * scale, y).score(X * scale, y) == pytest.approx(expected, abs=0.12)


@over([spec for spec in BATCH if not spec.is_classifier])
@pytest.mark.parametrize("unit", [2.0**-30, 2.0**40])
def test_the_unit_of_the_target_does_not_matter(spec, unit):
    X, y = spec.table()
    found = spec.make().fit(X, y * unit).predict(X) / unit
    np.testing.assert_allclose(found, spec.fitted().predict(X), rtol=1e-9, atol=1e-12)


LOSSES = [{"loss": "absolute_error"}, {"loss": "quantile", "quantile": 0.7}, {"loss": "poisson"}]
WITH_LOSSES = [
    (spec, parameters)
    for spec in SPECS
    if not spec.is_classifier
    for parameters in ([{}, *LOSSES] if "loss" in spec.parameters else [{}])
]


@pytest.mark.parametrize(("spec", "parameters"), WITH_LOSSES, ids=str)
@pytest.mark.parametrize("scale", [2.0**996, 2.0**-996])
def test_huge_and_tiny_targets(spec, parameters, scale):
    """No warning, which would be an error here, and errors that are as large for their scale.

    Powers of two: targets that are rounded may grow another tree.
    """
    X, y = spec.table(n=200)
    y = np.exp(y)

    def error(unit):
        found = spec.make(**parameters).fit(X, y * unit).predict(X)
        assert np.all(np.isfinite(found))
        return np.sqrt(np.mean((found / unit - y) ** 2))

    assert error(scale) == pytest.approx(error(1.0), rel=0.1)


# ------------------------------------------------------------------ targets


@every_classifier
@pytest.mark.parametrize(
    ("labels", "kind"),
    [(["x", "yy", "z"], "U"), ([True, False, True], "b"), ([2.0, -1.0, 7.0], "f"), ([3, 1, 2], "i")],
)
def test_labels_of_any_kind(spec, labels, kind):
    X, words = spec.table()
    y = np.array(labels)[np.searchsorted(CLASSES, words)]
    model = spec.make().fit(X, y)
    assert model.classes_.tolist() == sorted(set(labels))
    assert model.predict(X).dtype.kind == kind
    assert np.mean(model.predict(X) == y) > 0.45
    for other in (y.tolist(), pd.Series(y, index=np.arange(len(y))[::-1]), pl.Series(y.tolist())):
        assert np.array_equal(answer(spec.make().fit(X, other), X), answer(model, X))
    if spec.is_stream:
        assert np.array_equal(answer(spec.make().partial_fit(X, y.astype(object), classes=labels), X), answer(model, X))


@batch_classifiers
@pytest.mark.parametrize("n_classes", [2, 3])
def test_fuzzy_labels(spec, n_classes):
    X, y = spec.table(n=200, n_classes=n_classes)
    sharp = (y[:, None] == CLASSES[:n_classes]).astype(float)
    expected = spec.make().fit(X, y)
    for shares in (sharp, pd.DataFrame(sharp, columns=CLASSES[:n_classes])):
        model = spec.make().fit(X, shares)
        np.testing.assert_allclose(answer(model, X), answer(expected, X), rtol=0, atol=1e-12)
    assert model.classes_.tolist() == CLASSES[:n_classes].tolist()
    blurred = spec.make().fit(X, 0.5 * sharp + 0.5 / n_classes)
    even = spec.make().fit(X, np.full((200, n_classes), 1 / n_classes))
    np.testing.assert_allclose(answer(even, X), 1 / n_classes)
    sure, unsure = (np.mean(answer(m, X)[sharp == 1]) for m in (expected, blurred))
    assert 1 / n_classes < unsure < sure
    with pytest.raises(ValueError, match="class_weight needs class labels"):
        spec.make(class_weight="balanced").fit(X, sharp)


@batch_classifiers
def test_weights_of_classes(spec):
    X, y = spec.table(n=200)
    y = np.where((y == "cow") & (np.arange(200) % 4 > 0), "bee", y)
    counts = dict(zip(*np.unique(y, return_counts=True), strict=True))
    by_hand = {label: 200 / (3 * count) for label, count in counts.items()}
    plain, balanced, given = (
        spec.make(class_weight=weights).fit(X, y) for weights in (None, "balanced", by_hand)
    )  # fmt: skip
    np.testing.assert_allclose(answer(given, X), answer(balanced, X), rtol=0, atol=1e-9)
    rare = y == "cow"
    assert answer(balanced, X)[rare, 2].mean() > answer(plain, X)[rare, 2].mean()
    for size in (1e-200, 1e-3, 1e300):
        scaled = spec.make(class_weight={label: size * weight for label, weight in by_hand.items()}).fit(X, y)
        assert scaled.get_n_leaves() > len(trees_of(scaled))
        assert scaled.score(X, y) > balanced.score(X, y) - 0.15
    without = spec.make(class_weight={"ant": 1.0, "bee": 1.0, "cow": 0.0}).fit(X, y)
    assert without.classes_.tolist() == CLASSES.tolist()
    assert "cow" not in without.predict(X)
    with pytest.raises(ValueError, match="class_weight is zero for all classes"):
        spec.make(class_weight=dict.fromkeys(CLASSES, 0.0)).fit(X, y)


@batch_classifiers
def test_weights_of_classes_are_weights_of_rows(spec):
    X, y = spec.table()
    own = {"bandwidth_unit": "absolute", "cutoff": 0.0} if spec.is_kernel else {}
    # what is drawn depends on the weights of the rows
    own |= {"bootstrap": False, "max_features": None} if "bootstrap" in spec.parameters else {}
    factors = dict(zip(CLASSES, (1.0, 3.0, 0.5), strict=True))
    by_class = spec.make(class_weight=factors, **own).fit(X, y)
    by_row = spec.make(**own).fit(X, y, sample_weight=[factors[label] for label in y])
    np.testing.assert_allclose(answer(by_class, X), answer(by_row, X), rtol=0, atol=1e-9)


@over([spec for spec in BATCH if not spec.is_classifier and "loss" not in spec.parameters])
def test_several_targets(spec):
    X, y = spec.table(n=200)
    Y = np.column_stack([y, -2 * y])
    model = spec.make(**spec.long).fit(X, Y)
    assert model.predict(X).shape == (200, 2)
    assert model.n_outputs_ == 2
    scores = 1 - ((model.predict(X) - Y) ** 2).mean(axis=0) / Y.var(axis=0)
    assert scores.min() > 0.2
    assert scores[0] == pytest.approx(scores[1], abs=0.05)
    column = spec.make().fit(X, y[:, None])
    assert column.predict(X).shape == (200, 1)
    assert np.array_equal(column.predict(X)[:, 0], spec.make().fit(X, y).predict(X))


# ------------------------------------------------------------------ weights


@over_ways([spec for spec in BATCH if spec.is_kernel])  # test_invariance.py asks more of the others
def test_weights_are_repetitions_in_any_order(spec, way):
    X, y = spec.table(n=80)
    weights = np.random.default_rng(1).integers(0, 4, size=len(X))
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(len(X)), weights))
    weighted, repeated = spec.make(**way).fit(X, y, sample_weight=weights), spec.make(**way).fit(X[rows], y[rows])
    np.testing.assert_allclose(answer(weighted, X), answer(repeated, X), rtol=0, atol=1e-8)


@over_ways(BATCH)
def test_order_of_rows_does_not_matter(spec, way):
    X, y = spec.table()
    X[:5] = X[5:10]  # the same rows with other targets
    rows = np.random.default_rng(7).permutation(len(X))
    weights = np.random.default_rng(8).uniform(0.5, 2.0, size=len(X)) if spec.is_kernel else np.ones(len(X))
    one, other = spec.make(**way).fit(X, y, weights), spec.make(**way).fit(X[rows], y[rows], weights[rows])
    new = spec.table(seed=1)[0]
    np.testing.assert_allclose(answer(one, new), answer(other, new), rtol=0, atol=1e-8)


@over([spec for spec in BATCH if spec.name.startswith(("KernelTree", "KernelBoosting"))])  # nothing is drawn
def test_order_of_columns_does_not_matter(spec):
    X, y = spec.table()
    columns = np.random.default_rng(7).permutation(4)
    found = answer(spec.make().fit(X[:, columns], y), X[:, columns])
    np.testing.assert_allclose(found, answer(spec.fitted(), X), rtol=0, atol=1e-8)


@every_batch
@pytest.mark.parametrize("unit", ["sum", 1e-300, 2.0**-40, 1e300])
def test_the_unit_of_the_weights_does_not_make_a_constant_model(spec, unit):
    X, y = spec.table()
    weights = np.random.default_rng(2).uniform(0.5, 1.5, size=len(X))
    weights = weights / weights.sum() if unit == "sum" else weights * unit
    model = spec.make().fit(X, y, sample_weight=weights)
    assert np.isfinite(answer(model, X)).all()
    assert model.get_n_leaves() > len(trees_of(model)), "no splits"
    assert model.score(X, y) > spec.fitted().score(X, y) - 0.15


@every_batch
def test_equal_weights_are_no_weights_whatever_their_size(spec):
    X, y = spec.table()
    for size in (1 / len(X), 0.3, 1e-200):
        weighted = spec.make().fit(X, y, sample_weight=np.full(len(X), size))
        assert answer(weighted, X) == pytest.approx(answer(spec.fitted(), X), rel=1e-6, abs=1e-6)


# ------------------------------------------------------------------ what is refused


def wrong_tables(X):
    """Tables that are refused, and the message; another number of columns only once a model is fitted."""
    inf = X.copy()
    inf[7, 1] = np.inf
    yield inf, r"Column 'x\[1\]' contains infinity"
    yield np.where(X > 0, np.inf, -np.inf), "contains infinity"
    yield X[:, :2], "X has 2 features, but .* is expecting 4"
    yield np.hstack([X, X]), "X has 8 features, but .* is expecting 4"
    yield X[:0], "0 sample"
    yield X[0], "2D array"
    yield np.full((len(X), 4), "x"), "could not convert string to float"
    yield X + 1j, "[Cc]omplex"


def wrong_fits(spec, X, y):
    """Arguments of `fit` that are refused, and the message."""
    n = len(X)
    codes = (np.searchsorted(CLASSES, y) if spec.is_classifier else y).astype(float).tolist()
    yield from (((wrong, y[: len(wrong)]), message) for wrong, message in wrong_tables(X) if "features" not in message)
    yield (X, y[:5]), "inconsistent numbers of samples"
    yield (X, None), "requires y to be passed"
    yield (X, [*codes[:-1], np.nan]), "NaN|every row needs a class"
    yield (X, [*codes[:-1], np.inf]), "inf"
    yield (X, y, np.full(n, -1.0)), "sample_weight must hold finite numbers of at least 0"
    yield (X, y, np.full(n, np.nan)), "sample_weight must hold finite numbers"
    yield (X, y, np.full(n, "x")), "sample_weight must hold numbers"
    yield (X, y, np.ones(3)), rf"sample_weight.shape == \(3,\), expected \({n},\)"
    yield (X, y, np.zeros(n)), "sample_weight is zero for all rows"
    if not spec.is_classifier:
        yield (X, np.full(n, "x")), "could not convert string to float"
    if spec.is_stream:
        yield (X, np.column_stack([y, y])), "1d array"


@every
def test_wrong_inputs_are_told_and_change_nothing(spec):
    X, y = spec.table()
    model, fresh = spec.make().fit(X, y), spec.make()
    before, expected = dict(vars(model)), answer(model, X)
    for arguments, message in wrong_fits(spec, X, y):
        for each, is_fitted in ((model, True), (fresh, False)):
            calls = [each.fit]
            if spec.is_stream and message != "sample_weight is zero for all rows":
                known = spec.classes(y)
                calls += [partial(each.partial_fit, **known), partial(each.test_then_train, **known)]
            for call in calls:
                with pytest.raises(ValueError, match=message):
                    call(*arguments[:2], sample_weight=dict(enumerate(arguments)).get(2))
                assert vars(each) == (before if is_fitted else vars(spec.make()))
    for wrong, message in wrong_tables(X):
        with pytest.raises(ValueError, match=message):
            model.predict(wrong)
    assert np.array_equal(answer(model, X), expected)


# ------------------------------------------------------------------ rows given to validate on


@every_validated
def test_validation_rows_may_be_given(spec):
    X, y = spec.table(n=200)
    X_val, y_val = spec.table(n=200, seed=1)
    own = {"early_stopping": True, "max_iter": 60} if "early_stopping" in spec.parameters else {}
    model, other = (spec.make(**own).fit(X, y, X_val=X_val, y_val=v) for v in (y_val, np.roll(y_val, 1)))
    assert model.get_n_leaves() > len(trees_of(model))
    assert trees_of(model)[0].mass[0] == pytest.approx(200)  # no row is set aside
    assert model.history_ != other.history_ or not np.array_equal(answer(model, X), answer(other, X))
    if spec.is_classifier:  # they may lack classes
        part = y_val != "bee"
        assert spec.make(**own).fit(X, y, X_val=X_val[part], y_val=y_val[part]).classes_.tolist() == CLASSES.tolist()


@every_validated
def test_wrong_validation_rows(spec):
    X, y = spec.table()
    model = spec.make()
    wrong = [
        ({"X_val": X}, "X_val and y_val must be given together"),
        ({"y_val": y}, "X_val and y_val must be given together"),
        ({"sample_weight_val": np.ones(120)}, "sample_weight_val is given without X_val and y_val"),
        ({"X_val": X, "y_val": y[:10]}, "X_val has 120 rows, but y_val has 10"),
        ({"X_val": X[:, :3], "y_val": y}, "3 features"),
        ({"X_val": X, "y_val": y, "sample_weight_val": np.zeros(120)}, "leave no row of X_val with a weight above"),
        ({"X_val": X, "y_val": y, "sample_weight_val": -np.ones(120)}, "sample_weight_val must hold finite numbers"),
    ]
    if spec.is_classifier:
        wrong.append(({"X_val": X, "y_val": np.where(y == "cow", "emu", y)}, "y_val has the class 'emu', which y does"))
        wrong.append(({"X_val": X, "y_val": np.arange(120) % 3}, "y_val has the class 0, which y does not have"))
    else:
        wrong.append(({"X_val": X, "y_val": np.full(120, np.nan)}, "NaN"))
    for given, message in wrong:
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, **given)
    assert vars(model) == vars(spec.make())
