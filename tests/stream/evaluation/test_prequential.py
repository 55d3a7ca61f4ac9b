import dataclasses
import pickle
import re
import sys
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib import pyplot
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB

import softwood.stream.evaluation.prequential as module
from softwood.core.parameters import parameter_error
from softwood.stream.evaluation.prequential import prequential
from softwood.stream.evaluation.records import Latencies, size_of
from softwood.stream.evaluation.results import PrequentialResult
from softwood.stream.hoeffding import HoeffdingTreeRegressor


class Counter(ClassifierMixin, BaseEstimator):
    """Shares of the labels so far; of the kind of scikit-learn."""

    def partial_fit(self, X, y, classes=None):
        if classes is not None:
            self.classes_ = np.unique(classes)
            self.counts_ = np.zeros(len(self.classes_))
        for label in y:
            self.counts_[list(self.classes_).index(label)] += 1
        return self

    def predict_proba(self, X):
        if not hasattr(self, "counts_"):
            raise NotFittedError("not fitted")
        return np.tile(self.counts_ / self.counts_.sum(), (len(X), 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class LabelCounter(Counter):
    """The same without probabilities."""

    predict_proba = property()

    def predict(self, X):
        if not hasattr(self, "counts_"):
            raise NotFittedError("not fitted")
        return np.repeat(self.classes_[self.counts_.argmax()], len(X))


class RowCounter:
    """The same, of the kind of softwood; it begins with equal shares."""

    def test_then_train(self, X, y, *, classes=None, sample_weight=None):
        if not hasattr(self, "classes_"):
            self.classes_ = np.unique(classes)
            self.counts_ = np.zeros(len(self.classes_))
        assert classes is None or np.array_equal(np.unique(classes), self.classes_)
        rows = []
        for label in y:
            total = self.counts_.sum()
            rows.append(self.counts_ / total if total else np.full(len(self.counts_), 1 / len(self.counts_)))
            self.counts_ = self.counts_ + (self.classes_ == label)
        return np.array(rows)

    def predict_proba(self, X):
        raise AssertionError("not needed")


class DictCounter:
    """The same, of the kind of river; it knows only labels that it has seen."""

    def __init__(self):
        self.counts = {}

    def learn_one(self, x, y):
        assert isinstance(x, dict)
        self.counts[y] = self.counts.get(y, 0) + 1

    def predict_proba_one(self, x):
        total = sum(self.counts.values())
        return {label: n / total for label, n in sorted(self.counts.items())}

    def predict_one(self, x):
        raise AssertionError("not needed")


class MeanRegressor:
    """The mean of the targets so far."""

    def __init__(self):
        self.n, self.mean = 0, 0.0

    def learn_one(self, x, y):
        self.n += 1
        self.mean += (y - self.mean) / self.n

    def predict_one(self, x):
        return self.mean if self.n else None


def labels(n, classes=("a", "b", "c"), seed=0):
    return np.random.default_rng(seed).choice(classes, n, p=[0.2, 0.5, 0.3][: len(classes)])


def shares_before(y, classes):
    """Shares of the classes before each row, (n, n_classes); the first row is nan."""
    seen = np.cumsum(y[:, None] == np.array(classes), axis=0)
    before = np.vstack([np.zeros(len(classes)), seen[:-1]])
    with np.errstate(invalid="ignore"):
        return before / before.sum(axis=1, keepdims=True)


def by_hand(y, classes):
    """Scores of the counter, by scikit-learn's measures; the first row has no prediction."""
    P, codes = shares_before(y, classes)[1:], np.searchsorted(classes, y)[1:]
    guessed = P.argmax(axis=1)
    areas = [metrics.roc_auc_score(codes == k, P[:, k]) for k in range(len(classes))]
    return {
        "accuracy": np.mean(guessed == codes),
        "auroc": np.mean(areas),
        "cross_entropy": -np.mean(np.log(np.clip(P[np.arange(len(codes)), codes], 1e-15, 1))),
        "kappa": metrics.cohen_kappa_score(codes, guessed),
        # the counter is the majority itself, up to the order of equal shares
        "kappa_temporal": 1 - np.mean(guessed != codes) / np.mean(codes != np.searchsorted(classes, y)[:-1]),
        "kappa_m": pytest.approx(0.0, abs=0.02),
    }


@pytest.mark.parametrize("block_size", [1, 7, 1000])
def test_the_three_kinds_agree(block_size):
    """Row by row, the same counter finds the same; softwood's also predicts the first row."""
    y = labels(300)
    X = np.zeros((300, 2))
    expected = by_hand(y, ["a", "b", "c"])
    dicts = prequential(DictCounter(), (X, y), block_size=block_size)
    for name, score in expected.items():
        assert dicts.scores[name] == (score if name == "kappa_m" else pytest.approx(score, abs=1e-3))
    assert list(dicts.scores) == list(expected)
    assert (dicts.n_samples, dicts.n_unscored) == (300, 1)
    assert dicts.classes.tolist() == ["a", "b", "c"]
    if block_size == 1:
        blocks = prequential(Counter(), (X, y), block_size=1)
        assert blocks.scores == pytest.approx(dicts.scores, rel=1e-12)
        assert blocks.n_unscored == 1
    rows = prequential(RowCounter(), (X, y), block_size=block_size)
    assert rows.n_unscored == 0
    first = float(y[0] == "a")  # of equal shares the first class is taken
    assert rows.scores["accuracy"] == pytest.approx((299 * expected["accuracy"] + first) / 300)
    assert rows.scores["cross_entropy"] == pytest.approx((299 * expected["cross_entropy"] + np.log(3)) / 300)


def test_all_kinds_of_streams_give_the_same(tmp_path):
    y = labels(50)
    table = pd.DataFrame({"u": np.arange(50.0), "city": ["Oslo", "Rome"] * 25, "y": y})
    table.to_csv(tmp_path / "data.csv", index=False)
    table.to_parquet(tmp_path / "data.parquet")
    pairs = [({"u": i}, label) for i, label in enumerate(y.tolist())]
    streams = [
        ((np.zeros((50, 1)), y), {}),
        (table, {"target": "y"}),
        (pl.DataFrame(table.to_dict("list")), {"target": "y"}),
        (tmp_path / "data.csv", {"target": "y"}),
        (tmp_path / "data.parquet", {"target": "y"}),
        (pairs, {}),
        ([(np.arange(2.0), label) for label in y], {}),
    ]
    for model in (DictCounter, Counter, RowCounter):
        found = [prequential(model(), s, classes=["a", "b", "c"], block_size=8, **o).scores for s, o in streams]
        found.append(prequential(model(), iter(pairs), classes=["a", "b", "c"], block_size=8).scores)
        assert all(scores == pytest.approx(found[0], rel=1e-12) for scores in found)


def test_streams_of_softwood():
    class Stream:
        classes = np.array(["a", "b", "c"])
        feature_names = ("u", "v")

        def blocks(self, n_samples, block_size):
            codes = np.searchsorted(self.classes, labels(n_samples))
            for start in range(0, n_samples, block_size):
                yield np.zeros((len(codes[start : start + block_size]), 2)), codes[start : start + block_size]

    for model in (DictCounter, Counter, RowCounter):
        found = prequential(model(), Stream(), max_samples=100, block_size=30)
        assert found.scores == prequential(model(), (np.zeros((100, 2)), labels(100)), block_size=30).scores


def test_the_first_block_is_learned_only():
    X, y = np.random.default_rng(0).normal(size=(250, 2)), labels(250)
    model = GaussianNB()
    result = prequential(model, (X, y), block_size=100)
    assert (result.n_samples, result.n_unscored) == (250, 100)
    reference = GaussianNB().partial_fit(X[:100], y[:100], classes=["a", "b", "c"])
    guessed = [*reference.predict(X[100:200]), *reference.partial_fit(X[100:200], y[100:200]).predict(X[200:])]
    assert result.scores["accuracy"] == pytest.approx(np.mean(guessed == y[100:]))
    assert model.class_count_.sum() == 250  # trained in place
    again = prequential(model, iter(zip(X, y.tolist(), strict=True)))  # it knows its classes
    assert (again.n_samples, again.n_unscored) == (250, 0)


@pytest.mark.parametrize("model_class", [GaussianNB, RowCounter])
def test_a_model_goes_on_with_the_classes_that_it_knows(model_class):
    X, y = np.random.default_rng(0).normal(size=(90, 2)), labels(90)
    model = model_class()
    prequential(model, (X, y))
    few = prequential(model, (X[y != "a"], y[y != "a"]))
    assert few.n_unscored == 0
    assert few.classes.tolist() == ["b", "c", "a"]
    assert np.isfinite(few.scores["cross_entropy"])


def test_a_window_without_predictions_is_nan():
    result = prequential(Counter(), (np.zeros((25, 1)), labels(25)), block_size=10, window=5)
    assert result.curves["n_samples"].tolist() == [5, 10, 15, 20, 25]
    assert np.isnan(result.curves["accuracy"]).tolist() == [True, True, False, False, False]


@pytest.mark.parametrize("block_size", [1, 3, 10, 64, 1000])
def test_windows_are_cut_exactly(block_size):
    y = labels(200)
    result = prequential(DictCounter(), (np.zeros((200, 1)), y), block_size=block_size, window=30)
    assert result.curves["n_samples"].tolist() == [30, 60, 90, 120, 150, 180, 200]
    is_right = shares_before(y, ["a", "b", "c"]).argmax(axis=1) == np.searchsorted(["a", "b", "c"], y)
    windows = np.split(is_right[1:], np.arange(30, 200, 30) - 1)
    assert result.curves["accuracy"] == pytest.approx([window.mean() for window in windows])
    assert all(len(curve) == 7 for curve in result.curves.values())


def test_usual_windows():
    for n, window in [(1500, 1000), (100_000, 1000), (100_001, 2000), (None, 1000)]:
        assert module._usual_window(n) == window


def test_labels_without_probabilities():
    X, y = np.zeros((40, 1)), labels(40)
    result = prequential(LabelCounter(), (X, y), block_size=1)
    expected = prequential(Counter(), (X, y), block_size=1).scores
    by_label = ("accuracy", "kappa", "kappa_temporal", "kappa_m")
    assert result.scores == {name: pytest.approx(expected[name]) for name in by_label}
    with pytest.raises(ValueError, match=r"'measures' .* some of 'accuracy', 'kappa', .* for this model. Got 'auroc'"):
        prequential(LabelCounter(), (X, y), block_size=1, measures=["accuracy", "auroc"])


@pytest.mark.parametrize("model", [SGDClassifier(random_state=0), Perceptron(random_state=0)])
def test_linear_models_without_probabilities(model):
    X = np.random.default_rng(0).normal(size=(500, 2))
    result = prequential(model, (X, X[:, 0] > 0), block_size=50)
    assert list(result.scores) == ["accuracy", "kappa", "kappa_temporal", "kappa_m"]
    assert result.scores["accuracy"] > 0.9


def test_regressors():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=400)
    result = prequential(SGDRegressor(random_state=0), (X, y), block_size=50)
    reference, guessed = SGDRegressor(random_state=0), []
    for start in range(0, 400, 50):
        guessed.append(reference.predict(X[start : start + 50]) if start else np.full(50, np.nan))
        reference.partial_fit(X[start : start + 50], y[start : start + 50])
    guessed = np.concatenate(guessed)[50:]
    assert result.scores == {
        "r2": pytest.approx(metrics.r2_score(y[50:], guessed)),
        "mae": pytest.approx(metrics.mean_absolute_error(y[50:], guessed)),
        "rmse": pytest.approx(metrics.root_mean_squared_error(y[50:], guessed)),
    }
    assert result.classes is None
    dicts = prequential(MeanRegressor(), (X, y), measures="mae")
    before = np.cumsum(y)[:-1] / np.arange(1, 400)
    assert dicts.scores == {"mae": pytest.approx(np.abs(y[1:] - before).mean())}
    assert dicts.n_unscored == 1


def test_river_finds_the_same():
    river = pytest.importorskip("river")
    from river import datasets, evaluate, linear_model, multiclass, naive_bayes, preprocessing, tree

    for make in (
        lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        lambda: preprocessing.StandardScaler() | multiclass.OneVsOneClassifier(linear_model.LogisticRegression()),
        naive_bayes.GaussianNB,
        lambda: tree.HoeffdingTreeClassifier(grace_period=50),
    ):
        result = prequential(make(), datasets.Phishing(), block_size=100)
        expected = evaluate.progressive_val_score(datasets.Phishing(), make(), river.metrics.Accuracy())
        assert result.scores["accuracy"] == pytest.approx(expected.get(), abs=1e-12)
        assert result.n_samples == 1250
        has_probabilities = "OneVsOne" not in str(make())
        assert ("cross_entropy" in result.scores) == has_probabilities
    scaled = preprocessing.StandardScaler() | linear_model.LinearRegression()
    result = prequential(scaled, datasets.TrumpApproval())
    scaled = preprocessing.StandardScaler() | linear_model.LinearRegression()
    expected = evaluate.progressive_val_score(datasets.TrumpApproval(), scaled, river.metrics.MAE())
    assert result.scores["mae"] == pytest.approx(expected.get(), abs=1e-12)


def test_classes_that_appear_on_the_way():
    y = ["a"] * 5 + ["b"] * 5 + ["c"] * 5
    result = prequential(DictCounter(), [({}, label) for label in y], block_size=4)
    assert result.classes.tolist() == ["a", "b", "c"]
    assert result.scores["accuracy"] == pytest.approx(4 / 14)
    # b comes when it has the probability 0, and so does c
    P = shares_before(np.array(y), ["a", "b", "c"])[1:]
    given = P[np.arange(14), np.searchsorted(["a", "b", "c"], y[1:])]
    assert result.scores["cross_entropy"] == pytest.approx(-np.mean(np.log(np.clip(given, 1e-15, 1))))


def test_an_interrupt_keeps_what_was_found(capsys):
    y = labels(100)

    def pairs():
        for i, label in enumerate(y.tolist()):
            if i == 60:
                raise KeyboardInterrupt
            yield {"u": i}, label

    result = prequential(DictCounter(), pairs(), block_size=20, window=25, verbose=1)
    assert result.interrupted
    assert result.n_samples == 60
    assert result.scores == pytest.approx(prequential(DictCounter(), (np.zeros((60, 1)), y[:60])).scores)
    assert result.curves["n_samples"].tolist() == [25, 50, 60]
    assert "interrupted" in repr(result)
    assert "60 rows, stopped after" in capsys.readouterr().out
    at_once = prequential(DictCounter(), (1 / 0 if i else _stop() for i in range(3)))
    assert at_once.interrupted
    assert at_once.n_samples == 0
    assert all(np.isnan(score) for score in at_once.scores.values())
    assert "0 rows" in repr(at_once)


def _stop():
    raise KeyboardInterrupt


def test_other_errors_are_not_hidden():
    with pytest.raises(ZeroDivisionError):
        prequential(DictCounter(), (1 / 0 for _ in range(3)))


@pytest.mark.parametrize("model", [DictCounter, Counter, RowCounter])
def test_latency(model):
    X, y = np.zeros((100, 2)), labels(100)
    result = prequential(model(), (X, y), latency=True, block_size=40)
    assert list(result.latency) == ["p50", "p95", "p99", "max"]
    times = list(result.latency.values())
    assert 0 < times[0] <= times[1] <= times[2] <= times[3]
    assert result.scores == prequential(model(), (X, y), block_size=40).scores
    assert "µs per row" in repr(result)
    assert prequential(model(), (X, y)).latency is None


def test_latency_of_frames_and_of_slow_rows():
    class Slow(RowCounter):
        def test_then_train(self, X, y, **options):
            assert list(X.columns) == ["u"]
            assert len(X) == len(y) == 1
            time.sleep(0.002)
            return super().test_then_train(X, y, **options)

    for kind in (pd.DataFrame, pl.DataFrame):
        result = prequential(Slow(), (kind({"u": np.arange(20.0)}), labels(20)), latency=True)
        assert 1900 < result.latency["p50"] <= result.latency["max"]
        assert result.seconds > 0.03


def test_percentiles_are_right_to_a_hundredth():
    times = np.random.default_rng(0).lognormal(-10, 1, 5000)
    latencies = Latencies()
    for part in np.split(times, 5):
        latencies.add(part)
    found = latencies.get()
    for p in (50, 95, 99):
        assert found[f"p{p}"] == pytest.approx(1e6 * np.percentile(times, p), rel=0.015)
    assert found["max"] == pytest.approx(1e6 * times.max(), rel=1e-12)


def test_memory():
    class Sized(DictCounter):
        @property
        def nbytes_(self):
            return 8 * sum(self.counts.values())

    stream = np.zeros((100, 1)), labels(100)
    result = prequential(Sized(), stream, memory=True, block_size=10, window=20)
    assert result.memory.tolist() == [160, 320, 480, 640, 800]
    assert prequential(Sized(), stream, memory=True, block_size=50, window=20).memory.tolist() == [
        400,
        400,
        800,
        800,
        800,
    ]
    model = GaussianNB()
    result = prequential(model, (np.random.default_rng(0).normal(size=(100, 5)), labels(100)), memory=True)
    assert result.memory.tolist() == [size_of(model)]
    assert abs(result.memory[0] - len(pickle.dumps(model, protocol=5))) < 100
    assert "bytes" in repr(result)
    assert result.to_frame()["memory"].tolist() == result.memory.tolist()


def test_progress(capsys, monkeypatch):
    X, y = np.zeros((100, 1)), labels(100)
    prequential(DictCounter(), (X, y), block_size=20)
    assert capsys.readouterr().out == ""
    prequential(DictCounter(), (X, y), block_size=20, verbose=1)
    assert len(capsys.readouterr().out.splitlines()) == 1  # quicker than a second
    clock = iter(np.arange(0, 1000, 0.6))
    monkeypatch.setattr("softwood.stream.evaluation.progress.perf_counter", lambda: next(clock))
    prequential(DictCounter(), (X, y), block_size=20, window=30, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("40 rows (40 %), 33 rows/s, accuracy 0.")
    assert lines[-1].startswith("100 rows, done after 3.6 s, accuracy 0.")


def test_result_as_text_frame_and_picture():
    y = labels(100)
    result = prequential(DictCounter(), (np.zeros((100, 1)), y), window=50)
    text = repr(result).splitlines()
    assert text[0].startswith("PrequentialResult: 100 rows, 1 not scored, ")
    assert text[2].split()[0] == "accuracy"
    assert float(text[2].split()[1]) == pytest.approx(result.scores["accuracy"], abs=1e-4)
    assert str(result) == repr(result)
    assert result.samples_per_second == 100 / result.seconds
    frame = result.to_frame()
    assert list(frame.columns) == [
        "n_samples", "accuracy", "auroc", "cross_entropy", "kappa", "kappa_temporal", "kappa_m",
    ]  # fmt: skip
    assert frame["n_samples"].tolist() == [50, 100]
    ax = result.plot()
    assert [line.get_label() for line in ax.lines] == ["accuracy", "AUROC", "kappa", "kappa temporal", "kappa M"]
    assert result.plot(measures="cross_entropy").get_ylabel() == "cross entropy"
    assert result.plot(ax=ax, measures=["accuracy"]) is ax
    with pytest.raises(ValueError, match=r"'measures' parameter of plot must be some of 'accuracy', .* Got 'mae'"):
        result.plot(measures="mae")
    pyplot.close("all")
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.n_samples = 3


def test_a_picture_needs_matplotlib(monkeypatch):
    result = PrequentialResult({"mae": 1.0}, {"n_samples": np.array([1]), "mae": np.array([1.0])}, 1, 0, 1.0)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'needs matplotlib. Install it with: pip install "softwood\[plots\]"'):
        result.plot()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("window", 0),
        ("window", 2.5),
        ("block_size", 0),
        ("block_size", None),
        ("max_samples", 0),
        ("latency", 1),
        ("memory", "yes"),
        ("verbose", -1),
        ("measures", "auc"),
        ("measures", []),
        ("measures", ["accuracy", "mae"]),
        ("classes", []),
        ("classes", [1, 1]),
        ("target", "y"),
    ],
)
def test_wrong_parameters_are_reported_by_name(name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of prequential must be .* Got .* instead"):
        prequential(Counter(), (np.zeros((5, 1)), labels(5)), **{name: value})


def test_one_message_in_full():
    expected = "The 'window' parameter of prequential must be an int in the range [1, inf) or None. Got 0 instead."
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        prequential(Counter(), (np.zeros((5, 1)), labels(5)), window=0)
    assert (
        str(parameter_error("plot", "n", "an int", 1.5)) == "The 'n' parameter of plot must be an int. Got 1.5 instead."
    )


def test_models_and_classes_that_do_not_fit():
    pairs = [({"u": 1.0}, "a"), ({"u": 2.0}, "b")]
    for model in (GaussianNB(), RowCounter()):
        with pytest.raises(ValueError, match=f"'classes' .* must be the labels .* for {type(model).__name__} and a"):
            prequential(model, iter(pairs))
    with pytest.raises(ValueError, match="'classes' parameter of prequential must be None for a regressor"):
        prequential(SGDRegressor(), (np.zeros((5, 1)), np.arange(5)), classes=[0, 1])
    with pytest.raises(ValueError, match="'model' parameter of prequential must be a model with test_then_train"):
        prequential(object(), pairs)
    with pytest.raises(ValueError, match=r"'measures' .* some of 'r2', 'mae', 'rmse' for this model. Got 'kappa'"):
        prequential(SGDRegressor(), (np.zeros((5, 1)), np.arange(5)), measures="kappa")


def test_more_classes_than_columns():
    class Short(Counter):
        def predict_proba(self, X):
            return super().predict_proba(X)[:, :1]

    with pytest.raises(ValueError, match="Short has 3 classes_ but predicts 1 probabilities"):
        prequential(Short(), (np.zeros((5, 1)), labels(5)), block_size=2)


def test_columns_are_in_the_order_of_the_model():
    y = labels(60)
    expected = prequential(Counter(), (np.zeros((60, 1)), y), block_size=1)
    result = prequential(Counter(), (np.zeros((60, 1)), y), block_size=1, classes=["c", "a", "b"])
    assert result.classes.tolist() == ["c", "a", "b"]
    assert result.scores["cross_entropy"] == pytest.approx(expected.scores["cross_entropy"])
    assert result.scores["auroc"] == pytest.approx(expected.scores["auroc"])


def test_windows_are_reported_as_they_end():
    X = np.random.default_rng(0).normal(size=(950, 2))
    reported = []
    result = prequential(
        HoeffdingTreeRegressor(),
        (X, X[:, 0]),
        window=200,
        block_size=70,
        on_window=lambda n, scores: reported.append((n, scores)),
    )
    assert [n for n, _ in reported] == result.curves["n_samples"].tolist() == [200, 400, 600, 800, 950]
    for name in result.scores:
        assert [scores[name] for _, scores in reported] == result.curves[name].tolist()
