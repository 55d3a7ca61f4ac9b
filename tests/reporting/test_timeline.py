"""The time line of stream models."""

import numpy as np
import pytest

from softwood import stream
from softwood.fitted import FittedModel
from softwood.reporting import timeline as module
from softwood.reporting.timeline import timeline
from softwood.stream import river
from tests.export.models import fitted, labels, numbers


@pytest.mark.parametrize("name", ["soft Hoeffding tree", "Hoeffding tree", "pool"])
def test_events_are_those_of_the_log(name):
    model = fitted()[name]
    log = FittedModel.of(model).growth.log
    own = getattr(model, "best_model_", model)
    found = timeline(log, own.columns_.names, None)
    assert found["nEvents"] == len(own.log_) == len(found["events"])
    for event, told in zip(own.log_, found["events"], strict=True):
        assert (told["rows"], told["kind"], told["node"]) == (event.n_samples, event.kind, event.node)
        assert told["column"] == own.columns_.names[event.feature]


def test_models_for_river_have_a_log():
    model = river.HoeffdingTreeClassifier(grace_period=20)
    for x, label in zip(numbers(300), labels(numbers(300)), strict=True):
        model.learn_one({str(j): value for j, value in enumerate(x)}, label)
    assert FittedModel.of(model).growth.log == model.log


def test_a_long_log_is_cut(monkeypatch):
    monkeypatch.setattr(module, "MOST_EVENTS", 2)
    X, y = stream.Agrawal(seed=0).take(5000)
    model = stream.HoeffdingTreeClassifier(grace_period=100, tau=0.1).fit(X, y)
    assert len(model.log_) > 2
    found = timeline(model.log_, model.columns_.names, None)
    assert found["nEvents"] == len(model.log_)
    assert [event["rows"] for event in found["events"]] == [event.n_samples for event in model.log_[-2:]]


def test_values_that_are_not_defined_are_left_out():
    X = numbers(400)
    result = stream.prequential(stream.HoeffdingTreeClassifier(), (X, np.full(400, "ant")), window=100)
    for curve in timeline([], [], result)["curves"]:
        assert len(curve["values"]) == len(curve["rows"]) == 4
        assert all(value is None or np.isfinite(value) for value in curve["values"])
