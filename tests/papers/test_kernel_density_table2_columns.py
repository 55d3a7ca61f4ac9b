"""The columns of table 2: every model can be fitted, and groups, published figures and columns fit together."""

import sys

import numpy as np
import pytest

from papers.kernel_density.table2_columns import COLUMNS, DATA_SETS, FAMILIES, GROUPS, Missing, is_tree, served_by
from papers.kernel_density.table2_summary import CONTESTS, DEFAULTS, read_published

PACKAGES = {"xgboost": "xgboost", "lightgbm_default": "lightgbm"}
ENSEMBLES = [name for name in COLUMNS if name not in FAMILIES["decision tree"]]


@pytest.mark.parametrize("name", ENSEMBLES)
def test_ensembles_can_be_fitted(name):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 14)
    X = rng.normal(size=(42, 2)) + 3 * (y[:, None] == [0, 1])
    if name in PACKAGES:  # the only columns whose models are not softwood's or scikit-learn's
        pytest.importorskip(PACKAGES[name], reason=f"{PACKAGES[name]} is not among the packages of the tests")
    fit = COLUMNS[name].fit
    models = fit(X, y, 0, 1)
    assert set(models) == set(served_by(fit))
    model = models[name]
    assert np.mean(model.fitted.predict(X) == y) > 0.7
    assert np.isnan(model.parameter) == COLUMNS[name].is_baseline
    assert model.fitted.get_params()["random_state"] == 0


@pytest.mark.parametrize(("name", "package"), PACKAGES.items())
def test_missing_package_names_the_command(name, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(Missing, match=f"pip install {package}"):
        COLUMNS[name].fit(np.zeros((2, 1)), np.array([0, 1]), 0, 1)


def test_groups_have_known_columns_and_all_columns_a_group():
    assert {name for members in GROUPS.values() for name in members} == set(COLUMNS)
    assert len({column.title for column in COLUMNS.values()}) == len(COLUMNS)
    for family, contests in CONTESTS.items():
        assert {column for ours, theirs in contests for column in (*ours, theirs)} <= set(FAMILIES[family])
    for family, columns in DEFAULTS.items():
        assert set(columns) <= set(FAMILIES[family])


def test_single_trees_are_known_by_their_fits():
    assert [name for name, column in COLUMNS.items() if is_tree(column.fit)] == list(FAMILIES["decision tree"])


def test_published_figures_cover_all_data_sets():
    published = read_published()
    columns = {column for _, column in published}
    assert columns == {name for name in GROUPS["tuned"] if name != "boost_kernel"}
    assert len(published) == len(columns) * len(DATA_SETS)
