"""The mean of several models that grow together."""

import numpy as np
import pytest

import softwood
from softwood import KernelBoostingRegressor
from softwood.core.steps import Steps
from softwood.core.threads import Threads
from softwood.kernel.choosing.boosting_plans import PLANS
from softwood.kernel.rounds.finishing import boosted_forest
from softwood.kernel.rounds.members import RoundsOfMembers, member_seed
from softwood.kernel.rounds.rounds import Boosted, Rounds, boost
from tests.callbacks import Recorder, interrupt, require_callbacks
from tests.kernel.boosts import BOTH, problem
from tests.models import assert_same_nodes

N_MODELS = PLANS["best"].n_models
BEST = {"quality": "best", "max_iter": 6, "bandwidth": 0.2, "min_mass": 5.0, "random_state": 0}


@pytest.mark.parametrize("model_class", BOTH)
def test_the_model_is_the_mean_of_models_that_are_boosted_alone(model_class, monkeypatch):
    grown = []
    run = RoundsOfMembers.__init__

    def spy(self, members, result):
        run(self, members, result)
        grown.append(members)

    monkeypatch.setattr(RoundsOfMembers, "__init__", spy)
    X, y = problem(model_class, n=200)
    best = model_class(**BEST).fit(X, y)
    (members,) = grown
    forests = []
    for number, member in enumerate(members):
        assert member.seed == member_seed(members[0].seed, number)
        with Threads(1) as threads:
            alone = Rounds(
                member.data, member.bins, member.widths, member.loss, member.rules, member.seed, threads,
                Boosted(member.result.base),
            )  # fmt: skip
            boost(alone, Steps("round", 6), dict)
        forests.append(boosted_forest(alone.result.trees, np.array(alone.result.output), alone.result.base))
    assert not np.allclose(forests[0].predict(X), forests[1].predict(X))
    mean = np.mean([forest.predict(X) for forest in forests], axis=0)
    np.testing.assert_allclose(best.forest_.predict(X), mean, atol=1e-12)
    n_scores = mean.shape[1]
    assert len(best.forest_) == N_MODELS * 6 * n_scores
    for stage, staged in enumerate(best.forest_.staged_predict(X, step=N_MODELS * n_scores)):
        part = [list(forest.staged_predict(X, step=n_scores))[stage] for forest in forests]
        np.testing.assert_allclose(staged, np.mean(part, axis=0), atol=1e-12)
    assert len(list(best.staged_predict(X))) == best.n_iter_ == 6


@pytest.mark.parametrize("model_class", BOTH)
def test_validation_rows_judge_the_mean(model_class):
    X, y = problem(model_class, n=300)
    X_val, y_val = problem(model_class, n=150, seed=1)
    model = model_class(**{**BEST, "max_iter": 60}, n_iter_no_change=5).fit(X, y, X_val=X_val, y_val=y_val)
    assert len(model.forest_) % (N_MODELS * model.n_iter_) == 0
    assert model.n_iter_ == np.argmax(model.validation_score_)
    staged = list(model.staged_predict(X_val))
    if model_class is KernelBoostingRegressor:
        losses = [np.mean((y_val - predicted) ** 2) / 2 for predicted in staged]
        ratio = losses / -model.validation_score_[1 : model.n_iter_ + 1]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
        # training rows are read as the trees have grown: from bins of neighbouring values
        mean_loss = np.mean((y - model.predict(X)) ** 2) / 2
        np.testing.assert_allclose(mean_loss, -model.train_score_[model.n_iter_] * ratio[0], rtol=0.02)


def test_one_model_if_nothing_is_drawn():
    X, y = problem(KernelBoostingRegressor)
    model = KernelBoostingRegressor(**BEST, subsample=1.0).fit(X, y)
    assert len(model.forest_) == 6
    single = KernelBoostingRegressor(**{**BEST, "quality": "balanced"}, subsample=1.0)
    assert_same_nodes(model.forest_, single.fit(X, y).forest_)


@pytest.mark.parametrize("model_class", BOTH)
def test_same_mean_for_any_number_of_threads_and_after_a_file(model_class, tmp_path):
    X, y = problem(model_class)
    model = model_class(**BEST).fit(X, y)
    assert_same_nodes(model.forest_, model_class(**BEST, n_jobs=2).fit(X, y).forest_)
    softwood.save(model, tmp_path / "model.softwood")
    np.testing.assert_array_equal(softwood.load(tmp_path / "model.softwood").predict(X), model.predict(X))


def test_monotonic_members_have_a_monotonic_mean():
    X, y = problem(KernelBoostingRegressor)
    model = KernelBoostingRegressor(**BEST, monotonic_cst=[1, 0, 0, 0]).fit(X, y)
    rows = np.repeat(X[:5], 50, axis=0)
    rows[:, 0] = np.tile(np.linspace(-3, 3, 50), 5)
    assert np.all(np.diff(model.predict(rows).reshape(5, 50), axis=1) >= -1e-12)


def test_an_interrupt_keeps_the_rounds_of_all_members():
    require_callbacks()
    X, y = problem(KernelBoostingRegressor)
    model = KernelBoostingRegressor(**BEST)
    model.set_callbacks(Recorder(3, then=interrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    whole = KernelBoostingRegressor(**BEST).fit(X, y)
    assert 1 <= model.n_iter_ < 6
    assert len(model.forest_) == N_MODELS * model.n_iter_
    np.testing.assert_allclose(model.predict(X), list(whole.staged_predict(X))[model.n_iter_ - 1])


def test_levels_refuse_the_mean():
    with pytest.raises(ValueError, match=r"'quality' parameter .* must be 'fast' or 'balanced' with growth='level'"):
        KernelBoostingRegressor(quality="best", growth="level").fit([[0.0], [1.0]], [0.0, 1.0])
