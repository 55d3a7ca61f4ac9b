"""Adam, for one line of parameters: the step that all gradient-trained trees share."""

import numpy as np

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


def adam_line(lines, gradients, first, second, k, step, rate, n_penalised, l1, l2):
    """Change line `k` of a table of parameters by its gradient, which is then 0.

    Parameters
    ----------
    gradients, first, second : gradient and its moments, tables of the same shape
    step : number of this step, from 1 on
    n_penalised : so many parameters, from the first on, are drawn to 0 by the penalties `l1` and `l2`: as far as a
        gradient of that size moves them, as it must be for the two to balance
    """
    correction_1 = 1.0 - BETA_1**step
    correction_2 = 1.0 - BETA_2**step
    if l1 == 0.0 and l2 == 0.0:
        n_penalised = 0
    for j in range(n_penalised):
        g = gradients[k, j]
        gradients[k, j] = 0.0
        m = BETA_1 * first[k, j] + (1.0 - BETA_1) * g
        v = BETA_2 * second[k, j] + (1.0 - BETA_2) * g * g
        first[k, j] = m
        second[k, j] = v
        length = rate / (np.sqrt(v / correction_2) + EPSILON)
        w = lines[k, j] - length * m / correction_1
        lines[k, j] = (max(w - length * l1, 0.0) + min(w + length * l1, 0.0)) / (1.0 + length * l2)
    for j in range(n_penalised, lines.shape[1]):
        g = gradients[k, j]
        gradients[k, j] = 0.0
        m = BETA_1 * first[k, j] + (1.0 - BETA_1) * g
        v = BETA_2 * second[k, j] + (1.0 - BETA_2) * g * g
        first[k, j] = m
        second[k, j] = v
        lines[k, j] -= rate / (np.sqrt(v / correction_2) + EPSILON) * m / correction_1
