import numpy as np
import pandas as pd
import pytest
import xgboost

import softwood
from softwood import Kernel, stream
from softwood.export import from_json, to_json
from softwood.fitted import FittedModel
from softwood.stream import river
from tests.export.models import (
    answers,
    fitted,
    fitted_to_frames,
    labels,
    mixed_tree,
    numbers,
    stream_forests,
    targets,
    trying_rows,
    trying_table,
)
from tests.export.test_c_source import Compiled
from tests.export.test_python_source import module_of


@pytest.mark.parametrize("name", fitted())
def test_predictions_are_those_of_the_model(name):
    model = fitted()[name]
    X = trying_rows(model)
    known = FittedModel.of(model)
    for form in (known, known.portable()):
        np.testing.assert_allclose(form.predict(X), answers(model, X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", stream_forests())
def test_forests_on_streams(name, tmp_path):
    """Exact without missing values; the trees put slightly different means in place of a missing value."""
    model = stream_forests()[name]
    known, compiled = FittedModel.of(model).portable(), Compiled(model, tmp_path)
    whole, gaps = (trying_rows(model, 300, with_missing=with_missing) for with_missing in (False, True))
    predict = module_of(model)["predict"]
    for export in (known.predict, from_json(to_json(model)).predict, compiled.predict):
        np.testing.assert_allclose(export(whole), answers(model, whole), rtol=0, atol=1e-12)
        np.testing.assert_allclose(export(gaps), [predict(row) for row in gaps.tolist()], rtol=0, atol=1e-12)
    assert np.abs(known.predict(gaps) - answers(model, gaps)).max() < 0.05


def test_softened_models_with_a_number_for_missing_values_are_refused():
    X = np.nan_to_num(numbers(), nan=-9.0)
    model = xgboost.XGBRegressor(n_estimators=2, missing=-9.0, n_jobs=1).fit(X, targets(X))
    soft = softwood.soften(model, X, bandwidth=0.1)
    known = FittedModel.of(soft)
    np.testing.assert_array_equal(known.predict(X)[:, 0], soft.predict(X))
    with pytest.raises(ValueError, match="counts -9 as a missing value"):
        known.portable()
    again = softwood.soften(model.get_booster(), X, bandwidth=0.1)
    assert FittedModel.of(again).n_outputs == 1


@pytest.mark.parametrize("name", fitted_to_frames())
def test_tables_are_encoded_as_by_the_model(name):
    model = fitted_to_frames()[name]
    table = trying_table(model)
    known = FittedModel.of(model)
    for form in (known, known.portable()):
        predictions = form.predict(table[list(known.columns.inputs)])
        np.testing.assert_allclose(predictions, answers(model, table), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["kernel tree, box", "boosting, two classes", "soft Hoeffding tree"])
def test_labels(name):
    model = fitted()[name]
    X = trying_rows(model, 200)
    assert FittedModel.of(model).labels(X).tolist() == model.predict(X).tolist()


def test_labels_of_targets_are_refused():
    with pytest.raises(ValueError, match="has no classes"):
        FittedModel.of(mixed_tree()).labels(np.zeros((1, 4)))


@pytest.mark.parametrize(
    "settings",
    [
        {"measurement_error": {0: lambda x: 0.1 * np.abs(x)}},
        {"kernel": Kernel([-1.0, 1.0], [1.0], scale=np.abs)},
    ],
)
def test_kernels_that_depend_on_the_row_are_refused(settings):
    X = numbers()
    model = softwood.KernelTreeRegressor(bandwidth=0.2, max_depth=3, **settings).fit(X, targets(X))
    known = FittedModel.of(model)
    np.testing.assert_array_equal(known.predict(X)[:, 0], model.predict(X))
    with pytest.raises(ValueError, match="Functions cannot be exported"):
        known.portable()
    assert FittedModel.of(model.tree_).trees is model.tree_


def test_measurement_errors_that_are_numbers_are_in_the_widths():
    X = numbers()
    model = softwood.KernelTreeRegressor(bandwidth=0.2, max_depth=3, measurement_error={0: 0.5}).fit(X, targets(X))
    np.testing.assert_array_equal(FittedModel.of(model).predict(X)[:, 0], model.predict(X))


@pytest.mark.parametrize("model_class", [stream.HoeffdingTreeClassifier, stream.HoeffdingTreeRegressor])
def test_models_in_leaves_are_refused(model_class):
    X = numbers()
    y = labels(X) if model_class is stream.HoeffdingTreeClassifier else targets(X)
    model = model_class().fit(X, y)
    known = FittedModel.of(model)
    np.testing.assert_array_equal(known.predict(X), answers(model, X))
    with pytest.raises(ValueError, match="leaf_prediction"):
        known.portable()


def test_several_quantiles_are_sorted():
    X = numbers()
    model = softwood.KernelBoostingRegressor(
        loss="quantile", quantile=[0.4, 0.5, 0.6], bandwidth=0.2, max_iter=5, random_state=0
    ).fit(X, targets(X))
    known = FittedModel.of(model)
    np.testing.assert_array_equal(known.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="predicts several quantiles"):
        known.portable()


def test_a_feature_of_both_kinds_is_refused():
    model = river.HoeffdingTreeRegressor(leaf_prediction="mean")
    model.learn_one({"a": 1.0}, 1.0)
    model.learn_one({"a": "text"}, 2.0)
    with pytest.raises(ValueError, match="Feature 'a'"):
        FittedModel.of(model)


def test_labels_without_a_plain_type_are_refused():
    with pytest.raises(TypeError, match="A class of SoftTree is"):
        FittedModel("SoftTree", mixed_tree(), FittedModel.of(mixed_tree()).columns, classes=(1, 2, (3,))).portable()


@pytest.mark.parametrize("model", [None, "tree", softwood.KernelTreeClassifier])
def test_other_things_are_refused(model):
    with pytest.raises(TypeError, match="takes a fitted estimator"):
        FittedModel.of(model, "to_json")


@pytest.mark.parametrize("name", fitted())
def test_gradients_are_those_of_the_model(name):
    """Those of the trees alone too, where no value is missing."""
    model = fitted()[name]
    X = trying_rows(model, 50, with_missing=False)
    known = FittedModel.of(model)
    np.testing.assert_allclose(known.portable().input_gradient(X), known.input_gradient(X), rtol=1e-9, atol=1e-9)


def test_names_of_an_estimator_and_of_a_bare_tree():
    X = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "city": ["Rome", "Oslo", "Bonn", "Oslo"]})
    model = softwood.SoftTreeClassifier(random_state=0).fit(X, [True, False, True, True])
    known = FittedModel.of(model)
    assert (known.kind, known.columns.inputs, known.outputs.names) == (
        "SoftTreeClassifier",
        ("age", "city"),
        ("False", "True"),
    )
    assert known.columns.source.tolist() == [0, 1, 1, 1]
    bare = FittedModel.of(model.tree_)
    assert (bare.kind, bare.columns.names[-1], bare.outputs.names) == ("SoftTree", "x[3]", ("0", "1"))
    assert (known.is_bare, bare.is_bare) == (False, True)
    assert bare.memberships(model._matrix(X), bare.tree()).toarray() == pytest.approx(model.memberships(X).toarray())


def test_an_ensemble_has_no_single_tree():
    X = numbers()
    forest = softwood.KernelForestRegressor(3, bandwidth=0.2, random_state=0).fit(X, targets(X))
    with pytest.raises(TypeError, match=r"this_one takes one tree, and this KernelForestRegressor has 3"):
        FittedModel.of(forest).single_tree("this_one")
    with pytest.raises(TypeError, match=r"Choose one, such as this_one\(model\[0\]\)"):
        FittedModel.of(forest.forest_).single_tree("this_one")
