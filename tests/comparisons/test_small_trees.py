"""The comparison of small trees: CART tuned by folds, and a run on made-up tables."""

import signal
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from comparisons.results import write_sections
from comparisons.small_trees import models, peers, run, summary
from comparisons.small_trees.models import SOFTWOOD_SIZES, Fold, encode, run_model
from comparisons.small_trees.peers import PEERS, Grown, Peer, choose, load
from comparisons.small_trees.pruning import scores_by_alpha, tune_alpha

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


def made_up_fold(task):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120), "c": rng.choice(["u", "v"], size=120)})
    signal = frame["a"] + (frame["c"] == "u")
    y = np.where(signal > 0.5, "yes", "no") if task == "classification" else signal + 0.1 * rng.normal(size=120)
    frame.loc[3, "a"] = np.nan
    rows = rng.permutation(120)
    return Fold(frame, encode(frame), np.asarray(y), rows[:90], rows[90:], task == "classification")


@pytest.mark.parametrize("size", ["8", "tuned"])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", PEERS)
def test_peers_learn_and_keep_to_the_size(name, task, size, monkeypatch):
    monkeypatch.setattr(peers, "FIGS_SIZES", (4, 8))
    monkeypatch.setattr(peers, "LINEAR_DEPTHS", (1, 2))
    peer = PEERS[name]
    if task not in peer.tasks:
        return
    try:
        peer.load()
    except SystemExit as missing:
        pytest.skip(str(missing))
    result = run_model(name, size, made_up_fold(task), 60.0)
    assert result["score"] > 0.75
    assert 1 <= result["leaves"] <= (8 if size == "8" else 90)
    has_loss = task == "classification" and name != "linear-tree"
    assert np.isfinite(result["log_loss"]) == has_loss
    if has_loss:
        assert result["log_loss"] < np.log(2) + 0.3


def test_kernel_trees_take_the_parameters_that_their_name_stands_for(monkeypatch):
    monkeypatch.setitem(models.SOFTWOOD, "softwood, stump", {"max_depth": 1})
    fold = made_up_fold("classification")
    assert run_model("softwood, stump", "8", fold, np.inf)["leaves"] == 2
    for size in SOFTWOOD_SIZES:
        result = run_model("softwood", size, fold, np.inf)
        assert result["leaves"] <= 8 or size != "8"
        assert result["score"] > 0.75


def test_a_class_that_the_training_rows_lack_has_the_smallest_probability():
    class Certain:
        def predict(self, X):
            return np.zeros(len(X))

        def predict_proba(self, X):
            return np.tile([1.0, 0.0], (len(X), 1))

    y = np.array(["a", "a", "b", "c"])
    score, loss = models.judge(Grown(Certain(), 1, ""), np.zeros((4, 1)), y, np.array(["a", "c"]))
    assert score == 0.5
    assert loss == pytest.approx(-np.log(models.LEAST) / 2, rel=1e-3)
    assert np.isnan(models.judge(Grown(Certain(), 1, "", has_probabilities=False), y, y, np.array(["a", "c"]))[1])


def test_the_best_setting_is_chosen_and_of_equal_ones_the_first():
    X, y = load_diabetes(return_X_y=True)

    def grow(leaves, X, y):
        return DecisionTreeRegressor(max_leaf_nodes=abs(leaves), random_state=0).fit(X, y)

    assert choose(grow, (200, 2, 6, -6), X, y, is_class=False) == 6


def test_a_missing_package_is_answered_with_the_command_that_installs_it():
    with pytest.raises(SystemExit, match="pip install no-such-tree"):
        load("no_such_tree", "no-such-tree")


@pytest.fixture
def collection(tmp_path, monkeypatch):
    """Two made-up tables of each task, one of them never looked at; softwood, CART and a peer that never ends."""
    rng = np.random.default_rng(0)
    rows = ["name,task,rows,features,classes,source,notes"]
    for name, is_class in (("classes", True), ("labels", True), ("numbers", False), ("reals", False)):
        frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(["u", "v"], size=60)})
        target = frame["a"] + 0.3 * rng.normal(size=60)
        frame["target"] = np.where(target > 0, "yes", "no") if is_class else target
        frame.to_csv(tmp_path / f"{name}.csv.gz", index=False)
        rows.append(f"{name},{'classification' if is_class else 'regression'},60,2,{2 if is_class else ''},,")
    (tmp_path / "MANIFEST.csv").write_text("\n".join(rows) + "\n")
    monkeypatch.setenv("SOFTWOOD_DATA", str(tmp_path))
    monkeypatch.setattr(summary, "never_looked_at", lambda name: name in {"labels", "reals"})

    def grow(*_, **__):
        raise TimeoutError

    few = {"CART": PEERS["CART"], "endless": Peer(lambda: None, grow, ("classification",), "never ends")}
    for module in (models, summary):
        monkeypatch.setattr(module, "PEERS", few)
    for module in (run, summary):
        monkeypatch.setattr(module, "MODELS", ("softwood", *few))
        monkeypatch.setattr(module, "N_FOLDS", 2)
    return tmp_path


def test_a_run_that_is_stopped_goes_on(collection, monkeypatch, capsys):
    page, runs, picture = (collection / name for name in ("page.md", "runs.csv", "picture.svg"))
    write_sections(
        page, dict.fromkeys(("results", "best", "models", "stopped", "versions", "tables"), "of old"), run.SCRIPT
    )
    page.write_text(f"before\n{page.read_text()}after\n")
    arguments = ["run.py", "--runs", str(runs), "--page", str(page), "--picture", str(picture)]
    monkeypatch.setattr(sys, "argv", [*arguments, "--data-sets", "classes", "--models", "CART", "--sizes", "8"])
    run.main()
    assert "There are no results of kernel trees yet." in page.read_text()
    monkeypatch.setattr(sys, "argv", arguments)
    run.main()
    lines = pd.read_csv(runs, dtype={"size": str})
    assert not lines.duplicated(["data_set", "fold", "model", "size"]).any()
    assert len(lines) == 4 * run.N_FOLDS * (5 + 4) + 2  # the endless peer has one line of each table
    assert (lines.loc[lines["size"] == "8", "leaves"] <= 8).all()
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "of old" not in text
    assert "### Classification, never looked at: 1 data sets" in text
    assert text.index("Regression, never looked at") < text.index("Classification, looked at")
    assert "| endless, 8 leaves | classes, labels |" in text
    assert "| softwood, default | CART, tuned | 1 |" in text
    assert "<svg" in picture.read_text()
    before = runs.read_text()
    monkeypatch.setattr(sys, "argv", [*arguments, "--summary"])
    run.main()
    assert runs.read_text() == before
    assert page.read_text() == text


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a clock of processor time")
def test_a_model_is_stopped_after_its_seconds():
    def wait():
        with models.limit(0.05):
            while True:
                pass

    with pytest.raises(TimeoutError):
        wait()
    with models.limit(np.inf):
        assert signal.getitimer(signal.ITIMER_PROF)[0] == 0.0


def line(name, model, size, score, log_loss=np.nan, task="classification"):
    about = {"data_set": name, "task": task, "rows": 60, "model": model, "size": size, "parameter": ""}
    figures = {"score": score, "log_loss": log_loss, "leaves": 8, "seconds": 1.0}
    return [{**about, **figures, "fold": fold} for fold in range(run.N_FOLDS)]


def test_pairs_have_the_data_sets_of_both_models_and_means_those_of_all():
    runs = []
    for i in range(10):
        runs += line(f"table {i}", "softwood", "8", 0.8, 0.3) + line(f"table {i}", "CART", "8", 0.7 + 0.02 * i, 0.5)
        runs += line(f"table {i}", "FIGS", "8", 0.9, 0.2) if i < 9 else []
        runs += line(f"table {i}", "STreeD", "8", 0.9, 0.2) if i < 2 else []
    runs += line("table 10", "CART", "8", 0.5, 0.5)[:3]  # not all folds
    frame = summary.read_frame(runs)
    text = summary.pairs(frame, "classification")
    assert "| softwood, 8 leaves | CART, 8 leaves | 10 | 5-1-4 | 50% | +0.0100 |" in text
    assert "| softwood, 8 leaves | STreeD, 8 leaves | 2 | 0-0-2 | 0% | -0.1000 |" in text
    assert " 10-0-0 | 100% | +0.2000 | " in text  # log loss
    means = summary.overview(frame, "accuracy")
    assert "Means of the 9 data sets" in means
    assert "STreeD" not in means
    assert "| CART, 8 leaves | 0.7800 | 0.500 | 8 | 1 |" in means


def test_the_best_of_all_peers_is_chosen_for_each_data_set():
    runs = []
    for name, ours, cart, figs in (("mushroom", 0.8, 0.7, 0.9), ("iris", 0.8, 0.75, 0.6), ("letter", 0.5, 0.9, None)):
        runs += line(name, "softwood", "8", ours, 1.0 - ours) + line(name, "CART", "8", cart, 1.0 - cart)
        runs += line(name, "FIGS", "8", figs, 1.0 - figs) if figs else []
        runs += line(name, "STreeD", "8", 1.0, 0.0)  # not among them
        for peer in ("hierarchical shrinkage", "ConTree"):
            runs += line(name, peer, "8", 0.1, 2.0) if figs else []
    text = summary.best_of_peers(summary.read_frame(runs))
    row = "| softwood, 8 leaves | {} | {} |"
    assert row.format("never looked at", "accuracy") + " 2 | 2 | 1-0-1 | 50% | 50% | -0.0250 |" in text
    assert row.format("never looked at", "log loss") + " 2 | 2 | 1-0-1 | 50% | 50% | -0.0250 |" in text
    assert row.format("looked at", "accuracy") + " 1 | 0 | 0-0-1 | 0% | 0% | -0.4000 |" in text


def test_a_failed_fit_is_a_loss_but_does_not_rule_the_means():
    runs = line("one", "softwood", "8", 0.5, task="regression") + line("one", "M5", "8", -40.0, task="regression")
    text = summary.pairs(summary.read_frame(runs), "regression")
    assert "| 1 | 1-0-0 | 100% | +0.5000 |" in text


def test_data_sets_that_settings_were_chosen_on_are_looked_at():
    assert summary.never_looked_at("mushroom")
    assert not summary.never_looked_at("letter")  # even checksum
    assert not summary.never_looked_at("plastic")  # odd, but in the first trial
