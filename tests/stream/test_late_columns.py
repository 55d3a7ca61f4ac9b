"""Columns of frames without a value in the first parts of a stream: what they hold is known when a value comes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from softwood.stream import HoeffdingTreeClassifier, SoftHoeffdingTreeClassifier, SoftHoeffdingTreeRegressor
from tests.stream.test_model import assert_same_model

MODELS = [SoftHoeffdingTreeClassifier, HoeffdingTreeClassifier, SoftHoeffdingTreeRegressor]
models = pytest.mark.parametrize("model_class", MODELS)
frames = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])


def table(n=300):
    """Numbers, a text that begins with row 40, a number that begins with row 70, and one that never comes."""
    rng = np.random.default_rng(0)
    city = [None] * 40 + [str(c) for c in rng.choice(list("abc"), n - 40)]
    late = [None] * 70 + rng.normal(size=n - 70).tolist()
    a = rng.normal(size=n).tolist()
    y = np.array([x > 0 if c is None else c == "a" for x, c in zip(a, city, strict=True)]).astype(int)
    return {"city": city, "a": a, "late": late, "never": [None] * n}, y


def make(model_class, seed=0):
    return (
        model_class(grace_period=20)
        if model_class is HoeffdingTreeClassifier
        else model_class(grace_period=20, random_state=seed)
    )


def learn(model, X, y):
    classes = {"classes": [0, 1]} if hasattr(model, "predict_proba") else {}
    return model.partial_fit(X, y, **classes)


@frames
@models
@pytest.mark.parametrize("cuts", [[20], [40, 70], [10, 55, 90, 200]])
def test_any_partition_gives_the_same_model(model_class, frame, cuts):
    columns, y = table()
    whole = learn(make(model_class), frame(columns), y)
    parts = make(model_class)
    for begin, end in zip([0, *cuts], [*cuts, len(y)], strict=True):
        learn(parts, frame({name: values[begin:end] for name, values in columns.items()}), y[begin:end])
    assert_same_model(parts, whole)
    assert whole.columns_.names[0] == "a"
    assert set(whole.columns_.names) == {"a", "city=a", "city=b", "city=c", "late"}
    assert whole.score(frame(columns), y) > 0.6


@models
@pytest.mark.parametrize("nothing", [None, np.nan])
def test_a_text_column_that_is_missing_in_the_first_part(model_class, nothing):
    model = learn(make(model_class), pd.DataFrame({"a": np.arange(10.0), "city": [nothing] * 10}), np.arange(10) % 2)
    model.predict(pd.DataFrame({"a": [1.0], "city": ["Rome"]}))
    learn(model, pd.DataFrame({"a": np.arange(4.0), "city": ["Rome", "Oslo", None, "Rome"]}), np.arange(4) % 2)
    assert model.columns_.names == ("a", "city=Rome", "city=Oslo")
    with pytest.raises(ValueError, match="'a'"):
        learn(model, pd.DataFrame({"a": ["x", "y"], "city": ["Rome", "Oslo"]}), [0, 1])
