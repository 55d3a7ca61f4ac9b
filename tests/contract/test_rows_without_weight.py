"""Rows of weight zero have no effect at all, whatever they hold."""

import numpy as np
import pandas as pd
import pytest

from tests.contract.specs import CLASSES, SPECS, every, every_validated, over
from tests.models import answer

ODD = ["a new category", "many new categories", "a huge number", "nothing", "text among numbers"]
every_on_streams = over([spec for spec in SPECS if spec.is_stream])


def table(spec, n=160):
    """Rows with text and missing cells, targets, and weights of which many are zero; the first one is."""
    rng = np.random.default_rng(0)
    X, y = spec.table(n)
    frame = pd.DataFrame(X[:, :3], columns=list("abc")).assign(word=rng.choice(["u", "v", "w"], size=n))
    frame.loc[rng.random(n) < 0.1, "word"] = None
    weights = rng.integers(0, 3, size=n).astype(float)
    weights[0] = 0.0
    return frame, y, weights


def odd_rows(frame, is_without):
    """The frame with other cells where rows have no weight: a new category, huge and missing numbers, infinity."""
    return {
        "a new category": frame.assign(word=frame["word"].where(~is_without, "new")),
        "many new categories": frame.assign(
            word=frame["word"].where(~is_without, pd.Series([f"new {k}" for k in range(len(frame))]))
        ),
        "a huge number": frame.assign(a=frame["a"].where(~is_without, 1e300)),
        "nothing": frame.where(~is_without, None),
        "text among numbers": frame.assign(b=frame["b"].astype(object).where(~is_without, "text")),
    }


@every
@pytest.mark.parametrize("odd", ODD)
def test_what_rows_without_weight_hold(spec, odd):
    frame, y, weights = table(spec)
    rows = np.flatnonzero(weights > 0)
    other = odd_rows(frame, pd.Series(weights == 0))[odd]
    if odd == "text among numbers":
        frame = frame.astype({"b": object})
    expected = spec.make().fit(frame.iloc[rows], y[rows], weights[rows])
    model = spec.make().fit(other, y, weights)
    assert model.columns_.names == expected.columns_.names
    assert model.columns_.categories == expected.columns_.categories
    assert np.array_equal(answer(model, frame), answer(expected, frame))


@every
def test_targets_of_rows_without_weight(spec):
    frame, y, weights = table(spec)
    rows = np.flatnonzero(weights > 0)
    expected = spec.make().fit(frame.iloc[rows], y[rows], weights[rows])
    odd = np.where(weights > 0, y, "emu") if spec.is_classifier else np.where(weights > 0, y, 1e300)
    for targets in (odd, odd.tolist(), pd.Series(odd)):
        model = spec.make().fit(frame, targets, weights)
        assert np.array_equal(answer(model, frame), answer(expected, frame))
        if spec.is_classifier:
            assert model.classes_.tolist() == CLASSES.tolist()


@every
def test_arrays_and_lists_with_rows_without_weight(spec):
    X, y = spec.table()
    weights = np.arange(len(y)) % 3.0
    rows = np.flatnonzero(weights > 0)
    expected = answer(spec.make().fit(X[rows], y[rows], weights[rows]), X)
    for other in (X, X.tolist(), np.where(weights[:, None] > 0, X, np.inf)):
        assert np.array_equal(answer(spec.make().fit(other, y, weights.tolist()), X), expected)


@every_on_streams
def test_rows_without_weight_in_parts_of_a_stream(spec):
    """They are predicted, and leave nothing behind."""
    frame, y, weights = table(spec)
    rows = np.flatnonzero(weights > 0)
    classes = {"classes": CLASSES} if spec.is_classifier else {}
    for odd in odd_rows(frame, pd.Series(weights == 0)).items():
        if odd[0] == "text among numbers":
            continue  # rows to predict must be of the right kind
        model, expected = spec.make(), spec.make()
        for part in np.array_split(np.arange(len(y)), 4):
            own = np.intersect1d(part, rows)
            found = model.test_then_train(odd[1].iloc[part], y[part], sample_weight=weights[part], **classes)
            wanted = expected.test_then_train(frame.iloc[own], y[own], sample_weight=weights[own], **classes)
            assert np.array_equal(found[np.isin(part, own)], wanted), odd[0]
            assert np.isfinite(found).all()
        assert model.columns_.names == expected.columns_.names
        assert model.n_samples_seen_ == len(rows)
        assert np.array_equal(answer(model, frame), answer(expected, frame))


@every_validated
def test_validation_rows_without_weight(spec):
    frame, y, weights = table(spec)
    rows = np.flatnonzero(weights > 0)
    other = odd_rows(frame, pd.Series(weights == 0))["a new category"]
    models = [
        spec.make().fit(frame, y, X_val=X_val, y_val=y_val, sample_weight_val=weights_val)
        for X_val, y_val, weights_val in ((other, y, weights), (frame.iloc[rows], y[rows], weights[rows]))
    ]
    assert np.array_equal(answer(models[0], frame), answer(models[1], frame))
