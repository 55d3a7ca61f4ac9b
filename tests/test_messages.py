"""An error names the parameter or column, what was expected, and what was found."""

import numpy as np
import pandas as pd
import pytest

from softwood import KernelTreeClassifier

X = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "city": ["Rome", "Oslo", "Rome", "Oslo"]})
y = ["no", "no", "yes", "yes"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bandwidth": "silvermann"}, "'bandwidth' .* one of 'auto', 'cv', 'silverman', 'loo'. Got 'silvermann'"),
        ({"bandwidth": [0.1, 0.2, 0.3]}, r"one for each of the 2. Got \[0.1, 0.2, 0.3\]"),
        ({"bandwidth": {"agee": 0.1}}, r"by name or number \(2: 'age', 'city'\). Got 'agee'"),
        ({"bandwidth": None}, "a number of at least 0, .* 'auto', 'cv', 'silverman' or 'loo'. Got None"),
        ({"bandwidth": 1, "prediction_bandwidth": "auto"}, "'prediction_bandwidth' .* 'same'. Got 'auto'"),
        ({"kernel": "gauss"}, "one of 'box', 'gaussian', 'triangle', a Kernel, .* Got 'gauss'"),
        ({"prediction_kernel": "none"}, "one of 'same', None, 'box', .* Got 'none'"),
        ({"measurement_error": 0.5}, r"a dict by column, or an array of shape \(2,\) .* Got 0.5"),
        ({"measurement_error": {"city": 0.5}}, "columns of numbers. Got 'city'"),
        ({"measurement_error": {"age": -0.5}}, "at least 0 for column 'age'. Got -0.5"),
        ({"measurement_error": {"age": lambda age: age * np.nan}}, "finite .* for column 'age'. Got nan"),
        ({"categorical_features": ["cty"]}, "'categorical_features' .* Got 'cty'"),
    ],
)
def test_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelTreeClassifier(**parameters).fit(X, y)


def test_errors_of_rows_are_as_many_as_rows():
    with pytest.raises(ValueError, match=r"one for each row, for column 'age'. Got 'an array of shape \(5,\)'"):
        KernelTreeClassifier(bandwidth=0.1).fit(X, y, measurement_error={"age": np.ones(5)})
    # a row without weight does not count, but its error is there
    model = KernelTreeClassifier(bandwidth=0.1)
    with_error = model.fit(X, y, sample_weight=[0, 1, 1, 1], measurement_error={"age": [9.0, 1.0, 2.0, 3.0]})
    expected = KernelTreeClassifier(bandwidth=0.1).fit(X[1:], y[1:], measurement_error={"age": [1.0, 2.0, 3.0]})
    assert np.allclose(with_error.predict_proba(X), expected.predict_proba(X))


def test_columns_may_be_named_anything():
    frame = X.rename(columns={"age": "age=years"})
    model = KernelTreeClassifier(bandwidth={"age=years": 0.5}).fit(frame, y)
    assert model.bandwidths_[0] > 0


@pytest.mark.parametrize("columns", [["when"], ["when", "city"]])
def test_dates_are_named(columns):
    frame = X.assign(when=pd.date_range("2024-01-01", periods=4))
    with pytest.raises(ValueError, match=r"Column 'when' holds dates .* With dates='parts', it becomes days"):
        KernelTreeClassifier(dates="error").fit(frame[columns], y)


def test_unknown_categories_are_named():
    model = KernelTreeClassifier(bandwidth=0.1, handle_unknown="error").fit(X, y)
    with pytest.raises(ValueError, match=r"Column 'city' .* not seen in fit: \['Lima'\]"):
        model.predict(X.assign(city="Lima"))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_every_row_needs_a_class(missing):
    with pytest.raises(ValueError, match="every row needs a class"):
        KernelTreeClassifier().fit(X, np.array(["no", missing, "yes", "yes"], dtype=object))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_cells_of_object_arrays(missing):
    cells = X.to_numpy(dtype=object)
    cells[0, 1] = cells[1, 0] = missing
    model = KernelTreeClassifier(bandwidth=0.1, categorical_features=[1]).fit(cells, y)
    assert np.allclose(model.predict_proba(cells).sum(axis=1), 1)
