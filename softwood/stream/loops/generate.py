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
    # Without a branch: which way a centroid goes cannot be predicted.
    down = int(since < swing)
    covered = min((since - swing + down * swing) * speed, 1.0)
    return down + (1 - 2 * down) * covered


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
    band = int(age >= 40) + int(age >= 60)
    if function == 0:
        return int(band != MIDDLE_AGED)
    # from 0 to 1, from 1 to 3, and from 2 to 4
    has_level = (level >= band) & (level <= min(2 * band + 1, 4))
    low = 25000.0 if band == OLD else 50000.0 + 25000.0 * band
    if function == 1:
        holds = low <= salary <= low + SALARY_RANGE
    elif function == 2:
        holds = has_level
    elif function == 3:
        if has_level:
            low = 25000.0 if band == YOUNG else 50000.0
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
    return int(holds)


def draw_application(X, i, seed):
    """Fill row `i` with a random application."""
    salary = 20000 + 130000 * to_unit(next_seed(seed, SALARY))
    place = int(9 * to_unit(next_seed(seed, ZIP)))
    X[i, SALARY] = salary
    X[i, COMMISSION] = (10000 + 75000 * to_unit(next_seed(seed, COMMISSION))) * (salary < 75000)
    X[i, AGE] = 20 + int(61 * to_unit(next_seed(seed, AGE)))
    X[i, LEVEL] = int(5 * to_unit(next_seed(seed, LEVEL)))
    X[i, CAR] = 1 + int(20 * to_unit(next_seed(seed, CAR)))
    X[i, ZIP] = place
    X[i, HOUSE] = (8 - place) * 100000 * (0.5 + to_unit(next_seed(seed, HOUSE)))
    X[i, YEARS] = 1 + int(30 * to_unit(next_seed(seed, YEARS)))
    X[i, LOAN] = 500000 * to_unit(next_seed(seed, LOAN))


def moved(value, span, seed):
    """A number, moved by up to `span`."""
    return value + span * (2 * to_unit(seed) - 1)


def perturb_application(X, i, perturbation, seed):
    """Move the numbers of row `i` by up to this share of their ranges; its class stays.

    What then is below its range is raised to its lower end first: the lower end of house values is above the upper one,
    0, to which all falls that is not raised.
    """
    salary = moved(X[i, SALARY], 130000.0 * perturbation, next_seed(seed, 9))
    commission = moved(X[i, COMMISSION], 65000.0 * perturbation, next_seed(seed, 10))
    age = moved(X[i, AGE], 60.0 * perturbation, next_seed(seed, 11))
    house = moved(X[i, HOUSE], 135000.0 * perturbation, next_seed(seed, 12))
    years = moved(X[i, YEARS], 29.0 * perturbation, next_seed(seed, 13))
    loan = moved(X[i, LOAN], 500000.0 * perturbation, next_seed(seed, 14))
    lower = (9 - X[i, ZIP]) * 100000
    X[i, SALARY] = min(max(salary, 20000.0), 150000.0)
    X[i, COMMISSION] = min(max(commission, 10000.0), 75000.0) * (X[i, COMMISSION] > 0)
    X[i, AGE] = np.rint(min(max(age, 20.0), 80.0))
    X[i, HOUSE] = lower * (house < lower)
    X[i, YEARS] = np.rint(min(max(years, 1.0), 30.0))
    X[i, LOAN] = min(max(loan, 0.0), 500000.0)


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
