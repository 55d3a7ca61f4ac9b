"""Adam, for one line of parameters: the step that all gradient-trained trees share."""

import numpy as np

from softwood.loops._compile import compiled

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


@compiled
def adam_line(line, gradient, first, second, step, rate, n_penalised, l1, l2):
    """Change a line of parameters by its gradient, which is then 0.

    Parameters
    ----------
    first, second : moments of the gradient, as long as the line
    step : number of this step, from 1 on
    n_penalised : so many parameters, from the first on, are drawn to 0 by the penalties `l1` and `l2`: as far as a
        gradient of that size moves them, as it must be for the two to balance
    """
    correction_1 = 1.0 - BETA_1**step
    correction_2 = 1.0 - BETA_2**step
    for j in range(line.shape[0]):
        g = gradient[j]
        gradient[j] = 0.0
        first[j] = BETA_1 * first[j] + (1.0 - BETA_1) * g
        second[j] = BETA_2 * second[j] + (1.0 - BETA_2) * g * g
        length = rate / (np.sqrt(second[j] / correction_2) + EPSILON)
        w = line[j] - length * first[j] / correction_1
        if j < n_penalised:
            w = (max(w - length * l1, 0.0) + min(w + length * l1, 0.0)) / (1.0 + length * l2)
        line[j] = w
