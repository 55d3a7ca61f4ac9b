"""What a fit leaves behind: results of different fits never mix, and parameters count only in `fit`."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor
from sklearn.model_selection import cross_val_score

from softwood import KernelForestClassifier, KernelTreeClassifier
from tests.every_estimator import ESTIMATORS, KERNEL_ESTIMATORS, answer, given_bandwidth, small, table

every = pytest.mark.parametrize("name", ESTIMATORS)
every_kernel = pytest.mark.parametrize("name", KERNEL_ESTIMATORS)


def other_table(name):
    """Other rows, one column more, and other labels."""
    X, y = table(name, seed=1)
    X = np.column_stack([X, X[:, 0]])
    return X, np.char.upper(y) if y.dtype.kind == "U" else 100.0 + y


def results(model):
    return {key: value for key, value in vars(model).items() if key.endswith("_")}


WRONG = {"max_depth": "deep", "max_leaf_nodes": "many", "handle_unknown": "maybe"}


@every
def test_a_fit_that_fails_leaves_the_earlier_one(name):
    """Whether it fails at once, or after the table and the labels were read."""
    X, y = table(name)
    model = small(name, **given_bandwidth(name)).fit(X, y)
    before, expected = dict(vars(model)), answer(model, X)
    other_X, other_y = other_table(name)
    failures = [{key: value} for key, value in WRONG.items() if key in model.get_params()]
    failures += [{"kernel": "nonsense"}, {"measurement_error": {"nowhere": 1.0}}] if "kernel" in before else []
    failures += [{"class_weight": "unfair"}] if "class_weight" in before else []
    for parameters in failures:
        usual = {key: model.get_params()[key] for key in parameters}
        with pytest.raises(ValueError, match=next(iter(parameters))):
            model.set_params(**parameters).fit(other_X, other_y)
        model.set_params(**usual)
        assert vars(model).keys() == before.keys()
        assert all(before[key] is value for key, value in results(model).items())
        assert np.array_equal(answer(model, X), expected)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(other_X, other_y, sample_weight=np.full(len(other_X), np.nan))
    with pytest.raises(ValueError, match=r"y|NaN"):
        model.fit(other_X, np.full(len(other_X), np.nan))
    assert np.array_equal(answer(model, X), expected)


@every
def test_an_interrupt_before_there_is_a_model_leaves_the_earlier_one(name, monkeypatch):
    X, y = table(name)
    model = small(name, **given_bandwidth(name)).fit(X, y)
    expected, before = answer(model, X), results(model)

    def interrupt(*arguments, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(model), "_class_weights", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*other_table(name))
    assert results(model).keys() == before.keys()
    assert all(before[key] is value for key, value in results(model).items())
    assert np.array_equal(answer(model, X), expected)


@every
def test_a_fit_knows_nothing_of_earlier_ones(name):
    """Same results after another fit as without; nothing that belonged to the other one is left."""
    X, y = table(name)
    fresh = small(name, **given_bandwidth(name)).fit(X, y)
    used = small(name)
    if name == "KernelForestClassifier":
        used.set_params(oob_score=True, n_estimators=40)
    used.fit(pd.DataFrame(other_table(name)[0]).rename(columns=lambda j: f"column {j}"), other_table(name)[1])
    used.set_params(**fresh.get_params()).fit(X, y)
    assert results(used).keys() == results(fresh).keys()
    assert np.array_equal(answer(used, X), answer(fresh, X))


@every_kernel
def test_a_given_bandwidth_replaces_a_chosen_one(name):
    X, y = table(name)
    model = small(name).fit(X, y)
    assert model.bandwidth_ >= 0
    model.set_params(bandwidth=0.77).fit(X, y)
    assert not hasattr(model, "bandwidth_")
    assert model.bandwidths_ == pytest.approx(0.77 * X.std(axis=0))


# What each parameter is set to after `fit`, without another fit.
LATER = {
    "bandwidth": 2.0,
    "bandwidth_decay": 0.5,
    "bandwidth_per_node": True,
    "bandwidth_unit": "absolute",
    "categorical_features": [0],
    "ccp_alpha": 1.0,
    "class_weight": "balanced",
    "cutoff": 0.1,
    "handle_unknown": "error",
    "kernel": "gaussian",
    "loss": "poisson",
    "max_depth": 1,
    "measurement_error": {0: 3.0},
    "n_estimators": 1,
    "prediction_bandwidth": 3.0,
    "prediction_kernel": None,
    "refine": False,
    "warm_start": True,
}


@every
def test_parameters_set_after_fit_change_no_prediction(name):
    X, y = table(name)
    X = pd.DataFrame(X).rename(columns=str).assign(word=np.where(X[:, 2] > 0, "up", "down"))
    new = X.assign(word="sideways")
    model = small(name, **given_bandwidth(name)).fit(X, y)
    expected, importances = answer(model, new), model.feature_importances_
    model.set_params(**{key: value for key, value in LATER.items() if key in model.get_params()})
    assert np.array_equal(answer(model, new), expected)
    assert np.array_equal(model.feature_importances_, importances)
    assert np.array_equal(model.predict(X), clone(small(name, **given_bandwidth(name))).fit(X, y).predict(X))


@every
def test_unknown_categories_are_shared_like_missing_values(name):
    X, y = table(name)
    frame = pd.DataFrame(X).rename(columns=str).assign(word=np.digitize(X[:, 0], [-1, 0, 1]).astype(str))
    model = small(name, **given_bandwidth(name)).fit(frame, y)
    assert np.array_equal(answer(model, frame.assign(word="new")), answer(model, frame.assign(word=None)))
    model.set_params(handle_unknown="error").fit(frame, y)
    with pytest.raises(ValueError, match=r"Column 'word' holds categories that were not there at fit: \['new'\]"):
        model.predict(frame.assign(word="new"))
    with pytest.raises(ValueError, match=r"handle_unknown.*'missing', 'error'"):
        model.set_params(handle_unknown="ignore").fit(frame, y)


@every
def test_cross_validation_with_rare_categories(name):
    X, y = table(name)
    rare = pd.DataFrame(X).rename(columns=str).assign(word=[f"w{k}" for k in np.arange(len(X)) % 60])
    assert np.isfinite(cross_val_score(small(name, **given_bandwidth(name)), rare, y, cv=3, error_score="raise")).all()


# Weights that are no numbers of rows


@every
@pytest.mark.parametrize("unit", ["sum", 1e-300, 2.0**-40, 1e300])
def test_the_unit_of_the_weights_does_not_make_a_constant_model(name, unit):
    X, y = table(name)
    weights = np.random.default_rng(2).uniform(0.5, 1.5, size=len(X))
    weights = weights / weights.sum() if unit == "sum" else weights * unit
    model = small(name, **given_bandwidth(name)).fit(X, y, sample_weight=weights)
    assert np.isfinite(answer(model, X)).all()
    assert model.get_n_leaves() > len(getattr(model, "forest_", [0])), "no splits"
    plain = small(name, **given_bandwidth(name)).fit(X, y)
    assert model.score(X, y) > plain.score(X, y) - 0.15


@every
def test_equal_weights_are_no_weights_whatever_their_size(name):
    X, y = table(name)
    plain = small(name, **given_bandwidth(name)).fit(X, y)
    for size in (1 / len(X), 0.3, 1e-200):
        weighted = small(name, **given_bandwidth(name)).fit(X, y, sample_weight=np.full(len(X), size))
        assert answer(weighted, X) == pytest.approx(answer(plain, X), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("size", [1e-200, 1e-3, 1e300])
def test_class_weights_of_any_size(size):
    X, y = table("KernelTreeClassifier")
    weights = {"ant": 1.0, "bee": 2.0, "cow": 1.0}
    expected = KernelTreeClassifier(bandwidth=0.3, class_weight=weights).fit(X, y)
    scaled = {label: weight * size for label, weight in weights.items()}
    found = KernelTreeClassifier(bandwidth=0.3, class_weight=scaled).fit(X, y)
    assert found.get_n_leaves() > 5
    assert found.score(X, y) > expected.score(X, y) - 0.15


def test_scikit_learns_adaboost_of_kernel_trees():
    """It hands over weights that add up to 1."""
    X, y = table("KernelTreeClassifier", n=300)
    tree = KernelTreeClassifier(bandwidth=0.1, max_depth=2)
    boosted = AdaBoostClassifier(tree, n_estimators=20, random_state=0).fit(X, y)
    assert boosted.score(X, y) > tree.fit(X, y).score(X, y) > 0.6
    X, y = table("KernelTreeRegressor", n=300)
    boosted = AdaBoostRegressor(small("KernelTreeRegressor", bandwidth=0.1, max_depth=4), random_state=0).fit(X, y)
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
    model = small(name, early_stopping=True, max_iter=200, learning_rate=0.5, bandwidth=0.0).fit(X, y)
    assert 1 <= model.n_iter_ < 200
    assert len(model.validation_score_) == len(model.train_score_) > model.n_iter_


@TABLES
def test_bandwidths_are_chosen_by_folds_in_tables_of_categories(rows, monkeypatch):
    from softwood.density import choosing

    X, y = rows()
    folds = []

    def loss(data, limits, scale, parts, *rest):
        folds.append([(len(train), len(test)) for train, test in parts])
        return 1.0

    monkeypatch.setattr(choosing, "_loss", loss)
    KernelTreeClassifier(random_state=0).fit(X, y)
    assert len(folds[0]) == 5
    assert all(train > test > 0 for train, test in folds[0])


@TABLES
def test_subsamples_in_tables_of_categories(rows):
    from softwood.density.bagging import draws_of
    from softwood.density.rounds import _draw_rows
    from softwood.targets import read_classes

    X, y = rows()
    matrix = pd.get_dummies(X).to_numpy(dtype=float) if isinstance(X, pd.DataFrame) else X
    group = draws_of(matrix, read_classes(y), np.ones(len(y)), 0).group
    drawn = _draw_rows(group, 0.5, np.random.default_rng(0))
    assert 0.4 < len(drawn) / len(y) < 0.6


def test_early_stopping_that_was_asked_for_has_rows_to_validate_on():
    X, y = table("KernelBoostingRegressor", n=6)
    model = small("KernelBoostingRegressor", early_stopping=True, min_mass=1.0, bandwidth=0.0).fit(X, y)
    assert len(model.validation_score_) > 0  # a tenth of six rows, rounded, would be none
    with pytest.raises(ValueError, match="early_stopping=True needs at least two different rows"):
        model.fit(X[:1], y[:1])
