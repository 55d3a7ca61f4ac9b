import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import DataConversionWarning

from softwood.core.targets import read_classes, read_reals


@pytest.mark.tiny
@pytest.mark.parametrize("y", [["b", "a", "b"], [7, 3, 7], [True, False, True], [2.0, -1.0, 2.0]])
def test_labels(y):
    targets = read_classes(y)
    assert targets.classes.tolist() == sorted(set(y))
    assert targets.labels.tolist() == [1, 0, 1]
    assert targets.labels.dtype == np.int32
    assert targets.matrix().tolist() == [[0, 1], [1, 0], [0, 1]]
    assert len(targets) == 3


@pytest.mark.tiny
@pytest.mark.parametrize(
    "y",
    [
        pd.Series(["x", "y", "x"]),
        pd.Series(["x", "y", "x"], dtype="category"),
        pl.Series(["x", "y", "x"]),
        np.array(["x", "y", "x"], dtype=object),
    ],
)
def test_labels_of_any_kind(y):
    targets = read_classes(y)
    assert targets.classes.tolist() == ["x", "y"]
    assert targets.labels.tolist() == [0, 1, 0]


@pytest.mark.tiny
def test_a_column_is_taken_for_a_vector_with_a_warning():
    with pytest.warns(DataConversionWarning):
        targets = read_classes([[1], [0]])
    assert targets.labels.tolist() == [1, 0]


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.5, 1.5], "Unknown label type"),
        ([1.0, np.nan], "NaN"),
        (["a", None], "every row needs a class"),
        ([[0.5, 0.6], [0.5, 0.5]], "adding up to 1"),
        ([[1.5, -0.5], [0.5, 0.5]], "at least 0"),
        ([[np.nan, 1.0], [0.5, 0.5]], "NaN"),
    ],
)
def test_not_classes(y, message):
    with pytest.raises(ValueError, match=message):
        read_classes(y)


@pytest.mark.tiny
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_fuzzy_labels(frame):
    shares = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5 + 1e-8]])
    targets = read_classes(frame({"no": shares[:, 0], "yes": shares[:, 1]}))
    assert targets.classes.tolist() == ["no", "yes"]
    assert targets.labels is None
    assert targets.matrix() == pytest.approx(shares, abs=1e-7)
    assert targets.matrix().sum(axis=1) == pytest.approx(1.0, abs=1e-15)
    assert read_classes(shares).classes.tolist() == [0, 1]
    assert len(targets) == 3


@pytest.mark.tiny
def test_taking_rows_keeps_the_classes():
    part = read_classes(["a", "b", "c"]).take(np.array([2, 0]))
    assert part.classes.tolist() == ["a", "b", "c"]
    assert part.labels.tolist() == [2, 0]
    fuzzy = read_classes([[0.2, 0.8], [0.7, 0.3]]).take(np.array([1]))
    assert fuzzy.matrix().tolist() == [[0.7, 0.3]]


@pytest.mark.tiny
def test_loss_of_classes_is_the_part_that_is_wrong():
    prediction = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    assert read_classes([0, 0, 1]).loss(prediction, np.array([1.0, 2.0, 3.0])) == pytest.approx(5 / 6)
    fuzzy = read_classes([[0.6, 0.4], [0.6, 0.4], [0.1, 0.9]])
    assert fuzzy.loss(prediction, np.array([1.0, 2.0, 3.0])) == pytest.approx(5 / 6)


@pytest.mark.tiny
@pytest.mark.parametrize("y", [[1.0, 2.0, 6.0], [[1.0], [2.0], [6.0]], [[1.0, 0], [2.0, 5], [6.0, 5]]])
def test_reals_are_scaled_together(y):
    weights = np.array([1.0, 1.0, 2.0])
    targets = read_reals(y, weights)
    matrix = np.reshape(np.array(y), (3, -1))
    assert targets.mean == pytest.approx(np.average(matrix, axis=0, weights=weights))
    assert targets.scaled * targets.scale + targets.mean == pytest.approx(matrix)
    assert np.average((targets.scaled**2).sum(axis=1), weights=weights) == pytest.approx(1.0)
    assert targets.is_flat == (np.ndim(y) == 1)


@pytest.mark.tiny
def test_constant_targets():
    targets = read_reals([3.0, 3.0], np.ones(2))
    assert targets.scaled.tolist() == [[0], [0]]
    assert targets.mean == 3.0
    assert read_reals([0.0, 0.0], np.ones(2)).scaled.tolist() == [[0], [0]]


@pytest.mark.tiny
@pytest.mark.parametrize("scale", [1e-300, 1e300, 1.7e308])
def test_targets_of_any_size(scale):
    y = np.array([-1.0, 0.5, 1.0])
    targets = read_reals(y * scale, np.ones(3))
    expected = read_reals(y, np.ones(3))
    assert targets.scaled == pytest.approx(expected.scaled)
    assert targets.mean / scale == pytest.approx(expected.mean)
    assert 0 < targets.square_scale < np.inf


@pytest.mark.tiny
def test_loss_of_reals_is_the_scaled_squared_error():
    y = np.array([[1.0, 10.0], [3.0, 30.0]])
    weights = np.array([1.0, 3.0])
    targets = read_reals(y, weights)
    prediction = np.array([[2.0, 10.0], [3.0, 26.0]])
    expected = np.average([0.5 * 1.0, 0.5 * 16.0], weights=weights) / targets.scale**2
    assert targets.loss(prediction, weights) == pytest.approx(expected)
    assert targets.take(np.array([0])).loss(prediction[:1], weights[:1]) == pytest.approx(0.5 / targets.scale**2)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan], "y contains NaN"),
        ([1.0, np.inf], "y contains infinity"),
        (["a", "b"], "needs numbers as y: .*'a'. For classes, use the classifier"),
        (None, "the target y is None"),
    ],
)
def test_not_reals(y, message):
    with pytest.raises(ValueError, match=message):
        read_reals(y, np.ones(2))
