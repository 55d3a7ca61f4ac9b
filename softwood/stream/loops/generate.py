"""Rows of streams: a hyperplane that turns, centroids that move, and loan applications."""

import numpy as np

from softwood.trees.loops.random import next_seed, to_unit

# Agrawal et al. ask other things of the young (under 40), the middle-aged and the old (60 and above). Salaries are
# asked to lie in a range of this length.
SALARY_RANGE = 50000.0
YOUNG, MIDDLE_AGED, OLD = range(3)

SALARY, COMMISSION, AGE, LEVEL, CAR, ZIP, HOUSE, YEARS, LOAN = range(9)


# ------------------------------------------------------------------ hyperplane


def turn_hyperplane(X, y, is_flipped, is_turned, weights, magnitude, steps, directions):
    """Classes of the points on both sides of a hyperplane that changes with every point.

    The first weights are ``weights[j] + magnitude * steps[j]``. Steps are counted rather than added up, so that a
    weight is the same however many points came before.

    Parameters
    ----------
    y : (n_rows,) to be filled
    is_flipped : (n_rows,) whether the class is the wrong one
    is_turned : (n_rows, n_drift_features) whether a weight changes its direction after this point
    steps, directions : (n_drift_features,) of the weights that change; left as they are after the last point
    """
    n_rows, n_features = X.shape[0], X.shape[1]
    n_drift_features = steps.shape[0]
    for i in range(n_rows):
        value = 0.0
        total = 0.0
        for j in range(n_features):
            weight = weights[j]
            if j < n_drift_features:
                weight += magnitude * steps[j]
            value += weight * X[i, j]
            total += weight
        is_above = value >= 0.5 * total
        y[i] = 1 if is_above != is_flipped[i] else 0
        for j in range(n_drift_features):
            steps[j] += directions[j]
            if is_turned[i, j]:
                directions[j] = -directions[j]


# ------------------------------------------------------------------ moving centroids


def bounced(start, speed, first, swing, moves):
    """Coordinate of a centroid after so many moves between the walls 0 and 1.

    A move that would end behind a wall ends at the wall, and the next one goes back.

    Parameters
    ----------
    start, speed : the coordinate at first, and its change by one move, both at least 0
    first : the move that ends at the wall 1 for the first time
    swing : number of moves from one wall to the other
    """
    if moves < first:
        return min(start + moves * speed, 1.0)
    since = (moves - first) % (2 * swing)
    if since < swing:
        return max(1.0 - since * speed, 0.0)
    return min((since - swing) * speed, 1.0)


def scatter_around_centroids(X, y, chosen, lengths, position, centres, velocities, first, swing, spreads, classes):
    """Points around centroids that move before every point.

    Parameters
    ----------
    X : (n_rows, n_features) numbers in [0, 1), which say the directions from the centroids; points when it is done
    y : (n_rows,) to be filled
    chosen, lengths : (n_rows,) the centroid of each point, and the distance from it in its spreads
    position : number of points that were made before
    first, swing : (n_centroids, n_features) of `bounced`
    """
    n_rows, n_features = X.shape[0], X.shape[1]
    for i in range(n_rows):
        c = chosen[i]
        squares = 0.0
        for j in range(n_features):
            side = 2.0 * X[i, j] - 1.0
            X[i, j] = side
            squares += side * side
        scale = lengths[i] * spreads[c] / np.sqrt(squares) if squares > 0.0 else 0.0
        moves = position + i + 1
        for j in range(n_features):
            centre = bounced(centres[c, j], velocities[c, j], first[c, j], swing[c, j], moves)
            X[i, j] = centre + X[i, j] * scale
        y[i] = classes[c]


# ------------------------------------------------------------------ loan applications


def loan_class(function, X, i):
    """Class of row `i` of `X` by one of the ten functions of Agrawal et al., 0 or 1.

    In function 4 some branches ask for salaries of 200 000 and above, which nobody has: as in river, they never hold.
    """
    salary = X[i, SALARY]
    income = salary + X[i, COMMISSION]
    age = X[i, AGE]
    level = X[i, LEVEL]
    loan = X[i, LOAN]
    band = YOUNG if age < 40 else (MIDDLE_AGED if age < 60 else OLD)
    if band == YOUNG:
        low, low_educated, has_level = 50000.0, 25000.0, 0.0 <= level <= 1.0
    elif band == MIDDLE_AGED:
        low, low_educated, has_level = 75000.0, 50000.0, 1.0 <= level <= 3.0
    else:
        low, low_educated, has_level = 25000.0, 50000.0, 2.0 <= level <= 4.0
    if function == 0:
        holds = band != MIDDLE_AGED
    elif function == 1:
        holds = low <= salary <= low + SALARY_RANGE
    elif function == 2:
        holds = has_level
    elif function == 3:
        low = low_educated if has_level else low
        holds = low <= salary <= low + SALARY_RANGE
    elif function == 4:
        if low <= salary <= low + SALARY_RANGE:
            holds = (band == YOUNG and 100000 <= loan <= 300000) or (band == OLD and loan >= 300000)
        else:
            holds = band == OLD and 75000 <= loan <= 300000
    elif function == 5:
        holds = low <= income <= low + SALARY_RANGE
    elif function == 6:
        holds = 2 * income / 3 - loan / 5 - 20000 <= 1
    elif function == 7:
        holds = 2 * income / 3 - 5000 * level - 20000 <= 1
    elif function == 8:
        holds = 2 * income / 3 - 5000 * level - loan / 5 - 10000 <= 1
    else:
        equity = X[i, HOUSE] * (X[i, YEARS] - 20) / 10 if X[i, YEARS] >= 20 else 0.0
        holds = 2 * income / 3 - 5000 * level + equity / 5 - 10000 <= 1
    return 1 if holds else 0


def draw_application(X, i, seed):
    """Fill row `i` with a random application."""
    for j in range(9):
        X[i, j] = to_unit(next_seed(seed, j))
    X[i, SALARY] = 20000 + 130000 * X[i, SALARY]
    X[i, COMMISSION] = 0.0 if X[i, SALARY] >= 75000 else 10000 + 75000 * X[i, COMMISSION]
    X[i, AGE] = 20 + np.floor(61 * X[i, AGE])
    X[i, LEVEL] = np.floor(5 * X[i, LEVEL])
    X[i, CAR] = 1 + np.floor(20 * X[i, CAR])
    X[i, ZIP] = np.floor(9 * X[i, ZIP])
    X[i, HOUSE] = (8 - X[i, ZIP]) * 100000 * (0.5 + X[i, HOUSE])
    X[i, YEARS] = 1 + np.floor(30 * X[i, YEARS])
    X[i, LOAN] = 500000 * X[i, LOAN]


def move_number(X, i, j, low, high, span, seed):
    """Move a number of row `i` by up to `span`; what then is below its range is raised to its lower end first.

    The lower end of house values is above the upper one, 0, to which all falls that is not raised.
    """
    value = X[i, j] + span * (2 * to_unit(seed) - 1)
    value = low if value < low else min(value, high)
    X[i, j] = np.rint(value) if j in (AGE, YEARS) else value


def perturb_application(X, i, perturbation, seed):
    """Move the numbers of row `i` by up to this share of their ranges; its class stays."""
    move_number(X, i, SALARY, 20000.0, 150000.0, 130000.0 * perturbation, next_seed(seed, 9))
    if X[i, COMMISSION] > 0:
        move_number(X, i, COMMISSION, 10000.0, 75000.0, 65000.0 * perturbation, next_seed(seed, 10))
    move_number(X, i, AGE, 20.0, 80.0, 60.0 * perturbation, next_seed(seed, 11))
    low = (9 - X[i, ZIP]) * 100000
    move_number(X, i, HOUSE, low, 0.0, 135000.0 * perturbation, next_seed(seed, 12))
    move_number(X, i, YEARS, 1.0, 30.0, 29.0 * perturbation, next_seed(seed, 13))
    move_number(X, i, LOAN, 0.0, 500000.0, 500000.0 * perturbation, next_seed(seed, 14))


def fill_applications(X, y, functions, perturbation, is_balanced, seed, position):
    """Applications and their classes. A row depends on the seed and on its number in the stream alone.

    Parameters
    ----------
    X, y : (n_rows, 9) and (n_rows,) to be filled
    functions : (n_rows,) the function that classifies each row
    is_balanced : whether classes alternate; rows are drawn until the class is the wanted one
    position : number of rows that were made before
    """
    for i in range(X.shape[0]):
        row = position + i
        row_seed = next_seed(seed, row)
        wanted = (row + 1) % 2
        attempt = 0
        while True:
            application_seed = next_seed(row_seed, attempt)
            draw_application(X, i, application_seed)
            y[i] = loan_class(functions[i], X, i)
            if not is_balanced or y[i] == wanted:
                break
            attempt += 1
        if perturbation > 0.0:
            perturb_application(X, i, perturbation, application_seed)
