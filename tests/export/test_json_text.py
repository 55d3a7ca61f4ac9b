import json
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softwood import SoftTree
from softwood.export import FittedModel, from_json, to_json
from softwood.trees.nodes import NODE_TYPES
from tests.export.models import all_fitted, fitted, fitted_to_frames, mixed_tree, trying_rows, trying_table


@pytest.mark.parametrize("name", fitted())
def test_there_and_back_is_the_same_model(name):
    model = fitted()[name]
    before, after = FittedModel.of(model).portable(), from_json(to_json(model))
    assert type(before.trees) is type(after.trees)
    for column in (*NODE_TYPES, "value"):
        np.testing.assert_array_equal(getattr(before.trees, column), getattr(after.trees, column), err_msg=column)
    X = trying_rows(model, 200)
    np.testing.assert_array_equal(before.predict(X), after.predict(X))
    assert after.classes == before.classes


@pytest.mark.parametrize("name", fitted_to_frames())
def test_tables_with_categories(name):
    model = fitted_to_frames()[name]
    before, after = FittedModel.of(model).portable().one_hot(), from_json(json.loads(to_json(model, indent=2)))
    table = trying_table(model)[list(before.columns.inputs)]
    np.testing.assert_array_equal(before.predict(table), after.predict(table))
    assert after.columns.categories == before.columns.categories


SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "softwood-model.schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", all_fitted())
def test_the_schema_of_the_docs_describes_the_text(name):
    text = json.loads(to_json(all_fitted()[name]))
    jsonschema.Draft202012Validator(SCHEMA).validate(text)
    del text["trees"][0]["nodes"][-1]["value"]
    with pytest.raises(jsonschema.ValidationError, match="'value' is a required property"):
        jsonschema.Draft202012Validator(SCHEMA).validate(text)


def test_names_of_columns_and_classes_can_be_read():
    text = json.loads(to_json(fitted_to_frames()["kernel tree of a frame"]))
    assert [entry["name"] for entry in text["inputs"]] == ["size (cm)", "weight", "city", "is_new", "open"]
    assert text["classes"] == [0, 1, 2]
    tests = [node["feature"] for node in text["trees"][0]["nodes"] if "feature" in node]
    assert tests
    assert set(tests) <= {entry["name"] for entry in text["features"]}


def test_equal_names_of_features_get_a_number():
    columns = FittedModel.of(mixed_tree()).columns
    twice = type(columns)(("a", "a", "a (2)", "b"), columns.source, columns.categories, ("a", "a", "a (2)", "b"))
    text = to_json(FittedModel("SoftTree", mixed_tree(), twice))
    assert [entry["name"] for entry in json.loads(text)["features"]] == ["a", "a (2)", "a (2) (2)", "b"]
    assert from_json(text).columns.inputs == ("a", "a", "a (2)", "b")


def small():
    return json.loads(to_json(mixed_tree(depth=2)))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format"], "other", "'format'"),
        (["version"], 2, "version 1"),
        (["trees"], [], "'trees'"),
        (["trees", 0, "nodes", 0, "left"], 0, "one tree"),
        (["trees", 0, "nodes", 0, "left"], 99, "'left'"),
        (["trees", 0, "nodes", 0, "gate"], "magic", "'gate'"),
        (["trees", 0, "nodes", 0, "gate"], [], "'gate'"),
        (["trees", 0, "nodes", 0, "missing_left"], 1.5, "'missing_left'"),
        (["trees", 0, "nodes", 6, "value"], [1.0], "same length"),
        (["trees", 0, "nodes", 6, "value"], ["x"], "'value'"),
        (["trees", 0, "output"], -1, "'output'"),
        (["kernels", 0, "edges"], [1.0, -1.0], "Kernel 0"),
        (["combine"], "product", "'combine'"),
        (["features", 0, "input"], 7, "'input'"),
        (["features", 0, "name"], "x[1]", "differ"),
        (["inputs", 0, "type"], "category", "'categories'"),
        (["fill_missing"], [1.0], "'fill_missing'"),
        (["link"], "log", "'link'"),
        (["classes"], ["a"], "class for each"),
        (["center"], [10**400] * 4, "'center'"),
    ],
)
def test_what_is_wrong_is_named(path, value, message):
    document = small()
    entry = document
    for key in path[:-1]:
        entry = entry[key]
    entry[path[-1]] = value
    with pytest.raises(ValueError, match=message):
        from_json(document)


@pytest.mark.parametrize("text", ["", "[1]", '{"format": NaN}', "[" * 100_000])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError, match="from_json"):
        from_json(text)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_entries_give_a_named_error_or_a_model(data):
    document = small()
    entry = document
    while True:
        key = data.draw(st.sampled_from(sorted(entry) if isinstance(entry, dict) else list(range(len(entry)))))
        if not isinstance(entry[key], dict | list) or not entry[key] or data.draw(st.booleans()):
            break
        entry = entry[key]
    what = st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.just([]), st.just({})
    )
    if data.draw(st.booleans()) and isinstance(entry, dict):
        del entry[key]
    else:
        entry[key] = data.draw(what)
    try:
        model = from_json(document)
    except (ValueError, TypeError):  # the tests above look at the messages
        return
    assert isinstance(model.trees, SoftTree)
    table = pd.DataFrame(np.zeros((2, model.trees.n_features)), columns=list(model.columns.inputs))
    assert model.predict(table if model.has_names else table.to_numpy()).shape == (2, model.n_outputs)
