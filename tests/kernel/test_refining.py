"""Refining: what a trained tree keeps of the grown one, and what it does not depend on."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.metrics import log_loss

from softwood import KernelTreeClassifier, KernelTreeRegressor
from softwood.kernel import refining
from softwood.kernel.choosing import tree_settings
from softwood.trees.gates import Gate

both = pytest.mark.parametrize("model_class", [KernelTreeClassifier, KernelTreeRegressor])
SMALL = {"max_leaf_nodes": 6, "trend": None, "random_state": 0}


def table(model_class, n=300, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    signal = np.sin(1.5 * X[:, 0]) + 0.7 * X[:, 1] + rng.normal(scale=0.2, size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, np.digitize(signal, [-0.6, 0.5]) if model_class is KernelTreeClassifier else signal


def loss(model, X, y):
    """Cross-entropy or mean squared error."""
    if isinstance(model, KernelTreeRegressor):
        return float(np.mean((model.predict(X) - y) ** 2))
    return float(-np.mean(np.log(np.maximum(model.predict_proba(X)[np.arange(len(y)), y], 1e-15))))


@both
def test_a_refined_tree_of_the_same_tests_predicts_better(model_class):
    X, y = table(model_class)
    held_out = table(model_class, n=1000, seed=1)
    grown = model_class(**SMALL, bandwidth=0.3, refine=False).fit(X, y)
    refined = model_class(**SMALL, bandwidth=0.3, refine=True).fit(X, y)
    assert refined.n_passes_ > 0
    assert grown.n_passes_ == 0
    assert loss(refined, *held_out) < 0.98 * loss(grown, *held_out)
    for name in ("children_left", "feature", "gate", "kernel", "depth"):
        np.testing.assert_array_equal(getattr(refined.tree_, name), getattr(grown.tree_, name))
    inner = grown.tree_.children_left >= 0
    assert np.any(refined.tree_.threshold[inner] != grown.tree_.threshold[inner])


@both
def test_more_passes_fit_the_training_rows_better(model_class):
    X, y = table(model_class)
    losses = [loss(model_class(**SMALL, bandwidth=0.5, refine=n).fit(X, y), X, y) for n in (0, 5, 20, 80)]
    assert losses == sorted(losses, reverse=True)


@both
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_masses_and_impurities_are_those_of_the_refined_gates(model_class, missing):
    X, y = table(model_class, missing=missing)
    weights = np.random.default_rng(2).integers(1, 4, size=len(X)).astype(float)
    model = model_class(**SMALL, refine=20).fit(X, y, weights)
    tree = model.tree_
    shares = tree.memberships(X).toarray() * weights[:, None]
    np.testing.assert_allclose(tree.mass, shares.sum(axis=0), rtol=1e-9)
    inner = np.flatnonzero(tree.children_left >= 0)
    if not missing:
        np.testing.assert_allclose(tree.missing_left[inner], tree.mass[tree.children_left[inner]] / tree.mass[inner])
    truth = np.eye(3)[y] if model_class is KernelTreeClassifier else y[:, None]
    means = shares.T @ truth / tree.mass[:, None]
    squares = shares.T @ (truth**2).sum(axis=1) / tree.mass
    np.testing.assert_allclose(tree.impurity, squares - (means**2).sum(axis=1), rtol=1e-9, atol=1e-12)
    if model_class is KernelTreeRegressor:
        np.testing.assert_allclose(tree.value[inner], means[inner], rtol=1e-9)
    else:
        mixed = 0.98 * means + 0.02 * (tree.mass[0] * means[0] + 1 / 3) / (tree.mass[0] + 1)
        np.testing.assert_allclose(tree.node_predictions[inner], mixed[inner], rtol=1e-9)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert "leaf" in str(tree) or str(tree)


@both
def test_weights_are_repetitions_and_the_order_of_rows_does_not_matter(model_class):
    X, y = table(model_class, n=120, missing=0.1)
    weights = np.random.default_rng(3).integers(0, 3, size=len(X))
    weighted = model_class(**SMALL).fit(X, y, weights)
    repeated = model_class(**SMALL).fit(X.repeat(weights, axis=0), y.repeat(weights))
    order = np.random.default_rng(4).permutation(len(X))
    shuffled = model_class(**SMALL).fit(X[order], y[order], weights[order])
    for other in (repeated, shuffled):
        assert other.n_passes_ == weighted.n_passes_
        np.testing.assert_allclose(other.predict(X), weighted.predict(X), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(other.bandwidths_, weighted.bandwidths_, rtol=1e-8)


@both
def test_units_of_columns_and_targets_do_not_matter(model_class):
    X, y = table(model_class)
    scales = np.array([4.0, 0.25, 1024.0])
    factor = 8.0 if model_class is KernelTreeRegressor else 1
    given = {**SMALL, "bandwidth": "silverman", "refine": 30}  # no folds, which depend on the content of rows
    one, other = model_class(**given).fit(X, y), model_class(**given).fit(X * scales, y * factor)
    np.testing.assert_allclose(one.bandwidths_ * scales, other.bandwidths_, rtol=1e-8)
    np.testing.assert_allclose(one.predict(X) * factor, other.predict(X * scales), rtol=1e-8)
    assert np.any(one.bandwidths_ != model_class(**{**given, "refine": False}).fit(X, y).bandwidths_)


@both
def test_same_bits_for_any_number_of_threads(model_class):
    X, y = table(model_class, missing=0.1)
    one, two = (model_class(random_state=0, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.tree_.threshold, two.tree_.threshold)
    np.testing.assert_array_equal(one.tree_.value, two.tree_.value)


def test_several_targets_and_class_probabilities():
    X, y = table(KernelTreeRegressor)
    twice = np.column_stack([y, y])
    grown, refined = (KernelTreeRegressor(**SMALL, refine=refine).fit(X, twice) for refine in (0, 40))
    np.testing.assert_array_equal(*refined.predict(X).T)
    assert refined.score(X, twice) > grown.score(X, twice) + 0.02
    X, y = table(KernelTreeClassifier)
    labels, shares = KernelTreeClassifier(**SMALL).fit(X, y), KernelTreeClassifier(**SMALL).fit(X, np.eye(3)[y])
    np.testing.assert_allclose(labels.predict_proba(X), shares.predict_proba(X), rtol=1e-9)


def test_sets_of_categories_stay():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(list("abcdef"), 300), "x": rng.normal(size=300)})
    y = frame["x"] * frame["kind"].isin(["a", "c"]) + rng.normal(scale=0.1, size=300)
    grown, refined = (KernelTreeRegressor(**SMALL, refine=refine).fit(frame, y) for refine in (0, 40))
    by_set = grown.tree_.gate == Gate.SUBSET
    assert by_set.any()
    np.testing.assert_array_equal(grown.tree_.subsets[by_set], refined.tree_.subsets[by_set])
    assert refined.score(frame, y) > grown.score(frame, y)
    refined.predict(frame.assign(kind="new"))


@both
def test_only_chosen_bandwidths_are_trained(model_class):
    X, y = table(model_class)
    for given in ({"bandwidth": 0.4}, {"prediction_bandwidth": 0.3}):
        grown, refined = (model_class(**SMALL, **given, refine=refine).fit(X, y) for refine in (0, 30))
        np.testing.assert_array_equal(grown.bandwidths_, refined.bandwidths_)
        np.testing.assert_array_equal(grown.tree_.width, refined.tree_.width)
    errors = {"measurement_error": [0.5, 0.0, 0.0]}
    grown, refined = (model_class(**SMALL, **errors, refine=refine).fit(X, y) for refine in (0, 30))
    kept = grown.bandwidths_ == refined.bandwidths_
    assert kept[0]
    assert not kept[1]
    one_width = replace(refined.tree_, width=refined.tree_.width)
    own = one_width.feature == 1
    assert set(one_width.width[own]) == {refined.bandwidths_[1]}
    np.testing.assert_allclose(refined.predict(X, measurement_error=[0.5, 0.0, 0.0]), refined.predict(X), rtol=1e-9)


@both
def test_where_nothing_is_refined(model_class):
    X, y = table(model_class)
    for given in (
        {"refine": False}, {"prediction_kernel": None}, {"max_leaf_nodes": None}, {"bandwidth": 0.0},
        {"ccp_alpha": 0.01}, {"growth": "level"}, {"bandwidth_per_node": True, "bandwidth": 0.3},
    ):  # fmt: skip
        model = model_class(random_state=0, **given).fit(X, y)
        assert model.n_passes_ == 0
        assert model.tree_.link == "identity"
    whole = model_class(random_state=0, max_leaf_nodes=None, refine=True, max_depth=3).fit(X, y)
    assert whole.n_passes_ > 0


@pytest.mark.parametrize("refine", ["all", -1, 2.5, None])
def test_what_refine_may_be(refine):
    X, y = table(KernelTreeRegressor, n=30)
    with pytest.raises(ValueError, match=r"'refine' parameter of KernelTreeRegressor must be 'auto', a bool or an int"):
        KernelTreeRegressor(refine=refine).fit(X, y)


def test_what_cannot_be_refined():
    X, y = table(KernelTreeRegressor, n=30)
    with pytest.raises(ValueError, match=r"refine.*bandwidth_per_node"):
        KernelTreeRegressor(refine=True, bandwidth=0.3, bandwidth_per_node=True).fit(X, y)


@both
def test_an_interrupt_leaves_the_estimator_as_it_was(model_class, monkeypatch):
    X, y = table(model_class)
    model = model_class(**SMALL, refine=5).fit(X, y)
    before = model.predict(X)

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(refining.Refinement, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(max_leaf_nodes=3).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


@both
def test_large_tables_are_gone_through_in_batches(model_class, monkeypatch):
    X, y = table(model_class, n=500)
    monkeypatch.setattr(refining, "BATCH", 100)
    monkeypatch.setattr(refining, "BLOCK", 90)
    parts = model_class(**SMALL, refine=50).fit(X, y)
    assert loss(parts, X, y) < 0.95 * loss(clone(parts).set_params(refine=False).fit(X, y), X, y)
    assert parts.tree_.mass[0] == pytest.approx(500)


def test_a_class_that_a_fold_lacks_and_leaves_that_lose_their_rows():
    X, y = table(KernelTreeClassifier)
    y = y.copy()
    y[7] = 9
    model = KernelTreeClassifier(max_leaf_nodes=40, random_state=0, refine=150).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.tree_.impurity).all()
    outlier = X.copy()
    outlier[3, 0] = 1e12
    assert np.isfinite(KernelTreeRegressor(**SMALL).fit(outlier, 1e9 * X[:, 1]).predict(X)).all()


@both
def test_a_refinement_begins_again_with_another_strength(model_class, monkeypatch):
    begun = []
    begin = refining.Refinement._begin

    def noted(refinement, strength):
        begin(refinement, strength)
        begun.append(refinement)

    monkeypatch.setattr(refining.Refinement, "_begin", noted)
    X, y = table(model_class)
    model_class(**SMALL | {"trend": "linear"}, refine=3).fit(X, y)
    first = begun[-1]
    start, trained = first._start.copy(), first._value.copy()
    again, other = first.restarted(1.0), first.restarted(10.0)
    np.testing.assert_array_equal(again._value, start)
    assert abs(other._value).sum() < abs(start).sum()  # beside a trend, towards 0
    for _ in range(3):
        again.step()
        other.step()
    np.testing.assert_array_equal(again._value, trained)
    np.testing.assert_array_equal(first._value, trained)


@both
def test_a_wide_start_is_taken_where_it_is_better(model_class, monkeypatch):
    X, y = table(model_class, n=500)
    held_out = table(model_class, n=2000, seed=1)
    monkeypatch.setattr(tree_settings, "REFINED_GRID", np.array([0.032]))
    wide = model_class(**SMALL).fit(X, y)
    monkeypatch.setattr(tree_settings, "WIDE", 0.0)
    narrow = model_class(**SMALL).fit(X, y)
    assert (wide.bandwidth_, narrow.bandwidth_) == (0.65, 0.032)
    assert loss(wide, *held_out) < loss(narrow, *held_out)


@both
def test_leaves_that_lose_all_rows_are_dropped(model_class, monkeypatch):
    X, y = table(model_class)
    X[:, 2] = np.round(X[:, 2])
    parameters = SMALL | {"max_leaf_nodes": 40, "refine": 200, "bandwidth": "silverman"}
    dropped = model_class(**parameters).fit(X, y)
    monkeypatch.setattr(refining, "without_empty_nodes", lambda tree: tree)
    kept = model_class(**parameters).fit(X, y)
    assert np.any(kept.tree_.mass == 0)
    assert np.all(dropped.tree_.mass > 0)
    assert dropped.get_n_leaves() < kept.get_n_leaves()
    predict = "predict_proba" if model_class is KernelTreeClassifier else "predict"
    np.testing.assert_allclose(getattr(dropped, predict)(X), getattr(kept, predict)(X), rtol=1e-9, atol=1e-12)
    inner = np.flatnonzero(dropped.tree_.children_left >= 0)
    below = dropped.tree_.mass[[dropped.tree_.children_left[inner], dropped.tree_.children_right[inner]]]
    np.testing.assert_allclose(below.sum(axis=0), dropped.tree_.mass[inner])


def test_values_of_crisp_trees_are_shrunk():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.choice(list("ab"), 400) for name in "pqrst"})
    share = 0.2 + 0.3 * (frame["p"] == "a") + 0.3 * (frame["q"] == "b")
    y = (rng.random(400) < share).astype(int).to_numpy()
    train, test = slice(0, 100), slice(100, 400)
    models = [
        KernelTreeClassifier(max_leaf_nodes=16, trend=None, refine=refine, random_state=0).fit(frame[train], y[train])
        for refine in (False, "auto")
    ]
    assert models[1].tree_.is_crisp
    assert loss(models[1], frame[test], y[test]) < 0.9 * loss(models[0], frame[test], y[test])
    np.testing.assert_array_equal(models[0].tree_.feature, models[1].tree_.feature)


def test_values_are_shrunk_where_there_is_nothing_to_learn():
    rng = np.random.default_rng(0)
    X, held_out = rng.normal(size=(2, 120, 4))
    y, other = rng.integers(0, 2, size=(2, 120))
    plain, chosen = (
        KernelTreeClassifier(**SMALL | {"max_leaf_nodes": 12}, refine=refine).fit(X, y) for refine in (False, "auto")
    )
    assert loss(chosen, held_out, other) < loss(plain, held_out, other)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_losses_are_those_of_scikit_learn(n_classes):
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=(50, n_classes)), rng.integers(0, n_classes, size=50)
    y[:n_classes] = np.arange(n_classes)
    truth = np.eye(n_classes)[y]
    found = refining._log_losses(scores, truth)
    assert found.mean() == pytest.approx(log_loss(y, softmax(scores, axis=1)))
    if n_classes == 2:
        one = refining._log_losses(scores[:, 1:] - scores[:, :1], truth[:, 1:])
        np.testing.assert_allclose(one, found, rtol=1e-12)


@both
@pytest.mark.parametrize("trend", [None, "auto", "linear"])
def test_rows_that_are_all_equal(model_class, trend):
    model = model_class(max_leaf_nodes=8, trend=trend).fit(np.ones((4, 2)), [0, 1, 1, 1])
    assert model.get_n_leaves() == 1
    assert model.n_passes_ == 0
    assert model.predict([[5.0, 2.0]])[0] == (1 if model_class is KernelTreeClassifier else 0.75)
