"""What a split is worth, from the definitions of the impurities."""

import numpy as np


def impurity(masses, targets, criterion):
    """Impurity of points with `masses` (n,) and `targets` (n, q): class shares, or reals.

    Gini ``1 - sum p²``, entropy in natural units, or the squared distance from the mean (summed over targets).
    """
    mean = masses @ targets / masses.sum()
    if criterion == "gini":
        return 1.0 - (mean**2).sum()
    if criterion == "entropy":
        positive = mean[mean > 0]
        return -(positive * np.log(positive)).sum()
    return masses @ ((targets - mean) ** 2).sum(axis=1) / masses.sum()


def gain(masses, targets, shares, criterion):
    """Decrease of mass times impurity if the part `shares` (n,) of each point goes left."""
    left, right = masses * shares, masses * (1 - shares)
    before = masses.sum() * impurity(masses, targets, criterion)
    after = sum(part.sum() * impurity(part, targets, criterion) for part in (left, right) if part.sum() > 0)
    return before - after


def merit(left_mass, left_sums, right_mass, right_sums, criterion):
    """The part of the gain that depends on the threshold, from the sums of both sides.

    ``sum SL²/WL + sum SR²/WR``, or ``sum S log(S / W)`` of both sides; the criterion "two classes" is the latter where
    only one of two classes is stored.
    """
    if criterion == "squared":
        return (left_sums**2).sum() / left_mass + (right_sums**2).sum() / right_mass
    total = 0.0
    for mass, sums in ((left_mass, left_sums), (right_mass, right_sums)):
        if criterion == "two classes":
            sums = np.array([sums[0], mass - sums[0]])
        sums = sums[sums > 1e-300]
        total += (sums * np.log(sums / mass)).sum()
    return total
