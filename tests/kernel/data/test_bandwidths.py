import numpy as np
import pandas as pd
import pytest

from softwood import KernelTreeClassifier, KernelTreeRegressor
from softwood.core.columns import Columns
from softwood.core.targets import read_classes, read_reals
from softwood.kernel.data.bandwidths import LOO_GRID, loo_widths, silverman_widths, standard_deviations, stated_widths

NAMES = ("a", "b=u", "b=v", "b=w", "c")
COLUMNS = Columns(NAMES, np.array([0, 1, 1, 1, 2]), (None, ("u", "v", "w"), None), ("a", "b", "c"))


@pytest.mark.tiny
def test_standard_deviations():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(50, 3)), rng.integers(1, 4, size=50)
    X[:5, 1], X[:, 2] = np.nan, 3.14
    found = standard_deviations(X, weights.astype(float))
    known = np.repeat(X, weights, axis=0)
    assert found[:2] == pytest.approx(np.nanstd(known[:, :2], axis=0))
    assert found[2] == 0.0
    assert standard_deviations(np.full((3, 1), np.nan), np.ones(3)).tolist() == [0]
    for scale in (1e-300, 1e300):
        assert standard_deviations(X[:, :1] * scale, np.ones(50)) / scale == pytest.approx(X[:, 0].std())


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (0.5, [0.5, 0, 0, 0, 0.5]),
        (0, [0, 0, 0, 0, 0]),
        ([1, 2, 3], [1, 0, 0, 0, 3]),
        (np.array([1.0, 2.0, 3.0]), [1, 0, 0, 0, 3]),
        ({"c": 2.0}, [0, 0, 0, 0, 2]),
        ({0: 1, "c": 2.0}, [1, 0, 0, 0, 2]),
    ],
)
def test_stated_widths(spec, expected):
    assert stated_widths(None, "bandwidth", spec, COLUMNS).tolist() == expected


@pytest.mark.tiny
@pytest.mark.parametrize(
    "spec", [-1.0, np.nan, np.inf, "wide", [1, 2], [1, 2, -3], {"c": -1}, {"d": 1}, {0: "a"}, None, True]
)
def test_not_widths(spec):
    with pytest.raises(ValueError, match="'bandwidth' parameter"):
        stated_widths(None, "bandwidth", spec, COLUMNS)


@pytest.mark.tiny
def test_silverman():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=400) * 5, rng.standard_t(1, size=400), np.zeros(400)])
    found = silverman_widths(X, np.ones(400))
    assert found[0] == pytest.approx(np.sqrt(3) * 0.9 * X[:, 0].std() * 400**-0.2, rel=0.1)
    quartiles = np.quantile(X[:, 1], [0.25, 0.75])
    assert found[1] == pytest.approx(np.sqrt(3) * 0.9 * np.diff(quartiles)[0] / 1.34 * 400**-0.2, rel=0.02)
    assert found[2] == 0
    weights = rng.integers(1, 4, size=400)
    found = silverman_widths(X, weights.astype(float))
    repeated = np.repeat(X, weights, axis=0)
    assert found == pytest.approx(silverman_widths(repeated, np.ones(len(repeated))))


def slow_loo(x, y, is_class):
    """Half-width from the grid with the best prediction of each point from the others within it, and the mean."""
    losses = []
    for h in LOO_GRID * x.std():
        loss = 0.0
        for i in range(len(x)):
            near = (np.abs(x - x[i]) <= h) & (np.arange(len(x)) != i)
            estimate = (y[near].sum(axis=0) + y.mean(axis=0)) / (near.sum() + 1)
            loss += -np.log(estimate @ y[i]) if is_class else ((estimate - y[i]) ** 2).sum()
        losses.append(loss)
    return LOO_GRID[int(np.argmin(losses))] * x.std()


@pytest.mark.tiny
@pytest.mark.parametrize("is_class", [True, False])
def test_leave_one_out(is_class):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    score = np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=60)
    if is_class:
        targets = read_classes(score > 0)
    else:
        targets = read_reals(score, np.ones(60))
    found = loo_widths(X, targets, np.ones(60))
    expected = [slow_loo(X[:, j], targets.matrix(), is_class) for j in range(2)]
    assert found == pytest.approx(expected)


@pytest.mark.tiny
def test_leave_one_out_with_weights_and_missing_values():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    X[::7, 1] = np.nan
    y = (X[:, 0] > 0).astype(int)
    weights = rng.integers(1, 4, size=40)
    rows = np.repeat(np.arange(40), weights)
    found = loo_widths(X, read_classes(y), weights.astype(float))
    assert found == pytest.approx(loo_widths(X[rows], read_classes(y[rows]), np.ones(len(rows))))
    known = ~np.isnan(X[:, 1])
    alone = loo_widths(X[known, 1:], read_classes(y[known]), weights[known].astype(float))
    assert found[1] == pytest.approx(alone[0])


@pytest.mark.parametrize("model_class", [KernelTreeClassifier, KernelTreeRegressor])
def test_units(model_class):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=50) * 10, "b": rng.normal(size=50), "c": np.ones(50)})
    y = (X["a"] > 0).astype(int)
    sd = X.std(ddof=0).to_numpy()
    for spec, absolute in ((0.3, 0.3 * sd), ([0.1, 0.2, 0.3], [0.1, 0.2, 0.3] * sd), ({"b": 0.4}, [0, 0.4 * sd[1], 0])):
        assert model_class(bandwidth=spec).fit(X, y).bandwidths_ == pytest.approx(absolute)
        same = model_class(bandwidth=list(absolute), bandwidth_unit="absolute").fit(X, y)
        assert same.bandwidths_ == pytest.approx(absolute)
    # a column without spread cannot be split, whatever its width
    assert model_class(bandwidth=2.0, bandwidth_unit="absolute").fit(X, y).bandwidths_.tolist() == [2, 2, 0]


@pytest.mark.parametrize("rule", ["silverman", "loo"])
def test_rules_in_the_estimator(rule):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(2, size=60)
    X[:, 2] = 1.0
    model = KernelTreeClassifier(bandwidth=rule, refine=False, trend=None).fit(X, y)
    if rule == "silverman":
        expected = silverman_widths(X, np.ones(60))
    else:
        expected = loo_widths(X, read_classes(y), np.ones(60))
    assert model.bandwidths_ == pytest.approx(expected)
    assert not hasattr(model, "bandwidth_")
