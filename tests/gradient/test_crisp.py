"""One-stage trees as they are by default: the choice by folds, the training, and what is left of both."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split

from softwood import Gate, OneStageTreeClassifier, OneStageTreeRegressor
from softwood.gradient import crisp_choice
from softwood.gradient.crisp_training import CrispTraining
from tests.gradient.staged_trees import CRISP, small
from tests.models import answer, assert_same_nodes, problem
from tests.reference.crisp import leaves_of, node_loss, node_values, rows_at

both = pytest.mark.parametrize("model_class", CRISP)
kinds = pytest.mark.parametrize("is_class", [True, False])


# ------------------------------------------------------------------ how good they are


@pytest.mark.parametrize(("load", "least"), [(load_digits, 0.933), (load_breast_cancer, 0.95)])
def test_accuracy(load, least):
    X, y = load(return_X_y=True)
    scores = []
    for seed in range(3):
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
        scores.append(OneStageTreeClassifier(random_state=seed).fit(X_train, y_train).score(X_test, y_test))
    assert np.mean(scores) >= least


def test_classes_that_many_rows_cannot_tell_apart_need_no_split():
    rng = np.random.default_rng(0)
    model = OneStageTreeClassifier(max_depth=3, max_iter=5, random_state=0)
    model.fit(rng.normal(size=(400, 3)), rng.random(400) < 0.1)
    assert model.get_n_leaves() <= 3


# ------------------------------------------------------------------ the tree


@both
@pytest.mark.parametrize("seed", range(3))
def test_the_tree_is_the_one_that_was_trained(model_class, seed):
    """Rows go by the signs of the trained gates, and end at leaves with the values of the rows that end there."""
    X, y = problem(model_class, n=200)
    model = small(model_class, max_depth=4, random_state=seed).fit(X, y)
    staged, targets = model._staged_, np.eye(3)[y] if is_classifier(model) else y[:, None]
    members = rows_at(staged.gates, model._scaling_.standardise(X))
    splits = set(staged.splits())
    assert splits == set(np.flatnonzero(staged.alive).tolist())
    assert model.get_n_leaves() == len(splits) + 1
    values = node_values(members, targets, np.ones(len(X)), model.prior)
    expected = np.empty(targets.shape)
    for leaf in leaves_of(splits):
        expected[members[leaf]] = values[leaf]
    found = answer(model, X)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-9)
    assert model.tree_.is_crisp
    inner = model.tree_.children_left >= 0
    assert np.all(model.tree_.gate[inner] == Gate.OBLIQUE)


@both
@pytest.mark.parametrize("seed", range(3))
def test_no_split_is_left_that_does_not_earn_its_cost(model_class, seed):
    X, y = problem(model_class, n=200)
    model = small(model_class, max_depth=4, random_state=seed).fit(X, y)
    is_class, staged, cost = is_classifier(model), model._staged_, model.chosen_["split_cost"]
    targets = np.eye(3)[y] if is_class else ((y - y.mean()) / y.std())[:, None]
    members = rows_at(staged.gates, model._scaling_.standardise(X))
    values = node_values(members, targets, np.ones(len(X)), model.prior)
    losses = [node_loss(value, targets[here], np.ones(here.sum()), is_class, 1e-9) for value, here in
              zip(values, members, strict=True)]  # fmt: skip
    splits = set(staged.splits())

    def best(node):
        return min(losses[node], cost + best(2 * node + 1) + best(2 * node + 2)) if node < 15 else losses[node]

    assert sum(losses[leaf] for leaf in leaves_of(splits)) + cost * len(splits) == pytest.approx(best(0))


# ------------------------------------------------------------------ what a fit leaves


@both
def test_the_choice_is_told(model_class):
    X, y = problem(model_class)
    model = small(model_class).fit(X, y)
    table = pd.DataFrame(model.search_)
    assert len(table) == (7 if is_classifier(model) else 6)
    assert model.chosen_ == model.search_[int(table["loss"].argmin())]
    assert np.isfinite(table.select_dtypes("number").to_numpy()).all()
    choice = [line for line in model.history_ if line["stage"] == "choice"]
    assert len(choice) == 15 * len(table)
    assert {line["recipe"] for line in choice} == set(range(len(table)))
    given = small(model_class, l2_regularization=0.01, split_cost=0.02).fit(X, y)
    assert {line["l2_regularization"] for line in given.search_} == {1.5}
    assert {line["split_cost"] for line in given.search_} == {3.0}


@both
def test_history(model_class):
    X, y = problem(model_class)
    model = small(model_class).fit(X, y)
    passes = pd.DataFrame([line for line in model.history_ if line["stage"] == "fit"])
    assert list(passes) == ["stage", "iteration", "train_loss", "n_leaves"]
    assert passes["iteration"].tolist() == list(range(11))
    assert np.isfinite(passes["train_loss"]).all()
    assert passes["n_leaves"].iloc[-1] == model.get_n_leaves()
    assert model.n_iter_ == 10


@both
def test_given_validation_rows_decide_in_place_of_folds(model_class, monkeypatch):
    X, y = problem(model_class)
    X_val, y_val = problem(model_class, n=70, seed=1)
    monkeypatch.setattr(crisp_choice, "fold_rows", None)
    model = small(model_class).fit(X, y, X_val=X_val, y_val=y_val)
    monkeypatch.undo()
    choice = [line for line in model.history_ if line["stage"] == "choice"]
    assert len(choice) == len(model.search_)
    assert model.tree_.mass[0] == len(X)  # and nothing is learned from them
    # the other way round, each loss is that of the rows given
    best = choice[model.search_.index(model.chosen_)]["validation_loss"]
    assert best <= model.chosen_["loss"] + 1e-12
    other = small(model_class).fit(X, y, X_val=X_val[::-1], y_val=np.roll(y_val, 7))
    assert other.search_ != model.search_


@both
def test_choosing_again_is_not_needed_with_a_warm_start(model_class):
    X, y = problem(model_class)
    model = small(model_class, warm_start=True, max_iter=4).fit(X, y)
    search, chosen, lines, gates = model.search_, model.chosen_, list(model.history_), model._staged_.gates
    model.fit(X, y)
    assert (model.search_, model.chosen_) == (search, chosen)
    added = model.history_[len(lines) :]
    assert model.history_[: len(lines)] == lines
    assert [(line["stage"], line["iteration"]) for line in added] == [("fit", k) for k in (4, 5, 6, 7, 8)]
    assert added[0]["train_loss"] == pytest.approx(lines[-1]["train_loss"])
    assert model.n_iter_ == 8
    assert np.abs(model._staged_.gates - gates).max() > 1e-6
    # another shape starts a new fit
    model.set_params(max_depth=2).fit(X, y)
    expected = small(model_class, max_depth=2, max_iter=4).fit(X, y)
    assert model.history_ == expected.history_
    assert_same_nodes(model.tree_, expected.tree_)


@both
def test_warm_starts_between_the_ways(model_class):
    X, y = problem(model_class)
    model = small(model_class, warm_start=True, architecture="proximal").fit(X, y)
    assert not hasattr(model, "chosen_")
    model.set_params(architecture="pruned").fit(X, y)
    assert len(model.search_) > 1
    assert np.isfinite(answer(model, X)).all()
    model.set_params(architecture="proximal").fit(X, y)
    assert not hasattr(model, "chosen_")
    assert np.isfinite(answer(model, X)).all()


@pytest.mark.parametrize("architecture", ["proximal", "joint", "gumbel"])
def test_as_published(architecture):
    X, y = problem(OneStageTreeClassifier)
    model = OneStageTreeClassifier.as_published(architecture=architecture, max_depth=3, random_state=0)
    assert clone(model).get_params() == model.get_params()
    model.set_params(max_iter=20).fit(X, y)
    assert {line["stage"] for line in model.history_} == {"fit"}
    assert not hasattr(model, "search_")
    assert model.score(X, y) > 0.45
    assert OneStageTreeClassifier.as_published().architecture == "proximal"


@both
def test_auto_is_what_sampled_trees_had_as_defaults(model_class):
    X, y = problem(model_class)
    one = model_class(architecture="proximal", max_depth=2, random_state=0).fit(X, y)
    other = model_class(
        architecture="proximal", max_depth=2, random_state=0, init="fitted", learning_rate=0.01, batch_size=32,
        max_iter=200, split_cost=0.001, l1_regularization=0.0, l2_regularization=0.0,
    ).fit(X, y)  # fmt: skip
    assert one.history_ == other.history_
    assert_same_nodes(one.tree_, other.tree_)


# ------------------------------------------------------------------ progress and interrupts


def interrupting(monkeypatch, after, name):
    """The passes of this name are interrupted before the one with this number."""
    passes, numbers = getattr(CrispTraining, name), iter(range(10**6))

    def stop(self):
        for _ in passes(self):
            if next(numbers) == after:
                raise KeyboardInterrupt
            yield

    monkeypatch.setattr(CrispTraining, name, stop)


PASSES = {OneStageTreeClassifier: "_passes_by_paths", OneStageTreeRegressor: "_annealed_passes"}


@both
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("after", [0, 35])
def test_an_interrupt_in_the_choice_leaves_the_estimator_as_it_was(model_class, n_jobs, after, monkeypatch):
    X, y = problem(model_class)
    model = small(model_class, n_jobs=n_jobs)
    interrupting(monkeypatch, after, PASSES[model_class])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not hasattr(model, "search_")
    monkeypatch.undo()
    before = dict(vars(model.fit(X, y)))
    interrupting(monkeypatch, after, PASSES[model_class])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:100], y[:100])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@both
@pytest.mark.parametrize("after", [0, 1, 6])
def test_an_interrupt_in_the_passes_leaves_a_tree(model_class, after, monkeypatch):
    X, y = problem(model_class)
    whole = small(model_class).fit(X, y)
    trained = [k for k, line in enumerate(whole.search_) if line["is_trained"]]
    assert whole.chosen_["is_trained"]
    n_judged = 10 * sum(line["stage"] == "choice" and line["recipe"] in trained for line in whole.history_)
    interrupting(monkeypatch, n_judged + after, PASSES[model_class])
    model = small(model_class)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert model.search_ == whole.search_
    assert model.chosen_ == whole.chosen_
    passes = [line for line in model.history_ if line["stage"] == "fit"]
    assert passes == [line for line in whole.history_ if line["stage"] == "fit"][: after + 1]
    assert np.isfinite(answer(model, X)).all()
    assert model.tree_.mass[0] == pytest.approx(len(X))
    assert_same_nodes(model.fit(X, y).tree_, whole.tree_)  # and it can be fitted again


# ------------------------------------------------------------------ odd data


def assert_plain(model, X, mass):
    found = answer(model, X)
    assert np.isfinite(found).all()
    assert model.feature_importances_.sum() == pytest.approx(1.0) or not model.feature_importances_.any()
    assert model.tree_.mass[0] == pytest.approx(mass)
    if is_classifier(model):
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert found.min() >= 0.0


@both
def test_odd_tables(model_class):
    rng = np.random.default_rng(0)
    X, y = problem(model_class, n=60)
    make = partial(small, model_class, max_iter=3)
    for n in (1, 2, 3, 6):
        assert_plain(make().fit(X[:n], y[:n]), X, n)
        assert_plain(make().fit(X[:n], y[:n], X_val=X, y_val=y[rng.integers(0, n, size=60)]), X, n)
    assert make().fit(X, np.ones(60)).get_n_leaves() == 1
    constant = make().fit(np.ones((60, 3)), y)
    assert constant.get_n_leaves() == 1
    assert_plain(constant, X[:, :3], 60)
    half = np.column_stack([np.ones(60), X[:, 0], np.full(60, np.nan)])
    assert_plain(make().fit(half, y), half, 60)


def test_many_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.arange(600) % 200
    model = small(OneStageTreeClassifier, max_iter=2, max_depth=4).fit(X, y)
    assert model.predict_proba(X).shape == (600, 200)
    assert_plain(model, X, 600)
