"""The linear discriminant tree: Fisher's direction, pruning, many classes, what must not matter, odd data."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from softwood import Gate, LinearDiscriminantTreeClassifier, export_text
from softwood.core.steps import Steps
from softwood.gradient import discriminant
from softwood.gradient.data import LearningSet
from tests.reference import discriminant as slow


def model(**parameters):
    return LinearDiscriminantTreeClassifier(**{"random_state": 0, **parameters})


def gaussians(n=300, seed=0, parts=(0.5, 0.5)):
    """Two classes with the same covariance, which is not round."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) >= parts[0] * n).astype(int)
    mix = np.array([[2.0, 0.5, 0.0], [0.0, 1.0, -0.7], [0.3, 0.0, 0.5]])
    return rng.normal(size=(n, 3)) @ mix + y[:, None] * [1.5, -1.0, 0.5], y


# ------------------------------------------------------------------ Fisher's direction


@pytest.mark.parametrize("parts", [(0.5, 0.5), (0.8, 0.2)])
@pytest.mark.parametrize("seed", range(3))
def test_the_root_is_the_linear_discriminant(parts, seed):
    X, y = gaussians(seed=seed, parts=parts)
    tree = model(max_depth=1, prune=False).fit(X, y, X_val=X, y_val=y).tree_
    peer = LinearDiscriminantAnalysis().fit(X, y)
    assert tree.n_nodes == 3
    direction, expected = tree.weights[0], peer.coef_[0]
    factor = direction @ expected / (expected @ expected)
    np.testing.assert_allclose(direction, factor * expected, rtol=1e-6)
    assert tree.bias[0] == pytest.approx(factor * peer.intercept_[0], rel=1e-6)
    sides = tree.apply(X)
    assert len(set(zip(sides, peer.predict(X), strict=True))) == 2  # the same division of the rows


@pytest.mark.tiny
def test_fishers_direction_by_hand():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 3))
    left, right = rng.random(30) * (np.arange(30) < 12), rng.random(30) * (np.arange(30) >= 12)
    points[:12] += 1.0
    gate = discriminant._Discriminants(points, np.column_stack([left, right])).gate(np.array([True, False]))
    means = [np.average(points, axis=0, weights=side) for side in (left, right)]
    within = sum(
        ((points - mean) * side[:, None]).T @ (points - mean) for mean, side in zip(means, (left, right), strict=True)
    ) / (left.sum() + right.sum())
    direction = np.linalg.solve(within, means[0] - means[1])
    bias = -0.5 * (means[0] + means[1]) @ direction + np.log(left.sum() / right.sum())
    factor = gate[0] / direction[0]
    assert factor > 0
    assert gate == pytest.approx(factor * np.append(direction, bias))


@pytest.mark.parametrize("factor", [1.0, 1e6, 1e-6])
def test_columns_that_depend_on_others_change_nothing(factor):
    X, y = gaussians()
    plain = model().fit(X, y)
    twice = np.column_stack([X, factor * X[:, 0], X[:, 1] - X[:, 2], np.full(len(X), 7.0)])
    doubled = model().fit(twice, y)
    assert np.array_equal(doubled.predict(twice), plain.predict(X))
    assert doubled.feature_importances_[5] == 0


@pytest.mark.parametrize("noise", [0.0, 1e-13])
def test_a_column_that_is_constant_within_classes_separates_them(noise):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = np.column_stack([rng.normal(size=(90, 3)), y + noise * rng.normal(size=90)])
    for classes in (2, 3):
        rows = y < classes
        fitted = model().fit(X[rows], y[rows])
        assert fitted.score(X[rows], y[rows]) == 1.0
        assert fitted.get_n_leaves() == classes


def test_a_common_direction_of_huge_spread_does_not_hide_the_others():
    X, y = gaussians()
    wide = np.column_stack([X, 1e6 * np.random.default_rng(1).normal(size=len(X))])
    assert model().fit(wide, y).score(wide, y) > 0.85


# ------------------------------------------------------------------ how good they are


@pytest.mark.parametrize(("load", "least"), [(load_iris, 0.93), (load_breast_cancer, 0.93), (load_digits, 0.85)])
def test_accuracy(load, least):
    X, y = load(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    fitted = model().fit(X_train, y_train)
    stump = DecisionTreeClassifier(max_depth=1).fit(X_train, y_train)
    assert fitted.score(X_test, y_test) > max(least, stump.score(X_test, y_test))


def test_groups_of_classes():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 6
    X = rng.normal(size=(300, 2)) * 0.2 + 3 * np.column_stack([y % 3, y // 3])
    fitted = model().fit(X, y)
    assert fitted.score(X, y) == 1.0
    assert fitted.get_n_leaves() == 6


# ------------------------------------------------------------------ the search among divisions of the classes


def random_node(seed, kind):
    """Rows of a node with several classes that overlap, and their masses; one more class has no rows here."""
    rng = np.random.default_rng(seed)
    n, n_classes, d = rng.integers(20, 80), rng.integers(2, 9), rng.integers(1, 6)
    labels = rng.permutation(np.arange(n) % n_classes)
    points = rng.normal(size=(n, d)) + rng.normal(size=(n_classes, d))[labels]
    masses = (labels[:, None] == np.arange(n_classes + 1)).astype(float)
    if kind == "fuzzy":
        masses[:, :-1] = 0.8 * masses[:, :-1] + 0.2 * rng.dirichlet(np.ones(n_classes), size=n)
    if kind == "tied":  # two columns of which one is the other, and one with few values
        points = np.column_stack([points, points[:, 0], np.round(points[:, 0])])
    return points, masses if kind == "crisp" else masses * rng.uniform(0.1, 3.0, size=(n, 1))


@pytest.mark.tiny
@pytest.mark.parametrize("kind", ["crisp", "weighted", "fuzzy", "tied"])
@pytest.mark.parametrize("at_once", [1, 10**6])
def test_the_search_finds_what_its_slow_twin_finds(kind, at_once, monkeypatch):
    monkeypatch.setattr(discriminant, "AT_ONCE", at_once)
    for seed in range(15):
        points, masses = random_node(seed, kind)
        expected = slow.best_discriminant(points, masses)
        np.testing.assert_allclose(discriminant._best_discriminant(points, masses), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.tiny
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_with_the_same_mean(n_classes):
    """No two of them are farthest apart; only single rows could be separated from the others."""
    points = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [-2.0, -2.0], [2.0, 2.0]])[: 2 * n_classes]
    masses = np.repeat(np.eye(n_classes), 2, axis=0)
    assert slow.best_discriminant(points, masses) is None
    assert discriminant._best_discriminant(points, masses) is None


@pytest.mark.tiny
@pytest.mark.parametrize("kind", ["crisp", "weighted", "fuzzy", "tied"])
def test_impurities_of_exchanges_are_those_of_the_divisions(kind):
    for seed in range(15):
        points, masses = random_node(seed, kind)
        masses = masses[:, :-1]
        n_classes = masses.shape[1]
        is_left = np.arange(n_classes) < 1 + seed % (n_classes - 1)
        fisher = discriminant._Discriminants(points, masses)
        exchanges = discriminant._Exchanges(fisher, np.roll(is_left, 1), None)
        for k in np.flatnonzero(np.roll(is_left, 1) != is_left):
            exchanges.keep(k, fisher.gate(is_left))
        changed = is_left ^ np.eye(n_classes, dtype=bool)
        expected = [
            slow.trial(points, masses, other)[0] if other.any() and not other.all() else np.inf for other in changed
        ]
        np.testing.assert_allclose(exchanges.impurities(np.arange(n_classes)), expected, rtol=1e-9, atol=1e-9)


def test_the_covariance_of_a_node_is_factored_once(monkeypatch):
    """However many divisions of the classes are tried."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 60
    X = rng.normal(size=(600, 4)) + 2 * rng.normal(size=(60, 4))[y]
    factor, counts = np.linalg.eigh, {"nodes": 0, "factored": 0}
    search = discriminant._best_discriminant

    def counted(name, run):
        def call(*arguments):
            counts[name] += 1
            return run(*arguments)

        return call

    monkeypatch.setattr(np.linalg, "eigh", counted("factored", factor))
    monkeypatch.setattr(discriminant, "_best_discriminant", counted("nodes", search))
    model().fit(X, y)
    assert counts["nodes"] > 30
    assert counts["factored"] == counts["nodes"]


# ------------------------------------------------------------------ the finished tree


def test_rows_follow_one_path_and_leaves_hold_class_shares():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=150)
    fitted = model(prune=False).fit(X, y, weights, X_val=X, y_val=y)
    tree, shares = fitted.tree_, fitted.memberships(X).toarray()
    assert tree.is_crisp
    assert tree.link == "identity"
    inner = tree.children_left >= 0
    assert np.all(tree.gate[inner] == Gate.OBLIQUE)
    assert set(np.unique(shares)) == {0.0, 1.0}
    counts = (shares * weights[:, None]).T @ (y[:, None] == np.arange(3))
    np.testing.assert_allclose(tree.mass, counts.sum(axis=1))
    np.testing.assert_allclose(tree.value, counts / counts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(tree.impurity, 1 - (tree.value**2).sum(axis=1), atol=1e-12)
    left = tree.children_left[inner]
    np.testing.assert_allclose(tree.missing_left[inner], tree.mass[left] / tree.mass[inner])
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0)
    assert fitted.feature_importances_.sum() == pytest.approx(1.0)
    assert "petal" not in export_text(fitted)
    assert not fitted.input_gradient(X).any()


def errors(fitted, X, y, weights):
    return ((fitted.predict(X) != y) * weights).sum()


@pytest.mark.parametrize("seed", range(5))
def test_pruning_never_makes_more_validation_errors(seed):
    rng = np.random.default_rng(seed)
    X, y = gaussians(seed=seed)
    y = np.where(rng.random(300) < 0.2, 1 - y, y)
    weights = rng.uniform(size=150)
    given = {"X_val": X[150:], "y_val": y[150:], "sample_weight_val": weights}
    whole, pruned = (model(prune=prune).fit(X[:150], y[:150], **given) for prune in (False, True))
    assert errors(pruned, X[150:], y[150:], weights) <= errors(whole, X[150:], y[150:], weights) + 1e-9
    assert pruned.get_n_leaves() < whole.get_n_leaves()
    np.testing.assert_array_equal(pruned.tree_.weights[0], whole.tree_.weights[0])
    assert whole.score(X[:150], y[:150]) > 0.9  # noise is learned by heart


@pytest.mark.tiny
def test_every_subtree_that_stays_is_worth_it():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(80, 2)), rng.integers(0, 3, size=80)
    targets = (labels[:, None] == np.arange(3)).astype(float)
    train, validation = (LearningSet(points[part], targets[part], np.ones(40)) for part in (slice(40), slice(40, 80)))
    root = discriminant._Node.of(train, validation)
    discriminant._grow(root, train, validation, LinearDiscriminantTreeClassifier(), Steps())

    def n_errors(node, as_leaf):
        if as_leaf or not node.children:
            return np.sum(validation.targets[node.validation].argmax(axis=1) != node.sums.argmax())
        return sum(n_errors(child, False) for child in node.children)

    before, size = n_errors(root, False), len(list(root.walk()))
    discriminant._prune(root, validation)
    assert n_errors(root, False) <= before
    assert len(list(root.walk())) < size
    for node in root.walk():
        if node.children:
            assert sorted(np.concatenate([child.rows for child in node.children])) == sorted(node.rows)
            assert n_errors(node, False) < n_errors(node, True)


# ------------------------------------------------------------------ what must not matter


# ------------------------------------------------------------------ parameters, targets, tables, odd data
