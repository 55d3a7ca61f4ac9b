"""Weights of any positive size: products and squares of weights must neither vanish nor overflow."""

import numpy as np
import pytest

from tests.contract.specs import SPECS, over
from tests.models import answer

# Most rows have a weight so small that its square is 0, or so large that its square is infinite.
SIZES = {"one large": 1e-250, "one small": 1.0, "smallest": 5e-324, "largest": 1e300}
RULES = ("auto", "silverman", "loo")


@pytest.mark.parametrize("case", SIZES)
@over([spec for spec in SPECS if spec.takes("sample_weight")])
def test_weights_of_any_size(spec, case):
    X, y = spec.table(40, n_classes=2)
    weights = np.full(len(X), SIZES[case])
    weights[0] = 1e-250 if case == "one small" else 1.0
    own = [{"bandwidth": rule} for rule in RULES] if spec.is_kernel else [{}]
    own += [{"growth": "level"}, {"splitter": "hist"}] if spec.is_kernel and "splitter" in spec.parameters else []
    own += [{"class_weight": {"ant": 1e-250, "bee": 1.0}}] if "class_weight" in spec.parameters else []
    for settings in own:
        found = answer(spec.make(**settings).fit(X, y, sample_weight=weights), X)
        assert np.isfinite(found).all(), settings


@over([spec for spec in SPECS if "class_weight" in spec.parameters])
def test_a_column_that_only_rows_without_weight_know(spec):
    X, y = spec.table(40, n_classes=2)
    X[y == "bee", 1] = np.nan
    for rule in RULES if spec.is_kernel else [None]:
        own = {} if rule is None else {"bandwidth": rule}
        assert np.isfinite(answer(spec.make(class_weight={"ant": 0.0, "bee": 1.0}, **own).fit(X, y), X)).all(), own
