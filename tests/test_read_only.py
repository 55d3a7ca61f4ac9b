"""Rows in arrays that cannot be written to, as those of data frames, give the same models and answers."""

import numpy as np
import pandas as pd
import pytest

from softwood import KernelTreeClassifier, KernelTreeRegressor
from tests.contract.specs import BY_NAME
from tests.models import answer


@pytest.mark.parametrize("kernel", ["same", None])
@pytest.mark.parametrize("model_class", [KernelTreeClassifier, KernelTreeRegressor])
def test_rows_that_cannot_be_written_to(model_class, kernel):
    X, y = BY_NAME[model_class.__name__].table()
    X[3, 1] = np.nan
    locked = X.copy()
    locked.flags.writeable = False
    model = model_class(bandwidth=0.3, prediction_kernel=kernel, random_state=0).fit(X, y)
    expected, tree, shares = answer(model, X), model.tree_.predict(X), model.memberships(X).toarray()
    for rows in (locked, pd.DataFrame(locked)):
        assert np.array_equal(answer(model_class(**model.get_params()).fit(rows, y), X), expected)
        assert np.array_equal(answer(model, rows), expected)
    assert np.array_equal(model.memberships(locked).toarray(), shares)
    assert np.array_equal(model.tree_.predict(locked), tree)
