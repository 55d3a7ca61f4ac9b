"""scikit-learn's callbacks, for all estimators that are fitted to a whole table."""

import pickle
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.callbacks import require_callbacks
from tests.contract.specs import BATCH, every_batch, over
from tests.models import answer

callback = require_callbacks()


def is_root(context):
    """Whether this is the task of the whole fit; above it may be those of a search."""
    return context.parent is None or context.parent.estimator_name != context.estimator_name


class Recorder:
    """Notes what it is told; `stop` and `fail` are called at the end of each task that is not the root's."""

    def __init__(self, stop=lambda n: False, fail=lambda n: False):
        self.events, self.ended, self.n_steps, self.stop, self.fail = [], [], 0, stop, fail

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.events.append(("begin", id(context)))
        assert is_root(context) or ("begin", id(context.parent)) in self.events

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.events.append(("end", id(context)))
        self.ended.append((context, X, y, metadata, fitted_estimator))
        assert is_root(context) or ("end", id(context.parent)) not in self.events
        if not is_root(context) and context.max_subtasks == 0:
            self.n_steps += 1
            if self.fail(self.n_steps):
                raise ArithmeticError("the callback says no")
            return self.stop(self.n_steps)
        return None


def record(spec, *parts, **parameters):
    recorder = Recorder()
    return recorder, spec.make(**parameters).set_callbacks(recorder).fit(*parts)


@pytest.mark.parametrize(
    ("spec", "n_jobs"),
    [
        pytest.param(spec, n_jobs, id=f"{spec.name}-{n_jobs}")
        for spec in BATCH
        for n_jobs in ((None, 2) if "n_jobs" in spec.parameters else (None,))
    ],
)
def test_callbacks_are_told_of_each_task(spec, n_jobs):
    X, y = spec.table()
    weights = np.full(len(X), 2.0)
    assert isinstance(Recorder(), callback.FitCallback)
    recorder, model = record(spec, X, y, weights, **{"n_jobs": n_jobs} if n_jobs else {})
    events = recorder.events
    assert (events[0], events[-1]) == ("setup", "teardown")
    times = Counter(events)
    assert set(times.values()) == {1}, "each begins once and ends once"
    assert {e[1] for e in events if e[0] == "begin"} == {e[1] for e in events if e[0] == "end"}
    assert recorder.n_steps > 0
    for context, *given in recorder.ended:
        assert given[0] is X
        assert given[1] is y
        assert given[2]["sample_weight"] is weights
        assert context.estimator_name == spec.name
        children = list(context._children_map) if hasattr(context, "_children_map") else []
        assert context.max_subtasks is None or len(children) <= context.max_subtasks
    root, *_, fitted = recorder.ended[-1]
    assert root.parent is None
    assert np.array_equal(answer(fitted, X), answer(model, X))
    plain = spec.make().fit(X, y, weights)
    assert np.array_equal(answer(plain, X), answer(model, X)), "looking changes nothing"


@every_batch
def test_models_on_the_way_can_be_asked(spec):
    X, y = spec.table()
    recorder, model = record(spec, X, y)
    on_the_way = [given[-1] for given in recorder.ended if given[-1] is not None]
    assert len(on_the_way) > (1 if len(getattr(model, "history_", [])) > 1 else 0)
    for each in on_the_way:
        assert type(each) is spec.model_class
        assert np.isfinite(answer(each, X)).all()
        assert each.get_n_leaves() >= 1
        assert each.get_params() == model.get_params()


@every_batch
def test_scores_are_monitored(spec):
    X, y = spec.table()
    monitor = callback.ScoringMonitor(scoring="accuracy" if spec.is_classifier else "r2")
    model = spec.make().set_callbacks(monitor).fit(X, y)
    scores = [line["accuracy" if spec.is_classifier else "r2"] for line in monitor.get_logs().data]
    assert np.isfinite(scores).all()
    assert max(scores) >= model.score(X, y) - 1e-12
    assert any(score == pytest.approx(model.score(X, y)) for score in scores)


@every_batch
def test_a_callback_may_stop_the_fit(spec):
    X, y = spec.table()
    whole, _ = record(spec, X, y)
    recorder = Recorder(stop=lambda n: n >= 2)
    model = spec.make().set_callbacks(recorder).fit(X, y)
    assert recorder.n_steps <= max(whole.n_steps, 2)
    assert recorder.events[-1] == "teardown"
    assert np.isfinite(answer(model, X)).all()
    assert model.get_n_leaves() >= 1
    assert np.array_equal(answer(pickle.loads(pickle.dumps(model.set_callbacks())), X), answer(model, X))
    assert recorder.n_steps < whole.n_steps or whole.n_steps < 3


@every_batch
def test_a_callback_that_fails_leaves_the_estimator_as_it_was(spec):
    X, y = spec.table()
    model = spec.make().fit(X, y)
    before, expected = dict(vars(model)), answer(model, X)
    recorder = Recorder(fail=lambda n: n == 1)
    for each in (model, spec.make()):
        each.set_callbacks(recorder)
        recorder.n_steps = 0
        with pytest.raises(ArithmeticError, match="the callback says no"):
            each.fit(X + 1.0, y)
        each.set_callbacks()
        assert recorder.events[-1] == "teardown"
        assert vars(each) == (before if each is model else vars(spec.make()))
    assert np.array_equal(answer(model, X), expected)
    again = spec.make().fit(X, y)
    assert np.array_equal(answer(again, X), expected)


@every_batch
def test_copies_have_the_callbacks(spec):
    X, y = spec.table()
    recorder = Recorder()
    clone(spec.make().set_callbacks(recorder)).fit(X, y)
    assert recorder.events[-1] == "teardown"
    fitted = spec.make().set_callbacks(recorder).fit(X, y)
    n_events = len(recorder.events)
    clone(fitted.set_callbacks()).fit(X, y)
    assert len(recorder.events) == n_events


@every_batch
def test_progress_bars(spec, capsys):
    X, y = spec.table()
    model = spec.make().set_callbacks(callback.ProgressBar()).fit(X, y)
    assert spec.name in capsys.readouterr().out
    assert np.array_equal(answer(model, X), answer(spec.fitted(), X))


@over([spec for spec in BATCH if spec.is_classifier])
def test_progress_bars_of_searches_and_pipelines(spec, capsys):
    X, y = spec.table()
    pipeline = make_pipeline(StandardScaler(), spec.make())
    search = GridSearchCV(pipeline, {f"{spec.name.lower()}__max_depth": [1, 2]}, cv=2, error_score="raise")
    search.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(X, y)
    assert "GridSearchCV" in capsys.readouterr().out
    recorder = Recorder()
    alone = GridSearchCV(spec.make().set_callbacks(recorder), {"max_depth": [1, 2]}, cv=2, error_score="raise")
    alone.fit(X, y)
    assert recorder.events.count("setup") == recorder.events.count("teardown") == 5
