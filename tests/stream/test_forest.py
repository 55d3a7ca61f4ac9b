"""Forests on streams: the same bits for any parts and threads, spare trees, votes, files, errors."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import softwood
from softwood.export import to_json
from softwood.stream import (
    Agrawal,
    HoeffdingTreeClassifier,
    SoftHoeffdingTreeClassifier,
    StreamForestClassifier,
    StreamForestRegressor,
)
from softwood.stream.growing.planting import ROWS_OF_TRUST
from softwood.stream.loops.drift import DRIFT, WARNING
from softwood.stream.loops.forest import LOSS, N_LOSSES

every = pytest.mark.parametrize("model_class", [StreamForestClassifier, StreamForestRegressor])
N = 3000


def make(model_class, **parameters):
    return model_class(**{"n_estimators": 4, "soft_share": 0.5, "random_state": 0, **parameters})


def drifting(model_class, n=N, seed=0):
    """Rows of five columns, some cells of one missing; what the target depends on changes slowly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    is_new = rng.random(n) < (np.arange(n) - n // 2) / 300
    signal = np.where(is_new, X[:, 2] - X[:, 0], X[:, 0] + X[:, 1])
    X[rng.random(n) < 0.1, 4] = np.nan
    if model_class is StreamForestClassifier:
        return X, np.digitize(signal, [-0.7, 0.7])
    return X, signal + rng.normal(0.0, 0.5, n)


def known(model_class):
    return {"classes": [0, 1, 2]} if model_class is StreamForestClassifier else {}


def error(y, found):
    return np.mean(found.argmax(axis=1) != y) if found.ndim == 2 else np.mean((found - y) ** 2)


def assert_same(one, other):
    one, other = one.growth_.state(), other.growth_.state()
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


@every
def test_any_parts_and_any_number_of_jobs_give_the_same_bits(model_class):
    X, y = drifting(model_class)
    weights = np.random.default_rng(1).choice([0.0, 1.0, 1.0, 2.0], size=N)
    whole = make(model_class)
    expected = whole.test_then_train(X, y, sample_weight=weights, **known(model_class))
    assert {"warning", "drift"} == {event.kind for event in whole.drifts_}
    parts, found = make(model_class, n_jobs=2), []
    for begin, end in pairwise([0, 1, 2, 3, 40, 1400, 1500, 1501, 1502, 1700, 2900, N]):
        rows = slice(begin, end)
        found.append(parts.test_then_train(X[rows], y[rows], sample_weight=weights[rows], **known(model_class)))
    np.testing.assert_array_equal(np.concatenate(found), expected)
    assert_same(parts, whole)


def test_single_rows_of_river_are_blocks():
    river = pytest.importorskip("softwood.stream.river", exc_type=ImportError)
    for model_class in (river.StreamForestClassifier, river.StreamForestRegressor):
        is_class = model_class is river.StreamForestClassifier
        X, y = drifting(StreamForestClassifier if is_class else StreamForestRegressor, n=1600)
        frame = pd.DataFrame(X, columns=list("abcde"))
        few = {"n_estimators": 4, "soft_share": 0.5, "seed": 3, "warning_delta": 0.3, "drift_delta": 0.001}
        one, many = model_class(**few), model_class(**few)
        for x, target in zip(frame.to_dict(orient="records"), y.tolist(), strict=True):
            one.learn_one(x, target)
        for begin, end in pairwise([0, 5, 900, 1600]):
            many.learn_many(frame.iloc[begin:end], pd.Series(y[begin:end]))
        assert one.drifts == many.drifts
        assert {"warning", "drift"} <= {event.kind for event in one.drifts}
        x = frame.iloc[0].to_dict()
        if is_class:
            assert one.predict_proba_one(x) == many.predict_proba_one(x)
        assert one.predict_one(x) == many.predict_one(x)
        np.testing.assert_array_equal(one._growth.detectors, many._growth.detectors)
        assert len(one.snapshot()) == 4


@every
def test_replaced_trees_forget_what_is_no_longer_true(model_class):
    """In the mean of four streams: soft trees get over a drift without being replaced, too."""
    found, before = {"with": [], "without": []}, []
    for seed in (2, 3, 4, 5):
        X, y = drifting(model_class, n=6000, seed=seed)
        for name, deltas in {"with": {}, "without": {"warning_delta": None, "drift_delta": None}}.items():
            model = make(model_class, **deltas)
            predictions = model.test_then_train(X, y, **known(model_class))
            found[name].append(error(y[4000:], predictions[4000:]))
            if name == "with":
                before.append(error(y[2000:3000], predictions[2000:3000]))
                drifts = [event for event in model.drifts_ if event.kind == "drift"]
                replaced = {event.tree for event in drifts if event.n_samples > 3000}
                assert replaced & {2, 3}, "a crisp tree; soft ones may keep up with their spare trees"
                assert model.growth_.n_planted[sorted(replaced)].min() > 1
            else:
                assert model.drifts_ == []
    assert np.mean(found["with"]) < 2.0 * np.mean(before), "nearly as good as before the drift"
    assert np.mean(found["with"]) < 0.97 * np.mean(found["without"])


@every
@pytest.mark.parametrize(("ratio", "what"), [(1.1, "drift"), (1.3, None)])
def test_a_spare_tree_that_is_clearly_worse_replaces_no_tree(model_class, ratio, what):
    X, y = drifting(model_class)
    forest = make(model_class, warning_delta=1e-300).partial_fit(X[:500], y[:500], **known(model_class)).growth_
    tree, loss = forest.trees[1], forest.scores[1, LOSS]
    assert forest._handle_alarm(1, WARNING) == "warning"
    spare = forest.spares[1]
    assert forest.spare_scores[1, LOSS] == loss
    assert forest.scores[1, N_LOSSES] == forest.spare_scores[1, N_LOSSES] == ROWS_OF_TRUST
    forest.spare_scores[1, LOSS] = ratio * loss
    assert forest._handle_alarm(1, DRIFT) == what
    assert forest.trees[1] is (spare if what else tree)
    assert forest.spares[1] is (None if what else spare)


@every
def test_without_a_spare_tree_a_drift_replaces_a_tree_by_a_new_one(model_class):
    X, y = drifting(model_class)
    forest = make(model_class, warning_delta=1e-300).partial_fit(X[:500], y[:500], **known(model_class)).growth_
    assert forest._handle_alarm(1, DRIFT) == "drift"
    assert forest.trees[1].n_rows == 0


def test_a_warning_alone_plants_a_spare_tree_that_does_not_vote():
    X, y = drifting(StreamForestClassifier)
    model = make(StreamForestClassifier, drift_delta=None)
    plain = make(StreamForestClassifier, drift_delta=None, warning_delta=None)
    expected = plain.test_then_train(X, y, classes=[0, 1, 2])
    np.testing.assert_array_equal(model.test_then_train(X, y, classes=[0, 1, 2]), expected)
    assert {event.kind for event in model.drifts_} == {"warning"}
    assert any(spare is not None for spare in model.growth_.spares)
    assert model.nbytes_ > plain.nbytes_


@every
def test_votes_follow_recent_losses(model_class):
    X, y = drifting(model_class, n=1200)
    model = make(model_class, max_features=0.2).partial_fit(X[:1000], y[:1000], **known(model_class))
    forest = model.growth_
    said = [
        tree.predict(forest._seen(X[1000:], columns))
        for tree, columns in zip(forest.trees, forest.columns, strict=True)
    ]
    errors = [error(y[1000:], found if found.shape[1] > 1 else found[:, 0]) for found in said]
    # trees of one column are worse than soft trees of all, and are separated by their losses
    assert max(model.losses_[:2]) < min(model.losses_[2:])
    voted = error(y[1000:], model.predict_proba(X[1000:]) if y.dtype.kind == "i" else model.predict(X[1000:]))
    assert voted < np.mean(errors)
    plain = copy.deepcopy(model).set_params(voting="mean")
    assert plain.get_params()["voting"] == "mean"


def test_a_forest_is_better_than_its_trees():
    X, y = Agrawal(functions=(0, 2, 5), drift_every=1500, seed=3).take(4500)
    losses = []
    for model in (
        StreamForestClassifier(random_state=0),
        SoftHoeffdingTreeClassifier(random_state=0),
        HoeffdingTreeClassifier(),
    ):
        found = model.test_then_train(X, y, classes=[0, 1])
        losses.append(-np.log(np.maximum(found[np.arange(len(y)), y], 1e-6)).mean())
    assert losses[0] < min(losses[1:])


@every
def test_files_pickles_and_copies_go_on_bit_for_bit(model_class, tmp_path):
    X, y = drifting(model_class)
    model, n = make(model_class), 0
    while n < 1400 or all(spare is None for spare in model.growth_.spares):
        model.partial_fit(X[n : n + 20], y[n : n + 20], **known(model_class))
        n += 20
    assert n < N
    softwood.save(model, tmp_path / "forest.softwood")
    others = [softwood.load(tmp_path / "forest.softwood"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    model.partial_fit(X[n:], y[n:])
    for other in others:
        other.partial_fit(X[n:], y[n:])
        assert_same(other, model)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_categories_that_come_late():
    rng = np.random.default_rng(0)
    n = 1200
    table = pd.DataFrame({"size": rng.normal(size=n), "town": rng.choice(["Rome", "Bern"], n)})
    table.loc[700:, "town"] = rng.choice(["Rome", "Oslo"], n - 700)
    y = (table["size"] + 2 * (table["town"] == "Oslo") > 0.5).astype(int).to_numpy()
    whole, parts = (make(StreamForestClassifier) for _ in range(2))
    expected = whole.test_then_train(table, y, classes=[0, 1])
    found = [parts.test_then_train(table.iloc[a:b], y[a:b], classes=[0, 1]) for a, b in pairwise([0, 300, 699, 703, n])]
    np.testing.assert_array_equal(np.concatenate(found), expected)
    assert_same(parts, whole)
    assert np.mean(expected[900:].argmax(axis=1) == y[900:]) > 0.9


def test_the_finished_forest():
    X, y = drifting(StreamForestClassifier, n=1400)
    X = np.nan_to_num(X)
    model = make(StreamForestClassifier, voting="mean", crisp_parameters={"leaf_prediction": "mc", "grace_period": 50})
    model.partial_fit(X, y, classes=[0, 1, 2])
    assert len(model.forest_) == 4
    np.testing.assert_allclose(model.forest_.predict(X), model.predict_proba(X), atol=1e-9)
    assert not hasattr(model, "tree_")
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert len(to_json(model)) > 100
    votes = make(StreamForestClassifier).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"vote with weights.*export its forest_"):
        to_json(votes)
    np.testing.assert_allclose(softwood.explain(votes, X[:1]).prediction, votes.predict_proba(X[:1])[0])
    crisp = make(StreamForestClassifier, soft_share=0.0).partial_fit(X, y, classes=[0, 1, 2])
    assert crisp.forest_.link == "identity"


def test_hundreds_of_classes_and_a_thousand_columns():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.tile(np.arange(200), 3))
    X = np.column_stack([y + 0.1 * rng.normal(size=len(y)), y % 17])
    found = make(StreamForestClassifier).test_then_train(X, y, classes=range(200))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    wide = rng.normal(size=(60, 1000))
    model = make(StreamForestClassifier).partial_fit(wide, (wide[:, 0] > 0).astype(int), classes=[0, 1])
    assert np.isfinite(model.predict_proba(wide)).all()


def test_a_limit_that_is_too_small_gives_a_warning_with_the_columns_of_the_trees():
    X, y = np.random.default_rng(0).normal(size=(50, 6)), np.arange(50) % 2
    with pytest.warns(UserWarning, match="a tree of 6 columns") as found:
        StreamForestClassifier(2, max_size=0.001, random_state=0).partial_fit(X, y, classes=[0, 1])
    assert not any("of 1 columns" in str(warning.message) for warning in found)


def test_errors_that_last_are_followed():
    """A plane with errors that last, and without: predictions follow the level, if the rows are in their order."""
    rng = np.random.default_rng(0)
    X, lasting = rng.normal(size=(N, 3)), np.zeros(N)
    for i in range(1, N):
        lasting[i] = 0.9 * lasting[i - 1] + 0.5 * rng.normal()
    found = {}
    for name, noise in (("lasting", lasting), ("new", rng.normal(size=N))):
        for adjust_votes in (True, False):
            model = make(StreamForestRegressor, adjust_votes=adjust_votes)
            predictions = model.test_then_train(X, X[:, 0] + noise)
            found[name, adjust_votes] = error((X[:, 0] + noise)[500:], predictions[500:])
            level = model.predict(X[:5]) - make(StreamForestRegressor, adjust_votes=False).partial_fit(
                X, X[:, 0] + noise
            ).predict(X[:5])
            assert level == pytest.approx(level[0])
            assert (abs(level[0]) > 0.1) == (adjust_votes and name == "lasting")
    assert found["lasting", True] < 0.6 * found["lasting", False]
    assert found["new", True] < 1.01 * found["new", False]
    plain = [make(StreamForestRegressor, adjust_votes=value, voting="mean") for value in (True, False)]
    one, other = (model.partial_fit(X, X[:, 0] + lasting).predict(X) for model in plain)
    assert np.array_equal(one, other)
