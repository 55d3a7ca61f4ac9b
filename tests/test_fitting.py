"""Fits in company: boosting of kernel trees by scikit-learn, and parts of the rows in tables of categories."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor

from softwood import KernelForestClassifier, KernelTreeClassifier, KernelTreeRegressor
from tests.contract.specs import BY_NAME


def test_scikit_learns_adaboost_of_kernel_trees():
    """It hands over weights that add up to 1."""
    X, y = BY_NAME["KernelTreeClassifier"].table(n=300)
    tree = KernelTreeClassifier(bandwidth=0.1, max_depth=2)
    boosted = AdaBoostClassifier(tree, n_estimators=20, random_state=0).fit(X, y)
    assert boosted.score(X, y) > tree.fit(X, y).score(X, y) > 0.6
    X, y = BY_NAME["KernelTreeRegressor"].table(n=300)
    boosted = AdaBoostRegressor(KernelTreeRegressor(bandwidth=0.1, max_depth=4), random_state=0).fit(X, y)
    assert boosted.score(X, y) > 0.9


# Parts of the rows that were wanted


def categories_only(n=300):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({f"c{j}": rng.choice(list("abcd"), size=n) for j in range(6)})
    y = np.where((frame["c0"] == "a") ^ (frame["c1"] == "b") ^ (rng.random(n) < 0.1), "yes", "no")
    return frame, y


def binary_table(n=300, p=60):
    X = (np.random.default_rng(5).random((n, p)) < 0.5).astype(float)
    return X, np.where((X[:, 0] == 1) ^ (X[:, 1:6].sum(axis=1) > 4), "yes", "no")


TABLES = pytest.mark.parametrize("rows", [categories_only, binary_table])


@TABLES
def test_rows_out_of_the_bag_in_tables_of_categories(rows):
    X, y = rows()
    model = KernelForestClassifier(30, oob_score=True, random_state=0).fit(X, y)
    assert model.oob_score_ > 0.6
    assert not np.isnan(model.oob_decision_function_).any()


@TABLES
@pytest.mark.parametrize("name", ["KernelBoostingClassifier", "KernelBoostingRegressor"])
def test_early_stopping_in_tables_of_categories(rows, name):
    X, y = rows()
    y = y if name.endswith("Classifier") else (y == "yes") + np.random.default_rng(0).normal(size=len(y))
    settings = {"max_iter": 200, "learning_rate": 0.5, "bandwidth": 0.0, "l2_regularization": 0.0}
    model = BY_NAME[name].make(early_stopping=True, **settings).fit(X, y)
    assert 1 <= model.n_iter_ < 200
    assert len(model.validation_score_) == len(model.train_score_) > model.n_iter_


@TABLES
def test_bandwidths_are_chosen_by_folds_in_tables_of_categories(rows, monkeypatch):
    from softwood.kernel.choosing import bandwidth as choosing

    X, y = rows()
    folds = []

    def loss(data, limits, scale, parts, *rest):
        folds.append([(len(train), len(test)) for train, test in parts])
        return 1.0

    monkeypatch.setattr(choosing, "_loss", loss)
    KernelTreeClassifier(max_leaf_nodes=None, random_state=0).fit(X, y)
    assert len(folds[0]) == 5
    assert all(train > test > 0 for train, test in folds[0])


@TABLES
def test_subsamples_in_tables_of_categories(rows):
    from softwood.core.targets import read_classes
    from softwood.kernel.growing.bagging import draws_of
    from softwood.kernel.rounds.rounds import _draw_rows

    X, y = rows()
    matrix = pd.get_dummies(X).to_numpy(dtype=float) if isinstance(X, pd.DataFrame) else X
    group = draws_of(matrix, read_classes(y), np.ones(len(y)), 0).group
    drawn, left_out = _draw_rows(group, int(group.max()) + 1, 0.5, np.random.default_rng(0))
    assert 0.4 < len(drawn) / len(y) < 0.6
    np.testing.assert_array_equal(np.sort([*drawn, *left_out]), np.arange(len(y)))
    assert not set(group[drawn]) & set(group[left_out])


def test_early_stopping_that_was_asked_for_has_rows_to_validate_on():
    spec = BY_NAME["KernelBoostingRegressor"]
    X, y = spec.table(n=6)
    model = spec.make(early_stopping=True, min_mass=1.0, bandwidth=0.0).fit(X, y)
    assert len(model.validation_score_) > 0  # a tenth of six rows, rounded, would be none
    with pytest.raises(ValueError, match="early_stopping=True needs at least two different rows"):
        model.fit(X[:1], y[:1])
