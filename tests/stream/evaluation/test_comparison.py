"""Baselines beside a model, skills, delayed labels, intervals, and several models in one pass."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, cohen_kappa_score, log_loss
from sklearn.naive_bayes import GaussianNB

from softwood.stream import (
    SEA,
    HoeffdingTreeClassifier,
    HoeffdingTreeRegressor,
    SoftHoeffdingTreeClassifier,
    compare_prequential,
    prequential,
)
from softwood.stream import river as for_river
from softwood.stream.evaluation.baselines import Baselines
from softwood.stream.evaluation.measures import KappaM, KappaTemporal


def rows(n=600, n_classes=3):
    """Labels that stay for a while, as on real streams."""
    rng = np.random.default_rng(0)
    y = np.repeat(rng.integers(n_classes, size=n), rng.integers(1, 6, size=n))[:n]
    return np.column_stack([y + rng.normal(size=n), rng.normal(size=n)]), y


def majority_before(y, delay=0):
    """The most frequent label of the rows before each, of equal ones that which was so first; None without any."""
    found, best = [], None
    for i in range(len(y)):
        known = y[: max(0, i - delay)].tolist()
        if known and (best is None or known.count(known[-1]) > known.count(best)):
            best = known[-1]
        found.append(best)
    return found


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("sizes", [[600], [1, 2, 3, 594], [100] * 6])
def test_baselines_of_classes(delay, sizes):
    _, y = rows()
    y = y.astype(np.int64)
    baselines = Baselines(True, delay)
    parts = [baselines.predict(part) for part in np.split(y, np.cumsum(sizes)[:-1])]
    found = {name: np.concatenate([part[name].labels for part in parts]) for name in ("no_change", "majority")}
    scored = {name: np.concatenate([part[name].is_scored for part in parts]) for name in found}
    assert (scored["no_change"] == (np.arange(600) > delay)).all()
    assert (scored["majority"] == scored["no_change"]).all()
    assert (found["no_change"][delay + 1 :] == y[: -delay - 1]).all()
    assert found["majority"][delay + 1 :].tolist() == majority_before(y, delay)[delay + 1 :]
    shares = parts[-1]["majority"].probabilities[-1]
    assert shares == pytest.approx(np.bincount(y[: 599 - delay]) / (599 - delay))


@pytest.mark.parametrize("delay", [0, 4])
def test_baselines_of_targets(delay):
    y = np.random.default_rng(0).normal(size=50)
    baselines = Baselines(False, delay)
    found = [baselines.predict(part) for part in np.split(y, [3, 4, 30])]
    means = np.concatenate([part["majority"].numbers for part in found])
    last = np.concatenate([part["no_change"].numbers for part in found])
    for i in range(delay + 1, 50):
        assert means[i] == pytest.approx(y[: i - delay].mean())
        assert last[i] == y[i - delay - 1]
    result = prequential(HoeffdingTreeRegressor(), (y[:, None], y), delay=delay)
    expected = np.mean([abs(y[i] - y[i - delay - 1]) for i in range(delay + 1, 50)])
    assert result.baselines["no_change"]["mae"] == pytest.approx(expected)


def test_skills_and_baselines_by_hand():
    X, y = rows()
    model = HoeffdingTreeClassifier()
    hits = model.test_then_train(X, y, classes=[0, 1, 2]).argmax(axis=1) == y
    result = prequential(HoeffdingTreeClassifier(), (X, y), block_size=70, window=100)
    errors = {
        "kappa_temporal": np.append(True, y[1:] != y[:-1]),
        "kappa_m": np.array([label != guess for label, guess in zip(y, majority_before(y), strict=True)]),
    }
    for name, wrong in errors.items():
        assert result.scores[name] == pytest.approx(1 - (~hits).mean() / wrong.mean())
        windows = 1 - (~hits).reshape(6, 100).mean(axis=1) / wrong.reshape(6, 100).mean(axis=1)
        assert result.curves[name] == pytest.approx(windows)
    no_change, majority = result.baselines["no_change"], result.baselines["majority"]
    assert no_change["accuracy"] == pytest.approx(accuracy_score(y[1:], y[:-1]))
    assert no_change["kappa"] == pytest.approx(cohen_kappa_score(y[1:], y[:-1]))
    assert majority["accuracy"] == pytest.approx(accuracy_score(y[1:], majority_before(y)[1:]))
    shares = [np.bincount(y[:i], minlength=3) / i for i in range(1, len(y))]
    assert majority["cross_entropy"] == pytest.approx(log_loss(y[1:], np.clip(shares, 1e-15, 1), labels=[0, 1, 2]))
    assert "no change" in repr(result)
    assert "kappa M" in repr(result)


def test_a_baseline_as_a_model_has_no_skill():
    y = rows()[1]
    prior = prequential(DummyClassifierOnStreams(), (np.zeros((600, 1)), y), block_size=1, measures="kappa_m")
    assert prior.scores["kappa_m"] == pytest.approx(0.0, abs=0.05)  # up to the order of equal shares


class DummyClassifierOnStreams(DummyClassifier):
    """scikit-learn's majority, learned from all rows again."""

    def partial_fit(self, X, y, classes=None):
        self._rows = np.append(getattr(self, "_rows", np.empty(0, dtype=int)), y)
        return self.fit(np.zeros((len(self._rows), 1)), self._rows)


def test_skills_take_two_columns_and_are_nan_without_errors_of_the_baseline():
    for measure in (KappaTemporal(), KappaM()):
        assert np.isnan(measure.get())
        measure.update([0, 1], [[0, 0], [0, 1]])
        assert np.isnan(measure.get())
        measure.update([0, 1], [[0, 1], [1, 1]], [2.0, 1.0])
        assert measure.get() == pytest.approx(1 - 1 / 2)
        with pytest.raises(ValueError, match=r"labels of a model and of its baseline, \(n, 2\)"):
            measure.update([0], [0])


@pytest.mark.parametrize("kind", ["softwood", "river", "scikit-learn"])
@pytest.mark.parametrize("delay", [1, 25])
def test_delayed_labels(kind, delay):
    X, y = rows(200)
    make = {
        "softwood": HoeffdingTreeClassifier,
        "river": for_river.HoeffdingTreeClassifier,
        "scikit-learn": lambda: SGDClassifier(random_state=0),
    }[kind]
    model = make()
    result = prequential(
        model, (X, y), delay=delay, block_size=1 if kind == "scikit-learn" else 64, measures="accuracy"
    )
    slow, n_right, n_scored = make(), 0, 0
    for i in range(200):
        x = dict(enumerate(X[i].tolist()))
        if i > delay:
            answer = slow.predict_one(x) if kind == "river" else slow.predict(X[[i]])[0]
            n_scored += 1
            n_right += answer == y[i]
        if i >= delay and kind == "river":
            slow.learn_one(dict(enumerate(X[i - delay].tolist())), int(y[i - delay]))
        elif i >= delay:
            slow.partial_fit(X[[i - delay]], y[[i - delay]], classes=[0, 1, 2])
    assert result.n_unscored == delay + 1
    assert result.scores["accuracy"] == pytest.approx(n_right / n_scored)


def test_delayed_frames_and_a_model_that_cannot_wait():
    X, y = rows(100)
    frame = pd.DataFrame({"a": X[:, 0], "b": ["xy"[k % 2] for k in range(100)]})
    result = prequential(SoftHoeffdingTreeClassifier(random_state=0), (frame, y), delay=10, latency=True)
    assert result.n_unscored == 11
    assert result.latency["p50"] > 0

    class TestThenTrain:
        classes_ = np.array([0, 1, 2])

        def test_then_train(self, X, y, *, classes=None):  # noqa: PT028
            return np.full((len(y), 3), 1 / 3)

        def predict_proba(self, X):
            return np.full((len(X), 3), 1 / 3)

    with pytest.raises(ValueError, match="'delay' parameter of prequential must be 0 for a model without partial_fit"):
        prequential(TestThenTrain(), (X, y), delay=1)


def test_intervals_are_those_of_window_means():
    result = prequential(HoeffdingTreeClassifier(), rows(650), window=100, measures=["accuracy", "auroc"])
    values = result.curves["accuracy"][:6]  # the last window is not whole
    expected = stats.t.interval(0.9, 5, loc=result.scores["accuracy"], scale=stats.sem(values))
    assert result.interval("accuracy", level=0.9) == pytest.approx(expected)
    assert np.isnan(prequential(HoeffdingTreeClassifier(), rows(50), window=100).interval("accuracy")).all()
    with pytest.raises(ValueError, match="'measure' parameter of interval"):
        result.interval("mae")
    with pytest.raises(ValueError, match="'level' parameter of interval"):
        result.interval("accuracy", level=2.0)


def test_several_models_in_one_pass():
    X, y = rows()
    models = {"nb": GaussianNB(), "tree": HoeffdingTreeClassifier(), "river": for_river.HoeffdingTreeClassifier()}
    pairs = iter(zip(X.tolist(), y.tolist(), strict=True))  # can be read once
    found = compare_prequential(models, pairs, classes=[0, 1, 2], window=100, block_size=20)
    assert list(found) == list(models)
    alone = prequential(HoeffdingTreeClassifier(), (X, y), window=100)
    assert found["tree"].scores == pytest.approx(alone.scores)
    assert found["tree"].baselines["majority"] == pytest.approx(alone.baselines["majority"])
    assert found["river"].scores["accuracy"] == pytest.approx(alone.scores["accuracy"], abs=0.01)
    difference, low, high = found.difference("tree", "nb", "accuracy")
    apart = found["tree"].curves["accuracy"] - found["nb"].curves["accuracy"]
    assert difference == pytest.approx(found["tree"].scores["accuracy"] - found["nb"].scores["accuracy"])
    assert (low, high) == pytest.approx(stats.t.interval(0.95, 5, loc=difference, scale=stats.sem(apart)))
    frame = found.to_frame()
    assert frame.index.tolist() == ["nb", "tree", "river", "no_change", "majority"]
    assert frame.loc["no_change", "accuracy"] == pytest.approx(accuracy_score(y[1:], y[:-1]))
    ax = found.plot("kappa")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(models)
    assert ax.get_ylabel() == "kappa"
    assert "majority" in repr(found)


def test_wrong_comparisons_are_reported():
    X, y = rows(50)
    tree = HoeffdingTreeClassifier()
    for models in ({}, [tree], {1: tree}):
        with pytest.raises(ValueError, match="'models' parameter of compare_prequential"):
            compare_prequential(models, (X, y))
    with pytest.raises(ValueError, match="all classifiers or all regressors"):
        compare_prequential({"a": tree, "b": HoeffdingTreeRegressor()}, (X, y), measures=None)
    with pytest.raises(TypeError, match=r"compare_prequential\(\) got an unexpected keyword argument 'windows'"):
        compare_prequential({"a": tree}, (X, y), windows=3)
    found = compare_prequential({"a": HoeffdingTreeClassifier()}, SEA(seed=0), max_samples=100)
    with pytest.raises(ValueError, match="'second' parameter of difference"):
        found.difference("a", "b", "accuracy")
    with pytest.raises(ValueError, match="'measure' parameter of difference"):
        found.difference("a", "a", "mae")
    with pytest.raises(ValueError, match="'measure' parameter of plot"):
        found.plot("mae")
