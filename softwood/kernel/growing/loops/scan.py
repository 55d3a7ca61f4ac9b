"""Best threshold of one feature at one node: the scan over breakpoints of theorem 1.

An atom is a place on the feature's axis with mass: a point, or a bin of points. Its share of mass left of a threshold
rises from 0 to 1 over the part of its kernel that lies in the node's interval, so all left sums are piecewise linear in
the threshold and the gain is convex between breakpoints: the best threshold is a breakpoint, or one of the two
positions at which a side has exactly the minimum mass.

Criteria: squared error, which is also Gini; entropy; and the entropy of two classes of which one is stored. What is
maximised is the part of the gain that depends on the threshold, `merit`: ``sum_k SL_k**2 / WL + sum_k SR_k**2 / WR``
for the first, ``sum S log(S / W)`` of both sides for the others.
"""

import numpy as np

from softwood.trees.loops.thresholds import middle_of

SQUARED, ENTROPY, BINARY_ENTROPY = 0, 1, 2

# An atom cut thinner than this part of its kernel counts as a step: slopes 1 / thickness would swamp the sums.
THIN = 1e-6
# Slack on the minimum mass: sums of weights that should be exact are not, in floating point.
SLACK = 1.0 - 1e-9
# The largest number: a threshold must be finite.
LARGEST = 1.7976931348623157e308
# Part of the mass by which a split must be nearer to halves to win a tie: rounding errors must not decide.
EVEN = 1e-9


def x_log_x(x):
    """``x log x``, and its limit at 0."""
    return x * np.log(x) if x > 0.0 else 0.0


def squares_of(work, row, n):
    """Sum of the squares of `n` sums in a row of `work`: four partial sums, which are a vector for the processor."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    whole = n - (n & 3)
    for o in range(0, whole, 4):
        first += work[row, o] * work[row, o]
        second += work[row, o + 1] * work[row, o + 1]
        third += work[row, o + 2] * work[row, o + 2]
        fourth += work[row, o + 3] * work[row, o + 3]
    for o in range(whole, n):
        first += work[row, o] * work[row, o]
    return (first + second) + (third + fourth)


def other_squares_of(work, row, n):
    """`squares_of` what is left of the sums in the first row without those in row `row`."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    whole = n - (n & 3)
    for o in range(0, whole, 4):
        first += (work[0, o] - work[row, o]) ** 2
        second += (work[0, o + 1] - work[row, o + 1]) ** 2
        third += (work[0, o + 2] - work[row, o + 2]) ** 2
        fourth += (work[0, o + 3] - work[row, o + 3]) ** 2
    for o in range(whole, n):
        first += (work[0, o] - work[row, o]) ** 2
    return (first + second) + (third + fourth)


def merit_of(left_mass, total_mass, work, row, n_outputs, criterion):
    """Merit of a split; what the scan maximises.

    work : (> row, >= n_outputs) sums of the node in the first row, and left sums in row `row`
    """
    right_mass = total_mass - left_mass
    if criterion == SQUARED:
        return squares_of(work, row, n_outputs) / left_mass + other_squares_of(work, row, n_outputs) / right_mass
    merit = -x_log_x(left_mass) - x_log_x(right_mass)
    for k in range(n_outputs):
        s = min(max(work[row, k], 0.0), work[0, k])
        merit += x_log_x(s) + x_log_x(work[0, k] - s)
    if criterion == BINARY_ENTROPY:
        s = min(max(work[row, 0], 0.0), left_mass)
        merit += x_log_x(left_mass - s) + x_log_x(right_mass - (work[0, 0] - s))
    return merit


def may_be_best(left_mass, total_mass, work, n_outputs, criterion, least):
    """Whether the merit of the left sums in the second row of `work` may be above `least`, found without a division.

    A merit that is below by no more than rounding errors may be above. Criteria other than squared error may always be.
    """
    if criterion != SQUARED or least < 0.0:
        return True
    right_mass = total_mass - left_mass
    up = squares_of(work, 1, n_outputs) * right_mass + other_squares_of(work, 1, n_outputs) * left_mass
    return up > (1.0 - 1e-12) * least * (left_mass * right_mass)


def is_ahead(merit, left_mass, total, tie, best, best_mass):
    """Whether a split is better than the best one so far: by its merit, or with the same merit by evener halves."""
    nearer_halves = abs(2.0 * left_mass - total) < abs(2.0 * best_mass - total) - EVEN * total
    return merit > best + tie or (merit > best - tie and nearer_halves)


def scan_steps_single(atoms, n, lows, highs, total, total_sum, min_mass, tie):
    """`scan_box_single` for half-width 0: CART's scan."""
    least = min_mass * SLACK
    most = total - least
    best = -np.inf
    best_t = np.nan
    best_mass = 0.0
    left = 0.0
    left_sum = 0.0
    for a in range(n - 1):
        left += atoms[a, 2]
        left_sum += atoms[a, 3]
        right = total - left
        right_sum = total_sum - left_sum
        up = left_sum * left_sum * right + right_sum * right_sum * left
        if up > (best - tie) * (left * right) and left >= least and left <= most:
            merit = up / (left * right)
            if merit > best + tie or abs(2.0 * left - total) < abs(2.0 * best_mass - total) - EVEN * total:
                best = max(best, merit)
                best_mass = left
                best_t = middle_of(highs[int(atoms[a, 1])], lows[int(atoms[a + 1, 1])])
    return best, best_t, best_mass


def place_lines(atoms, n, lo, hi, h, lines):
    """Where each atom's share begins and ends to rise within the interval, and at what rate (0: at once, a step)."""
    lo = max(lo, -LARGEST)  # an end must come before the infinity that marks the end of the list
    hi = min(hi, LARGEST)
    for k in range(n):
        start = atoms[k, 0] - h
        end = atoms[k, 0] + h
        rate = 0.5 / h
        if start < lo or end > hi:
            start = max(start, lo)
            end = min(end, hi)
            rate = 1.0 / (end - start) if end - start > THIN * 2.0 * h else 0.0
        lines[k, 0] = start
        lines[k, 1] = end
        lines[k, 2] = rate
    lines[n, 0] = np.inf  # nothing starts after the last one


def scan_box_single(atoms, n, lows, highs, lo, hi, h, min_mass, tie, lines):
    """Best threshold for a box kernel of one half-width, one output, squared error or two-class Gini.

    Parameters
    ----------
    atoms : (>= n, 4) place (rising), bin, mass, sum of targets
    lows, highs : smallest and largest point of each bin
    lo, hi : the node's interval on this feature
    h : half-width of the kernel
    min_mass : smallest mass of a child
    tie : merits closer than this are equal; the split nearer to halves then wins
    lines : (>= n + 1, 5) scratch space

    Returns
    -------
    merit, threshold, left mass; merit is -inf if no threshold is admissible
    """
    total = 0.0
    total_sum = 0.0
    for k in range(n):
        total += atoms[k, 2]
        total_sum += atoms[k, 3]
        lines[k, 3] = total
        lines[k, 4] = total_sum
    least = min_mass * SLACK
    most = total - least
    best = -np.inf
    best_t = np.nan
    best_mass = 0.0
    left = 0.0
    left_sum = 0.0
    if h <= 0.0:
        return scan_steps_single(atoms, n, lows, highs, total, total_sum, min_mass, tie)
    place_lines(atoms, n, lo, hi, h, lines)
    margin = 0.5 * (min_mass - least)  # a breakpoint as near as this is as good, and may be moved to a gap's middle
    begun = 0
    ended = 0
    slope = 0.0
    slope_sum = 0.0
    t = lines[0, 0]
    while ended < n:
        start = lines[begun, 0]
        end = lines[ended, 1]
        t_next = min(start, end)
        right = total - left
        right_sum = total_sum - left_sum
        up = left_sum * left_sum * right + right_sum * right_sum * left
        if up > (best - tie) * (left * right) and left >= least and left <= most:
            merit = up / (left * right)
            if merit > best + tie or abs(2.0 * left - total) < abs(2.0 * best_mass - total) - EVEN * total:
                if begun == ended:
                    best_t = middle_of(t, t_next)
                    best = max(best, merit)
                    best_mass = left
                elif t > lo and t < hi:
                    best_t = t
                    best = max(best, merit)
                    best_mass = left
        step = t_next - t
        reach = left + slope * step
        if (left < least and reach > min_mass) or (left < total - min_mass and reach > most):
            for side in range(2):  # where one side has exactly the minimum
                goal = min_mass if side == 0 else total - min_mass
                if left + margin < goal and goal < reach - margin and goal >= least and goal <= most:
                    part = (goal - left) / slope
                    s = left_sum + slope_sum * part
                    merit = s * s / goal + (total_sum - s) ** 2 / (total - goal)
                    if merit > best + tie:
                        best = merit
                        best_t = t + part
                        best_mass = goal
        left = reach
        left_sum += slope_sum * step
        t = t_next
        # Computed without branches: which edge comes next is not to be predicted.
        is_start = int(start <= end)
        k = ended + is_start * (begun - ended)
        rate = (2.0 * is_start - 1.0) * lines[k, 2]
        slope += rate * atoms[k, 2]
        slope_sum += rate * atoms[k, 3]
        if rate == 0.0 and is_start == 0:
            left += atoms[k, 2]
            left_sum += atoms[k, 3]
        begun += is_start
        ended += 1 - is_start
        if begun == ended:  # no kernel reaches here: the running sums are known exactly, forget rounding errors
            slope = 0.0
            slope_sum = 0.0
            left = lines[ended - 1, 3]
            left_sum = lines[ended - 1, 4]
    return best, best_t, best_mass


def sum_atoms(atoms, n, n_outputs, work):
    """Sums of targets of all atoms, or their masses of classes, in the first row of `work`."""
    for o in range(n_outputs):
        work[0, o] = 0.0
    for a in range(n):
        for o in range(n_outputs):
            work[0, o] += atoms[a, 3 + o]


def _scan_steps(atoms, n, lows, highs, total, n_outputs, min_mass, tie, criterion, work):
    """`scan_box` for half-width 0: CART's scan."""
    least = min_mass * SLACK
    most = total - least
    best = -np.inf
    best_t = np.nan
    best_mass = 0.0
    left_mass = 0.0
    for a in range(n - 1):
        left_mass += atoms[a, 2]
        for o in range(n_outputs):
            work[1, o] += atoms[a, 3 + o]
        if left_mass >= least and left_mass <= most:
            if not may_be_best(left_mass, total, work, n_outputs, criterion, best - tie):
                continue
            merit = merit_of(left_mass, total, work, 1, n_outputs, criterion)
            if is_ahead(merit, left_mass, total, tie, best, best_mass):
                best = max(best, merit)
                best_mass = left_mass
                best_t = middle_of(highs[int(atoms[a, 1])], lows[int(atoms[a + 1, 1])])
    return best, best_t, best_mass


def _merit_at_least(goal, left_mass, slope_mass, total, work, n_outputs, criterion):
    """Merit of the threshold further on at which the left mass is `goal`."""
    part = (goal - left_mass) / slope_mass
    for o in range(n_outputs):
        work[3, o] = work[1, o] + work[2, o] * part
    return merit_of(goal, total, work, 3, n_outputs, criterion)


def _scan_slopes(atoms, n, interval, total, n_outputs, min_mass, tie, criterion, lines, work):
    """`scan_box` for any other half-width, given `lines` by `place_lines`, and the mass up to each atom beside them."""
    lo, hi = interval
    least = min_mass * SLACK
    most = total - least
    margin = 0.5 * (min_mass - least)  # a breakpoint as near as this is as good, and may be moved to a gap's middle
    best = -np.inf
    best_t = np.nan
    best_mass = 0.0
    begun = 0
    ended = 0
    left_mass = 0.0
    slope_mass = 0.0
    t = lines[0, 0]
    while ended < n:
        start = lines[begun, 0]
        end = lines[ended, 1]
        t_next = min(start, end)
        step = t_next - t
        reach = left_mass + slope_mass * step
        if (left_mass < least and reach > min_mass) or (left_mass < total - min_mass and reach > most):
            for side in range(2):  # where one side has exactly the minimum
                goal = min_mass if side == 0 else total - min_mass
                if left_mass + margin < goal and goal < reach - margin and goal >= least and goal <= most:
                    merit = _merit_at_least(goal, left_mass, slope_mass, total, work, n_outputs, criterion)
                    if merit > best + tie:
                        best = merit
                        best_t = t + (goal - left_mass) / slope_mass
                        best_mass = goal
        is_start = int(start <= end)  # computed with, not branched on, as in `scan_box_single`
        k = ended + is_start * (begun - ended)
        rate = (2.0 * is_start - 1.0) * lines[k, 2]
        jump = 1.0 if (rate == 0.0 and is_start == 0) else 0.0
        begun += is_start
        ended += 1 - is_start
        is_gap = begun == ended  # no kernel reaches here: forget rounding errors
        keep = 0.0 if is_gap else 1.0
        # The sums are updated in loops of their own, which the compiler vectorises.
        if jump != 0.0:
            for o in range(n_outputs):
                work[1, o] = work[1, o] + work[2, o] * step + jump * atoms[k, 3 + o]
        else:
            for o in range(n_outputs):
                work[1, o] += work[2, o] * step
        more = keep * rate
        for o in range(n_outputs):
            work[2, o] = keep * work[2, o] + more * atoms[k, 3 + o]
        left_mass = lines[ended - 1, 3] if is_gap else reach + jump * atoms[k, 2]
        slope_mass = keep * (slope_mass + rate * atoms[k, 2])
        t = t_next
        if left_mass >= least and left_mass <= most and (is_gap or (t > lo and t < hi)):
            if not may_be_best(left_mass, total, work, n_outputs, criterion, best - tie):
                continue
            merit = merit_of(left_mass, total, work, 1, n_outputs, criterion)
            if is_ahead(merit, left_mass, total, tie, best, best_mass):
                best = max(best, merit)
                best_mass = left_mass
                best_t = middle_of(t, lines[begun, 0]) if is_gap else t
    return best, best_t, best_mass


def scan_box(atoms, n, lows, highs, interval, h, min_mass, tie, criterion, n_outputs, lines, work):
    """Best threshold for a box kernel of one half-width, any number of outputs and any criterion.

    As `scan_box_single`; `interval` is the node's, and `work` is (4, >= n_outputs) scratch space, its first row the
    sums over all atoms. A multiple of four outputs is fastest: outputs that are all zero change nothing.
    """
    total = 0.0
    for o in range(n_outputs):
        work[1, o] = 0.0
        work[2, o] = 0.0
    for a in range(n):
        total += atoms[a, 2]
        lines[a, 3] = total
    if h <= 0.0:
        return _scan_steps(atoms, n, lows, highs, total, n_outputs, min_mass, tie, criterion, work)
    place_lines(atoms, n, interval[0], interval[1], h, lines)
    return _scan_slopes(atoms, n, interval, total, n_outputs, min_mass, tie, criterion, lines, work)
