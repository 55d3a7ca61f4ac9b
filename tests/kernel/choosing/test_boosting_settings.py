"""Bandwidth, leaves, mass, columns and rounds of boosting, chosen by held-out loss."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, make_scorer, mean_absolute_error, mean_pinball_loss
from sklearn.model_selection import train_test_split

import softwood
from softwood import KernelBoostingClassifier, KernelBoostingRegressor
from softwood.core.steps import Steps
from softwood.core.threads import Threads
from softwood.kernel.choosing import boosting_settings as boosting_choice
from softwood.kernel.choosing.boosting_plans import PLANS
from softwood.kernel.choosing.boosting_settings import Search, _has_stalled, _mean_curve, most_rounds
from softwood.kernel.rounds.rounds import Boosted, Rounds, boost
from softwood.kernel.rows import BoostingRowsInMemory
from softwood.trees.gates import Gate
from tests.callbacks import Recorder, interrupt, require_callbacks
from tests.kernel.boosts import BOTH, problem
from tests.models import assert_same_nodes

SETTINGS = ("bandwidth", "crisp_every", "max_leaf_nodes", "min_mass", "max_features")


def chosen(model):
    """The same model with everything that was chosen given."""
    return clone(model).set_params(
        max_iter=model.n_iter_, bandwidth=model.bandwidth_, crisp_every=model.crisp_every_,
        max_leaf_nodes=model.max_leaf_nodes_, min_mass=model.min_mass_, max_features=model.max_features_,
        early_stopping=False, subsample=0.8, l2_regularization=1.0, learning_rate=0.12, quality="fast",
    )  # fmt: skip


def spy_on_models(monkeypatch):
    """The half-widths and rules of the models of each fit, as they are passed on."""
    found = []
    boost = BoostingRowsInMemory.boost

    def spy(self, models, *arguments):
        found.append(models)
        return boost(self, models, *arguments)

    monkeypatch.setattr(BoostingRowsInMemory, "boost", spy)
    return found


@pytest.mark.parametrize("model_class", BOTH)
def test_the_models_are_those_of_the_best_trials(model_class, monkeypatch):
    monkeypatch.setattr(boosting_choice, "CLEARLY_WORSE", (1e9, 1e9))  # all trials end
    X, y = problem(model_class, n=240)
    fits = spy_on_models(monkeypatch)
    model = model_class(trend=None, random_state=0).fit(X, y)
    trials = [trial for trial in model.search_ if trial["stage"] != "rounds"]
    best = min(trials, key=lambda trial: trial["loss"])
    found = model.bandwidth_, model.crisp_every_, model.max_leaf_nodes_, model.min_mass_, model.max_features_
    assert found == tuple(best[name] for name in SETTINGS)
    for trial in model.search_:
        assert trial["loss"] == min(trial["losses"][1:]) == trial["losses"][trial["n_rounds"]]
    # three bandwidths, then half of the columns with the best so far
    assert [trial["stage"] for trial in trials] == ["bandwidth"] * 3 + ["n_features"]
    assert [trial["max_features"] for trial in trials] == [4, 4, 4, 2]

    (models,) = fits
    assert len(models) == PLANS["balanced"].n_models == len(model.forest_) // model.n_iter_ // model.forest_.base.size
    spreads = np.std(X, axis=0)
    settings = [
        (pytest.approx(widths / spreads, rel=0.2, abs=0), rules.crisp_every, rules.n_features)
        for widths, rules in models
    ]
    assert settings[0] == (np.full(4, best["bandwidth"]), best["crisp_every"], best["max_features"])
    second, *_ = [
        trial
        for trial in sorted(trials, key=lambda trial: trial["loss"])
        if trial is not best and len({trial["bandwidth"], best["bandwidth"]} - {0.0}) <= 1
    ]
    assert settings[1] == (np.full(4, second["bandwidth"]), second["crisp_every"], second["max_features"])
    # the mean number of rounds, and learning rates in proportion to the numbers of each
    rates = [rules.learning_rate for _, rules in models]
    assert np.mean(rates) == pytest.approx(PLANS["balanced"].learning_rate, rel=0.02)
    assert {rules.n_rounds for _, rules in models} == {model.n_iter_}


def test_one_setting_has_several_models_that_draw_other_rows(monkeypatch):
    X, y = problem(KernelBoostingRegressor, n=150)
    fits = spy_on_models(monkeypatch)
    KernelBoostingRegressor(bandwidth=0.2, max_features=2, random_state=0).fit(X, y)
    ((first, second),) = fits
    assert first[1] is second[1]


def test_measurement_errors_keep_the_kernels_of_all_models_alike(monkeypatch):
    X, y = problem(KernelBoostingRegressor, n=200)
    fits = spy_on_models(monkeypatch)
    model = KernelBoostingRegressor(random_state=0, measurement_error=dict.fromkeys(range(4), 0.1)).fit(X, y)
    ((first, second),) = fits
    np.testing.assert_array_equal(first[0], second[0])
    assert not model._prediction_kernels_.has_crisp_trees


def test_errors_of_readings_widen_the_trees_of_each_model_by_its_own_width():
    """Against the mean of predictions with the boxes drawn."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(300, 2))
    y = np.where(X[:, 0] > 0, 2.0, 0.0) + X[:, 1] + 0.1 * rng.normal(size=300)
    for seed in range(6):
        model = KernelBoostingRegressor(trend=None, random_state=seed).fit(X, y)
        widths = np.unique(model.forest_.width[model.forest_.gate == Gate.KERNEL])
        if widths[0] == 0.0 < widths[-1]:
            break
    assert widths[0] == 0.0 < widths[-1], "no model with and without kernels"
    rows = np.array([[0.1, 0.3], [-0.2, 1.0]])
    errors = np.full((2, 2), 0.3)
    drawn = rows[:, None, :] + 0.3 * rng.uniform(-1, 1, size=(2, 4000, 2))
    crisp = [k for k in range(len(model.forest_)) if not np.any(model.forest_[k].width > 0)]
    assert crisp
    expected = np.zeros(2)
    for k in crisp:  # without a kernel of their own, the mean over the box of the errors
        expected += model.forest_[k].predict(drawn.reshape(-1, 2)).reshape(2, -1).mean(axis=1)
    cells = model._prediction_kernels_.cells(dict(enumerate(errors.T)), rows)
    found = sum(model.forest_[k].predict(rows, widths=cells[:, 2:])[:, 0] for k in crisp)
    np.testing.assert_allclose(found, expected, atol=0.1)
    whole = model.forest_.predict(rows, widths=cells)[:, 0]
    np.testing.assert_allclose(model.predict(rows, measurement_error=errors), whole)


@pytest.mark.parametrize("quality", ["fast", "best"])
def test_qualities_try_what_their_plans_say(quality):
    X, y = problem(KernelBoostingRegressor, n=200)
    model = KernelBoostingRegressor(quality=quality, random_state=0).fit(X, y)
    assert [trial["trend"] for trial in model.search_ if trial["stage"] == "has_trend"] == ["linear"]
    model = KernelBoostingRegressor(quality=quality, trend=None, random_state=0).fit(X, y)
    plan = PLANS[quality]
    trials = [trial for trial in model.search_ if trial["stage"] != "rounds"]
    tried = [(trial["bandwidth"], trial["crisp_every"]) for trial in trials[: len(plan.kernels)]]
    assert tried == list(plan.kernels)
    assert len(trials) == len(plan.kernels) + bool(plan.beyond) + len(plan.max_leaves) - 1 + len(plan.shares) - 1
    assert len(model.forest_) == plan.n_models * model.n_iter_
    if plan.n_models == 1:
        assert_same_nodes(model.forest_, chosen(model).fit(X, y).forest_)


@pytest.mark.parametrize("model_class", BOTH)
def test_only_what_is_auto_is_chosen(model_class):
    X, y = problem(model_class, n=150)
    given = {"bandwidth": 0.2, "max_leaf_nodes": 5, "min_mass": 7.0, "max_features": 2, "trend": None}
    model = model_class(**given, random_state=0).fit(X, y)
    assert [trial["stage"] for trial in model.search_] == ["rounds"]
    assert model.search_[0]["bandwidth"] is None
    assert (model.max_leaf_nodes_, model.min_mass_, model.max_features_) == (5, 7.0, 2)
    model = model_class(bandwidth=0.2, max_iter=3).fit(X, y)
    assert not hasattr(model, "search_")
    assert (model.max_leaf_nodes_, model.min_mass_, model.max_features_, model.n_iter_) == (31, 20.0, 4, 3)


@pytest.mark.parametrize("fold_rows", [1000, 50])
@pytest.mark.parametrize("model_class", BOTH)
def test_losses_of_trials_are_those_of_rows_left_out(model_class, fold_rows, monkeypatch):
    """Against the losses that boosting itself reports for validation rows, read tree by tree."""
    monkeypatch.setattr(boosting_choice, "FOLD_ROWS", fold_rows)
    searches = []
    run = Search._run

    def spy(self, stage, setting, parts, *numbers):
        finished = run(self, stage, setting, parts, *numbers)
        searches.append((self, setting, parts, finished.trial))
        return finished

    monkeypatch.setattr(Search, "_run", spy)
    X, y = problem(model_class, n=200)
    model_class(random_state=0, loss="log_loss" if model_class is KernelBoostingClassifier else "poisson").fit(
        X, y if model_class is KernelBoostingClassifier else np.exp(y)
    )
    search, setting, parts, trial = searches[-1]
    assert len(parts) == (2 if fold_rows == 1000 else 1)
    all_rows = sum(len(part.held_out.matrix) for part in parts)
    assert all_rows == (134 if fold_rows == 1000 else 50)
    curves = []
    for part in parts:
        assert not {*map(tuple, part.train.matrix)} & {*map(tuple, part.held_out.matrix)}
        rules = boosting_choice.replace(setting.of(search._rules), learning_rate=trial.learning_rate, n_rounds=12)
        widths = search._widths_of(setting)
        with Threads(1) as threads:
            rounds = Rounds(
                part.train, part.bins, widths, search._rows.loss, rules, search._rows.seed, threads,
                Boosted(search._rows.loss.start(part.train.y, part.train.weights)), validation=part.held_out,
            )  # fmt: skip
            boost(rounds, Steps("round", 12), dict)
        curves.append(rounds.result.validation_losses)
    weights = [len(part.held_out.matrix) for part in parts]
    n = min(13, len(trial.losses))
    np.testing.assert_allclose(trial.losses[:n], np.average(curves, axis=0, weights=weights)[:n], rtol=1e-9)


@pytest.mark.parametrize("margins", [(0.0, 0.0), (1e9, 1e9)])
def test_trials_that_are_clearly_behind_end_early(monkeypatch, margins):
    monkeypatch.setattr(boosting_choice, "CLEARLY_WORSE", margins)
    runs = []
    go_on = boosting_choice._Course.go_on

    def spy(course, n_rounds, patience, worth_while):
        runs.append(course)
        return go_on(course, n_rounds, patience, worth_while)

    monkeypatch.setattr(boosting_choice._Course, "go_on", spy)
    monkeypatch.setattr(Search, "_scale_of_errors", lambda *_: 1.0)  # without its runs on half of the rows
    X, y = problem(KernelBoostingRegressor, n=300)
    model = KernelBoostingRegressor(trend=None, random_state=0).fit(X, y)
    counts = [trial for trial in model.search_ if trial["stage"] == "rounds"]
    trials = model.search_[: -len(counts)]
    best = min(trials, key=lambda trial: trial["loss"])
    assert counts[0]["losses"][: len(best["losses"])] == best["losses"], "it goes on with the best one"
    n_last = 2 * len(counts)
    assert set(runs[-n_last:]) <= set(runs[:-n_last]), "and with nothing new"
    n_folds = len(runs) - n_last
    assert n_folds == 8 if margins[0] > 0 else 4 <= n_folds < 8
    for trial in trials:
        assert trial["loss"] == min(trial["losses"][1:])
        assert trial is best or trial["loss"] >= best["loss"]


def test_noise_gets_few_rounds_and_a_signal_many():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(300, 2))
    pattern = np.sin(3 * X[:, 0]) * X[:, 1]
    model = KernelBoostingRegressor(bandwidth=0.05, random_state=0)
    noise, signal = (clone(model).fit(X, pattern + sd * rng.normal(size=300)) for sd in (2.0, 0.0))
    assert noise.n_iter_ < 50 < 150 < signal.n_iter_
    # smaller steps need more of them
    slow = clone(model).set_params(learning_rate=0.05).fit(X, pattern)
    assert slow.n_iter_ == pytest.approx(2.4 * signal.n_iter_, rel=0.01)


@pytest.mark.parametrize("model_class", BOTH)
def test_validation_rows_decide_on_the_rounds_if_there_are_any(model_class):
    X, y = problem(model_class, n=300)
    X_val, y_val = problem(model_class, n=200, seed=1)
    given = model_class(bandwidth=0.2, random_state=0).fit(X, y, X_val=X_val, y_val=y_val)
    aside = model_class(bandwidth=0.2, early_stopping=True, random_state=0).fit(X, y)
    for model in (given, aside):
        assert "rounds" not in [trial["stage"] for trial in model.search_]
        assert model.n_iter_ == np.argmax(model.validation_score_) < most_rounds(0.12) == 417
    counted = model_class(bandwidth=0.2, early_stopping=False, random_state=0).fit(X, y, X_val=X_val, y_val=y_val)
    assert len(counted.validation_score_) == counted.n_iter_ + 1  # told, but not used
    alone = model_class(bandwidth=0.2, random_state=0).fit(X, y)
    assert_same_nodes(counted.forest_, alone.forest_)


def test_many_rows_are_tried_on_a_part_and_counted_on_all(monkeypatch):
    monkeypatch.setattr(boosting_choice, "FOLD_ROWS", 100)
    monkeypatch.setattr(boosting_choice, "TRIAL_ROWS", 120)
    X, y = problem(KernelBoostingRegressor, n=400)
    sizes = []
    run = Search._run

    def spy(self, stage, setting, parts, *numbers):
        sizes.append((stage, len(parts[0].train.matrix), len(parts[0].held_out.matrix)))
        return run(self, stage, setting, parts, *numbers)

    monkeypatch.setattr(Search, "_run", spy)
    KernelBoostingRegressor(random_state=0).fit(X, y)
    assert {part[1:] for part in sizes if part[0] != "rounds"} == {(120, 40)}
    assert sizes[-1] == ("rounds", 360, 40)


def test_rows_that_cannot_be_held_out():
    model = KernelBoostingRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    assert not hasattr(model, "search_")
    assert model.predict([[0.0]]) == pytest.approx(0.5)
    same = KernelBoostingClassifier().fit(np.zeros((30, 1)), np.arange(30) % 2)
    np.testing.assert_allclose(same.predict_proba([[0.0]]), 0.5)


def test_an_interrupt_of_the_search_leaves_the_model_as_it_was():
    require_callbacks()
    X, y = problem(KernelBoostingRegressor)
    model = KernelBoostingRegressor(random_state=0).fit(X, y)
    before = model.predict(X)
    model.set_callbacks(Recorder(2, then=interrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, -y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_when_a_loss_has_stalled():
    falling = list(np.linspace(1.0, 0.0, 11))
    assert not _has_stalled(falling, 3, 1e-3)
    assert _has_stalled([*falling, 0.1, 0.2, 0.0], 3, 0.0)
    assert not _has_stalled([*falling, 0.1, 0.2], 3, 0.0)
    assert _has_stalled([*falling, -1e-5, -2e-5, -3e-5], 3, 1e-3)
    assert not _has_stalled([*falling, -1e-5, -2e-5, -3e-5], 3, 0.0)
    assert not _has_stalled([1.0, 1.0], 3, 0.0)
    assert _has_stalled([1.0, 1.1, 1.2, 1.3], 3, 0.0)


def test_the_mean_of_runs_that_end_at_different_rounds():
    curves = [np.array([4.0, 2.0, 1.0]), np.array([2.0, 1.0])]
    np.testing.assert_allclose(_mean_curve(curves, [1.0, 3.0]), [2.5, 1.25, 1.0])


@pytest.mark.parametrize(
    ("name", "value"), [("max_iter", "many"), ("max_leaf_nodes", "few"), ("min_mass", "small"), ("max_features", "all")]
)
def test_words_that_are_not_known(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of KernelBoostingRegressor must be .*'auto'.*{value}"):
        KernelBoostingRegressor(**{name: value}).fit(*problem(KernelBoostingRegressor))


# ------------------------------------------------------------------ scores in place of the loss


@pytest.mark.parametrize("scoring", ["accuracy", make_scorer(accuracy_score)])
def test_a_score_decides_on_the_rounds(scoring):
    X, y = problem(KernelBoostingClassifier, n=300)
    names = np.array(["a", "b", "c"])[y]
    train, test = train_test_split(np.arange(300), random_state=0)
    model = KernelBoostingClassifier(bandwidth=0.2, max_iter=25, scoring=scoring, n_iter_no_change=25)
    model.fit(X[train], names[train], X_val=X[test], y_val=names[test])
    staged = [np.mean(labels == names[test]) for labels in model.staged_predict(X[test])]
    np.testing.assert_allclose(model.validation_score_[1 : model.n_iter_ + 1], staged)
    assert model.n_iter_ == np.argmax(model.validation_score_)
    counted = KernelBoostingClassifier(bandwidth=0.2, scoring=scoring, random_state=0).fit(X, names)
    assert counted.search_[-1]["stage"] == "rounds"
    assert -1 <= counted.search_[-1]["loss"] < -0.5


def test_scores_of_real_targets_are_weighted():
    X, y = problem(KernelBoostingRegressor, n=200)
    weights = np.arange(1.0, 201.0)
    model = KernelBoostingRegressor(bandwidth=0.2, max_iter=5, scoring="neg_mean_absolute_error")
    model.fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:], sample_weight_val=weights[100:])
    expected = [-mean_absolute_error(y[100:], p, sample_weight=weights[100:]) for p in model.staged_predict(X[100:])]
    np.testing.assert_allclose(model.validation_score_[1:], expected)


def test_scores_that_are_not_known():
    X, y = problem(KernelBoostingClassifier)
    with pytest.raises(ValueError, match=r"'scoring' parameter of KernelBoostingClassifier .*'speed'"):
        KernelBoostingClassifier(scoring="speed").fit(X, y)
    shares = np.full((120, 2), 0.5)
    with pytest.raises(ValueError, match=r"'scoring' parameter .* must be 'loss' with class probabilities"):
        KernelBoostingClassifier(scoring="accuracy").fit(X, shares)


# ------------------------------------------------------------------ several quantiles


def test_several_quantiles_are_those_of_single_models():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(400, 1))
    y = X[:, 0] + (1 + np.abs(X[:, 0])) * rng.normal(size=400)
    quantiles = (0.1, 0.5, 0.9)
    settings = {"loss": "quantile", "bandwidth": 0.3, "max_iter": 30, "random_state": 0}
    model = KernelBoostingRegressor(quantile=quantiles, **settings).fit(X, y)
    apart = [KernelBoostingRegressor(quantile=q, **settings).fit(X, y).predict(X) for q in quantiles]
    found = model.predict(X)
    np.testing.assert_allclose(found, np.sort(np.column_stack(apart), axis=1))
    np.testing.assert_allclose((y[:, None] <= found).mean(axis=0), quantiles, atol=0.05)
    losses = [mean_pinball_loss(y, found[:, k], alpha=q) for k, q in enumerate(quantiles)]
    assert -model.train_score_[-1] == pytest.approx(sum(losses), rel=0.02)  # sorting may make it smaller
    assert 0 < model.score(X, y) < 1
    np.testing.assert_allclose(list(model.staged_predict(X))[-1], found)


def test_several_quantiles_choose_their_rounds_and_survive_a_file(tmp_path):
    X, y = problem(KernelBoostingRegressor, n=150)
    model = KernelBoostingRegressor(loss="quantile", quantile=[0.25, 0.75], random_state=0).fit(X, y)
    assert model.search_
    softwood.save(model, tmp_path / "model.softwood")
    again = softwood.load(tmp_path / "model.softwood")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.search_ == model.search_


@pytest.mark.parametrize("quantile", [(), (0.5, 0.1), (0.1, 0.1), (0.1, 1.0), ("a", "b"), [[0.1]]])
def test_quantiles_that_are_not_in_order(quantile):
    with pytest.raises(ValueError, match=r"'quantile' parameter .* several in rising order"):
        KernelBoostingRegressor(loss="quantile", quantile=quantile).fit([[0.0], [1.0]], [0, 1])
