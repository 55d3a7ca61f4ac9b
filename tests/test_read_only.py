"""Rows that cannot be written to, as those of data frames are, need no code of their own."""

import numpy as np
import pandas as pd
import pytest

from softwood import KernelTreeClassifier, KernelTreeRegressor
from softwood.compiled import growing as binning
from tests.contract.specs import BY_NAME, answer

LOOPS = [binning.encode_column]


def _signatures():
    return [len(loop.signatures) for loop in LOOPS if hasattr(loop, "signatures")]


@pytest.mark.parametrize("model_class", [KernelTreeClassifier, KernelTreeRegressor])
def test_no_loop_is_compiled_again_for_read_only_rows(model_class):
    X, y = BY_NAME[model_class.__name__].table()
    locked = X.copy()
    locked.flags.writeable = False
    X[3, 1] = np.nan
    models = [
        model_class(bandwidth=0.3, prediction_kernel=kernel, random_state=0).fit(X, y) for kernel in ("same", None)
    ]
    expected = [answer(model, X) for model in models]
    for model in models:
        model.memberships(X)
        answer(model, locked.copy())
    before = _signatures()
    for model, found in zip(models, expected, strict=True):
        model.fit(pd.DataFrame(X), y)
        answer(model, pd.DataFrame(X))
        answer(model, locked)
        model.memberships(locked)
        model.tree_.predict(locked)
        assert np.array_equal(answer(model.fit(X, y), X), found)
    assert _signatures() == before
