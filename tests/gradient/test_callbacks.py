"""Steps of gradient-trained trees as scikit-learn's callbacks, in ``history_`` and in ``n_iter_``."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import is_classifier

import softwood
from tests.callbacks import Recorder, Snapshots, interrupt, require_callbacks
from tests.models import assert_same_model, problem

QUICK = {
    "BuddingTree": {"max_depth": 3, "max_iter": 6},
    "EndToEndTree": {"max_depth": 2, "level_max_iter": 2, "max_iter": 5, "learning_rate": 0.1},
    "LinearDiscriminantTree": {},
    "OneStageForest": {"n_estimators": 4, "max_depth": 2, "tree_parameters": {"max_iter": 3}},
    "OneStageTree": {"max_depth": 3, "max_iter": 6},
    # along sampled paths
    "SampledForest": {
        "n_estimators": 4,
        "max_depth": 2,
        "tree_parameters": {"max_iter": 3, "architecture": "proximal"},
    },
    "SampledTree": {"max_depth": 3, "max_iter": 6, "architecture": "proximal"},
    "SoftTree": {"max_leaf_nodes": 4, "max_iter": 5, "refine_max_iter": 5},
}
KINDS = ("Classifier", "Regressor")
STAGES = {
    "BuddingTree": ["early_stopping", "fit"],
    "EndToEndTree": ["levels", "anneal"], "OneStageForest": ["choice", "fit"], "OneStageTree": ["choice", "fit"],
    "SampledForest": ["fit"], "SoftTree": ["grow", "refine"],
}  # fmt: skip
UNITS = {
    "grow": "trial",
    "refine": "pass",
    "levels": "level",
    "anneal": "pass",
    "choice": "training",
    "early_stopping": "pass",
}
NAMES = [name for name in softwood.__all__ if name.endswith(KINDS) and name.startswith(tuple(QUICK))]
NAMES += [name.replace("OneStage", "Sampled") for name in NAMES if name.startswith("OneStage")]
FORESTS = [name for name in NAMES if "Forest" in name]
CHOSEN = [name for name in NAMES if name.startswith("OneStage")]


def family(name):
    return name.removesuffix("Classifier").removesuffix("Regressor")


every = pytest.mark.parametrize("name", NAMES)
in_stages = pytest.mark.parametrize("name", [name for name in NAMES if family(name) in STAGES and name not in FORESTS])


def class_of(name):
    return getattr(softwood, name.replace("Sampled", "OneStage"))


def quick(name, *callbacks, **parameters):
    model = class_of(name)(**{**QUICK[family(name)], "random_state": 0, **parameters})
    if callbacks:
        require_callbacks()
        model.set_callbacks(*callbacks)
    return model


def table(name):
    return problem(class_of(name), n=120)


def steps_of(model):
    """The lines of the history that are steps of the training, not states before them, nor of a choice before it."""
    return [line for line in model.history_ if line["iteration"] > 0 and line["stage"] != "choice"]


def stopping(name, n):
    """A callback that stops the training with this step; a stop in the choice before it would end that alone."""
    return Recorder(n, stage="fit") if name in CHOSEN else Recorder(n)


@every
def test_a_callback_sees_every_step(name):
    seen = Recorder()
    model = quick(name, seen).fit(*table(name))
    lines = [line for line in model.history_ if line["iteration"] > 0]
    assert [stage for stage, _, _ in seen.steps] == [line["stage"] for line in lines]
    assert [number + 1 for _, _, number in seen.steps] == [line["iteration"] for line in lines]
    assert len(seen.steps) > 2
    assert seen.n_begun == seen.n_ended == 1 + len(seen.stages) + len(seen.steps)
    assert seen.stages == STAGES.get(family(name), [])
    units = {"OneStageForest": "tree", "SampledForest": "tree", "LinearDiscriminantTree": "node"}
    assert {unit for stage, unit, _ in seen.steps if stage == "fit"} <= {units.get(family(name), "pass")}
    assert all(unit == UNITS[stage] for stage, unit, _ in seen.steps if stage != "fit")


@every
def test_a_snapshot_is_what_the_fit_would_leave_if_it_ended_there(name):
    X, y = table(name)
    seen = Snapshots()
    whole = quick(name, seen).fit(X, y)
    models = [model for model in seen.models if model is not None]  # in the choice there is none
    assert len(models) == len(steps_of(whole))
    assert_same_model(models[-1], whole)
    assert models[-1].history_ == whole.history_
    for n in (1, 2, len(models) - 1):
        stopped = quick(name, stopping(name, n)).fit(X, y)
        assert_same_model(stopped, models[n - 1])
        assert stopped.history_ == models[n - 1].history_


@every
def test_a_callback_can_stop_the_training(name):
    X, y = table(name)
    whole = quick(name).fit(X, y)
    seen = stopping(name, 2)
    model = quick(name, seen).fit(X, y)
    assert len([stage for stage, _, _ in seen.steps if stage != "choice"]) == len(steps_of(model)) == 2
    assert model.history_ == whole.history_[: len(model.history_)]
    assert seen.n_begun == seen.n_ended
    assert np.isfinite(model.predict_proba(X) if is_classifier(model) else model.predict(X)).all()
    assert_same_model(model.set_callbacks().fit(X, y), whole)  # and it can be fitted again


@in_stages
def test_a_stop_in_the_second_stage(name):
    X, y = table(name)
    first, second = STAGES[family(name)]
    seen = Recorder(2, stage=second)
    model = quick(name, seen).fit(X, y)
    assert seen.stages == [first, second]
    assert [line["iteration"] for line in model.history_ if line["stage"] == second] == [0, 1, 2]


@pytest.mark.parametrize("name", CHOSEN)
def test_a_stop_in_the_choice_ends_the_choice(name):
    X, y = table(name)
    seen = Recorder(9, stage="choice")
    model = quick(name, seen).fit(X, y)
    assert [line["stage"] for line in model.history_].count("choice") == 9
    assert len(steps_of(model)) == 1  # the training then begins, and this callback asks again
    assert np.isfinite(model.predict_proba(X) if is_classifier(model) else model.predict(X)).all()


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize(("n_jobs", "backend"), [(2, "threading"), (2, "loky")])
def test_workers_and_a_stop(name, n_jobs, backend):
    X, y = table(name)
    with parallel_config(backend=backend):
        whole = quick(name, Snapshots(), n_jobs=n_jobs).fit(X, y)
        stopped = quick(name, stopping(name, 2), n_jobs=n_jobs).fit(X, y)
    assert_same_model(whole, quick(name).fit(X, y))
    assert whole.history_ == quick(name).fit(X, y).history_
    assert len(stopped.forest_) == 2
    assert_same_model(stopped, quick(name, n_estimators=2).fit(X, y))


@every
def test_history_has_one_schema(name):
    X, y = table(name)
    model = quick(name).fit(X, y)
    lines = pd.DataFrame([line for line in model.history_ if line["stage"] != "choice"])
    assert list(lines)[:2] == ["stage", "iteration"]
    assert {"n_leaves"} <= set(lines)
    assert lines["n_leaves"].notna().all()
    if family(name) == "OneStageTree":
        assert lines["train_loss"].notna().all()  # all rows are trained on
        choice = [line for line in model.history_ if line["stage"] == "choice"]
        assert all(list(line) == ["stage", "iteration", "validation_loss", "recipe"] for line in choice)
    elif family(name) != "LinearDiscriminantTree":
        on_all_rows = (lines["stage"] == "fit") & (family(name) == "BuddingTree")
        assert (lines["validation_loss"].isna() == on_all_rows).all()
        assert "train_loss" in lines
    assert not {"epoch", "training_loss", "n_splits", "step"} & set(lines)
    stages = list(dict.fromkeys(line["stage"] for line in model.history_))
    assert stages == STAGES.get(family(name), ["fit"])
    for _, part in lines.groupby("stage"):
        assert part["iteration"].diff().dropna().eq(1).all()
        assert part["iteration"].iloc[0] in (0, 1)
    if hasattr(model, "tree_"):
        assert model.n_iter_ == len(steps_of(model))


def test_an_interrupted_discriminant_tree_keeps_its_splits():
    name = "LinearDiscriminantTreeClassifier"
    X, y = table(name)
    model = quick(name, Recorder(3, then=interrupt), prune=False)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert_same_model(model, quick(name, Recorder(3), prune=False).fit(X, y))
    assert model.get_n_leaves() == model.history_[-1]["n_leaves"] > 1
