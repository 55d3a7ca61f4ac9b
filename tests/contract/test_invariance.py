"""What must not matter to trees that are trained by gradient descent, to the last bit.

A power of two scales without rounding. Any other factor begins with other roundings, which training may amplify into
another tree; that it is as good is tested with the inputs.
"""

import numpy as np
import pytest

from tests.contract.specs import BATCH, CLASSES, over, over_ways
from tests.models import answer, assert_same_model

TRAINED = [spec for spec in BATCH if not spec.is_kernel]
every_way = over_ways(TRAINED)
every_regressor = over([spec for spec in TRAINED if not spec.is_classifier])
every_classifier = over([spec for spec in TRAINED if spec.is_classifier])


@every_way
@pytest.mark.parametrize("seed", range(2))
def test_weights_are_repetitions_in_any_order(spec, way, seed):
    X, y = spec.table(n=150)
    X[:20, 0] = np.nan
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 6, size=len(X))
    rows = rng.permutation(np.repeat(np.arange(len(X)), weights))
    own = {"class_weight": "balanced"} if spec.is_classifier and seed == 0 else {}
    weighted = spec.make(**way, **own).fit(X, y, sample_weight=weights)
    assert_same_model(weighted, spec.make(**way, **own).fit(X[rows], y[rows]))
    assert weighted.get_n_leaves() > 1


@over([spec for spec in TRAINED if spec.takes("X_val")])
def test_weights_of_validation_rows_are_repetitions(spec):
    (X, y), (X_val, y_val) = spec.table(), spec.table(seed=1)
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, size=len(X))
    rows = rng.permutation(np.repeat(np.arange(len(X)), weights))
    weighted = spec.make().fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=weights)
    assert_same_model(weighted, spec.make().fit(X, y, X_val=X_val[rows], y_val=y_val[rows]))
    if "max_iter" in spec.parameters:  # their losses are in the history
        assert weighted.history_ != spec.make().fit(X, y, X_val=X_val, y_val=y_val).history_


@every_way
@pytest.mark.parametrize("factors", [(1.0, 2.0**-3), (2.0**-3, 2.0**-332), (2.0**60, 2.0**332), (2.0**-3, 2.0**332)])
def test_a_common_factor_of_the_weights(spec, way, factors):
    if 1.0 in factors and spec.name.startswith("OneStage") and "architecture" not in way:
        pytest.skip("costs, penalties and the prior are in numbers of rows")
    X, y = spec.table()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    one, other = (spec.make(**way).fit(X, y, sample_weight=weights * factor) for factor in factors)
    np.testing.assert_array_equal(answer(one, X), answer(other, X))


@every_way
@pytest.mark.parametrize("units", [2.0**-996, 2.0**-30, 2.0**996, [2.0**-664, 4.0, 2.0**17, 0.125]])
def test_units_of_columns(spec, way, units):
    X, y = spec.table()
    one, other = spec.make(**way).fit(X, y), spec.make(**way).fit(X * units, y)
    np.testing.assert_array_equal(answer(other, X * units), answer(one, X))
    np.testing.assert_array_equal(other.feature_importances_, one.feature_importances_)


@every_regressor
@pytest.mark.parametrize("unit", [2.0**-996, 2.0**-30, 2.0**30, 2.0**996])
def test_the_unit_of_the_targets(spec, unit):
    X, y = spec.table()
    for targets in (y, np.column_stack([y, 2 * y**2])):
        one, other = spec.make().fit(X, targets), spec.make().fit(X, targets * unit)
        np.testing.assert_allclose(other.predict(X) / unit, one.predict(X), rtol=1e-12)


@every_classifier
def test_names_of_classes(spec):
    X, y = spec.table()
    codes = np.searchsorted(CLASSES, y)
    one, other = spec.make().fit(X, y), spec.make().fit(X, codes)
    assert_same_model(one, other)
    assert np.array_equal(one.predict(X), CLASSES[other.predict(X)])


@over([spec for spec in TRAINED if "n_estimators" not in spec.parameters])
def test_a_missing_number_counts_as_the_mean(spec):
    X, y = spec.table(n=200)
    X[20:50, 0] = np.nan
    model = spec.make().fit(X, y)
    mean = model._scaling_.center[0]
    assert mean == pytest.approx(np.nanmean(X[:, 0]), abs=0.2)
    missing, filled = X.copy(), X.copy()
    missing[:, 0], filled[:, 0] = np.nan, mean
    np.testing.assert_array_equal(answer(model, missing), answer(model, filled))
