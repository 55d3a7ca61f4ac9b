"""All checks of scikit-learn, for all stream models and for pools of them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from softwood.stream import ModelPool
from tests.stream.test_model import ALL, HARD, HoeffdingTreeClassifier, HoeffdingTreeRegressor

# scikit-learn compares rows of weight 2 with rows that are repeated, and then shuffles these.
IN_ORDER = {
    "check_sample_weight_equivalence_on_dense_data": "a stream is learned in order: a weight of 2 is the row twice in "
    "succession, which tests/stream/test_model.py compares bit for bit"
}

MODELS = [model_class() for model_class in ALL]
MODELS += [ModelPool([HoeffdingTreeClassifier()]), ModelPool([HoeffdingTreeRegressor()])]


def expected_failures(estimator):
    return {} if type(estimator) in (*HARD, ModelPool) else IN_ORDER


@parametrize_with_checks(MODELS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model_class", ALL)
def test_the_exception_is_declared_for_soft_models_only(model_class):
    assert bool(expected_failures(model_class())) == (model_class not in HARD)
