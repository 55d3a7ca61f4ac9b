"""Forests for tests: their classes, small data, and comparisons."""

from functools import partial

import numpy as np

from softwood import (
    KernelExtraTreesClassifier,
    KernelExtraTreesRegressor,
    KernelForestClassifier,
    KernelForestRegressor,
)
from tests import models

CLASSIFIERS = [KernelForestClassifier, KernelExtraTreesClassifier]
REGRESSORS = [KernelForestRegressor, KernelExtraTreesRegressor]
ALL = CLASSIFIERS + REGRESSORS
BAGGED = [KernelForestClassifier, KernelForestRegressor]
problem = partial(models.problem, n=80)


def differs(one, other):
    """Whether two forests have other nodes."""
    return len(one.threshold) != len(other.threshold) or not np.array_equal(
        one.threshold, other.threshold, equal_nan=True
    )
