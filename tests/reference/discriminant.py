"""Slow, obvious twin of the search of a linear discriminant tree: each division of the classes from the rows anew."""

import numpy as np

FLAT = 1e-10


def goes_left(gate, points):
    return points @ gate[:-1] + gate[-1] > 0.0


def gini(sums):
    return 1.0 - ((sums / sums.sum()) ** 2).sum()


def discriminant(points, left, right):
    """Fisher's discriminant of two groups given as weights of the rows; None if all rows would be on one side."""
    mass_left, mass_right = left.sum(), right.sum()
    if mass_left == 0 or mass_right == 0:
        return None
    parts = (left + right) / (mass_left + mass_right)
    mean_left, mean_right = left @ points / mass_left, right @ points / mass_right
    centred = points - parts @ points
    sizes, axes = np.linalg.eigh((centred * parts[:, None]).T @ centred)
    keep = sizes > FLAT * max(sizes[-1], 0.0)
    difference = mean_left - mean_right
    direction = axes[:, keep] @ ((axes[:, keep].T @ difference) / sizes[keep])
    shortening = 1.0 - mass_left * mass_right / (mass_left + mass_right) ** 2 * (difference @ direction)
    middle = -0.5 * (mean_left + mean_right) @ direction
    for bias in (middle + max(shortening, 0.0) * np.log(mass_left / mass_right), middle):
        gate = np.append(direction, bias)
        side = goes_left(gate, points)
        if side.any() and not side.all():
            return gate
    return None


def trial(points, masses, is_left):
    """Impurity and gate of a division of the classes, is_left (n_classes,); inf and None if it separates nothing."""
    gate = discriminant(points, masses[:, is_left].sum(axis=1), masses[:, ~is_left].sum(axis=1))
    if gate is None:
        return np.inf, None
    side = goes_left(gate, points)
    return sum(part.sum() * gini(part) for part in (masses[side].sum(axis=0), masses[~side].sum(axis=0))), gate


def best_discriminant(points, masses):
    """Gate (d + 1,) of the best division of the classes that single exchanges find; None if there is none."""
    masses = masses[:, masses.sum(axis=0) > 0]
    n_classes = masses.shape[1]
    means = np.array([np.average(points, axis=0, weights=masses[:, k]) for k in range(n_classes)])
    distances = ((means[:, None] - means[None]) ** 2).sum(axis=2)
    first, second = np.unravel_index(distances.argmax(), distances.shape)
    is_left = distances[first] < distances[second]
    is_left[first], is_left[second] = True, False
    impurity, gate = trial(points, masses, is_left)
    improved = n_classes > 2
    while improved:
        improved = False
        for k in range(n_classes):
            other = is_left.copy()
            other[k] = not other[k]
            if not other.any() or other.all():
                continue
            now, found = trial(points, masses, other)
            if now < impurity * (1.0 - 1e-9):
                impurity, gate, is_left, improved = now, found, other, True
    return gate
