"""Soft trees: how good they are, what must not matter, crisp reading, the joint pass, targets, tables, odd data."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from softwood import Gate, SoftTreeClassifier, SoftTreeRegressor
from tests.gradient.soft_trees import BOTH, lines_of, refine_losses, small
from tests.models import answer, assert_same_nodes, problem

both = pytest.mark.parametrize("model_class", BOTH)

# ------------------------------------------------------------------ how good they are


@pytest.mark.parametrize(("load", "least"), [(load_iris, 0.9), (load_breast_cancer, 0.93), (load_digits, 0.85)])
def test_accuracy(load, least):
    X, y = load(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    model = small(SoftTreeClassifier, max_leaf_nodes=15).fit(X_train, y_train)
    stump = DecisionTreeClassifier(max_depth=1).fit(X_train, y_train)
    assert model.score(X_test, y_test) > max(least, stump.score(X_test, y_test))


def test_accuracy_of_a_regressor():
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = small(SoftTreeRegressor).fit(X_train, y_train)
    stump = DecisionTreeRegressor(max_depth=1).fit(X_train, y_train)
    assert model.score(X_test, y_test) > max(0.2, stump.score(X_test, y_test) + 0.05)


def test_a_smooth_curve_needs_few_leaves():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 1))
    y = np.sin(4 * X[:, 0]) + 0.05 * rng.normal(size=400)
    soft = SoftTreeRegressor(random_state=0, refine=True).fit(X[:300], y[:300])
    hard = DecisionTreeRegressor(max_leaf_nodes=soft.get_n_leaves()).fit(X[:300], y[:300])
    assert 1 - soft.score(X[300:], y[300:]) < 0.5 * (1 - hard.score(X[300:], y[300:]))


def test_oblique_borders_need_one_gate():
    X = np.random.default_rng(0).normal(size=(600, 5))
    y = X.sum(axis=1) > 0
    model = small(SoftTreeClassifier, max_leaf_nodes=2).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.95


@both
def test_noise_is_not_learned(model_class):
    X, y = problem(model_class, n=300)
    y = np.random.default_rng(1).permutation(y)
    assert model_class(random_state=0).fit(X, y).get_n_leaves() < 8


# ------------------------------------------------------------------ what must not matter


# A power of two scales without rounding, so that training is the same to the last bit. With any other factor training
# begins with other roundings, which it may amplify into another tree: that one is only as good.


@pytest.mark.parametrize(("unit", "offset"), [(1e-300, 0.0), (1e9, 0.0), (1e300, 0.0), (1.0, 1e6)])
def test_any_unit_and_offset_of_the_target_is_as_good(unit, offset):
    X, y = problem(SoftTreeRegressor)
    one, other = small(SoftTreeRegressor).fit(X, y), small(SoftTreeRegressor).fit(X, y * unit + offset)
    found = (other.predict(X) - offset) / unit
    assert 1 - np.mean((found - y) ** 2) / y.var() == pytest.approx(one.score(X, y), abs=0.1)


def test_columns_that_say_nothing_do_not_matter():
    X, y = problem(SoftTreeClassifier)
    one = small(SoftTreeClassifier).fit(X, y)
    for column in (np.zeros(150), np.full(150, 1e300), np.full(150, np.nan)):
        other = small(SoftTreeClassifier).fit(np.column_stack([X, column]), y)
        new = np.column_stack([X, np.linspace(-1e9, 1e9, 150)])
        np.testing.assert_allclose(answer(other, new), answer(one, X), atol=1e-9)
        assert other.feature_importances_[4] == 0


# ------------------------------------------------------------------ the finished tree


@both
def test_leaves_add_up_to_one_and_shares_times_values_are_the_prediction(model_class):
    X, y = problem(model_class)
    model = small(model_class).fit(X, y)
    tree, shares = model.tree_, model.memberships(X).toarray()
    leaf = tree.children_left < 0
    np.testing.assert_allclose(shares[:, leaf].sum(axis=1), 1.0)
    np.testing.assert_allclose(shares[:, leaf] @ tree.value[leaf], tree.raw(X))
    np.testing.assert_allclose(answer(model, X).reshape(len(X), -1), tree.predict(X))
    assert np.all(tree.gate[~leaf] == Gate.SIGMOID)
    assert tree.mass[0] == pytest.approx(tree.mass[leaf].sum())
    inner = np.flatnonzero(~leaf)
    below = tree.mass[tree.children_left[inner]] + tree.mass[tree.children_right[inner]]
    np.testing.assert_allclose(below, tree.mass[inner])
    np.testing.assert_allclose(tree.missing_left[inner], tree.mass[tree.children_left[inner]] / tree.mass[inner])
    assert np.all(tree.impurity >= 0)


@both
def test_masses_and_impurities_are_those_of_the_training_rows(model_class):
    X, y = problem(model_class, n_classes=2)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    other, target = problem(model_class, seed=1, n_classes=2)
    model = small(model_class).fit(X, y, sample_weight=weights, X_val=other, y_val=target)
    parts = weights[:, None] * model.memberships(X).toarray()
    np.testing.assert_allclose(model.tree_.mass, parts.sum(axis=0))
    mean = parts.T @ y / parts.sum(axis=0)
    variance = parts.T @ y**2 / parts.sum(axis=0) - mean**2
    expected = 2 * variance if is_classifier(model) else variance  # Gini: both classes
    np.testing.assert_allclose(model.tree_.impurity, expected, atol=1e-9)


@both
def test_the_loss_of_the_history_is_that_of_the_model(model_class):
    X, y = problem(model_class)
    X_val, y_val = problem(model_class, seed=1)
    for refine in (False, True):
        model = small(model_class, refine=refine).fit(X, y, X_val=X_val, y_val=y_val)
        found = answer(model, X_val)
        if is_classifier(model):
            loss = -np.log(found[np.arange(len(y_val)), y_val]).mean()
        else:
            loss = 0.5 * np.mean((found - y_val) ** 2) / y.var()
        reported = refine_losses(model) or [line["validation_loss"] for line in lines_of(model, "grow") if line["kept"]]
        assert loss == pytest.approx(min(reported))


# ------------------------------------------------------------------ crisp reading


@both
def test_very_steep_gates_are_crisp(model_class):
    X, y = problem(model_class)
    tree = small(model_class).fit(X, y).tree_
    assert tree.n_leaves > 2
    steep, crisp = replace(tree, weights=tree.weights * 1e6, bias=tree.bias * 1e6), tree.crisp()
    inputs = X @ tree.weights[tree.children_left >= 0].T + tree.bias[tree.children_left >= 0]
    away = np.abs(inputs).min(axis=1) > 1e-4
    assert away.sum() > 100
    np.testing.assert_allclose(steep.predict(X[away]), crisp.predict(X[away]), rtol=1e-12)
    assert np.array_equal(steep.apply(X[away]), crisp.apply(X[away]))
    assert crisp.is_crisp
    assert not tree.is_crisp
    assert np.abs(tree.predict(X) - crisp.predict(X)).max() > 0.01


@both
def test_hardening(model_class):
    X, y = problem(model_class)
    model = small(model_class).fit(X, y)
    hard = model.harden()
    assert not hasattr(hard, "hardening_")
    assert_same_nodes(hard.tree_, model.tree_.crisp())
    assert not model.tree_.is_crisp
    assert np.all(np.isin(hard.memberships(X).toarray(), [0.0, 1.0]))
    reported = model.harden(X, y).hardening_
    assert reported.soft == model.score(X, y)
    assert reported.crisp == hard.score(X, y)
    assert reported.loss == reported.soft - reported.crisp
    weights = np.random.default_rng(0).uniform(size=len(X))
    assert model.harden(X, y, weights).hardening_.soft == model.score(X, y, weights)
    for given in ({"X": X}, {"y": y}):
        with pytest.raises(ValueError, match="X and y must be given together"):
            model.harden(**given)


# ------------------------------------------------------------------ the joint pass and penalties


@both
@pytest.mark.parametrize("seed", range(3))
def test_refining_never_makes_the_validation_loss_worse(model_class, seed):
    X, y = problem(model_class, seed=seed)
    grown, refined = (small(model_class, refine=refine, max_leaf_nodes=4).fit(X, y) for refine in (False, True))
    losses = refine_losses(refined)
    kept = [trial for trial in lines_of(grown, "grow") if trial["kept"]]
    assert losses[0] == pytest.approx(kept[-1]["validation_loss"])
    assert refined.history_[: -len(losses)] == grown.history_
    if min(losses) < losses[0] or model_class is SoftTreeRegressor:
        assert np.abs(answer(grown, X) - answer(refined, X)).max() > 0
    else:
        assert_same_nodes(grown.tree_, refined.tree_)
    assert len(losses) <= 201
    short = small(model_class, refine=True, max_leaf_nodes=4, refine_max_iter=2).fit(X, y)
    assert refine_losses(short) == losses[:3]


@both
def test_no_better_pass_keeps_the_grown_tree(model_class):
    X, y = problem(model_class)
    grown, refined = (small(model_class, refine=r, refine_learning_rate=1e6).fit(X, y) for r in (False, True))
    assert min(refine_losses(refined)) == refine_losses(refined)[0]
    if model_class is SoftTreeRegressor:  # the values are then fitted to all rows, the gates are as they were
        assert np.array_equal(grown.tree_.weights, refined.tree_.weights)
    else:
        assert_same_nodes(grown.tree_, refined.tree_)


@both
@pytest.mark.parametrize("refine", [False, True])
def test_l1_leaves_few_weights(model_class, refine):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    signal = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=300)
    y = signal if model_class is SoftTreeRegressor else signal > 0
    zeros = []
    for l1 in (0.0, 0.1):
        model = small(model_class, l1_regularization=l1, max_leaf_nodes=3, refine=refine).fit(X, y)
        weights = model.tree_.weights[model.tree_.children_left >= 0]
        assert len(weights) > 0
        zeros.append(np.mean(weights[:, 2:] == 0))
        assert np.all(weights[0, :2] != 0)
        assert model.score(X, y) > 0.7
    assert zeros[0] == 0
    assert zeros[1] > 0.1


@both
def test_l2_makes_small_weights(model_class):
    X, y = problem(model_class)
    sizes = []
    for l2 in (0.0, 0.1):
        tree = small(model_class, l2_regularization=l2, max_leaf_nodes=2, min_gain=0.0).fit(X, y).tree_
        sizes.append(np.abs(tree.weights[0]).sum())
    assert 0 < sizes[1] < 0.9 * sizes[0]


# ------------------------------------------------------------------ targets


def test_fuzzy_labels_in_a_frame_whose_columns_are_in_any_order():
    X, y = problem(SoftTreeClassifier, n_classes=2)
    shares = pd.DataFrame({"yes": 1.0 * (y == 1), "no": 1.0 * (y == 0)})
    model = small(SoftTreeClassifier).fit(X, shares, X_val=X, y_val=shares)
    assert model.classes_.tolist() == ["yes", "no"]
    words = np.where(y == 1, "yes", "no")
    assert model.score(X, words) > 0.8
    assert model.history_ == small(SoftTreeClassifier).fit(X, shares, X_val=X, y_val=words).history_


# ------------------------------------------------------------------ tables


def test_few_different_rows():
    """The Titanic's people: class, sex, age, whether they survived, and how many."""
    people = """1 m child yes 5; 1 m adult no 118; 1 m adult yes 57; 1 f child yes 1; 1 f adult no 4; 1 f adult yes 140;
        2 m child yes 11; 2 m adult no 154; 2 m adult yes 14; 2 f child yes 13; 2 f adult no 13; 2 f adult yes 80;
        3 m child no 35; 3 m child yes 13; 3 m adult no 387; 3 m adult yes 75; 3 f child no 17; 3 f child yes 14;
        3 f adult no 89; 3 f adult yes 76; crew m adult no 670; crew m adult yes 192; crew f adult no 3;
        crew f adult yes 20"""
    table = pd.DataFrame([row.split() for row in people.split(";")], columns=["class", "sex", "age", "survived", "n"])
    X, y, n = table[["class", "sex", "age"]], table["survived"], table["n"].astype(int)
    for seed in range(5):
        model = SoftTreeClassifier(random_state=seed).fit(X, y, sample_weight=n)
        assert model.score(X, y, sample_weight=n) > 0.75  # who guesses has 0.677
