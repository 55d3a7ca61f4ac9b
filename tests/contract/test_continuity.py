"""Predictions of kernel models change continuously with the row, in every column, where the bandwidth is above 0."""

import numpy as np
import pytest

import softwood
from tests.contract.specs import SPECS
from tests.models import answer

KERNEL = [spec for spec in SPECS if spec.is_kernel]


def largest_jumps(model, rows, j, n=150, n_jumps=5, n_halvings=45):
    """The largest changes of the prediction over steps of no length, on lines along column `j` through some rows.

    Of each line, the steps with the largest changes are halved again and again, on the side that changes more. What is
    left of the change of a continuous function is next to nothing.
    """
    ends = np.nanmin(rows[:, j]) - 2.0, np.nanmax(rows[:, j]) + 2.0
    places = np.linspace(*ends, n + 1)
    lines = np.repeat(rows[:, None, :], n + 1, axis=1)
    lines[:, :, j] = places
    said = answer(model, lines.reshape(-1, rows.shape[1])).reshape(len(rows), n + 1, -1)
    changes = np.abs(np.diff(said, axis=1)).max(axis=2)
    at = np.argsort(-changes, axis=1)[:, :n_jumps]
    low, high = places[at].ravel(), places[at + 1].ravel()
    points = np.repeat(rows, n_jumps, axis=0)

    def say(x):
        points[:, j] = x
        return answer(model, points).reshape(len(points), -1)

    below, above = say(low), say(high)
    for _ in range(n_halvings):
        middle = 0.5 * (low + high)
        between = say(middle)
        is_left = np.abs(between - below).max(axis=1) >= np.abs(above - between).max(axis=1)
        low, high = np.where(is_left, low, middle), np.where(is_left, middle, high)
        below, above = np.where(is_left[:, None], below, between), np.where(is_left[:, None], between, above)
    return np.abs(above - below).max(), np.ptp(said)


def options(spec):
    found = {
        "as it is": {},
        "cutoff": {"cutoff": 0.1},
        "wide": {"bandwidth": 2.0},
        "prediction kernel": {"prediction_kernel": "gaussian", "prediction_bandwidth": 0.4},
        "errors": {"measurement_error": {0: 0.3, 1: 0.1}},
        "scaled": {"prediction_kernel": softwood.Kernel([-1, 1], [0.5], scale=lambda x: 1 + 0.5 * np.tanh(x))},
        "level": {"growth": "level"},
    }
    if "kernel" in spec.parameters:
        found |= {"errors by value": {"measurement_error": {1: lambda x: 0.1 + 0.2 * np.abs(x)}}}
        found |= {"kernel": {"kernel": "triangle"}, "bins": {"splitter": "hist", "max_bins": 5}}
    if "bandwidth_per_node" in spec.parameters:
        found["per node"] = {"bandwidth_per_node": True, "bandwidth": "silverman"}
    if "bandwidth_decay" in spec.parameters:
        found["decay"] = {"bandwidth_decay": 0.8}
    if "quantile" in spec.parameters:
        found |= {"quantiles": {"loss": "quantile", "quantile": [0.2, 0.5, 0.8]}}
    return found


@pytest.mark.parametrize("spec", KERNEL, ids=str)
def test_predictions_do_not_jump(spec):
    X, y = spec.table(n=150)
    X[::9, 2] = np.nan  # in the training rows, and in some of the lines
    rows = spec.table(n=3, seed=1)[0]
    rows[0, 3] = np.nan
    for name, given in options(spec).items():
        model = spec.make(**given).fit(X, y)
        for j in range(4):
            jump, spread = largest_jumps(model, rows, j)
            assert jump <= 1e-9 * max(1.0, spread), f"{name}: column {j} jumps by {jump:g}"


def test_crisp_trees_jump():
    """What the tests above would find."""
    X, y = KERNEL[0].table()
    model = KERNEL[0].make(prediction_kernel=None).fit(X, y)
    jump, _ = largest_jumps(model, X[:5], 0)
    assert jump > 0.1


def test_a_row_of_the_readme_promise():
    """One reading of a wine, at which a share of the row used to disappear all at once."""
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    model = softwood.KernelTreeClassifier(random_state=0).fit(X, y)
    for j in range(X.shape[1]):
        jump, _ = largest_jumps(model, X[::30], j)
        assert jump <= 1e-9
