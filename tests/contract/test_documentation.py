"""Docstrings of estimators: all parameters, as in the signature, and all fitted attributes."""

import inspect

import numpy as np
import pytest

import softwood
from softwood import stream
from softwood.core.estimators import LAST
from softwood.stream import HoeffdingTreeClassifier, ModelPool
from tests.contract.specs import SPECS, every
from tests.docstrings import entries, faults_of_signature, sections

# Attributes that only some settings leave, each with such a setting; the documentation must say so.
CONDITIONAL = {
    "bandwidth_": {"bandwidth": "auto"},
    "forest_": {"trend": "linear", "max_leaf_nodes": 4},
    "size_path_": {"max_leaf_nodes": "auto"},
    "search_": {"max_iter": "auto"},
    "chosen_": {"architecture": "pruned"},
    "oob_score_": {"oob_score": True, "bootstrap": True, "n_estimators": 40},
    "oob_decision_function_": {"oob_score": True, "bootstrap": True, "n_estimators": 40},
    "oob_prediction_": {"oob_score": True, "bootstrap": True, "n_estimators": 40},
}


def documented(owner, section):
    return entries(sections(owner.__doc__).get(section, ""))


def public_attributes(model):
    """Names of fitted attributes that users may read: those that end in an underscore."""
    return {name for name in dir(model) if name.endswith("_") and not name.startswith("_") and hasattr(model, name)}


def with_frames(X):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=list("abcd"))


@every
def test_parameters(spec):
    assert faults_of_signature(spec.model_class, documented(spec.model_class, "Parameters")) == []


@every
def test_common_parameters_come_last_and_others_by_keyword(spec):
    parameters = inspect.signature(spec.model_class).parameters
    common = [name for name in LAST if name in parameters]
    assert list(parameters)[-len(common) :] == common
    positional = [name for name, parameter in parameters.items() if parameter.kind is not parameter.KEYWORD_ONLY]
    # as in scikit-learn: forests take their number of trees by position, and trees nothing
    assert positional == (["n_estimators"] if "n_estimators" in parameters else [])


@pytest.mark.parametrize(
    ("model_class", "leading"),
    [
        (softwood.KernelTreeRegressor, ["bandwidth", "max_leaf_nodes"]),
        (softwood.KernelForestClassifier, ["n_estimators", "bandwidth"]),
        (softwood.KernelExtraTreesRegressor, ["n_estimators", "bandwidth"]),
        (softwood.KernelBoostingRegressor, ["max_iter", "learning_rate", "bandwidth"]),
        (softwood.SoftTreeClassifier, ["max_depth", "max_leaf_nodes"]),
        (softwood.OneStageTreeClassifier, ["max_depth", "architecture"]),
        (softwood.OneStageForestClassifier, ["n_estimators", "max_depth"]),
        (stream.HoeffdingTreeRegressor, ["grace_period", "max_depth"]),
        (stream.SoftHoeffdingTreeClassifier, ["max_depth", "learning_rate"]),
        (stream.StreamForestRegressor, ["n_estimators", "soft_share"]),
    ],
)
def test_signatures_open_with_the_parameters_that_matter(model_class, leading):
    assert list(inspect.signature(model_class).parameters)[: len(leading)] == leading


@every
def test_attributes(spec):
    listed = documented(spec.model_class, "Attributes")
    assert all(len(entry.names) == 1 and entry.type and entry.text.endswith(".") for entry in listed)
    names = [entry.names[0] for entry in listed]
    assert len(names) == len(set(names))
    X, y = spec.table()
    model = spec.make().fit(with_frames(X), y)
    found = public_attributes(model)
    assert found <= set(names)
    texts = {entry.names[0]: entry.text for entry in listed}
    for name in sorted(set(names) - found):
        assert "Only if" in texts[name], name
        model = spec.make(**CONDITIONAL.get(name, {})).fit(X, y)
        assert name in public_attributes(model.calibrate(X, y) if name == "calibration_" else model), name


@every
def test_text_says_what_it_is_without_other_classes(spec):
    text = sections(spec.model_class.__doc__)[""]
    summary, _, _ = text.partition("\n\n")
    assert len(summary.splitlines()) == 1
    assert summary.endswith(".")
    everything = spec.model_class.__doc__
    assert "As in `" not in everything
    assert "Parameters are those" not in everything


def test_private_bases_do_not_lend_their_examples():
    with_examples = [spec for spec in SPECS if "Examples" in sections(spec.model_class.__doc__)]
    for spec in with_examples:
        assert spec.name in sections(spec.model_class.__doc__)["Examples"]


def test_pool():
    assert faults_of_signature(ModelPool, documented(ModelPool, "Parameters")) == []
    X, y = np.random.default_rng(0).normal(size=(300, 4)), np.arange(300) % 2
    pool = ModelPool([HoeffdingTreeClassifier()]).fit(with_frames(X), y)
    assert public_attributes(pool) == {entry.names[0] for entry in documented(ModelPool, "Attributes")}
