"""Steps of a fit, and the best of them."""

import math
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from softwood.core import steps as module
from softwood.core.steps import Best, Steps


class Context:
    """In place of the context of scikit-learn's callbacks: record the calls."""

    def __init__(self, log, name="fit", n=None, wants_stop=()):
        self.log, self.name, self.n, self.wants_stop = log, name, n, wants_stop

    def subcontext(self, *, task_name, max_subtasks):
        return Context(self.log, task_name, max_subtasks, self.wants_stop)

    def call_on_fit_task_begin(self, *, estimator, **data):
        self.log.append(("begin", self.name, self.n, data))
        return self

    def call_on_fit_task_end(self, *, estimator, reconstruction_attributes, **data):
        self.log.append(("end", self.name, reconstruction_attributes, data))
        return self.name in self.wants_stop


def verbose_steps(verbose, unit="pass", n_steps=None, **named):
    return Steps(unit, n_steps, estimator=SimpleNamespace(verbose=verbose), **named)


# ------------------------------------------------------------------ history


def test_steps_are_numbered_from_1_and_the_state_before_is_0():
    steps = Steps("pass", 3)
    steps.note(validation_loss=4.0)
    for loss in (3.0, 2.0):
        assert not steps.begin().end(validation_loss=loss)
    assert steps.history == [
        {"stage": "fit", "iteration": 0, "validation_loss": 4.0},
        {"stage": "fit", "iteration": 1, "validation_loss": 3.0},
        {"stage": "fit", "iteration": 2, "validation_loss": 2.0},
    ]
    assert not steps.is_stopped


def test_a_loop_over_steps_begins_as_many_as_there_are():
    steps = Steps("pass", 3)
    for number, step in enumerate(steps):
        step.end(n_leaves=number)
    assert [line["iteration"] for line in steps.history] == [1, 2, 3]


def test_a_loop_over_steps_ends_if_a_callback_asks_to_stop():
    context = Context([], wants_stop=("pass",))
    steps = Steps("pass", estimator=SimpleNamespace(verbose=0), context=context)
    assert [step.end() for step in steps] == [True]


def test_stages_share_a_history_and_number_their_own_steps():
    stages = Steps("stage", 2)
    with stages.stage("grow", "trial") as steps:
        for _ in range(2):
            steps.begin().end(n_leaves=1)
    with stages.stage("refine", "pass", 5) as steps:
        steps.note(n_leaves=2)
        steps.begin().end(n_leaves=2)
    assert [(line["stage"], line["iteration"]) for line in stages.history] == [
        ("grow", 1), ("grow", 2), ("refine", 0), ("refine", 1),
    ]  # fmt: skip
    assert steps.history is stages.history


def test_a_fit_that_goes_on_goes_on_counting():
    history = [{"stage": "other", "iteration": 9}, {"stage": "fit", "iteration": 2}]
    steps = Steps("pass", 2, history=history)
    steps.begin().end()
    assert history[-1] == {"stage": "fit", "iteration": 3}


# ------------------------------------------------------------------ callbacks


def test_callbacks_hear_of_every_step_with_the_data():
    log, data = [], {"X": 1, "y": 2, "metadata": None}
    stages = Steps(
        "stage", 1, estimator=SimpleNamespace(verbose=0), context=Context(log), data=data,
        results=lambda: {"columns_": 1, "tree_": 0},
    )  # fmt: skip
    asked = []

    def snapshot():
        asked.append(True)
        return {"tree_": 2}

    with stages.stage("grow", "trial", 7) as steps:
        steps.begin().end(snapshot, n_leaves=3)
        steps.note(n_leaves=1)  # no step
    attributes = log[2][2]
    assert log == [
        ("begin", "grow", 7, data), ("begin", "trial", 0, data), ("end", "trial", attributes, data),
        ("end", "grow", None, data),
    ]  # fmt: skip
    assert not asked, "a snapshot is made only for callbacks that want it"
    assert attributes() == {"columns_": 1, "tree_": 2}


@pytest.mark.parametrize(("wants_stop", "in_stage"), [("trial", True), ("grow", False)])
def test_a_callback_can_ask_to_stop(wants_stop, in_stage):
    stages = Steps("stage", 1, estimator=SimpleNamespace(verbose=0), context=Context([], wants_stop=(wants_stop,)))
    with stages.stage("grow", "trial") as steps:
        assert steps.begin().end() is in_stage
        assert steps.is_stopped is in_stage
        assert not stages.is_stopped
    assert stages.is_stopped


def test_a_request_to_stop_is_not_forgotten():
    context = Context([], wants_stop=("pass",))
    steps = Steps("pass", estimator=SimpleNamespace(verbose=0), context=context)
    assert steps.begin().end()
    context.wants_stop = ()
    assert steps.begin().end()


# ------------------------------------------------------------------ printing


def test_nothing_is_printed_unless_asked(capsys):
    verbose_steps(0).begin().end(train_loss=1.0)
    Steps().begin().end(train_loss=1.0)
    assert capsys.readouterr().out == ""


def test_verbose_2_prints_every_step(capsys):
    steps = verbose_steps(2, n_steps=3)
    for number in range(2):
        steps.begin().end(train_loss=1.0 / 3.0, n_leaves=number + 2, kept=True)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("[SimpleNamespace] pass 1 of 3, train loss 0.33333, 2 leaves, kept True, 0.0 s")
    assert second.startswith("[SimpleNamespace] pass 2 of 3, train loss 0.33333, 3 leaves, kept True, ")
    verbose_steps(2, unit="trial").begin().end()
    assert capsys.readouterr().out.startswith("[SimpleNamespace] trial 1, 0.0 s")


def test_verbose_1_prints_about_once_a_second_and_at_the_end(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    steps = verbose_steps(1, n_steps=12)
    for _ in range(12):
        now[0] += 0.3
        steps.begin().end()
    numbers = [int(line.split()[2]) for line in capsys.readouterr().out.splitlines()]
    assert numbers == [4, 8, 12]
    steps = verbose_steps(1)  # without a known end
    steps.begin().end()
    assert capsys.readouterr().out == ""


def test_printed_numbers_of_a_fit_that_goes_on(capsys):
    verbose_steps(1, n_steps=1, history=[{"stage": "fit", "iteration": 4}]).begin().end()
    assert "pass 5 of 5" in capsys.readouterr().out


def test_stages_print_for_the_same_estimator(capsys):
    with verbose_steps(2).stage("refine", "pass", 4) as steps:
        steps.begin().end(validation_loss=2.5)
    assert capsys.readouterr().out.startswith("[SimpleNamespace] pass 1 of 4, validation loss 2.5, ")


# ------------------------------------------------------------------ threads


def test_steps_of_several_threads():
    log = []
    steps = Steps("tree", 200, estimator=SimpleNamespace(verbose=0), context=Context(log))
    barrier = threading.Barrier(8)

    def work(thread):
        barrier.wait()
        for _ in range(25):
            steps.begin().end(thread=thread)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line["iteration"] for line in steps.history] == list(range(1, 201))
    assert np.bincount([line["thread"] for line in steps.history]).tolist() == [25] * 8
    assert len(log) == 400


# ------------------------------------------------------------------ the best


def offered(best, losses):
    """Whether each was kept, and how long it took until there was nothing better for long."""
    kept = []
    for number, loss in enumerate(losses):
        kept.append(best.offer(loss, lambda number=number: number))
        if best.is_stalled:
            return kept, number
    return kept, None


def test_the_smallest_loss_is_kept_the_first_of_equals():
    best = Best(None)
    assert offered(best, [3.0, 2.0, 2.0, 2.5, 1.0, 1.5]) == ([True, True, False, False, True, False], None)
    assert (best.loss, best.state) == (1.0, 4)


def test_states_are_made_only_if_they_are_kept():
    best = Best(None)
    best.offer(1.0, lambda: "first")

    def expensive():
        raise AssertionError

    assert not best.offer(1.0, expensive)
    assert best.state == "first"


@pytest.mark.parametrize("patience", [1, 3])
def test_so_many_offers_without_a_better_one_are_too_long(patience):
    best = Best(patience)
    assert not best.is_stalled
    _, end = offered(best, [3.0, 2.0, 2.0, 2.1, 1.9, 5.0, 5.0, 5.0, 5.0])
    assert end == {1: 2, 3: 7}[patience]


def test_tol_is_a_fall_since_the_last_one_that_counted():
    best = Best(2, tol=0.5)
    kept, end = offered(best, [3.0, 2.8, 2.6])
    assert kept == [True, True, True]  # kept for being smaller, though they do not count as a fall
    assert end == 2
    assert (best.loss, best.state) == (2.6, 2)
    slow = Best(2, tol=0.5)
    assert offered(slow, [3.0, 2.7, 2.4, 2.1, 1.8]) == ([True] * 5, None)  # every second one is far enough down


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_losses_that_are_no_numbers(wrong):
    best = Best(2)
    assert offered(best, [1.0, wrong]) == ([True, False], None)
    assert not best.is_stalled
    best.offer(wrong, lambda: "wrong")
    assert best.is_stalled
    assert (best.loss, best.state) == (1.0, 0)
    first = Best(3)
    first.offer(wrong, lambda: "wrong")
    assert first.state == "wrong"  # there is always a state
    assert first.loss == math.inf
    assert not first.offer(wrong, lambda: "again")
    assert first.offer(5.0, lambda: "better")
    assert (first.loss, first.state) == (5.0, "better")
    assert not first.is_stalled


def test_waiting_anew():
    best = Best(2)
    offered(best, [1.0, 2.0, 2.0])
    assert best.is_stalled
    best.reset_count()
    assert not best.is_stalled
    assert offered(best, [2.0, 2.0]) == ([False, False], 1)
    assert best.loss == 1.0


def test_without_a_limit_it_never_stalls():
    assert offered(Best(None), [1.0] + [2.0] * 500)[1] is None
