"""A thread that learns and others that predict: every answer is that of a whole state of the model."""

import threading

import numpy as np
import pandas as pd
import pytest

from softwood.stream import HoeffdingTreeClassifier, SoftHoeffdingTreeClassifier
from softwood.stream import river as for_river


def while_learning(learn, ask):
    """Learn in a thread, ask in two others until it is done; the errors of all, and how often was asked."""
    errors, n_asked, is_done = [], [0, 0], threading.Event()

    def run(work):
        try:
            work()
        except Exception as error:
            errors.append(error)

    def learning():
        try:
            learn()
        finally:
            is_done.set()

    def asking(k):
        while not is_done.is_set():
            ask()
            n_asked[k] += 1

    threads = [threading.Thread(target=run, args=(learning,))]
    threads += [threading.Thread(target=run, args=(lambda k=k: asking(k),)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors, sum(n_asked)


@pytest.mark.parametrize("model_class", [SoftHoeffdingTreeClassifier, HoeffdingTreeClassifier])
def test_new_categories_come_while_others_predict(model_class):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=2000), "city": [f"c{k // 20}" for k in range(2000)]})
    y = (X["a"] > 0).to_numpy().astype(int)
    model = model_class(grace_period=20).partial_fit(X[:10], y[:10], classes=[0, 1])

    def learn():
        for begin in range(10, 2000, 10):
            model.partial_fit(X[begin : begin + 10], y[begin : begin + 10])

    def ask():
        found = model.predict_proba(X[-50:])
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        model.tree_.predict(np.zeros((1, model.tree_.n_features)))

    errors, n_asked = while_learning(
        learn, lambda: np.testing.assert_allclose(model.predict_proba(X[-50:]).sum(1), 1.0)
    )
    assert not errors
    assert n_asked > 0
    ask()


@pytest.mark.parametrize("kind", ["SoftHoeffdingTreeClassifier", "HoeffdingTreeClassifier"])
def test_new_features_and_labels_come_while_others_predict(kind):
    model = getattr(for_river, kind)(grace_period=20)
    rows = [({f"x{k // 30}": float(k % 7), "text": f"t{k // 50}"}, f"label {k // 60}") for k in range(1500)]

    def learn():
        for x, y in rows:
            model.learn_one(x, y)

    def ask():
        found = model.predict_proba_one(rows[-1][0])
        assert not found or sum(found.values()) == pytest.approx(1.0)

    errors, n_asked = while_learning(learn, ask)
    assert not errors
    assert n_asked > 0
