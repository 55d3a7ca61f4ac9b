import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold

from softwood import KernelTreeClassifier, KernelTreeRegressor, SoftTree
from softwood.kernel.choosing import bandwidth as choosing
from softwood.kernel.choosing import size as sizing
from softwood.kernel.choosing.bandwidth import AUTO_GRID, CV_GRID, content_folds
from softwood.kernel.growing.growing import GrowthByGain

BOTH = [KernelTreeClassifier, KernelTreeRegressor]


def data(model_class, n=90, p=2, noise=0.5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    signal = X[:, 0] + noise * rng.normal(size=n)
    return X, (signal > 0).astype(int) if model_class is KernelTreeClassifier else signal


@pytest.mark.tiny
@pytest.mark.parametrize("folds", [2, 5])
def test_folds_by_content(folds):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 2)), rng.integers(1, 4, size=30), axis=0)
    parts = list(content_folds(X, folds, 1))
    assert len(parts) == folds
    assert np.array_equal(np.sort(np.concatenate([test for _, test in parts])), np.arange(len(X)))
    for train, test in parts:
        assert len(np.intersect1d(train, test)) == 0
        assert len(train) + len(test) == len(X)
        pairs = {tuple(row) for row in X[train]} & {tuple(row) for row in X[test]}
        assert not pairs
    order = rng.permutation(len(X))
    for (_, test), (_, shuffled) in zip(parts, content_folds(X[order], folds, 1), strict=True):
        assert np.array_equal(np.sort(order[shuffled]), test)


@pytest.mark.tiny
def test_too_few_different_rows_for_folds():
    assert list(content_folds(np.zeros((9, 2)), 5, 0)) == []
    assert len(list(content_folds(np.array([[0.0], [1.0], [1.0]]), 5, 0))) == 2


def slow_loss(model_class, X, y, scale, parts):
    """Mean held-out loss of models of their own, with the half-widths of the whole data."""
    total = 0.0
    for train, test in parts:
        model = model_class(
            refine=False, trend=None, max_leaf_nodes=None, bandwidth=scale * X.std(axis=0), bandwidth_unit="absolute"
        ).fit(X[train], y[train])
        if model_class is KernelTreeClassifier:
            total += (model.predict(X[test]) != y[test]).sum()
        else:
            total += ((model.predict(X[test]) - y[test]) ** 2).sum()
    return total


@pytest.mark.parametrize("model_class", BOTH)
def test_cross_validation_takes_the_scale_with_the_least_loss(model_class):
    X, y = data(model_class, p=1)  # no ties between columns
    folds = KFold(3, shuffle=True, random_state=0)
    model = model_class(refine=False, trend=None, bandwidth="cv", cv=folds, max_leaf_nodes=None).fit(X, y)
    parts = list(folds.split(X))
    losses = np.array([slow_loss(model_class, X, y, scale, parts) for scale in CV_GRID])
    if model.bandwidth_ <= 1:
        assert model.bandwidth_ == pytest.approx(CV_GRID[np.argmin(losses)])
    else:  # past the end of the grid as long as that was better
        assert np.argmin(losses) == len(CV_GRID) - 1
        assert slow_loss(model_class, X, y, model.bandwidth_, parts) < losses.min()
    assert model.bandwidths_ == pytest.approx(model.bandwidth_ * X.std(axis=0))


@pytest.mark.parametrize("model_class", BOTH)
def test_auto_takes_a_scale_of_its_grid(model_class):
    X, y = data(model_class, p=1)
    model = model_class(refine=False, trend=None, max_leaf_nodes=None, random_state=0).fit(X, y)
    assert model.bandwidth_ in AUTO_GRID
    parts = list(content_folds(X, 5, int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))))
    losses = [slow_loss(model_class, X, y, scale, parts) for scale in AUTO_GRID]
    assert model.bandwidth_ == AUTO_GRID[np.argmin(losses)]


def test_a_wide_kernel_where_the_signal_is_smooth_and_a_narrow_one_where_it_is_not():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(250, 1))
    smooth = X[:, 0] + rng.normal(size=250)
    jagged = np.sign(np.sin(12 * X[:, 0]))
    for bandwidth in ("auto", "cv"):
        wide = (
            KernelTreeRegressor(refine=False, trend=None, bandwidth=bandwidth, random_state=0).fit(X, smooth).bandwidth_
        )
        narrow = (
            KernelTreeRegressor(refine=False, trend=None, bandwidth=bandwidth, random_state=0).fit(X, jagged).bandwidth_
        )
        assert narrow < 0.2 < wide


@pytest.mark.parametrize("bandwidth", ["auto", "cv"])
def test_larger_data_are_sampled(bandwidth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 2))
    y = (X[:, 0] + rng.normal(size=2500) > 0).astype(int)
    if bandwidth == "cv":
        X, y = X[:250], y[:250]
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=bandwidth, random_state=0, cv=4, max_depth=4)
    first = clone(model).fit(X, y).bandwidth_
    assert clone(model).fit(X, y).bandwidth_ == first
    order = rng.permutation(len(X))
    assert clone(model).fit(X[order], y[order]).bandwidth_ == first


@pytest.mark.parametrize(
    "cv", [KFold(3), StratifiedKFold(3), PredefinedSplit(np.arange(90) % 3), [(np.arange(60), np.arange(60, 90))]]
)
@pytest.mark.parametrize("zero_weights", [False, True])
def test_folds_of_any_kind(cv, zero_weights):
    X, y = data(KernelTreeClassifier)
    weights = np.ones(90)
    if zero_weights:
        weights[[0, 3, 4, 88, 89]] = 0
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth="cv", cv=cv).fit(X, y, sample_weight=weights)
    assert model.bandwidth_ > 0


@pytest.mark.parametrize("bandwidth", ["auto", "cv"])
@pytest.mark.parametrize("X", [np.zeros((6, 2)), np.full((6, 1), np.nan), np.array([[1.0]] * 5 + [[2.0]])])
def test_data_that_leave_no_choice(bandwidth, X):
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=bandwidth).fit(X, [0, 1, 0, 1, 0, 1])
    assert model.bandwidth_ >= 0
    assert np.isfinite(model.predict_proba(X)).all()


def test_categories_and_known_errors_take_part_in_the_choice():
    import pandas as pd

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=80), "b": rng.choice(["u", "v", "w"], size=80)})
    y = (X["a"] + (X["b"] == "u") + 0.3 * rng.normal(size=80) > 0).astype(int)
    model = KernelTreeClassifier(
        refine=False, trend=None, measurement_error={"a": lambda x: 0.1 * np.abs(x)}, random_state=0
    ).fit(X, y)
    assert model.bandwidths_[1:].tolist() == [0]
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("cv", [1, 0, "three"])
def test_wrong_folds(cv):
    X, y = data(KernelTreeClassifier)
    with pytest.raises(ValueError, match="cv"):
        KernelTreeClassifier(refine=False, trend=None, bandwidth="cv", cv=cv).fit(X, y)


def test_progress_of_the_choice_is_told(capsys):
    X, y = data(KernelTreeClassifier, n=30)
    KernelTreeClassifier(verbose=2, refine=False, trend=None).fit(X, y)
    lines = [line for line in capsys.readouterr().out.splitlines() if "validation loss" in line]
    assert len(lines) == len(AUTO_GRID)
    assert lines[0].startswith("[KernelTreeClassifier] trial 1, bandwidth 0.01, validation loss 0.")


def test_bandwidth_is_chosen_for_the_reading_that_will_be_used():
    """Read crisply, a wide kernel is worse than a narrow one: the choice must not be that of the kernel reading."""
    X, y = load_wine(return_X_y=True)
    given = {"bandwidth": "cv", "cv": 5, "max_leaf_nodes": None, "cutoff": 1e-6, "random_state": 0}
    soft = KernelTreeClassifier(refine=False, trend=None, **given).fit(X, y)
    crisp = KernelTreeClassifier(refine=False, trend=None, **given, prediction_kernel=None).fit(X, y)
    assert crisp.bandwidth_ < soft.bandwidth_


@pytest.mark.parametrize("max_leaf_nodes", ["auto", None])
@pytest.mark.parametrize("shape", [(300, 200), (130_000, 2)])
def test_the_cost_of_the_default_choice_is_bounded(shape, max_leaf_nodes, monkeypatch):
    """However wide or long the table, a tree of the choice looks at so many columns and has so many rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    grown = []

    def grow(problem, limits, *, seed, rows):
        grown.append((len(rows), limits.n_draw))
        return SoftTree.from_nodes(children_left=[-1], children_right=[-1], value=[[0.5, 0.5]], n_features=shape[1])

    class Growth(GrowthByGain):
        def __init__(self, problem, limits, *, seed, rows, space):
            grown.append((len(rows), limits.n_draw))
            super().__init__(problem, limits, seed=seed, rows=rows, space=space)

    monkeypatch.setattr(choosing, "grow_tree", grow)
    monkeypatch.setattr(sizing, "GrowthByGain", Growth)
    KernelTreeClassifier(refine=False, trend=None, random_state=0, max_depth=1, max_leaf_nodes=max_leaf_nodes).fit(X, y)
    assert len(grown) > 3
    assert max(rows for rows, _ in grown) <= 20_000
    assert {columns for _, columns in grown} == {min(64, shape[1])}


def test_losses_below_zero_have_a_best_one():
    """The loss of few trees is corrected for their number, and may then be negative."""
    assert choosing.best_of({0.1: -0.9, 0.3: -0.5}) == 0.1
    assert choosing.best_of({0.1: 0.2, 0.3: 0.2, 0.5: 0.1 + 0.2}) == 0.1
