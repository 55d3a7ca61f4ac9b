"""Scores, confusion and calibration against scikit-learn and plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, log_loss, mean_absolute_error, r2_score, root_mean_squared_error

from softwood.reporting.evaluation import evaluate_classes, evaluate_targets


@pytest.mark.parametrize("n_classes", [2, 4])
def test_classes(n_classes):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(n_classes), 200)
    labels = rng.integers(n_classes, size=200)
    found = evaluate_classes(p, labels)
    assert found["scores"]["accuracy"] == np.mean(p.argmax(axis=1) == labels)
    assert found["scores"]["log loss"] == pytest.approx(log_loss(labels, p))
    assert found["scores"]["Brier score"] == pytest.approx(((p - np.eye(n_classes)[labels]) ** 2).sum(axis=1).mean())
    assert found["confusion"] == confusion_matrix(labels, p.argmax(axis=1)).tolist()
    stated = p[:, 1] if n_classes == 2 else p.max(axis=1)
    is_true = labels == 1 if n_classes == 2 else labels == p.argmax(axis=1)
    bins = [np.flatnonzero((stated >= k / 10) & (stated < (k + 1) / 10)) for k in range(10)]
    expected = [(stated[rows].mean(), is_true[rows].mean(), len(rows)) for rows in bins if len(rows)]
    np.testing.assert_allclose([(b["stated"], b["observed"], b["n"]) for b in found["calibration"]], expected)


def test_many_classes_have_no_confusion_matrix():
    assert evaluate_classes(np.eye(40), np.arange(40))["confusion"] is None


@given(st.integers(1, 60), st.integers(0, 5))
def test_targets(n, seed):
    rng = np.random.default_rng(seed)
    predicted, targets = rng.normal(size=(2, n, 1))
    found = evaluate_targets(predicted, targets)
    scores = found["scores"]
    assert scores["root mean squared error"] == pytest.approx(root_mean_squared_error(targets, predicted))
    assert scores["mean absolute error"] == pytest.approx(mean_absolute_error(targets, predicted))
    assert scores["R²"] is None if n == 1 else scores["R²"] == pytest.approx(r2_score(targets, predicted))
    assert sum(part["n"] for part in found["means"]) == n
    total = sum(part["n"] * part["observed"] for part in found["means"])
    assert total == pytest.approx(targets.sum(), abs=1e-9)
    assert np.all(np.diff([part["predicted"] for part in found["means"]]) >= 0)
