"""What a fit leaves behind: results of different fits never mix, and a fit that fails leaves the earlier one."""

import numpy as np
import pandas as pd
import pytest

from tests.contract.specs import every, every_batch, every_kernel
from tests.models import answer


def other_table(spec):
    """Other rows, one column more, and other labels."""
    X, y = spec.table(seed=1)
    X = np.column_stack([X, X[:, 0]])
    return X, np.char.upper(y) if spec.is_classifier else 100.0 + y


def results(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


@every
def test_a_fit_that_fails_leaves_the_earlier_one(spec):
    """Whether it fails at once, or after the table and the labels were read."""
    X, y = spec.table()
    model = spec.make().fit(X, y)
    before, expected = dict(vars(model)), answer(model, X)
    for name in sorted(spec.wrong.keys() & model.get_params()):
        usual = getattr(model, name)
        with pytest.raises(ValueError, match=name if name != "random_state" else "[Ss]eed"):
            model.set_params(**{name: spec.wrong[name][0]}).fit(*other_table(spec))
        model.set_params(**{name: usual})
        assert vars(model).keys() == before.keys()
        assert all(before[key] is value for key, value in results(model).items())
    assert np.array_equal(answer(model, X), expected)


@every_batch
def test_an_interrupt_before_there_is_a_model_leaves_the_earlier_one(spec, monkeypatch):
    X, y = spec.table()
    model = spec.make().fit(X, y)
    expected, before = answer(model, X), results(model)

    def interrupt(*arguments, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(model), "_class_weights", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*other_table(spec))
    assert results(model).keys() == before.keys()
    assert all(before[key] is value for key, value in results(model).items())
    assert np.array_equal(answer(model, X), expected)
    fresh = spec.make()
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    assert vars(fresh) == vars(spec.make())


@every
def test_a_fit_knows_nothing_of_earlier_ones(spec):
    """Same results after another fit as without; nothing that belonged to the other one is left."""
    X, y = spec.table()
    fresh = spec.fitted()
    used = spec.make(**({"bandwidth": "auto"} if spec.is_kernel else {}))
    if spec.name.startswith("KernelForest"):
        used.set_params(oob_score=True, n_estimators=40)
    other_X, other_y = other_table(spec)
    used.fit(pd.DataFrame(other_X).rename(columns=lambda j: f"column {j}"), other_y)
    used.set_params(**fresh.get_params()).fit(X, y)
    for model in (used, fresh):
        model.settle_scores()  # other tests may have asked for those of the shared model
    assert results(used).keys() == results(fresh).keys()
    assert np.array_equal(answer(used, X), answer(fresh, X))


@every_kernel
def test_a_given_bandwidth_replaces_a_chosen_one(spec):
    X, y = spec.table()
    model = spec.make(bandwidth="auto").fit(X, y)
    assert model.bandwidth_ >= 0
    model.set_params(bandwidth=0.77).fit(X, y)
    assert not hasattr(model, "bandwidth_")
    assert model.bandwidths_ == pytest.approx(0.77 * X.std(axis=0))
