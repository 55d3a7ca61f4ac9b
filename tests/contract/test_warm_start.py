"""Warm starts: a fit goes on with the trees of the last one, and its table must mean the same to them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from softwood.fitted import FittedModel
from tests.contract.specs import SPECS, over
from tests.models import answer

WARM = [spec for spec in SPECS if "warm_start" in spec.parameters]
warm = over(WARM)
forests = over([spec for spec in WARM if "n_estimators" in spec.parameters])


def grow(model):
    """Ask for more trees, if it is a model of several."""
    return model.set_params(n_estimators=model.n_estimators + 2) if hasattr(model, "n_estimators") else model


def cities(spec, names=("Oslo", "Rome"), n=160, seed=0):
    """A table whose target is +10 in Oslo, -10 in Rome and 0 elsewhere."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"size": rng.normal(size=n), "city": rng.choice(names, size=n), "age": rng.normal(size=n)})
    signal = frame["city"].map({"Oslo": 10.0, "Rome": -10.0}).fillna(0.0).to_numpy() + 0.1 * frame["size"].to_numpy()
    return frame, np.where(signal > 0, "up", "down") if spec.is_classifier else signal


@warm
def test_a_warm_start_goes_on_with_the_last_fit(spec):
    X, y = spec.table()
    model = spec.make(warm_start=True).fit(X, y)
    if "n_estimators" in spec.parameters:
        model.set_params(n_estimators=6).fit(X, y)
        assert np.array_equal(answer(model, X), answer(spec.make(n_estimators=6).fit(X, y), X))
    else:
        n_lines = len(model.history_)
        assert len(model.fit(X, y).history_) > n_lines
        assert len(model.set_params(warm_start=False).fit(X, y).history_) == n_lines


@forests
def test_two_fits_to_categories_are_one(spec):
    frame, y = cities(spec, ("Oslo", "Rome", "Bergen"))
    model = grow(spec.make(warm_start=True).fit(frame, y)).fit(frame, y)
    assert np.array_equal(answer(model, frame), answer(spec.make(n_estimators=model.n_estimators).fit(frame, y), frame))


@forests
@pytest.mark.parametrize("n_new", [1, 60])
def test_old_categories_keep_their_meaning(spec, n_new):
    """New ones come last, whatever their place in the alphabet."""
    frame, y = cities(spec)
    model = spec.make(warm_start=True).fit(frame, y)
    first = answer(model, frame)
    names = ("Oslo", "Rome", *(f"Bergen {k}" for k in range(n_new)))
    later, later_y = cities(spec, names, n=600, seed=1)
    grow(model).fit(later, later_y)
    assert model.columns_.categories[1][:2] == ("Oslo", "Rome")
    assert set(model.columns_.categories[1]) == set(names)
    assert model.score(frame, y) > 0.9
    assert model.score(later[later["city"].isin(["Oslo", "Rome"])], later_y[later["city"].isin(["Oslo", "Rome"])]) > 0.9
    # the trees of the first fit say what they said, and new categories share a leaf that they have
    old = model.forest_.first(spec.small["n_estimators"])
    matrix = model._matrix(frame)
    found = old.predict(matrix)
    np.testing.assert_allclose(found if spec.is_classifier else found[:, 0], first, rtol=0, atol=1e-9)
    new = model._matrix(later[later["city"] == "Bergen 0"])
    assert np.isfinite(old.predict(new)).all()
    # the new categories are known to exports, too
    portable = FittedModel.of(model).portable().one_hot().predict(later)
    np.testing.assert_allclose(portable.reshape(answer(model, later).shape), answer(model, later), rtol=0, atol=1e-9)


@over([spec for spec in WARM if "n_estimators" not in spec.parameters])
def test_new_categories_that_have_no_place_are_refused(spec):
    frame, y = cities(spec)
    model = spec.make(warm_start=True).fit(frame, y)
    before = answer(model, frame)
    later, later_y = cities(spec, ("Oslo", "Rome", "Bergen"), seed=1)
    with pytest.raises(ValueError, match=r"Column 'city' holds categories .*\['Bergen'\].*warm_start=False"):
        model.fit(later, later_y)
    assert np.array_equal(answer(model, frame), before)
    model.fit(frame, y)  # the same ones, or fewer, are no reason to refuse
    is_one = (frame["city"] == "Oslo") | (np.arange(len(frame)) < 2)
    if not spec.is_classifier:
        model.fit(frame[is_one], y[is_one])
    assert model.set_params(warm_start=False).fit(later, later_y).columns_.categories[1] == ("Bergen", "Oslo", "Rome")


@warm
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_other_columns_are_refused(spec, kind):
    frame, y = cities(spec)
    make = pl.from_pandas if kind == "polars" else pd.DataFrame
    model = grow(spec.make(warm_start=True).fit(make(frame), y))
    before = answer(model, make(frame))
    others = [
        (frame[["age", "city", "size"]], "(?s)feature names should match.*warm_start=False"),
        (frame.rename(columns={"size": "length"}), "(?s)feature names should match.*length.*warm_start=False"),
        (frame[["size", "city"]], "(?s)feature names should match.*age.*warm_start=False"),
        (frame.assign(city=frame["size"]), "Column 'city' held categories .* holds numbers now.*warm_start=False"),
        (frame.assign(age=frame["city"]), "Column 'age' held numbers .* holds categories now.*warm_start=False"),
        (frame.assign(city=frame["size"] > 0), "Column 'city' held text .* holds truth values now.*warm_start=False"),
    ]
    for other, message in others:
        with pytest.raises(ValueError, match=message):
            model.fit(make(other), y)
        assert np.array_equal(answer(model, make(frame)), before)
    model.fit(make(frame), y)


@warm
def test_columns_whose_names_are_not_text(spec):
    X, y = spec.table()
    frame = pd.DataFrame(X, columns=[3, 2, 1, 0])
    model = grow(spec.make(warm_start=True).fit(frame, y))
    with pytest.raises(ValueError, match=r"feature names should match.*\[3, 2, 1, 0\].*Got \[0, 1, 2, 3\]"):
        model.fit(frame[[0, 1, 2, 3]], y)
    model.fit(frame, y)


@warm
def test_missing_cells_have_no_kind(spec):
    """A column without values in a later fit is neither of numbers nor of categories."""
    frame, y = cities(spec)
    model = grow(spec.make(warm_start=True).fit(frame, y))
    model.fit(frame.assign(city=np.nan, age=pd.Series([None] * len(frame), dtype="str")), y)
    assert model.columns_.categories[1] == ("Oslo", "Rome")


@warm
def test_a_warm_start_with_other_targets_is_refused(spec):
    X, words = spec.table()
    y = np.unique(words, return_inverse=True)[1] if spec.is_classifier else words
    model = spec.make(warm_start=True).fit(X, y)
    before = model.predict(X)
    if spec.is_classifier:
        others = [(np.minimum(y, 1), r"\[0, 1\]"), (y + 1, r"\[1, 2, 3\]"), (words, r"\['ant'")]
        message = r"With warm_start=True y must have the classes of the last fit, \[0, 1, 2\]. Got "
    else:
        others = [(X[:, :2], "2")]
        message = "With warm_start=True y must have as many targets as in the last fit, 1. Got "
    if "n_estimators" in spec.parameters:
        model.set_params(n_estimators=5)
    for targets, found in others:
        with pytest.raises(ValueError, match=f"{message}{found}.* warm_start=False"):
            model.fit(X, targets)
        assert np.array_equal(model.predict(X), before)
    model.fit(X, y)
