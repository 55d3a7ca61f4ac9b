import numpy as np
import pandas as pd
import pytest

from softwood import KernelTreeClassifier, KernelTreeRegressor
from softwood.explanations.one_tree import read_targets
from softwood.fitted import FittedModel

X = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "city": ["Rome", "Oslo", "Bonn", "Oslo"]})


def test_classes_are_rows_of_0_and_1():
    known = FittedModel.of(KernelTreeClassifier(bandwidth=0.1).fit(X, ["a", "b", "c", "a"]))
    assert read_targets(known, ["c", "a"], 2).tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(ValueError, match=r"not seen in fit: \['d'\]. Known are \['a', 'b', 'c'\]"):
        read_targets(known, ["c", "d"], 2)


def test_targets_have_a_column_for_each_output():
    known = FittedModel.of(KernelTreeRegressor(bandwidth=0.1).fit(X, np.eye(4)[:, :2]))
    assert read_targets(known, [[1, 2], [3, 4]], 2).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match=r"2 columns, one for each output of the KernelTreeRegressor. Got 1"):
        read_targets(known, [1, 2], 2)
    with pytest.raises(ValueError, match=r"as many rows as X. Got 1 rows, X has 2"):
        read_targets(known, [[1, 2]], 2)
