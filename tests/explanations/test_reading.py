import numpy as np
import pandas as pd
import pytest

from softwood import KernelTreeClassifier, KernelTreeRegressor, SoftTreeRegressor
from softwood.explanations.reading import read_model
from softwood.plots.colours import colours

X = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "city": ["Rome", "Oslo", "Bonn", "Oslo"]})


def test_names_of_an_estimator():
    reading = read_model(KernelTreeClassifier(bandwidth=0.1).fit(X, [True, False, True, True]), "this")
    assert (reading.name, reading.columns, reading.outputs.names) == (
        "KernelTreeClassifier",
        ("age", "city"),
        ("False", "True"),
    )
    assert reading.is_class is True
    assert reading.source.tolist() == [0, 1]


def test_names_of_a_bare_tree():
    model = KernelTreeRegressor(bandwidth=0.1).fit(X, np.eye(4)[:, :2])
    reading = read_model(model.tree_, "this")
    assert (reading.name, reading.columns[-1], reading.outputs.names) == ("SoftTree", "x[1]", ("0", "1"))
    assert reading.is_class is None
    assert reading.memberships(model._matrix(X)).toarray() == pytest.approx(model.memberships(X).toarray())


def test_features_are_added_up_for_their_columns():
    reading = read_model(SoftTreeRegressor(random_state=0).fit(X, [1.0, 2.0, 3.0, 4.0]), "this")
    assert reading.source.tolist() == [0, 1, 1, 1]
    assert reading.add_up(np.array([[1.0, 2.0, 3.0, 4.0]])).tolist() == [[1.0, 9.0]]


def test_classes_are_rows_of_0_and_1():
    reading = read_model(KernelTreeClassifier(bandwidth=0.1).fit(X, ["a", "b", "c", "a"]), "this")
    assert reading.targets(["c", "a"], 2).tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(ValueError, match=r"not seen in fit: \['d'\]. Known are \['a', 'b', 'c'\]"):
        reading.targets(["c", "d"], 2)


def test_there_are_colours_for_any_number():
    for n in (1, 7, 20):
        assert len({tuple(colour) for colour in colours(n)}) == n
