"""Observations of tables whose rows repeat one another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood import KernelBoostingClassifier
from softwood.kernel.choosing.repeated_rows import MOST_PIECES, in_observations
from softwood.kernel.rounds.rounds import BoostingData


def data_of(x, y, weights):
    """Rows of one column, grouped by its value."""
    x = np.asarray(x, dtype=float)
    return BoostingData(
        x[:, None], np.asarray(y, dtype=float), np.asarray(weights, dtype=float), np.unique(x, return_inverse=True)[1]
    )


def mass_by_cell(data):
    """Mass of each value, target and group."""
    cells = {}
    for x, y, group, weight in zip(data.matrix[:, 0], data.y, data.group, data.weights, strict=True):
        key = (x, y, int(group))
        cells[key] = cells.get(key, 0.0) + weight
    return cells


def test_equal_rows_with_different_targets_are_single_observations():
    found = in_observations(data_of([1, 1, 1, 2, 3, 3], [0, 1, 0, 1, 0, 1], np.ones(6)))
    assert len(np.unique(found.group)) == len(found.group) == 6
    np.testing.assert_array_equal(found.weights, 1.0)


def test_copies_stay_together():
    data = data_of([1, 1, 1, 2, 3, 3], [0, 0, 0, 1, 1, 1], [1, 1, 1, 5, 1, 1])
    assert in_observations(data) is data


def test_a_few_different_targets_are_no_reason():
    x = [*np.repeat(np.arange(40), 2), 99, 99]
    y = [*np.zeros(80), 0, 1]
    data = data_of(x, y, np.ones(82))
    assert in_observations(data) is data


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 5)), min_size=1, max_size=20))
def test_a_weight_is_a_number_of_rows(lines):
    x, y, weights = (np.array(part) for part in zip(*lines, strict=True))
    weighted = in_observations(data_of(x, y, weights))
    repeated = in_observations(data_of(x.repeat(weights), y.repeat(weights), np.ones(weights.sum())))
    assert mass_by_cell(weighted) == mass_by_cell(repeated)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.floats(0.01, 1e4)), min_size=1, max_size=20))
def test_masses_are_kept_and_pieces_are_not_many(lines):
    x, y, weights = (np.array(part) for part in zip(*lines, strict=True))
    found = in_observations(data_of(x, y, weights))
    assert np.all(found.weights > 0)
    assert len(np.unique(found.group)) == found.group.max() + 1 <= max(3 * MOST_PIECES, len(lines))
    for value in np.unique(x):
        for target in np.unique(y):
            kept = found.weights[(found.matrix[:, 0] == value) & (found.y == target)].sum()
            assert kept == pytest.approx(weights[(x == value) & (y == target)].sum())


def test_weights_are_repetitions_where_rows_repeat_one_another():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(60, 2)).astype(float)
    y = (rng.random(60) < 0.2 + 0.2 * X[:, 0]).astype(int)
    weights = rng.integers(1, 4, size=60)
    weighted = KernelBoostingClassifier(random_state=0).fit(X, y, weights)
    repeated = KernelBoostingClassifier(random_state=0).fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert weighted.n_iter_ == repeated.n_iter_
    assert [trial["loss"] for trial in weighted.search_] == pytest.approx([t["loss"] for t in repeated.search_])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_observations_keep_errors_and_trends():
    matrix, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.tile([0.0, 1.0], 10)
    own = {0: np.arange(20.0), 1: 0.5}
    rows = BoostingData(matrix, y, np.ones(20), np.repeat([0, 1], 10), own, np.arange(20.0)[:, None])
    found = in_observations(rows)
    assert len(np.unique(found.group)) == 20
    assert found.errors[1] == 0.5
    np.testing.assert_array_equal(found.errors[0], found.trend[:, 0])
    np.testing.assert_array_equal(found.y, y[found.trend[:, 0].astype(int)])
