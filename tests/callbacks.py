"""Callbacks of scikit-learn's that remember the steps of a fit, and can end it."""

import pytest


def require_callbacks():
    """The module of scikit-learn's callbacks; skips the test, or the whole file, under versions that have none."""
    return pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from version 1.9 on")


class Recorder:
    """Remember the steps as (stage, unit, number).

    After `stop_after` steps of `stage`, or of any stage, it asks to stop; or it calls `then` instead.
    """

    def __init__(self, stop_after=None, *, stage=None, then=None):
        self.stop_after, self.stage, self.then = stop_after, stage, then
        self.steps, self.stages = [], []
        self.n_begun = self.n_ended = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.n_begun += 1

    def on_fit_task_end(self, estimator, context):
        self.n_ended += 1
        if context.parent is None:
            return False
        if context.max_subtasks != 0:
            self.stages.append(context.task_name)
            return False
        self.steps.append((context.parent.task_name, context.task_name, context.task_id))
        n = sum(self.stage in (None, stage) for stage, _, _ in self.steps)
        return n == self.stop_after and (self.then is None or bool(self.then()))


class Snapshots(Recorder):
    """Remember also the estimator as it would be if the fit ended with each step."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.models = []

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.max_subtasks == 0:
            self.models.append(fitted_estimator)
        return super().on_fit_task_end(estimator, context)


def interrupt():
    """As the user does."""
    raise KeyboardInterrupt
