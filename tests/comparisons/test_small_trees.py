"""The comparison of small trees: CART tuned by folds, and a run on made-up tables."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from comparisons.results import write_sections
from comparisons.small_trees import run
from comparisons.small_trees.models import MODELS, encode, scores_by_alpha, tune_alpha

TABLES = [(load_breast_cancer, DecisionTreeClassifier), (load_diabetes, DecisionTreeRegressor)]


@pytest.mark.parametrize(("load", "model_class"), TABLES)
def test_pruned_trees_score_as_those_of_scikit_learn(load, model_class):
    X, y = load(return_X_y=True)
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    full = model_class(random_state=0).fit(X[train], y[train])
    alphas = full.cost_complexity_pruning_path(X[train], y[train]).ccp_alphas
    between = np.unique([0.0, *np.sqrt(alphas[:-1] * alphas[1:]), 2 * alphas[-1]])[::5]
    expected = [
        model_class(random_state=0, ccp_alpha=alpha).fit(X[train], y[train]).score(X[test], y[test])
        for alpha in between
    ]
    np.testing.assert_allclose(scores_by_alpha(full, X[test], y[test], between), expected, atol=1e-12)


@pytest.mark.parametrize(("load", "model_class"), TABLES)
def test_the_chosen_alpha_is_as_good_as_that_of_a_grid_search(load, model_class):
    X, y = (part[:150] for part in load(return_X_y=True))
    is_class = model_class is DecisionTreeClassifier
    cart = model_class(random_state=0)
    alpha = tune_alpha(cart, X, y, is_class=is_class)
    alphas = cart.cost_complexity_pruning_path(X, y).ccp_alphas
    grid = np.unique([alpha, 0.0, *np.sqrt(alphas[:-1] * alphas[1:])[::7]])
    folds = (StratifiedKFold if is_class else KFold)(5, shuffle=True, random_state=0)
    search = GridSearchCV(cart, {"ccp_alpha": grid}, cv=folds).fit(X, y)
    found = search.cv_results_["mean_test_score"][list(grid).index(alpha)]
    assert found == pytest.approx(search.best_score_, abs=1e-12)


def test_categories_become_columns_of_0_and_1():
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": pd.Categorical(["x", "y"])})
    np.testing.assert_array_equal(encode(frame), [[1, 1, 0], [np.nan, 0, 1]])


def test_a_run_that_is_stopped_goes_on(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    for name, make in (("classes", lambda x: np.where(x > 0, "yes", "no")), ("numbers", lambda x: x)):
        frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.choice(["u", "v"], size=80)})
        frame["target"] = make(frame["a"] + 0.3 * rng.normal(size=80))
        frame.to_csv(tmp_path / f"{name}.csv.gz", index=False)
    rows = [
        "name,task,rows,features,classes,source,notes",
        "classes,classification,80,2,2,,",
        "numbers,regression,80,2,,,",
    ]
    (tmp_path / "MANIFEST.csv").write_text("\n".join(rows) + "\n")
    monkeypatch.setenv("SOFTWOOD_DATA", str(tmp_path))
    page, runs = tmp_path / "page.md", tmp_path / "runs.csv"
    write_sections(page, {"versions": "", "tables": "old"}, run.SCRIPT)
    page.write_text(f"before\n{page.read_text()}after\n")
    arguments = ["run.py", "--runs", str(runs), "--page", str(page)]
    monkeypatch.setattr(sys, "argv", [*arguments, "--data-sets", "classes", "--models", "default", "CART tuned"])
    with pytest.raises(ValueError, match="no data set has all folds of all models"):
        run.main()
    monkeypatch.setattr(sys, "argv", arguments)
    run.main()
    lines = pd.read_csv(runs)
    assert len(lines) == 2 * 10 * len(MODELS)
    assert not lines.duplicated(["data_set", "fold", "model"]).any()
    assert set(lines["model"]) == set(MODELS)
    own = lines[lines["model"] == "CART of the size of small"].set_index(["data_set", "fold"])["leaves"]
    small = lines[lines["model"] == "small"].set_index(["data_set", "fold"])["leaves"]
    assert (own <= small.reindex(own.index)).all()
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "1 data sets of classification, 1 of regression" in text
    assert "old" not in text
    before = runs.read_text()
    monkeypatch.setattr(sys, "argv", [*arguments, "--summary"])
    run.main()
    assert runs.read_text() == before
    assert page.read_text() == text
