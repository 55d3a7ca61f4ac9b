"""One-stage trees as they are by default: the choice by folds, the training, and what is left of both."""

from dataclasses import fields, replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split

from softwood import Gate, OneStageTreeClassifier, OneStageTreeRegressor
from softwood.gradient import crisp_choice, crisp_training
from softwood.gradient.crisp_choice import Candidate, CrispWork, Verdict, best_candidate, costs_for, fold_rows
from softwood.gradient.crisp_training import CrispTraining, NodeCounts, Pace, Recipe
from softwood.gradient.data import HEAVY, LearningSet
from softwood.gradient.one_stage import AS_PUBLISHED
from softwood.parameters import checked
from tests.contract.test_inputs import ODD
from tests.gradient.soft_trees import answer, assert_same_tree
from tests.gradient.staged_trees import CRISP, problem, small
from tests.reference.crisp import leaves_of, node_loss, node_values, rows_at

both = pytest.mark.parametrize("model_class", CRISP)
kinds = pytest.mark.parametrize("is_class", [True, False])


def rows_of(seed=0, n=80, d=3, q=3, is_class=True, weights=None):
    """Rows as the choice takes them: weights with mean 1."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d))
    signal = points[:, 0] + points[:, -1] ** 2 + 0.3 * rng.normal(size=n)
    if is_class:
        targets = np.eye(q)[np.digitize(signal, np.quantile(signal, np.arange(1, q) / q))]
    else:
        targets = np.column_stack([signal, *rng.normal(size=(q - 1, n))])
    weights = np.ones(n) if weights is None else weights
    return LearningSet(points, targets, weights / weights.mean())


def rules_of(**parameters):
    return checked(OneStageTreeClassifier(**{"max_depth": 2, "max_iter": 3, **parameters}))


def work_of(rows, is_class=True, fraction=0.25, **parameters):
    return CrispWork(rows, is_class, float(len(rows)), rules_of(**parameters), fraction, 0)


class Stages:
    """Stands for the steps of a fit; stops after so many."""

    def __init__(self, stop_after=None):
        self.lines, self.stop_after = [], stop_after

    def stage(self, *of):
        self.of = of
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def begin(self):
        return self

    def end(self, **line):
        self.lines.append(line)
        return len(self.lines) == self.stop_after


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


@both
def test_the_same_tree_for_any_number_of_jobs(model_class):
    X, y = problem(model_class)
    one = small(model_class).fit(X, y)
    for n_jobs, backend in ((2, "threading"), (3, "loky"), (-1, "loky")):
        with parallel_config(backend=backend):
            other = small(model_class, n_jobs=n_jobs).fit(X, y)
        assert_same_tree(one.tree_, other.tree_)
        assert one.history_ == other.history_
        assert one.search_ == other.search_


@both
@pytest.mark.parametrize("factors", [(2.0**-3, 2.0**-332), (2.0**60, 2.0**332), (2.0**-3, 2.0**332)])
def test_a_common_factor_of_weights_that_are_no_repetition(model_class, factors):
    X, y = problem(model_class)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    one, other = (small(model_class).fit(X, y, sample_weight=weights * factor) for factor in factors)
    np.testing.assert_array_equal(answer(one, X), answer(other, X))
    np.testing.assert_array_equal(one.tree_.mass / one.tree_.mass[0], other.tree_.mass / other.tree_.mass[0])


# ------------------------------------------------------------------ training


def training_of(rows, is_class=True, depth=3, n_passes=6, recipe=None, **given):
    recipe = recipe or (Recipe("linear", l2=1.0) if is_class else Recipe("columns", l1=0.1, l2=0.1))
    given = {"prior": 5.0, "unit": 1.0, "seed": [0], **given}
    return CrispTraining(rows, is_class, depth, recipe, Pace(n_passes, 16, 0.05), **given)


def run(training):
    return sum(1 for _ in training.passes())


@kinds
def test_passes_lower_the_loss_of_the_training_rows(is_class):
    rows = rows_of(n=300, is_class=is_class, q=2)
    training = training_of(rows, is_class, n_passes=30)
    before = training.tree(0.0).mean_loss(rows, is_class, training.prior)
    assert run(training) == 30
    assert training.tree(0.0).mean_loss(rows, is_class, training.prior) < before


@kinds
def test_gates_that_are_not_trained_stay(is_class):
    training = training_of(rows_of(is_class=is_class), is_class, recipe=Recipe("columns", is_trained=False))
    before = training.gates.copy()
    assert run(training) == 0
    assert np.array_equal(training.gates, before)


@kinds
@pytest.mark.parametrize("init", ["linear", "columns", "fitted", "random"])
def test_first_gates_are_those_of_the_recipe(is_class, init):
    rows = rows_of(is_class=is_class, q=2)
    one, same, other = (training_of(rows, is_class, recipe=Recipe(init), seed=[seed]) for seed in (1, 1, 2))
    assert one.gates.shape == (7, 4)
    assert np.array_equal(one.gates, same.gates)
    assert np.array_equal(one.gates, other.gates) == (init != "random")
    used = np.count_nonzero(one.gates[0, :-1])
    assert used == {"columns": 1}.get(init, 3) or init == "fitted"
    given = np.ones((7, 4))
    begun = training_of(rows, is_class, recipe=Recipe(init), gates=given)
    run(begun)
    assert np.all(given == 1.0)
    assert np.any(begun.gates != 1.0)


def test_a_pruned_node_can_be_split_later(monkeypatch):
    shapes = []
    order_splits = crisp_training.crisp_shape.order_splits

    def spy(is_split, *rest):
        shapes.append(is_split.copy())
        return order_splits(is_split, *rest)

    monkeypatch.setattr(crisp_training.crisp_shape, "order_splits", spy)
    n_returned = 0
    for seed in range(3):
        run(training_of(rows_of(seed, n=200, q=6), depth=4, n_passes=40, recipe=Recipe("random", l2=0.01)))
        passes = np.array(shapes)
        assert passes[:, 0].all()  # the root is always trained
        gone, came = passes[:-1] & ~passes[1:], ~passes[:-1] & passes[1:]
        first_gone = np.where(gone.any(axis=0), gone.argmax(axis=0), len(gone))
        n_returned += sum(came[first:, node].any() for node, first in enumerate(first_gone))
        shapes.clear()
    assert n_returned > 3


@kinds
def test_counts_are_those_of_the_rows(is_class):
    rows = rows_of(is_class=is_class, q=2, weights=np.random.default_rng(3).uniform(0.5, 2.0, size=80))
    training = training_of(rows, is_class, unit=2.0)
    counts, members = NodeCounts(training, rows), rows_at(training.gates, rows.points)
    np.testing.assert_allclose(counts.mass, members @ rows.weights)
    values = node_values(members, rows.targets, rows.weights, 2.5)  # five rows of weight 1 / 2
    np.testing.assert_allclose(counts.values, values)
    other = rows_of(seed=5, n=40, is_class=is_class, q=2)
    held_out, there = NodeCounts(training, other), rows_at(training.gates, other.points)
    expected = [
        node_loss(value, other.targets[here], other.weights[here], is_class, 1e-9)
        for value, here in zip(values, there, strict=True)
    ]
    np.testing.assert_allclose(held_out.losses_with(counts.values), expected, atol=1e-9)
    if is_class:
        wrong = [
            other.weights[here] @ (other.targets[here].argmax(axis=1) != value.argmax())
            for value, here in zip(values, there, strict=True)
        ]
        np.testing.assert_allclose(held_out.errors_with(counts.values), wrong, atol=1e-12)


def test_rates_fall_and_gates_get_steeper():
    pace, recipe = Pace(101, 32, 0.02), Recipe("columns", gentle=2.0, steep=32.0)
    rates, steepness = ([function(k) for k in range(101)] for function in
                        (pace.rate_at, lambda k: pace.steepness_at(k, recipe)))  # fmt: skip
    assert rates[:60] == [0.02] * 60
    assert np.all(np.diff(rates[60:]) < 0)
    assert rates[-1] == pytest.approx(0.001)
    assert steepness[:30] == [2.0] * 30
    assert np.all(np.diff(steepness[31:]) > 0)
    assert steepness[-1] == pytest.approx(32.0)
    assert Pace(1, 32, 0.02).rate_at(0) == 0.02


# ------------------------------------------------------------------ folds


@kinds
@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), q=st.integers(2, 4))
def test_folds_partition_the_rows(is_class, seed, n, q):
    rows = rows_of(seed, n, q=q, is_class=is_class, weights=np.random.default_rng(seed).uniform(0.5, 2.0, size=n))
    rows.points[:, 0] = np.arange(n)  # names of the rows
    pairs = fold_rows(rows, is_class, 1.0, 0.25, seed)
    n_folds = min(5, n)
    assert len(pairs) == 3 * n_folds
    for repeat in range(3):
        mine = pairs[repeat * n_folds : (repeat + 1) * n_folds]
        judged = np.concatenate([judges.points[:, 0] for _, judges in mine])
        assert sorted(judged) == list(range(n))
        for learn, judges in mine:
            names = np.concatenate([learn.points[:, 0], judges.points[:, 0]]).astype(int)
            assert sorted(names) == list(range(n))
            assert np.array_equal(np.concatenate([learn.weights, judges.weights]), rows.weights[names])
            if is_class:  # divided evenly
                of_classes = judges.targets.sum(axis=0), rows.targets.sum(axis=0)
                assert np.abs(of_classes[0] - of_classes[1] / n_folds).max() < 1.0 + 1e-9


@kinds
def test_rows_are_divided_anew_and_by_the_seed(is_class):
    rows = rows_of(n=100, is_class=is_class)
    one, same, other = ([set(judges.points[:, 0]) for _, judges in fold_rows(rows, is_class, 1.0, 0.25, seed)]
                        for seed in (1, 1, 2))  # fmt: skip
    assert one == same
    assert one != other
    assert len({frozenset(names) for names in one}) == 15


@pytest.mark.parametrize(("n", "n_pairs"), [(299, 15), (300, 10), (999, 10), (1000, 5), (5000, 5), (5001, 1)])
def test_number_of_folds(n, n_pairs):
    assert len(fold_rows(rows_of(n=n), True, 1.0, 0.25, 0)) == n_pairs


@kinds
def test_of_many_rows_a_part_of_each_class_is_held_out(is_class):
    rows = rows_of(n=6000, is_class=is_class)
    ((learn, judges),) = fold_rows(rows, is_class, 1.0, 0.2, 0)
    assert len(judges) == pytest.approx(1200, abs=1)
    assert len(learn) + len(judges) == 6000
    if is_class:
        np.testing.assert_allclose(judges.targets.sum(axis=0), rows.targets.sum(axis=0) / 5, atol=2)


def test_heavy_rows_are_on_both_sides():
    weights = np.ones(60)
    weights[7] = 40.0  # more than a twentieth of its class
    rows = rows_of(n=60, q=2, weights=weights)
    rows.points[:, 0] = np.arange(60)
    unit = weights.sum() / 60
    assert rows.weights[7] > HEAVY * 60
    for learn, judges in fold_rows(rows, True, unit, 0.25, 0):
        parts = [float(part.weights[part.points[:, 0] == 7][0]) for part in (learn, judges)]
        assert parts == pytest.approx([0.8 * rows.weights[7], 0.2 * rows.weights[7]])
    # a large part of a small class, but not repeated: on one side
    alone = rows_of(n=10, q=2)
    alone.points[:, 0] = np.arange(10)
    for learn, judges in fold_rows(alone, True, 1.0, 0.25, 0):
        assert not set(learn.points[:, 0]) & set(judges.points[:, 0])


@kinds
def test_a_single_row_is_not_divided(is_class):
    rows = LearningSet(np.zeros((1, 2)), np.ones((1, 1)), np.ones(1))
    assert fold_rows(rows, is_class, 1.0, 0.25, 0) == []
    tried, chosen = work_of(rows, is_class).choose(None, Stages(), 1)
    assert tried == [chosen] or (len(tried) == 1 and np.isnan(chosen.loss))


# ------------------------------------------------------------------ the choice


@given(
    st.lists(st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0]), min_size=6, max_size=6), min_size=1, max_size=4),
    st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=4, max_size=4),
    st.sampled_from([1, 2, 3, 6]),
)
def test_the_best_cost_is_that_of_the_smallest_smoothed_mean_loss(losses, masses, n_costs):
    recipe, costs = Recipe("linear"), np.arange(n_costs) * 2.0
    verdicts = [
        Verdict(np.array(line[:n_costs]), np.arange(n_costs)[::-1] + number, mass)
        for number, (line, mass) in enumerate(zip(losses, masses, strict=False))
    ]
    found = best_candidate(recipe, verdicts, costs)
    total = sum(verdict.mass for verdict in verdicts)
    mean = [sum(v.mass * v.losses[k] for v in verdicts) / total for k in range(n_costs)]
    smooth = mean
    if n_costs > 2:
        smooth = [
            (mean[max(k - 1, 0)] + 2 * mean[k] + mean[min(k + 1, n_costs - 1)]) / 4 for k in range(n_costs)
        ]  # fmt: skip
    best = max(k for k in range(n_costs) if smooth[k] <= min(smooth) * (1 + 1e-9))  # of equal ones the dearest
    assert found.recipe is recipe
    assert found.cost == costs[best]
    assert found.loss == pytest.approx(smooth[best])
    assert found.n_splits == pytest.approx(n_costs - 1 - best + (len(verdicts) - 1) / 2)


def slow_verdict(work, pair, recipe, number, fold, is_class, rules):
    """Losses of the rows held out for each cost, with trees that are read row by row."""
    learn, judges = pair
    scale = learn.weights.mean()
    learn = replace(learn, weights=learn.weights / scale)
    training = CrispTraining(
        learn, is_class, rules.max_depth, recipe, work.pace, rules.prior, scale, [0, 22, number, fold]
    )
    run(training)
    losses, n_splits = [], []
    for cost in work.costs:
        tree = training.tree(cost)
        _, read = tree.read(judges, training.prior)
        if is_class:
            row = -np.log(np.maximum((read * judges.targets).sum(axis=1), 1e-9))
            row += crisp_choice.ERROR_WEIGHT * (read.argmax(axis=1) != judges.targets.argmax(axis=1))
        else:
            row = ((read - judges.targets) ** 2).sum(axis=1)
        losses.append(np.average(row, weights=judges.weights))
        n_splits.append(len(tree.splits()))
    return Verdict(np.array(losses), np.array(n_splits), judges.weights.sum())


@kinds
@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_choice_is_that_of_brute_force(is_class, is_weighted):
    weights = np.random.default_rng(4).uniform(0.5, 2.0, size=60) if is_weighted else None
    rows, rules = rows_of(n=60, q=2, is_class=is_class, weights=weights), rules_of()
    work, stages = work_of(rows, is_class), Stages()
    tried, chosen = work.choose(None, stages, 1)
    pairs = fold_rows(rows, is_class, 1.0, 0.25, 0)
    expected = []
    for number, recipe in enumerate(work.recipes):
        verdicts = [slow_verdict(work, pair, recipe, number, fold, is_class, rules) for fold, pair in enumerate(pairs)]
        expected.append(best_candidate(recipe, verdicts, work.costs))
    assert len(tried) == len(work.recipes) > 2
    for found, slow in zip(tried, expected, strict=True):
        assert (found.recipe, found.cost) == (slow.recipe, slow.cost)
        assert found.loss == pytest.approx(slow.loss)
        assert found.n_splits == pytest.approx(slow.n_splits)
    assert chosen is min(tried, key=lambda one: one.loss)
    assert stages.of == ("choice", "training", len(pairs) * len(work.recipes))
    assert len(stages.lines) == len(pairs) * len(work.recipes)


def test_a_stop_ends_the_choice_with_what_is_known():
    work = work_of(rows_of(n=60))
    tried, chosen = work.choose(None, Stages(stop_after=2), 2)
    assert [one.recipe for one in tried] == work.recipes[:2]
    assert chosen in tried


@kinds
def test_what_is_given_is_not_tried(is_class):
    rows = rows_of(n=60, is_class=is_class)
    free = work_of(rows, is_class)
    assert len({recipe.l2 for recipe in free.recipes}) > 1 or not is_class
    assert free.costs == pytest.approx(costs_for(is_class))
    given = work_of(rows, is_class, l2_regularization=0.5, init="random", l1_regularization=0.1)
    assert {(recipe.l2, recipe.init, recipe.l1) for recipe in given.recipes} == {(30.0, "random", 6.0)}
    assert len(given.recipes) == len(set(given.recipes)) < len(free.recipes)
    dear = work_of(rows, is_class, split_cost=0.2)
    assert dear.costs.tolist() == [pytest.approx(12.0)]
    assert dear.choose(None, Stages(), 1)[1].cost == pytest.approx(12.0)
    pace = work_of(rows, is_class, max_iter=7, batch_size=5, learning_rate=0.3).pace
    assert pace == Pace(7, 5, 0.3)


def test_with_one_thing_to_try_nothing_is_judged():
    rows = rows_of(n=60, is_class=False)
    work = work_of(rows, False, split_cost=0.1)
    work.recipes = work.recipes[:1]
    stages = Stages()
    tried, chosen = work.choose(None, stages, 1)
    assert stages.lines == []
    assert tried == [chosen]
    assert np.isnan(chosen.loss)


def test_many_rows_have_fewer_passes_and_more_to_try():
    few, many = (work_of(rows_of(n=n), max_iter="auto") for n in (100, 400_000))
    assert (few.pace.n_passes, few.pace.batch_size) == (30, 32)
    assert (many.pace.n_passes, many.pace.batch_size) == (15, 256)
    assert all(recipe.is_trained for recipe in few.recipes)
    assert [recipe.is_trained for recipe in many.recipes].count(False) == 1


def test_candidates_and_their_lines():
    candidate = Candidate(Recipe("columns", 0.1, 0.2, False, False, 3.0, 30.0), 2.0, 0.5, 3.5)
    assert Candidate.of(candidate.line()) == candidate
    assert len(candidate.line()) == len(fields(Recipe)) + 3


# ------------------------------------------------------------------ what a fit leaves


@both
def test_the_choice_is_told(model_class):
    X, y = problem(model_class)
    model = small(model_class).fit(X, y)
    table = pd.DataFrame(model.search_)
    assert len(table) == (7 if is_classifier(model) else 5)
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
    # another shape begins anew
    model.set_params(max_depth=2).fit(X, y)
    expected = small(model_class, max_depth=2, max_iter=4).fit(X, y)
    assert model.history_ == expected.history_
    assert_same_tree(model.tree_, expected.tree_)


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
    model = OneStageTreeClassifier(**{**AS_PUBLISHED, "architecture": architecture}, max_depth=3, random_state=0)
    assert clone(model).get_params() == model.get_params()
    model.set_params(max_iter=20).fit(X, y)
    assert {line["stage"] for line in model.history_} == {"fit"}
    assert not hasattr(model, "search_")
    assert model.score(X, y) > 0.45
    assert AS_PUBLISHED["architecture"] == "proximal"


@both
def test_auto_is_what_sampled_trees_had_as_defaults(model_class):
    X, y = problem(model_class)
    one = model_class(architecture="proximal", max_depth=2, random_state=0).fit(X, y)
    other = model_class(
        architecture="proximal", max_depth=2, random_state=0, init="fitted", learning_rate=0.01, batch_size=32,
        max_iter=200, split_cost=0.001, l1_regularization=0.0, l2_regularization=0.0,
    ).fit(X, y)  # fmt: skip
    assert one.history_ == other.history_
    assert_same_tree(one.tree_, other.tree_)


# ------------------------------------------------------------------ progress and interrupts


@both
def test_progress_is_told_when_asked(model_class, capsys):
    X, y = problem(model_class)
    model = small(model_class, verbose=2).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    steps = [line for line in model.history_ if line["iteration"] > 0]
    n = 15 * len(model.search_)
    for line, step in zip(lines, steps, strict=True):
        k = step["iteration"]
        words = f"training {k} of {n}, validation loss" if step["stage"] == "choice" else f"pass {k} of 10, train loss"
        assert line.startswith(f"[{model_class.__name__}] {words} ")


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
    n_judged = 10 * sum(line["stage"] == "choice" for line in whole.history_)
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
    assert_same_tree(model.fit(X, y).tree_, whole.tree_)  # and it can be fitted again


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
@pytest.mark.parametrize("given", [{}, {"init": "linear"}, {"init": "fitted"}, {"init": "random"}], ids=str)
@pytest.mark.parametrize(("X", "y"), ODD.values(), ids=ODD)
def test_odd_data(model_class, given, X, y):
    X, y = np.array(X), np.array(y)
    assert_plain(small(model_class, **given).fit(X, y), X, len(X))


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


@both
@pytest.mark.parametrize("weight", [1e-300, 1e-12, 1e300])
def test_equal_weights_do_not_matter(model_class, weight):
    X, y = problem(model_class)
    one, other = small(model_class).fit(X, y), small(model_class).fit(X, y, sample_weight=np.full(len(X), weight))
    assert one.score(X, y) == pytest.approx(other.score(X, y), abs=0.1)
    assert_plain(other, X, weight * len(X))


def test_many_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.arange(600) % 200
    model = small(OneStageTreeClassifier, max_iter=2, max_depth=4).fit(X, y)
    assert model.predict_proba(X).shape == (600, 200)
    assert_plain(model, X, 600)


def test_fuzzy_labels_and_several_targets():
    X, _ = problem(OneStageTreeClassifier)
    share = 1 / (1 + np.exp(-3 * X[:, 0]))
    model = small(OneStageTreeClassifier).fit(X, np.column_stack([share, 1 - share]))
    assert np.corrcoef(model.predict_proba(X)[:, 0], share)[0, 1] > 0.8
    several = small(OneStageTreeRegressor, max_iter=30).fit(X, np.column_stack([X[:, 0], X[:, 1]]))
    assert several.score(X, X[:, :2]) > 0.3
