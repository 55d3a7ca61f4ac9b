"""Coverage by simulation, of groups too, and where rows are weighted, repeated, missing or huge."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softwood import (
    KernelBoostingRegressor,
    KernelForestClassifier,
    KernelForestRegressor,
    KernelTreeClassifier,
    KernelTreeRegressor,
)
from tests.uncertainty.noisy_rows import is_in, noisy_rows

CRISP = {"bandwidth": 0, "refine": False, "trend": None}


def test_coverage_of_split_conformal_prediction_over_repetitions():
    """1 000 times 60 calibration rows and 30 new ones: the coverage is that of the rule, (n + 1 - 2 * 3 + 1) / (n + 1).

    Each end has the rank ceil(61 * 0.95) = 58 of 60 from its side.
    """
    X, y = noisy_rows(100 + 90_000, 0)
    model = KernelTreeRegressor(**CRISP, max_leaf_nodes=6).fit(X[:100], y[:100])
    covered = []
    for rows in np.arange(100, 90_100).reshape(1000, 90):
        model.calibrate(X[rows[:60]], y[rows[:60]])
        covered.append(is_in(model.predict_interval(X[rows[60:]]), y[rows[60:]]).mean())
    assert np.mean(covered) == pytest.approx(1 - 2 * 3 / 61, abs=0.006)


def test_out_of_bag_coverage_over_repetitions():
    found = []
    for seed in range(25):
        X, y = noisy_rows(1200, seed)
        model = KernelForestRegressor(30, bandwidth=0.1, random_state=seed).fit(X[:200], y[:200])
        found.append([is_in(model.predict_interval(X[200:], c), y[200:]).mean() for c in (0.8, 0.9, 0.95)])
    assert np.mean(found, axis=0) == pytest.approx([0.8, 0.9, 0.95], abs=0.025)


def test_widths_follow_the_noise():
    X, y = noisy_rows(1500, 1)
    model = KernelForestRegressor(30, bandwidth=0.1, random_state=0).fit(X, y)
    widths = np.diff(model.predict_interval(X), axis=1)[:, 0]
    assert widths[X[:, 1] > 0.3].mean() > 2.5 * widths[X[:, 1] < -0.3].mean()


@pytest.mark.parametrize("way", ["column", "leaf", "category"])
def test_each_group_is_covered(way):
    X, y = noisy_rows(4000, 2)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["side"] = np.where(X[:, 1] > 0, "loud", "quiet")
    model = KernelTreeRegressor(**CRISP, max_leaf_nodes=4).fit(table[["a", "c", "side"]][:200], y[:200])
    model._spread_ = model.calibrate(table[["a", "c", "side"]][200:220], y[200:220]).calibration_.spread  # one width
    by = {"column": "a", "leaf": "leaf", "category": "side"}[way]
    rest = table[["a", "c", "side"]][2200:]
    model.calibrate(table[["a", "c", "side"]][200:2200], y[200:2200], by=by)
    covered = is_in(model.predict_interval(rest), y[2200:])
    groups = {
        "column": pd.qcut(rest["a"], 4, labels=False),
        "leaf": model.apply(rest),
        "category": rest["side"],
    }[way]
    for group in np.unique(groups):
        assert covered[np.asarray(groups == group)].mean() == pytest.approx(0.9, abs=0.05)


def test_new_values_of_a_column_get_the_intervals_of_all_rows():
    X, y = noisy_rows(500, 3)
    X[:, 2] = np.arange(500) % 3
    model = KernelTreeRegressor(**CRISP, max_leaf_nodes=4).fit(X[:100], y[:100])
    plain = model.calibrate(X[100:], y[100:]).predict_interval([[0.0, 0.0, 7.0], [0.0, 0.0, np.nan]])
    assert np.array_equal(
        model.calibrate(X[100:], y[100:], by=2).predict_interval([[0, 0, 7.0], [0, 0, np.nan]]), plain
    )


def test_rows_twice_do_not_narrow_the_intervals():
    """Equal rows are in the same folds."""
    X, y = noisy_rows(200, 4)
    new, truth = noisy_rows(2000, 5)
    twice = np.repeat(np.arange(200), 2)
    model = KernelTreeRegressor(**CRISP, max_leaf_nodes=20).fit(X[twice], y[twice]).calibrate(X[twice], y[twice], cv=5)
    assert is_in(model.predict_interval(new), truth).mean() > 0.86


def test_folds_of_training_rows():
    new, truth = noisy_rows(8000, 7)
    covered = []
    for seed in range(20, 32):
        X, y = noisy_rows(400, seed)
        model = KernelTreeRegressor(**CRISP, max_leaf_nodes=8).fit(X, y).calibrate(X, y, cv=5)
        labels = np.digitize(y, [-0.5, 0.5])
        found = KernelTreeClassifier(**CRISP, max_leaf_nodes=8).fit(X, labels).calibrate(X, labels, cv=5)
        has_truth = found.predict_set(new)[np.arange(8000), np.digitize(truth, [-0.5, 0.5])]
        covered.append([is_in(model.predict_interval(new), truth).mean(), has_truth.mean()])
    assert np.mean(covered, axis=0) == pytest.approx([0.91, 0.92], abs=0.02)


def test_a_class_that_a_fold_lacks():
    X, y = noisy_rows(60, 8)
    labels = np.where(np.arange(60) == 7, "rare", np.where(y > 0, "up", "down"))
    model = KernelTreeClassifier(**CRISP, max_leaf_nodes=4).fit(X, labels).calibrate(X, labels, cv=3)
    assert model.predict_set(X, 0.5).shape == (60, 3)


def test_several_quantiles_are_corrected():
    X, y = noisy_rows(1500, 9)
    new, truth = noisy_rows(2000, 10)
    model = KernelBoostingRegressor(loss="quantile", quantile=(0.05, 0.5, 0.95), max_iter=60, early_stopping=False)
    model.fit(X[:150], y[:150]).calibrate(X[500:], y[500:])
    assert is_in(model.predict_interval(new), truth).mean() == pytest.approx(0.9, abs=0.03)
    found = model.predict_quantiles(new, [0.05, 0.1, 0.5, 0.9, 0.95])
    assert np.all(np.diff(found, axis=1) >= 0)
    assert (truth[:, None] <= found).mean(axis=0) == pytest.approx([0.05, 0.1, 0.5, 0.9, 0.95], abs=0.04)


def test_several_targets():
    X, y = noisy_rows(600, 11)
    Y = np.column_stack([y, -3 * y])
    model = KernelForestRegressor(20, bandwidth=0.1, random_state=0).fit(X[:300], Y[:300])
    ends = model.predict_interval(X[300:])
    assert ends.shape == (300, 2, 2)
    assert [is_in(ends[:, :, k], Y[300:, k]).mean() > 0.8 for k in (0, 1)] == [True, True]
    with pytest.raises(ValueError, match="needs a model of one target"):
        model.predict_distribution(X)
    with pytest.raises(ValueError, match="as many targets as in fit, 2"):
        model.calibrate(X, y)


def test_probabilities_as_labels():
    X, y = noisy_rows(300, 12)
    shares = np.column_stack([1 / (1 + np.exp(-3 * y)), 1 / (1 + np.exp(3 * y))])
    model = KernelForestClassifier(20, bandwidth=0.1, random_state=0).fit(X, shares)
    assert len(model.calibration_.scores) == 600
    assert model.predict_set(X, 0.8).any(axis=1).all()


def test_huge_and_missing_numbers():
    X, y = noisy_rows(300, 13)
    X[::7, 0] = np.nan
    X[5, 1], y[9] = 1e300, 1e12
    model = KernelForestRegressor(20, bandwidth=0.1, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_interval(X)).all()
    assert np.isfinite(model.predict_distribution(X).crps(y)).all()


def test_targets_that_are_all_the_same():
    X, _ = noisy_rows(100, 14)
    model = KernelForestRegressor(5, random_state=0).fit(X, np.full(100, 3.0))
    assert model.predict_interval(X) == pytest.approx(np.full((100, 2), 3.0))


def test_jobs_do_not_change_intervals():
    X, y = noisy_rows(300, 15)
    one, two = (KernelForestRegressor(10, random_state=0, n_jobs=n).fit(X, y).predict_interval(X) for n in (1, 2))
    assert np.array_equal(one, two)


def test_trees_of_an_earlier_fit_give_no_scores():
    X, y = noisy_rows(200, 16)
    model = KernelForestRegressor(5, bandwidth=0.1, warm_start=True, random_state=0).fit(X, y)
    assert hasattr(model, "calibration_")
    model.set_params(n_estimators=8).fit(X, y)
    assert not hasattr(model, "calibration_")


def test_many_classes_of_few_rows():
    """That there are many classes for so few rows is said of the rows of a fit, not of those to calibrate."""
    X, _ = noisy_rows(600, 17)
    labels = np.arange(600) % 300
    model = KernelTreeClassifier(**CRISP, max_leaf_nodes=4).fit(X, labels).calibrate(X[:400], labels[:400])
    assert model.predict_set(X).shape == (600, 300)


def test_pipelines():
    X, y = noisy_rows(400, 17)
    model = make_pipeline(StandardScaler(), KernelForestRegressor(10, random_state=0)).fit(X, y)
    assert model[-1].predict_interval(model[:-1].transform(X)).shape == (400, 2)
    assert not hasattr(model, "predict_interval")


@pytest.mark.parametrize("cv", [1, 0, 2.5, "5", True])
def test_folds_are_a_number(cv):
    X, y = noisy_rows(50, 18)
    with pytest.raises(ValueError, match="'cv' parameter"):
        KernelTreeRegressor(**CRISP).fit(X, y).calibrate(X, y, cv=cv)


def test_what_calibrate_refuses():
    X, y = noisy_rows(50, 19)
    model = KernelTreeRegressor(**CRISP, max_leaf_nodes=8).fit(X, y)
    with pytest.raises(ValueError, match="needs the targets y"):
        model.calibrate(X, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.calibrate(X, y[:9])
    with pytest.raises(ValueError, match="'by' parameter"):
        model.calibrate(X, y, by="nothing")
    with pytest.raises(ValueError, match="too few for 60 folds"):
        model.calibrate(X, y, cv=60)
    with pytest.raises(ValueError, match="a model of one tree"):
        KernelForestRegressor(3).fit(X, y).calibrate(X, y, by="leaf")
    with pytest.raises(ValueError, match="the class 7, which y does not have"):
        KernelTreeClassifier(**CRISP).fit(X, y > 0).calibrate(X, np.full(50, 7))
    assert not hasattr(model, "calibration_")
