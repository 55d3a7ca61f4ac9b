"""Streams by definition: one sample and one step at a time."""

from fractions import Fraction

from tests.reference.random_search import next_seed, to_unit


def turning_hyperplane(draw, n_features, n_drift_features, magnitude, noise, turn_probability):
    """Endless features, class and the weights that it was found with; `draw` gives the numbers in [0, 1), in order."""
    weights = [draw() for _ in range(n_features)]
    directions = [1] * n_drift_features
    while True:
        x = [draw() for _ in range(n_features)]
        y = int(sum(w * v for w, v in zip(weights, x, strict=True)) >= sum(weights) * 0.5)
        if 0.01 + draw() <= noise:
            y = 1 - y
        yield x, y, list(weights)
        for j in range(n_drift_features):
            weights[j] += directions[j] * magnitude
            if 0.01 + draw() <= turn_probability:
                directions[j] = -directions[j]


def bounced(start, speed, n_moves):
    """Coordinates after 0, 1, … moves between the walls 0 and 1, without rounding."""
    place, step = Fraction(start), Fraction(speed)
    places = [place]
    for _ in range(n_moves):
        place += step
        if place > 1 or place < 0:
            place = Fraction(int(place > 1))
            step = -step
        places.append(place)
    return [float(place) for place in places]


def _within(value, low, high):
    return low <= value <= high


def loan_class(function, salary, commission, age, level, house, years, loan):
    """The functions of Agrawal et al., each written out."""
    income = salary + commission
    young, middle = age < 40, 40 <= age < 60
    if function == 0:
        holds = not middle
    elif function in (1, 5):
        asked = salary if function == 1 else income
        if young:
            holds = _within(asked, 50_000, 100_000)
        elif middle:
            holds = _within(asked, 75_000, 125_000)
        else:
            holds = _within(asked, 25_000, 75_000)
    elif function in (2, 3):
        levels = {0, 1} if young else {1, 2, 3} if middle else {2, 3, 4}
        holds = level in levels
        if function == 3 and young:
            holds = _within(salary, 25_000, 75_000) if holds else _within(salary, 50_000, 100_000)
        elif function == 3 and middle:
            holds = _within(salary, 50_000, 100_000) if holds else _within(salary, 75_000, 125_000)
        elif function == 3:
            holds = _within(salary, 50_000, 100_000) if holds else _within(salary, 25_000, 75_000)
    elif function == 4 and young:
        holds = _within(salary, 50_000, 100_000) and _within(loan, 100_000, 300_000)
    elif function == 4 and middle:
        holds = False
    elif function == 4 and _within(salary, 25_000, 75_000):
        holds = _within(loan, 300_000, 500_000)
    elif function == 4:
        holds = _within(loan, 75_000, 300_000)
    else:
        left = 2 * income / 3
        if function in (7, 8, 9):
            left -= 5_000 * level
        if function in (6, 8):
            left -= loan / 5
        if function == 9 and years >= 20:
            left += house * (years - 20) / 10 / 5
        holds = left - (20_000 if function in (6, 7) else 10_000) <= 1
    return int(holds)


def _moved(value, low, high, span, unit):
    value += span * (2 * unit - 1)
    return low if value < low else high if value > high else value


def draws(seed):
    """The numbers of an application: nine for its features, six to move them."""
    return [to_unit(next_seed(seed, k)) for k in range(15)]


def drawn(u):
    """The nine features of an application."""
    salary, zipcode = 20_000 + 130_000 * u[0], int(9 * u[5])
    commission = 0 if salary >= 75_000 else 10_000 + 75_000 * u[1]
    age, level, car = 20 + int(61 * u[2]), int(5 * u[3]), 1 + int(20 * u[4])
    house, years, loan = (8 - zipcode) * 100_000 * (0.5 + u[6]), 1 + int(30 * u[7]), 500_000 * u[8]
    return [salary, commission, age, level, car, zipcode, house, years, loan]


def moved(application, u, perturbation):
    """The features after they were moved."""
    salary, commission, age, level, car, zipcode, house, years, loan = application
    salary = _moved(salary, 20_000, 150_000, 130_000 * perturbation, u[9])
    if commission > 0:
        commission = _moved(commission, 10_000, 75_000, 65_000 * perturbation, u[10])
    age = round(_moved(age, 20, 80, 60 * perturbation, u[11]))
    house = _moved(house, (9 - zipcode) * 100_000, 0, 135_000 * perturbation, u[12])
    years = round(_moved(years, 1, 30, 29 * perturbation, u[13]))
    loan = _moved(loan, 0, 500_000, 500_000 * perturbation, u[14])
    return [salary, commission, age, level, car, zipcode, house, years, loan]


def application(seed, row, function, perturbation, is_balanced):
    """The nine features of a row, its class, and how often it was drawn."""
    attempt = 0
    while True:
        u = draws(next_seed(next_seed(seed, row), attempt))
        x = drawn(u)
        y = loan_class(function, *x[:4], *x[6:])
        attempt += 1
        if not is_balanced or y == (row + 1) % 2:
            break
    return moved(x, u, perturbation) if perturbation > 0 else x, y, attempt
