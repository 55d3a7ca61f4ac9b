"""One-stage, budding and end-to-end trees: how good they are, what must not matter, the finished tree, training."""

import copy

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.model_selection import train_test_split

from softwood import BuddingTreeClassifier, Gate, OneStageTreeClassifier, OneStageTreeRegressor
from softwood.compiled import gradient as budding_loop
from softwood.gradient import one_stage
from softwood.gradient.budding import _Buds
from softwood.gradient.data import LearningSet
from softwood.gradient.loops.soft_split import IDENTITY
from softwood.gradient.one_stage_training import StagedTree, prune, row_losses
from tests.gradient.staged_trees import (
    ALL,
    BUDDING,
    END_TO_END,
    REGRESSORS,
    SAMPLED,
    VALIDATED,
    id_of,
    loss_of,
    small,
    validation_losses,
)
from tests.models import answer, assert_same_nodes, problem
from tests.reference.soft import LINKS, predict, random_targets

every = pytest.mark.parametrize("model_class", ALL, ids=id_of)
validated = pytest.mark.parametrize("model_class", VALIDATED, ids=id_of)
sampled_both = pytest.mark.parametrize("model_class", SAMPLED, ids=id_of)
SampledClassifier, SampledRegressor = SAMPLED
architectures = pytest.mark.parametrize("architecture", ["proximal", "joint", "gumbel"])

# ------------------------------------------------------------------ how good they are


@pytest.mark.parametrize("model_class", VALIDATED[::2], ids=id_of)  # those of test_crisp.py are better
@pytest.mark.parametrize(("load", "least"), [(load_digits, 0.89), (load_breast_cancer, 0.93)])
def test_accuracy(model_class, load, least):
    X, y = load(return_X_y=True)
    scores = []
    for seed in range(3):
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
        scores.append(model_class(max_depth=6, random_state=seed).fit(X_train, y_train).score(X_test, y_test))
    assert np.mean(scores) >= least


@pytest.mark.parametrize("model_class", REGRESSORS, ids=id_of)
def test_a_regressor_is_better_than_a_constant(model_class):
    X, y = load_diabetes(return_X_y=True)
    scores = []
    for seed in range(3):
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
        scores.append(model_class(max_depth=3, random_state=seed).fit(X_train, y_train).score(X_test, y_test))
    assert np.mean(scores) > 0.1
    X, y = problem(model_class, n=600)
    assert model_class(max_depth=4, random_state=0).fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.4


@pytest.mark.parametrize("start", ["fitted", "random"])
@architectures
def test_every_way_learns(architecture, start):
    X, y = problem(OneStageTreeClassifier, n=600, n_classes=2)
    model = OneStageTreeClassifier(architecture=architecture, init=start, max_depth=4, random_state=0)
    assert model.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.75


@every
def test_oblique_borders_need_few_splits(model_class):
    X = np.random.default_rng(0).normal(size=(600, 5))
    y = (X.sum(axis=1) > 0).astype(int)
    model = small(model_class, max_depth=1, max_iter=40).fit(X[:300], y[:300])
    assert np.mean((model.predict(X[300:]) > 0.5) == y[300:]) > 0.9


# ------------------------------------------------------------------ the search of the shape


def noisy(n=900):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    return X, ((X[:, 0] + X[:, 1] > 0) ^ (rng.random(n) < 0.2)).astype(int)


@pytest.mark.parametrize("architecture", ["proximal", "gumbel"])
def test_the_search_prunes_at_no_loss_of_accuracy(architecture):
    X, y = noisy()
    n_splits, searched, plain = [], [], []
    for seed in range(4):
        model = OneStageTreeClassifier(architecture=architecture, random_state=seed).fit(X[:500], y[:500])
        full = OneStageTreeClassifier(architecture="joint", architecture_learning_rate=0.0, random_state=seed)
        n_splits.append(model.get_n_leaves() - 1)
        searched.append(model.score(X[500:], y[500:]))
        plain.append(full.fit(X[:500], y[:500]).score(X[500:], y[500:]))
        assert full.get_n_leaves() > 50
    assert np.mean(n_splits) < 35  # of 63
    assert np.mean(searched) >= np.mean(plain) - 0.005


def test_the_search_itself_prunes_not_only_the_last_pass():
    X, y = noisy()
    model = SampledClassifier(random_state=0, split_cost=0.01).fit(X[:500], y[:500])
    assert model.history_[0]["n_leaves"] == 64
    assert min(line["n_leaves"] for line in model.history_) < 46
    still = SampledClassifier(random_state=0, architecture_learning_rate=0.0).fit(X[:500], y[:500])
    assert {line["n_leaves"] for line in still.history_} == {64}


@sampled_both
@architectures
def test_dear_splits_are_fewer(model_class, architecture):
    X, y = problem(model_class, n=300)
    n_leaves = []
    for cost in (0.0, 10.0):
        model = small(model_class, architecture=architecture, split_cost=cost, max_depth=4, max_iter=30, warm_up=0)
        n_leaves.append([line["n_leaves"] for line in model.fit(X, y).history_])
    assert np.mean(n_leaves[1]) < 0.6 * np.mean(n_leaves[0])  # single passes go up and down
    assert min(n_leaves[1]) == 2  # the root is not pruned by a price


@sampled_both
def test_the_shape_is_not_trained_while_gates_warm_up(model_class):
    X, y = problem(model_class)
    model = small(model_class, warm_up=5, split_cost=10.0).fit(X, y)
    n_leaves = [line["n_leaves"] for line in model.history_]
    assert n_leaves[:6] == [8] * 6
    assert n_leaves[6] < 8


def test_joint_trees_have_no_validation_rows(monkeypatch):
    X, y = problem(OneStageTreeClassifier)
    seen = []

    def spy(tree, train, validation, *rest):
        seen.append((len(train), train is validation))
        return train_one_stage(tree, train, validation, *rest)

    train_one_stage = one_stage.train_one_stage
    monkeypatch.setattr(one_stage, "train_one_stage", spy)
    model = small(SampledClassifier, architecture="joint").fit(X, y)
    assert seen == [(150, True)]
    assert all(line["train_loss"] == line["validation_loss"] for line in model.history_)
    small(SampledClassifier).fit(X, y)
    assert seen[1] == (111, False) or 105 < seen[1][0] < 120
    other, target = problem(OneStageTreeClassifier, seed=1)
    one = small(SampledClassifier, architecture="joint").fit(X, y, X_val=X, y_val=y)
    two = small(SampledClassifier, architecture="joint").fit(X, y, X_val=other, y_val=target)
    assert_same_nodes(one.tree_, two.tree_)


# ------------------------------------------------------------------ what must not matter


# A power of two scales without rounding, so that training is the same to the last bit. With any other factor training
# begins with other roundings, which it may amplify into another tree: that one is only as good.


# ------------------------------------------------------------------ the finished tree


@sampled_both
@architectures
@pytest.mark.parametrize("seed", range(2))
def test_the_finished_tree_is_the_living_part(model_class, architecture, seed):
    X, y = problem(model_class, n=300)
    model = small(model_class, architecture=architecture, max_depth=5, max_iter=20, random_state=seed).fit(X, y)
    staged, tree = model._staged_, model.tree_
    splits = staged.splits()
    assert all(node == 0 or (node - 1) // 2 in splits for node in splits)  # every path consists of kept nodes
    assert all(staged.alive[node] for node in splits)
    leaves, pending = [], [0]
    while pending:
        node = pending.pop()
        if tree.children_left[node] < 0:
            leaves.append(node)
            assert tree.gate[node] == Gate.LEAF
        else:
            assert tree.gate[node] == Gate.OBLIQUE
            assert tree.children_right[node] >= 0
            pending += [tree.children_left[node], tree.children_right[node]]
    assert model.get_n_leaves() == len(leaves) == len(splits) + 1
    assert tree.n_nodes == 2 * len(splits) + 1  # nothing else is in it
    assert model.get_depth() == max(int(np.log2(node + 1)) for node in splits) + 1
    assert tree.is_crisp
    shares = model.memberships(X).toarray()
    assert np.all(np.isin(shares, [0.0, 1.0]))
    assert np.all(shares[:, leaves].sum(axis=1) == 1)


@sampled_both
@architectures
def test_the_finished_tree_predicts_what_training_reads(model_class, architecture):
    X, y = problem(model_class, n=300, n_classes=2)
    model = small(model_class, architecture=architecture, max_depth=5).fit(X, y)
    new = np.random.default_rng(5).normal(size=(200, 4))
    rows = LearningSet(model._scaling_.standardise(new), np.zeros((200, 1)), np.ones(200))
    leaves, read = model._staged_.read(rows, model.prior)
    found = answer(model, new)
    if is_classifier(model):
        np.testing.assert_allclose(found, read, atol=1e-12)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
    else:
        np.testing.assert_allclose(found, y.mean() + y.std() * read[:, 0], atol=1e-9)
    assert len(np.unique(leaves)) == len(np.unique(model.apply(new)))


@every
def test_masses_and_impurities_are_those_of_all_rows(model_class):
    X, y = problem(model_class, n_classes=2)
    weights = np.random.default_rng(0).integers(1, 4, size=len(X)).astype(float)
    other, target = problem(model_class, seed=1, n_classes=2)
    for given in ({}, {"X_val": other, "y_val": target}):
        if model_class in BUDDING and not given:
            continue  # those of the training rows alone
        model = small(model_class).fit(X, y, sample_weight=weights, **given)
        parts = weights[:, None] * model.memberships(X).toarray()
        np.testing.assert_allclose(model.tree_.mass, parts.sum(axis=0))
        mass = np.maximum(parts.sum(axis=0), 1e-12)
        variance = parts.T @ y**2 / mass - (parts.T @ y / mass) ** 2
        expected = 2 * variance if is_classifier(model) else variance  # Gini: both classes
        np.testing.assert_allclose(model.tree_.impurity, expected, atol=1e-9)


@sampled_both
def test_values_are_those_of_all_rows_with_the_prior(model_class):
    X, y = problem(model_class, n_classes=2)
    model = small(model_class, prior=2.0).fit(X, y)
    tree, shares = model.tree_, model.memberships(X).toarray()
    targets = np.eye(2)[y] if is_classifier(model) else y[:, None]
    for node in range(tree.n_nodes):
        mine = targets[shares[:, node] == 1]
        if node == 0:
            expected = mine.mean(axis=0)
        else:
            expected = (mine.sum(axis=0) + 2.0 * tree.value[tree.parent[node]]) / (len(mine) + 2.0)
        np.testing.assert_allclose(tree.value[node], expected)


@pytest.mark.parametrize("model_class", END_TO_END)
def test_an_end_to_end_tree_is_crisp_and_has_no_split_of_nothing(model_class):
    X, y = problem(model_class)
    model = small(model_class, max_depth=6).fit(X, y)
    assert model.tree_.is_crisp
    assert np.all(np.isin(model.memberships(X).toarray(), [0.0, 1.0]))
    inner = np.flatnonzero(model.tree_.children_left >= 0)
    assert np.all(model.tree_.mass[inner] > 1)
    assert model.get_n_leaves() <= 64


@pytest.mark.parametrize(("link", "q"), LINKS)
@pytest.mark.parametrize("seed", range(3))
def test_a_budding_tree_as_a_tree_of_gates_responds_the_same(link, q, seed):
    rng = np.random.default_rng(seed)
    rows = LearningSet(rng.normal(size=(40, 3)), random_targets(rng, 40, q, link), np.ones(40))
    buds = _Buds(rows, link, BuddingTreeClassifier(max_depth=3), seed)
    buds.buds[:] = [0.7, 1.0, 0.2, 0.0, 0.5, 1.0, 0.1]
    buds.wake()
    out = np.empty((40, q))
    budding_loop.budding_outputs(rows.points, buds.nodes, buds.scratch, out)
    left, right, gates, values = buds.grown().arrays()

    def response(x, node=0):
        if left[node] < 0:
            return values[node]
        g = 1 / (1 + np.exp(-gates[node, :-1] @ x - gates[node, -1]))
        return g * response(x, left[node]) + (1 - g) * response(x, right[node])

    np.testing.assert_allclose(np.array([response(x) for x in rows.points]), out)


@pytest.mark.parametrize("model_class", BUDDING)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_finished_budding_tree_predicts_the_same_as_its_own_loop(model_class, n_classes, monkeypatch):
    X, y = problem(model_class, n_classes=n_classes)
    kept = []
    grown = _Buds.grown

    def spy(self):
        kept.append(copy.deepcopy(self))
        return grown(self)

    monkeypatch.setattr(_Buds, "grown", spy)
    model = small(model_class, max_iter=20)
    found = answer(model.fit(X, y), X)
    buds, out = kept[-1], np.empty((len(X), kept[-1].values.shape[1]))
    budding_loop.budding_outputs(model._scaling_.standardise(X), buds.nodes, buds.scratch, out)
    expected = np.array([predict(row, buds.link) for row in out])
    assert buds.link != IDENTITY or not is_classifier(model)
    if not is_classifier(model):
        np.testing.assert_allclose((found - y.mean()) / y.std(), expected[:, 0], atol=1e-9)
    else:
        np.testing.assert_allclose(found[:, 1:] if n_classes == 2 else found, expected, atol=1e-12)


# ------------------------------------------------------------------ training


@validated
def test_the_best_pass_is_kept(model_class):
    X, y = problem(model_class)
    X_val, y_val = problem(model_class, seed=1)
    model = small(model_class, max_iter=40, n_iter_no_change=5).fit(X, y, X_val=X_val, y_val=y_val)
    losses = validation_losses(model)
    best = int(np.argmin(losses))
    assert len(losses) <= best + 6  # n_iter_no_change
    found = loss_of(model, X_val, y_val)
    if not is_classifier(model):
        found /= y.var() * (2 if model_class in BUDDING else 1)
    if model_class in SAMPLED:
        assert found <= losses[best] * (1 + 1e-9)  # pruning never raises it
    else:
        assert found == pytest.approx(losses[best])


@sampled_both
@pytest.mark.parametrize("seed", range(4))
def test_pruning_never_raises_the_loss_and_leaves_nothing_to_prune(model_class, seed):
    rng = np.random.default_rng(seed)
    is_class = is_classifier(model_class())
    targets = np.eye(3)[rng.integers(0, 3, size=80)] if is_class else rng.normal(size=(80, 2))
    rows = LearningSet(rng.normal(size=(80, 2)), targets, rng.uniform(0.5, 2.0, size=80))
    train, validation = rows.take(np.arange(40)), rows.take(np.arange(40, 80))
    q = targets.shape[1]
    tree = StagedTree(
        rng.normal(size=(15, 3)), np.ones(15), rng.random(15) < 0.8, np.zeros(31), np.zeros((31, q))
    )  # fmt: skip
    tree.alive[0] = True
    tree.add_up(train)

    def loss():
        return np.average(
            row_losses(tree.read(validation, 1.0)[1], validation.targets, is_class), weights=validation.weights
        )

    before, n_before = loss(), len(tree.splits())
    prune(tree, validation, is_class, 1.0)
    after, splits = loss(), tree.splits()
    assert after <= before * (1 + 1e-9)
    assert len(splits) < n_before
    assert np.flatnonzero(tree.alive).tolist() == sorted(splits)
    for node in splits:
        if not {2 * node + 1, 2 * node + 2} & set(splits):
            tree.alive[node] = False
            assert loss() > after
            tree.alive[node] = True


@sampled_both
@pytest.mark.parametrize("architecture", ["proximal", "gumbel"])
def test_the_pruned_tree_settles_on_all_rows(model_class, architecture, monkeypatch):
    X, y = problem(model_class, n=300)
    ways = {"architecture": architecture, "max_depth": 4}
    settled = small(model_class, **ways).fit(X, y)
    given = small(model_class, **ways).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    monkeypatch.setattr(one_stage, "settle", lambda *arguments: None)
    pruned = small(model_class, **ways).fit(X, y)
    assert settled.history_ == pruned.history_
    assert np.array_equal(settled._staged_.alive, pruned._staged_.alive)  # the shape stays
    splits = pruned._staged_.splits()
    moved = np.abs(settled._staged_.gates - pruned._staged_.gates).max(axis=1)
    assert moved[0] > 0
    assert moved[splits].max() < 0.3
    assert not np.delete(moved, splits).any()
    # validation rows that were given are not learned from
    assert_same_nodes(given.tree_, small(model_class, **ways).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:]).tree_)


@sampled_both
def test_warm_start_continues(model_class):
    X, y = problem(model_class, n=300)
    ways = {"max_iter": 4, "init": "random", "learning_rate": 0.01}
    model = small(model_class, warm_start=True, **ways).fit(X, y)
    first, n_first = min(validation_losses(model)), len(model.history_)
    lines = list(model.history_)
    model.fit(X, y)
    assert model.history_[:n_first] == lines
    assert len(model.history_) > n_first
    # the state before is noted once more: the rows may be others
    assert [line["iteration"] for line in model.history_] == [*range(n_first), *range(n_first - 1, model.n_iter_ + 1)]
    assert min(validation_losses(model)) <= first
    # it begins where the training ended, not with the pruned tree: that has seen the validation rows
    assert validation_losses(model)[n_first] == pytest.approx(first)
    for _ in range(3):
        model.fit(X, y)
    assert min(validation_losses(model)) < first
    cold = small(model_class, **ways).fit(X, y)
    assert cold.history_ == lines
    again = small(model_class, **ways).fit(X, y).fit(X, y)
    assert again.history_ == lines  # without warm_start


@sampled_both
def test_warm_start_with_another_shape_begins_anew(model_class):
    X, y = problem(model_class)
    model = small(model_class, warm_start=True).fit(X, y)
    for parameters, rows in (({"max_depth": 2}, X), ({"max_depth": 3}, X[:, :3])):
        model.set_params(**parameters).fit(rows, y)
        expected = small(model_class, **{"max_depth": model.max_depth}).fit(rows, y)
        assert model.history_ == expected.history_
        assert_same_nodes(model.tree_, expected.tree_)


@sampled_both
def test_warm_start_in_other_units(model_class):
    X, y = problem(model_class)
    X[:, 3] = 1.0  # a constant column says nothing, before and after
    model = small(model_class, warm_start=True, max_iter=3).fit(X, y)
    gates = model._unpruned_[0].gates.copy()
    model.set_params(max_iter=1, learning_rate=1e-12).fit(X, y)
    np.testing.assert_allclose(model._unpruned_[0].gates[:, [0, 1, 2, 4]], gates[:, [0, 1, 2, 4]], atol=1e-9)
    moved = 5.0 + 3.0 * X[::2]
    model.fit(moved, y[::2])
    np.testing.assert_array_equal(model.apply(moved) >= 0, True)
    assert np.isfinite(model._staged_.gates).all()


@pytest.mark.parametrize("start", ["fitted", "random"])
def test_l1_leaves_few_weights_and_l2_small_ones(start):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    y = X[:, 0] + X[:, 1] > 0
    weights = []
    for given in ({}, {"l1_regularization": 0.01}, {"l2_regularization": 0.02}):
        model = small(SampledClassifier, init=start, learning_rate=0.01, max_depth=2, max_iter=150, **given)
        weights.append(np.abs(model.fit(X, y)._staged_.gates[:, :-1]))
        assert model.score(X, y) > 0.75
    free, sparse, drawn = weights
    assert np.all(free > 0)
    assert np.mean(sparse == 0) > 0.5
    assert np.all(sparse[0, :2] > sparse[0, 2:].max())
    assert drawn.sum() < 0.6 * free.sum()


def test_a_prior_makes_values_alike():
    X, y = problem(OneStageTreeRegressor)
    spreads = [np.ptp(small(SampledRegressor, prior=p).fit(X, y).predict(X)) for p in (1e-30, 1.0, 1e6)]
    assert min(spreads[:2]) > 0.1
    assert spreads[2] < 1e-3
