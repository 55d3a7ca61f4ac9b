"""How one-stage trees are trained by default, the folds, and the choice."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood import OneStageTreeClassifier
from softwood.core.parameters import checked
from softwood.gradient import crisp_choice, crisp_training
from softwood.gradient.crisp_choice import (
    CLASS_COSTS,
    REAL_COSTS,
    Candidate,
    CrispWork,
    Verdict,
    best_candidate,
    fold_rows,
)
from softwood.gradient.crisp_training import CrispTraining, NodeCounts, Pace, Recipe
from softwood.gradient.data import HEAVY, LearningSet
from tests.reference.crisp import node_loss, node_values, rows_at

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

    def __iter__(self):
        while len(self.lines) != self.stop_after:
            yield self

    def end(self, **line):
        self.lines.append(line)


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
    order_splits = crisp_training.loop.order_splits

    def spy(is_split, *rest):
        shapes.append(is_split.copy())
        return order_splits(is_split, *rest)

    monkeypatch.setattr(crisp_training.loop, "order_splits", spy)
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
    assert free.costs == pytest.approx(CLASS_COSTS if is_class else REAL_COSTS)
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


def test_candidates_and_their_records():
    candidate = Candidate(Recipe("columns", 0.1, 0.2, False, False, 3.0, 30.0), 2.0, 0.5, 3.5)
    assert Candidate.of(candidate.record()) == candidate
    assert len(candidate.record()) == len(fields(Recipe)) + 3
