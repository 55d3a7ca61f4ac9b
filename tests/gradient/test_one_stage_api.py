"""One-stage, budding and end-to-end trees as a user meets them: progress and interrupts."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from softwood.gradient import budding, end_to_end, one_stage, one_stage_training
from tests.callbacks import Recorder, require_callbacks
from tests.gradient.staged_trees import BUDDING, END_TO_END, SAMPLED, id_of, small, validation_losses
from tests.models import answer, assert_same_nodes, interrupted, problem

sampled_both = pytest.mark.parametrize("model_class", SAMPLED, ids=id_of)


# ------------------------------------------------------------------ progress and interrupts


@sampled_both
def test_progress_of_a_warm_start(model_class, capsys):
    X, y = problem(model_class)
    model = small(model_class, warm_start=True, max_iter=2, verbose=2).fit(X, y)
    capsys.readouterr()
    model.fit(X, y)
    assert [line.split(", ")[0].split("] ")[1] for line in capsys.readouterr().out.splitlines()] == [
        "pass 3 of 4", "pass 4 of 4",
    ]  # fmt: skip


@sampled_both
@pytest.mark.parametrize("architecture", ["proximal", "joint", "gumbel"])
@pytest.mark.parametrize("after", [0, 1, 6])
def test_an_interrupt_leaves_the_best_pass_so_far(model_class, architecture, after, monkeypatch):
    X, y = problem(model_class)
    model = small(model_class, architecture=architecture, learning_rate=0.01)
    interrupted(model, X, y, one_stage_training.loop, "train_pass", after)
    assert len(model.history_) == after + 1
    assert np.isfinite(answer(model, X)).all()
    assert model.tree_.mass[0] == pytest.approx(len(X))
    if after:
        for last in ("prune", "settle"):  # what comes after training is not done
            monkeypatch.setattr(one_stage, last, lambda *arguments: None)
        expected = small(model_class, architecture=architecture, learning_rate=0.01, max_iter=after).fit(X, y)
        assert_same_nodes(model.tree_, expected.tree_)
        assert model.history_ == expected.history_
        monkeypatch.undo()
    model.fit(X, y)  # and it can be fitted again
    fresh = small(model_class, architecture=architecture, learning_rate=0.01).fit(X, y)
    assert_same_nodes(model.tree_, fresh.tree_)


@sampled_both
@pytest.mark.parametrize("after", [10, 12])
def test_an_interrupt_while_the_pruned_tree_settles(model_class, after):
    X, y = problem(model_class)
    model = interrupted(small(model_class), X, y, one_stage_training.loop, "train_pass", after)
    whole = small(model_class).fit(X, y)
    assert model.history_ == whole.history_
    assert len(model.history_) == 11
    assert np.array_equal(model.tree_.children_left, whole.tree_.children_left)
    assert np.isfinite(answer(model, X)).all()


@sampled_both
def test_an_interrupted_fit_can_be_continued(model_class):
    X, y = problem(model_class)
    model = interrupted(small(model_class, warm_start=True), X, y, one_stage_training.loop, "train_pass", 3)
    before = min(validation_losses(model))
    model.fit(X, y)
    assert len(model.history_) > 5
    assert min(validation_losses(model)) <= before


@pytest.mark.parametrize("model_class", BUDDING)
@pytest.mark.parametrize("after", [0, 1, 6])
def test_an_interrupt_of_a_budding_tree(model_class, after):
    X, y = problem(model_class)
    model = interrupted(small(model_class), X, y, budding.loop, "budding_pass", after)
    assert len(model.history_) == after + 1
    assert np.isfinite(answer(model, X)).all()
    if after:
        whole = small(model_class).fit(X, y)
        assert model.history_ == whole.history_[: after + 1]
        validated = [line for line in model.history_ if "validation_loss" in line]
        assert len(validated) == after + 1, "the interrupt came before the passes over all rows"


@pytest.mark.parametrize("model_class", BUDDING)
def test_an_interrupt_of_the_passes_over_all_rows_leaves_the_validated_tree(model_class):
    require_callbacks()
    X, y = problem(model_class)
    # the last of ten passes is not the best one everywhere
    model = interrupted(small(model_class), X, y, budding.loop, "budding_pass", 10 + 1)
    seen = Recorder(10)
    stopped = small(model_class).set_callbacks(seen).fit(X, y)
    assert [stage for stage, _, _ in seen.steps] == ["early_stopping"] * 10
    assert_same_nodes(model.tree_, stopped.tree_)


@pytest.mark.parametrize("model_class", BUDDING)
def test_all_rows_train_a_budding_tree_for_as_many_passes_as_were_best(model_class):
    X, y = problem(model_class)
    model = small(model_class, max_iter=20).fit(X, y)
    losses = [line["validation_loss"] for line in model.history_ if line["stage"] == "early_stopping"]
    passes = [line for line in model.history_ if line["stage"] == "fit"]
    assert len(passes) == 1 + int(np.argmin(losses))
    given = small(model_class, max_iter=20).fit(X, y, X_val=X[:30], y_val=y[:30])
    assert {line["stage"] for line in given.history_} == {"fit"}, "validation rows that are given are not trained on"


@pytest.mark.parametrize("model_class", BUDDING)
def test_a_budding_tree_that_dies_on_all_rows_is_not_kept(model_class, monkeypatch):
    require_callbacks()
    X, y = problem(model_class)
    validated = small(model_class).set_callbacks(Recorder(10)).fit(X, y)
    run_pass = budding._Buds.run_pass

    def die(self):
        run_pass(self)
        if len(self._rows) > 0.9 * len(X):
            self.buds[:] = 0.0
            self.wake()

    monkeypatch.setattr(budding._Buds, "run_pass", die)
    model = small(model_class).fit(X, y)
    assert model.history_[-1]["n_leaves"] == 1
    assert_same_nodes(model.tree_, validated.tree_)


@pytest.mark.parametrize("model_class", END_TO_END)
@pytest.mark.parametrize(("after", "n_levels"), [(3, 1), (5, 1), (6, 2), (8, 2)])
def test_an_interrupt_of_an_end_to_end_tree_leaves_the_levels_that_are_done(model_class, after, n_levels):
    X, y = problem(model_class)
    model = interrupted(small(model_class), X, y, end_to_end.loop, "maximise_pass", after)
    # the same gates as in a training that is stopped after the last pass of these levels
    expected = interrupted(small(model_class), X, y, end_to_end.loop, "maximise_pass", 3 * n_levels)
    assert_same_nodes(model.tree_, expected.tree_)
    assert 0 < model.get_depth() <= n_levels
    assert [line["iteration"] for line in model.history_] == list(range(1, n_levels + 1))
    assert model.tree_.mass[0] == pytest.approx(len(X))
    assert np.isfinite(answer(model, X)).all()
    whole = small(model_class).fit(X, y)
    np.testing.assert_array_equal(answer(model.fit(X, y), X), answer(whole, X))  # and it can be fitted again


@pytest.mark.parametrize("model_class", END_TO_END)
@pytest.mark.parametrize("after", [0, 1, 6])
def test_an_interrupt_of_an_end_to_end_tree_leaves_the_best_pass_so_far(model_class, after, monkeypatch):
    X, y = problem(model_class)
    # three levels of three passes
    model = interrupted(small(model_class, learning_rate=0.1), X, y, end_to_end.loop, "maximise_pass", 9 + after)
    assert model.tree_.mass[0] == pytest.approx(len(X))
    assert np.isfinite(answer(model, X)).all()
    geomspace = np.geomspace
    monkeypatch.setattr(np, "geomspace", lambda *arguments: geomspace(*arguments)[:after])  # a training that ends there
    expected = small(model_class, learning_rate=0.1).fit(X, y)
    assert_same_nodes(model.tree_, expected.tree_)
    assert model.history_ == expected.history_
    assert len(validation_losses(model)) == after + 1


@pytest.mark.parametrize("model_class", END_TO_END)
@pytest.mark.parametrize("after", [0, 2])
def test_an_interrupt_of_an_end_to_end_tree_before_it_has_a_level(model_class, after):
    X, y = problem(model_class)
    model = interrupted(small(model_class), X, y, end_to_end.loop, "maximise_pass", after)
    assert not hasattr(model, "tree_")
    assert not hasattr(model, "history_")
    with pytest.raises(NotFittedError):
        model.predict(X)
