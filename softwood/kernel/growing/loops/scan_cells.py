"""The scan for boxes whose half-widths differ from cell to cell.

Every point is an atom. Atoms are put in the order in which their shares begin to rise, and a list has the order in
which they end; then the scan goes from breakpoint to breakpoint, as `softwood.kernel.growing.loops.scan` does.
"""

import numpy as np

from softwood.kernel.growing.loops.scan import LARGEST, THIN
from softwood.kernel.growing.loops.scan_general import (
    add_exactly,
    add_sums,
    forget_slopes,
    go_on,
    place_point,
    rising_order,
    scan_cells,
    spread_missing,
)

# A width whose inverse might overflow.
TINY = 1e-300


def place_boxes(bins, kernels, feature, rows, begin, m, interval, cells):
    """Where the share of each point begins and ends to rise within the interval, and at what rate (0: a step).

    Parameters
    ----------
    cells : (4, >= m) scratch space; the first three rows are filled, with nan where the value is missing
    """
    points, widths = bins.points, kernels.cells
    lo, hi = max(interval[0], -LARGEST), min(interval[1], LARGEST)
    for k in range(m):
        row = rows[begin + k]
        x, width = points[row, feature], widths[row, feature]
        start = max(x - width, lo) if not np.isnan(x) else x
        end = max(min(x + width, hi), start) if not np.isnan(x) else x
        is_step = width <= 0.0 or end - start <= max(THIN * 2.0 * width, TINY)
        # A crisp point is on the right up to the threshold before it.
        cells[0, k] = np.nextafter(x, -np.inf) if width <= 0.0 else start
        cells[1, k] = x if width <= 0.0 else end
        cells[2, k] = 0.0 if is_step else 1.0 / (end - start)


def sort_boxes(cells, m, points, labels, n_outputs, knots, work):
    """List the points with a value as atoms in the order of their starts, and their ends in order.

    The mass of points whose value is missing is spread over the atoms in proportion to theirs.

    Parameters
    ----------
    cells : see `place_boxes`;  points, labels : as in `softwood.kernel.growing.loops.atoms.add_points`
    knots : `atoms` is filled, and `times` with the starts in order, `rates` with the rates of the atoms; `open_rates`
        with the ends in order
    work : the sums of all points are put in the first row

    Returns
    -------
    number of atoms, row of `knots.orders` with the atoms in the order of their ends, and the mass of all points
    """
    atoms = knots.atoms
    missing, total = 0.0, 0.0
    for o in range(n_outputs):
        work[0, o] = 0.0
        work[1, o] = 0.0  # of the points without a value
    n = 0
    for k in range(m):
        mass = points[k, 0]
        total += mass
        is_missing = np.isnan(cells[0, k])
        add_sums(points, labels, k, n_outputs, work, 0, 0)
        if is_missing:
            add_sums(points, labels, k, n_outputs, work, 1, 0)
        knots.times[n] = cells[0, k]
        knots.owners[n] = k
        missing += mass if is_missing else 0.0
        n += not is_missing
    row = rising_order(knots.times, n, knots.orders)
    for a in range(n):
        place = knots.orders[row, a]
        k = knots.owners[place]
        knots.rates[a] = cells[2, k]
        cells[3, a] = cells[1, k]
        atoms[a, 0] = cells[0, k]
        place_point(points, labels, k, n_outputs, atoms, a)
    spread_missing(missing, total - missing, n_outputs, work, atoms, n)
    for a in range(n):
        knots.times[a] = cells[3, a]
    row = rising_order(knots.times, n, knots.orders)
    for a in range(n):
        knots.open_rates[a] = knots.times[knots.orders[row, a]]
    for a in range(n):
        knots.times[a] = atoms[a, 0]
    return n, row, total


def scan_boxes(n, ends, total, interval, goal, knots, work):
    """Best threshold for boxes with half-widths of their own.

    Parameters
    ----------
    n, ends, total : what `sort_boxes` returns;  interval : the node's
    work : as in `scan_general`, with the sums of all points

    Returns
    -------
    merit (-inf: none), threshold, left mass
    """
    atoms, starts, rates, stops = knots.atoms, knots.times, knots.rates, knots.open_rates
    q = goal.n_outputs
    best = -np.inf
    best_t = np.nan
    best_mass = 0.0
    left_mass = 0.0
    slope_mass = 0.0
    rest_mass = 0.0
    forget_slopes(work, q)
    for o in range(q):
        work[1, o] = 0.0
    begun = 0
    ended = 0
    t = -np.inf
    while ended < n:
        start = starts[begun] if begun < n else np.inf
        stop = stops[ended]
        t_next = min(start, stop)
        if t_next > t:
            left_mass, best, best_t, best_mass = go_on(
                t, t_next, begun == ended, left_mass, slope_mass + rest_mass, total, interval, goal, work, best, best_t,
                best_mass,
            )  # fmt: skip
            t = t_next
        is_start = start <= stop
        a = begun if is_start else knots.orders[ends, ended]
        rate = rates[a] if is_start else -rates[a]
        begun += is_start
        ended += not is_start
        if rate == 0.0:
            if not is_start:
                left_mass += atoms[a, 2]
                for o in range(q):
                    work[1, o] += atoms[a, 3 + o]
        else:
            slope_mass, rest_mass = add_exactly(slope_mass, rest_mass, rate * atoms[a, 2])
            for o in range(q):
                work[2, o], work[4, o] = add_exactly(work[2, o], work[4, o], rate * atoms[a, 3 + o])
        if begun == ended:  # no kernel reaches here: forget rounding errors
            slope_mass = 0.0
            rest_mass = 0.0
            forget_slopes(work, q)
    return best, best_t, best_mass


def scan_column(bins, kernels, feature, rows, begin, m, scratch, interval, goal, search):
    """Best threshold of a feature whose half-widths differ from cell to cell.

    Arguments are as in `softwood.kernel.growing.loops.search.search_thresholds`; interval : the node's on this feature.
    """
    if kernels.kinds[feature] > 0:
        return scan_cells(bins, kernels, feature, rows, begin, m, scratch, interval, goal, search)
    cells = search.knots.cells
    place_boxes(bins, kernels, feature, rows, begin, m, interval, cells)
    n, ends, total = sort_boxes(cells, m, scratch.points, scratch.labels, goal.n_outputs, search.knots, search.work)
    return scan_boxes(n, ends, total, interval, goal, search.knots, search.work)
