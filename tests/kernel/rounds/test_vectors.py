"""Rounds with one tree for all classes, or for all quantiles."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import softwood
from softwood import KernelBoostingClassifier, KernelBoostingRegressor
from softwood.core.losses import loss_by_name
from softwood.explanations import shapley_values
from softwood.export import to_python
from softwood.kernel.boosting_parameters import ONE_TREE_FROM
from softwood.kernel.choosing.boosting_plans import PLANS
from softwood.kernel.rounds import newton, rounds, vectors

ONE = "multi_output_tree"


def classes(n=300, k=12, p=4, seed=0, rounded=True):
    """Rows around a centre for each class."""
    rng = np.random.default_rng(seed)
    centres, y = rng.normal(scale=2.0, size=(k, p)), rng.integers(k, size=n)
    X = centres[y] + rng.normal(size=(n, p))
    return np.round(X, 1) if rounded else X, y


def small(**parameters):
    given = {"max_iter": 8, "min_mass": 5.0, "bandwidth": 0.3, "random_state": 0, "multi_strategy": ONE}
    return KernelBoostingClassifier(**given | parameters)


def test_one_tree_for_all_classes():
    X, y = classes()
    model = small().fit(X, y)
    forest = model.forest_
    assert len(forest) == model.n_iter_ == 8
    assert forest.value.shape[1] == len(forest.base) == 12
    assert not forest.output.any()
    assert len(small(multi_strategy="one_output_per_tree").fit(X, y).forest_) == 8 * 12
    assert len(small(multi_strategy="auto").fit(X, y).forest_) == 8 * 12  # the number of rounds is given


@pytest.mark.parametrize("k", [ONE_TREE_FROM - 1, ONE_TREE_FROM])
def test_chosen_from_some_number_of_classes_on(k):
    X, y = classes(120, k, 2)
    model = KernelBoostingClassifier(bandwidth=0.3, max_leaf_nodes=4, min_mass=5.0, max_features=None, random_state=0)
    model.fit(X, y)
    trees = 1 if k == ONE_TREE_FROM else k
    assert len(model.forest_) == PLANS["balanced"].n_models * model.n_iter_ * trees
    assert len(list(model.staged_predict(X))) == model.n_iter_


def test_first_leaf_values_are_steps_of_every_class():
    """Gradient and hessian of the softmax by hand, summed over the rows of each leaf."""
    X, y = classes()
    weights = np.random.default_rng(1).integers(1, 4, size=len(y)).astype(float)
    model = small(max_iter=1, l2_regularization=2.0, cutoff=0.0).fit(X, y, weights)
    prior = np.bincount(y, weights=weights) / weights.sum()
    gradient = weights[:, None] * (prior - np.eye(12)[y])
    hessian = weights[:, None] * prior * (1 - prior)
    tree = model.forest_[0]
    shares = tree.memberships(X)
    expected = -0.3 * (shares.T @ gradient) / (shares.T @ hessian + 2.0)
    np.testing.assert_allclose(tree.value, expected, rtol=1e-9, atol=1e-12)
    gained = (shares.T @ gradient) ** 2 / (shares.T @ hessian)
    np.testing.assert_allclose(
        tree.impurity[0] - tree.impurity, gained.sum(axis=1) / tree.mass - gained[0].sum() / tree.mass[0]
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"bandwidth": 0.0},
        {"bandwidth_decay": 0.8},
        {"subsample": 0.6, "max_features": 2},
        {"prediction_kernel": "gaussian"},
        {"prediction_kernel": None},
        {"measurement_error": {1: 0.4}},
    ],
)
def test_scores_while_learning_are_those_of_the_finished_model(parameters):
    X, y = classes(400)
    X, X_val, y, y_val = X[:300], X[300:], y[:300], y[300:]
    model = small(**parameters).fit(X, y, X_val=X_val, y_val=y_val)
    for rows, labels, found in ((X, y, model.train_score_), (X_val, y_val, model.validation_score_)):
        staged = [p[np.arange(len(labels)), labels] for p in model.staged_predict_proba(rows)]
        expected = [np.mean(np.log(p)) for p in staged]
        assert found[1 : len(expected) + 1] == pytest.approx(expected, rel=1e-6)
    assert np.all(np.diff(model.train_score_[:5]) > 0)


def test_weights_are_repetitions():
    X, y = classes(150)
    counts = np.random.default_rng(1).integers(0, 3, size=len(y))
    weighted = small().fit(X, y, counts)
    repeated = small().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6)


def test_jobs_change_no_bit(monkeypatch):
    for module in (newton, vectors):
        monkeypatch.setattr(module, "WORTH_DIVIDING", 50)
    monkeypatch.setattr(newton, "WORTH_THREADS", 50)
    monkeypatch.setattr(rounds, "_BLOCK", 500)
    X, y = classes(600)
    first, second = (small(n_jobs=jobs, early_stopping=True).fit(X, y) for jobs in (1, 3))
    assert pickle.dumps(first.forest_) == pickle.dumps(second.forest_)
    np.testing.assert_array_equal(first.validation_score_, second.validation_score_)


def test_categories_and_missing_values():
    X, y = classes(400, 9, 3)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["kind"] = np.array(list("pqrstuvwx"))[y]
    frame.loc[::7, "a"] = np.nan
    frame.loc[::5, "kind"] = None
    model = small(max_iter=40, learning_rate=0.3).fit(frame, y)
    assert model.score(frame, y) > 0.8
    assert model.feature_importances_[3] > 0.2
    frame.loc[:, ["a", "b", "c"]] = np.nan
    assert np.isfinite(model.predict_proba(frame)).all()


def test_files_and_explanations(tmp_path):
    X, y = classes()
    model = small().fit(X, y)
    softwood.save(model, tmp_path / "model")
    loaded = softwood.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert len(list(loaded.staged_predict_proba(X))) == 8
    exported = {}
    exec(to_python(model), exported)
    np.testing.assert_allclose(
        [exported["predict"](row) for row in X[:20].tolist()], model.predict_proba(X[:20]), rtol=1e-9
    )
    shapley = shapley_values(model, X[:5])
    total = shapley.values.sum(axis=1) + shapley.base_values
    np.testing.assert_allclose(total, model.decision_function(X[:5]), rtol=1e-9)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_.min() >= 0


def test_several_quantiles():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(600, 1))
    y = x[:, 0] + (1 + np.abs(x[:, 0])) * rng.normal(size=600)
    model = KernelBoostingRegressor(
        loss="quantile", quantile=(0.1, 0.5, 0.9), multi_strategy=ONE, bandwidth=0.3, max_iter=40, random_state=0
    ).fit(x, y)
    assert len(model.forest_) == 40
    low, _, high = model.predict(x).T
    assert np.mean((low <= y) & (y <= high)) == pytest.approx(0.8, abs=0.06)
    first = clone(model).set_params(max_iter=1, bandwidth=0.0, learning_rate=1.0).fit(x, y)
    tree, base = first.forest_[0], first.forest_.base
    leaf = tree.memberships(x)[:, tree.children_left < 0].argmax(axis=1)
    values = tree.value[tree.children_left < 0]
    assert len(values) > 5
    for k, part in enumerate((0.1, 0.5, 0.9)):
        loss = loss_by_name("quantile", quantile=part)
        expected = [loss.leaf_value(y[leaf == number] - base[k], None) for number in range(len(values))]
        np.testing.assert_allclose(values[:, k], expected, rtol=1e-12)


def test_refused_together():
    X, y = classes()
    with pytest.raises(ValueError, match="'monotonic_cst' parameter"):
        small(monotonic_cst={0: 1}).fit(X, y)
    with pytest.raises(ValueError, match="'multi_strategy' parameter"):
        small(growth="level").fit(X, y)
    with pytest.raises(ValueError, match=r"'learning_rate' parameter.*'auto'"):
        small(learning_rate="fast").fit(X, y)
    level = KernelBoostingClassifier(growth="level", max_iter=2, bandwidth=0.3, random_state=0).fit(X, y)
    assert len(level.forest_) == 24


def test_an_interrupt_leaves_a_working_model(monkeypatch):
    X, y = classes()
    model, runs = small(), []
    original = rounds.Rounds.run

    def run(self):
        runs.append(1)
        if len(runs) == 4:
            raise KeyboardInterrupt
        return original(self)

    monkeypatch.setattr(rounds.Rounds, "run", run)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert len(model.forest_) == 3
    expected = small(max_iter=3).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("strategy", ["multi_output_tree", "one_output_per_tree"])
def test_it_learns_many_classes(strategy):
    X, y = classes(1200, 30, 6, rounded=False)
    model = small(max_iter=60, multi_strategy=strategy, learning_rate=0.3).fit(X[:900], y[:900])
    assert model.score(X[900:], y[900:]) > 0.6
