"""Adam, for one row of parameters: the step that all gradient-trained trees share."""

from typing import NamedTuple

import numpy as np

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


class AdamStep(NamedTuple):
    """What the rows of one step share.

    Attributes
    ----------
    rate : learning rate
    factor_1, factor_2 : corrections of the moments, which start at 0
    """

    rate: float
    factor_1: float
    factor_2: float


def adam_step(number, rate):
    """The step of this number, from 1 on."""
    return AdamStep(rate, 1.0 / (1.0 - BETA_1**number), 1.0 / (1.0 - BETA_2**number))


def adam_row(table, gradients, first, second, k, step, n_penalised, l1, l2):
    """Change row `k` of a table of parameters by its gradient, which is then 0.

    Parameters
    ----------
    gradients, first, second : gradient and its moments, tables of the same shape
    step : `AdamStep`
    n_penalised : the first `n_penalised` parameters are drawn to 0 by the penalties `l1` and `l2`, with the same step
        length as the gradient, so that the two can balance
    """
    if l1 == 0.0 and l2 == 0.0:
        n_penalised = 0
    for j in range(n_penalised):
        g = gradients[k, j]
        m = BETA_1 * first[k, j] + (1.0 - BETA_1) * g
        v = BETA_2 * second[k, j] + (1.0 - BETA_2) * g * g
        gradients[k, j] = 0.0
        first[k, j] = m
        second[k, j] = v
        length = step.rate / (np.sqrt(v * step.factor_2) + EPSILON)
        w = table[k, j] - length * (m * step.factor_1)
        table[k, j] = (max(w - length * l1, 0.0) + min(w + length * l1, 0.0)) / (1.0 + length * l2)
    for j in range(n_penalised, table.shape[1]):
        g = gradients[k, j]
        m = BETA_1 * first[k, j] + (1.0 - BETA_1) * g
        v = BETA_2 * second[k, j] + (1.0 - BETA_2) * g * g
        gradients[k, j] = 0.0
        first[k, j] = m
        second[k, j] = v
        table[k, j] -= step.rate / (np.sqrt(v * step.factor_2) + EPSILON) * (m * step.factor_1)
