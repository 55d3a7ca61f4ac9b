"""Tables with many columns: numpy is called for blocks of columns, with the same bits as for one column."""

import cProfile
import pstats

import numpy as np
import pytest

from softwood import KernelTreeClassifier
from softwood.kernel.data.binning import bin_features
from softwood.kernel.data.column_statistics import blocks_of, known_cells, standard_deviations


def wide_table(n=60, p=90):
    """Columns of all kinds: constant, with ties, of many sizes, with missing values, without any value."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-5, 6, size=p)
    X[:, 5:20] = np.round(X[:, 5:20])
    X[:, 20] = 3.0
    X[:, 30:60][rng.random((n, 30)) < 0.2] = np.nan
    X[:, 60] = np.nan
    return X


def test_blocks_have_each_column_once_and_few_cells():
    blocks = blocks_of(np.arange(1000), 1000)
    assert np.concatenate(blocks).tolist() == list(range(1000))
    assert max(len(block) for block in blocks) * 1000 <= 1 << 16
    assert [len(block) for block in blocks_of(np.arange(3), 1 << 20)] == [1, 1, 1]


def test_known_cells_are_those_of_the_columns():
    X = wide_table()
    found = {}
    for columns, cells, rows in known_cells(X, np.arange(X.shape[1])):
        for k, j in enumerate(columns):
            found[j] = cells[k], np.arange(len(X)) if rows is None else rows[k]
    assert sorted(found) == list(range(X.shape[1]))
    for j, (cells, rows) in found.items():
        assert rows.tolist() == np.flatnonzero(~np.isnan(X[:, j])).tolist()
        assert cells.tolist() == X[rows, j].tolist()


@pytest.mark.parametrize("max_bins", [None, 7])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_column_of_a_block_is_binned_as_if_it_were_alone(max_bins, is_weighted):
    X = wide_table()
    weights = np.random.default_rng(1).random(len(X)) if is_weighted else None
    n_categories = np.zeros(X.shape[1], np.int64)
    X[:, 70:75] = np.random.default_rng(2).integers(0, 9, size=(len(X), 5))
    n_categories[70:75] = 9
    bins = bin_features(X, weights, max_bins, None, n_categories)
    for j in range(X.shape[1]):
        alone = bin_features(X[:, [j]], weights, max_bins, None, n_categories[[j]])
        part = slice(*bins.offsets[j : j + 2])
        assert np.array_equal(bins.codes[:, j], alone.codes[:, 0])
        for name in ("values", "lows", "highs"):
            assert np.array_equal(getattr(bins, name)[part], getattr(alone, name))
    assert sorted(bins.priority) == list(range(X.shape[1]))


def test_the_deviation_of_a_column_of_a_block_is_that_of_the_column():
    X, weights = wide_table(), np.random.default_rng(1).random(60)
    alone = [standard_deviations(X[:, [j]], weights)[0] for j in range(X.shape[1])]
    assert np.array_equal(standard_deviations(X, weights), alone)
    assert alone[20] == alone[60] == 0.0


def test_few_calls_for_each_column():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 4000)), np.arange(20) % 2
    model = KernelTreeClassifier(bandwidth=0.3, max_leaf_nodes=None)
    model.fit(X, y)  # compiles
    profile = cProfile.Profile()
    profile.runcall(model.fit, X, y)
    assert pstats.Stats(profile).total_calls < 40 * X.shape[1]
