"""Names of columns: numbers and tuples are names as text is, in parameters and when a table is compared with `fit`."""

import numpy as np
import pandas as pd
import pytest

import softwood
from tests.contract.specs import SPECS, every, every_kernel, over
from tests.models import answer

NAMES = {
    "numbers": [3, 2, 1, 0],
    "other numbers": [10, 20, 30, 40],
    "tuples": [("a", 1), ("a", 2), ("b", 1), ("b", 2)],
    "text": ["d", "c", "b", "a"],
}
kinds_of_names = pytest.mark.parametrize("names", NAMES.values(), ids=list(NAMES))


def named(X, names):
    columns = pd.MultiIndex.from_tuples(names) if isinstance(names[0], tuple) else names
    return pd.DataFrame(X, columns=columns)


@every
@kinds_of_names
def test_columns_in_another_order_are_refused(spec, names):
    X, y = spec.table()
    frame = named(X, names)
    model = spec.make().fit(frame, y)
    expected = answer(spec.fitted(), X)
    assert np.array_equal(answer(model, frame), expected)
    for other in (frame[names[::-1]], frame[names[:3]], frame.rename(columns={names[0]: 77, "a": 78})):
        if all(isinstance(name, str) for name in frame.columns) != all(isinstance(name, str) for name in other.columns):
            continue  # scikit-learn refuses names of several types
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(other)
        if spec.is_stream:
            with pytest.raises(ValueError, match="feature names should match"):
                model.partial_fit(other, y)
    assert np.array_equal(answer(model, frame), expected)


@every
@kinds_of_names
def test_a_column_of_categories_by_name(spec, names):
    X, y = spec.table()
    X[:, 2] = np.round(X[:, 2])
    frame = named(X, names)
    model = spec.make(categorical_features=[names[2]]).fit(frame, y)
    assert [known is not None for known in model.columns_.categories] == [False, False, True, False]
    by_mask = spec.make(categorical_features=[False, False, True, False]).fit(frame, y)
    assert np.array_equal(answer(model, frame), answer(by_mask, frame))
    if names[0] == 10:  # numbers are names, and no positions
        with pytest.raises(ValueError, match=r"'categorical_features' .* by name \(4: 10, 20, 30, 40\). Got 2"):
            spec.make(categorical_features=[2]).fit(frame, y)
    elif names[0] != 3:
        by_number = spec.make(categorical_features=[2]).fit(frame, y)
        assert np.array_equal(answer(model, frame), answer(by_number, frame))


BY_COLUMN = {
    "bandwidth": 0.4, "prediction_bandwidth": 0.4, "measurement_error": 0.7, "kernel": "triangle",
    "prediction_kernel": "triangle", "monotonic_cst": -1,
}  # fmt: skip
BY_SPEC = [(spec, name) for spec in SPECS for name in BY_COLUMN if name in spec.parameters]


@pytest.mark.parametrize(("spec", "name"), BY_SPEC, ids=str)
@kinds_of_names
def test_parameters_by_name(spec, name, names):
    """The same as by position in an array."""
    X, y = spec.table(n_classes=2 if name == "monotonic_cst" else 3)
    by_position = spec.make(**{name: {0: BY_COLUMN[name]}}).fit(X, y)
    frame = named(X, names)
    by_name = spec.make(**{name: {names[0]: BY_COLUMN[name]}}).fit(frame, y)
    assert np.array_equal(answer(by_name, frame), answer(by_position, X))
    if names[0] == 10:
        with pytest.raises(ValueError, match=rf"'{name}' parameter of .* by name \(4: 10, .*Got 0"):
            spec.make(**{name: {0: BY_COLUMN[name]}}).fit(frame, y)


@every_kernel
def test_errors_of_rows_by_name(spec):
    X, y = spec.table()
    frame = named(X, NAMES["numbers"])
    model = spec.make().fit(frame, y)
    expected = answer(spec.fitted(), X, measurement_error={0: 0.8})
    assert np.array_equal(answer(model, frame, measurement_error={3: 0.8}), expected)
    assert not np.array_equal(answer(model, frame, measurement_error={0: 0.8}), expected)


@every
@kinds_of_names
def test_an_array_of_the_same_columns_is_taken(spec, names):
    """As scikit-learn does: with a warning if names were text."""
    X, y = spec.table()
    model = spec.make().fit(named(X, names), y)
    if isinstance(names[0], str):
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            found = answer(model, X)
    else:
        found = answer(model, X)
    assert np.array_equal(found, answer(spec.fitted(), X))


@every
def test_a_name_must_be_that_of_one_column(spec):
    X, y = spec.table()
    model = spec.make()
    with pytest.raises(ValueError, match=rf"X has 2 columns with the name 'a'; {spec.name} .*duplicated"):
        model.fit(pd.DataFrame(X, columns=["a", "b", "a", "c"]), y)
    assert vars(model) == vars(spec.make())


@over([spec for spec in SPECS if not spec.is_stream])
def test_messages_name_the_column(spec):
    X, y = spec.table()
    X[3, 1] = np.inf
    for names, shown in ((NAMES["numbers"], r"'x\[2\]'"), (NAMES["tuples"], r"\"\('a', 2\)\"")):
        with pytest.raises(ValueError, match=f"Column {shown} contains infinity"):
            spec.make().fit(named(X, names), y)


@every
@pytest.mark.parametrize("names", [NAMES["numbers"], NAMES["tuples"]], ids=["numbers", "tuples"])
def test_names_are_saved(spec, names, tmp_path):
    X, y = spec.table()
    frame = named(X, names)
    softwood.save(spec.make().fit(frame, y), tmp_path / "model")
    model = softwood.load(tmp_path / "model")
    assert model.columns_.keys == tuple(names)
    assert np.array_equal(answer(model, frame), answer(spec.fitted(), X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[names[::-1]])
