"""Explanations name the output that their numbers belong to."""

import re
from functools import cache

import numpy as np
import pytest

import softwood
from softwood.explanations import shapley_values
from tests.contract.specs import BY_NAME, CLASSES, every, every_classifier
from tests.models import answer, trees_of

# Probability that a class must gain or lose between two rows, to be sure of the sign.
CLEAR = 0.1


@cache
def of_one_column(name, n_classes):
    """A model of one column, whose Shapley value is all that the prediction differs by from the base value."""
    spec = BY_NAME[name]
    X = np.random.default_rng(0).normal(size=(spec.n_rows, 1))
    return spec.make().fit(X, spec.targets(X[:, 0], n_classes))


@cache
def of_four_columns(name, n_classes):
    spec = BY_NAME[name]
    return spec.make().fit(*spec.table(n_classes=n_classes))


@every_classifier
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_predicted_class_is_named_first(spec, n_classes):
    model = of_four_columns(spec.name, n_classes)
    for row in spec.table(n=4, seed=1)[0]:
        found = softwood.explain(model, row)
        label = str(model.predict(row[None])[0])
        assert str(found).startswith(f"{spec.name} predicts {label} with probability ")
        assert f"predicts {label} with probability " in found._repr_html_()
        assert found.outputs[found.output] == label
        assert found.prediction == pytest.approx(model.predict_proba(row[None])[0])
        # and the sentence about Shapley values is about this class
        assert named_class(found) == label


@every_classifier
@pytest.mark.parametrize("n_classes", [2, 3])
def test_values_have_the_sign_of_the_class_that_is_named(spec, n_classes):
    """A column that moves a class up has a larger Shapley value in this class; so has each text."""
    model = of_one_column(spec.name, n_classes)
    low, high = np.array([-1.5]), np.array([1.5])
    change = np.diff(model.predict_proba([low, high]), axis=0)[0]
    assert np.abs(change).max() > CLEAR
    seen = 0
    for k in np.flatnonzero(np.abs(change) > CLEAR):
        one, other = (softwood.explain(model, row, output=int(k)) for row in (low, high))
        assert named_class(one) == named_class(other) == CLASSES[k]
        moved = other.contributions[0] - one.contributions[0]
        assert np.sign(moved) == np.sign(change[k])
        shown = [float(re.search(r"^x\[0\] +\S+ +(\S+)", str(e), re.MULTILINE).group(1)) for e in (one, other)]
        assert np.sign(shown[1] - shown[0]) == np.sign(change[k])
        seen += 1
    assert seen >= 2  # what one class gains, another loses


@every_classifier
@pytest.mark.parametrize("n_classes", [2, 3])
def test_outputs_of_shapley_values_are_named(spec, n_classes):
    model = of_one_column(spec.name, n_classes)
    rows = np.array([[-1.5], [1.5]])
    change = np.diff(model.predict_proba(rows), axis=0)[0]
    found = shapley_values(model, rows, random_state=0)
    for k, name in enumerate(found.outputs):
        gain = change[CLASSES.tolist().index(name)]
        if abs(gain) > CLEAR:
            assert np.sign(found.values[1, 0, k] - found.values[0, 0, k]) == np.sign(gain)
        assert name in found.label(k)


@every_classifier
@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradients_have_the_sign_of_the_class_that_is_named(spec, n_classes):
    model, step = of_four_columns(spec.name, n_classes), 1e-4
    for row in spec.table(n=3, seed=1)[0]:
        for k in range(n_classes):
            slopes = softwood.explain(model, row, output=k).slopes
            j = int(np.abs(slopes).argmax())
            move = step * np.eye(4)[j]
            gain = model.predict_proba((row + move)[None])[0, k] - model.predict_proba((row - move)[None])[0, k]
            if n_classes == 2 and abs(gain) > 1e-6:
                assert np.sign(slopes[j]) == np.sign(gain)


@every
def test_shapley_values_add_up_to_what_is_explained(spec):
    """Base value and values add up to probabilities or targets, or to the raw scores that the link is applied to."""
    whole = {"cutoff": 0.0} if "cutoff" in spec.parameters else {}
    model, rows = spec.make(**whole).fit(*spec.table()), spec.table(n=4, seed=1)[0]
    found = shapley_values(model, rows, random_state=0)
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, found.prediction, rtol=1e-9, atol=1e-9)
    assert bool(found.scale) == (found.quantity == "raw score")
    expected = answer(model, rows).reshape(len(rows), -1)
    if found.scale == "log odds":
        total = np.column_stack([-total, total]) / 2  # of which the softmax is the logistic function
    if found.scale in ("log odds", "before the softmax"):
        powers = np.exp(total - total.max(axis=1, keepdims=True))
        total = powers / powers.sum(axis=1, keepdims=True)
    elif found.scale:
        total = np.exp(total)
    np.testing.assert_allclose(total, expected, rtol=1e-9, atol=1e-9)


@every
def test_what_is_explained_is_said(spec):
    """A reader can see whether Shapley values are parts of the prediction, or of scores."""
    model, row = spec.fitted(), spec.table(n=1, seed=1)[0][0]
    found = softwood.explain(model, row)
    values = found.shapley
    prediction = "probability" if spec.is_classifier else "prediction"
    for text in (str(found), found._repr_html_()):
        sentence = re.search(r"Shapley values add up .*? to the ([a-z ]+?)(?: of \w+)?(?: \(([\w ]+)\))?, ", text)
        assert sentence.group(1) == values.quantity
        assert (sentence.group(2) or "") == values.scale
        assert ("raw score" in text) == (values.quantity == "raw score")
    assert values.quantity in ("raw score", prediction)
    assert values.quantity in repr(values)
    assert values.scale in repr(values)


@every
def test_trees_of_ensembles_can_be_shown(spec):
    model, trees = spec.fitted(), trees_of(spec.fitted())
    if not hasattr(model, "forest_"):
        assert softwood.export_text(model) == softwood.export_text(model, tree=0)
        return
    with pytest.raises(TypeError, match=rf"has {len(trees)}\. .*tree=0.*softwood\.report.*softwood\.explain"):
        softwood.export_text(model)
    text = softwood.export_text(model, tree=len(trees) - 1)
    assert len(text.splitlines()) == trees[-1].n_nodes
    if spec.is_classifier:
        assert all(any(name in line for name in model.classes_) for line in text.splitlines())


def named_class(found):
    """The class that the sentence about Shapley values is about."""
    return re.search(r"Shapley values add up .*? to the (?:raw score|probability) of (\w+)", str(found)).group(1)
